"""Which route, at what cost: one pure function, printed like a database's EXPLAIN."""

from __future__ import annotations

import math
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import MemoryRefusal
from mercer.runtime import readable
from mercer.runtime.progress import duration
from mercer.selection.removals import Removals
from mercer.text import Shown, counted, text_table

# What BLAS and the allocator keep for themselves.
_BASE = 1e7
KEPT = 256_000_000  # bytes of held-out values that are kept, so that the best candidate's need not be made again
# The table of scores is there up to three times: itself, as cv_results_ has it, and while their spread is taken.
SCORE_BYTES = 24


@dataclass(frozen=True)
class Rates:
    """What the machine does per second with all its threads; defaults are those of two cores of 2024.

    Attributes
    ----------
    product, cholesky, inverse, small : float
        Flops per second of matrix products, Cholesky factors, inverses, and systems of a few hundred.
    spectrum : float
        n^3 per second of an eigendecomposition.
    values : float
        Kernel values per second.
    call, row, start : float
        Seconds of Python for each set of rows, each tested row of a candidate, and each search.
    """

    product: float = 7e10
    cholesky: float = 4.5e10
    inverse: float = 4.5e10
    small: float = 1.5e10
    spectrum: float = 8e9
    values: float = 2.5e8
    call: float = 4e-5
    row: float = 3e-8
    start: float = 0.02


def measure(size: int = 1000) -> Rates:
    """The rates of this machine, measured now; takes about a second.

    Pass the result as `rates` to have plans follow this machine. Plans use the shipped defaults otherwise,
    so that the same call takes the same route on every run.
    """
    from mercer.kernels import Gaussian
    from mercer.solvers.cholesky import potrf, potri

    rng = np.random.default_rng(0)
    X = rng.normal(size=(size, 8))
    K = Gaussian(2.0)(X)
    K.flat[:: size + 1] += 1.0
    cube = float(size) ** 3

    def invert() -> None:
        A = K.copy()
        potrf(A)
        potri(A)

    small = K[:200, :200]
    work: dict[str, tuple[float, Callable[[], object]]] = {
        "product": (2 * cube, lambda: K @ K),
        "cholesky": (cube / 3, lambda: potrf(K.copy())),
        "inverse": (cube, invert),
        "small": (200.0**3 / 3, lambda: potrf(small.copy())),
        "spectrum": (cube, lambda: np.linalg.eigh(K)),
        "values": (size * size, lambda: Gaussian(2.0)(X)),
    }
    return Rates(**{name: flops / min(timeit.repeat(do, number=1, repeat=3)) for name, (flops, do) in work.items()})


@dataclass(frozen=True, eq=False)
class SearchWork:
    """What is to be done.

    Attributes
    ----------
    n : int
        Rows.
    features : int or None
        Explicit features of the largest kernel, None where one has none.
    kernels, alphas, targets : int
        How many of each.
    sizes, tests : ndarray
        Rows left out and tested in each removal.
    threads : int
        How many candidates run side by side.
    refit_only : bool
        Whether closed forms do not apply (weights that change with every split).
    more : ndarray of bool or False
        Which removals are another one and a single row besides, to be read from the factor of that other one.
    nested : bool
        Whether all choices are repeated in outer folds; otherwise the best candidate is fitted on all rows at the end.
    kept : float
        Bytes of what is kept of every candidate until the end: scores, and held-out values.
    """

    n: int
    features: int | None
    kernels: int
    alphas: int
    targets: int
    sizes: Array
    tests: Array
    threads: int = 1
    refit_only: bool = False
    more: Array | bool = False
    nested: bool = False
    kept: float = 0.0

    @staticmethod
    def of(removals: Removals, *, n: int, **rest: Any) -> SearchWork:
        """The work that these removals of n rows make."""
        sizes = np.array([len(rows) for rows in removals.sets], dtype=float)
        more = False if removals.bases is None else removals.bases >= 0
        return SearchWork(n=n, sizes=sizes, tests=removals.counts.astype(float), more=more, **rest)

    @property
    def single(self) -> bool:
        """Whether every removal is of one row."""
        return bool((self.sizes == 1).all())

    @property
    def whole(self) -> bool:
        """Whether all of P is cheaper to form than the blocks one by one (spectral route)."""
        return not self.single and float((self.sizes**2).sum()) > 0.5 * self.n**2

    def batch(self, route: str) -> int:
        """Kernels held at once, so that every thread has work to the end: each its own eigendecomposition, or
        enough candidates to share out.
        """
        most, few = (2500, self.threads) if route == "spectral" else (4000, math.ceil(8 / max(1, self.alphas)))
        return 1 if self.n > most else min(self.kernels, max(1, few))


