"""What `cv="gcv"` and `cv="held-out"` stand for."""

import numpy as np
import pytest

from mercer.errors import InputError
from mercer.selection.cv_names import method_of, named_folds

X, Y = np.zeros((40, 1)), np.zeros(40)


def test_names_are_told_from_folds():
    assert [method_of(cv) for cv in ("gcv", "held-out", 5, None, [])] == ["gcv", "held-out", "folds", "folds", "folds"]
    with pytest.raises(InputError, match=r"cv.* got 'loo'"):
        method_of("loo")


def test_generalised_cross_validation_leaves_out_every_row():
    folds = named_folds("gcv", X, Y)
    assert folds.label == "generalized cross-validation"
    assert [split.test.tolist() for split in folds.splits] == [[i] for i in range(40)]


def test_a_fifth_is_held_out_evenly_or_by_chance():
    evenly = named_folds("held-out", X, Y).splits
    assert [split.test.tolist() for split in evenly] == [list(range(4, 40, 5))]
    by_chance = [named_folds("held-out", X, Y, random_state=seed).splits[0] for seed in (1, 1, 2)]
    assert np.array_equal(by_chance[0].test, by_chance[1].test)
    assert not np.array_equal(by_chance[0].test, by_chance[2].test)
    assert len(by_chance[0].test) == 8
    assert by_chance[0].train_count == 32


def test_groups_are_held_out_whole():
    groups = np.repeat(np.arange(10), 4)
    split = named_folds("held-out", X, Y, groups=groups).splits[0]
    assert not set(groups[split.train]) & set(groups[split.test])
    assert len(split.test) == 8


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"cv": "gcv", "groups": np.arange(40)},
            "cv='gcv' is based on single rows and cannot keep groups together. Use cv='held-out'.",
        ),
        ({"cv": "gcv", "repeats": 2}, "repeats must be 1 when cv is 'gcv'; got 2. Set cv to a number of folds."),
        ({"cv": "held-out", "X": X[:4]}, "cv='held-out' needs at least 5 rows; got 4."),
    ],
)
def test_what_does_not_go_together_is_refused(how, message):
    with pytest.raises(InputError) as caught:
        named_folds(**{"X": X, "y": Y, **how})
    assert str(caught.value) == message
