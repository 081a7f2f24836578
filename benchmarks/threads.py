"""Processor time of a fit in other threads and processes over that in the main thread: at most 1.5 times as much."""

import multiprocessing
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
from threadpoolctl import __version__, threadpool_info

from mercer import KernelRidge, KernelRidgeCV
from mercer.kernels import Gaussian
from mercer.text import text_table

Fit = Callable[[], object]
TURNS, WANTED = 5, 1.5


def seconds(work: Fit, fits: int) -> float:
    """Processor time of all threads of this process, for each fit."""
    begin = time.process_time()
    work()
    return (time.process_time() - begin) / fits


def main_thread(fit: Fit) -> float:
    return seconds(fit, 1)


def second_thread(fit: Fit) -> float:
    with ThreadPoolExecutor(1) as pool:
        return seconds(lambda: pool.submit(fit).result(), 1)


def two_at_once(fit: Fit) -> float:
    with ThreadPoolExecutor(2) as pool:
        return seconds(lambda: list(pool.map(lambda _: fit(), range(2))), 2)


def joblib_pool(fit: Fit) -> float:
    with joblib.Parallel(n_jobs=2, backend="threading") as pool:
        return seconds(lambda: pool(joblib.delayed(fit)() for _ in range(4)), 4)


def after_a_fork(fit: Fit) -> float:
    context = multiprocessing.get_context("fork")
    inbox, outbox = context.Pipe(duplex=False)

    def child() -> None:
        fit()  # the threads of BLAS, which do not survive a fork, are started
        outbox.send(seconds(fit, 1))

    process = context.Process(target=child)
    process.start()
    taken = inbox.recv()
    process.join()
    return taken


SITUATIONS = {
    "main thread": main_thread,
    "second thread": second_thread,
    "two at once": two_at_once,
    "joblib pool of two threads": joblib_pool,
    "after a fork": after_a_fork,
}


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=len(X))
    kernels, alphas = [Gaussian(width) for width in (0.5, 1.0, 2.0, 4.0)], np.geomspace(1e-3, 10.0, 10)
    fits: dict[str, Fit] = {
        "search n=400, 40 candidates": lambda: KernelRidgeCV(kernels, alphas, cv=5).fit(X[:400], y[:400]),
        "search n=1000, leave-one-out": lambda: KernelRidgeCV(kernels, alphas).fit(X[:1000], y[:1000]),
        "fit n=1500": lambda: KernelRidge(0.1, kernel=kernels[2]).fit(X, y),
    }
    rows = []
    for job, fit in fits.items():
        fit()  # libraries are loaded
        turns = [[measure(fit) for measure in SITUATIONS.values()] for _ in range(TURNS)]
        best = np.min(turns, axis=0)
        for situation, taken in zip(SITUATIONS, best, strict=True):
            ratio = taken / best[0]
            met = "yes" if ratio <= WANTED else "no"
            rows.append([job, situation, float(taken), f"{ratio:.2f} x", f"{WANTED:g} x", met])
    print(text_table(["job", "situation", "processor time (s)", "ratio", "wanted", "met"], rows))
    blas = sorted({library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"})
    print(f"threadpoolctl {__version__}; threads of BLAS afterwards: {', '.join(map(str, blas))}")


if __name__ == "__main__":
    main()
