"""What a classifier said about rows that it had not seen: right or wrong, and how sure it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from mercer.data.rows import Array
from mercer.report.judging import Judgement, out_of_fold
from mercer.report.subject import Subject

_MOST = 12  # labels in the matrix; the rarest others are pooled
_BINS = 10
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
    """

    names: tuple[str, ...]
    matrix: Array
    each: tuple[LabelFact, ...]
    calibration: Calibration


def labels_of(subject: Subject, judged: Judgement) -> LabelFacts:
    """Predicted against observed labels of held-out rows."""
    said = np.asarray(judged.predicted, dtype=object)
    there = np.array([cell is not None for cell in said], dtype=bool)
    classes = subject.model.classes_
    observed, predicted = subject.y[there], np.asarray(said[there].tolist(), dtype=classes.dtype)
    whole = confusion_matrix(observed, predicted, labels=classes)
    right, found, _, rows = precision_recall_fscore_support(
        observed, predicted, labels=classes, average=None, zero_division=np.nan
    )
    order = np.argsort(-rows, kind="stable")
    each = tuple(LabelFact(str(classes[k]), int(rows[k]), float(found[k]), float(right[k])) for k in order)
    names, matrix = _pooled([str(label) for label in classes], whole, order)
    return LabelFacts(names, matrix, each, calibration_of(*_probabilities(subject), [str(label) for label in classes]))


def _pooled(names: list[str], matrix: Array, order: Array) -> tuple[tuple[str, ...], Array]:
    """The matrix of the most common labels, the others put together."""
    if len(names) <= _MOST:
        return tuple(names), matrix
    kept = np.sort(order[: _MOST - 1])
    rest = np.setdiff1d(np.arange(len(names)), kept)
    parts = [[k] for k in kept.tolist()] + [rest.tolist()]
    pooled = np.array([[int(matrix[np.ix_(a, b)].sum()) for b in parts] for a in parts])
    return (*(names[k] for k in kept), OTHERS), pooled


def _probabilities(subject: Subject) -> tuple[Array, Array]:
    """Held-out probabilities of every label, and the numbers of the labels that came true."""
    model = subject.model
    if subject.auto:
        rows, values = out_of_fold(subject)
    else:
        decisions = np.asarray(model.cv_predictions_)[0]
        decisions = decisions.reshape(len(decisions), -1)
        rows = np.flatnonzero(np.isfinite(decisions).all(axis=1))
        values = decisions[rows]
    return model.temperature_.probabilities(values), np.searchsorted(model.classes_, subject.y[rows])


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
