"""What was learned about each column, and how its cells become columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.data.encoding.cells import Cells, texts_of
from mercer.data.encoding.kinds import MOST_LEVELS, Kind
from mercer.data.encoding.values import NumberStyle, days_of, numbers_of
from mercer.data.rows import Array
from mercer.errors import InputError, sentence

# Two different levels are then at a squared distance of 1; of two standardised normal numbers it is 0.9 in the median.
ONE_HOT = 1 / np.sqrt(2)
_YEAR = 365.2425
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_TRUTH = ("False", "True")


@dataclass(frozen=True)
class Scale:
    """How numbers become standardised ones: (value - centre) / spread, `fill` for what is missing.

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
        How numbers and dates are standardised.
    year : bool
        Whether the time of the year is given for a date.
    weekdays : tuple of int
        The days of the week, from 0 for Monday, that have a column of their own.
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


@dataclass(frozen=True, eq=False)
class Strangers:
    """Cells unlike those of training, as marks of rows: newly missing, unseen, out of range."""

    missing: Array
    unseen: Array
    outside: Array
    example: str = ""


def learn(cells: Cells, kind: Kind, why: str, style: NumberStyle) -> Column:
    """Learn from the training rows; the names of the outputs come later, from the whole table."""
    missing = int(cells.missing.sum())
    if kind == "number":
        return Column(cells.name, kind, why, missing, scale=_number_scale(numbers_of(cells, style)[~cells.missing]))
    if kind == "date":
        days = days_of(cells)[~cells.missing]
        scale = _number_scale(days)
        scale = Scale(scale.fill, scale.spread, scale.fill, scale.low, scale.high)
        span = scale.high - scale.low
        weekdays = tuple(int(day) for day in np.unique(_weekday(days))) if span > 14 else ()
        return Column(
            cells.name, kind, why, missing, scale=scale, year=span > _YEAR, weekdays=weekdays if weekdays[1:] else ()
        )
    if kind != "category":
        return Column(cells.name, kind, why, missing)
    codes, levels = texts_of(cells)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels)).tolist()
    by_count = [level for _, level in sorted(zip((-count for count in counts), levels, strict=True))]
    if cells.family == "truth":
        by_count = list(_TRUTH)
    kept, rare = by_count[:MOST_LEVELS], by_count[MOST_LEVELS:]
    return Column(cells.name, kind, why, missing, levels=tuple(sorted(kept)), pooled=tuple(sorted(rare)))


def _number_scale(values: Array) -> Scale:
    """Mean, standard deviation, median and range, without overflow: in units of a power of two near the largest."""
    unit = float(np.ldexp(1.0, int(np.frexp(np.abs(values).max())[1]) - 1))
    small = values / unit
    return Scale(
        float(small.mean()) * unit,
        float(small.std()) * unit,
        float(np.median(small)) * unit,
        float(values.min()),
        float(values.max()),
    )


def output_names(column: Column, truth: bool) -> list[str]:
    """What the columns of numbers made from one column are called."""
    name = column.name
    gone = [f"{name} missing"] if column.missing else []
    if column.kind == "number":
        return [name, *gone]
    if column.kind == "date":
        year = [f"{name} sin(year)", f"{name} cos(year)"] if column.year else []
        return [name, *year, *(f"{name}={_WEEKDAYS[day]}" for day in column.weekdays), *gone]
    if column.kind != "category":
        return []
    if truth:
        return [f"{name}=True"]
    other = [f"{name} other"] if column.pooled else []
    return [*(f"{name}={level}" for level in column.levels), *other, *gone]


def is_truth(column: Column, cells: Cells) -> bool:
    """Whether a category of true and false, never missing, needs one column of 0 and 1 only."""
    return column.kind == "category" and cells.family == "truth" and not column.missing


def encode(column: Column, cells: Cells, style: NumberStyle, out: Array) -> Strangers:
    """Write the columns of numbers of one column into `out`, which holds zeros."""
    if column.scale is None:
        return _encode_category(column, cells, out)
    number = column.kind == "number"
    values = numbers_of(cells, style) if number else days_of(cells)
    filled = np.where(cells.missing, column.scale.fill, values)
    out[:, 0] = _standardised(column, column.scale, filled)
    if column.missing:
        out[cells.missing, -1] = 1.0
    if column.year:
        angle = 2 * np.pi * filled / _YEAR
        out[:, 1] = np.where(cells.missing, 0.0, ONE_HOT * np.sin(angle))
        out[:, 2] = np.where(cells.missing, 0.0, ONE_HOT * np.cos(angle))
    weekday, first = _weekday(filled), 3 if column.year else 1
    for place, day in enumerate(column.weekdays):
        out[:, first + place] = ONE_HOT * ((weekday == day) & ~cells.missing)
    outside = (filled < column.scale.low) | (filled > column.scale.high)
    nowhere = np.zeros(len(filled), dtype=bool)
    return Strangers(nowhere if column.missing else cells.missing, nowhere, outside)


def _standardised(column: Column, scale: Scale, values: Array) -> Array:
    with np.errstate(over="ignore"):
        standard = (values - scale.centre) / scale.spread
    if not np.isfinite(standard).all():
        row = int(np.flatnonzero(~np.isfinite(standard))[0])
        must_be = f"within reach of the training rows ({scale.low:.6g} to {scale.high:.6g})"
        raise InputError(sentence(f"Column {column.name!r}", must_be, f"{values[row]:.6g} in row {row}"))
    return np.asarray(standard)


def _weekday(days: Array) -> Array:
    return (np.floor(days) + 3) % 7  # 1 January 1970 was a Thursday


def _encode_category(column: Column, cells: Cells, out: Array) -> Strangers:
    codes, levels = texts_of(cells)
    places = {level: place for place, level in enumerate(column.levels)}
    places |= dict.fromkeys(column.pooled, len(column.levels))
    if column.levels == _TRUTH:
        levels = [_as_truth(level) for level in levels]
    gone = out.shape[1] - 1 if column.missing else -1
    place = np.array([places.get(level, -1) for level in levels] + [gone], dtype=np.intp)[codes]
    seen = place >= 0
    if len(column.outputs) == 1:
        out[:, 0] = np.where(seen, place, 0.5)
    else:
        out[np.flatnonzero(seen), place[seen]] = ONE_HOT
    unseen = ~seen & ~cells.missing
    example = levels[int(codes[np.flatnonzero(unseen)[0]])] if unseen.any() else ""
    return Strangers(cells.missing & ~seen, unseen, np.zeros(len(seen), dtype=bool), example)


def _as_truth(level: str) -> str:
    return {"0": "False", "1": "True"}.get(level, level.capitalize())
