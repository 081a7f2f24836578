"""Rare classes, class weights and encoders of one's own in the automatic estimators."""

import io
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, log_loss

from mercer import AutoClassifier, AutoRegressor, TableEncoder, load, save
from mercer.estimators.auto_classifier import costs_of, wrong_share
from mercer.estimators.targets import Temperature
from refusals import refusal, tells
from remembered import fitted

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])


def rare(rng, n, offset=-6.5):
    """Labels of which one in a hundred is 1, more often where the first column is large."""
    X = rng.normal(size=(n, 2))
    chance = 1.0 / (1.0 + np.exp(-(offset + 2.0 * X[:, 0])))
    return X, (rng.uniform(size=n) < chance).astype(int), chance


@pytest.fixture(scope="module")
def one_in_a_hundred():
    X, y, chance = rare(np.random.default_rng(2), 4600)
    model = fitted(AutoClassifier(committee=False, class_weight="balanced"), X[:600], y[:600])
    return model, X[:600], y[:600], X[600:], y[600:], chance[600:]


def test_probabilities_of_a_rare_class_add_up_to_its_rows_and_beat_its_share(one_in_a_hundred):
    model, _, y, new, truth, chance = one_in_a_hundred
    assert 3 <= y.sum() <= 20
    found = model.predict_proba(new)[:, 1]
    assert 0.3 < found.sum() / chance.sum() < 3.0
    assert log_loss(truth, found) < log_loss(truth, np.full(len(truth), y.mean()))
    assert np.corrcoef(found, chance)[0, 1] > 0.5


def test_balanced_weights_find_rare_rows_and_leave_probabilities_alone(one_in_a_hundred):
    model, X, y, new, truth, _ = one_in_a_hundred
    plain = clone(model).set_params(class_weight=None).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(new), model.predict_proba(new))
    assert balanced_accuracy_score(truth, model.predict(new)) > 0.7
    assert balanced_accuracy_score(truth, model.predict(new)) > balanced_accuracy_score(truth, plain.predict(new))
    assert np.mean(plain.predict(new) != truth) <= np.mean(model.predict(new) != truth)
    assert model.baseline_ == pytest.approx(0.5)
    assert "Out-of-fold error, by class weights," in model.summary()
    assert "by class weights" not in plain.summary()


def test_labels_are_those_of_the_least_expected_cost(one_in_a_hundred):
    model, _, y, new, _, _ = one_in_a_hundred
    costs = len(y) / (2 * np.bincount(y))
    np.testing.assert_allclose(model.costs_, costs)
    expected = (model.predict_proba(new) * costs).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(new), expected)
    np.testing.assert_array_equal(model.decision_function(new) > 0, expected == 1)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_most_probable_label_is_predicted_without_weights(classes, rng):
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), np.linspace(-1.0, 1.0, classes + 1)[1:-1])
    model = fitted(AutoClassifier(committee=False), X, y)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    heavy = fitted(AutoClassifier(committee=False, class_weight={classes - 1: 50.0}), X, y)
    assert np.mean(heavy.predict(X) == classes - 1) > np.mean(model.predict(X) == classes - 1)
    found = heavy.decision_function(X)
    assert found.shape == ((90,) if classes == 2 else (90, 3))


def test_an_outer_loop_counts_rows_by_their_class(rng):
    X, y, _ = rare(rng, 200, offset=-4.0)
    model = AutoClassifier(committee=False, class_weight="balanced")
    result = model.evaluate(X, y, cv=3)
    assert result.baseline == pytest.approx(0.5, abs=0.05)
    assert result.error < 0.5
    assert np.isfinite(result.errors).all()


def test_costs_are_as_given_balanced_or_one():
    labels, numbers = np.array(["a", "b", "c"]), np.array([0, 0, 0, 1])
    assert costs_of(None, labels, numbers).tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(costs_of("balanced", labels, numbers), [4 / 9, 4 / 3, 4 / 3])
    assert costs_of({"b": 5}, labels, numbers).tolist() == [1.0, 5.0, 1.0]
    assert wrong_share(np.array([0, 0, 1, 1]), numbers, np.ones(3))[0] == 0.25
    assert wrong_share(np.array([0, 0, 1, 0]), numbers, np.array([1.0, 5.0, 1.0]))[0] == 6 / 8


@pytest.mark.parametrize("given", [{0: -1.0}, {0: "much"}, {0: 0.0, 1: 0.0}, {1: np.nan}])
def test_costs_that_are_none_are_refused(given, rng):
    X, y, _ = rare(rng, 60, offset=-1.0)
    words = refusal(AutoClassifier(committee=False, class_weight=given).fit, X, y)
    assert tells(words, "class_weight", f"got {given!r}")


