"""Tables of mixed columns as numbers: what each column is taken for, and what it becomes."""

import datetime as dt
import json
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from mercer import TableEncoder
from mercer.errors import InputError, UnfamiliarRowsWarning

HALF = 1 / np.sqrt(2)


def refusal(call, *args, **settings):
    with pytest.raises(InputError) as caught:
        call(*args, **settings)
    return str(caught.value)


def kind_of(values, **settings):
    return TableEncoder(**settings).fit({"a": values}).columns_[0].kind


def reason_of(values, **settings):
    return TableEncoder(**settings).fit({"a": values}).columns_[0].why


def mixed(n=60, seed=0):
    rng = np.random.default_rng(seed)
    start = np.datetime64("2020-01-01")
    return pd.DataFrame(
        {
            "size": rng.normal(50, 10, n),
            "rooms": rng.integers(1, 5, n),
            "city": rng.choice(["Rome", "Bonn", "Oslo"], n),
            "garden": rng.random(n) < 0.5,
            "sold": start + rng.integers(0, 900, n).astype("timedelta64[D]"),
            "note": [f"a flat with number {i} and a view" for i in range(n)],
            "key": [f"K{i:05d}" for i in range(n)],
            "country": ["X"] * n,
        }
    )


# What a column is taken for


@pytest.mark.parametrize(
    ("values", "kind", "why"),
    [
        ([1.5, 2.0, 3.0], "number", "numbers"),
        ([1, 2, 1, 2], "number", "whole numbers, 2 distinct; ask for category if codes"),
        (list(range(20)), "number", "whole numbers"),
        ([True, False, True], "category", "true or false"),
        (["1.5", "2", " -3e2"], "number", "numbers"),
        (["007", "012", "007", "012"], "category", "codes with leading zeros, 2 distinct values in 4 rows"),
        (["2020-01-01", "2021-05-03"], "date", "dates"),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "date", "dates"),
        (["a", "b", "a", "b"], "category", "text, 2 distinct values in 4 rows"),
        (["a", "b", "c", "a", "d"], "category", "text, 4 distinct values in 5 rows"),
        (["ab1", "cd2", "ef3"], "identifier", "short text, 3 distinct in 3 rows; ask for text or category to keep it"),
        (
            ["a good day", "no good day", "so so la"],
            "text",
            "text, 3 words on average, 3 distinct in 3 rows; 2 words that rows share",
        ),
        ([3, 3, 3], "constant", "every value is 3"),
        ([0.1 + 0.2, 0.3, 0.3], "constant", "every value is 0.3"),
        (["x", "x"], "constant", "every value is x"),
        ([None, None], "constant", "every value is missing"),
        ([np.nan, np.nan], "constant", "every value is missing"),
        (["", " "], "constant", "every value is missing"),
        ([1.0, None, 1.0], "category", "1 or missing"),
        ([dt.date(2020, 1, 1), None], "category", "2020-01-01 or missing"),
        ([1, "a", 1, "a"], "category", "text, 2 distinct values in 4 rows"),
        ([1, "2", 3.5], "number", "numbers"),
        ([Decimal("1.5"), 2, True], "number", "numbers"),
        ([dt.timedelta(days=1), np.timedelta64(12, "h")], "number", "numbers"),
    ],
)
def test_each_kind_of_column_is_recognised_and_the_reason_is_given(values, kind, why):
    assert (kind_of(values), reason_of(values)) == (kind, why)


