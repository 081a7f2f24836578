"""Average effects of columns on predictions with standard errors, all from the inverse of one fitted system.

The dual coefficients are a = P y, and the average effect of a column is theta = 1'D a / m, where D has the derivatives
of the kernel by the column at m rows (docs/derivations, section 27). So theta is linear in y, and leaving one row out
has a closed form: the standard errors need no refit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import stdtr, stdtrit
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, Rows
from mercer.displays.bars import BarsDisplay
from mercer.errors import InputError, sentence
from mercer.estimators import KernelRidge, KernelRidgeClassifier, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.estimators.table_model import TableModel
from mercer.inference.changes import (
    Change,
    Slope,
    System,
    column_place,
    derivatives,
    differences,
    encoded_changes,
    plain_changes,
    radial,
    refuse_rough,
    shifted,
)
from mercer.insight.intervals import checked_confidence
from mercer.kernels import Linear
from mercer.runtime import promise
from mercer.solvers.fitted import FittedRidge
from mercer.solvers.gram import training_matrix
from mercer.tables import TableEncoder
from mercer.text import Shown, counted, text_table


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEffects(Shown):
    """Average effects of columns on predictions.

    Attributes
    ----------
    names : list of str
        The columns.
    average, standard_error : ndarray of shape (columns,)
        Mean change of the prediction per unit of the column, or from the smaller to the larger of two values.
    pvalue : ndarray of shape (columns,)
        Of the hypothesis that the average effect is 0, two-sided.
    interval : ndarray of shape (columns, 2)
        Confidence interval of each average effect.
    pointwise : ndarray of shape (rows, columns)
        The effect at every row.
    kinds : list of str
        `slope`, or `difference` for columns of two values.
    errors : str
        `jackknife` or `homogeneous`.
    degrees : float
        Degrees of freedom of the t distribution: rows less effective degrees of freedom.
    without : ndarray of shape (training rows, columns)
        The average effects without each training row.
    pointwise_error : ndarray of shape (rows, columns) or None
        Standard errors of `pointwise`, on request.
    """

    names: list[str]
    average: Array
    standard_error: Array
    pvalue: Array
    interval: Array
    pointwise: Array
    kinds: list[str]
    errors: str
    degrees: float
    confidence: float
    without: Array
    pointwise_error: Array | None = None

    @property
    def t(self) -> Array:
        """Average effects in units of their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.average / self.standard_error)

    def _columns(self) -> dict[str, list[Any]]:
        low, middle, high = np.quantile(self.pointwise, [0.25, 0.5, 0.75], axis=0)
        ends = f"{100 * (1 - self.confidence) / 2:g} %", f"{100 * (1 + self.confidence) / 2:g} %"
        return {
            "column": self.names,
            "effect": self.average.tolist(),
            "std. error": self.standard_error.tolist(),
            "t": self.t.tolist(),
            "p": self.pvalue.tolist(),
            ends[0]: self.interval[:, 0].tolist(),
            ends[1]: self.interval[:, 1].tolist(),
            "1st quartile": low.tolist(),
            "median": middle.tolist(),
            "3rd quartile": high.tolist(),
            "kind": self.kinds,
        }

    def __str__(self) -> str:
        columns = self._columns()
        rows = list(zip(*columns.values(), strict=True))
        how = f"{self.errors} standard errors, {self.degrees:.4g} degrees of freedom"
        said = f"Average effects on the prediction ({counted(len(self.pointwise), 'row')}, {how})."
        return f"{said}\n\n{text_table(list(columns), rows)}"

    def plot(self, ax: Any = None) -> BarsDisplay:
        """Draw the average effects with their confidence intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BarsDisplay
        """
        return BarsDisplay(self.names, self.average, self.interval, "average effect").plot(ax)


