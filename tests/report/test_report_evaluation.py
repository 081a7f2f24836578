"""One evaluation of a fitted model: the numbers that the command line and the report tell."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from mercer import KernelRidgeClassifierCV, KernelRidgeCV, evaluate, nested_cross_validate
from mercer.errors import InputError


@pytest.fixture
def lines():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, 2.0 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=80)


def test_the_error_is_that_of_nested_cross_validation(lines):
    search = KernelRidgeCV("linear", [0.1, 1.0], cv=5, random_state=0, fit_intercept=True).fit(*lines)
    nested = nested_cross_validate(search, *lines, cv=5, random_state=0)
    result = evaluate(search, *lines, target="price")
    assert result.error == pytest.approx(np.sqrt(-nested.mean))
    assert result.standard_error == pytest.approx(nested.standard_error / (2 * result.error))
    np.testing.assert_allclose(result.predictions, nested.predictions[0])
    assert evaluate(search, *lines, evaluation=nested).error == result.error
    assert result.error < 0.3 * result.baseline


def test_columns_are_ranked_by_permutation_and_intervals_are_tried_on_unseen_rows(lines):
    search = KernelRidgeCV("linear", [0.1, 1.0], cv=5, random_state=0, fit_intercept=True).fit(*lines)
    result = evaluate(search, *lines)
    assert list(result.importance)[:2] == ["x1", "x2"]
    assert result.importance["x1"] > result.importance["x2"] > 5 * abs(result.importance["x3"])
    held = {each.confidence: float(each) for each in result.coverage}
    assert 0.8 <= held[0.9] <= 1.0


def test_a_classifier_has_a_confusion_matrix_and_a_calibration(lines):
    X, values = lines
    y = np.where(values > 0, "up", "down")
    search = KernelRidgeClassifierCV("linear", [0.1, 1.0], cv=5, random_state=0).fit(X, y)
    result = evaluate(search, X, y)
    np.testing.assert_array_equal(result.labels.matrix, confusion_matrix(y, result.predictions))
    assert result.error == pytest.approx(np.mean(result.predictions != y))
    assert 0 <= result.labels.calibration.gap < 0.3


def test_it_prints_what_a_person_wants_to_know(lines):
    search = KernelRidgeCV("linear", [0.1, 1.0], cv=5, random_state=0, fit_intercept=True).fit(*lines)
    text = str(evaluate(search, *lines))
    assert text.startswith("Out-of-sample error of y: 0.3")
    assert "root mean squared error; nested cross-validation, 5-fold" in text
    assert "90 % prediction intervals contain" in text
    assert "column  importance  std. error" in text


def test_warnings_name_a_column_that_gives_the_target_away(lines):
    X, y = lines
    X = np.column_stack([X, y])
    search = KernelRidgeCV("linear", [1e-3, 1.0], cv=5, random_state=0, fit_intercept=True).fit(X, y)
    assert any("x4" in warning and "target" in warning for warning in evaluate(search, X, y).warnings)


def test_other_rows_and_other_models_are_refused(lines):
    X, y = lines
    search = KernelRidgeCV("linear", [0.1], cv=5, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="the training data of the model"):
        evaluate(search, X[:50], y[:50])
    with pytest.raises(
        InputError, match="AutoRegressor, AutoClassifier, KernelRidge, KernelRidgeCV, one of their classifiers"
    ):
        evaluate("search", X, y)
