"""Kernels on texts, token lists and sets: scalar products of how often something occurs.

Shared subsequences with gaps (Lodhi et al., 2002) are found by dynamic programming over many pairs at once. A choice of
positions i_1 < ... < i_n in s weighs decay^(i_n - i_1 + 1), so with M[a, b] = 1 where s_a = t_b,
T[a, a'] = decay^(a - a') for a > a', and X_1 = M, X_{m+1} = M o (T X_m T'), the kernel is decay^2 1'X_n 1.

M = S R' for one-hot letters S and R; so T M T' = (T S)(T R)', and up to n = 3 nothing is left but products
of tables that belong to one text each, needed only where letters agree:
k_3 = decay^2 sum M o (T S)(T R)' o (T'S)(T'R)'.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.data.tokens import Symbols, count_codes, letters, substrings, words
from mercer.errors import InputError, refuse_if, sentence
from mercer.kernels.base import Kernel
from mercer.kernels.pair import Pair, squared_norms
from mercer.kernels.value import Check, is_real, whole_number
from mercer.runtime import run

# Counts that fill more of their table than this are multiplied faster as a dense one, up to this many columns.
_DENSE, _WIDEST = 0.05, 20_000
# Numbers held at once by either way of computing shared subsequences.
_CELLS = 2_000_000
_PAIR_CELLS = 400_000


class ObjectKernel(Kernel):
    """A Mercer kernel of our own on texts, lists or sets."""

    kind = "objects"
    mercer = True
    trusted = True

    def check(self, rows: Rows) -> None:
        """Refuse tables of numbers."""
        what, hint = f"Rows of {type(self).__name__}", "Choose a column of a DataFrame with .on('column')."
        refuse_if(not rows.objects, what, "objects such as texts", f"a table of {rows.width} columns", hint)


def _pair_of_counts(kernel: Kernel, pair: Pair, count: Callable[[XLike], Rows]) -> Pair:
    """Counts of the same things in the two blocks; made once for whole tables."""
    x, z = pair.x.together(pair.z, kernel, count)
    return Pair(x, z, same=pair.same, dtype=pair.dtype, scratch=pair.scratch)


class Counts(ObjectKernel):
    """k(x, z) from counts: a kernel says what is counted, as a sparse table of its own."""

    finite = True
    fixed = False  # what is counted depends on the rows at hand, and so do the columns of phi

    def _rows(self, values: XLike) -> Rows:
        """phi of these objects, one column for each thing that occurs in them."""
        raise NotImplementedError

    def _labels(self, values: XLike) -> list[str]:
        """What each column of it counts."""
        raise NotImplementedError

    def block(self, pair: Pair) -> Array:
        """phi(x)'phi(z)."""
        both = _pair_of_counts(self, pair, self._rows)
        cells = len(both.x) * both.x.width
        if both.x.width <= _WIDEST and both.x.values.nnz > _DENSE * cells:
            both = Pair(Rows(both.x.dense()), Rows(both.z.dense()), dtype=pair.dtype, scratch=pair.scratch)
        return both.dot()

    def diagonal(self, rows: Rows) -> Array:
        """phi(x)'phi(x)."""
        return squared_norms(rows.derive(self, self._rows))

    def count_features(self, rows: Rows) -> int | None:
        """Columns of phi of these rows; None where other rows have others, so that none can be relied on."""
        return rows.derive(self, self._rows).width if self.fixed else None

    def features(self, rows: Rows) -> Array:
        """phi(x), one column for each thing that occurs in these rows."""
        return rows.derive(self, self._rows).dense()

    def feature_labels(self, rows: Rows) -> list[str]:
        """What each column counts."""
        return self._labels(rows.values)


