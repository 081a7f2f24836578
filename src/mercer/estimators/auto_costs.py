"""How long an automatic fit takes: what can be stopped, and what cannot."""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg.lapack import dpotrf

from mercer.errors import InputError
from mercer.runtime import single_threaded_blas, thread_count
from mercer.runtime.progress import duration

# Seconds on a machine that factors 25 GFlop in a second on one thread, from fits on two threads. Tuning, 8 columns: 100
# rows 0.7, 200 rows 0.9, 400 rows 1.6, 1000 rows 2.7. The rest, with a time budget of next to nothing: 1000 rows 1.3,
# 2000 rows 2.6, 4000 rows 5.5, 8000 rows 13 with one member and 27 with four.
_RATE = 25e9
_START, _EACH = 0.6, 0.0022
# Rows that widths are tuned on; up to which folds choose alpha; up to which systems are factored.
_TUNED_ON, _WEIGHED, _FACTORED = 1200, 8000, 12_000
_LATE = 1.2  # times a budget is still kept
_PROBE = 1000  # rows of a system that is factored to see how fast the machine is
_PROBES, _PAUSE = 5, 0.02  # how often, and seconds in between


def tuning_seconds(n: int) -> float:
    """Seconds that tuning the kernels takes without a budget."""
    return _START + _EACH * min(n, _TUNED_ON)


def fixed_seconds(n: int) -> float:
    """Upper estimate of the seconds after tuning, which cannot be cut short, on the reference machine."""
    if n <= _WEIGHED:
        return 0.3 + 1e-3 * min(n, 3000) + 30.0 * (n / _WEIGHED) ** 3
    factored = min(n, _FACTORED)
    return 90.0 * (factored / 10_000) ** 3 * (n / factored) ** 2


def time_for_tuning(name: str, n: int, budget: float | None) -> float | None:
    """What of a budget is left for tuning; refuses one that the rest of the work alone would break.

    Examples
    --------
    >>> from mercer.estimators.auto_costs import time_for_tuning
    >>> 0 < time_for_tuning("AutoRegressor", 100, 60.0) < 60
    True
    """
    if budget is None:
        return None
    needed = fixed_seconds(n) * (_slowness() if n > _PROBE else 1.0)
    if n > _PROBE and needed > _LATE * budget + 1.0:
        raise InputError(
            f"{name} may need {duration(needed)} for {n} rows beside tuning, more than the time budget. Use a "
            "larger time budget, or fewer rows."
        )
    return max(budget - needed, 0.0)


def _slowness() -> float:
    """How many times as long a factor takes here as where the rates were taken; at least half.

    The fastest of a few factors on one thread: threads of BLAS that wait for a busy core take ten times as long, which
    says nothing about a fit that runs for seconds.
    """
    A, seconds = np.eye(_PROBE) + 0.5 / _PROBE, []
    with single_threaded_blas():
        for _ in range(_PROBES):
            begin = time.perf_counter()
            dpotrf(A)
            seconds.append(time.perf_counter() - begin)
            time.sleep(_PAUSE)
    one_core = 1.5 if thread_count() == 1 else 1.0
    return max(0.5, one_core * min(seconds) * 3 * _RATE / _PROBE**3)
