"""Columns of texts as numbers, numbers without marks, and encoders that hold no cell.

Covers: tables.texts.
"""

import re
from dataclasses import astuple

import numpy as np
import pytest
from encoder_cases import through_file

from mercer import TableEncoder
from mercer.errors import InputError
from mercer.kernels import Words
from mercer.tables.texts import MOST_DIRECTIONS, MOST_PARTS, learn_parts

NOTES = ["good red wine", "Good white wine!", "bad red fish", "bad old fish, very bad", "old white bread"]


def encoder_of(texts, **settings):
    return TableEncoder({"note": "text"}, **settings).fit({"note": texts})


def slowly(texts):
    """Weighed counts of the words of two texts or more, one text after the other."""
    split = [re.findall(r"\w+", text.lower()) for text in texts]
    known = sorted({w for words in split for w in words if 1 < sum(w in other for other in split) < len(texts)})
    rows = [sum(w in words for words in split) for w in known]
    counts = np.array([[words.count(w) for w in known] for words in split])
    Z = np.where(counts, 1 + np.log(np.maximum(counts, 1)), 0) * (1 + np.log(len(texts) / np.array(rows)))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def test_similarities_are_those_of_weighed_and_normalised_counts_of_words():
    points = encoder_of(NOTES * 30).transform({"note": NOTES})
    Z = slowly(NOTES * 30)[:5]
    assert np.linalg.norm(points, axis=1) == pytest.approx(0.5)
    assert 4 * points @ points.T == pytest.approx(Z @ Z.T, abs=1e-12)


def test_with_words_of_equal_weight_it_is_the_words_kernel():
    texts = ["a b c", "a c d", "b d e", "e f c", "f a b", "d e f"]  # each word in three of six texts
    points = encoder_of(texts * 20).transform({"note": texts})
    assert 4 * points @ points.T == pytest.approx(Words().normalized()(texts), abs=1e-12)


def test_short_texts_are_taken_by_their_letters():
    column = encoder_of(["Anna", "Hanna", "Johanna", "Otto"]).columns_[0]
    assert column.parts.letters
    assert column.parts.known == ("ann", "han", "na ", "nna")
    assert column.why == "set by the user; 4 runs of three letters in two rows or more"


def test_width_and_vocabulary_are_capped_and_the_most_common_words_stay():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.3, 40) % 5000) for _ in range(200)]
    assert len(encoder_of(texts).names_out_) == 25  # one for eight rows
    assert len(encoder_of(texts[:20]).names_out_) == 8
    encoder = encoder_of(texts * 3)
    assert len(encoder.names_out_) == MOST_DIRECTIONS
    assert encoder.names_out_[:2] == ["note 1", "note 2"]
    parts = encoder.columns_[0].parts
    assert len(parts.known) <= MOST_PARTS
    assert "w2" in parts.known
    assert parts.directions.T @ parts.directions == pytest.approx(np.eye(MOST_DIRECTIONS), abs=1e-10)


def test_words_of_all_rows_or_of_one_say_nothing():
    assert learn_parts(["the sun", "the rain", "the wind"], np.array([1, 1, 1]), letters=False) is None
    encoder = encoder_of(["the sun is up", "the rain was wet", "the wind blows hard"])
    assert encoder.names_out_ == []
    assert encoder.columns_[0].why == "set by the user; no words tell rows apart"


def test_missing_texts_have_a_place_of_their_own_and_strange_ones_none():
    encoder = encoder_of([*NOTES, None])
    found = encoder.encode({"note": ["good fish", None, "xyz", "red"]})
    assert encoder.names_out_[-1] == "note missing"
    assert found.values[1].tolist() == [*[0.0] * (len(encoder.names_out_) - 1), 0.5]
    assert not found.values[2].any()
    (told,) = found.report.columns
    assert (told.unseen, told.missing, told.example) == (1, 0, "xyz")
    (told,) = encoder_of(NOTES).encode({"note": [None]}).report.columns
    assert told.missing == 1


def test_bare_texts_are_told_only_where_they_are_clearly_more_than_in_training():
    texts = [*NOTES * 3, "nothing of these words", "neither"]
    encoder = encoder_of(texts)
    assert encoder.columns_[0].parts.bare == pytest.approx(2 / 17)
    assert encoder.encode({"note": texts}).report.columns == ()
    assert encoder.encode({"note": ["unheard", *NOTES]}).report.columns == ()
    assert encoder.encode({"note": ["unheard", "unseen", *NOTES]}).report.columns[0].unseen == 2


def test_numbers_and_dates_can_be_texts_too():
    encoder = TableEncoder({"a": "text"}).fit({"a": [101, 102, 101, 205, 205]})
    assert encoder.columns_[0].parts.letters


def test_texts_come_back_from_a_file():
    table = {
        "note": [*NOTES, None],
        "name": ["Anna", "Hanna", "Otto", "Lotte", "Anne", "Hanne"],
        "x": [1, 2, 4, 5, 6, None],
    }
    encoder = TableEncoder({"name": "text", "note": "text"}, missing="mean").fit(table)
    again = through_file(encoder)
    assert again.columns_ == encoder.columns_
    assert again.settings == encoder.settings
    assert len({again.columns_[0].parts, encoder.columns_[0].parts}) == 1
    assert np.array_equal(again.transform(table), encoder.transform(table))


def test_missing_numbers_and_dates_get_the_mean_and_no_mark_where_that_was_asked():
    table = {
        "x": [1.0, 2.0, 9.0, None],
        "day": ["2020-01-01", "2020-01-02", None, "2020-01-09"],
        "c": ["a", "b", "a", None],
    }
    encoder = TableEncoder(missing="mean").fit(table)
    assert encoder.names_out_ == ["x", "day", "c=a", "c=b", "c missing"]
    found = encoder.transform(table)
    assert found[3, 0] == 0.0
    mean, spread = np.mean([0, 1, 8]), np.std([0, 1, 8])
    assert found[2, 1] == pytest.approx((mean - 1) / spread)
    assert encoder.encode(table).report.columns == ()
    with pytest.raises(InputError, match="missing of TableEncoder must be 'mark' or 'mean'; got 'median'"):
        TableEncoder(missing="median").fit(table)


# Encoders that hold no cell


def test_a_rounded_encoder_holds_no_cell_and_encodes_almost_the_same():
    rng = np.random.default_rng(1)
    table = {
        "x": rng.normal(50, 10, 31),
        "day": np.datetime64("2020-01-01T03:07:11") + rng.integers(0, 10**7, 31),
        "c": ["a", "b", "c"] * 10 + ["a"],
    }
    encoder = TableEncoder().fit(table)
    rounded = encoder.rounded()
    for column, before in zip(rounded.columns_[:2], encoder.columns_[:2], strict=True):
        assert column.scale.low <= before.scale.low < before.scale.high <= column.scale.high
        assert abs(column.scale.fill - before.scale.fill) <= 0.05 * before.scale.spread
    cells = {*table["x"].tolist(), *((table["day"] - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")).tolist()}
    assert cells.isdisjoint(value for column in rounded.columns_ if column.scale for value in astuple(column.scale))
    assert np.abs(rounded.transform(table) - encoder.transform(table)).max() < 0.1
    assert np.array_equal(rounded.transform(table)[:, 0], encoder.transform(table)[:, 0])
