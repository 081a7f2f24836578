"""Changes of a column, and what they do to kernel values: derivatives, and differences between two cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, nearest, sentence
from mercer.estimators.parameters import is_whole
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern, RationalQuadratic
from mercer.kernels.tiles import between
from mercer.tables import TableEncoder

_LEVELS = 12  # of a category: the most common
_STEP = 1e-3  # of a standard deviation: of central differences of fourth order, for kernels without a formula


@dataclass(frozen=True, eq=False)
class System:
    """A kernel, the rows of its coefficients, and the rows that effects are wanted at."""

    kernel: Kernel
    Z: Array
    at: Array
    names: Any


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
        name, different = f"x{j + 1}" if names is None else str(names[j]), np.unique(Z[:, j])
        ends = (different[:1], different[1:]) if len(different) == 2 else None
        found.append(Change(name, name, np.array([j]), ends))
    return found


def encoded_changes(encoder: TableEncoder, Z: Array) -> list[Change]:
    """Of the columns of a table: numbers per unit, levels against the most common one."""
    groups, found = np.asarray(encoder.groups_), []
    for place in np.unique(groups):
        column, mine = encoder.columns_[place], np.flatnonzero(groups == place)
        if column.kind == "number" and column.scale is not None:
            found.append(Change(column.name, column.name, mine[:1], None, 1.0 / column.scale.spread))
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


def refuse_rough(kernel: Kernel) -> None:
    """Refuse kernels without derivatives at a distance of 0."""
    for each in vars(kernel).values():
        if isinstance(each, Kernel):
            refuse_rough(each)
    if isinstance(kernel, Laplacian) or (isinstance(kernel, Matern) and kernel.nu < 1):
        way_out = "Use a smooth one, such as Gaussian or Matern(nu=2.5); for averages of any model use column_effect."
        raise InputError(sentence("The kernel of marginal_effects", "differentiable", repr(kernel), way_out))


@dataclass(frozen=True, eq=False)
class Slope:
    """D_ij = V_ij (x_i - z_j) / w^2 for a kernel of the scaled distance."""

    V: Array
    inverse: Array


def radial(kernel: Kernel, at: Array, Z: Array) -> Slope | None:
    """The derivative by the halved squared distance of kernels that depend on it; None for others."""
    rule = _RULES.get(type(kernel))
    if rule is None:
        return None
    width = np.broadcast_to(np.asarray(kernel.get_params()["width"], dtype=np.float64), (Z.shape[1],))
    V = rule(kernel, cdist(at / width, Z / width, "sqeuclidean"))
    return None if V is None else Slope(V, 1.0 / width**2)


def _matern(kernel: Any, s: Array) -> Array | None:
    r = np.sqrt(s)
    if kernel.nu == 1.5:
        return np.asarray(-3.0 * np.exp(-np.sqrt(3.0) * r))
    if kernel.nu == 2.5:
        return np.asarray(-(5.0 / 3.0) * (1.0 + np.sqrt(5.0) * r) * np.exp(-np.sqrt(5.0) * r))
    return None


def _rational(kernel: Any, s: Array) -> Array:
    shape = float(kernel.get_params()["shape"])
    return np.asarray(-((1.0 + s / (2.0 * shape)) ** (-shape - 1.0)))


_RULES: dict[type, Callable[[Any, Array], Array | None]] = {
    Gaussian: lambda _, s: -np.exp(-0.5 * s),
    Matern: _matern,
    RationalQuadratic: _rational,
}


def differences(part: System, change: Change) -> Array:
    """Kernel values with the second of two cells in a column, less those with the first."""
    assert change.ends is not None  # noqa: S101 - looked at by the caller
    values = []
    for end in change.ends:
        moved = part.at.copy()
        moved[:, change.places] = end
        values.append(between(part.kernel, Rows(moved, part.names), Rows(part.Z, part.names)))
    return np.asarray(values[1] - values[0])


def derivatives(part: System, change: Change, slope: Slope | None) -> Array:
    """By the formula of the kernel, or central differences of fourth order."""
    place = int(change.places[0])
    column = part.Z[:, place]
    if slope is not None:
        return np.asarray(slope.inverse[place] * slope.V * (part.at[:, place][:, None] - column[None]))
    h = _STEP * (float(column.std()) or float(np.abs(column).max()) or 1.0)

    def at(steps: float) -> Array:
        moved = part.at.copy()
        moved[:, place] += steps * h
        return np.asarray(between(part.kernel, Rows(moved, part.names), Rows(part.Z, part.names)))

    return np.asarray((8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * h))
