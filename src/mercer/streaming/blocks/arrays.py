"""Tables whose rows can be had by number: arrays, maps of files and DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mercer.data.rows import Array
from mercer.streaming.blocks.cells import as_labels, as_matrix, as_weights
from mercer.streaming.blocks.roles import Roles
from mercer.streaming.blocks.source import BlockLayout, Source
from mercer.streaming.blocks.stores import Frame, Store, names_of
from mercer.streaming.blocks.table import Block

_LEAST = 8192  # rows of a part: fewer are not worth a task
_MOST = 64  # parts of a table


@dataclass(frozen=True, eq=False)
class StoredPart:
    """A stretch of a table whose columns lie in stores of equal length.

    Attributes
    ----------
    X, Y, weights, keys : Store or None
        Its columns.
    start : int
        The number of its first row in the whole table.
    names, target_names : tuple of str or None
        Of the columns.
    labels : bool
        Whether Y holds labels.
    """

    X: Store
    Y: Store | None = None
    weights: Store | None = None
    keys: Store | None = None
    start: int = 0
    names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    labels: bool = False

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.X.shape[0]

    def blocks(self, at_once: int, skip: int = 0) -> Iterator[Block]:
        """Its rows in order."""
        for first in range(skip, self.rows, at_once):
            last = min(first + at_once, self.rows)
            yield self._block(lambda store, a=first, b=last: store.rows(a, b), self.start + first)  # type: ignore[misc]

    def take(self, places: Array) -> Block:
        """The rows with these numbers, counted from the beginning of this part."""
        return self._block(lambda store: store.take(places), self.start + places)

    def cut(self, start: int, stop: int) -> StoredPart:
        """A part of these rows alone."""
        Y, weights, keys = (
            None if each is None else each.cut(start, stop) for each in (self.Y, self.weights, self.keys)
        )
        X = self.X.cut(start, stop)
        return replace(self, X=X, Y=Y, weights=weights, keys=keys, start=self.start + start)

    def identity(self) -> str:
        """By what the stores hold."""
        stores = (self.X, self.Y, self.weights, self.keys)
        return repr([None if each is None else each.identity() for each in stores])

    def _block(self, read: Callable[[Store], Array], rows: int | Array) -> Block:
        return Block(
            as_matrix(read(self.X), "X", rows, self.names),
            None if self.Y is None else self._targets(read(self.Y), rows),
            None if self.weights is None else as_weights(read(self.weights), "sample_weight", rows),
            None if self.keys is None else as_labels(read(self.keys), "groups", rows),
            rows if isinstance(rows, int) else 0,
        )

    def _targets(self, Y: Array, rows: int | Array) -> Array:
        if self.labels:
            return as_labels(Y, "y", rows)
        what = "y" if self.target_names is None else "X"  # a column of the same table
        return as_matrix(Y[:, None] if Y.ndim == 1 else Y, what, rows, self.target_names)


def stored_source(whole: StoredPart) -> Source:
    """A table of stores, cut into parts that can be sent."""
    for what, store in (("y", whole.Y if whole.labels else None), ("groups", whole.keys)):
        if store is not None and store.dtype == object:  # blocks are looked at one by one
            as_labels(store.rows(0, whole.rows), what)
    step = max(_LEAST, -(-whole.rows // _MOST))
    parts = tuple(whole.cut(first, min(first + step, whole.rows)) for first in range(0, whole.rows, step))
    flat = whole.Y is None or len(whole.Y.shape) == 1
    targets = None if whole.Y is None else 1 if flat else whole.Y.shape[1]
    layout = BlockLayout(whole.X.shape[1], whole.names, targets, whole.target_names, flat)
    return Source(parts, layout, rows=whole.rows, identity=whole.identity, whole=whole)


def frame_part(table: Any, roles: Roles, start: int, others: Sequence[Store | None]) -> StoredPart:
    """A DataFrame by the roles of its columns; `others` are y, weights and groups that lie elsewhere."""
    keys = {str(name): name for name in names_of(table) or ()}

    def columns(wanted: tuple[str, ...], *, flat: bool = False) -> Frame:
        return Frame(table, tuple(keys[name] for name in wanted), flat=flat)

    Y, weights, groups = others
    if roles.Y is not None:
        Y = columns(roles.Y, flat=roles.flat)
    if roles.weights is not None:
        weights = columns((roles.weights,), flat=True)
    if roles.keys is not None:
        groups = columns((roles.keys,), flat=True)
    return StoredPart(columns(roles.X), Y, weights, groups, start, roles.X, roles.Y, roles.labels)
