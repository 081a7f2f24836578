"""What the parameters of estimators may be, one table for all of them, and which kernel an argument stands for."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mercer.data.rows import Estimator, XLike
from mercer.errors import InputError, nearest, refuse_if, sentence
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


def is_flag(value: Any) -> bool:
    """True or False, and nothing that merely counts as one."""
    return isinstance(value, bool | np.bool_)


def is_whole(value: Any, least: float = -math.inf) -> bool:
    """A whole number of at least `least`; True and False are none."""
    return isinstance(value, numbers.Integral) and not is_flag(value) and int(value) >= least


def is_positive(value: Any) -> bool:
    """A number above 0; True is none."""
    return isinstance(value, numbers.Real) and not is_flag(value) and float(value) > 0


def is_in(value: Any, *names: str) -> bool:
    """One of these names; arrays are none."""
    return isinstance(value, str) and value in names


_FLAGS = ("alpha_per_target", "exact", "extend_grid", "fit_intercept", "nested", "tune", "verify")
# What a parameter must be, in words, and whether a value is that.
ALLOWED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(_FLAGS, ("True or False", is_flag)),
    **dict.fromkeys(("core_rows", "mix", "system_rows"), ("an integer above 0", lambda value: is_whole(value, 1))),
    "block_rows": ("an integer above 0, or None", lambda value: value is None or is_whole(value, 1)),
    "class_weight": (
        "a dict, 'balanced' or None",
        lambda w: isinstance(w, dict | None) or is_in(w, "balanced"),
    ),
    "copies": ("True, False or None", lambda value: value is None or is_flag(value)),
    "encoder": ("a TableEncoder, or None", lambda value: isinstance(value, TableEncoder | None)),
    "rule": ("'best' or 'one_se'", lambda value: is_in(value, "best", "one_se")),
    "time_budget": ("a positive number of seconds, or None", lambda value: value is None or is_positive(value)),
    "verbose": ("0, 1 or 2", lambda value: isinstance(value, numbers.Integral)),
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
        must_be, holds = ALLOWED.get(name, ("", bool))
        if must_be and not holds(value):
            raise InputError(sentence(f"{name} of {type(estimator).__name__}", must_be, repr(value)))


def resolve(
    owner: str, kernel: Any, columns: int, gamma: Any = None, degree: Any = 3, coef0: Any = 1, params: Any = None
) -> Kernel:
    """The kernel object that an argument stands for, for rows of so many columns.

    The other arguments are scikit-learn's parameters of its kernel strings, and of functions.

    Examples
    --------
    >>> from mercer.estimators.parameters import resolve
    >>> resolve("KernelRidge", "rbf", columns=2)
    Gaussian(width=1.0)
    """
    if isinstance(kernel, Kernel):
        if (gamma, degree, coef0, params) != (None, 3, 1, None):
            words = f"gamma, degree, coef0 and kernel_params of {owner} are only used with kernel names such as 'rbf'"
            raise InputError(f"{words}; kernel is {kernel!r}. Set the parameters of the kernel object instead.")
        return kernel
    if isinstance(kernel, str):
        return _from_name(owner, kernel, columns, gamma, degree, coef0)
    if callable(kernel) and not isinstance(kernel, type):
        return Custom(RowFunction(kernel, params or {}))
    must_be, got, way_out = "a kernel, a name or a function", repr(kernel), ""
    if isinstance(kernel, type):
        must_be, got, way_out = "a kernel object", f"the class {kernel.__name__}", f"Write {kernel.__name__}()."
    raise InputError(sentence(f"kernel of {owner}", must_be, got, way_out))


def is_precomputed(kernel: Any) -> bool:
    """Whether X is to be a Gram matrix."""
    return kernel == "precomputed" if isinstance(kernel, str) else getattr(kernel, "kind", "") == "gram"


def takes_sparse(kernel: Any) -> bool:
    """Whether X may be a sparse matrix: unknown for functions."""
    return isinstance(kernel, str) or bool(getattr(kernel, "takes_sparse", False))


def is_positive_only(kernel: Any) -> bool:
    """Whether X must not hold negative numbers."""
    named = isinstance(kernel, str) and kernel in ("chi2", "additive_chi2")
    return named or bool(getattr(kernel, "positive_only", False))


def _from_name(owner: str, name: str, columns: int, gamma: Any, degree: Any, coef0: Any) -> Kernel:
    gamma = None if gamma is None else _number(owner, "gamma", gamma, least=0.0)
    scale = 1.0 / max(columns, 1) if gamma is None else gamma
    named: dict[str, Callable[[], Kernel]] = {
        "additive_chi2": AdditiveChi2,
        "chi2": lambda: Constant(1.0) if gamma == 0 else Chi2(1.0 if gamma is None else gamma),
        "cosine": Cosine,
        "gaussian": lambda: Gaussian.from_gamma(scale) if scale > 0 else Constant(1.0),
        "laplacian": lambda: Laplacian(1.0 / scale) if scale > 0 else Constant(1.0),
        "linear": Linear,
        "polynomial": lambda: _polynomial(owner, scale, degree, coef0),
        "precomputed": Precomputed,
        "sigmoid": lambda: Sigmoid(scale, _number(owner, "coef0", coef0)),
    }
    named |= {"poly": named["polynomial"], "rbf": named["gaussian"]}
    if name not in named:
        must_be = "a known name, a kernel or a function"
        raise InputError(sentence(f"kernel of {owner}", must_be, repr(name), nearest(name, named)))
    return named[name]()


def _polynomial(owner: str, scale: float, degree: Any, coef0: Any) -> Kernel:
    degree, offset = _number(owner, "degree", degree, least=0.0), _number(owner, "coef0", coef0)
    if degree == 0:
        return Constant(1.0)
    if degree == int(degree) and offset >= 0:
        return Polynomial(int(degree), offset, scale)
    from sklearn.metrics.pairwise import polynomial_kernel

    return Custom(partial(polynomial_kernel, degree=degree, coef0=offset, gamma=scale))


def _number(owner: str, name: str, value: Any, least: float | None = None) -> float:
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    bad = not good or (least is not None and float(value) < least)
    bound = "" if least is None else f" of at least {least:g}"
    refuse_if(bad, f"{name} of {owner}", f"a finite number{bound}", repr(value))
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
            words = f"The kernel function must take two rows and return one number; {self.__name__} failed with:"
            way_out = " Use X.toarray() for a function that does not take sparse data." * hasattr(X, "tocsr")
            raise InputError(f"{words} {problem}.{way_out}") from problem
