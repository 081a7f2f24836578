"""What a model over one kernel must be to work, and what follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.rows import Rows
from mercer.errors import ModelFileError
from mercer.estimators import KernelNeighborsClassifier, KernelNeighborsRegressor, KernelRidge, KernelRidgeClassifier
from mercer.estimators.base import RidgeCore
from mercer.estimators.parameters import NAMES
from mercer.estimators.table_model import FeatureRegressor
from mercer.models.parts import is_finite_array, is_kernel, is_positive, is_whole, is_whole_array
from mercer.solvers import Route, SolverChoice
from mercer.solvers.fitted import FittedRidge
from mercer.tables import TableEncoder


def need(sound: Any, what: str) -> None:
    """Raise a ModelFileError with this text unless `sound`."""
    if not sound:
        raise ModelFileError(f"{what}.")


def check_params(params: dict[str, Any]) -> None:
    """Validate the parameters of a constructor."""
    if "alpha" in params:
        alpha = params["alpha"]
        several = isinstance(alpha, np.ndarray | list | tuple) and np.asarray(alpha).dtype.kind in "iuf"
        sound = bool(np.isfinite(alpha).all() and np.min(alpha) >= 0) if several else is_positive(alpha)
        need(sound, "alpha must be finite and not negative")
    if "kernel" in params:
        named = type(params["kernel"]) is str and params["kernel"] in NAMES
        need(named or is_kernel(params["kernel"]), "kernel must be a kernel, or the name of one")
    if "fit_intercept" in params:
        need(type(params["fit_intercept"]) is bool, "fit_intercept must be a boolean")
    if "n_neighbors" in params:
        need(is_whole(params["n_neighbors"]) and params["n_neighbors"] > 0, "n_neighbors must be a positive number")


def check_names(model: Any) -> None:
    """Validate the number of columns and their names."""
    held = vars(model)
    count, names = held.get("n_features_in_"), held.get("feature_names_in_")
    need(count is None or (is_whole(count) and count > 0), "n_features_in_ must be a positive number")
    if names is not None:
        texts = isinstance(names, np.ndarray) and names.dtype == object and names.ndim == 1
        need(texts and all(type(name) is str for name in names), "feature_names_in_ must be strings")
        need(len(names) == count or count is None, "feature_names_in_ must have one name for each column")
    if "encoder_" in held:
        known = getattr(held["encoder_"], "columns_", ())
        need(isinstance(held["encoder_"], TableEncoder) and len(known) == count, "the encoder must have every column")


def _rows(model: Any) -> int:
    X, kernel = model.X_fit_, model.kernel_
    need(is_kernel(kernel), "kernel_ must be a kernel")
    if isinstance(X, np.ndarray) and X.dtype == object:
        need(X.ndim in (1, 2), "X_fit_ must be a table or a sequence of objects")
    elif isinstance(X, np.ndarray):
        need(is_finite_array(X, None, None), "X_fit_ must be a table of finite numbers")
    else:
        need(hasattr(X, "tocsr") and is_finite_array(X.data, None), "X_fit_ must be a table of finite numbers")
    n = int(X.shape[0])
    need(n > 0 and (X.ndim == 1 or X.shape[1] > 0), "X_fit_ must have rows and columns")
    if X.ndim == 2:
        need(vars(model).get("n_features_in_") == X.shape[1], "n_features_in_ must be the number of columns of X_fit_")
        need(kernel.kind != "gram" or n == X.shape[1], "the kernel matrix must be square")
    kernel.check(Rows(X, vars(model).get("feature_names_in_")))
    return n


def count_labels(classes: Any, least: int) -> int:
    """The number of labels, after their validation."""
    sound = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= least
    need(sound, f"classes_ must be at least {least} labels")
    if classes.dtype == object:
        need(all(type(label) in (str, int, float, bool) for label in classes), "classes_ must be strings or numbers")
    else:
        need(classes.dtype.kind in "biufU", "classes_ must be strings or numbers")
        need(classes.dtype.kind != "f" or np.isfinite(classes).all(), "classes_ must be finite")
    return len(classes)


def target_columns(count: int) -> int:
    """Columns of targets for so many classes."""
    return 1 if count == 2 else count


# What files call the fields of a fitted ridge.
RIDGE_FIELDS = {
    "_weights": "weights",
    "_system_of": "choice",
    "_dual": "dual",
    "_intercept": "constant",
    "_primal": "primal",
    "_alphas": "alphas",
    "_targets": "targets",
}


# Attributes that files know by an older name.
RENAMED = {"_choice": "choice_", "_centre": "centre_", "_scale": "scale_", "_part_used": "rows_used_"}


def attribute(model: Any, name: str) -> Any:
    """An attribute of a fitted model by the name that files have for it; AttributeError where it is not fitted."""
    if name in RIDGE_FIELDS and isinstance(model, RidgeCore):
        return getattr(model.fitted_, RIDGE_FIELDS[name])
    return getattr(model, RENAMED.get(name, name))


def _ridge(model: Any) -> int:
    n, held = _rows(model), vars(model)
    Y, alphas, weights, choice = held["_targets"], held["_alphas"], held["_weights"], held["_system_of"]
    need(
        is_finite_array(Y, n, None) and Y.shape[1] > 0,
        "the targets must be finite, with one row for each row of X_fit_",
    )
    t = int(Y.shape[1])
    need(is_finite_array(held["_dual"], n, t), "the dual coefficients must be finite, one for each target")
    need(is_finite_array(held["_intercept"], t), "the intercepts must be finite, one for each target")
    need(is_finite_array(alphas, t) and (alphas >= 0).all(), "alphas must be finite and not negative")
    some = weights is None or (is_finite_array(weights, n) and (weights >= 0).all() and weights.any())
    need(some, "sample weights must be finite and not negative, one for each row")
    need(type(held["_per_target"]) is bool, "_per_target must be a boolean")
    need(
        isinstance(choice, SolverChoice) and isinstance(model.route_, Route),
        "route_ (how the linear system was solved) is missing",
    )
    _primal(model, held["_primal"], choice, t)
    fields = {field: held.pop(name) for name, field in RIDGE_FIELDS.items()}
    model.fitted_ = FittedRidge(
        kernel=model.kernel_,
        X=model.X_fit_,
        names=held.get("feature_names_in_"),
        intercept=model.fit_intercept,
        route=model.route_,
        **fields,
    )
    return t


def _primal(model: Any, primal: Any, choice: SolverChoice, t: int) -> None:
    need(
        (choice.name == "primal") == (primal is not None),
        "weights of features must be present exactly when the solver is 'primal'",
    )
    if primal is not None:
        need(is_finite_array(primal, None, t), "weights of features must be finite, one for each target")
        count = model.kernel_.feature_count(Rows(model.X_fit_).width)
        need(count is None or count == len(primal), "the number of feature weights must be the number of features")


def check_ridge(model: KernelRidge) -> None:
    """Validate a KernelRidge."""
    t, one = _ridge(model), vars(model)["_one_target"]
    need(type(one) is bool and (t == 1 or not one), "targets and the shape of y are inconsistent")
    model.publish()


def check_classifier(model: KernelRidgeClassifier) -> None:
    """Validate a KernelRidgeClassifier."""
    need(_ridge(model) == target_columns(count_labels(model.classes_, 2)), "targets and classes are inconsistent")
    model.publish()


def check_features(model: FeatureRegressor) -> None:
    """Validate a model without training rows."""
    need(
        is_kernel(model.kernel) and is_whole(model.columns) and model.columns > 0,
        "the kernel or the number of columns is missing",
    )
    t = len(model.intercept) if isinstance(model.intercept, np.ndarray) else 0
    need(t > 0 and is_finite_array(model.intercept, t), "the intercepts must be finite")
    need(is_finite_array(model.weights, None, t), "weights of features must be finite, one for each target")
    names = model.names
    sound = type(names) is tuple and all(type(name) is str for name in names) and len(names) in (0, model.columns)
    need(sound, "there must be one name for each column")
    need(
        type(model.one_target) is bool and (t == 1 or not model.one_target),
        "targets and the shape of y are inconsistent",
    )
    rows = Rows(np.zeros((1, model.columns)), list(names) or None)
    model.kernel.check(rows)
    need(
        model.kernel.count_features(rows) == len(model.weights),
        "the number of feature weights must be the number of features",
    )


def _neighbors(model: Any) -> int:
    n = _rows(model)
    need(is_finite_array(model._diagonal_fit, n), "k(x, x) must be finite, one for each row")
    model._as_fitted = {"n_neighbors": model.n_neighbors}
    return n


def check_neighbors_classifier(model: KernelNeighborsClassifier) -> None:
    """Neighbours that vote."""
    n = _neighbors(model)
    need(is_whole_array(model._labels, n, count_labels(model.classes_, 1)), "each row must have one of the labels")


def check_neighbors_regressor(model: KernelNeighborsRegressor) -> None:
    """Neighbours that are averaged."""
    n, y = _neighbors(model), model._targets
    need(is_finite_array(y, n) or is_finite_array(y, n, None), "the targets must be finite, one for each row")
