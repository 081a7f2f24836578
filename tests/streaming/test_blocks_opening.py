"""Tables that cannot be opened or read are refused, with the cell, the file and the way out.

Covers: streaming.blocks.files, streaming.blocks.opening.
"""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from block_sources import csv_file, drawn_table, frame, npy_files, parquet_file, parquet_folder, refusal
from pyarrow import parquet
from scipy import sparse

from mercer.errors import InputError
from mercer.streaming.blocks import as_source
from refusals import tells


@pytest.fixture
def table(rng):
    return drawn_table(rng)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_cells_that_are_no_numbers_are_named_where_they_stand(bad, rng, tmp_path):
    X = rng.normal(size=(10, 2))
    X[7, 1] = bad
    fill = f"{'Impute the missing' if np.isnan(bad) else 'Replace the infinite'} values, or drop these rows."
    assert tells(refusal(X), "Column 1 of X", f"got {bad} in row 7")
    assert tells(refusal(np.zeros((10, 1)), X), "Column 1 of y", f"got {bad} in row 7")
    whole = pd.DataFrame(X, columns=["a", "b"])
    assert tells(refusal(whole), "Column 'b' of X", f"got {bad} in row 7")
    assert tells(refusal(whole, "b"), "Column 'b' of X", f"got {bad} in row 7")
    assert tells(refusal(np.zeros((10, 1)), X[:, 1]), "y", f"got {bad} in row 7")
    assert tells(refusal(X[:, 1:]), "X", f"got {bad} in row 7")
    weights = np.where(np.arange(10) == 7, bad, 1.0)
    assert tells(refusal(X[:, :1], sample_weight=weights), "sample_weight", f"got {bad} in row 7")
    assert refusal(X[:, :1], X[:, 1], labels=True) == (
        f"y has missing values, the first in row 7. {fill}"
        if np.isnan(bad)
        else f"y must be finite; got {bad} in row 7. {fill}"
    )
    parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "t.parquet", row_group_size=2)
    assert tells(refusal(tmp_path / "t.parquet"), "Column 'b' of t.parquet", f"got {bad} in row 8")
    assert tells(refusal([X[:5], X[5:]]), "Column 1 of X", f"got {bad} in row 7")
    with pytest.raises(InputError, match="in row 7"):
        as_source(X).sample(10, np.random.default_rng(0))
    if np.isinf(bad):
        whole.to_csv(tmp_path / "t.csv", index=False)
        assert tells(refusal(tmp_path / "t.csv"), "Column 'b' of t.csv", f"got {bad} in row 8")


def test_gaps_in_files_are_named(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, None], "b": [1, 2]}), tmp_path / "t.parquet")
    fill = "Impute the missing values, or drop these rows."
    assert tells(refusal(tmp_path / "t.parquet"), "Column 'a' of t.parquet", "2", fill)
    for gap in ("", "NA", "nan"):
        (tmp_path / "t.csv").write_text(f"a,b\n1,2\n3,{gap}\n5,6\n")
        assert tells(refusal(tmp_path / "t.csv"), "Column 'b' of t.csv", "2", fill)
    parquet.write_table(pa.table({"a": [1.0, 2.0], "g": ["x", None]}), tmp_path / "t.parquet")
    expected = f"Column 'g' of t.parquet has missing values, the first in row 2. {fill}"
    assert refusal(tmp_path / "t.parquet", groups="g") == expected
    whole = pd.DataFrame({"a": [1, 2], "l": ["x", None]})
    assert refusal(whole, "l", labels=True).startswith("y has missing values, the first in row")
    assert refusal(whole[["a"]], groups=["x", pd.NA]).startswith(
        "groups has missing values, the first in row 1. Impute the missing values, or drop these rows."
    )
    gaps = pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
    assert refusal(gaps).startswith("Column 'a' of X must be ")


