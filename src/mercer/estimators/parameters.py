"""What the parameters of estimators may be: one table for all of them, since a name means the same everywhere."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.errors import InputError, sentence
from mercer.tables import TableEncoder


@dataclass(frozen=True)
class Allowed:
    """The values that a parameter may have, and how they are called."""

    words: str
    holds: Callable[[Any], bool]


def is_flag(value: Any) -> bool:
    """True or False, and nothing that merely counts as one."""
    return isinstance(value, bool | np.bool_)


def is_whole(value: Any, least: float = -math.inf) -> bool:
    """A whole number of at least `least`; True and False are none."""
    return isinstance(value, numbers.Integral) and not is_flag(value) and int(value) >= least


def is_seconds(value: Any) -> bool:
    """A positive, finite number."""
    return isinstance(value, numbers.Real) and not is_flag(value) and 0 < float(value) < math.inf


def _none_or(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or holds(value)


_FLAG = Allowed("True or False", is_flag)
ALLOWED = {
    "alpha_per_target": _FLAG,
    "block_rows": Allowed("an integer above 0, or None", _none_or(lambda value: is_whole(value, 1))),
    "budget": Allowed("a number of seconds above 0", is_seconds),
    "copies": Allowed("True, False or None", _none_or(is_flag)),
    "encoder": Allowed("a TableEncoder, or None", _none_or(lambda value: isinstance(value, TableEncoder))),
    "extend_grid": _FLAG,
    "fit_intercept": _FLAG,
    "log_target": _FLAG,
    "nested": _FLAG,
    "rule": Allowed("'best' or 'one_se'", lambda value: isinstance(value, str) and value in ("best", "one_se")),
    "time_budget": Allowed("a positive number of seconds, or None", _none_or(lambda v: v == math.inf or is_seconds(v))),
    "tune": _FLAG,
    "verbose": Allowed("0, 1 or 2", lambda value: isinstance(value, numbers.Integral)),
    "verify": _FLAG,
}


def validate(estimator: Any) -> None:
    """Refuse the first parameter of an estimator that is not among the values allowed.

    Examples
    --------
    >>> from mercer import KernelRidgeCV
    >>> from mercer.estimators.parameters import validate
    >>> validate(KernelRidgeCV(rule="two_se"))
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: rule of KernelRidgeCV must be 'best' or 'one_se'; got 'two_se'.
    """
    for name, value in estimator.get_params(deep=False).items():
        allowed = ALLOWED.get(name)
        if allowed is not None and not allowed.holds(value):
            raise InputError(sentence(f"{name} of {type(estimator).__name__}", allowed.words, repr(value)))
