"""Problems and removals: which rows are used, where they stand, what is left out."""

import numpy as np

from mercer.data.folds import Split, draw
from mercer.selection.removals import Removals
from mercer.solvers.problem import Problem


def test_without_weights_every_row_is_used():
    problem = Problem(np.zeros((4, 2)), None, intercept=False)
    assert problem.n == 4
    assert problem.used_rows.tolist() == [0, 1, 2, 3]
    assert problem.unused_rows.tolist() == []
    assert problem.root.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert problem.place.tolist() == [0, 1, 2, 3]


def test_rows_of_weight_zero_have_no_place():
    problem = Problem(np.zeros((4, 1)), np.array([4.0, 0.0, 9.0, 0.0]), intercept=True)
    assert problem.used_rows.tolist() == [0, 2]
    assert problem.unused_rows.tolist() == [1, 3]
    assert problem.root.tolist() == [2.0, 3.0]
    assert problem.place.tolist() == [0, -1, 1, -1]


def test_removals_lay_test_sets_end_to_end():
    removals = Removals.of([Split(np.array([3]), np.array([0, 1])), Split(np.array([0, 1]), np.array([4]))], 5)
    assert [rows.tolist() for rows in removals.sets] == [[0, 1, 2, 4], [2, 3, 4]]
    assert removals.rows.tolist() == [0, 1, 4]
    assert removals.counts.tolist() == [2, 1]
    assert removals.starts.tolist() == [0, 2]
    assert removals.part(1) == slice(2, 3)
    assert len(removals) == 2
    assert not removals.single


def test_leave_one_out_is_single_and_a_single_test_row_of_a_larger_removal_is_not():
    assert Removals.of(draw(None, np.zeros((3, 1)), np.zeros(3)).splits, 3).single
    assert not Removals([np.array([0, 1])], [np.array([0])]).single
