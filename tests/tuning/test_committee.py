"""A committee: convex weights, and predictions of rows that nothing of a member has seen."""

import numpy as np
import pytest

from mercer.data import as_rows
from mercer.data.rows import Rows
from mercer.kernels import Gaussian, Matern
from mercer.solvers.problem import Problem, take_rows
from mercer.tuning import committee as module
from mercer.tuning.committee import (
    CLASSIFICATION,
    REGRESSION,
    CommitteeFit,
    Recipe,
    TrainingTable,
    convex_weights,
    past_residuals,
)
from mercer.tuning.descent import descend, least_alpha
from mercer.tuning.held_out import LeaveOutErrors, predict_new

pytestmark = pytest.mark.slow


def drawn(rng, n=45, targets=1, noise=0.2):
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin((t + 1) * X[:, 0]) + X[:, 1] for t in range(targets)])
    return as_rows(X), Y + noise * rng.normal(size=Y.shape), np.arange(n) % 3


def fitted(rows, Y, folds, recipes=REGRESSION, *, share=(0, 1, 2), weights=None, groups=None, **given):
    table = TrainingTable(rows, Problem(Y, weights, intercept=True), share[: rows.width], groups=groups)
    return CommitteeFit(table, recipes, folds, **{"steps": 8, **given}).fit()


@pytest.fixture
def member_values(monkeypatch):
    """What every member predicts out of fold, as the weights are made from it."""
    seen = []

    def spy(held_out, Y, weights):
        seen.append(held_out.copy())
        return convex_weights(held_out, Y, weights)

    make = module.CommitteeFit.__init__
    monkeypatch.setattr(make, "__defaults__", (spy, *make.__defaults__[1:]))
    return seen


# -- members -------------------------------------------------------------------------------------------------------


def test_members_that_follow_one_another_are_tuned_in_their_order():
    assert module._chains(REGRESSION) == [[0, 1, 3, 5], [2], [4]]
    assert module._chains(CLASSIFICATION) == [[0], [1, 7], [2], [3], [4, 5], [6]]
    assert module._chains(REGRESSION[1:2]) == [[0]]  # what it follows is not there


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


def test_out_of_fold_predictions_are_those_of_members_fitted_without_the_fold(rng, member_values):
    rows, Y, folds = drawn(rng, targets=2)
    found = fitted(rows, Y, folds)
    problem = Problem(Y, None, intercept=True)
    total = np.zeros_like(Y)
    for fold, members in enumerate(found.by_fold):
        train = take_rows(rows, problem, np.flatnonzero(folds != fold))
        new, _ = take_rows(rows, problem, np.flatnonzero(folds == fold))
        for weight, (kernel, alpha) in zip(found.fold_weights[fold], members, strict=True):
            total[folds == fold] += weight * predict_new(kernel, alpha, *train, new)
    np.testing.assert_allclose(found.held_out, total, atol=1e-9)
    kept = [i for i, member in enumerate(found.tried) if member.error == pytest.approx(member.error)]
    assert len(kept) == len(REGRESSION)


def test_residuals_of_leaving_out_rows_and_folds_equal_refitting(rng):
    rows, Y, folds = drawn(rng, n=30)
    weights = rng.uniform(0.5, 2.0, size=30)
    found = fitted(rows, Y, folds, weights=weights)
    problem = Problem(Y, weights, intercept=True)
    for sets, mine in (([[i] for i in range(30)], found.left_out), ([folds == f for f in range(3)], found.in_folds)):
        for each in sets:
            out = np.zeros(30, dtype=bool)
            out[each] = True
            train = take_rows(rows, problem, np.flatnonzero(~out))
            new, _ = take_rows(rows, problem, np.flatnonzero(out))
            values = sum(
                member.weight * predict_new(member.kernel, member.alpha, *train, new) for member in found.members
            )
            np.testing.assert_allclose(mine[out], values - Y[out], atol=1e-7)


