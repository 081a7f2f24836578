"""Tables in passes: the same rows from every kind of source in any blocks, and bad cells named where they stand.

Covers: streaming.blocks.source.
"""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from block_sources import (
    NAMES,
    blocks_of,
    csv_file,
    drawn_table,
    frame,
    named,
    npy,
    npy_files,
    parquet_file,
    parquet_folder,
)
from pyarrow import parquet

from mercer.errors import InputError
from mercer.runtime.passes import run_pass
from mercer.streaming.blocks import Source, as_source
from mercer.streaming.blocks.source import Sampling
from views import read_only


@pytest.fixture
def table(rng):
    return drawn_table(rng)


def arrays(table, folder):
    return as_source(*table[:2], sample_weight=table[2], groups=table[3])


def lists(table, folder):
    return arrays([each.tolist() for each in table], folder)


def fortran(table, folder):
    return arrays((read_only(np.asfortranarray(table[0])), *table[1:]), folder)


def byte_order(table, folder):
    return arrays([each.astype(each.dtype.newbyteorder(">")) for each in table], folder)


def maps(table, folder):
    return arrays([np.load(path, mmap_mode="r") for path in npy(table, folder)], folder)


def map_slice(table, folder):
    X, *others = table
    wide = np.load(npy((np.concatenate([X[:7], X, X[:3]]), *others), folder)[0], mmap_mode="r")
    return arrays((wide[7:507], *others), folder)


def pandas_frame(table, folder):
    return named(frame(table))


def pandas_and_arrays(table, folder):
    _, Y, weights, keys = table
    turned = frame(table)[list(NAMES)].set_index(np.arange(500.0)[::-1])
    return as_source(turned, Y, sample_weight=weights, groups=pd.Series(keys))


def polars_frame(table, folder):
    return named(pl.from_pandas(frame(table)))


def arrow_table(table, folder):
    return named(pa.Table.from_pandas(frame(table)))


def parquet_files(table, folder):
    return named(str(parquet_folder(table, folder)))


def tsv_file(table, folder):
    frame(table).to_csv(folder / "t.tsv", index=False, sep="\t")
    return named(folder / "t.tsv")


def list_of_blocks(table, folder):
    return as_source(blocks_of(table, 71))


def function_of_blocks(table, folder):
    return as_source(lambda: iter(blocks_of(table, 200)))


KINDS = [
    arrays, lists, fortran, byte_order, npy_files, maps, map_slice, pandas_frame, pandas_and_arrays, polars_frame,
    arrow_table, parquet_file, parquet_files, csv_file, tsv_file, list_of_blocks, function_of_blocks,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_table_gives_the_same_rows_in_blocks_of_any_size(kind, table, tmp_path):
    source = kind(table, tmp_path)
    assert isinstance(source, Source)
    assert (source.width, source.targets, source.targets_1d) == (3, 2, False)
    for at_once in (1, 7, 64, 500, 10_000):
        end = 0
        blocks = list(source.blocks(at_once))
        for block in blocks:
            assert block.start == end
            assert len(block) == len(block.Y) == len(block.weights) == len(block.keys) == min(at_once, 500 - end)
            assert block.X.dtype == block.Y.dtype == block.weights.dtype == np.float64
            assert block.X.flags.c_contiguous
            end += len(block)
        assert end == source.rows == 500
        for place, array in enumerate(table):
            np.testing.assert_array_equal(np.concatenate([block.columns()[place] for block in blocks]), array)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_table_gives_the_same_sample_and_can_start_anywhere(kind, table, tmp_path):
    source = kind(table, tmp_path)
    expected = as_source(*table[:2], sample_weight=table[2], groups=table[3]).sample(60, np.random.default_rng(3))
    found = source.sample(60, np.random.default_rng(3))
    for got, wanted in zip(found.columns(), expected.columns(), strict=True):
        np.testing.assert_array_equal(got, wanted)
    for start in (1, 90, 123, 499):
        blocks = list(source.blocks(50, start))
        assert blocks[0].start == start
        np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), table[0][start:])
    assert list(source.blocks(50, 500)) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_identity_is_the_same_until_the_data_are_others(kind, table, tmp_path):
    source = kind(table, tmp_path)
    assert source.identity() == source.identity()
    (tmp_path / "other").mkdir()
    X = table[0].copy()
    X[2, 1] = np.nextafter(X[2, 1], 9)
    assert kind((X, *table[1:]), tmp_path / "other").identity() != source.identity()


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in {list_of_blocks, function_of_blocks}], ids=lambda kind: kind.__name__
)
def test_parts_can_be_sent_and_cover_the_table_in_order(kind, table, tmp_path):
    source = kind(table, tmp_path)
    end = 0
    for part in pickle.loads(pickle.dumps(source.parts)):
        assert part.start == end
        for block in part.blocks(33):
            np.testing.assert_array_equal(block.X, table[0][end : end + len(block)])
            assert block.start == end
            end += len(block)
    assert end == 500


