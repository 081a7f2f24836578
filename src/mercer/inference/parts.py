"""A fitted model as a weighted sum of ridges, each a linear map of its targets, and what changes do to it.

The dual coefficients of a ridge are a = P y, with the P that leaves rows out; a committee adds several ridges up. What
it shows may be a function g of the sum f: a probability, or the exponential of a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, Estimator, Rows, XLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.estimators import (
    AutoClassifier,
    AutoRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)
from mercer.estimators.auto_members import refuse_extra
from mercer.estimators.pipelines import Transformers, column_names, fitting_columns, split_pipeline
from mercer.estimators.targets import Temperature
from mercer.inference.changes import Change, Item, encoded_changes, plain_changes, recentre, transformed_changes
from mercer.kernels import Kernel, Periodic, Stationary
from mercer.kernels.pair import Pair
from mercer.kernels.tiles import between, moved_rows
from mercer.runtime import promise
from mercer.solvers.fitted import FittedRidge, count_cancelled
from mercer.solvers.gram import centre_of, times
from mercer.solvers.leave_out import LeaveOut
from mercer.solvers.plan import digits_left
from mercer.solvers.primal import PrimalSolved
from mercer.tables import TableEncoder

_SEARCHES, _COMMITTEES = (KernelRidgeCV, KernelRidgeClassifierCV), (AutoRegressor, AutoClassifier)
_FEWEST_DIGITS = 3.0  # correct digits of P below which nothing is read from it

Link: TypeAlias = Callable[[Array], tuple[Array, Array, Array]]  # g(f) and its first two derivatives


@dataclass(frozen=True, eq=False)
class RidgePart:
    """One ridge of a weighted sum, at its rows `at`: f(x) = k(x, Z) a + constant with a = P y.

    Attributes
    ----------
    kernel : Kernel
        k.
    Z, at : ndarray
        The rows of the coefficients, and those that effects are wanted at.
    names : sequence of str, or None
        Names of the columns.
    weight : float
        Its weight in the sum.
    P, a : ndarray of shape (n, n) and (n,)
        The map from the targets to the dual coefficients, and these.
    shares, constant : ndarray of shape (n,), float
        The map from the targets to the constant, and this.
    residual : ndarray of shape (n,)
        Leave-one-out residuals.
    """

    kernel: Kernel
    Z: Array
    at: Array
    names: Sequence[str] | None
    weight: float
    P: Array
    a: Array
    shares: Array
    constant: float
    residual: Array

    @property
    def rows(self) -> tuple[Rows, Rows]:
        """The rows at which effects are wanted and the training rows, as the kernel takes them."""
        return Rows(self.at, self.names), Rows(self.Z, self.names)

    @cached_property
    def K(self) -> Array:
        """k(x, z) of the rows at which effects are wanted and those of the coefficients."""
        return np.asarray(between(self.kernel, *self.rows))

    @cached_property
    def radial(self) -> tuple[Array, Array] | None:
        """V and factors of derivatives V_ij (x_ic - z_jc) factor_c by column c; None for other kernels.

        Kernels of squared differences have them. One V serves all columns, and averages over rows need no matrix for
        each of them.
        """
        kernel = self.kernel
        if not isinstance(kernel, Stationary) or isinstance(kernel, Periodic) or kernel.power != 2:
            return None
        if type(kernel).slope is Stationary.slope:
            return None
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            V = 2.0 * kernel.slope(kernel.distance(Pair(*self.rows)))
        by = np.broadcast_to(np.asarray(kernel.inverse(self.Z.shape[1]), dtype=np.float64), (self.Z.shape[1],))
        return V, by**2

    @cached_property
    def closed_form(self) -> Array:
        """V_ij P_ij of the closed forms, of parts that are radial."""
        return np.asarray(0.0 if self.radial is None else self.radial[0] * self.P)


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A fitted model as a constant `start` and a weighted sum of ridges; `own`: at its training rows.

    Attributes
    ----------
    parts : list of RidgePart
        The ridges.
    residuals : ndarray of shape (n,)
        Targets less what is predicted, as the ridges are fitted to them.
    degrees : float
        Effective degrees of freedom.
    columns : list of str
        All columns of the table.
    changes : list of Change
        What may be asked of the columns.
    link : Link or None
        What is shown of f; None for f itself.
    """

    parts: list[RidgePart]
    start: float
    own: bool
    residuals: Array
    degrees: float
    columns: list[str]
    changes: list[Change]
    link: Link | None

    def values(self, kernels: list[Array]) -> Array:
        """f, from kernel values of every part."""
        pairs = zip(self.parts, kernels, strict=True)
        return np.asarray(self.start + sum(part.weight * (K @ part.a + part.constant) for part, K in pairs))


