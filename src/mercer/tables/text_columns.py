"""Cells of text as numbers, days or texts; what would be a guess is refused by line and column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.tables.cells import EXACT, FIFTEEN, MISSING_WORDS
from mercer.tables.delimited import short
from mercer.tables.values import NumberStyle, read_day

_ENDLESS = frozenset({"inf", "infinity", "infinite", "∞"})
_CODE = re.compile(r"[+-]?0[0-9]")
_NEUTRAL = re.compile(r"[+-]?[0-9]+(?:[eE][+-]?[0-9]+)?")
_POINT = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?(?:(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+),[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
_LOOSE = re.compile(
    r"[+-]?(?:[0-9]{1,3}(?:[ '.,][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
)
_SPOILT, _MANY = 0.8, 50  # as the encoder has it


class _Dictionary:
    """What pyarrow's columns of categories have for a type, as far as the encoder looks."""

    dictionary = True


class Levels(np.ndarray[Any, Any]):
    """Texts of which somebody said that they are categories; the encoder sees it by `type`."""

    type = _Dictionary


@dataclass(frozen=True)
class Texts:
    """One column of texts.

    Attributes
    ----------
    name : str
        Of the column.
    cells : sequence of str
        Empty where missing.
    where : callable
        "line 7 of table.csv" for a row.
    endless : bool
        Whether infinite numbers are taken as missing.
    """

    name: str
    cells: Sequence[str]
    where: Callable[[int], str]
    endless: bool = False
    levels: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for cell in self.cells:
            self.levels[cell] = self.levels.get(cell, 0) + 1
        self.levels.pop("", None)

    def said(self) -> dict[str, int]:
        """The distinct cells that say something, and how often."""
        return {text: count for text, count in self.levels.items() if not self.is_gone(text)}

    def is_gone(self, text: str) -> bool:
        """Whether a cell means that there is nothing, in a column of numbers or dates."""
        return text.lower() in MISSING_WORDS or (self.endless and is_endless(text))

    def refused(self, cell: str, must_be: str, hint: str) -> InputError:
        """The complaint about the first of such cells."""
        got = f"{short(cell)!r} in {self.where(self.cells.index(cell))}"
        return InputError(sentence(f"Column {self.name!r}", must_be, got), hint=hint, column=self.name)

    def placed(self, values: dict[str, Any], gone: Any, kind: Any) -> Array:
        """The values of the cells, `gone` where one is missing."""
        return np.array([values.get(cell, gone) for cell in self.cells], dtype=kind)


def is_endless(text: str) -> bool:
    """Whether a text says infinity."""
    return text.lstrip("+-").lower() in _ENDLESS


def refused_endless(name: str, first: str, count: int, place: str) -> InputError:
    """The complaint about infinite numbers."""
    got = f"{first!r} in {place}" if count == 1 else f"{count} infinite cells, the first {first!r} in {place}"
    hint = "Correct the cell, or leave it empty$missing."
    return InputError(sentence(f"Column {name!r}", "finite numbers", got), hint=hint)


def choose_style(columns: Sequence[Texts], decimal: str | None) -> NumberStyle | None:
    """How numbers are written in a table; None where no cell tells, as in a table of whole numbers.

    ==========================================================  =============================
    it was said                                                 as said; the other sign groups thousands
    columns with decimal commas, and some with points           refused: it must be said
    commas that may all stand between thousands: 1,234          refused: it must be said
    columns with decimal commas                                 comma, points group thousands
    columns with decimal points                                 point
    neither                                                     unknown
    ==========================================================  =============================
    """
    if decimal is not None:
        return NumberStyle(decimal, "," if decimal == "." else ".")
    commas, points = [], []
    for column in columns:
        said = column.said()
        if said and all(_NEUTRAL.fullmatch(text) or _COMMA.fullmatch(text) for text in said):
            commas += [(column, text) for text in said if "," in text][:1000]
        elif said and all(_NEUTRAL.fullmatch(text) or _POINT.fullmatch(text) for text in said):
            points += [(column, text) for text in said if "." in text][:1]
    if not commas:
        return NumberStyle() if points else None
    column, text = commas[0]
    if points:
        got = f"{short(points[0][1])!r} in column {points[0][0].name!r}, but {short(text)!r} in {column.name!r}"
        raise InputError(sentence("Numbers of one table", "written in one way", got), hint="Say which with $decimal.")
    if all(_GROUPED.fullmatch(text) for _, text in commas):
        raise column.refused(
            text, "numbers that can be read in one way", "Is the comma decimal? Say $decimal , or $decimal ."
        )
    return NumberStyle(",", ".")


