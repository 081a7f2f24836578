"""Full conformal sets of models and searches: what is covered by the guarantee, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from mercer.data.folds import checked_names
from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.insight.conformal import WAY_OUT, conformal_sets
from mercer.insight.intervals import checked_confidence
from mercer.runtime.progress import Progress
from mercer.selection.ladders import resolve_alphas, resolve_kernels
from mercer.solvers.fitted import FittedRidge


def sets_of_model(
    fitted: FittedRidge, new: Rows, confidence: Any, diagonal: Array | None, categories: Any
) -> list[list[Array]]:
    """For each target, and each new row, the union of intervals; alpha and kernel stay as they are."""
    confidence = checked_confidence(confidence)
    _refuse_uncovered(fitted)
    alike = _alike(categories, len(fitted.targets), len(new))
    how: dict[str, Any] = {"intercept": fitted.intercept, "solver": "auto" if fitted.primal is None else "primal"}
    found = []
    for y, alpha in zip(fitted.targets.T, fitted.alphas, strict=True):
        given = ([fitted.kernel], [float(alpha)], fitted.rows(), y, new, confidence)
        found.append(conformal_sets(*given, **how, diagonal=diagonal, alike=alike))
    return found


def sets_of_search(
    search: Any, new: Rows, confidence: Any, diagonal: Array | None, categories: Any
) -> list[list[Array]]:
    """Conformal sets with kernel and alpha chosen again for every value of the new target.

    Default ladders are made again from the training rows and the new one, for each new row.
    """
    confidence, fitted = checked_confidence(confidence), search.best_estimator_.fitted_
    _refuse_uncovered(fitted)
    _refuse_search(search, fitted)
    alike = _alike(categories, len(fitted.targets), len(new))
    how = {"intercept": fitted.intercept}
    found: list[list[Array]] = [[] for _ in fitted.targets.T]
    if not any(search.own_ladders()):
        given = (search.kernels_, search.alphas_, fitted.rows())
        for target, y in enumerate(fitted.targets.T):
            found[target] = conformal_sets(*given, y, new, confidence, **how, diagonal=diagonal, alike=alike)
        return found
    progress = Progress("conformal sets", len(new), search.verbose)
    for place in range(len(new)):
        one = new[place : place + 1]
        both = Rows(_stacked(fitted.X, one.values), fitted.names)
        kernels = resolve_kernels(search.kernels, both)
        alphas = resolve_alphas(search.alphas, kernels, both)
        mine = None if alike is None else alike[place : place + 1]
        for target, y in enumerate(fitted.targets.T):
            found[target] += conformal_sets(kernels, alphas, fitted.rows(), y, one, confidence, **how, alike=mine)
        progress.step()
    return found


def hulls(sets: Any) -> tuple[Array, Array]:
    """The ends of the sets of one target (m), or of several (m x t)."""
    if sets and isinstance(sets[0], list):
        lower, upper = (np.stack(ends, axis=-1) for ends in zip(*map(_hull, sets), strict=True))
        return lower, upper
    return _hull(sets)


def _hull(sets: list[Array]) -> tuple[Array, Array]:
    """The smallest and the largest number of each set; of an empty one NaN."""
    ends = [(one[0, 0], one[-1, 1]) if len(one) else (np.nan, np.nan) for one in sets]
    lower, upper = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return lower, upper


def _refuse_uncovered(fitted: FittedRidge) -> None:
    if fitted.weights is not None:
        raise InputError(f"Full conformal sets do not support sample_weight: rows would not be alike. {WAY_OUT}")
    if (fitted.alphas <= 0).any():
        raise InputError(sentence("alpha for full conformal sets", "above 0", fitted.alphas.min(), WAY_OUT))
    if fitted.kernel.verdict()[0] is False:
        raise InputError(f"Full conformal sets need a Mercer kernel; {fitted.kernel!r} is none. {WAY_OUT}")


def _refuse_search(search: Any, fitted: FittedRidge) -> None:
    """The guarantee needs a choice that treats all n + 1 rows alike."""
    covered = {
        "cv": search.folds_.leaves_one_out,
        "rule": search.rule == "best",
        "scoring": search.scoring in (None, "neg_mean_squared_error"),
        "extend_grid": not search.extend_grid,
        "tune": not search.tune,
        "repeats": search.repeats == 1,
    }
    for name, fine in covered.items():
        if not fine:
            raise InputError(
                "Full conformal sets need leave-one-out without groups, squared errors and fixed candidates: "
                f"{name} of {type(search).__name__} must have its default. {WAY_OUT}"
            )
    if (np.asarray(search.alphas_) <= 0).any() or any(kernel.verdict()[0] is False for kernel in search.kernels_):
        raise InputError(f"Full conformal sets need candidates with Mercer kernels and alphas above 0. {WAY_OUT}")
    if fitted.targets.shape[1] > 1 and not search.alpha_per_target:
        raise InputError(
            "Full conformal sets of several targets need a choice for each. Use one search for each target, or "
            "method='jackknife+'."
        )
    if fitted.targets.shape[1] > 1 and len(search.kernels_) > 1:
        raise InputError("Full conformal sets of several targets need one kernel. Use one search for each target.")
    if fitted.kernel.kind == "gram" and any(search.own_ladders()):
        raise InputError("Full conformal sets of precomputed kernels need alphas that are given. Pass alphas.")


def _alike(categories: Any, n: int, m: int) -> Array | None:
    """Which training rows have the category of each new one."""
    if categories is None:
        return None
    if not isinstance(categories, tuple) or len(categories) != 2:
        must_be = "a pair: categories of the training rows, and of the new rows"
        raise InputError(sentence("categories", must_be, type(categories).__name__))
    old = checked_names("categories of the training rows", categories[0], n)
    new = checked_names("categories of the new rows", categories[1], m)
    if (old.dtype.kind in "USO") != (new.dtype.kind in "USO"):
        must_be = "of one kind, strings or numbers, for training rows and new rows"
        raise InputError(sentence("categories", must_be, f"{old.dtype} and {new.dtype}"))
    return np.asarray(new[:, None] == old[None, :])


def _stacked(X: Any, more: Any) -> Any:
    return vstack([X, more]).tocsr() if issparse(X) else np.concatenate([X, more])
