"""Possible target leakage: columns, or a formula of a few, that nearly determine the target, reported by every fit."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from mercer.cli.preparing import Prepared
from mercer.data.rows import Array
from mercer.errors import printable
from mercer.selection.outcome import Outcome
from mercer.tables.alike import formula
from mercer.text import legible, listed

LEAKAGE = "Possible target leakage: "
_NAMED = 4  # columns in a command
_ALL = 0.9999  # of the variance: what is left may be rounding
_ROWS_EACH = 4  # rows for each column of a formula, so that it is no chance


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
