"""Tables from files and pipes: CSV, TSV and Parquet as named columns, read right or refused with one sentence."""

from __future__ import annotations

import difflib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, nearest, refuse_if, sentence
from mercer.runtime import promise
from mercer.tables.cells import Cells, Where, Writing, coded_cells, read_cells, short, text_cells
from mercer.tables.dates import WORDS, check_format
from mercer.tables.delimited import SEPARATORS, read_delimited
from mercer.tables.kinds import interpret
from mercer.tables.parquet import distinct_texts, promise_texts, read_parquet, table_path
from mercer.tables.values import NumberStyle, find_style

if TYPE_CHECKING:
    import pyarrow as pa

    Raw: TypeAlias = list[str] | pa.ChunkedArray  # a column as its file has it
_FOUND = {  # the notes on styles that were found
    NumberStyle(",", "."): "Numbers have decimal commas.",
    NumberStyle(".", ","): "Numbers have decimal points and commas between thousands.",
}
# Bytes of memory for each byte of a CSV file, whose cells are texts before they are numbers: 17.3 for numbers.
_PER_BYTE = 17
_PIECE = 2**24  # bytes that are read between two looks at the memory


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as it was read.

    Attributes
    ----------
    columns : dict of str to Cells
        What the cells of each column mean, by name; without columns that are not used.
    raw : dict of str to sequence
        All columns as the file has them: texts, or columns of pyarrow's.
    where : Where
        Where its rows are.
    kind : str
        `comma`, `semicolon`, `tab`, `bar` or `Parquet`.
    notes : tuple of str
        Notes on how cells were read, if that is not obvious.
    style : NumberStyle or None
        How texts write numbers; None where no cell tells.
    """

    columns: dict[str, Cells]
    raw: dict[str, Raw]
    where: Where
    kind: str
    notes: tuple[str, ...]
    style: NumberStyle | None = None

    @property
    def what(self) -> str:
        """What to call it."""
        return self.where.what

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(next(iter(self.raw.values())))

    def gaps(self, name: str) -> Array:
        """Which cells of a column are missing, used or not."""
        cells = self.columns.get(name)
        return (_cells(name, self.raw[name], self.where, endless=True) if cells is None else cells).missing

    def exactly(self, name: str) -> list[Any]:
        """The cells of a column as in the file; an unknown name is an error that suggests the nearest one."""
        if name not in self.raw:
            known, hint = nearest(name, self.raw), ""
            only = next(iter(self.raw)) if len(self.raw) == 1 else ""
            signs = [word for sign, word in SEPARATORS.items() if sign in only]
            if signs:
                known = f"It has one column, {short(only)!r}."
                hint = f"If the separator is a {signs[0]}, set $separator."
            raise InputError(f"There is no column {name!r} in {self.what}. {known}", hint=hint)
        column = self.raw[name]
        return column if isinstance(column, list) else _objects(column)


def read_table(
    source: str,
    how: Rules | None = None,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    too_large: str = "Read fewer rows at a time.",
) -> Reading:
    r"""Read a table from a file, a pipe or a device, or from standard input if `source` is "-".

    It is opened once and read from the first byte to the last; memory is promised before a file is read, and while a
    pipe is.

    Parameters
    ----------
    source : str
        A path, or "-".
    how : Rules, default=None
        What is known about its columns.
    separator : str, default=None
        What stands between cells; None finds out, and refuses what could be either.
    encoding : str, default=None
        Of a text file; None takes UTF-8, UTF-16 or Windows-1252, and tells if it is not the first.
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
    >>> table.columns["size"].values, table.kind
    (array([1.5, nan]), 'semicolon')
    >>> table.notes
    ("Column 'size': 'NA' (1) taken as missing.", 'Numbers have decimal commas.')
    """
    how = how or Rules()
    raw, what = _bytes(source, too_large)
    check_format(how.date_format)
    if raw[:4] == b"PAR1":
        cells, declared = read_parquet(raw, what, too_large)
        return arrow_reading(cells, what, how, declared)
    table = read_delimited(raw, what, separator, encoding)
    kind, where = SEPARATORS.get(table.separator, table.separator), Where(what, table.lines)
    return how.reading({**table.columns}, where, kind, table.notes)


@dataclass(frozen=True)
class Rules:
    """What is known about the columns of a table.

    Attributes
    ----------
    kinds : dict
        `number`, `category`, `date` or `text` for columns whose cells do not say it themselves.
    unused : collection of str
        Columns that are not looked at.
    only_kinds : bool
        Whether the columns that `kinds` does not name are not looked at, either.
    decimal : str or None
        The decimal sign; None finds out, and refuses what could be either.
    style : NumberStyle or None
        How the training table writes numbers: what contradicts it is refused, unless `decimal` says otherwise.
    endless : bool
        Whether infinite numbers are taken as missing.
    writings : dict
        How the texts of columns wrote numbers and dates in training.
    date_format : str or None
        A format of strptime that dates may have.
    strict : bool or collection of str
        Whether columns of numbers or dates with a few other cells, or infinite ones, are refused, or which; otherwise
        they are texts that know what is odd.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    unused: Collection[str] = ()
    only_kinds: bool = False
    decimal: str | None = None
    style: NumberStyle | None = None
    endless: bool = False
    writings: Mapping[str, Writing] = field(default_factory=dict)
    date_format: str | None = None
    strict: bool | Collection[str] = True

    def used_columns(self, names: Iterable[str]) -> list[str]:
        """The columns that are looked at."""
        return [name for name in names if name not in self.unused and (name in self.kinds or not self.only_kinds)]

    def reading(
        self, raw: dict[str, Raw], where: Where, kind: str, notes: Iterable[str] = (), declared: Collection[str] = ()
    ) -> Reading:
        """Columns as the file has them by what their cells mean: one way for CSV, TSV and Parquet."""
        read = {name: _cells(name, raw[name], where, endless=self.endless) for name in self.used_columns(raw)}
        read = {name: replace(cells, declared=name in declared) for name, cells in read.items()}
        trained = self.style is not None and self.decimal is None
        style = self.style if trained else NumberStyle.from_settings(self.decimal)
        told, last = list(notes), list[str]()
        if style is None:
            style = find_style(cells for name, cells in read.items() if self.kinds.get(name, "number") == "number")
            last = [_FOUND[style]] if style in _FOUND else []
        for name, cells in read.items():
            kind_of = self.kinds.get(name)
            made = interpret(
                cells, kind_of, style or NumberStyle(), endless=self.endless, trained=trained,
                writing=self.writings.get(name), date_format=self.date_format,
                strict=self.strict if isinstance(self.strict, bool) else name in self.strict,
            )  # fmt: skip
            told += [] if name in self.writings else _reading_notes(made)
            read[name] = replace(made, declared=made.declared or kind_of == "category", style=style or NumberStyle())
            told += [f"Column {name!r}: {made.gone} taken as missing."] * bool(made.gone)
        return Reading(read, raw, where, kind, (*told, *last), style)


