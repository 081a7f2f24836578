"""The pool of threads: how many, what runs where, and what is put back afterwards."""

import os
import threading
import time

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - so that both BLAS libraries are loaded before anything is counted
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from mercer.runtime import run, single_threaded_blas, thread_count, threads
from mercer.runtime.threads import _Limit
from mercer.runtime.threads import each as each_in_order
from refusals import refusal, tells


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    monkeypatch.delenv("MERCER_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def blas():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    """BLAS at two threads, so that a limit of one can be seen to come and go."""
    with threadpool_limits(2, user_api="blas"):
        assert set(blas()) == {2}
        yield


# -- how many ---------------------------------------------------------------------------------------


def processors():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def test_all_processors_are_used_where_nothing_is_said():
    assert thread_count() == processors()


def test_the_count_follows_the_processors_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert thread_count() == 3


def test_the_count_is_known_on_systems_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert thread_count() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert thread_count() == 1


def test_the_variable_of_our_own_decides(monkeypatch):
    monkeypatch.setenv("MERCER_THREADS", "7")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count() == 7


@pytest.mark.parametrize("value", ["0", "-2", "two", "1.5", " "])
def test_a_variable_that_is_no_count_is_refused(monkeypatch, value):
    monkeypatch.setenv("MERCER_THREADS", value)
    assert tells(refusal(thread_count), "MERCER_THREADS", f"got {value!r}")


def test_an_empty_variable_says_nothing(monkeypatch):
    monkeypatch.setenv("MERCER_THREADS", "")
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert thread_count() == processors()


@pytest.mark.parametrize(
    ("value", "count"), [("1", 1), ("2", 2), ("64", 3), ("0", 3), ("-1", 3), ("2,1", 3), ("many", 3)]
)
def test_open_mp_only_holds_the_count_down(monkeypatch, value, count):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert thread_count() == count


def test_what_was_asked_for_here_and_now_comes_first(monkeypatch):
    monkeypatch.setenv("MERCER_THREADS", "7")
    with threads(3):
        assert thread_count() == 3
        with threads(1):
            assert thread_count() == 1
        assert thread_count() == 3
    assert thread_count() == 7


def test_the_count_is_restored_after_an_error():
    before = thread_count()
    with pytest.raises(ZeroDivisionError), threads(before + 3):
        raise ZeroDivisionError
    assert thread_count() == before


@pytest.mark.parametrize("count", [0, -1, 1.5, 2.0, None, "x", True])
def test_a_count_that_is_none_is_refused(count):
    assert tells(refusal(threads(count).__enter__), "The number of threads", f"got {count!r}")


def test_a_count_asked_for_in_one_thread_is_not_asked_for_in_another():
    seen = []
    with threads(5):
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
    assert seen == [processors()]


# -- running ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("jobs", [0, 1, 2, 30])
def test_every_job_is_done_once(count, jobs):
    done = []
    with threads(count):
        run(done.append, list(range(jobs)))
    assert sorted(done) == list(range(jobs))


def test_one_job_or_one_thread_is_run_in_line():
    here = threading.get_ident()
    seen = []
    with threads(4):
        run(lambda _: seen.append(threading.get_ident()), [1])
    with threads(1):
        run(lambda _: seen.append(threading.get_ident()), [1, 2, 3])
    assert set(seen) == {here}


def test_several_jobs_are_run_at_the_same_time():
    gate = threading.Barrier(2, timeout=10)
    with threads(2):
        run(lambda _: gate.wait(), [1, 2])
    assert not gate.broken


def test_work_started_inside_the_pool_is_run_in_line():
    pairs = []

    def outer(_):
        mine = threading.get_ident()
        run(lambda _: pairs.append((mine, threading.get_ident())), [1, 2, 3])

    with threads(2):
        run(outer, [1, 2, 3, 4])
    assert len(pairs) == 12
    assert all(left == right for left, right in pairs)
    assert threading.get_ident() not in {left for left, _ in pairs}


def test_after_nested_work_the_pool_is_used_again():
    with threads(2):
        run(lambda _: run(lambda _: None, [1, 2]), [1, 2])
        gate = threading.Barrier(2, timeout=10)  # two that wait for one another are two threads
        assert sorted(each_in_order(lambda _: gate.wait(), [1, 2])) == [0, 1]


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_error_is_raised_and_stops_the_rest(count):
    done = []

    def work(job):
        if job == 3:
            raise KeyError("the third")
        time.sleep(0.001)
        done.append(job)

    with threads(count), pytest.raises(KeyError, match="the third"):
        run(work, list(range(400)))
    assert len(done) < 100


def test_of_two_errors_that_of_the_earlier_job_is_raised():
    gate = threading.Barrier(2, timeout=10)

    def work(job):
        gate.wait()
        raise KeyError(job)

    with threads(2), pytest.raises(KeyError) as caught:
        run(work, ["first", "second"])
    assert caught.value.args == ("first",)


def test_no_thread_is_left_behind():
    before = threading.active_count()
    with threads(3):
        run(lambda _: None, list(range(10)))
    assert threading.active_count() == before


def test_results_with_one_thread_and_two_agree(rng):
    A = rng.normal(size=(64, 64))
    results = []
    for count in (1, 2):
        out = np.zeros((8, 64, 64))
        with threads(count):
            run(lambda i, out=out: np.matmul(A, A * i, out=out[i]), list(range(8)))
        results.append(out)
    assert np.abs(results[0] - results[1]).max() < 1e-12 * np.abs(results[0]).max()


# -- BLAS -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("two_blas_threads")
class TestBlas:
    def test_it_runs_on_one_thread_inside_the_pool_and_on_as_many_as_before_afterwards(self):
        seen = []
        with threads(2):
            run(lambda _: seen.append(tuple(blas())), [1, 2, 3])
        assert {count for each in seen for count in each} == {1}
        assert set(blas()) == {2}

    def test_it_is_restored_after_an_error(self):
        def work(job):
            raise KeyError(job)

        with threads(2), pytest.raises(KeyError):
            run(work, [1, 2, 3])
        assert set(blas()) == {2}

    def test_one_thread_is_one_thread_for_blas_too(self):
        seen = []
        with threads(1):
            run(lambda _: seen.append(tuple(blas())), [1, 2])
        assert {count for each in seen for count in each} == {1}
        assert set(blas()) == {2}

    def test_it_is_left_alone_where_one_job_is_run_in_line(self):
        seen = []
        with threads(2):
            run(lambda _: seen.append(tuple(blas())), [1])
        assert {count for each in seen for count in each} == {2}

    def test_contexts_that_nest_restore_it_at_the_end(self):
        with single_threaded_blas():
            assert set(blas()) == {1}
            with single_threaded_blas():
                assert set(blas()) == {1}
            assert set(blas()) == {1}
        assert set(blas()) == {2}

    def test_contexts_that_overlap_restore_it_at_the_end(self):
        one, two = single_threaded_blas(), single_threaded_blas()
        one.__enter__()
        two.__enter__()
        one.__exit__(None, None, None)
        assert set(blas()) == {1}
        two.__exit__(None, None, None)
        assert set(blas()) == {2}

    def test_contexts_of_several_threads_that_overlap_restore_it_at_the_end(self):
        gate = threading.Barrier(3, timeout=10)

        def visit(wait):
            gate.wait()
            with single_threaded_blas():
                time.sleep(wait)

        pool = [threading.Thread(target=visit, args=(wait,)) for wait in (0.0, 0.01, 0.02)]
        for each in pool:
            each.start()
        for each in pool:
            each.join()
        assert set(blas()) == {2}

    def test_it_stays_on_one_thread_until_the_last_job_has_ended(self):
        seen = []
        started = threading.Event()

        def work(job):
            if job == 0:
                started.wait(10)
                raise KeyError(job)
            started.set()
            time.sleep(0.05)
            seen.append(tuple(blas()))

        with threads(2), pytest.raises(KeyError):
            run(work, [0, 1])
        assert {count for each in seen for count in each} == {1}
        assert set(blas()) == {2}

    def test_a_library_that_is_loaded_later_is_found(self, monkeypatch):
        limit = _Limit()
        monkeypatch.delitem(__import__("sys").modules, "scipy.linalg")
        with limit:
            first = limit.controller
        monkeypatch.undo()
        with limit:
            assert limit.controller is not first
            again = limit.controller
            assert isinstance(again, ThreadpoolController)
        with limit:
            assert limit.controller is again


def test_few_results_wait_for_whoever_asks_for_them():
    """Results may be large: no more than one a thread, and one more, are made ahead."""
    begun = []
    with threads(2):
        found = each_in_order(lambda job: begun.append(job) or job, range(50))
        for number, result in enumerate(found):
            assert result == number
            time.sleep(0.001)
            assert len(begun) <= number + 4
