"""Regression and classification without settings: any table gives a sensible model, or a sentence."""

import math
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from formulas import refusal
from mercer import AutoClassifier, AutoRegressor, KernelRidge
from mercer.estimators.auto_evaluation import corrected_error
from mercer.estimators.auto_table import dealt
from views import read_only

BOTH = pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])
QUICK = {"committee": False}
NO_BETTER = "That is no better than the baseline (predicting the mean): no signal was found."
NO_BETTER_LABEL = "That is no better than the baseline (predicting the most common label)."


def smooth(rng, n=60, noise=0.1, columns=3):
    X = rng.normal(size=(n, columns))
    return X, np.sin(2.0 * X[:, 0]) + X[:, -1] + noise * rng.normal(size=n)


def rings(rng, n=80, labels=("in", "out")):
    X = rng.normal(size=(n, 2))
    return X, np.array(labels)[((X**2).sum(axis=1) > 1.4).astype(int)]


def targets_for(kind, y):
    return y if kind is AutoRegressor else np.where(y > np.median(y), "high", "low")


def rmse(model, X, y):
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


# -- scikit-learn's contract ---------------------------------------------------------------------------------------

NEEDS_ARRAY_API = [] if os.environ.get("SCIPY_ARRAY_API") == "1" else ["check_array_api_input"]


