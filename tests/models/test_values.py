"""Kernels, values and arrays in files, and settings that no file can hold."""

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_cases import through
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    AutoRegressor,
    KernelRidge,
    KernelRidgeCV,
)
from mercer.errors import InputError
from mercer.kernels import (
    Constant,
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
)
from mercer.models.values import Reader, Writer
from refusals import tells

# what fits say about themselves is not what is tried here
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
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
    assert (
        "contains a Python function, and model files contain no code. Use kernels of mercer.kernels, or compute the "
        "kernel matrix and fit with "
    ) in str(caught.value)
    assert "Precomputed()." in str(caught.value)
    assert not path.exists()


def test_a_kernel_of_a_class_of_ones_own_is_refused(data, path):
    class Own(Kernel):
        def block(self, pair):
            return pair.dot()

    X, y, _ = data
    with pytest.raises(InputError) as caught:
        mercer.save(KernelRidge(1.0, kernel=Own()).fit(X, y), path)
    assert tells(str(caught.value), "The kernel Own()")


def test_a_function_in_place_of_a_kernel_is_refused(data, path):
    X, y, _ = data
    with pytest.raises(InputError, match="function"):
        mercer.save(KernelRidge(1.0, kernel=lambda a, b: float(a @ b)).fit(X, y), path)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (StandardScaler(), "one of AutoRegressor, AutoClassifier"),
        (
            make_pipeline(StandardScaler(), KernelRidge()),
            "This Pipeline is not fitted yet. Call fit before save.",
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
    assert str(caught.value).startswith(
        f"{name} of KernelRidgeCV cannot be saved: it must be a number, string, array, kernel of "
    )
    assert str(caught.value).endswith("Set it to such a value with set_params, then save.")
    mercer.save(model.set_params(**{name: None}), path)


@pytest.mark.parametrize("cell", [b"bytes", 2**70, object(), np.arange(3), 1j])
def test_rows_that_json_cannot_hold_are_refused(path, cell):
    model = KernelRidge(1.0, kernel=Jaccard()).fit([["a"], ["b"]], [1.0, 2.0])
    model.X_fit_[0] = [cell]
    with pytest.raises(InputError, match="A cell of X of KernelRidge"):
        mercer.save(model, path)


def test_what_could_not_be_read_is_not_written(data, path):
    X, y, _ = data
    model = KernelRidge(0.1).fit(X, y)
    model.fitted_ = replace(model.fitted_, dual=model.fitted_.dual[:-1])
    with pytest.raises(InputError) as caught:
        mercer.save(model, path)
    assert tells(str(caught.value), "This KernelRidge", "dual of a FittedRidge must be")
    model = KernelRidge(0.1).fit(X, y).set_params(alpha=np.array([1j]))
    with pytest.raises(
        InputError, match=("alpha of KernelRidge cannot be saved: it must be numbers, booleans or strings")
    ):
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
    assert tells(str(caught.value), "This KernelRidge", "the model is nested too")
