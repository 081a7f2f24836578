"""Kernel matrices and their derivatives, computed tile by tile on the thread pool.

A tile of 500 x 500 numbers (2 MB) stays in a core's cache from the matrix product to the last
exponential. Nothing larger than a tile is ever held beside the result.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.kernels.pair import Pair, Scratch, squared_norms
from mercer.runtime import promise, run

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from mercer.kernels.base import Kernel, Slopes

Tile: TypeAlias = tuple[slice, slice]  # rows and columns

TILE = 500
# Asymmetry of a user's kernel below this share of its values, in units of the precision, is rounding.
_SYMMETRY = 1e5

# Decorator of functions that take underflows as zero, whatever the caller's np.errstate says of them.
underflow_is_zero = np.errstate(under="ignore")


def blocks(n: int, size: int = TILE) -> list[slice]:
    """The rows 0..n-1 in slices of at most `size`."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def upper_tiles(n: int) -> list[Tile]:
    """The tiles on and above the diagonal of an n x n matrix."""
    cuts = blocks(n)
    return [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[i:]]


def tile(
    kernel: Kernel, x: Rows, z: Rows, *, same: bool = False, dtype: DTypeLike = float, scratch: Scratch | None = None
) -> Array:
    """One block of kernel values, checked where the kernel is not our own."""
    pair = Pair(x, z, same=same, dtype=dtype, shared=kernel.leaves() > 1, scratch=scratch)
    # An overflow shows in the values, which are checked where they matter, and an underflow is zero; a warning per tile
    # helps nobody, nor does an error because of the caller's np.errstate.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = kernel.values(pair)
    pair.close()
    return values


def log_tile(kernel: Kernel, x: Rows, z: Rows, scratch: Scratch | None = None) -> Array | None:
    """One block of logarithms of kernel values; None for kernels that cannot give them."""
    pair = Pair(x, z, same=False, shared=kernel.leaves() > 1, scratch=scratch)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = kernel.logarithm(pair)
    pair.close()
    return values


def check_values(kernel: Kernel, values: XLike, pair: Pair) -> Array:
    """The values of a kernel that is not our own: of the right shape, finite and symmetric."""
    result = np.asarray(values, dtype=pair.dtype)
    if result.shape != pair.shape:
        must_be = f"an array of shape {pair.shape}: one row per row of X, one column per row of Z"
        hint = "A kernel takes whole blocks (X, Z), not single rows."
        raise InputError(sentence(f"The result of {kernel!r}", must_be, f"shape {result.shape}", hint))
    if not np.isfinite(result).all():
        raise InputError(sentence(f"Every value of {kernel!r}", "finite", "NaN or infinity"))
    if pair.same:
        gap = float(np.abs(result - result.T).max(initial=0.0))
        if gap > _SYMMETRY * float(np.finfo(result.dtype).eps) * float(np.abs(result).max(initial=0.0)):
            raise InputError(sentence(f"{kernel!r}", "symmetric, k(x, z) = k(z, x)", f"a difference of {gap:.3g}"))
    return result


def matrix(kernel: Kernel, X: XLike, Z: XLike, dtype: DTypeLike) -> Array:
    """The whole matrix k(X, Z) from what a person gives."""
    known = False
    with suppress(TypeError):
        known = np.dtype(dtype) in (np.float64, np.float32)
    refuse_if(not known, "dtype of a kernel matrix", "float64 or float32", repr(dtype))
    x = kernel.read(X)
    if kernel.kind == "gram":
        if Z is not None:
            raise InputError(f"{kernel!r} takes one argument, the matrix: k(K); got a second argument.")
        return between(kernel, x, column_numbers(x), dtype=dtype)
    finite_on(kernel, x)
    if Z is None:
        return gram(kernel, x, dtype=dtype)
    z = kernel.read(Z)
    finite_on(kernel, z)
    refuse_if(z.width != x.width, "Z", f"a table of {x.width} columns, as X is", f"{z.width} columns")
    return between(kernel, x, z, dtype=dtype)


def finite_on(kernel: Kernel, rows: Rows) -> None:
    """Refuse rows so large that values overflow: k(x, x) bounds every value of a Mercer kernel."""
    if not kernel.trusted:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        good = np.isfinite(kernel.diagonal(rows)).all()
        if kernel.kind == "vectors" and not kernel.verdict()[0]:  # nothing bounds a distance but the rows' lengths
            good = good and np.isfinite(squared_norms(rows)).all()
    refuse_if(not good, f"Every value of {kernel!r}", "finite", "NaN or infinity", "Scale X.")


def column_numbers(x: Rows) -> Rows:
    """The second argument of a kernel whose first already is a matrix: which columns to take."""
    return Rows(np.arange(x.width)[:, None])


def gram(kernel: Kernel, x: Rows, *, dtype: DTypeLike = np.float64) -> Array:
    """k(X, X), exactly symmetric: tiles on and above the diagonal are computed and mirrored."""
    result = _result((len(x), len(x)), dtype)
    _fill(result, kernel, x, x, upper_tiles(len(x)), mirrored=True)
    return result


