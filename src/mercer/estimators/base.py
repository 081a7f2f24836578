"""What all estimators over one kernel share: parameters, tags, checked rows, and the fit itself."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import (
    KeywordHints,
    as_numbers,
    bad_pair,
    check_alpha,
    check_gram,
    check_weights,
    unknown_keyword,
)
from mercer.data.rows import AlphaLike, Array, Estimator, PerRow, Rows, XLike, YLike
from mercer.errors import InputError, MemoryRefusal, NoFeaturesError, NotMercerWarning, refuse_if, sentence, warn
from mercer.estimators.inputs import NO_TARGETS, as_sample_weight, check_input, kernel_tags, width_of
from mercer.estimators.parameters import resolve, takes_sparse, validate
from mercer.estimators.targets import Targets
from mercer.kernels import Kernel, Linear, Precomputed
from mercer.kernels.tiles import column_numbers
from mercer.runtime import blas_for
from mercer.solvers import SolverChoice, choose
from mercer.solvers.fitted import FittedRidge
from mercer.solvers.plan import refuse_if_too_large
from mercer.solvers.problem import Problem
from mercer.text import counted, round_numbers, text_below


def listed_kernels(kernels: Any) -> list[Any]:
    """The kernels given, one or many."""
    return [kernels] if isinstance(kernels, str | Kernel) or not hasattr(kernels, "__iter__") else list(kernels)


def is_tuned(estimator: Estimator) -> bool:
    """Whether the kernels of a search are tuned on a sample of rows; "tuned" beside other kernels is an error."""
    given, what = estimator.kernels, f"kernels of {type(estimator).__name__}"
    named = any(isinstance(kernel, str) and kernel == "tuned" for kernel in listed_kernels(given))
    refuse_if(named and not isinstance(given, str), what, 'either "tuned" alone or kernels', repr(given)[:60])
    return named


def forget(estimator: Estimator) -> None:
    """Delete the fitted attributes of an estimator: a second fit forgets the first."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)


class HoldsKernels(KeywordHints, BaseEstimator):  # type: ignore[misc]
    """An estimator with a kernel, or with several as candidates."""

    def _kernel_list(self) -> list[Any]:
        """The kernels that were given, one or many."""
        return listed_kernels(self.kernels if hasattr(self, "kernels") else self.kernel)

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(super().__sklearn_tags__(), self._kernel_list())

    def set_params(self, **params: Any) -> Any:
        """Set parameters; ``kernel__width`` and the like put a new kernel in place of the old one.

        Kernels are values, which do not change.

        Parameters
        ----------
        **params : dict
            Names as in `get_params`.

        Returns
        -------
        self
        """
        outer = {name: value for name, value in params.items() if "__" not in name}
        known = self.get_params(deep=False)
        for name in outer:
            if name not in known:
                raise InputError(unknown_keyword(type(self).__name__, name, known))
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if rest and isinstance(outer.get(head, getattr(self, head, None)), Kernel):
                inner.setdefault(head, {})[rest] = value
            elif rest:
                outer[name] = value
        for head, given in inner.items():
            outer[head] = outer.get(head, getattr(self, head)).set_params(**given)
        return super().set_params(**outer)


