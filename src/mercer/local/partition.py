"""Cells of neighbouring rows: recursive median splits, the rows of each cell's system, and where a new row belongs.

Rows are points u = x / width in the units of a kernel. They are split at the median of the column of largest spread,
by rank, again and again, down to cores of nearly equal size; targets are not looked at. The system of a cell has the
rows of its core and the rows nearest to the core's bounding box, its halo.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from mercer.data.rows import Array
from mercer.kernels.tiles import blocks
from mercer.runtime import run

NEAREST_CORES = 32  # cores, by their centres, whose rows may be in a cell's halo or whose cells may be mixed
TIES = 6  # columns of a split: rows that tie in one of them are split by the next
_NEVER = float(np.finfo(np.float64).max)  # a threshold that no row is above


def split(points: Array, levels: int, *, by_value: bool = False) -> tuple[list[Array], Array, Array]:
    """2^levels cores, each of ascending row numbers, and the columns and thresholds of the splits, level by level.

    `by_value`: rows that tie are never separated, so that cores are those that new rows are routed to. Otherwise halves
    differ by at most one row: rows that tie in the column of a split are split by another column, and so on.
    """
    nodes, columns, thresholds = [np.arange(len(points))], [], []
    for _ in range(levels):
        halves: list[Array] = []
        for rows in nodes:
            column, threshold, right = _split_by_value(points[rows]) if by_value else _split_by_rank(points[rows])
            columns.append(column)
            thresholds.append(threshold)
            halves += [rows[~right], rows[right]]
        nodes = halves
    return nodes, np.array(columns, dtype=np.intp).reshape(-1, TIES), np.array(thresholds).reshape(-1, TIES)


def _split_by_rank(points: Array) -> tuple[list[int], list[float], Array]:
    """Columns, thresholds and which points are right of the split into halves."""
    right = np.ones(len(points), dtype=bool)
    columns, thresholds, undecided, wanted = [0] * TIES, [_NEVER] * TIES, np.arange(len(points)), (len(points) + 1) // 2
    for place in range(TIES):
        inside = points[undecided]
        columns[place] = _widest(inside)
        values = inside[:, columns[place]]
        ranks = np.argsort(values, kind="stable")
        last, first = values[ranks[wanted - 1]], values[ranks[min(wanted, len(ranks) - 1)]]
        middle = last + 0.5 * (first - last)
        thresholds[place] = middle if middle < first else last
        if last < first or place == TIES - 1 or values.min() == values.max():
            break
        right[undecided[values < last]] = False
        wanted -= int(np.count_nonzero(values < last))
        undecided = undecided[values == last]
    right[undecided[ranks[:wanted]]] = False
    return columns, thresholds, right


def _split_by_value(points: Array) -> tuple[list[int], list[float], Array]:
    """Columns, thresholds and which points are right of the split near the median that separates no equal values."""
    if not len(points):
        return [0] * TIES, [0.0, *[_NEVER] * (TIES - 1)], np.zeros(0, dtype=bool)
    column, half = _widest(points), (len(points) + 1) // 2
    values = points[:, column]
    ordered = np.sort(values)
    last, first = ordered[half - 1], ordered[min(half, len(ordered) - 1)]
    if last == ordered[-1] and ordered[0] < last:
        last, first = values[values < last].max(), last
    middle = last + 0.5 * (first - last)
    threshold = float(middle if middle < first else last)
    return [column] * TIES, [threshold, *[_NEVER] * (TIES - 1)], values > threshold


def _widest(points: Array) -> int:
    """The column of largest spread; of a constant one the spread is 0, whatever rounding says."""
    with np.errstate(over="ignore", invalid="ignore"):
        return int(np.argmax(np.where(points.max(axis=0) > points.min(axis=0), points.std(axis=0), 0.0)))


def route(points: Array, columns: Array, thresholds: Array) -> Array:
    """The leaf that each point belongs to, down a tree of splits."""
    node, each = np.zeros(len(points), dtype=np.intp), np.arange(len(points))
    while len(columns) and len(node) and node[0] < len(columns):  # all leaves are on one level
        values, first = points[each, columns[node, 0]], thresholds[node, 0]
        right, tied = values > first, np.flatnonzero(values == first)
        for place in range(1, TIES):
            if not len(tied):
                break
            values, next_one = points[tied, columns[node[tied], place]], thresholds[node[tied], place]
            right[tied] = values > next_one
            tied = tied[values == next_one]
        node = 2 * node + 1 + right
    return node - len(columns)


def boxes(points: Array, cores: list[Array]) -> tuple[Array, ...]:
    """Mean, smallest and largest point of each core (cells x d)."""
    return tuple(np.array([at(points[rows], axis=0) for rows in cores]) for at in (np.mean, np.min, np.max))


@dataclass(frozen=True, eq=False)
class Partition:
    """A tree of splits over rows, and the cores that its leaves are.

    Attributes
    ----------
    columns, thresholds : ndarray of shape (cells - 1, 6)
        Splits from the root down, level by level: a row goes right if it is above the first threshold in the first
        column, or equal to it and above the second threshold in the second column, and so on; left otherwise.
    order, starts : ndarray of int of shape (n,) and (cells + 1,)
        The core of cell q is the rows order[starts[q] : starts[q + 1]], ascending.
    centres, low, high : ndarray of shape (cells, d)
        Mean, smallest and largest row of each core as it was when the splits were made.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.local.partition import Partition
    >>> partition = Partition.of(np.array([[0.0], [5.0], [1.0], [6.0]]), core_rows=2)
    >>> [partition.core(cell).tolist() for cell in range(partition.cells)]
    [[0, 2], [1, 3]]
    >>> partition.route(np.array([[2.0], [4.0]])).tolist()
    [0, 1]
    >>> partition.system(0, rows=3).tolist()  # the nearest row of another core, and the core
    [1, 0, 2]
    """

    points: Array
    columns: Array
    thresholds: Array
    order: Array
    starts: Array
    centres: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, points: Array, core_rows: int) -> Self:
        """Split points (n x d) into 2^k cores of about `core_rows` rows, the sizes of which differ by at most one.

        The threshold is in the middle between the rows on both sides of it, so that a row is routed to its own core.
        Rows that tie in all columns of a split are split by row number, and are all routed to the left.
        """
        levels = max(0, min(round(math.log2(len(points) / core_rows)), int(math.log2(len(points)))))
        cores, columns, thresholds = split(points, levels)
        ends = np.cumsum([0, *(len(rows) for rows in cores)])
        return cls(points, columns, thresholds, np.concatenate(cores), ends, *boxes(points, cores))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.starts) - 1

    def core(self, cell: int) -> Array:
        """Rows of a core, ascending."""
        return self.order[self.starts[cell] : self.starts[cell + 1]]

    def route(self, points: Array) -> Array:
        """The cell that each point belongs to, down the tree of splits."""
        return route(points, self.columns, self.thresholds)

    @cached_property
    def neighbours(self) -> Array:
        """For each cell itself and the cells with the nearest centres, nearest first (cells x 33 at most)."""
        centres = self.centres - self.centres.mean(axis=0)
        count, squares = min(NEAREST_CORES + 1, self.cells), np.einsum("ij,ij->i", centres, centres)

        def search(part: slice) -> Array:
            gaps = squares - 2.0 * centres[part] @ centres.T
            gaps[np.arange(len(gaps)), np.arange(part.start, part.stop)] = -np.inf
            places = np.sort(np.argpartition(gaps, count - 1, axis=1)[:, :count], axis=1)
            ranks = np.argsort(np.take_along_axis(gaps, places, axis=1), axis=1, kind="stable")
            return np.take_along_axis(places, ranks, axis=1)

        return np.concatenate(run(search, blocks(self.cells)))

    def system(self, cell: int, rows: int, without: Array | None = None) -> Array:
        """Row numbers of a cell's system: its halo, then its core; at most so many, and never less than the core.

        The halo has the rows of neighbouring cores that are nearest to the bounding box of the core; ties go to the
        nearer core, and within it to the earlier row. Rows that are marked in `without` (n) have no part in it; if they
        leave less than half of the rows, all cores are looked at.
        """
        core = self.core(cell)
        others = np.concatenate([core[:0], *(self.core(int(near)) for near in self.neighbours[cell, 1:])])
        if without is not None:
            core, others = core[~without[core]], others[~without[others]]
            if 2 * (len(core) + len(others)) < rows:
                others = np.setdiff1d(np.flatnonzero(~without[: len(self.points)]), core)
        count = max(0, min(rows - len(core), len(others)))
        if count < len(others):
            points = self.points[others]
            beyond = np.maximum(np.maximum(self.low[cell] - points, points - self.high[cell]), 0.0)
            others = others[np.argsort(np.einsum("ij,ij->i", beyond, beyond), kind="stable")[:count]]
        return np.concatenate([others, core])

    def answers(self, points: Array, mix: int) -> tuple[Array, Array]:
        """The cells that answer each point, and their weights (m x mix).

        With one cell, that to which the point is routed. With more, the cells with the nearest centres among the
        neighbours of that one, weighted by (1 - distance / R)^2, R the distance of the first centre that is left out:
        a cell comes in and goes out with weight zero, so that predictions have no steps there.
        """
        home = self.route(points)
        mix = min(mix, self.cells)
        if mix == 1:
            return home[:, None], np.ones((len(points), 1))
        near = self.neighbours[home]
        squares = np.stack([np.sum((points - self.centres[cells]) ** 2, axis=1) for cells in near.T], axis=1)
        ranks = np.argsort(squares, axis=1, kind="stable")[:, : mix + 1]
        cells, gaps = np.take_along_axis(near, ranks, axis=1), np.sqrt(np.take_along_axis(squares, ranks, axis=1))
        end = gaps[:, -1:] if near.shape[1] > mix else 2.0 * gaps[:, -1:]
        weights = (1.0 - gaps[:, :mix] / np.where(end > 0, end, 1.0)) ** 2
        total = weights.sum(axis=1, keepdims=True)
        return cells[:, :mix], np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / mix)

    def with_points(self, points: Array) -> Self:
        """The partition with more rows, which join the cores they are routed to; splits, centres and boxes stay."""
        cells = np.concatenate([np.repeat(np.arange(self.cells), np.diff(self.starts)), self.route(points)])
        rows = np.concatenate([self.order, np.arange(len(self.points), len(self.points) + len(points))])
        order = rows[np.lexsort((rows, cells))]
        starts = np.searchsorted(np.sort(cells), np.arange(self.cells + 1))
        return replace(self, points=np.concatenate([self.points, points]), order=order, starts=starts)
