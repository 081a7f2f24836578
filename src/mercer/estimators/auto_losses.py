"""The loss of an automatic regressor: which one suits the targets, how they are coded for it, and if it is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.estimators.auto_core import FULL_SYSTEMS
from mercer.estimators.auto_evaluation import paired
from mercer.solvers.losses import LOSSES, Loss

MEAN_LOSSES = ("poisson", "gamma")  # of models of the logarithm of the mean
LOSS_NAMES = ("auto", "squared", "log", *MEAN_LOSSES)
WORDS = {
    "squared": "",
    "log": "The logarithm of the target is fitted.",
    "poisson": "Poisson loss: the logarithm of the mean count is fitted.",
    "gamma": "Gamma loss: the logarithm of the mean of a positive target is fitted.",
}
_ZERO = 0.5  # what a count of 0 is coded as, so that it has a logarithm
_SPREAD = 0.5  # standard deviations, over the mean, from which on a positive target is worth another loss


def candidate_loss(y: Array) -> str | None:
    """The loss that is tried beside the squared one; the first line that fits decides.

    ================================================================  ===========
    several targets                                                   None
    a standard deviation below half of the mean, or a mean below 0    None
    positive numbers                                                  `gamma`
    whole numbers from 0 on                                           `poisson`
    other numbers                                                     None
    ================================================================  ===========
    """
    if y.ndim > 1 or y.std() < _SPREAD * y.mean() or not y.mean() > 0:
        return None
    if (y > 0).all():
        return "gamma"
    return "poisson" if are_counts(y) else None


def are_counts(y: Array) -> bool:
    """Whether all targets are whole numbers that are not negative."""
    return bool((y >= 0).all() and (y == np.floor(y)).all())


def check_loss(name: Any, y: Array, what: str, *, ordered: bool = False, extra: bool = False) -> None:
    """Refuse losses that there are not, and targets and settings that a loss does not support.

    Parameters
    ----------
    name : str
        The loss.
    y : ndarray of shape (n,) or (n, n_targets)
        Targets.
    what : str
        What the sentence calls the targets.
    ordered, extra : bool, default=False
        Whether folds follow in time, and whether other estimators are in the committee.
    """
    if not isinstance(name, str) or name not in LOSS_NAMES:
        raise InputError(sentence("loss of AutoRegressor", f"one of {', '.join(map(repr, LOSS_NAMES))}", repr(name)))
    positive, counts = bool((y > 0).all()), are_counts(y) and bool(y.any())
    if not {"log": positive, "gamma": positive, "poisson": counts}.get(name, True):
        must_be = "whole numbers from 0 on, not all 0," if name == "poisson" else "positive"
        raise InputError(sentence(what, f"{must_be} with loss={name!r}", f"{y.min():g} as the smallest"))
    unsupported = {
        "a table of targets": y.ndim > 1,
        "time": ordered,
        "extra": extra,
        f"more than {FULL_SYSTEMS} rows": len(y) > FULL_SYSTEMS,
    }
    for setting, given in unsupported.items() if name in MEAN_LOSSES else ():
        if given:
            raise InputError(f"loss={name!r} does not support {setting}. Use loss='log' or loss='squared'.")


def logarithms(y: Array, name: str) -> Array:
    """Logarithms of targets; of counts with one half for 0."""
    return np.asarray(np.log(np.where(y > 0, y, _ZERO) if name == "poisson" else y))


def without_zeros(values: Array, name: str) -> Array:
    """Targets from the exponentials of `logarithms`: counts are whole again."""
    return np.where(values < 1.5 * _ZERO, 0.0, np.rint(values)) if name == "poisson" else values


def lowers_loss(name: str, y: Array, before: Array, after: Array, clusters: Array | None) -> bool:
    """Whether held-out predictions of this loss are better than those of the squared one.

    Their mean loss must be lower by more than one standard error, and their squared error not higher by more than half
    of one, and below that of the mean.
    Predictions that are not positive count as half of the least positive target.
    """
    loss: Loss = LOSSES[name]()
    least = 0.5 * float(y[y > 0].min())

    def losses(predicted: Array) -> Array:
        return loss.rows(y, np.log(np.maximum(predicted, least))[:, None])

    gains = np.column_stack([losses(before) - losses(after), (before - y) ** 2 - (after - y) ** 2])
    deviance, square = paired(gains, clusters=clusters)
    better = bool(np.mean((after - y) ** 2) < y.var())
    return better and bool(deviance > 1.0 and square > -0.5)