class KernelEstimator(HoldsKernels):
    """An estimator with a `kernel` parameter."""

    kernel_: Kernel
    # Parameters that predictions depend on, as they were at fit: setting others changes the next fit only.
    _as_fitted: dict[str, Any]

    def resolved_kernel(self, columns: int) -> Kernel:
        """The kernel that the parameters stand for, on rows of so many columns."""
        named = [getattr(self, name) for name in ("gamma", "degree", "coef0", "kernel_params") if hasattr(self, name)]
        return resolve(type(self).__name__, self.kernel, columns, *named)

    def check_data(self, X: XLike, y: YLike = NO_TARGETS, *, reset: bool = True) -> Any:
        """X, or X and y, validated as scikit-learn does; `reset` for data to fit."""
        kernel = self.kernel if reset else self.kernel_
        plain_function = callable(kernel) and not isinstance(kernel, Kernel)
        as_before = not reset and hasattr(self.X_fit_, "tocsr")
        sparse = "csr" if takes_sparse(kernel) or plain_function or as_before else False
        return check_input(self, [kernel], X, y, sparse=sparse, reset=reset)

    def check_rows(self, X: XLike, diag: Any = None) -> Rows:
        """X for prediction, checked against what was fitted.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame
            New rows.
        diag : array-like, default=None
            Refused unless the kernel is precomputed.

        Returns
        -------
        Rows
            What `kernel_` and `fitted_` take.
        """
        check_is_fitted(self)
        if diag is not None and self.kernel_.kind != "gram":
            computes = "this kernel computes k(x, x) itself"
            raise InputError(f"diag= is only for precomputed kernels; {computes}. Remove diag=.")
        rows = self._as_rows(self.check_data(X, reset=False))
        self.kernel_.check(rows)
        return rows

    def own_similarity(self, rows: Rows, given: Any, what: str, way_out: str = "") -> Array:
        """k(x, x) of new rows, from the kernel, or of a precomputed one from the caller; `what` needs it."""
        if self.kernel_.kind != "gram":
            return self.kernel_.diagonal(rows)
        if given is None:
            raise InputError(f"{what} k(x, x) of the new rows. Pass diag=, an array with one number per row{way_out}.")
        diagonal, must_be = as_numbers(given), f"{len(rows)} finite, non-negative numbers, k(x, x) of each new row"
        if diagonal is None or diagonal.shape != (len(rows),):
            raise InputError(sentence("diag", must_be, repr(given) if diagonal is None else f"shape {diagonal.shape}"))
        bad = np.flatnonzero(~(np.isfinite(diagonal) & (diagonal >= 0)))
        if len(bad):
            raise InputError(sentence("diag", must_be, f"{diagonal[bad[0]]} in row {bad[0]}"))
        return diagonal

    def _html_repr(self) -> str:
        """scikit-learn's diagram, with the kernel, the rows and the route of a fitted model below."""
        diagram = super()._html_repr()
        if not hasattr(self, "kernel_"):
            return str(diagram)
        lines = [f"{round_numbers(repr(self.kernel_))}, {counted(len(Rows(self.X_fit_)), 'training row')}"]
        lines += [f"Solved by {self.route_}"] if hasattr(self, "route_") else []
        return text_below(diagram, "\n".join(lines))

    def _as_rows(self, X: XLike) -> Rows:
        return Rows(X, getattr(self, "feature_names_in_", None))

    def _fit_rows(self) -> Rows:
        """The training rows as the second argument of the kernel."""
        rows = self._as_rows(self.X_fit_)
        return column_numbers(rows) if self.kernel_.kind == "gram" else rows


