"""bias_variance: exact against explicit smoother matrices and against Monte Carlo; parts that add up."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from decomposition_cases import problem, wave, weights_by_hand
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2, norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.tree import DecisionTreeRegressor

import mercer
from mercer import KernelRidge, KernelRidgeClassifier, bias_variance
from mercer.errors import SingularSystemWarning
from mercer.insight.bias_variance import _decompose
from mercer.kernels import Gaussian, Linear, Polynomial
from refusals import refusal, tells


class FunctionRegressor(RegressorMixin, BaseEstimator):
    def __init__(self, function):
        self.function = function

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.function(X)


# -- exact ------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from([Gaussian(0.7), Gaussian(3.0), Linear(), Polynomial(3)]),
    intercept=st.booleans(),
    weighted=st.sampled_from([None, "some", "zeros"]),
    alphas=st.sampled_from([[0.1], [1.0, 0.01, 1.0], [0.001, 0.1, 10.0]]),
)
def test_exact_parts_are_those_of_the_explicit_smoother_matrix(seed, kernel, intercept, weighted, alphas):
    rng = np.random.default_rng(seed)
    X, X_test = problem(rng)
    weights = None if weighted is None else rng.uniform(0.1, 3.0, size=len(X))
    if weighted == "zeros":
        weights[:5] = 0.0
    spread = rng.uniform(0.1, 1.0, size=len(X))
    result = bias_variance(
        KernelRidge(kernel=kernel, fit_intercept=intercept),
        X,
        wave,
        (spread, np.full(len(X_test), 0.5)),
        X_test=X_test,
        alphas=alphas,
        sample_weight=weights,
    )
    for i, alpha in enumerate(alphas):
        U = weights_by_hand(kernel, X, X_test, alpha, weights, intercept)
        np.testing.assert_allclose(result.bias_squared_at[i], (U @ wave(X) - wave(X_test)) ** 2, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(result.variance_at[i], U**2 @ spread**2, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(result.noise_at[i], 0.25)
    assert result.alphas.tolist() == alphas
    assert result.standard_errors is None


def test_one_alpha_gives_numbers_and_a_list_gives_rows(rng):
    X, X_test = problem(rng)
    model = KernelRidge(0.1, kernel=Gaussian(1.0))
    one = bias_variance(model, X, wave, 0.3, X_test=X_test)
    many = bias_variance(model, X, wave, 0.3, X_test=X_test, alphas=[1.0, 0.1])
    assert isinstance(one.risk, float)
    assert one.alphas is None
    assert one.best_alpha is None
    assert one.risk_at.shape == (7,)
    assert many.risk.shape == (2,)
    assert many.variance_at.shape == (2, 7)
    for part in ("bias_squared", "variance", "noise", "risk"):
        assert getattr(many, part)[1] == pytest.approx(getattr(one, part), rel=1e-9)
    assert many.best_alpha == many.alphas[np.argmin(many.risk)]


def test_many_rows_go_through_in_blocks(rng):
    X, X_test = rng.normal(size=(12, 2)), rng.normal(size=(3000, 2))
    result = bias_variance(KernelRidge(0.1, kernel=Gaussian(1.0)), X, wave, 0.3, X_test=X_test)
    U = weights_by_hand(Gaussian(1.0), X, X_test, 0.1, None, False)
    np.testing.assert_allclose(result.variance_at, 0.09 * (U**2).sum(axis=1), rtol=1e-8)


def test_at_alpha_zero_least_squares_is_unbiased_with_the_textbook_variance(rng):
    X = rng.normal(size=(30, 3))
    with pytest.warns(SingularSystemWarning):
        result = bias_variance(KernelRidge(0.0, solver="cholesky"), X, lambda X: X @ [1.0, 2.0, 3.0], 0.5)
    assert result.bias_squared < 1e-20
    assert result.variance == pytest.approx(0.25 * 3 / 30)


def test_values_and_functions_and_a_gram_matrix_say_the_same(rng):
    X, X_test = problem(rng)
    kernel = Gaussian(1.0)
    one = bias_variance(KernelRidge(0.1, kernel=kernel), X, wave, 0.3, X_test=X_test)
    two = bias_variance(
        KernelRidge(0.1, kernel=kernel), X, (wave(X), wave(X_test)), lambda X: np.full(len(X), 0.3), X_test=X_test
    )
    three = bias_variance(
        KernelRidge(0.1, kernel="precomputed"), kernel(X), (wave(X), wave(X_test)), 0.3, X_test=kernel(X_test, X)
    )
    for other in (two, three):
        np.testing.assert_allclose(other.risk_at, one.risk_at, rtol=1e-10)


def test_the_parts_add_up_to_the_risk(rng):
    X, X_test = problem(rng)
    exact = bias_variance(KernelRidge(kernel=Gaussian(1.0)), X, wave, 0.3, X_test=X_test, alphas=[0.1, 1.0])
    drawn = bias_variance(DecisionTreeRegressor(max_depth=2), X, wave, 0.3, X_test=X_test, draws=20, random_state=0)
    for result in (exact, drawn):
        np.testing.assert_allclose(result.bias_squared + result.variance + result.noise, result.risk, rtol=1e-12)
        np.testing.assert_array_equal(result.bias_squared_at + result.variance_at + result.noise_at, result.risk_at)


# -- Monte Carlo ------------------------------------------------------------------------------------

PARTS = ("bias_squared", "variance", "risk")


def true_errors(U, bias, noise, draws):
    """Standard errors of the three averages over `draws` draws of Gaussian noise, from their formulas.

    Predictions have covariance C = noise^2 U U'. Over m rows the variance is tr(C) / m from draws - 1 degrees of
    freedom, bias squared the mean of d_r'd_s / m over pairs, and the risk the mean of d_r'd_r / m, with d ~ N(bias, C).
    """
    C = noise**2 * U @ U.T
    square, cross = (C**2).sum(), bias @ C @ bias
    variances = [
        4 * cross / draws + 2 * square / (draws * (draws - 1)),
        2 * square / (draws - 1),
        (2 * square + 4 * cross) / draws,
    ]
    return np.sqrt(variances) / len(bias)


@cache
def drawn_problem(seed):
    """Rows, a model, weights and noise, and the smoother's weights and bias written out."""
    rng = np.random.default_rng(seed)
    X, X_test = problem(rng, n=int(rng.integers(5, 30)), m=int(rng.integers(1, 8)))
    model = KernelRidge(10.0 ** rng.uniform(-3, 1), kernel=Gaussian(rng.uniform(0.3, 2)), fit_intercept=bool(seed % 2))
    weights = rng.uniform(0.2, 2.0, size=len(X)) if seed % 3 == 0 else None
    noise = rng.uniform(0.1, 1.0)
    U = weights_by_hand(model.kernel, X, X_test, model.alpha, weights, model.fit_intercept)
    return model, X, X_test, weights, noise, U, U @ wave(X) - wave(X_test)


