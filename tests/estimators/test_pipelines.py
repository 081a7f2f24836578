"""Pipelines that end in one of our models do what the models do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import mercer
from mercer import AutoClassifier, AutoRegressor, KernelRidge, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.errors import InputError
from mercer.estimators.pipelines import column_names, column_values, with_column
from mercer.kernels import Gaussian, Laplacian, Matern
from refusals import refusal, tells


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"size": 100.0 * rng.normal(size=n), "age": rng.uniform(1.0, 9.0, size=n), "kind": rng.choice(list("xyz"), n)}
    )
    return X, np.sin(X["size"] / 100.0) + 0.2 * X["age"] + (X["kind"] == "x") + 0.05 * rng.normal(size=n)


def mixed():
    return make_column_transformer(
        (StandardScaler(), ["size", "age"]),
        (OneHotEncoder(sparse_output=False), ["kind"]),
        verbose_feature_names_out=False,
    )


def ridge(kernel=None):
    return KernelRidge(0.1, kernel=kernel or Gaussian(1.5), fit_intercept=True)


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return make_pipeline(mixed(), KernelRidgeCV(fit_intercept=True)).fit(X, y), X, y


def test_intervals_sets_and_updates_are_those_of_the_model_on_transformed_rows(fitted):
    pipeline, X, y = fitted
    Z, last = pipeline[:-1].transform(X), pipeline[-1]
    for mine, own in zip(mercer.predict_interval(pipeline, X[:5]), last.predict_interval(Z[:5]), strict=True):
        np.testing.assert_array_equal(mine, own)
    lower, upper = mercer.predict_interval(pipeline, X[:5], 0.8, "cv+", cv=5, random_state=0)
    assert (lower < upper).all()
    simple = make_pipeline(mixed(), ridge()).fit(X, y)
    np.testing.assert_array_equal(mercer.predict_set(simple, X[:2])[0], simple[-1].predict_set(Z[:2])[0])
    np.testing.assert_array_equal(mercer.without(simple, [3]).predict(X), simple[-1].without([3]).predict(Z))
    again = mercer.with_rows(mercer.without(simple, [59]), X[59:], y[59:])
    np.testing.assert_allclose(again.predict(X), simple.predict(X), atol=1e-9)


def test_intervals_and_sets_take_the_diagonal_of_precomputed_kernels():
    X = np.random.default_rng(0).normal(size=(30, 2))
    K = Gaussian(1.0)(X)
    model = KernelRidge(0.1, kernel="precomputed").fit(K[:25, :25], X[:25, 0])
    new, diag = K[25:, :25], np.ones(5)
    np.testing.assert_array_equal(
        mercer.predict_interval(model, new, method="gaussian", diag=diag),
        model.predict_interval(new, method="gaussian", diag=diag),
    )
    np.testing.assert_array_equal(mercer.predict_set(model, new, diag=diag)[0], model.predict_set(new, diag=diag)[0])


def test_models_that_cannot_are_refused_by_name(fitted):
    _, X, y = fitted
    labels = make_pipeline(mixed(), KernelRidgeClassifierCV()).fit(X, y > 1.0)
    with pytest.raises(InputError, match="KernelRidgeClassifierCV"):
        mercer.predict_interval(labels, X)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Matern(2.0, nu=2.5), Laplacian(3.0)], ids=repr)
@pytest.mark.parametrize("more", [(), (PCA(3),), (PolynomialFeatures(2, include_bias=False),)], ids=["", "pca", "poly"])
def test_effects_are_slopes_of_predictions_by_the_raw_columns(kernel, more):
    X, y = table()
    pipeline = make_pipeline(mixed(), *more, ridge(kernel)).fit(X, y)
    effects = mercer.marginal_effects(pipeline, X)
    step = 1e-5
    for name, place in (("size", 0), ("age", 1)):
        by = step * X[name].std()
        slope = (
            pipeline.predict(X.assign(**{name: X[name] + by})) - pipeline.predict(X.assign(**{name: X[name] - by}))
        ) / (2 * by)
        at = effects.names.index(name)
        apart = np.abs(effects.pointwise[:, at] - slope)
        # a kink of the Laplacian, or a category, is not among the rows that are moved
        np.testing.assert_allclose(np.median(apart), 0.0, atol=1e-5 * np.abs(slope).max())
        assert place == at
    common = X["kind"].value_counts().index[0]
    other = effects.names[2].split(": ")[1].split(" - ")[0]
    difference = pipeline.predict(X.assign(kind=other)) - pipeline.predict(X.assign(kind=common))
    np.testing.assert_allclose(effects.pointwise[:, 2], difference, atol=1e-9)


def test_effects_of_scaled_columns_are_those_of_the_model_with_errors_in_raw_units():
    X, y = table()
    numbers = X[["size", "age"]]
    pipeline = make_pipeline(StandardScaler(), ridge()).fit(numbers, y)
    scale = pipeline[0].scale_
    own, mine = mercer.marginal_effects(pipeline[-1]), mercer.marginal_effects(pipeline, numbers)
    np.testing.assert_allclose(mine.average, own.average / scale, rtol=1e-9)
    np.testing.assert_allclose(mine.standard_error, own.standard_error / scale, rtol=1e-9)
    assert mine.names == ["size", "age"]


def test_effects_leave_rows_without_a_number_out():
    X, y = table()
    X.loc[4, "age"] = np.nan
    numbers = X[["size", "age"]]
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), ridge()).fit(numbers, y)
    effects = mercer.marginal_effects(pipeline, numbers)
    assert effects.rows.tolist() == [60, 59]
    assert np.isnan(effects.pointwise[4, 1])


def test_effects_need_the_rows_and_refuse_mixed_interactions(fitted):
    pipeline, X, y = fitted
    with pytest.raises(InputError, match="needs X"):
        mercer.marginal_effects(pipeline)
    turned = make_pipeline(mixed(), PCA(3), ridge()).fit(X, y)
    with pytest.raises(InputError, match="interactions"):
        mercer.marginal_effects(turned, X, interactions=True)
    apart = mercer.marginal_effects(make_pipeline(mixed(), ridge()).fit(X, y), X, interactions=[("size", "age")])
    assert apart.interactions.names == ["size x age"]


def test_influence_and_permutations_take_pipelines(fitted):
    pipeline, X, y = fitted
    found = mercer.influence(pipeline, X[:2])
    own = mercer.influence(pipeline[-1], pipeline[:-1].transform(X[:2]))
    np.testing.assert_array_equal(found.error_without, own.error_without)
    result = mercer.permutation_test(pipeline, X, y, permutations=19, random_state=0)
    assert result.pvalue == 0.05
    Z = clone(pipeline[:-1]).fit_transform(X)
    assert result.score == mercer.permutation_test(pipeline[-1], Z, y, permutations=1, random_state=0).score
    columns = mercer.permutation_test(pipeline, X, y, permutations=9, columns=["kind"], random_state=0)
    assert columns.names == ["kind"]
    assert columns.pvalue[0] == 0.1
    supervised = make_pipeline(StandardScaler(), SelectKBest(f_regression, k=1), KernelRidgeCV())
    with pytest.raises(InputError, match="without the targets"):
        mercer.permutation_test(supervised, X[["size", "age"]], y, permutations=3)


def test_an_evaluation_nests_the_whole_pipeline_and_speaks_of_raw_columns(fitted):
    pipeline, X, y = fitted
    result = mercer.evaluate(pipeline, X, y)
    nested = mercer.nested_cross_validate(pipeline, X, y, cv=10, random_state=0)
    assert result.error == pytest.approx(np.sqrt(-nested.mean))
    assert set(result.importance) == {"size", "age", "kind"}
    effect = mercer.column_effect(pipeline, X, y, "size", kind="average")
    assert X["size"].min() <= effect.values.min() < effect.values.max() <= X["size"].max()
    levels = mercer.column_effect(pipeline, X, y, "kind")
    assert levels.values.tolist() == ["x", "y", "z"]
    turned = make_pipeline(mixed(), PCA(3), KernelRidgeCV()).fit(X, y)
    assert set(mercer.evaluate(turned, X, y).importance) == {"pca0", "pca1", "pca2"}


@pytest.mark.parametrize("labels", [False, True])
def test_an_automatic_model_behind_transformers_is_asked_about_raw_columns(labels, tmp_path):
    X, y = table()
    y = np.where(y > 1.0, "high", "low") if labels else y
    model = (AutoClassifier if labels else AutoRegressor)(committee=False)
    pipeline = make_pipeline(mixed(), model).fit(X, y)
    assert set(mercer.evaluate(pipeline, X, y).importance) == {"size", "age", "kind"}
    effect = mercer.column_effect(pipeline, X, y, "age", kind="average")
    predict = (lambda rows: pipeline.predict_proba(rows)[:, 1]) if labels else pipeline.predict
    expected = [predict(X.assign(age=value)).mean() for value in effect.values]
    np.testing.assert_allclose(effect.effect, expected, rtol=1e-6)
    assert mercer.column_effect(pipeline, X, y, 1, kind="average").column == "age"
    assert set(mercer.column_effect(pipeline, X, y, "kind").values) == set("xyz")
    mercer.report.write_report(pipeline, X, y, tmp_path / "report.html")
    assert "kind" in (tmp_path / "report.html").read_text()


def test_effects_of_an_automatic_model_behind_transformers_are_slopes_by_the_raw_columns():
    X, y = table()
    pipeline = make_pipeline(mixed(), AutoRegressor(committee=False)).fit(X, y)
    found = mercer.marginal_effects(pipeline, X)
    slopes = [
        (pipeline.predict(X.assign(**{name: X[name] + h})) - pipeline.predict(X.assign(**{name: X[name] - h})))
        / (2 * h)
        for name, h in (("size", 1e-2), ("age", 1e-4))
    ]
    np.testing.assert_allclose(found.average[:2], np.mean(slopes, axis=1), rtol=1e-4)
    assert [name.split(":")[0] for name in found.names] == ["size", "age", "kind", "kind"]


@pytest.mark.parametrize(
    "transformers",
    [
        (StandardScaler(), PCA()),
        (FunctionTransformer(np.arctan),),
        (StandardScaler(), PolynomialFeatures(2)),
        (SimpleImputer(), MinMaxScaler()),
    ],
    ids=repr,
)
def test_column_effects_move_raw_columns_through_transformers_that_mix_or_bend_them(transformers):
    X, y = table()
    X = X[["size", "age"]].copy()
    if isinstance(transformers[0], SimpleImputer):
        X.loc[3, "age"] = np.nan
    pipeline = make_pipeline(*transformers, KernelRidgeCV(fit_intercept=True)).fit(X, y)
    effect = mercer.column_effect(pipeline, X, y, "age", kind="average")
    assert effect.values.max() == X["age"].max()
    known = X[X["age"].notna()]
    expected = [pipeline.predict(known.assign(age=value)).mean() for value in effect.values]
    np.testing.assert_allclose(effect.effect, expected, rtol=1e-6)
    local = mercer.column_effect(pipeline, X, y, 1)
    assert (local.column, len(local.values)) == ("age", len(effect.values))


def test_levels_that_become_one_number_are_moved_as_levels_and_unused_columns_refused():
    X, y = table()
    encode = make_column_transformer((OrdinalEncoder(), ["kind"]), (StandardScaler(), ["size"]))
    pipeline = make_pipeline(encode, PCA(), KernelRidgeCV(fit_intercept=True)).fit(X, y)
    effect = mercer.column_effect(pipeline, X, y, "kind", kind="average")
    expected = [pipeline.predict(X.assign(kind=level)).mean() for level in "xyz"]
    np.testing.assert_allclose(effect.effect, expected, rtol=1e-6)
    assert tells(refusal(mercer.column_effect, pipeline, X, y, "age"), "age", "not used")


def test_a_single_model_is_evaluated_as_a_search_of_one_candidate():
    X, y = table()
    pipeline = make_pipeline(mixed(), ridge()).fit(X, y)
    result = mercer.evaluate(pipeline, X, y)
    folds = mercer.cross_validate(pipeline, X, y, cv=10, random_state=0)
    assert result.error == pytest.approx(np.sqrt(-folds.mean))


def test_displays_and_reports_take_pipelines(fitted, tmp_path):
    from matplotlib import pyplot as plt

    pipeline, X, y = fitted
    assert mercer.displays.CoverageDisplay.from_estimator(pipeline, X, y).rows == len(X)
    assert len(mercer.displays.SearchDisplay.from_estimator(pipeline).alphas) == len(pipeline[-1].alphas_)
    assert len(mercer.displays.SpectrumDisplay.from_estimator(pipeline).eigenvalues) == len(X)
    one = make_pipeline(StandardScaler(), ridge()).fit(X[["size"]], y)
    assert mercer.displays.FitDisplay.from_estimator(one, X[["size"]], y).lower is not None
    plt.close("all")
    mercer.report.write_report(pipeline, X, y, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "transformed linearly by the Pipeline" in page


# -- files ----------------------------------------------------------------------------------------

TRANSFORMERS = [
    StandardScaler(), StandardScaler().set_output(transform="pandas"), MinMaxScaler(), RobustScaler(),
    PowerTransformer(), QuantileTransformer(n_quantiles=10), PolynomialFeatures(2), PCA(2), OrdinalEncoder(),
    make_union(PCA(1), MinMaxScaler()), make_pipeline(StandardScaler(), PCA(2)), "passthrough",
]  # fmt: skip


def saved(pipeline, folder):
    mercer.save(pipeline, folder / "pipeline.mercer")
    return mercer.load(folder / "pipeline.mercer")


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
def test_pipelines_of_common_transformers_are_saved(transformer, tmp_path):
    X, y = table()
    X.loc[3, "age"] = np.nan
    numbers = X[["size", "age"]]
    pipeline = make_pipeline(SimpleImputer(add_indicator=True), transformer, ridge()).fit(numbers, y)
    again = saved(pipeline, tmp_path)
    np.testing.assert_array_equal(again.predict(numbers), pipeline.predict(numbers))
    np.testing.assert_allclose(clone(again).fit(numbers, y).predict(numbers), pipeline.predict(numbers))


@pytest.mark.parametrize("rest", ["drop", "passthrough", MinMaxScaler()], ids=str)
def test_column_transformers_are_saved_with_the_columns_that_functions_chose(rest, tmp_path):
    X, y = table()
    X["more"] = np.arange(60)
    chosen = make_column_selector(dtype_include=np.float64)
    steps = make_column_transformer(
        (StandardScaler(), chosen), (OneHotEncoder(min_frequency=2), ["kind"]), remainder=rest
    )
    pipeline = make_pipeline(steps, KernelRidgeCV(cv=3)).fit(X, y)
    again = saved(pipeline, tmp_path)
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))
    assert again[0].transformers[0][2] == ["size", "age"]
    assert "4 columns" in str(mercer.models.inspect(tmp_path / "pipeline.mercer"))


def test_other_transformers_are_refused_by_name(tmp_path):
    X, y = table()
    numbers = X[["size", "age"]]
    for transformer, name in (
        (SelectKBest(f_regression, k=1), "SelectKBest"),
        (FunctionTransformer(np.abs), "FunctionTransformer"),
        (make_column_transformer((KNNImputer(), ["size"]), (FunctionTransformer(np.abs), ["age"])), "KNNImputer"),
        (make_column_transformer(("passthrough", ["size"]), (FunctionTransformer(np.abs), ["age"])), "FunctionTransf"),
        (make_union(StandardScaler(), make_pipeline(StandardScaler(), KNNImputer())), "KNNImputer"),
    ):
        message = refusal(mercer.save, make_pipeline(transformer, ridge()).fit(numbers, y), tmp_path / "p.mercer")
        assert tells(message, name, "Use one of")
    with pytest.raises(InputError, match="not fitted"):
        mercer.save(make_pipeline(StandardScaler(), ridge()), tmp_path / "p.mercer")
    with pytest.raises(InputError, match="StandardScaler"):
        mercer.save(make_pipeline(PCA(1), StandardScaler()).fit(numbers), tmp_path / "p.mercer")


# -- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, dict, lambda columns: np.column_stack([*columns.values()])]
)
def test_one_column_of_any_table_is_changed(make):
    X = make({"a": np.array([1.0, 2.0, 3.0]), "b": np.array([4.0, 5.0, 6.0])})
    assert column_names(X) in (["a", "b"], ["x1", "x2"])
    assert column_values(with_column(X, 1, shift=0.5), 1).tolist() == [4.5, 5.5, 6.5]
    moved = with_column(X, 0, lenders=np.array([2, 2, 0]))
    assert column_values(moved, 0).tolist() == [3.0, 3.0, 1.0]
    assert column_values(X, 0).tolist() == [1.0, 2.0, 3.0]


def test_an_index_of_pandas_moves_no_cell():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 7, 2])
    assert with_column(X, 0, lenders=np.array([2, 1, 0]))["a"].tolist() == [3.0, 2.0, 1.0]
    assert with_column(X, 0, shift=1.0)["a"].tolist() == [2.0, 3.0, 4.0]
