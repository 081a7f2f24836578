"""Tables in passes: the same rows from every kind of source in any blocks, and bad cells named where they stand."""

import os
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from mercer.errors import InputError, MemoryRefusal
from mercer.runtime.passes import run_pass
from mercer.streaming.blocks import Source, as_source
from mercer.streaming.blocks.sampling import Sampling
from views import read_only

NAMES = ("a", "b", "c")


@pytest.fixture
def table(rng):
    """X, two targets, weights and keys of 500 rows."""
    X = rng.normal(size=(500, 3))
    return X, rng.normal(size=(500, 2)), rng.uniform(0.5, 2.0, 500), rng.integers(0, 40, 500)


def frame(table):
    X, Y, weights, keys = table
    columns = dict(zip(NAMES, X.T, strict=True)) | {"y1": Y[:, 0], "y2": Y[:, 1], "w": weights, "g": keys}
    return pd.DataFrame(columns)


def npy(table, folder):
    paths = [folder / f"{place}.npy" for place in range(4)]
    for path, array in zip(paths, table, strict=True):
        np.save(path, array)
    return paths


def parquet_folder(table, folder):
    whole = pa.Table.from_pandas(frame(table))
    (folder / "parts").mkdir()
    for place, start in enumerate(range(0, 500, 90)):
        parquet.write_table(whole.slice(start, 90), folder / "parts" / f"{place}.parquet", row_group_size=17)
    (folder / "parts" / "_SUCCESS").touch()
    return folder / "parts"


def blocks_of(table, size):
    return [tuple(array[start : start + size] for array in table) for start in range(0, len(table[0]), size)]


def arrays(table, folder):
    return as_source(*table[:2], sample_weight=table[2], groups=table[3])


def lists(table, folder):
    return arrays([each.tolist() for each in table], folder)


def fortran(table, folder):
    return arrays((read_only(np.asfortranarray(table[0])), *table[1:]), folder)


def byte_order(table, folder):
    return arrays([each.astype(each.dtype.newbyteorder(">")) for each in table], folder)


def npy_files(table, folder):
    x, y, w, g = npy(table, folder)
    return as_source(x, y, sample_weight=str(w), groups=g)


def maps(table, folder):
    return arrays([np.load(path, mmap_mode="r") for path in npy(table, folder)], folder)


def map_slice(table, folder):
    X, *others = table
    wide = np.load(npy((np.concatenate([X[:7], X, X[:3]]), *others), folder)[0], mmap_mode="r")
    return arrays((wide[7:507], *others), folder)


def named(X):
    return as_source(X, ["y1", "y2"], sample_weight="w", groups="g")


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


def parquet_file(table, folder):
    frame(table).to_parquet(folder / "t.parquet", row_group_size=33)
    return named(folder / "t.parquet")


def parquet_files(table, folder):
    return named(str(parquet_folder(table, folder)))


def csv_file(table, folder):
    frame(table).to_csv(folder / "t.csv", index=False)
    return named(folder / "t.csv")


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
    with pytest.raises(InputError, match=r"^The number of rows of a sample must be at least 1; got 0\.$"):
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


