"""Regression without settings: standardize, tune, weigh, and say how good it is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import check_size, keyword_hints
from mercer.data.rows import Array, File
from mercer.errors import InputError, sentence
from mercer.estimators.auto_core import AutoCore
from mercer.estimators.auto_evaluation import (
    SIGNAL,
    Evaluation,
    doubt,
    error_spread,
    fold_errors,
    growth,
    paired,
    root_mean_square,
    said,
    signal,
    stability_words,
    tuning_factor,
)
from mercer.estimators.auto_extra import ExtraWork, refuse_extra
from mercer.estimators.base import store
from mercer.estimators.inputs import check_targets, coverage_of, refuse_names
from mercer.estimators.intervals import (
    by_folds,
    by_jackknife,
    by_residuals,
    check_auto_method,
    moments,
)
from mercer.estimators.local import LocalRidge
from mercer.estimators.parameters import validate
from mercer.estimators.quantiles import ResidualScale, check_levels
from mercer.estimators.refitting import part_of
from mercer.insight.intervals import Coverage, check_confidence, gaussian_bounds
from mercer.kernels import Kernel
from mercer.selection.table import standard_error
from mercer.solvers.problem import Problem
from mercer.tables import TableEncoder
from mercer.text import Text
from mercer.tuning.committee import REGRESSION

_TRUSTED = 200  # rows from which on intervals take the factor of `error_` as it is


class AutoRegressor(RegressorMixin, AutoCore):  # type: ignore[misc]
    """Kernel ridge regression without settings: a weighted mean of models with tuned kernels.

    Tables are encoded (numbers standardized, categories, dates and missing values included, see `encoder_`). Four
    kernels are tuned by the gradient of an error on held-out rows, separately without each of three folds; a linear
    kernel and its sum with a smooth one join them. The weights are those with which out-of-fold predictions have the
    least squared error. `summary` shows what was tried and
    chosen; `evaluate` repeats all of it in an outer cross-validation.

    Parameters
    ----------
    committee : bool, default=True
        False fits a single kernel, which is easier to interpret.
    time_budget : float, default=None
        Seconds that `fit` may take: tuning stops early enough for the steps after it. If these steps alone take longer,
        there is an error at the start.
    log_target : bool, default=False
        True fits the logarithm of the targets, which must be positive; predictions are positive, too. They are
        exponentials times a factor with which the sum of out-of-fold predictions equals that of the targets, so that
        they estimate the mean and not the median.
    copies : bool, default=None
        Whether rows that are identical in all columns and the target are kept in one fold. None does so where they
        cannot be chance: more than one row in a hundred is a copy, although a column or the target has mostly distinct
        values.
    encoder : TableEncoder, default=None
        How columns are read, such as ``TableEncoder(kinds={"year": "category"})``. A copy of it is fitted to the
        table, and again in every fold of `evaluate`; None detects the kind of every column.
    extra : list of estimators, default=None
        Regressors of your own, such as ``[CatBoostRegressor(verbose=0)]`` or a pipeline, that join the committee: each
        is fitted without every fold and to all rows, to the table as it is given, and weighted with the members.
    checkpoint : str or path, default=None
        A directory for fits of more than 5000 rows. Chosen kernels are written there, and cells as they are solved: a
        fit that was interrupted goes on where it stopped. Smaller fits do not use it.
    random_state : int, default=0
        Random seed of the folds.
    verbose : int, default=0
        1: progress. 2: progress with a line for every half second, also in files.

    Attributes
    ----------
    encoder_ : TableEncoder
        The kind of each column, and how it becomes numbers.
    members_, models_ : list of Member, list of KernelRidge
        The committee.
    extra_ : list of ExtraMember
        Name, fitted model, weight and out-of-fold error of each estimator in `extra`.
    error_, error_standard_error_ : float, or ndarray of shape (n_targets,)
        Estimate of the root mean squared error on new rows: the out-of-fold error of members tuned without each fold,
        times the ratio of the leave-one-out error to the error of the same folds, both with the parameters tuned on
        all rows. The first is too large, because its models are fitted to a part of the rows; the ratio corrects this.
    baseline_ : float, or ndarray of shape (n_targets,)
        Root mean squared error of predicting the mean; with `time`, of predicting each fold by the mean or the last
        value of the rows before it, whichever errs less.
    signal_ : float, or ndarray of shape (n_targets,)
        z of the paired difference between the squared errors of the baseline and of the out-of-fold predictions; above
        2 the model is better than the baseline. With `log_target`, that of the logarithms.
    log_factor_ : float, or ndarray of shape (n_targets,)
        Factor of the exponentials; only with `log_target`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoRegressor
    >>> X = np.random.default_rng(0).uniform(size=(60, 2))
    >>> y = np.sin(6.0 * X[:, 0])
    >>> model = AutoRegressor().fit(X[:40], y[:40])
    >>> bool(np.abs(model.predict(X[40:]) - y[40:]).mean() < 0.05)
    True
    """

    _recipes = REGRESSION
    centre_: Any
    scale_: Any
    log_factor_: Any

    def __init__(
        self,
        *,
        committee: bool = True,
        time_budget: float | None = None,
        log_target: bool = False,
        copies: bool | None = None,
        encoder: TableEncoder | None = None,
        extra: Any = None,
        checkpoint: File = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        store(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, time: Any = None) -> Self:
        """Encode, tune, weigh and fit.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Numbers, categories, dates; missing values are allowed.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; several share kernels and weights.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows in tuning and fitting; rows of weight 0 are left out. Errors count every row once.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are in one fold, in tuning and in the error estimate.
        time : array-like of shape (n_samples,), default=None
            When each row was observed: numbers, dates or strings that sort in order. Folds then follow in time, and
            each is predicted from the rows before it, so that errors are those of predicting the future.

        Returns
        -------
        self
        """
        validate(self)
        refuse_names(self, X, y)
        y = check_targets(self, y)
        table, Z, y, beside = self._prepare(X, y, sample_weight, groups, time)
        Y = y.reshape(len(y), -1)
        check_size(f"y of {type(self).__name__}", Y)
        self.baseline_ = self._one(Y.std(axis=0), y)
        if self.log_target:
            if not (Y > 0).all():
                must_be = "positive with log_target=True"
                raise InputError(sentence(f"y of {type(self).__name__}", must_be, f"{Y.min():g}"))
            Y = np.log(Y)
        spread = Y.std(axis=0)
        self.centre_, self.scale_ = self._one(Y.mean(axis=0), y), self._one(np.where(spread > 0, spread, 1.0), y)
        targets = np.log(y) if self.log_target else y
        extra = ExtraWork(table, targets, beside.weights, self._extra_votes)
        self._fit_committee(Z, (Y - self.centre_) / self.scale_, None, beside, extra)
        committee = self.committee_
        held, truth, clusters = committee.held_out, self._Y, committee.clusters
        factor = np.broadcast_to(growth(self.committee_), Y.shape[1:])
        self.__dict__.pop("log_factor_", None)  # of the fit before
        if self.log_target:
            sums = (np.exp(self.centre_ + self.scale_ * each).sum(axis=0) for each in (truth, held))
            self.log_factor_ = self._one(np.divide(*sums), y)
            residuals = self.in_units(held) - self._targets(truth)
        else:
            residuals = self.scale_ * (held - truth)
        error, spread = (factor * each for each in root_mean_square(residuals, clusters))
        self.fold_errors_ = fold_errors(residuals, committee)
        if committee.base is not None and not self.log_target:
            self.baseline_ = self._one(self.scale_ * np.sqrt(np.mean(committee.base**2, axis=0)), y)
        factor_of_few = tuning_factor(len(held), clusters, ordered=committee.base is not None)
        spread = error_spread(spread, self.fold_errors_, factor_of_few)
        self.error_, self.error_standard_error_ = self._one(error, y), self._one(spread, y)
        trusted = min(1.0, len(held) / _TRUSTED)  # of few rows the factor itself is uncertain
        self._residuals = self._out(factor**trusted * self.scale_ * (held - truth))
        return self

    @property
    def signal_(self) -> Any:
        """z of the paired difference between the squared errors of the baseline and of out-of-fold predictions."""
        check_is_fitted(self, "models_")
        found = signal(self.committee_, self._Y)
        return found if np.ndim(self.centre_) else float(found[0])

    def _losses(self, votes: Array, Y: Array) -> Array:
        if np.ndim(self.centre_):
            return np.asarray(np.mean((votes - Y) ** 2, axis=1))
        return np.asarray((self.in_units(votes) - self._targets(Y))[:, 0] ** 2)

    def _extra_votes(self, model: Any, X: Any) -> Array:
        values = np.asarray(model.predict(X), dtype=np.float64)
        targets = np.size(self.centre_)
        if values.size != len(values) * targets:
            must_be, got = f"{targets} for each row", f"shape {values.shape}"
            raise InputError(sentence(f"Predictions of {type(model).__name__} in extra", must_be, got))
        return np.asarray((values.reshape(len(values), -1) - self.centre_) / self.scale_)

    @staticmethod
    def _one(numbers: Array, y: Array) -> Any:
        """A number for one target, an array for several."""
        return numbers if y.ndim > 1 else float(numbers[0])

    def _out(self, table: Array) -> Array:
        """The table, or a vector where there is one target."""
        return table[:, 0] if np.ndim(self.centre_) == 0 else table

    def fitted_to(self, y: Array) -> Array:
        """Targets as the members are fitted to them: of mean 0 and standard deviation 1, or their logarithms."""
        return np.asarray(((np.log(y) if hasattr(self, "log_factor_") else y) - self.centre_) / self.scale_)

    def in_units(self, votes: Array) -> Array:
        """Predictions, in units of y, from values of the committee (m x t)."""
        values = self._targets(votes)
        return np.asarray(values * self.log_factor_ if hasattr(self, "log_factor_") else values)

    def _targets(self, fitted: Array) -> Array:
        """Targets, or ends of intervals, from what members are fitted to: the inverse of `fitted_to`."""
        values = self.centre_ + self.scale_ * fitted
        return np.asarray(np.exp(values) if hasattr(self, "log_factor_") else values)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict, as the committee votes.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.
        return_std : bool, default=False
            Also the standard deviation of the latent function: of each member, and between the members.

        Returns
        -------
        prediction : ndarray of shape (n_rows,) or (n_rows, n_targets)
        std : ndarray of the same shape
            Only with `return_std`.
        """
        Z = self._rows(X)
        if not return_std:
            return self._out(self.in_units(self._votes(Z, X)))
        refuse_extra(self, "The standard deviation of predictions")
        votes, variance = self._cell_moments(Z) if self.in_cells else moments(self.members_, self.models_, Z)[:2]
        values, std = self.in_units(votes), self.scale_ * np.sqrt(variance)
        if hasattr(self, "log_factor_"):
            std = values * np.sqrt(np.expm1(std**2))  # of a variable whose logarithm is normal
        return self._out(values), self._out(std)

    def _cell_moments(self, Z: Array) -> tuple[Array, Array]:
        """The committee's values at encoded rows, and the variance of its members in cells and between them."""
        votes, total, spread = self._votes(Z, None), 0.0, np.zeros((len(Z), self._Y.shape[1]))
        for member, model in zip(self.members_, self.models_, strict=True):
            if isinstance(model, LocalRidge):
                off = model.fitted_.values(Z) - votes
                spread += member.weight * (model.fitted_.variance(Z) + off**2)
                total += member.weight
        return votes, spread / total

    @keyword_hints
    def predict_interval(self, X: Any, confidence: float = 0.9, method: str = "residuals") -> tuple[Array, Array]:
        """An interval that holds the target of a new row with about this probability.

        ============== ==========================================================================================
        method         what it rests on
        ============== ==========================================================================================
        `residuals`    One width for all rows: the geometric mean of the quantiles of the absolute out-of-fold
                       residuals, which are too large, and of these times the factor of `error_` (for n < 200 rows,
                       its power n / 200).
        `jackknife+`   The members without each row in turn, in closed form; widths were tuned on all rows.
        `cv+`          The members as tuned and fitted without each fold; slightly too wide, because they are fitted to
                       a part of the rows. Only the weights of the members depend on the held-out rows.
        `gaussian`     Mean and variance of the mixture of the members, and noise, as a normal distribution.
        ============== ==========================================================================================

        After tuning no method has a guarantee; `coverage` and `evaluate` check them.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.
        confidence : float, default=0.9
            Between 0 and 1.
        method : {"residuals", "jackknife+", "cv+", "gaussian"}, default="residuals"
            See above. Beyond 5000 rows members are in cells, and `residuals` is the only method.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Those of `jackknife+` and `cv+` are infinite where there are too few rows for this confidence.
        """
        confidence, method = check_confidence(confidence), check_auto_method(method)
        Z = self._rows(X)
        if self.in_cells and method != "residuals":
            must_be, got = "'residuals' for a model of more than 5000 rows", repr(method)
            raise InputError(sentence(f"method of {type(self).__name__}.predict_interval", must_be, got))
        if method != "residuals":
            refuse_extra(self, f"method={method!r} of predict_interval")
        if method == "gaussian":
            bounds = gaussian_bounds(*moments(self.members_, self.models_, Z), confidence)
        elif method == "jackknife+":
            bounds = by_jackknife(self.members_, self.models_, Z, confidence)
        elif method == "cv+":
            fitted = self.models_[0].X_fit_[self.rows_used_]
            weights = part_of(self.models_[0].fitted_.weights, self.rows_used_)
            problem = Problem(self._Y, weights, intercept=True)
            bounds = by_folds(self.committee_, fitted, problem, Z, confidence)
        else:
            bounds = by_residuals(self._votes(Z, X), *self.held_out_residuals(), confidence)
        lower, upper = (self._out(self._targets(end)) for end in bounds)
        return lower, upper

    def predict_quantiles(self, X: Any, q: Any = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of the target of new rows, whose spread follows the noise; from out-of-fold residuals.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            New rows.
        q : float or sequence of float, default=(0.05, 0.5, 0.95)
            Levels between 0 and 1, in ascending order.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_levels)
        """
        levels = check_levels(f"q of {type(self).__name__}.predict_quantiles", q)
        if np.ndim(self.centre_):
            raise InputError(f"{type(self).__name__}.predict_quantiles supports one target. Fit one model per target.")
        Z = self._rows(X)

        def out_of_fold() -> tuple[Kernel, Array, Array]:
            smooth = [member for member in self.members_ if "linear" not in member.name] or self.members_
            rows = getattr(self, "rows_used_", np.arange(len(self._Y)))
            kernel = max(smooth, key=lambda member: member.weight).kernel
            return kernel, self.models_[0].X_fit_[rows], -np.ravel(self._residuals) / self.scale_

        scale = ResidualScale.of(self.committee_, out_of_fold)
        values = self._targets(scale.quantiles(Z, self._votes(Z, X)[:, 0], levels))
        return values[:, 0] if np.ndim(q) == 0 else values

    def held_out_residuals(self) -> tuple[Array, Array]:
        """Standardized out-of-fold residuals (n x t), and residuals that are corrected for models of fewer rows."""
        check_is_fitted(self, "models_")
        corrected = self._residuals.reshape(len(self._residuals), -1) / self.scale_
        return self.committee_.held_out - self._Y, corrected

    @keyword_hints
    def coverage(self, X: Any, y: Any, confidence: float = 0.9, method: str = "residuals") -> Coverage:
        """The share of rows whose target lies in its interval.

        Parameters
        ----------
        X, y : table and array-like of shape (n_rows,) or (n_rows, n_targets)
            Rows with known targets.
        confidence, method
            As for `predict_interval`.

        Returns
        -------
        Coverage
            The share, as a number that also has the mean width of the intervals.
        """
        return coverage_of(self.predict_interval(X, confidence, method), y, confidence, method)

    def summary(self) -> str:
        """What was tried, what was chosen, and how good it is, for people.

        Returns
        -------
        str
        """
        check_is_fitted(self, "models_")
        n, tuned = len(self.models_[0].X_fit_), self.committee_.tuned_on
        error = f"{said(self.error_)} +- {said(self.error_standard_error_, 2)}"
        lines = [
            f"{n} rows, {self.n_features_in_} columns; widths tuned on {tuned} rows."
            + " The logarithm of the target is fitted." * hasattr(self, "log_factor_"),
            self._member_table(),
            f"Estimated error {error} ({self.how_judged()}); baseline {said(self.baseline_)}.",
        ]
        poor = np.atleast_1d(self.signal_) <= SIGNAL
        if poor.all():
            one = not np.ndim(self.centre_)
            held = (self._targets(self._Y)[:, 0], self.in_units(self.committee_.held_out)[:, 0]) if one else ()
            lines.append(doubt(error, said(self.baseline_), *held))
        elif poor.any():
            lines.append(
                f"For target {', '.join(map(str, np.flatnonzero(poor)))} the model is not better than the baseline."
            )
        lines += stability_words(getattr(self, "fold_errors_", np.empty((0, 1))), len(self.committee_.held_out))
        lines.append(self._relevance_text())
        return Text("\n".join([*lines, *self._left_out_columns()]))

    def unit(self) -> float:
        """The standard deviation of one target, or of its logarithms; 1 for several."""
        return self.scale_ if np.ndim(self.scale_) == 0 else 1.0

    def _error_words(self) -> str:
        logs = " of the logarithm" * hasattr(self, "log_factor_")
        return "out-of-fold error" + (logs if np.ndim(self.scale_) == 0 else f"{logs}, in deviations")

    @keyword_hints
    def evaluate(
        self, X: Any, y: Any, cv: int = 10, *, sample_weight: Any = None, groups: Any = None, time: Any = None
    ) -> Evaluation:
        """The outer loop: encoding, tuning, weighing and intervals repeated on the training part of every fold.

        Parameters
        ----------
        X, y : table and array-like
            As for `fit`.
        cv : int, default=10
            Number of folds.
        sample_weight, groups, time : array-like of shape (n_samples,), default=None
            As for `fit`; rows of one group are in one outer fold, too; with `time`, each outer fold is predicted from
            the rows before it. Errors count rows of weight 0 as any other.

        Returns
        -------
        Evaluation
        """
        y = check_targets(self, y)
        numbers, beside = self._outer_folds(X, y, None, cv, sample_weight, groups, time)
        predictions, errors, inside, base, gains, tested = np.full(y.shape, np.nan), [], [], [], [], []
        for train, test, part, model in self._outer(X, y, numbers, beside):
            predictions[test] = model.predict(part)
            mine, theirs = (predictions[test] - y[test]) ** 2, _baseline_squares(y, train, test, beside.times)
            errors.append(mine.mean(axis=0))
            base.append(theirs.mean(axis=0))
            gains.append((theirs - mine).reshape(len(test), -1))
            inside.append(float(model.coverage(part, y[test])))
            tested.append(test)
        each = np.sqrt(errors)
        error, baseline = np.sqrt(np.mean(errors, axis=0)), np.sqrt(np.mean(base, axis=0))
        if y.ndim == 1:
            error, baseline = float(error), float(baseline)
        rows = np.concatenate(tested)
        clusters = part_of(beside.clusters, rows)
        spread: Any = standard_error(each, 1.0 / int(numbers.max()))
        if clusters is not None:
            off = (predictions - y)[rows].reshape(len(rows), -1)
            spread = root_mean_square(off, clusters)[1]
        spread = spread if y.ndim > 1 else float(np.ravel(spread)[0])
        z = self._one(paired(np.concatenate(gains), clusters=clusters), y)
        return Evaluation(error, spread, baseline, each, float(np.mean(inside)), predictions, z)


def _baseline_squares(y: Array, train: Array, test: Array, times: Array | None) -> Array:
    """Squared errors of predicting the mean of the training rows; in time, or their last value if that errs less."""
    squares = [(y[test] - y[train].mean(axis=0)) ** 2]
    if times is not None:
        last = train[times[train] == times[train].max()]
        squares.append((y[test] - y[last].mean(axis=0)) ** 2)
    return np.asarray(min(squares, key=lambda losses: float(losses.mean())))
