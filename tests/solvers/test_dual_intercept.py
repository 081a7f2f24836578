"""The bordered system: intercept, trace, variance and evidence against brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.solvers import DualSystem
from mercer.solvers.dual import Eigendecomposition, SpectralInverse, border_of, likelihood
from oracles import kernel_ridge, log_evidence, posterior_variance, smoother, with_spectrum


@given(
    st.integers(2, 12), st.booleans(), st.booleans(), st.sampled_from(["cholesky", "spectral"]), st.integers(0, 2**16)
)
def test_everything_equals_brute_force(n, intercept, weighted, solver, seed):
    rng = np.random.default_rng(seed)
    joint = with_spectrum(rng.uniform(0.1, 2.0, size=n + 3), rng)
    K, against, diagonal = joint[:n, :n], joint[n:, :n], joint[n:, n:].diagonal()
    y, w = rng.normal(size=n), rng.uniform(0.2, 3.0, size=n) if weighted else None
    alpha = 0.3
    solved = DualSystem(K.copy(), w, intercept=intercept).at(alpha, solver)
    dual, b = kernel_ridge(K, y, alpha, w, intercept)
    found = solved.solve(y[:, None])
    np.testing.assert_allclose(found.dual, dual, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.intercept, b, rtol=1e-9, atol=1e-10)
    if intercept:
        np.testing.assert_allclose(found.dual.sum(), 0.0, atol=1e-10)
    np.testing.assert_allclose(solved.degrees_of_freedom(), np.trace(smoother(K, alpha, w, intercept)), rtol=1e-9)
    variance = posterior_variance(K, against, diagonal, alpha, w, intercept)
    np.testing.assert_allclose(
        solved.variance(diagonal.copy(), against.T), np.maximum(variance, 0), rtol=1e-8, atol=1e-9
    )
    scale, evidence = likelihood(y[:, None], found.dual, solved.log_determinant(), intercept=intercept)
    expected, expected_scale = log_evidence(K, y, alpha, w, intercept)
    np.testing.assert_allclose(scale, expected_scale, rtol=1e-8)
    np.testing.assert_allclose(evidence, expected, rtol=1e-8, atol=1e-8)


def test_the_intercept_of_a_regular_system_is_inside_its_range(rng):
    spectrum = Eigendecomposition(with_spectrum([1.0, 2.0, 3.0], rng))
    border = border_of(SpectralInverse(spectrum, 0.0, "a test"), np.ones((3, 1)))
    assert not border.outside


def test_the_intercept_of_a_singular_system_is_found_outside_its_range(rng):
    K = np.diag([1.0, 1.0, 0.0, 0.0])
    border = border_of(SpectralInverse(Eigendecomposition(K), 0.0, "a test"), np.ones((4, 1)))
    assert border.outside
    np.testing.assert_allclose(border.left[:, 0], [0, 0, 1, 1], atol=1e-15)
    assert border.scale == pytest.approx(2.0)


def test_the_evidence_of_a_singular_system_is_not_a_number():
    scale, evidence = likelihood(np.ones((2, 1)), np.ones((2, 1)), -math.inf, intercept=False)
    assert scale.tolist() == [1.0]
    assert np.isnan(evidence).all()


def test_targets_of_zero_are_infinitely_likely_at_variance_zero():
    scale, evidence = likelihood(np.zeros((3, 1)), np.zeros((3, 1)), 0.0, intercept=False)
    assert scale.tolist() == [0.0]
    assert evidence.tolist() == [math.inf]
