"""The formats of numbers in text: how they are read, and how they are detected by default."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from mercer.errors import InputError, refuse_if, sentence
from mercer.tables.cells import Cells, day_text, is_rounded, number_text, short
from mercer.tables.dates import read_day

# Words for "missing", in lower case, in columns whose other cells are numbers or dates.
MISSING_WORDS = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "."})
_ENDLESS = frozenset({"inf", "infinity", "infinite", "∞"})
ENDLESS_TEXTS = frozenset(sign + word for word in _ENDLESS for sign in ("", "+", "-"))
_GAPS = " '\u2019\u00a0\u2009\u202f"  # between thousands these can mean nothing else
_MINUS = "\u2212-"
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|BRL|MXN|ZAR"
_CURRENCY = rf"(?:US\$|R\$|A\$|C\$|[$€£¥₹₽₩]|{_CODES}|Rs\.?|kr\.?)"
_UNIT = r"[%‰]|°[A-Za-z]?|(?:(?<=\s)[A-Za-zµμΩ]|[a-zµμΩ])[^\s(),;:0-9]{0,11}[23²³]?"
# A number with what may stand around it: a sign, brackets that mean minus, a currency, a unit.
_WRITTEN = re.compile(
    rf"(\()?([+{_MINUS}])?({_CURRENCY})?\s*([+{_MINUS}])?"
    rf"([0-9](?:[0-9.,{_GAPS}]*[0-9.,])?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*({_CURRENCY}|{_UNIT})?(\))?"
)
_GAPPED = re.compile(rf"[0-9]{{1,3}}(?:[{_GAPS}][0-9]{{3}})+(?:[.,][0-9]*)?")
_GROUPS = {sign: re.compile(rf"[1-9][0-9]{{0,2}}(?:{re.escape(sign)}[0-9]{{3}})+") for sign in ".,"}
# Digits after a zero: a code and not a number.
CODE = re.compile(r"[+-]?0[0-9]")
# A number in some style, whichever.
LOOSE = re.compile(
    r"[+-]?(?:[0-9]{1,3}(?:[ '.,][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
)


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written in text: the decimal sign, what stands between thousands, and around a column's numbers.

    Examples
    --------
    >>> from mercer.tables.values import NumberStyle
    >>> NumberStyle().read("1.5e3"), NumberStyle().read("1,5"), NumberStyle(",", ".").read("1.234,5")
    (1500.0, None, 1234.5)
    >>> NumberStyle(".", ",", "$").read("($1,234.50)"), NumberStyle(after="kg").read("1'200 kg")
    (-1234.5, 1200.0)
    """

    decimal: str = "."
    thousands: str = ""
    before: str = field(default="", repr=False)
    after: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        refuse_if(self.decimal not in {".", ","}, "decimal of TableEncoder", "'.' or ','", repr(self.decimal))
        must_be = "'', '.', ',', \"'\" or ' ', and not the decimal sign"
        odd = self.thousands not in {"", ".", ",", "'", " "} - {self.decimal}
        refuse_if(odd, "thousands of TableEncoder", must_be, repr(self.thousands))

    @classmethod
    def from_settings(cls, decimal: str | None, thousands: str | None = None) -> NumberStyle | None:
        """The number format that was set; None by default.

        Where only the decimal sign is said, the other one may stand between thousands.

        >>> NumberStyle.from_settings(","), NumberStyle.from_settings(None, "'")
        (NumberStyle(decimal=',', thousands='.'), NumberStyle(decimal='.', thousands="'"))
        """
        if decimal is None:
            return None if thousands is None else cls(thousands=thousands)
        return cls(decimal, {".": ",", ",": "."}.get(decimal, "") if thousands is None else thousands)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        point = re.escape(self.decimal)
        whole = rf"(?:[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)" if self.thousands else "[0-9]+"
        return re.compile(f"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?")

    def read(self, text: str) -> float | None:
        """The number that a text is; None if it is none."""
        plain = self._plain(text)
        return None if plain is None else float(plain)

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
        plain = self._plain(text)
        return plain is not None and "e" not in plain.lower() and is_rounded(Decimal(plain))

    def _plain(self, text: str) -> str | None:
        """The number as Python writes it; None if the text is not a number of this style."""
        if self.before or self.after or not self._pattern.fullmatch(text):
            bare = bare_number(text)
            if bare is None or bare[1:] != (self.before, self.after) or not self._pattern.fullmatch(bare[0]):
                return None
            text = bare[0]
        return (text.replace(self.thousands, "") if self.thousands else text).replace(self.decimal, ".")


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