@pytest.mark.parametrize(
    "estimator",
    [AutoRegressor(committee=False), AutoClassifier(committee=False)],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_scikit_learns_exam_is_passed_without_settings(estimator):
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {found["check_name"]: found["exception"] for found in results if found["status"] == "failed"}
    assert failed == {}
    assert [found["check_name"] for found in results if found["status"] == "skipped"] == NEEDS_ARRAY_API
    assert {found["status"] for found in results} <= {"passed", "skipped"}
    assert len(results) >= 50


@BOTH
def test_clones_parameters_pickles_and_pipelines_work(kind, rng):
    X, y = smooth(rng, 40)
    y = targets_for(kind, y)
    model = kind(committee=False, random_state=3)
    settings = {"committee": False, "encoder": None, "random_state": 3, "time_budget": None, "verbose": 0}
    if kind is AutoClassifier:
        settings["class_weight"] = None
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
    X, y = smooth(rng, 30)
    X[::7, 1] = np.nan
    before = X.copy()
    kind(**QUICK).fit(read_only(X), read_only(targets_for(kind, y))).predict(read_only(X))
    np.testing.assert_array_equal(X, before)


@BOTH
def test_seeds_reproduce_everything_exactly(kind, rng):
    X, y = smooth(rng, 40)
    y = targets_for(kind, y)
    one, two = (kind(random_state=5).fit(X, y) for _ in range(2))
    assert one.summary() == two.summary()
    assert one.error_ == two.error_
    ask = "predict" if kind is AutoRegressor else "predict_proba"
    assert (getattr(one, ask)(X) == getattr(two, ask)(X)).all()


# -- regression ----------------------------------------------------------------------------------------------------


def test_a_smooth_function_is_learned_with_a_true_error_bar(rng):
    X, y = smooth(rng, 400, noise=0.2)
    model = AutoRegressor().fit(X[:150], y[:150])
    test = rmse(model, X[150:], y[150:])
    assert test < 0.4
    assert 0.75 < model.error_ / test < 1.5
    assert model.baseline_ == pytest.approx(y[:150].std())
    assert 0.75 < float(model.coverage(X[150:], y[150:])) <= 1.0
    assert model.score(X[150:], y[150:]) > 0.9


def test_the_committees_prediction_is_the_weighted_vote_of_its_members(rng):
    X, y = smooth(rng)
    model = AutoRegressor().fit(X, y)
    Z = model.encoder_.transform(X)
    votes = sum(m.weight * each.predict(Z).ravel() for m, each in zip(model.members_, model.models_, strict=True))
    np.testing.assert_allclose(model.predict(X), y.mean() + y.std() * votes, rtol=1e-9, atol=1e-9)
    assert sum(member.weight for member in model.members_) == pytest.approx(1.0)
    for member, each in zip(model.members_, model.models_, strict=True):
        by_hand = KernelRidge(member.alpha, kernel=member.kernel, fit_intercept=True).fit(Z, (y - y.mean()) / y.std())
        np.testing.assert_allclose(each.predict(Z).ravel(), by_hand.predict(Z), atol=1e-9)


def test_one_model_is_one_model(rng):
    X, y = smooth(rng)
    model = AutoRegressor(committee=False).fit(X, y)
    assert len(model.members_) == len(model.models_) == len(model.committee_.tried) == 1
    assert model.members_[0].weight == 1.0


@pytest.mark.parametrize("n", [3, 4, 5, 6])
@BOTH
def test_a_handful_of_rows_gives_a_model(kind, n, rng):
    X, y = smooth(rng, n)
    y = targets_for(kind, y)
    model = kind().fit(X, y)
    assert model.predict(X).shape == (n,)
    assert math.isfinite(model.error_)
    assert "3 folds, each tuned anew" in model.summary()
    if kind is AutoRegressor:
        lower, upper = model.predict_interval(X)
        assert np.isfinite(model.predict(10.0 * X)).all()
        assert (lower <= upper).all()


@BOTH
@pytest.mark.parametrize("n", [1, 2])
def test_two_rows_are_too_few(kind, n, rng):
    X, y = smooth(rng, n)
    words = refusal(kind().fit, X, targets_for(kind, y))
    assert words == f"{kind.__name__} must be given at least 3 rows; got n_samples = {n}."


@BOTH
def test_constant_columns_are_left_out_and_said_so(kind, rng):
    X, y = smooth(rng, 40)
    wide = np.column_stack([X, np.full(40, 7.0), np.zeros(40)])
    with_them, without = kind(**QUICK).fit(wide, targets_for(kind, y)), kind(**QUICK).fit(X, targets_for(kind, y))
    assert (with_them.predict(wide) == without.predict(X)).all()
    assert "Left out: x4" in with_them.summary()
    assert sorted(with_them.relevance()) == ["x1", "x2", "x3"]


@BOTH
def test_a_table_of_constants_predicts_the_baseline_and_says_so(kind, rng):
    y = smooth(rng, 20)[1]
    model = kind().fit(np.ones((20, 2)), targets_for(kind, y))
    values = model.predict(np.full((3, 2), 9.0))
    if kind is AutoRegressor:
        np.testing.assert_allclose(values, y.mean())
        assert NO_BETTER in model.summary()
        assert "No column varies." in model.summary()
        assert np.isfinite(model.predict(np.ones((2, 2)), return_std=True)[1]).all()
    else:
        np.testing.assert_allclose(model.predict_proba(np.ones((2, 2))), 0.5, atol=0.2)
        assert NO_BETTER_LABEL in model.summary()
    assert model.relevance() == {}


@BOTH
def test_duplicated_rows_are_no_trouble(kind, rng):
    X, y = smooth(rng, 15)
    X, y = np.repeat(X, 4, axis=0), np.repeat(y, 4)
    if kind is AutoRegressor:
        assert rmse(AutoRegressor().fit(X, y + 0.01 * rng.normal(size=60)), X, y) < 0.1
    else:
        assert AutoClassifier().fit(X, y > 0).score(X, y > 0) > 0.9


@BOTH
def test_five_hundred_columns_give_a_model(kind, rng):
    X = rng.normal(size=(40, 500))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    model = kind(time_budget=1.5).fit(X, targets_for(kind, y))
    assert len(model.predict(X)) == 40
    assert model.error_ < 1.3 * model.baseline_
    assert len(model.relevance()) == 500
    if kind is AutoRegressor:
        assert np.isfinite(model.predict(X)).all()
        assert ", ...." in model.summary()


@pytest.mark.parametrize("x_scale", [1e-12, 1e12])
@pytest.mark.parametrize("y_scale", [1e-12, 1.0, 1e12])
def test_scales_of_rows_and_targets_change_nothing(x_scale, y_scale, rng):
    X, y = smooth(rng, 40)
    plain = AutoRegressor(**QUICK).fit(X, y)
    scaled = AutoRegressor(**QUICK).fit(X * x_scale, y * y_scale)
    np.testing.assert_allclose(scaled.predict(X * x_scale) / y_scale, plain.predict(X), rtol=1e-3, atol=1e-3)
    assert scaled.error_ / y_scale == pytest.approx(plain.error_, rel=1e-2)
    lower, upper = scaled.predict_interval(X * x_scale)
    assert np.mean((lower <= y * y_scale) & (y * y_scale <= upper)) > 0.8


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales_of_rows_change_no_label(scale, rng):
    X, y = rings(rng, 60)
    plain, scaled = AutoClassifier(**QUICK).fit(X, y), AutoClassifier(**QUICK).fit(X * scale, y)
    assert np.mean(plain.predict(X) == scaled.predict(X * scale)) > 0.97


def test_columns_of_very_different_scales_count_alike(rng):
    X, y = smooth(rng, 60)
    model = AutoRegressor(**QUICK).fit(X * [1e-12, 1.0, 1e12], y)
    assert model.error_ < 0.8 * model.baseline_


@pytest.mark.parametrize("number", [0.0, 7.0, 0.1, -1e12, 1e-12, 3])
def test_targets_of_one_value_are_predicted_exactly(number, rng):
    X, _ = smooth(rng, 30)
    model = AutoRegressor().fit(X, np.full(30, number))
    np.testing.assert_allclose(model.predict(X), number, rtol=1e-12)
    np.testing.assert_allclose(model.predict_interval(X), number, rtol=1e-12)
    assert "failed" not in model.summary()
    assert model.error_ <= 1e-12 * abs(number)


def test_targets_come_as_integers_columns_and_series_of_any_index(rng):
    X, y = smooth(rng, 40)
    whole = np.round(5 * y).astype(int)
    expected = AutoRegressor(**QUICK).fit(X, whole.astype(float)).predict(X)
    series = pd.Series(whole, index=rng.permutation(40) + 100)
    for given in (whole, whole.tolist(), series, series.astype("Int64")):
        assert (AutoRegressor(**QUICK).fit(X, given).predict(X) == expected).all()
    frame = pd.DataFrame({"y": whole}, index=series.index)
    assert (AutoRegressor(**QUICK).fit(pd.DataFrame(X), frame["y"]).predict(X) == expected).all()


def test_rows_go_by_place_and_not_by_index(rng):
    X, y = smooth(rng, 40)
    shuffled = pd.DataFrame(X, columns=["a", "b", "c"], index=rng.permutation(40))
    plain = pd.DataFrame(X, columns=["a", "b", "c"])
    one, two = (AutoRegressor(**QUICK).fit(table, y) for table in (shuffled, plain))
    assert (one.predict(shuffled) == two.predict(plain)).all()


def test_noise_is_no_better_than_the_mean_and_said_to_be(rng):
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    model = AutoRegressor().fit(X, y)
    assert model.error_ > 0.9 * model.baseline_
    assert NO_BETTER in model.summary()
    new = rng.normal(size=(300, 5))
    assert rmse(model, new, rng.normal(size=300)) < 1.25
    assert "That is no better than the baseline." in str(AutoRegressor(**QUICK).evaluate(X, y, folds=3))


def test_intervals_hold_what_they_should_and_grow_with_confidence(rng):
    X, y = smooth(rng, 600, noise=0.4)
    model = AutoRegressor(**QUICK).fit(X[:200], y[:200])
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
    X, y = smooth(rng, 20)
    model = AutoRegressor(**QUICK).fit(X, y)
    assert refusal(model.predict_interval, X, 90).startswith("confidence must be a number between 0 and 1")


def test_standard_deviations_are_larger_far_from_the_rows(rng):
    X, y = smooth(rng)
    model = AutoRegressor().fit(X, y)
    values, near = model.predict(X, return_std=True)
    far = model.predict(X + 20.0, return_std=True)[1]
    assert (values == model.predict(X)).all()
    assert (near >= 0).all()
    assert far.min() > near.max()


def test_relevance_finds_the_columns_that_matter(rng):
    X = rng.normal(size=(120, 4))
    y = np.sin(2.0 * X[:, 2]) + 0.05 * rng.normal(size=120)
    found = AutoRegressor().fit(pd.DataFrame(X, columns=["a", "b", "signal", "d"]), y).relevance()
    assert next(iter(found)) == "signal"
    assert found["signal"] == 1.0
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_the_summary_says_what_was_tried_and_how_good_it_is(rng):
    X, y = smooth(rng)
    model = AutoRegressor().fit(X, y)
    words = model.summary()
    for name in ("Laplacian", "Laplacian, width per column", "exponential", "Matern 5/2, width per column"):
        assert name in words
    assert words.startswith("60 rows, 3 columns; widths tuned on 60 rows.")
    assert f"Out-of-fold error {model.error_:.4g}" in words
    assert f"without X it is {model.baseline_:.4g}" in words
    assert "no better" not in words


def test_a_function_without_noise_raises_no_warning_about_an_alpha_that_nobody_chose(rng):
    for _ in range(3):
        X, y = smooth(rng, 40, noise=0.0)
        model = AutoRegressor(time_budget=5.0).fit(X, y)
        said = "is nearly singular: about" in model.summary()
        assert said == any(each.route_.digits < 6 for each in model.models_)
        assert model.error_ < 0.5 * model.baseline_


def test_where_widths_were_tuned_on_a_part_the_summary_does_not_say_each_fold_was_tuned(rng, monkeypatch):
    monkeypatch.setattr("mercer.tuning.committee._TUNED_ON", 40)
    X, y = smooth(rng, 90)
    words = AutoRegressor(**QUICK).fit(X, y).summary()
    assert "widths tuned on 40 rows." in words
    assert "3 folds, widths tuned once, on 40 of all rows" in words
    assert "anew" not in words


@pytest.mark.parametrize(("n", "said"), [(50, False), (80, True)])
@BOTH
def test_a_committee_weighed_on_a_part_is_fitted_to_all_rows_and_says_so(kind, n, said, rng, monkeypatch):
    monkeypatch.setattr("mercer.estimators.auto_core._WEIGHED", 50)
    monkeypatch.setattr("mercer.tuning.committee._TUNED_ON", 30)
    X, y = smooth(rng, n)
    model = kind(**QUICK).fit(X, targets_for(kind, y))
    assert ("Tuned and weighed on 50 rows drawn at random" in model.summary()) is said
    assert {len(each.X_fit_) for each in model.models_} == {n}
    assert [each.alpha for each in model.models_] == [member.alpha for member in model.members_]
    assert model.score(X, targets_for(kind, y)) > 0.7


def test_where_systems_are_iterated_alpha_is_not_too_small_for_that_and_it_is_told(rng, monkeypatch):
    monkeypatch.setattr("mercer.estimators.auto_core._WEIGHED", 60)
    monkeypatch.setattr("mercer.tuning.committee._TUNED_ON", 40)
    X, y = smooth(rng, 120, noise=0.0)
    exact = AutoRegressor(**QUICK).fit(X, y)
    monkeypatch.setattr("mercer.solvers.plan.WORTH_ITERATING", 100)
    model = AutoRegressor(**QUICK).fit(X, y)
    assert exact.members_[0].alpha < 1e-3
    assert model.members_[0].alpha == 1e-3
    assert "alpha of Laplacian is held at 0.001: iterating with less takes too long." in model.summary()
    assert model.models_[0].route_.name == "cg"
    np.testing.assert_allclose(model.predict(X), y, atol=0.3)


def test_a_tiny_time_budget_still_gives_a_model(rng):
    X, y = smooth(rng, 100)
    model = AutoRegressor(time_budget=0.001).fit(X, y)
    assert model.error_ < model.baseline_
    labels = AutoClassifier(time_budget=0.001).fit(X, y > 0)
    assert labels.score(X, y > 0) > 0.8


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, -1.0, math.nan, "long", True])
@BOTH
def test_a_time_budget_that_is_none_is_refused(kind, budget, rng):
    X, y = smooth(rng, 10)
    words = refusal(kind(time_budget=budget).fit, X, targets_for(kind, y))
    name = kind.__name__
    assert words == f"time_budget of {name} must be a positive number of seconds, or None; got {budget!r}."


