"""Settings and learned columns as JSON and arrays, and back, without trust in what is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, get_args

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.tables.cells import Writing
from mercer.tables.columns import Column, Scale, output_names
from mercer.tables.dates import FORMATS, check_format
from mercer.tables.kinds import Kind, check_kind
from mercer.tables.texts import Parts
from mercer.tables.values import NumberStyle

_FIELDS = {"name": str, "kind": str, "why": str, "missing": int, "year": bool}
_LISTS = {"levels": str, "outputs": str, "pooled": str, "weekdays": int}
_MISSING = ("mark", "mean")


@dataclass(frozen=True)
class EncoderSettings:
    """The parameters of an encoder: kinds, columns to drop, number format, what to do with missing and odd values."""

    kinds: tuple[tuple[str | int, str], ...]
    drop: tuple[str | int, ...]
    style: NumberStyle | None
    missing: str = "mark"
    date_format: str | None = None
    strict: bool = False

    @classmethod
    def from_arguments(
        cls,
        kinds: Any,
        drop: Any,
        decimal: str | None,
        thousands: str | None,
        missing: str = "mark",
        date_format: str | None = None,
        strict: bool = False,
    ) -> EncoderSettings:
        """Settings as given, looked at."""
        if kinds is not None and not isinstance(kinds, Mapping):
            must_be = "a mapping of columns to kinds, such as {'colour': 'category'}"
            raise InputError(sentence("kinds of TableEncoder", must_be, repr(kinds)))
        pairs = tuple((key if isinstance(key, int) else str(key), kind) for key, kind in (kinds or {}).items())
        for column, kind in pairs:
            check_kind(column, kind)
        if isinstance(drop, str | int) or not all(isinstance(column, str | int) for column in drop):
            raise InputError(sentence("drop of TableEncoder", "a list of columns, such as ['id']", repr(drop)))
        if missing not in _MISSING:
            raise InputError(sentence("missing of TableEncoder", "'mark' or 'mean'", repr(missing)))
        if not isinstance(strict, bool):
            raise InputError(sentence("strict of TableEncoder", "True or False", repr(strict)))
        style, dates = NumberStyle.from_settings(decimal, thousands), check_format(date_format)
        return cls(pairs, tuple(drop), style, missing, dates, strict)

    def record(self) -> dict[str, Any]:
        """The value in a form that JSON can hold."""
        record = {
            "kinds": [list(pair) for pair in self.kinds],
            "drop": list(self.drop),
            "decimal": None if self.style is None else self.style.decimal,
            "thousands": None if self.style is None else self.style.thousands,
        }
        younger: dict[str, tuple[Any, Any]] = {
            "missing": (self.missing, "mark"),
            "date_format": (self.date_format, None),
            "strict": (self.strict, False),
        }
        return record | {name: value for name, (value, usual) in younger.items() if value != usual}

    @classmethod
    def read(cls, record: Any) -> EncoderSettings:
        """From a record."""
        try:
            drop, decimal, thousands = (record[name] for name in ("drop", "decimal", "thousands"))
            younger = {name: record[name] for name in ("missing", "date_format", "strict") if name in record}
            return cls.from_arguments(dict(record["kinds"]), drop, decimal, thousands, **younger)
        except (KeyError, TypeError, AttributeError) as error:
            raise _spoilt("a field is missing or has the wrong type") from error


def encoder_state(
    settings: EncoderSettings, columns: list[Column], style: NumberStyle | None, *, named: bool
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Everything an encoder knows: what JSON can hold, and arrays."""
    record = settings.record() | {"named": named, "columns": [_column_record(column) for column in columns]}
    if style is not None and settings.style is None:
        record["style"] = [style.decimal, style.thousands]
    texts = [column.parts for column in columns if column.parts is not None]
    scales = np.zeros((len(columns), 5))
    for row, column in zip(scales, columns, strict=True):
        if column.scale is not None:
            row[:] = astuple(column.scale)
    if not texts:
        return record, {"scales": scales}
    words = np.zeros((sum(len(parts.known) for parts in texts), 1 + max(p.directions.shape[1] for p in texts)))
    start = 0
    for parts in texts:
        rows, width = parts.directions.shape
        words[start : start + rows, 0] = parts.weights
        words[start : start + rows, 1 : 1 + width] = parts.directions
        start += rows
    return record, {"scales": scales, "words": words}


def _column_record(column: Column) -> dict[str, Any]:
    plain = {name: getattr(column, name) for name in _FIELDS}
    record = plain | {name: list(getattr(column, name)) for name in _LISTS}
    parts = column.parts  # younger than the first states that were written: told where there is something to tell
    if parts is not None:
        told = {"known": list(parts.known), "letters": parts.letters, "bare": parts.bare}
        record["parts"] = told | {"width": int(parts.directions.shape[1])} | ({"tfidf": True} if parts.tfidf else {})
    if column.writing != Writing():
        record["writing"] = list(astuple(column.writing))
    usual = {"marked": True, "named": False, "day": False}
    return record | {name: getattr(column, name) for name in usual if getattr(column, name) != usual[name]}