def kernel_change(part: RidgePart, item: Item) -> Array:
    """What the changes do to k(x, z) for every row x of `part.at` and z of `part.Z`."""
    if len(item) == 1 and item[0].direction is not None:  # one of its own for every row x
        places, direction = item[0].places, item[0].direction
        if part.radial is None:
            slopes = zip(places.tolist(), direction.T, strict=True)
            return np.asarray(sum(by[:, None] * part.kernel.derivative(*part.rows, (place,)) for place, by in slopes))
        V, factor = part.radial
        by, middle = direction * factor[places], part.Z[:, places].mean(axis=0)
        own = np.einsum("ij,ij->i", by, part.at[:, places] - middle)
        return np.asarray(V * (own[:, None] - by @ (part.Z[:, places] - middle).T))
    cells = tuple(change for change in item if change.ends is not None)
    columns = tuple(int(change.places[0]) for change in item if change.ends is None)
    if len(columns) == 1 and not cells and part.radial is not None:
        (place,), (V, factor) = columns, part.radial
        return np.asarray(V * (factor[place] * np.subtract.outer(part.at[:, place], part.Z[:, place])))
    ends = ((c, replace(part, at=rows)) for c, rows in stencil(part, cells, []))
    return np.asarray(sum(c * (end.kernel.derivative(*end.rows, columns) if columns else end.K) for c, end in ends))


def stencil(part: RidgePart, item: Item, kernels: list[Kernel]) -> list[tuple[float, Array]]:
    """The changes as a sum of function values, c times f at moved rows, for functions of these kernels."""
    columns = tuple(int(change.places[0]) for change in item if change.ends is None)
    found = moved_rows(kernels, *part.rows, columns)
    for change in item:
        if change.ends is not None:
            found = [(sign * c, rows.copy()) for c, rows in found for sign in (1.0, -1.0)]
            for (_, rows), end in zip(found, cycle(change.ends[::-1])):
                rows[:, change.places] = end
    return found


