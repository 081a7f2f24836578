"""Hints before a fit: what about a table changes the error, or its estimate, if it is said."""

from __future__ import annotations

import shlex

import numpy as np

from mercer.cli.preparing import Prepared, Said
from mercer.data.rows import Array
from mercer.errors import printable
from mercer.tables import Column
from mercer.tables.cells import Cells
from mercer.text import counted, legible, plain

_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0)  # that stand for missing values
_GAP = 5.0  # standard deviations between a code and all other values
_LEVELS = 12  # values that rows of one person, machine or place may share: so many at least
_ROWS_EACH = (2, 50)  # rows of one of them, on the average
_UNEVEN = 2.0  # rows of the most common over those of the median one, at most
_SKEWED = 2.0  # skewness of a target from which on its logarithm is worth a try
_MOST = 3  # hints of one kind


def hints(table: Prepared, said: Said, *, log_target: bool) -> list[str]:
    """Sentences about groups, times, codes for missing values and skewed targets that nothing was said about."""
    if table.stream is not None:
        return []
    return [*_groups(table, said), *_times(table, said), *_codes(table), *([] if log_target else _target_hint(table))]


def _option(name: str, column: str) -> str:
    return f"{name} {shlex.quote(printable(column))}"


def _groups(table: Prepared, said: Said) -> list[str]:
    """Columns whose values repeat about equally often, as ids of persons or machines do."""
    if said.group is not None or said.time is not None:
        return []
    words = []
    for column in table.encoder.columns_:
        counts = _repeats(column, table.features[column.name])
        if counts is not None:
            name, rows = legible(column.name), round(float(np.median(counts)))
            words.append(
                f"Hint: {name} has {len(counts)} values, about {counted(rows, 'row')} each. If the rows of one {name} "
                f"belong together, use {_option('--group', column.name)}; otherwise the error may be too low."
            )
    return words[:_MOST]


def _repeats(column: Column, cells: Cells) -> Array | None:
    """How often each value occurs, for columns that look like repeated ids; otherwise None."""
    if column.missing or column.kind not in ("category", "number", "text", "identifier"):
        return None
    if cells.family == "number":
        if (cells.values != np.floor(cells.values)).any():
            return None
        counts = np.unique(cells.values, return_counts=True)[1]
        if counts.var() > 0.25 * counts.mean():  # as counts of draws by chance vary, and those of ages or years do
            return None
    else:
        counts = np.asarray(cells.counts)
    low, high = _ROWS_EACH
    alike = len(counts) >= _LEVELS and low <= counts.mean() <= high and counts.max() <= _UNEVEN * np.median(counts)
    return counts if alike else None


def _times(table: Prepared, said: Said) -> list[str]:
    """A column of dates, if the rows are in its order."""
    if said.time is not None or said.group is not None:
        return []
    for column in table.encoder.columns_:
        if column.kind == "date" and not column.missing:
            steps = np.diff(table.features[column.name].values)
            if len(steps) > _LEVELS and ((steps >= 0).all() or (steps <= 0).all()):
                use = f"use {_option('--time', column.name)}: the error is then that of predicting the future."
                return [f"Hint: rows are in the order of {legible(column.name)}. To predict later rows, {use}"]
    return []


def _codes(table: Prepared) -> list[str]:
    """Numbers such as -999 that occur several times, far from all others."""
    words = []
    for column in table.encoder.columns_:
        cells = table.features[column.name]
        if column.kind != "number" or cells.family != "number":
            continue
        values = cells.values[np.isfinite(cells.values)]
        for code in _CODES:
            rest = values[values != code]
            count = len(values) - len(rest)
            if count < 2 or len(rest) < _LEVELS or not np.ptp(rest):
                continue
            away = rest.min() - code if code < rest.min() else code - rest.max()
            if away > _GAP * float(rest.std()):
                words.append(
                    f"Hint: {plain(code)} occurs {count} times in {legible(column.name)}, far from its other values "
                    f"({plain(float(rest.min()))} to {plain(float(rest.max()))}). If it stands for a missing value, "
                    "empty these cells."
                )
    return words[:_MOST]


def _target_hint(table: Prepared) -> list[str]:
    """A positive target whose logarithm is less skewed by far."""
    y = table.target.values
    if table.target.task != "regression" or not (y > 0).all() or not np.ptp(y):
        return []
    raw, logs = _skewness(y), _skewness(np.log(y))
    if raw < _SKEWED or abs(logs) > 0.5 * raw:
        return []
    gain = "often lowers the error of such targets and gives intervals that grow with the prediction"
    return [f"Hint: the target is positive and skewed. --log-target fits its logarithm, which {gain}."]


def _skewness(y: Array) -> float:
    z = (y - y.mean()) / y.std()
    return float(np.mean(z**3))
