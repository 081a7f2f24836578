"""Which attributes of a fitted model are kept, and what they must be for the model to work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.data.folds import Folds
from mercer.estimators import (
    AutoClassifier,
    AutoRegressor,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    LocalRidge,
    LocalRidgeClassifier,
    LocalRidgeClassifierCV,
    LocalRidgeCV,
    NystroemRidge,
)
from mercer.estimators.auto_losses import WORDS
from mercer.estimators.calibration import Temperature
from mercer.estimators.table_model import FeatureClassifier, FeatureRegressor, TableModel
from mercer.local.cells import LocalFit
from mercer.models import streamed
from mercer.models.checks import (
    check_classifier,
    check_features,
    check_names,
    check_neighbors_classifier,
    check_neighbors_regressor,
    check_ridge,
    count_labels,
    need,
    target_columns,
)
from mercer.models.parts import (
    KeptPlan,
    KeptTable,
    are_members,
    is_finite,
    is_finite_array,
    is_kernel,
    is_number,
    is_positive,
    is_text,
    is_whole,
    is_whole_array,
)
from mercer.selection.table import Winner
from mercer.tuning.committee import Committee

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
        LocalRidge,
        LocalRidgeClassifier,
        LocalRidgeCV,
        LocalRidgeClassifierCV,
        FeatureRegressor,
        FeatureClassifier,
        TableModel,
        *streamed.CLASSES,
    )
}
_ROWS = ("kernel_", "X_fit_")
_RIDGE = (
    *_ROWS,
    "_weights",
    "_per_target",
    "_system_of",
    "_dual",
    "_intercept",
    "_primal",
    "route_",
    "_alphas",
    "_targets",
)
_SEARCH = (
    "best_kernel_", "alpha_", "best_score_", "best_index_", "digits_", "kernels_", "alphas_", "cv_predictions_",
    "folds_", "plan_", "table_", "_choice", "best_estimator_",
)  # fmt: skip
_AUTO = ("encoder_", "committee_", "members_", "models_", "_Y", "error_", "baseline_")
_CELLS = ("fitted_", "_one_target", "_order")
_CELL_SEARCH = ("best_kernel_", "alpha_", "best_score_", "cv_predictions_", "_words")
# What must be there, beside what _MAY lists.
KEPT: dict[str, tuple[str, ...]] = {
    "KernelRidge": (*_RIDGE, "_one_target"),
    "KernelRidgeClassifier": (*_RIDGE, "classes_"),
    "KernelNeighborsClassifier": (*_ROWS, "_diagonal_fit", "classes_", "_labels"),
    "KernelNeighborsRegressor": (*_ROWS, "_diagonal_fit", "_targets"),
    "KernelRidgeCV": _SEARCH,
    "KernelRidgeClassifierCV": (*_SEARCH, "temperature_"),
    "AutoRegressor": (*_AUTO, "_centre", "_scale", "_residuals", "error_standard_error_"),
    "AutoClassifier": (*_AUTO, "classes_", "temperature_", "error_standard_error_"),
    "LocalRidge": _CELLS,
    "LocalRidgeClassifier": (*_CELLS, "classes_", "temperature_"),
    "LocalRidgeCV": (*_CELLS, *_CELL_SEARCH),
    "LocalRidgeClassifierCV": (*_CELLS, *_CELL_SEARCH, "classes_", "temperature_"),
    "FeatureRegressor": (),
    "FeatureClassifier": (),
    "TableModel": (),
    **streamed.KEPT,
}
# Parameters that the first files do not name; they are named where they are not as usual.
YOUNGER: dict[str, tuple[str, ...]] = {
    "AutoRegressor": ("copies", "encoder", "extra", "checkpoint", "loss"),
    "AutoClassifier": ("copies", "encoder", "extra", "checkpoint", "class_weight"),
    "TableModel": ("style",),
}
MAY = (
    "n_features_in_",
    "feature_names_in_",
    "verified_",
    "_replayed",
    "_left_over",
    "_part_used",
    "costs_",
    "log_factor_",
    "loss_",
    "fold_errors_",
    "copies_",
    "_latest",
    "encoder_",
)
# What follows from the rest, or is not kept.
LEFT_OUT = (
    "tuned_", "kernel_", "partition_", "condition_", "residuals_",
    "dual_coef_", "intercept_", "cv_results_", "fitted_", "_as_fitted", *streamed.LEFT_OUT,
)  # fmt: skip


def finish(model: Any) -> None:
    """Check what was read into a model, and put what follows from it beside."""
    check_names(model)
    _FINISH[type(model).__name__](model)


def _search(model: Any, winner: type) -> None:
    need(type(model.best_estimator_) is winner, f"best_estimator_ must be a {winner.__name__}")
    best, held = model.best_estimator_, vars(model)
    for name in ("n_features_in_", "feature_names_in_"):
        need(_same(held.get(name), vars(best).get(name)), f"{name} must equal best_estimator_.{name}")
    need(is_kernel(model.best_kernel_), "best_kernel_ must be a kernel")
    need(
        is_positive(model.alpha_) or is_finite_array(model.alpha_, best.fitted_.dual.shape[1]), "alpha_ must be finite"
    )
    need(is_number(model.best_score_) and is_number(model.digits_), "best_score_ and digits_ must be numbers")
    need(is_whole(model.best_index_), "best_index_ must be an integer")
    need(type(model.kernels_) is list and all(map(is_kernel, model.kernels_)), "kernels_ must be kernels")
    need(is_finite_array(model.alphas_, None), "alphas_ must be finite")
    parts = {"folds_": Folds, "plan_": KeptPlan, "table_": KeptTable, "choice_": Winner}
    need(all(isinstance(held[name], cls) for name, cls in parts.items()), "the search results are incomplete")
    n = best.X_fit_.shape[0]
    need(model.folds_.n == n, "the folds must have as many rows as X_fit_")
    values = model.cv_predictions_
    sound = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim in (2, 3)
    need(sound and values.shape[1] == n, "there must be one held-out prediction for each row")
    if "verified_" in held:
        need(is_positive(model.verified_) and is_whole(held.get("_replayed")), "verified_ must be a number")


def _same(one: Any, other: Any) -> bool:
    return one is None and other is None if one is None or other is None else bool(np.array_equal(one, other))


def _search_classifier(model: KernelRidgeClassifierCV) -> None:
    _search(model, KernelRidgeClassifier)
    need(isinstance(model.temperature_, Temperature), "the calibration is missing")
    model.classes_ = model.best_estimator_.classes_


def _auto(model: Any) -> tuple[int, int]:
    need(isinstance(model.committee_, Committee), "the committee is missing")
    members, models = model.members_, model.models_
    need(
        are_members(members) and len(members) == len(model.committee_.members),
        "members_ must be the members of committee_",
    )
    known = (KernelRidge, LocalRidge, NystroemRidge)
    need(type(models) is list and all(type(each) in known for each in models), "models_ must be models of mercer")
    need(len(members) == len(models) > 0, "each member must have a model")
    n, t = model.committee_.held_out.shape
    rows = models[0].X_fit_.shape[0]
    shapes = (rows, t), (rows, max(len(model.encoder_.names_out_), 1))
    for each in models:
        if isinstance(each, NystroemRidge):
            found = (rows, (np.ndim(each.intercept_) and len(each.intercept_)) or 1), (rows, each.n_features_in_)
        else:
            found = (len(each.X_fit_), _count_targets(each)), each.X_fit_.shape
        need(found == shapes, "the shapes of models_ are inconsistent")
    need(not isinstance(models[0], NystroemRidge), "the first of models_ must have the training rows")
    need(is_finite_array(model._Y, n, t), "the targets must be finite, one for each row")
    held = vars(model)
    need(type(held.get("_left_over", False)) is bool, "_left_over must be a boolean")
    place, last = held.get("_latest", (0, 0.0))
    need(type(place) is int and 0 <= place < shapes[1][1] and is_finite(last), "the column of the time is invalid")
    need("rows_used_" not in held or _ascending(model.rows_used_, n), "rows_used_ must be increasing")
    return n, t


def _count_targets(model: Any) -> int:
    fitted = model.fitted_
    return int((fitted.cells.problem.Y if isinstance(fitted, LocalFit) else fitted.dual).shape[1])


def _ascending(rows: Any, count: int) -> bool:
    return is_whole_array(rows, count, 2**62) and bool((np.diff(rows) > 0).all())


def _auto_regressor(model: AutoRegressor) -> None:
    n, t = _auto(model)
    several = (t,) if isinstance(model.centre_, np.ndarray) else ()  # numbers for one target, arrays for several
    need(bool(several) or t == 1, "centre and scale must be one for each target")
    rows = None if vars(model).get("_left_over") else n  # of many rows those of some that were held out
    need(is_finite_array(model._residuals, rows, *several), "residuals must be finite, one for each row")
    finite = is_finite_array(model.centre_, t) if several else is_finite(model.centre_)
    need(finite and _positive(model.scale_, several), "centre and scale must be finite")
    need(_positive(model.error_, several) and _positive(model.baseline_, several), "errors must be finite")
    need(_positive(model.error_standard_error_, several), "errors must be finite")
    by_fold = vars(model).get("fold_errors_")
    need(by_fold is None or is_finite_array(by_fold, None, t), "the errors of folds must be finite")
    factor = vars(model).get("log_factor_")
    model.loss_ = getattr(model, "loss_", "squared" if factor is None else "log")
    need(model.loss_ in WORDS, "loss_ must be the name of a loss")
    need((factor is None or _positive(factor, several)), "log_factor_ must be finite and not negative")


def _positive(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether these are finite numbers that are not negative, of this shape."""
    return is_finite_array(value, *shape) and bool((value >= 0).all()) if shape else is_positive(value)


