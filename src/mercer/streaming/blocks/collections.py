"""Dask arrays and DataFrames: one part per partition, computed where it is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any

import numpy as np

from mercer.data.checks import as_names, kind_of, kind_of_names, one_kind
from mercer.errors import InputError, sentence
from mercer.runtime.dask import compute, delayed, lengths_of
from mercer.streaming.blocks.arrays import StoredPart, frame_part
from mercer.streaming.blocks.cells import as_labels
from mercer.streaming.blocks.roles import Roles, RolesGiven, find_roles
from mercer.streaming.blocks.source import BlockLayout, Source
from mercer.streaming.blocks.stores import InMemory
from mercer.streaming.blocks.table import Block


@dataclass(frozen=True, eq=False)
class LazyPart:
    """One partition.

    Attributes
    ----------
    pieces : tuple
        X, y, sample_weight and groups of it: Delayed objects, arrays, or None.
    gaps : tuple of bool
        Which of them are computed first.
    start, rows : int
        Where it begins in the whole table, and how many rows it has.
    roles : Roles or None
        Which column is what, where X is a DataFrame.
    labels : bool
        Whether y holds labels.
    """

    pieces: tuple[Any, ...]
    gaps: tuple[bool, ...]
    start: int
    rows: int
    roles: Roles | None
    labels: bool

    def lazy(self) -> list[Any]:
        """What must be computed before its rows can be read."""
        return [piece for piece, gap in zip(self.pieces, self.gaps, strict=True) if gap]

    def shell(self) -> LazyPart:
        """The part without what is computed elsewhere, to be sent."""
        kept = (None if gap else piece for piece, gap in zip(self.pieces, self.gaps, strict=True))
        return replace(self, pieces=tuple(kept))

    def filled(self, values: Sequence[Any]) -> StoredPart:
        """The part with what was computed."""
        coming = iter(values)
        X, *others = (next(coming) if gap else piece for piece, gap in zip(self.pieces, self.gaps, strict=True))
        if len(X) != self.rows:
            raise InputError(
                f"A partition of X changed its length between passes: {self.rows} rows, then {len(X)}. Make the "
                "computation deterministic, or persist X."
            )
        Y, weights, keys = (None if each is None else InMemory(np.asarray(each)) for each in others)
        if self.roles is not None:
            return frame_part(X, self.roles, self.start, (Y, weights, keys))
        return StoredPart(InMemory(np.asarray(X)), Y, weights, keys, self.start, labels=self.labels)

    def blocks(self, at_once: int, skip: int = 0) -> Iterator[Block]:
        """Its rows in order; computed now, by whatever Dask uses."""
        return self.shell().filled(compute(self.lazy())).blocks(at_once, skip)


def is_lazy(value: Any) -> bool:
    """Whether something is a collection of Dask."""
    return hasattr(value, "__dask_graph__") and type(value).__module__.partition(".")[0].startswith("dask")


def open_collection(X: Any, asked: RolesGiven) -> Source:
    """A Dask array or DataFrame with what belongs to it."""
    names = [str(name) for name in X.columns] if hasattr(X, "npartitions") and hasattr(X, "columns") else None
    if names is None and getattr(X, "ndim", 0) != 2:
        raise InputError(sentence("X", "a Dask array with rows and columns, or a Dask DataFrame", type(X).__name__))
    roles = None if names is None else find_roles(names, asked.names(), "X")
    given = asked if names is None else asked.arrays()
    tables = _partitions(X)
    lengths = _lengths(X, tables)
    others = [_aligned(value, what, lengths) for what, value in given.items()]
    _refuse_kinds(X, asked, others, tables)
    starts = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    parts = tuple(
        LazyPart(pieces, tuple(map(is_lazy, pieces)), starts[place], lengths[place], roles, asked.labels)
        for place, pieces in enumerate(zip(tables, *others, strict=True))
        if lengths[place]
    )
    tokens = [X, given.y, given.weights, given.groups]

    def identity() -> str:
        return repr((roles, list(map(_token, tokens))))

    return Source(parts, _layout(X, given.y, roles), rows=starts[-1], identity=identity)


def _refuse_kinds(X: Any, asked: RolesGiven, others: list[list[Any]], tables: list[Any]) -> None:
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
        pieces = [delayed(getitem)(each, value) for each in tables] if named else own
        kinds = compute([delayed(_kind)(what, piece) for piece in pieces])
        one_kind(what, [(kind, f"partition {place}") for place, kind in enumerate(kinds) if kind is not None])


def _kind(what: str, names: Any) -> str | None:
    """Kind of the labels or keys of one partition."""
    return kind_of_names(what, as_labels(np.asarray(names), what))


def _layout(X: Any, y: Any, roles: Roles | None) -> BlockLayout:
    own = BlockLayout(int(X.shape[1])) if roles is None else roles.layout()
    if y is None:
        return own
    shape = y.shape if is_lazy(y) else np.shape(y)
    flat = len(shape) == 1
    return replace(own, targets=1 if flat else int(shape[1]), flat=flat)


def _partitions(value: Any) -> list[Any]:
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


def _lengths(value: Any, pieces: list[Any]) -> list[int]:
    """Rows of each partition; one pass over the lengths where Dask does not know them."""
    chunks = getattr(value, "chunks", None)
    if chunks is not None and not np.isnan(chunks[0]).any():
        return [int(length) for length in chunks[0]]
    return lengths_of(pieces)


def _aligned(value: Any, what: str, lengths: list[int]) -> list[Any]:
    """Something with one row per row of X, cut like X."""
    if value is None:
        return [None] * len(lengths)
    if not is_lazy(value):
        array = as_names(value)
        _same_length(what, len(array) if array.ndim else 0, sum(lengths))
        return list(np.split(array, np.cumsum(lengths)[:-1]))
    chunks = getattr(value, "chunks", None)
    if chunks is not None and not np.isnan(chunks[0]).any():
        _same_length(what, sum(chunks[0]), sum(lengths))
        return _partitions(value.rechunk({0: tuple(lengths)}))
    pieces = _partitions(value)
    found = lengths_of(pieces)
    if found != lengths:
        _same_length(what, sum(found), sum(lengths))
        got = "partitions of different lengths"
        raise InputError(sentence(f"{what} of a Dask collection", "partitioned like X", got))
    return pieces


def _same_length(what: str, rows: int, wanted: int) -> None:
    if rows != wanted:
        raise InputError(sentence(what, f"as long as X ({wanted} rows)", f"{rows} rows"))


def _token(value: Any) -> Any:
    """What Dask itself knows a collection by; arrays by contents."""
    if value is None:
        return None
    return value.__dask_tokenize__() if is_lazy(value) else InMemory(np.asarray(value)).identity()
