"""A committee of tuned kernel ridge members, weighted by what they predict about rows they have not seen.

Every fold tunes every member anew, so that the out-of-fold predictions, and the weights made from them, know nothing
of the rows they are about. The last fit, on all rows, begins where the folds ended.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.slopes import tunable
from mercer.kernels.stationary import Gaussian, Laplacian, Matern
from mercer.runtime import run
from mercer.runtime.progress import Progress
from mercer.selection.problem import Problem, taken
from mercer.tuning.alphas import Predictor, downhill, start_alpha
from mercer.tuning.criterion import Criterion
from mercer.tuning.descent import Descent, descend, least_alpha, per_column

# Two steps that lower the log of the squared error by less than this, a thousandth of the error, are the last.
_GAIN = 2e-3


@dataclass(frozen=True)
class Recipe:
    """How a member begins: a kernel of unit width, isotropic or with a width for every column after that."""

    name: str
    kernel: Kernel
    columns: bool = False
    follows: str | None = None

    def start(self, columns: int, before: Kernel | None) -> Kernel:
        """The kernel to begin with: where the member before it ended, or at the typical distance of rows."""
        typical = 1.1 * columns if isinstance(self.kernel, Laplacian) else math.sqrt(2.0 * columns)
        width = typical if before is None else float(np.mean(tunable(before)["width"]))
        begin = self.kernel.set_params(width=width)
        return per_column(begin, columns) if self.columns else begin


REGRESSION = (
    Recipe("Laplacian", Laplacian()),
    Recipe("Laplacian, width per column", Laplacian(), columns=True, follows="Laplacian"),
    Recipe("exponential", Matern(nu=0.5)),
    Recipe("Matern 5/2, width per column", Matern(nu=2.5), columns=True),
)
CLASSIFICATION = (
    Recipe("Gaussian", Gaussian()),
    Recipe("Matern 5/2", Matern(nu=2.5)),
    Recipe("Matern 3/2", Matern(nu=1.5)),
    Recipe("exponential", Matern(nu=0.5)),
    Recipe("Laplacian", Laplacian()),
)


@dataclass(frozen=True, eq=False)
class Job:
    """What is fitted to, how long it may take, and which columns share a width."""

    rows: Rows
    problem: Problem
    share: Sequence[int] | None
    deadline: float
    steps: int


Starts: TypeAlias = dict[str, tuple[Kernel, float]]


def tuned_members(job: Job, recipes: Sequence[Recipe], begin: Starts) -> dict[str, Descent]:
    """Every recipe tuned on these rows; `begin` says where, if that is known."""
    criterion = Criterion(job.rows, job.problem, "loo")
    found: dict[str, Descent] = {}
    for recipe in recipes:
        if recipe.name in begin:
            kernel, alpha = begin[recipe.name]
        else:
            before = found.get(recipe.follows or "")
            kernel = recipe.start(job.rows.width, None if before is None else before.kernel)
            alpha = start_alpha(kernel, job.rows, job.problem) if before is None else before.alpha
        steps = job.steps if recipe.columns else max(6, job.steps // 2)
        found[recipe.name] = descend(
            criterion, kernel, alpha, share=job.share, steps=steps, deadline=job.deadline, gain=_GAIN
        )
    return found


# Beyond so many rows widths are tuned on a part of them.
_TUNED_ON = 2000
# Systems of more rows than this are solved one after the other, each on all cores.
_ALONE = 3000
# Members that matter less than this are left out.
_LEAST = 0.02


@dataclass(frozen=True, eq=False)
class Member:
    """One member of a committee.

    Attributes
    ----------
    name : str
        Its recipe.
    kernel, alpha : Kernel, float
        As tuned on all rows.
    weight : float
        Its share of the committee's vote.
    error : float
        Its own root mean squared out-of-fold error.
    status, bounds : str, list of str
        How tuning ended, and what ended on a bound.
    """

    name: str
    kernel: Kernel
    alpha: float
    weight: float
    error: float
    status: str
    bounds: list[str]


@dataclass(frozen=True, eq=False)
class Committee:
    """Tuned members, their weights and what they predict out of fold.

    Attributes
    ----------
    members : list of Member
        Those that matter.
    tried : list of Member
        All; kernels of those that do not matter are as tuned in the last fold.
    held_out : ndarray of shape (n, t)
        The committee's out-of-fold predictions.
    folds : ndarray of shape (n,)
        Which fold each row was held out in.
    tuned_on : int
        Rows that widths were tuned on.
    by_fold : list of lists of (Kernel, float)
        For every fold the members that matter, as tuned without it.
    """

    members: list[Member]
    tried: list[Member]
    held_out: Array
    folds: Array
    tuned_on: int
    by_fold: list[list[tuple[Kernel, float]]] = field(default_factory=list)


def convex_weights(held_out: Array, Y: Array) -> Array:
    """Non-negative weights of sum one for which the weighted predictions have the least squared error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tuning.committee import convex_weights
    >>> y = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> convex_weights(np.stack([y + 1.0, y - 1.0, y + 9.0]), y).round(3).tolist()
    [0.5, 0.5, 0.0]
    """
    from scipy.optimize import nnls

    A = (held_out - Y).reshape(len(held_out), -1).T
    size = max(float(np.abs(A).max(initial=0.0)), 1e-300)
    heavy = 1e4 * math.sqrt(len(A))
    weights, _ = nnls(np.vstack([A / size, np.full(len(held_out), heavy)]), np.append(np.zeros(len(A)), heavy))
    total = float(weights.sum())
    return np.asarray(weights / total) if total > 0 else np.full(len(held_out), 1.0 / len(held_out))


def fit_committee(
    rows: Rows,
    problem: Problem,
    recipes: Sequence[Recipe],
    folds: Array,
    *,
    share: Sequence[int] | None = None,
    steps: int = 30,
    time_budget: float | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Committee:
    """Tune, weigh and fit.

    Parameters
    ----------
    rows : Rows
        Encoded and standardised.
    problem : Problem
        Targets and weights; every row has weight.
    recipes : sequence of Recipe
        The members.
    folds : ndarray of int, shape (n,)
        The fold that holds out each row.
    share : sequence of int, default=None
        Columns that share a width.
    steps : int, default=30
        Of L-BFGS with a width per column; half of it otherwise.
    time_budget : float, default=None
        Seconds after which tuning stops where it is.
    random_state : int, default=0
        Of the rows that widths are tuned on, where there are many.
    verbose : int, default=0
        1: progress on a terminal. 2: everywhere.
    """
    whole = len(rows) <= _TUNED_ON
    started = time.monotonic()
    budget = math.inf if time_budget is None else float(time_budget)
    work = _Parts(rows, problem, recipes, folds, share, np.random.default_rng(random_state))
    progress = Progress("fitting the committee", work.pieces(whole=whole), verbose)
    if whole:
        by_fold = work.each_fold(steps, started + 0.6 * budget, progress)
        begin = {recipe.name: _mean_of([found[recipe.name] for found in by_fold]) for recipe in recipes}
        held_out, ratios = work.predictions(by_fold, whole=True)
    else:
        tuned = work.on_a_part(steps, started + 0.6 * budget, progress)
        by_fold = [tuned] * (int(folds.max()) + 1)
        begin = {name: (descent.kernel, descent.alpha) for name, descent in tuned.items()}
        held_out, ratios = work.predictions(by_fold, whole=False)
    progress.step()
    weights = convex_weights(held_out, problem.Y)
    weights = np.where(weights >= _LEAST, weights, 0.0)
    weights = weights / weights.sum()
    errors = np.sqrt(np.mean((held_out - problem.Y) ** 2, axis=(1, 2)))
    last: dict[str, Descent] = {}
    if whole:
        chosen = [recipe for recipe, weight in zip(recipes, weights, strict=True) if weight > 0]
        last = work.on_all(chosen, begin, max(8, steps // 2), started + budget, progress)
    tried = []
    for i, recipe in enumerate(recipes):
        end = last.get(recipe.name, by_fold[-1][recipe.name])
        alpha, weight, error = float(end.alpha * ratios[i]), float(weights[i]), float(errors[i])
        tried.append(Member(recipe.name, end.kernel, alpha, weight, error, end.status, end.bounds))
    tuned_on = len(rows) if whole else _TUNED_ON
    members = [member for member in tried if member.weight > 0]
    kept = [(i, recipe.name) for i, recipe in enumerate(recipes) if weights[i] > 0]
    without = [[(f[name].kernel, float(f[name].alpha * ratios[i])) for i, name in kept] for f in by_fold]
    return Committee(members, tried, np.tensordot(weights, held_out, axes=1), folds, tuned_on, without)


Piece: TypeAlias = tuple[Job, Sequence[Recipe]]


class _Parts:
    """The pieces of work of a committee."""

    def __init__(
        self,
        rows: Rows,
        problem: Problem,
        recipes: Sequence[Recipe],
        folds: Array,
        share: Sequence[int] | None,
        rng: np.random.Generator,
    ) -> None:
        self.rows, self.problem, self.recipes, self.folds, self.share = rows, problem, recipes, folds, share
        self.rng = rng
        self.count = int(folds.max()) + 1
        # Members that follow one another stay together; the others go side by side.
        heads = [recipe for recipe in recipes if recipe.follows is None]
        self.chains = [[head, *[r for r in recipes if r.follows == head.name]] for head in heads]

    def pieces(self, *, whole: bool) -> int:
        """How many pieces of work there are, for the progress."""
        return (self.count * len(self.chains) + len(self.recipes) if whole else len(self.chains)) + 1

    def _tune(self, jobs: Sequence[Piece], begin: Starts, progress: Progress) -> list[dict[str, Descent]]:
        found: list[dict[str, Descent]] = [{} for _ in jobs]

        def one(number: int) -> None:
            job, recipes = jobs[number]
            found[number] = tuned_members(job, recipes, begin)
            progress.step()

        run(one, range(len(jobs)))
        return found

    def each_fold(self, steps: int, deadline: float, progress: Progress) -> list[dict[str, Descent]]:
        """Every member tuned on the training part of every fold."""
        jobs = []
        for fold in range(self.count):
            part_rows, part = taken(self.rows, self.problem, np.flatnonzero(self.folds != fold))
            jobs += [(Job(part_rows, part, self.share, deadline, steps), chain) for chain in self.chains]
        found = self._tune(jobs, {}, progress)
        width = len(self.chains)
        return [
            {name: descent for chain in found[fold * width : (fold + 1) * width] for name, descent in chain.items()}
            for fold in range(self.count)
        ]

    def on_a_part(self, steps: int, deadline: float, progress: Progress) -> dict[str, Descent]:
        """Every member tuned on some of the rows."""
        part = np.sort(self.rng.permutation(len(self.rows))[:_TUNED_ON])
        part_rows, some = taken(self.rows, self.problem, part)
        jobs = [(Job(part_rows, some, self.share, deadline, steps), chain) for chain in self.chains]
        return {name: descent for chain in self._tune(jobs, {}, progress) for name, descent in chain.items()}

    def on_all(
        self,
        recipes: Sequence[Recipe],
        begin: Starts,
        steps: int,
        deadline: float,
        progress: Progress,
    ) -> dict[str, Descent]:
        """The members that matter, tuned on all rows from where the folds ended."""
        job = Job(self.rows, self.problem, self.share, deadline, steps)
        jobs = [(job, [recipe]) for recipe in recipes]
        return {name: descent for one in self._tune(jobs, begin, progress) for name, descent in one.items()}

    def predictions(self, by_fold: list[dict[str, Descent]], *, whole: bool) -> tuple[Array, Array]:
        """Out-of-fold predictions of every member (members x n x t), and what its alpha was multiplied by.

        Where widths were tuned on a part of the rows, alpha is chosen anew on the first fold.
        """
        n, t = self.problem.Y.shape
        values, ratios = np.empty((len(self.recipes), n, t)), np.ones(len(self.recipes))
        train = [taken(self.rows, self.problem, np.flatnonzero(self.folds != fold)) for fold in range(self.count)]
        test = [np.flatnonzero(self.folds == fold) for fold in range(self.count)]

        def one(job: tuple[int, int]) -> None:
            fold, member = job
            end = by_fold[fold][self.recipes[member].name]
            new, targets = taken(self.rows, self.problem, test[fold])
            predict = Predictor(end.kernel, *train[fold], new)
            if fold == 0 and not whole:
                ends = least_alpha(len(train[0][0])), math.inf  # k(x, x) = 1 for every recipe
                best = downhill(lambda alpha: float(np.mean((predict(alpha) - targets.Y) ** 2)), end.alpha, ends=ends)
                ratios[member] = best / end.alpha
            values[member][test[fold]] = predict(end.alpha * ratios[member])

        for folds in (range(1), range(1, self.count)):
            jobs = [(fold, member) for fold in folds for member in range(len(self.recipes))]
            if n <= _ALONE:
                run(one, jobs)
            else:  # large systems use all cores one by one
                for job in jobs:
                    one(job)
        return values, ratios


def _mean_of(descents: Sequence[Descent]) -> tuple[Kernel, float]:
    """The kernel and alpha in the middle of those the folds found, on the scale of logarithms."""
    names = tunable(descents[0].kernel)
    middle = {
        name: np.exp(np.mean([np.log(tunable(descent.kernel)[name]) for descent in descents], axis=0)) for name in names
    }
    kernel = descents[0].kernel.set_params(**{n: float(v) if np.ndim(v) == 0 else v for n, v in middle.items()})
    return kernel, float(np.exp(np.mean([np.log(descent.alpha) for descent in descents])))
