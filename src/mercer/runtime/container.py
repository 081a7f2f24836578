"""The container: a safetensors file whose header is canonical and whose every byte is under a SHA-256 digest.

Eight bytes say how long the header is; the header is JSON, padded with blanks; the arrays follow without a gap. Each
array is named by its own digest, and the header holds a digest of itself, so that header and arrays are both covered.
Model files and checkpoints are such containers; the header says which. Its JSON has one spelling: what is read must be
letter for letter what would be written.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError, ModelFileError
from mercer.runtime.memory import promise

Array: TypeAlias = npt.NDArray[Any]

VERSION = 1
# A model of 300 columns has a header of 70 kB with 5000 values, one of 30 kernels with 1000 widths each 1.4 MB with
# 74 000. Both bounds are checked before the header is parsed, because parsing takes up to 60 times its size.
LONGEST = 2**24  # bytes of a header
MOST_VALUES = 2**20  # values in a header
_OTHER = {"model": "Use another file.", "checkpoint": ""}
NOUNS = {"model": "model file", "checkpoint": "checkpoint"}
DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
CODES = {np.dtype(text): code for code, text in DTYPES.items()}
_NO_DIGEST = "0" * 64
_OPENING = re.compile(
    rb'\{"__metadata__":\{"mercer":"([1-9][0-9]{0,8})","sha256":"([0-9a-f]{64})","(model|checkpoint)":"'
)
_NAME = re.compile("[0-9a-f]{64}")
_MOST_AXES, _LONGEST_AXIS = 4, 2**40


@dataclass(frozen=True)
class Entry:
    """One array: its digest, its type and its shape."""

    name: str
    code: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """How many bytes it takes."""
        return math.prod(self.shape) * np.dtype(DTYPES[self.code]).itemsize


@dataclass(frozen=True)
class Header:
    """What stands before the arrays: a record as text, the arrays there are, and of what kind the file is."""

    text: str
    entries: tuple[Entry, ...]
    kind: str = "model"

    def packed(self) -> bytes:
        """The first bytes of the file, with their digest in place.

        >>> Header('{"a":1}', ()).packed()[8:40]
        b'{"__metadata__":{"mercer":"1","s'
        """
        metadata = {"mercer": str(VERSION), "sha256": _NO_DIGEST, self.kind: self.text}
        listed: dict[str, Any] = {"__metadata__": metadata}
        start = 0
        for entry in self.entries:
            stop = start + entry.bytes
            listed[entry.name] = {"dtype": entry.code, "shape": list(entry.shape), "data_offsets": [start, stop]}
            start = stop
        text = json.dumps(listed, separators=(",", ":")).encode("ascii")
        text += b" " * (-len(text) % 8)
        for most, got, unit in ((LONGEST, len(text), "bytes"), (MOST_VALUES, count_values(text), "values")):
            if got > most:
                raise InputError(
                    f"The {NOUNS[self.kind]} cannot be written: its description (parameters, names of columns, "
                    f"categories) must have at most {most} {unit}; got {got}. Use fewer columns or categories."
                )
        return sealed(len(text).to_bytes(8, "little") + text)


def count_values(text: bytes) -> int:
    """At least the number of values in some JSON, without parsing it.

    >>> count_values(b'{"a":[1,2,[]]}')
    5
    """
    return sum(map(text.count, (b"[", b"{", b",")))


def sealed(header: bytes) -> bytes:
    """The header with its own digest put into its place."""
    opening = _OPENING.match(header, 8)
    if opening is None:
        raise ModelFileError("it is not a model file.")
    start, stop = opening.span(2)
    blank = header[:start] + _NO_DIGEST.encode() + header[stop:]
    return header[:start] + hashlib.sha256(blank).hexdigest().encode() + header[stop:]


def entry_of(array: Array) -> Entry:
    """The name, type and shape of an array that is C-contiguous and of a known type."""
    code = CODES[array.dtype]
    return Entry(_digest(code, array), code, array.shape)


def _digest(code: str, array: Array) -> str:
    found = hashlib.sha256(f"{code} {list(array.shape)} ".encode())
    found.update(_bytes_of(array))
    return found.hexdigest()


def _bytes_of(array: Array) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def laid_out(names: Iterable[str], arrays: Mapping[str, Array]) -> tuple[Entry, ...]:
    """Entries in the order of their names' first use, wide types first so that all stand aligned."""
    return in_order(Entry(name, CODES[arrays[name].dtype], arrays[name].shape) for name in names)


