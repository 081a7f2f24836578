"""A category with 300 levels, rare labels in the target, and a column of texts."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner

from mercer import AutoClassifier, AutoRegressor, TableEncoder
from mercer.cli.commands import cli
from mercer.errors import UnfamiliarRowsWarning

rng = np.random.default_rng(0)
n = 900
shop = rng.integers(0, 300, n)
own = rng.normal(0, 3, 300)
words = np.array(["late delivery", "friendly staff", "broken box", "good price", "long queue here"])
pick = rng.integers(0, 5, (n, 2))
table = pd.DataFrame(
    {
        "shop": [f"shop-{i:03d}" for i in shop],
        "sales": rng.gamma(3.0, 10.0, n),
        "remark": [f"{words[a]} and {words[b]} ticket {i}" for i, (a, b) in enumerate(pick)],
    }
)
score = 10 + own[shop] + 0.1 * table["sales"] - 4.0 * (pick == 2).any(axis=1) + rng.normal(0, 1, n)
label = np.where(score < 7, "closed", np.where(score > 16, "star", "open"))
label[:2] = "merged"  # two rows of a class

encoder = TableEncoder().fit(table)
kinds = {column.name: column.kind for column in encoder.columns_}
assert kinds == {"shop": "category", "sales": "number", "remark": "text"}, encoder.describe()
train, test = slice(0, 600), slice(600, None)
model = AutoRegressor(time_budget=6).fit(table[train], score[train])
got = np.sqrt(np.mean((model.predict(table[test]) - score[test]) ** 2))
assert abs(got - model.error_) < 0.2 * model.error_
assert got < 0.8 * model.baseline_
new = table[:3].assign(shop=["shop-999", "shop-000", "shop-001"])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert np.isfinite(model.predict(new)).all()
assert all(issubclass(each.category, UnfamiliarRowsWarning) for each in caught)

classifier = AutoClassifier(committee=False).fit(table[:400], label[:400])
assert classifier.classes_.tolist() == ["closed", "merged", "open", "star"]
p = classifier.predict_proba(table[400:])
assert p.shape == (500, 4)
assert np.allclose(p.sum(axis=1), 1)
assert np.mean(classifier.predict(table[400:]) == label[400:]) > 0.75

with tempfile.TemporaryDirectory() as name:
    path, out = str(Path(name) / "shops.csv"), str(Path(name) / "model.mercer")
    table.assign(state=label)[:400].to_csv(path, index=False)
    said = CliRunner().invoke(cli, ["fit", path, "--target", "state", "--out", out, "--rare-labels", "drop"])
    assert said.exit_code == 0, said.output
    assert "Classification" in said.output
    assert "merged" in said.output  # a class of two rows is named
    scored = CliRunner().invoke(cli, ["score", out, path])
    assert scored.exit_code == 0, scored.output
    assert all(name in scored.output for name in ("closed", "merged", "open", "star"))
