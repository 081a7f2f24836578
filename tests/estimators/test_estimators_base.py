"""What all estimators share: manners about what comes in, parameters, pickles, and memory of nothing lent."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from base_cases import ESTIMATORS, rows_and_targets
from sklearn.exceptions import NotFittedError

from mercer import KernelNeighborsRegressor, KernelRidge, KernelRidgeClassifier
from mercer.errors import InputError, SingularSystemWarning
from mercer.kernels import Gaussian, Linear
from refusals import refusal, tells


@pytest.fixture
def data(rng):
    return rows_and_targets(rng)


# -- alpha and weights ----------------------------------------------------------------------------

SMALL = "Use a small positive number for weak regularization."


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
    assert tells(refusal(lambda: estimator(alpha).fit(*data)), f"alpha of {estimator.__name__}", sentence)


@pytest.mark.parametrize(
    ("alpha", "sentence"),
    [
        ([1.0, 2.0, 3.0], "one number, or an array of 2 numbers (one per target); got an array of shape (3,)."),
        ([1.0, -2.0], f"finite, non-negative numbers; got [1.0, -2.0]. {SMALL}"),
        ([[1.0, 2.0]], "one number, or an array of 2 numbers (one per target); got an array of shape (1, 2)."),
    ],
    ids=str,
)
def test_a_bad_alpha_of_several_targets_is_refused_in_a_sentence(alpha, sentence, data, rng):
    got = refusal(lambda: KernelRidge(alpha).fit(data[0], rng.normal(size=(24, 2))))
    assert tells(got, "alpha of KernelRidge", sentence)


@pytest.mark.parametrize("estimator", [KernelRidge, KernelRidgeClassifier])
def test_bad_weights_are_refused_in_a_sentence(estimator, data):
    w = np.ones(24)
    w[5] = -0.25
    got = refusal(lambda: estimator().fit(*data, w))
    assert tells(got, f"sample_weight of {estimator.__name__}", "got -0.25 in row 5")
    assert tells(refusal(lambda: estimator().fit(*data, np.zeros(24))), estimator.__name__, "got only zero")
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(23,\), expected \(24,\)!"):
        estimator().fit(*data, np.ones(23))
    with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
        estimator().fit(*data, np.full(24, np.nan))


def test_no_weight_left_is_refused_in_a_sentence():
    from mercer.data.checks import check_weights

    assert tells(
        refusal(lambda: check_weights("KernelRidge", np.zeros(3))), "sample_weight of KernelRidge", "got only zeros"
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
        (([["a"], ["b"]], [0, 1]), r"must be numbers; got the string 'a'. For tables with text use make_pipeline"),
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
    assert tells(refusal(lambda: KernelRidge(kernel=Gaussian().on("b")).fit(X, y)), "Column 'b'", "no column names")


def test_a_target_column_of_a_frame_is_taken(data):
    X, y = data
    plain = KernelRidge(kernel="rbf").fit(X, y).dual_coef_
    for target in (pd.Series(y), pl.Series(y), y.tolist()):
        np.testing.assert_array_equal(KernelRidge(kernel="rbf").fit(X, target).dual_coef_, plain)
    for target in (pd.DataFrame({"y": y}), pl.DataFrame({"y": y})):
        np.testing.assert_array_equal(KernelRidge(kernel="rbf").fit(X, target).dual_coef_[:, 0], plain)


# -- small things ---------------------------------------------------------------------------------


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


def test_parameters_of_a_kernel_are_set_together():
    model = KernelRidge(kernel=Gaussian(1.0) + Linear())
    model.set_params(kernel__k1__width=2.0, kernel__k2=Gaussian(3.0))
    assert model.kernel == Gaussian(2.0) + Gaussian(3.0)


def test_the_solver_is_chosen_for_the_rows_with_weight(rng):
    X, weights = rng.normal(size=(30, 2)), np.zeros(30)
    weights[:20] = 1.0
    model = KernelRidge(kernel=Gaussian(1.0)).fit(X, X[:, 0], sample_weight=weights)
    assert "20 rows" in str(model.route_)


def test_a_refused_fit_leaves_columns_and_predictions_as_they_were(rng):
    X, frame = rng.normal(size=(20, 2)), pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    model = KernelRidge(kernel=Gaussian(1.0)).fit(X, X[:, 0])
    before = model.predict(X)
    with pytest.raises(InputError):
        model.fit(frame, X[:, 0], sample_weight=-np.ones(20))
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")
