"""A search: every candidate scored on every split, interruptible, and resumable from a checkpoint."""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import cached_property, reduce
from types import FunctionType
from typing import Any

import numpy as np

from mercer.data.folds import Folds
from mercer.data.rows import Array, File, Rows
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.runtime import available_bytes, blas_for, each, single_threaded_blas, thread_count, threads
from mercer.runtime.container import Checkpoint
from mercer.runtime.progress import Progress
from mercer.selection.candidate import Candidate, HeldOut
from mercer.selection.plan import KEPT, SCORE_BYTES, Plan, Rates, SearchWork, plan
from mercer.selection.removals import NestedSets, Removals, UsedSets
from mercer.selection.scoring import MEANS_OF_ROWS, Classes, Scoring, Truth, accuracy
from mercer.selection.table import SearchTable, Winner
from mercer.solvers.problem import Problem, take_rows

_TINY = 200  # rows up to which leave-one-out is done on one thread


@dataclass(eq=False, repr=False)
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
    sample_weight : ndarray of shape (n,) or None
        As given, without weights of classes, for scorers that ask for them.

    Attributes
    ----------
    removals : Removals
        What the splits leave out.
    pool_only : bool
        Whether scores are of all test rows of a repeat together.
    scored_targets : int
        How many targets are scored apart.
    failures : list of str
        Why scores are missing, where some are.
    """

    rows: Rows
    y: Array
    problem: Problem
    folds: Folds
    scoring: Scoring
    classes: Classes | None = None
    per_target: bool = False
    sample_weight: Array | None = None

    def __post_init__(self) -> None:
        if not self.problem.labels:  # which are near zero as they are
            self.problem = self.problem.subtract_mean()
        self.scored_targets = self.problem.Y.shape[1] if self.per_target else 1
        self.removals = Removals.of(self.folds.splits, self.folds.n)
        self.pool_only = self.scoring.pools(self.removals.counts)
        self.failures: list[str] = []
        self._sets: dict[Removals, UsedSets] = {}
        # for each candidate the plan by which it was tried, and what it predicted, if that was kept
        self._tried: dict[Kernel, dict[float, tuple[Plan, HeldOut | None]]] = {}

    # -- the plan and the candidates --------------------------------------------------------------------

    def plan(
        self, kernels: Sequence[Kernel], alphas: Array, rates: Rates | None = None, *, nested: NestedSets | None = None
    ) -> Plan:
        """Which route would be taken, at what cost; nothing is run. `nested`: the sets of a nested search."""
        targets, candidates, features = self.problem.Y.shape[1], len(kernels) * len(alphas), None
        values = 8 * len(self.removals.rows) * targets
        kept = SCORE_BYTES * len(nested.inner if nested else self.removals) * self.scored_targets
        kept += values if nested or values * candidates <= KEPT else 0
        if not (self.rows.sparse or len(self.problem.unused_rows)):  # explicit features of the largest kernel
            counts = [kernel.count_features(self.rows) for kernel in kernels]
            features = None if None in counts else max(count for count in counts if count is not None)
        work = SearchWork.of(
            nested.everything if nested else self.removals, n=self.problem.n, features=features, kernels=len(kernels),
            alphas=len(alphas), targets=targets, threads=thread_count(), refit_only=self.problem.balance is not None,
            nested=nested is not None, kept=kept * candidates,
        )  # fmt: skip
        return plan(work, available_bytes(), rates, f"{'nested, ' * work.nested}{self.folds.label}")

    @cached_property
    def _rows_by_fold(self) -> tuple[Array, Rows, Problem]:
        order = self.folds.order()
        if np.array_equal(order, np.arange(len(order))):
            return order, self.rows, self.problem
        return order, *take_rows(self.rows, self.problem, order)

    def candidate(self, kernel: Kernel, plan: Plan, *, quick: bool = False) -> Candidate:
        """One kernel on the rows of this search, which are worked on in the order of their folds.

        Sets are slices then, which are fastest; held-out values do not depend on that order. `quick`: predictions have
        the digits that the scores need, and not all that can be had.
        """
        _, rows, problem = self._rows_by_fold
        route, work = plan.chosen.name, plan.work
        # nested predictions are kept; those of the best candidate are computed again, unless it is the only one
        ranks = self.scoring.quick is None or (problem.labels and (work.nested or not quick))
        errors_only = quick and not work.nested and work.kernels * work.alphas > 1 and self.removals.single
        errors_only = errors_only and self.scoring.quick not in (None, accuracy) and self.classes is None
        sets = self._renumber(self.removals)
        with self._blas(plan, side_by_side=route == "spectral" and work.batch(route) > 1):
            how = {"whole": work.whole, "errors_only": errors_only, "ranks": ranks}
            return Candidate(kernel, rows, problem, sets.removals, route, sets=sets, **how)

    def held_out(self, candidate: Candidate, alpha: float, plan: Plan) -> HeldOut:
        """Held-out predictions of one candidate and alpha.

        The plan says how many threads BLAS has: sums are taken in another order with more of them, and a candidate
        that is tried again must come out the same to the last bit.
        """
        with self._blas(plan, side_by_side=plan.work.batch(plan.chosen.name) * plan.work.alphas > 1):
            return candidate.at(alpha)

    @staticmethod
    def _blas(plan: Plan, *, side_by_side: bool) -> AbstractContextManager[None]:
        return single_threaded_blas() if side_by_side else blas_for(plan.work.n)

    def _renumber(self, removals: Removals) -> UsedSets:
        """The removals in the order of the folds, as they are and among the rows with weight; shared by all kernels."""
        if removals not in self._sets:
            order, _, problem = self._rows_by_fold
            self._sets[removals] = UsedSets(problem, removals.renumber(order))
        return self._sets[removals]

    def all_held_out(
        self, kernels: Sequence[Kernel], alphas: Array, plan: Plan, finished: Array | None = None
    ) -> Generator[tuple[int, int, HeldOut]]:
        """The number of a kernel, that of an alpha, and what they predict, for every pair.

        A few kernels are tried side by side, each on one thread; where it is known which kernels are `finished`, one is
        completed before the next begins.
        """
        route, work = plan.chosen.name, plan.work
        batch, wanted = work.batch(route), list(range(len(kernels)))
        if finished is not None:
            batch, wanted = 1, np.flatnonzero(~finished).tolist()

        def prepare(k: int) -> Candidate:
            return self.candidate(kernels[k], plan, quick=True)

        for start in range(0, len(wanted), batch):
            numbers = wanted[start : start + batch]
            # eigendecompositions side by side, one thread each; kernel matrices one by one, by tiles on all threads
            made = each(prepare, numbers) if route == "spectral" else map(prepare, numbers)
            candidates = dict(zip(numbers, made, strict=True))
            jobs = [(k, a) for k in numbers for a in range(len(alphas))]

            def run(job: tuple[int, int], candidates: dict[int, Candidate] = candidates) -> HeldOut:
                return self.held_out(candidates[job[0]], float(alphas[job[1]]), plan)

            # hardly any arithmetic: threads would wait for each other
            with threads(1) if work.single and work.n <= _TINY else nullcontext():
                yield from ((k, a, found) for (k, a), found in zip(jobs, each(run, jobs), strict=True))
            candidates.clear()  # before the next ones are made

    # -- the search -------------------------------------------------------------------------------------

    def run(
        self, kernels: Sequence[Kernel], alphas: Array, plan: Plan, *, verbose: int = 0, checkpoint: File = None
    ) -> SearchTable:
        """Score every candidate; with `checkpoint`, what is finished survives."""
        splits = len(self.scored_truth.removals)
        table = SearchTable.empty(kernels, alphas, splits, self.scored_targets, self.scoring.name)
        saved, finished = None, np.zeros(len(kernels), dtype=bool)
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, self._mark(kernels, alphas, plan))
            stored = saved.load(table.arrays() | {"finished": finished})
            if stored is not None:
                finished[:] = stored["finished"]
                for name, array in table.arrays().items():
                    array[finished] = stored[name][finished]
            saved.try_folder()  # refused now rather than after the work
        progress = Progress("model selection", len(alphas) * int((~finished).sum()), verbose)
        tried = [self._tried.setdefault(kernel, {}) for kernel in kernels]
        for mine in tried:
            mine.update(dict.fromkeys(alphas.tolist(), (plan, None)))
        keep = 8 * len(kernels) * len(alphas) * len(self.removals.rows) * self.problem.Y.shape[1] <= KEPT
        try:
            with closing(self.all_held_out(kernels, alphas, plan, None if saved is None else finished)) as found:
                for k, a, held_out in found:
                    self._score(table, k, a, held_out)
                    tried[k][float(alphas[a])] = plan, held_out if keep else None
                    progress.step()
                    if saved is not None and a == len(alphas) - 1:
                        finished[k] = True
                        saved.save(table.arrays() | {"finished": finished})
        except KeyboardInterrupt as stop:
            stop.add_note("The search was interrupted; what was finished is in the search's cv_results_.")
            stop.table = table  # type: ignore[attr-defined]
            raise
        return table

    def _score(self, table: SearchTable, k: int, a: int, held_out: HeldOut) -> None:
        scores = self.score_values(self.scored_truth, held_out.values)
        if self.scoring.quick in MEANS_OF_ROWS and not self.pool_only:  # the pooled score is the mean over rows
            counts = self.removals.counts[:, None]
            pooled = (counts * scores).sum(axis=0) / counts.sum()
        else:
            pooled = (scores if self.pool_only else self.score_values(self.pooled_truth, held_out.values)).mean(axis=0)
        table.scores[k, a], table.pooled[k, a] = scores, pooled
        table.condition[k, a], table.refits[k, a] = held_out.condition, held_out.refits

    def score_values(self, truth: Truth, values: Array) -> Array:
        """Scores of held-out values, test sets x targets; why some are missing is added to `failures`."""
        scores = self.scoring.by_split(truth, values, per_target=self.per_target, failures=self.failures)
        return scores if self.per_target else scores[:, None]

    def truth_of(self, removals: Removals, fits: Removals | None = None) -> Truth:
        """What held-out values at these test sets are held against."""
        return Truth(self.y, removals, self.classes, fits, self.problem.centre, self.sample_weight)

    @cached_property
    def pooled_truth(self) -> Truth:
        """All test rows of a repeat as one set; what was left out differs from row to row."""
        tests = [np.concatenate([split.test for split in repeat]) for repeat in self.folds.repeats]
        return self.truth_of(Removals([np.empty(0, dtype=np.intp)] * len(tests), tests), self.removals)

    def _mark(self, kernels: Sequence[Kernel], alphas: Array, plan: Plan) -> str:
        _, rows, problem = self._rows_by_fold
        removals = self._renumber(self.removals).removals
        return fingerprint(
            rows.values, self.rows.names, self.y, problem.weights, problem.intercept, problem.balance, *removals.sets,
            *map(np.sort, removals.tests), list(kernels), alphas, self.scoring.name, self.scoring.loss,
            self.scoring.scorer, self.per_target, plan.chosen.name,
        )  # fmt: skip

    # -- held-out predictions of one candidate ------------------------------------------------------------

    def values(self, kernel: Kernel, alphas: Sequence[float], plan: Plan) -> tuple[Array, float]:
        """Held-out values of one kernel at every tested row, each target at its own alpha; and the worst condition.

        A candidate that was tried is tried again by the plan of then, if it was not kept or small predictions were left
        without digits; any other by this plan.
        """
        found: dict[float, HeldOut] = {}
        made: dict[int, Candidate] = {}
        for alpha in sorted(set(alphas)):
            mine, known = self._tried.get(kernel, {}).get(alpha, (plan, None))
            if known is None or known.cancelled:
                made[id(mine)] = made.get(id(mine)) or self.candidate(kernel, mine)
                known = self.held_out(made[id(mine)], alpha, mine)
            found[alpha] = known
        worst = max(held_out.condition for held_out in found.values())
        return np.stack([found[alpha].values[:, t] for t, alpha in enumerate(alphas)], axis=1), worst

    @cached_property
    def scored_truth(self) -> Truth:
        """The test rows as they are scored: of every split, or all of a repeat where one row has no score."""
        return self.pooled_truth if self.pool_only else self.truth_of(self.removals)

    def baseline(self) -> float:
        """Mean score of predicting the mean (the most common label) of each training part; NaN where it has none."""
        Y, removals = self.problem.Y, self.removals
        means = [(Y.sum(axis=0) - Y[rows].sum(axis=0)) / (len(Y) - len(rows)) for rows in removals.sets]
        values = np.repeat(means, removals.counts, axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scores of constant predictions may be ill defined
            return float(self.scoring.by_split(self.scored_truth, values, failures=[]).mean())

    @cached_property
    def _tested_places(self) -> tuple[Array, Array]:
        """Repeat and row of every held-out value."""
        repeats = np.repeat(np.arange(len(self.folds.repeats)), [len(repeat) for repeat in self.folds.repeats])
        return np.repeat(repeats, self.removals.counts), self.removals.rows

    def alpha_of(self, alphas: Array, choice: Winner) -> Any:
        """The alpha of a choice, or one for each target where each has its own."""
        chosen = alphas[list(choice.alphas)]
        return chosen if self.per_target and self.y.ndim == 2 else float(chosen[0])

    def predictions(self, values: Array) -> Array:
        """Held-out predictions, repeats x n (x t): labels of a classifier, with None for rows that are never tested."""
        if self.classes is None:
            numbers = self.by_repeat(values)
            return numbers[:, :, 0] if self.y.ndim == 1 else numbers
        labels = self.scored_truth.outcome(values)
        result = np.full((len(self.folds.repeats), self.folds.n), None, dtype=object)
        result[self._tested_places] = labels
        whole = all(label is not None for label in result.ravel())
        return result.astype(labels.dtype) if whole else result

    def by_repeat(self, values: Array) -> Array:
        """Held-out predictions, repeats x n x t: the mean for a row tested more than once in a repeat, else NaN."""
        result = np.zeros((len(self.folds.repeats), self.folds.n, values.shape[1]))
        count = np.zeros(result.shape[:2])
        np.add.at(result, self._tested_places, values)
        np.add.at(count, self._tested_places, 1)
        with np.errstate(invalid="ignore"):
            return np.asarray(result / np.where(count > 0, count, np.nan)[:, :, None] + self.problem.centre)


_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def fingerprint(*parts: object) -> str:
    """One number for data and settings; another one if anything in them differs.

    Arrays, numbers, texts and containers of them count by content, kernels by their class and parameters, functions by
    the name under which they can be imported: what a function does is not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection.search import fingerprint
    >>> fingerprint(np.arange(3), Gaussian(2.0)) == fingerprint(np.arange(3), Gaussian(2.0))
    True
    >>> fingerprint(lambda truth, guess: 0.0)
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: checkpoint= needs functions that can be identified in the next run; <lambda> cannot. ...
    """
    csr = [part.tocsr() if hasattr(part, "tocsr") else None for part in parts]
    listed = [p if m is None else [m.shape, m.data, m.indices, m.indptr] for p, m in zip(parts, csr, strict=True)]
    return hashlib.sha256("".join(f"{_digest(part)}|" for part in listed).encode()).hexdigest()


def _digest(value: object) -> str:
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    return hashlib.sha256("\n".join(_content(value)).encode("utf-8", "surrogatepass")).hexdigest()


def _content(value: object) -> list[str]:
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        return ["array", str(value.dtype), str(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, np.ndarray):
        return ["objects", str(value.shape), *map(_digest, value.ravel())]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(_digest, value)]
    if isinstance(value, set | frozenset):
        return [type(value).__name__, *sorted(map(_digest, value))]
    if isinstance(value, dict | Kernel):
        kind = "dict" if isinstance(value, dict) else _digest(type(value))
        return [kind, *(_digest(part) for item in value.items() for part in item)]
    if hasattr(value, "_score_func"):  # what scikit-learn's make_scorer makes
        return ["scorer", *(_digest(vars(value)[name]) for name in sorted(vars(value)) if name != "_metadata_request")]
    return _import_name(value)


def _import_name(value: Any) -> list[str]:
    """A function or class by the name under which it can be imported."""
    module = getattr(value, "__module__", None) or "numpy"  # old ufuncs have none
    name = str(getattr(value, "__qualname__", getattr(value, "__name__", "")))
    if reduce(lambda owner, part: getattr(owner, part, None), name.split("."), sys.modules.get(module)) is not value:
        what = value.__name__ if isinstance(value, FunctionType) else f"a {type(value).__name__}"
        needs = f"checkpoint= needs functions that can be identified in the next run; {what} cannot."
        use = "Use a function that is defined with def at the top level of a module, without functools.partial"
        raise InputError(f"{needs} {use}; or checkpoint=None.")
    return [type(value).__name__, module, name]
