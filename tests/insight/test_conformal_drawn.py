"""Full conformal sets in drawn cases: every candidate refitted without every row, for each value of the new target."""

import numpy as np
import pytest

from drawn import cases, decided, left_out, others
from mercer import KernelRidge, KernelRidgeCV
from mercer.kernels import Precomputed

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")]
VALUES = 10


def values_to_try(rng, intervals, y, level):
    """Some near the ends of the set, others anywhere."""
    unit = np.ptp(y) + np.abs(y - level).max()
    ends = intervals[np.isfinite(intervals)]
    near = (rng.permutation(ends)[:2, None] + 1e-4 * unit * np.array([-1, 1])).ravel()
    far = rng.uniform(y.min() - 2 * unit, y.max() + 2 * unit, size=VALUES - len(near))
    return np.concatenate([near, far])


def conform(case, Ks, alphas, y, z, confidence, alike):
    """Whether each z is in the set, and whether rounding leaves no doubt, from a search over the n + 1 rows."""
    Y = np.vstack([np.tile(y[:, None], len(z)), z])
    residuals = np.abs([left_out(K, Y, alpha, case.intercept) for K in Ks for alpha in alphas])
    table = (residuals**2).mean(axis=1)
    slack = 10 * case.tolerance * np.abs(Y - case.level).max(axis=0) + 1e-14 * case.level
    sure = decided(np.sqrt(table), slack / np.sqrt(table).min(axis=0))
    best = np.take_along_axis(residuals, table.argmin(axis=0)[None, None], axis=0)[0]
    kept, last = best[:-1][alike], best[-1]
    needed = np.floor(round((1 - confidence) * (len(kept) + 1), 9))
    most, least = ((kept >= last + side * slack).sum(axis=0) + 1 > needed for side in (-1, 1))
    return most, sure & (most == least)


def compared(case, sets, alphas, confidence, categories):
    """Compare the sets of one target at the new rows; how many values left no doubt."""
    count, (y, found) = 0, sets
    n = len(y)
    for place, intervals in enumerate(found):
        rows = np.append(np.arange(n), n + place)
        Ks = [K[np.ix_(rows, rows)] for K in case.grams]
        alike = np.ones(n, dtype=bool) if categories is None else categories[0] == categories[1][place]
        z = values_to_try(case.rng, intervals, y, case.level)
        inside = ((intervals[:, :1] <= z) & (z <= intervals[:, 1:])).any(axis=0)
        expected, sure = conform(case, Ks, alphas, y, z, confidence, alike)
        assert np.array_equal(inside[sure], expected[sure])
        count += sure.sum()
    return count


def drawn_settings(case):
    """A confidence, and categories now and then."""
    n, m, rng = len(case.X), len(case.new), case.rng
    confidence = float(rng.choice([0.3, 0.5, 0.75, 0.8, 0.9]) if rng.integers(2) else rng.uniform(0.2, 0.95))
    categories = (rng.integers(2, size=n), rng.integers(2, size=m)) if rng.random() < 0.2 else None
    return confidence, categories


def asked(case, make, confidence, categories):
    """The sets at the new rows of a model fitted to rows, or of one fitted to a Gram matrix."""
    y = case.Y[:, 0] if case.Y.shape[1] == 1 else case.Y
    if len(case.written) == 1 and case.rng.random() < 0.25:
        n, K = len(case.X), case.grams[0]
        # a search by "precomputed", the name, was refused as if its alphas were a default ladder
        model = make(Precomputed()).fit(K[:n, :n], y)
        found = model.predict_set(K[n:, :n], confidence, categories=categories, diag=K.diagonal()[n:])
    else:
        found = make(None).fit(case.X, y).predict_set(case.new, confidence, categories=categories)
    return zip(case.Y.T, found if y.ndim == 2 else [found], strict=True)


def test_sets_of_models_are_those_of_refits_for_every_value():
    count = values = 0
    for case in cases(11, targets=2, moved=True):
        confidence, categories = drawn_settings(case)
        alphas = 10 ** case.rng.uniform(-3, 2, size=case.Y.shape[1])
        alphas[0] = case.alphas[0]
        alphas = np.maximum(alphas, alphas[0])  # the condition of the case is that of the first

        def make(kernel, case=case, alphas=alphas):
            alpha = alphas if len(alphas) > 1 else alphas[0]
            return KernelRidge(alpha, kernel=kernel or case.kernels[0], fit_intercept=case.intercept)

        for sets, alpha in zip(asked(case, make, confidence, categories), alphas, strict=True):
            count += compared(case, sets, [alpha], confidence, categories)
            values += VALUES * len(case.new)
    assert count > 0.95 * values  # ties leave some in doubt


def test_sets_of_searches_are_those_of_searches_for_every_value():
    count = values = 0
    for case in cases(12, targets=2, kernels=3, alphas=3, moved=True):
        confidence, categories = drawn_settings(case)
        if case.Y.shape[1] > 1:  # several targets have one kernel
            del case.written[1:]

        def make(kernel, case=case):
            several = case.Y.shape[1] > 1
            how = {"fit_intercept": case.intercept, "alpha_per_target": several}
            return KernelRidgeCV([kernel] if kernel else case.kernels, case.alphas, **how)

        for sets in asked(case, make, confidence, categories):
            count += compared(case, sets, case.alphas, confidence, categories)
            values += VALUES * len(case.new)
    assert count > 0.95 * values  # ties leave some in doubt


def test_sets_of_every_row_hold_as_many_targets_as_promised():
    for case in cases(13, kernels=2, alphas=2, moved=True):
        n, y = len(case.X), case.Y[:, 0]
        confidence, held = float(case.rng.choice([0.5, 0.75, 0.8, 0.9])), 0
        if len(case.kernels) * len(case.alphas) == 1:
            model = KernelRidge(case.alphas[0], kernel=case.kernels[0], fit_intercept=case.intercept)
        else:
            model = KernelRidgeCV(case.kernels, case.alphas, fit_intercept=case.intercept)
        for i, rest in enumerate(others(n)):
            (found,) = model.fit(case.X[rest], y[rest]).predict_set(case.X[i : i + 1], confidence)
            held += ((found[:, 0] <= y[i]) & (y[i] <= found[:, 1])).any()
        # with every row as the new one in turn, at most floor(q n) have one of the floor(q n) largest residuals
        assert held >= n - np.floor(round((1 - confidence) * n, 9))
