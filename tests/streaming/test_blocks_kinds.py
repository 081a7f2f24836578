"""Keys and labels across files, blocks and partitions: equal numbers are one key, and two kinds are refused.

Covers: streaming.blocks.table.
"""

import datetime as dt
from decimal import Decimal

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from mercer.data.checks import as_names, kind_of_names, one_kind
from mercer.data.hashing import fold_of
from mercer.streaming.blocks import as_source
from refusals import refusal, tells

COLUMNS = {  # the same three keys, as numbers of every type that Parquet has for them
    "int8": pa.array([1, 2, 3], pa.int8()),
    "int64": pa.array([1, 2, 3], pa.int64()),
    "uint64": pa.array([1, 2, 3], pa.uint64()),
    "float32": pa.array([1.0, 2.0, 3.0], pa.float32()),
    "float64": pa.array([1.0, 2.0, 3.0]),
    "decimal": pa.array([Decimal(1), Decimal(2), Decimal(3)], pa.decimal128(38, 0)),
    "categories": pa.array([1, 2, 3]).dictionary_encode(),
}
OTHERS = {  # other kinds
    "text": pa.array(["1", "2", "3"]),
    "long text": pa.array(["1", "2", "3"], pa.large_string()),
    "categories of text": pa.array(["1", "2", "3"]).dictionary_encode(),
    "booleans": pa.array([True, False, True]),
    "dates": pa.array([dt.date(2024, 1, day) for day in (1, 2, 3)]),
    "times": pa.array([1, 2, 3], pa.timestamp("us", tz="UTC")),
    "durations": pa.array([1, 2, 3], pa.duration("s")),
}
KINDS = {"long text": "text", "categories of text": "text", "times": "dates"}


def folder_of(folder, columns, name="g"):
    folder.mkdir()
    for place, column in enumerate(columns):
        table = pa.table({"x": [0.5] * len(column), name: column})
        parquet.write_table(table, folder / f"{place}.parquet")
    return folder


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("labels", [False, True])
def test_files_whose_keys_or_labels_are_of_two_kinds_are_refused_by_name(other, labels, tmp_path):
    path = folder_of(tmp_path / "parts", [COLUMNS["int64"], COLUMNS["float64"], OTHERS[other]])
    what = "y" if labels else "groups"
    found = refusal(lambda: as_source(path, "g", labels=True) if labels else as_source(path, groups="g"))
    assert tells(found, what, f"got numbers in 0.parquet and {KINDS.get(other, other)} in 2.parquet")


@pytest.mark.slow
@given(types=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=2, max_size=4), at_once=st.integers(1, 7))
def test_a_key_is_in_one_fold_whatever_number_it_is_written_as(types, at_once, tmp_path_factory):
    path = folder_of(tmp_path_factory.mktemp("kinds") / "parts", [COLUMNS[each] for each in types])
    folds = [
        fold_of(block.start, len(block), 1000, 0, block.keys) for block in as_source(path, groups="g").blocks(at_once)
    ]
    expected = fold_of(0, 3, 1000, 0, np.array([1, 2, 3]))
    np.testing.assert_array_equal(np.concatenate(folds), np.tile(expected, len(types)))


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 6])
def test_large_keys_are_not_rounded_where_blocks_meet(at_once):
    large = 2**53 + 1
    given_keys = [np.array([large, 7, -large]), np.array([7.0, 0.5]), np.array([large], dtype=np.uint64)]
    blocks = [(np.zeros((len(keys), 1)), None, None, keys) for keys in given_keys]
    folds = np.concatenate([fold_of(0, len(b), 10**6, 0, b.keys) for b in as_source(blocks).blocks(at_once)])
    np.testing.assert_array_equal(folds, np.concatenate([fold_of(0, len(k), 10**6, 0, k) for k in given_keys]))
    assert folds[0] == folds[5]
    assert folds[1] == folds[3]


