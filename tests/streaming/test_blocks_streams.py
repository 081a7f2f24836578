"""Blocks that the caller makes, and where rows of arrays lie."""

import os

import numpy as np
import pytest
from block_sources import blocks_of, drawn_table, refusal

from mercer.errors import InputError, MemoryRefusal
from mercer.streaming.blocks import as_source
from refusals import tells


@pytest.fixture
def table(rng):
    return drawn_table(rng)


def test_a_pipe_cannot_be_read_several_times(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    assert tells(refusal(tmp_path / "t.csv"), f"The table {str(tmp_path / 't.csv')!r}", "got a pipe or a device")


def test_iterators_that_end_are_refused_with_the_reason(table):
    blocks = blocks_of(table, 100)
    assert tells(refusal(iter(blocks)), "X is read several times and")
    assert refusal(block for block in blocks).startswith("X is read several times and must not be an iterator.")


def test_a_stream_that_is_shorter_the_second_time_is_found_out(table):
    blocks = blocks_of(table, 100)
    left = [blocks, blocks, blocks, blocks[:3]]
    source = as_source(lambda: iter(left.pop(0)))
    assert sum(map(len, source.blocks(64))) == 500
    with pytest.raises(InputError) as refused:
        list(source.blocks(64))
    assert tells(str(refused.value), "500", "300")
    shared = iter(blocks)

    class Spent:
        def __iter__(self):
            return shared

    assert refusal(Spent()).startswith("X is read several times and must not be an iterator.")
    source = as_source(lambda: (block for block in shared))
    with pytest.raises(InputError) as refused:
        list(source.blocks(64))
    assert str(refused.value).startswith(
        "X must be the same blocks in every pass; got a different first block. Pass a list"
    )


def test_blocks_that_do_not_fit_are_named():
    X, y = np.zeros((4, 2)), np.zeros(4)
    assert tells(refusal([(X, y), (np.zeros((4, 3)), y)]), "X of block 1", "got 3")
    assert tells(refusal([(X, y), (X, y[:3])]), "y of block 1", "got 3 rows")
    assert tells(refusal([(X, y), (X,)]), "Block 1", "got other items")
    assert refusal([(X, y, y, y, y)]).endswith("(X, y, weights, groups); got 5 items.")
    assert tells(refusal([(X, y), (y, y)]), "X of block 1", "got 1 dimensions")
    assert tells(refusal(lambda: 3), "X()", "got int")
    assert refusal([(X, y)], y).startswith(
        "y must be None when X is an iterable of blocks; got ndarray. Put it into the blocks: X alone, (X, y),"
    )
    assert [len(block) for block in as_source([(X, y), (X[:0], y[:0]), (X, y)]).blocks(5)] == [5, 3]


def test_maps_that_hold_what_the_file_does_not_are_taken_as_arrays(tmp_path, rng):
    X = rng.normal(size=(50, 2))
    np.save(tmp_path / "x.npy", X)
    changed = np.load(tmp_path / "x.npy", mmap_mode="c")
    changed[3, 0] = 99.0
    assert next(as_source(changed).blocks(50)).X[3, 0] == 99.0
    shared = np.load(tmp_path / "x.npy", mmap_mode="r+")
    shared[4, 0] = 77.0
    source = as_source(shared)
    assert next(source.blocks(50)).X[4, 0] == 77.0
    assert next(source.blocks(50)).X[4, 0] == 77.0
    strided = np.load(tmp_path / "x.npy", mmap_mode="r")[::2]
    np.testing.assert_array_equal(next(as_source(strided).blocks(50)).X[:, 1], X[::2, 1])
    turned = np.asfortranarray(X)
    np.save(tmp_path / "f.npy", turned)
    np.testing.assert_array_equal(next(as_source(tmp_path / "f.npy").blocks(50)).X, X)


def test_arrays_beyond_a_quarter_of_a_gigabyte_are_known_by_samples(monkeypatch, rng):
    from mercer.streaming.blocks import source

    monkeypatch.setattr(source, "_WHOLE", 1000)
    X = rng.normal(size=(9000, 2))
    first = as_source(X).identity()
    X[0, 0] += 1.0
    assert as_source(X).identity() != first
    assert as_source(X[:-1]).identity() != first


def test_objects_are_known_by_what_they_say():
    X = np.zeros((2, 1))
    first = as_source(X, ["a", "b"], labels=True).identity()
    assert (
        as_source(X, np.array(["a", "b"], dtype=object), labels=True).identity()
        != as_source(X, np.array(["a", "c"], dtype=object), labels=True).identity()
    )
    assert as_source(X, ["a", "b"], labels=True).identity() == first


def test_labels_given_as_a_column_are_flat():
    (block,) = as_source(np.zeros((2, 1)), np.array([["a"], ["b"]]), labels=True).blocks(5)
    assert block.Y.tolist() == ["a", "b"]


def test_what_a_block_or_a_sample_takes_is_promised(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000")
    source = as_source(np.zeros((500, 3)))
    with pytest.raises(
        MemoryRefusal,
        match=(
            r"^A block of 500 rows needs 24\.0 kB of memory; .* Use a smaller block_rows, or a table with fewer "
            r"columns\.$"
        ),
    ):
        next(source.blocks(1000))
    with pytest.raises(MemoryRefusal, match=r"^A sample of 400 rows needs 19\.2 kB of memory; .* Draw fewer rows\.$"):
        source.sample(400, np.random.default_rng(0))
    assert len(next(source.blocks(20))) == 20


def test_a_source_is_a_source():
    source = as_source(np.zeros((2, 2)))
    assert as_source(source) is source
