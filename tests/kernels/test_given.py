"""Kernels that come from outside: a matrix, a function of blocks, explicit features, one function."""

import contextlib
import pickle

import numpy as np
import pytest
from scipy import sparse

from formulas import worst
from mercer.errors import InputError
from mercer.kernels import Custom, FromFeatures, Gaussian, Kernel, Linear, Outer, Precomputed
from mercer.runtime import threads
from mercer.testing import check_kernel
from refusals import refusal, tells


def overlap(X, Z):
    return np.minimum(X[:, None], Z[None]).sum(axis=2)


def spiral(X):
    return np.column_stack([X[:, 0], X[:, 1], (X**2).sum(axis=1)])


def first(X):
    return X[:, 0]


class Noted:
    """A function of blocks that remembers the shapes it was called with."""

    def __init__(self):
        self.shapes = []

    def __call__(self, X, Z):
        self.shapes.append((len(X), len(Z)))
        return X @ Z.T


# -- Custom -----------------------------------------------------------------------------------------


def test_a_function_of_blocks_is_a_kernel(rng):
    X, Z = rng.exponential(size=(7, 3)), rng.exponential(size=(4, 3))
    kernel = Custom(overlap)
    assert worst(kernel(X), overlap(X, X)) < 1e-15
    assert worst(kernel(X, Z), overlap(X, Z)) < 1e-15
    assert worst(kernel.diag(X), X.sum(axis=1)) < 1e-15
    assert worst((2.0 * kernel + Linear())(X, Z), 2 * overlap(X, Z) + X @ Z.T) < 1e-14
    check_kernel(kernel)
    check_kernel(kernel.normalized() * Gaussian())


def test_a_function_is_called_for_blocks_and_never_pair_by_pair(rng):
    noted = Noted()
    X = rng.normal(size=(1100, 2))
    with threads(1):
        Custom(noted)(X)
    assert noted.shapes == [(500, 500), (500, 500), (500, 100), (500, 500), (500, 100), (100, 100)]


def test_a_function_is_called_for_blocks_of_rows_against_other_rows(rng):
    noted = Noted()
    with threads(1):
        Custom(noted)(rng.normal(size=(700, 2)), rng.normal(size=(3, 2)))
    assert noted.shapes == [(500, 3), (200, 3)]


def test_the_diagonal_of_a_function_is_taken_from_small_blocks(rng):
    noted = Noted()
    X = rng.normal(size=(100, 2))
    assert worst(Custom(noted).diag(X), (X**2).sum(axis=1)) < 1e-14
    assert len(noted.shapes) == 4
    assert max(noted.shapes) == (32, 32)


def test_a_class_of_ones_own_is_called_for_blocks_too(rng):
    calls = []

    class Counted(Kernel):
        width: float = 1.0

        def block(self, pair):
            calls.append(pair.shape)
            return np.exp(-pair.squared_distance(1.0 / self.width))

    X = rng.normal(size=(600, 3))
    with threads(1):
        K = Counted(2.0)(X)
    assert calls == [(500, 500), (500, 100), (100, 100)]
    assert worst(K, Gaussian.from_gamma(0.25)(X)) < 1e-12


@pytest.mark.parametrize(
    ("wrong", "shape"),
    [(lambda X, Z: X, (5, 3)), (lambda X, Z: X[:, 0], (5,)), (lambda X, Z: 1.0, ()), (lambda X, Z: None, ())],
)
def test_a_result_of_the_wrong_shape_is_refused(wrong, shape, rng):
    X = rng.normal(size=(5, 3))
    said = (
        "The result of Custom(function=<lambda>) must be an array of shape (5, 5): one row per row of X, one column "
        f"per row of Z; got shape {shape}. A kernel takes whole blocks (X, Z), not single rows."
    )
    assert refusal(Custom(wrong), X) == said
    assert refusal(Custom(wrong), X, X) == said


