"""What a search leaves behind: winner, candidates, the edge of the grid, the plan.

Covers: estimators.search_core.
"""

import re

import numpy as np
import pytest
from search_cases import ALPHAS, KERNELS, PINNED, classification, quietly, regression, untouchable
from sklearn import metrics
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneOut,
    cross_val_predict,
)

from mercer import KernelRidge, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.errors import EdgeOfGridWarning
from mercer.kernels import Custom, Gaussian, Kernel, Laplacian, Linear
from refits import all_held_out, by_repeat
from refusals import tells


@pytest.fixture
def data(rng):
    return regression(rng)


@pytest.fixture
def labelled(rng):
    return classification(rng)


# -- what a search leaves behind --------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
def test_held_out_predictions_are_those_of_refits_for_every_repeat(intercept, data):
    X, y = data
    search = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=4, repeats=3, random_state=0, fit_intercept=intercept), X, y)
    assert search.cv_predictions_.shape == (3, 47)
    values = all_held_out(search.best_kernel_(X), y, search.alpha_, search.folds_.splits, None, intercept)
    np.testing.assert_allclose(search.cv_predictions_, by_repeat(values, search.folds_, 47)[:, :, 0], rtol=1e-8)
    for repeat, predicted in zip(search.folds_.repeats, search.cv_predictions_, strict=True):
        pairs = [(split.train, split.test) for split in repeat]
        np.testing.assert_allclose(predicted, cross_val_predict(search.best_estimator_, X, y, cv=pairs), rtol=1e-8)


def test_the_standard_error_of_repeats_is_corrected(data):
    search = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=5, repeats=4, random_state=1), *data)
    scores = search.table_.scores[..., 0]
    share = np.mean([len(s.test) / len(s.train) for s in search.folds_.splits])
    expected = scores.std(axis=2, ddof=1) * np.sqrt(1 / 20 + share)
    np.testing.assert_allclose(search.table_.standard_error(search.folds_)[..., 0], expected)


def test_one_standard_error_by_hand(data):
    how = {"kernels": KERNELS, "alphas": np.geomspace(1e-3, 1e2, 12), "cv": 5}
    best = quietly(KernelRidgeCV(**how), *data)
    careful = quietly(KernelRidgeCV(rule="one_se", **how), *data)
    k = KERNELS.index(best.best_kernel_)
    scores = np.array([best.cv_results_[f"split{i}_test_score"] for i in range(5)]).reshape(5, 4, 12)[:, k]
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(5)
    enough = mean >= mean.max() - error[mean.argmax()]
    assert careful.best_kernel_ == best.best_kernel_
    assert careful.alpha_ == how["alphas"][enough].max()
    assert careful.alpha_ > best.alpha_
    np.testing.assert_allclose(careful.best_score_, mean[np.flatnonzero(enough)[-1]])


def test_each_target_can_have_an_alpha_of_its_own(data, rng):
    X, y = data
    Y = np.c_[y, rng.normal(size=47), 3 * y]
    search = quietly(KernelRidgeCV([Gaussian(1.5)], ALPHAS, cv=5, alpha_per_target=True), X, Y)
    assert search.alpha_.shape == (3,)
    for t in range(3):
        alone = quietly(KernelRidgeCV([Gaussian(1.5)], ALPHAS, cv=5), X, Y[:, t])
        assert search.alpha_[t] == alone.alpha_
        np.testing.assert_allclose(search.predict(X)[:, t], alone.predict(X), rtol=1e-9)
        np.testing.assert_allclose(search.cv_predictions_[:, :, t], alone.cv_predictions_, rtol=1e-9)
    assert search.alpha_[0] == search.alpha_[2] != search.alpha_[1]
    one = quietly(KernelRidgeCV([Gaussian(1.5)], ALPHAS, cv=5, alpha_per_target=True), X, y)
    assert one.alpha_ == search.alpha_[0]


def test_r2_by_leave_one_out_is_pooled(data):
    search = quietly(KernelRidgeCV(KERNELS, ALPHAS, scoring="r2"), *data)
    predicted = cross_val_predict(search.best_estimator_, *data, cv=LeaveOneOut())
    assert search.best_score_ == pytest.approx(metrics.r2_score(data[1], predicted))
    assert "split1_test_score" not in search.cv_results_


