"""Every score of a search equals that of GridSearchCV."""

import numpy as np
import pytest
from search_cases import ALPHAS, KERNELS, PINNED, assert_same_search, classification, plain_mse, quietly, regression
from sklearn import metrics
from sklearn.kernel_ridge import KernelRidge as TheirKernelRidge
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    ShuffleSplit,
    TimeSeriesSplit,
)

from mercer import KernelRidge, KernelRidgeClassifier, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.kernels import Gaussian
from refits import grid
from remembered import RememberedClassifier, RememberedRidge

pytestmark = pytest.mark.slow


def quantile_loss(y, p):
    return np.maximum(0.8 * (y - p), -0.2 * (y - p)).mean()


def plain_accuracy(estimator, X, y, sample_weight=None):
    return metrics.accuracy_score(y, estimator.predict(X))


@pytest.fixture
def data(function_rng):
    return regression(function_rng)


@pytest.fixture
def labelled(function_rng):
    return classification(function_rng)


# -- against GridSearchCV --------------------------------------------------------------------------------

SCORINGS = [
    None,
    "r2",
    "neg_mean_absolute_error",
    "neg_root_mean_squared_error",
    "neg_max_error",
    "explained_variance",
    "neg_median_absolute_error",
    make_scorer(quantile_loss, greater_is_better=False),
    make_scorer(metrics.mean_pinball_loss, greater_is_better=False, alpha=0.3),
    quantile_loss,
]
SPLITTERS = {
    "5": 5,
    "shuffled": KFold(4, shuffle=True, random_state=0),
    "random": ShuffleSplit(3, test_size=0.2, random_state=0),
    "time": TimeSeriesSplit(4),
    "lists": [(np.arange(20), np.arange(20, 47)), (np.arange(25, 47), np.arange(25))],
}


@pytest.mark.parametrize("scoring", SCORINGS, ids=lambda scoring: getattr(scoring, "__name__", str(scoring)))
def test_every_score_equals_grid_search_over_our_own_ridge(scoring, data):
    theirs_scoring = {None: "neg_mean_squared_error", quantile_loss: SCORINGS[7]}.get(scoring, scoring)
    ours = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=5, scoring=scoring), *data)
    theirs = GridSearchCV(RememberedRidge(), grid(KERNELS, ALPHAS), cv=5, scoring=theirs_scoring).fit(*data)
    assert_same_search(ours, theirs, 5, rtol=1e-8)


@pytest.mark.parametrize("cv", sorted(SPLITTERS))
@pytest.mark.parametrize("scoring", [None, "r2"])
def test_every_score_equals_grid_search_over_scikit_learns_ridge(scoring, cv, data):
    """gamma of scikit-learn's rbf is 1 / (2 width^2)."""
    widths = [0.5, 1.5, 4.0]
    cv = SPLITTERS[cv]
    ours = quietly(KernelRidgeCV([Gaussian(w) for w in widths], ALPHAS, cv=cv, scoring=scoring), *data)
    theirs = GridSearchCV(
        TheirKernelRidge(kernel="rbf"),
        [{"gamma": [0.5 / w**2], "alpha": ALPHAS} for w in widths],
        cv=cv,
        scoring=scoring or "neg_mean_squared_error",
    ).fit(*data)
    for name in ("mean_test_score", "std_test_score", "split0_test_score", "split1_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-8)
    np.testing.assert_array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert ours.alpha_ == theirs.best_params_["alpha"]
    assert 0.5 / ours.best_kernel_.width**2 == pytest.approx(theirs.best_params_["gamma"])
    np.testing.assert_allclose(ours.predict(data[0][:5] + 0.1), theirs.predict(data[0][:5] + 0.1), rtol=1e-8)


@pytest.mark.parametrize("targets", [None, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_intercept_weights_and_several_targets_equal_grid_search(weighted, targets, data, rng):
    X, y = data
    y = y if targets is None else y[:, None] + rng.normal(size=(47, targets))
    weights = rng.uniform(0.2, 3.0, 47) if weighted else None
    ours = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=4, fit_intercept=True), X, y, sample_weight=weights)
    theirs = GridSearchCV(KernelRidge(fit_intercept=True), grid(KERNELS, ALPHAS), cv=4, scoring=plain_mse)
    theirs.fit(X, y, sample_weight=weights)
    assert_same_search(ours, theirs, 4, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    assert ours.cv_predictions_.shape == ((1, 47) if targets is None else (1, 47, targets))


def test_leave_one_out_is_the_default_and_equals_grid_search(data):
    data = data[0][:25], data[1][:25]
    ours = quietly(KernelRidgeCV(KERNELS, ALPHAS), *data)
    theirs = GridSearchCV(KernelRidge(), grid(KERNELS, ALPHAS), cv=LeaveOneOut(), scoring="neg_mean_squared_error").fit(
        *data
    )
    assert_same_search(ours, theirs, 25, rtol=1e-7)


def test_groups_are_kept_together_as_grid_search_keeps_them(data, rng):
    groups = rng.integers(0, 6, 47)
    for cv, same in ((3, GroupKFold(3)), (LeaveOneGroupOut(), LeaveOneGroupOut())):
        ours = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=cv), *data, groups=groups)
        theirs = GridSearchCV(KernelRidge(), grid(KERNELS, ALPHAS), cv=same, scoring="neg_mean_squared_error")
        assert_same_search(ours, theirs.fit(*data, groups=groups), len(ours.folds_.splits), rtol=1e-8)


