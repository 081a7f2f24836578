"""Matrices made positive semi-definite, and what that did to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, nearest, sentence
from mercer.insight.spectrum import GramSpectrum, as_matrix, worst_asymmetry
from mercer.text import Shown

# How often the negative part of K is taken away.
_TIMES = {"clip": 1.0, "flip": 2.0, "shift": 0.0}
# Asymmetry below this share of the largest entry is noise, as for estimators.
_NOISE = 1e-8


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

    def apply(self, K_new: Any) -> Array:
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
        n = len(self.vectors)
        if not self.negative:
            return f"Nothing to repair: of {n} eigenvalues none is negative beyond rounding."
        done = {
            "clip": "clip set it to 0" if self.negative == 1 else "clip set them to 0",
            "flip": "flip changed its sign" if self.negative == 1 else "flip changed their signs",
            "shift": f"shift lifted all by {self.added:.4g}",
        }[self.method]
        new = "Values for new rows need the same transform: report.apply(K_new)."
        if self.method == "shift":
            new = "Values for new rows stay as they are: only the diagonal grows, the same as so much more alpha."
        were = "was" if self.negative == 1 else "were"
        return (
            f"{self.negative} of {n} eigenvalues {were} negative, the smallest {self.smallest:.4g}; {done}.\n"
            f"K changed by {100 * self.change:.3g} % in Frobenius norm.\n{new}"
        )


@overload
def repair(K: Any, method: str = ..., *, return_report: Literal[False] = ...) -> Array: ...
@overload
def repair(K: Any, method: str = ..., *, return_report: Literal[True]) -> tuple[Array, Repair]: ...
def repair(K: Any, method: str = "clip", *, return_report: bool = False) -> Array | tuple[Array, Repair]:
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
        raise InputError(
            sentence("method of repair", "'clip', 'flip' or 'shift'", repr(method), nearest(str(method), _TIMES))
        )
    table, precision = as_matrix(K)
    gap, (i, j) = worst_asymmetry(table)
    if gap > _NOISE * float(np.abs(table).max()):
        got = f"K[{i}, {j}] = {table[i, j]:.6g} and K[{j}, {i}] = {table[j, i]:.6g}"
        raise InputError(sentence("K", "symmetric", got, "If the difference is rounding error, use (K + K.T) / 2."))
    report, mended = _mended(GramSpectrum(table, precision), method)
    kept = np.float32 if getattr(K, "dtype", None) == np.float32 else np.float64
    result = mended.astype(kept)
    return (result, report) if return_report else result


def _mended(spectrum: GramSpectrum, method: str) -> tuple[Repair, Array]:
    before, n = spectrum.symmetric, len(spectrum.K)
    if not spectrum.negative:
        same = spectrum.K if (spectrum.K == spectrum.K.T).all() else before * spectrum.unit
        return Repair(method, 0, spectrum.smallest, 0.0, 0.0, np.empty((n, 0))), same
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
    change = float(np.linalg.norm(after - before) / np.linalg.norm(before))
    unit = spectrum.unit
    return Repair(method, count, float(values[0]) * unit, change, added * unit, vectors), after * unit
