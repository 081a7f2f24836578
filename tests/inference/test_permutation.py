"""The permutation test against searches that are run again for every permutation."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state

from mercer import (
    AutoRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    permutation_test,
)
from mercer.errors import InputError
from mercer.inference.permutation import Permutations, check_search
from mercer.kernels import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(36, 2))
Y = 0.5 * X[:, 0] + RNG.normal(size=36)
TWO, THREE = np.where(Y > 0, "a", "b"), np.array(["a", "b", "c"])[np.digitize(Y, [-0.4, 0.4])]
KERNELS, ALPHAS = [Gaussian(1.0), Gaussian(3.0)], [0.1, 1.0, 10.0]
SEARCHES = {
    "leave-one-out": (KernelRidgeCV(KERNELS, ALPHAS, fit_intercept=True), Y),
    "default ladders": (KernelRidgeCV("gaussian", fit_intercept=True), Y),
    "folds": (KernelRidgeCV(KERNELS, ALPHAS, cv=5, random_state=0), Y + 50.0),
    "repeats": (KernelRidgeCV(KERNELS, ALPHAS, cv=4, repeats=2, random_state=0, fit_intercept=True), Y),
    "another score": (KernelRidgeCV(KERNELS, ALPHAS, cv=4, scoring="neg_mean_absolute_error"), Y),
    "a model": (KernelRidge(1.0, kernel="rbf", gamma=0.3), Y),
    "two labels": (KernelRidgeClassifierCV(KERNELS, ALPHAS, cv=KFold(4)), TWO),
    "three labels": (KernelRidgeClassifierCV(KERNELS, ALPHAS, cv=KFold(4)), THREE),
    "labels and a curve": (KernelRidgeClassifierCV(KERNELS, ALPHAS, cv=KFold(3), scoring="roc_auc"), TWO),
    "a classifier": (KernelRidgeClassifier(1.0, kernel=Gaussian(2.0)), TWO),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_score_is_that_of_a_search_of_its_own(name):
    search, y = SEARCHES[name]
    found = permutation_test(search, X, y, permutations=12, random_state=3)
    orders = Permutations(36, None, None, check_random_state(3)).next(12)
    again = check_search(search, X)
    if name == "default ladders":  # which grow with the targets in a search, and not here
        _, kernels, alphas = again.prepare(X, y)
        again.set_params(kernels=kernels, alphas=alphas)
    assert found.score == pytest.approx(again.fit(X, y).best_score_, rel=1e-10)
    assert np.allclose(found.null, [again.fit(X, y[order]).best_score_ for order in orders], rtol=1e-8)
    assert found.pvalue == (1 + np.sum(found.null >= found.score)) / 13


def test_a_gram_matrix_gives_the_same():
    kernel = Gaussian(2.0)
    one = permutation_test(KernelRidgeCV([kernel], ALPHAS), X, Y, permutations=9, random_state=0)
    other = permutation_test(KernelRidgeCV(["precomputed"], ALPHAS), kernel(X), Y, permutations=9, random_state=0)
    assert np.allclose(one.null, other.null)


def test_blocks_and_groups_are_respected():
    blocks = np.repeat([0, 1, 2], 12)
    for order in Permutations(36, None, blocks, check_random_state(0)).next(20):
        assert (blocks[order] == blocks).all()
        assert sorted(order) == list(range(36))
    groups = np.repeat(np.arange(9), [2, 2, 2, 5, 5, 5, 5, 5, 5])
    for order in Permutations(36, groups, None, check_random_state(0)).next(20):
        assert sorted(order) == list(range(36))
        for name in range(9):
            rows = np.flatnonzero(groups == name)
            assert len(set(groups[order[rows]])) == 1
            assert (np.diff(order[rows]) == 1).all()
    found = permutation_test(KernelRidgeCV(KERNELS, ALPHAS), X, Y, groups=groups, permutations=19, random_state=0)
    assert 0 < found.pvalue <= 1


def test_differences_between_blocks_are_no_signal_within_them():
    blocks = np.repeat([0, 1], 18)
    table = np.column_stack([blocks, X[:, 1]])
    y = 5.0 * blocks + RNG.normal(size=36)
    assert permutation_test(KernelRidge(1.0, kernel="rbf"), table, y, permutations=99, random_state=0).pvalue == 0.01
    within = permutation_test(KernelRidge(1.0, kernel="rbf"), table, y, permutations=99, blocks=blocks, random_state=0)
    assert within.pvalue > 0.05


def test_early_stopping_ends_where_enough_were_better():
    noise = np.random.default_rng(1).normal(size=36)
    whole = permutation_test(KernelRidgeCV(KERNELS, ALPHAS), X, noise, permutations=199, random_state=0)
    early = permutation_test(KernelRidgeCV(KERNELS, ALPHAS), X, noise, permutations=199, stop_after=10, random_state=0)
    place = np.flatnonzero(whole.null >= whole.score)[9] + 1
    assert early.pvalue == 10 / place
    assert len(early.null) == place


@pytest.mark.parametrize(
    ("model", "how", "said"),
    [
        (AutoRegressor(), {}, "The model of permutation_test must be KernelRidge"),
        (KernelRidgeCV(tune=True), {}, "does not support tune=True"),
        (KernelRidgeCV(rule="one_se"), {}, "rule of permutation_test must be 'best'"),
        (KernelRidgeCV(cv=StratifiedKFold(3)), {}, "folds that do not depend on the targets; got StratifiedKFold"),
        (KernelRidgeClassifierCV(class_weight="balanced"), {}, "does not support class_weight"),
        (KernelRidgeCV(), {"permutations": 0}, "permutations must be an integer of at least 1; got 0"),
        (KernelRidgeCV(), {"stop_after": 0}, "stop_after must be"),
        (KernelRidgeCV(), {"groups": np.arange(36) // 2, "blocks": np.arange(36)}, "groups or blocks, not both"),
        (
            KernelRidgeCV(),
            {"groups": np.repeat([0, 1, 2], [5, 11, 20])},
            "at least two groups have the same number of rows",
        ),
    ],
)
def test_what_is_refused(model, how, said):
    with pytest.raises(InputError, match=said):
        permutation_test(model, X, Y, **how)


def test_inputs_are_left_alone_and_the_result_shows_itself():
    search, table, y = KernelRidgeCV(KERNELS, ALPHAS), X.copy(), Y.copy()
    table.setflags(write=False)
    y.setflags(write=False)
    found = permutation_test(search, table, y, permutations=19, random_state=0)
    assert not hasattr(search, "best_score_")
    assert "of 19 permutations" in str(found)
    assert list(found.to_frame())[-1] == "p"
    assert "<svg" in found._repr_html_()


def test_columns_that_matter_are_told_from_those_that_do_not():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 3))
    y = 2.0 * table[:, 1] + 0.5 * rng.normal(size=40)
    search = KernelRidgeCV([Gaussian(2.0)], [0.1, 1.0])
    found = permutation_test(search, table, y, permutations=19, columns="all", random_state=0)
    assert found.names == ["x1", "x2", "x3"]
    assert found.pvalue[1] == 0.05
    assert found.adjusted[1] == pytest.approx(0.15)
    assert found.pvalue[[0, 2]].min() > 0.05
    order = Permutations(40, None, None, check_random_state(0)).next(1)[0]
    changed = table.copy()
    changed[:, 0] = table[order, 0]
    assert found.null[0, 0] == pytest.approx(search.fit(changed, y).best_score_)
    assert "permutations of each column" in str(found)
    with pytest.raises(InputError, match="There is no column 'x9'"):
        permutation_test(search, table, y, columns=["x9"])
    with pytest.raises(InputError, match="stop_after is not supported with columns"):
        permutation_test(search, table, y, columns=[0], stop_after=3)


def test_ties_are_ties_whatever_rounding_says():
    r = np.random.default_rng(4)
    table, y = r.normal(size=(34, 2)), np.repeat([0.0, 1.0], 17)
    same = permutation_test(KernelRidge(0.1, kernel=Gaussian(1.0)), table, y, blocks=np.arange(34), permutations=99)
    assert same.pvalue == 1.0
    within = permutation_test(KernelRidgeCV(KERNELS, ALPHAS), table, y, blocks=y, permutations=99, random_state=0)
    assert within.pvalue == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_scores_that_do_not_exist_are_an_error_and_no_evidence():
    with pytest.raises(InputError, match="All scores of the unpermuted targets are NaN"):
        permutation_test(KernelRidgeCV(KERNELS, ALPHAS, cv=5), X[:6], Y[:6], scoring="r2", permutations=9)
