"""Memory is promised before it is taken: what there is, and the refusal where it is not enough."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mercer.errors import InputError, MemoryRefusal, sentence

_GROUPS = Path("/sys/fs/cgroup")  # where control groups are mounted
_MEMBERSHIP = Path("/proc/self/cgroup")  # which ones this process is in
# Files of a group: its limit, what it uses, and the line of memory.stat that says how much of that is cached files
# which the system drops as soon as memory is asked for.
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = ("memory.max", "memory.current", "inactive_file")
_KEPT = 0.1  # seconds for which a reading counts: it takes as long as a small fit
_last: tuple[float, tuple[Path, Path], list[int]] = (-1.0, (_GROUPS, _MEMBERSHIP), [])
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def available_bytes() -> int:
    """Bytes this process can still take: the least of the machine, its control groups and its limit.

    `MERCER_MEMORY_LIMIT` (bytes) lowers it. Where nothing can be read, half of the physical memory.
    """
    found = [*_around(), *_process_limit()]
    asked = os.environ.get("MERCER_MEMORY_LIMIT", "")
    if asked:
        if not (asked.isascii() and asked.isdigit()):
            raise InputError(sentence("MERCER_MEMORY_LIMIT", "an integer number of bytes", repr(asked)))
        found.append(int(asked))
    if found:
        return max(0, min(found))
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # pragma: no cover


def _around() -> list[int]:
    """What the machine and the control groups leave, read again after a tenth of a second."""
    global _last  # noqa: PLW0603 - one reading for all callers
    now, places = time.monotonic(), (_GROUPS, _MEMBERSHIP)
    if not (0 <= now - _last[0] < _KEPT and _last[1] == places):
        machine = [1024 * kib for kib in _fields(Path("/proc/meminfo"), "MemAvailable:")]
        _last = now, places, machine + _control_groups()
    return _last[2]


def _control_groups() -> list[int]:
    """What each group that this process is in leaves, and each group around it: any of them may have the least.

    Version 1 is mounted under memory, version 2 at the top or under unified. A container may see its own group as the
    top and yet be told a path from outside, of which nothing is there; then the top is all there is.
    """
    inside = {"memory": "/", "": "/"}  # the path of the process's group, by controller; version 2 has no name
    for line in _lines(_MEMBERSHIP):
        _, controllers, path = line.split(":", 2)
        inside |= {name: path for name in controllers.split(",") if name in inside}
    found = []
    for top, path, files in (
        (_GROUPS / "memory", inside["memory"], _VERSION_1),
        (_GROUPS, inside[""], _VERSION_2),
        (_GROUPS / "unified", inside[""], _VERSION_2),
    ):
        parts = [part for part in path.split("/") if part not in {"", ".."}]
        found += [_left_in(top.joinpath(*parts[:depth]), *files) for depth in range(len(parts) + 1)]
    return [left for left in found if left is not None]


def _left_in(group: Path, limit: str, usage: str, cached: str) -> int | None:
    most, used = _number(group / limit), _number(group / usage)
    if most is None or used is None:
        return None
    return most - max(0, used - sum(_fields(group / "memory.stat", f"{cached} ")))


def _process_limit() -> list[int]:
    try:
        import resource
    except ImportError:  # pragma: no cover - not on every system
        return []
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return []
    return [soft - 1024 * kib for kib in _fields(Path("/proc/self/status"), "VmSize:")]


def _fields(path: Path, label: str) -> list[int]:
    return [int(line.split()[1]) for line in _lines(path) if line.startswith(label)]


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None


def _lines(path: Path) -> list[str]:
    """The lines of a file of the system; none where it is not there."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []


def readable(count: float) -> str:
    """A number of bytes as a person would say it.

    >>> readable(3_200_000_000)
    '3.2 GB'
    """
    for unit in _UNITS[:-1]:
        if count < (1000 if unit == "bytes" else 999.95):
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def promise(needed: int, what: str, way_out: str) -> None:
    """Refuse work that needs more bytes than there are, before anything is allocated.

    Examples
    --------
    >>> from mercer.runtime import promise
    >>> promise(10**18, "A Gram matrix of 353 553 391 rows", "Use fewer rows.")
    Traceback (most recent call last):
        ...
    mercer.errors.MemoryRefusal: A Gram matrix of 353 553 391 rows needs 1000.0 PB of memory; ...
    """
    there = available_bytes()
    if needed > there:
        raise MemoryRefusal(f"{what} needs {readable(needed)} of memory; {readable(there)} is available. {way_out}")
