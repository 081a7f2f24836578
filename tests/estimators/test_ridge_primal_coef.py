"""primal_coef_: the weights of explicit features, by every solver, against predictions and ridge regression."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge, RidgeClassifier

from mercer import KernelRidge, KernelRidgeClassifier, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.errors import NoFeaturesError
from mercer.kernels import (
    Constant,
    Cosine,
    FromFeatures,
    Gaussian,
    Linear,
    Outer,
    Polynomial,
    Precomputed,
    Spectrum,
    Words,
)
from refusals import refusal, tells

CASES = list(itertools.product([False, True], [False, True], [0, 2]))
SOLVERS = ["auto", "cholesky", "spectral", "primal"]
KERNELS = [
    Linear(),
    Polynomial(2),
    Cosine() + Constant(0.5),
    2.5 * Linear().on([0, 2]) * Linear(),
    Polynomial(2, offset=0).normalized(),
    FromFeatures(np.tanh),
    Linear().map(np.exp),
    Outer(lambda X: X[:, 0]) + Linear() ** 2,
]


def values(model, X):
    """phi(x)'w + b."""
    return model.kernel_.feature_map(X) @ model.primal_coef_.T + model.intercept_


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("intercept", "weighted", "targets"), CASES)
def test_features_times_weights_predict(solver, kernel, intercept, weighted, targets, rng):
    X, new = rng.normal(size=(25, 3)), rng.normal(size=(6, 3))
    y = rng.normal(size=(25, targets) if targets else 25)
    w = rng.uniform(0.2, 2.0, size=25) * (np.arange(25) % 5 > 0) if weighted else None
    model = KernelRidge(0.3, kernel=kernel, fit_intercept=intercept, solver=solver).fit(X, y, w)
    count = kernel.feature_map(X).shape[1]
    assert model.primal_coef_.shape == ((targets, count) if targets else (count,))
    np.testing.assert_allclose(values(model, new), model.predict(new), rtol=1e-9, atol=1e-9)
    if kernel == Linear():
        peer = Ridge(0.3, fit_intercept=intercept).fit(X, y, w)
        np.testing.assert_allclose(model.primal_coef_, peer.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 3), st.booleans(), st.integers(0, 2**16))
