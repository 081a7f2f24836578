"""A time series: time=, TimeSeriesSplit, dates such as 8/6/20 18:57, and rows later than all of training."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.model_selection import TimeSeriesSplit

from mercer import AutoRegressor, KernelRidgeCV, nested_cross_validate
from mercer.cli.commands import cli
from mercer.kernels import Matern, Periodic

rng = np.random.default_rng(0)
n = 220
when = pd.date_range("2020-06-08 18:57", periods=n, freq="31h")
load = 50 + 8 * np.sin(2 * np.pi * np.arange(n) / 40) + np.cumsum(rng.normal(0, 1.0, n))
temperature = rng.normal(15, 5, n)
table = pd.DataFrame({"when": when, "temperature": temperature, "load": load + 0.3 * temperature})
X, y = table[["when", "temperature"]], table["load"]

gaps = AutoRegressor().fit(X[:180], y[:180])
future = AutoRegressor().fit(X[:180], y[:180], time=table["when"][:180])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    later = np.sqrt(np.mean((future.predict(X[180:]) - y[180:]) ** 2))
    gaps.predict(X[180:])
assert "later than all training rows" in str(caught[0].message)
assert len(caught) == 2  # dates beyond training are as unfamiliar to the model without time=
assert gaps.error_ < future.error_  # filling gaps is easier than the future
assert later < 3 * future.error_
assert "before" in future.summary() or "time" in future.summary()

day = np.arange(n, dtype=float)[:, None]
kernels = [Periodic(1.0, period=40.0) + Matern(width, nu=0.5) for width in (10.0, 50.0, 250.0)]
folds = TimeSeriesSplit(5, test_size=20)
search = KernelRidgeCV(kernels, np.geomspace(1e-4, 10.0, 8), cv=folds, fit_intercept=True).fit(day, y)
assert np.isnan(search.cv_predictions_[0, :120]).all()
assert np.isfinite(search.cv_predictions_[0, 120:]).all()
nested = nested_cross_validate(search, day, y, cv=folds, inner=TimeSeriesSplit(3, test_size=20))
assert nested.scores.shape == (1, 5)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    written = table.assign(when=table["when"].dt.strftime("%-d/%-m/%y %H:%M"))  # 8/6/20 18:57
    written[:180].to_csv(folder / "past.csv", index=False)
    written[180:].drop(columns="load").to_csv(folder / "later.csv", index=False)
    model = str(folder / "model.mercer")
    fit = ["fit", str(folder / "past.csv"), "--target", "load", "--out", model]
    plain = CliRunner().invoke(cli, fit)
    assert plain.exit_code == 0, plain.output
    assert "when     " in plain.output
    assert " date " in plain.output
    assert "--time when" in plain.output  # dates in order: it should say that the error is that of filling gaps
    said = CliRunner().invoke(cli, [*fit, "--time", "when"])
    assert said.exit_code == 0, said.output
    assert "the day before the month" in said.output  # how dates were read
    predicted = CliRunner().invoke(cli, ["predict", model, str(folder / "later.csv"), "--out", str(folder / "p.csv")])
    assert predicted.exit_code == 0, predicted.output
    assert "when" in predicted.output
    assert "outside the training range" in predicted.output
    assert len(pd.read_csv(folder / "p.csv")) == 40
