"""Conjugate gradients give what a factor gives, say how far they came, and complain when that is not far enough."""

import numpy as np
import pytest

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.data.rows import Rows
from mercer.errors import ConvergenceWarning, InputError
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Words
from mercer.solvers import choose, conjugate, streamed
from mercer.solvers.plan import Choice, pivots
from mercer.solvers.streamed import StreamedSystem


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(3.0), Matern(1.0, nu=2.5) + 0.1 * Linear()], ids=repr)
def test_gradients_and_factors_agree(kernel, weighted, intercept, rng):
    X, Y = rng.normal(size=(300, 3)), rng.normal(size=(300, 2))
    weights = rng.uniform(0.3, 3.0, size=300) if weighted else None
    exact = KernelRidge(0.05, kernel=kernel, fit_intercept=intercept, solver="cholesky").fit(X, Y, weights)
    found = KernelRidge(0.05, kernel=kernel, fit_intercept=intercept, solver="cg").fit(X, Y, weights)
    np.testing.assert_allclose(found.predict(X), exact.predict(X), atol=1e-6)
    np.testing.assert_allclose(found.intercept_, exact.intercept_, atol=1e-6)
    assert found.route_.name == "cg"
    assert found.route_.residual <= 1.001e-8
    assert found.route_.digits <= -np.log10(found.route_.residual) + 1e-9


def test_without_room_for_the_matrix_tiles_are_made_anew(rng, monkeypatch):
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    stored = KernelRidge(0.1, kernel=Gaussian(1.0), solver="cg").fit(X, y)
    monkeypatch.setattr(streamed, "available_bytes", lambda: 1000)
    streaming = KernelRidge(0.1, kernel=Gaussian(1.0), solver="cg").fit(X, y)
    np.testing.assert_allclose(streaming.predict(X), stored.predict(X), atol=1e-6)


def test_an_iteration_that_stops_short_says_so(rng, monkeypatch):
    X, y = rng.normal(size=(150, 2)), rng.normal(size=150)
    monkeypatch.setattr(conjugate, "_STEPS", 2)
    monkeypatch.setattr(conjugate, "_ROUNDS", 1)
    monkeypatch.setattr(streamed, "pivots", lambda n: 3)
    with pytest.warns(ConvergenceWarning, match=r"stopped at a relative residual of .* \(wanted 1e-08\)"):
        KernelRidge(1e-6, kernel=Gaussian(0.3), solver="cg").fit(X, y)


def test_zero_right_hand_sides_have_zero_solutions(rng):
    rows = Rows(rng.normal(size=(40, 2)))
    system = StreamedSystem(Gaussian(1.0), rows, None, intercept=True, choice=Choice("cg", "a test", 0))
    assert not system.solve(np.zeros((40, 1)), 0.1).dual.any()


def test_targets_of_any_size_are_solved_for(rng):
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    for size in (1e-150, 1e150):
        found = KernelRidge(0.1, kernel=Gaussian(1.0), solver="cg").fit(X, size * y).predict(X)
        np.testing.assert_allclose(found / size, KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y).predict(X), atol=1e-6)


def test_texts_and_labels_go_the_same_way():
    texts, labels = ["good day", "good night", "bad day", "bad night"] * 5, ["+", "+", "-", "-"] * 5
    model = KernelRidgeClassifier(0.1, kernel=Words(), solver="cg").fit(texts, labels)
    assert model.predict(["good", "bad"]).tolist() == ["+", "-"]


def test_what_needs_a_factor_is_refused_in_a_sentence(rng):
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    model = KernelRidge(0.1, kernel=Gaussian(1.0), solver="cg").fit(X, y)
    with pytest.raises(InputError, match=r"need a factor of all 50 rows.*Fit with solver='cholesky'"):
        model.predict(X, return_std=True)
    with pytest.raises(InputError, match="needs alpha above 0"):
        KernelRidge(0.0, kernel=Gaussian(1.0), solver="cg").fit(X, y)
    with pytest.raises(InputError, match="a matrix that is there already is factored faster"):
        KernelRidge(0.1, kernel="precomputed", solver="cg").fit(X @ X.T, y)


def test_auto_iterates_where_that_is_faster_or_all_that_fits():
    plenty = 10**13
    assert choose("auto", 9_999, None, memory=plenty, iterable=True).name == "mixed"
    assert choose("auto", 10_000, None, memory=plenty, iterable=True).name == "cg"
    assert choose("auto", 10_000, None, memory=plenty).name == "mixed"
    small = choose("auto", 5_000, None, memory=10**8, iterable=True)
    assert small.name == "cg"
    assert small.bytes <= 10**8
    assert choose("auto", 50_000, 8, memory=plenty, iterable=True).name == "primal"
    assert pivots(10) == 10
    assert pivots(10_000) == 700
