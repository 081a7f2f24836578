"""Average effects of columns on predictions with standard errors, all from the inverse of one fitted system.

The dual coefficients are a = P y, and the average effect of a column is theta = 1'D a / m, where D has the derivatives
of the kernel by the column at m rows (docs/derivations, section 27). So theta is linear in y, and leaving one row out
has a closed form: the standard errors need no refit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import stdtr, stdtrit
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, Rows
from mercer.displays.bars import BarsDisplay
from mercer.errors import InputError, nearest, sentence
from mercer.estimators import KernelRidge, KernelRidgeClassifier, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.estimators.parameters import is_whole
from mercer.insight.intervals import checked_confidence
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, RationalQuadratic
from mercer.kernels.tiles import between
from mercer.runtime import promise
from mercer.solvers.fitted import FittedRidge
from mercer.solvers.gram import training_matrix
from mercer.text import Shown, counted, text_table

_STEP = 1e-3  # of a standard deviation: of central differences of fourth order, for kernels without a formula


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
) -> MarginalEffects:
    """Average effect of each column on the prediction, with standard error, p-value and interval.

    For a column of numbers: the mean over the rows of the derivative of the prediction. For a column of two values: the
    mean difference between the prediction with the larger and with the smaller one. These are effects on what the model
    predicts, which is shrunk towards the mean; standard errors say how much they would differ with other rows, and not
    whether the model is right.

    Parameters
    ----------
    model : KernelRidge, KernelRidgeCV, KernelRidgeClassifier or KernelRidgeClassifierCV
        Fitted, without sample weights, to one target or two classes, with a kernel that has derivatives. Effects of a
        classifier are those on its decision value.
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
    found, y = _effects(part, wanted), part.y
    average = found.average
    if errors == "jackknife":
        left = found.without
        spread = np.sqrt((len(left) - 1) / len(left) * np.sum((left - left.mean(axis=0)) ** 2, axis=0))
    else:
        spread = np.sqrt(np.mean((y - part.values) ** 2) * np.sum(found.shares**2, axis=0))
    degrees = max(len(y) - part.degrees, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pvalue = 2.0 * stdtr(degrees, -np.abs(average / spread))
    reach = stdtrit(degrees, 0.5 + 0.5 * confidence) * spread
    return MarginalEffects(
        [name for _, name in wanted],
        average,
        spread,
        np.asarray(pvalue),
        np.column_stack([average - reach, average + reach]),
        found.pointwise,
        ["difference" if place in part.pairs else "slope" for place, _ in wanted],
        errors,
        degrees,
        confidence,
        found.without,
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """A model with its system inverted, and the rows that effects are averaged at."""

    kernel: Kernel
    Z: Array
    at: Array
    own: bool
    y: Array
    P: Array
    a: Array
    values: Array
    degrees: float
    names: list[str]
    pairs: dict[int, tuple[float, float]]
    own_names: Any


@dataclass(frozen=True, eq=False)
class _Found:
    """Of some columns: effects at the rows, their mean, the mean without each training row, and shares of y."""

    pointwise: Array
    average: Array
    without: Array
    shares: Array


def _part(model: Any, X: Any) -> _Part:
    if isinstance(model, KernelRidgeCV | KernelRidgeClassifierCV):
        check_is_fitted(model, "best_estimator_")
        model = model.best_estimator_
    if not isinstance(model, KernelRidge | KernelRidgeClassifier):
        must_be = "KernelRidge, KernelRidgeCV or one of their classifiers"
        way_out = "For averages of automatic models use column_effect."
        raise InputError(sentence("The model of marginal_effects", must_be, type(model).__name__, way_out))
    check_is_fitted(model)
    fitted = model.fitted_
    _refuse_model(fitted)
    names = getattr(model, "feature_names_in_", None)
    Z, n = np.asarray(fitted.X, dtype=np.float64), len(fitted.targets)
    given = [f"x{j + 1}" for j in range(Z.shape[1])] if names is None else [str(name) for name in names]
    at = Z if X is None else np.asarray(model.checked_rows(X).values, dtype=np.float64)
    promise(8 * n * n * 4, f"marginal_effects of {n} rows", "Use fewer rows.")
    if isinstance(fitted.kernel, Linear) and fitted.intercept:  # the same model, and no digits lost to an offset
        at, Z = at - Z.mean(axis=0), Z - Z.mean(axis=0)
    K = training_matrix(fitted.kernel, Rows(Z, names))
    P, info = _inverse(K, float(fitted.alphas[0]))
    if info:
        raise InputError("The system of the model is singular. Use a larger alpha.")
    if fitted.intercept:
        ones = P.sum(axis=1)
        P -= np.outer(ones, ones) / ones.sum()
    y = fitted.targets[:, 0]
    a = P @ y
    degrees = float(np.einsum("ij,ji->", K, P)) + fitted.intercept
    ends = {j: np.unique(Z[:, j]) for j in range(Z.shape[1])}
    two = {j: (float(each[0]), float(each[1])) for j, each in ends.items() if len(each) == 2}
    values = y - float(fitted.alphas[0]) * a
    if fitted.intercept:
        values = fitted.values(fitted.rows())[:, 0]
    return _Part(fitted.kernel, Z, at, X is None, y, P, a, values, degrees, given, two, names)


def _inverse(K: Array, alpha: float) -> tuple[Array, int]:
    """(K + alpha I)^-1 from its Cholesky factor, and what LAPACK says."""
    A = K + alpha * np.eye(len(K))
    factor, info = dpotrf(A, lower=1, overwrite_a=1)
    if info:
        return factor, int(info)
    P, info = dpotri(factor, lower=1, overwrite_c=1)
    P = np.tril(P)
    return P + np.tril(P, -1).T, int(info)


def _refuse_model(fitted: FittedRidge) -> None:
    if fitted.weights is not None:
        raise InputError("marginal_effects does not support sample_weight. Fit the model without it.")
    if fitted.targets.shape[1] != 1:
        raise InputError(sentence("marginal_effects", "of one target or two classes", fitted.targets.shape[1]))
    if fitted.kernel.kind == "gram" or hasattr(fitted.X, "tocsr") or np.asarray(fitted.X).dtype.kind not in "fiu":
        raise InputError("marginal_effects needs a dense table of numbers, and no precomputed kernel.")
    if fitted.alphas[0] <= 0:
        raise InputError(sentence("alpha for marginal_effects", "above 0", float(fitted.alphas[0])))
    _refuse_rough(fitted.kernel)


def _refuse_rough(kernel: Kernel) -> None:
    """Refuse kernels without derivatives at a distance of 0."""
    for each in vars(kernel).values():
        if isinstance(each, Kernel):
            _refuse_rough(each)
    if isinstance(kernel, Laplacian) or (isinstance(kernel, Matern) and kernel.nu < 1):
        way_out = "Use a smooth one, such as Gaussian or Matern(nu=2.5); for averages of any model use column_effect."
        raise InputError(sentence("The kernel of marginal_effects", "differentiable", repr(kernel), way_out))


def _wanted(part: _Part, columns: Sequence[Any] | None) -> list[tuple[int, str]]:
    if columns is None:
        return list(enumerate(part.names))
    wanted = [columns] if isinstance(columns, str) or not hasattr(columns, "__iter__") else list(columns)
    places = [column_place(each, part.names) for each in wanted]
    return [(place, part.names[place]) for place in places]


def column_place(given: Any, names: list[str]) -> int:
    """The place of a column that is given by its name or number."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    if is_whole(given, 0) and int(given) < len(names):
        return int(given)
    raise InputError(f"There is no column {given!r}. {nearest(str(given), names)}")


def _effects(part: _Part, wanted: list[tuple[int, str]]) -> _Found:
    n, m = len(part.y), len(part.at)
    e = part.a / np.diag(part.P)
    slope = _radial(part.kernel, part.at, part.Z)
    pointwise, without, shares = np.empty((m, len(wanted))), np.empty((n, len(wanted))), np.empty((n, len(wanted)))
    average = np.empty(len(wanted))
    weighted = None if slope is None or not part.own else slope.V * part.P.T
    for k, (place, _) in enumerate(wanted):
        if slope is not None and place not in part.pairs:
            effect, g, own = _by_formula(part, slope, place, weighted)
        else:
            D = _differences(part, place) if place in part.pairs else _derivatives(part, place)
            effect, g = D @ part.a, D.sum(axis=0) / m
            own = np.einsum("ij,ji->i", D, part.P) if part.own else np.zeros(n)
        pointwise[:, k], average[k] = effect, effect.mean()
        shares[:, k] = part.P @ g
        moved = average[k] - shares[:, k] * e  # the mean over the same rows of the model without row i
        without[:, k] = (n * moved - (effect - own * e)) / (n - 1) if part.own else moved
    return _Found(pointwise, average, without, shares)


@dataclass(frozen=True, eq=False)
class _Slope:
    """D_ij = V_ij (x_i - z_j) / w^2 for a kernel of the scaled distance."""

    V: Array
    inverse: Array


def _by_formula(part: _Part, slope: _Slope, place: int, weighted: Array | None) -> tuple[Array, Array, Array]:
    """The effects, 1'D / m and the diagonal of D P for one column, without D itself."""
    x, z, scale = part.at[:, place], part.Z[:, place], slope.inverse[place]
    effect = scale * (x * (slope.V @ part.a) - slope.V @ (z * part.a))
    g = scale * (slope.V.T @ x - z * slope.V.sum(axis=0)) / len(x)
    if weighted is None:
        return effect, g, np.zeros(len(z))
    return effect, g, scale * (x * weighted.sum(axis=1) - weighted @ z)


def _radial(kernel: Kernel, at: Array, Z: Array) -> _Slope | None:
    """The derivative by the halved squared distance of kernels that depend on it; None for others."""
    rule = _RULES.get(type(kernel))
    if rule is None:
        return None
    width = np.broadcast_to(np.asarray(kernel.get_params()["width"], dtype=np.float64), (Z.shape[1],))
    from scipy.spatial.distance import cdist

    V = rule(kernel, cdist(at / width, Z / width, "sqeuclidean"))
    return None if V is None else _Slope(V, 1.0 / width**2)


def _matern(kernel: Any, s: Array) -> Array | None:
    r = np.sqrt(s)
    if kernel.nu == 1.5:
        return np.asarray(-3.0 * np.exp(-np.sqrt(3.0) * r))
    if kernel.nu == 2.5:
        return np.asarray(-(5.0 / 3.0) * (1.0 + np.sqrt(5.0) * r) * np.exp(-np.sqrt(5.0) * r))
    return None


def _rational(kernel: Any, s: Array) -> Array:
    shape = float(kernel.get_params()["shape"])
    return np.asarray(-((1.0 + s / (2.0 * shape)) ** (-shape - 1.0)))


_RULES: dict[type, Callable[[Any, Array], Array | None]] = {
    Gaussian: lambda _, s: -np.exp(-0.5 * s),
    Matern: _matern,
    RationalQuadratic: _rational,
}


def _differences(part: _Part, place: int) -> Array:
    """Kernel values with the larger of two values in a column, less those with the smaller."""
    low, high = part.pairs[place]
    ends = []
    for value in (high, low):
        moved = part.at.copy()
        moved[:, place] = value
        ends.append(between(part.kernel, Rows(moved, part.own_names), Rows(part.Z, part.own_names)))
    return np.asarray(ends[0] - ends[1])


def _derivatives(part: _Part, place: int) -> Array:
    """Central differences of fourth order."""
    column = part.Z[:, place]
    h = _STEP * (float(column.std()) or float(np.abs(column).max()) or 1.0)

    def at(steps: float) -> Array:
        moved = part.at.copy()
        moved[:, place] += steps * h
        return np.asarray(between(part.kernel, Rows(moved, part.own_names), Rows(part.Z, part.own_names)))

    return np.asarray((8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * h))
