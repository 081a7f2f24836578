"""The pool of threads: how many, what runs where, and what is put back afterwards."""

import multiprocessing
import os
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - so that both BLAS libraries are loaded before anything is counted
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from mercer import AutoRegressor, KernelRidge, KernelRidgeCV
from mercer.kernels import Gaussian
from mercer.runtime import run, single_threaded_blas, thread_count, threads
from mercer.runtime.resources import _Limit
from mercer.runtime.resources import each as each_in_order
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


def here(work):
    return [work()]


def in_a_second_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return [pool.submit(work).result()]


def two_at_once(work):
    with ThreadPoolExecutor(2) as pool:
        return [future.result() for future in [pool.submit(work), pool.submit(work)]]


def in_a_joblib_pool(work):
    return joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(work)() for _ in range(4))


def after_a_fork(work):
    context = multiprocessing.get_context("fork")
    inbox, outbox = context.Pipe(duplex=False)
    process = context.Process(target=lambda: outbox.send(work()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        process.start()
    outbox.close()
    result = inbox.recv()
    process.join()
    return [result]


@contextmanager
def another_thread_inside():
    """A function that lets another thread leave, which is inside until then."""
    entered, left = threading.Event(), threading.Event()

    def stay():
        with single_threaded_blas():
            entered.set()
            left.wait(10)

    def leave():
        left.set()
        other.join()

    other = threading.Thread(target=stay)
    other.start()
    entered.wait(10)
    try:
        yield leave
    finally:
        leave()


SITUATIONS = [here, in_a_second_thread, two_at_once, in_a_joblib_pool, after_a_fork]
A = np.random.default_rng(0).normal(size=(150, 150))  # a product of such matrices has other bits on two threads of BLAS

FITTED_AT_ONCE = [KernelRidge(0.1, kernel="rbf"), KernelRidgeCV([Gaussian(1.0)], [0.1], cv=3), AutoRegressor()]


def product():
    """The bits of products that the pool computes, and the numbers of threads that BLAS had meanwhile."""
    with threads(2):
        found = list(each_in_order(lambda _: ((A @ A).tobytes(), blas()), [1, 2, 3]))
    return {bits for bits, _ in found}, {count for _, counts in found for count in counts}


def fit_on_one_thread():
    """The bits of a fitted search and of its predictions, and the numbers of threads that BLAS has."""
    with threads(1):
        search = KernelRidgeCV([Gaussian(1.0), Gaussian(4.0)], [0.1, 10.0], cv=3, random_state=0).fit(A[:, :4], A[:, 5])
        return search.cv_results_["mean_test_score"].tobytes() + search.predict(A[:, :4]).tobytes(), set(blas())


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
        with threads(2):
            assert set(next(each_in_order(lambda _: blas(), [1]))) == {2}
            run(lambda _: self.__setattr__("seen", blas()), [1])  # tiles: one has the bits of many
        assert set(self.seen) == {1}

    @pytest.mark.parametrize("model", FITTED_AT_ONCE, ids=lambda model: type(model).__name__)
    def test_two_fits_at_once_have_the_bits_of_one_alone(self, model):
        bits = lambda: clone(model).fit(A[:, :3], A[:, 4]).predict(A[:5, 5:8]).tobytes()  # noqa: E731
        alone = bits()
        with another_thread_inside():
            assert bits() == alone
        assert set(two_at_once(bits)) == {alone}

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

    def test_a_library_that_is_loaded_later_is_held_too(self, monkeypatch):
        limit = _Limit()
        first = Loaded(ThreadpoolController().select(user_api="blas").lib_controllers[:1])
        monkeypatch.setattr(ThreadpoolController, "select", lambda *_, **__: first)
        monkeypatch.delitem(sys.modules, "scipy.linalg")
        limit.enter(1)
        assert sorted(blas()) == [1, 2]
        monkeypatch.undo()
        limit.enter(2)
        assert set(blas()) == {1}
        limit.leave(1)
        assert set(blas()) == {1}
        limit.leave(2)
        assert set(blas()) == {2}

    @pytest.mark.parametrize("situation", SITUATIONS)
    def test_it_runs_on_one_thread_with_equal_bits_in_every_situation(self, situation):
        expected = product()
        assert expected[1] == {1}
        assert all(result == expected for result in situation(product))
        assert set(blas()) == {2}

    @pytest.mark.parametrize("situation", SITUATIONS)
    def test_a_fit_on_one_thread_has_equal_bits_in_every_situation(self, situation):
        expected = fit_on_one_thread()
        assert expected[1] == {1}
        assert all(result == expected for result in situation(fit_on_one_thread))
        assert set(blas()) == {2}

    def test_a_thread_that_leaves_after_the_first_one_restores_it(self):
        with another_thread_inside() as leave:
            with single_threaded_blas():
                pass
            assert set(blas()) == {1}
            with single_threaded_blas():
                leave()
                assert set(blas()) == {1}
            assert set(blas()) == {2}

    def test_other_threads_can_set_it_afterwards(self):
        done, leave = threading.Event(), threading.Event()

        def stay_alive():
            with single_threaded_blas():
                pass
            done.set()
            leave.wait(10)

        other = threading.Thread(target=stay_alive)
        other.start()
        done.wait(10)
        with threadpool_limits(1, user_api="blas"):
            assert set(blas()) == {1}
        leave.set()
        other.join()

    def test_the_child_of_a_fork_does_not_wait_for_threads_of_its_parent(self):
        with another_thread_inside():
            assert after_a_fork(lambda: (set(blas()), product()[1], set(blas()))) == [({2}, {1}, {2})]
            assert set(blas()) == {1}
        assert set(blas()) == {2}

    def test_a_fork_inside_a_block_stays_inside_it(self):
        def forked():
            with single_threaded_blas():
                process = os.fork()
                held = set(blas()) == {1}
            if not process:
                os._exit(0 if held and set(blas()) == {2} else 1)
            return os.waitpid(process, 0)[1]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            assert forked() == 0
        assert set(blas()) == {2}


class Loaded:
    """What a controller has selected."""

    def __init__(self, libraries):
        self.lib_controllers = libraries


class OfThread:
    """A library that has a setting for each thread, as MKL has it."""

    filepath = "libmkl_rt.so"

    def __init__(self):
        self.here = threading.local()

    def get_num_threads(self):
        return getattr(self.here, "count", 4)

    def set_num_threads(self, count):
        self.here.count = count


def test_a_library_with_a_setting_for_each_thread_is_held_and_restored_in_each(monkeypatch):
    library, limit = OfThread(), _Limit()
    monkeypatch.setattr(ThreadpoolController, "select", lambda *_, **__: Loaded([library]))
    monkeypatch.setattr(sys.modules["mercer.runtime.resources"], "_limit", limit)
    gate = threading.Barrier(2, timeout=10)

    def look(_):
        gate.wait()
        return library.get_num_threads()

    def visit():
        with single_threaded_blas():
            inside = look(None)
        return inside, library.get_num_threads()

    assert two_at_once(visit) == [(1, 4), (1, 4)]
    with threads(2):
        assert list(each_in_order(look, [1, 2])) == [1, 1]
    assert library.get_num_threads() == 4
    assert (limit.inside, limit.before) == ({}, {})


def test_few_results_wait_for_whoever_asks_for_them():
    """Results may be large: no more than one a thread, and one more, are made ahead."""
    begun = []
    with threads(2):
        found = each_in_order(lambda job: begun.append(job) or job, range(50))
        for number, result in enumerate(found):
            assert result == number
            time.sleep(0.001)
            assert len(begun) <= number + 4