@pytest.mark.parametrize("wrong", [lambda X, Z: 1.0, lambda X, Z: Z[:, 0], lambda X, Z: X[:, :1]])
@pytest.mark.parametrize(
    "around", [lambda k: Linear() + k, lambda k: k + Linear(), lambda k: Linear() * k, lambda k: Linear() + k**2]
)
def test_a_result_of_the_wrong_shape_is_refused_inside_other_kernels_too(wrong, around, rng):
    X = rng.normal(size=(5, 3))
    with pytest.raises(InputError, match=r"The result of .* must be an array of shape \(5, 5\)"):
        around(Custom(wrong))(X, X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_result_that_is_not_finite_is_refused(bad, rng):
    X = rng.normal(size=(5, 3))
    kernel = Custom(lambda X, Z: np.full((len(X), len(Z)), bad))
    assert tells(refusal(kernel, X), "Every value of Custom(function=<lambda>)", "got NaN or infinity")
    assert tells(refusal(kernel, X, X), "Every value of Custom(function=<lambda>)", "got NaN or infinity")


def test_an_infinity_is_not_hidden_by_what_surrounds_it(rng):
    minus = Custom(lambda X, Z: np.full((len(X), len(Z)), -np.inf))
    with pytest.raises(InputError, match="must be finite; got NaN or infinity"):
        minus.exp()(rng.normal(size=(5, 3)))


def test_a_result_that_is_not_symmetric_is_refused():
    X = np.array([[0.0], [3.0]])
    kernel = Custom(lambda X, Z: X - Z.T)
    assert tells(refusal(kernel, X), "Custom(function=<lambda>)", "got a difference of 6")
    assert (kernel(X, X) == X - X.T).all()  # of two tables nobody knows that they are the same


def test_small_values_that_are_not_symmetric_are_refused_too():
    kernel = Custom(lambda X, Z: 1e-12 * (X - Z.T))
    with pytest.raises(InputError, match="must be symmetric"):
        kernel(np.array([[0.0], [3.0]]))


def test_rounding_errors_of_a_function_are_averaged_away(rng):
    X = rng.normal(size=(5, 3))
    K = Custom(lambda X, Z: X @ Z.T + 1e-14 * X[:, :1])(X)
    assert (K == K.T).all()


@pytest.mark.parametrize(
    "wrong", [lambda X, Z: "a", lambda X, Z: [["a"] * len(Z)] * len(X), lambda X, Z: 1j * np.ones((len(X), len(Z)))]
)
def test_a_result_that_holds_no_real_numbers_is_refused_in_a_sentence(wrong, rng):
    with pytest.raises(InputError):
        Custom(wrong)(rng.normal(size=(3, 2)))


def test_a_function_gets_the_rows_as_they_are_given_even_sparse_ones(rng):
    X = sparse.csr_array(rng.normal(size=(5, 3)))
    seen = []

    def noted(X, Z):
        seen.append(type(X))
        return (X @ Z.T).toarray()

    assert worst(Custom(noted)(X), (X @ X.T).toarray()) < 1e-14
    assert all(issubclass(each, sparse.sparray) for each in seen)


def test_a_sparse_result_is_taken_or_refused_in_a_sentence(rng):
    X = sparse.csr_array(rng.normal(size=(5, 3)))
    try:
        K = Custom(lambda X, Z: X @ Z.T)(X)
    except InputError:
        return
    assert worst(K, (X @ X.T).toarray()) < 1e-14


def test_lists_and_whole_numbers_are_results_too():
    K = Custom(lambda X, Z: [[int(x[0] * z[0]) for z in Z] for x in X])([[1.0], [2.0]])
    assert K.dtype == np.float64
    assert K.tolist() == [[1.0, 2.0], [2.0, 4.0]]


def test_a_function_that_returns_the_same_array_again_is_not_overwritten(rng):
    kept = np.ones((4, 4))
    kernel = 2.0 * Custom(lambda X, Z: kept) + Custom(lambda X, Z: kept)
    assert (kernel(rng.normal(size=(4, 2))) == 3.0).all()
    assert (kept == 1.0).all()


def test_objects_are_given_to_a_function_as_they_are():
    kernel = Custom(lambda X, Z: np.array([[float(len(set(x) & set(z))) for z in Z] for x in X]))
    assert kernel(["abc", "bcd"]).tolist() == [[3.0, 2.0], [2.0, 3.0]]
    assert kernel([{1, 2}, {2}]).tolist() == [[2.0, 1.0], [1.0, 1.0]]
    check_kernel(kernel, ["abc", "bcd", "x"])


def test_a_function_that_writes_into_its_rows_does_not_change_yours(rng):
    X, Z = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    kept = X.copy()

    def careless(X, Z):
        X *= 2.0
        return X @ Z.T

    with contextlib.suppress(ValueError):
        Custom(careless)(X, Z)
    assert (X == kept).all()


def test_an_error_in_a_function_is_raised_as_it_is(rng):
    def broken(X, Z):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Custom(broken)(rng.normal(size=(1100, 2)))


def test_custom_kernels_are_equal_where_they_hold_the_same_function():
    assert Custom(overlap) == Custom(overlap)
    assert hash(Custom(overlap)) == hash(Custom(overlap))
    assert Custom(overlap) != Custom(np.dot)
    assert pickle.loads(pickle.dumps(Custom(overlap))) == Custom(overlap)
    assert repr(Custom(overlap)) == "Custom(function=<overlap>)"


@pytest.mark.parametrize(("family", "name"), [(Custom, "function"), (FromFeatures, "phi"), (Outer, "f")])
@pytest.mark.parametrize("wrong", [3, None, "abs", [1.0]])
def test_what_cannot_be_called_is_refused(family, name, wrong):
    assert tells(refusal(family, wrong), f"{name} of {family.__name__}", f"got {wrong!r}")


# -- FromFeatures and Outer -------------------------------------------------------------------------


def test_the_seed_features_give_the_scalar_product_plus_the_product_of_squared_lengths(rng):
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Z, axis=1)
    assert worst(FromFeatures(spiral)(X, Z), X @ Z.T + lengths**2) < 1e-13


