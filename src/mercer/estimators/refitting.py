"""Fit clones to some rows and predict others, as scikit-learn's own loops do."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from mercer.data.folds import Folds
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.selection.scoring import Scoring
from mercer.tables.cells import Cells


def part_of(X: Any, rows: Array) -> Any:
    """Some rows of a table, array or dict of columns; None for None."""
    if X is None:
        return None
    if isinstance(X, dict):
        return {name: c[rows] if isinstance(c, Cells) else _safe_indexing(c, rows) for name, c in X.items()}
    return _safe_indexing(X, rows)


def like_training(estimator: Any, values: Array) -> Any:
    """Rows to predict, as a data frame where the model was fitted to one."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return values
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError:  # pragma: no cover - names can come from other frames
        return values
    return pandas.DataFrame(values, columns=list(names))


class Refitting:
    """Fits of one estimator to parts of a table.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fit.
    X, y : array-like
        All rows and targets; a Gram matrix is cut on both sides.
    sample_weight, groups : array-like of shape (n,) or None
        Cut likewise; groups go to estimators whose `fit` takes them.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> None:
        tags = estimator.__sklearn_tags__() if hasattr(estimator, "__sklearn_tags__") else None
        self.estimator, self.y = estimator, np.asarray(y)
        self.pairwise = bool(tags and tags.input_tags.pairwise)
        self.X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X) if self.pairwise else X
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        self.extra: dict[str, Array] = {}
        if sample_weight is not None:
            if not _takes(last, "sample_weight"):
                raise InputError(f"{type(last).__name__}.fit does not support sample_weight. Remove sample_weight.")
            self.extra["sample_weight"] = _one_each(sample_weight, len(self.y))
        if groups is not None and (isinstance(last, BaseSearchCV) or _takes(last, "groups", by_name=True)):
            self.extra["groups"] = np.asarray(groups)

    def _rows(self, rows: Array, columns: Array) -> Any:
        part = part_of(self.X, rows)
        return part[:, columns] if self.pairwise else part

    def weights(self, rows: Array) -> Array | None:
        """Sample weights of these rows."""
        given = self.extra.get("sample_weight")
        return None if given is None else given[rows]

    def __call__(self, train: Array, test: Array) -> tuple[Any, Any]:
        """The fitted model and the test rows as it takes them."""
        model = clone(self.estimator)
        # where metadata are routed, the steps' own requests say who gets what
        routed = get_config()["enable_metadata_routing"] or not isinstance(model, Pipeline)
        prefix = "" if routed else f"{model.steps[-1][0]}__"
        extra = {f"{prefix}{name}": values[train] for name, values in self.extra.items()}
        model.fit(self._rows(train, train), self.y[train], **extra)
        return model, self._rows(test, train)


def _takes(estimator: Any, name: str, *, by_name: bool = False) -> bool:
    """Whether `fit` takes an argument of this name, or (unless `by_name`) of any name."""
    found = inspect.signature(estimator.fit).parameters
    return name in found or (not by_name and any(each.kind is each.VAR_KEYWORD for each in found.values()))


def _one_each(sample_weight: Any, n: int) -> Array:
    weights = np.asarray(sample_weight, dtype=np.float64)
    weights = np.full(n, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n,):
        raise InputError(
            sentence("sample_weight", f"an array of length {n}, one value per row", f"shape {weights.shape}")
        )
    return weights


def score_model(
    model: Any, X: Any, y: Array, how: Scoring, weights: Array | None = None, *, pooled: bool = False
) -> tuple[float, Array]:
    """Score and predictions of a fitted model, by the same scoring; no score where it is to be pooled."""
    predicted = np.asarray(model.predict(X))
    if pooled:
        return np.nan, predicted
    if how.scorer is not None and not (how.needs_many and len(y) == 1):
        return how.score_by(model, X, y, weights), predicted
    return how.score_rows(y, predicted), predicted


def is_pooled(how: Scoring, folds: Folds) -> bool:
    """Whether all folds are of one row, which has no score of its own."""
    return how.pools(np.array([len(split.test) for split in folds.splits]))


def pooled_scores(how: Scoring, y: Array, predictions: Array, folds: Folds) -> Array:
    """One score of all held-out predictions for each repeat."""
    tested = [np.concatenate([split.test for split in repeat]) for repeat in folds.repeats]
    return np.array([how.score_rows(y[rows], predictions[r][rows]) for r, rows in enumerate(tested)])


class HeldOutTable:
    """Predictions of every repeat, filled in as they come: the type of what is predicted, if all rows are."""

    def __init__(self, folds: Folds) -> None:
        self.shape = (len(folds.repeats), folds.n)
        self.values: Array | None = None

    def put(self, repeat: int, rows: Array, predicted: Array) -> None:
        """What one model said."""
        if self.values is None:
            numbers = predicted.dtype.kind == "f"
            shape = (*self.shape, *predicted.shape[1:])
            self.values = np.full(shape, np.nan) if numbers else np.full(shape, None, dtype=object)
            self.kind = predicted.dtype
        self.values[repeat, rows] = predicted
        self.kind = np.promote_types(self.kind, predicted.dtype)

    def whole(self) -> Array:
        """All of them; rows that were never tested have NaN, or None in place of a label."""
        if self.values is None:
            raise InputError("cv must yield at least one split; got none.")
        if self.values.dtype == object and all(value is not None for value in self.values.ravel()):
            return self.values.astype(self.kind)
        return self.values
