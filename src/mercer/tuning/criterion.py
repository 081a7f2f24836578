"""The leave-one-out error and the evidence as functions of kernel and alpha, with their gradients.

In weighted coordinates, with P of docs/derivations (6), a = P V Y, p = diag P and E = a / p:

    L = sum_i c_i E_i^2,  c_i = 1 / w_i;     r = c E / p,  s = P r
    dL = sum (dA) o M,    M = 2 P diag(r E) P - s a' - a s'

since dP = -P (dA) P. One product of n^3 size serves every parameter. The evidence, at the best prior variance
s2 = y'P y / (n - 1) (n without intercept), needs no product at all: M = (P - a a' / s2) / 2. With intercept it is the
density of y integrated over all constants (restricted maximum likelihood).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel, Slopes
from mercer.kernels.slopes import gradient
from mercer.kernels.tiles import gram
from mercer.solvers.lapack import add_outer_pair
from mercer.solvers.leave_out import Inverted, SingularError
from mercer.solvers.problem import Problem

OBJECTIVES = ("loo", "evidence")


@dataclass(frozen=True, eq=False)
class Point:
    """A criterion at one kernel and alpha.

    Attributes
    ----------
    value : float
        Log of the mean squared leave-one-out error, or minus the log evidence per row and target; infinite where
        K + alpha I is not positive definite, minus infinity where no error (no variance) is left.
    slopes : dict
        Its derivatives by the logarithms of the kernel's parameters; empty where they were not asked for.
    by_alpha : float
        Its derivative by log alpha.
    """

    value: float
    slopes: Slopes
    by_alpha: float

    def or_infinite(self) -> Point:
        """The same point, or an infinitely bad one where a number overflowed."""
        numbers = [self.value if self.value > -math.inf else 0.0, self.by_alpha, *map(np.sum, self.slopes.values())]
        return self if np.isfinite(numbers).all() else Point(math.inf, {}, 0.0)


class Criterion:
    """What tuning minimizes.

    Parameters
    ----------
    rows : Rows
        All rows; every one has weight.
    problem : Problem
        Targets, weights, intercept.
    objective : {"loo", "evidence"}
        Which criterion.

    Attributes
    ----------
    shift : float
        What the size of the targets adds to every value.
    """

    def __init__(self, rows: Rows, problem: Problem, objective: str) -> None:
        self.rows, self.problem, self.objective = rows, problem, objective
        # targets in units of their size: what that adds to the criterion must not count in rules for stopping
        unit = float(np.abs(problem.Y).max(initial=0.0)) or 1.0
        free = 1.0 - problem.intercept / max(len(problem.Y), 1)
        self.shift = math.log(unit) * (2.0 if objective == "loo" else free)
        self.scaled = replace(problem, Y=problem.Y / unit)
        self.right = np.ascontiguousarray((problem.root[:, None] * self.scaled.Y).T)

    def at(self, kernel: Kernel, alpha: float, *, slopes: bool = True) -> Point:
        """The criterion, and how it changes; infinite, without a warning, where numbers overflow."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            point = self._at(kernel, alpha, slopes=slopes)
        return point.or_infinite()

    def _at(self, kernel: Kernel, alpha: float, *, slopes: bool) -> Point:
        root = self.problem.root
        K = gram(kernel, self.rows)
        if self.problem.weights is not None:
            K *= root[:, None]
            K *= root
        if not np.isfinite(K).all():
            return Point(math.inf, {}, 0.0)
        try:
            left = Inverted.of_matrix(K, alpha, self.scaled, mirrored=True, overwrite=True)
        except SingularError:
            return Point(math.inf, {}, 0.0)
        a, log_determinant = np.ascontiguousarray(left.a.T), left.log_determinant
        if left.border is not None:
            log_determinant += float(np.log(left.border.scale))
        if self.objective == "loo":
            value, M = self._leave_one_out(left.P, a, slopes=slopes)
        else:
            value, M = self._evidence(left.P, a, log_determinant, slopes=slopes)
        if M is None or not math.isfinite(value):
            return Point(value, {}, 0.0)
        by_alpha = alpha * float(np.trace(M))
        if self.problem.weights is not None:
            M *= root[:, None]
            M *= root
        return Point(value, gradient(kernel, self.rows, M), by_alpha)

    def _leave_one_out(self, P: Array, a: Array, *, slopes: bool) -> tuple[float, Array | None]:
        p = np.diagonal(P).copy()
        if not (p > 0).all():
            return math.inf, None
        E = a / p
        scaled = E / self.problem.root**2
        total = float(np.vdot(scaled, E))
        value = math.log(total / E.size) + self.shift if total > 0 else -math.inf
        if not slopes or total == 0:
            return value, None
        r = scaled / p
        half = P * np.sqrt(2.0 / total * np.einsum("ti,ti->i", r, E))
        M = half @ half.T
        for s, a_t in zip(r @ P, a, strict=True):
            add_outer_pair(M, -1.0 / total, s, a_t)
        return value, M

    def _evidence(self, P: Array, a: Array, log_determinant: float, *, slopes: bool) -> tuple[float, Array | None]:
        t, n = self.right.shape
        free = n - self.problem.intercept
        variance = np.einsum("ti,ti->t", self.right, a) / max(free, 1)
        if not (variance > 0).all():
            return -math.inf, None
        log_determinant -= 2.0 * float(np.log(self.problem.root).sum())
        value = 0.5 * float(free * (1.0 + np.log(2.0 * np.pi * variance)).sum() + t * log_determinant) / (n * t)
        value += self.shift
        if not slopes:
            return value, None
        M = t * P
        M -= (a.T / variance) @ a
        M *= 0.5 / (n * t)
        return value, M
