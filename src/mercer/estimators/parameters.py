"""What the parameters of estimators may be, one table for all of them, and which kernel an argument stands for."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.data.rows import Estimator, XLike
from mercer.errors import InputError, nearest, sentence
from mercer.kernels import (
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Custom,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
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
    "class_weight": Allowed(
        "a dict, 'balanced' or None",
        _none_or(lambda value: isinstance(value, dict) or (isinstance(value, str) and value == "balanced")),
    ),
    "core_rows": Allowed("an integer above 0", lambda value: is_whole(value, 1)),
    "copies": Allowed("True, False or None", _none_or(is_flag)),
    "encoder": Allowed("a TableEncoder, or None", _none_or(lambda value: isinstance(value, TableEncoder))),
    "exact": _FLAG,
    "extend_grid": _FLAG,
    "fit_intercept": _FLAG,
    "mix": Allowed("an integer above 0", lambda value: is_whole(value, 1)),
    "nested": _FLAG,
    "rule": Allowed("'best' or 'one_se'", lambda value: isinstance(value, str) and value in ("best", "one_se")),
    "system_rows": Allowed("an integer above 0", lambda value: is_whole(value, 1)),
    "time_budget": Allowed("a positive number of seconds, or None", _none_or(lambda v: v == math.inf or is_seconds(v))),
    "tune": _FLAG,
    "verbose": Allowed("0, 1 or 2", lambda value: isinstance(value, numbers.Integral)),
    "verify": _FLAG,
}


def validate(estimator: Estimator) -> None:
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


NAMES = (
    "additive_chi2", "chi2", "cosine", "gaussian", "laplacian", "linear", "poly", "polynomial", "precomputed", "rbf",
    "sigmoid",
)  # fmt: skip


@dataclass(frozen=True)
class KernelSettings:
    """scikit-learn's parameters of its kernel strings; they belong to strings and functions only."""

    gamma: Any = None
    degree: Any = 3
    coef0: Any = 1
    params: Any = None


DEFAULTS = KernelSettings()


def resolve(owner: str, kernel: Any, columns: int, settings: KernelSettings = DEFAULTS) -> Kernel:
    """The kernel object that an argument stands for, for rows of so many columns.

    Examples
    --------
    >>> from mercer.estimators.parameters import resolve
    >>> resolve("KernelRidge", "rbf", columns=2)
    Gaussian(width=1.0)
    """
    if isinstance(kernel, Kernel):
        if settings != DEFAULTS:
            raise InputError(
                f"gamma, degree, coef0 and kernel_params of {owner} are only used with kernel names such as 'rbf'; "
                f"kernel is {kernel!r}. Set the parameters of the kernel object instead."
            )
        return kernel
    if isinstance(kernel, str):
        return _from_name(owner, kernel, columns, settings)
    if isinstance(kernel, type):
        name = kernel.__name__
        raise InputError(sentence(f"kernel of {owner}", "a kernel object", f"the class {name}", f"Write {name}()."))
    if callable(kernel):
        return Custom(RowFunction(kernel, settings.params or {}))
    raise InputError(sentence(f"kernel of {owner}", "a kernel, a name or a function", repr(kernel)))


def is_precomputed(kernel: Any) -> bool:
    """Whether X is to be a Gram matrix."""
    return kernel == "precomputed" if isinstance(kernel, str) else getattr(kernel, "kind", "") == "gram"


def takes_sparse(kernel: Any) -> bool:
    """Whether X may be a sparse matrix: unknown for functions."""
    return isinstance(kernel, str) or bool(getattr(kernel, "takes_sparse", False))


def is_positive_only(kernel: Any) -> bool:
    """Whether X must not hold negative numbers."""
    if isinstance(kernel, str):
        return kernel in ("chi2", "additive_chi2")
    return bool(getattr(kernel, "positive_only", False))


def _from_name(owner: str, name: str, columns: int, settings: KernelSettings) -> Kernel:
    gamma = _number(owner, "gamma", settings.gamma, least=0.0) if settings.gamma is not None else None
    per_column = 1.0 / max(columns, 1) if gamma is None else gamma
    match name:
        case "linear":
            return Linear()
        case "rbf" | "gaussian":
            return Gaussian.from_gamma(per_column) if per_column > 0 else Constant(1.0)
        case "laplacian":
            return Laplacian(1.0 / per_column) if per_column > 0 else Constant(1.0)
        case "poly" | "polynomial":
            return _polynomial(owner, per_column, settings)
        case "sigmoid":
            return Sigmoid(per_column, _number(owner, "coef0", settings.coef0))
        case "cosine":
            return Cosine()
        case "chi2":
            return Constant(1.0) if gamma == 0 else Chi2(1.0 if gamma is None else gamma)
        case "additive_chi2":
            return AdditiveChi2()
        case "precomputed":
            return Precomputed()
    must_be = "a known name, a kernel or a function"
    raise InputError(sentence(f"kernel of {owner}", must_be, repr(name), nearest(name, NAMES)))


def _polynomial(owner: str, scale: float, settings: KernelSettings) -> Kernel:
    degree = _number(owner, "degree", settings.degree, least=0.0)
    offset = _number(owner, "coef0", settings.coef0)
    if degree == 0:
        return Constant(1.0)
    if degree == int(degree) and offset >= 0:
        return Polynomial(int(degree), offset, scale)
    from sklearn.metrics.pairwise import polynomial_kernel

    return Custom(partial(polynomial_kernel, degree=degree, coef0=offset, gamma=scale))


def _number(owner: str, name: str, value: Any, least: float | None = None) -> float:
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or (least is not None and float(value) < least):
        bound = "" if least is None else f" of at least {least:g}"
        raise InputError(sentence(f"{name} of {owner}", f"a finite number{bound}", repr(value)))
    return float(value)


class RowFunction:
    """scikit-learn's meaning of a function: called for two rows at a time (its own Gaussian-process kernels
    are called for blocks).
    """

    def __init__(self, function: Callable[..., Any], params: dict[str, Any]) -> None:
        self.function, self.params = function, params
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, X: XLike, Z: Any) -> Any:
        """The matrix of all rows of X against all rows of Z."""
        from sklearn.metrics.pairwise import pairwise_kernels

        try:
            return pairwise_kernels(X, Z, metric=self.function, **self.params)
        except (TypeError, ValueError) as problem:
            sparse = hasattr(X, "tocsr")
            raise InputError(
                f"The kernel function must take two rows and return one number; {self.__name__} failed with: {problem}"
                + (". Use X.toarray() for a function that does not take sparse data." if sparse else ".")
            ) from problem
