"""Kernels of the difference x - z, in units of a width.

delta_j = x_j - z_j and r2 = sum_j (delta_j / width_j)^2; every width is one number or one per column.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, MercerError, sentence
from mercer.kernels.base import Kernel
from mercer.kernels.pair import Inverse, Pair
from mercer.kernels.parameters import (
    Width,
    fits_columns,
    inverse_width,
    is_real,
    positive_number,
    positive_width,
    truth_value,
)


class Stationary(Kernel):
    """A kernel of differences in units of a width, with k(x, x) = 1: what the others share."""

    width: Width = 1.0

    def __post_init__(self) -> None:
        """Validate `width`."""
        positive_width(self, self.width)

    def inverse(self, columns: int) -> Inverse:
        """What differences are multiplied by."""
        return inverse_width(self.width)

    def block(self, pair: Pair) -> Array:
        """exp of the logarithm, in place."""
        tile = self.logarithm(pair)
        if tile is None:
            raise MercerError(f"{type(self).__name__} must implement logarithm or block.")
        return np.exp(tile, out=tile)

    def diagonal(self, rows: Rows) -> Array:
        """1 for every row."""
        return np.ones(len(rows))

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Random frequencies w, one per row, such that k(x, z) is the mean of cos(w'(x - z)); where they are known."""
        raise InputError(f"Fourier features are not available for {self!r}. Use the kernel itself, k(X, Z).")

    def check(self, rows: Rows) -> None:
        """Numbers, and as many columns as widths."""
        super().check(rows)
        fits_columns(self, self.width, rows.width)


class Gaussian(Stationary):
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

    mercer: ClassVar[bool | None] = True
    because: ClassVar[str] = "it is the limit of sums of products of scalar products (its power series)"
    trusted: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    per_dimension: bool = False

    @classmethod
    def from_gamma(cls, gamma: Any) -> Self:
        """exp(-gamma ||x - z||^2), as scikit-learn's rbf; one gamma or one per column."""
        positive_width(cls(), gamma, "gamma")
        width = np.sqrt(0.5 / np.asarray(gamma, dtype=np.float64))
        return cls(float(width) if width.ndim == 0 else width)

    def __post_init__(self) -> None:
        """Validate `width` and `per_dimension`."""
        super().__post_init__()
        truth_value(self, "per_dimension", self.per_dimension)

    def inverse(self, columns: int) -> Inverse:
        """1 / width, and 1 / sqrt(d) where asked for."""
        inverse = inverse_width(self.width)
        return inverse / math.sqrt(max(columns, 1)) if self.per_dimension else inverse

    def logarithm(self, pair: Pair) -> Array:
        """-r2 / 2, which comes straight out of one matrix product."""
        return pair.squared_distance(self.inverse(pair.x.width), factor=-0.5)

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Normal, of deviation 1 / width."""
        return np.asarray(generator.standard_normal((count, columns)) * self.inverse(columns))


class RationalQuadratic(Stationary):
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

    mercer: ClassVar[bool | None] = True
    because: ClassVar[str] = "it is a mixture of Gaussian kernels over widths, and each is a Mercer kernel"
    trusted: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    shape: float = 1.0

    def __post_init__(self) -> None:
        """Validate `width` and `shape`."""
        super().__post_init__()
        positive_number(self, "shape", self.shape)

    def logarithm(self, pair: Pair) -> Array:
        """-shape log(1 + r2 / (2 shape))."""
        tile = pair.squared_distance(self.inverse(pair.x.width), factor=0.5 / float(self.shape))
        np.log1p(tile, out=tile)
        tile *= -float(self.shape)
        return tile

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Normal, each of a precision drawn from the gamma distribution that mixes the widths."""
        normal = generator.standard_normal((count, columns)) * self.inverse(columns)
        precision = generator.gamma(float(self.shape), 1.0 / float(self.shape), size=(count, 1))
        return np.asarray(normal * np.sqrt(precision))


