"""Prediction intervals, quantiles and full conformal sets of models, searches and committees.

Quantiles are by location and scale: held-out residuals in units of a prediction of their size.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import issparse, vstack

from mercer.data.checks import keyword_hints
from mercer.data.folds import Folds, check_names, draw
from mercer.data.rows import Array, Estimator, Rows, Seed, SplitsLike, XLike, YLike
from mercer.errors import InputError, MercerWarning, refuse_if
from mercer.estimators.auto_evaluation import paired
from mercer.estimators.inputs import coverage_of
from mercer.insight.conformal import WAY_OUT, conformal_sets
from mercer.insight.intervals import (
    Coverage,
    check_confidence,
    interval_bounds,
)
from mercer.kernels import Kernel
from mercer.runtime.progress import Progress
from mercer.runtime.resources import blas_for
from mercer.selection.ladders import resolve_alphas, resolve_kernels
from mercer.solvers.fitted import FittedRidge

_FLOOR = 0.05  # sizes of residuals below this share of their median are raised to it: their logarithms say nothing
_ROWS = 1500  # rows that sizes are modelled on


class IntervalsMixin:
    """Prediction intervals and sets of a fitted model, or of the best candidate of a search."""

    _model_for: Any  # the fitted model that predicts some rows

    @keyword_hints
    def predict_interval(
        self, X: XLike, confidence: float = 0.9, method: str = "jackknife+", *, cv: SplitsLike = None,
        random_state: Seed = None, diag: Any = None,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Intervals that hold the target of a new row with this confidence, without refitting.

        With q = 1 - confidence and n training rows, `jackknife+` takes the predictions of the n models that leave one
        row out, less and plus the error of each at its row, and cuts off the outermost floor(q (n + 1)) on either
        side. If all rows are drawn alike and independently, the intervals hold at least 1 - 2q of new targets, for
        any number of rows and any distribution, and typically 1 - q. `cv+` leaves folds out and promises a little less.
        If kernel or alpha were selected on the same rows, as in a search, both promises are nominal.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows, as for `predict`.
        confidence : float, default=0.9
            Between 0 and 1.
        method : {"jackknife+", "cv+", "gaussian", "full"}, default="jackknife+"
            `full` gives the ends of `predict_set`, whose promise is 1 - q. `gaussian` believes in a Gaussian prior: the
            standard deviation of `predict` and noise of variance alpha times `prior_variance_`, without any promise
            about data of another kind.
        cv : int, splitter, iterable of (train, test) or None, default=None
            The folds of `cv+`, a partition of the rows; other methods do not use it. An int is scikit-learn's
            unshuffled KFold. None: ten folds, or those of the search.
        random_state : int, RandomState or None, default=None
            Random seed for shuffling the folds of an int.
        diag : array-like of shape (n_rows,), default=None
            k(x, x) of the new rows, for `gaussian` and `full` with a precomputed kernel.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Infinite where there are too few rows for this confidence, q (n + 1) < 1. Rows of weight zero do not count.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge, KernelRidgeCV
        >>> from mercer.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(60, 1))
        >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
        >>> model = KernelRidge(alpha=0.1, kernel=Gaussian(width=1.0)).fit(X, y)
        >>> lower, upper = model.predict_interval([[1.5], [9.0]])
        >>> lower.round(1), upper.round(1)
        (array([ 0.6, -0.3]), array([1.3, 0.4]))
        >>> search = KernelRidgeCV([Gaussian(w) for w in (0.1, 1.0, 10.0)], [0.1, 1.0, 10.0], cv=5).fit(X, y)
        >>> lower, upper = search.predict_interval([[1.5]], method="cv+")
        >>> lower.round(1), upper.round(1)
        (array([0.5]), array([1.2]))
        """
        if method == "full":
            return hulls(self.predict_set(X, confidence, diag=diag))
        model, folds = self._model_for(X), None
        rows = model.check_rows(X, diag)
        if method == "cv+":
            given = getattr(self, "folds_", 10) if cv is None else cv
            targets = model.fitted_.targets
            folds = given if isinstance(given, Folds) else draw(given, model.X_fit_, targets, random_state=random_state)
        diagonal = model.diagonal_of(rows, diag) if method == "gaussian" else None
        lower, upper = interval_bounds(model.fitted_, rows, confidence, method, folds, diagonal)
        return model.as_given(lower), model.as_given(upper)

    def predict_quantiles(self, X: XLike, q: Any = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of the target of new rows, whose spread follows the noise.

        A second kernel ridge model predicts the size of the leave-one-out residuals, on a logarithmic scale. The
        quantiles are the prediction plus this size times the quantiles of the residuals in units of their own sizes,
        each predicted without the row. Quantiles never cross.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows, as for `predict`.
        q : float or sequence of float, default=(0.05, 0.5, 0.95)
            Levels between 0 and 1, in ascending order.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_levels)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidgeCV
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(300, 1))
        >>> y = np.sin(X[:, 0]) + 0.1 * X[:, 0] * rng.normal(size=300)  # the noise grows with x
        >>> lower, upper = KernelRidgeCV(fit_intercept=True).fit(X, y).predict_quantiles([[1.0], [5.0]], (0.05, 0.95)).T
        >>> bool(upper[1] - lower[1] > 2.0 * (upper[0] - lower[0]))
        True
        """
        from mercer.estimators.search import KernelRidgeCV

        model, levels = self._model_for(X), check_levels(f"q of {type(self).__name__}.predict_quantiles", q)
        fitted, location = model.fitted_, model.predict(X)
        if location.ndim > 1:
            raise InputError(f"{type(self).__name__}.predict_quantiles supports one target. Fit one model per target.")

        def left_out() -> tuple[Kernel, Any, Array]:
            search = KernelRidgeCV([model.kernel_], fitted.alphas[:1], fit_intercept=fitted.intercept)
            with warnings.catch_warnings(action="ignore", category=MercerWarning):
                search.fit(fitted.X, fitted.targets[:, 0], sample_weight=fitted.weights)
            return model.kernel_, fitted.X, fitted.targets[:, 0] - search.cv_predictions_[0]

        values = ResidualScale.of(fitted, left_out).quantiles(X, location, levels)
        return values[:, 0] if np.ndim(q) == 0 else values

    @keyword_hints
    def predict_set(self, X: XLike, confidence: float = 0.9, *, categories: Any = None, diag: Any = None) -> Any:
        """Full conformal prediction: all targets that conform to the training rows, as unions of intervals.

        A value z is in the set if, of the leave-one-out residuals of the n + 1 rows with z as the new target, more than
        q (n + 1) are at least as large as that of the new row, q = 1 - confidence. If all rows are drawn alike and
        independently, the set holds the target with probability at least 1 - q, for any number of rows and any
        distribution.

        A single model keeps its kernel and alpha, which must not have been selected on these rows. A search selects
        both again for every value that the new target may have, by a few products, and the guarantee includes the
        selection. Default ladders are made again from the training rows and the new one, which takes as long as a
        search for each row. A search needs leave-one-out, squared errors, rule="best" and rows without weights;
        anything else is refused.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.
        confidence : float, default=0.9
            Between 0 and 1.
        categories : tuple of two array-likes, default=None
            Labels of the training rows and of the new rows: each new row is compared with training rows of its label
            only, and the guarantee holds within every label.
        diag : array-like of shape (n_rows,), default=None
            k(x, x) of the new rows, for a precomputed kernel.

        Returns
        -------
        list of ndarray of shape (k, 2)
            For each new row the lower and upper ends of k intervals, in order, rounded outwards by their error; the
            whole line where there are too few rows for this confidence. For several targets a list of such lists, one
            per target. A warning says how many digits of the ends are correct if these are few.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge, KernelRidgeCV
        >>> from mercer.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(60, 1))
        >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
        >>> model = KernelRidge(alpha=0.1, kernel=Gaussian(width=1.0)).fit(X, y)
        >>> [each.round(1).tolist() for each in model.predict_set([[1.5], [9.0]])]
        [[[0.6, 1.3]], [[-0.3, 0.4]]]
        >>> search = KernelRidgeCV([Gaussian(0.5), Gaussian(1.0)], [1e-3, 0.01, 0.1], fit_intercept=True).fit(X, y)
        >>> [each.round(1).tolist() for each in search.predict_set([[1.5]])]
        [[[0.6, 1.3]]]
        """
        model = self._model_for(X)
        rows = model.check_rows(X, diag)
        diagonal = model.diagonal_of(rows, diag) if model.kernel_.kind == "gram" else None
        confidence, fitted = check_confidence(confidence), model.fitted_
        search: Any = None if model is self else self
        _refuse_uncovered(fitted, search)
        alike = _match_categories(categories, len(fitted.targets), len(rows))
        if search is not None and any(search.own_ladders()):
            sets = _by_ladders(search, fitted, rows, confidence, alike)
        else:
            how: Any = {"intercept": fitted.intercept, "diagonal": diagonal, "alike": alike}
            tried = [([fitted.kernel], [float(alpha)]) for alpha in fitted.alphas]  # which stay as they are
            if search is not None:
                tried = [(search.kernels_, search.alphas_)] * len(fitted.alphas)
            elif fitted.primal is not None:
                how["solver"] = "primal"
            parts = zip(tried, fitted.targets.T, strict=True)
            sets = [conformal_sets(*some, fitted.rows(), y, rows, confidence, **how) for some, y in parts]
        return sets if np.ndim(model.dual_coef_) > 1 else sets[0]

    @keyword_hints
    def coverage(
        self, X: XLike, y: YLike, confidence: float = 0.9, method: str = "jackknife+", *, cv: SplitsLike = None,
        random_state: Seed = None, diag: Any = None,
    ) -> Coverage:  # fmt: skip
        """Share of new rows whose target lies inside its interval, and the mean width of the intervals.

        Parameters
        ----------
        X, y : array-like
            Rows that the model was not fitted to, and their targets.
        confidence, method, cv, random_state, diag
            As for `predict_interval`.

        Returns
        -------
        Coverage
            Prints; `share` and `width` are per target; `float` gives the share.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(560, 1))
        >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=560)
        >>> model = KernelRidge(alpha=0.1, kernel=Gaussian(width=1.0)).fit(X[:60], y[:60])
        >>> print(model.coverage(X[60:], y[60:]))
        coverage 88.4 % on 500 rows (nominal 90 %, method jackknife+); mean width 0.623
        """
        bounds = self.predict_interval(X, confidence, method, cv=cv, random_state=random_state, diag=diag)
        return coverage_of(bounds, y, confidence, method)


def _by_ladders(search: Estimator, fit: FittedRidge, new: Rows, level: float, alike: Array | None) -> list[list[Array]]:
    """Conformal sets for each target and new row, of ladders that are made from the training rows and the new one."""
    sets: list[list[Array]] = [[] for _ in fit.alphas]
    progress = Progress("conformal sets", len(new), search.verbose)
    for place in range(len(new)):
        one = new[place : place + 1]
        parts = [fit.X, one.values]
        both = Rows(vstack(parts).tocsr() if issparse(fit.X) else np.concatenate(parts), fit.names)
        kernels = resolve_kernels(search.kernels, both)
        how: Any = {"intercept": fit.intercept, "alike": None if alike is None else alike[place : place + 1]}
        tried = kernels, resolve_alphas(search.alphas, kernels, both), fit.rows()
        for known, y in zip(sets, fit.targets.T, strict=True):
            known.extend(conformal_sets(*tried, y, one, level, **how))
        progress.step()
    return sets


def hulls(sets: Any) -> tuple[Array, Array]:
    """The ends of the sets of one target (m), or of several (m x t); of an empty set NaN."""
    if sets and isinstance(sets[0], list):
        lower, upper = (np.stack(ends, axis=-1) for ends in zip(*map(hulls, sets), strict=True))
    else:
        ends = [(one[0, 0], one[-1, 1]) if len(one) else (np.nan, np.nan) for one in sets]
        lower, upper = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return lower, upper


def _refuse_uncovered(fitted: FittedRidge, search: Any) -> None:
    """Raise an error where sets have no guarantee: it needs a choice that treats all n + 1 rows alike."""
    refuse_if((fitted.alphas <= 0).any(), "alpha for full conformal sets", "above 0", fitted.alphas.min(), WAY_OUT)
    sets, one_by_one = "Full conformal sets", "Use one search for each target"
    refused: list[tuple[object, str, str]] = [
        (fitted.weights is not None, "do not support sample_weight: weighted rows are not exchangeable", WAY_OUT),
        (fitted.kernel.verdict()[0] is False, f"need a Mercer kernel; {fitted.kernel!r} is not one", WAY_OUT),
    ]
    if search is not None:
        defaults: dict[str, tuple[Any, ...]] = {"rule": ("best",), "scoring": (None, "neg_mean_squared_error")}
        defaults |= {"extend_grid": (False,), "tune": (False,), "repeats": (1,)}
        changed = [] if search.folds_.leaves_one_out else ["cv"]
        changed += [name for name, values in defaults.items() if getattr(search, name) not in values]
        needs = "need leave-one-out without groups, squared errors and fixed candidates"
        own = f"{''.join(changed[:1])} of {type(search).__name__} must have its default"
        several, invalid = fitted.targets.shape[1] > 1, any(kernel.verdict()[0] is False for kernel in search.kernels_)
        unfit = invalid or bool((np.asarray(search.alphas_) <= 0).any())
        ladders = fitted.kernel.kind == "gram" and any(search.own_ladders())
        by_target = several and not search.alpha_per_target
        refused += [
            (changed, f"{needs}: {own}", WAY_OUT),
            (unfit, "need candidates with Mercer kernels and alphas above 0", WAY_OUT),
            (by_target, "need kernel and alpha selected for each target", f"{one_by_one}, or method='jackknife+'."),
            (several and len(search.kernels_) > 1, "of several targets need one kernel", f"{one_by_one}."),
            (ladders, "of precomputed kernels need alphas that are given", "Pass alphas."),
        ]
    for refuse, words, way_out in refused:
        if refuse:
            raise InputError(f"{sets} {words}. {way_out}")


def _match_categories(categories: Any, n: int, m: int) -> Array | None:
    """Which training rows have the category of each new one."""
    if categories is None:
        return None
    pair = isinstance(categories, tuple) and len(categories) == 2
    must_be = "a pair: categories of the training rows, and of the new rows"
    refuse_if(not pair, "categories", must_be, type(categories).__name__)
    old = check_names("categories of the training rows", categories[0], n)
    new = check_names("categories of the new rows", categories[1], m)
    mixed = (old.dtype.kind in "USO") != (new.dtype.kind in "USO")
    must_be = "of one kind, strings or numbers, for training rows and new rows"
    refuse_if(mixed, "categories", must_be, f"{old.dtype} and {new.dtype}")
    return np.asarray(new[:, None] == old[None, :])


_FITTED: WeakKeyDictionary[Any, ResidualScale] = WeakKeyDictionary()


def check_levels(what: str, q: Any) -> Array:
    """q as levels between 0 and 1, in ascending order; `what` names the parameter."""
    levels = np.ravel(np.asarray(q, dtype=np.float64))
    rising = len(levels) and (np.diff(levels, prepend=0.0, append=1.0) > 0).all()
    refuse_if(not rising, what, "a number between 0 and 1, or several in ascending order", repr(q))
    return levels


@dataclass(frozen=True, eq=False)
class ResidualScale:
    """A model of the size of residuals, and what it says of the rows that it was fitted to.

    Attributes
    ----------
    model : KernelRidgeCV
        Of the logarithm of the absolute residual.
    residuals : ndarray of shape (n,)
        Residuals of held-out rows.
    sizes : ndarray of shape (n,)
        Predicted sizes of these residuals, each without its own row.
    """

    model: Estimator
    residuals: Array
    sizes: Array

    @classmethod
    def fit(cls, kernel: Kernel, X: XLike, residuals: Array) -> ResidualScale:
        """From residuals y - f of rows that were left out."""
        from mercer.estimators.search import KernelRidgeCV

        n = len(residuals)
        some = np.unique(np.linspace(0, n - 1, n if kernel.kind == "gram" else min(_ROWS, n)).astype(np.intp))
        sizes = np.abs(residuals[some])
        least = _FLOOR * float(np.median(sizes)) or max(float(sizes.max(initial=0.0)), 1.0) * 1e-12
        with warnings.catch_warnings(action="ignore", category=MercerWarning), blas_for(len(some)):
            model = KernelRidgeCV([kernel], fit_intercept=True, rule="one_se")
            model.fit(X[some], np.log(np.maximum(sizes, least)))
        logs, rest = np.empty(n), np.setdiff1d(np.arange(n), some)
        logs[some] = model.cv_predictions_[0]
        if len(rest):
            logs[rest] = model.predict(X[rest])
        return cls(model, residuals, np.exp(logs))

    @classmethod
    def of(cls, key: Any, residuals_of: Callable[[], tuple[Kernel, Any, Array]]) -> ResidualScale:
        """That of a fitted value `key`, fitted when it is first asked for; from kernel, rows and residuals."""
        if key not in _FITTED:
            _FITTED[key] = cls.fit(*residuals_of())
        return _FITTED[key]

    def predict(self, X: XLike) -> Array:
        """Sizes of the residuals of new rows (m,)."""
        return np.asarray(np.exp(self.model.predict(X)))

    def quantiles(self, X: XLike, location: Array, levels: Array) -> Array:
        """Quantiles (m, levels) at new rows, from predictions (m,)."""
        quantiles = _quantiles(self.residuals / self.sizes, levels)
        return np.asarray(location[:, None] + self.predict(X)[:, None] * quantiles)

    def lowers_loss(self, clusters: Array | None = None) -> bool:
        """Whether predicted sizes lower the pinball loss of the 5 and 95 % quantiles by more than a standard error."""
        levels = np.array([0.05, 0.95])
        one = self.residuals[:, None] - _quantiles(self.residuals, levels)
        own = self.residuals[:, None] - self.sizes[:, None] * _quantiles(self.residuals / self.sizes, levels)
        before, after = (np.maximum(levels * off, (levels - 1.0) * off).sum(axis=1) for off in (one, own))
        return bool(paired((before - after)[:, None], clusters=clusters)[0] > 1.0)


def _quantiles(values: Array, levels: Array) -> Array:
    return np.asarray(np.quantile(values, levels, method="weibull"))
