"""Logistic, Poisson and gamma regression with the kernels of a committee that was tuned by squared errors.

Each member is fitted without each fold for a path of alphas from large to small. A smaller alpha must lower the
held-out loss by more than three quarters of a standard error: of few rows, small alphas find certainty that new rows do
not confirm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.products import Linear
from mercer.runtime import run
from mercer.selection.removals import label_numbers
from mercer.selection.table import mean_with_error
from mercer.solvers.gram import times, training_matrix
from mercer.solvers.newton import Task
from mercer.solvers.problem import Loss, Softmax, label_loss
from mercer.tuning.committee import Committee, Member, TrainingTable, trained_on
from mercer.tuning.held_out import Reading, loss_weights, weigh_members, weights_of

_LARGEST, _DECADES = 30.0, 7  # alphas, over the mean k(x, x): from this one down over so many powers of ten
_STEPS, _FINE = 2, 500  # alphas per power of ten of two classes with at most so many training rows; one otherwise
_SINCE, _CERTAIN = 3, 30.0  # alphas in a row without an improvement, or logarithms of odds, that end the path
_ERRORS = 0.75  # standard errors by which a smaller alpha must be better
_ENOUGH, _FINAL = 1e-8, 1e-12  # relative decrease of the objective at which Newton's method stops: in folds, at last
_MEMBERS = 3  # heaviest members that are tried; one fewer of more than two classes
_ROWS, _MOST = 2000, 4e11  # rows, and floating-point operations, up to which the committee is tried
_NEWTON = 24  # factorizations for each member and fold
_LEAST_CURVATURE = 1e-6


def read_labels(Y: Array) -> tuple[Loss, Array]:
    """The log loss, and class numbers, from one column of -1 and 1 or from a column per class."""
    return label_loss(max(2, Y.shape[1]), label_numbers(Y))


def generalized_committee(
    table: TrainingTable, committee: Committee, read: Reading, *, single: bool = False, limited: bool = True,
    deadline: float = math.inf,
) -> Committee | None:  # fmt: skip
    """Members that minimize another loss, with the kernels of the heaviest members and, unless `single`, a linear one.

    None if it would take too long, or if folds follow in time.

    Parameters
    ----------
    table : TrainingTable
        Rows and targets.
    committee : Committee
        As tuned on the same rows and folds.
    read : callable
        The loss, and its targets, from the targets of the table.
    single : bool, default=False
        Whether there is to be one member only.
    limited : bool, default=True
        Whether to do without if there are more than 2000 rows, or many classes.
    deadline : float, default=infinity
        Time by `time.monotonic` after which no more alphas are tried.
    """
    loss, y = read(table.problem.Y)
    n, outputs, count = len(table.rows), table.problem.Y.shape[1], len(committee.by_fold)
    heaviest = sorted(range(len(committee.members)), key=lambda i: -committee.members[i].weight)
    kept = heaviest[: 1 if single else _MEMBERS - (outputs > 1)]
    step = (1 / 3 if outputs == 1 else 2 * outputs) * (n * (count - 1) / max(count, 1)) ** 3
    if not count or (limited and (n > _ROWS or step * count * len(kept) * _NEWTON > _MOST)):
        return None
    members = [committee.members[i] for i in kept]
    kernels = [[fold[i][0] for fold in committee.by_fold] for i in kept]
    if not single and not any(isinstance(member.kernel, Linear) for member in members):
        members.append(Member("linear", Linear(), 1.0, 0.0, 0.0, "as given", []))
        kernels.append([Linear()] * count)
    weights = np.ones(n) if table.problem.weights is None else table.problem.weights

    def follow(own: Sequence[Kernel]) -> tuple[float, Array, float] | None:
        return _follow(own, table, committee, loss, y, weights / weights.mean(), deadline)

    paths = zip(members, kernels, run(follow, kernels), strict=True)
    found = [(member, own, *path) for member, own, path in paths if path]
    if not found:
        return None
    held_out, weigh = np.array([values for _, _, _, values, _ in found]), partial(loss_weights, read)
    given = table.problem.Y, table.problem.weights
    shares = weights_of(weigh, held_out, *given)
    used = np.flatnonzero(shares)
    _, voted, by_fold = weigh_members(weigh, held_out[used], *given, committee.folds, shares[used])
    tried = [
        replace(member, alpha=alpha, weight=float(share), error=error)
        for (member, _, alpha, _, error), share in zip(found, shares, strict=True)
    ]
    return replace(
        committee, members=[tried[i] for i in used], tried=tried, held_out=voted, fold_weights=by_fold,
        by_fold=[[(found[i][1][fold], tried[i].alpha) for i in used] for fold in range(count)],
        left_out=None, in_folds=None,
    )  # fmt: skip


def _follow(
    kernels: Sequence[Kernel], table: TrainingTable, committee: Committee, loss: Loss, y: Array, weights: Array,
    deadline: float,
) -> tuple[float, Array, float] | None:  # fmt: skip
    """Fit one member without each fold for smaller and smaller alphas; None without time, or for a kernel of zeros.

    Returns the best alpha, values at held-out rows by the models without their folds (n x outputs), and their loss.
    """
    Z, folds, jobs = table.rows, committee.folds, []
    for fold, kernel in enumerate(kernels):
        train, test = np.flatnonzero(trained_on(folds, fold)), np.flatnonzero(folds == fold)
        known = Rows(Z.values[train], Z.names)
        new = Rows(np.where(known.values.any(axis=0), Z.values[test], 0.0), Z.names)  # levels that are not known
        task = Task(training_matrix(kernel, known), y[train], weights[train], loss, intercept=True)
        jobs.append((task, partial(times, kernel, new, known), test))
    scale = float(np.mean([np.diagonal(task.K).mean() for task, _, _ in jobs]))
    per_decade = _STEPS if len(jobs[0][0].y) <= _FINE and max(1, table.problem.Y.shape[1]) == 1 else 1
    starts: list[Array | None] = [None] * len(jobs)
    best: tuple[float, Array, Array] | None = None  # alpha, values, losses
    since = 0
    for step in range(_DECADES * per_decade + 1 if scale > 0 else 0):
        if time.monotonic() > deadline or since == _SINCE:
            break
        alpha = scale * _LARGEST * 10.0 ** (-step / per_decade)
        values, largest = np.empty(table.problem.Y.shape), 0.0
        for place, (task, project, test) in enumerate(jobs):
            optimum = task.minimize(alpha, starts[place], _ENOUGH)
            starts[place] = optimum.f
            values[test] = project(optimum.a) + optimum.b
            largest = max(largest, float(np.abs(optimum.f).max()))
        losses = weights * loss.rows(y, values)
        gain, error = (1.0, 0.0) if best is None else mean_with_error((best[2] - losses)[:, None], committee.clusters)
        since += 1
        if gain > _ERRORS * error:  # lower in the mean by a good part of the standard error
            best, since = (alpha, values, losses), 0
        if largest > _CERTAIN:
            break
    return None if best is None else (best[0], best[1], float(best[2].mean()))


def as_ridge(
    read: Reading, kernel: Kernel, alpha: float, rows: Rows, Y: Array, weights: Array | None
) -> tuple[float, Array]:
    """The alpha and the targets (n, outputs) with which kernel ridge regression is this model of another loss.

    At the optimum alpha a = g, the weighted slopes of the loss, so (K + alpha / v I) a + b = f + g / v for every v.
    Here v is the mean curvature, with which leaving out a row by ridge regression is nearly one Newton step.
    """
    loss, y = read(Y)
    each = np.ones(len(y)) if weights is None else weights / weights.mean()
    task = Task(training_matrix(kernel, rows), y, each, loss, intercept=True)
    begin = task.minimize(100.0 * alpha, None, _ENOUGH)
    best = task.minimize(alpha, task.minimize(10.0 * alpha, begin.f, _ENOUGH).f, _FINAL)
    curvature = loss.curvature(y, best.f)
    if isinstance(loss, Softmax):  # which has probabilities in their place
        curvature = curvature * (1.0 - curvature)
    v = max(float(np.mean(each[:, None] * curvature)), _LEAST_CURVATURE)
    return alpha / v, best.f + alpha * best.a / v
