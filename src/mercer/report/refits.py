"""The chosen kernels refitted without a tenth of the rows at a time: what columns and intervals are tried on.

Kernels, alphas and weights stay as they were chosen, so this costs a few factorizations and no search. It answers what
a column is worth and whether intervals hold; how good the model is, with its choices, is for the outer loop to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from mercer.data.folds import draw
from mercer.data.rows import Array
from mercer.errors import IllConditionedWarning
from mercer.estimators.auto_evaluation import HeldOutPart, rises, share_alone, some_rows
from mercer.insight.intervals import Coverage
from mercer.report.subject import Subject
from mercer.selection.outcome import Outcome
from mercer.selection.removals import label_targets
from mercer.text import share_of

COLUMNS = 60  # beyond, those that say most on their own
CONFIDENCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
Coverages: TypeAlias = tuple[Coverage, ...]
_BY_SIZE, _THIRDS = 0.9, 30  # confidence of the intervals that are told by size, and rows from which on they are
_FOLDS = 10


class Refit:
    """The model fitted to some rows alone, with the weights of its members; without rows, the model as it is.

    Attributes
    ----------
    test : ndarray of int
        The rows that they have not seen.
    models : list of (float, KernelRidge or KernelRidgeClassifier)
        Weighted members; one of weight 1 for a search.
    subject : Subject
        What they were made from.
    """

    def __init__(self, subject: Subject, train: Array | None = None, test: Array | None = None) -> None:
        model, auto = subject.model, subject.auto
        self.subject, self.test = subject, np.empty(0, dtype=np.intp) if test is None else test
        fitted = model.models_ if auto else [model.best_estimator_]
        if train is not None:
            Z, y, classes = subject.Z[train], subject.y[train], getattr(model, "classes_", None)
            if auto:
                Y = model.fitted_to(y) if classes is None else label_targets(np.searchsorted(classes, y), len(classes))
                fitted = [model.member(each.kernel, each.alpha, Z, Y) for each in model.members_]
            else:
                own = None if subject.weights is None else subject.weights[train]
                fitted = [clone(model.best_estimator_).fit(subject.as_frame(Z), y, own)]
        weights = [member.weight for member in model.members_] if auto else [1.0]
        self.models: list[tuple[float, Any]] = list(zip(weights, fitted, strict=True))

    def predict(self, Z: Array) -> Array:
        """Numbers or labels."""
        model = self.subject.model
        if not self.subject.auto:
            return np.asarray(self.models[0][1].predict(self.subject.as_frame(Z)))
        if not self.subject.classifier:
            return np.asarray(model.in_units(self._votes(Z))[:, 0])
        return np.asarray(model.classes_[model.weighted(model.temperature_, self._votes(Z)).argmax(axis=1)])

    def levels(self, Z: Array, label: int) -> Array:
        """Numbers, or probabilities of the class of this number."""
        if not self.subject.classifier:
            return self.predict(Z)
        return np.asarray(self.subject.model.temperature_.probabilities(self._votes(Z))[:, label])

    def _votes(self, Z: Array) -> Array:
        """What the committee says of standardized targets, or the decision values of a search (m x t)."""
        if not self.subject.auto:
            return np.reshape(self.models[0][1].decision_function(self.subject.as_frame(Z)), (len(Z), -1))
        return np.asarray(sum(weight * np.reshape(each.predict(Z), (len(Z), -1)) for weight, each in self.models))

    def losses(self, Z: Array) -> Array:
        """Squared errors, or 1 for wrong labels, of the rows not seen, encoded like this."""
        said, y = self.predict(Z), self.subject.y[self.test]
        return (said != y).astype(float) if self.subject.classifier else np.asarray((said - y) ** 2)


def fold_refits(subject: Subject) -> list[Refit]:
    """Ten folds of the sampled rows; none where no column is learned from."""
    if not subject.Z.shape[1]:
        return []
    rows = some_rows(len(subject.y))
    y, groups = subject.y[rows], None if subject.groups is None else subject.groups[rows]
    smallest = np.unique(y, return_counts=True)[1].min() if subject.classifier else len(y)
    most = smallest if groups is None else len(np.unique(groups))
    count = int(max(2, min(_FOLDS, most)))
    seed = 0 if groups is None else None
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # a label of one row cannot be in all folds
        folds = draw(count, subject.Z[rows], y, groups=groups, random_state=seed, classifier=subject.classifier)
    with warnings.catch_warnings(action="ignore", category=IllConditionedWarning):  # the alphas are the model's own
        return [Refit(subject, rows[split.train], rows[split.test]) for split in folds.splits]


# -- columns --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnImportance:
    """What a column is worth.

    Attributes
    ----------
    name : str
        The column.
    rise, standard_error : float
        By how much the error on unseen rows rises when the column is shuffled among them.
    alone : float
        The share of the baseline's loss that the column takes away on its own, by its nearest neighbours.
    """

    name: str
    rise: float
    standard_error: float
    alone: float

    @property
    def margin(self) -> float:
        """By how much the rise is larger than two standard errors."""
        return self.rise - 2 * self.standard_error


def influences(subject: Subject, refits: list[Refit]) -> list[ColumnImportance]:
    """Every column permuted in turn, the largest rise first; the columns of many that say most on their own."""
    alone = {place: skill_alone(subject, place) for place in subject.feature_places}
    chosen = sorted(sorted(alone, key=lambda place: -alone[place])[:COLUMNS])
    parts = [HeldOutPart(each.test, each.losses) for each in refits]
    columns = [np.flatnonzero(subject.place == place) for place in chosen]
    found = [
        ColumnImportance(subject.columns[place].name, *rise, alone[place])
        for place, rise in zip(chosen, rises(subject.Z, parts, columns, squares=not subject.classifier), strict=True)
    ]
    return sorted(found, key=lambda each: -each.rise)


def skill_alone(subject: Subject, place: int) -> float:
    """What one column says about the target by itself."""
    rows = some_rows(len(subject.y))
    z = subject.Z[np.ix_(rows, np.flatnonzero(subject.place == place))]
    return share_alone(z, subject.y[rows], classifier=subject.classifier)


# -- intervals ------------------------------------------------------------------------------------


def coverages(subject: Subject, refits: list[Refit], outcome: Outcome) -> tuple[Coverages, Coverages, str]:
    """The coverage of intervals of each confidence; of 90 % ones in thirds by prediction; and how it was measured."""
    if subject.classifier or not refits:
        return (), (), ""
    rows, predicted, intervals, how = (_of_auto if subject.auto else _of_search)(subject, refits, outcome)
    y, order = subject.y[rows], np.argsort(predicted, kind="stable")
    found, by_size = [], list[Coverage]()
    for confidence in CONFIDENCES:
        lower, upper = intervals(confidence)
        inside, width = (lower <= y) & (y <= upper), upper - lower
        found.append(_coverage(inside, width, confidence))
        if confidence == _BY_SIZE and len(y) >= _THIRDS:
            by_size = [_coverage(inside[part], width[part], confidence) for part in np.array_split(order, 3)]
    return tuple(found), tuple(by_size), how


def _coverage(inside: Array, width: Array, confidence: float) -> Coverage:
    return Coverage(float(np.mean(inside)), float(np.mean(width)), confidence, "coverage", len(inside))


# Held-out rows, their predictions, for a confidence the ends of their intervals, and how that was measured.
HeldOutIntervals: TypeAlias = tuple[Array, Array, Callable[[float], tuple[Array, Array]], str]


def _of_auto(subject: Subject, refits: list[Refit], outcome: Outcome) -> HeldOutIntervals:
    model = subject.model
    if outcome.outer:
        predicted, rows = np.asarray(outcome.predicted, dtype=np.float64), np.arange(len(subject.y))
        how = "the model's intervals around the predictions of the outer cross-validation"
    else:
        predicted, rows = _held_out(subject, refits)
        how = (
            f"the model's intervals around predictions of its kernels refitted without {share_of(len(refits))} of the "
            "rows at a time; the interval widths were computed from all rows, so the coverage of new rows may be "
            "slightly lower"
        )
    rows, predicted = rows[np.isfinite(predicted)], predicted[np.isfinite(predicted)]
    middle = model.to_even_scale(model.fitted_to(predicted / getattr(model, "log_factor_", 1.0)))

    def intervals(confidence: float) -> tuple[Array, Array]:
        ends: tuple[Array, Array] = model.ends_of(middle, model.half_widths(subject.Z[rows], confidence)[:, 0])
        return ends

    return rows, predicted, intervals, how


def _of_search(subject: Subject, refits: list[Refit], _: Outcome) -> HeldOutIntervals:
    def intervals(confidence: float) -> tuple[Array, Array]:
        rows = ((each.models[0][1], subject.as_frame(subject.Z[each.test])) for each in refits)
        lower, upper = np.hstack([fitted.predict_interval(Z, confidence) for fitted, Z in rows])
        return lower, upper

    predicted, rows = _held_out(subject, refits)
    how = f"jackknife+ intervals of the best candidate, refitted without {share_of(len(refits))} of the rows at a time"
    return rows, predicted, intervals, how


def _held_out(subject: Subject, refits: list[Refit]) -> tuple[Array, Array]:
    """Predictions of the rows that refits have not seen, and these rows."""
    predicted = np.concatenate([each.predict(subject.Z[each.test]) for each in refits])
    return predicted, np.concatenate([each.test for each in refits])
