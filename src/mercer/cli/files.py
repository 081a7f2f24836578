"""Model files of the command line: `mercer.save` and `mercer.load`, which are told of models with their table."""

from __future__ import annotations

from typing import Any

from mercer import models
from mercer.estimators.table_model import TableModel
from mercer.models import ModelFile, fitted


def _is_sound(model: TableModel) -> None:
    """Nothing more to look at: it checked itself when it was made."""


def _introduce() -> None:
    """Put TableModel, which checks itself when it is made, into the table of classes that files may hold."""
    fitted.CLASSES.setdefault("TableModel", TableModel)
    fitted.KEPT.setdefault("TableModel", ())
    fitted._FINISH.setdefault("TableModel", _is_sound)


def save(model: TableModel, path: str) -> None:
    """Write a model and its table."""
    _introduce()
    models.save(model, path)


def load(path: str) -> Any:
    """Read whatever model a file holds."""
    _introduce()
    return models.load(path)


def inspect(path: str) -> ModelFile:
    """What a file holds."""
    _introduce()
    return models.inspect(path)
