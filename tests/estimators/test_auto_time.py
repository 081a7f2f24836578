"""Automatic models of rows in the order of time: every fold is predicted from earlier rows alone."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mercer import AutoClassifier, AutoRegressor, load, save
from mercer.errors import InputError, UnfamiliarRowsWarning
from mercer.tuning import committee as module
from mercer.tuning.committee import trained_on
from refusals import tells
from remembered import fitted

pytestmark = pytest.mark.slow

FILL = "Impute the missing values, or drop these rows."
BOTH = pytest.mark.parametrize("make", [AutoRegressor, AutoClassifier])


def walk(rng, n=120):
    """A random walk with its time as the only column: neighbours in time are alike, the future is not known."""
    time = np.arange(float(n))
    return time[:, None], np.cumsum(rng.normal(size=n)), time


def drawn(rng, make, n=80):
    X = rng.normal(size=(n, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return X, (y if make is AutoRegressor else np.where(y > 0, "up", "down")), rng.permutation(n)


@BOTH
def test_folds_follow_in_time_and_the_earliest_rows_are_never_held_out(make, rng):
    X, y, time = drawn(rng, make)
    model = make(committee=False).fit(X, y, time=time)
    used, folds = model.rows_used_, model.committee_.folds
    assert sorted(set(folds)) == [0, 1, 2]
    assert len(model.committee_.held_out) == len(used) == 60
    assert time[used].min() == 20
    assert all(time[used][folds == f].max() < time[used][folds == f + 1].min() for f in (0, 1))


def test_every_fit_of_a_fold_sees_earlier_rows_alone(rng, monkeypatch):
    X, y, time = drawn(rng, AutoRegressor)
    seen = []
    predictor = module.Predictor

    def watched(kernel, rows, problem, new):
        seen.append((rows, new))
        return predictor(kernel, rows, problem, new)

    monkeypatch.setattr(module, "Predictor", watched)
    AutoRegressor(committee=False).fit(np.column_stack([X, time]), y, time=time)
    assert seen
    assert all(rows.dense()[:, 2].max() < new.dense()[:, 2].min() for rows, new in seen)


def test_predicting_the_future_of_a_walk_is_harder_than_filling_its_gaps(rng):
    X, y, time = walk(rng)
    between, ahead = fitted(AutoRegressor(), X, y), AutoRegressor().fit(X, y, time=time)
    assert ahead.error_ > 1.5 * between.error_
    result = AutoRegressor().evaluate(X, y, cv=3, time=time)
    assert result.error > 1.5 * between.error_
    assert np.isnan(result.predictions[0, :30]).all()
    assert np.isfinite(result.predictions[0, 30:]).all()


@BOTH
def test_rows_later_than_training_are_warned_of_where_a_column_holds_the_time(make, rng, tmp_path):
    X, y, time = drawn(rng, make)
    dates = np.datetime64("2020-01-01") + time
    table = pd.DataFrame({"a": X[:, 0], "day": dates, "b": X[:, 1]})
    model = make(committee=False).fit(table, y, time=dates)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table)
    later = table[:3].assign(day=dates.max() + np.array([1, 0, 30]))
    with pytest.warns(UnfamiliarRowsWarning, match="2 of 3 rows are later than all training rows"):
        model.predict(later)
    save(model, tmp_path / "model.mercer")
    with pytest.warns(UnfamiliarRowsWarning, match="2 of 3 rows are later than all training rows"):
        load(tmp_path / "model.mercer").predict(later)
    with pytest.warns(UnfamiliarRowsWarning, match="out of range"):  # the time is not among the columns
        make(committee=False).fit(X, y, time=time).predict(X + 100.0)


def test_the_outer_folds_are_trained_on_what_came_before(rng):
    X, y, time = drawn(rng, AutoRegressor)
    folds, _ = AutoRegressor()._outer_folds(X, y, None, 4, None, None, time)
    assert sorted(set(folds)) == [-1, 0, 1, 2, 3]
    for fold in range(4):
        assert time[trained_on(folds, fold)].max() < time[folds == fold].min()
    assert AutoRegressor(committee=False).evaluate(X, y, cv=4, time=time).errors.shape == (1, 4)


@BOTH
def test_dates_strings_and_numbers_are_times(make, rng):
    X, y, time = drawn(rng, make)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(time, unit="D")
    expected = make(committee=False).fit(X, y, time=time)
    for other in (days.to_numpy(), days.strftime("%Y-%m-%d").tolist(), time * 1e6):
        model = make(committee=False).fit(X, y, time=other)
        np.testing.assert_array_equal(model.committee_.held_out, expected.committee_.held_out)


def test_rows_of_one_moment_stay_together(rng):
    X, y, _ = drawn(rng, AutoRegressor)
    time = np.repeat(np.arange(8), 10)
    model = fitted(AutoRegressor(committee=False), X, y, time=time)
    moments = time[model.rows_used_]
    assert all(len(set(model.committee_.folds[moments == moment])) == 1 for moment in set(moments))


@BOTH
def test_a_model_in_time_is_saved_told_and_has_intervals(make, rng, tmp_path):
    X, y, time = drawn(rng, make)
    model = make().fit(X, y, time=time)
    assert "3 folds, each tuned anew, on earlier rows" in model.summary()
    assert model.summary().startswith("80 rows")
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.summary() == model.summary()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if make is AutoRegressor:
        lower, upper = again.predict_interval(X)
        assert (lower < upper).all()
        with pytest.raises(InputError, match=r"^method='cv\+' needs, for each fold, .* fitted with time"):
            model.predict_interval(X, method="cv+")


def test_weights_of_zero_leave_their_times_out(rng):
    X, y, time = drawn(rng, AutoRegressor)
    weights = np.ones(80)
    weights[::4] = 0
    kept = np.flatnonzero(weights)
    with_zero = fitted(AutoRegressor(committee=False), X, y, sample_weight=weights, time=time)
    without = fitted(AutoRegressor(committee=False), X[kept], y[kept], sample_weight=np.ones(60), time=time[kept])
    np.testing.assert_allclose(with_zero.predict(X), without.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("time", "sentence"),
    [
        (np.arange(5), "time of AutoRegressor must be an array of length 8, one value per row; got shape (5,)."),
        (np.zeros(8), "time of AutoRegressor must be at least 3 different times; got 1."),
        (
            [1.0, np.nan, *[2.0] * 6],
            "time of AutoRegressor has missing values, the first in row 1. " + FILL,
        ),
    ],
)
def test_what_is_no_time_is_refused(time, sentence, rng):
    with pytest.raises(InputError) as caught:
        AutoRegressor().fit(rng.normal(size=(8, 1)), np.arange(8.0), time=time)
    assert str(caught.value) == sentence


def test_groups_and_time_together_are_refused(rng):
    with pytest.raises(InputError, match=r"^AutoRegressor takes groups or time, not both\. Remove one of them\.$"):
        AutoRegressor().fit(rng.normal(size=(8, 1)), np.arange(8.0), groups=np.arange(8), time=np.arange(8))


def test_rows_that_are_nearly_all_of_the_last_moment_are_refused(rng):
    time = np.array([0, 1, *[2] * 98])
    with pytest.raises(InputError) as caught:
        AutoRegressor().fit(rng.normal(size=(100, 1)), rng.normal(size=100), time=time)
    assert tells(str(caught.value), "time of AutoRegressor", "got 98 of 100 with the same time")
    most_first = fitted(AutoRegressor(committee=False), rng.normal(size=(100, 1)), rng.normal(size=100), time=2 - time)
    assert len(most_first.rows_used_) == 2