@dataclass(frozen=True)
class RouteCost:
    """One route with its predicted cost."""

    name: str
    flops: float
    seconds: float
    bytes: float
    note: str


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """The routes that could be taken, and the one that is.

    Attributes
    ----------
    work : SearchWork
        What is to be done.
    routes : tuple of RouteCost
        Every route that could be taken, cheapest first.
    chosen : RouteCost
        The cheapest that fits in memory.
    memory : int
        Bytes available.
    """

    work: SearchWork
    routes: tuple[RouteCost, ...]
    chosen: RouteCost
    memory: int
    label: str = ""

    def _columns(self) -> Mapping[str, Sequence[object]]:
        """What every route costs, and whether it is taken."""
        numbers = {name: [float(getattr(r, name)) for r in self.routes] for name in ("flops", "seconds", "bytes")}
        names, notes = [r.name for r in self.routes], [r.note for r in self.routes]
        chosen, fits = [r is self.chosen for r in self.routes], [r.bytes <= self.memory for r in self.routes]
        return {"method": names, "chosen": chosen, **numbers, "fits": fits, "how": notes}

    def __str__(self) -> str:
        work, low, high = self.work, int(self.work.sizes.min()), int(self.work.sizes.max())
        rows_each = counted(low, "row") if low == high else f"{low} to {high} rows"
        head = (
            f"{counted(work.kernels, 'kernel')} x {counted(work.alphas, 'alpha')} on {counted(work.n, 'row')}; "
            f"{counted(len(work.sizes), 'set')} of {rows_each} held out{f' ({self.label})' if self.label else ''}"
        )
        rows = [
            (
                "->" if r is self.chosen else "", r.name, f"{r.flops:.2g}", duration(r.seconds), readable(r.bytes),
                r.note if r.bytes <= self.memory else f"does not fit in {readable(self.memory)}",
            )
            for r in self.routes
        ]  # fmt: skip
        return head + "\n" + text_table(["", "method", "flops", "time", "memory", "how"], rows)


def plan(work: SearchWork, memory: int, rates: Rates | None = None, label: str = "") -> Plan:
    """The cheapest route that fits.

    ========= ==================================== ====================================================
    route     once per kernel                      for each alpha
    ========= ==================================== ====================================================
    inverse   Gram matrix                          n^3 for P, |S|^3 / 3 per set
    spectral  Gram matrix, one eigendecomposition  n^2 (leave-one-out); n |S|^2 or n^3 once, |S|^3 / 3
    primal    n D^2                                n D^2, |S| D min(|S|, D) per set
    refit     Gram matrix                          |train|^3 / 3 per set
    ========= ==================================== ====================================================

    Parameters
    ----------
    work : SearchWork
        Sizes of everything.
    memory : int
        Bytes that may be taken.
    rates : Rates, default=None
        Speed of the machine; the shipped defaults make plans repeatable.
    label : str
        Words for the heading.

    Returns
    -------
    Plan
    """
    rates = rates or Rates()
    routes = sorted(_routes(work, rates), key=lambda route: route.seconds)
    fitting = next((route for route in routes if route.bytes <= memory), None)
    if fitting is not None:
        return Plan(work, tuple(routes), fitting, memory, label)
    n = float(work.n)  # for which some route fits, with sets of the same share of the rows
    for _ in range(100):
        share = int(n) / work.n
        smaller = replace(work, n=int(n), sizes=work.sizes * share, tests=work.tests * share)
        if min(route.bytes for route in _routes(smaller, rates)) <= memory:
            break
        n *= 0.9
    raise MemoryRefusal(
        f"Model selection on {work.n} rows needs at least {readable(min(route.bytes for route in routes))} of memory; "
        f"{readable(memory)} is available. Use at most about {int(n)} rows, or "
        "NystroemRidgeCV, which reads the rows in blocks."
    )


