"""Quantiles by location and scale."""

import numpy as np
import pytest

from mercer import AutoRegressor, KernelRidge, KernelRidgeCV, LocalRidge
from mercer.errors import InputError
from mercer.kernels import Gaussian
from refusals import tells


def growing(n, seed=0):
    """Noise that grows with x, and its standard deviations."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, size=(n, 1))
    size = 0.05 + 0.1 * X[:, 0]
    return X, np.sin(X[:, 0]) + size * rng.normal(size=n), size


MODELS = {
    "ridge": KernelRidge(0.5, kernel=Gaussian(1.0), fit_intercept=True),
    "search": KernelRidgeCV([Gaussian(0.5), Gaussian(1.0)], [0.1, 1.0], fit_intercept=True),
    "auto": AutoRegressor(committee=False, loss="squared"),
    "cells": LocalRidge(0.5, kernel=Gaussian(1.0), fit_intercept=True, core_rows=64, system_rows=256),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_quantiles_hold_their_shares_wherever_the_noise_is_large_or_small(name):
    X, y, _ = growing(500)
    new, truth, size = growing(4000, seed=1)
    model = MODELS[name].fit(X, y)
    low, middle, high = model.predict_quantiles(new).T
    assert (low < middle).all()
    assert (middle < high).all()
    for part in (size < 0.25, size > 0.45):
        assert np.mean(truth[part] < low[part]) == pytest.approx(0.05, abs=0.035)
        assert np.mean(truth[part] < high[part]) == pytest.approx(0.95, abs=0.035)
    np.testing.assert_array_equal(model.predict_quantiles(new, 0.95), high)
    again = MODELS[name].fit(X, 10.0 * y)  # a second fit forgets the first
    np.testing.assert_allclose(again.predict_quantiles(new, 0.95), 10.0 * high, rtol=1e-3, atol=1e-2)


def test_rows_of_weight_zero_constant_targets_and_matrices():
    X, y, _ = growing(80)
    w = np.ones(80)
    w[:5] = 0.0
    wild = np.where(w > 0, y, 1e6)
    plain = KernelRidge(0.5, kernel=Gaussian(1.0), fit_intercept=True)
    spoilt = plain.fit(X, wild, w).predict_quantiles(X[5:], (0.1, 0.9))
    assert np.abs(spoilt).max() < 1e3
    assert np.isfinite(plain.fit(X, np.ones(80)).predict_quantiles(X)).all()
    K = Gaussian(1.0)(X)
    given = KernelRidge(0.5, kernel="precomputed", fit_intercept=True).fit(K, y).predict_quantiles(K)
    np.testing.assert_allclose(given, plain.fit(X, y).predict_quantiles(X), rtol=1e-6, atol=1e-6)


def test_what_is_refused():
    X, y, _ = growing(30)
    model = KernelRidge(0.5, kernel=Gaussian(1.0)).fit(X, np.column_stack([y, y]))
    with pytest.raises(InputError, match="supports one target"):
        model.predict_quantiles(X)
    with pytest.raises(InputError) as refused:
        KernelRidge().fit(X, y).predict_quantiles(X, (0.9, 0.1))
    assert tells(str(refused.value), "q of KernelRidge.predict_quantiles", "ascending")
