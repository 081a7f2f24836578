"""What was learned about each column, how its cells become columns of numbers, and what is unlike it in new rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, UnfamiliarRowsWarning, sentence, warn
from mercer.tables.cells import Cells, Writing, short, texts_of
from mercer.tables.kinds import Kind
from mercer.tables.texts import FEWEST_WORDS, Parts, learn_parts, words_in
from mercer.tables.values import NumberStyle, level_name
from mercer.text import Brief, Shown, counted

# Two different levels are then at a squared distance of 1; of two standardized normal numbers it is 0.9 in the median.
ONE_HOT = 1 / np.sqrt(2)
# Two texts that have nothing in common are at a squared distance of 1/2 at most: a column of texts says nothing more
# often than others do, and kernels with one width for all columns cannot learn to ignore it.
_TEXT = 0.5
_MOST_KEPT = 300  # levels with a column of their own, the most frequent ones; the others share one
_YEAR = 365.2425
_MINUTE = 0.5 / 1440  # moments that differ by less have no time of the day to tell
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_TRUTH = ("False", "True")
_TRUTH_NAMES = {"0": "False", "1": "True", "false": "False", "true": "True"}  # by the name in lower case


@dataclass(frozen=True)
class Scale:
    """How numbers become standardized ones: (value - centre) / spread, `fill` for what is missing.

    `low` and `high` are the smallest and the largest number seen in training.
    """

    centre: float
    spread: float
    fill: float
    low: float
    high: float


@dataclass(frozen=True)
class Column:
    """One column of the training table.

    Attributes
    ----------
    name : str
        What it is called.
    kind : str
        `number`, `category`, `date`, `text`, or why it is left out: `constant`, `identifier`, `dropped`.
    why : str
        The reason for the kind.
    missing : int
        Number of missing cells in training.
    levels : tuple of str
        The levels of a category that have a column of their own, sorted.
    outputs : tuple of str
        The names of the columns of numbers made from it.
    pooled : tuple of str
        Rare levels that share one column, `other`.
    scale : Scale or None
        How numbers and dates are standardized.
    year : bool
        Whether the time of the year is given for a date.
    weekdays : tuple of int
        The days of the week, from 0 for Monday, that have a column of their own.
    parts : Parts or None
        The words, or runs of letters, of texts, and their main directions.
    day : bool
        Whether the time of the day is given for a date.
    writing : Writing
        How texts wrote its numbers or dates; new ones must be written like that.
    marked : bool
        Whether missing numbers and dates have a column of marks.
    named : bool
        Whether the levels of a category are names of numbers, days or booleans, and not texts as they were written.
    """

    name: str
    kind: Kind
    why: str
    missing: int = 0
    levels: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()
    scale: Scale | None = None
    year: bool = False
    weekdays: tuple[int, ...] = ()
    parts: Parts | None = None
    marked: bool = True
    named: bool = False
    day: bool = False
    writing: Writing = field(default_factory=Writing)


@dataclass(frozen=True)
class Unfamiliar:
    """How many cells of one column are unlike those of training.

    Attributes
    ----------
    name : str
        The column.
    missing : int
        Missing cells, where none was missing in training.
    unseen : int
        Cells with a level that training did not have.
    outside : int
        Numbers and dates outside the range of training.
    example : str
        The first unseen level.
    """

    name: str
    missing: int
    unseen: int
    outside: int
    example: str = ""


def learn(cells: Cells, kind: Kind, why: str, *, marked: bool = True) -> Column:
    """Learn from the training rows; the names of the outputs come later, from the whole table."""
    column = Column(cells.name, kind, why, int(cells.missing.sum()))
    if kind in {"category", "text"}:
        codes, levels = texts_of(cells)
        counts = np.bincount(codes[codes >= 0], minlength=len(levels))
        if kind == "text":
            return _learn_texts(column, levels, counts)
        by_count = [level for _, level in sorted(zip((-counts).tolist(), levels, strict=True))]
        kept = by_count[:_MOST_KEPT] if cells.family != "truth" else list(_TRUTH)
        rare = tuple(sorted(by_count[_MOST_KEPT:]))
        return replace(column, levels=tuple(sorted(kept)), pooled=rare, named=cells.family != "text")
    if kind not in {"number", "date"}:
        return column
    values = cells.present
    unit = float(np.ldexp(1.0, int(np.frexp(np.abs(values).max())[1]) - 1))  # so that no sum overflows
    mean, spread, median = (float(each(values / unit)) * unit for each in (np.mean, np.std, np.median))
    centre, fill = mean if kind == "number" else median, median if marked else mean
    scale = Scale(centre, spread, fill, float(values.min()), float(values.max()))
    column = replace(column, scale=scale, marked=marked, writing=cells.writing)
    if kind == "number":
        return column
    span, weekdays = scale.high - scale.low, tuple(map(int, np.unique(_weekday(values))))
    weekdays = weekdays if span > 14 and weekdays[1:] else ()
    return replace(column, year=span > _YEAR, day=bool(np.ptp(values % 1.0) > _MINUTE), weekdays=weekdays)


def _learn_texts(column: Column, texts: list[str], counts: Array) -> Column:
    letters = words_in(texts) < FEWEST_WORDS
    parts = learn_parts(texts, counts, letters=letters)
    one, several = ("run of three letters", "runs of three letters") if letters else ("word", "words")
    if parts is None:
        return replace(column, why=f"{column.why}; no {several} tell rows apart")
    why = f"{column.why}; {counted(len(parts.known), one, several)} in two rows or more"
    return replace(column, parts=parts, why=why)


def round_range(column: Column) -> Column:
    """The range rounded outwards and the fill rounded, to a power of ten near a twentieth of the spread."""
    scale = column.scale
    if scale is None:
        return column
    step = 10.0 ** np.floor(np.log10(scale.spread / 10))
    ways = (np.floor, scale.low), (np.ceil, scale.high), (np.round, scale.fill)
    low, high, fill = (float(step * way(value / step)) for way, value in ways)
    centre = fill if column.kind == "date" else scale.centre  # that of dates is their median, a day of the table
    return replace(column, scale=Scale(centre, scale.spread, fill, low, high))


def output_names(column: Column, cells: Cells) -> list[str]:
    """What the columns of numbers made from one column are called; true and false, never missing, need one only."""
    name = column.name
    gone = [f"{name} missing"] if column.missing and column.marked else []
    if column.kind == "number":
        return [name, *gone]
    if column.kind == "date":
        circles = [f"{name} {wave}({of})" for of in _circles(column) for wave in ("sin", "cos")]
        return [name, *circles, *(f"{name}={_WEEKDAYS[day]}" for day in column.weekdays), *gone]
    if column.parts is not None:
        return [*(f"{name} {place + 1}" for place in range(column.parts.directions.shape[1])), *gone]
    if column.kind != "category":
        return []
    if cells.family == "truth" and not column.missing:
        return [f"{name}=True"]
    other = [f"{name} other"] if column.pooled else []
    return [*(f"{name}={level}" for level in column.levels), *other, *gone]


def _circles(column: Column) -> dict[str, float]:
    """What of a date goes round, and its length in days."""
    return {name: length for name, length in (("year", _YEAR), ("day", 1.0)) if getattr(column, name)}


def encode(column: Column, cells: Cells, style: NumberStyle, out: Array) -> tuple[Unfamiliar, Array]:
    """Write the columns of numbers of one column into `out`, which holds zeros.

    Returns what is unlike training, and in which rows a number or a date is out of range.
    """
    newly_missing = 0 if column.missing else int(cells.missing.sum())
    if column.scale is None:
        codes, texts = texts_of(cells)
        if column.parts is None:
            unseen, texts = _encode_category(column, codes, texts, style, out, written=cells.family == "text")
        else:
            unseen = _encode_texts(column.parts, codes, texts, out)
            if column.missing:
                out[cells.missing, -1] = _TEXT
        example = texts[int(codes[np.argmax(unseen)])] if unseen.any() else ""
        example = example if column.parts is None else short(example)
        return Unfamiliar(column.name, newly_missing, int(unseen.sum()), 0, example), np.zeros(len(cells), dtype=bool)
    filled = np.where(cells.missing, column.scale.fill, cells.values)
    out[:, 0] = _standardise(column.scale, filled, cells)
    if column.missing and column.marked:
        out[cells.missing, -1] = 1.0
    angles = (2 * np.pi * (filled % length) / length for length in _circles(column).values())
    waves = (wave(angle) for angle in angles for wave in (np.sin, np.cos))
    weekdays = (_weekday(filled) == day for day in column.weekdays)
    for place, part in enumerate(chain(waves, weekdays), 1):
        out[:, place] = np.where(cells.missing, 0.0, ONE_HOT * part)
    outside = ((filled < column.scale.low) | (filled > column.scale.high)) & ~cells.missing
    return Unfamiliar(column.name, newly_missing, 0, int(outside.sum())), outside


def _standardise(scale: Scale, values: Array, cells: Cells) -> Array:
    with np.errstate(over="ignore"):
        standard = np.asarray((values - scale.centre) / scale.spread)
    if not np.isfinite(standard).all():
        row = int(np.argmin(np.isfinite(standard)))
        must_be = f"similar in magnitude to the training values ({scale.low:.6g} to {scale.high:.6g})"
        got = f"{values[row]:.6g} in {cells.where(row)}, whose scaled value overflows"
        way_out = "Correct the value, or leave the cell empty."
        raise InputError(sentence(f"Column {cells.name!r}", must_be, got, way_out))
    return standard


def _weekday(days: Array) -> Array:
    return (np.floor(days) + 3) % 7  # 1 January 1970 was a Thursday


def _encode_category(
    column: Column, codes: Array, levels: list[str], style: NumberStyle, out: Array, *, written: bool
) -> tuple[Array, list[str]]:
    """Write one column per level; returns which cells have a level that training had not, and the names of levels."""
    places = {level: place for place, level in enumerate(column.levels)}
    places |= dict.fromkeys(column.pooled, len(column.levels))
    if column.levels == _TRUTH:
        levels = [_TRUTH_NAMES.get(level.lower(), level) for level in levels]
    elif column.named and written:  # 3.0 is the level 3
        levels = [level_name(level, style) for level in levels]
    elif not column.named and not written:  # 3 is the level 3.0, if no other is
        names, held = [level_name(level, style) for level in places], list(places.values())
        places |= {name: place for name, place in zip(names, held, strict=True) if names.count(name) == 1}
    gone = out.shape[1] - 1 if column.missing else -1
    other = len(column.levels) if column.pooled else -1  # where rare levels share a column, new ones do, too
    place = np.array([*(places.get(level, other) for level in levels), gone], dtype=np.intp)[codes]
    seen = place >= 0
    if len(column.outputs) == 1:
        out[:, 0] = np.where(seen, place, 0.5)
    else:
        out[np.flatnonzero(seen), place[seen]] = ONE_HOT
    return np.array([*(level not in places for level in levels), False])[codes], levels


def _encode_texts(parts: Parts, codes: Array, texts: list[str], out: Array) -> Array:
    """Write points in a ball, those of texts without a known part at its centre; returns which cells are such news."""
    points, bare = parts.points(texts)
    there = np.flatnonzero(codes >= 0)
    out[there, : points.shape[1]] = _TEXT * points[codes[there]]
    unseen = np.append(bare, False)[codes]
    # some texts of training had no known part, either: only clearly more of them are news
    return unseen if unseen.sum() > 2 * parts.bare * len(there) else np.zeros(len(codes), dtype=bool)


@dataclass(frozen=True, repr=False)
class EncoderReport(Shown):
    """What is unlike the training table in new rows; prints as a table.

    Attributes
    ----------
    rows : int
        Number of rows looked at.
    rows_outside : int
        Number of rows with at least one number or date outside the range of training.
    columns : tuple of Unfamiliar
        The columns with something to tell, and only those.
    """

    rows: int
    rows_outside: int
    columns: tuple[Unfamiliar, ...]

    def _columns(self) -> dict[str, list[object]]:
        names = {"name": "column", "missing": "newly missing", "unseen": "unseen category", "outside": "out of range"}
        return {said: [getattr(each, name) for each in self.columns] for name, said in names.items()}

    def __str__(self) -> str:
        if not self.columns:
            return f"{self.rows} rows, all like the training rows"
        head = f"{self.rows_outside} of {counted(self.rows, 'row')} with a value outside the training range"
        return f"{head}\n\n{self._table()}"

    def warn(self, usual: int | None = None) -> None:
        """Issue one warning, if anything is to report; with `usual`, if more cells are out of range or missing."""
        counts = "outside", "unseen", "missing"
        outside, unseen, missing = (sum(getattr(each, name) for each in self.columns) for name in counts)
        if outside + missing + (unseen if usual is None else 0) > (usual or 0):
            names = ", ".join(repr(each.name) for each in self.columns[:5]) + (", ..." if self.columns[5:] else "")
            parts = {"out of range": outside, "of unseen categories": unseen, "newly missing": missing}
            said = ", ".join(f"{counted(count, 'value')} {what}" for what, count in parts.items() if count)
            words = f"New rows are unlike the training rows in {names}: {said} ({counted(self.rows, 'row')} in all)."
            warn(f"{words} Predictions for such rows are extrapolations.", UnfamiliarRowsWarning)


@dataclass(frozen=True, eq=False, repr=False)
class Encoded(Brief):
    """A table as numbers.

    Attributes
    ----------
    values : ndarray of shape (n, outputs)
        The numbers.
    report : EncoderReport
        What is unlike the training table.
    """

    values: Array
    report: EncoderReport


def usually_outside(rows: int, columns: int, trained: float) -> int:
    """Most cells that new rows drawn like the training rows have out of range: the mean and four standard deviations.

    A new number is the smallest or the largest of n + 1 with chance 2 / (n + 1); the ends of the range are shared by
    all new rows, so that their count varies by more than its square root.
    """
    mean = 2.0 * rows * columns / (trained + 1)
    return int(mean + 4.0 * math.sqrt(mean + mean**2 / max(2 * columns, 1)))