def in_order(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Each entry once, those of wide types first."""
    return tuple(sorted(dict.fromkeys(entries), key=lambda entry: -np.dtype(DTYPES[entry.code]).itemsize))


def packed(
    text: str, entries: Iterable[Entry], arrays: Mapping[str, Array], kind: str = "model"
) -> list[bytes | memoryview]:
    """The file, piece by piece."""
    header = Header(text, tuple(entries), kind)
    return [header.packed(), *(_bytes_of(arrays[entry.name]) for entry in header.entries)]


def read_header(file: BinaryIO, size: int, kind: str = "model") -> Header:
    """The header, looked at closely; nothing is allocated that the file is not large enough to hold."""
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 0 < length <= size - 8:
        raise ModelFileError(f"it is truncated, or not a {NOUNS[kind]}.")
    raw = first + file.read(min(length, LONGEST))
    opening = _OPENING.match(raw, 8)
    if opening is None:
        raise ModelFileError(f"it is not a {NOUNS[kind]}.", hint=_OTHER[kind])
    version, found = int(opening[1]), opening[3].decode()
    if found != kind:
        raise ModelFileError(f"it is a {NOUNS[found]}, not a {NOUNS[kind]}.", hint=_OTHER[kind])
    if version > VERSION:
        raise ModelFileError(
            f"it has format version {version}; this version of mercer reads up to {VERSION}.", hint="Update mercer."
        )
    if length > LONGEST or count_values(raw) > MOST_VALUES:
        raise ModelFileError(f"its header must have at most {LONGEST} bytes and {MOST_VALUES} values; got more.")
    if len(raw) != 8 + length:
        raise ModelFileError("it is truncated.")
    if sealed(raw) != raw:
        raise ModelFileError("its checksum does not match: the file was changed or damaged.")
    header = _parsed(raw, kind)
    if header.packed() != raw:
        raise ModelFileError("its header is invalid.")
    claimed = sum(entry.bytes for entry in header.entries)
    if claimed != size - len(raw):
        raise ModelFileError(
            f"its arrays should have {claimed} bytes, but the file contains {size - len(raw)}. The file may be "
            "truncated."
        )
    return header


def _parsed(raw: bytes, kind: str) -> Header:
    try:
        listed = parsed(raw[8:].decode("ascii"), "its header")
        text = listed.pop("__metadata__")[kind]
        entries = tuple(_entry(name, given) for name, given in listed.items())
    except (UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise ModelFileError("its header is invalid.") from None
    if not isinstance(text, str):
        raise ModelFileError("its header is invalid.")
    return Header(text, entries, kind)


def _entry(name: str, given: dict[str, Any]) -> Entry:
    code, shape = given["dtype"], given["shape"]
    axes = isinstance(shape, list) and len(shape) <= _MOST_AXES and all(type(axis) is int for axis in shape)
    if not _NAME.fullmatch(name) or code not in DTYPES or not axes or not all(0 <= n < _LONGEST_AXIS for n in shape):
        raise ModelFileError("its header describes an invalid array.")
    if math.prod(max(axis, 1) for axis in shape) * np.dtype(DTYPES[code]).itemsize >= LARGEST:
        raise ModelFileError("its header describes an array that no machine can hold.")  # NumPy has none, even if empty
    return Entry(name, code, tuple(shape))


def read_arrays(file: BinaryIO, header: Header) -> dict[str, Array]:
    """The arrays by name, each held to its digest."""
    way_out = "Load it where there is more memory."
    promise(sum(entry.bytes for entry in header.entries), f"This {NOUNS[header.kind]}", way_out)
    found: dict[str, Array] = {}
    for entry in header.entries:
        array = np.empty(entry.shape, dtype=DTYPES[entry.code])
        if file.readinto(_bytes_of(array)) != entry.bytes:  # type: ignore[attr-defined]
            raise ModelFileError("it is truncated.")
        if _digest(entry.code, array) != entry.name:
            raise ModelFileError("the checksum of an array does not match: the file was changed or damaged.")
        if entry.code == "BOOL" and array.view(np.uint8).max(initial=0) > 1:
            raise ModelFileError("a boolean value is not 0 or 1.")
        found[entry.name] = array
    return found


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
        raise ModelFileError(f"{what} is not valid JSON in mercer's format.") from None


def loads(text: str, what: str) -> Any:
    """What `dumps` was given; every other spelling of it is refused, and so are keys that come twice.

    >>> loads('{"a":[1,2.0]}', "The record")
    {'a': [1, 2.0]}
    >>> loads('{"a":1,"a":2}', "The record")
    Traceback (most recent call last):
        ...
    mercer.errors.ModelFileError: The record is not valid JSON in mercer's format.
    """
    value = parsed(text, what)
    try:
        same = dumps(value) == text
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise ModelFileError(f"{what} is not valid JSON in mercer's format.")
    return value


def _whole(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else LARGEST
    if abs(value) >= LARGEST:
        raise ValueError
    return value


def _refused(name: str) -> Any:
    raise ValueError(name)
