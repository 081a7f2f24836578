"""Conjugate gradients give what a factor gives, say how far they came, and complain when that is not far enough."""

import tracemalloc
import warnings

import numpy as np
import pytest

from mercer import KernelRidge, KernelRidgeClassifier, threads
from mercer.data.rows import Rows
from mercer.errors import ConvergenceWarning, InputError, MemoryRefusal
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Words
from mercer.solvers import choose, conjugate, plan
from mercer.solvers.conjugate import TOLERANCE, LowRank, StreamedSystem
from mercer.solvers.plan import SolverChoice, cg_bytes, pivots, room_for_tiles
from oracles import kernel_ridge


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_kept_tiles_and_new_ones_agree_to_the_promised_residual(alpha, rng, monkeypatch):
    X, y = rng.normal(size=(1100, 3)), rng.normal(size=1100)
    fits = {}
    for share, room in {"kept": 10**9, "half": 2_000_000, "anew": 0}.items():
        monkeypatch.setattr(conjugate, "room_for_tiles", lambda n, memory, room=room: room)
        fits[share] = KernelRidge(alpha, kernel=Gaussian(1.0), solver="cg").fit(X, y)
    K = Gaussian(1.0)(X)
    for model in fits.values():
        assert residual_of(model, K, y, alpha) <= TOLERANCE
        np.testing.assert_allclose(model.predict(X), fits["kept"].predict(X), atol=1e-7)


def residual_of(model, K, y, alpha, weights=1.0):
    left = K @ model.dual_coef_ + alpha / weights * model.dual_coef_ + model.intercept_ - y
    return np.linalg.norm(left) / np.linalg.norm(y)


def test_the_residual_that_is_told_is_the_true_one(rng):
    X, y = rng.normal(size=(700, 3)), rng.normal(size=700)
    model = KernelRidge(1e-2, kernel=Gaussian(1.0), solver="cg").fit(X, y)
    true = residual_of(model, Gaussian(1.0)(X), y, 1e-2)
    assert model.route_.residual == pytest.approx(true, rel=0.05)
    assert f"residual {model.route_.residual:.0e}" in str(model.route_)


def test_single_precision_gives_way_to_double_where_it_gets_nowhere(rng, monkeypatch):
    """With alpha far below the rounding of single precision a kept matrix may not even be positive definite."""
    X, y = rng.uniform(size=(400, 1)), rng.normal(size=400)
    monkeypatch.setattr(conjugate, "pivots", lambda n: 4)
    system = StreamedSystem(Gaussian(0.3), Rows(X), None, intercept=False, choice=SolverChoice("cg", "a test", 0))
    G = system.inverse(1e-6, 1)
    found = G.solve(y[:, None])
    left = Gaussian(0.3)(X) @ found + 1e-6 * found - y[:, None]
    assert G.double > 10
    assert np.linalg.norm(left) / np.linalg.norm(y) <= 1.1 * G.residual
    assert G.residual <= 1e-7


