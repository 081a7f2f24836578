"""Symmetric matrices in place and without the interpreter lock: rank-k updates, whitening, tridiagonal form.

As in `mercer.solvers.lapack`, matrices are C-contiguous in rows, so that LAPACK sees them transposed: its lower
triangle is our upper one.
"""

from __future__ import annotations

from ctypes import POINTER, byref, c_char, c_double, c_int

import numpy as np

from mercer.data.rows import Array
from mercer.solvers.cholesky import largest_eigenvalue, rich_start
from mercer.solvers.lapack import _ARRAY, _DOUBLE, _INT, _LOWER, _at, _leading, _routine, potrf, potrs

_CHAR = POINTER(c_char)
_PLAIN, _TURNED, _LEFT = (c_char(letter) for letter in (b"N", b"T", b"L"))


def add_gram(C: Array, A: Array) -> None:
    """C + A'A over the upper triangle of C.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.symmetric import add_gram
    >>> C = np.zeros((2, 2))
    >>> add_gram(C, np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> C
    array([[10., 14.],
           [ 0., 20.]])
    """
    if not len(A):
        return
    call = _routine("cython_blas", "dsyrk", _CHAR, _CHAR, _INT, _INT, _DOUBLE, _ARRAY, _INT, _DOUBLE, _ARRAY, _INT)
    one = byref(c_double(1.0))
    call(
        byref(_LOWER), byref(_PLAIN), byref(c_int(len(C))), byref(c_int(len(A))), one, _at(A), byref(_leading(A)),
        one, _at(C), byref(_leading(C)),
    )  # fmt: skip


def add_panel(C: Array, A: Array, columns: slice) -> None:
    """C + A'A over some rows of the upper triangle of C, so that threads can share one matrix."""
    if not len(A):
        return
    start, stop = columns.start, columns.stop
    add_gram(C[start:stop, start:stop], A[:, start:stop])
    beyond = len(C) - stop
    if not beyond:
        return
    call = _routine(
        "cython_blas", "dgemm", _CHAR, _CHAR, _INT, _INT, _INT, _DOUBLE, _ARRAY, _INT, _ARRAY, _INT, _DOUBLE, _ARRAY,
        _INT,
    )  # fmt: skip
    one = byref(c_double(1.0))
    call(
        byref(_PLAIN), byref(_TURNED), byref(c_int(beyond)), byref(c_int(stop - start)), byref(c_int(len(A))), one,
        _at(A[:, stop:]), byref(_leading(A)), _at(A[:, start:stop]), byref(_leading(A)), one, _at(C[start:stop, stop:]),
        byref(_leading(C)),
    )  # fmt: skip


def whiten(A: Array, R: Array) -> None:
    """A R^-1 over A, whose rows may be the beginnings of longer ones."""
    if not len(A):
        return
    call = _routine("cython_blas", "dtrsm", _CHAR, _CHAR, _CHAR, _CHAR, _INT, _INT, _DOUBLE, _ARRAY, _INT, _ARRAY, _INT)
    call(
        byref(_LEFT), byref(_LOWER), byref(_PLAIN), byref(_PLAIN), byref(c_int(len(R))), byref(c_int(len(A))),
        byref(c_double(1.0)), _at(R), byref(_leading(R)), _at(A), byref(_leading(A)),
    )  # fmt: skip


def whiten_both(C: Array, R: Array) -> None:
    """R^-T C R^-1 over the upper triangle of C."""
    call = _routine("cython_lapack", "dsygst", _INT, _CHAR, _INT, _ARRAY, _INT, _ARRAY, _INT, _INT)
    info = c_int(0)
    call(
        byref(c_int(1)), byref(_LOWER), byref(c_int(len(C))), _at(C), byref(_leading(C)), _at(R), byref(_leading(R)),
        byref(info),
    )  # fmt: skip


def mirror(C: Array) -> None:
    """The upper triangle of C copied to the lower one, by blocks."""
    size = 256
    for start in range(0, len(C), size):
        stop = min(start + size, len(C))
        C[stop:, start:stop] = C[start:stop, stop:].T
        square = C[start:stop, start:stop]
        square[:] = np.triu(square) + np.triu(square, 1).T


