"""Classification without settings: a committee of isotropic kernels, calibrated out of fold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from mercer.data.rows import Array
from mercer.estimators.auto import Evaluation
from mercer.estimators.auto_core import AutoCore, corrected_error, enough_rows
from mercer.estimators.calibration import Temperature
from mercer.estimators.classifier import at_least_two, checked_labels
from mercer.selection.committee import CLASSIFICATION
from mercer.selection.problem import label_targets


class AutoClassifier(ClassifierMixin, AutoCore):  # type: ignore[misc]
    """Kernel ridge classification without settings: regression on labels by a small committee of kernels.

    Kernels have one width for all columns: widths per column overfit small classification tables, and leave-one-out
    does not show it. Probabilities are calibrated on out-of-fold votes.

    Parameters
    ----------
    committee, time_budget, random_state, verbose
        As for `AutoRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    encoder_, members_, models_
        As for `AutoRegressor`.
    error_, baseline_ : float
        Share of wrong labels out of fold, and that of the most common label.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> y = np.where((X**2).sum(axis=1) > 1.4, "out", "in")
    >>> model = AutoClassifier().fit(X[:60], y[:60])
    >>> bool(model.score(X[60:], y[60:]) > 0.85)
    True
    """

    _recipes = CLASSIFICATION

    def __init__(
        self,
        *,
        committee: bool = True,
        time_budget: float | None = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.committee = committee
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Encode, tune, weigh, calibrate and fit.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numbers, categories, dates; missing values are taken in.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.

        Returns
        -------
        self
        """
        self._settled()
        y = _check_y(y, estimator=self)
        Z = self._encoded(X, reset=True)
        check_consistent_length(Z, y)
        enough_rows(self, Z)
        self.classes_, numbers = checked_labels(y)
        at_least_two(type(self).__name__, self.classes_, numbers, None)
        self._fit_committee(Z, label_targets(numbers, len(self.classes_)), numbers)
        held_out = self.committee_.held_out
        numbers = numbers[self._part_used]
        self.temperature_ = Temperature.fitted(held_out, numbers)
        self.error_ = float(np.mean(_chosen(held_out) != numbers))
        counts = np.bincount(numbers)
        self.baseline_ = float(1.0 - counts.max() / counts.sum())
        return self

    def decision_function(self, X: Any) -> Array:
        """The committee's votes: positive for the second of two classes, or one column per class.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        votes = self._votes(X)
        return votes[:, 0] if votes.shape[1] == 1 else votes

    def predict(self, X: Any) -> Array:
        """The label with the most votes.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        votes = self._votes(X)
        return np.asarray(self.classes_[_chosen(votes)])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, calibrated on out-of-fold votes.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        votes = self._votes(X)
        return self.temperature_.probabilities(votes)

    def summary(self) -> str:
        """What was tried, what was chosen, and how good it is, for people.

        Returns
        -------
        str
        """
        check_is_fitted(self, "models_")
        n = len(self.committee_.held_out)
        error = float(np.sqrt(max(self.error_ * (1 - self.error_), 0.0) / n))
        shape = f"{n} rows, {self.n_features_in_} columns, {len(self.classes_)} classes"
        out, common = f"{100 * self.error_:.1f} %, give or take {100 * error:.1f}", f"{100 * self.baseline_:.1f} %"
        lines = [
            f"{shape}; widths tuned on {self.committee_.tuned_on} rows.",
            self._member_table(),
            f"Out-of-fold error {out} ({self._how()}); the most common label is wrong in {common}.",
        ]
        if self.error_ >= self.baseline_ - error:
            lines.append("That is no better than always saying the most common label.")
        return "\n".join([*lines, *self._left_out_columns()])

    def evaluate(self, X: Any, y: Any, folds: int = 10) -> Evaluation:
        """The outer loop: everything that fit does, repeated on the training part of every fold.

        Parameters
        ----------
        X, y : table and array-like
            As for `fit`.
        folds : int, default=10
            How many.

        Returns
        -------
        Evaluation
        """
        y = np.asarray(_check_y(y, estimator=self))
        _, classes = checked_labels(y)
        numbers = self._outer_folds(len(y), classes, folds)
        predictions, errors, base = np.full(len(y), None, dtype=object), [], []
        for test, model in self._outer(X, y, numbers):
            predictions[test] = model.predict(self._part(X, test))
            errors.append(float(np.mean(predictions[test] != y[test])))
            common = model.classes_[int(np.argmax(np.bincount(checked_labels(y[numbers != numbers[test[0]]])[1])))]
            base.append(float(np.mean(y[test] != common)))
        each, share = np.array(errors), 1.0 / (int(numbers.max()) + 1)
        return Evaluation(
            float(each.mean()), corrected_error(each, share), float(np.mean(base)), each, None, predictions
        )


def _chosen(votes: Array) -> Array:
    return (votes[:, 0] > 0).astype(int) if votes.shape[1] == 1 else votes.argmax(axis=1)