def test_targets_that_are_missing_or_no_numbers_are_refused(rng):
    X, y = smooth(rng, 10)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        AutoRegressor().fit(X, np.where(np.arange(10) == 3, np.nan, y))
    with pytest.raises(ValueError, match="could not convert string to float"):
        AutoRegressor().fit(X, ["a"] * 10)
    words = refusal(AutoClassifier().fit, X, np.array(["a", None, "b"] * 3 + ["a"], dtype=object))
    assert words == "y must be known for every row; got None in row 1."
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AutoRegressor().fit(X, y[:5])


@BOTH
def test_sparse_and_odd_tables_are_refused(kind, rng):
    X, y = smooth(rng, 10)
    y = targets_for(kind, y)
    name = kind.__name__
    words = refusal(kind().fit, sparse.csr_matrix(X), y)
    assert words == f"X of {name} must be a dense table; got a sparse matrix. Use X.toarray()."
    assert refusal(kind().fit, X[:, 0], y).startswith(f"X of {name} must be a table with rows and columns; got 1 dim")
    assert "0 feature(s)" in refusal(kind().fit, X[:, :0], y)


@BOTH
def test_other_columns_than_those_of_training_are_refused(kind, rng):
    X, y = smooth(rng, 30)
    y = targets_for(kind, y)
    model = kind(**QUICK).fit(X, y)
    words = refusal(model.predict, X[:, :2])
    assert words == f"X has 2 features, but {kind.__name__} is expecting 3 features as input."
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    named = kind(**QUICK).fit(table, y)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(table.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="feature names"):
        named.predict(table.drop(columns="a"))
    columns = dict(zip("abc", X.T, strict=True))
    by_dict = kind(**QUICK).fit(columns, y)
    assert "without 'a' and with 'z'" in refusal(by_dict.predict, {"z": X[:, 0], "b": X[:, 1], "c": X[:, 2]})