@pytest.mark.parametrize(
    "same",
    [
        [2**60 + 1, np.int64(2**60 + 1), Decimal(2**60 + 1)],
        [2**70, 2.0**70, Decimal(2**70)],
        [-(2**63), -(2.0**63), Decimal(-(2**63))],
        [-(2**64), -(2.0**64)],
        [10**400, Decimal(10**400)],
        [0.5, np.float32(0.5), Decimal("0.5")],
    ],
    ids=str,
)
def test_equal_numbers_of_any_type_and_size_are_one_key(same):
    folds = fold_of(0, len(same), 10**6, 0, np.array(same, dtype=object))
    assert len(set(folds.tolist())) == 1
    alone = [fold_of(0, 1, 10**6, 0, np.array([key])) for key in same if not isinstance(key, Decimal)]
    assert {int(each[0]) for each in alone} == {int(folds[0])}


@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([0, 1], ["1", "2"], "numbers in block 0 and text in block 2"),
        (["a", "b"], [1.0, 2.0], "text in block 0 and numbers in block 2"),
        ([0, 1], [True, False], "numbers in block 0 and booleans in block 2"),
    ],
    ids=["text", "numbers", "truth"],
)
def test_blocks_whose_keys_or_labels_are_of_two_kinds_are_refused_by_number(first, second, words, objects):
    first, second = (np.array(each, dtype=object if objects else None) for each in (first, second))
    X = np.zeros((2, 1))
    rule = f" must be of one type; got {words}. Convert all values to strings or all to numbers."
    labelled = as_source([(X, first), (X, first), (X, second)], labels=True)
    assert refusal(lambda: list(labelled.blocks(3))) == "y" + rule
    grouped = as_source([(X, None, None, first), (X, None, None, first), (X, None, None, second)])
    assert refusal(lambda: list(grouped.blocks(1))) == "groups" + rule


def test_objects_in_memory_are_looked_at_whole_before_they_are_cut():
    keys = np.array([*[1] * 20_000, "1"], dtype=object)
    words = "groups must be of one type; got numbers in row 0 and text in row 20000. "
    words += "Convert all values to strings or all to numbers."
    X = np.zeros((20_001, 1))
    assert refusal(as_source, X, groups=keys) == words
    assert refusal(as_source, X, groups=keys.tolist()) == words
    assert refusal(as_source, pd.DataFrame({"x": X[:, 0], "g": pd.Series(keys, dtype=object)}), groups="g") == words


def test_partitions_whose_keys_are_of_two_kinds_are_refused_by_number():
    words = "groups must be of one type; got numbers in partition 0 and text in partition 1. "
    words += "Convert all values to strings or all to numbers."
    frames = [pd.DataFrame({"x": [0.0, 1.0], "g": pd.Series(keys, dtype=object)}) for keys in ([1, 2], ["1", "2"])]
    with dask.config.set({"scheduler": "sync", "dataframe.convert-string": False}):
        lazy = dd.from_map(lambda place: frames[place], [0, 1], meta=frames[0].iloc[:0])
        assert refusal(as_source, lazy, groups="g") == words
        assert refusal(as_source, lazy[["x"]], groups=lazy["g"]) == words
        assert refusal(as_source, lazy, "g", labels=True) == words.replace("groups", "y")
        good = dd.from_map(lambda place: frames[0], [0, 1], meta=frames[0].iloc[:0])
        assert [block.keys.tolist() for block in as_source(good, groups="g").blocks(4)] == [[1, 2, 1, 2]]


CELLS = st.one_of(
    st.integers(), st.floats(allow_nan=False), st.text(), st.booleans(), st.dates(), st.timedeltas(), st.decimals(0, 9)
)


@given(st.lists(CELLS, min_size=1, max_size=6))
def test_an_array_is_of_one_kind_or_refused(cells):
    def name(cell):
        if isinstance(cell, bool):
            return "booleans"
        if isinstance(cell, str):
            return "text"
        return {dt.date: "dates", dt.timedelta: "durations"}.get(type(cell), "numbers")

    kinds = [name(cell) for cell in cells]
    odd = next((row for row, kind in enumerate(kinds) if kind != kinds[0]), None)
    if odd is None:
        assert kind_of_names("y", as_names(cells)) == kinds[0]
    else:
        assert tells(
            refusal(kind_of_names, "y", as_names(cells), 5),
            "y",
            f"got {kinds[0]} in row 5 and {kinds[odd]} in row {5 + odd}",
        )


def test_nothing_is_of_no_kind():
    assert one_kind("y", []) is None
    assert kind_of_names("y", np.array([])) is None
    assert kind_of_names("y", np.array([], dtype=object)) is None
