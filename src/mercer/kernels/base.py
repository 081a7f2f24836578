"""What a kernel is: a frozen value with one method to write, `block`, and everything else derived."""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import TYPE_CHECKING, ClassVar, TypeAlias, dataclass_transform

import numpy as np

from mercer.data.checks import as_numbers
from mercer.data.rows import Array, Rows, Seed, XLike, as_rows
from mercer.errors import InputError, sentence
from mercer.kernels.tiles import blocks, check_values, difference_quotient, finite_on, matrix, tile
from mercer.kernels.value import Check, Value, argument
from mercer.runtime import promise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import DTypeLike

    from mercer.kernels.approximate import ApproximateFeatures
    from mercer.kernels.certificate import Certificate
    from mercer.kernels.pair import Pair

DIAGONAL_BLOCK = 32  # rows of a block whose diagonal is wanted
# As many features as no memory holds: beyond, their exact number is of no interest.
ENDLESS = 2**62
_NAME = 100  # bytes a feature's name takes, roughly
_LOG_STEP = 1e-5  # of the logarithm of a parameter, for central differences
_CONTINUOUS = ("width", "shape", "period", "scale", "offset", "value", "gamma", "factor")  # parameters of our kernels

Slopes: TypeAlias = "dict[str, Array]"  # derivatives by the logarithm of each parameter, named as get_params has it


