"""A = L L', in place: the factor takes one triangle and the diagonal, the matrix keeps the other.

`Mixed` does half the work: it factors in single precision, then refines to what double precision can hold.

LAPACK and BLAS are called without the interpreter lock, on blocks of a larger matrix without a copy: SciPy exports the
addresses of its routines, and called through ctypes they release the lock, so that threads over candidates really run
side by side. Matrices are C-contiguous in rows (the last axis has stride one); LAPACK sees them transposed, so its
"lower" triangle is our upper one.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri, dtrtrs, spotrf, spotrs

from mercer.data.rows import Array
from mercer.errors import MercerError
from mercer.kernels.tiles import blocks
from mercer.runtime import run
from mercer.solvers.plan import EPS, SINGULAR, Route

_MIRRORED = 256  # rows that are mirrored at once
_POWER_STEPS = 3  # each is worth about a factor of two
_CONDITION = 2e6  # beyond, a factor in single precision is not refined
_REFINEMENTS = 12  # at most; three to six are the rule below a condition of 1e6
Map = Callable[[Array], Array]
FEW = 64  # rows up to which all eigenvalues cost next to nothing


@cache
def _routine(library: str, name: str, count: int) -> Any:
    """A routine of scipy.linalg.cython_lapack or cython_blas with so many arguments, as a C function of pointers."""
    from importlib import import_module

    capsule = import_module(f"scipy.linalg.{library}").__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address)


@lru_cache(maxsize=4096, typed=True)
def _reference(value: Any) -> Any:
    """An integer, float or letter by reference; LAPACK only reads it, so calls and threads may share it."""
    kind = ctypes.c_int if isinstance(value, int) else ctypes.c_double if isinstance(value, float) else ctypes.c_char
    return ctypes.byref(kind(value))


def _pointer(value: object) -> Any:
    """Arrays by their address, all else by reference."""
    return value.__array_interface__["data"][0] if isinstance(value, np.ndarray) else _reference(value)


def lapack(name: str, *given: object) -> bool:
    """Call a routine of LAPACK with these arguments and its error code; whether it succeeded."""
    info = ctypes.c_int(0)
    _routine("cython_lapack", name, len(given) + 1)(*map(_pointer, given), ctypes.byref(info))
    return info.value == 0


def blas(name: str, *given: object) -> None:
    """Call a routine of BLAS with these arguments."""
    _routine("cython_blas", name, len(given))(*map(_pointer, given))


def leading(A: Array) -> int:
    """Distance between rows; the stride of a single row means nothing."""
    return max(1, A.shape[1] if len(A) == 1 else A.strides[0] // A.itemsize)


def potrf(A: Array) -> bool:
    """Upper Cholesky factor U, A = U'U, over the upper triangle of A; False where A is not positive definite."""
    return lapack("dpotrf", b"L", len(A), A, leading(A))


def potri(U: Array) -> None:
    """The upper triangle of A^-1 over that of its factor U."""
    lapack("dpotri", b"L", len(U), U, leading(U))


def potrs(U: Array, B: Array) -> None:
    """A^-1 b over each row b of B (right-hand sides are rows here, as LAPACK sees the transpose)."""
    lapack("dpotrs", b"L", len(U), len(B), U, leading(U), B, leading(B))


def solve_columns(U: Array, B: Array) -> Array:
    """(U'U)^-1 B, from the factor that `potrf` leaves, in a new array."""
    right = np.array(B.T, order="C")  # a copy, which is overwritten
    potrs(U, right)
    return right.T


def half_solve(U: Array, B: Array) -> Array:
    """U'^-1 B, in a new array."""
    return np.asarray(solve_triangular(U, B, trans="T", check_finite=False))


def posv(A: Array, B: Array) -> bool:
    """A^-1 b over each row b of B, and the factor of A over A; False where A is not positive definite."""
    return lapack("dposv", b"L", len(A), len(B), A, leading(A), B, leading(B))


def add_outer_pair(A: Array, factor: float, x: Array, y: Array) -> None:
    """A + factor (x y' + y x') over the upper triangle of A."""
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    blas("dsyr2", b"L", len(A), float(factor), x, 1, y, 1, A, leading(A))


