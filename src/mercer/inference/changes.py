"""Changes of a column that are asked for: one unit more, or one cell in place of another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, nearest
from mercer.estimators.parameters import is_whole
from mercer.tables import TableEncoder

_LEVELS = 12  # of a category: the most common


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
        These columns for the first and for the second cell; None for a derivative.
    scale : float
        Units of the encoded column in one unit of the table.
    """

    column: str
    name: str
    places: Array
    ends: tuple[Array, Array] | None = None
    scale: float = 1.0


Item: TypeAlias = tuple[Change, ...]  # one change, or two for their interaction


def column_place(given: Any, names: list[str]) -> int:
    """The place of a column that is given by its name or number."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    if is_whole(given, 0) and int(given) < len(names):
        return int(given)
    raise InputError(f"There is no column {given!r}. {nearest(str(given), names)}")


def plain_changes(Z: Array, names: Any) -> list[Change]:
    """A derivative for each column, or a difference where it has two values."""
    found = []
    for j in range(Z.shape[1]):
        name = f"x{j + 1}" if names is None else str(names[j])
        found.append(_of_numbers(name, Z, np.array([j]), 1.0))
    return found


def _of_numbers(name: str, Z: Array, places: Array, scale: float) -> Change:
    different = np.unique(Z[:, places[0]])
    if len(different) == 2:
        return Change(name, name, places, (different[:1], different[1:]))
    return Change(name, name, places, None, scale)


def encoded_changes(encoder: TableEncoder, Z: Array) -> list[Change]:
    """Of the columns of a table: numbers per unit, levels against the most common one."""
    groups, found = np.asarray(encoder.groups_), []
    for place in np.unique(groups):
        column, mine = encoder.columns_[place], np.flatnonzero(groups == place)
        if column.kind == "number" and column.scale is not None:
            found.append(_of_numbers(column.name, Z, mine[:1], 1.0 / column.scale.spread))
        elif column.kind == "category" and len(mine) == 1:
            found.append(Change(column.name, f"{column.name}=True", mine, (np.zeros(1), np.ones(1))))
        elif column.kind == "category":
            codes = Z[:, mine[: len(column.levels)]]
            counts = (codes != 0).sum(axis=0)
            order = [int(k) for k in np.argsort(-counts, kind="stable") if counts[k]][:_LEVELS]
            rows = [Z[np.flatnonzero(codes[:, k])[0], mine] for k in order]
            found += [
                Change(
                    column.name, f"{column.name}: {column.levels[k]} - {column.levels[order[0]]}", mine, (rows[0], row)
                )
                for k, row in zip(order[1:], rows[1:], strict=True)
            ]
    return found


def shifted(change: Change, middle: Array) -> Change:
    """The same change of rows that were moved by minus `middle`."""
    if change.ends is None:
        return change
    low, high = (end - middle[change.places] for end in change.ends)
    return replace(change, ends=(low, high))
