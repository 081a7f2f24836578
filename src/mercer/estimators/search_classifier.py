"""Kernel ridge classification that chooses its kernel and alpha by exact cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.rows import Array, File, Seed
from mercer.errors import InputError, sentence
from mercer.estimators.base import LabelsMixin
from mercer.estimators.calibration import Temperature
from mercer.estimators.classifier import KernelRidgeClassifier, at_least_two, checked_labels, class_weights
from mercer.estimators.refitting import Refitting
from mercer.estimators.search_core import SearchCore
from mercer.kernels import Kernel
from mercer.selection.scoring import Classes, resolve_scoring
from mercer.selection.search import Search
from mercer.solvers.problem import Problem


def checked_class_weight(owner: str, given: Any) -> None:
    """class_weight is a dict, "balanced" or None."""
    if not (given is None or isinstance(given, dict) or (isinstance(given, str) and given == "balanced")):
        raise InputError(sentence(f"class_weight of {owner}", "a dict, 'balanced' or None", repr(given)))


class KernelRidgeClassifierCV(LabelsMixin, SearchCore):
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
    best_kernel_, alpha_, best_score_, best_estimator_, cv_results_, kernels_, alphas_, digits_, plan_, folds_
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

    def __init__(
        self,
        kernels: Any = "gaussian",
        alphas: Any = None,
        *,
        cv: Any = None,
        repeats: int = 1,
        scoring: Any = None,
        fit_intercept: bool = False,
        class_weight: Any = None,
        rule: str = "best",
        extend_grid: bool = False,
        verify: bool = False,
        checkpoint: File = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernels, alphas, cv=cv, repeats=repeats, scoring=scoring, fit_intercept=fit_intercept, rule=rule,
            extend_grid=extend_grid, verify=verify, checkpoint=checkpoint, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.class_weight = class_weight

    def _checked(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> tuple[Any, Any, Array | None]:
        checked_class_weight(type(self).__name__, self.class_weight)
        return super()._checked(X, y, sample_weight, **how)

    def _search(self, X: Any, y: Any, weights: Array | None, groups: Any) -> tuple[Search, list[Kernel], Array]:
        labels, numbers = checked_labels(y)
        at_least_two(type(self).__name__, labels, numbers, weights)
        rows, kernels, alphas = self._candidates(X)
        classes = Classes(labels, numbers)
        given, balanced = weights, isinstance(self.class_weight, str)
        if not balanced:
            weights = class_weights(self.class_weight, y, weights)
        problem = Problem(
            classes.targets(),
            weights,
            bool(self.fit_intercept),
            np.asarray(y) if balanced else None,
            gram=self._is_gram(kernels),
            labels=True,
        )
        folds = self._folds(X, y, groups, classifier=True)
        scoring = resolve_scoring(self.scoring, classifier=True)
        y = np.asarray(y)
        found = Search(rows, y, problem, folds, scoring, classes, refit_only=balanced, sample_weight=given)
        return found, kernels, alphas

    def _model(self) -> KernelRidgeClassifier:
        return KernelRidgeClassifier(
            self.alpha_, kernel=self.best_kernel_, fit_intercept=self.fit_intercept, class_weight=self.class_weight
        )

    def _one_column(self, search: Search) -> bool:
        return len(search.problem.Y[0]) == 1

    def _finish(self, search: Search, X: Any, values: Array) -> None:
        super()._finish(search, X, values)
        self.classes_ = self.best_estimator_.classes_
        held_out, weights = search.by_repeat(values), search.sample_weight
        tested = ~np.isnan(held_out[:, :, 0])
        numbers = np.broadcast_to(checked_labels(search.y)[1], tested.shape)
        counts = np.ones(len(search.y)) if weights is None else weights * (np.count_nonzero(weights) / weights.sum())
        counts = np.broadcast_to(counts, tested.shape)  # only how rows weigh beside one another counts
        self.temperature_ = Temperature.fitted(held_out[tested], numbers[tested], counts[tested])

    def _gap(self, fit: Refitting, train: Array, test: Array, values: Array) -> float:
        labels, there = np.unique(fit.y), np.unique(fit.y[train])
        if len(there) < 2:
            return 0.0  # nothing is fitted to one class
        model, X = fit(train, test)
        if len(there) < len(labels):  # a model of fewer classes, and of two: their difference
            columns = np.searchsorted(labels, there)
            values = values[:, columns] if len(there) > 2 else values[:, columns[1:]] - values[:, columns[:1]]
        return float(np.abs(model.decision_function(X).reshape(values.shape) - values).max())

    def decision_function(self, X: Any) -> Array:
        """Decision values of the best candidate.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        return np.asarray(self._winner_for(X).decision_function(X))

    def predict(self, X: Any) -> Array:
        """Labels by the best candidate.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(self._winner_for(X).predict(X))

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, calibrated on held-out decision values.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        values = self.decision_function(X)
        return self.temperature_.probabilities(values.reshape(len(values), -1))
