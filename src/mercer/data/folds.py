"""Folds as values: every split of every repeat, drawn once and shared by all candidates."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.checks import as_names, kind_of_names
from mercer.data.rows import Array, PerRow, Seed, SplitsLike, XLike, YLike, row_count
from mercer.errors import InputError, refuse, refuse_if, sentence

_COPIED = 0.01  # share of rows that are copies, above which they are no chance
_FEW_DISTINCT = 10  # values of a column that are too few to be mostly distinct
_BLOCKS = 10  # of time, in which rows depend on one another
# How None and what pandas and NumPy have for it are written.
_MISSING = ("None", "nan", "<NA>", "NaT")


@dataclass(frozen=True)
class Split:
    """Rows to train on, in the order they were named, and rows to test on, ascending."""

    train: Array
    test: Array

    @property
    def train_count(self) -> int:
        """How many rows are trained on."""
        return len(self.train)

    def removal(self, n: int) -> Array:
        """Every row that is not trained on, in order."""
        return np.delete(np.arange(n), self.train)


class LeftOut(Split):
    """Rows to test on, ascending, that all others are trained on; the others are not kept."""

    def __init__(self, test: Array, n: int) -> None:
        object.__setattr__(self, "test", test)
        object.__setattr__(self, "n", n)

    n: int

    @property
    def train(self) -> Array:
        """Every other row."""
        return np.delete(np.arange(self.n), self.test)

    @property
    def train_count(self) -> int:
        """How many other rows there are."""
        return self.n - len(self.test)

    def removal(self, n: int) -> Array:
        """The rows to test on."""
        return self.test


@dataclass(frozen=True, eq=False)
class Folds:
    """All splits of all repeats.

    Attributes
    ----------
    n : int
        Number of rows.
    repeats : tuple of tuple of Split
        The splits of each repeat.
    label : str
        What they are, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.folds import draw
    >>> folds = draw(3, np.zeros((7, 1)), np.zeros(7))
    >>> [split.test.tolist() for split in folds.splits]
    [[0, 1, 2], [3, 4], [5, 6]]
    """

    n: int
    repeats: tuple[tuple[Split, ...], ...]
    label: str

    @property
    def splits(self) -> tuple[Split, ...]:
        """All splits, one repeat after the other."""
        return tuple(split for repeat in self.repeats for split in repeat)

    @cached_property
    def partition(self) -> bool:
        """Whether each repeat tests every row exactly once, on a model of all others."""
        return all(
            np.array_equal(np.sort(np.concatenate([split.test for split in repeat])), np.arange(self.n))
            and all(split.train_count + len(split.test) == self.n for split in repeat)
            for repeat in self.repeats
        )

    @cached_property
    def leaves_one_out(self) -> bool:
        """Whether every row is left out alone."""
        alone = (len(split.test) == 1 and split.train_count == self.n - 1 for split in self.splits)
        return len(self.splits) == self.n and all(alone)

    @cached_property
    def overlapping(self) -> bool:
        """Whether some row is tested more than once: training sets then share more than those of a partition."""
        return int(np.bincount(np.concatenate([split.test for split in self.splits])).max()) > 1

    def order(self) -> Array:
        """Rows ordered so that the test sets of the first repeat are contiguous."""
        first = np.concatenate([split.test for split in self.repeats[0]])
        first = first[np.sort(np.unique(first, return_index=True)[1])]
        return np.concatenate([first, np.delete(np.arange(self.n), first)])


def draw(
    cv: SplitsLike,
    X: XLike,
    y: YLike,
    *,
    repeats: int = 1,
    groups: PerRow = None,
    random_state: Seed = None,
    classifier: bool = False,
) -> Folds:
    """The splits that `cv` stands for.

    Parameters
    ----------
    cv : int, splitter, iterable of (train, test) or None
        None is leave-one-out, or leave-one-group-out with `groups`. An int with one repeat and no `random_state`
        is scikit-learn's unshuffled KFold (stratified for classifiers), otherwise shuffled, anew in each repeat.
    X, y : array-like
        Rows and targets.
    repeats : int, default=1
        How often an int, or a splitter that draws, is drawn.
    groups : array-like of shape (n,), default=None
        For splitters that keep groups together; with an int, whole groups are dealt to the folds. Splits that are
        given must not cut one.
    random_state : int, RandomState or None
        Of the shuffling; a splitter without a seed of its own is seeded by it, anew in each repeat.
    classifier : bool, default=False
        Whether an int is stratified.

    Returns
    -------
    Folds
    """
    n = row_count(X)
    groups = None if groups is None else check_names("groups", groups, n)
    whole = isinstance(repeats, numbers.Integral) and repeats >= 1
    refuse_if(not whole, "repeats", "an integer of at least 1", repr(repeats))
    fixed = cv is None or not (isinstance(cv, numbers.Integral) or hasattr(cv, "split"))
    must_be = "1 when cv is leave-one-out or a list of splits, which are not random"
    refuse_if(repeats > 1 and fixed, "repeats", must_be, repeats, "Set cv to a number of folds.")
    if cv is None and groups is not None:
        from sklearn.model_selection import LeaveOneGroupOut

        each = LeaveOneGroupOut().split(np.zeros((n, 1)), y, groups)
        return Folds(n, (_as_splits(each, n),), "leave-one-group-out")
    if cv is None:
        refuse(n < 2, f"Leave-one-out needs at least 2 rows; got {n}.")
        return Folds(n, (tuple(LeftOut(np.array([i]), n) for i in range(n)),), "leave-one-out")
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        return _by_number(int(cv), X, y, int(repeats), groups, random_state, classifier=classifier)
    if hasattr(cv, "split") and not isinstance(cv, str):
        return _by_splitter(cv, X, y, int(repeats), groups, random_state)
    if not isinstance(cv, Iterable) or isinstance(cv, str):
        raise InputError(sentence("cv", "a number of folds, a splitter, a list of (train, test) or None", repr(cv)))
    return Folds(n, (_as_splits(cv, n, groups),), "given splits")


def check_names(what: str, given: object, n: int) -> Array:
    """Labels or groups, one for each of n rows, of one kind and none missing."""
    names = as_names(given)
    refuse_if(names.shape != (n,), what, f"an array of length {n}, one value per row", f"shape {names.shape}")
    missing = np.isnan(names) if names.dtype.kind == "f" else np.zeros(n, dtype=bool)
    if names.dtype == object:
        missing = np.array([not isinstance(name, str) and str(name) in _MISSING for name in names])
    if missing.any():
        row, way_out = int(missing.argmax()), "Impute the missing values, or drop these rows."
        raise InputError(f"{what} has missing values, the first in row {row}. {way_out}")
    if names.dtype == object:
        kind_of_names(what, names)
        try:
            np.unique(names)
        except TypeError:
            kind, way_out = type(names[0]).__name__, "Convert all values to strings or all to numbers."
            raise InputError(sentence(what, "numbers or strings", kind, way_out)) from None
    return names


def _repeat(
    cv: SplitsLike, X: XLike, y: YLike, groups: PerRow, repeats: int, generator: np.random.RandomState | None
) -> tuple[tuple[Split, ...], ...]:
    """The splits of all repeats; a splitter without a seed of its own is seeded in each."""
    drawn = []
    for _ in range(repeats):
        splitter = cv
        if generator is not None and getattr(cv, "random_state", 0) is None:
            splitter = copy.copy(cv)
            splitter.random_state = generator.randint(2**31 - 1)
        drawn.append(_as_splits(splitter.split(X, y, groups), row_count(X)))
    return tuple(drawn)


def _by_splitter(cv: SplitsLike, X: XLike, y: YLike, repeats: int, groups: PerRow, random_state: Seed) -> Folds:
    from sklearn.utils import check_random_state

    drawn = _repeat(cv, X, y, groups, repeats, None if random_state is None else check_random_state(random_state))
    if repeats > 1:
        first, second = ([(split.train.tolist(), split.test.tolist()) for split in splits] for splits in drawn[:2])
        must_be = f"1 for {cv}, which draws the same splits every time"
        way_out = "Set cv to a number of folds, or to a splitter with shuffle=True and random_state=None."
        refuse_if(first == second, "repeats", must_be, repeats, way_out)
        seeded, must_be = random_state is None or hasattr(cv, "random_state"), f"None for {cv}, which cannot be seeded"
        way_out = "Remove random_state, or set cv to a number of folds."
        refuse_if(not seeded, "random_state", must_be, random_state, way_out)
    return Folds(row_count(X), drawn, f"{type(cv).__name__}, {len(drawn[0])} splits" + _times(repeats))


def by_chance(cv: SplitsLike, repeats: int, random_state: Seed) -> bool:
    """Whether the folds that `draw` makes would be others in the next run."""
    if random_state is not None or cv is None:
        return False
    if isinstance(cv, numbers.Integral):
        return repeats > 1
    return getattr(cv, "random_state", 0) is None and bool(getattr(cv, "shuffle", True))


def _by_number(
    folds: int, X: XLike, y: YLike, repeats: int, groups: PerRow, random_state: Seed, *, classifier: bool
) -> Folds:
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
    from sklearn.utils import check_random_state

    n = row_count(X)
    available, what = n if groups is None else len(np.unique(groups)), "rows" if groups is None else "groups"
    must_be = f"between 2 and the number of {what}, {available}"
    refuse_if(not 2 <= folds <= available, "The number of folds", must_be, folds)
    shuffle = repeats > 1 or random_state is not None
    plain, stratified = (KFold, StratifiedKFold) if groups is None else (GroupKFold, StratifiedGroupKFold)
    splitter = (stratified if classifier else plain)(folds, shuffle=shuffle)
    generator = check_random_state(random_state) if shuffle else None
    drawn = _repeat(splitter, np.zeros((n, 1)), y, groups, repeats, generator)
    kind = ("grouped " if groups is not None else "") + ("stratified " if classifier else "")
    return Folds(n, drawn, f"{kind}{folds}-fold, {'shuffled' if shuffle else 'unshuffled'}" + _times(repeats))


def _times(repeats: int) -> str:
    return f", {repeats} repeats" if repeats > 1 else ""


def _as_splits(pairs: Iterable[Any], n: int, groups: Array | None = None) -> tuple[Split, ...]:
    listed = list(pairs)
    for pair in listed:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"cv must yield pairs (train, test) of row indices; got {type(pair).__name__}.")
    splits = tuple(Split(_rows(train, n), np.sort(_rows(test, n))) for train, test in listed)
    refuse(not splits, "cv must yield at least one split; got none.")
    for split in splits:
        empty = not len(split.train) or not len(split.test)
        words = "Every split must have at least one training row and one test row;"
        refuse(empty, f"{words} got a split with an empty training or test set.")
        twice = np.bincount(np.concatenate([split.train, split.test])).max() > 1
        refuse(twice, "Training and test rows of a split must be disjoint; got a row that is in both.")
    for i, split in enumerate(() if groups is None else splits):
        both = np.intersect1d(groups[split.train], groups[split.test]).tolist()  # type: ignore[index]
        words = "cv must not put rows of one group into both the training set and the test set;"
        got = f"got group {', '.join(map(repr, both[:1]))} in both sets of split {i}."
        refuse(both, f"{words} {got} Use a group splitter such as GroupKFold.")
    return splits


def _shape(given: object, rows: Array) -> str:
    return f"{rows.dtype} of shape {rows.shape}" if rows.size else repr(given)


def _rows(given: object, n: int) -> Array:
    rows = np.asarray(given)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    must_be = "an array of row indices, or a boolean mask with one value per row"
    bad = rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu")
    refuse_if(bad, "Rows of a split", must_be, _shape(given, rows))
    if not rows.size:
        return rows.astype(np.intp)
    bad, got = rows.min() < 0 or rows.max() >= n, f"{rows.min()} to {rows.max()}"
    refuse_if(bad, "Row indices of a split", f"between 0 and {n - 1}", got)
    rows = rows.astype(np.intp)
    words = "Row indices of a split must be unique; got duplicates."
    refuse(np.bincount(rows).max() > 1, f"{words} To count a row twice, set its sample_weight to 2.")
    return rows


def in_order(times: Array, count: int) -> Array:
    """A block for every row, in the order of its time, of about equal size; rows of one time are in one block.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.folds import in_order
    >>> in_order(np.array([5, 1, 1, 2, 4, 3]), 3).tolist()
    [2, 0, 0, 1, 2, 1]
    """
    moments, counts = np.unique(times, return_counts=True)
    before = np.cumsum(counts) - counts
    blocks = np.unique(before * count // max(len(times), 1), return_inverse=True)[1].ravel()
    return np.asarray(blocks[np.searchsorted(moments, times)])


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows that are identical to earlier ones in all columns and the target.

    Attributes
    ----------
    groups : ndarray of int
        The number of the distinct row that each row is.
    count : int
        Rows that are copies of earlier ones.
    by_chance : bool
        Whether rows may repeat because there are few that differ: no column and no target has mostly distinct values,
        or at most one row in a hundred is a copy.
    """

    groups: Array
    count: int
    by_chance: bool

    @classmethod
    def among(cls, X: Array, y: Array) -> Copies:
        """The copies in a table of numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.data.folds import Copies
        >>> x = np.random.default_rng(0).normal(size=(20, 1))
        >>> doubled = Copies.among(np.vstack([x, x]), np.zeros(40))
        >>> doubled.count, doubled.by_chance
        (20, False)
        >>> Copies.among(np.zeros((40, 1)), np.arange(40) % 2).by_chance
        True
        """
        table = np.column_stack([X, np.reshape(y, (len(X), -1))])
        distinct, groups = np.unique(table, axis=0, return_inverse=True)
        count = len(table) - len(distinct)
        rare = count <= _COPIED * len(table)
        varied = any(len(np.unique(column)) > max(len(distinct) / 2, _FEW_DISTINCT) for column in distinct.T)
        return cls(groups.ravel(), count, rare or not varied)

    def words(self) -> str:
        """How many rows are copies."""
        share = 100.0 * self.count / len(self.groups)
        return f"{self.count} of {len(self.groups)} rows ({share:.0f} %) are copies of other rows, target included"