def test_verification_refits_and_agrees(data):
    for kernels, cv in ((KERNELS[:1], None), ([Linear()], 5), (KERNELS, 3)):
        search = quietly(KernelRidgeCV(kernels, ALPHAS, cv=cv, verify=True, random_state=0), *data)
        assert 0 <= search.verified_ < 1e-10
        refitted = min(5, len(search.folds_.splits))
        told = f"Refitting {refitted} splits agreed to {search.verified_:.1e}, in the units of y."
        assert told in search.summary()
    per_target = KernelRidgeCV(verify=True, cv=4, alpha_per_target=True, **PINNED).fit(data[0], np.c_[data[1], data[1]])
    assert per_target.verified_ < 1e-10
    assert not hasattr(KernelRidgeCV(**PINNED).fit(*data), "verified_")


def test_verification_finds_a_wrong_number(data, monkeypatch):
    from mercer.selection.candidate import Candidate, HeldOut

    real = Candidate.at
    monkeypatch.setattr(Candidate, "at", lambda self, alpha: HeldOut(real(self, alpha).values + 0.25, 1.0, 0))
    assert KernelRidgeCV(verify=True, cv=3, **PINNED).fit(*data).verified_ == pytest.approx(0.25)


def test_the_summary_says_what_was_tried_what_won_and_how_far_to_trust_it(data):
    search = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=5), *data)
    text = search.summary()
    assert text.startswith("4 kernels x 4 alphas by 5-fold, unshuffled, ")
    assert f"-> {search.best_kernel_!r}" in re.sub(" +", " ", text)
    assert f"About {search.digits_:.0f} digits of the best candidate's scores are correct." in text
    assert "nested_cross_validate estimates by how much." in text
    with pytest.raises(NotFittedError):
        KernelRidgeCV().summary()


def test_the_winner_fitted_to_all_rows_is_kept(data):
    search = KernelRidgeCV(**PINNED).fit(*data)
    assert isinstance(search.best_estimator_, KernelRidge)
    alone = KernelRidge(search.alpha_, kernel=search.best_kernel_).fit(*data)
    np.testing.assert_allclose(search.predict(data[0]), alone.predict(data[0]))
    mean, std = search.predict(data[0], return_std=True)
    np.testing.assert_allclose(std, alone.predict(data[0], return_std=True)[1])
    assert mean.shape == std.shape == (47,)


# -- candidates -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernels",
    ["gaussian", "laplacian", "polynomial", "linear", ["gaussian", Linear()], "matern(width=2) + linear()"],
    ids=str,
)
def test_ladders_are_made_once_from_all_rows_and_kept(kernels, data):
    X, y = data
    search = quietly(KernelRidgeCV(kernels, cv=3), X, y)
    assert all(isinstance(kernel, Kernel) for kernel in search.kernels_)
    assert search.best_kernel_ in search.kernels_
    assert search.alpha_ in search.alphas_
    given = quietly(KernelRidgeCV(search.kernels_, search.alphas_, cv=3), X, y)
    np.testing.assert_array_equal(given.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_nothing_was_said_about_ladders_in_the_parameters(data):
    search = quietly(KernelRidgeCV(cv=3), *data)
    assert search.kernels == "gaussian"
    assert search.alphas is None
    assert len(search.kernels_) >= 10
    assert len(search.alphas_) >= 13


def test_setting_a_parameter_of_the_kernel_puts_a_new_one_in_its_place(data):
    search = KernelRidgeCV(Gaussian(1.0), [0.1, 1.0])
    first = search.fit(*data).best_score_
    kernel = search.kernels
    search.set_params(kernels__width=3.0)
    assert search.kernels == Gaussian(3.0)
    assert kernel == Gaussian(1.0)
    assert search.fit(*data).best_score_ != first
    assert search.get_params()["kernels__width"] == 3.0


def test_a_grid_search_over_the_width_of_a_search_tries_every_width(data):
    outer = GridSearchCV(KernelRidgeCV(Gaussian(), [0.1, 1.0]), {"kernels__width": [0.3, 1.0, 3.0]}, cv=3).fit(*data)
    assert len(set(outer.cv_results_["mean_test_score"])) == 3


def test_kernels_of_a_list_of_one(data):
    search = KernelRidgeCV([Linear()], [1.0]).fit(*data)
    assert search.best_kernel_ == Linear()
    assert search.alpha_ == 1.0
    assert len(search.cv_results_["params"]) == 1


# -- the edge of the grid -----------------------------------------------------------------------------------


def test_a_winner_on_the_edge_is_warned_about(data):
    with pytest.warns(EdgeOfGridWarning) as caught:
        KernelRidgeCV([Gaussian(1.5)], [100.0, 1000.0, 1e4], cv=5).fit(*data)
    assert tells(str(caught[0].message), "The best candidate of KernelRidgeCV", "100")
    assert caught[0].filename == __file__
    with pytest.warns(EdgeOfGridWarning, match="its alpha, 1e-06, is the largest tried"):
        KernelRidgeCV([Gaussian(1.5)], [1e-8, 1e-7, 1e-6], cv=5).fit(*data)
    with pytest.warns(EdgeOfGridWarning, match="its width, 0.03, is the largest tried"):
        KernelRidgeCV([Gaussian(w) for w in (0.01, 0.02, 0.03)], [0.5, 1.0], cv=5).fit(*data)
    with pytest.warns(EdgeOfGridWarning, match="its width, 50, is the smallest tried"):
        KernelRidgeCV([Gaussian(w) for w in (200.0, 50.0, 100.0)], [0.01, 1.0], cv=5).fit(*data)


def test_the_warning_names_the_alpha_that_stands_on_the_edge(data, rng):
    Y = np.c_[data[1], rng.normal(size=47)]
    with pytest.warns(EdgeOfGridWarning, match="its alpha, 10, is the largest tried"):
        search = KernelRidgeCV([Gaussian(1.5)], [1e-6, 1e-2, 0.1, 10.0], cv=5, alpha_per_target=True).fit(data[0], Y)
    assert 1e-6 < search.alpha_[0] < 10.0 == search.alpha_[1]


@pytest.mark.slow
def test_the_grid_is_extended_until_the_winner_does_not_stand_on_its_edge(data):
    kernels, alphas = [Gaussian(w) for w in (0.2, 0.35, 0.6)], [10.0, 100.0, 1e3]
    search = KernelRidgeCV(kernels, alphas, cv=5, extend_grid=True).fit(*data)
    widths = sorted({kernel.width for kernel in search.kernels_})
    assert widths[0] < search.best_kernel_.width < widths[-1]
    assert search.alphas_.min() < search.alpha_ < search.alphas_.max()
    assert (np.diff(search.alphas_) > 0).all()
    again = KernelRidgeCV(search.kernels_, search.alphas_, cv=5).fit(*data)
    np.testing.assert_allclose(again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], rtol=1e-6)
    assert again.best_index_ == search.best_index_
    assert search.cv_results_["params"][search.best_index_] == {"kernel": search.best_kernel_, "alpha": search.alpha_}