def is_usual(name: str, value: Any) -> bool:
    """Whether an attribute that the first files do not have is as it always was then, and need not be written."""
    return name == "costs_" and bool((value == 1.0).all())


def _auto_classifier(model: AutoClassifier) -> None:
    _, t = _auto(model)
    labels = count_labels(model.classes_, 2)
    need(t == target_columns(labels), "targets and classes are inconsistent")
    need(is_positive(model.error_) and is_positive(model.baseline_), "errors must be finite")
    need(is_positive(model.error_standard_error_), "errors must be finite")
    need(isinstance(model.temperature_, Temperature), "the calibration is missing")
    need(len(model.temperature_.shifts) in (0, labels), "calibration and classes are inconsistent")
    model.costs_ = vars(model).get("costs_", np.ones(labels))
    need(
        is_finite_array(model.costs_, labels) and (model.costs_ >= 0).all(),
        "there must be one cost for each class, not negative",
    )


def _in_cells(model: Any) -> None:
    """Check a model in cells; what follows from its fit is set."""
    fitted = model.fitted_
    need(isinstance(fitted, LocalFit), "the cells are missing")
    n, t = fitted.residuals.shape
    need(type(model._one_target) is bool and (t == 1 or not model._one_target), "the number of targets is inconsistent")
    order = model._order
    need(is_whole_array(order, n, n) and len(np.unique(order)) == n, "the order of rows must be a permutation")
    need(model.n_features_in_ == fitted.cells.rows.width, "the number of columns is inconsistent")
    if "classes_" in KEPT[type(model).__name__]:
        need(t == target_columns(count_labels(model.classes_, 2)), "targets and classes are inconsistent")
        need(isinstance(model.temperature_, Temperature), "the calibration is missing")
    if "best_kernel_" in vars(model):
        need(is_kernel(model.best_kernel_) and is_positive(model.alpha_), "the best candidate is invalid")
        need(is_number(model.best_score_) and isinstance(model.cv_predictions_, np.ndarray), "the scores are invalid")
        need(type(model._words) is list and all(map(is_text, model._words)), "the summary is invalid")
    model.publish(fitted, order)


