"""One column of a table, whatever held it, as numbers, truth values, days or texts, with what is missing."""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence

Family: TypeAlias = Literal["number", "truth", "date", "text"]

DAY = dt.timedelta(days=1)
# Words for "missing", in lower case, in columns whose other cells are numbers or dates: of files and of tables.
MISSING_WORDS = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "."})
EXACT = 2**53  # every whole number up to here is a float64
FIFTEEN = "numbers of at most 15 digits, which a float64 holds exactly"
_DIGITS = (int, np.integer, Decimal)  # numbers that may have more digits than a float64
_FINE = {"ms", "us", "ns", "ps", "fs", "as"}  # units of which milliseconds overflow no earlier


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
    """

    name: str
    family: Family
    values: Array
    missing: Array
    levels: list[str] = field(default_factory=list)
    declared: bool = False

    @cached_property
    def present(self) -> Array:
        """The values that are not missing."""
        return self.values[~self.missing]

    def without_words(self) -> Cells:
        """The cells of a text column with words for "missing", such as NA, taken as missing."""
        gone = np.array([text.lower() in MISSING_WORDS for text in self.levels], dtype=bool)
        if self.family != "text" or not gone.any():
            return self
        places = np.where(gone, -1, np.cumsum(~gone) - 1)
        codes = np.append(places, -1)[self.values]
        levels = [text for text, is_gone in zip(self.levels, gone.tolist(), strict=True) if not is_gone]
        return replace(self, values=codes, missing=codes < 0, levels=levels)

    def as_truth(self) -> Cells:
        """The cells of a text column that say true and false, in any case, as truth values."""
        known = np.array([*(float(text.lower() == "true") for text in self.levels), np.nan])
        return Cells(self.name, "truth", known[self.values], self.missing)

    def refused(self, must_be: str, row: int, way_out: str = "") -> InputError:
        """The complaint about one cell."""
        codes, levels = texts_of(self)
        return InputError(
            sentence(f"Column {self.name!r}", must_be, f"{levels[int(codes[row])]!r} in row {row}", way_out)
        )


def read_cells(name: str, raw: Any) -> Cells:
    """Look at a column once.

    Examples
    --------
    >>> from mercer.tables.cells import read_cells
    >>> cells = read_cells("city", ["Rome", None, " Bonn", "Rome", ""])
    >>> cells.family, cells.values.tolist(), cells.levels
    ('text', [0, -1, 1, 0, -1], ['Rome', 'Bonn'])
    """
    values, declared = _values(raw)
    if values.ndim != 1:
        raise InputError(sentence(f"Column {name!r}", "one value per row", f"{values.ndim} dimensions"))
    kind = values.dtype.kind
    if kind in "iu" and rounded_rows(values).size:
        return _exact_cells(name, values.tolist(), np.zeros(len(values), dtype=bool), declared)
    if kind in "iufm":
        floats = values / np.timedelta64(1, "D") if kind == "m" else values.astype(np.float64)
        return number_cells(name, floats, declared=declared)
    if kind == "b":
        return Cells(name, "truth", values.astype(np.float64), np.zeros(len(values), dtype=bool), declared=declared)
    if kind == "M":
        return _date_cells(name, values, declared=declared)
    if kind not in "UTO":
        raise InputError(sentence(f"Column {name!r}", "numbers, truth values, dates or text", f"{values.dtype} values"))
    return _object_cells(name, values.astype(object).tolist(), declared=declared)


def _values(raw: Any) -> tuple[Array, bool]:
    """The cells of a column as an array, and whether it says of itself that it holds categories."""
    if isinstance(raw, np.ma.MaskedArray):
        values = np.array(raw.data, dtype=object)
        values[np.ma.getmaskarray(raw)] = None
        return values, False
    if isinstance(raw, list | tuple):
        return np.fromiter(raw, dtype=object, count=len(raw)), False
    if hasattr(raw, "dictionary_encode") and not hasattr(raw, "chunks"):  # one chunk of pyarrow's
        import pyarrow as pa

        raw = pa.chunked_array([raw])
    series = nw.from_native(raw, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return np.asarray(raw), hasattr(getattr(raw, "type", None), "dictionary")
    dtype = series.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    plain = isinstance(dtype, nw.Datetime | nw.Date | nw.Duration) or dtype.is_float()
    if plain or ((dtype.is_integer() or dtype == nw.Boolean) and not series.null_count()):
        return np.asarray(series.to_numpy()), False
    values = np.fromiter(series.to_list(), dtype=object, count=len(series))
    return values, isinstance(dtype, nw.Categorical | nw.Enum)


def number_cells(name: str, values: Array, *, declared: bool = False) -> Cells:
    """Numbers as cells, NaN where missing; infinite ones are refused."""
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise InputError(
            sentence(
                f"Column {name!r}", "finite", f"{values[row]} in row {row}", "Correct it, or leave the cell empty."
            )
        )
    return Cells(name, "number", values, np.isnan(values), declared=declared)


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


def milliseconds(values: Array) -> tuple[Array, Array]:
    """Moments in milliseconds, and the rows of those that are too far away for that."""
    made = values.astype("datetime64[ms]")
    if np.datetime_data(values.dtype)[0] in _FINE:
        return made, np.empty(0, dtype=np.intp)
    return made, np.flatnonzero((made.astype(values.dtype) != values) & ~np.isnat(values))


def _date_cells(name: str, values: Array, *, declared: bool = False) -> Cells:
    missing = np.isnat(values)
    made, far = milliseconds(values)
    if far.size:
        got = f"{values[far[0]]} in row {far[0]}"
        raise InputError(sentence(f"Column {name!r}", "dates within 292 million years of 1970", got))
    moments = made.astype(np.int64)
    return Cells(name, "date", np.where(missing, np.nan, moments / 86_400_000), missing, declared=declared)


def _object_cells(name: str, cells: Sequence[Any], *, declared: bool) -> Cells:
    missing = np.zeros(len(cells), dtype=bool)
    if set(map(type, cells)) != {str}:
        missing = np.fromiter(map(_is_missing, cells), dtype=bool, count=len(cells))
    present = [cell for cell, gone in zip(cells, missing, strict=True) if not gone] if missing.any() else cells
    families = {_family(kind) for kind in set(map(type, present))}
    if None in families and not declared:
        row = next(i for i, cell in enumerate(cells) if not missing[i] and _family(type(cell)) is None)
        got = f"{type(cells[row]).__name__} in row {row}"
        must_be = "numbers, truth values, dates or text"
        raise InputError(sentence(f"Column {name!r}", must_be, got, "Turn the column into text, or drop it."))
    if families == {"truth"} or (families and families <= {"number", "truth"}):
        values = np.full(len(cells), np.nan)
        values[~missing] = _floats(name, present, np.flatnonzero(~missing))
        if any(isinstance(cell, _DIGITS) and is_rounded(cell) for cell in present):
            return _exact_cells(name, cells, missing, declared)
        if "number" in families:
            return number_cells(name, values, declared=declared)
        return Cells(name, "truth", values, missing, declared=declared)
    if families == {"date"}:
        moments = np.full(len(cells), np.datetime64("NaT"), dtype="datetime64[us]")
        moments[~missing] = np.array([naive(cell) for cell in present], dtype="datetime64[us]")
        return _date_cells(name, moments, declared=declared)
    return _text_cells(name, ["" if gone else _text(cell) for cell, gone in zip(cells, missing, strict=True)], declared)


def _exact_cells(name: str, cells: Iterable[Any], missing: Array, declared: bool) -> Cells:
    """Numbers of which a float64 would round some, as texts of all their digits: different ones stay different.

    They can be levels of a category; who takes them for numbers refuses them (`numbers_of`).
    """
    return _text_cells(
        name, ["" if gone else _digits(cell) for cell, gone in zip(cells, missing, strict=True)], declared
    )


def _digits(cell: Any) -> str:
    exact = isinstance(cell, _DIGITS) and is_rounded(cell)
    return format(cell, "f" if isinstance(cell, Decimal) else "d") if exact else _text(float(cell))


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, float | np.floating):
        return bool(cell != cell)  # noqa: PLR0124 - only NaN differs from itself
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:  # pandas' own, which is not imported
        return True
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, np.datetime64 | np.timedelta64) and bool(np.isnat(cell))


def _family(kind: type) -> str | None:
    if issubclass(kind, bool | np.bool_):
        return "truth"
    if issubclass(kind, dt.timedelta | np.timedelta64 | numbers.Real | Decimal):
        return "number"
    if issubclass(kind, dt.date | np.datetime64):
        return "date"
    return "text" if issubclass(kind, str) else None


def _floats(name: str, cells: Sequence[Any], rows: Array) -> Array:
    if any(issubclass(kind, dt.timedelta | np.timedelta64) for kind in set(map(type, cells))):
        cells = [_in_days(cell) for cell in cells]
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        row = next(int(row) for row, cell in zip(rows, cells, strict=True) if abs(cell) > 2**1023)
        raise InputError(sentence(f"Column {name!r}", "below 1.8e308", f"a larger number in row {row}")) from None


def _in_days(cell: Any) -> Any:
    if isinstance(cell, dt.timedelta):
        return cell / DAY
    return cell / np.timedelta64(1, "D") if isinstance(cell, np.timedelta64) else cell


def naive(moment: Any) -> Any:
    """A moment without a time zone: what clocks show in UTC."""
    if getattr(moment, "tzinfo", None) is None:
        return moment
    return moment.astimezone(dt.UTC).replace(tzinfo=None)


def _text(cell: Any) -> str:
    """A cell as the name of a level: 3 and 3.0 are the same one."""
    if not isinstance(cell, float | np.floating):
        return str(cell)
    number = float(cell)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _text_cells(name: str, texts: Iterable[str], declared: bool) -> Cells:
    found: dict[str, int] = {}
    codes = np.array([found.setdefault(text, len(found)) for text in texts], dtype=np.intp)
    levels: dict[str, int] = {}
    stripped = [str(text).strip() for text in found]
    places = np.array([levels.setdefault(text, len(levels)) if text else -1 for text in stripped], dtype=np.intp)
    codes = places[codes]
    return Cells(name, "text", codes, codes < 0, list(levels), declared)


def texts_of(cells: Cells) -> tuple[Array, list[str]]:
    """Every cell as a text: places in a list of different texts, -1 where missing."""
    if cells.family == "text":
        return cells.values, cells.levels
    known, inverse = np.unique(cells.present, return_inverse=True)
    if cells.family == "truth":
        levels = [str(bool(value)) for value in known]
    elif cells.family == "date":
        levels = [_day_text(value) for value in known]
    else:
        levels = [_text(value) for value in known]
    codes = np.full(len(cells.values), -1, dtype=np.intp)
    codes[~cells.missing] = inverse.ravel()
    return codes, levels


def _day_text(days: float) -> str:
    moment = np.datetime64(round(days * 86_400_000), "ms")
    return str(moment.astype("datetime64[D]") if float(days).is_integer() else moment)
