"""Models of every kind predict the same from their file, to the last bit."""

import numpy as np
import pandas as pd
import pytest
from model_cases import same, through
from scipy import sparse
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline

import mercer
from mercer import (
    AutoClassifier,
    AutoRegressor,
    KernelLogistic,
    KernelLogisticCV,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRegressor,
    KernelRegressorCV,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    LocalRidge,
    LocalRidgeClassifier,
    LocalRidgeClassifierCV,
    LocalRidgeCV,
    NystroemRidge,
    NystroemRidgeClassifier,
    NystroemRidgeClassifierCV,
    NystroemRidgeCV,
    TableEncoder,
)
from mercer.errors import InputError
from mercer.estimators.table_model import TableModel
from mercer.kernels import (
    Cosine,
    Gaussian,
    Jaccard,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Spectrum,
    Subsequence,
    Words,
)
from mercer.models import inspect
from mercer.models.schema import MODELS
from remembered import fitted

# what fits say about themselves is not what is tried here
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")


def params(model):
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in model.get_params().items()
    }


# -- the same model ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"kernel": Gaussian(1.5)},
        {"kernel": Gaussian(np.array([1.0, 2.0])), "fit_intercept": True},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "poly", "degree": 2, "coef0": 0.5},
        {"kernel": Polynomial(3), "solver": "primal", "fit_intercept": True},
        {"kernel": 0.1 * Linear() + Matern(nu=2.5).on([1]) ** 2 * Cosine().normalized(), "alpha": 0.5},
        {"kernel": (0.1 * Linear()).exp(), "solver": "spectral"},
    ],
)
def test_a_ridge_predicts_the_same_to_the_last_bit(data, path, given):
    X, y, _ = data
    model = KernelRidge(**({"alpha": 0.1} | given)).fit(X[:30], y[:30])
    again = through(model, path)
    assert params(again) == params(model)
    assert same(again.predict(X, return_std=True), model.predict(X, return_std=True))
    for method in ("jackknife+", "cv+", "gaussian"):
        assert same(again.predict_interval(X, method=method), model.predict_interval(X, method=method))
    assert same(again.dual_coef_, model.dual_coef_)
    assert again.route_ == model.route_
    assert again.effective_dof_ == model.effective_dof_
    assert hasattr(again, "primal_coef_") == hasattr(model, "primal_coef_")
    if hasattr(model, "primal_coef_"):
        assert same(again.primal_coef_, model.primal_coef_)


def test_weights_several_targets_and_alphas_come_back(data, path, rng):
    X, y, _ = data
    weights = rng.uniform(size=40)
    weights[:5] = 0.0
    model = KernelRidge([0.1, 2.0], kernel=Gaussian(1.0), fit_intercept=True).fit(X, np.c_[y, y**2], weights)
    again = through(model, path)
    assert again.get_params() == model.get_params()
    assert same(again.predict(X, return_std=True), model.predict(X, return_std=True))
    assert same(again.predict_interval(X), model.predict_interval(X))
    assert same(again.intercept_, model.intercept_)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_come_back(data, path, make):
    X, y, _ = data
    table = make(np.where(np.abs(X) > 0.5, X, 0.0))
    for solver in ("primal", "cholesky"):
        model = KernelRidge(0.1, kernel="linear", solver=solver).fit(table, y)
        again = through(model, path)
        assert type(again.X_fit_) is type(model.X_fit_)
        assert same(again.predict(table), model.predict(table))


def test_a_given_matrix_comes_back(data, path):
    X, y, labels = data
    K = Gaussian(1.0)(X)
    again = through(KernelRidge(0.1, kernel="precomputed").fit(K, y), path)
    assert same(
        again.predict(K[:3], return_std=True, diag=np.ones(3)),
        KernelRidge(0.1, kernel="precomputed").fit(K, y).predict(K[:3], return_std=True, diag=np.ones(3)),
    )
    neighbors = KernelNeighborsClassifier(Precomputed(), 3).fit(K, labels)
    assert same(
        through(neighbors, path).kneighbors(K[:3], diag=np.ones(3)), neighbors.kneighbors(K[:3], diag=np.ones(3))
    )


TEXTS = ["good day", "good night", "a d\u00e4y \ud800 off", "", "x" * 50, "good good day"]


@pytest.mark.parametrize(
    ("kernel", "rows"),
    [
        (Words(), TEXTS),
        (Spectrum(2) + 0.1 * Subsequence(2), TEXTS),
        (Jaccard(), [{"a", "b"}, frozenset("bc"), set(), {"a"}, {"c", 1}, {1, 2.5}]),
        (Words(), [["good", "day"], ("day",), [1, 2], [1], [], ["good", None]]),
    ],
)
def test_rows_that_are_objects_come_back(path, kernel, rows):
    y = np.arange(6.0)
    model = KernelRidge(0.5, kernel=kernel).fit(rows, y)
    again = through(model, path)
    assert again.X_fit_.tolist() == model.X_fit_.tolist()
    assert [type(row) for row in again.X_fit_] == [type(row) for row in model.X_fit_]
    assert same(again.predict(rows), model.predict(rows))


