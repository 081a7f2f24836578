"""A search over a table that is read in passes: sums from one of them, and every score from the sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.data.rows import Array, File
from mercer.errors import MemoryRefusal, refuse, refuse_if
from mercer.kernels.base import Kernel
from mercer.runtime import available_bytes, promise, readable
from mercer.runtime.passes import Backend, PassCheckpoint, PassWork, run_pass
from mercer.runtime.progress import duration
from mercer.selection.outcome import Outcome
from mercer.selection.plan import Rates
from mercer.selection.scoring import Scoring
from mercer.selection.search import fingerprint
from mercer.selection.table import SearchTable
from mercer.streaming.blocks import Source
from mercer.streaming.landmarks import SHARE, drawing_bytes, sample_size
from mercer.streaming.models import Moments
from mercer.streaming.scores import (
    BY_ROWS,
    FROM_SUMS,
    HeldOutLosses,
    Swept,
    Totals,
    classes_left,
    collect_scores,
    nested_outcome,
    sweep,
    table_of,
)
from mercer.streaming.sums import FoldSums, LabelLosses, State
from mercer.text import Shown, counted, text_table

_BLOCK_BYTES = 30e6  # of kernel values held at once; what is larger comes from the system anew for every block
_ROWS_OF_A_FOLD = 300  # in a block, so that products are worth their while
_LEAST_ROWS, _MOST_ROWS = 500, 16_384  # of a block


def block_rows(widest: int, folds: int = 1) -> int:
    """Rows read together: about 30 MB of kernel values, but some hundred rows of each fold."""
    return int(min(_MOST_ROWS, max(_LEAST_ROWS, _ROWS_OF_A_FOLD * folds, _BLOCK_BYTES / (8.0 * widest))))


def group_kernels(sizes: Sequence[int], memory: float) -> list[list[int]]:
    """Kernels that share a pass: as many, in order, as there is memory for their sums (bytes each)."""
    room = SHARE * memory
    groups: list[list[int]] = []
    held = math.inf
    for k, size in enumerate(sizes):
        if size > room:
            words = f"Fitting one kernel needs {readable(size)} of memory for its landmarks and folds;"
            most = f"at most half of the available {readable(memory)} is used"
            raise MemoryRefusal(f"{words} {most}. Use fewer landmarks or folds.")
        if held + size > room:
            groups.append([])
            held = 0.0
        groups[-1].append(k)
        held += size
    return groups


@dataclass(frozen=True, repr=False)
class StreamPlan(Shown):
    """What a pass, or several, over a stream will take.

    Attributes
    ----------
    rows, columns : int
        Of the table.
    landmarks : tuple of int
        For each kernel, those that tell something new.
    alphas, folds, targets : int
        How many of each; one fold where nothing is held out.
    passes : int
        Over all rows: those that sum, the one that scores predictions, and those that draw a sample where rows cannot
        be had by number, or find the labels.
    seconds : float
        Predicted by fixed rates, reading not counted.
    bytes : int
        Predicted peak, beside what the reader holds.
    block : int
        Rows read together.
    whitened : tuple of bool
        For each kernel, whether every row is turned into features, or the sums at the end.
    nested : bool
        Whether pairs of folds are left out.
    """

    rows: int
    columns: int
    landmarks: tuple[int, ...]
    alphas: int
    folds: int
    targets: int
    passes: int
    seconds: float
    bytes: int
    block: int
    whitened: tuple[bool, ...]
    nested: bool = False

    def __str__(self) -> str:
        low, high = min(self.landmarks), max(self.landmarks)
        many = counted(low, "landmark") if low == high else f"{low} to {high} landmarks"
        many += f", {self.folds} folds" * (self.folds > 1)
        tried = f"{counted(len(self.landmarks), 'kernel')} x {counted(self.alphas, 'alpha')}"
        head = f"{tried} on {counted(self.rows, 'row')} with {many}"
        how, white = "sums whitened at the end", sum(self.whitened)
        if white:
            some = f" of {counted(white, 'kernel')}" * (white < len(self.whitened))
            how = f"rows{some} whitened as they come" + (", sums of the others at the end" if some else "")
        how += "; pairs of folds held out" * self.nested
        passes = counted(self.passes, "pass", "passes")
        cells = [passes, duration(self.seconds), readable(self.bytes), str(self.block), how]
        return head + "\n" + text_table(["passes", "time", "memory", "rows at once", "how"], [cells])


@dataclass(frozen=True, eq=False)
class StreamedResult:
    """What a search over a stream has found.

    Attributes
    ----------
    table : SearchTable
        Scores of plain cross-validation.
    swept : list of Swept
        Of every kernel: losses and the models of all rows.
    totals : Totals
        Rows and targets of every fold.
    nested : Outcome or None
        Where asked for.
    failures : list of str
        Why scores are NaN.
    """

    table: SearchTable
    swept: list[Swept]
    totals: Totals
    nested: Outcome | None
    failures: list[str]


@dataclass(frozen=True, eq=False)
class StreamedSearch:
    """Kernels and alphas on a stream, with everything settled that a pass needs.

    Attributes
    ----------
    source : Source
        The table.
    kernels, alphas : list of Kernel, ndarray
        Candidates.
    first : FoldSums
        The work of the first pass for all kernels: their features, the targets, the folds.
    scoring : Scoring
        What is scored.
    rule : str
        How the best candidate is chosen.
    nested : bool
        Whether pairs of folds are left out.
    backend : object
        As of `mercer.runtime.passes.run_pass`.
    checkpoint : path or None
        Where a pass is kept; later passes add a suffix.
    at_once : int or None
        Rows of a block; None leaves it to the widths of the sums.
    verbose : int
        Whether progress is told.
    """

    source: Source
    kernels: list[Kernel]
    alphas: Array
    first: FoldSums
    scoring: Scoring
    rule: str = "best"
    nested: bool = False
    backend: Backend = None
    checkpoint: File = None
    at_once: int | None = None
    verbose: int = 0

    @property
    def route(self) -> str:
        """Where scores come from: "sums", "rows" (a second pass) or "predictions" (all of them kept)."""
        if self.scoring.name in FROM_SUMS and not isinstance(self.first.targets, LabelLosses):
            return "sums"
        return "rows" if self.scoring.name in BY_ROWS and self.scoring.quick is not None else "predictions"

    def work(self, group: Sequence[int]) -> FoldSums:
        """The first pass for some of the kernels."""
        return replace(self.first, sides=tuple(self.first.sides[k] for k in group))

    @cached_property
    def groups(self) -> list[list[int]]:
        """Kernels that share a pass."""
        return group_kernels([self.work([k]).bytes() for k in range(len(self.kernels))], available_bytes())

    @cached_property
    def block(self) -> int:
        """Rows read together."""
        return self.at_once or block_rows(max(self.first.sizes()), self.first.folds)

    def plan(self, rates: Rates | None = None) -> StreamPlan:
        """What it will take; time by fixed rates or by those given."""
        source, first = self.source, self.first
        # a sample takes a pass where rows cannot be had by number, and finding the labels takes one
        before = (source.take is None) + isinstance(first.targets, LabelLosses)
        return StreamPlan(
            int(source.rows or 0), source.width, tuple(side.features.count for side in first.sides), len(self.alphas),
            first.folds, len(first.targets.offset), before + len(self.groups) + (self.route != "sums"),
            self._seconds(rates or Rates()), self._bytes(), self.block, tuple(side.whitened for side in first.sides),
            self.nested,
        )  # fmt: skip

    @property
    def _models(self) -> int:
        """Columns of the models that predict a row in the second pass; 0 where there is none."""
        columns = len(self.alphas) * len(self.first.targets.offset) * (self.first.folds if self.nested else 1)
        return 0 if self.route == "sums" else columns

    def _seconds(self, rates: Rates) -> float:
        """Predicted time, reading not counted."""
        n, first, folds = int(self.source.rows or 0), self.first, self.first.folds
        systems = (folds if folds > 1 else 0) + (folds * (folds - 1) / 2 if self.nested else 0) + 1
        seconds = rates.start
        for side, size in zip(first.sides, first.sizes(), strict=True):
            m, p = side.features.count, float(size)
            products = n * p * p * (1.0 + first.weighted) + (n * float(m) ** 2 if side.whitened else 0.0)
            seconds += n * m / rates.values + products / rates.product
            # a tridiagonal form runs at about a sixth of the speed of products
            solved = 8 * p**3 + 4 * p * p * len(first.targets.offset) * len(self.alphas)
            seconds += systems * solved / rates.product
            if self._models:
                seconds += n * m / rates.values + 2 * n * m * self._models / rates.product
        return seconds

    def _bytes(self) -> int:
        """Predicted peak of memory, beside what the reader holds."""
        n, first, sizes = int(self.source.rows or 0), self.first, self.first.sizes()
        landmarks = [side.features.count for side in first.sides]
        held = max(sum(8 * first.folds * sizes[k] ** 2 * (1 + first.weighted) for k in group) for group in self.groups)
        # models of every fold, in features and in kernel values, and what they predict for some rows
        predicted = (len(landmarks) + 3) * -(-min(self.block, n) // first.folds)
        held += 8 * self._models * (2 * first.folds * sum(landmarks) + predicted)
        working = 8 * (self.block * max(sizes) * 1.3 + 6 * max(sizes) * max(sizes))
        return int(max(held + working, drawing_bytes(sample_size(n, max(landmarks)), max(landmarks))))

    def run(self) -> StreamedResult:
        """All passes, and every score."""
        must_be, unscored = f"one of {', '.join((*FROM_SUMS, *BY_ROWS))} where nested=True", self.route == "predictions"
        refuse_if(self.nested and unscored, "scoring", must_be, repr(self.scoring.name))
        needed = self.plan().bytes
        promise(needed, f"A search with up to {max(self.plan().landmarks)} landmarks", "Use fewer landmarks or folds.")
        swept: list[Swept] = []
        state: State = {}
        for turn, group in enumerate(self.groups):
            work, state = self.work(group), self.sums(turn)
            _refuse_empty(state, self.first.folds)
            moments = (Moments.read(work, state, i) for i in range(len(group)))
            swept += [sweep(each, self.alphas, nested=self.nested, keep=self.route != "sums") for each in moments]
            # the next pass needs the room; what is left is of the folds, not of a kernel
            state = {name: array for name, array in state.items() if array.ndim < 3}
        totals = Totals(state["rows"], state["plain_sums"], state["plain_squares"])
        name, route = self.scoring.name, self.route
        failures: list[str] = []
        second = None if route == "sums" else self._second(swept, state)
        losses = [each.losses for each in swept]
        if second is not None and route == "rows":
            settings = [*self._settings(range(len(swept))), self.alphas, name, self.nested]
            state = self.read(second, "scoring", ".scores", settings)
            losses = [state[f"loss{k}"] for k in range(len(swept))]
        table = table_of("" if route == "predictions" else name, self.kernels, self.alphas, swept, losses, totals)
        if second is not None and route == "predictions":
            scores, pooled = collect_scores(self.source, second, self.scoring, self.block, failures)
            table = replace(table, scores=scores, pooled=pooled, scoring=name)
        base = totals.baseline(name) if route == "sums" else math.nan
        nested = nested_outcome(table, losses, totals, self.rule, base=base) if self.nested else None
        return StreamedResult(table, swept, totals, nested, failures)

    def sums(self, turn: int = 0) -> State:
        """The sums of the kernels that share a pass, from that pass."""
        group, count = self.groups[turn], len(self.groups)
        words = "summing" if count == 1 else f"summing, pass {turn + 1} of {count}"
        return self.read(self.work(group), words, f".{turn}" if turn else "", self._settings(group))

    def read(self, work: PassWork, what: str, suffix: str, settings: list[object]) -> State:
        """One pass; `settings` must be the same for a checkpoint to be gone on from."""
        kept = None
        if self.checkpoint is not None:
            kept = PassCheckpoint(f"{self.checkpoint}{suffix}", fingerprint(self.source.identity(), settings))
        at_once, backend, verbose = self.block, self.backend, self.verbose
        return run_pass(
            self.source, work, at_once=at_once, backend=backend, progress=what, checkpoint=kept, verbose=verbose
        )

    def _settings(self, group: Sequence[int]) -> list[object]:
        """What another run must share to go on from a checkpoint."""
        first, pairs = self.first, [(self.kernels[k], self.first.sides[k]) for k in group]
        sides = [[kernel, side.features.landmarks, side.whitened, side.constant] for kernel, side in pairs]
        classes = first.targets.classes if isinstance(first.targets, LabelLosses) else None
        folds = [first.folds, first.seed] if first.ranked is None else [first.folds, first.seed, first.ranked]
        return [sides, first.targets.offset, classes, *folds, first.intercept, first.weighted]

    def _second(self, swept: Sequence[Swept], state: State) -> HeldOutLosses:
        """What the second pass does: models in terms of kernel values."""
        first, coefficients, present = self.first, [], None
        for side, each in zip(first.sides, swept, strict=True):
            flat = each.weights.transpose(3, 0, 1, 2, 4).reshape(side.features.count, -1)
            turned = side.features.coefficients(flat).reshape(len(flat), first.folds, -1).transpose(1, 0, 2)
            coefficients.append(np.ascontiguousarray(turned))
        constants = tuple(each.intercepts.reshape(first.folds, -1) for each in swept)
        if isinstance(first.targets, LabelLosses):
            present = classes_left(state["sums"], state["weights"], len(first.targets.classes), paired=self.nested)
        others, alphas = first.folds if self.nested else 1, len(self.alphas)
        return HeldOutLosses(first, tuple(coefficients), constants, others, alphas, self.scoring.name, present)


def _refuse_empty(state: State, folds: int) -> None:
    """Refuse folds without rows, and folds without which no row has a weight."""
    weights = state["weights"]
    way_out = "Rows are assigned to folds by a hash of the row index or group; use fewer folds."
    refuse_if(not weights.any(), "sample_weight", "positive for at least one row", "only zeros")
    empty, alone = ~(state["rows"] > 0), ~(weights.sum() - weights > 0)
    refuse(empty.any(), f"Fold {int(empty.argmax())} of {folds} is empty. {way_out}")
    refuse(alone.any(), f"Without fold {int(alone.argmax())} of {folds}, no row has positive weight. {way_out}")
