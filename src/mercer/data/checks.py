"""Checks of what every estimator takes besides X, each with its sentence."""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cache, wraps
from inspect import signature
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np

from mercer.data.rows import AlphaLike, Array
from mercer.errors import InputError, nearest, refuse_if, sentence

_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (  # the first that fits: True is an integer for Python, too
    ("booleans", (bool, np.bool_)),
    ("durations", (dt.timedelta, np.timedelta64)),
    ("dates", (dt.date, np.datetime64)),
    ("text", (str,)),
    ("numbers", (numbers.Number,)),
)


_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_SMALLEST, _LARGEST = 1e-100, 1e100  # of targets that are squared
ASYMMETRY = 1e-8  # of a matrix, as a share of its largest entry, that may be rounding


def kind_of(cell: type) -> str:
    """Kind of a key or label by its type: "numbers", "text", "booleans", "dates", "durations", or the type's name.

    Whole numbers and fractions of every width are one kind: 1 and 1.0 are the same key.
    """
    return next((kind for kind, types in _KINDS if issubclass(cell, types)), cell.__name__)


def one_kind(what: str, found: Iterable[tuple[str, str]]) -> str | None:
    """The kind of all keys or labels, from pairs of a kind and where it was found; None where there are no pairs.

    Keys and labels of two kinds are refused everywhere, within an array and across blocks, files and partitions: 1 and
    "1" are the same to one reader and different to another.

    Examples
    --------
    >>> from mercer.data.checks import one_kind
    >>> one_kind("groups", [("numbers", "a.parquet"), ("text", "b.parquet")])
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: groups must be of one type; got numbers in a.parquet and text in b.parquet. ...
    """
    first: tuple[str, str] | None = None
    for kind, where in found:
        first = first or (kind, where)
        got = f"{first[0]} in {first[1]} and {kind} in {where}"
        refuse_if(kind != first[0], what, "of one type", got, "Convert all values to strings or all to numbers.")
    return None if first is None else first[0]


def _are_mixed(cells: Iterable[object]) -> bool:
    """Whether keys or labels are of several kinds."""
    return len({kind_of(each) for each in set(map(type, cells))}) > 1


def kind_of_names(what: str, names: Array, rows: int | Array = 0) -> str | None:
    """The one kind of an array of keys or labels; `rows` numbers the rows, or is the number of the first."""
    if names.dtype != object:
        return kind_of(names.dtype.type) if len(names) else None
    cells = names.tolist()
    if _are_mixed(cells):
        numbered = range(rows, rows + len(cells)) if isinstance(rows, int) else rows.tolist()
        one_kind(what, ((kind_of(type(cell)), f"row {row}") for cell, row in zip(cells, numbered, strict=True)))
    return kind_of(type(cells[0])) if cells else None


def as_names(given: object) -> Array:
    """Keys or labels as an array; those of several kinds in a list as objects, which NumPy would make one kind."""
    names = np.asarray(given)
    mixed = isinstance(given, list | tuple) and names.ndim == 1 and _are_mixed(given)
    return np.array(given, dtype=object) if mixed else names


def as_numbers(value: object) -> Array | None:
    """A number or sequence of real numbers as an array; None for text, booleans and everything else."""
    array = np.asarray(value)
    if array.dtype == object and array.size and all(isinstance(item, numbers.Real) for item in array.ravel()):
        array = array.astype(np.float64)
    return array.astype(np.float64) if array.dtype.kind in "iuf" else None


