"""Nested cross-validation from one factor: every inner and outer fit of a candidate is read from the same P.

With the lecture's Algorithm 1 the inner folds of an outer fold are the other outer folds. The set left out
is then a pair of folds, and each of the F (F - 1) / 2 pairs serves both of its members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from mercer.data.folds import Folds, Split
from mercer.data.rows import Array
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.runtime import available_bytes, thread_count
from mercer.runtime.progress import Progress
from mercer.selection.plan import SCORE_BYTES, Plan, Rates, SearchWork, plan
from mercer.selection.problem import Removals
from mercer.selection.scoring import Truth
from mercer.selection.search import Ordered, Search, common_features
from mercer.selection.sweep import Sweep
from mercer.selection.table import SearchTable, Winner


@dataclass(frozen=True, eq=False)
class NestedSets:
    """What is left out for all inner and outer fits, in the order of the rows worked on.

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
    """Algorithm 1: the inner folds are the other outer folds."""
    if not folds.partition or min(len(repeat) for repeat in folds.repeats) < 3:
        raise InputError(
            "inner=None takes the other outer folds as inner ones, which needs at least three disjoint folds "
            "that cover every row. Use cv=3 or more, or give inner= a number of folds."
        )
    outer = Removals.of(folds.splits, folds.n)
    sets, pair_tests, tests, test_sets, owner, base = [], [], [], [], [], 0
    for repeat in folds.repeats:
        for i, j in combinations(range(len(repeat)), 2):
            rows = np.union1d(repeat[i].test, repeat[j].test)
            sets.append(rows)
            pair_tests.append(np.concatenate([repeat[i].test, repeat[j].test]))
            tests += [repeat[i].test, repeat[j].test]
            test_sets += [rows, rows]
            owner += [base + j, base + i]  # fold i is tested for outer fold j, and the other way round
        base += len(repeat)
    return NestedSets(outer, Removals(sets, pair_tests), Removals(test_sets, tests), np.array(owner))


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
    """Raw outcome of a nested cross-validation, in the rows' own order.

    Attributes
    ----------
    choices : list of Winner
        The winner within each outer training part.
    inner_best : ndarray of shape (outer splits,)
        Its inner score.
    scores : ndarray of shape (outer splits,)
        Its score on the outer test rows.
    predictions : ndarray of shape (repeats, n, t)
        Outer held-out values.
    labels : ndarray of shape (repeats, n) or None
        Outer held-out labels of a classifier.
    condition : float
        The worst among the winners' systems.
    failures : list of str
        Why scores are missing, where some are.
    plan : Plan
        By which route.
    """

    choices: list[Winner]
    inner_best: Array
    scores: Array
    predictions: Array
    labels: Array | None
    condition: float
    failures: list[str]
    plan: Plan


def nested_plan(
    search: Search, layout: NestedSets, kernels: Sequence[Kernel], alphas: Array, rates: Rates | None = None
) -> Plan:
    """The route for all inner and outer fits."""
    t = search.problem.Y.shape[1]
    scores = SCORE_BYTES * len(layout.inner) * (t if search.per_target else 1)
    work = SearchWork.of(
        layout.everything,
        n=search.problem.n,
        features=common_features(kernels, search.rows, search.problem),
        kernels=len(kernels),
        alphas=len(alphas),
        targets=t,
        threads=thread_count(),
        refit_only=search.refit_only,
        refit=False,
        kept=len(kernels) * len(alphas) * (scores + 8 * t * len(layout.outer.rows)),
    )
    return plan(work, available_bytes(), rates, f"nested, {search.folds.label}")


def run_nested(
    search: Search,
    kernels: Sequence[Kernel],
    alphas: Array,
    inner: Callable[[Array], Folds] | None,
    rule: str,
    verbose: int = 0,
) -> NestedRun:
    """All inner and outer fits of all candidates, and the winner of every outer fold."""
    ordered = search.ordered()
    layout = _layout(ordered, inner)
    route = nested_plan(search, layout, kernels, alphas)
    table, owner, outer_values, failures = _swept(ordered, layout, kernels, alphas, route, verbose)
    choices, best, worst = [], np.empty(len(layout.outer)), 1.0
    values = np.empty_like(outer_values[0, 0])
    for o in range(len(layout.outer)):
        part = replace(table, scores=table.scores[:, :, owner == o])
        choice = part.choose(rule, _inner_folds(layout, o), failures)
        where = layout.outer.part(o)
        columns = choice.alphas if len(choice.alphas) == values.shape[1] else choice.alphas * values.shape[1]
        for column, a in enumerate(columns):
            values[where, column] = outer_values[choice.kernel, a, where, column]
        best[o] = float(np.mean([part.mean[choice.kernel, a, j] for j, a in enumerate(choice.alphas)]))
        worst = max(worst, part.worst_condition(choice))
        choices.append(choice)
    truth = ordered.truth_of(layout.outer)
    scores = search.scoring.by_split(ordered.pooled_truth if ordered.pool_only else truth, values)
    if ordered.pool_only:
        best = np.array([part.mean() for part in np.split(best, _ends(ordered.folds)[:-1])])
    labels = None if ordered.classes is None else ordered.labels_by_repeat(truth.outcome(values))
    return NestedRun(choices, best, scores, ordered.by_repeat(values), labels, worst, failures, route)


