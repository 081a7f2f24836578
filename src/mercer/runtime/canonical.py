"""JSON in one spelling: what is read must be letter for letter what would be written."""

from __future__ import annotations

import json
from typing import Any

from mercer.errors import ModelFileError

LARGEST = 2**63  # whole numbers are smaller


def dumps(value: Any) -> str:
    """JSON without blanks, in ASCII, keys in order.

    >>> dumps({"b": [1, 2.0], "a": "x"})
    '{"a":"x","b":[1,2.0]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parsed(text: str, what: str) -> Any:
    """JSON as Python's values: no NaN, no number that would keep anyone waiting, and not too deep."""
    try:
        return json.loads(text, parse_int=_whole, parse_constant=_refused)
    except (ValueError, RecursionError, MemoryError):
        raise ModelFileError(f"{what} is not JSON as mercer writes it.") from None


def loads(text: str, what: str) -> Any:
    """What `dumps` was given; every other spelling of it is refused, and so are keys that come twice.

    >>> loads('{"a":[1,2.0]}', "The record")
    {'a': [1, 2.0]}
    >>> loads('{"a":1,"a":2}', "The record")
    Traceback (most recent call last):
        ...
    mercer.errors.ModelFileError: The record is not JSON as mercer writes it.
    """
    value = parsed(text, what)
    try:
        same = dumps(value) == text
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise ModelFileError(f"{what} is not JSON as mercer writes it.")
    return value


def _whole(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else LARGEST
    if abs(value) >= LARGEST:
        raise ValueError
    return value


def _refused(name: str) -> Any:
    raise ValueError(name)
