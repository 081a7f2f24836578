"""A committee: convex weights, and predictions of rows that nothing of a member has seen."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mercer.data import as_rows
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.selection.problem import Problem, taken
from mercer.tuning import committee as module
from mercer.tuning.alphas import downhill, predicted, start_alpha
from mercer.tuning.committee import (
    CLASSIFICATION,
    REGRESSION,
    Job,
    Recipe,
    convex_weights,
    fit_committee,
    tuned_members,
)
from mercer.tuning.descent import least_alpha

pytestmark = pytest.mark.slow


def drawn(rng, n=45, targets=1, noise=0.2):
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin((t + 1) * X[:, 0]) + X[:, 1] for t in range(targets)])
    return as_rows(X), Y + noise * rng.normal(size=Y.shape), np.arange(n) % 3


def fitted(rows, Y, folds, recipes=REGRESSION, **given):
    return fit_committee(rows, Problem(Y, None, intercept=True), recipes, folds, **{"steps": 8, **given})


@pytest.fixture
def member_values(monkeypatch):
    """What every member predicts out of fold, as the weights are made from it."""
    seen = []

    def spy(held_out, Y):
        seen.append(held_out.copy())
        return convex_weights(held_out, Y)

    monkeypatch.setattr(module, "convex_weights", spy)
    return seen


# -- weights -------------------------------------------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(2, 40), st.integers(1, 3), st.integers(0, 2**32 - 1), st.floats(-12.0, 12.0))
@settings(max_examples=60)
def test_weights_are_the_best_probability_vector(members, n, targets, seed, power):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, targets))
    held_out = Y + rng.normal(size=(members, 1, 1)) + rng.normal(size=(members, n, targets))
    weights = convex_weights(held_out * 10.0**power, Y * 10.0**power)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)

    def error(w):
        return float(np.mean((np.tensordot(w, held_out, axes=1) - Y) ** 2))

    theirs = minimize(
        error,
        np.full(members, 1.0 / members),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * members,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-12},
    )
    assert error(weights) <= min(theirs.fun, *map(error, np.eye(members))) * (1 + 1e-6) + 1e-9


def test_weights_of_three_members_are_the_best_of_a_grid(rng):
    Y = rng.normal(size=(30, 1))
    held_out = Y + rng.normal(size=(3, 30, 1)) + np.array([0.3, -0.5, 0.0])[:, None, None]
    grid = [(i, j, 100 - i - j) for i in range(101) for j in range(101 - i)]
    errors = [np.mean((np.tensordot(np.array(w) / 100, held_out, axes=1) - Y) ** 2) for w in grid]
    np.testing.assert_allclose(convex_weights(held_out, Y), np.array(grid[np.argmin(errors)]) / 100, atol=0.011)


def test_members_without_any_error_get_weights_all_the_same():
    weights = convex_weights(np.ones((3, 4, 1)), np.ones((4, 1)))
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()


# -- members -------------------------------------------------------------------------------------------------------


def test_a_member_begins_at_the_typical_distance_or_where_the_one_before_ended():
    assert Recipe("l1", Laplacian()).start(4, None) == Laplacian(4.4)
    assert Recipe("l2", Matern(nu=0.5), columns=True).start(2, None) == Matern([2.0, 2.0], 0.5)
    assert Recipe("l1", Laplacian(), columns=True, follows="x").start(2, Laplacian(3.0)) == Laplacian([3.0, 3.0])


@pytest.mark.parametrize("recipes", [REGRESSION, CLASSIFICATION], ids=["regression", "classification"])
def test_tuned_members_are_no_worse_than_they_began(recipes, rng):
    rows, Y, _ = drawn(rng)
    problem = Problem(Y, None, intercept=True)
    found = tuned_members(Job(rows, problem, None, time.monotonic() + 60.0, 8), recipes, {})
    assert list(found) == [recipe.name for recipe in recipes]
    for descent in found.values():
        assert descent.value <= descent.path[0].value


# -- committees ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("targets", [1, 2])
def test_the_weights_of_a_committee_are_a_probability_vector(targets, rng):
    rows, Y, folds = drawn(rng, targets=targets)
    found = fitted(rows, Y, folds)
    weights = [member.weight for member in found.tried]
    assert sum(weights) == pytest.approx(1.0)
    assert all(weight == 0.0 or weight >= 0.02 for weight in weights)
    assert found.members == [member for member in found.tried if member.weight > 0]
    assert [member.name for member in found.tried] == [recipe.name for recipe in REGRESSION]
    assert found.held_out.shape == Y.shape
    assert found.tuned_on == 45


def test_out_of_fold_predictions_are_those_of_members_tuned_and_fitted_without_the_fold(rng, member_values):
    rows, Y, folds = drawn(rng, targets=2)
    found = fitted(rows, Y, folds)
    problem = Problem(Y, None, intercept=True)
    for fold in range(3):
        part_rows, part = taken(rows, problem, np.flatnonzero(folds != fold))
        new, _ = taken(rows, problem, np.flatnonzero(folds == fold))
        tuned = tuned_members(Job(part_rows, part, None, np.inf, 8), REGRESSION, {})
        for number, descent in enumerate(tuned.values()):
            by_hand = predicted(descent.kernel, descent.alpha, part_rows, part, new)
            np.testing.assert_allclose(member_values[0][number][folds == fold], by_hand, rtol=1e-9, atol=1e-9)
    weights = np.array([member.weight for member in found.tried])
    np.testing.assert_allclose(found.held_out, np.tensordot(weights, member_values[0], axes=1))
    errors = np.sqrt(np.mean((member_values[0] - Y) ** 2, axis=(1, 2)))
    np.testing.assert_allclose([member.error for member in found.tried], errors)


@pytest.mark.parametrize("recipes", [REGRESSION, CLASSIFICATION], ids=["regression", "classification"])
def test_nothing_of_a_held_out_target_reaches_its_prediction(recipes, rng, member_values):
    rows, Y, folds = drawn(rng)
    fitted(rows, Y, folds, recipes)
    wild = Y.copy()
    wild[folds == 1] = rng.normal(size=(15, 1)) * 1e6
    fitted(rows, wild, folds, recipes)
    before, after = member_values
    assert (before[:, folds == 1] == after[:, folds == 1]).all()
    assert (before[:, folds != 1] != after[:, folds != 1]).any()


def test_one_member_has_all_the_weight_and_its_own_predictions(rng, member_values):
    rows, Y, folds = drawn(rng)
    found = fitted(rows, Y, folds, REGRESSION[:1])
    assert [member.weight for member in found.members] == [1.0]
    np.testing.assert_allclose(found.held_out, member_values[0][0])


def test_columns_that_share_a_width_are_tied_in_every_member(rng):
    rows, Y, folds = drawn(rng)
    for member in fitted(rows, Y, folds, share=[4, 9, 4]).tried:
        width = member.kernel.width
        assert np.ndim(width) == 0 or width[0] == width[2]


def test_the_same_seed_gives_the_same_committee(rng):
    rows, Y, folds = drawn(rng)
    one, two = (fitted(rows, Y, folds) for _ in range(2))
    for mine, theirs in zip(one.tried, two.tried, strict=True):
        assert mine.kernel == theirs.kernel
        assert (mine.alpha, mine.weight, mine.error) == (theirs.alpha, theirs.weight, theirs.error)
    assert (one.held_out == two.held_out).all()


def test_targets_of_one_value_are_predicted_exactly(rng):
    rows, _, folds = drawn(rng)
    found = fitted(rows, np.full((45, 1), 3.0), folds)
    np.testing.assert_allclose(found.held_out, 3.0)


def test_time_that_is_up_still_gives_a_committee(rng):
    rows, Y, folds = drawn(rng)
    found = fitted(rows, Y, folds, time_budget=1e-9)
    assert sum(member.weight for member in found.members) == pytest.approx(1.0)
    assert "stopped" in {member.status for member in found.tried}


def test_with_many_rows_widths_are_tuned_on_a_part_and_alpha_out_of_fold(rng, monkeypatch, member_values):
    monkeypatch.setattr(module, "_TUNED_ON", 40)
    rows, Y, folds = drawn(rng, n=150)
    found = fitted(rows, Y, folds, REGRESSION[:2], random_state=3)
    assert found.tuned_on == 40
    part = np.sort(np.random.default_rng(3).permutation(150)[:40])
    problem = Problem(Y, None, intercept=True)
    part_rows, some = taken(rows, problem, part)
    for number, (name, descent) in enumerate(
        tuned_members(Job(part_rows, some, None, np.inf, 8), REGRESSION[:2], {}).items()
    ):
        member = found.tried[number]
        assert member.name == name
        assert member.kernel == descent.kernel
        train, new = np.flatnonzero(folds != 0), np.flatnonzero(folds == 0)

        def first_fold(alpha, kernel=descent.kernel, train=train, new=new):
            values = predicted(kernel, alpha, *taken(rows, problem, train), taken(rows, problem, new)[0])
            return np.mean((values - Y[new]) ** 2)

        assert member.alpha == pytest.approx(downhill(first_fold, descent.alpha, ends=(least_alpha(100), np.inf)))
        for fold in range(3):
            train, new = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            values = predicted(member.kernel, member.alpha, *taken(rows, problem, train), taken(rows, problem, new)[0])
            np.testing.assert_allclose(member_values[0][number][new], values, atol=1e-9)


def test_a_good_member_is_preferred_to_a_bad_one(rng):
    X = rng.normal(size=(60, 3))
    Y = np.sin(2.0 * X[:, :1])
    narrow = Recipe("per column", Matern(nu=2.5), columns=True)
    found = fitted(as_rows(X), Y, np.arange(60) % 3, [Recipe("isotropic", Gaussian()), narrow], steps=30)
    assert found.tried[1].error < found.tried[0].error
    assert found.tried[1].weight > 0.7


def test_the_last_fit_begins_in_the_middle_of_the_folds(rng):
    rows, Y, _ = drawn(rng)
    problem = Problem(Y, None, intercept=True)
    ends = []
    for width in (1.0, 4.0):
        kernel = Gaussian(width)
        job = Job(rows, problem, None, -np.inf, 1)
        ends.append(tuned_members(job, [Recipe("g", kernel)], {"g": (kernel, start_alpha(kernel, rows, problem))})["g"])
    middle, alpha = module._mean_of(ends)
    assert middle.width == pytest.approx(np.sqrt(ends[0].kernel.width * ends[1].kernel.width))
    assert alpha == pytest.approx(np.sqrt(ends[0].alpha * ends[1].alpha))


def test_no_alpha_is_so_small_that_six_digits_are_lost(rng, monkeypatch):
    monkeypatch.setattr(module, "_TUNED_ON", 40)
    X = rng.uniform(size=(150, 2))
    found = fitted(as_rows(X), np.sin(4.0 * X[:, :1]), np.arange(150) % 3, [Recipe("g", Gaussian())])
    assert found.members[0].alpha >= least_alpha(100)