def test_files_are_sent_by_name_and_not_by_content(table, tmp_path):
    large = np.zeros((20_000, 3))
    np.save(tmp_path / "large.npy", large)
    pd.DataFrame(large, columns=NAMES).to_parquet(tmp_path / "large.parquet")
    for name in ("large.npy", "large.parquet"):
        source = as_source(tmp_path / name)
        assert all(len(pickle.dumps(part)) < 2000 for part in source.parts)
    assert len(pickle.dumps(as_source(large).parts[0])) < 8192 * 24 + 2000


def test_large_tables_are_cut_into_parts(tmp_path):
    source = as_source(np.zeros((20_000, 2)))
    assert [(part.start, part.rows) for part in source.parts] == [(0, 8192), (8192, 8192), (16384, 3616)]
    assert len(as_source(np.zeros((8192 * 64 * 3, 1), dtype=np.int8)).parts) == 64
    pd.DataFrame(np.zeros((200_000, 1), dtype=np.int8), columns=["a"]).to_parquet(
        tmp_path / "t.parquet", row_group_size=10_000
    )
    assert [(part.start, part.rows) for part in as_source(tmp_path / "t.parquet").parts] == [
        (0, 70_000), (70_000, 70_000), (140_000, 60_000),
    ]  # fmt: skip


@pytest.mark.parametrize("at_once", [1, 7, 500])
def test_a_pass_draws_the_same_rows_in_blocks_of_any_size(at_once, table):
    expected = arrays(table, None).sample(60, np.random.default_rng(3))
    seed = int(np.random.default_rng(3).integers(2**63))
    found = Sampling.block(run_pass(list_of_blocks(table, None), Sampling(60, seed), at_once=at_once))
    for got, wanted in zip(found.columns(), expected.columns(), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.slow
def test_every_row_has_the_same_chance_to_be_drawn():
    source = as_source(np.arange(40.0)[:, None])
    drawn = np.zeros(40)
    for seed in range(1000):
        drawn[source.sample(10, np.random.default_rng(seed)).X.ravel().astype(int)] += 1
    assert abs(drawn / 1000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 1000)


def test_a_sample_of_more_rows_than_there_are_is_the_table(table, tmp_path):
    for kind in (arrays, csv_file):
        found = kind(table, tmp_path).sample(10_000, np.random.default_rng(0))
        np.testing.assert_array_equal(found.X, table[0])
    with pytest.raises(InputError, match=r"The number of rows of a sample.* got 0"):
        as_source(table[0]).sample(0, np.random.default_rng(0))


def test_one_target_is_a_column_and_none_is_none(table, tmp_path):
    X, Y, *_ = table
    source = as_source(X, Y[:, 0])
    assert source.targets_1d
    assert source.targets == 1
    assert next(source.blocks(5)).Y.shape == (5, 1)
    column = as_source(X, Y[:, :1])
    assert not column.targets_1d
    path = tmp_path / "t.csv"
    frame(table).to_csv(path, index=False)
    assert as_source(path, "y1").targets_1d
    assert not as_source(path, ["y1"]).targets_1d
    assert as_source(path, "y1").names == ("a", "b", "c", "y2", "w", "g")
    assert as_source(path, "y1").target_names == ("y1",)
    assert as_source(path).targets is None
    assert next(as_source(X).blocks(3)).Y is None
    assert as_source([X]).targets is None


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, bool, ">i4", np.float16, np.longdouble])
def test_numbers_of_every_width_become_floats(dtype, rng):
    X = rng.integers(0, 2, (6, 2)).astype(dtype)
    block = next(as_source(X, X[:, 0]).blocks(10))
    assert block.X.dtype == np.float64
    np.testing.assert_array_equal(block.X, X.astype(float))
    np.testing.assert_array_equal(block.Y[:, 0], X[:, 0].astype(float))