def _layout(ordered: Ordered, inner: Callable[[Array], Folds] | None) -> NestedSets:
    if inner is None:
        return other_folds(ordered.folds)
    # drawn on the rows as the outer split names them, whatever order they are worked on in
    return own_folds(ordered.folds, lambda train: inner(ordered.order[train]))


def _swept(
    ordered: Ordered, layout: NestedSets, kernels: Sequence[Kernel], alphas: Array, route: Plan, verbose: int
) -> tuple[SearchTable, Array, Array, list[str]]:
    """Inner scores of all candidates, to which outer split each belongs, outer values, and why scores failed."""
    scoring, per_target = ordered.search.scoring, ordered.search.per_target
    truth = _inner_truth(ordered, layout)
    owner = layout.owner if truth.removals is layout.inner else np.arange(len(layout.outer))
    t, shape, count = ordered.problem.Y.shape[1], (len(kernels), len(alphas)), len(layout.outer.rows)
    targets = t if per_target else 1
    table = SearchTable(
        kernels,
        alphas,
        np.empty((*shape, len(truth.removals), targets)),
        np.zeros((*shape, targets)),
        np.empty(shape),
        np.empty(shape, dtype=np.intp),
        scoring.name,
    )
    outer_values, failures = np.empty((*shape, count, t)), ordered.failures
    place = _places(layout, truth.removals)

    progress = Progress("nested cross-validation", len(kernels) * len(alphas), verbose)
    sweep = Sweep(kernels, alphas, ordered.rows, ordered.problem, layout.everything, route)
    with closing(sweep.run()) as found:
        for k, a, held_out in found:
            outer_values[k, a] = held_out.values[:count]
            inner = held_out.values[count:][place]
            scores = scoring.by_split(truth, inner, per_target=per_target, failures=failures)
            table.scores[k, a] = scores if per_target else scores[:, None]
            table.condition[k, a], table.refits[k, a] = held_out.condition, held_out.refits
            progress.step()
    return table, owner, outer_values, failures


def _ends(folds: Folds) -> Array:
    return np.cumsum([len(repeat) for repeat in folds.repeats])


def _inner_truth(ordered: Ordered, layout: NestedSets) -> Truth:
    """The inner test sets as they are scored: one by one, or pooled where one row has no score."""
    inner = layout.inner
    if not ordered.search.scoring.pools(inner.counts):
        return ordered.truth_of(inner)
    mine = [np.flatnonzero(layout.owner == o) for o in range(len(layout.outer))]
    together = Removals(list(layout.outer.sets), [np.concatenate([inner.tests[i] for i in each]) for each in mine])
    fits = Removals([inner.sets[i] for each in mine for i in each], [inner.tests[i] for each in mine for i in each])
    return ordered.truth_of(together, fits)


def _places(layout: NestedSets, scored: Removals) -> Any:
    """Where the values of the scored test sets stand among those of the inner ones."""
    if scored is layout.inner:
        return slice(None)
    order = np.concatenate([np.flatnonzero(layout.owner == o) for o in range(len(layout.outer))])
    return np.concatenate([np.arange(layout.inner.part(i).start, layout.inner.part(i).stop) for i in order])


def _inner_folds(layout: NestedSets, o: int) -> Folds:
    """Sizes of the inner splits of an outer one, for standard errors."""
    mine = np.flatnonzero(layout.owner == o)
    n = sum(len(test) for test in layout.outer.tests)
    everything = np.arange(n)
    splits = tuple(
        Split(np.setdiff1d(everything, layout.inner.sets[i], assume_unique=True), layout.inner.tests[i]) for i in mine
    )
    return Folds(n, (splits,), "inner")
