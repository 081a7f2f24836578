"""Leave-one-out log loss over 20 alphas beside refitting (50 refits, scaled), and Huber's loss beside squared errors.

python benchmarks/losses.py
"""

import time
import warnings
from pathlib import Path

import numpy as np

from mercer import KernelLogistic, KernelLogisticCV, KernelRegressorCV
from mercer.kernels import Gaussian
from mercer.text import text_table

N, ALPHAS, REFITS = 1000, np.geomspace(1e-3, 1e2, 20), 50
DATA = Path(__file__).parents[2] / "shared" / "data"
ROWS, SHARE, FAR = 300, 0.1, 10.0  # training rows; share of outliers; their size in standard deviations of y


def outliers() -> None:
    """Root mean squared errors on clean test rows, after fits to clean rows and to rows with symmetric outliers."""
    found = []
    for name in ("boston", "energy", "airfoil", "concrete", "kin8nm"):
        stored = np.load(DATA / f"{name}.npz", allow_pickle=False)
        X, y = stored["X"].astype(np.float64), stored["y"].astype(np.float64).ravel()
        X, rng = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9), np.random.default_rng(0)
        order = rng.permutation(len(y))
        train, test = order[:ROWS], order[ROWS : ROWS + 2000]
        spoilt = y[train].copy()
        which = rng.permutation(ROWS)[: int(SHARE * ROWS)]
        spoilt[which] += FAR * y.std() * rng.choice([-1.0, 1.0], len(which))
        row: list[object] = [name]
        kernels = [Gaussian(by * X.shape[1] ** 0.5) for by in (0.5, 1.0, 2.0)]
        for loss in ("squared", "huber"):
            errors = []
            for targets in (y[train], spoilt):
                search = KernelRegressorCV(kernels, np.geomspace(1e-3, 10.0, 9), loss=loss, fit_intercept=True)
                search.fit(X[train], targets)
                errors.append(float(np.sqrt(np.mean((search.predict(X[test]) - y[test]) ** 2))))
            row += [*errors, errors[1] / errors[0]]
        found.append(row)
    header = ["table", "squared, clean", "with outliers", "ratio", "Huber, clean", "with outliers", "ratio"]
    print(text_table(header, found))


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
    if DATA.is_dir():
        outliers()


if __name__ == "__main__":
    main()
