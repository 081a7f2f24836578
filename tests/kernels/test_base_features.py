"""phi(x)'phi(z) = k(x, z) for every finite map, and every rule of the algebra as an identity of features."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_strategies import positive, tables

from formulas import worst
from mercer.data import as_rows
from mercer.errors import MemoryRefusal
from mercer.kernels import Constant, Cosine, FromFeatures, Linear, Outer, Polynomial
from refusals import refusal, tells


def waves(X):
    return np.hstack([np.sin(X), np.cos(X)])


def length(X):
    return np.sqrt((X**2).sum(axis=1))


def leaves():
    return st.one_of(
        st.just(Linear()),
        st.builds(Polynomial, st.integers(1, 3), st.sampled_from([0, 1.0, 0.3]), st.floats(0.1, 1.5)),
        st.just(Cosine()),
        st.builds(Constant, st.sampled_from([0.0, 1.0, 2.5])),
        st.just(FromFeatures(waves)),
        st.just(Outer(length)),
    )


@st.composite
def finite_kernels(draw, columns=3, depth=2):
    """Any kernel with a finite map, of all the rules."""

    def smaller(count=columns):
        return draw(finite_kernels(count, depth - 1))

    rules = ["leaf", "sum", "product", "scaled", "power", "on", "mapped", "normalized"]
    match draw(st.sampled_from(rules)) if depth > 0 else "leaf":
        case "sum":
            return smaller() + smaller()
        case "product":
            return smaller() * smaller()
        case "scaled":
            return draw(positive) * smaller()
        case "power":
            return draw(leaves()) ** draw(st.integers(1, 3))
        case "on":
            chosen = draw(st.lists(st.integers(0, columns - 1), min_size=1, max_size=columns, unique=True))
            return smaller(len(chosen)).on(chosen)
        case "mapped":
            return smaller().map(draw(st.sampled_from([np.tanh, waves])))
        case "normalized":
            return smaller().normalized()
    return draw(leaves())


@pytest.mark.slow
@given(finite_kernels(), tables(lowest=-2.0), tables(lowest=-2.0))
def test_scalar_products_of_features_are_the_kernel(kernel, X, Z):
    phi, psi = kernel.feature_map(X), kernel.feature_map(Z)
    assert phi.shape == (len(X), kernel.count_features(as_rows(X)))
    assert len(kernel.feature_names(X)) == phi.shape[1]
    size = np.sqrt(np.outer(kernel.diag(X), kernel.diag(Z)))  # rounding errors are shares of this
    gap = np.abs(phi @ psi.T - kernel(X, Z))
    assert (gap <= 1e-12 * (1.0 + size)).all()


# -- the rules, each as an identity of features -------------------------------------------------------


@pytest.fixture
def X(rng):
    return rng.normal(size=(7, 3))


LEFT, RIGHT = Polynomial(2, 0.5), Linear() + Constant(0.7)


def test_a_sum_puts_features_side_by_side(X):
    phi = (LEFT + RIGHT).feature_map(X)
    assert (phi == np.hstack([LEFT.feature_map(X), RIGHT.feature_map(X)])).all()


def test_a_product_multiplies_every_feature_with_every_other(X):
    phi = (LEFT * RIGHT).feature_map(X)
    a, b = LEFT.feature_map(X), RIGHT.feature_map(X)
    expected = np.column_stack([a[:, i] * b[:, j] for i in range(a.shape[1]) for j in range(b.shape[1])])
    assert worst(phi, expected) < 1e-15


def test_a_multiple_scales_features_by_the_square_root(X):
    assert worst((2.5 * LEFT).feature_map(X), math.sqrt(2.5) * LEFT.feature_map(X)) < 1e-15


def test_a_power_is_a_product_with_itself(X):
    assert worst((RIGHT**3).feature_map(X), (RIGHT * RIGHT * RIGHT).feature_map(X)) < 1e-15
    assert worst((Outer(length) ** 3).feature_map(X), Outer(length).feature_map(X) ** 3) < 1e-15


def test_a_map_comes_before_the_features(X):
    assert (LEFT.map(np.tanh).feature_map(X) == LEFT.feature_map(np.tanh(X))).all()


def test_columns_are_chosen_before_the_features(X):
    assert (LEFT.on([2, 0]).feature_map(X) == LEFT.feature_map(X[:, [2, 0]])).all()


def test_normalized_features_have_length_one(X):
    phi = LEFT.feature_map(X)
    expected = phi / np.linalg.norm(phi, axis=1, keepdims=True)
    assert worst(LEFT.normalized().feature_map(X), expected) < 1e-15


def test_a_function_of_one_number_is_a_feature(X):
    assert (Outer(length).feature_map(X) == length(X)[:, None]).all()


# -- the seeds' own maps ------------------------------------------------------------------------------


def test_the_paraboloid_of_the_first_lecture(rng):
    """phi = (x1, x2, x1^2 + x2^2) has k = x'y + (||x|| ||y||)^2."""
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    composed = Linear() + Outer(lambda X: (X**2).sum(axis=1))
    given_map = FromFeatures(lambda X: np.column_stack([X, X[:, 0] ** 2 + X[:, 1] ** 2]))
    expected = X @ Y.T + np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1)) ** 2
    for kernel in (composed, given_map):
        assert worst(kernel(X, Y), expected) < 1e-14
        phi = np.column_stack([X, X[:, 0] ** 2 + X[:, 1] ** 2])
        assert worst(kernel.feature_map(X), phi) < 1e-15


