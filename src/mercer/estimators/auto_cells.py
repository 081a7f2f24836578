"""Automatic models of many rows: members in cells and one on landmarks, weighted by what they predict about folds."""

from __future__ import annotations

import json
import math
import warnings
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.folds import Split
from mercer.data.rows import Array
from mercer.errors import InputError, MercerWarning
from mercer.estimators.local import CellSizes, LocalRidge
from mercer.estimators.nystroem_search import NystroemRidgeCV
from mercer.kernels import Kernel, parse
from mercer.kernels.tiles import blocks
from mercer.local.cells import LocalFit
from mercer.local.search import LocalCandidates
from mercer.local.storage import solve_in_folder
from mercer.runtime.disk import write_whole
from mercer.runtime.progress import Progress
from mercer.selection.scoring import resolve_scoring
from mercer.solvers.landmarks import Features
from mercer.tuning.committee import (
    LOCAL,
    Committee,
    Member,
    TrainingTable,
    past_residuals,
    trained_on,
    tune_metrics,
)
from mercer.tuning.weights import weigh_members

_SYSTEMS = 1024, 2560  # rows of a system, at least and at most; candidates are compared on the smallest
_SQUARES = 3e10  # n times the square of the rows of a system
_WORSE = 1.15  # times the least squared error: kernels beyond it are not solved in folds
_ROUGH = 1.0  # smoothness nu of Matern kernels above which they are smooth; one of each sort is a member
_LANDMARKS = 500
_BLOCK = 20_000  # rows whose features are held at once


def fit_in_cells(
    table: TrainingTable,
    folds: Array,
    weigh: Callable[[Array, Array, Array | None], Array],
    rng: np.random.Generator,
    *,
    single: bool,
    folder: Path | None = None,
    verbose: int = 0,
) -> tuple[Committee, list[Any]]:
    """A committee of models in cells and of one on landmarks, and the models themselves.

    Kernels with a width per column are tuned on at most 1200 rows. Widths and alpha in cells are chosen by the
    leave-one-out error of some cells. The best kernels of each sort are solved in all cells, with every fold left out
    in closed form; the model on landmarks is solved without each fold from its sums. Weights come from these
    predictions.

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
    folder : Path, default=None
        Directory of this fit, in which finished work is kept: the kernels, and every cell once it is solved. What is
        there already is not computed again.
    verbose : int, default=0
        1: progress.
    """
    held, Y, count = np.flatnonzero(folds >= 0), table.problem.Y, int(folds.max()) + 1
    sizes, problem = cell_sizes(len(Y)), table.problem.subtract_mean()
    splits = [Split(np.flatnonzero(trained_on(folds, fold)), np.flatnonzero(folds == fold)) for fold in range(count)]
    chosen = _load_or_choose_kernels(folder, lambda: _choose_kernels(table, rng, verbose))[: 1 if single else None]
    names, models, held_out, left_out = [], [], [], []
    for place, (name, kernel, alpha) in enumerate(chosen):
        cells = sizes.problem(kernel, table.rows, problem, splits)
        progress = Progress(f"solving cells, {name}", cells.partition.cells, verbose)
        model = LocalRidge(alpha, kernel=kernel, core_rows=sizes.core_rows, system_rows=sizes.system_rows)
        if folder is None:
            fitted = LocalFit.of(cells, kernel, alpha, progress.step)
        else:
            fitted = solve_in_folder(cells, kernel, alpha, folder, progress.step, f"member-{place}.bin")
            fitted = replace(fitted, solutions=list(fitted.solutions))
        model.n_features_in_ = table.rows.width
        model.publish(fitted, np.arange(len(Y)))
        names.append(f"{name}, in cells")
        models.append(model)
        held_out.append(fitted.residuals[held] + Y[held])
        left_out.append(fitted.left_out()[held])
    if not single:
        landmarks, values = _on_landmarks(table, chosen[0][1], folds)
        names.append(f"{chosen[0][0]}, on landmarks")
        models.append(landmarks)
        held_out.append(values[held])
        left_out.append(values[held])  # as if the number of rows did not matter
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
    both: list[Array | None] = [None, None]
    if table.groups is None and table.times is None:
        alone = np.where(np.isnan(left_out), held_out, left_out)
        both = [np.tensordot(weights, each, axes=1) - Y[held] for each in (alone, np.array(held_out))]
    committee = Committee(members, tried, voted, folds[held], tuned_on, [], clusters, base, by_fold[:, keep], *both)
    return committee, [models[i] for i in keep]


