"""Searches over more rows than can be factored: by generalized cross-validation, held-out rows, or few folds."""

import numpy as np
import pytest

from mercer import KernelRidge, KernelRidgeClassifierCV, KernelRidgeCV, load, save
from mercer.errors import ConvergenceWarning, InputError, MemoryRefusal
from mercer.kernels import Gaussian, Linear
from mercer.selection import iterated
from mercer.selection import plan as selection_plan
from mercer.selection.plan import SearchWork, plan
from mercer.selection.problem import Removals

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")

KERNELS = [Gaussian(1.0), Gaussian(3.0)]
ALPHAS = np.geomspace(1e-2, 1e2, 5)


def waves(rng, n=400):
    X = rng.normal(size=(n, 3))
    return X, np.sin(X).sum(axis=1) + 0.3 * rng.normal(size=n)


def test_generalised_cross_validation_chooses_as_leave_one_out_does(rng):
    X, y = waves(rng)
    exact = KernelRidgeCV(KERNELS, ALPHAS, fit_intercept=True).fit(X, y)
    found = KernelRidgeCV(KERNELS, ALPHAS, cv="gcv", fit_intercept=True).fit(X, y)
    assert (found.best_kernel_, found.alpha_) == (exact.best_kernel_, exact.alpha_)
    assert found.plan_.chosen.name == "gcv"
    assert found.best_score_ == pytest.approx(exact.best_score_, rel=0.05)
    assert found.best_score_ == pytest.approx(-np.mean((found.cv_predictions_[0] - y) ** 2))
    np.testing.assert_allclose(found.predict(X), exact.predict(X), atol=1e-6)
    assert "generalized cross-validation" in found.summary()


@pytest.mark.slow
def test_the_scores_are_those_of_the_eigenvalues_within_what_chance_does(rng):
    X, y = waves(rng)
    found = KernelRidgeCV(KERNELS, ALPHAS, cv="gcv").fit(X, y).cv_results_
    for place, given in enumerate(found["params"]):
        d, U = np.linalg.eigh(given["kernel"](X))
        left = given["alpha"] / (d + given["alpha"])
        expected = len(y) * float(((left * (U.T @ y)) ** 2).sum()) / left.sum() ** 2
        gap = abs(-found["mean_test_score"][place] - expected)
        assert gap <= 5 * found["probe_error"][place] + 1e-4 * expected


def test_held_out_rows_give_the_score_of_a_model_of_the_others(rng, monkeypatch):
    X, y = waves(rng)
    test = np.arange(4, 400, 5)
    train = np.delete(np.arange(400), test)
    model = KernelRidge(0.1, kernel=Gaussian(3.0)).fit(X[train], y[train])
    expected = -float(np.mean((model.predict(X[test]) - y[test]) ** 2))
    search = KernelRidgeCV([Gaussian(3.0)], [0.1, 0.2], cv="held-out")
    for route in ("refit", "cg"):
        if route == "cg":
            monkeypatch.setattr(selection_plan, "_exact", lambda work, rates: [])
        search.fit(X, y)
        assert search.plan_.chosen.name == route
        assert search.cv_results_["mean_test_score"][0] == pytest.approx(expected, rel=1e-6)
    assert np.isnan(search.cv_predictions_[0][train]).all()


def test_held_out_rows_are_fitted_without_a_factor_from_ten_thousand_rows_on():
    def chosen(n, method):
        test = np.arange(0, n, 5)
        work = SearchWork.of(
            Removals([test], [test]), n=n, features=None, kernels=1, alphas=9, targets=1, threads=2, iterable=True,
            method=method,
        )  # fmt: skip
        return plan(work, 10**12).chosen.name

    assert chosen(9_999, "held-out") == "refit"
    assert chosen(10_000, "held-out") == "cg"
    assert chosen(10_000, "folds") == "refit"


