"""Members of automatic models besides tuned kernels: in cells and on landmarks, and estimators of the user's own."""

from __future__ import annotations

import json
import math
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from sklearn.base import BaseEstimator, is_classifier

from mercer.data.folds import Split
from mercer.data.rows import Array, Estimator, XLike
from mercer.errors import InputError, MercerWarning, refuse_if
from mercer.estimators.local import CellSizes, LocalRidge
from mercer.estimators.nystroem_search import NystroemRidgeCV
from mercer.estimators.refitting import Refitting, part_of
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
    Committee,
    Member,
    TrainingTable,
    past_residuals,
    trained_on,
    tune_metrics,
)
from mercer.tuning.held_out import weigh_members

_SYSTEMS = 1024, 2560  # rows of a system, at least and at most; candidates are compared on the smallest
_SQUARES = 3e10  # n times the square of the rows of a system
_WORSE = 1.15  # times the least squared error: kernels beyond it are not solved in folds
_ROUGH = 1.0  # smoothness nu of Matern kernels above which they are smooth; one of each sort is a member
_LANDMARKS = 500
_BLOCK = 20_000  # rows whose features are held at once

Weigh: TypeAlias = Callable[[Array, Array, Array | None], Array]  # predictions, targets and weights of rows to weights
Votes: TypeAlias = Callable[[Any, Any], Array]  # predictions of a fitted estimator for some rows
NamedKernels: TypeAlias = list[tuple[str, Kernel, float]]  # names, kernels and alphas


