"""Nearest neighbours in feature space equal scikit-learn's where the spaces agree, and a full sort elsewhere."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.errors import InputError
from mercer.kernels import Constant, Custom, Gaussian, Laplacian, Linear, Matern, Polynomial
from oracles import feature_distances
from refusals import tells
from views import read_only

KERNELS = [Gaussian(0.8), Laplacian(), Matern(nu=0.5), Polynomial(2), Gaussian() * Polynomial(2), Linear().normalized()]


@pytest.mark.parametrize("count", [1, 3, 40])
@pytest.mark.slow
def test_with_the_linear_kernel_it_is_scikit_learns(count, rng):
    X, new = read_only(rng.normal(size=(40, 3))), read_only(rng.normal(size=(17, 3)))
    y, Y = rng.integers(0, 3, size=40), rng.normal(size=(40, 2))
    theirs, ours = KNeighborsRegressor(count, algorithm="brute"), KernelNeighborsRegressor("linear", count)
    np.testing.assert_allclose(ours.fit(X, Y).predict(new), theirs.fit(X, Y).predict(new), rtol=1e-12)
    np.testing.assert_allclose(ours.fit(X, Y[:, 0]).predict(new), theirs.fit(X, Y[:, 0]).predict(new), rtol=1e-12)
    distances, places = ours.kneighbors(new)
    expected_distances, expected_places = theirs.kneighbors(new)
    np.testing.assert_array_equal(places, expected_places)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9, atol=1e-7)
    np.testing.assert_array_equal(ours.kneighbors(new, return_distance=False), expected_places)
    their_labels, our_labels = KNeighborsClassifier(count), KernelNeighborsClassifier("linear", count)
    np.testing.assert_array_equal(our_labels.fit(X, y).predict(new), their_labels.fit(X, y).predict(new))
    np.testing.assert_allclose(our_labels.predict_proba(new), their_labels.predict_proba(new))


@pytest.mark.parametrize("count", [1, 2, 7, 30])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_any_kernel_equals_a_sort_of_its_distances(kernel, count, rng):
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(11, 3))
    y, names = rng.normal(size=30), rng.choice(["a", "b", "c"], size=30)
    expected = feature_distances(kernel, new, X)
    order = np.argsort(expected, axis=1, kind="stable")[:, :count]
    regressor = KernelNeighborsRegressor(kernel, count).fit(X, y)
    distances, places = regressor.kneighbors(new)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_allclose(distances, np.take_along_axis(expected, order, axis=1), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(regressor.predict(new), y[order].mean(axis=1), rtol=1e-12)
    classifier = KernelNeighborsClassifier(kernel, count).fit(X, names)
    shares = np.stack([(names[order] == name).mean(axis=1) for name in ("a", "b", "c")], axis=1)
    np.testing.assert_allclose(classifier.predict_proba(new), shares, atol=1e-15)
    np.testing.assert_array_equal(classifier.predict(new), np.array(["a", "b", "c"])[shares.argmax(axis=1)])


def test_each_row_is_nearest_to_itself_at_distance_nought(rng):
    X = rng.normal(size=(50, 3))
    for kernel in KERNELS:
        distances, places = KernelNeighborsRegressor(kernel).fit(X, rng.normal(size=50)).kneighbors(X)
        assert places.ravel().tolist() == list(range(50))
        np.testing.assert_allclose(distances, 0.0, atol=1e-6)


@pytest.mark.parametrize("count", [1, 3, 600])
def test_more_rows_than_one_tile_equal_a_full_sort(count, rng):
    X, new, y = rng.normal(size=(1100, 4)), rng.normal(size=(600, 4)), rng.normal(size=1100)
    theirs = KNeighborsRegressor(count, algorithm="kd_tree").fit(X, y)
    for kernel in ("linear", Gaussian(3.0)):  # both rank as the Euclidean distance does
        np.testing.assert_allclose(
            KernelNeighborsRegressor(kernel, count).fit(X, y).predict(new), theirs.predict(new), rtol=1e-9, atol=1e-9
        )


def test_ties_go_to_the_earlier_row():
    X = np.array([[2.0], [0.0], [2.0], [0.0], [1.0]])
    model = KernelNeighborsRegressor("linear", 2).fit(X, [10.0, 20.0, 30.0, 40.0, 50.0])
    assert model.kneighbors([[0.0], [2.0], [1.0]], return_distance=False).tolist() == [[1, 3], [0, 2], [4, 0]]
    everything_is_tied = KernelNeighborsRegressor(Constant(1.0), 3).fit(X, np.arange(5.0))
    assert everything_is_tied.kneighbors([[9.0]], return_distance=False).tolist() == [[0, 1, 2]]
    np.testing.assert_array_equal(everything_is_tied.kneighbors([[9.0]])[0], 0.0)


def test_equal_votes_go_to_the_class_that_comes_first():
    model = KernelNeighborsClassifier("linear", 2).fit([[0.0], [1.0]], ["b", "a"])
    assert model.predict([[0.4]]).tolist() == ["a"]
    assert model.predict_proba([[0.4]]).tolist() == [[0.5, 0.5]]


def test_duplicated_rows_are_all_found(rng):
    X = np.repeat(rng.normal(size=(5, 3)), 4, axis=0)
    _, places = KernelNeighborsRegressor(Gaussian(), 4).fit(X, rng.normal(size=20)).kneighbors(X)
    for row in range(20):
        assert sorted(places[row].tolist()) == list(range(row // 4 * 4, row // 4 * 4 + 4))


@given(st.integers(1, 10), st.data())
def test_small_tables_equal_a_sort(n, data):
    count = data.draw(st.integers(1, n))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    X, y, new = rng.normal(size=(n, 2)), rng.normal(size=n), rng.normal(size=(3, 2))
    order = np.argsort(feature_distances(Matern(), new, X), axis=1, kind="stable")[:, :count]
    found = KernelNeighborsRegressor(Matern(), count).fit(X, y).predict(new)
    np.testing.assert_allclose(found, y[order].mean(axis=1), rtol=1e-12, atol=1e-14)


# -- precomputed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_precomputed_matrix_ranks_without_diag_and_measures_with_it(container, rng):
    X, new, y = rng.normal(size=(20, 3)), rng.normal(size=(6, 3)), rng.normal(size=20)
    kernel = Polynomial(2)
    K, against = read_only(kernel(X)), read_only(kernel(new, X))
    model = KernelNeighborsRegressor("precomputed", 3).fit(container(K), y)
    direct = KernelNeighborsRegressor(kernel, 3).fit(X, y)
    np.testing.assert_allclose(model.predict(container(against)), direct.predict(new), rtol=1e-12)
    distances, places = model.kneighbors(container(against), diag=kernel.diag(new))
    expected_distances, expected_places = direct.kneighbors(new)
    np.testing.assert_array_equal(places, expected_places)
    np.testing.assert_allclose(distances, expected_distances, rtol=1e-9)
    np.testing.assert_array_equal(model.kneighbors(container(against), return_distance=False), expected_places)
    names = np.where(y > 0, "up", "down")
    np.testing.assert_array_equal(
        KernelNeighborsClassifier("precomputed", 3).fit(container(K), names).predict(container(against)),
        KernelNeighborsClassifier(kernel, 3).fit(X, names).predict(new),
    )


def test_distances_of_a_precomputed_matrix_without_diag_are_refused_in_a_sentence(rng):
    K = np.eye(5)
    model = KernelNeighborsClassifier("precomputed").fit(K, [0, 1, 0, 1, 0])
    with pytest.raises(InputError) as caught:
        model.kneighbors(K[:2])
    assert tells(str(caught.value), "Distances of KernelNeighborsClassifier")
    with pytest.raises(InputError) as caught:
        model.kneighbors(K[:2], diag=[1.0])
    assert tells(str(caught.value), "diag", "got shape (1,)")


def test_diag_beside_a_kernel_that_knows_it_is_refused(rng):
    """KernelRidge refuses it too: a number that is not used must not be taken."""
    model = KernelNeighborsRegressor("linear").fit(rng.normal(size=(5, 2)), rng.normal(size=5))
    with pytest.raises(InputError) as caught:
        model.kneighbors([[0.0, 0.0]], diag=[1.0])
    assert tells(str(caught.value), "diag=")


@pytest.mark.parametrize("estimator", [KernelNeighborsClassifier, KernelNeighborsRegressor])
def test_a_matrix_that_is_no_gram_matrix_is_refused_in_a_sentence(estimator):
    y = [0, 1, 0]
    with pytest.raises(InputError) as caught:
        estimator("precomputed").fit(np.ones((3, 2)), y)
    assert tells(str(caught.value), "The precomputed kernel matrix", "got 3 x 2")
    with pytest.raises(InputError) as caught:
        estimator("precomputed").fit(np.triu(np.ones((3, 3))), y)
    assert tells(str(caught.value), "The precomputed kernel matrix", "got K[0, 1] = 1 and K[1, 0] = 0")


# -- manners --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, -1, 6, 2.5, "3", None, True])
@pytest.mark.parametrize("estimator", [KernelNeighborsClassifier, KernelNeighborsRegressor])
def test_a_bad_number_of_neighbours_is_refused_in_a_sentence(estimator, count, rng):
    with pytest.raises(InputError) as caught:
        estimator("linear", count).fit(rng.normal(size=(5, 2)), [0, 1, 0, 1, 0])
    must, got = f"n_neighbors of {estimator.__name__} must be an integer between 1 and", re.escape(repr(count))
    assert re.fullmatch(rf"{must} .*\b5\b.*; got {got}\.", str(caught.value))


@pytest.mark.parametrize("count", [0, -1, 6, 2.5, "3", True])
def test_a_bad_number_of_neighbours_is_refused_when_asking_too(count, rng):
    model = KernelNeighborsRegressor("linear", 2).fit(rng.normal(size=(5, 2)), rng.normal(size=5))
    with pytest.raises(InputError, match=r"^n_neighbors.* must be .*between 1 and .*\b5\b.*; got "):
        model.kneighbors([[0.0, 0.0]], count)


def test_the_number_of_neighbours_can_be_changed_when_asking(rng):
    X = rng.normal(size=(9, 2))
    model = KernelNeighborsRegressor("linear", 2).fit(X, rng.normal(size=9))
    assert model.kneighbors(X)[1].shape == (9, 2)
    assert model.kneighbors(X, 5)[1].shape == (9, 5)
    assert model.kneighbors(X, np.int64(9), return_distance=False).shape == (9, 9)


def test_one_row_and_one_class_are_enough():
    assert KernelNeighborsClassifier().fit([[1.0]], ["only"]).predict([[5.0], [6.0]]).tolist() == ["only", "only"]
    assert KernelNeighborsRegressor().fit([[1.0]], [7.0]).predict([[5.0]]).tolist() == [7.0]


def test_inputs_are_neither_changed_nor_kept(rng):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    model = KernelNeighborsRegressor("rbf", 3).fit(read_only(X), read_only(Y))
    new = rng.normal(size=(5, 2))
    before = model.predict(read_only(new))
    X[:], Y[:] = 0.0, 0.0
    np.testing.assert_array_equal(model.predict(new), before)


def test_labels_are_not_kept_either(rng):
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, size=20)
    model = KernelNeighborsClassifier("rbf", 3).fit(X, y)
    before = model.predict_proba(X)
    y[:] = 0
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_columns_are_checked_by_name_and_number(rng):
    frame = pd.DataFrame(rng.normal(size=(6, 2)), columns=["a", "b"])
    model = KernelNeighborsRegressor(Gaussian().on("b")).fit(frame, rng.normal(size=6))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"b": "c"}))
    with pytest.raises(ValueError, match="X has 1 features, but KernelNeighborsRegressor is expecting 2"):
        KernelNeighborsRegressor().fit(frame.to_numpy(), rng.normal(size=6)).predict(frame.to_numpy()[:, :1])


def test_a_kernel_of_your_own_works(rng):
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    own = Custom(lambda A, B: (A @ B.T) ** 2)
    np.testing.assert_array_equal(
        KernelNeighborsRegressor(own, 2).fit(X, y).predict(X),
        KernelNeighborsRegressor(Polynomial(2, offset=0.0), 2).fit(X, y).predict(X),
    )


def test_pickles_predict_the_same(rng):
    X, y = rng.normal(size=(12, 2)), rng.integers(0, 3, size=12)
    for model in (KernelNeighborsClassifier(Gaussian(), 2), KernelNeighborsRegressor(Gaussian() + Linear(), 2)):
        model.fit(X, y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
