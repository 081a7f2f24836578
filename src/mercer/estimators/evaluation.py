"""Out-of-sample scores of a fixed model and of a whole search: in closed form where they are ours, or by refitting."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from mercer.data.checks import check_alpha, keyword_hints
from mercer.data.folds import Folds, draw
from mercer.data.rows import Array, Estimator, PerRow, ScoringLike, Seed, SplitsLike, XLike, YLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.estimators.inputs import check_kernels, refuse_mixed_labels
from mercer.estimators.pipelines import refittable
from mercer.estimators.refitting import Refitting, score_splits
from mercer.estimators.ridge import KernelRidge, KernelRidgeClassifier
from mercer.estimators.search_core import SearchCore, read_rows, warn_if_ill, warn_of_failures
from mercer.selection.nested import run_nested
from mercer.selection.outcome import Outcome
from mercer.selection.scoring import Scoring, resolve_scoring
from mercer.solvers.plan import digits_left


@keyword_hints
def cross_validate(
    estimator: Estimator,
    X: XLike,
    y: YLike,
    *,
    cv: SplitsLike = 10,
    repeats: int = 1,
    groups: PerRow = None,
    sample_weight: PerRow = None,
    scoring: ScoringLike = None,
    random_state: Seed = None,
) -> Outcome:
    """Cross-validate a fixed model: exactly and from one factor where it is ours, by refitting otherwise.

    Parameters
    ----------
    estimator : estimator
        KernelRidge or KernelRidgeClassifier for the closed forms; any other scikit-learn estimator is refitted.
    X, y : array-like
        Rows and targets.
    cv, repeats, groups, random_state
        As for `KernelRidgeCV`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of training; scores are not weighted.
    scoring : str, scorer, callable or None, default=None
        None is neg_mean_squared_error, or accuracy for classifiers.

    Returns
    -------
    Outcome
        Prints as a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, cross_validate
    >>> X = np.arange(20.0)[:, None]
    >>> result = cross_validate(KernelRidge(1e-6, kernel="linear"), X, 2.0 * X[:, 0], cv=5)
    >>> result.scores.shape, bool(result.mean > -1e-6)
    ((1, 5), True)
    """
    estimator, X = refittable(estimator, X)
    classifier = is_classifier(estimator)
    how = resolve_scoring(scoring, classifier=classifier)
    if classifier:
        refuse_mixed_labels(y)
    folds = draw(cv, X, y, repeats=repeats, groups=groups, random_state=random_state, classifier=classifier)
    if type(estimator) in (KernelRidge, KernelRidgeClassifier):
        return _closed_form(estimator, X, y, folds, how, sample_weight)
    scores, predictions, _ = score_splits(Refitting(estimator, X, y, sample_weight, groups), folds, how)
    facts: Any = {"base": refitted_baseline(y, folds, how, classifier=classifier), "predictions": predictions}
    return Outcome.of_splits("cross-validation", scores, folds, how, route="refitted", **facts)


def refitted_baseline(y: YLike, folds: Folds, how: Scoring, *, classifier: bool) -> float:
    """The mean score of predicting the mean, or the most common label, of each training part; NaN where it has none."""
    dummy = DummyClassifier() if classifier else DummyRegressor()
    try:
        with warnings.catch_warnings(action="ignore"):  # scores of constant predictions may be ill defined
            return float(score_splits(Refitting(dummy, np.zeros((len(y), 1)), y), folds, how)[0].mean())
    except (AttributeError, ValueError):  # such as a scorer of decision values
        return math.nan


def _closed_form(estimator: Estimator, X: XLike, y: YLike, folds: Folds, how: Scoring, weight: PerRow) -> Outcome:
    """The outcome of one kernel with each target at its own alpha."""
    owner, model = type(estimator).__name__, clone(estimator)
    if getattr(how.scorer, "_response_method", None) == "predict_proba":
        way_out = "KernelRidgeClassifierCV has probabilities: use cross_validate with it instead."
        got = f"{how.name}, which needs probabilities"
        raise InputError(sentence(f"scoring of {owner}", "a scorer of labels or decision values", got, way_out))
    rows, targets = read_rows(model, X, y, weight)
    kernel, alphas = model.resolved_kernel(rows.width), check_alpha(owner, model.alpha, targets.Y.shape[1]).tolist()
    search = targets.search(model, rows, folds, how, gram=check_kernels([kernel], rows))
    plan = search.plan([kernel], np.array(sorted(set(alphas))))
    with np.errstate(under="ignore"):
        values, condition = search.values(kernel, alphas, plan)
    scores, predictions = how.by_split(search.scored_truth, values), search.predictions(values)
    name = plan.chosen.name
    warn_if_ill(f"{owner} in cross_validate", condition, name)
    facts: Any = {"base": search.baseline(), "predictions": predictions}
    facts["route"] = "refitted" if name == "refit" else f"closed form, method {name}"
    return Outcome.of_splits("cross-validation", scores, folds, how, digits=digits_left(condition), **facts)


@keyword_hints
def nested_cross_validate(
    search: Estimator,
    X: XLike,
    y: YLike,
    *,
    cv: SplitsLike = 10,
    repeats: int = 1,
    inner: SplitsLike = None,
    groups: PerRow = None,
    sample_weight: PerRow = None,
    random_state: Seed = None,
) -> Outcome:
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
    Outcome
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
    last = search.steps[-1][1] if isinstance(search, Pipeline) else search
    if not isinstance(last, SearchCore):
        what, must_be = "The last step of the Pipeline", "KernelRidgeCV or KernelRidgeClassifierCV"
        if last is search:
            what = "search, the first argument of nested_cross_validate,"
            must_be = "KernelRidgeCV, KernelRidgeClassifierCV or a Pipeline that ends in one"
        raise InputError(sentence(what, must_be, type(last).__name__, "For a fixed model, use cross_validate."))
    if last is not search:
        draws = {"repeats": repeats, "groups": groups, "random_state": random_state}
        return _nested_pipeline(search, X, y, cv, draws, inner, sample_weight)
    for name in ("extend_grid", "tune"):
        must_be = "False in nested_cross_validate, because all outer folds use the same grid"
        way_out = f"Set {name}=False, or use make_pipeline(search), which is fitted again in every outer fold."
        refuse_if(getattr(search, name, False), f"{name} of {type(search).__name__}", must_be, True, way_out)
    model = copy.copy(search)
    model.set_params(cv=cv, repeats=repeats, random_state=random_state, verify=False, checkpoint=None)
    problem, kernels, alphas = model.prepare(X, y, sample_weight, groups)
    X, y = problem.rows.values, problem.y
    groups = None if groups is None else np.asarray(groups)
    owner = type(search).__name__
    own = _inner(inner, X, y, groups, random_state, search)
    outcome, condition, route = run_nested(problem, kernels, alphas, own, model.rule, model.verbose)
    warn_if_ill(f"a best candidate of {owner} in nested_cross_validate", condition, route)
    warn_of_failures(problem.scoring.name, problem.failures)
    return outcome


def _inner(inner: SplitsLike, X: XLike, y: YLike, groups: Array | None, random_state: Seed, search: SearchCore) -> Any:
    """A function that draws inner folds on given rows, or None for the other outer folds."""
    must_be = "None, a number of folds, a splitter or 'leave-one-out'"
    refuse_if(isinstance(inner, str) and inner != "leave-one-out", "inner", must_be, repr(inner))
    how: Any = {"random_state": random_state, "classifier": is_classifier(search)}

    def draw_on(rows: Array) -> Folds:
        own = None if groups is None else groups[rows]
        return draw(None if isinstance(inner, str) else inner, X[rows], y[rows], groups=own, **how)

    return None if inner is None else draw_on


def _nested_pipeline(
    pipeline: Pipeline, X: XLike, y: YLike, cv: SplitsLike, draws: dict[str, Any], inner: SplitsLike, weight: PerRow
) -> Outcome:
    """Scores of a Pipeline that ends in a search, refitted in every outer fold; `draws` says how these are drawn."""
    name, last = pipeline.steps[-1]
    classifier = is_classifier(last)
    rows = np.empty((len(y), 0)) if isinstance(X, Mapping) else X  # of which splitters count the rows
    folds = draw(cv, rows, y, classifier=classifier, **draws)
    how = resolve_scoring(last.scoring, classifier=classifier)
    settings = {f"{name}__checkpoint": None}  # each fold is other data
    if inner is not None:
        settings[f"{name}__cv"] = None if isinstance(inner, str) and inner == "leave-one-out" else inner
    fit = Refitting(clone(pipeline).set_params(**settings), X, y, weight, draws["groups"])
    scores, predictions, searches = score_splits(fit, folds, how, _chosen_by)
    chosen, best, digits, tried = zip(*searches, strict=True)
    inner_scores = np.reshape(best, (len(scores), -1)).mean(axis=1)  # one for each score of pooled folds
    return Outcome.of_splits(
        "nested cross-validation", scores, folds, how, base=refitted_baseline(y, folds, how, classifier=classifier),
        predictions=predictions, route="pipeline refitted in every outer fold", digits=min(digits), chosen=chosen,
        inner_scores=inner_scores.reshape(len(folds.repeats), -1), candidates=max(tried),
    )  # fmt: skip


def _chosen_by(pipeline: Pipeline) -> tuple[dict[str, Any], float, float, int]:
    """What the search at the end of a fitted Pipeline chose, its inner score, correct digits and candidates."""
    search = pipeline.steps[-1][1]
    chosen = {"kernel": search.best_kernel_, "alpha": search.alpha_}
    return chosen, search.best_score_, search.digits_, len(search.cv_results_["params"])
