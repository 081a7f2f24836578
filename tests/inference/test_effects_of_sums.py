"""Effects of committees, on probabilities and exponentials, and of pairs of columns, against predictions and refits.

Covers: inference.parts.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import AutoClassifier, AutoRegressor, KernelRidge, KernelRidgeClassifierCV, marginal_effects
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from remembered import fitted

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(
    {
        "age": RNG.uniform(20, 60, 60).round(1),
        "income": RNG.lognormal(8, 0.5, 60).round(),
        "town": RNG.choice(["Rome", "Oslo", "Bonn"], 60),
    }
)
TARGET = np.exp(0.02 * TABLE["age"].to_numpy() + 0.3 * (TABLE["town"] == "Oslo") + 0.1 * RNG.normal(size=60))
NEW = TABLE[:7].assign(age=[21.23, 30.17, 33.31, 41.77, 44.05, 52.61, 58.9])  # away from the kinks of the members


def moved(predict, rows, column, step):
    """A central difference of predictions."""
    ends = [rows.assign(**{column: rows[column] + each}) for each in (step, -step)]
    return (predict(ends[0]) - predict(ends[1])) / (2 * step)


@pytest.fixture(scope="module", params=["squared", "log"], ids=["plain", "log"])
def regressor(request):
    return AutoRegressor(loss=request.param).fit(TABLE, TARGET)


@pytest.fixture(scope="module")
def classifier():
    return AutoClassifier().fit(TABLE, np.where(TARGET > np.median(TARGET), "high", "low"))


def test_effects_of_a_committee_are_differences_of_its_predictions(regressor):
    found = marginal_effects(regressor, NEW)
    assert set(found.names) > {"age", "income"}
    assert np.allclose(found.pointwise[:, 0], moved(regressor.predict, NEW, "age", 1e-4), rtol=1e-3, atol=1e-7)
    levels = [name for name in found.names if name.startswith("town")]
    for name in levels:
        new, common = name.removeprefix("town: ").split(" - ")
        differences = regressor.predict(NEW.assign(town=new)) - regressor.predict(NEW.assign(town=common))
        assert np.allclose(found.pointwise[:, found.names.index(name)], differences, rtol=1e-8, atol=1e-10)


def test_errors_of_a_committee_are_those_of_refits_of_its_members():
    model = fitted(AutoRegressor(), TABLE, TARGET)
    found, Z = marginal_effects(model), model.models_[0].X_fit_
    Y = (TARGET - model.centre_) / model.scale_
    places = {change: k for k, change in enumerate(found.names)}
    for row in (0, 17):
        rest = np.delete(np.arange(60), row)
        theirs = [
            marginal_effects(clone(each).fit(Z[rest], Y[rest]), columns=[0]).average[0] * member.weight
            for member, each in zip(model.members_, model.models_, strict=True)
        ]
        spread = model.encoder_.columns_[0].scale.spread
        assert np.isclose(found.without[row, places["age"]], sum(theirs) * model.scale_ / spread, rtol=1e-8)
    residuals = TARGET - model.predict(TABLE)
    unit = np.sqrt(np.mean(residuals**2))
    plain = marginal_effects(model, errors="homogeneous")
    assert np.allclose(plain.average, found.average)
    assert 0 < plain.standard_error[0] < 10 * unit


def test_effects_on_probabilities_are_differences_of_them(classifier):
    found = marginal_effects(classifier, NEW, of="probability")
    slopes = moved(lambda rows: classifier.predict_proba(rows)[:, 1], NEW, "age", 1e-4)
    assert np.allclose(found.pointwise[:, 0], slopes, rtol=1e-3, atol=1e-7)
    odds = marginal_effects(classifier, NEW)
    assert np.allclose(
        odds.pointwise[:, 0], moved(classifier.decision_function, NEW, "age", 1e-4), rtol=1e-3, atol=1e-7
    )


@pytest.mark.parametrize("own", [True, False])
def test_errors_on_probabilities_are_those_of_the_delta_method(own):
    X = RNG.normal(size=(30, 2))
    X[:, 1] = X[:, 1] > 0
    labels = X[:, 0] + X[:, 1] + 0.7 * RNG.normal(size=30) > 0.5
    search = KernelRidgeClassifierCV(Gaussian(1.5), [0.5, 5.0], fit_intercept=True).fit(X, labels)
    at = None if own else X[:9] + np.array([0.1, 0.0])
    found = marginal_effects(search, at, of="probability", errors="homogeneous", pointwise_errors=True)
    best = search.best_estimator_

    def probabilities(rows, y):
        ridge = KernelRidge(best.alpha, kernel=best.kernel, fit_intercept=True).fit(X, y)
        return search.temperature_.probabilities(ridge.predict(rows)[:, None])[:, 1]

    def effects(y):
        rows = X if own else at
        h = np.array([1e-3, 0.0])
        ends = [np.column_stack([rows[:, 0], np.full(len(rows), end)]) for end in (0.0, 1.0)]
        slope = (probabilities(rows + h, y) - probabilities(rows - h, y)) / 2e-3
        return np.column_stack([slope, probabilities(ends[1], y) - probabilities(ends[0], y)])

    y = np.where(labels, 1.0, -1.0)
    assert np.allclose(found.pointwise, effects(y), rtol=1e-5, atol=1e-7)
    jacobian = np.array([(effects(y + step) - effects(y - step)) / 2e-4 for step in 1e-4 * np.eye(30)])
    noise = np.mean((y - best.decision_function(X)) ** 2)
    assert np.allclose(found.pointwise_error, np.sqrt(noise * np.sum(jacobian**2, axis=0)), rtol=1e-4)
    shares = jacobian.mean(axis=1)
    assert np.allclose(found.standard_error, np.sqrt(noise * np.sum(shares**2, axis=0)), rtol=1e-4)


KERNELS = {
    "Gaussian": Gaussian([1.0, 2.0, 1.5]),
    "narrow": Gaussian(0.3),
    "Matern 1/2": Matern(2.0, nu=0.5),
    "Matern 3/2": Matern(2.0, nu=1.5),
    "Matern 5/2": Matern(2.0, nu=2.5),
    "RationalQuadratic": RationalQuadratic(1.5, shape=2.0),
    "Laplacian": Laplacian(2.0),
    "Polynomial": Polynomial(3),
    "a sum": Gaussian(2.0) + 0.5 * Linear(),
}


@pytest.mark.parametrize("name", KERNELS)
def test_interactions_are_cross_differences_of_predictions(name):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 3))
    X[:, 2] = X[:, 2] > 0
    y = X[:, 0] * X[:, 1] + X[:, 0] * X[:, 2] + 0.1 * rng.normal(size=25)
    model = KernelRidge(0.3, kernel=KERNELS[name], fit_intercept=True).fit(X, y)
    at = rng.normal(size=(6, 3))
    found = marginal_effects(model, at, interactions=True).interactions
    assert found.names == ["x1 x x2", "x1 x x3", "x2 x x3"]
    a, b = np.diag([1e-4, 1e-4, 0.0])[:2]
    predict = model.predict
    crossed = (predict(at + a + b) - predict(at + a - b) - predict(at - a + b) + predict(at - a - b)) / 4e-8
    assert np.allclose(found.pointwise[:, 0], crossed, rtol=1e-3, atol=1e-4 * np.abs(crossed).max())
    high, low = (np.column_stack([at[:, :2], np.full(6, end)]) for end in (1.0, 0.0))
    mixed = (predict(high + a) - predict(high - a) - predict(low + a) + predict(low - a)) / 2e-4
    assert np.allclose(found.pointwise[:, 1], mixed, rtol=1e-3, atol=1e-4 * np.abs(mixed).max())
    own = marginal_effects(model, interactions=[("x1", "x2"), (0, 2)]).interactions
    rest = np.arange(1, 25)
    less = marginal_effects(clone(model).fit(X[rest], y[rest]), interactions=[(0, 1), (0, 2)]).interactions
    assert np.allclose(own.without[0], less.average, rtol=1e-8, atol=1e-8 * np.abs(less.average).max())
    assert "Pairs of columns" in str(marginal_effects(model, interactions=True))


def test_a_product_is_seen_as_an_interaction():
    X = np.random.default_rng(0).normal(size=(150, 3))
    y = 2.0 * X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(1).normal(size=150)
    model = KernelRidge(0.001, kernel=Gaussian(3.0), fit_intercept=True).fit(X, y)
    found = marginal_effects(model, interactions=True).interactions
    assert abs(found.average[0] - 2.0) < 0.3
    assert (np.abs(found.average[1:]) < 0.3).all()
    assert found.pvalue[0] < 1e-6
