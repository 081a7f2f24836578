"""Regression without settings: standardize, tune, weigh, and say how good it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import check_size, keyword_hints
from mercer.data.rows import Array, Estimator, PerRow, Rows, XLike, YLike
from mercer.errors import InputError, printable, refuse_if
from mercer.estimators.auto_evaluation import (
    MEAN_LOSSES,
    WORDS,
    candidate_loss,
    check_loss,
    error_spread,
    fold_errors,
    growth,
    logarithms,
    lowers_loss,
    root_mean_square,
    signal,
    stability_words,
    tuning_factor,
)
from mercer.estimators.auto_intervals import AutoIntervals
from mercer.estimators.inputs import check_targets, refuse_names
from mercer.estimators.parameters import validate
from mercer.estimators.ridge import KernelRidge
from mercer.kernels import Kernel
from mercer.selection.outcome import ROOT_MEAN_SQUARE, SIGNAL, Outcome, doubt, numbers_text
from mercer.selection.table import standard_error
from mercer.solvers.problem import LOSSES, Loss, Problem
from mercer.text import counted, plain
from mercer.tuning.committee import REGRESSION, TrainingTable
from mercer.tuning.generalized import as_ridge, generalized_committee

_TRUSTED = 200  # rows from which on intervals take the factor of `error_` as it is


@dataclass(eq=False, repr=False, kw_only=True)
class AutoRegressor(RegressorMixin, AutoIntervals):  # type: ignore[misc]
    """Kernel ridge regression without settings: a weighted mean of models with tuned kernels.

    Tables are encoded (numbers standardized, categories, dates and missing values included, see `encoder_`). Four
    kernels are tuned by the gradient of an error on held-out rows, separately without each of three folds; a linear
    kernel and its sum with a smooth one join them. The weights are those with which out-of-fold predictions have the
    least squared error. `summary` shows what was tried and
    chosen; `evaluate` repeats all of it in an outer cross-validation.

    Counts with zeros, and positive targets whose standard deviation is more than half of their mean, are also fitted
    with Poisson and gamma loss, up to 2000 rows. These models take the place of the others if they lower the held-out
    loss by more than one standard error.

    Parameters
    ----------
    committee : bool, default=True
        False fits a single kernel, which is easier to interpret.
    time_budget : float, default=None
        Seconds that `fit` may take: tuning stops early enough for the steps after it. If these steps alone take longer,
        there is an error at the start.
    loss : {"auto", "squared", "log", "poisson", "gamma"}, default="auto"
        `log` fits the logarithm of positive targets by squared errors. Predictions are exponentials times a factor with
        which the sum of out-of-fold predictions equals that of the targets, so that they estimate the mean and not the
        median. `poisson`, for counts, and `gamma`, for positive targets, minimize that loss of a model of the
        logarithm of the mean. `auto` tries one of these two where it fits the targets, and `squared` neither.
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
    loss_ : str
        The loss that was used: `squared`, `log`, `poisson` or `gamma`.
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
        2 the model is better than the baseline. Where logarithms are fitted, those of the logarithms.
    log_factor_ : float, or ndarray of shape (n_targets,)
        Factor of the exponentials; only where logarithms are fitted.

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

    loss: str = "auto"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None, time: Any = None) -> Self:
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
        Y, what = y.reshape(len(y), -1), f"y of {type(self).__name__}"
        check_size(what, Y)
        check_loss(self.loss, y, what, ordered=beside.times is not None, extra=bool(self.extra))
        self.baseline_ = self._one(Y.std(axis=0), y)
        self.__dict__.pop("log_factor_", None)  # of the fit before
        self.loss_ = "log" if self.loss == "log" else "squared"  # before `_revise`
        targets = logarithms(y, self.loss_) if self.loss_ == "log" else y
        Y = targets.reshape(len(y), -1)
        spread = Y.std(axis=0)
        self.centre_, self.scale_ = self._one(Y.mean(axis=0), y), self._one(np.where(spread > 0, spread, 1.0), y)
        self._fit_committee(Z, (Y - self.centre_) / self.scale_, None, beside, table, targets)
        committee, truth = self.committee_, self._Y
        held, clusters, factor = committee.held_out, committee.clusters, np.broadcast_to(growth(committee), Y.shape[1:])
        if self.loss_ == "log":
            sums = (np.exp(self.centre_ + self.scale_ * each).sum(axis=0) for each in (truth, held))
            self.log_factor_ = self._one(np.divide(*sums), y)
        squared = self.loss_ == "squared"
        residuals = self.scale_ * (held - truth) if squared else self.in_units(held) - self._truth(truth)
        error, spread = (factor * each for each in root_mean_square(residuals, clusters))
        self.fold_errors_ = fold_errors(residuals, committee)
        if committee.base is not None and squared:
            self.baseline_ = self._one(self.scale_ * np.sqrt(np.mean(committee.base**2, axis=0)), y)
        by_few = tuning_factor(len(held), clusters, ordered=committee.base is not None)
        spread = error_spread(spread, self.fold_errors_, by_few)
        self.error_, self.error_standard_error_ = self._one(error, y), self._one(spread, y)
        trusted = min(1.0, len(held) / _TRUSTED)  # of few rows the factor itself is uncertain
        self._residuals = self._out(factor**trusted * self.scale_ * self._even_residuals())
        return self

    @property
    def signal_(self) -> Any:
        """z of the paired difference between the squared errors of the baseline and of out-of-fold predictions."""
        check_is_fitted(self, "models_")
        committee, Y = self.committee_, self._Y
        if self.loss_ in MEAN_LOSSES:  # which fit the logarithm of the mean, not the mean of logarithms
            committee, Y = replace(committee, held_out=self.in_units(committee.held_out)), self._truth(Y)
        found = signal(committee, Y)
        return found if np.ndim(self.centre_) else float(found[0])

    def _revise(self, table: TrainingTable, y: Array, deadline: float) -> TrainingTable:
        """Take Poisson or gamma regression with the same kernels, if it was asked for or predicts better."""
        Y, y, committee = table.problem.Y, y.reshape(len(y), -1), self.committee_
        asked = self.loss in MEAN_LOSSES
        name = self.loss if asked else candidate_loss(y[:, 0] if Y.shape[1] == 1 else y)
        if self.loss not in ("auto", name) or name is None:
            return table
        if not asked and (self.extra or committee.base is not None or signal(committee, Y)[0] <= SIGNAL):
            return table
        if not all(y[committee.folds != fold].any() for fold in np.unique(committee.folds)):
            if asked:
                raise InputError(f"loss={name!r} needs targets above 0 outside of every fold. Use loss='squared'.")
            return table
        before = (self.centre_ + self.scale_ * committee.held_out)[:, 0]
        plain, self.loss_ = (self.centre_, self.scale_), str(name)
        self.centre_, self.scale_, self.log_factor_ = math.log(float(y.mean())), 1.0, 1.0
        coded = replace(table, problem=Problem(self.fitted_to(y), table.problem.weights, intercept=True))
        how: Any = {"single": not self.committee, "limited": not asked, "deadline": deadline}
        found = generalized_committee(coded, committee, self._read, **how)
        if found is None and asked:
            raise InputError(f"time_budget of {type(self).__name__} is too short for loss={name!r}. Use a larger one.")
        if found is not None:
            after = self.in_units(found.held_out)[:, 0]
            if asked or lowers_loss(self.loss_, y[:, 0], before, after, committee.clusters):
                self.committee_ = found
                return coded
        self.loss_, (self.centre_, self.scale_) = "squared", plain
        del self.log_factor_
        return table

    def _read(self, Y: Array) -> tuple[Loss, Array]:
        """The Poisson or gamma loss, and targets of mean one, from the targets of the committee."""
        return LOSSES[self.loss_](), self._truth(Y)[:, 0] / math.exp(self.centre_)

    def member(self, kernel: Kernel, alpha: float, Z: Array, Y: Array, weights: Array | None = None) -> KernelRidge:
        """A member with these parameters, fitted to encoded rows; with another loss as its last Newton step."""
        if self.loss_ in MEAN_LOSSES:
            shape, Y = np.shape(Y), np.reshape(Y, (len(Y), -1))
            alpha, Y = as_ridge(self._read, kernel, alpha, Rows(Z), Y, weights)
            Y, weights = Y.reshape(shape), None
        return super().member(kernel, alpha, Z, Y, weights)

    def _losses(self, votes: Array, Y: Array) -> Array:
        if np.ndim(self.centre_):
            return np.asarray(np.mean((votes - Y) ** 2, axis=1))
        return np.asarray((self.in_units(votes) - self._truth(Y))[:, 0] ** 2)

    def _extra_votes(self, model: Estimator, X: XLike) -> Array:
        values = np.asarray(model.predict(X), dtype=np.float64)
        targets = np.size(self.centre_)
        what, must_be = f"Predictions of {type(model).__name__} in extra", f"{targets} for each row"
        refuse_if(values.size != len(values) * targets, what, must_be, f"shape {values.shape}")
        return np.asarray((values.reshape(len(values), -1) - self.centre_) / self.scale_)

    @staticmethod
    def _one(numbers: Array, y: Array) -> Any:
        """A number for one target, an array for several."""
        return numbers if y.ndim > 1 else float(numbers[0])

    def _words(self) -> tuple[str, str, str, list[str]]:
        """For the summary: how it was tuned, the error, the baseline, and further lines."""
        error = f"{numbers_text(self.error_)} +- {numbers_text(self.error_standard_error_, 2)}"
        baseline, committee = numbers_text(self.baseline_), self.committee_
        poor, lines = np.atleast_1d(self.signal_) <= SIGNAL, []
        if poor.all():
            one = not np.ndim(self.centre_)
            held = (self._truth(self._Y)[:, 0], self.in_units(committee.held_out)[:, 0]) if one else ()
            lines = [doubt(error, baseline, *held)]
        elif poor.any():
            targets = ", ".join(map(str, np.flatnonzero(poor)))
            lines = [f"For target {targets} the model is not better than the baseline."]
        lines += stability_words(getattr(self, "fold_errors_", np.empty((0, 1))), len(committee.held_out))
        shown = [f"{printable(name)} {plain(value, 2)}" for name, value in self.relevance().items()]
        listed = ", ".join([*shown[:8], *["..."] * (len(shown) > 8)])
        by_rise = f"Columns by relevance (rise of the error when permuted): {listed}."
        lines.append(by_rise if shown else "No column varies.")
        head = f"; widths tuned on {committee.tuned_on} rows. {self.loss_words}"
        return head, f"Estimated error {error}", baseline, lines

    def unit(self) -> float:
        """The standard deviation of one target, or of its logarithms; 1 for several."""
        return self.scale_ if np.ndim(self.scale_) == 0 else 1.0

    @property
    def loss_words(self) -> str:
        """A sentence that names the loss if it is another one than the squared error."""
        return WORDS[self.loss_]

    def error_title(self) -> str:
        """What the errors of members are."""
        if self.loss_ in MEAN_LOSSES:
            return f"out-of-fold {self.loss_} loss"
        logs = " of the logarithm" * hasattr(self, "log_factor_")
        return "out-of-fold error" + (logs if np.ndim(self.scale_) == 0 else f"{logs}, in deviations")

    @keyword_hints
    def evaluate(
        self, X: XLike, y: YLike, cv: int = 10, *, sample_weight: PerRow = None, groups: PerRow = None, time: Any = None
    ) -> Outcome:
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
        Outcome
        """
        y = check_targets(self, y)
        numbers, beside = self._outer_folds(X, y, None, cv, sample_weight, groups, time)
        predictions, inside = np.full(y.shape, np.nan), []

        def judge(train: Array, test: Array, part: XLike, model: Self) -> tuple[Array, Array, Array]:
            # the baseline: the mean of the training rows; in time, or their last value if that errs less
            mine, squares = (predictions[test] - y[test]) ** 2, [(y[test] - y[train].mean(axis=0)) ** 2]
            if beside.times is not None:
                last = train[beside.times[train] == beside.times[train].max()]
                squares.append((y[test] - y[last].mean(axis=0)) ** 2)
            theirs = min(squares, key=lambda losses: float(losses.mean()))
            inside.append(float(model.coverage(part, y[test])))
            return mine.mean(axis=0), theirs.mean(axis=0), (theirs - mine).reshape(len(test), -1)

        errors, base, rows, clusters, z = self._judge_folds(X, y, numbers, beside, predictions, judge)
        each = np.sqrt(errors)
        spread = standard_error(each, 1.0 / int(numbers.max()))
        if clusters is not None:
            spread = root_mean_square((predictions - y)[rows].reshape(len(rows), -1), clusters)[1]
        means = (np.sqrt(part.mean(axis=0)) for part in (errors, base))
        error, baseline, spread, z = (self._one(np.atleast_1d(number), y) for number in (*means, spread, z))
        return Outcome(
            ROOT_MEAN_SQUARE, "neg_root_mean_squared_error", -each[None], -error, spread,
            "outer cross-validation", f"{counted(len(each), 'fold')}, all steps repeated in each", base=-baseline,
            predictions=predictions[None], coverage=float(np.mean(inside)), signal=z,
        )  # fmt: skip
