"""Dates, times of day and durations in text: one reading of the whole column, or a refusal that names the way out."""

import datetime as dt
import warnings

import numpy as np
import pytest
from encoder_cases import through_file
from hypothesis import given
from hypothesis import strategies as st

from mercer import TableEncoder
from mercer.errors import InputError, LeftOutWarning
from mercer.tables.cells import read_cells
from mercer.tables.dates import check_format, find_format, read_day

MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2099, 12, 31)).map(lambda m: m.replace(microsecond=0))  # noqa: DTZ001
FORMATS = {
    "day first": "%d.%m.%Y %H:%M:%S",
    "month first": "%m/%d/%Y %I:%M:%S %p",
    "year first": "%Y/%m/%d %H:%M:%S",
    "": "%Y-%m-%dT%H:%M:%S",
}


@pytest.mark.parametrize("form", FORMATS)
@given(moment=MOMENTS)
def test_what_strftime_writes_is_read_back(form, moment):
    days = (moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)  # noqa: DTZ001
    assert read_day(moment.strftime(FORMATS[form]), form) == pytest.approx(days, abs=1e-7)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("31.2.2020", "day first"), ("13.13.2020", "day first"), ("25:00", "clock"), ("13:00 pm", "clock"),
        ("20201301", "digits"), ("1.2/2020", "day first"), ("2020-08-25x", ""), ("", "duration"), ("d", "duration"),
        ("2020", "year first"), ("٣.٢.٢٠٢٠", "day first"),
    ],
)  # fmt: skip
def test_what_is_no_date_is_not_read(text, form):
    assert read_day(text, form) is None


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["1.2.2020", "13.2.2020"], "day first"),
        (["1/2/2020", "2/13/2020 7:45 am"], "month first"),
        (["07:45", "23:59:59.5"], "clock"),
        (["07:45", "24:00"], "duration"),
        (["2 days 01:00:00", "0 days 00:30:00"], "duration"),
        (["20200825", "20200826", "19991231"], "digits"),
        (["20200825", "20200826"], None),  # two numbers may be chance
        (["31 Dec 2020", "1 Jan 2021"], "%d %b %Y"),
        (["1.2.2020", "13/2/2020"], "day first"),
        (["1.2.2020", "x"], None),
        (["1.2.20", "13.2.20"], None),
        ([], None),
    ],
)
def test_the_whole_column_tells_the_format(texts, form):
    assert find_format(read_cells("a", texts)) == form


def test_a_column_that_allows_both_orders_is_refused_unless_the_format_is_said():
    with pytest.raises(InputError, match=r"Column 'same' is ambiguous: in '5/5/2020' in row 0 the day"):
        find_format(read_cells("same", ["5/5/2020", "6/6/2020"]))  # new ones could be either
    cells = read_cells("when", ["3/4/2020", "5/5/2020"])
    with pytest.raises(InputError, match=r"Column 'when' is ambiguous: in '3/4/2020' in row 0 the day or the month"):
        find_format(cells)
    assert find_format(cells, "%d/%m/%Y") == "%d/%m/%Y"
    encoder = TableEncoder(date_format="%m/%d/%Y").fit({"when": ["3/4/2020", "5/6/2020", "7/8/2020"]})
    again = through_file(encoder)
    for each in (encoder, again):
        assert each.transform({"when": ["3/4/2020"]})[0, 0] == each.transform({"when": ["2020-03-04"]})[0, 0]


@pytest.mark.parametrize("form", ["d/m/y", "", 3, "%Q", "%d/%d"])
def test_a_format_that_is_none_is_refused(form):
    with pytest.raises(InputError, match=r"The date format must be a format of strptime, such as '%d/%m/%Y'"):
        check_format(form)


def test_the_time_of_the_day_goes_round():
    """Midnight is near to midnight; columns of days have no such features."""
    hours = np.arange(0, 24 * 60, 7)
    encoder = TableEncoder().fit({"t": [f"{h // 60:02d}:{h % 60:02d}" for h in hours]})
    assert encoder.names_out_ == ["t", "t sin(day)", "t cos(day)"]
    late, early, noon = encoder.transform({"t": ["23:58", "00:02", "12:00"]})[:, 1:]
    assert np.linalg.norm(late - early) < 0.02
    assert np.linalg.norm(late - noon) > 1.3
    stamps = [f"2024-01-{1 + i % 28:02d}T{i % 24:02d}:00" for i in range(60)]
    assert "s cos(day)" in TableEncoder().fit({"s": stamps}).names_out_
    days = [f"2024-01-{1 + i:02d}" for i in range(28)]
    assert not any("(day)" in name for name in TableEncoder().fit({"s": days}).names_out_)


def test_whole_numbers_that_are_dates_are_dates_in_every_table():
    numbers = [20200100 + i for i in range(1, 29)]
    for column in (numbers, [float(n) for n in numbers], [*numbers[:-1], None], [str(n) for n in numbers]):
        found = TableEncoder().fit({"d": column}).columns_[0]
        assert (found.kind, found.why) == ("date", "dates such as 20201231")
    asked = TableEncoder({"d": "number"}).fit({"d": numbers})
    assert asked.columns_[0].kind == "number"


def test_durations_are_numbers_of_days():
    encoder = TableEncoder().fit({"d": ["26:30:00", "01:00:00", "12:00:00"]})
    assert encoder.columns_[0].kind == "number"
    assert encoder.columns_[0].scale.high == pytest.approx(26.5 / 24)
    assert read_day("-1 day, 18:00:00", "duration") == read_day("-1 days +18:00:00", "duration") == -0.25
    assert read_day("-06:00:00", "duration") == -0.25
    same = encoder.transform({"d": [dt.timedelta(hours=12)]}), encoder.transform({"d": ["12:00:00"]})
    assert same[0] == pytest.approx(same[1])


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([f"{1 + i % 28}.{1 + i % 12}.{20 + i // 28}" for i in range(40)], "looks like dates"),
        ([f"{i}.5" if i % 3 else f"about {i}" for i in range(40)], "look like numbers"),
        (list(range(1, 41)), "counts the rows"),
    ],
)
def test_a_column_that_is_left_out_and_looks_useful_is_warned_of(cells, words):
    with pytest.warns(LeftOutWarning, match=f"Column 'a' was left out: .*{words}"):
        TableEncoder().fit({"a": cells, "b": np.sin(np.arange(40))})


def test_identifiers_and_the_only_column_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit({"a": [f"key-{i}x" for i in range(40)], "b": np.sin(np.arange(40))})
        assert TableEncoder().fit({"a": range(1, 41)}).names_out_ == ["a"]
        assert TableEncoder().fit(np.arange(40.0)[:, None]).names_out_ != []
