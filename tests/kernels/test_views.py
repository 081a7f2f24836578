"""Kernels of mapped rows, of some columns, and at unit length."""

import contextlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from algebra_cases import LEFT, RIGHT, Texts, left_rows, right_rows

from formulas import worst
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    FromFeatures,
    Gaussian,
    Linear,
)
from refusals import refusal, tells


@pytest.fixture
def X(rng):
    return left_rows(rng)


@pytest.fixture
def Z(rng):
    return right_rows(rng)


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
    assert tells(refusal(LEFT.on("heigth"), frame), "'heigth'", "'height'")
    assert tells(refusal(LEFT.on("zzzz"), frame), "'zzzz'")


def test_a_name_needs_a_table_with_names(rng):
    assert tells(refusal(LEFT.on("age"), rng.normal(size=(3, 2))), "Column 'age'", "no column names")


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
    assert tells(refusal(LEFT.on(2), X), "A column index", "got 2")
    assert tells(refusal(LEFT.on([0, -3]), X), "A column index", "got -3")


def test_objects_have_no_columns():
    assert tells(refusal(Texts().on(0), ["a", "b"]), ".on(...)")


@pytest.mark.parametrize(
    "columns", [[], (), [1.5], 1.0, None, [None], True, [True, False], [[0]], np.array([True, False]), np.array([])]
)
def test_what_names_no_column_is_refused(columns):
    assert tells(refusal(LEFT.on, columns), "The columns of .on(...)", f"got {columns!r}")


@pytest.mark.parametrize("function", [None, 3, "abs"])
def test_a_map_must_be_a_function(function):
    assert tells(refusal(LEFT.map, function), "function of Mapped", f"got {function!r}")


def test_a_map_must_keep_the_rows(X):
    assert tells(refusal(Linear().map(lambda X: X[:2]), X), "The result of Linear().map(<lambda>)", "got 2 rows")


def test_a_map_to_bad_numbers_is_refused_in_words_about_the_map(X):
    assert ".map(" in refusal(Linear().map(lambda X: X * np.nan), X)
    assert ".map(" in refusal(Linear().map(lambda X: X[:, 0]), X)


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