def test_primal_and_dual_solvers_have_the_same_weights(n, d, degree, intercept, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    found = [
        KernelRidge(0.5, kernel=Polynomial(degree), fit_intercept=intercept, solver=solver).fit(X, y).primal_coef_
        for solver in ("cholesky", "spectral", "primal")
    ]
    np.testing.assert_allclose(found[0], found[2], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found[1], found[2], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_several_alphas_have_a_row_of_weights_each(solver, rng):
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    model = KernelRidge([0.1, 1.0, 10.0], solver=solver).fit(X, Y)
    np.testing.assert_allclose(model.primal_coef_, Ridge([0.1, 1.0, 10.0], fit_intercept=False).fit(X, Y).coef_)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=repr)
def test_sparse_rows_give_what_dense_rows_give(solver, kernel, rng):
    X = rng.normal(size=(40, 5)) * (rng.uniform(size=(40, 5)) < 0.4)
    y = rng.normal(size=40)
    dense = KernelRidge(0.5, kernel=kernel, solver=solver).fit(X, y)
    thin = KernelRidge(0.5, kernel=kernel, solver=solver).fit(sp.csr_array(X), y)
    assert isinstance(thin.primal_coef_, np.ndarray)
    np.testing.assert_allclose(thin.primal_coef_, dense.primal_coef_, rtol=1e-8, atol=1e-10)


def test_wide_sparse_rows_are_never_made_dense(monkeypatch, rng):
    X = sp.random_array((1200, 50_000), density=1e-3, format="csr", rng=rng)
    model = KernelRidge(0.5, kernel=Linear()).fit(X, rng.normal(size=1200))
    assert model.route_.name != "primal"
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", str(5_000_000))  # a dense block of 500 rows would take 200 MB
    np.testing.assert_allclose(model.primal_coef_, X.T @ model.dual_coef_, rtol=1e-9, atol=1e-12)


def test_more_than_one_block_of_rows(rng):
    X, y = rng.normal(size=(1201, 2)), rng.normal(size=1201)
    model = KernelRidge(0.5, kernel=Polynomial(2), solver="cholesky").fit(X, y)
    np.testing.assert_allclose(
        model.primal_coef_, Polynomial(2).feature_map(X).T @ model.dual_coef_, rtol=1e-9, atol=1e-11
    )


def test_names_and_weights_belong_together(rng):
    """y = 3 + 2 a b, seen through the names."""
    frame = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    y = 3.0 + 2.0 * frame["a"] * frame["b"]
    model = KernelRidge(1e-8, kernel=Polynomial(2, offset=0), fit_intercept=True).fit(frame, y)
    weights = dict(zip(model.kernel_.feature_names(frame), model.primal_coef_, strict=True))
    assert list(weights) == ["a^2", "sqrt2*a*b", "b^2"]
    np.testing.assert_allclose(list(weights.values()), [0.0, np.sqrt(2), 0.0], atol=1e-6)
    assert model.intercept_ == pytest.approx(3.0)


def test_a_kernel_on_named_columns(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    y = rng.normal(size=20)
    model = KernelRidge(0.5, kernel=Linear().on("c") + Linear().on("a"), solver="cholesky").fit(frame, y)
    np.testing.assert_allclose(model.primal_coef_, Ridge(0.5, fit_intercept=False).fit(frame[["c", "a"]], y).coef_)


def test_the_best_of_a_search_has_its_weights(rng):
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -0.5, 0.2] + rng.normal(size=40)
    search = KernelRidgeCV([Linear()], np.geomspace(1e-3, 1e4, 8), fit_intercept=True).fit(X, y)
    best = search.best_estimator_
    np.testing.assert_allclose(best.primal_coef_, Ridge(search.alpha_).fit(X, y).coef_, rtol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_have_a_row_for_each_decision(solver, classes, rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(classes, size=40)
    model = KernelRidgeClassifier(0.5, kernel=Linear(), fit_intercept=True, solver=solver).fit(X, y)
    peer = RidgeClassifier(0.5).fit(X, y)
    assert model.primal_coef_.shape == (1 if classes == 2 else classes, 3)
    scale = 1.0 if classes == 2 else 0.5  # scikit-learn codes more classes by -1 and 1, we by 0 and 1
    np.testing.assert_allclose(model.primal_coef_, scale * np.atleast_2d(peer.coef_), rtol=1e-8, atol=1e-10)
    decision = (X @ model.primal_coef_.T + model.intercept_).squeeze()
    np.testing.assert_allclose(decision, model.decision_function(X), atol=1e-10)


# -- manners ----------------------------------------------------------------------------------------------


def test_weights_are_the_callers_to_change(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    for solver in ("primal", "cholesky"):
        model = KernelRidge(0.5, solver=solver).fit(X, y)
        before = model.predict(X)
        model.primal_coef_[:] = 0.0
        np.testing.assert_array_equal(model.predict(X), before)


def test_they_survive_pickling_and_are_no_part_of_a_clone(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    model = KernelRidge(0.5, solver="cholesky").fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).primal_coef_, model.primal_coef_)
    with pytest.raises(NotFittedError):
        _ = clone(model).primal_coef_


@pytest.mark.parametrize("kernel", [Gaussian(), Linear() + Gaussian(), Linear().exp()], ids=repr)
def test_endlessly_many_features_have_no_weights(kernel, rng):
    model = KernelRidge(0.5, kernel=kernel).fit(rng.normal(size=(9, 2)), rng.normal(size=9))
    assert tells(refusal(lambda: model.primal_coef_, kind=NoFeaturesError), "primal_coef_ of KernelRidge", repr(kernel))
    assert not hasattr(model, "primal_coef_")


def test_a_precomputed_matrix_has_no_features(rng):
    X = rng.normal(size=(9, 2))
    model = KernelRidge(0.5, kernel=Precomputed()).fit(X @ X.T, rng.normal(size=9))
    assert refusal(lambda: model.primal_coef_, kind=NoFeaturesError).startswith("primal_coef_ of KernelRidge needs")


def test_too_many_features_are_refused_with_their_number(monkeypatch, rng):
    model = KernelRidge(0.5, kernel=Polynomial(6)).fit(rng.normal(size=(9, 20)), rng.normal(size=9))
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000000")
    assert tells(
        refusal(lambda: model.primal_coef_, kind=NoFeaturesError),
        "primal_coef_ of KernelRidge on 230230 features",
        "20.3 MB",
        "1.0 MB",
    )


def test_absurdly_many_features_are_refused_at_once(rng):
    model = KernelRidge(0.5, kernel=Polynomial(60, scale=0.01)).fit(rng.normal(size=(9, 60)), rng.normal(size=9))
    said = refusal(lambda: model.primal_coef_, kind=NoFeaturesError)
    assert said.startswith("primal_coef_ of KernelRidge on more than 10^18 features needs ")


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(60, scale=0.01), Polynomial(3000, scale=1e-5)], ids=repr)
def test_a_notebook_can_show_a_model_without_weights(kernel, rng):
    """scikit-learn asks a model for all its attributes then, and takes an AttributeError for an answer."""
    model = KernelRidge(0.5, kernel=kernel, solver="cholesky").fit(rng.normal(size=(9, 60)), rng.normal(size=9))
    assert "primal_coef_" not in dir(model)
    assert "KernelRidge" in model._repr_html_()


def test_a_refit_forgets_the_old_weights(rng):
    X, y, z = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=20)
    model = KernelRidge(0.5, solver="cholesky").fit(X, y)
    assert model.primal_coef_.shape == (3,)
    np.testing.assert_allclose(model.fit(X, z).primal_coef_, Ridge(0.5, fit_intercept=False).fit(X, z).coef_)


