"""Tables from files and pipes: CSV, TSV and Parquet as named columns, read right or refused with one sentence."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.delimited import SEPARATORS, read_delimited, refuse_twice, short
from mercer.data.rows import Array
from mercer.data.text_columns import Levels, Texts, choose_style, refused_endless, typed
from mercer.errors import InputError, nearest, sentence

DECIMAL_COMMAS = "Numbers have decimal commas."
_EXACT = 2**53  # whole numbers up to here are floats, too


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
    """

    columns: dict[str, Array]
    rows: int
    lines: list[int] | None
    what: str
    kind: str
    notes: tuple[str, ...]

    def where(self, row: int) -> str:
        """What a person should look for: "line 7 of table.csv"."""
        return _where(self.what, self.lines, row)

    def column(self, name: str) -> Array:
        """One column; a name that is none gets the nearest suggested."""
        if name not in self.columns:
            hint = nearest(name, self.columns)
            only = next(iter(self.columns)) if len(self.columns) == 1 else ""
            signs = [word for sign, word in SEPARATORS.items() if sign in only]
            if signs:
                hint = f"It has one column, {short(only)!r}: are cells separated by a {signs[0]}? Use --separator."
            raise InputError(f"There is no column {name!r} in {self.what}. {hint}")
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
    infinite: str = "refuse",
) -> Reading:
    r"""Read a table from a file, or from standard input if `source` is "-".

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
    infinite : {"refuse", "missing"}, default="refuse"
        What becomes of infinite numbers.

    Returns
    -------
    Reading

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.data.reading import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("size;city\n1,5;Rome\nNA;Bonn\n")
    ...     table = read_table(str(path))
    >>> table.columns["size"], table.kind
    (array([1.5, nan]), 'semicolon')
    >>> table.notes
    ("Column 'size': 'NA' (1) taken as missing.", 'Numbers have decimal commas.')
    """
    raw, what = _bytes(source)
    asked = dict(kinds or {}) | dict.fromkeys(unused, "text")
    if raw[:4] == b"PAR1":
        return _parquet(raw, what, asked, others, infinite)
    table = read_delimited(raw, what, separator)
    notes = list(table.notes)

    def where(row: int) -> str:
        return _where(what, table.lines, row)

    read = zip(table.names, table.columns, strict=True)
    columns = [Texts(name, cells, where, endless=infinite == "missing") for name, cells in read]
    style = choose_style([each for each in columns if asked.get(each.name, others) in {None, "number"}], decimal)
    made = {each.name: typed(each, style, asked.get(each.name, others), notes) for each in columns}
    if style.decimal == "," and decimal is None:
        notes.append(DECIMAL_COMMAS)
    kind = SEPARATORS.get(table.separator, table.separator)
    return Reading(made, len(table.lines), table.lines, what, kind, tuple(notes))


def _bytes(source: str) -> tuple[bytes, str]:
    """What a file or a pipe holds, and what to call it."""
    if source == "-":
        return sys.stdin.buffer.read(), "standard input"
    path = Path(source)
    try:
        return path.read_bytes(), path.name
    except FileNotFoundError:
        raise no_file(path) from None
    except IsADirectoryError:
        raise InputError(sentence(repr(source), "a file", "a directory")) from None
    except OSError as error:
        raise InputError(f"{source!r} cannot be read: {error.strerror or error}.") from None


def no_file(path: Path) -> InputError:
    """The complaint about a file that is not there, with the name of one that is much like it."""
    beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = nearest(path.name, beside) if beside else ""
    return InputError(f"There is no file {str(path)!r}. {hint if 'mean' in hint else ''}".strip())


def _parquet(raw: bytes, what: str, asked: Mapping[str, str], others: str | None, infinite: str) -> Reading:
    try:
        import pyarrow as pa
        from pyarrow import parquet

        from mercer.data.blocks.arrow import plain
    except ImportError:  # pragma: no cover - the extra is there in tests
        raise InputError("Parquet needs pyarrow, which is not installed: pip install 'mercer[cli]'") from None
    try:
        file = parquet.ParquetFile(io.BytesIO(raw))
        names = refuse_twice([str(name) for name in file.schema_arrow.names], what)
        table = plain(file.read())
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} is a damaged Parquet file: {one_line(error)}.") from None
    return arrow_reading(table.rename_columns(names), what, asked, others=others, infinite=infinite)


