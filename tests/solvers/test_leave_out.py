"""P of one kernel and alpha, in each of its forms, against the matrix written out."""

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut

from mercer import KernelRidge, cross_validate
from mercer.kernels import Gaussian, Linear
from mercer.solvers.cholesky import mirror
from mercer.solvers.leave_out import Gram, Inverted, LeaveOut, SingularError, Spectral
from mercer.solvers.primal import Explicit, PrimalSystem
from mercer.solvers.problem import Problem

ALPHA = 0.3


def projector(K, alpha, intercept, weights=None):
    """P of MATH section 1, in weighted coordinates."""
    v = np.ones(len(K)) if weights is None else np.sqrt(weights)
    G = np.linalg.inv(v[:, None] * K * v + alpha * np.eye(len(K)))
    return G - np.outer(G @ v, v @ G) / (v @ G @ v) if intercept else G


def forms(X, Y, intercept, weights=None):
    """Every form of the same P; the explicit one is alpha P."""
    K, problem = Linear()(X), Problem(Y, weights, intercept)
    K = problem.root[:, None] * K * problem.root
    d, U = np.linalg.eigh(K)
    return {
        "inverted": (Inverted.of_matrix(Gram(problem, K), ALPHA, mirrored=True, largest=d[-1]), 1.0),
        "inverted, one triangle": (Inverted.of_matrix(Gram(problem, K), ALPHA, largest=d[-1]), 1.0),
        "spectral": (Spectral(d, U, U * U, Gram(problem, K), ALPHA, whole=False), 1.0),
        "spectral, whole": (Spectral(d, U, U * U, Gram(problem, K), ALPHA, whole=True), 1.0),
        "explicit": (Explicit(PrimalSystem(X, weights, intercept=intercept).at(ALPHA), problem), ALPHA),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_every_form_is_the_same_matrix(intercept, weighted, rng):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    weights = rng.uniform(0.5, 3.0, 20) if weighted else None
    P = projector(Linear()(X), ALPHA, intercept, weights)
    root = np.ones(20) if weights is None else np.sqrt(weights)
    sets = [np.array([4]), np.array([1, 2, 7]), np.array([0, 3, 6, 9, 12, 15, 18]), np.arange(5, 11), np.arange(0)]
    table = np.array([[0, 5, 9], [19, 18, 2]])
    for name, (left, factor) in forms(X, Y, intercept, weights).items():
        np.testing.assert_allclose(left.a, factor * P @ (root[:, None] * Y), rtol=1e-9, atol=1e-11, err_msg=name)
        np.testing.assert_allclose(left.diagonal(), factor * np.diag(P), rtol=1e-9, err_msg=name)
        for rows in sets[:-1]:
            upper = np.triu(left.block(rows))
            np.testing.assert_allclose(upper, np.triu(factor * P[np.ix_(rows, rows)]), rtol=1e-9, atol=1e-12)
        whole = np.stack([factor * P[np.ix_(rows, rows)] for rows in table])
        np.testing.assert_allclose(left.blocks(table), whole, rtol=1e-9, atol=1e-12, err_msg=name)
        for rows, found in zip(sets, left.residuals(sets), strict=True):
            expected = np.linalg.solve(P[np.ix_(rows, rows)], (P @ (root[:, None] * Y))[rows])
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10, err_msg=name)
            if len(rows):
                predicted = (root[:, None] * Y)[rows] - expected
                np.testing.assert_allclose(
                    left.predictions(rows, found), predicted, rtol=1e-8, atol=1e-10, err_msg=name
                )
        base, rows = np.array([1, 2, 7]), np.array([0, 5, 19])
        for left_out in (None, base):
            pairs = [np.array([row]) if left_out is None else np.append(left_out, row) for row in rows]
            E = np.array([np.linalg.solve(P[np.ix_(S, S)], (P @ (root[:, None] * Y))[S])[-1] for S in pairs])
            predicted = (root[:, None] * Y)[rows] - E
            found = left.single_predictions(rows, E, left_out)
            np.testing.assert_allclose(found, predicted, rtol=1e-8, atol=1e-10, err_msg=name)


