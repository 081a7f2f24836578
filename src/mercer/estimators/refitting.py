"""Fit clones to some rows and predict others, as scikit-learn's own loops do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from mercer.data.folds import Folds
from mercer.data.rows import Array, Estimator, PerRow, XLike, YLike
from mercer.errors import InputError, refuse_if
from mercer.selection.scoring import Scoring
from mercer.tables.cells import Cells


def part_of(X: XLike, rows: Array) -> Any:
    """Some rows of a table, array or dict of columns; None for None."""
    if isinstance(X, dict):
        return {name: c[rows] if isinstance(c, Cells) else _safe_indexing(c, rows) for name, c in X.items()}
    return None if X is None else _safe_indexing(X, rows)


def like_training(estimator: Estimator, values: Array) -> Any:
    """Rows to predict, as a data frame where the model was fitted to one."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or find_spec("pandas") is None:  # names can come from other frames
        return values
    return import_module("pandas").DataFrame(values, columns=list(names))


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

    def __init__(
        self, estimator: Estimator, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None
    ) -> None:
        self.estimator, self.y = estimator, np.asarray(y)
        self.pairwise = hasattr(estimator, "__sklearn_tags__") and estimator.__sklearn_tags__().input_tags.pairwise
        self.X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X) if self.pairwise else X
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        known = inspect.signature(last.fit).parameters
        self.extra: dict[str, Array] = {}
        if sample_weight is not None:
            if "sample_weight" not in known and not any(each.kind is each.VAR_KEYWORD for each in known.values()):
                raise InputError(f"{type(last).__name__}.fit does not support sample_weight. Remove sample_weight.")
            weights = np.asarray(sample_weight, dtype=np.float64)
            weights = weights if weights.ndim else np.full(len(self.y), weights)
            must_be = f"an array of length {len(self.y)}, one value per row"
            refuse_if(weights.shape != (len(self.y),), "sample_weight", must_be, f"shape {weights.shape}")
            self.extra["sample_weight"] = weights
        if groups is not None and (isinstance(last, BaseSearchCV) or "groups" in known):
            self.extra["groups"] = np.asarray(groups)

    def _rows(self, rows: Array, columns: Array) -> Any:
        part = part_of(self.X, rows)
        return part[:, columns] if self.pairwise else part

    def __call__(self, train: Array, test: Array) -> tuple[Any, Any]:
        """The fitted model and the test rows as it takes them."""
        model = clone(self.estimator)
        # where metadata are routed, the steps' own requests say who gets what
        routed = get_config()["enable_metadata_routing"] or not isinstance(model, Pipeline)
        prefix = "" if routed else f"{model.steps[-1][0]}__"
        extra = {f"{prefix}{name}": values[train] for name, values in self.extra.items()}
        model.fit(self._rows(train, train), self.y[train], **extra)
        return model, self._rows(test, train)


def score_splits(
    fit: Refitting, folds: Folds, how: Scoring, read: Callable[[Any], Any] = lambda _: None
) -> tuple[Array, Array, list[Any]]:
    """Scores and held-out predictions of models fitted to all splits, and what `read` returns for each of the models.

    Splits of one row have no score of their own: each repeat then has one score, of all its held-out predictions.
    """
    pooled = how.pools(np.array([len(split.test) for split in folds.splits]))
    scores, parts, facts = [], [], []
    for repeat, splits in enumerate(folds.repeats):
        for split in splits:
            model, X = fit(split.train, split.test)
            y, predicted = fit.y[split.test], np.asarray(model.predict(X))
            parts.append((repeat, split.test, predicted))
            facts.append(read(model))
            if how.scorer is not None and not pooled and not (how.needs_many and len(y) == 1):
                scores.append(how.score_by(model, X, y, part_of(fit.extra.get("sample_weight"), split.test)))
            elif not pooled:
                scores.append(how.score_rows(y, predicted))
    if not parts:
        raise InputError("cv must yield at least one split; got none.")
    first = parts[0][2]
    # NaN or None for rows that are never tested
    table = np.full((len(folds.repeats), folds.n, *first.shape[1:]), np.nan if first.dtype.kind == "f" else None)
    for repeat, rows, predicted in parts:
        table[repeat, rows] = predicted
    if table.dtype == object and all(value is not None for value in table.ravel()):
        table = table.astype(np.result_type(*(predicted for _, _, predicted in parts)))
    if pooled:
        tested = [np.concatenate([split.test for split in splits]) for splits in folds.repeats]
        scores = [how.score_rows(fit.y[rows], table[r][rows]) for r, rows in enumerate(tested)]
    return np.array(scores), table, facts
