"""What one row changes: the error, predictions, the chosen candidate and average effects, for every row at once.

Leave-one-out residuals without row r are (a_i P_rr - P_ir a_r) / (P_ii P_rr - P_ir^2), so the inverse of a candidate
gives its score without each row in turn (docs/derivations, section 28).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.data.checks import keyword_hints
from mercer.data.rows import Array, Estimator, Rows, XLike
from mercer.displays.fits import BarsDisplay
from mercer.errors import refuse_if
from mercer.estimators import AutoRegressor, KernelRidge, KernelRidgeCV
from mercer.estimators.pipelines import fitting_columns, split_pipeline
from mercer.inference.effects import marginal_effects
from mercer.inference.parts import parts_of, refuse_few_digits, refuse_fit, rows_of
from mercer.kernels.tiles import underflow_is_zero
from mercer.runtime import promise
from mercer.runtime.progress import Progress
from mercer.solvers.dual import DualSystem
from mercer.solvers.fitted import FittedRidge, leave_out_of
from mercer.solvers.gram import centre_of, training_matrix
from mercer.text import Shown, counted, plain, round_numbers, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Influence(Shown):
    """What leaving out each row changes.

    Attributes
    ----------
    residual : ndarray of shape (n,)
        Target less what the model without the row predicts.
    leverage : ndarray of shape (n,)
        Change of the fitted value with the row's own target.
    error : float
        Root mean squared leave-one-out error of all rows.
    error_without : ndarray of shape (n,)
        The same of the other rows when a row is gone.
    predictions : ndarray of shape (n, m) or None
        Change of the predictions at `at` when a row is left out.
    chosen : ndarray of shape (n,) of int, or None
        Of a search, the candidate that would be chosen without the row, by its number in `cv_results_`.
    choice_changes : ndarray of shape (n,) of bool
        Whether that is another one than the winner.
    effects : ndarray of shape (n, columns) or None
        Change of each average effect when a row is left out.
    sign_changes : ndarray of shape (n,) of bool
        Whether an average effect changes its sign.
    candidates : list of str
        Names of the candidates of a search.
    """

    residual: Array
    leverage: Array
    error: float
    error_without: Array
    predictions: Array | None
    chosen: Array | None
    choice_changes: Array
    effects: Array | None
    sign_changes: Array
    candidates: list[str]

    @property
    def order(self) -> Array:
        """Rows, those whose removal changes the error most first."""
        return np.argsort(-np.abs(self.error_without - self.error), kind="stable")

    def _columns(self) -> dict[str, list[object]]:
        values = {"residual": self.residual, "leverage": self.leverage, "error without": self.error_without}
        if self.chosen is not None:
            values["chosen without"] = np.array(self.candidates, dtype=object)[self.chosen]
        if self.effects is not None:
            values["changes a sign"] = self.sign_changes
        return {"row": list(range(len(self.residual)))} | {name: each.tolist() for name, each in values.items()}

    def __str__(self) -> str:
        said = [f"Leave-one-out error {plain(self.error)} of {counted(len(self.residual), 'row')}."]
        if self.chosen is not None and not self.choice_changes.any():
            said.append("No single row decides the choice.")
        for rows, what in ((self.choice_changes, "the choice"), (self.sign_changes, "the sign of an average effect")):
            if count := int(rows.sum()):
                said.append(f"{counted(count, 'row')} change{'s' * (count == 1)} {what} when left out.")
        columns = self._columns()
        shown = [[values[row] for values in columns.values()] for row in self.order[:_SHOWN]]
        return f"{' '.join(said)}\n\n{text_table(list(columns), shown)}"

    def plot(self, ax: Axes | None = None) -> BarsDisplay:
        """Draw the rows whose removal changes the error most.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BarsDisplay
        """
        shown = self.order[:_SHOWN]
        change = self.error_without[shown] - self.error
        ends = np.column_stack([np.minimum(change, 0.0), np.maximum(change, 0.0)])
        names = [f"row {row}" for row in shown]
        return BarsDisplay(names, change, ends, "change of the leave-one-out error without the row", "row").plot(ax)


@keyword_hints
@underflow_is_zero
def influence(model: Estimator, X: XLike = None, *, effects: bool = False, verbose: int = 0) -> Influence:
    """What leaving out each row changes: the error, predictions, the chosen candidate, and average effects.

    Parameters
    ----------
    model : KernelRidge, KernelRidgeCV, AutoRegressor, or a Pipeline that ends in one
        Fitted to one target without sample weights. Of a search that was made by leave-one-out with squared errors, all
        candidates are scored again without every row; others are taken with the winner alone, and a committee with its
        kernels, alphas and weights as they are. With loss='log' all numbers are about logarithms.
    X : array-like of shape (m, n_features), default=None
        Rows at which changes of predictions are wanted.
    effects : bool, default=False
        Whether changes of average effects are wanted; the kernel must have derivatives.
    verbose : int, default=0
        1: progress.

    Returns
    -------
    Influence
        Prints the rows whose removal changes the error most.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, influence
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[12] = 5.0
    >>> found = influence(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y))
    >>> int(found.order[0]), bool(found.error_without[12] < 0.5 * found.error)
    (12, True)
    """
    X = fitting_columns(model, X)
    transformers, model = split_pipeline(model)
    known = isinstance(model, KernelRidge | KernelRidgeCV | AutoRegressor)
    must_be = "KernelRidge, KernelRidgeCV, AutoRegressor or a Pipeline that ends in one"
    refuse_if(not known, "The model of influence", must_be, type(model).__name__)
    weights, fits, (_, scale) = parts_of(model)
    for fitted in fits:
        refuse_fit(fitted, "influence", "of one target", " targets")
    n = len(fits[0].targets)
    promise(8 * n * n * 5, f"influence of {n} rows", "Use fewer rows.")
    new = None if X is None else rows_of(model, X if transformers is None else transformers.transform(X))
    must_be = "fitted to a column that varies where X is given"
    refuse_if(new is not None and not new.width, "The model of influence", must_be, "constant columns", "Remove X.")
    residual, leverage, left = np.zeros(n), np.zeros(n), np.zeros((n, n))
    predictions = None if new is None else np.zeros((n, 1))
    for weight, fitted in zip(weights, fits, strict=True):
        own = fitted.leave_outs[0][1]
        refuse_few_digits(fitted, own, "influence")
        P, a = own.matrix(), own.a[:, 0]
        errors = a / P.diagonal()
        residual += weight * scale * errors
        leverage += weight * (1.0 - own.multiple * P.diagonal())
        left += weight * scale * _residuals_without(P, a)
        if new is not None and predictions is not None:
            shares = fitted.systems[0][1].shares(fitted.columns(new))
            predictions = predictions - weight * scale * shares * errors[:, None]
    error = float(np.sqrt(np.mean(residual**2)))
    without = np.sqrt(np.sum(left**2, axis=1) / max(n - 1, 1))
    chosen, changes, candidates = _choices(model, fits[0], verbose)
    moves: Array | None = None
    flips: Array = np.zeros(n, dtype=bool)
    if effects:
        found = marginal_effects(model)  # of a Pipeline: per unit of the transformed columns
        moves = found.without - found.average
        flips = np.asarray((np.sign(found.without) * np.sign(found.average) < 0).any(axis=1))
    return Influence(residual, leverage, error, without, predictions, chosen, changes, moves, flips, candidates)


def _residuals_without(P: Array, a: Array) -> Array:
    """In row r, the leave-one-out residuals of the other rows without row r."""
    d = np.diag(P)
    determinant = np.outer(d, d) - P**2
    np.fill_diagonal(determinant, 1.0)
    residuals = (np.outer(d, a) - P * a[:, None]) / determinant
    np.fill_diagonal(residuals, 0.0)
    return np.asarray(residuals)


def _choices(search: Estimator, fitted: FittedRidge, verbose: int) -> tuple[Array | None, Array, list[str]]:
    """The candidate that would be chosen without each row, where it is another one, and the names of all candidates.

    It is None unless leave-one-out and squared errors choose.
    """
    same = np.zeros(len(fitted.targets), dtype=bool)
    if not isinstance(search, KernelRidgeCV):
        return None, same, []
    alphas = np.asarray(search.alphas_, dtype=np.float64)
    names = [f"{round_numbers(repr(kernel))}, alpha {alpha:.3g}" for kernel in search.kernels_ for alpha in alphas]
    squares = search.scoring in (None, "neg_mean_squared_error") and search.rule == "best"
    if not (search.folds_.leaves_one_out and squares) or (alphas <= 0).any():
        return None, same, names
    progress, scores = Progress("influence", len(names), verbose), []
    rows, intercept = fitted.rows(), fitted.intercept
    for kernel in search.kernels_:
        middle = centre_of(kernel, rows, intercept=intercept)
        centred = rows if middle is None else Rows(rows.values - middle, rows.names)
        system = DualSystem(training_matrix(kernel, centred), None, intercept=intercept)
        for alpha in alphas:
            left = leave_out_of(system.at(float(alpha)), fitted.targets)
            scores.append(np.sum(_residuals_without(left.matrix(), left.a[:, 0]) ** 2, axis=1))
            progress.step()
    found = np.array(scores)
    own = found[search.best_index_]  # which stays where no other is better by more than rounding
    chosen = np.where(own <= found.min(axis=0) * (1 + 1e-9), search.best_index_, found.argmin(axis=0))
    return chosen, chosen != search.best_index_, names
