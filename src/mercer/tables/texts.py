"""Texts as a few numbers: words, or runs of letters, weighed by TfidfVectorizer, and their main directions.

The scalar product of two rows is that of the `Words` (or `Spectrum`) kernel, with rare words weighing more, normalized,
and restricted to the directions in which the training texts differ most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.data.rows import Array

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

# Words, or runs of letters, that are counted.
MOST_PARTS = 1000
# Columns of numbers that a column of texts becomes. Every column costs time in every kernel; on messages of 15 words,
# 32 directions predict as well as 400 columns of counts.
MOST_DIRECTIONS = 32
# Few rows have fewer directions, so that texts that say nothing do less harm.
_FEWEST_DIRECTIONS, _ROWS_EACH = 8, 8
# Texts of fewer words on average than this are names rather than sentences, and taken by their letters.
FEWEST_WORDS = 3
_LETTERS = 3
_WORD = r"\w+"
_NOTHING = 1e-5  # of the largest singular value: directions in which texts do not differ


def words_in(texts: Sequence[str]) -> float:
    """How many words texts have on average, by white space."""
    return float(np.mean([len(text.split()) for text in texts])) if texts else 0.0


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
        return isinstance(other, Parts) and self.content() == other.content()

    def __hash__(self) -> int:
        return hash(self.content())

    def content(self) -> tuple[object, ...]:
        """All that makes two of them equal, arrays by their bytes."""
        return self.known, self.letters, self.bare, self.weights.tobytes(), self.directions.tobytes()

    def points(self, texts: Sequence[str]) -> tuple[Array, Array]:
        """One row of length 1 at most for each text, 0 where it holds no known part; and which ones do not."""
        if not texts:
            return np.empty((0, self.directions.shape[1])), np.empty(0, dtype=bool)
        vectorizer = _vectorizer(letters=self.letters, vocabulary=self.known)
        vectorizer.idf_ = self.weights
        weighed = vectorizer.transform(texts)
        return np.asarray(weighed @ self.directions), np.diff(weighed.indptr) == 0


def _vectorizer(*, letters: bool, **how: object) -> TfidfVectorizer:
    """Counts c of words as 1 + log c times their weights, each row of length 1."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    by = {"analyzer": "char_wb", "ngram_range": (_LETTERS, _LETTERS)} if letters else {"token_pattern": _WORD}
    return TfidfVectorizer(sublinear_tf=True, smooth_idf=False, **by, **how)


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
    >>> parts = learn_parts(["good wine", "good cheese", "bad day"], np.array([1, 1, 3]), letters=False)
    >>> parts.known, np.abs(parts.points(["a good one", "bad day"])[0]).round(2)
    (('bad', 'day', 'good'), array([[0., 1.],
           [1., 0.]]))
    """
    from sklearn.decomposition import TruncatedSVD

    total = int(rows.sum())
    if total < 3:  # a part of two rows or more, and not of all
        return None
    vectorizer = _vectorizer(letters=letters, min_df=2, max_df=total - 1, max_features=MOST_PARTS)
    try:
        weighed = vectorizer.fit_transform(np.repeat(np.array(texts, dtype=object), rows))
    except ValueError:  # scikit-learn found no such part
        return None
    known = tuple(vectorizer.get_feature_names_out().tolist())
    bare = float(np.mean(np.diff(weighed.indptr) == 0))
    directions = np.ones((1, 1))
    if len(known) > 1:
        most = min(MOST_DIRECTIONS, max(_FEWEST_DIRECTIONS, total // _ROWS_EACH), len(known))
        svd = TruncatedSVD(most, random_state=0).fit(weighed)
        kept = svd.singular_values_ > _NOTHING * svd.singular_values_.max()
        directions = np.ascontiguousarray(svd.components_[kept].T)
    return Parts(known, letters, vectorizer.idf_.copy(), directions, bare)
