"""What goes into a search: rows of every kind, mistakes, few rows and singular systems."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from search_cases import (
    ALPHAS,
    KERNELS,
    PINNED,
    assert_same_search,
    classification,
    plain_mse,
    quietly,
    regression,
    untouchable,
)
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge, KernelRidgeClassifier, KernelRidgeClassifierCV, KernelRidgeCV, cross_validate
from mercer.errors import IllConditionedWarning, InputError, MercerWarning, SingularSystemWarning
from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Precomputed
from refits import grid

pytestmark = pytest.mark.slow


@pytest.fixture
def data(rng):
    return regression(rng)


@pytest.fixture
def labelled(rng):
    return classification(rng)


# -- what goes in -------------------------------------------------------------------------------------------


def test_pipelines_data_frames_and_sparse_rows_give_the_same_numbers(data):
    X, y = data
    plain = KernelRidgeCV(cv=4, **PINNED).fit(X, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = KernelRidgeCV(cv=4, **PINNED).fit(frame, pd.Series(y))
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    thin = KernelRidgeCV(cv=4, **PINNED).fit(sparse.csr_matrix(X), y)
    for other, rows in ((named, frame), (thin, sparse.csc_matrix(X))):
        np.testing.assert_allclose(other.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
        np.testing.assert_allclose(other.predict(rows), plain.predict(X))
    pipe = make_pipeline(StandardScaler(), KernelRidgeCV(cv=4, **PINNED)).fit(X, y)
    scaled = KernelRidgeCV(cv=4, **PINNED).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(pipe.predict(X), scaled.predict(StandardScaler().fit_transform(X)))
    pipe = make_pipeline(StandardScaler(), KernelRidgeCV(cv=3, **PINNED))
    pipe.fit(X, y, kernelridgecv__groups=np.arange(47) % 5, kernelridgecv__sample_weight=np.ones(47))
    assert pipe[-1].folds_.label == "grouped 3-fold, unshuffled"


def test_kernels_of_named_columns_work_on_data_frames(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    kernels = [Gaussian(w).on("a") + Linear().on(["b", "c"]) for w in (0.5, 1.0)]
    named = KernelRidgeCV(kernels, [0.1, 1.0], cv=4).fit(frame, y)
    numbered = KernelRidgeCV([Gaussian(w).on(0) + Linear().on([1, 2]) for w in (0.5, 1.0)], [0.1, 1.0], cv=4).fit(X, y)
    np.testing.assert_allclose(named.predict(frame), numbered.predict(X))
    labels = np.where(y > 0, "a", "b")
    named = KernelRidgeClassifierCV(kernels, [0.1, 1.0], cv=4).fit(frame, labels)
    assert (named.predict(frame) == labels).mean() > 0.5


def test_the_winner_takes_the_data_frame_that_was_fitted(data):
    frame = pd.DataFrame(data[0], columns=["a", "b", "c"])
    search = KernelRidgeCV(**PINNED).fit(frame, data[1])
    np.testing.assert_allclose(search.best_estimator_.predict(frame), search.predict(frame))


def test_precomputed_kernels_give_the_numbers_of_the_kernel(data, rng):
    X, y = data
    K, new = Gaussian(1.5)(X), Gaussian(1.5)(X[:4] + 0.3, X)
    how = {"alphas": [0.1, 1.0], "cv": KFold(4, shuffle=True, random_state=0)}
    for weights in (None, np.r_[np.zeros(5), rng.uniform(0.5, 2.0, 42)]):
        by_kernel = KernelRidgeCV([Gaussian(1.5)], **how).fit(X, y, sample_weight=weights)
        for kernels in ("precomputed", [Precomputed()]):
            given = KernelRidgeCV(kernels, **how).fit(K, y, sample_weight=weights)
            np.testing.assert_allclose(
                given.cv_results_["mean_test_score"], by_kernel.cv_results_["mean_test_score"], rtol=1e-9
            )
            np.testing.assert_allclose(given.predict(new), by_kernel.predict(X[:4] + 0.3), rtol=1e-9)
            assert given.__sklearn_tags__().input_tags.pairwise


def test_copies_and_pickles_are_the_same_search(data):
    search = KernelRidgeCV(cv=4, **PINNED).fit(*data)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(data[0]), search.predict(data[0]))
    np.testing.assert_array_equal(clone(search).fit(*data).predict(data[0]), search.predict(data[0]))
    assert again.summary() == search.summary()


def test_the_same_seed_gives_the_same_search(data):
    one, other = (quietly(KernelRidgeCV(cv=4, repeats=2, random_state=7), *data) for _ in range(2))
    for name in ("mean_test_score", "condition"):
        assert one.cv_results_[name].tobytes() == other.cv_results_[name].tobytes()
    np.testing.assert_array_equal(one.cv_predictions_, other.cv_predictions_)


def test_arrays_are_never_changed(data):
    X, y = (array.copy() for array in data)
    weights = np.ones(47)
    for array in (X, y, weights):
        array.flags.writeable = False
    KernelRidgeCV([Gaussian(), Linear()], [0.1, 1.0], cv=3).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(X, data[0])


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"rule": "two_se"}, "rule of KernelRidgeCV must be 'best' or 'one_se'; got 'two_se'."),
        ({"cv": 48}, "The number of folds must be between 2 and the number of rows, 47; got 48."),
        (
            {"alphas": [-1.0]},
            "alphas must be finite, non-negative numbers; got [-1.0]. Use numbers such as 0.01, 0.1 and 1.",
        ),
        ({"kernels": "gaus"}, "There is no kernel 'gaus'. Did you mean 'gaussian'?"),
        (
            {"kernels": [Gaussian(), Precomputed()]},
            "kernels must be all precomputed or none; got both.",
        ),
        ({"repeats": 0}, "repeats must be an integer of at least 1; got 0."),
        ({"scoring": "acuracy"}, "Unknown scoring 'acuracy'. Did you mean 'accuracy'?"),
    ],
)
def test_mistakes_are_refused_in_a_sentence(how, sentence, data):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        KernelRidgeCV(**how).fit(*data)


def test_bad_weights_and_bad_matrices_are_refused(data):
    with pytest.raises(InputError, match=r"sample_weight of KernelRidgeCV.* got -1 in row 0"):
        KernelRidgeCV(**PINNED).fit(*data, sample_weight=np.r_[-1.0, np.ones(46)])
    with pytest.raises(ValueError, match=r"non-zero|positive for at least one row"):
        KernelRidgeCV(**PINNED).fit(*data, sample_weight=np.zeros(47))
    with pytest.raises(InputError, match=r"^The precomputed kernel matrix K in fit must be symmetric"):
        KernelRidgeCV("precomputed").fit(np.arange(9.0).reshape(3, 3), [1.0, 2.0, 3.0])
    with pytest.raises(
        InputError,
        match=(
            r"^y of KernelRidgeClassifierCV must be labels of at least two classes with positive sample weight; got 1"
        ),
    ):
        KernelRidgeClassifierCV(**PINNED).fit(data[0], np.zeros(47, int))


def test_a_misspelt_class_weight_is_refused_before_the_search(labelled):
    kernels = [Custom(untouchable)]
    with pytest.raises(ValueError, match="balansed"):
        KernelRidgeClassifierCV(kernels, [0.1, 1.0], class_weight="balansed").fit(*labelled)


def test_scores_that_are_never_numbers_do_not_choose(data):
    """The first candidate of the list is no winner."""
    with pytest.raises(InputError, match=r"NaN|no number|not a number|finite"):
        KernelRidgeCV(scoring=lambda y, p: float("nan"), cv=3, **PINNED).fit(*data)


def test_probabilities_in_the_search_are_refused_with_the_reason(labelled):
    with pytest.raises((InputError, AttributeError), match="calibrated after the search"):
        KernelRidgeClassifierCV(scoring="neg_log_loss", cv=3, **PINNED).fit(*labelled)


# -- hard cases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3])
def test_two_or_three_rows_are_enough(n, rng):
    X, y = rng.normal(size=(n, 1)), rng.normal(size=n)
    for cv in (None, 2):
        search = quietly(KernelRidgeCV([Gaussian(), Linear()], [0.1, 1.0], cv=cv), X, y)
        theirs = GridSearchCV(
            KernelRidge(),
            grid([Gaussian(), Linear()], [0.1, 1.0]),
            cv=cv or LeaveOneOut(),
            scoring="neg_mean_squared_error",
        ).fit(X, y)
        np.testing.assert_allclose(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    quietly(KernelRidgeCV(), X, y)


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_training_parts_of_a_single_class_have_no_score(scoring, rng):
    """As where each part is refitted: a classifier of one class is refused."""
    X, y = rng.normal(size=(30, 1)), np.repeat(["a", "b"], 15)
    splits = [(np.arange(15), np.arange(15, 30)), (np.arange(5, 25), np.r_[:5, 25:30])]
    search = KernelRidgeClassifierCV([Gaussian()], [0.1, 1.0], cv=splits, scoring=scoring)
    with pytest.raises(InputError, match=r"All scores are NaN \(the training rows of a split have a single class\)"):
        search.fit(X, y)
    with pytest.warns(MercerWarning, match="the training rows of a split have a single class"):
        found = cross_validate(KernelRidgeClassifier(0.1, kernel=Gaussian()), X, y, cv=splits, scoring=scoring)
    assert np.isnan(found.scores[0]).tolist() == [True, False]
    with pytest.raises(InputError, match="a single class"):
        KernelRidgeClassifierCV([Gaussian()], [0.1]).fit(X[:2], ["a", "b"])


def test_a_fold_with_one_row(data):
    cv = [(np.arange(46), [46]), (np.arange(1, 47), [0])]
    ours = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=cv), *data)
    theirs = GridSearchCV(KernelRidge(), grid(KERNELS, ALPHAS), cv=cv, scoring="neg_mean_squared_error").fit(*data)
    assert_same_search(ours, theirs, 2, rtol=1e-7)
    assert np.isnan(ours.cv_predictions_).sum() == 45


def test_duplicated_rows_and_alpha_zero_give_the_shortest_solutions(rng):
    X, y = np.repeat(rng.normal(size=(12, 2)), 2, axis=0), rng.normal(size=24)
    with pytest.warns(SingularSystemWarning):
        theirs = GridSearchCV(
            KernelRidge(), grid([Laplacian(2.0), Linear()], [0.0, 0.1]), cv=4, scoring="neg_mean_squared_error"
        ).fit(X, y)
    ours = KernelRidgeCV([Laplacian(2.0), Linear()], [0.0, 0.1], cv=4).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-7)
    condition = ours.cv_results_["condition"]
    assert np.isinf(condition[[0, 2]]).all()
    assert np.isfinite(condition[[1, 3]]).all()


@pytest.mark.filterwarnings("ignore:.*are copies of other rows:mercer.errors.MercerWarning")
def test_a_singular_winner_is_warned_about(rng):
    X = np.repeat(np.linspace(0, 1, 10), 2)[:, None]
    with (
        pytest.warns(IllConditionedWarning, match="KernelRidgeCV is nearly singular"),
        pytest.warns(SingularSystemWarning),
    ):
        search = KernelRidgeCV([Laplacian(5.0)], [0.0, 100.0], cv=None).fit(X, X[:, 0])
    assert search.alpha_ == 0.0
    assert search.digits_ == 0.0


@pytest.mark.parametrize("value", [0.0, 0.1, -3e8])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_constant_target(value, intercept, rng):
    X, y = rng.normal(size=(20, 2)), np.full(20, value)
    for scoring in (None, "neg_mean_absolute_error"):
        ours = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=4, scoring=scoring, fit_intercept=intercept), X, y)
        assert np.isfinite(ours.best_score_)
        np.testing.assert_allclose(ours.predict(X), value, atol=0.3 * abs(value) * (not intercept) + 1e-6 * abs(value))


def test_weights_of_zero_are_rows_that_are_only_predicted(data, rng):
    X, y = data
    weights = rng.uniform(0.5, 2.0, 47)
    weights[::4] = 0.0
    ours = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=5, fit_intercept=True), X, y, sample_weight=weights)
    theirs = GridSearchCV(KernelRidge(fit_intercept=True), grid(KERNELS, ALPHAS), cv=5, scoring=plain_mse)
    theirs.fit(X, y, sample_weight=weights)
    assert_same_search(ours, theirs, 5, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def test_a_training_set_without_weight_is_refused_or_predicts_nought(data):
    """KernelRidge refuses to fit such rows; a search must not make numbers up."""
    weights = np.r_[np.ones(20), np.zeros(27)]
    cv = [(np.arange(20, 47), np.arange(20)), (np.arange(20), np.arange(20, 47))]
    for intercept in (False, True):
        try:
            search = KernelRidgeCV(cv=cv, fit_intercept=intercept, **PINNED).fit(*data, sample_weight=weights)
        except InputError:
            continue
        np.testing.assert_allclose(search.cv_predictions_[0, :20], 0.0, atol=1e-12)


def test_more_targets_than_rows(rng):
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(8, 30))
    ours = quietly(KernelRidgeCV(KERNELS, ALPHAS, cv=3), X, Y)
    theirs = GridSearchCV(KernelRidge(), grid(KERNELS, ALPHAS), cv=3, scoring="neg_mean_squared_error").fit(X, Y)
    assert_same_search(ours, theirs, 3, rtol=1e-8)


@pytest.mark.slow
def test_ten_thousand_alphas(data):
    alphas = np.geomspace(1e-4, 1e3, 10_000)
    search = KernelRidgeCV([Gaussian(1.5)], alphas, cv=None).fit(*data)
    assert len(search.cv_results_["mean_test_score"]) == 10_000
    coarse = KernelRidgeCV([Gaussian(1.5)], alphas[::100], cv=None).fit(*data)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"][::100], coarse.cv_results_["mean_test_score"], rtol=1e-9
    )
    assert search.plan_.chosen.name == "spectral"
