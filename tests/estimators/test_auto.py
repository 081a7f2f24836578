"""The automatic regressor: a model from a table without settings, and a true error bar.

Covers: estimators.auto_core.
"""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from auto_cases import BOTH, NO_BETTER, QUICK, rings, rmse, smooth, targets_for
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import AutoClassifier, AutoRegressor, KernelRidge
from refusals import refusal, tells
from remembered import fitted
from views import read_only

pytestmark = pytest.mark.slow


# -- scikit-learn's contract ---------------------------------------------------------------------------------------


@BOTH
def test_clones_parameters_pickles_and_pipelines_work(kind, rng):
    X, y = smooth(40)
    y = targets_for(kind, y)
    model = kind(committee=False, random_state=3)
    settings = {
        "checkpoint": None,
        "committee": False,
        "copies": None,
        "encoder": None,
        "extra": None,
        "random_state": 3,
        "time_budget": None,
        "verbose": 0,
    }
    if kind is AutoClassifier:
        settings["class_weight"] = None
    else:
        settings["loss"] = "auto"
    assert clone(model).get_params() == settings
    piped = make_pipeline(StandardScaler(), model).fit(X, y)
    assert piped.score(X, y) > 0.5
    assert len(cross_val_score(piped, X, y, cv=3)) == 3
    fitted = clone(model).fit(X, y)
    assert (pickle.loads(pickle.dumps(fitted)).predict(X) == fitted.predict(X)).all()
    assert fitted.set_params(committee=True).committee


@BOTH
def test_before_fit_there_is_nothing_to_ask(kind):
    for ask in (lambda m: m.predict([[1.0]]), lambda m: m.summary(), lambda m: m.relevance()):
        with pytest.raises(NotFittedError):
            ask(kind())


@BOTH
def test_the_inputs_stay_as_they_are(kind, rng):
    X, y = smooth(30)
    X[::7, 1] = np.nan
    before = X.copy()
    kind(**QUICK).fit(read_only(X), read_only(targets_for(kind, y))).predict(read_only(X))
    np.testing.assert_array_equal(X, before)


@BOTH
def test_seeds_reproduce_everything_exactly(kind, rng):
    X, y = smooth(40)
    y = targets_for(kind, y)
    one, two = (kind(random_state=5).fit(X, y) for _ in range(2))
    assert one.summary() == two.summary()
    assert one.error_ == two.error_
    ask = "predict" if kind is AutoRegressor else "predict_proba"
    assert (getattr(one, ask)(X) == getattr(two, ask)(X)).all()


# -- regression ----------------------------------------------------------------------------------------------------


def test_a_smooth_function_is_learned_with_a_true_error_bar(rng):
    X, y = smooth(400, noise=0.2)
    model = fitted(AutoRegressor(), X[:150], y[:150])
    test = rmse(model, X[150:], y[150:])
    assert test < 0.4
    assert 0.75 < model.error_ / test < 1.5
    assert model.baseline_ == pytest.approx(y[:150].std())
    assert 0.75 < float(model.coverage(X[150:], y[150:])) <= 1.0
    assert model.score(X[150:], y[150:]) > 0.9


def test_the_committees_prediction_is_the_weighted_vote_of_its_members(rng):
    X, y = smooth()
    model = fitted(AutoRegressor(), X, y)
    Z = model.encoder_.transform(X)
    votes = sum(m.weight * each.predict(Z).ravel() for m, each in zip(model.members_, model.models_, strict=True))
    np.testing.assert_allclose(model.predict(X), y.mean() + y.std() * votes, rtol=1e-9, atol=1e-9)
    assert sum(member.weight for member in model.members_) == pytest.approx(1.0)
    for member, each in zip(model.members_, model.models_, strict=True):
        by_hand = KernelRidge(member.alpha, kernel=member.kernel, fit_intercept=True).fit(Z, (y - y.mean()) / y.std())
        np.testing.assert_allclose(each.predict(Z).ravel(), by_hand.predict(Z), atol=1e-9)


def test_one_model_is_one_model(rng):
    X, y = smooth()
    model = fitted(AutoRegressor(committee=False), X, y)
    assert len(model.members_) == len(model.models_) == len(model.committee_.tried) == 1
    assert model.members_[0].weight == 1.0


@pytest.mark.filterwarnings("ignore::mercer.errors.UnfamiliarRowsWarning")
@pytest.mark.parametrize("n", [3, 4, 5, 6])
@BOTH
def test_a_handful_of_rows_gives_a_model(kind, n, rng):
    X, y = smooth(n)
    y = targets_for(kind, y)
    model = fitted(kind(), X, y)
    assert model.predict(X).shape == (n,)
    assert math.isfinite(model.error_)
    assert f"{min(n, 10)} folds, each tuned anew" in model.summary()
    if kind is AutoRegressor:
        lower, upper = model.predict_interval(X)
        assert np.isfinite(model.predict(10.0 * X)).all()
        assert (lower <= upper).all()