def refuse_not_finite(what: str, numbers: Array) -> None:
    """Raise an error that names the first row with NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(numbers).reshape(len(numbers), -1).all(axis=1))
    if len(bad):
        cells = np.ravel(numbers[bad[0]])
        raise InputError(sentence(what, "finite", f"{cells[~np.isfinite(cells)][0]} in row {bad[0]}"))


def check_alpha(owner: str, alpha: AlphaLike, targets: int) -> Array:
    """alpha as one number per target.

    Examples
    --------
    >>> from mercer.data.checks import check_alpha
    >>> check_alpha("KernelRidge", 0.5, targets=2)
    array([0.5, 0.5])
    >>> check_alpha("KernelRidge", -1.0, targets=1)
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: alpha of KernelRidge must be a finite, non-negative number; got -1.0. ...
    """
    given = np.asarray(np.nan)
    with suppress(TypeError, ValueError, OverflowError):
        given = given if (values := as_numbers(alpha)) is None else values
    what = f"alpha of {owner}"
    must_be = "one number" if targets == 1 else f"one number, or an array of {targets} numbers (one per target)"
    refuse_if(given.ndim > 1 or given.size not in (1, targets), what, must_be, f"an array of shape {given.shape}")
    must_be = "a finite, non-negative number" if given.ndim == 0 else "finite, non-negative numbers"
    way_out = "Use a small positive number for weak regularization."
    refuse_if(not (np.isfinite(given) & (given >= 0)).all(), what, must_be, repr(alpha), way_out)
    return np.broadcast_to(given.ravel(), (targets,)).copy()


def check_intercept(owner: str, value: object) -> None:
    """Validate `fit_intercept`: True or False."""
    refuse_if(not isinstance(value, bool | np.bool_), f"fit_intercept of {owner}", "True or False", repr(value))


def check_weights(owner: str, weights: Array) -> Array:
    """Validate sample weights: none negative, one positive."""
    what = f"sample_weight of {owner}"
    if (weights < 0).any():
        raise InputError(sentence(what, "non-negative", f"{weights.min():.6g} in row {int(weights.argmin())}"))
    refuse_if(not (weights > 0).any(), what, "positive for at least one row", "only zeros")
    return weights


def check_gram(K: Array) -> Array:
    """Validate a precomputed kernel matrix for training: square and symmetric."""
    what = "The precomputed kernel matrix K in fit"
    must_be = "square, one row and column per training row"
    refuse_if(K.shape[0] != K.shape[1], what, must_be, f"{K.shape[0]} x {K.shape[1]}")
    gap, (i, j) = worst_asymmetry(K)
    if gap > ASYMMETRY * float(np.abs(K).max(initial=0.0)):
        got = f"K[{i}, {j}] = {K[i, j]:.6g} and K[{j}, {i}] = {K[j, i]:.6g}"
        raise InputError(sentence(what, "symmetric", got, "If the difference is rounding error, use (K + K.T) / 2."))
    return K


def worst_asymmetry(K: Array) -> tuple[float, tuple[int, int]]:
    """The largest |K[i, j] - K[j, i]|, and where it is."""
    worst, place = 0.0, (0, 0)
    for start in range(0, len(K), 500):
        with np.errstate(over="ignore"):
            gap = np.abs(K[start : start + 500] - K[:, start : start + 500].T)
        if gap.max() > worst:
            row, column = divmod(int(gap.argmax()), len(K))
            worst, place = float(gap.max()), (start + row, column)
    return worst, place


def bad_pair(K: Array) -> str | None:
    """Two rows whose 2 x 2 kernel matrix has a negative eigenvalue, in words: then K has one, too."""
    diagonal = np.asarray(K.diagonal(), dtype=np.float64)
    slack = 1e-8 * float(np.abs(diagonal).max(initial=0.0))
    if diagonal.min(initial=0.0) < -slack:
        i = int(diagonal.argmin())
        return f"K[{i}, {i}] = {diagonal[i]:.6g}"
    length = np.sqrt(np.maximum(diagonal, 0.0))
    for start in range(0, len(K), 500):
        excess = np.abs(K[start : start + 500]) - length[start : start + 500, None] * length
        if excess.max() > slack:
            row, column = np.unravel_index(int(excess.argmax()), excess.shape)
            i, j = start + int(row), int(column)
            bound = length[i] * length[j]
            return f"|K[{i}, {j}]| = {abs(K[i, j]):.6g}, above sqrt(K[{i}, {i}] K[{j}, {j}]) = {bound:.6g}"
    return None


def check_size(what: str, Y: Array) -> None:
    """Refuse targets so small or so large that a float64 cannot hold their squares, column by column.

    >>> import numpy as np
    >>> check_size("y", np.array([1e-200, 2e-200]))
    Traceback (most recent call last):
    ...
    mercer.errors.InputError: The largest absolute value of y must be between 1e-100 and 1e100, so that squares are ...
    """
    sizes = np.abs(np.asarray(Y, dtype=np.float64)).reshape(len(Y), -1).max(axis=0, initial=0.0)
    bad = (sizes > 0) & ~((sizes >= _SMALLEST) & (sizes <= _LARGEST))
    if bad.any():
        must_be, got = "between 1e-100 and 1e100, so that squares are finite and non-zero", f"{sizes[bad][0]:.3g}"
        raise InputError(sentence(f"The largest absolute value of {what}", must_be, got, "Rescale y."))


def sizes(values: Array) -> Array:
    """The largest number of each column, for squares that neither vanish nor overflow; 1 where all are 0."""
    largest = np.nanmax(np.abs(values), axis=0, initial=0.0)
    return np.asarray(np.where((largest > 0) & (largest < np.inf), largest, 1.0))


class KeywordHints:
    """Says what a misspelt keyword of a constructor should be: a base of kernels and estimators.

    >>> from mercer.data.checks import KeywordHints
    >>> class Model(KeywordHints):
    ...     def __init__(self, width=1.0):
    ...         self.width = width
    >>> Model(gamma=2.0)
    Traceback (most recent call last):
        ...
    TypeError: Model has no parameter 'gamma'. Did you mean 'width'?
    """

    def __new__(cls, *_args: object, **given: object) -> Self:
        """An instance, unless a keyword is unknown."""
        known = _keywords(cls) if given else None  # type: ignore[arg-type]
        _refuse_unknown(cls.__name__, given, given if known is None else known)
        return super().__new__(cls)


def _refuse_unknown(owner: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise TypeError(unknown_keyword(owner, name, known))


def unknown_keyword(owner: str, name: str, known: Collection[str]) -> str:
    """The message for a keyword that a class or function does not take, with the one that was meant."""
    hint = nearest(name, known) if known else "It has no parameters."
    if name == "gamma" and "kernels" in known:
        hint = "It belongs to the kernel: kernels=Gaussian.from_gamma(gamma), of width 1 / sqrt(2 gamma)."
    return f"{owner} has no parameter {name!r}. {hint}"


def keyword_hints(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """The function, or method, that says what a misspelt keyword should be.

    >>> from mercer.data.checks import keyword_hints
    >>> @keyword_hints
    ... def score(X, cv=5):
    ...     return cv
    >>> score([], folds=10)
    Traceback (most recent call last):
        ...
    TypeError: score has no parameter 'folds'. Did you mean 'cv'?
    """
    known = [name for name in signature(function).parameters if name != "self"]

    @wraps(function)
    def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        _refuse_unknown(function.__name__, kwargs, known)
        return function(*args, **kwargs)

    return call


@cache
def _keywords(cls: Any) -> tuple[str, ...] | None:
    """Keywords that a constructor takes; None if it takes any."""
    found = signature(cls.__init__).parameters
    if any(each.kind is each.VAR_KEYWORD for each in found.values()):
        return None
    return tuple(name for name in found if name != "self")
