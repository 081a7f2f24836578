"""Searches that say so: wrong choices, lost digits, failed scores and broken runs are refused or told, never silent."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from mercer import (
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    cross_validate,
    nested_cross_validate,
)
from mercer.errors import EdgeOfGridWarning, IllConditionedWarning, InputError, MercerWarning
from mercer.kernels import Gaussian, Linear

pytestmark = pytest.mark.slow

KERNELS, ALPHAS = [Gaussian(w) for w in (0.5, 1.0, 2.0, 4.0)], np.geomspace(1e-4, 10.0, 6)
PINNED = {"kernels": [Gaussian(1.5)], "alphas": [0.1, 1.0]}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 3))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)


@pytest.fixture
def labelled(data):
    return data[0], np.where(data[1] > 0, "yes", "no")


def quietly(search, *args, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        return search.fit(*args, **how)


# -- numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-8, 1e-12, 1e-16])
@pytest.mark.parametrize("cv", [None, KFold(50), KFold(10), KFold(3)], ids=str)
def test_a_row_that_alone_carries_a_feature_equals_refitting(cv, alpha, rng):
    X = np.c_[rng.normal(size=(150, 2)), np.eye(150)[:, :1]]
    y = X[:, 0] + 10.0
    search = KernelRidgeCV(Linear(), [alpha], cv=cv, fit_intercept=True).fit(X, y)
    assert search.plan_.chosen.name == "primal"
    split = next(split for split in search.folds_.splits if 0 in split.test)
    model = KernelRidge(alpha, fit_intercept=True).fit(X[split.train], y[split.train])
    expected = model.predict(X[split.test])
    np.testing.assert_allclose(search.cv_predictions_[0, split.test], expected, rtol=1e-11)
    assert search.cv_results_["refits"].tolist() == [1]


def test_digits_tell_what_pivots_lost(rng):
    X = np.c_[rng.normal(size=(150, 2)), np.eye(150)[:, :1]]
    search = KernelRidgeCV(Linear(), [1e-4], fit_intercept=True).fit(X, X[:, 0] + 10.0 + rng.normal(size=150))
    assert search.cv_results_["refits"].tolist() == [0]
    assert 10.5 < search.digits_ < 12.0


def test_inner_leave_one_out_of_such_a_row_equals_refitting(rng):
    X = np.c_[rng.normal(size=(40, 2)), np.eye(40)[:, :1]]
    y = X[:, 0] + 10.0 + 0.1 * rng.normal(size=40)
    search = KernelRidgeCV(Linear(), [1e-12, 1e-3], fit_intercept=True)
    ours = nested_cross_validate(search, X, y, cv=KFold(4), inner="leave-one-out")
    for o, (train, _) in enumerate(KFold(4).split(X)):
        inside = KernelRidgeCV(Linear(), [1e-12, 1e-3], fit_intercept=True).fit(X[train], y[train])
        assert ours.inner_scores[0, o] == pytest.approx(inside.best_score_, rel=1e-9)


def test_balanced_classes_without_weight_equal_refitting(data, rng):
    X, y = data[0], np.array(list("abc"))[np.arange(60) % 3]
    weights = rng.uniform(0.5, 2.0, 60)
    weights[y == "c"] = 0.0
    how = {"class_weight": "balanced"}
    search = KernelRidgeClassifierCV(Gaussian(1.0), [0.3], cv=KFold(5), verify=True, **how).fit(X, y, weights)
    one = KernelRidgeClassifier(0.3, kernel=Gaussian(1.0), **how).fit(X[12:], y[12:], weights[12:])
    np.testing.assert_allclose(search.cv_predictions_[0, :12], one.decision_function(X[:12]), atol=1e-12)
    assert 0.0 < search.verified_ < 1e-10


def test_verification_goes_through_the_estimator(labelled, monkeypatch):
    from mercer.selection.candidate import Candidate

    real = Candidate.refit
    monkeypatch.setattr(
        Candidate, "refit", lambda self, i, alpha: (real(self, i, alpha)[0] + 0.25, *real(self, i, alpha)[1:])
    )
    search = KernelRidgeClassifierCV(cv=3, class_weight="balanced", verify=True, **PINNED).fit(*labelled)
    assert search.verified_ == pytest.approx(0.25)


def test_verification_knows_classes_that_were_not_trained_on(rng):
    X, y = rng.normal(size=(40, 2)), np.repeat(list("abcd"), 10)
    rest = np.arange(40)
    cv = [(rest[10:], rest[:10]), (rest[20:], rest[:20]), (rest[15:], rest[:15])]
    search = KernelRidgeClassifierCV(cv=cv, verify=True, fit_intercept=True, **PINNED).fit(X, y)
    assert search.verified_ < 1e-10
    assert "Refitting 3 splits agreed to" in search.summary()


def test_pooled_scores_know_what_was_trained_on(data):
    groups = np.repeat(np.arange(6), 10)
    y = np.where(groups == 5, "z", np.where(data[0][:, 0] > 0, "a", "b"))
    found = KernelRidgeClassifierCV(Linear(), [0.1, 1.0]).fit(data[0], y, groups=groups).cv_results_
    np.testing.assert_allclose(found["pooled_test_score"], found["mean_test_score"])


# -- choices --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", [make_scorer(r2_score), "explained_variance"], ids=str)
def test_shares_of_variance_are_pooled_by_leave_one_out(scoring, data):
    search = quietly(KernelRidgeCV(KERNELS, ALPHAS, scoring=scoring), *data)
    assert "split1_test_score" not in search.cv_results_
    assert len(set(search.cv_results_["mean_test_score"])) > 20
    if scoring != "explained_variance":
        assert search.best_score_ == pytest.approx(
            quietly(KernelRidgeCV(KERNELS, ALPHAS, scoring="r2"), *data).best_score_
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_areas_under_curves_are_pooled_by_leave_one_out_in_nested_searches(labelled):
    search = KernelRidgeClassifierCV(KERNELS[:1], ALPHAS[:2], scoring="roc_auc")
    found = nested_cross_validate(search, *labelled, cv=5, inner="leave-one-out")
    X, y = map(np.asarray, labelled)
    for split, chosen in zip(StratifiedKFold(5).split(X, y), found.chosen, strict=True):
        best = KernelRidgeClassifierCV(KERNELS[:1], ALPHAS[:2], scoring="roc_auc").fit(X[split[0]], y[split[0]])
        assert chosen["alpha"] == best.alpha_
    assert np.isfinite(found.scores).all()


def test_a_score_that_fails_for_some_candidates_is_told_once(data):
    X, y = data[0], np.abs(data[1]) + 0.05
    search = KernelRidgeCV(KERNELS, ALPHAS, cv=5, scoring="neg_mean_poisson_deviance")
    with pytest.warns(
        MercerWarning, match=(r"^Scoring with neg_mean_poisson_deviance failed \d+ times; these scores are NaN")
    ) as told:
        search.fit(X, y)
    assert len([each for each in told if "failed" in str(each.message)]) == 1
    assert told[-1].filename == __file__
    scores = search.cv_results_["mean_test_score"]
    assert 0 < np.isnan(scores).sum() < len(scores)
    assert np.isfinite(search.best_score_)
    with pytest.warns(MercerWarning, match=r"failed \d+ times"):
        nested_cross_validate(KernelRidgeCV(KERNELS, ALPHAS, scoring="neg_mean_poisson_deviance"), X, y, cv=4, inner=3)


def test_a_score_that_always_fails_gives_its_reason(data):
    with pytest.raises(InputError, match=r"All scores are NaN \(continuous is not supported\)"):
        KernelRidgeCV(KERNELS, ALPHAS, cv=5, scoring="f1").fit(*data)


SETTINGS = [
    (KernelRidgeCV(fit_intercept="no", **PINNED), "fit_intercept of KernelRidgeCV must be True or False; got 'no'."),
    (KernelRidgeCV(verbose="a", **PINNED), "verbose of KernelRidgeCV must be 0, 1 or 2; got 'a'."),
    (
        KernelRidgeClassifierCV(class_weight="none", **PINNED),
        "class_weight of KernelRidgeClassifierCV must be a dict, 'balanced' or None; got 'none'.",
    ),
]


@pytest.mark.parametrize(("search", "sentence"), SETTINGS, ids=["intercept", "verbose", "class weight"])
def test_settings_are_looked_at_wherever_a_search_goes(search, sentence, data, labelled):
    X, y = labelled if isinstance(search, KernelRidgeClassifierCV) else data
    for work in (search.fit, search.explain, lambda X, y: nested_cross_validate(search, X, y, cv=3)):
        with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
            work(X, y)


def test_a_splitter_that_shuffles_is_seeded(data):
    how = {"cv": KFold(5, shuffle=True), "repeats": 3, "random_state": 0}
    one, other = (quietly(KernelRidgeCV(KERNELS, ALPHAS, **how), *data) for _ in range(2))
    assert one.best_score_ == other.best_score_


def test_training_parts_without_weight_are_refused(data):
    weights = np.repeat([1.0, 0.0], 30)
    sentence = "sample_weight must be positive for at least one training row of every split"
    for work in (
        lambda: KernelRidgeCV(cv=2, **PINNED).fit(*data, sample_weight=weights),
        lambda: cross_validate(KernelRidge(), *data, cv=2, sample_weight=weights),
        lambda: nested_cross_validate(KernelRidgeCV(**PINNED), *data, cv=2, inner=2, sample_weight=weights),
    ):
        with pytest.raises(InputError, match=sentence):
            work()


def test_lost_digits_are_told_by_every_evaluation(data):
    flat = Gaussian(20.0)
    with pytest.warns(IllConditionedWarning, match=r"^The linear system of KernelRidge in ") as told:
        found = cross_validate(KernelRidge(1e-15, kernel=flat), *data, cv=5)
    assert told[0].filename == __file__
    assert found.digits < 3
    with pytest.warns(
        IllConditionedWarning, match="^The linear system of a best candidate of KernelRidgeCV in "
    ) as told:
        found = nested_cross_validate(KernelRidgeCV(flat, [1e-15]), *data, cv=5)
    assert told[0].filename == __file__
    assert found.digits < 3
    assert cross_validate(KernelRidge(0.1, kernel=flat), *data, cv=5).digits > 10


def test_one_standard_error_of_one_score_is_told(data):
    with pytest.warns(MercerWarning, match="^rule='one_se' of KernelRidgeCV gives the same as 'best' here"):
        KernelRidgeCV(scoring="r2", rule="one_se", **PINNED).fit(*data)


# -- long work ------------------------------------------------------------------------------------------


def low(y, p):
    return np.maximum(0.1 * (y - p), -0.9 * (y - p)).mean()


def high(y, p):
    return np.maximum(0.9 * (y - p), -0.1 * (y - p)).mean()


def halved(X):
    return 0.5 * X


def doubled(X):
    return 2.0 * X


@pytest.mark.parametrize(
    "make",
    [
        lambda first: {"kernels": KERNELS, "scoring": low if first else high},
        lambda first: {"kernels": KERNELS, "scoring": make_scorer(low if first else high, greater_is_better=False)},
        lambda first: {"kernels": Gaussian().map(halved if first else doubled)},
    ],
    ids=["loss", "scorer", "kernel"],
)
def test_a_checkpoint_is_not_taken_for_that_of_another_function(make, data, tmp_path):
    path = tmp_path / "search"
    first = quietly(KernelRidgeCV(alphas=ALPHAS, cv=5, checkpoint=path, **make(True)), *data)
    again = quietly(KernelRidgeCV(alphas=ALPHAS, cv=5, checkpoint=path, **make(True)), *data)
    assert again.best_score_ == first.best_score_
    with pytest.raises(InputError, match="belongs to other data or settings"):
        KernelRidgeCV(alphas=ALPHAS, cv=5, checkpoint=path, **make(False)).fit(*data)


@pytest.mark.parametrize("how", [{"cv": 5, "repeats": 2}, {"cv": ShuffleSplit(3)}], ids=["repeats", "splitter"])
def test_a_checkpoint_of_folds_by_chance_is_refused_at_the_start(how, data, tmp_path):
    sentence = (
        "random_state of KernelRidgeCV must be an integer when checkpoint is given and the folds are random; got "
        "None. Without a seed the next run would draw other folds, and could not resume."
    )
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        KernelRidgeCV(checkpoint=tmp_path / "search", **how, **PINNED).fit(*data)
    seeded = [
        KernelRidgeCV(checkpoint=tmp_path / "search", random_state=0, **how, **PINNED).fit(*data) for _ in range(2)
    ]
    assert seeded[0].best_score_ == seeded[1].best_score_


@pytest.mark.parametrize("extend", [False, True])
@pytest.mark.parametrize("cv", [None, 5])
def test_a_resumed_search_predicts_the_same_to_the_last_bit(cv, extend, data, tmp_path):
    how = {"cv": cv, "extend_grid": extend, "kernels": KERNELS, "alphas": [10.0, 100.0, 1e3] if extend else ALPHAS}
    plain, first, again = (
        quietly(KernelRidgeCV(checkpoint=path, **how), *data) for path in (None, *[tmp_path / "search"] * 2)
    )
    for other in (first, again):
        assert other.cv_predictions_.tobytes() == plain.cv_predictions_.tobytes()
        assert other.cv_results_["mean_test_score"].tobytes() == plain.cv_results_["mean_test_score"].tobytes()


def test_ctrl_c_while_the_grid_is_extended_keeps_what_was_finished(data):
    calls = []

    def loss(y, p):
        calls.append(1)
        if len(calls) > 3 * 6 * (5 + 1) + 8:  # all of the grid, five folds and pooled, and some of its extension
            raise KeyboardInterrupt
        return np.mean((y - p) ** 2)

    search = KernelRidgeCV(KERNELS[:3], ALPHAS, cv=5, scoring=loss, extend_grid=True)
    with pytest.raises(KeyboardInterrupt) as stopped:
        search.fit(*data)
    assert "what was finished is in the search's cv_results_" in stopped.value.__notes__[0]
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) > 18
    assert np.isfinite(scores).sum() >= 18


# -- sentences ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        (None, "y has missing values, the first in row 0. Impute the missing values, or drop these rows."),
        (pd.NA, "y has missing values, the first in row 0. Impute the missing values, or drop these rows."),
        (
            1,
            (
                "y must be of one type; got numbers in row 0 and text in row 1. Convert all values to strings or all "
                "to numbers."
            ),
        ),
    ],
    ids=["none", "na", "mixed"],
)
def test_labels_must_be_of_one_kind(first, sentence, data):
    y = np.array([first, *["a"] * 30, *["b"] * 29], dtype=object)
    search = KernelRidgeClassifierCV(**PINNED)
    for work in (
        lambda: search.fit(data[0], y),
        lambda: cross_validate(KernelRidgeClassifier(), data[0], y, cv=3),
        lambda: nested_cross_validate(search, data[0], y, cv=3),
    ):
        with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
            work()


def test_splits_that_are_read_once_are_not_used_up_by_explain(data):
    search = KernelRidgeCV(cv=KFold(5).split(data[0]), **PINNED)
    sentence = (
        "cv of explain must be a list or a splitter, not an iterator; got a generator. Use cv=list(cv): explain would "
        "consume the iterator, and fit would get no splits."
    )
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        search.explain(*data)
    assert nested_cross_validate(search, *data, cv=3).scores.shape == (1, 3)
    assert len(search.fit(*data).folds_.splits) == 5


def test_probabilities_of_a_model_without_are_refused(labelled):
    sentence = (
        "scoring of KernelRidgeClassifier must be a scorer of labels or decision values; got neg_log_loss, which "
        "needs probabilities. KernelRidgeClassifierCV has probabilities: use cross_validate with it instead."
    )
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        cross_validate(KernelRidgeClassifier(), *labelled, cv=3, scoring="neg_log_loss")
    search = KernelRidgeClassifierCV(cv=3, **PINNED)
    assert cross_validate(search, *labelled, cv=3, scoring="neg_log_loss").mean < 0


def test_one_of_a_kind_is_said_in_the_singular(data):
    search = KernelRidgeCV(Gaussian(), [0.1]).fit(*data)
    assert search.summary().startswith("1 kernel x 1 alpha by leave-one-out, ")
    assert "best of many" not in search.summary()
    assert "1 kernel x 1 alpha on 60 rows; 60 sets of 1 row held out" in str(search.plan_)
    nested = str(nested_cross_validate(KernelRidgeCV(Gaussian(), [0.1], scoring="r2"), *data, cv=None))
    assert " (one score, so no standard error; nested cross-validation, leave-one-out; " in nested
    assert "nan" not in nested
    assert " (folds of different size). All outer folds chose the same candidate." in nested


def test_explain_counts_what_is_kept_of_every_candidate(data):
    few, many = (KernelRidgeCV(Gaussian(), np.geomspace(1e-3, 1.0, count)).explain(*data) for count in (10, 10_000))
    kept = 8 * 60 * 10_000  # held-out values, and the scores three times
    assert many.chosen.bytes - few.chosen.bytes == pytest.approx(4 * kept, rel=0.01)
