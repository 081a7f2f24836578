"""Every fold, every pair of folds and every alpha of a kernel, scored from the sums of one pass.

Losses are kept as ``losses[f, g, a, t]``: summed over the rows of fold f, by the model that saw neither f nor g. On the
diagonal, f = g, that is plain cross-validation; the rest is what nested cross-validation chooses by. Losses that sums
cannot give take a second pass, which predicts every row with the models that have not seen its fold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.data.checks import sizes
from mercer.data.folds import Folds, Split
from mercer.data.rows import Array
from mercer.kernels.base import Kernel
from mercer.runtime import promise, run
from mercer.selection.outcome import Measure, Outcome
from mercer.selection.removals import Removals
from mercer.selection.scoring import Classes, Scoring, Truth
from mercer.selection.table import SearchTable, standard_error
from mercer.streaming.blocks import Block, Source
from mercer.streaming.models import SUMMED, Models, Moments
from mercer.streaming.sums import FoldSums, LabelLosses, State

FROM_SUMS = ("neg_mean_squared_error", "neg_root_mean_squared_error", "r2")
BY_ROWS = ("neg_mean_absolute_error", "max_error", "neg_max_error", "accuracy")


@dataclass(frozen=True, eq=False)
class Swept:
    """What was found of one kernel.

    Attributes
    ----------
    losses : ndarray of shape (folds, folds or 1, alphas, targets)
        Sums of squared errors; NaN where nothing was asked for.
    half : ndarray of shape (folds, alphas, targets)
        The same of models on the first half of the landmarks.
    final : Models
        The models of all rows.
    condition : ndarray of shape (alphas,)
        The worst condition number of the systems without one fold and of that of all rows.
    terms : ndarray of shape (folds, alphas, targets)
        Sizes of the terms that the losses without one fold are sums of.
    weights, intercepts : ndarray
        Models of every fold (and pair), (folds, folds or 1, alphas, r, t), for a second pass; empty without one.
    """

    losses: Array
    half: Array
    final: Models
    condition: Array
    terms: Array
    weights: Array
    intercepts: Array


def sweep(moments: Moments, alphas: Array, *, nested: bool = False, keep: bool = False) -> Swept:
    """Leave every fold out, and with `nested` every pair of folds; `keep` the models for a second pass."""
    folds, t = len(moments.train), len(moments.offset)
    r, others = moments.side.features.count, folds if nested else 1
    losses = np.full((folds, others, len(alphas), t), np.nan)
    half = np.empty((folds, len(alphas), t))
    weights = np.empty((folds, others, len(alphas), r, t) if keep else 0)
    intercepts = np.empty((folds, others, len(alphas), t) if keep else 0)
    size, conditions = max(1, r // 2), np.ones((folds + 1, len(alphas)))
    terms = np.empty((folds, len(alphas), t))

    def leave(pair: tuple[int, int]) -> None:
        f, g = pair
        system = moments.without(*{f, g})
        models = system.solve(alphas)
        for tested, other in {(f, g), (g, f)}:
            place = other if nested else 0
            losses[tested, place] = moments.squared_errors(tested, models)
            if keep:
                weights[tested, place], intercepts[tested, place] = models.weights, models.intercept
        if f == g:
            conditions[f], terms[f] = system.condition(alphas), moments.squared_terms(f, models)
            half[f] = moments.squared_errors(f, moments.without(f, size=size).solve(alphas))

    moments.total  # noqa: B018 - summed once, before threads ask for it
    pairs = [(f, f) for f in range(folds)]
    run(leave, pairs + [(f, g) for f in range(folds) for g in range(f) if nested])
    system = moments.without()
    final = system.solve(alphas)
    conditions[folds] = np.maximum(system.condition(alphas), moments.loss_of_digits(system, alphas, final))
    return Swept(losses, half, final, conditions.max(axis=0), terms, weights, intercepts)


@dataclass(frozen=True, eq=False)
class Totals:
    """What scores need of every fold besides losses.

    Attributes
    ----------
    rows : ndarray of shape (folds,)
        How many rows.
    sums, squares : ndarray of shape (folds, targets)
        Of the targets less their offset, unweighted.
    """

    rows: Array
    sums: Array
    squares: Array

    @property
    def spread(self) -> Array:
        """Squared deviations from the mean of each fold, (folds, targets)."""
        return np.asarray(np.maximum(self.squares - self.sums**2 / self.rows[:, None], 0.0))

    def baseline(self, scoring: str) -> float:
        """The mean score of predicting the mean of the other folds."""
        rows = self.rows[:, None]
        means = (self.sums.sum(axis=0) - self.sums) / (rows.sum() - rows)
        return float(scores_of(scoring, self.squares - 2.0 * means * self.sums + rows * means**2, self).mean())

    def pool(self) -> Totals:
        """All folds as one."""
        return Totals(*(each.sum(axis=0, keepdims=True) for each in (self.rows, self.sums, self.squares)))


def scores_of(name: str, losses: Array, totals: Totals) -> Array:
    """Scores, larger is better, of losses (folds, ..., targets): the mean over targets, (folds, ...)."""
    shape = (len(losses), *[1] * (losses.ndim - 2), -1)
    rows, squares = totals.rows.reshape(shape), totals.squares.reshape(shape)
    table = np.sqrt(losses / rows) if name == "neg_root_mean_squared_error" else losses / rows
    if "max_error" in name:
        table = losses
    elif name == "r2":
        spread = totals.spread.reshape(shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            # what is left of a constant after its mean is taken off is rounding
            varies = spread > 1e-14 * np.maximum(squares, 1e-300)
            table = np.where(varies, 1.0 - losses / spread, np.where(losses > 0, 0.0, 1.0))
        table = np.where(rows > 1, table, np.nan)  # one row has no variance
    mean = table.mean(axis=-1)
    return np.asarray(mean if name in ("accuracy", "r2") else -mean)


def _without_own_fold(losses: Array) -> Array:
    """Losses of plain cross-validation (folds, alphas, targets): each fold by the models without it alone."""
    folds = np.arange(len(losses))
    return np.asarray(losses[folds, folds if losses.shape[1] > 1 else 0])


def table_of(
    name: str, kernels: Sequence[Kernel], alphas: Array, found: Sequence[Swept], losses: Sequence[Array], totals: Totals
) -> SearchTable:
    """The scores of plain cross-validation as any search has them."""
    own = [_without_own_fold(each) for each in losses]
    scores = np.stack([scores_of(name, each, totals) for each in own])
    whole = [(each.max if "max_error" in name else each.sum)(axis=0, keepdims=True) for each in own]
    pooled = np.stack([scores_of(name, each, totals.pool())[0] for each in whole])
    condition = np.stack([each.condition for each in found])
    if name in FROM_SUMS:
        with np.errstate(divide="ignore", invalid="ignore"):
            pairs = zip(found, own, strict=True)
            lost = np.stack([(each.terms.sum(axis=0) / loss.sum(axis=0)).max(axis=-1) for each, loss in pairs])
        condition = np.maximum(condition, np.nan_to_num(lost, nan=1.0) / SUMMED)
    scores, refits = scores.transpose(0, 2, 1)[..., None], np.zeros(condition.shape, dtype=np.intp)
    return SearchTable(kernels, alphas, scores, pooled[..., None], condition, refits, name)


def hashed_folds(count: int, label: str) -> Folds:
    """Folds of rows that nobody lists: disjoint, which is all that standard errors ask of them."""
    splits = tuple(Split(np.empty(0, dtype=np.intp), np.array([f])) for f in range(count))
    return Folds(count, (splits,), label)


@dataclass(frozen=True)
class LandmarkCheck:
    """Whether more landmarks would help: squared errors of the best candidate with all and with the first half of them.

    Attributes
    ----------
    landmarks, half : int
        How many there are, and half of them.
    error, half_error : float
        Held-out mean squared error with each, every one at its best alpha.
    standard_error : float
        Of the difference, over folds.
    """

    landmarks: int
    half: int
    error: float
    half_error: float
    standard_error: float

    @property
    def helps(self) -> bool:
        """Whether doubling the landmarks has just paid: by more than one per cent and two standard errors."""
        gain = self.half_error - self.error
        return bool(gain > max(0.01 * self.half_error, 2.0 * self.standard_error))

    def __str__(self) -> str:
        both = f"with {self.half} landmarks {self.half_error:.4g}, with {self.landmarks} {self.error:.4g}"
        return f"Held-out mean squared error {both}. More landmarks would {'still' if self.helps else 'hardly'} help."


def landmark_check(swept: Swept, totals: Totals, landmarks: int) -> LandmarkCheck:
    """The first half of the landmarks against all of them, from the same sums."""
    whole, half = (-scores_of("", each, totals) for each in (_without_own_fold(swept.losses), swept.half))
    best, best_half = whole[:, whole.mean(axis=0).argmin()], half[:, half.mean(axis=0).argmin()]
    gap = best_half - best
    unit = float(sizes(gap))  # so that squares exist
    error = unit * float((gap / unit).std(ddof=1) / np.sqrt(len(gap)))
    return LandmarkCheck(landmarks, max(1, landmarks // 2), float(best.mean()), float(best_half.mean()), error)


def nested_outcome(
    table: SearchTable, losses: Sequence[Array], totals: Totals, rule: str, *, base: float = math.nan
) -> Outcome:
    """Choose for each outer fold by the others, and score the choice on it; no fit is made for this."""
    folds = len(totals.rows)
    scores = np.stack([scores_of(table.scoring, each, totals) for each in losses])  # kernels, tested, other, alphas
    chosen, inner, outer = [], np.empty(folds), np.empty(folds)
    for o in range(folds):
        others = np.delete(np.arange(folds), o)
        mine = scores[:, others, o].transpose(0, 2, 1)[..., None]
        part = replace(table, scores=mine, pooled=mine.mean(axis=2))
        choice = part.choose(rule, hashed_folds(folds - 1, "inner"))
        inner[o] = float(part.mean[choice.kernel, choice.alphas[0], 0])
        outer[o] = scores[choice.kernel, o, o, choice.alphas[0]]
        chosen.append({"kernel": table.kernels[choice.kernel], "alpha": float(table.alphas[choice.alphas[0]])})
    return Outcome(
        Measure.of(table.scoring), table.scoring, outer[None], float(outer.mean()),
        float(standard_error(outer, 1.0 / (folds - 1))), "nested cross-validation", f"{folds} folds by hash",
        base=base, chosen=chosen, inner_scores=inner[None], candidates=len(table.kernels) * len(table.alphas),
    )  # fmt: skip


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
    first : FoldSums
        The first pass: its kernels, targets and folds.
    coefficients : tuple of ndarray of shape (folds, r, others * alphas * targets)
        For each kernel and rows of fold f, what k(x, Z) is multiplied by.
    constants : tuple of ndarray of shape (folds, others * alphas * targets)
        What is added.
    others, alphas : int
        How many models of each alpha predict a row, and how many alphas there are.
    scoring : str
        Name of the score.
    present : ndarray of shape (folds, others, classes) or None
        Classes that each model was trained on; None for numbers.
    """

    first: FoldSums
    coefficients: tuple[Array, ...]
    constants: tuple[Array, ...]
    others: int
    alphas: int
    scoring: str
    present: Array | None = None

    @property
    def targets(self) -> int:
        """Columns of what is predicted for a row by one model."""
        return len(self.first.targets.offset)

    @property
    def _join(self) -> np.ufunc:
        """What makes one loss of those of several rows: their sum, or the largest."""
        return np.maximum if "max_error" in self.scoring else np.add

    def begin(self) -> State:
        """Nothing lost yet."""
        shape = (self.first.folds, self.others, self.alphas, 1 if self.present is not None else self.targets)
        return {f"loss{k}": np.zeros(shape) for k in range(len(self.first.sides))}

    def add(self, state: State, block: Block) -> None:
        """The rows of a block."""
        for f, rows, predicted in held_out(self, block):
            truth = block.Y[rows]  # type: ignore[index]
            for k, values in enumerate(predicted):
                into = state[f"loss{k}"][f]
                self._join(into, self._join.reduce(self._losses(f, truth, values), axis=0), out=into)

    def _losses(self, f: int, truth: Array, values: Array) -> Array:
        """Losses of every row: (rows, others, alphas, targets)."""
        labels = self.first.targets
        if self.present is None or not isinstance(labels, LabelLosses):
            return np.asarray(np.abs(truth[:, None, None, :] - values))
        numbers = labels.numbers(truth)
        classes = Classes(labels.classes, numbers)
        right = np.empty((*values.shape[:3], 1))
        for g, a in np.ndindex(self.others, self.alphas):
            present = np.broadcast_to(self.present[f, g], (len(numbers), len(labels.classes)))
            right[:, g, a, 0] = classes.decide(values[:, g, a], present) == numbers
        return right

    def merge(self, a: State, b: State) -> State:
        """The losses of two states as one, in a."""
        for name, values in b.items():
            self._join(a[name], values, out=a[name])
        return a


