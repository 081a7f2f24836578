"""Predictions and intervals of an automatic regressor, on the scale of its loss and in units of the target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer.data.checks import keyword_hints
from mercer.data.rows import Array, Rows, XLike, YLike
from mercer.errors import InputError, refuse_if
from mercer.estimators.auto_core import AutoCore
from mercer.estimators.auto_evaluation import MEAN_LOSSES, logarithms, without_zeros
from mercer.estimators.auto_members import refuse_extra
from mercer.estimators.inputs import coverage_of
from mercer.estimators.intervals import ResidualScale, check_levels
from mercer.estimators.local import LocalRidge
from mercer.estimators.parameters import is_in
from mercer.estimators.refitting import part_of
from mercer.insight.intervals import (
    METHODS,
    Coverage,
    check_confidence,
    gaussian_bounds,
    held_out_bounds,
    held_out_models,
    ranks,
)
from mercer.kernels import Kernel
from mercer.solvers.problem import Problem, take_rows
from mercer.tuning.committee import Committee, Member
from mercer.tuning.held_out import predict_new

AUTO_METHODS = ("residuals", *METHODS)
# Rows up to which the factors that jackknife+ is made of stay with their models.
_KEPT = 2000


class AutoIntervals(AutoCore):
    """What an automatic regressor predicts: values, intervals, quantiles and their coverage."""

    centre_: Any
    scale_: Any
    log_factor_: Any
    loss_: str
    _residuals: Array

    def _out(self, table: Array) -> Array:
        """The table, or a vector where there is one target."""
        return table[:, 0] if np.ndim(self.centre_) == 0 else table

    def fitted_to(self, y: Array) -> Array:
        """Targets as the members are fitted to them: of mean 0 and standard deviation 1, or their logarithms."""
        logs = hasattr(self, "log_factor_")
        return np.asarray(((logarithms(y, self.loss_) if logs else y) - self.centre_) / self.scale_)

    def in_units(self, votes: Array) -> Array:
        """Predictions, in units of y, from values of the committee (m x t)."""
        values = self._targets(votes)
        return np.asarray(values * self.log_factor_ if hasattr(self, "log_factor_") else values)

    def _targets(self, fitted: Array) -> Array:
        """Targets, or ends of intervals, from what members are fitted to: the inverse of `fitted_to`."""
        values = self.centre_ + self.scale_ * fitted
        return np.asarray(np.exp(values) if hasattr(self, "log_factor_") else values)

    def _truth(self, fitted: Array) -> Array:
        """Targets y from what members are fitted to."""
        return without_zeros(self._targets(fitted), self.loss_)

    def predict(self, X: XLike, return_std: bool = False) -> Any:
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
    def predict_interval(self, X: XLike, confidence: float = 0.9, method: str = "residuals") -> tuple[Array, Array]:
        """An interval that holds the target of a new row with about this probability.

        ============== ==========================================================================================
        method         what it rests on
        ============== ==========================================================================================
        `residuals`    The geometric mean of the quantiles of the absolute out-of-fold residuals, which are too large,
                       and of these times the factor of `error_` (for n < 200 rows, its power n / 200). One width for
                       all rows, or in proportion to a predicted size of the residual, if that lowers the pinball loss
                       of held-out rows by more than one standard error. The only method with Poisson and gamma
                       loss; the ends are whole numbers for counts.
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
        confidence, known = check_confidence(confidence), is_in(method, *AUTO_METHODS)
        refuse_if(not known, "method", "'residuals', 'jackknife+', 'cv+' or 'gaussian'", repr(method))
        Z, what = self._rows(X), f"method of {type(self).__name__}.predict_interval"
        if method == "residuals":
            lower, upper = self.ends_of(self.to_even_scale(self._votes(Z, X)), self.half_widths(Z, confidence))
            return self._out(lower), self._out(upper)
        refuse_if(self.in_cells, what, "'residuals' for a model of more than 5000 rows", repr(method))
        refuse_extra(self, f"method={method!r} of predict_interval")
        refuse_if(self.loss_ in MEAN_LOSSES, what, f"'residuals' with {self.loss_} loss", repr(method))
        if method == "gaussian":
            bounds = gaussian_bounds(*moments(self.members_, self.models_, Z), confidence)
        elif method == "jackknife+":
            bounds = by_jackknife(self.members_, self.models_, Z, confidence)
        else:
            problem = Problem(self._Y, part_of(self.models_[0].fitted_.weights, self.rows_used_), intercept=True)
            bounds = by_folds(self.committee_, Rows(self.models_[0].X_fit_[self.rows_used_]), problem, Z, confidence)
        lower, upper = (self._out(self.from_even_scale(end)) for end in bounds)
        return lower, upper

    def predict_quantiles(self, X: XLike, q: Any = (0.05, 0.5, 0.95)) -> Array:
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
        location = self.to_even_scale(self._votes(Z, X))[:, 0]
        values = self.from_even_scale(self._residual_scale().quantiles(Z, location, levels))
        values = np.rint(values) if self.loss_ == "poisson" else values
        return values[:, 0] if np.ndim(q) == 0 else values

    def _residual_scale(self) -> ResidualScale:
        """The model of the size of residuals, of one target."""

        def rows_and_residuals() -> tuple[Kernel, Array, Array]:
            smooth = [member for member in self.members_ if "linear" not in member.name] or self.members_
            rows = getattr(self, "rows_used_", np.arange(len(self._Y)))
            kernel = max(smooth, key=lambda member: member.weight).kernel
            return kernel, self.models_[0].X_fit_[rows], -np.ravel(self._residuals) / self.scale_

        return ResidualScale.of(self.committee_, rows_and_residuals)

    def to_even_scale(self, votes: Array) -> Array:
        """Values on the scale on which residuals are about equally large: the committee's; of counts, square roots."""
        return 2.0 * np.sqrt(self.in_units(votes)) if self.loss_ == "poisson" else votes

    def from_even_scale(self, values: Array) -> Array:
        """Ends of intervals, or quantiles, in units of y."""
        return (np.maximum(values, 0.0) / 2.0) ** 2 if self.loss_ == "poisson" else self._targets(values)

    def ends_of(self, middle: Array, half: Array) -> tuple[Array, Array]:
        """Ends of intervals in units of y, from that scale; whole numbers around the count nearest to the middle."""
        lower, upper = self.from_even_scale(middle - half), self.from_even_scale(middle + half)
        if self.loss_ != "poisson":
            return lower, upper
        nearest = np.rint(self.from_even_scale(middle))
        return np.minimum(np.ceil(lower), nearest), np.maximum(np.floor(upper), nearest)

    def _even_residuals(self) -> Array:
        """Out-of-fold residuals f - y on that scale (n x t)."""
        if self.loss_ == "poisson":
            return np.asarray(self.to_even_scale(self.committee_.held_out) - 2.0 * np.sqrt(self._truth(self._Y)))
        return self.committee_.held_out - self._Y

    def half_widths(self, Z: Array | None, confidence: float) -> Array:
        """Half-widths of intervals by residuals at encoded rows, on the even scale (m x t, or 1 x t if all are equal).

        None stands for the training rows, with sizes that were predicted without each of them.
        """
        corrected = self._residuals.reshape(len(self._residuals), -1) / self.scale_
        sizes = new = np.ones((1, 1))
        if not np.ndim(self.centre_) and (scale := self._residual_scale()).lowers_loss(self.committee_.clusters):
            sizes = scale.sizes[:, None]
            new = sizes if Z is None else scale.predict(Z)[:, None]
        both = np.abs(self._even_residuals() / sizes), np.abs(corrected / sizes)
        # the rank that makes an interval hold in finite samples; the largest residual where there is none
        rank = min(ranks(len(corrected), confidence)[1], len(corrected))
        return np.asarray(new * np.sqrt(math.prod(np.partition(each, rank - 1, axis=0)[rank - 1] for each in both)))

    def share_inside(self, confidence: float) -> float:
        """Share of out-of-fold residuals inside the intervals by residuals."""
        half = self.half_widths(None, confidence)
        if self.loss_ != "poisson":
            return float(np.mean(np.abs(self._even_residuals()) <= half))
        lower, upper = self.ends_of(self.to_even_scale(self.committee_.held_out), half)
        counts = self._truth(self._Y)
        return float(np.mean((lower <= counts) & (counts <= upper)))

    @keyword_hints
    def coverage(self, X: XLike, y: YLike, confidence: float = 0.9, method: str = "residuals") -> Coverage:
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


