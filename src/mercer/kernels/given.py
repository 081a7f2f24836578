"""Kernels that come from outside: a matrix, a function of blocks, explicit features, one function."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.kernels.base import BuiltIn, Kernel
from mercer.kernels.value import Identity, argument, check_callable, function_name

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mercer.kernels.pair import Pair


class Precomputed(BuiltIn):
    """A Gram matrix given in place of X: n x n for training, new rows x n for prediction.

    Examples
    --------
    >>> from mercer.kernels import Precomputed
    >>> (2.0 * Precomputed())([[1.0, 0.5], [0.5, 1.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    kind = "gram"
    mercer = None
    because = "a precomputed matrix does not determine the kernel on other rows"

    def block(self, pair: Pair) -> Array:
        """The part of the matrix that belongs to this tile."""
        columns = pair.z.values[:, 0]
        return pair.copy_of(pair.x.values[:, columns[0] : columns[-1] + 1] if len(columns) else pair.x.values[:, :0])

    def diagonal(self, rows: Rows) -> Array:
        """The diagonal of a square matrix."""
        what, got = "The matrix for Precomputed().diag", f"{len(rows)} x {rows.width}"
        way_out = "For new rows, pass their k(x, x) as diag= to the method of the model."
        refuse_if(len(rows) != rows.width, what, "square", got, way_out)
        return np.asarray(rows.values.diagonal(), dtype=np.float64).copy()


class OfFunction(Kernel):
    """A kernel whose one parameter is a function."""

    kind = "any"

    def __post_init__(self) -> None:
        """Refuse what cannot be called."""
        for name, function in self.items():
            check_callable(self, name, function)


class Custom(OfFunction):
    """Any function of two blocks of rows, f(X, Z) -> matrix.

    The function sees whole blocks and is never called for single pairs. Whether it is a Mercer kernel
    is unknown.

    Parameters
    ----------
    function : callable
        Takes two arrays of rows and returns the matrix of their similarities.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Custom
    >>> overlap = Custom(lambda X, Z: np.minimum(X[:, None], Z[None]).sum(axis=2))
    >>> overlap([[1.0, 2.0], [2.0, 0.0]])
    array([[3., 1.],
           [1., 2.]])
    """

    because = "a user-defined function cannot be proved automatically"

    function: Callable[[XLike, XLike], XLike]

    def block(self, pair: Pair) -> Array:
        """The function's answer for this tile, in an array of our own."""
        return real_array(self, self.function(pair.x.values, pair.z.values)).astype(pair.dtype)


def real_array(owner: Kernel, values: XLike) -> Array:
    """What a user's function returned, an array or a sparse matrix, as real numbers."""
    values = values.toarray() if hasattr(values, "toarray") else values
    with suppress(TypeError, ValueError):
        array = np.asarray(values)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    raise InputError(sentence(f"The result of {owner!r}", "an array of real numbers", f"{type(values).__name__}"))


def _feature_table(owner: Kernel, values: XLike, count: int) -> Array:
    table = real_array(owner, values)
    table = table[:, None] if table.ndim == 1 else table
    fits, must_be = table.ndim == 2 and len(table) == count, f"a table of {count} rows, one per row of X"
    refuse_if(not fits, f"The result of {owner!r}", must_be, f"shape {table.shape}")
    refuse_if(not np.isfinite(table).all(), f"Every feature of {owner!r}", "finite", "NaN or infinity")
    return table


class GivenFeatures(OfFunction):
    """phi(x)'phi(z) for features that a function makes of a whole table, once."""

    mercer = True
    finite = True
    trusted = True

    @property
    def _name(self) -> Hashable:
        ((_, function),) = self.items()
        return type(self), Identity(function)

    def table(self, values: XLike) -> Rows:
        """phi of these rows."""
        ((_, function),) = self.items()
        return Rows(_feature_table(self, function(values), values.shape[0]))

    def block(self, pair: Pair) -> Array:
        """The scalar products of this tile's features."""
        return pair.mapped(self._name, self.table).dot()

    def diagonal(self, rows: Rows) -> Array:
        """phi(x)'phi(x)."""
        table = self.features(rows)
        return np.asarray(np.einsum("ij,ij->i", table, table))

    def features(self, rows: Rows) -> Array:
        """phi(x), computed once for a table."""
        return np.asarray(rows.derive(self._name, self.table).values)


class FromFeatures(GivenFeatures):
    """phi(x)'phi(z) for explicit features phi: ridge regression on a basis of your own.

    Parameters
    ----------
    phi : callable
        Takes the table X and returns a table with one row of features per row of X.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import FromFeatures
    >>> parabola = FromFeatures(lambda X: np.hstack([np.ones_like(X), X, X**2]))
    >>> parabola([[1.0], [2.0]])
    array([[ 3.,  7.],
           [ 7., 21.]])
    """

    because = "it is a scalar product of explicit features"

    phi: Callable[[XLike], XLike]


class Outer(GivenFeatures):
    """f(x) f(z) for one real-valued function f.

    Parameters
    ----------
    f : callable
        Takes the table X and returns one number per row.

    Examples
    --------
    >>> from mercer.kernels import Outer
    >>> Outer(lambda X: X[:, 0] ** 2)([[1.0], [3.0]])
    array([[ 1.,  9.],
           [ 9., 81.]])
    """

    because = "its one feature is f(x)"

    f: Callable[[XLike], XLike]

    def table(self, values: XLike) -> Rows:
        """f of these rows, one number of each."""
        table = super().table(values)
        shape, hint = table.values.shape, "For several features, use FromFeatures."
        refuse_if(shape[1] != 1, f"The result of {self!r}", "one number per row", f"{shape[1]} numbers per row", hint)
        return table

    def feature_count(self, width: int) -> int | None:
        """One."""
        return 1

    def feature_labels(self, rows: Rows) -> list[str]:
        """The function's name, of x."""
        return [f"{function_name(self.f, 'f')}({argument(rows)})"]
