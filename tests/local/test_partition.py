"""Cells of neighbouring rows: balanced, by rank, and each row answered by its own core."""

import numpy as np
import pytest

from mercer.local.partition import NEAREST_CORES, Partition


def drawn(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


HARD = {
    "one column": drawn(300, 1),
    "500 columns": drawn(60, 500),
    "constant column beside another": np.column_stack([np.ones(300), drawn(300, 1)]),
    "all rows equal": np.ones((300, 3)),
    "duplicated rows": np.repeat(drawn(100, 2), 3, axis=0),
    "categories": np.eye(3)[np.random.default_rng(0).integers(3, size=300)],
    "one gross outlier": np.vstack([drawn(299, 2), [[1e6, 0.0]]]),
    "huge scales": drawn(300, 2) * [1e-200, 1e200],
    "one row": drawn(1, 2),
}


@pytest.mark.parametrize("points", HARD.values(), ids=HARD)
def test_cores_hold_every_row_once_and_differ_in_size_by_at_most_one(points):
    partition = Partition.of(points, core_rows=16)
    cores = [partition.core(cell) for cell in range(partition.cells)]
    assert np.sort(np.concatenate(cores)).tolist() == list(range(len(points)))
    sizes = [len(core) for core in cores]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1
    assert all((np.diff(core) > 0).all() for core in cores)


@pytest.mark.parametrize("points", HARD.values(), ids=HARD)
def test_new_rows_are_routed_by_value_alone_and_training_rows_without_ties_to_their_own_core(points):
    partition = Partition.of(points, core_rows=16)
    home = partition.route(points)
    assert partition.route(points[::-1])[::-1].tolist() == home.tolist()
    if len(np.unique(points[:, 0])) == len(points) and points.shape[1] < 500:
        own = np.empty(len(points), dtype=int)
        own[partition.order] = np.repeat(np.arange(partition.cells), np.diff(partition.starts))
        assert (own == home).all()


def test_fewer_rows_than_a_core_are_one_cell():
    partition = Partition.of(drawn(10, 2), core_rows=100)
    assert partition.cells == 1
    assert partition.route(drawn(3, 2)).tolist() == [0, 0, 0]
    assert partition.system(0, rows=1024).tolist() == list(range(10))


def test_a_system_is_the_core_and_the_rows_nearest_to_its_box():
    points = drawn(400, 2)
    partition = Partition.of(points, core_rows=25)
    for cell in range(partition.cells):
        core, system = partition.core(cell), partition.system(cell, rows=60)
        assert system[-len(core) :].tolist() == core.tolist()
        assert len(system) == 60 == len(np.unique(system))
        low, high = points[core].min(axis=0), points[core].max(axis=0)
        gaps = np.sum(np.maximum(np.maximum(low - points, points - high), 0.0) ** 2, axis=1)
        others = np.setdiff1d(np.arange(400), core)  # all 16 cores are among the 32 nearest
        assert partition.cells <= NEAREST_CORES
        assert gaps[system[: -len(core)]].max() <= np.sort(gaps[others])[60 - len(core) - 1]


def test_rows_that_are_left_out_make_room_for_the_next_ones():
    partition = Partition.of(drawn(400, 2), core_rows=25)
    without = np.zeros(400, dtype=bool)
    without[partition.system(3, rows=60)[::2]] = True
    rest = partition.system(3, rows=60, without=without)
    assert len(rest) == 60
    assert not without[rest].any()


def test_weights_of_mixed_cells_add_up_to_one_and_have_no_steps():
    points = drawn(2000, 2)
    partition = Partition.of(points, core_rows=50)
    line = np.column_stack([np.linspace(-1.0, 1.0, 4001), np.zeros(4001)])
    cells, weights = partition.answers(line, mix=3)
    assert np.allclose(weights.sum(axis=1), 1.0)
    assert (weights >= 0).all()
    table = np.zeros((len(line), partition.cells))
    np.put_along_axis(table, cells, weights, axis=1)
    assert np.abs(np.diff(table, axis=0)).max() < 0.05


def test_one_cell_answers_with_weight_one_and_no_more_cells_than_there_are_are_mixed():
    partition = Partition.of(drawn(40, 2), core_rows=20)
    cells, weights = partition.answers(drawn(5, 2, seed=1), mix=1)
    assert cells.shape == (5, 1)
    assert (weights == 1.0).all()
    assert partition.answers(drawn(5, 2, seed=1), mix=7)[0].shape == (5, 2)


def test_more_rows_join_the_cores_they_are_routed_to():
    points, more = drawn(200, 2), drawn(30, 2, seed=1)
    partition = Partition.of(points, core_rows=25)
    grown = partition.with_points(more)
    for row, cell in enumerate(partition.route(more), start=200):
        assert row in grown.core(int(cell))
    assert sum(len(grown.core(cell)) for cell in range(grown.cells)) == 230
    assert (grown.centres == partition.centres).all()


def test_rows_that_tie_in_some_columns_are_split_by_others_and_stay_in_their_own_cores():
    rng = np.random.default_rng(0)
    points = np.column_stack(
        [4.0 * rng.integers(5, size=2000), 3.0 * rng.integers(7, size=2000), rng.normal(size=2000)]
    )
    partition = Partition.of(points, core_rows=32)
    own = np.empty(2000, dtype=int)
    own[partition.order] = np.repeat(np.arange(partition.cells), np.diff(partition.starts))
    assert (partition.route(points) == own).all()
    assert np.ptp(np.diff(partition.starts)) <= 1


def test_a_constant_column_of_large_values_is_not_split():
    points = np.column_stack([np.full(2000, 1e15 + 0.3), np.random.default_rng(0).normal(size=2000)])
    partition = Partition.of(points, core_rows=32)
    assert (partition.columns[:, 0] == 1).all()


def test_there_are_no_more_cores_than_rows():
    assert Partition.of(drawn(400, 2), core_rows=1).cells == 256


def test_rows_that_tie_in_all_columns_are_balanced_and_routed_alike():
    points = np.random.default_rng(0).integers(2, size=(500, 5)).astype(float)
    partition = Partition.of(points, core_rows=8)
    assert np.ptp(np.diff(partition.starts)) <= 1
    home = partition.route(points)
    for rows in np.unique(points, axis=0):
        assert len(set(home[(points == rows).all(axis=1)])) == 1
