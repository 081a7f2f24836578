"""Average effects against numerical derivatives of predictions and refits without each row."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from mercer import KernelRidge, KernelRidgeClassifier, KernelRidgeCV, NystroemRidge, TableEncoder, marginal_effects
from mercer.errors import InputError
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from refusals import refusal, tells

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 3))
X[:, 2] = np.where(X[:, 2] > 0, 1.0, -0.5)
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + X[:, 2] + 0.2 * RNG.normal(size=25)
KERNELS = {
    "Gaussian": Gaussian(1.5),
    "a width per column": Gaussian([1.0, 2.0, 3.0]),
    "Matern 3/2": Matern(2.0, nu=1.5),
    "Matern 5/2": Matern(2.0, nu=2.5),
    "RationalQuadratic": RationalQuadratic(1.5, shape=2.0),
    "Polynomial": Polynomial(3),
    "a sum": Gaussian(2.0) + 0.5 * Linear(),
    "a product": Gaussian(2.0) * Matern(3.0, nu=2.5),
    "Matern 1/2": Matern(3.0, nu=0.5),
    "Laplacian": Laplacian([3.0, 2.0, 4.0]),
    "a rough part": Laplacian(3.0).on([0]) + Gaussian(2.0),
}


def numerical(model, at, j):
    """The effect at each row, from predictions of moved rows."""
    if j == 2:
        ends = [np.column_stack([at[:, :2], np.full(len(at), value)]) for value in (1.0, -0.5)]
        return model.predict(ends[0]) - model.predict(ends[1])
    step = np.zeros(3)
    step[j] = 1e-3
    first, second = ((model.predict(at + k * step) - model.predict(at - k * step)) / (2e-3 * k) for k in (1, 2))
    return (4 * first - second) / 3


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_effects_and_jackknife_errors_are_those_of_refits(name, intercept):
    model = KernelRidge(0.3, kernel=KERNELS[name], fit_intercept=intercept).fit(X, Y)
    found = marginal_effects(model)
    assert found.kinds == ["slope", "slope", "difference"]
    for j in range(3):
        assert np.allclose(found.pointwise[:, j], numerical(model, X, j), rtol=1e-6, atol=1e-8)
        left = []
        for i in range(25):
            rest = np.arange(25) != i
            left.append(numerical(clone(model).fit(X[rest], Y[rest]), X[rest], j).mean())
        spread = np.sqrt(24 / 25 * np.sum((left - np.mean(left)) ** 2))
        assert found.standard_error[j] == pytest.approx(spread, rel=1e-5)
    assert np.allclose(found.average, found.pointwise.mean(axis=0))


def test_homogeneous_errors_are_those_of_krls():
    """c = G y, derivatives -(x_i - x_j) K_ij / w^2, noise of variance mean(residual^2): sum over i of its square."""
    model = KernelRidge(0.7, kernel=Gaussian(1.5)).fit(X[:, :2], Y)
    found = marginal_effects(model, errors="homogeneous")
    K = Gaussian(1.5)(X[:, :2])
    G = np.linalg.inv(K + 0.7 * np.eye(25))
    noise = np.mean((Y - K @ G @ Y) ** 2)
    for j in range(2):
        D = -(X[:, None, j] - X[None, :, j]) * K / 1.5**2
        assert found.average[j] == pytest.approx((D @ G @ Y).mean())
        assert found.standard_error[j] == pytest.approx(np.sqrt(noise * np.sum(D @ G @ G @ D.T)) / 25)


def test_other_rows_and_some_columns():
    new = RNG.normal(size=(7, 3))
    model = KernelRidge(0.3, kernel=Gaussian(1.5), fit_intercept=True).fit(X, Y)
    found = marginal_effects(model, new, columns=["x2", 0])
    assert found.names == ["x2", "x1"]
    assert np.allclose(found.pointwise[:, 0], numerical(model, new, 1), rtol=1e-6)
    left = [numerical(clone(model).fit(np.delete(X, i, 0), np.delete(Y, i)), new, 1).mean() for i in range(25)]
    assert found.standard_error[0] == pytest.approx(np.sqrt(24 / 25 * np.sum((left - np.mean(left)) ** 2)), rel=1e-5)


def test_a_search_gives_the_effects_of_its_winner_and_a_classifier_those_on_its_decision_value():
    search = KernelRidgeCV([Gaussian(1.0), Gaussian(2.0)], [0.1, 1.0], fit_intercept=True).fit(X, Y)
    best = marginal_effects(search.best_estimator_)
    assert np.array_equal(marginal_effects(search).average, best.average)
    labels = np.where(Y > 0, "b", "a")
    classifier = KernelRidgeClassifier(0.5, kernel=Gaussian(1.5)).fit(X, labels)
    regressor = KernelRidge(0.5, kernel=Gaussian(1.5)).fit(X, np.where(Y > 0, 1.0, -1.0))
    assert np.allclose(marginal_effects(classifier).average, marginal_effects(regressor).average)


@pytest.mark.slow
def test_intervals_hold_and_noise_has_no_effect():
    inside, rejected = 0, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(60, 2))
        y = 1.0 * Z[:, 0] + (0.2 + np.abs(Z[:, 0])) * rng.normal(size=60)  # noise that differs from row to row
        found = marginal_effects(KernelRidge(1e-3, kernel=Linear(), fit_intercept=True).fit(Z, y))
        inside += found.interval[0, 0] <= 1.0 <= found.interval[0, 1]
        rejected += found.pvalue[1] < 0.05
    assert 175 <= inside <= 199
    assert rejected <= 22


@pytest.mark.parametrize(
    ("model", "how", "said"),
    [
        (NystroemRidge(), {}, "The model of marginal_effects must be KernelRidge"),
        (KernelRidge(1.0).fit(X, Y), {"of": "probability"}, "must be a fitted KernelRidgeClassifierCV or AutoClass"),
        (KernelRidge(1.0).fit(X, Y), {"of": "odds"}, "of= of marginal_effects must be 'prediction' or 'probability'"),
        (KernelRidge(1.0).fit(X, Y), {"interactions": ["x1"]}, "must be True or pairs of columns"),
        (KernelRidge(1.0, kernel="precomputed").fit(X @ X.T, Y), {}, "no precomputed kernel"),
        (KernelRidge(0.0, kernel=Gaussian(0.2)).fit(X, Y), {}, "alpha for marginal_effects must be above 0"),
        (KernelRidge(1.0).fit(X, Y, np.arange(1.0, 26.0)), {}, "does not support sample_weight"),
        (KernelRidge(1.0).fit(X, np.column_stack([Y, Y])), {}, "of one target or two classes; got 2"),
        (KernelRidge(1.0).fit(X, Y), {"columns": ["x9"]}, "There is no column 'x9'"),
        (KernelRidge(1.0).fit(X, Y), {"errors": "white"}, "errors of marginal_effects must be 'jackknife'"),
    ],
)
def test_what_is_refused(model, how, said):
    with pytest.raises(InputError, match=said):
        marginal_effects(model, **how)


def test_the_result_prints_like_a_table_of_coefficients():
    found = marginal_effects(KernelRidge(1.0, kernel=Gaussian(2.0)).fit(X, Y))
    assert str(found).startswith("Average effects on the prediction (25 rows, jackknife standard errors, ")
    assert list(found.to_frame())[:5] == ["column", "effect", "std. error", "t", "p"]
    assert "<svg" in found._repr_html_()
    assert repr(found).startswith("<MarginalEffects: Average effects")


def test_constant_columns_and_far_offsets():
    table = np.column_stack([X[:, 0], np.ones(25)])
    model = KernelRidge(0.5, kernel=Linear()).fit(table, Y + 3)
    assert np.allclose(marginal_effects(model).average, model.primal_coef_, rtol=1e-6)
    near, far = (
        marginal_effects(KernelRidge(0.5, kernel=Linear(), fit_intercept=True).fit(X[:, :2] + shift, Y))
        for shift in (0.0, 1e6)
    )
    assert np.allclose(near.average, far.average, rtol=1e-5)
    assert np.allclose(near.standard_error, far.standard_error, rtol=1e-4)


def test_kernels_of_named_columns():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = marginal_effects(KernelRidge(0.5, kernel=Gaussian(1.0).on(["a"]) + Linear().on(["b"])).fit(frame, Y))
    assert found.names == ["a", "b", "c"]
    assert found.average[2] == 0.0


def test_a_pipeline_has_effects_per_unit_of_its_table_and_of_levels():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": rng.uniform(40, 200, 60),
            "heating": rng.choice(["gas", "gas", "gas", "oil", "oil", "pump"], 60),
            "new": rng.integers(0, 2, 60).astype(bool),
        }
    )
    y = 2.0 * table["size"] + 30.0 * (table["heating"] == "oil") + 9.0 * table["new"] + rng.normal(size=60)
    pipeline = make_pipeline(TableEncoder(), KernelRidge(1e-3, kernel=Gaussian(20.0), fit_intercept=True)).fit(table, y)
    found = marginal_effects(pipeline)
    assert found.names == ["size", "heating: oil - gas", "heating: pump - gas", "new=True"]
    assert found.kinds == ["slope", "difference", "difference", "difference"]
    assert np.allclose(found.average, [2.0, 30.0, 0.0, 9.0], atol=1.5)
    ends = [pipeline.predict(table.assign(heating=level)) for level in ("oil", "gas")]
    assert np.allclose(found.pointwise[:, 1], ends[0] - ends[1])
    step = [pipeline.predict(table.assign(size=table["size"] + h)) for h in (0.01, -0.01)]
    assert np.allclose(found.pointwise[:, 0], (step[0] - step[1]) / 0.02, rtol=1e-5)
    assert np.allclose(marginal_effects(pipeline, table[:7], columns="heating").pointwise, found.pointwise[:7, 1:3])


def test_errors_of_single_effects_are_those_of_homogeneous_noise():
    model = KernelRidge(0.7, kernel=Gaussian(1.5), fit_intercept=True).fit(X, Y)
    found = marginal_effects(model, pointwise_errors=True)
    noise = np.mean((Y - model.predict(X)) ** 2)
    shares = np.array([marginal_effects(clone(model).fit(X, unit)).pointwise for unit in np.eye(25)])  # linear in y
    assert np.allclose(found.pointwise_error, np.sqrt(noise * np.sum(shares**2, axis=0)), rtol=1e-6)
    assert np.allclose(found.pointwise, marginal_effects(model).pointwise)
    assert marginal_effects(model).pointwise_error is None


def with_gaps(n=60):
    """A table with missing cells in a column of numbers and in one of two numbers, and its target."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.normal(40, 10, n), "flag": rng.integers(0, 2, n) * 1.0, "b": rng.normal(size=n)})
    y = np.exp(table["age"] / 40) + table["flag"] + 0.1 * rng.normal(size=n)
    for name, share in (("age", 0.3), ("flag", 0.2)):
        table.loc[rng.random(n) < share, name] = np.nan
    return table, y.to_numpy()


