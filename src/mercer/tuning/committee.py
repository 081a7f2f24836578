"""A committee of tuned kernel ridge members, weighted by what they predict about held-out rows.

In each of a few folds every member is tuned on the other rows alone: first on a few hundred of them, then, unless it is
hopeless, for a few steps on more. So the out-of-fold predictions know nothing of the targets they are about, and the
weights are made from these. The last steps, on all rows, begin where the folds ended; alpha comes from the exact
leave-one-out error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from mercer.data.folds import clusters_of, dealt, in_order
from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.products import Linear
from mercer.kernels.stationary import Gaussian, Laplacian, Matern, Stationary
from mercer.runtime import run
from mercer.runtime.progress import Progress
from mercer.runtime.resources import Job
from mercer.solvers.problem import Problem, take_rows
from mercer.tuning.criterion import HeldOutCriterion, most_rows
from mercer.tuning.descent import (
    Descent,
    Step,
    best_start,
    descend,
    least_alpha,
    typical_width,
    widths_by_sensitivity,
    widths_of,
    with_parameters,
)
from mercer.tuning.held_out import LeaveOutErrors, Predictor, Weigh, convex_weights, downhill, weigh_members, weights_of

# Two steps that lower the log of the squared error by less than this are the last: first, and on more rows.
_GAIN, _FINE = 2e-3, 1e-3
_FIRST = 300  # rows that members are first tuned on in each fold
_REFINED = 700  # at most so many for the steps that follow there
_TUNED_ON = 1200  # at most so many for the last steps
_BY_COLUMN = 20  # rows for each column, if these are more: fewer miss columns that matter together
_REFINING = 6  # steps in each fold after the first
_STEPS = 30  # of L-BFGS with a width per column
_DRAWS, _ROWS_PER_DRAW = 3, 4000  # of rows that metrics of cells are tuned on, one for so many rows
# On the log of the squared error: a metric so far behind the best begins again where that ended, or is left out.
_BEHIND, _FAR_BEHIND = 0.05, 0.4
_LINEAR_ALPHAS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)  # that a linear member is tried with
_LINEAR_SHARES = (0.1, 1.0, 10.0, 100.0)  # k(x, x) of a linear part, on the average, for k(x, x) = 1 of the other part
_LEFT_OUT = 1200  # rows up to which alpha comes from the leave-one-out error
_ALONE = 5000  # systems of more rows than this are solved one after the other, each on all cores
_HARDLY = 0.3  # a member that lowers the log of the squared error by less than this in a fold is tuned from all starts
_HOPEFUL = 0.05  # members of less weight are dropped after the first rows
_SMALLER = 0.6  # alpha of a model of two thirds of the rows times this is where the search for all rows begins
_ALPHA_ON = 1200  # of more rows, so many at most are predicted from when alpha is chosen
_FOR_ALL = 0.6  # from there alpha falls with the number of rows to this power


@dataclass(frozen=True)
class Recipe:
    """How a member begins: a kernel, with one width or one per column, and the member that it follows.

    `linear`: the kernel of that member as it ended there, and a multiple of a linear kernel.
    """

    name: str
    kernel: Kernel
    columns: bool = False
    follows: str | None = None
    linear: bool = False


REGRESSION = (
    Recipe("Laplacian", Laplacian()),
    Recipe("Laplacian, width per column", Laplacian(), columns=True, follows="Laplacian"),
    Recipe("exponential", Matern(nu=0.5)),
    Recipe("Matern 5/2, width per column", Matern(nu=2.5), columns=True, follows="Laplacian, width per column"),
    Recipe("linear", Linear()),
    Recipe("linear + Matern 5/2", Matern(nu=2.5), follows="Matern 5/2, width per column", linear=True),
)
_PROFILES = {
    "Laplacian": Laplacian(), "exponential": Matern(nu=0.5), "Matern 3/2": Matern(nu=1.5), "Matern 5/2": Matern(nu=2.5),
}  # fmt: skip
# metrics of models in cells, which one width for all columns does not serve
LOCAL = tuple(Recipe(f"{name}, width per column", kernel, columns=True) for name, kernel in _PROFILES.items())
CLASSIFICATION = (
    Recipe("Gaussian", Gaussian()),
    *(Recipe(name, kernel) for name, kernel in reversed(_PROFILES.items())),
    Recipe("Laplacian, width per column", Laplacian(), columns=True, follows="Laplacian"),
    Recipe("linear", Linear()),
    Recipe("linear + Matern 5/2", Matern(nu=2.5), follows="Matern 5/2", linear=True),
)


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """What is fitted to: rows, targets, columns that share a width, and what folds must respect.

    Attributes
    ----------
    rows, problem : Rows, Problem
        Encoded and standardized rows; targets and weights, every row with weight.
    share : sequence of int
        Columns of one number share a width.
    strata, groups, times : ndarray of shape (n,) or None
        Classes that every fold has evenly; rows that stay together; in what order folds follow.
    """

    rows: Rows
    problem: Problem
    share: Sequence[int]
    strata: Array | None = None
    groups: Array | None = None
    times: Array | None = None

    def part(self, which: Array) -> TrainingTable:
        """Some of the rows."""
        beside = (None if each is None else each[which] for each in (self.strata, self.groups, self.times))
        return TrainingTable(*take_rows(self.rows, self.problem, which), self.share, *beside)

    def folds(self, count: int, rng: np.random.Generator) -> Array:
        """Fold numbers: at random, or blocks in the order of time; rows of a single group are dealt one by one."""
        if self.times is not None and self.times.min() < self.times.max():
            return in_order(self.times, count)
        groups = None if self.groups is None or len(np.unique(self.groups)) < 2 else self.groups
        return dealt(len(self.rows), count, rng, strata=self.strata, groups=groups)

    @property
    def clusters(self) -> Array | None:
        """Rows that depend on one another; None where all rows are independent."""
        return clusters_of(self.groups, self.times)

    def criterion(self, count: int, rng: np.random.Generator) -> HeldOutCriterion:
        """The held-out error of so many folds."""
        return HeldOutCriterion(self.rows, self.problem, self.folds(count, rng), self.share)


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
        Weight of its predictions.
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
        Those with weight.
    tried : list of Member
        All; kernels of those without weight are as tuned in the last fold.
    held_out : ndarray of shape (n, t)
        The committee's out-of-fold predictions, weighted as the other folds would have it.
    folds : ndarray of shape (n,)
        Which fold each row was held out in.
    tuned_on : int
        Rows that widths were tuned on.
    by_fold : list of lists of (Kernel, float)
        For every fold the members with weight, as tuned without it.
    clusters : ndarray of shape (n,) or None
        Rows that depend on one another have the same number: groups, or blocks of time.
    base : ndarray of shape (n, t) or None
        Residuals of the baseline, the better of the mean and the last value of the rows before each fold; None where
        folds do not follow in time.
    fold_weights : ndarray of shape (folds, members) or None
        Weights of the members by the other folds.
    left_out, in_folds : ndarray of shape (m, t) or None
        Residuals of the committee as it is, with every row left out in turn and with every fold left out (with groups,
        every group in turn): of all rows, or of those that widths were tuned on; None for rows in the order of time.
    """

    members: list[Member]
    tried: list[Member]
    held_out: Array
    folds: Array
    tuned_on: int
    by_fold: list[list[tuple[Kernel, float]]] = field(default_factory=list)
    clusters: Array | None = None
    base: Array | None = None
    fold_weights: Array | None = None
    left_out: Array | None = None
    in_folds: Array | None = None


