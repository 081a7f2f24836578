"""The noise of targets: from repeated inputs, and from residuals."""

import numpy as np
import pytest
from decomposition_cases import problem, wave, weights_by_hand
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, KernelRidgeCV, noise_estimate
from mercer.kernels import Gaussian
from refusals import refusal, tells
from views import read_only

# -- noise ------------------------------------------------------------------------------------------


def test_noise_from_repeated_inputs_is_the_pooled_variance(rng):
    X = np.repeat(rng.normal(size=(10, 2)), [1, 2, 3, 4, 1, 2, 3, 4, 1, 2], axis=0)
    y = rng.normal(size=len(X))
    values = np.unique(X, axis=0)
    inside = [y[(X == value).all(axis=1)] for value in values]
    found = noise_estimate(read_only(X), read_only(y))
    assert found.degrees == 13
    assert float(found) == pytest.approx(np.sqrt(sum(((part - part.mean()) ** 2).sum() for part in inside) / 13))
    assert "an estimate" in str(found)
    words = noise_estimate(["a", "b", "a", "b"], [0.0, 1.0, 2.0, 3.0])
    assert float(words) == pytest.approx(np.sqrt(4 / 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_noise_from_residuals_divides_by_the_trace_written_out(rng, weighted):
    X, _ = problem(rng, n=40)
    y = wave(X) + 0.3 * rng.normal(size=40)
    weights = None
    if weighted:
        weights = rng.uniform(0.5, 2.0, size=40)
        weights[3:6] = 0.0
    used = np.arange(40) if weights is None else np.flatnonzero(weights)
    S = weights_by_hand(Gaussian(1.0), X, X, 0.1, weights, True)[np.ix_(used, used)]
    degrees = len(used) - np.trace(2 * S - S @ S.T)
    found = noise_estimate(X, y, KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=True), sample_weight=weights)
    assert found.degrees == pytest.approx(degrees)
    assert found.value == pytest.approx(np.sqrt(((y[used] - S @ y[used]) ** 2).sum() / degrees))


def test_noise_from_residuals_finds_the_noise(rng):
    X = rng.uniform(-2, 2, size=(400, 1))
    y = wave(X) + 0.3 * rng.normal(size=400)
    found = noise_estimate(X, y, KernelRidge(0.1, kernel=Gaussian(0.7)))
    assert abs(found.value - 0.3) < 3 * found.standard_error
    searched = noise_estimate(
        X, y, KernelRidgeCV([Gaussian(w) for w in (0.5, 0.7, 1.0, 2.0, 8.0)], [0.01, 0.1, 1.0, 10.0])
    )
    assert searched.how == "the residuals of the best candidate of a search, selected with the same y"
    assert abs(searched.value - 0.3) < 3 * searched.standard_error


def test_noise_that_cannot_be_had_is_refused_in_a_sentence(rng):
    X, _ = problem(rng)
    assert tells(refusal(lambda: noise_estimate(X, wave(X))), "X of noise_estimate", "got none")
    assert tells(refusal(lambda: noise_estimate(X, wave(X), Ridge())), "The estimator of noise_estimate", "got Ridge")
    assert tells(refusal(lambda: noise_estimate(X, np.zeros((25, 2)))), "y of noise_estimate", "got shape (25, 2)")
    assert tells(refusal(lambda: noise_estimate(X, np.zeros(3))), "y of noise_estimate", "got 3")
    assert refusal(lambda: noise_estimate(X, wave(X), KernelRidge(1e-9, kernel=Gaussian(0.01)))).startswith(
        "The residual degrees of freedom, n - tr(2S - SS') with predictions S y, must be positive; got"
    )


@pytest.mark.parametrize("model", [KernelRidge(0.1, kernel=Gaussian(1.0)), KernelRidgeCV(Gaussian(1.0), [0.1, 1.0])])
def test_the_noise_of_a_pipeline_is_that_of_its_model_on_transformed_rows(model, rng):
    X = 100.0 * rng.normal(size=(40, 2))
    y = np.sin(X[:, 0] / 100.0) + 0.1 * rng.normal(size=40)
    found = noise_estimate(X, y, make_pipeline(StandardScaler(), model))
    assert float(found) == float(noise_estimate(StandardScaler().fit_transform(X), y, model))
    assert float(noise_estimate(X, y, make_pipeline(model))) == float(noise_estimate(X, y, model))
    assert tells(refusal(noise_estimate, X, y, make_pipeline(StandardScaler(), Ridge())), "noise_estimate", "Ridge")