def test_what_was_asked_for_is_done():
    assert kind_of([1, 2, 1], kinds={"a": "category"}) == "category"
    assert kind_of(["007", "012"], kinds={"a": "number"}) == "number"
    assert kind_of(["x1", "x2"], kinds={"a": "text"}) == "text"
    assert kind_of(["x1", "x2"], kinds={"a": "category"}) == "category"
    assert kind_of([True, False], kinds={"a": "number"}) == "number"
    assert kind_of(["2020-01-01", "2020-01-02"], kinds={"a": "date"}) == "date"
    assert TableEncoder(kinds={1: "category"}).fit([[1, 2], [3, 4]]).columns_[1].kind == "category"
    assert TableEncoder(kinds={"x2": "category"}).fit([[1, 2], [3, 4]]).columns_[1].kind == "category"
    assert TableEncoder(kinds={5: "category"}).fit(pd.DataFrame({5: [1, 2]})).columns_[0].kind == "category"


def test_columns_with_names_of_two_levels_can_be_asked_for_and_written():
    table = pd.DataFrame({("a", "b"): [1, 2], ("a", "c"): [3, 4]})
    encoder = TableEncoder(kinds={("a", "c"): "category"}).fit(table)
    assert [column.kind for column in encoder.columns_] == ["number", "category"]
    record, arrays = encoder.state()
    assert TableEncoder.from_state(json.loads(json.dumps(record)), arrays).settings == encoder.settings


def test_numbers_with_commas_are_read_unless_two_readings_are_possible():
    assert kind_of(["1,5", "2,5", "3,25"], decimal=",") == "number"
    encoder = TableEncoder(decimal=",", thousands=".").fit({"a": ["1.234,5", "2", "-1.000"]})
    assert encoder.columns_[0].scale.high == 1234.5
    assert encoder.columns_[0].scale.low == -1000.0
    found = TableEncoder().fit({"a": ["1,5", "2,5", "3,25"]})
    assert found.columns_[0].scale.high == 3.25
    assert found.transform({"a": ["2,5", 2.5, "1.234,5", 1234.5]})[::2] == pytest.approx(
        found.transform({"a": ["2,5", 2.5, "1.234,5", 1234.5]})[1::2]
    )
    assert "got '1.234' in row 0" in refusal(found.transform, {"a": ["1.234", 1.234]})
    assert refusal(found.transform, {"a": ["2.5"]}) == (
        "Column 'a' must be numbers with a decimal comma and points between thousands, as in the training table; "
        "got '2.5' in row 0. Say how this table writes numbers with decimal."
    )
    assert refusal(TableEncoder().fit, {"a": ["999", "1,234"] * 5}) == (
        "Column 'a' must be numbers that can be read in one way; got '1,234' in row 1. Is the comma decimal? Say "
        "decimal=',' or decimal='.'."
    )
    assert TableEncoder(decimal=".").fit({"a": ["999", "1,234"]}).columns_[0].scale.high == 1234
    assert TableEncoder(decimal=",").fit({"a": ["999", "1,234"]}).columns_[0].scale.low == 1.234
    assert refusal(TableEncoder().fit, {"a": ["1,5", "2,5"], "b": ["1.5", "2.5"]}) == (
        "Numbers of one table must be written in one way; got '1.5' in column 'b', but '1,5' in 'a'. Say which with "
        "decimal."
    )
    assert refusal(TableEncoder().fit, {"a": ["1,5", "2.5", "3"]}) == (
        "Column 'a' must be numbers written in one way; got '1,5' in row 0. Say how numbers are written with decimal "
        "or thousands, or say kinds={'a': 'category'}."
    )
    free = TableEncoder().fit({"a": ["1", "2", "4"]})  # no cell tells, so every new table may
    assert free.transform({"a": ["1,5"]}) == free.transform({"a": ["1.5"]}) == free.transform({"a": [1.5]})
    assert kind_of(["1,5", "2,5", "3,25"], kinds={"a": "category"}) == "category"


