"""The dual system, n unknowns: Cholesky for one alpha, one spectrum for many, and the border of an intercept."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.linalg import eigh

from mercer.data.checks import check_size
from mercer.data.rows import Array
from mercer.errors import MercerError, refuse_if
from mercer.runtime import promise
from mercer.solvers.cholesky import Cholesky, Mixed, NotPositiveDefinite, NotRefinable
from mercer.solvers.plan import EPS, Route

if TYPE_CHECKING:
    from mercer.solvers.conjugate import Conjugate


@dataclass(frozen=True)
class Solution:
    """What a solve gives: coefficients, intercept, explicit weights where phi is finite, and the route.

    Attributes
    ----------
    dual : ndarray of shape (n, t)
        f(x) = k(x, X) dual + intercept.
    intercept : ndarray of shape (t,)
        Zero without an unpenalized column.
    primal : ndarray of shape (D, t) or None
        f(x) = phi(x)'primal + intercept, where phi is finite.
    route : Route
        How it was found.
    """

    dual: Array
    intercept: Array
    primal: Array | None
    route: Route


# Whatever can apply G = (V K V + alpha I)^-1, or its pseudo-inverse where that is singular.
Solvable: TypeAlias = "Cholesky | Mixed | SpectralInverse | Conjugate"


@dataclass(frozen=True)
class Border:
    """intercept = left'V Y / scale, and G h for everything else.

    left is G h, or, where h has a part outside the range of a singular A, that part: the limit
    alpha -> 0 weighs it infinitely more.
    """

    left: Array
    scale: float
    outside: bool

    @cached_property
    def unit(self) -> Array:
        """left / |scale|^1/2: products of it neither vanish nor overflow."""
        return self.left / math.sqrt(abs(self.scale))

    @cached_property
    def signed_unit(self) -> Array:
        """`unit` times the sign of the scale, which is negative only where A has negative eigenvalues."""
        return math.copysign(1.0, self.scale) * self.unit


def border_of(G: Solvable, h: Array) -> Border:
    """The border of the system for the unpenalized column h (n x 1)."""
    null = G.null_part(h) if isinstance(G, SpectralInverse) else np.zeros_like(h)
    outside = float(np.vdot(null, null)) > 1e-12 * float(np.vdot(h, h))
    left = null if outside else G.solve(h)
    return Border(left, float(np.vdot(h, left)), outside)


def solve_bordered(G: Solvable, root: Array, border: Border | None, Y: Array) -> Solution:
    """Dual coefficients and intercept for targets Y (n x t); with an intercept their mean is taken off first."""
    if border is None:
        return Solution(root[:, None] * G.solve(root[:, None] * Y), np.zeros(Y.shape[1]), None, G.route())
    w = root**2
    centre = (w / w.sum()) @ Y
    y = root[:, None] * (Y - centre)
    b = (border.left.T @ y)[0] / border.scale
    return Solution(root[:, None] * G.solve(y - root[:, None] * b), centre + b, None, G.route())


class Eigendecomposition:
    """Eigenvalues and eigenvectors of a symmetric matrix, which is overwritten.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric; taken over.
    """

    def __init__(self, K: Array) -> None:
        bad = not np.isfinite(K.diagonal()).all()
        refuse_if(bad, "The kernel matrix", "finite", "NaN or infinity", "Scale X.")
        self.values, self.vectors = eigh(K.T, driver="evd", overwrite_a=True, check_finite=False)


class SpectralInverse:
    """G = (V K V + alpha I)^-1 = U diag(1 / (d + alpha)) U' over the eigenvalues that are not rounding error."""

    def __init__(self, spectrum: Eigendecomposition, alpha: float, reason: str) -> None:
        self.spectrum, self.alpha, self.n, self.reason = spectrum, alpha, len(spectrum.values), reason
        self.shifted = shifted = spectrum.values + alpha
        self.largest = float(np.abs(shifted).max(initial=0.0))
        self.cutoff = self.n * EPS * self.largest
        self.kept = np.abs(shifted) > self.cutoff
        self.weights = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=self.kept)

    def solve(self, B: Array) -> Array:
        """G B."""
        U = self.spectrum.vectors
        return np.asarray(U @ (self.weights[:, None] * (U.T @ B)))

    def log_determinant(self) -> float:
        """log det A, -inf for a singular A."""
        return float(np.log(np.abs(self.shifted)).sum()) if self.kept.all() else -math.inf

    def diagonal(self) -> Array:
        """diag G."""
        U = self.spectrum.vectors
        return np.asarray(np.einsum("ij,j,ij->i", U, self.weights, U))

    def null_part(self, B: Array) -> Array:
        """What of B lies outside the range of A."""
        U = self.spectrum.vectors[:, ~self.kept]
        return np.asarray(U @ (U.T @ B))

    def route(self) -> Route:
        """How it was factored."""
        rank, smallest = int(self.kept.sum()), float(np.abs(self.shifted).min(initial=math.inf))
        condition = self.largest / smallest if rank == self.n and smallest > 0 else math.inf
        lowest = float(self.shifted.min(initial=0.0))
        negative = lowest if lowest < -self.cutoff else 0.0
        return Route("spectral", self.reason, condition if self.n else 1.0, rank, self.n, negative)


