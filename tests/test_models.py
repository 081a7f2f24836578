"""Model files: the same model to the last bit, and nothing but a sentence for everything else."""

import json
import os
import stat
import subprocess
import sys
import threading
import tracemalloc
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    AutoClassifier,
    AutoRegressor,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    NystroemRidge,
    NystroemRidgeClassifier,
    NystroemRidgeClassifierCV,
    NystroemRidgeCV,
    TableEncoder,
)
from mercer.errors import InputError, MemoryRefusal, MercerWarning, ModelFileError
from mercer.estimators.table_model import TableModel
from mercer.kernels import (
    Constant,
    Cosine,
    Custom,
    FromFeatures,
    Gaussian,
    Jaccard,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Outer,
    Polynomial,
    Precomputed,
    Spectrum,
    Subsequence,
    Words,
)
from mercer.models import ModelFile, inspect
from mercer.models.checks import RENAMED
from mercer.models.fitted import KEPT, LEFT_OUT, MAY
from mercer.models.values import Reader, Writer
from mercer.runtime import disk
from model_mutants import joined, mutant, renamed, resealed, split, written_again
from views import read_only

# what fits say about themselves is not what is tried here
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
OLD = Path(__file__).parent / "model_version_1.mercer"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=40)
    return read_only(X), read_only(y), np.where(y > 0.5, "much", "little")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def through(model, path):
    mercer.save(model, path)
    return mercer.load(path)


def same(one, other):
    if isinstance(one, tuple):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


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


def test_folds_are_kept_and_those_that_are_no_partition_by_label_alone(data, path):
    X, y, _ = data
    model = KernelRidgeCV("gaussian", cv=3).fit(X, y)
    again = through(model, path)
    for old, new in zip(model.folds_.splits, again.folds_.splits, strict=True):
        assert new.test.tolist() == old.test.tolist()
        assert new.train.tolist() == old.train.tolist()
        assert new.removed(40).tolist() == old.removed(40).tolist()
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


def test_the_automatic_models_come_back_with_encoder_committee_and_intervals(data, path):
    X, y, labels = data
    table = {"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 0, "yes", "no").astype(object), "same": [1] * 40}
    model = AutoRegressor().fit(table, y)
    again = through(model, path)
    assert again.get_params() == model.get_params()
    assert same(again.predict(table, return_std=True), model.predict(table, return_std=True))
    assert same(again.predict_interval(table), model.predict_interval(table))
    assert again.summary() == model.summary()
    assert again.relevance() == model.relevance()
    assert again.encoder_.describe() == model.encoder_.describe()
    judge = AutoClassifier().fit(table, labels)
    again = through(judge, path)
    assert same(again.predict_proba(table), judge.predict_proba(table))
    assert again.predict(table).tolist() == judge.predict(table).tolist()
    assert again.summary() == judge.summary()


@pytest.mark.parametrize("own", [True, False])
def test_a_model_of_a_table_comes_back(data, path, own):
    X, y, _ = data
    table = {"a": X[:, 0], "c": np.where(X[:, 1] > 0, "yes", "no").astype(object)}
    encoder = TableEncoder().fit(table)
    inner = AutoRegressor().fit(table, y) if own else KernelRidgeCV(cv=5).fit(encoder.transform(table), y)
    model = TableModel(inner, None if own else encoder, "y", "id", ("x",), {"error": 1.5, "notes": ["a", None]})
    again = through(model, path)
    assert same(again.predict(table), model.predict(table))
    assert same(again.predict_interval(table), model.predict_interval(table))
    assert (again.target, again.row_id, again.ignored, again.summary) == ("y", "id", ("x",), model.summary)
    assert (inspect(path).kind, inspect(path).columns) == ("TableModel", 2)
    with pytest.raises(InputError, match="This KernelRidgeCV is not fitted yet"):
        mercer.save(TableModel(KernelRidgeCV(), encoder, "y"), path)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), 0.5 * Linear() + Polynomial(2), Linear().on([1])])
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
        with pytest.raises(InputError, match=f"{type(model).__name__} cannot be without its training rows: "):
            mercer.save(model, path, rows=False)
    assert not path.exists()
    mercer.save(KernelRidge().fit(X, y), path, rows=False)
    bare = mercer.load(path)
    with pytest.raises(InputError, match="Intervals need the training rows"):
        bare.predict_interval(X)
    with pytest.raises(InputError, match="X must be rows of 2 columns, as in training; got 1"):
        bare.predict(X[:, :1])
    mercer.save(KernelRidgeClassifier().fit(X, labels), path, rows=False)
    with pytest.raises(InputError, match="Probabilities need a calibration"):
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


