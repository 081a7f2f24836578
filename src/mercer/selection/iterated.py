"""Model selection for rows too many to factor: generalized cross-validation, and fits by conjugate gradients.

Generalized cross-validation takes every leave-one-out residual a_i / P_ii with the mean of all P_ii in place of its
own. The trace of P is the only thing that then needs more than one solve, and it is estimated from a few random
vectors z, whose z'G z has the mean tr G. What a low-rank system close to this one gives for the same vectors is
subtracted, and its exact trace put in its place; what is left to chance is the difference of the two alone.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import ConvergenceWarning
from mercer.kernels.base import Kernel
from mercer.selection.digits import lost_labels
from mercer.selection.heldout import HeldOut
from mercer.selection.plan import PROBES
from mercer.selection.problem import Problem, Removals
from mercer.solvers.conjugate import Conjugate, NotSolved, solved_by_gradients
from mercer.solvers.gram import times
from mercer.solvers.plan import SolverChoice
from mercer.solvers.route import EPS
from mercer.solvers.streamed import StreamedSystem

# Residual of the solves behind a score, relative to the targets; and how many products one alpha may take.
_TOLERANCE, _MOST = 1e-5, 300


@dataclass(frozen=True)
class Trace:
    """An estimated trace, and the standard error that is due to the random vectors."""

    value: float
    error: float


class _Iterated:
    """What both share: the rows with weight, and alphas that are given up for good."""

    def __init__(self, kernel: Kernel, rows: Rows, problem: Problem, removals: Removals) -> None:
        self.kernel, self.rows, self.problem, self.removals = kernel, rows, problem, removals
        self._hopeless = -1.0  # no alpha up to this one was solved for

    def at(self, alpha: float) -> HeldOut:
        """Held-out predictions for one alpha; NaN where the iteration does not end in time, nor for any smaller one."""
        if alpha > self._hopeless:
            found = self._found(alpha)
            if found is not None:
                return found
            self._hopeless = alpha
        return HeldOut(np.full((len(self.removals.rows), self.problem.Y.shape[1]), np.nan), math.inf, 0)

    def _found(self, alpha: float) -> HeldOut | None:
        raise NotImplementedError

    def _system(self, chosen: Array) -> StreamedSystem:
        """The system of these rows, counted among all."""
        weights = None if self.problem.weights is None else self.problem.weights[chosen]
        rows = Rows(self.rows.values[chosen], self.rows.names)
        choice = SolverChoice("cg", f"dual, {len(chosen)} rows", 0)
        return StreamedSystem(self.kernel, rows, weights, intercept=self.problem.intercept, choice=choice)

    def _warn(self, alpha: float, G: Conjugate) -> None:
        warnings.warn(
            f"{self.kernel!r} is not scored at alpha = {alpha:.3g} and below: conjugate gradients did not "
            f"converge (relative residual {G.tally.residual:.1e}, tolerance {G.tolerance:.0e}, after "
            f"{G.tally.products} matrix products). Remove these alphas, or use fewer rows, so that an exact method "
            "fits in memory.",
            ConvergenceWarning,
            stacklevel=4,
        )


class Generalized(_Iterated):
    """Generalized cross-validation: leave-one-out with the mean of diag P for each of its members.

    Parameters
    ----------
    kernel : Kernel
        Of rows, not of a given matrix.
    rows : Rows
        All rows.
    problem : Problem
        Targets, weights, intercept.
    removals : Removals
        Every row, one by one.
    probes : int, default=16
        Random vectors for the trace; with as many as there are rows, or more, it is exact.
    seed : int, default=0
        Of the random vectors, which all alphas share.
    tolerance : float, default=1e-5
        Relative residual of the solves.

    Attributes
    ----------
    traces : dict of float to Trace
        The trace of P for each alpha that was tried.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection.iterated import Generalized
    >>> from mercer.selection.problem import Problem, Removals
    >>> X = np.linspace(0.0, 9.0, 300)[:, None]
    >>> problem = Problem(np.sin(X) + 0.1 * np.cos(99.0 * X), None, intercept=False)
    >>> scores = Generalized(Gaussian(1.0), as_rows(X), problem, Removals.singles(300))
    >>> float(np.mean((scores.at(0.1).values - problem.Y) ** 2).round(5))
    0.00547
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        problem: Problem,
        removals: Removals,
        probes: int = PROBES,
        seed: int = 0,
        tolerance: float = _TOLERANCE,
    ) -> None:
        super().__init__(kernel, rows, problem, removals)
        self.system, self.tolerance = self._system(problem.used), tolerance
        n = self.system.n
        self.exact = probes >= n
        signs = np.random.default_rng(seed).integers(0, 2, size=(0 if self.exact else n, probes))
        self._probes = math.sqrt(n) * np.eye(n) if self.exact else 2.0 * signs - 1.0
        self.traces: dict[float, Trace] = {}

    def _found(self, alpha: float) -> HeldOut | None:
        problem, root = self.problem, self.system.root[:, None]
        Y = problem.Y[problem.used]
        B = np.hstack([root * Y, root, self._probes])
        t = Y.shape[1]
        G = self.system.inverse(alpha, B.shape[1], self.tolerance, _MOST)
        solved = G.solve(B)
        if not G.converged:
            self._warn(alpha, G)
            return None
        value, error = self._trace(G, solved[:, t + 1 :])
        a, b, left = solved[:, :t], np.zeros(t), solved[:, t : t + 1]
        if problem.intercept:
            scale = float(np.vdot(root, left))
            if not scale > 0:
                return None
            b = (left.T @ (root * Y))[0] / scale
            a = a - left * b
            unit = left / math.sqrt(scale)
            value -= float(np.vdot(unit, unit))
        self.traces[alpha] = Trace(value, error)
        held_out = np.full(problem.Y.shape, np.nan)
        if value > 0:  # chance alone can make it negative, where next to nothing is left of n
            held_out[problem.used] = Y - len(Y) * a / (value * root)
        if len(problem.unused):
            new = Rows(self.rows.values[problem.unused], self.rows.names)
            held_out[problem.unused] = times(self.kernel, new, self.system.rows, root * a) + b
        spread = 2.0 * error / value if value > 0 else math.nan  # of 1 / trace^2
        # errors of the trace: of its probes, and of the trace of the nearby system, a difference of numbers 1 / alpha
        wrong = float(np.sqrt(np.mean(G.tally.error[t + 1 :] ** 2))) / EPS + len(Y) / alpha
        condition = 2.0 * max(G.lost(a), wrong / value)
        if problem.labels:  # Y - E of labels, whose size is 1
            condition = lost_labels(held_out[problem.used], np.ones(len(Y)), condition, 1.0)
        return HeldOut(held_out[self.removals.rows], condition, 0, spread)

    def _trace(self, G: Conjugate, solved: Array) -> tuple[float, float]:
        """tr G and its standard error."""
        each = np.einsum("ij,ij->j", self._probes, solved - G.nearby(self._probes))
        error = 0.0 if self.exact or len(each) < 2 else float(each.std(ddof=1)) / math.sqrt(len(each))
        return G.nearby.trace() + float(each.mean()), error