def read(record: Any, arrays: Any) -> tuple[EncoderSettings, list[Column], NumberStyle | None, bool]:
    """The settings, the columns, how numbers are written, and whether columns had names."""
    try:
        settings = EncoderSettings.read(record)
        found = record.get("style")
        style = settings.style if found is None else NumberStyle(*found)
        scales = np.asarray(arrays["scales"], dtype=np.float64)
        named, records = record["named"], record["columns"]
        if not isinstance(named, bool) or not isinstance(records, list) or scales.shape != (len(records), 5):
            raise _spoilt("the number of scales differs from the number of columns")
        columns = [_column(each, row) for each, row in zip(records, scales, strict=True)]
        columns = _with_parts(columns, records, arrays)
    except (KeyError, TypeError, AttributeError) as error:
        raise _spoilt("a field is missing or has the wrong type") from error
    names = [column.name for column in columns]
    outputs = [name for column in columns for name in column.outputs]
    if not names or len(set(names)) < len(names) or len(set(outputs)) < len(outputs):
        raise _spoilt("duplicate names of columns or outputs")
    return settings, columns, style, named


def _column(record: Any, scale: Array) -> Column:
    for name, kind in _FIELDS.items():
        if type(record[name]) is not kind:
            raise _spoilt(f"{name!r} is not of type {kind.__name__}")
    for name, kind in _LISTS.items():
        if not isinstance(record[name], list) or any(type(item) is not kind for item in record[name]):
            raise _spoilt(f"{name!r} is not a list of {kind.__name__}")
    kind = record["kind"]
    plain = {name: record[name] for name in _FIELDS} | {name: tuple(record[name]) for name in _LISTS}
    younger = {name: record[name] for name in ("marked", "named", "day") if name in record}
    column = Column(**plain, **younger, writing=Writing(*record.get("writing", [])))
    if kind in {"number", "date"}:
        column = replace(column, scale=Scale(*map(float, scale)))
    return column


def _with_parts(columns: list[Column], records: list[Any], arrays: Any) -> list[Column]:
    """The words of texts put back to their columns, and each column looked at."""
    start, made = 0, []
    for column, record in zip(columns, records, strict=True):
        told = record.get("parts")
        if told is not None:
            known, letters, bare, width = (told[name] for name in ("known", "letters", "bare", "width"))
            stop = start + len(known)
            words = np.asarray(arrays["words"], dtype=np.float64)[start:stop]
            if type(known) is not list or not all(type(part) is str for part in known) or words.ndim != 2:
                raise _spoilt("invalid text vocabulary")
            if len(words) != len(known) or type(width) is not int or not 0 < width < words.shape[1]:
                raise _spoilt("the number of text vectors differs from the number of words")
            directions = np.ascontiguousarray(words[:, 1 : 1 + width])
            tfidf = told.get("tfidf", False)
            parts = Parts(tuple(known), letters, words[:, 0].copy(), directions, bare, tfidf)
            column = replace(column, parts=parts)  # noqa: PLW2901
            start = stop
        _check(column)
        made.append(column)
    if "words" in arrays and (start == 0 or start != len(arrays["words"])):
        raise _spoilt("the number of text vectors differs from the number of words")
    return made


def _check(column: Column) -> None:
    """Validate a column that was read from a file."""
    levels = column.levels + column.pooled
    truth = column.kind == "category" and len(column.outputs) == 1
    sound = {
        "unknown kind": column.kind in get_args(Kind),
        "negative count of missing values": column.missing >= 0,
        "duplicate levels": len(set(levels)) == len(levels),
        "levels on a column that is not a category": (column.kind == "category") == bool(column.levels),
        "invalid text vocabulary": column.parts is None or (column.kind == "text" and _are_sound(column.parts)),
        "a missing-value indicator on a column that is not a number or date": column.marked is True
        or (column.marked is False and column.kind in {"number", "date"}),
        "level names on a column that is not a category": column.named is False
        or (column.named is True and column.kind == "category"),
        "invalid boolean levels": not truth or (levels == ("False", "True") and not column.missing),
        "date parts on a column that is not a date": type(column.day) is bool
        and (column.kind == "date" or not (column.year or column.weekdays or column.day)),
        "invalid format of numbers or dates": column.writing == Writing()
        or (column.kind in {"number", "date"} and _is_written(column.writing)),
        "invalid weekdays": list(column.weekdays) == sorted(set(column.weekdays) & set(range(7))),
        "a scale is not finite": column.scale is None or _is_sound(column.scale),
    }
    sound["the number of outputs does not match the kind"] = all(sound.values()) and len(column.outputs) == len(
        output_names(column, truth)
    )
    for what, holds in sound.items():
        if not holds:
            raise _spoilt(what)


def _are_sound(parts: Parts) -> bool:
    numbers = np.isfinite(parts.weights).all() and np.isfinite(parts.directions).all() and (parts.weights > 0).all()
    ordered = list(parts.known) == sorted(set(parts.known))
    return (
        bool(numbers)
        and ordered
        and type(parts.letters) is bool
        and type(parts.tfidf) is bool
        and type(parts.bare) is float
        and 0 <= parts.bare < 1
    )


def _is_written(writing: Writing) -> bool:
    if not all(type(each) is str for each in astuple(writing)):
        return False
    try:
        return writing.dates in FORMATS or check_format(writing.dates) is not None
    except InputError:
        return False


def _is_sound(scale: Scale) -> bool:
    return bool(np.isfinite(astuple(scale)).all()) and scale.spread > 0 and scale.low <= scale.high


def _spoilt(what: str) -> InputError:
    """The error for an invalid state."""
    return InputError(f"The state of TableEncoder is invalid: {what}. Use a state made by state().")
