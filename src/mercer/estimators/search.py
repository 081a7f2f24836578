"""Kernel ridge regression that chooses its kernel and alpha by exact cross-validation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, File, Seed
from mercer.errors import InputError
from mercer.estimators.conformal import hulls, sets_of_search
from mercer.estimators.inputs import coverage_of
from mercer.estimators.refitting import Refitting, like_training
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.search_core import SearchCore
from mercer.estimators.updating import checked_numbers
from mercer.insight.intervals import Coverage
from mercer.kernels import Kernel
from mercer.selection.scoring import resolve_scoring
from mercer.selection.search import Search
from mercer.solvers.problem import Problem


class KernelRidgeCV(MultiOutputMixin, RegressorMixin, SearchCore):  # type: ignore[misc]
    """Kernel ridge regression that chooses its kernel and alpha by exact cross-validation.

    Every score is the one that refitting would give; the fits are not made. One factor per kernel and
    alpha yields the held-out predictions of every split and repeat.

    Parameters
    ----------
    kernels : Kernel, list of Kernel or str, default="gaussian"
        Candidates. A family's name (gaussian, laplacian, matern, rational_quadratic, polynomial, linear, cosine)
        stands for a ladder; widths come from quantiles of the distances in X, before any split.
    alphas : array-like, default=None
        Candidates. None: a ladder from the spectra of the kernels on X, before any split.
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
        Whether ladders grow until the best candidate is not on their edge.
    tune : bool, default=False
        Whether the parameters of the best candidate, and alpha, are tuned further by the gradient of the leave-one-out
        error; the tuned kernel is one more candidate, and `tuned_` says how it went.
    verify : bool, default=False
        Whether up to five random splits of the best candidate are refitted; the largest difference is `verified_`.
    checkpoint : path, default=None
        File that keeps finished kernels; a search that was killed resumes from it.
    random_state : int, RandomState or None, default=None
        Of shuffling, and of what `verify` replays.
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
    cv_results_ : dict
        As GridSearchCV has it, with pooled_test_score, condition and refits beside.
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
        Whether candidates are the same or were made again from the rows; only after `without` and `with_rows`.
    best_index_ : int
        Where the best candidate is in `cv_results_`; with `alpha_per_target`, where the first target's alpha does.

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

    def __init__(
        self,
        kernels: Any = "gaussian",
        alphas: Any = None,
        *,
        cv: Any = None,
        repeats: int = 1,
        scoring: Any = None,
        fit_intercept: bool = False,
        rule: str = "best",
        alpha_per_target: bool = False,
        extend_grid: bool = False,
        tune: bool = False,
        verify: bool = False,
        checkpoint: File = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernels, alphas, cv=cv, repeats=repeats, scoring=scoring, fit_intercept=fit_intercept, rule=rule,
            extend_grid=extend_grid, verify=verify, checkpoint=checkpoint, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.alpha_per_target = alpha_per_target
        self.tune = tune

    def _how(self) -> dict[str, Any]:
        return {"multi_output": True, "y_numeric": True}

    def _search(self, X: Any, y: Any, weights: Array | None, groups: Any) -> tuple[Search, list[Kernel], Array]:
        rows, kernels, alphas = self._candidates(X)
        y = np.asarray(y, dtype=np.float64)
        problem = Problem(y.reshape(len(y), -1), weights, bool(self.fit_intercept), gram=self._is_gram(kernels))
        folds = self._folds(X, y, groups, classifier=False)
        scoring = resolve_scoring(self.scoring, classifier=False)
        per_target = bool(self.alpha_per_target)
        found = Search(rows, y, problem, folds, scoring, per_target=per_target, sample_weight=weights)
        return found, kernels, alphas

    def _model(self) -> KernelRidge:
        return KernelRidge(self.alpha_, kernel=self.best_kernel_, fit_intercept=self.fit_intercept)

    def _gap(self, fit: Refitting, train: Array, test: Array, values: Array) -> float:
        model, X = fit(train, test)
        return float(np.abs(model.predict(X).reshape(values.shape) - values).max())

    def predict(self, X: Any, return_std: bool = False, *, diag: Any = None) -> Any:
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
        return self._winner_for(X).predict(X, return_std=return_std, diag=diag)

    def predict_interval(
        self,
        X: Any,
        confidence: float = 0.9,
        method: str = "jackknife+",
        *,
        cv: Any = None,
        random_state: Seed = None,
        diag: Any = None,
    ) -> tuple[Array, Array]:
        """Intervals of the best candidate, as `KernelRidge.predict_interval` makes them; nothing is refitted.

        The best candidate was selected on the same rows, so the guaranteed coverage of at least 1 - 2q (q = 1 -
        confidence) does not hold strictly. Coverage is typically close to 1 - q if rows are many and candidates few.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.
        confidence : float, default=0.9
            Between 0 and 1.
        method : {"jackknife+", "cv+", "gaussian", "full"}, default="jackknife+"
            As for `KernelRidge.predict_interval`; `full` gives the ends of `predict_set`.
        cv : int, splitter, iterable of (train, test) or None, default=None
            The folds of `cv+`; None takes those of the search, which must be a partition drawn once.
        random_state, diag
            As for `KernelRidge.predict_interval`.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,) or (n_rows, n_targets)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidgeCV
        >>> from mercer.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(60, 1))
        >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
        >>> search = KernelRidgeCV([Gaussian(w) for w in (0.1, 1.0, 10.0)], [0.1, 1.0, 10.0], cv=5).fit(X, y)
        >>> lower, upper = search.predict_interval([[1.5]], method="cv+")
        >>> lower.round(1), upper.round(1)
        (array([0.5]), array([1.2]))
        """
        if method == "full":
            return hulls(self.predict_set(X, confidence, diag=diag))
        winner: KernelRidge = self._winner_for(X)
        cv = self.folds_ if cv is None else cv
        return winner.predict_interval(X, confidence, method, cv=cv, random_state=random_state, diag=diag)

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
        kept = np.setdiff1d(np.arange(len(fitted.targets)), checked_numbers(rows, len(fitted.targets)))
        return self._again(
            fitted.rows(kept).values, fitted.targets[kept], None if fitted.weights is None else fitted.weights[kept]
        )

    def with_rows(self, X: Any, y: Any) -> Self:
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

    def _again(self, X: Any, Y: Array, weights: Array | None) -> Self:
        if "group" in self.folds_.label.lower():
            raise InputError("without and with_rows do not support groups. Fit the search again with its groups.")
        one = self.best_estimator_.dual_coef_.ndim == 1
        found: Self = clone(self).fit(like_training(self, X), Y[:, 0] if one else Y, sample_weight=weights)
        ladders = [
            what
            for what, old, new in (("kernels", self.kernels_, found.kernels_), ("alphas", self.alphas_, found.alphas_))
            if repr(old) != repr(new)
        ]
        found.updated_ = f"{' and '.join(ladders)} made again from the rows" if ladders else "the same candidates"
        return found

    def predict_set(self, X: Any, confidence: float = 0.9, *, categories: Any = None, diag: Any = None) -> Any:
        """Full conformal prediction: all targets that conform to the training rows, as unions of intervals.

        Kernel and alpha are chosen again for every value that the new target may have, by a few products. Default
        ladders are made again from the training rows and the new one, which takes as long as a search for each row.
        A value z is in the set if, of the leave-one-out residuals of the n + 1 rows with z as the new target, more than
        q (n + 1) are at least as large as that of the new row, q = 1 - confidence. If all rows are drawn alike and
        independently, the set holds the target with probability at least 1 - q, for any number of rows and any
        distribution, the choice of kernel and alpha included. It needs leave-one-out, squared errors, rule="best" and
        rows without weights; anything else is refused.

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
        >>> from mercer import KernelRidgeCV
        >>> from mercer.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(60, 1))
        >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
        >>> search = KernelRidgeCV([Gaussian(0.5), Gaussian(1.0)], [1e-3, 0.01, 0.1], fit_intercept=True).fit(X, y)
        >>> [each.round(1).tolist() for each in search.predict_set([[1.5]])]
        [[[0.6, 1.3]]]
        """
        winner: KernelRidge = self._winner_for(X)
        rows = winner.checked_rows(X, diag)
        diagonal = winner._diagonal(rows, diag) if winner.kernel_.kind == "gram" else None  # noqa: SLF001 - our own model
        found = sets_of_search(self, rows, confidence, diagonal, categories)
        return found[0] if winner.fitted_.targets.shape[1] == 1 and winner.dual_coef_.ndim == 1 else found

    def coverage(
        self,
        X: Any,
        y: Any,
        confidence: float = 0.9,
        method: str = "jackknife+",
        *,
        cv: Any = None,
        random_state: Seed = None,
        diag: Any = None,
    ) -> Coverage:
        """Share of new rows whose target lies inside its interval, and the mean width of the intervals.

        Parameters
        ----------
        X, y : array-like
            Rows that the search has not seen, and their targets.
        confidence, method, cv, random_state, diag
            As for `predict_interval`.

        Returns
        -------
        Coverage
            Prints; `share` and `width` are per target; `float` gives the share.
        """
        bounds = self.predict_interval(X, confidence, method, cv=cv, random_state=random_state, diag=diag)
        return coverage_of(bounds, y, confidence, method)
