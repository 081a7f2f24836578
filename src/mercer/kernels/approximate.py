"""Finitely many features for kernels that have endlessly many: phi(x)'phi(z) near k(x, z), and how near.

A map is drawn once, for a kernel and a number of columns, and looks at no row: new rows get the features that
the old ones have. docs/feature_maps.rst derives the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from mercer.data.rows import Array, Rows, Seed, XLike
from mercer.errors import InputError, nearest, refuse_if, sentence
from mercer.kernels.algebra import Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.products import Constant
from mercer.kernels.stationary import Gaussian, Stationary
from mercer.kernels.value import is_real
from mercer.kernels.views import On, View
from mercer.runtime import promise
from mercer.text import Brief

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EPS = float(np.finfo(np.float64).eps)
_HINT = "Use a smaller count, or the kernel itself, k(X, Z)."  # where memory does not suffice


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


class Drawn(Kernel):
    """A kernel of finitely many features in place of one of endlessly many: its features, and how near they are."""

    finite = True

    count: int

    def feature_count(self, width: int) -> int | None:
        """Its features."""
        return self.count


class Taylor(Drawn):
    """The power series of exp(-(x - z)^2 / (2 width^2)), cut off: exp(-u^2 / 2) u^j / sqrt(j!), u = x / width."""

    kernel: Gaussian

    def features(self, rows: Rows) -> Array:
        """The first terms, by logarithms: exp(-u^2 / 2) alone may vanish where its product with u^j does not."""
        from scipy.special import gammaln, xlogy

        u, j = np.asarray(rows.dense() * self.kernel.inverse(1)), np.arange(self.count, dtype=np.float64)
        result = xlogy(j, np.abs(u))
        result -= 0.5 * (u * u + gammaln(j + 1.0))
        np.exp(result, out=result)
        result[:, 1::2] *= np.sign(u)
        return np.asarray(result)

    def limits(self, tables: Sequence[Rows]) -> Limits:
        """The tail of a Poisson distribution: P(N >= count) for N of mean max u^2; attained at x = z."""
        from scipy.special import gammainc

        longest = max(float(np.abs(rows.dense() * self.kernel.inverse(1)).max(initial=0.0)) for rows in tables)
        terms = max(self.count, longest**2)
        rounding = 4.0 * EPS * terms * math.log(2.0 + terms)  # of the logarithms
        return Limits(float(gammainc(self.count, longest**2)) + rounding, 0.0, 1.0)


class Fourier(Drawn):
    """cos(w'x) and sin(w'x) of random frequencies w; k(x, z) is the amplitude times the mean of cos(w'(x - z))."""

    kernel: Kernel
    amplitude: float
    frequencies: Array  # one per row

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


def _is_drawn(kernel: Kernel) -> bool:
    """Whether a map is in place of a part of a kernel."""
    return isinstance(kernel, Drawn) or any(map(_is_drawn, kernel.members().values()))


def _limits(drawn: Kernel, tables: Sequence[Rows]) -> Limits:
    """How near the features of a kernel are, part by part; those that are its own have no error."""
    if isinstance(drawn, Taylor | Fourier):
        return drawn.limits(tables)
    if not _is_drawn(drawn):
        return Limits(0.0, 0.0, max(float(drawn.diagonal(rows).max(initial=0.0)) for rows in tables))
    if isinstance(drawn, View):
        return _limits(drawn.base, [drawn.base_rows(rows) for rows in tables])
    a, b = (_limits(member, tables) for member in drawn.members().values())
    if isinstance(drawn, Sum):  # errors add, and so do squared ranges
        return Limits(a.certain + b.certain, a.spread + b.spread, a.size + b.size)
    # from k1 k2 - q1 q2 = (k1 - q1) k2 + q1 (k2 - q2) with |k2| and |q1| bounded by their sizes
    return Limits(a.certain * b.size + a.size * b.certain, a.size**2 * b.spread, a.size * b.size)


def _variance(drawn: Kernel, x: Rows, z: Rows) -> Array:
    """Variance of every phi(x)'phi(z) over draws, part by part; of a product only the second part is random."""
    if isinstance(drawn, Fourier):
        return drawn.variance(x, z)
    if isinstance(drawn, Taylor) or not _is_drawn(drawn):
        return np.zeros((len(x), len(z)))
    if isinstance(drawn, View):
        return _variance(drawn.base, drawn.base_rows(x), drawn.base_rows(z))
    left, right = drawn.members().values()
    if isinstance(drawn, Sum):  # independent, so variances add
        return _variance(left, x, z) + _variance(right, x, z)
    fixed = left.features(x) @ left.features(z).T
    return np.asarray(fixed**2 * _variance(right, x, z))


METHODS = ("auto", "taylor", "fourier")


@dataclass(frozen=True, eq=False, repr=False)
class ApproximateFeatures(Brief):
    """Features with phi(x)'phi(z) near k(x, z), and how near; made by `Kernel.approximate_features`.

    Attributes
    ----------
    kernel : Kernel
        What is approximated.
    features : ndarray of shape (n rows, n features)
        phi of every row.
    method : str
        "taylor", "fourier", or "exact" where nothing had to be approximated.
    bound : float
        No phi(x)'phi(z) of two of these rows is further from k(x, z), with the probability below; an allowance
        for rounding is part of it.
    pair_bound : float
        The same for one pair of rows that was chosen before the frequencies were drawn.
    probability : float
        With which each bound holds, over draws of the frequencies; 1 for a method without chance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X, new = np.random.default_rng(0).normal(size=(2, 40, 3))
    >>> waves = Gaussian().approximate_features(X, count=2000, random_state=0)
    >>> print(waves)
    2000 features of 40 rows (fourier): every k(x, z) within 0.144 with probability 0.95; a given one within 0.0859.
    >>> bool(np.abs(waves.features @ waves.of(new).features.T - Gaussian()(X, new)).max() < 0.144)
    True
    """

    kernel: Kernel
    features: Array
    method: str
    bound: float
    pair_bound: float
    probability: float
    _map: Kernel = field(repr=False)
    _tables: tuple[Rows, ...] = field(repr=False)  # all rows seen so far
    _asked: float = field(repr=False)

    def of(self, Z: XLike) -> ApproximateFeatures:
        """Features of new rows by the same map; the bounds then hold for all pairs of old and new rows.

        Parameters
        ----------
        Z : array-like, sparse matrix or DataFrame
            Rows with the columns of X.

        Returns
        -------
        ApproximateFeatures
        """
        rows, tables = self.kernel.read(Z), self._tables
        columns = tables[0].width
        refuse_if(rows.width != columns, "Z", f"a table of {columns} columns, as X is", f"{rows.width} columns")
        return _judge_map(self.kernel, self._map, [*tables, rows], self.method, self._asked)

    def deviation(self, Z: XLike = None) -> Array:
        """Standard deviation of every phi(x)'phi(z) over draws of the frequencies, exactly.

        Parameters
        ----------
        Z : array-like, sparse matrix or DataFrame, default=None
            Rows against which those of `features` are set; themselves by default.

        Returns
        -------
        ndarray of shape (n rows, n rows of Z)
            It takes two kernel matrices of that shape.
        """
        x = self._tables[-1]
        return np.asarray(np.sqrt(_variance(self._map, x, x if Z is None else self.kernel.read(Z))))

    def __str__(self) -> str:
        n, count = self.features.shape
        told = f"{count} features of {n} rows ({self.method}): every k(x, z) within {self.bound:.3g}"
        by_chance = f" with probability {self.probability:g}; a given one within {self.pair_bound:.3g}"
        return f"{told}{by_chance if self.probability < 1 else ''}."


def approximate(
    kernel: Kernel, X: XLike, count: int, method: str, random_state: Seed, probability: float
) -> ApproximateFeatures:
    """What `Kernel.approximate_features` returns."""
    rows = kernel.read(X)
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool) and count >= 1
    refuse_if(not whole, "count of approximate_features", "an integer of at least 1", repr(count))
    known, way_out = f"one of {', '.join(METHODS)}", nearest(str(method), METHODS)
    refuse_if(method not in METHODS, "method", known, repr(method), way_out)
    share = is_real(probability) and 0 < probability < 1
    refuse_if(not share, "probability", "a number between 0 and 1", repr(probability))
    if _is_exact(kernel):
        method = "exact"
    elif method == "auto":
        method = "taylor" if has_series(kernel, rows) else "fourier"
    odd = method == "fourier" and count % 2
    refuse_if(odd, "count of Fourier features", "even, a cosine and a sine for each frequency", count)
    try:
        generator = np.random.default_rng(random_state)
    except (TypeError, ValueError):
        must_be = "a non-negative integer, a numpy.random.Generator or None"
        raise InputError(sentence("random_state", must_be, repr(random_state))) from None
    drawn = _draw_map(kernel, rows, int(count), method, generator)
    return _judge_map(kernel, drawn, [rows], method, float(probability))


