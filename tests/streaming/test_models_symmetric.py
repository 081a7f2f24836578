"""Symmetric matrices in place: against NumPy's own products and solves."""

import numpy as np
import pytest

from mercer.kernels.tiles import blocks
from mercer.solvers.cholesky import add_gram, add_panel, mirror, whiten, whiten_both
from mercer.streaming.models import Shifted, Tridiagonal
from oracles import with_spectrum


@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_rank_k_updates_add_to_the_upper_triangle_alone(size, rng):
    A, C = rng.normal(size=(50, size)), np.zeros((size, size))
    add_gram(C, A[:20])
    add_gram(C, A[20:])
    add_gram(C, A[:0])
    assert np.allclose(np.triu(C), np.triu(A.T @ A))
    assert not np.tril(C, -1).any()
    mirror(C)
    assert np.allclose(C, A.T @ A)
    assert (C == C.T).all()


def test_rows_are_whitened_in_place_and_what_stands_behind_them_is_left_alone(rng):
    R = np.triu(rng.normal(size=(6, 6))) + 4 * np.eye(6)
    A = rng.normal(size=(30, 9))
    B = A.copy()
    whiten(B[:, :6], R)
    assert np.allclose(B[:, :6] @ R, A[:, :6])
    assert (B[:, 6:] == A[:, 6:]).all()
    whiten(B[:0, :6], R)


def test_whitened_sums_are_sums_of_whitened_rows(rng):
    R, A = np.triu(rng.normal(size=(8, 8))) + 4 * np.eye(8), rng.normal(size=(40, 8))
    C = A.T @ A
    whiten_both(C, R)
    mirror(C)
    B = A @ np.linalg.inv(R)
    assert np.allclose(C, B.T @ B)


@pytest.mark.parametrize("size", [1, 2, 3, 120])
def test_one_tridiagonal_form_solves_for_every_alpha(size, rng):
    C, B = with_spectrum(rng.uniform(0.1, 10.0, size=size), rng), rng.normal(size=(size, 3))
    kept = B.copy()
    reduced = Tridiagonal(C.copy())
    assert np.allclose(reduced.out(reduced.into(B)), B)
    for alpha in (1e-6, 1.0, 1e6):
        w = reduced.out(reduced.solve(reduced.into(B), alpha))
        assert np.allclose(C @ w + alpha * w, B)
    assert (kept == B).all()
    top = np.linalg.eigvalsh(C)[-1]
    assert top * (1 - 1e-12) <= reduced.largest < 3 * top
    assert reduced.rank() == size


def test_a_singular_matrix_gives_the_shortest_solution(rng):
    C = with_spectrum(np.r_[np.zeros(10), rng.uniform(1.0, 5.0, size=20)], rng)
    B = rng.normal(size=(30, 2))
    reduced = Tridiagonal(C.copy())
    w = reduced.out(reduced.solve(reduced.into(B), 0.0))
    assert np.allclose(w, np.linalg.pinv(C, rcond=1e-10) @ B)
    assert reduced.rank() == 20


def test_a_matrix_of_one_zero_is_solved_by_zero():
    reduced = Tridiagonal(np.zeros((1, 1)))
    assert reduced.solve(np.ones((1, 1)), 0.0).tolist() == [[0.0]]
    assert reduced.solve(np.ones((1, 1)), 2.0).tolist() == [[0.5]]


@pytest.mark.parametrize("rows", [0, 1, 50])
@pytest.mark.parametrize("size", [1, 7, 300])
def test_panels_add_up_to_the_whole(rows, size, rng):
    A, whole, panels = rng.normal(size=(rows, size)), np.zeros((size, size)), np.zeros((size, size))
    add_gram(whole, A)
    for columns in blocks(size, 3 if size < 100 else 128):
        add_panel(panels, A, columns)
    assert np.allclose(panels, whole)
    assert not np.tril(panels, -1).any()


@pytest.mark.parametrize("size", [1, 5, 120])
def test_one_alpha_by_cholesky_equals_the_tridiagonal_form(size, rng):
    A, B = rng.normal(size=(2 * size, size)), rng.normal(size=(size, 3))
    C, before = A.T @ A, B.copy()
    shifted, reduced = Shifted(C, 0.3), Tridiagonal(C.copy())
    assert shifted.definite
    np.testing.assert_allclose(shifted.solve(B, 0.3), reduced.out(reduced.solve(reduced.into(B), 0.3)), rtol=1e-9)
    assert shifted.largest == pytest.approx(np.linalg.eigvalsh(C)[-1], rel=0.5)
    assert (B == before).all()


def test_an_alpha_that_is_lost_in_rounding_is_not_solved_by_cholesky(rng):
    a = rng.normal(size=(4, 1))
    assert not Shifted(1e6 * a @ a.T, 1e-12).definite
    assert not Shifted(-np.eye(3), 0.5).definite
