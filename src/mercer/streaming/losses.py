"""Losses that sums cannot give: a second pass predicts every row with the models that have not seen its fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array
from mercer.runtime import promise
from mercer.selection.removals import Removals
from mercer.selection.scoring import Classes, Scoring, Truth
from mercer.solvers.landmarks import Features
from mercer.streaming.blocks import Block, Source
from mercer.streaming.sums import LabelLosses, State, assign_folds

BY_ROWS = ("neg_mean_absolute_error", "max_error", "neg_max_error", "accuracy")


def class_counts(sums: Array, weights: Array, classes: int) -> Array:
    """Weight of every class in every fold, from the sums of label targets and of weights."""
    return np.column_stack([weights - sums[:, 0], weights + sums[:, 0]]) / 2 if classes == 2 else sums


def classes_left(sums: Array, weights: Array, classes: int, *, paired: bool) -> Array:
    """For models without fold f (and g), which classes have weight left to train on: (folds, folds or 1, classes).

    Parameters
    ----------
    sums : ndarray of shape (folds, targets)
        Weighted sums of the label targets.
    weights : ndarray of shape (folds,)
        Weights of rows together.
    classes : int
        How many there are.
    paired : bool
        Whether pairs of folds are left out.
    """
    counts = class_counts(sums, weights, classes)
    total, folds = counts.sum(axis=0), len(weights)
    left = total - counts[:, None] - (counts[None] if paired else 0.0)
    if paired:
        same = np.arange(folds)
        left[same, same] = total - counts
    return np.asarray(left > 1e-9 * max(float(total.max()), 1e-300))


@dataclass(frozen=True, eq=False)
class HeldOutLosses:
    """The work of the second pass: losses of held-out predictions, summed over the rows of each fold.

    Attributes
    ----------
    features : tuple of Features
        The kernels.
    coefficients : tuple of ndarray of shape (folds, r, others * alphas * targets)
        For rows of fold f, what k(x, Z) is multiplied by.
    constants : tuple of ndarray of shape (folds, others * alphas * targets)
        What is added.
    others, alphas, targets : int
        The shape of what is predicted for a row.
    scoring : str
        Name of the score.
    folds, seed, ranked : int, int, ndarray or None
        As in the first pass.
    labels : LabelLosses or None
        Of a classifier.
    present : ndarray of shape (folds, others, classes) or None
        Classes that each model was trained on.
    """

    features: tuple[Features, ...]
    coefficients: tuple[Array, ...]
    constants: tuple[Array, ...]
    others: int
    alphas: int
    targets: int
    scoring: str
    folds: int
    seed: int
    ranked: Array | None = None
    labels: LabelLosses | None = None
    present: Array | None = None

    @property
    def _join(self) -> np.ufunc:
        """What makes one loss of those of several rows: their sum, or the largest."""
        return np.maximum if "max_error" in self.scoring else np.add

    def begin(self) -> State:
        """Nothing lost yet."""
        shape = (self.folds, self.others, self.alphas, 1 if self.labels is not None else self.targets)
        return {f"loss{k}": np.zeros(shape) for k in range(len(self.features))}

    def add(self, state: State, block: Block) -> None:
        """The rows of a block."""
        for f, rows, predicted in held_out(self, block):
            truth = block.Y[rows]  # type: ignore[index]
            for k, values in enumerate(predicted):
                into = state[f"loss{k}"][f]
                self._join(into, self._join.reduce(self._losses(f, truth, values), axis=0), out=into)

    def _losses(self, f: int, truth: Array, values: Array) -> Array:
        """Losses of every row: (rows, others, alphas, targets)."""
        if self.labels is None or self.present is None:
            return np.asarray(np.abs(truth[:, None, None, :] - values))
        numbers = self.labels.numbers(truth)
        classes = Classes(self.labels.classes, numbers)
        right = np.empty((*values.shape[:3], 1))
        for g in range(self.others):
            present = np.broadcast_to(self.present[f, g], (len(numbers), len(self.labels.classes)))
            for a in range(self.alphas):
                right[:, g, a, 0] = classes.decide(values[:, g, a], present) == numbers
        return right

    def merge(self, a: State, b: State) -> State:
        """The losses of two states as one, in a."""
        for name, values in b.items():
            self._join(a[name], values, out=a[name])
        return a


def held_out(work: HeldOutLosses, block: Block) -> Iterator[tuple[int, Array, list[Array]]]:
    """For each fold in a block: its number, its rows, and for each kernel (rows, others, alphas, targets)."""
    folds = assign_folds(block, work.folds, work.seed, work.ranked)
    for f in np.unique(folds):
        rows = np.flatnonzero(folds == f)
        X, shape = np.ascontiguousarray(block.X[rows]), (len(rows), work.others, work.alphas, work.targets)
        kernels = zip(work.features, work.coefficients, work.constants, strict=True)
        predicted = [(each.times(X, dual[f]) + constant[f]).reshape(shape) for each, dual, constant in kernels]
        yield int(f), rows, predicted


def collect_scores(
    source: Source, work: HeldOutLosses, scoring: Scoring, at_once: int, failures: list[str]
) -> tuple[list[Array], list[Array]]:
    """Scores (alphas, folds) and pooled ones (alphas,) of every kernel by any metric: all predictions are held."""
    n = int(source.rows or 0)
    promise(
        8 * n * work.alphas * work.targets * (len(work.features) + 1),
        f"Storing held-out predictions of {n} rows for scoring by {scoring.name}",
        f"Use a scoring that does not store predictions: {', '.join(('neg_mean_squared_error', 'r2', *BY_ROWS))}.",
    )
    parts: list[list[list[Array]]] = [[[] for _ in range(work.folds)] for _ in work.features]
    truths: list[list[Array]] = [[] for _ in range(work.folds)]
    for block in source.blocks(at_once):
        for f, rows, predicted in held_out(work, block):
            truths[f].append(block.Y[rows])  # type: ignore[index]
            for k, values in enumerate(predicted):
                parts[k][f].append(values[:, 0])
    y = np.concatenate([np.concatenate(each) for each in truths])
    y = y[:, 0] if y.ndim == 2 and source.targets_1d else y
    ends = np.cumsum([sum(map(len, each)) for each in truths])
    tests = np.split(np.arange(len(y)), ends[:-1])
    folds = Removals(tests, tests)
    classes = None if work.labels is None else Classes(work.labels.classes, work.labels.numbers(y))
    truth = Truth(y, folds, classes)
    together = Truth(y, Removals([np.arange(len(y))], [np.arange(len(y))]), classes, folds)
    scores, pooled = [], []
    for listed in parts:
        values = np.concatenate([np.concatenate(each) for each in listed])
        scores.append(_each(scoring, truth, values, failures))
        pooled.append(_each(scoring, together, values, failures)[:, 0])
    return scores, pooled


def _each(scoring: Scoring, truth: Truth, values: Array, failures: list[str]) -> Array:
    """Scores of every alpha on every test set."""
    return np.stack([scoring.by_split(truth, values[:, a], failures=failures) for a in range(values.shape[1])])
