"""One result for everything that measures how good a model is, and scores as people read them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from mercer import (
    AutoRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    NystroemRidgeCV,
    cross_validate,
    nested_cross_validate,
)
from mercer.kernels import Gaussian
from mercer.selection.outcome import Measure, Outcome


def test_squares_are_told_as_their_root():
    read = Measure.of("neg_mean_squared_error")
    assert (read.name, read.smaller_is_better) == ("root mean squared error", True)
    assert read.value(-9.0) == 3.0
    assert read.spread(0.6, -9.0) == pytest.approx(0.1)  # the derivative of the root
    assert (read.value(0.0), read.spread(0.0, 0.0)) == (0.0, 0.0)
    assert math.isnan(read.spread(math.nan, -1.0))


def test_right_labels_are_told_as_wrong_ones():
    read = Measure.of("accuracy")
    assert (read.name, read.kind) == ("share of wrong labels", "share")
    assert (read.value(0.75), read.spread(0.1, 0.75)) == (0.25, 0.1)


def test_other_scores_stay_what_they_are():
    for scoring in ("r2", "minus max", "balanced_accuracy"):
        read = Measure.of(scoring)
        assert (read.name, read.kind, read.smaller_is_better) == (scoring, "score", False)
        assert (read.value(-2.0), read.spread(0.1, -2.0)) == (-2.0, 0.1)


# -- one result for all that measure ---------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(60, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)


def outcomes(X, y):
    search = KernelRidgeCV([Gaussian(0.5), Gaussian(1.0)], [0.01, 0.1], cv=5, random_state=0)
    landmarks = NystroemRidgeCV([Gaussian(1.0)], [0.01, 0.1], landmarks=20, cv=5, nested=True, random_state=0)
    yield cross_validate(KernelRidge(0.1, kernel=Gaussian(1.0)), X, y, cv=5, random_state=0)
    yield cross_validate(DecisionTreeRegressor(random_state=0), X, y, cv=5, random_state=0)
    yield nested_cross_validate(search, X, y, cv=5, random_state=0)
    yield nested_cross_validate(make_pipeline(StandardScaler(), search), X, y, cv=5, random_state=0)
    yield landmarks.fit(X, y).nested_
    yield AutoRegressor(committee=False).evaluate(X, y, cv=3)


@pytest.mark.slow
def test_all_results_have_scores_an_error_a_baseline_a_picture_and_a_table(data):
    found = list(outcomes(*data))
    for outcome in found:
        assert isinstance(outcome, Outcome)
        folds = outcome.scores.size
        assert outcome.error == pytest.approx(math.sqrt(np.mean(outcome.errors**2)))
        assert 0 < outcome.error_standard_error < outcome.error < outcome.baseline
        assert outcome.gain > 0
        assert outcome.useful
        assert str(outcome).startswith(f"Out-of-sample root mean squared error: {outcome.error:.4g} +- ")
        frame = outcome.to_frame()
        assert len(frame) == folds
        assert frame["error"].to_numpy() == pytest.approx(outcome.errors.ravel())
        assert len(outcome.plot().outer) == folds
        plt.close("all")
    chose = [outcome.inner_scores is not None for outcome in found]
    assert chose == [False, False, True, True, True, False]


def test_the_baseline_is_that_of_a_dummy(data):
    X, y = data
    labels = np.where(y > 0.3, "high", "low")
    for scoring in (None, "r2", "neg_mean_absolute_error", "max_error"):
        for cv in (5, None):
            ours = cross_validate(KernelRidge(0.1, kernel=Gaussian(1.0)), X, y, cv=cv, scoring=scoring)
            dummy = cross_validate(DummyRegressor(), X, y, cv=cv, scoring=scoring)
            assert ours.base == pytest.approx(dummy.mean)
            assert dummy.base == dummy.mean
            assert not dummy.useful
    for scoring in (None, "balanced_accuracy", "f1_macro"):
        ours = cross_validate(KernelRidgeClassifier(0.1, kernel=Gaussian(1.0)), X, labels, cv=5, scoring=scoring)
        assert ours.base == pytest.approx(cross_validate(DummyClassifier(), X, labels, cv=5, scoring=scoring).mean)


def test_a_tie_between_classes_has_the_baseline_of_a_dummy():
    X, labels = np.arange(12.0)[:, None], np.array(["a", "b"] * 6)
    ours = cross_validate(KernelRidgeClassifier(0.1), X, labels, cv=4)
    assert ours.base == cross_validate(DummyClassifier(), X, labels, cv=4).mean


def test_scores_that_a_baseline_does_not_have_are_left_open(data):
    X, y = data
    labels = np.where(y > 0.3, "high", "low")

    def decision(model, X, y):
        return float(np.mean((model.decision_function(X) > 0) == (y == "low")))

    decision._score_func = None  # what makes it a scorer for the library
    outcome = cross_validate(LogisticRegression(), X, labels, cv=4, scoring=decision)
    assert math.isnan(outcome.base)
    assert "; baseline" not in str(outcome)


def test_predictions_of_repeats_are_averaged(data):
    outcome = cross_validate(KernelRidge(0.1, kernel=Gaussian(1.0)), *data, cv=5, repeats=3, random_state=0)
    assert outcome.rows == 60
    assert outcome.predicted == pytest.approx(outcome.predictions.mean(axis=0))
    held = np.where(np.arange(60) < 30, outcome.predictions, np.nan)
    assert np.isnan(replace(outcome, predictions=held).predicted[30:]).all()


def test_one_fold_of_many_targets_prints_a_number_for_each(data):
    X, y = data
    outcome = AutoRegressor(committee=False).evaluate(X, np.column_stack([y, y**2]), cv=2)
    assert outcome.to_frame().columns.tolist() == ["repeat", "fold", "score 0", "score 1", "error 0", "error 1"]
    first, second = outcome.error
    assert f"{first:.4g}, {second:.4g} +- " in str(outcome)
