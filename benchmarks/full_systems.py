"""Full kernel ridge regression on many rows, without a factor. Parts: exact, products, lean, selection."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.linalg import solve
from timing import Comparison, show

from mercer import KernelRidge
from mercer.data.rows import Rows
from mercer.kernels import Gaussian
from mercer.solvers.gram import KeptTiles, symmetric_times
from mercer.text import text_table

DATA = Path(__file__).parents[2] / "shared" / "data"
KERNEL = Gaussian(2.0)
ALPHAS = (1.0, 0.1, 0.01)
LEAN_ROWS, LEAN_BYTES = 50_000, 2_000_000_000


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def burned(work):
    """Seconds of processor time, which others on the machine do not lengthen as they do the clock's."""
    start = time.process_time()
    seconds, result = timed(work)
    return seconds, time.process_time() - start, result


def standardized(name):
    stored = np.load(DATA / f"{name}.npz", allow_pickle=False)
    X = np.asarray(stored["X"], dtype=np.float64)
    spread = X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], np.asarray(stored["y"], dtype=np.float64)[order]
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), (y - y.mean()) / y.std()


def exact(n: int = 20_000) -> None:
    """Conjugate gradients against SciPy's exact solve, the Gram matrix included in both."""
    X, y = standardized("kin40k")
    X, y, new = X[:n], y[:n], X[n : n + 1000]
    against = KERNEL(new, X)
    found = []
    for alpha in ALPHAS:

        def factored(alpha: float = alpha) -> np.ndarray:
            K = KERNEL(X)
            K.flat[:: n + 1] += alpha
            return solve(K.T, y, assume_a="pos", overwrite_a=True, check_finite=False)

        def iterated(alpha: float = alpha) -> KernelRidge:
            return KernelRidge(alpha, kernel=KERNEL, solver="cg").fit(X, y)

        # before and after, so that both meet the same weather
        before, cpu, model = burned(iterated)
        theirs, their_cpu, dual = burned(factored)
        after, _, _ = burned(iterated)
        a = model.dual_coef_[:, None]
        left = symmetric_times(KERNEL, Rows(X), a) + alpha * a - y[:, None]
        gap = float(np.abs(model.predict(new) - against @ dual).max())
        print(
            f"alpha = {alpha}: {model.route_.reason}; found again {np.linalg.norm(left) / np.linalg.norm(y):.1e}; "
            f"predictions within {gap:.1e} of the exact ones; processor time {cpu:.1f} s against {their_cpu:.1f} s",
            flush=True,
        )
        found.append(Comparison(f"n={n}, alpha={alpha}", "scipy.linalg.solve", theirs, (before + after) / 2, 5.0))
    show(found)


def products(n: int = 20_000, turns: int = 5) -> None:
    """One product with K, by where its tiles come from."""
    X, y = standardized("kin40k")
    rows, v = Rows(X[:n]), y[:n, None]
    seconds, tiles = timed(lambda: KeptTiles(KERNEL, rows, 4 * n * n))
    ways = {
        "kept, single precision": lambda: tiles(v),
        "made anew, single precision": lambda: symmetric_times(KERNEL, rows, v, dtype=np.float32),
        "made anew, double precision": lambda: symmetric_times(KERNEL, rows, v),
    }
    took = {name: [] for name in ways}
    for _ in range(turns):
        for name, way in ways.items():
            took[name].append(timed(way)[0])
    print(f"n={n}: tiles kept once in {seconds:.2f} s, {2 * n * (n + 500) / 1e9:.1f} GB")
    print(text_table(["one product", "median (s)"], [[name, statistics.median(each)] for name, each in took.items()]))


def lean() -> None:
    """50 000 rows of diamonds within 2 GB, in a process of its own."""
    found = []
    for alpha in ALPHAS:
        limited = {**os.environ, "MERCER_MEMORY_LIMIT": str(LEAN_BYTES - 200_000_000)}
        child = subprocess.run(
            [sys.executable, __file__, "lean-child", str(alpha)],
            env=limited,
            capture_output=True,
            text=True,
            check=True,
        )
        told = json.loads(child.stdout.splitlines()[-1])
        print(f"alpha = {alpha}: {told['route']}", flush=True)
        within = "yes" if told["peak"] <= LEAN_BYTES / 1e9 else "no"
        found.append([alpha, told["seconds"], told["cpu"], told["peak"], within])
    print(text_table([f"alpha, n={LEAN_ROWS}", "seconds", "processor (s)", "peak (GB)", "within 2 GB"], found))


def lean_child(alpha: float) -> None:
    X, y = standardized("diamonds")
    model = KernelRidge(alpha, kernel=KERNEL, solver="cg")
    seconds, cpu, _ = burned(lambda: model.fit(X[:LEAN_ROWS], y[:LEAN_ROWS]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    told = {"seconds": round(seconds, 1), "cpu": round(cpu, 1), "peak": round(peak, 2), "route": model.route_.reason}
    print(json.dumps(told))


PARTS = {"exact": exact, "products": products, "lean": lean}


def main() -> None:
    warnings.filterwarnings("ignore")
    asked = sys.argv[1:] or list(PARTS)
    if asked[0] == "lean-child":
        lean_child(float(asked[1]))
        return
    if not DATA.exists():
        print(f"{DATA} is not there.")
        return
    for name in asked:
        print(f"\n== {name} ==", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
