"""What files hold: classes whose values are their fields, estimators with what is not derived, transformers."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils.validation import check_is_fitted

import mercer.estimators as catalogue
from mercer.data.folds import Folds
from mercer.data.rows import Estimator, XLike
from mercer.errors import InputError, ModelFileError
from mercer.estimators.base import RidgeCore
from mercer.estimators.local import LocalCore
from mercer.estimators.nystroem import NystroemCore
from mercer.estimators.nystroem_search import NystroemSearchCore
from mercer.estimators.parameters import validate
from mercer.estimators.table_model import FeatureClassifier, FeatureRegressor, TableModel
from mercer.estimators.targets import Temperature
from mercer.local.cells import LocalFit
from mercer.models.values import Json, StoredCells, StoredFolds, StoredPlan, StoredRoute, StoredTable, by_name
from mercer.runtime.container import need
from mercer.selection.table import Winner
from mercer.solvers.fitted import FittedRidge
from mercer.solvers.plan import Route, SolverChoice
from mercer.solvers.problem import LOSSES, Logistic, Softmax
from mercer.tables import Column, TableEncoder
from mercer.tables.cells import Writing
from mercer.tables.columns import Scale
from mercer.tables.encoder import EncoderSettings
from mercer.tables.texts import Parts
from mercer.tables.values import NumberStyle
from mercer.tuning.committee import Committee, Member

MODELS = by_name(
    *(each for each in vars(catalogue).values() if isinstance(each, type) and hasattr(each, "predict")),
    FeatureRegressor, FeatureClassifier, TableModel, TableEncoder,
)  # fmt: skip


# Values that are their fields, and what stands for values that are more than that.
PARTS = by_name(
    FittedRidge, SolverChoice, Route, Temperature, Committee, Member, Winner, EncoderSettings, Column, Scale, Parts,
    Writing, NumberStyle, StoredTable, StoredRoute, StoredPlan, StoredFolds, StoredCells,
    *LOSSES.values(), Logistic, Softmax, FeatureRegressor, FeatureClassifier, TableModel,
)  # fmt: skip
STAND_INS: dict[type, Callable[[Any], object]] = {Folds: StoredFolds.of, LocalFit: StoredCells.of}
ESTIMATORS = {name: cls for name, cls in MODELS.items() if name not in PARTS}

# Transformers whose attributes are numbers, strings, arrays, and collections of these or of one another. A
# FunctionTransformer belongs to a ColumnTransformer that passes columns through; one with functions is refused.
TRANSFORMERS = by_name(
    StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, Normalizer, Binarizer, PowerTransformer,
    QuantileTransformer, PolynomialFeatures, FunctionTransformer, OneHotEncoder, OrdinalEncoder, TargetEncoder,
    SimpleImputer, MissingIndicator, PCA, TruncatedSVD, VarianceThreshold, ColumnTransformer, FeatureUnion,
)  # fmt: skip
_SCALARS = by_name(np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, int, float)

# Attributes that follow from the others, and what `publish` or a new fit makes: of all, and of subclasses of a class.
_DERIVED = {"cv_results_", "tuned_"}
_DERIVED_OF: dict[type, set[str]] = {
    RidgeCore: {"kernel_", "X_fit_", "route_", "_as_fitted", "dual_coef_", "intercept_"},
    LocalCore: {"kernel_", "partition_", "condition_", "residuals_"},
    NystroemCore: {"plan_", "_search", "_state", "_known", "dual_coef_", "intercept_"},
    NystroemSearchCore: {
        "plan_", "table_", "folds_", "choice_", "landmark_check_", "nested_", "nested_scores_", "optimism_",
    },
}  # fmt: skip


def state_of(model: Estimator) -> dict[str, object]:
    """The attributes of a fitted estimator that are stored."""
    left_out = {*_derived(type(model)), *model.get_params(deep=False)}
    state = {name: value for name, value in vars(model).items() if name not in left_out}
    if "table_" in state:
        state["table_"] = StoredTable(model.table_.text(model.choice_, model.folds_))
    if "plan_" in state:
        state["plan_"] = StoredPlan(StoredRoute(model.plan_.chosen.name))
    return state


def params_of(model: Estimator) -> dict[str, object]:
    """The parameters of an estimator, as they were at fit."""
    given: dict[str, object] = model.get_params(deep=False)
    return given | {name: value for name, value in vars(model).get("_as_fitted", {}).items() if name in given}


def _derived(cls: type) -> set[str]:
    """Attributes of an estimator that follow from the others."""
    return _DERIVED.union(*(names for base, names in _DERIVED_OF.items() if issubclass(cls, base)))


def build(name: str, params: dict[str, Any], state: dict[str, Any]) -> Estimator:
    """An estimator from its parameters and stored attributes."""
    cls = ESTIMATORS[name]
    model: Estimator = cls(**params)
    validate(model)
    alpha = np.asarray(params.get("alpha", 1.0))
    sound = alpha.dtype.kind not in "iuf" or bool((np.isfinite(alpha) & (alpha >= 0)).all())
    need(sound, "alpha must be finite, not negative")
    width = state.get("n_features_in_", 0)
    names = state.get("feature_names_in_", np.empty(width, dtype=object))
    sound = isinstance(names, np.ndarray) and names.shape == (width,) and names.dtype == object
    need(sound, "feature_names_in_ must have one name for each column")
    for attribute, value in state.items():
        reserved = attribute.startswith("__") or callable(getattr(cls, attribute, None)) or attribute in params
        sound = attribute.isidentifier() and not reserved and attribute not in _derived(cls)
        need(sound, f"the attributes of its {name} are invalid")
        setattr(model, attribute, value)
    if isinstance(model, LocalCore):
        model.publish(model.fitted_, model._order)
    elif isinstance(model, RidgeCore | NystroemCore):
        model.publish()
    return model


def make_part(name: str, values: dict[str, Any]) -> object:
    """A value from its fields, each of the type that it is declared with, and arrays of finite numbers."""
    cls = PARTS[name]
    hints = _hints(cls)
    for field, value in values.items():
        sound = field in hints and _matches(value, hints[field])
        need(sound, f"{str(field)[:40]} of a {name} must not be {str(value)[:40]!r}")
        floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        need(not floats or np.isfinite(value).all(), f"{field} of a {name} must be finite")
    part = cls(**values)
    if isinstance(part, FittedRidge):
        _check_ridge(part)
    return part.restore() if hasattr(part, "restore") else part


def _check_ridge(part: FittedRidge) -> None:
    """Raise a ModelFileError unless the arrays of a ridge have the sizes that belong to its rows and targets."""
    part.kernel.check(part.rows())
    (n, *_), t = part.X.shape, len(part.alphas)
    sizes = {"targets": (n, t), "dual": (n, t), "constant": (t,), "alphas": (t,), "weights": (n,)}
    for name, size in sizes.items():
        array = getattr(part, name)
        sound = (array is None and name == "weights") or (array.shape == size and array.dtype == np.float64)
        need(sound, f"{name} of a FittedRidge must be of shape {size}")
    need(part.kernel.kind != "gram" or part.X.shape == (n, n), "the kernel matrix must be square")
    need((part.choice.name == "primal") == (part.primal is not None), "primal of a FittedRidge must match its solver")
    values = part.X.data if hasattr(part.X, "tocsr") else part.X
    finite = values.dtype == np.float64 and np.isfinite(values).all()
    need(values.dtype == object or finite, "X of a FittedRidge must be finite numbers")


def fields_of(part: Any) -> dict[str, object]:
    """The fields of a value that do not have their default."""
    held = ((field.name, getattr(part, field.name), field.default) for field in fields(part))
    return {name: value for name, value, default in held if type(value) is not type(default) or value != default}


@lru_cache
def _hints(cls: type) -> dict[str, object]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _matches(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; collections are looked at, too."""
    origin, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_matches(value, each) for each in inner)
    if origin is typing.Literal:
        return value in inner
    if origin is float:
        return type(value) in (float, int)
    if origin is np.ndarray or not inner:
        return isinstance(value, origin) and (origin is bool or type(value) is not bool)
    if origin is dict or origin is Mapping:
        return type(value) is dict
    if not isinstance(value, origin if origin is not Sequence else (list, tuple)):
        return False
    if origin is tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(_matches, value, inner))
    return all(_matches(each, inner[0]) for each in value)


