"""What all estimators over one kernel share: parameters, tags, checked rows, and the fit itself."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from mercer.backends import promise
from mercer.data.checks import (
    as_numbers,
    bad_pair,
    checked_alpha,
    checked_gram,
    checked_intercept,
    checked_weights,
)
from mercer.data.rows import Array, Rows, as_rows
from mercer.errors import InputError, MemoryRefusal, NoFeaturesError, NotMercerWarning, sentence
from mercer.estimators.inputs import NO_TARGETS, checked_input, object_tags, width_of
from mercer.estimators.names import Settings, is_positive_only, is_precomputed, resolve, takes_sparse
from mercer.gram import columns_against, times, training_matrix
from mercer.kernels import Kernel, Linear, Precomputed
from mercer.kernels.base import ENDLESS
from mercer.kernels.tiles import TILE, blocks, column_numbers
from mercer.solvers import Choice, DualSystem, Penalised, PrimalSystem, Route, Solution, choose
from mercer.solvers.plan import refuse_if_too_large
from mercer.solvers.streamed import StreamedSystem


class KernelSetter:
    """Kernels are values: setting a parameter of one puts a new kernel in its place."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__width`` and the like put a new kernel in place of the old one.

        Parameters
        ----------
        **params : dict
            Names as in `get_params`.

        Returns
        -------
        self
        """
        outer = {name: value for name, value in params.items() if "__" not in name}
        for name, value in params.items():
            head, _, inner = name.partition("__")
            held = outer.get(head, getattr(self, head, None))
            if not inner:
                continue
            if isinstance(held, Kernel):
                outer[head] = held.set_params(**{inner: value})
            else:
                outer[name] = value
        super().set_params(**outer)  # type: ignore[misc]
        return self


class KernelEstimator(KernelSetter, BaseEstimator):  # type: ignore[misc]
    """An estimator with a `kernel` parameter."""

    kernel: Any
    # Parameters that predictions depend on, as they were at fit: setting others changes the next fit only.
    _as_fitted: dict[str, Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.positive_only = is_positive_only(self.kernel)
        return object_tags(tags, [self.kernel])

    def _settings(self) -> Settings:
        return Settings()

    def _resolved(self, columns: int) -> Kernel:
        return resolve(type(self).__name__, self.kernel, columns, self._settings())

    def _checked_input(self, X: Any, y: Any = NO_TARGETS, *, reset: bool = True, **how: Any) -> Any:
        kernel = self.kernel if reset else self.kernel_
        plain_function = callable(kernel) and not isinstance(kernel, Kernel)
        as_before = not reset and hasattr(self.X_fit_, "tocsr")
        sparse = "csr" if takes_sparse(kernel) or plain_function or as_before else False
        return checked_input(self, [kernel], X, y, sparse=sparse, reset=reset, **how)

    def _new_rows(self, X: Any, diag: Any = None) -> Rows:
        """X for prediction, checked against what was fitted."""
        check_is_fitted(self)
        if diag is not None and self.kernel_.kind != "gram":
            raise InputError("diag= is for precomputed kernels only; this kernel knows k(x, x).")
        rows = self._as_rows(self._checked_input(X, reset=False))
        self.kernel_.check(rows)
        return rows

    def _as_rows(self, X: Any) -> Rows:
        return Rows(X, getattr(self, "feature_names_in_", None))

    def _fit_rows(self) -> Rows:
        """The training rows as the second argument of the kernel."""
        rows = self._as_rows(self.X_fit_)
        return column_numbers(rows) if self.kernel_.kind == "gram" else rows


def shape_of(X: Any) -> tuple[int, int] | None:
    """Rows and columns of what was given, without converting it; None where that cannot be told."""
    shape = getattr(X, "shape", None)
    if shape is None and isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple | np.ndarray):
        shape = (len(X), len(X[0]))
    return (int(shape[0]), int(shape[1])) if shape is not None and len(shape) == 2 else None


class RidgeCore(KernelEstimator):
    """Kernel ridge regression on a table of targets: what the regressor and the classifier share."""

    alpha: Any
    fit_intercept: bool
    solver: str
    X_fit_: Any
    kernel_: Kernel
    _posterior_kept: list[tuple[Array, Penalised]]
    _weights_kept: Array

    # fitted state that other state can be rebuilt from, left out of pickles
    _unsaved: ClassVar[tuple[str, ...]] = ("_posterior_kept", "_weights_kept")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._unsaved}

    # -- fitting ----------------------------------------------------------------------------------

    def _choice(self, n: int, sample: Rows, alphas: int) -> Choice:
        """The route for n rows such as these, refused here if it does not fit in memory."""
        kernel = self._resolved(sample.width)
        # only the scalar product leaves a sparse table sparse
        dense_only = sample.sparse and not isinstance(kernel, Linear) and self.solver != "primal"
        count = None if dense_only else kernel.count_features(sample)
        choice = choose(self.solver, n, count, alphas, iterable=kernel.kind != "gram")
        if kernel.kind == "gram":  # the matrix given is kept beside the one that is factored
            choice = replace(choice, bytes=choice.bytes + 8 * n * n)
        refuse_if_too_large(choice, type(self).__name__, n)
        return choice

    def _refuse_early(self, X: Any) -> None:
        """Refuse what cannot fit before X is even looked at; a wrong X is left to the checks that follow."""
        shape = shape_of(X)
        if shape is None or not all(shape):
            return
        try:
            first = X.tocsr()[:1] if hasattr(X, "tocsr") else _safe_indexing(X, [0])
            sample = self._as_rows(as_rows(first).values)
            if sample.values.dtype == object:
                return
            self._resolved(shape[1]).check(sample)
        except (TypeError, ValueError):
            return
        self._choice(shape[0], sample, 1)

    def _fit_targets(self, X: Any, Y: Array, weights: Array | None) -> None:
        """Fit a table of targets (n x t) and keep everything prediction needs."""
        owner = type(self).__name__
        checked_intercept(owner, self.fit_intercept)
        self.__dict__.pop("_weights_kept", None)
        alphas = checked_alpha(owner, self.alpha, Y.shape[1])
        X, Y = X.copy(), Y.copy()  # a fitted model is a value: nobody else's changes reach it
        weights = None if weights is None else weights.copy()
        self.kernel_ = self._resolved(width_of(X))
        self.X_fit_ = X
        self.kernel_.check(self._as_rows(X))
        warned = self._warn_if_invalid(self._as_rows(X))
        self._weights = None if weights is None else checked_weights(owner, weights)
        self._per_target = np.ndim(self.alpha) > 0
        self._as_fitted = {"fit_intercept": self.fit_intercept}
        used = slice(None) if weights is None or weights.all() else weights > 0
        kept = self._as_rows(X if isinstance(used, slice) else X[used])
        if self.kernel_.kind == "gram" and not isinstance(used, slice):
            kept = self._as_rows(X[used][:, used])
        groups, places = np.unique(alphas, return_inverse=True)
        choice = self._choice(X.shape[0], kept, len(groups))
        self._system_of = choice
        system = self._system(kept, None if weights is None else weights[used], choice)
        solutions = self._solutions(system, [Y[used][:, places == i] for i in range(len(groups))], groups)
        self._keep(solutions, places, used, Y.shape[1])
        worst = max(range(len(groups)), key=lambda i: _badness(solutions[i].route))
        self.route_ = solutions[worst].route
        if self._primal is None:
            lost = _cancelled(self.kernel_.diagonal(kept), self._dual[used], Y[used])
            self.route_ = replace(self.route_, cancelled=max(self.route_.cancelled, lost))
        self._alphas, self._used, self._targets = alphas, used, Y
        if not (warned and self.route_.negative):
            self.route_.warn(owner, float(groups[worst]))

    def _warn_if_invalid(self, rows: Rows) -> bool:
        """One sentence where the kernel, or the matrix given, is known not to be a Mercer kernel."""
        valid, reason = self.kernel_.verdict()
        message = f"{self.kernel_!r} is not a Mercer kernel: {reason}. The fit may minimise nothing."
        if self.kernel_.kind == "gram":
            K = checked_gram(rows.dense())
            bad = bad_pair(K) if isinstance(self.kernel_, Precomputed) else None
            valid = None if bad is None else False
            message = (
                f"A precomputed kernel must be positive semi-definite; got {bad}. "
                "Clip its negative eigenvalues with mercer.repair before giving it."
            )
        if valid is False:
            warnings.warn(message, NotMercerWarning, stacklevel=4)
        return valid is False

    def _system(self, rows: Rows, weights: Array | None, choice: Choice) -> DualSystem | PrimalSystem | StreamedSystem:
        intercept = bool(self._as_fitted["fit_intercept"])
        if choice.name == "primal":
            return PrimalSystem(self._phi(rows), weights, intercept=intercept, reason=choice.reason)
        if choice.name == "cg":
            return StreamedSystem(self.kernel_, rows, weights, intercept=intercept, choice=choice)
        return DualSystem(
            training_matrix(self.kernel_, rows),
            weights,
            intercept=intercept,
            reason=choice.reason,
            certified=self.kernel_.verdict()[0] is True,
        )

    def _solutions(
        self, system: DualSystem | PrimalSystem | StreamedSystem, targets: list[Array], alphas: Array
    ) -> list[Solution]:
        """Coefficients of the targets that have each alpha."""
        return [_solved(system, Y, alpha, self._system_of) for Y, alpha in zip(targets, alphas, strict=True)]

    def _keep(self, solutions: list[Solution], places: Array, used: Any, targets: int) -> None:
        n = self.X_fit_.shape[0]
        self._dual, self._intercept = np.zeros((n, targets)), np.zeros(targets)
        first = solutions[0].primal
        self._primal = None if first is None else np.zeros((len(first), targets))
        for i, solution in enumerate(solutions):
            mine = places == i
            self._dual[np.ix_(np.arange(n)[used], mine)] = solution.dual
            self._intercept[mine] = solution.intercept
            if self._primal is not None:
                self._primal[:, mine] = solution.primal

    # -- prediction -------------------------------------------------------------------------------

    def _values(self, rows: Rows) -> Array:
        """f at new rows (m x t), without ever holding all of k(x, X)."""
        if self._primal is None:
            return times(self.kernel_, rows, self._fit_rows(), self._dual) + self._intercept
        result = np.empty((len(rows), self._dual.shape[1]))
        for part in blocks(len(rows)):
            result[part] = self._phi(rows[part]) @ self._primal
        return result + self._intercept

    def _phi(self, rows: Rows) -> Any:
        """Explicit features; those of the linear kernel are the rows, sparse as they are."""
        return rows.values if isinstance(self.kernel_, Linear) else self.kernel_.features(rows)

    def _feature_weights(self) -> Array:
        """w = Phi'a (D x t): as solved for where the primal was, otherwise made when first asked for."""
        check_is_fitted(self)
        if self._primal is not None:
            return self._primal.copy()
        if not hasattr(self, "_weights_kept"):
            try:
                self._weights_kept = self._summed_features()
            except (InputError, MemoryRefusal) as problem:  # `dir` of an estimator asks for every attribute
                raise NoFeaturesError(str(problem)) from None
        return self._weights_kept.copy()

    def _summed_features(self) -> Array:
        """Phi'a, by blocks of training rows."""
        rows, targets = self._as_rows(self.X_fit_), self._dual.shape[1]
        what, way_out = (
            f"primal_coef_ of {type(self).__name__}",
            "Use dual_coef_: f(x) = k(x, X_fit_) dual_coef_ + intercept_.",
        )
        count = self.kernel_.count_features(rows)
        if count is None:
            raise InputError(f"{what} needs a kernel with a finite feature map; {self.kernel_!r} has none. {way_out}")
        held = 0 if rows.sparse and isinstance(self.kernel_, Linear) else min(len(rows), TILE)
        many = str(count) if count < ENDLESS else "more than 10^18"
        promise(8 * count * (held + 2 * targets), f"{what} on {many} features", way_out)
        weights = np.zeros((count, targets))
        for part in blocks(len(rows)):
            weights += self._phi(rows[part]).T @ self._dual[part]
        return weights

    # -- the Gaussian view, made when first asked for ---------------------------------------------

    def _posterior(self) -> list[tuple[Array, Penalised]]:
        """For each distinct alpha, its targets and the factored system."""
        if not hasattr(self, "_posterior_kept"):
            used = self._used
            X = self.X_fit_ if isinstance(used, slice) else self.X_fit_[used]
            if self.kernel_.kind == "gram" and not isinstance(used, slice):
                X = X[:, used]
            weights = None if self._weights is None else self._weights[used]
            system = self._system(self._as_rows(X), weights, self._system_of)
            kept: list[tuple[Array, Penalised]] = []
            distinct = np.unique(self._alphas)
            for alpha in distinct:
                if isinstance(system, PrimalSystem):
                    solved: Penalised = system.at(float(alpha))
                else:  # several alphas share one spectrum
                    solved = system.at(float(alpha), "cholesky" if len(distinct) == 1 else "spectral")
                kept.append((np.flatnonzero(self._alphas == alpha), solved))
            self._posterior_kept = kept
        return self._posterior_kept

    def _latent_variance(self, rows: Rows, diagonal: Array | None, scale: Array) -> Array:
        """Posterior variance of f at new rows, for each target."""
        result = np.empty((len(rows), len(scale)))
        used = self._used
        for mine, solved in self._posterior():
            if self._primal is not None:
                for part in blocks(len(rows)):
                    phi = self._phi(rows[part])
                    phi = phi.toarray() if hasattr(phi, "toarray") else phi
                    result[part, mine] = solved.variance(np.empty(0), phi.T)[:, None] * scale[mine]
                continue
            whole = self._diagonal(rows, diagonal)
            for part, against in columns_against(self.kernel_, rows, self._fit_rows()):
                one = solved.variance(whole[part], against[used])
                result[part][:, mine] = one[:, None] * scale[mine]
        return result

    def _diagonal(self, rows: Rows, given: Any) -> Array:
        """k(x, x) of new rows, from the kernel or from the caller."""
        if self.kernel_.kind != "gram":
            return self.kernel_.diagonal(rows)
        if given is None:
            raise InputError(
                f"{type(self).__name__} with a precomputed kernel needs k(x, x) of the new rows here. "
                "Give it as diag=, one number per row."
            )
        return checked_diagonal(given, len(rows))


