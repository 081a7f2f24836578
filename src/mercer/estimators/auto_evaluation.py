"""The loss of automatic models, their error estimates, the importance of columns, and columns that leak the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer.data.rows import Array
from mercer.errors import InputError, LeakageWarning, refuse_if, warn
from mercer.estimators.parameters import is_in
from mercer.estimators.targets import class_numbers
from mercer.selection.outcome import numbers_text
from mercer.selection.table import mean_with_error
from mercer.solvers.problem import LOSSES, Loss
from mercer.tables import TableEncoder
from mercer.text import listed
from mercer.tuning.committee import Committee

FULL_SYSTEMS = 5000  # rows up to which members have one system of all rows; beyond, they are in cells
MEAN_LOSSES = ("poisson", "gamma")  # of models of the logarithm of the mean
LOSS_NAMES = ("auto", "squared", "log", *MEAN_LOSSES)
WORDS = {
    "squared": "",
    "log": "The logarithm of the target is fitted.",
    "poisson": "Poisson loss: the logarithm of the mean count is fitted.",
    "gamma": "Gamma loss: the logarithm of the mean of a positive target is fitted.",
}
_ZERO = 0.5  # what a count of 0 is coded as, so that it has a logarithm
_SPREAD = 0.5  # standard deviations, over the mean, from which on a positive target is worth another loss
_UNSTABLE, _LARGE = 1.5, 20  # ratio of the errors of folds that is told; rows of a fold from which on it is
_FEW_ROWS = 60  # rows, or groups of them: standard errors are multiplied by sqrt(1 + 60 / n)
_WIDTHS_PER_ROW = 0.1  # tuned widths for each row, up to which the leave-one-out error with them is believed
_FEW = 30  # rows below which the error is not corrected for the number of rows
_SMALL = 1e-6  # gains of less than this share of the baseline's loss are rounding
NEARLY_ALL = 0.98  # share of the baseline loss above which one column is suspected of leakage
ROWS = 1500  # beyond, a random part of the rows
MOST_COLUMNS = 200  # of more, the neighbours take longer than the fit does
_NEIGHBOURS = 5
_FEWEST_ROWS = 20  # of fewer, a column may determine the target by chance


def candidate_loss(y: Array) -> str | None:
    """The loss that is tried beside the squared one; the first line that fits decides.

    ================================================================  ===========
    several targets                                                   None
    a standard deviation below half of the mean, or a mean below 0    None
    positive numbers                                                  `gamma`
    whole numbers from 0 on                                           `poisson`
    other numbers                                                     None
    ================================================================  ===========
    """
    if y.ndim > 1 or y.std() < _SPREAD * y.mean() or not y.mean() > 0:
        return None
    return "gamma" if (y > 0).all() else "poisson" if are_counts(y) else None


def are_counts(y: Array) -> bool:
    """Whether all targets are whole numbers that are not negative."""
    return bool((y >= 0).all() and (y == np.floor(y)).all())


def check_loss(name: Any, y: Array, what: str, *, ordered: bool = False, extra: bool = False) -> None:
    """Refuse losses that there are not, and targets and settings that a loss does not support.

    Parameters
    ----------
    name : str
        The loss.
    y : ndarray of shape (n,) or (n, n_targets)
        Targets.
    what : str
        What the sentence calls the targets.
    ordered, extra : bool, default=False
        Whether folds follow in time, and whether other estimators are in the committee.
    """
    must_be = f"one of {', '.join(map(repr, LOSS_NAMES))}"
    refuse_if(not is_in(name, *LOSS_NAMES), "loss of AutoRegressor", must_be, repr(name))
    positive, counts = bool((y > 0).all()), are_counts(y) and bool(y.any())
    fits = {"log": positive, "gamma": positive, "poisson": counts}.get(name, True)
    must_be = "whole numbers from 0 on, not all 0," if name == "poisson" else "positive"
    refuse_if(not fits, what, f"{must_be} with loss={name!r}", f"{y.min():g} as the smallest")
    unsupported = {"a table of targets": y.ndim > 1, "time": ordered, "extra": extra}
    unsupported[f"more than {FULL_SYSTEMS} rows"] = len(y) > FULL_SYSTEMS
    setting = next((setting for setting, given in unsupported.items() if given), None)
    if name in MEAN_LOSSES and setting is not None:
        raise InputError(f"loss={name!r} does not support {setting}. Use loss='log' or loss='squared'.")


def logarithms(y: Array, name: str) -> Array:
    """Logarithms of targets; of counts with one half for 0."""
    return np.asarray(np.log(np.where(y > 0, y, _ZERO) if name == "poisson" else y))


def without_zeros(values: Array, name: str) -> Array:
    """Targets from the exponentials of `logarithms`: counts are whole again."""
    return np.where(values < 1.5 * _ZERO, 0.0, np.rint(values)) if name == "poisson" else values


def lowers_loss(name: str, y: Array, before: Array, after: Array, clusters: Array | None) -> bool:
    """Whether held-out predictions of this loss are better than those of the squared one.

    Their mean loss must be lower by more than one standard error, and their squared error not higher by more than half
    of one, and below that of the mean.
    Predictions that are not positive count as half of the least positive target.
    """
    loss: Loss = LOSSES[name]()
    least = 0.5 * float(y[y > 0].min())
    worse, better = (loss.rows(y, np.log(np.maximum(each, least))[:, None]) for each in (before, after))
    gains = np.column_stack([worse - better, (before - y) ** 2 - (after - y) ** 2])
    deviance, square = paired(gains, clusters=clusters)
    return bool(np.mean((after - y) ** 2) < y.var() and deviance > 1.0 and square > -0.5)


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
    means = (np.sqrt(np.mean(residuals[committee.folds == k] ** 2, axis=0)) for k in folds)
    return np.stack([mean * growth(committee, int(k)) for mean, k in zip(means, folds, strict=True)])


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
    small = len(by_fold) < 2 or by_fold.shape[1] > 1 or rows < _LARGE * len(by_fold)
    if small or by_fold.max() <= _UNSTABLE * by_fold.min():
        return []
    low, high = float(by_fold.min()), float(by_fold.max())
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
    return paired(base**2 - (committee.held_out - Y) ** 2, np.mean(base**2, axis=0), committee.clusters)


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


def rises(Z: Array, parts: list[HeldOutPart], columns: list[Array], *, squares: bool) -> Iterator[tuple[float, float]]:
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
    rng = np.random.default_rng(0)
    before = np.concatenate([part.losses(Z[part.test]) for part in parts])
    for mine in columns:
        lender, losses = _lenders(parts, rng), []
        for part in parts:
            permuted = Z[part.test]
            permuted[:, mine] = Z[np.ix_(lender[part.test], mine)]
            losses.append(part.losses(permuted))
        after = np.concatenate(losses)
        spread = float(np.std(after - before, ddof=1) / np.sqrt(len(before)))
        root = float(np.sqrt(after.mean())) if squares else 0.0
        by_root = root - float(np.sqrt(before.mean())), spread / (2 * root) if root else 0.0
        yield by_root if squares else (float(after.mean() - before.mean()), spread)


def _lenders(parts: Sequence[HeldOutPart], rng: np.random.Generator) -> Array:
    """For every row that is held out, another one to take a cell from.

    Never itself, and from all that are held out at some time: folds of few rows hold too few to permute.
    """
    rows = np.concatenate([part.test for part in parts])
    ring = rng.permutation(rows)
    lender = np.zeros(int(rows.max()) + 1, dtype=np.intp)
    lender[ring] = np.roll(ring, 1)
    return lender


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
    >>> from mercer.estimators.auto_evaluation import share_alone
    >>> x = np.arange(20.0)
    >>> round(share_alone(x[:, None], 3.0 * x + 1.0, classifier=False), 3)
    1.0
    """
    nearest = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, len(y) - 1)).fit(z).kneighbors(return_distance=False)
    if classifier:
        labels, numbers = class_numbers(y)
        votes = np.stack([(numbers[nearest] == k).sum(axis=1) for k in range(len(labels))], axis=1)
        base = 1.0 - np.bincount(numbers).max() / len(numbers)
        return 1.0 - float(np.mean(votes.argmax(axis=1) != numbers)) / base if base else 0.0
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
        words = f"Possible target leakage: {subject} nearly determines y."
        warn(f"{words} Drop columns that were computed from y, or are known only after it.", LeakageWarning)
