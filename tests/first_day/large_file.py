"""Thirty thousand rows of mixed columns in a Parquet file: NystroemRidgeCV, and mercer fit."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

import mercer
from mercer import NystroemRidgeCV, TableEncoder
from mercer.cli.commands import cli

rng = np.random.default_rng(0)
n = 30_000
table = pd.DataFrame(
    {
        "km": rng.gamma(2.0, 4.0, n),
        "hour": rng.integers(0, 24, n),
        "weather": rng.choice(["dry", "rain", "snow"], n, p=[0.7, 0.25, 0.05]),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D"),
    }
)
table["y"] = 3 * table["km"] + 4 * np.sin(table["hour"] / 4) + 6 * (table["weather"] == "snow") + rng.normal(0, 2, n)

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    path = str(folder / "table.parquet")
    table[:29_000].to_parquet(path)
    table[29_000:].to_parquet(folder / "new.parquet")
    truth = table["y"][29_000:].to_numpy()

    search = NystroemRidgeCV(landmarks=200, fit_intercept=True).fit(path, "y")  # mixed columns, as they are
    assert search.feature_names_in_.tolist() == ["km", "hour", "weather", "day"]
    error = np.sqrt(np.mean((search.predict(str(folder / "new.parquet")) - truth) ** 2))
    assert 1.8 < error < 3.5
    assert abs(np.sqrt(-search.best_score_) - error) < 0.5
    assert "landmarks" in str(search.landmark_check_)

    numbers = NystroemRidgeCV(landmarks=100, fit_intercept=True).fit(table[["km", "hour"]], table["y"])
    assert numbers.predict(table[["km", "hour"]]).shape == (n,)
    encoder = TableEncoder().fit(table[:2000].drop(columns="y"))
    encoded = NystroemRidgeCV(landmarks=200, fit_intercept=True).fit(
        encoder.transform(table.drop(columns="y")), table["y"]
    )
    assert np.sqrt(-encoded.best_score_) < 3.5

    fit = ["fit", path, "--target", "y", "--out", str(folder / "model.mercer"), "--time-budget", "5"]
    said = CliRunner().invoke(cli, [*fit, "--json"])
    assert said.exit_code == 0, said.output
    told = json.loads(said.stdout)
    assert 1.8 < told["error"]["value"] < 3.5
    assert told["model"]["why"] == "landmarks, to keep --time-budget with 29000 rows"
    predicted = CliRunner().invoke(
        cli, ["predict", str(folder / "model.mercer"), str(folder / "new.parquet"), "--out", str(folder / "p.parquet")]
    )
    assert predicted.exit_code == 0, predicted.output
    error = np.sqrt(np.mean((pd.read_parquet(folder / "p.parquet")["prediction"] - truth) ** 2))
    assert abs(error - told["error"]["value"]) < 0.5
    assert mercer.load(folder / "model.mercer").predict(table[:5].drop(columns="y")).shape == (5,)