class Words(Counts):
    """Shared words: the scalar product of word counts.

    Texts are cut at white space; lists, tuples and sets of tokens are taken as they are. With one word per
    text this is the identity: 1 for equal words, 0 for others.

    Parameters
    ----------
    vocabulary : sequence of words, default=None
        The words that count, in the order of phi; None takes every word that occurs.

    Examples
    --------
    >>> from mercer.kernels import Words
    >>> Words()(["good morning", "good good evening", "moin"])
    array([[2., 2., 0.],
           [2., 5., 0.],
           [0., 0., 1.]])
    >>> Words(vocabulary=["good", "moin"]).feature_map(["good good evening", "moin"])
    array([[2., 0.],
           [0., 1.]])
    """

    because = "it is a scalar product of explicit features: how often each word occurs"

    vocabulary: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        """Refuse a vocabulary with nothing in it, or with a word twice."""
        if self.vocabulary is None:
            return
        what, got = "vocabulary of Words", repr(self.vocabulary)
        listed = isinstance(self.vocabulary, Sequence | np.ndarray) and not isinstance(self.vocabulary, str)
        refuse_if(not listed, what, "a list of words, or None", got)
        try:
            distinct = len(set(self.vocabulary))
        except TypeError:
            raise InputError(sentence(what, "hashable words, such as strings or tuples", got)) from None
        refuse_if(not 0 < distinct == len(self.vocabulary), what, "a non-empty list of distinct words", got)

    @property
    def fixed(self) -> bool:  # type: ignore[override]
        """With a vocabulary phi has the same columns for all rows."""
        return self.vocabulary is not None

    def feature_count(self, width: int) -> int | None:
        """One for each word of the vocabulary."""
        return None if self.vocabulary is None else len(self.vocabulary)

    def _read_words(self, values: XLike) -> tuple[Symbols, list[Hashable]]:
        found = words("Words", values)
        return found, found.known if self.vocabulary is None else list(self.vocabulary)

    def _rows(self, values: XLike) -> Rows:
        found, wanted = self._read_words(values)
        places = {word: place for place, word in enumerate(wanted)}
        column = np.array([places.get(word, -1) for word in found.known], dtype=np.intp)
        codes = column[found.codes] if len(column) else found.codes
        return Rows(count_codes(found.owner[codes >= 0], codes[codes >= 0], found.count, len(wanted)))

    def _labels(self, values: XLike) -> list[str]:
        return [str(word) for word in self._read_words(values)[1]]


class Spectrum(Counts):
    """Shared substrings: the scalar product of how often each run of letters occurs.

    Lists and tuples are taken element by element. Time and memory are linear in the text.

    Parameters
    ----------
    length : int, default=3
        Letters of a substring.
    shortest : int, default=None
        Counts substrings of all lengths from this one on; None counts those of `length` letters alone.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> Spectrum(2)(["abab", "ab", ""])
    array([[5., 2., 0.],
           [2., 1., 0.],
           [0., 0., 0.]])
    >>> Spectrum(2, shortest=1).feature_names(["aba"])
    ['a', 'b', 'ab', 'ba']
    """

    because = "it is a scalar product of explicit features: how often each substring occurs"

    checks: ClassVar[Mapping[str, Check]] = {"length": whole_number}

    length: int = 3
    shortest: int | None = None

    def __post_init__(self) -> None:
        """Refuse lengths that are no positive whole numbers, or in the wrong order."""
        super().__post_init__()
        if self.shortest is not None:
            whole_number(self, "shortest", self.shortest)
            above, must_be = self.shortest > self.length, f"at most length, {self.length}"
            refuse_if(above, "shortest of Spectrum", must_be, self.shortest)

    def _lengths(self, found: Symbols) -> range:
        """Lengths to count, up to the longest text."""
        first = int(self.length if self.shortest is None else self.shortest)
        longest = max(first, int(found.lengths.max(initial=0)))
        return range(first, min(int(self.length), longest) + 1)

    def _rows(self, values: XLike) -> Rows:
        from scipy.sparse import hstack

        found = letters("Spectrum", values)
        runs = (substrings(found, length) for length in self._lengths(found))
        counts = [count_codes(owner, numbers, found.count, len(first)) for owner, numbers, first in runs]
        return Rows(hstack(counts, format="csr"))

    def _labels(self, values: XLike) -> list[str]:
        found = letters("Spectrum", values)
        text = all(isinstance(value, str) for value in values)
        join = "" if text else " "
        return [
            join.join(str(found.known[code]) for code in found.codes[start : start + length])
            for length in self._lengths(found)
            for start in substrings(found, length)[2]
        ]


