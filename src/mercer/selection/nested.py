"""Nested cross-validation from one factor: every inner and outer fit of a candidate is read from the same P.

By default the inner folds of an outer fold are the other outer folds. The set left out
is then a pair of folds, and each of the F (F - 1) / 2 pairs serves both of its members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from mercer.data.folds import Folds, Split
from mercer.data.rows import Array
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import underflow_is_zero
from mercer.runtime.progress import Progress
from mercer.selection.plan import SCORE_BYTES, Plan
from mercer.selection.removals import Removals
from mercer.selection.scoring import Truth
from mercer.selection.search import Search
from mercer.selection.table import SearchTable, Winner


@dataclass(frozen=True, eq=False)
class NestedSets:
    """What is left out for all inner and outer fits.

    Attributes
    ----------
    outer : Removals
        The outer splits.
    pairs : Removals
        Sets left out for inner fits, each once.
    inner : Removals
        The inner test sets, laid end to end exactly as the tests of `pairs` are.
    owner : ndarray of int
        The outer split that each inner test set belongs to.
    """

    outer: Removals
    pairs: Removals
    inner: Removals
    owner: Array

    @cached_property
    def everything(self) -> Removals:
        """Outer sets, then inner ones."""
        bases = None
        if self.pairs.bases is not None:
            bases = np.concatenate([np.full(len(self.outer), -1), self.pairs.bases])
        return Removals([*self.outer.sets, *self.pairs.sets], [*self.outer.tests, *self.pairs.tests], bases)


def other_folds(folds: Folds) -> NestedSets:
    """Nested sets whose inner folds are the other outer folds."""
    if not folds.partition or min(len(repeat) for repeat in folds.repeats) < 3:
        raise InputError(
            "inner=None uses the other outer folds as inner folds. This needs at least 3 disjoint folds that cover "
            "every row. Use cv=3 or more, or set inner to a number of folds."
        )
    outer = Removals.of(folds.splits, folds.n)
    sets, tests, owner, base = [], [], [], 0
    for repeat in folds.repeats:
        for i, j in combinations(range(len(repeat)), 2):
            sets.append(np.union1d(repeat[i].test, repeat[j].test))
            tests += [repeat[i].test, repeat[j].test]
            owner += [base + j, base + i]  # fold i is tested for outer fold j, and the other way round
        base += len(repeat)
    pairs = Removals(sets, [np.concatenate(pair) for pair in zip(tests[::2], tests[1::2], strict=True)])
    inner = Removals([rows for rows in sets for _ in range(2)], tests)
    return NestedSets(outer, pairs, inner, np.array(owner))


def own_folds(folds: Folds, inner: Callable[[Array], Folds]) -> NestedSets:
    """Any inner splitter: `inner(train rows)` draws splits within each outer training part."""
    outer = Removals.of(folds.splits, folds.n)
    sets, tests, owner, bases = [], [], [], []
    for o, split in enumerate(folds.splits):
        for part in inner(split.train).splits:
            kept = np.zeros(folds.n, dtype=bool)
            kept[split.train[part.train]] = True
            sets.append(np.flatnonzero(~kept))
            tests.append(np.sort(split.train[part.test]))
            owner.append(o)
            bases.append(o if len(part.test) == 1 and len(sets[-1]) == len(outer.sets[o]) + 1 else -1)
    removals = Removals(sets, tests, np.array(bases))
    return NestedSets(outer, removals, removals, np.array(owner))


@dataclass(frozen=True, eq=False)
class NestedRun:
    """Raw outcome of a nested cross-validation.

    Attributes
    ----------
    choices : list of Winner
        The best candidate within each outer training part.
    inner_best : ndarray of shape (outer splits,)
        Its inner score.
    scores : ndarray of shape (outer splits,)
        Its score on the outer test rows.
    predictions : ndarray of shape (repeats, n, t)
        Outer held-out values.
    labels : ndarray of shape (repeats, n) or None
        Outer held-out labels of a classifier.
    condition : float
        The worst among the best candidates' systems.
    plan : Plan
        By which route.
    """

    choices: list[Winner]
    inner_best: Array
    scores: Array
    predictions: Array
    labels: Array | None
    condition: float
    plan: Plan


def nested_plan(search: Search, layout: NestedSets, kernels: Sequence[Kernel], alphas: Array) -> Plan:
    """The route for all inner and outer fits."""
    kept = SCORE_BYTES * len(layout.inner) * search.scored_targets
    kept += 8 * search.problem.Y.shape[1] * len(layout.outer.rows)
    return search.plan_for(layout.everything, kernels, alphas, kept, nested=True)


@underflow_is_zero
def run_nested(
    search: Search,
    kernels: Sequence[Kernel],
    alphas: Array,
    inner: Callable[[Array], Folds] | None,
    rule: str,
    verbose: int = 0,
) -> NestedRun:
    """All inner and outer fits of all candidates, and the best candidate of every outer fold."""
    layout = other_folds(search.folds) if inner is None else own_folds(search.folds, inner)
    plan = nested_plan(search, layout, kernels, alphas)
    table, owner, outer_values = _try_candidates(search, layout, kernels, alphas, plan, verbose)
    choices, best, worst = [], np.empty(len(layout.outer)), 1.0
    values = np.empty_like(outer_values[0, 0])
    for o in range(len(layout.outer)):
        part = replace(table, scores=table.scores[:, :, owner == o])
        choice = part.choose(rule, _inner_folds(layout, o, search.problem.n), search.failures)
        where = layout.outer.part(o)
        columns = choice.alphas if len(choice.alphas) == values.shape[1] else choice.alphas * values.shape[1]
        for column, a in enumerate(columns):
            values[where, column] = outer_values[choice.kernel, a, where, column]
        best[o] = float(np.mean([part.mean[choice.kernel, a, j] for j, a in enumerate(choice.alphas)]))
        worst = max(worst, part.worst_condition(choice))
        choices.append(choice)
    scores = search.scoring.by_split(search.pooled_truth if search.pool_only else search.truth, values)
    if search.pool_only:
        ends = np.cumsum([len(repeat) for repeat in search.folds.repeats])
        best = np.array([part.mean() for part in np.split(best, ends[:-1])])
    labels = None if search.classes is None else search.labels_by_repeat(search.truth.outcome(values))
    return NestedRun(choices, best, scores, search.by_repeat(values), labels, worst, plan)


def _try_candidates(
    search: Search, layout: NestedSets, kernels: Sequence[Kernel], alphas: Array, plan: Plan, verbose: int
) -> tuple[SearchTable, Array, Array]:
    """Inner scores of all candidates, to which outer split each belongs, and outer held-out values."""
    truth, place = _inner_truth(search, layout)
    owner = layout.owner if truth.removals is layout.inner else np.arange(len(layout.outer))
    table = SearchTable.empty(kernels, alphas, len(truth.removals), search.scored_targets, search.scoring.name)
    count = len(layout.outer.rows)
    outer_values = np.empty((len(kernels), len(alphas), count, search.problem.Y.shape[1]))
    progress = Progress("nested cross-validation", len(kernels) * len(alphas), verbose)
    with closing(search.all_held_out(kernels, alphas, plan, layout.everything)) as found:
        for k, a, held_out in found:
            outer_values[k, a] = held_out.values[:count]
            table.scores[k, a] = search.score_values(truth, held_out.values[count:][place])
            table.condition[k, a], table.refits[k, a] = held_out.condition, held_out.refits
            progress.step()
    return table, owner, outer_values


def _inner_truth(search: Search, layout: NestedSets) -> tuple[Truth, slice | Array]:
    """The inner test sets as they are scored, and where their values stand among those of the inner ones.

    One by one, or pooled where one row has no score.
    """
    inner = layout.inner
    if not search.scoring.pools(inner.counts):
        return search.truth_of(inner), slice(None)
    mine = [np.flatnonzero(layout.owner == o) for o in range(len(layout.outer))]
    order = np.concatenate(mine)
    together = Removals(list(layout.outer.sets), [np.concatenate([inner.tests[i] for i in each]) for each in mine])
    fits = Removals([inner.sets[i] for i in order], [inner.tests[i] for i in order])
    place = np.concatenate([np.arange(inner.part(i).start, inner.part(i).stop) for i in order])
    return search.truth_of(together, fits), place


def _inner_folds(layout: NestedSets, o: int, n: int) -> Folds:
    """The inner splits of an outer one of n rows, for standard errors."""
    mine = np.flatnonzero(layout.owner == o)
    everything = np.arange(n)
    splits = tuple(
        Split(np.setdiff1d(everything, layout.inner.sets[i], assume_unique=True), layout.inner.tests[i]) for i in mine
    )
    return Folds(n, (splits,), "inner")
