"""The smaller things that models are made of: routes, calibrations, committees, folds, encoders."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mercer.data.folds import Folds, Split
from mercer.data.rows import Array
from mercer.errors import ModelFileError
from mercer.estimators.calibration import Temperature
from mercer.kernels import Kernel
from mercer.local.cells import LocalFit
from mercer.models.cells import cells_record, read_cells
from mercer.models.values import Reader, Writer
from mercer.runtime.container import dumps, loads
from mercer.selection.table import Winner
from mercer.solvers import Route, SolverChoice
from mercer.tables import TableEncoder
from mercer.tables.state import EncoderSettings
from mercer.tables.values import NumberStyle
from mercer.tuning.committee import Committee, Member

Check = Callable[[Any], bool]


def is_text(value: Any) -> bool:
    """Whether this is a text."""
    return type(value) is str


def is_whole(value: Any) -> bool:
    """Whether this is an integer, not negative."""
    return type(value) is int and value >= 0


def is_number(value: Any) -> bool:
    """Whether this is a number; infinite ones are."""
    return type(value) in (int, float) and not math.isnan(value)


def is_finite(value: Any) -> bool:
    """Whether this is a finite number."""
    return is_number(value) and math.isfinite(value)


def is_share(value: Any) -> bool:
    """Whether this is a number from 0 to 1, or a rounding error above."""
    return is_finite(value) and 0.0 <= value <= 1.0 + 1e-9


def is_positive(value: Any) -> bool:
    """Whether this is a finite number, not negative."""
    return is_finite(value) and value >= 0


def is_kernel(value: Any) -> bool:
    """Whether this is a kernel."""
    return isinstance(value, Kernel)


def is_finite_array(value: Any, *shape: int | None) -> bool:
    """Whether this is an array of finite float64 of this shape; None stands for any length."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.ndim == len(shape)
        and all(want is None or want == got for want, got in zip(shape, value.shape, strict=True))
        and bool(np.isfinite(value).all())
    )


