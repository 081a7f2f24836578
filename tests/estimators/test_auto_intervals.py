"""Intervals of a committee: each method is what it says it is, for one target and for several."""

import numpy as np
import pytest

from mercer import AutoRegressor, KernelRidge, load, save
from mercer.insight.intervals import gaussian_bounds, ranks
from refusals import refusal, tells

pytestmark = pytest.mark.slow

METHODS = ("residuals", "jackknife+", "cv+", "gaussian")


def drawn(rng, n=45, new=300):
    X = rng.normal(size=(n + new, 2))
    Y = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 1] ** 2]) + 0.3 * rng.normal(size=(n + new, 2))
    return X[:n], Y[:n], X[n:], Y[n:]


@pytest.fixture(scope="module")
def fitted():
    X, Y, new, truth = drawn(np.random.default_rng(5))
    return AutoRegressor().fit(X, Y), X, Y, new, truth


def votes(pairs, weights, Z, Y, new):
    """The weighted vote of members refitted to these rows."""
    models = [KernelRidge(alpha, kernel=kernel, fit_intercept=True).fit(Z, Y) for kernel, alpha in pairs]
    return sum(weight * model.predict(new) for weight, model in zip(weights, models, strict=True))


def ends(at_new, reach, confidence):
    low, high = ranks(len(reach), confidence)
    return np.sort(at_new - reach, axis=1)[:, low - 1], np.sort(at_new + reach, axis=1)[:, high - 1]


def test_jackknife_equals_refits_of_every_member_without_every_row(fitted):
    model, X, Y, new, _ = fitted
    Z, Z_new, n = model.encoder_.transform(X), model.encoder_.transform(new[:6]), len(X)
    pairs, weights = [(m.kernel, m.alpha) for m in model.members_], [m.weight for m in model.members_]
    at_new, errors = np.empty((6, n, 2)), np.empty((n, 2))
    for i in range(n):
        rest = np.arange(n) != i
        found = votes(pairs, weights, Z[rest], Y[rest], np.vstack([Z_new, Z[i : i + 1]]))
        at_new[:, i], errors[i] = found[:-1], np.abs(Y[i] - found[-1])
    lower, upper = model.predict_interval(new[:6], 0.8, "jackknife+")
    for target in range(2):
        low, high = ends(at_new[:, :, target], errors[:, target], 0.8)
        np.testing.assert_allclose(lower[:, target], low, atol=1e-6)
        np.testing.assert_allclose(upper[:, target], high, atol=1e-6)


def test_cv_plus_is_made_of_members_tuned_and_fitted_without_the_fold(fitted):
    model, X, Y, new, _ = fitted
    committee = model.committee_
    Z, Z_new = model.encoder_.transform(X), model.encoder_.transform(new[:6])
    at_new, errors = np.empty((6, len(X), 2)), np.empty((len(X), 2))
    for fold, pairs in enumerate(committee.by_fold):
        rest, own = committee.folds != fold, committee.folds == fold
        found = votes(pairs, committee.fold_weights[fold], Z[rest], Y[rest], np.vstack([Z_new, Z[own]]))
        at_new[:, own], errors[own] = found[:6, None], np.abs(Y[own] - found[6:])
    lower, upper = model.predict_interval(new[:6], 0.8, "cv+")
    for target in range(2):
        low, high = ends(at_new[:, :, target], errors[:, target], 0.8)
        np.testing.assert_allclose(lower[:, target], low, atol=1e-6)
        np.testing.assert_allclose(upper[:, target], high, atol=1e-6)


def test_gaussian_intervals_are_those_of_the_mixture_with_noise(fitted):
    model, _, _, new, _ = fitted
    mean, std = model.predict(new, return_std=True)
    noise = sum(
        m.weight * m.alpha * each.prior_variance_ for m, each in zip(model.members_, model.models_, strict=True)
    )
    expected = gaussian_bounds(mean, std**2, noise * model.scale_**2, 0.9)
    np.testing.assert_allclose(model.predict_interval(new, 0.9, "gaussian"), expected)
    Z = model.encoder_.transform(new)
    parts = [each.predict(Z, return_std=True) for each in model.models_]
    weights = np.array([m.weight for m in model.members_])[:, None, None]
    means, stds = np.array([p[0] for p in parts]), np.array([p[1] for p in parts])
    variance = (weights * (stds**2 + (means - (weights * means).sum(axis=0)) ** 2)).sum(axis=0)
    np.testing.assert_allclose(std, model.scale_ * np.sqrt(variance))