@pytest.mark.parametrize("folds", [0, 1, -3, 2.5, "five", True])
@BOTH
def test_folds_that_are_none_are_refused(kind, folds, rng):
    X, y = smooth(rng, 20)
    words = refusal(kind().evaluate, X, targets_for(kind, y), folds)
    assert words == f"folds of evaluate must be a whole number of at least 2; got {folds!r}."


# -- tables of every make ------------------------------------------------------------------------------------------


def mixed(rng, n=120):
    """Numbers, categories, truth values, dates and cells that are missing."""
    city = rng.choice(["Rome", "Bonn", "Oslo"], n)
    date = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D")
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "city": pd.Categorical(city),
            "new": rng.uniform(size=n) < 0.5,
            "sold": date,
            "code": rng.choice(["u", "v"], n),
        }
    )
    effect = pd.Series(city).map({"Rome": 2.0, "Bonn": 0.0, "Oslo": -1.0}).to_numpy()
    y = table["size"].to_numpy() + effect + 0.8 * table["new"].to_numpy() + 0.1 * rng.normal(size=n)
    table.loc[rng.uniform(size=n) < 0.1, "size"] = np.nan
    table.loc[rng.uniform(size=n) < 0.1, "city"] = None
    return table, y


@BOTH
def test_a_mixed_table_is_taken_in(kind, rng):
    table, y = mixed(rng)
    model = kind(time_budget=5.0).fit(table, targets_for(kind, y))
    assert model.error_ < 0.75 * model.baseline_
    assert {column.name: column.kind for column in model.encoder_.columns_} == {
        "size": "number",
        "city": "category",
        "new": "category",
        "sold": "date",
        "code": "category",
    }
    assert set(model.relevance()) == set(table.columns)
    assert model.feature_names_in_.tolist() == list(table.columns)


