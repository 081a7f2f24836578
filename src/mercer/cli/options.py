"""Options of the command line: parsed, and refused before any work where they cannot be met."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from mercer.cli import clock
from mercer.errors import InputError, nearest, sentence
from mercer.kernels import Kernel, parse
from mercer.kernels.views import On
from mercer.runtime import threads
from mercer.selection.ladders import FAMILIES
from mercer.tables import TableEncoder

_KINDS = ("number", "category", "date", "text", "drop")
_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "tb": 10**12}
_SIGNS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}


@dataclass(frozen=True)
class TableOptions:
    """How to read a table, and what its columns are for."""

    target: str
    kinds: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    group: str | None = None
    weight: str | None = None
    row_id: str | None = None
    task: str | None = None
    missing: str | None = None
    rows_kept: bool = True
    separator: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    time: str | None = None
    missing_target: str = "refuse"
    rare_labels: str = "refuse"
    strict: bool = False

    @classmethod
    def parse(cls, options: dict[str, Any]) -> TableOptions:
        """Parse and validate the options of the command line that are about the table."""
        kinds, separator = _parse_kinds(options["kinds"]), parse_separator(options["separator"])
        given = _fields(cls, options) | {"kinds": kinds, "separator": separator}
        return cls(**given, rows_kept=not options.get("without_data"))

    @property
    def read_as(self) -> dict[str, str]:
        """Kinds of columns that are learned from, and of the weights."""
        kinds = {name: kind for name, kind in self.kinds.items() if kind != "drop"}
        return kinds if self.weight is None else kinds | {self.weight: "number"}

    @property
    def columns_to_skip(self) -> list[str]:
        """Columns that are not looked at."""
        return [name for name in self.aside if name not in {self.weight, self.time}]

    @property
    def aside(self) -> list[str]:
        """Columns that are not learned from."""
        dropped = (name for name, kind in self.kinds.items() if kind == "drop")
        return [*self.drop, *dropped, *(name for name in (self.group, self.row_id) if name is not None)]

    @property
    def always_there(self) -> list[str]:
        """Columns that must not have gaps."""
        return [self.target, *(name for name in (self.weight, self.group, self.time) if name is not None)]


@dataclass(frozen=True)
class FitOptions:
    """How to fit."""

    kernel: tuple[str, ...] = ()
    alphas: tuple[float, ...] = ()
    rule: str | None = None
    folds: int | None = None
    repeats: int | None = None
    scoring: str | None = None
    time_budget: float | None = None
    checkpoint: str | None = None
    seed: int = 0
    verbose: int = 1
    dask: str | None = None
    without_data: bool = False
    class_weight: str | None = None
    loss: str = "auto"
    copies: str | None = None
    begun: float = field(default_factory=lambda: clock.pop("begun", time.monotonic()))

    @classmethod
    def parse(cls, options: dict[str, Any], verbose: int = 1) -> FitOptions:
        """Parse and validate the options of the command line that are about the fit."""
        scoring = options["scoring"]
        if scoring is not None:
            from sklearn.metrics import get_scorer_names

            if scoring not in get_scorer_names():
                hint = nearest(scoring, get_scorer_names())
                hint = hint if hint.startswith("Did") else "Use a scikit-learn scorer name, such as r2."
                raise InputError(f"Unknown scoring {scoring!r}. {hint}")
        given = _fields(cls, options) | {"alphas": _parse_alphas(options["alphas"])}
        return cls(**given, verbose=verbose)


def _fields(cls: type, options: dict[str, Any]) -> dict[str, Any]:
    """The options that are fields of this dataclass."""
    return {each.name: options[each.name] for each in fields(cls) if each.name in options}


def _parse_kinds(given: Sequence[str]) -> dict[str, str]:
    """`--as` options as a dictionary.

    >>> _parse_kinds(["zip=category", "note=text"])
    {'zip': 'category', 'note': 'text'}
    """
    kinds = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if not name or kind not in _KINDS:
            raise InputError(sentence("--as", "COLUMN=number, category, date, text or drop", repr(text)))
        kinds[name] = kind
    return kinds


def parse_separator(given: str | None) -> str | None:
    """One character, from itself or its name."""
    if given is None:
        return None
    sign = _SIGNS.get(given.lower(), given)
    if len(sign) != 1 or sign in '"\r\n':
        raise InputError(sentence("--separator", "one character, or the word tab", repr(given)))
    return sign


def _parse_alphas(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        alphas = tuple(float(part) for part in text.replace(",", " ").split())
    except ValueError:
        alphas = ()
    if not alphas or not all(0 <= number < float("inf") for number in alphas):
        raise InputError(sentence("--alphas", "non-negative numbers, such as 0.01,0.1,1", repr(text)))
    return alphas


def refuse_unknown_kernels(texts: Sequence[str]) -> None:
    """Raise an error for a kernel that does not exist, before any table is read."""
    for text in texts:
        if "(" in text:
            parse(text)
        elif text.strip().lower() not in FAMILIES:
            raise InputError(f"There is no kernel {text!r}. {nearest(text.strip().lower(), FAMILIES)}")


def kernels_of(texts: Sequence[str], encoder: TableEncoder) -> list[Any]:
    """Family names as they are, all other texts as kernels of the encoded table.

    Examples
    --------
    >>> from mercer import TableEncoder
    >>> encoder = TableEncoder().fit({"age": [1.0, 2.0, 4.0], "city": ["Rome", "Bonn", "Rome"]})
    >>> kernels_of(["gaussian", "linear().on('city')"], encoder)
    ['gaussian', Linear().on([1, 2])]
    """
    return [place_columns(parse(text), encoder) if "(" in text else text for text in texts]


def place_columns(kernel: Kernel, encoder: TableEncoder) -> Kernel:
    """The kernel with the numbers of encoded columns in place of the names of columns."""
    if isinstance(kernel, On):
        return place_columns(kernel.base, encoder).on(_places(kernel.columns, encoder))
    members = {name: place_columns(member, encoder) for name, member in kernel.members().items()}
    changed = {name: member for name, member in members.items() if member != kernel.members()[name]}
    return kernel.set_params(**changed) if changed else kernel


def _places(columns: Any, encoder: TableEncoder) -> list[int]:
    listed = [columns] if isinstance(columns, str | int) else list(columns)
    found: list[int] = []
    for name in listed:
        if not isinstance(name, str):
            raise InputError(f".on(...) needs column names on the command line, such as .on('age'); got {name!r}.")
        known = {column.name: place for place, column in enumerate(encoder.columns_) if column.outputs}
        if name not in known:
            raise InputError(f".on({name!r}): there is no feature column {name!r}. {nearest(name, known)}")
        found += [place for place, group in enumerate(encoder.groups_.tolist()) if group == known[name]]
    return found


@contextmanager
def limits(options: dict[str, Any]) -> Iterator[None]:
    """Threads and memory for the time of a command."""
    before = os.environ.get("MERCER_MEMORY_LIMIT")
    if options["memory_limit"]:
        os.environ["MERCER_MEMORY_LIMIT"] = str(_parse_size(options["memory_limit"]))
    try:
        with threads(options["threads"]) if options["threads"] else nullcontext():
            yield
    finally:
        if options["memory_limit"]:
            os.environ.pop("MERCER_MEMORY_LIMIT")
            os.environ.update({} if before is None else {"MERCER_MEMORY_LIMIT": before})


def _parse_size(text: str) -> int:
    """Bytes.

    >>> _parse_size("2GB"), _parse_size("500 mb")
    (2000000000, 500000000)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", text.strip().lower())
    if not found or found[2] not in _UNITS:
        raise InputError(sentence("--memory-limit", "a size, such as 500MB or 2GB", repr(text)))
    return int(float(found[1]) * _UNITS[found[2]])


