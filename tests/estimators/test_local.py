"""Models in cells as estimators: equal to KernelRidge in one cell, and what users may ask of them.

Covers: estimators.local_search.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import KernelRidge, LocalRidge, LocalRidgeClassifier, LocalRidgeClassifierCV, LocalRidgeCV
from mercer.errors import InputError, MercerWarning
from mercer.kernels import Gaussian, Laplacian, Matern, Precomputed, Words

SMALL = {"core_rows": 32, "system_rows": 96}


def waves(n=600, d=2, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, size=(n, d))
    return X, np.sin(X[:, 0]) * np.cos(X[:, 1] if d > 1 else 0.0) + noise * rng.normal(size=n)


def test_up_to_the_rows_of_a_system_it_is_kernel_ridge_regression():
    X, y = waves(200)
    model = LocalRidge(0.1, kernel=Gaussian(1.0)).fit(X, y)
    same = KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y)
    assert model.partition_.cells == 1
    assert np.allclose(model.predict(X), same.predict(X), atol=1e-10)
    exact = mercer.KernelRidgeCV([Gaussian(1.0)], [0.1], fit_intercept=True).fit(X, y).cv_predictions_[0]
    assert np.allclose(model.residuals_ + y, exact, atol=1e-10)
    values, std = model.predict(X[:5], return_std=True)
    expected = same.predict(X[:5], return_std=True)
    assert np.allclose(values, expected[0])
    assert np.allclose(std, expected[1], rtol=1e-6)


def test_leave_one_out_tells_the_error_on_new_rows():
    X, y = waves(4000)
    new, truth = waves(4000, seed=1)
    model = LocalRidge(0.1, kernel=Gaussian(1.0), **SMALL).fit(X, y)
    error = np.sqrt(np.mean((model.predict(new) - truth) ** 2))
    assert model.loo_error_ == pytest.approx(error, rel=0.05)
    assert 0.88 < float(model.coverage(new, truth)) < 0.92


def test_intervals_follow_the_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 10.0, size=(8000, 1))
    y = np.sin(X[:, 0]) + np.where(X[:, 0] > 5.0, 0.5, 0.05) * rng.normal(size=8000)
    model = LocalRidge(1.0, kernel=Gaussian(1.0), core_rows=128, system_rows=512).fit(X, y)
    lower, upper = model.predict_interval([[2.0], [8.0]])
    assert (upper - lower)[1] > 5 * (upper - lower)[0]


def test_several_targets_share_cells_and_equal_single_ones():
    X, y = waves(500)
    Y = np.column_stack([y, 3.0 - y**2])
    both = LocalRidge(0.1, kernel=Matern(1.0), **SMALL).fit(X, Y)
    for target in range(2):
        alone = LocalRidge(0.1, kernel=Matern(1.0), **SMALL).fit(X, Y[:, target])
        assert np.allclose(both.predict(X[:20])[:, target], alone.predict(X[:20]))
        assert np.allclose(both.residuals_[:, target], alone.residuals_)


def test_rows_of_weight_zero_are_predicted_and_not_learned_from():
    X, y = waves(500)
    weights = np.ones(500)
    weights[::7] = 0.0
    changed = np.where(weights > 0, y, 99.0)
    used = weights > 0
    model = LocalRidge(0.1, kernel=Gaussian(1.0), **SMALL).fit(X, changed, sample_weight=weights)
    without = LocalRidge(0.1, kernel=Gaussian(1.0), **SMALL).fit(X[used], y[used])
    assert np.allclose(model.predict(X), without.predict(X), atol=1e-9)
    assert np.allclose(model.residuals_[used], without.residuals_, atol=1e-9)
    assert np.allclose((model.residuals_ + changed)[~used], without.predict(X[~used]), atol=1e-9)


def test_more_rows_equal_a_fit_of_all_with_the_same_splits_and_leave_the_model_as_it_is():
    X, y = waves(500)
    model = LocalRidge(0.1, kernel=Gaussian(1.0), **SMALL).fit(X[:400], y[:400])
    before = model.predict(X)
    grown = model.with_rows(X[400:], y[400:])
    fitted = grown.fitted_
    for row in (0, 399, 400, 499):
        assert np.allclose(fitted.refit_row(row, None), fitted.held_out[row], atol=1e-9)
    assert len(grown.residuals_) == 500
    assert (model.predict(X) == before).all()
    assert np.sqrt(np.mean(grown.residuals_**2)) < 0.12


def test_a_search_tunes_its_kernel_and_leaves_useless_columns_out():
    X, y = waves(1500)
    X = np.column_stack([X, np.random.default_rng(1).normal(size=1500)])
    search = LocalRidgeCV(verify=True, **SMALL).fit(X, y)
    width = np.asarray(search.best_kernel_.width)
    assert width[2] > 3 * width[:2].max()
    assert search.verified_ < 1e-7
    assert -search.best_score_ == pytest.approx(np.mean(search.residuals_**2))
    assert search.cv_predictions_.shape == (1, 1500)
    assert np.allclose(search.cv_predictions_[0] - y, search.residuals_)
    new, truth = waves(1500, seed=3)
    assert np.sqrt(np.mean((search.predict(np.column_stack([new, np.zeros(1500)])) - truth) ** 2)) < 0.115
    assert len(search.cv_results_["params"]) == len(search.cv_results_["mean_test_score"])
    assert (search.best_estimator_.predict(X[:9]) == search.predict(X[:9])).all()
    assert "leave-one-out of every row" in search.summary()


def test_columns_in_different_units_are_tuned_in_units_of_their_spread():
    X, y = waves(1200)
    one, other = (LocalRidgeCV(**SMALL).fit(X * units, y) for units in (1.0, np.array([1e-4, 1e5])))
    assert other.best_score_ == pytest.approx(one.best_score_, rel=0.02)


def test_folds_groups_and_splitters_hold_out_whole_sets():
    X, y = waves(600)
    groups = np.arange(600) % 12
    given = {"kernels": [Gaussian(1.0)], "alphas": [0.1, 1.0], **SMALL}
    folds = LocalRidgeCV(cv=5, random_state=0, repeats=2, **given).fit(X, y)
    assert folds.cv_predictions_.shape == (2, 600)
    grouped = LocalRidgeCV(cv=GroupKFold(4), **given).fit(X, y, groups=groups)
    alone = LocalRidgeCV(**given).fit(X, y, groups=groups)
    drawn = LocalRidgeCV(cv=ShuffleSplit(3, test_size=0.2, random_state=0), **given).fit(X, y)
    for search in (folds, grouped, alone, drawn):
        fitted, split = search.fitted_, search.fitted_.cells.splits[1]
        for row in split.test[:3]:
            assert np.allclose(fitted.refit_row(int(row), 1), fitted.held_out[1, row], atol=1e-8)
    assert len(alone.folds_.splits) == 12
    assert np.isnan(drawn.cv_predictions_).any()
    assert np.isfinite(drawn.predict_interval(X[:3])).all()


def test_labels_are_predicted_with_calibrated_probabilities():
    X, y = waves(1500, noise=0.3)
    labels = np.select([y > 0.4, y < -0.4], ["high", "low"], "middle")
    search = LocalRidgeClassifierCV(**SMALL).fit(X, labels)
    new, truth = waves(1500, seed=1, noise=0.3)
    truth = np.select([truth > 0.4, truth < -0.4], ["high", "low"], "middle")
    assert search.score(new, truth) == pytest.approx(search.best_score_, abs=0.04)
    found = search.predict_proba(new)
    assert np.allclose(found.sum(axis=1), 1.0)
    assert np.allclose(found.mean(axis=0), [np.mean(truth == label) for label in search.classes_], atol=0.03)
    two = LocalRidgeClassifier(0.1, kernel=Gaussian(1.0), class_weight="balanced", **SMALL).fit(X, labels == "high")
    assert set(two.predict(new)) == {False, True}
    assert two.decision_function(new).ndim == 1


def test_tables_are_not_changed_and_names_of_columns_are_kept():
    X, y = waves(300)
    frame = pd.DataFrame(X, columns=["a", "b"])
    X.setflags(write=False)
    y.setflags(write=False)
    model = LocalRidge(0.1, kernel=Gaussian(1.0).on("a"), **SMALL).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.allclose(
        model.predict(frame), LocalRidge(0.1, kernel=Gaussian(1.0).on([0]), **SMALL).fit(X, y).predict(X)
    )
    single = LocalRidge(0.1, kernel=Gaussian(1.0), **SMALL).fit(X.astype(np.float32), y)
    assert np.allclose(
        single.predict(X), LocalRidge(0.1, kernel=Gaussian(1.0), **SMALL).fit(X, y).predict(X), atol=1e-3
    )


@pytest.mark.parametrize(
    ("model", "thing"),
    [
        (LocalRidge(kernel=Precomputed()), "kernel of LocalRidge"),
        (LocalRidge(kernel=Words()), "kernel of LocalRidge"),
        (LocalRidge(core_rows=0), "core_rows of LocalRidge"),
        (LocalRidge(core_rows=64, system_rows=32), "system_rows of LocalRidge"),
        (LocalRidge(mix=0), "mix of LocalRidge"),
        (LocalRidge(alpha=-1.0), "alpha of LocalRidge"),
        (LocalRidgeCV(alphas=[-1.0]), "alphas"),
    ],
)
def test_what_it_does_not_take_is_refused_by_name(model, thing):
    X, y = waves(60)
    with pytest.raises(InputError) as refused:
        model.fit(X, y)
    assert thing in str(refused.value) or "objects" in str(refused.value)


def test_explain_solves_nothing():
    X, y = waves(3000)
    search = LocalRidgeCV()
    plan = search.explain(X, y)
    assert not hasattr(search, "fitted_")
    assert (plan.rows, plan.system_rows) == (3000, 1024)
    assert plan.seconds > 0


REPEATED = {"check_sample_weight_equivalence_on_dense_data": "cells are made of rows, so copies move their borders"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        LocalRidge(),
        LocalRidge(core_rows=8, system_rows=16, mix=2),
        LocalRidgeCV([Gaussian(1.0)], [0.1, 1.0], core_rows=8, system_rows=16),
        LocalRidgeClassifier(core_rows=8, system_rows=16),
    ],
    ids=["one cell", "mixed", "search", "labels"],
)
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_scikit_learns_checks_pass(model):
    split = model.system_rows < 100
    results = check_estimator(clone(model), on_skip=None, expected_failed_checks=REPEATED if split else {})
    assert len(results) > 50


def test_columns_of_different_scale_with_one_width_get_a_warning():
    X, y = waves(300)
    with pytest.warns(MercerWarning, match="differ in scale"):
        LocalRidge(0.1, kernel=Gaussian(1.0)).fit(X * [1.0, 1e4], y)


@pytest.mark.parametrize("values", [1, 2, 3])
def test_tables_of_few_distinct_values_are_fitted(values):
    rng = np.random.default_rng(0)
    X = rng.integers(0, values, size=(700, 1)).astype(float)
    y = X[:, 0] + 0.1 * rng.normal(size=700)
    search = LocalRidgeCV([Gaussian(1.0)], [0.1, 1.0], **SMALL).fit(X, y)
    assert np.sqrt(-search.best_score_) < 0.12
    assert np.isfinite(LocalRidgeCV([Gaussian(1.0)], [0.1], cv=4, **SMALL).fit(X, y).cv_predictions_).all()


def test_held_out_blocks_larger_than_the_neighbouring_cores_are_predicted_from_the_nearest_rows_beyond():
    X = np.linspace(0.0, 100.0, 3000)[:, None]
    y = np.sin(X[:, 0])
    search = LocalRidgeCV([Gaussian(1.0)], [0.01], verify=True, core_rows=8, system_rows=16)
    search.fit(X, y, groups=np.arange(3000) * 2 // 3000)
    assert np.isfinite(search.cv_predictions_).all()
    assert search.verified_ < 1e-8


def test_more_rows_widen_the_limits_and_leave_splits_behind():
    X, y = waves(500)
    model = LocalRidge(1e-3, kernel=Gaussian(1.0), **SMALL).fit(X, y)
    grown = model.with_rows(X + 20.0, y + 100.0)
    assert np.abs(grown.predict(X[:50] + 20.0) - y[:50] - 100.0).max() < 1.0
    search = LocalRidgeCV([Gaussian(1.0)], [0.1], cv=4, **SMALL).fit(X, y)
    more = search.best_estimator_.with_rows(X[:5] + 0.01, y[:5])
    assert np.isfinite(more.residuals_).all()


def test_added_rows_renew_the_held_out_predictions_of_cells_that_answer_other_rows():
    X, y = waves(400)
    weights = np.ones(400)
    weights[::31] = 0.0
    how = {"kernel": Gaussian(1.0), "core_rows": 16, "system_rows": 16, "mix": 3}
    grown = LocalRidge(0.1, **how).fit(X, y, sample_weight=weights).with_rows(X[:6] + 0.3, y[:6])
    fitted = grown.fitted_
    for row in range(0, len(fitted.cells.rows), 25):
        assert np.allclose(fitted.refit_row(row, None), fitted.held_out[row], atol=1e-8)


def test_scores_that_are_nowhere_defined_are_refused():
    X, y = waves(400)
    with pytest.raises(InputError, match="All scores are NaN"):
        LocalRidgeCV([Gaussian(1.0)], [0.1], scoring=lambda truth, found: np.nan, **SMALL).fit(X, y)


def test_a_second_fit_forgets_what_the_first_verified():
    X, y = waves(300)
    search = LocalRidgeCV([Gaussian(1.0)], [0.1], cv=3, verify=True, **SMALL).fit(X, y)
    search.set_params(cv=None, verify=False).fit(X, y)
    assert not hasattr(search, "verified_")
    assert not hasattr(search, "folds_")


def test_the_plan_counts_the_groups_and_takes_one_alpha():
    X, y = waves(600)
    few, many = (LocalRidgeCV(alphas=0.1).explain(X, y, groups=np.arange(600) // size) for size in (200, 2))
    assert many.bytes - few.bytes > 8 * 600 * 290


def test_errors_relative_to_a_reference_stay_errors():
    X, y = waves(900, noise=0.0)
    search = LocalRidgeCV([Laplacian(1.0), Gaussian(0.5), Gaussian(2.0)], [1e-6, 1e-3], core_rows=16, system_rows=64)
    assert (search.fit(X, y).cv_results_["mean_test_score"] <= 0).all()


def test_rows_far_from_the_origin_have_the_same_cells():
    X, y = waves(2000)
    one, other = (LocalRidge(0.1, kernel=Gaussian(1.0), **SMALL).fit(X + move, y) for move in (0.0, 2.0**26))
    assert other.loo_error_ == pytest.approx(one.loo_error_, rel=1e-3)
