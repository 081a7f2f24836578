"""Error estimates of the automatic estimators: their own, that of an outer loop, and the importance of columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Array
from mercer.selection.outcome import numbers_text
from mercer.selection.table import mean_with_error
from mercer.tuning.committee import Committee

_UNSTABLE, _LARGE = 1.5, 20  # ratio of the errors of folds that is told; rows of a fold from which on it is
_FEW_ROWS = 60  # rows, or groups of them: standard errors are multiplied by sqrt(1 + 60 / n)
_WIDTHS_PER_ROW = 0.1  # tuned widths for each row, up to which the leave-one-out error with them is believed
_FEW = 30  # rows below which the error is not corrected for the number of rows
_SMALL = 1e-6  # gains of less than this share of the baseline's loss are rounding


def root_mean_square(residuals: Array, clusters: Array | None = None) -> tuple[Array, Array]:
    """Root of the mean square of each column, and its standard error."""
    unit = np.maximum(np.abs(residuals).max(axis=0, initial=0.0), 1e-300)
    square, spread = mean_with_error((residuals / unit) ** 2, clusters)
    error = np.sqrt(square)
    return unit * error, unit * spread / np.maximum(2 * error, 1e-300)


def trust_in_tuned(committee: Committee) -> float:
    """How far the leave-one-out error of tuned widths is believed: 1 up to a width for ten rows, 0 from one for each.

    Linear targets of 250 rows, errors estimated over true ones, without and with it: 100 columns .93 and .97, 300
    columns .80 and 1.01.
    """
    parameters = (member.kernel.tunable().items() for member in committee.members)
    widths = [len(np.unique(value)) for each in parameters for name, value in each if name.endswith("width")]
    share = max(widths, default=1) / max(len(committee.held_out), 1)
    return float(np.clip((1.0 - share) / (1.0 - _WIDTHS_PER_ROW), 0.0, 1.0))


def growth(committee: Committee, fold: int | None = None) -> Array | float:
    """Ratio of the leave-one-out error to the error of the folds, of each target, parameters as tuned on all rows.

    It is how much the error falls from the training rows of a fold to all rows: at most to one half, and 1 for fewer
    than 30 rows, of which parameters can be tuned to any ratio. 1 where it was not computed. Known of m of n rows,
    its logarithm is multiplied by sqrt(m / n): learning curves get flatter. Widths that are tuned on all rows make the
    leave-one-out error too small if they are many (`trust_in_tuned`). It is known of the kernel members alone, and
    counts with their weight. With `fold`, that of its rows alone.
    """
    if committee.left_out is None or committee.in_folds is None or len(committee.left_out) < _FEW:
        return 1.0
    known = len(committee.left_out) == len(committee.folds)
    rows = slice(None) if fold is None or not known else committee.folds == fold
    all_rows, folds = (np.sqrt(np.mean(each[rows] ** 2, axis=0)) for each in (committee.left_out, committee.in_folds))
    ratio = np.divide(all_rows, folds, out=np.ones_like(all_rows), where=folds > 0)
    flatter = math.sqrt(len(committee.left_out) / len(committee.held_out)) * trust_in_tuned(committee)
    flatter *= min(1.0, sum(member.weight for member in committee.members)) if committee.members else 1.0
    return np.asarray(np.where(np.isfinite(ratio), np.clip(ratio, 0.5, 1.0), 1.0) ** flatter)


def fold_errors(residuals: Array, committee: Committee) -> Array:
    """The error that each fold alone would estimate (folds x t)."""
    folds = np.unique(committee.folds)
    return np.stack(
        [np.sqrt(np.mean(residuals[committee.folds == k] ** 2, axis=0)) * growth(committee, int(k)) for k in folds]
    )


def error_spread(by_rows: Array, by_fold: Array, factor: float) -> Array:
    """Standard error of an error estimate: that of its rows, or that of the folds if they disagree by more, and more.

    Models that are tuned in each fold differ by more than their rows do where tuning finds a structure in some folds
    and misses it in others. `factor`: what tuning on few rows adds (`tuning_factor`).
    """
    between = by_fold.std(axis=0, ddof=1) / math.sqrt(len(by_fold)) if len(by_fold) > 1 else by_rows
    return np.asarray(np.fmax(by_rows, between) * factor)


def tuning_factor(n: int, clusters: Array | None, *, ordered: bool) -> float:
    """By how much tuning on few rows widens the standard error of an error estimate: sqrt(1 + 60 / n).

    With it, the true errors of drawn problems were within two standard errors in 85 to 92 % of fits to 24, 36, 60 and
    120 rows. Where rows of a group depend on one another, n is the number of groups: over 200 drawn tables, errors in
    units of their standard errors had a standard deviation of 1.4 with 12 groups and 0.9 with 40.
    """
    independent = n if clusters is None or ordered else len(np.unique(clusters))
    return math.sqrt(1.0 + _FEW_ROWS / independent)


def stability_words(by_fold: Array, rows: int) -> list[str]:
    """A line where large folds disagree about the error by more than a factor of 1.5."""
    if len(by_fold) < 2 or by_fold.shape[1] > 1 or rows < _LARGE * len(by_fold):
        return []
    low, high = float(by_fold.min()), float(by_fold.max())
    if high <= _UNSTABLE * low:
        return []
    return [f"The error estimate is unstable: single folds estimate {numbers_text(low, 3)} to {numbers_text(high, 3)}."]


def signal(committee: Committee, Y: Array) -> Array:
    """z of the mean difference between the squared errors of the baseline and of out-of-fold predictions.

    The baseline is the mean of the other folds, or what is known of the rows before each fold.
    """
    base, folds = committee.base, committee.folds
    if base is None:
        base = np.empty_like(Y)
        for fold in np.unique(folds):
            base[folds == fold] = Y[folds == fold] - Y[folds != fold].mean(axis=0)
    gains = base**2 - (committee.held_out - Y) ** 2
    return paired(gains, np.mean(base**2, axis=0), committee.clusters)


def paired(gains: Array, size: Array | float = 0.0, clusters: Array | None = None) -> Array:
    """z of the mean of each column, over clusters of dependent rows.

    0 where gains are rounding beside `size`, and for fewer than two rows or clusters.
    """
    largest = np.abs(gains).max(axis=0, initial=0.0)
    mean, spread = mean_with_error(gains / np.where(largest > 0, largest, 1.0), clusters)
    counts = (spread > 0) & (largest > _SMALL * size)
    return np.asarray(np.divide(mean, spread, out=np.zeros(len(spread)), where=counts))


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