@pytest.mark.slow
def test_ill_conditioned_systems_are_solved_or_complained_of(rng):
    X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    for alpha in (1e-5, 1e-11):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = KernelRidge(alpha, kernel=Gaussian(0.5), solver="cg").fit(X, y)
        told = any(issubclass(each.category, ConvergenceWarning) for each in caught)
        assert told == (model.route_.residual > 1.001 * TOLERANCE)
        assert residual_of(model, Gaussian(0.5)(X), y, alpha) <= 2 * max(model.route_.residual, TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
def test_many_targets_take_no_more_products_than_the_slowest(intercept, rng):
    X, Y = rng.normal(size=(500, 3)), rng.normal(size=(500, 5))
    weights = rng.uniform(0.2, 4.0, size=500)
    together = KernelRidge(0.01, kernel=Gaussian(1.0), fit_intercept=intercept, solver="cg").fit(X, Y, weights)
    for j in range(5):
        alone = KernelRidge(0.01, kernel=Gaussian(1.0), fit_intercept=intercept, solver="cg").fit(X, Y[:, j], weights)
        np.testing.assert_allclose(together.predict(X)[:, j], alone.predict(X), atol=1e-6)


def test_one_thread_and_two_give_the_same_answer(rng):
    X, y = rng.normal(size=(1400, 3)), rng.normal(size=1400)
    found = []
    for count in (1, 2):
        with threads(count):
            found.append(KernelRidge(0.05, kernel=Gaussian(1.0), solver="cg").fit(X, y).predict(X))
    np.testing.assert_allclose(found[0], found[1], atol=1e-8)


def test_an_iteration_that_stops_short_says_so(rng, monkeypatch):
    X, y = rng.normal(size=(150, 2)), rng.normal(size=150)
    monkeypatch.setattr(conjugate, "_STEPS", 2)
    monkeypatch.setattr(conjugate, "_ROUNDS", 1)
    monkeypatch.setattr(conjugate, "pivots", lambda n: 3)
    told = (
        r"did not converge: relative residual .* \(tolerance 1e-08\) after 3 matrix products\. Use a larger alpha, or "
        "solver='cholesky'"
    )
    with pytest.warns(ConvergenceWarning, match=told):
        model = KernelRidge(1e-6, kernel=Gaussian(0.3), solver="cg").fit(X, y)
    assert "of 1e-08 wanted; a larger alpha or solver='cholesky' gives more digits" in str(model.route_)
    assert model.route_.digits < 2


def test_products_are_made_up_to_the_number_allowed(rng):
    rows = Rows(rng.normal(size=(300, 2)))
    system = StreamedSystem(Gaussian(0.1), rows, None, intercept=False, choice=SolverChoice("cg", "a test", 0))
    G = system.inverse(1e-7, 1, most=7)
    G.solve(rng.normal(size=(300, 1)))
    assert not G.has_converged
    assert (G.single, G.double) == (7, 1)


def test_more_targets_than_there_is_memory_for_are_refused(rng, monkeypatch):
    rows = Rows(rng.normal(size=(100, 2)))
    system = StreamedSystem(Gaussian(1.0), rows, None, intercept=False, choice=SolverChoice("cg", "a test", 0))
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000000")
    with pytest.raises(
        MemoryRefusal, match=r"The conjugate gradient method on 100 rows and 5000 targets needs 88\.0 MB"
    ):
        system.solve(np.ones((100, 5000)), 0.1)


def test_rows_too_large_for_the_kernel_are_refused():
    with pytest.raises(InputError, match=r"must be finite; got inf in row 1\. Scale the columns of X\."):
        KernelRidge(1.0, kernel=Polynomial(40), solver="cg").fit(np.array([[1.0], [1e10], [2.0]]), np.ones(3))


def test_the_inverse_of_low_rank_is_that_of_the_dense_one(rng):
    for r in (0, 4):
        F = rng.normal(size=(30, r))
        dense = np.linalg.inv(F @ F.T + 0.3 * np.eye(30))
        nearby = LowRank(F, F.T @ F, 0.3)
        np.testing.assert_allclose(nearby(np.eye(30)), dense, atol=1e-12)


def test_zero_right_hand_sides_have_zero_solutions(rng):
    rows = Rows(rng.normal(size=(40, 2)))
    system = StreamedSystem(Gaussian(1.0), rows, None, intercept=True, choice=SolverChoice("cg", "a test", 0))
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
    with pytest.raises(InputError, match=r"need a factorization of the 50 x 50 kernel matrix.*Use solver='cholesky'"):
        model.predict(X, return_std=True)
    with pytest.raises(InputError, match="needs alpha above 0; got 0"):
        KernelRidge(0.0, kernel=Gaussian(1.0), solver="cg").fit(X, y)
    with pytest.raises(InputError, match="solver='cg' does not support precomputed kernels"):
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


def test_tiles_are_kept_in_no_more_than_half_of_the_memory():
    for memory in (10**8, 10**10, 10**12):
        for n in (1000, 50_000):
            assert room_for_tiles(n, memory) <= memory / 2
            if cg_bytes(n, 0) <= memory:
                assert cg_bytes(n, 0) + room_for_tiles(n, memory) <= memory
    assert choose("cg", 50_000, None, memory=18 * 10**8, iterable=True).bytes <= 18 * 10**8


@pytest.mark.slow
@pytest.mark.parametrize("width", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("tiles", ["none", "all"])
def test_no_more_memory_is_taken_than_was_promised(width, tiles, rng, monkeypatch):
    """Smooth kernels run out of pivots early; what there was of them is then copied once."""
    X, y = rng.normal(size=(2000, 3)), rng.normal(size=2000)
    limit = cg_bytes(2000, 0 if tiles == "none" else 10**12)
    model = KernelRidge(1.0, kernel=Gaussian(width), solver="cg")
    with threads(1):
        model.fit(X[:20], y[:20])  # imports
        monkeypatch.setenv("MERCER_MEMORY_LIMIT", str(limit))
        tracemalloc.start()
        try:
            model.fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak <= limit + 6e6


@pytest.mark.parametrize("weighted", [False, True])
def test_a_factor_takes_over_where_auto_iterates_in_vain(weighted, rng, monkeypatch):
    X, Y = rng.normal(size=(250, 2)), rng.normal(size=(250, 2))
    weights = rng.uniform(0.5, 2.0, size=250) if weighted else None
    monkeypatch.setattr(plan, "WORTH_ITERATING", 100)
    monkeypatch.setattr(conjugate, "worth_products", lambda n: 60)
    monkeypatch.setattr(conjugate, "pivots", lambda n: 5)
    alphas = [1e-5, 1e-4]
    model = KernelRidge(alphas, kernel=Gaussian(0.5), fit_intercept=True).fit(X, Y, weights)
    exact = KernelRidge(alphas, kernel=Gaussian(0.5), fit_intercept=True, solver="cholesky").fit(X, Y, weights)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-8)
    assert model.route_.name == "cholesky"
    assert "conjugate gradients were too slow: " in model.route_.reason
    assert KernelRidge(100.0, kernel=Gaussian(0.5)).fit(X, Y).route_.name == "cg"


def test_without_room_for_a_factor_the_answer_is_given_with_a_warning(rng, monkeypatch):
    rows = Rows(rng.normal(size=(300, 2)))
    monkeypatch.setattr(conjugate, "worth_products", lambda n: 20)
    choice = SolverChoice("cg", "a test", 0, replaceable=True)
    system = StreamedSystem(Gaussian(0.1), rows, None, intercept=False, choice=choice)
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "500000")
    with pytest.warns(ConvergenceWarning):
        assert system.solve(rng.normal(size=(300, 1)), 1e-7).route.name == "cg"


