"""Blocks of consecutive rows, and parts of a table that read themselves block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mercer.data.rows import Array

_EXACT = 2**53  # whole numbers up to here are floats, too


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a table.

    Attributes
    ----------
    X : ndarray of shape (rows, width)
        Finite numbers in C order; it may be a view of what the caller lent, so it cannot be written to.
    Y : ndarray or None
        Numbers of shape (rows, targets), or labels of shape (rows,) where the table was opened with labels.
    weights : ndarray of shape (rows,) or None
        None below zero.
    keys : ndarray of shape (rows,) or None
        What group each row belongs to.
    start : int
        The number of the first row in the whole table.
    """

    X: Array
    Y: Array | None
    weights: Array | None
    keys: Array | None
    start: int

    def __len__(self) -> int:
        return len(self.X)

    def pick(self, rows: slice | Array) -> Block:
        """Some of these rows; `start` moves with a slice."""
        first = rows.indices(len(self))[0] if isinstance(rows, slice) else 0
        Y, weights, keys = (None if each is None else each[rows] for each in (self.Y, self.weights, self.keys))
        return Block(self.X[rows], Y, weights, keys, self.start + first)

    def columns(self) -> tuple[Array, Array | None, Array | None, Array | None]:
        """X, Y, weights and keys."""
        return self.X, self.Y, self.weights, self.keys


class Part(Protocol):
    """One stretch of a table: small enough to be sent to a worker, which lets it read itself there.

    Attributes
    ----------
    rows : int or None
        How many there are; None where only reading tells.
    start : int
        The number of its first row in the whole table.
    """

    @property
    def rows(self) -> int | None:
        """How many there are."""
        ...

    @property
    def start(self) -> int:
        """The number of its first row."""
        ...

    def blocks(self, at_once: int, skip: int = 0) -> Iterator[Block]:
        """Its rows without the first `skip`, in order, at most `at_once` together."""
        ...


def join(blocks: Sequence[Block]) -> Block:
    """Blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    Xs, *others = zip(*(block.columns() for block in blocks), strict=True)
    Y, weights, keys = (None if column[0] is None else joined(column) for column in others)
    return Block(np.concatenate(Xs), Y, weights, keys, blocks[0].start)


def joined(columns: Sequence[Array]) -> Array:
    """Arrays as one in which no whole number is rounded, as NumPy does where some are floats or have no sign."""
    together = np.concatenate(columns)
    whole = [column for column in columns if column.dtype.kind in "iu" and len(column)]
    if together.dtype.kind == "f" and any(max(-int(each.min()), int(each.max())) > _EXACT for each in whole):
        return np.concatenate([column.astype(object) for column in columns])
    return together


def regroup(pieces: Iterable[Block], at_once: int) -> Iterator[Block]:
    """The rows in blocks of exactly `at_once`, the last one excepted, whatever they came in."""
    held: list[Block] = []
    count = 0
    for piece in pieces:
        rest = piece
        while count + len(rest) >= at_once:
            first = at_once - count
            yield join([*held, rest.pick(slice(0, first))])
            held, count, rest = [], 0, rest.pick(slice(first, None))
        if len(rest):
            held.append(rest)
            count += len(rest)
    if held:
        yield join(held)


def dropped(pieces: Iterable[Block], skip: int) -> Iterator[Block]:
    """The blocks without the first `skip` rows."""
    for piece in pieces:
        if skip >= len(piece):
            skip -= len(piece)
            continue
        yield piece.pick(slice(skip, None)) if skip else piece
        skip = 0