def bare_number(text: str) -> tuple[str, str, str] | None:
    """A number without what stands around it, and that; None where there is no number.

    Examples
    --------
    >>> from mercer.tables.values import bare_number
    >>> bare_number("-$1,234.50"), bare_number("(12 %)"), bare_number("A12")
    (('-1,234.50', '$', ''), ('-12', '', '%'), None)
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    opened, sign, before, inner, number, exponent, after, closed = match.groups()
    if bool(opened) != bool(closed) or (sign and inner) or (opened and (sign or inner)):
        return None
    if any(gap in number for gap in _GAPS):
        if not _GAPPED.fullmatch(number):
            return None
        number = re.sub(f"[{_GAPS}]", "", number)
    minus = "-" if opened or (sign or inner or "+") in _MINUS else ""
    return minus + number + (exponent or ""), before or "", after or ""


def find_unit(texts: Sequence[str]) -> tuple[str, str] | None:
    """What stands before and after every number of a column; None where some cell is none, or they differ.

    >>> find_unit(["12.5 kg", "8 kg"]), find_unit(["12 kg", "8 lb"]), find_unit(["3", "4"])
    (('', 'kg'), None, ('', ''))
    """
    around = {None if bare is None else bare[1:] for bare in map(bare_number, texts)}
    return around.pop() if len(around) == 1 else None


def most_common_unit(cells: Cells) -> tuple[str, str]:
    """What stands around most numbers of a column."""
    found: Counter[tuple[str, str]] = Counter()
    for text, count in zip(cells.levels, cells.counts.tolist(), strict=True):
        if (bare := bare_number(text)) is not None:
            found[bare[1:]] += count
    return found.most_common(1)[0][0] if found else ("", "")


def find_style(columns: Iterable[Cells]) -> NumberStyle | None:
    """How the numbers of a table are written, of columns that may hold numbers; None where no cell tells.

    ==========================================================  =============================
    columns with decimal commas, and some with points           refused: it must be said
    1,234 alone, or beside 1.234: thousands, or decimals        refused: it must be said
    columns with decimal commas                                 comma, points group thousands
    columns with decimal points                                 point; commas group thousands
    neither                                                     unknown
    ==========================================================  =============================

    Examples
    --------
    >>> from mercer.tables.cells import read_cells
    >>> from mercer.tables.values import find_style
    >>> find_style([read_cells("price", ["1,5", "1.234,75", "NA"])])
    NumberStyle(decimal=',', thousands='.')
    """
    first: dict[str, tuple[Cells, str]] = {}  # the first text that tells something, by what it tells
    for column in columns:
        told = {} if column.declared else _sign_examples(column)
        if {".", ","} <= set(told):  # both in one column, which its reader refuses
            continue
        if "," in told:  # among decimal commas 1.234 has one reading
            told.pop("1.234", None)
        for what, text in told.items():
            first.setdefault(what, (column, text))
    points, commas = first.get(".") or first.get("1.234"), first.get(",")
    if commas and points:
        got = f"{short(points[1])!r} in column {points[0].name!r}, but {short(commas[1])!r} in {commas[0].name!r}"
        raise InputError(sentence("The decimal sign", "the same in all columns", got), hint="Use $comma_or_point.")
    if commas:
        return NumberStyle(",", ".")
    if "1,234" in first and "." not in first:
        column, text = first["1,234"]
        many = "may have a decimal comma or a thousands separator."
        message = f"Column {column.name!r} is ambiguous: {column.found(text)} {many}"
        raise InputError(message, hint="Use $comma_or_point.", column=column.name)
    if points is None:
        return None
    return NumberStyle(".", ",") if {"1,234", "1,234.5"} & set(first) else NumberStyle()


def _sign_examples(column: Cells) -> dict[str, str]:
    """What the texts of a column of numbers tell about the signs in them, each with the first text that does.

    "." and "," are decimal signs; "1,234" and "1.234" may be either; "1,234.5" has commas between thousands.
    """
    texts = (text for text in column.levels if text not in column.numbers)
    said = [text for text in texts if not is_word_for_missing(text) and not is_endless(text)]
    told: dict[str, str] = {}
    if find_unit(said) is None:
        return told
    for text in said:
        digits = (bare_number(text) or ("",))[0].lower().lstrip("+-").partition("e")[0]
        signs = sorted({".", ","}.intersection(digits), key=digits.rfind)
        if not signs:
            continue
        last = signs[-1]
        grouped = _GROUPS[last].fullmatch(digits)
        if digits.count(last) > 1:
            if not grouped:
                return {}
            tells = [".", "1,234.5"] if last == "," else [","]
        elif len(signs) == 1 and grouped:
            tells = ["1,234" if last == "," else "1.234"]
        else:
            tells = [".", "1,234.5"] if signs == [",", "."] else [last]
        for sign in tells:
            told.setdefault(sign, text)
    return told