def test_weights_far_from_the_origin_keep_their_digits_with_an_intercept(rng):
    X = rng.normal(size=(30, 2))
    y, weights = X @ [2.0, -1.0], np.ones(30)
    X[0], weights[0] = 1e14, 0.0  # left out, and no part of where the rows are
    near, far = (
        KernelRidge(1e9, fit_intercept=True, solver="cholesky").fit(rows, y, weights).primal_coef_
        for rows in (X, X + 2.0**20)
    )
    np.testing.assert_allclose(far, near, rtol=1e-8)


@pytest.mark.parametrize("kernel", [Spectrum(2), Words() + 2.0 * Spectrum(1)], ids=repr)
def test_substrings_and_words_of_the_training_rows_have_weights_with_names(kernel):
    texts, y = np.array(["abca bb", "bcb", "aa", "ccb b"], dtype=object), np.array([1.0, 2.0, -1.0, 0.5])
    model = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(texts, y)
    values = kernel.feature_map(texts) @ model.primal_coef_ + model.intercept_
    np.testing.assert_allclose(values, model.predict(texts), atol=1e-12)
    assert model.primal_names_ == kernel.feature_names(texts)
    assert len(model.primal_names_) == len(model.primal_coef_)


def test_names_of_weights_are_those_of_columns():
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 1.0]})
    assert KernelRidge(0.1, kernel=Linear()).fit(X, [1.0, 2.0, 3.0]).primal_names_ == ["a", "b"]


@pytest.mark.parametrize("search", [KernelRidgeCV, KernelRidgeClassifierCV])
def test_searches_have_the_weights_and_names_of_their_best_candidate(search, rng):
    X = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    fitted = search(Polynomial(2), [0.1]).fit(X, X["a"] > 0)
    np.testing.assert_array_equal(fitted.primal_coef_, fitted.best_estimator_.primal_coef_)
    assert fitted.primal_names_ == fitted.best_estimator_.primal_names_
    assert not hasattr(search(Gaussian(), [0.1]).fit(X, X["a"] > 0), "primal_coef_")
    assert not hasattr(search(), "primal_coef_")
