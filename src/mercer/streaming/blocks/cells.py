"""Cells as numbers: what a column may hold, and the sentence for the first cell that will not do."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
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


def column_words(what: str, names: Sequence[str] | None, column: int, width: int) -> str:
    """A column by its name, or by its number; one that is alone and has no name needs none."""
    if names is None and width == 1:
        return what
    return f"Column {column if names is None else repr(names[column])} of {what}"


def as_matrix(values: Array, what: str, rows: int | Array = 0, names: Sequence[str] | None = None) -> Array:
    """A table of numbers as finite float64 in C order; a view where it is that already.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
        Numbers or booleans of any width and byte order, or objects that are numbers.
    what : str
        What to call the table.
    rows : int or ndarray, default=0
        The number of the first row, or the numbers of all.
    names : sequence of str, default=None
        Of the columns.
    """
    refuse_kind(values.dtype, what, names)
    table = np.ascontiguousarray(as_numbers(values, what, rows, names), dtype=np.float64)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        got = f"{table[row, column]} in row {_number(rows, row)}"
        way_out = FILL if np.isnan(table[row, column]) else REPLACE
        raise InputError(sentence(column_words(what, names, column, table.shape[1]), "finite", got, way_out))
    if table.flags.writeable:
        table = table.view()
        table.flags.writeable = False  # it may be the caller's own
    return table


def refuse_kind(dtype: Any, what: str, names: Sequence[str] | None = None) -> None:
    """Refuse what cannot be numbers by its type."""
    if dtype.kind in "biufO":
        return
    kind = {"c": "complex numbers", "M": "dates", "m": "durations"}.get(dtype.kind)
    kind = kind or ("text" if dtype.kind in "USTa" else str(dtype))
    if names is not None and len(names) == 1:
        raise InputError(sentence(f"Column {names[0]!r} of {what}", "numbers", kind, ENCODE))
    hint = "Encode such columns as numbers (mercer.TableEncoder does), or drop them."
    raise InputError(sentence(what, "a table of numbers", kind, hint))


def as_numbers(values: Array, what: str, rows: int | Array, names: Sequence[str] | None) -> Array:
    """A table of numbers as it is, objects as float64; refused where a cell is no number, or too long for a float64."""
    if values.dtype.kind in "iu" and (found := rounded_rows(values.ravel())).size:
        row, column = divmod(int(found[0]), values.shape[1])
        raise _rounded(values[row, column], what, names, column, values.shape[1], _number(rows, row))
    if values.dtype != object:
        return values
    table = np.empty(values.shape)
    for (row, column), cell in np.ndenumerate(values):
        if not isinstance(cell, numbers.Real | Decimal | np.bool_):
            got = f"{_short(cell)} in row {_number(rows, row)}"
            raise InputError(sentence(column_words(what, names, column, values.shape[1]), "numbers", got, ENCODE))
        if isinstance(cell, int | np.integer | Decimal) and is_rounded(cell):
            raise _rounded(cell, what, names, column, values.shape[1], _number(rows, row))
        table[row, column] = float(cell)
    return table


def _rounded(cell: Any, what: str, names: Sequence[str] | None, column: int, width: int, row: int) -> InputError:
    got = f"{str(cell)[:40]} in row {row}"
    return InputError(sentence(column_words(what, names, column, width), FIFTEEN, got, "Drop the column."))


def as_weights(values: Array, what: str, rows: int | Array = 0) -> Array:
    """Weights as finite numbers, none below zero."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(sentence(what, "one number per row", f"an array of shape {values.shape}"))
    weights = as_matrix(values[:, None], what, rows, None)[:, 0]
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise InputError(sentence(what, "non-negative", f"{weights[row]:.6g} in row {_number(rows, row)}"))
    return weights


def as_labels(values: Array, what: str, rows: int | Array = 0) -> Array:
    """One label or key per row, of one kind and none missing."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(sentence(what, "one label per row", f"an array of shape {values.shape}"))
    missing = np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "f":
        missing = ~np.isfinite(values)
    elif values.dtype == object:
        missing = np.fromiter((_is_missing(cell) for cell in values), dtype=bool, count=len(values))
    if missing.any():
        row = int(missing.argmax())
        if values.dtype.kind == "f" and np.isinf(values[row]):
            raise InputError(sentence(what, "finite", f"{values[row]} in row {_number(rows, row)}", REPLACE))
        raise InputError(f"{what} has missing values, the first in row {_number(rows, row)}. {FILL}")
    kind_of_names(what, values, rows)
    return values


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str | bytes):
        return False
    try:
        return cell is None or bool(np.not_equal(cell, cell))
    except TypeError:  # a marker of missing values that will not be compared
        return True


def _number(rows: int | Array, place: int) -> int:
    return rows + place if isinstance(rows, int) else int(rows[place])


def _short(cell: Any) -> str:
    words = repr(cell)
    return words if len(words) <= 40 else words[:37] + "..."
