"""Tables of mixed columns as numbers: what each column is taken for, and what it becomes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from encoder_cases import mixed, through_file
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from mercer import TableEncoder
from mercer.errors import InputError, UnfamiliarRowsWarning
from refusals import tells


# What it tells
def test_the_description_names_every_column_its_kind_and_the_reason():
    table = mixed()
    table.loc[3, "size"] = np.nan
    said = TableEncoder(drop=["rooms"]).fit(table).describe().splitlines()
    assert said[0].split() == ["column", "kind", "missing", "features", "why"]
    assert said[2].split() == ["size", "number", "1", "2", "features", "numbers"]
    assert said[3].split() == ["rooms", "dropped", "0", "none", "set", "by", "drop"]
    assert said[5].split() == ["garden", "category", "0", "1", "feature", "true", "or", "false"]
    assert len(said) == 2 + len(table.columns)


def test_the_report_counts_what_is_unlike_training():
    encoder = TableEncoder().fit({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "x", "y"], "c": [1.0, None, 2.0, 3.0]})
    new = {"a": [9.0, None, 0.0, 2.0], "b": ["x", "z", "z", None], "c": [None, 9.0, 1.0, 1.0]}
    report = encoder.encode(new).report
    assert (report.rows, report.rows_outside) == (4, 3)
    assert [(c.name, c.missing, c.unseen, c.outside) for c in report.columns] == [
        ("a", 1, 0, 2),
        ("b", 1, 2, 0),
        ("c", 0, 0, 1),
    ]
    assert str(report).splitlines()[0] == "3 of 4 rows with a value outside the training range"
    with pytest.warns(UnfamiliarRowsWarning) as caught:
        report.warn()
    assert tells(str(caught[0].message), "New rows", "'a'", "'b'")


def test_nothing_is_told_of_the_training_table():
    table = mixed()
    report = TableEncoder().fit(table).encode(table).report
    assert report.columns == ()
    assert str(report) == "60 rows, all like the training rows"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report.warn()


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_infinity=False),
    st.text(max_size=8),
    st.dates(),
    st.datetimes(),
    st.sampled_from(["red", "blue", "1,5", "2020-01-01", "007", pd.NA, pd.NaT]),
)


@given(columns=st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=4))
@pytest.mark.filterwarnings("ignore::mercer.errors.LeftOutWarning")
def test_any_table_is_encoded_finitely_or_refused_in_a_sentence(columns):
    table = {f"c{i}": column for i, column in enumerate(columns)}
    encoder = TableEncoder()
    try:
        found = encoder.fit_transform(table)
    except InputError as error:
        assert str(error).startswith("Column 'c")  # noqa: PT017
        return
    assert found.shape == (4, len(encoder.names_out_))
    assert np.isfinite(found).all()
    assert encoder.encode(table).report.columns == ()
    again = through_file(encoder)
    assert np.array_equal(again.transform(table), found)
    assert np.array_equal(again.transform({name: column[::-1] for name, column in table.items()}), found[::-1])
    assert encoder.describe().count("\n") == len(columns) + 1


@given(
    values=st.lists(st.one_of(st.none(), st.floats(-1e12, 1e12)), min_size=3, max_size=30),
    scale=st.sampled_from([1e-12, 1.0, 1e12]),
)
def test_numbers_have_mean_zero_and_spread_one_where_they_are_present(values, scale):
    numbers = [None if value is None else value * scale for value in values]
    encoder = TableEncoder().fit({"a": numbers})
    if encoder.columns_[0].kind == "number":
        found = encoder.transform({"a": numbers})[[value is not None for value in values], 0]
        assert abs(found.mean()) < 1e-6
        assert abs(found.std() - 1) < 1e-6


# -- a transformer of scikit-learn's --------------------------------------------------------------------


def test_columns_are_found_by_name_in_any_order():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]})
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table[["b", "a"]]), encoder.transform(table))
    assert encoder.feature_names_in_.tolist() == ["a", "b"]
    assert encoder.get_feature_names_out().tolist() == ["a", "b=x", "b=y"]


@pytest.mark.parametrize("make", ["pandas", "polars"])
def test_output_can_be_a_frame(make):
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]}, index=[7, 8, 9])
    found = TableEncoder().set_output(transform=make).fit_transform(table)
    assert list(found.columns) == ["a", "b=x", "b=y"]
    if make == "pandas":
        assert found.index.tolist() == [7, 8, 9]


def test_pipelines_and_column_transformers_take_it():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "b": ["x", "y", "x", "y"], "c": [0.5, 0.1, 0.2, 0.9]})
    y = [1.0, 2.0, 3.0, 4.0]
    whole = make_pipeline(TableEncoder(), Ridge()).fit(table, y)
    parts = ColumnTransformer([("mixed", TableEncoder(), ["a", "b"]), ("plain", "passthrough", ["c"])])
    assert whole.predict(table).shape == (4,)
    assert parts.fit(table).get_feature_names_out().tolist() == ["mixed__a", "mixed__b=x", "mixed__b=y", "plain__c"]
    assert make_pipeline(parts, Ridge()).fit(table, y).predict(table[["c", "b", "a"]]).shape == (4,)
    fresh = whole.set_params(tableencoder__kinds={"a": "category"}).fit(table, y)
    assert fresh[0].columns_[0].kind == "category"


def test_parameters_that_change_after_the_fit_change_the_next_fit_only():
    encoder = TableEncoder(decimal=",").fit({"a": ["1,5", "2,5", "4,0"]})
    before = encoder.transform({"a": ["1,5"]})
    np.testing.assert_array_equal(encoder.set_params(decimal=".").transform({"a": ["1,5"]}), before)
