"""Full conformal prediction with the choice among candidates inside: for every value that a new target may have.

With a new row, of which the target z is not known, leave-one-out residuals of all n + 1 rows are linear in z, and the
error of each candidate is a quadratic. So the chosen candidate is constant between a few values of z, and within such a
piece each residual is larger than that of the new row on at most two intervals (docs/derivations, section 25).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import between, column_numbers
from mercer.solvers.gram import training_matrix

_TIED = 1e-12
_HELD = 2**26  # bytes of residuals at once


@dataclass(frozen=True, eq=False)
class Residuals:
    """b + c z: leave-one-out residuals of n + 1 rows, the new one last, for each new row (n + 1 x m)."""

    b: Array
    c: Array

    def quadratic(self) -> Array:
        """Coefficients of the squared error in z, from the constant up (3 x m)."""
        return np.array([np.sum(self.b**2, axis=0), 2 * np.sum(self.b * self.c, axis=0), np.sum(self.c**2, axis=0)])


class Augmented:
    """Systems of the training rows and one more, for one kernel and any alpha.

    Parameters
    ----------
    kernel : Kernel
        k.
    rows : Rows
        Training rows.
    y : ndarray of shape (n,)
        One target.
    intercept : bool
        Whether the model has an unpenalized constant.
    """

    def __init__(self, kernel: Kernel, rows: Rows, y: Array, *, intercept: bool) -> None:
        self.kernel, self.rows, self.intercept = kernel, rows, intercept
        self.values, self.vectors = np.linalg.eigh(training_matrix(kernel, rows))
        self.squares = self.vectors**2
        self.sides = self.vectors.T @ np.column_stack([y, np.ones(len(y))])

    def against(self, new: Rows) -> Array:
        """k(X, x) of new rows, in the basis of the eigenvectors."""
        second = column_numbers(self.rows) if self.kernel.kind == "gram" else self.rows
        return np.asarray(self.vectors.T @ between(self.kernel, new, second).T)

    def residuals(self, alpha: float, turned: Array, diagonal: Array) -> Residuals:
        """For each new row those of all rows; `turned` comes from `against`, `diagonal` is k(x, x)."""
        d = 1.0 / (self.values + alpha)
        v = self.vectors @ (d[:, None] * turned)
        s = 1.0 / (diagonal + alpha - np.sum(d[:, None] * turned**2, axis=0))
        Gy, G1 = (self.vectors @ (d[:, None] * self.sides)).T
        vy, v1 = (turned.T @ (d[:, None] * self.sides)).T  # v'y and v'1
        a = np.vstack([Gy[:, None] + s * v * vy, -s * vy])
        e = np.vstack([-s * v, s])
        P = np.vstack([(self.squares @ d)[:, None] + s * v**2, s])
        if self.intercept:
            ones = np.vstack([G1[:, None] + s * v * v1, -s * v1]) + e
            total = ones.sum(axis=0)
            a = a - ones * (a.sum(axis=0) / total)
            P = P - ones**2 / total
            e = e - ones * (ones[-1] / total)
        return Residuals(a / P, e / P)


def conformal_sets(
    kernels: Sequence[Kernel],
    alphas: Sequence[float] | Array,
    rows: Rows,
    y: Array,
    new: Rows,
    confidence: float,
    *,
    intercept: bool,
    diagonal: Array | None = None,
    alike: Array | None = None,
) -> list[Array]:
    """For each new row the union of intervals (k x 2) of targets that conform, for one target.

    Parameters
    ----------
    kernels, alphas : sequences
        Every pair is a candidate; of equally good ones the first is chosen.
    rows, y : Rows, ndarray of shape (n,)
        Training rows and targets.
    new : Rows
        New rows.
    confidence : float
        Between 0 and 1.
    intercept : bool
        Whether the models have an unpenalized constant.
    diagonal : ndarray of shape (m,), default=None
        k(x, x) of new rows of a precomputed kernel.
    alike : ndarray of bool, shape (m, n), default=None
        Which training rows are compared with each new one; all.
    """
    centre = float(y.mean()) if intercept else 0.0
    unit = float(np.abs(y - centre).max()) or 1.0
    y = (y - centre) / unit
    systems = [Augmented(kernel, rows, y, intercept=intercept) for kernel in kernels]
    step = max(1, _HELD // (16 * len(systems) * len(alphas) * (len(y) + 1)))
    found = []
    for start in range(0, len(new), step):
        part = new[start : start + step]
        residuals = []
        for system in systems:
            turned = system.against(part)
            own = system.kernel.diagonal(part) if diagonal is None else diagonal[start : start + step]
            residuals += [system.residuals(float(alpha), turned, own) for alpha in alphas]
        quadratics = np.stack([each.quadratic() for each in residuals])
        for place in range(len(part)):
            some = np.ones(len(y), dtype=bool) if alike is None else alike[start + place]
            kept = np.append(np.flatnonzero(some), len(y))
            sets = []
            for low, high, chosen in pieces(quadratics[:, :, place]):
                one = residuals[chosen]
                sets.append(conforming(one.b[kept, place], one.c[kept, place], low, high, confidence))
            found.append(unit * _merged(np.vstack(sets)) + centre)
    return found


def pieces(quadratics: Array) -> list[tuple[float, float, int]]:
    """Where each of some quadratics (L x 3, from the constant up) is the lowest: ends, and its number.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.conformal import pieces
    >>> pieces(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))  # z^2 and 1
    [(-inf, -1.0, 1), (-1.0, 1.0, 0), (1.0, inf, 1)]
    """
    order = np.lexsort((np.arange(len(quadratics)), quadratics[:, 0], -quadratics[:, 1], quadratics[:, 2]))
    current, low, found = int(order[0]), -math.inf, []
    while True:
        difference = quadratics - quadratics[current]
        falls = _first_fall(difference, low)
        falls[current] = math.inf
        nearest = falls.min()
        if not np.isfinite(nearest):
            found.append((low, math.inf, current))
            return found
        # of those that are lowest from there on, the one that is lowest just after
        touching = np.flatnonzero(falls <= nearest + 1e-12 * max(1.0, abs(nearest)))
        slope = difference[touching, 1] + 2 * nearest * difference[touching, 2]
        bend = difference[touching, 2]
        best = int(touching[np.lexsort((touching, bend, slope))[0]])
        found.append((low, float(nearest), current))
        current, low = best, float(nearest)
        if len(found) > 4 * len(quadratics):
            found.append((low, math.inf, current))
            return found


def _first_fall(difference: Array, low: float) -> Array:
    """For each quadratic the first z beyond `low` from which it is negative; infinite where there is none."""
    c0, c1, c2 = difference.T
    with np.errstate(divide="ignore", invalid="ignore"):
        straight = np.abs(c2) <= 1e-14 * np.abs(c2).max(initial=0.0)
        line = np.where(c1 < 0, -c0 / c1, np.inf)
        root = np.sqrt(np.maximum(c1**2 - 4 * c0 * c2, 0.0))
        half = -0.5 * (c1 + np.where(c1 >= 0, root, -root))
        first, second = half / c2, np.where(half != 0, c0 / half, 0.0)
        lower, upper = np.minimum(first, second), np.maximum(first, second)
        real = c1**2 - 4 * c0 * c2 > 0
        # opened upwards it is negative after its lower root, downwards after its upper one
        curve = np.where(real, np.where(c2 > 0, lower, upper), np.inf)
    found = np.where(straight, line, curve)
    beyond = low + 1e-12 * max(1.0, abs(low)) if math.isfinite(low) else low
    return np.where(np.isfinite(found) & (found > beyond), found, np.inf)


def conforming(b: Array, c: Array, low: float, high: float, confidence: float) -> Array:
    """The z between two ends where more than q N of N residuals b + c z are at least as large as the last (k x 2)."""
    count = len(b)
    needed = math.floor(round((1.0 - confidence) * count, 9)) + 1  # the last is one of them
    if needed <= 1:
        return np.array([[low, high]])
    b, c, last, slope = b[:-1], c[:-1], b[-1], c[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = np.concatenate([-(b - last) / (c - slope), -(b + last) / (c + slope)])
    owner = np.tile(np.arange(len(b)), 2)
    same = [
        (np.abs(b - sign * last) <= _TIED * (np.abs(b) + abs(last))) & (np.abs(c - sign * slope) <= _TIED * abs(slope))
        for sign in (1, -1)
    ]
    tied = same[0] | same[1]  # as large as the last for every z
    inside = np.isfinite(roots) & (roots > low) & (roots < high) & ~tied[owner]
    order = np.argsort(roots[inside], kind="stable")
    ends, owner = roots[inside][order], owner[inside][order]
    at = _between(low, ends[0] if len(ends) else high)
    above = tied | (np.abs(b + c * at) >= abs(last + slope * at))
    # at its first root a residual gets larger or smaller than the last, at its second the other way round
    first = np.zeros(len(owner), dtype=bool)
    first[np.unique(owner, return_index=True)[1]] = True
    change = np.where(first ^ above[owner], 1, -1)
    inner = np.concatenate([[low], ends, [high]])
    counts = above.sum() + np.concatenate([[0], np.cumsum(change)])
    good = counts + 1 >= needed
    return np.column_stack([inner[:-1][good], inner[1:][good]])


def _between(low: float, high: float) -> float:
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(low):
        return high - max(1.0, abs(high))
    if math.isinf(high):
        return low + max(1.0, abs(low))
    return 0.5 * (low + high)


def _merged(intervals: Array) -> Array:
    """Intervals in order, those that touch put together."""
    found: list[list[float]] = []
    for low, high in intervals[np.argsort(intervals[:, 0], kind="stable")].tolist():
        if found and low <= found[-1][1] + 1e-12 * max(1.0, abs(low) if math.isfinite(low) else 1.0):
            found[-1][1] = max(found[-1][1], high)
        else:
            found.append([low, high])
    return np.array(found).reshape(-1, 2)
