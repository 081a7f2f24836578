"""Error estimates of the automatic estimators: their own, and that of an outer loop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.text import Shown
from mercer.tuning.committee import Committee

SIGNAL = 2.0  # z above which a model is better than the baseline
_FEW = 30  # rows below which the error is not corrected for the number of rows
_SMALL = 1e-6  # gains of less than this share of the baseline's loss are rounding


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Shown):
    """What an automatic estimator is worth on rows that no part of it has seen.

    Attributes
    ----------
    error, standard_error : float, or ndarray of shape (n_targets,)
        Root mean squared error (share of wrong labels for classifiers) over all folds.
    baseline : float, or ndarray of shape (n_targets,)
        The same of the mean (the most common label).
    errors : ndarray of shape (folds,) or (folds, n_targets)
        Of every fold.
    coverage : float or None
        Share of targets inside the 90 % intervals.
    predictions : ndarray of shape (n,) or (n, n_targets)
        Out-of-fold predictions; NaN (None) for folds that the time budget left out.
    signal : float, or ndarray of shape (n_targets,)
        z of the paired difference to the baseline over all rows: of squared errors, for classifiers of log losses.
        Above 2 the model is better than the baseline.
    """

    error: Any
    standard_error: Any
    baseline: Any
    errors: Array
    coverage: float | None
    predictions: Array
    signal: Any

    def _columns(self) -> dict[str, list[Any]]:
        """The error of every fold."""
        errors = np.asarray(self.errors)
        by_target = errors.reshape(len(errors), -1).T.tolist()
        names = ["error"] if len(by_target) == 1 else [f"error {place}" for place in range(len(by_target))]
        return {"fold": list(range(1, len(errors) + 1)), **dict(zip(names, by_target, strict=True))}

    def __str__(self) -> str:
        words = (
            f"Out-of-sample error: {said(self.error)} +- {said(self.standard_error, 2)} ({len(self.errors)} outer "
            f"folds); baseline {said(self.baseline)}."
        )
        if not np.any(np.greater(self.signal, SIGNAL)):
            words += " The model is not better than the baseline."
        return words if self.coverage is None else f"{words} 90 % intervals contain {100 * self.coverage:.0f} %."


def said(numbers: Any, digits: int = 4) -> str:
    """One number, or several, for people.

    Examples
    --------
    >>> from mercer.estimators.auto_evaluation import said
    >>> said(0.12345), said([1.0, 2.5], 2)
    ('0.1235', '1, 2.5')
    """
    return ", ".join(f"{number:.{digits}g}" for number in np.atleast_1d(numbers))


def corrected_error(errors: Array, share: float) -> Any:
    """Standard error of a mean over folds whose training sets overlap (Nadeau and Bengio); per target."""
    if len(errors) < 2:
        return math.nan
    found = errors.std(axis=0, ddof=1) * math.sqrt(1.0 / len(errors) + share / (1.0 - share))
    return float(found) if np.ndim(found) == 0 else found


def growth(committee: Committee) -> Array | float:
    """Ratio of the leave-one-out error to the error of the folds, of each target, parameters as tuned on all rows.

    It is how much the error falls from two thirds of the rows to all of them: at most to one half, and 1 for fewer than
    30 rows, of which parameters can be tuned to any ratio. 1 where it was not computed. Known of m of n rows,
    its logarithm is multiplied by sqrt(m / n): learning curves get flatter.
    """
    if committee.left_out is None or committee.in_folds is None or len(committee.left_out) < _FEW:
        return 1.0
    all_rows, folds = (np.sqrt(np.mean(each**2, axis=0)) for each in (committee.left_out, committee.in_folds))
    ratio = np.divide(all_rows, folds, out=np.ones_like(all_rows), where=folds > 0)
    flatter = math.sqrt(len(committee.left_out) / len(committee.held_out))
    return np.asarray(np.where(np.isfinite(ratio), np.clip(ratio, 0.5, 1.0), 1.0) ** flatter)


def signal(residuals: Array, Y: Array, folds: Array) -> Array:
    """z of the mean difference between the squared errors of the baseline, the mean of the other folds, and these.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.auto_evaluation import signal
    >>> y = np.arange(12.0)[:, None]
    >>> bool(signal(np.full((12, 1), 0.1), y, np.arange(12) % 3)[0] > 2)
    True
    """
    base = np.empty_like(Y)
    for fold in np.unique(folds):
        base[folds == fold] = Y[folds == fold] - Y[folds != fold].mean(axis=0)
    return paired(base**2 - residuals**2, np.mean(base**2, axis=0))


def paired(gains: Array, size: Array | float = 0.0) -> Array:
    """z of the mean of each column; 0 where gains are rounding beside `size`, and for fewer than two rows."""
    if len(gains) < 2:
        return np.zeros(gains.shape[1])
    largest = np.abs(gains).max(axis=0)
    scaled = gains / np.where(largest > 0, largest, 1.0)
    spread = scaled.std(axis=0, ddof=1) / math.sqrt(len(gains))
    counts = (spread > 0) & (largest > _SMALL * size)
    return np.asarray(np.divide(scaled.mean(axis=0), spread, out=np.zeros(len(spread)), where=counts))