def refusal(*given, read=True, at_once=3, **named):
    def attempt():
        source = as_source(*given, **named)
        return list(source.blocks(at_once)) if read else source

    with pytest.raises(InputError) as refused:
        attempt()
    return str(refused.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_cells_that_are_no_numbers_are_named_where_they_stand(bad, rng, tmp_path):
    X = rng.normal(size=(10, 2))
    X[7, 1] = bad
    fill = "Fill in or drop such rows first."
    assert refusal(X) == f"Column 1 of X must be finite; got {bad} in row 7. {fill}"
    assert refusal(np.zeros((10, 1)), X) == f"Column 1 of y must be finite; got {bad} in row 7. {fill}"
    whole = pd.DataFrame(X, columns=["a", "b"])
    assert refusal(whole) == f"Column 'b' of X must be finite; got {bad} in row 7. {fill}"
    assert refusal(whole, "b") == f"Column 'b' of X must be finite; got {bad} in row 7. {fill}"
    assert refusal(np.zeros((10, 1)), X[:, 1]) == f"y must be finite; got {bad} in row 7. {fill}"
    assert refusal(X[:, 1:]) == f"X must be finite; got {bad} in row 7. {fill}"
    weights = np.where(np.arange(10) == 7, bad, 1.0)
    assert refusal(X[:, :1], sample_weight=weights) == f"sample_weight must be finite; got {bad} in row 7. {fill}"
    assert refusal(X[:, :1], X[:, 1], labels=True) == f"y must be known for every row; got {bad} in row 7. {fill}"
    parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "t.parquet", row_group_size=2)
    assert refusal(tmp_path / "t.parquet") == f"Column 'b' of t.parquet must be finite; got {bad} in row 8. {fill}"
    assert refusal([X[:5], X[5:]]) == f"Column 1 of X must be finite; got {bad} in row 7. {fill}"
    with pytest.raises(InputError, match="in row 7"):
        as_source(X).sample(10, np.random.default_rng(0))
    if np.isinf(bad):
        whole.to_csv(tmp_path / "t.csv", index=False)
        assert refusal(tmp_path / "t.csv") == f"Column 'b' of t.csv must be finite; got {bad} in row 8. {fill}"


def test_gaps_in_files_are_named(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, None], "b": [1, 2]}), tmp_path / "t.parquet")
    fill = "Fill in or drop such rows first."
    assert refusal(tmp_path / "t.parquet") == f"Column 'a' of t.parquet must be complete; got nothing in row 2. {fill}"
    for gap in ("", "NA", "nan"):
        (tmp_path / "t.csv").write_text(f"a,b\n1,2\n3,{gap}\n5,6\n")
        assert refusal(tmp_path / "t.csv") == f"Column 'b' of t.csv must be complete; got nothing in row 2. {fill}"
    parquet.write_table(pa.table({"a": [1.0, 2.0], "g": ["x", None]}), tmp_path / "t.parquet")
    expected = f"Column 'g' of t.parquet must be complete; got nothing in row 2. {fill}"
    assert refusal(tmp_path / "t.parquet", groups="g") == expected
    whole = pd.DataFrame({"a": [1, 2], "l": ["x", None]})
    assert refusal(whole, "l", labels=True).startswith("y must be known for every row; got")
    assert refusal(whole[["a"]], groups=["x", pd.NA]).startswith(
        "groups must be known for every row; got <NA> in row 1."
    )
    gaps = pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
    assert refusal(gaps).startswith("Column 'a' of X must be ")


def test_text_is_refused_with_the_way_out(tmp_path):
    encode = "Encode it as numbers (mercer.TableEncoder does), or give the table without it."
    whole = pd.DataFrame({"a": [1.0, 2.0], "city": ["Rome", "Bonn"]})
    assert refusal(whole) == f"Column 'city' of X must be numbers; got 'Rome' in row 0. {encode}"
    whole.to_csv(tmp_path / "t.csv", index=False)
    expected = f"Column 'city' of t.csv must be numbers; got 'Rome' in row 1. {encode}"
    assert refusal(tmp_path / "t.csv", read=False) == expected
    whole.to_parquet(tmp_path / "t.parquet")
    assert refusal(tmp_path / "t.parquet", read=False).startswith("Column 'city' of t.parquet must be numbers; got ")
    assert refusal(np.array([["a"]])).startswith("X must be a table of numbers; got text. Encode such columns")
    assert refusal(np.array([[1j]])).startswith("X must be a table of numbers; got complex numbers.")
    assert refusal(np.zeros((1, 1)), np.array(["a"])).startswith("y must be a table of numbers; got text.")
    assert refusal(np.array([[1.0, "x" * 99]], dtype=object)).startswith("Column 1 of X must be numbers; got 'xxxxx")
    whole = pa.table({"a": [1.0], "l": [[1, 2]]})
    parquet.write_table(whole, tmp_path / "l.parquet")
    expected = "Column 'l' of l.parquet must be texts or numbers; got list<"
    assert refusal(tmp_path / "l.parquet", "l", labels=True).startswith(expected)
    assert refusal(np.zeros((2, 1)), np.zeros((2, 2)), labels=True).startswith("y must be one label per row; got an")
    dated = pd.DataFrame({"a": [1.0], "t": pd.to_datetime(["2024-01-01"])})
    assert refusal(dated, "t") == f"Column 't' of X must be numbers; got dates. {encode}"
    for unit in ("s", "us", "ns"):
        when = pd.DataFrame({"a": [1.0], "t": pd.to_datetime(["2024-01-01"]).as_unit(unit)})
        assert refusal(when) == f"Column 't' of X must be numbers; got dates. {encode}"
        when["t"] -= when["t"][0]
        assert refusal(when) == f"Column 't' of X must be numbers; got durations. {encode}"


