"""New kernels from old ones: each rule as an identity, by formula and by features."""

import contextlib
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_strategies import composed_kernels, tables
from scipy import sparse

from formulas import expected, refusal, worst
from mercer.errors import InputError, MemoryRefusal
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    Exp,
    FromFeatures,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Mapped,
    Matern,
    Normalized,
    On,
    Periodic,
    Polynomial,
    Power,
    Precomputed,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    SquaredDistance,
    Sum,
)
from mercer.testing import check_kernel

LEFT, RIGHT = Gaussian(0.8), Polynomial(degree=2, offset=0.5)


class Texts(Kernel):
    """A kernel for objects: 1 where two texts are the same."""

    kind = "objects"
    mercer = True
    because = "its features are the indicators of every text"

    def block(self, pair):
        return (pair.x.values[:, None] == pair.z.values).astype(float)


@pytest.fixture
def X(rng):
    return rng.normal(size=(9, 3))


@pytest.fixture
def Z(rng):
    return rng.normal(size=(5, 3))


# -- identities -------------------------------------------------------------------------------------


def test_a_sum_adds_values(X, Z):
    assert worst((LEFT + RIGHT)(X, Z), LEFT(X, Z) + RIGHT(X, Z)) < 1e-14
    assert worst((LEFT + RIGHT).diag(X), LEFT.diag(X) + RIGHT.diag(X)) < 1e-14


def test_a_product_multiplies_values(X, Z):
    assert worst((LEFT * RIGHT)(X, Z), LEFT(X, Z) * RIGHT(X, Z)) < 1e-14
    assert worst((LEFT * RIGHT).diag(X), LEFT.diag(X) * RIGHT.diag(X)) < 1e-14


@pytest.mark.parametrize("factor", [0, 0.0, 1, 2.5, np.float32(0.5), np.int64(3)])
def test_a_factor_scales_values_from_either_side(factor, X, Z):
    assert worst((factor * RIGHT)(X, Z), float(factor) * RIGHT(X, Z)) < 1e-14
    assert factor * RIGHT == RIGHT * factor == Scaled(RIGHT, float(factor))
    assert worst((factor * RIGHT).diag(X), float(factor) * RIGHT.diag(X)) < 1e-14


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5, 6, 7, 8, 13])
def test_a_power_is_a_product_of_copies(exponent, X, Z):
    kernel = 0.3 * RIGHT + LEFT
    assert worst((kernel**exponent)(X, Z), kernel(X, Z) ** exponent) < 1e-12
    assert worst((kernel**exponent).diag(X), kernel.diag(X) ** exponent) < 1e-12


def test_exp_is_the_exponential_of_values(X, Z):
    kernel = 0.2 * Linear() + LEFT
    assert worst(kernel.exp()(X, Z), np.exp(kernel(X, Z))) < 1e-14
    assert worst(kernel.exp().diag(X), np.exp(kernel.diag(X))) < 1e-14


def test_the_normalized_exponential_of_the_scalar_product_is_the_gaussian(X, Z):
    assert worst(Linear().exp().normalized()(X, Z), Gaussian()(X, Z)) < 1e-12


def test_map_is_the_kernel_of_mapped_rows(X, Z):
    assert worst(LEFT.map(np.tanh)(X, Z), LEFT(np.tanh(X), np.tanh(Z))) < 1e-14
    assert worst(RIGHT.map(np.tanh).diag(X), RIGHT.diag(np.tanh(X))) < 1e-14


