"""Changes that may be asked of the columns of a table: derivatives, and differences between two cells."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from mercer.data.rows import Array, XLike
from mercer.errors import InputError, nearest
from mercer.estimators.parameters import is_whole
from mercer.estimators.pipelines import Transformers, column_names, column_values, with_column
from mercer.tables import TableEncoder
from mercer.tables.columns import Column

_LEVELS = 12  # of a category: the most common
_STEP = 6e-6  # of central differences, in standard deviations of the column: the third root of the rounding error


@dataclass(frozen=True, eq=False)
class Change:
    """What is asked of a column: a derivative by one column of numbers, or a difference between two cells.

    Attributes
    ----------
    column, name : str
        The column of the table, and what its effect is called.
    places : ndarray of int
        The columns of numbers that it became.
    ends : tuple of ndarray, or None
        These columns for the first and for the second cell, for all rows or for each; None for a derivative.
    scale : float
        Units of the encoded column in one unit of the table.
    direction : ndarray of shape (rows, places), or None
        Of a derivative by a column of the table that several columns of numbers follow: theirs, at every row.
    known : ndarray of bool, shape (rows,), or None
        Which rows have a number in the column; None where all have.
    """

    column: str
    name: str
    places: Array
    ends: tuple[Array, Array] | None = None
    scale: float = 1.0
    known: Array | None = None
    direction: Array | None = None


Item: TypeAlias = tuple[Change, ...]  # one change, or two for their interaction


def column_place(given: int | str, names: list[str]) -> int:
    """The place of a column that is given by its name or number."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    if is_whole(given, 0) and int(given) < len(names):
        return int(given)
    raise InputError(f"There is no column {given!r}. {nearest(str(given), names)}")


def as_list(given: Any) -> list[Any]:
    """The items of a sequence; a single one, such as a name, in a list."""
    return [given] if isinstance(given, str) or not hasattr(given, "__iter__") else list(given)


def plain_changes(Z: Array, names: Sequence[str] | None) -> list[Change]:
    """A derivative for each column, or a difference where it has two values."""
    listed = column_names(Z) if names is None else map(str, names)
    return [_of_numbers(name, Z, np.array([j]), 1.0) for j, name in enumerate(listed)]


def _of_numbers(name: str, Z: Array, places: Array, scale: float, known: Array | None = None) -> Change:
    levels = np.unique(Z[:, places[0]])
    if len(levels) == 2:
        return Change(name, name, places, (levels[:1], levels[1:]), 1.0, known)
    return Change(name, name, places, None, scale, known)


def _trained_marks(column: Column, Z: Array) -> Array | None:
    """Which training rows have a number in a column that became Z; None where all have, or it cannot be told.

    Without marks, missing numbers are at the mean, which is 0; they are known if no other number is.
    """
    if not column.missing:
        return None
    known = Z[:, -1] == 0.0 if column.marked else Z[:, 0] != 0.0
    return known if column.marked or np.count_nonzero(~known) == column.missing else None


def _marks(encoder: TableEncoder, X: XLike) -> dict[str, Array]:
    """Which rows of a table have a number, for each column of numbers."""
    marker, columns = copy(encoder), encoder.columns_
    names = [column.name for column in columns if column.kind == "number" and column.scale is not None]
    outputs = {name: (name, f"{name} missing") for name in names}
    marker.columns_ = [replace(each, missing=1, marked=True, outputs=outputs.get(each.name, ())) for each in columns]
    marker.names_out_ = [name for pair in outputs.values() for name in pair]
    return dict(zip(names, (marker.transform(X)[:, 1::2] == 0.0).T, strict=True))


