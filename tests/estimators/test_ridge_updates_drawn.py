"""Models and searches without some rows, or with more, in drawn cases: refitted and searched again from raw rows."""

import numpy as np
import pytest
from sklearn.base import clone

from drawn import CASES, cases, decided, errors, refit
from mercer import KernelRidge, KernelRidgeCV

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")]
SEARCHES = CASES // 2


def model_of(case, gram):
    """A model, not fitted, and the alpha of each target."""
    t = case.Y.shape[1]
    alphas = np.full(t, case.alphas[0])
    if t > 1 and case.rng.integers(2):
        alphas[1:] *= 10 ** case.rng.uniform(0, 2, size=t - 1)
    alpha = alphas if len(set(alphas)) > 1 else alphas[0]
    kernel = "precomputed" if gram else case.kernels[0]
    return KernelRidge(alpha, kernel=kernel, fit_intercept=case.intercept), alphas


def as_given(Y):
    return Y[:, 0] if Y.shape[1] == 1 else Y


def compared(case, model, K, against, Y, alphas, weights=None):
    """Compare coefficients, constants and predictions with those of models solved anew, K and k(new, X) given."""
    used = np.arange(len(Y)) if weights is None else np.flatnonzero(weights > 0)
    for k, alpha in enumerate(alphas):
        dual, constant = np.zeros((len(Y), 1)), np.zeros(1)
        dual[used], constant = refit(K, Y[:, k : k + 1], alpha, case.intercept, used, weights)
        found = model.dual_coef_ if len(alphas) == 1 else model.dual_coef_[:, k]
        case.close(found, dual[:, 0], max(np.abs(dual).max(), case.size * 1e-3))
        gram = model.kernel_.kind == "gram"
        if gram or not case.origin:  # elsewhere the constant is that of rows that were not moved
            case.close(np.ravel(model.intercept_)[min(k, np.size(model.intercept_) - 1)], constant[0], case.size)
        given = against if gram else case.new
        predicted = model.predict(given).reshape(len(given), -1)[:, k]
        case.close(predicted, (against @ dual + constant)[:, 0], case.size)


def test_models_without_rows_are_refits():
    for case in cases(41, targets=3, moved=True):
        n, rng, gram = len(case.X), case.rng, case.rng.random() < 0.25
        K, against = case.grams[0][:n, :n], case.grams[0][n:, :n]
        weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=n) if rng.random() < 0.3 else None
        if weights is not None:
            weights[:3] = 1.0
        model, alphas = model_of(case, gram)
        model.fit(K if gram else case.X, as_given(case.Y), weights)
        gone = 2 + rng.permutation(n - 2)[: rng.integers(1, n - 2)]
        rest = np.setdiff1d(np.arange(n), gone)
        named = [gone, gone - n, np.isin(np.arange(n), gone)][rng.integers(3)]
        # one alpha per target: coefficients of one factor with shares of another were wrong by kappa^2 eps
        less, own = model.without(named), None if weights is None else weights[rest]
        compared(case, less, K[np.ix_(rest, rest)], against[:, rest], case.Y[rest], alphas, own)


def test_models_with_more_rows_are_refits():
    for case in cases(42, targets=3, moved=True):
        n, rng = len(case.X), case.rng
        K, against = case.grams[0][:n, :n], case.grams[0][n:, :n]
        first = int(rng.integers(2, n))
        weights = np.append(rng.choice([0.5, 1.0, 2.0], size=first), np.ones(n - first)) if rng.random() < 0.2 else None
        model, alphas = model_of(case, False)
        model.fit(case.X[:first], as_given(case.Y[:first]), None if weights is None else weights[:first])
        more = model.with_rows(case.X[first:], as_given(case.Y[first:]))
        compared(case, more, K, against, case.Y, alphas, weights)
        if weights is None:
            again, part = clone(model), first + (n - first) // 2
            for rows in (slice(first), slice(first, part), slice(part, n)):
                again = again.partial_fit(case.X[rows], as_given(case.Y[rows])) if len(case.X[rows]) else again
            compared(case, again, K, against, case.Y, alphas)
        half = rng.permutation(n)[: n // 2]  # and without others again
        rest = np.setdiff1d(np.arange(n), half)
        own = None if weights is None else weights[rest]
        compared(case, more.without(half), K[np.ix_(rest, rest)], against[:, rest], case.Y[rest], alphas, own)


def searched(case, found, rows, alpha_per_target):
    """Compare a search of some rows with one by refits; False where candidates are too close to tell."""
    n, Y, count = len(case.X), case.Y[rows], len(case.alphas)
    grams = [K[np.ix_(rows, rows)] for K in case.grams]
    table = errors(grams, case.alphas, Y, case.intercept)
    by_kernel = table.reshape(len(grams), count, -1)
    means = by_kernel.min(axis=1).mean(axis=1)[:, None] if alpha_per_target else table.mean(axis=1)[:, None]
    kernel = means.argmin() if alpha_per_target else means.argmin() // count
    own = by_kernel[kernel] if alpha_per_target else np.tile(by_kernel[kernel].mean(axis=1)[:, None], Y.shape[1])
    if not (decided(means, 1e-6).all() and decided(own, 1e-6).all()):
        return False
    chosen = own.argmin(axis=0)
    assert found.best_index_ == kernel * count + chosen[0]
    case.close(found.best_score_, -own.min(axis=0).mean())
    predicted = found.predict(case.grams[0][n:, rows] if found.best_kernel_.kind == "gram" else case.new)
    for k, place in enumerate(chosen):
        dual, constant = refit(grams[kernel], Y[:, k : k + 1], case.alphas[place], case.intercept)
        expected = case.grams[kernel][n:, rows] @ dual + constant
        case.close(predicted.reshape(len(case.new), -1)[:, k], expected[:, 0], np.abs(Y).max())
    return True


def test_searches_without_and_with_rows_choose_as_searches_of_these_rows():
    count = 0
    for case in cases(43, SEARCHES, targets=2, kernels=3, alphas=3):
        n, rng, per_target = len(case.X), case.rng, case.rng.random() < 0.4
        gram = len(case.written) == 1 and rng.integers(2)
        how = {"fit_intercept": case.intercept, "alpha_per_target": per_target}
        search = KernelRidgeCV("precomputed" if gram else case.kernels, case.alphas, **how)
        rows = rng.permutation(n)
        first, gone = rows[: n - 2], rng.permutation(n - 2)[: rng.integers(1, n // 2)]
        table = case.grams[0][np.ix_(first, first)] if gram else case.X[first]
        search.fit(table, as_given(case.Y[first]))
        count += searched(case, search.without(gone), np.delete(first, gone), per_target)
        if not gram:
            more = search.with_rows(case.X[rows[n - 2 :]], as_given(case.Y[rows[n - 2 :]]))
            count += searched(case, more, rows, per_target)
    assert count > 1.5 * SEARCHES
