"""The container: a safetensors file whose metadata holds a record in JSON, all of it under one SHA-256 digest.

Model files and checkpoints are such containers, written whole or not at all and never a pickle; the metadata says
which. The JSON of a record has one spelling: what is read must be letter for letter what would be written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from mercer.errors import ModelFileError, refuse, refuse_if
from mercer.runtime.disk import check_path as named_path
from mercer.runtime.disk import opened, try_place, write_whole
from mercer.runtime.resources import promise

Array: TypeAlias = npt.NDArray[Any]

VERSION = 1
# A model of 300 columns has a header of 70 kB with 5000 values, one of 30 kernels with 1000 widths each 1.4 MB with
# 74 000. Both bounds are checked before the header is parsed, because parsing takes up to 60 times its size.
LONGEST = 2**24  # bytes of a header
MOST_VALUES = 2**20  # values in a header
LARGEST = 2**63  # whole numbers are smaller
_COPIES = 3  # of a file that are in memory while it is read: its bytes, their arrays, and those that a model makes
_OTHER = {"model": "Use another file.", "checkpoint": ""}
NOUNS = {"model": "model file", "checkpoint": "checkpoint"}
DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
CODES = {np.dtype(text): code for code, text in DTYPES.items()}
_NO_DIGEST = "0" * 64
_OPENING = re.compile(
    rb'\{"__metadata__":\{"mercer":"\{\\"version\\":([1-9][0-9]{0,8}),\\"kind\\":\\"(model|checkpoint)\\",'
    rb'\\"sha256\\":\\"([0-9a-f]{64})\\",\\"record\\":'
)


def need(sound: object, what: str, hint: str = "") -> None:
    """Raise a ModelFileError with this text unless `sound`."""
    if not sound:
        raise ModelFileError(f"{what}.", hint=hint)


def packed(record: str, arrays: Mapping[str, Array], kind: str = "model") -> bytes:
    """The bytes of a file with this record, JSON as `dumps` writes it, and arrays of types in `CODES`.

    >>> packed('{"a":1}', {})[8:33]
    b'{"__metadata__":{"mercer"'
    """
    from safetensors.numpy import save

    text = f'{{"version":{VERSION},"kind":"{kind}","sha256":"{_NO_DIGEST}","record":{record}}}'
    for most, got, unit in ((LONGEST, len(text), "bytes"), (MOST_VALUES, count_values(text.encode()), "values")):
        what = f"The {NOUNS[kind]} cannot be written: its description (parameters, names of columns, categories)"
        refuse(got > most, f"{what} must have at most {most} {unit}; got {got}. Use fewer columns or categories.")
    return sealed(save(dict(arrays), {"mercer": text}))


def count_values(text: bytes) -> int:
    """At least the number of values in some JSON, without parsing it.

    >>> count_values(b'{"a":[1,2,[]]}')
    5
    """
    return sum(map(text.count, (b"[", b"{", b",")))


def sealed(data: bytes) -> bytes:
    """The file with its digest, which is computed with zeros in its own place."""
    opening = _OPENING.match(data, 8)
    if opening is None:
        raise ModelFileError("it is not a model file.")
    start, stop = opening.span(3)
    digest = hashlib.sha256(data[:start])
    digest.update(_NO_DIGEST.encode())
    digest.update(memoryview(data)[stop:])
    return b"".join([data[:start], digest.hexdigest().encode(), memoryview(data)[stop:]])


def digest_of(array: Array) -> str:
    """A name for an array, the same for equal arrays: the digest of its type, shape and bytes."""
    found = hashlib.sha256(f"{CODES[array.dtype]} {list(array.shape)} ".encode())
    found.update(memoryview(array.reshape(-1).view(np.uint8)))  # type: ignore[arg-type]
    return found.hexdigest()


def read(file: BinaryIO, size: int, kind: str = "model") -> tuple[str, dict[str, Array]]:
    """The record and the arrays of a file whose digest is right; memory is promised before it is read."""
    from safetensors import SafetensorError, deserialize

    first = file.read(8)
    length = int.from_bytes(first, "little")
    need(len(first) == 8 and 0 < length <= size - 8, f"it is truncated, or not a {NOUNS[kind]}")
    head = first + file.read(min(length, LONGEST))
    if (opening := _OPENING.match(head, 8)) is None:
        raise ModelFileError(f"it is not a {NOUNS[kind]}.", hint=_OTHER[kind])
    version, written = int(opening[1]), opening[2].decode()
    need(written == kind, f"it is a {NOUNS[written]}, not a {NOUNS[kind]}", _OTHER[kind])
    words = f"it has format version {version}; this version of mercer reads up to {VERSION}"
    need(version <= VERSION, words, "Update mercer.")
    words = f"its header must have at most {LONGEST} bytes and {MOST_VALUES} values; got more"
    need(length <= LONGEST and count_values(head) <= MOST_VALUES, words)
    promise(_COPIES * size, f"This {NOUNS[kind]}", "Load it where there is more memory.")
    data = head + file.read()
    intact = len(data) == size and sealed(data) == data
    need(intact, "its checksum does not match: the file was truncated, changed or damaged")
    try:
        text = parsed(head[8:].decode("ascii"), "its header")["__metadata__"]["mercer"]
        tensors = deserialize(data)  # type: ignore[no-untyped-call]
        arrays = {name: np.frombuffer(raw["data"], DTYPES[raw["dtype"]]).reshape(raw["shape"]) for name, raw in tensors}
    except (UnicodeDecodeError, LookupError, TypeError, ValueError, AttributeError, SafetensorError):
        raise ModelFileError("its header is invalid.") from None
    flags = (array.view(np.uint8) for array in arrays.values() if array.dtype == bool)
    need(all(flag.max(initial=0) <= 1 for flag in flags), "a boolean value is not 0 or 1")
    need(text.endswith("}"), "its header is invalid")
    return text[text.index('"record":') + len('"record":') : -1], arrays


def dumps(value: object) -> str:
    """JSON without blanks, in ASCII, keys in order.

    >>> dumps({"b": [1, 2.0], "a": "x"})
    '{"a":"x","b":[1,2.0]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def parsed(text: str, what: str) -> Any:
    """JSON as Python's values: no NaN, no number that would keep anyone waiting, and not too deep."""
    try:
        return json.loads(text, parse_int=_whole, parse_constant=_whole)
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
    with suppress(ValueError, RecursionError):
        if dumps(value) == text:
            return value
    raise ModelFileError(f"{what} is not valid JSON in mercer's format.")


