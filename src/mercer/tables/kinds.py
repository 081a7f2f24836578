"""The kinds of columns, and what their cells mean: one set of rules for files, frames and streams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, LeftOutWarning, MercerWarning, sentence, warn
from mercer.tables.cells import (
    EXACT,
    FIFTEEN,
    FLOAT64,
    Cells,
    OddCells,
    Writing,
    number_text,
    short,
    text_cells,
    texts_of,
)
from mercer.tables.dates import (
    CLOCK,
    DIGITS,
    DURATION,
    EXAMPLES,
    FORMATS,
    WORDS,
    are_dates,
    find_format,
    looks_like_dates,
    read_day,
)
from mercer.tables.texts import FEWEST_WORDS, words_in
from mercer.tables.values import (
    CODE,
    LOOSE,
    NumberStyle,
    bare_number,
    find_unit,
    is_endless,
    is_word_for_missing,
    most_common_unit,
)

if TYPE_CHECKING:
    from mercer.tables.columns import Column

Kind: TypeAlias = Literal["number", "category", "date", "text", "constant", "identifier", "dropped"]

# More levels than this are many: texts may be spoilt numbers or identifiers, and levels seen once are pooled.
MOST_LEVELS = 50
# Whole numbers with no more distinct values than this are pointed out: they may be codes.
_FEW = 10
ROW_NUMBERS, PANDAS_INDEX = "row numbers", "index of a pandas table"
_INDEX, _UNNAMED = re.compile(r"__index_level_\d+__"), "Unnamed: 0"  # what pandas calls an index without a name
_COUNTED = 10  # rows
# Text of which this share reads as numbers or dates, and the rest does not, is a spoilt column.
_SPOILT = 0.8
_CORRECT = "Correct the value, or leave the cell empty."


def interpret(
    cells: Cells,
    kind: str | None,
    style: NumberStyle,
    *,
    levels: Sequence[str] = (),
    endless: bool = False,
    trained: bool = False,
    writing: Writing | None = None,
    date_format: str | None = None,
    strict: bool = True,
) -> Cells:
    """The cells of a column of this kind as what they mean; where no kind is known, the cells decide.

    Columns that are not text mean what they are. Of texts, the first line that fits decides.

    =====================================================  ==========================================
    asked for as category or text; declared categories     texts, NA among them
    (new cells of a category of numbers or dates)          texts, NA and the like are missing
    every cell true or false, in any case                  booleans, NA and the like are missing
    every cell a date, in one format                       days, NA and the like are missing
    every cell a number, none like 007                     numbers, NA and the like are missing
    numbers, and inf                                       inf is missing if that was said; else odd
    every cell a number in some style                      refused: the style must be said
    80 % numbers or dates, and more than 50 distinct       odd
    values or most of them distinct
    all other texts                                        texts, NA among them
    =====================================================  ==========================================

    Odd columns are texts that know what is odd, for a warning; or refused.

    Parameters
    ----------
    cells : Cells
        As the table has them.
    kind : str or None
        The kind that `kinds` sets, or that training decided on.
    style : NumberStyle
        How texts write numbers.
    levels : sequence of str, default=()
        The levels of a category in training.
    endless : bool, default=False
        Whether infinite numbers are taken as missing.
    trained : bool, default=False
        Whether `style` is that of the training table.
    writing : Writing, default=None
        How the column was written in training.
    date_format : str, default=None
        A format of strptime that dates may have.
    strict : bool, default=True
        Whether odd columns are refused.

    Examples
    --------
    >>> from mercer.tables.cells import read_cells
    >>> from mercer.tables.values import NumberStyle
    >>> interpret(read_cells("size", ["1.5", "NA", "2"]), None, NumberStyle()).values
    array([1.5, nan, 2. ])
    """
    if cells.family != "text":
        return _interpret_typed(cells, kind)
    if kind in {"category", "text"} or (kind is None and (cells.declared or cells.style is not None)):
        words = kind == "category" and levels and _are_values(levels, style)
        return cells.without(is_word_for_missing) if words else cells
    said = cells.without(lambda text: is_word_for_missing(text) or (endless and is_endless(text)))
    texts = said.levels
    if kind is None and not texts:
        return cells
    if kind in {None, "number"} and texts and _are_truth(texts):
        return said.read("truth", [float(text.lower() == "true") for text in texts])
    dates = _format_of(said, kind, writing, date_format)
    if kind == "date" or (kind is None and dates not in {None, DURATION}):
        return _dates(said, dates or "", trained=writing is not None)
    if dates in {DURATION, CLOCK} and texts and kind in {None, "number"}:
        days = [read_day(text, DURATION) for text in texts]
        return said.read("number", _all_read(said, days, "durations such as 26:30:00"), Writing(DURATION))
    if writing is not None:
        before, after = writing.before, writing.after
    else:  # where numbers are asked for, most cells decide what stands around them
        before, after = find_unit(texts) or (most_common_unit(said) if kind == "number" else ("", ""))
    own = replace(style, before=before, after=after)
    values = [own.value(said, text) for text in texts]
    if kind == "number" or not (None in values or any(CODE.match(_bare(text)) for text in texts)):
        return _numbers(said, values, own, trained=trained)
    if None in values and (len(texts) > 1 or said.numbers):
        return replace(cells, odd=_find_odd(said, own, strict=strict))
    return cells


def _format_of(cells: Cells, kind: str | None, writing: Writing | None, date_format: str | None) -> str | None:
    """The format of dates: found, or that of training, unless one is said that all new cells have."""
    if writing is None:
        return find_format(cells, date_format)
    said = kind == "date" and date_format is not None and are_dates(cells.levels, date_format)
    return date_format if said else writing.dates


def _bare(text: str) -> str:
    """A number without what stands around it; empty where there is no number."""
    return (bare_number(text) or ("",))[0]


def _dates(cells: Cells, form: str, *, trained: bool) -> Cells:
    """Texts as dates of a format; new cells may also be ISO dates, which have one reading."""
    days = [read_day(text, form) for text in cells.levels]
    if trained and form not in {CLOCK, DURATION}:
        days = [read_day(text) if day is None else day for text, day in zip(cells.levels, days, strict=True)]
    such = f" such as {EXAMPLES[form]}" if form in EXAMPLES else f" in the format {form}"
    must_be = ("times of day" if form == CLOCK else "dates") + such
    return cells.read("date", _all_read(cells, days, must_be), Writing(form))


def _interpret_typed(cells: Cells, kind: str | None) -> Cells:
    """Cells that are no text, where they can be of the kind; whole numbers such as 20201231 are dates."""
    values = cells.present
    whole = cells.family == "number" and (values == np.floor(values)).all()
    if kind in {None, "date"} and whole and len(values) and 19000101 <= values.min() <= values.max() <= 20991231:
        digits = text_cells(cells.name, map(number_text, values))
        if are_dates(digits.levels, DIGITS) and (kind == "date" or find_format(digits) == DIGITS):
            days = np.full(len(cells), np.nan)
            days[~cells.missing] = np.array([read_day(text, DIGITS) for text in digits.levels])[digits.values]
            return replace(cells, family="date", values=days, writing=Writing(DIGITS))
    fits = {"number": {"number", "truth"}, "date": {"date"}}.get(kind or "", {cells.family})
    if cells.family not in fits and len(values):
        must_be = "numbers" if kind == "number" else "dates, or text such as '2024-12-31'"
        raise cells.cell_error(must_be, int(np.argmin(cells.missing)))
    return cells


def _are_values(levels: Sequence[str], style: NumberStyle) -> bool:
    """Whether levels are numbers, in this style or as levels are named; or days; or true and false."""
    styles = style, NumberStyle()
    numbers = any(all(own.read(text) is not None and not CODE.match(text) for text in levels) for own in styles)
    return numbers or are_dates(levels) or _are_truth(levels)


def _are_truth(levels: Sequence[str]) -> bool:
    return all(text.lower() in {"true", "false"} for text in levels)


def _all_read(cells: Cells, values: list[float | None], must_be: str) -> list[float]:
    if None in values:
        raise cells.cell_error(must_be, cells.levels[values.index(None)], _CORRECT)
    return [value for value in values if value is not None]


def _numbers(cells: Cells, given: list[float | None], style: NumberStyle, *, trained: bool) -> Cells:
    if None in given:
        raise _number_error(cells, cells.levels[given.index(None)], style, trained=trained)
    values = [value for value in given if value is not None]
    for text, value in zip(cells.levels, values, strict=True):
        if abs(value) == float("inf"):
            raise cells.cell_error(FLOAT64, text, _CORRECT)
        if abs(value) >= EXACT and style.rounds(text):
            raise cells.cell_error(FIFTEEN, text, "Drop the column with $drop, or keep it as text with $category.")
    return cells.read("number", values, Writing("", style.before, style.after))


def _number_error(cells: Cells, text: str, style: NumberStyle, *, trained: bool) -> InputError:
    """The error for a cell that is not a number, or a number in another format."""
    if (style.before or style.after) and (bare_number(text) or ("", "", ""))[1:] != (style.before, style.after):
        around = f"{style.before!r} before them" if style.before else f"{style.after!r} after them"
        return cells.cell_error(f"numbers with {around}" + ", as in the training table" * trained, text)
    if is_endless(text):
        return _infinite_error(cells, np.array([is_endless(text) for text in cells.levels]))
    if not LOOSE.fullmatch(text):
        return cells.cell_error("numbers", text, _CORRECT)
    marks = {"": "no thousands separator", ",": "commas", ".": "points", "'": "apostrophes", " ": "spaces"}
    between = marks[style.thousands] + " between thousands" * bool(style.thousands)
    sign = "point" if style.decimal == "." else "comma"
    must_be = f"numbers with a decimal {sign} and {between}" + ", as in the training table" * trained
    hint = "$new_sign." if trained else "Set the decimal sign of this table: $comma_or_point."
    return cells.cell_error(must_be, text, hint)


def _find_odd(cells: Cells, style: NumberStyle, *, strict: bool) -> OddCells | None:
    """What is odd about a column of numbers or dates with a few other cells; None for any other column.

    Numbers in several formats are refused, whatever is said, instead of guessing.
    """
    texts, counts = cells.levels, cells.counts
    numbers = np.array([style.value(cells, text) is not None for text in texts])
    loose = np.array([bool(LOOSE.fullmatch(text)) for text in texts])
    endless = np.array([is_endless(text) for text in texts])
    if (numbers | endless).all():
        if strict:
            raise _infinite_error(cells, endless)
        return _count_odd(cells, "finite numbers", numbers)
    if loose.all():
        hint = "Set the format with $style, or use $category."
        raise cells.cell_error("numbers in one format", texts[int(np.argmin(numbers))], hint)
    total = counts.sum()
    if not (len(texts) > MOST_LEVELS or len(texts) > total / 2):
        return None
    forms = [np.array([read_day(text, form) is not None for text in texts]) for form in FORMATS]
    days = np.any(forms, axis=0)
    dates = "dates", days
    if days.all():
        dates = "dates in one format", max(forms, key=lambda fits: int(counts[fits].sum()))
    for many, (what, fits) in ((numbers, ("numbers", numbers)), (days, dates), (loose, ("numbers", loose))):
        if counts[many].sum() >= _SPOILT * total:
            if not strict:
                return _count_odd(cells, what, fits)
            must_be = f"{what} in every row ({100 * counts[fits].sum() / total:.3g} % are)"
            hint = "Correct the value, leave the cell empty, or use $category."
            raise cells.cell_error(must_be, texts[int(np.argmin(fits))], hint)
    return None


def _count_odd(cells: Cells, what: str, fits: Array) -> OddCells:
    """The count of cells that do not fit, and the first one."""
    row = int(np.argmin(np.append(fits, True)[cells.values]))
    return OddCells(what, int(cells.counts[~fits].sum()), int(cells.counts.sum()), cells.found(row))


def _infinite_error(cells: Cells, endless: Array) -> InputError:
    """The error for infinite numbers."""
    count, row = int(cells.counts[endless].sum()), int(np.argmax(np.append(endless, False)[cells.values]))
    first = cells.found(row)
    got = first if count == 1 else f"{count} infinite values, the first {first}"
    hint = "Correct the value, or leave the cell empty$missing."
    return InputError(sentence(f"Column {cells.name!r}", "finite numbers", got), hint=hint)


def decide(cells: Cells, asked: str | None, *, rows_counted: bool = False) -> tuple[Kind, str]:
    """The kind of a column, and why. The first line that fits decides; `rows_counted` allows for row numbers.

    ===================================================  ==========
    every value is missing, or all are the same          constant
    one value, and missing values                        category
    the kind that `kinds` sets                           that kind
    categorical in the table; booleans                   category
    called __index_level_0__, or unnamed first column    identifier
    of distinct whole numbers: an index of pandas
    0, 1, 2, ... or 1, 2, 3, ... in every row            identifier
    numbers, however few distinct ones                   number
    dates                                                date
    text: each value twice or more on average            category
    text: three words or more on average                 text
    text: more than 90 % distinct                        identifier
    any other text                                       category
    ===================================================  ==========

    Examples
    --------
    >>> from mercer.tables.cells import read_cells
    >>> decide(read_cells("colour", ["red", "blue", "red", "red"]), None)
    ('category', 'text, 2 distinct values in 4 rows')
    """
    present = len(cells.present)
    if not present:
        return "constant", "every value is missing"
    if is_constant(cells):
        said = short(texts_of(cells)[1][0])
        whole = present == len(cells.values)
        return ("constant", f"every value is {said}") if whole else ("category", f"{said} or missing")
    if asked is not None:
        return asked, "set by the user"  # type: ignore[return-value]  # settings are checked when they are made
    if rows_counted and (name_rows := _names_of_rows(cells)):
        return "identifier", f"{name_rows}; to keep them, set the kind to number"
    if cells.declared or cells.family == "truth":
        return "category", "categorical in the table" if cells.declared else "true or false"
    if cells.family == "number":
        return "number", _number_reason(cells)
    if cells.family == "date":
        return "date", WORDS.get(cells.writing.dates, "dates")
    kind, why = _decide_text(cells)
    return kind, why if cells.odd is None else f"{why}; {cells.odd.share} are not {cells.odd.what}"


def _names_of_rows(cells: Cells) -> str:
    """What whole numbers, or an index of pandas, are if they only name the rows; empty for other columns."""
    values = cells.values
    whole = cells.family == "number" and bool((values == np.floor(values)).all() and (values >= 0).all())
    unnamed = cells.name == _UNNAMED and whole and len(np.unique(values)) == len(values)
    if unnamed or _INDEX.fullmatch(cells.name):
        return PANDAS_INDEX
    if not whole or cells.declared or len(values) < _COUNTED or not 0 <= values[0] <= 1 + 0.1 * len(values):
        return ""
    steps = np.diff(values)  # nearly all by 1: some rows may have been removed
    return ROW_NUMBERS if (steps >= 1).all() and np.mean(steps == 1) >= 0.9 else ""


def odd_warning(column: Column, cells: Cells) -> MercerWarning | None:
    """The warning of a column that is mostly numbers or dates and was taken for something else; None for any other."""
    odd = cells.odd
    if odd is None:
        return None
    kept = column.kind in {"category", "text"}
    taken = f"was taken as {'a category' if column.kind == 'category' else 'text'}" if kept else "was left out"
    share = f"{odd.share} of its values ({odd.count} of {odd.total})"
    message = f"Column {column.name!r} {taken}: {share} are not {odd.what}, the first {odd.first}."
    hint = f"Correct these values, or leave the cells empty{'$missing' * (odd.what == 'finite numbers')}. "
    hint += "To leave the column out, use $drop." if kept else "To keep the column as it is, use $category or $as_text."
    return (MercerWarning if kept else LeftOutWarning)(message, hint=hint, column=column.name)


def warn_of_left_out(column: Column, cells: Cells) -> None:
    """Warn of a column that is left out and may be what the target follows."""
    distinct = len(cells.levels)
    if column.why.startswith(ROW_NUMBERS):
        what, hint = "it counts the rows", "To keep it, use $as_number."
    elif column.why.startswith(PANDAS_INDEX):
        what = "it is the index of a pandas table"
        hint = f"To keep it, use {'$as_number' if cells.family == 'number' else '$category'}."
    elif cells.family != "text":
        return
    elif looks_like_dates(cells.levels):
        what, hint = "it looks like dates in a format that is not known", "Set $date_format, or use $as_text."
    elif 2 * sum(1 for bare in map(_bare, cells.levels) if LOOSE.fullmatch(bare) and not CODE.match(bare)) > distinct:
        what = "most of its values look like numbers"
        hint = "If the column is numeric, correct the other values; to keep it as text, use $as_text."
    else:
        return
    warn(LeftOutWarning(f"Column {column.name!r} was left out: {what}.", hint=hint, column=column.name))


def is_constant(cells: Cells) -> bool:
    """Whether the cells that are there are all the same, up to the rounding of numbers."""
    if cells.family == "text":
        return len(cells.levels) == 1
    low, high = float(cells.present.min()), float(cells.present.max())
    slack = max(4 * np.finfo(np.float64).eps * max(abs(low), abs(high)), float(np.finfo(np.float64).tiny))
    return not high - low > slack


def _number_reason(cells: Cells) -> str:
    writing = cells.writing
    if writing.dates == DURATION:
        return WORDS[DURATION]
    if writing.before or writing.after:
        return f"numbers in {writing.before or writing.after}"
    values = np.unique(cells.present)
    if not (values == np.floor(values)).all():
        return "numbers"
    few = f"whole numbers, {len(values)} distinct; if these are codes, set the kind to category"
    return few if len(values) <= _FEW else "whole numbers"


def _decide_text(cells: Cells) -> tuple[Kind, str]:
    present, distinct = len(cells.present), len(cells.levels)
    if distinct > MOST_LEVELS or distinct > present / 2:
        words = words_in(cells.levels)
        if distinct > present / 2 and words >= FEWEST_WORDS:
            return "text", f"text, {words:.0f} words on average, {distinct} distinct in {present} rows"
        if distinct > 0.9 * present:
            why = f"short text, {distinct} distinct in {present} rows; to keep it, set the kind to text or category"
            return "identifier", why
    said = "codes with leading zeros" if all(map(LOOSE.fullmatch, cells.levels)) else "text"
    return "category", f"{said}, {distinct} distinct values in {present} rows"