def refuse_out(out: str | None, option: str) -> None:
    """Raise an error before the fit if a file cannot be written."""
    if out is None:
        return
    if out == "-" or Path(out).is_dir():
        raise InputError(sentence(option, "the path of a file", repr(out) + " (a directory)" * Path(out).is_dir()))
    path = Path(os.path.realpath(out) if Path(out).is_symlink() else out)  # what is written is where a link points to
    if not path.parent.is_dir():
        raise InputError(f"There is no directory {str(path.parent)!r} to write {path.name!r} to.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{out!r} cannot be written: permission denied.")


def refuse_overwriting(read: dict[str, str], written: dict[str, str | None]) -> None:
    """Refuse an output that is an input or another output, whatever path or link leads to it."""
    taken = {what: _files(path) for what, path in read.items()}
    for option, path in written.items():
        found = set() if path in {None, "-"} else _files(str(path))
        for what, others in taken.items():
            if found & others:
                raise InputError(f"{option} would overwrite {what}: {path!r}. Use a different file name.")
        taken[option] = found


def _files(path: str) -> set[Any]:
    """What a file is known by, its real path and its place on the disk: two names of one file have one in common.

    A directory is its Parquet files; pipes and devices, which are not replaced, are none.
    """
    try:
        if path != "-" and Path(path).is_dir():
            return {each for file in Path(path).glob("*.parquet") for each in _files(str(file))}
        status = os.fstat(sys.stdin.fileno()) if path == "-" else Path(path).stat()
    except (OSError, ValueError):  # not there yet, or no stream of the system's
        return set() if path == "-" else {os.path.realpath(path)}
    place = {(status.st_dev, status.st_ino)} if stat.S_ISREG(status.st_mode) else set()
    return place | {os.path.realpath(path)} if place and path != "-" else place
