"""Fitted models as weights of explicit features: they predict, and hold no training row."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.data.rows import Array, Rows, as_rows
from mercer.errors import InputError, MercerError
from mercer.estimators.base import RidgeCore
from mercer.estimators.calibration import Temperature
from mercer.estimators.table_model import TableModel
from mercer.kernels import Kernel, Linear
from mercer.kernels.tiles import blocks
from mercer.selection.removals import label_numbers
from mercer.text import counted


@dataclass(frozen=True, eq=False)
class FeatureRegressor:
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
    >>> from mercer.estimators.features_only import without_rows
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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Everything it is made of, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows that it takes."""
        return self.columns

    def _values(self, X: Any) -> Array:
        rows = as_rows(X)
        if rows.width != self.columns:
            raise InputError(f"X must have {counted(self.columns, 'column')}, as in fit; got {rows.width}.")
        rows = Rows(rows.values, list(self.names) or None)
        result = np.empty((len(rows), len(self.intercept)))
        for part in blocks(len(rows)):
            mine = rows[part]
            phi = mine.values if isinstance(self.kernel, Linear) else self.kernel.features(mine)
            result[part] = phi @ self.weights
        return result + self.intercept

    def predict(self, X: Any) -> Array:
        """The same numbers as the model with its rows."""
        values = self._values(X)
        return values[:, 0] if self.one_target else values

    def predict_interval(self, X: Any, confidence: float = 0.9) -> tuple[Array, Array]:
        """Refused: intervals come from the errors at training rows."""
        raise InputError(
            "Prediction intervals need the training rows; this model was saved without them.", hint="$rows."
        )


@dataclass(frozen=True, eq=False)
class FeatureClassifier(FeatureRegressor):
    """The same for labels.

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

    def predict(self, X: Any) -> Array:
        """The label with the largest decision value."""
        values = self._values(X)
        chosen = label_numbers(values)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, if the model was calibrated."""
        if self.temperature_ is None:
            raise InputError("predict_proba needs a calibrated model: fit KernelRidgeClassifierCV.")
        return self.temperature_.probabilities(self._values(X))


def without_rows(model: Any) -> Any:
    """The model without its training rows; an error if predictions need them."""
    if isinstance(model, TableModel):
        return replace(model, model=without_rows(model.model))
    if isinstance(model, FeatureRegressor):
        return model
    if isinstance(model, Pipeline):
        raise InputError("rows=False is not supported for a Pipeline. Save only its last step.")
    inner = getattr(model, "best_estimator_", model)
    name, way_out = type(model).__name__, "Use a kernel with a finite feature map, such as Linear() or Polynomial()."
    if hasattr(inner, "landmarks_"):
        raise InputError(
            f"{name} cannot be saved without training rows: its {len(inner.landmarks_)} landmarks are training rows. "
            f"{way_out}"
        )
    if not isinstance(inner, RidgeCore):
        raise InputError(f"{name} cannot be saved without training rows: predictions need them. {way_out}")
    try:
        weights = inner.fitted_.feature_weights(name)
    except MercerError:
        kernel = repr(inner.kernel_)
        raise InputError(
            f"{name} cannot be saved without training rows: {kernel} has no finite feature map, so predictions need "
            f"them. {way_out}"
        ) from None
    names = tuple(map(str, getattr(inner, "feature_names_in_", ())))
    parts = inner.kernel_, weights, inner.fitted_.constant.copy(), int(inner.n_features_in_), names
    if not hasattr(inner, "classes_"):
        return FeatureRegressor(*parts, one_target=np.ndim(inner.dual_coef_) == 1)
    one = len(inner.classes_) == 2
    return FeatureClassifier(*parts, one, inner.classes_, getattr(model, "temperature_", None))