def as_sum(model: Estimator, X: XLike, of: str) -> WeightedSum:
    """The model as a weighted sum of ridges at rows X; None for the training rows."""
    X = fitting_columns(model, X)
    encoder, transformers, model = split_encoder(model)
    link, kinds = _link(model, of), (KernelRidge, KernelRidgeClassifier, *_SEARCHES, *_COMMITTEES)
    known = "KernelRidge, KernelRidgeCV, one of their classifiers, AutoRegressor, AutoClassifier"
    must_be, got = f"{known}, or a Pipeline that ends in one", type(model).__name__
    way_out = "For averages of other models use sklearn.inspection.partial_dependence."
    refuse_if(not isinstance(model, kinds), "The model of marginal_effects", must_be, got, way_out)
    weights, fitted, (start, scale) = parts_of(model)
    if X is None and transformers is not None:
        raise InputError("marginal_effects of a Pipeline needs X, its training rows before transformation. Pass X.")
    for each in fitted:
        refuse_fit(each, "marginal_effects", "of one target or two classes", dense=True)
    first = fitted[0]
    Z, n = np.asarray(first.X, dtype=np.float64), len(first.targets)
    refuse_if(n < 2, "The model of marginal_effects", "fitted to at least 2 rows", n)
    promise(8 * n * n * (2 + 2 * len(fitted)), f"marginal_effects of {n} rows", "Use fewer rows.")
    own, columns = X is None, []
    if transformers is not None:
        at, changes, columns = transformers.numbers(X), transformed_changes(transformers, X), column_names(X)
        own = np.array_equal(at, Z)
    else:
        at = Z if X is None else np.asarray(rows_of(model, X, encoder).values, dtype=np.float64)
        changes = plain_changes(Z, first.names) if encoder is None else encoded_changes(encoder, Z, X)
        columns = [each.column for each in changes] if encoder is None else [each.name for each in encoder.columns_]
    if not changes:
        raise InputError("The model has no column of numbers or categories that varies, so there are no effects.")
    middle = centre_of(first.kernel, Rows(Z, first.names), intercept=first.intercept)
    moved = middle is not None and len(fitted) == 1
    if middle is not None and moved:
        at, Z = at - middle, Z - middle
        changes = [recentre(change, middle) for change in changes]
    parts = [_part(weight * scale, each, Z, at, moved=moved) for weight, each in zip(weights, fitted, strict=True)]
    pairs = [(weight, each.leave_outs[0][1]) for weight, each in zip(weights, fitted, strict=True)]
    degrees = sum(weight * (n - left.multiple * float(left.diagonal().sum())) for weight, left in pairs)
    residuals = sum(weight * (left.multiple * left.a[:, 0]) for weight, left in pairs)
    residuals += (1.0 - sum(weights)) * first.targets[:, 0]
    return WeightedSum(parts, start, own, residuals, float(degrees), columns, changes, link)


def split_encoder(model: Estimator) -> tuple[Any, Transformers | None, Any]:
    """The encoder before the kernels of a model where it is alone there, otherwise the transformers; and the model."""
    transformers, last = split_pipeline(model)
    own = getattr(last, "encoder_", None)  # of a fitted automatic model
    if transformers is None:
        return own, None, last
    if own is not None:
        return None, transformers.then(own), last
    return transformers.encoder, None if transformers.encoder is not None else transformers, last


def _ridge(model: Estimator) -> Estimator:
    """The model that a search has chosen, or the model itself."""
    return model.best_estimator_ if isinstance(model, _SEARCHES) else model


def parts_of(model: Estimator) -> tuple[list[float], list[FittedRidge], tuple[float, float]]:
    """Weights and fits of a committee, a search or a model, and (offset, scale) of their weighted sum."""
    if isinstance(model, _COMMITTEES):
        check_is_fitted(model, "models_")
        refuse_extra(model, "An effect or influence")
        scale, start = np.max(getattr(model, "scale_", 1.0)), np.max(getattr(model, "centre_", 0.0))
        if model.in_cells:
            n = len(model.models_[0].X_fit_)
            raise InputError(
                f"Effects and influence need one system of all rows; this model divides its {n} rows into cells. "
                "Fit at most 5000 rows."
            )
        weights = [float(member.weight) for member in model.members_]
        return weights, [each.fitted_ for each in model.models_], (float(start), float(scale))
    if isinstance(model, _SEARCHES):
        check_is_fitted(model, "best_estimator_")
    ridge = _ridge(model)
    check_is_fitted(ridge)
    return [1.0], [ridge.fitted_], (0.0, 1.0)


def rows_of(model: Estimator, X: XLike, encoder: TableEncoder | None = None) -> Rows:
    """New rows as the kernels of the model see them."""
    encoder = model.encoder_ if isinstance(model, _COMMITTEES) else encoder
    rows: Rows = _ridge(model).check_rows(X) if encoder is None else Rows(encoder.transform(X), None)
    return rows


