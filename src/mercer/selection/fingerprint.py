"""Data and settings as one number, by which a checkpoint recognizes its own search."""

from __future__ import annotations

import hashlib
import sys
from types import FunctionType
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.kernels.base import Kernel

_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def fingerprint(*parts: Any) -> str:
    """One number for data and settings; another one if anything in them differs.

    Arrays, numbers, texts and containers of them count by content, kernels by their class and parameters, functions by
    the name under which they can be imported: what a function does is not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection.fingerprint import fingerprint
    >>> fingerprint(np.arange(3), Gaussian(2.0)) == fingerprint(np.arange(3), Gaussian(2.0))
    True
    >>> fingerprint(lambda truth, guess: 0.0)
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: checkpoint= needs functions that can be identified in the next run; <lambda> cannot. ...
    """
    digest = hashlib.sha256()
    for part in parts:
        if hasattr(part, "tocsr"):
            matrix = part.tocsr()
            digest.update(_of([matrix.shape, matrix.data, matrix.indices, matrix.indptr]).encode())
        else:
            digest.update(_of(part).encode())
        digest.update(b"|")
    return digest.hexdigest()


def _of(value: Any) -> str:
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    return hashlib.sha256("\n".join(_parts(value)).encode("utf-8", "surrogatepass")).hexdigest()


def _parts(value: Any) -> list[str]:
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ["array", str(value.dtype), str(value.shape), content]
    if isinstance(value, np.ndarray):
        return ["objects", str(value.shape), *map(_of, value.ravel())]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(_of, value)]
    if isinstance(value, set | frozenset):
        return [type(value).__name__, *sorted(map(_of, value))]
    if isinstance(value, dict):
        return ["dict", *(_of(part) for item in value.items() for part in item)]
    if isinstance(value, Kernel):
        return [_of(type(value)), *(_of(part) for item in value.items() for part in item)]
    if hasattr(value, "_score_func"):  # what scikit-learn's make_scorer makes
        return ["scorer", *(_of(vars(value)[name]) for name in sorted(vars(value)) if name != "_metadata_request")]
    return _named(value)


def _named(value: Any) -> list[str]:
    """A function or class by the name under which it can be imported."""
    module = getattr(value, "__module__", None) or "numpy"  # old ufuncs have none
    name = str(getattr(value, "__qualname__", getattr(value, "__name__", "")))
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value:
        what = value.__name__ if isinstance(value, FunctionType) else f"a {type(value).__name__}"
        raise InputError(
            f"checkpoint= needs functions that can be identified in the next run; {what} cannot. Use a function that "
            "is defined with def at the top level of a module, without functools.partial; or checkpoint=None."
        )
    return [type(value).__name__, module, name]
