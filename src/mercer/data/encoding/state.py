"""Settings and learned columns as JSON and arrays, and back, without trust in what is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, get_args

import numpy as np

from mercer.data.encoding.columns import Column, Scale, output_names
from mercer.data.encoding.kinds import Kind, checked_kind
from mercer.data.encoding.values import NumberStyle
from mercer.data.rows import Array
from mercer.errors import InputError, sentence

_FIELDS = {"name": str, "kind": str, "why": str, "missing": int, "year": bool}
_LISTS = {"levels": str, "outputs": str, "pooled": str, "weekdays": int}


@dataclass(frozen=True)
class Settings:
    """What was asked of an encoder: kinds and columns to leave out, and how numbers are written in text."""

    kinds: tuple[tuple[str | int, str], ...]
    drop: tuple[str | int, ...]
    style: NumberStyle

    @classmethod
    def checked(cls, kinds: Any, drop: Any, decimal: str, thousands: str) -> Settings:
        """Settings as given, looked at."""
        if kinds is not None and not isinstance(kinds, Mapping):
            must_be = "a mapping of columns to kinds, such as {'colour': 'category'}"
            raise InputError(sentence("kinds of TableEncoder", must_be, repr(kinds)))
        pairs = tuple((key if isinstance(key, int) else str(key), kind) for key, kind in (kinds or {}).items())
        for column, kind in pairs:
            checked_kind(column, kind)
        if isinstance(drop, str | int) or not all(isinstance(column, str | int) for column in drop):
            raise InputError(sentence("drop of TableEncoder", "a list of columns, such as ['id']", repr(drop)))
        return cls(pairs, tuple(drop), NumberStyle(decimal, thousands))


def written(settings: Settings, columns: list[Column], *, named: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    """Everything an encoder knows: what JSON can hold, and arrays."""
    record = {
        "kinds": [list(pair) for pair in settings.kinds],
        "drop": list(settings.drop),
        "decimal": settings.style.decimal,
        "thousands": settings.style.thousands,
        "named": named,
        "columns": [_column_record(column) for column in columns],
    }
    scales = np.zeros((len(columns), 5))
    for row, column in zip(scales, columns, strict=True):
        if column.scale is not None:
            row[:] = astuple(column.scale)
    return record, {"scales": scales}


def _column_record(column: Column) -> dict[str, Any]:
    plain = {name: getattr(column, name) for name in _FIELDS}
    return plain | {name: list(getattr(column, name)) for name in _LISTS}


def read(record: Any, arrays: Any) -> tuple[Settings, list[Column], bool]:
    """The settings, the columns, and whether they had names."""
    try:
        settings = Settings.checked(dict(record["kinds"]), record["drop"], record["decimal"], record["thousands"])
        scales = np.asarray(arrays["scales"], dtype=np.float64)
        named, records = record["named"], record["columns"]
        if not isinstance(named, bool) or not isinstance(records, list) or scales.shape != (len(records), 5):
            raise _spoilt("one row of scales per column")
        columns = [_column(each, row) for each, row in zip(records, scales, strict=True)]
    except (KeyError, TypeError, AttributeError) as error:
        raise _spoilt("what state() gives") from error
    names = [column.name for column in columns]
    outputs = [name for column in columns for name in column.outputs]
    if not names or len(set(names)) < len(names) or len(set(outputs)) < len(outputs):
        raise _spoilt("about columns with names of their own")
    return settings, columns, named


def _column(record: Any, scale: Array) -> Column:
    for name, kind in _FIELDS.items():
        if type(record[name]) is not kind:
            raise _spoilt(f"of type {kind.__name__} in {name!r}")
    for name, kind in _LISTS.items():
        if not isinstance(record[name], list) or any(type(item) is not kind for item in record[name]):
            raise _spoilt(f"a list in {name!r}")
    kind = record["kind"]
    plain = {name: record[name] for name in _FIELDS} | {name: tuple(record[name]) for name in _LISTS}
    column = Column(**plain)
    if kind in {"number", "date"}:
        column = replace(column, scale=Scale(*map(float, scale)))
    _check(column)
    return column


def _check(column: Column) -> None:
    """What is learned from rows always holds for a column; what is read from a file may not."""
    levels = column.levels + column.pooled
    truth = column.kind == "category" and len(column.outputs) == 1
    sound = {
        "of a known kind": column.kind in get_args(Kind),
        "no less than 0 missing cells": column.missing >= 0,
        "about different levels": len(set(levels)) == len(levels),
        "levels for categories alone": (column.kind == "category") == bool(column.levels),
        "true and false in one column": not truth or (levels == ("False", "True") and not column.missing),
        "about days of dates": column.kind == "date" or not (column.year or column.weekdays),
        "about days of the week": list(column.weekdays) == sorted(set(column.weekdays) & set(range(7))),
        "about finite scales": column.scale is None or _is_sound(column.scale),
    }
    sound["one name per output"] = all(sound.values()) and len(column.outputs) == len(output_names(column, truth))
    for must_be, holds in sound.items():
        if not holds:
            raise _spoilt(must_be)


def _is_sound(scale: Scale) -> bool:
    return bool(np.isfinite(astuple(scale)).all()) and scale.spread > 0 and scale.low <= scale.high


def _spoilt(must_be: str) -> InputError:
    return InputError(sentence("The state of TableEncoder", must_be, "something else", "Use state() to make one."))