@dataclass_transform(frozen_default=True, eq_default=False)
class Kernel(Value):
    """A similarity k(x, z), as a value.

    A kernel of your own is a subclass with its parameters as annotated fields and one method, `block`,
    which evaluates whole blocks of rows; subclasses are made frozen dataclasses for you.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Kernel
    >>> class Cauchy(Kernel):
    ...     width: float = 1.0
    ...     def block(self, pair):
    ...         return 1.0 / (1.0 + pair.squared_distance(1.0 / self.width))
    >>> k = Cauchy(width=2.0)
    >>> k
    Cauchy(width=2.0)
    >>> k([[0.0], [2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    # What rows the kernel takes: "vectors", "objects", "gram" (a matrix already computed) or "any".
    kind: ClassVar[str] = "vectors"
    # Whether every Gram matrix is positive semi-definite: True, False, or None where unknown; and why.
    mercer: ClassVar[bool | None] = None
    because: ClassVar[str] = "nothing is known about it"
    # Whether X must not hold negative numbers.
    positive_only: ClassVar[bool] = False
    # Whether phi is finite, so that explicit features exist.
    finite: ClassVar[bool] = False
    # Whether phi has the same columns for all rows, so that weights of features carry over to new ones.
    fixed: ClassVar[bool] = True
    # Whether X may be a sparse matrix.
    takes_sparse: ClassVar[bool] = False
    # Whether the values can be relied on to be finite and symmetric (our own arithmetic).
    trusted: ClassVar[bool] = False
    # What parameters must be, by name, in the order in which they are looked at.
    checks: ClassVar[Mapping[str, Check]] = {}
    # NumPy's scalars and arrays leave arithmetic with kernels to the kernels.
    __array_ufunc__: ClassVar[None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "diagonal" in vars(cls):  # an overflow shows in the values, as in a tile
            cls.diagonal = np.errstate(over="ignore", invalid="ignore")(cls.diagonal)  # type: ignore[method-assign]
        dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        """Raise an error unless every parameter is what its check wants."""
        for name, check in self.checks.items():
            check(self, name, getattr(self, name))

    # -- what a kernel must say -------------------------------------------------------------------

    def block(self, pair: Pair) -> Array:
        """k(x, z) for all rows of `pair.x` against all rows of `pair.z`; the one method to write."""
        raise NotImplementedError(f"{type(self).__name__} must define block(self, pair).")

    def logarithm(self, pair: Pair) -> Array | None:
        """log k(x, z) of one tile, where it can be had without k(x, z), which may be too small for a number."""
        return None

    def diagonal(self, rows: Rows) -> Array:
        """k(x, x) of each row; override where it is cheaper than a block."""
        cuts = [rows[part] for part in blocks(len(rows), DIAGONAL_BLOCK)]
        return np.concatenate([np.empty(0), *(tile(self, cut, cut, same=True).diagonal().copy() for cut in cuts)])

    def check(self, rows: Rows) -> None:
        """Refuse rows this kernel cannot take, in a sentence."""
        if self.kind in ("vectors", "gram") and (rows.objects or rows.values.dtype == object):
            hint = "Choose numeric columns with .on(...), or use a kernel for objects."
            raise InputError(f"{type(self).__name__} needs rows of numbers; got {_describe(rows)}. {hint}")
        values = rows.values.data if rows.sparse else rows.values
        if self.positive_only and values.size and values.min() < 0:
            what, least = f"X for {type(self).__name__}", float(values.min())
            raise InputError(f"Negative values in data: {sentence(what, 'non-negative', least)}")

    @property
    def takes_objects(self) -> bool:
        """Whether rows may be objects, or tables with columns that are not numbers."""
        return self.kind in ("objects", "any")

    def read(self, X: XLike) -> Rows:
        """What people have, as the rows this kernel takes."""
        rows = as_rows(X, objects=self.kind == "objects")
        self.check(rows)
        return rows

    def verdict(self) -> tuple[bool | None, str]:
        """Whether this is a Mercer kernel (None where unknown), and the reason."""
        return self.mercer, self.because

    def counterexample(self) -> XLike:
        """Rows whose Gram matrix has a negative eigenvalue, for kernels that are not valid; None where unknown."""
        return None

    def values(self, pair: Pair) -> Array:
        """What `block` says, checked where it is not our own arithmetic."""
        found = self.block(pair)
        return found if self.trusted or self.members() else check_values(self, found, pair)

    def feature_count(self, width: int) -> int | None:
        """Number of explicit features for rows of `width` columns; None where that is not known beforehand."""
        return None

    def count_features(self, rows: Rows) -> int | None:
        """Number of explicit features, looking at one row if need be; None where phi is not finite."""
        count, there = self.feature_count(rows.width), self.finite and self.fixed and len(rows)
        return int(self.features(rows[:1]).shape[1]) if count is None and there else count

    def features(self, rows: Rows) -> Array:
        """phi(x) of each row, where it is finite."""
        raise InputError(f"{self!r} has no finite feature map. Use the kernel itself, k(X, Z), instead of features.")

    def feature_labels(self, rows: Rows) -> list[str]:
        """A name for every column of `features`; override where there are better ones than phi1(x), phi2(x), ..."""
        count = self.count_features(rows)
        count = int(self.features(rows).shape[1]) if count is None else count
        return [f"phi{j + 1}({argument(rows)})" for j in range(count)]

    # -- derivatives: by parameters for `tune`, by columns for average effects --------------------------

    def tunable(self) -> dict[str, Array]:
        """The positive, continuous parameters of this kernel and of its members, by name.

        Of a kernel of your own, every parameter that is a positive float.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Polynomial
        >>> (Gaussian([1.0, 2.0]) + 0.5 * Polynomial(3, offset=0.0)).tunable()
        {'k1__width': array([1., 2.]), 'k2__base__scale': array(1.), 'k2__factor': array(0.5)}
        """
        found: dict[str, Array] = {}
        ours = type(self).__module__.startswith("mercer.")
        for name, value in self.items():
            if isinstance(value, Kernel):
                found |= {f"{name}__{inner}": number for inner, number in value.tunable().items()}
            elif name in _CONTINUOUS if ours else name == "width" or isinstance(value, float):
                numbers_given = as_numbers(value)
                if numbers_given is not None and numbers_given.size and bool((numbers_given > 0).all()):
                    found[name] = numbers_given
        return found

    def slopes(self, pair: Pair, weights: Array) -> Slopes:
        """sum_ab M_ab dk(x_a, z_b) / d log t over one tile with weights M, for every tunable parameter t."""
        return self.slopes_by_differences(pair, weights, list(self.tunable()))

    def slopes_by_differences(self, pair: Pair, weights: Array, names: Sequence[str]) -> Slopes:
        """Slopes by some parameters, from central differences."""
        found: Slopes = {}
        for name in names:
            value = self.tunable()[name]
            found[name] = np.zeros(value.shape)
            for place in np.ndindex(value.shape):
                moved = []
                for step in (_LOG_STEP, -_LOG_STEP):
                    shifted = value.copy()
                    shifted[place] *= math.exp(step)
                    number = float(shifted) if value.ndim == 0 else shifted
                    moved.append(self.set_params(**{name: number}).values(pair))
                found[name][place] = float(np.vdot(weights, moved[0] - moved[1])) / (2 * _LOG_STEP)
        return found

    def derivative(self, x: Rows, z: Rows, columns: tuple[int, ...]) -> Array:
        """The derivative of k(x, z) by one column of x, or by two, for all rows; by differences of fourth order here.

        Where a kernel has a kink, at a distance of 0, the mean of the slopes on both sides, which is 0.
        """
        return difference_quotient(self, x, z, columns)

    # -- what everyone can ask --------------------------------------------------------------------

    def __call__(self, X: XLike, Z: XLike = None, *, dtype: DTypeLike = np.float64) -> Array:
        """The matrix k(x, z) of all rows of X against all rows of Z, or of X against itself.

        Parameters
        ----------
        X, Z : array-like, sparse matrix, DataFrame or sequence of objects
            Rows. Without Z the result is exactly symmetric.
        dtype : dtype, default=float64
            float32 halves the memory and keeps about seven digits.

        Returns
        -------
        ndarray of shape (n rows of X, n rows of Z)
        """
        return matrix(self, X, Z, dtype)

    def diag(self, X: XLike) -> Array:
        """k(x, x) of every row, without the matrix.

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> Linear().diag([[1.0, 2.0], [3.0, 0.0]])
        array([5., 9.])
        """
        rows = self.read(X)
        finite_on(self, rows)
        return self.diagonal(rows)

    def feature_map(self, X: XLike) -> Array:
        """Explicit features with phi(x)'phi(z) = k(x, z), where they are finite.

        Examples
        --------
        >>> from mercer.kernels import Polynomial
        >>> Polynomial(degree=2, offset=0.0).feature_map([[1.0, 2.0]]).round(3)
        array([[1.   , 2.828, 4.   ]])
        """
        rows = self.read(X)
        self._promise_features(rows, 8 * len(rows), f"A table of {len(rows)} x {{}} features")
        return self.features(rows)

    def feature_names(self, X: XLike) -> list[str]:
        """A name for every column of `feature_map(X)`: the DataFrame's columns, or x1, x2, ..., and their products.

        Factors stand in front: an integer, sqrtN for the root of one, otherwise a short decimal.

        Examples
        --------
        >>> from mercer.kernels import Linear, Polynomial
        >>> Polynomial(degree=2, offset=0.0).feature_names([[1.0, 2.0]])
        ['x1^2', 'sqrt2*x1*x2', 'x2^2']
        >>> (3.0 * Linear() + 1.0).feature_names([[1.0, 2.0]])
        ['sqrt3*x1', 'sqrt3*x2', '1']
        """
        rows = self.read(X)
        self._promise_features(rows, _NAME, "A list of {} feature names")
        return [str(label) for label in self.feature_labels(rows)]

    def _promise_features(self, rows: Rows, each: int, what: str) -> None:
        """Refuse features of so many bytes each that do not fit, naming their number."""
        count = self.count_features(rows)
        if count is None:
            return
        many = str(count) if count < ENDLESS else "more than 10^18"
        hint = "Use the kernel itself, k(X, Z), which does not compute the features."
        promise(max(each, 8) * count, what.format(many), hint)

    def approximate_features(
        self, X: XLike, count: int = 200, *, method: str = "auto", random_state: Seed = None, probability: float = 0.95
    ) -> ApproximateFeatures:
        """Finitely many features with phi(x)'phi(z) near k(x, z), and how near.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame
            Rows.
        count : int, default=200
            Features for each part that has endlessly many; members with a finite map give all of theirs.
        method : {"auto", "taylor", "fourier"}, default="auto"
            `taylor` is the power series of the Gaussian kernel of one column, with a certain bound; `fourier`
            draws frequencies for Gaussian, Laplacian, Matern and RationalQuadratic kernels of any columns.
            `auto` takes the series where it exists and no two series are multiplied, otherwise frequencies.
        random_state : int, Generator or None, default=None
            Seed of the frequencies. They depend on it, the kernel, `count` and the number of columns, and on no
            row: the same seed gives test rows the features that training rows have. So does `of`.
        probability : float, default=0.95
            How surely the bound of a random method shall hold.

        Returns
        -------
        ApproximateFeatures
            `features`, `bound`, `pair_bound`, `probability` and `method`; `of(Z)` for new rows.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(-2.0, 2.0, 5)[:, None]
        >>> series = Gaussian().approximate_features(X, count=20)
        >>> print(series)
        20 features of 5 rows (taylor): every k(x, z) within 1.02e-08.
        >>> bool(np.abs(series.features @ series.features.T - Gaussian()(X)).max() <= series.bound)
        True
        """
        from mercer.kernels.approximate import approximate

        return approximate(self, X, count, method, random_state, probability)

    def certificate(self) -> Certificate:
        """The argument that this is (or is not) a Mercer kernel, as a tree that prints.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> print((Gaussian() + 2.0 * Linear()).certificate())
        valid: Gaussian(width=1.0) + 2.0 * Linear()
          because a sum of Mercer kernels is a Mercer kernel (its feature map: both feature maps, concatenated)
          valid: Gaussian(width=1.0)
            because with rows divided by the width it is f(x) f(z) exp(x'z); the series of exp has positive coefficients
          valid: 2.0 * Linear()
            because a non-negative multiple of a Mercer kernel is a Mercer kernel (its feature map: multiplied by ...
            valid: Linear()
              because it is the scalar product itself (its feature map is the identity)

        Where it is none, rows that show it stand beside, as ``.witness``:

        >>> from mercer.kernels import Sigmoid
        >>> print(Sigmoid().certificate())
        not valid: Sigmoid(scale=1.0, offset=0.0)
          because the rows 1 and 2 have a kernel matrix with a negative determinant
          witness: the rows [1] and [2] with v = (0.7491, -0.6624): v'Kv = -0.09087
        """
        from mercer.kernels.certificate import certify

        return certify(self)

    # -- the algebra ------------------------------------------------------------------------------

    def __add__(self, other: Kernel | float) -> Kernel:
        from mercer.kernels.algebra import Sum
        from mercer.kernels.products import Constant

        if isinstance(other, Kernel):
            return Sum(self, other)
        if not _is_number(other):
            return NotImplemented
        return self if other == 0 else Sum(self, Constant(other))

    def __radd__(self, other: float) -> Kernel:
        from mercer.kernels.algebra import Sum
        from mercer.kernels.products import Constant

        if not _is_number(other):
            return NotImplemented
        return self if other == 0 else Sum(Constant(other), self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        from mercer.kernels.algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if _is_number(other) else NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        return self * other

    def __pow__(self, exponent: int) -> Kernel:
        from mercer.kernels.algebra import Power

        return Power(self, exponent)

    def exp(self) -> Kernel:
        """exp(k(x, z)).

        >>> from mercer.kernels import Linear
        >>> Linear().exp()([[0.0], [1.0]]).round(3)
        array([[1.   , 1.   ],
               [1.   , 2.718]])
        """
        from mercer.kernels.algebra import Exp

        return Exp(self)

    def map(self, function: Callable[[XLike], XLike]) -> Kernel:
        """k(f(x), f(z)) for a function f of whole tables.

        >>> import numpy as np
        >>> from mercer.kernels import Linear
        >>> Linear().map(np.abs)([[-1.0], [2.0]])
        array([[1., 2.],
               [2., 4.]])
        """
        from mercer.kernels.views import Mapped

        return Mapped(self, function)

    def on(self, columns: int | str | Sequence[int | str]) -> Kernel:
        """The kernel on some columns only, by number or by name.

        >>> from mercer.kernels import Linear
        >>> Linear().on([1])([[9.0, 1.0], [9.0, 2.0]])
        array([[1., 2.],
               [2., 4.]])
        """
        from mercer.kernels.views import On

        return On(self, columns)

    def normalized(self) -> Kernel:
        """k(x, z) / sqrt(k(x, x) k(z, z)), and 0 where k(x, x) = 0.

        >>> from mercer.kernels import Linear
        >>> Linear().normalized()([[3.0, 4.0], [0.0, 0.0]])
        array([[1., 0.],
               [0., 0.]])
        """
        from mercer.kernels.views import Normalized

        return Normalized(self)


class BuiltIn(Kernel):
    """A kernel on rows of numbers, dense or sparse, by our own arithmetic: its values need no check.

    A Mercer kernel, unless it says otherwise.
    """

    mercer: ClassVar[bool | None] = True
    trusted = True
    takes_sparse = True


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _describe(rows: Rows) -> str:
    if rows.objects:
        return f"objects such as {rows.values[0]!r}" if len(rows) else "objects"
    return "a table with columns that are not numbers"
