"""Classification on landmarks that chooses its kernel and alpha by exact cross-validation, from two passes."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.blocks import Block, Source
from mercer.data.rows import Array
from mercer.estimators.nystroem_classifier import NystroemRidgeClassifier, found_labels
from mercer.estimators.nystroem_input import opened
from mercer.estimators.nystroem_search_core import NystroemSearchCore
from mercer.streaming.sums import Targets


class NystroemRidgeClassifierCV(ClassifierMixin, NystroemSearchCore):  # type: ignore[misc]
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
        The winner fitted to all rows.
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Without a constant, classes of very different weight all look alike far from the origin.
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags

    def _classifies(self) -> bool:
        return True

    def _opened(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Source:
        return opened(self, X, y, sample_weight, groups, labels=True, least=2)

    def _targets_of(self, sample: Block, source: Source) -> Targets:
        return found_labels(type(self).__name__, source, self.backend)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Find the labels, draw landmarks, sum, score, choose, and keep the winner.

        Parameters
        ----------
        X, sample_weight, groups
            As for `NystroemRidgeCV`.
        y : array-like of shape (n_samples,), column name, path or None
            Labels of at least two classes; None where blocks bring their own.

        Returns
        -------
        self
        """
        search = self._settled(X, y, sample_weight, groups)
        found, k, a = self._searched(search)
        self.best_estimator_ = self._winner(NystroemRidgeClassifier, search, found, k, a)
        self.classes_ = self.best_estimator_.classes_ = search.targets.classes  # type: ignore[attr-defined]
        self.best_estimator_.publish()
        return self

    def decision_function(self, X: Any) -> Array:
        """Decision values of the winner.

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