def changed(model, table):
    """Effects of `age` and `flag` at the rows that have a number, from predictions of changed tables; NaN elsewhere."""
    ends = [model.predict(table.assign(age=table["age"] + step)) for step in (0.01, -0.01)]
    slope = np.where(table["age"].notna(), (ends[0] - ends[1]) / 0.02, np.nan)
    there = table["flag"].notna()
    ends = [model.predict(table.assign(flag=np.where(there, end, np.nan))) for end in (1.0, 0.0)]
    return np.column_stack([slope, np.where(there, ends[0] - ends[1], np.nan)])


@pytest.mark.parametrize("missing", ["mark", "mean"])
def test_rows_without_a_number_have_no_part_in_the_mean(missing):
    table, y = with_gaps()
    encoder = TableEncoder(kinds={"flag": "number"}, missing=missing)
    model = make_pipeline(encoder, KernelRidge(0.1, kernel=Gaussian(2.0), fit_intercept=True)).fit(table, y)
    found, expected = marginal_effects(model, pointwise_errors=True, interactions=True), changed(model, table)
    assert found.kinds == ["slope", "difference", "slope"]
    assert np.allclose(found.pointwise[:, :2], expected, rtol=1e-4, equal_nan=True)
    assert np.allclose(found.average[:2], np.nanmean(expected, axis=0), rtol=1e-4)
    assert found.rows.tolist() == table.notna().sum().tolist()
    assert np.array_equal(np.isnan(found.pointwise_error), np.isnan(found.pointwise))
    assert found.interactions.rows[0] == (table["age"].notna() & table["flag"].notna()).sum()
    assert tells(str(found), "missing values", "rows", found.rows[0])
    other = table[:20].copy()
    other.loc[[3, 4], "b"] = np.nan  # which was never missing
    found = marginal_effects(model, other)
    assert found.rows.tolist() == other.notna().sum().tolist()
    assert np.allclose(found.average[:2], np.nanmean(changed(model, other), axis=0), rtol=1e-4)


