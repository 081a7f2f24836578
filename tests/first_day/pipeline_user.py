"""scikit-learn pipelines that end in a search: everything that mercer does, in the units of the raw table."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import mercer
from mercer import KernelRidge, KernelRidgeCV
from mercer.displays import CoverageDisplay, ResidualDisplay, SearchDisplay
from mercer.kernels import Linear
from mercer.report import write_report

rng = np.random.default_rng(0)
n = 150
X = pd.DataFrame(
    {"age": rng.uniform(20, 60, n), "size": rng.normal(170, 10, n), "town": rng.choice(["A", "B", "C"], n)}
)
y = 0.5 * X["age"] + 8.0 * (X["town"] == "B") + rng.normal(0, 1, n)
y[7] = 90.0  # a slip of the pen
old, new = X[["age", "size"]], X[["age", "size"]][:5]
front = make_column_transformer((StandardScaler(), ["age", "size"]), (OneHotEncoder(), ["town"]))
pipes = {
    "scaled": (make_pipeline(StandardScaler(), KernelRidgeCV(fit_intercept=True)).fit(old, y), old),
    "mixed": (make_pipeline(front, KernelRidgeCV(fit_intercept=True)).fit(X, y), X),
}
for name, (pipe, rows) in pipes.items():
    lower, upper = mercer.predict_interval(pipe, rows[:5], confidence=0.9)
    inner = pipe[-1].predict_interval(pipe[:-1].transform(rows[:5]), confidence=0.9)
    assert np.allclose((lower, upper), inner), name
    assert len(mercer.predict_set(pipe, rows[:1], confidence=0.9)) == 1
    result = mercer.evaluate(pipe, rows, y, target="wage")
    assert result.error < result.baseline
    assert set(result.importance) == set(rows.columns)  # raw columns, not encoded ones
    found = mercer.influence(pipe)
    assert found.order[0] == 7
    cleaned = mercer.without(pipe, [7])
    assert abs(cleaned.predict(rows[7:8])[0] - 90) > abs(pipe.predict(rows[7:8])[0] - 90)
    effect = mercer.column_effect(cleaned, rows.drop(index=7), y.drop(7), "age")
    assert effect.values.min() >= 20  # years, not standard deviations
    slope = (effect.effect[-1] - effect.effect[0]) / (effect.values[-1] - effect.values[0])
    assert 0.35 < slope < 0.65
    effects = mercer.marginal_effects(cleaned, rows)
    assert 0.35 < dict(zip(effects.names, effects.average, strict=True))["age"] < 0.65
    assert mercer.permutation_test(pipe, rows, y, permutations=19, random_state=0).pvalue == 0.05
    line = make_pipeline(*[step for _, step in pipe.steps[:-1]], KernelRidge(0.1, kernel=Linear(), fit_intercept=True))
    assert mercer.compare({"search": pipe, "line": line}, rows, y, cv=5, random_state=0).pairs == [("search", "line")]
    ResidualDisplay.from_estimator(pipe, rows, y)
    CoverageDisplay.from_estimator(pipe, rows, y)
    SearchDisplay.from_estimator(pipe)
    with tempfile.TemporaryDirectory() as folder:
        write_report(pipe, rows, y, Path(folder) / "page.html", target="wage")
        assert "wage" in (Path(folder) / "page.html").read_text()
        mercer.save(pipe, Path(folder) / "pipe.mercer")
        assert np.array_equal(mercer.load(Path(folder) / "pipe.mercer").predict(rows), pipe.predict(rows))
plt.close("all")
