"""Leave-one-out log loss over 20 alphas: KernelLogisticCV beside refitting (50 refits, scaled), in one run.

python benchmarks/losses.py
"""

import time
import warnings

import numpy as np

from mercer import KernelLogistic, KernelLogisticCV
from mercer.kernels import Gaussian
from mercer.text import text_table

N, ALPHAS, REFITS = 1000, np.geomspace(1e-3, 1e2, 20), 50


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    y = rng.random(N) < 1.0 / (1.0 + np.exp(-3.0 * np.sin(2.0 * X[:, 0]) - X[:, 1]))
    kernel, found = Gaussian(2.0), []
    begin = time.perf_counter()
    for row, alpha in zip(rng.permutation(N)[:REFITS], np.resize(ALPHAS, REFITS), strict=True):
        rest = np.delete(np.arange(N), row)
        KernelLogistic(alpha, kernel=kernel, fit_intercept=True).fit(X[rest], y[rest]).predict_proba(X[[row]])
    refits = (time.perf_counter() - begin) / REFITS * N * len(ALPHAS)
    for exact in (False, True):
        begin = time.perf_counter()
        search = KernelLogisticCV([kernel], ALPHAS, exact=exact, fit_intercept=True).fit(X, y)
        took = time.perf_counter() - begin
        found.append(["exact" if exact else "one step", took, refits / took, search.verified_, -search.best_score_])
    print(f"refitting: {refits:.0f} s, from {REFITS} refits")
    print(text_table(["leave-one-out", "seconds", "times as fast", "off in probability", "log loss"], found))


if __name__ == "__main__":
    main()