@pytest.mark.no_cover  # many times what other tests run once: tracing would double its time
@pytest.mark.slow
def test_exact_and_monte_carlo_agree_within_three_standard_errors_over_sixty_problems():
    # In units of their true errors the differences have mean 0 and variance 1. Three of them at each of 60 problems are
    # 180. Were all normal, one or more beyond three errors would be found in two such tests of five. So three
    # errors are asked of what is pooled over problems, and of single ones no more than chance allows for 180 of them:
    # as many beyond three, and none as far, as comes about once in a hundred tests (Bonferroni). Bias squared is the
    # square of a mean where there is no bias, (chi2 - 1) / sqrt(2), and may lie that much further off.
    problems, draws = 60, 40
    z = np.empty((problems, 3))
    for seed in range(problems):
        model, X, X_test, weights, noise, U, bias = drawn_problem(seed)
        given = {"X_test": X_test, "sample_weight": weights}
        exact = bias_variance(model, X, wave, noise, **given)
        drawn = bias_variance(
            model, X, wave, noise, **given, method="monte_carlo", draws=draws, random_state=5000 + seed
        )
        difference = [getattr(drawn, part) - getattr(exact, part) for part in PARTS]
        z[seed] = difference / true_errors(U, bias, noise, draws)
    assert (np.abs(z.mean(axis=0)) * np.sqrt(problems) < 3).all()  # no part is off to one side
    assert (np.abs(z) > 3).sum() <= binom.isf(0.01, z.size, 2 * norm.sf(3))  # three
    assert np.abs(z[:, 1:]).max() < norm.isf(0.005 / z.size)  # four
    assert np.abs(z[:, 0]).max() < (chi2.isf(0.01 / z.size, 1) - 1) / np.sqrt(2)
    assert (np.abs((z**2).mean(axis=0) - 1) < 3 * np.sqrt(2 / problems)).all()  # their size is right, too


