"""Models on landmarks in files: the landmarks and their coefficients, and none of the rows that were summed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.data.rows import Rows
from mercer.estimators import NystroemRidge, NystroemRidgeClassifier, NystroemRidgeClassifierCV, NystroemRidgeCV
from mercer.models.checks import count_labels, need, target_columns
from mercer.models.parts import is_finite_array, is_kernel, is_number, is_positive, is_text, is_whole

CLASSES = (NystroemRidge, NystroemRidgeClassifier, NystroemRidgeCV, NystroemRidgeClassifierCV)
_RIDGE = ("kernel_", "landmarks_", "_dual", "_intercept", "_alphas", "n_rows_", "condition_")
_SEARCH = (
    "best_kernel_", "alpha_", "best_score_", "best_index_", "digits_", "kernels_", "alphas_", "fold_rows_", "_words",
    "best_estimator_",
)  # fmt: skip
KEPT: dict[str, tuple[str, ...]] = {
    "NystroemRidge": (*_RIDGE, "_one_target"),
    "NystroemRidgeClassifier": (*_RIDGE, "classes_"),
    "NystroemRidgeCV": _SEARCH,
    "NystroemRidgeClassifierCV": _SEARCH,
}
# The sums, and what the search said of itself in tables; its summary is kept.
LEFT_OUT = (
    "_search", "_state", "_known", "_one_target", "plan_", "table_", "folds_", "choice_", "landmark_check_", "nested_",
    "nested_scores_", "optimism_",
)  # fmt: skip


def _ridge(model: Any) -> int:
    need(is_kernel(model.kernel_), "kernel_ must be a kernel")
    encoder = vars(model).get("encoder_")
    names = vars(model).get("feature_names_in_") if encoder is None else encoder.names_out_
    columns = vars(model).get("n_features_in_") if encoder is None else len(encoder.names_out_)
    need(is_finite_array(model.landmarks_, None, columns), "the landmarks must be finite, of as many columns as X")
    m = len(model.landmarks_)
    t = len(model._intercept) if isinstance(model._intercept, np.ndarray) else 0
    need(m > 0 and t > 0 and is_finite_array(model._intercept, t), "the intercepts must be finite")
    need(is_finite_array(model._dual, m, t), "the coefficients must be finite, one for each landmark and target")
    need(is_finite_array(model._alphas, t) and (model._alphas >= 0).all(), "alphas must be finite and not negative")
    need(is_whole(model.n_rows_) and is_positive(model.condition_), "rows and condition must be numbers")
    model.kernel_.check(Rows(model.landmarks_, names))
    return t


def _regressor(model: NystroemRidge) -> None:
    t = _ridge(model)
    need(
        type(model._one_target) is bool and (t == 1 or not model._one_target),
        "targets and the shape of y are inconsistent",
    )
    model.publish()


def _classifier(model: NystroemRidgeClassifier) -> None:
    need(_ridge(model) == target_columns(count_labels(model.classes_, 2)), "targets and classes are inconsistent")
    model.publish()


def _search(model: Any, winner: type) -> None:
    need(type(model.best_estimator_) is winner, f"best_estimator_ must be a {winner.__name__}")
    for name in ("n_features_in_", "feature_names_in_"):
        mine, other = vars(model).get(name), vars(model.best_estimator_).get(name)
        need(
            mine is None if other is None else np.array_equal(mine, other), f"{name} must equal best_estimator_.{name}"
        )
    need(
        is_kernel(model.best_kernel_) and is_positive(model.alpha_), "best_kernel_ must be a kernel and alpha_ a number"
    )
    need(is_number(model.best_score_) and is_number(model.digits_), "best_score_ and digits_ must be numbers")
    need(is_whole(model.best_index_) and is_text(model._words), "the search results are incomplete")
    need(type(model.kernels_) is list and all(map(is_kernel, model.kernels_)), "kernels_ must be kernels")
    need(is_finite_array(model.alphas_, None), "alphas_ must be finite")
    rows = model.fold_rows_
    need(isinstance(rows, np.ndarray) and rows.dtype == np.int64 and rows.ndim == 1, "fold_rows_ must be numbers")
    if "encoder_" in vars(model):
        model.encoder_ = model.best_estimator_.encoder_


def _search_classifier(model: NystroemRidgeClassifierCV) -> None:
    _search(model, NystroemRidgeClassifier)
    model.classes_ = model.best_estimator_.classes_


FINISH: dict[str, Callable[[Any], None]] = {
    "NystroemRidge": _regressor,
    "NystroemRidgeClassifier": _classifier,
    "NystroemRidgeCV": lambda model: _search(model, NystroemRidge),
    "NystroemRidgeClassifierCV": _search_classifier,
}
