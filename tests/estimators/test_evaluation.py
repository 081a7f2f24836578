"""cross_validate: closed forms against cross_val_score, and every other estimator by refits."""

import numpy as np
import pandas as pd
import pytest
from evaluation_cases import classification, regression
from scipy import sparse
from sklearn import metrics
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    cross_validate,
)
from mercer.data.folds import draw
from mercer.errors import InputError
from mercer.kernels import Gaussian, Laplacian


@pytest.fixture
def data(rng):
    return regression(rng)


@pytest.fixture
def labelled(rng):
    return classification(rng)


# -- cross_validate -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("cv", [5, KFold(4, shuffle=True, random_state=0), TimeSeriesSplit(3), LeaveOneOut()], ids=str)
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", "explained_variance"])
def test_closed_forms_equal_cross_val_score(scoring, cv, data):
    if scoring == "explained_variance" and isinstance(cv, LeaveOneOut):
        pytest.skip("one row has no variance")
    model = KernelRidge(0.3, kernel=Gaussian(1.2), fit_intercept=True)
    ours = cross_validate(model, *data, cv=cv, scoring=scoring)
    theirs = cross_val_score(model, *data, cv=cv, scoring=scoring or "neg_mean_squared_error")
    np.testing.assert_allclose(ours.scores[0], theirs, rtol=1e-8, atol=1e-12)
    assert ours.route.startswith("closed form, ")
    assert ours.mean == pytest.approx(theirs.mean())
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "linear"])
def test_scikit_learns_names_are_closed_forms_too(kernel, data):
    from sklearn.kernel_ridge import KernelRidge as TheirKernelRidge

    how = {"kernel": kernel, "gamma": 0.4, "alpha": 0.2}
    ours = cross_validate(KernelRidge(**how), *data, cv=4)
    theirs = cross_val_score(TheirKernelRidge(**how), *data, cv=4, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(ours.scores[0], theirs, rtol=1e-8)


def test_classifiers_and_several_targets_and_alphas(data, labelled, rng):
    model = KernelRidgeClassifier(0.3, kernel=Gaussian(), class_weight={"same": 3.0, "odd": 1.0})
    ours = cross_validate(model, *labelled, cv=4)
    np.testing.assert_allclose(ours.scores[0], cross_val_score(model, *labelled, cv=4))
    np.testing.assert_array_equal(ours.predictions[0], cross_val_predict(model, *labelled, cv=4))
    balanced = KernelRidgeClassifier(0.3, kernel=Gaussian(), class_weight="balanced")
    ours = cross_validate(balanced, *labelled, cv=4)
    np.testing.assert_allclose(ours.scores[0], cross_val_score(balanced, *labelled, cv=4))
    assert ours.route == "refitted"
    X, Y = data[0], np.c_[data[1], rng.normal(size=41)]
    model = KernelRidge([0.1, 10.0], kernel=Gaussian())
    ours = cross_validate(model, X, Y, cv=4)
    np.testing.assert_allclose(ours.scores[0], cross_val_score(model, X, Y, cv=4, scoring="neg_mean_squared_error"))
    np.testing.assert_allclose(ours.predictions[0], cross_val_predict(model, X, Y, cv=4), rtol=1e-9)


@pytest.mark.slow
def test_any_other_estimator_is_refitted(data, labelled):
    for model, xy, scoring in (
        (Ridge(), data, None),
        (KNeighborsRegressor(3), data, "r2"),
        (make_pipeline(StandardScaler(), Ridge()), data, "neg_max_error"),
        (LogisticRegression(), labelled, None),
        (LogisticRegression(), labelled, "neg_log_loss"),
        (KernelRidgeCV([Gaussian(1.5)], [0.1, 1.0], cv=3), data, None),
    ):
        ours = cross_validate(model, *xy, cv=4, scoring=scoring)
        default = "accuracy" if xy is labelled else "neg_mean_squared_error"
        np.testing.assert_allclose(ours.scores[0], cross_val_score(model, *xy, cv=4, scoring=scoring or default))
        np.testing.assert_array_equal(ours.predictions[0], cross_val_predict(model, *xy, cv=4))
        assert ours.route == "refitted"


@pytest.mark.slow
def test_closed_and_refitted_are_the_same(data, labelled, rng):
    class Mine(KernelRidge):
        """Not the very class, hence refitted."""

    class MineToo(KernelRidgeClassifier):
        """Not the very class, hence refitted."""

    weights = rng.uniform(0.2, 2.0, 48)
    weights[::7] = 0.0
    groups = np.arange(48) % 10
    for cv, extra in ((4, {}), (4, {"groups": groups}), (4, {"repeats": 2, "random_state": 1}), (None, {})):
        for (ours, theirs), (X, y) in (
            ((KernelRidge, Mine), (data[0], data[1])),
            ((KernelRidgeClassifier, MineToo), labelled),
        ):
            n = len(y)
            more = {name: value[:n] if name == "groups" else value for name, value in extra.items()}
            for sample_weight in (None, weights[:n]):
                found = [
                    cross_validate(kind(0.2, kernel=Laplacian()), X, y, cv=cv, sample_weight=sample_weight, **more)
                    for kind in (ours, theirs)
                ]
                np.testing.assert_allclose(found[0].scores, found[1].scores, rtol=1e-9)
                assert found[0].standard_error == pytest.approx(found[1].standard_error)
                if y.dtype.kind == "f":
                    np.testing.assert_allclose(found[0].predictions, found[1].predictions, rtol=1e-9)
                else:
                    np.testing.assert_array_equal(found[0].predictions, found[1].predictions)


def test_repeats_and_groups(data):
    ours = cross_validate(KernelRidge(kernel=Gaussian()), *data, cv=5, repeats=3, random_state=0)
    assert ours.scores.shape == (3, 5)
    assert ours.predictions.shape == (3, 41)
    share = np.mean([len(s.test) / len(s.train) for s in draw(5, *data, repeats=3, random_state=0).splits])
    assert ours.standard_error == pytest.approx(ours.scores.std(ddof=1) * np.sqrt(1 / 15 + share))
    splitter = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    given = cross_validate(KernelRidge(kernel=Gaussian()), *data, cv=splitter)
    theirs = cross_val_score(KernelRidge(kernel=Gaussian()), *data, cv=splitter, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(given.scores[0], theirs, rtol=1e-9)
    groups = np.arange(41) % 6
    for model in (KernelRidge(kernel=Gaussian()), Ridge()):
        ours = cross_validate(model, *data, cv=3, groups=groups)
        theirs = cross_val_score(model, *data, cv=GroupKFold(3), groups=groups, scoring="neg_mean_squared_error")
        np.testing.assert_allclose(ours.scores[0], theirs, rtol=1e-9)


def test_a_loss_and_printing(data):
    def loss(y, p):
        return np.abs(y - p).max()

    for model in (KernelRidge(kernel=Gaussian()), Ridge()):
        ours = cross_validate(model, *data, cv=4, scoring=loss)
        theirs = cross_val_score(model, *data, cv=4, scoring="neg_max_error")
        np.testing.assert_allclose(ours.scores[0], theirs)
        assert str(ours).startswith(
            f"Out-of-sample minus loss: {ours.mean:.4g} +- {ours.standard_error:.2g} (one standard error; "
            f"cross-validation, 4-fold, unshuffled; {ours.route}); baseline {ours.baseline:.4g}."
        )


def test_gram_matrices_are_cut_on_both_sides(data):
    X, y = data
    K = Gaussian()(X)
    plain = cross_validate(KernelRidge(0.1, kernel=Gaussian()), X, y, cv=4)

    class Mine(KernelRidge):
        """Not the very class, hence refitted."""

    for model in (KernelRidge(0.1, kernel="precomputed"), Mine(0.1, kernel="precomputed")):
        np.testing.assert_allclose(cross_validate(model, K, y, cv=4).scores, plain.scores, rtol=1e-9)


def test_frames_lists_and_sparse_rows(data):
    X, y = data
    plain = cross_validate(KernelRidge(0.1, kernel=Gaussian().on(0)), X, y, cv=4)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = cross_validate(KernelRidge(0.1, kernel=Gaussian().on("a")), frame, pd.Series(y), cv=4)
    np.testing.assert_allclose(named.scores, plain.scores)
    listed = cross_validate(KernelRidge(0.1, kernel=Gaussian().on(0)), X.tolist(), y.tolist(), cv=4)
    np.testing.assert_allclose(listed.scores, plain.scores)
    thin = cross_validate(KernelRidge(0.1), sparse.csr_matrix(X), y, cv=4)
    np.testing.assert_allclose(thin.scores, cross_validate(KernelRidge(0.1), X, y, cv=4).scores)
    ridge = cross_validate(Ridge(), X.tolist(), y.tolist(), cv=4)
    np.testing.assert_allclose(ridge.scores, cross_validate(Ridge(), frame, y, cv=4).scores)


@pytest.mark.parametrize("model", [KernelRidge(0.3, kernel=Gaussian()), Ridge()], ids=repr)
@pytest.mark.slow
def test_r2_of_folds_with_one_row_is_pooled_for_every_estimator(model, data):
    ours = cross_validate(model, *data, cv=None, scoring="r2")
    expected = metrics.r2_score(data[1], cross_val_predict(model, *data, cv=LeaveOneOut()))
    assert ours.mean == pytest.approx(expected)


def test_what_a_fit_refuses_is_refused_here_too(data, labelled):
    X, y = data
    with pytest.raises(InputError, match=r"sample_weight of KernelRidge must be non-negative; got -1"):
        cross_validate(KernelRidge(kernel=Gaussian()), X, y, cv=3, sample_weight=np.r_[-1.0, np.ones(40)])
    with pytest.raises(InputError, match="The precomputed kernel matrix K in fit must be symmetric"):
        cross_validate(KernelRidge(kernel="precomputed"), np.arange(1681.0).reshape(41, 41), y, cv=3)
    with pytest.raises(InputError, match=r"labels of at least two classes"):
        cross_validate(KernelRidgeClassifier(kernel=Gaussian()), X, np.zeros(41, int), cv=3)
    with pytest.raises(InputError, match=r"^alpha of KernelRidge must be a finite, non-negative number; got -1"):
        cross_validate(KernelRidge(-1.0, kernel=Gaussian()), X, y, cv=3)