@pytest.mark.no_cover  # many times what other tests run once: tracing would double its time
@pytest.mark.slow
@pytest.mark.parametrize(("draws", "beyond"), [(50, 0.020), (200, 0.007)])
def test_standard_errors_are_as_large_as_the_scatter_over_eight_hundred_problems(draws, beyond):
    # So many problems can only be drawn without fits: the deviations U e + bias are handed to what makes the errors.
    z, ratio = np.empty((800, 3)), np.empty((800, 3))
    for seed in range(800):
        _, X, X_test, _, noise, U, bias = drawn_problem(seed)
        rng = np.random.default_rng([seed, draws])
        d = bias + noise * rng.normal(size=(draws, len(X))) @ U.T
        found = _decompose(d[None], np.zeros(len(X_test)), None, "")
        variance = noise**2 * (U**2).sum() / len(X_test)
        exact = np.array([np.mean(bias**2), variance, np.mean(bias**2) + variance])
        reported = np.array([found.standard_errors[part] for part in PARTS])
        z[seed] = (np.array([getattr(found, part) for part in PARTS]) - exact) / reported
        ratio[seed] = (reported / true_errors(U, bias, noise, draws)) ** 2
    # the square of a reported error is right on average; that of bias squared too large where the bias is nearly zero
    assert (np.abs(ratio[:, 1:].mean(axis=0) - 1) < 0.05).all()
    assert 1.0 < ratio[:, 0].mean() < 3.0
    # What is left is skewness: an estimate that happens to be low has a low error, too. So a few more than the 0.27 %
    # of a normal lie beyond three errors, nearly all of them below; fewer with more draws.
    assert (np.abs(z) > 3).mean(axis=0).max() <= beyond
    assert (z > 3).mean() < 0.003
    assert ((np.abs(z) < 2).mean(axis=0) > 0.92).all()


