"""Texts as a few numbers: words, or runs of letters, counted, weighed, and brought down to their main directions.

The scalar product of two rows is that of the `Words` (or `Spectrum`) kernel, with rare words weighing more, normalised,
and restricted to the directions in which the training texts differ most.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.data.rows import Array
from mercer.data.tokens import counted

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Words, or runs of letters, that are counted: those of the most rows.
MOST_PARTS = 1000
# Columns of numbers that a column of texts becomes. Every column costs time in every kernel; on messages of 15 words,
# 32 directions predict as well as 400 columns of counts.
MOST_DIRECTIONS = 32
# Few rows have fewer directions, so that texts that say nothing do less harm.
_FEWEST_DIRECTIONS, _ROWS_EACH = 8, 8
# Texts of fewer words on average than this are names rather than sentences, and taken by their letters.
FEWEST_WORDS = 3
_LETTERS = 3
_WORD = re.compile(r"\w+")
_NOTHING = 1e-10  # of the largest eigenvalue: directions in which texts do not differ


def words_in(texts: Sequence[str]) -> float:
    """How many words texts have on average, by white space."""
    return float(np.mean([len(text.split()) for text in texts])) if texts else 0.0


def parts_of(text: str, *, letters: bool) -> list[str]:
    """The words of a text, or its runs of three letters with a blank at either end; large letters are small ones.

    Examples
    --------
    >>> from mercer.tables.texts import parts_of
    >>> parts_of("Free entry, FREE!", letters=False)
    ['free', 'entry', 'free']
    >>> parts_of("Anna", letters=True)
    [' an', 'ann', 'nna', 'na ']
    """
    folded = text.casefold()
    if not letters:
        return _WORD.findall(folded)
    padded = f" {' '.join(folded.split())} "
    return [padded[i : i + _LETTERS] for i in range(len(padded) - _LETTERS + 1)]


@dataclass(frozen=True, eq=False)
class Parts:
    """What was learned from texts.

    Attributes
    ----------
    known : tuple of str
        The words or runs of letters that count, sorted.
    letters : bool
        Whether they are runs of letters.
    weights : ndarray of shape (parts,)
        1 + log(rows / rows with the part): what is rare says more.
    directions : ndarray of shape (parts, at most 32)
        Orthonormal: the directions in which the training texts differ most.
    bare : float
        Share of the training texts that hold no known part.
    """

    known: tuple[str, ...]
    letters: bool
    weights: Array
    directions: Array
    bare: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parts) and self._plain() == other._plain()

    def __hash__(self) -> int:
        return hash(self._plain())

    def _plain(self) -> tuple[object, ...]:
        return self.known, self.letters, self.bare, self.weights.tobytes(), self.directions.tobytes()

    def points(self, texts: Sequence[str]) -> tuple[Array, Array]:
        """One row of length 1 at most for each text, 0 where it holds no known part; and which ones do not."""
        counts = _weighed(texts, self.known, self.weights, letters=self.letters)
        return np.asarray(counts @ self.directions), np.diff(counts.indptr) == 0


def learn_parts(texts: Sequence[str], rows: Array, *, letters: bool) -> Parts | None:
    """Which parts count, how much, and their main directions; None if no part tells rows apart.

    Parameters
    ----------
    texts : sequence of str
        Different texts.
    rows : ndarray of int
        How many rows hold each.
    letters : bool
        Runs of letters in place of words.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tables.texts import learn_parts
    >>> parts = learn_parts(["good wine", "good cheese", "bad day"], np.array([1, 1, 2]), letters=False)
    >>> parts.known, parts.points(["a good one", "bad day"])[0].round(2)
    (('bad', 'day', 'good'), array([[0., 1.],
           [1., 0.]]))
    """
    total, found = int(rows.sum()), Counter[str]()
    for text, count in zip(texts, rows.tolist(), strict=True):
        for part in set(parts_of(text, letters=letters)):
            found[part] += count
    often = sorted((-count, part) for part, count in found.items() if 1 < count < total)[:MOST_PARTS]
    if not often:
        return None
    known = tuple(sorted(part for _, part in often))
    weights = np.array([1.0 + np.log(total / found[part]) for part in known])
    counts = _weighed(texts, known, weights, letters=letters)
    bare = float(np.average(np.diff(counts.indptr) == 0, weights=rows))
    return Parts(known, letters, weights, _directions(counts, rows), bare)


def _weighed(texts: Sequence[str], known: Sequence[str], weights: Array, *, letters: bool) -> csr_matrix:
    """log(1 + count) of every known part in every text, times its weight, each row of length 1."""
    places = {part: place for place, part in enumerate(known)}
    mine = [[places[part] for part in parts_of(text, letters=letters) if part in places] for text in texts]
    owner = np.repeat(np.arange(len(texts)), [len(codes) for codes in mine])
    counts = counted(owner, np.array([code for codes in mine for code in codes], dtype=np.intp), len(texts), len(known))
    counts.data = np.log1p(counts.data) * weights[counts.indices]
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def _directions(counts: csr_matrix, rows: Array) -> Array:
    """Leading eigenvectors of the second moments, each with its largest entry positive."""
    weighted = counts.multiply(rows[:, None]).tocsr()
    values, vectors = np.linalg.eigh((counts.T @ weighted).toarray())
    most = min(MOST_DIRECTIONS, max(_FEWEST_DIRECTIONS, int(rows.sum()) // _ROWS_EACH))
    order = np.argsort(-values, kind="stable")[:most]
    vectors = vectors[:, order[values[order] > _NOTHING * values.max()]]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.ascontiguousarray(vectors * np.sign(largest))
