"""How an answer was found, and the one sentence where it is not to be trusted."""

import math
import warnings

import pytest

from mercer.errors import IllConditionedWarning, NotMercerWarning, SingularSystemWarning
from mercer.solvers import Route
from refusals import tells


def route(condition=10.0, rank=5, size=5, negative=0.0):
    return Route("cholesky", "dual, 5 rows", condition, rank, size, negative)


@pytest.mark.parametrize(
    ("condition", "digits"), [(1.0, 15.18), (0.5, 15.18), (1e6, 9.18), (1e16, 0.0), (math.inf, 0.0), (1e300, 0.0)]
)
def test_digits_are_what_the_condition_leaves(condition, digits):
    assert route(condition).digits == pytest.approx(digits, abs=0.01)


def test_a_route_prints_as_a_sentence():
    assert str(route(1e4)) == "cholesky (dual, 5 rows): condition number about 1e+04, 11.2 correct digits"
    assert str(route(math.inf, rank=3)) == "cholesky (dual, 5 rows): rank 3 of 5, minimum-norm solution"
    assert not route().singular
    assert route(rank=4).singular


@pytest.mark.parametrize("condition", [1.0, 1e9, 4e9])
def test_a_good_route_says_nothing(condition):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        route(condition).warn("KernelRidge", 1.0)
    assert caught == []


def test_past_a_millionth_of_error_it_says_how_many_digits_are_left():
    with pytest.warns(IllConditionedWarning) as caught:
        route(5e9).warn("KernelRidge", 1e-9)
    assert len(caught) == 1
    assert tells(str(caught[0].message), "The system of KernelRidge", "5e+09", "1e-09")


def test_a_singular_system_is_told_with_its_rank():
    with pytest.warns(SingularSystemWarning) as caught:
        route(math.inf, rank=2).warn("KernelRidge", 0.0)
    assert len(caught) == 1
    assert tells(str(caught[0].message), "The system of KernelRidge", "rank 2 of 5")


def test_an_indefinite_system_is_told_with_its_eigenvalue():
    with pytest.warns(NotMercerWarning) as caught:
        route(math.inf, rank=2, negative=-0.25).warn("KernelRidge", 0.5)
    assert len(caught) == 1
    assert tells(
        str(caught[0].message),
        "K + alpha I of KernelRidge",
        "got an eigenvalue of -0.25, so the least-squares problem may have no minimum",
    )