@BOTH
@pytest.mark.parametrize("n", [1, 2])
def test_two_rows_are_too_few(kind, n, rng):
    X, y = smooth(n)
    words = refusal(kind().fit, X, targets_for(kind, y))
    assert tells(words, kind.__name__, "3", n)


@BOTH
def test_constant_columns_are_left_out_and_said_so(kind, rng):
    X, y = smooth(40)
    wide = np.column_stack([X, np.full(40, 7.0), np.zeros(40)])
    with_them, without = fitted(kind(**QUICK), wide, targets_for(kind, y)), kind(**QUICK).fit(X, targets_for(kind, y))
    assert (with_them.predict(wide) == without.predict(X)).all()
    assert "Left out: x4" in with_them.summary()
    assert sorted(with_them.relevance()) == ["x1", "x2", "x3"]


@BOTH
def test_a_table_of_constants_predicts_the_baseline_and_says_so(kind, rng):
    y = smooth(20)[1]
    model = fitted(kind(), np.ones((20, 2)), targets_for(kind, y))
    values = model.predict(np.full((3, 2), 9.0))
    if kind is AutoRegressor:
        np.testing.assert_allclose(values, y.mean())
        assert NO_BETTER in model.summary()
        assert "No column varies." in model.summary()
        assert np.isfinite(model.predict(np.ones((2, 2)), return_std=True)[1]).all()
    else:
        np.testing.assert_allclose(model.predict_proba(np.ones((2, 2))), 0.5, atol=0.2)
        assert NO_BETTER in model.summary()
    assert model.relevance() == {}


@pytest.mark.filterwarnings("ignore::mercer.errors.LeakageWarning")
@BOTH
def test_duplicated_rows_are_no_trouble(kind, rng):
    X, y = smooth(15)
    X, y = np.repeat(X, 4, axis=0), np.repeat(y, 4)
    if kind is AutoRegressor:
        assert rmse(AutoRegressor().fit(X, y + 0.01 * rng.normal(size=60)), X, y) < 0.1
    else:
        assert AutoClassifier().fit(X, y > 0).score(X, y > 0) > 0.9


@BOTH
def test_five_hundred_columns_give_a_model(kind, rng):
    X = rng.normal(size=(40, 500))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    model = fitted(kind(time_budget=1.5), X, targets_for(kind, y))
    assert len(model.predict(X)) == 40
    assert model.error_ < 1.3 * model.baseline_
    assert len(model.relevance()) == 500
    if kind is AutoRegressor:
        assert np.isfinite(model.predict(X)).all()
        assert ", ...." in model.summary()


@pytest.mark.parametrize("x_scale", [1e-12, 1e12])
@pytest.mark.parametrize("y_scale", [1e-12, 1.0, 1e12])
def test_scales_of_rows_and_targets_change_nothing(x_scale, y_scale, rng):
    X, y = smooth(40)
    plain = fitted(AutoRegressor(**QUICK), X, y)
    scaled = fitted(AutoRegressor(**QUICK), X * x_scale, y * y_scale)
    np.testing.assert_allclose(scaled.predict(X * x_scale) / y_scale, plain.predict(X), rtol=1e-3, atol=1e-3)
    assert scaled.error_ / y_scale == pytest.approx(plain.error_, rel=1e-2)
    lower, upper = scaled.predict_interval(X * x_scale)
    assert np.mean((lower <= y * y_scale) & (y * y_scale <= upper)) > 0.8


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales_of_rows_change_no_label(scale, rng):
    X, y = rings(60)
    plain, scaled = fitted(AutoClassifier(**QUICK), X, y), AutoClassifier(**QUICK).fit(X * scale, y)
    assert np.mean(plain.predict(X) == scaled.predict(X * scale)) > 0.97


def test_columns_of_very_different_scales_count_alike(rng):
    X, y = smooth(60)
    model = fitted(AutoRegressor(**QUICK), X * [1e-12, 1.0, 1e12], y)
    assert model.error_ < 0.8 * model.baseline_


@pytest.mark.parametrize("number", [0.0, 7.0, 0.1, -1e12, 1e-12, 3])
def test_targets_of_one_value_are_predicted_exactly(number, rng):
    X, _ = smooth(30)
    model = fitted(AutoRegressor(), X, np.full(30, number))
    np.testing.assert_allclose(model.predict(X), number, rtol=1e-12)
    np.testing.assert_allclose(model.predict_interval(X), number, rtol=1e-12)
    assert "failed" not in model.summary()
    assert model.error_ <= 1e-12 * abs(number)


