"""LAPACK and BLAS without the interpreter lock, on blocks of a larger matrix without a copy.

SciPy exports the addresses of its routines; called through ctypes they release the lock, so that threads over
candidates really run side by side. Matrices are C-contiguous in rows (the last axis has stride one); LAPACK sees them
transposed, so its "lower" triangle is our upper one.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.data.rows import Array

_MIRRORED = 256  # rows that are mirrored at once


@cache
def _routine(library: str, name: str, count: int) -> Any:
    """A routine of scipy.linalg.cython_lapack or cython_blas with so many arguments, as a C function of pointers."""
    from importlib import import_module

    capsule = import_module(f"scipy.linalg.{library}").__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(address)


@lru_cache(maxsize=4096, typed=True)
def _reference(value: Any) -> Any:
    """An integer, float or letter by reference; LAPACK only reads it, so calls and threads may share it."""
    kind = ctypes.c_int if isinstance(value, int) else ctypes.c_double if isinstance(value, float) else ctypes.c_char
    return ctypes.byref(kind(value))


def _pointer(value: object) -> Any:
    """Arrays by their address, all else by reference."""
    return value.__array_interface__["data"][0] if isinstance(value, np.ndarray) else _reference(value)


def lapack(name: str, *given: object) -> bool:
    """Call a routine of LAPACK with these arguments and its error code; whether it succeeded."""
    info = ctypes.c_int(0)
    _routine("cython_lapack", name, len(given) + 1)(*map(_pointer, given), ctypes.byref(info))
    return info.value == 0


def blas(name: str, *given: object) -> None:
    """Call a routine of BLAS with these arguments."""
    _routine("cython_blas", name, len(given))(*map(_pointer, given))


def leading(A: Array) -> int:
    """Distance between rows; the stride of a single row means nothing."""
    return max(1, A.shape[1] if len(A) == 1 else A.strides[0] // A.itemsize)


def potrf(A: Array) -> bool:
    """Upper Cholesky factor U, A = U'U, over the upper triangle of A; False where A is not positive definite."""
    return lapack("dpotrf", b"L", len(A), A, leading(A))


def potri(U: Array) -> None:
    """The upper triangle of A^-1 over that of its factor U."""
    lapack("dpotri", b"L", len(U), U, leading(U))


def potrs(U: Array, B: Array) -> None:
    """A^-1 b over each row b of B (right-hand sides are rows here, as LAPACK sees the transpose)."""
    lapack("dpotrs", b"L", len(U), len(B), U, leading(U), B, leading(B))


def solve_columns(U: Array, B: Array) -> Array:
    """(U'U)^-1 B, from the factor that `potrf` leaves, in a new array."""
    right = np.array(B.T, order="C")  # a copy, which is overwritten
    potrs(U, right)
    return right.T


def half_solve(U: Array, B: Array) -> Array:
    """U'^-1 B, in a new array."""
    return np.asarray(solve_triangular(U, B, trans="T", check_finite=False))


def posv(A: Array, B: Array) -> bool:
    """A^-1 b over each row b of B, and the factor of A over A; False where A is not positive definite."""
    return lapack("dposv", b"L", len(A), len(B), A, leading(A), B, leading(B))


def add_outer_pair(A: Array, factor: float, x: Array, y: Array) -> None:
    """A + factor (x y' + y x') over the upper triangle of A."""
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    blas("dsyr2", b"L", len(A), float(factor), x, 1, y, 1, A, leading(A))


def add_outer(A: Array, factor: float, v: Array) -> None:
    """A + factor v v' over the upper triangle of A."""
    blas("dsyr", b"L", len(A), float(factor), np.ascontiguousarray(v), 1, A, leading(A))


def add_gram(C: Array, A: Array) -> None:
    """C + A'A over the upper triangle of C.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.lapack import add_gram
    >>> C = np.zeros((2, 2))
    >>> add_gram(C, np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> C
    array([[10., 14.],
           [ 0., 20.]])
    """
    if len(A):
        blas("dsyrk", b"L", b"N", len(C), len(A), 1.0, A, leading(A), 1.0, C, leading(C))


def add_panel(C: Array, A: Array, columns: slice) -> None:
    """C + A'A over some rows of the upper triangle of C, so that threads can share one matrix."""
    start, stop = columns.start, columns.stop
    add_gram(C[start:stop, start:stop], A[:, start:stop])
    beyond = len(C) - stop
    if beyond and len(A):
        left, right, out = A[:, stop:], A[:, start:stop], C[start:stop, stop:]
        sizes = beyond, stop - start, len(A)
        blas("dgemm", b"N", b"T", *sizes, 1.0, left, leading(A), right, leading(A), 1.0, out, leading(C))


def whiten(A: Array, R: Array) -> None:
    """A R^-1 over A, whose rows may be the beginnings of longer ones."""
    if len(A):
        blas("dtrsm", b"L", b"L", b"N", b"N", len(R), len(A), 1.0, R, leading(R), A, leading(A))


def whiten_both(C: Array, R: Array) -> None:
    """R^-T C R^-1 over the upper triangle of C."""
    lapack("dsygst", 1, b"L", len(C), C, leading(C), R, leading(R))


def mirror(C: Array) -> None:
    """The upper triangle of C copied to the lower one, by blocks."""
    for start in range(0, len(C), _MIRRORED):
        stop = min(start + _MIRRORED, len(C))
        C[stop:, start:stop] = C[start:stop, stop:].T
        square = C[start:stop, start:stop]
        square[:] = np.triu(square) + np.triu(square, 1).T
