"""Kernel ridge regression and classification that choose kernel and alpha by exact cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, ClassWeight, XLike, YLike
from mercer.errors import InputError, refuse_if
from mercer.estimators.intervals import IntervalsMixin
from mercer.estimators.refitting import like_training, part_of
from mercer.estimators.ridge import KernelRidge, KernelRidgeClassifier, check_numbers
from mercer.estimators.search_core import SearchCore
from mercer.estimators.targets import CalibratedMixin


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRidgeCV(IntervalsMixin, MultiOutputMixin, RegressorMixin, SearchCore):  # type: ignore[misc]
    """Kernel ridge regression that chooses its kernel and alpha by exact cross-validation.

    Scores equal those of refitting, computed without refitting: one factor per kernel and alpha yields the held-out
    predictions of every split and repeat.

    Parameters
    ----------
    kernels : Kernel, list of Kernel or str, default="gaussian"
        Candidates. The name of a family (gaussian, laplacian, matern, rational_quadratic, polynomial, linear, cosine)
        stands for a default grid of it; widths are computed from the distances in X, before any split.
    alphas : array-like, default=None
        Candidates. None: a grid computed from the eigenvalues of the kernel matrices of X, before any split.
    cv : int, splitter, iterable of (train, test) or None, default=None
        None is leave-one-out. An int is scikit-learn's unshuffled KFold, shuffled with `repeats` or `random_state`.
    repeats : int, default=1
        How often the folds are drawn.
    scoring : str, scorer, callable or None, default=None
        None is neg_mean_squared_error; a scikit-learn name or scorer; or a loss(y_true, y_pred), lower is better.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant.
    rule : {"best", "one_se"}, default="best"
        "one_se" uses the kernel of the best candidate and the largest alpha within one standard error.
    alpha_per_target : bool, default=False
        Whether each target gets an alpha of its own.
    extend_grid : bool, default=False
        Whether a grid that you specify is extended until the best candidate is not on its edge. Default grids always
        are.
    tune : bool, default=False
        Whether the parameters of the best candidate, and alpha, are tuned further by the gradient of the leave-one-out
        error; the tuned kernel is one more candidate, and `tuned_` says how it went.
    verify : bool, default=False
        Whether up to five random splits of the best candidate are refitted; the largest difference is `verified_`.
    checkpoint : path, default=None
        File that keeps finished kernels; a search that was killed resumes from it.
    random_state : int, RandomState or None, default=None
        Random seed for shuffling and for the splits that `verify` checks.
    verbose : int, default=0
        1: progress with the time left on a terminal. 2: everywhere.

    Attributes
    ----------
    best_kernel_, alpha_ : Kernel, float or ndarray of shape (n_targets,)
        The best candidate.
    best_score_ : float
        Its mean score over splits.
    best_estimator_ : KernelRidge
        The best candidate fitted to all rows.
    primal_coef_, primal_names_ : ndarray, list of str
        Weights of its explicit features and their names; only for kernels with finitely many features.
    cv_results_ : dict
        As in GridSearchCV, with the additional columns pooled_test_score, condition and refits.
    cv_predictions_ : ndarray of shape (repeats, n_samples) or (repeats, n_samples, n_targets)
        Held-out predictions of the best candidate.
    kernels_, alphas_ : list of Kernel, ndarray
        What was tried.
    digits_ : float
        Decimal digits of the best candidate's scores that are correct.
    plan_, folds_ : Plan, Folds
        How it was done.
    verified_ : float
        Largest difference between closed forms and refits, in the units of y; only with `verify`.
    updated_ : str
        Whether the candidates are unchanged or default grids were computed again; only after `without` and `with_rows`.
    best_index_ : int
        Index of the best candidate in `cv_results_`; with `alpha_per_target`, that for the first target.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(25.0 * X[:, 0])
    >>> search = KernelRidgeCV([Gaussian(w) for w in (0.1, 1.0, 10.0)], [1e-3, 1e-2, 1e-1, 1.0]).fit(X, y)
    >>> search.best_kernel_, search.alpha_
    (Gaussian(width=1.0), 0.1)
    """

    alpha_per_target: bool = False
    tune: bool = False

    _model = KernelRidge

    def predict(self, X: XLike, return_std: bool = False, *, diag: Any = None) -> Any:
        """Predict with the best candidate.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.
        return_std, diag
            As for `KernelRidge.predict`.

        Returns
        -------
        ndarray, or two of them
        """
        return self._model_for(X).predict(X, return_std=return_std, diag=diag)

    def without(self, rows: Any) -> Self:
        """The search repeated without some of its rows; given candidates stay, default ladders follow from X again.

        `mercer.influence` says for every row at once which candidate would be chosen without it.

        Parameters
        ----------
        rows : int, array-like of int, or array-like of bool of shape (n_samples,)
            The rows to leave out.

        Returns
        -------
        KernelRidgeCV
            A new search; this one stays as it is.
        """
        check_is_fitted(self, "best_estimator_")
        fitted = self.best_estimator_.fitted_
        kept = np.setdiff1d(np.arange(len(fitted.targets)), check_numbers(rows, len(fitted.targets)))
        return self._again(fitted.rows(kept).values, fitted.targets[kept], part_of(fitted.weights, kept))

    def with_rows(self, X: XLike, y: YLike) -> Self:
        """The search repeated with more rows, of weight 1; given candidates stay, default ladders follow from X again.

        Parameters
        ----------
        X, y : array-like
            More rows and their targets.

        Returns
        -------
        KernelRidgeCV
            A new search; this one stays as it is.
        """
        check_is_fitted(self, "best_estimator_")
        more = self.best_estimator_.with_rows(X, y).fitted_  # which looks at the new rows
        return self._again(more.X, more.targets, more.weights)

    def _again(self, X: XLike, Y: Array, weights: Array | None) -> Self:
        if "group" in self.folds_.label.lower():
            raise InputError("without() and with_rows() do not support groups. Fit the search again with its groups.")
        again: Self = clone(self).fit(like_training(self, X), self.best_estimator_.as_given(Y), sample_weight=weights)
        names = [n for n in ("kernels", "alphas") if repr(getattr(self, f"{n}_")) != repr(getattr(again, f"{n}_"))]
        again.updated_ = f"{' and '.join(names)} made again from the rows" if names else "the same candidates"
        return again


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRidgeClassifierCV(CalibratedMixin, SearchCore):
    """Kernel ridge classification that chooses its kernel and alpha by exact cross-validation.

    Probabilities are calibrated on held-out decision values.

    Parameters
    ----------
    kernels, alphas, cv, repeats, fit_intercept, rule, extend_grid, verify, checkpoint, random_state, verbose
        As for `KernelRidgeCV`; an int for `cv` is stratified.
    scoring : str, scorer, callable or None, default=None
        None is accuracy; otherwise as for `KernelRidgeCV`.
    class_weight : dict, "balanced" or None, default=None
        "balanced" is worked out anew in every training set, by refitting.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    cv_predictions_ : ndarray of shape (repeats, n_samples) or (repeats, n_samples, n_classes)
        Held-out decision values of the best candidate.
    best_kernel_, alpha_, best_score_, best_estimator_, primal_coef_, primal_names_, cv_results_
        As for `KernelRidgeCV`.
    kernels_, alphas_, digits_, plan_, folds_
        As for `KernelRidgeCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeClassifierCV
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "odd")
    >>> kernels, alphas = [Gaussian(w) for w in (0.3, 1.0, 3.0)], [0.01, 0.1, 1.0, 10.0, 100.0]
    >>> search = KernelRidgeClassifierCV(kernels, alphas, cv=5).fit(X, y)
    >>> search.predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'odd']
    """

    class_weight: ClassWeight = None

    _model = KernelRidgeClassifier


def search_of(model: KernelRidge | KernelRidgeClassifier, width: int) -> KernelRidgeCV | KernelRidgeClassifierCV:
    """The search by leave-one-out with this model, on rows of so many columns, as its only candidate; not fitted."""
    refuse_if(np.ndim(model.alpha), "alpha of the model", "one number", repr(model.alpha))
    candidate = [model.resolved_kernel(width)], [float(model.alpha)]
    if isinstance(model, KernelRidgeClassifier):
        return KernelRidgeClassifierCV(*candidate, fit_intercept=model.fit_intercept, class_weight=model.class_weight)
    return KernelRidgeCV(*candidate, fit_intercept=model.fit_intercept)
