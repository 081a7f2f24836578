"""A search that tunes its winner: one more candidate, judged as all others are, and left out where it does harm."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidgeCV, nested_cross_validate, tune
from mercer.errors import InputError, MercerWarning
from mercer.kernels import Gaussian, Linear, Matern

pytestmark = pytest.mark.slow

ALPHAS = np.geomspace(1e-5, 1.0, 6)


def signal(rng, n=90, noise=0.1):
    X = rng.uniform(size=(n, 3))
    return X, np.sin(6.0 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)


def grid():
    return [Matern(np.full(3, width), nu=2.5) for width in (0.5, 1.5, 5.0)]


def test_the_tuned_kernel_wins_where_columns_differ(rng):
    X, y = signal(rng)
    plain = KernelRidgeCV(grid(), ALPHAS, cv=5, random_state=0, fit_intercept=True).fit(X, y)
    tuned = KernelRidgeCV(grid(), ALPHAS, cv=5, random_state=0, fit_intercept=True, tune=True).fit(X, y)
    assert tuned.best_score_ > plain.best_score_
    assert tuned.best_kernel_ == tuned.tuned_.kernel
    assert tuned.best_kernel_.width[2] > 3 * tuned.best_kernel_.width[0]  # the third column does not matter
    assert len(tuned.kernels_) == 4
    assert len(tuned.alphas_) == 7
    assert tuned.cv_results_["mean_test_score"].shape == (28,)
    assert tuned.cv_results_["mean_test_score"][tuned.best_index_] == tuned.best_score_


def test_its_score_is_that_of_refits(rng):
    X, y = signal(rng, 60)
    tuned = KernelRidgeCV(grid(), ALPHAS, cv=4, random_state=0, tune=True, verify=True).fit(X, y)
    assert tuned.verified_ < 1e-6


def test_noise_is_not_tuned_to(rng):
    X, y = rng.normal(size=(60, 8)), rng.normal(size=60)
    kernels = [Matern(np.full(8, width), nu=2.5) for width in (1.0, 3.0, 9.0)]
    search = KernelRidgeCV(kernels, np.geomspace(0.1, 1e4, 6), fit_intercept=True, tune=True, random_state=0)
    with pytest.warns(MercerWarning, match="Tuning the best kernel of KernelRidgeCV overfitted"):
        search.fit(X, y)
    assert search.best_kernel_ in kernels
    assert search.tuned_.overfitted


def test_a_kernel_without_parameters_stays_as_it_is(rng):
    X, y = signal(rng, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = KernelRidgeCV([Linear()], [0.01, 0.1], tune=True).fit(X, y)
    assert search.best_kernel_ == Linear()
    assert not hasattr(search, "tuned_")


def test_a_second_fit_forgets_the_first_ones_tuning(rng):
    X, y = signal(rng, 50)
    search = KernelRidgeCV([Gaussian(1.0)], ALPHAS, tune=True, random_state=0).fit(X, y)
    assert hasattr(search, "tuned_")
    search.set_params(tune=False).fit(X, y)
    assert not hasattr(search, "tuned_")
    assert clone(search).get_params()["tune"] is False


def test_seeds_decide(rng):
    X, y = signal(rng, 50)
    first, again = (KernelRidgeCV(grid(), ALPHAS, tune=True, random_state=3).fit(X, y) for _ in range(2))
    assert first.best_kernel_ == again.best_kernel_
    assert first.alpha_ == again.alpha_
    assert np.array_equal(first.cv_predictions_, again.cv_predictions_)


def test_several_targets_are_tuned_together(rng):
    X, y = signal(rng, 50)
    search = KernelRidgeCV(grid(), ALPHAS, tune=True, random_state=0, fit_intercept=True).fit(X, np.c_[y, -2.0 * y])
    assert search.predict(X).shape == (50, 2)


def test_nested_cross_validation_tunes_in_pipelines_alone(rng):
    X, y = signal(rng, 90, noise=0.02)
    search = KernelRidgeCV([Gaussian(1.0)], ALPHAS, tune=True, random_state=0)
    with pytest.raises(InputError, match=r"^tune of KernelRidgeCV must be False in nested_cross_validate"):
        nested_cross_validate(search, X, y, cv=3)
    result = nested_cross_validate(make_pipeline(StandardScaler(), search), X, y, cv=3)
    assert len({repr(choice["kernel"]) for choice in result.chosen}) == 3


def test_tuning_by_hand_gives_the_same(rng):
    X, y = signal(rng, 50)
    search = KernelRidgeCV([Gaussian(1.0)], ALPHAS, tune=True, random_state=0).fit(X, y)
    assert search.tuned_.score <= tune(Gaussian(1.0), X, y, random_state=0).before
