"""What the regressors share to make prediction intervals of what they were fitted with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_y, check_consistent_length

from mercer.data.folds import Folds, draw
from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.estimators.base import RidgeCore
from mercer.insight.intervals import (
    Coverage,
    checked_confidence,
    checked_method,
    covered,
    gaussian_bounds,
    held_out_bounds,
)
from mercer.insight.left_out import LeftOut, fold_numbers
from mercer.kernels.tiles import between
from mercer.solvers import DualSystem, PrimalSystem, Solution
from mercer.solvers.streamed import StreamedSystem

# Rows up to which a factor is kept with its model: 8 MB.
_KEPT = 1000


class IntervalCore(RidgeCore):
    """A ridge on a table of targets that can say how sure it is of new rows."""

    _unsaved = (*RidgeCore._unsaved, "_left_out_kept")
    _left_out_kept: tuple[Any, list[tuple[Array, LeftOut]]]

    def _solutions(
        self, system: DualSystem | PrimalSystem | StreamedSystem, targets: list[Array], alphas: Array
    ) -> list[Solution]:
        """The factor of a small system is kept: intervals and deviations would make it again."""
        small = self._system_of.name == "cholesky" and system.n <= _KEPT
        if not isinstance(system, DualSystem) or not small or len(alphas) > 1:
            return super()._solutions(system, targets, alphas)
        solved = system.at(float(alphas[0]), "cholesky")
        self._posterior_kept = [(np.arange(targets[0].shape[1]), solved)]
        return [solved.solve(targets[0])]

    def _forget(self) -> None:
        """Let go of factors that can be made again; the model stays as it is."""
        for name in self._unsaved:
            self.__dict__.pop(name, None)

    def _bounds(self, rows: Rows, confidence: Any, method: Any, folds: Any, diag: Any) -> tuple[Array, Array]:
        """Lower and upper ends, m x t; `folds` is called where there must be some."""
        confidence, method = checked_confidence(confidence), checked_method(method)
        if method == "gaussian":
            scale = self._scale()
            variance = self._latent_variance(rows, diag, scale)
            return gaussian_bounds(self._values(rows), variance, self._alphas * scale, confidence)
        groups = self._left_out(fold_numbers(folds()) if method == "cv+" else None)
        reach = np.empty((len(groups[0][1].residuals), self._dual.shape[1]))
        for mine, left in groups:
            reach[:, mine] = np.abs(left.residuals)

        def values(part: slice) -> Iterator[tuple[int, Array]]:
            new = self._columns(rows[part])
            for mine, left in groups:
                shares = left.shares(new)
                yield from ((int(target), left.predictions(new, shares, j)) for j, target in enumerate(mine))

        return held_out_bounds(reach, values, len(rows), confidence)

    def _scale(self) -> Array:
        """Prior variance per target."""
        raise NotImplementedError

    def _drawn(self, cv: Any, random_state: Any) -> Folds:
        return draw(cv, self.X_fit_, self._targets, random_state=random_state)

    def _left_out(self, fold: Array | None) -> list[tuple[Array, LeftOut]]:
        """The models without one fold for each distinct alpha; those without single rows are kept."""
        posterior = self._posterior()
        kept = vars(self).get("_left_out_kept")
        if fold is None and kept is not None and kept[0] is posterior:
            return kept[1]  # type: ignore[no-any-return]
        Y, training = self._targets[self._used], _Training(self)
        own = None if fold is None else fold[self._used]
        found = [(mine, LeftOut(solved, Y[:, mine], own, training)) for mine, solved in posterior]
        if fold is None:
            self._left_out_kept = posterior, found
        return found

    def _columns(self, rows: Rows) -> Array:
        """k(X, x) over the training rows with weight, or phi(x), as columns."""
        if self._primal is None:
            return between(self.kernel_, rows, self._fit_rows()).T[self._used]
        phi = self._phi(rows)
        return np.asarray(phi.toarray() if hasattr(phi, "toarray") else phi).T


class _Training:
    """The training rows with weight of a fitted model, for refits."""

    def __init__(self, model: IntervalCore) -> None:
        self.model = model
        self.numbers = np.arange(model.X_fit_.shape[0])[model._used]

    def columns(self, rows: Array) -> Array:
        """k(X, x) or phi(x) of these rows."""
        model = self.model
        return model._columns(model._as_rows(model.X_fit_[self.numbers[rows]]))

    def fit(self, rows: Array, alpha: float, Y: Array) -> Solution:
        """Coefficients from these rows alone."""
        model, own = self.model, self.numbers[rows]
        X = model.X_fit_[own]
        if model.kernel_.kind == "gram":
            X = X[:, own]
        weights = None if model._weights is None else model._weights[own]
        system = model._system(model._as_rows(X), weights, model._system_of)
        if isinstance(system, PrimalSystem):
            return system.at(alpha).solve(Y)
        return system.solve(Y, alpha, "spectral")  # which tells what is rounding


def coverage_of(bounds: tuple[Array, Array], y: Any, confidence: float, method: str) -> Coverage:
    """How many of these targets lie inside."""
    lower, upper = bounds
    y = np.asarray(_check_y(y, multi_output=True, y_numeric=True), dtype=np.float64)
    check_consistent_length(lower, y)
    if y.shape != lower.shape and y.size != lower.size:
        targets = 1 if lower.ndim == 1 else lower.shape[1]
        raise InputError(sentence("y", f"a table of {targets} targets, as in fit", f"shape {y.shape}"))
    return covered(lower, upper, y.reshape(lower.shape), float(confidence), method)
