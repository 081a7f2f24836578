"""Numbers as people write them: one reading, or a refusal."""

import pytest
from encoder_cases import through_file
from hypothesis import given
from hypothesis import strategies as st

from mercer import TableEncoder
from mercer.errors import InputError
from mercer.tables.cells import read_cells
from mercer.tables.values import NumberStyle, bare_number, find_style, find_unit


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("$1,234.50", ("1,234.50", "$", "")), ("-$5", ("-5", "$", "")), ("$-5", ("-5", "$", "")),
        ("(5)", ("-5", "", "")), ("($5)", ("-5", "$", "")), ("\u22125", ("-5", "", "")), ("12%", ("12", "", "%")),
        ("12 €", ("12", "", "€")), ("EUR 12", ("12", "EUR", "")), ("12.5kg", ("12.5", "", "kg")),
        ("36 months", ("36", "", "months")), ("1\u2009234\u202f567", ("1234567", "", "")), ("1'234", ("1234", "", "")),
        ("4 m2", ("4", "", "m2")), ("-3 °C", ("-3", "", "°C")), ("1e5", ("1e5", "", "")), ("5 MB", ("5", "", "MB")),
        ("12 34", None), ("1'23", None), ("A12", None), ("12A", None), ("(5", None), ("5)", None), ("--5", None),
        ("(-5)", None), ("1 kg 2", None), ("", None), ("kg", None), ("1-2", None), ("v1.2", None),
    ],
)  # fmt: skip
def test_a_number_without_what_stands_around_it(text, bare):
    assert bare_number(text) == bare


@pytest.mark.parametrize(
    ("columns", "style"),
    [
        ([["153.1", "713,935"]], (".", ",")),
        ([["153.1"], ["713,935"]], (".", ",")),
        ([["1,234,567"]], (".", ",")),
        ([["1.234.567"]], (",", ".")),
        ([["1,5", "1.234"]], (",", ".")),
        ([["$1,234.50"], ["12.5%"]], (".", ",")),
        ([["1.234", "2.5"]], (".", "")),
        ([["1.234"]], (".", "")),
        ([["12", "13"]], None),
        ([["1.2.3", "4.5.6"]], None),
    ],
)
def test_one_reading_is_found(columns, style):
    found = find_style(read_cells(f"c{place}", cells) for place, cells in enumerate(columns))
    assert found == (None if style is None else NumberStyle(*style))


@pytest.mark.parametrize("columns", [[["1,234"]], [["1,234", "1.234"]], [["1,5"], ["2.5"]], [["1,5"], ["1.234"]]])
def test_two_readings_are_refused(columns):
    with pytest.raises(InputError, match=r"decimal"):
        find_style(read_cells(f"c{place}", cells) for place, cells in enumerate(columns))


@given(st.integers(-(10**9), 10**9), st.sampled_from([",", "'", " ", "\u00a0", "\u202f"]), st.booleans())
def test_grouped_numbers_are_read_back(number, gap, brackets):
    text = f"{abs(number):,}.25".replace(",", gap)
    text = (f"({text})" if brackets else f"-{text}") if number < 0 else text
    expected = (abs(number) + 0.25) * (-1 if number < 0 else 1)
    assert NumberStyle(".", ",").read(text) == expected


def test_units_that_differ_are_no_unit():
    assert find_unit(["12 kg", "3 lb"]) is None
    assert find_unit(["12 kg", "3"]) is None
    assert find_unit(["A1", "A2"]) is None
    assert TableEncoder().fit({"a": ["12 kg", "3 lb"] * 10}).columns_[0].kind == "category"


def test_new_cells_need_the_unit_of_training_or_are_numbers():
    encoder = TableEncoder().fit({"a": ["12.5 kg", "8 kg", "9.5 kg"]})
    assert encoder.columns_[0].why == "numbers in kg"
    again = through_file(encoder)
    assert again.transform({"a": ["8 kg"]}) == encoder.transform({"a": [8.0]})
    for cell in ("8", "8 lb", "8 kg kg"):
        with pytest.raises(InputError, match="must be numbers with 'kg' after them"):
            encoder.transform({"a": [cell]})
