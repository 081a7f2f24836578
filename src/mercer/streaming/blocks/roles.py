"""Which column of a named table is what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from mercer.data.rows import Array
from mercer.errors import InputError, nearest, sentence
from mercer.streaming.blocks.cells import as_labels, as_matrix, as_weights
from mercer.streaming.blocks.source import BlockLayout
from mercer.streaming.blocks.table import Block


@dataclass(frozen=True)
class Roles:
    """The columns of a named table by what they are for.

    Attributes
    ----------
    X : tuple of str
        Inputs: all that are nothing else.
    Y : tuple of str or None
        Targets.
    weights, keys : str or None
        Weights of rows, and groups.
    flat : bool
        Whether there is one target that was named by itself, not in a list.
    labels : bool
        Whether the target holds labels.
    """

    X: tuple[str, ...]
    Y: tuple[str, ...] | None = None
    weights: str | None = None
    keys: str | None = None
    flat: bool = True
    labels: bool = False

    @property
    def wanted(self) -> list[str]:
        """All columns that are read."""
        return [*self.X, *(self.Y or ()), *(name for name in (self.weights, self.keys) if name is not None)]

    @property
    def numbers(self) -> list[str]:
        """Columns that hold numbers."""
        return [*self.X, *(() if self.labels else self.Y or ()), *(() if self.weights is None else (self.weights,))]

    @property
    def named(self) -> list[tuple[str, str]]:
        """Columns of labels and keys, each with what it is for."""
        labels = [("y", name) for name in self.Y or () if self.labels]
        return labels + ([] if self.keys is None else [("groups", self.keys)])

    def layout(self) -> BlockLayout:
        """The layout of the columns, as a source has it."""
        return BlockLayout(len(self.X), self.X, None if self.Y is None else len(self.Y), self.Y, self.flat)

    def block(self, matrix: Callable[[tuple[str, ...]], Array], values: Callable[[str], Array], at: Place) -> Block:
        """A block from what reads numbers by columns, and what reads one column as it is."""
        Y = None
        if self.Y is not None:
            Y = (
                as_labels(values(self.Y[0]), f"y of {at.what}", at.row)
                if self.labels
                else as_matrix(matrix(self.Y), at.what, at.row, self.Y)
            )
        weights = None
        if self.weights is not None:
            weights = as_weights(matrix((self.weights,)), f"sample_weight of {at.what}", at.row)
        keys = None if self.keys is None else as_labels(values(self.keys), f"groups of {at.what}", at.row)
        return Block(as_matrix(matrix(self.X), at.what, at.row, self.X), Y, weights, keys, at.start)


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

    y: Any = None
    weights: Any = None
    groups: Any = None
    labels: bool = False

    def items(self) -> list[tuple[str, Any]]:
        """Each with its name."""
        return [("y", self.y), ("sample_weight", self.weights), ("groups", self.groups)]

    def names(self) -> RolesGiven:
        """The roles that are names of columns."""
        return self._where(named=True)

    def arrays(self) -> RolesGiven:
        """The roles that are arrays."""
        return self._where(named=False)

    def _where(self, *, named: bool) -> RolesGiven:
        y, weights, groups = (value if self._is_name(what, value) is named else None for what, value in self.items())
        return RolesGiven(y, weights, groups, self.labels)

    def _is_name(self, what: str, value: Any) -> bool:
        if isinstance(value, str):
            return True
        several = what == "y" and not self.labels and isinstance(value, list | tuple) and bool(value)
        return several and all(isinstance(name, str) for name in value)


@dataclass(frozen=True)
class Place:
    """Where a block comes from: the name of the table, the row there as people count, and the row of all rows."""

    what: str
    row: int
    start: int


def find_roles(names: Sequence[Any], asked: RolesGiven, what: str, index: Collection[str] = ()) -> Roles:
    """Which column is what, from the names that were given; those in `index` are no inputs.

    Examples
    --------
    >>> from mercer.streaming.blocks.roles import RolesGiven, find_roles
    >>> find_roles(["age", "income", "city"], RolesGiven(y="income", groups="city"), "table.csv").X
    ('age',)
    """
    known = [str(name) for name in names]
    twice = [name for name, count in Counter(known).items() if count > 1]
    if twice:
        got = f"{', '.join(map(repr, twice[:5]))} more than once"
        raise InputError(sentence(f"Column names of {what}", "all different", got, "Rename the columns."))
    y = asked.y
    targets = None if y is None else [y] if isinstance(y, str) else _listed(y, what)
    if asked.labels and targets is not None and len(targets) != 1:
        raise InputError(sentence("y", "one column of labels", f"{len(targets)} columns"))
    taken: dict[str, str] = {}
    for role, given in (("y", targets or []), ("sample_weight", [asked.weights]), ("groups", [asked.groups])):
        for name in given:
            if name is None:
                continue
            _check(name, role, known, what)
            if name in taken:
                raise InputError(
                    f"Column {name!r} of {what} is used twice: as {taken[name]} and as {role}. Use each column once."
                )
            taken[name] = role
    X = tuple(name for name in known if name not in taken and name not in index)
    if not X:
        raise InputError(f"{what} has no feature columns besides y, sample_weight and groups.")
    Y = None if targets is None else tuple(targets)
    return Roles(X, Y, asked.weights, asked.groups, isinstance(y, str | None), asked.labels)


def _listed(y: Any, what: str) -> list[str]:
    if isinstance(y, list | tuple) and y and all(isinstance(name, str) for name in y):
        return list(y)
    way_out = f"Pass the names of the target columns of {what}."
    raise InputError(sentence("y", "the name of a column or a list of names", type(y).__name__, way_out))


def _check(name: Any, role: str, known: list[str], what: str) -> None:
    if not isinstance(name, str):
        raise InputError(sentence(role, f"the name of a column of {what}", type(name).__name__))
    if name not in known:
        raise InputError(f"There is no column {name!r} in {what}. {nearest(name, known)}")