MADE_FROM_MODELS = ("FeatureClassifier", "FeatureRegressor", "TableModel")  # their parameters are all they are


def test_every_attribute_of_a_fitted_model_is_kept_or_known_to_follow(data):
    X, y, labels = data
    models = [
        KernelRidge().fit(X, y), KernelRidgeClassifier().fit(X, labels), KernelNeighborsClassifier().fit(X, labels),
        KernelNeighborsRegressor().fit(X, y), KernelRidgeCV(verify=True).fit(X, y),
        KernelRidgeClassifierCV().fit(X, labels), AutoRegressor().fit(X, y), AutoClassifier().fit(X, labels),
        NystroemRidge().fit(X, y), NystroemRidgeClassifier().fit(X, labels),
        NystroemRidgeCV(cv=3, nested=True).fit(X, y), NystroemRidgeClassifierCV(cv=3).fit(X, labels),
    ]  # fmt: skip
    assert sorted([*(type(model).__name__ for model in models), *MADE_FROM_MODELS]) == sorted(KEPT)
    for model in models:
        kept = {RENAMED.get(name, name) for name in (*KEPT[type(model).__name__], *MAY)}
        known = {*kept, *LEFT_OUT, *model.get_params(deep=False)}
        assert set(vars(model)) - known - {"classes_"} == set()


LEAVES = st.sampled_from(
    [
        Gaussian(1.0),
        Gaussian([1.0, 2.0]),
        Gaussian((0.1, 3)),
        Laplacian(0.3),
        Linear(),
        Polynomial(2, 0.1),
        Constant(2),
        Matern(nu=0.5),
    ]
)
KERNELS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.floats(1e-3, 1e3)).map(lambda pair: pair[1] * pair[0]),
        inner.map(lambda k: k**2),
        inner.map(lambda k: k.normalized()),
        inner.map(lambda k: k.exp()),
    ),
    max_leaves=5,
)


@given(kernel=KERNELS)
def test_kernels_come_back_equal(kernel):
    writer = Writer()
    record = json.loads(json.dumps(writer.kernel(kernel)))
    again = Reader(writer.arrays).value(record)
    assert again == kernel
    assert repr(again) == repr(kernel)


CELLS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(value=CELLS | st.frozensets(st.text() | st.integers(0, 9)) | st.sets(st.text()))
def test_values_come_back_equal(value):
    record = json.loads(json.dumps(Writer().value(value, "it"), allow_nan=False))
    assert repr(Reader({}).value(record)) == repr(value) or Reader({}).value(record) == value


@given(
    array=st.sampled_from(["f8", "f4", "i8", "i2", "u1", "?", ">f8", "U3"]).flatmap(
        lambda code: st.tuples(st.just(code), st.lists(st.integers(0, 9), min_size=4, max_size=4))
    ),
    order=st.sampled_from("CF"),
)
def test_arrays_come_back_with_type_and_layout(array, order):
    code, values = array
    table = np.array(np.array(values).reshape(2, 2).astype(code), order=order)
    writer = Writer()
    again = Reader(writer.arrays).value(writer.value(table, "it"))
    assert again.dtype == table.dtype.newbyteorder("=")
    assert again.tolist() == table.tolist()
    assert code == "U3" or again.flags.f_contiguous == table.flags.f_contiguous


def test_a_path_among_the_parameters_comes_back(data, path, tmp_path):
    X, y, _ = data
    model = KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0, 0.5], checkpoint=tmp_path / "there").fit(X, y)
    assert through(model, path).checkpoint == tmp_path / "there"
    assert Reader({}).value(Writer().value(PurePosixPath("a/b"), "it")) == Path("a/b")


def test_equal_arrays_are_kept_once(data, path):
    X, y, _ = data
    model = AutoRegressor().fit(X, y)
    mercer.save(model, path)
    _, _, arrays = split(path.read_bytes())
    assert sum(array.shape == X.shape for array in arrays.values()) == 1


