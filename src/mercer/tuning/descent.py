"""Minimize a criterion over the logarithms of a kernel's parameters and of alpha, and where to begin.

The minimum is found by L-BFGS within bounds. It begins at typical distances, at the sensitivities of a first smooth
fit, or where another kernel ended.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Laplacian, Matern, Stationary
from mercer.kernels.views import Mapped, On
from mercer.selection.ladders import round_rungs
from mercer.solvers.dual import DualSystem
from mercer.solvers.gram import training_matrix
from mercer.tuning.criterion import HeldOutCriterion, Objective

# Limits: of widths in spreads of their columns, of others in multiples of the start, of alpha in those of k(x, x).
_WIDTHS, _OTHERS, _ALPHAS = (1e-2, 1e4), (1e-3, 1e3), (1e-9, 1e3)
# No eigenvalue of K exceeds its trace, so with alpha above this share of it six digits can be trusted.
_SIX_DIGITS = 2.3e-10
_BAD = 50.0  # stands for infinity: the line search takes a shorter step
_EDGE = 1e-3


def per_column(kernel: Kernel, columns: int) -> Kernel:
    """The kernel with a width of its own for every column; kernels of mapped rows stay as they are.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Laplacian
    >>> from mercer.tuning.descent import per_column
    >>> per_column(Gaussian(2.0) + Laplacian(1.0).on([0]), columns=2)
    Gaussian(width=[2.0, 2.0]) + Laplacian(width=[1.0]).on([0])
    """
    if isinstance(kernel, Stationary):
        return kernel if np.ndim(kernel.width) else kernel.set_params(width=np.full(columns, float(kernel.width)))
    if isinstance(kernel, Mapped):
        return kernel
    inner = len(kernel.keys) if isinstance(kernel, On) else columns
    members = {name: per_column(member, inner) for name, member in kernel.members().items()}
    return kernel.set_params(**members) if members else kernel


@dataclass(frozen=True)
class Step:
    """Where a search stands or begins: the criterion, the kernel and alpha."""

    value: float
    kernel: Kernel
    alpha: float


@dataclass(frozen=True, eq=False)
class Descent(Step):
    """Where a search ended, and how it went.

    Attributes
    ----------
    status : {"converged", "stopped", "failed"}
        How it ended: no way down any more; out of steps or time; or nowhere positive definite.
    bounds : list of str
        Parameters that ended on a bound.
    path : list of Step
        All steps, the start first.
    evaluations : int
        How often the criterion was computed.
    """

    status: str
    bounds: list[str]
    path: list[Step]
    evaluations: int


class Coordinates:
    """Logarithms of all parameters in one vector, columns that share a width in one place.

    Parameters
    ----------
    kernel : Kernel
        Where the search begins.
    rows : Rows
        What widths are about.
    share : sequence of int or None
        Columns of one number share a width.

    Attributes
    ----------
    groups : dict of str to ndarray of int
        The coordinate of every number of each parameter.
    size : int
        Number of coordinates.
    """

    def __init__(self, kernel: Kernel, rows: Rows, share: Sequence[int] | None = None) -> None:
        self.kernel, self.size = kernel, 0
        self.widths = _widths(kernel, rows, np.arange(rows.width))
        self.groups: dict[str, Array] = {}
        for name, value in kernel.tunable().items():
            groups = np.arange(value.size)
            places = self.widths[name][1] if name in self.widths else None
            if share is not None and places is not None and value.shape == places.shape:
                groups = np.unique(np.asarray(share)[places], return_inverse=True)[1].ravel()
            self.groups[name] = self.size + groups
            self.size += int(groups.max(initial=-1)) + 1
        self.places = np.concatenate([np.empty(0, dtype=np.intp), *self.groups.values()])

    def sums(self, values: dict[str, Array]) -> Array:
        """Numbers by parameter, such as slopes, as one vector; of columns that share a width their sum."""
        listed = np.concatenate([np.empty(0), *(np.ravel(values[name]) for name in self.groups)])
        return np.bincount(self.places, listed, self.size)

    def vector(self, kernel: Kernel) -> Array:
        """The logarithms at a kernel; of columns that share a width their mean."""
        logs = {name: np.log(value) for name, value in kernel.tunable().items()}
        return self.sums(logs) / np.maximum(np.bincount(self.places, minlength=self.size), 1)

    def at(self, vector: Array) -> Kernel:
        """The kernel at a vector."""
        held = self.kernel.tunable()
        values = {name: np.exp(vector[groups]).reshape(held[name].shape) for name, groups in self.groups.items()}
        return with_parameters(self.kernel, values)

    def limits(self, given: dict[str, tuple[float, float]]) -> Array:
        """Lowest and highest logarithm of every coordinate: as given, or far apart and around where it begins."""
        found, begin = self.kernel.tunable(), self.vector(self.kernel)
        limits = np.empty((self.size, 2))
        for name, groups in self.groups.items():
            size, (low, high) = found[name].ravel(), _OTHERS
            if name in self.widths:
                (low, high), spread = _WIDTHS, self.widths[name][0]
                size = spread if size.size == len(spread) else np.full(size.size, float(np.median(spread)))
            fixed = given.get(name, given.get(name.rsplit("__", 1)[-1]))
            usual = _around(begin[groups], np.log(low * size), np.log(high * size))
            limits[groups] = usual if fixed is None else np.log(fixed)
        return limits

    def label(self, place: int) -> str:
        """What a coordinate is called."""
        for name, groups in self.groups.items():
            mine = np.flatnonzero(groups == place)
            if len(mine):
                return name if len(groups) == 1 else f"{name}[{', '.join(map(str, mine))}]"
        return "alpha"


def with_parameters(kernel: Kernel, values: dict[str, Array]) -> Kernel:
    """The kernel with these parameters; arrays without dimensions become numbers."""
    return kernel.set_params(**{name: float(value) if np.ndim(value) == 0 else value for name, value in values.items()})


def _widths(kernel: Kernel, rows: Rows, places: Array | None) -> dict[str, tuple[Array, Array | None]]:
    """What each width is about: the spread of its columns, and their numbers unless they are mapped ones."""
    found: dict[str, tuple[Array, Array | None]] = {}
    if isinstance(kernel, On | Mapped):
        places = places[kernel.places(rows)] if isinstance(kernel, On) and places is not None else None
        rows = kernel.base_rows(rows)
    for name, value in kernel.items():
        if isinstance(value, Kernel):
            found |= {f"{name}__{inner}": about for inner, about in _widths(value, rows, places).items()}
        elif name == "width":
            found[name] = (_spread(rows), places)
    return found


def _around(begin: Array | float, low: Array | float, high: Array | float) -> Array:
    """Low and high ends, moved outward to `begin` where it is beyond them."""
    return np.stack([np.minimum(low, begin), np.maximum(high, begin)], axis=-1)


def _spread(rows: Rows) -> Array:
    """The standard deviation of every column; 1 for constant ones and for rows that have none."""
    if rows.objects or rows.values.dtype == object:
        return np.ones(1)
    values = rows.dense()
    spread = values.std(axis=0) if len(values) else np.ones(rows.width)
    return np.where(spread > 0, spread, 1.0)


def least_alpha(n: int) -> float:
    """The least alpha that is looked at for n rows with k(x, x) = 1."""
    return max(_ALPHAS[0], _SIX_DIGITS * n)


def round_parameters(kernel: Kernel) -> Kernel:
    """To six digits: an optimum is flat, and people read it."""
    short = {name: round_rungs(value.ravel(), 6).reshape(value.shape) for name, value in kernel.tunable().items()}
    return with_parameters(kernel, short)


class _Search:
    """One run of L-BFGS, remembering every accepted step."""

    def __init__(self, criterion: Objective, coordinates: Coordinates, deadline: float, gain: float) -> None:
        self.criterion, self.coordinates, self.deadline, self.gain = criterion, coordinates, deadline, gain
        self.settled, self.evaluations = False, 0
        self.path: list[Step] = []
        self.last: dict[bytes, float] = {}

    def __call__(self, vector: Array) -> tuple[float, Array]:
        kernel, alpha = self.coordinates.at(vector[:-1]), math.exp(vector[-1])
        point = self.criterion.at(kernel, alpha)
        self.evaluations, self.last[vector.tobytes()] = self.evaluations + 1, point.value
        if not self.path and point.value < math.inf:
            self.path.append(Step(point.value, kernel, alpha))
        if not math.isfinite(point.value):  # not positive definite, or without any error left
            return float(np.clip(point.value, -_BAD, _BAD)), np.zeros(len(vector))
        slopes = np.append(self.coordinates.sums(point.slopes), point.by_alpha)
        return point.value - self.criterion.shift, slopes

    def keep(self, intermediate_result: Any) -> None:
        """After every accepted step; no more of them once time is up, or two steps together gain too little."""
        x, value = intermediate_result.x, float(intermediate_result.fun) + self.criterion.shift
        self.path.append(Step(value, self.coordinates.at(x[:-1]), math.exp(x[-1])))
        self.settled = len(self.path) > 2 and self.path[-3].value - self.path[-1].value < self.gain
        if self.settled or time.monotonic() > self.deadline:
            raise StopIteration


def descend(
    criterion: Objective, kernel: Kernel, alpha: float, *, steps: int = 60, deadline: float = math.inf, gain: float = 0
) -> Descent:
    """Go down from one kernel and alpha.

    Parameters
    ----------
    criterion : Criterion or HeldOutCriterion
        What is minimized, by parameters within its bounds; others have bounds from the data.
    kernel, alpha : Kernel, float
        Where to begin.
    steps : int, default=60
        At most so many.
    deadline : float, default=inf
        On `time.monotonic`'s clock.
    gain : float, default=0
        Two steps that together lower the criterion by less than this are the last.
    """
    from scipy.optimize import minimize

    given, coordinates = criterion.bounds or {}, Coordinates(kernel, criterion.rows, criterion.share)
    typical = max(float(np.mean(kernel.diagonal(criterion.rows))), 1e-300)
    ends = np.log([least_alpha(len(criterion.rows)) * typical, _ALPHAS[1] * typical])
    ends = np.log(given["alpha"]) if "alpha" in given else _around(math.log(alpha), *ends)
    limits = np.vstack([coordinates.limits(given), ends])
    begin = np.clip(np.append(coordinates.vector(kernel), math.log(alpha)), limits[:, 0], limits[:, 1])
    search = _Search(criterion, coordinates, deadline, gain)
    options = {"maxiter": steps, "ftol": 1e-7, "gtol": 1e-5, "maxls": 12}
    found = minimize(search, begin, jac=True, method="L-BFGS-B", bounds=limits, callback=search.keep, options=options)
    best, status = found.x, "converged" if found.success or search.settled else "stopped"
    value = search.last.get(best.tobytes(), math.inf)
    status = "failed" if not search.path or value == math.inf else status
    on_bound = np.flatnonzero((best - limits[:, 0] < _EDGE) | (limits[:, 1] - best < _EDGE)).tolist()
    labels = [coordinates.label(place) for place in on_bound]
    end, alpha = round_parameters(coordinates.at(best[:-1])), float(f"{math.exp(best[-1]):.6g}")
    return Descent(value, end, alpha, status, labels, search.path, search.evaluations)


FIRST_ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # alphas that a start is tried with, for k(x, x) = 1
_SMOOTH_STEPS, _SMOOTH_GAIN = 8, 5e-3  # of the first smooth fit, which only has to be roughly right
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
    start = best_start(criterion, Matern(typical_width(Matern(), columns), nu=2.5))
    smooth = descend(criterion, start.kernel, start.alpha, steps=_SMOOTH_STEPS, gain=_SMOOTH_GAIN)
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


def best_start(criterion: HeldOutCriterion, kernel: Kernel) -> Step:
    """A kernel with the best of five alphas."""
    alpha, value = criterion.best_alpha(kernel, FIRST_ALPHAS)
    return Step(value, kernel, alpha)
