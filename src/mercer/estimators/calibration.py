"""Probabilities from decision values: a softmax with a temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array

_STEPS = 100
# Beyond the labels' own range least squares goes on counting, but knows hardly more.
_BEYOND = 0.01


@dataclass(frozen=True, eq=False)
class Temperature:
    """softmax(scale f), the scale fitted by maximum likelihood on held-out decision values.

    The class with the largest decision value stays the most probable one. Labels are smoothed a little, so that
    classes that are perfectly separated do not get probabilities of exactly 0 and 1.

    Attributes
    ----------
    scale : float
        Inverse temperature, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.calibration import Temperature
    >>> fitted = Temperature.fitted(np.array([[-1.0], [-0.2], [0.3], [1.2]] * 20), np.array([0, 1, 0, 1] * 20))
    >>> fitted.probabilities(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """

    scale: float

    @staticmethod
    def fitted(values: Array, numbers: Array) -> Temperature:
        """By bisection on the slope of the (convex) negative log-likelihood of smoothed labels."""
        scores = _held(values)
        n, c = scores.shape
        counts = np.bincount(numbers, minlength=c)
        # Platt's smoothing: as if each class had been seen once more in every other class's place
        smooth = 1.0 / (counts[numbers] + c)
        target = np.repeat(smooth[:, None], c, axis=1)
        target[np.arange(n), numbers] = 1.0 - (c - 1) * smooth

        def slope(scale: float) -> float:
            return float(((_softmax(scale * scores) - target) * scores).sum())

        low, high = 0.0, 1.0
        if slope(0.0) >= 0:  # decisions that say nothing, or the opposite
            return Temperature(0.0)
        while slope(high) < 0 and high < 1e15:
            high *= 2.0
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return Temperature(0.5 * (low + high))

    def probabilities(self, values: Array) -> Array:
        """One row per row of decision values, one column per class."""
        return _softmax(self.scale * _held(values))


def _held(values: Array) -> Array:
    """Decision values as one column per class, held (all but) within the labels' own range."""
    low = -1.0 if values.shape[1] == 1 else 0.0
    inside = np.clip(values, low, 1.0)
    held = inside + _BEYOND * (values - inside)
    return np.hstack([-held, held]) / 2.0 if values.shape[1] == 1 else held


def _softmax(logits: Array) -> Array:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
