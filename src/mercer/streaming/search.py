"""A search over a table that is read in passes: sums from one of them, and every score from the sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.data.rows import Array, File
from mercer.errors import InputError, MemoryRefusal, refuse_if, sentence
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
from mercer.streaming.sums import FoldSums, LabelLosses, Side, State, SummedTargets
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
            raise MemoryRefusal(
                f"Fitting one kernel needs {readable(size)} of memory for its landmarks and folds; at most half of the "
                f"available {readable(memory)} is used. Use fewer landmarks or folds."
            )
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
        head = (
            f"{counted(len(self.landmarks), 'kernel')} x {counted(self.alphas, 'alpha')} on "
            f"{counted(self.rows, 'row')} with {many}" + (f", {self.folds} folds" if self.folds > 1 else "")
        )
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
    reading : PassReading
        The table and how it is read.
    kernels, alphas : list of Kernel, ndarray
        Candidates.
    sides : tuple of Side
        Features of each kernel.
    targets : SummedTargets
        How Y becomes numbers.
    folds, seed : int
        Of the hash.
    intercept, weighted, nested : bool
        What is fitted, whether rows have weights, and whether pairs of folds are left out.
    scoring : Scoring
        What is scored.
    rule : str
        How the best candidate is chosen.
    ranked : ndarray or None
        Words of all rows or groups where they are dealt to the folds by rank, as `rank_words` finds them.
    """

    reading: PassReading
    kernels: list[Kernel]
    alphas: Array
    sides: tuple[Side, ...]
    targets: SummedTargets
    folds: int
    seed: int
    intercept: bool
    weighted: bool
    scoring: Scoring
    nested: bool
    rule: str
    ranked: Array | None = None

    @property
    def route(self) -> str:
        """Where scores come from: "sums", "rows" (a second pass) or "predictions" (all of them kept)."""
        if self.scoring.name in FROM_SUMS and not isinstance(self.targets, LabelLosses):
            return "sums"
        return "rows" if self.scoring.name in BY_ROWS and self.scoring.quick is not None else "predictions"

    def work(self, group: Sequence[int]) -> FoldSums:
        """The first pass for some of the kernels."""
        sides = tuple(self.sides[k] for k in group)
        return FoldSums(sides, self.targets, self.folds, self.seed, self.intercept, self.weighted, self.ranked)

    @cached_property
    def groups(self) -> list[list[int]]:
        """Kernels that share a pass."""
        return group_kernels([self.work([k]).bytes() for k in range(len(self.sides))], available_bytes())

    @cached_property
    def block(self) -> int:
        """Rows read together."""
        return self.reading.at_once or block_rows(max(self.work(range(len(self.sides))).sizes()), self.folds)

    def plan(self, rates: Rates | None = None) -> StreamPlan:
        """What it will take; time by fixed rates or by those given."""
        source = self.reading.source
        # a sample takes a pass where rows cannot be had by number, and finding the labels takes one
        before = (source.take is None) + isinstance(self.targets, LabelLosses)
        return StreamPlan(
            int(source.rows or 0), source.width, tuple(side.features.count for side in self.sides), len(self.alphas),
            self.folds, len(self.targets.offset), before + len(self.groups) + (self.route != "sums"),
            self._seconds(rates or Rates()), self._bytes(), self.block, tuple(side.whitened for side in self.sides),
            self.nested,
        )  # fmt: skip

    @property
    def _models(self) -> int:
        """Columns of the models that predict a row in the second pass; 0 where there is none."""
        columns = len(self.alphas) * len(self.targets.offset) * (self.folds if self.nested else 1)
        return 0 if self.route == "sums" else columns

    def _seconds(self, rates: Rates) -> float:
        """Predicted time, reading not counted."""
        n, folds, targets = int(self.reading.source.rows or 0), self.folds, len(self.targets.offset)
        seconds = rates.start
        for side in self.sides:
            m = side.features.count
            p = float(m + 1 + targets)
            products = n * p * p * (1.0 + self.weighted) + (n * float(m) ** 2 if side.whitened else 0.0)
            seconds += n * m / rates.values + products / rates.product
            systems = (folds if folds > 1 else 0) + (folds * (folds - 1) / 2 if self.nested else 0) + 1
            # a tridiagonal form runs at about a sixth of the speed of products
            seconds += systems * (8 * p**3 + 4 * p * p * targets * len(self.alphas)) / rates.product
            if self._models:
                seconds += n * m / rates.values + 2 * n * m * self._models / rates.product
        return seconds

    def _bytes(self) -> int:
        """Predicted peak of memory, beside what the reader holds."""
        n, sizes = int(self.reading.source.rows or 0), self.work(range(len(self.sides))).sizes()
        landmarks = [side.features.count for side in self.sides]
        held = max(sum(8 * self.folds * sizes[k] ** 2 * (1 + self.weighted) for k in group) for group in self.groups)
        # models of every fold, in features and in kernel values, and what they predict for some rows
        predicted = (len(landmarks) + 3) * -(-min(self.block, n) // self.folds)
        held += 8 * self._models * (2 * self.folds * sum(landmarks) + predicted)
        working = 8 * (self.block * max(sizes) * 1.3 + 6 * max(sizes) * max(sizes))
        return int(max(held + working, drawing_bytes(sample_size(n, max(landmarks)), max(landmarks))))

    def run(self) -> StreamedResult:
        """All passes, and every score."""
        if self.nested and self.route == "predictions":
            must_be = f"one of {', '.join((*FROM_SUMS, *BY_ROWS))} where nested=True"
            raise InputError(sentence("scoring", must_be, repr(self.scoring.name)))
        needed = self.plan().bytes
        promise(needed, f"A search with up to {max(self.plan().landmarks)} landmarks", "Use fewer landmarks or folds.")
        swept: list[Swept] = []
        state: State = {}
        for turn, group in enumerate(self.groups):
            work, state = self.work(group), self.sums(turn)
            self._refuse_empty(state)
            moments = (Moments.read(work, state, i) for i in range(len(group)))
            swept += [sweep(each, self.alphas, nested=self.nested, keep=self.route != "sums") for each in moments]
            # the next pass needs the room; what is left is of the folds, not of a kernel
            state = {name: array for name, array in state.items() if array.ndim < 3}
        totals = Totals(state["rows"], state["plain_sums"], state["plain_squares"])
        failures: list[str] = []
        losses, base = [each.losses for each in swept], math.nan
        if self.route == "predictions":
            table = self._by_predictions(swept, state, totals, failures)
        else:
            if self.route == "rows":
                losses = self._by_rows(swept, state)
            else:
                base = totals.baseline(self.scoring.name)
            table = table_of(self.scoring.name, self.kernels, self.alphas, swept, losses, totals)
        nested = nested_outcome(table, losses, totals, self.rule, base=base) if self.nested else None
        return StreamedResult(table, swept, totals, nested, failures)

    def sums(self, turn: int = 0) -> State:
        """The sums of the kernels that share a pass, from that pass."""
        group, count = self.groups[turn], len(self.groups)
        words = "summing" if count == 1 else f"summing, pass {turn + 1} of {count}"
        return self.reading.run(self.work(group), self.block, words, f".{turn}" if turn else "", self._settings(group))

    def _settings(self, group: Sequence[int]) -> list[object]:
        """What another run must share to go on from a checkpoint."""
        sides = [[self.kernels[k], side.features.landmarks, side.whitened, side.constant] for k in group
                 for side in (self.sides[k],)]  # fmt: skip
        classes = self.targets.classes if isinstance(self.targets, LabelLosses) else None
        folds = [self.folds, self.seed] if self.ranked is None else [self.folds, self.seed, self.ranked]
        return [sides, self.targets.offset, classes, *folds, self.intercept, self.weighted]

    def _refuse_empty(self, state: State) -> None:
        weights, way_out = (
            state["weights"],
            "Rows are assigned to folds by a hash of the row index or group; use fewer folds.",
        )
        refuse_if(not weights.any(), "sample_weight", "positive for at least one row", "only zeros")
        for there, words in (
            (state["rows"] > 0, "Fold {} of {} is empty."),
            (weights.sum() - weights > 0, "Without fold {} of {}, no row has positive weight."),
        ):
            if not there.all():
                raise InputError(f"{words.format(int(there.argmin()), self.folds)} {way_out}")

    def _second(self, swept: Sequence[Swept], state: State) -> HeldOutLosses:
        """What the second pass does: models in terms of kernel values."""
        coefficients = []
        for side, each in zip(self.sides, swept, strict=True):
            flat = each.weights.transpose(3, 0, 1, 2, 4).reshape(side.features.count, -1)
            turned = side.features.coefficients(flat).reshape(len(flat), self.folds, -1).transpose(1, 0, 2)
            coefficients.append(np.ascontiguousarray(turned))
        constants = tuple(each.intercepts.reshape(self.folds, -1) for each in swept)
        present, work = None, self.work(range(len(self.sides)))
        if isinstance(self.targets, LabelLosses):
            present = classes_left(state["sums"], state["weights"], len(self.targets.classes), paired=self.nested)
        others = self.folds if self.nested else 1
        return HeldOutLosses(work, tuple(coefficients), constants, others, len(self.alphas), self.scoring.name, present)

    def _by_rows(self, swept: Sequence[Swept], state: State) -> list[Array]:
        settings = [*self._settings(range(len(self.sides))), self.alphas, self.scoring.name, self.nested]
        found = self.reading.run(self._second(swept, state), self.block, "scoring", ".scores", settings)
        return [found[f"loss{k}"] for k in range(len(swept))]

    def _by_predictions(self, swept: Sequence[Swept], state: State, totals: Totals, failures: list[str]) -> SearchTable:
        work = self._second(swept, state)
        scores, pooled = collect_scores(self.reading.source, work, self.scoring, self.block, failures)
        table = table_of("", self.kernels, self.alphas, swept, [each.losses for each in swept], totals)
        return replace(
            table, scores=np.stack(scores)[..., None], pooled=np.stack(pooled)[..., None], scoring=self.scoring.name
        )


@dataclass(frozen=True, eq=False)
class PassReading:
    """A table and how it is read.

    Attributes
    ----------
    source : Source
        The table.
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
    backend: Backend = None
    checkpoint: File = None
    at_once: int | None = None
    verbose: int = 0

    def run(self, work: PassWork, at_once: int, words: str, suffix: str, settings: list[object]) -> State:
        """One pass; `settings` must be the same for a checkpoint to be gone on from."""
        kept = None
        if self.checkpoint is not None:
            kept = PassCheckpoint(f"{self.checkpoint}{suffix}", fingerprint(self.source.identity(), settings))
        return run_pass(
            self.source, work, at_once=at_once, backend=self.backend, progress=words, checkpoint=kept,
            verbose=self.verbose,
        )  # fmt: skip
