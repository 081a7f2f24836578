"""Which attributes of a fitted model are kept, and what they must be for the model to work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.data.rows import Rows
from mercer.errors import ModelFileError
from mercer.estimators import (
    AutoClassifier,
    AutoRegressor,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)
from mercer.estimators.calibration import Temperature
from mercer.data.encoding import TableEncoder
from mercer.data.folds import Folds
from mercer.models.parts import (
    KeptPlan,
    KeptTable,
    are_members,
    is_finite,
    is_finite_array,
    is_kernel,
    is_number,
    is_positive,
    is_whole,
    is_whole_array,
)
from mercer.selection.committee import Committee
from mercer.selection.table import Choice as Winner
from mercer.solvers import Choice, Route

CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        KernelRidge,
        KernelRidgeClassifier,
        KernelNeighborsClassifier,
        KernelNeighborsRegressor,
        KernelRidgeCV,
        KernelRidgeClassifierCV,
        AutoRegressor,
        AutoClassifier,
    )
}
_ROWS = ("kernel_", "X_fit_")
_RIDGE = (*_ROWS, "_weights", "_per_target", "_system_of", "_dual", "_intercept", "_primal", "route_", "_alphas", "_targets")
_SEARCH = (
    "best_kernel_", "alpha_", "best_score_", "best_index_", "digits_", "kernels_", "alphas_", "cv_predictions_",
    "folds_", "plan_", "table_", "_choice", "best_estimator_",
)  # fmt: skip
_AUTO = ("encoder_", "committee_", "members_", "models_", "_Y", "error_", "baseline_")
# What must be there, beside what _MAY lists.
KEPT: dict[str, tuple[str, ...]] = {
    "KernelRidge": (*_RIDGE, "_one_target"),
    "KernelRidgeClassifier": (*_RIDGE, "classes_"),
    "KernelNeighborsClassifier": (*_ROWS, "_diagonal_fit", "classes_", "_labels"),
    "KernelNeighborsRegressor": (*_ROWS, "_diagonal_fit", "_targets"),
    "KernelRidgeCV": _SEARCH,
    "KernelRidgeClassifierCV": (*_SEARCH, "temperature_"),
    "AutoRegressor": (*_AUTO, "_centre", "_scale", "_residuals", "error_standard_error_"),
    "AutoClassifier": (*_AUTO, "classes_", "temperature_"),
}
MAY = ("n_features_in_", "feature_names_in_", "verified_", "_replayed", "_left_over", "_part_used")
# What follows from the rest, or is not kept.
LEFT_OUT = (
    "dual_coef_", "intercept_", "_used", "cv_results_", "_posterior_kept", "_weights_kept",
    "_left_out_kept",
)  # fmt: skip


def need(sound: Any, what: str) -> None:
    """Refuse a model in which this is not so."""
    if not sound:
        raise ModelFileError(f"{what}.")


def check_params(params: dict[str, Any]) -> None:
    """The numbers among a constructor's parameters."""
    if "alpha" in params:
        alpha = params["alpha"]
        several = isinstance(alpha, np.ndarray | list | tuple) and np.asarray(alpha).dtype.kind in "iuf"
        sound = bool(np.isfinite(alpha).all() and np.min(alpha) >= 0) if several else is_positive(alpha)
        need(sound, "alpha must be finite and not negative")
    if "fit_intercept" in params:
        need(type(params["fit_intercept"]) is bool, "fit_intercept must be true or false")
    if "n_neighbors" in params:
        need(is_whole(params["n_neighbors"]) and params["n_neighbors"] > 0, "n_neighbors must be a positive number")


def finish(model: Any) -> None:
    """Check what was read into a model, and put what follows from it beside."""
    _names(model)
    _FINISH[type(model).__name__](model)


