"""The file that the command line wrote, read in Python: the same model, with all that it can do."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.datasets import load_breast_cancer, load_diabetes

import mercer
from mercer.cli.commands import cli

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)

    def fit(table, target, *words):
        """What fit says, and the model that it wrote."""
        table.to_csv(folder / "table.csv", index=False)
        out = str(folder / f"{target}.mercer")
        said = CliRunner().invoke(
            cli, ["fit", str(folder / "table.csv"), "--target", target, "--out", out, "--json", "--force", *words]
        )
        assert said.exit_code == 0, said.output
        return json.loads(said.stdout), mercer.load(out), out

    patients = load_diabetes(as_frame=True, scaled=False).frame[["age", "sex", "bmi", "bp", "target"]]
    patients = patients.assign(sex=patients["sex"].map({1: "f", 2: "m"}))
    train, new = patients[:200], patients[200:300]
    rows, targets = train.drop(columns="target"), train["target"]
    for words in ((), ("--kernel", "gaussian")):
        told, model, out = fit(train, "target", *words)
        predicted = model.predict(new.drop(columns="target"))
        CliRunner().invoke(cli, ["predict", out, str(folder / "table.csv"), "--out", str(folder / "p.csv")])
        assert np.allclose(pd.read_csv(folder / "p.csv")["prediction"], model.predict(rows))
        assert model.predict(new).shape == (100,)  # a further column is no harm
        assert 0.2 < model.score(new.drop(columns="target"), new["target"]) < 0.7
        lower, upper = mercer.predict_interval(model, new.drop(columns="target"), confidence=0.9)
        assert ((lower < predicted) & (predicted < upper)).all()
        effects = mercer.marginal_effects(model)
        assert dict(zip(effects.names, effects.average, strict=True))["bmi"] > 2
        result = mercer.evaluate(model, rows, targets)
        assert abs(result.error - told["error"]["value"]) < 5
        assert "bmi" in result.importance
    auto = mercer.load(fit(train, "target")[2])
    assert "Estimated error" in auto.summary()
    assert np.isclose(auto.error_, fit(train, "target")[0]["error"]["value"])

    cells = load_breast_cancer(as_frame=True).frame.iloc[:240, [0, 1, 4, 7, 30]]
    cells = cells.assign(target=cells["target"].map({0: "malignant", 1: "benign"}))
    told, classifier, _ = fit(cells[:160], "target")
    assert classifier.classes_.tolist() == ["benign", "malignant"]
    p = classifier.predict_proba(cells[160:].drop(columns="target"))
    assert p.shape == (80, 2)
    assert np.allclose(p.sum(axis=1), 1)
    assert classifier.score(cells[160:].drop(columns="target"), cells["target"][160:]) > 0.85
    assert classifier.error_ == told["error"]["value"]
    assert "error" in classifier.summary()
