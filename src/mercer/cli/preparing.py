"""From a table and what was said about its columns to features, a target, groups and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mercer.backends import promise
from mercer.cli.choices import Target, choose_task
from mercer.data.encoding import TableEncoder
from mercer.data.reading import Reading, read_table
from mercer.data.rows import Array
from mercer.errors import InputError, sentence

_FEWEST = 6  # rows that folds can be made of
# Bytes of memory for each byte of a file, whose cells are texts before they are numbers: 17.3 for a CSV of numbers.
_PER_BYTE = 17
_KINDS = ("number", "category", "date", "text", "drop")


@dataclass(frozen=True)
class Said:
    """What was said about a table on the command line."""

    target: str
    kinds: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    group: str | None = None
    weight: str | None = None
    row_id: str | None = None
    task: str | None = None
    missing: str | None = None
    rows_kept: bool = True
    separator: str | None = None
    decimal: str | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready to be fitted.

    Attributes
    ----------
    reading : Reading
        The table as it was read.
    features : dict of str to ndarray
        The columns to learn from.
    encoder : TableEncoder
        What they were taken for, and how they become numbers.
    target : Target
        What is to be predicted.
    groups, weights : ndarray or None
        One per row, if said.
    ignored : tuple of str
        Columns that are not learned from.
    notes : list of str
        What should be told.
    """

    reading: Reading
    features: dict[str, Array]
    encoder: TableEncoder
    target: Target
    groups: Array | None
    weights: Array | None
    ignored: tuple[str, ...]
    notes: list[str]


def asked_kinds(given: Sequence[str]) -> dict[str, str]:
    """`--as` options as a dictionary.

    >>> asked_kinds(["zip=category", "note=text"])
    {'zip': 'category', 'note': 'text'}
    """
    kinds = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if not name or kind not in _KINDS:
            raise InputError(sentence("--as", "COLUMN=number, category, date, text or drop", repr(text)))
        kinds[name] = kind
    return kinds


def prepare(source: str, said: Said) -> Prepared:
    """Read a table and sort its columns."""
    kinds = {name: kind for name, kind in said.kinds.items() if kind != "drop"}
    drop = [*said.drop, *(name for name in said.kinds if name not in kinds)]
    aside = [*drop, *(name for name in (said.group, said.row_id) if name is not None)]
    weight = {} if said.weight is None else {said.weight: "number"}
    _promise_reading(source)
    table = read_table(
        source,
        kinds=kinds | weight,
        unused=aside,
        separator=said.separator,
        decimal=said.decimal,
        infinite="refuse" if said.missing in {None, "refuse"} else "missing",
    )
    for name in (said.target, *said.kinds, *weight, *aside):
        table.column(name)
    if said.target in {*aside, *weight}:
        raise InputError(f"Target {said.target!r} cannot be dropped, or be the group, the weight or the id as well.")
    apart = {said.target, *aside, *weight}
    features = {name: column for name, column in table.columns.items() if name not in apart}
    if not features:
        raise InputError(f"{table.what} has no column to learn from besides the target {said.target!r}.")
    notes = list(table.notes)
    rows = _rows_to_keep(table, said, features, notes)
    if len(rows) < _FEWEST:
        raise InputError(sentence(table.what, f"a table of at least {_FEWEST} rows", f"{len(rows)}"))
    features = {name: column[rows] for name, column in features.items()}
    encoder = _encoder({name: kind for name, kind in kinds.items() if name in features}, said).fit(features)
    if not encoder.names_out_:
        reasons = "; ".join(f"{each.name!r}: {each.why}" for each in encoder.columns_[:3])
        raise InputError(f"No column of {table.what} can be learned from ({reasons}).")
    return Prepared(
        table,
        features,
        encoder if said.rows_kept else encoder.rounded(),
        choose_task(said.target, table.columns[said.target][rows], said.task),
        _groups(table, said.group, rows),
        _weights(table, said.weight, rows),
        tuple(name for name in table.columns if name not in features and name != said.target),
        notes,
    )


def _promise_reading(source: str) -> None:
    """Refuse a file that does not fit in memory as a table, before it is read."""
    path = Path(source)
    if source != "-" and path.is_file():
        way_out = "mercer.NystroemRidgeCV in Python reads tables of numbers from files, block by block."
        promise(_PER_BYTE * path.stat().st_size, f"Reading {path.name}", way_out)


def _encoder(kinds: dict[str, str], said: Said) -> TableEncoder:
    return TableEncoder(kinds, missing="mean" if said.missing == "mean" else "mark")


def is_missing(column: Array) -> Array:
    """Which cells are missing."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "Mm":
        return np.isnat(column)
    return np.array([cell is None or cell == "" or cell != cell for cell in column], dtype=bool)  # noqa: PLR0124 - NaN


def _rows_to_keep(table: Reading, said: Said, features: dict[str, Array], notes: list[str]) -> Array:
    """The rows that are learned from: all, or with `--missing drop` those without missing cells."""
    named = {said.target: table.columns[said.target]}
    named |= {name: table.columns[name] for name in (said.group, said.weight) if name is not None}
    looked_at = named | (features if said.missing in {"drop", "refuse"} else {})
    gone = np.zeros(table.rows, dtype=bool)
    for name, column in looked_at.items():
        missing = is_missing(column)
        gone |= missing
        if missing.any() and said.missing != "drop":
            count = int(missing.sum())
            cells = f"{count} empty cell{'s' * (count > 1)}, the first in {table.where(int(np.argmax(missing)))}"
            raise InputError(
                sentence(f"Column {name!r}", "there in every row", cells, "To leave such rows out, say --missing drop.")
            )
    if gone.all():
        raise InputError(f"Every row of {table.what} has a missing cell, so --missing drop leaves none.")
    if gone.any():
        notes.append(f"{int(gone.sum())} of {table.rows} rows have missing cells and were left out.")
    return np.flatnonzero(~gone)


def _groups(table: Reading, name: str | None, rows: Array) -> Array | None:
    if name is None:
        return None
    groups = np.array([str(cell) for cell in table.columns[name][rows]])
    count = len(np.unique(groups))
    if count < 3:
        must_be = "a column of at least 3 groups"
        raise InputError(sentence(f"--group {name}", must_be, f"{count}", "Folds are made of whole groups."))
    return groups


def _weights(table: Reading, name: str | None, rows: Array) -> Array | None:
    if name is None:
        return None
    weights: Any = table.columns[name][rows]
    bad = np.flatnonzero(~(weights >= 0))
    if len(bad):
        where = table.where(int(rows[bad[0]]))
        raise InputError(
            sentence(f"Column {name!r}", "weights that are not negative", f"{weights[bad[0]]:g} in {where}")
        )
    return np.asarray(weights, dtype=np.float64)
