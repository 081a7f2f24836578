"""How well one column alone predicts the target: if nearly perfectly, it may be target leakage."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer.data.rows import Array
from mercer.estimators.targets import class_numbers

NEARLY_ALL = 0.98  # of the loss taken away by one column: few honest ones do
ROWS = 1500  # beyond, a random part of the rows
_NEIGHBOURS = 5


def some_rows(n: int) -> Array:
    """All rows, or as many as can be afforded, drawn at random."""
    return np.arange(n) if n <= ROWS else np.sort(np.random.default_rng(0).permutation(n)[:ROWS])


def share_alone(z: Array, y: Array, *, classifier: bool) -> float:
    """The share of the baseline loss that is explained by the features z of one column.

    Every row is predicted by the rows next to it, itself left out; of one column of numbers the squared
    correlation counts if it is larger.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report.alone import share_alone
    >>> x = np.arange(20.0)
    >>> round(share_alone(x[:, None], 3.0 * x + 1.0, classifier=False), 3)
    1.0
    """
    nearest = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, len(y) - 1)).fit(z).kneighbors(return_distance=False)
    if classifier:
        labels, numbers = class_numbers(y)
        votes = np.stack([(numbers[nearest] == k).sum(axis=1) for k in range(len(labels))], axis=1)
        base = 1.0 - np.bincount(numbers).max() / len(numbers)
        wrong = float(np.mean(votes.argmax(axis=1) != numbers))
        return 1.0 - wrong / base if base else 0.0
    total = float(np.sum((y - y.mean()) ** 2))
    if not total:
        return 0.0
    found = 1.0 - float(np.sum((y[nearest].mean(axis=1) - y) ** 2)) / total
    if z.shape[1] == 1 and np.ptp(z) > 0:
        found = max(found, float(np.corrcoef(z[:, 0], y)[0, 1] ** 2))
    return found