def test_text_far_below_the_head_is_found_when_it_is_read(tmp_path):
    lines = ["a,b"] + ["1.5,2.5"] * 30_000 + ["1.5,oops"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    source = as_source(tmp_path / "t.csv")
    with pytest.raises(InputError) as refused:
        sum(len(block) for block in source.blocks(20_000))
    assert str(refused.value).startswith("Column 'b' of t.csv must be numbers; got 'oops' in row 30001. Encode")
    (tmp_path / "t.csv").write_text("\n".join([*lines[:-1], "1.5"]))
    with pytest.raises(InputError) as refused:
        list(as_source(tmp_path / "t.csv").blocks(20_000))
    assert str(refused.value) == "Row 30001 of t.csv must be a row of 2 cells, one per column; got 1."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "t.csv is empty."),
        ("a,b\n", "t.csv has the names of 2 columns and no row below them."),
        ("a,b,a\n1,2,3\n", "Column names of t.csv must be all different; got 'a' more than once. Rename the columns."),
        ("a,b\n1,2\n3\n", "Line 3 of t.csv must be a row of 2 cells, one per column; got 1 (the first is '3')."),
        ("1.5,2.5\n3,4\n", "Line 1 of t.csv"),
    ],
)
def test_text_that_is_no_table_is_refused(text, words, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    assert refusal(tmp_path / "t.csv").startswith(words)


def test_text_is_read_as_people_write_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbf\n\na ; b;name\r\n1,5 ; 2;x\r\n\r\n 3;4,25;"y;z"')
    source = as_source(path, "name", labels=True)
    (block,) = source.blocks(10)
    np.testing.assert_array_equal(block.X, [[1.5, 2.0], [3.0, 4.25]])
    assert block.Y.tolist() == ["x", "y;z"]
    path.write_text("a\n1\n2\n")
    assert next(as_source(path).blocks(10)).X.tolist() == [[1.0], [2.0]]
    path.write_text("a,b\n1,2")
    assert next(as_source(path).blocks(10)).X.tolist() == [[1.0, 2.0]]


def test_tables_without_rows_are_refused(tmp_path):
    assert refusal(np.zeros((0, 2))) == "X must be a table with rows; got none."
    parquet.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "t.parquet")
    assert refusal(tmp_path / "t.parquet") == "t.parquet must be a table with rows; got none."
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "empty").endswith("must be one with Parquet files; got none.")
    assert (
        refusal([]) == "X must be a table with rows and columns; got 0 numbers. For one column, use X.reshape(-1, 1)."
    )
    assert refusal([np.zeros((0, 2))]) == "X must be blocks with rows; got none, or an empty first block."


def test_one_row_is_a_table(tmp_path):
    parquet.write_table(pa.table({"a": [1.0], "y": [2.0]}), tmp_path / "t.parquet")
    source = as_source(tmp_path / "t.parquet", "y")
    (block,) = source.blocks(100)
    assert (block.X.tolist(), block.Y.tolist(), source.rows) == ([[1.0]], [[2.0]], 1)


