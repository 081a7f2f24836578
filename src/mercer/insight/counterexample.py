"""Rows on which a kernel of unknown worth has a negative eigenvalue, searched for from simple to strange."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.insight.spectrum import GramSpectrum
from mercer.kernels.base import Kernel
from mercer.kernels.certificate import Witness

# A function of the user's may lose half of its digits; what it shows beyond that is no rounding.
PRECISION = 1e-9
# Rows of larger numbers may lose all of them: there, a violation must survive a change of every number.
_LARGE = 100.0
_CHANGE = 1e-4
_SCALES = (1.0, 0.3, 3.0, 0.1, 10.0, 1e-3, 1e3, 1e-8, 1e8)
_DRAWS, _CLIMBS, _STEPS = 60, 6, 80


@dataclass(frozen=True, eq=False)
class CounterexampleSearch:
    """What came of a search.

    Attributes
    ----------
    witness : Witness or None
        What was found.
    spectrum : GramSpectrum or None
        The eigenvalues of the matrix of the witness.
    tried : int
        Tables that could be evaluated.
    problem : str
        What the first table that could not be evaluated was refused with; empty where all could.
    """

    witness: Witness | None
    spectrum: GramSpectrum | None
    tried: int
    problem: str


def search(
    kernel: Kernel, columns: Sequence[int], rng: np.random.Generator, climbs: int = _CLIMBS
) -> CounterexampleSearch:
    """Try simple tables, then draw some, then climb down from the most promising ones, so many for each width."""
    climber = _Climber(kernel, rng)
    for tables in (_simple, partial(_drawn, rng)):
        for width in columns:
            if any(map(climber.look, tables(width))):
                return climber.found()
    for width in columns:
        starts = sorted((seen for seen in climber.seen if seen[1].shape[1] == width), key=lambda seen: seen[0])
        for start in starts[:climbs]:
            if climber.climb(*start):
                return climber.found()
    return climber.found()


class _Climber:
    """Tables seen so far with their smallest eigenvalue, as a share of the largest."""

    def __init__(self, kernel: Kernel, rng: np.random.Generator) -> None:
        self.kernel, self.rng = kernel, rng
        self.seen: list[tuple[float, Array]] = []
        self.tried, self.problem = 0, ""
        self.caught: tuple[Witness, GramSpectrum] | None = None

    def found(self) -> CounterexampleSearch:
        witness, spectrum = self.caught or (None, None)
        return CounterexampleSearch(witness, spectrum, self.tried, self.problem)

    def look(self, X: Array) -> bool:
        """Whether this table is a counterexample; remembered where it may lead to one."""
        share = self.share(X)
        if share is None:
            return False
        if 2 <= len(X) <= 8 and np.abs(X).max(initial=0.0) <= _LARGE:
            self.seen.append((share, X))
        return self.caught is not None

    def climb(self, best: float, X: Array) -> bool:
        """Change rows at random, and keep what makes the smallest eigenvalue smaller."""
        step = 0.5 * float(np.abs(X).max(initial=0.0)) or 1.0
        for _ in range(_STEPS):
            mask = self.rng.random((len(X), 1)) < 0.5
            moved = X + step * mask * self.rng.normal(size=X.shape)
            share = self.share(moved)
            if self.caught is not None:
                return True
            if share is not None and share < best:
                best, X, step = share, moved, 1.5 * step
            else:
                step *= 0.85
        return False

    def share(self, X: Array) -> float | None:
        """The smallest eigenvalue over the largest |eigenvalue|; None where the kernel refuses."""
        spectrum = self.evaluate(X)
        if spectrum is None:
            return None
        self.tried += 1
        if spectrum.negative:
            self.confirm(spectrum, X)
        largest = float(np.abs(spectrum.scaled_values).max())
        return float(spectrum.scaled_values[0]) / largest if largest else 0.0

    def confirm(self, spectrum: GramSpectrum, X: Array) -> None:
        """Keep a counterexample if it stands by itself, and if large numbers are not to blame."""
        witness = spectrum.witness(Rows(X))
        if witness is None:
            return
        few = np.array(witness.rows)
        alone = self.evaluate(few)
        if alone is None or not alone.negative:
            return
        if np.abs(few).max(initial=0.0) > _LARGE:
            changed = (few * (1.0 + _CHANGE * self.rng.normal(size=few.shape)) for _ in range(4))
            if not all(again is not None and again.negative for again in map(self.evaluate, changed)):
                return
        shown = alone.witness(Rows(few))
        if shown is not None:
            self.caught = Witness(shown.rows, shown.vector, shown.value), alone

    def evaluate(self, X: Array) -> GramSpectrum | None:
        try:
            with np.errstate(all="ignore"):
                K = np.asarray(self.kernel(X))
        except Exception as problem:  # noqa: BLE001 - a function of the user's may raise anything
            self.problem = self.problem or f"{type(problem).__name__}: {problem}"
            return None
        return GramSpectrum(K, PRECISION) if np.isfinite(K).all() else None


def _simple(width: int) -> Iterator[Array]:
    """Single rows, pairs and lines of whole numbers, grids, duplicates, at several scales."""
    first = np.eye(1, width)
    for scale in _SCALES:
        for numbers in ([0], [1], [-1], [0, 1], [1, 2], [-1, 1], [1, 1], [-2, 1], [0, 1, 2], [-1, 0, 1], [1, 1, 2]):
            for direction in (first, np.ones((1, width))) if width > 1 else (first,):
                yield scale * np.array(numbers, dtype=np.float64)[:, None] * direction
        for count in (4, 6, 8):
            yield scale * np.arange(count, dtype=np.float64)[:, None] * first
    for scale in _SCALES[:5]:
        yield scale * np.vstack([np.zeros((1, width)), np.eye(width)])
        yield scale * np.vstack([-np.eye(width), np.eye(width)])
        yield scale * np.array(list(islice(product((-1.0, 0.0, 1.0), repeat=width), 27)))
        flat = min(width, 2)
        yield scale * np.array(list(product(np.arange(10.0), repeat=flat))) @ np.eye(flat, width)


def _drawn(rng: np.random.Generator, width: int) -> Iterator[Array]:
    """Random rows: of one scale or of several, negative or not, whole numbers, and rows close to each other."""
    for turn in range(_DRAWS):
        count = int(rng.integers(2, 9))
        scale = _SCALES[turn % len(_SCALES)]
        X = rng.normal(size=(count, width))
        yield scale * X
        yield scale * np.abs(X)
        yield rng.integers(-5, 6, size=(count, width)).astype(np.float64)
        yield X * 10.0 ** rng.uniform(-3, 2, size=(count, 1))
        yield X[rng.integers(0, count, size=count)] + 0.01 * scale * rng.normal(size=(count, width))
