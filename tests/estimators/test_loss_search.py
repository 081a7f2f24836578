"""Kernel and alpha selected for any loss."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from mercer import KernelLogistic, KernelLogisticCV, KernelRegressor, KernelRegressorCV, KernelRidgeCV
from mercer.errors import InputError
from mercer.kernels import Gaussian
from refusals import tells

KERNELS, ALPHAS = [Gaussian(0.5), Gaussian(2.0)], [0.01, 0.1, 1.0]


def waves(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize(
    "model",
    [
        KernelRegressorCV("linear", [1.0], loss="huber", cv=3, fit_intercept=True),
        KernelLogisticCV("linear", [1.0], cv=3, fit_intercept=True),
    ],
    ids=lambda model: type(model).__name__,
)
def test_scikit_learns_checks_are_passed(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None, on_skip=None)
    failed = [each["check_name"] for each in results if each["status"] == "failed"]
    assert [name for name in failed if "sample_weight_equivalence" not in name] == []  # copies move rows to other folds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "cv"),
    [(loss, cv) for loss in ("huber", "expectile", "poisson", "gamma") for cv in (None, KFold(4))]
    + [("quantile", KFold(4))],
)
def test_exact_scores_are_those_of_refitting(loss, cv):
    X, y = waves(40)
    y = {"poisson": np.round(np.exp(1.0 + y)), "gamma": np.exp(y)}.get(loss, y)
    how = {"loss": loss, "delta": 0.2, "fit_intercept": True}
    search = KernelRegressorCV(KERNELS, ALPHAS, cv=cv, exact=True, scoring="neg_mean_absolute_error", **how).fit(X, y)
    place = 0
    for kernel in KERNELS:
        for alpha in ALPHAS:
            model = KernelRegressor(alpha, kernel=kernel, **how)
            expected = cross_val_score(
                model, X, y, cv=LeaveOneOut() if cv is None else cv, scoring="neg_mean_absolute_error"
            )
            tolerance = 2e-2 if loss == "quantile" else 1e-6  # of quantiles any value between two rows is a minimum
            assert search.cv_results_["mean_test_score"][place] == pytest.approx(expected.mean(), rel=tolerance)
            place += 1
    assert search.verified_ < (0.1 if loss == "quantile" else 1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_log_losses_of_one_step_are_near_those_of_refitting_and_exact_ones_equal(classes):
    X, y = waves(60)
    labels = np.digitize(y, [0.0] if classes == 2 else [-0.5, 0.5])
    near = KernelLogisticCV(KERNELS, ALPHAS, cv=KFold(5), fit_intercept=True).fit(X, labels)
    exact = KernelLogisticCV(KERNELS, ALPHAS, cv=KFold(5), exact=True, fit_intercept=True).fit(X, labels)
    place = 0
    for kernel in KERNELS:
        for alpha in ALPHAS:
            model = KernelLogistic(alpha, kernel=kernel, fit_intercept=True)
            expected = cross_val_score(model, X, labels, cv=KFold(5), scoring="neg_log_loss").mean()
            assert exact.cv_results_["mean_test_score"][place] == pytest.approx(expected, rel=1e-5)
            assert near.cv_results_["mean_test_score"][place] == pytest.approx(expected, rel=0.2)
            place += 1
    assert "approximately (one Newton step; more" in near.how_
    assert "exactly" in exact.how_
    assert near.cv_predictions_.shape == ((1, 60) if classes == 2 else (1, 60, 3))
    best = KernelLogistic(exact.alpha_, kernel=exact.best_kernel_, fit_intercept=True)
    p = cross_val_predict(best, X, labels, cv=KFold(5), method="predict_proba")
    found = exact.cv_predictions_[0]
    np.testing.assert_allclose(found, p[:, 1] if classes == 2 else p, atol=1e-5)
    assert log_loss(labels, near.predict_proba(X)) < log_loss(labels, p)


@pytest.mark.filterwarnings("ignore:The best candidate of KernelRidgeCV is on the edge")
def test_the_squared_loss_chooses_as_kernel_ridge_does():
    X, y = waves()
    ridge = KernelRidgeCV(KERNELS, ALPHAS, fit_intercept=True).fit(X, y)
    same = KernelRegressorCV(KERNELS, ALPHAS, fit_intercept=True).fit(X, y)
    assert (same.best_kernel_, same.alpha_) == (ridge.best_kernel_, ridge.alpha_)
    np.testing.assert_allclose(same.cv_predictions_, ridge.cv_predictions_, atol=1e-9)
    np.testing.assert_allclose(same.cv_results_["mean_test_score"], ridge.cv_results_["mean_test_score"] / 2, rtol=1e-9)
    assert (same.predict(X) == ridge.predict(X)).all()


def test_groups_repeats_weights_rules_and_default_grids():
    X, y = waves(50)
    groups = np.repeat(np.arange(10), 5)
    search = KernelRegressorCV(KERNELS, ALPHAS, loss="huber", fit_intercept=True).fit(X, y, groups=groups)
    assert "leave-one-group-out" in search.summary()
    twice = KernelRegressorCV(KERNELS, ALPHAS, loss="huber", cv=5, repeats=2, random_state=0).fit(X, y)
    assert twice.cv_predictions_.shape == (2, 50)
    assert not np.isnan(twice.cv_predictions_).any()
    smooth = KernelRegressorCV(KERNELS, ALPHAS, loss="huber", rule="one_se").fit(X, y)
    assert smooth.alpha_ >= KernelRegressorCV(smooth.best_kernel_, ALPHAS, loss="huber").fit(X, y).alpha_
    w = np.ones(50)
    w[:10] = 0.0
    wild = np.where(w > 0, y, 1e3)
    zero = KernelRegressorCV(KERNELS, ALPHAS, loss="huber", delta=0.3, cv=5).fit(X, wild, w)
    assert np.abs(zero.predict(X[10:]) - y[10:]).max() < 1.5
    default = KernelLogisticCV(cv=3, fit_intercept=True).fit(X, y > 0)
    assert len(default.kernels_) == 10
    assert default.score(X, y > 0) > 0.9


def test_what_is_refused():
    X, y = waves(20)
    for search, words in (
        (KernelRegressorCV(alphas=[0.0, 1.0]), ("alphas of KernelRegressorCV", "above 0")),
        (KernelRegressorCV(loss="quantile", quantiles=(0.1, 0.9)), ("quantiles of KernelRegressorCV", "one level")),
        (KernelRegressorCV(exact="yes"), ("exact of KernelRegressorCV", "True or False")),
    ):
        with pytest.raises(InputError) as refused:
            search.fit(X, y)
        assert tells(str(refused.value), *words)
