"""Ridge regression and classification on landmarks that choose kernel and alpha by exact cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array
from mercer.estimators.base import LabelsMixin
from mercer.estimators.nystroem import NystroemRidgeClassifier
from mercer.estimators.nystroem_search_core import NystroemSearchCore


class NystroemRidgeCV(MultiOutputMixin, RegressorMixin, NystroemSearchCore):  # type: ignore[misc]
    """Ridge regression on landmarks that chooses its kernel and alpha by exact cross-validation, from one pass.

    Sums over the rows of each fold give the models without that fold, for every alpha, and their squared errors on it:
    the same numbers as refitting with the same landmarks. Landmarks, ladders and the offset of y come from
    a sample of all rows, before any split, and do not look at scores.

    Parameters
    ----------
    kernels : Kernel, list of Kernel or str, default="gaussian"
        Candidates, as for `KernelRidgeCV`; ladders of widths come from a sample of rows.
    alphas : array-like, default=None
        Candidates. None: a ladder from the spectra of the kernels on the sample.
    cv : int, default=10
        Folds. A row's fold is a hash of its number, or of its key where `groups` are given: neither the size of blocks
        nor the number of workers changes it. Where that would leave a fold empty, the rows or groups are dealt to the
        folds evenly, in the order of their hashes.
    landmarks, method, budget
        As for `NystroemRidge`, for each kernel.
    nested : bool, default=False
        Whether pairs of folds are held out as well, for an out-of-sample score of the whole search: `nested_`.
    scoring : str, scorer, callable or None, default=None
        As for `KernelRidgeCV`. Squared errors (None), their root and "r2" come from the sums.
        "neg_mean_absolute_error" and "max_error" take a second pass; any other a second pass that keeps all
        held-out predictions.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant.
    rule : {"best", "one_se"}, default="best"
        "one_se" uses the kernel of the best candidate and the largest alpha within one standard error.
    backend, checkpoint, block_rows, verbose
        As for `NystroemRidge`.
    random_state : int, RandomState or None, default=0
        Of landmarks and folds.

    Attributes
    ----------
    best_kernel_, alpha_, best_score_, best_index_ : Kernel, float, float, int
        The best candidate.
    best_estimator_ : NystroemRidge
        The best candidate fitted to all rows.
    cv_results_, kernels_, alphas_, digits_, folds_
        As for `KernelRidgeCV`.
    landmark_check_ : LandmarkCheck
        Held-out error with all landmarks and with half of them: whether more would still help.
    nested_ : NestedScores
        Only with `nested`; its scores are also `nested_scores_`, and `optimism_` is what plain scores hide.
    fold_rows_ : ndarray of shape (cv,)
        Rows of each fold.
    plan_ : StreamPlan
        What the passes were predicted to take.

    See Also
    --------
    mercer.KernelRidgeCV : The same with every row as a landmark, for tables of some thousand rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidgeCV
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(4000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=4000)
    >>> kernels, alphas = [Gaussian(w) for w in (0.1, 1.0, 10.0)], [1e-3, 0.1, 10.0, 1000.0]
    >>> search = NystroemRidgeCV(kernels, alphas, landmarks=30).fit(X, y)
    >>> search.best_kernel_, search.alpha_
    (Gaussian(width=1.0), 0.1)
    """


class NystroemRidgeClassifierCV(LabelsMixin, NystroemSearchCore):
    """Least squares on labels with landmarks, kernel and alpha chosen by exact cross-validation.

    One pass sums, a second one decides on every row with the models that have not seen its fold.

    Parameters
    ----------
    kernels, alphas, cv, landmarks, method, nested, fit_intercept, rule, budget, backend, checkpoint, block_rows, \
random_state, verbose
        As for `NystroemRidgeCV`.
    scoring : str, scorer, callable or None, default=None
        None is accuracy. Any other keeps all held-out predictions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    best_estimator_ : NystroemRidgeClassifier
        The best candidate fitted to all rows.
    best_kernel_, alpha_, best_score_, cv_results_, kernels_, alphas_, digits_, folds_, landmark_check_, nested_, plan_
        As for `NystroemRidgeCV`; the landmark check is of squared errors on the labels' numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidgeClassifierCV
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "odd")
    >>> kernels, alphas = [Gaussian(w) for w in (0.3, 1.0, 3.0)], [1e-4, 0.01, 1.0, 100.0]
    >>> search = NystroemRidgeClassifierCV(kernels, alphas, cv=5, landmarks=40).fit(X, y)
    >>> search.predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'odd']
    """

    _classifies: ClassVar[bool] = True

    def decision_function(self, X: Any) -> Array:
        """Decision values of the best candidate.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        check_is_fitted(self, "best_estimator_")
        winner: NystroemRidgeClassifier = self.best_estimator_
        return winner.decision_function(X)
