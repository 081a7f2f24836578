"""A notebook: AutoRegressor on a pandas frame, its error, intervals, effects of columns and pictures."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import mercer
from mercer.displays import CoverageDisplay, LearningCurveDisplay, ResidualDisplay

rng = np.random.default_rng(1)
n = 260
people = pd.DataFrame(
    {
        "age": rng.integers(18, 66, n),
        "years": rng.uniform(0, 20, n),
        "branch": rng.choice(["trade", "crafts", "care"], n, p=[0.5, 0.3, 0.2]),
        "remote": rng.choice([True, False], n),
    }
)
wage = pd.Series(15 + 0.5 * people["years"] - 3.0 * (people["branch"] == "care") + rng.normal(0, 1.0, n), name="wage")
train, test = slice(0, 180), slice(180, None)
X, y, X_new, y_new = people[train], wage[train], people[test], wage[test]

model = mercer.AutoRegressor().fit(X, y)
got = np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2))
assert abs(model.error_ - got) < 3 * model.error_standard_error_ + 0.15
assert model.error_ < 0.6 * model.baseline_
assert model.score(X_new, y_new) > 0.7
assert model.feature_names_in_.tolist() == list(people.columns)
assert "AutoRegressor" in repr(model)
assert "years" in model.summary()

lower, upper = model.predict_interval(X_new, confidence=0.9)
assert lower.shape == upper.shape == (80,)
assert np.mean((lower <= y_new) & (y_new <= upper)) > 0.8
assert 0.8 < float(model.coverage(X_new, y_new)) <= 1.0

outer = model.evaluate(X, y, cv=3)
assert outer.error < outer.baseline
assert outer.predicted.shape == (180,)
everything = mercer.evaluate(model, X, y, target="wage")
assert everything.error == model.error_
assert next(iter(everything.importance)) == "years"
assert "wage" in str(everything)

effect = mercer.column_effect(model, X, y, "years", target="wage")
slope = (effect.effect[-1] - effect.effect[0]) / (effect.values[-1] - effect.values[0])
assert 0.35 < slope < 0.6
levels = mercer.column_effect(model, X, y, "branch")
assert sorted(levels.values) == ["care", "crafts", "trade"]
frame = mercer.marginal_effects(model).to_frame().set_index("column")
assert 0.35 < frame.loc["years", "effect"] < 0.6
assert frame.loc["branch: care - trade", "effect"] < -1.5
assert frame.loc["age", "p"] > 0.001
assert any("remote" in name for name in frame.index)

assert effect.plot().ax_.get_xlabel() == "years"
mercer.marginal_effects(model).plot()
ResidualDisplay.from_estimator(model, X, y, y_label="wage (EUR)", cv=3)
CoverageDisplay.from_estimator(model, X_new, y_new)
LearningCurveDisplay.from_estimator(mercer.AutoRegressor(committee=False), X, y, sizes=[60, 100], cv=3, random_state=0)
plt.close("all")
