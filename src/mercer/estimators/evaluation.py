"""Out-of-sample scores of a fixed model: cross-validation in closed form, or by refitting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from mercer.data.checks import check_alpha, check_weights, keyword_hints
from mercer.data.folds import Folds, draw
from mercer.data.rows import Array, Estimator, PerRow, Rows, ScoringLike, Seed, SplitsLike, XLike, YLike
from mercer.errors import InputError, sentence
from mercer.estimators.inputs import as_sample_weight, check_kernels, refuse_mixed_labels, width_of
from mercer.estimators.parameters import validate
from mercer.estimators.pipelines import refittable
from mercer.estimators.refitting import Refitting, score_splits
from mercer.estimators.ridge import KernelRidge, KernelRidgeClassifier
from mercer.estimators.search_core import warn_if_ill
from mercer.estimators.targets import Targets
from mercer.kernels.base import Kernel
from mercer.selection.scoring import Scoring, resolve_scoring
from mercer.selection.search import Search
from mercer.selection.table import held_out_ratio, standard_error
from mercer.solvers.plan import digits_left
from mercer.text import Shown


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Shown):
    """Scores of a fixed model on data it was not trained on.

    Attributes
    ----------
    scores : ndarray of shape (repeats, folds)
        Larger is better, as everywhere in scikit-learn.
    mean, standard_error : float
        Over all splits; the error is corrected for training sets that overlap (Nadeau and Bengio), and NaN where
        there is one score alone.
    predictions : ndarray of shape (repeats, n) or (repeats, n, t)
        Held-out predictions (labels for classifiers).
    scoring, folds : str
        Names of the score and of the splits.
    route : str
        How it was computed.
    digits : float or None
        Decimal digits of the scores that are correct; None if the refitted estimator does not report them.
    """

    scores: Array
    mean: float
    standard_error: float
    predictions: Array
    scoring: str
    folds: str
    route: str
    digits: float | None = None

    def _columns(self) -> dict[str, list[Any]]:
        """The score of every repetition and fold."""
        places = list(np.ndindex(*self.scores.shape[:2]))
        scores = [float(np.mean(self.scores[place])) for place in places]
        return {
            "repeat": [place[0] + 1 for place in places],
            "fold": [place[-1] + 1 for place in places],
            "score": scores,
        }

    def __str__(self) -> str:
        error = f"standard error {self.standard_error:.2g}"
        if np.isnan(self.standard_error):
            error = "one score, so no standard error"
        return f"{self.scoring}: {self.mean:.4g}, {error} ({self.folds}; {self.route})"


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
    estimator, X = refittable(estimator, X)
    classifier = is_classifier(estimator)
    how = resolve_scoring(scoring, classifier=classifier)
    if classifier:
        refuse_mixed_labels(y)
    folds = draw(cv, X, y, repeats=repeats, groups=groups, random_state=random_state, classifier=classifier)
    if type(estimator) in (KernelRidge, KernelRidgeClassifier):
        return _evaluate_closed(estimator, X, y, folds, how, sample_weight)
    scores, predictions, _ = score_splits(Refitting(estimator, X, y, sample_weight, groups), folds, how)
    return _result(scores, predictions, how, folds, "refitted")


def _evaluate_closed(
    estimator: Estimator, X: XLike, y: YLike, folds: Folds, how: Scoring, sample_weight: PerRow
) -> CrossValidation:
    owner, model = type(estimator).__name__, clone(estimator)
    X, y = model.check_data(X, y)
    weights = as_sample_weight(sample_weight, X)
    if weights is not None:
        check_weights(owner, weights)
    validate(model)
    kernel: Kernel = model.resolved_kernel(width_of(X))
    if getattr(how.scorer, "_response_method", None) == "predict_proba":
        way_out = "KernelRidgeClassifierCV has probabilities: use cross_validate with it instead."
        got = f"{how.name}, which needs probabilities"
        raise InputError(sentence(f"scoring of {owner}", "a scorer of labels or decision values", got, way_out))
    targets = Targets.read(model, y, weights, by_split=True)
    alphas = check_alpha(owner, model.alpha, targets.Y.shape[1]).tolist()
    rows = Rows(X, getattr(model, "feature_names_in_", None))
    gram = check_kernels([kernel], rows)
    search = targets.search(rows, folds, how, intercept=bool(model.fit_intercept), gram=gram)
    return _score_closed_form(owner, search, kernel, alphas)


def _score_closed_form(owner: str, search: Search, kernel: Kernel, alphas: list[float]) -> CrossValidation:
    """The closed forms of one kernel, each target at its own alpha."""
    how, plan = search.scoring, search.plan([kernel], np.array(sorted(set(alphas))))
    with np.errstate(under="ignore"):
        values, condition = search.values(kernel, alphas, plan)
    scores = how.by_split(search.pooled_truth if search.pool_only else search.truth, values)
    held_out = search.by_repeat(values)
    if search.classes is not None:
        predictions = search.labels_by_repeat(search.truth.outcome(values))
    else:
        predictions = held_out[:, :, 0] if search.y.ndim == 1 else held_out
    name = plan.chosen.name
    warn_if_ill(f"{owner} in cross_validate", condition, name)
    words = "refitted" if name == "refit" else f"closed form, method {name}"
    return _result(scores, predictions, how, search.folds, words, digits_left(condition))


def _result(
    scores: Array, predictions: Array, how: Scoring, folds: Folds, route: str, digits: float | None = None
) -> CrossValidation:
    mean, error = mean_and_error(scores, folds)
    shaped = scores.reshape(len(folds.repeats), -1)
    return CrossValidation(shaped, mean, error, predictions, how.name, folds.label, route, digits)


def mean_and_error(scores: Array, folds: Folds) -> tuple[float, float]:
    """The mean over all splits, and its standard error corrected for training sets that overlap."""
    return float(scores.mean()), float(standard_error(scores, held_out_ratio(folds)))


_SQUARES = {None, "neg_mean_squared_error", "mean_squared_error"}
_RIGHT = {None, "accuracy"}


@dataclass(frozen=True)
class AsError:
    """How a score of scikit-learn's sign is told.

    Attributes
    ----------
    measure : str
        What the number is.
    kind : {"root", "share", "score"}
        Root of minus the score, one less the score, or the score itself.
    """

    measure: str
    kind: str

    @classmethod
    def of(cls, scoring: ScoringLike, *, classifier: bool) -> AsError:
        """The first line that fits decides.

        ==============================================  ===========================
        regression, mean squared error (the default)    root mean squared error
        classification, accuracy (the default)          share of wrong labels
        any other score                                 the score, by its name
        ==============================================  ===========================

        Examples
        --------
        >>> from mercer.estimators.evaluation import AsError
        >>> squares = AsError.of(None, classifier=False)
        >>> squares.measure, squares.value(-4.0), squares.spread(0.4, -4.0)
        ('root mean squared error', 2.0, 0.1)
        >>> AsError.of("r2", classifier=False).value(0.5)
        0.5
        """
        known: str | None = scoring if scoring is None or isinstance(scoring, str) else ""
        if not classifier and known in _SQUARES:
            return cls("root mean squared error", "root")
        if classifier and known in _RIGHT:
            return cls("share of wrong labels", "share")
        return cls(str(known or getattr(scoring, "__name__", scoring)), "score")

    @property
    def smaller_is_better(self) -> bool:
        """True for errors, False for scores."""
        return self.kind != "score"

    def value(self, score: float) -> float:
        """The number that is told."""
        if self.kind == "root":
            return math.sqrt(max(-score, 0.0))
        return 1.0 - score if self.kind == "share" else score

    def spread(self, standard_error: float, score: float) -> float:
        """Its standard error, from that of the score."""
        if self.kind != "root":
            return standard_error
        error = self.value(score)
        return standard_error / (2.0 * error) if error else 0.0