def trained_on(folds: Array, fold: int) -> Array:
    """Which rows a model predicts this fold from: all others, or, if some are in fold -1, the earlier ones."""
    return np.asarray(folds < fold if folds.min(initial=0) < 0 else folds != fold)


def each_on_all_cores(work: Callable[[Job], None], jobs: Sequence[Job], rows: int) -> None:
    """Do `work` for every job on systems of so many rows: side by side, or large ones one after the other."""
    if rows <= _ALONE:
        run(work, jobs)
        return
    for job in jobs:
        work(job)


def past_residuals(Y: Array, folds: Array, times: Array | None) -> Array:
    """Targets less their baseline, the mean or the last value of the rows before each fold, whichever errs less."""
    off = np.zeros((2, *Y.shape))
    for fold in range(int(folds.max()) + 1):
        past, own = np.flatnonzero(trained_on(folds, fold)), folds == fold
        last = past[-1:] if times is None else past[times[past] == times[past].max()]
        for place, rows in enumerate((past, last)):
            off[place][own] = Y[own] - Y[rows].mean(axis=0)
    better = np.argmin(np.sum(off**2, axis=1), axis=0)
    return np.asarray(np.take_along_axis(off, better[None, None], axis=0)[0])


_value = attrgetter("value")


def _go_down(criterion: HeldOutCriterion, start: Step, steps: int, deadline: float, gain: float = _FINE) -> Descent:
    kernel, alpha = start.kernel, start.alpha
    if not isinstance(kernel, Stationary):
        alphas = _LINEAR_ALPHAS if isinstance(kernel, Linear) else [alpha * 10.0 ** (k / 2) for k in range(-4, 5)]
        alpha, value = criterion.best_alpha(kernel, alphas)
        return Descent(value, kernel, alpha, "converged", [], [], len(alphas))
    return descend(criterion, kernel, alpha, steps=steps, deadline=deadline, gain=gain)