def clusters_of(groups: Array | None, times: Array | None) -> Array | None:
    """Rows that depend on one another: groups, or ten blocks of time; None where all rows are independent."""
    return groups if times is None else in_order(times, _BLOCKS)


def dealt(
    n: int, count: int, rng: np.random.Generator, *, strata: Array | None = None, groups: Array | None = None
) -> Array:
    """A fold for every row: at random, each class evenly, or whole groups, the largest first.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.folds import dealt
    >>> np.bincount(dealt(7, 3, np.random.default_rng(0))).tolist()
    [3, 2, 2]
    >>> dealt(6, 2, np.random.default_rng(0), groups=np.array([0, 0, 0, 1, 1, 2])).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if groups is not None:
        numbers = np.unique(groups, return_inverse=True)[1].ravel()
        sizes = np.bincount(numbers)
        order = rng.permutation(len(sizes))
        fold_of, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(max(2, min(count, len(sizes))))
        for group in order[np.argsort(-sizes[order], kind="stable")]:
            fold_of[group] = int(np.argmin(filled))
            filled[fold_of[group]] += sizes[group]
        return fold_of[numbers]
    order = rng.permutation(n)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    folds = np.empty(n, dtype=np.intp)
    folds[order] = np.arange(n) % max(2, min(count, n))
    return folds