def test_map_may_change_the_number_of_columns(X):
    wide = Gaussian([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    both = wide.map(lambda X: np.hstack([X, X**2]))
    assert worst(both(X), wide(np.hstack([X, X**2]))) < 1e-14


def test_maps_follow_one_another_inside_out(X):
    kernel = Linear().map(np.abs).map(lambda X: X - 1.0)
    assert worst(kernel(X), np.abs(X - 1) @ np.abs(X - 1).T) < 1e-14


def test_on_is_the_kernel_of_some_columns(X, Z):
    assert worst(LEFT.on([2, 0])(X, Z), LEFT(X[:, [2, 0]], Z[:, [2, 0]])) < 1e-14
    assert worst(LEFT.on(1)(X, Z), LEFT(X[:, [1]], Z[:, [1]])) < 1e-14
    assert worst(LEFT.on(-1)(X, Z), LEFT(X[:, [2]], Z[:, [2]])) < 1e-14
    assert worst(RIGHT.on(np.array([0, 1])).diag(X), RIGHT.diag(X[:, :2])) < 1e-14
    assert worst(RIGHT.on((0, 1))(X), RIGHT(X[:, :2])) < 1e-14


def test_the_columns_of_on_are_counted_among_those_already_chosen(X):
    assert worst(Linear().on(0).on([2, 1])(X), np.outer(X[:, 2], X[:, 2])) < 1e-14


def test_normalized_divides_by_both_lengths(X, Z):
    length = np.sqrt(RIGHT.diag(X))[:, None] * np.sqrt(RIGHT.diag(Z))
    assert worst(RIGHT.normalized()(X, Z), RIGHT(X, Z) / length) < 1e-14


def test_normalized_linear_is_the_cosine(X, Z):
    X[2] = 0.0
    assert worst(Linear().normalized()(X, Z), Cosine()(X, Z)) < 1e-14
    assert worst(Linear().normalized()(X), Cosine()(X)) < 1e-14


def test_normalized_is_zero_where_a_row_has_no_length(X):
    X[[1, 4]] = 0.0
    K = Linear().normalized()(X)
    assert (K[[1, 4]] == 0.0).all()
    assert (K[:, [1, 4]] == 0.0).all()
    kept = np.delete(np.arange(9), [1, 4])
    assert (K.diagonal()[kept] == 1.0).all()
    assert Linear().normalized().diag(X).tolist() == K.diagonal().tolist()
    assert (Linear().normalized()(X, X)[1] == 0.0).all()


def test_a_kernel_that_is_zero_everywhere_stays_zero_when_normalized(X):
    assert (Constant(0.0).normalized()(X) == 0.0).all()


def test_normalizing_twice_changes_nothing(X):
    assert worst(RIGHT.normalized().normalized()(X), RIGHT.normalized()(X)) < 1e-14


def test_normalized_refuses_a_negative_length(X):
    kernel = Sigmoid(scale=0.0, offset=-1.0)
    assert refusal(kernel.normalized(), X) == (
        f"k(x, x) of {kernel!r} must be non-negative to be normalized; got {math.tanh(-1.0)}."
    )


def test_python_sums_kernels(X):
    terms = [Gaussian().on(0), Laplacian().on(1), Linear()]
    assert sum(terms) == terms[0] + terms[1] + terms[2]
    assert worst(sum(terms)(X), sum(each(X) for each in terms)) < 1e-14


def test_adding_a_number_adds_a_constant_kernel(X):
    assert RIGHT + 1.0 == Sum(RIGHT, Constant(1.0))
    assert 1.0 + RIGHT == Sum(Constant(1.0), RIGHT)
    assert worst((LEFT + 1.5)(X), LEFT(X) + 1.5) < 1e-14
    assert np.float64(2.0) + LEFT == Constant(2.0) + LEFT


def test_adding_nothing_changes_nothing():
    assert LEFT + 0 is LEFT
    assert 0 + LEFT is LEFT
    assert LEFT + 0.0 is LEFT


def test_adding_a_negative_number_is_refused():
    assert refusal(lambda: LEFT + -1) == "value of Constant must be a finite number of at least 0; got -1."
    assert refusal(lambda: math.nan + LEFT) == "value of Constant must be a finite number of at least 0; got nan."


@pytest.mark.parametrize(
    "wrong",
    [
        lambda k: k + "a",
        lambda k: "a" + k,
        lambda k: k * "a",
        lambda k: k * None,
        lambda k: k + True,
        lambda k: True * k,
        lambda k: k - 1,
        lambda k: k - k,
        lambda k: k / 2,
        lambda k: -k,
        lambda k: 2**k,
        lambda k: k @ k,
        lambda k: k + {k},
    ],
)
def test_what_is_no_rule_of_the_algebra_is_a_type_error(wrong):
    with pytest.raises(TypeError):
        wrong(LEFT)


@pytest.mark.parametrize(
    "wrong", [lambda k: np.array([1.0, 2.0]) * k, lambda k: k * np.array([1.0, 2.0]), lambda k: np.ones(2) + k]
)
def test_an_array_of_factors_makes_no_array_of_kernels(wrong):
    with pytest.raises(TypeError):
        wrong(LEFT)


def test_operators_build_the_named_rules():
    assert LEFT + RIGHT == Sum(LEFT, RIGHT)
    assert LEFT * RIGHT == Product(LEFT, RIGHT)
    assert LEFT**3 == Power(LEFT, 3)
    assert LEFT.exp() == Exp(LEFT)
    assert LEFT.on([0]) == On(LEFT, [0])
    assert LEFT.map(np.abs) == Mapped(LEFT, np.abs)
    assert LEFT.normalized() == Normalized(LEFT)


@settings(max_examples=60)
@given(kernel=composed_kernels(), X=tables())
def test_any_composed_kernel_equals_its_definition_pair_by_pair(kernel, X):
    right = expected(kernel, X)
    assert worst(kernel(X), right) < 1e-9
    assert worst(kernel(X, X[::-1]), right[:, ::-1]) < 1e-9
    assert worst(kernel.diag(X), right.diagonal()) < 1e-9


@settings(max_examples=30)
@given(kernel=composed_kernels(depth=2), X=tables(rows=st.integers(2, 12)))
def test_any_composed_kernel_passes_the_exam(kernel, X):
    check_kernel(kernel, X)


@settings(max_examples=25)
@given(kernel=composed_kernels(depth=2), X=tables(rows=st.integers(2, 12)))
def test_any_composed_kernel_takes_sparse_rows(kernel, X):
    assert kernel.takes_sparse
    assert worst(kernel(sparse.csr_array(X)), kernel(X)) < 1e-7  # distances of sparse rows have their own test


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian() + Gaussian(2.0) + Matern(0.5) + Matern(0.7, nu=0.5) + RationalQuadratic(),
        Laplacian() * Laplacian(2.0) + Laplacian([1.0, 2.0, 3.0]),
        Gaussian([1.0, 2.0, 3.0]) * Gaussian([1.0, 2.0, 3.0]) + Gaussian([3.0, 2.0, 1.0]),
        Linear() + Linear() ** 2 + Polynomial(3) + Cosine(),
        Periodic().on(0) * Periodic(2.0).on(0) + Periodic(period=2.0).on(0),
        Gaussian().on(0) + Gaussian().on([0, 1]) + Gaussian().on(0) * Linear().on(1),
        Chi2().on([0, 1]) + Chi2(2.0).on([0, 1]) * Gaussian(),
    ],
    ids=repr,
)
def test_members_that_share_distances_do_not_disturb_one_another(kernel, rng):
    X = rng.exponential(size=(9, 3))
    assert worst(kernel(X), expected(kernel, X)) < 1e-12
    assert worst(kernel(X, dtype=np.float32), expected(kernel, X)) < 1e-5
    check_kernel(kernel, X)


