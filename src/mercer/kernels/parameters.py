"""Checks of kernel parameters, each with its sentence. Values are stored as given and read through these."""

from __future__ import annotations

import math
import numbers
from typing import Any, TypeAlias

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence

Width: TypeAlias = Any  # one number, or one per column as a sequence or array

# Beyond these the square of a width leaves the range of floating point numbers.
_SMALLEST, _LARGEST = 1e-150, 1e150


def positive_width(owner: object, value: Width, name: str = "width") -> None:
    """One positive number, or a non-empty sequence of them, of a size whose square exists."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.asarray(np.nan)
    if array.ndim > 1 or array.size == 0 or not ((array >= _SMALLEST) & (array <= _LARGEST)).all():
        raise InputError(
            sentence(f"{name} of {type(owner).__name__}", "a positive number, or one per column", repr(value))
        )


def real_number(owner: object, name: str, value: Any, *, least: float = -math.inf, above: bool = False) -> None:
    """A finite number, at least (or above) a bound."""
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value < least or (above and value == least):
        bound = "" if least == -math.inf else f" {'above' if above else 'of at least'} {least:g}"
        raise InputError(sentence(f"{name} of {type(owner).__name__}", f"a finite number{bound}", repr(value)))


def whole_number(owner: object, name: str, value: Any, *, least: int = 1) -> None:
    """A whole number of at least `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise InputError(
            sentence(f"{name} of {type(owner).__name__}", f"a whole number of at least {least}", repr(value))
        )


def vectorised(owner: object, name: str, value: Any) -> None:
    """Something that can be called."""
    if not callable(value):
        raise InputError(sentence(f"{name} of {type(owner).__name__}", "a function", repr(value)))


def inverse_width(value: Width) -> float | Array:
    """1 / width, ready to multiply columns."""
    array = np.asarray(value, dtype=np.float64)
    return 1.0 / float(array) if array.ndim == 0 else 1.0 / array


def fits_columns(owner: object, value: Width, columns: int, name: str = "width") -> None:
    """A width per column needs as many widths as there are columns."""
    array = np.asarray(value)
    if array.ndim == 1 and len(array) != columns:
        raise InputError(
            sentence(
                f"{name} of {type(owner).__name__}",
                f"one number or {columns}, one per column",
                f"{len(array)} numbers",
                "Choose columns with .on(...), or give one width per column.",
            )
        )
