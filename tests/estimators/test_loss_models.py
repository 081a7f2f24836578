"""KernelRegressor and KernelLogistic."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from mercer import KernelLogistic, KernelRegressor, KernelRidge
from mercer.errors import ConvergenceWarning, InputError
from mercer.kernels import Gaussian, Linear, Precomputed, Sigmoid, Words
from refusals import tells

LOSSES = ("squared", "huber", "poisson", "gamma", "expectile", "quantile")


def waves(n=150, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 6.0, size=(n, 1))
    return X, np.sin(X[:, 0]) + noise * rng.normal(size=n)


@pytest.mark.parametrize(
    "model",
    [
        KernelRegressor(fit_intercept=True),
        KernelRegressor(loss="huber", fit_intercept=True),
        KernelLogistic(fit_intercept=True),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'loss', '')}",
)
def test_scikit_learns_checks_are_passed(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(clone(model), on_fail=None, on_skip=None)
    assert [each["check_name"] for each in results if each["status"] == "failed"] == []


@pytest.mark.parametrize("intercept", [False, True])
def test_the_squared_loss_is_kernel_ridge_bit_for_bit(intercept):
    X, y = waves()
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    w[:5] = 0.0
    how = {"kernel": Gaussian(1.0), "fit_intercept": intercept}
    ridge, same = KernelRidge(0.1, **how).fit(X, y, w), KernelRegressor(0.1, **how).fit(X, y, w)
    assert (same.predict(X) == ridge.predict(X)).all()
    assert (same.dual_coef_ == ridge.dual_coef_).all()
    np.testing.assert_allclose(
        KernelRegressor(0.1, loss="expectile", **how).fit(X, y, w).predict(X), ridge.predict(X), atol=1e-9
    )


def test_logistic_models_are_those_of_scikit_learn_with_weights_of_classes_and_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    w = rng.uniform(0.5, 2.0, 120)
    for classes in (2, 3):
        y = np.array(["a", "b", "c"])[np.argmax(X[:, :classes] + rng.gumbel(size=(120, classes)), axis=1)]
        for weight in (None, "balanced", {"a": 3.0}):
            model = KernelLogistic(0.5, kernel=Linear(), fit_intercept=True, class_weight=weight).fit(X, y)
            peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000, class_weight=weight).fit(X, y)
            np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)
            assert (model.predict(X) == peer.predict(X)).all()
        model = KernelLogistic(0.5, fit_intercept=True).fit(X, y, w)
        peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, y, w)
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)
        assert model.decision_function(X).shape == ((120,) if classes == 2 else (120, 3))


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_weight_two_are_two_rows_and_rows_of_weight_zero_are_none(loss):
    X, y = waves(60)
    y = np.exp(y) if loss in ("poisson", "gamma") else y
    how = {"loss": loss, "kernel": Gaussian(1.0), "fit_intercept": True, "delta": 0.3}
    w = np.r_[np.zeros(10), np.ones(30), np.full(20, 2.0)]
    weighted = KernelRegressor(0.5, **how).fit(X, y, w)
    again = np.r_[np.arange(10, 60), np.arange(40, 60)]
    repeated = KernelRegressor(0.5, **how).fit(X[again], y[again])
    close = 1e-2 if loss == "quantile" else 1e-6
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=close)


def test_quantiles_are_ordered_and_hold_their_shares():
    X, y = waves(400)
    model = KernelRegressor(1.0, loss="quantile", kernel=Gaussian(1.0), quantiles=(0.05, 0.5, 0.95), fit_intercept=True)
    low, middle, high = model.fit(X, y).predict(X).T
    assert (low <= middle).all()
    assert (middle <= high).all()
    for values, level in ((low, 0.05), (middle, 0.5), (high, 0.95)):
        assert np.mean(y < values) == pytest.approx(level, abs=0.02)
    far = model.predict(np.linspace(-50.0, 50.0, 200)[:, None])
    assert (np.diff(far, axis=1) >= 0).all()
    alone = KernelRegressor(1.0, loss="quantile", kernel=Gaussian(1.0), quantiles=0.95, fit_intercept=True).fit(X, y)
    assert alone.predict(X).shape == (400,)
    np.testing.assert_allclose(alone.predict(X), high, atol=1e-3)


def test_outliers_hardly_move_hubers_model():
    X, y = waves(300, noise=0.1)
    new = np.linspace(0.0, 6.0, 200)[:, None]
    spoilt, rng = y.copy(), np.random.default_rng(1)
    spoilt[::10] += 10.0 * y.std() * rng.choice([-1.0, 1.0], 30)

    def error(loss, targets):
        model = KernelRegressor(0.3, loss=loss, kernel=Gaussian(1.0), fit_intercept=True).fit(X, targets)
        return np.sqrt(np.mean((model.predict(new) - np.sin(new[:, 0])) ** 2))

    assert np.hypot(error("huber", spoilt), 0.1) < 1.1 * np.hypot(error("huber", y), 0.1)
    assert error("squared", spoilt) > 4.0 * error("squared", y)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_predictions_are_on_the_scale_of_y(loss):
    X, y = waves(400)
    rng = np.random.default_rng(2)
    mean = np.exp(1.0 + np.sin(X[:, 0]))
    y = rng.poisson(mean) if loss == "poisson" else rng.gamma(5.0, mean / 5.0)
    model = KernelRegressor(0.5, loss=loss, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y)
    assert np.mean(np.abs(model.predict(X) / mean - 1.0)) < 0.15
    assert model.predict(X).sum() == pytest.approx(y.sum(), rel=0.05 if loss == "gamma" else 1e-9)


def test_any_kernel_objects_frames_and_matrices():
    words, labels = ["good day", "bad day", "good night", "bad night"] * 4, ["+", "-", "+", "-"] * 4
    model = KernelLogistic(0.1, kernel=Words()).fit(words, labels)
    assert model.predict(["good", "bad"]).tolist() == ["+", "-"]
    X, y = waves(60)
    frame = pd.DataFrame({"a": X[:, 0], "b": 1.0})
    fitted = KernelRegressor(0.1, loss="huber", kernel=Gaussian(1.0).on("a"), delta=0.5).fit(frame, y)
    np.testing.assert_allclose(
        fitted.predict(frame[::-1])[::-1],
        KernelRegressor(0.1, loss="huber", kernel=Gaussian(1.0), delta=0.5).fit(X, y).predict(X),
    )
    K = Gaussian(1.0)(X)
    given = KernelRegressor(0.1, loss="huber", kernel=Precomputed(), delta=0.5).fit(K, y)
    np.testing.assert_allclose(given.predict(K), fitted.predict(frame))


def test_inputs_are_left_as_they_were_and_copies_are_kept():
    X, y = waves(40)
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    model = KernelRegressor(0.1, loss="huber", kernel=Gaussian(1.0)).fit(X, y)
    assert (before[0] == X).all()
    assert (before[1] == y).all()
    assert model.X_fit_ is not X
    assert repr(clone(model)) == repr(model)


@pytest.mark.parametrize(
    ("model", "change", "words"),
    [
        (KernelRegressor(0.0, loss="huber"), None, ("alpha of KernelRegressor must be above 0",)),
        (KernelRegressor(loss="absolute"), None, ("loss of KernelRegressor", "'quantile'", "'absolute'")),
        (KernelRegressor(loss="poisson"), -1.0, ("with loss='poisson'", "non-negative", "-1")),
        (KernelRegressor(loss="gamma"), 0.0, ("with loss='gamma'", "positive", "0")),
        (KernelRegressor(loss="huber", delta=-1.0), None, ("delta of KernelRegressor", "-1")),
        (KernelRegressor(loss="quantile", quantiles=(0.9, 0.1)), None, ("quantiles of KernelRegressor", "ascending")),
        (KernelRegressor(loss="quantile", quantiles=1.5), None, ("quantiles of KernelRegressor", "1.5")),
        (KernelRegressor(loss="huber", kernel=Sigmoid()), None, ("a Mercer kernel", "Sigmoid")),
    ],
    ids=str,
)
def test_what_is_refused(model, change, words):
    X, y = waves(20)
    y = np.abs(y) + 0.1
    if change is not None:
        y[3] = change
    with pytest.raises(InputError) as refused:
        model.fit(X, y)
    assert tells(str(refused.value), *words)


def test_one_class_is_refused_and_steps_that_do_not_end_are_told(monkeypatch):
    X, y = waves(20)
    with pytest.raises(InputError, match="at least two classes"):
        KernelLogistic().fit(X, ["a"] * 20)
    monkeypatch.setattr("mercer.solvers.newton._STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="Use a larger alpha"):
        model = KernelRegressor(1e-6, loss="poisson", kernel=Gaussian(1.0), fit_intercept=True).fit(X, np.exp(4.0 * y))
    assert not model.converged_
