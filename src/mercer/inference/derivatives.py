"""What a change of a column does to kernel values: derivatives in closed form, and differences between two cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer.data.rows import Array, Rows
from mercer.inference.changes import Change, Item
from mercer.kernels import (
    Exp,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    On,
    Periodic,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
)
from mercer.kernels.tiles import between

# Steps of central differences of fourth order for one derivative and for two, in spreads of a column or widths of the
# kernel there, whichever are smaller; for kernels without a formula.
_STEPS = {1: 1e-3, 2: 3e-3}


@dataclass(frozen=True, eq=False)
class System:
    """A kernel, the rows of its coefficients, and the rows that effects are wanted at."""

    kernel: Kernel
    Z: Array
    at: Array
    names: Any


@dataclass(frozen=True, eq=False)
class Slope:
    """Derivatives of a kernel in closed form: V_ij s_ijc by column c, W_ij s_ijc s_ijd by two columns c and d.

    `second` gives W; s_ijc is (x_ic - z_jc) factor_c, or what `bent` makes of x_ic - z_jc.
    """

    V: Array
    second: Callable[[], Array]
    factor: Array
    bent: Callable[[Array], Array] | None = None

    def apart(self, part: System, place: int) -> Array:
        """s_ijc."""
        delta = np.subtract.outer(part.at[:, place], part.Z[:, place])
        return np.asarray(self.factor[place] * (delta if self.bent is None else self.bent(delta)))


def slope_of(kernel: Kernel, at: Array, Z: Array) -> Slope | None:
    """Derivatives of kernels of a scaled distance, and of products over columns; None for others.

    Where a kernel has a kink, at a distance of 0, the mean of the slopes on both sides, which is 0.
    """
    if not isinstance(kernel, Laplacian | Periodic | Gaussian | Matern | RationalQuadratic):
        return None
    inverse = np.broadcast_to(np.asarray(kernel.inverse(Z.shape[1]), dtype=np.float64), (Z.shape[1],))
    if isinstance(kernel, Laplacian):
        k = np.exp(-cdist(at * inverse, Z * inverse, "cityblock"))
        return Slope(k, lambda: k, -inverse, np.sign)
    if isinstance(kernel, Periodic):
        turn = math.pi / float(kernel.period)
        k = np.exp(-2.0 * sum((inverse[c] * np.sin(turn * np.subtract.outer(at[:, c], Z[:, c]))) ** 2
                              for c in range(Z.shape[1])))  # fmt: skip
        return Slope(k, lambda: k, -2.0 * turn * inverse**2, lambda delta: np.sin(2.0 * turn * delta))
    s = cdist(at * inverse, Z * inverse, "sqeuclidean")
    found = _radial(kernel, s)
    return None if found is None else Slope(*found, inverse**2)


def _radial(kernel: Any, s: Array) -> tuple[Array, Callable[[], Array]] | None:
    """First derivative by half the squared distance, and a function for the second."""
    if isinstance(kernel, Gaussian):
        s *= -0.5
        V = np.exp(s, out=s)
        np.negative(V, out=V)
        return V, lambda: -V
    if isinstance(kernel, RationalQuadratic):
        shape = float(kernel.shape)
        base = 1.0 + s / (2.0 * shape)
        V = -(base ** (-shape - 1.0))
        return V, lambda: -(1.0 + 1.0 / shape) * V / base
    r = np.sqrt(s)
    apart = np.where(r > 0, r, np.inf)
    if kernel.nu == 0.5:
        k = np.exp(-r)
        return -k / apart, lambda: k * (1.0 / apart + 1.0) / apart**2
    if kernel.nu == 1.5:
        k = 3.0 * np.exp(-np.sqrt(3.0) * r)
        return -k, lambda: np.sqrt(3.0) * k / apart
    if kernel.nu == 2.5:
        k = (5.0 / 3.0) * np.exp(-np.sqrt(5.0) * r)
        return -(1.0 + np.sqrt(5.0) * r) * k, lambda: 5.0 * k
    return None


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
    found = slope.V if len(slopes) == 1 else slope.second()
    for change in slopes:
        found = found * slope.apart(part, int(change.places[0]))
    return found


def _by_rules(part: System, slopes: Item) -> Array:
    """By the rules for kernels made of others, and differences of kernel values for kernels that have none."""
    kernel = part.kernel

    def of(base: Kernel, by: Item) -> Array:
        return _derivatives(replace(part, kernel=base), by, slope_of(base, part.at, part.Z) if by else None)

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
    if isinstance(kernel, Exp | Power):
        k, exponent = of(kernel.base, ()), int(getattr(kernel, "exponent", 0))
        first = np.exp(k) if isinstance(kernel, Exp) else exponent * k ** (exponent - 1)
        second = first if isinstance(kernel, Exp) else exponent * (exponent - 1) * k ** max(exponent - 2, 0)
        whole = first * of(kernel.base, slopes)
        return whole if len(slopes) == 1 else whole + second * np.prod([of(kernel.base, (s,)) for s in slopes], axis=0)
    if isinstance(kernel, On):
        return _on_columns(part, kernel, slopes)
    if isinstance(kernel, Linear | Polynomial):
        degree, offset, scale = 1, 0.0, 1.0
        if isinstance(kernel, Polynomial):
            degree, offset, scale = int(kernel.degree), float(kernel.offset), float(kernel.scale)
        factor = math.perm(degree, len(slopes)) * scale ** len(slopes)
        power = (scale * (part.at @ part.Z.T) + offset) ** max(degree - len(slopes), 0)
        return np.asarray(factor * power * np.prod([part.Z[:, int(each.places[0])] for each in slopes], axis=0))
    return np.asarray(sum(c * values(part, rows) for c, rows in stencil(part, slopes, [kernel])))


def _on_columns(part: System, kernel: On, slopes: Item) -> Array:
    """Of a kernel on some columns: nothing by the others."""
    places = kernel.places(Rows(part.Z, part.names))
    if any(int(change.places[0]) not in places for change in slopes):
        return np.zeros((len(part.at), len(part.Z)))
    names = None if part.names is None else [part.names[place] for place in places]
    inner = replace(part, kernel=kernel.base, Z=part.Z[:, places], at=part.at[:, places], names=names)
    moved = tuple(replace(change, places=np.array([places.index(int(change.places[0]))])) for change in slopes)
    return _derivatives(inner, moved, slope_of(kernel.base, inner.at, inner.Z))


def values(part: System, rows: Array) -> Array:
    """k(x, z) of these rows and those of the coefficients."""
    return np.asarray(between(part.kernel, Rows(rows, part.names), Rows(part.Z, part.names)))


def stencil(part: System, item: Item, kernels: list[Kernel]) -> list[tuple[float, Array]]:
    """The changes as a sum of function values, c times f at moved rows, for functions of these kernels."""
    found = [(1.0, part.at)]
    for change in item:
        place = int(change.places[0])
        widths = [width for kernel in kernels for width in _widths(kernel, place)]
        h = _STEPS[len(item)] * min([_spread(part.Z[:, place]), *widths])
        largest = float(np.abs(part.at[:, place]).max(initial=0.0))
        h = (largest + h) - largest or h  # as much as rows of this size really move
        found = [(c * share, rows) for share, before in found for c, rows in _moved(change, before, h)]
    return found


def _spread(column: Array) -> float:
    """The standard deviation, or what the middle half of the column says of it if that is less."""
    half = float(np.subtract(*np.quantile(column, [0.75, 0.25]))) / 1.35
    whole = float(column.std())
    return min(half, whole) if half > 0 else whole or float(np.abs(column).max(initial=0.0)) or 1.0


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


def _widths(kernel: Kernel, place: int) -> list[float]:
    """The widths and periods that a kernel and its parts have for a column."""
    params = kernel.get_params(deep=False)
    own = [np.ravel(params[name]) for name in ("width", "period") if name in params]
    found = [float(each[place] if place < len(each) else each.min()) for each in own]
    return found + [w for each in vars(kernel).values() if isinstance(each, Kernel) for w in _widths(each, place)]
