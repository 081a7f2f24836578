"""Tables in blocks of rows: what their cells may hold, the blocks themselves, and which column is what."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from mercer.data.checks import kind_of_names
from mercer.data.rows import Array, YLike
from mercer.errors import InputError, nearest, refuse, refuse_if, sentence
from mercer.tables.cells import EXACT, FIFTEEN, is_missing, is_rounded, rounded_rows
from mercer.tables.delimited import refuse_twice

Columns: TypeAlias = tuple[Any, Any, Any, Any]  # X, Y, weights and keys of some rows; the last three may be None
FILL = "Impute the missing values, or drop these rows."
REPLACE = "Replace the infinite values, or drop these rows."
ENCODE = "Encode it as numbers (mercer.TableEncoder does), or drop the column."


@dataclass(frozen=True, eq=False)
class Naming:
    """What messages call the columns and rows of a table.

    Attributes
    ----------
    what : str
        The name of the table.
    rows : int or ndarray
        The number of the first row, or the numbers of all.
    names : sequence of str or None
        The names of the columns.
    """

    what: str
    rows: int | Array = 0
    names: Sequence[str] | None = None

    def row(self, place: int) -> int:
        """The number of the row at a place."""
        return self.rows + place if isinstance(self.rows, int) else int(self.rows[place])

    def refusal(self, values: Array, row: int, column: int, must_be: str, hint: str = "") -> InputError:
        """The error about one cell of `values`; a column that is alone and has no name is called by its table."""
        cell, owner = values[row, column], self.what
        if self.names is not None or values.shape[1] > 1:
            owner = f"Column {column if self.names is None else repr(self.names[column])} of {self.what}"
        words = f"{cell:.6g}" if isinstance(cell, float) else repr(cell) if isinstance(cell, str) else str(cell)
        got = words if len(words) <= 40 else words[:37] + "..."
        return InputError(sentence(owner, must_be, f"{got} in row {self.row(row)}", hint))


def as_matrix(values: Array, naming: Naming) -> Array:
    """A table of numbers or booleans of any width, or of objects that are numbers, as finite float64 in C order.

    The table is a view where it is that already, and cannot be written to: it may be the caller's own.
    """
    table = np.ascontiguousarray(as_numbers(values, naming), dtype=np.float64).view()
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise naming.refusal(table, row, column, "finite", FILL if np.isnan(table[row, column]) else REPLACE)
    table.flags.writeable = False
    return table


def as_column(values: Array, naming: Naming) -> Array:
    """One column of numbers; refused by its type, or where a cell is no number or too long for a float64."""
    cells = values.astype(object) if values.dtype.kind in "UT" else values  # objects, so that the first text is named
    return as_numbers(cells[:, None], naming)[:, 0]


def refuse_kind(dtype: np.dtype[np.generic], naming: Naming) -> None:
    """Refuse what cannot be numbers by its type."""
    if dtype.kind in "biufO":
        return
    kinds = {"c": "complex numbers", "M": "dates", "m": "durations"} | dict.fromkeys("USTa", "text")
    kind = kinds.get(dtype.kind, str(dtype))
    hint = "Encode such columns as numbers (mercer.TableEncoder does), or drop them."
    if naming.names is not None and len(naming.names) == 1:
        raise InputError(sentence(f"Column {naming.names[0]!r} of {naming.what}", "numbers", kind, ENCODE))
    raise InputError(sentence(naming.what, "a table of numbers", kind, hint))


def as_numbers(values: Array, naming: Naming) -> Array:
    """A table of numbers as it is, objects as float64; refused where a cell is no number, or too long for a float64."""
    refuse_kind(values.dtype, naming)
    if values.dtype.kind in "iu" and (rounded := rounded_rows(values.ravel())).size:
        row, column = divmod(int(rounded[0]), values.shape[1])
        raise naming.refusal(values, row, column, FIFTEEN, "Drop the column.")
    if values.dtype != object:
        return values
    for (row, column), cell in np.ndenumerate(values):
        if not isinstance(cell, numbers.Real | Decimal | np.bool_):
            raise naming.refusal(values, row, column, "numbers", ENCODE)
        if isinstance(cell, int | np.integer | Decimal) and is_rounded(cell):
            raise naming.refusal(values, row, column, FIFTEEN, "Drop the column.")
    return values.astype(np.float64)


def as_weights(values: Array, naming: Naming) -> Array:
    """Weights as finite numbers, none below zero."""
    weights = as_matrix(_one_column(values, naming, "one number per row")[:, None], naming)
    if (weights < 0).any():
        raise naming.refusal(weights, int((weights < 0).argmax()), 0, "non-negative")
    return weights[:, 0]


def as_labels(values: Array, naming: Naming) -> Array:
    """One label or key per row, of one kind and none missing."""
    values = _one_column(values, naming, "one label per row")
    cells = values if values.dtype == object else ()
    missing = ~np.isfinite(values) if values.dtype.kind == "f" else np.fromiter(map(is_missing, cells), dtype=bool)
    if missing.any():
        row = int(missing.argmax())
        if values.dtype.kind == "f" and np.isinf(values[row]):
            raise naming.refusal(values[:, None], row, 0, "finite", REPLACE)
        raise InputError(f"{naming.what} has missing values, the first in row {naming.row(row)}. {FILL}")
    kind_of_names(naming.what, values, naming.rows)
    return values


def _one_column(values: Array, naming: Naming, must_be: str) -> Array:
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    refuse_if(values.ndim != 1, naming.what, must_be, f"an array of shape {values.shape}")
    return values


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

    def pick(self, rows: slice) -> Block:
        """Some of these rows; `start` moves with them."""
        return Block(*pick(self.columns(), rows), self.start + rows.indices(len(self))[0])

    def columns(self) -> Columns:
        """X, Y, weights and keys."""
        return self.X, self.Y, self.weights, self.keys


def pick(columns: Columns, rows: slice | Array) -> Columns:
    """Some rows of all columns that are there."""
    X, Y, weights, keys = (None if column is None else column[rows] for column in columns)
    return X, Y, weights, keys


def join(columns: Sequence[Array]) -> Array:
    """Arrays as one in which no whole number is rounded, as NumPy does where some are floats or have no sign."""
    together = np.concatenate(columns)
    whole = [column for column in columns if column.dtype.kind in "iu" and len(column)]
    if together.dtype.kind == "f" and any(max(-int(each.min()), int(each.max())) > EXACT for each in whole):
        return np.concatenate([column.astype(object) for column in columns])
    return together


def regroup(pieces: Iterable[Block], at_once: int) -> Iterator[Block]:
    """The rows in blocks of exactly `at_once`, the last one excepted, whatever they came in."""
    held: list[Block] = []
    room = at_once
    for piece in pieces:
        cut = 0
        while cut < len(piece):
            held.append(piece.pick(slice(cut, cut + room)))
            cut, room = cut + room, room - len(held[-1])
            if not room:
                yield _join_blocks(held)
                held, room = [], at_once
    if held:
        yield _join_blocks(held)


def _join_blocks(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    Xs, *others = zip(*(block.columns() for block in blocks), strict=True)
    Y, weights, keys = (None if column[0] is None else join(column) for column in others)
    return Block(np.concatenate(Xs), Y, weights, keys, blocks[0].start)


@dataclass(frozen=True)
class Layout:
    """What the columns of a table are, and what messages call them.

    Attributes
    ----------
    width : int
        Columns of X.
    names : tuple of str or None
        What they are called.
    targets : int or None
        Columns of Y; None without targets.
    target_names : tuple of str or None
        What they are called.
    weights, keys : str or None
        The columns of a named table that hold weights of rows, and groups.
    flat : bool
        Whether y was one-dimensional, or named by itself and not in a list.
    labels : bool
        Whether y holds labels.
    called : tuple of str
        What messages call X, y, weights and groups.
    """

    width: int
    names: tuple[str, ...] | None = None
    targets: int | None = None
    target_names: tuple[str, ...] | None = None
    weights: str | None = None
    keys: str | None = None
    flat: bool = True
    labels: bool = False
    called: tuple[str, str, str, str] = ("X", "y", "sample_weight", "groups")

    @property
    def numbers(self) -> list[str]:
        """Named columns that hold numbers."""
        targets = () if self.labels else self.target_names or ()
        return [*(self.names or ()), *targets, *([] if self.weights is None else [self.weights])]

    @property
    def categories(self) -> list[tuple[str, str]]:
        """Named columns of labels and keys, each with what it is for."""
        labels = [("y", name) for name in self.target_names or () if self.labels]
        return labels + ([] if self.keys is None else [("groups", self.keys)])

    @property
    def columns_read(self) -> list[str]:
        """All named columns that are read."""
        return [*self.numbers, *(name for _, name in self.categories)]

    def read(self, numbers: Callable[[str], Array], values: Callable[[str], Array]) -> Columns:
        """The named columns, by what reads one of numbers and what reads one of labels or keys."""

        def matrix(names: Sequence[str]) -> Array:
            return np.stack([numbers(name) for name in names], axis=1, dtype=np.float64)

        Y = None
        if self.target_names is not None:
            Y = values(self.target_names[0]) if self.labels else matrix(self.target_names)
        weights = None if self.weights is None else numbers(self.weights)
        return matrix(self.names or ()), Y, weights, None if self.keys is None else values(self.keys)

    def check(self, columns: Columns, start: int, rows: int | Array) -> Block:
        """A block of columns as they were read: every cell is looked at here; `rows` numbers them for messages."""
        X, Y, weights, keys = columns
        own, targets, weighed, grouped = self.called
        if Y is not None:
            naming = Naming(targets, rows, None if self.labels else self.target_names)
            Y = as_labels(Y, naming) if self.labels else as_matrix(Y[:, None] if Y.ndim == 1 else Y, naming)
        weights = None if weights is None else as_weights(weights, Naming(weighed, rows))
        keys = None if keys is None else as_labels(keys, Naming(grouped, rows))
        return Block(as_matrix(X, Naming(own, rows, self.names)), Y, weights, keys, start)


@dataclass(frozen=True, eq=False)
class RolesGiven:
    """What goes with the rows of X, as it was given: arrays, names of columns, or None.

    Attributes
    ----------
    y, weights, groups : object
        Targets, weights and groups.
    labels : bool
        Whether y holds labels; then a list of texts is labels, not names.
    """

    y: YLike = None
    weights: Any = None
    groups: Any = None
    labels: bool = False

    def items(self) -> list[tuple[str, Any]]:
        """Each with its name."""
        return [("y", self.y), ("sample_weight", self.weights), ("groups", self.groups)]

    def where(self, *, named: bool) -> RolesGiven:
        """The roles that are names of columns, or those that are arrays."""
        several = not self.labels and _are_names(self.y)
        names = [isinstance(value, str) or (what == "y" and several) for what, value in self.items()]
        kept = zip(self.items(), names, strict=True)
        y, weights, groups = (value if name is named else None for (_, value), name in kept)
        return RolesGiven(y, weights, groups, self.labels)


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(name, str) for name in value)


def find_roles(names: Sequence[object], asked: RolesGiven, what: str, index: Collection[str] = ()) -> Layout:
    """Which column is what, from the names that were given; those in `index` are no inputs.

    Examples
    --------
    >>> from mercer.streaming.blocks.table import RolesGiven, find_roles
    >>> find_roles(["age", "income", "city"], RolesGiven(y="income", groups="city"), "table.csv").names
    ('age',)
    """
    known = refuse_twice([str(name) for name in names], what)
    targets = [asked.y] if isinstance(asked.y, str) else asked.y
    unnamed, hint = targets is not None and not _are_names(targets), f"Pass the names of the target columns of {what}."
    refuse_if(unnamed, "y", "the name of a column or a list of names", type(targets).__name__, hint)
    targets = targets or []
    refuse_if(asked.labels and len(targets) > 1, "y", "one column of labels", f"{len(targets)} columns")
    taken: dict[str, str] = {}
    for role, given in (("y", targets), ("sample_weight", [asked.weights]), ("groups", [asked.groups])):
        for name in (name for name in given if name is not None):
            refuse_if(not isinstance(name, str), role, f"the name of a column of {what}", type(name).__name__)
            if name not in known:
                raise InputError(f"There is no column {name!r} in {what}. {nearest(name, known)}")
            roles = f"as {taken.get(name)} and as {role}"
            refuse(name in taken, f"Column {name!r} of {what} is used twice: {roles}. Use each column once.")
            taken[name] = role
    X = tuple(name for name in known if name not in taken and name not in index)
    refuse(not X, f"{what} has no feature columns besides y, sample_weight and groups.")
    flat = isinstance(asked.y, str | None)
    beside = len(targets) or None, tuple(targets) or None, asked.weights, asked.groups
    return Layout(len(X), X, *beside, flat, asked.labels)