def _names(model: Any) -> None:
    held = vars(model)
    count, names = held.get("n_features_in_"), held.get("feature_names_in_")
    need(count is None or (is_whole(count) and count > 0), "n_features_in_ must be a positive number")
    if names is not None:
        texts = isinstance(names, np.ndarray) and names.dtype == object and names.ndim == 1
        need(texts and all(type(name) is str for name in names), "feature_names_in_ must be texts")
        need(len(names) == count or count is None, "feature_names_in_ must be one for each column")


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
        need(vars(model).get("n_features_in_") == X.shape[1], "n_features_in_ must be the columns of X_fit_")
        need(kernel.kind != "gram" or n == X.shape[1], "the Gram matrix must be square")
    kernel.check(Rows(X, vars(model).get("feature_names_in_")))
    return n


def _labels(classes: Any, least: int) -> int:
    sound = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= least
    need(sound, f"classes_ must be at least {least} labels")
    if classes.dtype == object:
        need(all(type(label) in (str, int, float, bool) for label in classes), "classes_ must be texts or numbers")
    else:
        need(classes.dtype.kind in "biufU", "classes_ must be texts or numbers")
        need(classes.dtype.kind != "f" or np.isfinite(classes).all(), "classes_ must be finite")
    return len(classes)


def _columns_of(count: int) -> int:
    """Columns of targets for so many classes."""
    return 1 if count == 2 else count


def _ridge(model: Any) -> int:
    n = _rows(model)
    Y = model._targets
    need(is_finite_array(Y, n, None) and Y.shape[1] > 0, "the targets must be finite, a row for each of X_fit_")
    t = Y.shape[1]
    need(is_finite_array(model._dual, n, t), "the dual coefficients must be finite, one for each target")
    need(is_finite_array(model._intercept, t), "the intercepts must be finite, one for each target")
    need(is_finite_array(model._alphas, t) and (model._alphas >= 0).all(), "alphas must be finite and not negative")
    weights = model._weights
    some = weights is None or (is_finite_array(weights, n) and (weights >= 0).all() and weights.any())
    need(some, "sample weights must be finite and not negative, one for each row")
    need(type(model._per_target) is bool, "_per_target must be true or false")
    need(isinstance(model._system_of, Choice) and isinstance(model.route_, Route), "a route must be there")
    _primal(model, t)
    model._used = slice(None) if weights is None or weights.all() else weights > 0
    return t


def _primal(model: Any, t: int) -> None:
    primal = model._primal
    need((model._system_of.name == "primal") == (primal is not None), "weights of features belong to the primal")
    if primal is not None:
        need(is_finite_array(primal, None, t), "weights of features must be finite, one for each target")
        count = model.kernel_.feature_count(Rows(model.X_fit_).width)
        need(count is None or count == len(primal), "weights of features must be as many as features")


def _kernel_ridge(model: KernelRidge) -> None:
    t = _ridge(model)
    need(type(model._one_target) is bool and (t == 1 or not model._one_target), "the targets must fit the shape of y")
    model.dual_coef_ = model._out(model._dual)
    model.intercept_ = model._out(model._intercept[None])[0]


def _classifier(model: KernelRidgeClassifier) -> None:
    need(_ridge(model) == _columns_of(_labels(model.classes_, 2)), "the targets must fit the classes")
    model.dual_coef_, model.intercept_ = model._dual, model._intercept


def _neighbors(model: Any) -> int:
    n = _rows(model)
    need(is_finite_array(model._diagonal_fit, n), "k(x, x) must be finite, one for each row")
    return n


def _neighbors_classifier(model: KernelNeighborsClassifier) -> None:
    n = _neighbors(model)
    need(is_whole_array(model._labels, n, _labels(model.classes_, 1)), "each row must have one of the labels")


def _neighbors_regressor(model: KernelNeighborsRegressor) -> None:
    n, y = _neighbors(model), model._targets
    need(is_finite_array(y, n) or is_finite_array(y, n, None), "the targets must be finite, one for each row")