def held_out(work: HeldOutLosses, block: Block) -> Iterator[tuple[int, Array, list[Array]]]:
    """For each fold in a block: its number, its rows, and for each kernel (rows, others, alphas, targets)."""
    folds = work.first.assign(block)
    for f in np.unique(folds):
        rows = np.flatnonzero(folds == f)
        X, shape = np.ascontiguousarray(block.X[rows]), (len(rows), work.others, work.alphas, work.targets)
        kernels = zip(work.first.sides, work.coefficients, work.constants, strict=True)
        yield int(f), rows, [(side.features.times(X, C[f]) + c[f]).reshape(shape) for side, C, c in kernels]


def collect_scores(
    source: Source, work: HeldOutLosses, scoring: Scoring, at_once: int, failures: list[str]
) -> tuple[Array, Array]:
    """Scores (kernels, alphas, folds, 1) and pooled ones (kernels, alphas, 1) by any metric: predictions are held."""
    n, labels = int(source.rows or 0), work.first.targets
    what = f"Storing held-out predictions of {n} rows for scoring by {scoring.name}"
    way_out = f"Use a scoring that does not store predictions: {', '.join(('neg_mean_squared_error', 'r2', *BY_ROWS))}."
    promise(8 * n * work.alphas * work.targets * (len(work.coefficients) + 1), what, way_out)
    # the targets, and what each kernel predicts, by fold
    parts: list[list[list[Array]]] = [[[] for _ in range(work.first.folds)] for _ in range(1 + len(work.coefficients))]
    for block in source.blocks(at_once):
        for f, rows, predicted in held_out(work, block):
            for part, values in zip(parts, [block.Y[rows], *predicted], strict=True):  # type: ignore[index]
                part[f].append(values)
    tests = np.split(np.arange(n), np.cumsum([sum(map(len, each)) for each in parts[0]])[:-1])
    tables = (np.concatenate([np.concatenate(each) for each in part]) for part in parts)
    y = next(tables)
    y = y[:, 0] if y.ndim == 2 and source.targets_1d else y
    folds, everything = Removals(tests, tests), Removals([np.arange(n)], [np.arange(n)])
    classes = Classes(labels.classes, labels.numbers(y)) if isinstance(labels, LabelLosses) else None
    truths = Truth(y, folds, classes), Truth(y, everything, classes, folds)
    scores, pooled = [], []
    for values in tables:
        own, together = (
            np.stack([scoring.by_split(truth, values[:, 0, a], failures=failures) for a in range(work.alphas)])
            for truth in truths
        )
        scores.append(own)
        pooled.append(together[:, 0])
    return np.stack(scores)[..., None], np.stack(pooled)[..., None]
