"""Average effects of columns on predictions with standard errors, all from the inverse of one fitted system.

The dual coefficients are a = P y, and the average effect of a column is theta = 1'D a / m, where D has the derivatives
of the kernel by the column at m rows (docs/derivations, section 27). So theta is linear in y, and leaving one row out
has a closed form: the standard errors need no refit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from mercer.data.checks import keyword_hints, sizes
from mercer.data.rows import Array, Estimator, XLike
from mercer.displays.fits import BarsDisplay
from mercer.errors import InputError, refuse_if
from mercer.inference.changes import Change, Item, as_list, column_place
from mercer.inference.parts import Link, RidgePart, WeightedSum, as_sum, kernel_change, stencil
from mercer.insight.intervals import check_confidence
from mercer.kernels.tiles import underflow_is_zero
from mercer.text import Shown, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        The effect at every row; NaN at rows that have no number in the column.
    rows : ndarray of int, shape (columns,)
        How many rows the averages are over: those that have a number in the column.
    kinds : list of str
        `slope`, or `difference` for columns of two values and levels of categories.
    errors : str
        `jackknife` or `homogeneous`.
    degrees : float
        Degrees of freedom of the t distribution: rows less effective degrees of freedom.
    without : ndarray of shape (training rows, columns)
        The average effects without each training row.
    pointwise_error : ndarray of shape (rows, columns) or None
        Standard errors of `pointwise`, on request.
    interactions : MarginalEffects or None
        The same of pairs of columns, on request.
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
    rows: Array
    pointwise_error: Array | None = None
    interactions: MarginalEffects | None = None

    @property
    def t(self) -> Array:
        """Average effects in units of their standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.average / self.standard_error)

    def _columns(self) -> dict[str, list[object]]:
        low, high = (f"{100 * (1 + side * self.confidence) / 2:g} %" for side in (-1, 1))
        header = "effect", "std. error", "t", "p", low, high, "1st quartile", "median", "3rd quartile"
        quartiles = np.nanquantile(self.pointwise, [0.25, 0.5, 0.75], axis=0)
        numbers = np.vstack([self.average, self.standard_error, self.t, self.pvalue, self.interval.T, quartiles])
        columns = dict(zip(header, numbers.tolist(), strict=True))
        rows = {"rows": self.rows.tolist()} if (self.rows < len(self.pointwise)).any() else {}
        return {"column": self.names, **columns, "kind": self.kinds, **rows}

    def __str__(self) -> str:
        how = f"{self.errors} standard errors, {self.degrees:.4g} degrees of freedom"
        said = f"Average effects on the prediction ({counted(len(self.pointwise), 'row')}, {how})."
        if (self.rows < len(self.pointwise)).any():
            said += " Columns with missing values: averages over the rows that have a number."
        said += f"\n\n{self._table()}"
        if self.interactions is None:
            return said
        return f"{said}\n\nPairs of columns:\n\n" + str(self.interactions).partition("\n\n")[2]

    def plot(self, ax: Axes | None = None) -> BarsDisplay:
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


