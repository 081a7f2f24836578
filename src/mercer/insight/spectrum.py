"""The eigenvalues of a given matrix, and how far below zero rounding may have taken them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.checks import as_numbers
from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.kernels.certificate import Witness, witness_of
from mercer.runtime import promise

# Entries of a matrix that was given: their last digit, and the few operations that made them.
_ROUNDINGS = 10.0
_CUT = 500


def as_matrix(K: Any) -> tuple[Array, float]:
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
    table, kind = _numbers(K)
    if table.ndim != 2 or not table.size:
        got = f"shape {table.shape}" if table.ndim != 2 else f"{table.shape[0]} x {table.shape[1]}"
        raise InputError(sentence("K", "a square matrix of at least one row", got))
    if table.shape[0] != table.shape[1]:
        got = f"{table.shape[0]} x {table.shape[1]}"
        raise InputError(sentence("K", "square", got, "To check a kernel on rows X, use check_mercer(kernel, X)."))
    if not np.isfinite(table).all():
        i, j = np.argwhere(~np.isfinite(table))[0]
        raise InputError(sentence("K", "finite", f"{table[i, j]} in row {i}, column {j}"))
    single = kind.kind == "f" and kind.itemsize < 8
    return table, _ROUNDINGS * float(np.finfo(kind if single else np.float64).eps)


def _numbers(K: Any) -> tuple[Array, np.dtype[Any]]:
    try:
        kind, table = np.asarray(K).dtype, as_numbers(K)
    except (TypeError, ValueError, OverflowError):
        kind, table = np.dtype(object), None
    if table is None:
        way_out = "Of a kernel, use its matrix, kernel(X); wrap a function f(X, Z) as mercer.kernels.Custom(function)."
        got = f"{type(K).__name__}" if kind.kind == "O" else f"values of type {kind}"
        raise InputError(sentence("K", "a square matrix of real numbers", got, way_out if callable(K) else ""))
    return table, kind


def worst_asymmetry(K: Array) -> tuple[float, tuple[int, int]]:
    """The largest |K[i, j] - K[j, i]|, and where it is."""
    worst, place = 0.0, (0, 0)
    for start in range(0, len(K), _CUT):
        with np.errstate(over="ignore"):
            gap = np.abs(K[start : start + _CUT] - K[:, start : start + _CUT].T)
        if gap.max() > worst:
            row, column = divmod(int(gap.argmax()), len(K))
            worst, place = float(gap.max()), (start + row, column)
    return worst, place


@dataclass(frozen=True, eq=False)
class GramSpectrum:
    """The eigenvalues of (K + K') / 2, on which v'Kv depends alone.

    Attributes
    ----------
    K : ndarray
        The matrix.
    precision : float
        Relative error of its entries.
    """

    K: Array
    precision: float

    @cached_property
    def unit(self) -> float:
        """A power of two near the largest entry: in units of it nothing overflows."""
        largest = float(np.abs(self.K).max())
        return 2.0 ** (math.frexp(largest)[1] - 1) if largest else 1.0

    @cached_property
    def symmetric(self) -> Array:
        """(K + K') / 2 in these units."""
        n = len(self.K)
        promise(40 * n * n, f"The spectrum of a matrix of {n} rows", "Check fewer rows, chosen at random.")
        scaled = self.K / self.unit
        return scaled if (scaled == scaled.T).all() else 0.5 * scaled + 0.5 * scaled.T

    @cached_property
    def scaled_values(self) -> Array:
        """The eigenvalues in these units, ascending."""
        return np.asarray(np.linalg.eigvalsh(self.symmetric))

    @cached_property
    def slack(self) -> float:
        """n times the precision times the largest |eigenvalue|, in these units.

        If every entry has an error of at most `precision` times the largest entry, then no eigenvalue is
        off by more than n times that, and no entry of a positive semi-definite matrix exceeds its largest eigenvalue.
        """
        return len(self.K) * self.precision * float(np.abs(self.scaled_values).max())

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue."""
        return float(self.scaled_values[0]) * self.unit

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return float(self.scaled_values[-1]) * self.unit

    @property
    def tolerance(self) -> float:
        """What rounding may account for."""
        return self.slack * self.unit

    @property
    def rank(self) -> int:
        """How many eigenvalues are not zero, but for rounding."""
        return int((np.abs(self.scaled_values) > self.slack).sum())

    @property
    def negative(self) -> bool:
        """Whether an eigenvalue is negative beyond rounding."""
        return bool(self.scaled_values[0] < -self.slack)

    def witness(self, rows: Rows | None) -> Witness | None:
        """A few rows that show a negative eigenvalue: as many as it takes, by their weight in its eigenvector."""
        n = len(self.K)
        order = np.argsort(-np.abs(np.linalg.eigh(self.symmetric)[1][:, 0]), kind="stable")
        for count in _counts(n):
            chosen = np.sort(order[:count])
            part = self.symmetric[np.ix_(chosen, chosen)]
            if count == n or np.linalg.eigvalsh(part)[0] < -self.slack:
                places = tuple(int(place) for place in chosen)
                picked = None if rows is None else Rows(rows.values[chosen], rows.names)
                return witness_of(part * self.unit, picked, places)
        return None  # pragma: no cover - the last count is n


def _counts(n: int) -> list[int]:
    """1, 2, 3, 4, 6, 9, 13, ..., n."""
    counts = [1]
    while counts[-1] < n:
        counts.append(min(n, max(counts[-1] + 1, counts[-1] * 3 // 2)))
    return counts