@BOTH
def test_levels_never_seen_and_missing_cells_get_predictions(kind, rng):
    table, y = mixed(rng)
    model = kind(**QUICK).fit(table, targets_for(kind, y))
    new = table.head(6).astype({"city": object}).reset_index(drop=True)
    new["code"], new.loc[0, "city"], new.loc[1, "size"], new.loc[2, "sold"] = "never", "Lima", np.nan, pd.NaT
    found = model.predict(new)
    assert len(found) == 6
    if kind is AutoRegressor:
        assert np.isfinite(found).all()
        assert np.abs(found - y.mean()).max() < 5 * y.std()


def test_categories_share_a_width(rng):
    table, y = mixed(rng, 60)
    model = AutoRegressor(time_budget=5.0).fit(table, y)
    groups = model.encoder_.groups_
    for member in model.committee_.tried:
        if np.ndim(member.kernel.width):
            for group in np.unique(groups):
                assert len(set(member.kernel.width[groups == group])) == 1


@BOTH
def test_a_third_of_the_cells_may_be_missing(kind, rng):
    X, y = smooth(rng, 200, noise=0.05)
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    y = targets_for(kind, y)
    model = kind(time_budget=5.0).fit(X[:150], y[:150])
    assert model.error_ < 0.95 * model.baseline_
    assert model.score(X[150:], y[150:]) > (0.0 if kind is AutoRegressor else 0.55)
    unknown = model.predict(np.full((2, 3), np.nan))
    assert np.isfinite(unknown).all() if kind is AutoRegressor else set(unknown) <= {"high", "low"}