def test_files_without_rows_among_others_do_no_harm(tmp_path):
    empty = pa.table({"a": pa.array([], pa.float64())})
    for place, piece in enumerate([empty, pa.table({"a": [1.0, 2.0]}), empty, pa.table({"a": [3.0]})]):
        parquet.write_table(piece, tmp_path / f"{place}.parquet")
    assert [block.X.ravel().tolist() for block in as_source(tmp_path).blocks(2)] == [[1.0, 2.0], [3.0]]


def test_a_file_that_changes_between_passes_is_found_out(tmp_path, table):
    for kind, name in ((parquet_file, "t.parquet"), (csv_file, "t.csv"), (npy_files, "0.npy")):
        source = kind(table, tmp_path)
        list(source.blocks(100))
        os.utime(tmp_path / name, ns=(1, 1))
        with pytest.raises(InputError) as refused:
            list(source.blocks(100))
        assert str(refused.value) == (
            f"{str(tmp_path / name)!r} was changed while it was in use. "
            "Every pass must read the same rows; start again."
        )
        (tmp_path / name).unlink()
        with pytest.raises(InputError, match="can no longer be read: No such file"):
            list(source.blocks(100))


def test_damaged_files_are_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nonsense")
    assert "is no Parquet file that can be read" in refusal(tmp_path / "t.parquet")
    (tmp_path / "t.npy").write_bytes(b"nonsense")
    assert "is no array that can be read" in refusal(tmp_path / "t.npy")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object))
    assert "is no array that can be read" in refusal(tmp_path / "o.npy")
    parquet.write_table(pa.table({"a": np.arange(9000.0)}), tmp_path / "t.parquet", compression="zstd")
    source = as_source(tmp_path / "t.parquet")
    raw = bytearray((tmp_path / "t.parquet").read_bytes())
    raw[30:3000] = bytes(2970)
    (tmp_path / "t.parquet").write_bytes(raw)
    stamp = source.parts[0].stamp
    os.utime(tmp_path / "t.parquet", ns=(stamp.changed, stamp.changed))
    with pytest.raises(InputError, match="is a damaged Parquet file"):
        list(source.blocks(1000))


def test_names_are_looked_at(tmp_path, table):
    path = tmp_path / "t.csv"
    frame(table).to_csv(path, index=False)
    assert refusal(path, "y11") == "There is no column 'y11' in t.csv. Did you mean 'y1'?"
    assert refusal(path, "y1", groups=3) == "groups must be the name of a column of t.csv; got int."
    assert refusal(path, table[1]).startswith("y must be the name of a column or a list of names; got ndarray.")
    assert refusal(path, "y1", groups="y1") == "Column 'y1' of t.csv cannot be groups and something else, too."
    assert refusal(path, ["y1", "y2"], labels=True) == "y must be one column of labels; got 2 columns."
    all_names = ["y1", "y2", "a", "b", "c", "w", "g"]
    assert refusal(path, all_names) == (
        "t.csv must be a table with columns besides y, sample_weight and groups; got none."
    )
    twice = frame(table).iloc[:, [0, 1, 0]]
    assert refusal(twice) == ("Column names of X must be all different; got 'a' more than once. Rename the columns.")
    parquet.write_table(pa.Table.from_arrays([[1.0], [2.0]], ["a", "a"]), tmp_path / "t.parquet")
    assert refusal(tmp_path / "t.parquet").startswith("Column names of t.parquet must be all different;")
    folder = parquet_folder(table, tmp_path)
    parquet.write_table(pa.table({"a": [1.0]}), folder / "9.parquet")
    assert refusal(folder).startswith("9.parquet must have the columns of 0.parquet; 'b', 'c', 'g', 'w', 'y1' stand")


