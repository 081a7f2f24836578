"""Similarities that are not Mercer kernels, so that the checks can say why; and the chi-squared kernel made of one."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.kernels.base import BuiltIn
from mercer.kernels.pair import Pair, squared_norms
from mercer.kernels.value import positive_number, real_number


class Distance(BuiltIn):
    """A distance and no similarity: k(x, x) = 0 for every x."""

    mercer: ClassVar[bool | None] = False

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

    because: ClassVar[str] = "k(x, x) = 0 for every x while other values are not 0: eigenvalues of both signs"
    positive_only: ClassVar[bool] = True

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

    mercer: ClassVar[bool | None] = True
    because: ClassVar[str] = "the chi-squared distance is conditionally negative definite (Schoenberg)"
    positive_only: ClassVar[bool] = True

    gamma: float = 1.0

    def __post_init__(self) -> None:
        """Raise an error unless gamma is valid."""
        positive_number(self, "gamma", self.gamma)

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

    scale: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        real_number(self, "scale", self.scale)
        real_number(self, "offset", self.offset)

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

    because: ClassVar[str] = (
        "k(x, x) = 0, so every kernel matrix has trace 0 and eigenvalues of both signs (or all are 0)"
    )

    def block(self, pair: Pair) -> Array:
        """The squared Euclidean distances."""
        return pair.squared_distance(1.0)