def test_jackknife_errors_with_missing_numbers_are_those_of_refits():
    table, y = with_gaps(25)
    encoder = TableEncoder(kinds={"flag": "number"}).fit(table)
    Z, places = encoder.transform(table), [0, 2]  # each beside its marks
    model = KernelRidge(0.1, kernel=Gaussian(2.0), fit_intercept=True).fit(Z, y)
    found = marginal_effects(make_pipeline(encoder, model))
    known, ends = [Z[:, place + 1] == 0 for place in places], np.unique(Z[Z[:, 3] == 0, 2])

    def effects(one, rows):
        step = np.zeros(Z.shape[1])
        step[0] = 1e-4
        first, second = Z[rows & known[0]], Z[rows & known[1]]
        slope = (one.predict(first + step) - one.predict(first - step)).mean() / 2e-4
        high, low = (np.where(np.arange(Z.shape[1]) == 2, end, second) for end in ends[::-1])
        return [slope / encoder.columns_[0].scale.spread, (one.predict(high) - one.predict(low)).mean()]

    rest = ~np.eye(25, dtype=bool)
    left = np.array([effects(clone(model).fit(Z[rows], y[rows]), rows) for rows in rest])
    assert np.allclose(found.average[:2], effects(model, np.ones(25, dtype=bool)), rtol=1e-5)
    assert np.allclose(found.without[:, :2], left, rtol=1e-5)


