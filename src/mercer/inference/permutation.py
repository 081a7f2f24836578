"""Is there any signal? The search repeated for every permutation of the targets, at the price of products.

Held-out predictions are linear in the targets (docs/derivations, section 26), so one factor of each candidate scores
all permutations. The best score over the candidates is taken for each, as it was for the targets as observed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from mercer.data.checks import keyword_hints
from mercer.data.folds import by_chance, check_names, draw
from mercer.data.rows import Array, Estimator, PerRow, ScoringLike, Seed, XLike, YLike
from mercer.displays.errors import NullDisplay
from mercer.errors import InputError, refuse_if, sentence
from mercer.estimators import KernelRidge, KernelRidgeClassifier
from mercer.estimators.parameters import is_whole
from mercer.estimators.pipelines import column_names, refittable, split_pipeline, with_column
from mercer.estimators.search import search_of
from mercer.estimators.search_core import SearchCore
from mercer.inference.changes import as_list, column_place
from mercer.inference.comparison import holm
from mercer.kernels.tiles import underflow_is_zero
from mercer.runtime.progress import Progress
from mercer.selection.scoring import Classes
from mercer.selection.search import Search
from mercer.text import Shown, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HELD = 2**27  # bytes of scores and predictions of the permutations that are scored together
_ROUNDING = 1e-10  # of a score: ties are no evidence


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTest(Shown):
    """A test of the hypothesis that targets do not depend on the rows.

    Attributes
    ----------
    pvalue : float
        (1 + permutations that score at least as well) / (1 + permutations); with early stopping Besag and Clifford's.
    score : float
        The best cross-validation score of the targets as observed.
    null : ndarray of shape (permutations,)
        The best score of each permutation.
    scoring : str
        Name of the score, of which larger is better.
    """

    pvalue: float
    score: float
    null: Array
    scoring: str

    def _columns(self) -> dict[str, list[object]]:
        spread = float(self.null.std(ddof=1)) if len(self.null) > 1 else float("nan")
        names = "score", "mean of permutations", "standard deviation", "permutations", "p"
        values = self.score, float(self.null.mean()), spread, len(self.null), self.pvalue
        return {name: [value] for name, value in zip(names, values, strict=True)}

    def __str__(self) -> str:
        count, mean = int(_as_good(self.null, self.score).sum()), plain(float(self.null.mean()))
        return (
            f"p = {plain(self.pvalue, 3)}: the best {self.scoring} is {plain(self.score)}; of {len(self.null)} "
            f"permutations {count} score at least as well (their mean {mean})."
        )

    def plot(self, ax: Axes | None = None) -> NullDisplay:
        """Draw the scores of the permutations, and that of the targets as observed.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        NullDisplay
        """
        return NullDisplay(self.null, self.score, self.pvalue, self.scoring).plot(ax)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnTests(Shown):
    """Tests of single columns.

    Attributes
    ----------
    names : list of str
        The columns.
    pvalue, adjusted : ndarray of shape (columns,)
        Of each column, and after Holm's correction for all of them.
    score : float
        The best cross-validation score of the table as it is.
    null : ndarray of shape (columns, permutations)
        The best scores with a column permuted.
    scoring : str
        Name of the score.
    """

    names: list[str]
    pvalue: Array
    adjusted: Array
    score: float
    null: Array
    scoring: str

    def _columns(self) -> dict[str, list[object]]:
        columns = {"mean score permuted": self.null.mean(axis=1), "p": self.pvalue, "p, Holm": self.adjusted}
        return {"column": self.names} | {name: values.tolist() for name, values in columns.items()}

    def __str__(self) -> str:
        head = f"Best {self.scoring} {plain(self.score)}; {self.null.shape[1]} permutations of each column."
        return f"{head}\n\n{self._table()}"


@keyword_hints
@underflow_is_zero
def permutation_test(
    model: Estimator,
    X: XLike,
    y: YLike,
    *,
    permutations: int = 999,
    groups: PerRow = None,
    blocks: PerRow = None,
    scoring: ScoringLike = None,
    columns: object = None,
    stop_after: int | None = None,
    random_state: Seed = 0,
    verbose: int = 0,
) -> Any:
    """Test whether targets depend on the rows at all, with the search repeated for every permutation.

    Under the hypothesis, targets as observed are one more permutation, so the p-value is valid for any number of rows
    and any distribution, whatever was selected. Default ladders come from X alone and do not grow here; folds are
    drawn without a look at the targets: those of a classifier are not stratified.

    Parameters
    ----------
    model : KernelRidgeCV, KernelRidgeClassifierCV, KernelRidge, KernelRidgeClassifier, or a Pipeline that ends in one
        Not changed; need not be fitted. A model is scored by leave-one-out. Transformers of a Pipeline must not look
        at the targets; they are fitted once, to all rows.
    X, y : array-like
        Rows, and one target or label each.
    permutations : int, default=999
        How many.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together: targets are exchanged between groups of equally many rows, and folds keep
        groups whole.
    blocks : array-like of shape (n_samples,), default=None
        Targets are permuted within blocks only: differences between blocks are no signal then.
    scoring : str or callable, default=None
        In place of that of the search.
    columns : sequence of str or int, or "all", default=None
        Permute these columns of X, one at a time, in place of the targets: does the column matter beside the others?
        The search is run again for every permutation, which takes as long as so many searches. The hypothesis is that
        the column depends neither on the targets nor on other columns.
    stop_after : int, default=None
        Stop when so many permutations score at least as well; p is then that number over the number made.
    random_state : int, RandomState or None, default=0
        Random seed of the permutations; that of folds is the search's.
    verbose : int, default=0
        1: progress.

    Returns
    -------
    PermutationTest or, with `columns`, ColumnTests
        `pvalue`, `score` and `null`; prints and plots. Those of columns have Holm's correction beside.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV, permutation_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> search = KernelRidgeCV("gaussian", fit_intercept=True)
    >>> permutation_test(search, X, np.sin(X[:, 0]), permutations=99, random_state=0).pvalue
    0.01
    >>> permutation_test(search, X, rng.normal(size=60), permutations=99, random_state=0).pvalue > 0.05
    True
    """
    model, X = refittable(model, X)
    transformers, last = split_pipeline(model)

    def transform(table: XLike) -> Any:
        return table if transformers is None else transformers.fit_again(table)

    rows = transform(X)
    search, labels = check_search(last, rows, scoring), np.asarray(y)
    refuse_if(not is_whole(permutations, 1), "permutations", "an integer of at least 1", repr(permutations))
    if stop_after is not None and not is_whole(stop_after, 1):
        raise InputError(sentence("stop_after", "an integer of at least 1, or None", repr(stop_after)))
    refuse_if(labels.ndim != 1, "y of permutation_test", "one target per row", f"shape {labels.shape}")
    draws = Permutations(len(labels), groups, blocks, check_random_state(random_state))
    if columns is None:
        scores = BestScores(search, rows, labels, groups)
        return _target_test(scores, draws, int(permutations), stop_after, verbose)
    if stop_after is not None:
        raise InputError("stop_after is not supported with columns. Remove one of them.")
    given = any(getattr(each, "kind", each) in ("gram", "precomputed") for each in as_list(search.kernels))
    if given or np.ndim(X) != 2 or hasattr(X, "tocsr") or (transformers is None and not _is_numeric(X)):
        raise InputError("columns of permutation_test need a dense table of numbers, and no precomputed kernel.")
    names = column_names(X)
    wanted = range(len(names)) if isinstance(columns, str) and columns == "all" else as_list(columns)
    places = [column_place(each, names) for each in wanted]
    if by_chance(search.cv, search.repeats, search.random_state):
        search.set_params(random_state=int(draws.rng.randint(2**31 - 1)))  # the same folds for all
    first, null = BestScores(search, transform(X), labels, groups), np.empty((len(places), int(permutations)))
    progress = Progress("permutations", null.size, verbose)
    for k, place in enumerate(places):
        for q, order in enumerate(draws.next(null.shape[1])):
            null[k, q] = BestScores(search, transform(with_column(X, place, lenders=order)), labels, groups).own
            progress.step()
    pvalue = (1 + np.sum(_as_good(null, first.own), axis=1)) / (1 + null.shape[1])
    return ColumnTests([names[place] for place in places], pvalue, holm(pvalue), first.own, null, first.scoring)


def _target_test(
    scores: BestScores, draws: Permutations, permutations: int, stop_after: int | None, verbose: int
) -> PermutationTest:
    """The test with the targets permuted, until enough permutations are as good, or all are made."""
    progress, null, enough = Progress("permutations", permutations, verbose), np.empty(0), stop_after or np.inf
    better: Array = np.empty(0, dtype=np.intp)
    while len(null) < permutations and len(better) < enough:
        orders = draws.next(min(scores.together, permutations - len(null)))
        null = np.append(null, scores.of(orders))
        better = np.flatnonzero(_as_good(null, scores.own))
        progress.step(len(orders))
    progress.finish()
    pvalue = (1 + len(better)) / (1 + len(null))
    if stop_after is not None and len(better) >= stop_after:
        null = null[: int(better[stop_after - 1]) + 1]
        pvalue = stop_after / len(null)
    return PermutationTest(pvalue, scores.own, null, scores.scoring)


def _is_numeric(X: XLike) -> bool:
    try:
        np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _as_good(scores: Array, own: float) -> Array:
    """Which scores are at least as good as `own`; those that differ by rounding are equal."""
    return np.asarray(scores >= own - _ROUNDING * abs(own))


def check_search(given: Estimator, X: XLike, scoring: ScoringLike = None) -> Estimator:
    """The search that a search or a model stands for, not fitted; an error for what looks at y in other ways."""
    must_be = "KernelRidge, KernelRidgeClassifier, KernelRidgeCV or KernelRidgeClassifierCV"
    out = "Other models would have to be tuned again for every permutation."
    single = isinstance(given, KernelRidge | KernelRidgeClassifier)
    known = single or isinstance(given, SearchCore)
    refuse_if(not known, "The model of permutation_test", must_be, type(given).__name__, out)
    found = search_of(given, int((*np.shape(X), 1, 1)[1])) if single else clone(given)
    again = "it would have to be done again for every permutation."
    for name in ("extend_grid", "tune"):
        if getattr(found, name, False):
            raise InputError(f"permutation_test does not support {name}=True: {again} Use {name}=False.")
    if getattr(found, "class_weight", None) is not None:
        why = "weights would change with the labels. Remove it."
        raise InputError(f"permutation_test does not support class_weight: {why}")
    must_be = "'best': the score of a permutation is that of its best candidate"
    refuse_if(found.rule != "best", "rule of permutation_test", must_be, repr(found.rule))
    stratified, must_be = "Stratified" in type(found.cv).__name__, "folds that do not depend on the targets"
    refuse_if(stratified, "cv of permutation_test", must_be, type(found.cv).__name__, "Use KFold or a number.")
    found.set_params(checkpoint=None, verify=False, verbose=0)
    return found if scoring is None else found.set_params(scoring=scoring)


class Permutations:
    """Row numbers in random orders: any, within blocks, or of whole groups among those of their size."""

    def __init__(self, n: int, groups: PerRow, blocks: PerRow, rng: np.random.RandomState) -> None:
        if groups is not None and blocks is not None:
            raise InputError("permutation_test takes groups or blocks, not both. Remove one of them.")
        self.n, self.rng, names = n, rng, np.zeros(n)
        for what, given in (("blocks", blocks), ("groups", groups)):
            names = names if given is None else check_names(f"{what} of permutation_test", given, n)
        rows = [np.flatnonzero(names == name) for name in np.unique(names)]
        self.alike = [each[:, None] for each in rows]  # what is exchanged: lines of these tables of row numbers
        if groups is not None:
            self.alike = [np.array([each for each in rows if len(each) == size]) for size in set(map(len, rows))]
            unlike, got = max(map(len, self.alike)) < 2, "groups of different size each"
            must_be = "such that at least two groups have the same number of rows"
            refuse_if(unlike, "groups of permutation_test", must_be, got)

    def next(self, count: int) -> Array:
        """So many orders, one per row."""
        found = np.tile(np.arange(self.n), (count, 1))
        for order in found:
            for alike in self.alike:
                order[alike] = alike[self.rng.permutation(len(alike))]
        return found


class BestScores:
    """The best score over all candidates, for targets in any order.

    Attributes
    ----------
    own : float
        That of the targets as they are, which must have a score.
    together : int
        Orders that are scored together, as many as memory has room for.
    scoring : str
        Name of the score.
    """

    def __init__(self, search: Estimator, X: XLike, y: Array, groups: PerRow) -> None:
        found, self.kernels, self.alphas = search.prepare(X, y, None, groups)
        X_rows = found.rows.values
        if search.cv is not None and found.classes is not None:
            folds = draw(search.cv, X_rows, y, repeats=search.repeats, groups=groups, random_state=search.random_state)
            found = Search(found.rows, found.y, found.problem, folds, found.scoring, found.classes)
        self.base: Search = found
        self.scoring = found.scoring.name
        splits, width = len(found.removals), found.problem.Y.shape[1]
        each = 8 * (len(self.kernels) * len(self.alphas) * splits + 4 * len(found.removals.rows) * width)
        self.together = int(np.clip(_HELD // each, 1, 1000))
        self.own = float(self._best(np.arange(len(y))[None])[0])
        if not np.isfinite(self.own):
            why = f" ({self.failures[0]})" if self.failures else ""
            raise InputError(f"All scores of the unpermuted targets are NaN{why}. Use another scoring or other folds.")

    def of(self, orders: Array) -> Array:
        """For each order of the targets the best score; what has no score at all counts as good as any."""
        best = self._best(orders)
        return np.asarray(np.where(np.isfinite(best), best, np.inf))

    def _best(self, orders: Array) -> Array:
        """The best score of each order, minus infinity where there is none."""
        classes, self.failures = self.base.classes, list[str]()
        scores = self._numbers(orders) if classes is None else self._labels(orders, classes)
        return np.asarray(np.where(np.isnan(scores), -np.inf, scores).max(axis=0))

    def _numbers(self, orders: Array) -> Array:
        """Scores of all candidates (rows) for each order of targets that are numbers."""
        base = self.base
        Y = (base.problem.Y[:, 0] + base.problem.centre)[orders].T
        problem = replace(base.problem, Y=np.ascontiguousarray(Y), centre=np.zeros(Y.shape[1]))
        many = Search(base.rows, Y, problem, base.folds, base.scoring, per_target=True)
        table = many.run(self.kernels, self.alphas, many.plan(self.kernels, self.alphas))
        self.failures += many.failures
        return table.mean.reshape(-1, Y.shape[1])

    def _labels(self, orders: Array, classes: Classes) -> Array:
        """Scores of all candidates (rows) for each order of labels."""
        base, permuted = self.base, [Classes(classes.labels, classes.numbers[order]) for order in orders]
        problem = replace(base.problem, Y=np.hstack([each.targets() for each in permuted]))
        many = Search(base.rows, base.y, problem, base.folds, base.scoring, classes)
        scores = []
        for _, _, held in many.all_held_out(self.kernels, self.alphas, many.plan(self.kernels, self.alphas)):
            row, values = np.empty(len(orders)), np.split(held.values, len(orders), axis=1)
            for place, (order, own) in enumerate(zip(orders, permuted, strict=True)):
                truth = replace(many.scored_truth, y=many.y[order], classes=own)
                by_split = base.scoring.by_split(truth, values[place], per_target=False, failures=self.failures)
                row[place] = np.mean(by_split)
            scores.append(row)
        return np.array(scores)