def attributes(transformer: Estimator) -> dict[str, object]:
    """All that a transformer holds; functions that chose columns are replaced by the columns."""
    held = dict(vars(transformer))
    if isinstance(transformer, ColumnTransformer) and "transformers_" in held:
        chosen = {name: columns for name, _, columns in transformer.transformers_}
        held["transformers"] = [(name, step, chosen.get(name, given)) for name, step, given in transformer.transformers]
    return held


def plain_value(value: object) -> dict[str, Json] | None:
    """Values that only transformers hold, as JSON has them: slices, types of numbers; None for others."""
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        return {"is": "slice", "of": [None if end is None else int(end) for end in ends]}
    if isinstance(value, np.dtype) and value.kind in "biufUO":
        return {"is": "dtype", "of": value.str}
    if isinstance(value, type) and _SCALARS.get(value.__name__) is value:
        return {"is": "type", "of": value.__name__}
    return None


def read_plain(given: dict[str, Json]) -> slice | np.dtype[Any] | type:
    """The value that `plain_value` wrote."""
    if given["is"] == "slice" and all(end is None or type(end) is int for end in given["of"]):
        return slice(*given["of"])
    return np.dtype(given["of"]) if given["is"] == "dtype" else _SCALARS[given["of"]]


def read_transformer(name: str, held: dict[str, object]) -> Estimator:
    """A transformer with these attributes."""
    cls = TRANSFORMERS.get(name)
    if cls is None or not all(type(key) is str and key.isidentifier() for key in held):
        raise ModelFileError(f"it contains a transformer {str(name)[:40]!r}, which is unknown.")
    transformer: Any = object.__new__(cls)
    vars(transformer).update(held)
    return transformer


