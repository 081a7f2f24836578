"""What a search found: scores of every candidate on every split, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mercer.data.checks import sizes
from mercer.data.folds import Folds
from mercer.data.rows import Array
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.solvers.plan import digits_left
from mercer.text import Shown, text_table


@dataclass(frozen=True)
class Winner:
    """Where the best candidate is: its kernel, and its alpha for each target (or one for all)."""

    kernel: int
    alphas: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SearchTable(Shown):
    """Scores of all candidates, larger is better.

    Attributes
    ----------
    kernels : sequence of Kernel
        First axis of every array.
    alphas : ndarray
        Second axis.
    scores : ndarray of shape (kernels, alphas, splits, targets)
        Of every split; one target column unless alpha is chosen per target. NaN where not computed.
    pooled : ndarray of shape (kernels, alphas, targets)
        Score of all held-out predictions taken together.
    condition : ndarray of shape (kernels, alphas)
        Estimated condition number of each system.
    refits : ndarray of shape (kernels, alphas)
        Splits that had to be refitted.
    scoring : str
        Name of the score.
    """

    kernels: Sequence[Kernel]
    alphas: Array
    scores: Array
    pooled: Array
    condition: Array
    refits: Array
    scoring: str

    @staticmethod
    def empty(kernels: Sequence[Kernel], alphas: Array, splits: int, targets: int, scoring: str) -> SearchTable:
        """A table with no score yet."""
        shape = (len(kernels), len(alphas))
        scores, pooled, condition = (np.full((*shape, *more), np.nan) for more in ((splits, targets), (targets,), ()))
        return SearchTable(kernels, alphas, scores, pooled, condition, np.zeros(shape, dtype=np.intp), scoring)

    @property
    def _pairs(self) -> list[tuple[Kernel, float]]:
        """Kernel and alpha of every candidate."""
        return list(product(self.kernels, self.alphas.tolist()))

    def _columns(self) -> dict[str, list[object]]:
        kernels, alphas = zip(*self._pairs, strict=True)
        scores = self.mean.mean(axis=2).ravel().tolist()
        return {"kernel": [*map(repr, kernels)], "alpha": [*alphas], self.scoring: scores}

    def __str__(self) -> str:
        return f"{len(self.kernels)} kernels x {len(self.alphas)} alphas by {self.scoring}, larger is better"

    def arrays(self) -> dict[str, Array]:
        """What is known of every candidate, by name; kernels are the first axis, alphas the second."""
        return {name: getattr(self, name) for name in ("scores", "pooled", "condition", "refits")}

    @property
    def mean(self) -> Array:
        """Mean over splits, for each kernel, alpha and target."""
        return np.asarray(self.scores.mean(axis=2))

    def best_score(self, choice: Winner) -> float:
        """Mean score of the best candidate, over targets."""
        return float(np.mean([self.mean[choice.kernel, a, t] for t, a in enumerate(choice.alphas)]))

    def standard_error(self, folds: Folds) -> Array:
        """Standard error of the mean over splits; corrected where rows are tested more than once, as by repeats.

        sd / sqrt(splits) where test sets are disjoint. Otherwise Nadeau and Bengio's (1 / splits + test / train)
        in place of 1 / splits, because the training sets share most of their rows.
        """
        return standard_error(self.scores, held_out_ratio(folds) if folds.overlapping else 0.0, axis=2)

    def choose(self, rule: str, folds: Folds, why: Sequence[str] = ()) -> Winner:
        """The best candidate: the best mean, or the largest alpha of that kernel within one standard error.

        `why`: reasons for which scores failed, to be told where no candidate has one.
        """
        mean = np.where(np.isnan(self.mean), -np.inf, self.mean)
        if not np.isfinite(mean.max(axis=1)).all(axis=1).any():
            reason = f" ({why[0].rstrip('.')})" if why else ""
            raise InputError(f"All scores are NaN{reason}. Use another scoring or other folds.")
        kernel = int(mean.max(axis=1).mean(axis=1).argmax())
        best = mean[kernel].argmax(axis=0)
        if rule == "one_se":
            error = self.standard_error(folds)[kernel]
            for t, a in enumerate(best):
                enough = mean[kernel, :, t] >= mean[kernel, a, t] - np.nan_to_num(error[a, t])
                close = np.flatnonzero(enough & (self.alphas >= self.alphas[a]))
                best[t] = close[np.argmax(self.alphas[close])]
        return Winner(kernel, tuple(int(a) for a in best))

    def worst_condition(self, choice: Winner) -> float:
        """The largest condition number of the systems of the best candidate."""
        return max(float(self.condition[choice.kernel, a]) for a in choice.alphas)

    def digits(self, choice: Winner) -> float:
        """Decimal digits of the scores of the best candidate that are correct."""
        return digits_left(self.worst_condition(choice))

    def results(self) -> dict[str, Any]:
        """The scores in the form of GridSearchCV's cv_results_, with pooled scores and conditions beside."""
        pairs = self._pairs
        scores = self.scores.mean(axis=3).reshape(len(pairs), -1)
        mean = scores.mean(axis=1)
        unit = float(sizes(scores[np.isfinite(scores)]))
        spread = unit * (scores / unit).std(axis=1) if scores.shape[1] > 1 else np.full(len(pairs), np.nan)
        kernels = np.empty(len(pairs), dtype=object)
        kernels[:] = [kernel for kernel, _ in pairs]
        worth = np.where(np.isnan(mean), -np.inf, mean)
        better = len(worth) - np.searchsorted(np.sort(worth), worth, side="right")
        alphas = [alpha for _, alpha in pairs]
        given = {"kernel": kernels, "alpha": alphas}
        found: dict[str, Any] = {f"param_{name}": np.ma.MaskedArray(each, mask=False) for name, each in given.items()}
        found["params"] = [{"kernel": kernel, "alpha": alpha} for kernel, alpha in pairs]
        found |= {f"split{i}_test_score": column for i, column in enumerate(scores.T)}
        found |= {"mean_test_score": mean, "std_test_score": spread, "rank_test_score": (1 + better).astype(np.int32)}
        pooled = self.pooled.mean(axis=2).ravel()
        return found | {"pooled_test_score": pooled, "condition": self.condition.ravel(), "refits": self.refits.ravel()}

    def text(self, choice: Winner, folds: Folds, most: int = 10) -> str:
        """The best candidates as a table for people."""
        mean, error = self.mean.mean(axis=2), self.standard_error(folds).mean(axis=2)
        ranked = np.argsort(-np.nan_to_num(mean, nan=-np.inf).ravel(), kind="stable")[:most]
        rows = [
            [
                "->" if k == choice.kernel and a in choice.alphas else "", repr(self.kernels[k]),
                f"{self.alphas[a]:.3g}", float(mean[k, a]),
                "none" if np.isnan(error[k, a]) else float(error[k, a]),  # one score has no standard error
                float(self.pooled[k, a].mean()),
            ]
            for k, a in zip(*np.unravel_index(ranked, mean.shape), strict=True)
        ]  # fmt: skip
        return text_table(["", "kernel", "alpha", self.scoring, "std. error", "pooled"], rows)


