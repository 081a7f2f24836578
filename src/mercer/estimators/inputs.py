"""X, y, weights and groups as scikit-learn checks them; objects and mixed tables where the model takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import PurePath
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    _check_y,
    _get_feature_names,
    _num_samples,
    check_consistent_length,
    validate_data,
)

from mercer.data.checks import as_names, check_gram
from mercer.data.folds import check_names, clusters_of
from mercer.data.rows import Array, Estimator, PerRow, Rows, XLike, YLike, as_rows
from mercer.errors import InputError, refuse_if, sentence
from mercer.estimators.parameters import is_positive_only, is_precomputed, takes_sparse
from mercer.estimators.refitting import part_of
from mercer.insight.intervals import Coverage, count_covered
from mercer.kernels import Kernel
from mercer.tables import TableEncoder
from mercer.tables.cells import Cells

NO_TARGETS = "no targets"  # where there are none to check, as opposed to None, which is refused
# From version 1.9 on, scikit-learn refuses weights that are all zero before we do, unless it is told not to.
_ZEROS = {name: True for name in signature(_check_sample_weight).parameters if name == "allow_all_zero_weights"}


def takes_objects(kernel: Any) -> bool:
    """Whether rows may be objects: kernels know, scikit-learn's names and plain functions take numbers."""
    return isinstance(kernel, Kernel) and kernel.takes_objects


def only_objects(kernels: Sequence[Any]) -> bool:
    """Whether rows must be objects."""
    return any(isinstance(kernel, Kernel) and kernel.kind == "objects" for kernel in kernels)


def refuse_mixed_labels(y: YLike) -> None:
    """Labels that are objects must be of one kind, and none missing; the rest is scikit-learn's business."""
    labels = as_names(y)
    if labels.dtype == object and labels.ndim == 1:
        check_names("y", labels, len(labels))


# For labels, in place of models for numbers.
_CLASSIFIERS = {"AutoRegressor": "AutoClassifier", "KernelNeighborsRegressor": "KernelNeighborsClassifier"} | {
    f"{kind}Ridge{cv}": f"{kind}RidgeClassifier{cv}" for kind in ("Kernel", "Local", "Nystroem") for cv in ("", "CV")
}


@contextmanager
def with_the_way_out(estimator: Estimator, y: YLike = None) -> Iterator[None]:
    """What scikit-learn says of texts and missing values, and what takes such tables."""
    name = type(estimator).__name__
    classifier = _CLASSIFIERS.get(name)
    try:
        yield
        if classifier and np.asarray(y).dtype.kind in "US":
            np.asarray(y, dtype=np.float64)  # scikit-learn lets strings pass
    except ValueError as error:
        said = str(error)
        tables = f"make_pipeline(TableEncoder(), {name}(...)) or {'AutoRegressor' if classifier else 'AutoClassifier'}"
        words = ""
        if said.endswith("features as input.") and estimator.__sklearn_tags__().input_tags.pairwise:
            has = "the kernel matrix of predict has a row for each new row and a column for each training row"
            words = f"{said.removesuffix('.')}: {has}. Transpose it if it is the other way round."
        elif said.startswith("could not convert string to float"):
            text = said.partition(":")[2].strip().removeprefix("np.str_(").removesuffix(")")
            what, got, use = "X", f"the string {text}", f"For tables with text use {tables}."
            label = next((str(each) for each in np.ravel(np.asarray(y, object)) if isinstance(each, str)), None)
            if classifier and label is not None:
                what, got, use = "y", f"the label {label!r}", f"For labels use {classifier}."
            words = sentence(f"{what} of {name}", "numbers", got, use)
        for what, use in {"y": "Drop such rows.", "X": f"For tables with missing values use {tables}."}.items():
            if said.startswith(f"Input {what} contains NaN"):
                words = f"Input {what} contains NaN: {what} of {name} must not have missing values. {use}"
        if words:
            raise InputError(words) from None
        raise


def refuse_names(estimator: Estimator, X: XLike, y: YLike) -> None:
    """Refuse a path in place of a table, and the name of a column in place of targets."""
    owner = type(estimator).__name__
    if isinstance(X, str | PurePath):
        way_out = "Read it first, for instance with pandas.read_csv."
        raise InputError(sentence(f"X of {owner}", "a table in memory", f"the path {str(X)!r}", way_out))
    if isinstance(y, str):
        way_out = f"Pass the column itself, such as table[{y!r}]."
        raise InputError(sentence(f"y of {owner}", "one target per row", f"the name {y!r}", way_out))


