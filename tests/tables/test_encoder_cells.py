"""Cells mean the same in a file and in a table: words for missing values, and numbers of many digits."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from mercer.errors import InputError
from mercer.tables import TableEncoder
from mercer.tables.reading import Rules, read_table
from mercer.tables.values import MISSING_WORDS
from refusals import tells

WORDS = sorted(MISSING_WORDS | {word.upper() for word in MISSING_WORDS} | {"Nan", "None"})
CELLS = (
    st.sampled_from(WORDS)
    | st.integers(-99, 99).map(str)
    | st.integers(-99, 99).map(lambda n: str(n + 0.5))
    | st.dates().map(str)
    | st.sampled_from(["red", "x1", "007", "inf", ""])
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(CELLS, min_size=3, max_size=9)
    | st.lists(st.sampled_from([*WORDS[:4], "1", "2", "2.5"]), min_size=3, max_size=9)
)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_a_column_of_texts_means_the_same_in_a_file_and_in_a_table(tmp_path, strict, cells):
    """Kind, levels, missing cells and numbers are the same, or both are refused."""
    path = tmp_path / "t.csv"
    path.write_text("x;n\n" + "".join(f'"{cell}";1\n' for cell in cells))
    table = {"x": cells, "n": [1.0] * len(cells)}
    try:
        columns = read_table(str(path), Rules(strict=strict)).columns
        from_file = TableEncoder(strict=strict).fit(columns)
    except InputError:
        with pytest.raises(InputError):
            TableEncoder(strict=strict).fit(table)
        return
    from_table = TableEncoder(strict=strict).fit(table)
    one, other = from_file.columns_[0], from_table.columns_[0]
    assert (one.kind, one.missing, one.levels, one.outputs) == (other.kind, other.missing, other.levels, other.outputs)
    np.testing.assert_array_equal(from_file.transform(columns), from_table.transform(table))
    np.testing.assert_array_equal(from_table.transform(columns), from_table.transform(table))


@pytest.mark.parametrize("word", WORDS)
def test_a_word_for_missing_is_missing_among_numbers_and_dates_and_a_word_among_words(word):
    for cells in (["1.5", word, "3", "7"], ["2020-01-01", word, "2020-01-05", "2020-02-01"], [1.5, word, 3, 7.0]):
        encoder = TableEncoder().fit({"a": cells})
        assert encoder.columns_[0].kind in {"number", "date"}
        assert encoder.columns_[0].missing == 1
        assert encoder.encode({"a": [word, cells[0]]}).values[:, -1].tolist() == [1.0, 0.0]
    assert "a=" + word in TableEncoder().fit({"a": [word, "red", word, "red"]}).names_out_
    assert TableEncoder({"a": "category"}).fit({"a": ["1", word, "1", "2"]}).columns_[0].missing == 0


def test_one_number_and_missing_words_is_a_category_wherever_it_comes_from():
    encoder = TableEncoder().fit({"a": ["5", "NA", "5"]})
    assert (encoder.columns_[0].kind, encoder.columns_[0].why) == ("category", "5 or missing")
    assert encoder.names_out_ == ["a=5", "a missing"]
    np.testing.assert_array_equal(encoder.transform({"a": ["NA", "5"]}), encoder.transform({"a": [None, 5]}))


IDS = [2**53 + place for place in range(4)]


@pytest.mark.parametrize(
    "cells",
    [IDS, np.array(IDS), np.array(IDS, dtype=np.uint64), list(map(Decimal, IDS)), list(map(str, IDS)), [*IDS, None]],
    ids=["ints", "int64", "uint64", "decimals", "texts", "gaps"],
)
def test_whole_numbers_of_many_digits_are_levels_or_refused(cells):
    with pytest.raises(InputError) as caught:
        TableEncoder().fit({"a": cells})
    assert tells(str(caught.value), "Column 'a'", "got '9007199254740993' in row 1")
    encoder = TableEncoder({"a": "category"}).fit({"a": cells})
    assert len(encoder.columns_[0].levels) == 4
    values = encoder.transform({"a": cells})
    assert len(np.unique(values, axis=0)) == len(cells)
    np.testing.assert_array_equal(encoder.transform({"a": cells[:1]}), values[:1])


def test_decimals_with_few_digits_are_numbers():
    scale = TableEncoder().fit({"a": [Decimal("0.1"), Decimal("2.50"), Decimal(2**60)]}).columns_[0].scale
    assert (scale.low, scale.high) == (0.1, 2.0**60)


# Automatic models


def test_columns_of_a_frame_are_found_by_name_in_any_order(rng):
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    y = (X["a"] - X["b"]).to_numpy()
    for model, target in ((mercer.AutoRegressor(committee=False), y), (mercer.AutoClassifier(committee=False), y > 0)):
        model.fit(X, target)
        expected = model.predict(X)
        np.testing.assert_array_equal(model.predict(X[["c", "a", "b"]]), expected)
        with pytest.raises(ValueError, match="Feature names unseen at fit time"):
            model.predict(X.rename(columns={"a": "z"}))
        with pytest.raises(ValueError, match="yet now missing"):
            model.predict(X[["a", "b"]])


def test_the_encoder_that_advice_names_exists():
    assert mercer.TableEncoder is TableEncoder
