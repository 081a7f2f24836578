"""Does the error estimate of AutoRegressor hold: on noise, on a weak signal, and on other splits of the demo's table?

Noise: how often `signal_` says that there is none, and how often `error_` is below the baseline by more than two of its
standard errors. Weak signal: how often it is found. Demo: how often the estimate is within two of its standard errors
of the error on new rows.
"""

import argparse
import time

import numpy as np

from mercer import AutoRegressor
from mercer.data.samples import concrete


def noise(n: int, d: int, draws: int) -> str:
    silent, below = 0, 0
    for seed in range(draws):
        rng = np.random.default_rng([seed, n, d])
        model = AutoRegressor().fit(rng.normal(size=(n, d)), rng.normal(size=n))
        silent += model.signal_ <= 2
        below += model.error_ < model.baseline_ - 2 * model.error_standard_error_
    return f"noise, {n} x {d}: no signal {silent} of {draws} times, error below the baseline {below} times"


def weak(n: int, d: int, r2: float, draws: int, *, linear: bool) -> str:
    found = 0
    for seed in range(draws):
        rng = np.random.default_rng([seed, n, d, 1])
        X = rng.normal(size=(n, d))
        f = X[:, 0] if linear else np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
        y = np.sqrt(r2) * f / f.std() + np.sqrt(1 - r2) * rng.normal(size=n)
        found += AutoRegressor().fit(X, y).signal_ > 2
    kind = "linear" if linear else "with an interaction"
    return f"a signal of R2 = {r2}, {kind}, {n} x {d}: found {found} of {draws} times"


def demo(draws: int, new: int = 200) -> str:
    table, inside, ratios = concrete(), np.zeros(2, dtype=int), []
    for seed in range(1, draws + 1):
        order = np.random.default_rng(seed).permutation(len(table.y))
        train, test = order[new:], order[:new]
        model = AutoRegressor().fit(table.X[train], table.y[train])
        squares = (model.predict(table.X[test]) - table.y[test]) ** 2
        error = np.sqrt(squares.mean())
        spread = squares.std(ddof=1) / np.sqrt(new) / (2 * error)  # of the error on so few new rows
        own = model.error_standard_error_
        inside += abs(model.error_ - error) < 2 * np.array([own, np.hypot(own, spread)])
        ratios.append(model.error_ / error)
    mean = np.exp(np.mean(np.log(ratios)))
    return (
        f"splits of the demo's table: error on new rows within two standard errors {inside[0]} of {draws} "
        f"times ({inside[1]} with the standard error of the new rows); ratio of the two, geometric mean {mean:.3f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=40)
    draws = parser.parse_args().draws
    for job in (
        lambda: noise(100, 50, draws),
        lambda: noise(60, 200, draws),
        lambda: weak(1000, 5, 0.05, draws, linear=True),
        lambda: weak(1000, 5, 0.05, draws, linear=False),
        lambda: demo(draws // 2),
    ):
        begin = time.monotonic()
        print(job(), f"({time.monotonic() - begin:.0f} s)", flush=True)
