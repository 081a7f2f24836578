"""Searches over texts and sets equal refits on the matrix, and resume whatever Python hashes."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from object_cases import ALPHAS, HOLDERS, KERNELS, LABELS, NEW, TARGETS, TEXTS, by_hand
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_score

from formulas import worst
from mercer import (
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    cross_validate,
    nested_cross_validate,
)
from mercer.errors import InputError
from mercer.kernels import Jaccard, Spectrum, Subsequence, Words
from refits import grid, held_out

pytestmark = pytest.mark.slow

# -- searches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [None, KFold(4), GroupKFold(3)], ids=["loo", "folds", "groups"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_search_over_texts_equals_refits_on_the_matrix(cv, weighted, rng):
    weights = rng.uniform(0.5, 2.0, size=16) if weighted else None
    groups = np.arange(16) % 5 if isinstance(cv, GroupKFold) else None
    search = KernelRidgeCV(KERNELS, ALPHAS, cv=cv, verify=True).fit(TEXTS, TARGETS, weights, groups)
    for k, kernel in enumerate(KERNELS):
        K = kernel(TEXTS)
        for a, alpha in enumerate(ALPHAS):
            errors = [
                np.mean((held_out(K, TARGETS, alpha, train, test, weights)[:, 0] - TARGETS[test]) ** 2)
                for train, test in (cv or KFold(16)).split(K, TARGETS, groups)
            ]
            assert search.table_.mean[k, a, 0] == pytest.approx(-np.mean(errors), rel=1e-8)
    assert search.verified_ < 1e-8
    assert worst(search.predict(NEW), by_hand(search.best_kernel_, TEXTS, TARGETS, NEW, search.alpha_, weights)) < 1e-9


def test_a_classifier_search_over_texts_equals_refits_on_the_matrix():
    cv, kernels = StratifiedKFold(4), [k + 0.1 for k in KERNELS if k != KERNELS[1]]  # no decision value is exactly 0
    search = KernelRidgeClassifierCV(kernels, ALPHAS, cv=cv).fit(TEXTS, LABELS)
    right = [
        GridSearchCV(KernelRidgeClassifier(kernel="precomputed"), {"alpha": ALPHAS}, cv=cv).fit(kernel(TEXTS), LABELS)
        for kernel in kernels
    ]
    assert worst(search.table_.mean[:, :, 0], [found.cv_results_["mean_test_score"] for found in right]) < 1e-12
    assert search.predict_proba(NEW).sum(axis=1) == pytest.approx(np.ones(5))
    assert set(search.predict(NEW)) <= set(search.classes_)


@pytest.mark.filterwarnings("ignore::mercer.errors.IllConditionedWarning")  # some decisions are 0 up to rounding
def test_texts_that_share_nothing_with_the_others_get_the_label_of_a_refit(rng):
    X = np.array(["".join(rng.choice(list("abcdefgh"), size=3)) for _ in range(60)], dtype=object)
    y = rng.choice(["first", "second"], size=60)
    model, splits = KernelRidgeClassifier(0.1, kernel=Spectrum(2)), list(KFold(5).split(X))
    closed = cross_validate(model, X, y, cv=splits).predictions[0]
    decisions, labels = np.empty(60), np.empty(60, dtype=y.dtype)
    for train, test in splits:
        refitted = clone(model).fit(X[train], y[train])
        decisions[test], labels[test] = refitted.decision_function(X[test]), refitted.predict(X[test])
    K = Spectrum(2)(X.tolist())
    alone = np.array([not K[row, train].any() for row in range(60) for train, test in splits if row in test])
    decided = alone | (np.abs(decisions) > 1e-12)
    assert alone.sum() > 3
    assert decided.sum() > 50
    np.testing.assert_array_equal(closed[decided], labels[decided])


def test_ladders_of_alphas_are_found_for_texts():
    search = KernelRidgeCV([Spectrum(1), Subsequence(2).normalized()], extend_grid=True).fit(TEXTS, TARGETS)
    assert np.isfinite(search.best_score_)
    assert search.explain(TEXTS, TARGETS).chosen.name == search.plan_.chosen.name


def test_nested_cross_validation_of_texts_equals_refits():
    kernels, splits = [Words(), Spectrum(2)], KFold(4)
    search = KernelRidgeCV(kernels, ALPHAS)
    nested = nested_cross_validate(search, TEXTS, TARGETS, cv=splits, inner=KFold(3))
    inner = GridSearchCV(KernelRidge(), grid(kernels, ALPHAS), cv=KFold(3), scoring="neg_mean_squared_error")
    right = cross_val_score(inner, TEXTS, TARGETS, cv=splits, scoring="neg_mean_squared_error")
    assert nested.scores[0] == pytest.approx(right, rel=1e-8)


def test_groups_of_texts_stay_together():
    groups = np.arange(16) // 2
    ours = cross_validate(KernelRidge(0.1, kernel=Spectrum(2)), TEXTS, TARGETS, cv=GroupKFold(4), groups=groups)
    theirs = cross_val_score(
        KernelRidge(0.1, kernel=Spectrum(2)),
        TEXTS,
        TARGETS,
        groups=groups,
        cv=GroupKFold(4),
        scoring="neg_mean_squared_error",
    )
    assert ours.scores[0] == pytest.approx(theirs)


def test_searches_take_the_same_texts_from_whatever_holds_them():
    right = KernelRidgeCV([Words(), Spectrum(2)], ALPHAS, cv=4).fit(TEXTS, TARGETS)
    for hold in HOLDERS.values():
        search = KernelRidgeCV([Words(), Spectrum(2)], ALPHAS, cv=4).fit(hold(TEXTS), TARGETS)
        assert search.best_score_ == right.best_score_
        assert search.predict(hold(TEXTS)).tolist() == right.predict(TEXTS).tolist()


# -- checkpoints ------------------------------------------------------------------------------------

WORDS = "words = ['alpha', 'beta', 'gamma', 'delta', 'eps']"
SEARCH = f"""
    import sys
    import numpy as np
    from mercer import KernelRidgeCV
    from mercer.kernels import Jaccard
    {WORDS}
    X = [set(words[i % 4 : i % 4 + 3]) for i in range(12)]
    search = KernelRidgeCV([Jaccard(), Jaccard() ** 2], [0.1, 1.0], cv=3, checkpoint=sys.argv[1])
    print(repr(search.fit(X, np.arange(12.0)).best_score_))
