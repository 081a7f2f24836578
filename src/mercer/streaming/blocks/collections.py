"""Dask arrays and DataFrames: one part per partition, computed where it is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any, TypeAlias

import numpy as np

from mercer.data.checks import as_names, kind_of, kind_of_names, one_kind
from mercer.data.rows import XLike
from mercer.errors import InputError, sentence
from mercer.runtime.dask import compute, delayed
from mercer.streaming.blocks.arrays import array_part, as_frame, fingerprint, frame_layout, read_frame, refuse_length
from mercer.streaming.blocks.source import Part, Source
from mercer.streaming.blocks.table import Block, Columns, Layout, Naming, RolesGiven, as_labels

Lazy: TypeAlias = Any  # a collection of Dask, or a Delayed object: what one partition of it will be; or an array


@dataclass(frozen=True, eq=False)
class LazyPart:
    """One partition.

    Attributes
    ----------
    pieces : tuple
        X, y, sample_weight and groups of it: Delayed objects, which must be computed first, arrays, or None.
    start, rows : int
        Where it begins in the whole table, and how many rows it has.
    layout : Layout
        The columns.
    """

    pieces: tuple[Lazy, ...]
    start: int
    rows: int
    layout: Layout

    def fill(self, values: Sequence[XLike]) -> Part:
        """The part with what its pieces were computed to be."""
        X, *others = values
        if len(X) != self.rows:
            raise InputError(
                f"A partition of X changed its length between passes: {self.rows} rows, then {len(X)}. Make the "
                "computation deterministic, or persist X."
            )
        Y, weights, keys = (None if other is None else np.asarray(other) for other in others)
        frame = None if self.layout.names is None else as_frame(X)
        if frame is None:
            columns: Columns = (np.asarray(X), Y, weights, keys)
        else:
            columns = read_frame(frame, self.layout, (Y, weights, keys), self.start)
        part = array_part(columns, self.layout, 0, self.rows)
        return replace(part, start=self.start, number=self.start)

    def blocks(self, at_once: int, skip: int = 0) -> Iterator[Block]:
        """Its rows in order; computed now, by whatever Dask uses."""
        return self.fill(compute(self.pieces)).blocks(at_once, skip)


def open_collection(X: XLike, asked: RolesGiven) -> Source:
    """A Dask array or DataFrame with what belongs to it."""
    named = hasattr(X, "npartitions") and hasattr(X, "columns")
    if not named and getattr(X, "ndim", 0) != 2:
        raise InputError(sentence("X", "a Dask array with rows and columns, or a Dask DataFrame", type(X).__name__))
    layout = frame_layout(X.columns, asked) if named else Layout(int(X.shape[1]), labels=asked.labels)
    given = asked.where(named=False) if named else asked
    if given.y is not None:
        shape = given.y.shape if _is_lazy(given.y) else np.shape(given.y)
        layout = replace(layout, targets=1 if len(shape) == 1 else int(shape[1]), flat=len(shape) == 1)
    tables = _partitions(X)
    lengths = _lengths(X, tables)
    others = [_cut_like(value, what, lengths) for what, value in given.items()]
    _refuse_kinds(X, asked, others, tables)
    starts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    parts = tuple(
        LazyPart(pieces, starts[place], lengths[place], layout)
        for place, pieces in enumerate(zip(tables, *others, strict=True))
        if lengths[place]
    )

    tokens = [X, given.y, given.weights, given.groups]
    return Source(parts, layout, rows=starts[-1], identity=lambda: repr([layout, *map(_token, tokens)]))


def _is_lazy(value: object) -> bool:
    """Whether something is a collection of Dask."""
    return hasattr(value, "__dask_graph__") and type(value).__module__.partition(".")[0].startswith("dask")


def _refuse_kinds(X: XLike, asked: RolesGiven, others: list[list[Lazy]], tables: list[Lazy]) -> None:
    """Refuse labels or keys that are of one kind in a partition and of another kind in the next.

    Their type settles it. Where Dask only knows that they are objects, each partition is asked for its kind.
    """
    for (what, value), own in zip(asked.items(), others, strict=True):
        if value is None or not (what == "groups" or (what == "y" and asked.labels)):
            continue
        named = isinstance(value, str)
        dtype = getattr(X[value] if named else value, "dtype", np.dtype(object))
        if kind_of(dtype.type) != kind_of(np.object_):
            continue
        pieces = [delayed(getitem)(table, value) for table in tables] if named else own
        kinds = compute([delayed(_kind)(what, piece) for piece in pieces])
        one_kind(what, [(kind, f"partition {place}") for place, kind in enumerate(kinds) if kind is not None])


def _kind(what: str, names: object) -> str | None:
    """Kind of the labels or keys of one partition."""
    return kind_of_names(what, as_labels(np.asarray(names), Naming(what)))


def _partitions(value: Lazy) -> list[Lazy]:
    """Delayed objects, one per stretch of rows."""
    if hasattr(value, "npartitions") and not hasattr(value, "chunks"):
        return list(value.to_delayed())
    if value.ndim == 2 and len(value.chunks[1]) > 1:
        if np.isnan(value.chunks[0]).any():
            raise InputError(
                f"X with unknown chunk sizes must have one chunk along axis 1; got {len(value.chunks[1])}. Use "
                "X.rechunk({1: -1}) before filtering rows."
            )
        value = value.rechunk({1: -1})
    return list(value.to_delayed().ravel())


def _lengths(value: Lazy, pieces: list[Lazy]) -> list[int]:
    """Rows of each partition; one pass over the lengths where Dask does not know them."""
    chunks = getattr(value, "chunks", None)
    if chunks is None or np.isnan(chunks[0]).any():
        return [int(length) for length in compute([delayed(len)(piece) for piece in pieces])]
    return [int(length) for length in chunks[0]]


def _cut_like(value: Lazy, what: str, lengths: list[int]) -> list[Lazy]:
    """Something with one row per row of X, cut like X."""
    if value is None:
        return [None] * len(lengths)
    if not _is_lazy(value):
        array = as_names(value)
        refuse_length(what, len(array) if array.ndim else 0, sum(lengths))
        return list(np.split(array, np.cumsum(lengths)[:-1]))
    pieces = _partitions(value)
    own = _lengths(value, pieces)
    refuse_length(what, sum(own), sum(lengths))
    if own == lengths:
        return pieces
    if not hasattr(value, "chunks") or np.isnan(value.chunks[0]).any():
        got = "partitions of different lengths"
        raise InputError(sentence(f"{what} of a Dask collection", "partitioned like X", got))
    return _partitions(value.rechunk({0: tuple(lengths)}))


def _token(value: Lazy) -> object:
    """What Dask itself knows a collection by; arrays by contents."""
    if _is_lazy(value):
        return value.__dask_tokenize__()
    return None if value is None else fingerprint(as_names(value))