def test_class_weights_of_another_kind_are_refused(rng):
    X, y, _ = rare(rng, 60, offset=-1.0)
    words = refusal(AutoClassifier(class_weight="heavy").fit, X, y)
    assert tells(words, "class_weight of AutoClassifier", "got 'heavy'")


def test_weights_and_leans_come_back_from_a_file(one_in_a_hundred, tmp_path):
    model, _, _, new, _, _ = one_in_a_hundred
    save(model, tmp_path / "rare.mercer")
    again = load(tmp_path / "rare.mercer")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


# -- the lean ------------------------------------------------------------------------------------------------------


def test_a_lean_is_taken_only_where_it_pays(rng):
    numbers = (rng.uniform(size=2000) < 0.05).astype(int)
    votes = np.where(numbers == 1, 0.2, -0.2) + 0.4 * rng.normal(size=2000)  # as of classes of one size
    found = Temperature.leaning(votes[:, None], numbers)
    assert found.shifts[0] > 0.5
    assert found.probabilities(votes[:, None])[:, 1].sum() == pytest.approx(numbers.sum(), rel=0.05)
    sound = rng.uniform(-1.5, 0.5, size=(300, 1))
    labels = (rng.uniform(size=300) < 1.0 / (1.0 + np.exp(-3.0 * sound[:, 0]))).astype(int)
    assert Temperature.leaning(sound, labels).shifts == ()
    half = np.arange(40) % 2
    assert Temperature.leaning(votes[:40, None], half).shifts == ()


@pytest.mark.parametrize("classes", [2, 4])
def test_no_other_scale_or_lean_is_more_likely(classes, rng):
    shares = {2: [0.85, 0.15], 4: [0.7, 0.2, 0.06, 0.04]}[classes]
    numbers = rng.choice(classes, p=shares, size=1500)
    votes = 0.4 * rng.normal(size=(1500, classes)) + 0.5 * np.eye(classes)[numbers]
    votes = votes if classes > 2 else (votes[:, 1:] - votes[:, :1])
    found = Temperature.leaning(votes, numbers)
    assert len(found.shifts) == classes

    def loss(scale, factor):
        moved = Temperature(found.scale * scale, tuple(factor * shift for shift in found.shifts))
        return -np.mean(np.log(moved.probabilities(votes)[np.arange(1500), numbers]))

    best = loss(1.0, 1.0)
    for scale, factor in ((1.1, 1.0), (0.9, 1.0), (1.0, 1.2), (1.0, 0.8), (1.1, 1.2)):
        assert loss(scale, factor) > best - 1e-4


# -- encoders and progress ---------------------------------------------------------------------------------------------


def years(rng, n=60):
    X = {"year": rng.integers(2000, 2004, n).tolist(), "x": rng.normal(size=n).tolist()}
    return X, np.array([{2000: 3.0, 2001: -2.0, 2002: 4.0, 2003: -5.0}[year] for year in X["year"]])


@pytest.mark.filterwarnings("ignore::mercer.errors.LeakageWarning")
@BOTH
def test_an_encoder_of_ones_own_is_used_in_fit_and_in_every_fold(kind, rng):
    X, y = years(rng)
    y = y if kind is AutoRegressor else y > 0
    encoder = TableEncoder(kinds={"year": "category"})
    model = kind(committee=False, encoder=encoder)
    fitted = clone(model).fit(X, y)
    assert {column.name: column.kind for column in fitted.encoder_.columns_}["year"] == "category"
    assert not hasattr(encoder, "columns_")
    assert fitted.error_ < 0.3 * fitted.baseline_
    result = model.evaluate(X, y, cv=3)
    assert result.error < 0.3 * result.baseline
    dropped = kind(committee=False, encoder=TableEncoder(drop=["year"])).evaluate(X, y, cv=3)
    assert dropped.error > 0.7 * dropped.baseline


@BOTH
def test_what_is_no_encoder_is_refused(kind, rng):
    X, y = years(rng)
    words = refusal(kind(encoder="plain").fit, X, y if kind is AutoRegressor else y > 0)
    assert tells(words, f"encoder of {kind.__name__}", "got 'plain'")


def test_an_outer_loop_tells_its_own_progress_and_not_that_of_its_folds(rng, monkeypatch):
    X, y = years(rng, 30)
    heard = io.StringIO()
    monkeypatch.setattr(sys, "stderr", heard)
    AutoRegressor(committee=False, verbose=2).evaluate(X, y, cv=3)
    assert "evaluating: 3 of 3" in heard.getvalue()
    assert "committee" not in heard.getvalue()
