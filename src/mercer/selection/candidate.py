"""A candidate: one kernel, and its held-out predictions for any alpha and every set of rows that is left out."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.data.checks import sizes
from mercer.data.rows import Array, Rows
from mercer.errors import MercerError, refuse_if
from mercer.kernels.base import Kernel
from mercer.kernels.products import Linear
from mercer.kernels.tiles import between, blocks
from mercer.selection.digits import Rounding, lost_labels, tie
from mercer.selection.removals import Removals, UsedSets, class_weights, twins, used_only
from mercer.solvers import DualSystem, PrimalSystem
from mercer.solvers.cholesky import largest_eigenvalue, rich_start
from mercer.solvers.gram import training_matrix
from mercer.solvers.leave_out import Dual, Gram, Inverted, LeaveOut, SingularError, Spectral
from mercer.solvers.plan import EPS
from mercer.solvers.primal import Explicit
from mercer.solvers.problem import Problem

# Y - E has too few digits of a prediction below this share of the targets, and in an ill-conditioned system below a
# larger one, up to the second number.
_FEW_DIGITS, _CANCELLED = 1e-6, 1e-3
_PAIRS = 8  # kernel values that are computed once more
_TINY = 1e-290  # below this a number has few digits


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of one kernel and alpha at every tested row of every removal.

    Attributes
    ----------
    values : ndarray of shape (tested rows, t)
        In the order of `Removals.rows`; `Problem.centre` is not added to them.
    condition : float
        Estimated condition number of the full system, or what stands for it where digits are lost otherwise: relative
        errors are about this, times the precision.
    refits : int
        How many removals were refitted because the closed form does not hold there.
    terms : ndarray of shape (tested rows,) or None
        Sizes of the terms that each prediction is the sum of, where ties must not be broken by rounding.
    cancelled : bool
        Whether some predictions may have few digits, which is accepted where only their differences from the targets
        count (`errors_only`), or labels alone.
    """

    values: Array
    condition: float
    refits: int
    terms: Array | None = None
    cancelled: bool = False


def weigh(matrix: Array, problem: Problem) -> Array:
    """V M V of a matrix of the rows with weight, in place."""
    if problem.weights is not None:
        matrix *= problem.root[:, None]
        matrix *= problem.root
    return matrix


