"""Held-out predictions of one kernel for every alpha and every removal, by the route the plan chose."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, MercerError, sentence
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import blocks
from mercer.selection.leave_out import LeaveOut, SingularError, as_runs
from mercer.selection.leave_out_dual import Dual, Inverted, Spectral
from mercer.selection.leave_out_primal import Explicit
from mercer.selection.metrics import sizes
from mercer.selection.problem import Problem, Removals, balanced
from mercer.solvers import DualSystem, PrimalSystem, Solution
from mercer.solvers.cholesky import largest_eigenvalue, rich_start
from mercer.solvers.gram import training_matrix
from mercer.solvers.route import EPS

# Y - E has too few digits of a prediction below this share of the targets, and in an ill-conditioned system below a
# larger one, up to the second number.
_FEW_DIGITS, _CANCELLED = 1e-6, 1e-3
_ALL_SMALL = 0.1
_LUCK = 2.0  # noise of one draw may be so much smaller than rounding
_UNDECIDED = 0.01  # rounding may change the label of a prediction of which it may be this share


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
    spread : float
        Relative standard error of squared errors that is due to chance in their computation; 0 where there is none.
    """

    values: Array
    condition: float
    refits: int
    spread: float = 0.0


class KernelSystem:
    """The matrices of one kernel that every alpha shares.

    Parameters
    ----------
    kernel : Kernel
        The candidate.
    rows : Rows
        All rows, or the Gram matrix for a precomputed kernel.
    problem : Problem
        Targets, weights, intercept.
    removals : Removals
        What is left out.
    route : {"inverse", "spectral", "primal", "refit"}
        How P is had.
    whole : bool
        With the spectral route, whether all of P is formed for each alpha.
    """

    def __init__(
        self, kernel: Kernel, rows: Rows, problem: Problem, removals: Removals, route: str, *, whole: bool
    ) -> None:
        # targets in units of their size, so that no coefficient vanishes or overflows
        self.unit = sizes(problem.Y)
        self.targets = problem.Y.shape[1]
        problem = replace(problem, Y=problem.Y / self.unit)
        self.kernel, self.rows, self.problem, self.removals = kernel, rows, problem, removals
        self.route, self.whole = route, whole
        # Leave-one-out of rows that all have weight goes by diagonals alone, and needs no more than this.
        self._by_diagonal = removals.single and not len(problem.unused)
        every = not len(problem.unused)
        self._sets = removals.sets if every else [_without_minus(problem.place[rows]) for rows in removals.sets]
        if not every and any(len(rows) == len(problem.used) for rows in self._sets):
            must_be = "positive for at least one training row of every split"
            raise InputError(sentence("sample_weight", must_be, "a split whose training rows all weigh nothing"))
        self._runs = [] if self._by_diagonal else [as_runs(rows) for rows in self._sets]
        self._groups = {} if len(problem.unused) else _by_base(removals)
        self._grouped = {i for members in self._groups.values() for i in members}
        small = [2 * len(rows) <= len(problem.used) for rows in self._sets]
        self._closed = [i for i in range(len(removals)) if small[i] and i not in self._grouped]
        self._at = {} if self._by_diagonal else {i: self._where(i) for i in self._closed}
        self._mirrored = not removals.single and any(_scattered(rows) for rows in self._sets)
        self._size = np.abs(problem.Y).max(axis=0, initial=0.0)
        self._K: Array | None = None
        self.new: Array | None = None
        self.largest = 0.0
        if route == "primal":
            self._prepare_primal()
        else:
            self._prepare_dual()
            self._add_probes()

    def _prepare_dual(self) -> None:
        problem = self.problem
        K = training_matrix(self.kernel, self.rows)
        if problem.weights is not None:
            if len(problem.unused):
                self.new = problem.root[:, None] * K[np.ix_(problem.used, problem.unused)]
                K = K[np.ix_(problem.used, problem.used)]
            K *= problem.root[:, None]
            K *= problem.root
        self._K = K
        if self.route == "spectral":
            self.d, self.U = np.linalg.eigh(K)
            self.U2 = self.U * self.U
        elif self.route == "inverse":
            self.largest = largest_eigenvalue(K.__matmul__, rich_start(len(K)))

    def _add_probes(self) -> None:
        """Two targets more, by which `_felt` tells what rounding does to the others.

        Noise of the size in which products with V K V are rounded; and, put in by `_scaled_at` in place of P V Y, noise
        of the size in which P is.
        """
        problem, noise = self.problem, np.zeros((self.problem.n, 2))
        noise[problem.used, 0] = self._noise[0] * np.sqrt(np.abs(np.diagonal(self.K))) / problem.root
        self.problem = replace(problem, Y=np.column_stack([problem.Y, noise]))

    @cached_property
    def _together(self) -> Array:
        """Which removals are scored together: those of one row, all or those that share another removal."""
        removals = self.removals
        if removals.bases is None:
            alone = removals.counts == 1
            return np.asarray(np.where(alone, 0, np.cumsum(~alone) - (not alone.any())), dtype=np.intp)
        own = np.where(removals.bases >= 0, removals.bases + len(removals), np.arange(len(removals)))
        return np.unique(own, return_inverse=True)[1]

    @cached_property
    def _noise(self) -> Array:
        return np.random.default_rng(0).normal(size=(2, len(self.problem.used)))

    def _prepare_primal(self) -> None:
        problem = self.problem
        phi = np.asarray(self.kernel.features(self.rows), dtype=np.float64)
        self.primal = PrimalSystem(phi, problem.weights, intercept=problem.intercept)

    @property
    def K(self) -> Array:
        """V K V of the rows with weight, made when a refit on the primal route asks for it."""
        if self._K is None:
            root = self.problem.root
            self._K = training_matrix(self.kernel, self.rows) * root[:, None] * root
        return self._K

    def at(self, alpha: float) -> HeldOut:
        """Held-out predictions for one alpha."""
        found = self._scaled_at(alpha)
        return replace(found, values=found.values[:, : self.targets] * self.unit)

    def _scaled_at(self, alpha: float) -> HeldOut:
        if self.route == "refit":
            return self._refitted(alpha)
        try:
            left = self._leave_out(alpha)
        except SingularError:
            return self._singular(alpha)
        if isinstance(left, Dual):
            left.a[:, -1] = self._noise[1] * np.sqrt(np.abs(left.diagonal()))
        return self._read(left, alpha)

    def _leave_out(self, alpha: float) -> LeaveOut:
        problem = self.problem
        if self.route == "primal":
            if alpha <= 0:  # the dual tells which directions are rounding
                raise SingularError
            return Explicit(self.primal.at(alpha), problem)
        if self.route == "spectral":
            return Spectral(self.d, self.U, self.U2, self.K, alpha, problem, self.new, whole=self.whole)
        certified = self.kernel.verdict()[0] is True
        return Inverted.of_matrix(
            self.K, alpha, problem, self.new, mirrored=self._mirrored, largest=self.largest, certified=certified
        )

    def _singular(self, alpha: float) -> HeldOut:
        """A system that is not positive definite: the spectrum of its own, or refits where that fails too."""
        d, U = np.linalg.eigh(self.K)
        try:
            left = Spectral(d, U, U * U, self.K, alpha, self.problem, self.new)
        except SingularError:
            return self._refitted(alpha)
        return self._read(left, alpha)

    def _read(self, left: LeaveOut, alpha: float) -> HeldOut:
        problem, removals, t = self.problem, self.removals, self.targets
        values = np.empty((len(removals.rows), problem.Y.shape[1]))
        if self._by_diagonal:
            return self._read_singles(left, alpha, values)
        # Where more rows are left out than are left, fitting those is cheaper, and more exact.
        closed = self._closed
        residuals = left.residuals([self._sets[i] for i in closed], [self._runs[i] for i in closed])
        found = dict(zip(closed, residuals, strict=True))
        done = set()
        for base, members in self._groups.items():
            rows = removals.rows[removals.starts[members]]
            more = left.one_more(self._sets[base], rows)
            if more is not None:
                left_out, good = more
                found_here = problem.Y[rows] - left_out / problem.root[rows, None]
                small = self._small(found_here, left) & good
                if small.any():
                    direct = left.single_predictions(rows[small], left_out[small, :t], self._sets[base])
                    found_here[small, :t] = direct / problem.root[rows[small], None]
                values[removals.starts[members]] = found_here
                done.update(np.array(members)[good].tolist())
        refits, worst = 0, 1.0
        for i in range(len(removals)):
            if i in done:
                continue
            e = found.get(i)
            if e is None:
                values[removals.part(i)], condition = self.refit(i, alpha)
                worst = max(worst, condition)
                refits += i in found or i in self._grouped
            else:
                values[removals.part(i)] = self._predictions(i, e, left, alpha)
        return HeldOut(values, max(worst, self._condition(left, values)), refits)

    def _read_singles(self, left: LeaveOut, alpha: float, values: Array) -> HeldOut:
        """Leave-one-out, all rows at once: Y - a / diag P."""
        problem, rows, t = self.problem, self.removals.rows, self.targets
        e, good = left.single_residuals()
        found = problem.Y - e / problem.root[:, None]
        small = np.flatnonzero(self._small(found, left) & good)
        if len(small) and not left.degenerate:
            found[small, :t] = left.single_predictions(small, e[small, :t]) / problem.root[small, None]
        values[:] = found[rows]
        bad = np.flatnonzero(~good[rows])
        for i in bad:
            values[i] = self.refit(int(i), alpha)[0]
        return HeldOut(values, self._condition(left, values), len(bad))

    def _condition(self, left: LeaveOut, values: Array) -> float:
        """That of the system, or how much larger the terms are whose sums predictions are.

        Larger than the targets, for numbers. Of labels the sign counts: terms are held against the predictions
        themselves, and where rounding may decide a label, against that row's own.
        """
        if not isinstance(left, Dual) or left.degenerate:
            return left.condition
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            condition = min(left.condition, self._felt(left, values))
            if self.problem.labels:
                return lost_labels(values[:, : self.targets], self._terms(left), condition)
            diagonal = np.abs(np.diagonal(self.K))
            terms = np.linalg.norm(np.sqrt(diagonal)[:, None] * left.a, axis=0) * np.sqrt(diagonal.mean())
            lost = (terms / np.sqrt(np.mean(self.problem.Y**2, axis=0)))[: self.targets]
        return max(condition, float(np.nan_to_num(lost, nan=1.0).max(initial=1.0)))

    def _felt(self, left: Dual, values: Array) -> float:
        """What stands for the condition of predictions and residuals.

        Errors dK of K and dP of P change E_S by -P_SS^-1 (P_S. dK a + dP_SS E_S). The two probes are P_SS^-1 P_S. and
        P_SS^-1 times noise, so that their size times that of a and E_S is the error, up to the precision. It is held
        against the residuals of each set, or of all rows where each is left out alone.
        """
        t, Y, removals, problem = self.targets, self.problem.Y, self.removals, self.problem
        E = Y[removals.rows] - values
        p = np.zeros(problem.n)
        p[problem.used] = problem.root * np.sqrt(np.abs(left.diagonal()))
        squares = np.column_stack([E**2, (p[removals.rows, None] * E[:, :t]) ** 2])
        together = self._together
        counts = np.bincount(together, removals.counts)[:, None]
        sums = np.zeros((len(counts), squares.shape[1]))
        np.add.at(sums, np.repeat(together, removals.counts), squares)
        found = np.sqrt(sums / counts)
        E, known, inverse, scaled = np.split(found, [t, t + 1, t + 2], axis=1)
        largest = np.zeros((len(counts), 1))
        np.maximum.at(largest[:, 0], together, [len(rows) for rows in removals.sets])
        diagonal = np.sqrt(np.abs(np.diagonal(self.K)))
        size = np.linalg.norm(diagonal[:, None] * left.a[:, :t], axis=0)
        if self.route == "spectral":  # errors of eigenvalues are relative to the largest
            size = float(np.abs(self.d).max()) * np.linalg.norm(left.a[:, :t], axis=0) / np.sqrt(np.mean(diagonal**2))
        whole = np.sqrt(np.mean(Y[:, :t] ** 2, axis=0))
        errors = _LUCK * (known * size + inverse * np.sqrt(largest) * scaled)
        felt = errors / (whole if problem.labels else np.minimum(whole, E / 2))
        return float(np.nan_to_num(felt, nan=1.0).max(initial=1.0))

    def _terms(self, left: Dual) -> Array:
        """Sum of |k(x, x_j) a_j| over the rows j that are not left out, and of the terms of b, for every tested row."""
        problem, removals = self.problem, self.removals
        a = np.abs(left.a[:, : self.targets]).max(axis=1)
        found = np.full(len(removals.rows), left.b_terms[: self.targets].max())
        if self._by_diagonal:
            every = np.empty(len(a))
            for part in blocks(len(a)):
                K = np.abs(self.K[part])
                every[part] = (K @ a - K.diagonal(part.start) * a[part]) / problem.root[part]
            return found + every[removals.rows]
        for base, members in self._groups.items():
            rows, kept = removals.rows[removals.starts[members]], a.copy()
            kept[self._sets[base]] = 0.0
            K = np.abs(self.K[rows])
            K[np.arange(len(rows)), rows] = 0.0
            found[removals.starts[members]] += K @ kept / problem.root[rows]
        for i in range(len(removals)):
            if i in self._grouped:
                continue
            test, kept = removals.tests[i], a.copy()
            kept[self._sets[i]] = 0.0
            places = problem.place[test]
            mine, others = places >= 0, np.searchsorted(problem.unused, test[places < 0])
            terms = np.empty(len(test))
            terms[mine] = np.abs(self.K[places[mine]]) @ kept / problem.root[places[mine]]
            if len(others) and self.new is not None:
                terms[~mine] = np.abs(self.new[:, others]).T @ kept
            found[removals.part(i)] += terms
        return found

    def _where(self, i: int) -> Array | None:
        """Where the test rows stand in the set left out; None where the two are the same."""
        places = self.problem.place[self.removals.tests[i]]
        return None if np.array_equal(places, self._sets[i]) else np.searchsorted(self._sets[i], places[places >= 0])

    def _small(self, values: Array, left: LeaveOut) -> Array:
        """Rows with a prediction so much smaller than the targets that Y - E has too few digits of it."""
        share = min(max(_FEW_DIGITS, 10 * EPS * left.condition), _CANCELLED)
        found = np.abs(values[:, : self.targets])
        if self.problem.labels and found.mean() < _ALL_SMALL:  # what counts is how they compare with one another
            share = _ALL_SMALL
        return np.asarray((found < share * self._size[: self.targets]).any(axis=1))

    def _predictions(self, i: int, e: Array, left: LeaveOut, alpha: float) -> Array:
        """Y - E at test rows with weight, f(x0) - u_S(x0)'E_S at the others; small ones by themselves."""
        problem, test, at = self.problem, self.removals.tests[i], self._at[i]
        own = e if at is None else e[at]
        if problem.weights is None:
            result = np.asarray(problem.Y[test] - own)
            mine = np.ones(len(test), dtype=bool)
        else:
            places = problem.place[test]
            mine = places >= 0
            result = np.empty((len(places), problem.Y.shape[1]))
            result[mine] = problem.Y[test[mine]] - own / problem.root[places[mine], None]
        others = np.searchsorted(problem.unused, test[~mine])
        if left.new_a is not None and left.new_u is not None and len(others):
            result[~mine] = left.new_a[others] - left.new_u[self._sets[i]][:, others].T @ e
        small = self._small(result, left)
        if not small.any():
            return result
        t = self.targets
        if left.degenerate:
            direct = self.refit(i, alpha)[0][:, :t]
        else:
            direct = np.empty((len(test), t))
            found = left.predictions(self._sets[i], e[:, :t])
            direct[mine] = (found if at is None else found[at]) / problem.root[problem.place[test[mine]], None]
            if len(others) and self.new is not None and isinstance(left, Dual):
                a, b = left.without(self._sets[i], e[:, :t])
                direct[~mine] = self.new[:, others].T @ a + b
        result[small, :t] = direct[small]
        return result

    # -- refitting: the definition itself, where closed forms do not pay or do not hold --------------

    def _refitted(self, alpha: float) -> HeldOut:
        removals = self.removals
        values, worst = np.empty((len(removals.rows), self.problem.Y.shape[1])), 1.0
        for i in range(len(removals)):
            values[removals.part(i)], condition = self.refit(i, alpha)
            worst = max(worst, condition)
        return HeldOut(values, worst, len(removals))

    def refit(self, i: int, alpha: float) -> tuple[Array, float]:
        """Predictions of removal i by fitting the other rows anew, and their condition (see `HeldOut`)."""
        problem, test, root = self.problem, self.removals.tests[i], self.problem.root
        mask = np.ones(problem.n, dtype=bool)
        mask[self.removals.sets[i]] = False
        train = _without_minus(problem.place[np.flatnonzero(mask)])
        if self.route == "primal":
            return self._refit_primal(train, test, alpha)
        K = self.K[np.ix_(train, train)]
        if problem.weights is not None:
            K /= root[train, None] * root[train]
        weights = None if problem.weights is None else root[train] ** 2
        if problem.balance is not None:
            weights = self._balanced(mask)
        system = DualSystem(K, weights, intercept=problem.intercept)
        # Hardly penalised, a factor may exist by rounding alone; the spectrum tells what is rounding.
        bare = alpha <= len(train) ** 2 * EPS * float(np.median(np.diagonal(K)))
        solution = system.solve(problem.Y[problem.used[train]], alpha, "spectral" if bare else "cholesky")
        del K, system
        places = problem.place[test]
        if problem.weights is None:
            return self._predicted(self.K[np.ix_(places, train)], solution)
        mine = places >= 0
        against = np.empty((len(places), len(train)))
        against[mine] = self.K[np.ix_(places[mine], train)] / (root[places[mine], None] * root[train])
        if self.new is not None and not mine.all():
            others = np.searchsorted(problem.unused, test[~mine])
            against[~mine] = (self.new[np.ix_(train, others)] / root[train, None]).T
        return self._predicted(against, solution)

    def _predicted(self, against: Array, solution: Solution) -> tuple[Array, float]:
        values, condition = against @ solution.dual + solution.intercept, solution.route.condition
        if self.problem.labels:
            dual = solution.dual[:, : self.targets]
            terms = np.abs(against) @ np.abs(dual).max(axis=1) + float(self.problem.intercept)
            condition = lost_labels(values[:, : self.targets], terms, condition)
        return values, condition

    def _balanced(self, mask: Array) -> Array:
        """Weights of the training rows that have one; classes count, and so do their rows, whatever they weigh."""
        problem = self.problem
        own = np.ones(int(mask.sum())) if problem.weights is None else problem.weights[mask]
        _, numbers = np.unique(problem.balance[mask], return_inverse=True)  # type: ignore[index]
        weights = own * balanced(numbers, own)
        return np.asarray(weights[own > 0])

    def _refit_primal(self, train: Array, test: Array, alpha: float) -> tuple[Array, float]:
        """The same through explicit features; every row has weight on this route."""
        problem = self.problem
        weights = None if problem.weights is None else problem.weights[train]
        phi = self.primal.features
        system = PrimalSystem(phi[train], weights, intercept=problem.intercept)
        solution = system.at(alpha).solve(problem.Y[train])
        if solution.primal is None:
            raise MercerError("A primal solution must have weights.")
        return phi[test] @ solution.primal + solution.intercept, solution.route.condition