@keyword_hints
@underflow_is_zero
def marginal_effects(
    model: Estimator,
    X: XLike = None,
    *,
    columns: Sequence[object] | None = None,
    errors: str = "jackknife",
    confidence: float = 0.95,
    of: str = "prediction",
    interactions: Any = False,
    pointwise_errors: bool = False,
) -> MarginalEffects:
    """Average effect of each column on the prediction, with standard error, p-value and interval.

    For a column of numbers: the mean over the rows of the derivative of the prediction. For a column of two values: the
    mean difference between the prediction with the larger and with the smaller one. Rows that have no number in the
    column are left out of its means. For a category: the mean difference between the prediction with each level and
    with the most common one. These are effects on what the model predicts, which is shrunk towards the mean; standard
    errors say how much they would differ with other rows, and not whether the model is right.

    Parameters
    ----------
    model : KernelRidge, KernelRidgeCV, their classifiers, AutoRegressor, AutoClassifier, or a Pipeline
        Fitted, without sample weights, to one target or two classes. Automatic models, and a Pipeline of transformers
        and a model, have effects per unit of the columns of their table; dates and texts have none. Where a kernel has
        a kink, its slope is the mean of those on both sides.
    X : array-like of shape (m, n_features), default=None
        Where effects are averaged; None is the training rows, which a Pipeline does not keep as they were: pass them.
    columns : sequence of str or int, default=None
        Which; None is all.
    errors : {"jackknife", "homogeneous"}, default="jackknife"
        `jackknife` leaves every row out in turn, in closed form, with kernel and alpha as they are; it allows noise
        that differs from row to row. `homogeneous` takes one noise variance for all, the mean squared residual, as
        KRLS in R does.
    confidence : float, default=0.95
        Of the intervals.
    of : {"prediction", "probability"}, default="prediction"
        `probability`: effects on the probability of the second class. `prediction` of a classifier is its decision
        value. Errors of effects on probabilities, on the logarithm of the odds of AutoClassifier and on predictions of
        AutoRegressor(loss='log') are those of the delta method, to first order in the targets.
    interactions : bool or sequence of pairs of columns, default=False
        Also by how much the effect of one column changes per unit of another, the mean cross derivative or the
        difference of differences; True for all pairs of `columns`.
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
    unknown = not isinstance(errors, str) or errors not in ("jackknife", "homogeneous")
    refuse_if(unknown, "errors of marginal_effects", "'jackknife' or 'homogeneous'", repr(errors))
    confidence = check_confidence(confidence)
    found = as_sum(model, X, of)
    wanted = _changes_of(found, columns)
    pairs = _pairs(found, wanted, interactions)
    if any(len(np.intersect1d(a.places, b.places)) or any(c.direction is not None for c in (a, b)) for a, b in pairs):
        raise InputError(
            "interactions of marginal_effects need transformers that compute each column from a single input column."
        )
    tables: list[list[Item]] = [[(change,) for change in wanted], pairs]
    alone, *both = (_table(found, each, errors, confidence, pointwise=pointwise_errors) for each in tables if each)
    return replace(alone, interactions=both[0] if both else None)


def _table(
    found: WeightedSum, items: list[Item], errors: str, confidence: float, *, pointwise: bool
) -> MarginalEffects:
    """Average effects with their errors."""
    effects = [_effect(found, item, pointwise=pointwise) for item in items]
    at_rows, counts, means, without, shares, own = zip(*effects, strict=True)
    noise = float(_length(found.residuals[:, None])[0] / np.sqrt(len(found.residuals)))
    average, left = np.array(means), np.column_stack(without)
    if errors == "jackknife":
        spread = np.sqrt((len(left) - 1) / len(left)) * _length(left - left.mean(axis=0))
    else:
        spread = noise * _length(np.column_stack(shares))
    degrees = max(len(found.residuals) - found.degrees, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pvalue = np.asarray(2.0 * stdtr(degrees, -np.abs(average / spread)))
    reach = stdtrit(degrees, 0.5 + 0.5 * confidence) * spread
    ends = np.column_stack([average - reach, average + reach])
    names = [" x ".join(change.name for change in item) for item in items]
    kinds = [" x ".join("slope" if change.ends is None else "difference" for change in item) for item in items]
    pointwise_error = noise * np.column_stack([_length(each.T) for each in own]) if pointwise else None
    return MarginalEffects(
        names, average, spread, pvalue, ends, np.column_stack(at_rows), kinds, errors, degrees, confidence, left,
        np.array(counts), pointwise_error,
    )  # fmt: skip


def _length(table: Array) -> Array:
    """Euclidean lengths of the columns, whose squares neither vanish nor overflow."""
    by = sizes(table)
    return np.asarray(by * np.sqrt(np.sum((table / by) ** 2, axis=0)))


def _effect(found: WeightedSum, item: Item, *, pointwise: bool) -> tuple[Array, int, float, Array, Array, Array | None]:
    """Effects at rows, their count and mean, means without each training row, and shares of y in mean and rows."""
    scale = float(np.prod([change.scale for change in item]))
    m, n = len(found.parts[0].at), len(found.residuals)
    effect, shares, moved, own = np.zeros(m), np.zeros(n), np.zeros(n), np.zeros(n)
    rows = np.zeros((m, n)) if pointwise else None
    marks = [change.known for change in item if change.known is not None]
    known = np.logical_and.reduce([np.ones(m, dtype=bool), *marks])  # rows with a number in every column
    count = int(known.sum())
    if count < 1 + found.own:
        name = " x ".join(change.name for change in item)
        raise InputError(f"The effect of {name} needs at least {counted(1 + found.own, 'row')} without missing values.")
    among = known / count  # the share of every row in the mean
    one_slope = len(item) == 1 and item[0].ends is None and item[0].direction is None
    linked = None if found.link is None else _through_link(found, item, found.link)
    for number, part in enumerate(found.parts):
        by, c = part.weight * scale, np.zeros(m)
        if linked is None and part.radial is not None and rows is None and one_slope:
            mine, g, diagonal = _without_matrix(part, part.radial, int(item[0].places[0]), among, own=found.own)
        else:
            D, c = (kernel_change(part, item), c) if linked is None else linked[1][number]
            mine, g = D @ part.a, among @ D
            diagonal = np.einsum("ij,ij->i", D, part.P) + c * part.shares if found.own else np.zeros(n)
            if rows is not None:
                rows += by * (D @ part.P + np.outer(c, part.shares))
        share = by * (part.P @ g + (among @ c) * part.shares)
        effect += by * mine
        shares += share
        moved += share * part.residual
        own += by * diagonal * part.residual
    effect = effect if linked is None else scale * linked[0]
    average = float(among @ effect)
    without = average - moved  # the mean over the same rows of the model without row i
    if found.own:  # which is not among the rows of the mean, either
        without = (without - among * (effect - own)) / (1.0 - among)
    if rows is not None:
        rows[~known] = np.nan
    return np.where(known, effect, np.nan), count, average, without, shares, rows


def _through_link(found: WeightedSum, item: Item, link: Link) -> tuple[Array, list[tuple[Array, Array]]]:
    """Effects on g(f), and for every part their derivatives by the dual coefficients and by the constant.

    By the chain rule for a derivative by one column, and by function values elsewhere.
    """
    parts, m = found.parts, len(found.parts[0].at)
    if len(item) == 1 and item[0].ends is None:
        changes = [kernel_change(part, item) for part in parts]
        f_slope = sum(part.weight * (D @ part.a) for part, D in zip(parts, changes, strict=True))
        _, first, second = link(found.values([part.K for part in parts]))
        c = second * f_slope
        pairs = zip(changes, parts, strict=True)
        return first * f_slope, [(first[:, None] * D + c[:, None] * part.K, c) for D, part in pairs]
    effect, by_part = np.zeros(m), [(np.zeros((m, len(part.Z))), np.zeros(m)) for part in parts]
    for share, rows in stencil(parts[0], item, [part.kernel for part in parts]):
        kernels = [replace(part, at=rows).K for part in parts]
        value, slope, _ = link(found.values(kernels))
        effect += share * value
        for (D, c), K in zip(by_part, kernels, strict=True):
            np.add(D, share * slope[:, None] * K, out=D)
            np.add(c, share * slope, out=c)
    return effect, by_part


def _without_matrix(
    part: RidgePart, radial: tuple[Array, Array], place: int, among: Array, *, own: bool
) -> tuple[Array, Array, Array]:
    """The effects, their mean by D, and the diagonal of D P for one column of a radial kernel, without D itself."""
    middle, scale, V = part.Z[:, place].mean(), radial[1][place], radial[0]
    x, z = part.at[:, place] - middle, part.Z[:, place] - middle  # no digits are lost to an offset
    effect = scale * (x * (V @ part.a) - V @ (z * part.a))
    g = scale * (V.T @ (among * x) - z * (among @ V))
    if not own:
        return effect, g, np.zeros(len(z))
    return effect, g, scale * (x * part.closed_form.sum(axis=1) - part.closed_form @ z)


def _changes_of(found: WeightedSum, columns: object) -> list[Change]:
    """The changes of these columns, by their names or numbers in the table."""
    if columns is None:
        return found.changes
    chosen = [found.columns[column_place(each, found.columns)] for each in as_list(columns)]
    if not chosen:
        raise InputError("columns of marginal_effects must name at least one column.")
    known = {change.column for change in found.changes}
    if lacking := [name for name in chosen if name not in known]:
        raise InputError(
            f"Column {lacking[0]!r} has no marginal effect: the model does not use it, or it holds dates or texts."
        )
    return [change for name in chosen for change in found.changes if change.column == name]


def _pairs(found: WeightedSum, wanted: list[Change], interactions: Any) -> list[Item]:
    """Pairs of changes of different columns: all of the wanted ones, or those of given pairs of columns."""
    if interactions is None or isinstance(interactions, bool | np.bool_):
        pairs = combinations(wanted, 2) if interactions else iter(())
        return [pair for pair in pairs if pair[0].column != pair[1].column]
    given = interactions.tolist() if isinstance(interactions, np.ndarray) else interactions
    listed = given if isinstance(given, list | tuple) else [given]
    paired = all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in listed)
    refuse_if(not paired, "interactions of marginal_effects", "True or pairs of columns", repr(interactions))
    both: list[Item] = [item for a, b in listed for item in product(_changes_of(found, [a]), _changes_of(found, [b]))]
    if any(a.column == b.column for a, b in both):
        raise InputError("interactions of marginal_effects must be pairs of different columns.")
    return both
