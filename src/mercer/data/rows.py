"""Rows: a checked table of numbers, a sparse matrix, or a sequence of objects, cut into blocks."""

from __future__ import annotations

import numbers
import os
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError, nearest, refuse, refuse_if, sentence

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Array: TypeAlias = npt.NDArray[Any]
Seed: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None  # what draws are made by
File: TypeAlias = str | os.PathLike[str] | None
Columns: TypeAlias = tuple[int | str, ...]
Names: TypeAlias = Sequence[str] | None  # of columns

# What callers hand over is of many makes, and checked before it is used: these names say what is meant.
XLike: TypeAlias = Any  # X: an array, a sparse matrix, a data frame, a list of texts or of other objects
YLike: TypeAlias = Any  # y: numbers or labels, one for each row or several
PerRow: TypeAlias = npt.ArrayLike | None  # a weight or a group for each row
Estimator: TypeAlias = Any  # with scikit-learn's methods: one of ours, a Pipeline, or anybody's
AlphaLike: TypeAlias = Any  # a number, one for each target, a grid, or None for a default
SplitsLike: TypeAlias = Any  # cv: a number of folds, a splitter, or pairs of training and test rows
ScoringLike: TypeAlias = Any  # a name, a scorer, a loss of targets and predictions, or None for a default
ClassWeight: TypeAlias = Any  # weights by label, "balanced" or None

# A column's mean is its centre if it is this close to the median, in units of the range of the middle half of the rows.
_NEAR = 10.0


class Rows:
    """n rows that kernels are evaluated on, with what was derived from them kept beside.

    `values` is a two-dimensional array, a CSR matrix or a one-dimensional array of objects. A block
    made by slicing shares its parent's derived rows, so that a map is applied once and not once per tile. `centre` is
    computed where it is not given.

    Examples
    --------
    >>> from mercer.data import as_rows
    >>> rows = as_rows([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> len(rows), rows.width, rows[1:].values.tolist()
    (3, 2, [[3.0, 4.0], [5.0, 6.0]])
    """

    _parent: Rows | None
    __slots__ = ("_centre", "_derived", "_lock", "_origin", "_parent", "names", "values")

    def __init__(
        self, values: Any, names: Names = None, centre: Array | None = None, cut: tuple[Rows, slice] | None = None
    ) -> None:
        if isinstance(values, np.ndarray) and values.flags.writeable:
            values = values.view()
            values.flags.writeable = False  # users' functions see the caller's own numbers
        self.values: Any = values
        self.names = None if names is None else tuple(names)
        self._parent, self._origin = cut or (None, slice(None))  # the rows that these are a part of
        self._derived: dict[Hashable, Rows] = {}
        self._centre = centre
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __reduce__(self) -> tuple[type[Rows], tuple[Any, Any]]:
        return Rows, (self.values, self.names)

    def __getitem__(self, block: slice) -> Rows:
        return Rows(self.values[block], self.names, cut=(self, block))

    @property
    def sparse(self) -> bool:
        """Whether the values are a sparse matrix."""
        return not isinstance(self.values, np.ndarray)

    def dense(self) -> Array:
        """The values as a dense array."""
        return np.asarray(self.values.toarray() if self.sparse else self.values)

    @property
    def objects(self) -> bool:
        """Whether each row is one Python object and not a vector of numbers."""
        return bool(self.values.ndim == 1)

    @property
    def width(self) -> int:
        """Number of columns."""
        return 1 if self.objects else int(self.values.shape[1])

    @property
    def centre(self) -> Array:
        """The mean of every column of the whole table; the median where far rows drag the mean away."""
        if self._parent is not None:
            return self._parent.centre
        if self._centre is None:
            self._centre = _centre(np.asarray(self.values)) if len(self) else np.zeros(self.width)
        return self._centre

    def derive(self, key: Hashable, make: Callable[[Any], Rows]) -> Rows:
        """Rows made from all rows of the table once, and cut like these."""
        if self._parent is not None:
            return self._parent.derive(key, make)[self._origin]
        with self._lock:
            if key not in self._derived:
                self._derived[key] = make(self.values)
            return self._derived[key]

    @property
    def table(self) -> Rows:
        """The whole table these rows were cut from."""
        return self if self._parent is None else self._parent.table

    def together(self, other: Rows, key: Hashable, make: Callable[[Any], Rows]) -> tuple[Rows, Rows]:
        """Rows made from all rows of both tables at once, and cut like these and like the other ones."""
        mine, others = self.table, other.table
        if mine is others:
            return self.derive(key, make), other.derive(key, make)
        whole = mine.derive((key, others), lambda values: make(np.concatenate([values, others.values])))
        return self.cut(whole[: len(mine)]), other.cut(whole[len(mine) :])

    def cut(self, whole: Rows) -> Rows:
        """The slice of `whole`, as long as the table, at the positions of these rows."""
        return whole if self._parent is None else self._parent.cut(whole)[self._origin]

    def columns(self, wanted: Columns) -> Rows:
        """These rows with the named or numbered columns only."""
        places = [self._place(column) for column in wanted]
        names = None if self.names is None else [self.names[place] for place in places]

        def pick(values: Any) -> Rows:
            if values.dtype != object:
                return Rows(values[:, places], names)
            table = _table(values[:, places], names)
            objects = table.values.dtype == object and len(places) == 1
            return Rows(values[:, places[0]]) if objects else table

        return self.derive(("columns", wanted), pick)

    def _place(self, column: int | str) -> int:
        words = ".on(...) selects columns of a table; X is a sequence of objects."
        refuse(self.objects, f"{words} Remove .on(...), or use a DataFrame.")
        if isinstance(column, str):
            words, names = f"Column {column!r} is selected by name, but X has no column names.", self.names or ()
            refuse(self.names is None, f"{words} Use a DataFrame, or a column index (from 0).")
            if column not in names:
                raise InputError(f"There is no column {column!r}. {nearest(column, names)}")
            way_out = "Use column indices (from 0) instead of names."
            refuse(names.count(column) > 1, f"There is more than one column {column!r}. {way_out}")
            return names.index(column)
        refuse_if(not -self.width <= column < self.width, "A column index", f"between 0 and {self.width - 1}", column)
        return int(column) % self.width


