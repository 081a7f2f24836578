"""A fitted model as a record of text and arrays, and back."""

from __future__ import annotations

import platform
import re
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.data.rows import Array, Estimator
from mercer.errors import InputError, ModelFileError, refuse, refuse_if
from mercer.estimators.local import LocalCore
from mercer.estimators.table_model import FeatureRegressor, TableModel
from mercer.models.schema import (
    ESTIMATORS,
    MODELS,
    PARTS,
    STAND_INS,
    TRANSFORMERS,
    attributes,
    build,
    check_steps,
    check_works,
    fields_of,
    make_part,
    params_of,
    plain_value,
    read_plain,
    read_transformer,
    state_of,
)
from mercer.models.values import Json, Reader, Writer, names_in
from mercer.runtime.container import dumps, loads, need
from mercer.tables import TableEncoder

_PACKAGES = ("mercer", "numpy", "scikit-learn", "scipy")
_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
_WORDS = 200  # letters of a kernel in an account
# What can go wrong while something is built from parts that do not fit one another.
MISFITS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError)


def stamp_now() -> dict[str, Json]:
    """When a model is written, which is now, and with which versions of what."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
    return {"when": datetime.now(UTC).replace(microsecond=0).isoformat(), "versions": versions}


def read_stamp(record: dict[str, Json]) -> dict[str, Json]:
    """When a model was written, and with which versions of what, from its record."""
    when, versions = record["when"], record["versions"]
    dated = type(when) is str and _WHEN.fullmatch(when) and isinstance(versions, dict)
    need(dated, "its date is missing or invalid")
    named = [*versions, *versions.values()]
    sound = all(type(each) is str and len(each) < 100 and each.isprintable() for each in named)
    need(sound, "its list of versions is invalid")
    return {"when": when, "versions": versions}


class ModelWriter(Writer):
    """Writes values, and what models are made of."""

    def special(self, value: Any, what: str) -> Json:
        """A value by its fields, an estimator, a transformer, or a Pipeline."""
        if type(value) in STAND_INS:
            value = STAND_INS[type(value)](value)
        cls, name = type(value), type(value).__name__
        if PARTS.get(name) is cls:
            owner = what.rsplit(" of ", maxsplit=1)[-1]
            return {"is": "part", "class": name, "with": self._named(fields_of(value), owner)}
        if ESTIMATORS.get(name) is cls:
            params, fitted = self._named(params_of(value), name), self._named(state_of(value), name)
            return {"is": "model", "class": name, "params": params, "fitted": fitted}
        if cls is Pipeline:
            return {"is": "pipeline", "steps": [[step, self.value(each, what)] for step, each in value.steps]}
        if TRANSFORMERS.get(name) is cls:
            return {"is": "transformer", "class": name, "with": self._named(attributes(value), name)}
        plain = plain_value(value)
        return super().special(value, what) if plain is None else plain

    def _named(self, values: dict[str, object], owner: str) -> dict[str, Json]:
        return {name: self.value(value, f"{name} of {owner}") for name, value in sorted(values.items())}


class ModelReader(Reader):
    """Reads values and models, each validated before it is returned."""

    def special(self, given: dict[str, Json]) -> Any:
        """A value of a class in the tables, with the fields or attributes that it has and no others."""
        word = given["is"]
        if word == "part":
            return make_part(given["class"], self._named(given["with"]))
        if word == "model":
            name = given["class"]
            need(name in ESTIMATORS, f"it contains a model of the class {str(name)[:40]!r}, which is unknown")
            return build(name, self._named(given["params"]), self._named(given["fitted"]))
        if word == "pipeline":
            return _pipeline([(step, self.value(each)) for step, each in given["steps"]])
        if word == "transformer":
            return read_transformer(given["class"], self._named(given["with"]))
        return read_plain(given) if word in ("slice", "dtype", "type") else super().special(given)

    def _named(self, given: dict[str, Json]) -> dict[str, Any]:
        return {name: self.value(value) for name, value in given.items()}


def _pipeline(steps: list[tuple[str, Estimator]]) -> Pipeline:
    """A Pipeline, after validation of its steps."""
    names = [name for name, _ in steps]
    kinds = (TableEncoder, Pipeline, str, type(None), *TRANSFORMERS.values())
    sound = len(set(names)) == len(names) > 0 and all(type(name) is str and "__" not in name for name in names)
    need(sound and all(isinstance(step, kinds) for _, step in steps[:-1]), "the steps of its pipeline are invalid")
    if isinstance(steps[0][1], TableEncoder) and len(steps) == 2:
        columns = getattr(steps[-1][1], "n_features_in_", None)
        need(columns == len(steps[0][1].names_out_), "encoder and model of the pipeline are inconsistent")
    return Pipeline(steps)


def written(model: Estimator, stamp: dict[str, Json]) -> tuple[str, dict[str, Array]]:
    """The record of a model as text, and the arrays it names."""
    writer = ModelWriter()
    record = {"account": account(model), "model": writer.value(model, "The model")}
    return dumps(record | stamp), writer.arrays


def restored(text: str, arrays: dict[str, Array]) -> Estimator:
    """The model that a record speaks of; written again it would be the same record."""
    record = loads(text, "its record")
    try:
        stamp = read_stamp(record)
        model = ModelReader(arrays).value(record["model"])
        last = model.steps[-1][1] if isinstance(model, Pipeline) else model
        nested = isinstance(model, Pipeline) and type(last) is TableModel
        need(type(last) in MODELS.values() and not nested, "it does not contain a model")
        need(names_in(record["model"]) == set(arrays), "it contains unused arrays")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            check_works(model)
        same = written(model, stamp)[0] == text
    except ModelFileError:
        raise
    except MISFITS as problem:
        reason = f" ({problem})" if isinstance(problem, InputError) else ""
        raise ModelFileError(f"its parts are inconsistent{reason}.") from None
    need(same, "its content is not in the form that mercer writes; the file may have been edited")
    return model


def account(model: Estimator) -> dict[str, Json]:
    """What a model is, in a few words."""
    name = type(model).__name__
    if isinstance(model, TableModel):
        return account(model.model) | {"class": name, "columns": len(model.columns)}
    if isinstance(model, Pipeline):
        first = model.steps[0][1]
        columns = len(first.columns_) if isinstance(first, TableEncoder) else getattr(first, "n_features_in_", None)
        return account(model.steps[-1][1]) | {"class": name, "columns": columns}
    columns, alphas = getattr(model, "n_features_in_", None), list[float]()
    if isinstance(model, TableEncoder):
        words, rows = f"{len(model.names_out_)} features", 0
    elif isinstance(model, FeatureRegressor):
        words, rows = repr(model.kernel), 0
    elif hasattr(model, "committee_"):
        members = [f"{each.weight:.2f} {type(each.kernel).__name__}" for each in model.members_]
        alphas = [each.alpha for each in model.members_]
        words, rows = " + ".join(members), int(model.models_[0].X_fit_.shape[0])
    else:
        inner: Estimator = getattr(model, "best_estimator_", model)
        words = repr(inner.kernel_)
        rows = inner.n_rows_ if hasattr(inner, "landmarks_") else int(inner.X_fit_.shape[0])
        alphas = _alphas(inner)
    words = words if len(words) <= _WORDS else words[: _WORDS - 3] + "..."
    alpha = ", ".join(f"{each:.4g}" for each in alphas[:5]) + (", ..." if len(alphas) > 5 else "")
    return {"class": name, "kernel": words, "alpha": alpha, "rows": rows, "columns": columns}


def _alphas(model: Estimator) -> list[float]:
    """The alphas that a model was fitted with; none of neighbours."""
    if isinstance(model, LocalCore):
        return [model.fitted_.alpha]
    if hasattr(model, "n_neighbors"):
        return []
    alphas = model.fitted_.alphas if hasattr(model, "fitted_") else getattr(model, "_alphas", model.alpha)
    return list(np.unique(alphas).tolist())


def check_account(record: dict[str, Json]) -> dict[str, Json]:
    """The account in a record whose model has not been read."""
    found: dict[str, Json] = record["account"]
    texts = [found[name] for name in ("class", "kernel", "alpha")]
    counts = [found["rows"], 0 if found["columns"] is None else found["columns"]]
    sound = all(type(text) is str and text.isprintable() for text in texts)
    sound = sound and all(type(count) is int and count >= 0 for count in counts)
    need(sound and len(found) == 5 and found["class"] in {*MODELS, "Pipeline"}, "its summary is invalid")
    return found


def check_model(model: Estimator) -> None:
    """Raise an error unless this is a fitted model of a class that can be saved."""
    name = type(model).__name__
    if type(model) is Pipeline:
        last = model.steps[-1][1]
        odd = MODELS.get(type(last).__name__) is not type(last) or isinstance(last, TableModel | TableEncoder)
        refuse_if(odd, "The last step of a Pipeline to save", "a model of mercer", type(last).__name__)
        check_steps(model)
        check_model(last)
        return
    refuse_if(MODELS.get(name) is not type(model), "A model to save", f"one of {', '.join(MODELS)}", name)
    if isinstance(model, TableModel):
        check_model(model.model)
    words = f"This {name} cannot be saved: files hold no estimators of `extra`. Fit it without extra."
    refuse(getattr(model, "extra", None), words)
    fitted = name in PARTS or any(attribute.endswith("_") for attribute in vars(model))
    refuse(not fitted, f"This {name} is not fitted yet. Call fit before save.")