def test_text_among_numbers_is_named_and_not_guessed_about():
    assert refusal(TableEncoder().fit, {"a": ["1", "2", "3", "oops", "5.5", "", "6"]}) == (
        "Column 'a' must be numbers in every row, as in 83.3 % of them; got 'oops' in row 3. "
        "Correct the cell, leave it empty, or say kinds={'a': 'category'}."
    )
    assert refusal(
        TableEncoder().fit, {"a": ["2020-01-01", "2020-02-30", "2020-01-03", "2020-01-04", "2020-01-05"]}
    ) == (
        "Column 'a' must be dates in every row, as in 80 % of them; got '2020-02-30' in row 1. "
        "Correct the cell, leave it empty, or say kinds={'a': 'category'}."
    )
    assert kind_of(["1", "2", "3", "4", "many"] * 20) == "category"  # few levels: a rating


def test_asking_for_what_cannot_be_is_refused_by_row_and_column():
    assert refusal(TableEncoder({"a": "number"}).fit, {"a": ["1", "x"]}) == (
        "Column 'a' must be numbers; got 'x' in row 1. Correct the cell, or leave it empty."
    )
    assert refusal(TableEncoder({"a": "number"}).fit, {"a": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]}) == (
        "Column 'a' must be numbers; got '2020-01-01' in row 0."
    )
    assert refusal(TableEncoder({"a": "date"}).fit, {"a": [None, 1, 2]}) == (
        "Column 'a' must be dates, or text such as '2024-12-31'; got '1' in row 1."
    )
    assert refusal(TableEncoder({"a": "numbr"}).fit, {"a": [1, 2]}) == (
        "The kind of column 'a' must be 'number', 'category', 'date' or 'text'; got 'numbr'. To leave it out, use drop."
    )
    assert refusal(TableEncoder({"b": "number"}).fit, {"bb": [1, 2]}) == "There is no column 'b'. Did you mean 'bb'?"
    assert refusal(TableEncoder(drop=["z"]).fit, {"a": [1, 2]}) == "There is no column 'z'. Known: a."
    assert refusal(TableEncoder(drop=[2]).fit, [[1, 2]]) == "A column number must be between 0 and 1; got 2."


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kinds": ["a"]}, "kinds of TableEncoder must be a mapping of columns to kinds, such as"),
        ({"drop": "id"}, "drop of TableEncoder must be a list of columns, such as ['id']; got 'id'."),
        ({"drop": [1.5]}, "drop of TableEncoder must be a list of columns, such as ['id']; got [1.5]."),
        ({"decimal": ";"}, "decimal of TableEncoder must be '.' or ','; got ';'."),
        ({"decimal": ",", "thousands": ","}, "thousands of TableEncoder must be"),
        ({"thousands": "x"}, "thousands of TableEncoder must be"),
    ],
)
def test_bad_settings_are_refused(settings, said):
    assert refusal(TableEncoder(**settings).fit, {"a": [1, 2]}).startswith(said)


# What it becomes