def test_a_dictionary_of_columns_and_a_list_of_rows_are_tables(rng):
    X, y = smooth(rng, 40)
    expected = AutoRegressor(**QUICK).fit(X, y).predict(X)
    columns = {"a": X[:, 0], "b": X[:, 1].tolist(), "c": X[:, 2]}
    model = AutoRegressor(**QUICK).fit(columns, y)
    np.testing.assert_allclose(model.predict(columns), expected)
    np.testing.assert_allclose(model.predict({name: columns[name] for name in "cab"}), expected)
    listed = AutoRegressor(**QUICK).fit(X.tolist(), y.tolist())
    np.testing.assert_allclose(listed.predict(X.tolist()), expected)
    assert np.isfinite(AutoRegressor(**QUICK).evaluate(columns, y, folds=2).predictions).all()
    rows = [[number, "odd" if place % 2 else "even"] for place, number in enumerate(X[:, 0])]
    texts = AutoRegressor(**QUICK).fit(rows, y + 5.0 * (np.arange(40) % 2))
    assert texts.error_ < 0.8 * texts.baseline_


# -- classification ------------------------------------------------------------------------------------------------


def test_classes_are_learned_with_a_true_error_and_probabilities_that_mean_something(rng):
    X, y = rings(rng, 450)
    model = AutoClassifier().fit(X[:150], y[:150])
    wrong = 1.0 - model.score(X[150:], y[150:])
    assert wrong < 0.12
    assert abs(model.error_ - wrong) < 0.07
    assert model.baseline_ == pytest.approx(min(np.mean(y[:150] == "in"), np.mean(y[:150] == "out")))
    chances = model.predict_proba(X[150:])
    true = chances[np.arange(300), (y[150:] == "out").astype(int)]
    assert -np.log(true).mean() < 0.35
    assert chances.max(axis=1).mean() == pytest.approx(1.0 - wrong, abs=0.08)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_probabilities_sum_to_one_and_agree_with_the_labels(classes, rng):
    X = rng.normal(size=(120, 2))
    y = np.array(list("abcde"))[(np.abs(X[:, 0]) * 1.5).astype(int) % classes]
    model = AutoClassifier(**QUICK).fit(X, y)
    new = 3.0 * rng.normal(size=(200, 2))
    chances, values = model.predict_proba(new), model.decision_function(new)
    assert chances.shape == (200, len(model.classes_))
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(new)).all()
    assert values.shape == ((200,) if len(model.classes_) == 2 else (200, len(model.classes_)))
    assert model.error_ < model.baseline_


