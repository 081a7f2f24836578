"""Estimators of the user's own in the committees of automatic models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import mercer
from mercer import AutoClassifier, AutoRegressor, TableEncoder, marginal_effects
from mercer.report import write_report
from refusals import refusal


def steps(n=150, seed=0):
    """A target of steps that are too narrow for so few rows, and a slope."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, known(X) + X[:, 1] + 0.05 * rng.normal(size=n)


def known(X):
    """What the oracles know."""
    return np.floor(97.0 * np.asarray(X)[:, 0]) % 3


class Oracle(RegressorMixin, BaseEstimator):
    """Knows the steps of every row, in training or not, and nothing of the slope."""

    def fit(self, X, y):
        self.rows_ = len(y)
        return self

    def predict(self, X):
        return known(X) + 0.5


class Copycat(RegressorMixin, BaseEstimator):
    """Knows the training rows by heart, and nothing else."""

    def fit(self, X, y):
        self.known_ = dict(zip(map(bytes, np.asarray(X)), y, strict=True))
        return self

    def predict(self, X):
        return np.array([self.known_.get(bytes(row), 0.0) for row in np.asarray(X)])


class Judge(ClassifierMixin, BaseEstimator):
    """Knows the class of every row with four parts in five."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        shares = np.full((len(X), len(self.classes_)), 0.2 / (len(self.classes_) - 1))
        shares[np.arange(len(X)), known(X).astype(int) % len(self.classes_)] = 0.8
        return shares


@pytest.mark.slow
def test_an_estimator_that_is_better_gets_the_weight_and_lowers_the_error():
    X, y = steps()
    new, truth = steps(500, 1)
    oracle = Oracle()
    alone, joined = AutoRegressor().fit(X, y), AutoRegressor(extra=[oracle]).fit(X, y)
    (member,) = joined.extra_
    assert member.name == "Oracle"
    assert member.weight > 0.5
    assert abs(sum(each.weight for each in joined.members_) + member.weight - 1) < 1e-12
    errors = [np.sqrt(np.mean((model.predict(new) - truth) ** 2)) for model in (alone, joined)]
    assert errors[1] < 0.9 * errors[0]
    assert joined.error_ < alone.error_
    assert 0.8 < joined.error_ / errors[1] < 1.25
    assert 0.85 < float(joined.coverage(new, truth)) < 0.95
    assert "Oracle" in joined.summary()
    assert not hasattr(oracle, "rows_"), "the estimator that was given must stay unfitted"


@pytest.mark.slow
def test_votes_are_the_weighted_sum_of_members_and_estimators():
    X, y = steps(90)
    model = AutoRegressor(extra=[LinearRegression(), KNeighborsRegressor(3)]).fit(X, y)
    new = steps(20, 3)[0]
    Z = model.encoder_.transform(new)
    expected = sum(m.weight * each.predict(Z) for m, each in zip(model.members_, model.models_, strict=True))
    expected = model.centre_ * sum(m.weight for m in model.members_) + model.scale_ * np.ravel(expected)
    expected += sum(each.weight * each.model.predict(new) for each in model.extra_)
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-10)


@pytest.mark.slow
def test_out_of_fold_predictions_are_those_of_models_that_have_not_seen_the_fold():
    X, y = steps(90)
    model = AutoRegressor(extra=[Oracle()]).fit(X, y)
    assert model.extra_[0].weight > 0.7
    assert model.extra_[0].model.rows_ == 90
    smooth = np.sin(6.0 * X[:, 0]) + X[:, 1]
    worthless = AutoRegressor(extra=[KNeighborsRegressor(50), Copycat()]).fit(X, smooth)
    assert [each.weight for each in worthless.extra_] == [0, 0]
    np.testing.assert_array_equal(worthless.predict(X), AutoRegressor().fit(X, smooth).predict(X))


@pytest.mark.slow
def test_estimators_see_the_table_as_given_with_weights_groups_time_and_several_targets():
    X, y = steps(80)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "x", "y"), "c": X[:, 2]})
    pipeline = make_pipeline(TableEncoder(), HistGradientBoostingRegressor(min_samples_leaf=5))
    weights = np.r_[np.zeros(10), np.ones(70)]
    model = AutoRegressor(extra=[pipeline]).fit(frame, y, sample_weight=weights)
    assert model.extra_[0].name == "HistGradientBoostingRegressor"
    assert np.isfinite(model.predict(frame)).all()
    noisy = X[:, 1] + 0.1 * X[:, 2] + 0.1 * np.random.default_rng(0).normal(size=80)
    several = AutoRegressor(extra=[LinearRegression()]).fit(X, np.column_stack([y, noisy + 100.0]))
    assert several.predict(X).shape == (80, 2)
    grouped = AutoRegressor(extra=[Oracle()]).fit(X, y, groups=np.arange(80) // 4)
    ordered = AutoRegressor(extra=[Oracle()]).fit(X, y, time=np.arange(80))
    for fitted in (grouped, ordered):
        assert fitted.extra_[0].weight > 0.7
        assert fitted.predict_interval(X)[0].shape == (80,)
    logs = AutoRegressor(extra=[LinearRegression()], loss="log").fit(X, np.exp(noisy))
    assert np.abs(np.log(logs.predict(X)) - noisy).mean() < 0.15


@pytest.mark.slow
def test_classifiers_join_by_their_probabilities():
    X, _ = steps()
    for labels in (np.array(["low", "mid", "top"])[known(X).astype(int)], known(X) % 2 == 1):
        model = AutoClassifier(extra=[Judge()]).fit(X, labels)
        assert model.extra_[0].weight > 0.5
        assert model.error_ < 0.1 < AutoClassifier().fit(X, labels).error_
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert model.score(X, labels) > 0.95


@pytest.mark.slow
def test_evaluate_and_clone_repeat_everything_with_the_estimators():
    X, y = steps(90)
    model = AutoRegressor(extra=[Oracle()])
    assert clone(model).get_params()["extra"][0] is not model.extra[0]
    assert model.evaluate(X, y, cv=3).error < AutoRegressor().evaluate(X, y, cv=3).error


def test_what_is_no_estimator_is_refused_by_name():
    X, y = steps(30)
    for extra in (LinearRegression(), [LinearRegression], ["ridge"], [LogisticRegression()], "ridge"):
        assert "extra of AutoRegressor must be a list of regressors" in refusal(AutoRegressor(extra=extra).fit, X, y)
    assert "predict_proba" in refusal(AutoClassifier(extra=[LinearRegression()]).fit, X, y > 1)
    table = pd.DataFrame({"a": X[:, 0], "b": ["x", "y"] * 15})
    message = refusal(AutoRegressor(extra=[LinearRegression()]).fit, table, y)
    assert "LinearRegression in extra" in message
    assert "make_pipeline(TableEncoder(), LinearRegression(...))" in message
    weighted = AutoRegressor(extra=[KNeighborsRegressor()])
    assert "KNeighborsRegressor.fit does not support sample_weight" in refusal(weighted.fit, X, y, np.ones(30))


@pytest.mark.slow
def test_what_needs_kernel_members_alone_refuses_models_with_estimators(tmp_path):
    X, y = steps(60)
    model = AutoRegressor(extra=[Oracle()]).fit(X, y)
    assert set(model.relevance()) == {"x1", "x2", "x3"}
    refused = [
        (marginal_effects, (model,)),
        (model.predict, (X, True)),
        (model.predict_interval, (X, 0.9, "jackknife+")),
        (write_report, (model, X, y, tmp_path / "report.html")),
        (mercer.save, (model, tmp_path / "model.mercer")),
    ]
    for call, given in refused:
        assert "extra" in refusal(call, *given)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_frames_are_taken_by_name_at_predict_and_as_given_in_evaluate():
    X, y = steps(120)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = AutoRegressor(extra=[Oracle()]).fit(frame, y)
    assert (model.predict(frame[["c", "a", "b"]]) == model.predict(frame)).all()
    assert AutoRegressor(extra=[LinearRegression()]).evaluate(frame, y, cv=2).error > 0


class Odd(RegressorMixin, BaseEstimator):
    """Fails in ways of its own."""

    def __init__(self, how="silent"):
        self.how = how

    def fit(self, X, y):
        if self.how == "silent":
            raise AssertionError
        return self

    def predict(self, X):
        return np.zeros(1) if self.how == "short" else np.full((len(X), 2), 1.0)


@pytest.mark.parametrize(("how", "word"), [("silent", "AssertionError"), ("short", "one for each"), ("wide", "shape")])
def test_estimators_that_fail_oddly_are_named(how, word):
    X, y = steps(30)
    message = refusal(AutoRegressor(extra=[Odd(how)]).fit, X, y)
    assert "Odd in extra" in message
    assert word in message
