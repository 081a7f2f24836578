"""What a column is worth to a model: the rise of its error on held-out rows when the column is permuted among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array


@dataclass(frozen=True, eq=False)
class HeldOutPart:
    """Rows that a model has not seen, and the model.

    Attributes
    ----------
    test : ndarray of int
        The rows.
    losses : callable
        From what these rows are encoded as (m x p) to the loss of each (m).
    """

    test: Array
    losses: Callable[[Array], Array]


def rises(
    Z: Array, parts: Sequence[HeldOutPart], columns: Sequence[Array], *, squares: bool, seed: int = 0
) -> Iterator[tuple[float, float]]:
    """For each column the rise of the mean loss, or of its root (`squares`), and its standard error by paired rows.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        All rows, encoded.
    parts : sequence of HeldOutPart
        Rows and the models that have not seen them.
    columns : sequence of ndarray of int
        For each column of the table those of Z that are made from it; they are permuted together.
    squares : bool
        Whether losses are squared errors, of which the root is told.
    seed : int, default=0
        Random seed of the permutations.
    """
    rng = np.random.default_rng(seed)
    before = np.concatenate([part.losses(Z[part.test]) for part in parts])
    for mine in columns:
        lender, after = _lenders(parts, rng), []
        for part in parts:
            permuted = Z[part.test]
            permuted[:, mine] = Z[np.ix_(lender[part.test], mine)]
            after.append(part.losses(permuted))
        yield _rise(before, np.concatenate(after), squares=squares)


def _lenders(parts: Sequence[HeldOutPart], rng: np.random.Generator) -> Array:
    """For every row that is held out, another one to take a cell from.

    Never itself, and from all that are held out at some time: folds of few rows hold too few to permute.
    """
    rows = np.concatenate([part.test for part in parts])
    ring = rng.permutation(rows)
    lender = np.zeros(int(rows.max()) + 1, dtype=np.intp)
    lender[ring] = np.roll(ring, 1)
    return lender


def _rise(before: Array, after: Array, *, squares: bool) -> tuple[float, float]:
    spread = float(np.std(after - before, ddof=1) / np.sqrt(len(before)))
    if not squares:
        return float(after.mean() - before.mean()), spread
    root = float(np.sqrt(after.mean()))
    return root - float(np.sqrt(before.mean())), spread / (2 * root) if root else 0.0