def _feature_classifier(model: FeatureClassifier) -> None:
    check_features(model)
    need(
        len(model.intercept) == target_columns(count_labels(model.classes_, 2)), "weights and classes are inconsistent"
    )
    calibration = model.temperature_
    need(calibration is None or isinstance(calibration, Temperature), "the calibration is invalid")


def _table(model: TableModel) -> None:
    need(
        type(model.model) in CLASSES.values() and type(model.model) is not TableModel,
        "a TableModel must contain a model",
    )
    need(
        type(model.ignored) is tuple and type(model.facts) is dict,
        "the columns or the summary of the table are missing",
    )
    if model.encoder is not None:
        columns = getattr(model.model, "n_features_in_", None)
        need(columns == len(model.encoder.names_out_), "encoder and model of the table are inconsistent")


_FINISH: dict[str, Callable[[Any], None]] = {
    "KernelRidge": check_ridge,
    "KernelRidgeClassifier": check_classifier,
    "KernelNeighborsClassifier": check_neighbors_classifier,
    "KernelNeighborsRegressor": check_neighbors_regressor,
    "KernelRidgeCV": lambda model: _search(model, KernelRidge),
    "KernelRidgeClassifierCV": _search_classifier,
    "AutoRegressor": _auto_regressor,
    "AutoClassifier": _auto_classifier,
    "FeatureRegressor": check_features,
    "FeatureClassifier": _feature_classifier,
    "TableModel": _table,
    **dict.fromkeys(("LocalRidge", "LocalRidgeClassifier", "LocalRidgeCV", "LocalRidgeClassifierCV"), _in_cells),
    **streamed.FINISH,
}