def lost_labels(values: Array, terms: Array, condition: float) -> float:
    """Condition that stands for what the labels of these decision values lose.

    Of one column the sign counts, of several how far the largest is ahead. The sizes of the terms that were summed are
    held against all rows together, and where rounding may decide a label, against that row alone.
    """
    ranked = np.sort(values, axis=1)
    ahead = ranked[:, -1] - ranked[:, -2] if values.shape[1] > 1 else np.abs(values[:, 0])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        undecided = (EPS * condition * terms > _UNDECIDED * ahead) & (ahead > 0)  # a tie is one in a refit, too
        whole = np.linalg.norm(terms) / np.linalg.norm(ahead)
        exponent = abs(math.log(float(ahead.max(initial=0.0)) or 1.0))  # exp of so large a number
        lost = np.nan_to_num(np.append((terms / ahead)[undecided], [whole, exponent]), nan=1.0)
    return max(condition, float(lost.max(initial=1.0)))


def _without_minus(places: Array) -> Array:
    return places[places >= 0]


def _by_base(removals: Removals) -> dict[int, list[int]]:
    """Removals that are another one and a single row besides, by that other one."""
    groups: dict[int, list[int]] = {}
    for i, base in enumerate([] if removals.bases is None else removals.bases):
        if base >= 0:
            groups.setdefault(int(base), []).append(i)
    return groups


def _scattered(rows: Array) -> bool:
    return int((np.diff(rows) != 1).sum()) > 3
