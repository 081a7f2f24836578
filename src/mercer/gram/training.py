"""The Gram matrix of the training rows, ready to be factored in place."""

from __future__ import annotations

import warnings

import numpy as np

from mercer.data.checks import checked_gram, first_bad_pair
from mercer.data.rows import Array, Rows
from mercer.errors import InputError, NotMercerWarning, sentence
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import between, column_numbers, gram


def training_matrix(kernel: Kernel, rows: Rows) -> Array:
    """k(X, X) in a fresh array; a given matrix is checked and copied.

    Examples
    --------
    >>> from mercer.data import as_rows
    >>> from mercer.gram import training_matrix
    >>> from mercer.kernels import Linear
    >>> training_matrix(Linear(), as_rows([[1.0], [2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    if kernel.kind != "gram":
        K = gram(kernel, rows)
    else:
        given = rows.values.toarray() if rows.sparse else rows.values
        checked_gram(given)
        bad = first_bad_pair(given)
        if bad is not None:
            i, j = bad
            warnings.warn(
                "A precomputed kernel must be positive semi-definite; got "
                + (f"K[{i}, {i}] = {given[i, i]:.6g}. " if i == j else
                   f"K[{i}, {j}] = {given[i, j]:.6g} with K[{i}, {i}] = {given[i, i]:.6g} and K[{j}, {j}] = {given[j, j]:.6g}. ")
                + "Clip its negative eigenvalues before giving it.",
                NotMercerWarning,
                stacklevel=4,
            )
        K = between(kernel, rows, column_numbers(rows))
    if not np.isfinite(K.diagonal()).all():
        row = int(np.flatnonzero(~np.isfinite(K.diagonal()))[0])
        raise InputError(
            sentence(f"k(x, x) of {kernel!r}", "finite", f"{K[row, row]} in row {row}", "Scale the columns of X.")
        )
    return K
