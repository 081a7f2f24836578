"""(C + alpha I)^-1 for many alphas from one tridiagonal form, or for one alpha from a Cholesky factor."""

from __future__ import annotations

import numpy as np

from mercer.data.rows import Array
from mercer.solvers.cholesky import largest_eigenvalue, rich_start
from mercer.solvers.lapack import lapack, leading, potrf, potrs

_WORK = 64  # numbers of work space that LAPACK's blocked routines take for each row


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
        work = np.empty(_WORK * max(r, 1))
        lapack("dsytrd", b"L", r, C, leading(C), self.diagonal, self.beside, self.factors, work, len(work))
        self.beside = self.beside[: r - 1]

    def _rotate(self, B: Array, side: bytes) -> Array:
        """Q'B or Q B."""
        r, rotated = len(self.diagonal), np.array(B.T, order="C")  # a copy that LAPACK sees as r x t and writes to
        if r < 2 or not rotated.size:
            return np.array(B, dtype=np.float64)
        work, (C, t) = np.empty(_WORK * max(r, len(rotated))), (self.reflectors, len(rotated))
        lapack("dormtr", b"L", b"L", side, r, t, C, leading(C), self.factors, rotated, r, work, len(work))
        return np.ascontiguousarray(rotated.T)

    def into(self, B: Array) -> Array:
        """Q'B."""
        return self._rotate(B, b"T")

    def out(self, B: Array) -> Array:
        """Q B."""
        return self._rotate(B, b"N")

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
