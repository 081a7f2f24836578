"""Quantiles of new targets by location and scale: held-out residuals in units of a prediction of their size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mercer.data.rows import Array, Estimator, XLike
from mercer.errors import InputError, MercerWarning, sentence
from mercer.estimators.auto_evaluation import paired
from mercer.kernels import Kernel
from mercer.runtime.threads import blas_for

_FLOOR = 0.05  # sizes of residuals below this share of their median are raised to it: their logarithms say nothing
_ROWS = 1500  # rows that sizes are modelled on
_FITTED: WeakKeyDictionary[Any, ResidualScale] = WeakKeyDictionary()


def check_levels(what: str, q: Any) -> Array:
    """q as levels between 0 and 1, in ascending order; `what` names the parameter."""
    levels = np.ravel(np.asarray(q, dtype=np.float64))
    if not (len(levels) and (levels > 0).all() and (levels < 1).all() and (np.diff(levels) > 0).all()):
        must_be = "a number between 0 and 1, or several in ascending order"
        raise InputError(sentence(what, must_be, repr(q)))
    return levels


@dataclass(frozen=True, eq=False)
class ResidualScale:
    """A model of the size of residuals, and what it says of the rows that it was fitted to.

    Attributes
    ----------
    model : KernelRidgeCV
        Of the logarithm of the absolute residual.
    residuals : ndarray of shape (n,)
        Residuals of held-out rows.
    sizes : ndarray of shape (n,)
        Predicted sizes of these residuals, each without its own row.
    """

    model: Estimator
    residuals: Array
    sizes: Array

    @classmethod
    def fit(cls, kernel: Kernel, X: XLike, residuals: Array) -> ResidualScale:
        """From residuals y - f of rows that were left out."""
        from mercer.estimators.search import KernelRidgeCV

        some = np.unique(np.linspace(0, len(residuals) - 1, min(_ROWS, len(residuals))).astype(np.intp))
        if kernel.kind == "gram":
            some = np.arange(len(residuals))
        sizes = np.abs(residuals[some])
        least = _FLOOR * float(np.median(sizes)) or max(float(sizes.max(initial=0.0)), 1.0) * 1e-12
        with warnings.catch_warnings(), blas_for(len(some)):
            warnings.simplefilter("ignore", MercerWarning)
            model = KernelRidgeCV([kernel], fit_intercept=True, rule="one_se")
            model.fit(X[some], np.log(np.maximum(sizes, least)))
        logs = np.empty(len(residuals))
        logs[some] = model.cv_predictions_[0]
        if len(some) < len(residuals):
            rest = np.setdiff1d(np.arange(len(residuals)), some)
            logs[rest] = model.predict(X[rest])
        return cls(model, residuals, np.exp(logs))

    @classmethod
    def of(cls, key: Any, residuals_of: Callable[[], tuple[Kernel, Any, Array]]) -> ResidualScale:
        """That of a fitted value `key`, fitted when it is first asked for; from kernel, rows and residuals."""
        if key not in _FITTED:
            _FITTED[key] = cls.fit(*residuals_of())
        return _FITTED[key]

    def predict(self, X: XLike) -> Array:
        """Sizes of the residuals of new rows (m,)."""
        return np.asarray(np.exp(self.model.predict(X)))

    def quantiles(self, X: XLike, location: Array, levels: Array) -> Array:
        """Quantiles (m, levels) at new rows, from predictions (m,)."""
        return np.asarray(
            location[:, None] + self.predict(X)[:, None] * _quantiles(self.residuals / self.sizes, levels)
        )

    def lowers_loss(self, clusters: Array | None = None) -> bool:
        """Whether predicted sizes lower the pinball loss of the 5 and 95 % quantiles by more than a standard error."""
        levels = np.array([0.05, 0.95])
        one = self.residuals[:, None] - _quantiles(self.residuals, levels)
        own = self.residuals[:, None] - self.sizes[:, None] * _quantiles(self.residuals / self.sizes, levels)
        before, after = (np.maximum(levels * off, (levels - 1.0) * off).sum(axis=1) for off in (one, own))
        return bool(paired((before - after)[:, None], clusters=clusters)[0] > 1.0)


def _quantiles(values: Array, levels: Array) -> Array:
    return np.asarray(np.quantile(values, levels, method="weibull"))
