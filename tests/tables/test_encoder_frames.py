"""Tables of every make give the same numbers, and bad ones one sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from encoder_cases import HALF, mixed
from sklearn.exceptions import NotFittedError

from mercer import TableEncoder
from refusals import refusal, tells


# Tables of every make
def test_every_make_of_table_gives_the_same_numbers():
    table = mixed()
    encoder = TableEncoder().fit(table)
    expected = encoder.transform(table)
    frames = {
        "shuffled columns": table[table.columns[::-1]],
        "mapping": {name: table[name].to_list() for name in table},
        "polars": pl.from_pandas(table),
        "pyarrow": pa.Table.from_pandas(table),
        "batch": pa.RecordBatch.from_pandas(table),
        "objects": table.astype(object).to_numpy(),
        "rows": [tuple(row) for row in table.itertuples(index=False)],
        "nullable": table.convert_dtypes(),
        "without the columns left out": table.drop(columns=["key", "country"]),
    }
    for make, frame in frames.items():
        assert np.array_equal(encoder.transform(frame), expected), make
        if "without" not in make:
            again = TableEncoder().fit(frame)
            found = again.transform(table)
            if make == "shuffled columns":
                found = found[:, [again.names_out_.index(name) for name in encoder.names_out_]]
            assert np.array_equal(found, expected), make
            assert sorted(c.kind for c in again.columns_) == sorted(c.kind for c in encoder.columns_), make


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([3, 1, None, 3, 1], dtype="Int64").astype("category"),
        pl.Series(["c", "a", None, "c", "a"], dtype=pl.Categorical),
        pl.Series(["c", "a", None, "c", "a"], dtype=pl.Enum(["a", "c"])),
        pa.array(["c", "a", None, "c", "a"]).dictionary_encode(),
        pa.chunked_array([pa.array(["c", "a", None, "c", "a"]).dictionary_encode()]),
        pd.Series(pd.cut([9, 1, np.nan, 9, 1], 2)),
    ],
)
def test_columns_that_call_themselves_categories_are(column):
    encoder = TableEncoder().fit({"a": column})
    assert encoder.columns_[0].why == "categorical in the table"
    assert len(encoder.columns_[0].levels) == 2
    found = encoder.transform({"a": column})
    assert found[2].tolist() == [0, 0, HALF]
    assert np.array_equal(found[0], found[3])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.0, None, 3.0], dtype="Float64"),
        pd.Series([1, None, 3], dtype="int64[pyarrow]"),
        pa.array([1, None, 3]),
        pl.Series([1, None, 3]),
        np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
        np.array(["1", "", "3"]),
        np.array([1, None, 3], dtype=object),
        (1, None, 3),
    ],
)
def test_numbers_are_numbers_whoever_holds_them(column):
    assert TableEncoder().fit_transform({"a": column}).tolist() == [[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


def test_arrays_with_hidden_and_with_named_columns_are_tables():
    hidden = np.ma.masked_array([[1.0, 2.0], [3.0, 9.0], [5.0, 4.0]], mask=[[0, 0], [0, 1], [0, 0]])
    assert TableEncoder().fit(hidden).columns_[1].missing == 1
    named = np.array([(1.0, "u"), (2.0, "v"), (3.0, "u"), (4.0, "v")], dtype=[("a", float), ("b", "U1")])
    assert TableEncoder().fit(named).names_out_ == ["a", "b=u", "b=v"]


def test_a_named_encoder_takes_arrays_by_place():
    encoder = TableEncoder().fit({"a": [1.0, 3.0], "b": [5.0, 9.0]})
    assert encoder.transform(np.array([[3.0, 5.0]])).tolist() == [[1.0, -1.0]]
    assert tells(refusal(encoder.transform, np.ones((2, 3))), "X has 3 features, but TableEncoder", "2")


def test_columns_that_are_gone_or_new_are_named():
    encoder = TableEncoder(drop=["b"]).fit({"a": [1.0, 3.0], "b": [1, 2], "c": [5.0, 9.0]})
    assert encoder.transform({"c": [5.0], "a": [3.0]}).tolist() == [[1.0, -1.0]]
    start = "X of TableEncoder must be a table with the training columns; got "
    assert refusal(encoder.transform, {"a": [1.0]}) == start + "missing columns 'c'. Add the missing columns."
    assert refusal(encoder.transform, {"a": [1.0], "c": [1.0], "d": [2.0]}) == (
        start + "unknown columns 'd'. Rename or drop the unknown columns."
    )
    assert refusal(encoder.transform, {f"n{i}": [1.0] for i in range(7)}) == (
        start
        + "missing columns 'a', 'c' and unknown columns 'n0', 'n1', 'n2', 'n3', 'n4' and 2 more. Rename or drop the "
        "unknown columns."
    )


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Column names must be all different; got 'a' more than once."),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "Column names must be all different; got '1' more than once."),
        (
            pd.DataFrame({"a": []}),
            "X of TableEncoder must be a table with rows and columns; got 0 sample(s)",
        ),
        (np.empty((3, 0)), "X of TableEncoder must be a table with rows and columns; got 0 feature(s) (shape=(3, 0))"),
        ([], "X of TableEncoder must be a table with rows and columns; got 0 sample(s) (shape=(0, 0))"),
        ({}, "X of TableEncoder must be a table with rows and columns; got 0 sample(s) (shape=(0, 0))"),
        (
            np.ones(3),
            "X of TableEncoder must be a table with rows and columns; got 1 dimensions. Reshape your data",
        ),
        (np.ones((2, 2, 2)), "X of TableEncoder must be a table with rows and columns; got 3 dimensions."),
        ([1, 2], "X of TableEncoder must be a list of rows; got 1 in place of row 0."),
        ([[1, 2], [3]], "Row 1 of X must be as long as row 0 (2 cells); got 1 cells."),
        ({"a": [1, 2], "b": [1]}, "Column 'b' must be as long as column 'a' (2 rows); got 1 rows."),
        ({"a": 3}, "Column 'a' must be a sequence of values; got int."),
        ({"a": "text"}, "Column 'a' must be a sequence of values; got str."),
        ({"a": np.ones((2, 2))}, "Column 'a' must be one value per row; got 2 dimensions."),
        (
            np.array([[1.0], [np.inf]]),
            "Column 'x1' must be finite numbers; got 'inf' in row 1. Correct the value, or leave",
        ),
        (
            {"a": ["1", "1e400"]},
            "Column 'a' must be numbers below 1.8e308 in absolute value (the float64 range); got '1e400' in row",
        ),
        (
            {"a": [None, 10**400, 1]},
            "Column 'a' must be numbers below 1.8e308 in absolute value (the float64 range); got a larger number",
        ),
        ({"a": [1j, 2j]}, "Column 'a' must be numbers, booleans, dates or text; got complex in row 0."),
        ({"a": np.array([1j])}, "Column 'a' must be numbers, booleans, dates or text; got complex128 values."),
        ({"a": [None, [1]]}, "Column 'a' must be numbers, booleans, dates or text; got list in row 1. Turn the"),
        (pl.LazyFrame({"a": [1]}), "X of TableEncoder must be a DataFrame, a mapping of columns, an array or a list"),
        ({"a": np.array([b"x"])}, "Column 'a' must be numbers, booleans, dates or text; got |S1 values."),
        ("text", "X of TableEncoder must be a DataFrame, a mapping of columns, an array or a list of rows; got str."),
        (
            None,
            "X of TableEncoder must be a DataFrame, a mapping of columns, an array or a list of rows; got NoneType.",
        ),
    ],
)
def test_bad_tables_get_one_sentence(X, said):
    assert refusal(TableEncoder().fit, X).startswith(said)


def test_sparse_matrices_are_refused():
    from scipy.sparse import csr_array

    assert tells(refusal(TableEncoder().fit, csr_array(np.eye(2))), "X of TableEncoder", "got a sparse matrix")


def test_new_cells_of_another_type_are_refused_by_row_and_column():
    encoder = TableEncoder().fit({"a": [1.0, 2.0], "w": ["2020-01-01", "2020-02-01"]})
    good = ["2020-01-01"] * 2
    assert tells(refusal(encoder.transform, {"a": [1, "x"], "w": good}), "Column 'a'", "got 'x' in row 1")
    assert tells(refusal(encoder.transform, {"a": good, "w": good}), "Column 'a'", "got '2020-01-01' in row 0")
    assert tells(refusal(encoder.transform, {"a": [1, -np.inf], "w": good}), "Column 'a'", "got '-inf' in row 1")
    assert tells(refusal(encoder.transform, {"a": [1, 2], "w": [None, "soon"]}), "Column 'w'", "got 'soon' in row 1")
    assert encoder.transform({"a": ["1", None], "w": [None, None]})[0, 0] == -1.0
    assert np.isfinite(encoder.transform({"a": [None], "w": [None]})).all()
    nowhere = np.array(["NaT"], dtype="datetime64[D]")
    assert np.isfinite(encoder.transform({"a": nowhere, "w": np.array([np.nan])})).all()
    small = TableEncoder().fit({"a": [1e-200, 2e-200]})
    assert tells(
        refusal(small.transform, {"a": [1e200]}), "Column 'a'", "got 1e+200 in row 0, whose scaled value overflows"
    )


def test_nothing_works_before_fit():
    with pytest.raises(NotFittedError):
        TableEncoder().transform([[1.0]])
    for call in (TableEncoder().describe, TableEncoder().get_feature_names_out):
        with pytest.raises(NotFittedError):
            call()


def test_one_row_is_a_table_without_anything_that_varies():
    encoder = TableEncoder()
    assert encoder.fit_transform(mixed(1)).shape == (1, 0)
    assert {column.kind for column in encoder.columns_} == {"constant"}


def test_five_hundred_columns_keep_their_order(rng):
    X = rng.normal(size=(30, 500))
    assert np.allclose(TableEncoder().fit_transform(X), (X - X.mean(axis=0)) / X.std(axis=0))


def test_nothing_lent_is_changed():
    X = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]])
    X.flags.writeable = False
    TableEncoder().fit_transform(X)
    table = mixed()
    before = table.copy(deep=True)
    TableEncoder().fit(table).transform(table)
    pd.testing.assert_frame_equal(table, before)
    lent = {"a": [" x", "y", None, "x"]}
    TableEncoder().fit_transform(lent)
    assert lent == {"a": [" x", "y", None, "x"]}
