"""The few metrics that nearly everyone uses, of all test sets at once: one row per set, one column per target."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.data.checks import sizes
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.selection.removals import Removals

# Squared errors below the first have no digits left, above the second they overflow.
_LEAST, _MOST = 1e-150, 1e150


def means(losses: Array, removals: Removals) -> Array:
    """Mean of each test set, for each column."""
    sums = np.add.reduceat(losses, removals.starts, axis=0)
    return np.asarray(sums / removals.counts[:, None])


def mse(y: Array, p: Array, removals: Removals) -> Array:
    """Minus the mean squared error; errors whose squares a float64 cannot hold are refused."""
    errors = y - p
    largest = np.nanmax(np.abs(errors), axis=0, initial=0.0)
    bad = ((largest > 0) & (largest < _LEAST)) | ((largest > _MOST) & (largest < np.inf))
    if bad.any():
        way_out = "Rescale y, or use scoring='neg_mean_absolute_error'."
        must_be = "between 1e-150 and 1e150, so that squares are finite and non-zero"
        raise InputError(sentence("The largest absolute residual", must_be, f"{largest[bad][0]:.3g}", way_out))
    return -means(errors**2, removals)


def rmse(y: Array, p: Array, removals: Removals) -> Array:
    """Minus the root of the mean squared error."""
    errors = y - p
    size = sizes(errors)
    return -size * np.sqrt(means((errors / size) ** 2, removals))


def mae(y: Array, p: Array, removals: Removals) -> Array:
    """Minus the mean absolute error."""
    return -means(np.abs(y - p), removals)


def max_error(y: Array, p: Array, removals: Removals) -> Array:
    """Minus the largest absolute error."""
    return -np.asarray(np.maximum.reduceat(np.abs(y - p), removals.starts, axis=0))


def r2(y: Array, p: Array, removals: Removals) -> Array:
    """1 - rest / total; 0 or 1 where y does not vary, as scikit-learn has it."""
    size = sizes(y)
    y, p = y / size, p / size
    rest, centre = means((y - p) ** 2, removals), np.repeat(means(y, removals), removals.counts, axis=0)
    total = means((y - centre) ** 2, removals)
    # constant targets may differ from their own mean by rounding
    starts = removals.starts
    varies = np.maximum.reduceat(y, starts, axis=0) > np.minimum.reduceat(y, starts, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varies & (total > 0), 1.0 - rest / total, np.where(rest > 0, 0.0, 1.0))


def accuracy(y: Array, p: Array, removals: Removals) -> Array:
    """Share of labels that are right."""
    return means((y == p).astype(np.float64), removals)


QUICK: dict[str, Callable[[Array, Array, Removals], Array]] = {
    "neg_mean_squared_error": mse,
    "neg_root_mean_squared_error": rmse,
    "neg_mean_absolute_error": mae,
    "max_error": max_error,
    "neg_max_error": max_error,
    "r2": r2,
    "accuracy": accuracy,
}
