"""Losses and their derivatives."""

import numpy as np
import pytest

from mercer.solvers.problem import (
    Expectile,
    Gamma,
    Huber,
    Logistic,
    Pinball,
    Poisson,
    Softmax,
    Squared,
    weighted_quantile,
)

ONE = {
    "squared": (Squared(), "numbers"),
    "huber": (Huber(0.5), "numbers"),
    "expectile": (Expectile(0.8), "numbers"),
    "quantile": (Pinball(0.2, 0.3), "numbers"),
    "poisson": (Poisson(), "counts"),
    "gamma": (Gamma(), "positive"),
    "logistic": (Logistic(), "labels"),
}


def targets(kind, n, rng):
    return {
        "numbers": rng.normal(size=n),
        "counts": rng.poisson(2.0, n).astype(float),
        "positive": rng.gamma(2.0, 1.0, n),
        "labels": rng.integers(0, 2, n).astype(float),
    }[kind]


@pytest.mark.parametrize("name", ONE)
def test_slope_and_curvature_are_the_derivatives_of_the_loss(name, rng):
    loss, kind = ONE[name]
    y, f, h = targets(kind, 400, rng), rng.normal(size=(400, 1)), 1e-6
    slope = (loss.rows(y, f + h) - loss.rows(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(y, f)[:, 0], slope, rtol=1e-5, atol=1e-5)
    bend = (loss.slope(y, f + h) - loss.slope(y, f - h))[:, 0] / (2 * h)
    smooth = np.abs(bend) < 50.0  # pieces meet inside of the difference
    assert smooth.mean() > 0.99
    np.testing.assert_allclose(loss.curvature(y, f)[smooth, 0], bend[smooth], rtol=1e-4, atol=1e-4)
    assert (loss.curvature(y, f) >= 0).all()


def test_derivatives_of_the_softmax_loss(rng):
    loss, y, f, h = Softmax(3), rng.integers(0, 3, 50), rng.normal(size=(50, 3)), 1e-6
    for c in range(3):
        step = h * np.eye(3)[c]
        slope = (loss.rows(y, f + step) - loss.rows(y, f - step)) / (2 * h)
        np.testing.assert_allclose(loss.slope(y, f)[:, c], slope, atol=1e-6)
        p = loss.curvature(y, f)
        bend = (loss.slope(y, f + step) - loss.slope(y, f - step)) / (2 * h)
        np.testing.assert_allclose(p[:, [c]] * (np.eye(3)[c] - p), bend, atol=1e-6)


@pytest.mark.parametrize("name", sorted(ONE.keys() - {"expectile"}))  # whose constant is the mean, which is near
def test_the_constant_is_the_best_one(name, rng):
    loss, kind = ONE[name]
    y, w = targets(kind, 300, rng), rng.uniform(0.5, 2.0, 300)
    best = loss.constant(y, w)
    total = [w @ loss.rows(y, np.full((300, 1), c)) for c in best + np.array([0.0, -0.2, 0.2])]
    assert total[0] <= min(total[1:]) + 1e-9


def test_the_pinball_loss_is_smoothed_by_at_most_a_quarter(rng):
    y, f = rng.normal(size=1000), np.zeros((1000, 1))
    for level in (0.05, 0.5, 0.9):
        pinball = np.maximum(level * y, (level - 1.0) * y)
        smooth = Pinball(level, 0.2).rows(y, f)
        assert (smooth >= pinball - 1e-15).all()
        assert (smooth - pinball).max() <= 0.05 + 1e-15


def test_huge_values_do_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        for loss, y in ((Logistic(), 1.0), (Poisson(), 3.0), (Gamma(), 2.0)):
            f = np.array([[-1e4], [1e4]])
            assert np.isfinite(loss.slope(np.array([y, y]), f)).all()
            assert np.isfinite(loss.curvature(np.array([y, y]), f)).all()


def test_weighted_quantiles():
    y = np.array([3.0, 1.0, 2.0])
    assert weighted_quantile(y, np.ones(3), 0.5) == 2.0
    assert weighted_quantile(y, np.array([5.0, 1.0, 1.0]), 0.5) == 3.0
    assert weighted_quantile(y, np.array([0.0, 1.0, 0.0]), 0.99) == 1.0
