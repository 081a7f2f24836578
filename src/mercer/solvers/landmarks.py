"""A few rows that stand for all: drawn at random, by distance, or as pivots of a Cholesky factor.

Randomly pivoted Cholesky (Chen, Epperly, Tropp, Webber) approaches K by F F', a block of columns at a time; the rows
of a block are drawn in proportion to what the diagonal still lacks, and refused where those before them in the block
already say the same. Only n x rank kernel values are ever computed.

What a few landmark rows make of a kernel: finitely many features with k(x, z) close to phi(x)'phi(z).

For landmarks Z and the triangular factor K_ZZ = R'R, phi(x) = R^-T k(Z, x): the kernel's own features, seen from the
landmarks (Nystroem). The factor is pivoted, so that landmarks which tell nothing new are left out, and the
features of the first landmarks are the same however many follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpstrf

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, nearest, refuse_if, sentence
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import between, finite_on, gram
from mercer.solvers.cholesky import half_solve, largest_eigenvalue, rich_start
from mercer.solvers.gram import times
from mercer.solvers.plan import EPS

_BLOCK = 100
_LARGEST = 1e150
_EXHAUSTED = 1e-13  # share of the trace below which nothing but rounding is left
METHODS = ("pivoted", "kmeans", "uniform")
_CROWD = 300  # rows, by chance, on which columns are looked at
_MILD = 0.25  # power of a column's squared length in the chance of its row; less than 1 is kinder to the crowd


def draw_landmarks(kernel: Kernel, rows: Rows, count: int, method: str, rng: np.random.Generator) -> Array:
    """Numbers of at most `count` rows that stand for all, the most telling first.

    ======== ==================================================================== =============
    method   how a row is drawn                                                   kernel values
    ======== ==================================================================== =============
    pivoted  by what those drawn leave open of its column k(X, x), the fourth     n x count
             root of the squares (a mild randomly pivoted Cholesky)
    kmeans   in proportion to its squared distance, in feature space, to them     n x count
    uniform  every row with the same chance                                       none
    ======== ==================================================================== =============

    The first two stop early where nothing is left to be told: rows that are there twice are drawn once.

    Parameters
    ----------
    kernel : Kernel
        The similarity.
    rows : Rows
        What to draw from.
    count : int
        How many, at most.
    method : {"pivoted", "kmeans", "uniform"}
        How.
    rng : numpy.random.Generator
        The chance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.solvers.landmarks import draw_landmarks
    >>> from mercer.kernels import Gaussian
    >>> rows = as_rows([[0.0], [0.0], [5.0], [5.0], [9.0]])
    >>> drawn = draw_landmarks(Gaussian(1.0), rows, 5, "pivoted", np.random.default_rng(0))
    >>> sorted(rows.values[drawn, 0].tolist())
    [0.0, 5.0, 9.0]
    """
    way_out = nearest(method, METHODS)
    refuse_if(method not in METHODS, "The method of drawing landmarks", "a known name", repr(method), way_out)
    if method == "uniform":
        return rng.choice(len(rows), min(count, len(rows)), replace=False)
    if method == "kmeans":
        return _far_apart(kernel, rows, count, rng)
    return pivoted_cholesky(kernel, rows, count, rng, crowd=_CROWD)[1]


def _far_apart(kernel: Kernel, rows: Rows, count: int, rng: np.random.Generator) -> Array:
    """The seeding of k-means++: each row drawn in proportion to its squared distance to the nearest one drawn."""
    finite_on(kernel, rows)
    diagonal = kernel.diagonal(rows)
    slack = _EXHAUSTED * float(np.abs(diagonal).max(initial=0.0))
    drawn = [int(rng.integers(len(rows)))]
    gap = np.full(len(rows), np.inf)
    while True:
        last = drawn[-1]
        against = between(kernel, rows, Rows(rows.values[[last]], rows.names))[:, 0]
        gap = np.minimum(gap, diagonal + diagonal[last] - 2.0 * against)
        gap[gap < slack] = 0.0  # rounding, and no distance
        total = float(gap.sum())
        if len(drawn) >= count or not total > 0:
            return np.array(drawn, dtype=np.intp)
        drawn.append(int(rng.choice(len(rows), p=gap / total)))


def pivoted_cholesky(
    kernel: Kernel, rows: Rows, rank: int, rng: np.random.Generator, *, crowd: int = 0
) -> tuple[Array, Array]:
    """F of shape (n, at most rank) with F F' close to K, and the rows that were its pivots.

    A row is drawn in proportion to what k(x, x) still lacks, which is best for the trace of K - F F'. Rows far from all
    others lack most and say least of the rest; with a `crowd` of so many rows the chance is the fourth root of what
    is still open of the column k(X, x), squared and summed, as the crowd shows it. Held-out errors are smaller so.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.solvers.landmarks import pivoted_cholesky
    >>> from mercer.kernels import Gaussian
    >>> rows = as_rows(np.linspace(0.0, 1.0, 300)[:, None])
    >>> F, pivots = pivoted_cholesky(Gaussian(1.0), rows, 12, np.random.default_rng(0))
    >>> bool(np.abs(F @ F.T - Gaussian(1.0)(rows)).max() < 1e-8)
    True
    """
    n, rank = len(rows), min(rank, len(rows))
    left = np.maximum(kernel.diagonal(rows), 0.0)
    if float(left.max(initial=0.0)) > _LARGEST:
        must_be = "at most 1e150, so that its square is finite"
        got = f"{left.max():.3g} in row {int(left.argmax())}"
        raise InputError(sentence(f"k(x, x) of {kernel!r}", must_be, got, "Scale the columns of X."))
    trace, filled = float(left.sum()), 0
    F = np.empty((n, rank))
    pivots: list[Array] = []
    seen = rng.choice(n, min(crowd, n), replace=False)
    open_part = between(kernel, Rows(rows.values[seen], rows.names), rows) if crowd else np.empty((0, n))
    while filled < rank and float(left.sum()) > _EXHAUSTED * trace:
        chance = _chances(left, open_part, _EXHAUSTED * trace / n)
        drawn = rng.choice(n, size=min(_BLOCK, rank - filled), p=chance)
        core = gram(kernel, Rows(rows.values[drawn], rows.names)) - F[drawn, :filled] @ F[drawn, :filled].T
        accepted, lower = _accept_rows(core, left[drawn], _EXHAUSTED * trace / n, rng)
        if not len(accepted):
            break
        chosen = drawn[accepted]
        columns = between(kernel, rows, Rows(rows.values[chosen], rows.names))
        columns -= F[:, :filled] @ F[chosen, :filled].T
        new = solve_triangular(lower, columns.T, lower=True, check_finite=False).T
        F[:, filled : filled + len(chosen)] = new
        filled += len(chosen)
        left = np.maximum(left - np.einsum("ij,ij->i", new, new), 0.0)
        left[chosen] = 0.0
        open_part -= new[seen] @ new.T
        pivots.append(chosen)
    return np.ascontiguousarray(F[:, :filled]), np.concatenate(pivots or [np.empty(0, dtype=np.intp)])


def _chances(left: Array, open_part: Array, least: float) -> Array:
    """The chance of each row to be drawn: by its diagonal, or by its column where a crowd shows it."""
    chance = left
    if len(open_part):
        columns = len(left) / len(open_part) * np.einsum("ij,ij->j", open_part, open_part) + left**2
        chance = np.where(left > least, columns**_MILD, 0.0)
    return np.asarray(chance / chance.sum() if chance.any() else left / left.sum())


def _accept_rows(core: Array, before: Array, least: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Which rows of a block are taken, and the Cholesky factor of their part of `core`.

    A row was drawn in proportion to what it lacked before the block. It is taken with the share of this that the rows
    taken before it leave open, so that all are drawn as if one at a time.
    """
    open_part, chance = core.copy(), rng.random(len(core))
    factor = np.zeros_like(core)
    taken: list[int] = []
    for i in range(len(core)):
        lacks = float(open_part[i, i])
        if lacks > least and chance[i] * before[i] < lacks:
            factor[i:, len(taken)] = open_part[i:, i] / np.sqrt(lacks)
            open_part[i:, i:] -= np.outer(factor[i:, len(taken)], factor[i:, len(taken)])
            taken.append(i)
    return np.array(taken, dtype=np.intp), factor[taken, : len(taken)]


