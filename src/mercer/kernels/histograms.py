"""Similarities of histograms: the chi-squared distance and the Mercer kernel made of it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.pair import Pair
from mercer.kernels.value import positive_number


class AdditiveChi2(Kernel):
    """-sum_j (x_j - z_j)^2 / (x_j + z_j), as scikit-learn's additive_chi2: for histograms.

    Conditionally positive definite only; `Chi2` is the Mercer kernel made of it.

    Examples
    --------
    >>> from mercer.kernels import AdditiveChi2
    >>> AdditiveChi2()([[1.0, 0.0], [0.0, 1.0]])
    array([[ 0., -2.],
           [-2.,  0.]])
    """

    mercer: ClassVar[bool | None] = False
    because: ClassVar[str] = "k(x, x) = 0 for every x while other values are not 0: eigenvalues of both signs"
    positive_only: ClassVar[bool] = True
    trusted: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    def counterexample(self) -> Any:
        """Any two rows that differ."""
        return [[0.0], [1.0]]

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

    def diagonal(self, rows: Rows) -> Array:
        """0 for every row."""
        return np.zeros(len(rows))


class Chi2(Kernel):
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
    trusted: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

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
