"""Columns that say the same, and possible target leakage: columns, or a formula, that nearly determine the target."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from mercer.data.rows import Array
from mercer.errors import printable
from mercer.selection.outcome import Outcome
from mercer.tables.cells import Cells, texts_of
from mercer.tables.encoder import TableEncoder
from mercer.text import legible, listed

if TYPE_CHECKING:
    from mercer.cli.preparing import Prepared


_COLUMNS = 200  # of numbers that are looked at
_ROWS = 5000
_ZERO = 1e-9  # of a column's spread: what rounding leaves
_PART = 1e-6  # the same, of what a column contributes
LEAKAGE = "Possible target leakage: "
_NAMED = 4  # columns in a command
_ALL = 0.9999  # of the variance: what is left may be rounding
_ROWS_EACH = 4  # rows for each column of a formula, so that it is no chance


def alike(encoder: TableEncoder, features: Mapping[str, Cells]) -> list[str]:
    """A sentence for columns that are copies, and for those that are computed from others.

    Examples
    --------
    >>> from mercer import TableEncoder
    >>> from mercer.cli.leaks import alike
    >>> from mercer.tables.cells import read_cells
    >>> rows = range(10)
    >>> raw = {"a": [i * i for i in rows], "b": [i % 3 for i in rows], "c": [i * i - i % 3 for i in rows]}
    >>> table = {name: read_cells(name, cells) for name, cells in raw.items()}
    >>> alike(TableEncoder().fit(table), table)
    ["Column 'c' is computed from other columns: a - b."]
    """
    used = [column for column in encoder.columns_ if column.outputs]
    seen: dict[bytes, str] = {}
    copies: dict[str, str] = {}
    for column in used:
        codes, levels = texts_of(features[column.name])
        key = np.unique(codes, return_inverse=True)[1].astype(np.int32).tobytes() + repr(levels).encode()
        if seen.setdefault(key, column.name) != column.name:
            copies[column.name] = seen[key]
    said = [f"Column {name!r} is a copy of {other!r}." for name, other in copies.items()]
    numbers = [each.name for each in used if each.kind == "number" and each.name not in copies][:_COLUMNS]
    for name, formula in _combinations({each: features[each].values for each in numbers}).items():
        said.append(f"Column {name!r} is computed from other columns: {formula}.")
    return said


def _combinations(columns: Mapping[str, Array]) -> dict[str, str]:
    """Columns that are a constant plus multiples of columns before them, with the formula."""
    names = list(columns)
    if len(names) < 2:
        return {}
    Z = np.column_stack([columns[name] for name in names])[:_ROWS]
    Z = Z[np.isfinite(Z).all(axis=1)]
    if len(Z) < len(names) + 3:
        return {}
    mean = Z.mean(axis=0)
    Z = Z - mean
    spread = np.sqrt(np.mean(Z**2, axis=0))
    if not (spread > 0).all():
        return {}
    Z /= spread
    found: dict[str, str] = {}
    free: list[int] = []
    R = np.abs(np.diag(qr(Z, mode="r")[0]))
    for place in range(len(names)):
        if R[place] > _ZERO * np.sqrt(len(Z)) or not free:
            free.append(place)
            continue
        parts, *_ = np.linalg.lstsq(Z[:, free], Z[:, place], rcond=None)
        by = {i: part * spread[place] / spread[i] for i, part in zip(free, parts, strict=True) if abs(part) > _PART}
        rest = float(mean[place] - sum(factor * mean[i] for i, factor in by.items()))
        constant = {"": rest} if abs(rest) > _PART * spread[place] else {}
        found[names[place]] = formula({names[i]: float(factor) for i, factor in by.items()} | constant)
    return found


def formula(factors: Mapping[str, float]) -> str:
    """A sum of multiples of columns; that of no column is a constant.

    >>> formula({"food": 1.0, "rent": -0.5, "": 3.0})
    'food - 0.5 rent + 3'
    """
    said = ""
    for name, factor in factors.items():
        size = f"{abs(factor):.6g}"
        term = size if not name else name if size == "1" else f"{size} {name}"
        said += (" - " if factor < 0 else " + ") + term if said else "-" * (factor < 0) + term
    return said


def find_leaks(table: Prepared, target: str, outcome: Outcome) -> list[str]:
    """A warning that names the columns, if there are any.

    The only column of a table is what the model is about, and no leak. Of a table that is read in passes, and of one
    with more columns than can be afforded, nothing is said. The first that holds is told: single columns that nearly
    determine the target alone; a sum or a product of columns; a model that explains all.
    """
    from mercer.estimators.auto_evaluation import MOST_COLUMNS, NEARLY_ALL

    used = [place for place, column in enumerate(table.encoder.columns_) if column.outputs]
    if table.stream is not None or not 1 < len(used) <= MOST_COLUMNS:
        return []
    what = legible(target)
    shares = _shares(table, used)
    names = [table.encoder.columns_[place].name for place, share in shares.items() if share > NEARLY_ALL]
    if names:
        subject = f"column {listed(names)} alone" if len(names) == 1 else f"each of {listed(names)} alone"
        return [_warning(f"{subject} nearly determines {what}", names, what)]
    if table.target.task == "classification":
        return []
    names, how = _find_formula(table)
    if names:
        return [_warning(f"{what} is computed from {listed(names)} ({what} = {how})", names, what)]
    if outcome.measure.smaller_is_better and outcome.error**2 < (1 - _ALL) * outcome.baseline**2:
        fine = f"That is fine if {what} is a function of the columns without noise, and none was computed from it."
        return [f"{LEAKAGE}the model explains more than 99.99 % of the variance of {what}. {fine}"]
    return []


def _warning(found: str, names: Sequence[str], target: str) -> str:
    drop = " ".join(f"--drop {shlex.quote(printable(name))}" for name in names[:_NAMED])
    return f"{LEAKAGE}{found}. Drop columns that were computed from {target}, or are known only after it: {drop}."


def _shares(table: Prepared, used: Sequence[int]) -> dict[int, float]:
    """How much of the target each column explains."""
    from mercer.estimators.auto_evaluation import share_alone, some_rows

    rows, owner = some_rows(len(table.target.values)), np.asarray(table.encoder.groups_)
    Z = table.encoder.transform({name: column[rows] for name, column in table.features.items()})
    y, classifier = table.target.values[rows], table.target.task == "classification"
    return {place: share_alone(Z[:, owner == place], y, classifier=classifier) for place in used}


def _find_formula(table: Prepared) -> tuple[list[str], str]:
    """The fewest columns of numbers whose weighted sum, or product of powers, is the target; and the formula."""
    columns = {
        each.name: table.features[each.name].values
        for each in table.encoder.columns_
        if each.kind == "number" and each.outputs and not each.missing
    }
    y, names = table.target.values.astype(np.float64), list(columns)
    if not names or len(y) < _ROWS_EACH * (len(names) + 1):
        return [], ""
    X = np.column_stack([columns[name] for name in names])
    found = _fewest(X, y)
    if found:
        factors = _factors(X[:, found], y)
        terms = dict(zip([*(names[i] for i in found), ""], factors.tolist(), strict=True))
        spread = float(y.std())
        return [names[i] for i in found], formula({n: f for n, f in terms.items() if n or abs(f) > 1e-3 * spread})
    positive = [i for i in range(len(names)) if (X[:, i] > 0).all()]
    if not positive or not (y > 0).all():
        return [], ""
    found = _fewest(np.log(X[:, positive]), np.log(y))
    powers = _factors(np.log(X[:, [positive[i] for i in found]]), np.log(y))[:-1] if found else np.empty(0)
    if not found or not np.allclose(powers, np.round(2 * powers) / 2, atol=0.02):
        return [], ""
    chosen = [names[positive[i]] for i in found]
    whole = [f"^{round(2 * power) / 2:g}" for power in powers]
    factors_of = [name + ("" if power == "^1" else power) for name, power in zip(chosen, whole, strict=True)]
    return chosen, " * ".join(factors_of)


def _factors(X: Array, y: Array) -> Array:
    """Factors of the columns, and the constant."""
    return np.asarray(np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0])


def _fewest(X: Array, y: Array) -> list[int]:
    """Columns of which y is a linear function, without those that are not needed; none where it is not."""
    left = list(range(X.shape[1]))
    if not _explains(X, y):
        return []
    for place in range(X.shape[1]):
        rest = [each for each in left if each != place]
        if rest and _explains(X[:, rest], y):
            left = rest
    return left


def _explains(X: Array, y: Array) -> bool:
    *factors, constant = _factors(X, y)
    residual = y - X @ factors - constant
    return bool(np.sum(residual**2) < (1 - _ALL) * np.sum((y - y.mean()) ** 2))