# -- columns by name --------------------------------------------------------------------------------


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def frame(request, rng):
    return request.param({"age": rng.normal(size=6), "height": rng.normal(size=6), "Weight": rng.normal(size=6)})


def test_columns_are_found_by_name(frame):
    values = frame.to_numpy()
    assert worst(LEFT.on("height")(frame), LEFT(values[:, [1]])) < 1e-14
    assert worst(LEFT.on(["Weight", "age"])(frame), LEFT(values[:, [2, 0]])) < 1e-14
    assert worst(RIGHT.on(["age", 2]).diag(frame), RIGHT.diag(values[:, [0, 2]])) < 1e-14
    assert worst(RIGHT.on("age").feature_map(frame), RIGHT.feature_map(values[:, [0]])) < 1e-14


def test_columns_are_found_by_name_in_whatever_order_they_stand(frame):
    other = frame[["Weight", "age", "height"]]
    assert worst(LEFT.on("height")(frame, other), LEFT.on("height")(frame)) < 1e-14


def test_a_misspelt_column_is_refused_with_the_nearest_name(frame):
    assert refusal(LEFT.on("heigth"), frame) == "There is no column 'heigth'. Did you mean 'height'?"
    assert refusal(LEFT.on("zzzz"), frame) == "There is no column 'zzzz'. Known: Weight, age, height."


def test_a_name_needs_a_table_with_names(rng):
    assert refusal(LEFT.on("age"), rng.normal(size=(3, 2))) == (
        "Column 'age' can only be found by name in a DataFrame; got an array without names. "
        "Give a DataFrame, or number the columns from 0."
    )


