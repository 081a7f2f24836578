"""Tables from files and pipes: CSV, TSV and Parquet as named columns, read right or refused with one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, nearest, sentence
from mercer.runtime import promise
from mercer.tables.delimited import SEPARATORS, read_delimited, short
from mercer.tables.parquet import arrow_column, is_text, read_parquet, row_of, table_path
from mercer.tables.text_columns import Texts, choose_style, refused_endless, typed
from mercer.tables.values import NumberStyle

DECIMAL_COMMAS = "Numbers have decimal commas."
# Bytes of memory for each byte of a CSV file, whose cells are texts before they are numbers: 17.3 for numbers.
_PER_BYTE = 17
_PIECE = 2**24  # bytes that are read between two looks at the memory


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as it was read.

    Attributes
    ----------
    columns : dict of str to ndarray
        Numbers (NaN where missing), days (NaT), texts (empty) or what Parquet holds, by name.
    rows : int
        How many there are.
    lines : list of int or None
        The line of the file in which each row begins; None for Parquet.
    what : str
        What to call it.
    kind : str
        `comma`, `semicolon`, `tab`, `bar` or `Parquet`.
    notes : tuple of str
        What was taken for what, where that is not plain.
    style : NumberStyle or None
        How texts write numbers; None where no cell tells.
    """

    columns: dict[str, Array]
    rows: int
    lines: list[int] | None
    what: str
    kind: str
    notes: tuple[str, ...]
    style: NumberStyle | None = None

    def where(self, row: int) -> str:
        """What a person should look for: "line 7 of table.csv"."""
        return _where(self.what, self.lines, row)

    def column(self, name: str) -> Array:
        """One column; a name that is none gets the nearest suggested."""
        if name not in self.columns:
            known, hint = nearest(name, self.columns), ""
            only = next(iter(self.columns)) if len(self.columns) == 1 else ""
            signs = [word for sign, word in SEPARATORS.items() if sign in only]
            if signs:
                known, hint = (
                    f"It has one column, {short(only)!r}.",
                    f"Are cells separated by a {signs[0]}? Use $separator.",
                )
            raise InputError(f"There is no column {name!r} in {self.what}. {known}", hint=hint)
        return self.columns[name]


def _where(what: str, lines: list[int] | None, row: int) -> str:
    return f"row {row + 1} of {what}" if lines is None else f"line {lines[row]} of {what}"


def read_table(
    source: str,
    *,
    kinds: Mapping[str, str] | None = None,
    unused: Collection[str] = (),
    others: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    style: NumberStyle | None = None,
    infinite: str = "refuse",
    too_large: str = "Read fewer rows at a time.",
) -> Reading:
    r"""Read a table from a file, a pipe or a device, or from standard input if `source` is "-".

    It is opened once and read from the first byte to the last; memory is promised before a file is read, and while a
    pipe is.

    Parameters
    ----------
    source : str
        A path, or "-".
    kinds : dict, default=None
        `number`, `category`, `date` or `text` for columns whose cells do not say it themselves.
    unused : collection of str, default=()
        Columns that are not looked at: their cells stay texts.
    others : str, default=None
        The kind of all other columns; None finds out.
    separator, decimal : str, default=None
        What stands between cells, and the decimal sign; None finds out, and refuses what could be either.
    style : NumberStyle, default=None
        How the training table writes numbers: what contradicts it is refused, unless `decimal` says otherwise.
    infinite : {"refuse", "missing"}, default="refuse"
        What becomes of infinite numbers.
    too_large : str
        What to do where the table does not fit in memory, for the refusal.

    Returns
    -------
    Reading

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.tables.reading import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("size;city\n1,5;Rome\nNA;Bonn\n")
    ...     table = read_table(str(path))
    >>> table.columns["size"], table.kind
    (array([1.5, nan]), 'semicolon')
    >>> table.notes
    ("Column 'size': 'NA' (1) taken as missing.", 'Numbers have decimal commas.')
    """
    raw, what = _bytes(source, too_large)
    asked = dict(kinds or {}) | dict.fromkeys(unused, "text")
    if raw[:4] == b"PAR1":
        table = read_parquet(raw, what, too_large)
        return arrow_reading(table, what, asked, others=others, infinite=infinite, decimal=decimal, style=style)
    table = read_delimited(raw, what, separator)
    notes = list(table.notes)

    def where(row: int) -> str:
        return _where(what, table.lines, row)

    read = zip(table.names, table.columns, strict=True)
    columns = [Texts(name, cells, where, endless=infinite == "missing") for name, cells in read]
    read_as = {each.name: asked.get(each.name, others) for each in columns}
    made, found = _from_texts(columns, read_as, decimal, style, notes)
    kind = SEPARATORS.get(table.separator, table.separator)
    return Reading(made, len(table.lines), table.lines, what, kind, tuple(notes), found)


