"""A sweep visits every candidate once, on any number of threads, and says when a kernel is finished."""

import threading

import numpy as np
import pytest

from mercer import threads
from mercer.backends.progress import Progress
from mercer.data.folds import draw
from mercer.data.rows import Rows
from mercer.kernels import Gaussian
from mercer.selection.plan import Work, plan
from mercer.selection.problem import Problem, Removals
from mercer.selection.sweep import Sweep


def sweep_of(rng, kernels=5, alphas=4):
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(15, 1))
    removals = Removals.of(draw(3, X, Y).splits, 15)
    work = Work.of(removals, n=15, features=None, kernels=kernels, alphas=alphas, targets=1, threads=2)
    return Sweep(
        [Gaussian(1.0 + i) for i in range(kernels)],
        10.0 ** np.arange(alphas),
        Rows(X),
        Problem(Y, None, False),
        removals,
        plan(work, 10**9),
    )


@pytest.mark.parametrize("count", [1, 3])
def test_every_candidate_is_visited_once_and_the_same_on_any_number_of_threads(count, rng):
    sweep, seen, lock = sweep_of(rng), {}, threading.Lock()

    def note(k, a, held_out):
        with lock:
            assert (k, a) not in seen
            seen[k, a] = held_out.values.copy()

    progress = Progress("work", 20, 0)
    with threads(count):
        sweep.run(note, progress=progress)
    assert sorted(seen) == [(k, a) for k in range(5) for a in range(4)]
    assert progress.done == 20
    for (k, a), values in seen.items():
        alone = sweep.system(sweep.kernels[k]).at(float(sweep.alphas[a])).values
        np.testing.assert_allclose(values, alone, rtol=1e-12)


def test_a_kernel_is_finished_before_the_next_begins(rng):
    sweep, events = sweep_of(rng, kernels=3, alphas=2), []
    with threads(2):
        sweep.run(lambda k, a, held_out: events.append(k), finished=lambda k: events.append(f"finished {k}"))
    assert events == [0, 0, "finished 0", 1, 1, "finished 1", 2, 2, "finished 2"]


def test_what_is_to_be_skipped_is_skipped(rng):
    sweep, seen = sweep_of(rng, kernels=3, alphas=1), []
    sweep.run(lambda k, a, held_out: seen.append(k), skip=[True, False, True])
    assert seen == [1]
    sweep.run(lambda k, a, held_out: seen.append(k), skip=[True] * 3)
    assert seen == [1]


def test_the_first_error_stops_the_sweep(rng):
    def fail(k, a, held_out):
        raise RuntimeError("stop")

    with threads(2), pytest.raises(RuntimeError, match="stop"):
        sweep_of(rng).run(fail)