@pytest.mark.parametrize(
    "labels", [("in", "out"), (False, True), (3, -7), (1.0, 2.0)], ids=["str", "bool", "int", "float"]
)
def test_labels_of_every_make_come_back_as_they_were(labels, rng):
    X, y = rings(rng, 60, labels)
    model = AutoClassifier(**QUICK).fit(X, y)
    assert model.predict(X).dtype == y.dtype
    assert set(model.predict(X)) == set(labels)
    assert model.score(X, y) > 0.85
    series = AutoClassifier(**QUICK).fit(X, pd.Series(y, index=np.arange(60)[::-1]))
    assert (series.predict(X) == model.predict(X)).all()


def test_labels_may_be_a_categorical_or_object_column(rng):
    X, y = rings(rng, 60)
    expected = AutoClassifier(**QUICK).fit(X, y).predict(X)
    for given in (pd.Series(y, dtype="category"), pd.Series(y, dtype=object), y.tolist()):
        assert (AutoClassifier(**QUICK).fit(X, given).predict(X) == expected).all()


def test_one_class_is_refused_in_a_sentence(rng):
    X, _ = smooth(rng, 10)
    words = "y of AutoClassifier must be labels of at least two classes; got 1 class, 'same'."
    assert refusal(AutoClassifier().fit, X, ["same"] * 10) == words
    assert refusal(AutoClassifier().evaluate, X, ["same"] * 10) == words


def test_rare_classes_are_not_forgotten(rng):
    X = rng.normal(size=(300, 2))
    X[:15] += 3.0
    y = np.where(np.arange(300) < 15, "rare", "common")
    model = AutoClassifier(**QUICK).fit(X, y)
    assert model.error_ < model.baseline_ == pytest.approx(0.05)
    new = np.vstack([rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) + 3.0])
    found = model.predict(new)
    assert np.mean(found[:500] == "common") > 0.95
    assert np.mean(found[500:] == "rare") > 0.8
    assert model.predict_proba(rng.normal(size=(500, 2)))[:, 1].mean() < 0.15


def test_labels_of_chance_are_no_better_than_the_most_common_one_and_said_to_be(rng):
    X = rng.normal(size=(100, 4))
    y = rng.uniform(size=100) < 0.4
    model = AutoClassifier().fit(X, y)
    assert NO_BETTER_LABEL in model.summary()
    assert np.abs(model.predict_proba(rng.normal(size=(50, 4)))[:, 1] - 0.5).max() < 0.35


@pytest.mark.parametrize("labels", [[0, 1, 1], [0, 1, 2], [1, 1, 0]], ids=str)
def test_three_rows_of_two_or_three_classes_give_a_model(labels, rng):
    X = rng.normal(size=(3, 2))
    model = AutoClassifier().fit(X, labels)
    assert set(model.predict(X)) <= set(labels)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_class_of_one_row_is_no_trouble(rng):
    X = rng.normal(size=(30, 2))
    model = AutoClassifier(**QUICK).fit(X, ["lone"] + ["a", "b"] * 14 + ["a"])
    assert model.predict_proba(X).shape == (30, 3)


# -- the outer loop ------------------------------------------------------------------------------------------------


