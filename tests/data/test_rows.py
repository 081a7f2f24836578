"""Rows: what people have becomes a checked table, unchanged, cut and mapped once."""

import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from mercer.data import Rows, as_rows
from mercer.errors import InputError
from refusals import refusal, tells
from views import read_only

TABLE = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# -- what is taken ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        TABLE,
        TABLE.tolist(),
        tuple(map(tuple, TABLE.tolist())),
        TABLE.astype(int),
        TABLE.astype(np.float32),
        TABLE.astype(np.uint8),
        TABLE.astype(np.longdouble),
        np.asfortranarray(TABLE),
        TABLE.astype(object),
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).astype("Int64"),
        pd.DataFrame(TABLE).astype("float32"),
        pl.DataFrame(TABLE),
        memoryview(TABLE),
        sparse.csr_array(TABLE),
        sparse.csr_matrix(TABLE),
        sparse.csc_array(TABLE.astype(int)),
        sparse.coo_matrix(TABLE),
        sparse.lil_array(TABLE),
    ],
    ids=lambda X: f"{type(X).__module__}.{type(X).__name__}",
)
def test_tables_of_every_make_become_float64(X):
    rows = as_rows(X)
    assert len(rows) == 2
    assert rows.width == 3
    assert not rows.objects
    values = rows.values.toarray() if rows.sparse else rows.values
    assert values.dtype == np.float64
    assert (values == TABLE).all()


@given(
    X=hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.uint16, np.bool_]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6),
        elements={"allow_nan": False, "allow_infinity": False},
        fill=st.nothing(),
    )
)
@pytest.mark.slow
def test_any_finite_table_is_taken_as_it_is_and_left_as_it_was(X):
    kept = X.copy()
    rows = as_rows(read_only(X))
    assert (len(rows), rows.width) == X.shape
    assert rows.values.dtype == np.float64
    assert (rows.values == X.astype(np.float64)).all()
    assert (kept == X).all()


def test_float64_tables_are_not_copied():
    assert np.shares_memory(as_rows(TABLE).values, TABLE)


def test_rows_are_rows_already():
    rows = as_rows(TABLE)
    assert as_rows(rows) is rows


def test_texts_and_sets_are_objects():
    for X in (
        ["hello", "hallo"],
        ("a",),
        np.array(["a", "bc"]),
        [{1, 2}, {3}],
        [None, 3],
        pd.Series(["a", "b"]),
        pl.Series(["a", "b"]),
    ):
        rows = as_rows(X)
        assert rows.objects
        assert rows.width == 1
        assert not rows.sparse
        assert len(rows) == len(X)
        assert rows.values.dtype == object
        assert list(rows.values) == list(X)


def test_sequences_of_different_lengths_are_objects():
    rows = as_rows([[1, 2], [3], []])
    assert rows.objects
    assert rows.values.tolist() == [[1, 2], [3], []]


def test_tables_with_text_stay_tables():
    for X in ([["a", 1.0], ["b", 2.0]], np.array([["a", "b"]]), pd.DataFrame({"t": ["a", "b"], "x": [1.0, 2.0]})):
        rows = as_rows(X)
        assert not rows.objects
        assert rows.width == 2
        assert rows.values.dtype == object


def test_the_columns_of_a_data_frame_have_names():
    for make in (pd.DataFrame, pl.DataFrame):
        assert as_rows(make({"a": [1.0], "b": [2.0]})).names == ("a", "b")
        assert as_rows(make({"a": ["x"], "b": [2.0]})).names == ("a", "b")
    assert as_rows(pd.DataFrame([[1.0, 2.0]])).names == ("0", "1")
    assert as_rows(TABLE).names is None
    assert as_rows(TABLE, ["x", "y", "z"]).names == ("x", "y", "z")


# -- what is refused --------------------------------------------------------------------------------


def test_one_dimension_is_refused_with_the_way_out():
    assert tells(refusal(as_rows, [1.0, 2.0]), "X", "got a list of 2 numbers")
    assert tells(refusal(as_rows, pd.Series([1, 2, 3])), "X", "got a list of 3 numbers")


