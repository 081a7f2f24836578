"""What a report is about: a fitted model, the table it was fitted to, and that table as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.estimators.auto_core import AutoCore
from mercer.estimators.refitting import like_training
from mercer.estimators.search_core import SearchCore
from mercer.estimators.table_model import TableModel
from mercer.tables import Column
from mercer.tables.columns import Scale


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model and its training rows.

    Attributes
    ----------
    model : AutoRegressor, AutoClassifier, KernelRidgeCV or KernelRidgeClassifierCV
        Fitted.
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
    target : str
        What is predicted.
    ignored : tuple of str
        Columns of the table that are not learned from.
    weights, groups : ndarray of shape (n,) or None
        As given to the search.
    encoder : TableEncoder or None
        That stands before the model.
    """

    model: Any
    X: Any
    Z: Array
    y: Array
    columns: tuple[Column, ...]
    place: Array
    target: str
    ignored: tuple[str, ...] = ()
    weights: Array | None = None
    groups: Array | None = None
    encoder: Any = None

    @property
    def classifier(self) -> bool:
        """Whether labels are predicted."""
        return hasattr(self.model, "predict_proba")

    @property
    def auto(self) -> bool:
        """True for a committee, False for the best candidate of a search."""
        return isinstance(self.model, AutoCore)

    @property
    def rows(self) -> Any:
        """The rows as the model takes them."""
        return self.X if self.auto else self.framed(self.Z)

    def framed(self, values: Array) -> Any:
        """Numbers as a data frame where the search was fitted to one: its kernels may name columns."""
        return values if self.auto else like_training(self.model, values)

    @property
    def used(self) -> list[int]:
        """The places of the columns that are learned from."""
        return [int(place) for place in np.unique(self.place)]


def subject_of(model: Any, X: Any, y: Any, *, target: str, weights: Any = None, groups: Any = None) -> Subject:
    """The model, the table and the numbers, checked against one another.

    Parameters
    ----------
    model : fitted estimator or TableModel
        One of the automatic models or of the searches, alone or as `mercer fit` keeps it.
    X, y : table and array-like of shape (n,)
        The rows that it was fitted to.
    target : str
        What y is called; a TableModel knows.
    weights, groups : array-like of shape (n,), default=None
        As given to the fit of a search.

    Returns
    -------
    Subject
    """
    encoder: Any = None
    ignored: tuple[str, ...] = ()
    if isinstance(model, TableModel):
        target, ignored, encoder, model = model.target, model.ignored, model.encoder, model.model
    if not isinstance(model, AutoCore | SearchCore):
        must_be = "AutoRegressor, AutoClassifier, KernelRidgeCV or KernelRidgeClassifierCV"
        raise InputError(sentence("The model of a report", must_be, type(model).__name__))
    check_is_fitted(model)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InputError(sentence("y of a report", "one target per row", f"shape {labels.shape}"))
    if isinstance(model, AutoCore):
        encoder = model.encoder_
    if encoder is None:
        Z, columns = _plain(model, X)
        place = np.arange(len(columns))
    else:
        Z, columns, place = encoder.transform(X), tuple(encoder.columns_), np.asarray(encoder.groups_)
    fitted = len(model.models_[0].X_fit_) if isinstance(model, AutoCore) else model.folds_.n
    if not len(Z) == len(labels) == fitted:
        got = f"{len(Z)} rows in X and {len(labels)} in y, but the model was fitted to {fitted} rows"
        raise InputError(sentence("X and y of a report", "the training data of the model", got))
    labels = _targets(model, labels)
    per_row = [None if given is None else np.asarray(given) for given in (weights, groups)]
    for name, given in zip(("sample_weight", "groups"), per_row, strict=True):
        if given is not None and given.shape != (len(labels),):
            raise InputError(sentence(f"{name} of a report", "one for each row", f"shape {given.shape}"))
    return Subject(model, X, Z, labels, columns, place, str(target), ignored, per_row[0], per_row[1], encoder)


def _targets(model: Any, y: Array) -> Array:
    """Targets of the kind that the model was fitted to."""
    if hasattr(model, "predict_proba"):
        if not np.isin(y, model.classes_).all():
            known = ", ".join(map(str, model.classes_[:5]))
            raise InputError(sentence("y of a report", f"labels that the model knows ({known})", repr(y[:3].tolist())))
        return y
    if isinstance(model, SearchCore) and model.best_estimator_.fitted_.targets.shape[1] > 1:
        raise InputError("A report is about one target; this search was fitted to several. Fit one search for each.")
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(sentence("y of a report", "numbers", repr(y[:3].tolist()))) from None


def _plain(model: Any, X: Any) -> tuple[Array, tuple[Column, ...]]:
    """A table of numbers, each column of which is used as it is."""
    try:
        Z = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        Z = np.empty(0)
    if Z.ndim != 2 or any(kernel.kind == "gram" for kernel in model.kernels_):
        way_out = "For other data, use the plots in mercer.displays."
        raise InputError(
            sentence(
                "X of a report",
                "a numeric table, or the table that an AutoRegressor, AutoClassifier or TableModel was fitted to",
                type(X).__name__,
                way_out,
            )
        )
    given = getattr(model, "feature_names_in_", None)
    names = [f"x{j + 1}" for j in range(Z.shape[1])] if given is None else [str(name) for name in given]
    scales = [Scale(0.0, 1.0, 0.0, float(column.min()), float(column.max())) for column in Z.T]
    return Z, tuple(
        Column(name, "number", "used as given", outputs=(name,), scale=scale)
        for name, scale in zip(names, scales, strict=True)
    )