def _whole(digits: str) -> int:
    """A whole number; NaN and infinity, which JSON has no numbers for, are refused."""
    value = int(digits) if len(digits) <= 20 else LARGEST
    if abs(value) >= LARGEST:
        raise ValueError
    return value


def check_path(path: object) -> Path:
    """checkpoint= as a path."""
    refuse_if(not isinstance(path, str | os.PathLike), "checkpoint", "the path of a file, or None", repr(path))
    return named_path(path, "checkpoint")


class Checkpoint:
    """Mapping[str, Array] of finished work in a file.

    Parameters
    ----------
    path : str or Path
        Where; made if it is not there.
    mark : str
        Fingerprint of data and settings; a file with another one is refused, never overwritten.
    """

    def __init__(self, path: object, mark: str) -> None:
        self.path, self.mark = check_path(path), mark

    def load(self, like: Mapping[str, Array]) -> dict[str, Array] | None:
        """What was finished, or None if nothing was: arrays of the names, types, shapes and order of those in `like`.

        Digests cover every byte of the file; sizes are compared with `like` and with the file before anything is
        allocated.
        """
        if not self.path.exists():
            return None
        with opened(self.path, "checkpoint", " Delete it, or use another file.") as (file, size):
            text, found = read(file, size, "checkpoint")
            record, mine = loads(text, "its record"), {"mark": self.mark}
            other = record != mine and isinstance(record, dict) and isinstance(record.get("mark"), str)
            words = f"The checkpoint {self.path} belongs to other data or settings."
            refuse(other, f"{words} Delete it, or use another file.")
            forms, expected = ({name: (a.dtype, a.shape) for name, a in arrays.items()} for arrays in (found, like))
            same = record == mine and forms == expected
            need(same, "its arrays do not match this fit (names, types or shapes differ)")
        return {name: np.array(found[name], order="C" if like[name].flags.c_contiguous else "F") for name in like}

    def try_folder(self) -> None:
        """Refuse a place that cannot be written to."""
        try_place(self.path, "checkpoint")

    def save(self, arrays: Mapping[str, Array]) -> None:
        """Write all of it beside the file, then put it in place in one step."""
        plain = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in sorted(arrays.items())}
        write_whole(self.path, [packed(dumps({"mark": self.mark}), plain, "checkpoint")], "checkpoint")