def fit_in_cells(
    table: TrainingTable, folds: Array, weigh: Weigh, rng: Generator, *, single: bool, folder: Path | None, verbose: int
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
    found: list[tuple[str, Any, Array, Array]] = []  # names, models, predictions without each fold, and each row
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
        found.append((f"{name}, in cells", model, fitted.residuals[held] + Y[held], fitted.left_out()[held]))
    if not single:
        landmarks, values = _on_landmarks(table, chosen[0][1], folds)
        # as if the number of rows did not matter
        found.append((f"{chosen[0][0]}, on landmarks", landmarks, values[held], values[held]))
    names, models, *both = zip(*found, strict=True)
    held_out, left_out = map(np.array, both)
    of_rows = part_of(table.problem.weights, held)
    weights, voted, by_fold = weigh_members(weigh, held_out, Y[held], of_rows, folds[held])
    if not weights[: len(chosen)].any():  # something is learned about training rows from a model that has them
        weights = np.where(np.arange(len(weights)) == 0, 0.02, 0.98 * weights)
    errors = np.sqrt(np.mean((held_out - Y[held]) ** 2, axis=(1, 2)))
    given = ((name, model.kernel_, float(np.ravel(model.alpha)[0])) for name, model in zip(names, models, strict=True))
    judged = zip(given, weights.tolist(), errors.tolist(), strict=True)
    tried = [Member(*each, weight, error, "converged", []) for each, weight, error in judged]
    keep = np.flatnonzero(weights > 0)
    base = past_residuals(Y, folds, table.times)[held] if folds.min() < 0 else None
    committee = Committee(
        [tried[i] for i in keep], tried, voted, folds[held], tuned_on=min(1200, len(Y)), fold_weights=by_fold[:, keep],
        clusters=part_of(table.clusters, held), base=base,
    )  # fmt: skip
    if table.groups is None and table.times is None:
        alone = np.where(np.isnan(left_out), held_out, left_out)
        of_rows, of_folds = (np.tensordot(weights, each, axes=1) - Y[held] for each in (alone, held_out))
        committee = replace(committee, left_out=of_rows, in_folds=of_folds)
    return committee, [models[i] for i in keep]


def cell_sizes(n: int) -> CellSizes:
    """Sizes of the cells of a member with n rows, a quarter of each system its core.

    Larger systems predict better. They have as many rows as keep the time of a member, n s^3 / c, about the same up to
    29 000 rows; beyond, 1024 rows, and the time grows with n.

    Examples
    --------
    >>> from mercer.estimators.auto_members import cell_sizes
    >>> [cell_sizes(n).system_rows for n in (5000, 10_000, 20_000, 40_000)]
    [2432, 1728, 1216, 1024]
    """
    rows = int(np.clip(math.sqrt(_SQUARES / n), *_SYSTEMS)) // 64 * 64
    return CellSizes(core_rows=rows // 4, system_rows=rows)


def _choose_kernels(table: TrainingTable, rng: Generator, verbose: int) -> NamedKernels:
    """Name, kernel and alpha of the tuned kernels that are nearly as good in cells as the best one, best first.

    At most one of each sort: of absolute differences, rough, smooth. Kernels of one sort make the same errors.
    """
    ends = tune_metrics(table, rng)
    smallest = CellSizes(core_rows=_SYSTEMS[0] // 4, system_rows=_SYSTEMS[0])
    cells_of = smallest.by_metric(table.rows, table.problem.subtract_mean())
    scoring = resolve_scoring(None, classifier=False)
    candidates = LocalCandidates(cells_of, table.problem.Y, scoring, None, int(rng.integers(2**31)), verbose)
    found = candidates.compare([(end.kernel, end.alpha) for _, end in ends], tuned=True)
    least, chosen = max(min(-score for *_, score in found), 0.0), dict[tuple[type, bool], tuple[str, Kernel, float]]()
    for (recipe, _), (kernel, alpha, score) in sorted(zip(ends, found, strict=True), key=lambda each: -each[1][2]):
        kind = type(kernel), getattr(kernel, "nu", 0.0) > _ROUGH
        if not chosen or (-score <= _WORSE * least and kind not in chosen):
            chosen[kind] = recipe.name, kernel, alpha
    return list(chosen.values())


def _load_or_choose_kernels(folder: Path | None, choose: Callable[[], NamedKernels]) -> NamedKernels:
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
    with warnings.catch_warnings(action="ignore", category=MercerWarning):
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
        for fold in sums:
            own = np.flatnonzero(folds[part] == fold)
            sums[fold] += (A[own] * w[part][own, None]).T @ np.hstack([A[own], Y[part][own]])
    penalty = np.append(np.full(features.count, float(search.alpha_)), 0.0)
    models = {}
    for fold in range(int(folds.max()) + 1):
        total = np.sum([sums[other] for other in np.unique(folds[trained_on(folds, fold)]).tolist()], axis=0)
        models[fold] = np.linalg.lstsq(total[:, :size] + np.diag(penalty), total[:, size:], rcond=None)[0]
    values = np.full(Y.shape, np.nan)
    for part in blocks(len(Y), _BLOCK):
        A = rows_of(part)
        for fold, coefficients in models.items():
            own = np.flatnonzero(folds[part] == fold)
            values[part.start + own] = A[own] @ coefficients
    return model, values


@dataclass(frozen=True, eq=False)
class ExtraMember:
    """An estimator of the user's own as a member of a committee.

    Attributes
    ----------
    name : str
        Its class.
    model : estimator
        Fitted to all rows.
    weight : float
        Weight of its predictions.
    error : float
        Its root mean squared out-of-fold error, on the scale of the committee's targets.
    """

    name: str
    model: Estimator
    weight: float
    error: float


def check_extra(owner: Any) -> None:
    """Raise an error unless `extra` of an automatic model is a list of estimators of its own kind."""
    wanted, method = ("classifier", "predict_proba") if is_classifier(owner) else ("regressor", "predict")
    what, must_be = f"extra of {type(owner).__name__}", f"a list of {wanted}s with fit and {method}"
    given = owner.extra
    listed = given is None or isinstance(given, list | tuple)
    refuse_if(not listed, what, must_be, type(given).__name__, "Put the estimator in a list: extra=[...].")
    for each in given or ():
        name = getattr(each, "__name__", type(each).__name__)
        of_class, able = isinstance(each, type), hasattr(each, "fit") and hasattr(each, method)
        refuse_if(of_class or not able, what, must_be, name, f"Write {name}()." if of_class else "")
        refuse_if(isinstance(each, BaseEstimator) and is_classifier(each) != is_classifier(owner), what, must_be, name)


def refuse_extra(model: Estimator, what: str) -> None:
    """Raise an error if estimators of the user's own have weight in a model, which `what` cannot take apart."""
    names = [each.name for each in getattr(model, "extra_", ()) if each.weight > 0]
    if names:
        words = f"{what} does not support estimators in extra; {', '.join(names)} has weight in this model."
        raise InputError(f"{words} Fit the model without extra.")


def join_extra(
    owner: Estimator, committee: Committee, given: tuple[Any, ...], votes: Votes, Y: Array, folds: Array, weigh: Weigh
) -> tuple[Committee, list[ExtraMember]]:
    """The committee with the weights of its members lowered by those of the estimators in `extra`, and these.

    Every estimator is fitted without each fold, and to all rows. The committee as it is and the estimators are
    weighted by their predictions of the folds.

    Parameters
    ----------
    owner : AutoRegressor or AutoClassifier
        Its estimators in `extra` are copied before they are fitted.
    committee : Committee
        Kernel members and their out-of-fold predictions.
    given : tuple
        Rows as the user gave them, their targets, and sample weights or None.
    votes : callable
        From a fitted estimator and rows to predictions on the scale of the committee's targets (m x t).
    Y, folds : ndarray of shape (n, t) and (n,)
        Targets of the committee; the fold that holds out each row, -1 for rows that are never held out.
    weigh : callable
        Weights of members from their held-out predictions, the targets and the sample weights.
    """

    def fit(estimator: Estimator, train: Array, test: Array) -> tuple[Any, Array]:
        with _in_words(f"{_name(estimator)} in extra could not be fitted to {len(train)} rows", estimator):
            model, rows = Refitting(estimator, *given)(train, test)
        return model, votes_of(_name(estimator), model, rows, votes, len(test))

    held, everything, extra = np.flatnonzero(folds >= 0), np.arange(len(Y)), owner.extra
    progress = Progress("fitting the estimators in extra", len(extra) * (int(folds.max()) + 2), owner.verbose)
    held_out, models = np.empty((1 + len(extra), *Y[held].shape)), []
    held_out[0] = committee.held_out
    for place, estimator in enumerate(extra, 1):
        values = np.empty_like(Y)
        for fold in range(int(folds.max()) + 1):
            own = np.flatnonzero(folds == fold)
            values[own] = fit(estimator, np.flatnonzero(trained_on(folds, fold)), own)[1]
            progress.step()
        held_out[place] = values[held]
        models.append(fit(estimator, everything, everything[:1])[0])
        progress.step()
    weights, voted, _ = weigh_members(weigh, held_out, Y[held], part_of(given[2], held), folds[held])
    errors = np.sqrt(np.mean((held_out - Y[held]) ** 2, axis=(1, 2)))
    tried = [replace(member, weight=float(weights[0]) * member.weight) for member in committee.tried]
    members = [member for member, old in zip(tried, committee.tried, strict=True) if old.weight > 0]
    joined = replace(committee, members=members, tried=tried, held_out=voted)
    entries = zip(map(_name, extra), models, weights[1:].tolist(), errors[1:].tolist(), strict=True)
    return joined, [ExtraMember(*each) for each in entries]


def votes_of(name: str, model: Estimator, X: XLike, votes: Votes, count: int) -> Array:
    """Predictions of a fitted estimator for so many rows, as the committee needs them; raises an error otherwise."""
    with _in_words(f"{name} in extra could not predict {count} rows", model):
        found = votes(model, X)
    refuse_if(len(found) != count, f"Predictions of {name} in extra", f"one for each of {count} rows", len(found))
    refuse_if(not np.isfinite(found).all(), f"Predictions of {name} in extra", "finite", "NaN or infinity")
    return found


@contextmanager
def _in_words(what: str, estimator: Estimator) -> Iterator[None]:
    """Tell an error of a user's estimator in a sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        unchanged = "Estimators in extra receive the table unchanged; for columns that it does not support,"
        use = f"use make_pipeline(TableEncoder(), {_name(estimator)}(...))."
        raise InputError(f"{what}: {reason} {unchanged} {use}") from error


def _name(estimator: Estimator) -> str:
    """The class of an estimator; of a pipeline, of its last step."""
    return type(estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator).__name__