def test_names_of_rows_are_no_inputs(tmp_path):
    whole = pd.DataFrame({"a": [1.0, 2.0], "y": [3.0, 4.0], "id": ["p", "q"]})
    whole.set_index("id").to_parquet(tmp_path / "named.parquet")
    assert as_source(tmp_path / "named.parquet", "y").names == ("a",)
    (block,) = as_source(tmp_path / "named.parquet", "y", groups="id").blocks(9)
    assert block.keys.tolist() == ["p", "q"]
    whole[["a", "y"]].iloc[::-1].to_parquet(tmp_path / "turned.parquet")
    assert as_source(tmp_path / "turned.parquet", "y").names == ("a",)
    (block,) = as_source(whole.set_index("id"), "y").blocks(9)
    assert block.X.tolist() == [[1.0], [2.0]]


def test_a_folder_of_folders_is_refused(tmp_path, table):
    parquet_folder(table, tmp_path)
    assert refusal(tmp_path).endswith(
        "must be one with Parquet files directly in it; got 'parts/0.parquet' in a directory below it."
    )


def test_what_cannot_be_opened_is_refused(tmp_path):
    (tmp_path / "t.txt").write_text("a,b\n1,2\n")
    assert refusal(tmp_path / "t.txt") == "The file 't.txt' must be one of .npy, .csv, .tsv or .parquet; got '.txt'."
    assert refusal(tmp_path / "t.tx") == f"There is no file {str(tmp_path / 't.tx')!r}. Did you mean 't.txt'?"
    assert refusal(tmp_path / "no" / "t.csv") == f"There is no file {str(tmp_path / 'no' / 't.csv')!r}."
    assert refusal(None).startswith("X must be an array, a DataFrame, a path of")
    assert refusal(3.0).startswith("X must be a table with rows and columns; got 0 dimensions.")
    assert refusal({"a": [1.0]}).endswith("got dict.")
    assert refusal(sparse.eye(3).tocsr()).startswith("X must be a dense table; got a sparse matrix.")
    assert refusal([1.0, 2.0]).startswith("X must be a table with rows and columns; got 2 numbers.")
    assert refusal([[1.0], [2.0, 3.0]]) == "X must be a table with rows of one length; got rows of several lengths."
    hidden = np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])
    assert refusal(hidden).startswith("X must be complete; got a masked array")
    X = np.zeros((3, 2))
    assert refusal(X, np.zeros(2)) == "y must be as long as X (3 rows); got 2 rows."
    assert refusal(X, np.zeros((3, 1, 1))) == "y must be one value per row; got an array of 3 dimensions."
    assert refusal(X, "y") == "y must be an array or the path of a .npy file; got 'y'."
    assert refusal(X, groups=np.zeros((3, 2))) == "groups must be one label per row; got an array of shape (3, 2)."
    assert refusal(X, sample_weight=[1, -1, 1]) == "sample_weight must be non-negative; got -1 in row 1."
    assert refusal(X, sample_weight=np.zeros((3, 2))).startswith("sample_weight must be one number per row;")
    assert next(as_source(X, sample_weight=np.ones((3, 1))).blocks(3)).weights.shape == (3,)


def test_numbers_with_too_many_digits_are_refused_in_files(tmp_path):
    parquet.write_table(pa.table({"a": [1, 2**53 + 1]}), tmp_path / "t.parquet")
    assert refusal(tmp_path / "t.parquet") == (
        "Column 'a' of t.parquet must be numbers of at most 15 digits, which a float64 holds exactly; got "
        "9007199254740993 in row 2. Give the table without it."
    )
    parquet.write_table(pa.table({"a": pa.array([1, 2**70 + 1], pa.decimal128(38, 0))}), tmp_path / "d.parquet")
    assert refusal(tmp_path / "d.parquet") == (
        "Column 'a' of d.parquet must be numbers of at most 15 digits, which a float64 holds exactly; got "
        "1180591620717411303425 in row 2. Give the table without it."
    )
    parquet.write_table(pa.table({"a": [1, 2**60]}), tmp_path / "e.parquet")
    assert next(as_source(tmp_path / "e.parquet").blocks(2)).X.tolist() == [[1.0], [2.0**60]]
    for X in ([[1], [2**53 + 1]], np.array([[1], [2**53 + 1]]), np.array([[1], [2**53 + 1]], dtype=object)):
        assert refusal(X) == (
            "X must be numbers of at most 15 digits, which a float64 holds exactly; got 9007199254740993 in row 1. "
            "Give the table without it."
        )


