"""Committees of other losses against models that are fitted one by one."""

import time

import numpy as np
import pytest
from scipy.special import log_softmax

from mercer import AutoClassifier, KernelLogistic, KernelRidge, load, marginal_effects, save
from mercer.data.rows import Rows
from mercer.kernels import Gaussian, Linear, Matern
from mercer.selection.removals import label_targets
from mercer.solvers.problem import Problem
from mercer.tuning.committee import CLASSIFICATION, CommitteeFit, TrainingTable
from mercer.tuning.generalized import as_ridge, generalized_committee, read_labels
from mercer.tuning.held_out import log_loss_weights, loss_weights


def drawn(classes, n=90, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2))
    truth = np.c_[np.sin(2.0 * Z[:, 0]), Z[:, 1], 0.5 * Z[:, 0] - Z[:, 1]][:, :classes]
    return Z, np.argmax(3.0 * truth + rng.gumbel(size=(n, classes)), axis=1)


def committee_of(Z, numbers, classes, **how):
    problem = Problem(label_targets(numbers, classes), how.pop("weights", None), intercept=True)
    table = TrainingTable(Rows(Z), problem, list(range(Z.shape[1])), numbers)
    folds = table.folds(3, np.random.default_rng(0))
    return table, CommitteeFit(table, CLASSIFICATION[:3], folds, weigh=log_loss_weights, **how).fit()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(0.5, nu=1.5), Linear()], ids=str)
def test_a_logistic_model_is_a_ridge_regression_on_working_targets(classes, weighted, kernel):
    Z, numbers = drawn(classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(Z)) if weighted else None
    if weighted:
        weights /= weights.mean()
    alpha, targets = as_ridge(read_labels, kernel, 0.05, Rows(Z), label_targets(numbers, classes), weights)
    new = np.random.default_rng(2).normal(size=(20, 2))
    ridge = KernelRidge(alpha, kernel=kernel, fit_intercept=True).fit(Z, targets)
    model = KernelLogistic(0.05, kernel=kernel, fit_intercept=True).fit(Z, numbers, sample_weight=weights)
    found = np.reshape(ridge.predict(new), (20, -1))
    expected = np.reshape(model.decision_function(new), (20, -1))
    assert log_softmax(np.c_[found, 0 * found[:, :0]], axis=1) == pytest.approx(log_softmax(expected, axis=1), abs=1e-5)
    assert found - found.mean(axis=1, keepdims=classes > 2) == pytest.approx(
        expected - expected.mean(axis=1, keepdims=classes > 2), abs=1e-5
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_held_out_values_are_those_of_models_without_the_fold(classes):
    Z, numbers = drawn(classes)
    table, committee = committee_of(Z, numbers, classes)
    found = generalized_committee(table, committee, read_labels)
    assert sum(member.weight for member in found.members) == pytest.approx(1.0)
    assert "linear" in [member.name for member in found.tried]
    for fold in range(3):
        train, test = committee.folds != fold, committee.folds == fold
        expected = np.zeros((test.sum(), max(1, classes if classes > 2 else 1)))
        for (kernel, alpha), share in zip(found.by_fold[fold], found.fold_weights[fold], strict=True):
            model = KernelLogistic(alpha, kernel=kernel, fit_intercept=True).fit(Z[train], numbers[train])
            expected += share * np.reshape(model.decision_function(Z[test]), expected.shape)
        assert found.held_out[test] == pytest.approx(expected, abs=2e-2 * max(1.0, np.abs(expected).max()))


def test_it_is_left_undone_where_it_would_take_too_long_or_has_no_folds():
    Z, numbers = drawn(2)
    table, committee = committee_of(Z, numbers, 2)
    assert generalized_committee(table, committee, read_labels, deadline=time.monotonic()) is None
    one = generalized_committee(table, committee, read_labels, single=True)
    assert one.members[0].name in [member.name for member in committee.members]
    many = np.repeat(Z, 30, axis=0)
    large = TrainingTable(Rows(many), Problem(np.repeat(table.problem.Y, 30, axis=0), None, intercept=True), [0, 1])
    assert generalized_committee(large, committee, read_labels) is None


def test_shares_minimize_the_log_loss_of_logits_as_they_are():
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((400, 1)) < 0.5, 1.0, -1.0)
    honest = 2.0 * Y + rng.normal(size=(400, 1)) * 2.0
    found = loss_weights(read_labels, np.stack([honest, 20.0 * honest]), Y)
    assert found.sum() == pytest.approx(1.0)
    assert found[0] > 0.9  # twenty times as sure is not worth it

    def loss(share):
        return float(np.mean(np.logaddexp(0.0, -Y * (share + 20.0 * (1.0 - share)) * honest)))

    assert loss(found[0]) <= min(loss(share) for share in np.linspace(0.0, 1.0, 201)) + 1e-6


