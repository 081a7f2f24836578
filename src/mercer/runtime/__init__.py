"""Where work runs: how many threads, and how much memory there is."""

from mercer.runtime.resources import (
    available_bytes,
    blas_for,
    each,
    promise,
    readable,
    run,
    single_threaded_blas,
    thread_count,
    threads,
)

__all__ = [
    "available_bytes", "blas_for", "each", "promise", "readable", "run", "single_threaded_blas", "thread_count",
    "threads",
]  # fmt: skip