def test_a_column_that_no_row_has_a_number_in_is_refused():
    table, y = with_gaps()
    model = make_pipeline(TableEncoder(), KernelRidge(0.1, fit_intercept=True)).fit(table, y)
    gone = table[table["age"].isna()]
    assert tells(refusal(marginal_effects, model, gone), "age", "1 row")
    assert marginal_effects(model, gone, columns=["b"]).rows.tolist() == [len(gone)]


@pytest.mark.filterwarnings("ignore::mercer.errors.IllConditionedWarning")
def test_a_model_with_explicit_features_has_effects_if_it_has_digits():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(40, 1))
    y = np.round(2**20 * np.sin(2.0 * Z[:, 0])) / 2**20
    for level, alpha, intercept in ((1e6, 4e-6, False), (1e6, 1e-8, True), (0.0, 1e-9, False)):
        model = KernelRidge(alpha, kernel=Polynomial(5), fit_intercept=intercept).fit(Z, y + level)
        found, n = marginal_effects(model), len(Z)
        step, left = 1e-3, []
        for i in range(n):
            rows = np.arange(n) != i
            one, at = clone(model).fit(Z[rows], y[rows] + level), Z[rows]
            near, far = (
                (one.predict(at + k * step) - one.predict(at - k * step)).mean() / (2 * k * step) for k in (1, 2)
            )
            left.append((4 * near - far) / 3)
        spread = np.sqrt((n - 1) / n * np.sum((left - np.mean(left)) ** 2))
        assert found.standard_error[0] == pytest.approx(spread, rel=1e-3)
    message = refusal(marginal_effects, KernelRidge(0.5, kernel=Polynomial(3)).fit(1e5 * X, Y))
    assert tells(message, "too close to singular", "0.5", "fit_intercept=True")


def test_what_is_advised_for_other_models_takes_them():
    from sklearn.inspection import partial_dependence

    model = NystroemRidge().fit(X, Y)
    assert tells(refusal(marginal_effects, model), "NystroemRidge", "sklearn.inspection.partial_dependence")
    assert partial_dependence(model, X, [0]).average.size