class Tridiagonal:
    """C = Q T Q' with T tridiagonal, so that (C + alpha I)^-1 costs next to nothing for one more alpha.

    Parameters
    ----------
    C : ndarray of shape (r, r)
        Symmetric; its upper triangle is read, and it is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.symmetric import Tridiagonal
    >>> C = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])
    >>> reduced = Tridiagonal(C.copy())
    >>> b = np.array([[1.0], [2.0], [3.0]])
    >>> w = reduced.out(reduced.solve(reduced.into(b), 0.5))
    >>> bool(np.abs((C + 0.5 * np.eye(3)) @ w - b).max() < 1e-12)
    True
    """

    def __init__(self, C: Array) -> None:
        r = len(C)
        self.reflectors = C
        self.diagonal, self.beside = np.empty(r), np.zeros(max(r - 1, 1))
        self.factors = np.zeros(max(r - 1, 1))
        call = _routine(
            "cython_lapack", "dsytrd", _CHAR, _INT, _ARRAY, _INT, _ARRAY, _ARRAY, _ARRAY, _ARRAY, _INT, _INT
        )
        work, info = np.empty(64 * max(r, 1)), c_int(0)
        call(
            byref(_LOWER), byref(c_int(r)), _at(C), byref(_leading(C)), _at(self.diagonal), _at(self.beside),
            _at(self.factors), _at(work), byref(c_int(len(work))), byref(info),
        )  # fmt: skip
        self.beside = self.beside[: r - 1]

    def _turned(self, B: Array, side: c_char) -> Array:
        """Q'B or Q B."""
        r, turned = len(self.diagonal), np.array(B.T, order="C")  # a copy that LAPACK sees as r x t and writes to
        if r < 2 or not turned.size:
            return np.array(B, dtype=np.float64)
        call = _routine(
            "cython_lapack", "dormtr", _CHAR, _CHAR, _CHAR, _INT, _INT, _ARRAY, _INT, _ARRAY, _ARRAY, _INT, _ARRAY,
            _INT, _INT,
        )  # fmt: skip
        work, info = np.empty(64 * max(r, len(turned))), c_int(0)
        call(
            byref(_LEFT), byref(_LOWER), byref(side), byref(c_int(r)), byref(c_int(len(turned))),
            _at(self.reflectors), byref(_leading(self.reflectors)), _at(self.factors), _at(turned), byref(c_int(r)),
            _at(work), byref(c_int(len(work))), byref(info),
        )  # fmt: skip
        return np.ascontiguousarray(turned.T)

    def into(self, B: Array) -> Array:
        """Q'B."""
        return self._turned(B, _TURNED)

    def out(self, B: Array) -> Array:
        """Q B."""
        return self._turned(B, _PLAIN)

    def least(self) -> float:
        """The smallest eigenvalue."""
        from scipy.linalg import eigvalsh_tridiagonal

        if len(self.diagonal) == 1:
            return float(self.diagonal[0])
        unit = max(self.largest(), 1e-300)  # bisection squares what is beside the diagonal
        d, e = self.diagonal / unit, self.beside / unit
        return float(unit * eigvalsh_tridiagonal(d, e, select="i", select_range=(0, 0))[0])

    def largest(self) -> float:
        """The largest eigenvalue, or a little more (Gershgorin)."""
        reach = np.abs(self.diagonal)
        reach[:-1] += np.abs(self.beside)
        reach[1:] += np.abs(self.beside)
        return float(reach.max(initial=0.0))

    def solve(self, B: Array, alpha: float) -> Array:
        """(T + alpha I)^-1 B; the shortest solution where that is singular."""
        from scipy.linalg.lapack import dptsv

        if len(self.diagonal) == 1:
            pivot = self.diagonal[0] + alpha
            return np.asarray(B / pivot if pivot > 0 else np.zeros_like(B))
        if alpha > self.noise:
            _, _, solved, info = dptsv(self.diagonal + alpha, self.beside, B)
            if info == 0:
                return np.asarray(solved)
        values, vectors = self._spectrum()
        kept = values > self.noise
        inside = vectors[:, kept].T @ B
        return np.asarray(vectors[:, kept] @ (inside / (values[kept] + alpha)[:, None]))

    @property
    def noise(self) -> float:
        """Eigenvalues up to this are rounding."""
        return len(self.diagonal) * float(np.finfo(np.float64).eps) * self.largest()

    def rank(self) -> int:
        """How many eigenvalues are more than rounding."""
        return int((self._spectrum()[0] > self.noise).sum())

    def _spectrum(self) -> tuple[Array, Array]:
        from scipy.linalg import eigh_tridiagonal

        if not hasattr(self, "_found"):
            found: tuple[Array, Array] = eigh_tridiagonal(self.diagonal, self.beside, check_finite=False)
            self._found = found
        return self._found


class Shifted:
    """C + alpha I for one alpha, by Cholesky: a fraction of the work of a tridiagonal form, which serves them all.

    Parameters
    ----------
    C : ndarray of shape (r, r)
        Symmetric; left as it is.
    alpha : float
        Added to its diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.symmetric import Shifted
    >>> C = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> shifted = Shifted(C, 1.0)
    >>> shifted.definite, shifted.solve(np.array([[4.0], [5.0]]), 1.0).round(6).tolist()
    (True, [[1.0], [1.0]])
    """

    def __init__(self, C: Array, alpha: float) -> None:
        r = len(C)
        self.alpha = alpha
        self._largest = largest_eigenvalue(lambda v: C @ v, rich_start(r))
        self.noise = r * float(np.finfo(np.float64).eps) * self._largest
        self.factor = C.copy()
        self.factor.flat[:: r + 1] += alpha
        self.definite = alpha > self.noise and potrf(self.factor)

    def least(self) -> float:
        """The smallest eigenvalue of C, about."""
        inverse = largest_eigenvalue(lambda v: self.solve(v, self.alpha), rich_start(len(self.factor)))
        return 1.0 / inverse - self.alpha

    def largest(self) -> float:
        """The largest eigenvalue of C, about."""
        return self._largest

    def into(self, B: Array) -> Array:
        """B: nothing is turned."""
        return B

    def out(self, B: Array) -> Array:
        """B."""
        return B

    def solve(self, B: Array, alpha: float) -> Array:
        """(C + alpha I)^-1 B, for the alpha of the factor."""
        right = np.array(B.T, order="C")  # a copy, also of a single row
        potrs(self.factor, right)
        return right.T

    def rank(self) -> int:
        """All of them: alpha is more than rounding."""
        return len(self.factor)
