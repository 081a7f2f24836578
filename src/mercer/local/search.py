"""Which kernel and alpha for models in cells: compared by held-out scores on a sample of the cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import refuse
from mercer.kernels.base import Kernel
from mercer.local.cells import CellProblem, CellSystem, LocalFit, spread_of_columns
from mercer.runtime import run, thread_count
from mercer.runtime.progress import Progress, duration
from mercer.runtime.resources import readable
from mercer.selection.removals import Removals
from mercer.selection.scoring import Classes, Scoring, Truth
from mercer.solvers.problem import Problem
from mercer.text import Shown
from mercer.tuning.committee import TrainingTable, tune_metrics
from mercer.tuning.descent import least_alpha
from mercer.tuning.held_out import downhill

_SHARE, _SAMPLED = 0.03, (12, 60)  # of the cells that candidates are compared on, and how many at least and at most
_KEPT = 6.4e7  # numbers of the matrices of these cells, up to which they are kept for the next alpha
_WIDER = 2.0  # widths that are tuned on few rows are also tried so many times as wide
_RATE = 20e9  # flops a second of one thread, in systems of some hundred rows


def tuned_kernels(rows: Rows, problem: Problem, seed: int) -> list[tuple[Kernel, float]]:
    """Kernels with a width per column, tuned on a sample of rows, and their alphas, best first."""
    spreads = spread_of_columns(rows)
    size = np.maximum(np.sqrt(np.mean(problem.Y**2, axis=0)), 1e-300)
    scaled = Rows(np.asarray(rows.values / spreads), rows.names)
    table = TrainingTable(scaled, Problem(problem.Y / size, problem.weights, intercept=True), list(range(rows.width)))
    ends = [end for _, end in tune_metrics(table, np.random.default_rng(seed))]
    return [(times_width(end.kernel, spreads), end.alpha) for end in ends]


def times_width(kernel: Kernel, factor: Array | float) -> Kernel:
    """A tuned kernel with its widths multiplied."""
    return kernel.set_params(width=np.asarray(kernel.tunable()["width"]) * factor)


@dataclass(eq=False)
class LocalCandidates:
    """Candidates of a search in cells, scored on a share of the cells of their own partitions.

    Cells of different metrics have different rows, some of which are harder to predict. So the first kernel is solved
    in all cells, and the scores of others are compared with its scores on the same rows.

    Parameters
    ----------
    cells_of : callable
        From a kernel to its cells.
    y : ndarray
        Targets or labels of the rows.
    scoring : Scoring
        The score.
    classes : Classes or None
        Labels of a classifier.
    seed : int
        Of the cells that are drawn.
    verbose : int, default=0
        1: progress.

    Attributes
    ----------
    reference : LocalFit or None
        The first kernel in all cells.
    """

    cells_of: Callable[[Kernel], CellProblem]
    y: Array
    scoring: Scoring
    classes: Classes | None
    seed: int
    verbose: int = 0
    reference: LocalFit | None = None
    tried: list[tuple[Kernel, float, float]] = field(default_factory=list)

    def scorer(self, kernel: Kernel) -> Callable[[float], float]:
        """A function from alpha to the held-out score of a kernel on its sample of cells, relative to the reference."""
        cells = self.cells_of(kernel)
        asked = np.flatnonzero(np.diff(cells.answer_order[1]))  # ties may leave cells that answer no row
        drawn = np.random.default_rng(self.seed).permutation(asked)
        some = drawn[: int(np.clip(_SHARE * cells.partition.cells, *_SAMPLED))].tolist()
        rows = np.concatenate([cells.answered_rows(cell) for cell in some])
        systems: dict[int, CellSystem] = {}
        kept = len(some) * cells.system_rows**2 <= _KEPT
        reference = None
        if self.reference is not None:
            there = (self.reference.held_out - cells.problem.centre)[..., rows, :]
            reference = self.score(cells, rows, there), self.score_of(self.reference)

        def score(alpha: float) -> float:
            def solve(cell: int) -> Array:
                system = systems[cell] if cell in systems else CellSystem(cells, cell, kernel)
                if kept:
                    systems[cell] = system
                return system.at(alpha, last=not kept).held_out

            score = self.score(cells, rows, np.concatenate(run(solve, some), axis=-2))
            score = score if reference is None else _relative_to(reference, score)
            self.tried.append((kernel, float(alpha), score))
            return score

        return score

    def score(self, cells: CellProblem, rows: Array, values: Array) -> float:
        """Mean score over splits, or that of rows left out one by one, from held-out predictions less the centre."""
        parts = [values] if cells.splits is None else list(values)
        tested = [np.flatnonzero(~np.isnan(part).any(axis=1)) for part in parts]
        tests = [rows[mine] for mine in tested if len(mine)]
        truth = Truth(self.y, Removals([rows[:0]] * len(tests), tests), self.classes, centre=cells.problem.centre)
        held_out = np.concatenate([part[mine] for part, mine in zip(parts, tested, strict=True)])
        scores = self.scoring.by_split(truth, held_out)
        return float(np.mean(scores[~np.isnan(scores)])) if not np.isnan(scores).all() else math.nan

    def search(self, starts: Sequence[tuple[Kernel, float]], alphas: Array | None, *, tuned: bool) -> LocalFit:
        """The best candidate, solved in all cells."""
        self.compare(starts, alphas, tuned=tuned and alphas is None)
        best, alpha, _ = self._best()
        found = self.reference
        return found if found is not None and (found.kernel, found.alpha) == (best, alpha) else self._fit(best, alpha)

    def compare(
        self, starts: Sequence[tuple[Kernel, float]], alphas: Array | None = None, *, tuned: bool = False
    ) -> list[tuple[Kernel, float, float]]:
        """Kernels with their alphas and scores: each with the alphas given, or downhill from the one it begins with.

        Where they were tuned on a sample of rows, the first one is also tried with wider widths, which the others
        then begin with.
        """
        progress, factor = Progress("comparing candidates", len(starts) + tuned, self.verbose), 1.0
        best = []
        for place, (kernel, start) in enumerate(starts):
            best.append(self._score_alphas(times_width(kernel, factor) if tuned else kernel, start, alphas))
            if self.reference is None and (tuned or len(starts) > 1):  # what later ones are compared with
                winner, alpha, score = self._best()
                self.reference = self._fit(winner, alpha)
                pair = score, self.score_of(self.reference)
                self.tried = [(tried, alpha, _relative_to(pair, score)) for tried, alpha, score in self.tried]
            progress.step()
            if tuned and place == 0:
                wider = self._score_alphas(times_width(kernel, _WIDER), best[0][1])
                best, factor = ([wider], _WIDER) if wider[2] > best[0][2] else (best, 1.0)
                progress.step()
        return best

    def _score_alphas(self, kernel: Kernel, start: float, alphas: Array | None = None) -> tuple[Kernel, float, float]:
        """A kernel with the last of some alphas, or with the best alpha near `start`, and its score."""
        score, alpha = self.scorer(kernel), start
        for alpha in () if alphas is None else alphas.tolist():
            score(alpha)
        if alphas is None:
            alpha = downhill(lambda alpha: -score(alpha), start, ends=(least_alpha(1000), math.inf))
        return next(each for each in reversed(self.tried) if each[:2] == (kernel, alpha))

    def _best(self) -> tuple[Kernel, float, float]:
        scored = [each for each in self.tried if not math.isnan(each[2])]
        words = f"All scores are NaN: {self.scoring.name} is not defined for these rows."
        refuse(not scored, f"{words} Use another score.")
        return max(scored, key=lambda each: each[2])

    def _fit(self, kernel: Kernel, alpha: float) -> LocalFit:
        cells = self.cells_of(kernel)
        progress = Progress("solving cells", cells.partition.cells, self.verbose)
        return LocalFit.of(cells, kernel, alpha, progress.step)

    def score_of(self, fitted: LocalFit) -> float:
        """The held-out score of a fit over all rows."""
        cells = fitted.cells
        return self.score(cells, np.arange(len(cells.rows)), fitted.held_out - cells.problem.centre)

    def results(self) -> dict[str, Any]:
        """What was tried, as GridSearchCV has it; scores are those of the sampled cells."""
        kernels, alphas, scores = (list(each) for each in zip(*self.tried, strict=True))
        return {
            "params": [{"kernel": kernel, "alpha": alpha} for kernel, alpha, _ in self.tried],
            "param_kernel": kernels,
            "param_alpha": np.array(alphas),
            "mean_test_score": np.array(scores),
            "rank_test_score": np.array([1 + sum(other > score for other in scores) for score in scores]),
        }


def _relative_to(reference: tuple[float, float], score: float) -> float:
    """A score on some rows carried over to all rows by those of the reference there and on all rows.

    Errors, which are negative scores, are multiplied by their ratio, and other scores shifted by their difference.
    """
    there, everywhere = reference
    below = max(there, everywhere, score) < 0
    return score * (everywhere / there) if below else score + everywhere - there


@dataclass(frozen=True, eq=False, repr=False)
class LocalPlan(Shown):
    """What a fit in cells takes, before it is made.

    Attributes
    ----------
    rows, cells, system_rows : int
        Rows, cells, and rows of each system.
    seconds : float
        Predicted time of solving all cells, and of comparing candidates, on this number of threads.
    bytes : int
        Memory of the model and of the systems that are solved at once.
    """

    rows: int
    cells: int
    system_rows: int
    seconds: float
    bytes: int

    @classmethod
    def of(cls, n: int, columns: int, targets: int, sizes: Any, candidates: int, splits: int) -> LocalPlan:
        """The plan for n rows: potrf, and potri with folds, of every system, and its kernel values."""
        s = min(n, sizes.system_rows)
        cells = 1 if n <= sizes.system_rows else 2 ** max(0, round(math.log2(n / sizes.core_rows)))
        sample = min(cells, int(np.clip(_SHARE * cells, *_SAMPLED)))
        flops = s**3 / 3 * (4 if splits else 1) + s * s * (2 * columns + 60)
        seconds = (cells + candidates * sample) * flops / (_RATE * thread_count())
        held_out = max(1, splits) * n * sizes.mix * targets
        kept = sample * s * s if candidates > 1 and sample * s * s <= _KEPT else 0
        held = n * columns + cells * s * (1 + targets) + 2 * held_out + 3 * thread_count() * s * s + kept
        return cls(n, cells, s, seconds, 8 * held)

    def _columns(self) -> dict[str, list[object]]:
        return {name.replace("_", " "): [value] for name, value in vars(self).items()}

    def __str__(self) -> str:
        head = f"{self.rows} rows in {self.cells} cells, systems of {self.system_rows} rows"
        cost = f"{duration(self.seconds)} in addition to tuning, {readable(self.bytes)} of memory"
        return f"{head}: roughly {cost}."