def add_outer(A: Array, factor: float, v: Array) -> None:
    """A + factor v v' over the upper triangle of A."""
    blas("dsyr", b"L", len(A), float(factor), np.ascontiguousarray(v), 1, A, leading(A))


def add_gram(C: Array, A: Array) -> None:
    """C + A'A over the upper triangle of C.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.cholesky import add_gram
    >>> C = np.zeros((2, 2))
    >>> add_gram(C, np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> C
    array([[10., 14.],
           [ 0., 20.]])
    """
    if len(A):
        blas("dsyrk", b"L", b"N", len(C), len(A), 1.0, A, leading(A), 1.0, C, leading(C))


def add_panel(C: Array, A: Array, columns: slice) -> None:
    """C + A'A over some rows of the upper triangle of C, so that threads can share one matrix."""
    start, stop = columns.start, columns.stop
    add_gram(C[start:stop, start:stop], A[:, start:stop])
    beyond = len(C) - stop
    if beyond and len(A):
        left, right, out = A[:, stop:], A[:, start:stop], C[start:stop, stop:]
        sizes = beyond, stop - start, len(A)
        blas("dgemm", b"N", b"T", *sizes, 1.0, left, leading(A), right, leading(A), 1.0, out, leading(C))


def whiten(A: Array, R: Array) -> None:
    """A R^-1 over A, whose rows may be the beginnings of longer ones."""
    if len(A):
        blas("dtrsm", b"L", b"L", b"N", b"N", len(R), len(A), 1.0, R, leading(R), A, leading(A))


def whiten_both(C: Array, R: Array) -> None:
    """R^-T C R^-1 over the upper triangle of C."""
    lapack("dsygst", 1, b"L", len(C), C, leading(C), R, leading(R))


def mirror(C: Array) -> None:
    """The upper triangle of C copied to the lower one, by blocks."""
    for start in range(0, len(C), _MIRRORED):
        stop = min(start + _MIRRORED, len(C))
        C[stop:, start:stop] = C[start:stop, stop:].T
        square = C[start:stop, start:stop]
        square[:] = np.triu(square) + np.triu(square, 1).T


class NotPositiveDefinite(MercerError):
    """The factorization met a pivot that is not positive, or only so by rounding."""


