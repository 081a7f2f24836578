"""Comparisons in drawn cases: models refitted, and searches made again by refits, in every training part."""

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import KFold

from drawn import CASES, cases, decided, errors, refit
from mercer import KernelRidge, KernelRidgeCV, compare

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")]


def split_score(K, Y, alpha, intercept, train, test):
    """Minus the mean squared error at the test rows."""
    dual, constant = refit(K, Y, alpha, intercept, train)
    return -np.mean((Y[test] - K[np.ix_(test, train)] @ dual - constant) ** 2)


def nested_score(Ks, alphas, Y, intercept, splits, place):
    """The same of a search whose folds are the other ones; None where candidates are too close to tell."""
    train, test = splits[place]
    inner = [(np.setdiff1d(train, other), other) for k, (_, other) in enumerate(splits) if k != place]
    table = errors(Ks, alphas, Y, intercept, inner).mean(axis=1)
    if not decided(table[:, None], 1e-6)[0]:
        return None
    kernel, alpha = divmod(int(table.argmin()), len(alphas))
    return split_score(Ks[kernel], Y, alphas[alpha], intercept, train, test)


def drawn_splits(case):
    """What is passed as cv, and the splits that it stands for: a partition, as searches in a comparison need it."""
    n, count = len(case.X), int(case.rng.integers(3, 5))
    if case.rng.integers(2):
        return count, list(KFold(count).split(case.X))
    tests = np.array_split(case.rng.permutation(n), count)
    splits = [(np.setdiff1d(np.arange(n), test), test) for test in tests]
    return splits, splits


def corrected(scores, splits):
    """Mean differences of all pairs, and their standard errors after Nadeau and Bengio."""
    first, second = np.triu_indices(len(scores), 1)
    share = np.mean([len(test) / len(train) for train, test in splits])
    differences = scores[first] - scores[second]
    return differences.mean(axis=1), differences.std(axis=1, ddof=1) * np.sqrt(1 / len(splits) + share)


def holm(pvalues):
    """The smallest level at which each hypothesis is rejected, from the step-down rule itself."""
    order, found, largest = np.argsort(pvalues, kind="stable"), np.empty(len(pvalues)), 0.0
    for step, place in enumerate(order):
        largest = max(largest, pvalues[place] * (len(pvalues) - step))
        found[place] = min(largest, 1.0)
    return found


def test_scores_differences_and_errors_are_those_of_refits_in_the_same_folds():
    count = 0
    for case in cases(61, targets=2, kernels=2, alphas=3, rows=(8, 14)):
        n, (cv, splits) = len(case.X), drawn_splits(case)
        Ks, y = [K[:n, :n] for K in case.grams], case.Y[:, 0] if case.Y.shape[1] == 1 else case.Y
        gram = len(Ks) == 1 and case.rng.random() < 0.5
        kernels = ["precomputed"] if gram else case.kernels
        how = {"fit_intercept": case.intercept}
        models = {
            "search": KernelRidgeCV(kernels, case.alphas, **how),
            "first": KernelRidge(case.alphas[0], kernel=kernels[0], **how),
            "last": KernelRidge(10.0 * case.alphas[-1], kernel=kernels[-1], **how),
        }
        found = compare(models, Ks[0] if gram else case.X, y, cv=cv)
        expected = [
            [nested_score(Ks, case.alphas, case.Y, case.intercept, splits, k) for k in range(len(splits))],
            [split_score(Ks[0], case.Y, case.alphas[0], case.intercept, *split) for split in splits],
            [split_score(Ks[-1], case.Y, 10.0 * case.alphas[-1], case.intercept, *split) for split in splits],
        ]
        if None in expected[0]:
            continue
        count += 1
        expected = np.array(expected)
        for mine, theirs in zip(found.scores.ravel(), expected.ravel(), strict=True):
            case.close(mine, theirs)
        mean, error = corrected(expected, splits)
        scale = np.abs(expected).max()
        case.close(found.difference, mean, scale)
        case.close(found.standard_error, error, scale)
        clear = (np.abs(mean) > 1e-4 * scale) & (error > 1e-4 * scale)
        pvalues = 2 * stats.t(len(splits) - 1).sf(np.abs(mean[clear]) / error[clear])
        assert found.pvalue[clear] == pytest.approx(pvalues, rel=1e-3)
        assert np.array_equal(found.adjusted, holm(found.pvalue))
    assert count > 0.95 * CASES
