"""Cells as numbers, weights and labels: what a column may hold, and the error that names the first bad cell."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from mercer.data.checks import kind_of_names
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.tables.cells import FIFTEEN, is_rounded, rounded_rows

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
    refuse_kind(values.dtype, naming)
    table = np.ascontiguousarray(as_numbers(values, naming), dtype=np.float64).view()
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise naming.refusal(table, row, column, "finite", FILL if np.isnan(table[row, column]) else REPLACE)
    table.flags.writeable = False
    return table


def as_column(values: Array, naming: Naming) -> Array:
    """One column of numbers; refused by its type, or where a cell is no number or too long for a float64."""
    if values.dtype.kind in "UT":
        values = values.astype(object)  # so that the first text is named
    refuse_kind(values.dtype, naming)
    return as_numbers(values[:, None], naming)[:, 0]


def refuse_kind(dtype: Any, naming: Naming) -> None:
    """Refuse what cannot be numbers by its type."""
    if dtype.kind in "biufO":
        return
    kind = {"c": "complex numbers", "M": "dates", "m": "durations"}.get(dtype.kind)
    kind = kind or ("text" if dtype.kind in "USTa" else str(dtype))
    if naming.names is not None and len(naming.names) == 1:
        raise InputError(sentence(f"Column {naming.names[0]!r} of {naming.what}", "numbers", kind, ENCODE))
    hint = "Encode such columns as numbers (mercer.TableEncoder does), or drop them."
    raise InputError(sentence(naming.what, "a table of numbers", kind, hint))


def as_numbers(values: Array, naming: Naming) -> Array:
    """A table of numbers as it is, objects as float64; refused where a cell is no number, or too long for a float64."""
    if values.dtype.kind in "iu" and (rounded := rounded_rows(values.ravel())).size:
        row, column = divmod(int(rounded[0]), values.shape[1])
        raise naming.refusal(values, row, column, FIFTEEN, "Drop the column.")
    if values.dtype != object:
        return values
    table = np.empty(values.shape)
    for (row, column), cell in np.ndenumerate(values):
        if not isinstance(cell, numbers.Real | Decimal | np.bool_):
            raise naming.refusal(values, row, column, "numbers", ENCODE)
        if isinstance(cell, int | np.integer | Decimal) and is_rounded(cell):
            raise naming.refusal(values, row, column, FIFTEEN, "Drop the column.")
        table[row, column] = float(cell)
    return table


def as_weights(values: Array, naming: Naming) -> Array:
    """Weights as finite numbers, none below zero."""
    weights = as_matrix(_one_column(values, naming, "one number per row")[:, None], naming)
    if (weights < 0).any():
        raise naming.refusal(weights, int((weights < 0).argmax()), 0, "non-negative")
    return weights[:, 0]


def as_labels(values: Array, naming: Naming) -> Array:
    """One label or key per row, of one kind and none missing."""
    values = _one_column(values, naming, "one label per row")
    missing = np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "f":
        missing = ~np.isfinite(values)
    elif values.dtype == object:
        missing = np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))
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
    if values.ndim != 1:
        raise InputError(sentence(naming.what, must_be, f"an array of shape {values.shape}"))
    return values


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str | bytes):
        return False
    try:
        return cell is None or bool(np.not_equal(cell, cell))
    except TypeError:  # a marker of missing values that will not be compared
        return True
