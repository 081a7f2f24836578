"""One column of a table, whatever held it, as numbers, booleans, days or texts, with what is missing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np

from mercer.data.checks import kind_of
from mercer.data.rows import Array
from mercer.errors import InputError, refuse_if, sentence
from mercer.text import counted

if TYPE_CHECKING:
    from mercer.tables.values import NumberStyle

Family: TypeAlias = Literal["number", "truth", "date", "text"]

_DAY = dt.timedelta(days=1)
EXACT = 2**53  # every whole number up to here is a float64
FLOAT64 = "numbers below 1.8e308 in absolute value (the float64 range)"
FIFTEEN = "numbers of at most 15 digits, which a float64 holds exactly"
_DIGITS = (int, np.integer, Decimal)  # numbers that may have more digits than a float64
_FAMILIES = "numbers, booleans, dates or text"
_FAMILY_OF = {"booleans": "truth", "numbers": "number", "durations": "number", "dates": "date", "text": "text"}
_DROP = "Drop the column with $drop."
_FINE = {"ms", "us", "ns", "ps", "fs", "as"}  # units of which milliseconds overflow no earlier


@dataclass(frozen=True, eq=False)
class Where:
    """Where rows are, in words: rows of an object from 0, lines of a text file, rows of another file from 1.

    Examples
    --------
    >>> from mercer.tables.cells import Where
    >>> Where()(2), Where("t.csv", [2, 3, 5])(2), Where("t.parquet")(2), Where("t.parquet", rows=[0, 7, 14])(2)
    ('row 2', 'line 5 of t.csv', 'row 3 of t.parquet', 'row 15 of t.parquet')
    """

    what: str = ""
    lines: Sequence[int] | None = None
    rows: Sequence[int] | None = None

    def __call__(self, row: int) -> str:
        """Where a row is."""
        if not self.what:
            return f"row {row}"
        if self.lines is not None:
            return f"line {self.lines[row]} of {self.what}"
        return f"row {(row if self.rows is None else self.rows[row]) + 1} of {self.what}"


@dataclass(frozen=True)
class Writing:
    """How the texts of a column write what they mean: the format of dates, and what stands around numbers."""

    dates: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class OddCells:
    """Cells of a column whose other cells are all numbers or all dates.

    Attributes
    ----------
    what : str
        What the others are: `numbers`, `finite numbers`, `dates` or `dates in one format`.
    count, total : int
        How many are odd, of how many that are not missing.
    first : str
        The first one, with its place.
    """

    what: str
    count: int
    total: int
    first: str

    @property
    def share(self) -> str:
        """The share of odd cells in percent.

        >>> OddCells("numbers", 1, 30, "'ask' in row 2").share
        '3.3 %'
        """
        return f"{100 * self.count / self.total:.2g} %"

    def add_infinite(self, values: Array, where: Where, row: int) -> OddCells:
        """The count with the infinite numbers of a block added, whose first row has this number."""
        places = np.flatnonzero(np.isinf(values)).tolist()
        first = self.first or "".join(f"{str(values[place])!r} in {where(row + place)}" for place in places[:1])
        return OddCells(self.what, self.count + len(places), self.total + int((~np.isnan(values)).sum()), first)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column.

    Attributes
    ----------
    name : str
        What the column is called.
    family : str
        `number`, `truth`, `date` or `text`: what the cells are, before anybody decides what they mean.
    values : ndarray
        Numbers; 0 and 1; days since 1970; or, for texts, places in `levels`.
    missing : ndarray of bool
        Which cells are NaN, None, NA, NaT or empty.
    levels : list of str
        The different texts, without white space around them.
    declared : bool
        Whether the table itself says that these are categories.
    where : Where
        Where rows are.
    numbers : dict of str to bool
        The levels of cells that are numbers beside texts, and whether no text is written like that.
    gone : str
        What else was taken as missing: "'NA' (3)", or "2 infinite cells".
    style : NumberStyle or None
        How the file that they come from writes numbers, where its reader has found out what the cells mean.
    writing : Writing
        How texts wrote these numbers or dates.
    odd : OddCells or None
        Why these texts are not numbers or dates, where most of them are.
    """

    name: str
    family: Family
    values: Array
    missing: Array
    levels: list[str] = field(default_factory=list)
    declared: bool = False
    where: Where = Where()
    numbers: dict[str, bool] = field(default_factory=dict)
    gone: str = ""
    style: NumberStyle | None = None
    writing: Writing = field(default_factory=Writing)
    odd: OddCells | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Array) -> Cells:
        """Some rows, with the levels that are left."""
        cut = replace(self, values=self.values[rows], missing=self.missing[rows], where=Where(), gone="")
        return cut.keep_levels(cut.counts > 0) if self.family == "text" else cut

    def keep_levels(self, kept: Array) -> Cells:
        """The cells of a text column with the other levels taken as missing."""
        codes = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)[self.values]
        levels = list(compress(self.levels, kept))
        numbers = {text: self.numbers[text] for text in levels if text in self.numbers}
        return replace(self, values=codes, missing=codes < 0, levels=levels, numbers=numbers)

    @cached_property
    def present(self) -> Array:
        """The values that are not missing."""
        return self.values[~self.missing]

    @cached_property
    def counts(self) -> Array:
        """How often each level of a text column occurs."""
        return np.bincount(self.present, minlength=len(self.levels))

    def without(self, words: Callable[[str], bool]) -> Cells:
        """The cells of a text column with levels that are such words taken as missing."""
        gone = np.array([words(text) for text in self.levels], dtype=bool)
        if not gone.any():
            return self
        told = [f"{text!r} ({count})" for text, count in compress(zip(self.levels, self.counts, strict=True), gone)]
        return replace(self.keep_levels(~gone), gone=", ".join(told[:3]))

    def read(self, family: Family, values: Sequence[float], writing: Writing | None = None) -> Cells:
        """The cells of a text column as numbers, days or booleans: one value per level."""
        placed = np.array([*values, np.nan])[self.values]
        return replace(self, family=family, values=placed, levels=[], writing=writing or Writing())

    def cell_error(self, must_be: str, cell: int | str, hint: str = "") -> InputError:
        """The error for the cell of a row, or for the first cell of a level."""
        return column_error(self.name, must_be, self.found(cell), hint)

    def found(self, cell: int | str) -> str:
        """The cell of a row, or the first cell of a level, with its place."""
        codes, levels = texts_of(self)
        row = cell if isinstance(cell, int) else int(np.flatnonzero(codes == levels.index(cell))[0])
        return f"{short(levels[int(codes[row])])!r} in {self.where(row)}"


