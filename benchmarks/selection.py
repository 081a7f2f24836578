"""Exact model selection against scikit-learn's grid search and himalaya; equal numbers are checked in the same run."""

import time
from collections.abc import Callable

import numpy as np
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit
from timing import Comparison, compare, show

from mercer import KernelRidgeCV, nested_cross_validate
from mercer.kernels import Gaussian

WIDTHS, ALPHAS = (1.0, 2.0, 4.0, 8.0, 16.0), (1e-3, 1e-2, 1e-1, 1.0, 10.0)
SCORE = "neg_mean_squared_error"


def problem(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def once(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def best(work: Callable[[], object], turns: int = 5) -> tuple[float, object]:
    runs = [once(work) for _ in range(turns)]
    return min(runs, key=lambda run: run[0])


def grid(n_jobs: int | None, cv: object, widths=WIDTHS, alphas=ALPHAS) -> GridSearchCV:
    gammas = [0.5 / width**2 for width in widths]
    return GridSearchCV(
        SklearnKernelRidge(kernel="rbf"), {"gamma": gammas, "alpha": list(alphas)}, cv=cv, scoring=SCORE, n_jobs=n_jobs
    )


def nested_by_grid_search(X, y, folds: int, n_jobs: int | None) -> tuple[np.ndarray, list[dict]]:
    """Algorithm 1 the plain way: a grid search within each outer training part, on the other outer folds."""
    fold = np.empty(len(y), dtype=int)
    for number, (_, test) in enumerate(KFold(folds).split(X)):
        fold[test] = number
    scores, chosen = [], []
    for number in range(folds):
        train = fold != number
        search = grid(n_jobs, PredefinedSplit(fold[train])).fit(X[train], y[train])
        scores.append(search.score(X[~train], y[~train]))
        chosen.append(search.best_params_)
    return np.array(scores), chosen


def nested(n: int, folds: int, jobs: dict[int | None, float]) -> list[Comparison]:
    X, y = problem(n)
    search = KernelRidgeCV([Gaussian(width) for width in WIDTHS], ALPHAS)
    ours, result = best(lambda: nested_cross_validate(search, X, y, cv=folds))
    found = []
    for n_jobs, target in jobs.items():
        theirs, (scores, chosen) = once(lambda n_jobs=n_jobs: nested_by_grid_search(X, y, folds, n_jobs))
        assert np.allclose(result.scores[0], scores, rtol=1e-8, atol=0)
        assert [c["alpha"] for c in chosen] == [c["alpha"] for c in result.chosen]
        assert np.allclose([c["gamma"] for c in chosen], [0.5 / c["kernel"].width ** 2 for c in result.chosen])
        name = f"GridSearchCV in a loop, n_jobs={n_jobs}"
        found.append(Comparison(f"nested {folds} x {folds - 1} folds, n={n}, 5 x 5 grid", name, theirs, ours, target))
    return found


def leave_one_out() -> Comparison:
    X, y = problem(2000)
    widths, alphas = np.geomspace(0.5, 30, 10), np.geomspace(1e-4, 1e2, 50)
    theirs, _ = once(lambda: grid(None, 5, widths=(4.0,), alphas=np.geomspace(1e-3, 10, 10)).fit(X, y))
    ours, _ = best(lambda: KernelRidgeCV([Gaussian(float(w)) for w in widths], alphas).fit(X, y), turns=2)
    job = "leave-one-out, 10 widths x 50 alphas, n=2000"
    return Comparison(job, "3 x GridSearchCV 5-fold, ONE width, 10 alphas", 3 * theirs, ours, 1.0)


def repeated() -> Comparison:
    X, y = problem(1000)
    kernels = [Gaussian(width) for width in WIDTHS]
    once_ = KernelRidgeCV(kernels, ALPHAS, cv=10, random_state=0)
    five = KernelRidgeCV(kernels, ALPHAS, cv=10, repeats=5, random_state=0)
    job = "5 x 10-fold, n=1000, 5 x 5 grid"
    return compare(job, "1.5 x our own plain 10-fold", lambda: once_.fit(X, y), lambda: five.fit(X, y), 1 / 1.5)


def himalaya() -> Comparison | None:
    try:
        from himalaya.kernel_ridge import KernelRidgeCV as HimalayaRidgeCV
    except ImportError:
        print("himalaya is not installed: pip install himalaya to compare with it")
        return None
    X, y = problem(2000)
    alphas = np.geomspace(1e-3, 1e2, 20)
    theirs = HimalayaRidgeCV(alphas=alphas, kernel="rbf", kernel_params={"gamma": 0.5 / 16}, cv=KFold(5))
    ours = KernelRidgeCV(Gaussian(4.0), alphas, cv=5)
    job = "5-fold, 20 alphas, one Gaussian kernel, n=2000"
    result = compare(job, "himalaya KernelRidgeCV", lambda: theirs.fit(X, y), lambda: ours.fit(X, y), 5.0, turns=2)
    assert np.isclose(float(theirs.best_alphas_[0]), ours.alpha_)
    return result


def k_fold() -> Comparison:
    X, y = problem(2000)
    alphas = np.geomspace(1e-3, 1e2, 10)
    theirs, search = once(lambda: grid(None, 5, widths=(4.0,), alphas=alphas).fit(X, y))
    ours, fitted = best(lambda: KernelRidgeCV(Gaussian(4.0), alphas, cv=5).fit(X, y), turns=3)
    assert np.isclose(search.best_score_, fitted.best_score_, rtol=1e-8)
    return Comparison("5-fold, 10 alphas, one width, n=2000", "GridSearchCV, n_jobs=None", theirs, ours, 8.0)


def main() -> None:
    import warnings

    warnings.filterwarnings("ignore", message="The winner of")
    results = [
        *nested(300, 10, {None: 200.0, 2: 60.0}),
        *nested(1000, 5, {None: 25.0}),
        *nested(1000, 10, {None: 120.0, 2: 50.0}),
        leave_one_out(),
        repeated(),
        k_fold(),
    ]
    other = himalaya()
    show(results + ([other] if other is not None else []))


if __name__ == "__main__":
    main()