def cell_sizes(n: int) -> CellSizes:
    """Sizes of the cells of a member with n rows, a quarter of each system its core.

    Larger systems predict better. They have as many rows as keep the time of a member, n s^3 / c, about the same up to
    29 000 rows; beyond, 1024 rows, and the time grows with n.

    Examples
    --------
    >>> from mercer.estimators.auto_cells import cell_sizes
    >>> [cell_sizes(n).system_rows for n in (5000, 10_000, 20_000, 40_000)]
    [2432, 1728, 1216, 1024]
    """
    rows = int(np.clip(math.sqrt(_SQUARES / n), *_SYSTEMS)) // 64 * 64
    return CellSizes(core_rows=rows // 4, system_rows=rows, mix=1)


def _choose_kernels(table: TrainingTable, rng: np.random.Generator, verbose: int) -> list[tuple[str, Kernel, float]]:
    """Name, kernel and alpha of the tuned kernels that are nearly as good in cells as the best one, best first.

    At most one of each sort: of absolute differences, rough, smooth. Kernels of one sort make the same errors.
    """
    ends = tune_metrics(table, LOCAL, rng)
    cells_of = CellSizes(_SYSTEMS[0] // 4, _SYSTEMS[0], mix=1).by_metric(table.rows, table.problem.subtract_mean())
    scoring = resolve_scoring(None, classifier=False)
    candidates = LocalCandidates(cells_of, table.problem.Y, scoring, None, int(rng.integers(2**31)), verbose)
    found = candidates.compare_tuned([(end.kernel, end.alpha) for _, end in ends])
    best = [
        (-score, recipe.name, kernel, alpha) for (recipe, _), (kernel, alpha, score) in zip(ends, found, strict=True)
    ]
    chosen: dict[tuple[type, bool], tuple[str, Kernel, float]] = {}
    for error, name, kernel, alpha in sorted(best, key=lambda each: each[0]):
        kind = type(kernel), getattr(kernel, "nu", 0.0) > _ROUGH
        if not chosen or (error <= _WORSE * max(min(best)[0], 0.0) and kind not in chosen):
            chosen[kind] = name, kernel, alpha
    return list(chosen.values())


def _load_or_choose_kernels(
    folder: Path | None, choose: Callable[[], list[tuple[str, Kernel, float]]]
) -> list[tuple[str, Kernel, float]]:
    """Names, kernels and alphas as an earlier run has written them to the folder, or as they are chosen now."""
    if folder is None:
        return choose()
    path = folder / "kernels.json"
    if not path.exists():
        text = json.dumps([[name, repr(kernel), alpha] for name, kernel, alpha in choose()])
        write_whole(path, [f"{zlib.crc32(text.encode('ascii'))} {text}".encode("ascii")], "checkpoint")
    try:
        checksum, _, text = path.read_text(encoding="ascii").partition(" ")
    except (OSError, ValueError) as problem:
        raise InputError(f"The checkpoint {str(folder)!r} cannot be read: {problem}.") from None
    if checksum != str(zlib.crc32(text.encode("ascii"))):
        raise InputError(f"The checkpoint {str(folder)!r} was changed. Use another checkpoint.")
    return [(name, parse(kernel), float(alpha)) for name, kernel, alpha in json.loads(text)]


def _on_landmarks(table: TrainingTable, kernel: Kernel, folds: Array) -> tuple[Any, Array]:
    """A model of all rows on the features of landmarks, and its predictions of each fold by the other rows."""
    X, Y, weights = table.rows.values, table.problem.Y, table.problem.weights
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        search = NystroemRidgeCV([kernel], cv=5, landmarks=_LANDMARKS, fit_intercept=True)
        model = search.fit(X, Y, sample_weight=weights).best_estimator_
    features, numbers = Features.of(kernel, model.landmarks_), np.unique(folds)
    w = np.ones(len(Y)) if weights is None else weights

    def rows_of(part: slice) -> Array:
        return np.hstack([features.phi(X[part]), np.ones((part.stop - part.start, 1))])

    size = features.count + 1
    sums = {fold: np.zeros((size, size + Y.shape[1])) for fold in numbers.tolist()}
    for part in blocks(len(Y), _BLOCK):
        A = rows_of(part)
        for fold in numbers.tolist():
            own = np.flatnonzero(folds[part] == fold)
            sums[fold] += (A[own] * w[part][own, None]).T @ np.hstack([A[own], Y[part][own]])
    penalty = np.append(np.full(features.count, float(search.alpha_)), 0.0)
    models = {}
    for fold in range(int(folds.max()) + 1):
        others = np.unique(folds[trained_on(folds, fold)]).tolist()
        total = np.sum([sums[other] for other in others], axis=0)
        models[fold] = np.linalg.lstsq(total[:, :size] + np.diag(penalty), total[:, size:], rcond=None)[0]
    values = np.full(Y.shape, np.nan)
    for part in blocks(len(Y), _BLOCK):
        A = rows_of(part)
        for fold, coefficients in models.items():
            own = np.flatnonzero(folds[part] == fold)
            values[part.start + own] = A[own] @ coefficients
    return model, values
