"""How good a model is on rows that it has not seen: by whatever loop, in numbers, and for labels in counts."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

from mercer.data.rows import Array, Estimator
from mercer.errors import IllConditionedWarning, refuse, refuse_if
from mercer.estimators.auto_classifier import wrong_measure
from mercer.estimators.evaluation import nested_cross_validate
from mercer.report.subject import Subject
from mercer.selection.outcome import ROOT_MEAN_SQUARE, Outcome
from mercer.text import Brief

_FOLDS = 10  # of the outer loop around a search that left single rows out
_MOST_FOLDS = 20  # of a search, to be the outer folds as well: every pair of them is left out
_MOST = 12  # labels in the matrix; the rarest others are pooled
_BINS = 10
_CURVES = 5  # labels with curves
_COSTS = (1, 2, 5, 10, 20)  # of missing a label, in false alarms
OTHERS = "(others)"


def judge(subject: Subject, evaluation: Outcome | None = None) -> Outcome:
    """The out-of-sample error of a model.

    ====================  ==============================  ====================================================
    model                 evaluation                      the error is that of
    ====================  ==============================  ====================================================
    automatic             outcome of its `evaluate`       the outer folds, all steps repeated
    automatic             None                            the committee out of fold, part of the fit
    a search              of `nested_cross_validate`      the outer loop
    a search              None                            `nested_cross_validate`, run here
    ====================  ==============================  ====================================================
    """
    if evaluation is None:
        return own_outcome(subject.model, subject.y) if subject.auto else _nested_here(subject)
    what = "the result of evaluate" if subject.auto else "the result of nested_cross_validate"
    got = f"that of {evaluation.kind}" if isinstance(evaluation, Outcome) else type(evaluation).__name__
    unlike = getattr(evaluation, "kind", None) != f"{'outer' if subject.auto else 'nested'} cross-validation"
    refuse_if(unlike, "evaluation of a report", f"{what}, or None", got)
    return evaluation


def own_outcome(model: Estimator, y: Array) -> Outcome:
    """The error that the fit of an automatic model estimates itself, out of fold and without an outer loop."""
    classes = hasattr(model, "predict_proba")
    measure = wrong_measure(model.costs_) if classes else ROOT_MEAN_SQUARE
    rows, held = model.rows_used_, model.committee_.held_out
    predicted = np.full(len(y), None if classes else np.nan, dtype=object if classes else np.float64)
    predicted[rows] = _labels(model, held, y[rows]) if classes else model.in_units(held)[:, 0]
    how, error = f"{'out of fold' if classes else 'estimated out of fold'}: {model.how_judged()}", float(model.error_)
    return Outcome(
        measure, f"minus {measure.name}", np.array([[-error]]), -error, float(model.error_standard_error_), how,
        base=-float(model.baseline_), predictions=predicted[None], signal=float(model.signal_), outer=False,
    )  # fmt: skip


def _labels(model: Estimator, votes: Array, y: Array) -> Array:
    """Labels from out-of-fold votes as the fit counts them: calibrated without the fold that is judged."""
    folds, numbers = model.committee_.folds, np.searchsorted(model.classes_, y)
    found = np.empty(len(y), dtype=np.intp)
    for own in (folds == fold for fold in range(int(folds.max()) + 1)):
        found[own] = model.weighted(model.calibrate(votes[~own], numbers[~own]), votes[own]).argmax(axis=1)
    return np.asarray(model.classes_[found])


def training_error(subject: Subject, outcome: Outcome) -> float:
    """The error on the rows of the fit; NaN where a score is told."""
    if not outcome.measure.smaller_is_better:
        return math.nan
    predicted, y = subject.model.predict(subject.rows), subject.y
    return float(np.mean(predicted != y) if subject.classifier else np.sqrt(np.mean((predicted - y) ** 2)))


def chosen_by(subject: Subject, outcome: Outcome) -> tuple[float, str]:
    """The estimate that choosing itself gave, in the measure of the outcome, and what it is."""
    model = subject.model
    if subject.auto:
        return float(model.error_), f"out of fold, {model.how_judged()}"
    how = f"cross-validation score of the best candidate, {model.folds_.label}"
    return float(outcome.measure.value(model.best_score_)), how


def _nested_here(subject: Subject) -> Outcome:
    """Nested cross-validation on the folds of the search if they can be outer folds, otherwise on ten."""
    model, folds, groups = subject.model, subject.model.folds_, subject.groups
    need = "evaluation= is required when the folds of the search overlap or do not cover all rows"
    way_out = "Pass evaluation=nested_cross_validate(search, X, y, cv=5)."
    refuse(not folds.partition, f"{need}; the folds are {folds.label}. {way_out}")
    most = len(subject.y) if groups is None else len(np.unique(groups))
    how: dict[str, Any] = {"cv": min(_FOLDS, most), "random_state": 0 if groups is None else None}
    if 3 <= len(folds.repeats[0]) <= _MOST_FOLDS and not hasattr(model.cv, "__next__"):
        how = {"cv": model.cv, "repeats": model.repeats, "random_state": model.random_state}
    whole = (model, subject.rows) if subject.pipeline is None else (subject.pipeline, subject.X)
    with warnings.catch_warnings(action="ignore", category=IllConditionedWarning):  # the fit has said it
        return nested_cross_validate(*whole, subject.y, sample_weight=subject.weights, groups=groups, **how)


class HeldOutFacts(Brief):
    """Targets, what was predicted of them unseen, and the residuals that stand out.

    Residuals are scaled to the root mean squared error that is told, which is corrected to that of a model of all rows.
    A residual stands out if it is more than eight times as far from the median as half of them are; of bell-shaped
    ones that is more than five standard deviations.

    Attributes
    ----------
    rows : ndarray of int
        Which rows these are, from 0.
    observed, predicted : ndarray
        In the target's unit.
    half, most : float
        Half of the predictions are off by less, nine in ten by less.
    explained : float
        1 minus the share of the variance that is left.
    outliers : tuple of int
        Places in the arrays, the largest residual first.
    """

    def __init__(self, y: Array, outcome: Outcome) -> None:
        predicted = np.asarray(outcome.predicted)
        self.rows = np.flatnonzero(np.isfinite(predicted))
        self.observed, self.predicted = y[self.rows], predicted[self.rows]
        residual = self.observed - self.predicted
        size = float(np.sqrt(np.mean(residual**2)))
        if outcome.measure.name == ROOT_MEAN_SQUARE.name and size > 0:
            residual = residual * (outcome.error / size)
        self.half, self.most = np.quantile(np.abs(residual), [0.5, 0.9]).tolist()
        total = float(np.sum((self.observed - self.observed.mean()) ** 2))
        self.explained = 1.0 - float(np.sum(residual**2)) / total if total else 0.0
        off = np.abs(residual - np.median(residual))
        middle, order = np.median(off), np.argsort(-off, kind="stable")
        self.outliers = tuple((order[off[order] > 8.0 * middle] if middle else order[:0]).tolist())


def held_out_of(y: Array, outcome: Outcome) -> HeldOutFacts | None:
    """Predictions of unseen rows beside what was observed; None for labels, and where none was kept."""
    predicted = outcome.predicted
    known = predicted is not None and predicted.dtype.kind == y.dtype.kind == "f" and np.isfinite(predicted).any()
    return HeldOutFacts(y, outcome) if known else None


@dataclass(frozen=True)
class LabelFact:
    """One label: how many rows have it, how many of them were found, how often it was right when said."""

    label: str
    rows: int
    found: float
    right: float


class Calibration(Brief):
    """How sure it was against how often it was right, in bins of about equally many rows.

    Attributes
    ----------
    of : str
        What the probability is of: the second of two labels, or the predicted label.
    said, seen : ndarray of shape (bins,)
        Mean probability, and share of rows for which it came true.
    rows : ndarray of int
        Rows of each bin.
    gap : float
        Mean distance of the two, weighted by rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report.judging import Calibration
    >>> sure = np.array([[0.8, 0.2]] * 10 + [[0.2, 0.8]] * 10)
    >>> came = np.array([0] * 8 + [1] * 2 + [1] * 8 + [0] * 2)
    >>> found = Calibration(sure, came, ["no", "yes"])
    >>> found.of, found.said.round(3).tolist(), found.seen.tolist()
    ('yes', [0.2, 0.8], [0.2, 0.8])
    """

    def __init__(self, probabilities: Array, numbers: Array, names: list[str]) -> None:
        self.of, sure = "the predicted label", probabilities.max(axis=1)
        right = probabilities.argmax(axis=1) == numbers
        if probabilities.shape[1] == 2:
            self.of, sure, right = names[1], probabilities[:, 1], numbers == 1
        bins = int(np.clip(len(sure) // 10, 1, _BINS))
        self.seen, self.said = calibration_curve(right, sure, n_bins=bins, strategy="quantile", pos_label=True)
        edges = np.percentile(sure, 100 * np.linspace(0, 1, bins + 1)[1:-1])  # as in calibration_curve
        rows = np.bincount(np.searchsorted(edges, sure), minlength=bins)
        self.rows = rows[rows > 0]  # equal probabilities are in one bin, so others may be empty
        self.gap = float(np.average(np.abs(self.said - self.seen), weights=self.rows))


class LabelCurve(Brief):
    """How well held-out probabilities rank the rows of one label before the others.

    Attributes
    ----------
    label : str
        The label.
    false, found : ndarray of shape (k,)
        For every threshold, shares of the other rows and of its own rows that lie above it (ROC).
    area : float
        Below that curve: the probability that a row with this label is ranked before one without.
    recall, precision : ndarray of shape (m,)
        For every threshold, which of its rows lie above it, and how many of those above have the label.
    average_precision : float
        Mean precision over recall.
    share : float
        Of rows with this label: the precision of guessing.
    """

    def __init__(self, label: str, sure: Array, right: Array) -> None:
        self.label, self.share = label, float(np.mean(right))
        self.false, self.found, _ = roc_curve(right, sure)
        self.precision, self.recall, _ = precision_recall_curve(right, sure)
        self.area = float(roc_auc_score(right, sure))
        self.average_precision = float(average_precision_score(right, sure))


class ThresholdFact(Brief):
    """From which probability to say a label that costs `cost` false alarms to miss, and the errors that are left.

    If a miss costs c false alarms, saying the label costs less than not saying it where c p > 1 - p.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report.judging import ThresholdFact
    >>> found = [ThresholdFact(cost, np.array([0.1, 0.4, 0.9]), np.array([False, True, True])) for cost in (1, 2)]
    >>> [(each.cost, each.missed, each.alarms) for each in found]
    [(1, 1, 0), (2, 0, 0)]
    """

    def __init__(self, cost: int, sure: Array, right: Array) -> None:
        alarm = sure * (1 + cost) > 1.0
        self.cost, self.threshold = cost, 1.0 / (1.0 + cost)
        self.missed, self.alarms = int(np.sum(right & ~alarm)), int(np.sum(~right & alarm))


class LabelFacts(Brief):
    """Right and wrong labels of unseen rows.

    Attributes
    ----------
    names : tuple of str
        Labels of the matrix.
    matrix : ndarray of int, shape (labels, labels)
        Observed labels down, predicted labels across.
    each : tuple of LabelFact
        Every label, the most common first.
    calibration : Calibration
        Of held-out probabilities.
    curves : tuple of LabelCurve
        ROC and precision-recall: of the second of two labels, or of the most common of several against the others.
    thresholds : tuple of ThresholdFact
        Of two labels, by the cost of missing the second.
    """

    def __init__(self, subject: Subject, outcome: Outcome) -> None:
        said, classes = np.asarray(outcome.predicted, dtype=object), subject.model.classes_
        there = np.array([cell is not None for cell in said], dtype=bool)
        observed, predicted = subject.y[there], np.asarray(said[there].tolist(), dtype=classes.dtype)
        whole = confusion_matrix(observed, predicted, labels=classes)
        right, found, _, rows = precision_recall_fscore_support(
            observed, predicted, labels=classes, average=None, zero_division=np.nan
        )
        names, order = [str(label) for label in classes], np.argsort(-rows, kind="stable")
        self.each = tuple(LabelFact(names[k], int(rows[k]), float(found[k]), float(right[k])) for k in order)
        self.names, self.matrix = _pool_rare_labels(names, whole, order)
        probabilities, numbers = held_out_probabilities(subject.model, subject.y)
        self.calibration = Calibration(probabilities, numbers, names)
        shown = [k for k in ([1] if len(classes) == 2 else order[:_CURVES]) if 0 < rows[k] < rows.sum()]
        self.curves = tuple(LabelCurve(names[k], probabilities[:, k], numbers == k) for k in shown)
        costs = _COSTS if len(classes) == 2 else ()
        self.thresholds = tuple(ThresholdFact(cost, probabilities[:, 1], numbers == 1) for cost in costs)


def _pool_rare_labels(names: list[str], matrix: Array, order: Array) -> tuple[tuple[str, ...], Array]:
    """The matrix of the most common labels, the others put together."""
    if len(names) <= _MOST:
        return tuple(names), matrix
    kept = np.sort(order[: _MOST - 1])
    owner = np.full(len(names), len(kept))
    owner[kept] = np.arange(len(kept))
    pooled = np.zeros((_MOST, _MOST), dtype=int)
    np.add.at(pooled, np.ix_(owner, owner), matrix)
    return (*(names[k] for k in kept), OTHERS), pooled


def held_out_probabilities(model: Estimator, y: Array) -> tuple[Array, Array]:
    """Held-out probabilities of every label, and the numbers of the labels that came true, of rows that have some."""
    if hasattr(model, "committee_"):
        rows, values = model.rows_used_, model.committee_.held_out
    else:
        values = np.asarray(model.cv_predictions_)[0]
        values = values.reshape(len(values), -1)
        rows = np.flatnonzero(np.isfinite(values).all(axis=1))
        values = values[rows]
    return model.temperature_.probabilities(values), np.searchsorted(model.classes_, y[rows])
