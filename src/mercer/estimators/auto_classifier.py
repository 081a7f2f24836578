"""Classification without settings: a committee of tuned kernels, for regression on the labels or for their odds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_y, check_is_fitted

from mercer.data.checks import as_numbers, keyword_hints
from mercer.data.rows import Array, ClassWeight, Estimator, PerRow, Rows, XLike, YLike
from mercer.errors import InputError, sentence
from mercer.estimators.auto_core import AutoCore
from mercer.estimators.auto_evaluation import (
    paired,
    tuning_factor,
)
from mercer.estimators.inputs import refuse_mixed_labels, refuse_names
from mercer.estimators.parameters import validate
from mercer.estimators.refitting import part_of
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.targets import Temperature, class_numbers, refuse_one_class
from mercer.kernels.base import Kernel
from mercer.selection.outcome import SIGNAL, WEIGHTED_WRONG, WRONG, Measure, Outcome, doubt
from mercer.selection.removals import label_numbers, label_targets
from mercer.selection.table import mean_with_error, standard_error
from mercer.text import counted
from mercer.tuning.committee import CLASSIFICATION, TrainingTable
from mercer.tuning.generalized import as_ridge, generalized_committee, read_labels
from mercer.tuning.held_out import log_loss_weights


@dataclass(eq=False, repr=False, kw_only=True)
class AutoClassifier(ClassifierMixin, AutoCore):  # type: ignore[misc]
    """Kernel classification without settings: a weighted mean of tuned kernel models.

    Five kernels have one width for all columns, one has a width per column, and two are linear or nearly so. Each is
    tuned by regression on the labels, separately without each of three folds, before it is weighted, so that widths per
    column get no weight where they overfit. Probabilities are calibrated on out-of-fold decision values, with a term
    for the frequency of the classes, so that the probabilities of a rare class add up to about the number of its rows.

    Up to 2000 rows, logistic regression with the heaviest of these kernels and with a linear kernel takes the place of
    the regressions, if it lowers the log loss of held-out rows by more than one standard error. Its probabilities need
    no calibration, and approach 0 and 1 where the held-out rows support it. It is not tried with estimators in `extra`
    or with rows in the order of time.

    `predict` gives the most probable label, which minimizes the expected number of wrong labels. A class that one row
    in a hundred belongs to is hardly ever the most probable one. With `class_weight="balanced"` the cost of a wrong
    label is inversely proportional to the frequency of its true class, and each row gets the label with the least
    expected cost. The probabilities do not change.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Cost of a wrong label by its true class: 1 (None), n / (n_classes * rows of the class) ("balanced"), or as in
        the dict. It changes the labels of `predict` and `error_`, not the fit.
    committee, time_budget, copies, encoder, checkpoint, random_state, verbose
        As for `AutoRegressor`.
    extra : list of estimators, default=None
        Classifiers of your own with `predict_proba` that join the committee, as for `AutoRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    encoder_, members_, models_, extra_
        As for `AutoRegressor`.
    logistic : bool
        Whether the members are logistic regressions. `models_` has each of them as the kernel ridge regression that
        equals it: the last step of Newton's method.
    temperature_, costs_ : Temperature, ndarray of shape (n_classes,)
        How decision values become probabilities, and the cost of a wrong label by its true class.
    error_, error_standard_error_, baseline_ : float
        Share of wrong labels out of fold, its standard error, and that of the best single label; with `class_weight`,
        every row counts with the cost of its true class.
    signal_ : float
        z of the paired difference in log loss between the baseline, the shares of the classes, and the out-of-fold
        predictions; above 2 the model is better than the baseline.

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
    _squares = False
    _weigh = staticmethod(log_loss_weights)

    class_weight: ClassWeight = None

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None, time: Any = None) -> Self:
        """Encode, tune, weigh, calibrate and fit.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numbers, categories, dates; missing values are allowed.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows in tuning and fitting; rows of weight 0 are left out. Errors count every row once.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are in one fold, in tuning and in the error estimate.
        time : array-like of shape (n_samples,), default=None
            When each row was observed: numbers, dates or strings that sort in order. Folds then follow in time, and
            each is predicted from the rows before it, so that errors are those of predicting the future.

        Returns
        -------
        self
        """
        validate(self)
        refuse_names(self, X, y)
        refuse_mixed_labels(y)
        y = _check_y(y, estimator=self)
        self.temperature_ = Temperature(0.0)
        table, Z, y, beside = self._prepare(X, y, sample_weight, groups, time)
        self.classes_, numbers = class_numbers(y)
        refuse_one_class(type(self).__name__, self.classes_, np.bincount(numbers))
        used = self._fit_committee(Z, label_targets(numbers, len(self.classes_)), numbers, beside, table, y)
        numbers, weights = numbers[used], part_of(beside.weights, used)
        self.temperature_ = self.calibrate(self.committee_.held_out, numbers, weights)
        self.costs_ = costs_of(self.class_weight, self.classes_, numbers)
        found = (self._held_out_log_odds(numbers, weights) + self._log_costs()).argmax(axis=1)
        clusters, ordered = self.committee_.clusters, self.committee_.base is not None
        self.error_, spread = wrong_share(found, numbers, self.costs_, clusters)
        self.error_standard_error_ = spread * tuning_factor(len(numbers), clusters, ordered=ordered)
        constants = (np.full(len(numbers), label) for label in range(len(self.classes_)))
        self.baseline_ = min(wrong_share(label, numbers, self.costs_)[0] for label in constants)
        return self

    @property
    def signal_(self) -> float:
        """z of the paired difference between the log losses of the classes' shares and of out-of-fold predictions."""
        check_is_fitted(self, "models_")
        return self._signal(label_numbers(self._Y))

    def _signal(self, numbers: Array) -> float:
        found = softmax(self._held_out_log_odds(numbers, None), axis=1)
        gains = log_gains(found, np.bincount(numbers, minlength=len(self.classes_)), numbers)
        return float(paired(gains, clusters=self.committee_.clusters)[0])

    def calibrate(self, votes: Array, numbers: Array, weights: Array | None = None) -> Temperature:
        """How held-out votes become probabilities; those of logistic regression are used as they are."""
        return Temperature(1.0, logistic=True) if self.logistic else Temperature.leaning(votes, numbers, weights)

    def _held_out_log_odds(self, numbers: Array, weights: Array | None) -> Array:
        """Logarithms of the odds of held-out rows, calibrated without the fold that is judged (n, classes)."""
        votes, folds = self.committee_.held_out, self.committee_.folds
        found = np.empty((len(numbers), len(self.classes_)))
        for fold in range(int(folds.max()) + 1):
            rest, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            found[own] = self.calibrate(votes[rest], numbers[rest], part_of(weights, rest)).logits(votes[own])
        return found

    def _revise(self, table: TrainingTable, y: Array, deadline: float) -> TrainingTable:
        """Take logistic regression with the same kernels, if it lowers the held-out log loss by a standard error.

        It is tried where the regressions on the labels find a signal: the best of many tries on noise looks like one.
        """
        numbers, weights = label_numbers(table.problem.Y), table.problem.weights
        labels, given = self.committee_, (table, self.committee_, read_labels)
        hopeless = self.extra or labels.base is not None or self._signal(numbers) <= SIGNAL
        found = None if hopeless else generalized_committee(*given, single=not self.committee, deadline=deadline)
        if found is None:
            return table
        before = self._held_out_log_odds(numbers, weights)
        self.temperature_, self.committee_ = Temperature(1.0, logistic=True), found
        after = self._held_out_log_odds(numbers, weights)
        rows = np.arange(len(numbers))
        gains = log_softmax(after, axis=1)[rows, numbers] - log_softmax(before, axis=1)[rows, numbers]
        if float(paired(gains[:, None], clusters=found.clusters)[0]) <= 1.0:
            self.temperature_, self.committee_ = Temperature(0.0), labels
        return table

    @property
    def logistic(self) -> bool:
        """Whether the members are logistic regressions, and not regressions on the labels."""
        return self.temperature_.logistic

    def member(self, kernel: Kernel, alpha: float, Z: Array, Y: Array, weights: Array | None = None) -> KernelRidge:
        """A member with these parameters, fitted to encoded rows; logistic regression as its last Newton step."""
        if self.logistic:
            (alpha, Y), weights = as_ridge(read_labels, kernel, alpha, Rows(Z), Y, weights), None
        return super().member(kernel, alpha, Z, Y, weights)

    def _losses(self, votes: Array, Y: Array) -> Array:
        return np.asarray(self.weighted(self.temperature_, votes).argmax(axis=1) != label_numbers(Y), dtype=np.float64)

    def weighted(self, temperature: Temperature, votes: Array) -> Array:
        """Logarithms of the odds, with what a wrong label costs."""
        return np.asarray(temperature.logits(votes) + self._log_costs())

    def _log_costs(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.costs_)

    def _extra_votes(self, model: Estimator, X: XLike) -> Array:
        known = np.asarray(model.predict_proba(X), dtype=np.float64)
        shares = np.zeros((len(known), len(self.classes_)))  # a fold may lack a class
        shares[:, np.searchsorted(self.classes_, model.classes_)] = known
        return 2.0 * shares[:, 1:] - 1.0 if shares.shape[1] == 2 else shares

    def _odds(self, X: XLike) -> Array:
        votes = self._votes(self._rows(X), X)
        return self.weighted(self.temperature_, votes)

    def decision_function(self, X: XLike) -> Array:
        """Logarithm of the odds of the second of two classes, or one column per class, with their weights.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        found = self._odds(X)
        return found[:, 1] - found[:, 0] if found.shape[1] == 2 else found

    def predict(self, X: XLike) -> Array:
        """The most probable label; with `class_weight` that which is expected to cost least.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        numbers = self._odds(X).argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    def predict_proba(self, X: XLike) -> Array:
        """Probabilities of the classes, calibrated on out-of-fold votes; `class_weight` does not change them.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        votes = self._votes(self._rows(X), X)
        return self.temperature_.probabilities(votes)

    @property
    def loss_words(self) -> str:
        """A sentence that names logistic regression if that is fitted."""
        return "Logistic regression is fitted: its log loss on held-out rows is lower." if self.logistic else ""

    def error_title(self) -> str:
        """What the errors of members are."""
        return "out-of-fold log loss" if self.logistic else "out-of-fold error of the label scores"

    def _words(self) -> tuple[str, str, str, list[str]]:
        """For the summary: the classes and how it was tuned, the error, the baseline, and further lines."""
        out = f"{100 * self.error_:.1f} % +- {100 * self.error_standard_error_:.1f}"
        common, weighted = f"{100 * self.baseline_:.1f} %", ", by class weights," * bool((self.costs_ != 1.0).any())
        kind = "logistic regression" if self.logistic else "regression on the labels, calibrated"
        head = f", {len(self.classes_)} classes; {kind}; widths tuned on {self.committee_.tuned_on} rows."
        return head, f"Out-of-fold error{weighted} {out}", common, [doubt(out, common)] * (self.signal_ <= SIGNAL)

    @keyword_hints
    def evaluate(
        self, X: XLike, y: YLike, cv: int = 10, *, sample_weight: PerRow = None, groups: PerRow = None, time: Any = None
    ) -> Outcome:
        """The outer loop: everything that fit does, repeated on the training part of every fold.

        Parameters
        ----------
        X, y : table and array-like
            As for `fit`.
        cv : int, default=10
            Number of folds.
        sample_weight, groups, time : array-like of shape (n_samples,), default=None
            As for `fit`; rows of one group are in one outer fold, too; with `time`, each outer fold is predicted from
            the rows before it. Errors count rows of weight 0 as any other.

        Returns
        -------
        Outcome
        """
        validate(self)
        refuse_mixed_labels(y)
        y = np.asarray(_check_y(y, estimator=self))
        labels, classes = class_numbers(y)
        costs = costs_of(self.class_weight, labels, classes)
        numbers, beside = self._outer_folds(X, y, classes, cv, sample_weight, groups, time)
        predictions, found = np.full(len(y), None, dtype=object), np.empty(len(y), dtype=np.intp)

        def judge(train: Array, test: Array, part: XLike, model: Self) -> tuple[float, float, Array]:
            found[test] = np.searchsorted(labels, predictions[test].astype(y.dtype))
            counts, mine = np.bincount(classes[train], minlength=len(labels)), np.zeros((len(test), len(labels)))
            mine[:, np.searchsorted(labels, model.classes_)] = model.predict_proba(part)
            common = np.full(len(test), int(np.argmax(costs * counts)))
            error, base = (wrong_share(label, classes[test], costs)[0] for label in (found[test], common))
            return error, base, log_gains(mine, np.bincount(classes), classes[test])

        each, base, rows, clusters, z = self._judge_folds(X, y, numbers, beside, predictions, judge)
        spread = float(standard_error(each, 1.0 / int(numbers.max())))
        if clusters is not None:
            spread = wrong_share(found[rows], classes[rows], costs, clusters)[1]
        measure = wrong_measure(costs)
        return Outcome(
            measure, f"minus {measure.name}", -each[None], -float(each.mean()), spread, "outer cross-validation",
            f"{counted(len(each), 'fold')}, all steps repeated in each", base=-float(np.mean(base)),
            predictions=predictions[None], signal=float(z[0]),
        )  # fmt: skip


def wrong_measure(costs: Array) -> Measure:
    """What the error of a classifier is called: each wrong label counts what its class costs."""
    return WEIGHTED_WRONG if (costs != 1.0).any() else WRONG


def costs_of(given: Any, labels: Array, numbers: Array) -> Array:
    """What a wrong label costs for each true class, 1 for classes that a dict does not name."""
    if given is None:
        return np.ones(len(labels))
    if isinstance(given, str):
        return np.asarray(len(numbers) / (len(labels) * np.maximum(np.bincount(numbers, minlength=len(labels)), 1.0)))
    costs = as_numbers([given.get(label, 1.0) for label in labels.tolist()])
    if costs is None or not np.isfinite(costs).all() or not (costs >= 0).all() or not costs.any():
        raise InputError(sentence("class_weight", "numbers of at least 0, not all 0", repr(given)))
    return costs


def wrong_share(found: Array, numbers: Array, costs: Array, clusters: Array | None = None) -> tuple[float, float]:
    """Share of wrong labels, rows counted by the cost of their class, and its standard error."""
    weights = costs[numbers] / max(float(costs[numbers].mean()), 1e-300)
    share = float(np.mean(weights * (found != numbers)))
    # a share of 0 of n rows, or of all, is not known exactly: as if half a row more were wrong, and half a row right
    count = len(numbers) if clusters is None else len(np.unique(clusters))
    least = math.sqrt(0.25 / (count + 1) ** 2)
    spread = float(mean_with_error((weights * ((found != numbers) - share))[:, None], clusters)[1][0])
    return share, float(np.fmax(spread, least))


def log_gains(probabilities: Array, counts: Array, numbers: Array) -> Array:
    """By how much the log loss of each row is below that of the shares of the classes (m x 1).

    Shares of all rows: stratified folds make those of the other folds run against the rows that are held out.
    """
    shares = (counts + 1.0) / (counts.sum() + len(counts))
    mine = probabilities[np.arange(len(numbers)), numbers]
    return np.asarray(np.log(np.maximum(mine, 1e-12)) - np.log(shares[numbers]))[:, None]
