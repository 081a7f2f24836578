"""A search visits every candidate once, on any number of threads, kernel by kernel where that is asked for."""

import numpy as np
import pytest

from mercer import threads
from mercer.data.folds import draw
from mercer.data.rows import Rows
from mercer.kernels import Gaussian
from mercer.selection.candidates import Candidates
from mercer.selection.plan import SearchWork, plan
from mercer.selection.problem import Problem, Removals


def candidates_of(rng, kernels=5, alphas=4):
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(15, 1))
    removals = Removals.of(draw(3, X, Y).splits, 15)
    work = SearchWork.of(removals, n=15, features=None, kernels=kernels, alphas=alphas, targets=1, threads=2)
    return Candidates(
        [Gaussian(1.0 + i) for i in range(kernels)],
        10.0 ** np.arange(alphas),
        Rows(X),
        Problem(Y, None, False),
        removals,
        plan(work, 10**9),
    )


@pytest.mark.parametrize("count", [1, 3])
def test_every_candidate_is_visited_once_and_the_same_on_any_number_of_threads(count, rng):
    candidates = candidates_of(rng)
    with threads(count):
        found = list(candidates.all_held_out())
    assert sorted((k, a) for k, a, _ in found) == [(k, a) for k in range(5) for a in range(4)]
    for k, a, held_out in found:
        alone = candidates.system(candidates.kernels[k]).at(float(candidates.alphas[a])).values
        np.testing.assert_allclose(held_out.values, alone, rtol=1e-12)


def test_a_kernel_is_completed_before_the_next_begins(rng, monkeypatch):
    candidates, made = candidates_of(rng, kernels=3, alphas=2), []
    system = Candidates.system
    monkeypatch.setattr(
        Candidates, "system", lambda self, kernel, **how: (made.append(kernel), system(self, kernel, **how))[1]
    )
    with threads(2):
        for k, _, _ in candidates.all_held_out(by_kernel=True):
            assert made == list(candidates.kernels[: k + 1])


def test_what_is_to_be_skipped_is_skipped(rng):
    candidates = candidates_of(rng, kernels=3, alphas=1)
    assert [k for k, _, _ in candidates.all_held_out([True, False, True])] == [1]
    assert list(candidates.all_held_out([True] * 3)) == []


def test_the_first_error_stops_the_work(rng, monkeypatch):
    calls = []

    def fail(self, system, alpha):
        calls.append(alpha)
        raise RuntimeError("stop")

    monkeypatch.setattr(Candidates, "held_out", fail)
    with threads(2), pytest.raises(RuntimeError, match="stop"):
        list(candidates_of(rng).all_held_out())
    assert len(calls) < 20


def test_a_generator_that_is_closed_does_no_more_work(rng, monkeypatch):
    calls, real = [], Candidates.held_out
    monkeypatch.setattr(
        Candidates, "held_out", lambda self, system, alpha: (calls.append(alpha), real(self, system, alpha))[1]
    )
    with threads(1):
        found = candidates_of(rng).all_held_out()
        next(found)
        found.close()
    assert len(calls) == 1