def test_text_is_refused_with_the_way_out(tmp_path):
    encode = "Encode it as numbers (mercer.TableEncoder does), or drop the column."
    whole = pd.DataFrame({"a": [1.0, 2.0], "city": ["Rome", "Bonn"]})
    assert tells(refusal(whole), "Column 'city' of X", "got 'Rome' in row 0")
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
    expected = "Column 'l' of l.parquet must be strings or numbers; got list<"
    assert refusal(tmp_path / "l.parquet", "l", labels=True).startswith(expected)
    assert refusal(np.zeros((2, 1)), np.zeros((2, 2)), labels=True).startswith("y must be one label per row; got an")
    dated = pd.DataFrame({"a": [1.0], "t": pd.to_datetime(["2024-01-01"])})
    assert tells(refusal(dated, "t"), "Column 't' of X", "got dates")
    for unit in ("s", "us", "ns"):
        when = pd.DataFrame({"a": [1.0], "t": pd.to_datetime(["2024-01-01"]).as_unit(unit)})
        assert tells(refusal(when), "Column 't' of X", "got dates")
        when["t"] -= when["t"][0]
        assert tells(refusal(when), "Column 't' of X", "got durations")


@pytest.mark.slow
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
    assert tells(str(refused.value), "Row 30001 of t.csv", "got 1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "t.csv is empty."),
        ("a,b\n", "t.csv has a header with 2 columns, but no rows."),
        ("a,b,a\n1,2,3\n", "Column names of t.csv must be all different; got 'a' more than once. Rename the columns."),
        ("a,b\n1,2\n3\n", "Line 3 of t.csv must be a row of 2 cells, one per column; got 1 cells (the first is '3')."),
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
    assert tells(refusal(np.zeros((0, 2))), "X", "got none")
    parquet.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "t.parquet")
    assert tells(refusal(tmp_path / "t.parquet"), "t.parquet", "got none")
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path / "empty").endswith("contains no Parquet files.")
    assert tells(refusal([]), "X", "got 0 numbers")
    assert tells(refusal([np.zeros((0, 2))]), "X must yield")


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
        assert tells(str(refused.value), repr(str(tmp_path / name)))
        (tmp_path / name).unlink()
        with pytest.raises(InputError, match="can no longer be read: No such file"):
            list(source.blocks(100))


def test_a_part_that_is_replaced_during_a_pass_is_found_out(tmp_path, table):
    folder = parquet_folder(table, tmp_path)
    source = as_source(folder, ["y1", "y2"], sample_weight="w", groups="g")
    blocks = source.blocks(90)
    next(blocks)
    part = folder / "1.parquet"
    before = part.stat()
    (tmp_path / "new").write_bytes(part.read_bytes())
    os.utime(tmp_path / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "new").replace(part)
    with pytest.raises(InputError) as refused:
        list(blocks)
    assert tells(str(refused.value), repr(str(part)))


def test_damaged_files_are_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nonsense")
    assert "is not a readable Parquet file" in refusal(tmp_path / "t.parquet")
    (tmp_path / "t.npy").write_bytes(b"nonsense")
    assert "is not a readable .npy file" in refusal(tmp_path / "t.npy")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object))
    assert "is not a readable .npy file" in refusal(tmp_path / "o.npy")
    parquet.write_table(pa.table({"a": np.arange(9000.0)}), tmp_path / "t.parquet", compression="zstd")
    raw = bytearray((tmp_path / "t.parquet").read_bytes())
    raw[30:3000] = bytes(2970)
    (tmp_path / "t.parquet").write_bytes(raw)
    source = as_source(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="is a damaged Parquet file"):
        list(source.blocks(1000))


def test_names_are_looked_at(tmp_path, table):
    path = tmp_path / "t.csv"
    frame(table).to_csv(path, index=False)
    assert tells(refusal(path, "y11"), "'y11'", "'y1'")
    assert tells(refusal(path, "y1", groups=3), "groups", "got int")
    assert refusal(path, table[1]).startswith("y must be the name of a column or a list of names; got ndarray.")
    assert tells(refusal(path, "y1", groups="y1"), "Column 'y1' of t.csv")
    assert tells(refusal(path, ["y1", "y2"], labels=True), "y", "got 2 columns")
    all_names = ["y1", "y2", "a", "b", "c", "w", "g"]
    assert tells(refusal(path, all_names), "t.csv")
    twice = frame(table).iloc[:, [0, 1, 0]]
    assert tells(refusal(twice), "Column names of X", "got 'a' more than once")
    parquet.write_table(pa.Table.from_arrays([[1.0], [2.0]], ["a", "a"]), tmp_path / "t.parquet")
    assert refusal(tmp_path / "t.parquet").startswith("Column names of t.parquet must be all different;")
    folder = parquet_folder(table, tmp_path)
    parquet.write_table(pa.table({"a": [1.0]}), folder / "9.parquet")
    assert refusal(folder).startswith(
        "9.parquet must have the same columns as 0.parquet; only one of the two files has 'b', 'c', 'g', 'w', 'y1'."
    )


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
    assert refusal(tmp_path).endswith("must not have Parquet files in subdirectories; got 'parts/0.parquet'.")