def typed(column: Texts, style: NumberStyle, asked: str | None, notes: list[str], *, trained: bool = False) -> Array:
    """A column as numbers, days, levels or texts: as asked, or as its cells are.

    `trained` tells that numbers are read in the style of the training table.
    """
    if asked in {"category", "text"}:
        made = np.array(column.cells, dtype=object)
        return made.view(Levels) if asked == "category" else made
    said = column.said()
    if asked == "date" or (asked is None and said and all(read_day(text) is not None for text in said)):
        _tell_gone(column, notes)
        return _days(column, said)
    unread = [text for text in said if style.read(text) is None]
    codes = asked is None and any(map(_CODE.match, said))
    if said and not unread and not codes:
        _tell_gone(column, notes)
        return _numbers(column, said, style)
    if asked == "number":
        if unread:
            raise _refused_number(column, unread[0], style, trained=trained)
        return _numbers(column, said, style)
    if unread:
        _refuse_spoilt(column, said, unread)
    return np.array(column.cells, dtype=object)


def _refused_number(column: Texts, cell: str, style: NumberStyle, *, trained: bool) -> InputError:
    """The complaint about a cell that is no number, or one in another style."""
    if not _LOOSE.fullmatch(cell):
        return column.refused(cell, "numbers", "Correct the cell, or leave it empty.")
    marks = {"": "no mark", ",": "commas", ".": "points"}
    must_be = (
        f"numbers with a decimal {'point' if style.decimal == '.' else 'comma'} and {marks[style.thousands]} between "
    )
    must_be += "thousands" + ", as in the training table" * trained
    return column.refused(cell, must_be, "Say how this table writes numbers with $decimal.")


def _tell_gone(column: Texts, notes: list[str]) -> None:
    gone = {text: count for text, count in column.levels.items() if column.is_gone(text)}
    if gone:
        words = ", ".join(f"{text!r} ({count})" for text, count in list(gone.items())[:3])
        notes.append(f"Column {column.name!r}: {words} taken as missing.")


def _numbers(column: Texts, said: dict[str, int], style: NumberStyle) -> Array:
    values = {}
    keep = "Leave the column out with $drop, or keep it as text with $category."
    for text in said:
        value = style.read(text)
        if value is None or abs(value) == float("inf"):
            raise column.refused(text, "numbers below 1.8e308", "Correct the cell, or leave it empty.")
        if abs(value) >= EXACT and style.rounds(text):
            raise column.refused(text, FIFTEEN, keep)
        values[text] = value
    return column.placed(values, np.nan, np.float64)


def _days(column: Texts, said: dict[str, int]) -> Array:
    days = {}
    for text in said:
        day = read_day(text)
        if day is None:
            raise column.refused(text, "dates such as 2024-12-31", "Correct the cell, or leave it empty.")
        days[text] = np.datetime64(round(day * 86_400_000), "ms")
    return column.placed(days, np.datetime64("NaT"), "datetime64[ms]")


def _refuse_spoilt(column: Texts, said: dict[str, int], unread: list[str]) -> None:
    """No guess about a column of numbers or dates in which something else stands."""
    total, bad = sum(said.values()), set(unread)
    as_category = "or say $category."
    endless = [text for text in unread if is_endless(text)]
    if endless and len(endless) == len(unread) and len(said) > len(unread):
        first = min(endless, key=column.cells.index)
        count = sum(said[text] for text in endless)
        raise refused_endless(column.name, first, count, column.where(column.cells.index(first)))
    if all(_LOOSE.fullmatch(text) for text in said):
        way_out = f"Say how numbers are written with $decimal, {as_category}"
        raise column.refused(unread[0], "numbers written in one way", way_out)
    many = len(said) > _MANY or len(said) > total / 2
    no_days = [text for text in said if read_day(text) is None]
    for wrong, what in ((bad, "numbers"), (set(no_days), "dates")):
        share = 1 - sum(said[text] for text in wrong) / total
        if many and share >= _SPOILT:
            first = next(text for text in said if text in wrong)
            must_be = f"{what} in every row, as in {100 * share:.3g} % of them"
            raise column.refused(first, must_be, f"Correct the cell, leave it empty, {as_category}")
