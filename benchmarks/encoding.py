"""Does it matter that the automatic models encode the table once, from all rows, before any fold is held out?

Means and standard deviations of columns, the most frequent levels and the vocabulary of texts have then seen the rows
that the error is estimated on. Two estimates are compared with the error on fresh rows: that of a model whose encoder
was fitted to its own rows (the default), and that of a model whose encoder was fitted to other rows of the same
distribution, and so knows nothing of the held-out ones. If the first is no smaller beside its truth than the second,
nothing leaks.
"""

import argparse

import numpy as np
import pandas as pd

from mercer import AutoRegressor, TableEncoder

FRESH = 20_000


def heavy_tails(rng, n):
    X = rng.standard_t(1.5, size=(n, 4))
    y = np.tanh(X[:, 0]) + 0.5 * np.sign(X[:, 1]) + 0.5 * rng.normal(size=n)
    return pd.DataFrame(X, columns=list("abcd")), y


def rare_columns(rng, n):
    X = (rng.random((n, 12)) < 0.03) * rng.normal(3.0, 1.0, size=(n, 12))
    y = X[:, :4].sum(axis=1) + rng.normal(size=n)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(12)]), y


def many_levels(rng, n, count=500):
    effects = np.random.default_rng(0).normal(size=count)
    level = rng.integers(0, count, size=n)
    y = effects[level] + rng.normal(size=n)
    return pd.DataFrame({"site": [f"s{k}" for k in level], "x": rng.normal(size=n)}), y


def texts(rng, n):
    words = np.array([f"word{k}" for k in range(400)])
    chance = 1.0 / np.arange(1, 401)
    rows = [rng.choice(words, size=8, p=chance / chance.sum()) for _ in range(n)]
    y = np.array([("word2" in row) + 0.7 * ("word5" in row) for row in rows]) + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"note": [" ".join(row) for row in rows], "x": rng.normal(size=n)}), y


class Fixed(TableEncoder):
    """An encoder that was fitted to other rows, and stays as it is."""

    def __init__(self, fitted=None):
        super().__init__()
        self.fitted = fitted  # a function, which clones share

    def fit(self, X, y=None):
        vars(self).update({name: value for name, value in vars(self.fitted()).items() if name.endswith("_")})
        self._settings, self._style, self._named = (getattr(self.fitted(), name) for name in HELD)
        return self


HELD = ("_settings", "_style", "_named")


def ratios(draw, n, seed):
    """Estimated over true error, encoded by the model's own rows and by others."""
    rng = np.random.default_rng([seed, n])
    (table, y), (other, _), (fresh, truth) = draw(rng, n), draw(rng, n), draw(rng, FRESH)
    found = []
    for rows in (table, other):
        encoder = TableEncoder().fit(rows)
        model = AutoRegressor(encoder=Fixed(lambda encoder=encoder: encoder)).fit(table, y)
        found.append(model.error_ / np.sqrt(np.mean((model.predict(fresh) - truth) ** 2)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 400])
    given = parser.parse_args()
    print("estimated over true error, geometric mean; encoder fitted to own rows / to other rows")
    for draw in (heavy_tails, rare_columns, many_levels, texts):
        for n in given.rows:
            logs = np.log([ratios(draw, n, seed) for seed in range(given.draws)])
            own, other = np.exp(logs.mean(axis=0))
            gap = logs[:, 0] - logs[:, 1]
            print(
                f"  {draw.__name__:14} n = {n:4}: {own:.3f} / {other:.3f}; difference {100 * gap.mean():+.1f} % "
                f"+- {100 * gap.std(ddof=1) / np.sqrt(given.draws):.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