def tune_recipe(
    criterion: HeldOutCriterion, recipe: Recipe, before: Descent | None, sensible: Array | None, steps: int,
    deadline: float = math.inf,
) -> Descent:  # fmt: skip
    """A member from the best of its starts; from all of them where that explains hardly anything.

    Starts are one width for all columns, widths by sensitivity (`sensible`), and those of the member that it follows.
    """
    columns = criterion.rows.width
    if isinstance(recipe.kernel, Linear):
        return _go_down(criterion, Step(math.inf, recipe.kernel, 1.0), 1, deadline)
    if recipe.linear and before is not None:
        sums = (share / columns * Linear() + before.kernel for share in _LINEAR_SHARES)
        ends = (_go_down(criterion, Step(math.inf, kernel, before.alpha), 1, deadline) for kernel in sums)
        return min(ends, key=_value)
    typical = typical_width(recipe.kernel, columns)
    widths: list[float | Array] = [typical]
    if recipe.columns and sensible is not None:
        widths = [np.full(columns, typical), sensible * (typical / typical_width(Matern(), columns))]
        widths += [] if before is None else widths_of(before.kernel, recipe.kernel, columns)
    starts = (best_start(criterion, recipe.kernel.set_params(width=width)) for width in widths)
    order = sorted(starts, key=_value)
    steps = steps if recipe.columns else max(6, steps // 2)
    best = _go_down(criterion, order[0], steps, deadline, _GAIN)
    if recipe.columns and best.value > criterion.baseline - _HARDLY:  # a plateau: look further, in smaller steps
        best = min(best, *(_go_down(criterion, start, 2 * steps, deadline, _GAIN / 10) for start in order), key=_value)
    return best


def tune_metrics(table: TrainingTable, rng: np.random.Generator) -> list[tuple[Recipe, Descent]]:
    """Metrics of cells with where they ended, best first: tuned on a few hundred rows, then on draws of 1200 rows.

    On the few rows every recipe has several starts; one that ends far behind begins again at the widths of the best.
    Each of up to three draws begins where the one before ended, so that all are in one valley. Widths differ from draw
    to draw; their geometric means predict better than any of them. Recipes that are far behind after the first draw are
    left out.
    """
    n, columns = len(table.rows), table.rows.width
    most = min(_TUNED_ON, most_rows(table.share))
    first, count = min(max(_FIRST, _BY_COLUMN * columns), most), min(_DRAWS, max(1, n // _ROWS_PER_DRAW))
    parts = (table.part(np.sort(rng.permutation(n)[:size])) for size in (first, *[most] * count))
    few, *draws = (part.criterion(3, rng) for part in parts)
    sensible = widths_by_sensitivity(few)
    begun = run(lambda recipe: tune_recipe(few, recipe, None, sensible, _STEPS), LOCAL)
    ends = {recipe.name: [end] for recipe, end in zip(LOCAL, begun, strict=True)}
    best = min(begun, key=_value)

    def begin_again(recipe: Recipe) -> None:
        widths = widths_of(best.kernel, recipe.kernel, columns)
        starts = [best_start(few, recipe.kernel.set_params(width=width)) for width in widths]
        again = _go_down(few, min(starts, key=_value), _STEPS, math.inf)
        ends[recipe.name] = [min(*ends[recipe.name], again, key=_value)]

    def go_on(recipe: Recipe) -> None:
        mine = ends[recipe.name]
        for draw in draws[len(mine) - 1 :][: None if len(mine) > 1 else 1]:
            mine.append(_go_down(draw, mine[-1], _STEPS // 2, math.inf))

    run(begin_again, [recipe for recipe in LOCAL if ends[recipe.name][0].value > best.value + _BEHIND])
    run(go_on, LOCAL)
    least = min(mine[1].value for mine in ends.values())
    near = [recipe for recipe in LOCAL if ends[recipe.name][1].value <= least + _FAR_BEHIND]
    run(go_on, near)
    found = []
    for recipe in near:
        mine = ends[recipe.name][1:]
        (kernel, alpha), value = _mean_of(mine), float(np.mean([end.value for end in mine]))
        found.append((recipe, replace(mine[0], kernel=kernel, alpha=alpha, value=value)))
    return sorted(found, key=lambda each: each[1].value)


FoldEnds: TypeAlias = list[dict[str, Descent]]  # for every fold, where tuning without it ended, by member


@dataclass(eq=False, repr=False)
class CommitteeFit:
    """The work of tuning and weighing members: the steps take and return where members ended.

    Parameters
    ----------
    table : TrainingTable
        Rows and targets.
    recipes : sequence of Recipe
        The members.
    folds : ndarray of int, shape (n,)
        The fold that holds out each row. If some are in fold -1, folds follow in time: each is predicted from those
        before it, and what is returned is about the others.
    weigh : callable, default=convex_weights
        Weights of members from their out-of-fold predictions, the targets and the sample weights.
    steps : int, default=30
        Of L-BFGS with a width per column; half of it otherwise.
    time_budget : float, default=None
        Seconds after which tuning stops where it is.
    random_state : int, default=0
        Random seed for the rows that members are tuned on and for the folds of the criterion.
    verbose : int, default=0
        1: progress. 2: progress with a line for every half second, also in files.

    Attributes
    ----------
    train, test : list of ndarray of int
        Rows that each fold is predicted from, and its own.
    ordered : bool
        Whether folds follow in time.
    """

    table: TrainingTable
    recipes: Sequence[Recipe]
    folds: Array
    weigh: Weigh = convex_weights
    steps: int = _STEPS
    time_budget: float | None = None
    random_state: int = 0
    verbose: int = 0

    def __post_init__(self) -> None:
        self.rng, self.chains = np.random.default_rng(self.random_state), _chains(self.recipes)
        self.count, self.ordered = int(self.folds.max()) + 1, bool(self.folds.min() < 0)
        self.train = [np.flatnonzero(trained_on(self.folds, fold)) for fold in range(self.count)]
        self.test = [np.flatnonzero(self.folds == fold) for fold in range(self.count)]
        self.progress = Progress("fitting the committee", self.count * (len(self.chains) + 2) + 3, self.verbose)

    def fit(self) -> Committee:
        """Tune and weigh members."""
        started, budget = time.monotonic(), math.inf if self.time_budget is None else float(self.time_budget)
        table, recipes, folds, weigh = self.table, self.recipes, self.folds, self.weigh
        held = np.flatnonzero(folds >= 0)
        Y, of_rows = table.problem.Y[held], None if table.problem.weights is None else table.problem.weights[held]
        by_fold, rough = self.tune_first(started + 0.4 * budget)
        rough = rough[:, held]
        weights = weigh(rough, Y, of_rows)
        hopeful = {recipe.name for recipe, weight in zip(recipes, weights, strict=True) if weight >= _HOPEFUL}
        needed = {recipe.follows for recipe in recipes if recipe.linear and recipe.name in hopeful}
        places = [i for i, recipe in enumerate(recipes) if recipe.name in hopeful | needed]
        kept = [recipes[i] for i in places]
        by_fold = self.refine(by_fold, kept, started + 0.7 * budget)
        rows, last = self.tune_on_all(by_fold, kept, started + budget)
        alphas, left_out, in_folds = self.choose_alphas(last, rows)
        held_out = self.predict_folds(by_fold, kept)[:, held]
        mine = weights_of(weigh, held_out, Y, of_rows)
        rough[places], shares = held_out, dict(zip((recipe.name for recipe in kept), mine.tolist(), strict=True))
        errors, tried = np.sqrt(np.mean((rough - Y) ** 2, axis=(1, 2))).tolist(), []
        for name, error in zip((recipe.name for recipe in recipes), errors, strict=True):
            end = last.get(name, by_fold[-1][name])
            numbers = alphas.get(name, end.alpha), shares.get(name, 0.0), error
            tried.append(Member(name, end.kernel, *numbers, end.status, end.bounds))
        members = [member for member in tried if member.weight > 0]
        without = [
            [(end.kernel, _alpha_for_rows(end, len(train))) for end in (ends[member.name] for member in members)]
            for ends, train in zip(by_fold, self.train, strict=True)
        ]
        together = [None if each is None else np.tensordot(mine, each, axes=1) for each in (left_out, in_folds)]
        _, voted, fold_weights = weigh_members(weigh, held_out[mine > 0], Y, of_rows, folds[held], mine[mine > 0])
        base = past_residuals(table.problem.Y, folds, table.times)[held] if self.ordered else None
        clusters, without = None if table.clusters is None else table.clusters[held], [] if self.ordered else without
        beside = clusters, base, fold_weights, *together
        return Committee(members, tried, voted, folds[held], len(rows), without, *beside)

    def _draw(self, rows: Array, most: int) -> Array:
        """At most so many of these rows, drawn at random; fewer where there are many columns."""
        most = min(most, most_rows(self.table.share))
        return rows if len(rows) <= most else np.sort(self.rng.permutation(rows)[:most])

    def _parts(self, usual: int) -> list[TrainingTable]:
        """So many rows without each fold, or more where there are many columns: rare levels must be seen."""
        most = max(usual, min(_BY_COLUMN * self.table.rows.width, _TUNED_ON))
        return [self.table.part(self._draw(train, most)) for train in self.train]

    def _held_out(self, fold: int, train: Rows) -> Rows:
        """The rows of a fold as new ones: columns of levels that no training row has are zero, as for unseen levels."""
        rows = self.table.part(self.test[fold]).rows
        return Rows(np.where(train.values.any(axis=0), rows.values, 0.0), rows.names)

    def _predict(self, end: Descent, train: TrainingTable, fold: int) -> Array:
        """Predictions of a fold by the member that ended there, fitted to `train`."""
        predict = Predictor(end.kernel, train.rows, train.problem, self._held_out(fold, train.rows))
        return predict(_alpha_for_rows(end, len(train.rows)))

    def tune_first(self, deadline: float) -> tuple[FoldEnds, Array]:
        """Tune every member on a few hundred rows without each fold; and its predictions there (members x n x t)."""
        parts = self._parts(_FIRST)
        criteria = [part.criterion(5 if len(part.rows) <= 150 else 3, self.rng) for part in parts]
        values = np.empty((len(self.recipes), *self.table.problem.Y.shape))
        by_fold: FoldEnds = [{} for _ in parts]
        sensible: dict[int, Array] = {}

        def tune_chain(job: tuple[int, list[int]]) -> None:
            fold, chain = job
            for i in chain:
                recipe = self.recipes[i]
                if recipe.columns and fold not in sensible:
                    sensible[fold] = widths_by_sensitivity(criteria[fold])
                before = by_fold[fold].get(recipe.follows or "")
                end = tune_recipe(criteria[fold], recipe, before, sensible.get(fold), self.steps, deadline)
                by_fold[fold][recipe.name] = end
                values[i][self.test[fold]] = self._predict(end, parts[fold], fold)
            self.progress.step()

        run(tune_chain, list(product(range(self.count), self.chains)))
        return by_fold, values

    def refine(self, by_fold: FoldEnds, kept: list[Recipe], deadline: float) -> FoldEnds:
        """Take a few steps on more rows, where members were first tuned on a part of the training rows."""
        criteria = [part.criterion(3, self.rng) for part in self._parts(_REFINED)]
        folds = [fold for fold in range(self.count) if len(self.train[fold]) > 1.2 * _FIRST]
        refined: FoldEnds = [dict(ends) for ends in by_fold]

        def refine_one(job: tuple[int, Recipe]) -> None:
            (fold, recipe), ends = job, refined[job[0]]
            if recipe.linear:
                end = tune_recipe(criteria[fold], recipe, ends[str(recipe.follows)], None, 1, deadline)
            else:
                end = _go_down(criteria[fold], by_fold[fold][recipe.name], _REFINING, deadline)
            ends[recipe.name] = end

        for linear in (False, True):  # sums have the widths of the members that they follow
            run(refine_one, list(product(folds, [recipe for recipe in kept if recipe.linear == linear])))
        self.progress.step(self.count)
        return refined

    def tune_on_all(self, by_fold: FoldEnds, kept: list[Recipe], deadline: float) -> tuple[Array, dict[str, Descent]]:
        """The last steps, on all rows or on 1200 of them, from the best of where the folds ended and their mean.

        Returns the rows, and where each member ended.
        """
        rows = self._draw(np.arange(len(self.table.rows)), _TUNED_ON)
        n = len(rows)
        criterion = self.table.part(rows).criterion(10 if n <= 700 else 3, self.rng)
        found: dict[str, Descent] = {}

        def tune_one(recipe: Recipe) -> None:
            if recipe.linear:
                found[recipe.name] = tune_recipe(criterion, recipe, found[str(recipe.follows)], None, 1, deadline)
                return
            ends = [by_name[recipe.name] for by_name in by_fold]
            pairs = [_mean_of(ends), *((end.kernel, end.alpha) for end in ends)]
            starts = (Step(criterion.at(*pair, slopes=False).value, *pair) for pair in pairs)
            steps = max(8, self.steps // (2 if n <= 700 else 4))
            found[recipe.name] = _go_down(criterion, min(starts, key=_value), steps, deadline)

        for linear in (False, True):
            run(tune_one, [recipe for recipe in kept if recipe.linear == linear])
        self.progress.step()
        return rows, {recipe.name: found[recipe.name] for recipe in kept}

    def choose_alphas(
        self, last: dict[str, Descent], tuned: Array
    ) -> tuple[dict[str, float], Array | None, Array | None]:
        """alpha of each member for all rows, and residuals (members x m x t) of leaving out rows and folds.

        Of many rows, residuals are those of the rows of the last steps, `tuned`, and alpha comes from a fold.
        """
        n, t = self.table.problem.Y.shape
        many = n > _LEFT_OUT or self.ordered
        found = self._alphas_of_fold(last) if many else dict[str, float]()
        if self.ordered:
            self.progress.step()
            return found, None, None
        part = self.table.part(tuned) if many else self.table
        m, folds = len(part.rows), self.folds[tuned] if many else self.folds
        tests, residuals = [np.flatnonzero(folds == fold) for fold in np.unique(folds)], np.empty((2, len(last), m, t))

        def one(place: int) -> None:
            name, end = list(last.items())[place]
            left, alpha = LeaveOutErrors(end.kernel, part.rows, part.problem, part.groups), _alpha_for_rows(end, m)
            if not many:
                alpha = found[name] = downhill(left.error, alpha, (least_alpha(m), math.inf))
            residuals[:, place] = left.residuals(alpha, tests)

        run(one, range(len(last)))
        self.progress.step()
        return found, residuals[0], residuals[1]

    def _alphas_of_fold(self, last: dict[str, Descent]) -> dict[str, float]:
        """alpha of each member for all rows, from the one with the least error at the rows of a fold."""
        place, found, n = -1 if self.ordered else 0, dict[str, float](), len(self.folds)
        train, test = (self.table.part(r) for r in (self._draw(self.train[place], _ALPHA_ON), self.test[place]))
        new, m = self._held_out(place, train.rows), len(train.rows)

        def choose(name: str) -> None:
            predict = Predictor(last[name].kernel, train.rows, train.problem, new)
            alpha = predict.best_alpha(test.problem, _SMALLER * last[name].alpha, least_alpha(m))
            found[name] = max(float((m / n) ** _FOR_ALL) * alpha, least_alpha(n))

        each_on_all_cores(choose, list(last), n)
        return found

    def predict_folds(self, by_fold: FoldEnds, members: list[Recipe]) -> Array:
        """Out-of-fold predictions of the members that are left (members x n x t)."""
        values = np.empty((len(members), *self.table.problem.Y.shape))

        def one(job: tuple[int, int]) -> None:
            fold, place = job
            end = by_fold[fold][members[place].name]
            values[place][self.test[fold]] = self._predict(end, self.table.part(self.train[fold]), fold)

        each_on_all_cores(one, list(product(range(self.count), range(len(members)))), len(self.table.rows))
        self.progress.step(self.count + 1)
        return values


def _chains(recipes: Sequence[Recipe]) -> list[list[int]]:
    """Members that follow one another, by number; chains can be tuned side by side."""
    heads, chains = dict[str | None, int](), dict[int, list[int]]()
    for i, recipe in enumerate(recipes):  # members come after those that they follow
        heads[recipe.name] = heads.get(recipe.follows, i)
        chains.setdefault(heads[recipe.name], []).append(i)
    return list(chains.values())


def _alpha_for_rows(end: Descent, n: int) -> float:
    """alpha for all n rows of a member that was tuned by predicting some of them from the others."""
    return max(_SMALLER * end.alpha, least_alpha(n))


def _mean_of(descents: Sequence[Descent]) -> tuple[Kernel, float]:
    """Geometric means of the folds' parameters and alphas."""
    ends = [descent.kernel.tunable() for descent in descents]
    middle = {name: np.exp(np.mean([np.log(end[name]) for end in ends], axis=0)) for name in ends[0]}
    alpha = float(np.exp(np.mean([np.log(descent.alpha) for descent in descents])))
    return with_parameters(descents[0].kernel, middle), alpha