def encoded_changes(encoder: TableEncoder, Z: Array, X: XLike = None) -> list[Change]:
    """Changes of the columns of a table: numbers per unit, levels against the most common one.

    `Z`: the training rows as they were encoded; `X`: other rows at which effects are wanted.
    """
    groups, found = np.asarray(encoder.groups_), []
    marks = {} if X is None else _marks(encoder, X)
    for place in np.unique(groups):
        column, mine = encoder.columns_[place], np.flatnonzero(groups == place)
        if column.kind == "number" and column.scale is not None:
            trained = _trained_marks(column, Z[:, mine])
            known = trained if X is None else marks[column.name]
            numbers = Z if trained is None else Z[trained]
            found.append(_of_numbers(column.name, numbers, mine[:1], 1.0 / column.scale.spread, known))
        elif column.kind == "category" and len(mine) == 1:
            found.append(Change(column.name, f"{column.name}=True", mine, (np.zeros(1), np.ones(1))))
        elif column.kind == "category":
            codes = Z[:, mine[: len(column.levels)]] != 0
            order = [int(k) for k in np.argsort(-codes.sum(axis=0), kind="stable") if codes[:, k].any()][:_LEVELS]
            rows = Z[np.ix_(codes.argmax(axis=0), mine)]  # the first row of every level
            for k in order[1:]:
                title = f"{column.name}: {column.levels[k]} - {column.levels[order[0]]}"
                found.append(Change(column.name, title, mine, (rows[order[0]], rows[k])))
    return found


def transformed_changes(transformers: Transformers, X: XLike) -> list[Change]:
    """Changes of the columns of a table in front of transformers: numbers per unit, levels against the most common one.

    Derivatives of the transformers are central differences: exact for straight lines and parabolas.
    """
    changes: list[Change] = []
    for place, name in enumerate(column_names(X)):
        cells = column_values(X, place)
        numbers = cells.astype(np.float64) if cells.dtype.kind in "iuf" else None
        known = None if numbers is None or np.isfinite(numbers).all() else np.isfinite(numbers)
        there = cells.astype(str) if numbers is None else numbers if known is None else numbers[known]
        levels, first, counts = np.unique(there, return_index=True, return_counts=True)
        if len(levels) < 2:
            continue
        if numbers is not None and len(levels) > 2:
            changes += _slope(transformers, X, place, name, numbers, known)
            continue
        rows = first if known is None else np.flatnonzero(known)[first]
        order = np.argsort(-counts, kind="stable")[:_LEVELS] if numbers is None else np.arange(2)
        ends = [transformers.numbers(with_column(X, place, lenders=np.full(len(cells), rows[k]))) for k in order]
        places = np.flatnonzero(np.any([(end != ends[0]).any(axis=0) for end in ends], axis=0))
        for k, end in zip(order[1:], ends[1:], strict=True):
            title = name if numbers is not None else f"{name}: {levels[k]} - {levels[order[0]]}"
            if len(places):
                changes.append(Change(name, title, places, (ends[0][:, places], end[:, places]), 1.0, known))
    return changes


def _slope(
    transformers: Transformers, X: XLike, place: int, name: str, numbers: Array, known: Array | None
) -> list[Change]:
    """The derivative by a column of numbers, from how the transformed columns follow it; none if they do not."""
    spread = float(np.nanstd(numbers))

    def follow(step: float) -> Array:
        ends = [transformers.numbers(with_column(X, place, shift=sign * step)) for sign in (1.0, -1.0)]
        return np.asarray((ends[0] - ends[1]) / (2.0 * step))

    wide, narrow = follow(spread), follow(_STEP * spread)
    there = slice(None) if known is None else known
    line = wide[there].mean(axis=0)  # no digits are lost to a narrow step where the transformers are straight lines
    if np.allclose(narrow[there], line, rtol=1e-6, atol=1e-6 * np.abs(line).max(initial=0.0)):
        narrow = np.broadcast_to(line, narrow.shape)
    places = np.flatnonzero((narrow != 0).any(axis=0))
    direction = narrow[:, places]
    if len(places) == 1 and (direction == direction[0]).all():
        return [Change(name, name, places, None, float(direction[0, 0]), known)]
    return [Change(name, name, places, None, 1.0, known, direction)] if len(places) else []


def recentre(change: Change, middle: Array) -> Change:
    """The change for rows that were moved by minus `middle`."""
    if change.ends is None:
        return change
    low, high = (end - middle[change.places] for end in change.ends)
    return replace(change, ends=(low, high))