def test_probabilities_approach_certainty_where_held_out_rows_support_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0.3, "high", "low")
    model = AutoClassifier().fit(X[:300], y[:300])
    assert model.logistic
    sure = model.predict_proba(X[300:])[np.arange(400), (y[300:] == "low").astype(int)]
    assert -np.log(sure).mean() < 0.06
    assert np.median(sure) > 0.998


def test_few_distinct_rows_do_not_become_certain():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(1000, 3)).astype(float)
    y = rng.random(1000) < np.where(X[:, 0] > 0, 0.8, 0.3)
    for start in (0, 100, 200):
        rows = slice(start, start + 100)
        model = AutoClassifier().fit(X[rows], y[rows])
        chosen = model.predict_proba(X[300:])[np.arange(700), y[300:].astype(int)]
        shares = np.array([1 - y[300:].mean(), y[300:].mean()])
        assert -np.log(chosen).mean() < -(shares * np.log(shares)).sum()


@pytest.fixture(scope="module")
def logistic():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = np.where(2.0 * X[:, 0] - X[:, 1] > 0, "a", "b")
    model = AutoClassifier().fit(X, y)
    assert model.logistic
    return model, X, y


def test_a_model_file_has_the_same_probabilities_and_words(logistic, tmp_path):
    model, X, _ = logistic
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert again.logistic
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert again.summary() == model.summary()
    assert again.signal_ == model.signal_
    assert "logistic regression" in model.summary()
    assert "out-of-fold log loss" in model.summary()


def test_effects_are_those_of_its_probabilities(logistic):
    model, X, _ = logistic
    found = marginal_effects(model, of="probability")
    h = 1e-4
    for column in range(2):
        up, down = X.copy(), X.copy()
        up[:, column] += h
        down[:, column] -= h
        slopes = (model.predict_proba(up) - model.predict_proba(down))[:, 1] / (2 * h)
        assert found.average[column] == pytest.approx(slopes.mean(), rel=1e-3, abs=1e-5)
    assert (found.standard_error > 0).all()


def test_decisions_labels_and_relevance_agree_with_probabilities(logistic):
    model, X, y = logistic
    odds = model.decision_function(X)
    p = model.predict_proba(X)
    assert odds == pytest.approx(np.log(p[:, 1] / p[:, 0]), abs=1e-6)
    assert (model.predict(X) == model.classes_[p.argmax(axis=1)]).all()
    assert list(model.relevance()) == ["x0", "x1"] or len(model.relevance()) == 2
    assert model.evaluate(X, y, cv=3).error <= 0.1


def test_weights_count_rows_as_often(logistic):
    _, X, y = logistic
    twice = np.concatenate([np.arange(160), np.arange(40)])
    weights = np.ones(160)
    weights[:40] = 2.0
    rng_free = {"committee": False, "copies": False}
    one = AutoClassifier(**rng_free).fit(X, y, sample_weight=weights)
    two = AutoClassifier(**rng_free).fit(X[twice], y[twice])
    assert one.predict_proba(X) == pytest.approx(two.predict_proba(X), abs=0.1)


def test_estimators_in_extra_and_time_exclude_it(logistic):
    from sklearn.linear_model import LogisticRegression

    _, X, y = logistic
    assert not AutoClassifier(extra=[LogisticRegression()]).fit(X, y).logistic
    assert not AutoClassifier().fit(X, y, time=np.arange(160)).logistic