"""
NESTED = f"""
    import numpy as np
    from mercer.data import as_rows
    from mercer.selection.search import fingerprint
    {WORDS}
    X = [[frozenset(words[i % 4 : i % 4 + 3]), frozenset(words)] for i in range(12)]
    print(fingerprint(as_rows(X, objects=True).values))
"""


def printed(script, *given):
    """What a script prints in two processes that hash differently, one after the other."""
    found = []
    for seed in ("1", "2"):
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *map(str, given)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    return found


def test_a_search_over_sets_is_resumed_whatever_python_hashes(tmp_path):
    first, second = printed(SEARCH, tmp_path / "search")  # the second would refuse another fingerprint
    assert first == second


def test_the_fingerprint_of_lists_of_sets_is_the_same_whatever_python_hashes():
    first, second = printed(NESTED)
    assert first == second


def test_a_checkpoint_of_other_texts_is_refused(tmp_path):
    def search(X):
        return KernelRidgeCV([Words(), Jaccard()], ALPHAS, cv=4, checkpoint=tmp_path / "search").fit(X, TARGETS)

    first = search(TEXTS)
    assert search(TEXTS).best_score_ == first.best_score_
    with pytest.raises(InputError, match="belongs to other data or settings"):
        search([*TEXTS[:-1], "\ud800"])


def test_a_checkpoint_of_other_arrays_is_refused(tmp_path):
    def search(X):
        kernel = Words()
        return KernelRidgeCV([kernel], ALPHAS, cv=3, checkpoint=tmp_path / "search").fit(X, np.arange(6.0))

    X = [np.arange(2000) + i for i in range(6)]
    other = [row.copy() for row in X]
    for row in other:
        row[500:1500] = -1
    search(X)
    with pytest.raises(InputError, match="belongs to other data or settings"):
        search(other)
