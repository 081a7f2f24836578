"""Prediction intervals from one factor: jackknife+ and CV+ without a refit, and the Gaussian ones.

Equation (12) of docs/derivations gives the prediction at x0 of the model without any set of rows; section 19 says
what is made of it.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.kernels.tiles import TILE, blocks
from mercer.runtime import run
from mercer.text import Shown

METHODS = ("jackknife+", "cv+", "gaussian")


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Shown):
    """How many new targets lie inside their intervals; `float` gives the share.

    Attributes
    ----------
    share : float or ndarray of shape (n_targets,)
        Share of the rows whose target lies inside, ends included.
    width : float or ndarray of shape (n_targets,)
        Mean width of the intervals.
    confidence : float
        The nominal confidence.
    method : str
        How the intervals were made.
    rows : int
        Number of rows.

    Examples
    --------
    >>> from mercer.insight.intervals import Coverage
    >>> found = Coverage(share=0.92, width=3.1, confidence=0.9, method="jackknife+", rows=50)
    >>> print(found)
    coverage 92.0 % on 50 rows (nominal 90 %, jackknife+); mean width 3.1
    >>> float(found)
    0.92
    """

    share: Any
    width: Any
    confidence: float
    method: str
    rows: int

    def __float__(self) -> float:
        """The share; its mean where there are several targets."""
        return float(np.mean(self.share))

    def _columns(self) -> dict[str, list[Any]]:
        """Share, mean width and nominal confidence, one row per target."""
        shares, widths = (np.atleast_1d(each).astype(float).tolist() for each in (self.share, self.width))
        nominal = [self.confidence] * len(shares)
        return {"share": shares, "width": widths, "confidence": nominal, "rows": [self.rows] * len(shares)}

    def __str__(self) -> str:
        shares = ", ".join(f"{100 * share:.1f} %" for share in np.atleast_1d(self.share))
        widths = ", ".join(f"{width:.3g}" for width in np.atleast_1d(self.width))
        nominal = f"{100 * self.confidence:.4g} %, {self.method}"
        return f"coverage {shares} on {self.rows} rows (nominal {nominal}); mean width {widths}"


def checked_confidence(value: Any) -> float:
    """Validate `confidence`: a number above 0 and below 1.

    Examples
    --------
    >>> from mercer.insight.intervals import checked_confidence
    >>> checked_confidence(90)
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: confidence must be a number above 0 and below 1; got 90. Use 0.9 for ...
    """
    real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not real or not 0.0 < float(value) < 1.0:
        what = "a number above 0 and below 1"
        raise InputError(sentence("confidence", what, repr(value), "Use 0.9 for 90 % prediction intervals."))
    return float(value)


def checked_method(value: Any) -> str:
    """Validate `method`; "full" is answered before."""
    if not isinstance(value, str) or value not in METHODS:
        raise InputError(sentence("method", "'jackknife+', 'cv+', 'gaussian' or 'full'", repr(value)))
    return value


def upper_rank(n: int, confidence: float) -> int:
    """ceil((1 - q) (n + 1)), q = 1 - confidence: which of n sorted values holds a further one with this confidence.

    n + 1 means that none of them does. q (n + 1) is rounded to 1e-9 first, for in floating point (1 - 0.9) 100 is
    less than 10.

    Examples
    --------
    >>> from mercer.insight.intervals import upper_rank
    >>> upper_rank(99, 0.9), upper_rank(98, 0.9), upper_rank(8, 0.9)
    (90, 90, 9)
    """
    return n + 1 - math.floor(round((1.0 - confidence) * (n + 1), 9))


def ranks(n: int, confidence: float) -> tuple[int, int]:
    """Which of n sorted values are the ends: floor(q (n + 1)) and ceil((1 - q) (n + 1)), which add up to n + 1.

    0 and n + 1 do not exist: the interval has no end there.

    Examples
    --------
    >>> from mercer.insight.intervals import ranks
    >>> ranks(99, 0.9), ranks(98, 0.9), ranks(8, 0.9)
    ((10, 90), (9, 90), (0, 9))
    """
    high = upper_rank(n, confidence)
    return n + 1 - high, high


def held_out_bounds(
    reach: Array, values: Callable[[slice], Iterable[tuple[int, Array]]], count: int, confidence: float
) -> tuple[Array, Array]:
    """Ends of the intervals: of all f_-S(x0) - R_i and f_-S(x0) + R_i those with the right ranks.

    Parameters
    ----------
    reach : ndarray of shape (n, t)
        R, the absolute errors at the rows left out.
    values : callable
        For a slice of the new rows each target, and its f_-S(x0) with a column for each training row; overwritten.
    count : int
        How many new rows there are.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    lower, upper : ndarray of shape (count, t)
        Infinite where the rank does not exist.
    """
    n, targets = reach.shape
    low, high = ranks(n, confidence)
    lower, upper = np.full((count, targets), -np.inf), np.full((count, targets), np.inf)
    if low == 0:
        return lower, upper

    def fill(part: slice) -> None:
        for target, found in values(part):
            lower[part, target] = _ranked(found - reach[:, target], low)
            upper[part, target] = _ranked(np.add(found, reach[:, target], out=found), high)

    # no array of new rows against training rows is larger than a tile
    run(fill, blocks(count, max(1, TILE * TILE // n)))
    return lower, upper


def _ranked(values: Array, rank: int) -> Array:
    """The rank-th smallest of each row; the values are rearranged."""
    values.partition(rank - 1, axis=1)
    return values[:, rank - 1].copy()


def gaussian_bounds(mean: Array, variance: Array, noise: Array, confidence: float) -> tuple[Array, Array]:
    """mean -+ z sqrt(variance of f + noise variance).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.intervals import gaussian_bounds
    >>> lower, upper = gaussian_bounds(np.zeros((1, 1)), np.array([[0.75]]), np.array([0.25]), 0.95)
    >>> lower.round(2).tolist(), upper.round(2).tolist()
    ([[-1.96]], [[1.96]])
    """
    from scipy.special import ndtri

    reach = ndtri(0.5 + 0.5 * confidence) * np.sqrt(variance + noise)
    return mean - reach, mean + reach


def covered(lower: Array, upper: Array, y: Array, confidence: float, method: str) -> Coverage:
    """Share of targets inside, and mean width; an interval whose ends have crossed is empty, its width zero.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.intervals import covered
    >>> print(covered(np.zeros(4), np.full(4, 2.0), np.array([0.0, 1.0, 2.0, 3.0]), 0.8, "gaussian"))
    coverage 75.0 % on 4 rows (nominal 80 %, gaussian); mean width 2
    """
    share = ((lower <= y) & (y <= upper)).mean(axis=0)
    width = np.maximum(upper - lower, 0.0).mean(axis=0)
    if y.ndim == 1:
        return Coverage(float(share), float(width), confidence, method, len(y))
    return Coverage(share, width, confidence, method, len(y))