class Cholesky:
    """G = (K + alpha I)^-1 by Cholesky factorization.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric, C-contiguous; taken over. `release` gives it back.
    alpha : float
        Added to the diagonal.
    reason : str
        For the record.
    diagonal : ndarray of shape (n,), default=None
        That of K where K has been factored already: A below the diagonal, L' on it and above.

    Raises
    ------
    NotPositiveDefinite
        Where A is not, as far as double precision can tell; K is then as it was.
    """

    def __init__(self, K: Array, alpha: float, reason: str, diagonal: Array | None = None) -> None:
        self.n, self.alpha, self.reason = len(K), alpha, reason
        self._held: Array = K.T  # Fortran order, as LAPACK wants it: no copy is made
        self._diagonal = K.diagonal().copy() if diagonal is None else diagonal
        self._shifted, self._condition, failed = self._diagonal + alpha, None, 0
        self._scale = equilibrium(self._shifted)
        if diagonal is None:
            K.flat[:: self.n + 1] = self._shifted
            self._condition = exact_condition(K) if self.n <= FEW else None
            failed = dpotrf(self._held, lower=1, clean=0, overwrite_a=1)[1]
        if failed or not np.isfinite(self._held.diagonal()).all() or self.condition() > SINGULAR:
            self.release()
            raise NotPositiveDefinite("not positive definite")

    def with_rows(self, side: Array, corner: Array) -> Cholesky:
        """The factor with more rows: k(new, old) and k(new, new) are added to K, at n^2 operations for each.

        Raises `NotPositiveDefinite` where the rows cannot be added, as far as double precision can tell.
        """
        n, m = self.n, len(corner)
        below = self.whiten(side.T)  # L^-1 k(old, new), the new rows of L
        rest = corner - below.T @ below
        rest.flat[:: m + 1] += self.alpha
        last, failed = dpotrf(rest, lower=1, clean=1)
        K = np.empty((n + m, n + m))  # as in the constructor: A below the diagonal, L' on it and above
        K[:n, :n], K[n:, :n], K[:n, n:] = self._held.T, side, below
        K[n:, n:] = np.tril(corner, -1) + last.T
        if failed or not np.isfinite(last).all():
            raise NotPositiveDefinite("not positive definite")
        return Cholesky(K, self.alpha, self.reason, np.append(self._diagonal, corner.diagonal()))

    def release(self) -> Array:
        """K as it was given: the lower triangle still holds it, and its diagonal was kept."""
        mirror(self._held)
        K = self._held.T
        K.flat[:: self.n + 1] = self._diagonal
        return K

    def solve(self, B: Array) -> Array:
        """G B."""
        if self.n == 0 or B.shape[1] == 0:
            return np.zeros_like(B)
        return np.asarray(dpotrs(self._held, B, lower=1)[0])

    def whiten(self, B: Array) -> Array:
        """L^-1 B."""
        return np.asarray(dtrtrs(self._held, B, lower=1)[0])

    def times(self, B: Array) -> Array:
        """A B, from the triangle that still holds A; its diagonal is lent back for the moment."""
        places = self._held.T.reshape(-1)[:: self.n + 1]
        factor = places.copy()
        places[:] = self._shifted
        product = dsymm(1.0, self._held, B, lower=0)
        places[:] = factor
        return np.asarray(product)

    def log_determinant(self) -> float:
        """log det A."""
        return 2.0 * float(np.log(self._held.diagonal()).sum())

    def diagonal(self) -> Array:
        """diag G: squared column lengths of L^-1."""
        columns = dtrtri(self._held, lower=1)[0].T
        return np.array([column[i:] @ column[i:] for i, column in enumerate(columns)])

    def inverse(self) -> Array:
        """G in a new array, of which the upper triangle counts."""
        G = np.array(self._held.T, order="C")
        potri(G)
        return G

    def condition(self) -> float:
        """The 2-norm condition number, exact for a few rows and estimated otherwise."""
        if self._condition is None:
            self._condition = estimated_condition(self.times, self.solve, self._scale)
        return self._condition

    def route(self) -> Route:
        """How it was factored."""
        return Route("cholesky", self.reason, max(1.0, self.condition()), self.n, self.n)


def equilibrium(diagonal: Array) -> Array:
    """What rows and columns of a matrix are multiplied by to make every diagonal entry one."""
    return np.asarray(1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))


def exact_condition(A: Array) -> float:
    """Condition of a small matrix, or of the matrix scaled to a diagonal of ones if that is smaller.

    A Cholesky factor does not mind rows of very different size: its errors are bounded by the condition of A under any
    scaling of rows and columns. Infinite where A is not positive definite.
    """
    scale, found = equilibrium(A.diagonal()), [math.inf]
    for s in (np.full(len(A), 1.0 / math.sqrt(max(float(np.abs(A).max(initial=0.0)), 1e-300))), scale):
        scaled = s[:, None] * A * s
        if np.isfinite(scaled).all():
            values = np.linalg.eigvalsh(scaled) if len(A) else np.ones(1)
            found.append(float(values[-1] / values[0]) if values[0] > 0 else math.inf)
    return min(found)


def estimated_condition(times: Map, solve: Map, scale: Array) -> float:
    """Estimate of the condition number by power iteration on A and on its inverse; `scale` is its equilibrium."""
    start, found = rich_start(len(scale)), []
    for s in (np.ones(len(scale)), scale)[: 1 + bool(np.ptp(scale) > 0)]:
        by = s[:, None]
        largest = largest_eigenvalue(lambda v, by=by: by * times(by * v), start)  # type: ignore[misc]
        found.append(largest * largest_eigenvalue(lambda v, by=by: solve(v / by) / by, start))  # type: ignore[misc]
    return min(found)


def rich_start(n: int) -> Array:
    """A fixed vector rich in every direction: a constant, and signs in no pattern."""
    signs = np.where(np.sin(np.arange(1, n + 1) ** 2 * 0.7071) > 0, 1.0, -1.0)
    return np.asarray((1.0 + signs * math.sqrt(2.0))[:, None] / math.sqrt(3.0 * max(n, 1)))


