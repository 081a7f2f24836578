"""Fitted models for files: with the table they are for, or as weights of features without any training row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

from mercer.data.rows import Array, Estimator, Rows, XLike, YLike, as_rows
from mercer.errors import InputError, MercerError, refuse_if, sentence
from mercer.estimators.base import RidgeCore
from mercer.estimators.targets import Temperature
from mercer.kernels import Kernel, Linear
from mercer.kernels.tiles import blocks
from mercer.selection.removals import label_numbers
from mercer.tables import Column, TableEncoder
from mercer.tables.cells import Writing
from mercer.tables.columns import EncoderReport, usually_outside
from mercer.tables.values import NumberStyle
from mercer.text import counted, quoted


class Fixed:
    """A fitted model that tools of scikit-learn take, and that cannot be fitted again."""

    def __sklearn_tags__(self) -> Tags:
        if hasattr(self, "classes_"):
            return Tags("classifier", TargetTags(required=True), classifier_tags=ClassifierTags())
        return Tags("regressor", TargetTags(required=True), regressor_tags=RegressorTags())

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Everything it is made of, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def fit(self, X: XLike, y: YLike = None) -> Self:
        """Refused: the model is fitted."""
        words = f"{type(self).__name__} holds a fitted model and cannot be fitted again."
        raise InputError(f"{words} Fit a new model, such as AutoRegressor, AutoClassifier or KernelRidgeCV.")


@dataclass(frozen=True, eq=False)
class TableModel(Fixed):
    """A model and its table, as the command line fits, keeps and uses it.

    Parameters
    ----------
    model : AutoRegressor, AutoClassifier, KernelRidgeCV or KernelRidgeClassifierCV
        Fitted; the searches to what `encoder` makes of the table.
    encoder : TableEncoder or None
        Fitted to the table; None for the automatic models, which have one of their own.
    target : str
        The column that is predicted.
    row_id : str, default=""
        The column that names rows; empty where there is none.
    ignored : tuple of str, default=()
        Columns that were in the table and are not used.
    facts : dict, default={}
        What was found when it was fitted, as JSON has it.
    style : NumberStyle, default=None
        How the table writes numbers as text; None where that is unknown.

    Examples
    --------
    >>> from mercer import KernelRidgeCV
    >>> from mercer import TableEncoder
    >>> from mercer.estimators.table_model import TableModel
    >>> table = {"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "blue"]}
    >>> encoder = TableEncoder().fit(table)
    >>> search = KernelRidgeCV("linear", [1e-3], fit_intercept=True).fit(encoder.transform(table), [3.0, 5.0, 7.0, 9.0])
    >>> TableModel(search, encoder, "price").predict({"size": [5.0], "colour": ["red"]}).round(1)
    array([11.])
    """

    model: Estimator
    encoder: TableEncoder | None
    target: str
    row_id: str = ""
    ignored: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    style: NumberStyle | None = None

    def __post_init__(self) -> None:
        """Validate the fields, which may come from a file."""
        texts = [self.target, self.row_id, *self.ignored]
        if not all(isinstance(text, str) for text in texts) or not isinstance(self.facts, dict):
            got = f"{self.target!r}, {self.row_id!r}, {self.ignored!r} and {type(self.facts).__name__}"
            must_be = "strings, ignored a tuple of strings and facts a dict"
            raise InputError(sentence("target and row_id of TableModel", must_be, got))
        bad = not isinstance(self.style, NumberStyle | None)
        refuse_if(bad, "style of TableModel", "a NumberStyle or None", repr(self.style))
        if not isinstance(self._encoder, TableEncoder):
            way_out = "pass encoder=, or use a model with encoder_ (AutoRegressor, AutoClassifier)"
            raise InputError(f"TableModel needs a TableEncoder: {way_out}.")

    @property
    def columns(self) -> list[Column]:
        """The columns of the table, each with its kind."""
        return self._encoder.columns_

    @property
    def _encoder(self) -> TableEncoder:
        found: Any = getattr(self.model, "encoder_", None) if self.encoder is None else self.encoder
        return found  # type: ignore[no-any-return]  # looked at when it was made

    @property
    def pipeline(self) -> Pipeline:
        """The encoder and the model as a scikit-learn Pipeline, for tables of the columns of training."""
        steps = [("encoder", self.encoder), ("model", self.model)]
        return Pipeline(steps[1:] if self.encoder is None else steps)

    @property
    def is_classifier(self) -> bool:
        """Whether labels are predicted."""
        return hasattr(self.model, "predict_proba")

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of the columns that are needed, by name."""
        return {column.name: column.kind for column in self.columns if column.outputs}

    @property
    def writings(self) -> dict[str, Writing]:
        """How the texts of these columns wrote numbers and dates, by name."""
        return {column.name: column.writing for column in self.columns if column.outputs}

    def unknown_columns(self, table: Mapping[str, Any]) -> list[str]:
        """Columns of a new table that were not in the training table."""
        known = {self.target, self.row_id, *self.ignored, *(column.name for column in self.columns)}
        return [str(name) for name in table if name not in known]

    def fitting(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The training columns of a new table; a missing column is an error, others are left alone."""
        other, way_out = not (isinstance(table, Mapping) or hasattr(table, "columns")), "Columns are found by name."
        refuse_if(other, "The table", "a data frame, or a dict of columns", type(table).__name__, way_out)
        gone, new = [name for name in self.kinds if name not in table], self.unknown_columns(table)
        if gone:
            unused = f" Columns that are not in the model: {quoted(new)}." * bool(new)
            hint = "Add the missing columns, or rename columns to match."
            raise InputError(f"The table does not match the model. Missing columns: {quoted(gone)}.{unused}", hint=hint)
        first = table[next(iter(self.kinds))]
        if not hasattr(first, "__len__") or isinstance(first, str):
            raise InputError(sentence("Every column of the table", "a list of values, one per row", repr(first)))
        blank = np.full(len(first), "", dtype=object)  # of columns that the model knows and does not use
        return {column.name: table[column.name] if column.outputs else blank for column in self.columns}

    def report(self, table: Mapping[str, Any]) -> EncoderReport:
        """What is unlike the training table in new rows."""
        return self._encoder.encode(self.fitting(table)).report

    def _rows(self, table: Mapping[str, Any]) -> Any:
        fitting = self.fitting(table)
        if self.encoder is None:
            return fitting
        encoded = self.encoder.encode(fitting)
        numbers = sum(column.scale is not None for column in self.columns)
        inner: Estimator = getattr(self.model, "best_estimator_", self.model)
        kept = inner.X_fit_.shape[0] if hasattr(inner, "X_fit_") else math.inf  # where that is unknown
        encoded.report.warn(usually_outside(len(encoded.values), numbers, float(self.facts.get("rows", kept))))
        return encoded.values

    def predict(self, table: Mapping[str, Any]) -> Array:
        """Predictions for the rows of a table; warns of rows unlike those of training."""
        return np.asarray(self.model.predict(self._rows(table)))

    def predict_proba(self, table: Mapping[str, Any]) -> Array:
        """Probabilities of the classes."""
        return np.asarray(self.model.predict_proba(self._rows(table)))

    @property
    def classes_(self) -> Array:
        """The labels of a classifier."""
        return np.asarray(self.model.classes_)

    @property
    def error_(self) -> float:
        """The out-of-sample error that was estimated when the model was fitted."""
        return self._error_fact("value")

    @property
    def error_standard_error_(self) -> float:
        """Standard error of `error_`."""
        return self._error_fact("standard_error")

    def _error_fact(self, name: str) -> float:
        """A number about the error that was estimated when the model was fitted."""
        error = self.facts.get("error")
        if not isinstance(error, dict) or name not in error:
            raise AttributeError("This model has no error estimate: it was not fitted by the command line.")
        return float(error[name])

    def summary(self) -> str:
        """What is predicted from what, how, and how good it is, for people."""
        used = [column.name for column in self.columns if column.outputs]
        head = f"{type(self.model).__name__} of {self.target}, from {counted(len(used), 'column')}: {quoted(used)}."
        if callable(getattr(self.model, "summary", None)):
            return f"{head}\n{self.model.summary()}"
        kernel = getattr(self.model, "best_kernel_", getattr(self.model, "kernel", None))
        lines = [head, f"{kernel!r}" + (f", alpha {self.model.alpha_:.3g}" if hasattr(self.model, "alpha_") else "")]
        if "error" in self.facts:
            lines.append(f"Out-of-sample error {self.error_:.4g} +- {self.error_standard_error_:.2g}.")
        return "\n".join(lines)

    def score(self, table: Mapping[str, Any], y: YLike) -> float:
        """R2 of predicted numbers, or the share of labels that are right."""
        from sklearn.metrics import accuracy_score, r2_score

        return float((accuracy_score if self.is_classifier else r2_score)(y, self.predict(table)))

    def predict_interval(
        self, table: Mapping[str, Any], confidence: float = 0.9, method: str | None = None
    ) -> tuple[Array, Array]:
        """An interval that holds the target with about this probability, by the model's own method or a named one."""
        named = {} if method is None else {"method": method}
        lower, upper = self.model.predict_interval(self._rows(table), confidence, **named)
        return np.asarray(lower), np.asarray(upper)


@dataclass(frozen=True, eq=False)
class FeatureRegressor(Fixed):
    """f(x) = phi(x)'w + b: what is left of a kernel ridge regression when its training rows are thrown away.

    Parameters
    ----------
    kernel : Kernel
        One with a finite feature map phi.
    weights : ndarray of shape (features, targets)
        w.
    intercept : ndarray of shape (targets,)
        b.
    columns : int
        Of the rows that it takes.
    names : tuple of str, default=()
        Of these columns, where they have some.
    one_target : bool, default=True
        Whether predictions are one number per row.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.estimators.table_model import without_rows
    >>> model = KernelRidge(0.1, kernel="linear").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> without_rows(model).predict([[1.0]]) == model.predict([[1.0]])
    array([ True])
    """

    kernel: Kernel
    weights: Array
    intercept: Array
    columns: int
    names: tuple[str, ...] = ()
    one_target: bool = True

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows that it takes."""
        return self.columns

    def _values(self, X: XLike) -> Array:
        rows = as_rows(X)
        if rows.width != self.columns:
            raise InputError(f"X must have {counted(self.columns, 'column')}, as in fit; got {rows.width}.")
        rows = Rows(rows.values, list(self.names) or None)
        result, linear = np.empty((len(rows), len(self.intercept))), isinstance(self.kernel, Linear)
        for part in blocks(len(rows)):
            result[part] = (rows[part].values if linear else self.kernel.features(rows[part])) @ self.weights
        return result + self.intercept

    def predict(self, X: XLike) -> Array:
        """Predictions, equal to those of the model with its rows."""
        values = self._values(X)
        return values[:, 0] if self.one_target else values

    def predict_interval(self, X: XLike, confidence: float = 0.9) -> tuple[Array, Array]:
        """Refused: intervals come from the errors at training rows."""
        words = "Prediction intervals need the training rows; this model was saved without them."
        raise InputError(words, hint="$rows.")


@dataclass(frozen=True, eq=False)
class FeatureClassifier(FeatureRegressor):
    """A fitted classifier as weights of explicit features, without its training rows.

    Parameters
    ----------
    kernel, weights, intercept, columns, names, one_target
        As for `FeatureRegressor`.
    classes_ : ndarray
        The labels.
    temperature_ : Temperature or None
        The calibration of probabilities.
    """

    classes_: Any = None
    temperature_: Temperature | None = None

    def predict(self, X: XLike) -> Array:
        """The label with the largest decision value."""
        return np.asarray(self.classes_[label_numbers(self._values(X))])

    def predict_proba(self, X: XLike) -> Array:
        """Probabilities of the classes, if the model was calibrated."""
        if self.temperature_ is None:
            raise InputError("predict_proba needs a calibrated model: fit KernelRidgeClassifierCV.")
        return self.temperature_.probabilities(self._values(X))


def without_rows(model: Estimator) -> Any:
    """The model without its training rows; an error if predictions need them."""
    if isinstance(model, TableModel):
        return replace(model, model=without_rows(model.model))
    if isinstance(model, FeatureRegressor):
        return model
    if isinstance(model, Pipeline):
        raise InputError("rows=False is not supported for a Pipeline. Use rows=True.")
    inner: Estimator = getattr(model, "best_estimator_", model)
    name, reason, weights = type(model).__name__, "predictions need them", None
    if hasattr(inner, "landmarks_"):
        reason = f"its {len(inner.landmarks_)} landmarks are training rows"
    elif isinstance(inner, RidgeCore):
        try:
            weights = inner.fitted_.feature_weights(name)
        except MercerError:
            reason = f"{inner.kernel_!r} has no finite feature map, so predictions need them"
    if weights is None:
        way_out = "Use a kernel with a finite feature map, such as Linear() or Polynomial()."
        raise InputError(f"{name} cannot be saved without training rows: {reason}. {way_out}")
    names = tuple(map(str, getattr(inner, "feature_names_in_", ())))
    parts = inner.kernel_, weights, inner.fitted_.constant.copy(), int(inner.n_features_in_), names
    if not hasattr(inner, "classes_"):
        return FeatureRegressor(*parts, np.ndim(inner.dual_coef_) == 1)
    return FeatureClassifier(*parts, len(inner.classes_) == 2, inner.classes_, getattr(model, "temperature_", None))
