"""How good a model is on rows that it has not seen, from whatever outer loop was run."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from mercer.data.rows import Array, Estimator, ScoringLike
from mercer.errors import IllConditionedWarning, InputError, sentence
from mercer.estimators.auto_evaluation import SIGNAL, Evaluation
from mercer.estimators.evaluation import AsError, cross_validate
from mercer.estimators.nesting import NestedCrossValidation, nested_cross_validate
from mercer.report.subject import Subject

_FOLDS = 10  # of the outer loop around a search that left single rows out
_MOST_FOLDS = 20  # of a search, to be the outer folds as well: every pair of them is left out
WEIGHTED_SHARE = "share of wrong labels, weighted by class"  # the error of automatic classifiers with class weights


@dataclass(frozen=True, eq=False)
class Judgement:
    """How good a model is on rows that it has not seen.

    Attributes
    ----------
    measure : str
        What the numbers are.
    error, standard_error, baseline : float
        Of the model, and of the mean or the most common label.
    how : str
        How they were found.
    predicted : ndarray of shape (n,) or None
        What was predicted of every row by a model that had not seen it; NaN or None where there was none.
    naive, fitted : float
        The estimate that choosing itself gives, and the error on the rows of the fit; NaN where not computed.
    naive_how : str
        What `naive` is.
    smaller_is_better : bool
        True for errors, False for scores.
    share : bool
        Whether it is a share of wrong labels.
    outer : bool
        Whether all choices were repeated inside an outer loop.
    result : Evaluation, NestedCrossValidation or None
        The outer loop.
    from_all_rows : tuple of str
        What was computed once, from all rows, held-out ones included, and not again in every fold.
    signal : float
        z of the paired difference to the baseline over held-out rows; NaN where not computed.
    """

    measure: str
    error: float
    standard_error: float
    baseline: float
    how: str
    predicted: Array | None = None
    naive: float = math.nan
    naive_how: str = ""
    smaller_is_better: bool = True
    share: bool = False
    outer: bool = True
    result: Any = None
    from_all_rows: tuple[str, ...] = ()
    fitted: float = math.nan
    signal: float = math.nan

    @property
    def gain(self) -> float:
        """How much better than the baseline, in the measure's own unit; negative where worse."""
        return (self.baseline - self.error) * (1 if self.smaller_is_better else -1)

    @property
    def useful(self) -> bool:
        """True if the model is better than the baseline by more than its standard error."""
        if not math.isnan(self.signal):  # that of logarithms may be there although the error is above the baseline
            return self.signal > SIGNAL and (self.share or self.gain > 0)
        return self.gain > (0 if math.isnan(self.standard_error) else self.standard_error)

    def held_out(self, y: Array) -> HeldOutFacts | None:
        """Predictions of unseen rows beside what was observed."""
        return held_out_of(y, self.predicted, self.error if self.measure == "root mean squared error" else None)

    @property
    def all_rows_words(self) -> str:
        """The sentence about what was computed from all rows; empty where everything was computed in every fold."""
        if not self.from_all_rows:
            return ""
        return f"Computed once from all rows, held-out rows included: {'; '.join(self.from_all_rows)}."

    @property
    def optimism(self) -> float:
        """How much better the naive estimate is than the out-of-sample error; negative where it is worse."""
        return (self.error - self.naive) * (1 if self.smaller_is_better else -1)


def judge(subject: Subject, evaluation: Any = None) -> Judgement:
    """The out-of-sample error of a model.

    ====================  =========================  ====================================================
    model                 evaluation                 the error is that of
    ====================  =========================  ====================================================
    automatic             Evaluation                 the outer folds, all steps repeated
    automatic             None                       the committee out of fold, part of the fit
    a search              NestedCrossValidation      the outer loop
    a search              None                       `nested_cross_validate`, run here
    ====================  =========================  ====================================================
    """
    wanted: type = Evaluation if subject.auto else NestedCrossValidation
    fits = evaluation is None or isinstance(evaluation, wanted)
    if not fits:
        what = "the result of evaluate" if subject.auto else "the result of nested_cross_validate"
        raise InputError(sentence("evaluation of a report", f"{what}, or None", type(evaluation).__name__))
    return _judge_auto(subject, evaluation) if subject.auto else _judge_search(subject, evaluation)


def out_of_fold(subject: Subject) -> tuple[Array, Array]:
    """Rows, and what the committee said about them while they were held out: numbers, or decision values."""
    model = subject.model
    held = model.committee_.held_out
    return model.rows_used_, held if subject.classifier else model.in_units(held)[:, 0]


def _judge_auto(subject: Subject, result: Evaluation | None) -> Judgement:
    model, y, classes = subject.model, subject.y, subject.classifier
    measure = "share of wrong labels" if classes else "root mean squared error"
    if classes and (model.costs_ != 1.0).any():
        measure = WEIGHTED_SHARE
    naive_how = f"out of fold, {model.how_judged()}"
    if result is not None:
        how = f"outer cross-validation, {len(result.errors)} folds, all steps repeated in each"
        numbers = result.error, result.standard_error, result.baseline
        return Judgement(
            measure, *numbers, how, result.predictions, model.error_, naive_how, share=classes, result=result,
            signal=float(result.signal),
        )  # fmt: skip
    rows, held = out_of_fold(subject)
    predicted = np.full(len(y), None if classes else np.nan, dtype=object if classes else np.float64)
    predicted[rows] = _labels(model, held, y[rows]) if classes else held
    error = float(model.error_)
    spread = float(model.error_standard_error_)
    how = f"{'out of fold' if classes else 'estimated out of fold'}: {model.how_judged()}"
    numbers = error, spread, float(model.baseline_)
    z = float(model.signal_)
    return Judgement(measure, *numbers, how, predicted, error, naive_how, share=classes, outer=False, signal=z)


