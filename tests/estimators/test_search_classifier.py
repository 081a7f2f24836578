"""Probabilities of a search for labels."""

import numpy as np
import pytest
from search_cases import PINNED, classification, quietly
from sklearn import metrics
from sklearn.model_selection import (
    StratifiedKFold,
)

from mercer import KernelRidgeClassifierCV


@pytest.fixture
def labelled(rng):
    return classification(rng)


# -- probabilities ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_add_up_and_agree_with_labels(classes, rng):
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=90), [0.0] if classes == 2 else [-0.5, 0.5])
    search = quietly(KernelRidgeClassifierCV(cv=5, repeats=2, random_state=0, fit_intercept=True), X, y)
    p = search.predict_proba(X)
    assert p.shape == (90, classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert metrics.log_loss(y, p) < 0.6 * np.log(classes)
    assert (search.classes_[p.argmax(axis=1)] == search.predict(X)).mean() > 0.9
    shape = (2, 90) if classes == 2 else (2, 90, 3)
    assert search.cv_predictions_.shape == shape


def test_probabilities_of_splits_that_never_test_some_rows(labelled):
    search = KernelRidgeClassifierCV(cv=StratifiedKFold(3), **PINNED).fit(*labelled)
    few = KernelRidgeClassifierCV(cv=[(np.arange(40), np.arange(40, 60))], **PINNED).fit(*labelled)
    for model in (search, few):
        assert np.isfinite(model.predict_proba(labelled[0])).all()