# Share of the largest k(z, z) below which what a landmark adds is rounding: R keeps half of all digits.
_NOTHING_NEW = 1e-12
_ROUNDING = 8.0
_STEPS = 12


@dataclass(frozen=True, eq=False)
class Features:
    """Features of landmarks.

    Attributes
    ----------
    kernel : Kernel
        What they are made from.
    landmarks : ndarray of shape (r, d)
        Rows that tell something new, in the order of the factor.
    root : ndarray of shape (r, r)
        R, upper triangular, with k(Z, Z) = R'R.
    names : tuple of str or None
        Of the columns.
    given : int
        How many landmarks there were before those that tell nothing new were left out.
    spread : float
        The largest diagonal entry of K_ZZ^2.
    lost : int
        How many of the landmarks left out differ from the others by more than rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.landmarks import Features
    >>> from mercer.kernels import Gaussian
    >>> features = Features.of(Gaussian(1.0), np.array([[0.0], [1.0], [1.0], [3.0]]))
    >>> features.count, features.given
    (3, 4)
    >>> phi = features.phi(features.landmarks)
    >>> bool(np.abs(phi @ phi.T - Gaussian(1.0)(features.landmarks)).max() < 1e-14)
    True
    """

    kernel: Kernel
    landmarks: Array
    root: Array
    names: tuple[str, ...] | None = None
    given: int = 0
    spread: float = 0.0
    lost: int = 0

    @staticmethod
    def of(kernel: Kernel, landmarks: Array, names: tuple[str, ...] | None = None) -> Features:
        """Features of these landmarks; those that tell nothing new are left out."""
        K = gram(kernel, Rows(landmarks, names))
        refuse_if(not np.isfinite(K).all(), f"Every value of {kernel!r}", "finite", "NaN or infinity", "Scale X.")
        factor, order, rank, _ = dpstrf(np.asfortranarray(K), lower=0, tol=_NOTHING_NEW * max(float(K.max()), 0.0))
        if not rank or not K.max() > 0:
            raise InputError(
                f"The kernel matrix of {kernel!r} on the landmarks is zero or not positive semi-definite. Use another "
                "kernel."
            )
        root = np.ascontiguousarray(np.triu(factor[:rank, :rank]))
        kept, out = order[:rank] - 1, order[rank:] - 1
        with np.errstate(over="ignore"):
            spread = float(np.einsum("ij,ij->i", K, K).max())
        across = half_solve(root, K[np.ix_(kept, out)])
        rest = K.diagonal()[out] - np.einsum("ij,ij->j", across, across)
        lost = int((rest > _ROUNDING * rank * EPS * float(K.max())).sum())
        return Features(kernel, np.ascontiguousarray(landmarks[kept]), root, names, len(landmarks), spread, lost)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.root)

    def rows(self, X: Array) -> Rows:
        """X as rows of the kernel."""
        return Rows(X, self.names)

    def against(self, X: Array, out: Array | None = None) -> Array:
        """k(X, Z), not yet features."""
        return between(self.kernel, self.rows(X), self.rows(self.landmarks), out=out)

    def phi(self, X: Array) -> Array:
        """The features of some rows, all at once."""
        return self.whiten(self.against(X).T).T

    def whiten(self, B: Array) -> Array:
        """R'^-1 B."""
        return half_solve(self.root, B)

    def coefficients(self, weights: Array) -> Array:
        """R^-1 w: what k(x, Z) is multiplied by to give phi(x)'w."""
        size = len(weights)
        return np.asarray(solve_triangular(self.root[:size, :size], weights, check_finite=False))

    def times(self, X: Array, coefficients: Array) -> Array:
        """k(X, Z) c by tiles, for coefficients of all landmarks."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = times(self.kernel, self.rows(X), self.rows(self.landmarks), coefficients)
        bad, what = not np.isfinite(values).all(), f"Every value of {self.kernel!r}"
        refuse_if(bad, what, "finite", "NaN or infinity", "Scale X.")
        return values

    def constant(self, X: Array) -> Array:
        """u with phi(x)'u as close to 1 on these rows as a little regularization lets it be.

        Only the first half of the features is used, so that models on that half can use it as well.
        """
        half, u = self.count // 2, np.zeros(self.count)
        if half:
            phi = self.phi(X)[:, :half]
            C = phi.T @ phi
            C.flat[:: half + 1] += 1e-8 * max(float(np.trace(C)), 1e-300)
            u[:half] = np.linalg.solve(C, phi.sum(axis=0))
        return u

    def loss_of_digits(self, rows: int, alpha: float) -> float:
        """Relative error, about, of models from sums of k k' in place of phi phi'.

        Rounding leaves E in the sum G of k(Z, x) k(x, Z), with entries of size eps max G and signs at random, so
        that ||E|| is about eps max(G) sqrt(r). Seen through R^-1 it grows by 1 / lambda, the smallest eigenvalue of
        K_ZZ, and what it falls on is at least alpha + (n / r) lambda, where G is about (n / r) K_ZZ^2. On real tables
        predictions were found 30 to 300 times closer than this, and scores 1000 times.
        """
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            share, least = rows / self.count, np.float64(self.least_eigenvalue())
            found = EPS * share * self.spread * np.sqrt(self.count) / (least * (alpha + share * least))
        return float(np.nan_to_num(found, nan=np.inf))

    def least_eigenvalue(self) -> float:
        """Smallest eigenvalue of K_ZZ, by inverse iteration; at most a little too large."""
        inverse = partial(cho_solve, (self.root, False), check_finite=False)
        return 1.0 / largest_eigenvalue(inverse, rich_start(self.count), _STEPS)