def _search(model: Any, winner: type) -> None:
    need(type(model.best_estimator_) is winner, f"the winner must be a {winner.__name__}")
    best, held = model.best_estimator_, vars(model)
    for name in ("n_features_in_", "feature_names_in_"):
        need(_same(held.get(name), vars(best).get(name)), f"{name} must be the winner's")
    need(is_kernel(model.best_kernel_), "best_kernel_ must be a kernel")
    need(is_positive(model.alpha_) or is_finite_array(model.alpha_, best._dual.shape[1]), "alpha_ must be finite")
    need(is_number(model.best_score_) and is_number(model.digits_), "best_score_ and digits_ must be numbers")
    need(is_whole(model.best_index_), "best_index_ must be a whole number")
    need(type(model.kernels_) is list and all(map(is_kernel, model.kernels_)), "kernels_ must be kernels")
    need(is_finite_array(model.alphas_, None), "alphas_ must be finite")
    parts = {"folds_": Folds, "plan_": KeptPlan, "table_": KeptTable, "_choice": Winner}
    need(all(isinstance(held[name], cls) for name, cls in parts.items()), "the account of the search must be whole")
    n = best.X_fit_.shape[0]
    need(model.folds_.n == n, "the folds must be of as many rows as there are")
    values = model.cv_predictions_
    sound = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim in (2, 3)
    need(sound and values.shape[1] == n, "held-out predictions must be one for each row")
    if "verified_" in held:
        need(is_positive(model.verified_) and is_whole(held.get("_replayed")), "verified_ must be a number")


def _same(one: Any, other: Any) -> bool:
    return one is None and other is None if one is None or other is None else bool(np.array_equal(one, other))


def _search_classifier(model: KernelRidgeClassifierCV) -> None:
    _search(model, KernelRidgeClassifier)
    need(isinstance(model.temperature_, Temperature), "a calibration must be there")
    model.classes_ = model.best_estimator_.classes_


def _auto(model: Any) -> tuple[int, int]:
    need(isinstance(model.encoder_, TableEncoder), "an encoder must be there")
    need(vars(model).get("n_features_in_") == len(model.encoder_.columns_), "the encoder must know each column")
    need(isinstance(model.committee_, Committee), "a committee must be there")
    members, models = model.members_, model.models_
    need(are_members(members) and len(members) == len(model.committee_.members), "its members must be a committee's")
    need(type(models) is list and all(type(each) is KernelRidge for each in models), "its members must be models")
    need(len(members) == len(models) > 0, "each member must have a model")
    n, t = model.committee_.held_out.shape
    rows = models[0].X_fit_.shape[0]
    shapes = (rows, t), (rows, max(len(model.encoder_.names_out_), 1))
    for each in models:
        need((each._dual.shape, each.X_fit_.shape) == shapes, "its members must fit one another")
    need(is_finite_array(model._Y, n, t), "the targets must be finite, one for each row")
    held = vars(model)
    need(type(held.get("_left_over", False)) is bool, "_left_over must be true or false")
    need("_part_used" not in held or _ascending(model._part_used, n), "the rows used must be in order")
    need(is_positive(model.error_) and is_positive(model.baseline_), "errors must be finite")
    return n, t


def _ascending(rows: Any, count: int) -> bool:
    return is_whole_array(rows, count, 2**62) and bool((np.diff(rows) > 0).all())


def _auto_regressor(model: AutoRegressor) -> None:
    n, t = _auto(model)
    need(t == 1 and is_finite_array(model._residuals, n), "residuals must be finite, one for each row")
    need(is_finite(model._centre) and is_positive(model._scale), "centre and scale must be finite")
    need(is_positive(model.error_standard_error_), "errors must be finite")


def _auto_classifier(model: AutoClassifier) -> None:
    _, t = _auto(model)
    need(t == _columns_of(_labels(model.classes_, 2)), "the targets must fit the classes")
    need(isinstance(model.temperature_, Temperature), "a calibration must be there")


_FINISH: dict[str, Callable[[Any], None]] = {
    "KernelRidge": _kernel_ridge,
    "KernelRidgeClassifier": _classifier,
    "KernelNeighborsClassifier": _neighbors_classifier,
    "KernelNeighborsRegressor": _neighbors_regressor,
    "KernelRidgeCV": lambda model: _search(model, KernelRidge),
    "KernelRidgeClassifierCV": _search_classifier,
    "AutoRegressor": _auto_regressor,
    "AutoClassifier": _auto_classifier,
}
