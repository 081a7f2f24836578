"""The chosen kernels refitted without a fifth of the rows at a time: what columns and intervals are tried on.

Kernels, alphas and weights stay as they were chosen, so this costs a few factorizations and no search. It answers what
a column is worth and whether intervals hold; how good the model is, with its choices, is for the outer loop to say.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.folds import draw
from mercer.data.rows import Array
from mercer.errors import IllConditionedWarning
from mercer.estimators.refitting import part_of
from mercer.estimators.ridge import KernelRidge
from mercer.insight.intervals import Coverage
from mercer.report.alone import share_alone, some_rows
from mercer.report.judging import Judgement
from mercer.report.subject import Subject
from mercer.selection.problem import label_targets
from mercer.text import share_of

COLUMNS = 60  # beyond, those that say most on their own
CONFIDENCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Refit:
    """Models fitted without some rows, and their weights.

    Attributes
    ----------
    test : ndarray of int
        The rows that they have not seen.
    models : list of (float, KernelRidge or KernelRidgeClassifier)
        Weighted members; one of weight 1 for a search.
    subject : Subject
        What they were made from.
    """

    test: Array
    models: list[tuple[float, Any]]
    subject: Subject

    def predict(self, Z: Array) -> Array:
        """Numbers or labels."""
        if not self.subject.auto:
            return np.asarray(self.models[0][1].predict(self.subject.framed(Z)))
        votes = sum(weight * np.reshape(model.predict(Z), (len(Z), -1)) for weight, model in self.models)
        values = np.asarray(votes)
        if not self.subject.classifier:
            return np.asarray(values[:, 0])
        model = self.subject.model
        return np.asarray(model.classes_[model.weighted(model.temperature_, values).argmax(axis=1)])


def sampled(subject: Subject) -> Array:
    """All rows, or as many as can be afforded, drawn at random."""
    return some_rows(len(subject.y))


def refitted(subject: Subject) -> list[Refit]:
    """Five folds of the sampled rows; none where no column is learned from."""
    if not subject.Z.shape[1]:
        return []
    rows = sampled(subject)
    y, groups = subject.y[rows], None if subject.groups is None else subject.groups[rows]
    smallest = np.unique(y, return_counts=True)[1].min() if subject.classifier else len(y)
    most = smallest if groups is None else len(np.unique(groups))
    count = int(max(2, min(_FOLDS, most)))
    seed = 0 if groups is None else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a label of one row cannot be in every fold
        folds = draw(count, subject.Z[rows], y, groups=groups, random_state=seed, classifier=subject.classifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)  # the alphas are the model's own
        return [_refit(subject, rows[split.train], rows[split.test]) for split in folds.splits]


def _refit(subject: Subject, train: Array, test: Array) -> Refit:
    model, Z, y = subject.model, subject.Z[train], subject.y[train]
    if not subject.auto:
        weights = None if subject.weights is None else subject.weights[train]
        from sklearn.base import clone

        fresh = clone(model.best_estimator_)
        return Refit(test, [(1.0, fresh.fit(subject.framed(Z), y, weights))], subject)
    Y = label_targets(np.searchsorted(model.classes_, y), len(model.classes_)) if subject.classifier else y
    members = [
        (member.weight, KernelRidge(member.alpha, kernel=member.kernel, fit_intercept=True).fit(Z, Y))
        for member in model.members_
    ]
    return Refit(test, members, subject)


# -- columns --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Influence:
    """What a column is worth.

    Attributes
    ----------
    name : str
        The column.
    rise, standard_error : float
        By how much the error on unseen rows rises when the column is shuffled among them.
    alone : float
        The share of the baseline's loss that the column takes away on its own, by its nearest neighbours.
    relevance : float or None
        The inverse of its width in the kernels, largest 1; None where kernels have one width.
    """

    name: str
    rise: float
    standard_error: float
    alone: float
    relevance: float | None = None


def influences(subject: Subject, refits: list[Refit], relevance: dict[str, float]) -> list[Influence]:
    """Every column shuffled in turn, the largest rise first; the columns of many that say most on their own."""
    alone = {place: said_alone(subject, place) for place in subject.used}
    chosen = sorted(alone, key=lambda place: -alone[place])[:COLUMNS]
    rng = np.random.default_rng(0)
    before = [_losses(subject, each, subject.Z[each.test]) for each in refits]
    found = []
    for place in sorted(chosen):
        mine = np.flatnonzero(subject.place == place)
        lender = _lenders(refits, rng)
        after = []
        for each in refits:
            shuffled = subject.Z[each.test].copy()
            shuffled[:, mine] = subject.Z[np.ix_(lender[each.test], mine)]
            after.append(_losses(subject, each, shuffled))
        name = subject.columns[place].name
        rise, spread = _rise(np.concatenate(before), np.concatenate(after), squares=not subject.classifier)
        found.append(Influence(name, rise, spread, alone[place], relevance.get(name)))
    return sorted(found, key=lambda each: -each.rise)


def _lenders(refits: list[Refit], rng: np.random.Generator) -> Array:
    """For every row that is held out, another one to take a cell from.

    Never itself, and from all that are held out at some time: folds of few rows hold too few to shuffle.
    """
    rows = np.concatenate([each.test for each in refits])
    ring = rng.permutation(rows)
    lender = np.zeros(int(rows.max()) + 1, dtype=np.intp)
    lender[ring] = np.roll(ring, 1)
    return lender


def _losses(subject: Subject, refit: Refit, Z: Array) -> Array:
    said, y = refit.predict(Z), subject.y[refit.test]
    return (said != y).astype(float) if subject.classifier else np.asarray((said - y) ** 2)


def _rise(before: Array, after: Array, *, squares: bool) -> tuple[float, float]:
    """The rise of the mean loss, or of its root, and its standard error from the paired rows."""
    spread = float(np.std(after - before, ddof=1) / np.sqrt(len(before)))
    if not squares:
        return float(after.mean() - before.mean()), spread
    root = float(np.sqrt(after.mean()))
    return root - float(np.sqrt(before.mean())), spread / (2 * root) if root else 0.0


def said_alone(subject: Subject, place: int) -> float:
    """What one column says about the target by itself."""
    rows = sampled(subject)
    z = subject.Z[np.ix_(rows, np.flatnonzero(subject.place == place))]
    return share_alone(z, subject.y[rows], classifier=subject.classifier)


# -- intervals ------------------------------------------------------------------------------------


def coverages(subject: Subject, refits: list[Refit], judged: Judgement) -> tuple[list[Coverage], str]:
    """The coverage of intervals of each confidence, and how it was measured."""
    if subject.classifier or not refits:
        return [], ""
    part = share_of(len(refits))
    if not subject.auto:
        found = [_covered(subject, refits, confidence) for confidence in CONFIDENCES]
        return found, f"jackknife+ intervals of the best candidate, refitted without {part} of the rows at a time"
    if judged.outer:
        residual = np.abs(np.asarray(judged.predicted, dtype=np.float64) - subject.y)
        residual = residual[np.isfinite(residual)]
        how = "the model's intervals around the predictions of the outer cross-validation"
    else:
        parts = [np.abs(each.predict(subject.Z[each.test]) - subject.y[each.test]) for each in refits]
        residual = np.concatenate(parts)
        how = (
            f"the model's intervals around predictions of its kernels refitted without {part} of the rows at a time; "
            "the interval widths were computed from all rows, so the coverage of new rows may be slightly lower"
        )
    one = part_of(subject.X, np.arange(1))
    found = []
    for confidence in CONFIDENCES:
        lower, upper = subject.model.predict_interval(one, confidence)
        width = float(upper[0] - lower[0])
        share = float(np.mean(residual <= 0.5 * width))
        found.append(Coverage(share, width, confidence, "coverage", len(residual)))
    return found, how


def _covered(subject: Subject, refits: list[Refit], confidence: float) -> Coverage:
    parts = [
        each.models[0][1].coverage(subject.framed(subject.Z[each.test]), subject.y[each.test], confidence)
        for each in refits
    ]
    rows = np.array([part.rows for part in parts])
    share = float(np.average([part.share for part in parts], weights=rows))
    width = float(np.average([part.width for part in parts], weights=rows))
    return Coverage(share, width, confidence, "coverage", int(rows.sum()))
