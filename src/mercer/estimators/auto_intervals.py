"""Prediction intervals of a committee: what each method takes for the models that have not seen a row.

All is in units of standardized targets. `jackknife+` leaves single rows out of the fitted members, in closed form:
their widths, alphas and weights have seen the row. `cv+` takes the members that were tuned, fitted and weighed without
a fold; only which of them have weight at all was decided with it. The guarantees of both are nominal for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.estimators.ridge import KernelRidge
from mercer.insight.intervals import METHODS, gaussian_bounds, held_out_bounds, held_out_models, ranks
from mercer.solvers.problem import Problem, taken
from mercer.tuning.alphas import predicted
from mercer.tuning.committee import Committee, Member

AUTO_METHODS = ("residuals", *METHODS)
# Rows up to which the factors that jackknife+ is made of stay with their models.
_KEPT = 2000


def checked_auto_method(value: Any) -> str:
    """A method there is."""
    if not isinstance(value, str) or value not in AUTO_METHODS:
        raise InputError(sentence("method", "'residuals', 'jackknife+', 'cv+' or 'gaussian'", repr(value)))
    return value


def moments(members: Sequence[Member], models: Sequence[KernelRidge], Z: Array) -> tuple[Array, Array, Array]:
    """Mean, variance of the latent function, and noise variance of a committee at encoded rows, each m x t.

    The variance is that of a mixture: what the members say of themselves, and what is between them.
    """
    means, variances, noises = [], [], []
    for model in models:
        rows, fitted = Rows(Z), model.fitted_
        scale = fitted.evidence()[0]
        means.append(fitted.values(rows))
        variances.append(scale * fitted.variance(rows, fitted.kernel.diagonal(rows)))
        noises.append(fitted.alphas * scale)
    weights = np.array([member.weight for member in members])
    votes = np.tensordot(weights, means, axes=1)
    spread = np.tensordot(weights, np.add(variances, np.square(np.subtract(means, votes))), axes=1)
    return votes, spread, weights @ np.array(noises)


def by_gaussian(
    members: Sequence[Member], models: Sequence[KernelRidge], Z: Array, confidence: float
) -> tuple[Array, Array]:
    """The normal distribution of the same mean and variance as the committee's mixture."""
    votes, variance, noise = moments(members, models, Z)
    return gaussian_bounds(votes, variance, noise, confidence)


def by_residuals(votes: Array, out_of_fold: Array, left_out: Array, confidence: float) -> tuple[Array, Array]:
    """Intervals of half-width the geometric mean of the two residual quantiles."""
    half = np.sqrt(_quantiles(np.abs(out_of_fold), confidence) * _quantiles(np.abs(left_out), confidence))
    return votes - half, votes + half


def _quantiles(sizes: Array, confidence: float) -> Array:
    """For each target the rank that makes an interval hold in finite samples; the largest where there is none."""
    rank = min(ranks(len(sizes), confidence)[1], len(sizes))
    return np.asarray(np.partition(sizes, rank - 1, axis=0)[rank - 1])


def by_jackknife(
    members: Sequence[Member], models: Sequence[KernelRidge], Z: Array, confidence: float
) -> tuple[Array, Array]:
    """jackknife+ of the weighted vote, from the closed forms of its members."""
    lefts = [held_out_models(model.fitted_)[0][1] for model in models]
    weights = [member.weight for member in members]
    reach = np.abs(sum(weight * left.residuals for weight, left in zip(weights, lefts, strict=True)))

    def values(part: slice) -> Iterator[tuple[int, Array]]:
        columns = [model.fitted_.columns(Rows(Z[part])) for model in models]
        shares = [left.shares(new) for left, new in zip(lefts, columns, strict=True)]
        for target in range(reach.shape[1]):
            found = np.zeros((part.stop - part.start, len(reach)))
            for weight, left, new, share in zip(weights, lefts, columns, shares, strict=True):
                found += weight * left.predictions(new, share, target)
            yield target, found

    bounds = held_out_bounds(reach, values, len(Z), confidence)
    for model in models if len(reach) > _KEPT else ():
        model.fitted_.known.clear()
    return bounds


def by_folds(committee: Committee, fitted: Array, problem: Problem, Z: Array, confidence: float) -> tuple[Array, Array]:
    """CV+ of the folds that the committee was weighed on; its members are fitted again without each of them."""
    if not committee.by_fold:
        raise InputError(
            "method='cv+' needs, for each fold, the kernels that were tuned on the other folds; a model fitted with "
            "time, or loaded from an old file, does not have them. Use method='residuals'."
        )
    rows, Y, new = Rows(fitted), problem.Y, Rows(Z)
    at_new = np.zeros((len(committee.by_fold), len(Z), Y.shape[1]))
    for fold, tuned in enumerate(committee.by_fold):
        train = taken(rows, problem, np.flatnonzero(committee.folds != fold))
        weights = (
            [m.weight for m in committee.members] if committee.fold_weights is None else committee.fold_weights[fold]
        )
        for weight, (kernel, alpha) in zip(weights, tuned, strict=True):
            at_new[fold] += weight * predicted(kernel, alpha, *train, new)

    def values(part: slice) -> Iterator[tuple[int, Array]]:
        for target in range(Y.shape[1]):
            yield target, at_new[committee.folds, part, target].T.copy()

    return held_out_bounds(np.abs(committee.held_out - Y), values, len(Z), confidence)