def has_series(kernel: Kernel, rows: Rows) -> bool:
    """Whether method="auto" takes the power series: a choice by kernel and columns, whatever the rows hold.

    ======== =============================================================================================
    taylor   every member with endlessly many features is a Gaussian of one column, and no two are multiplied
    fourier  otherwise
    ======== =============================================================================================

    Examples
    --------
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.kernels.approximate import has_series
    >>> rows = as_rows([[1.0, 2.0]])
    >>> has_series(Gaussian().on(0) + Linear(), rows), has_series(Gaussian(), rows)
    (True, False)
    """
    if _is_exact(kernel):
        return True
    if isinstance(kernel, View):
        return has_series(kernel.base, kernel.base_rows(rows))
    if isinstance(kernel, Product) and not (kernel.k1.finite or kernel.k2.finite):
        return False
    if isinstance(kernel, Sum | Product | Scaled):
        return all(has_series(member, rows) for member in kernel.members().values())
    return isinstance(kernel, Gaussian) and rows.width == 1


def _draw_map(kernel: Kernel, rows: Rows, count: int, method: str, generator: np.random.Generator) -> Kernel:
    """The kernel with maps in place of its parts; of the rows only the columns are looked at."""

    def draw(member: Kernel, seen: Rows = rows) -> Kernel:
        return _draw_map(member, seen, count, method, generator)

    if _is_exact(kernel):
        return kernel
    if method == "fourier" and _is_spectral(kernel):
        amplitude = float(kernel.diagonal(Rows(np.zeros((1, rows.width)), rows.names))[0])  # k(x, x) of every x
        return Fourier(count, kernel, amplitude, _frequencies(kernel, rows, count // 2, generator))
    if method == "taylor" and isinstance(kernel, Gaussian) and rows.width == 1:
        return Taylor(count, kernel)
    match kernel:
        case Scaled():
            return Product(Constant(float(kernel.factor)), draw(kernel.base))
        case Sum():
            return Sum(draw(kernel.k1), draw(kernel.k2))
        case Product():
            return Product(*map(draw, (kernel.k1, kernel.k2) if method == "taylor" else _factors(kernel, draw)))
        case View():
            return replace(kernel, base=draw(kernel.base, kernel.base_rows(rows)))
    needs = "a Gaussian kernel of one column, or sums, products and multiples of such and of finite maps"
    way_out = "Use method='fourier'."
    if method == "fourier":
        way_out = "Use the kernel itself, k(X, Z)."
        needs = (
            "Gaussian, Laplacian, Matern and RationalQuadratic kernels, their products, and their sums with kernels "
            "that have a finite feature map"
        )
    raise InputError(f"method={method!r} supports only {needs}; got {kernel!r}. {way_out}")


def _factors(kernel: Product, draw: Callable[[Kernel], Kernel]) -> tuple[Kernel, Kernel]:
    """The factors of a product that have finitely many features, and the others: only one map may be random."""
    finite = [part for part in kernel.parts() if _is_exact(part)]
    others = [part for part in kernel.parts() if not _is_exact(part)]
    if finite and (len(others) == 1 or all(map(_is_spectral, others))):
        return reduce(Product, finite), reduce(Product, others)
    for part in others:
        draw(part)  # raises an error if it has no map of its own
    raise InputError(
        f"Random features of {kernel!r} are not supported, because both factors of the product are approximated. "
        "Multiply it out to a sum of products of Gaussian, Laplacian, Matern or RationalQuadratic kernels."
    )


def _is_exact(kernel: Kernel) -> bool:
    """Whether a kernel has finitely many features, the same for all rows."""
    return kernel.finite and kernel.fixed


def _is_spectral(kernel: Kernel) -> bool:
    """Whether a kernel is a multiple of a mean cosine: stationary, or a product of such, of any columns."""
    if isinstance(kernel, On | Power | Product | Scaled):
        return all(map(_is_spectral, kernel.members().values()))
    return isinstance(kernel, Stationary) and type(kernel).frequencies is not Stationary.frequencies


def _frequencies(kernel: Kernel, rows: Rows, count: int, generator: np.random.Generator) -> Array:
    """Random frequencies of a spectral kernel.

    Frequencies of a product are sums: the mean cosine of a sum of independent, symmetric angles is the product of
    their mean cosines.
    """
    promise(16 * count * rows.width, f"A table of {count} frequencies for {rows.width} columns", _HINT)
    result = np.zeros((count, rows.width))
    if isinstance(kernel, On):
        inner = _frequencies(kernel.base, kernel.base_rows(rows), count, generator)
        for column, place in zip(inner.T, kernel.places(rows), strict=True):
            result[:, place] += column  # a column may be chosen twice
    elif isinstance(kernel, Stationary):
        result += kernel.frequencies(rows.width, count, generator)
    else:
        times = int(kernel.exponent) if isinstance(kernel, Power) else 1
        for member in [*kernel.members().values()] * times:
            result += _frequencies(member, rows, count, generator)
    return result


def _judge_map(kernel: Kernel, drawn: Kernel, tables: list[Rows], method: str, asked: float) -> ApproximateFeatures:
    """Features of the last table, and bounds for all pairs of rows of all tables."""
    rows = tables[-1]
    count, n = drawn.count_features(rows) or 0, sum(map(len, tables))
    promise(16 * max(len(rows), 1) * count, f"A table of {len(rows)} x {count} features", _HINT)
    limits, features = _limits(drawn, tables), drawn.features(rows)
    certain = limits.certain + EPS * (features.shape[1] + 16) * limits.size

    def bound(pairs: int) -> float:
        return float(certain) + math.sqrt(2.0 * limits.spread * math.log(2.0 * pairs / (1.0 - asked)))

    worst = bound(max(1, n * (n - 1) // 2))  # k(x, x) has no error by chance: cos^2 + sin^2 = 1
    sure = asked if limits.spread > 0 else 1.0
    return ApproximateFeatures(kernel, features, method, worst, bound(1), sure, drawn, tuple(tables), asked)