@pytest.mark.slow
def test_a_few_folds_are_fitted_without_a_factor_where_none_has_room(rng, monkeypatch):
    X, y = waves(rng, 1500)
    work = {"kernels": [Gaussian(3.0)], "alphas": [0.1, 1.0], "cv": 2}
    exact = KernelRidgeCV(**work).fit(X, y)
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "27000000")
    lean = KernelRidgeCV(**work).fit(X, y)
    assert exact.plan_.chosen.name != "cg"
    assert lean.plan_.chosen.name == "cg"
    np.testing.assert_allclose(lean.cv_results_["mean_test_score"], exact.cv_results_["mean_test_score"], rtol=1e-6)


@pytest.mark.slow
def test_leave_one_out_that_does_not_fit_names_the_ways_that_do(rng, monkeypatch):
    X, y = waves(rng, 1500)
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "27000000")
    with pytest.raises(
        MemoryRefusal, match=r"Use at most about \d+ rows, or cv='gcv' or cv='held-out', which need less memory\.$"
    ):
        KernelRidgeCV([Gaussian(3.0)], [0.1, 1.0]).fit(X, y)
    KernelRidgeCV([Gaussian(3.0)], [0.1, 1.0], cv="gcv").fit(X, y)
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "12000000")
    with pytest.raises(MemoryRefusal, match=r"Use at most about \d+ rows\.$"):
        KernelRidgeCV([Gaussian(3.0)], [0.1, 1.0], cv="gcv").fit(X, y)


@pytest.mark.slow
def test_classes_and_targets_are_judged_the_same_way(rng):
    X, y = waves(rng)
    labels = np.where(y > 0, "up", "down")
    judged = KernelRidgeClassifierCV(KERNELS, ALPHAS, cv="gcv").fit(X, labels)
    exact = KernelRidgeClassifierCV(KERNELS, ALPHAS).fit(X, labels)
    assert judged.best_score_ == pytest.approx(exact.best_score_, abs=0.03)
    Y = np.stack([y, rng.normal(size=400)], axis=1)
    each = KernelRidgeCV(KERNELS, ALPHAS, cv="gcv", alpha_per_target=True, rule="one_se").fit(X, Y)
    assert each.alpha_[0] < each.alpha_[1]


def test_a_search_of_either_kind_is_saved_and_read_again(rng, tmp_path):
    X, y = waves(rng, 80)
    for cv in ("gcv", "held-out"):
        search = KernelRidgeCV(Gaussian(2.0), [0.1, 1.0, 10.0], cv=cv).fit(X, y)
        save(search, tmp_path / "search.mercer")
        np.testing.assert_array_equal(load(tmp_path / "search.mercer").predict(X), search.predict(X))


def test_the_grid_is_not_chosen_from_what_was_not_scored(rng, monkeypatch):
    X, y = waves(rng)
    monkeypatch.setattr(iterated, "_MOST", 40)
    with pytest.warns(ConvergenceWarning, match="is not scored at alpha = "):
        search = KernelRidgeCV(Gaussian(0.2), [1e-9, 0.1, 1.0, 10.0, 100.0], cv="gcv").fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"][0])
    assert search.alpha_ > 1e-9


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"verify": True},
            (
                "verify of KernelRidgeCV must be False with cv='gcv'; got True. GCV is an approximation and cannot be "
                "verified by refitting."
            ),
        ),
        (
            {"kernels": "precomputed"},
            "cv='gcv' does not support precomputed kernels. Use leave-one-out, cv=None.",
        ),
        (
            {"alphas": [0.0]},
            "solver='cg' needs alpha above 0; got 0. Use a small positive alpha, or solver='spectral'.",
        ),
    ],
)
def test_what_generalised_cross_validation_cannot_do_is_refused(how, message, rng):
    X, y = np.eye(30), rng.normal(size=30)
    with pytest.raises(InputError) as caught:
        KernelRidgeCV(**{"kernels": Linear(), "alphas": [1.0], "cv": "gcv", **how}).fit(X, y)
    assert str(caught.value) == message


def test_weights_that_change_with_every_split_have_no_generalised_score(rng):
    X, y = waves(rng, 40)
    with pytest.raises(
        InputError, match=("class_weight='balanced' of KernelRidgeClassifierCV is not supported with cv='gcv'")
    ):
        KernelRidgeClassifierCV(Gaussian(), [1.0], cv="gcv", class_weight="balanced").fit(X, y > 0)
