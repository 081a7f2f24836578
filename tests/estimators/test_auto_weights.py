"""Weights, groups, the error estimate and the signal of the automatic models."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import AutoClassifier, AutoRegressor
from mercer.errors import InputError
from mercer.estimators.auto_evaluation import growth, paired, signal
from mercer.kernels import Laplacian
from mercer.tuning.committee import Committee, Member
from remembered import fitted

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("make", [AutoRegressor, AutoClassifier])


def drawn(rng, make, n=60):
    X = rng.normal(size=(n, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return X, (y if make is AutoRegressor else np.where(y > 0, "up", "down"))


def answers(model, X):
    return model.predict(X) if isinstance(model, AutoRegressor) else model.predict_proba(X)


@BOTH
def test_rows_of_weight_zero_are_as_if_they_were_not_there(make, rng):
    X, y = drawn(rng, make)
    weights = np.ones(60)
    weights[::6] = 0.0
    wild = X.copy()
    wild[::6] = 1e6
    with_zeros = make(committee=False).fit(wild, y, sample_weight=weights)
    without = make(committee=False).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(answers(with_zeros, X), answers(without, X), rtol=1e-6, atol=1e-8)
    assert with_zeros.error_ == pytest.approx(without.error_)


@BOTH
def test_rows_of_large_weight_are_fitted_more_closely(make, rng):
    X, _ = drawn(rng, AutoRegressor, 80)
    heavy = np.arange(80) % 2 == 0
    y = np.where(heavy, X[:, 0] > 0, X[:, 0] < 0)  # two halves that contradict each other
    y = y.astype(float) if make is AutoRegressor else np.where(y, "b", "a")
    model = make(committee=False).fit(X, y, sample_weight=np.where(heavy, 50.0, 1.0))
    right = np.abs(model.predict(X) - y) < 0.5 if make is AutoRegressor else model.predict(X) == y
    assert right[heavy].mean() > 0.8
    assert right[~heavy].mean() < 0.3


@BOTH
def test_groups_stay_together_in_the_folds_of_fit_and_evaluate(make, rng):
    X, y = drawn(rng, make)
    groups = np.array([f"patient {i // 4}" for i in range(60)])
    model = make(committee=False).fit(X, y, groups=groups)
    assert all(len(set(model.committee_.folds[groups == name])) == 1 for name in set(groups))
    result = make(committee=False).evaluate(X, y, cv=3, groups=groups)
    assert result.errors.shape == (1, 3)
    numbers, _ = make()._outer_folds(X, y, None, 3, None, groups, None)
    assert all(len(set(numbers[groups == name])) == 1 for name in set(groups))


def test_rows_that_repeat_within_groups_look_good_only_without_groups(rng):
    centres = rng.normal(size=(20, 4))
    X = np.repeat(centres, 4, axis=0) + 1e-3 * rng.normal(size=(80, 4))
    y = np.repeat(rng.normal(size=20), 4) + 0.05 * rng.normal(size=80)  # noise of each group
    blind = fitted(AutoRegressor(committee=False), X, y)
    aware = fitted(AutoRegressor(committee=False), X, y, groups=np.repeat(np.arange(20), 4))
    assert blind.error_ < 0.5 * blind.baseline_
    assert aware.error_ > 0.7 * aware.baseline_


@BOTH
def test_bad_weights_and_groups_are_refused_in_a_sentence(make, rng):
    X, y = drawn(rng, make)
    name = make.__name__
    with pytest.raises(InputError, match=f"^sample_weight of {name} must be positive for at least 3 rows; got 2.$"):
        make().fit(X, y, sample_weight=np.r_[1.0, 1.0, np.zeros(58)])
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        make().fit(X, y, sample_weight=np.r_[-1.0, np.ones(59)])
    with pytest.raises(InputError, match=f"^groups of {name} must be labels of at least 3 groups; got 2.$"):
        make().fit(X, y, groups=np.arange(60) % 2)
    with pytest.raises(InputError, match=f"^groups of {name} must be an array of length 60"):
        make().fit(X, y, groups=np.arange(59))


@BOTH
def test_only_ratios_of_weights_matter(make, rng):
    X, y = drawn(rng, make)
    weights = rng.uniform(0.5, 2.0, size=60)
    one, tiny = (make(committee=False).fit(X, y, sample_weight=scale * weights) for scale in (1.0, 1e-12))
    np.testing.assert_allclose(answers(one, X), answers(tiny, X), rtol=1e-6, atol=1e-9)


@BOTH
def test_tables_and_targets_of_different_length_are_refused(make, rng):
    X, y = drawn(rng, make)
    weights = np.r_[0.0, np.ones(39)]
    table = {"a": X[:, 0], "b": X[:, 1]}
    for each in (X, table):
        with pytest.raises(InputError, match=r"inconsistent numbers of samples: \[60, 40\]"):
            make().fit(each, y[:40], sample_weight=weights)
        with pytest.raises(InputError, match=r"inconsistent numbers of samples: \[60, 40\]"):
            make().evaluate(each, y[:40], cv=3)


def test_rows_of_tiny_weight_do_not_pull_the_intervals_of_folds(rng):
    X, y = drawn(rng, AutoRegressor)
    y[:10] += 100.0
    weights = np.r_[np.full(10, 1e-9), np.ones(50)]
    model = fitted(AutoRegressor(committee=False), X, y, sample_weight=weights)
    lower, upper = model.predict_interval(X[20:], 0.5, "cv+")
    assert np.abs(0.5 * (lower + upper)).max() < 5.0


@BOTH
def test_too_few_groups_with_weight_or_for_outer_folds_are_refused(make, rng):
    X, y = drawn(rng, make)
    groups = np.repeat(np.arange(3), 20)
    with pytest.raises(InputError, match=r"labels of at least 3 groups; got 2\.$"):
        make().fit(X, y, sample_weight=np.r_[np.zeros(20), np.ones(40)], groups=groups)
    with pytest.raises(InputError, match=r"labels of at least 4 groups; got 3\.$"):
        make().evaluate(X, y, cv=3, groups=groups)


def test_groups_are_held_out_whole_where_members_are_fitted_to_many_rows(rng, monkeypatch):
    monkeypatch.setattr("mercer.estimators.auto_core.FULL_SYSTEMS", 90)
    centres = rng.normal(size=(60, 2))
    X = np.repeat(centres, 5, axis=0) + 1e-3 * rng.normal(size=(300, 2))
    y = np.repeat(np.sin(3.0 * centres[:, 0]) + 0.7 * rng.normal(size=60), 5)
    model = AutoRegressor(committee=False).fit(X, y, groups=np.repeat(np.arange(60), 5))
    assert model.error_ > 0.3


# -- the error estimate --------------------------------------------------------------------------------------------


def committee(left_out, in_folds):
    return Committee([], [], np.zeros((30, 1)), np.zeros(30, int), 30, [], left_out=left_out, in_folds=in_folds)


def test_many_tuned_widths_make_the_leave_one_out_error_less_believed():
    def with_widths(count):
        found = committee(np.full((30, 1), 3.0), np.full((30, 1), 4.0))
        return replace(
            found, members=[Member("m", Laplacian(np.arange(1.0, count + 1)), 1.0, 1.0, 1.0, "converged", [])]
        )

    assert growth(with_widths(3)).tolist() == [0.75]
    assert 0.75 < growth(with_widths(15))[0] < 1.0
    assert growth(with_widths(40)).tolist() == [1.0]


def test_growth_is_the_ratio_of_errors_and_never_above_one():
    assert growth(committee(np.full((30, 2), 3.0), np.full((30, 2), 4.0))).tolist() == [0.75, 0.75]
    assert growth(committee(np.full((30, 1), 3.0), np.full((30, 1), 2.0))).tolist() == [1.0]
    assert growth(committee(np.full((30, 1), 1.0), np.full((30, 1), 9.0))).tolist() == [0.5]
    assert growth(committee(np.zeros((30, 1)), np.zeros((30, 1)))).tolist() == [1.0]
    assert growth(committee(np.ones((30, 1)), np.full((30, 1), np.nan))).tolist() == [1.0]
    assert growth(committee(np.ones((29, 1)), np.full((29, 1), 2.0))) == 1.0
    assert growth(committee(None, None)) == 1.0


def test_the_error_is_that_of_the_folds_times_growth(rng):
    X, y = drawn(rng, AutoRegressor)
    model = fitted(AutoRegressor(), X, y)
    out_of_fold = np.sqrt(np.mean((model.scale_ * (model.committee_.held_out - model._Y)) ** 2))
    assert model.error_ == pytest.approx(out_of_fold * growth(model.committee_)[0])
    assert 0 < model.error_standard_error_ < model.error_


@pytest.mark.slow
def test_the_error_estimate_is_right_on_the_average(rng):
    ratios = []
    for _ in range(8):
        X = rng.uniform(-2.0, 2.0, size=(1200, 3))
        y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=1200)
        model = fitted(AutoRegressor(), X[:100], y[:100])
        ratios.append(model.error_ / np.sqrt(np.mean((model.predict(X[100:]) - y[100:]) ** 2)))
    assert 0.85 < np.exp(np.mean(np.log(ratios))) < 1.15


# -- is there a signal? --------------------------------------------------------------------------------------------


def test_z_is_that_of_paired_differences(rng):
    gains = rng.normal([0.5, 0.0], 1.0, size=(50, 2))
    expected = gains.mean(axis=0) / (gains.std(axis=0, ddof=1) / np.sqrt(50))
    np.testing.assert_allclose(paired(gains), expected)
    np.testing.assert_allclose(paired(1e-250 * gains), expected)
    assert paired(np.zeros((5, 1))).tolist() == [0.0]
    assert paired(np.ones((1, 2))).tolist() == [0.0, 0.0]
    assert paired(1e-9 * gains, 1.0).tolist() == [0.0, 0.0]  # rounding


def test_the_baseline_of_a_row_is_the_mean_of_the_other_folds(rng):
    Y, residuals, folds = rng.normal(size=(30, 1)), 0.1 * rng.normal(size=(30, 1)), np.arange(30) % 3
    held_out = Committee([], [], Y + residuals, folds, 30)
    gains = [(Y[i, 0] - Y[folds != folds[i]].mean()) ** 2 - residuals[i, 0] ** 2 for i in range(30)]
    np.testing.assert_allclose(signal(held_out, Y), paired(np.array(gains)[:, None]))


@pytest.mark.slow
@BOTH
def test_noise_has_no_signal_and_a_function_has(make, rng):
    found = []
    for _ in range(6):
        X = rng.normal(size=(80, 10))
        y = rng.normal(size=80) if make is AutoRegressor else rng.permutation(np.arange(80) % 2)
        found.append(make().fit(X, y).signal_ > 2.0)
    assert sum(found) <= 1
    model = make().fit(*drawn(rng, make, 90))
    assert model.signal_ > 2.0
    assert "not better" not in model.summary()


@pytest.mark.slow
def test_heavy_tails_do_not_hide_a_signal(rng):
    X = rng.normal(size=(400, 3))
    y = 3.0 * np.sin(X[:, 0]) + rng.standard_t(2.0, size=400)
    model = fitted(AutoRegressor(), X, y)
    assert model.signal_ > 2.0
    assert "no signal" not in model.summary()


def test_many_classes_of_chance_have_no_signal(rng):
    found = [
        AutoClassifier(committee=False, random_state=seed).fit(rng.normal(size=(40, 2)), np.arange(40) % 10).signal_
        for seed in range(4)
    ]
    assert sum(z > 2.0 for z in found) <= 1


def test_a_table_of_constants_has_no_signal(rng):
    assert AutoRegressor(committee=False).fit(np.ones((40, 1)), rng.normal(size=40)).signal_ == 0.0


def test_squares_of_large_and_small_targets_stay_finite(rng):
    X, y = drawn(rng, AutoRegressor)
    for scale in (1e-90, 1e90):
        result = AutoRegressor(committee=False).evaluate(X, scale * y, cv=3)
        assert result.signal > 2.0
        assert 0 < AutoRegressor(committee=False).fit(X, scale * y).error_standard_error_ < np.inf


def test_of_many_rows_the_correction_is_that_of_a_part_and_smaller(rng, monkeypatch):
    X = rng.uniform(size=(160, 1))
    y = np.sin(9.0 * X[:, 0]) + 0.1 * rng.normal(size=160)
    exact = growth(AutoRegressor(committee=False).fit(X, y).committee_)
    monkeypatch.setattr("mercer.tuning.committee._LEFT_OUT", 100)
    monkeypatch.setattr("mercer.tuning.committee._TUNED_ON", 80)
    model = AutoRegressor(committee=False).fit(X, y)
    held = model.committee_
    assert len(held.left_out) == len(held.in_folds) == 80
    ratio = np.sqrt(np.mean(held.left_out**2) / np.mean(held.in_folds**2))
    assert growth(held) == pytest.approx(np.clip(ratio, 0.5, 1.0) ** np.sqrt(0.5))
    assert growth(held) == pytest.approx(exact, abs=0.15)
    out_of_fold = np.sqrt(np.mean((held.held_out - model._Y) ** 2)) * model.scale_
    assert model.error_ == pytest.approx(float(growth(held)[0]) * out_of_fold)


@BOTH
def test_a_model_of_a_file_that_does_not_know_its_rows_is_told_all_the_same(make, rng):
    model = make(committee=False).fit(*drawn(rng, make))
    expected = model.summary()
    del model.rows_used_  # as the first files had it
    assert model.summary() == expected