def column_error(name: str, must_be: str, found: str, hint: str = "") -> InputError:
    """The error for a column."""
    return InputError(sentence(f"Column {name!r}", must_be, found), hint=hint, column=name)


def short(text: str, most: int = 30) -> str:
    """A text that fits into a sentence, on one line."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[: most - 3] + "..."


def read_cells(name: str, raw: object, where: Where | None = None, *, endless: bool = False) -> Cells:
    """Look at a column once.

    Parameters
    ----------
    name : str
        What it is called.
    raw : array-like, series or Cells
        As the table has it; what was read already stays as it is.
    where : Where, default=None
        Where its rows are.
    endless : bool, default=False
        Whether infinite numbers are taken as missing; otherwise a column that has some is text, which nobody takes for
        numbers.

    Examples
    --------
    >>> from mercer.tables.cells import read_cells
    >>> cells = read_cells("city", ["Rome", None, " Bonn", "Rome", ""])
    >>> cells.family, cells.values.tolist(), cells.levels
    ('text', [0, -1, 1, 0, -1], ['Rome', 'Bonn'])
    """
    if isinstance(raw, Cells):
        return raw
    values, declared = _values(raw)
    refuse_if(values.ndim != 1, f"Column {name!r}", "one value per row", f"{values.ndim} dimensions")
    cells = replace(_cells_by_type(name, values, where or Where(), declared=declared), declared=declared)
    infinite = np.isinf(cells.values)
    if cells.family != "number" or not infinite.any():
        return cells
    if not endless:
        return number_texts(cells)
    gone = counted(int(infinite.sum()), "infinite value")
    return replace(cells, values=np.where(infinite, np.nan, cells.values), missing=cells.missing | infinite, gone=gone)


def _cells_by_type(name: str, values: Array, where: Where, *, declared: bool) -> Cells:
    """By the type of the array."""
    kind = values.dtype.kind
    if kind in "iu" and rounded_rows(values).size:
        return text_cells(name, map(_digits, values.tolist()), where)
    if kind in "iufm":
        floats = _in_days(name, values, where(0)) if kind == "m" else values.astype(np.float64, copy=False)
        return Cells(name, "number", floats, np.isnan(floats), where=where)
    if kind == "b":
        return Cells(name, "truth", values.astype(np.float64), np.zeros(len(values), dtype=bool), where=where)
    if kind == "M":
        return _date_cells(name, values, where)
    if kind not in "UTO":
        raise column_error(name, _FAMILIES, f"{values.dtype} values", _DROP)
    return _object_cells(name, values.astype(object).tolist(), where, declared=declared)


def _values(raw: object) -> tuple[Array, bool]:
    """The cells of a column as an array, and whether it says of itself that it holds categories."""
    if isinstance(raw, np.ma.MaskedArray):
        days = raw.dtype.kind in "mM"
        gap, data = (np.array("NaT", dtype=raw.dtype), raw.data) if days else (np.array(None), raw.data.astype(object))
        return np.where(np.ma.getmaskarray(raw), gap, data), False
    if isinstance(raw, list | tuple):
        return np.fromiter(raw, dtype=object, count=len(raw)), False
    if hasattr(raw, "dictionary_encode") and not hasattr(raw, "chunks"):  # one chunk of pyarrow's
        import pyarrow as pa

        raw = pa.chunked_array([raw])
    series = nw.from_native(raw, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return np.asarray(raw), hasattr(raw, "categories")  # pandas' Categorical says so, and is no Series
    dtype = series.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    whole = dtype == nw.Boolean or (dtype.is_integer() and dtype not in {nw.Int128, nw.UInt128})
    plain = isinstance(dtype, nw.Datetime | nw.Date | nw.Duration) or dtype.is_float()
    if plain or (whole and not series.null_count()):
        return np.asarray(series.to_numpy()), False
    values = np.fromiter(series.to_list(), dtype=object, count=len(series))
    return values, isinstance(dtype, nw.Categorical | nw.Enum)


def number_texts(cells: Cells) -> Cells:
    """Numbers as texts, each written in one way."""
    codes, levels = texts_of(cells)
    return replace(cells, family="text", values=codes, levels=levels, numbers=dict.fromkeys(levels, True))


def is_rounded(number: Any) -> bool:
    """Whether a float64 is too short for a number of 2^53 or more.

    >>> is_rounded(2**53 + 1), is_rounded(2**60), is_rounded(Decimal("0.1"))
    (True, False, False)
    """
    try:
        return bool(abs(number) >= EXACT and float(number) != number)
    except OverflowError:  # beyond every float64, which is another complaint
        return False


def rounded_rows(values: Array) -> Array:
    """The rows of whole numbers that a float64 would round."""
    if values.dtype.itemsize < 8:
        return np.empty(0, dtype=np.intp)
    large = np.flatnonzero(np.abs(values.astype(np.float64)) >= EXACT)
    return np.array([row for row in large.tolist() if is_rounded(values[row].item())], dtype=np.intp)


def _date_cells(name: str, values: Array, where: Where) -> Cells:
    missing, moments = np.isnat(values), values.astype("datetime64[ms]")
    far = (moments.astype(values.dtype) != values) & ~missing  # too far away for milliseconds
    if np.datetime_data(values.dtype)[0] not in _FINE and far.any():
        row = int(np.argmax(far))
        raise column_error(name, "dates within 292 million years of 1970", f"{values[row]} in {where(row)}", _DROP)
    return Cells(name, "date", np.where(missing, np.nan, moments.astype(np.int64) / 86_400_000), missing, where=where)


def _object_cells(name: str, cells: Sequence[Any], where: Where, *, declared: bool) -> Cells:
    missing = np.zeros(len(cells), dtype=bool)
    if set(map(type, cells)) != {str}:
        missing = np.fromiter(map(is_missing, cells), dtype=bool, count=len(cells))
    rows = np.flatnonzero(~missing).tolist()

    def with_blanks(text_of: Callable[[Any], str]) -> Iterator[str]:
        return ("" if gone else text_of(cell) for cell, gone in zip(cells, missing, strict=True))

    present = [cells[row] for row in rows] if missing.any() else cells
    families = {_family(kind) for kind in set(map(type, present))}
    if None in families and not declared:
        row, cell = next((row, cell) for row, cell in zip(rows, present, strict=True) if _family(type(cell)) is None)
        hint = "Turn the column into text, or drop it with $drop."
        raise column_error(name, _FAMILIES, f"{type(cell).__name__} in {where(row)}", hint)
    if families and families <= {"number", "truth"}:
        values = np.full(len(cells), np.nan)
        values[rows] = _floats(name, present, rows, where)
        if any(isinstance(cell, _DIGITS) and is_rounded(cell) for cell in present):
            return text_cells(name, with_blanks(_digits), where)
        return Cells(name, "number" if "number" in families else "truth", values, missing, where=where)
    if families == {"date"}:
        moments = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[ms]")
        moments[rows] = [_moment(name, cell, where(row)) for cell, row in zip(present, rows, strict=True)]
        return _date_cells(name, moments, where)
    if families == {"text"} and not missing.any():
        return text_cells(name, cells, where)
    texts = text_cells(name, with_blanks(_text), where)
    if "number" not in families:
        return texts
    written = {cell.strip() for cell in present if isinstance(cell, str)}
    numbers = {_text(cell) for cell in present if _family(type(cell)) == "number"}
    return replace(texts, numbers={text: text not in written for text in numbers})


def _digits(cell: float | Decimal) -> str:
    """A number with all its digits, where a float64 would round it: different ones stay different.

    Columns with such numbers are texts. They can be levels of a category; who takes them for numbers refuses them.
    """
    exact = isinstance(cell, _DIGITS) and is_rounded(cell)
    return format(cell, "f" if isinstance(cell, Decimal) else "d") if exact else _text(float(cell))


def is_missing(cell: object) -> bool:
    """Whether a cell of any type stands for no value."""
    if isinstance(cell, float | np.floating):
        return bool(cell != cell)  # noqa: PLR0124 - only NaN differs from itself
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:  # pandas' own, which is not imported
        return True
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, np.datetime64 | np.timedelta64) and bool(np.isnat(cell))


def _family(kind: type) -> str | None:
    return None if issubclass(kind, complex | np.complexfloating) else _FAMILY_OF.get(kind_of(kind))


def _floats(name: str, cells: Sequence[Any], rows: Sequence[int], where: Where) -> Array:
    if any(issubclass(kind, dt.timedelta | np.timedelta64) for kind in set(map(type, cells))):
        cells = [_in_days(name, cell, where(row)) for cell, row in zip(cells, rows, strict=True)]
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        row = next(row for row, cell in zip(rows, cells, strict=True) if abs(cell) > 2**1023)
        raise column_error(name, FLOAT64, f"a larger number in {where(row)}") from None


def _in_days(name: str, cell: Any, place: str) -> Any:
    """A duration, or several, in days; months and years have no length in days."""
    if isinstance(cell, dt.timedelta):
        return cell / _DAY
    if getattr(cell, "dtype", np.dtype(object)).kind != "m":
        return cell
    if np.datetime_data(cell.dtype)[0] in {"Y", "M"}:
        must_be = "durations in weeks, days or smaller units"
        raise column_error(name, must_be, f"a unit of months or years in {place}")
    return cell / np.timedelta64(1, "D")


def _moment(name: str, cell: Any, place: str) -> np.datetime64:
    """A date or a moment in milliseconds."""
    try:
        return np.datetime64(naive(cell), "ms")
    except (OverflowError, ValueError):
        raise column_error(name, "dates that can be converted to UTC", f"{cell} in {place}") from None


def naive(moment: Any) -> Any:
    """A moment without a time zone: what clocks show in UTC."""
    aware = getattr(moment, "tzinfo", None) is not None
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if aware else moment


def _text(cell: object) -> str:
    return number_text(float(cell)) if isinstance(cell, float | np.floating) else str(cell)


def number_text(number: float) -> str:
    """A number as the name of a level: 3 and 3.0 are the same one."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(float(number))