def check_steps(pipeline: Pipeline) -> None:
    """Raise an error unless all transformers of a Pipeline are fitted and can be saved."""
    for _, step in pipeline.steps[:-1]:
        try:
            if hasattr(step, "fit"):  # neither None nor "passthrough"
                check_is_fitted(step)
        except NotFittedError:
            raise InputError("This Pipeline is not fitted yet. Call fit before save.") from None
        _check_kind(step)


def _check_kind(step: Estimator) -> None:
    """Raise an error unless a fitted transformer, and those inside of it, can be saved."""
    if step is None or isinstance(step, str | TableEncoder):  # "passthrough" and "drop" are strings
        return
    for attribute in ("steps", "transformers_", "transformer_list"):  # Pipeline, ColumnTransformer, FeatureUnion
        for _, inner, *_ in getattr(step, attribute, ()):
            _check_kind(inner)
    function = isinstance(step, FunctionTransformer) and (step.func or step.inverse_func)
    if function or not (isinstance(step, Pipeline) or TRANSFORMERS.get(type(step).__name__) is type(step)):
        known = ", ".join(["TableEncoder", *(name for name in TRANSFORMERS if name != "FunctionTransformer")])
        words = f"{type(step).__name__} of the Pipeline cannot be saved: model files contain no code."
        way_out = "or transform the rows yourself and save a model of the transformed rows."
        raise InputError(f"{words} Use one of {known}; {way_out}")


def check_works(model: Estimator) -> None:
    """Predict a row or two: raises an error if the parts of a model do not fit one another."""
    if isinstance(model, Pipeline):
        check_works(model.steps[-1][1])
    elif isinstance(model, TableModel):
        check_works(model.model)
    elif hasattr(model, "models_"):
        for member in model.models_:
            check_works(member)
    elif hasattr(model, "best_estimator_"):
        check_works(model.best_estimator_)
    elif hasattr(model, "encoder_"):  # whose landmarks are encoded rows
        shape = len(model.landmarks_), len(model.encoder_.names_out_)
        need(model.landmarks_.shape == shape and len(model._dual) == shape[0], "its landmarks are inconsistent")
    elif not isinstance(model, TableEncoder):
        rows: XLike = np.zeros((2, getattr(model, "columns", 1)))
        rows = getattr(model, "landmarks_", getattr(model, "X_fit_", rows))
        found = model.predict(rows[:2])
        finite = found.dtype.kind != "f" or bool(np.isfinite(found).all())
        need(len(found) == min(2, rows.shape[0]) and finite, "it does not predict its own rows")
