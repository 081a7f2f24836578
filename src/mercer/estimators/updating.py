"""A fitted model without some of its rows, or with more, from the factor that it has.

Without rows R the model is the one of all rows whose targets at R are what it predicts there: y_R less E_R, the errors
of leaving R out (docs/derivations, section 28). More rows border the system; a small one is solved for their
coefficients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.estimators.refitting import like_training
from mercer.kernels.tiles import between
from mercer.solvers.fitted import FittedRidge
from mercer.solvers.solution import DualSolved


def checked_numbers(rows: Any, n: int) -> Array:
    """Row numbers, at least one and not all; negative ones count from the end."""
    found = np.atleast_1d(np.asarray(rows))
    if found.dtype == bool and found.shape == (n,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
        raise InputError(sentence("rows of without", "row numbers, or True and False for every row", repr(rows)))
    found = np.where(found < 0, found + n, found)
    if found.min() < 0 or found.max() >= n:
        raise InputError(sentence("rows of without", f"between 0 and {n - 1}", repr(rows)))
    found = np.unique(found)
    if len(found) == n:
        raise InputError(f"without cannot leave out all {n} rows.")
    return found


def removed(model: Any, rows: Any) -> Any:
    """The model of the other rows."""
    fitted: FittedRidge = model.fitted_
    n = len(fitted.targets)
    numbers = checked_numbers(rows, n)
    kept = np.setdiff1d(np.arange(n), numbers)
    places = np.flatnonzero(np.isin(fitted.numbers, numbers))
    if len(places) == len(fitted.numbers):
        raise InputError("without cannot leave out all rows of positive weight.")
    if fitted.route.singular or (fitted.alphas <= 0).any():
        return _refitted(model, fitted.X, fitted.targets, fitted.weights, kept)
    dual, constant = fitted.dual.copy(), fitted.constant.copy()
    primal = None if fitted.primal is None else fitted.primal.copy()
    if len(places):
        used = fitted.numbers
        for mine, solved in fitted.systems:
            unit = np.zeros((len(used), len(places)))
            unit[places, np.arange(len(places))] = 1.0
            Y = fitted.targets[np.ix_(used, mine)].copy()
            shares = solved.solve(unit).dual[places]
            try:
                Y[places] -= np.linalg.solve(shares, fitted.dual[np.ix_(used[places], mine)])
            except np.linalg.LinAlgError:
                raise InputError("The model without these rows is not determined. Use a larger alpha.") from None
            solution = solved.solve(Y)
            dual[np.ix_(used, mine)], constant[mine] = solution.dual, solution.intercept
            if primal is not None:
                primal[:, mine] = solution.primal
    weights = None if fitted.weights is None else fitted.weights[kept]
    X = fitted.X[kept][:, kept] if fitted.kernel.kind == "gram" else fitted.X[kept]
    return _made(model, replace(
        fitted, X=X, weights=weights, targets=fitted.targets[kept], dual=dual[kept], constant=constant, primal=primal
    ))  # fmt: skip


def appended(model: Any, new: Rows, Y: Array) -> Any:
    """The model of the rows it has and these, of weight 1 each."""
    fitted: FittedRidge = model.fitted_
    X = _joined(fitted.X, new.values)
    targets = np.vstack([fitted.targets, Y])
    weights = None if fitted.weights is None else np.append(fitted.weights, np.ones(len(Y)))
    start = replace(fitted, X=X, targets=targets, weights=weights)
    singular = fitted.route.singular or (fitted.alphas <= 0).any()
    solvable = (
        not singular and fitted.weights is None and all(isinstance(solved, DualSolved) for _, solved in fitted.systems)
    )
    if not solvable:
        return _refitted(model, X, targets, weights, np.arange(len(targets)))
    side, corner = between(fitted.kernel, new, fitted.against), between(fitted.kernel, new, new)
    dual, constant = np.zeros(targets.shape), np.zeros(targets.shape[1])
    for mine, solved in fitted.systems:
        old, more = solved.solve(fitted.targets[:, mine]), solved.solve(side.T)
        S = corner + solved.alpha * np.eye(len(Y)) - side @ more.dual - more.intercept
        u, gamma = np.zeros(len(fitted.targets)), 0.0
        if fitted.intercept:  # the coefficients of old rows add up to minus those of the new
            assert isinstance(solved, DualSolved)  # noqa: S101 - looked at above
            u = solved.inverse.solve(np.ones((len(u), 1)))[:, 0]
            u, gamma = u / u.sum(), -1.0 / u.sum()
            S = S - (side @ u + gamma)[:, None]
        right = Y[:, mine] - side @ old.dual - old.intercept
        a = np.linalg.solve(S, right)
        total = a.sum(axis=0) if fitted.intercept else np.zeros(len(mine))
        dual[: len(u), mine] = old.dual - more.dual @ a - np.outer(u, total)
        dual[len(u) :, mine] = a
        constant[mine] = old.intercept - more.intercept @ a - gamma * total
    return _made(model, replace(start, dual=dual, constant=constant, primal=None))


def _refitted(model: Any, X: Any, Y: Array, weights: Array | None, kept: Array) -> Any:
    """Fitted again to some rows."""
    gram = model.kernel_.kind == "gram"
    rows = X[kept][:, kept] if gram else X[kept]
    one = getattr(model, "_one_target", False)
    targets, own = Y[kept, 0] if one else Y[kept], None if weights is None else weights[kept]
    return clone(model).fit(like_training(model, rows), targets, own)


def _joined(X: Any, more: Any) -> Any:
    if hasattr(X, "tocsr"):
        raise InputError("with_rows does not support sparse rows. Use X.toarray().")
    return np.concatenate([np.asarray(X), np.asarray(more)])


def _made(model: Any, fitted: FittedRidge) -> Any:
    """A model of the same class and parameters that has this fit."""
    found = clone(model)
    for name in ("n_features_in_", "feature_names_in_", "_one_target", "_per_target", "_as_fitted", "classes_"):
        if hasattr(model, name):
            setattr(found, name, getattr(model, name))
    if fitted.kernel.kind == "gram":
        found.n_features_in_ = len(fitted.targets)
    found.fitted_ = fitted
    found.publish()
    return found