def test_numbers_are_standardised(rng):
    values = rng.normal(7, 3, 50)
    found = TableEncoder().fit_transform({"a": values})
    assert np.allclose(found[:, 0], (values - values.mean()) / values.std(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_huge_and_tiny_scales_are_the_same_after_standardisation(rng, scale):
    values = rng.normal(size=40)
    assert np.allclose(TableEncoder().fit_transform((values * scale)[:, None]).std(), 1.0)


def test_missing_numbers_are_filled_with_the_median_and_marked():
    encoder = TableEncoder().fit({"a": [1.0, 2.0, None, 9.0]})
    assert encoder.names_out_ == ["a", "a missing"]
    assert encoder.columns_[0].missing == 1
    scale = encoder.columns_[0].scale
    assert (scale.centre, scale.fill) == (4.0, 2.0)
    found = encoder.transform({"a": [np.nan, 4.0]})
    assert found.tolist() == [[(2.0 - 4.0) / scale.spread, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, "", "  ", np.datetime64("NaT"), Decimal("NaN")])
def test_everything_that_means_missing_is_missing(nothing):
    encoder = TableEncoder().fit({"a": [1.0, 2.0, 3.5, nothing]})
    assert encoder.columns_[0].missing == 1
    assert encoder.columns_[0].kind == "number"
    levels = TableEncoder().fit({"a": ["x", "y", "x", "y", nothing]}).columns_[0]
    assert (levels.levels, levels.missing) == (("x", "y"), 1)
    assert levels.outputs == ("a=x", "a=y", "a missing")


def test_levels_are_sorted_and_two_different_ones_are_at_distance_one():
    encoder = TableEncoder()
    found = encoder.fit_transform({"a": ["c", "b", "c", "a", "b", "a", None, None]})
    assert encoder.names_out_ == ["a=a", "a=b", "a=c", "a missing"]
    between = ((found[:, None] - found[None]) ** 2).sum(axis=2)
    assert np.allclose(between[np.ix_([0, 1, 3, 6], [0, 1, 3, 6])], 1 - np.eye(4))
    assert found[0].tolist() == [0, 0, HALF, 0]


def test_truth_is_one_column_of_zeros_and_ones_and_the_unknown_is_in_between():
    encoder = TableEncoder()
    assert encoder.fit_transform({"a": [True, False, True]}).tolist() == [[1.0], [0.0], [1.0]]
    assert encoder.names_out_ == ["a=True"]
    new = encoder.encode({"a": [None, "true", 0, "maybe"]})
    assert new.values.ravel().tolist() == [0.5, 1.0, 0.0, 0.5]
    assert (new.report.columns[0].missing, new.report.columns[0].unseen) == (1, 1)


def test_truth_with_missing_cells_has_three_levels():
    encoder = TableEncoder().fit({"a": [True, None, False]})
    assert encoder.names_out_ == ["a=False", "a=True", "a missing"]
    assert encoder.transform({"a": [True, None]}).tolist() == [[0, HALF, 0], [0, 0, HALF]]


def test_rare_levels_are_pooled_and_unseen_ones_are_zeros():
    values = [f"common{i:02d}" for i in range(50) for _ in range(4)] + [f"rare{i}" for i in range(20) for _ in range(2)]
    encoder = TableEncoder().fit({"a": values})
    column = encoder.columns_[0]
    assert len(column.levels) == 50
    assert column.levels[0] == "common00"
    assert len(column.pooled) == 20
    assert encoder.names_out_[-1] == "a other"
    new = encoder.encode({"a": ["rare3", "common00", "never", None]})
    assert new.values.sum(axis=1).tolist() == [HALF, HALF, 0.0, 0.0]
    assert new.values[0, 50] == HALF
    assert (new.report.columns[0].unseen, new.report.columns[0].missing, new.report.columns[0].example) == (
        1,
        1,
        "never",
    )


def test_three_and_three_point_zero_are_the_same_level():
    encoder = TableEncoder(kinds={"a": "category"}).fit({"a": [3, 4, 3]})
    assert encoder.transform({"a": [3.0, np.nan]}).tolist() == [[HALF, 0], [0, 0]]
    assert encoder.transform({"a": ["3", " 4"]}).tolist() == [[HALF, 0], [0, HALF]]


def test_outputs_never_share_a_name():
    encoder = TableEncoder().fit({"a": [1.0, 2.0, None], "a missing": [1.0, 2.0, 3.0]})
    assert encoder.names_out_ == ["a", "a missing", "a missing'"]
    assert encoder.groups_.tolist() == [0, 0, 1]


# Dates


def test_dates_are_days_since_the_median_in_units_of_their_spread():
    days = pd.date_range("2024-03-01", periods=5).to_numpy()
    encoder = TableEncoder().fit({"when": days})
    assert encoder.names_out_ == ["when"]
    assert np.allclose(encoder.transform({"when": days}).ravel(), np.array([-2, -1, 0, 1, 2]) / np.sqrt(2))


def test_long_spans_of_dates_bring_the_weekday_and_the_year():
    assert TableEncoder().fit({"w": pd.date_range("2024-03-01", periods=20)}).names_out_ == [
        "w", "w=Mon", "w=Tue", "w=Wed", "w=Thu", "w=Fri", "w=Sat", "w=Sun",
    ]  # fmt: skip
    assert TableEncoder().fit({"w": pd.date_range("2024-03-04", periods=9, freq="7D")}).names_out_ == ["w"]
    encoder = TableEncoder().fit({"w": [*pd.date_range("2023-01-02", periods=60, freq="14D"), None]})
    assert encoder.names_out_ == ["w", "w sin(year)", "w cos(year)", "w missing"]
    found = encoder.transform({"w": ["2024-01-01", "2024-07-01", None]})
    assert np.allclose(found[:2, 2], [HALF, -HALF], atol=0.02)
    assert found[2].tolist() == [0, 0, 0, 1]


def test_the_weekday_is_that_of_the_calendar():
    encoder = TableEncoder().fit({"w": pd.date_range("2024-03-01", periods=20)})
    found = encoder.transform({"w": [dt.datetime(2026, 1, 1, 23, 59), None]})  # noqa: DTZ001
    assert [name for name, value in zip(encoder.names_out_[1:], found[0, 1:], strict=True) if value] == ["w=Thu"]
    assert found[1].tolist() == [0] * 8


def test_every_way_to_write_a_date_gives_the_same_numbers():
    texts = ["2020-01-01", "2020-01-05", "2020-03-01"]
    days = [dt.date.fromisoformat(text) for text in texts]
    zone = dt.timezone(dt.timedelta(hours=2))
    ways = [
        texts,
        [f"{text} 00:00:00" for text in texts],
        [f"{text}T02:00+02:00" for text in texts],
        days,
        [dt.datetime(day.year, day.month, day.day, 2, tzinfo=zone) for day in days],
        np.array(texts, dtype="datetime64[D]"),
        pd.Series(pd.to_datetime(texts)),
        pd.Series(pd.to_datetime(texts)).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
        pl.Series(days),
        pa.array(days),
        [pd.Timestamp(text) for text in texts],
    ]
    encoder = TableEncoder().fit({"w": texts})
    for way in ways:
        assert np.array_equal(TableEncoder().fit_transform({"w": way}), encoder.transform({"w": texts}))
        assert np.array_equal(encoder.transform({"w": way}), encoder.transform({"w": texts}))


# Texts


def test_texts_are_passed_through_beside_the_numbers():
    table = mixed()
    encoder = TableEncoder().fit(table)
    assert encoder.texts_ == ["note"]
    assert encoder.texts(table).ravel().tolist() == table["note"].tolist()
    assert encoder.columns_[5].why.endswith("; no words tell rows apart")
    assert TableEncoder().fit([[1.0], [2.0]]).texts([[1.0]]).shape == (1, 0)


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
    assert refusal(encoder.transform, np.ones((2, 3))) == (
        "X has 3 features, but TableEncoder is expecting 2 features as input. Give the columns of training."
    )


def test_columns_that_are_gone_or_new_are_named():
    encoder = TableEncoder(drop=["b"]).fit({"a": [1.0, 3.0], "b": [1, 2], "c": [5.0, 9.0]})
    assert encoder.transform({"c": [5.0], "a": [3.0]}).tolist() == [[1.0, -1.0]]
    start = "X of TableEncoder must be a table with the columns of training; got a table "
    assert refusal(encoder.transform, {"a": [1.0]}) == start + "without 'c'. Add the missing columns."
    assert refusal(encoder.transform, {"a": [1.0], "c": [1.0], "d": [2.0]}) == (
        start + "with 'd'. Rename or drop the unknown columns."
    )
    assert refusal(encoder.transform, {f"n{i}": [1.0] for i in range(7)}) == (
        start + "without 'a', 'c' and with 'n0', 'n1', 'n2', 'n3', 'n4' and 2 more. Rename or drop the unknown columns."
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
        ({"a": [1.0, np.inf]}, "Column 'a' must be finite numbers; got 'inf' in row 1. Correct the cell, or leave it"),
        ({"a": ["1", "1e400"]}, "Column 'a' must be numbers below 1.8e308; got '1e400' in row 1. Correct the cell, or"),
        ({"a": [None, 10**400, 1]}, "Column 'a' must be below 1.8e308; got a larger number in row 1."),
        ({"a": [1j, 2j]}, "Column 'a' must be numbers, truth values, dates or text; got complex in row 0."),
        ({"a": np.array([1j])}, "Column 'a' must be numbers, truth values, dates or text; got complex128 values."),
        ({"a": [None, [1]]}, "Column 'a' must be numbers, truth values, dates or text; got list in row 1. Turn the"),
        (pl.LazyFrame({"a": [1]}), "X of TableEncoder must be a DataFrame, a mapping of columns, an array or a list"),
        ({"a": np.array([b"x"])}, "Column 'a' must be numbers, truth values, dates or text; got |S1 values."),
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

    assert refusal(TableEncoder().fit, csr_array(np.eye(2))) == (
        "X of TableEncoder must be a dense table; got a sparse matrix. Use X.toarray() if it fits in memory."
    )


def test_new_cells_of_another_type_are_refused_by_row_and_column():
    encoder = TableEncoder().fit({"a": [1.0, 2.0], "w": ["2020-01-01", "2020-02-01"]})
    good = ["2020-01-01"] * 2
    correct = "Correct the cell, or leave it empty."
    assert refusal(encoder.transform, {"a": [1, "x"], "w": good}) == (
        f"Column 'a' must be numbers; got 'x' in row 1. {correct}"
    )
    assert refusal(encoder.transform, {"a": good, "w": good}) == (
        f"Column 'a' must be numbers; got '2020-01-01' in row 0. {correct}"
    )
    assert refusal(encoder.transform, {"a": [1, -np.inf], "w": good}) == (
        f"Column 'a' must be finite numbers; got '-inf' in row 1. {correct}"
    )
    assert refusal(encoder.transform, {"a": [1, 2], "w": [None, "soon"]}) == (
        f"Column 'w' must be dates such as 2024-12-31; got 'soon' in row 1. {correct}"
    )
    assert encoder.transform({"a": ["1", None], "w": [None, None]})[0, 0] == -1.0
    assert np.isfinite(encoder.transform({"a": [None], "w": [None]})).all()
    nowhere = np.array(["NaT"], dtype="datetime64[D]")
    assert np.isfinite(encoder.transform({"a": nowhere, "w": np.array([np.nan])})).all()
    small = TableEncoder().fit({"a": [1e-200, 2e-200]})
    assert refusal(small.transform, {"a": [1e200]}) == (
        "Column 'a' must be of the order of the training values (1e-200 to 2e-200); got 1e+200 in row 0."
    )


def test_nothing_works_before_fit():
    for call in (TableEncoder().transform, TableEncoder().texts):
        with pytest.raises(NotFittedError):
            call([[1.0]])
    for call in (TableEncoder().describe, TableEncoder().state, TableEncoder().get_feature_names_out):
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
    TableEncoder().fit(table).texts(table)
    pd.testing.assert_frame_equal(table, before)
    lent = {"a": [" x", "y", None, "x"]}
    TableEncoder().fit_transform(lent)
    assert lent == {"a": [" x", "y", None, "x"]}


# What it tells


def test_the_description_names_every_column_its_kind_and_the_reason():
    table = mixed()
    table.loc[3, "size"] = np.nan
    said = TableEncoder(drop=["rooms"]).fit(table).describe().splitlines()
    assert said[0].split() == ["column", "taken", "for", "missing", "becomes", "why"]
    assert said[2].split() == ["size", "number", "1", "2", "columns", "numbers"]
    assert said[3].split() == ["rooms", "dropped", "0", "nothing", "as", "asked"]
    assert said[5].split() == ["garden", "category", "0", "1", "column", "true", "or", "false"]
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
    assert str(report).splitlines()[0] == "4 rows, 75% of them outside the range of training"
    with pytest.warns(UnfamiliarRowsWarning) as caught:
        report.warn()
    assert str(caught[0].message) == (
        "4 new rows differ from the training rows in 'a', 'b', 'c': 3 cells out of range, 2 cells of unseen levels, "
        "2 cells newly missing. Predictions for such rows are extrapolations."
    )


def test_nothing_is_told_of_the_training_table():
    table = mixed()
    report = TableEncoder().fit(table).encode(table).report
    assert report.columns == ()
    assert str(report) == "60 rows, all like the training rows"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report.warn()


# What it is written as


def test_the_state_gives_the_same_encoder_back():
    table = mixed()
    table.loc[2, ["size", "city", "sold"]] = [np.nan, None, pd.NaT]
    encoder = TableEncoder(kinds={"rooms": "category"}, drop=["key"], decimal=",", thousands=".").fit(table)
    record, arrays = encoder.state()
    again = TableEncoder.from_state(json.loads(json.dumps(record)), arrays)
    assert again.columns_ == encoder.columns_
    assert again.settings == encoder.settings
    assert repr(again) == repr(encoder)
    assert np.array_equal(again.transform(table), encoder.transform(table))
    assert again.groups_.tolist() == encoder.groups_.tolist()
    assert again.texts_ == encoder.texts_
    with pytest.raises(InputError):
        again.transform(table.drop(columns="size"))


def test_spoilt_states_are_refused():
    encoder = TableEncoder().fit(mixed())
    for path, value in [
        (("columns", 0, "kind"), "magic"),
        (("columns", 0, "kind"), "category"),
        (("columns", 0, "outputs"), []),
        (("columns", 0, "outputs"), [1]),
        (("columns", 0, "name"), 3),
        (("columns", 0, "name"), "rooms"),
        (("columns", 0, "missing"), -1),
        (("columns", 0, "missing"), True),
        (("columns", 2, "levels"), ["Bonn", "Bonn", "Oslo"]),
        (("columns", 3, "levels"), ["a", "b"]),
        (("columns", 4, "weekdays"), [0, 1, 2, 3, 4, 5, 9]),
        (("columns", 2, "year"), True),
        (("columns", 1), "text"),
        (("columns",), []),
        (("columns",), None),
        (("named",), 1),
        (("kinds",), [["a", "magic"]]),
        (("decimal",), "x"),
        (("drop",), 3),
    ]:
        record, arrays = encoder.state()
        place = record
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert refusal(TableEncoder.from_state, record, arrays)
    record, arrays = encoder.state()
    for row in ([np.nan] * 5, [0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 2.0, 1.0]):
        spoilt = arrays["scales"].copy()
        spoilt[0] = row
        assert refusal(TableEncoder.from_state, record, {"scales": spoilt}).startswith("The state of TableEncoder must")
    assert refusal(TableEncoder.from_state, record, {}).startswith(
        "The state of TableEncoder must be what state() gives"
    )
    assert refusal(TableEncoder.from_state, {}, arrays)
    assert refusal(TableEncoder.from_state, record, {"scales": arrays["scales"][:-1]})


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
    record, arrays = encoder.state()
    again = TableEncoder.from_state(json.loads(json.dumps(record)), arrays)
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


@pytest.mark.parametrize("encoder", [TableEncoder(), TableEncoder(missing="mean")], ids=str)
def test_scikit_learns_exam_is_passed(encoder):
    told = check_estimator(encoder, on_skip=None, on_fail=None)
    failed = {each["check_name"]: each["exception"] for each in told if each["status"] == "failed"}
    assert failed == {}
    assert sum(each["status"] == "passed" for each in told) > 30


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
