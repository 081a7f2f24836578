"""Maps that approximate a kernel: their features, how near they come, and how much is chance.

docs/feature_maps.rst derives the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError
from mercer.kernels.algebra import column_products
from mercer.kernels.stationary import Gaussian
from mercer.kernels.views import Mapped, On

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mercer.kernels.base import Kernel

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Limits:
    """How far phi(x)'phi(z) may be from k(x, z) for all rows of some tables.

    `certain` is what no chance enters. The rest is a sum of independent terms whose squared ranges add up to
    4 `spread`, so that Hoeffding's inequality holds. `size` is the largest k(x, x), which bounds k and its
    approximation alike.
    """

    certain: float
    spread: float
    size: float


class FeatureMap(Protocol):
    """What can be asked of a map, once drawn."""

    def width(self, rows: Rows) -> int:
        """Number of features."""

    def features(self, rows: Rows) -> Array:
        """phi(x) of every row."""

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """How near it is, for pairs of rows of these tables."""

    def variance(self, x: Rows, z: Rows) -> Array:
        """Variance of every phi(x)'phi(z) over draws of the map."""


@dataclass(frozen=True)
class Exact:
    """The features of a kernel that has finitely many."""

    kernel: Kernel

    def width(self, rows: Rows) -> int:
        """All there are."""
        return self.kernel.count_features(rows) or 0

    def features(self, rows: Rows) -> Array:
        """The kernel's own."""
        return self.kernel.features(rows)

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """No error."""
        return Limits(0.0, 0.0, max(float(self.kernel.diagonal(rows).max(initial=0.0)) for rows in tables))

    def variance(self, x: Rows, z: Rows) -> Array:
        """None."""
        return np.zeros((len(x), len(z)))


@dataclass(frozen=True)
class Taylor:
    """The power series of exp(-(x - z)^2 / (2 width^2)), cut off: exp(-u^2 / 2) u^j / sqrt(j!), u = x / width."""

    kernel: Gaussian
    count: int

    def _scaled(self, rows: Rows) -> Array:
        return np.asarray(rows.dense() * self.kernel.inverse(1))

    def width(self, rows: Rows) -> int:
        """The number of features asked for."""
        return self.count

    def features(self, rows: Rows) -> Array:
        """The first terms, by logarithms: exp(-u^2 / 2) alone may vanish where its product with u^j does not."""
        from scipy.special import gammaln, xlogy

        u, j = self._scaled(rows), np.arange(self.count, dtype=np.float64)
        result = xlogy(j, np.abs(u))
        result -= 0.5 * (u * u + gammaln(j + 1.0))
        np.exp(result, out=result)
        result[:, 1::2] *= np.sign(u)
        return np.asarray(result)

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """The tail of a Poisson distribution: P(N >= count) for N of mean max u^2; attained at x = z."""
        from scipy.special import gammainc

        longest = max(float(np.abs(self._scaled(rows)).max(initial=0.0)) for rows in tables)
        terms = max(self.count, longest**2)
        rounding = 4.0 * EPS * terms * math.log(2.0 + terms)  # of the logarithms
        return Limits(float(gammainc(self.count, longest**2)) + rounding, 0.0, 1.0)

    def variance(self, x: Rows, z: Rows) -> Array:
        """None."""
        return np.zeros((len(x), len(z)))


