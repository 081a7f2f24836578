"""Nested cross-validation from one factor: every inner and outer fit of a candidate is read from the same P.

With the lecture's Algorithm 1 the inner folds of an outer fold are the other outer folds. The set left out
is then a pair of folds, and each of the F (F - 1) / 2 pairs serves both of its members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from mercer.backends import available_bytes, thread_count
from mercer.data.folds import Folds, Split
from mercer.data.rows import Array
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.selection.heldout import HeldOut
from mercer.selection.plan import Plan, Rates, Work, plan
from mercer.selection.problem import Removals
from mercer.selection.progress import Progress
from mercer.selection.scoring import Truth
from mercer.selection.search import Ordered, Search, common_features
from mercer.selection.sweep import Sweep
from mercer.selection.table import Choice, SearchTable


@dataclass(frozen=True, eq=False)
class Layout:
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


def other_folds(folds: Folds) -> Layout:
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
    return Layout(outer, Removals(sets, pair_tests), Removals(test_sets, tests), np.array(owner))


def own_folds(folds: Folds, inner: Callable[[Array], Folds]) -> Layout:
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
    return Layout(outer, removals, removals, np.array(owner))


@dataclass(frozen=True, eq=False)
class NestedRun:
    """Raw outcome of a nested cross-validation, in the rows' own order.

    Attributes
    ----------
    choices : list of Choice
        The winner within each outer training part.
    inner_best : ndarray of shape (outer splits,)
        Its inner score.
    scores : ndarray of shape (outer splits,)
        Its score on the outer test rows.
    predictions : ndarray of shape (repeats, n, t)
        Outer held-out values.
    labels : ndarray of shape (repeats, n) or None
        Outer held-out labels of a classifier.
    plan : Plan
        By which route.
    """

    choices: list[Choice]
    inner_best: Array
    scores: Array
    predictions: Array
    labels: Array | None
    plan: Plan


def nested_plan(
    search: Search, layout: Layout, kernels: Sequence[Kernel], alphas: Array, rates: Rates | None = None
) -> Plan:
    """The route for all inner and outer fits."""
    work = Work.of(
        layout.everything,
        n=search.problem.n,
        features=common_features(kernels, search.rows, search.problem),
        kernels=len(kernels),
        alphas=len(alphas),
        targets=search.problem.Y.shape[1],
        threads=thread_count(),
        refit_only=search.refit_only,
        refit=False,
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
    per_target, scoring = search.per_target, search.scoring
    truth = Truth(search.y[ordered.order], _scored(layout, pooled=scoring.needs_many), ordered.classes)
    owner = layout.owner if truth.removals is layout.inner else np.arange(len(layout.outer))
    t, targets = search.problem.Y.shape[1], search.problem.Y.shape[1] if per_target else 1
    table = SearchTable(
        kernels,
        alphas,
        np.empty((len(kernels), len(alphas), len(truth.removals), targets)),
        np.zeros((len(kernels), len(alphas), targets)),
        np.empty((len(kernels), len(alphas))),
        np.empty((len(kernels), len(alphas)), dtype=np.intp),
        scoring.name,
    )
    count = len(layout.outer.rows)
    outer_values = np.empty((len(kernels), len(alphas), count, t))
    place = _places(layout, truth.removals)

    def note(k: int, a: int, held_out: HeldOut) -> None:
        outer_values[k, a] = held_out.values[:count]
        scores = scoring.by_split(truth, held_out.values[count:][place], per_target=per_target)
        table.scores[k, a] = scores if per_target else scores[:, None]
        table.condition[k, a], table.refits[k, a] = held_out.condition, held_out.refits

    sweep = Sweep(kernels, alphas, ordered.rows, ordered.problem, layout.everything, route)
    sweep.run(note, progress=Progress("nested cross-validation", len(kernels) * len(alphas), verbose))
    choices, best, values = [], np.empty(len(layout.outer)), np.empty((count, t))
    for o in range(len(layout.outer)):
        mine = np.flatnonzero(owner == o)
        part = SearchTable(
            kernels, alphas, table.scores[:, :, mine], table.pooled, table.condition, table.refits, scoring.name
        )
        choice = part.choose(rule, _inner_folds(layout, o))
        where = layout.outer.part(o)
        columns = choice.alphas if len(choice.alphas) == t else choice.alphas * t
        for column, a in enumerate(columns):
            values[where, column] = outer_values[choice.kernel, a, where, column]
        best[o] = float(np.mean([part.mean[choice.kernel, a, j] for j, a in enumerate(choice.alphas)]))
        choices.append(choice)
    outer_truth = Truth(search.y[ordered.order], layout.outer, ordered.classes)
    pooled = scoring.needs_many and bool((layout.outer.counts == 1).any())
    scores = scoring.by_split(ordered.pooled_truth if pooled else outer_truth, values)
    if pooled:
        best = np.array(
            [best[len(repeat) * r : len(repeat) * (r + 1)].mean() for r, repeat in enumerate(ordered.folds.repeats)]
        )
    labels = None if ordered.classes is None else ordered.labels_by_repeat(outer_truth.outcome(values))
    return NestedRun(choices, best, scores, ordered.by_repeat(values), labels, route)


def _layout(ordered: Ordered, inner: Callable[[Array], Folds] | None) -> Layout:
    if inner is None:
        return other_folds(ordered.folds)

    def in_own_order(train: Array) -> Folds:
        """Inner folds are drawn on the rows in their own order, whatever order they are worked on in."""
        own = ordered.order[train]
        sorting = np.argsort(own, kind="stable")
        drawn = inner(own[sorting])
        repeats = tuple(
            tuple(Split(np.sort(sorting[s.train]), np.sort(sorting[s.test])) for s in repeat)
            for repeat in drawn.repeats
        )
        return Folds(drawn.n, repeats, drawn.label)

    return own_folds(ordered.folds, in_own_order)


def _scored(layout: Layout, *, pooled: bool) -> Removals:
    """The inner test sets as they are scored: one by one, or pooled where one row has no score."""
    if not pooled or not (layout.inner.counts == 1).any():
        return layout.inner
    outer = range(len(layout.outer))
    tests = [np.concatenate([layout.inner.tests[i] for i in np.flatnonzero(layout.owner == o)]) for o in outer]
    return Removals(list(layout.outer.sets), tests)


def _places(layout: Layout, scored: Removals) -> Any:
    """Where the values of the scored test sets stand among those of the inner ones."""
    if scored is layout.inner:
        return slice(None)
    order = np.concatenate([np.flatnonzero(layout.owner == o) for o in range(len(layout.outer))])
    return np.concatenate([np.arange(layout.inner.part(i).start, layout.inner.part(i).stop) for i in order])


def _inner_folds(layout: Layout, o: int) -> Folds:
    """Sizes of the inner splits of an outer one, for standard errors."""
    mine = np.flatnonzero(layout.owner == o)
    n = sum(len(test) for test in layout.outer.tests)
    everything = np.arange(n)
    splits = tuple(
        Split(np.setdiff1d(everything, layout.inner.sets[i], assume_unique=True), layout.inner.tests[i]) for i in mine
    )
    return Folds(n, (splits,), "inner")
