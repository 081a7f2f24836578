"""Scores of held-out predictions, by scikit-learn's conventions and sign: larger is better.

The few metrics that nearly everyone uses are computed here; any other scikit-learn name or scorer is run
on a stub that returns held-out predictions; a plain function is a loss, lower is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, nearest, sentence
from mercer.selection.problem import Removals, label_targets


def _means(losses: Array, removals: Removals) -> Array:
    """Mean of each test set, for each column."""
    sums = np.add.reduceat(losses, removals.starts, axis=0)
    return np.asarray(sums / removals.counts[:, None])


def _mse(y: Array, p: Array, removals: Removals) -> Array:
    return -_means((y - p) ** 2, removals)


def _rmse(y: Array, p: Array, removals: Removals) -> Array:
    return -np.sqrt(_means((y - p) ** 2, removals))


def _mae(y: Array, p: Array, removals: Removals) -> Array:
    return -_means(np.abs(y - p), removals)


def _max_error(y: Array, p: Array, removals: Removals) -> Array:
    return -np.asarray(np.maximum.reduceat(np.abs(y - p), removals.starts, axis=0))


def _r2(y: Array, p: Array, removals: Removals) -> Array:
    rest, centre = _means((y - p) ** 2, removals), np.repeat(_means(y, removals), removals.counts, axis=0)
    total = _means((y - centre) ** 2, removals)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, 1.0 - rest / total, np.where(rest > 0, 0.0, 1.0))


def _accuracy(y: Array, p: Array, removals: Removals) -> Array:
    return _means((y == p).astype(np.float64), removals)


_QUICK: dict[str, Callable[[Array, Array, Removals], Array]] = {
    "neg_mean_squared_error": _mse,
    "neg_root_mean_squared_error": _rmse,
    "neg_mean_absolute_error": _mae,
    "max_error": _max_error,
    "neg_max_error": _max_error,
    "r2": _r2,
    "accuracy": _accuracy,
}


@dataclass(frozen=True)
class Classes:
    """Labels behind the targets of a classifier."""

    labels: Array
    numbers: Array

    def targets(self) -> Array:
        """-1 and +1 for two classes, one column; one-hot columns for more."""
        return label_targets(self.numbers, len(self.labels))

    def present(self, removals: Removals) -> Array:
        """For each removal, which classes are left to train on."""
        whole = np.bincount(self.numbers, minlength=len(self.labels))
        gone = [np.bincount(self.numbers[rows], minlength=len(self.labels)) for rows in removals.sets]
        return np.asarray(whole - np.array(gone) > 0)

    def decide(self, values: Array, present: Array) -> Array:
        """Class numbers from decision values; classes that were not trained on are never chosen."""
        if values.shape[1] == 1:
            return np.where(present.all(axis=1), values[:, 0] > 0, present[:, 1]).astype(np.intp)
        return np.asarray(np.where(present, values, -np.inf).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Truth:
    """What held-out predictions are held against.

    Attributes
    ----------
    y : ndarray of shape (n,) or (n, t)
        As given: numbers, or labels for a classifier.
    removals : Removals
        The test sets.
    classes : Classes or None
        Of a classifier.
    """

    y: Array
    removals: Removals
    classes: Classes | None = None

    @cached_property
    def tested(self) -> Array:
        """y of every tested row, one test set after the other."""
        return np.asarray(self.y[self.removals.rows])

    @cached_property
    def present(self) -> Array | None:
        """For each tested row, which classes its model was trained on."""
        if self.classes is None:
            return None
        return np.repeat(self.classes.present(self.removals), self.removals.counts, axis=0)

    def outcome(self, values: Array) -> Array:
        """What `predict` of the held-out models would have said."""
        if self.classes is not None and self.present is not None:
            return np.asarray(self.classes.labels[self.classes.decide(values, self.present)])
        return values[:, 0] if self.y.ndim == 1 else values


@dataclass(frozen=True)
class Scoring:
    """One way to score, by scikit-learn's sign.

    Attributes
    ----------
    name : str
        What it is called in tables.
    quick : callable or None
        Scores of all test sets at once, one column per target.
    loss : callable or None
        A user's loss of (y_true, y_pred).
    scorer : object or None
        A scikit-learn scorer.
    needs_many : bool
        Whether the score of one row has no meaning, so that folds of one row are pooled.
    """

    name: str
    quick: Callable[[Array, Array, Removals], Array] | None = None
    loss: Callable[[Array, Array], Any] | None = None
    scorer: Any = None
    needs_many: bool = False

    @property
    def identity(self) -> str:
        """Name, and for a user's own loss what it does: two functions may share a name."""
        code = getattr(self.loss, "__code__", None)
        return self.name if code is None else f"{self.name} {code.co_code.hex()} {code.co_consts} {code.co_names}"

    def by_split(self, truth: Truth, values: Array, *, per_target: bool = False) -> Array:
        """The score of every test set; with `per_target` a column for each target."""
        removals = truth.removals
        y, outcome = truth.tested, truth.outcome(values)
        if self.quick is not None:
            table = self.quick(y.reshape(len(y), -1), outcome.reshape(len(y), -1), removals)
            return table if per_target else table.mean(axis=1)
        if per_target and y.ndim == 2:
            return np.stack(
                [self._loop(y[:, j], outcome[:, j], values[:, j : j + 1], truth) for j in range(y.shape[1])], 1
            )
        scores = self._loop(y, outcome, values, truth)
        return scores[:, None] if per_target else scores

    def score_rows(self, y: Array, outcome: Array) -> float:
        """The score of one set of rows, for metrics that need nothing but predictions."""
        if self.quick is None:
            raise InputError(sentence("scoring", "a metric of predictions here", self.name))
        everything = Removals([np.empty(0, dtype=np.intp)], [np.arange(len(y))])
        return float(self.quick(y.reshape(len(y), -1), outcome.reshape(len(y), -1), everything).mean())

    def _loop(self, y: Array, outcome: Array, values: Array, truth: Truth) -> Array:
        scores = np.empty(len(truth.removals))
        for i in range(len(scores)):
            part = truth.removals.part(i)
            if self.loss is not None:
                scores[i] = -float(self.loss(y[part], outcome[part]))
            else:
                stub = _Stub(outcome[part], values[part], truth.classes)
                scores[i] = float(self.scorer(stub, np.zeros((part.stop - part.start, 1)), y[part]))
        return scores


