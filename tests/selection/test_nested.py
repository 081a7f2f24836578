"""Nested layouts: which rows are left out for which inner and outer fit, and whose score it is."""

import re

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from mercer.data.folds import draw
from mercer.data.rows import Rows
from mercer.errors import InputError
from mercer.kernels import Gaussian, Linear
from mercer.selection.nested import other_folds, own_folds, run_nested
from mercer.selection.scoring import resolve_scoring
from mercer.selection.search import Search
from mercer.solvers.problem import Problem
from refits import held_out

X = np.zeros((9, 1))


def test_the_other_folds_are_the_inner_folds_and_every_pair_serves_both():
    layout = other_folds(draw(3, X, X))
    assert [rows.tolist() for rows in layout.outer.sets] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert [rows.tolist() for rows in layout.pairs.sets] == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 6, 7, 8], [3, 4, 5, 6, 7, 8]]
    assert layout.owner.tolist() == [1, 0, 2, 0, 2, 1]
    assert [rows.tolist() for rows in layout.inner.tests] == [
        [0, 1, 2], [3, 4, 5], [0, 1, 2], [6, 7, 8], [3, 4, 5], [6, 7, 8],
    ]  # fmt: skip
    np.testing.assert_array_equal(layout.pairs.rows, layout.inner.rows)
    assert len(layout.everything) == 6


def test_an_inner_model_never_sees_its_outer_fold_nor_its_own_test_rows():
    for layout in (
        other_folds(draw(4, X, X, repeats=3, random_state=0)),
        own_folds(draw(4, X, X), lambda train: draw(3, X[train], X[train])),
        own_folds(draw(ShuffleSplit(3, random_state=0), X, X), lambda train: draw(None, X[train], X[train])),
    ):
        for i, owner in enumerate(layout.owner):
            left_out = set(layout.inner.sets[i].tolist())
            assert set(layout.outer.tests[owner].tolist()) <= left_out
            assert set(layout.inner.tests[i].tolist()) <= left_out
            assert not set(layout.inner.tests[i].tolist()) & set(layout.outer.sets[owner].tolist())


def test_repeats_are_never_mixed():
    layout = other_folds(draw(3, X, X, repeats=2, random_state=0))
    assert len(layout.pairs) == 6
    assert len(layout.inner) == 12
    assert sorted(layout.owner.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize("cv", [2, ShuffleSplit(3, random_state=0), [([0, 1], [2]), ([1, 2], [0]), ([0, 2], [1])]])
def test_algorithm_one_needs_three_disjoint_folds(cv):
    sentence = (
        "inner=None uses the other outer folds as inner folds. This needs at least 3 disjoint folds that cover every "
        "row. Use cv=3 or more, or set inner to a number of folds."
    )
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        other_folds(draw(cv, X, X))


@pytest.mark.slow
@pytest.mark.parametrize("inner", [None, 3, "loo"])
@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_absolute_error"])
def test_winners_and_scores_are_those_of_plain_loops(scoring, inner, rng):
    rows, Y = rng.normal(size=(15, 2)), rng.normal(size=(15, 1))
    folds = draw(KFold(5, shuffle=True, random_state=1), rows, Y)
    how = resolve_scoring(scoring, classifier=False)
    search = Search(Rows(rows), Y[:, 0], Problem(Y, None, True), folds, how)
    kernels, alphas = [Gaussian(0.7), Linear()], np.array([0.01, 0.3, 10.0])
    drawn = None if inner is None else lambda train: draw(None if inner == "loo" else inner, train, train)
    found, _, _ = run_nested(search, kernels, alphas, drawn, "best")
    from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

    measure = {
        None: lambda y, p: -mean_squared_error(y, p),
        "r2": r2_score,
        "neg_mean_absolute_error": lambda y, p: -mean_absolute_error(y, p),
    }[scoring]
    for o, outer in enumerate(folds.splits):
        if inner is None:
            parts = [(np.setdiff1d(outer.train, s.test), s.test) for i, s in enumerate(folds.splits) if i != o]
        else:
            parts = [(outer.train[s.train], outer.train[s.test]) for s in drawn(outer.train).splits]
        means = np.empty((2, 3))
        for k, kernel in enumerate(kernels):
            K = kernel(rows)
            for a, alpha in enumerate(alphas):
                values = [(held_out(K, Y, alpha, *part, None, True)[:, 0], Y[part[1], 0]) for part in parts]
                if scoring == "r2" and inner == "loo":
                    means[k, a] = measure(
                        np.concatenate([y for _, y in values]), np.concatenate([p for p, _ in values])
                    )
                else:
                    means[k, a] = np.mean([measure(y, p) for p, y in values])
        k, a = np.unravel_index(means.argmax(), means.shape)
        assert found.chosen[o] == {"kernel": kernels[k], "alpha": alphas[a]}
        np.testing.assert_allclose(found.inner_scores[0, o], means[k, a], rtol=1e-8)
        values = held_out(kernels[k](rows), Y, alphas[a], outer.train, outer.test, None, True)[:, 0]
        np.testing.assert_allclose(found.scores[0, o], measure(Y[outer.test, 0], values), rtol=1e-8)
        np.testing.assert_allclose(found.predictions[0, outer.test], values, rtol=1e-8)


def test_the_plan_counts_inner_and_outer_fits(rng):
    rows, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 1))
    folds = draw(5, rows, Y)
    search = Search(Rows(rows), Y, Problem(Y, None, False), folds, resolve_scoring(None, classifier=False))
    found = run_nested(search, [Gaussian()], np.array([1.0]), None, "best")[0].plan
    assert found.work.sizes.tolist() == [6.0] * 5 + [12.0] * 10
    assert found.label == "nested, 5-fold, unshuffled"
