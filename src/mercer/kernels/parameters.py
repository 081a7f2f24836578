"""Checks of kernel parameters, each with its sentence. Values are stored as given and read through these."""

from __future__ import annotations

import math
import numbers
from typing import Any, TypeAlias

import numpy as np

from mercer.data.checks import as_numbers
from mercer.data.rows import Array
from mercer.errors import InputError, sentence

Width: TypeAlias = Any  # one number, or one per column as a sequence or array

# Beyond these the square of a width leaves the range of floating point numbers.
_SMALLEST, _LARGEST = 1e-150, 1e150


def positive_width(owner: object, value: Width, name: str = "width") -> None:
    """One positive number, or a non-empty sequence of them, of a size whose square exists."""
    try:
        array = as_numbers(value)
    except (TypeError, ValueError, OverflowError):
        array = None
    positive = array is not None and array.ndim <= 1 and array.size > 0 and bool(((array > 0) & (array < np.inf)).all())
    if array is None or not positive or not ((array >= _SMALLEST) & (array <= _LARGEST)).all():
        must_be = "a number between 1e-150 and 1e150" if positive else "a positive number"
        must_be += ", or a list of such numbers (one per column)"
        raise InputError(sentence(f"{name} of {type(owner).__name__}", must_be, repr(value)))


def positive_number(owner: object, name: str, value: Any) -> None:
    """One positive number of a size whose square exists."""
    if not is_real(value) or not _SMALLEST <= value <= _LARGEST:
        positive = is_real(value) and value > 0
        must_be = "a number between 1e-150 and 1e150" if positive else "a finite number above 0"
        raise InputError(sentence(f"{name} of {type(owner).__name__}", must_be, repr(value)))


def is_real(value: Any) -> bool:
    """Whether something is one finite real number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def real_number(owner: object, name: str, value: Any, *, least: float = -math.inf) -> None:
    """A finite number, at least a bound."""
    if not is_real(value) or value < least:
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise InputError(sentence(f"{name} of {type(owner).__name__}", f"a finite number{bound}", _brief(value)))


def truth_value(owner: object, name: str, value: Any) -> None:
    """True or False, and nothing that merely counts as one."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(sentence(f"{name} of {type(owner).__name__}", "True or False", repr(value)))


def whole_number(owner: object, name: str, value: Any, *, least: int = 1) -> None:
    """A whole number of at least `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise InputError(sentence(f"{name} of {type(owner).__name__}", f"an integer of at least {least}", repr(value)))


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def vectorized(owner: object, name: str, value: Any) -> None:
    """Something that can be called."""
    if not callable(value):
        raise InputError(sentence(f"{name} of {type(owner).__name__}", "a function", repr(value)))


def inverse_width(value: Width) -> float | Array:
    """1 / width, ready to multiply columns."""
    array = as_numbers(value)
    if array is None:
        raise InputError(sentence("A width", "a number", repr(value)))
    return 1.0 / float(array) if array.ndim == 0 else np.asarray(1.0 / array)


def fits_columns(owner: object, value: Width, columns: int, name: str = "width") -> None:
    """A width per column needs as many widths as there are columns."""
    array = np.asarray(value)
    if array.ndim == 1 and len(array) != columns:
        raise InputError(
            sentence(
                f"{name} of {type(owner).__name__}",
                "one number" if columns == 1 else f"one number, or {columns} numbers (one per column of X)",
                f"{len(array)} numbers",
                "Choose columns with .on(...)."
                if columns == 1
                else f"Use {columns} numbers, or choose columns with .on(...).",
            )
        )