def test_columns_of_every_kind_of_number_are_read_from_files(tmp_path):
    whole = pa.table(
        {
            "i": pa.array([1, 2, 3], pa.int32()),
            "b": [True, False, True],
            "f": pa.array([0.5, 1.5, 2.5], pa.float32()),
            "d": pa.array(["1.25", "2.50", "3.75"]).cast(pa.decimal128(6, 2)),
        }
    )
    parquet.write_table(whole, tmp_path / "t.parquet")
    expected = [[1, 1, 0.5, 1.25], [2, 0, 1.5, 2.5], [3, 1, 2.5, 3.75]]
    np.testing.assert_array_equal(next(as_source(tmp_path / "t.parquet").blocks(9)).X, expected)
    np.testing.assert_array_equal(next(as_source(whole).blocks(9)).X, expected)
    objects = np.array(expected, dtype=object)
    objects[0, 0] = np.bool_(True)
    np.testing.assert_array_equal(next(as_source(objects).blocks(9)).X, expected)


def test_nothing_lent_is_changed_and_blocks_cannot_be_written_to(table):
    X = table[0].copy()
    block = next(as_source(X, table[1]).blocks(10))
    with pytest.raises(ValueError, match="read-only"):
        block.X[0, 0] = 1.0
    X[0, 0] = 5.0  # the caller may
    assert X.flags.writeable


def test_labels_are_texts_or_numbers(tmp_path, rng):
    X = rng.normal(size=(4, 2))
    for labels in (["x", "y", "x", "y"], [0, 1, 0, 1], [True, False, True, True]):
        whole = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "l": labels})
        whole.to_parquet(tmp_path / "t.parquet")
        for source in (
            as_source(X, labels, labels=True),
            as_source(whole, "l", labels=True),
            as_source(whole[["a", "b"]], labels, labels=True),
            as_source(tmp_path / "t.parquet", "l", labels=True),
            as_source([(X, labels)], labels=True),
        ):
            assert source.targets_1d
            assert [block.Y.tolist() for block in source.blocks(3)] == [labels[:3], labels[3:]]
            assert next(source.blocks(3)).Y.shape == (3,)
    whole.assign(l=["x", "y", "x", "y"]).to_csv(tmp_path / "t.csv", index=False)
    assert next(as_source(tmp_path / "t.csv", "l", labels=True).blocks(9)).Y.tolist() == ["x", "y", "x", "y"]
    whole.assign(l=[0, 1, 0, 1]).to_csv(tmp_path / "t.csv", index=False)
    assert next(as_source(tmp_path / "t.csv", "l", labels=True).blocks(9)).Y.dtype == np.int64
    categories = whole.assign(l=pd.Categorical(["x", "y", "x", "y"]))
    categories.to_parquet(tmp_path / "t.parquet")
    assert next(as_source(tmp_path / "t.parquet", "l", labels=True).blocks(9)).Y.tolist() == ["x", "y", "x", "y"]
