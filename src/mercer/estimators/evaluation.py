"""Honest numbers: cross-validation of a fixed model, and nested cross-validation of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, validate_data

from mercer.data.checks import checked_alpha, checked_gram, checked_intercept, checked_weights
from mercer.data.folds import Folds, draw
from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.estimators.classifier import KernelRidgeClassifier, at_least_two, checked_labels, class_weights
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.search import SearchCore
from mercer.kernels.base import Kernel
from mercer.selection.nested import run_nested
from mercer.selection.plan import Plan
from mercer.selection.problem import Problem
from mercer.selection.scoring import Classes, Scoring, resolve_scoring
from mercer.selection.search import Search
from mercer.selection.table import correction
from mercer.tables import text_table


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of a fixed model on data it was not trained on.

    Attributes
    ----------
    scores : ndarray of shape (repeats, folds)
        Larger is better, as everywhere in scikit-learn.
    mean, standard_error : float
        Over all splits; the error is corrected for training sets that overlap (Nadeau and Bengio).
    predictions : ndarray of shape (repeats, n) or (repeats, n, t)
        Held-out predictions (labels for classifiers).
    scoring, folds : str
        Names of the score and of the splits.
    route : str
        How it was computed.
    """

    scores: Array
    mean: float
    standard_error: float
    predictions: Array
    scoring: str
    folds: str
    route: str

    def __str__(self) -> str:
        return f"{self.scoring}: {self.mean:.4g}, standard error {self.standard_error:.2g} ({self.folds}; {self.route})"


@dataclass(frozen=True, eq=False)
class NestedCrossValidation:
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
        Mean inner score of the winners minus mean outer score: what selecting and scoring on the same folds hides.
    inner_scores : ndarray of shape (repeats, folds)
        Inner score of the winner of every outer fold.
    predictions : ndarray of shape (repeats, n) or (repeats, n, t)
        Outer held-out predictions (labels for classifiers).
    scoring, folds, route : str
        Names of the score and of the splits, and how it was computed.
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

    def __str__(self) -> str:
        distinct = len({(repr(c["kernel"]), str(c["alpha"])) for c in self.chosen})
        agreed = (
            "All outer folds chose the same" if distinct == 1 else f"The outer folds chose {distinct} different winners"
        )
        words = (
            f"On rows that no part of the search has seen, {self.scoring} is {self.mean:.4g}, give or take "
            f"{self.standard_error:.2g} (one standard error; {self.folds}; {self.route}).\n"
            f"The search's own estimate is {self.mean + self.optimism:.4g}, off by {self.optimism:.2g}: choosing and "
            f"scoring on the same folds. {agreed}."
        )
        if len(self.chosen) != self.scores.size:  # scores of pooled folds have no fold of their own
            return words
        rows = [
            [i + 1, repr(choice["kernel"]), _number(choice["alpha"]), float(inner), float(outer)]
            for i, (choice, inner, outer) in enumerate(
                zip(self.chosen, self.inner_scores.ravel(), self.scores.ravel(), strict=True)
            )
        ]
        return words + "\n\n" + text_table(["fold", "kernel", "alpha", "inner", "outer"], rows)


