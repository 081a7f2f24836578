"""Scores of permuted targets in drawn cases: every candidate refitted for every order and every split."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from drawn import cases, errors
from mercer import KernelRidge, KernelRidgeCV, permutation_test
from mercer.inference.permutation import Permutations

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")]
ORDERS = 5


def compared(case, estimator, gram, splits=None, power=2):
    """Compare the score and those of permutations with the best of searches that are made again."""
    n, y, seed = len(case.X), case.Y[:, 0], int(case.rng.integers(1000))
    Ks = [K[:n, :n] for K in case.grams]
    blocks = case.rng.integers(3, size=n) if case.rng.random() < 0.25 else None
    table = Ks[0] if gram else case.X
    found = permutation_test(estimator, table, y, permutations=ORDERS, blocks=blocks, random_state=seed)
    orders = Permutations(n, None, blocks, check_random_state(seed)).next(ORDERS)
    Y = y[np.vstack([np.arange(n), orders])].T
    best = errors(Ks, case.alphas, Y, case.intercept, splits, power).min(axis=0)
    for score, expected in zip([found.score, *found.null], -best, strict=True):
        case.close(score, expected)
    tied = np.abs(best[1:] - best[0]) <= 1e-6 * best[0]
    assert tied.any() or found.pvalue == (1 + np.sum(best[1:] < best[0])) / (1 + ORDERS)


def test_scores_of_permutations_of_models_are_those_of_refits():
    for case in cases(21):
        gram = case.rng.random() < 0.25
        kernel = "precomputed" if gram else case.kernels[0]
        compared(case, KernelRidge(case.alphas[0], kernel=kernel, fit_intercept=case.intercept), gram)


def test_scores_of_permutations_of_searches_are_those_of_searches():
    for case in cases(22, kernels=3, alphas=3):
        gram = len(case.written) == 1 and case.rng.random() < 0.5
        how, splits, power = {"fit_intercept": case.intercept}, None, 2
        if case.rng.integers(2):
            splits = list(KFold(int(case.rng.integers(2, 5))).split(case.X))
            how["cv"] = len(splits) if case.rng.integers(2) else splits
        if case.rng.random() < 0.25:
            power, how["scoring"] = 1, "neg_mean_absolute_error"
        compared(case, KernelRidgeCV("precomputed" if gram else case.kernels, case.alphas, **how), gram, splits, power)
