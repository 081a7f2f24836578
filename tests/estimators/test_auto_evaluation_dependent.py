"""Standard errors and signals where rows depend on one another, or are few."""

import numpy as np
import pytest

from mercer import AutoClassifier, AutoRegressor, KernelRidgeCV
from mercer.errors import MercerWarning
from mercer.estimators.auto_evaluation import (
    error_spread,
    paired,
    root_mean_square,
    tuning_factor,
)
from mercer.kernels import Gaussian
from mercer.selection.outcome import doubt
from mercer.selection.table import mean_with_error
from remembered import fitted

pytestmark = pytest.mark.slow


def grouped(seed, groups=15, rows=8):
    """Noise that is constant within groups, which the columns tell apart."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(groups), rows)
    X = rng.normal(size=(groups, 2))[numbers] + 0.05 * rng.normal(size=(len(numbers), 2))
    return X, rng.normal(size=groups)[numbers] + 0.05 * rng.normal(size=len(numbers)), numbers


def test_standard_errors_over_groups_are_those_of_group_sums():
    rng = np.random.default_rng(0)
    values, clusters = rng.normal(size=(30, 2)), np.repeat(np.arange(6), 5)
    mean, error = mean_with_error(values, clusters)
    sums = (values - mean).reshape(6, 5, 2).sum(axis=1)
    np.testing.assert_allclose(error, np.sqrt(6 / 5 * (sums**2).sum(axis=0)) / 30)
    plain = mean_with_error(values)[1]
    np.testing.assert_allclose(plain, values.std(axis=0, ddof=1) / np.sqrt(30))
    np.testing.assert_allclose(mean_with_error(values, np.arange(30))[1], plain)
    assert np.isnan(mean_with_error(values, np.zeros(30))[1]).all()
    assert paired(values, clusters=np.zeros(30)).tolist() == [0.0, 0.0]
    size, spread = root_mean_square(1e200 * values, clusters)
    np.testing.assert_allclose(size, 1e200 * np.sqrt(np.mean(values**2, axis=0)))
    assert (spread > 0).all()


@pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])
def test_noise_that_groups_share_is_no_signal(kind):
    signals, errors = [], []
    for seed in range(4):
        X, y, groups = grouped(seed)
        y = y if kind is AutoRegressor else np.where(y > np.median(y), "high", "low")
        model = fitted(kind(committee=False), X, y, groups=groups)
        signals.append(model.signal_)
        errors.append(model.error_standard_error_ / model.error_)
        assert "The standard error is that of only 15 groups" in model.summary()
    assert max(signals) < 2
    assert min(errors) > 0.08  # of 15 groups; of 120 independent rows it would be 0.06


def test_an_outer_loop_takes_groups_as_dependent():
    X, y, groups = grouped(1)
    found = AutoRegressor(committee=False).evaluate(X, y, cv=5, groups=groups)
    off = (found.predictions[0] - y)[:, None]
    assert found.standard_error == pytest.approx(root_mean_square(off, groups)[1][0])
    assert found.signal < 2


def test_the_baseline_of_ordered_rows_is_their_past():
    rng = np.random.default_rng(2)
    y = np.cumsum(rng.normal(size=160))
    X, time = rng.normal(size=(160, 2)), np.arange(160)
    model = fitted(AutoRegressor(committee=False), X, y, time=time)
    committee = model.committee_
    assert model.baseline_ == pytest.approx(model.scale_ * np.sqrt(np.mean(committee.base**2)))
    assert len(np.unique(committee.clusters)) > 5
    assert model.error_standard_error_ > 1.5 * root_mean_square(model.scale_ * (committee.held_out - model._Y))[1][0]


def test_few_rows_and_folds_that_disagree_widen_the_error():
    rows = np.array([1.0])
    assert error_spread(rows, np.ones((3, 1)), 1.0) == pytest.approx(1.0)
    assert error_spread(rows, np.ones((3, 1)), tuning_factor(20, None, ordered=False)) == pytest.approx(2.0)
    groups = np.repeat(np.arange(20), 5)
    assert tuning_factor(100, groups, ordered=False) == 2.0  # of groups, which are independent
    assert tuning_factor(100, groups, ordered=True) == tuning_factor(100, None, ordered=False)
    assert error_spread(rows, np.array([[1.0], [10.0], [1.0]]), 1.0) == pytest.approx(
        np.std([1, 10, 1], ddof=1) / 3**0.5
    )


def test_an_estimate_from_folds_that_disagree_is_called_unstable():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 30))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=150)
    model = fitted(AutoRegressor(), X, y)
    low, high = model.fold_errors_.min(), model.fold_errors_.max()
    assert ("The error estimate is unstable" in model.summary()) == (high > 1.5 * low)
    assert model.error_standard_error_ >= model.fold_errors_.std(ddof=1) / np.sqrt(len(model.fold_errors_))


def test_a_model_that_ranks_well_is_not_said_to_know_nothing():
    rng = np.random.default_rng(0)
    y = np.exp(3.0 * rng.normal(size=200))
    plain, ranked = doubt("157 +- 21", "137"), doubt("157 +- 21", "137", y, np.log(y) + rng.normal(size=200))
    assert "157 +- 21 against 137" in plain
    assert ranked.startswith(plain)
    assert "rank correlation" in ranked
    assert "logarithm" in ranked
    assert "logarithm" not in doubt("2", "1", y - 1.0, np.log(y) + rng.normal(size=200))
    assert doubt("2", "1", y, rng.normal(size=200)) == doubt("2", "1")
    assert doubt("2", "1", y, np.ones(200)) == doubt("2", "1")


@pytest.mark.parametrize("seed", range(3))
def test_levels_seen_once_do_not_make_the_error_look_small(seed):
    rng = np.random.default_rng(seed)
    effects = rng.normal(size=200)

    def rows(count):
        level, x = rng.integers(200, size=count), rng.normal(size=count)
        y = effects[level] + np.sin(2 * x) + 0.3 * rng.normal(size=count)
        return {"level": [f"L{i}" for i in level], "x": x}, y

    table, y = rows(400)
    new, truth = rows(1000)
    model = AutoRegressor(committee=False).fit(table, y)
    true = np.sqrt(np.mean((model.predict(new) - truth) ** 2))
    assert 0.75 < model.error_ / true < 1.4  # 0.6 to 0.7 where levels seen once were pooled


# -- copies of rows ------------------------------------------------------------------------------------------------


def doubled(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    return np.vstack([X, X]), np.r_[y, y]


def test_copies_that_are_no_chance_are_kept_in_one_fold():
    X, y = doubled()
    model, apart = (
        fitted(AutoRegressor(committee=False), X, y),
        fitted(AutoRegressor(committee=False, copies=False), X, y),
    )
    assert (model.committee_.folds[:60] == model.committee_.folds[60:]).all()
    assert apart.error_ < 0.6 * model.error_
    assert "60 of 120 rows (50 %) are copies" in model.summary()
    assert "copies" not in apart.summary()
    single = fitted(AutoRegressor(committee=False), X[:60], y[:60])
    assert model.error_ == pytest.approx(single.error_, rel=0.25)


def test_rows_of_a_few_categories_repeat_by_chance():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 2, 80), rng.integers(0, 3, 80)]).astype(float)
    y = np.where(rng.random(80) < 0.3 + 0.2 * X[:, 0], "yes", "no")
    model = fitted(AutoClassifier(committee=False), X, y)
    assert model.copies_ == ""
    forced = fitted(AutoClassifier(committee=False, copies=True), X, y)
    assert "copies are kept in one fold" in forced.summary()


@pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])
def test_the_outer_loop_keeps_copies_together(kind):
    X, y = doubled(2, 40)
    y = y if kind is AutoRegressor else np.where(y > 0, "a", "b")
    with_copies = kind(committee=False).evaluate(X, y, cv=4).error
    without = kind(committee=False, copies=False).evaluate(X, y, cv=4).error
    assert with_copies > 1.3 * without


def test_a_search_warns_of_copies_unless_it_has_groups():
    X, y = doubled()
    search = KernelRidgeCV(Gaussian(1.0), [0.1, 1.0], cv=3)
    with pytest.warns(MercerWarning, match=r"60 of 120 rows \(50 %\) are copies"):
        search.fit(X, y)
    search.fit(X, y, groups=np.tile(np.arange(60), 2))
