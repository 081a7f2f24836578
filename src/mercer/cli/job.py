"""The job of `mercer fit` and `mercer explain`: options, parsed, and refused before any work if they cannot be met."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mercer.cli import clock
from mercer.errors import InputError, nearest, refuse, refuse_if, sentence
from mercer.kernels import parse
from mercer.runtime import threads
from mercer.selection.ladders import FAMILIES

_KINDS = ("number", "category", "date", "text", "drop")
_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "tb": 10**12}
_SIGNS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}
_LIMIT = "MERCER_MEMORY_LIMIT"  # the variable of the environment


@dataclass(frozen=True)
class Job:
    """What is to be done: the options of `mercer fit` and `mercer explain`, and what they say about columns."""

    table: str
    target: str
    task: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    row_id: str | None = None
    group: str | None = None
    time: str | None = None
    weight: str | None = None
    class_weight: str | None = None
    missing: str | None = None
    missing_target: str = "refuse"
    rare_labels: str = "refuse"
    strict: bool = False
    copies: str | None = None
    loss: str = "auto"
    separator: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    kernel: tuple[str, ...] = ()
    alphas: tuple[float, ...] = ()
    rule: str | None = None
    scoring: str | None = None
    folds: int | None = None
    repeats: int | None = None
    seed: int = 0
    time_budget: float | None = None
    memory_limit: int | None = None
    threads: int | None = None
    checkpoint: str | None = None
    dask: str | None = None
    without_data: bool = False
    out: str = "model.mercer"
    force: bool = False
    report: str | None = None
    as_json: bool = False
    quiet: bool = False
    begun: float = field(default_factory=lambda: clock.pop("begun", time.monotonic()))

    @classmethod
    def parse(cls, options: dict[str, Any]) -> Job:
        """The job that options of the command line describe; the first that cannot be met is an error."""
        if "out" in options:
            refuse_out(options["out"], "--out")
            refuse_out(options["report"], "--report")
            written = {f"--{name}": options[name] for name in ("out", "report", "checkpoint")}
            refuse_overwriting({"the table": options["table"]}, written)
        for text in options["kernel"]:
            if "(" in text:
                parse(text)
            elif text.strip().lower() not in FAMILIES:
                raise InputError(f"There is no kernel {text!r}. {nearest(text.strip().lower(), FAMILIES)}")
        scoring, alphas = _parse_scoring(options["scoring"]), _parse_alphas(options["alphas"])
        memory_limit, kinds = _parse_size(options["memory_limit"]), _parse_kinds(options["kinds"])
        parsed = {"scoring": scoring, "alphas": alphas, "memory_limit": memory_limit, "kinds": kinds}
        return cls(**options | parsed | {"separator": parse_separator(options["separator"])})

    @property
    def read_as(self) -> dict[str, str]:
        """Kinds of columns that are learned from, and of the weights."""
        kinds = {name: kind for name, kind in self.kinds.items() if kind != "drop"}
        return kinds if self.weight is None else kinds | {self.weight: "number"}

    @property
    def aside(self) -> list[str]:
        """Columns that are not learned from."""
        dropped = (name for name, kind in self.kinds.items() if kind == "drop")
        return [*self.drop, *dropped, *(name for name in (self.group, self.row_id) if name is not None)]

    @property
    def always_there(self) -> list[str]:
        """Columns that must not have gaps."""
        return [self.target, *(name for name in (self.weight, self.group, self.time) if name is not None)]

    @contextmanager
    def limits(self) -> Iterator[None]:
        """Threads and memory for the time of a command."""
        before = os.environ.get(_LIMIT)
        if self.memory_limit is not None:
            os.environ[_LIMIT] = str(self.memory_limit)
        try:
            with threads(self.threads) if self.threads else nullcontext():
                yield
        finally:
            os.environ.pop(_LIMIT, None)
            os.environ.update({} if before is None else {_LIMIT: before})


def _parse_scoring(scoring: str | None) -> str | None:
    """The name of a scorer of scikit-learn."""
    if scoring is not None:
        from sklearn.metrics import get_scorer_names

        hint = nearest(scoring, get_scorer_names())
        hint = hint if hint.startswith("Did") else "Use a scikit-learn scorer name, such as r2."
        refuse(scoring not in get_scorer_names(), f"Unknown scoring {scoring!r}. {hint}")
    return scoring


def _parse_alphas(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        alphas = tuple(float(part) for part in text.replace(",", " ").split())
    except ValueError:
        alphas = ()
    valid = alphas and all(0 <= number < float("inf") for number in alphas)
    refuse_if(not valid, "--alphas", "non-negative numbers, such as 0.01,0.1,1", repr(text))
    return alphas


def _parse_size(text: str | None) -> int | None:
    """Bytes.

    >>> _parse_size("2GB"), _parse_size("500 mb")
    (2000000000, 500000000)
    """
    if not text:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", text.strip().lower())
    if not found or found[2] not in _UNITS:
        raise InputError(sentence("--memory-limit", "a size, such as 500MB or 2GB", repr(text)))
    return int(float(found[1]) * _UNITS[found[2]])


def _parse_kinds(given: Sequence[str]) -> dict[str, str]:
    """`--as` options as a dictionary.

    >>> _parse_kinds(["zip=category", "note=text"])
    {'zip': 'category', 'note': 'text'}
    """
    kinds = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        refuse_if(not name or kind not in _KINDS, "--as", "COLUMN=number, category, date, text or drop", repr(text))
        kinds[name] = kind
    return kinds


def parse_separator(given: str | None) -> str | None:
    """One character, from itself or its name."""
    sign = given and _SIGNS.get(given.lower(), given)
    valid = sign is None or (len(sign) == 1 and sign not in '"\r\n')
    refuse_if(not valid, "--separator", "one character, or the word tab", repr(given))
    return sign


def refuse_out(out: str | None, option: str) -> None:
    """Raise an error before the fit if a file cannot be written."""
    if out is None:
        return
    if out == "-" or Path(out).is_dir():
        raise InputError(sentence(option, "the path of a file", repr(out) + " (a directory)" * Path(out).is_dir()))
    path = Path(os.path.realpath(out) if Path(out).is_symlink() else out)  # what is written is where a link points to
    refuse(not path.parent.is_dir(), f"There is no directory {str(path.parent)!r} to write {path.name!r} to.")
    refuse(not os.access(path.parent, os.W_OK), f"{out!r} cannot be written: permission denied.")


def refuse_overwriting(read: dict[str, str], written: dict[str, str | None]) -> None:
    """Refuse an output that is an input or another output, whatever path or link leads to it."""
    taken = {what: _files(path) for what, path in read.items()}
    for option, path in written.items():
        files = set() if path in {None, "-"} else _files(str(path))
        for what, others in taken.items():
            refuse(files & others, f"{option} would overwrite {what}: {path!r}. Use a different file name.")
        taken[option] = files


def _files(path: str) -> set[Any]:
    """What a file is known by, its real path and its place on the disk: two names of one file have one in common.

    A directory is its Parquet files; pipes and devices, which are not replaced, are none.
    """
    piped = path == "-"
    try:
        if not piped and Path(path).is_dir():
            return {known for file in Path(path).glob("*.parquet") for known in _files(str(file))}
        status = os.fstat(sys.stdin.fileno()) if piped else Path(path).stat()
    except (OSError, ValueError):  # not there yet, or no stream of the system's
        return set() if piped else {os.path.realpath(path)}
    if not stat.S_ISREG(status.st_mode):
        return set()
    return {(status.st_dev, status.st_ino)} | (set() if piped else {os.path.realpath(path)})
