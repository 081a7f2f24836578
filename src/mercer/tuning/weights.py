"""Weights of the members of a committee, from what they predicted of rows that they had not seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mercer.data.rows import Array
from mercer.selection.removals import label_numbers
from mercer.solvers.losses import Loss

Weigh: TypeAlias = Callable[[Array, Array, Array | None], Array]  # of held-out predictions, targets, sample weights
_LEAST = 0.02  # members of less weight are dropped in the end


def convex_weights(held_out: Array, Y: Array, rows: Array | None = None) -> Array:
    """Non-negative weights of sum one for which the weighted predictions have the least squared error.

    Parameters
    ----------
    held_out : ndarray of shape (members, n, t)
        Predictions.
    Y : ndarray of shape (n, t)
        Targets.
    rows : ndarray of shape (n,), default=None
        Sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tuning.weights import convex_weights
    >>> y = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> convex_weights(np.stack([y + 1.0, y - 1.0, y + 9.0]), y).round(3).tolist()
    [0.5, 0.5, 0.0]
    """
    from scipy.optimize import nnls

    errors = held_out - Y if rows is None else (held_out - Y) * np.sqrt(rows)[:, None]
    A = errors.reshape(len(held_out), -1).T
    size = max(float(np.abs(A).max(initial=0.0)), 1e-300)
    heavy = 1e4 * math.sqrt(len(A))
    weights, _ = nnls(np.vstack([A / size, np.full(len(held_out), heavy)]), np.append(np.zeros(len(A)), heavy))
    total = float(weights.sum())
    return np.asarray(weights / total) if total > 0 else np.full(len(held_out), 1.0 / len(held_out))


def log_loss_weights(held_out: Array, Y: Array, rows: Array | None = None) -> Array:
    """Non-negative weights of sum one for which the weighted votes, scaled and shifted, have the least log loss.

    With votes V_i (n x classes), logits are sum_i v_i V_i + b: a convex problem in v >= 0 and b; weights are v / sum v.
    A vote of one column is half of itself for the second class, and minus half for the first.

    Parameters
    ----------
    held_out : ndarray of shape (members, n, t)
        Votes.
    Y : ndarray of shape (n, t)
        Targets: one column of -1 and 1, or a column per class, largest at the label.
    rows : ndarray of shape (n,), default=None
        Sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tuning.weights import log_loss_weights
    >>> y = np.array([[-1.0], [1.0], [-1.0], [1.0]] * 5)
    >>> noisy = 0.4 * y + np.linspace(-1.0, 1.0, 20)[:, None]
    >>> log_loss_weights(np.stack([noisy, -y]), y).round(3).tolist()
    [1.0, 0.0]
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    labels = label_numbers(Y)
    if Y.shape[1] == 1:
        held_out = np.concatenate([-held_out / 2, held_out / 2], axis=2)
    count, n, classes = held_out.shape
    size = max(float(np.abs(held_out).max(initial=0.0)), 1e-300)
    votes, each = held_out / size, np.full(n, 1.0 / n) if rows is None else rows / rows.sum()
    right, own = np.arange(n), np.eye(classes)[labels]

    def loss(v: Array) -> tuple[float, Array]:
        logits = np.tensordot(v[:count], votes, axes=1) + v[count:]
        total = logsumexp(logits, axis=1)
        slope = each[:, None] * (np.exp(logits - total[:, None]) - own)
        gradient = np.concatenate([np.tensordot(votes, slope, axes=2), slope.sum(axis=0)])
        return float(each @ (total - logits[right, labels])), gradient

    start = np.concatenate([np.full(count, 3.0 / count), np.zeros(classes)])
    bounds = [(0.0, 1e3)] * count + [(-1e3, 1e3)] * classes
    v = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[:count]
    total = float(v.sum())
    return np.asarray(v / total) if total > 0 else np.full(count, 1.0 / count)


def loss_weights(
    read: Callable[[Array], tuple[Loss, Array]], held_out: Array, Y: Array, rows: Array | None = None
) -> Array:
    """Non-negative weights of sum one for which the weighted values have the least mean loss.

    Parameters
    ----------
    read : callable
        The loss and its targets, from targets Y.
    held_out : ndarray of shape (members, n, outputs)
        Values of the members.
    Y : ndarray of shape (n, t)
        Targets.
    rows : ndarray of shape (n,), default=None
        Sample weights.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    loss, y = read(Y)
    each = np.full(len(y), 1.0 / len(y)) if rows is None else rows / rows.sum()

    def mean_loss(u: Array) -> tuple[float, Array]:
        shares = softmax(u)
        values = np.tensordot(shares, held_out, axes=1)
        gradient = np.tensordot(held_out, each[:, None] * loss.slope(y, values), axes=2)
        return float(each @ loss.rows(y, values)), shares * (gradient - shares @ gradient)

    return np.asarray(softmax(minimize(mean_loss, np.zeros(len(held_out)), jac=True, method="L-BFGS-B").x))


def weigh_members(
    weigh: Weigh, held_out: Array, Y: Array, of_rows: Array | None, folds: Array, weights: Array | None = None
) -> tuple[Array, Array, Array]:
    """Weights of members from held-out predictions (members x n x t); their mean, and the weights without each fold.

    A row is predicted with weights that it has no part in. `weights`: those of all rows, if they are known.
    """
    weights = weights_of(weigh, held_out, Y, of_rows) if weights is None else weights
    voted, by_fold = np.empty_like(Y), np.empty((int(folds.max()) + 1, len(held_out)))
    for fold in range(len(by_fold)):
        rest, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        there = None if of_rows is None else of_rows[rest]
        by_fold[fold] = weights_of(weigh, held_out[:, rest], Y[rest], there) if len(rest) else weights
        voted[own] = np.tensordot(by_fold[fold], held_out[:, own], axes=1)
    return weights, voted, by_fold


def weights_of(weigh: Weigh, held_out: Array, Y: Array, of: Array | None) -> Array:
    """Weights of members from out-of-fold predictions; small ones are zero."""
    found = weigh(held_out, Y, of)
    found = np.where(found >= _LEAST, found, 0.0)
    return np.asarray(found / found.sum())
