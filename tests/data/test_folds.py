"""Folds: scikit-learn's own where an int is given, drawn once, and refused where they make no sense."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from mercer.data.folds import Split, draw
from mercer.errors import InputError
from mercer.selection.removals import Removals

X = np.zeros((12, 2))
Y = np.array([0, 1] * 6)
GROUPS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4])


def assert_same(folds, pairs):
    pairs = list(pairs)
    assert len(folds.splits) == len(pairs)
    for split, (train, test) in zip(folds.splits, pairs, strict=True):
        np.testing.assert_array_equal(split.train, train)
        np.testing.assert_array_equal(split.test, np.sort(test))


def test_an_int_is_scikit_learns_unshuffled_kfold():
    folds = draw(5, X, Y)
    assert_same(folds, KFold(5).split(X))
    assert folds.label == "5-fold, unshuffled"
    assert folds.partition


def test_an_int_is_stratified_for_classifiers():
    folds = draw(3, X, Y, classifier=True)
    assert_same(folds, StratifiedKFold(3).split(X, Y))
    assert folds.label == "stratified 3-fold, unshuffled"


def test_an_int_deals_whole_groups():
    assert_same(draw(3, X, Y, groups=GROUPS), GroupKFold(3).split(X, Y, GROUPS))
    folds = draw(2, X, Y, groups=GROUPS, classifier=True)
    assert_same(folds, StratifiedGroupKFold(2).split(X, Y, GROUPS))
    assert folds.label == "grouped stratified 2-fold, unshuffled"
    for seed in (None, 0):
        for split in draw(3, X, Y, groups=GROUPS, repeats=2, random_state=seed).splits:
            assert not set(GROUPS[split.train]) & set(GROUPS[split.test])


def test_a_seed_shuffles_and_repeats_itself():
    one, other = (draw(4, X, Y, random_state=3) for _ in range(2))
    assert_same(one, [(split.train, split.test) for split in other.splits])
    assert one.label == "4-fold, shuffled"
    unshuffled = [split.test.tolist() for split in draw(4, X, Y).splits]
    assert [split.test.tolist() for split in one.splits] != unshuffled
    another = draw(4, X, Y, random_state=4)
    assert [s.test.tolist() for s in another.splits] != [s.test.tolist() for s in one.splits]


def test_repeats_are_shuffled_anew_each_time():
    folds = draw(3, X, Y, repeats=4, random_state=0)
    assert len(folds.repeats) == 4
    assert len({str([split.test.tolist() for split in repeat]) for repeat in folds.repeats}) == 4
    assert folds.partition
    assert folds.label == "3-fold, shuffled, 4 repeats"
    assert draw(3, X, Y, repeats=2).label == "3-fold, shuffled, 2 repeats"


def test_none_is_leave_one_out():
    folds = draw(None, X, Y)
    assert_same(folds, LeaveOneOut().split(X))
    assert folds.label == "leave-one-out"
    assert folds.partition


@pytest.mark.parametrize(
    "cv",
    [KFold(3), StratifiedKFold(2), TimeSeriesSplit(4), PredefinedSplit(Y), ShuffleSplit(3, random_state=1)],
    ids=repr,
)
def test_splitters_are_asked(cv):
    folds = draw(cv, X, Y)
    assert_same(folds, cv.split(X, Y))
    assert folds.label == f"{type(cv).__name__}, {len(folds.splits)} splits"


def test_splitters_are_given_the_groups():
    assert_same(draw(LeaveOneGroupOut(), X, Y, groups=GROUPS), LeaveOneGroupOut().split(X, Y, GROUPS))


def test_splitters_that_draw_are_drawn_for_every_repeat():
    folds = draw(ShuffleSplit(2, random_state=np.random.RandomState(0)), X, Y, repeats=3)
    assert len(folds.repeats) == 3
    assert len({str([split.test.tolist() for split in repeat]) for repeat in folds.repeats}) == 3
    assert folds.label == "ShuffleSplit, 2 splits, 3 repeats"


def test_iterables_of_numbers_or_masks_are_taken():
    mask = np.zeros(12, dtype=bool)
    mask[[2, 5]] = True
    folds = draw(iter([([0, 3], [7]), (~mask, mask)]), X, Y)
    assert_same(folds, [([0, 3], [7]), (np.flatnonzero(~mask), [2, 5])])
    assert folds.label == "given splits"
    assert not folds.partition


def test_rows_of_any_kind_are_counted():
    for table in (X.tolist(), sparse.csr_matrix(X), X):
        assert draw(4, table, Y).n == 12


def test_a_partition_tests_every_row_once_on_a_model_of_all_others():
    assert not draw(TimeSeriesSplit(3), X, Y).partition
    assert not draw(ShuffleSplit(3, random_state=0), X, Y).partition
    assert not draw([([0, 1, 2, 3, 4, 5], np.arange(6, 12)), ([7], np.arange(6))], X, Y).partition
    assert draw(PredefinedSplit(np.arange(12) % 5), X, Y).partition


def test_order_makes_the_test_sets_of_the_first_repeat_contiguous():
    folds = draw(KFold(3, shuffle=True, random_state=0), X, Y)
    order = folds.order()
    assert sorted(order) == list(range(12))
    moved = Removals.of(folds.splits, 12).renumber(order)
    assert [rows.tolist() for rows in moved.sets] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    for old, new in zip(folds.splits, moved.tests, strict=True):
        np.testing.assert_array_equal(order[new], old.test)


def test_order_keeps_rows_that_are_tested_twice_or_never():
    folds = draw([([0, 1], [4, 3]), ([0], [3, 9])], X, Y)
    order = folds.order()
    assert order[:3].tolist() == [3, 4, 9]
    assert sorted(order) == list(range(12))


def test_what_is_removed_is_everything_not_trained_on():
    assert Split(np.array([1, 4]), np.array([0])).removal(6).tolist() == [0, 2, 3, 5]


EMPTY = (
    "Every split must have at least one training row and one test row; got a split with an empty training or test set."
)


@pytest.mark.parametrize(
    ("cv", "sentence"),
    [
        (1, "The number of folds must be between 2 and the number of rows, 12; got 1."),
        (0, "The number of folds must be between 2 and the number of rows, 12; got 0."),
        (13, "The number of folds must be between 2 and the number of rows, 12; got 13."),
        ("5", "cv must be a number of folds, a splitter, a list of (train, test) or None; got '5'."),
        (2.5, "cv must be a number of folds, a splitter, a list of (train, test) or None; got 2.5."),
        (True, "cv must be a number of folds, a splitter, a list of (train, test) or None; got True."),
        ([], "cv must yield at least one split; got none."),
        (
            [([0], [])],
            EMPTY,
        ),
        (
            [([], [0])],
            EMPTY,
        ),
        ([([0, 1], [1])], "Training and test rows of a split must be disjoint; got a row that is in both."),
        ([([0], [12])], "Row indices of a split must be between 0 and 11; got 12 to 12."),
        ([([-1], [3])], "Row indices of a split must be between 0 and 11; got -1 to -1."),
    ],
)
def test_splits_that_make_no_sense_are_refused(cv, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        draw(cv, X, Y)


def test_more_folds_than_groups_are_refused():
    with pytest.raises(InputError, match=r"The number of folds.* got 6"):
        draw(6, X, Y, groups=GROUPS)


@pytest.mark.parametrize("repeats", [0, -1, 1.5, "2"])
def test_repeats_that_are_none_are_refused(repeats):
    with pytest.raises(InputError, match=r"^repeats must be an integer of at least 1; got "):
        draw(3, X, Y, repeats=repeats)


def test_one_row_cannot_be_left_out():
    with pytest.raises(InputError, match=r"^Leave-one-out needs at least 2 rows; got 1\.$"):
        draw(None, np.zeros((1, 1)), [0.0])


# -- nothing is silent ----------------------------------------------------------------------------------


def test_a_row_that_is_trained_on_twice_is_refused_and_not_forgotten():
    """A bootstrap trains on repeated rows; taking each once would be another model than refitting gives."""
    with pytest.raises(InputError, match=r"twice|more than once|repeated"):
        draw([([0, 0, 1, 2], [3, 4])], X, Y)


def test_a_row_that_is_tested_twice_is_refused_and_not_forgotten():
    with pytest.raises(InputError, match=r"twice|more than once|repeated"):
        draw([([0, 1, 2], [3, 3, 4])], X, Y)


def test_a_mask_of_another_length_is_refused():
    mask = np.zeros(5, dtype=bool)
    mask[0] = True
    with pytest.raises(InputError):
        draw([(~mask, mask)], X, Y)


def test_row_numbers_that_are_not_whole_are_refused():
    with pytest.raises(InputError):
        draw([([0.5, 1.7], [3])], X, Y)


def test_groups_are_never_split_by_leave_one_out():
    """`fit` promises that rows of one group are never on both sides of a split."""
    try:
        folds = draw(None, X, Y, groups=GROUPS)
    except InputError:
        return
    for split in folds.splits:
        assert not set(GROUPS[split.train]) & set(GROUPS[split.test])


@pytest.mark.parametrize(
    "cv", [KFold(3), ShuffleSplit(2, random_state=0), KFold(3, shuffle=True, random_state=0)], ids=str
)
def test_repeats_of_a_splitter_that_always_draws_the_same_are_refused(cv):
    """The same folds again are no new evidence, but would shrink every standard error."""
    with pytest.raises(InputError, match=r"repeat"):
        draw(cv, X, Y, repeats=3)


def test_repeats_of_splits_that_cannot_be_drawn_again_are_refused():
    for cv in (None, [(np.arange(6), np.arange(6, 12))]):
        with pytest.raises(InputError, match=r"repeat"):
            draw(cv, X, Y, repeats=3)


def test_training_rows_keep_the_order_that_a_splitter_names_them_in():
    """scikit-learn deals inner folds in that order."""
    train, test = next(iter(ShuffleSplit(1, random_state=3).split(X)))
    split = draw([(train, test)], X, Y).splits[0]
    assert split.train.tolist() == train.tolist() != sorted(train)
    assert split.test.tolist() == sorted(test)


def test_rows_tested_twice_make_folds_overlap():
    assert not draw(5, X, Y).overlapping
    assert not draw(TimeSeriesSplit(4), X, Y).overlapping
    assert draw(5, X, Y, repeats=2).overlapping
    assert draw(ShuffleSplit(9, random_state=0), X, Y).overlapping


@pytest.mark.parametrize("cv", [KFold(4, shuffle=True), ShuffleSplit(2)], ids=str)
@pytest.mark.parametrize("repeats", [1, 3])
def test_a_seed_reaches_the_splitter(cv, repeats):
    one, other = (draw(cv, X, Y, repeats=repeats, random_state=0) for _ in range(2))
    assert_same(one, [(split.train, split.test) for split in other.splits])
    assert len({str([split.test.tolist() for split in repeat]) for repeat in one.repeats}) == repeats
    assert cv.random_state is None


def test_a_splitter_that_cannot_be_seeded_is_refused_with_a_seed():
    class Dice:
        generator = np.random.default_rng(0)

        def split(self, X, y=None, groups=None):
            test = self.generator.permutation(12)[:4]
            return [(np.setdiff1d(np.arange(12), test), test)]

        def __repr__(self):
            return "Dice()"

    assert len(draw(Dice(), X, Y, repeats=2).repeats) == 2
    sentence = (
        "random_state must be None for Dice(), which cannot be seeded; got 0. Remove random_state, or set cv to a "
        "number of folds."
    )
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        draw(Dice(), X, Y, repeats=2, random_state=0)


def test_folds_by_chance_are_known_beforehand():
    from mercer.data.folds import by_chance

    assert by_chance(5, 2, None)
    assert by_chance(KFold(5, shuffle=True), 1, None)
    assert by_chance(ShuffleSplit(3), 1, None)
    fixed = [(5, 1, None), (5, 2, 0), (KFold(5), 1, None), (None, 1, None), (ShuffleSplit(3, random_state=0), 1, None)]
    assert not any(by_chance(*each) for each in [*fixed, ([([0], [1])], 1, None), (KFold(5, shuffle=True), 2, 0)])


def test_given_splits_must_not_cut_a_group():
    whole = [(np.flatnonzero(GROUPS != 2), np.flatnonzero(GROUPS == 2))]
    assert draw(whole, X, Y, groups=GROUPS).label == "given splits"
    sentence = (
        "cv must not put rows of one group into both the training set and the test set; got group 0 in both sets of "
        "split 0. Use a group splitter such as GroupKFold."
    )
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        draw([([0, 3], [1])], X, Y, groups=GROUPS)


MIXED = (
    "groups must be of one type; got numbers in row 0 and text in row 1. Convert all values to strings or all to "
    "numbers."
)


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (
            [0, None, *[1] * 10],
            "groups has missing values, the first in row 1. Impute the missing values, or drop these rows.",
        ),
        (
            [0.0, np.nan, *[1.0] * 10],
            "groups has missing values, the first in row 1. Impute the missing values, or drop these rows.",
        ),
        ([0, "a", *[1] * 10], MIXED),
        (np.array([0, "a", *[1] * 10], dtype=object), MIXED),
        ([0, True, *[1] * 10], MIXED.replace("text", "booleans", 1)),
        ([0, 1], "groups must be an array of length 12, one value per row; got shape (2,)."),
    ],
    ids=["none", "nan", "list", "objects", "truth", "short"],
)
def test_groups_must_be_names_of_one_kind(groups, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        draw(2, X, Y, groups=groups)


def test_groups_of_pandas_may_not_be_missing():
    import pandas as pd

    with pytest.raises(
        InputError,
        match=(r"^groups has missing values, the first in row 1\. Impute the missing values, or drop these rows\.$"),
    ):
        draw(2, X, Y, groups=pd.Series([0, pd.NA, *[1] * 10], dtype=object))
