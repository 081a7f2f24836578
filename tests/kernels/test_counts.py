"""Words, Spectrum and Jaccard: held against counting by hand."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import text_oracles as slow
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from text_oracles import mixed, texts, token_lists

from formulas import worst
from mercer.kernels import Jaccard, Linear, Spectrum, Words, counts, parse, tiles
from mercer.testing import check_kernel
from refusals import refusal, tells

EPS = np.finfo(float).eps
GREETINGS = ["hello", "morning", "hi", "hallo", "moin", "servus"]
KERNELS = [Words(), Words(["a", "b"]), Spectrum(1), Spectrum(2), Spectrum(3, shortest=1), Jaccard()]


def expected(kernel, X, Z=None):
    """Any of the three, by its definition."""
    formula = {Words: slow.words, Spectrum: slow.spectrum, Jaccard: slow.jaccard}[type(kernel)]
    return slow.table(formula, X, Z, **kernel.get_params())


def many(rng, count, letters="ab c", longest=12):
    return ["".join(rng.choice(list(letters), size=rng.integers(longest))) for _ in range(count)]


# -- values -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(X=st.one_of(texts, token_lists, mixed), Z=st.one_of(texts, token_lists, mixed))
def test_values_are_those_of_counting_by_hand(kernel, X, Z):
    right = expected(kernel, X)
    assert worst(kernel(X), right) < 1e-15
    assert worst(kernel.diag(X), right.diagonal()) < 1e-15
    assert worst(kernel(X, Z), expected(kernel, X, Z)) < 1e-15
    assert worst(kernel(X, Z), kernel(X + Z)[: len(X), len(X) :]) < 1e-15
    assert (kernel(X, X) == kernel(X)).all()
    assert worst(kernel(X, dtype=np.float32), right) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(X=texts)
def test_random_texts_give_no_negative_eigenvalue(kernel, X):
    assert kernel.certificate().valid is True
    assert kernel.normalized().certificate().valid is True
    for K in (kernel(X), kernel.normalized()(X)):
        values = np.linalg.eigvalsh(K)
        assert values[0] >= -len(X) * EPS * max(values[-1], 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(X=texts)
def test_normalized_divides_by_lengths_and_is_zero_without_one(kernel, X):
    K = expected(kernel, X)
    length = np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    right = np.divide(K, length, out=np.zeros_like(K), where=length > 0)
    assert worst(kernel.normalized()(X), right) < 1e-14
    assert kernel.normalized().diag(X).tolist() == (K.diagonal() > 0).astype(float).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dense", [0.0, 1.0], ids=["dense", "sparse"])
def test_tiles_make_no_difference(kernel, dense, rng, monkeypatch):
    X, Z = many(rng, 41), many(rng, 23, "abd ")
    monkeypatch.setattr(tiles.blocks, "__defaults__", (7,))
    monkeypatch.setattr(counts, "_DENSE", dense)
    assert worst(kernel(X), expected(kernel, X)) < 1e-15
    assert worst(kernel(X, Z), expected(kernel, X, Z)) < 1e-15
    assert worst(kernel(X, Z, dtype=np.float32), expected(kernel, X, Z)) < 1e-6


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.slow
def test_more_texts_than_one_tile_holds(kernel, rng):
    some = many(rng, 25)
    places, others = rng.integers(25, size=1100), rng.integers(25, size=510)
    K = expected(kernel, some)
    X, Z = [some[i] for i in places], [some[i] for i in others]
    assert worst(kernel(X), K[np.ix_(places, places)]) < 1e-15
    assert worst(kernel(X, Z), K[np.ix_(places, others)]) < 1e-15


@pytest.mark.parametrize("widest", [2, 10**6], ids=["sparse", "dense"])
def test_wide_counts_are_multiplied_sparse(widest, rng, monkeypatch):
    monkeypatch.setattr(counts, "_WIDEST", widest)
    X = many(rng, 30, "abcdefgh", 30)
    assert worst(Spectrum(2)(X), expected(Spectrum(2), X)) == 0.0


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_empty_texts_and_no_texts_are_fine(kernel):
    one = 1.0 if kernel == Jaccard() else 0.0
    assert kernel(["", ""]).tolist() == [[one, one], [one, one]]
    assert kernel([""], ["a b"]).tolist() == [[0.0]]
    assert kernel([]).shape == (0, 0)
    assert kernel(["a"], []).shape == (1, 0)
    assert kernel.diag([]).shape == (0,)
    assert kernel.normalized()(["", "a b c"])[0].tolist() == [one, 0.0]


def test_texts_beside_token_lists_share_their_words():
    assert Words()(["good day", ["good", "day"], ("day",)]).tolist() == [[2, 2, 1], [2, 2, 1], [1, 1, 1]]
    assert Words()(["a b"], [["a", "b"]]).tolist() == [[2.0]]
    assert Spectrum(2)(["ab"], [["a", "b"]]).tolist() == [[1.0]]


def test_sets_are_compared_by_members_whatever_they_are():
    X = [{1, "a"}, frozenset([("x", 2), 1]), ["a", "a"], "a 1"]
    assert worst(Jaccard()(X), expected(Jaccard(), X)) < 1e-15
    assert Words()(X).tolist() == expected(Words(), X).tolist()


def test_an_absurd_length_is_zero_at_once():
    assert not Spectrum(10**9)(["abc", ""]).any()
    assert (
        Spectrum(10**9, shortest=1)(["aba", "b"]).tolist() == expected(Spectrum(3, shortest=1), ["aba", "b"]).tolist()
    )
    assert Spectrum(10**9, shortest=10**8).feature_names(["abc"]) == []


def test_the_greetings_of_the_tutorial_are_one_hot():
    phi = Words().feature_map(GREETINGS)
    assert phi.tolist() == np.eye(6).tolist()
    assert Words()(GREETINGS).tolist() == np.eye(6).tolist()
    assert Words().feature_names(GREETINGS) == GREETINGS
    w = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])  # the weights of the tutorial's answer
    assert (phi @ w).tolist() == w.tolist()


# -- features ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.finite], ids=repr)
@given(X=st.one_of(texts, token_lists))
def test_features_multiply_to_the_kernel_and_have_a_name_each(kernel, X):
    phi, names = kernel.feature_map(X), kernel.feature_names(X)
    assert worst(phi @ phi.T, kernel(X)) < 1e-15
    assert phi.shape == (len(X), len(names))


@pytest.mark.slow
@given(X=st.lists(st.text("ab c", max_size=7), min_size=1, max_size=6))
def test_names_say_what_is_counted(X):
    for kernel, count in (
        (Words(), lambda text: Counter(text.split())),
        (Words(["c", "zz", "a"]), lambda text: Counter(text.split())),
        (
            Spectrum(2, shortest=1),
            lambda text: Counter("".join(run) for n in (1, 2) for run in slow.runs(text, n).elements()),
        ),
    ):
        right = [[count(text)[name] for name in kernel.feature_names(X)] for text in X]
        assert kernel.feature_map(X).tolist() == np.array(right, dtype=float).reshape(len(X), -1).tolist()
    assert Words(["c", "zz", "a"]).feature_names(X) == ["c", "zz", "a"]


def test_names_of_token_runs_are_spaced():
    assert Spectrum(2).feature_names([["good", "day"], ("day", 1)]) == ["good day", "day 1"]


def test_names_of_composed_kernels_are_as_many_as_their_features():
    X = pd.DataFrame({"text": ["a b", "b", ""], "n": [1.0, 2.0, 3.0]})
    kernel = Words().on("text") * Linear().on("n") + 2.0 * Spectrum(1).on("text")
    phi = kernel.feature_map(X)
    assert len(kernel.feature_names(X)) == phi.shape[1]
    assert worst(phi @ phi.T, kernel(X)) < 1e-14


def test_a_vocabulary_fixes_the_columns():
    kernel = Words(["b", "a"])
    assert kernel.fixed
    assert not Words().fixed
    assert kernel.feature_count(1) == 2
    assert kernel.feature_map(["a a c"]).tolist() == [[0.0, 2.0]]
    assert kernel.feature_map(["", "zzz"]).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert kernel.feature_map([]).shape == (0, 2)


@pytest.mark.parametrize("ask", ["feature_map", "feature_names"])
def test_the_features_of_jaccard_are_infinitely_many(ask):
    assert tells(refusal(getattr(Jaccard(), ask), ["a"]), "Jaccard()")


# -- as values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*KERNELS, Words(("a", "b")), Words(np.array(["x", "y"])), Words([1, 2])], ids=repr)
def test_counts_sit_the_exam(kernel):
    X = ["a b", "b b a", "", "\U0001f600 e\u0301", "a", "a b", "\ud800 a"]
    for k in (kernel, kernel.normalized(), 2.0 * kernel + kernel**2):
        check_kernel(k, X)
        assert parse(repr(k)) == k
        assert pickle.loads(pickle.dumps(k)) == k
        assert clone(k) is k


def test_vocabularies_are_compared_by_their_words():
    assert Words(["a", "b"]) == Words(("a", "b")) == Words(np.array(["a", "b"]))
    assert hash(Words(["a", "b"])) == hash(Words(np.array(["a", "b"])))
    assert Words(["a", "b"]) != Words(["b", "a"])
    assert Words(["a"]) != Words()
    assert len({Spectrum(2), Spectrum(np.int64(2)), Spectrum(3), Spectrum(3, shortest=3)}) == 3


@pytest.mark.parametrize("vocabulary", ["ab", {"a"}, 3], ids=repr)
def test_a_vocabulary_is_a_list(vocabulary):
    assert tells(refusal(Words, vocabulary), "vocabulary of Words", f"got {vocabulary!r}")


@pytest.mark.parametrize("vocabulary", [[], ["a", "a"], [1, 1.0]], ids=repr)
def test_a_vocabulary_holds_each_word_once(vocabulary):
    assert tells(refusal(Words, vocabulary), "vocabulary of Words", f"got {vocabulary!r}")


def test_a_vocabulary_holds_words_that_can_be_told_apart():
    assert tells(refusal(Words, [["a"]]), "vocabulary of Words", "got [['a']]")


@pytest.mark.parametrize("length", [0, -1, 2.5, "2", None, True], ids=repr)
def test_lengths_are_positive_whole_numbers(length):
    assert refusal(Spectrum, length).startswith("length of Spectrum must be ")


def test_the_shortest_is_no_longer_than_the_longest():
    assert tells(refusal(Spectrum, 2, 3), "shortest of Spectrum", "got 3")
    assert refusal(Spectrum, 2, 0).startswith("shortest of Spectrum must be ")


@pytest.mark.parametrize("kernel", [Words(), Spectrum(), Jaccard()], ids=repr)
def test_tables_are_refused_with_a_way_out(kernel):
    name = type(kernel).__name__
    for X in (np.ones((2, 3)), pd.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]})):
        assert tells(refusal(kernel, X), f"Rows of {name}", "got a table of 3 columns")


@pytest.mark.parametrize("kernel", [Words(), Jaccard()], ids=repr)
def test_inputs_are_never_changed(kernel):
    X = [["a", "b"], {"a"}, "a b", ("b",)]
    kernel(X, X)
    assert X == [["a", "b"], {"a"}, "a b", ("b",)]