def _from_texts(
    columns: Sequence[Texts],
    kinds: Mapping[str, str | None],
    decimal: str | None,
    style: NumberStyle | None,
    notes: list[str],
) -> tuple[dict[str, Array], NumberStyle | None]:
    """Columns of texts by what their cells are, and how they write numbers: one rule for CSV, TSV and Parquet."""
    trained = style is not None and decimal is None
    found = style
    if not trained:
        found = choose_style([each for each in columns if kinds[each.name] in {None, "number"}], decimal)
    made = {
        each.name: typed(each, found or NumberStyle(), kinds[each.name], notes, trained=trained) for each in columns
    }
    if found is not None and found.decimal == "," and decimal is None and not trained:
        notes.append(DECIMAL_COMMAS)
    return made, found


def _bytes(source: str, too_large: str) -> tuple[bytes, str]:
    """What a file or a pipe holds, and what to call it."""
    if source == "-":
        return _held(sys.stdin.buffer, 0, "standard input", too_large), "standard input"
    path = table_path(source)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            what = path.name if path.is_file() else source
            return _held(file, size, what, too_large), what
    except FileNotFoundError:
        raise no_file(path) from None
    except IsADirectoryError:
        raise InputError(sentence(repr(source), "a file", "a directory")) from None
    except OSError as error:
        raise InputError(f"{source!r} cannot be read: {error.strerror or error}.") from None


def _held(file: BinaryIO, size: int, what: str, too_large: str) -> bytes:
    """All bytes of an open file; refused as soon as it is clear that their table does not fit in memory."""
    pieces: list[bytes] = []
    count = seen = 0
    while piece := file.read1(_PIECE):  # type: ignore[attr-defined]  # what a pipe has by now: a terminal ends once
        pieces.append(piece)
        count += len(piece)
        if count == len(piece) or count >= seen + _PIECE:
            per_byte = 1 if pieces[0][:4] == b"PAR1" else _PER_BYTE
            promise(per_byte * max(count, size), f"Reading {what}", too_large)
            seen = count
    return b"".join(pieces)


def no_file(path: Path) -> InputError:
    """The complaint about a file that is not there, with the name of one that is much like it."""
    beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = nearest(path.name, beside) if beside else ""
    return InputError(f"There is no file {str(path)!r}. {hint if 'mean' in hint else ''}".strip())


def arrow_reading(
    table: Any,
    what: str,
    asked: Mapping[str, str],
    *,
    others: str | None = None,
    infinite: str = "refuse",
    decimal: str | None = None,
    style: NumberStyle | None = None,
) -> Reading:
    """A table of pyarrow's as named columns; `asked` are `kinds`, all else is as for `read_table`."""
    names = table.column_names
    if not names or not table.num_rows:
        raise InputError(
            sentence(what, "a table with rows and columns", f"{table.num_rows} rows, {len(names)} columns")
        )
    notes: list[str] = []
    columns = {name: table.column(place) for place, name in enumerate(names)}
    kinds = {name: asked.get(name, others) for name in names}
    for name, column in columns.items():
        if (kind := getattr(column.type, "value_type", None)) is not None and hasattr(column.type, "index_type"):
            columns[name], kinds[name] = column.cast(kind), kinds[name] or "category"

    def where(row: int) -> str:
        return row_of(what, row)

    texts = [
        Texts(name, [(cell or "").strip(" \t") for cell in column.to_pylist()], where, endless=infinite == "missing")
        for name, column in columns.items()
        if is_text(column.type)
    ]
    made, found = _from_texts(texts, kinds, decimal, style, notes)
    made = {
        name: made[name] if name in made else arrow_column(name, column, what, kinds[name])
        for name, column in columns.items()
    }
    for name, column in made.items():
        if column.dtype.kind == "f" and np.isinf(column).any():
            made[name] = _finite(name, column, what, infinite, notes)
    return Reading(made, table.num_rows, None, what, "Parquet", tuple(notes), found)


def _finite(name: str, values: Array, what: str, infinite: str, notes: list[str]) -> Array:
    """Infinite numbers refused, or taken as missing."""
    endless = np.isinf(values)
    count, row = int(endless.sum()), int(np.argmax(endless))
    if infinite == "refuse":
        raise refused_endless(name, str(values[row]), count, row_of(what, row))
    notes.append(f"Column {name!r}: {count} infinite cell{'s' * (count > 1)} taken as missing.")
    return np.where(endless, np.nan, values)