def arrow_reading(
    table: Any, what: str, asked: Mapping[str, str], *, others: str | None = None, infinite: str = "refuse"
) -> Reading:
    """A table of pyarrow's as named columns; `asked`, `others` and `infinite` as for `read_table`."""
    names = table.column_names
    if not names or not table.num_rows:
        raise InputError(
            sentence(what, "a table with rows and columns", f"{table.num_rows} rows, {len(names)} columns")
        )
    notes: list[str] = []
    made = {
        name: _arrow_column(name, table.column(place), what, asked.get(name, others), notes)
        for place, name in enumerate(names)
    }
    for name, column in made.items():
        if column.dtype.kind == "f" and np.isinf(column).any():
            made[name] = _finite(name, column, what, infinite, notes)
    return Reading(made, table.num_rows, None, what, "Parquet", tuple(notes))


def one_line(error: BaseException) -> str:
    """What an error of another library says, short and without a full stop."""
    words = " ".join(str(error).split())
    return (words if len(words) <= 150 else words[:147] + "...").rstrip(".")


def _arrow_column(name: str, column: Any, what: str, asked: str | None, notes: list[str]) -> Array:
    """One column of Parquet as the encoder takes it."""
    from pyarrow import types

    kind = column.type
    if asked == "text" and types.is_nested(kind):
        return np.full(len(column), "", dtype=object)  # not looked at
    if types.is_dictionary(kind):
        column, asked = column.cast(kind.value_type), asked or "category"
        kind = column.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
        texts = Texts(name, [cell or "" for cell in column.to_pylist()], lambda row: _where(what, None, row))
        return typed(texts, choose_style([], "."), asked, notes)
    if types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind):
        return _arrow_numbers(name, column, what, asked)
    if types.is_boolean(kind) or types.is_date(kind) or types.is_timestamp(kind) or types.is_duration(kind):
        if types.is_timestamp(kind) or types.is_date(kind):
            made = np.asarray(column.cast("timestamp[ms]", safe=False).to_numpy(), dtype="datetime64[ms]")
        elif types.is_duration(kind):
            made = np.asarray(column.cast("duration[ms]", safe=False).to_numpy(), dtype="timedelta64[ms]")
        else:
            made = np.array(column.to_pylist(), dtype=object)
        return made.astype(object).view(Levels) if asked == "category" else made
    must_be = "numbers, truth values, dates or text"
    raise InputError(sentence(f"Column {name!r} of {what}", must_be, str(kind), "Leave it out with --drop."))


def _arrow_numbers(name: str, column: Any, what: str, asked: str | None) -> Array:
    from pyarrow import types

    plain = types.is_floating(column.type) or (types.is_integer(column.type) and not column.null_count)
    if plain and asked not in {"category", "text"}:
        values = np.array(column.to_numpy(), dtype=np.float64)
        if types.is_floating(column.type) or not (np.abs(values) >= _EXACT).any():
            return values
    cells = column.to_pylist()
    if asked in {"category", "text"}:
        return np.array(cells, dtype=object).view(Levels) if asked == "category" else np.array(cells, dtype=object)
    values = np.array([np.nan if cell is None else float(cell) for cell in cells])
    for row in np.flatnonzero(np.abs(values) >= _EXACT).tolist():
        if isinstance(cells[row], int) and int(values[row]) != cells[row]:
            got = f"{cells[row]} in {_where(what, None, row)}"
            way_out = f"Leave the column out with --drop, or keep it with --as {name}=category."
            raise InputError(sentence(f"Column {name!r}", "whole numbers of at most 15 digits", got, way_out))
    return values


def _finite(name: str, values: Array, what: str, infinite: str, notes: list[str]) -> Array:
    """Infinite numbers refused, or taken as missing."""
    endless = np.isinf(values)
    count, row = int(endless.sum()), int(np.argmax(endless))
    if infinite == "refuse":
        raise refused_endless(name, str(values[row]), count, _where(what, None, row))
    notes.append(f"Column {name!r}: {count} infinite cell{'s' * (count > 1)} taken as missing.")
    return np.where(endless, np.nan, values)