def test_a_table_of_texts_beside_numbers_comes_back_with_its_names(path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "note": ["a b", "b", "c a", ""]})
    model = KernelRidge(0.1, kernel=Gaussian(1.0).on("size") + Words().on("note")).fit(table, [1.0, 2.0, 3.0, 4.0])
    again = through(model, path)
    assert again.feature_names_in_.tolist() == ["size", "note"]
    assert same(again.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table[["note", "size"]])


@pytest.mark.parametrize("labels", ["texts", "objects", "numbers", "truth", "three"])
def test_classifiers_come_back_with_labels_of_every_kind(data, path, labels):
    X, y, texts = data
    kinds = {
        "texts": texts, "objects": texts.astype(object), "numbers": (y > 0).astype(int), "truth": y > 0,
        "three": np.digitize(y, [0.0, 1.0]),
    }  # fmt: skip
    for model in (
        KernelRidgeClassifier(0.1, kernel=Gaussian(1.0), class_weight="balanced"),
        KernelNeighborsClassifier(Gaussian(1.0), 3),
    ):
        model.fit(X, kinds[labels])
        again = through(model, path)
        assert again.classes_.dtype == model.classes_.dtype
        assert again.predict(X).tolist() == model.predict(X).tolist()
        if isinstance(model, KernelNeighborsClassifier):
            assert same(again.predict_proba(X), model.predict_proba(X))
            assert same(again.kneighbors(X), model.kneighbors(X))
        else:
            assert same(again.decision_function(X), model.decision_function(X))
            assert same(again.primal_coef_, model.primal_coef_) if hasattr(model, "primal_coef_") else True


@pytest.mark.parametrize("order", ["C", "F"])
def test_neighbours_of_several_targets_come_back_in_their_own_layout(data, path, order):
    X, y, _ = data
    model = KernelNeighborsRegressor("rbf", 3).fit(X, np.array(np.c_[y, y**2, y**3], order=order))
    again = through(model, path)
    assert again._targets.flags.f_contiguous == model._targets.flags.f_contiguous
    assert same(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "how", [{"cv": 5}, {}, {"cv": 4, "repeats": 2, "random_state": 3}, {"verify": True, "random_state": 0}]
)
def test_a_search_comes_back_with_its_winner_and_an_account(data, path, how):
    X, y, _ = data
    kernels = [Gaussian(0.5), Gaussian(1.0), Laplacian(2.0)]
    model = KernelRidgeCV(kernels, [0.01, 0.1, 1.0], fit_intercept=True, **how).fit(X[:30], y[:30])
    again = through(model, path)
    assert again.get_params() == model.get_params()
    for name in ("best_kernel_", "alpha_", "best_score_", "digits_", "kernels_", "best_index_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.summary() == model.summary()
    assert again.folds_.label == model.folds_.label
    assert same(again.cv_predictions_, model.cv_predictions_)
    assert same(again.predict(X, return_std=True), model.predict(X, return_std=True))
    assert same(again.predict_interval(X), model.predict_interval(X))
    if "repeats" not in how:
        assert same(again.predict_interval(X, method="cv+"), model.predict_interval(X, method="cv+"))
    assert through(again, path).summary() == model.summary()
    assert again.fit(X, y).cv_results_["params"] is not None  # a second fit forgets the first


@pytest.mark.slow
def test_folds_are_kept_and_those_that_are_no_partition_by_label_alone(data, path):
    X, y, _ = data
    model = KernelRidgeCV("gaussian", cv=3).fit(X, y)
    again = through(model, path)
    for old, new in zip(model.folds_.splits, again.folds_.splits, strict=True):
        assert new.test.tolist() == old.test.tolist()
        assert new.train.tolist() == old.train.tolist()
        assert new.removal(40).tolist() == old.removal(40).tolist()
    assert again.folds_.partition
    splits = list(ShuffleSplit(3, random_state=0).split(X))
    model = KernelRidgeCV("gaussian", cv=splits).fit(X, y)
    again = through(model, path)
    assert again.folds_.label == model.folds_.label
    assert all(same(a, b) for one, two in zip(again.cv, splits, strict=True) for a, b in zip(one, two, strict=True))
    for each in (model, again):
        with pytest.raises(InputError, match="must be a partition"):
            each.predict_interval(X, method="cv+")


def test_a_search_for_labels_keeps_its_calibration(data, path):
    X, _, labels = data
    model = KernelRidgeClassifierCV(cv=5, class_weight={"much": 2.0, "little": 1.0}).fit(X, labels)
    again = through(model, path)
    assert again.get_params() == model.get_params()
    assert same(again.predict_proba(X), model.predict_proba(X))
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.summary() == model.summary()


@pytest.mark.slow
def test_the_automatic_models_come_back_with_encoder_committee_and_intervals(data, path):
    X, y, labels = data
    table = {"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 0, "yes", "no").astype(object), "same": [1] * 40}
    model = fitted(AutoRegressor(), table, y)
    again = through(model, path)
    assert again.get_params() == model.get_params()
    assert same(again.predict(table, return_std=True), model.predict(table, return_std=True))
    assert same(again.predict_interval(table), model.predict_interval(table))
    assert again.summary() == model.summary()
    assert again.relevance() == model.relevance()
    assert again.encoder_.describe() == model.encoder_.describe()
    judge = fitted(AutoClassifier(), table, labels)
    again = through(judge, path)
    assert same(again.predict_proba(table), judge.predict_proba(table))
    assert again.predict(table).tolist() == judge.predict(table).tolist()
    assert again.summary() == judge.summary()


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.slow
def test_a_model_of_a_table_comes_back(data, path, own):
    X, y, _ = data
    table = {"a": X[:, 0], "c": np.where(X[:, 1] > 0, "yes", "no").astype(object)}
    encoder = TableEncoder().fit(table)
    inner = fitted(AutoRegressor(), table, y) if own else KernelRidgeCV(cv=5).fit(encoder.transform(table), y)
    model = TableModel(inner, None if own else encoder, "y", "id", ("x",), {"error": 1.5, "notes": ["a", None]})
    again = through(model, path)
    assert same(again.predict(table), model.predict(table))
    assert same(again.predict_interval(table), model.predict_interval(table))
    assert (again.target, again.row_id, again.ignored, again.facts) == ("y", "id", ("x",), model.facts)
    assert (inspect(path).kind, inspect(path).columns) == ("TableModel", 2)
    with pytest.raises(InputError, match="This KernelRidgeCV is not fitted yet"):
        mercer.save(TableModel(KernelRidgeCV(), encoder, "y"), path)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), 0.5 * Linear() + Polynomial(2), Linear().on([1])])
