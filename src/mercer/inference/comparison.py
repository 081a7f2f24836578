"""Which of several models is better: scores of all on the same folds, and corrected errors of their differences."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from mercer.data.checks import keyword_hints
from mercer.data.folds import draw
from mercer.data.rows import Array, Seed, SplitsLike, XLike, YLike
from mercer.displays.fits import BarsDisplay
from mercer.errors import InputError, refuse_if
from mercer.estimators import cross_validate, nested_cross_validate
from mercer.estimators.search_core import SearchCore
from mercer.kernels.tiles import underflow_is_zero
from mercer.selection.table import held_out_ratio, standard_error
from mercer.text import Shown, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Differences between models on the same folds.

    Attributes
    ----------
    names : list of str
        The models.
    scores : ndarray of shape (models, splits)
        Out-of-sample scores of every split; larger is better.
    pairs : list of tuple of str
        The models that are compared.
    difference, standard_error : ndarray of shape (pairs,)
        Mean difference of the first and the second, and its standard error after Nadeau and Bengio.
    pvalue, adjusted : ndarray of shape (pairs,)
        Two-sided p-value of each difference, and after Holm's correction for all of them.
    scoring : str
        Name of the score.
    """

    names: list[str]
    scores: Array
    pairs: list[tuple[str, str]]
    difference: Array
    standard_error: Array
    pvalue: Array
    adjusted: Array
    scoring: str

    def _columns(self) -> dict[str, list[Any]]:
        names = "difference", "std. error", "p", "p, Holm"
        numbers = np.array([self.difference, self.standard_error, self.pvalue, self.adjusted]).tolist()
        models = zip(("first", "second"), map(list, zip(*self.pairs, strict=True)), strict=True)
        return dict(models) | dict(zip(names, numbers, strict=True))

    def __str__(self) -> str:
        mean = self.scores.mean(axis=1)
        ranked = ", ".join(f"{self.names[i]} {plain(float(mean[i]))}" for i in np.argsort(-mean, kind="stable"))
        return f"Mean {self.scoring} of {self.scores.shape[1]} splits: {ranked}.\n\n{self._table()}"

    def plot(self, ax: Axes | None = None) -> BarsDisplay:
        """Draw the differences with two standard errors to each side.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BarsDisplay
        """
        ends = self.difference[:, None] + np.multiply.outer(self.standard_error, [-2.0, 2.0])
        names = [" - ".join(pair) for pair in self.pairs]
        return BarsDisplay(names, self.difference, ends, f"difference of {self.scoring}", "models").plot(ax)


@keyword_hints
@underflow_is_zero
def compare(
    models: Any, X: XLike, y: YLike, *, cv: SplitsLike = 10, repeats: int = 1, random_state: Seed = None
) -> Comparison:
    """Compare models by their out-of-sample scores on the same folds.

    Searches are nested: kernel and alpha are chosen again in every training part. Other models, pipelines and
    scikit-learn's estimators included, are refitted. Training parts overlap, so the standard error of a mean difference
    is larger than that of independent scores; it is corrected after Nadeau and Bengio.

    Parameters
    ----------
    models : dict of name to estimator, or sequence of estimators
        Two at least; all regressors or all classifiers, with one scoring.
    X, y : array-like
        Rows and targets.
    cv, repeats, random_state
        As for `nested_cross_validate`; every model gets the same folds. Searches choose on the other folds, whatever
        their own cv.

    Returns
    -------
    Comparison
        Prints a row for each pair.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, compare
    >>> from mercer.kernels import Gaussian, Linear
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3.0, 3.0, size=(80, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> models = {"wave": KernelRidge(0.1, kernel=Gaussian(1.0)), "line": KernelRidge(0.1, kernel=Linear())}
    >>> found = compare(models, X, y, random_state=0)
    >>> bool(found.difference[0] > 0), bool(found.pvalue[0] < 0.01)
    (True, True)
    """
    named = _names_of(models)
    if hasattr(cv, "__next__"):
        cv = list(cv)  # every model gets all of them
    fresh = random_state is not None or repeats > 1 or hasattr(cv, "split")
    seed = check_random_state(random_state).randint(2**31 - 1) if fresh else None
    labels = is_classifier(next(iter(named.values())))
    folds = draw(cv, X, y, repeats=repeats, random_state=seed, classifier=labels)
    splits, nested = folds.splits, any(isinstance(each, SearchCore) for each in named.values())
    refuse_if(len(splits) < 2, "cv of compare", "at least two splits", len(splits))
    must_be = "at least 3 disjoint folds that cover every row, because searches select by the other folds"
    few = nested and not (folds.partition and min(map(len, folds.repeats)) > 2)
    refuse_if(few, "cv of compare", must_be, folds.label, "Use cv=3 or more.")
    results = []
    for each in named.values():
        judge = nested_cross_validate if isinstance(each, SearchCore) else cross_validate
        results.append(judge(each, X, y, cv=cv, repeats=repeats, random_state=seed))
    scorings = {result.scoring for result in results}
    got = ", ".join(sorted(scorings))
    refuse_if(len(scorings) > 1, "The models of compare", "fitted with the same scoring", got)
    scores = np.array([np.ravel(result.scores) for result in results])
    if (count := scores.shape[1]) < 2:
        raise InputError(
            "compare needs a score for every fold; this scoring gives one score for all folds together. Use cv=5."
        )
    differences = np.array([first - second for first, second in itertools.combinations(scores, 2)])
    mean, spread = differences.mean(axis=1), standard_error(differences, held_out_ratio(folds), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, np.abs(mean) / spread)
    pvalue = np.asarray(2.0 * stdtr(count - 1, -t))
    pairs = list(itertools.combinations(named, 2))
    return Comparison(list(named), scores, pairs, mean, spread, pvalue, holm(pvalue), scorings.pop())


def _names_of(models: Any) -> dict[str, Any]:
    found = {str(name): each for name, each in models.items()} if isinstance(models, Mapping) else {}
    if isinstance(models, Sequence) and not isinstance(models, str):
        kinds = [type(each).__name__ for each in models]
        names = [kind if kinds.count(kind) == 1 else f"{kind} {place}" for place, kind in enumerate(kinds, 1)]
        found = dict(zip(names, models, strict=True))
    no_models = len(found) < 2 or any(isinstance(each, type) or not hasattr(each, "fit") for each in found.values())
    must_be = "a dict of names to at least two estimators, or a list of them"
    refuse_if(no_models, "models of compare", must_be, type(models).__name__)
    return found


def holm(pvalues: Array) -> Array:
    """Holm's correction: p-values that may be compared with a level for all hypotheses together.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.comparison import holm
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(pvalues, kind="stable")
    found = np.empty(len(pvalues))
    found[order] = np.minimum(np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1)), 1.0)
    return found
