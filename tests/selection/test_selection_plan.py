"""The plan: pure, repeatable, honest about memory, and every route is right somewhere."""

import numpy as np
import pytest

from mercer import KernelRidgeCV
from mercer.data.folds import draw
from mercer.errors import MemoryRefusal
from mercer.kernels import Gaussian, Polynomial
from mercer.runtime import readable
from mercer.selection.plan import Rates, SearchWork, measure, plan
from mercer.selection.removals import Removals

PLENTY = 10**12


def work_of(n=1000, cv=10, kernels=1, alphas=1, features=None, threads=2, refit_only=False, targets=1):
    if cv is None:
        sizes = np.ones(n)
    elif isinstance(cv, int):
        sizes = np.full(cv, n / cv)
    else:
        sizes = np.asarray(cv, dtype=float)
    tests = np.minimum(sizes, n / 10)
    return SearchWork(n, features, kernels, alphas, targets, sizes, tests, threads, refit_only)


@pytest.mark.parametrize(
    ("route", "work"),
    [
        ("inverse", work_of(cv=10, alphas=2)),
        ("spectral", work_of(cv=None, alphas=50)),
        ("spectral", work_of(cv=10, alphas=50)),
        ("refit", work_of(cv=[900])),
        ("refit", work_of(refit_only=True)),
        ("primal", work_of(features=10)),
        ("primal", work_of(cv=None, features=30, alphas=20)),
    ],
)
def test_each_route_is_the_cheapest_somewhere(route, work):
    assert plan(work, PLENTY).chosen.name == route


def test_the_same_work_gives_the_same_plan():
    one, other = (plan(work_of(alphas=7, kernels=3), PLENTY) for _ in range(2))
    assert one.routes == other.routes
    assert one.chosen == other.chosen
    assert str(one) == str(other)


def test_explicit_features_are_no_route_where_there_are_as_many_as_rows():
    names = {route.name for route in plan(work_of(n=100, features=100), PLENTY).routes}
    assert names == {"refit", "inverse", "spectral"}
    assert {route.name for route in plan(work_of(n=100, features=99), PLENTY).routes} == names | {"primal"}


def test_the_cheapest_route_that_fits_is_taken():
    free = plan(work_of(cv=10, alphas=50), PLENTY)
    routes = {route.name: route for route in free.routes}
    assert free.chosen.name == "spectral"
    tight = plan(work_of(cv=10, alphas=50), int(routes["spectral"].bytes) - 1)
    assert tight.chosen.name == "inverse"
    assert f"does not fit in {readable(tight.memory)}" in str(tight)


def test_what_fits_by_no_route_is_refused_with_its_bytes():
    work = work_of(n=10_000)
    least = min(plan(work, PLENTY).routes, key=lambda route: route.bytes)
    with pytest.raises(MemoryRefusal) as refused:
        plan(work, 10**8)
    message = str(refused.value)
    assert f"needs at least {readable(least.bytes)} of memory; 100.0 MB is available. Use at most about " in message


@pytest.mark.slow
@pytest.mark.parametrize("refit_only", [False, True])
@pytest.mark.parametrize(("kernels", "alphas"), [(1, 1), (1, 20), (10, 1), (10, 13)])
def test_as_many_rows_as_the_refusal_says_do_fit(kernels, alphas, refit_only):
    memory = 50_000_000
    for cv in (None, 3, 10):
        for threads in (1, 2, 8):
            how = {"cv": cv, "kernels": kernels, "alphas": alphas, "threads": threads, "refit_only": refit_only}
            with pytest.raises(MemoryRefusal) as refused:
                plan(work_of(n=20_000, **how), memory)
            rows = int(str(refused.value).split("at most about ")[1].split(" rows")[0])
            assert rows > 300
            assert plan(work_of(n=rows, **how), memory).chosen.bytes <= memory


def test_the_limit_on_memory_is_respected_by_a_search(monkeypatch, rng):
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    search = KernelRidgeCV([Gaussian()], [1.0, 2.0], cv=5)
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "100000")
    for call in (search.explain, search.fit):
        with pytest.raises(MemoryRefusal, match=r"^Model selection on 200 rows needs .* 100.0 kB is available\."):
            call(X, y)


