"""A fitted kernel ridge regression as a value: what estimators hold, and what everything else reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from mercer.data.checks import sizes
from mercer.data.rows import Array, Rows, XLike
from mercer.errors import InputError
from mercer.kernels.base import ENDLESS, Kernel
from mercer.kernels.products import Linear
from mercer.kernels.tiles import TILE, between, blocks, column_numbers, underflow_is_zero
from mercer.runtime import promise
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.conjugate import StreamedSystem
from mercer.solvers.dual import DualSystem, likelihood
from mercer.solvers.gram import times, training_matrix
from mercer.solvers.leave_out import Gram, Inverted, LeaveOut, Spectral
from mercer.solvers.plan import Route, SolverChoice
from mercer.solvers.primal import Explicit, Penalized, PrimalSolved, PrimalSystem
from mercer.solvers.problem import Problem

AnySystem: TypeAlias = DualSystem | PrimalSystem | StreamedSystem
Names: TypeAlias = Sequence[str] | None  # of columns

# Rows up to which a factor is kept with its model: 8 MB.
_KEPT = 1000


@dataclass(frozen=True, eq=False)
class FittedRidge:
    """f(x) = k(x, X) dual + constant, with everything it was fitted from.

    Attributes
    ----------
    kernel : Kernel
        k.
    X : ndarray, sparse matrix or Gram matrix
        Training rows, those of weight zero among them.
    names : sequence of str or None
        Of the columns of X.
    weights : ndarray of shape (n,) or None
        Sample weights.
    targets : ndarray of shape (n, t)
        Y.
    alphas : ndarray of shape (t,)
        The penalty of each target.
    intercept : bool
        Whether the model has an unpenalized constant.
    choice : SolverChoice
        The solver that was planned.
    dual : ndarray of shape (n, t)
        Zero for rows of weight zero.
    constant : ndarray of shape (t,)
        Zero without an intercept.
    primal : ndarray of shape (D, t) or None
        f(x) = phi(x)'primal + constant, where the primal was solved.
    route : Route
        How it was solved, of the target for which that was hardest.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers import choose
    >>> from mercer.solvers.fitted import FittedRidge
    >>> from mercer.solvers.problem import Problem
    >>> X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]])
    >>> choice = choose("cholesky", 3, None)
    >>> problem = Problem(Y, None, intercept=True)
    >>> fitted = FittedRidge.fit(Linear(), X, None, problem, np.array([1e-9]), choice, keep=False)
    >>> fitted.values(as_rows([[10.0]])).round(6).tolist()
    [[21.0]]
    """

    kernel: Kernel
    X: XLike
    names: Names
    weights: Array | None
    targets: Array
    alphas: Array
    intercept: bool
    choice: SolverChoice
    dual: Array
    constant: Array
    primal: Array | None
    route: Route

    def __getstate__(self) -> dict[str, object]:
        """The fields: all else can be worked out again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # -- fitting ----------------------------------------------------------------------------------

    @staticmethod
    @underflow_is_zero
    def fit(
        kernel: Kernel, X: XLike, names: Names, problem: Problem, alphas: Array, choice: SolverChoice, *, keep: bool
    ) -> FittedRidge:
        """Fit the targets of a problem, each with its own alpha.

        Parameters
        ----------
        kernel, X, names, alphas, choice
            As the attributes; arrays are kept as they are.
        problem : Problem
            Targets Y (n x t), sample weights and whether there is an intercept.
        keep : bool
            Whether the factor of a small system is kept: variances and intervals would make it again.
        """
        Y, (n, t), route = problem.Y, problem.Y.shape, Route(choice.name, choice.reason, 1.0, problem.n, problem.n)
        data = kernel, X, names, problem.weights, Y, alphas, problem.intercept, choice
        start = FittedRidge(*data, np.zeros((n, t)), np.zeros(t), None, route)
        used, distinct = start.numbers, np.unique(alphas)
        system = start.system(used)
        keep = keep and choice.name == "cholesky" and len(distinct) == 1 and len(used) <= _KEPT
        primal, routes = None, []
        for alpha in distinct:
            mine = np.flatnonzero(alphas == alpha)
            part = np.ix_(used, mine)
            solved = system.at(float(alpha), "cholesky") if keep else None
            solution = system.solve(Y[part], float(alpha), choice.name) if solved is None else solved.solve(Y[part])
            start.dual[part], start.constant[mine] = solution.dual, solution.intercept
            if solution.primal is not None:
                primal = np.zeros((len(solution.primal), t)) if primal is None else primal
                primal[:, mine] = solution.primal
            routes.append(solution.route)
        route = max(routes, key=lambda route: (-route.negative, route.singular, -route.digits, route.condition))
        if primal is None:
            lost = count_cancelled(kernel.diagonal(start.rows(used)), start.dual[used], Y[used])
            route = replace(route, cancelled=max(route.cancelled, lost))
        found = replace(start, primal=primal, route=route)
        if keep:
            vars(found)["systems"] = [(mine, solved)]
        return found

    @cached_property
    def numbers(self) -> Array:
        """Rows that were trained on: those of positive weight."""
        return np.arange(len(self.targets)) if self.weights is None else np.flatnonzero(self.weights > 0)

    def rows(self, numbers: Array | None = None) -> Rows:
        """All training rows, or some of them: for a Gram matrix those rows and columns."""
        X = self.X
        if numbers is not None and len(numbers) < X.shape[0]:
            X = X[numbers][:, numbers] if self.kernel.kind == "gram" else X[numbers]
        return Rows(X, self.names)

    def system(self, numbers: Array) -> AnySystem:
        """The system of some training rows, for any alpha."""
        rows, choice, intercept = self.rows(numbers), self.choice, self.intercept
        weights = None if self.weights is None else self.weights[numbers]
        if choice.name == "primal":
            return PrimalSystem(self.features(rows), weights, intercept=intercept, reason=choice.reason)
        if choice.name == "cg":
            return StreamedSystem(self.kernel, rows, weights, intercept=intercept, choice=choice)
        K, certified = training_matrix(self.kernel, rows), self.kernel.verdict()[0] is True
        return DualSystem(K, weights, intercept=intercept, reason=choice.reason, certified=certified)

    # -- prediction -------------------------------------------------------------------------------

    @underflow_is_zero
    def values(self, rows: Rows) -> Array:
        """f at new rows (m x t), without ever holding all of k(x, X)."""
        if self.primal is None:
            return times(self.kernel, rows, self.against, self.dual) + self.constant
        result = np.empty((len(rows), len(self.constant)))
        for part in blocks(len(rows)):
            result[part] = self.features(rows[part]) @ self.primal
        return result + self.constant

    @property
    def against(self) -> Rows:
        """The training rows as the second argument of the kernel."""
        rows = self.rows()
        return column_numbers(rows) if self.kernel.kind == "gram" else rows

    def features(self, rows: Rows) -> XLike:
        """Explicit features; those of the linear kernel are the rows, sparse as they are."""
        return rows.values if isinstance(self.kernel, Linear) else self.kernel.features(rows)

    @underflow_is_zero
    def columns(self, rows: Rows) -> Array:
        """k(X, x) over the rows that were trained on, or phi(x) where the primal was solved, as columns."""
        if self.primal is None:
            K = between(self.kernel, rows, self.against).T
            return K if len(self.numbers) == len(K) else K[self.numbers]
        phi = self.features(rows)
        return np.asarray(phi.toarray() if hasattr(phi, "toarray") else phi).T

    def feature_weights(self, what: str, *, fixed: bool = True) -> Array:
        """w = Phi'a (D x t): as solved for, or summed when first asked for; `what` names it in refusals.

        `fixed`: whether the features must be those of other rows, too; False takes those that occur in these rows.
        """
        if self.primal is not None:
            return self.primal.copy()
        if not fixed and self.kernel.finite and self.kernel.count_features(self.rows()) is None:
            return np.asarray(self.kernel.feature_map(self.X).T @ self.dual)
        if "weights of features" not in vars(self):
            vars(self)["weights of features"] = self._sum_features(what)
        return np.array(vars(self)["weights of features"])

    @underflow_is_zero
    def _sum_features(self, what: str) -> Array:
        """Phi'a, by blocks of training rows."""
        rows, targets = self.rows(), self.dual.shape[1]
        way_out = "Use dual_coef_: f(x) = k(x, X_fit_) dual_coef_ + intercept_."
        count = self.kernel.count_features(rows)
        if count is None:
            raise InputError(f"{what} needs a kernel with a finite feature map; {self.kernel!r} has none. {way_out}")
        held = 0 if rows.sparse and isinstance(self.kernel, Linear) else min(len(rows), TILE)
        many = str(count) if count < ENDLESS else "more than 10^18"
        promise(8 * count * (held + 2 * targets), f"{what} on {many} features", way_out)
        weights = np.zeros((count, targets))
        # with an intercept the dual adds up to zero: features far from the origin lose no digits when they are moved
        centre: float | Array = 0.0
        if self.intercept and not rows.sparse:
            centre = np.median(self.features(self.rows(self.numbers[:TILE])), axis=0)
        for part in blocks(len(rows)):
            weights += (self.features(rows[part]) - centre).T @ self.dual[part]
        return weights

    # -- the Gaussian view, made when first asked for ---------------------------------------------

    @cached_property
    @underflow_is_zero
    def systems(self) -> list[tuple[Array, Penalized]]:
        """For each distinct alpha, its targets and the factored system."""
        system, distinct = self.system(self.numbers), np.unique(self.alphas)
        solver = "cholesky" if len(distinct) == 1 else "spectral"  # several alphas share one spectrum
        return [(np.flatnonzero(self.alphas == alpha), system.at(float(alpha), solver)) for alpha in distinct]

    @cached_property
    @underflow_is_zero
    def leave_outs(self) -> list[tuple[Array, LeaveOut]]:
        """For each distinct alpha its targets, and P of the rows that were trained on, from the factor that is there.

        What intervals, influence, effects and updates read, made when it is first asked for.
        """
        return [(mine, leave_out_of(solved, self.targets[np.ix_(self.numbers, mine)])) for mine, solved in self.systems]

    def shares(self, rows: Rows) -> Iterator[tuple[Array, slice, Array]]:
        """For each distinct alpha and block of new rows: its targets, the block, the shares of Y in f as columns."""
        for part in blocks(len(rows)):
            new = self.columns(rows[part])
            for mine, solved in self.systems:
                yield mine, part, solved.root[:, None] * solved.shares(new)

    @underflow_is_zero
    def variance(self, rows: Rows, diagonal: Array | None) -> Array:
        """Posterior variance of f at new rows for each target (m x t), in units of the prior variance.

        `diagonal`: k(x, x) of the new rows; where the primal was solved it is not needed.
        """
        result = np.empty((len(rows), len(self.alphas)))
        for part in blocks(len(rows)):
            new, own = self.columns(rows[part]), np.empty(0) if diagonal is None else diagonal[part]
            for mine, solved in self.systems:
                result[part, mine] = solved.variance(own, new)[:, None]
        return result

    @underflow_is_zero
    def evidence(self) -> tuple[Array, Array]:
        """Prior variance by maximum likelihood, and log marginal likelihood at it, of each target."""
        found = np.empty((2, len(self.alphas)))
        for mine, solved in self.systems:
            part = np.ix_(self.numbers, mine)
            Y, dual = self.targets[part], self.dual[part]
            found[:, mine] = likelihood(Y, dual, solved.log_determinant(), intercept=self.intercept)
        return found[0], found[1]

    @underflow_is_zero
    def degrees_of_freedom(self) -> Array:
        """Trace of the smoother matrix, the intercept included, of each target."""
        result = np.empty(len(self.alphas))
        for group, (mine, solved) in enumerate(self.systems):
            if len(self.numbers) <= _KEPT and isinstance(getattr(solved, "inverse", None), Cholesky):
                left = self.leave_outs[group][1]  # which others ask for, too
                result[mine] = len(self.numbers) - left.multiple * float(left.diagonal().sum())
            else:
                result[mine] = solved.degrees_of_freedom()
        return result