@dataclass(eq=False, repr=False)
class RidgeCore(KernelEstimator):
    """Kernel ridge regression on a table of targets: what the regressor and the classifier share."""

    alpha: AlphaLike = 1.0
    _: KW_ONLY
    kernel: Any = "linear"
    fit_intercept: bool = False
    solver: str = "auto"

    _kept_factor = False  # whether a small model keeps its factor
    _one_target = False  # whether predictions have no axis for targets

    # -- fitting ----------------------------------------------------------------------------------

    def _choice(self, kernel: Kernel, rows: Rows, n: int, alphas: int) -> SolverChoice:
        """The route for n rows, of which those given have weight; refused here if it does not fit in memory."""
        # only the scalar product leaves a sparse table sparse
        dense_only = rows.sparse and not isinstance(kernel, Linear) and self.solver != "primal"
        count = None if dense_only else kernel.count_features(rows)
        choice = choose(self.solver, len(rows), count, alphas, iterable=kernel.kind != "gram")
        if kernel.kind == "gram":  # the matrix given is kept beside the one that is factored
            choice = replace(choice, bytes=choice.bytes + 8 * n * n)
        refuse_if_too_large(choice, type(self).__name__, n)
        return choice

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the n_samples x n_samples Gram matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; labels of at least two classes for a classifier.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors, multiplied by those of `class_weight`; a row of weight zero is left out.

        Returns
        -------
        self
        """
        before = dict(vars(self))
        try:
            return self._fit(X, y, sample_weight)
        except Exception:
            if "fitted_" in before:  # a model that was fitted before goes on as it was
                self.__dict__ = before
            raise

    def _fit(self, X: XLike, y: YLike, sample_weight: PerRow) -> Self:
        owner = type(self).__name__
        X, y = self.check_data(X, y)
        validate(self)
        targets = Targets.read(self, y, as_sample_weight(sample_weight, X))
        weights = None if targets.weights is None else check_weights(owner, targets.weights.copy())
        alphas, kernel = check_alpha(owner, self.alpha, targets.Y.shape[1]), self.resolved_kernel(width_of(X))
        kernel.check(self._as_rows(X))
        kept = self._as_rows(X if weights is None or weights.all() else X[weights > 0])
        choice = self._choice(kernel, kept, len(targets.Y), len(np.unique(alphas)))
        X, Y = X.copy(), targets.Y.copy()  # a fitted model is a value: nobody else's changes reach it
        rows, problem = self._as_rows(X), Problem(Y, weights, bool(self.fit_intercept))
        warned = self._warn_if_invalid(kernel, rows)
        with blas_for(len(Y)):
            self.fitted_ = FittedRidge.fit(kernel, X, rows.names, problem, alphas, choice, keep=self._kept_factor)
        self._per_target = np.ndim(self.alpha) > 0
        if targets.classes is None:
            self._one_target = targets.y.ndim == 1
        else:
            self.classes_ = targets.classes.labels
        self.publish()
        if not (warned and self.route_.negative):
            least = float(alphas.min())  # of the system that is hardest to solve
            features = 0 if least else kernel.count_features(kept) or 0
            self.route_.warn(owner, least, features if features > len(kept) else 0)
        return self

    def publish(self) -> None:
        """Set the attributes that follow from `fitted_`."""
        fitted = self.fitted_
        self.kernel_, self.X_fit_, self.route_ = fitted.kernel, fitted.X, fitted.route
        self._as_fitted = {"fit_intercept": fitted.intercept}
        self.dual_coef_ = self.as_given(fitted.dual)
        self.intercept_ = self.as_given(fitted.constant[None])[0]

    def as_given(self, table: Array) -> Array:
        """A table with a column per target, or its column where y had one dimension."""
        return table[:, 0] if self._one_target else table

    @staticmethod
    def _warn_if_invalid(kernel: Kernel, rows: Rows) -> bool:
        """Warn if the kernel, or the precomputed matrix, is known not to be a Mercer kernel."""
        if kernel.kind != "gram":
            return warn_if_not_mercer(kernel)
        K = check_gram(rows.dense())
        bad = bad_pair(K) if isinstance(kernel, Precomputed) else None
        if bad is not None:
            way_out = "Clip its negative eigenvalues with mercer.repair(K) before fit."
            warn(sentence("The precomputed kernel matrix", "positive semi-definite", bad, way_out), NotMercerWarning)
        return bad is not None

    @property
    def primal_coef_(self) -> Array:
        """Weights w of the explicit features, ``f(x) = phi(x)'w + intercept_``; one row of them per target.

        Kernels of words and substrings have a feature for each that occurs in the training rows.
        """
        check_is_fitted(self)
        try:
            weights = self.fitted_.feature_weights(f"primal_coef_ of {type(self).__name__}", fixed=False)
        except (InputError, MemoryRefusal) as problem:  # `dir` of an estimator asks for every attribute
            raise NoFeaturesError(str(problem)) from None
        return weights[:, 0] if self._one_target else weights.T

    @property
    def primal_names_(self) -> list[str]:
        """Names of the features that `primal_coef_` weighs: columns and their products, words, or substrings."""
        return self.kernel_.feature_labels(self._as_rows(self.X_fit_)) if len(self.primal_coef_) else []

    def diagonal_of(self, rows: Rows, given: Any) -> Array | None:
        """k(x, x) of new rows, from the kernel or from the caller; None where the model does not need it."""
        what = f"{type(self).__name__} with a precomputed kernel needs"
        return None if self.fitted_.primal is not None else self.own_similarity(rows, given, what)


def warn_if_not_mercer(kernel: Kernel) -> bool:
    """Warn if the kernel is known not to be a Mercer kernel, and return whether it is."""
    valid, reason = kernel.verdict()
    if valid is False:
        words = f"{kernel!r} is not a Mercer kernel (its kernel matrices can have negative eigenvalues): {reason}."
        what = "The least-squares problem may have no minimum, and predictions may be meaningless."
        warn(f"{words} {what} Use a Mercer kernel.", NotMercerWarning)
    return valid is False