def _labels(model: Estimator, votes: Array, y: Array) -> Array:
    """Labels from out-of-fold votes as the fit counts them: calibrated without the fold that is judged."""
    folds, numbers = model.committee_.folds, np.searchsorted(model.classes_, y)
    found = np.empty(len(y), dtype=np.intp)
    for fold in range(int(folds.max()) + 1):
        rest, own = folds != fold, folds == fold
        found[own] = model.weighted(model.calibrate(votes[rest], numbers[rest]), votes[own]).argmax(axis=1)
    return np.asarray(model.classes_[found])


def training_error(subject: Subject, judged: Judgement) -> float:
    """The error on the rows of the fit; NaN where a score is told."""
    if not judged.smaller_is_better:
        return math.nan
    predicted, y, classes = subject.model.predict(subject.rows), subject.y, subject.classifier
    return float(np.mean(predicted != y)) if classes else float(np.sqrt(np.mean((predicted - y) ** 2)))


def _judge_search(subject: Subject, result: NestedCrossValidation | None) -> Judgement:
    model, y, how = subject.model, subject.y, _outer_folds(subject, given=result is not None)
    if result is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IllConditionedWarning)  # the fit has said it
            whole = (model, subject.rows) if subject.pipeline is None else (subject.pipeline, subject.X)
            result = nested_cross_validate(*whole, y, sample_weight=subject.weights, **how)
    return judge_nested(subject, result, baseline_score(subject, how))


def baseline_score(subject: Subject, how: dict[str, Any]) -> float:
    """The score of predicting the mean, or the most common label, on the same folds."""
    return dummy_score(subject.Z, subject.y, subject.model.scoring, how, classifier=subject.classifier)


def dummy_score(Z: Array, y: Array, scoring: ScoringLike, how: dict[str, Any], *, classifier: bool) -> float:
    """The cross-validated score of a model that does not look at Z."""
    dummy = DummyClassifier() if classifier else DummyRegressor()
    return float(cross_validate(dummy, Z, y, scoring=scoring, **how).mean)


def _outer_folds(subject: Subject, *, given: bool) -> dict[str, Any]:
    """The folds of the search if they can be outer folds, otherwise ten; an error unless they are a partition."""
    model, folds, groups = subject.model, subject.model.folds_, subject.groups
    if not folds.partition and not given:
        raise InputError(
            "evaluation= is required when the folds of the search overlap or do not cover all rows; the folds are "
            f"{folds.label}. Pass evaluation=nested_cross_validate(search, X, y, cv=5)."
        )
    own = 3 <= len(folds.repeats[0]) <= _MOST_FOLDS
    if own and not hasattr(model.cv, "__next__"):
        return {"cv": model.cv, "repeats": model.repeats, "random_state": model.random_state, "groups": groups}
    most = len(subject.y) if groups is None else len(np.unique(groups))
    return {"cv": min(_FOLDS, most), "random_state": 0 if groups is None else None, "groups": groups}


def judge_nested(subject: Subject, nested: NestedCrossValidation, base: float) -> Judgement:
    """The scores of a search as errors, where the score is one that is better read so."""
    model, read = subject.model, AsError.of(subject.model.scoring, classifier=subject.classifier)
    return Judgement(
        read.measure if read.smaller_is_better else nested.scoring,
        read.value(nested.mean),
        read.spread(nested.standard_error, nested.mean),
        read.value(base),
        f"nested cross-validation, {nested.folds}",
        nested.predictions[0] if subject.classifier else _mean(nested.predictions),
        read.value(model.best_score_),
        f"cross-validation score of the best candidate, {model.folds_.label}",
        smaller_is_better=read.smaller_is_better,
        share=read.kind == "share",
        result=nested,
    )


def _mean(values: Array) -> Array:
    """The mean over repeats; NaN where a row was never held out."""
    there = np.isfinite(values)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, there.sum(axis=0), out=np.full(total.shape, np.nan), where=there.any(axis=0)))


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


def held_out_of(y: Array, predicted: Array | None, error: float | None = None) -> HeldOutFacts | None:
    """Predictions of unseen rows beside what was observed; None for labels, and where none was kept.

    Residuals are scaled to the root mean squared error that is told, which is corrected to that of a model of all rows.

    A residual stands out if it is more than eight times as far from the median as half of them are; of bell-shaped
    ones that is more than five standard deviations.
    """
    if predicted is None or predicted.dtype.kind != "f" or y.dtype.kind != "f" or not np.isfinite(predicted).any():
        return None
    rows = np.flatnonzero(np.isfinite(predicted))
    observed, said = y[rows], predicted[rows]
    residual = observed - said
    size = float(np.sqrt(np.mean(residual**2)))
    if error is not None and size > 0:
        residual = residual * (error / size)
    half, most = np.quantile(np.abs(residual), [0.5, 0.9])
    total = float(np.sum((observed - observed.mean()) ** 2))
    explained = 1.0 - float(np.sum(residual**2)) / total if total else 0.0
    off = np.abs(residual - np.median(residual))
    middle = float(np.median(off))
    far = np.flatnonzero(off > 8.0 * middle) if middle else np.empty(0, dtype=np.intp)
    outliers = tuple(far[np.argsort(-off[far], kind="stable")].tolist())
    return HeldOutFacts(rows, observed, said, float(half), float(most), explained, outliers)
