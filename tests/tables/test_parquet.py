"""Parquet files: texts that take the memory of what is stored, pages that are checked, parts that stay the same."""

import io
import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mercer.errors import InputError, LeftOutWarning, MemoryRefusal
from mercer.streaming.blocks import as_source
from mercer.tables import TableEncoder
from mercer.tables.encoding import look_at
from mercer.tables.parquet import LongTable, blocks_of
from mercer.tables.reading import Rules, read_table
from refusals import refusal, tells


def as_bytes(table, **how):
    file = io.BytesIO()
    parquet.write_table(table, file, **how)
    return file.getvalue()


def repeated(texts, rows):
    """A column in which texts come again and again, without any of them held twice."""
    return pa.DictionaryArray.from_arrays(pa.array(np.arange(rows) % len(texts), pa.int32()), pa.array(texts))


def texts_of(raw, **how):
    tables = list(blocks_of(raw, "it", **{"at_once": 7} | how))
    return [text for table in tables for text in table.column("s").to_pylist()], tables


def growing(rows, length=20_000):
    return pa.array(["w" * length + str(row) for row in range(rows)])


# Memory


def test_texts_that_repeat_are_held_once(tmp_path, monkeypatch):
    texts, rows = ["a" * 50_000, "b" * 50_000], 20_000
    path = tmp_path / "t.parquet"
    path.write_bytes(as_bytes(pa.table({"s": repeated(texts, rows), "y": np.arange(rows)}), store_schema=False))
    reading = read_table(str(path))
    assert reading.columns["s"].levels == texts
    assert not reading.columns["s"].declared
    assert reading.raw["s"].nbytes < 10 * rows
    assert len({id(text) for text in reading.exactly("s")}) == 2
    long = LongTable.find(str(path), 0)
    monkeypatch.setattr("mercer.tables.encoding._SAMPLE", 500)
    look = look_at(long, Rules(), ["s"], ["s"])
    held = [*look.sample.raw.values(), *look.whole.raw.values()]
    assert sum(column.nbytes for column in held) < 20 * rows
    blocks = list(as_source(path, "s", labels=True).blocks(5000))
    assert len({id(text) for block in blocks for text in block.Y}) <= 2 * len(blocks)


@pytest.mark.parametrize(
    ("texts", "how"),
    [
        (repeated(["a" * 50_000, "b"], 400).cast(pa.string()), {"use_dictionary": False}),
        (growing(300), {"use_dictionary": False}),
        (growing(300), {"use_dictionary": False, "column_encoding": "DELTA_LENGTH_BYTE_ARRAY"}),
        (growing(300), {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}),
    ],
    ids=["repeated", "distinct", "lengths", "prefixes"],
)
def test_texts_that_do_not_fit_in_memory_are_refused_by_their_size_and_not_by_their_number(
    texts, how, tmp_path, monkeypatch
):
    path = tmp_path / "t.parquet"
    path.write_bytes(as_bytes(pa.table({"s": texts}), compression="zstd", **how))
    assert path.stat().st_size < 20_000
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "3000000")
    assert tells(refusal(read_table, str(path), kind=MemoryRefusal), "t.parquet", "3.0 MB is available")
    table = LongTable.find(str(path), 0)
    assert tells(refusal(list, table.blocks(["s"]), kind=MemoryRefusal), "t.parquet", "3.0 MB is available")


def test_texts_are_counted_again_before_they_are_objects(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    path.write_bytes(as_bytes(pa.table({"s": pa.array([f"{row} \U0001f600" + "x" * 5000 for row in range(100)])})))
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "2000000")  # less than four bytes a letter
    assert tells(refusal(read_table, str(path), kind=MemoryRefusal), "texts of t.parquet", "2.0 MB is available")
    read_table(str(path), Rules(unused=["s"]))


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"row_group_size": 11},
        {"use_dictionary": False},
        {"dictionary_pagesize_limit": 20, "data_page_size": 20, "write_batch_size": 4},
        {"use_dictionary": False, "column_encoding": {"s": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False, "column_encoding": {"s": "DELTA_LENGTH_BYTE_ARRAY"}, "row_group_size": 9},
        {"data_page_version": "2.0", "compression": "none", "store_schema": False},
    ],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.json_()])
def test_texts_are_the_same_however_they_are_stored(kind, how, monkeypatch):
    texts = [None if row % 5 == 0 else f"{row % 7} é" * (row % 4) for row in range(40)]
    column = pa.array(texts, kind) if kind != pa.json_() else pa.array(texts, pa.string()).cast(kind)
    table = pa.table({"x": range(40), "s": column, "l": [["u", "v"]] * 40})
    for limit in ("", "20000"):  # steps of one text where texts are stored by how they differ
        monkeypatch.setenv("MERCER_MEMORY_LIMIT", limit)
        found, blocks = texts_of(as_bytes(table, **how))
        assert found == texts
        assert all(pa.types.is_dictionary(block.column("s").type) for block in blocks)
        assert [x for block in blocks for x in block.column("x").to_pylist()] == list(range(40))
        assert max(block.num_rows for block in blocks) <= 7


