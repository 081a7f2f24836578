"""Inputs at the limits of double precision: closed forms are refits there too, and what cannot be computed is refused.

Drawn are narrow and wide kernels, rows and targets far from zero, very small and very large, weights of zero, rows far
from all others, equal rows, constant columns and any alpha. Errors are held against the digits that are claimed.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn import SOAK
from mercer import (
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    NystroemRidge,
    NystroemRidgeClassifier,
    NystroemRidgeClassifierCV,
    NystroemRidgeCV,
    cross_validate,
    nested_cross_validate,
)
from mercer.errors import InputError
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.solvers.plan import digits_left

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")]

EPS = np.finfo(float).eps
STATIONARY = (Gaussian, Laplacian, Matern, RationalQuadratic)
HARD = (
    "plain", "narrow", "wide", "offset X", "offset y", "scale X", "scale y", "equal rows", "far row", "constant",
    "alpha",
)  # fmt: skip
FAMILIES = (*STATIONARY, Linear, Polynomial)
LARGEST = 200.0  # power of ten of targets
BESIDE = 2 if SOAK else 1  # digits by which a single claim may be too large


@dataclass(eq=False)
class Case:
    """Rows, targets and a model, with splits that cover every row."""

    X: Any
    y: Any
    weights: Any
    kernel: Any
    alpha: float
    intercept: bool
    splits: list
    rng: Any

    @property
    def model(self):
        return {"kernel": self.kernel, "fit_intercept": self.intercept}

    def scored_together(self, scoring):
        """Test sets; all as one where each is one row and the score is no mean over rows."""
        tests = [test for _, test in self.splits]
        alone = all(len(test) == 1 for test in tests)
        return [np.concatenate(tests)] if alone and scoring == "neg_root_mean_squared_error" else tests

    def labels(self, classes=2):
        """Ranks of the targets in `classes` parts, so that every training set has all of them in most cases."""
        return np.argsort(np.argsort(self.y, kind="stable")) * classes // len(self.y)

    def refitted(self, kernel, alpha, y=None, kind=KernelRidge):
        """Predictions (decision values) of every row by models fitted to raw training rows; and their digits."""
        y = self.y if y is None else y
        values, digits = None, 16.0
        for train, test in self.splits:
            own = None if self.weights is None else self.weights[train]
            model = kind(alpha, kernel=kernel, fit_intercept=self.intercept).fit(self.X[train], y[train], own)
            found = (model.predict if kind is KernelRidge else model.decision_function)(self.X[test])
            values = np.full((len(y), *found.shape[1:]), np.nan) if values is None else values
            values[test], digits = found, min(digits, model.route_.digits)
        return values, digits


def made(rng, kinds, family, *, intercept, least=5, most=25, weighted=0.4):
    """A case with these kinds of hard input; everything else comes from the generator."""

    def power(low, high, of):
        return 10.0 ** rng.uniform(low, high) if of in kinds else 1.0

    n, d = int(rng.integers(least, most + 1)), int(rng.integers(1, 4))
    X = rng.uniform(-1.0, 2.0, size=(n, d))
    if "equal rows" in kinds:
        X[: n // 3] = X[n // 3 : 2 * (n // 3)]
    y = np.sin(2.0 * X @ rng.normal(size=d)) + rng.choice([0.0, 0.3]) * rng.normal(size=n)
    y = (y + power(0, 12, "offset y") * ("offset y" in kinds)) * power(-200, LARGEST, "scale y")
    width = 10.0 ** rng.uniform(-0.5, 0.5) * power(-2.5, -0.7, "narrow") * power(1, 5, "wide")
    if "constant" in kinds:
        X = np.column_stack([X, np.full(n, rng.normal() * 10.0 ** rng.uniform(0, 8))])
    finite = family not in STATIONARY
    if "far row" in kinds:
        X[rng.integers(n), 0] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(2, 20)
    scale = power(-200, 200, "scale X") if finite else power(-140, 140, "scale X")  # of widths the squares must exist
    X = (X + power(0, 12, "offset X") * ("offset X" in kinds)) * scale
    kernel = family() if finite else family(width * scale)
    alpha = 10.0 ** (rng.uniform(-14, 200) if "alpha" in kinds else rng.uniform(-6, 2))
    alpha = min(alpha, 1e280 * min(np.abs(y).max(), 1.0))  # coefficients are of the size of y / alpha
    weights = rng.uniform(0.1, 3.0, size=n) * (rng.random(n) >= rng.choice([0.0, 0.3]))
    weights = weights if rng.random() < weighted else None
    folds = rng.permutation(n) % min(n, int(rng.choice([2, 3, 5, n])))
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in np.unique(folds)]
    return Case(X, y, weights, kernel, float(alpha), intercept, splits, rng)


@st.composite
def cases(draw, hard=HARD, families=FAMILIES, **sizes):
    """One or two kinds of hard input, the rest of the case from a seed."""
    kinds = {draw(st.sampled_from(hard)), draw(st.sampled_from(hard))}
    family, intercept = draw(st.sampled_from(families)), draw(st.booleans())
    return made(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), kinds, family, intercept=intercept, **sizes)


def attempt(call):
    """What a call returns; None where it is refused by a sentence."""
    try:
        return call()
    except InputError as refusal:
        said = str(refusal)
        assert said.endswith(".")
        assert "\n" not in said
        assert "nan" not in said
        return None


def allowed(digits, *sizes):
    """10^-(digits - 1) of the largest size; numbers below the smallest normal one have no such digits.

    Digits are estimated: one case in two hundred may be off by more, and among cases drawn anew another digit is
    allowed (test_digits counts them). Infinite where no digit is claimed.
    """
    return (
        np.inf
        if digits <= 0
        else 10.0 ** (BESIDE - digits) * max((float(size) for size in sizes), default=0.0) + np.finfo(float).tiny
    )


def norm(values):
    """The 2-norm, of numbers whose squares need not be numbers."""
    values = np.asarray(values, dtype=float)
    largest = np.abs(values).max(initial=0.0)
    return float(largest * np.linalg.norm(values / largest)) if largest > 0 else 0.0


def assert_held_out(found, expected, digits, y):
    assert np.isfinite(found).all()
    if digits > 0:  # otherwise nothing is claimed
        assert norm(found - expected) <= allowed(digits, norm(y), norm(expected))


SCORING = ("neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error")


def score_of(scoring, y, values):
    """scikit-learn's sign, in the units of y: the mean squared error as its root."""
    gaps = np.abs(y - values)
    return gaps.mean() if scoring == SCORING[0] else norm(gaps) / np.sqrt(len(gaps))


