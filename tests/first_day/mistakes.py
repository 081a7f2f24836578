"""Mistakes of a first day: each message names the thing, and a way out."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.datasets import load_diabetes

from mercer import AutoRegressor, KernelRidge, KernelRidgeClassifierCV, KernelRidgeCV, NystroemRidgeCV, load
from mercer.cli.commands import cli
from mercer.kernels import Gaussian

frame, y = load_diabetes(return_X_y=True, as_frame=True)
frame, y = frame[:80], y[:80].to_numpy()
X, labels = frame.to_numpy(), np.where(y > 140, "high", "low")
holes, K = np.where(X == X.max(), np.nan, X), Gaussian(0.3)(X)
fitted, named, given = (
    KernelRidgeCV().fit(X, y),
    KernelRidgeCV().fit(frame, y),
    KernelRidge(kernel="precomputed").fit(K[:60, :60], y[:60]),
)

mistakes = {  # what was done: words of the message
    lambda: KernelRidgeCV(kernel="gaussian"): ["kernel", "kernels"],
    lambda: KernelRidgeCV(gamma=0.5): ["gamma", "Gaussian"],  # where does gamma go?
    lambda: KernelRidge(kernels="rbf"): ["kernels", "kernel"],
    lambda: KernelRidgeCV(scoring="rmse").fit(X, y): ["rmse", "neg_root_mean_squared_error"],
    lambda: KernelRidgeCV("gausian").fit(X, y): ["gausian", "gaussian"],
    lambda: KernelRidge(alpha=-1).fit(X, y): ["alpha", "-1", "positive"],
    lambda: KernelRidgeCV(alphas=[-1.0, 1.0]).fit(X, y): ["alphas", "-1", "Use"],
    lambda: KernelRidgeCV().fit(holes, y): ["NaN", "TableEncoder"],
    lambda: AutoRegressor().fit(X, np.where(y > 200, np.nan, y)): ["y contains NaN", "rop"],  # drop those rows
    lambda: KernelRidgeCV().fit(X, labels): ["high", "KernelRidgeClassifierCV"],
    lambda: KernelRidgeClassifierCV().fit(X, y + 0.5): ["KernelRidgeCV"],  # numbers to a classifier
    lambda: fitted.predict(X[:, :5]): ["5", "10"],
    lambda: named.predict(frame[["age", "sex"]]): ["bmi"],
    lambda: KernelRidgeCV().predict(X): ["KernelRidgeCV", "fit"],
    lambda: given.predict(K[:60, 60:]): ["60", "Transpose"],  # training rows against new rows: the wrong side
    lambda: KernelRidgeCV("precomputed").fit(X, y): ["precomputed", "square"],
    lambda: KernelRidgeCV().fit(frame.assign(sex="f"), y): ["'f'", "TableEncoder"],
    lambda: fitted.predict_interval(X, confidence=90): ["confidence", "0.9"],
    lambda: Gaussian(sigma=1.0): ["sigma", "width"],
    lambda: AutoRegressor().fit("a.csv", "y"): ["a.csv", "read_csv"],  # tables in memory only
    lambda: NystroemRidgeCV().fit("no.parquet", "y"): ["no.parquet"],
    lambda: load("a.csv"): ["a.csv", "not a model file"],
}
commands = {
    "fit a.csv --target price": ["price", "Known", "y"],
    "fit missing.csv --target y": ["missing.csv"],
    "fit a.csv --target y --kernel gausian": ["gausian", "gaussian"],
    "fit a.csv --target y --scoring rmse": ["rmse", "neg_root_mean_squared_error"],
    "fit a.csv --target y --as colour=categorical": ["categorical", "category"],
    "predict a.csv model.mercer": ["a.csv", "model", "TABLE"],  # the other way round
    "predict model.mercer a.csv --interval 90": ["90", "0.9"],
}
unhelpful, before = [], Path.cwd()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    table = pd.DataFrame({"x": X[:, 2], "colour": labels, "y": y})
    table.to_csv("a.csv", index=False)
    table.rename(columns={"y": "z"}).to_csv("b.csv", index=False)
    assert CliRunner().invoke(cli, ["fit", "a.csv", "--target", "y"]).exit_code == 0
    for i, (call, words) in enumerate(mistakes.items()):
        try:
            call()
            unhelpful.append((i, words, "no error"))
        except Exception as error:  # noqa: BLE001
            unhelpful += [(i, words, str(error)[:300])] if not all(word in str(error) for word in words) else []
    for command, words in commands.items():
        said = CliRunner().invoke(cli, command.split())
        if said.exit_code != 2 or not all(word in said.output for word in words):
            unhelpful.append((command, words, said.output[-300:]))
    other = CliRunner().invoke(cli, ["fit", "b.csv", "--target", "z"])  # would replace the model of another table
    if not all(word in other.output for word in ("another table", "--out", "--force")):
        unhelpful.append(("overwriting", "another table, --out, --force", other.output[-200:]))
    os.chdir(before)
assert not unhelpful, "\n".join(map(str, unhelpful))
