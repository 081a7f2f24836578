"""Validate the tables, targets, weights and groups of the automatic estimators."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import (
    _check_feature_names,
    _check_y,
    _get_feature_names,
    _num_samples,
)

from mercer.data.folds import checked_names, clusters_of
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.estimators.inputs import as_sample_weight, with_the_way_out
from mercer.estimators.refitting import part_of

_FEWEST = 3  # rows, or groups, that a model is fitted to


def checked_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """A table as scikit-learn knows it: two dimensions, as many columns as before, by name in any order."""
    if hasattr(X, "tocsr"):
        raise InputError(
            sentence(f"X of {type(estimator).__name__}", "a dense table", "a sparse matrix", "Use X.toarray().")
        )
    if not hasattr(X, "columns") and not isinstance(X, dict):
        values = np.asarray(X, dtype=object if _mixed(X) else None)
        if values.ndim != 2:
            raise InputError(
                f"X of {type(estimator).__name__} must be a table with rows and columns; got {values.ndim} dimensions. "
                "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
            )
        if values.dtype.kind == "c":
            raise InputError("Complex data not supported: X must hold real numbers.")
        if not len(values) or not values.shape[1]:
            missing = "sample" if not len(values) else "feature"
            raise InputError(
                f"Found array with 0 {missing}(s) (shape={values.shape}) while a minimum of 1 is required."
            )
        X = values
        columns = values.shape[1]
    else:
        columns = len(X.columns) if hasattr(X, "columns") else len(X)
    if reset or not _is_permuted(estimator, X):
        _check_feature_names(estimator, X, reset=reset)
    if reset:
        estimator.n_features_in_ = columns
    elif columns != estimator.n_features_in_:
        expected = f"is expecting {estimator.n_features_in_} features as input"
        raise InputError(f"X has {columns} features, but {type(estimator).__name__} {expected}.")
    return X


def _is_permuted(estimator: Any, X: Any) -> bool:
    """Whether a table has the columns of training in another order; the encoder finds them by name."""
    known, names = getattr(estimator, "feature_names_in_", None), _get_feature_names(X)
    return known is not None and names is not None and sorted(known) == sorted(names)


def _mixed(X: Any) -> bool:
    """Whether a plain list holds texts beside numbers."""
    return isinstance(X, list | tuple) and any(
        isinstance(cell, str) for row in X[:50] if isinstance(row, list | tuple) for cell in row
    )


def checked_targets(estimator: Any, y: Any) -> Array:
    """One finite number, or several, for each row."""
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    with with_the_way_out(estimator, y):
        return np.asarray(_check_y(y, multi_output=True, y_numeric=True, estimator=estimator), dtype=np.float64)


def enough_rows(estimator: Any, X: Any) -> None:
    """Raise an error unless there are at least 3 rows."""
    n = _num_samples(X)
    if n < _FEWEST:
        raise InputError(f"{type(estimator).__name__} needs at least {_FEWEST} rows; got n_samples = {n}.")


def checked_weights(estimator: Any, weights: Any, n: int) -> Array | None:
    """Validate `sample_weight`, and scale it to a mean of 1: only ratios of weights matter."""
    found = as_sample_weight(weights, np.zeros((n, 1)), ensure_non_negative=True)
    if found is None:
        return None
    if np.count_nonzero(found) < _FEWEST:
        must_be = f"positive for at least {_FEWEST} rows"
        got = np.count_nonzero(found) or "only zeros"
        raise InputError(sentence(f"sample_weight of {type(estimator).__name__}", must_be, got))
    found = found / found.max()
    return np.asarray(found / found[found > 0].mean())


def _numbers(estimator: Any, name: str, given: Any, n: int, least: int) -> Array | None:
    """None, or the rank of each row's label or time among the different ones, of which there are at least so many."""
    if given is None:
        return None
    what = f"{name} of {type(estimator).__name__}"
    numbers = np.unique(checked_names(what, given, n), return_inverse=True)[1].ravel()
    if int(numbers.max(initial=0)) + 1 < least:
        must_be = f"labels of at least {least} groups" if name == "groups" else f"at least {least} different times"
        raise InputError(sentence(what, must_be, int(numbers.max(initial=0)) + 1))
    return np.asarray(numbers)


@dataclass(frozen=True, eq=False)
class Beside:
    """What is known of rows beside X and y: weights of mean 1, numbers of groups, ranks of times; each may be None."""

    weights: Array | None = None
    groups: Array | None = None
    times: Array | None = None

    @classmethod
    def checked(cls, estimator: Any, n: int, sample_weight: Any, groups: Any, time: Any, least: int = _FEWEST) -> Self:
        """Validate what a user gave for n rows, at least so many groups or times."""
        if groups is not None and time is not None:
            raise InputError(f"{type(estimator).__name__} takes groups or time, not both. Remove one of them.")
        weights = checked_weights(estimator, sample_weight, n)
        return cls(
            weights,
            _numbers(estimator, "groups", groups, n, least),
            _numbers(estimator, "time", time, n, least),
        )

    @property
    def clusters(self) -> Array | None:
        """Rows that depend on one another; None where all rows are independent."""
        return clusters_of(self.groups, self.times)

    def part(self, rows: Array) -> Self:
        """Weights, groups and times of some rows."""
        return type(self)(*(part_of(each, rows) for each in (self.weights, self.groups, self.times)))


def refuse_lengths(X: Any, y: Array) -> None:
    """Raise an error unless the table has as many rows as y."""
    column = next(iter(X.values()), ()) if isinstance(X, dict) else X
    rows = len(column) if isinstance(column, Sized) else _num_samples(column)
    if rows != len(y):
        raise InputError(f"Found input variables with inconsistent numbers of samples: {[rows, len(y)]}.")