class Refitted(_Iterated):
    """Every split fitted by conjugate gradients: for a few splits of very many rows.

    Parameters
    ----------
    kernel : Kernel
        Of rows, not of a given matrix.
    rows : Rows
        All rows.
    problem : Problem
        Targets, weights, intercept.
    removals : Removals
        What is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection.iterated import Refitted
    >>> from mercer.selection.problem import Problem, Removals
    >>> X = np.linspace(0.0, 9.0, 300)[:, None]
    >>> problem, every_third = Problem(np.sin(X), None, intercept=False), np.arange(0, 300, 3)
    >>> found = Refitted(Gaussian(1.0), as_rows(X), problem, Removals([every_third], [every_third])).at(0.01)
    >>> bool(np.abs(found.values - problem.Y[every_third]).max() < 0.1)
    True
    """

    def __init__(self, kernel: Kernel, rows: Rows, problem: Problem, removals: Removals) -> None:
        super().__init__(kernel, rows, problem, removals)
        self._kept: StreamedSystem | None = None

    def _trained(self, i: int) -> StreamedSystem:
        """The system of split i; that of a single one serves every alpha."""
        if self._kept is not None:
            return self._kept
        chosen = np.setdiff1d(self.problem.used, self.removals.sets[i])
        system = self._system(chosen)
        if len(self.removals) == 1:
            self._kept = system
        return system

    def _found(self, alpha: float) -> HeldOut | None:
        removals, problem = self.removals, self.problem
        values, condition = np.empty((len(removals.rows), problem.Y.shape[1])), 1.0
        for i, (left_out, test) in enumerate(zip(removals.sets, removals.tests, strict=True)):
            system = self._trained(i)
            Y = problem.Y[np.setdiff1d(problem.used, left_out)]
            G = system.inverse(alpha, Y.shape[1], most=_MOST * (1 + problem.intercept))
            try:
                solution = solved_by_gradients(G, system.root, Y, intercept=problem.intercept)
            except NotSolved:
                return None
            if not G.converged:
                self._warn(alpha, G)
                return None
            new = Rows(self.rows.values[test], self.rows.names)
            values[removals.part(i)] = times(self.kernel, new, system.rows, solution.dual) + solution.intercept
            condition = max(condition, solution.route.cancelled)
        return HeldOut(values, condition, len(removals))
