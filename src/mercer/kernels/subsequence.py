"""Shared subsequences with gaps (Lodhi et al., 2002), by dynamic programming over many pairs at once.

A choice of positions i_1 < ... < i_n in s weighs decay^(i_n - i_1 + 1), so with M[a, b] = 1 where s_a = t_b,
T[a, a'] = decay^(a - a') for a > a', and X_1 = M, X_{m+1} = M o (T X_m T'), the kernel is decay^2 1'X_n 1.

M = S R' for one-hot letters S and R; so T M T' = (T S)(T R)', and up to n = 3 nothing is left but products
of tables that belong to one text each, needed only where letters agree:
k_3 = decay^2 sum M o (T S)(T R)' o (T'S)(T'R)'.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.data.tokens import Symbols, letters
from mercer.errors import InputError, sentence
from mercer.kernels.counts import ObjectKernel
from mercer.kernels.pair import Pair
from mercer.kernels.value import is_real, whole_number
from mercer.runtime import run

# Numbers held at once by either way of computing.
_CELLS = 2_000_000
_PAIR_CELLS = 400_000


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

    because: ClassVar[str] = (
        "it is a scalar product of explicit features: for each sequence of letters, the sum of decay^(length of the "
        "spanned text) over all its occurrences"
    )

    length: int = 3
    decay: float = 0.5

    def __post_init__(self) -> None:
        """Refuse lengths and decays out of range."""
        whole_number(self, "length", self.length)
        if not is_real(self.decay) or not 1e-3 <= self.decay <= 1:
            raise InputError(sentence("decay of Subsequence", "a number from 0.001 to 1", repr(self.decay)))

    def block(self, pair: Pair) -> Array:
        """Short subsequences by products, longer ones by the recursion over pairs."""
        n, m = pair.shape
        symbols = letters("Subsequence", [*pair.x.values, *pair.z.values])
        result = pair.full(0.0)
        if self.length <= 3:
            for x in _chunks(symbols, 0, n):
                for z in _chunks(symbols, n, n + m):
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