def check_input(
    estimator: Estimator, kernels: list[Any], X: XLike, y: YLike, *, sparse: Any, reset: bool = True, least: int = 1
) -> Any:
    """X, or X and y (labels for a classifier, numbers otherwise), checked; objects come back as an array of them.

    Parameters
    ----------
    estimator : estimator
        Gets, or is held to, `n_features_in_` and `feature_names_in_`.
    kernels : sequence
        What X is for.
    X, y : array-like
        As given; `NO_TARGETS` for y where there are none.
    sparse : "csr" or False
        Whether X may be sparse.
    reset : bool, default=True
        False for rows to predict.
    least : int, default=1
        Fewest rows.
    """
    rows = _objects(kernels, X)
    if rows is None:
        how = {"accept_sparse": sparse, "dtype": np.float64, "reset": reset, "ensure_min_samples": least}
        return check_arrays(estimator, X, y, **how)
    refuse_if(len(rows) < least, "The number of rows of X", f"at least {least}", f"{len(rows)}")
    _check_feature_names(estimator, X, reset=reset)
    if not rows.objects:
        _check_n_features(estimator, rows.values, reset=reset)
    elif reset:
        estimator.__dict__.pop("n_features_in_", None)  # an earlier fit's; objects have no columns
    values = np.array(rows.values)
    if y is NO_TARGETS:
        return values
    y = _check_y(y, estimator=estimator, **_target_options(estimator, y))
    check_consistent_length(X, y)
    return values, y


def check_arrays(estimator: Estimator, X: XLike, y: YLike = NO_TARGETS, **how: Any) -> Any:
    """X, or X and y (labels for a classifier, numbers otherwise), as scikit-learn validates them."""
    given = () if y is NO_TARGETS else (y,)
    options = _target_options(estimator, y) if given else {}
    with with_the_way_out(estimator, *given):
        return validate_data(estimator, X, *given, **how, **options)


def _target_options(estimator: Estimator, y: YLike) -> dict[str, bool]:
    """scikit-learn's options for the targets of an estimator; refuses labels of several kinds."""
    if not is_classifier(estimator):
        return {"multi_output": True, "y_numeric": True}
    refuse_mixed_labels(y)
    return {}


def as_sample_weight(weights: PerRow, X: XLike, **how: Any) -> Array | None:
    """One number per row of X, or None as it is; negative and only zero weights are refused by whoever uses them."""
    return None if weights is None else np.asarray(_check_sample_weight(weights, X, dtype=np.float64, **_ZEROS, **how))


def _objects(kernels: Sequence[Any], X: XLike) -> Rows | None:
    """X as objects or as a mixed table, where every kernel takes such rows and X is one."""
    others = [kernel for kernel in kernels if not takes_objects(kernel)]
    if others and only_objects(kernels):
        raise InputError(f"kernels must all take objects or all take numbers; got both: {others[0]!r} takes numbers.")
    if others or hasattr(X, "tocsr"):
        # a part with columns of its own beside one that takes all columns of a mixed table is refused by name
        torn = [kernel for kernel in others if isinstance(kernel, Kernel) and _some_part(kernel)]
        if torn and hasattr(X, "columns"):
            torn[0].read(X)
        return None
    if only_objects(kernels):
        return as_rows(X, objects=True)
    try:
        rows = as_rows(X)
    except InputError:
        return None  # scikit-learn's own words for numbers that will not do
    return rows if rows.objects or rows.values.dtype == object else None


def _some_part(kernel: Kernel) -> bool:
    return kernel.takes_objects or any(map(_some_part, kernel.members().values()))


def check_kernels(kernels: Sequence[Kernel], rows: Rows) -> bool:
    """Validate the rows for every kernel, and return whether they are a kernel matrix."""
    kinds = {kernel.kind == "gram" for kernel in kernels if kernel.kind != "any"}
    if len(kinds) > 1:
        raise InputError("kernels must be all precomputed or none; got both.")
    for kernel in kernels:
        kernel.check(rows)
    if True in kinds:
        check_gram(rows.dense())
    return True in kinds


def width_of(X: Array) -> int:
    """Number of columns; objects are one."""
    return 1 if X.ndim == 1 else int(X.shape[1])


def kernel_tags(tags: Any, kernels: Sequence[Any]) -> Any:
    """Tags of what scikit-learn's tools may send to an estimator with these kernels."""
    found = tags.input_tags
    found.pairwise = any(map(is_precomputed, kernels))
    found.positive_only = any(map(is_positive_only, kernels))
    found.sparse = all(map(takes_sparse, kernels))
    if all(map(takes_objects, kernels)):
        found.string, found.one_d_array = True, only_objects(kernels)
        found.two_d_array = not found.one_d_array
    return tags


def coverage_of(bounds: tuple[Array, Array], y: YLike, confidence: float, method: str) -> Coverage:
    """How many of these targets lie inside."""
    lower, upper = bounds
    y = np.asarray(_check_y(y, multi_output=True, y_numeric=True), dtype=np.float64)
    check_consistent_length(lower, y)
    if y.shape != lower.shape and y.size != lower.size:
        targets = 1 if lower.ndim == 1 else lower.shape[1]
        raise InputError(sentence("y", f"a table of {targets} targets, as in fit", f"shape {y.shape}"))
    return count_covered(lower, upper, y.reshape(lower.shape), float(confidence), method)