def test_sums_over_draws_are_those_written_out(rng):
    X, X_test = problem(rng)
    targets = [wave(X) + 0.3 * rng.normal(size=len(X)) for _ in range(6)]
    given = iter(targets)
    model = Ridge(0.5)
    result = bias_variance(model, X, wave, 0.3, X_test=X_test, sampler=lambda rng: (X, next(given)), draws=6)
    d = np.array([Ridge(0.5).fit(X, y).predict(X_test) for y in targets]) - wave(X_test)
    np.testing.assert_allclose(result.variance_at, d.var(axis=0, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(result.bias_squared_at, d.mean(axis=0) ** 2 - d.var(axis=0, ddof=1) / 6, rtol=1e-9)
    np.testing.assert_allclose(result.risk_at, (d**2).mean(axis=0) + 0.09, rtol=1e-12)
    assert result.standard_errors["risk"] == pytest.approx((d**2).mean(axis=1).std(ddof=1) / np.sqrt(6))


@pytest.mark.slow
def test_a_sampler_draws_rows_too_and_agrees_with_exact_numbers_averaged_over_designs():
    X_test = np.linspace(-1, 1, 5)[:, None]
    model = KernelRidge(0.3, kernel=Gaussian(1.0))

    def sampler(rng):
        X = rng.uniform(-2, 2, size=(15, 1))
        return X, wave(X) + 0.4 * rng.normal(size=15)

    drawn = bias_variance(model, X_test, wave, 0.4, sampler=sampler, draws=300, random_state=1)
    rng = np.random.default_rng(2)
    designs = [rng.uniform(-2, 2, size=(15, 1)) for _ in range(300)]
    risks = [bias_variance(model, X, wave, 0.4, X_test=X_test).risk for X in designs]
    error = np.hypot(drawn.standard_errors["risk"], np.std(risks) / np.sqrt(300))
    assert abs(drawn.risk - np.mean(risks)) < 3 * error
    assert drawn.how == "Monte Carlo (300 draws of training sets, standard errors after +-)"


def test_alphas_reach_estimators_of_others(rng):
    X, _ = problem(rng)
    result = bias_variance(Ridge(), X, wave, 0.3, alphas=[1e-3, 1e3], draws=30, random_state=0)
    assert result.bias_squared[1] > result.bias_squared[0]
    assert result.variance[1] < result.variance[0]
    assert result.standard_errors["risk"].shape == (2,)


def test_classifiers_are_refused(rng):
    X = rng.normal(size=(30, 2))
    for model in (KernelRidgeClassifier(0.1, kernel=Gaussian(1.0)), LogisticRegression()):
        found = refusal(lambda model=model: bias_variance(model, X, (X[:, 0] > 0).astype(int), 0.1))
        assert tells(found, "The estimator of bias_variance", f"got {type(model).__name__}")


def test_progress_is_told(rng, capsys):
    X, _ = problem(rng)
    bias_variance(Ridge(), X, wave, 0.3, draws=4, verbose=2)
    assert "bias_variance: 4 of 4" in capsys.readouterr().err


# -- the result -------------------------------------------------------------------------------------


def test_the_result_prints_and_gives_columns(rng):
    X, _ = problem(rng)
    exact = bias_variance(KernelRidge(kernel=Gaussian(1.0)), X, wave, 0.3, alphas=[0.1, 1.0])
    assert list(exact.table()) == ["alpha", "bias_squared", "variance", "noise", "risk"]
    assert str(exact).startswith("Expected squared loss at 25 test rows, exact at the given rows:\nalpha  bias squared")
    drawn = bias_variance(Ridge(), X, wave, 0.3, draws=4, random_state=0)
    assert list(drawn.table())[4:] == ["bias_squared_error", "variance_error", "risk_error"]
    assert " +- " in str(drawn)
    with pytest.raises(dataclasses.FrozenInstanceError):
        exact.how = "better"
    assert mercer.bias_variance is bias_variance


# -- refusals ---------------------------------------------------------------------------------------


def test_what_cannot_be_asked_is_refused_in_a_sentence(rng):
    X, X_test = problem(rng)
    model = KernelRidge(kernel=Gaussian(1.0))
    assert tells(refusal(lambda: bias_variance(model, X, wave, -1.0)), "noise", "got -1.0")
    assert tells(refusal(lambda: bias_variance(model, X, wave, "loud")), "noise", "got 'loud'")
    assert tells(refusal(lambda: bias_variance(model, X, np.zeros(3), 1.0)), "truth", "got shape (3,)")
    assert tells(refusal(lambda: bias_variance(model, X, np.zeros(25), 1.0, X_test=X_test)), "truth", "got ndarray")
    assert tells(refusal(lambda: bias_variance(model, X[:2], [0.0, np.nan], 1.0)), "truth", "got [0.0, nan]")
    assert tells(
        refusal(lambda: bias_variance(Ridge(), X, wave, 1.0, method="exact")),
        "The estimator of method='exact'",
        "got Ridge",
    )
    assert tells(
        refusal(lambda: bias_variance(model, X, wave, 1.0, method="guess")), "method of bias_variance", "got 'guess'"
    )
    assert tells(
        refusal(lambda: bias_variance(DecisionTreeRegressor(), X, wave, 1.0, alphas=[1.0])),
        "alphas of bias_variance",
        "got DecisionTreeRegressor and alphas",
    )
    assert tells(refusal(lambda: bias_variance(model, X, wave, 1.0, alphas=2.0)), "alphas of bias_variance", "got 2.0")
    two_columns = MultiOutputRegressor(Ridge())
    assert tells(
        refusal(lambda: bias_variance(two_columns, X, wave, 1.0, sampler=lambda rng: (X, np.ones((25, 2))))),
        "Predictions in bias_variance",
        "got shape (25, 2)",
    )
    nothing = FunctionRegressor(lambda X: np.full(len(X), np.nan))
    assert tells(
        refusal(lambda: bias_variance(nothing, X, wave, 1.0)), "Predictions in bias_variance", "got NaN or infinity"
    )
    assert tells(refusal(lambda: bias_variance(Ridge(), X, wave, 1.0, draws=2)), "draws of bias_variance", "got 2")


def test_samplers_and_labels_that_will_not_do_are_refused_in_a_sentence(rng):
    X, _ = problem(rng)

    def sampler(rng):
        return X, wave(X)

    assert tells(refusal(lambda: bias_variance(Ridge(), X, wave, 1.0, sampler=3)), "sampler", "got 3")
    assert tells(
        refusal(lambda: bias_variance(Ridge(), X, wave, 1.0, sampler=lambda rng: X)),
        "The result of sampler",
        "got ndarray",
    )
    assert tells(
        refusal(lambda: bias_variance(KernelRidge(), X, wave, 1.0, sampler=sampler, method="exact")),
        "sampler",
        "got a function",
    )
    assert tells(
        refusal(lambda: bias_variance(Ridge(), X, wave, 1.0, sampler=sampler, sample_weight=np.ones(25))),
        "sample_weight",
        "got weights",
    )