class Matern(Stationary):
    """As smooth as nu says: functions with nu - 1/2 derivatives.

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

    mercer: ClassVar[bool | None] = True
    because: ClassVar[str] = "its Fourier transform, a power of 1 / (1 + frequency^2), is positive (Bochner)"
    trusted: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    nu: float = 1.5

    def __post_init__(self) -> None:
        """Validate `width` and `nu`."""
        super().__post_init__()
        if not is_real(self.nu) or self.nu not in (0.5, 1.5, 2.5):
            raise InputError(
                sentence("nu of Matern", "0.5, 1.5 or 2.5", repr(self.nu), "For nu = infinity use Gaussian.")
            )

    def block(self, pair: Pair) -> Array:
        """The profile of the distance; short distances matter here, so they are formed with care."""
        r = pair.distance(self.inverse(pair.x.width))
        np.minimum(r, 1e100, out=r)  # infinity times exp(-infinity) is no number
        if self.nu == 0.5:
            np.negative(r, out=r)
            return np.exp(r, out=r)
        r *= math.sqrt(2 * self.nu)
        decay = np.negative(r, out=pair.buffer())
        np.exp(decay, out=decay)
        if self.nu == 2.5:
            square = np.square(r, out=pair.buffer())
            square /= 3.0
            r += square
            pair.give_back(square)
        r += 1.0
        r *= decay
        pair.give_back(decay)
        return r

    def logarithm(self, pair: Pair) -> Array:
        """The logarithm of the polynomial in r, less sqrt(2 nu) r."""
        r = math.sqrt(2 * self.nu) * np.minimum(pair.distance(self.inverse(pair.x.width)), 1e150)
        polynomial = {0.5: 0.0 * r, 1.5: r, 2.5: r + r**2 / 3.0}[float(self.nu)]
        return np.asarray(np.log1p(polynomial) - r)

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Student's t of 2 nu degrees of freedom, in all columns at once."""
        normal = generator.standard_normal((count, columns)) * self.inverse(columns)
        freedom = 2.0 * float(self.nu)
        return np.asarray(normal / np.sqrt(generator.chisquare(freedom, size=(count, 1)) / freedom))


class Laplacian(Stationary):
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

    mercer: ClassVar[bool | None] = True
    because: ClassVar[str] = (
        "it is a product over columns of exp(-|x - z| / width), whose Fourier transform is positive"
    )
    trusted: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    def logarithm(self, pair: Pair) -> Array:
        """Minus the scaled Manhattan distance."""
        tile = pair.manhattan(self.inverse(pair.x.width))
        return np.negative(tile, out=tile)

    def frequencies(self, columns: int, count: int, generator: np.random.Generator) -> Array:
        """Cauchy, of scale 1 / width, column by column."""
        return np.asarray(generator.standard_cauchy((count, columns)) * self.inverse(columns))


class Periodic(Stationary):
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

    mercer: ClassVar[bool | None] = True
    because: ClassVar[str] = (
        "it is the Gaussian kernel of (cos, sin) of every column, and a Mercer kernel of mapped rows is a Mercer kernel"
    )
    trusted: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    period: float = 1.0

    def __post_init__(self) -> None:
        """Validate `width` and `period`."""
        super().__post_init__()
        positive_number(self, "period", self.period)

    def logarithm(self, pair: Pair) -> Array:
        """-r2 / 2 of the distance on circles."""
        circles = pair.mapped(("circle", float(self.period)), self._wind)
        inverse = inverse_width(self.width)
        if np.ndim(inverse):
            inverse = np.tile(inverse, 2)
        return circles.squared_distance(inverse, factor=-0.5)

    def _wind(self, values: Any) -> Rows:
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        angle = np.fmod(dense, float(self.period)) * (2.0 * np.pi / float(self.period))
        return Rows(np.hstack([np.cos(angle), np.sin(angle)]))