def test_rows_of_one_group_are_never_predicted_from_one_another(rng, monkeypatch):
    rows, Y, _ = drawn(rng, n=60)
    groups = np.repeat(np.arange(12), 5)
    seen = []

    class Spy(module.HeldOutCriterion):
        def __init__(self, rows, problem, folds, share):
            seen.append((problem.Y[:, 0], folds))
            super().__init__(rows, problem, folds, share)

    monkeypatch.setattr(module, "HeldOutCriterion", Spy)
    fitted(rows, Y, groups % 3, REGRESSION[:1], groups=groups)
    group_of = dict(zip(Y[:, 0], groups, strict=True))
    assert len(seen) > 3
    for targets, folds in seen:
        numbers = np.array([group_of[y] for y in targets])
        assert all(len(set(folds[numbers == group])) == 1 for group in set(numbers))


@pytest.mark.parametrize("recipes", [REGRESSION, CLASSIFICATION], ids=["regression", "classification"])
def test_nothing_of_a_held_out_target_reaches_its_prediction(recipes, rng, member_values):
    rows, Y, folds = drawn(rng)
    fitted(rows, Y, folds, recipes)
    wild = Y.copy()
    wild[folds == 1] = rng.normal(size=(15, 1)) * 1e6
    fitted(rows, wild, folds, recipes)
    first, again = member_values[0], member_values[len(member_values) // 2]
    assert (first[:, folds == 1] == again[:, folds == 1]).all()
    assert (first[:, folds != 1] != again[:, folds != 1]).any()


def test_nothing_of_a_held_out_target_reaches_its_last_prediction_either(rng, monkeypatch):
    monkeypatch.setattr(module, "_FIRST", 12)  # so that members are tuned again on more rows
    monkeypatch.setattr(module, "_HOPEFUL", -1.0)
    rows, Y, folds = drawn(rng)
    wild = Y.copy()
    wild[folds == 1] += 0.5 * rng.normal(size=(15, 1))
    kept = []
    work = module.CommitteeFit.predict_folds
    monkeypatch.setattr(module.CommitteeFit, "predict_folds", lambda *given: kept.append(work(*given)) or kept[-1])
    for targets in (Y, wild):
        fitted(rows, targets, folds)
    assert (kept[0][:, folds == 1] == kept[1][:, folds == 1]).all()
    assert (kept[0][:, folds != 1] != kept[1][:, folds != 1]).any()


def test_weights_of_a_fold_do_not_depend_on_its_targets(rng):
    rows, Y, folds = drawn(rng)
    first = fitted(rows, Y, folds)
    for fold in range(3):
        rest = folds != fold
        values = np.stack([member_held_out(rows, Y, folds, first, place) for place in range(len(first.members))])
        expected = convex_weights(values[:, rest], Y[rest])
        expected = np.where(expected >= 0.02, expected, 0.0)
        np.testing.assert_allclose(first.fold_weights[fold], expected / expected.sum(), atol=1e-6)


def member_held_out(rows, Y, folds, committee, place):
    """Out-of-fold predictions of one member."""
    problem, values = Problem(Y, None, intercept=True), np.zeros_like(Y)
    for fold, tuned in enumerate(committee.by_fold):
        train = take_rows(rows, problem, np.flatnonzero(folds != fold))
        new, _ = take_rows(rows, problem, np.flatnonzero(folds == fold))
        values[folds == fold] = predict_new(*tuned[place], *train, new)
    return values


def test_held_out_rows_of_a_level_that_no_training_row_has_are_those_of_an_unseen_level(rng):
    Z = np.column_stack([rng.normal(size=45), np.zeros(45)])
    Z[7, 1] = 1 / np.sqrt(2)  # a level that one row has
    Y, folds = np.sin(2 * Z[:, :1]) + 0.1 * rng.normal(size=(45, 1)), np.arange(45) % 3
    found = fitted(Rows(Z), Y, folds)
    without = Z.copy()
    without[7, 1] = 0.0
    train = take_rows(Rows(Z), Problem(Y, None, intercept=True), np.flatnonzero(folds != folds[7]))
    value = sum(
        weight * predict_new(kernel, alpha, *train, Rows(without[7:8]))
        for weight, (kernel, alpha) in zip(found.fold_weights[folds[7]], found.by_fold[folds[7]], strict=True)
    )
    np.testing.assert_allclose(found.held_out[7], value[0], atol=1e-9)


def test_the_past_is_judged_by_its_mean_or_its_last_value():
    Y, folds, times = np.arange(8.0)[:, None], np.array([-1, -1, 0, 0, 1, 1, 2, 2]), np.arange(8)
    assert past_residuals(Y, folds, times).ravel()[2:].tolist() == [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    swings = np.array([1.0, -1.0] * 4)[:, None]
    np.testing.assert_allclose(past_residuals(swings, folds, times)[2:], swings[2:])


def test_one_member_has_all_the_weight_and_its_own_predictions(rng, member_values):
    rows, Y, folds = drawn(rng)
    found = fitted(rows, Y, folds, REGRESSION[:1])
    assert [member.weight for member in found.members] == [1.0]
    np.testing.assert_allclose(found.held_out, member_values[0][0])


def test_columns_that_share_a_width_are_tied_in_every_member(rng):
    rows, Y, folds = drawn(rng)
    for member in fitted(rows, Y, folds, share=[4, 9, 4]).tried:
        width = getattr(member.kernel, "width", 1.0)
        assert np.ndim(width) == 0 or width[0] == width[2]


def test_a_linear_member_gets_all_weight_where_a_line_is_right(rng):
    X = rng.normal(size=(150, 20))
    Y = (X @ rng.normal(size=20) + 0.1 * rng.normal(size=150))[:, None]
    found = fitted(as_rows(X), Y / Y.std(), np.arange(150) % 3, share=list(range(20)))
    assert [member.name for member in found.members if member.weight > 0.9] == ["linear"]


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


def test_with_many_rows_the_last_steps_are_on_a_part_and_alpha_is_chosen_out_of_fold(rng, monkeypatch):
    monkeypatch.setattr(module, "_TUNED_ON", 40)
    monkeypatch.setattr(module, "_LEFT_OUT", 100)
    monkeypatch.setattr(module, "_ALONE", 100)
    rows, Y, folds = drawn(rng, n=150)
    found = fitted(rows, Y, folds, REGRESSION[:2], random_state=3)
    assert found.tuned_on == 40
    assert found.left_out.shape == found.in_folds.shape == (40, 1)  # of the rows of the last steps
    problem = Problem(Y, None, intercept=True)
    train, new = (take_rows(rows, problem, np.flatnonzero(which)) for which in (folds != 0, folds == 0))
    for member in found.members:
        errors = [
            np.mean((predict_new(member.kernel, factor * member.alpha * 1.5**0.6, *train, new[0]) - new[1].Y) ** 2)
            for factor in (10**-0.5, 1.0, 10**0.5)
        ]
        assert np.argmin(errors) == 1


def test_alpha_has_the_least_leave_one_out_error_nearby(rng):
    rows, Y, folds = drawn(rng)
    for member in fitted(rows, Y, folds).members:
        left = LeaveOutErrors(member.kernel, rows, Problem(Y, None, intercept=True))
        errors = [left.error(factor * member.alpha) for factor in (10**-0.5, 1.0, 10**0.5)]
        assert np.argmin(errors) == 1


def test_a_good_member_is_preferred_to_a_bad_one(rng):
    X = rng.normal(size=(60, 3))
    Y = np.sin(2.0 * X[:, :1])
    narrow = Recipe("per column", Matern(nu=2.5), columns=True)
    found = fitted(as_rows(X), Y, np.arange(60) % 3, [Recipe("isotropic", Gaussian()), narrow], steps=30)
    assert found.tried[1].error < found.tried[0].error
    assert found.tried[1].weight > 0.7


def test_the_mean_of_the_folds_is_geometric(rng):
    rows, Y, _ = drawn(rng)
    criterion = TrainingTable(rows, Problem(Y, None, intercept=True), range(3)).criterion(3, rng)
    ends = [descend(criterion, Gaussian(width), 0.1, steps=1) for width in (1.0, 4.0)]
    middle, alpha = module._mean_of(ends)
    assert middle.width == pytest.approx(np.sqrt(ends[0].kernel.width * ends[1].kernel.width))
    assert alpha == pytest.approx(np.sqrt(ends[0].alpha * ends[1].alpha))


def test_no_alpha_is_so_small_that_six_digits_are_lost(rng, monkeypatch):
    monkeypatch.setattr(module, "_TUNED_ON", 40)
    X = rng.uniform(size=(150, 2))
    found = fitted(as_rows(X), np.sin(4.0 * X[:, :1]), np.arange(150) % 3, [Recipe("g", Gaussian())])
    assert found.members[0].alpha >= least_alpha(100)
