"""What is learned, numbers or labels: as people give it, and as the columns that least squares fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer.data.folds import Folds
from mercer.data.rows import Array, Estimator, Rows, XLike, YLike
from mercer.errors import InputError, sentence
from mercer.estimators.calibration import Temperature
from mercer.selection.removals import class_weights, label_numbers
from mercer.selection.scoring import Classes, Scoring
from mercer.selection.search import Search
from mercer.solvers.problem import Problem


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of one fit with the weights of its rows.

    Attributes
    ----------
    y : ndarray of shape (n,) or (n, t)
        Numbers, or labels.
    Y : ndarray of shape (n, t)
        What is fitted: the numbers, -1 and +1 for two classes, one-hot columns for more.
    weights : ndarray of shape (n,) or None
        Weights of training: sample weights times those of the classes.
    sample_weight : ndarray of shape (n,) or None
        Sample weights alone.
    classes : Classes or None
        Labels; None for numbers.
    balance : ndarray of shape (n,) or None
        Labels whose classes have the same total weight in every training part.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> from mercer.estimators.targets import Targets
    >>> Targets.read(KernelRidgeClassifier(), ["no", "yes", "yes"], None).Y.ravel().tolist()
    [-1.0, 1.0, 1.0]
    """

    y: Array
    Y: Array
    weights: Array | None
    sample_weight: Array | None
    classes: Classes | None = None
    balance: Array | None = None

    @classmethod
    def read(cls, estimator: Estimator, y: YLike, sample_weight: Array | None, *, by_split: bool = False) -> Targets:
        """Labels for a classifier, numbers for any other estimator.

        `by_split`: "balanced" weights of classes follow from each training part, not from all rows.
        """
        if not is_classifier(estimator):
            numbers = np.asarray(y, dtype=np.float64)
            return cls(numbers, numbers.reshape(len(numbers), -1), sample_weight, sample_weight)
        name, classes, given = type(estimator).__name__, Classes(*class_numbers(y)), estimator.class_weight
        y, weights = np.asarray(y), sample_weight
        balance = y if by_split and isinstance(given, str) else None
        if given is not None and balance is None:  # "balanced" counts a row of weight two as two rows
            weights = np.ones(len(y)) if weights is None else weights
            own = class_weights(classes.numbers, weights) if isinstance(given, str) else compute_sample_weight(given, y)
            weights = np.asarray(weights * own)
            if (weights < 0).any():
                raise InputError(sentence(f"class_weight of {name}", "numbers of at least 0, by class", repr(given)))
        refuse_one_class(name, classes.labels, classes.counts(weights))
        return cls(y, classes.targets(), weights, sample_weight, classes, balance)

    def search(
        self, rows: Rows, folds: Folds, scoring: Scoring, *, intercept: bool, gram: bool, per_target: bool = False
    ) -> Search:
        """The search for kernel and alpha on these rows and folds."""
        problem = Problem(self.Y, self.weights, intercept, self.balance, gram=gram, labels=self.classes is not None)
        return Search(
            rows, self.y, problem, folds, scoring, self.classes, per_target=per_target,
            refit_only=self.balance is not None, sample_weight=self.sample_weight,
        )  # fmt: skip


def class_numbers(y: YLike) -> tuple[Array, Array]:
    """The classes in order, and the class number of each row."""
    try:
        check_classification_targets(y)
    except ValueError as problem:
        raise InputError(f"{problem} For numbers use KernelRidge, KernelRidgeCV or AutoRegressor.") from None
    classes, numbers = np.unique(y, return_inverse=True)
    return classes, numbers


def refuse_one_class(owner: str, labels: Array, counts: Array) -> None:
    """Raise an error unless at least two classes have positive weight."""
    left = labels[counts > 0].tolist()
    if len(left) < 2:
        got = f"1 class, {left[0]!r}" if left else "only zero weights"
        raise InputError(sentence(f"y of {owner}", "labels of at least two classes with positive sample weight", got))


class LabelsMixin(ClassifierMixin):  # type: ignore[misc]
    """Labels from decision values, and scikit-learn's tags of classifiers."""

    classes_: Array
    fit_intercept: bool
    decision_function: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Without a constant, classes of very different weight all look alike far from the origin.
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags

    def predict(self, X: XLike) -> Array:
        """The label with the largest decision value.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        values = self.decision_function(X)
        return np.asarray(self.classes_[label_numbers(values.reshape(len(values), -1))])


class CalibratedMixin(LabelsMixin):
    """Labels, and probabilities that are calibrated on held-out decision values."""

    temperature_: Temperature

    def predict_proba(self, X: XLike) -> Array:
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
