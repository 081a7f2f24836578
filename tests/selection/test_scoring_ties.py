"""Every named score of scikit-learn where rows repeat, against refits: ties stay ties.

Refits break ties by rounding, too, so that the oracle predicts distinct rows once and takes predictions for equal that
differ by less than 1e-12 of the terms they are sums of.
"""

import warnings

import numpy as np
import pytest
from sklearn.metrics import get_scorer, get_scorer_names

from drawn import CASES, SOAK
from mercer import KernelRidgeClassifierCV, KernelRidgeCV
from mercer.errors import InputError
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.selection.removals import equal_rows
from mercer.selection.scoring import Classes, _Stub, resolve_scoring
from oracles import kernel_ridge

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.filterwarnings("ignore")]

KERNELS = [Linear(), Gaussian(1.0), Gaussian(0.05), Laplacian(2.0), Matern(0.7), Polynomial(2)]


def named(*, classifier):
    """Names of scores that take labels, decision values or numbers."""
    sample = KernelRidgeClassifierCV if classifier else KernelRidgeCV
    X, y = np.arange(12.0)[:, None], np.array([0, 1, 1, 0, 1, 0] * 2)
    for name in get_scorer_names():
        try:
            sample([Linear()], [1.0], cv=2, scoring=name, fit_intercept=True).fit(X, y if classifier else y + 0.5)
        except (InputError, ValueError):
            continue
        yield name


def tied(values, terms):
    """Values in which those are equal that differ by less than 1e-12 of the terms they are sums of."""
    values = np.where(np.abs(values) > 1e-12 * terms, values, 0.0)
    order = np.argsort(values)
    slack = 1e-12 * np.maximum(terms[order][1:], terms[order][:-1])
    steps = np.append(0, np.cumsum(np.diff(values[order]) > slack))
    result = np.empty_like(values)
    result[order] = values[order][np.unique(steps, return_index=True)[1]][steps]
    return result


def refitted(kernel, X, Y, alpha, intercept, weights, train, test):
    """Predictions of a model of the training rows at the distinct test rows, and the sizes of their terms."""
    distinct, places = np.unique(X[test], axis=0, return_inverse=True)
    used = train if weights is None else train[weights[train] > 0]
    own = None if weights is None else weights[used]
    a, b = kernel_ridge(kernel(X[used]), Y[used], alpha, own, intercept)
    K = kernel(distinct, X[used])
    return (K @ a + b)[places.ravel(), 0], (np.abs(K) @ np.abs(a) + intercept * np.abs(Y).max())[places.ravel(), 0]


def expected_score(name, y, values, classes):
    """The score of one test set by scikit-learn's own scorer."""
    outcome = values[:, 0] if classes is None else classes.labels[(values[:, 0] > 0).astype(int)]
    stub = _Stub(outcome, values, classes)
    try:
        return float(get_scorer(name)(stub, np.zeros((len(y), 1)), y))
    except ValueError:
        return np.nan


def draw_case(rng):
    n, d = int(rng.integers(12, 50)), int(rng.integers(1, 3))
    X = rng.integers(0, int(rng.integers(1, 4)), size=(n, d)).astype(float)
    order = rng.permutation(n)
    alone = rng.random() < 0.25
    tests = [np.sort(part) for part in np.array_split(order, n if alone else int(rng.integers(2, 5)))]
    splits = [(np.setdiff1d(np.arange(n), test), test) for test in tests]
    weights = rng.integers(0, 3, size=n).astype(float) if rng.random() < 0.25 else None
    kernel = KERNELS[int(rng.integers(len(KERNELS)))]
    return X, splits, weights, kernel, float(10 ** rng.uniform(-3, 2)), bool(rng.random() < 0.7), alone