def test_the_file_is_a_safetensors_file(data, path):
    from safetensors.numpy import load_file

    X, y, _ = data
    mercer.save(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y), path)
    found = load_file(path)
    _, _, arrays = split(path.read_bytes())
    assert sorted(found) == sorted(arrays)
    assert all(same(found[name], arrays[name]) for name in found)
    assert any(same(array, X) for array in found.values())


def test_a_file_of_version_1_is_read():
    model = mercer.load(OLD)
    assert isinstance(model, KernelRidge)
    assert model.kernel == Gaussian(width=[1.0, 2.0]) + 0.5 * Linear()
    assert model.predict([[0.5, 0.5], [1.0, -1.0]]) == pytest.approx([1.4021288, 0.9062044], abs=1e-6)


def test_texts_of_models_written_before_are_taken_as_they_were():
    model = mercer.load(OLD.with_name("table_of_texts_version_1.mercer"))
    new = {"note": ["good old wine", "Brot", None], "size": [2.5, 3, 4]}
    assert model.predict(new) == pytest.approx([3.237048361926231, 5.211240974341234, 11.141837777760745], rel=1e-12)


def test_a_table_of_version_1_is_read_although_encoders_know_more_now():
    model = mercer.load(OLD.with_name("table_version_1.mercer"))
    assert model.style is None  # files of that time do not know how their table wrote numbers
    assert [column.kind for column in model.columns] == [
        "number", "number", "category", "category", "date", "text", "identifier"
    ]  # fmt: skip
    table = {
        "size": np.array([53.7, 77.9]),
        "rooms": np.array([3.0, 2.0]),
        "heating": np.array(["pump", "pump"], dtype=object),
        "garden": np.array([True, False]),
        "sold": np.array(["2020-06-26", "2021-02-11"], dtype="datetime64[D]"),
    }
    assert model.predict(table) == pytest.approx([107.40215, 155.79943], abs=1e-4)
    assert model.predict_interval(table)[0] == pytest.approx([107.38367, 155.78095], abs=1e-4)


def test_a_loaded_model_is_unchanged_by_what_it_does(data, path):
    X, y, _ = data
    model = through(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y), path)
    before = path.read_bytes()
    model.predict_interval(X)
    assert written_again(model, before) == before


# -- what is not saved ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        Custom(lambda X, Z: X @ Z.T),
        FromFeatures(np.abs),
        Linear() + Outer(lambda X: X[:, 0]),
        Linear().map(np.abs),
    ],
)
def test_kernels_that_hold_functions_are_refused_with_the_way_out(data, path, kernel):
    X, y, _ = data
    model = KernelRidge(1.0, kernel=kernel).fit(X, y)
    with pytest.raises(InputError) as caught:
        mercer.save(model, path)
    assert "holds a Python function, and model files hold no code. Use kernels of mercer.kernels, or fit with " in str(
        caught.value
    )
    assert "Precomputed() on the matrix of yours." in str(caught.value)
    assert not path.exists()


def test_a_kernel_of_a_class_of_ones_own_is_refused(data, path):
    class Own(Kernel):
        def block(self, pair):
            return pair.dot()

    X, y, _ = data
    with pytest.raises(InputError) as caught:
        mercer.save(KernelRidge(1.0, kernel=Own()).fit(X, y), path)
    assert str(caught.value) == (
        "The kernel Own() is of a class of its own, and model files hold no code. Use kernels of mercer.kernels, "
        "or fit with Precomputed() on the matrix of yours."
    )


def test_a_function_in_place_of_a_kernel_is_refused(data, path):
    X, y, _ = data
    with pytest.raises(InputError, match="function"):
        mercer.save(KernelRidge(1.0, kernel=lambda a, b: float(a @ b)).fit(X, y), path)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (StandardScaler(), "one of KernelRidge, KernelRidgeClassifier"),
        (
            make_pipeline(StandardScaler(), KernelRidge()),
            "got StandardScaler and KernelRidge. Of another pipeline, save the last step.",
        ),
        (None, "got NoneType"),
        (KernelRidge(), "This KernelRidge is not fitted yet. Call fit before save."),
        (AutoRegressor(), "This AutoRegressor is not fitted yet. Call fit before save."),
        (type("Mine", (KernelRidge,), {})(), "got Mine"),
    ],
)
def test_what_is_no_fitted_model_is_refused(path, model, words):
    with pytest.raises(InputError) as caught:
        mercer.save(model, path)
    assert words in str(caught.value)


