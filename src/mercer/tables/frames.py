"""Tables of every make as named columns; data frames through narwhals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from mercer.data.rows import Array, XLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.tables.delimited import refuse_twice

_WHAT = "X of TableEncoder"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by place, with their names.

    Attributes
    ----------
    names : tuple of str
        One per column; `x1`, `x2`, ... where the table has none.
    named : bool
        Whether the names are the table's own.
    rows : int
        Number of rows.
    column : callable
        The column at a place, as the table gives it.
    """

    names: tuple[str, ...]
    named: bool
    rows: int
    column: Callable[[int], object]


def as_table(X: XLike) -> Table:
    """Take a DataFrame (pandas, polars, pyarrow), a mapping of columns, an array or a list of rows.

    Examples
    --------
    >>> from mercer.tables.frames import as_table
    >>> as_table({"age": [31, 45], "city": ["Rome", "Bonn"]}).names
    ('age', 'city')
    >>> as_table([[31, "Rome"], [45, "Bonn"]]).names
    ('x1', 'x2')
    """
    refuse_if(hasattr(X, "tocsr"), _WHAT, "a dense table", "a sparse matrix", "Use X.toarray() if it fits in memory.")
    if isinstance(X, Mapping):
        table = _table_of_columns(X, list(X))
    elif isinstance(X, np.ndarray) and X.dtype.names:
        table = _table_of_columns(X, list(X.dtype.names))
    elif isinstance(X, list | tuple):
        table = _table_of_rows(X)
    else:
        try:
            frame = nw.from_native(X, eager_only=True, pass_through=True)
        except DuplicateError:
            refuse_twice(list(map(str, X.columns)))
            raise
        table = _frame(frame) if isinstance(frame, nw.DataFrame) else _array(X)
    rows, width = table.rows, len(table.names)
    what = f"{width} feature(s)" if rows else f"{rows} sample(s)"
    got = f"{what} (shape=({rows}, {width})) while a minimum of 1 is required"
    refuse_if(not (rows and width), _WHAT, "a table with rows and columns", got)
    return table


def _frame(frame: nw.DataFrame[Any]) -> Table:
    """A data frame; names may be anything, and are taken by place."""
    names = tuple(map(str, frame.to_native().columns if frame.implementation.is_pandas_like() else frame.columns))
    refuse_twice(names)
    return Table(names, True, len(frame), lambda place: frame[:, place])


def _table_of_columns(X: XLike, keys: list[Hashable]) -> Table:
    names = tuple(map(str, keys))
    refuse_twice(names)
    rows = len(X[keys[0]]) if keys and hasattr(X[keys[0]], "__len__") else 0
    for name, key in zip(names, keys, strict=True):
        column = X[key]
        sound = not isinstance(column, str | bytes) and hasattr(column, "__len__")
        refuse_if(not sound, f"Column {name!r}", "a sequence of values", type(column).__name__)
        length, must_be = len(column), f"as long as column {names[0]!r} ({rows} rows)"
        refuse_if(length != rows, f"Column {name!r}", must_be, f"{length} rows")
    return Table(names, True, rows, lambda place: X[keys[place]])


def _numbered_names(width: int) -> tuple[str, ...]:
    return tuple(f"x{place + 1}" for place in range(width))


def _table_of_rows(X: Sequence[Sequence[object]]) -> Table:
    """A list of rows. Cells are taken one by one: NumPy would turn the numbers of a mixed list into text."""
    for place, row in enumerate(X):
        if not isinstance(row, list | tuple | np.ndarray) or np.ndim(row) == 0:
            got, way_out = f"{row!r} in place of row {place}", "For one column, use [[a], [b]]."
            raise InputError(sentence(_WHAT, "a list of rows", got, way_out))
        if len(row) != len(X[0]):
            must_be = f"as long as row 0 ({len(X[0])} cells)"
            raise InputError(sentence(f"Row {place} of X", must_be, f"{len(row)} cells"))
    width = len(X[0]) if X else 0

    def column(place: int) -> Array:
        return np.fromiter((row[place] for row in X), dtype=object, count=len(X))

    return Table(_numbered_names(width), False, len(X), column)


def _array(X: XLike) -> Table:
    bad = X is None or isinstance(X, str | bytes) or not hasattr(X, "__array__")
    refuse_if(bad, _WHAT, "a DataFrame, a mapping of columns, an array or a list of rows", type(X).__name__)
    values = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    refuse_if(values.dtype.kind == "c", _WHAT, "real numbers", "complex ones", "Complex data not supported.")
    way_out = "Reshape your data: for one column, use X.reshape(-1, 1)." if values.ndim == 1 else ""
    refuse_if(values.ndim != 2, _WHAT, "a table with rows and columns", f"{values.ndim} dimensions", way_out)
    return Table(_numbered_names(values.shape[1]), False, len(values), lambda place: values[:, place])
