"""Tables that the automatic estimators take in, and what they refuse."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from auto_cases import BOTH, QUICK, mixed, smooth, targets_for
from scipy import sparse

from mercer import AutoClassifier, AutoRegressor
from mercer.data.folds import dealt
from mercer.errors import LeakageWarning, UnfamiliarRowsWarning
from refusals import refusal, tells
from remembered import fitted

pytestmark = pytest.mark.slow

# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, -1.0, math.nan, "long", True])
@BOTH
def test_a_time_budget_that_is_none_is_refused(kind, budget, rng):
    X, y = smooth(10)
    words = refusal(kind(time_budget=budget).fit, X, targets_for(kind, y))
    name = kind.__name__
    assert tells(words, f"time_budget of {name}", f"got {budget!r}")


def test_targets_that_are_missing_or_no_numbers_are_refused(rng):
    X, y = smooth(10)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        AutoRegressor().fit(X, np.where(np.arange(10) == 3, np.nan, y))
    with pytest.raises(ValueError, match=r"y of AutoRegressor must be numbers; got the label 'a'. For labels use Auto"):
        AutoRegressor().fit(X, ["a"] * 10)
    words = refusal(AutoClassifier().fit, X, np.array(["a", None, "b"] * 3 + ["a"], dtype=object))
    assert tells(words, "y has missing values", "row 1")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AutoRegressor().fit(X, y[:5])


@BOTH
def test_sparse_and_odd_tables_are_refused(kind, rng):
    X, y = smooth(10)
    y = targets_for(kind, y)
    name = kind.__name__
    words = refusal(kind().fit, sparse.csr_matrix(X), y)
    assert tells(words, f"X of {name}", "got a sparse matrix")
    assert refusal(kind().fit, X[:, 0], y).startswith(f"X of {name} must be a table with rows and columns; got 1 dim")
    assert "0 feature(s)" in refusal(kind().fit, X[:, :0], y)


@BOTH
def test_other_columns_than_those_of_training_are_refused(kind, rng):
    X, y = smooth(30)
    y = targets_for(kind, y)
    model = fitted(kind(**QUICK), X, y)
    words = refusal(model.predict, X[:, :2])
    assert tells(words, f"X has 2 features, but {kind.__name__}", "3")
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    named = fitted(kind(**QUICK), table, y)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(table.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="feature names"):
        named.predict(table.drop(columns="a"))
    columns = dict(zip("abc", X.T, strict=True))
    by_dict = fitted(kind(**QUICK), columns, y)
    assert ("missing columns 'a' and unknown columns 'z'") in refusal(
        by_dict.predict, {"z": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    )


@pytest.mark.parametrize("folds", [0, 1, -3, 2.5, "five", True])
@BOTH
def test_folds_that_are_none_are_refused(kind, folds, rng):
    X, y = smooth(20)
    words = refusal(kind().evaluate, X, targets_for(kind, y), folds)
    assert tells(words, "cv of evaluate", f"got {folds!r}")


@BOTH
def test_a_mixed_table_is_taken_in(kind, rng):
    table, y = mixed()
    model = fitted(kind(time_budget=5.0), table, targets_for(kind, y))
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
    table, y = mixed()
    model = fitted(kind(**QUICK), table, targets_for(kind, y))
    new = table.head(6).astype({"city": object}).reset_index(drop=True)
    new["code"], new.loc[0, "city"], new.loc[1, "size"], new.loc[2, "sold"] = "never", "Lima", np.nan, pd.NaT
    found = model.predict(new)
    assert len(found) == 6
    if kind is AutoRegressor:
        assert np.isfinite(found).all()
        assert np.abs(found - y.mean()).max() < 5 * y.std()


def test_categories_share_a_width(rng):
    table, y = mixed(60)
    model = fitted(AutoRegressor(time_budget=5.0), table, y)
    groups = model.encoder_.groups_
    for member in model.committee_.tried:
        if np.ndim(getattr(member.kernel, "width", 1.0)):
            for group in np.unique(groups):
                assert len(set(member.kernel.width[groups == group])) == 1


@BOTH
def test_a_third_of_the_cells_may_be_missing(kind, rng):
    X, y = smooth(200, noise=0.05)
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    y = targets_for(kind, y)
    model = fitted(kind(time_budget=5.0), X[:150], y[:150])
    assert model.error_ < 0.95 * model.baseline_
    assert model.score(X[150:], y[150:]) > (0.0 if kind is AutoRegressor else 0.55)
    unknown = model.predict(np.full((2, 3), np.nan))
    assert np.isfinite(unknown).all() if kind is AutoRegressor else set(unknown) <= {"high", "low"}


def test_a_dictionary_of_columns_and_a_list_of_rows_are_tables(rng):
    X, y = smooth(40)
    expected = fitted(AutoRegressor(**QUICK), X, y).predict(X)
    columns = {"a": X[:, 0], "b": X[:, 1].tolist(), "c": X[:, 2]}
    model = fitted(AutoRegressor(**QUICK), columns, y)
    np.testing.assert_allclose(model.predict(columns), expected)
    np.testing.assert_allclose(model.predict({name: columns[name] for name in "cab"}), expected)
    listed = fitted(AutoRegressor(**QUICK), X.tolist(), y.tolist())
    np.testing.assert_allclose(listed.predict(X.tolist()), expected)
    assert np.isfinite(AutoRegressor(**QUICK).evaluate(columns, y, cv=2).predictions).all()
    rows = [[number, "odd" if place % 2 else "even"] for place, number in enumerate(X[:, 0])]
    texts = fitted(AutoRegressor(**QUICK), rows, y + 5.0 * (np.arange(40) % 2))
    assert texts.error_ < 0.8 * texts.baseline_


@pytest.mark.parametrize("n", [3, 5, 6, 20])
def test_folds_are_dealt_evenly_and_every_class_with_them(n, rng):
    numbers = dealt(n, 3, rng)
    assert np.ptp(np.bincount(numbers)) <= 1
    assert len(np.bincount(numbers)) == 3
    strata = rng.integers(0, 2, n)
    numbers = dealt(n, 3, rng, strata=strata)
    for label in (0, 1):
        assert np.ptp(np.bincount(numbers[strata == label], minlength=3)) <= 1


# -- warnings -------------------------------------------------------------------------------------


def test_rows_far_from_training_are_warned_of_and_new_ones_of_the_same_kind_are_not(rng):
    X, y = smooth(200)
    model = AutoRegressor(**QUICK).fit(X, y)
    with pytest.warns(UnfamiliarRowsWarning, match="'x1'.*1 value out of range"):
        model.predict(X[:1] + np.array([100.0, 0.0, 0.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(smooth(300)[0][200:])


@BOTH
def test_a_column_that_gives_the_target_away_is_warned_of_once(kind, rng):
    X, numbers = smooth(60)
    y = targets_for(kind, numbers)
    table = {"a": X[:, 0], "b": X[:, 1], "copy": 2.0 * (numbers if kind is AutoRegressor else y == "high") + 1.0}
    with pytest.warns(LeakageWarning, match="column copy alone nearly determines y") as heard:
        kind(committee=False).fit(table, y)
    assert len(heard) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(committee=False).fit({"a": X[:, 0], "b": X[:, 1]}, targets_for(kind, rng.normal(size=60)))
