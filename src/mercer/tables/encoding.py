"""Tables of mixed columns in files as encoded numbers: held whole, or of many rows in passes over blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from mercer.data.checks import as_names
from mercer.data.rows import Array, XLike
from mercer.errors import InputError, nearest, refuse, warn
from mercer.tables import TableEncoder
from mercer.tables.cells import Cells, OddCells, Where, number_texts
from mercer.tables.encoder import EncoderSettings, as_table
from mercer.tables.kinds import odd_warning
from mercer.tables.parquet import LongTable, compact, gaps_in
from mercer.tables.reading import Reading, Rules, arrow_reading, read_table
from mercer.tables.values import NumberStyle
from mercer.text import counted

Listed: TypeAlias = Sequence[str]  # names of columns
LONG = 1_000_000  # rows of a Parquet table beyond which it is read in passes and not held
TOO_LARGE = f"Drop long texts, or make it a Parquet table of more than {LONG} rows, which is read in blocks."
_SAMPLE = 20_000  # rows that columns of a long table are judged by
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})")


@dataclass(frozen=True, eq=False)
class TableLook:
    """What a table looks like before it is encoded: a sample to judge columns by, and some columns whole.

    A table that is held in memory is its own sample.

    Attributes
    ----------
    sample : Reading
        Evenly spaced rows.
    rows : ndarray of int
        Their numbers.
    columns : dict of str to Cells
        The columns of the sample; those with infinite numbers anywhere in the table are texts that know it.
    whole : Reading
        All rows of a few columns.
    gaps : dict of str to ndarray of bool
        Missing cells of these and further columns.
    how : Rules
        How every block is read: in the style of the sample.
    """

    sample: Reading
    rows: Array
    columns: dict[str, Cells]
    whole: Reading
    gaps: dict[str, Array]
    how: Rules


def look_at(table: LongTable, how: Rules, named: Sequence[str], looked_at: Sequence[str] = ()) -> TableLook:
    """One pass over a long table: a sample, the columns `named` whole, and the gaps of those and of `looked_at`."""
    import pyarrow as pa

    step, row = max(1, table.rows // _SAMPLE), 0
    samples, kept, odd = [], [], dict[str, OddCells]()
    blank_or_word: dict[str, list[tuple[Array, Array]]] = {name: [] for name in looked_at}
    for block in table.blocks(table.names):
        samples.append(compact(block.take(np.arange(-row % step, block.num_rows, step))))
        kept.append(compact(block.select(list(named))))
        for name, found in blank_or_word.items():
            found.append(gaps_in(block.column(name), endless=how.endless))
        for name in table.names:
            if pa.types.is_floating(block.column(name).type):
                before = odd.get(name, OddCells("finite numbers", 0, 0, ""))
                odd[name] = before.add_infinite(block.column(name).to_numpy(), Where(table.what), row)
        row += block.num_rows
    rows, declared = np.arange(0, row, step), table.declared_categories
    sample = arrow_reading(pa.concat_tables(samples), table.what, how, declared, rows.tolist())
    # one style for all blocks, so that none is read in a style of its own
    later = replace(how, decimal=None, style=sample.style or NumberStyle(), strict=True)
    whole = arrow_reading(pa.concat_tables(kept), table.what, later, declared)
    gaps = {name: whole.gaps(name) for name in named}
    for name, found in blank_or_word.items():  # words such as NA are missing among numbers and dates alone
        blank, words = map(np.concatenate, zip(*found, strict=True))
        gaps[name] = blank if sample.columns[name].family == "text" else blank | words
    columns = dict(sample.columns)
    for name, cells in odd.items():
        if cells.count and name in columns and not (how.endless or how.strict is True or name in how.kinds):
            columns[name] = replace(number_texts(columns[name]), odd=cells)
    return TableLook(sample, rows, columns, whole, gaps, later)


def fit_encoder(features: Mapping[str, Cells], settings: EncoderSettings, what: str) -> TableEncoder:
    """The encoder fitted to columns of a file; refused if none of them can be a feature."""
    encoder = TableEncoder.from_settings(settings).fit(features)
    reasons = "; ".join(f"{each.name!r}: {each.why.split(';')[0]}" for each in encoder.columns_[:3])
    message = f"No column of {what} can be used as a feature ({reasons})."
    refuse(not encoder.names_out_, message, "To use a column anyway, set its kind with $kind.")
    return encoder


def rules_of(encoder: TableEncoder, how: Rules | None = None) -> Rules:
    """How new rows are read for a fitted encoder: its columns, with their kinds and formats."""
    used = [column for column in encoder.columns_ if column.outputs]
    kinds, writings = {each.name: each.kind for each in used}, {each.name: each.writing for each in used}
    return replace(how or Rules(only_kinds=True, style=encoder.settings.style), kinds=kinds, writings=writings)


@dataclass(frozen=True, eq=False)
class Passes:
    """Starts a pass over all rows of a long table, or those `kept`: encoded columns, targets, weights and groups."""

    table: LongTable
    encoder: TableEncoder
    how: Rules
    kept: Array | None = None
    y: Array | None = None
    weights: Array | None = None
    groups: Array | None = None

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        """Blocks from the first to the last row."""
        how = rules_of(self.encoder, self.how)
        row = at = 0
        for block in self.table.blocks(list(how.kinds)):
            what = f"the block of {self.table.what} that begins with row {row + 1}"
            found = arrow_reading(block, what, how)
            own = slice(row, row + block.num_rows)
            kept = np.arange(block.num_rows) if self.kept is None else np.flatnonzero(self.kept[own])
            columns = {name: column[kept] for name, column in found.columns.items()}
            row, own = own.stop, slice(at, at + len(kept))
            at = own.stop
            if len(kept):
                beside = (self.y, self.weights, self.groups)
                yield self.encoder.transform(columns), *(each if each is None else each[own] for each in beside)


@dataclass(frozen=True, eq=False)
class EncodedFile:
    """A table of mixed columns in a file, with its features encoded.

    Attributes
    ----------
    encoder : TableEncoder
        Fitted to the features: to all rows, or to evenly spaced ones of a long table.
    X : ndarray or Passes
        The encoded features; those of a long table are read in passes.
    beside : dict of str to ndarray
        Columns of all rows that are no features: numbers, or texts and labels as the file has them.
    """

    encoder: TableEncoder
    X: Array | Passes
    beside: dict[str, Array]


def encode_file(
    source: str, features: Listed, numbers: Listed, labels: Listed, encoder: TableEncoder | None = None
) -> EncodedFile:
    """Encode a CSV or Parquet file as the command line does.

    Parameters
    ----------
    source : str
        Path of a file, or of a directory of Parquet files.
    features : sequence of str
        Columns to encode.
    numbers, labels : sequence of str
        Other columns that are needed; a missing cell in them is refused.
    encoder : TableEncoder, default=None
        Fitted to an earlier table; None fits one.
    """
    named = [*numbers, *labels]
    how = Rules(dict.fromkeys(numbers, "number"), strict=frozenset(named))
    if encoder is not None:
        known = rules_of(encoder)
        how = replace(known, kinds={**known.kinds, **how.kinds})
    long = LongTable.find(source, above=LONG)
    if long is None:
        whole = read_table(source, how, too_large=TOO_LARGE)
        columns, gaps = whole.columns, {name: whole.gaps(name) for name in named}
    else:
        look = look_at(long, how, named)
        whole, columns, gaps, how = look.whole, look.columns, look.gaps, look.how
    for name, missing in gaps.items():
        count, where = counted(int(missing.sum()), "missing value"), whole.where(int(np.argmax(missing)))
        refuse(missing.any(), f"Column {name!r} has {count}, the first in {where}. Drop these rows.")
    if encoder is None:
        encoder = _learn_encoder({name: columns[name] for name in features}, whole)
    beside = {name: np.asarray(whole.columns[name].values) for name in numbers}
    beside |= {name: _labels(whole, name) for name in labels}
    if long is not None:
        return EncodedFile(encoder, Passes(long, encoder, how), beside)
    return EncodedFile(encoder, encoder.transform(columns_for(encoder, columns)), beside)


def _learn_encoder(features: dict[str, Cells], table: Reading) -> TableEncoder:
    """The encoder of these columns, with a warning of columns that were nearly numbers or dates."""
    encoder = fit_encoder(features, EncoderSettings((), (), table.style), table.what)
    for column in encoder.columns_:
        odd = odd_warning(column, features[column.name])
        if odd is not None:
            warn(odd)
    return encoder


def _labels(table: Reading, name: str) -> Array:
    """Cells as the file has them; the whole numbers of a CSV file are numbers."""
    cells = table.exactly(name)
    if isinstance(table.raw[name], list) and all(map(_WHOLE.fullmatch, cells)):
        return np.array(list(map(int, cells)))
    return as_names(cells)


def encode_new(source: str, encoder: TableEncoder) -> Iterator[Array]:
    """New rows of a file, encoded: one block, or those of a long table."""
    long, how = LongTable.find(source, above=LONG), rules_of(encoder)
    if long is not None:
        for name in how.kinds:
            if name not in long.names:
                raise InputError(f"There is no column {name!r} in {long.what}. {nearest(name, long.names)}")
        yield from (block[0] for block in Passes(long, encoder, how)())
        return
    yield encoder.transform(columns_for(encoder, read_table(source, how).columns))


def columns_for(encoder: TableEncoder, X: XLike) -> XLike:
    """The columns of a table that an encoder needs, by name; tables without names as they are."""
    table, needed = as_table(X), rules_of(encoder).kinds
    if not table.named:
        return X
    return {name: table.column(place) for place, name in enumerate(table.names) if name in needed}