def marginal_effects(
    model: Any,
    X: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    errors: str = "jackknife",
    confidence: float = 0.95,
    pointwise_errors: bool = False,
) -> MarginalEffects:
    """Average effect of each column on the prediction, with standard error, p-value and interval.

    For a column of numbers: the mean over the rows of the derivative of the prediction. For a column of two values: the
    mean difference between the prediction with the larger and with the smaller one. For a category: the mean difference
    between the prediction with each level and with the most common one. These are effects on what the model
    predicts, which is shrunk towards the mean; standard errors say how much they would differ with other rows, and not
    whether the model is right.

    Parameters
    ----------
    model : KernelRidge, KernelRidgeCV, KernelRidgeClassifier, KernelRidgeClassifierCV, or a Pipeline
        Fitted, without sample weights, to one target or two classes, with a kernel that has derivatives. Effects of a
        classifier are those on its decision value. A Pipeline of a TableEncoder and one of these has effects per unit
        of the columns of its table; dates and texts have none.
    X : array-like of shape (m, n_features), default=None
        Where effects are averaged; None is the training rows.
    columns : sequence of str or int, default=None
        Which; None is all.
    errors : {"jackknife", "homogeneous"}, default="jackknife"
        `jackknife` leaves every row out in turn, in closed form, with kernel and alpha as they are; it allows noise
        that differs from row to row. `homogeneous` takes one noise variance for all, the mean squared residual, as
        KRLS in R does.
    confidence : float, default=0.95
        Of the intervals.
    pointwise_errors : bool, default=False
        Whether the effect at every row gets a standard error, that of homogeneous noise; one product of matrices for
        each column.

    Returns
    -------
    MarginalEffects
        Prints as a table, and plots.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, marginal_effects
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = 2.0 * X[:, 0] + rng.normal(size=200)
    >>> model = KernelRidge(1.0, kernel=Gaussian(5.0), fit_intercept=True).fit(X, y)
    >>> effects = marginal_effects(model)
    >>> effects.average.round(1), effects.pvalue.round(2)
    (array([1.7, 0.1]), array([0.  , 0.08]))
    """
    if not isinstance(errors, str) or errors not in ("jackknife", "homogeneous"):
        raise InputError(sentence("errors of marginal_effects", "'jackknife' or 'homogeneous'", repr(errors)))
    confidence = checked_confidence(confidence)
    part = _part(model, X)
    wanted = _wanted(part, columns)
    found, y = _effects(part, wanted, pointwise=pointwise_errors), part.y
    average, noise = found.average, float(np.mean((part.y - part.values) ** 2))
    if errors == "jackknife":
        left = found.without
        spread = np.sqrt((len(left) - 1) / len(left) * np.sum((left - left.mean(axis=0)) ** 2, axis=0))
    else:
        spread = np.sqrt(noise * np.sum(found.shares**2, axis=0))
    degrees = max(len(y) - part.degrees, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pvalue = 2.0 * stdtr(degrees, -np.abs(average / spread))
    reach = stdtrit(degrees, 0.5 + 0.5 * confidence) * spread
    return MarginalEffects(
        [change.name for change in wanted],
        average,
        spread,
        np.asarray(pvalue),
        np.column_stack([average - reach, average + reach]),
        found.pointwise,
        ["slope" if change.ends is None else "difference" for change in wanted],
        errors,
        degrees,
        confidence,
        found.without,
        None if found.squares is None else np.sqrt(noise * found.squares),
    )


@dataclass(frozen=True, eq=False)
class _Part(System):
    """A model with its system inverted; whether effects are averaged at its `own` rows."""

    own: bool
    y: Array
    P: Array
    a: Array
    values: Array
    degrees: float
    changes: list[Change]


@dataclass(frozen=True, eq=False)
class _Found:
    """Of some columns: effects at the rows, their mean, the mean without each training row, and shares of y."""

    pointwise: Array
    average: Array
    without: Array
    shares: Array
    squares: Array | None


def _part(model: Any, X: Any) -> _Part:
    encoder = None
    if isinstance(model, TableModel):
        model = model.pipeline
    if isinstance(model, Pipeline) and len(model.steps) == 2 and isinstance(model.steps[0][1], TableEncoder):
        encoder, model = model.steps[0][1], model.steps[1][1]
    if isinstance(model, KernelRidgeCV | KernelRidgeClassifierCV):
        check_is_fitted(model, "best_estimator_")
        model = model.best_estimator_
    if not isinstance(model, KernelRidge | KernelRidgeClassifier):
        must_be = (
            "KernelRidge, KernelRidgeCV, one of their classifiers, or a Pipeline of a TableEncoder and one of these"
        )
        way_out = "For averages of automatic models use column_effect."
        raise InputError(sentence("The model of marginal_effects", must_be, type(model).__name__, way_out))
    check_is_fitted(model)
    fitted = model.fitted_
    _refuse_model(fitted)
    names = getattr(model, "feature_names_in_", None)
    Z, n = np.asarray(fitted.X, dtype=np.float64), len(fitted.targets)
    changes = plain_changes(Z, names) if encoder is None else encoded_changes(encoder, Z)
    if X is None:
        at = Z
    elif encoder is None:
        at = np.asarray(model.checked_rows(X).values, dtype=np.float64)
    else:
        at = encoder.transform(X)
    promise(8 * n * n * 4, f"marginal_effects of {n} rows", "Use fewer rows.")
    if isinstance(fitted.kernel, Linear) and fitted.intercept:  # the same model, and no digits lost to an offset
        middle = Z.mean(axis=0)
        at, Z = at - middle, Z - middle
        changes = [shifted(change, middle) for change in changes]
    K = training_matrix(fitted.kernel, Rows(Z, names))
    P, info = _inverse(K, float(fitted.alphas[0]))
    if info:
        raise InputError("The system of the model is singular. Use a larger alpha.")
    P = without_constant(P) if fitted.intercept else P
    y, degrees = fitted.targets[:, 0], float(np.einsum("ij,ji->", K, P)) + fitted.intercept
    values = fitted.values(fitted.rows())[:, 0]
    return _Part(fitted.kernel, Z, at, names, X is None, y, P, P @ y, values, degrees, changes)


def _inverse(K: Array, alpha: float) -> tuple[Array, int]:
    """(K + alpha I)^-1 from its Cholesky factor, and what LAPACK says."""
    A = K + alpha * np.eye(len(K))
    factor, info = dpotrf(A, lower=1, overwrite_a=1)
    if info:
        return factor, int(info)
    P, info = dpotri(factor, lower=1, overwrite_c=1)
    P = np.tril(P)
    return P + np.tril(P, -1).T, int(info)


def without_constant(G: Array) -> Array:
    """P from G: an unpenalized constant projected out."""
    ones = G.sum(axis=1)
    return np.asarray(G - np.outer(ones, ones) / ones.sum())


def _refuse_model(fitted: FittedRidge) -> None:
    if fitted.weights is not None:
        raise InputError("marginal_effects does not support sample_weight. Fit the model without it.")
    if fitted.targets.shape[1] != 1:
        raise InputError(sentence("marginal_effects", "of one target or two classes", fitted.targets.shape[1]))
    if fitted.kernel.kind == "gram" or hasattr(fitted.X, "tocsr") or np.asarray(fitted.X).dtype.kind not in "fiu":
        raise InputError("marginal_effects needs a dense table of numbers, and no precomputed kernel.")
    if fitted.alphas[0] <= 0:
        raise InputError(sentence("alpha for marginal_effects", "above 0", float(fitted.alphas[0])))
    refuse_rough(fitted.kernel)


def _wanted(part: _Part, columns: Any) -> list[Change]:
    if columns is None:
        return part.changes
    names = list(dict.fromkeys(change.column for change in part.changes))
    wanted = [columns] if isinstance(columns, str) or not hasattr(columns, "__iter__") else list(columns)
    chosen = [names[column_place(each, names)] for each in wanted]
    return [change for name in chosen for change in part.changes if change.column == name]


def _effects(part: _Part, wanted: list[Change], *, pointwise: bool) -> _Found:
    n, m, many = len(part.y), len(part.at), len(wanted)
    e = part.a / np.diag(part.P)
    slope = radial(part.kernel, part.at, part.Z)
    effects, without, shares = np.empty((m, many)), np.empty((n, many)), np.empty((n, many))
    squares = np.empty((m, many)) if pointwise else None
    average = np.empty(many)
    weighted = None if slope is None or not part.own else slope.V * part.P.T
    for k, change in enumerate(wanted):
        if slope is not None and change.ends is None and squares is None:
            effect, g, own = _by_formula(part, slope, int(change.places[0]), weighted)
        else:
            D = derivatives(part, change, slope) if change.ends is None else differences(part, change)
            effect, g = D @ part.a, D.sum(axis=0) / m
            own = np.einsum("ij,ji->i", D, part.P) if part.own else np.zeros(n)
            if squares is not None:
                squares[:, k] = change.scale**2 * np.sum((D @ part.P) ** 2, axis=1)
        effect, g, own = change.scale * effect, change.scale * g, change.scale * own
        effects[:, k], average[k] = effect, effect.mean()
        shares[:, k] = part.P @ g
        moved = average[k] - shares[:, k] * e  # the mean over the same rows of the model without row i
        without[:, k] = (n * moved - (effect - own * e)) / (n - 1) if part.own else moved
    return _Found(effects, average, without, shares, squares)


def _by_formula(part: _Part, slope: Slope, place: int, weighted: Array | None) -> tuple[Array, Array, Array]:
    """The effects, 1'D / m and the diagonal of D P for one column, without D itself."""
    x, z, scale = part.at[:, place], part.Z[:, place], slope.inverse[place]
    effect = scale * (x * (slope.V @ part.a) - slope.V @ (z * part.a))
    g = scale * (slope.V.T @ x - z * slope.V.sum(axis=0)) / len(x)
    if weighted is None:
        return effect, g, np.zeros(len(z))
    return effect, g, scale * (x * weighted.sum(axis=1) - weighted @ z)
