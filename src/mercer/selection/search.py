"""A search: every candidate scored on every split, resumable, interruptible, and able to prove itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.folds import Folds
from mercer.data.rows import Array, Rows
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.runtime import available_bytes, thread_count
from mercer.runtime.checkpoint import Checkpoint
from mercer.runtime.progress import Progress
from mercer.selection.fingerprint import fingerprint
from mercer.selection.heldout import HeldOut
from mercer.selection.iterated import Candidate
from mercer.selection.plan import KEPT, SCORE_BYTES, Plan, Rates, SearchWork, plan
from mercer.selection.problem import Problem, Removals
from mercer.selection.scoring import Classes, Scoring, Truth
from mercer.selection.sweep import Sweep
from mercer.selection.table import SearchTable


def common_features(kernels: Sequence[Kernel], rows: Rows, problem: Problem) -> int | None:
    """Explicit features of the largest kernel; None where one has none, or rows are not all used."""
    if rows.sparse or len(problem.unused):
        return None
    counts = [kernel.count_features(rows) for kernel in kernels]
    return None if None in counts else max(count for count in counts if count is not None)


@dataclass(frozen=True, eq=False)
class Search:
    """One search over kernels and alphas, on folds that were drawn once.

    Attributes
    ----------
    rows : Rows
        All rows.
    y : ndarray
        As given: numbers, or labels.
    problem : Problem
        Targets, weights, intercept.
    folds : Folds
        The splits.
    scoring : Scoring
        How predictions are scored.
    classes : Classes or None
        Of a classifier.
    per_target : bool
        Whether scores are kept for each target.
    refit_only : bool
        Whether weights change with every split, so that nothing but refitting is exact.
    method : str
        "gcv" or "held-out" where `cv` was one of them; otherwise "folds".
    sample_weight : ndarray of shape (n,) or None
        As given, without weights of classes, for scorers that ask for them.
    """

    rows: Rows
    y: Array
    problem: Problem
    folds: Folds
    scoring: Scoring
    classes: Classes | None = None
    per_target: bool = False
    refit_only: bool = False
    method: str = "folds"
    sample_weight: Array | None = None

    def ordered(self) -> Ordered:
        """The same search with rows ordered by fold, so that sets are slices."""
        order = self.folds.order()
        values = self.rows.values[order]
        return Ordered(self, order, Rows(values, self.rows.names))

    def plan(self, kernels: Sequence[Kernel], alphas: Array, rates: Rates | None = None) -> Plan:
        """Which route would be taken, at what cost; nothing is run."""
        if self.method == "gcv" and self.problem.gram:
            raise InputError(
                "cv='gcv' takes kernels of rows; a matrix that is given has room for leave-one-out, cv=None."
            )
        removals, t = Removals.of(self.folds.splits, self.folds.n), self.problem.Y.shape[1]
        values = 8 * len(removals.rows) * t * len(kernels) * len(alphas)
        scores = SCORE_BYTES * len(removals) * (t if self.per_target else 1) * len(kernels) * len(alphas)
        work = SearchWork.of(
            removals,
            n=self.problem.n,
            features=common_features(kernels, self.rows, self.problem),
            kernels=len(kernels),
            alphas=len(alphas),
            targets=t,
            threads=thread_count(),
            refit_only=self.refit_only,
            kept=scores + (values if values <= KEPT else 0),
            iterable=all(kernel.kind != "gram" for kernel in kernels),
            method=self.method,
        )
        return plan(work, available_bytes(), rates, self.folds.label)


class Ordered:
    """A search in the order of its folds: runs candidates, and gives predictions in the rows' own order.

    Parameters
    ----------
    search : Search
        What is searched.
    order : ndarray of int
        rows[order] are worked on.
    rows : Rows
        The rows in that order.
    """

    def __init__(self, search: Search, order: Array, rows: Rows) -> None:
        self.search, self.order = search, order
        self.rows = rows
        problem, classes = search.problem, search.classes
        if problem.gram:
            self.rows = Rows(rows.values[:, order], rows.names)
        weights = None if problem.weights is None else problem.weights[order]
        balance = None if problem.balance is None else problem.balance[order]
        self.problem = replace(problem, Y=problem.Y[order], weights=weights, balance=balance)
        self.classes = None if classes is None else Classes(classes.labels, classes.numbers[order])
        if not problem.labels:  # which are near zero as they are
            self.problem = self.problem.centred()
        self.folds = search.folds.reordered(order)
        self.removals = Removals.of(self.folds.splits, self.folds.n)
        self.truth = self.truth_of(self.removals)
        self.pooled_truth = self.truth_of(_pooled(self.folds, self.removals), self.removals)
        self.kept: dict[Kernel, dict[float, Array]] = {}
        self.runs: list[Sweep] = []
        self.failures: list[str] = []
        self.spreads: dict[tuple[Kernel, float], float] = {}
        self.pool_only = search.scoring.pools(self.removals.counts)

    def truth_of(self, removals: Removals, fits: Removals | None = None) -> Truth:
        """What held-out values at these test sets are held against."""
        weights = None if self.search.sample_weight is None else self.search.sample_weight[self.order]
        return Truth(self.search.y[self.order], removals, self.classes, fits, self.problem.centre, weights)

    def run(
        self, kernels: Sequence[Kernel], alphas: Array, route: Plan, *, verbose: int = 0, checkpoint: Any = None
    ) -> SearchTable:
        """Score every candidate; with `checkpoint`, what is finished survives."""
        table = self._empty(kernels, alphas)
        saved, skip = None, [False] * len(kernels)
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, self._mark(kernels, alphas, route))
            skip = _restore(table, saved, skip)
            saved.try_folder()  # refused now rather than after the work
        progress = Progress("model selection", len(alphas) * (len(kernels) - sum(skip)), verbose)
        sweep = Sweep(kernels, alphas, self.rows, self.problem, self.removals, route)
        self.runs.append(sweep)
        kept = [self.kept.setdefault(kernel, {}) for kernel in kernels]
        size = 8 * len(kernels) * len(alphas) * len(self.removals.rows) * self.problem.Y.shape[1]
        left = np.full(len(kernels), len(alphas))
        try:
            with closing(sweep.run(list(skip), by_kernel=saved is not None)) as found:
                for k, a, held_out in found:
                    self._score(table, k, a, held_out)
                    self.spreads[kernels[k], float(alphas[a])] = held_out.spread
                    if size <= KEPT:
                        kept[k][float(alphas[a])] = held_out.values
                    progress.step()
                    left[k] -= 1
                    if saved is not None and not left[k]:
                        skip[k] = True
                        saved.save(_arrays(table) | {"finished": np.array(skip)})
        except KeyboardInterrupt as stop:
            stop.add_note("The search was interrupted; what was finished is in the search's cv_results_.")
            stop.table = table  # type: ignore[attr-defined]
            raise
        return table

    def probe_errors(self, table: SearchTable) -> dict[str, Array]:
        """Standard error of every squared score that is due to the random vectors of its trace."""
        pairs = [(kernel, float(alpha)) for kernel in table.kernels for alpha in table.alphas]
        spread = np.array([self.spreads.get(pair, np.nan) for pair in pairs])
        return {"probe_error": spread * np.abs(table.mean.mean(axis=2).ravel())}

    def _empty(self, kernels: Sequence[Kernel], alphas: Array) -> SearchTable:
        targets = self.problem.Y.shape[1] if self.search.per_target else 1
        splits = len(self.folds.repeats) if self.pool_only else len(self.removals)
        shape = (len(kernels), len(alphas))
        return SearchTable(
            kernels,
            alphas,
            np.full((*shape, splits, targets), np.nan),
            np.full((*shape, targets), np.nan),
            np.full(shape, np.nan),
            np.zeros(shape, dtype=np.intp),
            self.search.scoring.name,
        )

    def _score(self, table: SearchTable, k: int, a: int, held_out: HeldOut) -> None:
        scoring, per_target = self.search.scoring, self.search.per_target

        def scored(truth: Truth) -> Array:
            scores = scoring.by_split(truth, held_out.values, per_target=per_target, failures=self.failures)
            return scores if per_target else scores[:, None]

        pooled = scored(self.pooled_truth)
        table.scores[k, a] = pooled if self.pool_only else scored(self.truth)
        table.pooled[k, a] = pooled.mean(axis=0)
        table.condition[k, a], table.refits[k, a] = held_out.condition, held_out.refits

    def _mark(self, kernels: Sequence[Kernel], alphas: Array, route: Plan) -> str:
        problem, search = self.problem, self.search
        return fingerprint(
            self.rows.values, self.rows.names, search.y, problem.weights, problem.intercept, problem.balance,
            *self.removals.sets, *self.removals.tests, list(kernels), alphas, search.scoring.name, search.scoring.loss,
            search.scoring.scorer, search.per_target, route.chosen.name,
        )  # fmt: skip

    def kept_values(self, kernel: Kernel, alphas: Sequence[float]) -> Array | None:
        """Held-out values of a candidate that was tried, each target at its own alpha; None if not kept."""
        kept = self.kept.get(kernel, {})
        if not kept.keys() >= set(alphas):
            return None
        return np.stack([kept[alpha][:, t] for t, alpha in enumerate(alphas)], axis=1)

    def values(self, kernel: Kernel, alphas: Sequence[float], route: Plan) -> tuple[Array, float]:
        """Held-out values of one kernel at every tested row, each target at its own alpha; and the worst condition.

        A candidate that was tried is done again as it was then; any other by this route.
        """
        found: dict[float, HeldOut] = {}
        systems: dict[int, Candidate] = {}
        other = Sweep([kernel], np.array(alphas), self.rows, self.problem, self.removals, route)
        for alpha in sorted(set(alphas)):
            tried = (sweep for sweep in self.runs if kernel in sweep.kernels and alpha in sweep.alphas)
            sweep = next(tried, other)
            if id(sweep) not in systems:
                systems[id(sweep)] = sweep.system(kernel)
            found[alpha] = sweep.held_out(systems[id(sweep)], alpha)
        worst = max(each.condition for each in found.values())
        if len(found) == 1:
            return found[alphas[0]].values, worst
        return np.stack([found[alpha].values[:, t] for t, alpha in enumerate(alphas)], axis=1), worst

    @cached_property
    def _tested(self) -> tuple[Array, Array]:
        """Repeat and row, in the rows' own order, of every tested row."""
        repeats = np.repeat(np.arange(len(self.folds.repeats)), [len(repeat) for repeat in self.folds.repeats])
        return np.repeat(repeats, self.removals.counts), self.order[self.removals.rows]

    def labels_by_repeat(self, labels: Array) -> Array:
        """Held-out labels in the rows' own order, repeats x n; None for rows that are never tested."""
        result = np.full((len(self.folds.repeats), self.folds.n), None, dtype=object)
        result[self._tested] = labels
        whole = all(label is not None for label in result.ravel())
        return result.astype(labels.dtype) if whole else result

    def by_repeat(self, values: Array) -> Array:
        """Held-out predictions in the rows' own order, repeats x n x t; a row tested more than once in a
        repeat gets the mean, one that never is gets NaN.
        """
        result = np.zeros((len(self.folds.repeats), self.folds.n, values.shape[1]))
        count = np.zeros(result.shape[:2])
        np.add.at(result, self._tested, values)
        np.add.at(count, self._tested, 1)
        with np.errstate(invalid="ignore"):
            return np.asarray(result / np.where(count > 0, count, np.nan)[:, :, None] + self.problem.centre)


def _pooled(folds: Folds, removals: Removals) -> Removals:
    """All test sets of a repeat as one; what was left out differs from row to row."""
    tests, i = [], 0
    for repeat in folds.repeats:
        tests.append(np.concatenate(removals.tests[i : i + len(repeat)]))
        i += len(repeat)
    return Removals([np.empty(0, dtype=np.intp)] * len(tests), tests)


def _arrays(table: SearchTable) -> dict[str, Array]:
    return {name: getattr(table, name) for name in ("scores", "pooled", "condition", "refits")}


def _restore(table: SearchTable, saved: Checkpoint, skip: list[bool]) -> list[bool]:
    stored = saved.load(_arrays(table) | {"finished": np.array(skip)})
    if stored is None:
        return skip
    done = stored["finished"]
    for name, array in _arrays(table).items():
        array[done] = stored[name][done]
    return [bool(value) for value in done]
