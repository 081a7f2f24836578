"""Pipelines that end in one of our models: their transformers as one map, and what models do beyond scikit-learn.

A Pipeline has the methods that scikit-learn knows, `predict` above all. The functions below take a fitted model or a
Pipeline of transformers and a model, and do the same for both. Leave-one-out, intervals and updates of a Pipeline keep
its fitted transformers as they are; `nested_cross_validate` and `compare` fit them again in every fold.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import keyword_hints
from mercer.data.rows import Array, Estimator, Seed, SplitsLike, XLike, YLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.estimators.table_model import Fixed, TableModel
from mercer.tables import TableEncoder


class Transformers(Pipeline):  # type: ignore[misc]
    """The fitted transformers of a Pipeline as one map from the columns of a table to the columns of a model."""

    @property
    def encoder(self) -> Any:
        """The TableEncoder, if the only transformer is one; otherwise None."""
        first, *others = (step for _, step in self.steps)
        return first if not others and isinstance(first, TableEncoder) else None

    def then(self, encoder: Any) -> Transformers:
        """These transformers and the encoder of an automatic model after them."""
        return Transformers([*self.steps, ("encoder", encoder)])

    def numbers(self, X: XLike) -> Array:
        """The rows as the model takes them, as a dense array."""
        values = self.transform(X)
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)

    def fit_again(self, X: XLike) -> Any:
        """The rows as transformers fitted to them, without a look at targets, would give them."""
        try:
            return clone(self).fit_transform(X)
        except (TypeError, ValueError) as problem:
            what, must_be = "The transformers of the Pipeline", "fitted without the targets"
            way_out = "Transformers that look at y would have to be fitted again for every permutation."
            raise InputError(sentence(what, must_be, repr(problem), way_out)) from None

    def names_out(self, count: int) -> list[str]:
        """The names of the columns that the model takes."""
        try:
            return [str(name) for name in self.get_feature_names_out()]
        except (AttributeError, ValueError):  # some transformers have none
            return [f"x{j + 1}" for j in range(count)]


def split_pipeline(model: Estimator) -> tuple[Transformers | None, Any]:
    """The transformers of a Pipeline and its last step; of any other model None and the model."""
    if isinstance(model, TableModel):
        model = model.pipeline
    if not isinstance(model, Pipeline):
        return None, model
    first = Transformers(model.steps[:-1], memory=model.memory, verbose=model.verbose) if len(model.steps) > 1 else None
    return first, model.steps[-1][1]


def refittable(model: Estimator, X: XLike) -> tuple[Any, Any]:
    """A loaded model as a Pipeline that can be fitted again, and its columns of the table; others as they are."""
    if not isinstance(model, TableModel):
        return model, X
    if isinstance(model.model, Fixed):
        model.model.fit(X)  # which is refused
    model.fitting(X)  # which names columns that are missing
    columns, frame = list(model.kinds), nw.from_native(X, eager_only=True, strict=False)
    if isinstance(frame, nw.DataFrame):
        return model.pipeline, frame.select(columns).to_native()
    return model.pipeline, {name: X[name] for name in columns}


def fitting_columns(model: Estimator, X: XLike) -> Any:
    """A table as a loaded model takes it, without other columns; for other models as it is."""
    return model.fitting(X) if isinstance(model, TableModel) and X is not None else X


def column_names(X: XLike) -> list[str]:
    """The names of the columns of a table; x1, x2, ... where it has none."""
    frame = nw.from_native(X, eager_only=True, strict=False)
    if isinstance(frame, nw.DataFrame):
        return [str(name) for name in frame.columns]
    return [str(name) for name in X] if isinstance(X, dict) else [f"x{j + 1}" for j in range(np.shape(X)[1])]


def column_values(X: XLike, place: int) -> Array:
    """The cells of one column."""
    frame = nw.from_native(X, eager_only=True, strict=False)
    if isinstance(frame, nw.DataFrame):
        return np.asarray(frame[frame.columns[place]].to_numpy())
    return np.asarray(list(X.values())[place] if isinstance(X, dict) else np.asarray(X)[:, place])


def with_column(X: XLike, place: int, *, lenders: Array | None = None, shift: float = 0.0) -> Any:
    """The table with one column changed: its cells taken from the rows `lenders`, or increased by `shift`."""
    frame = nw.from_native(X, eager_only=True, strict=False)
    if isinstance(frame, nw.DataFrame):
        name = frame.columns[place]
        column = frame[name] + shift if lenders is None else frame[name][np.asarray(lenders).tolist()]
        if lenders is not None and hasattr(X, "iloc"):  # pandas would align the cells by their index
            moved = X.copy()
            moved[X.columns[place]] = X.iloc[:, place].take(np.asarray(lenders)).set_axis(X.index)
            return moved
        return frame.with_columns(column.alias(name)).to_native()
    if isinstance(X, dict):
        cells = column_values(X, place)
        return {**X, list(X)[place]: cells + shift if lenders is None else cells[lenders]}
    moved = np.array(X, dtype=None if lenders is not None or np.asarray(X).dtype == object else np.float64)
    moved[:, place] = moved[:, place] + shift if lenders is None else moved[lenders, place]
    return moved


# -- what models do beyond scikit-learn's methods -------------------------------------------------


def _bound(model: Estimator, method: str, X: XLike = None) -> tuple[Any, Any]:
    """A method of a model or of the last step of a Pipeline, and the rows as it takes them."""
    last = model
    if isinstance(model, Pipeline):
        transformers, last = split_pipeline(model)
        check_is_fitted(last)
        X = X if transformers is None or X is None else transformers.transform(X)
    absent, must_be = not hasattr(last, method), f"one that has a method {method}"
    refuse_if(absent, f"The model of {method}", must_be, type(last).__name__)
    return getattr(last, method), X


@keyword_hints
def predict_interval(
    model: Estimator, X: XLike, confidence: float = 0.9, method: str | None = None, *, cv: SplitsLike = None,
    random_state: Seed = None, diag: Any = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Intervals that hold the target of a new row with this confidence, of a model or of a Pipeline.

    Parameters
    ----------
    model : fitted regressor of mercer, or a Pipeline that ends in one
        Transformers of a Pipeline stay as they were fitted to all rows.
    X : array-like or DataFrame
        New rows, as for `predict`.
    confidence : float, default=0.9
        Between 0 and 1.
    method : str, default=None
        A method that `predict_interval` of the model knows; None is its default.
    cv, random_state
        The folds of ``method="cv+"``.
    diag : array-like of shape (n_rows,), default=None
        k(x, x) of the new rows, for a precomputed kernel.

    Returns
    -------
    lower, upper : ndarray of shape (n_rows,) or (n_rows, n_targets)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import mercer
    >>> X = np.random.default_rng(0).uniform(0.0, 600.0, size=(60, 1))
    >>> pipeline = make_pipeline(StandardScaler(), mercer.KernelRidgeCV()).fit(X, np.sin(X[:, 0] / 100.0))
    >>> lower, upper = mercer.predict_interval(pipeline, [[150.0]])
    >>> bool(lower[0] < np.sin(1.5) < upper[0])
    True
    """
    predict, rows = _bound(model, "predict_interval", X)
    options = {"method": method, "cv": cv, "random_state": random_state, "diag": diag}
    lower, upper = predict(rows, confidence, **{name: value for name, value in options.items() if value is not None})
    return lower, upper