def _centre(values: Array) -> Array:
    quarter = len(values) // 4
    places = [quarter, len(values) // 2, len(values) - 1 - quarter]
    low, middle, high = np.partition(values, places, axis=0)[places]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.sum(axis=0) / len(values)
        return np.asarray(np.where(np.abs(mean - middle) <= _NEAR * (high - low), mean, middle))


def as_rows(X: XLike, names: Names = None, *, objects: bool = False) -> Rows:
    """Take what people have (arrays, lists, DataFrames, sparse matrices, objects) as rows.

    Numbers become float64 and must be finite; nothing given is changed. With `objects`, each element of a list
    is one object, whatever it looks like: a list of token lists is no table.

    Examples
    --------
    >>> from mercer.data import as_rows
    >>> as_rows(["hello", "hallo"]).objects
    True
    >>> as_rows([1.0, 2.0])
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: X must be a table with rows and columns; got a list of 2 numbers. ...
    """
    if isinstance(X, Rows):
        return X
    if hasattr(X, "tocsr"):
        return _sparse_rows(X)
    _refuse_what_has_no_rows(X)
    held = _one_by_one(X) if objects else None
    if held is not None:
        return Rows(held)
    if names is None and hasattr(X, "columns"):
        names = [str(column) for column in X.columns]
    try:
        values = np.asarray(X)
        if values.dtype.kind in "US" and not hasattr(X, "dtype"):  # numbers beside texts in lists would become texts
            values = np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths: objects
        values = _object_array(X)
    if values.dtype.kind in "biuf":
        return Rows(_check_numbers(values), names)
    refuse_if(values.dtype.kind == "c", "X", "real", "complex numbers")
    refuse_if(values.ndim not in {1, 2}, "X", "a table or a sequence of objects", f"{values.ndim} dimensions")
    return _table(values, names) if values.ndim == 2 else Rows(values.astype(object))


def row_count(X: XLike) -> int:
    """How many rows something has, without looking at them."""
    if hasattr(X, "shape"):
        return int(X.shape[0])
    _refuse_what_has_no_rows(X)
    return len(X)


def _refuse_what_has_no_rows(X: XLike) -> None:
    number = isinstance(X, numbers.Real)  # a table of no dimensions, as far as that goes
    bad = X is None or isinstance(X, str | bytes | dict | set | frozenset) or not (number or hasattr(X, "__len__"))
    way_out = "For a single row, use [row]."
    refuse_if(bad, "X", "a table or a sequence of rows", f"{type(X).__name__}", way_out)
    refuse_masked(X)


def refuse_masked(X: XLike) -> None:
    """Refuse an array with masked entries."""
    words = "X must not have missing values (masked entries)."
    masked = np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any()
    refuse(masked, f"{words} Impute the missing values, or drop these rows.")


def _one_by_one(X: XLike) -> Array | None:
    """The elements of a sequence, or of the one column of a DataFrame, each as one object; None for tables."""
    if isinstance(X, numbers.Real):
        return None
    shape: tuple[int, ...] = X.shape if hasattr(X, "shape") else (len(X),)
    if len(shape) == 1:
        return _object_array(X)
    return _object_array(np.asarray(X)[:, 0]) if len(shape) == 2 and shape[1] == 1 else None


def _object_array(X: XLike) -> Array:
    """A sequence as an array of objects, one for each of its elements."""
    return np.fromiter(X, dtype=object, count=len(X))


def _sparse_rows(X: XLike) -> Rows:
    refuse_if(X.dtype.kind == "c", "X", "real", "complex numbers")
    refuse_if(X.ndim != 2, "X", "a table with rows and columns", "a sparse array of one dimension")
    matrix: csr_matrix = X.tocsr().astype(np.float64, copy=False)
    refuse_if(not np.isfinite(matrix.data).all(), "X", "finite", "a sparse matrix with NaN or infinity")
    return Rows(matrix)


def _check_numbers(values: Array) -> Array:
    got = f"a list of {len(values)} numbers" if values.ndim == 1 else f"{values.ndim} dimensions"
    way_out = "For one column, use X.reshape(-1, 1)."
    refuse_if(values.ndim != 2, "X", "a table with rows and columns", got, way_out)
    table = values.astype(np.float64, copy=False)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        bad = table[row, column]
        what = "missing" if np.isnan(bad) else "infinite"
        way_out = f"{'Impute' if np.isnan(bad) else 'Replace'} the {what} values, or drop these rows."
        raise InputError(sentence("X", "finite", f"{bad} in row {row}, column {column}", way_out))
    return table


def _table(values: Array, names: Names) -> Rows:
    """A table of mixed columns stays as it is; one whose every cell is a number becomes numbers."""
    if values.dtype == object and all(isinstance(cell, numbers.Real) for cell in values.ravel()):
        return Rows(_check_numbers(values.astype(np.float64)), names)
    return Rows(values.astype(object), names)