def _number(alpha: Any) -> str:
    return f"{alpha:.3g}" if np.ndim(alpha) == 0 else ", ".join(f"{value:.3g}" for value in alpha)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    repeats: int = 1,
    groups: Any = None,
    sample_weight: Any = None,
    scoring: Any = None,
    random_state: Any = None,
) -> CrossValidation:
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
    CrossValidation

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, cross_validate
    >>> X = np.arange(20.0)[:, None]
    >>> result = cross_validate(KernelRidge(1e-6, kernel="linear"), X, 2.0 * X[:, 0], cv=5)
    >>> result.scores.shape, bool(result.mean > -1e-6)
    ((1, 5), True)
    """
    classifier = is_classifier(estimator)
    how = resolve_scoring(scoring, classifier=classifier)
    folds = draw(cv, X, y, repeats=repeats, groups=groups, random_state=random_state, classifier=classifier)
    closed = type(estimator) in (KernelRidge, KernelRidgeClassifier)
    if closed and not isinstance(getattr(estimator, "class_weight", None), str):
        return _closed(estimator, X, y, folds, how, sample_weight)
    fit = _refitting(estimator, X, y, sample_weight, groups)
    return _refitted(fit, np.asarray(y), folds, how)


def _closed(estimator: Any, X: Any, y: Any, folds: Folds, how: Scoring, sample_weight: Any) -> CrossValidation:
    classifier = isinstance(estimator, KernelRidgeClassifier)
    extra = {} if classifier else {"multi_output": True, "y_numeric": True}
    model = clone(estimator)
    X, y = validate_data(model, X, y, accept_sparse=model._sparse(), dtype=np.float64, **extra)
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights is not None:
        checked_weights(type(model).__name__, weights)
    checked_intercept(type(model).__name__, model.fit_intercept)
    kernel: Kernel = model._resolved(X.shape[1])
    classes = None
    if classifier:
        classes = Classes(*checked_labels(y))
        at_least_two(type(model).__name__, classes.labels, classes.numbers, weights)
        weights = class_weights(model.class_weight, y, weights)
        Y = classes.targets()
    else:
        y = np.asarray(y, dtype=np.float64)
        Y = y.reshape(len(y), -1)
    alphas = checked_alpha(type(model).__name__, model.alpha, Y.shape[1]).tolist()
    rows = Rows(X, getattr(model, "feature_names_in_", None))
    kernel.check(rows)
    if kernel.kind == "gram":
        checked_gram(rows.dense())
    problem = Problem(Y, weights, bool(model.fit_intercept), gram=kernel.kind == "gram")
    search = Search(rows, np.asarray(y), problem, folds, how, classes)
    ordered = search.ordered()
    route = search.plan([kernel], np.array(sorted(set(alphas))))
    values, _ = ordered.values(kernel, alphas, route)
    truth = ordered.pooled_truth if ordered.pool_only else ordered.truth
    scores = how.by_split(truth, values)
    held_out = ordered.by_repeat(values)
    if classes is not None:
        predictions = ordered.labels_by_repeat(ordered.truth.outcome(values))
    else:
        predictions = held_out[:, :, 0] if y.ndim == 1 else held_out
    return _result(scores, predictions, how, folds, f"closed form, {route.chosen.name} route")


def _result(scores: Array, predictions: Array, how: Scoring, folds: Folds, route: str) -> CrossValidation:
    mean, error = _mean_and_error(scores, folds)
    shaped = scores.reshape(len(folds.repeats), -1)
    return CrossValidation(shaped, mean, error, predictions, how.name, folds.label, route)


def _mean_and_error(scores: Array, folds: Folds) -> tuple[float, float]:
    if len(scores) < 2:
        return float(scores.mean()), float("nan")
    factor = correction(folds, len(scores), corrected=True)
    return float(scores.mean()), float(scores.std(ddof=1) * np.sqrt(factor))


class _refitting:  # noqa: N801 - used as a function that remembers its data
    """Fit a clone to some rows and predict others, as scikit-learn's own loops do."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        self.estimator, self.X, self.y = estimator, X, np.asarray(y)
        self.weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.groups = None if groups is None else np.asarray(groups)
        tags = estimator.__sklearn_tags__() if hasattr(estimator, "__sklearn_tags__") else None
        self.pairwise = bool(tags and tags.input_tags.pairwise)

    def _rows(self, rows: Array, columns: Array) -> Any:
        part = _safe_indexing(self.X, rows)
        return part[:, columns] if self.pairwise else part

    def __call__(self, train: Array, test: Array) -> tuple[Any, Any]:
        """The fitted model and the test rows as it takes them."""
        model = clone(self.estimator)
        prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        extra = {}
        if self.weights is not None:
            extra[f"{prefix}sample_weight"] = self.weights[train]
        last = model.steps[-1][1] if isinstance(model, Pipeline) else model
        if self.groups is not None and isinstance(last, SearchCore):
            extra[f"{prefix}groups"] = self.groups[train]
        model.fit(self._rows(train, train), self.y[train], **extra)
        return model, self._rows(test, train)


