"""Automatic models of many rows: members in cells and one on landmarks, weighted by what they predict about folds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.data.folds import Split
from mercer.data.rows import Array
from mercer.errors import MercerWarning
from mercer.estimators.local import CellSizes, LocalRidge
from mercer.estimators.nystroem import NystroemRidge
from mercer.estimators.nystroem_search import NystroemRidgeCV
from mercer.kernels import Kernel
from mercer.local.cells import LocalFit
from mercer.local.search import LocalCandidates, wider_starts
from mercer.runtime.progress import Progress
from mercer.selection.scoring import resolve_scoring
from mercer.tuning.committee import (
    LOCAL,
    Committee,
    Member,
    TrainingTable,
    past_residuals,
    trained_on,
    tune_metrics,
    weigh_members,
)

_SMALL_CORES = 20_000  # rows up to which cores have 128 rows; beyond, 256, which takes half the time for each row
_WORSE = 1.2  # times the least squared error: kernels beyond it are not solved in folds
_MOST_MEMBERS = 3  # in cells
_LANDMARKS = 500


def fit_in_cells(
    table: TrainingTable,
    folds: Array,
    weigh: Callable[[Array, Array, Array | None], Array],
    rng: np.random.Generator,
    *,
    single: bool,
    verbose: int = 0,
) -> tuple[Committee, list[Any]]:
    """A committee of models in cells and of one on landmarks, and the models themselves.

    Kernels with a width per column are tuned on at most 1200 rows. Widths and alpha in cells are chosen by the
    leave-one-out error of some cells. The best three kernels are solved in all cells, with every fold left out in
    closed form; the model on landmarks is refitted without each fold. Weights come from these predictions.

    Parameters
    ----------
    table : TrainingTable
        Encoded rows and targets.
    folds : ndarray of int, shape (n,)
        The fold that holds out each row; with folds in the order of time, -1 for the first rows.
    weigh : callable
        Weights of members from their held-out predictions, the targets and the sample weights.
    rng : numpy.random.Generator
        Draws rows and cells.
    single : bool
        Whether the best kernel in cells is the only member.
    verbose : int, default=0
        1: progress.
    """
    held, Y, count = np.flatnonzero(folds >= 0), table.problem.Y, int(folds.max()) + 1
    sizes = CellSizes(core_rows=128 if len(Y) <= _SMALL_CORES else 256, system_rows=1024, mix=1)
    splits = [Split(np.flatnonzero(trained_on(folds, fold)), np.flatnonzero(folds == fold)) for fold in range(count)]
    chosen = _choose_kernels(table, sizes, rng, verbose)[: 1 if single else _MOST_MEMBERS]
    progress = Progress("fitting members in cells", len(chosen) + (not single), verbose)
    names, models, held_out = [], [], []
    for name, kernel, alpha in chosen:
        cells = sizes.problem(kernel, table.rows, table.problem.centred(), splits)
        model = LocalRidge(alpha, kernel=kernel, core_rows=sizes.core_rows, system_rows=sizes.system_rows)
        fitted = LocalFit.of(cells, kernel, alpha)
        model.n_features_in_ = table.rows.width
        model.publish(fitted, np.arange(len(Y)))
        names.append(f"{name}, in cells")
        models.append(model)
        held_out.append(fitted.residuals[held] + Y[held])
        progress.step()
    if not single:
        landmarks, values = _on_landmarks(table, chosen[0][1], splits)
        names.append(f"{chosen[0][0]}, on landmarks")
        models.append(landmarks)
        held_out.append(values[held])
        progress.step()
    of_rows = None if table.problem.weights is None else table.problem.weights[held]
    weights, voted, by_fold = weigh_members(weigh, np.array(held_out), Y[held], of_rows, folds[held])
    if not weights[: len(chosen)].any():  # something is learned about training rows from a model that has them
        weights = np.where(np.arange(len(weights)) == 0, 0.02, 0.98 * weights)
    errors = np.sqrt(np.mean((np.array(held_out) - Y[held]) ** 2, axis=(1, 2)))
    kernels = [(model.kernel_, float(np.ravel(model.alpha)[0])) for model in models]
    tried = [
        Member(name, *kernel, float(weight), float(error), "converged", [])
        for name, kernel, weight, error in zip(names, kernels, weights, errors, strict=True)
    ]
    keep = np.flatnonzero(weights > 0)
    base = past_residuals(Y, folds, table.times)[held] if folds.min() < 0 else None
    clusters = None if table.clusters is None else table.clusters[held]
    members, tuned_on = [tried[i] for i in keep], min(1200, len(Y))
    committee = Committee(members, tried, voted, folds[held], tuned_on, [], clusters, base, by_fold[:, keep])
    return committee, [models[i] for i in keep]


def _choose_kernels(
    table: TrainingTable, sizes: CellSizes, rng: np.random.Generator, verbose: int
) -> list[tuple[str, Kernel, float]]:
    """Name, kernel and alpha of the tuned kernels that are nearly as good in cells as the best one, best first."""
    ends = tune_metrics(table, LOCAL, rng)
    order = sorted(range(len(ends)), key=lambda i: ends[i].value)
    cells_of = sizes.by_metric(table.rows, table.problem.centred())
    scoring = resolve_scoring(None, classifier=False)
    candidates = LocalCandidates(cells_of, table.problem.Y, scoring, None, int(rng.integers(2**31)), verbose)
    candidates.compare([start for i in order for start in wider_starts(ends[i])], None)
    best = []
    for i in order:
        alike = [each for each in candidates.tried if _family(each[0]) == _family(ends[i].kernel)]
        kernel, alpha, score = max(alike, key=lambda each: -math.inf if math.isnan(each[2]) else each[2])
        best.append((-score, LOCAL[i].name, kernel, alpha))
    best.sort(key=lambda each: each[0])
    most = _WORSE * max(best[0][0], 0.0)
    return [
        (name, kernel, alpha) for place, (error, name, kernel, alpha) in enumerate(best) if not place or error <= most
    ]


def _family(kernel: Kernel) -> tuple[type, Any]:
    return type(kernel), getattr(kernel, "nu", None)


def _on_landmarks(table: TrainingTable, kernel: Kernel, splits: list[Split]) -> tuple[Any, Array]:
    """A model of all rows on the features of landmarks, and its predictions of rows that splits leave out."""
    X, Y, weights = table.rows.values, table.problem.Y, table.problem.weights
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        search = NystroemRidgeCV([kernel], cv=5, landmarks=_LANDMARKS, fit_intercept=True)
        search.fit(X, Y, sample_weight=weights)
        model, values = search.best_estimator_, np.full(Y.shape, np.nan)
        for split in splits:
            part = None if weights is None else weights[split.train]
            without = NystroemRidge(search.alpha_, kernel=kernel, landmarks=model.landmarks_, fit_intercept=True)
            without.fit(X[split.train], Y[split.train], sample_weight=part)
            values[split.test] = np.reshape(without.predict(X[split.test]), (len(split.test), -1))
    return model, values