def in_units_of_y(scoring, scores):
    return np.sqrt(-scores) if scoring == "neg_mean_squared_error" else -scores


@given(cases(), st.sampled_from(SCORING))
def test_held_out_predictions_and_scores_are_those_of_refits(case, scoring):
    model = KernelRidge(case.alpha, **case.model)
    how = {"cv": case.splits, "sample_weight": case.weights, "scoring": scoring}
    found = attempt(lambda: cross_validate(model, case.X, case.y, **how))
    if found is None:
        return
    expected, digits = case.refitted(case.kernel, case.alpha)
    digits = min(digits, found.digits)
    assert_held_out(found.predictions[0], expected, digits, case.y)
    scores = in_units_of_y(scoring, found.scores[0])
    for score, test in zip(scores, case.scored_together(scoring), strict=True):
        size = np.abs([case.y, expected]).max() * np.sqrt(len(case.y))
        assert abs(score - score_of(scoring, case.y[test], expected[test])) <= allowed(digits, size)


@given(cases(), st.integers(2, 3))
def test_held_out_decisions_and_labels_are_those_of_refits_unless_tied(case, classes):
    labels = case.labels(classes)
    enough = all(len(set(_weighted(case, labels, train))) == classes for train, _ in case.splits)
    if not enough:
        return
    how = {"cv": case.splits, "fit_intercept": case.intercept}
    search = attempt(
        lambda: KernelRidgeClassifierCV([case.kernel], [case.alpha], **how).fit(case.X, labels, case.weights)
    )
    model = KernelRidgeClassifier(case.alpha, **case.model)
    found = attempt(lambda: cross_validate(model, case.X, labels, cv=case.splits, sample_weight=case.weights))
    assert (search is None) == (found is None)
    if search is None:
        return
    values, digits = case.refitted(case.kernel, case.alpha, labels, KernelRidgeClassifier)
    digits = min(digits, search.digits_, found.digits)
    decisions = search.cv_predictions_[0]
    assert np.isfinite(decisions).all()
    if case.intercept:  # what is rounding beside the terms of the intercept counts as zero
        values = np.where((decisions == 0) & (np.abs(values) < 1e-13), 0.0, values)
    assert norm(decisions - values) <= allowed(digits, norm(values))
    ranked = np.sort(values, axis=1) if classes > 2 else None
    ahead = np.abs(values) if ranked is None else ranked[:, -1] - ranked[:, -2]
    expected = values.argmax(axis=1) if classes > 2 else (values > 0).astype(int)
    clear = ahead > 2 * allowed(digits, norm(values))
    np.testing.assert_array_equal(found.predictions[0][clear], expected[clear])
    proba = search.predict_proba(case.X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def _weighted(case, labels, rows):
    """Labels of the rows with weight among these."""
    return labels[rows] if case.weights is None else labels[rows][case.weights[rows] > 0]


@given(cases(), st.sampled_from(SCORING), st.sampled_from([1, 3, 12]))
def test_the_winner_of_a_search_has_the_predictions_and_the_score_of_refits(case, scoring, count):
    alphas = case.alpha * 10.0 ** np.linspace(0.0, 3.0, count)
    kernels = [case.kernel, Linear()] if case.rng.random() < 0.3 else [case.kernel]
    search = KernelRidgeCV(kernels, alphas, cv=case.splits, fit_intercept=case.intercept, scoring=scoring)
    if attempt(lambda: search.fit(case.X, case.y, case.weights)) is None:
        return
    expected, digits = case.refitted(search.best_kernel_, search.alpha_)
    digits, size = min(digits, search.digits_), np.abs([case.y, expected]).max() * np.sqrt(len(case.y))
    assert_held_out(search.cv_predictions_[0], expected, digits, case.y)
    of_splits = [score_of(scoring, case.y[test], expected[test]) for test in case.scored_together(scoring)]
    power = 2 if scoring == SCORING[1] else 1
    mean = np.mean((np.array(of_splits) / size) ** power) ** (1 / power) * size
    assert abs(in_units_of_y(scoring, search.best_score_) - mean) <= allowed(digits, size)


@given(cases(least=8))
def test_outer_predictions_and_scores_of_nested_searches_are_those_of_refits(case):
    if len(case.splits) == 2:
        case = replace(case, splits=_thirds(case))
    search = KernelRidgeCV(
        [case.kernel], case.alpha * np.array([1.0, 30.0]), fit_intercept=case.intercept, scoring=SCORING[0]
    )
    found = attempt(lambda: nested_cross_validate(search, case.X, case.y, cv=case.splits, sample_weight=case.weights))
    if found is None:
        return
    assert np.isfinite(found.inner_scores).all()
    for score, chosen, split in zip(found.scores[0], found.chosen, case.splits, strict=True):
        refit = attempt(partial(replace(case, splits=[split]).refitted, case.kernel, chosen["alpha"]))
        if refit is None:  # features of rows with weight alone may be refused where all rows are not
            continue
        values, digits = refit
        test, digits = split[1], min(digits, found.digits)
        assert_held_out(found.predictions[0, test], values[test], digits, case.y)
        size = np.abs([*case.y, *values[test]]).max() * np.sqrt(len(case.y))
        assert abs(-score - score_of(SCORING[0], case.y[test], values[test])) <= allowed(digits, size)


def _thirds(case):
    folds = np.arange(len(case.y)) % 3
    return [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(3)]


@given(cases(least=5, most=8, families=(Gaussian, Laplacian, Matern)))
def test_held_out_predictions_are_those_of_hundreds_of_digits(case):
    mp = pytest.importorskip("mpmath").mp
    from exact_ridge import ExactRidge, true_digits

    model = KernelRidge(case.alpha, **case.model)
    how = {"cv": case.splits, "sample_weight": case.weights, "scoring": SCORING[0]}
    found = attempt(lambda: cross_validate(model, case.X, case.y, **how))
    if found is None:
        return
    with mp.workdps(800):
        exact = ExactRidge(case.X, case.y[:, None], case.X[:0], case.weights, intercept=case.intercept)
        values = exact.held_out(case.kernel, case.alpha, case.splits)
        rows = np.concatenate([test for _, test in case.splits])
        truth = [[v for each in values for v in each[0]]]
        assert true_digits(found.predictions[0][rows], truth, exact.Y) >= min(found.digits, 14.5) - 1


@given(
    cases(hard=("plain", "narrow", "wide", "offset X", "scale X", "equal rows", "far row", "constant")),
    st.floats(0, 12),
)
def test_adding_a_constant_to_the_targets_changes_no_residual_where_there_is_an_intercept(case, power):
    model = KernelRidge(case.alpha, kernel=case.kernel, fit_intercept=True)
    how = {"cv": case.splits, "sample_weight": case.weights}
    constant = 10.0**power
    moved = case.y + constant
    near, far = (attempt(lambda y=y: cross_validate(model, case.X, y, **how)) for y in (moved - constant, moved))
    assert (near is None) == (far is None)
    if near is None:
        return
    # two models, each with an error of its own, and rows that may be far from zero, too
    lost = 10 * allowed(min(near.digits, far.digits + power), norm(case.y), norm(near.predictions[0]))
    rounded = 100 * EPS * constant * np.sqrt(len(moved))
    assert norm((far.predictions[0] - constant) - near.predictions[0]) <= lost + rounded


@given(cases(hard=[kind for kind in HARD if kind != "scale y"]), st.integers(-250, int(LARGEST / 0.31)))
def test_scaling_the_targets_scales_the_predictions(case, power):
    model = KernelRidge(case.alpha, **case.model)
    how = {"cv": case.splits, "sample_weight": case.weights, "scoring": SCORING[0]}
    found = [attempt(lambda y=y: cross_validate(model, case.X, y, **how)) for y in (case.y, np.ldexp(case.y, power))]
    assert (found[0] is None) == (found[1] is None)
    if found[0] is not None:
        digits = min(each.digits for each in found)
        expected = found[0].predictions[0]
        assert_held_out(np.ldexp(found[1].predictions[0], -power), expected, digits, case.y)


@given(cases(least=9, weighted=1.0))
def test_rows_of_weight_zero_are_as_good_as_removed(case):
    absent = np.arange(len(case.y)) % 3 == 1
    weights = np.where(absent, 0.0, 0.5 + case.rng.random(len(case.y)))
    place, labels = np.cumsum(~absent) - 1, case.labels()
    order = case.rng.permutation(len(absent))
    splits = [(np.sort(order[train]), np.sort(order[test])) for train, test in _thirds(case)]
    kept = [tuple(place[rows[~absent[rows]]] for rows in split) for split in splits]
    if any(len(test) == 0 or len(set(labels[~absent][train])) < 2 for train, test in kept):
        return
    Z, own = case.X[~absent], weights[~absent]
    landmarks = Z[:4]

    def both(make, y, read):
        """What a model of all rows says, and one of the rows with weight."""
        whole = attempt(lambda: make(splits).fit(case.X, y, weights))
        part = attempt(lambda: make(kept).fit(Z, y[~absent], own))
        assert (whole is None) == (part is None)
        return None if whole is None else (read(whole), read(part))

    model = {"fit_intercept": case.intercept}
    ridge = both(
        lambda _: KernelRidge(case.alpha, **case.model), case.y, lambda m: (m.predict(case.X), m.route_.digits)
    )
    search = both(
        lambda cv: KernelRidgeCV([case.kernel], [case.alpha], cv=cv, scoring=SCORING[0], **model),
        case.y,
        lambda m: (m.predict(case.X), min(m.digits_, m.best_estimator_.route_.digits)),
    )
    few = both(
        lambda _: NystroemRidge(case.alpha, kernel=case.kernel, landmarks=landmarks, **model),
        case.y,
        lambda m: (m.predict(Z), digits_left(m.condition_) - 2),  # sums of other rows are rounded otherwise
    )
    for found in (ridge, search, few):
        if found is not None:
            (values, digits), (expected, others) = found
            digits = max(0.0, min(digits, others) - 1)  # kernel values are rounded otherwise where rows are absent
            assert_held_out(values, expected, digits, case.y)
    decided = both(
        lambda cv: KernelRidgeClassifierCV([case.kernel], [case.alpha], cv=cv, **model),
        labels,
        lambda m: (m.cv_predictions_[0], m.digits_, m.temperature_.scale),
    )
    if decided is not None:
        (values, digits, scale), (expected, others, other) = decided
        digits = min(digits, others) - 1  # kernel values are rounded otherwise where rows are absent
        values = values[~absent]
        assert norm(values - expected) <= allowed(digits, norm(expected))
        if digits > 8 and norm(expected) > 1e-3:
            np.testing.assert_allclose(scale, other, rtol=1e-4)


@given(st.sampled_from(STATIONARY), st.floats(-3, 20), st.integers(0, 2**32 - 1))
def test_one_far_row_changes_no_kernel_value_between_the_others(family, power, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 26)), int(rng.integers(1, 4))
    scale = 10.0 ** rng.uniform(-100, 100)
    X, kernel = rng.normal(size=(n, d)), family(scale * 10.0 ** rng.uniform(-1, 1))
    far = np.vstack([X, rng.choice([-1.0, 1.0], size=d) * 10.0**power])
    order = rng.permutation(n + 1)
    K = kernel(scale * far[order])
    back = np.argsort(order)
    np.testing.assert_allclose(K[np.ix_(back, back)][:n, :n], kernel(scale * X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(K, K.T)
    cross = kernel(scale * far[order], scale * X)
    np.testing.assert_allclose(cross[back][:n], kernel(scale * X), rtol=0, atol=1e-12)


@given(st.sampled_from(STATIONARY), st.floats(-60, 3), st.integers(0, 2**32 - 1))
def test_neighbours_are_those_of_the_metric(family, power, seed):
    rng = np.random.default_rng(seed)
    Z, X = rng.uniform(0, 10, size=(int(rng.integers(5, 26)), 2)), rng.uniform(0, 10, size=(6, 2))
    count, targets = int(rng.integers(1, 4)), rng.normal(size=len(Z))
    gaps = np.abs(X[:, None] - Z)
    distances = gaps.sum(axis=2) if family is Laplacian else np.sqrt((gaps**2).sum(axis=2))
    near = np.sort(distances, axis=1)[:, : count + 1]
    clear = (np.diff(near, axis=1) > 1e-3 * near[:, 1:]).all(axis=1)  # others may be tied in rounded kernel values
    clear &= (np.diff(near, axis=1) > 1e-3).all(axis=1)
    places = np.argsort(distances, axis=1)[:, :count]
    scale = 10.0 ** rng.uniform(-60, 60)
    kernel = family(scale * 10.0**power)
    model = KernelNeighborsRegressor(kernel, n_neighbors=count).fit(scale * Z, targets)
    np.testing.assert_array_equal(model.kneighbors(scale * X, return_distance=False)[clear], places[clear])
    np.testing.assert_allclose(model.predict(scale * X)[clear], targets[places].mean(axis=1)[clear], rtol=1e-12)


MIXED = {"numbers": (1, 2.5, np.int8(3)), "text": ("1", "a"), "booleans": (True, False)}


@given(st.permutations(sorted(MIXED)), st.booleans(), st.integers(0, 2**32 - 1))
def test_keys_and_labels_of_two_kinds_are_refused_alike_everywhere(kinds, listed, seed):
    rng = np.random.default_rng(seed)
    n, cells = int(rng.integers(6, 26)), []
    for i in range(n):
        values = MIXED[kinds[i % 2]]
        cells.append(values[rng.integers(len(values))])
    mixed = cells if listed else np.array([*cells, None], dtype=object)[:-1]
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    said = f"must be of one type; got {kinds[0]} in row 0 and {kinds[1]} in row 1. "
    said += "Convert all values to strings or all to numbers."
    kernels, alphas = [Gaussian(1.0)], [0.1, 1.0]
    calls = [
        ("groups", lambda: KernelRidgeCV(kernels, alphas, cv=2).fit(X, y, groups=mixed)),
        ("groups", lambda: NystroemRidgeCV(kernels, alphas, cv=2).fit(X, y, groups=mixed)),
        ("groups", lambda: cross_validate(KernelRidge(), X, y, cv=2, groups=mixed)),
        ("groups", lambda: nested_cross_validate(KernelRidgeCV(kernels, alphas), X, y, cv=2, groups=mixed)),
        ("y", lambda: KernelRidgeClassifier().fit(X, mixed)),
        ("y", lambda: KernelRidgeClassifierCV(kernels, alphas, cv=2).fit(X, mixed)),
        ("y", lambda: KernelNeighborsClassifier(kernels[0]).fit(X, mixed)),
        ("y", lambda: NystroemRidgeClassifier().fit(X, mixed)),
        ("y", lambda: NystroemRidgeClassifierCV(kernels, alphas, cv=2).fit(X, mixed)),
        ("y", lambda: cross_validate(KernelRidgeClassifier(), X, mixed, cv=2)),
        ("y", lambda: nested_cross_validate(KernelRidgeClassifierCV(kernels, alphas), X, mixed, cv=2)),
    ]
    for what, call in calls:
        with pytest.raises(InputError) as refusal:
            call()
        assert str(refusal.value) == f"{what} {said}"


def ridge(case):
    model = KernelRidge(case.alpha, **case.model).fit(case.X, case.y, case.weights)
    yield from (model.predict(case.X), model.dual_coef_, model.intercept_, model.effective_dof_)
    yield from model.predict_interval(case.X, confidence=0.5)
    yield from model.predict(case.X, return_std=True)
    yield model.predict_interval(case.X, method="gaussian")


def iterated(case):
    model = KernelRidge(case.alpha, solver="cg", **case.model).fit(case.X, case.y, case.weights)
    yield from (model.predict(case.X), model.dual_coef_)


def on_landmarks(case):
    model = NystroemRidge(case.alpha, landmarks=case.X[:4], **case.model).fit(case.X, case.y, case.weights)
    yield from (model.predict(case.X), model.dual_coef_)


def laddered(case):
    model = KernelRidgeCV("gaussian", cv=3, fit_intercept=case.intercept).fit(case.X, case.y, case.weights)
    yield from (model.predict(case.X), model.cv_predictions_, model.best_score_, model.alpha_)


def searched(case, kind=KernelRidgeCV, **how):
    alphas, y = [case.alpha, 10.0 * case.alpha], case.labels() if "Classifier" in kind.__name__ else case.y
    model = kind([case.kernel], alphas, fit_intercept=case.intercept, cv=2, **how).fit(case.X, y, case.weights)
    values = model.decision_function if "Classifier" in kind.__name__ else model.predict
    yield from (values(case.X), model.best_score_, model.digits_)
    if kind is KernelRidgeClassifierCV:
        yield from (model.predict_proba(case.X), model.cv_predictions_)


FITS = (
    ridge,
    iterated,
    on_landmarks,
    laddered,
    partial(searched, scoring="r2"),
    partial(searched, kind=KernelRidgeClassifierCV),
    partial(searched, kind=NystroemRidgeCV, landmarks=3),
    partial(searched, kind=NystroemRidgeClassifierCV, landmarks=3),
)


@given(cases(), st.sampled_from(FITS))
def test_every_number_is_finite_or_refused_by_a_sentence(case, fit):
    given_arrays = case.X, case.y, case.weights
    before = [None if each is None else each.copy() for each in given_arrays]

    def finite():
        for found in fit(case):
            assert np.isfinite(found).all()

    attempt(finite)
    for each, copy in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(each, copy)
