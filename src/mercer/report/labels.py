"""What a classifier said about rows that it had not seen: right or wrong, and how sure it was."""

from __future__ import annotations

from dataclasses import dataclass

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
from mercer.report.subject import Subject
from mercer.selection.outcome import Outcome

_MOST = 12  # labels in the matrix; the rarest others are pooled
_BINS = 10
_CURVES = 5  # labels with curves
_COSTS = (1, 2, 5, 10, 20)  # of missing a label, in false alarms
OTHERS = "(others)"


@dataclass(frozen=True)
class LabelFact:
    """One label: how many rows have it, how many of them were found, how often it was right when said."""

    label: str
    rows: int
    found: float
    right: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """How sure it was against how often it was right.

    Attributes
    ----------
    of : str
        What the probability is of: a label, or the label that was said.
    said, seen : ndarray of shape (bins,)
        Mean probability, and share of rows for which it came true.
    rows : ndarray of int
        Rows of each bin.
    gap : float
        Mean distance of the two, weighted by rows.
    """

    of: str
    said: Array
    seen: Array
    rows: Array
    gap: float


@dataclass(frozen=True, eq=False)
class LabelCurve:
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

    label: str
    false: Array
    found: Array
    area: float
    recall: Array
    precision: Array
    average_precision: float
    share: float


@dataclass(frozen=True)
class ThresholdFact:
    """From which probability to say a label that costs `cost` false alarms to miss, and the errors that are left."""

    cost: int
    threshold: float
    missed: int
    alarms: int


@dataclass(frozen=True, eq=False)
class LabelFacts:
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

    names: tuple[str, ...]
    matrix: Array
    each: tuple[LabelFact, ...]
    calibration: Calibration
    curves: tuple[LabelCurve, ...] = ()
    thresholds: tuple[ThresholdFact, ...] = ()


def labels_of(subject: Subject, outcome: Outcome) -> LabelFacts:
    """Predicted against observed labels of held-out rows."""
    said = np.asarray(outcome.predicted, dtype=object)
    there = np.array([cell is not None for cell in said], dtype=bool)
    classes = subject.model.classes_
    observed, predicted = subject.y[there], np.asarray(said[there].tolist(), dtype=classes.dtype)
    whole = confusion_matrix(observed, predicted, labels=classes)
    right, found, _, rows = precision_recall_fscore_support(
        observed, predicted, labels=classes, average=None, zero_division=np.nan
    )
    order = np.argsort(-rows, kind="stable")
    each = tuple(LabelFact(str(classes[k]), int(rows[k]), float(found[k]), float(right[k])) for k in order)
    names, matrix = _pool_rare_labels([str(label) for label in classes], whole, order)
    probabilities, numbers = held_out_probabilities(subject.model, subject.y)
    calibrated = calibration_of(probabilities, numbers, [str(label) for label in classes])
    shown = [1] if len(classes) == 2 else [int(k) for k in order[:_CURVES]]
    curves = [_curve(str(classes[k]), probabilities[:, k], numbers == k) for k in shown if 0 < rows[k] < rows.sum()]
    thresholds = thresholds_of(probabilities[:, 1], numbers == 1) if len(classes) == 2 else ()
    return LabelFacts(names, matrix, each, calibrated, tuple(curves), thresholds)


def _curve(label: str, sure: Array, right: Array) -> LabelCurve:
    false, found, _ = roc_curve(right, sure)
    precision, recall, _ = precision_recall_curve(right, sure)
    area, mean = float(roc_auc_score(right, sure)), float(average_precision_score(right, sure))
    return LabelCurve(label, false, found, area, recall, precision, mean, float(np.mean(right)))


def thresholds_of(sure: Array, right: Array) -> tuple[ThresholdFact, ...]:
    """For some costs of missing a label, the probability from which saying it costs least, and errors on held-out rows.

    If a miss costs c false alarms, saying the label costs less than not saying it where c p > 1 - p.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report.labels import thresholds_of
    >>> found = thresholds_of(np.array([0.1, 0.4, 0.9]), np.array([False, True, True]))
    >>> [(each.cost, each.missed, each.alarms) for each in found[:2]]
    [(1, 1, 0), (2, 0, 0)]
    """
    return tuple(
        ThresholdFact(
            cost,
            1.0 / (1.0 + cost),
            int(np.sum(right & (sure * (1 + cost) <= 1.0))),
            int(np.sum(~right & (sure * (1 + cost) > 1.0))),
        )
        for cost in _COSTS
    )


def _pool_rare_labels(names: list[str], matrix: Array, order: Array) -> tuple[tuple[str, ...], Array]:
    """The matrix of the most common labels, the others put together."""
    if len(names) <= _MOST:
        return tuple(names), matrix
    kept = np.sort(order[: _MOST - 1])
    rest = np.setdiff1d(np.arange(len(names)), kept)
    parts = [[k] for k in kept.tolist()] + [rest.tolist()]
    pooled = np.array([[int(matrix[np.ix_(a, b)].sum()) for b in parts] for a in parts])
    return (*(names[k] for k in kept), OTHERS), pooled


def held_out_probabilities(model: Estimator, y: Array) -> tuple[Array, Array]:
    """Held-out probabilities of every label, and the numbers of the labels that came true, of rows that have some."""
    if hasattr(model, "committee_"):
        rows, values = model.rows_used_, model.committee_.held_out
    else:
        decisions = np.asarray(model.cv_predictions_)[0]
        decisions = decisions.reshape(len(decisions), -1)
        rows = np.flatnonzero(np.isfinite(decisions).all(axis=1))
        values = decisions[rows]
    return model.temperature_.probabilities(values), np.searchsorted(model.classes_, y[rows])


def calibration_of(probabilities: Array, numbers: Array, names: list[str]) -> Calibration:
    """Probabilities in bins of about equally many rows: of the second of two labels, or of the predicted label.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report.labels import calibration_of
    >>> sure = np.array([[0.8, 0.2]] * 10 + [[0.2, 0.8]] * 10)
    >>> came = np.array([0] * 8 + [1] * 2 + [1] * 8 + [0] * 2)
    >>> found = calibration_of(sure, came, ["no", "yes"])
    >>> found.of, found.said.round(3).tolist(), found.seen.tolist()
    ('yes', [0.2, 0.8], [0.2, 0.8])
    """
    if probabilities.shape[1] == 2:
        of, sure, right = names[1], probabilities[:, 1], numbers == 1
    else:
        of, sure, right = "the predicted label", probabilities.max(axis=1), probabilities.argmax(axis=1) == numbers
    bins = int(np.clip(len(sure) // 10, 1, _BINS))
    seen, said = calibration_curve(right, sure, n_bins=bins, strategy="quantile", pos_label=True)
    edges = np.percentile(sure, 100 * np.linspace(0, 1, bins + 1)[1:-1])  # as in calibration_curve
    rows = np.bincount(np.searchsorted(edges, sure), minlength=bins)
    rows = rows[rows > 0]  # equal probabilities are in one bin, so others may be empty
    return Calibration(of, said, seen, rows, float(np.average(np.abs(said - seen), weights=rows)))
