"""Generalized cross-validation and held-out rows, without a factor: what the dense formulas say."""

import numpy as np
import pytest

from mercer import KernelRidgeCV
from mercer.data import as_rows
from mercer.errors import ConvergenceWarning, InputError
from mercer.kernels import Gaussian
from mercer.selection import iterated
from mercer.selection.iterated import Generalized, Refitted
from mercer.selection.problem import Problem, Removals
from mercer.solvers import streamed
from oracles import kernel_ridge

KERNEL = Gaussian(1.0)


def dense_gcv(K, Y, alpha, weights=None, intercept=False):
    """n ||P V Y||^2 / (tr P)^2 for each target, from matrices, as the mean of squares of what P V Y / mean P_ii is."""
    root = np.ones(len(K)) if weights is None else np.sqrt(weights)
    G = np.linalg.inv(root[:, None] * K * root + alpha * np.eye(len(K)))
    h = root[:, None]
    P = G - G @ h @ h.T @ G / (h.T @ G @ h) if intercept else G
    return Y - len(K) * (P @ (h * Y)) / (np.trace(P) * h), float(np.trace(P))


def few_pivots(monkeypatch, count=12):
    """So that there is something left for the random vectors to find."""
    monkeypatch.setattr(streamed, "pivots", lambda n: count)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_vector_for_every_row_it_is_the_exact_score(weighted, intercept, rng, monkeypatch):
    few_pivots(monkeypatch)
    X, Y = rng.normal(size=(120, 2)), rng.normal(size=(120, 2))
    weights = rng.uniform(0.3, 3.0, size=120) if weighted else None
    problem = Problem(Y, weights, intercept)
    scores = Generalized(KERNEL, as_rows(X), problem, Removals.singles(120), probes=120, tolerance=1e-9)
    for alpha in (1.0, 0.05):
        expected, trace = dense_gcv(KERNEL(X), Y, alpha, weights, intercept)
        found = scores.at(alpha)
        np.testing.assert_allclose(found.values, expected, atol=1e-6)
        assert scores.traces[alpha].value == pytest.approx(trace, rel=1e-7)
        assert scores.traces[alpha].error == found.spread == 0.0


def test_it_equals_the_score_from_the_eigenvalues(rng):
    X, y = rng.normal(size=(150, 2)), rng.normal(size=(150, 1))
    d, U = np.linalg.eigh(KERNEL(X))
    left = (0.3 / (d + 0.3))[:, None] * (U.T @ y)
    expected = 150 * float((left**2).sum()) / float((0.3 / (d + 0.3)).sum()) ** 2
    problem = Problem(y, None, intercept=False)
    found = Generalized(KERNEL, as_rows(X), problem, Removals.singles(150), probes=150, tolerance=1e-10).at(0.3)
    assert float(np.mean((found.values - y) ** 2)) == pytest.approx(expected, rel=1e-8)


def test_the_standard_error_says_how_far_chance_goes(rng, monkeypatch):
    few_pivots(monkeypatch)
    X, y = rng.normal(size=(250, 2)), rng.normal(size=(250, 1))
    problem, singles = Problem(y, None, intercept=True), Removals.singles(250)
    _, trace = dense_gcv(KERNEL(X), y, 0.1, intercept=True)
    off = []
    for seed in range(12):
        scores = Generalized(KERNEL, as_rows(X), problem, singles, seed=seed)
        spread = scores.at(0.1).spread
        found = scores.traces[0.1]
        assert spread == pytest.approx(2 * found.error / found.value)
        assert 0 < found.error < 0.05 * trace
        off.append((found.value - trace) / found.error)
    assert 0.4 < np.sqrt(np.mean(np.square(off))) < 2.0