def test_kernels_of_named_columns_add_up(frame):
    values = frame.to_numpy()
    both = Gaussian(2.0).on("age") + 0.5 * Linear().on(["height", "Weight"])
    assert worst(both(frame), Gaussian(2.0)(values[:, :1]) + 0.5 * values[:, 1:] @ values[:, 1:].T) < 1e-14


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_numeric_column_beside_text_can_be_chosen_alone(make):
    mixed = make({"age": [1.0, 2.0, 4.0], "name": ["a", "b", "a"], "height": [1, 2, 3]})
    ages = np.array([[1.0], [2.0], [4.0]])
    assert worst(Gaussian().on(["age", "height"])(mixed), Gaussian()(np.hstack([ages, [[1], [2], [3]]]))) < 1e-14
    assert worst(Gaussian().on("age")(mixed), Gaussian()(ages)) < 1e-14
    assert worst(Gaussian().on(["age"]).diag(mixed), np.ones(3)) < 1e-14
    assert (
        worst((Gaussian().on("age") * Texts().on("name"))(mixed), Gaussian()(ages) * [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
        < 1e-14
    )


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_column_of_text_can_be_chosen_for_a_kernel_of_objects(make):
    mixed = make({"age": [1.0, 2.0, 4.0], "name": ["a", "b", "a"]})
    assert Texts().on("name")(mixed).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


def test_several_numeric_columns_beside_text_can_be_chosen():
    mixed = pd.DataFrame({"age": [1.0, 2.0], "name": ["a", "b"], "height": [1, 2]})
    assert worst(Linear().on(["age", "height"])(mixed), [[2.0, 4.0], [4.0, 8.0]]) < 1e-14


def test_a_column_number_out_of_range_is_refused(rng):
    X = rng.normal(size=(3, 2))
    assert refusal(LEFT.on(2), X) == "A column number must be between 0 and 1; got 2."
    assert refusal(LEFT.on([0, -3]), X) == "A column number must be between 0 and 1; got -3."


def test_objects_have_no_columns():
    assert refusal(Texts().on(0), ["a", "b"]) == (
        "Columns can only be chosen from a table; got a sequence of objects. Leave out .on(...), or give a DataFrame."
    )


@pytest.mark.parametrize(
    "columns", [[], (), [1.5], 1.0, None, [None], True, [True, False], [[0]], np.array([True, False]), np.array([])]
)
def test_what_names_no_column_is_refused(columns):
    assert refusal(LEFT.on, columns) == (
        f"The columns of .on(...) must be a number, a name, or a list of them; got {columns!r}."
    )


# -- explicit features of composed kernels ----------------------------------------------------------


def linear_scaled(X):
    return 0.5 * X


@pytest.mark.parametrize(
    ("kernel", "count"),
    [
        (Linear() + Constant(2.0), 4),
        (Linear() * Linear(), 9),
        (Linear() * Polynomial(2), 30),
        (2.5 * Linear(), 3),
        (0.0 * Linear(), 3),
        (Linear() ** 3, 27),
        (Polynomial(2).on([0, 2]), 6),
        (Linear().on(1), 1),
        (Polynomial(2, 0.0).normalized(), 6),
        ((Linear() + 1.0) ** 2, 16),
        ((Cosine() + Linear().on(0)) * 3.0, 4),
    ],
    ids=repr,
)
def test_features_of_composed_kernels_follow_the_rules(kernel, count, X, Z):
    X[0] = 0.0
    assert kernel.feature_count(3) == count
    assert kernel.feature_map(X).shape == (9, count)
    assert worst(kernel.feature_map(X) @ kernel.feature_map(Z).T, kernel(X, Z)) < 1e-12
    check_kernel(kernel, X)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear() + Gaussian(),
        Gaussian() * Linear(),
        Gaussian() ** 2,
        2.0 * Gaussian(),
        Linear().exp(),
        Gaussian().normalized(),
        Gaussian().on(0),
    ],
    ids=repr,
)
def test_a_composed_kernel_has_no_finite_features_where_a_member_has_none(kernel, X):
    assert kernel.feature_count(3) is None
    with pytest.raises(InputError, match=r"has no finite feature map\. Use the kernel itself"):
        kernel.feature_map(X)


@pytest.mark.parametrize(
    "kernel",
    [
        FromFeatures(np.tanh) + Linear(),
        FromFeatures(np.tanh) * Linear(),
        FromFeatures(np.tanh) ** 2,
        FromFeatures(np.tanh).normalized(),
        Polynomial(2).map(linear_scaled),
        3.0 * Linear().map(np.tanh).on([0, 1]),
    ],
    ids=repr,
)
def test_features_whose_number_is_known_only_afterwards_are_still_features(kernel, X, Z):
    assert kernel.feature_count(3) is None
    assert worst(kernel.feature_map(X) @ kernel.feature_map(Z).T, kernel(X, Z)) < 1e-12


def test_memory_for_features_whose_number_is_known_only_afterwards_is_promised_too(monkeypatch, rng):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000000")
    with pytest.raises(MemoryRefusal):
        (FromFeatures(np.tanh) ** 3).feature_map(rng.normal(size=(100, 20)))


