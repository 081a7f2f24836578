"""What a report is about: a fitted model, the table it was fitted to, and that table as numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, Estimator, PerRow, Rows, XLike, YLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.estimators.auto_core import AutoCore
from mercer.estimators.base import RidgeCore
from mercer.estimators.pipelines import Transformers, column_names, column_values, with_column
from mercer.estimators.refitting import like_training
from mercer.estimators.search import search_of
from mercer.estimators.search_core import SearchCore
from mercer.estimators.table_model import TableModel
from mercer.inference.parts import split_encoder
from mercer.tables import Column
from mercer.tables.columns import Scale

# Rows as numbers, the columns of their table, and the place of the column that each number is from.
Numbers: TypeAlias = tuple[Array, tuple[Column, ...], Array]
AS_TRANSFORMED = "as the Pipeline transforms it"  # why a column is shown that is none of the table


class Subject:
    """A fitted model and its training rows: the model, the table and the numbers, checked against one another.

    Parameters
    ----------
    model : fitted estimator, Pipeline or TableModel
        One of the automatic models or of the searches, alone, as the last step of a Pipeline or as `mercer fit` keeps
        it.
    X, y : table and array-like of shape (n,)
        The rows that it was fitted to.
    target : str
        What y is called; a TableModel knows.
    weights, groups : array-like of shape (n,), default=None
        As given to the fit of a search.

    Attributes
    ----------
    model : AutoRegressor, AutoClassifier, KernelRidgeCV or KernelRidgeClassifierCV
        Fitted.
    classifier, auto : bool
        Whether labels are predicted; True for a committee, False for the best candidate of a search.
    X : table
        The rows as they were given.
    Z : ndarray of shape (n, p)
        The rows as the kernels see them.
    y : ndarray of shape (n,)
        Targets.
    columns : tuple of Column
        The columns of the table, each with its kind.
    place : ndarray of int, shape (p,)
        The place in `columns` that each column of Z came from.
    feature_places : list of int
        The places of the columns that are learned from.
    target : str
        What is predicted.
    ignored : tuple of str
        Columns of the table that are not learned from.
    weights, groups : ndarray of shape (n,) or None
        As given to the search.
    encoder : TableEncoder or None
        That stands before the model.
    pipeline : Pipeline or None
        That the model is the last step of.
    transformers : Transformers or None
        What makes Z of X in a Pipeline, unless `encoder` does.
    """

    def __init__(
        self, model: Estimator, X: XLike, y: YLike, *, target: str, weights: PerRow = None, groups: PerRow = None
    ) -> None:
        self.ignored: tuple[str, ...] = ()
        self.pipeline = model if isinstance(model, Pipeline) else None
        if isinstance(model, TableModel):
            target, self.ignored, X = model.target, model.ignored, model.fitting(X)
        self.encoder, self.transformers, model = split_encoder(model)
        known, singles = (AutoCore, SearchCore, RidgeCore), "AutoRegressor, AutoClassifier, KernelRidge, KernelRidgeCV"
        must_be = f"{singles}, one of their classifiers, or a Pipeline that ends in one"
        refuse_if(not isinstance(model, known), "The model of a report", must_be, type(model).__name__)
        check_is_fitted(model)
        labels = np.asarray(y)
        refuse_if(labels.ndim != 1, "y of a report", "one target per row", f"shape {labels.shape}")
        if isinstance(model, RidgeCore):  # as a search with one candidate
            _match_rows(len(labels), len(labels), len(model.X_fit_))
            single, model = model, search_of(model, Rows(model.X_fit_).width)
            model.fit(like_training(single, single.X_fit_), labels, weights)
            if self.pipeline is not None:
                self.pipeline = Pipeline([*self.pipeline.steps[:-1], (self.pipeline.steps[-1][0], model)])
        if self.encoder is not None:
            encoded: Numbers = self.encoder.transform(X), tuple(self.encoder.columns_), np.asarray(self.encoder.groups_)
        else:
            encoded = _plain(model, X) if self.transformers is None else _transformed_table(self.transformers, X)
        self.classifier, self.auto = hasattr(model, "predict_proba"), isinstance(model, AutoCore)
        self.model, self.X, self.target, (self.Z, self.columns, self.place) = model, X, str(target), encoded
        fitted = len(model.models_[0].X_fit_) if self.auto else model.folds_.n
        _match_rows(len(self.Z), len(labels), fitted)
        self.feature_places = np.unique(self.place).tolist()
        self.y = _targets(model, labels)
        self.weights, self.groups = (None if given is None else np.asarray(given) for given in (weights, groups))
        for name, given in (("sample_weight", self.weights), ("groups", self.groups)):
            shape = (len(labels),) if given is None else given.shape
            refuse_if(shape != (len(labels),), f"{name} of a report", "one for each row", f"shape {shape}")

    @property
    def rows(self) -> Any:
        """The rows as the model takes them."""
        if not self.auto:
            return self.as_frame(self.Z)
        return self.X if self.transformers is None or self.pipeline is None else self.pipeline[:-1].transform(self.X)

    def as_frame(self, values: Array) -> Any:
        """Numbers as a data frame where the search was fitted to one: its kernels may name columns."""
        return values if self.auto else like_training(self.model, values)


def _match_rows(rows: int, targets: int, fitted: int) -> None:
    got = f"{rows} rows in X and {targets} in y, but the model was fitted to {fitted} rows"
    refuse_if(not rows == targets == fitted, "X and y of a report", "the training data of the model", got)


def _targets(model: Estimator, y: Array) -> Array:
    """Targets of the kind that the model was fitted to."""
    if hasattr(model, "predict_proba"):
        known, other = ", ".join(map(str, model.classes_[:5])), not np.isin(y, model.classes_).all()
        refuse_if(other, "y of a report", f"labels that the model knows ({known})", repr(y[:3].tolist()))
        return y
    if isinstance(model, SearchCore) and model.best_estimator_.fitted_.targets.shape[1] > 1:
        raise InputError("A report is about one target; this search was fitted to several. Fit one search for each.")
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(sentence("y of a report", "numbers", repr(y[:3].tolist()))) from None


def _plain(model: Estimator, X: XLike) -> Numbers:
    """A table of numbers, each column of which is used as it is."""
    try:
        Z = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        Z = np.empty(0)
    other = Z.ndim != 2 or any(kernel.kind == "gram" for kernel in model.kernels_)
    must_be = (
        "a numeric table, or the table that an AutoRegressor, AutoClassifier, Pipeline or TableModel was fitted to"
    )
    way_out = "For other data, use the plots in mercer.displays."
    refuse_if(other, "X of a report", must_be, type(X).__name__, way_out)
    given = getattr(model, "feature_names_in_", None)
    names = [f"x{j + 1}" for j in range(Z.shape[1])] if given is None else [str(name) for name in given]
    columns = [_number(name, z, z, "used as given") for name, z in zip(names, Z.T, strict=True)]
    return Z, tuple(columns), np.arange(len(columns))


def _number(name: str, values: Array, z: Array, why: str) -> Column:
    """A column of numbers that became z, a linear function of them."""
    low, high = int(np.argmin(z)), int(np.argmax(z))
    spread = (values[high] - values[low]) / (z[high] - z[low]) if z[high] > z[low] and values is not z else 1.0
    centre = float(values[low] - spread * z[low])
    scale = Scale(centre, float(spread), 0.0, float(values.min()), float(values.max()))
    return Column(name, "number", why, outputs=(name,), scale=scale)


def _transformed_table(transformers: Transformers, X: XLike) -> Numbers:
    """A table in front of transformers: its own columns where each became columns of its own, by a line or as levels.

    Other columns are shown as the transformers give them.
    """
    Z, names = transformers.numbers(X), column_names(X)
    names_out = transformers.names_out(Z.shape[1])
    turned = np.roll(np.arange(len(Z)), 1)
    follows = [(transformers.numbers(with_column(X, j, lenders=turned)) != Z).any(axis=0) for j in range(len(names))]
    apart = np.sum(follows, axis=0) <= 1
    columns: list[Column] = []
    place = np.full(Z.shape[1], -1)
    for j, name in enumerate(names):
        mine, cells = np.flatnonzero(follows[j]), column_values(X, j)
        if len(mine) and apart[mine].all() and is_known(cells).all():
            column = _column_of(name, cells, Z[:, mine])
            if column is not None:
                place[mine] = len(columns)
                columns.append(column)
    for j in np.flatnonzero(place < 0).tolist():
        place[j] = len(columns)
        columns.append(_number(names_out[j], Z[:, j], Z[:, j], AS_TRANSFORMED))
    return Z, tuple(columns), place


def is_known(cells: Array) -> Array:
    """Which cells are not missing."""
    return np.array([cell is not None and cell == cell for cell in cells])  # noqa: PLR0124 - NaN is not


def _column_of(name: str, cells: Array, z: Array) -> Column | None:
    """The column of these cells if they became z by a line, or as levels; otherwise None."""
    if cells.dtype.kind in "iuf":
        column = _number(name, cells.astype(np.float64), z[:, 0], "transformed linearly by the Pipeline")
        assert column.scale is not None  # noqa: S101 - made with one
        line = column.scale.centre + column.scale.spread * z[:, 0]
        linear = z.shape[1] == 1 and np.allclose(line, cells, rtol=1e-9, atol=1e-9 * float(np.abs(cells).max()))
        return column if linear else None
    high, low = z == z.max(axis=0), z == z.min(axis=0)  # of indicators, scaled or not
    levels = tuple(str(cells[place]) for place in z.argmax(axis=0))
    coded = (high | low).all() and (high.sum(axis=1) == 1).all()
    return Column(name, "category", "one-hot in the Pipeline", levels=levels, outputs=levels) if coded else None
