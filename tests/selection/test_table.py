"""Tables of scores: means, standard errors, the choice, and GridSearchCV's layout."""

import math

import numpy as np
import pytest

from mercer.data.folds import draw
from mercer.errors import InputError
from mercer.kernels import Gaussian, Linear
from mercer.selection.table import SearchTable, Winner, held_out_ratio, join_tables, standard_error
from refusals import tells


def table_of(scores, alphas=None, kernels=None, condition=None):
    """scores: kernels x alphas x splits[, targets]."""
    scores = np.asarray(scores, dtype=float)
    scores = scores[..., None] if scores.ndim == 3 else scores
    k, a, *_ = scores.shape
    return SearchTable(
        kernels or [Gaussian(i + 1.0) for i in range(k)],
        np.asarray(alphas if alphas is not None else 10.0 ** np.arange(a)),
        scores,
        scores.mean(axis=2),
        np.full((k, a), 10.0) if condition is None else np.asarray(condition, dtype=float),
        np.zeros((k, a), dtype=np.intp),
        "neg_mean_squared_error",
    )


def folds_of(count, repeats=1, n=20):
    return draw(count, np.zeros((n, 1)), np.zeros(n), repeats=repeats, random_state=0)


def test_the_best_mean_wins_and_the_first_of_equals():
    scores = [[[1.0, 3.0], [2.0, 2.5]], [[2.5, 2.0], [0.0, 0.0]]]
    assert table_of(scores).choose("best", folds_of(2)) == Winner(0, (1,))


def test_a_candidate_without_a_score_never_wins():
    scores = [[[np.nan, 9.0], [0.0, 0.0]], [[-1.0, -1.0], [np.nan, np.nan]]]
    table = table_of(scores)
    assert table.choose("best", folds_of(2)) == Winner(0, (1,))
    assert table.results()["rank_test_score"].tolist() == [3, 1, 2, 3]


def test_one_standard_error_takes_the_largest_alpha_that_is_close_enough():
    scores = np.array([[[-1.0, -3.0], [-1.0, -2.0], [-1.9, -2.0], [-2.0, -2.1], [0.0, -9.0]], [[-9.0] * 2] * 5])
    best, error = -1.5, np.std([-1.0, -2.0], ddof=1) / math.sqrt(2)
    assert best - error == pytest.approx(-2.0)
    table = table_of(scores, [0.1, 1.0, 10.0, 100.0, 1000.0])
    assert table.choose("one_se", folds_of(2)) == Winner(0, (2,))
    assert table.choose("best", folds_of(2)) == Winner(0, (1,))


def test_one_standard_error_does_not_mind_the_order_of_the_alphas():
    scores = np.array([[[-1.9, -2.0], [-1.0, -2.0], [-1.0, -3.0]]])
    assert table_of(scores, [10.0, 1.0, 0.1]).choose("one_se", folds_of(2)) == Winner(0, (0,))


def test_every_target_gets_an_alpha_of_its_own():
    scores = np.zeros((2, 3, 4, 2))
    scores[0, 0, :, 0], scores[0, 2, :, 1] = 1.0, 2.0
    assert table_of(scores).choose("best", folds_of(4)) == Winner(0, (0, 2))


def test_the_standard_error_of_one_repeat_is_the_plain_one(rng):
    scores = rng.normal(size=(2, 3, 5))
    found = table_of(scores).standard_error(folds_of(5))[..., 0]
    np.testing.assert_allclose(found, scores.std(axis=2, ddof=1) / math.sqrt(5))


def test_the_standard_error_of_repeats_is_nadeau_and_bengios(rng):
    scores = rng.normal(size=(1, 2, 15))
    found = table_of(scores).standard_error(folds_of(5, repeats=3))[..., 0]
    np.testing.assert_allclose(found, scores.std(axis=2, ddof=1) * math.sqrt(1 / 15 + 4 / 16))
    assert held_out_ratio(folds_of(5)) == pytest.approx(4 / 16)
    assert standard_error(scores[0, 0], 0.0) == pytest.approx(scores[0, 0].std(ddof=1) / math.sqrt(15))


def test_one_score_has_no_standard_error():
    table = table_of([[[1.0], [2.0], [0.0]]])
    assert np.isnan(table.standard_error(folds_of(2))).all()
    assert table.choose("one_se", folds_of(2)) == Winner(0, (1,))


def test_results_are_laid_out_as_grid_search_lays_them_out(rng):
    scores = rng.normal(size=(2, 3, 4))
    found = table_of(scores, [0.1, 1.0, 10.0]).results()
    flat = scores.reshape(6, 4)
    assert found["params"][4] == {"kernel": Gaussian(2.0), "alpha": 1.0}
    assert found["param_alpha"].tolist() == [0.1, 1.0, 10.0] * 2
    assert list(found["param_kernel"]) == [Gaussian(1.0)] * 3 + [Gaussian(2.0)] * 3
    for i in range(4):
        np.testing.assert_array_equal(found[f"split{i}_test_score"], flat[:, i])
    np.testing.assert_allclose(found["mean_test_score"], flat.mean(axis=1))
    np.testing.assert_allclose(found["std_test_score"], flat.std(axis=1))
    assert found["rank_test_score"].dtype == np.int32
    assert sorted(found["rank_test_score"]) == [1, 2, 3, 4, 5, 6]
    assert found["mean_test_score"][found["rank_test_score"] == 1] == flat.mean(axis=1).max()


