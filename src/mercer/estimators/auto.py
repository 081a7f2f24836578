"""Regression without settings: standardise, tune, weigh, and say how good it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from mercer.data.rows import Array, Rows
from mercer.estimators.auto_core import AutoCore, corrected_error, enough_rows
from mercer.insight.intervals import Coverage, checked_confidence, covered, ranks
from mercer.selection.committee import REGRESSION
from mercer.selection.problem import Problem
from mercer.selection.tuning import leave_one_out_values


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What an automatic estimator is worth on rows that no part of it has seen.

    Attributes
    ----------
    error, standard_error : float
        Root mean squared error (share of wrong labels for classifiers) over all folds.
    baseline : float
        The same of the mean (the most common label).
    errors : ndarray of shape (folds,)
        Of every fold.
    coverage : float or None
        Share of targets inside the 90 % intervals.
    predictions : ndarray of shape (n,)
        Out-of-fold predictions; NaN (None) for folds that the time budget left out.
    """

    error: float
    standard_error: float
    baseline: float
    errors: Array
    coverage: float | None
    predictions: Array

    def __str__(self) -> str:
        better = self.error < self.baseline - self.standard_error
        words = (
            f"Error on rows that no part of the fit has seen: {self.error:.4g}, give or take {self.standard_error:.2g} "
            f"({len(self.errors)} folds); without X it is {self.baseline:.4g}."
        )
        if not better:
            words += " That is no better than knowing nothing of X."
        return words if self.coverage is None else f"{words} 90 % intervals held {100 * self.coverage:.0f} %."


