"""LAPACK and BLAS without the interpreter lock, on blocks of a larger matrix without a copy.

SciPy exports the addresses of its routines; called through ctypes they release the lock, so that threads
over candidates really run side by side. Matrices are C-contiguous in rows (the last axis has stride one);
LAPACK sees them transposed, so its "lower" triangle is our upper one.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char, c_double, c_int, c_void_p
from functools import cache
from typing import Any

import numpy as np

from mercer.data.rows import Array

_INT, _DOUBLE, _ARRAY = POINTER(c_int), POINTER(c_double), c_void_p
_LOWER = c_char(b"L")


@cache
def _routine(library: str, name: str, *arguments: Any) -> Any:
    """A routine of scipy.linalg.cython_lapack or cython_blas as a C function."""
    from importlib import import_module

    capsule = import_module(f"scipy.linalg.{library}").__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *arguments)(address)


def _at(A: Array) -> int:
    """The address of the first number; the plain way to it, for this is called thousands of times."""
    address: int = A.__array_interface__["data"][0]
    return address


def _leading(A: Array) -> c_int:
    """Distance between rows; the stride of a single row means nothing."""
    return c_int(max(1, A.shape[1] if len(A) == 1 else A.strides[0] // A.itemsize))


def potrf(A: Array) -> bool:
    """Upper Cholesky factor U, A = U'U, over the upper triangle of A; False where A is not positive definite."""
    call = _routine("cython_lapack", "dpotrf", POINTER(c_char), _INT, _ARRAY, _INT, _INT)
    info = c_int(0)
    call(byref(_LOWER), byref(c_int(len(A))), _at(A), byref(_leading(A)), byref(info))
    return info.value == 0


def potri(U: Array) -> None:
    """The upper triangle of A^-1 over that of its factor U."""
    call = _routine("cython_lapack", "dpotri", POINTER(c_char), _INT, _ARRAY, _INT, _INT)
    info = c_int(0)
    call(byref(_LOWER), byref(c_int(len(U))), _at(U), byref(_leading(U)), byref(info))


def potrs(U: Array, B: Array) -> None:
    """A^-1 b over each row b of B (right-hand sides are rows here, as LAPACK sees the transpose)."""
    call = _routine("cython_lapack", "dpotrs", POINTER(c_char), _INT, _INT, _ARRAY, _INT, _ARRAY, _INT, _INT)
    info = c_int(0)
    call(
        byref(_LOWER), byref(c_int(len(U))), byref(c_int(len(B))), _at(U), byref(_leading(U)),
        _at(B), byref(_leading(B)), byref(info),
    )  # fmt: skip


def add_outer_pair(A: Array, factor: float, x: Array, y: Array) -> None:
    """A + factor (x y' + y x') over the upper triangle of A."""
    call = _routine("cython_blas", "dsyr2", POINTER(c_char), _INT, _DOUBLE, _ARRAY, _INT, _ARRAY, _INT, _ARRAY, _INT)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    call(
        byref(_LOWER), byref(c_int(len(A))), byref(c_double(factor)), _at(x), byref(c_int(1)), _at(y), byref(c_int(1)),
        _at(A), byref(_leading(A)),
    )  # fmt: skip


def add_outer(A: Array, factor: float, v: Array) -> None:
    """A + factor v v' over the upper triangle of A."""
    call = _routine("cython_blas", "dsyr", POINTER(c_char), _INT, _DOUBLE, _ARRAY, _INT, _ARRAY, _INT)
    v = np.ascontiguousarray(v)
    call(
        byref(_LOWER), byref(c_int(len(A))), byref(c_double(factor)), _at(v), byref(c_int(1)),
        _at(A), byref(_leading(A)),
    )  # fmt: skip
