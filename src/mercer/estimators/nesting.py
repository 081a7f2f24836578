"""What a whole search is worth: nested cross-validation, in closed form or with a Pipeline refitted."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from mercer.data.checks import keyword_hints
from mercer.data.folds import Folds, draw
from mercer.data.rows import AlphaLike, Array, Estimator, PerRow, Seed, SplitsLike, XLike, YLike
from mercer.errors import InputError, sentence
from mercer.estimators.evaluation import mean_and_error
from mercer.estimators.pipelines import refittable
from mercer.estimators.refitting import Refitting, score_splits
from mercer.estimators.search_core import SearchCore, warn_if_ill, warn_of_failures
from mercer.selection.nested import run_nested
from mercer.selection.plan import Plan
from mercer.selection.scoring import Scoring, resolve_scoring
from mercer.solvers.plan import digits_left
from mercer.text import Shown, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class NestedCrossValidation(Shown):
    """What a whole search is worth on data that neither its models nor its choices have seen.

    Attributes
    ----------
    scores : ndarray of shape (repeats, folds)
        Outer scores; larger is better.
    mean, standard_error : float
        Over all outer splits; the error is corrected for training sets that overlap (Nadeau and Bengio).
    chosen : list of dict
        Kernel and alpha of every outer fold.
    optimism : float
        Mean inner score of the best candidates minus mean outer score: the optimism of
        selecting and scoring on the same folds.
    inner_scores : ndarray of shape (repeats, folds)
        Inner score of the best candidate of every outer fold.
    predictions : ndarray of shape (repeats, n) or (repeats, n, t)
        Outer held-out predictions (labels for classifiers).
    scoring, folds, route : str
        Names of the score and of the splits, and how it was computed.
    digits : float or None
        Decimal digits of the best candidates' scores that are correct; for a Pipeline, those of its worst search.
    candidates : int
        Kernels times alphas that each outer fold chose from.
    plan : Plan or None
        Predicted cost of all routes, as `explain` of a search gives it; None for a Pipeline, which is refitted.
    """

    scores: Array
    mean: float
    standard_error: float
    chosen: list[dict[str, Any]]
    optimism: float
    inner_scores: Array
    predictions: Array
    scoring: str
    folds: str
    route: str
    plan: Plan | None = None
    digits: float | None = None
    candidates: int = 2

    def _columns(self) -> dict[str, list[Any]]:
        """The outer score of every repetition and fold; with what it chose, where every score has its own fold."""
        places = list(np.ndindex(*self.scores.shape))
        found: dict[str, list[Any]] = {"repeat": [p[0] + 1 for p in places], "fold": [p[-1] + 1 for p in places]}
        if len(self.chosen) == self.scores.size:
            found["kernel"] = [repr(choice["kernel"]) for choice in self.chosen]
            found["alpha"] = [choice["alpha"] for choice in self.chosen]
            found["inner"] = self.inner_scores.ravel().tolist()
        return found | {"outer": self.scores.ravel().tolist()}

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the inner and outer scores of every fold.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        NestedDisplay
        """
        from mercer.displays import NestedDisplay

        return NestedDisplay.from_result(self, ax=ax)

    def __str__(self) -> str:
        distinct = len({(repr(c["kernel"]), str(c["alpha"])) for c in self.chosen})
        agreed = f"The outer folds chose {distinct} candidates"
        if distinct == 1:
            agreed = "All outer folds chose the same candidate"
        error = f" +- {self.standard_error:.2g} (one standard error; "
        if np.isnan(self.standard_error):
            error = " (one score, so no standard error; "
        cause = "selection and scoring use the same folds" if self.candidates > 1 else "folds of different size"
        words = (
            f"Out-of-sample {self.scoring}: {self.mean:.4g}{error}{self.folds}; {self.route}).\n"
            f"Cross-validation score of the best candidate: {self.mean + self.optimism:.4g}, optimistic by "
            f"{self.optimism:.2g} ({cause}). {agreed}."
        )
        if len(self.chosen) != self.scores.size:  # scores of pooled folds have no fold of their own
            return words
        by_fold = zip(self.chosen, self.inner_scores.ravel(), self.scores.ravel(), strict=True)
        rows = [
            [i + 1, repr(choice["kernel"]), _number(choice["alpha"]), float(inner), float(outer)]
            for i, (choice, inner, outer) in enumerate(by_fold)
        ]
        return words + "\n\n" + text_table(["fold", "kernel", "alpha", "inner", "outer"], rows)


