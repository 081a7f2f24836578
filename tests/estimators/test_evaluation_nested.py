"""Nested cross-validation against GridSearchCV in a loop."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from evaluation_cases import classification, regression
from scipy import sparse
from sklearn import metrics
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    cross_validate,
    nested_cross_validate,
)
from mercer.data.folds import draw
from mercer.errors import EdgeOfGridWarning, InputError
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from refits import grid
from remembered import RememberedClassifier, RememberedRidge

pytestmark = pytest.mark.slow

KERNELS = [Gaussian(1.5), Laplacian(2.0), Polynomial(2)]
ALPHAS = [1e-3, 0.1, 5.0]
SEARCH = KernelRidgeCV(KERNELS, ALPHAS)


@pytest.fixture
def data(function_rng):
    return regression(function_rng)


@pytest.fixture
def labelled(function_rng):
    return classification(function_rng)


def plain_mse(estimator, X, y, sample_weight=None):
    """Weights train and do not score."""
    return -metrics.mean_squared_error(y, estimator.predict(X))


def other_folds(splits, outer):
    """Algorithm 1 as GridSearchCV takes it: the other outer folds, numbered within the outer training rows."""
    number = np.full(sum(len(test) for _, test in splits), -1)
    for i, (_, test) in enumerate(splits):
        number[test] = i
    return PredefinedSplit(number[splits[outer][0]])


def looped(estimator, kernels, X, y, splits, inner, scoring, weights=None, groups=None):
    """GridSearchCV in every outer training part: outer scores, winners, inner scores, outer predictions."""
    found = []
    for o, (train, test) in enumerate(splits):
        cv = other_folds(splits, o) if inner is None else inner
        search = GridSearchCV(estimator, grid(kernels, ALPHAS), cv=cv, scoring=scoring)
        extra = {} if weights is None else {"sample_weight": weights[train]}
        if groups is not None and inner is not None:
            extra["groups"] = groups[train]
        search.fit(X[train], y[train], **extra)
        found.append((search.score(X[test], y[test]), search.best_params_, search.best_score_, search.predict(X[test])))
    return found


def assert_same_nested(ours, found, splits, rtol=1e-8):
    np.testing.assert_allclose(ours.scores.ravel(), [score for score, *_ in found], rtol=rtol)
    np.testing.assert_allclose(ours.inner_scores.ravel(), [inner for _, _, inner, _ in found], rtol=rtol)
    assert ours.chosen == [params for _, params, *_ in found]
    for (_, test), (*_, predicted) in zip(splits, found, strict=True):
        if predicted.dtype.kind == "f":
            np.testing.assert_allclose(ours.predictions[0, test], predicted, rtol=1e-7, atol=1e-9)
        else:
            np.testing.assert_array_equal(ours.predictions[0, test], predicted)


# -- nested: against GridSearchCV in a loop -------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "r2", "neg_mean_absolute_error"])
@pytest.mark.parametrize("intercept", [False, True])
def test_algorithm_one_equals_grid_search_over_the_other_folds(scoring, intercept, data):
    splits = list(KFold(6).split(*data))
    search = KernelRidgeCV(KERNELS, ALPHAS, scoring=scoring, fit_intercept=intercept)
    ours = nested_cross_validate(search, *data, cv=6)
    found = looped(RememberedRidge(fit_intercept=intercept), KERNELS, *data, splits, None, scoring)
    assert_same_nested(ours, found, splits)


@pytest.mark.parametrize("inner", [4, "leave-one-out", KFold(3, shuffle=True, random_state=0)], ids=str)
def test_any_inner_splits_equal_grid_search_inside_cross_val_score(inner, data):
    theirs = inner
    if inner == "leave-one-out":
        theirs, data = LeaveOneOut(), (data[0][:17], data[1][:17])
    splits = list(KFold(4).split(*data))
    ours = nested_cross_validate(SEARCH, *data, cv=4, inner=inner)
    scoring = "neg_mean_squared_error"
    assert_same_nested(ours, looped(RememberedRidge(), KERNELS, *data, splits, theirs, scoring), splits)
    search = GridSearchCV(RememberedRidge(), grid(KERNELS, ALPHAS), cv=theirs, scoring=scoring)
    np.testing.assert_allclose(ours.scores[0], cross_val_score(search, *data, cv=4, scoring=scoring), rtol=1e-8)


def test_outer_splits_may_be_anything_with_an_inner_splitter(data):
    for cv in (ShuffleSplit(3, random_state=0), TimeSeriesSplit(3), [(np.arange(30), np.arange(30, 41))]):
        # inner folds are dealt in the order in which a splitter names its training rows, as scikit-learn deals them
        splits = list(cv if isinstance(cv, list) else cv.split(*data))
        ours = nested_cross_validate(SEARCH, *data, cv=cv, inner=3)
        found = looped(RememberedRidge(), KERNELS, *data, splits, 3, "neg_mean_squared_error")
        theirs = GridSearchCV(RememberedRidge(), grid(KERNELS, ALPHAS), cv=3, scoring="neg_mean_squared_error")
        scored = cross_val_score(theirs, *data, cv=cv, scoring="neg_mean_squared_error")
        np.testing.assert_allclose(ours.scores.ravel(), scored, rtol=1e-8)
        np.testing.assert_allclose(ours.scores.ravel(), [score for score, *_ in found], rtol=1e-8)
        assert ours.chosen == [params for _, params, *_ in found]
        never = np.setdiff1d(np.arange(41), np.concatenate([test for _, test in splits]))
        assert np.isnan(ours.predictions[0, never]).all()


def test_weights_train_at_both_levels(data, rng):
    weights = rng.uniform(0.1, 3.0, 41)
    weights[::6] = 0.0
    splits = list(KFold(5).split(*data))
    search = KernelRidgeCV(KERNELS, ALPHAS, fit_intercept=True)
    for inner in (None, 3):
        ours = nested_cross_validate(search, *data, cv=5, inner=inner, sample_weight=weights)
        found = looped(KernelRidge(fit_intercept=True), KERNELS, *data, splits, inner, plain_mse, weights)
        assert_same_nested(ours, found, splits)


@pytest.mark.parametrize("inner", [None, 3])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "roc_auc"])
def test_two_classes_equal_grid_search_in_a_loop(scoring, inner, labelled):
    splits = list(StratifiedKFold(4).split(*labelled))
    search = KernelRidgeClassifierCV(KERNELS, ALPHAS, scoring=scoring, fit_intercept=True)
    ours = nested_cross_validate(search, *labelled, cv=4, inner=inner)
    estimator = RememberedClassifier(fit_intercept=True)
    found = looped(estimator, KERNELS, *labelled, splits, inner, scoring or "accuracy")
    assert_same_nested(ours, found, splits)
    assert ours.predictions.dtype == labelled[1].dtype


@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 4.0, 2: 0.5}, "balanced"], ids=str)
def test_three_classes_and_class_weights_equal_grid_search_in_a_loop(class_weight, rng):
    X = rng.normal(size=(45, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=45), [-0.8, 0.9])
    splits = list(StratifiedKFold(3).split(X, y))
    search = KernelRidgeClassifierCV(KERNELS, ALPHAS, class_weight=class_weight)
    ours = nested_cross_validate(search, X, y, cv=3)
    found = looped(KernelRidgeClassifier(class_weight=class_weight), KERNELS, X, y, splits, None, "accuracy")
    assert_same_nested(ours, found, splits)


def test_groups_are_honoured_at_both_levels(data, rng, monkeypatch):
    groups = rng.permutation(np.arange(41) % 8)
    splits = list(GroupKFold(4).split(*data, groups))
    for inner, theirs in ((None, None), (3, GroupKFold(3))):
        ours = nested_cross_validate(SEARCH, *data, cv=4, inner=inner, groups=groups)
        found = looped(KernelRidge(), KERNELS, *data, splits, theirs, "neg_mean_squared_error", groups=groups)
        assert_same_nested(ours, found, splits)
    from mercer.selection import nested as module

    layouts, real = [], module._try_candidates
    monkeypatch.setattr(module, "_try_candidates", lambda *args: layouts.append(args[1]) or real(*args))
    for inner in (None, 3, GroupKFold(2)):
        nested_cross_validate(SEARCH, *data, cv=4, inner=inner, groups=groups)
        layout = layouts[-1]
        for removals in (layout.outer, layout.inner):
            for rows, test in zip(removals.sets, removals.tests, strict=True):
                trained = np.setdiff1d(np.arange(41), rows)
                assert not set(groups[trained]) & set(groups[test])
        for i, owner in enumerate(layout.owner):
            trained = np.setdiff1d(np.arange(41), layout.inner.sets[i])
            assert not set(groups[trained]) & set(groups[layout.outer.tests[owner]])


def test_groups_are_honoured_by_inner_leave_one_out(data):
    """Rows of one group must not stand on both sides of an inner split either."""
    groups = np.arange(41) // 2
    X = np.repeat(np.random.default_rng(0).normal(size=(21, 3)), 2, axis=0)[:41]
    y = np.repeat(np.random.default_rng(1).normal(size=21), 2)[:41]  # twins: leaving out one of them is no test
    try:
        ours = nested_cross_validate(SEARCH, X, y, cv=4, inner="leave-one-out", groups=groups)
    except InputError:
        return
    assert ours.inner_scores.mean() < -0.5 * y.var()


def test_repeats_are_runs_with_other_folds(data):
    ours = nested_cross_validate(SEARCH, *data, cv=4, repeats=3, random_state=5)
    folds = draw(4, *data, repeats=3, random_state=5)
    assert ours.scores.shape == (3, 4)
    assert ours.predictions.shape == (3, 41)
    assert len(ours.chosen) == 12
    for r, repeat in enumerate(folds.repeats):
        splits = [(split.train, split.test) for split in repeat]
        found = looped(KernelRidge(), KERNELS, *data, splits, None, "neg_mean_squared_error")
        np.testing.assert_allclose(ours.scores[r], [score for score, *_ in found], rtol=1e-8)
        assert ours.chosen[4 * r : 4 * r + 4] == [params for _, params, *_ in found]
    share = np.mean([len(s.test) / len(s.train) for s in folds.splits])
    expected = ours.scores.std(ddof=1) * np.sqrt(1 / 12 + share)
    assert ours.standard_error == pytest.approx(expected)


def test_every_target_has_an_alpha_of_its_own_in_every_outer_fold(data, rng):
    X, y = data
    Y = np.c_[y, rng.normal(size=41)]
    search = KernelRidgeCV([Gaussian(1.5)], ALPHAS, alpha_per_target=True)
    ours = nested_cross_validate(search, X, Y, cv=4)
    alone = [nested_cross_validate(KernelRidgeCV([Gaussian(1.5)], ALPHAS), X, Y[:, t], cv=4) for t in range(2)]
    for o in range(4):
        np.testing.assert_array_equal(ours.chosen[o]["alpha"], [single.chosen[o]["alpha"] for single in alone])
    for t in range(2):
        np.testing.assert_allclose(ours.predictions[:, :, t], alone[t].predictions, rtol=1e-9)
    np.testing.assert_allclose(ours.scores, (alone[0].scores + alone[1].scores) / 2, rtol=1e-9)
    assert ", " in str(ours).splitlines()[-1]
    together = nested_cross_validate(KernelRidgeCV([Gaussian(1.5)], ALPHAS), X, Y, cv=4)
    assert together.predictions.shape == (1, 41, 2)
    assert isinstance(together.chosen[0]["alpha"], float)


def test_the_one_standard_error_rule_is_used_inside(data):
    search = KernelRidgeCV([Gaussian(1.5)], np.geomspace(1e-3, 1e2, 12), rule="one_se")
    ours = nested_cross_validate(search, *data, cv=5, inner=4)
    for (train, _), chosen in zip(KFold(5).split(*data), ours.chosen, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOfGridWarning)
            inside = KernelRidgeCV(**search.get_params(deep=False)).set_params(cv=4).fit(data[0][train], data[1][train])
        assert inside.alpha_ == chosen["alpha"]


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_a_pipeline_equals_cross_val_score_of_the_pipeline(scoring, data):
    pipeline = make_pipeline(StandardScaler(), KernelRidgeCV(KERNELS, ALPHAS, cv=4, scoring=scoring))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        ours = nested_cross_validate(pipeline, *data, cv=5)
        theirs = cross_val_score(pipeline, *data, cv=5, scoring=scoring or "neg_mean_squared_error")
        predicted = cross_val_predict(pipeline, *data, cv=5)
        inner = nested_cross_validate(pipeline, *data, cv=5, inner=3)
        other = cross_val_score(
            pipeline.set_params(kernelridgecv__cv=3), *data, cv=5, scoring=scoring or "neg_mean_squared_error"
        )
    np.testing.assert_allclose(ours.scores[0], theirs, rtol=1e-9)
    np.testing.assert_allclose(ours.predictions[0], predicted, rtol=1e-9)
    np.testing.assert_allclose(inner.scores[0], other, rtol=1e-9)
    assert "pipeline refitted in every outer fold" in str(ours)


def test_a_pipeline_takes_frames_weights_groups_labels_and_repeats(data, labelled, rng):
    X, y = data
    groups, weights = np.arange(41) % 9, rng.uniform(0.5, 2.0, 41)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pinned = {"kernels": [Gaussian(1.5)], "alphas": [0.1, 1.0]}
    pipeline = make_pipeline(StandardScaler(), KernelRidgeCV(cv=3, **pinned))
    found = nested_cross_validate(pipeline, frame, y, cv=3, groups=groups, sample_weight=weights)
    for o, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
        pipeline.fit(
            X[train], y[train], kernelridgecv__groups=groups[train], kernelridgecv__sample_weight=weights[train]
        )
        np.testing.assert_allclose(found.scores[0, o], plain_mse(pipeline, X[test], y[test]), rtol=1e-9)
    by_row = nested_cross_validate(pipeline, X, y, cv=3, inner="leave-one-out", repeats=2, random_state=0)
    assert by_row.scores.shape == (2, 3)
    pipeline = make_pipeline(StandardScaler(), KernelRidgeClassifierCV(cv=3, **pinned))
    found = nested_cross_validate(pipeline, *labelled, cv=4)
    np.testing.assert_allclose(found.scores[0], cross_val_score(pipeline, *labelled, cv=4))
    assert set(found.predictions.ravel()) <= {"same", "odd"}


def test_optimism_and_errors_are_what_they_say(data):
    ours = nested_cross_validate(SEARCH, *data, cv=5)
    assert ours.mean == pytest.approx(ours.scores.mean())
    assert ours.optimism == pytest.approx(ours.inner_scores.mean() - ours.scores.mean())
    share = np.mean([len(test) / len(train) for train, test in KFold(5).split(*data)])
    assert ours.standard_error == pytest.approx(ours.scores.std(ddof=1) * np.sqrt(1 / 5 + share))
    assert ours.scoring == "neg_mean_squared_error"
    assert ours.folds == "5-fold, unshuffled"


def test_the_result_prints_as_a_paragraph_and_a_table(data):
    ours = nested_cross_validate(SEARCH, *data, cv=3)
    text = str(ours)
    assert f"Out-of-sample root mean squared error: {ours.error:.4g} +- {ours.error_standard_error:.2g}" in text
    best = f"{ours.mean + ours.optimism:.4g}"
    assert f"Cross-validation score of the best candidate (neg_mean_squared_error): {best}, optimistic by" in text
    table = text.split("\n\n")[1].splitlines()
    assert table[0].split() == ["fold", "kernel", "alpha", "inner", "outer"]
    assert len(table) == 2 + 3
    assert [line.split()[0] for line in table[2:]] == ["1", "2", "3"]
    one = nested_cross_validate(KernelRidgeCV([Linear()], [1.0]), *data, cv=3)
    assert "All outer folds chose the same candidate." in str(one)
    distinct = len({(repr(c["kernel"]), c["alpha"]) for c in ours.chosen})
    if distinct > 1:
        assert f"The outer folds chose {distinct} candidates." in text


def test_sparse_rows_and_gram_matrices_give_the_same_numbers(data):
    X, y = data
    plain = nested_cross_validate(KernelRidgeCV([Gaussian(1.5)], ALPHAS), X, y, cv=4)
    thin = nested_cross_validate(KernelRidgeCV([Gaussian(1.5)], ALPHAS), sparse.csr_matrix(X), y, cv=4, inner=None)
    given = nested_cross_validate(KernelRidgeCV("precomputed", ALPHAS), Gaussian(1.5)(X), y, cv=4)
    for other in (thin, given):
        np.testing.assert_allclose(other.scores, plain.scores, rtol=1e-8)
    for inner in (3, "leave-one-out"):
        given = nested_cross_validate(KernelRidgeCV("precomputed", ALPHAS), Gaussian(1.5)(X), y, cv=4, inner=inner)
        plain = nested_cross_validate(KernelRidgeCV([Gaussian(1.5)], ALPHAS), X, y, cv=4, inner=inner)
        np.testing.assert_allclose(given.scores, plain.scores, rtol=1e-8)


def test_the_search_that_is_given_is_left_as_it_is(data):
    search = KernelRidgeCV(KERNELS, ALPHAS, cv=7)
    nested_cross_validate(search, *data, cv=3)
    assert search.cv == 7
    assert not hasattr(search, "n_features_in_")


def test_r2_of_outer_folds_with_one_row_is_pooled(data):
    """An R^2 of one row is no number: pooled, as everywhere."""
    X, y = data[0][:15], data[1][:15]
    ours = nested_cross_validate(KernelRidgeCV([Gaussian(1.5)], ALPHAS, scoring="r2"), X, y, cv=None)
    np.testing.assert_allclose(ours.mean, metrics.r2_score(y, ours.predictions[0]))


def test_classes_missing_from_training_are_not_predicted(rng):
    """Scores and predictions must be those of the same models. Opposite every row that was trained on a linear
    model says less than nought for every class, and nought for one it has not seen.
    """
    X, y = np.abs(rng.normal(size=(30, 2))), np.repeat(["a", "b", "c"], 10)
    X[20:] *= -1.0
    cv = [(np.arange(20), np.arange(20, 30)), (np.r_[0:5, 10:30], np.arange(5, 10)), (np.r_[5:30], np.arange(5))]
    model = KernelRidgeClassifier(0.1, kernel=Linear())
    ours = cross_validate(model, X, y, cv=cv)
    for i, (train, test) in enumerate(cv):
        predicted = model.fit(X[train], y[train]).predict(X[test])
        np.testing.assert_array_equal(ours.predictions[0, test], predicted)
        assert ours.scores[0, i] == pytest.approx((predicted == y[test]).mean())
    search = KernelRidgeClassifierCV([Linear()], [0.1, 1.0])
    nested = nested_cross_validate(search, X, y, cv=cv, inner=StratifiedKFold(2))
    assert "c" not in set(nested.predictions[0, 20:])


def test_rows_that_are_never_tested_have_no_label(labelled):
    X, y = labelled
    cv = TimeSeriesSplit(3)
    never = np.arange(next(cv.split(X))[1][0])
    for found in (
        cross_validate(KernelRidgeClassifier(kernel=Gaussian()), X, y, cv=cv),
        cross_validate(LogisticRegression(), X, y, cv=cv),
        nested_cross_validate(KernelRidgeClassifierCV([Gaussian()], [0.1, 1.0]), X, y, cv=cv, inner=2),
    ):
        assert not set(found.predictions[0, never].tolist()) & {"same", "odd"}


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (
            {"cv": 2},
            (
                "inner=None uses the other outer folds as inner folds. This needs at least 3 disjoint folds that "
                "cover every row. Use cv=3 or more, or set inner to a number of folds."
            ),
        ),
        ({"inner": "loo"}, "inner must be None, a number of folds, a splitter or 'leave-one-out'; got 'loo'."),
        ({"inner": 40}, "The number of folds must be between 2 and the number of rows, 36; got 40."),
    ],
)
def test_mistakes_are_refused_in_a_sentence(how, sentence, data):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        nested_cross_validate(SEARCH, *data, **how)


def test_what_is_no_search_is_refused(data):
    with pytest.raises(
        InputError,
        match=(r"^search, the first argument of nested_cross_validate, must be KernelRidgeCV, .*; got Ridge\. "),
    ):
        nested_cross_validate(Ridge(), *data)
    with pytest.raises(
        InputError, match=r"^The last step of the Pipeline must be KernelRidgeCV or .*; got Ridge\. For"
    ):
        nested_cross_validate(make_pipeline(StandardScaler(), Ridge()), *data)


def test_an_outer_fold_that_leaves_one_group_is_refused_in_a_sentence(data):
    groups = np.arange(41) % 2
    with pytest.raises(InputError, match=(r"The number of folds.* got 2")):
        nested_cross_validate(SEARCH, *data, cv=2, inner=2, groups=groups)


# -- nothing is silent --------------------------------------------------------------------------------


def test_r2_of_outer_folds_with_one_row_is_pooled_for_a_pipeline(data):
    X, y = data[0][:15], data[1][:15]
    search = KernelRidgeCV([Gaussian(1.5)], [0.1, 1.0], cv=3, scoring="r2")
    ours = nested_cross_validate(make_pipeline(StandardScaler(), search), X, y, cv=None)
    np.testing.assert_allclose(ours.mean, metrics.r2_score(y, ours.predictions[0]))


def test_a_grid_that_is_to_be_extended_is_extended_within_every_outer_fold_or_refused(data):
    search = KernelRidgeCV([Gaussian(1.5)], [10.0, 100.0, 1000.0], extend_grid=True)
    try:
        ours = nested_cross_validate(search, *data, cv=3)
    except InputError as refused:
        assert "extend_grid" in str(refused)  # noqa: PT017
    else:
        assert min(chosen["alpha"] for chosen in ours.chosen) < 10.0


@pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
@pytest.mark.parametrize(
    "cv", [[(np.arange(20, 40), np.arange(4))], [(np.arange(20), np.arange(36, 40))], 4], ids=["first", "last", "all"]
)
def test_the_one_standard_error_rule_knows_how_many_rows_inner_splits_train_on(cv):
    """Inner splits that overlap have standard errors corrected by test / train: those of refits choose the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    inner = ShuffleSplit(3, test_size=0.2, random_state=0)
    search = KernelRidgeCV([Gaussian(1.0)], [0.01, 0.1, 1.0, 10.0], rule="one_se")
    how = {"repeats": 2, "random_state": 0} if cv == 4 else {}
    found = nested_cross_validate(search, X, y, cv=cv, inner=inner, **how)
    splits = draw(cv, X, y, **how).splits
    for chosen, split in zip(found.chosen, splits, strict=True):
        alone = KernelRidgeCV([Gaussian(1.0)], [0.01, 0.1, 1.0, 10.0], rule="one_se", cv=inner)
        assert chosen["alpha"] == alone.fit(X[split.train], y[split.train]).alpha_
