"""A search visits every candidate once, on any number of threads, kernel by kernel where that is asked for."""

import numpy as np
import pytest

from mercer import threads
from mercer.data.folds import draw
from mercer.data.rows import Rows
from mercer.kernels import Gaussian
from mercer.selection.scoring import resolve_scoring
from mercer.selection.search import Search
from mercer.solvers.problem import Problem


class Tried:
    """A search of so many kernels and alphas, and the plan of it on two threads."""

    def __init__(self, rng, kernels=5, alphas=4):
        X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
        scoring = resolve_scoring(None, classifier=False)
        self.search = Search(Rows(X), y, Problem(y[:, None], None, False), draw(3, X, y), scoring)
        self.kernels, self.alphas = [Gaussian(1.0 + i) for i in range(kernels)], 10.0 ** np.arange(alphas)
        with threads(2):
            self.plan = self.search.plan(self.kernels, self.alphas)

    def all_held_out(self, **how):
        return self.search.all_held_out(self.kernels, self.alphas, self.plan, **how)


@pytest.mark.parametrize("count", [1, 3])
def test_every_candidate_is_visited_once_and_the_same_on_any_number_of_threads(count, rng):
    tried = Tried(rng)
    with threads(count):
        found = list(tried.all_held_out())
    assert sorted((k, a) for k, a, _ in found) == [(k, a) for k in range(5) for a in range(4)]
    for k, a, held_out in found:
        alone = tried.search.candidate(tried.kernels[k], tried.plan).at(float(tried.alphas[a])).values
        np.testing.assert_allclose(held_out.values, alone, rtol=1e-12)


def test_a_kernel_is_completed_before_the_next_begins(rng, monkeypatch):
    tried, made, real = Tried(rng, kernels=3, alphas=2), [], Search.candidate

    def noted(self, kernel, *how, **more):
        made.append(kernel)
        return real(self, kernel, *how, **more)

    monkeypatch.setattr(Search, "candidate", noted)
    with threads(2):
        for k, _, _ in tried.all_held_out(finished=np.zeros(3, dtype=bool)):
            assert made == tried.kernels[: k + 1]


def test_what_is_to_be_skipped_is_skipped(rng):
    tried = Tried(rng, kernels=3, alphas=1)
    assert [k for k, _, _ in tried.all_held_out(finished=np.array([True, False, True]))] == [1]
    assert list(tried.all_held_out(finished=np.ones(3, dtype=bool))) == []


def test_the_first_error_stops_the_work(rng, monkeypatch):
    calls = []

    def fail(self, candidate, alpha, plan):
        calls.append(alpha)
        raise RuntimeError("stop")

    monkeypatch.setattr(Search, "held_out", fail)
    with threads(2), pytest.raises(RuntimeError, match="stop"):
        list(Tried(rng).all_held_out())
    assert len(calls) < 20


def test_a_generator_that_is_closed_does_no_more_work(rng, monkeypatch):
    calls, real = [], Search.held_out
    monkeypatch.setattr(Search, "held_out", lambda self, *given: (calls.append(given), real(self, *given))[1])
    with threads(1):
        found = Tried(rng).all_held_out()
        next(found)
        found.close()
    assert len(calls) == 1
