"""Nested cross-validation from one factor: every inner and outer fit of a candidate is read from the same P.

By default the inner folds of an outer fold are the other outer folds. The set left out
is then a pair of folds, and each of the F (F - 1) / 2 pairs serves both of its members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from itertools import combinations
from typing import TypeAlias

import numpy as np

from mercer.data.folds import Folds, Split
from mercer.data.rows import Array
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import underflow_is_zero
from mercer.runtime.progress import Progress
from mercer.selection.outcome import Outcome
from mercer.selection.plan import Plan
from mercer.selection.removals import NestedSets, Removals
from mercer.selection.scoring import Truth
from mercer.selection.search import Search
from mercer.selection.table import SearchTable
from mercer.solvers.plan import digits_left

InnerFolds: TypeAlias = Callable[[Array], Folds]  # of the rows of an outer training part


def other_folds(folds: Folds) -> NestedSets:
    """Nested sets whose inner folds are the other outer folds."""
    if not folds.partition or min(len(repeat) for repeat in folds.repeats) < 3:
        way_out = "Use cv=3 or more, or set inner to a number of folds."
        needs = f"This needs at least 3 disjoint folds that cover every row. {way_out}"
        raise InputError(f"inner=None uses the other outer folds as inner folds. {needs}")
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


def own_folds(folds: Folds, inner: InnerFolds) -> NestedSets:
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


@underflow_is_zero
def run_nested(
    search: Search, kernels: Sequence[Kernel], alphas: Array, inner: InnerFolds | None, rule: str, verbose: int = 0
) -> tuple[Outcome, float, str]:
    """All inner and outer fits of all candidates, the best one of every outer fold.

    Returns the outcome, the worst condition of the best candidates, and the route. `inner` draws splits within the
    rows of an outer training part; None is the other outer folds.
    """
    layout = other_folds(search.folds) if inner is None else own_folds(search.folds, inner)
    plan = search.plan(kernels, alphas, nested=layout)
    table, owner, outer_values = _try_candidates(search, layout, kernels, alphas, plan, verbose)
    chosen, best, worst = [], np.empty(len(layout.outer)), 1.0
    values, rows = np.empty_like(outer_values[0, 0]), np.arange(search.problem.n)
    for o in range(len(layout.outer)):
        part = replace(table, scores=table.scores[:, :, owner == o])
        mine = np.flatnonzero(layout.owner == o)
        splits = tuple(Split(np.delete(rows, layout.inner.sets[i]), layout.inner.tests[i]) for i in mine)
        choice = part.choose(rule, Folds(search.problem.n, (splits,), "inner"), search.failures)
        where = layout.outer.part(o)
        for column, a in enumerate(np.broadcast_to(choice.alphas, values.shape[1])):
            values[where, column] = outer_values[choice.kernel, a, where, column]
        best[o] = part.best_score(choice)
        worst = max(worst, part.worst_condition(choice))
        chosen.append({"kernel": kernels[choice.kernel], "alpha": search.alpha_of(alphas, choice)})
    scores = search.scoring.by_split(search.scored_truth, values)
    if search.pool_only:
        ends = np.cumsum([len(repeat) for repeat in search.folds.repeats])
        best = np.array([part.mean() for part in np.split(best, ends[:-1])])
    outcome = Outcome.of_splits(
        "nested cross-validation", scores, search.folds, search.scoring, base=search.baseline(),
        predictions=search.predictions(values), route=f"closed form, method {plan.chosen.name}",
        digits=digits_left(worst), chosen=chosen, inner_scores=best.reshape(len(search.folds.repeats), -1),
        candidates=len(kernels) * len(alphas), plan=plan,
    )  # fmt: skip
    return outcome, worst, plan.chosen.name


def _try_candidates(
    search: Search, layout: NestedSets, kernels: Sequence[Kernel], alphas: Array, plan: Plan, verbose: int
) -> tuple[SearchTable, Array, Array]:
    """Inner scores of all candidates, to which outer split each belongs, and outer held-out values."""
    truth, place = _inner_truth(search, layout)
    owner = layout.owner if truth.removals is layout.inner else np.arange(len(layout.outer))
    table = SearchTable.empty(kernels, alphas, len(truth.removals), search.scored_targets, search.scoring.name)
    count = len(layout.outer.rows)
    outer_values = np.empty((len(kernels), len(alphas), count, search.problem.Y.shape[1]))
    both = copy(search)  # of inner and outer fits
    both.removals = layout.everything
    progress = Progress("nested cross-validation", len(kernels) * len(alphas), verbose)
    with closing(both.all_held_out(kernels, alphas, plan)) as found:
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
    together = Removals(layout.outer.sets, [np.concatenate([inner.tests[i] for i in each]) for each in mine])
    fits = Removals([inner.sets[i] for i in order], [inner.tests[i] for i in order])
    place = np.concatenate([np.arange(inner.part(i).start, inner.part(i).stop) for i in order])
    return search.truth_of(together, fits), place
