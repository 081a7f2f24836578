"""The bordered system: penalized part through an inverse, unpenalized intercept exactly beside it.

Letters as in docs/derivations: V = W^1/2, A = V K V + alpha I, G = A^-1, h = V 1 (the unpenalized
column), P = G - G h (h'G h)^-1 h'G. Dual coefficients a = V P V Y, intercept b = (h'G h)^-1 h'G V Y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from mercer.data.checks import checked_size
from mercer.data.rows import Array
from mercer.solvers.route import Route


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


class Penalized(Protocol):
    """A system with its alpha in place.

    Attributes
    ----------
    alpha : float
        The penalty.
    root : ndarray of shape (n,)
        V, the square roots of the weights.
    """

    alpha: float
    root: Array

    def solve(self, Y: Array) -> Solution:
        """Coefficients for targets Y."""

    def log_determinant(self) -> float:
        """log det (K + alpha W^-1)."""

    def degrees_of_freedom(self) -> float:
        """Trace of the smoother matrix."""

    def variance(self, diagonal: Array, new: Array) -> Array:
        """Posterior variance of the latent function, in units of the prior's: k(x, x), and k(X, x)
        or phi(x) as columns.
        """

    def shares(self, new: Array) -> Array:
        """u(x0), the shares of the weighted targets in f(x0), for k(X, x0) or phi(x0) as columns."""


class Solvable(Protocol):
    """Whatever can apply G = (V K V + alpha I)^-1, or its pseudo-inverse where that is singular."""

    alpha: float
    n: int

    def solve(self, B: Array) -> Array:
        """G B."""

    def null_part(self, B: Array) -> Array | None:
        """What of B lies outside the range of A; None where A is regular."""

    def route(self) -> Route:
        """How it was factored."""


class Inverse(Solvable, Protocol):
    """G with its determinant and its diagonal."""

    def log_determinant(self) -> float:
        """log det A."""

    def diagonal(self) -> Array:
        """diag G."""


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
    def signed(self) -> Array:
        """`unit` times the sign of the scale, which is negative only where A has negative eigenvalues."""
        return math.copysign(1.0, self.scale) * self.unit


def bordered(G: Solvable, h: Array) -> Border:
    """The border of the system for the unpenalized column h (n x 1)."""
    null = G.null_part(h)
    outside = null is not None and float(np.vdot(null, null)) > 1e-12 * float(np.vdot(h, h))
    left = null if null is not None and outside else G.solve(h)
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


class DualSolved:
    """Dual system with an optional unpenalized intercept, for one alpha.

    Parameters
    ----------
    inverse : Inverse
        G.
    root : ndarray of shape (n,)
        V, the square roots of the sample weights.
    intercept : bool
        Whether an unpenalized constant is part of the model.
    """

    def __init__(self, inverse: Inverse, root: Array, *, intercept: bool) -> None:
        self.inverse, self.root, self.alpha = inverse, root, inverse.alpha
        self.border = bordered(inverse, root[:, None]) if intercept else None

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
        if border is not None:
            trace -= float(np.vdot(border.unit, border.signed))
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
    checked_size("y", Y)
    scale = np.maximum(np.einsum("ij,ij->j", Y, dual), 0.0) / n
    with np.errstate(divide="ignore"):
        evidence = -0.5 * n - 0.5 * log_determinant - 0.5 * n * (math.log(2 * math.pi) + np.log(scale))
    return scale, evidence