def test_only_auto_gives_way_to_a_factor_and_only_one_that_fits():
    assert choose("auto", 20_000, None, memory=10**11, iterable=True).replaceable
    assert not choose("cg", 20_000, None, memory=10**11, iterable=True).replaceable
    assert not choose("auto", 20_000, None, memory=10**9, iterable=True).replaceable


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_targets_far_from_zero_are_fitted_as_well_as_others(offset, intercept, rng):
    X = rng.normal(size=(300, 3))
    y, K = np.sin(X[:, 0]), Laplacian(1.0)(X)
    exact, constant = kernel_ridge(K, y if intercept else y + offset, 0.1, intercept=intercept)
    model = KernelRidge(0.1, kernel=Laplacian(1.0), fit_intercept=intercept, solver="cg").fit(X, y + offset)
    shift = offset if intercept else 0.0
    allowed = 1e-6 if intercept else 1e-11 * offset  # without an intercept the offset itself is fitted
    np.testing.assert_allclose(model.predict(X) - shift, (K @ exact + constant)[:, 0], rtol=0, atol=allowed)


def test_coefficients_beside_an_intercept_add_up_to_zero_however_large_the_residual(rng):
    X = rng.uniform(0.0, 3.0, size=(40, 2))
    y = np.sin(X[:, 0])
    found, exact = (
        KernelRidge(1e-6, kernel=Laplacian(12.0), fit_intercept=True, solver=solver).fit(X, y)
        for solver in ("cg", "cholesky")
    )
    assert abs(found.dual_coef_.sum()) <= 1e-14 * np.abs(found.dual_coef_).sum()
    np.testing.assert_allclose(found.intercept_, exact.intercept_, rtol=1e-9)