def test_what_the_nearby_system_knows_is_not_left_to_chance(rng, monkeypatch):
    """With enough pivots nothing is left to the random vectors; one of them is then as good as all."""
    X, y = np.linspace(0.0, 3.0, 200)[:, None], rng.normal(size=(200, 1))
    problem, singles = Problem(y, None, intercept=False), Removals.singles(200)
    scores = Generalized(KERNEL, as_rows(X), problem, singles, probes=2)
    scores.at(0.1)
    assert scores.traces[0.1].error < 1e-6 * scores.traces[0.1].value
    assert scores.traces[0.1].value == pytest.approx(dense_gcv(KERNEL(X), y, 0.1)[1], rel=1e-6)


def test_rows_of_no_weight_are_predicted_by_the_model_of_the_others(rng):
    X, y = rng.normal(size=(90, 2)), rng.normal(size=(90, 1))
    weights = np.where(np.arange(90) % 7 == 0, 0.0, 1.5)
    a, b = kernel_ridge(KERNEL(X), y, 0.2, weights, intercept=True)
    problem = Problem(y, weights, intercept=True)
    found = Generalized(KERNEL, as_rows(X), problem, Removals.singles(90)).at(0.2).values
    np.testing.assert_allclose(found[weights == 0], (KERNEL(X) @ a + b)[weights == 0], atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("splits", [1, 3])
def test_splits_are_fitted_as_if_by_a_factor(splits, weighted, rng):
    X, Y = rng.normal(size=(150, 2)), rng.normal(size=(150, 2))
    weights = np.where(np.arange(150) % 9 == 0, 0.0, rng.uniform(0.5, 2.0, size=150)) if weighted else None
    sets = [np.arange(i, 150, 4) for i in range(splits)]
    removals = Removals(sets, [rows[::2] for rows in sets])
    refitted = Refitted(KERNEL, as_rows(X), Problem(Y, weights, intercept=True), removals)
    for alpha in (1.0, 0.1):
        found = refitted.at(alpha)
        for i, rows in enumerate(sets):
            kept = np.delete(np.arange(150), rows)
            a, b = kernel_ridge(KERNEL(X[kept]), Y[kept], alpha, None if weights is None else weights[kept], True)
            expected = KERNEL(X[rows[::2]], X[kept]) @ a + b
            np.testing.assert_allclose(found.values[removals.part(i)], expected, atol=1e-6)


@pytest.mark.parametrize("kind", [Generalized, Refitted])
def test_alphas_that_take_too_long_are_not_scored_and_named(kind, rng, monkeypatch):
    few_pivots(monkeypatch, 2)
    monkeypatch.setattr(iterated, "_MOST", 20)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=(100, 1))
    rows = np.arange(0, 100, 5)
    removals = Removals.singles(100) if kind is Generalized else Removals([rows], [rows])
    candidate = kind(Gaussian(0.3), as_rows(X), Problem(y, None, intercept=False), removals)
    assert np.isfinite(candidate.at(100.0).values).all()
    with pytest.warns(
        ConvergenceWarning, match=r"is not scored at alpha = 1e-08 and below: .* Remove these alphas, or use fewer rows"
    ):
        assert np.isnan(candidate.at(1e-8).values).all()
    assert np.isnan(candidate.at(1e-9).values).all()  # without another word


def test_alpha_zero_is_refused(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    candidate = Generalized(KERNEL, as_rows(X), Problem(y, None, intercept=False), Removals.singles(20))
    with pytest.raises(InputError, match="needs alpha above 0"):
        candidate.at(0.0)


@pytest.mark.filterwarnings("ignore::mercer.errors.IllConditionedWarning")  # of an iteration that may stop early
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8, 1e10])
def test_generalised_cross_validation_with_an_intercept_is_the_same_wherever_the_targets_are(offset, rng):
    X = rng.uniform(0, 6, size=(150, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)
    held_out, _ = dense_gcv(KERNEL(X), y[:, None], 0.1, intercept=True)
    search = KernelRidgeCV([KERNEL], [0.1], cv="gcv", fit_intercept=True).fit(X, y + offset)
    np.testing.assert_allclose(search.best_score_, -np.mean((y - held_out[:, 0]) ** 2), rtol=1e-3)
