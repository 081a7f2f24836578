"""LAPACK through ctypes: the same numbers as SciPy's, on whole matrices and on blocks of larger ones."""

import numpy as np
import pytest

from mercer.runtime import run, threads
from mercer.solvers.cholesky import add_outer, potrf, potri, potrs

SIZES = [1, 2, 7, 64, 130]


def positive(n, rng):
    A = rng.normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


@pytest.mark.parametrize("n", SIZES)
def test_potrf_leaves_the_upper_factor_and_the_lower_triangle(n, rng):
    A = positive(n, rng)
    U = A.copy()
    assert potrf(U)
    np.testing.assert_allclose(np.triu(U), np.linalg.cholesky(A).T, rtol=1e-10)
    np.testing.assert_array_equal(np.tril(U, -1), np.tril(A, -1))


@pytest.mark.parametrize("n", SIZES)
def test_potri_gives_the_upper_triangle_of_the_inverse(n, rng):
    A = positive(n, rng)
    U = A.copy()
    potrf(U)
    potri(U)
    np.testing.assert_allclose(np.triu(U), np.triu(np.linalg.inv(A)), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("count", [1, 3])
def test_potrs_solves_for_every_row(n, count, rng):
    A, B = positive(n, rng), rng.normal(size=(count, n))
    U, X = A.copy(), B.copy()
    potrf(U)
    potrs(U, X)
    np.testing.assert_allclose(X, np.linalg.solve(A, B.T).T, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
def test_add_outer_changes_the_upper_triangle_alone(n, rng):
    A, v = positive(n, rng), rng.normal(size=2 * n)[::2]
    B = A.copy()
    add_outer(B, -0.5, v)
    np.testing.assert_allclose(np.triu(B), np.triu(A - 0.5 * np.outer(v, v)), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.tril(B, -1), np.tril(A, -1))


@pytest.mark.parametrize("n", [1, 5, 40])
def test_blocks_of_a_larger_matrix_need_no_copy(n, rng):
    A = positive(n, rng)
    large = np.full((n + 7, n + 9), 3.0)
    block = large[2 : n + 2, 5 : n + 5]
    block[:] = A
    assert potrf(block)
    x = np.full((2, n + 3), 5.0)
    x[:, :n] = rng.normal(size=(2, n))
    right = x[:, :n].copy()
    potrs(block, x[:, :n])
    np.testing.assert_allclose(x[:, :n], np.linalg.solve(A, right.T).T, rtol=1e-9)
    add_outer(block, 0.0, np.ones(n))
    potri(block)
    np.testing.assert_allclose(np.triu(block), np.triu(np.linalg.inv(A)), rtol=1e-9, atol=1e-12)
    outside = np.ones(large.shape, dtype=bool)
    outside[2 : n + 2, 5 : n + 5] = False
    assert (large[outside] == 3.0).all()
    assert (x[:, n:] == 5.0).all()


@pytest.mark.parametrize("bad", [np.diag([1.0, -1.0]), np.zeros((2, 2)), -np.eye(70)], ids=len)
def test_what_is_not_positive_definite_is_said(bad):
    assert not potrf(bad.copy())


def test_an_empty_matrix_is_no_trouble():
    empty = np.empty((0, 0))
    assert potrf(empty)
    potri(empty)


def test_threads_do_not_disturb_each_other(rng):
    matrices = [positive(60, rng) for _ in range(8)]
    factors = [A.copy() for A in matrices]
    with threads(4):
        run(lambda i: potrf(factors[i]), range(8))
    for A, U in zip(matrices, factors, strict=True):
        np.testing.assert_allclose(np.triu(U), np.linalg.cholesky(A).T, rtol=1e-10)