@pytest.mark.slow
def test_without_rows_predictions_are_the_same_and_no_row_is_in_the_file(data, path, kernel):
    X, y, labels = data
    for model in (
        KernelRidge(0.1, kernel=kernel, solver="primal", fit_intercept=True).fit(X, y),
        KernelRidge([0.1, 1.0], kernel=kernel, solver="primal").fit(X, np.c_[y, -y]),
        KernelRidgeCV([kernel], [0.1, 1.0], cv=5).fit(X, y),
        KernelRidgeClassifier(0.1, kernel=kernel).fit(X, labels),
        KernelRidgeClassifierCV([kernel], [0.1, 1.0], cv=5).fit(X, labels),
    ):
        mercer.save(model, path, rows=False)
        again = mercer.load(path)
        if labels is not None and hasattr(model, "classes_"):
            assert again.predict(X).tolist() == model.predict(X).tolist()
        else:
            assert again.predict(X) == pytest.approx(model.predict(X), abs=1e-12)
        if hasattr(model, "predict_proba"):
            assert again.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)
        raw = path.read_bytes()
        assert not any(np.float64(cell).tobytes() in raw for cell in [*X.ravel(), *y])
        assert inspect(path).rows == 0
        mercer.save(again, path, rows=False)  # nothing is left to leave out


def test_what_needs_its_rows_is_refused_without_them(data, path):
    X, y, labels = data
    for model in (
        KernelRidge(kernel=Gaussian(1.0)).fit(X, y),
        KernelRidgeCV([Laplacian(1.0)], [1.0]).fit(X, y),
        KernelNeighborsClassifier(Linear()).fit(X, labels),
        mercer.NystroemRidge(kernel=Gaussian(1.0), landmarks=5).fit(X, y),
    ):
        with pytest.raises(InputError, match=f"{type(model).__name__} cannot be saved without training rows: "):
            mercer.save(model, path, rows=False)
    assert not path.exists()
    mercer.save(KernelRidge().fit(X, y), path, rows=False)
    bare = mercer.load(path)
    with pytest.raises(InputError, match="Prediction intervals need the training rows"):
        bare.predict_interval(X)
    with pytest.raises(InputError, match="X must have 2 columns, as in fit; got 1"):
        bare.predict(X[:, :1])
    mercer.save(KernelRidgeClassifier().fit(X, labels), path, rows=False)
    with pytest.raises(InputError, match="predict_proba needs a calibrated model"):
        mercer.load(path).predict_proba(X)


