"""Subsequences with gaps: held against every choice of positions, and against the recursion as printed."""

import math
import pickle

import numpy as np
import pytest
import text_oracles as slow
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from text_oracles import texts, token_lists

from formulas import worst
from mercer.kernels import Spectrum, Subsequence, counts, parse, tiles
from mercer.testing import check_kernel
from refusals import refusal, tells

EPS = np.finfo(float).eps
lengths, decays = st.integers(1, 5), st.sampled_from([0.001, 0.3, 0.5, 1, 1.0])


def many(rng, count, letters="abc", longest=9):
    return ["".join(rng.choice(list(letters), size=rng.integers(longest))) for _ in range(count)]


# -- values -----------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.one_of(texts, token_lists), st.one_of(texts, token_lists), lengths, decays)
def test_values_are_sums_over_all_choices_of_positions(X, Z, length, decay):
    kernel = Subsequence(length, decay)
    right = slow.table(slow.subsequence, X, length=length, decay=decay)
    assert worst(kernel(X), right) < 1e-13
    assert worst(kernel.diag(X), right.diagonal()) < 1e-13
    assert worst(kernel(X, Z), slow.table(slow.subsequence, X, Z, length=length, decay=decay)) < 1e-13
    assert worst(kernel(X, Z), kernel(X + Z)[: len(X), len(X) :]) < 1e-13
    assert worst(kernel(X, dtype=np.float32), right) < 1e-6


@given(st.lists(st.text("ab", max_size=14), min_size=1, max_size=4), st.integers(1, 7), st.floats(0.01, 1.0))
def test_values_are_those_of_the_printed_recursion(X, length, decay):
    right = slow.table(slow.lodhi, X, length=length, decay=decay)
    assert worst(Subsequence(length, decay)(X), right) < 1e-12


def test_small_values_keep_their_digits():
    for length in range(1, 7):
        K = Subsequence(length, 0.001)(["abcabcab", "cabab"])
        right = slow.table(slow.subsequence, ["abcabcab", "cabab"], length=length, decay=0.001)
        assert K == pytest.approx(right, rel=1e-12, abs=0.0)


def test_the_cat_and_the_car_of_the_paper():
    decay = 0.7
    K = Subsequence(2, decay)(["cat", "car"])
    assert K[0, 1] == pytest.approx(decay**4)
    assert K[0, 0] == pytest.approx(2 * decay**4 + decay**6)
    assert Subsequence(2, decay).normalized()(["cat", "car"])[0, 1] == pytest.approx(1 / (2 + decay**2))


def test_without_decay_it_counts_subsequences():
    assert Subsequence(4, 1.0)(["a" * 10]).tolist() == [[math.comb(10, 4) ** 2]]
    assert Subsequence(3, 1.0)(["a" * 10], ["a" * 7]).tolist() == [[math.comb(10, 3) * math.comb(7, 3)]]


def test_one_letter_is_the_spectrum_of_letters(rng):
    X = many(rng, 20)
    assert worst(Subsequence(1, 0.5)(X), 0.25 * Spectrum(1)(X)) < 1e-15


