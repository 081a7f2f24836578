"""What is learned, numbers or labels, as least squares fits it; and probabilities of labels from decision values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer.data.folds import Folds
from mercer.data.rows import Array, Estimator, Rows, XLike, YLike
from mercer.errors import InputError, refuse_if
from mercer.kernels.tiles import underflow_is_zero
from mercer.selection.removals import class_weights, label_numbers
from mercer.selection.scoring import Classes, Scoring
from mercer.selection.search import Search
from mercer.solvers.problem import Problem

_STEPS = 100
# Beyond the labels' own range least squares goes on counting, but knows hardly more.
_BEYOND = 0.01
# Classes whose shares differ by less than this, on the scale of logarithms, are of one size.
_ALIKE = 1e-3


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
            refuse_if((weights < 0).any(), f"class_weight of {name}", "numbers of at least 0, by class", repr(given))
        refuse_one_class(name, classes.labels, classes.counts(weights))
        return cls(y, classes.targets(), weights, sample_weight, classes, balance)

    def search(self, estimator: Estimator, rows: Rows, folds: Folds, scoring: Scoring, *, gram: bool) -> Search:
        """The search for kernel and alpha on these rows and folds, with the settings of an estimator."""
        intercept, labels = bool(estimator.fit_intercept), self.classes is not None
        problem = Problem(self.Y, self.weights, intercept, self.balance, gram=gram, labels=labels)
        per_target = bool(getattr(estimator, "alpha_per_target", False))
        return Search(rows, self.y, problem, folds, scoring, self.classes, per_target, self.sample_weight)


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
    left, must_be = labels[counts > 0].tolist(), "labels of at least two classes with positive sample weight"
    refuse_if(len(left) < 2, f"y of {owner}", must_be, f"1 class, {left[0]!r}" if left else "only zero weights")


class LabelsMixin(ClassifierMixin):  # type: ignore[misc]
    """Labels from decision values, and scikit-learn's tags of classifiers."""

    classes_: Array
    fit_intercept: bool
    _values: Any  # decision values of new rows (m x 1 for two classes, otherwise m x classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Without a constant, classes of very different weight all look alike far from the origin.
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags

    def decision_function(self, X: XLike) -> Array:
        """The decision values: positive for the second of two classes, or one column per class.

        They are least squares on the labels; of logistic regression the logarithms of the odds.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows, as for `predict`.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        values = np.asarray(self._values(X))
        return values[:, 0] if values.shape[1] == 1 else values

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
        numbers = label_numbers(self._values(X))  # which checks that there is a fit
        return np.asarray(self.classes_[numbers])


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
        values = self._values(X)
        return self.temperature_.probabilities(values)


@dataclass(frozen=True, eq=False)
class Temperature:
    """softmax(scale f), the scale fitted by maximum likelihood on held-out decision values.

    The class with the largest decision value stays the most probable one. Labels are smoothed a little, so that
    classes that are perfectly separated do not get probabilities of exactly 0 and 1.

    Attributes
    ----------
    scale : float
        Inverse temperature, not negative.
    shifts : tuple of float, default=()
        Added to the logarithms of the odds, one number for each class; empty for none.
    logistic : bool, default=False
        Whether decision values are logarithms of odds already, as those of logistic regression are.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.targets import Temperature
    >>> fitted = Temperature.fitted(np.array([[-1.0], [-0.2], [0.3], [1.2]] * 20), np.array([0, 1, 0, 1] * 20))
    >>> fitted.probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """

    scale: float
    shifts: tuple[float, ...] = ()
    logistic: bool = False

    @staticmethod
    def fitted(values: Array, numbers: Array, weights: Array | None = None) -> Temperature:
        """By bisection on the slope of the (convex) negative log-likelihood of smoothed labels.

        `weights`: how many rows each row stands for; 1 by default.
        """
        weights = np.ones(len(values)) if weights is None else weights
        scores = _held(values)
        target = _smooth_labels(numbers, scores.shape[1], weights)

        def slope(scale: float) -> float:
            return float(weights @ ((_softmax(scale * scores) - target) * scores).sum(axis=1))

        low, high = 0.0, 1.0
        if slope(0.0) >= 0:  # decisions that say nothing, or the opposite
            return Temperature(0.0)
        while slope(high) < 0 and high < 1e15:
            high *= 2.0
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return Temperature(0.5 * (low + high))

    @staticmethod
    def leaning(values: Array, numbers: Array, weights: Array | None = None) -> Temperature:
        """softmax(scale f + lean log share): also how far to lean towards the classes by their share of the rows.

        Least squares on labels makes too little or too much of rare classes; with the lean the probabilities of a
        class add up to about as many rows as it has. On few rows a lean that is not there is easily found, so it must
        pay for itself: by Schwarz's criterion, log n / 2 of the log-likelihood of all rows. `weights`: as for `fitted`.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.estimators.targets import Temperature
        >>> rare = np.arange(400) % 10 == 0
        >>> votes = np.where(rare, -0.4, -0.8) + 0.3 * np.sin(np.arange(400))
        >>> fitted = Temperature.leaning(votes[:, None], 1 * rare)
        >>> round(float(fitted.probabilities(votes[:, None])[:, 1].mean()), 2)
        0.1
        """
        from scipy.optimize import minimize
        from scipy.special import logsumexp

        weights = np.ones(len(values)) if weights is None else weights * (len(weights) / weights.sum())
        scores = _held(values)
        classes = scores.shape[1]
        target = _smooth_labels(numbers, classes, weights)
        shares = np.log(np.bincount(numbers, weights, minlength=classes) + 1.0)
        shares -= shares.mean()
        plain = Temperature.fitted(values, numbers, weights)
        if np.ptp(shares) < _ALIKE:
            return plain

        def loss(at: Array) -> tuple[float, Array]:  # convex in scale and lean
            logits = at[0] * scores + at[1] * shares
            total = logsumexp(logits, axis=1)
            rest = (np.exp(logits - total[:, None]) - target) * (weights / len(scores))[:, None]
            value = float(np.mean(weights * (total - np.einsum("ij,ij->i", target, logits))))
            return value, np.array([np.vdot(rest, scores), rest.sum(axis=0) @ shares])

        begin = np.array([plain.scale, 0.0])
        best = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)])
        gain, (scale, lean) = len(scores) * (loss(begin)[0] - float(best.fun)), best.x.tolist()
        return Temperature(scale, tuple((lean * shares).tolist())) if gain > 0.5 * math.log(len(scores)) else plain

    def logits(self, values: Array) -> Array:
        """Logarithms of the odds up to a constant, one column per class."""
        if self.logistic:
            return _by_class(values)
        return self.scale * _held(values) + (np.array(self.shifts) if self.shifts else 0.0)

    def probabilities(self, values: Array) -> Array:
        """One row per row of decision values, one column per class."""
        return _softmax(self.logits(values))

    def odds(self, f: Array) -> tuple[Array, Array]:
        """Logarithm of the odds of the second of two classes at decision values, and its derivative."""
        logits = self.logits(f[:, None])
        slope = np.ones_like(f) if self.logistic else self.scale * np.where(np.abs(f) <= 1.0, 1.0, _BEYOND)
        return logits[:, 1] - logits[:, 0], slope


def _smooth_labels(numbers: Array, classes: int, weights: Array) -> Array:
    """Labels as probabilities, Platt's way: as if each class had been seen once more in every other's place."""
    smooth = 1.0 / (np.bincount(numbers, weights, minlength=classes)[numbers] + classes)
    target = np.repeat(smooth[:, None], classes, axis=1)
    target[np.arange(len(numbers)), numbers] = 1.0 - (classes - 1) * smooth
    return target


@underflow_is_zero
def _held(values: Array) -> Array:
    """Decision values as one column per class, held (all but) within the labels' own range."""
    low = -1.0 if values.shape[1] == 1 else 0.0
    inside = np.clip(values, low, 1.0)
    return _by_class(inside + _BEYOND * (values - inside))


def _by_class(values: Array) -> Array:
    """One column per class, from one column for two classes or from one column per class."""
    return np.hstack([-values, values]) / 2.0 if values.shape[1] == 1 else values


@underflow_is_zero
def _softmax(logits: Array) -> Array:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