def test_a_number_of_features_beyond_all_memory_is_refused_in_a_sentence(X):
    assert "features needs" in refusal((Linear() ** 10_000).feature_map, X, kind=MemoryRefusal)


def test_the_square_of_a_sum_is_the_sum_of_all_products(X):
    one, two = Gaussian(), Linear()
    left = (one + two) ** 2
    right = one * one + 2.0 * (one * two) + two * two
    assert worst(left(X), right(X)) < 1e-13


# -- members and their kinds ------------------------------------------------------------------------


@pytest.mark.parametrize("combine", [lambda a, b: a + b, lambda a, b: a * b], ids=["sum", "product"])
def test_kernels_of_different_kinds_of_rows_do_not_mix(combine):
    assert refusal(combine, Texts(), Linear()) == (
        "Texts() and Linear() take different kinds of rows (objects and vectors). "
        "Give each its own column with .on('column')."
    )
    with pytest.raises(
        InputError, match=r"Precomputed\(\) and Linear\(\) take different kinds of rows \(gram and vectors\)"
    ):
        combine(Precomputed(), Linear())
    with pytest.raises(InputError, match="take different kinds of rows"):
        combine(Texts() + Texts(), combine(Linear(), Gaussian()))


def test_the_way_out_for_a_given_matrix_is_one_that_works():
    assert ".on(" not in refusal(lambda: Precomputed() + Linear())


def test_kernels_for_any_rows_mix_with_all():
    assert (Texts() + 1.0).kind == "objects"
    assert (Precomputed() * Constant(2.0)).kind == "gram"
    assert (Linear() + 1.0).kind == "vectors"
    assert (Constant() + Constant()).kind == "any"
    assert (Texts().on("a") + Linear()).kind == "vectors"
    assert Texts().map(len).kind == "any"


def test_a_composed_kernel_of_objects_is_evaluated_on_objects():
    texts = ["a", "b", "a"]
    kernel = (Texts() + 1.0) * Texts()
    assert kernel(texts).tolist() == [[2, 0, 2], [0, 2, 0], [2, 0, 2]]
    check_kernel(kernel, texts)


def test_a_map_turns_objects_into_numbers():
    lengths = Linear().map(lambda texts: np.array([[len(each)] for each in texts]))
    assert lengths(["a", "bb"]).tolist() == [[1.0, 2.0], [2.0, 4.0]]
    assert (Texts() + lengths)(["a", "bb"]).tolist() == [[2.0, 2.0], [2.0, 5.0]]


@pytest.mark.parametrize(
    "make", [lambda: Sum("a", LEFT), lambda: Product("a", LEFT), lambda: Scaled("a", 1.0), lambda: Exp("a")]
)
def test_members_must_be_kernels(make):
    assert "must be a kernel; got 'a'." in refusal(make)


def test_the_sentence_for_a_member_names_it():
    assert refusal(Sum, LEFT, 3) == "k2 of Sum must be a kernel; got 3."
    assert refusal(Normalized, None) == "base of Normalized must be a kernel; got None."


@pytest.mark.parametrize("factor", [-1, -1.0, math.inf, math.nan, np.float64(-2)])
def test_a_factor_must_not_be_negative(factor):
    assert refusal(lambda: LEFT * factor) == (
        f"The factor of a kernel must be a non-negative number; got {factor!r}. "
        "A negative multiple of a kernel is not a kernel."
    )


@pytest.mark.parametrize("exponent", [1.5, 0, -1, 2.0, True, "2", None])
def test_an_exponent_must_be_a_positive_whole_number(exponent):
    assert refusal(lambda: LEFT**exponent) == (
        f"exponent of Power must be a whole number of at least 1; got {exponent!r}."
    )


@pytest.mark.parametrize("function", [None, 3, "abs"])
def test_a_map_must_be_a_function(function):
    assert refusal(LEFT.map, function) == f"function of Mapped must be a function; got {function!r}."


def test_a_map_must_keep_the_rows(X):
    assert refusal(Linear().map(lambda X: X[:2]), X) == (
        "The result of Linear().map(<lambda>) must be a table of 9 rows, one per row of X; got 2 rows."
    )


def test_a_map_to_bad_numbers_is_refused_in_words_about_the_map(X):
    assert ".map(" in refusal(Linear().map(lambda X: X * np.nan), X)
    assert ".map(" in refusal(Linear().map(lambda X: X[:, 0]), X)


