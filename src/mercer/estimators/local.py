"""Kernel ridge regression and classification in cells of neighbouring rows, for many rows; leave-one-out included."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import as_numbers, check_alpha, check_size, check_weights
from mercer.data.rows import Array, ClassWeight, File, PerRow, Rows, XLike, YLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.estimators.base import warn_if_not_mercer
from mercer.estimators.inputs import NO_TARGETS, check_input, coverage_of
from mercer.estimators.intervals import ResidualScale, check_levels
from mercer.estimators.nystroem_base import NumericEstimator, check_columns, need_targets
from mercer.estimators.parameters import resolve, validate
from mercer.estimators.search_core import read_rows, warn_if_ill
from mercer.estimators.targets import CalibratedMixin, Targets, Temperature
from mercer.insight.intervals import Coverage, check_confidence
from mercer.kernels import Kernel
from mercer.local.cells import CellProblem, LocalFit, inverse_widths, spread_of_columns
from mercer.local.partition import Partition
from mercer.local.search import LocalPlan
from mercer.local.storage import LEAF_ROWS, check_folder, solve_in_folder, sort_rows
from mercer.runtime import promise
from mercer.runtime.progress import Progress
from mercer.selection.ladders import warn_of_scales
from mercer.selection.search import fingerprint
from mercer.solvers.plan import digits_left
from mercer.solvers.problem import Problem, take_rows
from mercer.streaming.blocks import as_source
from mercer.text import Text, counted, round_numbers, summary_below


@dataclass(eq=False, repr=False, kw_only=True)
class CellSizes:
    """Rows of a core and of a system, and how many cells answer a row."""

    core_rows: int = 128
    system_rows: int = 1024
    mix: int = 1

    def problem(self, kernel: Kernel, rows: Rows, problem: Problem, splits: Any = None) -> CellProblem:
        """The cells of a kernel on these rows, those with weight first."""
        n, scale = len(problem.used_rows), inverse_widths(kernel, rows, spread_of_columns(rows))
        core = int(n if n <= self.system_rows else self.core_rows)
        partition = Partition.of(np.asarray(rows.values[:n] * scale), core)
        return CellProblem(rows, problem, partition, scale, int(self.system_rows), int(self.mix), splits).with_limits()

    def by_metric(self, rows: Rows, problem: Problem, splits: Any = None) -> Callable[[Kernel], CellProblem]:
        """A function from kernels to their cells, which kernels of proportional widths share."""
        spreads, known = spread_of_columns(rows), dict[bytes, CellProblem]()

        def cells_of(kernel: Kernel) -> CellProblem:
            scale = inverse_widths(kernel, rows, spreads)
            metric = np.round(np.log(scale / scale.max()), 9).tobytes()
            if metric not in known:
                known[metric] = self.problem(kernel, rows, problem, splits)
            return known[metric]

        return cells_of


@dataclass(eq=False, repr=False, kw_only=True)
class LocalCore(CellSizes, NumericEstimator):
    """What models in cells share: checked data, cells, the fit of one kernel and alpha."""

    fit_intercept: bool = True
    verbose: int = 0

    fitted_: LocalFit = field(init=False)
    kernel_: Kernel = field(init=False)
    _one_target = False
    _fewest: ClassVar[int] = 1

    def _validate(self) -> None:
        """Raise an error if a parameter is not what it must be."""
        validate(self)
        what, must_be = f"system_rows of {type(self).__name__}", f"at least core_rows, {self.core_rows}"
        refuse_if(self.core_rows > self.system_rows, what, must_be, self.system_rows)

    def check_data(self, X: XLike, y: YLike = NO_TARGETS, *, reset: bool = True) -> Any:
        """X, or X and y, validated as scikit-learn does; `reset` for data to fit."""
        kernels, least = (self._kernel_list(), self._fewest) if reset else ([self.kernel_], 1)
        return check_input(self, kernels, X, y, sparse=False, reset=reset, least=least)

    def prepare(self, X: XLike, y: YLike, sample_weight: PerRow) -> tuple[Rows, Problem, Targets, Array]:
        """Rows with weight, then the others, with targets less their mean; targets as given, and the order of rows."""
        self._validate()
        given, targets = read_rows(self, X, y, sample_weight, by_split=False)
        check_size(f"y of {type(self).__name__}", targets.Y)
        whole = Problem(targets.Y, targets.weights, bool(self.fit_intercept))
        order = np.concatenate([whole.used_rows, whole.unused_rows])
        rows, problem = take_rows(given, whole, order)
        return rows, problem.subtract_mean(), targets, order

    def _promise(self, rows: Rows, targets: int, splits: int) -> None:
        """Raise an error if the model does not fit in memory."""
        plan = LocalPlan.of(len(rows), rows.width, targets, self, 1, splits)
        way_out = "Use a smaller system_rows." if splits < 20 else "Use fewer splits."
        promise(plan.bytes, f"{type(self).__name__} on {len(rows)} rows", way_out)

    def _hold(self, fitted: LocalFit, targets: Targets, order: Array) -> None:
        """Set the attributes that follow from a fit to rows in this order."""
        self._one_target = targets.classes is None and targets.y.ndim == 1
        self.publish(fitted, order)
        if targets.classes is not None:
            self.classes_, known = targets.classes.labels, ~np.isnan(fitted.residuals).any(axis=1)
            values, weights = (fitted.residuals + targets.Y[order])[known], fitted.cells.problem.weights
            numbers = targets.classes.numbers[order][known]
            self.temperature_ = Temperature.leaning(values, numbers, None if weights is None else weights[known])
        warn_if_ill(type(self).__name__, self.condition_, of="predictions", digits=self.digits_)

    def publish(self, fitted: LocalFit, order: Array, count: int | None = None) -> None:
        """Set the attributes that follow from cells of rows in this order, out of a table of `count` rows."""
        self.fitted_, self.kernel_, self.partition_, self._order = fitted, fitted.kernel, fitted.cells.partition, order
        self.condition_ = max(solution.condition for solution in fitted.solutions)
        residuals = np.full((len(order) if count is None else count, fitted.residuals.shape[1]), np.nan)
        residuals[order] = fitted.residuals
        self.residuals_ = residuals[:, 0] if self._one_target else residuals

    @property
    def digits_(self) -> float:
        """How many decimal digits of predictions can be trusted, by the worst cell."""
        check_is_fitted(self, "fitted_")
        return digits_left(self.condition_)

    @property
    def X_fit_(self) -> Array:
        """The training rows: those with weight, then the others."""
        check_is_fitted(self, "fitted_")
        return np.asarray(self.fitted_.cells.rows.values)

    def _rows(self, X: XLike) -> Array:
        """New rows, validated."""
        check_is_fitted(self, "fitted_")
        return np.asarray(self.check_data(X, reset=False))

    def _cell_words(self) -> list[str]:
        """Lines about the cells."""
        fitted = self.fitted_
        size, rows = max(len(solution.members) for solution in fitted.solutions), len(fitted.cells.rows)
        cells = f"{rows} rows in {counted(self.partition_.cells, 'cell')}, systems of at most {size} rows"
        system = f"{round_numbers(repr(self.kernel_))} with alpha {fitted.alpha:.3g}"
        digits = f"about {self.digits_:.0f} digits of predictions are correct."
        return [f"{cells}; {counted(fitted.cells.mix, 'cell')} for a row.", f"{system}; {digits}"]

    def summary(self) -> str:
        """Cells, kernel and numerical accuracy, as text.

        Returns
        -------
        str
        """
        check_is_fitted(self, "fitted_")
        return Text("\n".join(self._cell_words()))

    def _html_repr(self) -> str:
        return summary_below(super()._html_repr(), self, "fitted_")


@dataclass(eq=False, repr=False)
class LocalModel(LocalCore):
    """A model in cells with one kernel and alpha."""

    alpha: float = 1.0
    _: KW_ONLY
    kernel: Any = "gaussian"

    def _resolve(self, rows: Rows) -> tuple[Kernel, Array]:
        """The kernel and alpha that the arguments stand for, checked on some rows."""
        kernel = resolve(type(self).__name__, self.kernel, rows.width)
        self._refuse_kernel(kernel, rows)
        warn_of_scales([kernel], rows)
        warn_if_not_mercer(kernel)
        return kernel, check_alpha(type(self).__name__, self.alpha, 1)

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None) -> Self:
        """Split the rows into cells and solve the system of each.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; labels for a classifier.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors; a row of weight zero is left out.

        Returns
        -------
        self
        """
        rows, problem, targets, order = self.prepare(X, y, sample_weight)
        kernel, (alpha,) = self._resolve(rows)
        self._promise(rows, problem.Y.shape[1], 0)
        cells = self.problem(kernel, rows, problem)
        progress = Progress("solving cells", cells.partition.cells, int(self.verbose))
        self._hold(LocalFit.of(cells, kernel, float(alpha), progress.step), targets, order)
        return self


class LocalNumbers(MultiOutputMixin, RegressorMixin, LocalCore):  # type: ignore[misc]
    """Predictions of numbers by models in cells, and how uncertain they are."""

    def _as_given(self, table: Array) -> Array:
        """A table with a column per target, or its column where y had one dimension."""
        return table[:, 0] if self._one_target else table

    def predict(self, X: XLike, return_std: bool = False) -> Any:
        """Predict: each row is answered by the cell it is routed to, or by the mean of `mix` cells.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            New rows.
        return_std : bool, default=False
            Also the posterior standard deviation of the latent function, with the prior variance of each cell. The
            factors of the cells that answer are made anew.

        Returns
        -------
        prediction : ndarray of shape (n_rows,) or (n_rows, n_targets)
        std : ndarray of the same shape
            Only with `return_std`.
        """
        rows = self._rows(X)
        values = self._as_given(self.fitted_.values(rows))
        return (values, self._as_given(np.sqrt(self.fitted_.variance(rows)))) if return_std else values

    def predict_interval(self, X: XLike, confidence: float = 0.9) -> tuple[Array, Array]:
        """Intervals that hold the target of a new row with about this probability.

        Their half-width is the quantile of the absolute held-out residuals of the rows in the system of the cell that
        answers, so that it follows the noise; with fewer than 200 of them, that of all rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            New rows.
        confidence : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Infinite where there are too few rows for this confidence.
        """
        confidence, rows = check_confidence(confidence), self._rows(X)
        values, half = self.fitted_.values(rows), self.fitted_.interval_widths(rows, confidence)
        return self._as_given(values - half), self._as_given(values + half)

    def predict_quantiles(self, X: XLike, q: Any = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of the target of new rows, whose spread follows the noise; from held-out residuals.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            New rows.
        q : float or sequence of float, default=(0.05, 0.5, 0.95)
            Levels between 0 and 1, in ascending order.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_levels)
        """
        levels, rows = check_levels(f"q of {type(self).__name__}.predict_quantiles", q), self._rows(X)
        if not self._one_target:
            raise InputError(f"{type(self).__name__}.predict_quantiles supports one target. Fit one model per target.")

        def left_out() -> tuple[Kernel, Any, Array]:
            residuals = -self.fitted_.residuals[:, 0]
            known = np.flatnonzero(np.isfinite(residuals))
            return self.kernel_, self.X_fit_[known], residuals[known]

        values = ResidualScale.of(self.fitted_, left_out).quantiles(rows, self.fitted_.values(rows)[:, 0], levels)
        return values[:, 0] if np.ndim(q) == 0 else values

    def coverage(self, X: XLike, y: YLike, confidence: float = 0.9) -> Coverage:
        """Share of new rows whose target lies inside its interval, and the mean width of the intervals.

        Parameters
        ----------
        X, y : array-like
            Rows that the model was not fitted to, and their targets.
        confidence : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        Coverage
        """
        return coverage_of(self.predict_interval(X, confidence), y, float(confidence), "residuals")


