"""What single rows change in drawn cases: models and searches of the other rows, solved again for each."""

import numpy as np
import pytest

from drawn import CASES, cancelled, cases, changes, decided, errors, left_out, others, refit, refits
from mercer import KernelRidge, KernelRidgeCV, influence
from mercer.kernels import Precomputed

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")]


def test_residuals_leverages_errors_and_predictions_are_those_of_refits():
    for case in cases(51, moved=True):
        n, alpha, gram = len(case.X), case.alphas[0], case.rng.random() < 0.25
        K, against, y = case.grams[0][:n, :n], case.grams[0][n:, :n], case.size
        model = KernelRidge(alpha, kernel="precomputed" if gram else case.kernels[0], fit_intercept=case.intercept)
        found = influence(model.fit(K if gram else case.X, case.Y[:, 0]), against if gram else case.new)
        Y = case.Y - case.level
        kept, residual = others(n), left_out(K, Y, alpha, case.intercept)[:, 0]
        case.close(found.residual, residual, max(np.abs(residual).max(), 1e-5 * y))
        case.close(found.error, np.sqrt(np.mean(residual**2)))
        dual, constant = refit(K, np.eye(n), alpha, case.intercept)  # one column for each target
        case.close(found.leverage, np.diag(K @ dual + constant), 1.0)
        inner = [left_out(K[np.ix_(rest, rest)], Y[rest], alpha, case.intercept) for rest in kept]
        case.close(found.error_without, [np.sqrt(np.mean(each**2)) for each in inner])
        dual, constant = refit(K, Y, alpha, case.intercept)
        duals, constants = refits(K, Y, alpha, case.intercept, kept)
        moved = [against[:, rest] @ duals[i] + constants[i] - against @ dual - constant for i, rest in enumerate(kept)]
        case.close(found.predictions, np.array(moved)[:, :, 0], y)
        assert found.chosen is None
        assert not found.choice_changes.any()


def test_choices_are_those_of_searches_without_each_row():
    count = rows = 0
    for case in cases(52, kernels=3, alphas=3, rows=(6, 12)):
        n, gram = len(case.X), len(case.written) == 1 and case.rng.random() < 0.5
        Ks = [K[:n, :n] for K in case.grams]
        search = KernelRidgeCV([Precomputed()] if gram else case.kernels, case.alphas, fit_intercept=case.intercept)
        search.fit(Ks[0] if gram else case.X, case.Y[:, 0])
        found = influence(search)
        for i, rest in enumerate(others(n)):
            table = errors([K[np.ix_(rest, rest)] for K in Ks], case.alphas, case.Y[rest], case.intercept)
            rows += 1
            if decided(table, 1e-6)[0]:
                assert found.chosen[i] == table.argmin()
                assert found.choice_changes[i] == (table.argmin() != search.best_index_)
                count += 1
    assert count > 0.95 * rows > 6 * CASES  # where rows and targets repeat, candidates may be equally good


def test_changes_of_effects_are_those_of_refits():
    for case in cases(53, moved=True):
        n, d, alpha = *case.X.shape, case.alphas[0]
        model = KernelRidge(alpha, kernel=case.kernels[0], fit_intercept=case.intercept).fit(case.X, case.Y[:, 0])
        found = influence(model, effects=True)
        K, kept = case.grams[0][:n, :n], others(n)
        dual, _ = refit(K, case.Y, alpha, case.intercept)
        duals, _ = refits(K, case.Y, alpha, case.intercept, kept)
        signs, sure = np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
        for j in range(d):
            D = changes(case, case.X, j)
            whole = (D @ dual).mean()
            left = np.array([(D[np.ix_(rest, rest)] @ duals[i]).mean() for i, rest in enumerate(kept)])
            parts = max(cancelled(D[:, rest], duals[i, :, 0]) for i, rest in enumerate(kept))
            scale = np.abs(left).max() + abs(whole) + parts
            case.close(found.effects[:, j], left - whole, scale)
            signs |= left * whole < 0
            sure &= np.minimum(np.abs(left), abs(whole)) > 1e-6 * scale
        assert np.array_equal(found.sign_changes[sure], signs[sure])
