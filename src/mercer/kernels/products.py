"""Kernels of the scalar product x'z and other plain similarities of two vectors.

Some are no Mercer kernels, and are here so that the checks can say why; the chi-squared kernel is made of one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.errors import refuse_if
from mercer.kernels.base import ENDLESS, BuiltIn, Slopes
from mercer.kernels.pair import Pair, multiply, squared_norms
from mercer.kernels.value import (
    Check,
    Label,
    bracket,
    column_names,
    non_negative,
    positive_number,
    real_number,
    whole_number,
)

# Beyond this degree the factors of monomials are no floating point numbers.
_STEEPEST = 2000
_DEGREE: Check = partial(whole_number, least=0)


def integer_power(tile: Array, exponent: int, pair: Pair) -> Array:
    """tile ** exponent in place, by squaring: far cheaper than a general power."""
    if exponent == 0:
        tile.fill(1.0)
    if exponent < 2:
        return tile
    if exponent == 2:
        return np.square(tile, out=tile)
    base = pair.buffer()
    np.copyto(base, tile)
    for bit in bin(exponent)[3:]:
        np.square(tile, out=tile)
        if bit == "1":
            tile *= base
    pair.give_back(base)
    return tile


def _binomial(n: int, k: int) -> int:
    """n over k, in at most 62 steps: beyond any memory the exact number is of no interest."""
    k = min(k, n - k)
    result = int(k >= 0)
    for i in range(1, k + 1):
        result = result * (n - k + i) // i
        if result > ENDLESS:
            return ENDLESS
    return result


def _monomials(variables: int, degree: int, first: int = 0) -> Iterator[tuple[float, tuple[tuple[int, int], ...]]]:
    """Every monomial of this degree: the root of its multinomial number, and its variables with exponents."""
    if degree == 0:
        yield 1.0, ()
        return
    for j in range(first, variables):
        for exponent in range(degree, 0, -1):
            if exponent < degree and j + 1 == variables:
                break
            factor = _root(math.comb(degree, exponent))
            for inner, rest in _monomials(variables, degree - exponent, j + 1):
                yield factor * inner, ((j, exponent), *rest)


def _root(number: int) -> float:
    """The square root of an integer that may itself be beyond floating point numbers."""
    return math.sqrt(number) if number.bit_length() <= 1000 else math.exp(0.5 * math.log(number))


def inverse_or_zero(length: Array) -> Array:
    """1 / length, and 0 where the length is 0."""
    return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)


class Linear(BuiltIn):
    """x'z: the scalar product; kernel ridge regression with it is ridge regression.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    because = "it is the scalar product itself (its feature map is the identity)"
    finite = True

    def block(self, pair: Pair) -> Array:
        """x z'."""
        return pair.dot()

    def diagonal(self, rows: Rows) -> Array:
        """x'x."""
        return squared_norms(rows)

    def derivative(self, x: Rows, z: Rows, columns: tuple[int, ...]) -> Array:
        """z_j by column j; 0 by two columns."""
        return Polynomial(1, offset=0.0).derivative(x, z, columns)

    def feature_count(self, width: int) -> int | None:
        """The number of columns."""
        return width

    def features(self, rows: Rows) -> Array:
        """The columns themselves."""
        return rows.dense()

    def feature_labels(self, rows: Rows) -> list[str]:
        """The columns' own names."""
        return column_names(rows)


