"""Features of composed kernels, and what their members must be."""

import math

import numpy as np
import pytest
from algebra_cases import LEFT, Texts, left_rows, right_rows

from formulas import worst
from mercer.errors import InputError, MemoryRefusal
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    Exp,
    FromFeatures,
    Gaussian,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sum,
)
from mercer.testing import check_kernel
from refusals import refusal, tells


@pytest.fixture
def X(rng):
    return left_rows(rng)


@pytest.fixture
def Z(rng):
    return right_rows(rng)


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
    assert tells(refusal(combine, Texts(), Linear()), "Texts() and Linear()", "'column'")
    with pytest.raises(
        InputError,
        match=(
            r"Precomputed\(\) and Linear\(\) cannot be combined: one takes a kernel matrix, another rows of numbers\."
        ),
    ):
        combine(Precomputed(), Linear())
    with pytest.raises(
        InputError, match="cannot be combined: one takes objects such as texts, another rows of numbers"
    ):
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
    assert tells(refusal(Sum, LEFT, 3), "k2 of Sum", "got 3")
    assert tells(refusal(Normalized, None), "base of Normalized", "got None")


@pytest.mark.parametrize("factor", [-1, -1.0, math.inf, math.nan, np.float64(-2)])
def test_a_factor_must_not_be_negative(factor):
    assert tells(refusal(lambda: LEFT * factor), "The factor of a kernel", f"got {factor!r}")


@pytest.mark.parametrize("exponent", [1.5, 0, -1, 2.0, True, "2", None])
def test_an_exponent_must_be_a_positive_whole_number(exponent):
    assert tells(refusal(lambda: LEFT**exponent), "exponent of Power", f"got {exponent!r}")


def test_a_given_matrix_has_no_columns_lengths_or_maps():
    assert tells(refusal(Precomputed().on, 0), "Precomputed()")
    assert tells(refusal(Precomputed().normalized), "Precomputed()")
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
