"""The container: a safetensors file whose header is canonical and whose every byte is under a SHA-256 digest.

Eight bytes say how long the header is; the header is JSON, padded with blanks; the arrays follow without a gap. Each
array is named by its own digest, and the header holds a digest of itself, so that header and arrays are both covered.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from mercer.backends import promise
from mercer.data.rows import Array
from mercer.errors import InputError, ModelFileError, sentence
from mercer.models.canonical import parsed

VERSION = 1
LONGEST = 2**26  # bytes of a header
DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
CODES = {np.dtype(text): code for code, text in DTYPES.items()}
_NO_DIGEST = "0" * 64
_OPENING = re.compile(rb'\{"__metadata__":\{"mercer":"([1-9][0-9]{0,8})","sha256":"([0-9a-f]{64})","model":"')
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
    """What stands before the arrays: the record of the model as text, and the arrays there are."""

    text: str
    entries: tuple[Entry, ...]

    def packed(self) -> bytes:
        """The first bytes of the file, with their digest in place.

        >>> Header('{"a":1}', ()).packed()[8:40]
        b'{"__metadata__":{"mercer":"1","s'
        """
        metadata = {"mercer": str(VERSION), "sha256": _NO_DIGEST, "model": self.text}
        listed: dict[str, Any] = {"__metadata__": metadata}
        start = 0
        for entry in self.entries:
            stop = start + entry.bytes
            listed[entry.name] = {"dtype": entry.code, "shape": list(entry.shape), "data_offsets": [start, stop]}
            start = stop
        text = json.dumps(listed, separators=(",", ":")).encode("ascii")
        text += b" " * (-len(text) % 8)
        if len(text) > LONGEST:
            raise InputError(sentence("The header of a model file", f"at most {LONGEST} bytes", f"{len(text)}"))
        return sealed(len(text).to_bytes(8, "little") + text)


def sealed(header: bytes) -> bytes:
    """The header with its own digest put into its place."""
    opening = _OPENING.match(header, 8)
    if opening is None:
        raise ModelFileError("it does not begin as a model file does.")
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
    entries = [Entry(name, CODES[arrays[name].dtype], arrays[name].shape) for name in dict.fromkeys(names)]
    return tuple(sorted(entries, key=lambda entry: -np.dtype(DTYPES[entry.code]).itemsize))


def packed(text: str, entries: Iterable[Entry], arrays: Mapping[str, Array]) -> list[bytes | memoryview]:
    """The file, piece by piece."""
    header = Header(text, tuple(entries))
    return [header.packed(), *(_bytes_of(arrays[entry.name]) for entry in header.entries)]


def read_header(file: BinaryIO, size: int) -> Header:
    """The header, looked at closely; nothing is allocated that the file is not large enough to hold."""
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 0 < length <= min(size - 8, LONGEST):
        raise ModelFileError("it is cut off, or no model file.")
    raw = first + file.read(length)
    opening = _OPENING.match(raw, 8)
    if opening is None or len(raw) != 8 + length:
        raise ModelFileError("it does not begin as a model file does.")
    version = int(opening[1])
    if version > VERSION:
        raise ModelFileError(
            f"it is of format version {version}, and this mercer reads up to {VERSION}. Update mercer to read it."
        )
    if sealed(raw) != raw:
        raise ModelFileError("its digest does not fit: it was changed after it was written, or damaged.")
    header = _parsed(raw)
    if header.packed() != raw:
        raise ModelFileError("its header is not as mercer writes it.")
    claimed = sum(entry.bytes for entry in header.entries)
    if claimed != size - len(raw):
        raise ModelFileError(f"its arrays must take {claimed} bytes; got {size - len(raw)}. It may be cut off.")
    return header


def _parsed(raw: bytes) -> Header:
    try:
        listed = parsed(raw[8:].decode("ascii"), "its header")
        text = listed.pop("__metadata__")["model"]
        entries = tuple(_entry(name, given) for name, given in listed.items())
    except (UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise ModelFileError("its header is not as mercer writes it.") from None
    if not isinstance(text, str):
        raise ModelFileError("its header is not as mercer writes it.")
    return Header(text, entries)


def _entry(name: str, given: dict[str, Any]) -> Entry:
    code, shape = given["dtype"], given["shape"]
    axes = isinstance(shape, list) and len(shape) <= _MOST_AXES and all(type(axis) is int for axis in shape)
    if not _NAME.fullmatch(name) or code not in DTYPES or not axes or not all(0 <= n < _LONGEST_AXIS for n in shape):
        raise ModelFileError("its header names an array that cannot be.")
    return Entry(name, code, tuple(shape))


def read_arrays(file: BinaryIO, header: Header) -> dict[str, Array]:
    """The arrays by name, each held to its digest."""
    promise(sum(entry.bytes for entry in header.entries), "This model", "Load it where there is more memory.")
    found: dict[str, Array] = {}
    for entry in header.entries:
        array = np.empty(entry.shape, dtype=DTYPES[entry.code])
        if file.readinto(_bytes_of(array)) != entry.bytes:  # type: ignore[attr-defined]
            raise ModelFileError("it is cut off.")
        if _digest(entry.code, array) != entry.name:
            raise ModelFileError(
                "the digest of an array does not fit: it was changed after it was written, or damaged."
            )
        if entry.code == "BOOL" and array.view(np.uint8).max(initial=0) > 1:
            raise ModelFileError("a truth value must be 0 or 1.")
        found[entry.name] = array
    return found
