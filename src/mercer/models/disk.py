"""Files that appear whole or not at all, and files looked at before they are opened."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from mercer.errors import InputError, ModelFileError, sentence


def checked_path(path: Any, what: str = "model file") -> Path:
    """A path that was given as a text or as a path."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or not isinstance(os.fspath(path), str):
        raise InputError(sentence(f"The path of a {what}", "a text or a path", repr(path)))
    if "\0" in os.fspath(path):
        raise InputError(sentence(f"The path of a {what}", "without NUL", repr(path)))
    return Path(path)


def write_whole(path: Path, pieces: Iterable[bytes | memoryview], what: str = "model file") -> None:
    """Write beside, bring it to the disk, and only then put it in its place.

    The file gets the mode that the umask gives. If anything goes wrong, what was there before is still there. A device
    or a pipe, as /dev/stdout, is written to and not replaced.
    """
    if path.is_dir():
        raise ModelFileError(f"The {what} {path} cannot be written: it is a directory. Name a file inside it.")
    if path.exists() and not path.is_file():
        _write_into(path, pieces, what)
        return
    beside = path.with_name(f".{path.name[:60]}.{secrets.token_hex(6)}.part")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for piece in pieces:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        _settle(path.parent)
    except OSError as problem:
        raise ModelFileError(f"The {what} {path} cannot be written: {_reason(problem)}") from None


def _write_into(path: Path, pieces: Iterable[bytes | memoryview], what: str) -> None:
    try:
        with path.open("wb") as file:
            for piece in pieces:
                file.write(piece)
    except OSError as problem:
        raise ModelFileError(f"The {what} {path} cannot be written: {_reason(problem)}") from None


def _settle(folder: Path) -> None:
    """Bring a folder's list of names to the disk, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file and its size; what goes wrong inside is told with the path."""
    try:
        _refuse_others(path)
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except ModelFileError as problem:
        raise ModelFileError(f"The model file {path} cannot be read: {problem}") from None
    except OSError as problem:
        raise ModelFileError(f"The model file {path} cannot be read: {_reason(problem)}") from None


def _refuse_others(path: Path) -> None:
    """Regular files only: a pipe would keep us waiting."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ModelFileError("it is a directory." if path.is_dir() else "it is no regular file.")


def _reason(problem: OSError) -> str:
    words = problem.strerror or type(problem).__name__
    return f"{words[0].lower()}{words[1:]}."
