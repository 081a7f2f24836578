"""What is settled before a pass: how many landmarks, which, from a sample; the offset of y, and how rows are summed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.data.checks import check_size
from mercer.data.hashing import fill_folds, words_of
from mercer.data.rows import Array, Rows
from mercer.errors import InputError, refuse, refuse_if
from mercer.kernels.base import Kernel
from mercer.runtime import available_bytes, promise
from mercer.runtime.passes import Backend, PassWork, run_pass
from mercer.selection.plan import Rates
from mercer.solvers.landmarks import Features, draw_landmarks
from mercer.streaming.blocks import Block, Source
from mercer.streaming.blocks.table import join
from mercer.streaming.sums import Numbers, Side, State, SummedTargets

# Estimated error that sums of kernel values may bring, which is 30 times what is found or more; beyond it every row is
# whitened, which costs as much again.
ENOUGH = 2e-7
_FAR = 3.0  # standard deviations from zero beyond which targets are far from it
_FAR_LESS = 0.01  # share of what half of the features leave of a constant
_FEW, _MOST = 500, 2000  # landmarks: all rows of a small table, and the most that nobody asked for
_PER_ROOT = 4.0  # landmarks for the root of the number of rows
_FLOOR = 100
_SAMPLED = 5  # rows that landmarks are drawn from, for each landmark
_LEAST_SAMPLE = 2000
SHARE = 0.5  # of the memory there is, for the sums of one pass
_LADDER_ROWS = 2000  # of the sample that say what is constant
_MANY = 10**6  # rows, where nobody has counted them
_FIRST = 1000  # rows per fold that are hashed to see whether every fold has some
_AT_ONCE = 65_536  # rows read together where only their groups are looked at


def landmark_count(n: int, kernels: int, folds: int, memory: float, seconds: float) -> int:
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
    >>> from mercer.streaming.landmarks import landmark_count
    >>> landmark_count(300, 1, 10, 8e9, 120.0), landmark_count(100_000, 1, 10, 8e9, 120.0)
    (300, 1264)
    >>> landmark_count(10_000_000, 10, 10, 8e9, 120.0)
    146
    """
    rates = Rates()
    wanted = min(_MOST, max(_FEW, int(_PER_ROOT * math.sqrt(n))))
    room = int(math.sqrt(SHARE * memory / (8.0 * folds)))
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


@dataclass(frozen=True)
class LandmarkChoice:
    """How landmarks are found.

    Attributes
    ----------
    wanted : int, ndarray or None
        How many, or the rows themselves; None: as many as rows, memory and time suggest.
    method : str
        How they are drawn.
    seconds : float
        What a pass may take, by prediction, where the number is left open.
    """

    wanted: int | Array | None
    method: str
    seconds: float

    def count(self, n: int, kernels: int, folds: int) -> int:
        """How many are drawn for each kernel."""
        if self.wanted is None:
            return landmark_count(n, kernels, folds, available_bytes(), self.seconds)
        return len(self.wanted) if isinstance(self.wanted, np.ndarray) else min(int(self.wanted), n)

    def features(self, kernel: Kernel, sample: Array, names: tuple[str, ...] | None, count: int, seed: int) -> Features:
        """Features of a kernel: its landmarks drawn from the sample, or those given."""
        needed = drawing_bytes(len(sample), count)
        promise(int(needed), f"Drawing {count} landmarks from {len(sample)} rows", "Use fewer landmarks.")
        if isinstance(self.wanted, np.ndarray):
            return Features.of(kernel, self.wanted, names)
        rows = Rows(sample, names)
        drawn = draw_landmarks(kernel, rows, count, self.method, np.random.default_rng([seed, 1]))
        refuse(not len(drawn), f"k(x, x) of {kernel!r} is 0 for all rows. Use another kernel.")
        return Features.of(kernel, sample[drawn], names)


