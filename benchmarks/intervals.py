"""Jackknife+ and CV+ intervals against refitting, which is what MAPIE does; equal numbers are checked in the same run.

The n models without one row cost alike: scikit-learn fits 50 of them, and the time of the FASTEST is taken n times.
Ours is the fastest of five turns, taken in alternation with theirs, so that noise favours neither.
"""

import time

import numpy as np
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.model_selection import KFold
from timing import Comparison, compare, show

from mercer import KernelRidge
from mercer.insight.intervals import held_out_models
from mercer.kernels import Gaussian

ALPHA, WIDTH, CONFIDENCE, REFITTED, TURNS = 0.1, 3.0, 0.9, 50, 5


def problem(n: int, m: int, d: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n + m, d))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n + m)
    return X[:n], y[:n], X[n:]


def without(X, y, new, rows) -> tuple[np.ndarray, np.ndarray]:
    """Predictions at new rows, and absolute errors at the rows left out, of one refitted model."""
    train = np.delete(np.arange(len(y)), rows)
    model = SklearnKernelRidge(alpha=ALPHA, kernel="rbf", gamma=0.5 / WIDTH**2).fit(X[train], y[train])
    return model.predict(new), np.abs(y[rows] - model.predict(X[rows]))


def timed(work) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def ours(X, y, new, method: str) -> tuple[KernelRidge, tuple[np.ndarray, np.ndarray]]:
    """Fit and intervals together."""
    model = KernelRidge(ALPHA, kernel=Gaussian(WIDTH)).fit(X, y)
    return model, model.predict_interval(new, CONFIDENCE, method)


def jackknife(n: int, m: int, target: float) -> list[Comparison]:
    """With the fit counted, and without: a fresh model that has kept nothing from earlier calls either way."""
    X, y, new = problem(n, m)
    chosen = np.random.default_rng(0).choice(n, size=REFITTED, replace=False)
    both, alone, theirs = [], [], []
    for part in np.split(chosen, TURNS):
        both.append(timed(lambda: ours(X, y, new, "jackknife+"))[0])
        model = KernelRidge(ALPHA, kernel=Gaussian(WIDTH)).fit(X, y)
        alone.append(timed(lambda model=model: model.predict_interval(new, CONFIDENCE))[0])
        theirs += [timed(lambda i=i: without(X, y, new, [i])) for i in part]
    ((_, left),) = held_out_models(model.fitted_)
    columns = model.fitted_.columns(model.check_rows(new))
    found = next(left.predictions(columns))[:, chosen]
    assert np.allclose(found, np.column_stack([at_new for _, (at_new, _) in theirs]), rtol=1e-9, atol=1e-9)
    assert np.allclose(np.abs(left.residuals[chosen, 0]), [error[0] for _, (_, error) in theirs], rtol=1e-9, atol=1e-9)
    peer = f"best of {REFITTED} refits of sklearn's KernelRidge, x {n}"
    refits = n * min(seconds for seconds, _ in theirs)
    job = f"jackknife+, n={n}, {m} new rows"
    return [
        Comparison(f"fit and {job}", peer, refits, min(both), target),
        Comparison(f"{job}, model fitted before", peer, refits, min(alone), target),
    ]


def cv_by_refits(X, y, new) -> tuple[np.ndarray, np.ndarray]:
    """All ten models, and the ends by sorting."""
    n = len(y)
    at_new, reach = np.empty((len(new), n)), np.empty(n)
    for _, test in KFold(10).split(X):
        predictions, reach[test] = without(X, y, new, test)
        at_new[:, test] = predictions[:, None]
    low = int(np.floor(round((1.0 - CONFIDENCE) * (n + 1), 9)))
    return np.sort(at_new - reach, axis=1)[:, low - 1], np.sort(at_new + reach, axis=1)[:, n - low]


def cv_plus(n: int, m: int, target: float) -> Comparison:
    X, y, new = problem(n, m)
    assert np.allclose(ours(X, y, new, "cv+")[1], cv_by_refits(X, y, new), rtol=1e-9, atol=1e-9)
    job = f"fit and cv+, 10 folds, n={n}, {m} new rows"
    theirs, mine = lambda: cv_by_refits(X, y, new), lambda: ours(X, y, new, "cv+")
    return compare(job, "10 refits of sklearn's KernelRidge", theirs, mine, target)


def main() -> None:
    print(f"Jackknife+: {REFITTED} of the n refits are made; the fastest, times n, stands for all. CV+: all are made.")
    show([*jackknife(1000, 100, 500.0), cv_plus(1000, 100, 1.0)])


if __name__ == "__main__":
    main()