def _cells(name: str, column: Raw, where: Where, *, endless: bool) -> Cells:
    """The cells of a column of a file: texts of a CSV file, or a column of pyarrow's."""
    if isinstance(column, list):
        return text_cells(name, column, where)
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return read_cells(name, column, where, endless=endless)
    if not types.is_string(column.type.value_type):  # bytes, which are refused
        return read_cells(name, _objects(column), where)
    return coded_cells(name, *distinct_texts(column), where)


def _objects(column: pa.ChunkedArray) -> list[object]:
    """The cells of a column of pyarrow's as objects of Python's; equal texts are one object."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        texts, codes = distinct_texts(column)
        return list(np.array([*texts, None], dtype=object)[codes])
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):  # dates of which Python has none
        return [None if np.isnat(day) else str(day) for day in column.to_numpy()]


def _reading_notes(cells: Cells) -> list[str]:
    """How the texts of a column were read, where that is not obvious."""
    dates, around = cells.writing.dates, cells.writing.before or cells.writing.after
    if not (dates or around):
        return []
    said = WORDS.get(dates, f"dates in the format {dates}") if dates else f"numbers, {around!r} left out"
    return [f"Column {cells.name!r}: read as {said}."]


def arrow_reading(
    table: pa.Table, what: str, how: Rules, declared: frozenset[str] = frozenset(), rows: Sequence[int] | None = None
) -> Reading:
    """A table of pyarrow's, read by these rules.

    The file declares some columns as categories; `rows` are the numbers of the rows in the file, if these are some.
    """
    names = table.column_names
    got = f"{table.num_rows} rows, {len(names)} columns"
    refuse_if(not names or not table.num_rows, what, "a table with rows and columns", got)
    columns = {name: table.column(place) for place, name in enumerate(names)}
    promise_texts((columns[name] for name in how.used_columns(names)), what)
    return how.reading(columns, Where(what, rows=rows), "Parquet", declared=declared)


def _bytes(source: str, too_large: str) -> tuple[bytes, str]:
    """What a file or a pipe holds, and what to call it."""
    path = table_path(source)
    try:
        if source == "-":
            return _read_all(sys.stdin.buffer, 0, "standard input", too_large), "standard input"
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            what = path.name if path.is_file() else source
            return _read_all(file, size, what, too_large), what
    except FileNotFoundError:
        raise no_file(path) from None
    except IsADirectoryError:
        raise InputError(sentence(repr(source), "a file", "a directory")) from None
    except (OSError, EOFError, zlib.error) as error:
        name = "Standard input" if source == "-" else repr(source)
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise InputError(f"{name} cannot be read: {reason}.") from None


def _unpack(file: Any) -> BinaryIO:
    """The file as it is, or what a gzip or zstd file holds."""
    file = file if hasattr(file, "peek") else io.BufferedReader(file)
    start = file.peek(4)[:4]
    if start[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if start == b"\x28\xb5\x2f\xfd":
        from pyarrow import CompressedInputStream

        return io.BufferedReader(CompressedInputStream(file, "zstd"))
    return file  # type: ignore[no-any-return]


def _read_all(file: BinaryIO, size: int, what: str, too_large: str) -> bytes:
    """All bytes of an open file; refused as soon as it is clear that their table does not fit in memory."""
    file = _unpack(file)
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
    beside = {other.stem: other.name for other in path.parent.iterdir()} if path.parent.is_dir() else {}
    close = difflib.get_close_matches(path.stem, beside, n=1, cutoff=0.7)
    hint = f" Did you mean {beside[close[0]]!r}?" if close else ""
    return InputError(f"There is no file {str(path)!r}.{hint}")
