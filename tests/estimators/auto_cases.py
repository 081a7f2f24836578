"""Tables and targets for the tests of the automatic estimators."""

import numpy as np
import pandas as pd
import pytest

from mercer import AutoClassifier, AutoRegressor

BOTH = pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])
QUICK = {"committee": False}
NO_BETTER = "The model is not shown to be better than the baseline"


def smooth(n=60, noise=0.1, columns=3, rng=None):
    """Rows and a smooth target; the same every time, unless a generator is given."""
    rng = np.random.default_rng(1) if rng is None else rng
    X = rng.normal(size=(n, columns))
    return X, np.sin(2.0 * X[:, 0]) + X[:, -1] + noise * rng.normal(size=n)


def rings(n=80, labels=("in", "out"), rng=None):
    """Rows and their labels; the same every time, unless a generator is given."""
    rng = np.random.default_rng(1) if rng is None else rng
    X = rng.normal(size=(n, 2))
    return X, np.array(labels)[((X**2).sum(axis=1) > 1.4).astype(int)]


def targets_for(kind, y):
    return y if kind is AutoRegressor else np.where(y > np.median(y), "high", "low")


def rmse(model, X, y):
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def mixed(n=120):
    """Numbers, categories, truth values, dates and cells that are missing."""
    rng = np.random.default_rng(1)
    city = rng.choice(["Rome", "Bonn", "Oslo"], n)
    date = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D")
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "city": pd.Categorical(city),
            "new": rng.uniform(size=n) < 0.5,
            "sold": date,
            "code": rng.choice(["u", "v"], n),
        }
    )
    effect = pd.Series(city).map({"Rome": 2.0, "Bonn": 0.0, "Oslo": -1.0}).to_numpy()
    y = table["size"].to_numpy() + effect + 0.8 * table["new"].to_numpy() + 0.1 * rng.normal(size=n)
    table.loc[rng.uniform(size=n) < 0.1, "size"] = np.nan
    table.loc[rng.uniform(size=n) < 0.1, "city"] = None
    return table, y
