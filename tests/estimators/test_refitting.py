"""Estimators that are refitted get what scikit-learn would give them: weights, groups, and both sides of a matrix."""

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, TimeSeriesSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidgeClassifierCV, KernelRidgeCV, cross_validate, nested_cross_validate
from mercer.errors import InputError
from mercer.kernels import Gaussian

PINNED = {"kernels": [Gaussian(1.5)], "alphas": [0.1, 1.0]}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 3))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=40)


@pytest.fixture
def labelled(rng):
    X = rng.normal(size=(40, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "odd")


def test_gram_matrices_may_be_frames_or_lists(data):
    K = Gaussian(1.5)(data[0])
    search = KernelRidgeCV("precomputed", [0.1, 1.0], cv=3)
    plain = cross_validate(search, K, data[1], cv=4)
    for given in (pd.DataFrame(K), K.tolist(), sparse.csr_matrix(K)):
        np.testing.assert_allclose(cross_validate(search, given, data[1], cv=4).scores, plain.scores)
        verified = KernelRidgeCV("precomputed", [0.1, 1.0], cv=4, verify=True).fit(given, data[1])
        assert verified.verified_ < 1e-10


def test_sparse_rows_of_any_format_are_taken(data):
    plain = cross_validate(Ridge(), data[0], data[1], cv=4)
    for given in (sparse.coo_matrix(data[0]), sparse.csc_matrix(data[0])):
        np.testing.assert_allclose(cross_validate(Ridge(), given, data[1], cv=4).scores, plain.scores)


def test_weights_must_be_one_for_each_row(data):
    with pytest.raises(InputError, match=(r"sample_weight.* got shape \(50,\)")):
        cross_validate(Ridge(), *data, cv=4, sample_weight=np.ones(50))


def test_weights_for_an_estimator_without_are_refused(labelled):
    sentence = "KNeighborsClassifier.fit does not support sample_weight. Remove sample_weight."
    for model in (KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())):
        with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
            cross_validate(model, *labelled, cv=4, sample_weight=np.ones(40))


def test_a_grid_search_inside_gets_the_groups(data):
    groups = np.arange(40) % 8
    model = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, cv=GroupKFold(3))
    ours = cross_validate(model, *data, cv=4, groups=groups)
    for i, (train, test) in enumerate(GroupKFold(4).split(*data, groups)):
        model.fit(data[0][train], data[1][train], groups=groups[train])
        expected = -((model.predict(data[0][test]) - data[1][test]) ** 2).mean()
        assert ours.scores[0, i] == pytest.approx(expected)


def test_routed_metadata_go_where_the_steps_ask_for_them(data, rng):
    weights, groups = rng.uniform(0.5, 2.0, 40), np.arange(40) % 8
    plain = make_pipeline(StandardScaler(), KernelRidgeCV(cv=3, **PINNED))
    expected = nested_cross_validate(plain, *data, cv=4, sample_weight=weights, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        search = KernelRidgeCV(cv=3, **PINNED).set_fit_request(sample_weight=True, groups=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search)
        found = nested_cross_validate(routed, *data, cv=4, sample_weight=weights, groups=groups)
        with pytest.raises(ValueError, match="are passed but are not explicitly set as requested"):
            cross_validate(plain, *data, cv=4, sample_weight=weights)
    np.testing.assert_allclose(found.scores, expected.scores)


def test_labels_keep_their_type(labelled):
    X, y = labelled
    pipeline = make_pipeline(StandardScaler(), KernelRidgeClassifierCV(cv=3, **PINNED))
    for given in (y, (y == "same").astype(np.uint8)):
        assert cross_validate(LogisticRegression(), X, given, cv=4).predictions.dtype == given.dtype
        assert nested_cross_validate(pipeline, X, given, cv=4).predictions.dtype == given.dtype
    assert cross_validate(LogisticRegression(), X, y, cv=TimeSeriesSplit(3)).predictions.dtype == object


def test_r2_of_single_rows_is_pooled_for_scorers_too(data):
    from sklearn.metrics import get_scorer

    named, scorer = (cross_validate(Ridge(), *data, cv=None, scoring=how) for how in ("r2", get_scorer("r2")))
    assert named.mean == pytest.approx(scorer.mean)
    how = "one score, so no standard error; cross-validation, leave-one-out; refitted"
    assert str(named).startswith(f"Out-of-sample r2: {named.mean:.4g} ({how}); baseline ")


def test_rows_are_fitted_in_the_order_that_a_splitter_names_them_in(data):
    from sklearn.model_selection import ShuffleSplit

    cv = ShuffleSplit(3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), KernelRidgeCV(cv=3, **PINNED))
    ours = nested_cross_validate(pipeline, *data, cv=cv)
    theirs = cross_val_score(pipeline, *data, cv=cv, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(ours.scores[0], theirs, rtol=1e-9)