@pytest.mark.parametrize("setting", [{"cv": KFold(3)}, {"random_state": np.random.RandomState(0)}, {"scoring": abs}])
def test_settings_that_are_objects_are_refused_by_name(data, path, setting):
    X, y, _ = data
    model = KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0, 10.0]).fit(X, y).set_params(**setting)
    (name,) = setting
    with pytest.raises(InputError) as caught:
        mercer.save(model, path)
    assert str(caught.value).startswith(f"{name} of KernelRidgeCV must be a number, a text, an array, a kernel of ")
    assert str(caught.value).endswith("Set it to such a value with set_params, then save.")
    mercer.save(model.set_params(**{name: None}), path)


@pytest.mark.parametrize("cell", [b"bytes", 2**70, object(), np.arange(3), 1j])
def test_rows_that_json_cannot_hold_are_refused(path, cell):
    model = KernelRidge(1.0, kernel=Jaccard()).fit([["a"], ["b"]], [1.0, 2.0])
    model.X_fit_[0] = [cell]
    with pytest.raises(InputError, match="A cell of X_fit_ of KernelRidge"):
        mercer.save(model, path)


def test_what_could_not_be_read_is_not_written(data, path):
    X, y, _ = data
    model = KernelRidge(0.1).fit(X, y)
    model.fitted_ = replace(model.fitted_, dual=model.fitted_.dual[:-1])
    with pytest.raises(InputError) as caught:
        mercer.save(model, path)
    assert str(caught.value) == (
        "This KernelRidge cannot be saved: the dual coefficients must be finite, one for each target."
    )
    model = KernelRidge(0.1).fit(X, y).set_params(alpha=np.array([1j]))
    with pytest.raises(InputError, match="alpha of KernelRidge must be numbers, truth values or texts to be saved"):
        mercer.save(model, path)
    assert not path.exists()


def test_what_is_nested_too_deep_is_refused(data, path):
    X, y, _ = data
    deep = []
    for _ in range(5000):
        deep = [deep]
    model = KernelRidge(0.1).fit(X, y).set_params(kernel_params=deep)
    with pytest.raises(InputError) as caught:
        mercer.save(model, path)
    assert str(caught.value) == "This KernelRidge cannot be saved: it is nested too deep."


# -- the disk ---------------------------------------------------------------------------------------


