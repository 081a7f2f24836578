"""AutoRegressor on the logarithm of positive targets."""

import numpy as np
import pytest

import mercer
from mercer import AutoRegressor
from mercer.errors import InputError
from remembered import fitted


def prices(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.exp(1.2 * X[:, 0] + 0.3 * rng.normal(size=n))


@pytest.fixture(scope="module")
def pair():
    X, y = prices()
    return X, y, AutoRegressor(loss="log").fit(X, y), AutoRegressor().fit(X, np.log(y))


@pytest.mark.filterwarnings("ignore::mercer.errors.UnfamiliarRowsWarning")
def test_predictions_are_exponentials_of_the_model_of_logarithms(pair):
    _, _, logged, plain = pair
    new = np.random.default_rng(5).normal(size=(40, 2))
    assert np.allclose(logged.predict(new), logged.log_factor_ * np.exp(plain.predict(new)), rtol=1e-10)
    assert (logged.predict(10 * new) > 0).all()


def test_the_factor_makes_held_out_predictions_add_up_to_the_targets(pair):
    _, y, logged, _ = pair
    assert logged.in_units(logged.committee_.held_out).sum() == pytest.approx(y.sum(), rel=1e-10)


def test_intervals_are_exponentials_and_hold_as_often(pair):
    X, _, logged, plain = pair
    for method in ("residuals", "jackknife+", "cv+", "gaussian"):
        for mine, theirs in zip(
            logged.predict_interval(X, method=method), plain.predict_interval(X, method=method), strict=True
        ):
            assert np.allclose(mine, np.exp(theirs), rtol=1e-8)
    assert np.array_equal(logged.half_widths(None, 0.9), plain.half_widths(None, 0.9))
    assert logged.share_inside(0.9) == plain.share_inside(0.9)


def test_the_error_is_in_units_of_the_target(pair):
    _, y, logged, plain = pair
    assert logged.baseline_ == pytest.approx(y.std())
    held = logged.in_units(logged.committee_.held_out)[:, 0]
    by = np.sqrt(np.mean((held - y) ** 2))
    assert 0.5 * by <= logged.error_ <= by
    assert "logarithm" in logged.summary()
    assert "logarithm" not in plain.summary()


def test_a_unit_of_the_target_changes_nothing_but_the_unit(pair):
    X, y, logged, _ = pair
    thousand = fitted(AutoRegressor(loss="log"), X, 1000.0 * y)
    assert np.allclose(thousand.predict(X), 1000.0 * logged.predict(X), rtol=1e-5)


def test_the_spread_is_that_of_a_variable_whose_logarithm_is_normal(pair):
    X, _, logged, plain = pair
    values, std = logged.predict(X, return_std=True)
    assert np.allclose(std, values * np.sqrt(np.expm1(plain.predict(X, return_std=True)[1] ** 2)), rtol=1e-6)


@pytest.mark.parametrize("worst", [0.0, -1.0])
def test_targets_that_are_not_positive_are_refused(worst):
    X, y = prices()
    y[3] = worst
    with pytest.raises(InputError, match="must be positive with loss='log'"):
        AutoRegressor(loss="log").fit(X, y)


def test_a_model_file_and_a_second_fit_without_logarithms(pair, tmp_path):
    X, y, logged, _ = pair
    mercer.save(logged, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert np.array_equal(again.predict(X), logged.predict(X))
    assert again.loss == "log"
    again.set_params(loss="squared").fit(X, y)
    assert not hasattr(again, "log_factor_")


@pytest.mark.slow
def test_several_targets_and_the_outer_loop():
    X, y = prices(60)
    Y = np.column_stack([y, 1000.0 * y**0.5])
    model = fitted(AutoRegressor(loss="log", committee=False), X, Y)
    assert (model.predict(X).shape, model.log_factor_.shape) == ((60, 2), (2,))
    result = AutoRegressor(loss="log", committee=False).evaluate(X, y, cv=3)
    assert result.error < result.baseline
    assert (result.predictions > 0).all()