def test_three_dimensions_and_none_are_refused():
    assert refusal(as_rows, np.zeros((2, 2, 2))).startswith(
        "X must be a table with rows and columns; got 3 dimensions."
    )
    assert refusal(as_rows, 3.0).startswith("X must be a table with rows and columns; got 0 dimensions.")


@pytest.mark.parametrize(
    "X",
    ["hello", b"hello", None, {"a": 1}, object(), {1, 2}, (i for i in range(3)), np.full((2, 2, 2), "a")],
    ids=lambda X: type(X).__name__,
)
def test_what_is_neither_table_nor_sequence_is_refused_in_a_sentence(X):
    assert "X must be" in refusal(as_rows, X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_bad_number_is_named_with_its_place(bad):
    X = TABLE.copy()
    X[1, 0] = X[1, 2] = bad
    way_out = "Impute the missing values" if np.isnan(bad) else "Replace the infinite values"
    said = f"X must be finite; got {bad} in row 1, column 0. {way_out}, or drop these rows."
    assert refusal(as_rows, X) == said
    assert refusal(as_rows, pd.DataFrame(X)) == said
    assert refusal(as_rows, X.astype(object)) == said
    assert tells(refusal(as_rows, sparse.csr_array(X)), "X", "got a sparse matrix with NaN or infinity")


def test_missing_numbers_of_data_frames_are_refused():
    assert tells(
        refusal(as_rows, pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})), "X", "got nan in row 1, column 0"
    )
    assert tells(refusal(as_rows, pl.DataFrame({"a": [1.0, None]})), "X", "got nan in row 1, column 0")


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_numbers_too_large_for_floating_point_are_refused():
    with pytest.raises(InputError):
        as_rows(np.array([[np.longdouble("1e4000")]]))


def test_complex_numbers_are_refused():
    assert tells(refusal(as_rows, TABLE + 1j), "X", "got complex numbers")


def test_complex_sparse_numbers_are_refused_too():
    with pytest.raises(InputError, match="X must be real; got complex numbers"):
        as_rows(sparse.csr_array(TABLE + 1j))


def test_a_sparse_vector_is_refused_like_a_dense_one():
    with pytest.raises(InputError, match="X must be a table with rows and columns"):
        as_rows(sparse.coo_array(np.array([1.0, 2.0])))


def test_digits_in_quotes_are_text_and_not_silently_numbers():
    rows = as_rows([["1", "2"], ["3", "4"]])
    assert rows.values.dtype == object


def test_masked_numbers_are_not_silently_used():
    with pytest.raises(InputError):
        as_rows(np.ma.array(TABLE, mask=[[False, True, False], [False, False, False]]))


# -- blocks, columns and derived rows ---------------------------------------------------------------


def test_a_block_is_rows_too():
    rows = as_rows(pd.DataFrame(TABLE, columns=["a", "b", "c"]))
    block = rows[1:]
    assert block.values.tolist() == [[4.0, 5.0, 6.0]]
    assert block.names == ("a", "b", "c")
    assert len(as_rows(sparse.csr_array(TABLE))[:1]) == 1
    assert as_rows(["a", "b", "c"])[1:].values.tolist() == ["b", "c"]
    assert len(rows[:0]) == 0


def test_rows_derived_from_a_block_are_derived_from_the_whole_table_once():
    calls = []

    def double(values):
        calls.append(len(values))
        return Rows(values * 2)

    rows = as_rows(np.arange(20.0).reshape(10, 2))
    block = rows[2:8][1:4]
    assert (block.derive("double", double).values == rows.values[3:6] * 2).all()
    assert (rows[:3].derive("double", double).values == rows.values[:3] * 2).all()
    assert (rows.derive("double", double)[4:].values == rows.values[4:] * 2).all()
    assert calls == [10]
    rows.derive("another", double)
    assert calls == [10, 10]


def test_rows_are_derived_once_by_however_many_threads():
    calls = []
    rows = as_rows(np.ones((10, 2)))
    gate = threading.Barrier(4)

    def ask(number):
        gate.wait()
        rows[number : number + 2].derive("key", lambda values: calls.append(1) or Rows(values))

    pool = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for each in pool:
        each.start()
    for each in pool:
        each.join()
    assert len(calls) == 1


