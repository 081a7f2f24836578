"""X and y as scikit-learn checks them, and objects or mixed tables where the kernels take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    validate_data,
)

from mercer.data.checks import as_names
from mercer.data.folds import checked_names
from mercer.data.rows import Array, Rows, as_rows
from mercer.errors import InputError, sentence
from mercer.insight.intervals import Coverage, covered
from mercer.kernels import Kernel

NO_TARGETS = "no targets"  # where there are none to check, as opposed to None, which is refused
# From version 1.9 on, scikit-learn refuses weights that are all zero before we do, unless it is told not to.
_ZEROS = {name: True for name in signature(_check_sample_weight).parameters if name == "allow_all_zero_weights"}


def takes_objects(kernel: Any) -> bool:
    """Whether rows may be objects: kernels know, scikit-learn's names and plain functions take numbers."""
    return isinstance(kernel, Kernel) and kernel.takes_objects


def only_objects(kernels: Sequence[Any]) -> bool:
    """Whether rows must be objects."""
    return any(isinstance(kernel, Kernel) and kernel.kind == "objects" for kernel in kernels)


def refuse_mixed_labels(y: Any) -> None:
    """Labels that are objects must be of one kind, and none missing; the rest is scikit-learn's business."""
    labels = as_names(y)
    if labels.dtype == object and labels.ndim == 1:
        checked_names("y", labels, len(labels))


# For labels, in place of models for numbers.
_CLASSIFIERS = {
    "AutoRegressor": "AutoClassifier",
    "KernelNeighborsRegressor": "KernelNeighborsClassifier",
    "KernelRidge": "KernelRidgeClassifier",
    "KernelRidgeCV": "KernelRidgeClassifierCV",
    "NystroemRidge": "NystroemRidgeClassifier",
    "NystroemRidgeCV": "NystroemRidgeClassifierCV",
}


@contextmanager
def with_the_way_out(estimator: Any, y: Any = None) -> Iterator[None]:
    """What scikit-learn says of texts and missing values, and what takes such tables."""
    name = type(estimator).__name__
    try:
        yield
        if name in _CLASSIFIERS and np.asarray(y).dtype.kind in "US":
            np.asarray(y, dtype=np.float64)  # scikit-learn lets strings pass
    except ValueError as error:
        said = str(error)
        automatic = "AutoRegressor" if name in _CLASSIFIERS else "AutoClassifier"
        tables = f"make_pipeline(TableEncoder(), {name}(...)) or {automatic}"
        if said.startswith("could not convert string to float"):
            label = first_text(y) if name in _CLASSIFIERS else None
            if label is not None:
                use = f"For labels use {_CLASSIFIERS[name]}."
                raise InputError(sentence(f"y of {name}", "numbers", f"the label {label!r}", use)) from None
            text = said.partition(":")[2].strip().removeprefix("np.str_(").removesuffix(")")
            use = f"For tables with text use {tables}."
            raise InputError(sentence(f"X of {name}", "numbers", f"the string {text}", use)) from None
        if said.startswith("Input X contains NaN"):
            use = f"For tables with missing values use {tables}."
            raise InputError(f"Input X contains NaN: X of {name} must not have missing values. {use}") from None
        raise


def first_text(y: Any) -> str | None:
    """The first label that is a string; None where there is none."""
    return next((str(label) for label in np.asarray(y, dtype=object).ravel() if isinstance(label, str)), None)


