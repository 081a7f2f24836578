"""What `explain` predicts against what happens: seconds (within a factor of two) and peak bytes (within 15 %)."""

import ctypes
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from mercer import KernelRidgeCV, nested_cross_validate
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.runtime import available_bytes
from mercer.selection.plan import Plan, measure, plan


@dataclass(frozen=True)
class Case:
    """One search, or nested cross-validation of it."""

    name: str
    search: KernelRidgeCV
    n: int
    d: int = 10
    nested: int | None = None


def cases() -> list[Case]:
    def widths(count: int) -> list[Gaussian]:
        return [Gaussian(float(w)) for w in np.geomspace(1, 16, count)]

    def ladder(count: int) -> np.ndarray:
        return np.geomspace(1e-3, 10, count)

    return [
        Case("leave-one-out, 1 width, 1 alpha", KernelRidgeCV(widths(1), ladder(1)), 1000),
        Case("leave-one-out, 5 widths, 50 alphas", KernelRidgeCV(widths(5), ladder(50)), 1000),
        Case("leave-one-out, 2 widths, 50 alphas", KernelRidgeCV(widths(2), ladder(50)), 3000),
        Case("10-fold, 5 widths, 5 alphas", KernelRidgeCV(widths(5), ladder(5), cv=10), 1000),
        Case("10-fold, 1 width, 10 alphas", KernelRidgeCV(widths(1), ladder(10), cv=10), 2500),
        Case("5-fold, 1 width, 10 alphas", KernelRidgeCV(widths(1), ladder(10), cv=5), 2500),
        Case("5-fold, 1 width, 2 alphas", KernelRidgeCV(widths(1), ladder(2), cv=5), 2500),
        Case("2-fold, 2 widths, 2 alphas", KernelRidgeCV(widths(2), ladder(2), cv=2), 2000),
        Case("5 x 10-fold, 2 widths, 5 alphas", KernelRidgeCV(widths(2), ladder(5), cv=10, repeats=5), 1500),
        Case("leave-one-out, linear, 20 alphas", KernelRidgeCV(Linear(), ladder(20)), 20000, d=40),
        Case("10-fold, linear, 20 alphas", KernelRidgeCV(Linear(), ladder(20), cv=10), 20000, d=40),
        Case("10-fold, cubic, 10 alphas", KernelRidgeCV(Polynomial(3), ladder(10), cv=10), 3000, d=8),
        Case("nested 10 x 9, 5 widths, 5 alphas", KernelRidgeCV(widths(5), ladder(5)), 1000, nested=10),
        Case("nested 5 x 4, 5 widths, 5 alphas", KernelRidgeCV(widths(5), ladder(5)), 1000, nested=5),
        Case("nested 10 x 9, 2 widths, 5 alphas", KernelRidgeCV(widths(2), ladder(5)), 2500, nested=10),
        Case("nested 5 x 4, linear, 10 alphas", KernelRidgeCV(Linear(), ladder(10)), 10000, nested=5),
    ]


def problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def nested_plan(case: Case, X: np.ndarray, y: np.ndarray) -> Plan:
    result = nested_cross_validate(case.search, X, y, cv=case.nested)
    assert result.plan is not None
    return result.plan


def seconds(work: Callable[[], object], turns: int = 2) -> float:
    found = []
    for _ in range(turns):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def peak(work: Callable[[], object]) -> int:
    """Bytes that the process grew by at its largest, LAPACK's own work space included; in a child of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # what earlier cases freed must not hide what this one takes
        before = _status("VmRSS")
        work()
        os.write(writer, str(_status("VmHWM") - before).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as answer:
        return int(answer.read())


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def main() -> None:
    warnings.filterwarnings("ignore", message="The winner of")
    rates = measure()
    table = Table(
        "job", "n", "route", "default s", "measured rates s", "took s", "ratio", "predicted MB", "peak MB", "ratio"
    )
    for case in cases():
        X, y = problem(case.n, case.d)
        found = nested_plan(case, X, y) if case.nested else case.search.explain(X, y)
        predicted = plan(found.work, available_bytes(), rates).chosen
        usual = found.chosen

        def work(case: Case = case, X: np.ndarray = X, y: np.ndarray = y) -> object:
            if case.nested:
                return nested_cross_validate(case.search, X, y, cv=case.nested)
            return case.search.fit(X, y)

        took, bytes_ = seconds(work), peak(work)
        table.add_row(
            case.name, str(case.n), usual.name if usual.name == predicted.name else f"{usual.name} ({predicted.name})",
            f"{usual.seconds:.2f}", f"{predicted.seconds:.2f}", f"{took:.2f}", f"{took / usual.seconds:.2f}",
            f"{usual.bytes / 1e6:.0f}", f"{bytes_ / 1e6:.0f}", f"{bytes_ / usual.bytes:.2f}",
        )  # fmt: skip
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