@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, sparse.csr_matrix, lambda X: pd.DataFrame(X, columns=list("abc"))]
)
def test_columns_are_chosen_by_number(make):
    rows = as_rows(make(TABLE))
    chosen = rows.columns((2, 0))
    values = chosen.values.toarray() if chosen.sparse else chosen.values
    assert values.tolist() == [[3.0, 1.0], [6.0, 4.0]]
    assert rows.columns((-1,)).width == 1
    assert rows.columns((2, 0)) is chosen


def test_columns_keep_their_names():
    rows = as_rows(pd.DataFrame(TABLE, columns=list("abc")))
    assert rows.columns(("c", 0)).names == ("c", "a")
    assert rows.columns(("c", "a")).columns(("a",)).values.tolist() == [[1.0], [4.0]]


def test_columns_of_a_mixed_table_become_numbers_or_objects():
    rows = as_rows(pd.DataFrame({"t": ["x", "y"], "a": [1.0, 2.0], "b": [3, 4]}))
    assert rows.columns(("a", "b")).values.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert rows.columns(("a", "b")).values.dtype == np.float64
    assert rows.columns(("t",)).objects
    assert rows.columns(("t", "a")).values.dtype == object


def test_one_numeric_column_of_a_mixed_table_is_a_table_of_numbers():
    rows = as_rows(pd.DataFrame({"t": ["x", "y"], "a": [1.0, 2.0]})).columns(("a",))
    assert not rows.objects
    assert rows.values.dtype == np.float64
    assert rows.values.tolist() == [[1.0], [2.0]]


def test_a_missing_number_in_a_mixed_table_is_refused_when_its_column_is_chosen():
    rows = as_rows(pd.DataFrame({"t": ["x", "y"], "a": [1.0, np.nan], "b": [1.0, 2.0]}))
    with pytest.raises(InputError, match="X must be finite; got nan"):
        rows.columns(("a", "b"))


def test_columns_that_are_not_there_are_refused():
    rows = as_rows(pd.DataFrame(TABLE, columns=["alpha", "beta", "gamma"]))
    assert tells(refusal(rows.columns, ("alhpa",)), "'alhpa'", "'alpha'")
    assert tells(refusal(rows.columns, (3,)), "A column index", "got 3")
    assert tells(refusal(rows.columns, (-4,)), "A column index", "got -4")
    assert tells(refusal(as_rows(TABLE).columns, ("a",)), "Column 'a'", "no column names")
    assert tells(refusal(as_rows(["x"]).columns, (0,)), ".on(...)")


def test_a_name_that_stands_over_two_columns_is_not_guessed():
    rows = as_rows(pd.DataFrame(TABLE, columns=["a", "b", "a"]))
    with pytest.raises(InputError):
        rows.columns(("a",))


# -- objects ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hold",
    [
        list,
        tuple,
        lambda X: np.array(X, dtype=object),
        np.array,
        lambda X: np.array(X)[:, None],
        lambda X: pd.Series(X, index=[5, 6, 7]),
        lambda X: pd.Series(X, dtype="string"),
        lambda X: pd.DataFrame({"a": X}),
        pl.Series,
        lambda X: pl.DataFrame({"a": X}),
    ],
    ids=["list", "tuple", "objects", "texts", "column", "Series", "string", "DataFrame", "polars", "polars DataFrame"],
)
def test_objects_are_taken_one_by_one_from_whatever_holds_them(hold):
    rows = as_rows(hold(["b", "", "a b"]), objects=True)
    assert rows.objects
    assert rows.width == 1
    assert rows.values.dtype == object
    assert rows.values.tolist() == ["b", "", "a b"]


@pytest.mark.parametrize(
    "X",
    [
        [["a", "b"], ["c", "d"]],
        [[1, 2], [3, 4]],
        [(1.0, 2.0), (3.0, 4.0)],
        [np.arange(2), np.arange(2)],
        [{"a"}, {"b"}],
        [1.0, 2.0],
        [None, None],
        [b"a", b"b"],
    ],
    ids=["tokens", "whole numbers", "tuples", "arrays", "sets", "numbers", "nothing", "bytes"],
)
def test_elements_that_look_like_rows_stay_objects_where_objects_are_wanted(X):
    rows = as_rows(X, objects=True)
    assert rows.objects
    assert len(rows) == 2
    assert all(held is given for held, given in zip(rows.values, X, strict=True))


