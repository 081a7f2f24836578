"""AutoRegressor with Poisson and gamma loss: what is tried, what is taken, and what follows from it."""

import numpy as np
import pytest
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

import mercer.report
from mercer import AutoRegressor, KernelRegressor, KernelRidge, load, marginal_effects, save
from mercer.data.rows import Rows
from mercer.errors import InputError
from mercer.estimators.auto_evaluation import candidate_loss, logarithms, lowers_loss, without_zeros
from mercer.kernels import Gaussian
from mercer.solvers.problem import LOSSES
from mercer.tuning.generalized import as_ridge

pytestmark = pytest.mark.slow


def drawn(kind, n=600, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    mean = np.exp(0.5 + 1.2 * X[:, 0] + 0.4 * np.sin(2.0 * X[:, 1]))
    return X, rng.poisson(mean) if kind == "poisson" else rng.gamma(2.0, mean / 2.0)


@pytest.fixture(scope="module", params=["poisson", "gamma"])
def case(request):
    X, y = drawn(request.param)
    return request.param, X, y, AutoRegressor().fit(X[:300], y[:300])


def test_the_loss_that_suits_the_target_is_taken_and_named(case):
    kind, X, y, model = case
    assert model.loss_ == kind
    assert f"{kind.capitalize()} loss" in model.summary()
    deviance = {"poisson": mean_poisson_deviance, "gamma": mean_gamma_deviance}[kind]
    plain = AutoRegressor(loss="squared").fit(X[:300], y[:300])
    assert plain.loss_ == "squared"
    squares = np.maximum(plain.predict(X[300:]), 0.5 * y[y > 0].min())
    assert deviance(y[300:], model.predict(X[300:])) < deviance(y[300:], squares)


def test_predictions_are_positive_and_errors_and_intervals_in_units_of_the_target(case):
    kind, X, y, model = case
    new = model.predict(X[300:])
    assert (new > 0).all()
    assert model.error_ == pytest.approx(np.sqrt(np.mean((new - y[300:]) ** 2)), rel=0.25)
    lower, upper = model.predict_interval(X[300:])
    assert (lower >= 0).all()
    assert np.mean((lower <= y[300:]) & (y[300:] <= upper)) == pytest.approx(0.9, abs=0.06)
    if kind == "poisson":
        assert (lower == np.rint(lower)).all()
        assert (upper == np.rint(upper)).all()
    quantiles = model.predict_quantiles(X[300:], (0.05, 0.5, 0.95))
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert (quantiles >= 0).all()
    for method in ("jackknife+", "cv+", "gaussian"):
        with pytest.raises(InputError, match=f"must be 'residuals' with {kind} loss"):
            model.predict_interval(X, method=method)


def test_a_model_file_holds_the_same_model(case, tmp_path):
    _, X, _, model = case
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert again.loss_ == model.loss_
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.predict_interval(X), model.predict_interval(X))
    assert again.summary() == model.summary()


def test_a_report_has_the_errors_and_intervals_of_counts_and_positive_targets(case, tmp_path):
    kind, X, y, model = case
    mercer.report.write_report(model, X[:300], y[:300], tmp_path / "r.html")
    words = " ".join((tmp_path / "r.html").read_text().split())
    assert f"{kind.capitalize()} loss" in words
    assert f"out-of-fold {kind} loss" in words
    assert "intervals around predictions of its kernels refitted" in words
    assert list(model.relevance())


def test_effects_are_slopes_of_the_mean(case):
    _, X, _, model = case
    found, h = marginal_effects(model, errors="homogeneous"), 1e-4
    for column in range(2):
        up, down = X[:300].copy(), X[:300].copy()
        up[:, column] += h
        down[:, column] -= h
        slopes = (model.predict(up) - model.predict(down)) / (2 * h)
        assert found.average[column] == pytest.approx(slopes.mean(), rel=5e-3)


