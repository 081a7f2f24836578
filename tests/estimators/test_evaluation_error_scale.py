"""Scores as people read them."""

import math

import pytest

from mercer.estimators.evaluation import AsError


def test_squares_are_told_as_their_root():
    read = AsError.of("neg_mean_squared_error", classifier=False)
    assert (read.measure, read.smaller_is_better) == ("root mean squared error", True)
    assert read.value(-9.0) == 3.0
    assert read.spread(0.6, -9.0) == pytest.approx(0.1)  # the derivative of the root
    assert (read.value(0.0), read.spread(0.0, 0.0)) == (0.0, 0.0)
    assert math.isnan(read.spread(math.nan, -1.0))


def test_right_labels_are_told_as_wrong_ones():
    read = AsError.of(None, classifier=True)
    assert (read.measure, read.kind) == ("share of wrong labels", "share")
    assert (read.value(0.75), read.spread(0.1, 0.75)) == (0.25, 0.1)


def test_other_scores_stay_what_they_are():
    for scoring, name in (("r2", "r2"), (max, "max"), ("accuracy", "accuracy")):
        read = AsError.of(scoring, classifier=False)
        assert (read.measure, read.kind, read.smaller_is_better) == (name, "score", False)
        assert (read.value(-2.0), read.spread(0.1, -2.0)) == (-2.0, 0.1)
    assert AsError.of("neg_mean_squared_error", classifier=True).kind == "score"
