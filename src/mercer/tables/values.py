"""The formats of numbers and dates in text: how they are read, and how they are detected by default."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import islice

from mercer.errors import InputError, sentence
from mercer.tables.cells import Cells, day_text, is_rounded, naive, number_text, short

# Words for "missing", in lower case, in columns whose other cells are numbers or dates.
MISSING_WORDS = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "."})
_ENDLESS = frozenset({"inf", "infinity", "infinite", "∞"})
ENDLESS_TEXTS = frozenset(sign + word for word in _ENDLESS for sign in ("", "+", "-"))
_NEUTRAL = re.compile(r"[+-]?[0-9]+(?:[eE][+-]?[0-9]+)?")
_POINT = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?(?:(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+),[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
# Digits after a zero: a code and not a number.
CODE = re.compile(r"[+-]?0[0-9]")
# A number in some style, whichever.
LOOSE = re.compile(
    r"[+-]?(?:[0-9]{1,3}(?:[ '.,][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
)
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

    @classmethod
    def said(cls, decimal: str | None, thousands: str | None = None) -> NumberStyle | None:
        """The number format that was set; None by default.

        Where only the decimal sign is said, the other one may stand between thousands.

        >>> NumberStyle.said(","), NumberStyle.said(None, "'")
        (NumberStyle(decimal=',', thousands='.'), NumberStyle(decimal='.', thousands="'"))
        """
        if decimal is None:
            return None if thousands is None else cls(thousands=thousands)
        return cls(decimal, {".": ",", ",": "."}.get(decimal, "") if thousands is None else thousands)

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

    def value(self, cells: Cells, text: str) -> float | None:
        """The number that a level of a text column is; cells that are numbers have no style.

        >>> from mercer.tables.cells import read_cells
        >>> NumberStyle(",", ".").value(read_cells("a", [1.234, "2,5"]), "1.234")
        1.234
        """
        only_numbers = cells.numbers.get(text)
        if only_numbers is None:
            return self.read(text)
        value = NumberStyle().read(text)
        return value if only_numbers or self.read(text) == value else None

    def rounds(self, text: str) -> bool:
        """Whether a number that is written out, without an exponent, has more digits than a float64 holds.

        >>> NumberStyle().rounds("9007199254740993"), NumberStyle(",", ".").rounds("9.007.199.254.740.992")
        (True, False)
        """
        written_out = self._pattern.fullmatch(text) and "e" not in text.lower()
        return bool(written_out) and is_rounded(Decimal(self._plain(text)))

    def _plain(self, text: str) -> str:
        return (text.replace(self.thousands, "") if self.thousands else text).replace(self.decimal, ".")


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
        since = moment - dt.datetime(1970, 1, 1)  # noqa: DTZ001 - all moments are in UTC
        return (since // dt.timedelta(milliseconds=1)) / 86_400_000
    except (ValueError, OverflowError):
        return None


def is_endless(text: str) -> bool:
    """Whether a text says infinity."""
    return text.lower() in ENDLESS_TEXTS


def is_word_for_missing(text: str) -> bool:
    """Whether a text says that there is nothing, in a column of numbers or dates."""
    return text.lower() in MISSING_WORDS


def level_name(text: str, style: NumberStyle) -> str:
    """What a text would be called as a level if its column held numbers, dates or booleans: 3 for "3.0".

    >>> [level_name(text, NumberStyle()) for text in ("3.0", "2024-12-31T00:00", "true", "red")]
    ['3', '2024-12-31', 'True', 'red']
    """
    if text.lower() in {"true", "false"}:
        return text.capitalize()
    value, day = style.read(text), read_day(text)
    if value is not None and not CODE.match(text):
        return number_text(value)
    return text if day is None else day_text(day)


def found_style(columns: Iterable[Cells]) -> NumberStyle | None:
    """How the numbers of a table are written, of columns that may hold numbers; None where no cell tells.

    ==========================================================  =============================
    columns with decimal commas, and some with points           refused: it must be said
    commas that may all stand between thousands: 1,234          refused: it must be said
    columns with decimal commas                                 comma, points group thousands
    columns with decimal points                                 point
    neither                                                     unknown
    ==========================================================  =============================

    Examples
    --------
    >>> from mercer.tables.cells import read_cells
    >>> from mercer.tables.values import found_style
    >>> found_style([read_cells("price", ["1,5", "1.234,75", "NA"])])
    NumberStyle(decimal=',', thousands='.')
    """
    commas, points = [], []
    for column in columns:
        if column.declared:
            continue
        texts = (text for text in column.levels if text not in column.numbers)
        said = [text for text in texts if not is_word_for_missing(text) and not is_endless(text)]
        if said and all(_NEUTRAL.fullmatch(text) or _COMMA.fullmatch(text) for text in said):
            commas += [(column, text) for text in islice((text for text in said if "," in text), 1000)]
        elif said and all(_NEUTRAL.fullmatch(text) or _POINT.fullmatch(text) for text in said):
            points += [(column, text) for text in islice((text for text in said if "." in text), 1)]
    if not commas:
        return NumberStyle() if points else None
    column, text = commas[0]
    if points:
        got = f"{short(points[0][1])!r} in column {points[0][0].name!r}, but {short(text)!r} in {column.name!r}"
        raise InputError(sentence("The decimal sign", "the same in all columns", got), hint="Use $comma_or_point.")
    if all(_GROUPED.fullmatch(text) for _, text in commas):
        raise InputError(
            f"Column {column.name!r} is ambiguous: {column.found(text)} may have a decimal comma or a thousands "
            "separator.",
            hint="Use $comma_or_point.",
            column=column.name,
        )
    return NumberStyle(",", ".")