def test_the_quadratic_in_three_dimensions_has_the_six_features_of_the_lecture(rng):
    """The lecture lists squares first: the same six columns in another order."""
    X = rng.normal(size=(6, 3))
    a, b, c = X.T
    root = math.sqrt(2)
    lecture = np.column_stack([a**2, b**2, c**2, root * a * b, root * a * c, root * b * c])
    kernel = Polynomial(2, offset=0)
    assert kernel.feature_names(X) == ["x1^2", "sqrt2*x1*x2", "sqrt2*x1*x3", "x2^2", "sqrt2*x2*x3", "x3^2"]
    assert worst(kernel.feature_map(X)[:, [0, 3, 5, 1, 2, 4]], lecture) < 1e-15


def test_the_square_of_a_scalar_product_is_also_all_nine_products(rng):
    """(x'z)^2 as a product of kernels has d^2 features, x_i x_j; as a polynomial the equal ones are one."""
    X = rng.normal(size=(6, 3))
    outer = np.einsum("ni,nj->nij", X, X).reshape(6, 9)
    assert worst((Linear() ** 2).feature_map(X), outer) < 1e-15
    assert worst((Linear() ** 2)(X), Polynomial(2, offset=0)(X)) < 1e-14


def test_one_number_squared(rng):
    X = rng.normal(size=(6, 1))
    for kernel in (Polynomial(2, offset=0), Linear() ** 2, Outer(lambda X: X[:, 0] ** 2)):
        assert worst(kernel.feature_map(X), X**2) < 1e-15


# -- too large ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "columns"),
    [
        (Polynomial(10**6), 10**4),
        (Polynomial(50), 100),
        (Polynomial(10**9, offset=0), 1000),
        (Linear() ** 10**9, 3),
        ((Polynomial(40) * Polynomial(40)) ** 30, 50),
        (FromFeatures(np.tanh) ** 80, 5),
        (Linear().map(waves) ** 80, 5),
    ],
    ids=repr,
)
def test_endless_tables_are_refused_at_once_and_in_a_sentence(kernel, columns):
    start = time.perf_counter()
    for count in [2] if kernel.feature_count(columns) is None else [0, 2]:  # without a row not all can be known
        said = refusal(kernel.feature_map, np.ones((count, columns)), kind=MemoryRefusal)
        assert said.startswith(f"A table of {count} x more than 10^18 features needs ")
        assert said.endswith("Use the kernel itself, k(X, Z), which does not compute the features.")
    assert "more than 10^18 feature names" in refusal(kernel.feature_names, np.ones((2, columns)), kind=MemoryRefusal)
    assert time.perf_counter() - start < 2.0


def test_the_size_of_a_table_too_large_is_named(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000000")
    assert tells(refusal(Polynomial(5).feature_map, np.ones((10, 20)), kind=MemoryRefusal), "10", "53130", "4.3 MB")


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 2), (60, 30), (10**9, 2), (70, 35), (10**9, 10**6)])
def test_the_number_of_monomials_is_exact_as_far_as_memory_reaches(n, k):
    columns = n - k + 1
    found = Polynomial(k, offset=0).feature_count(columns)
    assert found == (min(math.comb(n, k), 2**62) if k < 100 else 2**62)


def test_no_columns_have_no_monomials_but_the_constant():
    none = np.empty((2, 0))
    assert Polynomial(2, offset=0).feature_map(none).shape == (2, 0)
    assert Polynomial(2, offset=4.0).feature_map(none).tolist() == [[4.0], [4.0]]


def test_a_high_degree_still_has_features_and_an_absurd_one_is_refused():
    X, Z = np.array([[0.9], [1.0]]), np.array([[0.8], [1.0]])
    kernel = Polynomial(1500, scale=0.5, offset=0.5)
    np.testing.assert_allclose(kernel.feature_map(X) @ kernel.feature_map(Z).T, kernel(X, Z), rtol=1e-9)
    for ask in (Polynomial(5000).feature_map, Polynomial(5000).feature_names):
        assert tells(refusal(ask, X), "degree of Polynomial", "got 5000")
    assert Polynomial(5000, offset=0).feature_map([[1.0]]).tolist() == [[1.0]]


def test_features_that_overflow_are_refused():
    assert tells(
        refusal(Polynomial(3).feature_map, [[1e200]]),
        "Every feature of Polynomial(degree=3, offset=1.0, scale=1.0)",
        "got NaN or infinity",
    )
