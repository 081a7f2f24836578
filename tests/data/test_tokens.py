"""Texts and collections as numbers: every letter, word and run of them where it stands."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.data import tokens as module
from mercer.data.tokens import count_codes, letters, substrings, words
from refusals import refusal, tells

# plain and accented letters, a combining mark, an emoji, lone surrogates, a null and several kinds of white space
LETTERS = "ab \u00e9e\u0301\U0001f600\ud800\udfff\x00\u3000\n"
texts = st.lists(st.text(LETTERS, max_size=8), max_size=6)
sequences = st.lists(
    st.one_of(
        st.text(LETTERS, max_size=6),
        st.lists(st.sampled_from(["a", "b", 1, (1, "a"), None]), max_size=6),
        st.lists(st.integers(0, 2), max_size=6).map(tuple),
        st.binary(max_size=4),
    ),
    max_size=6,
)


def spelled(found):
    """What the numbers say, sequence by sequence."""
    rows = [[] for _ in range(found.count)]
    for code, owner in zip(found.codes, found.owner, strict=True):
        rows[owner].append(found.known[code])
    return rows


@given(texts)
def test_letters_of_texts_are_their_code_points(values):
    found = letters("Spectrum", values)
    assert spelled(found) == [list(value) for value in values]
    assert found.lengths.tolist() == [len(value) for value in values]
    assert len(set(found.known)) == len(found.known)


@given(sequences)
def test_letters_of_sequences_are_their_elements(values):
    found = letters("Spectrum", values)
    assert spelled(found) == [list(value) for value in values]
    assert found.lengths.tolist() == [len(value) for value in values]


@given(sequences)
def test_words_stand_between_white_space_and_elements_stand_for_themselves(values):
    expected = [value.split() if isinstance(value, str) else list(value) for value in values]
    assert spelled(words("Words", values)) == expected


@pytest.mark.slow
@given(st.lists(st.sets(st.text("ab", max_size=2))))
def test_words_of_sets_are_their_members(values):
    assert [set(row) for row in spelled(words("Words", values))] == values


def test_a_letter_and_its_combining_mark_are_two_letters():
    assert letters("Spectrum", ["e\u0301", "\u00e9"]).lengths.tolist() == [2, 1]
    assert letters("Spectrum", ["\U0001f468\u200d\U0001f469"]).lengths.tolist() == [3]


def test_numbers_that_are_equal_are_one_symbol():
    assert letters("Spectrum", [[1, 1.0, True, np.int64(1)]]).known == [1]


def test_texts_of_numpy_are_texts():
    values = np.array(["ab", "b"])
    assert spelled(letters("Spectrum", values)) == [["a", "b"], ["b"]]
    assert spelled(words("Words", values)) == [["ab"], ["b"]]


@pytest.mark.parametrize("take", [letters, words])
def test_no_sequences_and_empty_ones_are_fine(take):
    assert take("Words", []).lengths.tolist() == []
    assert take("Words", ["", ""]).lengths.tolist() == [0, 0]
    assert take("Words", [[], ""]).lengths.tolist() == [0, 0]


@pytest.mark.parametrize("value", [None, np.nan, 3, 2.5], ids=repr)
def test_what_has_no_parts_is_refused_with_its_row(value):
    assert tells(refusal(words, "Words", ["a", value]), "Rows of Words", f"got {value!r} in row 1")
    assert tells(refusal(letters, "Spectrum", ["a", value]), "Rows of Spectrum", f"got {value!r} in row 1")


def test_a_generator_among_the_rows_is_refused():
    assert "in row 0." in refusal(words, "Words", [(word for word in "ab")])


@pytest.mark.parametrize("value", [{"a"}, frozenset("a"), {"a": 1}.keys()], ids=["set", "frozenset", "keys"])
def test_sets_have_no_order_and_so_no_letters(value):
    assert tells(refusal(letters, "Spectrum", ["ab", value]), "Rows of Spectrum", f"got {value!r} in row 1")


@pytest.mark.parametrize("value", [{"a": 2}, Counter("aa")], ids=["dict", "Counter"])
def test_mappings_are_refused_rather_than_cut_down_to_their_keys(value):
    assert tells(refusal(words, "Words", [value]), "Rows of Words", f"got {value!r} in row 0")


def test_parts_that_cannot_be_told_apart_are_refused_with_their_row():
    assert tells(refusal(words, "Words", [["a"], [["b"]]]), "Every item in the", "got an unhashable item in row 1")


def test_counts_say_how_often_each_code_occurs():
    table = count_codes(np.array([0, 0, 2]), np.array([1, 1, 0]), 4, 2)
    assert table.toarray().tolist() == [[0, 2], [0, 0], [1, 0], [0, 0]]


def runs(value, length):
    return Counter(tuple(value[i : i + length]) for i in range(len(value) - length + 1))


def counted_runs(values, length):
    """The same from `substrings`."""
    found = letters("Spectrum", values)
    owner, numbers, first = substrings(found, length)
    names = [tuple(found.known[code] for code in found.codes[start : start + length]) for start in first]
    assert len(set(names)) == len(names)
    result = [Counter() for _ in values]
    for row, number in zip(owner, numbers, strict=True):
        result[row][names[number]] += 1
    return result


@given(sequences, st.integers(1, 9))
def test_substrings_are_all_runs_within_one_sequence(values, length):
    assert counted_runs(values, length) == [runs(value, length) for value in values]


@given(texts, st.integers(1, 9), st.integers(1, 40))
def test_substrings_are_renumbered_before_their_numbers_run_over(values, length, largest):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LARGEST", largest)
        assert counted_runs(values, length) == [runs(value, length) for value in values]


def test_long_substrings_of_a_large_alphabet_do_not_run_over():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))
    values = [text, text[::-1], text[:40] * 2]
    assert counted_runs(values, 30) == [runs(value, 30) for value in values]


def test_substrings_longer_than_every_text_cost_nothing():
    owner, numbers, first = substrings(letters("Spectrum", ["abc", ""]), 10**12)
    assert len(owner) == len(numbers) == len(first) == 0