@pytest.mark.slow
def test_features_are_scalar_products(rng):
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    kernel = FromFeatures(spiral)
    assert worst(kernel(X, Z), spiral(X) @ spiral(Z).T) < 1e-14
    assert worst(kernel.diag(X), (spiral(X) ** 2).sum(axis=1)) < 1e-14
    assert worst(kernel.feature_map(X), spiral(X)) < 1e-15
    check_kernel(kernel)
    check_kernel(kernel.normalized() + 0.5 * Gaussian())


def test_one_feature_may_be_a_plain_list_of_numbers(rng):
    X = rng.normal(size=(6, 2))
    assert worst(FromFeatures(first)(X), np.outer(X[:, 0], X[:, 0])) < 1e-15
    assert worst(FromFeatures(lambda X: list(X[:, 0]))(X), np.outer(X[:, 0], X[:, 0])) < 1e-15


def test_sparse_features_are_taken(rng):
    X = sparse.csr_array(rng.normal(size=(6, 3)))
    assert worst(FromFeatures(lambda X: X * 2.0)(X), 4.0 * (X @ X.T).toarray()) < 1e-14


def test_features_are_computed_once_per_table(rng):
    calls = []

    def noted(X):
        calls.append(len(X))
        return X

    FromFeatures(noted)(rng.normal(size=(1100, 2)))
    Outer(lambda X: noted(X)[:, 0])(rng.normal(size=(1200, 2)))
    assert calls == [1100, 1200]


@pytest.mark.slow
def test_outer_is_the_product_of_one_function(rng):
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    kernel = Outer(first)
    assert worst(kernel(X, Z), np.outer(X[:, 0], Z[:, 0])) < 1e-15
    assert worst(kernel.diag(X), X[:, 0] ** 2) < 1e-15
    assert worst(kernel.feature_map(X), X[:, :1]) < 1e-15
    assert kernel.feature_count(2) == 1
    check_kernel(kernel)
    check_kernel(kernel * Gaussian() + kernel**2)


def test_a_kernel_times_an_outer_product_is_scaled_by_both_values(rng):
    X = rng.normal(size=(6, 2))
    assert worst((Outer(first) * Gaussian())(X), np.outer(X[:, 0], X[:, 0]) * Gaussian()(X)) < 1e-14


