"""A fitted model as a sum of linear maps of its targets, and what is shown of its value.

The dual coefficients of a kernel ridge model are a = P y; a committee adds several such models up. What it shows may be
a function g of the sum f: a probability, or the exponential of a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.estimators import (
    AutoClassifier,
    AutoRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)
from mercer.estimators.calibration import Temperature
from mercer.estimators.table_model import TableModel
from mercer.inference.changes import Change, encoded_changes, plain_changes, shifted
from mercer.inference.derivatives import System
from mercer.insight.left_out import leave_out_of
from mercer.runtime import promise
from mercer.solvers.fitted import FittedRidge
from mercer.solvers.gram import centre_of, training_matrix
from mercer.solvers.lapack import potrf, potri
from mercer.solvers.primal import PrimalSolved
from mercer.solvers.route import EPS
from mercer.solvers.symmetric import mirror
from mercer.tables import TableEncoder

_SEARCHES, _COMMITTEES = (KernelRidgeCV, KernelRidgeClassifierCV), (AutoRegressor, AutoClassifier)
# Of the targets: what predictions by the dual coefficients, and by P, may differ from those of the model.
_SAME, _ERRORS = 1e-4, 1e-3

Link: TypeAlias = Callable[[Array], tuple[Array, Array, Array]]  # g(f) and its first two derivatives


@dataclass(frozen=True, eq=False)
class Voter(System):
    """One kernel ridge model of a sum: its weight, a = P y, the shares of y in its constant, and residuals.

    `left` is what the model leaves of its targets, `residual` the same of models without each row.
    """

    weight: float
    P: Array
    a: Array
    shares: Array
    constant: float
    residual: Array
    left: Array
    degrees: float


@dataclass(frozen=True, eq=False)
class Sum:
    """f, a constant `start` and the weighted sum of voters, at their rows `at`; `own`: these are the training rows.

    Attributes
    ----------
    residuals : ndarray of shape (n,)
        Targets less what is predicted, as the voters are fitted to them.
    degrees : float
        Effective degrees of freedom.
    columns : list of str
        All columns of the table.
    changes : list of Change
        What may be asked of the columns.
    link : Link or None
        What is shown of f; None for f itself.
    """

    voters: list[Voter]
    start: float
    own: bool
    residuals: Array
    degrees: float
    columns: list[str]
    changes: list[Change]
    link: Link | None


def inverse(K: Array, alpha: float, *, intercept: bool) -> tuple[Array, Array]:
    """P, from (K + alpha I)^-1 with an unpenalized constant projected out, and the shares of y in that constant."""
    G: Array = K + alpha * np.eye(len(K))
    if potrf(G):
        potri(G)
        mirror(G)
    else:  # a kernel that is no Mercer kernel may still have a regular system
        try:
            G = np.linalg.inv(K + alpha * np.eye(len(K)))
        except np.linalg.LinAlgError:
            raise InputError("The system of the model is singular. Use a larger alpha.") from None
    if not intercept:
        return np.asarray(G), np.zeros(len(G))
    ones = G.sum(axis=1)
    return np.asarray(G - np.outer(ones, ones) / ones.sum()), np.asarray(ones / ones.sum())


def as_sum(model: Any, X: Any, of: str) -> Sum:
    """The model as a sum of voters at rows X; None for the training rows."""
    model, encoder = _unwrapped(model)
    link = _link(model, of)
    if not isinstance(model, (KernelRidge, KernelRidgeClassifier, *_SEARCHES, *_COMMITTEES)):
        must_be = (
            "KernelRidge, KernelRidgeCV, one of their classifiers, AutoRegressor, AutoClassifier, or a Pipeline of a "
            "TableEncoder and one of the first four"
        )
        way_out = "For averages of other models use sklearn.inspection.partial_dependence."
        raise InputError(sentence("The model of marginal_effects", must_be, type(model).__name__, way_out))
    weights, fitted, (start, scale) = parts_of(model)
    encoder = _encoder(model, encoder)
    for each in fitted:
        _refuse(each)
    first = fitted[0]
    Z, n = np.asarray(first.X, dtype=np.float64), len(first.targets)
    if n < 2:
        raise InputError(sentence("The model of marginal_effects", "of at least 2 rows", n))
    promise(8 * n * n * (2 + 2 * len(fitted)), f"marginal_effects of {n} rows", "Use fewer rows.")
    at = Z if X is None else np.asarray(rows_of(model, X, encoder).values, dtype=np.float64)
    changes = plain_changes(Z, first.names) if encoder is None else encoded_changes(encoder, Z, X)
    if not changes:
        raise InputError("The model has no column of numbers or categories that varies, so there are no effects.")
    values = [each.values(each.rows())[:, 0] for each in fitted]
    middle = centre_of(first.kernel, Rows(Z, first.names), intercept=first.intercept)
    if middle is not None and len(fitted) == 1:
        at, Z = at - middle, Z - middle
        changes = [shifted(change, middle) for change in changes]
    parts = zip(weights, fitted, values, strict=True)
    voters = [_voter(weight * scale, each, Z, at, own) for weight, each, own in parts]
    degrees = sum(weight * voter.degrees for weight, voter in zip(weights, voters, strict=True))
    columns = [change.column for change in changes] if encoder is None else [each.name for each in encoder.columns_]
    return Sum(
        voters,
        start,
        X is None,
        (1.0 - sum(weights)) * first.targets[:, 0]
        + sum(w * voter.left for w, voter in zip(weights, voters, strict=True)),
        float(degrees),
        columns,
        changes,
        link,
    )


def _unwrapped(model: Any) -> tuple[Any, TableEncoder | None]:
    """The model, and the encoder before it in a Pipeline."""
    if isinstance(model, TableModel):
        model = model.pipeline
    if isinstance(model, Pipeline) and len(model.steps) == 2 and isinstance(model.steps[0][1], TableEncoder):
        return model.steps[1][1], model.steps[0][1]
    return model, None


def _ridge(model: Any) -> Any:
    """The model that a search has chosen, or the model itself."""
    return model.best_estimator_ if isinstance(model, _SEARCHES) else model


def parts_of(model: Any) -> tuple[list[float], list[FittedRidge], tuple[float, float]]:
    """Of a committee, a search or a model: weights, fits, and what is added to their sum times what."""
    if isinstance(model, _COMMITTEES):
        check_is_fitted(model, "models_")
        scale, start = np.max(getattr(model, "scale_", 1.0)), np.max(getattr(model, "centre_", 0.0))
        weights = [float(member.weight) for member in model.members_]
        return weights, [each.fitted_ for each in model.models_], (float(start), float(scale))
    if isinstance(model, _SEARCHES):
        check_is_fitted(model, "best_estimator_")
    ridge = _ridge(model)
    check_is_fitted(ridge)
    return [1.0], [ridge.fitted_], (0.0, 1.0)


def _encoder(model: Any, before: TableEncoder | None) -> TableEncoder | None:
    """A committee has its own; others may have one before them."""
    found: TableEncoder | None = model.encoder_ if isinstance(model, _COMMITTEES) else before
    return found


def rows_of(model: Any, X: Any, encoder: TableEncoder | None = None) -> Rows:
    """New rows as the kernels of the model see them."""
    encoder = _encoder(model, encoder)
    if encoder is not None:
        return Rows(encoder.transform(X), None)
    rows: Rows = _ridge(model).checked_rows(X)
    return rows


def _link(model: Any, of: str) -> Link | None:
    """What is shown of f: itself, the exponential of a logarithm, the logarithm of the odds, or a probability."""
    if not isinstance(of, str) or of not in ("prediction", "probability"):
        raise InputError(sentence("of of marginal_effects", "'prediction' or 'probability'", repr(of)))
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


def _refuse(fitted: FittedRidge) -> None:
    if fitted.weights is not None:
        raise InputError("marginal_effects does not support sample_weight. Fit the model without it.")
    if fitted.targets.shape[1] != 1:
        raise InputError(sentence("marginal_effects", "of one target or two classes", fitted.targets.shape[1]))
    if fitted.kernel.kind == "gram" or hasattr(fitted.X, "tocsr") or np.asarray(fitted.X).dtype.kind not in "fiu":
        raise InputError("marginal_effects needs a dense table of numbers, and no precomputed kernel.")
    if fitted.alphas[0] <= 0:
        raise InputError(sentence("alpha for marginal_effects", "above 0", float(fitted.alphas[0])))


def _voter(weight: float, fitted: FittedRidge, Z: Array, at: Array, values: Array) -> Voter:
    K = training_matrix(fitted.kernel, Rows(Z, fitted.names))
    own = solved_again(fitted, K, values, "marginal_effects")
    degrees, residual = len(Z) - float(np.trace(own.rest)), own.left / np.diag(own.rest)
    return Voter(
        fitted.kernel, Z, at, fitted.names, weight, own.P, own.a, own.shares, own.constant, residual, own.left, degrees
    )


@dataclass(frozen=True, eq=False)
class Solved:
    """A fitted system as a linear map of its targets.

    Attributes
    ----------
    P, a : ndarray
        The map to the dual coefficients, and these; of explicit features the part that kernel values can see.
    shares, constant : ndarray, float
        The map to the constant, and this.
    rest, left : ndarray
        I - smoother, and what it leaves of the targets.
    """

    P: Array
    a: Array
    shares: Array
    constant: float
    rest: Array
    left: Array


def solved_again(fitted: FittedRidge, K: Array, values: Array, what: str) -> Solved:
    """The system of a model, by explicit features where it was solved by them; refused if too few digits are left.

    `values` are what the model predicts for its training rows.
    """
    alpha, mean = float(fitted.alphas[0]), float(fitted.targets.mean())
    y = fitted.targets - mean if fitted.intercept else fitted.targets
    (_, solved), *_ = fitted.systems if fitted.primal is not None else [(None, None)]
    if isinstance(solved, PrimalSolved):
        whole, (U, s, _) = leave_out_of(solved, y), solved.system.singular()
        U, s = U[:, s > 0], s[s > 0]
        P = (U / (s**2 + alpha)) @ U.T
        a, rest, left = P @ y[:, 0], whole.block(np.arange(len(y))), whole.a[:, 0]
        shares = solved.shares(np.zeros((solved.system.count, 1)))[:, 0]
    else:
        P, shares = inverse(K, alpha, intercept=fitted.intercept)
        a, rest, left = fitted.dual[:, 0], alpha * P, alpha * fitted.dual[:, 0]
    constant = float(np.mean(values - K @ a)) if fitted.intercept else 0.0
    size = float(np.abs(fitted.targets - mean).max()) or float(np.abs(y).max())
    rounding = 8 * EPS * float(np.abs(values).max())  # of targets far from zero
    wrong = np.abs(K @ a + constant - values).max(), np.abs(K @ (P @ y[:, 0] - a)).max()
    if not all(error <= share * size + rounding for error, share in zip(wrong, (_SAME, _ERRORS), strict=True)):
        hint = "or use a larger alpha." if fitted.intercept else "use a larger alpha, or set fit_intercept=True."
        raise InputError(
            f"The system of the model is too close to singular for {what}: alpha is {alpha:.3g}, the condition number "
            f"about {fitted.route.condition:.1g}. Scale the columns of X, {hint}"
        )
    return Solved(P, a, shares, constant, rest, left)