def moments(members: Sequence[Member], models: Sequence[Any], Z: Array) -> tuple[Array, Array, Array]:
    """Mean, variance of the latent function, and noise variance of a committee at encoded rows, each m x t.

    The variance is that of a mixture: what the members say of themselves, and what is between them.
    """
    rows, fits = Rows(Z), [model.fitted_ for model in models]
    scales, means = [fitted.evidence()[0] for fitted in fits], [fitted.values(rows) for fitted in fits]
    both = list(zip(fits, scales, strict=True))
    variances = [scale * fitted.variance(rows, fitted.kernel.diagonal(rows)) for fitted, scale in both]
    weights = np.array([member.weight for member in members])
    votes = np.asarray(sum(weight * mean for weight, mean in zip(weights, means, strict=True)))  # as predict adds them
    spread = np.tensordot(weights, np.add(variances, np.square(np.subtract(means, votes))), axes=1)
    return votes, spread, weights @ np.array([fitted.alphas * scale for fitted, scale in both])


def by_jackknife(members: Sequence[Member], models: Sequence[Any], Z: Array, confidence: float) -> tuple[Array, Array]:
    """jackknife+ of the weighted vote, from the closed forms of its members."""
    lefts = [held_out_models(model.fitted_)[0][1] for model in models]
    weights = [member.weight for member in members]
    reach = np.abs(sum(weight * left.residuals for weight, left in zip(weights, lefts, strict=True)))

    def values(part: slice) -> Iterator[tuple[int, Array]]:
        columns = [model.fitted_.columns(Rows(Z[part])) for model in models]
        votes = [left.predictions(new) for left, new in zip(lefts, columns, strict=True)]
        for target in range(reach.shape[1]):
            found = np.zeros((part.stop - part.start, len(reach)))
            for weight, vote in zip(weights, votes, strict=True):
                found += weight * next(vote)
            yield target, found

    bounds = held_out_bounds(reach, values, len(Z), confidence)
    for model in models if len(reach) > _KEPT else ():
        model.fitted_.known.clear()
    return bounds


