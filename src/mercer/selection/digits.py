"""How many digits of held-out predictions are left after rounding, as a number that stands for a condition number.

Two targets of noise are solved for beside the others: one of the size in which products with V K V are rounded, one of
the size in which P is. What the leave-out formulas make of them is what they make of rounding.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from mercer.data.rows import Array
from mercer.kernels.tiles import blocks
from mercer.selection.removals import UsedSets
from mercer.solvers.leave_out import Dual, Spectral
from mercer.solvers.plan import EPS
from mercer.solvers.problem import Problem

_LUCK = 2.0  # noise of one draw may be so much smaller than rounding
_TIED = 100 * EPS  # predictions that differ by less than this share of the terms they are sums of are equal
_TOO_LARGE = 1e6  # terms, in units of the targets, beyond which predictions have no digits to tell ties by
_UNDECIDED = 0.01  # rounding may change the label of a prediction of which it may be this share


class Rounding:
    """The effect of rounding on held-out predictions of one kernel, for every alpha.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        V K V of the rows with weight.
    new : ndarray of shape (n, m) or None
        V k(X, x0) of rows of weight zero.
    problem : Problem
        Targets, t columns.
    sets : UsedSets
        What is left out, among the rows with weight.
    error : float
        Relative error of kernel values, in units of the precision.

    Attributes
    ----------
    Y : ndarray of shape (n, t + 2)
        The targets, and the two of noise. The second is zero here: `add_noise` puts it in place of P V Y.
    """

    def __init__(self, K: Array, new: Array | None, problem: Problem, sets: UsedSets, error: float) -> None:
        self.K, self.new, self.problem, self.error, self.t = K, new, problem, error, problem.Y.shape[1]
        self.sets, self.removals = sets, sets.removals
        self._roots = np.asarray(np.sqrt(np.abs(np.diagonal(K))))
        self._root, self._whole = (np.sqrt(np.mean(values**2, axis=0)) for values in (self._roots, problem.Y))
        self._noise = np.random.default_rng(0).normal(size=(2, len(problem.used_rows)))
        noise = np.zeros((problem.n, 2))
        noise[problem.used_rows, 0] = self._noise[0] * self._roots / problem.root
        self.Y = np.column_stack([problem.Y, noise])

    def add_noise(self, left: Dual) -> None:
        """Put noise of the size in which P is rounded in the last column of P V Y."""
        left.a[:, -1] = self._noise[1] * np.sqrt(left.rounding())

    def condition(self, left: Dual, values: Array, terms: Array | None) -> float:
        """Condition number of the system, or how much larger the terms are whose sums predictions are.

        Larger than the targets, for numbers. Of labels the sign counts: terms are held against the predictions
        themselves, and where rounding may decide a label, against that row's own.
        """
        if left.degenerate:
            return left.condition
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            condition = min(self._bound(left), self._measured_error(left, values))
            if self.problem.labels and terms is not None:
                return lost_labels(values[:, : self.t], terms, condition, self.error)
            lost = _norms(self._roots[:, None] * left.a[:, : self.t]) * self._root / self._whole
        return max(condition, _worst(lost))

    def _bound(self, left: Dual) -> float:
        """Condition number, times what P and P V Y lose as differences from an intercept's part."""
        if left.border is None:
            return left.condition
        sizes = left.rounding()
        a = _norms(left.a[:, : self.t] / np.sqrt(sizes)[:, None])
        return left.condition * _worst(np.append(self._intercepts(left) / a, (sizes / np.abs(left.diagonal())).max()))

    def _intercepts(self, left: Dual) -> Array:
        """Size of what is subtracted for the intercept in P V Y, in units of the roots of `left.rounding()`."""
        return np.zeros(self.t) if left.border is None else np.abs(left.b[: self.t]) * math.sqrt(abs(left.border.scale))

    @cached_property
    def _groups(self) -> tuple[Array, Array, Array]:
        """Which test rows are scored together; how many are in each group, and its largest set left out.

        Rows left out alone are scored together: all of them, or those that share another removal.
        """
        removals, counts = self.removals, self.removals.counts
        if removals.bases is None:
            alone = counts == 1
            groups = np.where(alone, 0, np.cumsum(~alone) - (not alone.any()))
        else:
            own = np.where(removals.bases >= 0, removals.bases + len(removals), np.arange(len(removals)))
            groups = np.unique(own, return_inverse=True)[1]
        largest = np.zeros(int(groups.max()) + 1)
        np.maximum.at(largest, groups, [len(rows) for rows in removals.sets])
        return np.repeat(groups, counts), np.bincount(groups, counts)[:, None], largest[:, None]

    def _measured_error(self, left: Dual, values: Array) -> float:
        """Relative error of held-out residuals in units of the precision, from the targets of noise.

        Errors dK of K and dP of P change E_S by -P_SS^-1 (P_S. dK a + dP_SS E_S). The targets of noise give P_SS^-1
        P_S. and P_SS^-1 times noise, so that their size times that of a and E_S is the error, up to the precision. It
        is held against the residuals of each set, or of all rows where each is left out alone.
        """
        t, problem, rows = self.t, self.problem, self.removals.rows
        E = self.Y[rows] - values
        p = np.zeros(problem.n)
        p[problem.used_rows] = problem.root * np.sqrt(left.rounding())
        E = np.column_stack([E, p[rows, None] * E[:, :t]])
        group, counts, largest = self._groups
        alone = len(counts) == 1
        sums = (
            np.einsum("ij,ij->j", E, E)[None] if alone else np.stack([np.bincount(group, e) for e in (E * E).T], axis=1)
        )
        E, known, inverse, scaled = np.split(np.sqrt(sums / counts), [t, t + 1, t + 2], axis=1)
        size = _norms(self._roots[:, None] * left.a[:, :t])
        if isinstance(left, Spectral):  # errors of eigenvalues are relative to the largest
            size = left.largest * _norms(left.a[:, :t]) / self._root
        errors = _LUCK * (known * size + inverse * (np.sqrt(largest) * scaled + self._intercepts(left)))
        return _worst(errors / (self._whole if problem.labels else np.minimum(self._whole, E / 2)))

    def terms(self, left: Dual) -> Array:
        """Sum of |k(x, x_j) a_j| over the rows j that are not left out, and of the terms of b, for every tested row."""
        problem, removals, sets = self.problem, self.removals, self.sets
        a = np.abs(left.a[:, : self.t]).max(axis=1)
        found = np.full(len(removals.rows), left.b_terms[: self.t].max())
        if sets.single:
            every = np.empty(len(a))
            for part in blocks(len(a)):
                K = np.abs(self.K[part])
                np.fill_diagonal(K[:, part], 0.0)  # the row itself is left out; a difference would be rounded
                every[part] = K @ a / problem.root[part]
            return found + every[removals.rows]
        for base, members in sets.groups.items():
            rows, kept = removals.rows[removals.starts[members]], a.copy()
            kept[sets.rows[base]] = 0.0
            K = np.abs(self.K[rows])
            K[np.arange(len(rows)), rows] = 0.0
            found[removals.starts[members]] += K @ kept / problem.root[rows]
        for i in sorted(set(range(len(removals))) - sets.grouped):
            test, kept = removals.tests[i], a.copy()
            kept[sets.rows[i]] = 0.0
            places = problem.place[test]
            mine, others = places >= 0, np.searchsorted(problem.unused_rows, test[places < 0])
            terms = np.empty(len(test))
            terms[mine] = np.abs(self.K[places[mine]]) @ kept / problem.root[places[mine]]
            if len(others) and self.new is not None:
                terms[~mine] = np.abs(self.new[:, others]).T @ kept
            found[removals.part(i)] += terms
        return found