def test_equal_scores_share_a_rank_and_the_winner_has_the_first():
    """Sums taken in another order differ in the last bit: the choice and the ranks must use the same ones."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        scores = rng.integers(0, 4, size=(3, 4, 11)) / 3.0
        scores[:, :, ::2] = scores[:, :, ::2][..., ::-1]
        table = table_of(scores)
        choice = table.choose("best", folds_of(2))
        found = table.results()
        index = choice.kernel * 4 + choice.alphas[0]
        assert found["rank_test_score"][index] == 1
        assert index == int(np.argmax(found["mean_test_score"]))


def test_digits_follow_from_the_winners_condition():
    table = table_of(np.zeros((1, 3, 2)), condition=[[1e6, np.inf, 0.5]])
    assert table.digits(Winner(0, (0,))) == pytest.approx(-math.log10(3 * np.finfo(float).eps * 1e6))
    assert table.digits(Winner(0, (1,))) == 0.0
    assert table.digits(Winner(0, (0, 1))) == 0.0
    assert table.digits(Winner(0, (2,))) == pytest.approx(15.18, abs=0.01)


def test_the_text_marks_the_winner_and_is_sorted():
    table = table_of([[[-3.0, -3.0], [-1.0, -1.0]], [[-2.0, -2.0], [-4.0, np.nan]]], [0.5, 5.0])
    lines = table.text(Winner(0, (1,)), folds_of(2)).splitlines()
    assert lines[0].split() == ["kernel", "alpha", "neg_mean_squared_error", "std.", "error", "pooled"]
    assert lines[2].split()[:4] == ["->", "Gaussian(width=1.0)", "5", "-1"]
    assert [line.split()[-3] for line in lines[3:5]] == ["-2", "-3"]
    assert len(table.text(Winner(0, (1,)), folds_of(2), most=2).splitlines()) == 4


def test_tables_are_joined_by_kernels_or_by_alphas(rng):
    first, second = table_of(rng.normal(size=(2, 3, 4))), table_of(rng.normal(size=(2, 2, 4)), [5.0, 0.01])
    wide = join_tables(first, second, axis=1)
    assert wide.alphas.tolist() == [0.01, 1.0, 5.0, 10.0, 100.0]
    np.testing.assert_array_equal(wide.scores[:, 0], second.scores[:, 1])
    np.testing.assert_array_equal(wide.scores[:, 2], second.scores[:, 0])
    np.testing.assert_array_equal(wide.pooled[:, 3], first.pooled[:, 1])
    third = table_of(rng.normal(size=(1, 3, 4)), kernels=[Linear()])
    tall = join_tables(first, third, axis=0)
    assert list(tall.kernels) == [Gaussian(1.0), Gaussian(2.0), Linear()]
    np.testing.assert_array_equal(tall.scores[2], third.scores[0])
    assert tall.condition.shape == (3, 3)


def test_rows_tested_more_than_once_correct_the_standard_error_of_any_splitter(rng):
    from sklearn.model_selection import RepeatedKFold, ShuffleSplit

    scores = rng.normal(size=(1, 2, 15))
    for cv in (RepeatedKFold(n_splits=5, n_repeats=3, random_state=0), ShuffleSplit(15, test_size=4, random_state=0)):
        found = table_of(scores).standard_error(draw(cv, np.zeros((20, 1)), np.zeros(20)))[..., 0]
        np.testing.assert_allclose(found, scores.std(axis=2, ddof=1) * math.sqrt(1 / 15 + 4 / 16))


def test_scores_that_are_all_missing_choose_nothing():
    with pytest.raises(InputError) as refused:
        table_of(np.full((2, 2, 2), np.nan)).choose("best", folds_of(2), ["no such score."])
    assert tells(str(refused.value), "All scores")
    one_target = np.zeros((1, 2, 2, 2))
    one_target[..., 1] = np.nan
    with pytest.raises(InputError, match="All scores are NaN"):
        table_of(one_target).choose("best", folds_of(2))


@pytest.mark.slow
def test_ranks_of_many_candidates_take_no_time():
    scores = np.random.default_rng(0).integers(0, 50_000, size=(1, 100_000, 1)).astype(float)
    found = table_of(scores, np.arange(100_000.0)).results()["rank_test_score"]
    worth = scores.ravel()
    for i in (0, 1, 77_777):
        assert found[i] == 1 + int((worth > worth[i]).sum())


def test_a_single_score_has_no_standard_error_in_the_text():
    line = table_of([[[1.0], [2.0]]]).text(Winner(0, (1,)), folds_of(2)).splitlines()[2]
    assert line.split()[-2] == "none"
