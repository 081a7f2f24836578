"""Scores of errors too small or too large to square, of test sets of one row, and weighted ones."""

import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import make_scorer, mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, KFold

from mercer import KernelRidge, KernelRidgeCV, cross_validate, nested_cross_validate
from mercer.errors import InputError, MercerWarning
from mercer.kernels import Gaussian
from refits import held_out

ALPHAS = [1e-4, 1e-2, 1.0, 100.0]


def smooth(rng, n=30):
    X = rng.uniform(0, 6, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160, 1e200])
def test_errors_whose_squares_are_no_numbers_are_refused_by_a_sentence(scale, rng):
    X, y = smooth(rng)
    with pytest.raises(InputError) as refusal:
        KernelRidgeCV([Gaussian(1.0)], ALPHAS, cv=5).fit(X, y * scale)
    assert re.fullmatch(
        r"The largest absolute residual must be between 1e-150 and 1e150, so that squares are finite and non-zero; "
        r"got \S+\. "
        r"Rescale y, or use scoring='neg_mean_absolute_error'\.",
        str(refusal.value),
    )


@pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e100])
@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "neg_root_mean_squared_error", "neg_max_error", "r2"])
def test_other_scores_and_their_winner_do_not_depend_on_the_unit_of_the_targets(scoring, scale, rng):
    X, y = smooth(rng)
    plain, scaled = (
        KernelRidgeCV([Gaussian(1.0)], ALPHAS, cv=5, scoring=scoring).fit(X, y * unit) for unit in (1.0, scale)
    )
    assert plain.alpha_ == scaled.alpha_
    unit = 1.0 if scoring == "r2" else scale
    found = scaled.cv_results_["mean_test_score"] / unit
    np.testing.assert_allclose(found, plain.cv_results_["mean_test_score"], rtol=1e-9)


@pytest.mark.parametrize("how", ["cross_validate", "refitted", "search", "nested"])
def test_a_test_set_of_one_row_has_no_r2_and_leaves_the_other_scores_as_they_are(how, rng):
    X, y = smooth(rng, 13)
    folds = [np.array([0, 1, 2]), np.array([3, 4, 5]), np.array([6, 7, 8]), np.array([9, 10, 11]), np.array([12])]
    splits = [(np.setdiff1d(np.arange(13), test), test) for test in folds]
    K = Gaussian(1.0)(X)
    expected = [r2_score(y[test], held_out(K, y, 0.1, train, test)[:, 0]) for train, test in splits[:4]] + [np.nan]
    reason = "NaN.*r2 is not defined for a test set of one row"
    if how == "search":
        with pytest.raises(InputError, match=reason):
            KernelRidgeCV([Gaussian(1.0)], [0.1], cv=splits, scoring="r2").fit(X, y)
        return
    search, model = KernelRidgeCV([Gaussian(1.0)], [0.1], scoring="r2"), KernelRidge(0.1, kernel=Gaussian(1.0))
    call = {
        "cross_validate": lambda: cross_validate(model, X, y, cv=splits, scoring="r2"),
        "refitted": lambda: cross_validate(Renamed(**vars(model)), X, y, cv=splits, scoring="r2"),
        "nested": lambda: nested_cross_validate(search, X, y, cv=splits, inner=KFold(3)),
    }[how]
    with pytest.warns(MercerWarning, match=reason):
        found = call()
    np.testing.assert_allclose(found.scores[0], expected, rtol=1e-9)
    assert np.isnan(found.mean)


class Renamed(KernelRidge):
    """A model that is refitted, since it may be anything."""


def test_test_sets_that_are_all_of_one_row_are_scored_together(rng):
    X, y = smooth(rng, 12)
    K, everyone = Gaussian(1.0)(X), np.arange(12)
    values = [held_out(K, y, 0.1, np.delete(everyone, i), [i])[0, 0] for i in everyone]
    found = cross_validate(KernelRidge(0.1, kernel=Gaussian(1.0)), X, y, cv=12, scoring="r2")
    np.testing.assert_allclose(found.scores, [[r2_score(y, values)]], rtol=1e-9)
    search = KernelRidgeCV([Gaussian(1.0)], [0.1], scoring="r2").fit(X, y)
    np.testing.assert_allclose(search.best_score_, r2_score(y, values), rtol=1e-9)
    assert np.isnan(search.cv_results_["std_test_score"]).all()


@pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
def test_a_scorer_that_asked_for_weights_is_weighted_as_in_scikit_learn(rng):
    X, y = smooth(rng)
    weights = rng.uniform(0.1, 3.0, size=30)
    weights[::5] = 0.0
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(mean_squared_error, greater_is_better=False).set_score_request(sample_weight=True)
        model = KernelRidge(kernel=Gaussian(1.0)).set_fit_request(sample_weight=True)
        peer = GridSearchCV(model, {"alpha": ALPHAS}, scoring=scorer, cv=KFold(5)).fit(X, y, sample_weight=weights)
        found = KernelRidgeCV([Gaussian(1.0)], ALPHAS, scoring=scorer, cv=KFold(5)).fit(X, y, weights)
        single = cross_validate(
            KernelRidge(0.01, kernel=Gaussian(1.0)), X, y, cv=KFold(5), scoring=scorer, sample_weight=weights
        )
    for i in range(5):
        expected = peer.cv_results_[f"split{i}_test_score"]
        np.testing.assert_allclose(found.cv_results_[f"split{i}_test_score"], expected, rtol=1e-8)
        np.testing.assert_allclose(single.scores[0, i], expected[1], rtol=1e-8)
    plain = KernelRidgeCV([Gaussian(1.0)], ALPHAS, scoring="neg_mean_squared_error", cv=KFold(5)).fit(X, y, weights)
    assert abs(plain.best_score_ - found.best_score_) > 1e-6