def checked_diagonal(given: Any, count: int) -> Array:
    """diag= as one finite, non-negative number per new row."""
    diagonal = as_numbers(given)
    what = f"{count} finite, non-negative numbers, k(x, x) of each new row"
    if diagonal is None:
        raise InputError(sentence("diag", what, repr(given)))
    if diagonal.shape != (count,):
        raise InputError(sentence("diag", what, f"shape {diagonal.shape}"))
    bad = ~(np.isfinite(diagonal) & (diagonal >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(sentence("diag", what, f"{diagonal[row]} in row {row}"))
    return diagonal


def _solved(system: DualSystem | PrimalSystem | StreamedSystem, Y: Array, alpha: float, choice: Choice) -> Solution:
    if isinstance(system, PrimalSystem):
        return system.at(float(alpha)).solve(Y)
    return system.solve(Y, float(alpha), choice.name)


def _cancelled(diagonal: Array, dual: Array, Y: Array) -> float:
    """How much larger than the targets the terms of K a are, of which |K_ij| <= (K_ii K_jj)^1/2."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        terms = np.linalg.norm(np.sqrt(np.abs(diagonal))[:, None] * dual, axis=0) * np.sqrt(np.abs(diagonal).sum())
        return float(np.nan_to_num(terms / np.linalg.norm(Y, axis=0), nan=1.0).max(initial=1.0))


def _badness(route: Route) -> tuple[float, bool, float, float]:
    return -route.negative, route.singular, -route.digits, route.condition
