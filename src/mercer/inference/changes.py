"""Changes of a column, and what they do to kernel values: derivatives, and differences between two cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, nearest
from mercer.estimators.parameters import is_whole
from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
)
from mercer.kernels.tiles import between
from mercer.tables import TableEncoder

_LEVELS = 12  # of a category: the most common
# Steps of central differences of fourth order for one derivative and for two, in standard deviations of a column or
# widths of the kernel, whichever are smaller; for kernels without a formula.
_STEPS = {1: 1e-3, 2: 3e-3}


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


# -- what a change does to kernel values ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Slope:
    """Derivatives of a kernel in closed form.

    By column c they are V_ij (x_ic - z_jc) factor_c, by two columns W_ij times both such products; with `signs`, the
    sign of the difference stands for it.
    """

    V: Array
    W: Array
    factor: Array
    signs: bool = False

    def apart(self, part: System, place: int) -> Array:
        """(x_ic - z_jc) factor_c."""
        delta = np.subtract.outer(part.at[:, place], part.Z[:, place])
        return np.asarray(self.factor[place] * (np.sign(delta, out=delta) if self.signs else delta))


def slope_of(kernel: Kernel, at: Array, Z: Array) -> Slope | None:
    """Derivatives of kernels of a scaled distance, by half its square, and of the Laplacian; None for others."""
    rule = _RULES.get(type(kernel))
    if rule is None:
        return None
    width = np.broadcast_to(np.asarray(kernel.get_params()["width"], dtype=np.float64), (Z.shape[1],))
    if isinstance(kernel, Laplacian):
        k = np.exp(-cdist(at / width, Z / width, "cityblock"))
        return Slope(k, k, -1.0 / width, signs=True)
    found = rule(kernel, cdist(at / width, Z / width, "sqeuclidean"))
    return None if found is None else Slope(*found, 1.0 / width**2)


def _gaussian(_: Any, s: Array) -> tuple[Array, Array]:
    k = np.exp(-0.5 * s)
    return -k, k


def _matern(kernel: Any, s: Array) -> tuple[Array, Array] | None:
    r = np.sqrt(s)
    apart = np.where(r > 0, r, np.inf)  # at a distance of 0: the mean of the slopes on both sides
    if kernel.nu == 0.5:
        k = np.exp(-r)
        return -k / apart, k * (1.0 / apart + 1.0) / apart**2
    if kernel.nu == 1.5:
        k = 3.0 * np.exp(-np.sqrt(3.0) * r)
        return -k, np.sqrt(3.0) * k / apart
    if kernel.nu == 2.5:
        k = (5.0 / 3.0) * np.exp(-np.sqrt(5.0) * r)
        return -(1.0 + np.sqrt(5.0) * r) * k, 5.0 * k
    return None


def _rational(kernel: Any, s: Array) -> tuple[Array, Array]:
    shape = float(kernel.get_params()["shape"])
    base = 1.0 + s / (2.0 * shape)
    V = -(base ** (-shape - 1.0))
    return V, -(1.0 + 1.0 / shape) * V / base


_RULES: dict[type, Callable[[Any, Array], tuple[Array, Array] | None]] = {
    Gaussian: _gaussian,
    Matern: _matern,
    RationalQuadratic: _rational,
    Laplacian: lambda _, s: (s, s),
}


def changed(part: System, item: Item, slope: Slope | None) -> Array:
    """What the changes do to k(x, z) for every row x of `part.at` and z of `part.Z`; `slope`: from `slope_of`."""
    cells = tuple(change for change in item if change.ends is not None)
    slopes = tuple(change for change in item if change.ends is None)
    if not cells:
        return _derivatives(part, slopes, slope)
    ends = [(c, replace(part, at=rows)) for c, rows in stencil(part, cells, [part.kernel])]
    return np.asarray(sum(c * _derivatives(end, slopes, slope_of(part.kernel, end.at, part.Z)) for c, end in ends))


def _derivatives(part: System, slopes: Item, slope: Slope | None) -> Array:
    """By one column or two, or by none; in closed form if there is one."""
    if not slopes:
        return values(part, part.at)
    if slope is None:
        return _by_rules(part, slopes)
    found = slope.V if len(slopes) == 1 else slope.W
    for change in slopes:
        found = found * slope.apart(part, int(change.places[0]))
    return found


def _by_rules(part: System, slopes: Item) -> Array:
    """By the rules for sums and products, and differences of kernel values for kernels that have none."""
    kernel = part.kernel

    def of(base: Kernel, by: Item) -> Array:
        own = replace(part, kernel=base)
        return _derivatives(own, by, slope_of(base, part.at, part.Z) if by else None)

    if isinstance(kernel, Sum):
        return np.asarray(sum(of(each, slopes) for each in kernel.parts()))
    if isinstance(kernel, Scaled):
        return np.asarray(kernel.factor * of(kernel.base, slopes))
    if isinstance(kernel, Product):  # Leibniz: every derivative goes to one of the factors
        found = np.zeros((len(part.at), len(part.Z)))
        for way in product(range(len(kernel.parts())), repeat=len(slopes)):
            mine = [tuple(s for s, k in zip(slopes, way, strict=True) if k == i) for i in range(len(kernel.parts()))]
            found += np.prod([of(each, by) for each, by in zip(kernel.parts(), mine, strict=True)], axis=0)
        return found
    if isinstance(kernel, Linear | Polynomial):
        degree, offset, scale = 1, 0.0, 1.0
        if isinstance(kernel, Polynomial):
            degree, offset, scale = int(kernel.degree), float(kernel.offset), float(kernel.scale)
        factor = math.perm(degree, len(slopes)) * scale ** len(slopes)
        power = (scale * (part.at @ part.Z.T) + offset) ** max(degree - len(slopes), 0)
        return np.asarray(factor * power * np.prod([part.Z[:, int(each.places[0])] for each in slopes], axis=0))
    return np.asarray(sum(c * values(part, rows) for c, rows in stencil(part, slopes, [kernel])))


def values(part: System, rows: Array) -> Array:
    """k(x, z) of these rows and those of the coefficients."""
    return np.asarray(between(part.kernel, Rows(rows, part.names), Rows(part.Z, part.names)))


def stencil(part: System, item: Item, kernels: list[Kernel]) -> list[tuple[float, Array]]:
    """The changes as a sum of function values, c times f at moved rows, for functions of these kernels."""
    found, widths = [(1.0, part.at)], [width for kernel in kernels for width in _all_widths(kernel)]
    for change in item:
        column = part.Z[:, change.places[0]]
        h = _STEPS[len(item)] * min([float(column.std()) or float(np.abs(column).max()) or 1.0, *widths])
        found = [(c * share, rows) for share, before in found for c, rows in _moved(change, before, h)]
    return found


def _moved(change: Change, at: Array, h: float) -> list[tuple[float, Array]]:
    def to(cells: Any) -> Array:
        rows = at.copy()
        rows[:, change.places] = cells
        return rows

    if change.ends is not None:
        low, high = change.ends
        return [(1.0, to(high)), (-1.0, to(low))]
    weights = ((8.0, 1.0), (-8.0, -1.0), (-1.0, 2.0), (1.0, -2.0))
    return [(c / (12.0 * h), to(at[:, change.places] + steps * h)) for c, steps in weights]


def _all_widths(kernel: Kernel) -> list[float]:
    """The widths that a kernel and its parts have."""
    own = kernel.get_params(deep=False).get("width")
    found = [] if own is None else [float(np.min(own))]  # which is above 0
    return found + [width for each in vars(kernel).values() if isinstance(each, Kernel) for width in _all_widths(each)]
