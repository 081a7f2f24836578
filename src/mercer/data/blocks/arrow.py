"""Batches of pyarrow as blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.blocks.cells import ENCODE, FILL
from mercer.data.blocks.roles import Place, Roles
from mercer.data.blocks.table import Block
from mercer.data.rows import Array
from mercer.errors import InputError, sentence

_EXACT = 2**53  # whole numbers up to here are floats, too


def pyarrow(what: str) -> Any:
    """The package, or the sentence that says how to get it."""
    try:
        import pyarrow as pa
    except ImportError:  # pragma: no cover - the extra is there in tests
        raise InputError(f"{what} needs pyarrow, which is not installed: pip install 'mercer[cli]'") from None
    return pa


def plain(cells: Any) -> Any:
    """A batch or table with strings and bytes of the ordinary types: few functions of pyarrow know the view types.

    Text that is not UTF-8 raises pyarrow's own ArrowInvalid.
    """
    import pyarrow as pa

    cells.validate(full=True)
    ordinary = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    if not any(str(kind) in ordinary for kind in cells.schema.types):
        return cells
    columns = [column.cast(ordinary.get(str(column.type), column.type)) for column in cells.columns]
    return type(cells).from_arrays(columns, names=cells.schema.names)


def block_of(batch: Any, roles: Roles, at: Place) -> Block:
    """A batch or table of pyarrow as a block."""

    def matrix(names: tuple[str, ...]) -> Array:
        made = np.empty((batch.num_rows, len(names)))
        for place, name in enumerate(names):
            made[:, place] = _numbers(batch.column(name), name, at)
        return made

    return roles.block(matrix, lambda name: _values(batch.column(name), name, at), at)


def refuse_type(kind: Any, name: str, what: str) -> None:
    """Refuse a column that holds no numbers."""
    from pyarrow import types

    if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        raise InputError(sentence(f"Column {name!r} of {what}", "numbers", str(kind), ENCODE))


def _numbers(column: Any, name: str, at: Place) -> Array:
    refuse_type(column.type, name, at.what)
    _refuse_gaps(column, name, at)
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if values.dtype.kind in "iu" and len(values) and max(-int(values.min()), int(values.max())) > _EXACT:
        row = int((np.abs(values.astype(np.float64)) >= _EXACT).argmax())
        got = f"{values[row]} in row {at.row + row}"
        raise InputError(sentence(f"Column {name!r} of {at.what}", "whole numbers of at most 15 digits", got))
    return values.astype(np.float64) if values.dtype == object else values


def _values(column: Any, name: str, at: Place) -> Array:
    """Labels or keys: texts, numbers, truth values or dates."""
    from pyarrow import types

    _refuse_gaps(column, name, at)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_nested(column.type):
        raise InputError(sentence(f"Column {name!r} of {at.what}", "texts or numbers", str(column.type)))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _refuse_gaps(column: Any, name: str, at: Place) -> None:
    if column.null_count:
        row = np.asarray(column.is_null().to_numpy(zero_copy_only=False)).argmax()
        got = f"nothing in row {at.row + int(row)}"
        raise InputError(sentence(f"Column {name!r} of {at.what}", "complete", got, FILL))