def test_evaluation_repeats_everything_and_agrees_with_new_rows(rng):
    X, y = smooth(rng, 520, noise=0.3)
    model = AutoRegressor(committee=False)
    found = model.evaluate(X[:120], y[:120], folds=5)
    test = rmse(clone(model).fit(X[:120], y[:120]), X[120:], y[120:])
    assert 0.75 < found.error / test < 1.35
    assert found.errors.shape == (5,)
    assert found.error == pytest.approx(np.sqrt(np.mean((found.predictions - y[:120]) ** 2)), rel=1e-9)
    assert found.standard_error == pytest.approx(found.errors.std(ddof=1) * math.sqrt(1 / 5 + 1 / 4))
    assert found.baseline == pytest.approx(y[:120].std(), rel=0.05)
    assert 0.78 < found.coverage <= 1.0
    assert str(found).startswith(f"Out-of-sample error: {found.error:.4g} +- ")
    assert "no better" not in str(found)
    assert not hasattr(model, "models_")


def test_evaluation_is_a_refit_for_every_fold(rng):
    X, y = smooth(rng, 40)
    model = AutoRegressor(**QUICK, random_state=2)
    found = model.evaluate(X, y, folds=3)
    numbers = dealt(40, None, np.random.default_rng(3), 3)
    for fold in range(3):
        fitted = clone(model).fit(X[numbers != fold], y[numbers != fold])
        assert (found.predictions[numbers == fold] == fitted.predict(X[numbers == fold])).all()


def test_nothing_of_a_held_out_row_reaches_its_evaluation(rng):
    X, y = smooth(rng, 40)
    model = AutoRegressor(**QUICK)
    before = model.evaluate(X, y, folds=3).predictions
    fold = dealt(40, None, np.random.default_rng(1), 3) == 2
    wild = y.copy()
    wild[fold] = 1e9
    after = model.evaluate(X, wild, folds=3).predictions
    assert (before[fold] == after[fold]).all()
    assert (before[~fold] != after[~fold]).all()


def test_labels_are_evaluated_fold_by_fold(rng):
    X, y = rings(rng, 90, ("in", "out"))
    found = AutoClassifier(**QUICK).evaluate(X, y, folds=3)
    assert found.error == pytest.approx(np.mean(found.predictions != y), abs=1e-9)
    assert found.coverage is None
    assert found.error < found.baseline
    assert set(found.predictions) == {"in", "out"}
    assert found.baseline == pytest.approx(min(np.mean(y == "in"), np.mean(y == "out")), abs=0.02)


@BOTH
def test_evaluation_works_on_tables_of_every_make(kind, rng):
    table, y = mixed(rng, 60)
    found = kind(**QUICK).evaluate(table, targets_for(kind, y), folds=2)
    assert found.errors.shape == (2,)
    assert found.error < found.baseline


def test_evaluation_without_a_seed_works_too(rng):
    X, y = smooth(rng, 30)
    assert math.isfinite(AutoRegressor(committee=False, random_state=None).evaluate(X, y, folds=2).error)


def test_a_time_budget_leaves_folds_out_and_says_how_many_there_were(rng):
    X, y = smooth(rng, 60)
    found = AutoRegressor(time_budget=1e-6).evaluate(X, y, folds=5)
    assert found.errors.shape == (1,)
    assert np.isnan(found.predictions).sum() == 48
    assert "(1 folds)" in str(found)


@pytest.mark.parametrize("n", [3, 5, 6, 20])
def test_folds_are_dealt_evenly_and_every_class_with_them(n, rng):
    numbers = dealt(n, None, rng, 3)
    assert np.ptp(np.bincount(numbers)) <= 1
    assert len(np.bincount(numbers)) == 3
    strata = rng.integers(0, 2, n)
    numbers = dealt(n, strata, rng, 3)
    for label in (0, 1):
        assert np.ptp(np.bincount(numbers[strata == label], minlength=3)) <= 1


def test_the_standard_error_allows_for_training_sets_that_overlap():
    errors = np.array([1.0, 2.0, 4.0, 3.0])
    assert corrected_error(errors, 0.25) == pytest.approx(errors.std(ddof=1) * math.sqrt(1 / 4 + 1 / 3))
    assert math.isnan(corrected_error(errors[:1], 0.25))