def test_a_unit_of_a_positive_target_changes_nothing_but_the_unit():
    X, y = drawn("gamma", 150)
    one, other = (AutoRegressor(loss="gamma", committee=False).fit(X, by * y) for by in (1.0, 1e4))
    assert other.predict(X) == pytest.approx(1e4 * one.predict(X), rel=1e-3)
    assert other.error_ == pytest.approx(1e4 * one.error_, rel=1e-3)


@pytest.mark.parametrize("name", ["poisson", "gamma"])
def test_a_member_is_a_ridge_regression_on_working_targets(name):
    X, y = drawn(name, 60)
    y = y / y.mean()

    def read(Y):
        return LOSSES[name](), y

    alpha, targets = as_ridge(read, Gaussian(1.0), 0.3, Rows(X), np.zeros((60, 1)), None)
    ridge = KernelRidge(alpha, kernel=Gaussian(1.0), fit_intercept=True).fit(X, targets[:, 0])
    model = KernelRegressor(0.3, loss=name, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y)
    new = np.random.default_rng(1).normal(size=(20, 2))
    assert np.exp(ridge.predict(new)) == pytest.approx(model.predict(new), rel=1e-6)


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0, 1, 3, 0, 7], "poisson"),
        ([1.0, 9.0, 2.0, 30.0], "gamma"),
        ([1, 9, 2, 30], "gamma"),
        ([100.0, 101.0, 99.0, 102.0], None),
        ([0.0, 0.5, 3.0, 9.0], None),
        ([-1.0, 0.0, 5.0, 30.0], None),
        ([0, 0, 0, 0], None),
        ([[1.0, 2.0], [9.0, 3.0]], None),
    ],
)
def test_the_loss_that_is_tried(y, expected):
    assert candidate_loss(np.array(y, dtype=float)) == expected


def test_counts_are_coded_and_decoded_without_loss():
    y = np.arange(200.0)
    assert (without_zeros(np.exp(logarithms(y, "poisson")), "poisson") == y).all()


def test_a_loss_is_taken_only_if_it_is_better_by_a_standard_error_and_squares_are_no_worse():
    rng = np.random.default_rng(0)
    mean = np.exp(rng.normal(size=400))
    y = rng.poisson(mean).astype(float)
    assert lowers_loss("poisson", y, mean - 1.0, mean, None)
    assert not lowers_loss("poisson", y, mean, mean, None)
    assert not lowers_loss("poisson", y, mean, mean - 1.0, None)
    assert not lowers_loss("poisson", y, np.maximum(mean, 1e-9) * 0.5, mean * np.exp(rng.normal(size=400)), None)


@pytest.mark.parametrize(
    ("settings", "y", "sentence"),
    [
        ({"loss": "huber"}, [1.0] * 20, "loss of AutoRegressor must be one of 'auto', 'squared', 'log', 'poisson'"),
        ({"loss": "log"}, [0.0, *[1.0] * 19], "y of AutoRegressor must be positive with loss='log'; got 0"),
        ({"loss": "gamma"}, [0.0, *[1.0] * 19], "y of AutoRegressor must be positive with loss='gamma'; got 0"),
        ({"loss": "poisson"}, [0.5, *[1.0] * 19], "must be whole numbers from 0 on, not all 0, with loss='poisson'"),
        ({"loss": "poisson"}, [0.0] * 20, "must be whole numbers from 0 on, not all 0, with loss='poisson'"),
        ({"loss": "gamma"}, [[1.0, 2.0]] * 20, "loss='gamma' does not support a table of targets"),
        ({"loss": "gamma", "extra": ["dummy"]}, [1.0, 2.0] * 10, "loss='gamma' does not support extra"),
    ],
)
def test_targets_and_settings_that_a_loss_does_not_support_are_refused(settings, y, sentence):
    from sklearn.dummy import DummyRegressor

    if "extra" in settings:
        settings = settings | {"extra": [DummyRegressor()]}
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(InputError) as raised:
        AutoRegressor(**settings).fit(X, np.array(y))
    assert sentence in str(raised.value)


