"""Which rows are left out when, and which of them must get the same prediction; labels as targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.data.folds import Split
from mercer.data.rows import Array
from mercer.errors import refuse_if
from mercer.solvers.problem import Problem

_ROUNDED = 8 * np.finfo(float).eps  # relative difference of entries of a kernel matrix that are equal but for rounding


@dataclass(frozen=True, eq=False)
class Removals:
    """Sets of rows left out, and the rows among them whose predictions are wanted, laid end to end.

    Attributes
    ----------
    sets : list of ndarray of int
        S, ascending: every row a model must not see.
    tests : list of ndarray of int
        Rows of each S to predict.
    bases : ndarray of int or None
        Where a set is that of another removal and its one tested row besides: the number of that removal;
        otherwise -1.
    """

    sets: list[Array]
    tests: list[Array]
    bases: Array | None = None

    @staticmethod
    def of(splits: Sequence[Split], n: int) -> Removals:
        """The removals that splits stand for."""
        return Removals([split.removal(n) for split in splits], [split.test for split in splits])

    @staticmethod
    def singles(n: int) -> Removals:
        """Every one of n rows left out, and tested, by itself."""
        rows = list(np.arange(n)[:, None])
        return Removals(rows, rows)

    def __len__(self) -> int:
        return len(self.sets)

    @cached_property
    def rows(self) -> Array:
        """All tested rows, one test set after the other."""
        return np.concatenate(self.tests)

    @cached_property
    def counts(self) -> Array:
        """Rows in each test set."""
        return np.array([len(test) for test in self.tests])

    @cached_property
    def starts(self) -> Array:
        """Where each test set begins in `rows`."""
        return np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.intp)

    @cached_property
    def single(self) -> bool:
        """Whether every removal leaves out and tests one row."""
        return bool((self.counts == 1).all()) and all(len(rows) == 1 for rows in self.sets)

    def part(self, i: int) -> slice:
        """Where the test rows of removal i stand in `rows`."""
        return slice(int(self.starts[i]), int(self.starts[i] + self.counts[i]))

    def renumber(self, order: Array) -> Removals:
        """The removals in the row numbers of X[order]."""
        if np.array_equal(order, np.arange(len(order))):
            return self
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        return Removals([np.sort(place[rows]) for rows in self.sets], [place[test] for test in self.tests], self.bases)


@dataclass(frozen=True, eq=False)
class NestedSets:
    """What is left out for all inner and outer fits.

    Attributes
    ----------
    outer : Removals
        The outer splits.
    pairs : Removals
        Sets left out for inner fits, each once.
    inner : Removals
        The inner test sets, laid end to end exactly as the tests of `pairs` are.
    owner : ndarray of int
        The outer split that each inner test set belongs to.
    """

    outer: Removals
    pairs: Removals
    inner: Removals
    owner: Array

    @cached_property
    def everything(self) -> Removals:
        """Outer sets, then inner ones."""
        own, pairs = self.outer, self.pairs
        bases = None if pairs.bases is None else np.append(np.full(len(own), -1), pairs.bases)
        return Removals([*own.sets, *pairs.sets], [*own.tests, *pairs.tests], bases)


def twins(matrix: Array, problem: Problem, removals: Removals) -> tuple[Array, Array | slice]:
    """Rows that a kernel cannot tell apart, whose held-out predictions are one number and must not differ by rounding.

    Rows that are left out together have the same prediction if they are the same row to the kernel. Rows that are left
    out one at a time have it if their targets and weights are the same, too.

    Returns
    -------
    groups : ndarray of int
        For every tested row, the set it is scored with: its removal, or all rows that are left out one at a time.
    first : ndarray of int or slice
        For every tested row, the place of its first twin: values[first] has the same number for all of them.
    """
    alone = np.array([len(rows) == 1 for rows in removals.sets])
    of = np.where(alone, len(removals), np.arange(len(removals)))  # rows left out alone: all together
    if removals.bases is not None:
        alone = removals.bases >= 0
        of = np.where(alone, len(removals) + 1 + removals.bases, of)
    groups, rows, first = np.repeat(of, removals.counts), removals.rows, equal_rows(matrix)
    if np.array_equal(first, np.arange(len(first))):
        return groups, slice(None)
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    same = np.unique(np.column_stack([first, problem.Y, weights]), axis=0, return_inverse=True)[1].ravel()
    numbers = np.where(np.repeat(alone, removals.counts), problem.n + same[rows], first[rows])
    keys = np.column_stack([groups, numbers])
    _, place, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return groups, place[inverse.ravel()]


def equal_rows(matrix: Array) -> Array:
    """For each row of a matrix, the number of the first row that is equal to it up to the rounding of single entries.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.removals import equal_rows
    >>> equal_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])).tolist()
    [0, 1, 0]
    """
    n, columns = matrix.shape
    largest = np.abs(matrix).max(axis=1, initial=0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = matrix @ np.random.default_rng(0).uniform(0.5, 1.0, size=columns)
        order = np.argsort(sums, kind="stable")
        before, after = order[:-1], order[1:]
        near = np.flatnonzero(np.abs(np.diff(sums[order])) <= _ROUNDED * columns * largest[before])
    equal = np.zeros(max(n - 1, 0), dtype=bool)
    for part in np.array_split(near, max(1, len(near) * columns // 2**20)):
        apart = np.abs(matrix[before[part]] - matrix[after[part]]).max(axis=1, initial=0.0)
        equal[part] = apart <= _ROUNDED * largest[before[part]]
    starts = np.flatnonzero(np.append(True, ~equal)[:n])
    first = np.empty(n, dtype=np.intp)
    first[order] = np.repeat(np.minimum.reduceat(order, starts), np.diff(np.append(starts, n))) if n else order
    return first


class UsedSets:
    """The sets of `Removals` among the rows that have weight, as `LeaveOut` takes them; shared by all candidates.

    Attributes
    ----------
    removals : Removals
        The sets among all rows.
    rows : list of ndarray of int
        Each set, counted among the rows with weight.
    single : bool
        Whether every row has weight and is left out alone, so that diagonals are all that is needed.
    groups : dict of int to list of int
        Removals that are another one and a single row besides, by that other one.
    grouped : set of int
        All of these removals.
    closed : list of int
        The other removals that leave out at most half of the rows. Fitting the rest of the rows is cheaper for larger
        ones, and more exact.
    at : dict of int to ndarray or None
        For each of `closed`, where its test rows stand in the set; None where the two are the same.
    scattered : bool
        Whether some set is not a few runs of consecutive rows.
    """

    def __init__(self, problem: Problem, removals: Removals) -> None:
        self.removals, place, every = removals, problem.place, not len(problem.unused_rows)
        self.rows = removals.sets if every else [used_only(place[rows]) for rows in removals.sets]
        refuse_if(
            not every and any(len(rows) == len(problem.used_rows) for rows in self.rows), "sample_weight",
            "positive for at least one training row of every split", "a split whose training rows all have weight 0",
        )  # fmt: skip
        self.single = removals.single and every
        self.groups: dict[int, list[int]] = {}
        for i, base in enumerate(removals.bases if removals.bases is not None and every else []):
            if base >= 0:
                self.groups.setdefault(int(base), []).append(i)
        self.grouped = {i for members in self.groups.values() for i in members}
        few = {i for i, rows in enumerate(self.rows) if 2 * len(rows) <= len(problem.used_rows)}
        self.closed = sorted(few - self.grouped)
        self.at: dict[int, Array | None] = {}
        for i in [] if self.single else self.closed:
            rows, tested = self.rows[i], place[removals.tests[i]]
            self.at[i] = None if np.array_equal(tested, rows) else np.searchsorted(rows, used_only(tested))
        self.scattered = not removals.single and any(int((np.diff(rows) != 1).sum()) > 3 for rows in self.rows)


def used_only(places: Array) -> Array:
    """Places among the rows with weight, without the -1 of rows that have none."""
    return places[places >= 0]


def class_weights(numbers: Array, weights: Array) -> Array:
    """Factors that make every class weigh the same: total / (classes * weight of the row's class).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.removals import class_weights
    >>> class_weights(np.array([0, 0, 0, 1]), np.ones(4)).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    totals = np.bincount(numbers, weights)
    factors = np.divide(totals.sum() / len(totals), totals, out=np.zeros_like(totals), where=totals > 0)
    return np.asarray(factors[numbers])


def label_targets(numbers: Array, classes: int) -> Array:
    """-1 and +1 for two classes, one column; one-hot columns for more.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.removals import label_targets
    >>> label_targets(np.array([0, 1, 1]), 2).ravel().tolist()
    [-1.0, 1.0, 1.0]
    """
    return np.where(numbers == 1, 1.0, -1.0)[:, None] if classes == 2 else np.eye(classes)[numbers]


def label_numbers(values: Array) -> Array:
    """Class numbers of targets or decision values: the sign of one column, or the largest of several.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.removals import label_numbers
    >>> label_numbers(np.array([[-0.5], [2.0]])).tolist(), label_numbers(np.array([[0.1, 0.7, 0.2]])).tolist()
    ([0, 1], [1])
    """
    return (values[:, 0] > 0).astype(np.intp) if values.shape[1] == 1 else values.argmax(axis=1)