@dataclass(eq=False, repr=False)
class Candidate:
    """One kernel on all rows: the matrices that every alpha shares, and the held-out predictions of each alpha.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    rows : Rows
        All rows, or the Gram matrix for a precomputed kernel.
    problem : Problem
        Targets, weights, intercept.
    removals : Removals
        What is left out.
    route : {"inverse", "spectral", "primal", "refit"}
        How P is computed.
    whole : bool, default=False
        With the spectral route, whether all of P is formed for each alpha.
    sets : UsedSets or None
        That of problem and removals, where the caller has it ready.
    errors_only : bool, default=False
        Whether only the differences between predictions and targets count, so that digits of small predictions of rows
        left out alone are not worth computing.
    ranks : bool, default=False
        Whether the order and the equality of predictions count. Y - E rounds them by an error that depends on Y, so
        every prediction is then computed by itself. Otherwise only those are that have lost digits.
    """

    kernel: Kernel
    rows: Rows
    problem: Problem
    removals: Removals
    route: str
    whole: bool = False
    sets: UsedSets | None = None
    errors_only: bool = False
    ranks: bool = False

    def __post_init__(self) -> None:
        kernel, rows, problem, removals = self.kernel, self.rows, self.problem, self.removals
        self.used = self.sets or UsedSets(problem, removals)
        # targets in units of their size, so that no coefficient vanishes or overflows
        self.unit, self.targets = sizes(problem.Y), problem.Y.shape[1]
        self.problem = replace(problem, Y=problem.Y / self.unit)
        self._largest_target = np.abs(self.problem.Y).max(axis=0, initial=0.0)
        if self.route == "primal":
            phi = np.asarray(kernel.features(rows), dtype=np.float64)
            # columns as they are have no rounding error; others have one of their size
            with np.errstate(over="ignore"):
                self.rounded = None if isinstance(kernel, Linear) else np.linalg.norm(phi, axis=0)
            self.shift = np.median(phi, axis=0) if problem.intercept else np.zeros(phi.shape[1])
            phi = phi - self.shift  # which the intercept takes up: features far from zero lose no digits
            self.primal = PrimalSystem(phi, problem.weights, intercept=problem.intercept)
            self.groups, self.first = twins(phi, self.problem, removals)
        else:
            self._prepare_dual()

    def _prepare_dual(self) -> None:
        problem, self.new, self.largest = self.problem, None, 0.0
        K = training_matrix(self.kernel, self.rows)
        self.groups, self.first = twins(K, problem, self.removals)
        if len(problem.unused_rows):
            self.new = problem.root[:, None] * K[np.ix_(problem.used_rows, problem.unused_rows)]
            K = K[np.ix_(problem.used_rows, problem.used_rows)]
        self.K = K = weigh(K, problem)
        if self.route == "spectral":
            self.d, self.U = np.linalg.eigh(K)
            self.U2 = self.U * self.U
        elif self.route == "inverse":
            with np.errstate(over="ignore", invalid="ignore"):
                self.largest = largest_eigenvalue(K.__matmul__, rich_start(len(K)))
            what, must_be = f"Values of {self.kernel!r}", "so small that their sums are finite"
            refuse_if(not self.largest < np.inf, what, must_be, "larger ones", "Scale the columns of X.")
        error = self._kernel_error(K) if problem.labels else 1.0
        self.rounding = Rounding(K, self.new, problem, self.used, error)
        self.problem = replace(problem, Y=self.rounding.Y)

    def _kernel_error(self, K: Array) -> float:
        """Relative error of the largest kernel values between two rows, in units of the precision.

        One pair by itself is exact, and a tile of many may not be.
        """
        if self.kernel.kind == "gram":
            return 1.0
        used, root, places, nearest = self.problem.used_rows, self.problem.root, *np.tile(np.arange(len(K)), (2, 1))
        for part in blocks(len(K)):
            size = np.abs(K[part])
            np.fill_diagonal(size[:, part], 0.0)
            nearest[part] = size.argmax(axis=1)
        largest, found = np.argsort(-np.abs(K[places, nearest]))[:_PAIRS], 1.0
        for i, j in zip(largest, nearest[largest], strict=True):
            one, other = (Rows(self.rows.values[[used[place]]], self.rows.names) for place in (i, j))
            exact = float(between(self.kernel, one, other)[0, 0]) * root[i] * root[j]
            if i != j and abs(exact) > _TINY:
                found = max(found, abs(float(K[i, j]) / exact - 1.0) / EPS)
        return found

    def at(self, alpha: float) -> HeldOut:
        """Held-out predictions for one alpha."""
        if self.route == "primal" and alpha <= 0:  # the dual tells which directions are rounding
            return self._dual.at(alpha)
        if self.route == "refit":
            found = self._refit_all(alpha)
        elif self.route == "primal":
            found = self._read(Explicit(self.primal.at(alpha), self.problem, self.rounded), alpha)
        else:
            found = self._closed_form(alpha)
        values = found.values[:, : self.targets][self.first]
        if found.terms is not None:
            across = self.problem.labels and self.targets > 1
            values = tie(values, found.terms, self.groups, across=across)
        return replace(found, values=values * self.unit, terms=None)

    @cached_property
    def _dual(self) -> Candidate:
        problem = replace(self.problem, Y=self.problem.Y * self.unit)
        return replace(self, problem=problem, route="spectral", whole=False, sets=self.used)

    # -- closed forms ---------------------------------------------------------------------------------

    def _closed_form(self, alpha: float) -> HeldOut:
        system = Gram(self.problem, self.K, self.new, certified=self.kernel.verdict()[0] is True)
        with suppress(SingularError):
            if self.route == "spectral":
                return self._read(Spectral(self.d, self.U, self.U2, system, alpha, whole=self.whole), alpha)
            mirrored = self.used.scattered or self.ranks
            return self._read(Inverted.of_matrix(system, alpha, mirrored=mirrored, largest=self.largest), alpha)
        d, U = np.linalg.eigh(self.K)  # a system that is not positive definite has a spectrum all the same
        with suppress(SingularError):
            return self._read(Spectral(d, U, U * U, system, alpha), alpha)
        return self._refit_all(alpha)

    def _read(self, left: LeaveOut, alpha: float) -> HeldOut:
        """Read the predictions of every removal from P; refit where P_SS is singular or larger than the rest."""
        removals, sets = self.removals, self.used
        if isinstance(left, Dual):
            self.rounding.add_noise(left)
        values = np.zeros((len(removals.rows), self.problem.Y.shape[1]))
        if sets.single:
            e, good = left.single_residuals()
            values[:] = self._predict_alone(left, np.arange(len(e)), e, good)[removals.rows]
            again = np.flatnonzero(~good[removals.rows]).tolist()
            refits = len(again)
        else:
            done = self._read_groups(left, values)
            E = dict(zip(sets.closed, left.residuals([sets.rows[i] for i in sets.closed]), strict=True))
            read = {i: e for i, e in E.items() if e is not None}
            self._read_sets(left, read, alpha, values)
            again = [i for i in range(len(removals)) if i not in done and i not in read]
            refits = sum(i in E or i in sets.grouped for i in again)  # others are larger than what is left
        worst = self._refit_into(values, np.empty(len(values)), again, alpha)
        condition, terms, labels = left.condition, None, self.problem.labels
        if isinstance(left, Dual):
            terms = self.rounding.terms(left) if self.ranks or labels else None
            condition = self.rounding.condition(left, values, terms)
        elif isinstance(left, Explicit) and (self.ranks or labels):
            terms = left.terms()[removals.rows]
            condition = lost_labels(values, terms, condition, 1.0) if labels else condition
        cancelled = labels and not self.ranks
        cancelled |= self.errors_only and bool(self._has_cancelled(values, left).any())
        return HeldOut(values, max(worst, condition), refits, terms=terms, cancelled=cancelled)

    def _predict_alone(self, left: LeaveOut, rows: Array, e: Array, good: Array, base: Array | None = None) -> Array:
        """Y - e / V at rows that are left out one at a time, alone or beside `base`; small ones by themselves."""
        problem, t = self.problem, self.targets
        found = problem.Y[rows] - e / problem.root[rows, None]
        few_digits = self._has_cancelled(found, left) & good
        if self.errors_only:  # those whose errors are small, too
            few_digits &= self._has_cancelled(problem.Y[rows] - found, left)
        small = np.flatnonzero(few_digits)
        if len(small) and not left.degenerate:
            direct = left.single_predictions(rows[small], e[small, :t], base)
            found[small, :t] = direct / problem.root[rows[small], None]
        return found

    def _read_groups(self, left: LeaveOut, values: Array) -> set[int]:
        """Removals of one row beside another removal, from that one's factor. Returns which were read."""
        removals, done = self.removals, set[int]()
        for number, members in self.used.groups.items():
            at, base = removals.starts[members], self.used.rows[number]
            more = left.one_more(base, removals.rows[at])
            if more is not None:
                values[at] = self._predict_alone(left, removals.rows[at], *more, base)
                done.update(np.array(members)[more[1]].tolist())
        return done

    def _has_cancelled(self, values: Array, left: LeaveOut) -> Array:
        """Rows of which Y - E has too few digits: predictions far smaller than the targets, labels that are close."""
        if self.ranks:
            return np.ones(len(values), dtype=bool)
        share, values = min(max(_FEW_DIGITS, 10 * EPS * left.condition), _CANCELLED), values[:, : self.targets]
        if self.problem.labels and self.targets > 1:
            ranked = np.sort(values, axis=1)
            return np.asarray(ranked[:, -1] - ranked[:, -2] < share)
        return np.asarray((np.abs(values) < share * self._largest_target).any(axis=1))

    def _read_sets(self, left: LeaveOut, E: dict[int, Array], alpha: float, values: Array) -> None:
        """Y - E at test rows with weight, f(x0) - u_S(x0)'E_S at the others; small ones by themselves."""
        problem, removals, sets = self.problem, self.removals, self.used
        places = problem.place[removals.rows]
        for i, e in E.items():
            part, at = removals.part(i), sets.at[i]
            own = e if at is None else e[at]
            if not len(problem.unused_rows):
                values[part] = own
                continue
            mine = places[part] >= 0
            values[part][mine] = own
            others = np.searchsorted(problem.unused_rows, removals.tests[i][~mine])
            if left.new_a is not None and left.new_u is not None and len(others):
                values[part][~mine] = left.new_a[others] - left.new_u[sets.rows[i]][:, others].T @ e
        numbers = np.repeat(np.arange(len(removals)), removals.counts)
        read = np.isin(numbers, list(E))
        weighted = read & (places >= 0)
        values[weighted] = problem.Y[removals.rows[weighted]] - values[weighted] / problem.root[places[weighted], None]
        small = read & self._has_cancelled(values, left)
        for i in np.unique(numbers[small]).tolist():
            part = removals.part(i)
            direct = self._direct(i, E[i], left, alpha)
            values[part][small[part], : self.targets] = direct[small[part]]

    def _direct(self, i: int, e: Array, left: LeaveOut, alpha: float) -> Array:
        """Predictions of removal i from the coefficients of the model without it, and not as differences from Y."""
        problem, test, at, t = self.problem, self.removals.tests[i], self.used.at[i], self.targets
        if left.degenerate:
            return self.refit(i, alpha)[0][:, :t]
        places, rows, direct = problem.place[test], self.used.rows[i], np.empty((len(test), t))
        mine = places >= 0
        found = left.predictions(rows, e[:, :t])
        direct[mine] = (found if at is None else found[at]) / problem.root[places[mine], None]
        if not mine.all() and self.new is not None and isinstance(left, Dual):
            a, b = left.without(rows, e[:, :t])
            direct[~mine] = self.new[:, np.searchsorted(problem.unused_rows, test[~mine])].T @ a + b
        return direct

    # -- refitting: the definition itself, where closed forms do not pay or do not hold --------------

    def _refit_all(self, alpha: float) -> HeldOut:
        count = len(self.removals.rows)
        values, terms = np.empty((count, self.problem.Y.shape[1])), np.empty(count)
        worst = self._refit_into(values, terms, range(len(self.removals)), alpha)
        return HeldOut(values, worst, len(self.removals), terms=terms)

    def _refit_into(self, values: Array, terms: Array, numbers: Iterable[int], alpha: float) -> float:
        """Put predictions of refitted removals in `values`, sizes of terms in `terms`; returns the worst condition."""
        worst = 1.0
        for i in numbers:
            part = self.removals.part(i)
            values[part], terms[part], condition = self.refit(i, alpha)
            worst = max(worst, condition)
        return worst

    def refit(self, i: int, alpha: float) -> tuple[Array, Array, float]:
        """Predictions of removal i by fitting the other rows anew, their terms and condition (see `HeldOut`)."""
        problem, test, root = self.problem, self.removals.tests[i], self.problem.root
        mask = np.ones(problem.n, dtype=bool)
        mask[self.removals.sets[i]] = False
        train = used_only(problem.place[np.flatnonzero(mask)])
        if self.route == "primal":
            return self._refit_primal(train, test, alpha)
        K = self.K[np.ix_(train, train)]
        if problem.weights is not None:
            K /= root[train, None] * root[train]
        weights = None if problem.weights is None else root[train] ** 2
        if problem.balance is not None:  # classes count, and so do their rows, whatever they weigh
            own = np.ones(int(mask.sum())) if problem.weights is None else problem.weights[mask]
            weights = (own * class_weights(np.unique(problem.balance[mask], return_inverse=True)[1], own))[own > 0]
        system = DualSystem(K, weights, intercept=problem.intercept)
        # Hardly penalized, a factor may exist by rounding alone; the spectrum tells what is rounding.
        bare = alpha <= len(train) ** 2 * EPS * float(np.median(np.diagonal(K)))
        solution = system.solve(problem.Y[problem.used_rows[train]], alpha, "spectral" if bare else "cholesky")
        del K, system
        places = problem.place[test]
        mine = places >= 0
        against = np.empty((len(places), len(train)))
        against[mine] = self.K[np.ix_(places[mine], train)] / (root[places[mine], None] * root[train])
        if self.new is not None and not mine.all():
            others = np.searchsorted(problem.unused_rows, test[~mine])
            against[~mine] = (self.new[np.ix_(train, others)] / root[train, None]).T
        values, condition, t = against @ solution.dual + solution.intercept, solution.route.condition, self.targets
        terms = np.abs(against) @ np.abs(solution.dual[:, :t]).max(axis=1) + float(problem.intercept)
        if problem.labels:
            condition = lost_labels(values[:, :t], terms, condition, self.rounding.error)
        return values, terms, condition

    def _refit_primal(self, train: Array, test: Array, alpha: float) -> tuple[Array, Array, float]:
        """Refit through explicit features; every row has a positive weight with this method."""
        problem, phi = self.problem, self.primal.features
        weights = None if problem.weights is None else problem.weights[train]
        solution = PrimalSystem(phi[train], weights, intercept=problem.intercept).at(alpha).solve(problem.Y[train])
        if solution.primal is None:
            raise MercerError("Internal error: the primal solution has no weights.")
        w, condition = np.abs(solution.primal).max(axis=1), solution.route.condition
        if self.rounded is not None:  # errors of the features before they were moved
            lost, size = np.abs(phi[train] + self.shift) @ w, float(np.linalg.norm(problem.Y[train]))
            condition = max(condition, float(np.linalg.norm(lost)) / max(size, 1e-300))
        terms = np.abs(phi[test]) @ w + float(problem.intercept)
        return phi[test] @ solution.primal + solution.intercept, terms, condition