@pytest.mark.parametrize("X", [TABLE, pd.DataFrame(TABLE), sparse.csr_array(TABLE)], ids=["array", "frame", "sparse"])
def test_tables_stay_tables_where_objects_are_wanted(X):
    assert not as_rows(X, objects=True).objects
    assert as_rows(X, objects=True).width == 3


@pytest.mark.parametrize("X", ["ab", b"ab", {"a"}, {"a": 1}, None, iter("ab"), 3], ids=lambda X: type(X).__name__)
def test_what_is_no_sequence_is_refused_where_objects_are_wanted(X):
    with pytest.raises(InputError, match=r"^X must be a table"):
        as_rows(X, objects=True)


def joined(values):
    """What a map of whole tables may be: everything about all rows, beside each."""
    everything = "".join(values)
    made = np.empty(len(values), dtype=object)
    made[:] = [f"{value}/{everything}" for value in values]
    return Rows(made)


@given(st.text("ab", min_size=1, max_size=8), st.text("cd", min_size=1, max_size=8), st.data())
@pytest.mark.slow
def test_rows_of_two_tables_are_mapped_together_and_cut_alike(left, right, data):
    def cut(rows):
        start = data.draw(st.integers(0, len(rows)))
        return slice(start, data.draw(st.integers(start, len(rows))))

    x, z = as_rows(list(left), objects=True), as_rows(list(right), objects=True)
    first, second, third = cut(x), cut(z), cut(x)
    mine, others = x[first].together(z[second], "key", joined)
    assert mine.values.tolist() == [f"{letter}/{left + right}" for letter in left[first]]
    assert others.values.tolist() == [f"{letter}/{left + right}" for letter in right[second]]
    again = cut(x[first])
    deeper, _ = x[first][again].together(z, "key", joined)
    assert deeper.values.tolist() == [f"{letter}/{left + right}" for letter in left[first][again]]
    own, same = x[first].together(x[third], "key", joined)
    assert own.values.tolist() == [f"{letter}/{left}" for letter in left[first]]
    assert same.values.tolist() == [f"{letter}/{left}" for letter in left[third]]


def test_two_tables_are_mapped_together_once():
    calls = []

    def make(values):
        calls.append(len(values))
        return joined(values)

    x, z, other = (as_rows(list(text), objects=True) for text in ("abc", "de", "f"))
    for start in range(3):
        x[start : start + 1].together(z[:1], "key", make)
        x[start : start + 1].together(z[1:], "key", make)
    assert calls == [5]
    x.together(other, "key", make)
    x.together(z, "another", make)
    x[1:].together(x[:1], "key", make)
    assert calls == [5, 4, 5, 3]


def test_a_block_knows_the_table_it_was_cut_from():
    rows = as_rows(list("abcd"), objects=True)
    assert rows.table is rows
    assert rows[1:][:2].table is rows
    made = rows[1:].derive("key", joined)
    assert made.table is rows.derive("key", joined)


@pytest.mark.parametrize("objects", [False, True])
def test_hidden_objects_are_refused(objects):
    with pytest.raises(InputError, match=r"X must not have missing values \(masked entries\)"):
        as_rows(np.ma.array(["a", "b"], mask=[False, True]), objects=objects)


@pytest.mark.parametrize("objects", [False, True])
def test_a_single_object_in_an_array_is_no_sequence(objects):
    assert tells(refusal(as_rows, np.array("a"), objects=objects), "X", "got 0 dimensions")


def test_numbers_beside_texts_in_lists_stay_numbers():
    rows = as_rows([["x", 1.0, 2], ["y", 3.0, 4]])
    assert rows.values.tolist() == [["x", 1.0, 2], ["y", 3.0, 4]]
    assert rows.columns((1, 2)).values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert rows.columns((1, 2)).values.dtype == np.float64
    assert as_rows(["x", 1]).values.tolist() == ["x", 1]