class Jaccard(ObjectKernel):
    """Shared members of two sets: |x and z| / |x or z|, and 1 for two empty sets.

    Sets, lists and tuples are taken as sets of their elements, texts as sets of their words.

    Examples
    --------
    >>> from mercer.kernels import Jaccard
    >>> Jaccard()([{"C", "H"}, {"C", "H", "O"}, set()]).round(2)
    array([[1.  , 0.67, 0.  ],
           [0.67, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    because = (
        "the size of the intersection is a scalar product, and 1 / (size of the union) is a power series in the number "
        "of elements outside both sets, with positive coefficients"
    )

    @staticmethod
    def _sets(values: XLike) -> Rows:
        """Which element is in which set."""
        found = words("Jaccard", values)
        table = count_codes(found.owner, found.codes, found.count, len(found.known))
        table.data[:] = 1.0
        return Rows(table)

    def block(self, pair: Pair) -> Array:
        """Shared members over members of either."""
        both = _pair_of_counts(self, pair, self._sets)
        shared = both.dot()
        either = squared_norms(both.x)[:, None] + squared_norms(both.z) - shared
        return np.asarray(np.divide(shared, either, out=np.ones_like(shared), where=either > 0))

    def diagonal(self, rows: Rows) -> Array:
        """1."""
        return np.ones(len(rows))


class Subsequence(ObjectKernel):
    """Shared subsequences of letters, each weighing decay to the power of the stretch it spans.

    Lists and tuples are taken element by element. Cost: |s| |t| for each pair of texts.

    Parameters
    ----------
    length : int, default=3
        Letters of a subsequence.
    decay : float, default=0.5
        Above 0 and up to 1; small values hold gaps against it.

    Examples
    --------
    >>> from mercer.kernels import Subsequence
    >>> Subsequence(length=2, decay=0.5)(["cat", "car", "cart"]).round(4)
    array([[0.1406, 0.0625, 0.1016],
           [0.0625, 0.1406, 0.1406],
           [0.1016, 0.1406, 0.2227]])
    """

    because = (
        "it is a scalar product of explicit features: for each sequence of letters, the sum of decay^(length of the "
        "spanned text) over all its occurrences"
    )

    checks: ClassVar[Mapping[str, Check]] = {"length": whole_number}

    length: int = 3
    decay: float = 0.5

    def __post_init__(self) -> None:
        """Refuse lengths and decays out of range."""
        super().__post_init__()
        good = is_real(self.decay) and 1e-3 <= self.decay <= 1
        refuse_if(not good, "decay of Subsequence", "a number from 0.001 to 1", repr(self.decay))

    def block(self, pair: Pair) -> Array:
        """Short subsequences by products, longer ones by the recursion over pairs."""
        n, m = pair.shape
        symbols = letters("Subsequence", [*pair.x.values, *pair.z.values])
        result = pair.full(0.0)
        if self.length <= 3:
            for x, z in itertools.product(_chunks(symbols, 0, n), _chunks(symbols, n, n + m)):
                tile = _by_letters(symbols, x, z, int(self.length), float(self.decay))
                result[x.start : x.stop, z.start - n : z.stop - n] = tile
            return result
        left, right = np.divmod(np.arange(n * m), m)
        if pair.same:
            left, right = left[left <= right], right[left <= right]
        values = _by_pairs(symbols, left, right + n, int(self.length), float(self.decay))
        result[left, right] = values
        if pair.same:
            result[right, left] = values
        return result

    def diagonal(self, rows: Rows) -> Array:
        """k(x, x), pair by pair."""
        symbols = letters("Subsequence", rows.values)
        every = np.arange(len(rows))
        return _by_pairs(symbols, every, every, int(self.length), float(self.decay))


def _chunks(symbols: Symbols, start: int, stop: int) -> list[range]:
    """Texts in runs whose padded tables of letters stay small."""
    lengths, width = symbols.lengths, max(1, len(symbols.known))
    runs, first, longest = [], start, 1
    for text in range(start, stop):
        longest = max(longest, int(lengths[text]))
        if text > first and (text + 1 - first) * longest * width > _CELLS:
            runs.append(range(first, text))
            first, longest = text, int(lengths[text])
    return [*runs, range(first, stop)] if first < stop else runs


def _pad(symbols: Symbols, texts: range | Array) -> Array:
    """Codes of these texts, one per row, filled up with -1."""
    starts = np.concatenate([[0], np.cumsum(symbols.lengths)])
    lengths = symbols.lengths[texts]
    table = np.full((len(lengths), int(lengths.max(initial=0))), -1, dtype=np.intp)
    inside = np.arange(table.shape[1]) < lengths[:, None]
    table[inside] = np.concatenate([symbols.codes[starts[t] : starts[t + 1]] for t in texts] or [table[:0, 0]])
    return table


class _Context:
    """Where each letter stands in some texts, and what stands before and after it."""

    def __init__(self, symbols: Symbols, texts: range, length: int, decay: float) -> None:
        codes = _pad(symbols, texts)
        self.texts, self.places = np.nonzero(codes >= 0)
        self.codes = codes[self.texts, self.places]
        self.tables: list[Array] = []
        if length > 1:
            S = np.zeros((*codes.T.shape, len(symbols.known)))
            S[self.places, self.texts, self.codes] = 1.0
            self.tables = [_accumulate(S, decay)]
        if length > 2:
            self.tables.append(_accumulate(S[::-1], decay)[::-1])

    def of(self, letter: int) -> tuple[Array, list[Array]]:
        """The texts of every occurrence of a letter, and the tables around it."""
        mine = self.codes == letter
        texts, places = self.texts[mine], self.places[mine]
        return texts, [table[places, texts] for table in self.tables]


def _by_letters(symbols: Symbols, x: range, z: range, length: int, decay: float) -> Array:
    """k_1, k_2 or k_3 of texts x against texts z."""
    result = np.zeros((len(x), len(z)))
    left, right = _Context(symbols, x, length, decay), _Context(symbols, z, length, decay)
    for letter in np.intersect1d(left.codes, right.codes):
        x_texts, x_tables = left.of(letter)
        z_texts, z_tables = right.of(letter)
        z_rows, z_starts = np.unique(z_texts, return_index=True)
        step = max(1, _CELLS // len(z_texts))
        for start in range(0, len(x_texts), step):
            part = slice(start, start + step)
            product: Array = np.ones((len(x_texts[part]), len(z_texts)))
            for x_table, z_table in zip(x_tables, z_tables, strict=True):
                product *= x_table[part] @ z_table.T
            x_rows, x_starts = np.unique(x_texts[part], return_index=True)
            sums = np.add.reduceat(np.add.reduceat(product, z_starts, axis=1), x_starts, axis=0)
            result[np.ix_(x_rows, z_rows)] += sums
    return decay**2 * result


def _by_pairs(symbols: Symbols, left: Array, right: Array, length: int, decay: float) -> Array:
    """k_n of text left[p] against text right[p], for every p."""
    result = np.empty(len(left))
    lengths = symbols.lengths
    longer = np.maximum(lengths[left], lengths[right])
    order = np.argsort(-longer, kind="stable")  # pairs of a size together, so that little is filled up
    parts, start = [], 0
    while start < len(order):
        parts.append(order[start : start + max(1, _PAIR_CELLS // max(1, int(longer[order[start]]) ** 2))])
        start += len(parts[-1])

    def fill(part: Array) -> None:
        s, t = _pad(symbols, left[part]).T, _pad(symbols, right[part]).T
        if min(len(s), len(t)) < length:
            result[part] = 0.0
            return
        match = ((s[:, None] == t) & (s[:, None] >= 0)).astype(np.float64)  # (|s|, |t|, pairs)
        X = match.copy()
        for _ in range(length - 1):
            X = match * _accumulate(_accumulate(X, decay).swapaxes(0, 1), decay).swapaxes(0, 1)
        result[part] = X.sum(axis=(0, 1))

    run(fill, parts)
    return decay**2 * result


def _accumulate(X: Array, decay: float) -> Array:
    """T X along the first axis."""
    result = np.zeros_like(X)
    for place in range(1, len(X)):
        np.add(result[place - 1], X[place - 1], out=result[place])
        result[place] *= decay
    return result