class _Stub:
    """An estimator that answers with what was held out."""

    def __init__(self, outcome: Array, values: Array, classes: Classes | None) -> None:
        self.outcome, self.values = outcome, values
        if classes is not None:
            self.classes_ = classes.labels

    def fit(self, X: Any, y: Any = None) -> _Stub:
        """Nothing to fit."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        classifier = hasattr(self, "classes_")
        return Tags(
            estimator_type="classifier" if classifier else "regressor",
            target_tags=TargetTags(required=True),
            transformer_tags=None,
            classifier_tags=ClassifierTags() if classifier else None,
            regressor_tags=None if classifier else RegressorTags(),
            input_tags=InputTags(),
        )

    def predict(self, X: Any) -> Array:
        """The held-out predictions."""
        return self.outcome

    def decision_function(self, X: Any) -> Array:
        """The held-out decision values."""
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values

    def predict_proba(self, X: Any) -> Array:
        """Probabilities do not exist yet."""
        raise InputError(
            "Probabilities are calibrated after the search, on the winner's held-out decisions. "
            "Use a scoring of decisions or labels in the search itself."
        )


def resolve_scoring(scoring: Any, *, classifier: bool) -> Scoring:
    """What a `scoring` argument means.

    Examples
    --------
    >>> from mercer.selection.scoring import resolve_scoring
    >>> resolve_scoring(None, classifier=False).name
    'neg_mean_squared_error'
    """
    if scoring is None:
        scoring = "accuracy" if classifier else "neg_mean_squared_error"
    if isinstance(scoring, str):
        if scoring in _QUICK:
            return Scoring(scoring, quick=_QUICK[scoring], needs_many=scoring == "r2")
        return Scoring(scoring, scorer=_named(scoring))
    if hasattr(scoring, "_score_func"):
        return Scoring(str(scoring), scorer=scoring)
    if callable(scoring):
        return Scoring(f"minus {getattr(scoring, '__name__', 'loss')}", loss=scoring)
    raise InputError(sentence("scoring", "a scikit-learn name, a scorer or a loss function", repr(scoring)))


def _named(name: str) -> Any:
    from sklearn.metrics import get_scorer, get_scorer_names

    if name not in get_scorer_names():
        raise InputError(f"There is no scoring {name!r}. {nearest(name, get_scorer_names())}")
    return get_scorer(name)