def _routes(work: SearchWork, rates: Rates) -> list[RouteCost]:
    """Routes that give the numbers of refitting, each with its cost."""
    n, sizes, trains, sets = float(work.n), work.sizes, work.n - work.sizes, len(work.sizes)
    candidates, tested = work.kernels * work.alphas, float(work.tests.sum())
    active = min(work.threads, candidates)
    held = 8 * tested * (3 + work.targets * (2 + active)) + work.kept + _BASE
    steps = 1 if work.single else sets - int(np.sum(work.more))  # removals that are taken one by one
    calls = rates.start + 100 * rates.row * sets + (rates.call * steps + rates.row * tested) * candidates
    # Gram matrices, and the best candidate on all rows, half of whose time is its own matrix and refinement
    gram = work.kernels * n * n / rates.values
    gram += 2 * (n**3 / 3 / rates.cholesky + n * n / rates.values) if not work.nested else 0.0
    fits, largest = float((trains**3 / 3 + 2 * trains * work.tests).sum()), float(trains.max(initial=0))
    # twice: every training matrix is gathered and copied before it is factored
    seconds = gram + candidates * (2 * fits / rates.cholesky + 10 * rates.call * sets) + calls
    numbers, how = n**2 + 3 * largest * largest * active, f"{counted(sets, 'fit')} for each candidate"
    refit = RouteCost("refit", candidates * fits, seconds, 8 * numbers + held, how)
    if work.refit_only:
        return [refit]
    # dividing by the blocks P_SS of one candidate
    blocks = float(np.where(work.more, sizes**2, np.minimum(sizes, trains) ** 3 / 3).sum()) * (not work.single)
    solving = candidates * blocks / rates.small / min(work.threads, 2) + calls
    seconds = gram + candidates * n**3 / rates.inverse + solving
    taken, how = 8 * n**2 * (work.batch("inverse") + active), "one inverse for each candidate, every set read from it"
    inverse = RouteCost("inverse", candidates * (n**3 + blocks), seconds, taken + held, how)
    per_alpha = 4 * n * n if work.single else (n**3 if work.whole else 2 * n * float((sizes**2).sum()))
    batch = work.batch("spectral")
    matrices = 5.1 if batch == 1 else 4.3  # LAPACK's own work space included
    flops, how = candidates * (per_alpha + blocks), "one eigendecomposition for each kernel, all alphas from it"
    seconds = gram + work.kernels * n**3 / rates.spectrum + candidates * per_alpha / rates.product + solving
    taken = 8 * n * n * max(matrices, (3.0 + active) * work.whole) * batch
    spectral = RouteCost("spectral", work.kernels * 9 * n**3 + flops, seconds, taken + held, how)
    if work.features is None or work.features >= work.n:
        return [refit, inverse, spectral]
    D, widest = float(work.features + 1), float(sizes.max(initial=0.0)) * (not work.single)
    per_set = float((sizes * D * np.minimum(sizes, D)).sum()) * (not work.single)
    flops = work.kernels * n * D * D + candidates * (n * D * D + D**3 / 3 + per_set)
    # products, and a few passes over n D numbers
    seconds = 2 * flops / rates.product + 3 * candidates * n * D / rates.values + calls
    taken = 8 * (D * (n * (2 + active) + widest * active) + 2 * D * D)
    how = f"{work.features} explicit features instead of {work.n} rows"
    return [refit, inverse, spectral, RouteCost("primal", flops, seconds, taken + held, how)]