@keyword_hints
def predict_set(model: Estimator, X: XLike, confidence: float = 0.9, *, diag: Any = None) -> Any:
    """Full conformal prediction sets of a model or of a Pipeline, as `KernelRidgeCV.predict_set` gives them.

    Parameters
    ----------
    model : KernelRidge, KernelRidgeCV, or a Pipeline that ends in one
        Fitted. The transformers of a Pipeline have not seen the new rows, so that its guarantee is nominal.
    X : array-like or DataFrame
        New rows, as for `predict`.
    confidence : float, default=0.9
        Between 0 and 1.
    diag : array-like of shape (n_rows,), default=None
        k(x, x) of the new rows, for a precomputed kernel.

    Returns
    -------
    list of ndarray of shape (k, 2)
        For each new row the ends of k intervals.

    Examples
    --------
    >>> import mercer
    >>> model = mercer.KernelRidge(1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> mercer.predict_set(model, [[1.0]], confidence=0.5)[0].shape
    (1, 2)
    """
    predict, rows = _bound(model, "predict_set", X)
    return predict(rows, confidence) if diag is None else predict(rows, confidence, diag=diag)


def without(model: Estimator, rows: Any) -> Any:
    """The model, or the Pipeline, fitted without some of its rows; transformers stay as they are.

    Parameters
    ----------
    model : KernelRidge, KernelRidgeCV, or a Pipeline that ends in one
        Fitted; stays as it is.
    rows : int, array-like of int, or array-like of bool of shape (n_samples,)
        The rows to leave out.

    Returns
    -------
    estimator
        A new model of the same class.

    Examples
    --------
    >>> import mercer
    >>> model = mercer.KernelRidge(1e-9, fit_intercept=True).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 30.0])
    >>> mercer.without(model, 3).predict([[3.0]]).round(3)
    array([3.])
    """
    return _with_last(model, _bound(model, "without")[0](rows))


def with_rows(model: Estimator, X: XLike, y: YLike) -> Any:
    """The model, or the Pipeline, fitted to its rows and these; transformers stay as they are.

    Parameters
    ----------
    model : KernelRidge, KernelRidgeCV, or a Pipeline that ends in one
        Fitted; stays as it is.
    X, y : array-like
        More rows and their targets.

    Returns
    -------
    estimator
        A new model of the same class.

    Examples
    --------
    >>> import mercer
    >>> model = mercer.KernelRidge(1e-9).fit([[1.0], [2.0]], [1.0, 2.0])
    >>> len(mercer.with_rows(model, [[3.0]], [3.0]).X_fit_)
    3
    """
    extend, rows = _bound(model, "with_rows", X)
    return _with_last(model, extend(rows, y))


def _with_last(model: Estimator, last: Any) -> Any:
    """A Pipeline of the same fitted transformers and another last step; for a single model the new one."""
    return Pipeline([*model.steps[:-1], (model.steps[-1][0], last)]) if isinstance(model, Pipeline) else last