@pytest.fixture
def small(path):
    """A small model, and its file."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    mercer.save(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, [1.0, 2.0, 3.0]), path)
    return path


def test_paths_are_texts_or_paths(data, tmp_path, monkeypatch):
    X, y, _ = data
    model = KernelRidge().fit(X, y)
    monkeypatch.chdir(tmp_path)
    for place in ("a.mercer", str(tmp_path / "b.mercer"), tmp_path / "c.mercer"):
        mercer.save(model, place)
        assert same(mercer.load(place).predict(X), model.predict(X))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.mercer", "b.mercer", "c.mercer"]
    for place in (None, 3, "", b"bytes", "a\0b"):
        for call in (partial(mercer.save, model), mercer.load, inspect):
            with pytest.raises(InputError, match="The path of a model file must be"):
                call(place)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_mode_is_the_umasks(data, path):
    X, y, _ = data
    old = os.umask(0o027)
    try:
        mercer.save(KernelRidge().fit(X, y), path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("failing", ["fsync", "replace", "write"])
def test_a_write_that_fails_leaves_what_was_there(data, small, monkeypatch, failing):
    X, y, _ = data
    before = small.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    def stop():
        yield b"half"
        raise KeyboardInterrupt

    if failing == "write":
        with pytest.raises(KeyboardInterrupt):
            disk.write_whole(small, stop())
    else:
        monkeypatch.setattr(*(disk.os, "fsync") if failing == "fsync" else (Path, "replace"), fail)
        with pytest.raises(ModelFileError) as caught:
            mercer.save(KernelRidge().fit(X, y), small)
        assert str(caught.value) == f"The model file {small} cannot be written: no space left on device."
    assert small.read_bytes() == before
    assert list(small.parent.iterdir()) == [small]


def test_places_that_cannot_be_written_are_named(data, tmp_path):
    X, y, _ = data
    model = KernelRidge().fit(X, y)
    with pytest.raises(ModelFileError) as caught:
        mercer.save(model, tmp_path)
    assert (
        str(caught.value) == f"The model file {tmp_path} cannot be written: it is a directory. Name a file inside it."
    )
    with pytest.raises(ModelFileError, match="cannot be written: no such file or directory"):
        mercer.save(model, tmp_path / "none" / "model.mercer")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
def test_places_that_cannot_be_read_are_named(tmp_path, monkeypatch):
    empty, pipe = tmp_path / "empty", tmp_path / "pipe"
    empty.write_bytes(b"")
    os.mkfifo(pipe)
    reasons = {
        tmp_path: "it is a directory.",
        tmp_path / "none": "no such file or directory.",
        empty: "it is truncated, or not a model file.",
        pipe: "it is no regular file.",
        tmp_path / "empty" / "x": "not a directory.",
        Path("x" * 5000): "file name too long.",
    }
    for place, reason in reasons.items():
        for call in (mercer.load, inspect):
            with pytest.raises(ModelFileError) as caught:
                call(place)
            assert str(caught.value) == f"The model file {place} cannot be read: {reason}"

    def refuse(*_args, **_how):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelFileError, match="cannot be read: permission denied"):
        mercer.load(empty)


# -- files that lie ---------------------------------------------------------------------------------


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        mercer.load(path)
    return str(caught.value).split("cannot be read: ")[1]


def test_every_flipped_byte_is_detected(small):
    data = small.read_bytes()
    for place in range(len(data)):
        mask = 1 + 37 * place % 255
        refused(small, data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])


def test_every_length_but_its_own_is_detected(small):
    data = small.read_bytes()
    for length in {*range(0, len(data), 7), *range(100), *range(len(data) - 100, len(data))}:
        refused(small, data[:length])
    assert "It may be truncated" in refused(small, data[:-1])
    refused(small, data + b"\0")
    refused(small, data + data)


def test_a_newer_version_says_so(small):
    data = small.read_bytes().replace(b'"mercer":"1"', b'"mercer":"2"')
    words = "it is of format version 2, and this mercer reads up to 1. Update mercer to read it."
    assert refused(small, data) == words
    with pytest.raises(ModelFileError, match="of format version 2"):
        inspect(small)


def test_other_files_are_no_models(small):
    for data in (b"a,b\n1,2\n" * 10, b"\x80\x04\x95" + bytes(40), b"PK\x03\x04" + bytes(100), bytes(1000)):
        refused(small, data)
    from safetensors.numpy import save as others

    words = refused(small, others({"weight": np.zeros((2, 2))}, {"format": "np"}))
    assert words == "it is not a model file."


def changed(data, path, value):
    _, record, arrays = split(data)
    holder = record
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return joined(record, arrays)


NAN, INF = ({"is": "float", "of": text} for text in ("nan", "inf"))
FITTED, WITH = ("model", "fitted"), ("model", "params", "kernel", "with")


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        (("model", "params", "alpha"), NAN, "alpha must be finite and not negative."),
        (("model", "params", "alpha"), INF, "alpha must be finite and not negative."),
        (("model", "params", "alpha"), -1, "alpha must be finite and not negative."),
        (("model", "params", "alpha"), [0.1, "x"], "alpha must be finite and not negative."),
        (("model", "params", "fit_intercept"), 2**62, "fit_intercept must be true or false."),
        ((*WITH, "width"), NAN, "its parts are inconsistent (width of Gaussian must be"),
        ((*WITH, "width"), {"is": "tuple", "of": "x"}, "a collection is invalid."),
        (("model", "params", "kernel", "class"), "os.system", "its parts are inconsistent."),
        (
            ("model", "class"),
            "subprocess.Popen",
            "it holds a model of the class 'subprocess.Popen', which is unknown.",
        ),
        (("model", "class"), ["KernelRidge"], "its parts are inconsistent."),
        (("model", "is"), "pickle", "it holds 'pickle', which is unknown."),
        (("model", "is"), ["model"], "its parts are inconsistent."),
        (("model",), 3, "it holds no model."),
        ((*FITTED, "predict"), 1, "the attributes of its KernelRidge are invalid."),
        ((*FITTED, "__class__"), 1, "the attributes of its KernelRidge are invalid."),
        ((*FITTED, "_primal"), 1, "weights of features belong to the primal."),
        ((*FITTED, "_one_target"), 1, "the targets must fit the shape of y."),
        ((*FITTED, "n_features_in_"), 3, "n_features_in_ must be the columns of X_fit_."),
        ((*FITTED, "n_features_in_"), 2**62, "n_features_in_ must be the columns of X_fit_."),
        ((*FITTED, "feature_names_in_"), ["a", "b"], "feature_names_in_ must be texts."),
        ((*FITTED, "kernel_"), {"is": "kernel", "class": "Precomputed", "with": {}}, "the Gram matrix must be square."),
        (
            (*FITTED, "kernel_"),
            {"is": "kernel", "class": "Jaccard", "with": {}},
            "its parts are inconsistent (Rows of Jaccard must",
        ),
        ((*FITTED, "route_", "with", "rank"), -1, "rank of a Route must not be '-1'."),
        ((*FITTED, "_system_of", "with", "name"), "eval", "name of a Choice must not be 'eval'."),
        (("when",), "now", "its date is missing or invalid."),
        (("versions", "numpy"), "1\x1b[31m", "its list of versions is invalid."),
        (("account", "rows"), 4, "it differs from what mercer writes for this model."),
        (("extra",), 1, "it differs from what mercer writes for this model."),
        (("model", "params", "extra"), 1, "its parts are inconsistent."),
    ],
)
def test_records_that_cannot_be_are_refused(small, where, value, words):
    assert refused(small, changed(small.read_bytes(), where, value)).startswith(words)


def array_at(data, attribute):
    _, record, arrays = split(data)
    name = record["model"]["fitted"][attribute]["name"]
    return record, arrays, name, arrays[name]


@pytest.mark.parametrize("attribute", ["X_fit_", "_dual", "_intercept", "_alphas", "_targets"])
def test_arrays_must_be_finite_and_fit_one_another(small, attribute):
    record, arrays, name, array = array_at(small.read_bytes(), attribute)
    for value in (np.nan, np.inf):
        spoilt = array.copy()
        spoilt.reshape(-1)[-1] = value
        assert "finite" in refused(small, renamed(record, arrays, name, spoilt))
    for other in (array[:-1], array[None], array.astype(np.float32), array.view(np.int64), array[..., None]):
        refused(small, renamed(record, arrays, name, np.ascontiguousarray(other)))


def test_arrays_that_nobody_asks_for_are_refused(small):
    from mercer.runtime.container import dumps, entry_of, packed

    _, record, arrays = split(small.read_bytes())
    spare = np.arange(5.0)
    arrays[entry_of(spare).name] = spare
    data = b"".join(map(bytes, packed(dumps(record), [entry_of(array) for array in arrays.values()], arrays)))
    assert refused(small, data) == "it holds arrays that nobody asks for, or in another order."


def in_place_of(data, old, new):
    header, _, _ = split(data)
    assert old in header
    return resealed(header.replace(old, new, 1), data[8 + len(header) :])


def test_json_in_another_spelling_is_refused(small):
    data = small.read_bytes()
    name = rb"\"is\":\"model\""
    spellings = {
        "twice": (name, name + b"," + name),
        "blanks": (rb"\"alpha\":0.1", rb"\"alpha\": 0.1"),
        "other digits": (rb"\"alpha\":0.1", rb"\"alpha\":0.10"),
        "NaN": (rb"\"alpha\":0.1", rb"\"alpha\":NaN"),
        "1e999": (rb"\"alpha\":0.1", rb"\"alpha\":1e999"),
        "huge": (rb"\"alpha\":0.1", rb"\"alpha\":" + b"9" * 30),
        "enormous": (rb"\"alpha\":0.1", rb"\"alpha\":" + b"9" * 10_000),
        "deep": (rb"\"alpha\":0.1", rb"\"alpha\":" + b"[" * 100_000 + b"]" * 100_000),
        "deep objects": (rb"\"alpha\":0.1", rb"\"alpha\":" + rb"{\"a\":" * 50_000 + b"1" + b"}" * 50_000),
    }
    for old, new in spellings.values():
        assert refused(small, in_place_of(data, old, new)) == "its record is not JSON as mercer writes it."
    deep = b'{"is":"tuple","of":['.replace(b'"', rb"\"") * 200 + b"]}" * 200
    assert "its parts do not fit" in refused(small, in_place_of(data, rb"\"alpha\":0.1", rb"\"alpha\":" + deep)) or deep
    for old, new in ((b'"dtype":"F64"', b'"dtype":"F64","dtype":"F64"'), (b'"shape":[3', b'"shape": [3')):
        assert refused(small, in_place_of(data, old, new)) == "its header is invalid."
    for new in (b'"shape":[-3', b'"shape":[3.0', b'"shape":[1,1,1,1,1,3', b'"shape":[1' + b"0" * 17):
        assert refused(small, in_place_of(data, b'"shape":[3', new)) == "its header describes an invalid array."


def test_a_small_file_that_claims_much_is_refused_without_memory(small):
    data = small.read_bytes()
    text = {"is": "objects", "shape": [2**33], "name": array_at(data, "X_fit_")[2]}
    table = {"is": "sparse", "kind": "matrix", "shape": [2**33, 2], "parts": [[0.0], [0], [0, 1]]}
    folds = {"is": "folds", "rows": 2**33, "label": "", "numbers": []}
    lies = [
        (2**33).to_bytes(8, "little") + data[8:] + bytes(8000),
        in_place_of(data, b'"shape":[3,2]', b'"shape":[1073741824,1]'),
        in_place_of(data, b'"shape":[3,2]', b'"shape":[1073741824,0]'),
        changed(data, (*FITTED, "X_fit_"), text),
        changed(data, (*FITTED, "X_fit_"), table),
        changed(data, (*FITTED, "route_"), folds),
        changed(data, (*FITTED, "kernel_", "class"), "Polynomial"),
    ]
    refused(small, lies[0])
    for lie in lies:
        small.write_bytes(lie)
        assert len(lie) < 12_000
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            mercer.load(small)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 5e6


def test_a_file_larger_than_memory_is_refused_before_it_is_read(small, monkeypatch):
    from mercer.runtime import container

    def none_left(needed, what, way_out):
        raise MemoryRefusal(what)

    monkeypatch.setattr(container, "promise", none_left)
    with pytest.raises(MemoryRefusal):
        mercer.load(small)


def test_sparse_tables_that_point_outside_are_refused(data, path):
    X, y, _ = data
    mercer.save(KernelRidge(0.1, kernel="linear").fit(sparse.csr_matrix(X), y), path)
    record, arrays = split(path.read_bytes())[1:]
    parts = [part["name"] for part in record["model"]["fitted"]["X_fit_"]["parts"]]
    for part, place, value in ((1, 0, 2), (1, 0, -1), (2, 1, 10**6), (2, 0, 1), (2, 5, 0)):
        spoilt = arrays[parts[part]].copy()
        spoilt[place] = value
        assert refused(path, renamed(record, arrays, parts[part], spoilt)) == "a sparse matrix is inconsistent."


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """Small files of several kinds of models."""
    X, y, labels = data
    X, y, labels = X[:12], y[:12], labels[:12]
    place = tmp_path_factory.mktemp("files") / "model.mercer"
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        models = [
            KernelRidge(0.1, kernel=Gaussian([1.0, 2.0]) + 2.0 * Polynomial(2).on([0])).fit(X, y),
            KernelRidgeClassifier(0.1, kernel=Polynomial(2)).fit(X, labels),
            KernelRidge(0.1, kernel=Words() + Jaccard()).fit(["a b", "c d", "a", "d"], [1.0, 2.0, 3.0, 4.0]),
            KernelRidge(0.1, kernel="linear", solver="cholesky").fit(sparse.csr_matrix(X), y),
            KernelNeighborsClassifier("rbf", 2).fit(X, labels),
            KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0], cv=3).fit(X, y),
            KernelRidgeClassifierCV([Gaussian(1.0)], [0.1, 1.0], cv=2).fit(X, labels),
            AutoRegressor().fit(X, y),
        ]
    models.append(TableModel(models[-1], None, "y"))
    for model in models:
        mercer.save(model, place)
        found.append(place.read_bytes())
    return found


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_mutants_with_good_digests_are_refused_or_are_what_they_say(files, seed, tmp_path_factory):
    rng = np.random.default_rng(seed)
    place = tmp_path_factory.getbasetemp() / f"mutant-{threading.get_ident()}-{os.getpid()}.mercer"
    for _ in range(100):
        data = mutant(rng, files[rng.integers(len(files))])
        place.write_bytes(data)
        try:
            model = mercer.load(place)
        except ModelFileError:
            continue
        assert written_again(model, data) == data


AUDIT = """
import sys
import mercer
paths = sys.argv[1:]
for path in paths:
    mercer.load(path)