def test_a_given_matrix_has_no_columns_lengths_or_maps():
    assert refusal(Precomputed().on, 0) == "Precomputed() has no columns to choose from; leave out .on(...)."
    assert refusal(Precomputed().normalized) == (
        "Precomputed() cannot be normalized: k(x, x) of new rows is not in the matrix. "
        "Normalise the matrix itself before giving it."
    )
    with pytest.raises(InputError):
        Precomputed().map(np.abs)(np.eye(3))


def test_what_a_composed_kernel_takes_is_what_all_its_members_take():
    assert (Chi2() + Linear()).positive_only
    assert not (Chi2().on(0) + Linear()).positive_only
    assert not Chi2().map(np.abs).positive_only
    assert (Gaussian() * Linear()).takes_sparse
    assert not Gaussian().map(np.abs).takes_sparse
    assert not (FromFeatures(np.abs) + Linear()).takes_sparse
    assert (Gaussian() * Linear()).trusted
    assert not (Gaussian() * Custom(np.dot)).trusted


def test_negative_numbers_in_columns_that_were_not_chosen_do_no_harm(X):
    X[:, 0] = np.abs(X[:, 0])
    assert (Chi2().on(0) + Linear())(X).shape == (9, 9)
    assert worst(Chi2().map(np.abs)(X), Chi2()(np.abs(X))) < 1e-14


def test_a_map_is_applied_once_per_table_and_not_once_per_tile(rng):
    calls = []

    def noted(X):
        calls.append(len(X))
        return X

    X = rng.normal(size=(1100, 2))
    kernel = Gaussian().map(noted) + Linear().map(noted)
    kernel(X)
    assert calls == [1100]
    calls.clear()
    kernel(X[:600], X[600:])
    assert sorted(calls) == [500, 600]


def test_a_map_that_writes_into_its_table_does_not_change_yours(rng):
    X = rng.normal(size=(4, 2))
    kept = X.copy()

    def careless(X):
        X *= 2.0
        return X

    for kernel in (Linear().map(careless), FromFeatures(careless)):
        with contextlib.suppress(ValueError):
            kernel(X)
        assert (X == kept).all()


def test_a_map_may_be_any_callable_even_one_without_a_hash(X):
    class Shift:
        __hash__ = None

        def __call__(self, X):
            return X + 1.0

    assert worst(Linear().map(Shift())(X), (X + 1) @ (X + 1).T) < 1e-13
    assert worst(FromFeatures(Shift())(X), (X + 1) @ (X + 1).T) < 1e-13


def test_squared_distance_is_made_of_scalar_products(X):
    # ||x - z||^2 = x'x - 2 x'z + z'z
    squares = (X**2).sum(axis=1)
    assert worst(SquaredDistance()(X), squares[:, None] - 2 * Linear()(X) + squares) < 1e-13


# -- zero rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        LEFT + RIGHT,
        LEFT * RIGHT,
        2.0 * LEFT,
        RIGHT**3,
        LEFT.exp(),
        LEFT.map(np.abs),
        LEFT.on([0, 1]),
        RIGHT.normalized(),
    ],
    ids=repr,
)
def test_no_rows_give_an_empty_matrix(kernel, X):
    none = np.empty((0, 3))
    assert kernel(none).shape == (0, 0)
    assert kernel(none, X).shape == (0, 9)
    assert kernel(X, none).shape == (9, 0)
    assert kernel.diag(none).shape == (0,)


def test_a_sum_over_hundreds_of_columns_is_as_good_as_one_of_two():
    X = np.random.default_rng(0).normal(size=(4, 700))
    long = sum(Gaussian(1.0 + j).on([j]) for j in range(700))
    np.testing.assert_allclose(long(X), sum(Gaussian(1.0 + j)(X[:, [j]]) for j in range(700)), rtol=1e-12)
    np.testing.assert_allclose(long.diag(X), np.full(4, 700.0))
    assert long == sum(Gaussian(1.0 + j).on([j]) for j in range(700))
    assert hash(long) != hash(long + Linear())
    assert repr(long).count(" + ") == 699
    assert len(long.certificate().parts) == 700
    assert long.certificate().valid


def test_brackets_on_the_right_stay_and_make_another_kernel():
    left, right = (Linear() + Cosine()) + Constant(), Linear() + (Cosine() + Constant())
    assert left != right
    assert repr(right) == "Linear() + (Cosine() + Constant(value=1.0))"
    assert [part.kernel for part in left.certificate().parts] == [Linear(), Cosine(), Constant()]