def _number(alpha: AlphaLike) -> str:
    return f"{alpha:.3g}" if np.ndim(alpha) == 0 else ", ".join(f"{value:.3g}" for value in alpha)


@keyword_hints
def nested_cross_validate(
    search: Estimator,
    X: XLike,
    y: YLike,
    *,
    cv: SplitsLike = 10,
    repeats: int = 1,
    inner: Estimator = None,
    groups: PerRow = None,
    sample_weight: PerRow = None,
    random_state: Seed = None,
) -> NestedCrossValidation:
    """How good a search is on data that neither its models nor its choices have seen.

    All inner and outer fits of a kernel and alpha come from one factor. The numbers are those of
    GridSearchCV inside cross_val_score.

    Parameters
    ----------
    search : KernelRidgeCV, KernelRidgeClassifierCV, or a Pipeline that ends in one
        Ladders of widths and alphas are resolved once from all of X, which does not look at y, and do not grow as in
        `fit`. A Pipeline is
        refitted in every outer fold, transformers, ladders and all, with closed forms inside.
    X, y : array-like
        Rows and targets.
    cv, repeats, random_state
        The outer splits, as for `KernelRidgeCV`.
    inner : int, splitter or None, default=None
        How the search selects within each outer training part. None: the other outer folds (for a
        Pipeline: the search's own `cv`). An int or a splitter is drawn within each outer training part;
        "leave-one-out" is that.
    groups : array-like of shape (n_samples,), default=None
        Honoured at both levels.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of training; scores are not weighted.

    Returns
    -------
    NestedCrossValidation
        Prints as a short paragraph and a table.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV, nested_cross_validate
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> search = KernelRidgeCV([Gaussian(w) for w in (0.5, 1.0, 2.0)], [1e-3, 1e-2, 1e-1])
    >>> result = nested_cross_validate(search, X, y, cv=5, random_state=0)
    >>> result.scores.shape, len(result.chosen)
    ((1, 5), 5)
    """
    search, X = refittable(search, X)
    if isinstance(search, Pipeline):
        draws = {"repeats": repeats, "groups": groups, "random_state": random_state}
        return _nested_pipeline(search, X, y, cv, draws, inner, sample_weight)
    if not isinstance(search, SearchCore):
        what = "search, the first argument of nested_cross_validate,"
        must_be = "KernelRidgeCV, KernelRidgeClassifierCV or a Pipeline that ends in one"
        raise InputError(sentence(what, must_be, type(search).__name__, "For a fixed model, use cross_validate."))
    for name in ("extend_grid", "tune"):
        if getattr(search, name, False):
            raise InputError(
                f"{name} of {type(search).__name__} must be False in nested_cross_validate, because all outer folds "
                f"use the same grid; got True. Set {name}=False, or use make_pipeline(search), which is fitted again "
                "in every outer fold."
            )
    model = copy.copy(search)
    model.set_params(cv=cv, repeats=repeats, random_state=random_state, verify=False, checkpoint=None)
    problem, kernels, alphas = model.prepare(X, y, sample_weight, groups)
    X, y = problem.rows.values, problem.y
    groups = None if groups is None else np.asarray(groups)
    owner = type(search).__name__
    run = run_nested(
        problem, kernels, alphas, _inner(inner, X, y, groups, random_state, search), model.rule, model.verbose
    )
    chosen = []
    for choice in run.choices:
        picked = [float(alphas[a]) for a in choice.alphas]
        alpha: AlphaLike = np.array(picked) if problem.per_target and y.ndim == 2 else picked[0]
        chosen.append({"kernel": kernels[choice.kernel], "alpha": alpha})
    predictions = run.predictions[:, :, 0] if np.ndim(y) == 1 else run.predictions
    if run.labels is not None:
        predictions = run.labels
    warn_if_ill(f"a best candidate of {owner} in nested_cross_validate", run.condition, run.plan.chosen.name)
    if problem.failures:
        warn_of_failures(problem.scoring.name, problem.failures)
    route = f"closed form, method {run.plan.chosen.name}"
    result = _nested_result(run.scores, run.inner_best, chosen, predictions, problem.folds, problem.scoring, route)
    tried = len(kernels) * len(alphas)
    return replace(result, plan=run.plan, digits=digits_left(run.condition), candidates=tried)