def test_memory_and_time_grow_with_the_work():
    for name in ("inverse", "spectral", "refit"):
        small, large = (
            next(r for r in plan(work_of(n=n, alphas=3), PLENTY).routes if r.name == name) for n in (10_000, 20_000)
        )
        assert 6 < large.flops / small.flops <= 8.1
        assert 3.9 < large.bytes / small.bytes <= 4.1
        assert large.seconds > 3 * small.seconds


def test_rates_are_an_argument():
    slow = Rates(spectrum=1e3)
    assert plan(work_of(cv=10, alphas=50), PLENTY, slow).chosen.name != "spectral"
    assert plan(work_of(cv=10, alphas=50), PLENTY, Rates()).chosen.name == "spectral"


def test_measured_rates_are_positive_and_plausible():
    rates = measure(200)
    for name in ("product", "cholesky", "inverse", "small", "spectrum", "values"):
        assert 1e5 < getattr(rates, name) < 1e14, name
    assert rates.call == Rates().call


def test_work_is_read_from_removals(rng):
    folds = draw(4, np.zeros((10, 1)), np.zeros(10))
    work = SearchWork.of(Removals.of(folds.splits, 10), n=10, features=None, kernels=2, alphas=3, targets=1, threads=1)
    assert work.sizes.tolist() == [3.0, 3.0, 2.0, 2.0]
    assert work.tests.tolist() == [3.0, 3.0, 2.0, 2.0]
    assert not work.single
    assert not work.whole


def test_all_of_p_is_formed_where_sets_cover_it_more_than_once():
    assert work_of(n=100, cv=[20] * 45).whole
    assert not work_of(n=100, cv=10).whole
    assert work_of(n=100, cv=2).whole is (2 * 50**2 > 0.5 * 100**2)
    assert not work_of(cv=None).whole


def test_kernels_are_held_a_few_at_a_time():
    for route, kernels, alphas, n, held in (
        ("inverse", 20, 1, 1000, 8),
        ("inverse", 20, 3, 1000, 3),
        ("inverse", 20, 50, 1000, 1),
        ("inverse", 2, 1, 1000, 2),
        ("inverse", 20, 1, 5000, 1),
        ("spectral", 20, 50, 1000, 2),
        ("spectral", 1, 50, 1000, 1),
        ("spectral", 20, 50, 3000, 1),
    ):
        assert work_of(n=n, kernels=kernels, alphas=alphas, threads=2).batch(route) == held


def test_a_plan_prints_like_an_explain():
    text = str(plan(work_of(n=1000, kernels=5, alphas=4), PLENTY, label="10-fold, unshuffled"))
    first, head, _, *rows = text.splitlines()
    assert first == "5 kernels x 4 alphas on 1000 rows; 10 sets of 100 rows held out (10-fold, unshuffled)"
    assert head.split() == ["method", "flops", "time", "memory", "how"]
    assert len(rows) == 3
    assert rows[0].startswith("->")
    assert sum(row.startswith("->") for row in rows) == 1
    uneven = plan(work_of(n=10, cv=[3, 4]), PLENTY)
    assert "2 sets of 3 to 4 rows held out\n" in str(uneven)


def test_the_predicted_peak_is_the_real_one(rng):
    """Within 15 %, on one thread; LAPACK's own workspace (spectral route) is not seen from here."""
    import tracemalloc

    from mercer import threads

    X, y = rng.normal(size=(1000, 20)), rng.normal(size=1000)
    with threads(1):
        for search in (
            KernelRidgeCV([Gaussian(2.0)], [0.1, 1.0], cv=10),
            KernelRidgeCV([Polynomial(2)], [0.1, 1.0], cv=10),
        ):
            predicted = search.explain(X, y)
            system, kernels, alphas = search.prepare(X, y)
            system.candidate(kernels[0], predicted)  # rows in the order of their folds, once
            tracemalloc.start()
            system.run(kernels, alphas, predicted)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            traced = predicted.chosen.bytes - 1e7  # what BLAS keeps for itself is not seen here
            assert 0.85 * traced < peak < 1.15 * traced, predicted.chosen