def test_sets_of_one_size_are_solved_together_as_they_are_one_by_one(rng):
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    many = [np.sort(rng.permutation(30)[:size]) for size in (1, 1, 1, 4, 4, 4, 4, 9)]
    for name, (left, _) in forms(X, Y, True).items():
        together = left.residuals(many)
        for rows, found in zip(many, together, strict=True):
            np.testing.assert_allclose(found, left.residuals([rows])[0], rtol=1e-9, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("whole", [True, False])
def test_the_condition_is_that_of_the_system(whole, rng):
    X, Y = rng.normal(size=(25, 2)), rng.normal(size=(25, 1))
    K = Gaussian(2.0)(X)
    real = np.linalg.cond(K + 0.01 * np.eye(25))
    d, U = np.linalg.eigh(K)
    problem = Problem(Y, None, False)
    np.testing.assert_allclose(Spectral(d, U, U * U, Gram(problem, K), 0.01, whole=whole).condition, real, rtol=1e-6)
    assert real / 4 < Inverted.of_matrix(Gram(problem, K), 0.01, largest=d[-1]).condition <= real * (1 + 1e-6)


def test_a_matrix_that_is_not_positive_definite_is_signalled(rng):
    Y = rng.normal(size=(4, 1))
    problem = Problem(Y, None, False)
    with pytest.raises(SingularError):
        Inverted.of_matrix(Gram(problem, np.diag([1.0, 1, 1, -1])), 0.5, largest=1.0)
    with pytest.raises(SingularError):
        Explicit(PrimalSystem(np.eye(4), None).at(0.0), problem)


def test_the_matrix_given_to_inverted_is_left_as_it_is(rng):
    K = Gaussian()(rng.normal(size=(9, 1)))
    before = K.copy()
    Inverted.of_matrix(Gram(Problem(rng.normal(size=(9, 1)), None, True), K), 1.0, mirrored=True, largest=3.0)
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("n", [1, 5, 256, 300, 513])
def test_mirror_copies_the_upper_triangle(n, rng):
    A = rng.normal(size=(n, n))
    expected = np.triu(A) + np.triu(A, 1).T
    mirror(A)
    np.testing.assert_array_equal(A, expected)


def test_blocks_that_are_rounding_error_are_not_divided_by(rng):
    """Row 0 alone carries its direction: leaving it out changes the rank, so the limit form says nothing."""
    K = np.diag([1.0, 1, 0, 0])
    d, U = np.linalg.eigh(K)
    left = Spectral(d, U, U * U, Gram(Problem(rng.normal(size=(4, 1)), None, False), K), 0.0, whole=False)
    assert left.degenerate
    found = left.residuals([np.array([0]), np.array([2]), np.array([0, 2]), np.array([2, 3])])
    assert found[0] is None
    assert found[2] is None
    assert found[1] is not None
    assert found[3] is not None


def test_the_base_class_promises_what_its_children_keep():
    left = LeaveOut()
    for call in (
        left.diagonal,
        lambda: left.block(np.arange(2)),
        lambda: left.blocks(np.zeros((1, 2), int)),
        lambda: left.cross(np.arange(2), np.arange(2)),
        lambda: left.predictions(np.arange(2), np.zeros((2, 1))),
        lambda: left.single_predictions(np.arange(2), np.zeros((2, 1))),
    ):
        with pytest.raises(NotImplementedError):
            call()


@pytest.mark.parametrize("alpha", [1e150, 1e162, 1e200, 1e300])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)], ids=repr)
def test_with_an_intercept_and_an_endless_alpha_the_mean_of_the_other_rows_is_left(kernel, alpha, rng):
    X, y = rng.normal(size=(12, 2)), 10.0 + rng.normal(size=12)
    means = (y.sum() - y) / 11
    found = cross_validate(KernelRidge(alpha, kernel=kernel, fit_intercept=True), X, y, cv=LeaveOneOut())
    np.testing.assert_allclose(found.predictions[0], means, rtol=1e-13)
    thirds = cross_validate(KernelRidge(alpha, kernel=kernel, fit_intercept=True), X, y, cv=3)
    of_thirds = np.repeat((y.sum() - y.reshape(3, 4).sum(axis=1)) / 8, 4)
    np.testing.assert_allclose(thirds.predictions[0], of_thirds, rtol=1e-13)
    model = KernelRidge(alpha, kernel=kernel, fit_intercept=True).fit(X, y)
    lower, upper = model.predict_interval(X[:3], confidence=0.8)
    gaps = np.abs(y - means)
    np.testing.assert_allclose(lower, np.sort(means - gaps)[1], rtol=1e-13)  # floor(0.2 * 13) = 2 are cut off
    np.testing.assert_allclose(upper, np.sort(means + gaps)[-2], rtol=1e-13)