def test_columns_that_the_file_declares_as_categories_are_categories(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(as_bytes(pa.table({"c": repeated(["1", "2"], 9), "s": ["1", "2", "3"] * 3})))
    columns = read_table(str(path)).columns
    assert (columns["c"].declared, columns["c"].levels) == (True, ["1", "2"])
    assert (columns["s"].declared, columns["s"].family) == (False, "number")
    assert LongTable.find(str(path), 0).declared_categories == {"c"}


def test_bytes_are_no_texts(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(as_bytes(pa.table({"b": [None, b"q", b"q"], "y": [1, 2, 3]})))
    assert tells(refusal(read_table, str(path)), "Column 'b'", "got bytes in row 2 of t.parquet")
    assert read_table(str(path), Rules(unused=["b"])).exactly("b") == [None, b"q", b"q"]


def test_a_row_group_with_more_text_than_a_dictionary_holds_is_refused(monkeypatch):
    monkeypatch.setattr("mercer.tables.parquet._LARGEST", 1000)
    raw = as_bytes(pa.table({"s": growing(3)}))
    assert tells(refusal(texts_of, raw), "it", "1.0 kB", "row groups")
    assert len(texts_of(raw, columns=["s"], groups=[])[0]) == 0


# Damage and change


def test_pages_whose_checksum_does_not_fit_are_refused(tmp_path):
    how = {"write_page_checksum": True, "compression": "none", "use_dictionary": False}
    raw = as_bytes(pa.table({"x": np.arange(3000.0)}), **how)
    place = raw.find(np.float64(1500).tobytes())
    path = tmp_path / "t.parquet"
    path.write_bytes(raw[:place] + b"\x01" + raw[place + 1 :])
    for read in (
        lambda: read_table(str(path)),
        lambda: list(LongTable.find(str(path), 0).blocks(["x"])),
        lambda: list(as_source(path).blocks(100)),
    ):
        assert tells(refusal(read), "t.parquet", "CRC")


def test_a_part_that_is_replaced_during_a_pass_is_found_out(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in "ab":
        parquet.write_table(pa.table({"x": np.arange(100.0)}), folder / f"{name}.parquet", compression="none")
    table, later = LongTable.find(str(folder), 0), folder / "b.parquet"
    assert sum(block.num_rows for block in table.blocks(["x"])) == 200
    blocks = table.blocks(["x"])
    next(blocks)
    before = later.stat()
    parquet.write_table(pa.table({"x": -np.arange(100.0)}), tmp_path / "new", compression="none")
    os.utime(tmp_path / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "new").replace(later)
    assert later.stat().st_size == before.st_size
    with pytest.raises(InputError) as refused:
        list(blocks)
    assert tells(str(refused.value), "b.parquet", "was changed")


def test_infinite_numbers_are_found_in_rows_that_are_not_in_the_sample(tmp_path, monkeypatch):
    values = np.arange(900.0)
    values[[77, 555]], values[3] = np.inf, np.nan
    parquet.write_table(pa.table({"x": values, "z": np.arange(900.0)}), tmp_path / "t.parquet", row_group_size=50)
    monkeypatch.setattr("mercer.tables.encoding._SAMPLE", 10)
    look = look_at(LongTable.find(str(tmp_path / "t.parquet"), 0), Rules(strict=False), ["z"])
    assert [name for name, cells in look.columns.items() if cells.odd is not None] == ["x"]
    odd = look.columns["x"].odd
    assert (odd.count, odd.total, odd.first) == (2, 899, "'inf' in row 78 of t.parquet")


@pytest.mark.parametrize("reset", [False, True])
def test_an_index_of_pandas_is_left_out_of_parquet_and_csv_with_the_same_note(reset, tmp_path, rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": rng.normal(size=40)}, index=np.arange(40) if reset else rng.permutation(90)[:40])
    frame.to_parquet(tmp_path / "table.parquet", index=True)
    frame.to_csv(tmp_path / "table.csv")
    frame.rename_axis("__index_level_0__").reset_index().to_csv(tmp_path / "copied.csv", index=False)
    marked = "__index_level_0__"
    for name, index in {"table.parquet": marked, "table.csv": "Unnamed: 0", "copied.csv": marked}.items():
        cells = read_table(str(tmp_path / name)).columns
        with pytest.warns(LeftOutWarning, match="left out: it is the index of a pandas table"):
            assert TableEncoder().fit(cells).names_out_ == ["a"]
        assert sorted(TableEncoder(kinds={index: "number"}).fit(cells).names_out_) == sorted([index, "a"])
    years = pd.DataFrame({"Unnamed: 0": rng.integers(1990, 2020, 40), "a": rng.normal(size=40)})
    assert TableEncoder().fit(years).names_out_ == ["Unnamed: 0", "a"]
