"""Average effects in drawn cases: derivatives written out, for models refitted without each row and to unit targets."""

import numpy as np
import pytest
from scipy import stats

from drawn import cancelled, cases, changes, others, refit, refits
from mercer import KernelRidge, marginal_effects

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")]


def drawn(seed, *, moved=True):
    """Cases with their models, the rows of the effects, whether these are its own, and which columns are binary."""
    for case in cases(seed, rows=(6, 16), moved=moved):
        binary = np.array([len(np.unique(column)) == 2 for column in case.X.T])
        model = KernelRidge(case.alphas[0], kernel=case.kernels[0], fit_intercept=case.intercept)
        own = case.rng.random() < 0.7
        yield case, model.fit(case.X, case.Y[:, 0]), case.X if own else case.new, own, binary


def test_effects_and_averages_are_those_of_derivatives_written_out():
    for case, model, at, own, binary in drawn(31):
        found = marginal_effects(model, None if own else at)
        K = case.grams[0][: len(case.X), : len(case.X)]
        dual, _ = refit(K, case.Y, case.alphas[0], case.intercept)
        assert found.kinds == ["difference" if each else "slope" for each in binary]
        for j in range(len(binary)):
            D = changes(case, at, j)
            expected = D @ dual[:, 0]
            scale = np.abs(expected).max() + cancelled(D, dual[:, 0])
            case.close(found.pointwise[:, j], expected, scale)
            case.close(found.average[j], expected.mean(), scale)


def test_effects_are_numerical_derivatives_of_predictions():
    for case, model, at, own, binary in drawn(32, moved=False):
        found = marginal_effects(model, None if own else at)
        for j in np.flatnonzero(~binary):
            step = np.zeros(len(binary))
            step[j] = 1e-3 * (np.std(case.X[:, j]) or 1.0)
            first, second = (
                (model.predict(at + k * step) - model.predict(at - k * step)) / (2 * k * step[j]) for k in (1, 2)
            )
            scale = max(np.abs(found.pointwise[:, j]).max(), np.abs(case.Y).max() * 1e-3)
            digits = 1e-4 if "nu=1.5" in repr(case.kernels[0]) else 1e-5  # a kink where rows are close to each other
            assert np.abs(found.pointwise[:, j] - (4 * first - second) / 3).max() <= digits * scale


def test_averages_without_each_row_and_jackknife_errors_are_those_of_refits():
    for case, model, at, own, binary in drawn(33):
        found, n = marginal_effects(model, None if own else at), len(case.X)
        K, kept = case.grams[0][:n, :n], others(len(case.X))
        dual, _ = refits(K, case.Y, case.alphas[0], case.intercept, kept)
        assert found.without.shape == (n, len(binary))
        for j in range(len(binary)):
            D = changes(case, at, j)
            left = np.array([(D[np.ix_(kept[i], kept[i])] if own else D[:, kept[i]]) @ dual[i, :, 0] for i in range(n)])
            left = left.mean(axis=1)
            scale = np.abs(left).max() + max(cancelled(D[:, kept[i]], dual[i, :, 0]) for i in range(n))
            case.close(found.without[:, j], left, scale)
            spread = np.sqrt((n - 1) / n * np.sum((left - left.mean()) ** 2))
            case.close(found.standard_error[j], spread, scale)


def test_homogeneous_errors_are_those_of_refits_to_unit_targets():
    for case, model, at, own, binary in drawn(34):
        found = marginal_effects(model, None if own else at, errors="homogeneous", pointwise_errors=True)
        n, alpha = len(case.X), case.alphas[0]
        K, Y = case.grams[0][:n, :n], case.Y - case.level
        dual, constant = refit(K, Y, alpha, case.intercept)
        units, constants = refit(K, np.eye(n), alpha, case.intercept)  # one column for each target
        noise = np.sqrt(np.mean((Y - K @ dual - constant) ** 2))
        level = noise + 1e-3 * case.size  # residuals far smaller than the targets have fewer digits
        degrees = max(n - np.trace(K @ units + constants), 1.0)
        assert found.degrees == pytest.approx(degrees, rel=max(case.tolerance * n, 1e-8))
        for j in range(len(binary)):
            D = changes(case, at, j)
            shares = D @ units
            scale = level * (np.abs(shares).max() + cancelled(D, np.abs(units).max(axis=1)))
            case.close(found.standard_error[j], noise * np.sqrt(np.sum(shares.mean(axis=0) ** 2)), scale)
            case.close(found.pointwise_error[:, j], noise * np.sqrt(np.sum(shares**2, axis=1)), scale)
        t, known = stats.t(found.degrees), found.standard_error > 0
        assert found.pvalue[known] == pytest.approx(2 * t.sf(np.abs(found.t[known])), rel=1e-8, abs=1e-12)
        reach = t.ppf(0.975) * found.standard_error
        assert found.interval == pytest.approx(np.column_stack([found.average - reach, found.average + reach]))