class DualSolved:
    """Dual system with an optional unpenalized intercept, for one alpha.

    Parameters
    ----------
    inverse : Cholesky or SpectralInverse
        G.
    root : ndarray of shape (n,)
        V, the square roots of the sample weights.
    intercept : bool
        Whether an unpenalized constant is part of the model.
    """

    def __init__(self, inverse: Cholesky | SpectralInverse, root: Array, *, intercept: bool) -> None:
        self.inverse, self.root, self.alpha = inverse, root, inverse.alpha
        self.border = border_of(inverse, root[:, None]) if intercept else None

    def solve(self, Y: Array) -> Solution:
        """Coefficients for targets Y (n x t)."""
        return solve_bordered(self.inverse, self.root, self.border, Y)

    def log_determinant(self) -> float:
        """log det (K + alpha W^-1) = log det A - sum log w."""
        return self.inverse.log_determinant() - 2.0 * float(np.log(self.root).sum())

    def degrees_of_freedom(self) -> float:
        """n - alpha tr P; at alpha = 0 the rank, with the intercept where it adds to it."""
        n, border = self.inverse.n, self.border
        route = self.inverse.route()
        if self.alpha == 0 or route.singular:
            return float(route.rank + (border is not None and border.outside))
        trace = float(self.inverse.diagonal().sum())
        trace -= 0.0 if border is None else float(np.vdot(border.unit, border.signed_unit))
        return n - self.alpha * trace

    def variance(self, diagonal: Array, new: Array) -> Array:
        """k(x, x) - k0'G k0, plus (1 - h'G k0)^2 / h'G h for the intercept."""
        k0 = self.root[:, None] * new
        result = diagonal - np.einsum("ij,ij->j", k0, self.inverse.solve(k0))
        if self.border is not None and not self.border.outside:  # there the data determine the intercept
            result += (1.0 - (self.border.left.T @ k0)[0]) ** 2 / self.border.scale
        return np.asarray(np.maximum(result, 0.0))

    def shares(self, new: Array) -> Array:
        """G V k0 + left (1 - h'G V k0) / scale."""
        u = self.inverse.solve(self.root[:, None] * new)
        if self.border is not None:
            u += self.border.left * ((1.0 - self.root @ u) / self.border.scale)
        return u


def likelihood(Y: Array, dual: Array, log_determinant: float, *, intercept: bool) -> tuple[Array, Array]:
    """Prior variance s^2 = Y'a / n by maximum likelihood, and the log marginal likelihood at it.

    An intercept is taken at its own maximum-likelihood value. The dual coefficients then add up to zero, so that any
    constant may be subtracted from Y, and the mean is: Y'a of targets far from zero would lose its digits.
    """
    n = len(Y)
    if not math.isfinite(log_determinant):
        log_determinant = math.nan  # a singular Gaussian has no density
    Y = Y - Y.mean(axis=0) if intercept else Y
    check_size("y", Y)
    scale = np.maximum(np.einsum("ij,ij->j", Y, dual), 0.0) / n
    with np.errstate(divide="ignore"):
        evidence = -0.5 * n - 0.5 * log_determinant - 0.5 * n * (math.log(2 * math.pi) + np.log(scale))
    return scale, evidence


class DualSystem:
    """V K V for sample weights V^2, ready to be solved for any alpha.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The Gram matrix, C-contiguous; it is taken over and overwritten.
    weights : ndarray of shape (n,) or None
        Positive sample weights.
    intercept : bool
        Whether the model has an unpenalized constant.
    reason : str
        Why the dual was chosen, for the record.
    certified : bool
        Whether K is known to be positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import DualSystem
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]])
    >>> DualSystem(K, None).at(1.0, "cholesky").solve(y).dual.round(4).tolist()
    [[0.375], [-0.125]]
    """

    def __init__(
        self, K: Array, weights: Array | None, *, intercept: bool = False, reason: str = "dual", certified: bool = False
    ) -> None:
        self.n = len(K)
        self.intercept, self.reason, self.certified = intercept, reason, certified
        self.root = np.ones(self.n) if weights is None else np.sqrt(weights)
        if weights is not None:
            K *= self.root[:, None]
            K *= self.root
        self._held: Array | Cholesky | Eigendecomposition = K  # each takes the place of the one before

    def at(self, alpha: float, solver: str = "cholesky") -> DualSolved:
        """The system with alpha on its diagonal, factored by the named solver."""
        reason = self.reason
        if solver != "spectral" and not isinstance(self._held, Eigendecomposition):
            with suppress(NotPositiveDefinite):
                self._held = factor = Cholesky(self._matrix(), alpha, reason)
                return DualSolved(factor, self.root, intercept=self.intercept)
            reason = f"{reason}; not positive definite in double precision"
        return DualSolved(SpectralInverse(self.spectrum(), alpha, reason), self.root, intercept=self.intercept)

    def solve(self, Y: Array, alpha: float, solver: str) -> Solution:
        """Coefficients alone, for which a refined single-precision factor ("mixed") is enough."""
        if solver == "mixed" and not isinstance(self._held, Eigendecomposition):
            with suppress(NotRefinable):
                G = Mixed(self._matrix(), alpha, self.reason, certified=self.certified)
                border = border_of(G, self.root[:, None]) if self.intercept else None
                return solve_bordered(G, self.root, border, Y)
        return self.at(alpha, solver).solve(Y)

    def _matrix(self) -> Array:
        """V K V, put back together if a Cholesky factor stands in one of its triangles."""
        if isinstance(self._held, Cholesky):
            self._held = self._held.release()
        if isinstance(self._held, Eigendecomposition):
            raise MercerError("Internal error: the matrix was overwritten by its eigendecomposition.")
        return self._held

    def spectrum(self) -> Eigendecomposition:
        """Eigenvalues and eigenvectors of V K V, once; the matrix is gone afterwards."""
        if not isinstance(self._held, Eigendecomposition):
            K, n = self._matrix(), self.n
            what = f"The kernel matrix plus alpha is not positive definite, and its eigendecomposition ({n} x {n})"
            promise(int(17.6 * n * n), what, "Use a larger alpha.")
            self._held = Eigendecomposition(K)
        return self._held