def _nested_result(
    scores: Array,
    inner: Array,
    chosen: list[dict[str, Any]],
    predictions: Array,
    folds: Folds,
    how: Scoring,
    route: str,
) -> NestedCrossValidation:
    mean, error = mean_and_error(scores, folds)
    shape = (len(folds.repeats), -1)
    optimism, inner = float(inner.mean() - mean), inner.reshape(shape)
    return NestedCrossValidation(
        scores.reshape(shape), mean, error, chosen, optimism, inner, predictions, how.name, folds.label, route
    )


def _inner(inner: Estimator, X: XLike, y: YLike, groups: Array | None, random_state: Seed, search: SearchCore) -> Any:
    """A function that draws inner folds on given rows, or None for the other outer folds."""
    if inner is None:
        return None
    if isinstance(inner, str):
        if inner != "leave-one-out":
            raise InputError(sentence("inner", "None, a number of folds, a splitter or 'leave-one-out'", repr(inner)))
        inner = None
    y = np.asarray(y)

    def draw_on(rows: Array) -> Folds:
        own = None if groups is None else groups[rows]
        return draw(inner, X[rows], y[rows], groups=own, random_state=random_state, classifier=is_classifier(search))

    return draw_on


def _nested_pipeline(
    pipeline: Pipeline,
    X: XLike,
    y: YLike,
    cv: SplitsLike,
    draws: dict[str, Any],
    inner: Estimator,
    sample_weight: PerRow,
) -> NestedCrossValidation:
    """Scores of a Pipeline that ends in a search, refitted in every outer fold; `draws` says how these are drawn."""
    name, last = pipeline.steps[-1]
    if not isinstance(last, SearchCore):
        what, must_be = "The last step of the Pipeline", "KernelRidgeCV or KernelRidgeClassifierCV"
        raise InputError(sentence(what, must_be, type(last).__name__, "For a fixed model, use cross_validate."))
    classifier = is_classifier(last)
    rows = np.empty((len(y), 0)) if isinstance(X, Mapping) else X  # of which splitters count the rows
    folds = draw(cv, rows, y, classifier=classifier, **draws)
    how = resolve_scoring(last.scoring, classifier=classifier)
    settings = {"checkpoint": None}  # each fold is other data
    if inner is not None:
        settings["cv"] = None if isinstance(inner, str) and inner == "leave-one-out" else inner
    pipeline = clone(pipeline).set_params(**{f"{name}__{key}": value for key, value in settings.items()})
    fit = Refitting(pipeline, X, y, sample_weight, draws["groups"])
    scores, predictions, searches = score_splits(fit, folds, how, _chosen_by)
    chosen, best, digits, tried = zip(*searches, strict=True)
    inner_scores = np.reshape(best, (len(scores), -1)).mean(axis=1)  # one for each score of pooled folds
    route = "pipeline refitted in every outer fold"
    result = _nested_result(scores, inner_scores, list(chosen), predictions, folds, how, route)
    return replace(result, digits=min(digits), candidates=max(tried))


def _chosen_by(pipeline: Pipeline) -> tuple[dict[str, Any], float, float, int]:
    """What the search at the end of a fitted Pipeline chose, its inner score, correct digits and candidates."""
    search = pipeline.steps[-1][1]
    chosen = {"kernel": search.best_kernel_, "alpha": search.alpha_}
    return chosen, search.best_score_, search.digits_, len(search.cv_results_["params"])