def test_time_excludes_other_losses():
    X, y = drawn("poisson", 120)
    with pytest.raises(InputError, match="loss='poisson' does not support time"):
        AutoRegressor(loss="poisson").fit(X, y, time=np.arange(120))
    assert AutoRegressor().fit(X, y, time=np.arange(120)).loss_ == "squared"


def test_the_signal_is_that_of_the_predictions_in_units_of_the_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = rng.poisson(0.25 * np.exp(1.5 * X[:, 0])).astype(float)
    model = AutoRegressor(loss="poisson").fit(X, y)
    off = (model.in_units(model.committee_.held_out)[:, 0] - y) ** 2
    base = np.empty(300)
    for fold in np.unique(model.committee_.folds):
        own = model.committee_.folds == fold
        base[own] = (y[own] - y[~own].mean()) ** 2
    gains = base - off
    assert model.signal_ == pytest.approx(gains.mean() / (gains.std(ddof=1) / np.sqrt(300)), rel=1e-6)
    assert model.signal_ > 2.0
    assert "not shown" not in model.summary()


@pytest.mark.parametrize("confidence", [0.3, 0.5, 0.99])
def test_intervals_of_counts_are_never_empty(confidence):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = rng.poisson(np.exp(X[:, 0] - 0.3)).astype(float)
    model = AutoRegressor(loss="poisson").fit(X[:80], y[:80])
    lower, upper = model.predict_interval(X, confidence)
    assert (lower <= upper).all()
    assert (lower <= np.rint(model.predict(X))).all()
    assert (upper >= np.rint(model.predict(X))).all()
    assert model.share_inside(confidence) >= confidence - 0.02


def test_folds_without_a_count_are_refused_and_not_tried():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.zeros(60)
    y[5] = 1.0
    with pytest.raises(InputError, match=r"loss='poisson' needs targets above 0 outside of every fold"):
        AutoRegressor(loss="poisson").fit(X, y)
    assert AutoRegressor().fit(X, y).loss_ == "squared"


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_gamma_loss_takes_targets_of_any_size_and_range(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    model = AutoRegressor(loss="gamma", committee=False).fit(X, scale * np.exp(X[:, 0] + 0.3 * rng.normal(size=100)))
    assert (model.predict(X) > 0).all()
    assert model.error_ < model.baseline_
    wide = AutoRegressor(loss="gamma", committee=False).fit(X, scale * np.exp(8.0 * X[:, 0]))
    assert np.isfinite(wide.predict_interval(X)).all()


def test_weights_groups_and_a_second_fit(case):
    kind, X, y, _ = case
    weights, groups = np.ones(150), np.repeat(np.arange(30), 5)
    weights[:20] = 0.0
    model = AutoRegressor(loss=kind).fit(X[:150], y[:150], sample_weight=weights, groups=groups)
    assert np.isfinite(model.predict(X)).all()
    assert model.evaluate(X[:150], y[:150], cv=3).error < 1.5 * model.baseline_
    plain = model.set_params(loss="squared").fit(X[:150], y[:150])
    assert plain.loss_ == "squared"
    assert not hasattr(plain, "log_factor_")


def test_intervals_follow_noise_that_grows_where_that_lowers_the_pinball_loss():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 4.0, size=(900, 1))
    y = np.sin(X[:, 0]) + 0.15 * X[:, 0] * rng.normal(size=900)
    model = AutoRegressor().fit(X[:400], y[:400])
    lower, upper = model.predict_interval(X[400:])
    width, calm = upper - lower, X[400:, 0] < 1.2
    assert width[~calm].mean() > 1.5 * width[calm].mean()
    inside = (lower <= y[400:]) & (y[400:] <= upper)
    assert inside.mean() == pytest.approx(0.9, abs=0.04)
    assert inside[calm].mean() > 0.85
    even = AutoRegressor().fit(X[:400], np.sin(X[:400, 0]) + 0.2 * rng.normal(size=400))
    lower, upper = even.predict_interval(X[400:])
    assert np.ptp(upper - lower) < 1e-12