def test_intervals_of_residuals_lie_between_their_two_quantiles(fitted):
    model, _, Y, new, _ = fitted
    lower, upper = model.predict_interval(new, 0.8)
    out = np.abs(model.scale_ * (model.committee_.held_out - model._Y))
    rank = ranks(len(Y), 0.8)[1] - 1
    halves = [np.sort(np.abs(each), axis=0)[rank] for each in (out, model._residuals)]
    np.testing.assert_allclose(upper - lower, np.broadcast_to(2 * np.sqrt(halves[0] * halves[1]), upper.shape))
    np.testing.assert_allclose((lower + upper) / 2, model.predict(new))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_holds_about_what_was_asked(fitted, method):
    model, _, _, new, truth = fitted
    found = model.coverage(new, truth, 0.9, method)
    assert found.method == method
    assert found.share.shape == found.width.shape == (2,)
    assert (found.share > 0.75).all()
    narrow = model.coverage(new, truth, 0.5, method)
    assert (narrow.width < found.width).all()


def test_one_target_gives_vectors_and_a_column_of_one_a_column(rng):
    X, Y, new, _ = drawn(rng, 30, 5)
    one = AutoRegressor(committee=False).fit(X, Y[:, 0])
    column = AutoRegressor(committee=False).fit(X, Y[:, :1])
    assert isinstance(one.error_, float)
    assert column.error_.shape == (1,)
    for method in METHODS:
        for end, table in zip(
            one.predict_interval(new, 0.8, method), column.predict_interval(new, 0.8, method), strict=True
        ):
            assert end.shape == (5,)
            np.testing.assert_array_equal(end[:, None], table)
    assert one.predict(new).shape == (5,)
    assert [part.shape for part in column.predict(new, return_std=True)] == [(5, 1), (5, 1)]


def test_several_targets_are_told_apart(rng):
    X, Y, _, _ = drawn(rng, 60, 5)
    Y[:, 1] = rng.normal(size=60)
    model = AutoRegressor(committee=False).fit(X, Y)
    words = model.summary()
    assert f"Estimated error {model.error_[0]:.4g}, {model.error_[1]:.4g} +- " in words
    assert "For target 1 the model is not better than the baseline." in words
    assert "out-of-fold error, in deviations" in words
    result = AutoRegressor(committee=False).evaluate(X, Y, cv=3)
    assert result.predictions.shape == (1, 60, 2)
    assert result.errors.shape == (1, 3, 2)
    assert result.error.shape == result.baseline.shape == result.standard_error.shape == (2,)
    assert "90 % intervals contain" in str(result)


def test_too_few_rows_have_no_ends(rng):
    X, Y, new, _ = drawn(rng, 8, 3)
    model = AutoRegressor(committee=False).fit(X, Y[:, 0])
    for method in ("jackknife+", "cv+"):
        assert np.isinf(model.predict_interval(new, 0.9, method)).all()
    assert np.isfinite(model.predict_interval(new, 0.9)).all()


@pytest.mark.parametrize("method", ["naive", None, ["cv+"]])
def test_unknown_methods_are_refused(fitted, method):
    model, _, _, new, _ = fitted
    words = refusal(model.predict_interval, new, 0.9, method)
    assert tells(words, "method", f"got {method!r}")


def test_targets_of_another_shape_are_refused(fitted):
    model, _, _, new, truth = fitted
    assert tells(refusal(model.coverage, new, truth[:, 0]), "y", "got shape (300,)")


def test_a_table_is_encoded_once_for_values_and_deviations(fitted, monkeypatch):
    model, _, _, new, _ = fitted
    encoder, seen = model.encoder_, []
    encode = type(encoder).encode
    monkeypatch.setattr(type(encoder), "encode", lambda self, X: seen.append(1) or encode(self, X))
    model.predict(new, return_std=True)
    assert len(seen) == 1


@pytest.mark.parametrize("targets", [1, 2])
def test_intervals_of_a_loaded_model_are_the_same(targets, rng, tmp_path):
    X, Y, new, _ = drawn(rng, 30, 4)
    model = AutoRegressor(committee=False).fit(X, Y[:, 0] if targets == 1 else Y)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    for method in METHODS:
        ours, theirs = model.predict_interval(new, 0.8, method), again.predict_interval(new, 0.8, method)
        np.testing.assert_array_equal(ours, theirs)


def test_a_committee_that_does_not_know_its_folds_refuses_cv_plus(fitted):
    model, _, _, new, _ = fitted
    kept = model.committee_.by_fold
    object.__setattr__(model.committee_, "by_fold", [])
    try:
        words = refusal(model.predict_interval, new, 0.9, "cv+")
    finally:
        object.__setattr__(model.committee_, "by_fold", kept)
    assert words.startswith(
        "method='cv+' needs, for each fold, the kernels that were tuned on the other folds; a model fitted with"
    )
