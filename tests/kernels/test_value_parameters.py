"""Checks of parameters: what is taken, and the sentence for everything else."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import Gaussian
from mercer.kernels.value import (
    check_callable,
    fits_columns,
    inverse_width,
    positive_number,
    positive_width,
    real_number,
    whole_number,
)
from refusals import refusal, tells


class Thing:
    """Whose parameters are checked."""


def test_widths_of_every_make_are_taken():
    for width in (1, 1.0, np.float32(2), np.int64(3), [1, 2.0], (1.0,), np.array([1.0, 2.0]), 1e-150, 1e150):
        positive_width(Thing(), "width", width)
        assert np.all(inverse_width(width) * np.asarray(width) == 1.0)


@pytest.mark.parametrize(
    "width", [0, -1, math.nan, math.inf, -math.inf, 1e-151, 1e151, None, "a", [], [[1.0]], [1, 0], {}, object()]
)
def test_other_widths_are_refused(width):
    assert tells(refusal(positive_width, Thing(), "width", width), "width of Thing", f"got {width!r}")


def test_a_width_is_refused_by_the_name_it_goes_by():
    assert tells(refusal(positive_width, Thing(), "gamma", -1), "gamma of Thing", "got -1")


@given(width=st.floats())
def test_a_number_is_a_width_exactly_where_its_square_is_positive_and_finite(width):
    good = 1e-150 <= width <= 1e150
    if good:
        positive_width(Thing(), "width", width)
        assert 0 < inverse_width(width) ** 2 < math.inf
    else:
        assert repr(width) in refusal(positive_width, Thing(), "width", width)


def test_numbers_are_checked_against_their_bounds():
    for value in (0, 1.5, -3, np.float64(2), np.int8(1), Fraction(1, 3)):
        real_number(Thing(), "x", value)
    real_number(Thing(), "x", 0, least=0.0)
    assert tells(refusal(real_number, Thing(), "x", -1, least=0.0), "x of Thing", "got -1")
    assert tells(refusal(positive_number, Thing(), "x", 0), "x of Thing", "got 0")
    assert tells(refusal(real_number, Thing(), "x", 0.1, least=0.5), "x of Thing", "got 0.1")


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, True, "1", None, 1j, [1.0], np.array([1.0]), np.bool_(True)]
)
def test_what_is_no_finite_number_is_refused(value):
    assert tells(refusal(real_number, Thing(), "x", value), "x of Thing", f"got {value!r}")


def test_a_whole_number_too_large_for_floating_point_is_not_finite():
    assert refusal(real_number, Thing(), "x", 10**400).startswith("x of Thing must be a finite number; got 1000")


def test_whole_numbers_are_checked_against_their_bound():
    for value in (1, 7, np.int64(3), np.uint8(2)):
        whole_number(Thing(), "n", value)
    whole_number(Thing(), "n", 0, least=0)
    assert tells(refusal(whole_number, Thing(), "n", 2, least=3), "n of Thing", "got 2")


@pytest.mark.parametrize("value", [0, -1, 1.0, 1.5, True, "1", None, math.nan, np.float64(2)])
def test_what_is_no_positive_whole_number_is_refused(value):
    assert tells(refusal(whole_number, Thing(), "n", value), "n of Thing", f"got {value!r}")


def test_functions_are_what_can_be_called():
    check_callable(Thing(), "f", len)
    check_callable(Thing(), "f", Thing)
    assert tells(refusal(check_callable, Thing(), "f", 3), "f of Thing", "got 3")


def test_the_inverse_of_a_width_multiplies_columns():
    assert inverse_width(4) == 0.25
    assert isinstance(inverse_width(np.float32(4)), float)
    assert inverse_width([1, 2, 4]).tolist() == [1.0, 0.5, 0.25]
    assert inverse_width(np.array(4.0)) == 0.25


def test_one_width_fits_any_number_of_columns():
    for columns in (0, 1, 5):
        assert fits_columns(Thing(), 2.0, columns) is None
        X = np.ones((2, columns))
        np.testing.assert_array_equal(Gaussian(2.0)(X), np.ones((2, 2)))
    assert fits_columns(Thing(), [1.0, 2.0], 2) is None


def test_several_widths_fit_only_as_many_columns():
    assert tells(refusal(fits_columns, Thing(), [1.0], 3), "width of Thing", "got 1 numbers")