def test_targets_come_as_integers_columns_and_series_of_any_index(rng):
    X, y = smooth(40)
    whole = np.round(5 * y).astype(int)
    expected = fitted(AutoRegressor(**QUICK), X, whole.astype(float)).predict(X)
    series = pd.Series(whole, index=rng.permutation(40) + 100)
    for given in (whole, whole.tolist(), series, series.astype("Int64")):
        assert (AutoRegressor(**QUICK).fit(X, given).predict(X) == expected).all()
    frame = pd.DataFrame({"y": whole}, index=series.index)
    assert (AutoRegressor(**QUICK).fit(pd.DataFrame(X), frame["y"]).predict(X) == expected).all()


def test_rows_go_by_place_and_not_by_index(rng):
    X, y = smooth(40)
    shuffled = pd.DataFrame(X, columns=["a", "b", "c"], index=rng.permutation(40))
    plain = pd.DataFrame(X, columns=["a", "b", "c"])
    one, two = (AutoRegressor(**QUICK).fit(table, y) for table in (shuffled, plain))
    assert (one.predict(shuffled) == two.predict(plain)).all()


def test_noise_is_no_better_than_the_mean_and_said_to_be(rng):
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    model = fitted(AutoRegressor(), X, y)
    assert model.error_ > 0.9 * model.baseline_
    assert NO_BETTER in model.summary()
    new = rng.normal(size=(300, 5))
    assert rmse(model, new, rng.normal(size=300)) < 1.25
    assert NO_BETTER in str(AutoRegressor(**QUICK).evaluate(X, y, cv=3))


def test_intervals_hold_what_they_should_and_grow_with_confidence(rng):
    X, y = smooth(600, noise=0.4)
    model = fitted(AutoRegressor(**QUICK), X[:200], y[:200])
    shares, widths = [], []
    for confidence in (0.5, 0.8, 0.95):
        found = model.coverage(X[200:], y[200:], confidence)
        shares.append(float(found))
        widths.append(found.width)
        assert abs(float(found) - confidence) < 0.12
    assert widths == sorted(widths)
    assert shares == sorted(shares)
    assert (model.predict_interval(X)[0] < model.predict(X)).all()


def test_a_confidence_that_is_none_is_refused(rng):
    X, y = smooth(20)
    model = fitted(AutoRegressor(**QUICK), X, y)
    assert refusal(model.predict_interval, X, 90).startswith("confidence must be a number above 0 and below 1; got 90.")


@pytest.mark.filterwarnings("ignore::mercer.errors.UnfamiliarRowsWarning")
def test_standard_deviations_are_larger_far_from_the_rows(rng):
    X, y = smooth()
    model = fitted(AutoRegressor(), X, y)
    values, near = model.predict(X, return_std=True)
    far = model.predict(X + 20.0, return_std=True)[1]
    assert (values == model.predict(X)).all()
    assert (near >= 0).all()
    assert far.min() > near.max()


def test_relevance_finds_the_columns_that_matter(rng):
    X = rng.normal(size=(120, 4))
    y = np.sin(2.0 * X[:, 2]) + 0.05 * rng.normal(size=120)
    found = fitted(AutoRegressor(), pd.DataFrame(X, columns=["a", "b", "signal", "d"]), y).relevance()
    assert next(iter(found)) == "signal"
    assert found["signal"] > 0.5  # about the error of the mean, less that of the model
    assert max(abs(found[name]) for name in "abd") < 0.05
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_the_summary_says_what_was_tried_and_how_good_it_is(rng):
    X, y = smooth()
    model = fitted(AutoRegressor(), X, y)
    words = model.summary()
    for name in ("Laplacian", "Laplacian, width per column", "exponential", "Matern 5/2, width per column"):
        assert name in words
    assert words.startswith("60 rows, 3 columns; widths tuned on 60 rows.")
    assert f"Estimated error {model.error_:.4g} +- " in words
    assert f"baseline {model.baseline_:.4g}" in words
    assert "not better" not in words


def test_a_function_without_noise_raises_no_warning_about_an_alpha_that_nobody_chose(rng):
    for _ in range(3):
        X, y = smooth(40, noise=0.0, rng=rng)
        model = fitted(AutoRegressor(time_budget=5.0), X, y)
        said = "is nearly singular: about" in model.summary()
        assert said == any(each.route_.digits < 6 for each in model.models_)
        assert model.error_ < 0.5 * model.baseline_


def test_where_widths_were_tuned_on_a_part_the_summary_says_so(rng, monkeypatch):
    monkeypatch.setattr("mercer.tuning.committee._TUNED_ON", 40)
    X, y = smooth(90)
    words = AutoRegressor(**QUICK).fit(X, y).summary()
    assert "widths tuned on 40 rows." in words
    assert "10 folds, each tuned anew" in words


def test_a_tiny_time_budget_still_gives_a_model(rng):
    X, y = smooth(100)
    model = fitted(AutoRegressor(time_budget=0.001), X, y)
    assert model.error_ < model.baseline_
    labels = fitted(AutoClassifier(time_budget=0.001), X, y > 0)
    assert labels.score(X, y > 0) > 0.8