def test_extending_stops_where_there_is_no_end(rng):
    """Twins of opposite sign are best predicted by nought: the largest alpha always wins, up to 1e12."""
    X, y = np.repeat(rng.normal(size=(15, 2)), 2, axis=0), np.tile([1.0, -1.0], 15)
    search = KernelRidgeCV([Gaussian()], [1e3, 1e4, 1e5], extend_grid=True).fit(X, y)
    assert search.alpha_ == search.alphas_.max()
    assert 1e12 <= search.alphas_.max() <= 1e15


def test_alpha_zero_is_no_edge_that_could_be_extended(rng):
    X = np.linspace(0, 1, 20)[:, None]
    search = KernelRidgeCV([Laplacian(1.0)], [0.0, 1e-3, 1.0], extend_grid=True).fit(X, np.abs(X[:, 0] - 0.5))
    assert search.alpha_ == 0.0
    assert len(search.alphas_) == 3


def test_two_alphas_have_no_edge(data):
    search = KernelRidgeCV([Gaussian()], [1e3, 1e4]).fit(*data)  # a warning of the edge would be an error
    assert search.alpha_ == 1e3
    assert search.alphas_.tolist() == [1e3, 1e4]


def test_explain_prints_the_plan_and_runs_nothing(data, capsys):
    search = KernelRidgeCV([Custom(untouchable), 2.0 * Custom(untouchable)], [0.1, 1.0], cv=5)
    plan = search.explain(*data)
    assert "2 kernels x 2 alphas on 47 rows; 5 sets of 9 to 10 rows held out (5-fold, unshuffled)" in str(plan)
    assert plan.chosen.name in {"inverse", "spectral", "refit"}
    assert capsys.readouterr() == ("", "")
    with pytest.raises(AssertionError, match="a kernel was evaluated"):
        search.fit(*data)


@pytest.mark.slow
def test_explain_says_what_fit_does(data, labelled):
    for search, xy in ((KernelRidgeCV(cv=5), data), (KernelRidgeClassifierCV(cv=5), labelled)):
        plan = search.explain(*xy)
        assert str(quietly(search, *xy).plan_) == str(plan)


def test_a_search_that_was_only_explained_is_not_fitted(data):
    search = KernelRidgeCV(**PINNED)
    search.explain(*data)
    with pytest.raises(NotFittedError):
        search.predict(data[0])


def test_a_second_fit_forgets_the_first(data):
    search = KernelRidgeCV(verify=True, **PINNED).fit(*data)
    search.set_params(verify=False).fit(*data)
    assert not hasattr(search, "verified_")
    assert "Refitting" not in search.summary()
