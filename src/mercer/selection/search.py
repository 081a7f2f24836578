"""A search: every candidate scored on every split, resumable and interruptible."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property

import numpy as np

from mercer.data.folds import Folds
from mercer.data.rows import Array, File, Rows
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.runtime import available_bytes, thread_count
from mercer.runtime.checkpoint import Checkpoint
from mercer.runtime.progress import Progress
from mercer.selection.candidates import Candidates, TriedKernel
from mercer.selection.fingerprint import fingerprint
from mercer.selection.heldout import HeldOut
from mercer.selection.plan import KEPT, SCORE_BYTES, Plan, Rates, SearchWork, plan
from mercer.selection.problem import Problem, Removals, taken
from mercer.selection.scoring import Classes, Scoring, Truth
from mercer.selection.table import SearchTable


class Search:
    """One search over kernels and alphas, on folds that were drawn once; everything in the order of the rows given.

    Parameters
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

    Attributes
    ----------
    removals : Removals
        What the splits leave out.
    pool_only : bool
        Whether scores are of all test rows of a repeat together.
    failures : list of str
        Why scores are missing, where some are.
    """

    def __init__(
        self,
        rows: Rows,
        y: Array,
        problem: Problem,
        folds: Folds,
        scoring: Scoring,
        classes: Classes | None = None,
        *,
        per_target: bool = False,
        refit_only: bool = False,
        method: str = "folds",
        sample_weight: Array | None = None,
    ) -> None:
        self.rows, self.y, self.folds, self.scoring, self.classes = rows, y, folds, scoring, classes
        self.problem = problem if problem.labels else problem.centred()  # labels are near zero as they are
        self.per_target, self.refit_only, self.method = per_target, refit_only, method
        self.sample_weight = sample_weight
        self.removals = Removals.of(folds.splits, folds.n)
        self.pool_only = scoring.pools(self.removals.counts)
        self.failures: list[str] = []
        self._tried: list[Candidates] = []
        self._found: dict[tuple[Kernel, float], HeldOut] = {}

    @property
    def scored_targets(self) -> int:
        """How many targets are scored apart."""
        return self.problem.Y.shape[1] if self.per_target else 1

    # -- the plan and the candidates --------------------------------------------------------------------

    def plan(self, kernels: Sequence[Kernel], alphas: Array, rates: Rates | None = None) -> Plan:
        """Which route would be taken, at what cost; nothing is run."""
        if self.method == "gcv" and self.problem.gram:
            raise InputError("cv='gcv' does not support precomputed kernels. Use leave-one-out, cv=None.")
        values = 8 * len(self.removals.rows) * self.problem.Y.shape[1]
        kept = SCORE_BYTES * len(self.removals) * self.scored_targets
        kept += values if values * len(kernels) * len(alphas) <= KEPT else 0
        return self.plan_for(self.removals, kernels, alphas, kept, rates=rates)

    def plan_for(
        self,
        removals: Removals,
        kernels: Sequence[Kernel],
        alphas: Array,
        kept: int,
        *,
        rates: Rates | None = None,
        nested: bool = False,
    ) -> Plan:
        """The plan for any removals; `kept` bytes of each candidate stay until the end."""
        work = SearchWork.of(
            removals,
            n=self.problem.n,
            features=self._features(kernels),
            kernels=len(kernels),
            alphas=len(alphas),
            targets=self.problem.Y.shape[1],
            threads=thread_count(),
            refit_only=self.refit_only,
            refit=not nested,
            kept=kept * len(kernels) * len(alphas),
            iterable=not nested and all(kernel.kind != "gram" for kernel in kernels),
            method="folds" if nested else self.method,
        )
        label = f"nested, {self.folds.label}" if nested else self.folds.label
        return plan(work, available_bytes(), rates, label)

    def _features(self, kernels: Sequence[Kernel]) -> int | None:
        """Explicit features of the largest kernel; None where one has none, or rows are not all used."""
        if self.rows.sparse or len(self.problem.unused):
            return None
        counts = [kernel.count_features(self.rows) for kernel in kernels]
        return None if None in counts else max(count for count in counts if count is not None)

    @cached_property
    def _sorted(self) -> tuple[Array, Rows, Problem]:
        order = self.folds.order()
        if np.array_equal(order, np.arange(len(order))):
            return order, self.rows, self.problem
        return order, *taken(self.rows, self.problem, order)

    def candidates(
        self, kernels: Sequence[Kernel], alphas: Array, plan: Plan, removals: Removals | None = None
    ) -> Candidates:
        """Kernels and alphas on the rows of this search, which are worked on in the order of their folds.

        Sets are slices then, which are fastest. Held-out values do not depend on that order.
        """
        order, rows, problem = self._sorted
        # the best candidate's predictions are wanted to all their digits: done again, unless it is the only candidate
        many = removals is None and self.removals.single and len(kernels) * len(alphas) > 1
        ranks = self.scoring.of_ranks or (removals is not None and problem.labels)  # nested predictions are kept
        errors_only = many and self.scoring.of_errors and self.classes is None
        sets = (removals or self.removals).renumbered(order)
        return Candidates(kernels, alphas, rows, problem, sets, plan, errors_only=errors_only, ranks=ranks)

    # -- the search -------------------------------------------------------------------------------------

    def run(
        self, kernels: Sequence[Kernel], alphas: Array, plan: Plan, *, verbose: int = 0, checkpoint: File = None
    ) -> SearchTable:
        """Score every candidate; with `checkpoint`, what is finished survives."""
        splits = len(self.folds.repeats) if self.pool_only else len(self.removals)
        table = SearchTable.empty(kernels, alphas, splits, self.scored_targets, self.scoring.name)
        candidates = self.candidates(kernels, alphas, plan)
        saved, finished = None, np.zeros(len(kernels), dtype=bool)
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, self._mark(candidates))
            _restore(table, saved, finished)
            saved.try_folder()  # refused now rather than after the work
        progress = Progress("model selection", len(alphas) * int((~finished).sum()), verbose)
        self._tried.append(candidates)
        keep = 8 * len(kernels) * len(alphas) * len(self.removals.rows) * self.problem.Y.shape[1] <= KEPT
        nothing = np.empty((0, 0))
        left = np.full(len(kernels), len(alphas))
        try:
            with closing(candidates.all_held_out(finished.tolist(), by_kernel=saved is not None)) as found:
                for k, a, held_out in found:
                    self._score(table, k, a, held_out)
                    self._found[kernels[k], float(alphas[a])] = held_out if keep else replace(held_out, values=nothing)
                    progress.step()
                    left[k] -= 1
                    if saved is not None and not left[k]:
                        finished[k] = True
                        saved.save(table.arrays() | {"finished": finished})
        except KeyboardInterrupt as stop:
            stop.add_note("The search was interrupted; what was finished is in the search's cv_results_.")
            stop.table = table  # type: ignore[attr-defined]
            raise
        return table

    def _score(self, table: SearchTable, k: int, a: int, held_out: HeldOut) -> None:
        pooled = self.scored(self.pooled_truth, held_out.values)
        table.scores[k, a] = pooled if self.pool_only else self.scored(self.truth, held_out.values)
        table.pooled[k, a] = pooled.mean(axis=0)
        table.condition[k, a], table.refits[k, a] = held_out.condition, held_out.refits

    def scored(self, truth: Truth, values: Array) -> Array:
        """Scores of held-out values, test sets x targets; why some are missing is added to `failures`."""
        scores = self.scoring.by_split(truth, values, per_target=self.per_target, failures=self.failures)
        return scores if self.per_target else scores[:, None]

    def truth_of(self, removals: Removals, fits: Removals | None = None) -> Truth:
        """What held-out values at these test sets are held against."""
        return Truth(self.y, removals, self.classes, fits, self.problem.centre, self.sample_weight)

    @cached_property
    def truth(self) -> Truth:
        """The test rows of every split."""
        return self.truth_of(self.removals)

    @cached_property
    def pooled_truth(self) -> Truth:
        """All test rows of a repeat as one set; what was left out differs from row to row."""
        ends = np.cumsum([len(repeat) for repeat in self.folds.repeats])
        tests = [
            np.concatenate(self.removals.tests[end - len(repeat) : end])
            for end, repeat in zip(ends, self.folds.repeats, strict=True)
        ]
        return self.truth_of(Removals([np.empty(0, dtype=np.intp)] * len(tests), tests), self.removals)

    def _mark(self, candidates: Candidates) -> str:
        problem, sets, tests = candidates.problem, candidates.removals.sets, candidates.removals.tests
        return fingerprint(
            candidates.rows.values, self.rows.names, self.y, problem.weights, problem.intercept, problem.balance, *sets,
            *map(np.sort, tests), list(candidates.kernels), candidates.alphas, self.scoring.name, self.scoring.loss,
            self.scoring.scorer, self.per_target, candidates.route,
        )  # fmt: skip

    # -- held-out predictions of one candidate ------------------------------------------------------------

    def probe_errors(self, table: SearchTable) -> dict[str, Array]:
        """Standard error of every squared score that is due to the random vectors of its trace."""
        pairs = [(kernel, float(alpha)) for kernel in table.kernels for alpha in table.alphas]
        spread = np.array([self._found[pair].spread if pair in self._found else np.nan for pair in pairs])
        return {"probe_error": spread * np.abs(table.mean.mean(axis=2).ravel())}

    def values(self, kernel: Kernel, alphas: Sequence[float], plan: Plan) -> tuple[Array, float]:
        """Held-out values of one kernel at every tested row, each target at its own alpha; and the worst condition.

        A candidate that was tried is done again as it was then, if it was not kept or small predictions were left
        without digits; any other is done by this plan.
        """
        found: dict[float, HeldOut] = {}
        systems: dict[int, TriedKernel] = {}
        other: Candidates | None = None
        for alpha in sorted(set(alphas)):
            known = self._found.get((kernel, alpha))
            if known is not None and len(known.values) and not known.cancelled:
                found[alpha] = known
                continue
            tried = (each for each in self._tried if kernel in each.kernels and alpha in each.alphas)
            candidates = next(tried, None) or other
            if candidates is None:
                candidates = other = self.candidates([kernel], np.array(alphas), plan)
            if id(candidates) not in systems:
                systems[id(candidates)] = candidates.system(kernel)
            found[alpha] = candidates.held_out(systems[id(candidates)], alpha)
        worst = max(held_out.condition for held_out in found.values())
        return np.stack([found[alpha].values[:, t] for t, alpha in enumerate(alphas)], axis=1), worst

    @cached_property
    def _tested(self) -> tuple[Array, Array]:
        """Repeat and row of every held-out value."""
        repeats = np.repeat(np.arange(len(self.folds.repeats)), [len(repeat) for repeat in self.folds.repeats])
        return np.repeat(repeats, self.removals.counts), self.removals.rows

    def labels_by_repeat(self, labels: Array) -> Array:
        """Held-out labels, repeats x n; None for rows that are never tested."""
        result = np.full((len(self.folds.repeats), self.folds.n), None, dtype=object)
        result[self._tested] = labels
        whole = all(label is not None for label in result.ravel())
        return result.astype(labels.dtype) if whole else result

    def by_repeat(self, values: Array) -> Array:
        """Held-out predictions, repeats x n x t: the mean for a row tested more than once in a repeat, else NaN."""
        result = np.zeros((len(self.folds.repeats), self.folds.n, values.shape[1]))
        count = np.zeros(result.shape[:2])
        np.add.at(result, self._tested, values)
        np.add.at(count, self._tested, 1)
        with np.errstate(invalid="ignore"):
            return np.asarray(result / np.where(count > 0, count, np.nan)[:, :, None] + self.problem.centre)


def _restore(table: SearchTable, saved: Checkpoint, finished: Array) -> None:
    """Put what a checkpoint holds into the table, and say which kernels it finished."""
    stored = saved.load(table.arrays() | {"finished": finished})
    if stored is not None:
        finished[:] = stored["finished"]
        for name, array in table.arrays().items():
            array[finished] = stored[name][finished]