def test_what_cannot_be_opened_is_refused(tmp_path):
    (tmp_path / "t.txt").write_text("a,b\n1,2\n")
    assert tells(refusal(tmp_path / "t.txt"), "The file 't.txt'", "'.txt'")
    assert tells(refusal(tmp_path / "t.tx"), repr(str(tmp_path / "t.tx")), "'t.txt'")
    assert tells(refusal(tmp_path / "no" / "t.csv"), repr(str(tmp_path / "no" / "t.csv")))
    assert refusal(None).startswith(
        "X must be an array, a DataFrame, the path of a .npy, .csv, .tsv or .parquet file or of"
    )
    assert refusal(3.0).startswith("X must be a table with rows and columns; got 0 dimensions.")
    assert refusal({"a": [1.0]}).endswith("got dict.")
    assert refusal(sparse.eye(3).tocsr()).startswith("X must be a dense table; got a sparse matrix.")
    assert refusal([1.0, 2.0]).startswith("X must be a table with rows and columns; got 2 numbers.")
    assert tells(refusal([[1.0], [2.0, 3.0]]), "X", "got rows of several lengths")
    hidden = np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])
    assert refusal(hidden).startswith("X must not have missing values (masked entries).")
    X = np.zeros((3, 2))
    assert tells(refusal(X, np.zeros(2)), "y", "got 2 rows")
    assert tells(refusal(X, np.zeros((3, 1, 1))), "y", "got an array of 3 dimensions")
    assert tells(refusal(X, "y"), "y", "got 'y'")
    assert tells(refusal(X, groups=np.zeros((3, 2))), "groups", "got an array of shape (3, 2)")
    assert tells(refusal(X, sample_weight=[1, -1, 1]), "sample_weight", "got -1 in row 1")
    assert refusal(X, sample_weight=np.zeros((3, 2))).startswith("sample_weight must be one number per row;")
    assert next(as_source(X, sample_weight=np.ones((3, 1))).blocks(3)).weights.shape == (3,)


def test_numbers_with_too_many_digits_are_refused_in_files(tmp_path):
    parquet.write_table(pa.table({"a": [1, 2**53 + 1]}), tmp_path / "t.parquet")
    assert tells(refusal(tmp_path / "t.parquet"), "Column 'a' of t.parquet", "got 9007199254740993 in row 2")
    parquet.write_table(pa.table({"a": pa.array([1, 2**70 + 1], pa.decimal128(38, 0))}), tmp_path / "d.parquet")
    assert tells(refusal(tmp_path / "d.parquet"), "Column 'a' of d.parquet", "got 1180591620717411303425 in row 2")
    parquet.write_table(pa.table({"a": [1, 2**60]}), tmp_path / "e.parquet")
    assert next(as_source(tmp_path / "e.parquet").blocks(2)).X.tolist() == [[1.0], [2.0**60]]
    for X in ([[1], [2**53 + 1]], np.array([[1], [2**53 + 1]]), np.array([[1], [2**53 + 1]], dtype=object)):
        assert tells(refusal(X), "X", "got 9007199254740993 in row 1")


def test_text_that_cannot_be_parsed_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1,x\n" * 20_000 + b"1,\xff\n")
    words = refusal(tmp_path / "t.csv", "b", labels=True, at_once=10_000)
    assert words.startswith("t.csv cannot be read: In CSV column #1: Row #20002: ")


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))

    def closed(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(np, "load", closed)
    assert tells(refusal(tmp_path / "x.npy"), repr(str(tmp_path / "x.npy")), "Permission denied")
