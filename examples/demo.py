"""The main job on real data: how strong will the concrete be?

Fits kernel ridge regression to 1030 concrete mixtures, chooses width and penalty by the evidence, and
shows how far off it is on mixtures it has not seen, beside simpler models.
"""

import numpy as np
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge

from mercer import KernelRidge
from mercer.data.samples import concrete
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern
from mercer.tables import text_table

WIDTHS = (0.5, 1.0, 2.0, 4.0)
ALPHAS = (0.003, 0.01, 0.03, 0.1, 0.3)


def best_by_evidence(family: type[Kernel], X, y) -> KernelRidge:
    """The width and alpha under which the observed strengths are most probable."""
    models = (
        KernelRidge(alpha, kernel=family(width), fit_intercept=True).fit(X, y) for width in WIDTHS for alpha in ALPHAS
    )
    return max(models, key=lambda model: model.log_marginal_likelihood_)


def main() -> None:
    table = concrete()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(table.y))
    train, test = order[:-200], order[-200:]
    centre, spread = table.X[train].mean(axis=0), table.X[train].std(axis=0)
    X, y = (table.X - centre) / spread, table.y

    def error(predicted) -> float:
        return float(np.sqrt(np.mean((predicted - y[test]) ** 2)))

    print("Concrete: strength in MPa of 1030 mixtures from 7 ingredients and age.")
    print(f"({table.source}; {table.licence})")
    print(f"Models see {len(train)} mixtures and are asked about {len(test)} others.\n")

    rows: list[list[object]] = [["always the mean", "", error(np.full(len(test), y[train].mean()))]]
    raw = SklearnKernelRidge(kernel="rbf").fit(table.X[train], y[train])
    rows.append(["scikit-learn's KernelRidge, defaults", "rbf, raw columns", error(raw.predict(table.X[test]))])
    line = KernelRidge(1.0, kernel="linear", fit_intercept=True).fit(X[train], y[train])
    rows.append(["ridge regression", "Linear()", error(line.predict(X[test]))])
    models = [best_by_evidence(family, X[train], y[train]) for family in (Gaussian, Matern, Laplacian)]
    rows += [
        [f"kernel ridge, alpha = {model.alpha:g}", repr(model.kernel), error(model.predict(X[test]))]
        for model in models
    ]
    print(text_table(["model", "kernel", "error (MPa)"], rows))

    best = max(models, key=lambda model: model.log_marginal_likelihood_)
    print(f"\nThe most probable of these is {best.kernel!r}. Five mixtures it has not seen:\n")
    mean, std = best.predict(X[test[:5]], return_std=True)
    noise = best.alpha * best.prior_variance_
    rows = [
        [*table.X[i, [0, 3, 7]].tolist(), y[i], f"{m:.1f} +- {1.645 * np.sqrt(s * s + noise):.1f}"]
        for i, m, s in zip(test, mean, std, strict=False)
    ]
    print(text_table(["cement", "water", "age (days)", "measured", "predicted (90 %)"], rows))
    print(f"\nSolved by {best.route_}.")


if __name__ == "__main__":
    main()
