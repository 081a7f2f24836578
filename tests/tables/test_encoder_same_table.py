"""A table is the same table as CSV, Parquet, pandas, polars, pyarrow or a dict: columns of one kind, one model."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from mercer import KernelRidge, TableEncoder
from mercer.tables.reading import read_table

ROWS = 12
WORDS = st.lists(st.sampled_from(["good", "bad", "wine", "day", "old"]), min_size=3, max_size=5).map(" ".join)
CELLS = {
    "numbers": st.floats(-1e6, 1e6).map(lambda value: round(value, 3) + 0.0),
    "whole numbers": st.integers(-99, 99),
    "truth": st.booleans(),
    "categories": st.sampled_from(["red", "blue", "light grey"]),
    "dates": st.dates(dt.date(1990, 1, 1), dt.date(2030, 1, 1)),
    "texts": WORDS,
    "numbers as text": st.floats(-99, 99).map(lambda value: f"{value:.2f}"),
    "decimal commas": st.floats(-99, 99).map(lambda value: f"{value:.2f}".replace(".", ",")),
    "numbers and words for missing": st.sampled_from(["1.5", "2", "NA", "n/a", "-7"]),
    "codes": st.sampled_from(["007", "012", "100"]),
    "identifiers": st.uuids().map(str),
}


@st.composite
def tables(draw):
    """Columns of one kind each; some cells are missing."""
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    if "decimal commas" in kinds:  # a CSV file writes other numbers with a point, and both are refused
        kinds = [kind for kind in kinds if kind not in {"numbers", "numbers as text", "numbers and words for missing"}]
    table = {}
    for place, kind in enumerate(kinds):
        cells = draw(st.lists(CELLS[kind], min_size=ROWS, max_size=ROWS))
        gone = draw(st.sets(st.integers(0, ROWS - 3), max_size=3))
        table[f"column {place}"] = [None if row in gone else cell for row, cell in enumerate(cells)]
    return table


def encoded(read):
    """Kinds, numbers and predictions; the sentence where the table is refused, up to the cell."""
    encoder = TableEncoder()
    try:
        numbers = encoder.fit_transform(read())
    except ValueError as refused:
        return str(refused).split(" got ")[0], None, None
    model = KernelRidge(0.1, kernel="rbf").fit(np.column_stack([np.ones(ROWS), numbers]), np.arange(ROWS))
    return [column.kind for column in encoder.columns_], numbers, model.dual_coef_


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.mark.slow
@given(table=tables())
def test_every_make_of_a_table_gives_the_same_columns_and_the_same_model(folder, table):
    arrow = pa.table({name: pa.array(cells) for name, cells in table.items()})
    parquet.write_table(arrow, folder / "t.parquet")
    pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in table.items()}).to_csv(
        folder / "t.csv", index=False
    )
    kinds, numbers, weights = encoded(lambda: table)
    makes = {
        "pandas": lambda: pd.DataFrame(table),
        "polars": lambda: pl.DataFrame(table, strict=False),
        "pyarrow": lambda: arrow,
        "Parquet": lambda: read_table(str(folder / "t.parquet")).columns,
        "CSV": lambda: read_table(str(folder / "t.csv")).columns,
    }
    for make, read in makes.items():
        found = encoded(read)
        assert found[0] == kinds, make
        if numbers is not None:
            np.testing.assert_allclose(found[1], numbers, rtol=1e-12, atol=1e-12, err_msg=make)
            np.testing.assert_allclose(found[2], weights, rtol=1e-9, atol=1e-9, err_msg=make)


@pytest.mark.parametrize("words", [("True", "False"), ("true", "false"), ("TRUE", "FALSE")])
def test_texts_that_say_true_and_false_are_truth_values(words):
    table = {"a": [words[0], words[1], words[1], words[0]]}
    encoder = TableEncoder().fit(table)
    assert encoder.names_out_ == ["a=True"]
    assert encoder.columns_[0].why == "true or false"
    assert encoder.transform(table).ravel().tolist() == [1.0, 0.0, 0.0, 1.0]
    assert encoder.transform({"a": [True, False]}).ravel().tolist() == [1.0, 0.0]
    gaps = TableEncoder().fit({"a": [*table["a"], "NA", ""]})
    assert gaps.columns_[0].missing == 2
    asked = TableEncoder({"a": "category"}).fit(table)
    assert asked.names_out_ == [f"a={word}" for word in sorted(words)]


@pytest.mark.parametrize("cells", [["1.0", "1.00", "1"], ["0.0", "-0.0"], ["2020-01-01", "2020-01-01T00:00"]])
def test_texts_of_one_number_or_one_day_are_constant(cells):
    assert TableEncoder().fit({"a": cells}).columns_[0].kind == "constant"
    assert TableEncoder().fit({"a": ["007", "07"]}).columns_[0].kind != "constant"
