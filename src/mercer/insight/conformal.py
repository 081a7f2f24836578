"""Full conformal prediction with the choice among candidates inside: for every value that a new target may have.

With a new row, of which the target z is not known, leave-one-out residuals of all n + 1 rows are linear in z, and the
error of each candidate is a quadratic. So the chosen candidate is constant between a few values of z, and within such a
piece each residual is at least as large as that of the new row on at most three intervals (docs/derivations, section
25). All ends are rounded outwards by their error, so that rounding excludes no target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.errors import IllConditionedWarning, warn
from mercer.insight.intervals import ranks, relative_error
from mercer.kernels.base import Kernel
from mercer.kernels.products import Linear
from mercer.kernels.tiles import between, column_numbers, underflow_is_zero
from mercer.runtime import promise
from mercer.solvers.dual import DualSystem
from mercer.solvers.fitted import leave_out_of
from mercer.solvers.gram import centre_of, training_matrix
from mercer.solvers.leave_out import Inverted, Spectral
from mercer.solvers.plan import EPS, choose
from mercer.solvers.primal import Penalized, PrimalSolved, PrimalSystem

WAY_OUT = "Use method='jackknife+'."
_HELD = 2**26  # bytes of residuals at once
_WORTH_A_WORD = 1e-6  # error of the ends, relative to the targets, that is warned of


@dataclass(frozen=True, eq=False)
class Residuals:
    """Leave-one-out residuals of n training rows and of each of m new rows, whose target is z = f + t.

    Attributes
    ----------
    f : ndarray of shape (m,)
        Predictions at the new rows; the residual of a new row is t.
    b, c : ndarray of shape (n, m)
        Residuals of the training rows are b + c t.
    f_error, b_error, c_error : ndarray
        Errors of these.
    """

    f: Array
    b: Array
    c: Array
    f_error: Array
    b_error: Array
    c_error: Array

    def quadratic(self) -> Array:
        """Coefficients of the squared error in z, from the constant up (3 x m)."""
        at_zero = self.b - self.c * self.f
        constant, slope = np.sum(at_zero**2, axis=0) + self.f**2, np.sum(at_zero * self.c, axis=0) - self.f
        return np.array([constant, 2 * slope, np.sum(self.c**2, axis=0) + 1.0])

    def intervals(self, place: int, kept: Array, needed: int) -> tuple[Array, float]:
        """Intervals of z of one new row for which so many of the kept residuals are large enough, and their error."""
        b, c, b_error, c_error = (array[kept, place] for array in (self.b, self.c, self.b_error, self.c_error))
        intervals, worst = conforming(b, c, b_error + self.f_error[place], c_error, needed)
        return intervals + self.f[place], worst


class Augmented:
    """The systems of n training rows and one more, for one kernel and some alphas.

    That of the training rows is solved as a model's is: by explicit features where these are fewer than the rows. Rows
    are centred first where the kernel allows it.

    Parameters
    ----------
    kernel : Kernel
        k.
    alphas : sequence of float
        Penalties above 0.
    rows : Rows
        Training rows.
    y : ndarray of shape (n,)
        One target, of which the largest is 1.
    intercept : bool
        Whether the model has an unpenalized constant.
    solver : str
        "primal" for explicit features, however many there are.
    """

    def __init__(
        self, kernel: Kernel, alphas: Sequence[float] | Array, rows: Rows, y: Array, *, intercept: bool, solver: str
    ) -> None:
        self.kernel, self.middle = kernel, centre_of(kernel, rows, intercept=intercept)
        self.rows, n = self._centre(rows), len(rows)
        count = None if rows.sparse and not isinstance(kernel, Linear) else kernel.count_features(rows)
        self.primal = choose(solver, n, count).name == "primal"
        sizes = np.ones(n)
        if self.primal:
            explicit = PrimalSystem(self._features(self.rows), None, intercept=intercept)
            solved: list[Penalized] = [explicit.at(float(alpha)) for alpha in alphas]
        else:
            promise(40 * n * n, f"Full conformal sets of {n} rows", WAY_OUT)
            K = training_matrix(kernel, self.rows)
            sizes, system = np.sqrt(np.abs(K.diagonal())), DualSystem(K, None, intercept=intercept)
            route = "cholesky" if len(alphas) == 1 else "spectral"  # several alphas share one spectrum
            solved = [system.at(float(alpha), route) for alpha in alphas]
        self.penalized = [_Bordered(one, y[:, None], sizes) for one in solved]

    def _centre(self, rows: Rows) -> Rows:
        return rows if self.middle is None else Rows(rows.values - self.middle, rows.names)

    def _features(self, rows: Rows) -> XLike:
        return rows.values if isinstance(self.kernel, Linear) else self.kernel.features(rows)

    def residuals(self, new: Rows, diagonal: Array | None = None) -> list[Residuals]:
        """Residuals of all rows for each alpha; `diagonal`: k(x, x) of the new rows of a precomputed kernel."""
        new = self._centre(new)
        if self.primal:
            phi = self._features(new)
            columns, own = np.asarray(phi.toarray() if hasattr(phi, "toarray") else phi).T, np.empty(0)
        else:
            second = column_numbers(self.rows) if self.kernel.kind == "gram" else self.rows
            columns = between(self.kernel, new, second).T
            own = self.kernel.diagonal(new) if diagonal is None else diagonal
        return [one.residuals(columns, own) for one in self.penalized]


class _Bordered:
    """The system of the training rows for one alpha, to which the border of one more is added.

    Errors dK_ij of the matrix are about `error` times `sizes` i and j. Those of P, -P dK P, are then `error` times
    `reach` i and j, the lengths of the rows of P in these sizes, and those of a are `error` times `reach` times
    `length`, that of a. Of explicit features alpha P is known, with errors of one size.

    Parameters
    ----------
    solved : Penalized
        The system.
    y : ndarray of shape (n, 1)
        Target.
    sizes : ndarray of shape (n,)
        Square roots of k(x, x).
    """

    def __init__(self, solved: Penalized, y: Array, sizes: Array) -> None:
        left, solution = leave_out_of(solved, y), solved.solve(y)
        self.solved, self.y, self.a, self.P = solved, y, left.a, left.diagonal()
        self.error, self.sizes, self.scale = 4 * EPS, sizes, 1.0
        self.weights, self.mean = solution.primal, np.empty(0)
        if isinstance(solved, PrimalSolved):
            self.error, self.reach, self.length = relative_error(solved, solution.route), np.ones(len(y)), 1.0
            self.scale, self.mean = solved.alpha, solved.system.mean
            return
        if left.degenerate:
            self.error, self.scale = 1.0, solved.alpha
        if isinstance(left, Spectral):  # errors of eigenvalues are relative to the largest
            self.sizes = np.full(len(y), math.sqrt(left.largest))
            self.reach = self.sizes * np.sqrt(left.U2 @ left.w**2)
        elif isinstance(left, Inverted):
            squares, weights = np.triu(left.P) ** 2, sizes**2
            self.reach = np.sqrt(squares @ weights + weights @ squares - weights * squares.diagonal())
        self.length = float(np.linalg.norm(self.sizes * self.a[:, 0]))

    def residuals(self, columns: Array, diagonal: Array) -> Residuals:
        """Equation 40, from k(X, x) or phi(x) and k(x, x) of new rows x; errors to first order."""
        w = self.solved.shares(columns)
        s = self.scale / (self.solved.alpha + self.solved.variance(diagonal, columns))
        p = self.P[:, None] + s * w**2
        p[p <= 0] = EPS  # of which no digit is correct
        f, b, c = (w.T @ self.y)[:, 0], self.a / p, -s * w / p
        if self.error > 0.01:  # no digits to speak of, and no first order
            return Residuals(f, b, c, 1.0 + np.abs(f), 1.0 + np.abs(b), 1.0 + np.abs(c))
        if self.weights is None:  # lengths of w and of the new row in the sizes of errors
            size = np.sqrt(np.abs(diagonal)) + np.linalg.norm(self.sizes[:, None] * w, axis=0)
            s_error, f_error = self.error * size**2 * s, self.error * size * self.length + 8 * EPS * (1.0 + np.abs(f))
        else:
            terms = (np.abs(columns).T + np.abs(self.mean)) @ np.abs(self.weights)  # of which f is the sum
            size, s_error = 1.0 + np.abs(w).max(axis=0), np.full(len(f), self.error)
            f_error = self.error * (1.0 + np.abs(f)) + 4 * EPS * terms[:, 0]
        reach, share = self.reach[:, None] / p, self.P[:, None] / p
        w_error, p_error = self.error * s * size * reach, self.error * self.reach[:, None] * reach + 8 * EPS
        b_error = self.error * self.length * reach
        b_error += np.abs(b) * (p_error + s_error * (1.0 - share) + 2 * np.abs(w) * w_error)
        return Residuals(f, b, c, f_error, b_error, w_error + np.abs(c) * (p_error + s_error * share))


@underflow_is_zero
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
    solver: str = "auto",
) -> list[Array]:
    """For each new row the union of intervals (k x 2) of targets that conform, for one target.

    Warns of ends that rounding leaves fewer than about six digits.

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
    solver : str, default="auto"
        "primal" for explicit features, however many there are.
    """
    centre = float(y.mean()) if intercept else 0.0
    unit = float(np.abs(y - centre).max()) or 1.0
    y = (y - centre) / unit
    systems = [Augmented(kernel, alphas, rows, y, intercept=intercept, solver=solver) for kernel in kernels]
    step = max(1, _HELD // (32 * len(systems) * len(alphas) * (len(y) + 1)))
    sets, worst = [], 0.0
    for start in range(0, len(new), step):
        part = slice(start, start + step)
        own = None if diagonal is None else diagonal[part]
        residuals = [one for system in systems for one in system.residuals(new[part], own)]
        quadratics = np.stack([one.quadratic() for one in residuals])
        for place in range(len(new[part])):
            kept = np.ones(len(y), dtype=bool) if alike is None else alike[start + place]
            needed, _ = ranks(int(kept.sum()), confidence)  # of the training rows
            intervals = []
            for low, high, chosen in _open_pieces(quadratics[:, :, place], residuals, place):
                whole, error = residuals[chosen].intervals(place, kept, needed)
                inside = whole[(whole[:, 1] >= low) & (whole[:, 0] <= high)]
                intervals.append(np.clip(inside, low, high))
                worst = max(worst, error if len(inside) else 0.0)
            ends = unit * _merge(np.vstack(intervals))
            sets.append(ends + centre + 2 * EPS * (np.abs(ends) + abs(centre)) * np.array([-1.0, 1.0]))
    if worst > _WORTH_A_WORD:
        digits = f"About {abs(math.log10(min(worst, 1.0))):.0f} digits of the ends of full conformal sets are correct"
        way_out = "Use a larger alpha, or scale the columns of X."
        warn(f"{digits}; the ends are rounded outwards. {way_out}", IllConditionedWarning)
    return sets


def _open_pieces(quadratics: Array, residuals: list[Residuals], place: int) -> list[tuple[float, float, int]]:
    """The pieces of z, longer at both ends by as much as errors of the two quadratics that meet there allow."""
    exact = pieces(quadratics)
    found = list(exact)
    for k in range(1, len(found)):
        (before, z, first), (_, after, second) = exact[k - 1], exact[k]
        error = max(float(np.median(residuals[chosen].b_error[:, place])) for chosen in (first, second))
        size = error * np.abs(quadratics[[first, second]]).sum(axis=0)
        slack = np.array([size[0] + size[1] / 2, 0.0, size[2] + size[1] / 2])  # |z| is at most (1 + z^2) / 2
        difference = quadratics[second] - quadratics[first]
        earlier, later = _real_roots(difference - slack), _real_roots(-difference - slack)
        found[k - 1] = found[k - 1][0], min(later[later > z].min(initial=math.inf), after), first
        found[k] = max(earlier[earlier < z].max(initial=-math.inf), before), after, second
    return found


def _real_roots(quadratic: Array) -> Array:
    """The real roots of one quadratic, from the constant up."""
    roots = np.roots(quadratic[::-1])
    return np.asarray(roots[np.isreal(roots)].real)


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
    current, low = int(order[0]), -math.inf
    found: list[tuple[float, float, int]] = []
    while len(found) <= 4 * len(quadratics):
        difference = quadratics - quadratics[current]
        falls = _first_fall(difference, low)
        falls[current] = math.inf
        nearest = float(falls.min())
        if not math.isfinite(nearest):
            break
        # of those that are lowest from there on, the one that is lowest just after
        touching = np.flatnonzero(falls <= nearest + 1e-12 * max(1.0, abs(nearest)))
        slope, bend = difference[touching, 1] + 2 * nearest * difference[touching, 2], difference[touching, 2]
        found.append((low, nearest, current))
        current, low = int(touching[np.lexsort((touching, bend, slope))[0]]), nearest
    return [*found, (low, math.inf, current)]


def _first_fall(difference: Array, low: float) -> Array:
    """For each quadratic the first z beyond `low` from which it is negative; infinite where there is none."""
    c0, c1, c2 = difference.T
    with np.errstate(divide="ignore", invalid="ignore"):
        straight, square = np.abs(c2) <= 1e-14 * np.abs(c2).max(initial=0.0), c1**2 - 4 * c0 * c2
        root = np.sqrt(np.maximum(square, 0.0))
        half = -0.5 * (c1 + np.where(c1 >= 0, root, -root))
        first, second = half / c2, np.where(half != 0, c0 / half, 0.0)
        # opened upwards it is negative after its lower root, downwards after its upper one
        curve = np.where(c2 > 0, np.minimum(first, second), np.maximum(first, second))
        line = np.where(c1 < 0, -c0 / c1, np.inf)
    found = np.where(straight, line, np.where(square > 0, curve, np.inf))
    beyond = low + 1e-12 * max(1.0, abs(low)) if math.isfinite(low) else low
    return np.where(np.isfinite(found) & (found > beyond), found, np.inf)


def conforming(b: Array, c: Array, b_error: Array, c_error: Array, needed: int) -> tuple[Array, float]:
    """The t where so many residuals b + c t may be at least as large as t (k x 2), and the relative error of its ends.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.conformal import conforming
    >>> conforming(np.array([1.0, 2.0]), np.array([0.0, 0.5]), np.zeros(2), np.zeros(2), 1)[0]
    array([[-1.33333333,  4.        ]])
    """
    if needed <= 0:
        return np.array([[-math.inf, math.inf]]), 0.0
    above, below = (_beyond_zero(b, sign * c, b_error, c_error, needed) for sign in (1.0, -1.0))
    return _merge(np.vstack([-below[0][:, ::-1], above[0]])), max(above[1], below[1])


def _beyond_zero(b: Array, c: Array, b_error: Array, c_error: Array, needed: int) -> tuple[Array, float]:
    """Intervals of t >= 0 where enough residuals are at least as large as t."""
    inner, outer = _reach(b, c, b_error, c_error)
    ends, steps = np.concatenate([outer, inner]), np.repeat([1, -1], len(b))
    order = np.lexsort((-steps, ends))  # what begins where another ends is there with it
    counts = len(b) + np.concatenate([[0], np.cumsum(steps[order])])
    bounds = np.concatenate([[0.0], ends[order], [math.inf]])
    good = (counts >= needed) & (bounds[:-1] < math.inf)
    at = np.flatnonzero(np.diff(good, prepend=False, append=False)).reshape(-1, 2)  # where runs of them begin and end
    # the same ends without errors, but for rounding of b and c
    inner, outer = _reach(b, c, EPS * (1.0 + np.abs(b)), EPS * (1.0 + np.abs(c)))
    exact = np.concatenate([[0.0], np.concatenate([outer, inner])[order], [math.inf]])
    if math.isinf(bounds[at].max(initial=0.0)) and np.count_nonzero(np.isinf(inner) | np.isfinite(outer)) < needed:
        return bounds[at], 1.0  # only errors let the set have no end
    with np.errstate(invalid="ignore"):
        gaps = np.abs(bounds - exact)[at] / (1.0 + bounds[at])
    return bounds[at], float(np.nan_to_num(gaps, nan=0.0).max(initial=0.0))


def _reach(b: Array, c: Array, b_error: Array, c_error: Array) -> tuple[Array, Array]:
    """Up to which t >= 0 each residual may be at least as large as t, and from which on again; else infinite."""
    # |b + c t| + b_error + c_error t >= t where m t <= q for one of two pairs
    m, q = 1.0 - c_error + np.array([-c, c]), b_error + np.array([b, -b])
    with np.errstate(divide="ignore", invalid="ignore"):
        at = q / m
    inner = np.where(q < 0, 0.0, np.where(m > 0, at, math.inf)).max(axis=0)
    outer = np.where((q < 0) & (m < 0), at, math.inf).min(axis=0)
    return np.where(outer <= inner, math.inf, inner), np.where(outer <= inner, math.inf, outer)


def _merge(intervals: Array) -> Array:
    """Intervals in order, those that touch put together."""
    low, high = intervals[np.argsort(intervals[:, 0], kind="stable")].T
    reached = np.maximum.accumulate(high)
    first = np.append(True, low[1:] > reached[:-1])[: len(low)]  # no interval before reaches so far
    return np.stack([low[first], reached[np.append(first[1:], True)[: len(low)]]], axis=1)
