"""Cells read as numbers or as days, also where they are text; what cannot be read is refused by row and column."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.tables.cells import DAY, EXACT, FIFTEEN, Cells, is_rounded, naive, number_cells

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].+)?")


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written in text: the decimal sign, and what stands between thousands.

    Examples
    --------
    >>> from mercer.tables.values import NumberStyle
    >>> NumberStyle().read("1.5e3"), NumberStyle().read("1,5"), NumberStyle(",", ".").read("1.234,5")
    (1500.0, None, 1234.5)
    """

    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        if self.decimal not in {".", ","}:
            raise InputError(sentence("decimal of TableEncoder", "'.' or ','", repr(self.decimal)))
        if self.thousands not in {"", ".", ",", "'", " "} or self.thousands == self.decimal:
            must_be = "'', '.', ',', \"'\" or ' ', and not the decimal sign"
            raise InputError(sentence("thousands of TableEncoder", must_be, repr(self.thousands)))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        point = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.thousands:
            whole = f"(?:[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)"
        return re.compile(f"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?")

    def read(self, text: str) -> float | None:
        """The number that a text is; None if it is none."""
        return float(self._plain(text)) if self._pattern.fullmatch(text) else None

    def rounds(self, text: str) -> bool:
        """Whether a number that is written out, without an exponent, has more digits than a float64 holds.

        >>> NumberStyle().rounds("9007199254740993"), NumberStyle(",", ".").rounds("9.007.199.254.740.992")
        (True, False)
        """
        written_out = self._pattern.fullmatch(text) and "e" not in text.lower()
        return bool(written_out) and is_rounded(Decimal(self._plain(text)))

    def _plain(self, text: str) -> str:
        return (text.replace(self.thousands, "") if self.thousands else text).replace(self.decimal, ".")


def numbers_of(cells: Cells, style: NumberStyle) -> Array:
    """Every cell as a number, NaN where missing; refused where one is none."""
    if cells.family in {"number", "truth"}:
        return cells.values
    if cells.family == "date":
        if cells.missing.all():
            return cells.values
        raise cells.refused("numbers", int(np.flatnonzero(~cells.missing)[0]))
    read = [style.read(text) for text in cells.levels]
    values = _placed(cells, read, "numbers")
    large = np.flatnonzero(np.abs(values) >= EXACT)
    rounded = [row for row in large.tolist() if style.rounds(cells.levels[cells.values[row]])]
    if rounded:
        way_out = f"Leave the column out with drop, or keep it with kinds={{{cells.name!r}: 'category'}}."
        raise cells.refused(FIFTEEN, rounded[0], way_out)
    return number_cells(cells.name, values).values


def days_of(cells: Cells) -> Array:
    """Every cell as days since 1970, NaN where missing; refused where one is no date."""
    if cells.family == "date" or cells.missing.all():
        return np.where(cells.missing, np.nan, cells.values)
    must_be = "dates, or text such as '2024-12-31'"
    if cells.family != "text":
        raise cells.refused(must_be, int(np.flatnonzero(~cells.missing)[0]))
    return _placed(cells, [read_day(text) for text in cells.levels], must_be)


def read_day(text: str) -> float | None:
    """Days since 1970 of an ISO date, with or without a time; None for other text.

    Examples
    --------
    >>> from mercer.tables.values import read_day
    >>> read_day("1970-01-02T12:00"), read_day("2.1.1970")
    (1.5, None)
    """
    if not _ISO.fullmatch(text):
        return None
    try:
        moment: dt.datetime = naive(dt.datetime.fromisoformat(text))
        return (moment - dt.datetime(1970, 1, 1)) / DAY  # noqa: DTZ001 - all moments are in UTC
    except (ValueError, OverflowError):
        return None


def _placed(cells: Cells, read: Sequence[float | None], must_be: str) -> Array:
    """The values of the levels at the rows of the cells."""
    bad = np.array([value is None for value in read] + [False])  # the last one stands for missing cells
    if bad.any():
        raise cells.refused(must_be, int(np.flatnonzero(bad[cells.values])[0]))
    values = np.array([np.nan if value is None else value for value in read] + [np.nan])
    return np.asarray(values[cells.values])
