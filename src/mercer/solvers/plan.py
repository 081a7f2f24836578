"""Which route to take: one pure function, its table in the docstring."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mercer.errors import InputError, nearest, sentence
from mercer.runtime import available_bytes, promise
from mercer.solvers.gram import kept_bytes

SOLVERS = ("auto", "cholesky", "spectral", "primal", "cg")

# One eigendecomposition costs about as much as this many Cholesky factorizations.
_SPECTRUM = 20
# Below this many rows a factorization takes milliseconds, and single precision saves nothing.
_WORTH_SPLITTING = 1500
# From this many rows on conjugate gradients are faster than any factor.
WORTH_ITERATING = 10_000


@dataclass(frozen=True)
class SolverChoice:
    """A route, why it was taken, the bytes it takes at its peak, and whether a factor may take over from it."""

    name: str
    reason: str
    bytes: int
    replaceable: bool = False


def choose(
    solver: str,
    n: int,
    features: int | None,
    alphas: int = 1,
    *,
    memory: int | None = None,
    iterable: bool = False,
) -> SolverChoice:
    """The route for n rows, `features` explicit features (None: not finite) and so many distinct alphas.

    ========== ====================================================== ==========================
    route      taken by "auto" when                                   bytes at its peak
    ========== ====================================================== ==========================
    primal     phi is finite with fewer features than rows            8 (4 n D + 4 D^2)
    spectral   more than 20 distinct alphas                           8 (3.2 n^2)
    mixed      one alpha, 1500 rows or more, and the memory is there  8 (1.6 n^2)
    cg         10 000 rows or more, or a factor does not fit          8 (2 n r + 300 n), 2 n^2 more if there
    cholesky   otherwise                                              8 (1.1 n^2)
    ========== ====================================================== ==========================

    r = 7 sqrt(n) is the number of pivots. Up to half of the memory keeps tiles of the kernel in single precision;
    those for which there is no room are computed anew in every product. `iterable` says whether the kernel allows it
    (a given matrix does not). Where "auto" took cg and it does not end within the time of a factor, a factor is taken.

    Examples
    --------
    >>> from mercer.solvers import choose
    >>> choose("auto", n=1000, features=8).name, choose("auto", n=1000, features=None).name
    ('primal', 'cholesky')
    """
    if solver not in SOLVERS:
        raise InputError(
            sentence("solver", f"one of {', '.join(SOLVERS)}", repr(solver), nearest(str(solver), SOLVERS))
        )
    there = available_bytes() if memory is None else memory
    if solver == "primal" and features is None:
        raise InputError(
            "solver='primal' needs a kernel with a finite feature map; this kernel has no such map. Use solver='auto'."
        )
    if solver == "primal" or (solver == "auto" and features is not None and features < n):
        count = features or 0
        return SolverChoice("primal", f"{_many(count, 'feature')}, {_many(n, 'row')}", 32 * (n * count + count * count))
    if solver == "spectral" or (solver == "auto" and alphas > _SPECTRUM):
        return SolverChoice("spectral", f"dual, {_many(n, 'row')}, {_many(alphas, 'alpha')}", int(25.6 * n * n))
    too_large = int(8.8 * n * n) > there
    if solver == "cg" or (solver == "auto" and iterable and (n >= WORTH_ITERATING or too_large)):
        if not iterable:
            raise InputError("solver='cg' does not support precomputed kernels. Use solver='auto'.")
        return SolverChoice("cg", f"dual, {_many(n, 'row')}", cg_bytes(n, there), solver == "auto" and not too_large)
    mixed = int(12.8 * n * n)
    if solver == "auto" and alphas == 1 and n >= _WORTH_SPLITTING and mixed <= there:
        return SolverChoice("mixed", f"dual, {_many(n, 'row')}", mixed)
    return SolverChoice("cholesky", f"dual, {_many(n, 'row')}", int(8.8 * n * n))


def pivots(n: int) -> int:
    """Columns of K that conjugate gradients are preconditioned by."""
    return min(n, max(50, int(7 * math.sqrt(n))))


def worth_products(n: int) -> int:
    """Products with kept tiles that take about as long as a Cholesky factor."""
    return max(300, n // 16)


def _lean_bytes(n: int) -> int:
    """Conjugate gradients that keep no tiles: the pivots' columns twice, and a few blocks of columns and vectors."""
    return 16 * n * pivots(n) + 2400 * n


def cg_bytes(n: int, memory: int) -> int:
    """Conjugate gradients with as many tiles kept as so much memory allows."""
    return _lean_bytes(n) + min(kept_bytes(n), room_for_tiles(n, memory))


def room_for_tiles(n: int, memory: int) -> int:
    """Bytes that may keep tiles: what conjugate gradients leave, but never more than half of the memory."""
    return max(0, min(memory // 2, memory - _lean_bytes(n)))


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" + ("" if count == 1 else "s")


def _rows_that_fit(memory: int) -> int:
    """Rows for which conjugate gradients fit, by bisection."""
    low, high = 0, 2
    while _lean_bytes(high) <= memory:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _lean_bytes(middle) <= memory else (low, middle)
    return low


def promise_spectrum(n: int) -> None:
    """Memory for an eigendecomposition in place of a Cholesky factor that does not exist."""
    promise(
        int(17.6 * n * n),
        f"The kernel matrix plus alpha is not positive definite, and its eigendecomposition ({n} x {n})",
        "Use a larger alpha.",
    )


def refuse_if_too_large(choice: SolverChoice, owner: str, n: int) -> None:
    """Raise a MemoryRefusal before anything is allocated, with the number of rows that would fit."""
    there = available_bytes()
    largest = int(math.sqrt(there / 8.8))
    way_out = f"Use at most about {largest} rows"
    if choice.name == "cg":
        way_out = f"Use at most about {max(largest, _rows_that_fit(there))} rows"
    if choice.name == "primal":
        numbers = choice.bytes / 32  # D (n + D), and so many fit
        features = (math.sqrt(n * n + 4 * numbers) - n) / 2
        rows = int(there / 32 / features - features - 1)
        way_out = f"Use fewer features{f', or at most about {rows} rows' if rows > features else ''}."
    else:
        way_out += (
            ". For more rows, use NystroemRidge, or a kernel with few explicit features (Linear, a low-degree "
            "Polynomial, FromFeatures)."
        )
    promise(choice.bytes, f"{owner} on {n} rows with solver='{choice.name}'", way_out)