def between(kernel: Kernel, x: Rows, z: Rows, *, dtype: DTypeLike = np.float64, out: Array | None = None) -> Array:
    """k(X, Z) of two sets of rows."""
    result = _result((len(x), len(z)), dtype) if out is None else out
    _fill(result, kernel, x, z, [(rows, columns) for rows in blocks(len(x)) for columns in blocks(len(z))])
    return result


def _fill(result: Array, kernel: Kernel, x: Rows, z: Rows, places: list[Tile], *, mirrored: bool = False) -> None:
    """Write these tiles of k(X, Z), and where they are `mirrored` also those below the diagonal."""
    scratch = Scratch()

    def fill(place: Tile) -> None:
        rows, columns = place
        same = mirrored and rows == columns
        values = tile(kernel, x[rows], z[columns], same=same, dtype=result.dtype, scratch=scratch)
        if same:  # a + b = b + a to the last bit, so the mean of both halves is symmetric
            with np.errstate(over="ignore", invalid="ignore"):
                np.add(values, values.T, out=result[rows, rows])
            result[rows, rows] *= 0.5
        else:
            result[rows, columns] = values
            if mirrored:
                result[columns, rows] = values.T
        scratch.give(values)

    run(fill, places)


def _result(shape: tuple[int, int], dtype: DTypeLike) -> Array:
    what, hint = "A matrix of {} x {} kernel values", "Use dtype=numpy.float32, or fewer rows at a time."
    promise(shape[0] * shape[1] * np.dtype(dtype).itemsize, what.format(*shape), hint)
    return np.empty(shape, dtype=dtype)


# Steps of differences of fourth order by one column and by two, in spreads of the column or widths of the kernel there,
# whichever are smaller.
_STEPS = {1: 1e-3, 2: 3e-3}
_STENCIL = ((8.0, 1.0), (-8.0, -1.0), (-1.0, 2.0), (1.0, -2.0))  # weights times 12 h, and steps in units of h


def gradient(kernel: Kernel, rows: Rows, weights: Array) -> Slopes:
    """sum_ab M_ab dk(x_a, x_b) / d log t of every tunable parameter t, for symmetric M, by tiles on all threads.

    All that the gradient of a function of the kernel matrix needs; no array of rows x rows x columns is formed.

    Parameters
    ----------
    kernel : Kernel
        What is differentiated.
    rows : Rows
        x.
    weights : ndarray of shape (n, n)
        M, of which the upper triangle counts.
    """
    jobs = upper_tiles(len(rows))
    tiles: list[Slopes] = [{} for _ in jobs]
    scratch = Scratch()

    def add(number: int) -> None:
        left, right = jobs[number]
        same = left == right
        pair = Pair(rows[left], rows[right], same=same, shared=kernel.leaves() > 1, scratch=scratch)
        M = weights[left, right]
        M = np.triu(M) + np.triu(M, 1).T if same else 2.0 * M
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            tiles[number] = kernel.slopes(pair, M)
        pair.close()

    run(add, range(len(jobs)))
    return {name: sum((part[name] for part in tiles[1:]), tiles[0][name]) for name in kernel.tunable()}


def difference_quotient(kernel: Kernel, x: Rows, z: Rows, columns: tuple[int, ...]) -> Array:
    """The derivative of k(x, z) by columns of x, from differences of kernel values."""
    moved = moved_rows([kernel], x, z, columns)
    return np.asarray(sum(c * between(kernel, Rows(rows, x.names), z) for c, rows in moved))


def moved_rows(kernels: list[Kernel], x: Rows, z: Rows, columns: tuple[int, ...]) -> list[tuple[float, Array]]:
    """Rows and weights such that the weighted sum of any function of these kernels there is its derivative at x."""
    found = [(1.0, np.asarray(x.values, dtype=np.float64))]
    for column in columns:
        widths = [width for kernel in kernels for width in _widths(kernel, column)]
        h = _STEPS[len(columns)] * min([_spread(np.asarray(z.values[:, column], dtype=np.float64)), *widths])
        largest = float(np.abs(x.values[:, column]).max(initial=0.0))
        h = (largest + h) - largest or h  # as much as rows of this size really move
        before, found = found, []
        for (share, rows), (c, step) in itertools.product(before, _STENCIL):
            moved = rows.copy()
            moved[:, column] += step * h
            found.append((share * c / (12.0 * h), moved))
    return found


def _spread(column: Array) -> float:
    """The standard deviation, or what the middle half of the column says of it if that is less."""
    half = float(np.subtract(*np.quantile(column, [0.75, 0.25]))) / 1.35
    whole = float(column.std())
    return min(half, whole) if half > 0 else whole or float(np.abs(column).max(initial=0.0)) or 1.0


def _widths(kernel: Kernel, column: int) -> list[float]:
    """The widths and periods that a kernel and its parts have for a column."""
    own = [np.ravel(value) for name, value in kernel.items() if name in ("width", "period")]
    found = [float(each[column] if column < len(each) else each.min()) for each in own]
    return found + [width for part in kernel.members().values() for width in _widths(part, column)]
