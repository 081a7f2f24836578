"""What a search over a stream will take: landmarks, passes, time and memory, before anything is read to the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mercer.errors import MemoryRefusal
from mercer.runtime import readable
from mercer.runtime.progress import duration
from mercer.selection.plan import Rates
from mercer.text import Shown, counted, text_table

_BLOCK_BYTES = 30e6  # of kernel values held at once; what is larger comes from the system anew for every block
_ROWS_OF_A_FOLD = 300  # in a block, so that products are worth their while
_LEAST_ROWS, _MOST_ROWS = 500, 16_384  # of a block
_FEW, _MOST = 500, 2000  # landmarks: all rows of a small table, and the most that nobody asked for
_PER_ROOT = 4.0  # landmarks for the root of the number of rows
_FLOOR = 100
_SAMPLED = 5  # rows that landmarks are drawn from, for each landmark
_LEAST_SAMPLE = 2000
_SHARE = 0.5  # of the memory there is, for the sums of one pass


def landmark_count(n: int, kernels: int, folds: int, memory: float, seconds: float, rates: Rates | None = None) -> int:
    """The default number of landmarks.

    The least of

    ==================================  =====================================================================
    n                                   a landmark more than there are rows tells nothing
    max(500, 4 sqrt(n)), at most 2000   the error of the features falls below that of n noisy rows about there
    what memory holds                   the sums of one kernel, folds x m^2 numbers, in half of it
    what time allows                    kernel values, sums and models of all kernels within `seconds`, as predicted
    ==================================  =====================================================================

    but not less than 100 on account of time.

    Examples
    --------
    >>> from mercer.streaming.plan import landmark_count
    >>> landmark_count(300, 1, 10, 8e9, 120.0), landmark_count(100_000, 1, 10, 8e9, 120.0)
    (300, 1264)
    >>> landmark_count(10_000_000, 10, 10, 8e9, 120.0)
    146
    """
    rates = rates or Rates()
    wanted = min(_MOST, max(_FEW, int(_PER_ROOT * math.sqrt(n))))
    room = int(math.sqrt(_SHARE * memory / (8.0 * folds)))
    most = max(1, min(n, wanted, room))
    while most > _FLOOR and max(kernels, 1) * _kernel_seconds(n, most, folds, rates) > seconds:
        most = max(_FLOOR, int(0.97 * most))
    return most


def _kernel_seconds(n: int, m: int, folds: int, rates: Rates) -> float:
    """Time of one kernel, rows whitened as they come: what is not known before the landmarks are."""
    return float(n * m / rates.values + (2.0 * n + 8.0 * (folds + 1) * m) * m * m / rates.product)


def sample_size(n: int | None, landmarks: int) -> int:
    """Rows that ladders and landmarks are drawn from."""
    wanted = max(_LEAST_SAMPLE, _SAMPLED * landmarks)
    return wanted if n is None else min(n, wanted)


def drawing_bytes(sample: int, landmarks: int) -> float:
    """Memory that drawing landmarks from a sample takes: columns of its Gram matrix, theirs, and those of a crowd."""
    return 8.0 * (landmarks * (1.2 * sample + 3.0 * landmarks) + 600.0 * sample)


def block_rows(widest: int, folds: int = 1) -> int:
    """Rows read together: about 30 MB of kernel values, but some hundred rows of each fold."""
    return int(min(_MOST_ROWS, max(_LEAST_ROWS, _ROWS_OF_A_FOLD * folds, _BLOCK_BYTES / (8.0 * widest))))


def group_kernels(sizes: Sequence[int], memory: float) -> list[list[int]]:
    """Kernels that share a pass: as many, in order, as there is memory for their sums (bytes each)."""
    room = _SHARE * memory
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
        how = "rows whitened as they come" if all(self.whitened) else "sums whitened at the end"
        if any(self.whitened) and not all(self.whitened):
            how = (
                f"rows of {counted(sum(self.whitened), 'kernel')} whitened as they come, sums of the others at the end"
            )
        if self.nested:
            how += "; pairs of folds held out"
        cells = [[counted(self.passes, "pass", "passes"), duration(self.seconds),
                  readable(self.bytes), str(self.block), how]]  # fmt: skip
        return head + "\n" + text_table(["passes", "time", "memory", "rows at once", "how"], cells)


def stream_plan(
    *,
    rows: int,
    columns: int,
    landmarks: Sequence[int],
    whitened: Sequence[bool],
    alphas: int,
    folds: int,
    targets: int,
    groups: Sequence[Sequence[int]],
    beside: bool,
    second_pass: bool,
    nested: bool,
    block: int,
    before: int = 0,
    rates: Rates | None = None,
) -> StreamPlan:
    """Time and memory of passes over so many rows; `before`: passes that only read."""
    rates = rates or Rates()
    seconds = rates.start
    for m, white in zip(landmarks, whitened, strict=True):
        p = float(m + 1 + targets)
        products = rows * p * p * (1.0 + beside) + (rows * float(m) ** 2 if white else 0.0)
        seconds += rows * m / rates.values + products / rates.product
        systems = (folds if folds > 1 else 0) + (folds * (folds - 1) / 2 if nested else 0) + 1
        # a tridiagonal form runs at about a sixth of the speed of products
        seconds += systems * (8 * p**3 + 4 * p * p * targets * alphas) / rates.product
        if second_pass:
            models = alphas * targets * (folds if nested else 1)
            seconds += rows * m / rates.values + 2 * rows * m * models / rates.product
    held = max(sum(8 * folds * (landmarks[k] + 1 + targets) ** 2 * (1 + beside) for k in group) for group in groups)
    if second_pass:  # models of every fold, in features and in kernel values, and what they predict for some rows
        each = alphas * targets * (folds if nested else 1)
        held += 8 * each * (2 * folds * sum(landmarks) + (len(landmarks) + 3) * -(-min(block, rows) // folds))
    widest = max(landmarks) + 1 + targets
    working = 8 * (block * widest * 1.3 + 6 * widest * widest)
    drawing = drawing_bytes(sample_size(rows, max(landmarks)), max(landmarks))
    return StreamPlan(
        rows, columns, tuple(landmarks), alphas, folds, targets, before + len(groups) + second_pass, seconds,
        int(max(held + working, drawing)), block, tuple(whitened), nested,
    )  # fmt: skip
