"""The main job on real data: how strong will the concrete be?

Chooses kernel, width and penalty for 1030 concrete mixtures by exact leave-one-out, says by nested cross-validation
how good that choice is on mixtures it has not seen, and shows a few of its predictions.
"""

import numpy as np
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge

from mercer import KernelRidge, KernelRidgeCV, nested_cross_validate
from mercer.data.samples import concrete
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.tables import text_table

KERNELS = [family(width) for family in (Gaussian, Matern, Laplacian) for width in (1.0, 2.0, 4.0, 8.0, 16.0)]
ALPHAS = np.geomspace(1e-4, 1.0, 9)


def main() -> None:
    table = concrete()
    order = np.random.default_rng(0).permutation(len(table.y))
    train, test = order[:-200], order[-200:]
    centre, spread = table.X[train].mean(axis=0), table.X[train].std(axis=0)
    X, y = (table.X - centre) / spread, table.y

    def error(predicted) -> float:
        return float(np.sqrt(np.mean((predicted - y[test]) ** 2)))

    print("Concrete: strength in MPa of 1030 mixtures, from 7 ingredients and age.")
    print(f"({table.source}; {table.licence})\n")
    search = KernelRidgeCV(KERNELS, ALPHAS, fit_intercept=True, verbose=1).fit(X[train], y[train])
    nested = nested_cross_validate(search, X[train], y[train], cv=10, random_state=0)
    expected = float(np.sqrt(-nested.mean))
    fits = len(KERNELS) * len(ALPHAS) * len(train)
    print(
        f"{len(KERNELS)} kernels x {len(ALPHAS)} alphas, each by leave-one-out on {len(train)} mixtures: "
        f"{fits:,} fits, not one of them made.\n"
        f"Chosen: {search.best_kernel_!r}, alpha = {search.alpha_:.2g}.\n"
        f"Expected error on new mixtures, by nested cross-validation: {expected:.2f} MPa, "
        f"give or take {nested.standard_error / (2 * expected):.2f}.\n"
    )
    raw = SklearnKernelRidge(kernel="rbf").fit(table.X[train], y[train])
    line = KernelRidge(1.0, kernel="linear", fit_intercept=True).fit(X[train], y[train])
    rows = [
        ["always the mean", error(np.full(len(test), y[train].mean()))],
        ["scikit-learn's KernelRidge as it comes", error(raw.predict(table.X[test]))],
        ["ridge regression", error(line.predict(X[test]))],
        ["mercer's choice", error(search.predict(X[test]))],
    ]
    print(text_table([f"on {len(test)} mixtures kept aside", "error (MPa)"], rows))
    mean, std = search.predict(X[test[:5]], return_std=True)
    noise = search.alpha_ * search.best_estimator_.prior_variance_
    rows = [
        [*table.X[i, [0, 3, 7]].tolist(), float(y[i]), f"{m:.1f} +- {1.645 * np.sqrt(s * s + noise):.1f}"]
        for i, m, s in zip(test[:5], mean, std, strict=True)
    ]
    print()
    print(text_table(["cement", "water", "age (days)", "measured", "predicted (90 %)"], rows))
    print(f"\nSolved by {search.best_estimator_.route_}.")


if __name__ == "__main__":
    main()
