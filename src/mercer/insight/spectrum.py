"""The eigenvalues of a given matrix, how far below zero rounding may have taken them, and repairs of the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np

from mercer.data.checks import ASYMMETRY, as_numbers, worst_asymmetry
from mercer.data.rows import Array, Rows, XLike
from mercer.errors import InputError, nearest, refuse_if, sentence
from mercer.kernels.certificate import Witness, witness_of
from mercer.runtime import promise
from mercer.text import Shown

# Entries of a matrix that was given: their last digit, and the few operations that made them.
_ROUNDINGS = 10.0


def as_matrix(K: XLike) -> tuple[Array, float]:
    """A square matrix of finite numbers in float64, and the relative error its entries may have.

    Examples
    --------
    >>> from mercer.insight.spectrum import as_matrix
    >>> as_matrix([[1.0, 2.0]])
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: K must be square; got 1 x 2. ...
    """
    if hasattr(K, "tocsr"):
        promise(8 * math.prod(K.shape), f"A dense copy of a matrix of {K.shape[0]} rows", "Use fewer rows.")
        K = K.toarray()
    if np.ma.isMaskedArray(K) and np.ma.getmaskarray(K).any():
        raise InputError("K must not have missing values (masked entries). Impute them first.")
    try:
        kind, table = np.asarray(K).dtype, as_numbers(K)
    except (TypeError, ValueError, OverflowError):
        kind, table = np.dtype(object), None
    if table is None:
        way_out = "Pass the matrix of a kernel, kernel(X), or of a function f(X, Z), mercer.kernels.Custom(f)(X)."
        got = f"{type(K).__name__}" if kind.kind == "O" else f"values of type {kind}"
        raise InputError(sentence("K", "a square matrix of real numbers", got, way_out if callable(K) else ""))
    got = f"shape {table.shape}" if table.ndim != 2 else f"{table.shape[0]} x {table.shape[1]}"
    refuse_if(table.ndim != 2 or not table.size, "K", "a square matrix of at least one row", got)
    got, way_out = f"{table.shape[0]} x {table.shape[1]}", "To check a kernel on rows X, use check_mercer(kernel, X)."
    refuse_if(table.shape[0] != table.shape[1], "K", "square", got, way_out)
    if not np.isfinite(table).all():
        i, j = np.argwhere(~np.isfinite(table))[0]
        raise InputError(sentence("K", "finite", f"{table[i, j]} in row {i}, column {j}"))
    single = kind.kind == "f" and kind.itemsize < 8
    return table, _ROUNDINGS * float(np.finfo(kind if single else np.float64).eps)


class GramSpectrum:
    """The eigenvalues of (K + K') / 2, on which v'Kv depends alone.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix.
    precision : float
        Relative error of its entries.

    Attributes
    ----------
    unit : float
        A power of two near the largest entry: in units of it nothing overflows.
    symmetric, scaled_values : ndarray
        (K + K') / 2 in these units, and its eigenvalues, ascending.
    slack : float
        n times the precision times the largest |eigenvalue|, in these units. If every entry has an error of at most
        `precision` times the largest entry, then no eigenvalue is off by more than n times that, and no entry of a
        positive semi-definite matrix exceeds its largest eigenvalue.
    smallest, largest, tolerance : float
        The smallest and the largest eigenvalue, and what rounding may account for.
    rank : int
        How many eigenvalues are not zero, but for rounding.
    sizes : tuple
        Smallest and largest eigenvalue, tolerance and rank.
    negative : bool
        Whether an eigenvalue is negative beyond rounding.
    """

    def __init__(self, K: Array, precision: float) -> None:
        n, most = len(K), float(np.abs(K).max())
        promise(40 * n * n, f"The spectrum of a matrix of {n} rows", "Check fewer rows, chosen at random.")
        self.K, self.unit = K, 2.0 ** (math.frexp(most)[1] - 1) if most else 1.0
        scaled = K / self.unit
        self.symmetric = scaled if (scaled == scaled.T).all() else 0.5 * scaled + 0.5 * scaled.T
        self.scaled_values = values = np.linalg.eigvalsh(self.symmetric)
        self.slack = n * precision * float(np.abs(values).max())
        self.smallest, self.largest = float(values[0]) * self.unit, float(values[-1]) * self.unit
        self.tolerance, self.rank = self.slack * self.unit, int((np.abs(values) > self.slack).sum())
        self.negative = bool(values[0] < -self.slack)
        self.sizes = self.smallest, self.largest, self.tolerance, self.rank

    def witness(self, rows: Rows | None) -> Witness | None:
        """A few rows that show a negative eigenvalue: as many as it takes, by their weight in its eigenvector."""
        n, count = len(self.K), 1
        order = np.argsort(-np.abs(np.linalg.eigh(self.symmetric)[1][:, 0]), kind="stable")
        chosen, part = order[:1], self.symmetric[np.ix_(order[:1], order[:1])]
        while count < n and np.linalg.eigvalsh(part)[0] >= -self.slack:
            count = min(n, max(count + 1, count * 3 // 2))  # 1, 2, 3, 4, 6, 9, 13, ..., n
            chosen = np.sort(order[:count])
            part = self.symmetric[np.ix_(chosen, chosen)]
        picked = None if rows is None else Rows(rows.values[chosen], rows.names)
        return witness_of(part * self.unit, picked, tuple(chosen.tolist()))


# How often the negative part of K is taken away.
_TIMES = {"clip": 1.0, "flip": 2.0, "shift": 0.0}


@dataclass(frozen=True, eq=False, repr=False)
class Repair(Shown):
    """What `repair` did to a matrix; prints as a short paragraph.

    Attributes
    ----------
    method : str
        clip, flip or shift.
    negative : int
        How many eigenvalues were negative beyond rounding; 0: nothing was changed.
    smallest : float
        The smallest eigenvalue before.
    change : float
        Frobenius norm of the change, relative to that of K.
    added : float
        What `shift` added to the diagonal; 0 for the others.
    vectors : ndarray of shape (n, m)
        Eigenvectors of the eigenvalues that `clip` or `flip` changed.
    """

    method: str
    negative: int
    smallest: float
    change: float
    added: float
    vectors: Array

    def apply(self, K_new: XLike) -> Array:
        """Apply the transform to kernel values of new rows (rows) against the n training rows (columns).

        Examples
        --------
        >>> import mercer
        >>> K, report = mercer.repair([[0.0, 1.0], [1.0, 0.0]], return_report=True)
        >>> report.apply([[1.0, 0.0]]).round(2) + 0.0
        array([[0.5, 0.5]])
        """
        table = np.asarray(K_new, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(self.vectors):
            must_be = f"a table of {len(self.vectors)} columns, one per training row"
            raise InputError(sentence("K_new", must_be, f"shape {table.shape}"))
        times = _TIMES[self.method]
        return table - times * (table @ self.vectors) @ self.vectors.T if times else table.copy()

    def __str__(self) -> str:
        n, one = len(self.vectors), self.negative == 1
        if not self.negative:
            return f"Nothing to repair: of {n} eigenvalues none is negative beyond rounding."
        done = {
            "shift": f"lifted all by {self.added:.4g}",
            "clip": f"set {'it' if one else 'them'} to 0",
            "flip": f"changed {'its sign' if one else 'their signs'}",
        }[self.method]
        new = "stay as they are: only the diagonal grows, the same as so much more alpha."
        new = new if self.method == "shift" else "need the same transform: report.apply(K_new)."
        were = f"{'was' if one else 'were'} negative, the smallest {self.smallest:.4g}"
        changed = f"K changed by {100 * self.change:.3g} % in Frobenius norm.\nValues for new rows {new}"
        return f"{self.negative} of {n} eigenvalues {were}; {self.method} {done}.\n{changed}"


@overload
def repair(K: XLike, method: str = ..., *, return_report: Literal[False] = ...) -> Array: ...
@overload
def repair(K: XLike, method: str = ..., *, return_report: Literal[True]) -> tuple[Array, Repair]: ...
def repair(K: XLike, method: str = "clip", *, return_report: bool = False) -> Array | tuple[Array, Repair]:
    """A symmetric, positive semi-definite matrix near K.

    Let K = V L V' with the eigenvalues in L. Each method does something else with the negative ones:

    * ``clip`` sets them to 0: the nearest positive semi-definite matrix (Frobenius norm). What is negative is held
      for noise.
    * ``flip`` takes their absolute values: what is negative is held for signal.
    * ``shift`` adds the size of the most negative one to the diagonal: the same as a larger alpha, so predictions are
      those of K with alpha + shift.

    After ``clip`` and ``flip`` the values of new rows against the training rows need the same transform,
    ``report.apply(K_new)``; after ``shift`` they stay as they are. A matrix without negative eigenvalues (beyond
    rounding, as `check_mercer` has it) is returned as it is, in a new array.

    Parameters
    ----------
    K : array-like of shape (n, n)
        A symmetric matrix. It is not changed.
    method : {"clip", "flip", "shift"}, default="clip"
        What becomes of negative eigenvalues.
    return_report : bool, default=False
        Also return what was done, which prints.

    Returns
    -------
    ndarray of shape (n, n), or that and a Repair
        Exactly symmetric; float32 for a float32 K, float64 otherwise.

    See Also
    --------
    check_mercer : Ask whether there is anything to repair.

    Examples
    --------
    >>> import mercer
    >>> mercer.repair([[0.0, 1.0], [1.0, 0.0]]).round(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> K, report = mercer.repair([[0.0, 1.0], [1.0, 0.0]], method="shift", return_report=True)
    >>> K.round(2)
    array([[1., 1.],
           [1., 1.]])
    >>> print(report)
    1 of 2 eigenvalues was negative, the smallest -1; shift lifted all by 1.
    K changed by 100 % in Frobenius norm.
    Values for new rows stay as they are: only the diagonal grows, the same as so much more alpha.
    """
    if method not in _TIMES:
        hint = nearest(str(method), _TIMES)
        raise InputError(sentence("method of repair", "'clip', 'flip' or 'shift'", repr(method), hint))
    table, precision = as_matrix(K)
    gap, (i, j) = worst_asymmetry(table)
    if gap > ASYMMETRY * float(np.abs(table).max()):
        got = f"K[{i}, {j}] = {table[i, j]:.6g} and K[{j}, {i}] = {table[j, i]:.6g}"
        raise InputError(sentence("K", "symmetric", got, "If the difference is rounding error, use (K + K.T) / 2."))
    spectrum, n = GramSpectrum(table, precision), len(table)
    before, unit = spectrum.symmetric, spectrum.unit
    if not spectrum.negative:
        mended = table if (table == table.T).all() else before * unit
        report = Repair(method, 0, spectrum.smallest, 0.0, 0.0, np.empty((n, 0)))
    else:
        values, vectors = np.linalg.eigh(before)
        count = int((values < -spectrum.slack).sum())
        if method == "shift":
            added, vectors, after = -float(values[0]), np.empty((n, 0)), before.copy()
            after.flat[:: n + 1] += added
        else:
            # from what is kept, not by taking away what is not: F F' has no negative eigenvalue
            root = vectors * np.sqrt(np.abs(values) if method == "flip" else np.maximum(values, 0.0))
            added, vectors, after = 0.0, vectors[:, values < 0], root @ root.T
            after = 0.5 * (after + after.T)
        change, mended = float(np.linalg.norm(after - before) / np.linalg.norm(before)), after * unit
        report = Repair(method, count, float(values[0]) * unit, change, added * unit, vectors)
    result = mended.astype(np.float32 if getattr(K, "dtype", None) == np.float32 else np.float64)
    return (result, report) if return_report else result