seen = []
watched = ("import", "exec", "compile", "marshal.", "pickle.", "os.system", "os.exec", "os.spawn", "subprocess.",
           "ctypes.", "socket.", "code.", "os.remove", "os.rename", "shutil.", "tempfile.")
def hook(event, args):
    if event.startswith(watched):
        seen.append(event)
    if event == "open" and (args[1] or "r") not in ("r", "rb"):
        seen.append(f"open {args[1]}")
sys.addaudithook(hook)
for path in paths:
    mercer.load(path)
found = list(seen)
compile("1", "", "eval")
assert seen != found, "the hook must work"
print(found)
"""


def test_loading_imports_and_executes_nothing(files, tmp_path):
    paths = []
    for number, data in enumerate(files):
        paths.append(tmp_path / f"{number}.mercer")
        paths[-1].write_bytes(data)
    command = [sys.executable, "-c", AUDIT, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)  # noqa: S603 - our own code
    assert done.stdout.strip() == "[]"


# -- what a file holds ------------------------------------------------------------------------------


def test_inspect_says_what_a_file_holds(small):
    found = inspect(small)
    assert isinstance(found, ModelFile)
    assert (found.kind, found.kernel, found.alpha) == ("KernelRidge", "Gaussian(width=1.0)", "0.1")
    assert (found.rows, found.columns, found.size) == (3, 2, small.stat().st_size)
    assert found.versions["mercer"] == mercer.__version__
    lines = str(found).splitlines()
    assert lines[0] == "KernelRidge: Gaussian(width=1.0), alpha 0.1"
    assert lines[1].startswith("3 training rows, 2 columns; ")
    assert lines[2].startswith("written 20")
    with pytest.raises(AttributeError):
        found.rows = 4


def test_inspect_reads_the_header_alone(small):
    data = small.read_bytes()
    header = 8 + len(split(data)[0])
    small.write_bytes(data[:header] + bytes(len(data) - header))
    assert inspect(small).rows == 3
    with pytest.raises(ModelFileError, match="the digest of an array does not fit"):
        mercer.load(small)


def test_inspect_names_committees_objects_and_long_kernels(data, path):
    X, y, _ = data
    mercer.save(KernelRidge(1.0, kernel=Words()).fit(["a", "b"], [1.0, 2.0]), path)
    assert "2 training rows, objects; " in str(inspect(path))
    mercer.save(KernelNeighborsRegressor().fit(X, y), path)
    assert str(inspect(path)).startswith("KernelNeighborsRegressor: Linear()\n40 training rows, 2 columns; ")
    mercer.save(KernelRidge(np.arange(1.0, 8.0), kernel=sum([Linear()] * 40)).fit(X, np.tile(y[:, None], 7)), path)
    assert inspect(path).kernel.endswith("...")
    assert len(inspect(path).kernel) == 200
    assert inspect(path).alpha == "1, 2, 3, 4, 5, ..."
    assert mercer.load(path).kernel == sum([Linear()] * 40)


@pytest.mark.parametrize("value", [None, [], {"class": "KernelRidge"}, "x"])
def test_inspect_refuses_an_account_that_is_none(small, value):
    small.write_bytes(changed(small.read_bytes(), ("account",), value))
    with pytest.raises(ModelFileError, match="its summary is invalid"):
        inspect(small)


@pytest.mark.parametrize(
    ("name", "value"), [("class", "Evil"), ("kernel", "\x1b[31m"), ("rows", -1), ("columns", "x"), ("alpha", 1)]
)
def test_inspect_prints_nothing_strange(small, name, value):
    small.write_bytes(changed(small.read_bytes(), ("account", name), value))
    with pytest.raises(ModelFileError, match="its summary is invalid"):
        inspect(small)


def test_an_unfitted_model_still_says_so_itself():
    with pytest.raises(NotFittedError):
        KernelRidge().predict([[1.0]])


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
    with pytest.raises(
        InputError, match=r"A Pipeline cannot be saved without its training rows\. Save its last step\."
    ):
        mercer.save(whole, path, rows=False)


def test_a_pipeline_that_is_not_fitted_is_refused(path):
    with pytest.raises(InputError, match=r"This Pipeline is not fitted yet\. Call fit before save\."):
        mercer.save(Pipeline([("columns", TableEncoder()), ("model", KernelRidge())]), path)
