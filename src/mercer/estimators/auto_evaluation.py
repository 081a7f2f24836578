"""What an outer loop has found about an automatic estimator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.rows import Array


@dataclass(frozen=True, eq=False)
class Evaluation:
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
    """

    error: Any
    standard_error: Any
    baseline: Any
    errors: Array
    coverage: float | None
    predictions: Array

    def __str__(self) -> str:
        better = np.any(self.error < np.subtract(self.baseline, self.standard_error))
        words = (
            f"Out-of-sample error: {said(self.error)} +- {said(self.standard_error, 2)} ({len(self.errors)} outer "
            f"folds); baseline {said(self.baseline)}."
        )
        if not better:
            words += " That is no better than the baseline."
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
