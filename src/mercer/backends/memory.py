"""Memory is promised before it is taken: what there is, and the refusal where it is not enough."""

from __future__ import annotations

import os
from pathlib import Path

from mercer.errors import InputError, MemoryRefusal, sentence

_GROUP = Path("/sys/fs/cgroup")
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def available_bytes() -> int:
    """Bytes this process can still take: the least of the machine, its control group and its limit.

    `MERCER_MEMORY_LIMIT` (bytes) lowers it. Where nothing can be read, half of the physical memory.
    """
    found = [*_machine(), *_control_group(), *_process_limit()]
    asked = os.environ.get("MERCER_MEMORY_LIMIT", "")
    if asked:
        if not (asked.isascii() and asked.isdigit()):
            raise InputError(sentence("MERCER_MEMORY_LIMIT", "a whole number of bytes", repr(asked)))
        found.append(int(asked))
    if found:
        return max(0, min(found))
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # pragma: no cover


def _machine() -> list[int]:
    return [1024 * kib for kib in _fields("/proc/meminfo", "MemAvailable:")]


def _control_group() -> list[int]:
    limit, used = (_number(_GROUP / name) for name in ("memory.max", "memory.current"))
    return [] if limit is None or used is None else [limit - used]


def _process_limit() -> list[int]:
    try:
        import resource
    except ImportError:  # pragma: no cover - not on every system
        return []
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return []
    return [soft - 1024 * kib for kib in _fields("/proc/self/status", "VmSize:")]


def _fields(path: str, label: str) -> list[int]:
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
    except OSError:  # pragma: no cover - not on every system
        return []
    return [int(line.split()[1]) for line in lines if line.startswith(label)]


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


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
    >>> from mercer.backends import promise
    >>> promise(10**18, "A Gram matrix of 353 553 391 rows", "Use fewer rows.")
    Traceback (most recent call last):
        ...
    mercer.errors.MemoryRefusal: A Gram matrix of 353 553 391 rows needs 1000.0 PB of memory; ...
    """
    there = available_bytes()
    if needed > there:
        raise MemoryRefusal(f"{what} needs {readable(needed)} of memory; {readable(there)} is available. {way_out}")