def text_cells(name: str, texts: Iterable[str], where: Where | None = None) -> Cells:
    """Texts as cells, empty where missing; white space around them does not count."""
    found: dict[str, int] = {}
    codes = np.array([found.setdefault(text, len(found)) for text in texts], dtype=np.intp)
    return coded_cells(name, list(found), codes, where)


def coded_cells(name: str, texts: Sequence[str], codes: Array, where: Where | None = None) -> Cells:
    """Texts as cells: the different ones, and the place of each cell among them, -1 where missing."""
    levels: dict[str, int] = {}
    stripped = [str(text).strip() for text in texts]
    places = [levels.setdefault(text, len(levels)) if text else -1 for text in stripped]
    codes = np.array([*places, -1], dtype=np.intp)[codes]
    return Cells(name, "text", codes, codes < 0, list(levels), where=where or Where())


def texts_of(cells: Cells) -> tuple[Array, list[str]]:
    """Every cell as a text: places in a list of different texts, -1 where missing."""
    if cells.family == "text":
        return cells.values, cells.levels
    known, inverse = np.unique(cells.present, return_inverse=True)
    codes = np.full(len(cells), -1, dtype=np.intp)
    codes[~cells.missing] = inverse.ravel()
    if cells.family == "truth":
        return codes, [str(bool(value)) for value in known]
    return codes, list(map(number_text if cells.family == "number" else day_text, known))


def day_text(days: float) -> str:
    """A day as the name of a level."""
    moment = np.datetime64(round(days * 86_400_000), "ms")
    return str(moment.astype("datetime64[D]") if float(days).is_integer() else moment)
