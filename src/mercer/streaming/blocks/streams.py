"""Blocks that the caller makes: any iterable that can be gone through again, or a function that starts one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.checks import as_names, kind_of_names, one_kind
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.streaming.blocks.cells import as_labels, as_matrix, as_weights
from mercer.streaming.blocks.roles import RolesGiven
from mercer.streaming.blocks.source import BlockLayout, Source
from mercer.streaming.blocks.table import Block, dropped, regroup
from mercer.text import counted

_FORM = "X alone, (X, y), (X, y, weights) or (X, y, weights, groups)"
_AFRESH = "Pass a list, an object whose __iter__ restarts, or a function that returns a new iterator."


@dataclass(frozen=True, eq=False)
class StreamPart:
    """All rows of an iterable of blocks.

    Attributes
    ----------
    begin : callable
        Starts it from the beginning.
    labels : bool
        Whether y holds labels.
    width : int or None
        Columns of X; None before the first block was seen.
    mark : str
        Of the first block, with which every pass must begin.
    start : int
        Always 0.
    rows : None
        Only a pass can tell.
    """

    begin: Callable[[], Iterable[Any]]
    labels: bool
    width: int | None = None
    mark: str = ""
    start: int = 0
    rows: None = None

    def blocks(self, at_once: int, skip: int = 0) -> Iterator[Block]:
        """Its rows in order."""
        return regroup(dropped(self.pieces(), skip), at_once)

    def pieces(self) -> Iterator[Block]:
        """The blocks as they come, checked."""
        row = 0
        kinds: dict[str, tuple[str, str]] = {}  # of labels and keys, each with the block in which it was found first
        form: list[tuple[int, ...] | None] | None = None
        for place, given in enumerate(self.begin()):
            block = self._block(given, place, row)
            now = [None if each is None else each.shape[1:] for each in block.columns()]
            if form is not None and now != form:
                same = [each is None for each in now] == [each is None for each in form]
                got = "another number of columns or targets" if same else "other items"
                raise InputError(f"Block {place} must have the same items as block 0, such as (X, y); got {got}.")
            form = now
            for what, names in self._names(block):
                kind = kind_of_names(what, names)
                if kind is not None:
                    kinds.setdefault(what, (kind, f"block {place}"))
                    one_kind(what, [kinds[what], (kind, f"block {place}")])
            if place == 0 and self.mark and _mark(block) != self.mark:
                got = "a different first block"
                raise InputError(sentence("X", "the same blocks in every pass", got, _AFRESH))
            if len(block):
                yield block
            row += len(block)

    def _names(self, block: Block) -> list[tuple[str, Array]]:
        """Labels and keys of a block."""
        named = (("y", block.Y if self.labels else None), ("groups", block.keys))
        return [(what, names) for what, names in named if names is not None]

    def _block(self, given: Any, place: int, row: int) -> Block:
        items = given if isinstance(given, tuple) else (given,)
        if not 1 <= len(items) <= 4:
            raise InputError(sentence(f"Block {place}", _FORM, f"{len(items)} items"))
        X, Y, weights, keys = (None if each is None else as_names(each) for each in (*items, None, None, None)[:4])
        if X is None or X.ndim != 2:
            got = "None" if X is None else f"{X.ndim} dimensions"
            raise InputError(sentence(f"X of block {place}", "a table with rows and columns", got))
        if self.width is not None and X.shape[1] != self.width:
            raise InputError(f"X of block {place} must have {counted(self.width, 'column')}; got {X.shape[1]}.")
        for what, other in (("y", Y), ("weights", weights), ("groups", keys)):
            if other is not None and (not other.ndim or len(other) != len(X)):
                got = f"{len(other) if other.ndim else 0} rows"
                raise InputError(sentence(f"{what} of block {place}", f"as long as its X ({len(X)} rows)", got))
        return Block(
            as_matrix(X, "X", row),
            None if Y is None else self._targets(Y, row),
            None if weights is None else as_weights(weights, "weights", row),
            None if keys is None else as_labels(keys, "groups", row),
            row,
        )

    def _targets(self, Y: Array, row: int) -> Array:
        return as_labels(Y, "y", row) if self.labels else as_matrix(Y[:, None] if Y.ndim == 1 else Y, "y", row)


def open_stream(X: Any, asked: RolesGiven) -> Source:
    """An iterable of blocks, or a function without arguments that starts one."""
    labels = asked.labels
    for what, given in asked.items():
        if given is not None:
            raise InputError(
                f"{what} must be None when X is an iterable of blocks; got {type(given).__name__}. Put it into the "
                f"blocks: {_FORM}."
            )
    begin = X if callable(X) and not hasattr(X, "__iter__") else lambda: iter(X)
    started = _begun(begin)
    if begin() is started:
        raise InputError(f"X is read several times and must not be an iterator. {_AFRESH}")
    raw = next(iter(started), None)
    first = next(StreamPart(lambda: [] if raw is None else [raw], labels).pieces(), None)
    if first is None:
        raise InputError("X must yield at least one block, and the first block must have rows.")
    given_y = raw[1] if isinstance(raw, tuple) and len(raw) > 1 else None
    flat = given_y is None or np.ndim(given_y) == 1
    targets = None if first.Y is None else 1 if first.Y.ndim == 1 else first.Y.shape[1]
    layout = BlockLayout(first.X.shape[1], None, targets, None, flat)
    mark = _mark(first)
    part = StreamPart(begin, labels, layout.width, mark)
    reason = "an iterable of blocks, which lives in this process alone"
    return Source((part,), layout, rows=None, identity=lambda: mark, here_only=reason)


def _begun(begin: Callable[[], Any]) -> Iterable[Any]:
    """What was started, if it can be gone through."""
    found = begin()
    if not hasattr(found, "__iter__"):
        raise InputError(sentence("X()", "an iterator over blocks", type(found).__name__))
    return found  # type: ignore[no-any-return]


def _mark(first: Block) -> str:
    """By the first block: a stream is not read whole to be known again."""
    digest = hashlib.sha256(repr((first.X.shape, None if first.Y is None else first.Y.shape)).encode())
    for column in first.columns():
        if column is not None:
            digest.update(column.tobytes() if column.dtype != object else repr(column.tolist()).encode())
    return digest.hexdigest()
