"""The table of a report: its rows, its columns and how each was used, its target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.report.subject import Subject
from mercer.tables import Column
from mercer.text import counted, number


@dataclass(frozen=True)
class Origin:
    """Where a table came from and what was done with it, as far as the caller knows.

    Attributes
    ----------
    name : str
        What the table is called.
    path : str
        Its file, for the digest; empty where there is none.
    command : str
        The command that does it again.
    notes : tuple of str
        What was said when it was read.
    leaks : tuple of str
        Warnings of possible target leakage, if the caller has looked for it.
    """

    name: str = ""
    path: str = ""
    command: str = ""
    notes: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnFact:
    """How one column was used."""

    name: str
    kind: str
    used: bool
    missing: int
    becomes: int
    holds: str
    why: str
    extreme: float = 0.0


@dataclass(frozen=True, eq=False)
class Data:
    """The table.

    Attributes
    ----------
    rows, missing, copies : int
        Rows, missing cells, and rows that repeat another one in every column.
    columns : tuple of ColumnFact
        All that could be learned from.
    ignored : tuple of str
        Columns that were set aside.
    target : str
        What is predicted.
    numbers : tuple of float or None
        Smallest, mean, largest and standard deviation of the target.
    counts : tuple of (str, int)
        Labels of the target, the most common first.
    """

    rows: int
    missing: int
    copies: int
    columns: tuple[ColumnFact, ...]
    ignored: tuple[str, ...]
    target: str
    numbers: tuple[float, float, float, float] | None
    counts: tuple[tuple[str, int], ...]
    origin: Origin

    @property
    def used(self) -> int:
        """How many columns are learned from."""
        return sum(column.used for column in self.columns)


def data_of(subject: Subject, origin: Origin) -> Data:
    """The table as it was used."""
    y = subject.y
    numbers: tuple[float, float, float, float] | None = None
    counts: tuple[tuple[str, int], ...] = ()
    if subject.classifier:
        labels, found = np.unique(y, return_counts=True)
        order = np.argsort(-found, kind="stable")
        counts = tuple((str(labels[i]), int(found[i])) for i in order)
    else:
        numbers = (float(y.min()), float(y.mean()), float(y.max()), float(y.std()))
    columns = tuple(_column_fact(subject, place) for place in range(len(subject.columns)))
    copies = len(y) - len(np.unique(subject.Z, axis=0)) if subject.Z.shape[1] else 0
    missing = sum(column.missing for column in columns)
    return Data(len(y), missing, copies, columns, subject.ignored, subject.target, numbers, counts, origin)


def _column_fact(subject: Subject, place: int) -> ColumnFact:
    column = subject.columns[place]
    mine = subject.Z[:, subject.place == place]
    extreme = 0.0
    if column.kind == "number" and mine.shape[1]:
        spread = float(mine[:, 0].std())
        extreme = float(np.abs(mine[:, 0] - mine[:, 0].mean()).max()) / spread if spread else 0.0
    used = bool(column.outputs)
    return ColumnFact(
        column.name, column.kind, used, column.missing, len(column.outputs), _holds(column), column.why, extreme
    )


def _holds(column: Column) -> str:
    """The range of numbers, or how many levels there are."""
    if column.kind == "number" and column.scale is not None:
        return f"{number(column.scale.low)} to {number(column.scale.high)}"
    if column.kind == "date" and column.scale is not None:  # days since 1970
        return " to ".join(str(np.datetime64(int(day), "D")) for day in (column.scale.low, column.scale.high))
    levels = len(column.levels) + len(column.pooled)
    return counted(levels, "level") if levels else ""
