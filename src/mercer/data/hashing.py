"""Folds by a hash of the row's number or of its key: the same on every machine, in every run, in any order of reading.

Rows that arrive in blocks cannot be shuffled. A hash of (seed, row number) draws the same folds however the table
is cut; a hash of (seed, key) also keeps all rows of a group together.
"""

from __future__ import annotations

import hashlib
import numbers
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, refuse, refuse_if, sentence

_WORD = 2**64
_STEP = 0x9E3779B97F4A7C15


def fold_of(
    start: int, count: int, folds: int, seed: int, keys: Array | None = None, ranked: Array | None = None
) -> Array:
    """The fold of each of `count` rows.

    Parameters
    ----------
    start : int
        Number of the first row in the whole table.
    count : int
        How many rows.
    folds : int
        How many folds there are.
    seed : int
        Another one draws other folds.
    keys : ndarray of shape (count,), default=None
        Groups, by which rows are then drawn instead of by number. Numbers count by value: 1 and 1.0 are one key.
    ranked : ndarray, default=None
        The words of all rows, or of all groups, in order: they are then dealt to the folds in turn, which leaves no
        fold empty. None: a word's remainder is its fold.

    Returns
    -------
    ndarray of shape (count,)
        Whole numbers below `folds`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.hashing import fold_of
    >>> fold_of(0, 6, folds=3, seed=0)
    array([1, 1, 2, 2, 0, 2])
    >>> fold_of(3, 3, folds=3, seed=0)
    array([2, 0, 2])
    >>> fold_of(0, 4, folds=3, seed=0, keys=np.array(["a", "b", "a", "b"]))
    array([1, 2, 1, 2])
    """
    refuse_if(folds < 1, "The number of folds", "at least 1", folds)
    words = words_of(start, count, seed, keys)
    if ranked is not None:
        return np.asarray(np.searchsorted(ranked, words) % folds)
    return (words % np.uint64(folds)).astype(np.intp)


def words_of(start: int, count: int, seed: int, keys: Array | None = None) -> Array:
    """A random 64-bit word for each row, by its number, which no two rows of a table share, or by its key."""
    numbers = np.arange(start, start + count, dtype=np.uint64) if keys is None else key_words(keys)
    refuse(len(numbers) != count, f"groups must have one label per row ({count}); got {len(numbers)}.")
    return _mix(_mix(numbers) ^ _mix(np.array([seed % _WORD], dtype=np.uint64)))


def fill_folds(words: Array, folds: int) -> bool:
    """Whether rows or groups with these words are in every fold by hash."""
    return len(np.unique(words % np.uint64(folds))) == folds


def _mix(words: Array) -> Array:
    """splitmix64: a one-to-one map of 64-bit words in which every bit depends on every bit."""
    words = words + np.uint64(_STEP)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


def key_words(keys: Array) -> Array:
    """A 64-bit word for each key: whole numbers are themselves, texts are hashed."""
    keys = np.asarray(keys)
    kind = keys.dtype.kind
    refuse(keys.ndim != 1, f"groups must have one label per row; got an array of {keys.ndim} dimensions.")
    if kind in "bi":
        return keys.astype(np.int64).view(np.uint64)
    if kind == "u":
        return keys.astype(np.uint64)
    if kind == "f":
        return _float_words(keys.astype(np.float64))
    if kind in "mM":
        _refuse_gaps(np.isnat(keys))
        return keys.astype(f"{'timedelta' if kind == 'm' else 'datetime'}64[us]").astype(np.int64).view(np.uint64)
    listed = keys.tolist()
    try:
        known = {key: _word(key) for key in set(listed)}
    except TypeError:
        raise InputError(sentence("groups", "numbers or strings", f"an array of {keys.dtype}")) from None
    return np.fromiter(map(known.__getitem__, listed), dtype=np.uint64, count=len(listed))


def _float_words(values: Array) -> Array:
    """Whole numbers as whole numbers of the same value have it; the rest by their bits."""
    _refuse_gaps(np.isnan(values))
    words = np.where(values == 0, 0.0, values).view(np.uint64)
    whole = values == np.floor(values)
    small = whole & (values >= -(2.0**63)) & (values < 2.0**63)
    words[small] = values[small].astype(np.int64).view(np.uint64)
    large = whole & (values >= 2.0**63) & (values < 2.0**64)
    words[large] = values[large].astype(np.uint64)
    return words


def _word(key: Any) -> int:
    if isinstance(key, str | bytes):
        raw = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
        return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")
    _refuse_gaps(np.array([key is None or type(key).__name__ in {"NAType", "NaTType"}]))
    known = isinstance(key, numbers.Real | Decimal)
    if not known:
        raise TypeError
    whole = key == key and abs(key) != float("inf") and key == int(key)  # noqa: PLR0124 - NaN is not itself
    exact = False
    with suppress(OverflowError):
        exact = whole and int(float(int(key))) == int(key)  # a whole number that a float64 holds
    if whole and (-_WORD // 2 <= key < _WORD or not exact):
        return int(key) % _WORD
    return int(_float_words(np.array([float(key)]))[0])


def _refuse_gaps(missing: Array) -> None:
    refuse(missing.any(), "groups must not have missing values. Impute the missing values, or drop these rows.")
