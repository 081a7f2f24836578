"""Weights of members: the best by squared error and by log loss, against other solvers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from mercer.tuning.held_out import convex_weights, log_loss_weights


@given(st.integers(1, 5), st.integers(2, 40), st.integers(1, 3), st.integers(0, 2**32 - 1), st.floats(-12.0, 12.0))
def test_weights_are_the_best_probability_vector(members, n, targets, seed, power):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, targets))
    held_out = Y + rng.normal(size=(members, 1, 1)) + rng.normal(size=(members, n, targets))
    weights = convex_weights(held_out * 10.0**power, Y * 10.0**power)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)

    def error(w):
        return float(np.mean((np.tensordot(w, held_out, axes=1) - Y) ** 2))

    theirs = minimize(
        error,
        np.full(members, 1.0 / members),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * members,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-12},
    )
    assert error(weights) <= min(theirs.fun, *map(error, np.eye(members))) * (1 + 1e-6) + 1e-9


def test_weights_of_three_members_are_the_best_of_a_grid(rng):
    Y = rng.normal(size=(30, 1))
    held_out = Y + rng.normal(size=(3, 30, 1)) + np.array([0.3, -0.5, 0.0])[:, None, None]
    grid = [(i, j, 100 - i - j) for i in range(101) for j in range(101 - i)]
    errors = [np.mean((np.tensordot(np.array(w) / 100, held_out, axes=1) - Y) ** 2) for w in grid]
    np.testing.assert_allclose(convex_weights(held_out, Y), np.array(grid[np.argmin(errors)]) / 100, atol=0.011)


def test_members_without_any_error_get_weights_all_the_same():
    weights = convex_weights(np.ones((3, 4, 1)), np.ones((4, 1)))
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()


def best_loss(votes, labels, weights=None):
    """Log loss of votes (n x classes, or one column), scaled by a positive number and shifted by class, at its best."""
    places = np.unique(labels, return_inverse=True)[1][:, None]
    V = votes if votes.shape[1] > 1 else np.hstack([-votes / 2, votes / 2])

    def loss(v):
        logits = np.exp(v[0]) * V + v[1:]
        return np.average(logsumexp(logits, axis=1) - np.take_along_axis(logits, places, axis=1)[:, 0], weights=weights)

    starts = (np.append(scale, np.zeros(V.shape[1])) for scale in (-2.0, 1.0, 3.0))
    return min(minimize(loss, start).fun for start in starts)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_by_log_loss_are_the_best_of_a_grid(classes, weighted, rng):
    labels = rng.integers(classes, size=90)
    Y = np.where(labels == 1, 1.0, -1.0)[:, None] if classes == 2 else np.eye(classes)[labels]
    held_out = np.stack([Y + s * rng.normal(size=Y.shape) for s in (1.0, 1.5, 4.0)])
    rows = rng.uniform(0.2, 2.0, size=90) if weighted else None
    found = log_loss_weights(held_out, Y, rows)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0)
    grid = [(i / 6, j / 6, (6 - i - j) / 6) for i in range(7) for j in range(7 - i)]
    losses = [best_loss(np.tensordot(w, held_out, axes=1), labels, rows) for w in grid]
    assert best_loss(np.tensordot(found, held_out, axes=1), labels, rows) <= min(losses) + 1e-6


def test_one_vote_is_scaled_as_logistic_regression_would(rng):
    y = np.where(rng.uniform(size=200) < 0.4, 1.0, -1.0)[:, None]
    votes = 0.5 * y + rng.normal(size=y.shape)
    theirs = LogisticRegression(C=np.inf).fit(votes, y[:, 0])
    assert best_loss(votes, y[:, 0]) == pytest.approx(log_loss(y[:, 0], theirs.predict_proba(votes)), abs=1e-6)
    assert log_loss_weights(votes[None], y).tolist() == [1.0]


@pytest.mark.parametrize("power", [-12, 12])
def test_weights_by_log_loss_do_not_depend_on_the_size_of_votes(power, rng):
    y = np.where(rng.normal(size=60) > 0, 1.0, -1.0)[:, None]
    held_out = np.stack([y + rng.normal(size=y.shape), 0.3 * y + rng.normal(size=y.shape)])
    found, scaled = log_loss_weights(held_out, y), log_loss_weights(held_out * 10.0**power, y)
    np.testing.assert_allclose(scaled, found, atol=1e-3)


def test_votes_that_separate_the_classes_or_say_nothing_have_weights(rng):
    y = np.where(np.arange(20) % 2, 1.0, -1.0)[:, None]
    perfect = log_loss_weights(np.stack([y, rng.normal(size=y.shape)]), y)
    assert perfect[0] > 0.9
    for held_out in (np.zeros((2, 20, 1)), np.stack([-y, -y])):
        found = log_loss_weights(held_out, y)
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(1.0)