@dataclass(frozen=True, eq=False)
class Fourier:
    """cos(w'x) and sin(w'x) of random frequencies w; k(x, z) is the amplitude times the mean of cos(w'(x - z))."""

    kernel: Kernel
    amplitude: float
    frequencies: Array  # one per row

    def width(self, rows: Rows) -> int:
        """Two per frequency."""
        return 2 * len(self.frequencies)

    def features(self, rows: Rows) -> Array:
        """All cosines, then all sines."""
        count = len(self.frequencies)
        with np.errstate(over="ignore", invalid="ignore"):
            angles = np.asarray(rows.values @ self.frequencies.T)
        if not np.isfinite(angles).all():
            raise InputError(f"The Fourier features of {self.kernel!r} overflow: values of X are too large. Scale X.")
        result = np.empty((len(rows), 2 * count))
        np.cos(angles, out=result[:, :count])
        np.sin(angles, out=result[:, count:])
        result *= math.sqrt(self.amplitude / count)
        return result

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """A mean of independent numbers no larger than the amplitude."""
        return Limits(0.0, self.amplitude**2 / len(self.frequencies), self.amplitude)

    def variance(self, x: Rows, z: Rows) -> Array:
        """(a (a + k(2x, 2z)) / 2 - k(x, z)^2) / count for the amplitude a, since cos^2 t = (1 + cos 2t) / 2."""
        twice = [Rows(2.0 * rows.values, rows.names) for rows in (x, z)]
        variance = 0.5 * self.amplitude * (self.amplitude + self.kernel(*twice)) - self.kernel(x, z) ** 2
        return np.asarray(np.maximum(variance, 0.0) / len(self.frequencies))


@dataclass(frozen=True)
class Stacked:
    """Two maps side by side: of a sum."""

    left: FeatureMap
    right: FeatureMap

    def width(self, rows: Rows) -> int:
        """Sum of the two numbers of features."""
        return self.left.width(rows) + self.right.width(rows)

    def features(self, rows: Rows) -> Array:
        """The features of the two maps side by side."""
        return np.hstack([self.left.features(rows), self.right.features(rows)])

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """Errors add, and so do squared ranges."""
        a, b = self.left.limits(tables), self.right.limits(tables)
        return Limits(a.certain + b.certain, a.spread + b.spread, a.size + b.size)

    def variance(self, x: Rows, z: Rows) -> Array:
        """Independent, so variances add."""
        return self.left.variance(x, z) + self.right.variance(x, z)


@dataclass(frozen=True)
class Paired:
    """All products of a feature of a map without chance with one of any other: of a product."""

    fixed: FeatureMap
    other: FeatureMap

    def width(self, rows: Rows) -> int:
        """Every one with every other."""
        return self.fixed.width(rows) * self.other.width(rows)

    def features(self, rows: Rows) -> Array:
        """All products of two."""
        return column_products(self.fixed.features(rows), self.other.features(rows))

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """From k1 k2 - q1 q2 = (k1 - q1) k2 + q1 (k2 - q2) with |k2| and |q1| bounded by their sizes."""
        a, b = self.fixed.limits(tables), self.other.limits(tables)
        return Limits(a.certain * b.size + a.size * b.certain, a.size**2 * b.spread, a.size * b.size)

    def variance(self, x: Rows, z: Rows) -> Array:
        """The other's, times the square of what is fixed."""
        fixed = self.fixed.features(x) @ self.fixed.features(z).T
        return np.asarray(fixed**2 * self.other.variance(x, z))


@dataclass(frozen=True)
class Multiple:
    """A map times the square root of a factor."""

    base: FeatureMap
    factor: float

    def width(self, rows: Rows) -> int:
        """The base's."""
        return self.base.width(rows)

    def features(self, rows: Rows) -> Array:
        """The base's, scaled."""
        return np.asarray(math.sqrt(self.factor) * self.base.features(rows))

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """The base's, scaled."""
        base = self.base.limits(tables)
        return Limits(self.factor * base.certain, self.factor**2 * base.spread, self.factor * base.size)

    def variance(self, x: Rows, z: Rows) -> Array:
        """The base's, times the squared factor."""
        return np.asarray(self.factor**2 * self.base.variance(x, z))


@dataclass(frozen=True)
class Through:
    """A map of some columns, or of f(x): of what the kernel's base sees."""

    kernel: On | Mapped
    base: FeatureMap

    def width(self, rows: Rows) -> int:
        """The base's."""
        return self.base.width(self.kernel.seen(rows))

    def features(self, rows: Rows) -> Array:
        """The base's."""
        return self.base.features(self.kernel.seen(rows))

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """The base's."""
        return self.base.limits([self.kernel.seen(rows) for rows in tables])

    def variance(self, x: Rows, z: Rows) -> Array:
        """The base's."""
        return self.base.variance(self.kernel.seen(x), self.kernel.seen(z))
