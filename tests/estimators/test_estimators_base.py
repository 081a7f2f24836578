"""What all estimators share: manners about what comes in, parameters, pickles, and memory of nothing lent."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor, KernelRidge, KernelRidgeClassifier
from mercer.errors import InputError, MercerError, NotMercerWarning, SingularSystemWarning
from mercer.estimators.base import shape_of
from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Polynomial, Precomputed
from oracles import kernel_ridge
from views import read_only

ESTIMATORS = [KernelRidge, KernelRidgeClassifier, KernelNeighborsClassifier, KernelNeighborsRegressor]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(24, 3))
    return X, (X.sum(axis=1) > 0).astype(float)


def refusal(work):
    with pytest.raises(InputError) as caught:
        work()
    assert isinstance(caught.value, MercerError)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


# -- alpha and weights ----------------------------------------------------------------------------

SMALL = "Use a small positive one for little regularisation."


@pytest.mark.parametrize("estimator", [KernelRidge, KernelRidgeClassifier])
@pytest.mark.parametrize(
    ("alpha", "sentence"),
    [
        (-1.0, f"a finite, non-negative number; got -1.0. {SMALL}"),
        (-1e-300, f"a finite, non-negative number; got -1e-300. {SMALL}"),
        (np.nan, f"a finite, non-negative number; got nan. {SMALL}"),
        (np.inf, f"a finite, non-negative number; got inf. {SMALL}"),
        (-np.inf, f"a finite, non-negative number; got -inf. {SMALL}"),
        (None, f"a finite, non-negative number; got None. {SMALL}"),
        ("much", f"a finite, non-negative number; got 'much'. {SMALL}"),
        ("0.5", f"a finite, non-negative number; got '0.5'. {SMALL}"),
        (1j, f"a finite, non-negative number; got 1j. {SMALL}"),
        ([-1.0], f"finite, non-negative numbers; got [-1.0]. {SMALL}"),
        ([1.0, 2.0, 3.0], "one number; got an array of shape (3,)."),
        ([], "one number; got an array of shape (0,)."),
        ([[1.0]], "one number; got an array of shape (1, 1)."),
    ],
    ids=str,
)
def test_a_bad_alpha_is_refused_in_a_sentence(estimator, alpha, sentence, data):
    assert refusal(lambda: estimator(alpha).fit(*data)) == f"alpha of {estimator.__name__} must be {sentence}"


@pytest.mark.parametrize(
    ("alpha", "sentence"),
    [
        ([1.0, 2.0, 3.0], "one number or 2, one per target; got an array of shape (3,)."),
        ([1.0, -2.0], f"finite, non-negative numbers; got [1.0, -2.0]. {SMALL}"),
        ([[1.0, 2.0]], "one number or 2, one per target; got an array of shape (1, 2)."),
    ],
    ids=str,
)
def test_a_bad_alpha_of_several_targets_is_refused_in_a_sentence(alpha, sentence, data, rng):
    got = refusal(lambda: KernelRidge(alpha).fit(data[0], rng.normal(size=(24, 2))))
    assert got == f"alpha of KernelRidge must be {sentence}"


@pytest.mark.parametrize("estimator", [KernelRidge, KernelRidgeClassifier])
def test_bad_weights_are_refused_in_a_sentence(estimator, data):
    w = np.ones(24)
    w[5] = -0.25
    got = refusal(lambda: estimator().fit(*data, w))
    assert got == f"sample_weight of {estimator.__name__} must be non-negative; got -0.25 in row 5."
    with pytest.raises(ValueError, match="Sample weights must contain at least one non-zero number"):
        estimator().fit(*data, np.zeros(24))
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(23,\), expected \(24,\)!"):
        estimator().fit(*data, np.ones(23))
    with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
        estimator().fit(*data, np.full(24, np.nan))


def test_no_weight_left_is_refused_in_a_sentence():
    from mercer.data.checks import checked_weights

    assert refusal(lambda: checked_weights("KernelRidge", np.zeros(3))) == (
        "sample_weight of KernelRidge must be positive for at least one row; got only zeros."
    )


# -- X and y --------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bad_tables_are_refused_before_anything_is_done(estimator, data):
    X, y = data
    holed = X.copy()
    holed[3, 1] = np.nan
    for bad, match in (
        ((holed, y), "Input X contains NaN"),
        ((X * np.inf, y), "Input X contains (NaN|infinity)"),
        ((X, y[:-1]), r"inconsistent numbers of samples: \[24, 23\]"),
        ((X[:0], y[:0]), r"Found array with 0 sample\(s\)"),
        ((X[:, :0], y), r"Found array with 0 feature\(s\)"),
        ((X[:, 0], y), "Expected 2D array, got 1D array instead"),
        ((X[None], y[:1]), "Found array with dim 3"),
        ((X + 1j, y), "Complex data not supported"),
        (([["a"], ["b"]], [0, 1]), "could not convert string to float"),
        ((X, None), "requires y to be passed, but the target y is None"),
    ):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=match):
            estimator().fit(*bad)


@pytest.mark.parametrize("estimator", [KernelRidge, KernelNeighborsRegressor])
def test_targets_that_are_not_finite_are_refused(estimator, data):
    X, y = data
    for bad, match in ((y * np.nan, "Input y contains NaN"), (np.where(y > 0, np.inf, 0), "Input y contains infinity")):
        with pytest.raises(ValueError, match=match):
            estimator().fit(X, bad)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_prediction_needs_a_fit_and_the_same_columns(estimator, data):
    X, y = data
    name = estimator.__name__
    with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted yet"):
        estimator().predict(X)
    model = estimator().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        model.predict(frame.rename(columns={"b": "z"}))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(frame[["c", "b", "a"]])
    with pytest.raises(ValueError, match=f"X has 2 features, but {name} is expecting 3 features as input"):
        estimator().fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(frame * np.nan)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        np.testing.assert_allclose(model.predict(X), model.predict(frame), rtol=1e-12)
    np.testing.assert_allclose(model.predict(pl.from_pandas(frame)), model.predict(frame), rtol=1e-12)


@pytest.mark.parametrize("attribute", ["prior_variance_", "log_marginal_likelihood_", "effective_dof_"])
def test_the_gaussian_view_needs_a_fit(attribute):
    with pytest.raises(NotFittedError, match="This KernelRidge instance is not fitted yet"):
        getattr(KernelRidge(), attribute)


def test_columns_can_be_named_in_the_kernel(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_number = KernelRidge(kernel=Gaussian().on(1) + Linear().on([0, 2])).fit(X, y).predict(X)
    kernel = Gaussian().on("b") + Linear().on(["a", "c"])
    for table in (frame, pl.from_pandas(frame)):
        np.testing.assert_allclose(KernelRidge(kernel=kernel).fit(table, y).predict(table), by_number, rtol=1e-12)
    assert refusal(lambda: KernelRidge(kernel=Gaussian().on("bb")).fit(frame, y)).startswith("There is no column 'bb'.")
    assert refusal(lambda: KernelRidge(kernel=Gaussian().on("b")).fit(X, y)) == (
        "Column 'b' can only be found by name in a DataFrame; got an array without names. Give a DataFrame, or number "
        "the columns from 0."
    )


def test_a_target_column_of_a_frame_is_taken(data):
    X, y = data
    plain = KernelRidge(kernel="rbf").fit(X, y).dual_coef_
    for target in (pd.Series(y), pl.Series(y), y.tolist()):
        np.testing.assert_array_equal(KernelRidge(kernel="rbf").fit(X, target).dual_coef_, plain)
    for target in (pd.DataFrame({"y": y}), pl.DataFrame({"y": y})):
        np.testing.assert_array_equal(KernelRidge(kernel="rbf").fit(X, target).dual_coef_[:, 0], plain)


# -- precomputed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed(), 2.0 * Precomputed()], ids=str)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_matrix_that_is_no_gram_matrix_is_refused_in_a_sentence(kernel, container, data):
    X, y = data
    K = X @ X.T
    assert refusal(lambda: KernelRidge(kernel=kernel).fit(container(K[:, :10]), y)) == (
        "A precomputed kernel for training must be square, one row and column per training row; got 24 x 10."
    )
    K[3, 20] += 7.5
    assert refusal(lambda: KernelRidge(kernel=kernel).fit(container(K), y)) == (
        f"A precomputed kernel for training must be symmetric; got K[3, 20] = {K[3, 20]:.6g} and K[20, 3] = "
        f"{K[20, 3]:.6g}. If the difference is noise, give (K + K.T) / 2."
    )
    K = np.eye(24)
    K[2, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        KernelRidge(kernel=kernel).fit(K, y)


def test_asymmetry_far_down_in_a_large_matrix_is_found(rng):
    K = np.eye(1200)
    K[700, 1100] = 0.5
    assert refusal(lambda: KernelRidge(kernel="precomputed").fit(K, rng.normal(size=1200))) == (
        "A precomputed kernel for training must be symmetric; got K[700, 1100] = 0.5 and K[1100, 700] = 0. "
        "If the difference is noise, give (K + K.T) / 2."
    )


def test_rounding_of_a_gram_matrix_is_no_asymmetry(data):
    X, y = data
    K = Gaussian()(X)
    noisy = K + 1e-12 * np.triu(np.ones((24, 24)))
    np.testing.assert_allclose(
        KernelRidge(kernel="precomputed").fit(noisy, y).dual_coef_,
        KernelRidge(kernel="precomputed").fit(K, y).dual_coef_,
        atol=1e-10,
    )


@pytest.mark.parametrize(
    ("K", "got"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "K[0, 1] = 2 with 1 and 1 on the diagonal"),
        ([[1.0, 0.0], [0.0, -3.0]], "K[1, 1] = -3"),
        ([[0.0, 0.5], [0.5, 1.0]], "K[0, 1] = 0.5 with 0 and 1 on the diagonal"),
    ],
)
def test_two_rows_that_give_an_indefinite_matrix_away_are_named(K, got):
    K, y = np.array(K), np.array([1.0, 2.0])
    with pytest.warns(NotMercerWarning) as caught:
        model = KernelRidge(0.1, kernel="precomputed").fit(K, y)
    assert len(caught) == 1
    assert str(caught[0].message) == (
        f"A precomputed kernel must be positive semi-definite; got {got}. Clip its negative eigenvalues with "
        "mercer.repair before giving it."
    )
    assert caught[0].filename == __file__
    np.testing.assert_allclose(model.dual_coef_, kernel_ridge(K, y, 0.1)[0][:, 0], rtol=1e-12)


def test_an_indefinite_matrix_without_such_rows_is_told_by_its_eigenvalue():
    K, y = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, 0.0], [0.9, 0.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    lowest = np.linalg.eigvalsh(K)[0]
    with pytest.warns(NotMercerWarning) as caught:
        model = KernelRidge(0.1, kernel="precomputed").fit(K, y)
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "The Gram matrix of KernelRidge with alpha = 0.1 on its diagonal must be positive definite; got an eigenvalue "
        f"of {lowest + 0.1:.3g}, so the objective may be unbounded below. Use a Mercer kernel, alpha above "
        f"{-lowest:.3g}, or "
        "repair the matrix."
    )
    assert caught[0].filename == __file__
    np.testing.assert_allclose(model.dual_coef_, kernel_ridge(K, y, 0.1)[0][:, 0], rtol=1e-12)
    KernelRidge(0.3, kernel="precomputed").fit(K, y)  # enough alpha makes it definite: not a word


def test_diag_is_refused_where_it_is_not_one_number_per_row(data):
    X, y = data
    K = Gaussian()(X)
    model = KernelRidge(kernel="precomputed").fit(K, y)
    assert refusal(lambda: model.predict(K[:2], return_std=True)) == (
        "KernelRidge with a precomputed kernel needs k(x, x) of the new rows here. Give it as diag=, one number "
        "per row."
    )
    must = "diag must be 2 finite, non-negative numbers, k(x, x) of each new row; got "
    assert refusal(lambda: model.predict(K[:2], return_std=True, diag=[1.0])) == f"{must}shape (1,)."
    assert refusal(lambda: model.predict(K[:2], return_std=True, diag=[[1.0], [1.0]])) == f"{must}shape (2, 1)."
    model.predict(K[:2])  # and is not needed without


@pytest.mark.parametrize("diag", [[1.0, -1.0], [1.0, np.nan], [np.inf, 1.0]])
def test_a_diag_of_bad_numbers_is_refused_by_its_numbers(diag, data):
    """The shape is right; it is the number that is wrong and must be named."""
    X, y = data
    K = Gaussian()(X)
    model = KernelRidge(kernel="precomputed").fit(K, y)
    got = refusal(lambda: model.predict(K[:2], return_std=True, diag=diag))
    assert "shape" not in got
    bad = next(value for value in diag if not 0 <= value < np.inf)
    assert f"got {bad:g}" in got


def test_a_diag_of_words_is_refused_in_a_sentence(data):
    X, y = data
    K = Gaussian()(X)
    model = KernelRidge(kernel="precomputed").fit(K, y)
    assert refusal(lambda: model.predict(K[:2], return_std=True, diag=["a", "b"])).startswith(
        "diag must be 2 finite, non-negative numbers, k(x, x) of each new row; got "
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_diag_beside_a_kernel_that_knows_it_is_refused(kernel, data):
    X, y = data
    model = KernelRidge(kernel=kernel).fit(X, y)
    for return_std in (True, False):
        assert refusal(lambda std=return_std: model.predict(X[:2], return_std=std, diag=[1.0, 1.0])) == (
            "diag= is for precomputed kernels only; this kernel knows k(x, x)."
        )


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


# -- parameters, grids, pipelines -----------------------------------------------------------------


def test_setting_into_a_kernel_puts_a_new_kernel_in_its_place():
    kernel = Gaussian(1.0) + 2.0 * Linear()
    for estimator in (
        KernelRidge(kernel=kernel),
        KernelRidgeClassifier(kernel=kernel),
        KernelNeighborsRegressor(kernel),
    ):
        assert estimator.get_params()["kernel__k1__width"] == 1.0
        assert estimator.set_params(kernel__k1__width=3.0) is estimator
        assert estimator.kernel == Gaussian(3.0) + 2.0 * Linear()
        assert estimator.get_params()["kernel__k1__width"] == 3.0
        estimator.set_params(kernel=Gaussian(), kernel__width=5.0)
        assert estimator.kernel == Gaussian(5.0)
        estimator.set_params()
        assert estimator.kernel == Gaussian(5.0)
    assert kernel == Gaussian(1.0) + 2.0 * Linear()
    model = KernelRidge(kernel=Gaussian()).set_params(alpha=7.0, kernel__width=2.0, kernel__per_dimension=True)
    assert (model.alpha, model.kernel) == (7.0, Gaussian(2.0, per_dimension=True))


def test_parameters_that_do_not_exist_are_refused():
    assert refusal(lambda: KernelRidge(kernel=Gaussian()).set_params(kernel__wdth=1.0)) == (
        "Gaussian has no parameter 'wdth'. Did you mean 'width'?"
    )
    with pytest.raises(ValueError, match="Invalid parameter 'wdth' for estimator KernelRidge"):
        KernelRidge(kernel=Gaussian()).set_params(wdth=1.0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_clone_has_the_very_same_parameters(estimator):
    kernel = Gaussian([1.0, 2.0, 3.0]) * Linear()
    original = estimator(kernel=kernel)
    copied = clone(original)
    assert copied is not original
    for name, value in original.get_params(deep=False).items():
        assert copied.get_params(deep=False)[name] is value
    assert clone(estimator(kernel=Custom(np.dot))).kernel.function is np.dot


WIDTHS = [0.05, 0.5, 5.0]
CV = KFold(3)


def grid_scores(model, grid, X, y):
    return GridSearchCV(model, grid, cv=CV, scoring="neg_mean_squared_error").fit(X, y).cv_results_["mean_test_score"]


def one_score(model, X, y):
    return cross_val_score(model, X, y, cv=CV, scoring="neg_mean_squared_error").mean()


def test_a_grid_over_the_width_equals_separately_built_kernels(data, rng):
    X, y = data[0], rng.normal(size=24)
    scores = grid_scores(KernelRidge(0.1, kernel=Gaussian()), {"kernel__width": WIDTHS}, X, y)
    np.testing.assert_array_equal(scores, [one_score(KernelRidge(0.1, kernel=Gaussian(w)), X, y) for w in WIDTHS])
    assert len(set(scores)) == 3


def test_a_grid_into_a_sum_equals_separately_built_kernels(data, rng):
    X, y = data[0], rng.normal(size=24)
    grid = {"kernel__k1__width": WIDTHS, "kernel__k2__base__width": [1.0, 10.0]}
    scores = grid_scores(KernelRidge(0.1, kernel=Gaussian() + 0.5 * Laplacian()), grid, X, y)
    expected = [
        one_score(KernelRidge(0.1, kernel=Gaussian(w) + 0.5 * Laplacian(v)), X, y) for w in WIDTHS for v in (1.0, 10.0)
    ]
    np.testing.assert_array_equal(scores, expected)
    assert len(set(scores)) == 6


def test_a_grid_over_alpha_and_gamma_equals_separately_built_models(data, rng):
    X, y = data[0], rng.normal(size=24)
    scores = grid_scores(KernelRidge(kernel="rbf"), {"alpha": [0.01, 1.0], "gamma": WIDTHS}, X, y)
    expected = [one_score(KernelRidge(a, kernel="rbf", gamma=g), X, y) for a in (0.01, 1.0) for g in WIDTHS]
    np.testing.assert_array_equal(scores, expected)
    assert len(set(scores)) == 6


def test_a_grid_over_whole_kernels_works(data, rng):
    X, y = data[0], rng.normal(size=24)
    kernels = [Gaussian(), Linear(), "rbf", Gaussian() + Linear()]
    scores = grid_scores(KernelRidge(0.1), {"kernel": kernels}, X, y)
    np.testing.assert_array_equal(scores, [one_score(KernelRidge(0.1, kernel=k), X, y) for k in kernels])


def test_a_grid_inside_a_pipeline_reaches_the_kernel(data, rng):
    X, y = data[0], rng.normal(size=24)
    line = make_pipeline(StandardScaler(), KernelRidge(0.1, kernel=Gaussian()))
    scores = grid_scores(line, {"kernelridge__kernel__width": WIDTHS}, X, y)
    expected = [one_score(make_pipeline(StandardScaler(), KernelRidge(0.1, kernel=Gaussian(w))), X, y) for w in WIDTHS]
    np.testing.assert_array_equal(scores, expected)


def test_a_precomputed_matrix_is_split_in_both_directions(data, rng):
    X, y = data[0], rng.normal(size=24)
    by_matrix = one_score(KernelRidge(0.1, kernel="precomputed"), Gaussian()(X), y)
    assert by_matrix == pytest.approx(one_score(KernelRidge(0.1, kernel=Gaussian()), X, y), rel=1e-9)


def test_weights_are_passed_by_a_search(data, rng):
    X, y, w = data[0], rng.normal(size=24), rng.uniform(0.1, 3.0, size=24)
    search = GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0]}, cv=CV).fit(X, y, sample_weight=w)
    direct = KernelRidge(search.best_params_["alpha"], kernel="rbf").fit(X, y, w)
    np.testing.assert_array_equal(search.best_estimator_.dual_coef_, direct.dual_coef_)


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


# -- small things ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        (np.zeros((3, 2)), (3, 2)),
        (sp.csr_array((5, 4)), (5, 4)),
        ([[1, 2], [3, 4], [5, 6]], (3, 2)),
        (((1.0,),), (1, 1)),
        ([np.zeros(4)], (1, 4)),
        (pd.DataFrame({"a": [1], "b": [2]}), (1, 2)),
        (np.zeros(3), None),
        ([1.0, 2.0], None),
        ([], None),
        ("text", None),
        (None, None),
    ],
    ids=str,
)
def test_the_shape_is_told_without_converting_anything(given, shape):
    assert shape_of(given) == shape


def test_one_warning_is_given_for_the_fit_and_none_for_what_follows(rng):
    X = np.repeat(rng.normal(size=(6, 2)), 2, axis=0)
    with pytest.warns(SingularSystemWarning) as caught:
        model = KernelRidge(0.0, kernel="rbf").fit(X, rng.normal(size=12))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X, return_std=True)
        assert model.effective_dof_ == pytest.approx(6.0)


def test_an_intercept_that_is_neither_true_nor_false_is_refused(data):
    """scikit-learn's own estimators refuse it; "no" must not mean yes."""
    with pytest.raises(ValueError, match="fit_intercept"):
        KernelRidge(fit_intercept="no").fit(*data)