def held_out_ratio(folds: Folds) -> float:
    """Test rows over training rows, the mean over splits."""
    return float(np.mean([len(split.test) / split.train_count for split in folds.splits]))


def standard_error(scores: Array, ratio: float, axis: int = 0) -> Array:
    """Standard error of a mean over splits, sd sqrt(1 / splits + ratio); NaN for a single score.

    `ratio`: test rows over training rows where training parts overlap (Nadeau and Bengio); 0 for independent scores.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.table import standard_error
    >>> float(standard_error(np.array([1.0, 2.0, 3.0]), 1 / 6).round(4))
    0.7071
    """
    count = scores.shape[axis]
    if count < 2:
        return np.full(np.delete(scores.shape, axis), np.nan)
    unit = float(sizes(scores.ravel()))  # so that squares exist
    return np.asarray(unit * (scores / unit).std(axis=axis, ddof=1) * math.sqrt(1.0 / count + ratio))


def join_tables(first: SearchTable, second: SearchTable, axis: int) -> SearchTable:
    """Two tables side by side: further kernels (0) or further alphas (1)."""
    more = second.arrays()
    arrays = {name: np.concatenate([array, more[name]], axis=axis) for name, array in first.arrays().items()}
    kernels, alphas = [*first.kernels, *second.kernels], np.concatenate([first.alphas, second.alphas])
    if axis == 0:
        return SearchTable(kernels, first.alphas, scoring=first.scoring, **arrays)
    order = np.argsort(alphas, kind="stable")
    arrays = {name: array[:, order] for name, array in arrays.items()}
    return SearchTable(first.kernels, alphas[order], scoring=first.scoring, **arrays)


def mean_with_error(values: Array, clusters: Array | None = None) -> tuple[Array, Array]:
    """Mean of each column and its standard error, which takes the rows of a cluster as dependent.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.table import mean_with_error
    >>> values = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)  # three groups of four equal rows
    >>> [float(mean_with_error(values, clusters)[1][0].round(2)) for clusters in (None, np.repeat([0, 1, 2], 4))]
    [0.25, 0.58]
    """
    n, mean = len(values), values.mean(axis=0)
    off = values - mean
    if clusters is not None:
        numbers = np.unique(clusters, return_inverse=True)[1].ravel()
        off = np.stack([np.bincount(numbers, column) for column in off.T], axis=1)
    count = len(off)
    if count < 2:
        return mean, np.full(mean.shape, np.nan)
    return mean, np.sqrt(np.sum(off**2, axis=0) * count / (count - 1)) / n
