"""The settings of an encoder, validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mercer.errors import InputError, sentence
from mercer.tables.dates import check_format
from mercer.tables.kinds import check_kind
from mercer.tables.values import NumberStyle

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