def test_a_pipe_cannot_be_read_several_times(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    assert refusal(tmp_path / "t.csv") == (
        f"The table {str(tmp_path / 't.csv')!r} must be a regular file or a directory, which can be read several "
        "times; got a pipe or a device. Save it to a file first."
    )


def test_iterators_that_end_are_refused_with_the_reason(table):
    blocks = blocks_of(table, 100)
    assert refusal(iter(blocks)) == (
        "X must be readable several times; got an iterator. Give a list, an object whose "
        "__iter__ starts afresh, or a function that returns a new iterator."
    )
    assert refusal(block for block in blocks).startswith("X must be something that several passes")


def test_a_stream_that_is_shorter_the_second_time_is_found_out(table):
    blocks = blocks_of(table, 100)
    left = [blocks, blocks, blocks, blocks[:3]]
    source = as_source(lambda: iter(left.pop(0)))
    assert sum(map(len, source.blocks(64))) == 500
    with pytest.raises(InputError) as refused:
        list(source.blocks(64))
    assert str(refused.value) == (
        "X must be 500 rows in every pass; got 300. Every pass must read the same rows; give what can be read again "
        "from the beginning."
    )
    shared = iter(blocks)

    class Spent:
        def __iter__(self):
            return shared

    assert refusal(Spent()).startswith("X must be readable several times; got an iterator.")
    source = as_source(lambda: (block for block in shared))
    with pytest.raises(InputError) as refused:
        list(source.blocks(64))
    assert str(refused.value).startswith(
        "X must be the same blocks in every pass; got another first block than before. Give a list"
    )


def test_blocks_that_do_not_fit_are_named():
    X, y = np.zeros((4, 2)), np.zeros(4)
    assert refusal([(X, y), (np.zeros((4, 3)), y)]) == "X of block 1 must be 2 columns wide; got 3."
    assert refusal([(X, y), (X, y[:3])]) == "y of block 1 must be as long as its X (4 rows); got 3 rows."
    assert refusal([(X, y), (X,)]) == "Block 1 must be made like block 0; got other items in it."
    assert refusal([(X, y, y, y, y)]).endswith("(X, y, weights, groups); got 5 items.")
    assert refusal([(X, y), (y, y)]) == "X of block 1 must be a table with rows and columns; got 1 dimensions."
    assert refusal(lambda: 3) == "X() must be an iterator over blocks; got int."
    assert refusal([(X, y)], y).startswith("y must be in the blocks; got ndarray. A block is X alone, (X, y),")
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
    from mercer.streaming.blocks import stores

    monkeypatch.setattr(stores, "_WHOLE", 1000)
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
        MemoryRefusal, match=r"^A block of 500 rows needs 24\.0 kB of memory; .* Read fewer rows at once\.$"
    ):
        next(source.blocks(1000))
    with pytest.raises(MemoryRefusal, match=r"^A sample of 400 rows needs 19\.2 kB of memory; .* Draw fewer rows\.$"):
        source.sample(400, np.random.default_rng(0))
    assert len(next(source.blocks(20))) == 20


def test_text_that_cannot_be_parsed_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1,x\n" * 20_000 + b"1,\xff\n")
    words = refusal(tmp_path / "t.csv", "b", labels=True, at_once=10_000)
    assert words.startswith("t.csv cannot be read: In CSV column #1: Row #20002: ")


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))

    def closed(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(np, "load", closed)
    assert refusal(tmp_path / "x.npy") == f"{str(tmp_path / 'x.npy')!r} cannot be read: Permission denied."


def test_a_source_is_a_source():
    source = as_source(np.zeros((2, 2)))
    assert as_source(source) is source
