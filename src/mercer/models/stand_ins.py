"""What stands in files for values that are more than their fields: tables, plans, folds, fits in cells.

Each restores what it stands for, with every size and index checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.folds import Folds, LeftOut, Split
from mercer.data.rows import Array, Rows
from mercer.insight.intervals import fold_numbers
from mercer.kernels import Kernel
from mercer.local.cells import CellProblem, CellSolution, LocalFit
from mercer.local.partition import TIES, Partition
from mercer.models.values import need
from mercer.solvers.problem import Problem

_OF_PARTITION = ("thresholds", "order", "starts", "centres", "low", "high")


@dataclass(frozen=True)
class StoredTable:
    """The table of a search as its text."""

    words: str

    def text(self, choice: object = None, folds: object = None) -> str:
        """The table as the search itself prints it."""
        return self.words


@dataclass(frozen=True)
class StoredRoute:
    """The name of the route of a search."""

    name: str


@dataclass(frozen=True)
class StoredPlan:
    """The plan of a search: the route that was chosen."""

    chosen: StoredRoute


@dataclass(frozen=True, eq=False)
class StoredFolds:
    """Folds as the number of the fold of each row, one array per repeat; none for splits that are no partition."""

    n: int
    label: str
    numbers: list[Array]

    @classmethod
    def of(cls, folds: Folds) -> StoredFolds:
        """From folds."""
        repeats = folds.repeats if folds.partition else ()
        alone = [Folds(folds.n, (repeat,), folds.label) for repeat in repeats]
        return cls(folds.n, folds.label, [fold_numbers(each).astype(np.int64) for each in alone])

    def restore(self) -> Folds:
        """The folds; those that are no partition by their label alone."""
        repeats = []
        for numbers in self.numbers:
            counts = np.bincount(numbers)
            need(numbers.shape == (self.n,) and len(counts) > 1 and counts.all(), "its folds are inconsistent")
            order = np.argsort(numbers, kind="stable")
            repeats.append(tuple(LeftOut(test, self.n) for test in np.split(order, np.cumsum(counts)[:-1])))
        nothing = np.empty(0, dtype=np.int64)
        return Folds(self.n, tuple(repeats) or ((Split(nothing, nothing),),), self.label)


@dataclass(frozen=True, eq=False)
class StoredCells:
    """A fit in cells as its arrays, those of all cells joined; of held-out predictions the residuals alone."""

    record: dict[str, Any]

    @classmethod
    def of(cls, fitted: LocalFit) -> StoredCells:
        """From a fit."""
        cells, partition = fitted.cells, fitted.cells.partition
        counts = [len(solution.members) for solution in fitted.solutions]
        record = {
            "kernel": fitted.kernel,
            "alpha": fitted.alpha,
            "X": np.ascontiguousarray(cells.rows.values),
            "names": None if cells.rows.names is None else list(cells.rows.names),
            "Y": cells.problem.Y,
            "weights": cells.problem.weights,
            "intercept": cells.problem.intercept,
            "centre": np.broadcast_to(cells.problem.centre, cells.problem.Y.shape[1]).astype(np.float64),
            "scale": cells.scale,
            "limits": cells.limits,
            "system_rows": cells.system_rows,
            "mix": cells.mix,
            "columns": partition.columns.ravel(),
            **{name: getattr(partition, name) for name in _OF_PARTITION},
            "counts": np.array(counts, dtype=np.int64),
            "members": np.concatenate([solution.members for solution in fitted.solutions]).astype(np.int64),
            "dual": np.concatenate([solution.dual for solution in fitted.solutions]),
            "constant": np.stack([solution.constant for solution in fitted.solutions]),
            "conditions": np.array([solution.condition for solution in fitted.solutions]),
            "residuals": fitted.residuals,
        }
        return cls(record)

    def restore(self) -> LocalFit:
        """The fit; raises an error if its parts do not belong together."""
        record = self.record
        try:
            sound = type(record) is dict and _is_sound(record)
        except (KeyError, TypeError, AttributeError, ValueError):  # where arrays are missing
            sound = False
        need(sound, "its cells are inconsistent")
        n, counts = len(record["order"]), record["counts"]
        rows = Rows(record["X"], record["names"])
        problem = Problem(record["Y"], record["weights"], record["intercept"], centre=record["centre"])
        columns = record["columns"].reshape(-1, TIES)
        partition = Partition(record["X"][:n] * record["scale"], columns, *(record[name] for name in _OF_PARTITION))
        cells = CellProblem(
            rows, problem, partition, record["scale"], record["system_rows"], record["mix"], limits=record["limits"]
        )
        ends = np.cumsum(counts)[:-1]
        parts = zip(
            np.split(record["members"], ends), np.split(record["dual"], ends), record["constant"], record["conditions"],
            strict=True,
        )  # fmt: skip
        nothing = record["Y"][:0]
        solutions = [CellSolution(members, dual, constant, nothing, float(by)) for members, dual, constant, by in parts]
        fitted = LocalFit(record["kernel"], record["alpha"], cells, solutions)
        fitted.__dict__["residuals"] = record["residuals"]  # which the file has in place of what they follow from
        return fitted


def _is_sound(record: dict[str, Any]) -> bool:
    """Whether all arrays have the sizes and all indices the ranges that belong to one another."""
    (total, d), t, cells = record["X"].shape, record["Y"].shape[1], len(record["counts"])
    n, held = len(record["order"]), int(record["counts"].sum())
    floats = {
        "X": (total, d), "Y": (total, t), "centre": (t,), "scale": (d,), "thresholds": (cells - 1, TIES),
        "centres": (cells, d), "low": (cells, d), "high": (cells, d), "dual": (held, t), "constant": (cells, t),
    }  # fmt: skip
    for name in ("weights", "limits"):
        if record[name] is not None:
            floats[name] = (total,) if name == "weights" else (2, t)
    whole = {
        "order": (n, total), "starts": (cells + 1, n + 1), "columns": (TIES * (cells - 1), d),
        "counts": (cells, total + 1), "members": (held, n),
    }  # fmt: skip
    names, starts, weights = record["names"], record["starts"], record["weights"]
    return (
        all(_are_floats(record[name], shape) for name, shape in floats.items())
        and all(_are_whole(record[name], *bounds) for name, bounds in whole.items())
        and _are_floats(record["residuals"], (total, t), finite=False)
        and _are_floats(record["conditions"], (cells,), finite=False)
        and isinstance(record["kernel"], Kernel)
        and record["kernel"].kind not in ("gram", "objects")
        and type(record["alpha"]) is float
        and type(record["intercept"]) is bool
        and (names is None or (len(names) == d and all(type(name) is str for name in names)))
        and all(type(record[name]) is int and record[name] > 0 for name in ("system_rows", "mix"))
        and cells & (cells - 1) == 0  # all leaves of the splits are on one level
        and 0 < n <= total
        and (weights is None or bool((weights[:n] > 0).all() and (weights[n:] == 0).all()))  # trained on, and others
        and bool(np.array_equal(np.sort(record["order"]), np.arange(n)))
        and starts[0] == 0
        and starts[-1] == n
        and bool((np.diff(starts) >= 0).all() and (record["scale"] > 0).all())
    )


def _are_floats(array: Any, shape: tuple[int, ...], *, finite: bool = True) -> bool:
    sound = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
    return sound and (not finite or bool(np.isfinite(array).all()))


def _are_whole(array: Any, count: int, below: int) -> bool:
    sound = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.shape == (count,)
    return sound and bool(array.min(initial=0) >= 0 and array.max(initial=0) < max(below, 1))
