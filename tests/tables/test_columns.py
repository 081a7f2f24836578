"""What columns become: numbers, levels, truth values, dates and texts."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from encoder_cases import HALF, mixed

from mercer import TableEncoder


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


def test_of_very_many_levels_the_most_frequent_are_kept():
    column = TableEncoder().fit({"a": [f"l{i:03d}" for i in range(310) for _ in range(2 + (i < 5))]}).columns_[0]
    assert (len(column.levels), len(column.pooled)) == (300, 10)
    assert set(column.levels) >= {f"l{i:03d}" for i in range(5)}


def test_levels_seen_once_are_pooled_only_where_levels_are_many():
    values = [f"l{i:02d}" for i in range(20)] + ["often"] * 30
    assert TableEncoder().fit({"a": values}).columns_[0].pooled == ()


def test_levels_beyond_three_hundred_share_a_column_with_unseen_ones():
    values = [f"common{i:03d}" for i in range(300) for _ in range(4)] + [f"rare{i}" for i in range(20)]
    encoder = TableEncoder(kinds={"a": "category"}).fit({"a": values})
    column = encoder.columns_[0]
    assert len(column.levels) == 300
    assert column.levels[0] == "common000"
    assert len(column.pooled) == 20
    assert encoder.names_out_[-1] == "a other"
    new = encoder.encode({"a": ["rare3", "common000", "never", None]})
    assert new.values.sum(axis=1).tolist() == [HALF, HALF, HALF, 0.0]
    assert new.values[[0, 2], 300].tolist() == [HALF, HALF]
    assert (new.report.columns[0].unseen, new.report.columns[0].missing, new.report.columns[0].example) == (
        1,
        1,
        "never",
    )


def test_levels_seen_once_have_a_column_of_their_own_and_unseen_ones_are_zeros():
    """Pooling what is seen once would look at held-out rows to tell which levels these are."""
    encoder = TableEncoder(kinds={"a": "category"}).fit({"a": [f"level{i}" for i in range(60)]})
    assert (len(encoder.columns_[0].levels), encoder.columns_[0].pooled) == (60, ())
    assert encoder.transform({"a": ["level7", "never"]}).sum(axis=1).tolist() == [HALF, 0.0]


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
def test_a_column_of_texts_in_which_no_words_tell_rows_apart_is_named_and_gives_no_numbers():
    table = mixed()
    encoder = TableEncoder().fit(table)
    assert encoder.texts_ == ["note"]
    assert encoder.columns_[5].why.endswith("; no words tell rows apart")
    assert not encoder.columns_[5].outputs
