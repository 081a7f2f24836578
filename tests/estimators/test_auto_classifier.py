"""The automatic classifier: labels, probabilities and an error that is true."""

import numpy as np
import pandas as pd
import pytest
from auto_cases import NO_BETTER, QUICK, rings, smooth

from mercer import AutoClassifier
from refusals import refusal
from remembered import fitted

pytestmark = pytest.mark.slow

# -- classification ------------------------------------------------------------------------------------------------


def test_classes_are_learned_with_a_true_error_and_probabilities_that_mean_something(rng):
    X, y = rings(450)
    model = fitted(AutoClassifier(), X[:150], y[:150])
    wrong = 1.0 - model.score(X[150:], y[150:])
    assert wrong < 0.12
    assert abs(model.error_ - wrong) < 0.07
    assert model.baseline_ == pytest.approx(min(np.mean(y[:150] == "in"), np.mean(y[:150] == "out")))
    chances = model.predict_proba(X[150:])
    true = chances[np.arange(300), (y[150:] == "out").astype(int)]
    assert -np.log(true).mean() < 0.35
    assert chances.max(axis=1).mean() == pytest.approx(1.0 - wrong, abs=0.08)


@pytest.mark.filterwarnings("ignore::mercer.errors.UnfamiliarRowsWarning")
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_probabilities_sum_to_one_and_agree_with_the_labels(classes, rng):
    X = rng.normal(size=(120, 2))
    y = np.array(list("abcde"))[(np.abs(X[:, 0]) * 1.5).astype(int) % classes]
    model = fitted(AutoClassifier(**QUICK), X, y)
    new = 3.0 * rng.normal(size=(200, 2))
    chances, values = model.predict_proba(new), model.decision_function(new)
    assert chances.shape == (200, len(model.classes_))
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(new)).all()
    assert values.shape == ((200,) if len(model.classes_) == 2 else (200, len(model.classes_)))
    assert model.error_ < model.baseline_


@pytest.mark.parametrize(
    "labels", [("in", "out"), (False, True), (3, -7), (1.0, 2.0)], ids=["str", "bool", "int", "float"]
)
def test_labels_of_every_make_come_back_as_they_were(labels, rng):
    X, y = rings(60, labels)
    model = fitted(AutoClassifier(**QUICK), X, y)
    assert model.predict(X).dtype == y.dtype
    assert set(model.predict(X)) == set(labels)
    assert model.score(X, y) > 0.85
    series = fitted(AutoClassifier(**QUICK), X, pd.Series(y, index=np.arange(60)[::-1]))
    assert (series.predict(X) == model.predict(X)).all()


def test_labels_may_be_a_categorical_or_object_column(rng):
    X, y = rings(60)
    expected = fitted(AutoClassifier(**QUICK), X, y).predict(X)
    for given in (pd.Series(y, dtype="category"), pd.Series(y, dtype=object), y.tolist()):
        assert (AutoClassifier(**QUICK).fit(X, given).predict(X) == expected).all()


def test_one_class_is_refused_in_a_sentence(rng):
    X, _ = smooth(10)
    words = (
        "y of AutoClassifier must be labels of at least two classes with positive sample weight; got 1 class, 'same'."
    )
    assert refusal(AutoClassifier().fit, X, ["same"] * 10) == words
    assert refusal(AutoClassifier().evaluate, X, ["same"] * 10) == words


def test_rare_classes_are_not_forgotten(rng):
    X = rng.normal(size=(300, 2))
    X[:15] += 3.0
    y = np.where(np.arange(300) < 15, "rare", "common")
    model = fitted(AutoClassifier(**QUICK), X, y)
    assert model.error_ < model.baseline_ == pytest.approx(0.05)
    new = np.vstack([rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) + 3.0])
    found = model.predict(new)
    assert np.mean(found[:500] == "common") > 0.95
    assert np.mean(found[500:] == "rare") > 0.8
    assert model.predict_proba(rng.normal(size=(500, 2)))[:, 1].mean() < 0.15


def test_labels_of_chance_are_no_better_than_the_most_common_one_and_said_to_be(rng):
    X = rng.normal(size=(100, 4))
    y = rng.uniform(size=100) < 0.4
    model = fitted(AutoClassifier(), X, y)
    assert NO_BETTER in model.summary()
    assert np.abs(model.predict_proba(rng.normal(size=(50, 4)))[:, 1] - 0.5).max() < 0.35


@pytest.mark.parametrize("labels", [[0, 1, 1], [0, 1, 2], [1, 1, 0]], ids=str)
def test_three_rows_of_two_or_three_classes_give_a_model(labels, rng):
    X = rng.normal(size=(3, 2))
    model = fitted(AutoClassifier(), X, labels)
    assert set(model.predict(X)) <= set(labels)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_class_of_one_row_is_no_trouble(rng):
    X = rng.normal(size=(30, 2))
    model = fitted(AutoClassifier(**QUICK), X, ["lone"] + ["a", "b"] * 14 + ["a"])
    assert model.predict_proba(X).shape == (30, 3)
