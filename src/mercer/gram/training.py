"""The Gram matrix of the training rows, ready to be factored in place."""

from __future__ import annotations

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import between, column_numbers, gram


def training_matrix(kernel: Kernel, rows: Rows) -> Array:
    """k(X, X) in a fresh array; a given matrix is copied.

    Examples
    --------
    >>> from mercer.data import as_rows
    >>> from mercer.gram import training_matrix
    >>> from mercer.kernels import Linear
    >>> training_matrix(Linear(), as_rows([[1.0], [2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    K = between(kernel, rows, column_numbers(rows)) if kernel.kind == "gram" else gram(kernel, rows)
    if not np.isfinite(K.diagonal()).all():
        row = int(np.flatnonzero(~np.isfinite(K.diagonal()))[0])
        raise InputError(
            sentence(f"k(x, x) of {kernel!r}", "finite", f"{K[row, row]} in row {row}", "Scale the columns of X.")
        )
    return K
