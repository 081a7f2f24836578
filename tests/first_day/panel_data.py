"""Repeated persons: groups in searches, nested cross-validation, automatic models and on the command line."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.model_selection import GroupKFold

from mercer import AutoRegressor, KernelRidgeCV, nested_cross_validate
from mercer.cli.commands import cli

rng = np.random.default_rng(0)
people, visits = 40, 5
person = np.repeat(np.arange(people), visits)
age = np.repeat(rng.uniform(20, 70, people), visits) + np.tile(np.arange(visits), people) * 0.1
weight = np.repeat(rng.normal(75, 12, people), visits) + rng.normal(0, 0.3, person.size)
level = np.repeat(rng.normal(0, 5, people), visits)
table = pd.DataFrame({"person": [f"p{i:02d}" for i in person], "age": age, "weight": weight})
table["pressure"] = 100 + 0.5 * age + level + rng.normal(0, 1, person.size)
X, y = table[["age", "weight"]], table["pressure"]

search = KernelRidgeCV(cv=5, fit_intercept=True, random_state=0)
by_row = search.fit(X, y).best_score_
by_person = search.fit(X, y, groups=table["person"]).best_score_
assert -by_person > 2 * -by_row  # a new person is harder than a known one
assert "grouped" in search.folds_.label
nested = nested_cross_validate(search, X, y, cv=5, groups=table["person"], random_state=0)
assert -nested.mean > 15
again = nested_cross_validate(search, X, y, cv=GroupKFold(5), groups=table["person"])
assert again.scores.shape == (1, 5)

plain = AutoRegressor().fit(X, y)
grouped = AutoRegressor().fit(X, y, groups=table["person"])
assert grouped.error_ > 1.5 * plain.error_
assert 3.5 < grouped.error_ < 8
outer = grouped.evaluate(X, y, cv=4, groups=table["person"])
assert 3.5 < outer.error < 8
assert "group" in grouped.summary()

with tempfile.TemporaryDirectory() as name:
    path, model = Path(name) / "visits.csv", Path(name) / "model.mercer"
    table.to_csv(path, index=False)

    def fit(*words):
        """The output, and the error, of a fit."""
        words = ["fit", str(path), "--target", "pressure", "--out", str(model), *words]
        said = CliRunner().invoke(cli, words)
        assert said.exit_code == 0, said.output
        return said.output, json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)["error"]["value"]

    said, error = fit()
    assert "--group person" in said  # it should notice that persons repeat
    said, grouped_error = fit("--group", "person")
    assert grouped_error > 1.5 * error
    assert "person" in said
    predicted = CliRunner().invoke(cli, ["predict", str(model), str(path)])
    assert predicted.exit_code == 0, predicted.output