def test_features_must_be_a_row_per_row(rng):
    X = rng.normal(size=(5, 3))
    assert tells(
        refusal(FromFeatures(lambda X: X[:2]), X), "The result of FromFeatures(phi=<lambda>)", "got shape (2, 3)"
    )
    assert tells(
        refusal(FromFeatures(lambda X: X[:, :, None]), X),
        "The result of FromFeatures(phi=<lambda>)",
        "got shape (5, 3, 1)",
    )
    assert tells(refusal(FromFeatures(lambda X: 1.0), X), "The result of FromFeatures(phi=<lambda>)", "got shape ()")


def test_features_must_be_finite(rng):
    said = "Every feature of FromFeatures(phi=<lambda>) must be finite; got NaN or infinity."
    assert refusal(FromFeatures(lambda X: X * np.nan), rng.normal(size=(5, 3))) == said


def test_features_must_be_numbers(rng):
    with pytest.raises(InputError):
        FromFeatures(lambda X: np.array(["a"] * len(X)))(rng.normal(size=(5, 3)))


def test_outer_takes_one_number_per_row(rng):
    assert tells(
        refusal(Outer(lambda X: X), rng.normal(size=(5, 3))), "The result of Outer(f=<lambda>)", "got 3 numbers per row"
    )


# -- Precomputed ------------------------------------------------------------------------------------


def test_a_given_matrix_is_its_own_kernel(rng):
    A = rng.normal(size=(6, 4))
    K = A @ A.T
    assert (Precomputed()(K) == K).all()
    assert (Precomputed()(K[:2]) == K[:2]).all()
    assert (Precomputed().diag(K) == K.diagonal()).all()
    assert worst((2.0 * Precomputed() + 1.0)(K), 2 * K + 1) < 1e-14
    assert worst((Precomputed() ** 2).diag(K), K.diagonal() ** 2) < 1e-14
    check_kernel(Precomputed(), K)
    check_kernel(2.0 * Precomputed() ** 2 + 1.0)


def test_a_given_matrix_is_copied_and_not_lent(rng):
    K = rng.normal(size=(6, 6))
    again = Precomputed()(K)
    again[:] = 0.0
    assert (K != 0.0).all()
    again = Precomputed().diag(K)
    again[:] = 0.0
    assert (K.diagonal() != 0.0).all()


def test_a_given_matrix_of_several_tiles_is_put_together_again(rng):
    K = rng.normal(size=(620, 1030))
    assert (Precomputed()(K) == K).all()
    assert (Precomputed()(sparse.csr_array(K)) == K).all()


def test_a_given_matrix_in_single_precision(rng):
    K = rng.normal(size=(6, 6))
    assert (Precomputed()(K, dtype=np.float32) == K.astype(np.float32)).all()


def test_a_given_sparse_matrix_becomes_dense(rng):
    K = sparse.random_array((7, 7), density=0.4, rng=rng)
    assert (Precomputed()(K) == K.toarray()).all()
    assert (Precomputed().diag(K) == K.toarray().diagonal()).all()


def test_an_empty_matrix_stays_empty():
    assert Precomputed()(np.empty((0, 0))).shape == (0, 0)
    assert Precomputed()(np.empty((3, 0))).shape == (3, 0)
    assert Precomputed()(np.empty((0, 3))).shape == (0, 3)


def test_the_diagonal_of_new_rows_cannot_be_read_off_a_matrix():
    assert tells(refusal(Precomputed().diag, np.ones((2, 3))), "The matrix for Precomputed().diag", "got 2 x 3")


def test_a_given_matrix_comes_alone():
    assert tells(refusal(Precomputed(), np.eye(2), np.eye(2)), "Precomputed()")


@pytest.mark.parametrize("wrong", [["a", "b"], [["a", "b"], ["c", "d"]]])
def test_a_given_matrix_must_hold_numbers(wrong):
    with pytest.raises(InputError):
        Precomputed()(wrong)


def test_a_given_matrix_has_no_features():
    assert Precomputed().feature_count(3) is None