def _norms(table: Array) -> Array:
    """2-norm of each column."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", table, table)))


def _worst(lost: Array) -> float:
    """The largest number, at least 1; what is not a number does not count."""
    return float(np.fmax.reduce(lost, axis=None, initial=1.0))


def tie(values: Array, terms: Array, groups: Array, *, across: bool) -> Array:
    """Make predictions equal that differ by rounding alone, and those zero that are rounding alone.

    Parameters
    ----------
    values : ndarray of shape (rows, t)
        Held-out predictions.
    terms : ndarray of shape (rows,)
        Sizes of the terms that each is the sum of, in units of the targets.
    groups : ndarray of shape (rows,)
        Rows that are compared with one another have the same number.
    across : bool
        Whether the columns of a row are compared with one another (decision values of several classes, of which the
        largest counts), and not the rows of a column.
    """
    slack = np.where(terms < _TOO_LARGE, _TIED * terms, 0.0)
    if across:
        largest = values.max(axis=1, keepdims=True)
        return np.where(values >= largest - slack[:, None], largest, values)
    result = np.where(np.abs(values) <= slack[:, None], 0.0, values)
    for column in result.T:
        order = np.lexsort([column, groups])
        ranked, near = column[order], slack[order]
        apart = (np.diff(ranked) > np.maximum(near[1:], near[:-1])) | (np.diff(groups[order]) != 0)
        starts = np.append(0, np.flatnonzero(apart) + 1)
        column[order] = np.repeat(ranked[starts], np.diff(np.append(starts, len(ranked))))
    return result


def lost_labels(values: Array, terms: Array, condition: float, error: float) -> float:
    """Condition that stands for what the labels of these decision values lose.

    Of one column the sign counts, of several how far the largest is ahead. The sizes of the terms that were summed are
    held against all rows together, and where rounding may decide a label, against that row alone. The `error` of kernel
    values, in units of the precision, is that of terms.
    """
    ranked = np.sort(values, axis=1)
    ahead = ranked[:, -1] - ranked[:, -2] if values.shape[1] > 1 else np.abs(values[:, 0])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        undecided = (EPS * condition * terms > _UNDECIDED * ahead) & (ahead > 0)  # a tie is one in a refit, too
        whole = error * np.linalg.norm(terms) / np.linalg.norm(ahead)
        exponent = abs(math.log(float(ahead.max(initial=0.0)) or 1.0))  # exp of so large a number
        lost = np.nan_to_num(np.append((terms / ahead)[undecided], [whole, exponent]), nan=1.0)
    return max(condition, float(lost.max(initial=1.0)))
