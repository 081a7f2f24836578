"""Which solver takes a system and what that costs; and how it was solved, with how many correct digits."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from mercer.errors import (
    IllConditionedWarning,
    InputError,
    NotMercerWarning,
    SingularSystemWarning,
    nearest,
    refuse_if,
    warn,
)
from mercer.runtime import available_bytes, promise
from mercer.solvers.gram import tile_bytes
from mercer.text import counted

EPS = float(np.finfo(np.float64).eps)
# Past this the smallest eigenvalue is rounding error, and "positive definite" was luck.
SINGULAR = 0.5 / EPS
# Closed forms and refits differ by a few kappa eps; past this much it is worth a word.
_FEW, _WORTH_A_WORD = 3.0, 1e-6


def digits_left(condition: float) -> float:
    """Decimal digits that a system of this condition leaves.

    >>> round(digits_left(1e6)), digits_left(float("inf"))
    (9, 0.0)
    """
    return max(0.0, -math.log10(_FEW * EPS * max(condition, 1.0))) if math.isfinite(condition) else 0.0


@dataclass(frozen=True)
class Route:
    """The route of one solve.

    Attributes
    ----------
    name : str
        cholesky, mixed (single-precision factor, refined to double), spectral, primal or cg.
    reason : str
        Why this one was taken.
    condition : float
        Estimated condition number of the system, infinite where it is singular.
    rank : int
        Rank of the system, as far as double precision can tell.
    size : int
        Number of unknowns.
    negative : float
        The most negative eigenvalue found, 0 for a positive definite system.
    residual : float
        What an iteration left of the right-hand side, relative to it; 0 for factors.
    cancelled : float
        Error of coefficients and predictions beyond that of the factor, in units of the precision: of sums of numbers
        so many times larger than the answer, or of an iteration that ended early.

    Examples
    --------
    >>> from mercer.solvers import Route
    >>> print(Route("cholesky", "dual, 100 rows", condition=1e4, rank=100, size=100))
    cholesky (dual, 100 rows): condition number about 1e+04, 11.2 correct digits
    """

    name: str
    reason: str
    condition: float
    rank: int
    size: int
    negative: float = 0.0
    residual: float = 0.0
    cancelled: float = 1.0

    @property
    def digits(self) -> float:
        """Decimal digits of coefficients and predictions that are correct, of about 15."""
        return digits_left(self.cancelled if self.residual else max(self.condition, self.cancelled))

    @property
    def singular(self) -> bool:
        """Whether the minimum-norm solution of a singular system was used."""
        return self.rank < self.size

    def __str__(self) -> str:
        if self.singular:
            return f"{self.name} ({self.reason}): rank {self.rank} of {self.size}, minimum-norm solution"
        how = f"condition number about {self.condition:.1g}, {self.digits:.1f} correct digits"
        return f"{self.name} ({self.reason}): {how}"

    def warn(self, owner: str, alpha: float, features: int = 0) -> None:
        """Warn if the system is indefinite, singular or nearly so; `features`: unpenalized ones, more than rows."""
        if self.negative < 0:
            warn(
                f"K + alpha I of {owner} must be positive definite (alpha = {alpha:.3g}); got an eigenvalue of "
                f"{self.negative:.3g}, so the least-squares problem may have no minimum. Use a Mercer kernel, alpha "
                f"above {alpha - self.negative:.3g}, or mercer.repair on the matrix.",
                NotMercerWarning,
            )
        elif self.singular or features:
            warn(
                f"The system of {owner} is singular: rank {self.rank} of {max(self.size, features)} with "
                f"alpha = {alpha:.3g}. The minimum-norm solution was used; a larger alpha makes it unique.",
                SingularSystemWarning,
            )
        elif self.condition * EPS > _WORTH_A_WORD:
            warn(
                f"The system of {owner} is nearly singular: condition number about {self.condition:.1g} with "
                f"alpha = {alpha:.3g}; about {self.digits:.0f} digits of the solution are correct. Use a larger alpha "
                "for more accuracy.",
                IllConditionedWarning,
            )


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
    solver: str, n: int, features: int | None, alphas: int = 1, *, memory: int | None = None, iterable: bool = False
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
    must_be, way_out = f"one of {', '.join(SOLVERS)}", nearest(str(solver), SOLVERS)
    refuse_if(solver not in SOLVERS, "solver", must_be, repr(solver), way_out)
    there = available_bytes() if memory is None else memory
    if solver == "primal" and features is None:
        raise InputError(
            "solver='primal' needs a kernel with a finite feature map; this kernel has no such map. Use solver='auto'."
        )
    if solver == "primal" or (solver == "auto" and features is not None and features < n):
        count = features or 0
        reason = f"{counted(count, 'feature')}, {counted(n, 'row')}"
        return SolverChoice("primal", reason, 32 * (n * count + count * count))
    dual, cholesky, mixed = f"dual, {counted(n, 'row')}", int(8.8 * n * n), int(12.8 * n * n)
    if solver == "spectral" or (solver == "auto" and alphas > _SPECTRUM):
        return SolverChoice("spectral", f"{dual}, {counted(alphas, 'alpha')}", int(25.6 * n * n))
    if solver == "cg" or (solver == "auto" and iterable and (n >= WORTH_ITERATING or cholesky > there)):
        if not iterable:
            raise InputError("solver='cg' does not support precomputed kernels. Use solver='auto'.")
        return SolverChoice("cg", dual, cg_bytes(n, there), solver == "auto" and cholesky <= there)
    if solver == "auto" and alphas == 1 and n >= _WORTH_SPLITTING and mixed <= there:
        return SolverChoice("mixed", dual, mixed)
    return SolverChoice("cholesky", dual, cholesky)


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
    return _lean_bytes(n) + min(tile_bytes(n), room_for_tiles(n, memory))


def room_for_tiles(n: int, memory: int) -> int:
    """Bytes that may keep tiles: what conjugate gradients leave, but never more than half of the memory."""
    return max(0, min(memory // 2, memory - _lean_bytes(n)))


def refuse_if_too_large(choice: SolverChoice, owner: str, n: int) -> None:
    """Raise a MemoryRefusal before anything is allocated, with the number of rows that would fit."""
    there, what = available_bytes(), f"{owner} on {n} rows with solver='{choice.name}'"
    if choice.name == "primal":
        numbers = choice.bytes / 32  # D (n + D), and so many fit
        features = (math.sqrt(n * n + 4 * numbers) - n) / 2
        rows = int(there / 32 / features - features - 1)
        fewer_rows = f", or at most about {rows} rows" if rows > features else ""
        promise(choice.bytes, what, f"Use fewer features{fewer_rows}.")
        return
    largest = int(math.sqrt(there / 8.8))
    if choice.name == "cg":
        largest = max(largest, bisect_right(range(1, there // 2400 + 1), there, key=_lean_bytes))
    way_out = (
        f"Use at most about {largest} rows. For more rows, use NystroemRidge, or a kernel with few explicit features "
        "(Linear, a low-degree Polynomial, FromFeatures)."
    )
    promise(choice.bytes, what, way_out)
