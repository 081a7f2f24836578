"""Batches of pyarrow as blocks."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from mercer.data.checks import kind_of
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.streaming.blocks.cells import ENCODE, FILL, as_numbers
from mercer.streaming.blocks.roles import Place, Roles
from mercer.streaming.blocks.table import Block
from mercer.tables.parquet import distinct_texts


def block_of(batch: Any, roles: Roles, at: Place) -> Block:
    """A batch or table of pyarrow as a block."""

    def matrix(names: tuple[str, ...]) -> Array:
        made = np.empty((batch.num_rows, len(names)))
        for place, name in enumerate(names):
            made[:, place] = _numbers(batch.column(name), name, at)
        return made

    return roles.block(matrix, lambda name: _values(batch.column(name), name, at), at)


def holds_numbers(kind: Any) -> bool:
    """Whether a column of this Arrow type holds numbers."""
    from pyarrow import types

    return any(is_kind(kind) for is_kind in (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal))


def refuse_type(kind: Any, name: str, what: str) -> None:
    """Refuse a column that holds no numbers."""
    if not holds_numbers(kind):
        raise InputError(sentence(f"Column {name!r} of {what}", "numbers", str(kind), ENCODE))


def kind_of_type(kind: Any) -> str:
    """Kind of keys or labels by their Arrow type, as `kind_of` has it."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_decimal(kind):
        return kind_of(Decimal)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return kind_of(str)
    if types.is_date(kind) or types.is_timestamp(kind):
        return kind_of(date)
    if types.is_primitive(kind) and not types.is_time(kind):
        return kind_of(np.dtype(kind.to_pandas_dtype()).type)
    return str(kind)


def _numbers(column: Any, name: str, at: Place) -> Array:
    refuse_type(column.type, name, at.what)
    _refuse_gaps(column, name, at)
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    return as_numbers(values[:, None], at.what, at.row, (name,))[:, 0]


def _values(column: Any, name: str, at: Place) -> Array:
    """Labels or group labels: strings, numbers, booleans or dates."""
    from pyarrow import types

    _refuse_gaps(column, name, at)
    if types.is_dictionary(column.type):
        texts, codes = distinct_texts(column)
        return np.array(texts, dtype=object)[codes]
    if types.is_nested(column.type):
        raise InputError(sentence(f"Column {name!r} of {at.what}", "strings or numbers", str(column.type)))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _refuse_gaps(column: Any, name: str, at: Place) -> None:
    if column.null_count:
        row = np.asarray(column.is_null().to_numpy(zero_copy_only=False)).argmax()
        raise InputError(
            f"Column {name!r} of {at.what} has missing values, the first in row {at.row + int(row)}. {FILL}"
        )