def _link(model: Estimator, of: str) -> Link | None:
    """What is shown of f: itself, the exponential of a logarithm, the logarithm of the odds, or a probability."""
    unknown = not isinstance(of, str) or of not in ("prediction", "probability")
    refuse_if(unknown, "The parameter of= of marginal_effects", "'prediction' or 'probability'", repr(of))
    temperature: Temperature | None = getattr(model, "temperature_", None)
    if of == "probability":
        if temperature is None:
            must_be = "a fitted KernelRidgeClassifierCV or AutoClassifier"
            raise InputError(sentence("The model for effects on probabilities", must_be, type(model).__name__))
        return lambda f: _probability(*temperature.odds(f))
    if isinstance(model, AutoClassifier) and temperature is not None:
        return lambda f: (*temperature.odds(f), np.zeros(len(f)))
    factor = getattr(model, "log_factor_", None)
    return None if factor is None else lambda f: (factor * np.exp(f),) * 3


def _probability(odds: Array, slope: Array) -> tuple[Array, Array, Array]:
    p = expit(odds)
    return p, p * (1.0 - p) * slope, p * (1.0 - p) * (1.0 - 2.0 * p) * slope**2


def refuse_fit(fitted: FittedRidge, what: str, must_be: str, unit: str = "", *, dense: bool = False) -> None:
    """Raise an error for a fit with weights, several targets or no penalty; if asked for, to rows that are no table."""
    if fitted.weights is not None:
        raise InputError(f"{what} does not support sample_weight. Fit the model without it.")
    targets, alpha = fitted.targets.shape[1], float(fitted.alphas[0])
    refuse_if(targets != 1, what, must_be, f"{targets}{unit}")
    given = fitted.kernel.kind == "gram" or hasattr(fitted.X, "tocsr")
    if dense and (given or np.asarray(fitted.X).dtype.kind not in "fiu"):
        raise InputError(f"{what} needs a dense table of numbers, and no precomputed kernel.")
    refuse_if(alpha <= 0, f"alpha for {what}", "above 0", alpha)


def _part(weight: float, fitted: FittedRidge, Z: Array, at: Array, *, moved: bool) -> RidgePart:
    (_, solved), (_, left), lost = fitted.systems[0], fitted.leave_outs[0], 1.0
    if isinstance(solved, PrimalSolved):  # the part of the coefficients that kernel values can see
        U, s, _ = solved.system.singular
        U, s = U[:, s > 0], s[s > 0]
        P = (U / (s**2 + solved.alpha)) @ U.T
        y = fitted.targets[:, 0] - (fitted.targets.mean() if fitted.intercept else 0.0)
        a, shares = P @ y, solved.shares(np.zeros((solved.system.count, 1)))[:, 0]
        lost = count_cancelled(fitted.kernel.diagonal(Rows(Z, fitted.names)), a[:, None], y[:, None])
    else:
        P, a, shares = left.matrix(), fitted.dual[:, 0], left.intercept_shares()
    refuse_few_digits(fitted, left, "marginal_effects", lost)
    constant = float(fitted.constant[0])
    if moved:  # the constant of the same function, seen from the middle of the rows
        rows = Rows(Z, fitted.names)
        values = fitted.values(fitted.rows()) - times(fitted.kernel, rows, rows, np.ascontiguousarray(a[:, None]))
        constant = float(values.mean())
    residual = left.a[:, 0] / left.diagonal()
    return RidgePart(fitted.kernel, Z, at, fitted.names, weight, P, a, shares, constant, residual)


def refuse_few_digits(fitted: FittedRidge, left: LeaveOut, what: str, lost: float = 1.0) -> None:
    """Raise an error if rounding leaves too few digits of P; `lost`: what is lost beside, as a condition number."""
    condition = max(left.condition, lost)
    if left.degenerate or min(fitted.route.digits, digits_left(condition)) < _FEWEST_DIGITS:
        hint = "or use a larger alpha." if fitted.intercept else "use a larger alpha, or set fit_intercept=True."
        raise InputError(
            f"The system of the model is too close to singular for {what}: alpha is {fitted.alphas[0]:.3g}, the "
            f"condition number about {max(fitted.route.condition, condition):.1g}. Scale the columns of X, {hint}"
        )
