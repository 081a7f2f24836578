"""An analyst with a CSV of mixed columns and a shell: fit, predict, score, report, inspect."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

from mercer.cli.commands import cli


def mercer(*words):
    """Run the command, and expect success."""
    result = CliRunner().invoke(cli, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


rng = np.random.default_rng(0)
n = 240
houses = pd.DataFrame(
    {
        "house": [f"h{i:03d}" for i in range(n)],
        "size": rng.uniform(40, 160, n).round(1),
        "heating": rng.choice(["gas", "oil", "heat pump"], n),
        "sold": pd.date_range("2021-01-04", periods=n, freq="3D").strftime("%Y-%m-%d"),
    }
)
houses["price"] = (40 + 2 * houses["size"] + 30 * (houses["heating"] == "oil") + rng.normal(0, 8, n)).round(1)
houses.loc[::17, "size"] = np.nan

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    houses[:160].to_csv(folder / "houses.csv", index=False)
    houses[160:].to_csv(folder / "test.csv", index=False)
    houses[160:].drop(columns="price").to_csv(folder / "new.csv", index=False)
    model = folder / "model.mercer"

    said = mercer(
        "fit", folder / "houses.csv", "--target", "price", "--out", model, "--report", folder / "page.html"
    ).output
    for word in (
        "160 rows",
        "identifier",
        "category",
        "date",
        "Out-of-sample error",
        "Baseline",
        "model.mercer",
        "page.html",
    ):
        assert word in said, (word, said)
    page = (folder / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "price" in page
    assert "heating" in page

    mercer("predict", model, folder / "new.csv", "--interval", "0.9", "--id", "house", "--out", folder / "prices.csv")
    prices = pd.read_csv(folder / "prices.csv")
    assert list(prices.columns) == ["house", "prediction", "lower", "upper"]
    assert (prices["house"].to_numpy() == houses["house"][160:].to_numpy()).all()
    assert ((prices["lower"] < prices["prediction"]) & (prices["prediction"] < prices["upper"])).all()

    score = json.loads(mercer("score", model, folder / "test.csv", "--json").stdout)
    rmse = np.sqrt(np.mean((prices["prediction"].to_numpy() - houses["price"][160:].to_numpy()) ** 2))
    assert np.isclose(score["measures"]["root mean squared error"]["value"], rmse)
    assert score["measures"]["R2"]["value"] > 0.8
    by_level = mercer("score", model, folder / "test.csv", "--group", "heating").output
    assert all(level in by_level for level in ("gas", "oil", "heat pump"))
    inspected = mercer("inspect", model).output
    assert "AutoRegressor" in inspected
    assert "160 training rows" in inspected
    error = json.loads(mercer("inspect", model, "--json").stdout)["fit"]["error"]
    assert f"{error['value']:.4g}" in inspected
    assert f"+- {error['standard_error']:.2g}" in inspected