def is_whole_array(value: Any, count: int, below: int) -> bool:
    """Whether this is an array of so many whole numbers, from 0 to below this one."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == np.int64
        and value.shape == (count,)
        and value.min(initial=0) >= 0
        and value.max(initial=0) < below
    )


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(map(is_text, value))


def are_members(value: Any) -> bool:
    """Whether this is a list of members of a committee."""
    return type(value) is list and all(isinstance(item, Member) for item in value)


def _are_tuned(value: Any, folds: int, members: int) -> bool:
    """Whether this is nothing, or for every fold a kernel and an alpha of every member."""
    lists = type(value) is list and all(type(fold) is list and len(fold) == members for fold in value)
    if not lists or len(value) not in (0, folds):
        return False
    pairs = [pair for fold in value for pair in fold]
    return all(type(pair) is tuple and len(pair) == 2 and is_kernel(pair[0]) and is_positive(pair[1]) for pair in pairs)


@dataclass(frozen=True)
class KeptTable:
    """What is kept of the table of a search: its text."""

    words: str

    def text(self, choice: Any = None, folds: Any = None) -> str:
        """The table as text, as the search itself prints it."""
        return self.words


@dataclass(frozen=True)
class KeptRoute:
    """What is kept of the route of a search: its name."""

    name: str


@dataclass(frozen=True)
class KeptPlan:
    """What is kept of the plan of a search."""

    chosen: KeptRoute


class KeptSplit(Split):
    """A fold of a partition, which keeps the rows that it tests and not all the others."""

    def __init__(self, test: Array, n: int) -> None:
        object.__setattr__(self, "test", test)
        object.__setattr__(self, "n", n)

    n: int

    @property
    def train(self) -> Array:
        """Every other row."""
        return np.delete(np.arange(self.n), self.test)

    @property
    def train_count(self) -> int:
        """How many other rows there are."""
        return self.n - len(self.test)

    def removal(self, n: int) -> Array:
        """The rows tested."""
        return self.test


_ROUTES = ("primal", "spectral", "mixed", "cholesky", "cg")
# Values that are their fields: the class, and what each field must be.
_PLAIN: dict[str, tuple[type, dict[str, Check]]] = {
    "Route": (
        Route,
        {"name": is_text, "reason": is_text, "condition": is_number, "rank": is_whole, "size": is_whole,
         "negative": is_finite, "residual": is_positive, "cancelled": is_positive},
    ),
    "Choice": (SolverChoice, {"name": lambda v: v in _ROUTES, "reason": is_text, "bytes": is_whole}),
    "Temperature": (
        Temperature,
        {"scale": is_positive, "shifts": lambda v: type(v) is tuple and all(map(is_finite, v)),
         "logistic": lambda v: type(v) is bool},
    ),
    "Member": (
        Member,
        {"name": is_text, "kernel": is_kernel, "alpha": is_positive, "weight": is_share, "error": is_positive,
         "status": is_text, "bounds": _is_texts},
    ),
    "Winner": (
        Winner,
        {"kernel": is_whole, "alphas": lambda v: type(v) is tuple and all(map(is_whole, v))},
    ),
    "NumberStyle": (NumberStyle, {"decimal": is_text, "thousands": is_text}),
    "KeptTable": (KeptTable, {"words": is_text}),
    "KeptRoute": (KeptRoute, {"name": is_text}),
    "KeptPlan": (KeptPlan, {"chosen": lambda v: isinstance(v, KeptRoute)}),
}  # fmt: skip
_WORDS = {cls: word for word, (cls, _) in _PLAIN.items()}


class PartWriter(Writer):
    """Writes values, and what models are made of."""

    def special(self, value: Any, what: str) -> Any:
        """Routes, calibrations, committees, folds and encoders."""
        word = _WORDS.get(type(value))
        if word is not None:
            held = {field.name: getattr(value, field.name) for field in fields(value)}
            usual = {field.name for field in fields(value) if held[field.name] == field.default}
            given = {name: self.value(each, what) for name, each in held.items() if name not in usual}
            return {"is": "part", "class": word, "with": given}
        if isinstance(value, Committee):
            return {
                "is": "committee",
                "tried": self.value(value.tried, what),
                "held_out": self.value(value.held_out, what),
                "folds": self.value(value.folds, what),
                "tuned_on": int(value.tuned_on),
            } | {
                name: self.value(getattr(value, name), what)
                for name in ("by_fold", "clusters", "base", "fold_weights")
                if getattr(value, name) is not None and len(getattr(value, name))
            }
        if isinstance(value, TableEncoder):
            if not hasattr(value, "columns_"):  # a parameter, which is never fitted
                return {"is": "encoder settings", "record": dumps(value.settings.record())}
            record, arrays = value.state()
            return {"is": "encoder", "record": dumps(record)} | {n: self.value(a, what) for n, a in arrays.items()}
        if isinstance(value, LocalFit):
            return {"is": "cells", "of": self.value(cells_record(value), what)}
        if isinstance(value, Folds):
            numbers = [self.value(_fold_numbers(repeat, value.n), what) for repeat in value.repeats if value.partition]
            return {"is": "folds", "rows": value.n, "label": value.label, "numbers": numbers}
        return super().special(value, what)


def _fold_numbers(repeat: tuple[Split, ...], n: int) -> Array:
    numbers = np.empty(n, dtype=np.int64)
    for place, split in enumerate(repeat):
        numbers[split.test] = place
    return numbers


class PartReader(Reader):
    """Reads values, and what models are made of."""

    def special(self, given: dict[str, Any]) -> Any:
        """Routes, calibrations, committees, folds and encoders."""
        match given["is"]:
            case "part":
                return self._part(given)
            case "committee":
                return self._committee(given)
            case "encoder":
                arrays = {name: self.value(given[name]) for name in given if name not in {"is", "record"}}
                return TableEncoder.from_state(loads(given["record"], "the encoder"), arrays)
            case "encoder settings":
                return TableEncoder.from_settings(EncoderSettings.read(loads(given["record"], "the encoder")))
            case "folds":
                return self._folds(given)
            case "cells":
                return read_cells(self.value(given["of"]))
        return super().special(given)

    def _part(self, given: dict[str, Any]) -> Any:
        cls, checks = _PLAIN[given["class"]]
        found = {name: self.value(value) for name, value in given["with"].items()}
        for name, value in found.items():
            if not checks[name](value):
                raise ModelFileError(f"{name} of a {given['class']} must not be {str(value)[:40]!r}.")
        return cls(**found)

    def _committee(self, given: dict[str, Any]) -> Committee:
        tried, held_out, folds = (self.value(given[name]) for name in ("tried", "held_out", "folds"))
        if not are_members(tried) or not is_finite_array(held_out, None, None) or not is_whole(given["tuned_on"]):
            raise ModelFileError("its committee is inconsistent.")
        if not is_whole_array(folds, len(held_out), len(held_out)):
            raise ModelFileError("the folds of its committee are inconsistent.")
        members = [m for m in tried if m.weight > 0]
        by_fold = self.value(given["by_fold"]) if "by_fold" in given else []
        if not _are_tuned(by_fold, int(folds.max(initial=-1)) + 1, len(members)):
            raise ModelFileError("the members of its folds are inconsistent.")
        clusters = self.value(given["clusters"]) if "clusters" in given else None
        if clusters is not None and not is_whole_array(clusters, len(held_out), 2**62):
            raise ModelFileError("the clusters of its rows are inconsistent.")
        base = self.value(given["base"]) if "base" in given else None
        if base is not None and not is_finite_array(base, *held_out.shape):
            raise ModelFileError("its baseline is inconsistent.")
        weights = self.value(given["fold_weights"]) if "fold_weights" in given else None
        if weights is not None and not is_finite_array(weights, int(folds.max(initial=-1)) + 1, len(members)):
            raise ModelFileError("the weights of its folds are inconsistent.")
        return Committee(members, tried, held_out, folds, given["tuned_on"], by_fold, clusters, base, weights)

    def _folds(self, given: dict[str, Any]) -> Folds:
        n, label, numbers = given["rows"], given["label"], [self.value(each) for each in given["numbers"]]
        if not is_whole(n) or not is_text(label) or not all(is_whole_array(each, n, n) for each in numbers):
            raise ModelFileError("its folds are inconsistent.")
        if not numbers:  # splits that are no partition are kept by their label alone
            none = np.empty(0, dtype=np.int64)
            return Folds(n, ((Split(none, none),),), label)
        return Folds(n, tuple(tuple(_splits(each, n)) for each in numbers), label)


def _splits(numbers: Array, n: int) -> list[KeptSplit]:
    counts = np.bincount(numbers)
    if len(counts) < 2 or not counts.all():
        raise ModelFileError("its folds are inconsistent.")
    order = np.argsort(numbers, kind="stable")
    return [KeptSplit(test, n) for test in np.split(order, np.cumsum(counts)[:-1])]
