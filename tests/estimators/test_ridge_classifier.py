"""Labels by regression on labels: equal to those regressions, weighted as asked."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.class_weight import compute_sample_weight

from mercer import KernelRidge, KernelRidgeClassifier, KernelRidgeClassifierCV
from mercer.errors import InputError
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.selection.removals import label_targets
from refusals import tells
from views import read_only

KERNELS = ["linear", "rbf", Gaussian(0.7), Laplacian() + Linear()]


def three_classes(rng, n=45):
    X = rng.normal(size=(n, 3))
    return read_only(X), read_only(np.argmax(X + 0.5 * rng.normal(size=(n, 3)), axis=1))


@pytest.mark.parametrize("solver", ["auto", "cholesky", "spectral"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_two_classes_are_a_regression_on_minus_and_plus_one(kernel, intercept, solver, rng):
    X, y = three_classes(rng)
    labels = np.where(y == 2, "yes", "no")
    params = {"kernel": kernel, "fit_intercept": intercept, "solver": solver}
    model = KernelRidgeClassifier(0.3, **params).fit(X, labels)
    regression = KernelRidge(0.3, **params).fit(X, np.where(y == 2, 1.0, -1.0))
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.decision_function(X), regression.predict(X))
    assert model.decision_function(X).shape == (45,)
    np.testing.assert_array_equal(model.predict(X), np.where(regression.predict(X) > 0, "yes", "no"))
    np.testing.assert_array_equal(model.dual_coef_[:, 0], regression.dual_coef_)
    np.testing.assert_array_equal(model.intercept_, [regression.intercept_])
    assert str(model.route_) == str(regression.route_)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_several_classes_are_regressions_on_one_hot_columns(kernel, intercept, rng):
    X, y = three_classes(rng)
    names = np.array(["red", "green", "blue"])[y]
    model = KernelRidgeClassifier(0.3, kernel=kernel, fit_intercept=intercept).fit(X, names)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    targets = (names[:, None] == model.classes_).astype(float)
    regression = KernelRidge(0.3, kernel=kernel, fit_intercept=intercept).fit(X, targets)
    values = model.decision_function(X)
    assert values.shape == (45, 3)
    np.testing.assert_array_equal(values, regression.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])
    assert model.dual_coef_.shape == (45, 3)
    assert model.intercept_.shape == (3,)
    assert model.score(X, names) > 0.7


def test_with_a_linear_kernel_and_an_intercept_it_is_ridge_classification(rng):
    X, y = three_classes(rng)
    for labels in (y, y == 1):
        peer = RidgeClassifier(0.7).fit(X, labels)
        model = KernelRidgeClassifier(0.7, fit_intercept=True).fit(X, labels)
        np.testing.assert_array_equal(model.predict(X), peer.predict(X))
        if model.decision_function(X).ndim == 1:
            np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=1e-8)


@pytest.mark.parametrize("solver", ["primal", "cholesky"])
@pytest.mark.parametrize("intercept", [False, True])
def test_class_weights_are_sample_weights(intercept, solver, rng):
    X, y = three_classes(rng)
    own = rng.uniform(0.5, 2, size=45)
    params = {"fit_intercept": intercept, "solver": solver}
    for class_weight in ("balanced", {0: 1.0, 1: 5.0, 2: 0.25}, {1: 3.0}, {0: 0.0, 1: 1.0, 2: 1.0}):
        weighted = KernelRidgeClassifier(0.3, class_weight=class_weight, **params).fit(X, y)
        by_class = compute_sample_weight(class_weight, y)
        explicit = KernelRidgeClassifier(0.3, **params).fit(X, y, by_class)
        np.testing.assert_allclose(weighted.decision_function(X), explicit.decision_function(X), rtol=1e-10, atol=1e-12)
        if class_weight != "balanced":
            both = KernelRidgeClassifier(0.3, class_weight=class_weight, **params).fit(X, y, own)
            product = KernelRidgeClassifier(0.3, **params).fit(X, y, own * by_class)
            np.testing.assert_allclose(both.decision_function(X), product.decision_function(X), rtol=1e-10, atol=1e-12)


def test_balanced_classes_weigh_the_same_in_total_whatever_the_rows_weigh(rng):
    """A row of weight two is a row twice, for the balance too."""
    X, y = three_classes(rng)
    counts = rng.integers(1, 4, size=45)
    again = np.repeat(np.arange(45), counts)
    weighted = KernelRidgeClassifier(0.3, class_weight="balanced").fit(X, y, counts)
    repeated = KernelRidgeClassifier(0.3, class_weight="balanced").fit(X[again], y[again])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-8, atol=1e-10)


def test_balance_helps_the_rare_class(rng):
    X = np.vstack([rng.normal(size=(95, 2)), rng.normal(size=(5, 2)) + 1.5])
    y = np.repeat([0, 1], [95, 5])
    plain, balanced = (
        KernelRidgeClassifier(1.0, kernel=Gaussian(2.0), class_weight=w, fit_intercept=True).fit(X, y).predict(X)
        for w in (None, "balanced")
    )
    assert balanced[y == 1].mean() > plain[y == 1].mean()


@pytest.mark.slow
@given(st.integers(2, 5), st.integers(0, 2**16))
def test_the_names_of_the_classes_do_not_matter(classes, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 2)), np.resize(np.arange(classes), 20)
    plain = KernelRidgeClassifier(0.2, kernel="rbf").fit(X, y)
    for names in (np.array(list("abcde")), np.array([-7, 0, 3, 11, 900]), np.array([-1.0, 0.0, 2.0, 3.0, 9.0])):
        named = KernelRidgeClassifier(0.2, kernel="rbf").fit(X, names[y])
        np.testing.assert_array_equal(named.predict(X), names[plain.predict(X)])
        np.testing.assert_array_equal(named.decision_function(X), plain.decision_function(X))
    objects = KernelRidgeClassifier(0.2, kernel="rbf").fit(X, np.array(list("abcde"), dtype=object)[y])
    assert set(objects.predict(X)) <= set("abcde")


def test_true_and_false_are_classes(rng):
    X, y = three_classes(rng)
    model = KernelRidgeClassifier(kernel="rbf").fit(X, y == 0)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, np.asfortranarray, np.ndarray.tolist])
def test_any_container_gives_the_same_labels(make, rng):
    X, y = three_classes(rng)
    plain = KernelRidgeClassifier(0.2).fit(X, y)
    np.testing.assert_allclose(
        KernelRidgeClassifier(0.2).fit(make(X), y).decision_function(make(X)), plain.decision_function(X), rtol=1e-9
    )


def test_a_precomputed_matrix_gives_what_its_kernel_does(rng):
    X, y = three_classes(rng)
    K = Gaussian()(X)
    model = KernelRidgeClassifier(0.2, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(K),
        KernelRidgeClassifier(0.2, kernel=Gaussian()).fit(X, y).decision_function(X),
        rtol=1e-8,
    )


@pytest.mark.parametrize(
    ("labels", "shown"), [([1, 1, 1], "1"), (["a", "a", "a"], "'a'"), ([2.0, 2.0, 2.0], "2.0"), ([True] * 3, "True")]
)
def test_one_class_is_refused_in_a_sentence(labels, shown, rng):
    with pytest.raises(InputError) as caught:
        KernelRidgeClassifier().fit(rng.normal(size=(3, 2)), labels)
    assert tells(str(caught.value), "y of KernelRidgeClassifier", f"got 1 class, {shown}")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_class_left_by_the_weights_is_refused_too(kernel, rng):
    """Rows of weight zero are left out; what is left is one class."""
    X, y = rng.normal(size=(6, 2)), np.array([0, 1, 0, 1, 0, 1])
    with pytest.raises(InputError, match="must be labels of at least two classes"):
        KernelRidgeClassifier(kernel=kernel).fit(X, y, sample_weight=[1, 0, 1, 0, 1, 0])


def test_class_weights_of_zero_for_all_are_refused_in_a_sentence(rng):
    X, y = rng.normal(size=(4, 2)), [0, 1, 0, 1]
    with pytest.raises(InputError):
        KernelRidgeClassifier(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    with pytest.raises(InputError) as caught:
        KernelRidgeClassifier(class_weight={0: -1.0, 1: 1.0}).fit(X, y)
    assert tells(str(caught.value), "class_weight of KernelRidgeClassifier", "got {0: -1.0, 1: 1.0}")


def test_numbers_that_are_no_labels_are_refused(rng):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        KernelRidgeClassifier().fit(rng.normal(size=(5, 2)), rng.normal(size=5))


def test_label_targets_are_what_they_say():
    assert label_targets(np.array([0, 1, 0]), 2).tolist() == [[-1.0], [1.0], [-1.0]]
    assert label_targets(np.array([2, 0]), 3).tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_a_refit_forgets_the_old_classes(rng):
    X, y = three_classes(rng)
    model = KernelRidgeClassifier(kernel="rbf").fit(X, y).fit(X[:, :2], y == 0)
    fresh = KernelRidgeClassifier(kernel="rbf").fit(X[:, :2], y == 0)
    np.testing.assert_array_equal(model.decision_function(X[:, :2]), fresh.decision_function(X[:, :2]))
    assert sorted(vars(model)) == sorted(vars(fresh))


def test_grids_and_pickles(rng):
    X, y = three_classes(rng)
    grid = GridSearchCV(KernelRidgeClassifier(kernel=Gaussian()), {"kernel__width": [0.1, 1.0, 50.0]}, cv=3).fit(X, y)
    separately = [
        cross_val_score(KernelRidgeClassifier(kernel=Gaussian(width)), X, y, cv=3).mean() for width in (0.1, 1.0, 50.0)
    ]
    np.testing.assert_array_equal(grid.cv_results_["mean_test_score"], separately)
    model = grid.best_estimator_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_one_class_is_left_where_class_weights_leave_one(rng):
    X, y = rng.normal(size=(6, 2)), [0, 1, 0, 1, 1, 0]
    for model in (KernelRidgeClassifier(class_weight={0: 0.0}), KernelRidgeClassifierCV(class_weight={0: 0.0})):
        with pytest.raises(InputError) as caught:
            model.fit(X, y)
        assert tells(str(caught.value), f"y of {type(model).__name__}", "got 1 class, 1")


def test_a_refused_fit_leaves_the_model_as_it_was(rng):
    X = rng.normal(size=(8, 2))
    model = KernelRidgeClassifier(kernel="rbf").fit(X, list("abababab"))
    before = model.predict(X).tolist()
    with pytest.raises(InputError):
        model.set_params(alpha=-1.0).fit(X, list("yzyzyzyz"))
    assert model.predict(X).tolist() == before
