"""Fitted transformers of scikit-learn as the values of their attributes: those of a table of classes, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import decomposition, feature_selection, impute, preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.errors import InputError, ModelFileError
from mercer.tables import TableEncoder

# Their attributes are numbers, strings, arrays, and collections of these or of one another.
TRANSFORMERS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        preprocessing.StandardScaler,
        preprocessing.MinMaxScaler,
        preprocessing.MaxAbsScaler,
        preprocessing.RobustScaler,
        preprocessing.Normalizer,
        preprocessing.Binarizer,
        preprocessing.PowerTransformer,
        preprocessing.QuantileTransformer,
        preprocessing.PolynomialFeatures,
        preprocessing.FunctionTransformer,  # of a ColumnTransformer that passes columns through; functions are refused
        preprocessing.OneHotEncoder,
        preprocessing.OrdinalEncoder,
        preprocessing.TargetEncoder,
        impute.SimpleImputer,
        impute.MissingIndicator,
        decomposition.PCA,
        decomposition.TruncatedSVD,
        feature_selection.VarianceThreshold,
        ColumnTransformer,
        FeatureUnion,
    )
}
_SCALARS: dict[str, type] = {
    cls.__name__: cls for cls in (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, int, float)
}


def attributes(transformer: Any) -> dict[str, Any]:
    """All that a transformer holds; functions that chose columns are replaced by the columns."""
    held = dict(vars(transformer))
    if isinstance(transformer, ColumnTransformer) and "transformers_" in held:
        chosen = {name: columns for name, _, columns in transformer.transformers_}
        held["transformers"] = [(name, step, chosen.get(name, given)) for name, step, given in transformer.transformers]
    return held


def plain_value(value: Any) -> dict[str, Any] | None:
    """Values that only transformers hold, as JSON has them: slices, types of numbers; None for others."""
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        return {"is": "slice", "of": [None if end is None else int(end) for end in ends]}
    if isinstance(value, np.dtype) and value.kind in "biufUO":
        return {"is": "dtype", "of": value.str}
    if isinstance(value, type) and _SCALARS.get(value.__name__) is value:
        return {"is": "type", "of": value.__name__}
    return None


def read_plain(given: dict[str, Any]) -> Any:
    """The value that `plain_value` wrote."""
    if given["is"] == "slice" and all(end is None or type(end) is int for end in given["of"]):
        return slice(*given["of"])
    return np.dtype(given["of"]) if given["is"] == "dtype" else _SCALARS[given["of"]]


def read_transformer(name: str, held: dict[str, Any]) -> Any:
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


def _check_kind(step: Any) -> None:
    """Raise an error unless a fitted transformer, and those inside of it, can be saved."""
    if step is None or isinstance(step, str | TableEncoder):  # "passthrough" and "drop" are strings
        return
    for attribute in ("steps", "transformers_", "transformer_list"):  # Pipeline, ColumnTransformer, FeatureUnion
        for _, inner, *_ in getattr(step, attribute, ()):
            _check_kind(inner)
    function = isinstance(step, preprocessing.FunctionTransformer) and (step.func or step.inverse_func)
    if function or not (isinstance(step, Pipeline) or TRANSFORMERS.get(type(step).__name__) is type(step)):
        known = ", ".join(["TableEncoder", *(name for name in TRANSFORMERS if name != "FunctionTransformer")])
        raise InputError(
            f"{type(step).__name__} of the Pipeline cannot be saved: model files contain no code. Use one of {known}; "
            "or transform the rows yourself and save a model of the transformed rows."
        )