def leave_out_of(solved: Penalized, Y: Array) -> LeaveOut:
    """P and P V Y of a factored system, from its own factor.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import DualSystem
    >>> from mercer.solvers.fitted import leave_out_of
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]])
    >>> E, good = leave_out_of(DualSystem(K, None).at(1.0, "cholesky"), y).single_residuals()
    >>> E.round(4).tolist(), good.tolist()  # the first row alone predicts 1 / (2 + 1) at the second
    ([[1.0], [-0.3333]], [True, True])
    """
    if isinstance(solved, PrimalSolved):
        system = solved.system
        problem = Problem(Y, system.root**2, system.intercept).subtract_mean()
        U, s, _ = system.singular if solved.alpha == 0 else (np.empty((0, 0)), np.empty(0), None)
        reached = s > 0
        if solved.alpha > 0 or reached.sum() + system.intercept < system.n:
            return Explicit(solved, problem)
        U = U[:, reached]  # the model goes through every point; constants are not in the span of centred features
        return Spectral(s[reached] ** 2, U, U * U, Gram(replace(problem, intercept=False)), 0.0)
    problem, inverse = Problem(Y, solved.root**2, solved.border is not None).subtract_mean(), solved.inverse
    if isinstance(inverse, Cholesky):
        return Inverted.of_factor(inverse, problem)
    U = inverse.spectrum.vectors
    return Spectral(inverse.spectrum.values, U, U * U, Gram(problem), inverse.alpha)


def count_cancelled(diagonal: Array, dual: Array, Y: Array) -> float:
    """How much larger than the targets the terms of K a are, of which |K_ij| <= (K_ii K_jj)^1/2."""
    unit = sizes(Y)  # so that squares exist
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        a = np.sqrt(np.abs(diagonal))[:, None] * (dual / unit)
        terms = np.linalg.norm(a, axis=0) * np.sqrt(np.abs(diagonal).sum())
        return float(np.nan_to_num(terms / np.linalg.norm(Y / unit, axis=0), nan=1.0).max(initial=1.0))