def draw_sample(source: Source, choice: LandmarkChoice, kernels: int, folds: int, seed: int, backend: Backend) -> Block:
    """Rows that ladders, landmarks and the offset of y come from; afterwards the number of rows is known."""
    guess = choice.count(_MANY if source.rows is None else source.rows, kernels, folds)
    return source.sample(sample_size(source.rows, guess), np.random.default_rng([seed, 0]), backend)


def rank_words(source: Source, sample: Block, folds: int, seed: int, backend: Backend) -> Array | None:
    """Words of all rows, or of all groups, in order, where folds by hash would leave one empty; None where they do not.

    The folds of a long table are all found in its first rows, or in the groups of the sample. Only where they are not,
    a pass collects the words of the groups.
    """
    rows = int(source.rows or 0)
    if sample.keys is None:
        first = min(rows, _FIRST * folds)
        if fill_folds(words_of(0, first, seed), folds):
            return None
        words, what = np.sort(words_of(0, rows, seed)), "rows"
    else:
        words, what = np.unique(words_of(0, len(sample), seed, sample.keys)), "groups"
        if not fill_folds(words, folds) and len(sample) < rows:
            words = run_pass(source, FindDistinct(seed), at_once=_AT_ONCE, backend=backend)["distinct"]
    if fill_folds(words, folds):
        return None
    must_be, way_out = f"at most the number of {what}, {len(words)}", f"Use a smaller cv, or more {what}."
    refuse_if(len(words) < folds, "The number of folds", must_be, folds, way_out)
    return words


@dataclass(frozen=True)
class FindDistinct(PassWork):
    """The work of a pass that collects what is distinct: all labels, or the words of all groups.

    Attributes
    ----------
    seed : int or None
        Of the hash of groups; None for labels.
    """

    seed: int | None = None

    def add(self, state: State, block: Block) -> None:
        """Add the labels or words of a block."""
        seed = self.seed
        distinct = block.Y if seed is None else words_of(block.start, len(block), seed, block.keys)
        if distinct is not None:
            self.merge(state, {"distinct": distinct})

    def merge(self, a: State, b: State) -> State:
        """What is in either of two states, in order and once."""
        for name, more in b.items():
            a[name] = np.unique(join([a[name], more])) if name in a else np.unique(more)
        return a


def numbers_of(sample: Block) -> Numbers:
    """Targets that are numbers, with their mean on the sample as offset."""
    if sample.Y is None:
        raise InputError("y must be given to fit; got none.")
    check_size("y", sample.Y)
    return Numbers(np.asarray(sample.Y.mean(axis=0)))


def sides_of(
    features: Sequence[Features], n: int, alpha: float, sample: Block, targets: SummedTargets, *, intercept: bool
) -> tuple[Side, ...]:
    """Each kernel with how its rows are summed.

    Sums of kernel values are whitened at the end where `Features.loss_of_digits` stays below 2e-7, which halves the
    work; otherwise every row is whitened as it comes.
    """
    Y, offset = sample.Y, targets.offset
    far = Y is not None and bool(np.any(offset)) and bool((np.abs(offset) > _FAR * Y.std(axis=0)).any())
    rows = sample.X[:_LADDER_ROWS]
    constants = (_constant(each, rows) if far and not intercept else np.zeros(each.count) for each in features)
    whitened = (each.loss_of_digits(n, alpha) > ENOUGH for each in features)
    return tuple(map(Side, features, whitened, constants))


def _constant(features: Features, rows: Array) -> Array:
    """u with phi(x)'u close to 1: of the first half of the features, or of all where that leaves far less.

    The first half is enough for most kernels, and loses the fewest digits. A kernel of low rank may need all of them.
    """
    u, phi = features.constant(rows), features.phi(rows)
    left = 1.0 - phi @ u
    C = phi.T @ phi
    C.flat[:: len(C) + 1] += 1e-8 * max(float(np.trace(C)), 1e-300)
    refined = u + np.linalg.solve(C, phi.T @ left)
    return refined if np.linalg.norm(1.0 - phi @ refined) < _FAR_LESS * np.linalg.norm(left) else u
