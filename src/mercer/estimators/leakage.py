"""How well one column alone predicts the target: if nearly perfectly, it may be target leakage."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer.data.rows import Array
from mercer.errors import LeakageWarning, warn
from mercer.estimators.targets import class_numbers
from mercer.tables import TableEncoder
from mercer.text import listed

NEARLY_ALL = 0.98  # share of the baseline loss above which one column is suspected of leakage
ROWS = 1500  # beyond, a random part of the rows
MOST_COLUMNS = 200  # of more, the neighbours take longer than the fit does
_NEIGHBOURS = 5
_FEWEST_ROWS = 20  # of fewer, a column may determine the target by chance


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
    >>> from mercer.estimators.leakage import share_alone
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
    if not total or not np.ptp(y):
        return 0.0
    found = 1.0 - float(np.sum((y[nearest].mean(axis=1) - y) ** 2)) / total
    if z.shape[1] == 1 and np.ptp(z) > 0:
        found = max(found, float(np.corrcoef(z[:, 0], y)[0, 1] ** 2))
    return found


def warn_of_leakage(encoder: TableEncoder, Z: Array, y: Array, *, classifier: bool) -> None:
    """Warn of columns each of which nearly determines the target alone; the only column of a table is no leak."""
    rows, owner = some_rows(len(y)), np.asarray(encoder.groups_)
    used = np.unique(owner)
    if not 1 < len(used) <= MOST_COLUMNS or len(rows) < _FEWEST_ROWS:
        return
    shares = [share_alone(Z[np.ix_(rows, owner == place)], y[rows], classifier=classifier) for place in used]
    names = [encoder.columns_[place].name for place, share in zip(used, shares, strict=True) if share > NEARLY_ALL]
    if names:
        subject = f"column {listed(names)} alone" if len(names) == 1 else f"each of {listed(names)} alone"
        warn(
            f"Possible target leakage: {subject} nearly determines y. Drop columns that were computed from y, or are "
            "known only after it.",
            LeakageWarning,
        )
