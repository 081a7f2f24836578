"""Closed forms are refits: every kernel, weight, splitter, alpha and route, against fitting the rows anew."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from mercer import KernelRidgeClassifier, cross_validate
from mercer.data.folds import Folds, draw
from mercer.data.rows import Rows
from mercer.errors import InputError
from mercer.kernels import Constant, Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial, Precomputed
from mercer.selection.candidate import Candidate
from mercer.selection.nested import own_folds
from mercer.selection.removals import Removals
from mercer.solvers import DualSystem
from mercer.solvers.problem import Problem
from refits import all_held_out, condition, held_out, held_out_shortest
from refusals import tells

pytestmark = pytest.mark.slow

EPS = np.finfo(float).eps

ROUTES = {
    "inverse": ("inverse", False),
    "spectral, all of P": ("spectral", True),
    "spectral, block by block": ("spectral", False),
    "refit": ("refit", False),
    "primal": ("primal", False),
}

KERNELS = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "matern": lambda width: Matern(width, nu=0.5),
    "smooth matern": lambda width: Matern(width, nu=2.5),
    "linear": lambda _: Linear(),
    "quadratic": lambda width: Polynomial(2, scale=1 / (1 + width)),
    "cubic": lambda _: Polynomial(3),
    "sum": lambda width: Gaussian(width) + 0.5 * Linear(),
    "product": lambda width: Laplacian(width) * Polynomial(2),
    "finite sum": lambda _: Linear() ** 2 + 0.3 * Linear() + Constant(0.5),
    "precomputed": Gaussian,
}


def plain_lists(rng, n):
    """Overlapping test sets, training sets that are not complements, and a set tested whole but for one row."""
    splits = []
    for _ in range(4):
        order = rng.permutation(n)
        cut = int(rng.integers(2, n))
        splits.append((order[:cut], order[cut : cut + int(rng.integers(1, n - cut + 1))]))
    return [*splits, (np.array([0]), np.arange(1, n)), (np.arange(n - 1), np.array([n - 1]))]


SPLITTERS = {
    "leave-one-out": lambda rng, n: None,
    "folds": lambda rng, n: KFold(int(rng.integers(2, n + 1))),
    "shuffled folds": lambda rng, n: KFold(int(rng.integers(2, 6)), shuffle=True, random_state=int(rng.integers(99))),
    "repeated folds": lambda rng, n: RepeatedKFold(n_splits=3, n_repeats=3, random_state=int(rng.integers(99))),
    "groups": lambda rng, n: GroupKFold(3),
    "stratified": lambda rng, n: StratifiedKFold(2),
    "all pairs": lambda rng, n: LeavePOut(2),
    "pairs of groups": lambda rng, n: LeavePGroupsOut(2),
    "random halves": lambda rng, n: ShuffleSplit(5, test_size=0.3, train_size=0.4, random_state=int(rng.integers(99))),
    "time": lambda rng, n: TimeSeriesSplit(int(rng.integers(2, 6))),
    "predefined": lambda rng, n: PredefinedSplit(np.r_[0, 1, rng.integers(-1, 3, n - 2)]),
    "plain lists": plain_lists,
}


@st.composite
def cases(draw_one, splitter):
    """One regression with its splits; every choice is hypothesis's, every number comes from a drawn seed."""
    rng = np.random.default_rng(draw_one(st.integers(0, 2**32 - 1)))
    n = draw_one(st.integers(6, 10 if splitter == "all pairs" else 25))
    d, t = draw_one(st.integers(1, 4)), draw_one(st.integers(1, 3))
    X, Y = rng.normal(size=(n, d)), rng.normal(size=(n, t)) * draw_one(st.sampled_from([1.0, 30.0]))
    kind = draw_one(st.sampled_from(sorted(KERNELS)))
    kernel = KERNELS[kind](float(np.exp(draw_one(st.floats(math.log(0.2), math.log(10.0))))))
    K = kernel(X)
    if kind == "precomputed":
        kernel, X = Precomputed(), K
    labels = np.arange(n) % 2
    groups = np.r_[0, 1, 2, 3, rng.integers(0, 4, n - 4)]
    folds = draw(SPLITTERS[splitter](rng, n), X, labels, groups=groups if "groups" in splitter else None)
    weights, weighting = None, draw_one(st.sampled_from(["none", "random", "some zero"]))
    if weighting != "none":
        weights = rng.uniform(0.1, 5.0, n)
    if weighting == "some zero":
        weights[rng.permutation(n)[: n // 3]] = 0.0
        for split in folds.splits:  # a training set needs a row to learn from
            if not (weights[split.train] > 0).any():
                weights[split.train[0]] = 1.0
    alpha = 10.0 ** draw_one(st.floats(-8.0, 4.0))
    problem = Problem(Y, weights, draw_one(st.booleans()), gram=kind == "precomputed")
    return Case(Rows(X), kernel, K, problem, folds, alpha)


@dataclass(repr=False)
class Case:
    rows: Rows
    kernel: Kernel
    K: np.ndarray
    problem: Problem
    folds: Folds
    alpha: float

    def __repr__(self):
        problem = self.problem
        weighted = "unweighted" if problem.weights is None else f"{len(problem.unused_rows)} rows of weight zero"
        return (
            f"{self.kernel!r}, alpha={self.alpha!r}, n={problem.n}, t={problem.Y.shape[1]}, {weighted}, "
            f"intercept={problem.intercept}, {self.folds.label}"
        )

    def routes(self):
        """Explicit features are worked with where there are some, and all rows have weight."""
        finite = self.kernel.count_features(self.rows) is not None and not len(self.problem.unused_rows)
        return [name for name in ROUTES if name != "primal" or finite]

    def allowed(self, route, scale):
        """10 kappa eps, kappa that of the system which the route factors; sums of n terms round n times."""
        kappa = condition(self.K, self.alpha, self.problem.weights)
        if route == "primal":  # F'F + alpha I is singular but for alpha where there are more features than rows
            weights = np.ones(self.problem.n) if self.problem.weights is None else self.problem.weights
            kappa = max(kappa, 1 + np.linalg.norm(self.K, 2) * weights.max() / self.alpha)
        tolerance = 10 * max(kappa, self.problem.n) * EPS
        return scale * (min(tolerance, 1e-9) if kappa <= 1e6 else tolerance)


@pytest.mark.parametrize("splitter", sorted(SPLITTERS))
@given(data=st.data())
def test_every_route_equals_refitting_from_raw_rows(splitter, data):
    case = data.draw(cases(splitter))
    problem, folds, alpha = case.problem, case.folds, case.alpha
    expected = all_held_out(case.K, problem.Y, alpha, folds.splits, problem.weights, problem.intercept)
    scale = np.abs(problem.Y).max() + np.abs(expected).max()
    removals = Removals.of(folds.splits, folds.n)
    for name in case.routes():
        route, whole = ROUTES[name]
        found = Candidate(case.kernel, case.rows, problem, removals, route, whole=whole).at(alpha)
        assert found.values.shape == expected.shape
        error, allowed = np.abs(found.values - expected).max(), case.allowed(name, scale)
        assert error <= allowed, f"{name}: off by {error:.1e}, allowed {allowed:.1e}"
        assert found.condition >= 1 - 1e-12


# -- alpha = 0 where K has no inverse: equation (1) fails, the shortest solution is meant ------------------


def held_out_by_dual_system(K, Y, train, test, intercept):
    own = np.ascontiguousarray(K[np.ix_(train, train)])
    solution = DualSystem(own, None, intercept=intercept).solve(Y[train], 0.0, "spectral")
    return K[np.ix_(test, train)] @ solution.dual + solution.intercept


SINGULAR = {
    "duplicated rows": lambda rng: (Laplacian(1.5), np.repeat(rng.normal(size=(8, 2)), 2, axis=0)),
    "a few duplicates": lambda rng: (Laplacian(1.0), rng.normal(size=(12, 3))[np.r_[0:12, 0, 5, 5]]),
    "more rows than columns": lambda rng: (Linear(), rng.normal(size=(16, 3))),
    "few monomials": lambda rng: (Polynomial(2), rng.normal(size=(17, 1))),
    "one constant": lambda rng: (Constant(2.0), rng.normal(size=(9, 1))),
}


@pytest.mark.parametrize("cv", [None, 4, "pairs", "random"])
@pytest.mark.parametrize("route", sorted(set(ROUTES) - {"refit"}))
@pytest.mark.parametrize("kind", sorted(SINGULAR))
def test_alpha_zero_with_a_singular_matrix_gives_the_shortest_solution_of_every_split(kind, route, cv, rng):
    for _ in range(5):
        kernel, X = SINGULAR[kind](rng)
        if ROUTES[route][0] == "primal" and Rows(X).width and kernel.count_features(Rows(X)) is None:
            return
        K, Y = kernel(X), rng.normal(size=(len(X), 2))
        splitter = {"pairs": LeavePOut(2), "random": ShuffleSplit(6, test_size=0.25, random_state=1)}.get(cv, cv)
        folds = draw(splitter, X, Y)
        removals = Removals.of(folds.splits, folds.n)
        name, whole = ROUTES[route]
        found = Candidate(kernel, Rows(X), Problem(Y, None, False), removals, name, whole=whole).at(0.0)
        expected = np.vstack([held_out_shortest(K, Y, split.train, split.test) for split in folds.splits])
        np.testing.assert_allclose(found.values, expected, rtol=1e-8, atol=1e-8)
        assert found.condition == math.inf


@pytest.mark.parametrize("route", sorted(set(ROUTES) - {"refit"}))
def test_alpha_zero_with_a_singular_matrix_and_an_intercept_equals_refitting(route, rng):
    X = np.repeat(rng.normal(size=(8, 2)), 2, axis=0)
    for kernel in (Linear(), Polynomial(2)):
        K, Y = kernel(X), rng.normal(size=(16, 2))
        folds = draw(KFold(5, shuffle=True, random_state=0), X, Y)
        removals = Removals.of(folds.splits, folds.n)
        name, whole = ROUTES[route]
        found = Candidate(kernel, Rows(X), Problem(Y, None, True), removals, name, whole=whole).at(0.0)
        expected = np.vstack([held_out_by_dual_system(K, Y, s.train, s.test, intercept=True) for s in folds.splits])
        np.testing.assert_allclose(found.values, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("route", ["inverse", "spectral"])
def test_alpha_zero_with_a_regular_matrix_interpolates(route, rng):
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 1))
    folds = draw(4, X, Y)
    system = Candidate(
        Laplacian(0.5), Rows(X), Problem(Y, None, False), Removals.of(folds.splits, 12), route, whole=False
    )
    found = system.at(0.0)
    np.testing.assert_allclose(found.values, all_held_out(Laplacian(0.5)(X), Y, 0.0, folds.splits), rtol=1e-10)
    assert found.refits == 0


@pytest.mark.parametrize("route", ["inverse", "spectral"])
def test_alpha_zero_with_a_singular_matrix_and_rows_of_weight_zero_equals_refitting(route, rng):
    X, Y = np.repeat(rng.normal(size=(8, 2)), 2, axis=0), rng.normal(size=(16, 1))
    weights = np.ones(16)
    weights[[2, 9]] = 0.0
    folds = draw(4, X, Y)
    system = Candidate(
        Laplacian(), Rows(X), Problem(Y, weights, False), Removals.of(folds.splits, 16), route, whole=False
    )
    K = Laplacian()(X)
    expected = [held_out_shortest(K, Y, np.setdiff1d(s.train, [2, 9]), s.test) for s in folds.splits]
    found = system.at(0.0)
    np.testing.assert_allclose(found.values, np.vstack(expected), rtol=1e-8, atol=1e-9)


# -- other hard cases ------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", sorted(set(ROUTES) - {"primal"}))
def test_an_indefinite_matrix_is_still_held_out_exactly(route, rng):
    A = rng.normal(size=(15, 15))
    K, Y = A + A.T, rng.normal(size=(15, 2))
    for splitter in (None, 5, LeavePOut(2), KFold(2)):
        folds = draw(splitter, K, Y)
        name, whole = ROUTES[route]
        removals = Removals.of(folds.splits, 15)
        system = Candidate(Precomputed(), Rows(K), Problem(Y, None, False, gram=True), removals, name, whole=whole)
        expected = all_held_out(K, Y, 0.3, folds.splits)
        np.testing.assert_allclose(system.at(0.3).values, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("route", ["inverse", "spectral", "refit"])
def test_rows_of_weight_zero_are_predicted_and_never_trained_on(route, intercept, rng):
    X, Y = rng.normal(size=(14, 2)), rng.normal(size=(14, 2))
    weights = np.r_[np.zeros(4), rng.uniform(0.5, 2.0, 10)]
    wild = Y.copy()
    wild[:4] = 1e6  # must not be seen by any model
    folds = draw(7, X, Y)  # the first two folds consist of such rows alone
    removals = Removals.of(folds.splits, 14)
    found = [
        Candidate(Gaussian(), Rows(X), Problem(y, weights, intercept), removals, route, whole=False).at(0.1).values
        for y in (Y, wild)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[0], all_held_out(Gaussian()(X), Y, 0.1, folds.splits, weights, intercept))


@pytest.mark.parametrize("route", ["inverse", "spectral", "refit"])
def test_a_training_set_without_weight_is_refused(route, rng):
    X, Y = rng.normal(size=(6, 1)), rng.normal(size=(6, 1))
    weights = np.array([1.0, 1, 1, 0, 0, 0])
    removals = Removals([np.arange(3), np.array([5])], [np.arange(3), np.array([5])])
    with pytest.raises(InputError) as refused:
        Candidate(Gaussian(), Rows(X), Problem(Y, weights, False), removals, route, whole=False)
    assert tells(str(refused.value), "sample_weight", "got a split whose training rows all have weight 0")


@pytest.mark.parametrize("route", ["inverse", "spectral", "refit", "primal"])
def test_two_rows_are_enough(route, rng):
    X, Y = rng.normal(size=(2, 1)), rng.normal(size=(2, 1))
    folds = draw(None, X, Y)
    for intercept in (False, True):
        problem = Problem(Y, None, intercept)
        system = Candidate(Linear(), Rows(X), problem, Removals.of(folds.splits, 2), route, whole=False)
        expected = all_held_out(Linear()(X), Y, 0.5, folds.splits, None, intercept)
        np.testing.assert_allclose(system.at(0.5).values, expected, rtol=1e-12)


@pytest.mark.parametrize("route", sorted(ROUTES))
def test_more_targets_than_rows(route, rng):
    X, Y = rng.normal(size=(7, 2)), rng.normal(size=(7, 20))
    folds = draw(3, X, Y)
    name, whole = ROUTES[route]
    system = Candidate(Linear(), Rows(X), Problem(Y, None, True), Removals.of(folds.splits, 7), name, whole=whole)
    np.testing.assert_allclose(
        system.at(0.5).values, all_held_out(Linear()(X), Y, 0.5, folds.splits, None, True), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("route", sorted(ROUTES))
def test_large_scattered_sets_equal_refitting(route, rng):
    """Sets above the size that is solved many at a time, in one run, in several and all over the table."""
    n = 150
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 1))
    scattered, runs = np.sort(rng.permutation(n)[:60]), np.r_[5:40, 80:110]
    sets = [scattered, runs, np.arange(60), np.arange(n - 4)]
    removals = Removals(sets, [s[::2] for s in sets])
    name, whole = ROUTES[route]
    for intercept in (False, True):
        system = Candidate(Polynomial(2), Rows(X), Problem(Y, None, intercept), removals, name, whole=whole)
        K = Polynomial(2)(X)
        expected = [held_out(K, Y, 0.1, np.setdiff1d(np.arange(n), s), s[::2], None, intercept) for s in sets]
        np.testing.assert_allclose(system.at(0.1).values, np.vstack(expected), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("weighting", ["none", "positive", "some zero"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("route", sorted(ROUTES))
def test_one_row_besides_another_removal_equals_refitting(route, intercept, weighting, rng):
    """Leave-one-out within the training part of every outer fold, duplicated rows and alpha = 0 among them."""
    if weighting == "some zero" and route == "primal":
        pytest.skip("explicit features are not taken where rows have no weight")
    n, name, whole = 24, *ROUTES[route]
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    X[5] = X[4]
    weights = None if weighting == "none" else rng.uniform(0.5, 2, size=n)
    if weighting == "some zero":
        weights[[0, 9]] = 0.0
    folds, kernel = draw(4, X, Y), Polynomial(2)
    layout = own_folds(folds, lambda train: draw(None, X[train], Y[train]))
    assert (layout.everything.bases >= 0).sum() == 4 * 18
    problem, K = Problem(Y, weights, intercept), kernel(X)
    system = Candidate(kernel, Rows(X), problem, layout.everything, name, whole=whole)
    rows = np.arange(n)
    plain = weighting == "none" and not intercept and name in ("inverse", "spectral")
    for alpha in (0.3, 0.0) if plain else (0.3,):
        values = system.at(alpha).values
        for i, (removed, test) in enumerate(zip(layout.everything.sets, layout.everything.tests, strict=True)):
            train = np.setdiff1d(rows, removed)
            expected = held_out_shortest(K, Y, train, test)
            if alpha:
                expected = held_out(K, Y, alpha, train, test, weights, intercept)
            np.testing.assert_allclose(values[layout.everything.part(i)], expected, rtol=1e-6, atol=1e-7)


def test_refit_gives_the_condition_of_the_training_rows_alone(rng):
    X, Y = rng.normal(size=(10, 2)), rng.normal(size=(10, 1))
    folds = draw(5, X, Y)
    system = Candidate(
        Gaussian(), Rows(X), Problem(Y, None, False), Removals.of(folds.splits, 10), "refit", whole=False
    )
    train = folds.splits[1].train
    values, _, found = system.refit(1, 0.1)
    expected = held_out(Gaussian()(X), Y, 0.1, train, folds.splits[1].test)
    np.testing.assert_allclose(values[:, :1] * system.unit, expected, rtol=1e-12)
    real = np.linalg.cond(Gaussian()(X[train]) + 0.1 * np.eye(8))
    assert real / 4 < found <= real * 1.01
    assert system.at(0.1).refits == 5


def test_balanced_weights_are_worked_out_anew_in_every_training_set(rng):
    X, labels = rng.normal(size=(15, 2)), np.array([0] * 10 + [1] * 5)
    Y = np.where(labels == 1, 1.0, -1.0)[:, None]
    folds = draw(KFold(5, shuffle=True, random_state=0), X, Y)
    for weights in (None, rng.uniform(0.5, 2.0, 15)):
        problem = Problem(Y, weights, True, balance=labels)
        system = Candidate(Gaussian(), Rows(X), problem, Removals.of(folds.splits, 15), "refit", whole=False)
        expected = []
        for split in folds.splits:
            full = np.zeros(15)
            own = np.ones(15) if weights is None else weights
            for label in np.unique(labels[split.train]):  # every class weighs the same in total
                mine = split.train[labels[split.train] == label]
                full[mine] = own[mine] * own[split.train].sum() / (2 * own[mine].sum())
            expected.append(held_out(Gaussian()(X), Y, 0.2, split.train, split.test, full, True))
        np.testing.assert_allclose(system.at(0.2).values, np.vstack(expected), rtol=1e-10)


def test_nothing_that_was_given_is_changed(rng):
    X, Y, w = rng.normal(size=(12, 2)), rng.normal(size=(12, 1)), rng.uniform(0.5, 2.0, 12)
    before = [array.copy() for array in (X, Y, w)]
    for array in (X, Y, w):
        array.flags.writeable = False
    folds = draw(3, X, Y)
    for route, whole in ROUTES.values():
        system = Candidate(Linear(), Rows(X), Problem(Y, w, True), Removals.of(folds.splits, 12), route, whole=whole)
        first = system.at(0.1).values
        system.at(3.0)
        np.testing.assert_array_equal(system.at(0.1).values, first)
    for array, old in zip((X, Y, w), before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("cv", [None, 3, KFold(2)], ids=str)
@pytest.mark.parametrize("kernel", [Laplacian(2.0), Gaussian(0.7), Laplacian() * Polynomial(2)], ids=repr)
def test_a_factor_that_exists_by_rounding_alone_is_not_believed(kernel, cv):
    """With one row given twice the last pivot is rounding error, of either sign: sometimes Cholesky succeeds."""
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X = rng.permutation(rng.normal(size=(8, 3))[np.r_[0:8, rng.integers(8)]])
        Y, K = rng.normal(size=(9, 1)), kernel(X)
        folds = draw(cv, X, Y)
        removals = Removals.of(folds.splits, 9)
        found = Candidate(kernel, Rows(X), Problem(Y, None, False), removals, "inverse", whole=False).at(0.0)
        expected = np.vstack([held_out_shortest(K, Y, split.train, split.test) for split in folds.splits])
        np.testing.assert_allclose(found.values, expected, rtol=1e-7, atol=1e-7, err_msg=f"seed {seed}")


@pytest.mark.parametrize(("width", "alpha"), [(0.03, 0.1), (0.1, 1e14)], ids=["narrow", "large alpha"])
def test_held_out_decisions_far_smaller_than_their_targets_have_the_sign_and_rank_of_refits(width, alpha):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (200, 2))
    y, cv = (X[:, 0] > 5).astype(int), StratifiedKFold(5, shuffle=True, random_state=0)
    model = KernelRidgeClassifier(alpha, kernel=Gaussian(width))
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    K, labels, ranks = np.exp(-distances / (2 * width**2)), [], []
    for train, test in cv.split(X, y):
        values = held_out(K, np.where(y, 1.0, -1.0), alpha, train, test)[:, 0]
        labels.append(np.mean((values > 0) == y[test]))
        ranks.append(roc_auc_score(y[test], values))
    found = cross_validate(model, X, y, cv=cv)
    np.testing.assert_allclose(found.scores[0], labels, atol=1e-12)
    found = cross_validate(model, X, y, cv=cv, scoring="roc_auc")
    np.testing.assert_allclose(found.scores[0], ranks, atol=1e-12)


@pytest.mark.parametrize("route", ["inverse", "spectral", "primal"])
def test_predictions_far_smaller_than_the_targets_keep_their_own_digits(route, rng):
    """Left-out rows are nearly orthogonal to the others, or alpha is far beyond the kernel."""
    X, y = rng.permutation(12)[:, None] + rng.uniform(0.0, 0.2, size=(12, 1)), rng.normal(size=(12, 1))
    kernel, alpha = (Linear(), 1e13) if route == "primal" else (Gaussian(0.15), 0.1)
    folds, rows = draw(3, X, y), Rows(X)
    problem, removals = Problem(y, None, False), Removals.of(folds.splits, 12)
    values = Candidate(kernel, rows, problem, removals, route, whole=False).at(alpha).values
    expected = all_held_out(kernel(X), y, alpha, folds.splits)
    assert np.abs(expected).max() < 1e-4
    np.testing.assert_allclose(values, expected, rtol=1e-9)


@pytest.mark.parametrize("route", ["inverse", "spectral"])
def test_a_far_row_left_out_with_others_costs_no_digits(route, rng):
    X, y = 1e-5 * rng.uniform(1.0, 3.0, size=(12, 3)), rng.normal(size=(12, 1))
    X[0, 0] = 1e5
    problem, removals = Problem(y, None, True).subtract_mean(), Removals.of(draw(3, X, y).splits, 12)
    found, expected = (Candidate(Linear(), Rows(X), problem, removals, each).at(0.01) for each in (route, "refit"))
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("route", ["inverse", "spectral"])
def test_an_intercept_that_takes_up_most_of_the_targets_costs_no_digits(route, rng):
    """Of rows of weight zero above all, whose predictions are no differences from their targets."""
    X = rng.uniform(0.0, 3.0, size=(9, 1))
    y, weights = 2.0 * X + 1.0, np.where(np.arange(9) == 4, 0.0, 1.0)
    problem, removals = Problem(y, weights, True).subtract_mean(), Removals.singles(9)
    found, expected = (Candidate(Linear(), Rows(X), problem, removals, each).at(1e-6) for each in (route, "refit"))
    np.testing.assert_allclose(found.values, expected.values, rtol=0.0, atol=1e-14)