@given(texts, lengths, decays)
def test_random_texts_give_no_negative_eigenvalue(X, length, decay):
    kernel = Subsequence(length, decay)
    assert kernel.certificate().valid is True
    assert kernel.normalized().certificate().valid is True
    for K in (kernel(X), kernel.normalized()(X)):
        values = np.linalg.eigvalsh(K)
        assert values[0] >= -len(X) * EPS * max(values[-1], 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_tiles_and_chunks_make_no_difference(length, rng, monkeypatch):
    X, Z = many(rng, 31), many(rng, 17, "abd\u00e9")
    monkeypatch.setattr(tiles.blocks, "__defaults__", (10,))
    monkeypatch.setattr(counts, "_CELLS", 60)
    monkeypatch.setattr(counts, "_PAIR_CELLS", 100)
    kernel = Subsequence(length, 0.6)
    right = slow.table(slow.subsequence, X, length=length, decay=0.6)
    assert worst(kernel(X), right) < 1e-13
    assert worst(kernel.diag(X), right.diagonal()) < 1e-13
    assert worst(kernel(X, Z), slow.table(slow.subsequence, X, Z, length=length, decay=0.6)) < 1e-13


@pytest.mark.parametrize("cells", [1, 7, 2_000_000])
def test_texts_much_longer_than_a_chunk_are_whole(cells, monkeypatch):
    monkeypatch.setattr(counts, "_CELLS", cells)
    monkeypatch.setattr(counts, "_PAIR_CELLS", cells)
    X = ["", "ab" * 8, "a", "b" * 11, ""]
    for length in (1, 2, 3, 4):
        right = slow.table(slow.subsequence, X, length=length, decay=0.5)
        assert worst(Subsequence(length)(X), right) < 1e-13
        assert worst(Subsequence(length)(X, X[1:3]), right[:, 1:3]) < 1e-13


@pytest.mark.parametrize("length", [2, 4])
@pytest.mark.slow
def test_more_texts_than_one_tile_holds(length, rng):
    some = many(rng, 20, longest=7)
    places, others = rng.integers(20, size=620), rng.integers(20, size=30)
    right = slow.table(slow.subsequence, some, length=length, decay=0.5)
    X, Z = [some[i] for i in places], [some[i] for i in others]
    assert worst(Subsequence(length)(X), right[np.ix_(places, places)]) < 1e-13
    assert worst(Subsequence(length)(X, Z), right[np.ix_(places, others)]) < 1e-13


@pytest.mark.parametrize("length", [1, 2, 3, 4, 10**9])
def test_empty_short_and_no_texts_are_fine(length):
    kernel = Subsequence(length)
    assert kernel(["", ""]).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert kernel([]).shape == (0, 0)
    assert kernel(["a"], []).shape == (1, 0)
    assert kernel([], ["a"]).shape == (0, 1)
    assert kernel.diag([]).shape == (0,)
    assert kernel.normalized()(["", "abcd"]).tolist() == [[0.0, 0.0], [0.0, float(length <= 4)]]


@pytest.mark.slow
def test_an_overflow_is_refused():
    assert refusal(Subsequence(270, 1.0), ["a" * 540]).startswith(
        "Every value of Subsequence(length=270, decay=1.0) must be finite"
    )


# -- as values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Subsequence(1), Subsequence(2), Subsequence(), Subsequence(4, 0.9)], ids=repr)
def test_subsequences_sit_the_exam(kernel):
    X = ["abab", "ba", "", "\U0001f600e\u0301a\U0001f600", "a", "abab", "\ud800ab\ud800"]
    for k in (kernel, kernel.normalized(), 2.0 * kernel + kernel**2):
        check_kernel(k, X)
        assert parse(repr(k)) == k
        assert pickle.loads(pickle.dumps(k)) == k
        assert clone(k) is k


def test_equal_parameters_are_equal_kernels():
    assert Subsequence(3, 1) == Subsequence(3, 1.0)
    assert len({Subsequence(), Subsequence(3, 0.5), Subsequence(2)}) == 2
    assert Subsequence(3, 0.5) != Spectrum(3)


@pytest.mark.parametrize("decay", [0, -0.5, 1.5, math.nan, math.inf, "half", None, True, 1e-4], ids=repr)
def test_decay_lies_between_nothing_and_one(decay):
    assert tells(refusal(Subsequence, 2, decay), "decay of Subsequence", f"got {decay!r}")


@pytest.mark.parametrize("length", [0, 1.5, "2", None], ids=repr)
def test_lengths_are_positive_whole_numbers(length):
    assert refusal(Subsequence, length).startswith("length of Subsequence must be ")


@pytest.mark.parametrize("length", [2, 4])
def test_rows_without_letters_are_refused(length):
    kernel = Subsequence(length)
    assert tells(refusal(kernel, ["ab", None]), "Rows of Subsequence", "got None in row 1")
    assert tells(refusal(kernel, [{"a"}]), "Rows of Subsequence", "got {'a'} in row 0")
    assert refusal(kernel, np.ones((2, 3))).startswith("Rows of Subsequence must be objects such as texts; got a table")


@pytest.mark.parametrize("ask", ["feature_map", "feature_names"])
def test_it_offers_no_features(ask):
    assert "has no finite feature map" in refusal(getattr(Subsequence(), ask), ["ab"])