def _score_model(model: Any, X: Any, y: Array, how: Scoring) -> tuple[float, Array]:
    """Score and predictions of a fitted model, by the same scoring."""
    predicted = np.asarray(model.predict(X))
    if how.scorer is not None:
        return float(how.scorer(model, X, y)), predicted
    if how.loss is not None:
        return -float(how.loss(y, predicted)), predicted
    return how.score_rows(y, predicted), predicted


def _pooled_scores(how: Scoring, y: Array, predictions: Array, folds: Folds) -> Array:
    """One score of all held-out predictions for each repeat."""
    tested = [np.concatenate([split.test for split in repeat]) for repeat in folds.repeats]
    return np.array([how.score_rows(y[rows], predictions[r][rows]) for r, rows in enumerate(tested)])


def _refitted(fit: _refitting, y: Array, folds: Folds, how: Scoring) -> CrossValidation:
    scores, predictions = np.empty(len(folds.splits)), None
    i = 0
    for r, repeat in enumerate(folds.repeats):
        for split in repeat:
            model, X = fit(split.train, split.test)
            scores[i], predicted = _score_model(model, X, y[split.test], how)
            if predictions is None:
                shape = (len(folds.repeats), folds.n, *predicted.shape[1:])
                empty: Any = np.nan if predicted.dtype.kind == "f" else None
                predictions = np.full(shape, empty, dtype=predicted.dtype if empty is not None else object)
            predictions[r, split.test] = predicted
            i += 1
    if predictions is not None and how.needs_many and any(len(split.test) == 1 for split in folds.splits):
        scores = _pooled_scores(how, y, predictions, folds)
    return _result(scores, np.asarray(predictions), how, folds, "refitted")


