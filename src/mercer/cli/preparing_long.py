"""A table of many rows prepared from one look at it: a sample for the encoder, and passes over the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.cli.preparing import (
    Prepared,
    Said,
    check_groups,
    check_weights,
    chosen_task,
    fitted_encoder,
    infinite_cells,
    learned_from,
    odd_words,
    rows_left_out,
    structure_words,
)
from mercer.data.rows import Array
from mercer.errors import InputError, nearest
from mercer.tables import TableEncoder
from mercer.tables.cells import number_texts
from mercer.tables.parquet import LongTable
from mercer.tables.reading import Rules, arrow_reading
from mercer.tables.values import NumberStyle

_SAMPLE = 20_000  # rows that columns are judged by


@dataclass(frozen=True, eq=False)
class Passes:
    """Starts a pass over all rows that are learned from: encoded columns, targets, weights and groups of each block."""

    table: LongTable
    encoder: TableEncoder
    how: Rules
    kept: Array
    y: Array
    weights: Array | None
    groups: Array | None

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        """Blocks from the first to the last row."""
        used = {column.name: column.kind for column in self.encoder.columns_ if column.outputs}
        writings = {column.name: column.writing for column in self.encoder.columns_ if column.outputs}
        row = at = 0
        for block in self.table.blocks(list(used)):
            what = f"the block of {self.table.what} that begins with row {row + 1}"
            found = arrow_reading(block, what, replace(self.how, kinds=used, writings=writings))
            kept = np.flatnonzero(self.kept[row : row + block.num_rows])
            columns = {name: column[kept] for name, column in found.columns.items()}
            own = slice(at, at + len(kept))
            row, at = row + block.num_rows, own.stop
            if len(kept):
                yield self.encoder.transform(columns), *(each if each is None else each[own] for each in self._beside())

    def _beside(self) -> tuple[Array | None, ...]:
        return self.y, self.weights, self.groups


def prepare_long(table: LongTable, said: Said) -> Prepared:
    """Look at a long table once, and sort its columns."""

    def column(name: str) -> None:
        if name not in table.names:
            raise InputError(f"There is no column {name!r} in {table.what}. {nearest(name, table.names)}")

    if said.time is not None:
        raise InputError(
            f"--time is not supported for tables that are read in blocks ({table.rows} rows). Fit fewer rows, or "
            "remove --time."
        )
    if not said.rows_kept:
        raise InputError(
            f"--without-data is not supported for tables that are read in blocks ({table.rows} rows): their Nystroem "
            "model stores some of the training rows, its landmarks. Remove --without-data, or fit a smaller table."
        )
    names, named = learned_from(said, column, table.names, table.what), said.always_there
    endless = infinite_cells(said) == "missing"
    survey = table.survey(named, names if said.missing in {"drop", "refuse"} else [], _SAMPLE, endless=endless)
    strict = said.strict or frozenset(said.always_there)
    how = Rules(
        said.read_as, frozenset(said.unused), decimal=said.decimal, endless=endless, date_format=said.date_format,
        strict=strict,
    )  # fmt: skip
    sample = arrow_reading(survey.sample, table.what, how, table.declared, survey.rows.tolist())
    # one style for all blocks, so that none is read in a style of its own
    how = replace(how, decimal=None, style=sample.style or NumberStyle(), strict=True)
    whole = arrow_reading(survey.whole, table.what, how, table.declared)
    notes = list(dict.fromkeys([*whole.notes, *sample.notes]))
    gaps = {name: whole.gaps(name) for name in named}
    for name, (blank, words) in survey.gaps.items():  # words such as NA are missing among numbers and dates alone
        gaps[name] = blank if sample.columns[name].family == "text" else blank | words
    kept = ~rows_left_out(whole, said, gaps, notes)
    rows = np.flatnonzero(kept)
    notes.append(f"Columns were judged by {sample.rows} evenly spaced rows; all rows are read in blocks.")
    drawn = np.flatnonzero(kept[survey.rows])
    columns = dict(sample.columns)
    for name in names:
        if name in survey.infinite and not (endless or said.strict or name in said.read_as):
            columns[name] = replace(number_texts(columns[name]), odd=survey.infinite[name])
    features = {name: columns[name][drawn] for name in names}
    encoder = fitted_encoder(features, said, sample, notes)
    target = chosen_task(whole, said, rows, notes)
    groups, weights = check_groups(whole, said.group, rows), check_weights(whole, said.weight, rows)
    notes += structure_words(said, groups, weights, None)
    return Prepared(
        sample,
        table.rows,
        features,
        encoder,
        target,
        groups,
        weights,
        tuple(name for name in table.names if name not in features and name != said.target),
        notes,
        odd_words(encoder, features),
        None,
        Passes(table, encoder, how, kept, target.values, weights, groups),
    )