class LocalLabels(CalibratedMixin, LocalCore):
    """Labels by least squares in cells; probabilities are calibrated on held-out decision values."""

    def _values(self, X: XLike) -> Array:
        """Decision values of new rows."""
        rows = self._rows(X)
        return self.fitted_.values(rows)


@dataclass(eq=False, repr=False, kw_only=True)
class LocalRidge(LocalNumbers, LocalModel):
    """Kernel ridge regression in cells of neighbouring rows: cost and memory grow linearly with the number of rows.

    Rows are split into cores by recursive medians in units of the kernel's widths. Each cell has one exact system, of
    its core and of the rows nearest to it, and answers the rows that are routed to its core. Leave-one-out residuals of
    all rows come with the fit: they equal those of refitting with the same partition. No cell predicts further than a
    tenth of the range of the targets beyond it. Up to `system_rows` rows there is one cell, and the model is that of
    `KernelRidge`.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization, not negative.
    kernel : Kernel or str, default="gaussian"
        A stationary kernel with one width or one per column, or sums and products of such kernels. Columns without a
        width are split in units of their spread.
    core_rows : int, default=128
        Rows of a core, about.
    system_rows : int, default=1024
        Rows of a system: of the core and of its halo.
    mix : int, default=1
        How many cells answer a row. With 2 or 3, nearest first, predictions have no steps where cells meet.
    fit_intercept : bool, default=True
        Whether each cell has an unpenalized constant.
    folder : str or path, default=None
        A directory for tables that are larger than memory. `fit` then takes everything that `NystroemRidge` reads in
        passes, such as the path of a Parquet file. Rows are written there in the order of their cells, and solved cells
        as they are solved: a fit that was interrupted goes on where it stopped. The model reads from there; memory
        holds the targets and a few cells.
    verbose : int, default=0
        1: progress with the time left on a terminal. 2: everywhere.

    Attributes
    ----------
    residuals_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Leave-one-out predictions less targets; rows of weight zero are predicted as new ones (NaN with `folder`).
    loo_error_ : float or ndarray of shape (n_targets,)
        Root mean square of them.
    partition_ : Partition
        Splits, cores and systems.
    kernel_ : Kernel
        The kernel that the argument stood for.
    condition_, digits_ : float
        Estimated condition number of the worst cell, and how many decimal digits of predictions can be trusted.

    See Also
    --------
    mercer.LocalRidgeCV : Chooses the kernel, with a tuned width per column, and alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LocalRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(0.0, 20.0, size=(4000, 1))
    >>> model = LocalRidge(1e-3, kernel=Gaussian(1.0), core_rows=64, system_rows=128).fit(X, np.sin(X[:, 0]))
    >>> model.partition_.cells, bool(model.loo_error_ < 1e-3)
    (64, True)
    >>> model.predict([[1.5]]).round(3)
    array([0.998])
    """

    folder: File = None

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None) -> Self:
        """Split the rows into cells and solve the system of each.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Training rows; with `folder` also a path, a memory map, an iterable of blocks or a Dask collection.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; with `folder` and a table in a file the name of a column, or a list of names.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors; a row of weight zero is left out.

        Returns
        -------
        self
        """
        if self.folder is None:
            return super().fit(X, y, sample_weight)
        self._validate()
        alike = isinstance(sample_weight, numbers.Real)  # one weight for all rows is a smaller alpha
        source = as_source(X, y, sample_weight=None if alike else sample_weight)
        need_targets(self, source.targets)
        check_columns(self, source, reset=True)
        sample = source.sample(LEAF_ROWS, np.random.default_rng(0))
        rows = Rows(sample.X, source.names)
        kernel, (alpha,) = self._resolve(rows)
        if alike:
            check_weights(type(self).__name__, np.array([sample_weight], dtype=np.float64))
            alpha = alpha / float(np.asarray(sample_weight))
        scale = inverse_widths(kernel, rows, spread_of_columns(rows))
        sizes, mix = (int(self.core_rows), int(self.system_rows)), int(self.mix)
        settings = [kernel, alpha, *sizes, mix, bool(self.fit_intercept)]
        place = check_folder(self.folder, fingerprint(source.identity(), settings))
        progress = Progress("sorting rows by cell", source.rows, int(self.verbose), "rows")
        values, partition, Y, weights, order = sort_rows(source, sample, scale, sizes, place, progress.step)
        check_size(f"y of {type(self).__name__}", Y)
        problem = Problem(Y, weights, bool(self.fit_intercept)).subtract_mean()
        known = Rows(values, source.names)
        cells = CellProblem(known, problem, partition, scale, sizes[1], mix).with_limits()
        progress = Progress("solving cells", partition.cells, int(self.verbose))
        fitted = solve_in_folder(cells, kernel, float(alpha), place, progress.step)
        self._one_target = source.targets_1d
        self.publish(fitted, order, int(source.rows or 0))
        warn_if_ill(type(self).__name__, self.condition_, of="predictions", digits=self.digits_)
        return self

    @property
    def loo_error_(self) -> Any:
        """Root mean squared leave-one-out error, of each target."""
        check_is_fitted(self, "fitted_")
        error = np.sqrt(np.nanmean(self.residuals_**2, axis=0))
        return float(error) if self._one_target else error

    def with_rows(self, X: XLike, y: YLike) -> Self:
        """The model with more rows of weight 1, which join the cores they are routed to; only changed cells are solved.

        Splits, kernel and alpha stay as they are.

        Parameters
        ----------
        X, y : array-like
            More rows and their targets.

        Returns
        -------
        LocalRidge
            A new model; this one stays as it is.
        """
        rows, old = self._rows(X), self.fitted_
        given = as_numbers(y)
        must_be = f"{old.cells.problem.Y.shape[1]} finite numbers for each of {len(rows)} rows"
        if given is None or not np.isfinite(given).all():
            raise InputError(sentence("y of with_rows", must_be, repr(y)[:60]))
        Y = given.reshape(-1, 1) if self._one_target and given.ndim == 1 else given
        wrong = Y.shape != (len(rows), old.cells.problem.Y.shape[1])
        refuse_if(wrong, "y of with_rows", must_be, f"shape {given.shape}")
        check_size("y of with_rows", Y)
        n = len(old.cells.partition.points)  # rows of weight zero are left behind
        table, before = take_rows(old.cells.rows, old.cells.problem, np.arange(n))
        weights = None if before.weights is None else np.concatenate([before.weights, np.ones(len(Y))])
        problem = replace(before, Y=np.concatenate([before.Y, Y - before.centre]), weights=weights)
        grown = Rows(np.concatenate([table.values, rows]), table.names)
        partition = old.cells.partition.with_points(rows * old.cells.scale)
        cells = replace(old.cells, rows=grown, problem=problem, partition=partition, splits=None, limits=None)
        cells = cells.with_limits()
        same = old.cells.splits is None and np.array_equal(cells.limits, old.cells.limits)  # type: ignore[arg-type]
        found = copy.copy(self)
        fitted = LocalFit.of(cells, old.kernel, old.alpha, before=old if same else None)
        found.publish(fitted, np.arange(len(cells.rows)))
        return found


@dataclass(eq=False, repr=False, kw_only=True)
class LocalRidgeClassifier(LocalLabels, LocalModel):
    """Least squares on labels in cells of neighbouring rows, with calibrated probabilities.

    Parameters
    ----------
    alpha, kernel, core_rows, system_rows, mix, fit_intercept, verbose
        As for `LocalRidge`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" counts the classes of all rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    residuals_ : ndarray of shape (n_samples, 1) or (n_samples, n_classes)
        Leave-one-out decision values less targets, which are -1 and +1, or one-hot columns.
    partition_, kernel_, condition_, digits_
        As for `LocalRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LocalRidgeClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(0.0, 10.0, size=(2000, 2))
    >>> y = np.where(np.sin(X[:, 0]) * np.sin(X[:, 1]) > 0, "up", "down")
    >>> model = LocalRidgeClassifier(0.1, kernel=Gaussian(1.0), core_rows=64, system_rows=256).fit(X, y)
    >>> model.predict([[1.5, 1.5], [1.5, 4.5]]).tolist()
    ['up', 'down']
    """

    class_weight: ClassWeight = None