def by_folds(committee: Committee, rows: Rows, problem: Problem, Z: Array, confidence: float) -> tuple[Array, Array]:
    """CV+ of the folds that the committee was weighed on; its members are fitted again without each of them."""
    if not committee.by_fold:
        needs = "method='cv+' needs, for each fold, the kernels that were tuned on the other folds"
        without = "a model fitted with time, or loaded from an old file, does not have them"
        raise InputError(f"{needs}; {without}. Use method='residuals'.")
    Y, count, shares = problem.Y, len(committee.by_fold), committee.fold_weights
    shares = np.array([[member.weight for member in committee.members]] * count) if shares is None else shares
    at_new, new = np.zeros((count, len(Z), Y.shape[1])), Rows(Z)
    for fold, tuned in enumerate(committee.by_fold):
        train = take_rows(rows, problem, np.flatnonzero(committee.folds != fold))
        for weight, (kernel, alpha) in zip(shares[fold], tuned, strict=True):
            at_new[fold] += weight * predict_new(kernel, alpha, *train, new)

    def values(part: slice) -> Iterator[tuple[int, Array]]:
        for target in range(Y.shape[1]):
            yield target, at_new[committee.folds, part, target].T.copy()

    return held_out_bounds(np.abs(committee.held_out - Y), values, len(Z), confidence)