@pytest.mark.parametrize("classifier", [True, False])
def test_every_named_score_is_that_of_refits_where_rows_repeat(classifier):
    rng, names, count = np.random.default_rng([SOAK, 71, classifier]), list(named(classifier=classifier)), 0
    assert len(names) > (15 if classifier else 10)
    for number in range(3 * CASES):
        X, splits, weights, kernel, alpha, intercept, alone = draw_case(rng)
        y = rng.integers(0, 2, size=len(X)) if classifier else rng.integers(1, 5, size=len(X)).astype(float)
        name = names[number % len(names)]
        trained = [y[train] if weights is None else y[train][weights[train] > 0] for train, _ in splits]
        if min(len(set(part)) for part in trained) < 2:
            continue
        make = KernelRidgeClassifierCV if classifier else KernelRidgeCV
        search = make([kernel], [alpha], cv=splits, scoring=name, fit_intercept=intercept)
        classes = Classes(np.array([0, 1]), y.astype(int)) if classifier else None
        Y = classes.targets() if classifier else y[:, None]
        values, terms = np.empty((len(X), 1)), np.empty(len(X))
        for train, test in splits:
            values[test, 0], terms[test] = refitted(kernel, X, Y, alpha, intercept, weights, train, test)
            values[test, 0] = values[test, 0] if alone else tied(values[test, 0], terms[test])
        together = alone and resolve_scoring(name, classifier=classifier).pooled
        sets = [np.concatenate([test for _, test in splits])] if together else [test for _, test in splits]
        unclear = (np.abs(values[:, 0]) > 1e-14 * terms) & (np.abs(values[:, 0]) < 1e-11 * terms)
        if unclear.any():  # what counts as zero is a matter of the threshold
            continue
        size = np.abs(values[:, 0])
        if alone and ((size > 1e-12 * terms) & (size < 1e-11 * terms.max())).any():
            continue  # a sign that is certain by itself, but not beside rows whose terms are far larger
        if alone:
            values[:, 0] = tied(values[:, 0], terms)
        expected = [expected_score(name, y[rows], values[rows], classes) for rows in sets]
        shares = name == "explained_variance" and any(np.ptp(y[rows]) == 0 for rows in sets)
        if np.isnan(expected).any() or shares:  # of no variance, rounding decides between 0 and 1 in scikit-learn
            continue
        search.fit(X, y, weights)
        found = [search.cv_results_[f"split{i}_test_score"][0] for i in range(len(sets))]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9, err_msg=f"{name} {kernel} {alpha}")
        count += 1
    assert count > CASES


def test_the_repeated_rows_of_the_issue_have_one_rank():
    r = np.random.default_rng(1)
    X = r.integers(0, 3, (150, 1)).astype(float)
    y = (r.random(150) < 0.3 + 0.1 * X[:, 0]).astype(int)
    folds = [np.flatnonzero(np.arange(150) % 5 == k) for k in range(5)]
    cv = [(np.setdiff1d(np.arange(150), test), test) for test in folds]
    search = KernelRidgeClassifierCV([Linear()], [0.01, 1.0, 100.0], cv=cv, scoring="average_precision")
    scores = search.set_params(fit_intercept=True).fit(X, y).cv_results_["mean_test_score"]
    assert len(set(scores)) == 1
    constant = search.set_params(scoring="roc_auc").fit(np.ones((150, 1)), y)
    assert constant.cv_results_["mean_test_score"].tolist() == [0.5] * 3


def test_equal_rows_are_found_up_to_rounding():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[[7, 30]], X[21] = X[3], X[20]
    first = equal_rows(Gaussian(1.0)(X) * (1 + 2e-16 * rng.normal(size=(40, 40))))
    expected = np.arange(40)
    expected[[7, 30]], expected[21] = 3, 20
    assert first.tolist() == expected.tolist()
    with warnings.catch_warnings(action="error"):
        assert equal_rows(np.empty((0, 3))).tolist() == []
        assert equal_rows(np.zeros((3, 0))).tolist() == [0, 0, 0]


def test_a_row_that_shares_nothing_with_others_is_predicted_as_zero_when_it_is_left_out():
    X, y = np.array([[0.0], [0.0], [1.0], [3.0], [3.0]]), np.array([0, 1, 1, 0, 0])
    search = KernelRidgeClassifierCV([Gaussian(0.05)], [5.8], scoring="recall_weighted").fit(X, y)
    assert search.cv_predictions_[0, 2] == 0.0
    assert search.cv_predictions_[0, 3] == pytest.approx(-1 / 6.8)
