"""How good a model is on rows that it has not seen: the outer loop that was run, one run here, or its own estimate."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.rows import Array, Estimator
from mercer.errors import IllConditionedWarning, InputError, sentence
from mercer.estimators.auto_classifier import wrong_measure
from mercer.estimators.evaluation import nested_cross_validate
from mercer.report.subject import Subject
from mercer.selection.outcome import ROOT_MEAN_SQUARE, Outcome

_FOLDS = 10  # of the outer loop around a search that left single rows out
_MOST_FOLDS = 20  # of a search, to be the outer folds as well: every pair of them is left out


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
        return own_outcome(subject) if subject.auto else _nested_here(subject)
    kind = "outer cross-validation" if subject.auto else "nested cross-validation"
    if getattr(evaluation, "kind", None) != kind:
        what = "the result of evaluate" if subject.auto else "the result of nested_cross_validate"
        got = f"that of {evaluation.kind}" if isinstance(evaluation, Outcome) else type(evaluation).__name__
        raise InputError(sentence("evaluation of a report", f"{what}, or None", got))
    return evaluation


def out_of_fold(subject: Subject) -> tuple[Array, Array]:
    """Rows, and what the committee said about them while they were held out: numbers, or decision values."""
    model = subject.model
    held = model.committee_.held_out
    return model.rows_used_, held if subject.classifier else model.in_units(held)[:, 0]


def own_outcome(subject: Subject) -> Outcome:
    """What the fit of an automatic model says of itself: the committee out of fold, without an outer loop."""
    model, y, classes = subject.model, subject.y, subject.classifier
    measure = wrong_measure(model.costs_) if classes else ROOT_MEAN_SQUARE
    rows, held = out_of_fold(subject)
    predicted = np.full(len(y), None if classes else np.nan, dtype=object if classes else np.float64)
    predicted[rows] = _labels(model, held, y[rows]) if classes else held
    how = f"{'out of fold' if classes else 'estimated out of fold'}: {model.how_judged()}"
    scores = np.array([[-float(model.error_)]])
    return Outcome(
        measure, f"minus {measure.name}", scores, -float(model.error_), float(model.error_standard_error_), how,
        base=-float(model.baseline_), predictions=predicted[None], signal=float(model.signal_), outer=False,
    )  # fmt: skip


def _labels(model: Estimator, votes: Array, y: Array) -> Array:
    """Labels from out-of-fold votes as the fit counts them: calibrated without the fold that is judged."""
    folds, numbers = model.committee_.folds, np.searchsorted(model.classes_, y)
    found = np.empty(len(y), dtype=np.intp)
    for fold in range(int(folds.max()) + 1):
        rest, own = folds != fold, folds == fold
        found[own] = model.weighted(model.calibrate(votes[rest], numbers[rest]), votes[own]).argmax(axis=1)
    return np.asarray(model.classes_[found])


def training_error(subject: Subject, outcome: Outcome) -> float:
    """The error on the rows of the fit; NaN where a score is told."""
    if not outcome.measure.smaller_is_better:
        return math.nan
    predicted, y, classes = subject.model.predict(subject.rows), subject.y, subject.classifier
    return float(np.mean(predicted != y)) if classes else float(np.sqrt(np.mean((predicted - y) ** 2)))


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
    if not folds.partition:
        raise InputError(
            "evaluation= is required when the folds of the search overlap or do not cover all rows; the folds are "
            f"{folds.label}. Pass evaluation=nested_cross_validate(search, X, y, cv=5)."
        )
    if 3 <= len(folds.repeats[0]) <= _MOST_FOLDS and not hasattr(model.cv, "__next__"):
        how: dict[str, Any] = {"cv": model.cv, "repeats": model.repeats, "random_state": model.random_state}
    else:
        most = len(subject.y) if groups is None else len(np.unique(groups))
        how = {"cv": min(_FOLDS, most), "random_state": 0 if groups is None else None}
    whole = (model, subject.rows) if subject.pipeline is None else (subject.pipeline, subject.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)  # the fit has said it
        return nested_cross_validate(*whole, subject.y, sample_weight=subject.weights, groups=groups, **how)


@dataclass(frozen=True, eq=False)
class HeldOutFacts:
    """Targets, what was predicted of them unseen, and the residuals that stand out.

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

    rows: Array
    observed: Array
    predicted: Array
    half: float
    most: float
    explained: float
    outliers: tuple[int, ...]


def held_out_of(y: Array, outcome: Outcome) -> HeldOutFacts | None:
    """Predictions of unseen rows beside what was observed; None for labels, and where none was kept.

    Residuals are scaled to the root mean squared error that is told, which is corrected to that of a model of all rows.

    A residual stands out if it is more than eight times as far from the median as half of them are; of bell-shaped
    ones that is more than five standard deviations.
    """
    predicted = outcome.predicted
    if predicted is None or predicted.dtype.kind != "f" or y.dtype.kind != "f" or not np.isfinite(predicted).any():
        return None
    rows = np.flatnonzero(np.isfinite(predicted))
    observed, said = y[rows], predicted[rows]
    residual = observed - said
    size = float(np.sqrt(np.mean(residual**2)))
    if outcome.measure.name == ROOT_MEAN_SQUARE.name and size > 0:
        residual = residual * (outcome.error / size)
    half, most = np.quantile(np.abs(residual), [0.5, 0.9])
    total = float(np.sum((observed - observed.mean()) ** 2))
    explained = 1.0 - float(np.sum(residual**2)) / total if total else 0.0
    off = np.abs(residual - np.median(residual))
    middle = float(np.median(off))
    far = np.flatnonzero(off > 8.0 * middle) if middle else np.empty(0, dtype=np.intp)
    outliers = tuple(far[np.argsort(-off[far], kind="stable")].tolist())
    return HeldOutFacts(rows, observed, said, float(half), float(most), explained, outliers)
