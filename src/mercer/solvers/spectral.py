"""V K V = U diag(d) U': one decomposition serves every alpha, and singular systems too."""

from __future__ import annotations

import math

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError
from mercer.solvers.route import EPS, Route


class Eigendecomposition:
    """Eigenvalues and eigenvectors of a symmetric matrix, which is overwritten.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric; taken over.
    """

    def __init__(self, K: Array) -> None:
        from scipy.linalg import eigh

        if not np.isfinite(K.diagonal()).all():
            raise InputError("The Gram matrix must be finite; got NaN or infinity.")
        self.n = len(K)
        self.values, self.vectors = eigh(K.T, driver="evd", overwrite_a=True, check_finite=False)

    def at(self, alpha: float, reason: str) -> SpectralInverse:
        """(V K V + alpha I)^-1, pseudo-inverse where it is singular."""
        return SpectralInverse(self, alpha, reason)


class SpectralInverse:
    """G = U diag(1 / (d + alpha)) U' over the eigenvalues that are not rounding error."""

    def __init__(self, spectrum: Eigendecomposition, alpha: float, reason: str) -> None:
        self.spectrum, self.alpha, self.n, self.reason = spectrum, alpha, spectrum.n, reason
        shifted = spectrum.values + alpha
        self.largest = float(np.abs(shifted).max(initial=0.0))
        self.cutoff = self.n * EPS * self.largest
        self.kept = np.abs(shifted) > self.cutoff
        self.weights = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=self.kept)
        self.shifted = shifted

    def solve(self, B: Array) -> Array:
        """G B."""
        U = self.spectrum.vectors
        return np.asarray(U @ (self.weights[:, None] * (U.T @ B)))

    def log_determinant(self) -> float:
        """log det A, -inf for a singular A."""
        if not self.kept.all():
            return -math.inf
        return float(np.log(np.abs(self.shifted)).sum())

    def diagonal(self) -> Array:
        """diag G."""
        U = self.spectrum.vectors
        return np.asarray(np.einsum("ij,j,ij->i", U, self.weights, U))

    def null_part(self, B: Array) -> Array | None:
        """What of B lies outside the range of A."""
        if self.kept.all():
            return None
        U = self.spectrum.vectors[:, ~self.kept]
        return np.asarray(U @ (U.T @ B))

    def route(self) -> Route:
        """How it was factored."""
        rank = int(self.kept.sum())
        smallest = float(np.abs(self.shifted).min(initial=math.inf))
        condition = self.largest / smallest if rank == self.n and smallest > 0 else math.inf
        negative = float(self.shifted.min(initial=0.0))
        return Route(
            "spectral",
            self.reason,
            condition if self.n else 1.0,
            rank,
            self.n,
            negative if negative < -self.cutoff else 0.0,
        )
