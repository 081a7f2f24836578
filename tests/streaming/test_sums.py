"""Sums over folds from one pass, and every model that leaves folds out: against refits from raw rows."""

import numpy as np
import pytest

from landmark_refits import fitted, folds_of, predicted, whitened
from mercer.errors import InputError
from mercer.kernels import Gaussian, Linear
from mercer.runtime.passes import run_pass
from mercer.solvers.landmarks import Features
from mercer.streaming.blocks import as_source
from mercer.streaming.models import Moments, SummedSystem
from mercer.streaming.sums import FoldSums, Numbers, Side

KERNEL, FOLDS = Gaussian(1.5), 4


def data(rng, n=160, t=2):
    X = rng.normal(size=(n, 3))
    return X, np.column_stack([np.sin(X[:, j]) + X[:, 0] for j in range(t)]), rng.uniform(0.2, 2.0, size=n)


def moments(X, Y, Z, *, weights=None, intercept=False, whitened=True, offset=0.0, constant=False, at_once=37):
    features = Features.of(KERNEL, Z)
    u = features.constant(X) if constant else np.zeros(features.count)
    targets = Numbers(np.full(Y.shape[1], offset))
    weighted = weights is not None
    work = FoldSums((Side(features, whitened, u),), targets, FOLDS, 0, intercept, weighted)
    source = as_source(X, Y, sample_weight=weights)
    return Moments.read(work, run_pass(source, work, at_once=at_once), 0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("white", [False, True])
def test_models_without_folds_and_their_errors_are_those_of_refitting(intercept, weighted, white, rng):
    X, Y, weights = data(rng)
    w, Z, alphas = (weights if weighted else None), X[:20], np.array([1e-3, 1.0])
    sums = moments(X, Y, Z, weights=w, intercept=intercept, whitened=white, offset=0.3, constant=not intercept)
    phi, folds = whitened(KERNEL, Z, X), folds_of(len(X), FOLDS)
    mine = sums.side.features.phi(X)
    for left_out in [(0,), (1, 3), ()]:
        train = ~np.isin(folds, left_out)
        models = sums.without(*left_out).solve(alphas)
        for a, alpha in enumerate(alphas):
            refit = fitted(phi[train], Y[train], alpha, None if w is None else w[train], intercept)
            values = mine @ models.weights[a] + models.intercept[a]
            assert np.abs(values - predicted(phi, refit)).max() < 1e-8
            for f in left_out:
                rows = folds == f
                expected = ((Y[rows] - predicted(phi[rows], refit)) ** 2).sum(axis=0)
                np.testing.assert_allclose(sums.squared_errors(f, models)[a], expected, rtol=1e-8)


def test_the_first_features_alone_give_the_model_of_the_first_landmarks(rng):
    X, Y, _ = data(rng)
    sums = moments(X, Y, X[:20], constant=True, offset=5.0)
    size = sums.side.features.count // 2
    phi = whitened(KERNEL, sums.side.features.landmarks[:size], X)
    train = folds_of(len(X), FOLDS) != 2
    models = sums.without(2, size=size).solve([0.1])
    refit = fitted(phi[train], Y[train], 0.1)
    expected = ((Y[~train] - predicted(phi[~train], refit)) ** 2).sum(axis=0)
    np.testing.assert_allclose(sums.squared_errors(2, models)[0], expected, rtol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_targets_far_from_zero_lose_no_digits(intercept, rng):
    X, Y, _ = data(rng, n=400, t=1)
    far, alphas = Y + 1e6, np.array([1e-4, 1e-2])
    near = moments(X, Y, X[:40], intercept=True)
    sums = moments(X, far, X[:40], intercept=intercept, offset=1e6 + 0.3, constant=not intercept)
    found = sums.squared_errors(1, sums.without(1).solve(alphas))
    if intercept:  # a constant is nothing to a model that has one
        np.testing.assert_allclose(found, near.squared_errors(1, near.without(1).solve(alphas)), rtol=1e-6)
        return
    phi, rows = whitened(KERNEL, X[:40], X), folds_of(len(X), FOLDS) == 1
    for a, alpha in enumerate(alphas):
        refit = fitted(phi[~rows], far[~rows], alpha)
        expected = ((far[rows] - predicted(phi[rows], refit)) ** 2).sum(axis=0)
        np.testing.assert_allclose(found[a], expected, rtol=1e-4)  # the refit itself has no more digits


@pytest.mark.slow
def test_the_number_of_blocks_changes_nothing(rng):
    X, Y, weights = data(rng)
    found = []
    for at_once in (160, 23, 2):
        sums = moments(X, Y, X[:15], weights=weights, intercept=True, at_once=at_once)
        found.append(sums.squared_errors(0, sums.without(0).solve([1e-3])))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-9)


def test_rows_of_weight_zero_are_not_trained_on(rng):
    X, Y, weights = data(rng)
    weights[::3] = 0.0
    sums = moments(X, Y, X[:15], weights=weights)
    phi, used = whitened(KERNEL, X[:15], X), weights > 0
    refit = fitted(phi[used], Y[used], 0.5, weights[used])
    models = sums.without().solve([0.5])
    assert np.abs(sums.side.features.phi(X) @ models.weights[0] - predicted(phi, refit)).max() < 1e-9


def test_halves_of_a_table_add_up(rng):
    X, Y, _ = data(rng)
    side = Side(Features.of(KERNEL, X[:10]), whitened=False, constant=np.zeros(10))
    work = FoldSums((side,), Numbers(np.zeros(2)), FOLDS, 0, intercept=True)
    whole, first, second = work.begin(), work.begin(), work.begin()
    for i, block in enumerate(as_source(X, Y).blocks(40)):
        work.add(whole, block)
        work.add(first if i < 2 else second, block)
    merged = work.merge(first, second)
    for name, values in whole.items():
        np.testing.assert_allclose(merged[name], values, rtol=1e-12)
    assert whole["rows"].sum() == 160
    assert work.bytes() == 8 * FOLDS * 13 * 13


def test_without_a_penalty_the_shortest_solution_is_given(rng):
    X = rng.normal(size=(30, 2))
    y = X @ [[1.0], [2.0]]
    doubled = np.hstack([X, X])
    side = Side(Features.of(Linear(), np.eye(4)), whitened=True, constant=np.zeros(4))
    work = FoldSums((side,), Numbers(np.zeros(1)), 1, 0, intercept=False)
    state = run_pass(as_source(doubled, y), work, at_once=10)
    models = Moments.read(work, state, 0).without().solve([0.0])
    assert models.rank == 2
    assert np.allclose(side.features.phi(doubled) @ models.weights[0], y)
    assert np.allclose(np.linalg.norm(models.weights[0]), np.linalg.norm([0.5, 1.0, 0.5, 1.0]))


def test_a_block_without_targets_is_refused(rng):
    work = FoldSums((Side(Features.of(KERNEL, np.eye(3)), True, np.zeros(3)),), Numbers(np.zeros(1)), 1, 0, False)
    with pytest.raises(InputError, match="y must be given to fit; got none"):
        run_pass(as_source(rng.normal(size=(5, 3))), work, at_once=5)


def test_sums_that_overflow_are_refused(rng):
    X, Y, _ = data(rng)
    with (
        pytest.raises(InputError, match=r"Sums over rows of Gaussian\(width=1.5\) must be finite"),
        np.errstate(all="ignore"),
    ):
        moments(X, 1e200 * Y, X[:5])


def test_a_training_set_without_weight_is_refused():
    with pytest.raises(InputError, match="A training fold has no rows with positive weight"):
        SummedSystem(np.zeros((3, 3)), np.zeros(1), np.zeros(1), intercept=True)
