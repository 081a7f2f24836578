"""Kernels of the difference x - z in units of a width: each is a profile of one distance, and all else is derived.

s = sum_j c(x_j - z_j) / width_j^p, where c is the square (p = 2) or the absolute value (p = 1); k = profile(s). With
the derivatives of the profile, `slope` and `bend`, and s_j the part of column j in s:

    dk / d log width_j = -p slope(s) s_j,     dk / dx_j = slope(s) ds / dx_j,
    d^2 k / dx_i dx_j = bend(s) ds / dx_i ds / dx_j   for two columns
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.errors import InputError, refuse_if
from mercer.kernels.base import BuiltIn, Kernel, Slopes
from mercer.kernels.pair import Inverse, Pair
from mercer.kernels.value import (
    Check,
    Width,
    fits_columns,
    inverse_width,
    is_real,
    positive_number,
    positive_width,
    truth_value,
)

_FAR = 1e3  # widths from the centre beyond which squares would cancel, and differences are squared instead
_LONGEST = 1e150  # differences in widths are cut to this: its square exists, and kernels there are 0


class Stationary(Kernel):
    """A kernel of one distance with k(x, x) = 1.

    A kernel of your own needs `profile`, and `slope` and `bend` for derivatives: gradients for `tune`, average effects
    and their errors then come with it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Stationary
    >>> class Cauchy(Stationary):
    ...     def profile(self, s):
    ...         return 1.0 / (1.0 + s)
    ...     def slope(self, s):
    ...         return -((1.0 + s) ** -2.0)
    ...     def bend(self, s):
    ...         return 2.0 * (1.0 + s) ** -3.0
    >>> Cauchy(2.0)([[0.0], [2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    # The power p of the differences that are added up: 2, or 1 for the l1 distance.
    power: ClassVar[int] = 2
    # Whether the profile has a finite slope at 0, so that rounding errors of short distances stay as small as they are.
    smooth: ClassVar[bool] = False

    checks: ClassVar[Mapping[str, Check]] = {"width": positive_width}

    width: Width = 1.0

    # -- the profile ------------------------------------------------------------------------------

    def profile(self, s: Array) -> Array:
        """k as a function of s, an array that may be overwritten."""
        raise NotImplementedError(f"{type(self).__name__} must define profile(self, s).")

    def slope(self, s: Array) -> Array:
        """dk / ds; where it is infinite at s = 0, 0 there."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} does not define slope(self, s), the derivative of its profile.")

    def bend(self, s: Array) -> Array:
        """d^2 k / ds^2, likewise."""
        raise NotImplementedError(f"{type(self).__name__} does not define bend(self, s), the second derivative.")

    def log_profile(self, s: Array) -> Array:
        """log k; override where k becomes too small for a number before its logarithm does."""
        with np.errstate(divide="ignore"):
            return np.log(self.profile(s))

    def profile_and_slope(self, s: Array) -> tuple[Array, Array]:
        """Profile and slope at once; override where they share their work."""
        return self.profile(s.copy()), self.slope(s)

    # -- what follows from it ---------------------------------------------------------------------

    def inverse(self, columns: int) -> Inverse:
        """What differences are multiplied by."""
        return inverse_width(self.width)

    def distance(self, pair: Pair) -> Array:
        """s of one tile."""
        inverse = self.inverse(pair.x.width)
        if self.power == 1:
            return pair.manhattan(inverse)
        return pair.squared_distance(inverse, careful=not self.smooth)

    def block(self, pair: Pair) -> Array:
        """The profile of the distances."""
        return self.profile(self.distance(pair))

    def logarithm(self, pair: Pair) -> Array:
        """The logarithm of the profile of the distances."""
        return self.log_profile(self.distance(pair))

    def diagonal(self, rows: Rows) -> Array:
        """1 for every row."""
        return np.ones(len(rows))

    def slopes(self, pair: Pair, weights: Array) -> Slopes:
        """By the widths from the slope of the profile, by other parameters from differences."""
        if type(self).slope is Stationary.slope:
            return super().slopes(pair, weights)
        s = self.distance(pair)
        s = np.minimum(s, _LONGEST**2, out=s)
        B = weights * (-self.power * self.slope(s))
        found = {"width": np.asarray(np.vdot(B, s)) if np.ndim(self.width) == 0 else self._by_column(pair, B)}
        return found | self.other_slopes(pair, weights, s)

    def other_slopes(self, pair: Pair, weights: Array, s: Array) -> Slopes:
        """By other parameters than the widths; s of the tile is known."""
        return self.slopes_by_differences(pair, weights, [name for name in self.tunable() if name != "width"])

    def _by_column(self, pair: Pair, B: Array) -> Array:
        """sum_ab B_ab s_j(a, b) of every column j: for squares by one product."""
        inverse = self.inverse(pair.x.width)
        if self.power == 2:
            x, z = pair.scaled(inverse)
            if max(np.abs(x).max(initial=0.0), np.abs(z).max(initial=0.0)) <= _FAR:
                mixed = np.einsum("aj,aj->j", x, B @ z)
                return np.asarray(B.sum(axis=1) @ x**2 + B.sum(axis=0) @ z**2 - 2.0 * mixed)
        x, z = pair.dense()
        by = np.broadcast_to(np.asarray(inverse), (x.shape[1],))
        steps = ((x_j[:, None] - z_j) * i for x_j, z_j, i in zip(x.T, z.T, by, strict=True))
        return np.array([np.vdot(B, np.minimum(np.abs(step), _LONGEST) ** self.power) for step in steps])

    def column_slope(self, delta: Array, by: float) -> Array:
        """ds / dx_j, for differences delta = x_j - z_j and 1 / width_j."""
        return np.asarray(2.0 * by**2 * delta if self.power == 2 else by * np.sign(delta))

    def derivative(self, x: Rows, z: Rows, columns: tuple[int, ...]) -> Array:
        """By one column or two different ones, from the slope or the bend of the profile."""
        wanted = (Stationary.slope, Stationary.bend)[len(columns) - 1]
        if len(set(columns)) < len(columns) or getattr(type(self), wanted.__name__) is wanted:
            return super().derivative(x, z, columns)
        pair = Pair(x, z)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            found = (self.slope, self.bend)[len(columns) - 1](self.distance(pair))
        left, right = pair.dense()
        by = np.broadcast_to(np.asarray(self.inverse(x.width), dtype=np.float64), (x.width,))
        for column in columns:
            found = found * self.column_slope(np.subtract.outer(left[:, column], right[:, column]), by[column])
        return np.asarray(found)

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Random frequencies w, one per row, such that k(x, z) is the mean of cos(w'(x - z)); where they are known."""
        raise InputError(f"Fourier features are not available for {self!r}. Use the kernel itself, k(X, Z).")

    def check(self, rows: Rows) -> None:
        """Numbers, and as many columns as widths."""
        super().check(rows)
        fits_columns(self, self.width, rows.width)


class Smooth(BuiltIn, Stationary):
    """A kernel that is known by its logarithm, and has a slope everywhere."""

    smooth = True

    def profile(self, s: Array) -> Array:
        """exp of the logarithm, in place."""
        return np.exp(self.log_profile(s), out=s)


class Exponential(Smooth):
    """exp(-rate s)."""

    rate: ClassVar[float] = 0.5

    def log_profile(self, s: Array) -> Array:
        """-rate s, in place."""
        return np.multiply(s, -self.rate, out=s)

    def profile_and_slope(self, s: Array) -> tuple[Array, Array]:
        """The slope is the profile times -rate."""
        k = np.exp(-self.rate * s)
        return k, -self.rate * k

    def slope(self, s: Array) -> Array:
        """-rate exp(-rate s)."""
        return self.profile_and_slope(s)[1]

    def bend(self, s: Array) -> Array:
        """rate^2 exp(-rate s)."""
        return np.asarray(self.rate**2 * np.exp(-self.rate * s))


class Gaussian(Exponential):
    """exp(-r2 / 2): infinitely smooth.

    Three conventions are in use for its width, and all can be said: ``Gaussian(w)`` divides the squared
    distance by 2 w^2; ``Gaussian(w, per_dimension=True)`` by 2 d w^2, d being the number of columns;
    ``Gaussian.from_gamma(g)`` multiplies it by g.

    Parameters
    ----------
    width : float or one per column, default=1.0
        The distance over which the similarity falls to exp(-1/2).
    per_dimension : bool, default=False
        Also divide r2 by the number of columns.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(width=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> Gaussian.from_gamma(1.0)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    because = "with rows divided by the width it is f(x) f(z) exp(x'z); the series of exp has positive coefficients"

    checks: ClassVar[Mapping[str, Check]] = {**Stationary.checks, "per_dimension": truth_value}

    per_dimension: bool = False

    @classmethod
    def from_gamma(cls, gamma: Width) -> Self:
        """exp(-gamma ||x - z||^2), as scikit-learn's rbf; one gamma or one per column."""
        positive_width(cls(), "gamma", gamma)
        width = np.sqrt(0.5 / np.asarray(gamma, dtype=np.float64))
        return cls(float(width) if width.ndim == 0 else width)

    def inverse(self, columns: int) -> Inverse:
        """1 / width, and 1 / sqrt(d) where asked for."""
        inverse = inverse_width(self.width)
        return inverse / math.sqrt(max(columns, 1)) if self.per_dimension else inverse

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Normal, of deviation 1 / width."""
        return np.asarray(generator.standard_normal((count, columns)) * self.inverse(columns))


class RationalQuadratic(Smooth):
    """(1 + r2 / (2 shape))^-shape: a mixture of Gaussians of many widths.

    Parameters
    ----------
    width : float or one per column, default=1.0
        Scale of the distance.
    shape : float, default=1.0
        Small: many widths mixed. Large: close to the Gaussian.

    Examples
    --------
    >>> from mercer.kernels import RationalQuadratic
    >>> RationalQuadratic(width=1.0, shape=0.5)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    because = "it is a mixture of Gaussian kernels over widths, and each is a Mercer kernel"

    checks: ClassVar[Mapping[str, Check]] = {**Stationary.checks, "shape": positive_number}

    shape: float = 1.0

    def log_profile(self, s: Array) -> Array:
        """-shape log(1 + s / (2 shape)), in place."""
        np.log1p(np.multiply(s, 0.5 / float(self.shape), out=s), out=s)
        return np.multiply(s, -float(self.shape), out=s)

    def slope(self, s: Array) -> Array:
        """-(1 + s / (2 shape))^(-shape - 1) / 2."""
        c = float(self.shape)
        return np.asarray(-0.5 * np.exp(-(c + 1.0) * np.log1p(s / (2.0 * c))))

    def bend(self, s: Array) -> Array:
        """(1 + 1 / shape) (1 + s / (2 shape))^(-shape - 2) / 4."""
        c = float(self.shape)
        return np.asarray(0.25 * (1.0 + 1.0 / c) * np.exp(-(c + 2.0) * np.log1p(s / (2.0 * c))))

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Normal, each of a precision drawn from the gamma distribution that mixes the widths."""
        normal = generator.standard_normal((count, columns)) * self.inverse(columns)
        precision = generator.gamma(float(self.shape), 1.0 / float(self.shape), size=(count, 1))
        return np.asarray(normal * np.sqrt(precision))


class Matern(BuiltIn, Stationary):
    """Smooth as `nu` says: functions with nu - 1/2 derivatives.

    With r = sqrt(r2): nu = 0.5 gives exp(-r), the l2 exponential; 1.5 gives (1 + sqrt3 r) exp(-sqrt3 r);
    2.5 gives (1 + sqrt5 r + 5 r^2 / 3) exp(-sqrt5 r).

    Parameters
    ----------
    width : float or one per column, default=1.0
        Scale of the distance.
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(width=1.0, nu=0.5)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    because = "its Fourier transform, a power of 1 / (1 + frequency^2), is positive (Bochner)"

    nu: float = 1.5

    def __post_init__(self) -> None:
        """Validate `width` and `nu`."""
        super().__post_init__()
        known, hint = is_real(self.nu) and self.nu in (0.5, 1.5, 2.5), "For nu = infinity use Gaussian."
        refuse_if(not known, "nu of Matern", "0.5, 1.5 or 2.5", repr(self.nu), hint)

    def _distance_and_decay(self, s: Array) -> tuple[Array, Array]:
        """sqrt(2 nu) r, and exp of minus it; distances are cut where infinity times 0 would be no number."""
        r = math.sqrt(2 * self.nu) * np.minimum(np.sqrt(s), 1e100)
        return r, np.exp(-r)

    def profile(self, s: Array) -> Array:
        """exp(-t), (1 + t) exp(-t) or (1 + t + t^2 / 3) exp(-t), t = sqrt(2 nu) r; in place."""
        t = np.minimum(np.sqrt(s, out=s), 1e100, out=s)
        t *= math.sqrt(2 * self.nu)
        decay = np.exp(-t)
        if self.nu == 0.5:
            return decay
        if self.nu == 2.5:
            t += t * t / 3.0
        t += 1.0
        t *= decay
        return t

    def slope(self, s: Array) -> Array:
        """-exp(-t) / (2 t), -3/2 exp(-t) or -5/6 (1 + t) exp(-t)."""
        t, decay = self._distance_and_decay(s)
        if self.nu == 0.5:  # at distance 0 the mean of both sides
            return np.divide(-0.5 * decay, t, out=np.zeros_like(t), where=t > 0)
        return -1.5 * decay if self.nu == 1.5 else -5.0 / 6.0 * (1.0 + t) * decay

    def bend(self, s: Array) -> Array:
        """(1 / t + 1) exp(-t) / (4 t^2), 9/4 exp(-t) / t or 25/12 exp(-t)."""
        t, decay = self._distance_and_decay(s)
        apart = np.where(t > 0, t, np.inf)
        if self.nu == 0.5:
            return np.asarray(0.25 * decay * (1.0 / apart + 1.0) / apart**2)
        return np.asarray(2.25 * decay / apart if self.nu == 1.5 else 25.0 / 12.0 * decay)

    def profile_and_slope(self, s: Array) -> tuple[Array, Array]:
        """Profile and slope from one exponential."""
        t, decay = self._distance_and_decay(s)
        if self.nu == 0.5:  # at distance 0 the mean of both sides
            return decay, np.divide(-0.5 * decay, t, out=np.zeros_like(t), where=t > 0)
        first = (1.0 + t) * decay
        return (first, -1.5 * decay) if self.nu == 1.5 else (first + t * t * decay / 3.0, -5.0 / 6.0 * first)

    def log_profile(self, s: Array) -> Array:
        """The logarithm of the polynomial in t, less t."""
        t = math.sqrt(2 * self.nu) * np.minimum(np.sqrt(s), 1e150)
        polynomial = {0.5: 0.0 * t, 1.5: t, 2.5: t + t**2 / 3.0}[float(self.nu)]
        return np.asarray(np.log1p(polynomial) - t)

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Student's t of 2 nu degrees of freedom, in all columns at once."""
        normal = generator.standard_normal((count, columns)) * self.inverse(columns)
        freedom = 2.0 * float(self.nu)
        return np.asarray(normal / np.sqrt(generator.chisquare(freedom, size=(count, 1)) / freedom))


class Laplacian(Exponential):
    """exp(-sum_j |delta_j| / width_j): the l1 exponential, a product of one exponential per column.

    Parameters
    ----------
    width : float or one per column, default=1.0
        Scale of the distance.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(width=2.0)([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    because = "it is a product over columns of exp(-|x - z| / width), whose Fourier transform is positive"
    power = 1
    rate = 1.0

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Cauchy, of scale 1 / width, column by column."""
        return np.asarray(generator.standard_cauchy((count, columns)) * self.inverse(columns))


class Periodic(Exponential):
    """exp(-2 sum_j sin^2(pi delta_j / period) / width_j^2): what repeats every `period`.

    It is the Gaussian kernel after every column has been wound round a circle, which is how it is
    computed and why it is a Mercer kernel. (The form with the Euclidean distance inside the sine is
    none beyond one column.)

    Parameters
    ----------
    width : float or one per column, default=1.0
        Smoothness within a period.
    period : float, default=1.0
        The length after which everything repeats.

    Examples
    --------
    >>> from mercer.kernels import Periodic
    >>> Periodic(width=1.0, period=2.0)([[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])
    """

    because = (
        "it is the Gaussian kernel of (cos, sin) of every column, and a Mercer kernel of mapped rows is a Mercer kernel"
    )

    checks: ClassVar[Mapping[str, Check]] = {**Stationary.checks, "period": positive_number}

    period: float = 1.0

    def distance(self, pair: Pair) -> Array:
        """Squared distances on circles, 4 sum_j sin^2(pi delta_j / period) / width_j^2."""
        circles = pair.mapped(("circle", float(self.period)), self._wind)
        inverse = inverse_width(self.width)
        return circles.squared_distance(np.tile(inverse, 2) if np.ndim(inverse) else inverse)

    def _angles(self, pair: Pair) -> Iterator[tuple[float, Array]]:
        """1 / width_j and pi delta_j / period of every column."""
        x, z = pair.dense()
        by = np.broadcast_to(np.asarray(self.inverse(x.shape[1])), (x.shape[1],))
        for i, x_j, z_j in zip(by, x.T, z.T, strict=True):
            yield float(i), (x_j[:, None] - z_j) * (math.pi / float(self.period))

    def _by_column(self, pair: Pair, B: Array) -> Array:
        """sum_ab B_ab 4 sin^2(pi delta_j / period) / width_j^2 of every column."""
        return np.array([np.vdot(B, (2.0 * i * np.sin(angle)) ** 2) for i, angle in self._angles(pair)])

    def other_slopes(self, pair: Pair, weights: Array, s: Array) -> Slopes:
        """By the period: ds = -4 sum_j a_j sin(2 a_j) / width_j^2, a_j = pi delta_j / period."""
        B = -4.0 * weights * self.slope(s)
        return {"period": np.asarray(sum(i**2 * np.vdot(B, a * np.sin(2.0 * a)) for i, a in self._angles(pair)))}

    def column_slope(self, delta: Array, by: float) -> Array:
        """ds / dx_j = 4 pi / period sin(2 pi delta / period) / width_j^2."""
        turn = math.pi / float(self.period)
        return np.asarray(4.0 * turn * by**2 * np.sin(2.0 * turn * delta))

    def _wind(self, values: XLike) -> Rows:
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        angle = np.fmod(dense, float(self.period)) * (2.0 * np.pi / float(self.period))
        return Rows(np.hstack([np.cos(angle), np.sin(angle)]))
