"""Temperatures: the maximum of a smoothed likelihood, found whatever the decision values look like."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from mercer import KernelRidgeClassifierCV
from mercer.estimators.targets import Temperature
from mercer.kernels import Gaussian


def smoothed(numbers, c):
    """Platt's targets, for any number of classes."""
    counts = np.bincount(numbers, minlength=c)
    share = 1.0 / (counts[numbers] + c)
    target = np.repeat(share[:, None], c, axis=1)
    target[np.arange(len(numbers)), numbers] = 1 - (c - 1) * share
    return target


def columns(values):
    """One column per class; beyond the labels' own range decisions count a hundredth."""
    low = -1.0 if values.shape[1] == 1 else 0.0
    inside = np.clip(values, low, 1.0)
    held = inside + 0.01 * (values - inside)
    return np.hstack([-held, held]) / 2 if values.shape[1] == 1 else held


def loss_of(scale, values, numbers):
    scores = columns(values)
    logits = scale * scores
    logits = logits - logits.max(axis=1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -np.mean((smoothed(numbers, scores.shape[1]) * logs).sum(axis=1))


def best_loss(values, numbers):
    """By a general-purpose optimizer, on the logarithm of the scale; and without any."""
    tried = [loss_of(0.0, values, numbers)]
    for low, high in ((-8, 3), (0, 10), (5, 25)):
        found = minimize_scalar(lambda log: loss_of(np.exp(log), values, numbers), bounds=(low, high), method="bounded")
        tried.append(found.fun)
    return min(tried)


def shifted(rng, counts, shift, noise=1.0):
    """Decision values of two classes around -shift and +shift."""
    numbers = np.repeat([0, 1], counts)
    return np.where(numbers == 1, shift, -shift)[:, None] + noise * rng.normal(size=(len(numbers), 1)), numbers


CASES = {
    "two classes": lambda rng: shifted(rng, (40, 40), 0.5),
    "three classes": lambda rng: (rng.normal(size=(90, 3)) + 0.8 * np.eye(3)[np.arange(90) % 3], np.arange(90) % 3),
    "few of one class": lambda rng: shifted(rng, (57, 3), 1.0),
    "perfectly separated": lambda rng: shifted(rng, (25, 25), 1.0, noise=0.0),
    "separated by far": lambda rng: shifted(rng, (25, 25), 1e3, noise=0.0),
    "tiny values": lambda rng: (1e-6 * rng.normal(size=(50, 1)), np.arange(50) % 2),
    "noise": lambda rng: (rng.normal(size=(200, 4)), rng.integers(0, 4, 200)),
    "against the labels": lambda rng: shifted(rng, (30, 10), -1.0, noise=0.3),
    "all alike": lambda rng: (np.zeros((20, 1)), np.repeat([0, 1], [15, 5])),
    "a class that is never tested": lambda rng: (rng.normal(size=(30, 3)), np.arange(30) % 2),
    "two rows": lambda rng: (np.array([[-1.0], [1.0]]), np.array([0, 1])),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_likelihood_is_at_its_maximum(case, rng):
    values, numbers = CASES[case](rng)
    fitted = Temperature.fitted(values, numbers)
    assert 0 <= fitted.scale < np.inf
    assert loss_of(fitted.scale, values, numbers) <= best_loss(values, numbers) + 1e-9


@pytest.mark.parametrize("case", sorted(CASES))
def test_probabilities_are_probabilities(case, rng):
    values, numbers = CASES[case](rng)
    p = Temperature.fitted(values, numbers).probabilities(values)
    assert p.shape == (len(values), max(values.shape[1], 2))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p > 0).all()
    assert (p < 1).all()


@pytest.mark.parametrize("case", sorted(set(CASES) - {"against the labels", "all alike"}))
def test_the_class_that_is_predicted_is_the_most_probable_one(case, rng):
    """Far beyond the labels' own range as well."""
    values, numbers = CASES[case](rng)
    fitted = Temperature.fitted(values, numbers)
    if fitted.scale == 0:
        return
    for factor in (1.0, 3.0):
        large = factor * values
        predicted = (large[:, 0] > 0).astype(int) if large.shape[1] == 1 else large.argmax(axis=1)
        np.testing.assert_array_equal(fitted.probabilities(large).argmax(axis=1), predicted)


def test_decisions_that_speak_against_the_labels_are_not_believed(rng):
    values, numbers = CASES["against the labels"](rng)
    fitted = Temperature.fitted(values, numbers)
    assert fitted.scale == 0.0
    np.testing.assert_array_equal(fitted.probabilities(np.array([[-1.0], [5.0]])), 0.5)


def test_a_calibrated_model_is_believed_as_it_is(rng):
    """Labels drawn from a softmax of temperature 1/3: that temperature is found."""
    values = rng.uniform(-1, 1, size=(20_000, 1))
    numbers = (rng.uniform(size=20_000) < 1 / (1 + np.exp(-3 * values[:, 0]))).astype(int)
    assert Temperature.fitted(values, numbers).scale == pytest.approx(3.0, rel=0.05)


def test_larger_decisions_are_more_probable(rng):
    values, numbers = CASES["two classes"](rng)
    p = Temperature.fitted(values, numbers).probabilities(np.linspace(-3, 3, 13)[:, None])
    assert (np.diff(p[:, 1]) > 0).all()


def test_beyond_the_labels_own_range_hardly_more_is_known(rng):
    values, numbers = CASES["two classes"](rng)
    p = Temperature.fitted(values, numbers).probabilities(np.array([[0.0], [1.0], [2.0]]))[:, 1]
    assert 0 < p[2] - p[1] < 0.05 * (p[1] - p[0])


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_of_weight_zero_have_no_part_in_the_calibration_of_a_search(classes, rng):
    """Equal to the search without them, on the same splits, and to the likelihood of the others by brute force."""
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] > 0).astype(int) + (classes - 2) * (X[:, 1] > 0)
    absent = np.arange(90) % 3 == 0
    y[absent] = rng.permutation(y[absent])  # labels that would spoil the calibration
    weights = np.where(absent, 0.0, rng.uniform(0.5, 2.0, size=90))
    folds = np.arange(90) // 3 % 5
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(5)]
    place = np.cumsum(~absent) - 1
    kept = [tuple(place[rows[~absent[rows]]] for rows in split) for split in splits]
    whole = KernelRidgeClassifierCV([Gaussian(1.0)], [0.1], cv=splits).fit(X, y, weights)
    without = KernelRidgeClassifierCV([Gaussian(1.0)], [0.1], cv=kept).fit(X[~absent], y[~absent], weights[~absent])
    np.testing.assert_allclose(whole.temperature_.scale, without.temperature_.scale, rtol=1e-9)
    np.testing.assert_allclose(whole.predict_proba(X), without.predict_proba(X), rtol=1e-9)

    own, scores = weights[~absent] * 60 / weights.sum(), columns(whole.cv_predictions_[0][~absent].reshape(60, -1))
    counts = np.bincount(y[~absent], own, minlength=classes)
    target = np.repeat(1 / (counts[y[~absent]] + classes)[:, None], classes, axis=1)
    target[np.arange(60), y[~absent]] = 1 - (classes - 1) * target[:, 0]

    def loss(scale):
        return own @ (logsumexp(scale * scores, axis=1) - (target * scale * scores).sum(axis=1))

    best = minimize_scalar(loss, bounds=(0, 100), method="bounded", options={"xatol": 1e-9}).x
    np.testing.assert_allclose(whole.temperature_.scale, best, rtol=1e-4)
