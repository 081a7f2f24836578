"""What a column is taken for, and the reason."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from encoder_cases import through_file

from mercer import TableEncoder
from mercer.errors import MercerWarning
from refusals import refusal, tells


def kind_of(values, **settings):
    return TableEncoder(**settings).fit({"a": values}).columns_[0].kind


def reason_of(values, **settings):
    return TableEncoder(**settings).fit({"a": values}).columns_[0].why


# What a column is taken for
@pytest.mark.parametrize(
    ("values", "kind", "why"),
    [
        ([1.5, 2.0, 3.0], "number", "numbers"),
        ([1, 2, 1, 2], "number", "whole numbers, 2 distinct; if these are codes, set the kind to category"),
        (list(range(20)), "number", "whole numbers"),
        ([True, False, True], "category", "true or false"),
        (["1.5", "2", " -3e2"], "number", "numbers"),
        (["007", "012", "007", "012"], "category", "codes with leading zeros, 2 distinct values in 4 rows"),
        (["2020-01-01", "2021-05-03"], "date", "dates"),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "date", "dates"),
        (["a", "b", "a", "b"], "category", "text, 2 distinct values in 4 rows"),
        (["a", "b", "c", "a", "d"], "category", "text, 4 distinct values in 5 rows"),
        (
            ["ab1", "cd2", "ef3"],
            "identifier",
            ("short text, 3 distinct in 3 rows; to keep it, set the kind to text or category"),
        ),
        (
            ["a good day", "no good day", "so so la"],
            "text",
            "text, 3 words on average, 3 distinct in 3 rows; 2 words in two rows or more",
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
    assert through_file(encoder).settings == encoder.settings


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
    assert tells(refusal(found.transform, {"a": ["2.5"]}), "Column 'a'", "got '2.5' in row 0")
    assert tells(refusal(TableEncoder().fit, {"a": ["999", "1,234"] * 5}), "Column 'a'", "'1,234'", "','")
    assert TableEncoder(decimal=".").fit({"a": ["999", "1,234"]}).columns_[0].scale.high == 1234
    assert TableEncoder(decimal=",").fit({"a": ["999", "1,234"]}).columns_[0].scale.low == 1.234
    assert tells(
        refusal(TableEncoder().fit, {"a": ["1,5", "2,5"], "b": ["1.5", "2.5"]}),
        "The decimal sign",
        "got '1.5' in column 'b', but '1,5' in 'a'",
    )
    assert tells(refusal(TableEncoder().fit, {"a": ["1,5", "2.5", "3"]}), "Column 'a'", "got '1,5' in row 0")
    free = TableEncoder().fit({"a": ["1", "2", "4"]})  # no cell tells, so every new table may
    assert free.transform({"a": ["1,5"]}) == free.transform({"a": ["1.5"]}) == free.transform({"a": [1.5]})
    assert kind_of(["1,5", "2,5", "3,25"], kinds={"a": "category"}) == "category"


NUMBERS, DATES = [f"{row / 4}" for row in range(20)], [f"2020-01-{row + 1:02d}" for row in range(20)]
ODD = {
    "a code": (["1", "2", "3", "oops", "5.5", "", "6"], "'oops' in row 3", "1 of 6", "identifier"),
    "a range": ([*NUMBERS[:9], "3-4", *NUMBERS, "5-6"], "'3-4' in row 9", "2 of 31", "category"),
    "an infinite text": ([*NUMBERS, "inf", "-inf"], "'inf' in row 20", "2 of 22", "identifier"),
    "an infinite number": ([1.5, np.inf, 2.5, 1.5, 2.5, 1.5], "'inf' in row 1", "1 of 6", "category"),
    "an infinite float64": (np.array([np.nan, 1, 2, 3, -np.inf]), "'-inf' in row 4", "1 of 4", "identifier"),
    "no day": (["2020-02-30", *DATES], "'2020-02-30' in row 0", "1 of 21", "identifier"),
    "a day in another format": ([*DATES, "25.8.2020", *DATES[:9]], "'25.8.2020' in row 20", "1 of 30", "category"),
    "no time": (["07:45", "8:10", "11:11", "noon", "23:00"], "'noon' in row 3", "1 of 5", "identifier"),
}


@pytest.mark.parametrize(("cells", "first", "count", "kind"), ODD.values(), ids=ODD)
def test_a_column_of_numbers_or_dates_with_odd_cells_is_a_text_with_a_warning_or_refused(cells, first, count, kind):
    table = {"a": cells, "b": np.linspace(0, 1, len(cells)) ** 2}
    with pytest.warns(MercerWarning) as caught:
        encoder = TableEncoder().fit(table)
    (said,) = [str(each.message) for each in caught]
    assert tells(said, "Column 'a'", count, first, "TableEncoder(")
    assert encoder.columns_[0].kind == kind
    assert encoder.transform(table).shape[1] == len(encoder.names_out_)
    assert tells(refusal(TableEncoder(strict=True).fit, table), "Column 'a'", first)
    for asked in ("category", "text"):
        assert TableEncoder({"a": asked}, strict=True).fit(table).columns_[0].kind == asked
    assert TableEncoder(drop=["a"], strict=True).fit(table).columns_[0].kind == "dropped"


def test_numbers_that_could_be_read_in_two_ways_are_refused_whatever_is_said():
    for strict in (False, True):
        for cells in (["1.5", "2,25", "3"], ["1,234", "1.234", "7"], ["1/2/2024", "3/4/2024"]):
            assert tells(refusal(TableEncoder(strict=strict).fit, {"a": cells}), "Column 'a'")


def test_infinite_numbers_in_arrays_are_refused_as_scikit_learn_has_it():
    for cells in (np.array([[1.0], [np.inf]]), [[1.0], [np.inf]], np.array([[np.inf], [np.inf]])):
        assert tells(refusal(TableEncoder().fit, cells), "Column 'x1'", "'inf' in row")


def test_new_rows_are_read_as_training_decided():
    with pytest.warns(MercerWarning):
        encoder = TableEncoder().fit({"a": ["1.5", "2", "ask", "1.5", "2", "7", "1.5", "9", "8", "6", "5"]})
    assert encoder.columns_[0].kind == "category"
    again = through_file(encoder)
    for made in (encoder, again):
        rows = [made.transform({"a": cells}) for cells in (["2", "ask"], [2, "ask"], ["2.0", "ask"])]
        np.testing.assert_array_equal(rows[0], rows[1])
        assert rows[0].any(axis=1).tolist() == [True, True]
        np.testing.assert_array_equal(made.transform({"a": [2.0, 1.5]}), made.transform({"a": ["2", "1.5"]}))
        assert made.encode({"a": ["new", "inf"]}).report.columns[0].unseen == 2
    numbers = TableEncoder().fit({"a": ["1.5", "2", "7"]})
    assert tells(refusal(numbers.transform, {"a": ["2", "ask"]}), "Column 'a'", "got 'ask' in row 1")
    assert tells(refusal(numbers.transform, {"a": [2.0, np.inf]}), "Column 'a'", "got 'inf' in row 1")


def test_few_levels_are_a_rating_and_no_reason_to_warn():
    assert kind_of(["1", "2", "3", "4", "many"] * 20) == "category"


def test_asking_for_what_cannot_be_is_refused_by_row_and_column():
    assert tells(refusal(TableEncoder({"a": "number"}).fit, {"a": ["1", "x"]}), "Column 'a'", "got 'x' in row 1")
    assert tells(
        refusal(TableEncoder({"a": "number"}).fit, {"a": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]}),
        "Column 'a'",
        "got '2020-01-01' in row 0",
    )
    assert tells(refusal(TableEncoder({"a": "date"}).fit, {"a": [None, 1, 2]}), "Column 'a'", "got '1' in row 1")
    assert tells(refusal(TableEncoder({"a": "numbr"}).fit, {"a": [1, 2]}), "The kind of column 'a'", "got 'numbr'")
    assert tells(refusal(TableEncoder({"b": "number"}).fit, {"bb": [1, 2]}), "'b'", "'bb'")
    assert tells(refusal(TableEncoder(drop=["z"]).fit, {"a": [1, 2]}), "'z'")
    assert tells(refusal(TableEncoder(drop=[2]).fit, [[1, 2]]), "A column index", "got 2")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kinds": ["a"]}, "kinds of TableEncoder must be a mapping of columns to kinds, such as"),
        ({"drop": "id"}, "drop of TableEncoder must be a list of columns, such as ['id']; got 'id'."),
        ({"drop": [1.5]}, "drop of TableEncoder must be a list of columns, such as ['id']; got [1.5]."),
        ({"decimal": ";"}, "decimal of TableEncoder must be '.' or ','; got ';'."),
        ({"decimal": ",", "thousands": ","}, "thousands of TableEncoder must be"),
        ({"thousands": "x"}, "thousands of TableEncoder must be"),
        ({"strict": "no"}, "strict of TableEncoder must be True or False; got 'no'."),
    ],
)
def test_bad_settings_are_refused(settings, said):
    assert refusal(TableEncoder(**settings).fit, {"a": [1, 2]}).startswith(said)
