"""What a column is taken for, and why: one decision, the same for every table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from mercer.errors import InputError, sentence
from mercer.tables.cells import Cells, texts_of
from mercer.tables.delimited import short
from mercer.tables.texts import FEWEST_WORDS, words_in
from mercer.tables.values import NumberStyle, numbers_of, read_day

Kind: TypeAlias = Literal["number", "category", "date", "text", "constant", "identifier", "dropped"]

# What can be asked for.
ASKABLE = ("number", "category", "date", "text")
# More levels than this are pooled.
MOST_LEVELS = 50
# Whole numbers with no more distinct values than this are pointed out: they may be codes.
_FEW = 10
# Text of which this share reads as numbers or dates, and the rest does not, is a spoilt column.
_SPOILT = 0.8
_LOOSE = re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:[ ',.][0-9]{3})+(?:[.,][0-9]+)?|[0-9]+[.,][0-9]+|[0-9]+)")
_TRUTH = ("true", "false")
_CODE = re.compile(r"[+-]?0[0-9]")


def decide(cells: Cells, asked: str | None, style: NumberStyle) -> tuple[Kind, str]:
    """What a column is taken for, and why. The first line that fits decides.

    ===================================================  ==========
    every cell is missing, or every cell the same        constant
    one value, and missing cells                         category
    the kind that was asked for                          as asked
    categorical in the table; true or false, also text   category
    numbers, however few distinct ones                   number
    dates                                                date
    text: every cell a number, none like 007             number
    text: every cell an ISO date                         date
    (in both, NA and the like are missing)
    text: 80 % numbers or dates, and more than 50
    distinct values or most of them distinct             refused
    text: every cell a number in another style           refused
    text: each value twice or more on average            category
    text: three words or more on average                 text
    text: more than 90 % distinct                        identifier
    any other text                                       category
    ===================================================  ==========

    Examples
    --------
    >>> from mercer.tables.cells import read_cells
    >>> from mercer.tables.values import NumberStyle
    >>> decide(read_cells("colour", ["red", "blue", "red", "red"]), None, NumberStyle())
    ('category', 'text, 2 distinct values in 4 rows')
    """
    present = len(cells.present)
    if not present:
        return "constant", "every value is missing"
    if is_constant(cells, style):
        said = short(texts_of(cells)[1][0])
        if present == len(cells.values):
            return "constant", f"every value is {said}"
        return "category", f"{said} or missing"
    if asked is not None:
        return asked, "as asked"  # type: ignore[return-value]  # settings are checked when they are made
    if cells.declared:
        return "category", "categorical in the table"
    if cells.family == "truth":
        return "category", "true or false"
    if cells.family == "number":
        return "number", _number_reason(cells)
    return ("date", "dates") if cells.family == "date" else _decide_text(cells, style)


def as_read(cells: Cells, kind: str | None, style: NumberStyle, levels: Sequence[str] = ()) -> Cells:
    """The cells of a column of this kind: of numbers and dates, words such as NA are missing; in texts they are words.

    Where no kind is known (None), a column is one of numbers or dates if all its other cells are; a category is one if
    all its `levels` are. Texts that say true and false are truth values then, too.
    """
    said = cells.without_words()
    if kind is None and not cells.declared and said.levels and all(level.lower() in _TRUTH for level in said.levels):
        return said.as_truth()
    if said is cells or kind in {"number", "date"}:
        return said
    others = said.levels if kind is None and not cells.declared else levels
    numbers = all(style.read(text) is not None and not _CODE.match(text) for text in others)
    return said if others and (numbers or all(read_day(text) is not None for text in others)) else cells


def is_constant(cells: Cells, style: NumberStyle) -> bool:
    """Whether the cells that are there are all the same, up to the rounding of numbers; 1.0 and 1.00 are."""
    if cells.family == "text":
        codes = any(map(_CODE.match, cells.levels))
        numbers = {text if codes else style.read(text) for text in cells.levels}
        days = {read_day(text) for text in cells.levels}
        return any(len(each) == 1 and None not in each for each in (set(cells.levels), numbers, days))
    low, high = float(cells.present.min()), float(cells.present.max())
    slack = max(4 * np.finfo(np.float64).eps * max(abs(low), abs(high)), float(np.finfo(np.float64).tiny))
    return not high - low > slack


def _number_reason(cells: Cells) -> str:
    if not (cells.present == np.floor(cells.present)).all():
        return "numbers"
    distinct = len(np.unique(cells.present))
    return "whole numbers" if distinct > _FEW else f"whole numbers, {distinct} distinct; ask for category if codes"


def _decide_text(cells: Cells, style: NumberStyle) -> tuple[Kind, str]:
    counts = np.bincount(cells.present, minlength=len(cells.levels))
    present, distinct = int(counts.sum()), len(cells.levels)
    numbers = np.array([style.read(text) is not None for text in cells.levels])
    if numbers.all() and not any(map(_CODE.match, cells.levels)):
        numbers_of(cells, style)  # refuses what is too large
        return "number", "text, every cell a number"
    days = np.array([read_day(text) is not None for text in cells.levels])
    if days.all():
        return "date", "text, every cell a date"
    if not numbers.all():
        _refuse_spoilt(cells.without_words(), style)
    if distinct > MOST_LEVELS or distinct > present / 2:
        words = words_in(cells.levels)
        if distinct > present / 2 and words >= FEWEST_WORDS:
            return "text", f"text, {words:.0f} words on average, {distinct} distinct in {present} rows"
        if distinct > 0.9 * present:
            return (
                "identifier",
                f"short text, {distinct} distinct in {present} rows; ask for text or category to keep it",
            )
    said = "codes with leading zeros" if numbers.all() else "text"
    return "category", f"{said}, {distinct} distinct values in {present} rows"


def _refuse_spoilt(cells: Cells, style: NumberStyle) -> None:
    """No guess about a column of numbers or dates in which something else stands."""
    if not cells.levels:
        return
    counts = np.bincount(cells.present, minlength=len(cells.levels))
    numbers = np.array([style.read(text) is not None for text in cells.levels])
    days = np.array([read_day(text) is not None for text in cells.levels])
    loose = numbers | np.array([bool(_LOOSE.fullmatch(text)) for text in cells.levels])
    many = len(numbers) > MOST_LEVELS or len(numbers) > counts.sum() / 2
    ask = f"kinds={{{cells.name!r}: 'category'}}"
    for fits, strict, what in ((numbers, numbers, "numbers"), (days, days, "dates"), (loose, numbers, "numbers")):
        share = counts[fits].sum() / counts.sum()
        if share < _SPOILT or not (many or loose.all()):
            continue
        spoilt = np.flatnonzero(~np.append(strict, True)[cells.values])
        if not len(spoilt):
            continue
        row = int(spoilt[0])
        way_out = f"Correct it, or ask for {ask}."
        if loose[cells.values[row]]:
            way_out = f"Say how numbers are written with decimal or thousands, or ask for {ask}."
        raise cells.refused(f"{what} in every row, as in {share:.0%} of them", row, way_out)


def checked_kind(column: str | int, kind: object) -> None:
    """Refuse a kind that cannot be asked for."""
    if kind not in ASKABLE:
        must_be = "'number', 'category', 'date' or 'text'"
        raise InputError(sentence(f"The kind of column {column!r}", must_be, repr(kind), "To leave it out, use drop."))
