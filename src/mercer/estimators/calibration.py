"""Probabilities from decision values: a softmax with a temperature and an offset for each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array

_STEPS = 100


@dataclass(frozen=True, eq=False)
class Temperature:
    """softmax(scale f_c + offset_c), fitted by maximum likelihood on held-out decision values.

    Labels are smoothed a little, so that classes that are perfectly separated do not get probabilities of
    exactly 0 and 1.

    Attributes
    ----------
    scale : float
        Inverse temperature, not negative.
    offsets : ndarray of shape (n_classes,)
        Sum to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.calibration import Temperature
    >>> fitted = Temperature.fitted(np.array([[-1.0], [-0.2], [0.3], [1.2]] * 20), np.array([0, 1, 0, 1] * 20))
    >>> fitted.probabilities(np.array([[0.0]])).shape
    (1, 2)
    """

    scale: float
    offsets: Array

    @staticmethod
    def fitted(values: Array, numbers: Array) -> Temperature:
        """By Newton steps on the (convex) negative log-likelihood of smoothed labels."""
        scores = _two_columns(values)
        n, c = scores.shape
        counts = np.bincount(numbers, minlength=c)
        # Platt's smoothing: as if each class had been seen once more in every other class's place
        smooth = 1.0 / (counts[numbers] + c)
        target = np.repeat(smooth[:, None], c, axis=1)
        target[np.arange(n), numbers] = 1.0 - (c - 1) * smooth
        theta = np.zeros(1 + c)
        theta[0] = 1.0 / max(float(scores.std()), 1e-12)
        for _ in range(_STEPS):
            step, size = _newton(scores, target, theta)
            length = 1.0
            while length > 1e-6 and _loss(scores, target, theta - length * step) > size:
                length /= 2
            theta = theta - length * step
            if float(np.abs(length * step).max()) < 1e-10:
                break
        if theta[0] <= 0:  # decisions that say nothing, or the opposite: the shares of the classes remain
            theta[0], theta[1:] = 0.0, np.log(target.mean(axis=0))
        return Temperature(float(theta[0]), theta[1:] - theta[1:].mean())

    def probabilities(self, values: Array) -> Array:
        """One row per row of decision values, one column per class."""
        return _softmax(self.scale * _two_columns(values) + self.offsets)


def _two_columns(values: Array) -> Array:
    """Decision values as one column per class, held within the labels' own range: beyond it least squares
    goes on counting, but knows no more.
    """
    if values.shape[1] > 1:
        return np.clip(values, 0.0, 1.0)
    held = np.clip(values, -1.0, 1.0)
    return np.hstack([-held, held]) / 2.0


def _softmax(logits: Array) -> Array:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def _loss(scores: Array, target: Array, theta: Array) -> float:
    logits = theta[0] * scores + theta[1:]
    top = logits.max(axis=1)
    total = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    return float(np.mean(total - (target * logits).sum(axis=1)) + 1e-9 * theta @ theta)


def _newton(scores: Array, target: Array, theta: Array) -> tuple[Array, float]:
    n, c = scores.shape
    p = _softmax(theta[0] * scores + theta[1:])
    gap = (p - target) / n
    gradient = np.concatenate([[float((gap * scores).sum())], gap.sum(axis=0)]) + 2e-9 * theta
    mean = (p * scores).sum(axis=1, keepdims=True)
    H = np.zeros((1 + c, 1 + c))
    H[0, 0] = float((p * (scores - mean) ** 2).sum()) / n
    H[0, 1:] = H[1:, 0] = (p * (scores - mean)).sum(axis=0) / n
    H[1:, 1:] = np.diag(p.sum(axis=0)) / n - p.T @ p / n
    H.flat[:: 2 + c] += 1e-8
    return np.linalg.solve(H, gradient), _loss(scores, target, theta)
