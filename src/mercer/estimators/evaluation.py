"""Honest numbers of a fixed model: cross-validation in closed form, or by refitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

from mercer.data.checks import checked_alpha, checked_gram, checked_intercept, checked_weights
from mercer.data.folds import Folds, draw
from mercer.data.rows import Array, Rows
from mercer.estimators.classifier import KernelRidgeClassifier, at_least_two, checked_labels, class_weights
from mercer.estimators.inputs import width_of
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.search_core import SearchCore
from mercer.kernels.base import Kernel
from mercer.selection.problem import Problem
from mercer.selection.scoring import Classes, Scoring, resolve_scoring
from mercer.selection.search import Search
from mercer.selection.table import correction


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
    fit = Refitting(estimator, X, y, sample_weight, groups)
    return _refitted(fit, np.asarray(y), folds, how)


def _closed(estimator: Any, X: Any, y: Any, folds: Folds, how: Scoring, sample_weight: Any) -> CrossValidation:
    classifier = isinstance(estimator, KernelRidgeClassifier)
    extra = {} if classifier else {"multi_output": True, "y_numeric": True}
    model = clone(estimator)
    X, y = model._checked_input(X, y, **extra)
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights is not None:
        checked_weights(type(model).__name__, weights)
    checked_intercept(type(model).__name__, model.fit_intercept)
    kernel: Kernel = model._resolved(width_of(X))
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
    mean, error = mean_and_error(scores, folds)
    shaped = scores.reshape(len(folds.repeats), -1)
    return CrossValidation(shaped, mean, error, predictions, how.name, folds.label, route)


def mean_and_error(scores: Array, folds: Folds) -> tuple[float, float]:
    """The mean over all splits, and its standard error corrected for training sets that overlap."""
    if len(scores) < 2:
        return float(scores.mean()), float("nan")
    factor = correction(folds, len(scores), corrected=True)
    return float(scores.mean()), float(scores.std(ddof=1) * np.sqrt(factor))


class Refitting:
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


def score_model(model: Any, X: Any, y: Array, how: Scoring) -> tuple[float, Array]:
    """Score and predictions of a fitted model, by the same scoring."""
    predicted = np.asarray(model.predict(X))
    if how.scorer is not None:
        return float(how.scorer(model, X, y)), predicted
    if how.loss is not None:
        return -float(how.loss(y, predicted)), predicted
    return how.score_rows(y, predicted), predicted


def pooled_scores(how: Scoring, y: Array, predictions: Array, folds: Folds) -> Array:
    """One score of all held-out predictions for each repeat."""
    tested = [np.concatenate([split.test for split in repeat]) for repeat in folds.repeats]
    return np.array([how.score_rows(y[rows], predictions[r][rows]) for r, rows in enumerate(tested)])


def _refitted(fit: Refitting, y: Array, folds: Folds, how: Scoring) -> CrossValidation:
    scores, predictions = np.empty(len(folds.splits)), None
    i = 0
    for r, repeat in enumerate(folds.repeats):
        for split in repeat:
            model, X = fit(split.train, split.test)
            scores[i], predicted = score_model(model, X, y[split.test], how)
            if predictions is None:
                shape = (len(folds.repeats), folds.n, *predicted.shape[1:])
                empty: Any = np.nan if predicted.dtype.kind == "f" else None
                predictions = np.full(shape, empty, dtype=predicted.dtype if empty is not None else object)
            predictions[r, split.test] = predicted
            i += 1
    if predictions is not None and how.needs_many and any(len(split.test) == 1 for split in folds.splits):
        scores = pooled_scores(how, y, predictions, folds)
    return _result(scores, np.asarray(predictions), how, folds, "refitted")
