"""Pinball losses of AutoRegressor.predict_quantiles, of one width for all rows, and of gradient boosting.

python benchmarks/quantiles.py
"""

import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

from mercer import AutoRegressor
from mercer.text import text_table

DATA = Path(__file__).parents[2] / "shared" / "data"
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def pinball(y: np.ndarray, values: np.ndarray) -> float:
    residuals = y[:, None] - values
    return float(np.mean(np.maximum(LEVELS * residuals, (LEVELS - 1.0) * residuals)))


def main() -> None:
    warnings.simplefilter("ignore")
    found = []
    for name in ("boston", "energy", "airfoil", "concrete", "kin8nm"):
        stored = np.load(DATA / f"{name}.npz", allow_pickle=False)
        X, y = stored["X"].astype(np.float64), stored["y"].astype(np.float64).ravel()
        order = np.random.default_rng(0).permutation(len(y))
        n = min(int(0.9 * len(y)), 1500)
        train, test = order[:n], order[n : n + 2000]
        model = AutoRegressor().fit(X[train], y[train])
        ours = model.predict_quantiles(X[test], LEVELS)
        sizes = np.quantile(-model._residuals, LEVELS, method="weibull")
        same = model.predict(X[test])[:, None] + sizes
        boosted = [GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0) for level in LEVELS]
        peer = np.column_stack([each.fit(X[train], y[train]).predict(X[test]) for each in boosted])
        inside = np.mean((ours[:, 0] <= y[test]) & (y[test] <= ours[:, -1]))
        found.append([name, *(pinball(y[test], values) for values in (ours, same, peer)), 100 * float(inside)])
    print(text_table(["table", "mercer", "one width", "boosting", "% in 90 %"], found))


if __name__ == "__main__":
    main()
