"""Blocks that the caller makes: any iterable that can be gone through again, or a function that starts one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from mercer.data.checks import as_names, kind_of_names, one_kind
from mercer.data.rows import XLike
from mercer.errors import InputError, sentence
from mercer.streaming.blocks.source import Part, Source
from mercer.streaming.blocks.table import Block, Columns, Layout, RolesGiven
from mercer.text import counted

_FORM = "X alone, (X, y), (X, y, weights) or (X, y, weights, groups)"
_AFRESH = "Pass a list, an object whose __iter__ restarts, or a function that returns a new iterator."


def open_stream(X: XLike, asked: RolesGiven) -> Source:
    """An iterable of blocks, or a function without arguments that starts one."""
    for what, given in asked.items():
        if given is not None:
            raise InputError(
                f"{what} must be None when X is an iterable of blocks; got {type(given).__name__}. Put it into the "
                f"blocks: {_FORM}."
            )
    begin = X if callable(X) and not hasattr(X, "__iter__") else partial(iter, X)
    started = begin()
    if not hasattr(started, "__iter__"):
        raise InputError(sentence("X()", "an iterator over blocks", type(started).__name__))
    if begin() is started:
        raise InputError(f"X is read several times and must not be an iterator. {_AFRESH}")
    first = next(iter(started), None)
    columns = None if first is None else _columns(first, 0)
    if columns is None or not len(columns[0]):
        raise InputError("X must yield at least one block, and the first block must have rows.")
    Y, flat = columns[1], columns[1] is None or columns[1].ndim == 1
    targets = None if Y is None else 1 if flat or asked.labels else Y.shape[1]
    called = ("X", "y", "weights", "groups")
    layout = Layout(columns[0].shape[1], targets=targets, flat=flat, labels=asked.labels, called=called)
    mark = _mark(layout.check(columns, 0, 0))
    part = Part(0, None, layout, partial(_read_stream, begin, mark))
    reason = "an iterable of blocks, which lives in this process alone"
    return Source((part,), layout, rows=None, identity=lambda: mark, here_only=reason)


def _read_stream(begin: Callable[[], Iterable[Any]], mark: str, part: Part, *_: int) -> Iterator[Block]:
    """The blocks as they come; every pass must begin with the block of this mark, and all blocks must be alike."""
    row = 0
    form: list[tuple[int, ...] | None] = []
    kinds: dict[str, tuple[str, str]] = {}  # of labels and keys, each with the block in which it was found first
    for place, given in enumerate(begin()):
        block = part.check(_columns(given, place, part.layout.width), row)
        own = [None if column is None else column.shape[1:] for column in block.columns()]
        form = form or own
        if own != form:
            same = [column is None for column in own] == [column is None for column in form]
            got = "another number of columns or targets" if same else "other items"
            raise InputError(f"Block {place} must have the same items as block 0, such as (X, y); got {got}.")
        for what, names in (("y", block.Y if part.layout.labels else None), ("groups", block.keys)):
            kind = None if names is None else kind_of_names(what, names)
            if kind is not None:
                one_kind(what, [kinds.setdefault(what, (kind, f"block {place}")), (kind, f"block {place}")])
        if place == 0 and _mark(block) != mark:
            got = "a different first block"
            raise InputError(sentence("X", "the same blocks in every pass", got, _AFRESH))
        yield block
        row += len(block)


def _columns(given: Any, place: int, width: int | None = None) -> Columns:
    """What a block holds, of one length."""
    items = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(items) <= 4:
        raise InputError(sentence(f"Block {place}", _FORM, f"{len(items)} items"))
    X, Y, weights, keys = (None if item is None else as_names(item) for item in (*items, None, None, None)[:4])
    if X is None or X.ndim != 2:
        got = "None" if X is None else f"{X.ndim} dimensions"
        raise InputError(sentence(f"X of block {place}", "a table with rows and columns", got))
    if width is not None and X.shape[1] != width:
        raise InputError(f"X of block {place} must have {counted(width, 'column')}; got {X.shape[1]}.")
    for what, other in (("y", Y), ("weights", weights), ("groups", keys)):
        if other is not None and (not other.ndim or len(other) != len(X)):
            got = f"{len(other) if other.ndim else 0} rows"
            raise InputError(sentence(f"{what} of block {place}", f"as long as its X ({len(X)} rows)", got))
    return X, Y, weights, keys


def _mark(first: Block) -> str:
    """By the first block: a stream is not read whole to be known again."""
    digest = hashlib.sha256(repr((first.X.shape, None if first.Y is None else first.Y.shape)).encode())
    for column in first.columns():
        if column is not None:
            digest.update(column.tobytes() if column.dtype != object else repr(column.tolist()).encode())
    return digest.hexdigest()
