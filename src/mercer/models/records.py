"""A fitted model as a record of text and arrays, and back."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.data.rows import Array
from mercer.errors import InputError, ModelFileError, sentence
from mercer.estimators.local import LocalCore
from mercer.estimators.table_model import FeatureRegressor, TableModel
from mercer.models.checks import RENAMED, attribute, check_params, need
from mercer.models.fitted import CLASSES, KEPT, MAY, YOUNGER, finish, is_usual
from mercer.models.parts import KeptPlan, KeptRoute, KeptTable, PartReader, PartWriter, is_text, is_whole
from mercer.models.transformers import (
    TRANSFORMERS,
    attributes,
    check_steps,
    plain_value,
    read_plain,
    read_transformer,
)
from mercer.models.values import names_in
from mercer.runtime.container import Entry, dumps, laid_out, loads
from mercer.tables import TableEncoder

_PACKAGES = ("mercer", "numpy", "scikit-learn", "scipy")
_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
_OLDER_NAMES = {"facts": "summary", "time_budget": "budget"}  # of parameters, in files
_WORDS = 200  # letters of a kernel in an account
# What can go wrong while something is built from parts that do not fit one another.
MISFITS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError)


@dataclass(frozen=True)
class FileStamp:
    """When a model was written, and with which versions of what."""

    when: str
    versions: dict[str, str]

    @classmethod
    def now(cls) -> FileStamp:
        """Here and now."""
        when = datetime.now(UTC).replace(microsecond=0).isoformat()
        return cls(when, {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES})

    @classmethod
    def read(cls, record: dict[str, Any]) -> FileStamp:
        """From a record."""
        when, versions = record["when"], record["versions"]
        if not is_text(when) or not _WHEN.fullmatch(when) or not isinstance(versions, dict):
            raise ModelFileError("its date is missing or invalid.")
        named = [*versions, *versions.values()]
        if not all(is_text(each) and len(each) < 100 and each.isprintable() for each in named):
            raise ModelFileError("its list of versions is invalid.")
        return cls(when, versions)


class ModelWriter(PartWriter):
    """Writes values and models, which may hold models."""

    def special(self, value: Any, what: str) -> Any:
        """A fitted model of a class in the table, a transformer, or a Pipeline of transformers and a model."""
        name = type(value).__name__
        if type(value) is Pipeline:
            return {"is": "pipeline", "steps": [[step, self.value(each, what)] for step, each in value.steps]}
        if TRANSFORMERS.get(name) is type(value):
            held = {n: self.value(v, f"{n} of {name}") for n, v in sorted(attributes(value).items())}
            return {"is": "transformer", "class": name, "with": held}
        plain = plain_value(value)
        if plain is not None:
            return plain
        return self._model(value, name) if CLASSES.get(name) is type(value) else super().special(value, what)

    def _model(self, value: Any, name: str) -> dict[str, Any]:
        kept = {each: attribute(value, each) for each in KEPT[name]}
        held = vars(value)
        there = [each for each in MAY if RENAMED.get(each, each) in held]
        kept |= {each: attribute(value, each) for each in there if not is_usual(each, attribute(value, each))}
        if "table_" in kept:
            kept["plan_"] = KeptPlan(KeptRoute(value.plan_.chosen.name))
            kept["table_"] = KeptTable(value.table_.text(value.choice_, value.folds_))
        return {
            "is": "model",
            "class": name,
            "params": {n: self.value(v, f"{n} of {name}") for n, v in _named(value, name).items()},
            "fitted": {n: self.value(v, f"{n} of {name}") for n, v in kept.items()},
        }


def _named(model: Any, name: str) -> dict[str, Any]:
    """The parameters that a file names, as they were at fit: all but young ones that are None or False, as they always
    were before they existed.
    """
    given = model.get_params(deep=False)
    given |= {name: value for name, value in vars(model).get("_as_fitted", {}).items() if name in given}
    kept = {n: v for n, v in given.items() if not (v is None or v is False) or n not in YOUNGER.get(name, ())}
    return {_OLDER_NAMES.get(n, n) if _has_older_names(name) else n: v for n, v in kept.items()}


def _has_older_names(name: str) -> bool:
    """Whether files know a parameter of this class by an older name."""
    return name == "TableModel" or name.startswith("Nystroem")


class ModelReader(PartReader):
    """Reads values and models, each validated before it is returned."""

    def special(self, given: dict[str, Any]) -> Any:
        """A model of a class in the table, with the attributes it must have and no others."""
        if given["is"] == "pipeline":
            return _pipeline([(step, self.value(each)) for step, each in given["steps"]])
        if given["is"] == "transformer":
            return read_transformer(given["class"], {key: self.value(value) for key, value in given["with"].items()})
        if given["is"] in ("slice", "dtype", "type"):
            return read_plain(given)
        if given["is"] != "model":
            return super().special(given)
        name = given["class"]
        if name not in CLASSES:
            raise ModelFileError(f"it contains a model of the class {str(name)[:40]!r}, which is unknown.")
        newer = {old: new for new, old in _OLDER_NAMES.items()} if _has_older_names(name) else {}
        params = {newer.get(key, key): self.value(value) for key, value in given["params"].items()}
        check_params(params)
        model = CLASSES[name](**params)
        fitted = given["fitted"]
        if not set(KEPT[name]) <= set(fitted) <= {*KEPT[name], *MAY}:
            raise ModelFileError(f"the attributes of its {name} are invalid.")
        for key in fitted:
            setattr(model, RENAMED.get(key, key), self.value(fitted[key]))
        finish(model)
        return model


def _pipeline(steps: list[tuple[str, Any]]) -> Pipeline:
    """A Pipeline, after validation of its steps."""
    names = [name for name, _ in steps]
    need(len(steps) > 0 and all(is_text(name) and "__" not in name for name in names), "steps must have names")
    need(len(set(names)) == len(names), "the steps of a pipeline must have distinct names")
    kinds = (TableEncoder, Pipeline, str, type(None), *TRANSFORMERS.values())
    need(all(isinstance(step, kinds) for _, step in steps[:-1]), "the first steps must be transformers")
    last = steps[-1][1]
    if isinstance(steps[0][1], TableEncoder) and len(steps) == 2:
        need(hasattr(steps[0][1], "columns_"), "the first step must be an encoder")
        columns = getattr(last, "n_features_in_", None)
        need(columns == len(steps[0][1].names_out_), "encoder and model of the pipeline are inconsistent")
    return Pipeline(steps)


def written(model: Any, stamp: FileStamp, known: dict[int, str] | None = None) -> tuple[str, dict[str, Array]]:
    """The record of a model as text, and the arrays it names."""
    writer = ModelWriter(known)
    record = {"account": account(model), "model": writer.value(model, "The model")}
    return dumps(record | {"when": stamp.when, "versions": stamp.versions}), writer.arrays


def layout(text: str, arrays: dict[str, Array]) -> tuple[Entry, ...]:
    """The arrays in the order in which the record speaks of them."""
    return laid_out(names_in(loads(text, "its record")), arrays)


def restored(text: str, entries: tuple[Entry, ...], arrays: dict[str, Array]) -> Any:
    """The model that a record speaks of; written again it would be the same record."""
    record = loads(text, "its record")
    try:
        stamp = FileStamp.read(record)
        reader = ModelReader(arrays)
        model = reader.value(record["model"])
        last = model.steps[-1][1] if isinstance(model, Pipeline) else model
        need(type(last) in CLASSES.values(), "it does not contain a model")
        need(not isinstance(model, Pipeline) or type(last) is not TableModel, "the last step must be a model")
        in_order = laid_out(names_in(record), arrays) == entries
        need(in_order, "it contains unused arrays, or arrays in the wrong order")
        same = written(model, stamp, reader.known)[0] == text
    except ModelFileError:
        raise
    except MISFITS as problem:
        reason = f" ({problem})" if isinstance(problem, InputError) else ""
        raise ModelFileError(f"its parts are inconsistent{reason}.") from None
    if not same:
        raise ModelFileError("its content is not in the form that mercer writes; the file may have been edited.")
    return model


def account(model: Any) -> dict[str, Any]:
    """What a model is, in a few words."""
    name = type(model).__name__
    if isinstance(model, TableModel):
        return account(model.model) | {"class": name, "columns": len(model.columns)}
    if isinstance(model, Pipeline):
        first = model.steps[0][1]
        columns = len(first.columns_) if isinstance(first, TableEncoder) else getattr(first, "n_features_in_", None)
        return account(model.steps[-1][1]) | {"class": name, "columns": columns}
    columns = getattr(model, "n_features_in_", None)
    if isinstance(model, FeatureRegressor):
        words, rows, alphas = repr(model.kernel), 0, []
    elif hasattr(model, "committee_"):
        members = [f"{each.weight:.2f} {type(each.kernel).__name__}" for each in model.members_]
        alphas = [each.alpha for each in model.members_]
        words, rows = " + ".join(members), int(model.models_[0].X_fit_.shape[0])
    else:
        inner = getattr(model, "best_estimator_", model)
        words = repr(inner.kernel_)
        rows = inner.n_rows_ if hasattr(inner, "landmarks_") else int(inner.X_fit_.shape[0])
        alphas = [inner.fitted_.alpha] if isinstance(inner, LocalCore) else []
        if not alphas and not hasattr(inner, "n_neighbors"):
            alphas = np.unique(attribute(inner, "_alphas")).tolist()
    words = words if len(words) <= _WORDS else words[: _WORDS - 3] + "..."
    alpha = ", ".join(f"{each:.4g}" for each in alphas[:5]) + (", ..." if len(alphas) > 5 else "")
    return {"class": name, "kernel": words, "alpha": alpha, "rows": rows, "columns": columns}


def check_account(record: dict[str, Any]) -> dict[str, Any]:
    """The account in a record whose model has not been read."""
    found = record["account"]
    texts = all(is_text(found[name]) for name in ("class", "kernel", "alpha"))
    if not texts or not is_whole(found["rows"]) or not (found["columns"] is None or is_whole(found["columns"])):
        raise ModelFileError("its summary is invalid.")
    if (
        found["class"] not in {*CLASSES, "Pipeline"}
        or len(found) != 5
        or not (found["kernel"] + found["alpha"]).isprintable()
    ):
        raise ModelFileError("its summary is invalid.")
    return dict(found)


def check_model(model: Any) -> None:
    """Raise an error unless this is a fitted model of a class that can be saved."""
    name = type(model).__name__
    if type(model) is Pipeline:
        _check_pipeline(model)
        return
    if CLASSES.get(name) is not type(model):
        raise InputError(sentence("A model to save", f"one of {', '.join(CLASSES)}", name))
    if isinstance(model, TableModel):
        check_model(model.model)
    if getattr(model, "extra", None):
        raise InputError(f"This {name} cannot be saved: files hold no estimators of `extra`. Fit it without extra.")
    try:
        for each in KEPT[name]:
            attribute(model, each)
    except AttributeError:
        raise InputError(f"This {name} is not fitted yet. Call fit before save.") from None


def _check_pipeline(model: Pipeline) -> None:
    last = model.steps[-1][1]
    if CLASSES.get(type(last).__name__) is not type(last) or isinstance(last, TableModel):
        raise InputError(sentence("The last step of a Pipeline to save", "a model of mercer", type(last).__name__))
    check_steps(model)
    check_model(last)