def test_an_encoder_that_was_asked_for_is_kept_with_its_words(data, path):
    X, y, _ = data
    texts = [f"{'good' if value > 0.5 else 'bad'} thing number {i % 3}" for i, value in enumerate(y)]
    table = {"a": X[:, 0], "note": np.array(texts, dtype=object)}
    model = AutoRegressor(committee=False, encoder=TableEncoder({"note": "text"}, missing="mean")).fit(table, y)
    again = through(model, path)
    assert repr(again.encoder) == repr(model.encoder)
    assert again.encoder_.columns_ == model.encoder_.columns_
    assert same(again.predict(table), model.predict(table))


MADE_FROM_MODELS = (
    "FeatureClassifier",
    "FeatureRegressor",
    "TableEncoder",
    "TableModel",
)  # their parameters are all they are
DERIVED = {
    "cv_results_", "_state", "_search", "_known", "plan_", "table_", "folds_", "choice_", "landmark_check_", "nested_",
    "nested_scores_", "optimism_", "residuals_", "_as_fitted",
}  # fmt: skip


@pytest.mark.slow
def test_every_attribute_of_a_fitted_model_is_stored_or_follows_from_others(data, path):
    X, y, labels = data
    models = [
        KernelRidge().fit(X, y), KernelRidgeClassifier().fit(X, labels), KernelNeighborsClassifier().fit(X, labels),
        KernelNeighborsRegressor().fit(X, y), KernelRidgeCV(verify=True).fit(X, y),
        KernelRidgeClassifierCV().fit(X, labels), AutoRegressor().fit(X, y), AutoClassifier().fit(X, labels),
        NystroemRidge().fit(X, y), NystroemRidgeClassifier().fit(X, labels),
        NystroemRidgeCV(cv=3, nested=True).fit(X, y), NystroemRidgeClassifierCV(cv=3).fit(X, labels),
        LocalRidge().fit(X, y), LocalRidgeClassifier().fit(X, labels), LocalRidgeCV(verify=True).fit(X, y),
        LocalRidgeClassifierCV(cv=2).fit(X, labels),
    ]  # fmt: skip
    losses = [KernelRegressor(loss="huber", fit_intercept=True), KernelRegressor(), KernelLogistic()]
    losses += [KernelRegressorCV("linear", loss="expectile"), KernelLogisticCV("linear")]
    models += [model.fit(X, labels if hasattr(model, "predict_proba") else y) for model in losses]
    known = {type(model).__name__ for model in models} | {*MADE_FROM_MODELS}
    assert known == set(MODELS)
    for model in models:
        again = through(model, path)
        lost = {name for name in vars(model) if name not in vars(again)}
        assert lost <= DERIVED
        assert same(again.predict(X), model.predict(X))


# -- pipelines of an encoder and a model -----------------------------------------------------------------


def houses(n=40):
    rng = np.random.default_rng(0)
    size, town = rng.uniform(20.0, 90.0, n), rng.choice(["Rome", "Bonn"], n)
    table = {"size": size, "town": town, "built": rng.integers(1900, 2020, n).astype(float)}
    return table, 3.0 * size + 40.0 * (town == "Rome") + rng.normal(size=n)


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(0.1, kernel=Gaussian(2.0)),
        KernelRidgeCV("gaussian", [0.1, 1.0], cv=4, random_state=0),
        NystroemRidge(0.1, kernel=Gaussian(2.0), landmarks=10),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_pipeline_of_an_encoder_and_a_model_is_kept_whole(model, path):
    table, y = houses()
    frame = pd.DataFrame(table)
    whole = Pipeline([("columns", TableEncoder()), ("model", model)]).fit(frame, y)
    again = through(whole, path)
    assert [name for name, _ in again.steps] == ["columns", "model"]
    np.testing.assert_array_equal(again.predict(frame[["town", "built", "size"]]), whole.predict(frame))
    assert mercer.models.inspect(path).kind == "Pipeline"


def test_a_pipeline_keeps_its_rows(path):
    table, y = houses()
    whole = Pipeline([("columns", TableEncoder()), ("model", KernelRidge(0.1, kernel=Linear()))]).fit(table, y)
    with pytest.raises(InputError, match=r"rows=False is not supported for a Pipeline\. Use rows=True\."):
        mercer.save(whole, path, rows=False)


def test_a_pipeline_that_is_not_fitted_is_refused(path):
    with pytest.raises(InputError, match=r"This Pipeline is not fitted yet\. Call fit before save\."):
        mercer.save(Pipeline([("columns", TableEncoder()), ("model", KernelRidge())]), path)