def nested_cross_validate(
    search: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    repeats: int = 1,
    inner: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
) -> NestedCrossValidation:
    """How good a search is on data that neither its models nor its choices have seen.

    All inner and outer fits of a kernel and alpha come from one factor. The numbers are those of
    GridSearchCV inside cross_val_score.

    Parameters
    ----------
    search : KernelRidgeCV, KernelRidgeClassifierCV, or a Pipeline that ends in one
        Ladders of widths and alphas are resolved once from all of X, which does not look at y. A Pipeline is
        refitted in every outer fold, transformers, ladders and all, with closed forms inside.
    X, y : array-like
        Rows and targets.
    cv, repeats, random_state
        The outer splits, as for `KernelRidgeCV`.
    inner : int, splitter or None, default=None
        How the search selects within each outer training part. None: Algorithm 1, the other outer folds (for a
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
    if isinstance(search, Pipeline):
        return _nested_pipeline(search, X, y, cv, repeats, inner, groups, sample_weight, random_state)
    if not isinstance(search, SearchCore):
        raise InputError(
            sentence(
                "The search of nested_cross_validate",
                "KernelRidgeCV, KernelRidgeClassifierCV or a Pipeline that ends in one",
                type(search).__name__,
                "For a fixed model use cross_validate.",
            )
        )
    if search.extend_grid:
        raise InputError(
            "extend_grid of the search must be False in nested_cross_validate, where all outer folds share one grid; "
            "got True. Widen the grid, or put the search in a Pipeline, which is refitted in every outer fold."
        )
    model = clone(search).set_params(cv=cv, repeats=repeats, random_state=random_state, verify=False, checkpoint=None)
    X, y, weights = model._checked(X, y, sample_weight, **model._how())
    problem, kernels, alphas = model._search(X, y, weights, groups)
    groups = None if groups is None else np.asarray(groups)
    run = run_nested(
        problem, kernels, alphas, _inner(inner, X, y, groups, random_state, search), model.rule, model.verbose
    )
    chosen = []
    for choice in run.choices:
        picked = [float(alphas[a]) for a in choice.alphas]
        alpha: Any = np.array(picked) if problem.per_target and y.ndim == 2 else picked[0]
        chosen.append({"kernel": kernels[choice.kernel], "alpha": alpha})
    predictions = run.predictions[:, :, 0] if np.ndim(y) == 1 else run.predictions
    if run.labels is not None:
        predictions = run.labels
    route = f"closed form, {run.plan.chosen.name} route"
    return _nested_result(
        run.scores, run.inner_best, chosen, predictions, problem.folds, problem.scoring, route, run.plan
    )


def _nested_result(
    scores: Array,
    inner: Array,
    chosen: list[dict[str, Any]],
    predictions: Array,
    folds: Folds,
    how: Scoring,
    route: str,
    plan: Plan | None = None,
) -> NestedCrossValidation:
    mean, error = _mean_and_error(scores, folds)
    shape = (len(folds.repeats), -1)
    optimism = float(inner.mean() - mean)
    return NestedCrossValidation(
        scores.reshape(shape),
        mean,
        error,
        chosen,
        optimism,
        inner.reshape(shape),
        predictions,
        how.name,
        folds.label,
        route,
        plan,
    )


def _inner(inner: Any, X: Any, y: Any, groups: Array | None, random_state: Any, search: SearchCore) -> Any:
    """A function that draws inner folds on given rows, or None for Algorithm 1."""
    if inner is None:
        return None
    if isinstance(inner, str):
        if inner != "leave-one-out":
            raise InputError(sentence("inner", "None, a number of folds, a splitter or 'leave-one-out'", repr(inner)))
        inner = None
    y = np.asarray(y)

    def draw_on(rows: Array) -> Folds:
        return draw(
            inner,
            X[rows],
            y[rows],
            groups=None if groups is None else groups[rows],
            random_state=random_state,
            classifier=is_classifier(search),
        )

    return draw_on


def _nested_pipeline(
    pipeline: Pipeline,
    X: Any,
    y: Any,
    cv: Any,
    repeats: int,
    inner: Any,
    groups: Any,
    sample_weight: Any,
    random_state: Any,
) -> NestedCrossValidation:
    last = pipeline.steps[-1][1]
    if not isinstance(last, SearchCore):
        raise InputError(
            sentence(
                "The last step of the Pipeline",
                "KernelRidgeCV or KernelRidgeClassifierCV",
                type(last).__name__,
                "For a fixed model use cross_validate.",
            )
        )
    classifier = is_classifier(last)
    folds = draw(cv, X, y, repeats=repeats, groups=groups, random_state=random_state, classifier=classifier)
    how = resolve_scoring(last.scoring, classifier=classifier)
    if inner is not None:
        name = pipeline.steps[-1][0]
        chosen_cv = None if isinstance(inner, str) and inner == "leave-one-out" else inner
        pipeline = clone(pipeline).set_params(**{f"{name}__cv": chosen_cv})
    pipeline = clone(pipeline).set_params(**{f"{pipeline.steps[-1][0]}__checkpoint": None})  # each fold is other data
    fit = _refitting(pipeline, X, y, sample_weight, groups)
    y = np.asarray(y)
    scores, best, chosen = np.empty(len(folds.splits)), np.empty(len(folds.splits)), []
    predictions: Any = None
    i = 0
    for r, repeat in enumerate(folds.repeats):
        for split in repeat:
            model, rows = fit(split.train, split.test)
            scores[i], predicted = _score_model(model, rows, y[split.test], how)
            fitted = model.steps[-1][1]
            best[i] = fitted.best_score_
            chosen.append({"kernel": fitted.best_kernel_, "alpha": fitted.alpha_})
            if predictions is None:
                kind = predicted.dtype if predicted.dtype.kind == "f" else object
                predictions = np.full((len(folds.repeats), folds.n, *predicted.shape[1:]), np.nan, dtype=kind)
            predictions[r, split.test] = predicted
            i += 1
    if how.needs_many and any(len(split.test) == 1 for split in folds.splits):
        scores = _pooled_scores(how, y, predictions, folds)
        best = np.array([part.mean() for part in np.split(best, np.cumsum([len(r) for r in folds.repeats])[:-1])])
    return _nested_result(scores, best, chosen, predictions, folds, how, "pipeline refitted in every outer fold")
