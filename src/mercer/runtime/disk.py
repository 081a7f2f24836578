"""Files that appear whole or not at all, and files looked at before they are opened."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from mercer.errors import InputError, ModelFileError, refuse, sentence

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # pragma: no cover - not on every system
    fcntl = None

_LETTERS = 40  # of a file's name in the name of the file beside it, which must stay below 255 bytes


@dataclass(frozen=True)
class SourceStamp:
    """What tells that a file is still the one that was opened.

    Attributes
    ----------
    path : str
        Where it is.
    size : int
        Its bytes.
    changed, stamped : int
        When its contents were changed, which whoever writes can set, and when anything of it was, which nobody can.
    inode : int
        Its number on the disk: another file of the same name has another one.
    machine : str
        Who counts the inodes; files that are shared may have other ones elsewhere. Neither is part of `repr`, by which
        checkpoints know a file again.
    """

    path: str
    size: int
    changed: int
    stamped: int
    inode: int = field(repr=False)
    machine: str = field(repr=False)

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> SourceStamp:
        """The stamp of a file as it is now."""
        status = Path(path).stat()
        times = status.st_mtime_ns, status.st_ctime_ns
        return cls(str(Path(path).absolute()), status.st_size, *times, status.st_ino, platform.node())

    def check(self) -> None:
        """Refuse a file that has changed since."""
        with retell(f"{self.path!r} can no longer be read"):
            now = SourceStamp.of(self.path)
        if now.machine != self.machine:
            now = replace(now, stamped=self.stamped, inode=self.inode, machine=self.machine)
        words = f"{self.path!r} was changed while it was in use."
        refuse(now != self, f"{words} Every pass must read the same rows; start again.")


@contextlib.contextmanager
def retell(problem: str) -> Iterator[None]:
    """Turn an error of the system inside into one sentence that begins with the problem."""
    try:
        yield
    except OSError as error:
        raise InputError(": ".join((problem, f"{error.strerror or error}."))) from None


def check_path(path: object, what: str = "model file") -> Path:
    """Validate a path, given as a string or as a path."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path) or not isinstance(os.fspath(path), str):
        raise InputError(sentence(f"The path of a {what}", "a string or a path", repr(path)))
    if "\0" in os.fspath(path):
        raise InputError(f"The path of a {what} must not contain a NUL character; got {path!r}.")
    return Path(path)


def write_whole(path: Path, pieces: Iterable[bytes | memoryview], what: str = "model file") -> None:
    """Write a file as `replacing` does."""
    with replacing(path, what) as file:
        file.writelines(pieces)


@contextlib.contextmanager
def replacing(path: Path, what: str = "model file") -> Iterator[BinaryIO]:
    """A file beside the target to be written to, which is brought to the disk and only then takes the target's place.

    A symbolic link is followed: the file that it points to is written. A file that is there keeps its mode, and its
    owner and group where the system lets us; a new one gets the mode that the umask gives. If anything goes wrong,
    what was there before is still there. A device or a pipe, as /dev/stdout, is written to and not replaced.

    The file beside is locked as long as it is written. One that a killed save has left is not, and is removed by the
    next save to the same target.
    """
    try:
        if path.is_dir():
            raise ModelFileError(f"The {what} {path} cannot be written: it is a directory. Name a file inside it.")
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        target = real_path(path)
        _remove_stale(target)
        with _beside(target) as (descriptor, beside):
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        _settle(target.parent)
    except OSError as problem:
        raise ModelFileError(f"The {what} {path} cannot be written: {_reason(problem)}") from None


def try_place(path: Path, what: str) -> None:
    """Refuse a place that cannot be written to, before the work and not after."""
    try:
        with _beside(real_path(path)) as (descriptor, _):
            os.close(descriptor)
    except OSError as problem:
        raise ModelFileError(f"The {what} {path} cannot be written: {_reason(problem)}") from None


def _reason(problem: OSError) -> str:
    words = problem.strerror or type(problem).__name__
    return f"{words[0].lower()}{words[1:]}."


def real_path(path: Path) -> Path:
    """The file that is meant, behind any symbolic links; it need not be there.

    >>> real_path(Path("/dev/../model.mercer"))
    PosixPath('/model.mercer')
    """
    found = Path(os.path.realpath(path))
    if found.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return found


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[tuple[int, Path]]:
    """A fresh, locked file in the folder of another, with its mode; removed at the end unless it was moved away."""
    old = target.stat() if target.exists() else None
    while True:
        beside = target.with_name(f".{target.name[:_LETTERS]}.{secrets.token_hex(6)}.part")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if old is None else 0o600)
        if _lock(descriptor) is not False and os.fstat(descriptor).st_nlink:  # else it was taken for a stale one
            break
        os.close(descriptor)
    lock = os.dup(descriptor)  # keeps the file locked when the descriptor is closed
    try:
        if old is not None:
            _take_over(descriptor, old)
        yield descriptor, beside
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
        os.close(lock)


def _take_over(descriptor: int, old: os.stat_result) -> None:
    """Give a new file, which is private so far, the owner, group and mode of the one it will replace."""
    if not hasattr(os, "fchown"):  # pragma: no cover - not on every system
        return
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, owner, group)
    same = os.fstat(descriptor).st_gid == old.st_gid  # else another group would get to read it
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & (~0 if same else ~0o070))


def _remove_stale(target: Path) -> None:
    """Remove what killed saves to this target have left: files of that name that nobody holds locked."""
    if fcntl is None:  # pragma: no cover - nobody can tell which are in use
        return
    pattern = re.compile(rf"\.{re.escape(target.name[:_LETTERS])}\.[0-9a-f]{{12}}\.part")
    with contextlib.suppress(OSError):
        for path in [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]:
            with contextlib.suppress(OSError):
                descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor):
                        path.unlink()
                finally:
                    os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock an open file for as long as it is open; False if somebody else has, None if the system knows no locks."""
    if fcntl is None:  # pragma: no cover - not on every system
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # pragma: no cover - not on every file system
        return None
    return True


def _settle(folder: Path) -> None:
    """Bring a folder's list of names to the disk, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def opened(path: Path, what: str = "model file", way_out: str = "") -> Iterator[tuple[BinaryIO, int]]:
    """A regular file and its size; what goes wrong inside is told with the path."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would keep us waiting
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise ModelFileError(f"it is {kind}.", hint="Use another path.")  # noqa: TRY301 - told with the path
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except ModelFileError as problem:
        end = "" if problem.hint else way_out
        raise ModelFileError(f"The {what} {path} cannot be read: {problem}{end}") from None
    except OSError as problem:
        end = way_out if os.path.isfile(path) else ""  # noqa: PTH113 - is_file raises for names that are too long
        raise ModelFileError(f"The {what} {path} cannot be read: {_reason(problem)}{end}") from None