class AutoRegressor(RegressorMixin, AutoCore):  # type: ignore[misc]
    """Kernel ridge regression without settings: a small committee, tuned by exact leave-one-out.

    Tables are encoded (numbers standardised, categories, dates and missing values taken in, see `encoder_`), four
    kernels are tuned by the gradient of their leave-one-out error, and their votes are weighted by what they predict
    out of fold, tuned anew in every fold. `summary` says what was tried and chosen; `evaluate` repeats all of it in an
    outer loop.

    Parameters
    ----------
    committee : bool, default=True
        False fits one kernel, for those who want one model to read.
    time_budget : float, default=None
        Seconds after which tuning stops where it is.
    random_state : int, default=0
        Of the folds.
    verbose : int, default=0
        1: progress on a terminal. 2: everywhere.

    Attributes
    ----------
    encoder_ : TableEncoder
        What each column was taken for.
    members_, models_ : list of Member, list of KernelRidge
        The committee.
    error_, baseline_ : float
        Root mean squared out-of-fold error, and that of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoRegressor
    >>> X = np.random.default_rng(0).uniform(size=(60, 2))
    >>> y = np.sin(6.0 * X[:, 0])
    >>> model = AutoRegressor().fit(X[:40], y[:40])
    >>> bool(np.abs(model.predict(X[40:]) - y[40:]).mean() < 0.05)
    True
    """

    _recipes = REGRESSION

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
        """Encode, tune, weigh and fit.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numbers, categories, dates; missing values are taken in.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self
        """
        self._settled()
        y = np.asarray(_check_y(y, y_numeric=True, estimator=self), dtype=np.float64)
        Z = self._encoded(X, reset=True)
        check_consistent_length(Z, y)
        enough_rows(self, Z)
        self._centre = float(y.mean())
        spread = float(y.std())
        self._scale = spread if spread > 0 else 1.0
        self._fit_committee(Z, ((y - self._centre) / self._scale)[:, None], None)
        residuals = self._scale * (self.committee_.held_out - self._Y)[:, 0]
        self.error_ = float(np.sqrt(np.mean(residuals**2)))
        self.error_standard_error_ = float(
            np.std(residuals**2) / math.sqrt(len(residuals)) / max(2 * self.error_, 1e-300)
        )
        self.baseline_ = spread
        # of many rows two thirds are nearly as good as all, and leaving each out in turn takes long
        self._residuals = self._left_out() if len(self._Y) == self.committee_.tuned_on else residuals
        return self

    def _left_out(self) -> Array:
        """Residuals of the committee with every row left out in turn, its widths and weights as they are."""
        total = np.zeros(len(self._Y))
        for member, model in zip(self.members_, self.models_, strict=True):
            rows, problem = Rows(model.X_fit_), Problem(self._Y, None, intercept=True)
            total += member.weight * leave_one_out_values(rows, problem, member.kernel, member.alpha)[:, 0]
        return self._scale * (self._Y[:, 0] - total)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict, as the committee votes.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.
        return_std : bool, default=False
            Also the standard deviation of the latent function: that of the members, and between them.

        Returns
        -------
        prediction : ndarray of shape (n_rows,)
        std : ndarray of the same shape
            Only with `return_std`.
        """
        votes = self._votes(X)[:, 0]
        values = self._centre + self._scale * votes
        if not return_std:
            return values
        Z = self._encoded(X, reset=False)
        Z = Z if Z.shape[1] else np.zeros((len(Z), 1))
        variance = np.zeros(len(Z))
        for member, model in zip(self.members_, self.models_, strict=True):
            mean, std = (np.reshape(part, len(Z)) for part in model.predict(Z, return_std=True))
            variance += member.weight * (std**2 + (mean - votes) ** 2)
        return values, self._scale * np.sqrt(variance)

    def predict_interval(self, X: Any, confidence: float = 0.9) -> tuple[Array, Array]:
        """An interval that holds the target of a new row with about this probability.

        Half its width is the quantile of the out-of-fold and of the leave-one-out residuals, in the middle of both:
        the former come from models of two thirds of the rows and are too large, the latter from widths that have
        seen the row and are too small. The guarantee is nominal; `coverage` and `evaluate` check it.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.
        confidence : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "models_")
        confidence = checked_confidence(confidence)
        out = self._scale * (self.committee_.held_out - self._Y)[:, 0]
        half = math.sqrt(_quantile(np.abs(out), confidence) * _quantile(np.abs(self._residuals), confidence))
        values = self.predict(X)
        return values - half, values + half

    def coverage(self, X: Any, y: Any, confidence: float = 0.9) -> Coverage:
        """The share of rows whose target lies in its interval.

        Parameters
        ----------
        X, y : table and array-like of shape (n_rows,)
            Rows with known targets.
        confidence : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        Coverage
            A number with the mean width of the intervals beside.
        """
        lower, upper = self.predict_interval(X, confidence)
        return covered(lower, upper, np.asarray(y, dtype=np.float64), confidence, "residuals")

    def summary(self) -> str:
        """What was tried, what was chosen, and how good it is, for people.

        Returns
        -------
        str
        """
        check_is_fitted(self, "models_")
        n, tuned = len(self.committee_.held_out), self.committee_.tuned_on
        error = f"{self.error_:.4g}, give or take {self.error_standard_error_:.2g}"
        lines = [
            f"{n} rows, {self.n_features_in_} columns; widths tuned on {tuned} rows.",
            self._member_table(),
            f"Out-of-fold error {error} ({self._how()}); without X it is {self.baseline_:.4g}.",
        ]
        if self.error_ >= self.baseline_ - self.error_standard_error_:
            lines.append("That is no better than the mean: X says nothing about y that this model can find.")
        lines.append(self._relevance_text())
        return "\n".join([*lines, *self._left_out_columns()])

    def _unit(self) -> float:
        return self._scale

    def evaluate(self, X: Any, y: Any, folds: int = 10) -> Evaluation:
        """The outer loop: encoding, tuning, weighing and intervals repeated on the training part of every fold.

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
        y = np.asarray(_check_y(y, y_numeric=True, estimator=self), dtype=np.float64)
        numbers = self._outer_folds(len(y), None, folds)
        predictions, errors, inside, base = np.full(len(y), np.nan), [], [], []
        for test, model in self._outer(X, y, numbers):
            part = self._part(X, test)
            predictions[test] = model.predict(part)
            errors.append(float(np.mean((predictions[test] - y[test]) ** 2)))
            base.append(float(np.mean((y[test] - model._centre) ** 2)))
            inside.append(float(model.coverage(part, y[test])))
        each, share = np.sqrt(errors), 1.0 / (int(numbers.max()) + 1)
        return Evaluation(
            float(np.sqrt(np.mean(errors))), corrected_error(each, share), float(np.sqrt(np.mean(base))), each,
            float(np.mean(inside)), predictions,
        )  # fmt: skip


def _quantile(sizes: Array, confidence: float) -> float:
    """The rank that makes the interval hold in finite samples; the largest where there is no such rank."""
    rank = min(ranks(len(sizes), confidence)[1], len(sizes))
    return float(np.partition(sizes, rank - 1)[rank - 1])
