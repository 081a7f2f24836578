"""One system per cell of a partition: coefficients, and held-out predictions of every row in closed form.

The system of a cell is that of kernel ridge regression on its rows S, A = V K_SS V + alpha I in weighted coordinates.
A training row is predicted by the cells that would answer it as a new row, each without the row (or its fold): where
it is in the cell's system by E_R = P_RR^-1 a_R, where it is not by the cell as it is. These are the numbers that
refitting with the same partition, kernel and alpha gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from mercer.data.folds import Split
from mercer.data.rows import Array, Rows
from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Stationary
from mercer.kernels.tiles import between, blocks, gram, underflow_is_zero
from mercer.kernels.views import On
from mercer.local.partition import Partition
from mercer.runtime import run
from mercer.selection.candidate import weigh
from mercer.selection.ladders import column_spreads
from mercer.solvers import DualSystem
from mercer.solvers.cholesky import largest_eigenvalue, potrf, potri, rich_start, solve_columns
from mercer.solvers.dual import Eigendecomposition
from mercer.solvers.gram import times
from mercer.solvers.leave_out import Dual, Gram, Inverted, SingularError, Spectral
from mercer.solvers.problem import Problem, take_rows

_WORTH_A_THREAD = 40_000  # kernel values for the new rows of a cell, on the average: below, threads wait for each other
_ROUTED = 65_536  # rows that are routed to their cells at a time
_MARGIN = 0.1  # of the range of the targets, beyond which no cell predicts
ENOUGH_RESIDUALS = 200  # in one system, for intervals of a width of their own


def spread_of_columns(rows: Rows) -> Array:
    """The spread of each column, 1 for a single one."""
    spreads = column_spreads(rows)
    return np.ones(rows.width) if spreads is None else spreads


def inverse_widths(kernel: Kernel, rows: Rows, otherwise: Array) -> Array:
    """What each column is multiplied by before rows are split: one over the smallest width that the kernel has there.

    Columns without a width have one over `otherwise`, the spreads of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.local.cells import inverse_widths
    >>> kernel = Gaussian(0.5).on([0]) * Gaussian(2.0).on([0]) + Linear()
    >>> inverse_widths(kernel, as_rows([[0.0, 0.0]]), np.array([1.0, 10.0])).tolist()
    [2.0, 0.1]
    """

    def largest(part: Kernel, places: Array) -> Array:
        found = np.zeros(rows.width)
        if isinstance(part, Stationary):
            found[places] = 1.0 / np.broadcast_to(np.asarray(part.width, dtype=np.float64), len(places))
        elif isinstance(part, On):
            found = largest(part.base, places[part.places(rows)])
        elif isinstance(part, Sum | Product | Scaled):
            found = np.max([largest(member, places) for member in part.members().values()], axis=0)
        return found

    found = largest(kernel, np.arange(rows.width))
    return np.where(found > 0, found, 1.0 / otherwise)


class TrailingBlock(Dual):
    """P at the last rows of a system: their block of G is the inverse of U_CC'U_CC, the last block of the factor.

    Parameters
    ----------
    A : ndarray of shape (s, s)
        V K V, which is overwritten.
    alpha : float
        Added to its diagonal.
    problem : Problem
        Targets.
    count : int
        How many rows, of the last ones, can be left out.

    Raises
    ------
    SingularError
        If the system is not positive definite.
    """

    def __init__(self, A: Array, alpha: float, problem: Problem, count: int) -> None:
        A.flat[:: len(A) + 1] += alpha
        size = float(np.abs(A).sum(axis=0).max())
        if not potrf(A):
            raise SingularError

        solve = partial(solve_columns, A)
        self.condition = size * largest_eigenvalue(solve, rich_start(len(A)))
        self.set_solution(Gram(problem), solve)
        block = A[len(A) - count :, len(A) - count :].copy()
        potri(block)
        self.pivots = np.diagonal(block).copy()
        if self.border is not None:
            self.pivots -= self.border.unit[len(A) - count :, 0] ** 2

    def last_residuals(self) -> Array:
        """a_i / P_ii of the last rows; NaN where P_ii is not positive."""
        pivots = np.where(self.pivots > 0, self.pivots, np.nan)
        return np.asarray(self.a[len(self.a) - len(pivots) :] / pivots[:, None])


@dataclass(frozen=True, eq=False)
class CellProblem:
    """Rows, targets and a partition: all that candidates of one metric share.

    Attributes
    ----------
    rows, problem : Rows, Problem
        Rows and their targets: those with weight first, then those of weight zero, which are only predicted.
    partition : Partition
        Of the rows with weight, in the metric of the kernel.
    scale : ndarray of shape (d,)
        What columns are multiplied by in that metric.
    system_rows, mix : int
        Rows of a system, and cells that answer a row.
    splits : sequence of Split or None
        What is held out together; None is every row by itself.
    limits : ndarray of shape (2, t) or None
        Least and largest prediction of a cell, less the centre of the problem: a row far from all others must not
        decide the error of all rows.
    """

    rows: Rows
    problem: Problem
    partition: Partition
    scale: Array
    system_rows: int
    mix: int
    splits: Sequence[Split] | None = None
    limits: Array | None = None

    def with_limits(self) -> CellProblem:
        """With limits that are a tenth of the range of the targets beyond it; one cell alone has none."""
        if self.partition.cells == 1:
            return self
        low, high = (at(self.problem.Y[: len(self.partition.points)], axis=0) for at in (np.min, np.max))
        return replace(self, limits=np.stack([low - _MARGIN * (high - low), high + _MARGIN * (high - low)]))

    def clip(self, values: Array) -> Array:
        """Predictions within the limits."""
        return values if self.limits is None else np.clip(values, *self.limits)

    @cached_property
    def answer_order(self) -> tuple[Array, Array, Array]:
        """Answers (row x mix, flat) in the order of the cells that give them, the ends of each cell; their weights."""
        points = (np.asarray(self.rows.values[part]) * self.scale for part in blocks(len(self.rows), _ROUTED))
        parts = [self.partition.answers(some, self.mix) for some in points]
        cells, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.argsort(cells.ravel(), kind="stable")
        return order, np.searchsorted(cells.ravel()[order], np.arange(self.partition.cells + 1)), weights

    def answered_rows(self, cell: int) -> Array:
        """Training rows that a cell answers, ascending."""
        order, ends, weights = self.answer_order
        return np.asarray(order[ends[cell] : ends[cell + 1]] // weights.shape[1])

    @cached_property
    def train_marks(self) -> Array:
        """Which rows each split trains on (splits x n)."""
        return _marks([split.train for split in self.splits or ()], len(self.rows))

    @cached_property
    def test_marks(self) -> Array:
        """Which rows each split predicts (splits x n)."""
        return _marks([split.test for split in self.splits or ()], len(self.rows))

    def refit(self, kernel: Kernel, alpha: float, members: Array) -> tuple[Array, Array]:
        """Dual coefficients (s x t) and constant of a model of these rows; of minimum norm if it is singular."""
        rows, problem = take_rows(self.rows, self.problem, members)
        system = DualSystem(gram(kernel, rows), problem.weights, intercept=problem.intercept)
        solution = system.solve(problem.Y, alpha, "cholesky")
        return solution.dual, solution.intercept

    def values(self, kernel: Kernel, new: Array, members: Array, model: tuple[Array, Array]) -> Array:
        """Predictions at rows of the table by a model of some rows."""
        there, known = (Rows(self.rows.values[numbers], self.rows.names) for numbers in (new, members))
        return times(kernel, there, known, model[0]) + model[1]


def _marks(sets: list[Array], n: int) -> Array:
    """Which of n rows are in each set (sets x n)."""
    return np.array([np.isin(np.arange(n), rows) for rows in sets], dtype=bool).reshape(-1, n)


@dataclass(frozen=True, eq=False)
class CellSolution:
    """The model of one cell.

    Attributes
    ----------
    members : ndarray of int, shape (s,)
        Rows of its system.
    dual, constant : ndarray of shape (s, t) and (t,)
        f(x) = k(x, X_members) dual + constant.
    held_out : ndarray of shape (rows, t) or (splits, rows, t)
        Predictions at the rows that the cell answers by the model without them.
    condition : float
        Estimated condition number of its system; infinite if that is singular.
    left_out : ndarray of shape (rows, t) or None
        With splits, predictions at the same rows by the model without each row alone; NaN where that is not known.
    """

    members: Array
    dual: Array
    constant: Array
    held_out: Array
    condition: float
    left_out: Array | None = None


class CellSystem:
    """The system of a cell for one kernel, which is solved for one alpha after the other.

    Parameters
    ----------
    cells, cell, kernel : CellProblem, int, Kernel
        Whose system it is.

    Attributes
    ----------
    members, answered : ndarray of int
        Rows of the system, and rows that the cell answers, ascending.
    own : int
        The place in `members` from which on its rows are among those answered, ascending, so that they can be left out
        from the end.
    K, problem : ndarray of shape (s, s), Problem
        V K V and the targets of the members.
    """

    @underflow_is_zero
    def __init__(self, cells: CellProblem, cell: int, kernel: Kernel) -> None:
        self.cells, self.cell, self.kernel, self.answered = cells, cell, kernel, cells.answered_rows(cell)
        members = cells.partition.system(cell, cells.system_rows)
        inside = np.isin(members, self.answered)
        self.members = np.concatenate([members[~inside], np.sort(members[inside])])
        self.own = len(members) - int(np.count_nonzero(inside))
        rows, self.problem = take_rows(cells.rows, cells.problem, self.members)
        self.K = weigh(gram(kernel, rows), self.problem)

    @underflow_is_zero
    def at(self, alpha: float, *, last: bool = False) -> CellSolution:
        """Coefficients and held-out predictions for one alpha; `last`: K is not needed again and may be overwritten."""
        A = self.K if last else self.K.copy()
        return self._leave_rows_out(A, alpha) if self.cells.splits is None else self._leave_splits_out(A, alpha)

    def _leave_rows_out(self, A: Array, alpha: float) -> CellSolution:
        """Every row that the cell answers, left out by itself."""
        cells, kernel, members, problem = self.cells, self.kernel, self.members, self.problem
        mine, targets = members[self.own :], self.problem.Y.shape[1]
        try:
            left = TrailingBlock(A, alpha, problem, len(mine))
            model, E, condition = (problem.root[:, None] * left.a, left.b), left.last_residuals(), left.condition
        except SingularError:
            model, E = cells.refit(kernel, alpha, members), np.full((len(mine), targets), np.nan)
            condition = math.inf
        held_out = np.empty((len(self.answered), targets))
        held_out[np.searchsorted(self.answered, mine)] = self._predictions(E)
        others = np.setdiff1d(self.answered, mine)
        if len(others):
            held_out[np.searchsorted(self.answered, others)] = cells.values(kernel, others, members, model)
        for row in mine[np.isnan(E).any(axis=1)]:  # P_ii is zero, or the system is singular
            rest = members[members != row]
            refitted = cells.values(kernel, np.array([row]), rest, cells.refit(kernel, alpha, rest))
            held_out[np.searchsorted(self.answered, row)] = refitted
        return CellSolution(members, *model, cells.clip(held_out), condition)

    def _predictions(self, E: Array) -> Array:
        """y - E at the last rows of the system, E in weighted coordinates."""
        last = slice(len(self.members) - len(E), None)
        return np.asarray(self.problem.Y[last] - E / self.problem.root[last, None])

    def _leave_splits_out(self, A: Array, alpha: float) -> CellSolution:
        """Rows that the cell answers, by the model without what their split leaves out.

        A cell that loses more than half of its rows gets the nearest rows of the training part in their place.
        """
        cells, kernel, members, answered = self.cells, self.kernel, self.members, self.answered
        left, root = _leave_out(A, alpha, self.problem), self.problem.root[:, None]
        held_out = np.full((len(cells.train_marks), len(answered), self.problem.Y.shape[1]), np.nan)
        inside = np.searchsorted(answered, members[self.own :])
        for place in np.flatnonzero(cells.test_marks[:, answered].any(axis=1)):
            new = cells.test_marks[place, answered]
            out = np.flatnonzero(~cells.train_marks[place, members])
            E = None if len(out) > len(members) // 2 else left.residuals([out])[0]
            if E is None:
                rest = cells.partition.system(self.cell, cells.system_rows, ~cells.train_marks[place])
                model = cells.refit(kernel, alpha, rest)
            else:
                every = np.full((len(members), E.shape[1]), np.nan)
                every[out] = E
                held_out[place, inside] = self._predictions(every[self.own :])
                held_out[place, ~new] = np.nan  # left out, but not tested
                new = new & np.isnan(held_out[place]).any(axis=1)
                if not new.any():
                    continue
                (a, b), rest = left.without(out, E), members
                model = root * a, b
            held_out[place, new] = cells.values(kernel, answered[new], rest, model)
        E, good = left.single_residuals()
        left_out = np.full(held_out.shape[1:], np.nan)
        left_out[inside] = self._predictions(np.where(good[:, None], E, np.nan)[self.own :])
        models = members, root * left.a, left.b
        return CellSolution(*models, cells.clip(held_out), left.condition, cells.clip(left_out))


def _leave_out(K: Array, alpha: float, problem: Problem) -> Dual:
    """P of a system whose matrix V K V may be overwritten."""
    try:
        largest = float(np.abs(K).sum(axis=0).max())
        return Inverted.of_matrix(Gram(problem, K), alpha, mirrored=True, largest=largest)
    except SingularError:
        spectrum = Eigendecomposition(K)
        system = Gram(problem)
        return Spectral(spectrum.values, spectrum.vectors, spectrum.vectors**2, system, alpha, whole=True)


@dataclass(frozen=True, eq=False)
class LocalFit:
    """The models of all cells as a value: f(x) is the weighted mean of the cells that answer x.

    Attributes
    ----------
    kernel, alpha : Kernel, float
        The same in all cells.
    cells : CellProblem
        Rows, targets and partition.
    solutions : sequence of CellSolution
        The model of each cell: a list, or a file of them.
    """

    kernel: Kernel
    alpha: float
    cells: CellProblem
    solutions: Sequence[CellSolution]

    @classmethod
    def of(
        cls, cells: CellProblem, kernel: Kernel, alpha: float, step: Callable[[], None] = lambda: None,
        before: LocalFit | None = None,
    ) -> LocalFit:  # fmt: skip
        """Solve every cell, calling `step` after each; of `before` those with the same rows are taken as they are."""

        def solve(cell: int) -> CellSolution:
            old = None if before is None else before.solution_for(cells, cell)
            solution = CellSystem(cells, cell, kernel).at(alpha, last=True) if old is None else old
            step()
            return solution

        return cls(kernel, alpha, cells, run(solve, range(cells.partition.cells)))

    def solution_for(self, cells: CellProblem, cell: int) -> CellSolution | None:
        """The solution of a cell if it has, and answers, the same rows among other cells."""
        old, mine = self.solutions[cell], cells.answered_rows(cell)
        same = len(old.held_out) == len(mine) and np.array_equal(self.cells.answered_rows(cell), mine)
        system = cells.partition.system(cell, cells.system_rows)
        return old if same and np.array_equal(np.sort(old.members), np.sort(system)) else None

    @property
    def weights(self) -> Array | None:
        """Sample weights of the rows."""
        return self.cells.problem.weights

    @cached_property
    def held_out(self) -> Array:
        """Predictions of training rows without themselves (n x t), or without what splits leave out (splits x n x t).

        NaN for rows that a split does not test.
        """
        return self._mix([solution.held_out for solution in self.solutions])

    def left_out(self) -> Array:
        """With splits, predictions of training rows without each row alone (n x t); NaN where that is not known."""
        return self._mix([s.held_out if s.left_out is None else s.left_out for s in self.solutions])

    def _mix(self, parts: list[Array]) -> Array:
        """Predictions of rows from those of the cells that answer them."""
        order, _, weights = self.cells.answer_order
        joined = np.concatenate(parts, axis=-2)
        answers = np.empty_like(joined)
        answers[..., order, :] = joined
        answers = answers.reshape(*joined.shape[:-2], *weights.shape, -1) * weights[..., None]
        return np.asarray(answers.sum(axis=-2) + self.cells.problem.centre)

    @cached_property
    def residuals(self) -> Array:
        """Held-out predictions, their mean if several splits test a row, less targets (n x t); NaN if untested."""
        found = self.held_out
        if found.ndim == 3:
            count = np.sum(~np.isnan(found), axis=0)
            found = np.where(count > 0, np.nansum(found, axis=0) / np.maximum(count, 1), np.nan)
        return found - (self.cells.problem.Y + self.cells.problem.centre)

    def refit_row(self, row: int, split: int | None) -> Array:
        """The held-out prediction of a row, from refits of the cells that answer it; what closed forms must equal."""
        cells = self.cells
        out = np.arange(len(cells.rows)) == row if split is None else ~cells.train_marks[split]
        answers, weights = cells.partition.answers(cells.rows.values[[row]] * cells.scale, cells.mix)
        total = np.zeros(cells.problem.Y.shape[1])
        for cell, weight in zip(answers[0], weights[0], strict=True):
            members = cells.partition.system(int(cell), cells.system_rows)
            rest = members[~out[members]]
            if split is not None and len(members) - len(rest) > len(members) // 2:
                rest = cells.partition.system(int(cell), cells.system_rows, out)
            model = cells.refit(self.kernel, self.alpha, rest)
            total += weight * cells.clip(cells.values(self.kernel, np.array([row]), rest, model)[0])
        return total + cells.problem.centre

    def _mean_answer(self, X: Array, answer: Callable[[int, Rows], Array], *, factors: bool = False) -> Array:
        """The weighted mean of what cells answer, from a function of a cell and new rows.

        `factors`: whether each answer takes a factor, which is worth a thread.
        """
        cells, weights = self.cells.partition.answers(X * self.cells.scale, self.cells.mix)
        order = np.argsort(cells.ravel(), kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(cells.ravel()[order])) + 1) if len(order) else []
        answers = np.empty((cells.size, self.cells.problem.Y.shape[1]))

        def work(several: slice) -> None:
            for part in parts[several]:
                new = Rows(X[part // cells.shape[1]], self.cells.rows.names)
                answers[part] = answer(int(cells.ravel()[part[0]]), new)

        small = not factors and cells.size * self.cells.system_rows < _WORTH_A_THREAD * len(parts)
        run(work, [slice(None)] if small else blocks(len(parts), 1))
        return np.asarray((answers.reshape(*cells.shape, -1) * weights[..., None]).sum(axis=1))

    @underflow_is_zero
    def values(self, X: Array) -> Array:
        """f at new rows (m x t)."""
        table = self.cells.rows

        def answer(cell: int, new: Rows) -> Array:
            solution = self.solutions[cell]
            centre = self.cells.partition.centres[cell] / self.cells.scale
            rows = Rows(table.values[solution.members], table.names, centre)
            return self.cells.clip(times(self.kernel, new, rows, solution.dual) + solution.constant)

        return self._mean_answer(X, answer) + self.cells.problem.centre

    @underflow_is_zero
    def variance(self, X: Array) -> Array:
        """Posterior variance of f at new rows (m x t), with the prior variance of each cell; factors are made anew."""

        def answer(cell: int, new: Rows) -> Array:
            solution = self.solutions[cell]
            rows, problem = take_rows(self.cells.rows, self.cells.problem, solution.members)
            system = DualSystem(gram(self.kernel, rows), problem.weights, intercept=problem.intercept)
            solved, found = system.at(self.alpha), np.empty((len(new), problem.Y.shape[1]))
            prior = np.maximum(np.einsum("ij,ij->j", problem.Y, solution.dual), 0.0) / len(rows)
            for block in blocks(len(new)):
                k, own = between(self.kernel, new[block], rows).T, self.kernel.diagonal(new[block])
                found[block] = solved.variance(own, k)[:, None] * prior
            return found

        return self._mean_answer(X, answer, factors=True)

    def interval_widths(self, X: Array, confidence: float) -> Array:
        """Half-widths at new rows (m x t): the quantile of the absolute residuals around them.

        With at least 200 residuals in the system of a cell, the k-th smallest of these m, k = ceil(confidence (m + 1));
        otherwise that of all rows, and infinite if there are too few of them for this confidence.
        """

        def quantile(sizes: Array) -> Array:
            rank = math.ceil(round(confidence * (len(sizes) + 1), 9))
            return np.partition(sizes, rank - 1, axis=0)[rank - 1] if rank <= len(sizes) else np.full(t, np.inf)

        sizes, t = np.abs(self.residuals), self.residuals.shape[1]
        known = np.asarray(np.isfinite(sizes).all(axis=1))
        everywhere = quantile(sizes[known])

        def answer(cell: int, new: Rows) -> Array:
            members = self.solutions[cell].members
            near = sizes[members[known[members]]]
            return np.broadcast_to(quantile(near) if len(near) >= ENOUGH_RESIDUALS else everywhere, (len(new), t))

        return self._mean_answer(X, answer)