FEWEST = 3  # rows, or groups, that a model is fitted to


class EncodedTable(dict[str, Cells]):
    """The columns of a table with an encoder that is fitted to them, which an automatic model takes as its own."""

    def __init__(self, columns: Mapping[str, Cells], encoder: TableEncoder) -> None:
        super().__init__(columns)
        self.encoder = encoder


def check_table(estimator: Estimator, X: XLike, *, reset: bool) -> Any:
    """A table as scikit-learn knows it: two dimensions, as many columns as before, by name in any order."""
    name = type(estimator).__name__
    refuse_if(hasattr(X, "tocsr"), f"X of {name}", "a dense table", "a sparse matrix", "Use X.toarray().")
    if hasattr(X, "columns") or isinstance(X, dict):
        columns = len(X.columns if hasattr(X, "columns") else X)
    else:
        lists = [row for row in X[:50] if isinstance(row, list | tuple)] if isinstance(X, list | tuple) else []
        mixed = any(isinstance(cell, str) for row in lists for cell in row)
        X = np.asarray(X, dtype=object if mixed else None)
        way_out = "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
        refuse_if(X.ndim != 2, f"X of {name}", "a table with rows and columns", f"{X.ndim} dimensions", way_out)
        if X.dtype.kind == "c":
            raise InputError("Complex data not supported: X must hold real numbers.")
        if not X.size:
            missing, shape = "sample" if not len(X) else "feature", X.shape
            raise InputError(f"Found array with 0 {missing}(s) (shape={shape}) while a minimum of 1 is required.")
        columns = X.shape[1]
    known, names = getattr(estimator, "feature_names_in_", None), _get_feature_names(X)
    # the encoder finds the columns of training by name, in whatever order
    if reset or known is None or names is None or sorted(known) != sorted(names):
        _check_feature_names(estimator, X, reset=reset)
    if reset:
        estimator.n_features_in_ = columns
    elif columns != estimator.n_features_in_:
        expected = f"is expecting {estimator.n_features_in_} features as input"
        raise InputError(f"X has {columns} features, but {name} {expected}.")
    return X


def check_targets(estimator: Estimator, y: YLike) -> Array:
    """One finite number, or several, for each row."""
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    with with_the_way_out(estimator, y):
        return np.asarray(_check_y(y, multi_output=True, y_numeric=True, estimator=estimator), dtype=np.float64)


def _numbers(estimator: Estimator, name: str, given: Any, n: int, least: int) -> Array | None:
    """None, or the rank of each row's label or time among the different ones, of which there are at least so many."""
    if given is None:
        return None
    what = f"{name} of {type(estimator).__name__}"
    different, numbers = np.unique(check_names(what, given, n), return_inverse=True)
    must_be = f"labels of at least {least} groups" if name == "groups" else f"at least {least} different times"
    refuse_if(max(len(different), 1) < least, what, must_be, max(len(different), 1))
    return np.ravel(numbers)


@dataclass(frozen=True, eq=False)
class Beside:
    """What is known of rows beside X and y: weights of mean 1, numbers of groups, ranks of times; each may be None."""

    weights: Array | None = None
    groups: Array | None = None
    times: Array | None = None

    @classmethod
    def of(cls, owner: Estimator, n: int, weight: PerRow, groups: PerRow, time: Any, *, least: int = FEWEST) -> Self:
        """Validate what a user gave for n rows, at least so many groups or times."""
        if groups is not None and time is not None:
            raise InputError(f"{type(owner).__name__} takes groups or time, not both. Remove one of them.")
        weights = as_sample_weight(weight, np.zeros((n, 1)), ensure_non_negative=True)
        if weights is not None:  # scaled to a mean of 1: only their ratios matter
            count, what = np.count_nonzero(weights), f"sample_weight of {type(owner).__name__}"
            refuse_if(count < FEWEST, what, f"positive for at least {FEWEST} rows", count or "only zeros")
            weights = weights / weights.max()
            weights = np.asarray(weights / weights[weights > 0].mean())
        numbers = (_numbers(owner, name, given, n, least) for name, given in (("groups", groups), ("time", time)))
        return cls(weights, *numbers)

    @property
    def clusters(self) -> Array | None:
        """Rows that depend on one another; None where all rows are independent."""
        return clusters_of(self.groups, self.times)

    def part(self, rows: Array) -> Self:
        """Weights, groups and times of some rows."""
        return type(self)(*(part_of(each, rows) for each in (self.weights, self.groups, self.times)))


def refuse_lengths(X: XLike, y: Array) -> None:
    """Raise an error unless the table has as many rows as y."""
    column = next(iter(X.values()), ()) if isinstance(X, dict) else X
    rows = len(column) if isinstance(column, Sized) else _num_samples(column)
    if rows != len(y):
        raise InputError(f"Found input variables with inconsistent numbers of samples: {[rows, len(y)]}.")