def largest_eigenvalue(apply: Map, start: Array, steps: int = _POWER_STEPS) -> float:
    """The largest eigenvalue of a positive definite map, from below."""
    best, vectors = 0.0, start
    for _ in range(steps):
        vectors = apply(vectors)
        size = float(np.abs(vectors).max(initial=0.0))
        if not 0 < size < math.inf:
            return size if size == 0 else math.inf
        vectors = vectors / size  # so that squares neither overflow nor vanish
        length = float(np.sqrt(np.vdot(vectors, vectors)))
        best = max(best, length * size)
        vectors = vectors / length
    return best


def dots(A: Array, B: Array) -> Array:
    """The scalar product of each column of one with that of the other."""
    return np.asarray(np.einsum("ij,ij->j", A, B))


def ratio(above: Array, below: Array) -> Array:
    """above / below; 0 where the divisor is not positive."""
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))


def conjugate_gradients(
    B: Array, times: Map, nearby: Map, is_done: Callable[[Array, Array], bool], most: int
) -> tuple[Array, bool]:
    """A^-1 B from products with A and with a matrix near A^-1, after at most so many steps; and whether it is done.

    `is_done` is of the solution so far and its residual.
    """
    X, R = np.zeros_like(B), B.copy()
    D = nearby(R)
    rz = dots(R, D)
    for _ in range(most):
        AD = times(D)
        step = ratio(rz, dots(D, AD))
        X += step * D
        R -= step * AD
        if is_done(X, R):
            return X, True
        if not step.any():
            break
        Z = nearby(R)
        before, rz = rz, dots(R, Z)
        D = Z + ratio(rz, before) * D
    return X, False


class NotRefinable(MercerError):
    """Too badly conditioned for a single-precision factor."""


class Mixed:
    """G = (K + alpha I)^-1 by a float32 factor and conjugate gradients in float64.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric; it is shifted by alpha while this object lives and is not otherwise changed.
    alpha : float
        Added to the diagonal.
    reason : str
        For the record.
    certified : bool, default=False
        Whether K is known to be positive semi-definite, so that the condition need not be estimated.

    Raises
    ------
    NotRefinable
        Where the condition may be too large; K is then as it was.
    """

    def __init__(self, K: Array, alpha: float, reason: str, *, certified: bool = False) -> None:
        self.n, self.alpha, self.reason, self._K = len(K), alpha, reason, K
        self.largest = largest_eigenvalue(K.__matmul__, rich_start(self.n)) + alpha
        if alpha <= 0 or self.largest / alpha > _CONDITION:
            raise NotRefinable("condition not known to be small")
        if not 1e-25 < self.largest < 1e30:
            raise NotRefinable("values that single precision cannot hold")
        single = np.empty(K.shape, dtype=np.float32)
        run(lambda rows: np.copyto(single[rows], K[rows], casting="same_kind"), blocks(self.n))
        single.flat[:: self.n + 1] += np.float32(alpha)
        self._factor, failed = spotrf(single.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise NotRefinable("not positive definite in single precision")
        # No eigenvalue of a positive semi-definite K lies below 0, so alpha bounds those of A from below.
        smallest = alpha if certified else 1.0 / largest_eigenvalue(self._precondition, rich_start(self.n))
        self.condition = max(1.0, self.largest / smallest)

    def _precondition(self, R: Array) -> Array:
        lengths = np.linalg.norm(R, axis=0)
        scale = np.where(lengths > 0, lengths, 1.0)
        solved = spotrs(self._factor, np.asfortranarray(R / scale, dtype=np.float32), lower=1)[0]
        return np.asarray(solved, dtype=np.float64) * scale

    def solve(self, B: Array) -> Array:
        """G B, to double-precision backward error: ||b - A x|| at most sqrt(n) eps ||A|| ||x||."""

        def is_exact(X: Array, R: Array) -> bool:
            goal = np.sqrt(self.n) * EPS * self.largest * np.linalg.norm(X, axis=0)
            return bool((np.linalg.norm(R, axis=0) <= goal).all())

        def times(D: Array) -> Array:
            return np.asarray(self._K @ D + self.alpha * D)

        X, done = conjugate_gradients(B, times, self._precondition, is_exact, _REFINEMENTS)
        if not done:
            raise NotRefinable("conjugate gradients did not reach double precision")
        return X

    def route(self) -> Route:
        """How it was factored."""
        return Route("mixed", self.reason, self.condition, self.n, self.n)
