"""A cell means the same in training and in new rows, whatever holds it."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from encoder_cases import through_file
from sklearn.base import clone

from mercer import TableEncoder
from mercer.errors import InputError
from mercer.tables.cells import read_cells
from mercer.tables.reading import read_table


def test_na_among_truth_values_is_missing_in_new_rows_too():
    table = {"t": ["true", "false", "NA", "true", "false", "true"]}
    encoder = TableEncoder().fit(table)
    assert encoder.names_out_ == ["t=False", "t=True", "t missing"]
    as_written = encoder.encode(table)
    assert as_written.report.columns == ()
    assert np.array_equal(as_written.values, encoder.transform({"t": [True, False, None, True, False, True]}))
    assert np.array_equal(as_written.values, encoder.transform({"t": [1, 0, None, 1, 0, 1]}))


def test_one_number_with_gaps_is_found_in_every_writing():
    table = {"a": ["1,5", "", "1,50", "1,5"], "b": ["1,25", "2", "3", "4"]}
    encoder = TableEncoder().fit(table)
    assert encoder.columns_[0].levels == ("1.5",)
    new = {"a": ["1,50", "NA", 1.5, None], "b": ["1", "2", "3", "4"]}
    found = encoder.encode(new)
    assert all(each.name == "b" for each in found.report.columns)
    assert found.values[:, 0].tolist() == pytest.approx([0.5**0.5, 0, 0.5**0.5, 0])


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        (["1.0", "2.0"], [1.0, 2.0]),
        (["1.50", "2.25"], [1.5, 2.25]),
        (["true", "false"], [True, False]),
        (["2024-01-01T00:00", "2024-01-02T00:00"], [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
    ],
)
def test_levels_that_were_written_are_found_typed_and_the_other_way_round(written, typed):
    for known, new in ((written, typed), (typed, written)):
        encoder = TableEncoder({"c": "category"}).fit({"c": known * 2})
        assert np.array_equal(encoder.transform({"c": new}), encoder.transform({"c": known}))
        assert encoder.transform({"c": known}).any()


def test_two_writings_of_one_number_stay_two_levels():
    encoder = TableEncoder({"c": "category"}).fit({"c": ["1", "1.0", "1", "1.0"]})
    assert encoder.columns_[0].levels == ("1", "1.0")
    assert encoder.transform({"c": ["1", "1.0"]}).any(axis=1).all()


def test_a_text_is_read_in_the_style_of_its_table_before_it_is_a_level():
    table = {"c": [1.234, 2.5] * 2, "b": ["1,5", "2", "3", "4"]}
    encoder = TableEncoder({"c": "category"}).fit(table)
    assert encoder.encode({"c": ["1.234"], "b": ["1"]}).report.columns[0].unseen == 1  # it says 1234
    assert encoder.encode({"c": ["1,234"], "b": ["2"]}).report.columns == ()


def test_true_and_false_can_be_numbers_in_text_too():
    for cells in ([True, False, True], ["true", "false", "True"]):
        assert TableEncoder({"a": "number"}).fit({"a": cells}).columns_[0].scale.high == 1.0


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_masked_dates_and_durations_are_dates_and_durations(unit):
    days = np.array(["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-05"], f"M8[{unit}]")
    hidden = np.ma.masked_array(days, [0, 1, 0, 0])
    encoder = TableEncoder().fit({"a": hidden})
    assert (encoder.columns_[0].kind, encoder.columns_[0].missing) == ("date", 1)
    assert encoder.transform({"a": days[:1]})[0, 0] == encoder.transform({"a": hidden})[0, 0]
    spans = TableEncoder().fit({"a": np.ma.masked_array(days - days[0], [0, 1, 0, 0])})
    assert spans.columns_[0].scale.high == 95.0


def test_dates_far_away_do_not_wrap():
    far = [np.datetime64("300000-01-01"), np.datetime64("2000-01-01"), np.datetime64("2001-01-01")]
    scales = [TableEncoder().fit({"a": cells}).columns_[0].scale for cells in (far, np.array(far))]
    assert scales[0] == scales[1]
    assert scales[0].low == 10957


def test_texts_of_dates_have_milliseconds_as_dates_have():
    texts = ["2024-01-01T00:00:00.000500", "2024-01-01T00:00:00.000900", "2024-01-01T00:00"]
    for cells in (texts, pd.to_datetime(pd.Series(texts), format="ISO8601")):
        assert TableEncoder().fit({"a": cells}).columns_[0].kind == "constant"


def test_categoricals_are_categories_with_or_without_a_series():
    for cells in (pd.Categorical([1, 2, 1, 3]), pd.Series(pd.Categorical([1, 2, 1, 3]))):
        assert TableEncoder().fit({"a": cells}).columns_[0].kind == "category"


@pytest.mark.parametrize(
    "cells",
    [
        [2**53 + 1, 10**400, 3],
        np.array([1, 2, 3, 4], "m8[Y]"),
        [np.timedelta64(1, "Y"), np.timedelta64(2, "Y")],
        [dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))), dt.datetime(2, 1, 1, tzinfo=dt.UTC)],
    ],
)
def test_what_has_no_meaning_is_refused_in_a_sentence(cells):
    with pytest.raises(InputError, match=r"Column 'a'.* got .* in row [01]"):
        TableEncoder().fit({"a": cells})


def test_wide_integers_of_polars_are_numbers():
    if not hasattr(pl, "Int128"):
        pytest.skip("this polars has no Int128")
    assert TableEncoder().fit({"a": pl.Series([1, 2, 5], dtype=pl.Int128)}).columns_[0].scale.high == 5.0


def test_the_style_that_was_found_is_no_parameter():
    encoder = TableEncoder().fit({"a": ["1,5", "2,25", "3"]})
    again = through_file(encoder)
    assert again.get_params() == encoder.get_params()
    assert np.array_equal(again.transform({"a": ["2,5"]}), encoder.transform({"a": ["2,5"]}))
    assert clone(again).fit({"a": ["1.5", "2.25", "3"]}).columns_[0].scale.low == 1.5


def test_what_a_reader_has_decided_stays_so_in_parts_of_the_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "c\n" + "".join(f"{cell}\n" for cell in ["1", "2", "3", "abc", "NA", "inf", "9007199254740993"] * 3)
    )
    cells = read_table(str(path)).columns["c"]
    part = cells[np.flatnonzero(np.arange(21) % 7 < 3)]
    assert TableEncoder().fit({"c": part}).columns_[0].kind == "category"
    assert TableEncoder().fit({"c": part}).transform({"c": cells}).shape == (21, 3)


def test_parts_keep_what_they_know_of_numbers_beside_texts():
    cells = read_cells("a", [1.5, "1.5", 2.5, "x"])[np.array([2, 3])]
    assert (cells.levels, cells.numbers) == (["2.5", "x"], {"2.5": True})
