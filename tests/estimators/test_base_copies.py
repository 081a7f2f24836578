"""Nothing that was lent is changed or kept, and a model survives every round trip."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from base_cases import ESTIMATORS, rows_and_targets
from sklearn.base import clone

from mercer import KernelRidge
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed
from views import read_only


@pytest.fixture
def data(rng):
    return rows_and_targets(rng)


# -- nothing lent is changed or kept --------------------------------------------------------------

CONTAINERS = {
    "numpy": lambda X: X,
    "Fortran order": np.asfortranarray,
    "a view": lambda X: np.hstack([X, X])[:, :3],
    "a subclass": lambda X: X.view(type("Mine", (np.ndarray,), {})),
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b", "c"], copy=False),
    "csr": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
}


def overwrite(table):
    if isinstance(table, pd.DataFrame):
        table.iloc[:, :] = 7.0
    elif sp.issparse(table):
        table.data[:] = 7.0
    else:
        table[:] = 7.0


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_changing_x_after_the_fit_changes_nothing(estimator, container, data):
    X, y = data
    new = X[:5] + 0.1
    table = CONTAINERS[container](X.copy())
    model = estimator(kernel="rbf").fit(table, y)
    fitted = model.X_fit_.copy()
    overwrite(table)
    difference = model.X_fit_ - fitted
    assert abs(difference).max() == 0
    expected = estimator(kernel="rbf").fit(X, y).predict(new)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        np.testing.assert_allclose(model.predict(new), expected, rtol=1e-12)


def test_changing_a_mapped_file_after_the_fit_changes_nothing(data, tmp_path):
    X, y = data
    mapped = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    model = KernelRidge(kernel="rbf").fit(mapped, y)
    mapped[:] = 7.0
    np.testing.assert_array_equal(model.X_fit_, X)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("two_targets", [False, True])
def test_changing_y_or_the_weights_after_the_fit_changes_nothing(kernel, two_targets, data, rng):
    X, _ = data
    y, w = rng.normal(size=(24, 2) if two_targets else 24), rng.uniform(0.5, 2, size=24)
    alpha = np.array([0.5, 2.0]) if two_targets else 0.5
    expected = KernelRidge(np.copy(alpha), kernel=kernel).fit(X, y.copy(), w.copy())
    model = KernelRidge(alpha, kernel=kernel).fit(X, y, w)
    y[:], w[:] = 0.0, 7.0
    if two_targets:
        alpha[:] = 100.0
    for mine, theirs in zip(model.predict(X, return_std=True), expected.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)
    np.testing.assert_allclose(model.log_marginal_likelihood_, expected.log_marginal_likelihood_, rtol=1e-10)
    np.testing.assert_allclose(model.effective_dof_, expected.effective_dof_, rtol=1e-10)


def test_changing_a_precomputed_matrix_after_the_fit_changes_nothing(data):
    X, y = data
    K = Gaussian()(X)
    model = KernelRidge(0.1, kernel="precomputed").fit(K, y)
    expected = model.effective_dof_
    again = KernelRidge(0.1, kernel="precomputed").fit(K, y)
    K[:] = 0.0
    assert again.effective_dof_ == pytest.approx(expected)


@pytest.mark.parametrize("solver", ["auto", "cholesky", "spectral", "primal"])
@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(2), Gaussian(), Laplacian() + Linear(), Precomputed()], ids=repr
)
def test_read_only_inputs_are_enough(kernel, solver, data):
    X, y = data
    if kernel.kind == "gram":
        X = Gaussian()(X)
    if solver == "primal" and kernel.feature_count(3) is None:
        pytest.skip("no finite features")
    w = read_only(np.linspace(0.0, 2.0, 24))
    model = KernelRidge(read_only(np.array([0.1, 1.0])), kernel=kernel, fit_intercept=True, solver=solver)
    X, Y = read_only(X), read_only(np.column_stack([y, -y]))
    before = X.copy(), Y.copy(), w.copy()
    model.fit(X, Y, w)
    model.predict(X, return_std=True, diag=np.ones(24) if kernel.kind == "gram" else None)
    for now, then in zip((X, Y, w), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_what_is_returned_is_not_what_is_kept(data):
    X, y = data
    model = KernelRidge(kernel="rbf").fit(X, y)
    before = model.predict(X)
    returned = model.predict(X)
    returned[:] = 0.0
    np.testing.assert_array_equal(model.predict(X), before)


# -- round trips ----------------------------------------------------------------------------------


def through_joblib(model, tmp_path):
    joblib.dump(model, tmp_path / "model.joblib")
    return joblib.load(tmp_path / "model.joblib")


ROUND_TRIPS = {
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "joblib": through_joblib,
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "copy": lambda model, _: copy.copy(model),
}


@pytest.mark.slow
@pytest.mark.parametrize("trip", ROUND_TRIPS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", Gaussian(2.0) * Linear() + Laplacian(), "poly"], ids=str)
@pytest.mark.parametrize("asked_before", [False, True])
def test_a_model_survives_a_round_trip(trip, kernel, asked_before, data, rng, tmp_path):
    X, Y, new = data[0], rng.normal(size=(24, 2)), rng.normal(size=(5, 3))
    w = rng.uniform(size=24) * (np.arange(24) % 4 > 0)
    model = KernelRidge([0.1, 1.0], kernel=kernel, fit_intercept=True).fit(X, Y, w)
    if asked_before:
        model.predict(new, return_std=True)
    again = ROUND_TRIPS[trip](model, tmp_path)
    for mine, theirs in zip(model.predict(new, return_std=True), again.predict(new, return_std=True), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(again.log_marginal_likelihood_, model.log_marginal_likelihood_)
    np.testing.assert_array_equal(again.effective_dof_, model.effective_dof_)
    assert str(again.route_) == str(model.route_)
    assert again.kernel_ == model.kernel_
    assert again.get_params() == model.get_params()
    refitted = again.fit(X, Y)
    np.testing.assert_array_equal(refitted.dual_coef_, clone(model).fit(X, Y).dual_coef_)


def test_a_pickle_does_not_carry_the_factored_system(data):
    X, y = np.tile(data[0], (10, 1)), np.tile(data[1], 10)
    model = KernelRidge(kernel="rbf").fit(X, y)
    before = len(pickle.dumps(model))
    model.predict(X, return_std=True)
    assert len(pickle.dumps(model)) == before < 240 * 240 * 8 / 2


def test_a_frame_of_one_float_column_is_not_kept_either(rng):
    y = rng.normal(size=20)
    for frame in (pl.DataFrame({"a": rng.normal(size=20)}), pd.DataFrame({"a": rng.normal(size=20)})):
        model = KernelRidge(kernel="rbf").fit(frame, y)
        assert not np.shares_memory(model.X_fit_, frame.to_numpy())
