"""Derivatives of kernels against differences of predictions, where these were once wrong."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import AutoRegressor, KernelRidge, column_effect, influence, marginal_effects
from mercer.errors import InputError
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Periodic, Polynomial
from remembered import fitted

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 2))
Y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=60)
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0, per_dimension=True),
        Gaussian(1.0, per_dimension=True).on([0]) + Linear(),
        Periodic(1.0, period=0.05),
        Periodic([1.0, 2.0], period=3.0),
        (0.1 * Gaussian(2.0) * Linear()).exp(),
        (Gaussian(2.0) + Linear()) ** 3,
        Gaussian(1.0).on([1]) * Matern(2.0, nu=1.5),
        (Gaussian(1.0) + Linear()).normalized(),
    ],
    ids=repr,
)
def test_slopes_and_interactions_are_differences_of_predictions(kernel):
    model = KernelRidge(0.1, kernel=kernel).fit(X, Y)
    at = np.random.default_rng(5).normal(size=(9, 2))
    found = marginal_effects(model, at, interactions=True)
    steps = np.diag([1e-5, 1e-5])
    for j, step in enumerate(steps):
        slope = (model.predict(at + step) - model.predict(at - step)) / 2e-5
        assert np.allclose(found.pointwise[:, j], slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())
    a, b = 10 * steps
    predict = model.predict
    crossed = (predict(at + a + b) - predict(at + a - b) - predict(at - a + b) + predict(at - a - b)) / 4e-8
    assert np.allclose(found.interactions.pointwise[:, 0], crossed, rtol=1e-2, atol=1e-3 * np.abs(crossed).max() + 1e-5)


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Matern(1.0, nu=0.5)])
def test_kernels_with_kinks_have_the_same_slopes_inside_a_sum(kernel):
    x = np.random.default_rng(2).uniform(size=(90, 1))
    y = np.sin(6 * x[:, 0]) + 0.1 * np.random.default_rng(3).normal(size=90)
    alone, twice = (
        marginal_effects(KernelRidge(0.01, kernel=each).fit(x, y)) for each in (kernel, 0.5 * kernel + 0.5 * kernel)
    )
    assert np.allclose(alone.pointwise, twice.pointwise, rtol=1e-8, atol=1e-8)


def test_units_of_columns_do_not_matter():
    small, large = 1e-7, 1e7
    kernel = Gaussian(small).on([0]) * Gaussian(large).on([1])
    found = marginal_effects(KernelRidge(0.1, kernel=kernel).fit(X * [small, large], Y), interactions=True)
    plain = marginal_effects(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, Y), interactions=True)
    assert np.allclose(found.average * [small, large], plain.average, rtol=1e-8)
    assert np.allclose(found.interactions.average, plain.interactions.average, rtol=1e-8)


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_offsets_of_columns_lose_no_digits(offset):
    model = KernelRidge(1e-6, kernel=Gaussian(1.0)).fit(X + np.array([offset, 0.0]), Y)
    quick, whole = marginal_effects(model), marginal_effects(model, pointwise_errors=True)
    assert np.allclose(quick.average, whole.average, rtol=1e-7)


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_homogeneous_errors_of_a_committee_scale_with_the_target(loss):
    y = np.exp(0.3 * Y)
    one, other = (
        marginal_effects(AutoRegressor(loss=loss).fit(X, by * y), errors="homogeneous") for by in (1.0, 1000.0)
    )
    assert np.allclose(other.standard_error, 1000.0 * one.standard_error, rtol=1e-4)
    assert np.allclose(other.average, 1000.0 * one.average, rtol=1e-4)


def test_homogeneous_errors_of_a_committee_are_those_of_its_members_targets():
    model = fitted(AutoRegressor(), X, 7.0 * Y)
    found = marginal_effects(model, errors="homogeneous", columns=[0])
    Z, targets = model.models_[0].X_fit_, model.models_[0].fitted_.targets[:, 0]
    spread = model.encoder_.columns_[0].scale.spread

    def average(y):
        refits = [marginal_effects(clone(each).fit(Z, y), columns=[0]) for each in model.models_]
        return sum(m.weight * each.average[0] for m, each in zip(model.members_, refits, strict=True)) / spread

    start = average(targets)
    shares = np.array([average(targets + step) - start for step in np.eye(60)])
    noise = np.sqrt(np.mean((7.0 * Y - model.predict(X)) ** 2))
    assert found.standard_error[0] == pytest.approx(noise * np.linalg.norm(shares), rel=1e-6)


def test_systems_that_are_not_those_of_the_model_are_refused():
    for model in (
        KernelRidge(1.0, kernel=Polynomial(3)).fit(1e3 * X, Y),
        KernelRidge(1e-15, kernel=Gaussian(3.0)).fit(X, Y),
    ):
        for ask in (marginal_effects, influence)[: 1 + (model.alpha < 1)]:  # the primal leaves rows out exactly
            with pytest.raises(InputError, match=r"too close to singular for .*Scale the columns of X"):
                ask(model)


def test_numbers_of_columns_are_those_of_the_table():
    table = pd.DataFrame({"t": pd.date_range("2020", periods=60), "a": X[:, 0], "b": X[:, 1]})
    model = fitted(AutoRegressor(), table, Y)
    assert marginal_effects(model, columns=[1]).names == [column_effect(model, table, Y, 1).column] == ["a"]
    with pytest.raises(
        InputError, match="Column 't' has no marginal effect: the model does not use it, or it holds dates"
    ):
        marginal_effects(model, columns=["t"])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"columns": []}, "must name at least one column"),
        ({"interactions": 5}, "must be True or pairs of columns; got 5"),
        ({"interactions": [(0, 0)]}, "must be pairs of different columns"),
    ],
)
def test_what_is_refused(how, said):
    model = KernelRidge(1.0, kernel=Gaussian()).fit(X, Y)
    with pytest.raises(InputError, match=said):
        marginal_effects(model, **how)
    assert marginal_effects(model, interactions=np.array([[0, 1]])).interactions.names == ["x1 x x2"]


def test_tiny_and_huge_targets_have_errors():
    plain, tiny, huge = (
        marginal_effects(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, by * Y)) for by in (1.0, 1e-200, 1e100)
    )
    assert np.allclose(tiny.t, plain.t)
    assert np.allclose(huge.t, plain.t)