def checked_input(
    estimator: Any,
    kernels: Sequence[Any],
    X: Any,
    y: Any = NO_TARGETS,
    *,
    sparse: Any,
    reset: bool = True,
    least: int = 1,
) -> Any:
    """X, or X and y (labels for a classifier, numbers otherwise), checked; objects come back as an array of them.

    Parameters
    ----------
    estimator : estimator
        Gets, or is held to, `n_features_in_` and `feature_names_in_`.
    kernels : sequence
        What X is for.
    X, y : array-like
        As given.
    sparse : "csr" or False
        Whether X may be sparse.
    reset : bool, default=True
        False for rows to predict.
    least : int, default=1
        Fewest rows.
    """
    how = {} if is_classifier(estimator) else {"multi_output": True, "y_numeric": True}
    if y is not NO_TARGETS and not how:
        refuse_mixed_labels(y)
    rows = _objects(kernels, X)
    if rows is None:
        with with_the_way_out(estimator, None if y is NO_TARGETS else y):
            if y is NO_TARGETS:
                return validate_data(estimator, X, accept_sparse=sparse, dtype=np.float64, reset=reset)
            return validate_data(
                estimator, X, y, accept_sparse=sparse, dtype=np.float64, reset=reset, ensure_min_samples=least, **how
            )
    if len(rows) < least:
        raise InputError(sentence("The number of rows of X", f"at least {least}", f"{len(rows)}"))
    _check_feature_names(estimator, X, reset=reset)
    if not rows.objects:
        _check_n_features(estimator, rows.values, reset=reset)
    elif reset:
        vars(estimator).pop("n_features_in_", None)  # an earlier fit's; objects have no columns
    values = np.array(rows.values)
    if y is NO_TARGETS:
        return values
    y = _check_y(y, estimator=estimator, **how)
    check_consistent_length(X, y)
    return values, y


def as_sample_weight(weights: Any, X: Any, **how: Any) -> Array | None:
    """One number per row of X, or None as it is; negative and only zero weights are refused by whoever uses them."""
    return None if weights is None else np.asarray(_check_sample_weight(weights, X, dtype=np.float64, **_ZEROS, **how))


def _objects(kernels: Sequence[Any], X: Any) -> Rows | None:
    """X as objects or as a mixed table, where every kernel takes such rows and X is one."""
    others = [kernel for kernel in kernels if not takes_objects(kernel)]
    if others and only_objects(kernels):
        raise InputError(f"kernels must all take objects or all take numbers; got both: {others[0]!r} takes numbers.")
    if others or hasattr(X, "tocsr"):
        _refuse_parts(others, X)
        return None
    if only_objects(kernels):
        return as_rows(X, objects=True)
    try:
        rows = as_rows(X)
    except InputError:
        return None  # scikit-learn's own words for numbers that will not do
    return rows if rows.objects or rows.values.dtype == object else None


def _refuse_parts(kernels: Sequence[Any], X: Any) -> None:
    """Where a part of a kernel has columns of its own and another part takes all of a mixed table: a sentence."""
    torn = [kernel for kernel in kernels if isinstance(kernel, Kernel) and _some_part(kernel)]
    if torn and hasattr(X, "columns"):
        torn[0].read(X)


def _some_part(kernel: Kernel) -> bool:
    return kernel.takes_objects or any(map(_some_part, kernel.members().values()))


def width_of(X: Array) -> int:
    """Number of columns; objects are one."""
    return 1 if X.ndim == 1 else int(X.shape[1])


def object_tags(tags: Any, kernels: Sequence[Any]) -> Any:
    """What scikit-learn's tools may send: texts and one-dimensional rows where the kernels take objects."""
    if all(map(takes_objects, kernels)):
        tags.input_tags.string = True
        if only_objects(kernels):
            tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
    return tags


def coverage_of(bounds: tuple[Array, Array], y: Any, confidence: float, method: str) -> Coverage:
    """How many of these targets lie inside."""
    lower, upper = bounds
    y = np.asarray(_check_y(y, multi_output=True, y_numeric=True), dtype=np.float64)
    check_consistent_length(lower, y)
    if y.shape != lower.shape and y.size != lower.size:
        targets = 1 if lower.ndim == 1 else lower.shape[1]
        raise InputError(sentence("y", f"a table of {targets} targets, as in fit", f"shape {y.shape}"))
    return covered(lower, upper, y.reshape(lower.shape), float(confidence), method)