class Polynomial(BuiltIn):
    """(scale x'z + offset)^degree: all monomials up to (offset > 0) or exactly of (offset = 0) the degree.

    Parameters
    ----------
    degree : int, default=2
        Not negative; 0 is the constant 1.
    offset : float, default=1.0
        0 for the homogeneous kernel; must not be negative.
    scale : float, default=1.0
        Factor of the scalar product; must not be negative.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    because = "its features are all monomials, each multiplied by the square root of a multinomial coefficient"
    finite = True
    checks: ClassVar[Mapping[str, Check]] = {"degree": _DEGREE, "offset": non_negative, "scale": non_negative}

    degree: int = 2
    offset: float = 1.0
    scale: float = 1.0

    def block(self, pair: Pair) -> Array:
        """The power of the shifted scalar product."""
        tile = pair.dot()
        if self.scale != 1:
            tile *= float(self.scale)
        if self.offset != 0:
            tile += float(self.offset)
        return integer_power(tile, int(self.degree), pair)

    def diagonal(self, rows: Rows) -> Array:
        """(scale x'x + offset)^degree."""
        return np.asarray((float(self.scale) * squared_norms(rows) + float(self.offset)) ** int(self.degree))

    def slopes(self, pair: Pair, weights: Array) -> Slopes:
        """degree (scale x'z + offset)^(degree - 1) times scale x'z, and times the offset."""
        product = float(self.scale) * pair.dot()
        B = weights * self.degree * (product + float(self.offset)) ** max(self.degree - 1, 0)
        found = {"scale": np.asarray(np.vdot(B, product)), "offset": np.asarray(float(self.offset) * B.sum())}
        return {name: found[name] for name in self.tunable()}

    def derivative(self, x: Rows, z: Rows, columns: tuple[int, ...]) -> Array:
        """The power of lower degree, times scale z_j for each column j."""
        count, degree, scale = len(columns), int(self.degree), float(self.scale)
        right = z.dense()
        power = (scale * (x.dense() @ right.T) + float(self.offset)) ** max(degree - count, 0)
        factor = math.perm(degree, count) * scale**count
        return np.asarray(factor * power * np.prod([right[:, column] for column in columns], axis=0))

    def _variables(self, width: int) -> int:
        return width + (self.offset != 0)

    def _moderate(self, width: int) -> None:
        """Refuse factors beyond floating point numbers."""
        steep, must_be = self.degree > _STEEPEST, f"at most {_STEEPEST} for explicit features"
        steep &= self._variables(width) > 1
        refuse_if(steep, "degree of Polynomial", must_be, self.degree, "Use the kernel itself, k(X, Z).")

    def feature_count(self, width: int) -> int | None:
        """The number of monomials."""
        return _binomial(self._variables(width) + int(self.degree) - 1, int(self.degree))

    def features(self, rows: Rows) -> Array:
        """Every monomial of the scaled columns (and the offset's constant), with its square-root factor."""
        self._moderate(rows.width)
        x = np.ascontiguousarray(rows.dense().T) * math.sqrt(float(self.scale))
        if self.offset != 0:
            x = np.vstack([np.full((1, len(rows)), math.sqrt(self.offset)), x])
        result = np.empty((len(rows), self.feature_count(rows.width) or 0))
        with np.errstate(over="ignore", invalid="ignore"):
            for place, (factor, powers) in enumerate(_monomials(len(x), int(self.degree))):
                column = np.full(len(rows), factor)
                for j, exponent in powers:
                    column *= x[j] if exponent == 1 else x[j] ** exponent
                result[:, place] = column
        refuse_if(not np.isfinite(result).all(), f"Every feature of {self!r}", "finite", "NaN or infinity", "Scale X.")
        return result

    def feature_labels(self, rows: Rows) -> list[str]:
        """The monomials, with their factors in front."""
        self._moderate(rows.width)
        names, first = column_names(rows), int(self.offset != 0)
        roots = math.sqrt(float(self.offset)), math.sqrt(float(self.scale))
        labels: list[str] = []
        for root, powers in _monomials(len(names) + first, int(self.degree)):
            factor = math.prod([roots[j >= first] ** exponent for j, exponent in powers], start=root)
            labels.append(Label.make(factor, [(names[j - first], e) for j, e in powers if j >= first]))
        return labels


class Cosine(BuiltIn):
    """x'z / (||x|| ||z||), and 0 where a row is zero.

    Examples
    --------
    >>> from mercer.kernels import Cosine
    >>> Cosine()([[3.0, 4.0], [4.0, 3.0]])
    array([[1.  , 0.96],
           [0.96, 1.  ]])
    """

    because = (
        "it is the scalar product of rows scaled to length one, and a Mercer kernel of mapped rows is a Mercer kernel"
    )
    finite = True

    def block(self, pair: Pair) -> Array:
        """The scalar product of rows of length one."""
        tile = pair.mapped("unit rows", self._unit).dot()
        if pair.same:
            np.fill_diagonal(tile, self.diagonal(pair.x))
        return tile

    @staticmethod
    def _unit(values: XLike) -> Rows:
        """Rows scaled to length one, by their largest entry first so that no square overflows or vanishes."""
        largest = abs(values).max(axis=1)
        largest = largest.toarray().ravel() if hasattr(values, "tocsr") else largest
        table = multiply(values, inverse_or_zero(np.asarray(largest, dtype=np.float64))[:, None])
        return Rows(multiply(table, inverse_or_zero(np.sqrt(squared_norms(table)))[:, None]))

    def diagonal(self, rows: Rows) -> Array:
        """1, or 0 for a zero row."""
        return (squared_norms(rows.derive("unit rows", self._unit)) > 0).astype(np.float64)

    def feature_count(self, width: int) -> int | None:
        """The number of columns."""
        return width

    def features(self, rows: Rows) -> Array:
        """The rows, scaled to length one."""
        return rows.derive("unit rows", self._unit).dense()

    def feature_labels(self, rows: Rows) -> list[str]:
        """Every column over the length of the row."""
        return [f"{bracket(name)}/|x|" for name in column_names(rows)]


class Constant(BuiltIn):
    """One value for every two rows; added to another kernel, a penalized intercept.

    Parameters
    ----------
    value : float, default=1.0
        Must not be negative.

    Examples
    --------
    >>> from mercer.kernels import Constant
    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    kind = "any"
    because = "its one feature is the square root of the value"
    finite = True
    checks: ClassVar[Mapping[str, Check]] = {"value": non_negative}

    value: float = 1.0

    def block(self, pair: Pair) -> Array:
        """The value, everywhere."""
        return pair.full(float(self.value))

    def logarithm(self, pair: Pair) -> Array | None:
        """log of the value, where it is not 0."""
        return np.full(pair.shape, math.log(float(self.value))) if self.value > 0 else None

    def diagonal(self, rows: Rows) -> Array:
        """The value for every row."""
        return np.full(len(rows), float(self.value))

    def feature_count(self, width: int) -> int | None:
        """One."""
        return 1

    def features(self, rows: Rows) -> Array:
        """sqrt(value)."""
        return np.full((len(rows), 1), math.sqrt(self.value))

    def feature_labels(self, rows: Rows) -> list[str]:
        """The number itself."""
        return [Label.make(math.sqrt(self.value), [])]


class Distance(BuiltIn):
    """A distance and no similarity: k(x, x) = 0 for every x."""

    mercer = False

    def counterexample(self) -> XLike:
        """Any two rows that differ."""
        return [[0.0], [1.0]]

    def diagonal(self, rows: Rows) -> Array:
        """0 for every row."""
        return np.zeros(len(rows))


class AdditiveChi2(Distance):
    """-sum_j (x_j - z_j)^2 / (x_j + z_j), as scikit-learn's additive_chi2: for histograms.

    Conditionally positive definite only; `Chi2` is the Mercer kernel made of it.

    Examples
    --------
    >>> from mercer.kernels import AdditiveChi2
    >>> AdditiveChi2()([[1.0, 0.0], [0.0, 1.0]])
    array([[ 0., -2.],
           [-2.,  0.]])
    """

    because = "k(x, x) = 0 for every x while other values are not 0: eigenvalues of both signs"
    positive_only = True

    def block(self, pair: Pair) -> Array:
        """Minus the chi-squared distance, one column at a time."""
        x, z = pair.dense()
        tile, step, total = pair.full(0.0), pair.buffer(), pair.buffer()
        for x_j, z_j in zip(x.T, z.T, strict=True):
            np.subtract(x_j[:, None], z_j, out=step)
            np.square(step, out=step)
            np.add(x_j[:, None], z_j, out=total)
            np.divide(step, total, out=step, where=total != 0)  # step is 0 where total is
            tile -= step
        pair.give_back(step)
        pair.give_back(total)
        return tile


class Chi2(BuiltIn):
    """exp(-gamma sum_j (x_j - z_j)^2 / (x_j + z_j)), as scikit-learn's chi2: for histograms.

    Parameters
    ----------
    gamma : float, default=1.0
        How fast the similarity falls; above 0.

    Examples
    --------
    >>> from mercer.kernels import Chi2
    >>> Chi2()([[1.0, 0.0], [0.0, 1.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    because = "the chi-squared distance is conditionally negative definite (Schoenberg)"
    positive_only = True
    checks: ClassVar[Mapping[str, Check]] = {"gamma": positive_number}

    gamma: float = 1.0

    def logarithm(self, pair: Pair) -> Array:
        """Minus gamma times the chi-squared distance."""
        tile = AdditiveChi2().block(pair)
        tile *= float(self.gamma)
        return tile

    def block(self, pair: Pair) -> Array:
        """exp of the logarithm, in place."""
        tile = self.logarithm(pair)
        return np.exp(tile, out=tile)

    def diagonal(self, rows: Rows) -> Array:
        """1 for every row."""
        return np.ones(len(rows))


# Sigmoids of a smaller scale are constants, as far as rows go whose squares exist.
_FLATTEST = 1e-295


@lru_cache(maxsize=1024)
def _sigmoid_rows(scale: float, offset: float) -> tuple[float, ...] | None:
    """One or two numbers on which tanh(scale x z + offset) has a negative eigenvalue beyond rounding.

    Where scale x^2 + offset is negative, one will do. Otherwise tanh levels off, and two lengths do: k(s, t)
    bends more than the geometric mean of k(s, s) and k(t, t) allows. None where rounding has swallowed that.
    """
    if offset < 0:
        return (0.0,)
    if scale < 0:
        length = math.sqrt((2.0 * offset + 1.0) / -scale)
        return (length,) if length < 1e150 and scale * length * length + offset < 0 else None
    if scale < _FLATTEST:  # rows whose squares are no numbers would be needed, or none will do
        return None
    found = [_worst_pair(np.array([1.0, 2.0]), scale, offset)]
    if found[0][0] > -1e-3:
        lengths = np.sqrt(np.geomspace(1e-3, 30.0, 46)) / math.sqrt(scale)
        rounded = np.array([float(f"{length:.1e}") for length in lengths])  # so that the rows can be read
        found.append(_worst_pair(np.unique(rounded), scale, offset))
    value, rows = min(found)
    return rows if value < -1e-14 else None


def _worst_pair(lengths: Array, scale: float, offset: float) -> tuple[float, tuple[float, ...]]:
    """The smallest eigenvalue of a pair of lengths, and the pair."""
    with np.errstate(over="ignore"):
        K = np.tanh(scale * np.outer(lengths, lengths) + offset)
    k = K.diagonal()
    smallest = 0.5 * (k[:, None] + k - np.hypot(k[:, None] - k, 2.0 * K))
    i, j = sorted(divmod(int(smallest.argmin()), len(lengths)))
    return float(smallest.min()), (float(lengths[i]), float(lengths[j]))


class Sigmoid(BuiltIn):
    """tanh(scale x'z + offset): not a Mercer kernel, though often called one.

    Parameters
    ----------
    scale, offset : float, default=1.0, 0.0
        Factor of the scalar product, and what is added to it.

    Examples
    --------
    >>> from mercer.kernels import Sigmoid
    >>> Sigmoid()([[1.0], [2.0]]).round(4)
    array([[0.7616, 0.964 ],
           [0.964 , 0.9993]])
    """

    checks: ClassVar[Mapping[str, Check]] = {"scale": real_number, "offset": real_number}
    mercer = None

    scale: float = 1.0
    offset: float = 0.0

    def verdict(self) -> tuple[bool | None, str]:
        """Invalid but for scale = 0, wherever rows are found that show it."""
        scale, offset = float(self.scale), float(self.offset)
        if scale == 0 and offset >= 0:
            return True, "it is the constant tanh(offset), which is not negative"
        rows = _sigmoid_rows(scale, offset)
        if rows is None:
            return None, "no counterexample was found beyond rounding error"
        if scale == 0:
            return False, "it is the constant tanh(offset), which is negative"
        if len(rows) == 1:
            return False, "k(x, x) = tanh(scale x'x + offset) is negative for every x with scale x'x + offset < 0"
        return False, f"the rows {rows[0]:g} and {rows[1]:g} have a kernel matrix with a negative determinant"

    def counterexample(self) -> XLike:
        """One or two rows of one column, searched for where 1 and 2 do not show it."""
        rows = _sigmoid_rows(float(self.scale), float(self.offset))
        return None if rows is None else [[number] for number in rows]

    def block(self, pair: Pair) -> Array:
        """tanh of the shifted scalar product."""
        tile = pair.dot()
        tile *= float(self.scale)
        tile += float(self.offset)
        return np.tanh(tile, out=tile)

    def diagonal(self, rows: Rows) -> Array:
        """tanh(scale x'x + offset)."""
        return np.asarray(np.tanh(float(self.scale) * squared_norms(rows) + float(self.offset)))


class SquaredDistance(Distance):
    """||x - z||^2: a distance and no similarity, here so that the checks can say why.

    Examples
    --------
    >>> from mercer.kernels import SquaredDistance
    >>> SquaredDistance()([[0.0], [3.0]])
    array([[0., 9.],
           [9., 0.]])
    """

    because = "k(x, x) = 0, so every kernel matrix has trace 0 and eigenvalues of both signs (or all are 0)"

    def block(self, pair: Pair) -> Array:
        """The squared Euclidean distances."""
        return pair.squared_distance(1.0)
