"""Kernels on texts and sets by their definitions, pair by pair, and random texts for hypothesis."""

from collections import Counter
from functools import cache
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

ALPHABET = "ab \u00e9\u0301\U0001f600\ud800"
texts = st.lists(st.text(ALPHABET, max_size=7), min_size=1, max_size=6)
token_lists = st.lists(st.lists(st.sampled_from(["a", "b", 1, ("a", 1)]), max_size=5), min_size=1, max_size=6)
mixed = st.lists(
    st.one_of(st.text("ab ", max_size=6), st.lists(st.sampled_from(["a", "b", " "]), max_size=6)),
    min_size=1,
    max_size=6,
)


def parts(value):
    return value.split() if isinstance(value, str) else list(value)


def dot(left, right):
    return sum(count * right[key] for key, count in left.items())


def words(x, z, vocabulary=None):
    left, right = Counter(parts(x)), Counter(parts(z))
    wanted = left if vocabulary is None else set(vocabulary)
    return sum(left[word] * right[word] for word in wanted)


def runs(value, length):
    return Counter(tuple(value[i : i + length]) for i in range(len(value) - length + 1))


def spectrum(x, z, length, shortest=None):
    return sum(dot(runs(x, n), runs(z, n)) for n in range(shortest or length, length + 1))


def jaccard(x, z):
    left, right = set(parts(x)), set(parts(z))
    return len(left & right) / len(left | right) if left | right else 1.0


def occurrences(value, length, decay):
    """phi of the subsequence kernel: every choice of positions, one by one."""
    found = Counter()
    for places in combinations(range(len(value)), length):
        found[tuple(value[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return found


def subsequence(x, z, length, decay):
    return dot(occurrences(x, length, decay), occurrences(z, length, decay))


def lodhi(x, z, length, decay):
    """The recursion of Lodhi et al. (2002), as it is printed there."""

    @cache
    def inner(n, i, j):  # K'_n(s[:i], t[:j])
        if n == 0:
            return 1.0
        if min(i, j) < n:
            return 0.0
        ending = sum(
            inner(n - 1, i - 1, place) * decay ** (j - place + 1) for place in range(j) if z[place] == x[i - 1]
        )
        return decay * inner(n, i - 1, j) + ending

    return sum(
        inner(length - 1, i, place) * decay**2
        for i in range(length - 1, len(x))
        for place in range(len(z))
        if z[place] == x[i]
    )


def table(formula, X, Z=None, **parameters):
    right = X if Z is None else Z
    values = [[formula(x, z, **parameters) for z in right] for x in X]
    return np.array(values, dtype=float).reshape(len(X), len(right))