@pytest.mark.parametrize(
    "scoring", [None, "balanced_accuracy", "roc_auc", "f1_macro", make_scorer(metrics.matthews_corrcoef)], ids=str
)
def test_two_classes_equal_grid_search(scoring, labelled):
    ours = quietly(KernelRidgeClassifierCV(KERNELS, ALPHAS, cv=5, scoring=scoring, fit_intercept=True), *labelled)
    theirs = GridSearchCV(
        RememberedClassifier(fit_intercept=True), grid(KERNELS, ALPHAS), cv=5, scoring=scoring or "accuracy"
    ).fit(*labelled)
    assert_same_search(ours, theirs, 5)
    np.testing.assert_array_equal(ours.predict(labelled[0]), theirs.predict(labelled[0]))
    np.testing.assert_allclose(ours.decision_function(labelled[0]), theirs.decision_function(labelled[0]))


@pytest.mark.parametrize("class_weight", [None, {0: 1.0, 1: 5.0, 2: 0.5}, "balanced"], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_three_classes_equal_grid_search(class_weight, weighted, rng):
    X = rng.normal(size=(50, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=50), [-0.8, 0.9])
    weights = rng.uniform(0.2, 2.0, 50) if weighted else None
    how = {"class_weight": class_weight}
    ours = quietly(KernelRidgeClassifierCV(KERNELS, ALPHAS, cv=4, **how), X, y, sample_weight=weights)
    theirs = GridSearchCV(KernelRidgeClassifier(**how), grid(KERNELS, ALPHAS), cv=4, scoring=plain_accuracy)
    theirs.fit(X, y, sample_weight=weights)
    assert_same_search(ours, theirs, 4)
    assert (ours.plan_.chosen.name == "refit") is (class_weight == "balanced")
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.cv_predictions_.shape == (1, 50, 3)


def test_a_class_that_is_missing_from_training_is_never_predicted_there(rng):
    """As GridSearchCV has it: the model of the other two classes."""
    X, y = rng.normal(size=(30, 2)), np.r_[np.zeros(10, int), np.ones(10, int), np.full(10, 2)]
    cv = [(np.arange(20), np.arange(20, 30)), (np.r_[0:5, 10:15, 20:25], np.r_[5:10, 15:20, 25:30])]
    ours = quietly(KernelRidgeClassifierCV(KERNELS, ALPHAS, cv=cv), X, y)
    theirs = GridSearchCV(KernelRidgeClassifier(), grid(KERNELS, ALPHAS), cv=cv).fit(X, y)
    assert_same_search(ours, theirs, 2)
    assert (ours.cv_results_["split0_test_score"] == 0).all()


def test_pooled_accuracy_does_not_choose_a_class_that_was_missing_from_training(rng):
    X, y = rng.normal(size=(30, 2)), np.r_[np.zeros(10, int), np.ones(10, int), np.full(10, 2)]
    cv = [(np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    ours = quietly(KernelRidgeClassifierCV(KERNELS, ALPHAS, cv=cv), X, y)
    np.testing.assert_array_equal(ours.cv_results_["pooled_test_score"], 0.0)


def test_balanced_weights_and_rows_of_weight_zero_equal_refitting(rng):
    """scikit-learn counts all rows of a training set, whatever they weigh."""
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], [28, 12])
    weights = rng.uniform(0.5, 2.0, 40)
    weights[:15] = 0.0
    order = rng.permutation(40)
    X, y, weights = X[order], y[order], weights[order]
    how = {"class_weight": "balanced"}
    ours = KernelRidgeClassifierCV(cv=4, scoring="roc_auc", **PINNED, **how).fit(X, y, sample_weight=weights)
    expected = np.empty(40)
    for split in ours.folds_.splits:
        model = KernelRidgeClassifier(ours.alpha_, kernel=ours.best_kernel_, **how)
        model.fit(X[split.train], y[split.train], weights[split.train])
        expected[split.test] = model.decision_function(X[split.test])
    np.testing.assert_allclose(ours.cv_predictions_[0], expected, rtol=1e-9)
