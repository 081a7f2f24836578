"""What the command line decides by itself: one pure function for each decision, with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.tables.cells import Cells

Task: TypeAlias = Literal["regression", "classification"]

_FEWEST = 3  # rows of a label, so that folds can have some
_FEW = 10  # whole numbers with no more distinct values may be labels
_FEW_ROWS = 2000  # up to which the automatic models are tried in any time
MANY = 1_000_000  # rows beyond which models of landmarks are fitted; as many as a Parquet table that is held may have


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be predicted.

    Attributes
    ----------
    values : ndarray
        Numbers or labels, one per row.
    task : str
        `regression` or `classification`.
    why : str
        The reason, for people.
    """

    values: Array
    task: Task
    why: str


def choose_task(name: str, cells: Cells, written: Sequence[Any], asked: str | None) -> Target:
    """Regression or classification; the first line that fits decides.

    ================================================  =====================
    dates                                             refused
    one distinct value                                refused
    set by --task                                     that task
    text, booleans, or --as TARGET=category           classification
    numbers, two distinct values                      classification
    whole numbers that count the rows: n, n+1, ...    refused
    other numbers                                     regression
    ================================================  =====================

    Labels are the cells as they are `written`. Those of which more than half are distinct are refused, since they name
    rows, and so are labels of one or two rows.
    """
    if cells.family == "date":
        hint = "Replace the dates by a number, such as days since a fixed date."
        raise InputError(sentence(f"Target {name!r}", "numbers or labels", "dates", hint))
    column, numbers = cells.values, cells.family == "number"
    labels = column if numbers and not cells.declared else np.array([as_label(cell) for cell in written])
    distinct = np.unique(labels)
    if len(distinct) < 2:
        raise InputError(f"Target {name!r} is constant: {as_label(distinct[0])} in every row. Choose another target.")
    if asked == "regression" and not numbers:
        raise InputError(sentence(f"Target {name!r}", "numbers for regression", f"text such as {str(labels[0])!r}"))
    if asked == "regression":
        return Target(column, "regression", "set by --task")
    why = "set by --task" if asked else ""
    if cells.declared or not numbers:
        return _label_target(name, labels, why or f"its values are labels, {len(distinct)} distinct")
    if asked == "classification" or len(distinct) == 2:
        return _label_target(name, _whole(labels), why or "its values are numbers, but only two distinct ones")
    whole = bool((distinct == np.floor(distinct)).all())
    if whole and len(distinct) == len(column) and (np.diff(column) == 1).all():
        first = ", ".join(map(as_label, column[:3]))
        raise InputError(
            f"Target {name!r} looks like a row number ({first}, ...). Choose another target, or use --task regression."
        )
    why = f"its values are numbers, {len(distinct)} distinct"
    if whole and len(distinct) <= _FEW:
        why += "; if they are labels, use --task classification"
    return Target(column, "regression", why)


def _label_target(name: str, labels: Array, why: str) -> Target:
    count = int(np.unique(labels).size)
    if count > 2 and 2 * count > labels.size:
        raise InputError(
            f"Target {name!r} has too many classes: {count} distinct labels in {len(labels)} rows. If the target is "
            "numeric, use --task regression."
        )
    rarest, least = rarest_label(labels)
    if least < _FEWEST:
        got = f"{least} for {rarest!r}"
        must_be = f"labels with at least {_FEWEST} rows each"
        raise InputError(sentence(f"Target {name!r}", must_be, got, "To drop such rows, use --rare-labels drop."))
    return Target(labels, "classification", why)


def common_labels(cells: Cells, written: Sequence[Any], asked: str | None) -> Array:
    """Which rows have a label that enough rows have; all where the target is numeric."""
    if asked == "regression" or (cells.family == "number" and not cells.declared and asked is None):
        return np.ones(len(written), dtype=bool)
    _, numbers, counts = np.unique([as_label(cell) for cell in written], return_inverse=True, return_counts=True)
    return np.asarray(counts[numbers] >= _FEWEST)


def rarest_label(labels: Array) -> tuple[str, int]:
    """The label with the fewest rows, and the number of these rows.

    >>> rarest_label(np.array(["a", "b", "a"]))
    ('b', 1)
    """
    found, counts = np.unique(labels, return_counts=True)
    place = int(counts.argmin())
    return str(found[place]), int(counts[place])


def _whole(labels: Array) -> Array:
    return labels.astype(np.int64) if (labels == np.floor(labels)).all() else np.array([as_label(x) for x in labels])


def as_label(cell: Any) -> str:
    """A cell as a label: 3.0 and 3 are the same one."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) < 1e15:
        return str(int(cell))
    return str(cell).strip()


# Options that the automatic models do not have, in words; --checkpoint only those of many rows.
_NEEDS = {
    "kernel": "--kernel",
    "alphas": "--alphas",
    "rule": "--rule",
    "scoring": "--scoring",
    "repeats": "--repeats",
    "checkpoint": "--checkpoint",
    "without_data": "--without-data",
}


def choose_model(task: Task, given: dict[str, Any], rows: int = 0, *, streamed: bool = False) -> tuple[str, str]:
    """The class of the model, and why; the first line that fits decides.

    =====================================================  ===============================================
    --dask, more than a million rows, or a table that is  NystroemRidgeCV or NystroemRidgeClassifierCV
    read in passes (`streamed`)
    a --time-budget that the automatic models cannot       NystroemRidgeCV or NystroemRidgeClassifierCV
    keep for so many rows, and none of the options below
    any of --kernel, --alphas, --rule, --scoring,          KernelRidgeCV or KernelRidgeClassifierCV
    --repeats, --without-data, or --checkpoint with at
    most 5000 rows
    none of them                                           AutoRegressor or AutoClassifier
    =====================================================  ===============================================

    Automatic models of at most 5000 rows are fitted in seconds and have no checkpoint.
    `--without-data` wants weights of features and not landmarks, which are rows, so it never takes the first line.

    Examples
    --------
    >>> choose_model("regression", {"rule": "one_se"})
    ('KernelRidgeCV', 'because of --rule')
    """
    from mercer.estimators.auto_core import fixed_seconds
    from mercer.estimators.auto_evaluation import FULL_SYSTEMS

    asked = [option for name, option in _NEEDS.items() if given.get(name)]
    if rows > FULL_SYSTEMS and asked == ["--checkpoint"]:
        asked = []
    if (given.get("dask") or rows > MANY or streamed) and not given.get("without_data"):
        name = "NystroemRidgeCV" if task == "regression" else "NystroemRidgeClassifierCV"
        return name, "because of --dask" if given.get("dask") else f"landmarks in place of all pairs of {rows} rows"
    if asked:
        name = "KernelRidgeCV" if task == "regression" else "KernelRidgeClassifierCV"
        return name, f"because of {' and '.join(asked)}"
    budget = given.get("time_budget")
    if budget is not None and rows > _FEW_ROWS and fixed_seconds(rows) > budget:
        name = "NystroemRidgeCV" if task == "regression" else "NystroemRidgeClassifierCV"
        return name, f"landmarks, to keep --time-budget with {rows} rows"
    return ("AutoRegressor" if task == "regression" else "AutoClassifier"), "the default"
