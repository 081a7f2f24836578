"""Where tuning begins: typical distances, the sensitivities of a first smooth fit, or where another member ended."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Laplacian, Matern
from mercer.solvers.dual import DualSystem
from mercer.solvers.gram import training_matrix
from mercer.tuning.descent import descend
from mercer.tuning.held_out import HeldOutCriterion

_ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_STEPS, _GAIN = 8, 5e-3  # of the first smooth fit, which only has to be roughly right
_FLAT = 0.02  # the least sensitivity of a column, as a share of the root mean square


def typical_width(kernel: Kernel, columns: int) -> float:
    """The typical distance of standardized rows: of l1 kernels the sum over columns, of others the root of squares."""
    return 1.1 * columns if isinstance(kernel, Laplacian) else math.sqrt(2.0 * columns)


def widths_by_sensitivity(criterion: HeldOutCriterion) -> Array:
    """Widths per column from the mean squared derivatives of a smooth isotropic fit, for l2 kernels.

    With V_ij = a_j phi'(s_ij), phi the Matern 5/2 kernel of squared distances s in units of the width, the derivatives
    at all rows are 2 (diag(V 1) Z - V Z) / width. Columns that matter less get longer widths, so that the sum of
    squared inverse widths stays that of the isotropic kernel.
    """
    columns = criterion.rows.width
    start = Start.at(criterion, Matern(typical_width(Matern(), columns), nu=2.5))
    smooth = descend(criterion, start.kernel, start.alpha, steps=_STEPS, gain=_GAIN)
    rows, problem = criterion.rows, criterion.problem
    system = DualSystem(training_matrix(smooth.kernel, rows), problem.weights, intercept=True, certified=True)
    width = float(smooth.kernel.tunable()["width"])
    Z = rows.dense() / width
    norms = np.einsum("ij,ij->i", Z, Z)
    slope = Matern(nu=2.5).slope(np.maximum(norms[:, None] + norms - 2.0 * Z @ Z.T, 0.0))
    squares = np.zeros(columns)
    for a in system.solve(problem.Y, smooth.alpha, "cholesky").dual.T:
        V = slope * a
        squares += np.mean((V.sum(axis=1)[:, None] * Z - V @ Z) ** 2, axis=0)
    groups = np.unique(np.asarray(criterion.share), return_inverse=True)[1].ravel()
    squares = (np.bincount(groups, squares) / np.bincount(groups))[groups]
    sensitivity = np.sqrt(squares / max(float(squares.mean()), 1e-300))
    return np.asarray(typical_width(Matern(), columns) / np.maximum(sensitivity, _FLAT))


def widths_of(kernel: Kernel, like: Kernel, columns: int) -> list[Array]:
    """Widths for kernels such as `like` from those of a kernel with a width per column.

    They are scaled so that typical distances are one; between kernels of different distances also their roots, which
    differ less from column to column.
    """
    width = np.broadcast_to(kernel.tunable()["width"], (columns,))
    if isinstance(kernel, Laplacian) == isinstance(like, Laplacian):
        return [width]
    return [each * math.sqrt(2.0 * float(np.sum(each**-2.0))) for each in (width, np.sqrt(width))]


@dataclass(frozen=True)
class Start:
    """Where a search begins, and the criterion there."""

    kernel: Kernel
    alpha: float
    value: float

    @classmethod
    def at(cls, criterion: HeldOutCriterion, kernel: Kernel) -> Start:
        """A kernel with the best of five alphas."""
        return cls(kernel, *criterion.best_alpha(kernel, _ALPHAS))
