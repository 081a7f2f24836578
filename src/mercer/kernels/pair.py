"""One tile's worth of rows against rows, and the few quantities that kernels are made of."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mercer.data.rows import Array, Columns, Rows, XLike

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# Up to this many columns differences are formed one column at a time: as fast as a matrix product
# there, and free of cancellation.
_FEW_COLUMNS = 2
# For each precision (bytes a number takes): a product's rounding error in a squared distance that no kernel
# shows, and the relative error beyond which a squared distance is formed anew from differences.
_TOLERANCES = {8: (1e-12, 1e-10), 4: (1e-5, 1e-4)}
_GATHERED = 250_000  # numbers gathered at once for that
# So many columns of flags are worth a product of their own, as long as it rounds by less than a kernel shows.
_FLAGS, _LARGEST_SUM = 16, 1e3

Inverse: TypeAlias = float | Array


class Scratch(threading.local):
    """Tile-sized buffers of each thread, handed out and taken back: fresh ones cost page faults."""

    def __init__(self) -> None:
        self._free: list[Array] = []

    def take(self, shape: tuple[int, int], dtype: DTypeLike) -> Array:
        """A buffer of this shape; its content is arbitrary."""
        size = shape[0] * shape[1] * np.dtype(dtype).itemsize
        for place, buffer in enumerate(self._free):
            if buffer.size >= size:
                del self._free[place]
                return buffer[:size].view(dtype).reshape(shape)
        return np.empty(size, dtype=np.uint8).view(dtype).reshape(shape)

    def give(self, tile: Array) -> None:
        """Take a buffer back for the next tile, if it is one of ours."""
        owner = tile
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.dtype == np.uint8:
            self._free.append(owner)


class Pair:
    """Rows x against rows z: every method returns an array that the caller owns and may overwrite.

    With `shared`, dot products and distances are computed once per tile and copied to each member of
    a composed kernel that asks for them.

    Parameters
    ----------
    x, z : Rows
        The two blocks.
    same : bool
        Whether x and z are the same rows, so that the diagonal is known.
    dtype : dtype
        float64, or float32 where asked for.
    shared : bool
        Whether more than one kernel will ask.
    scratch : Scratch
        The threads' buffers.
    """

    __slots__ = ("_kept", "_parts", "dtype", "same", "scratch", "shared", "x", "z")

    def __init__(
        self,
        x: Rows,
        z: Rows,
        *,
        same: bool = False,
        dtype: DTypeLike = np.float64,
        shared: bool = False,
        scratch: Scratch | None = None,
    ) -> None:
        self.x, self.z, self.same, self.shared = x, z, same, shared
        self.dtype = np.dtype(dtype)
        self.scratch = scratch or Scratch()
        self._kept: dict[Hashable, Array] = {}
        self._parts: dict[Hashable, Pair] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of x, rows of z."""
        return len(self.x), len(self.z)

    def buffer(self) -> Array:
        """A tile to write in."""
        return self.scratch.take(self.shape, self.dtype)

    def full(self, value: float) -> Array:
        """A tile filled with one number."""
        return self.copy_of(value)

    def copy_of(self, values: XLike) -> Array:
        """A tile with these values: an array, a sparse matrix or one number."""
        tile = self.buffer()
        np.copyto(tile, _dense(values))
        return tile

    def give_back(self, tile: Array) -> None:
        """Return a tile that is no longer needed."""
        self.scratch.give(tile)

    def dot(self) -> Array:
        """x z'."""
        return self._once("dot", self._dot)

    def squared_distance(self, inverse: Inverse, *, careful: bool = False) -> Array:
        """sum_j ((x_j - z_j) inverse_j)^2, which is never negative and exactly zero on the diagonal of equal rows.

        `careful`: short distances have their digits whatever the size of the rows, as their roots need.
        """
        by = 1.0 if (alike := self.shared and np.ndim(inverse) == 0) else inverse
        key = ("squared distance", careful or alike, np.asarray(by).tobytes())
        tile = self._once(key, lambda: self._squared_distance(by, careful=careful or alike))
        return np.multiply(tile, float(inverse) ** 2, out=tile) if alike else tile

    def distance(self, inverse: Inverse) -> Array:
        """The square root of `squared_distance`, with the short distances formed from differences."""
        tile = self.squared_distance(inverse, careful=True)
        return np.sqrt(tile, out=tile)

    def manhattan(self, inverse: Inverse) -> Array:
        """sum_j |x_j - z_j| inverse_j."""
        by = 1.0 if (alike := self.shared and np.ndim(inverse) == 0) else inverse
        tile = self._once(("manhattan", np.asarray(by, dtype=np.float64).tobytes()), lambda: self._manhattan(by))
        return np.multiply(tile, inverse, out=tile) if alike else tile

    def columns(self, wanted: Columns) -> Pair:
        """The pair seen through some columns only."""
        return self._part(("columns", wanted), lambda rows: rows.columns(wanted))

    def mapped(self, key: Hashable, make: Callable[[XLike], Rows]) -> Pair:
        """The pair f(x), f(z); f is applied to whole tables, once."""
        return self._part(key, lambda rows: rows.derive(key, make))

    def dense(self) -> tuple[Array, Array]:
        """The two blocks as dense arrays of the working precision."""
        x, z = self.x.dense(), self.z.dense()
        return x.astype(self.dtype, copy=False), z.astype(self.dtype, copy=False)

    def _part(self, key: Hashable, cut: Callable[[Rows], Rows]) -> Pair:
        if key not in self._parts:
            x = cut(self.x)
            z = x if self.same else cut(self.z)
            self._parts[key] = Pair(x, z, same=self.same, dtype=self.dtype, shared=self.shared, scratch=self.scratch)
        return self._parts[key]

    def _once(self, key: Hashable, make: Callable[[], Array]) -> Array:
        if not self.shared:
            return make()
        if key not in self._kept:
            self._kept[key] = make()
        return self.copy_of(self._kept[key])

    def close(self) -> None:
        """Give every kept tile back to the thread."""
        for tile in self._kept.values():
            self.scratch.give(tile)
        for part in self._parts.values():
            part.close()

    def _dot(self) -> Array:
        if self.x.sparse or self.z.sparse:
            return self.copy_of(self.x.values @ self.z.values.T)
        x, z = self.dense()
        return np.matmul(x, z.T, out=self.buffer())

    def _squared_distance(self, inverse: Inverse, *, careful: bool = False) -> Array:
        """By one matrix product; where that cancels digits that matter, from differences."""
        if not self.x.sparse and not self.z.sparse and self.x.width <= _FEW_COLUMNS:
            tile = self._by_columns(inverse)
        else:
            tile, largest = self._by_product(inverse)
            tile = self._restore_short(tile, inverse, largest, careful=careful)
        if self.same:
            np.fill_diagonal(tile, 0.0)
        return tile

    def _by_product(self, inverse: Inverse) -> tuple[Array, float]:
        """|x|^2 - 2 x'z + |z|^2, and the largest |x|^2 + |z|^2, which rounding is relative to."""
        if self.x.sparse or self.z.sparse:
            x, z = (multiply(rows.values, np.atleast_2d(inverse)) for rows in (self.x, self.z))
            x2, z2 = squared_norms(x), squared_norms(z)
            tile = self.copy_of(x @ z.T)
            tile *= -2.0
            tile += x2[:, None]
            tile += z2
        else:
            x, z = self.scaled(inverse)
            # as one matrix product, by two extra columns
            x_wide, z_wide = (np.empty((len(part), part.shape[1] + 2), self.dtype) for part in (x, z))
            np.multiply(x, -2.0, out=x_wide[:, :-2])
            x2, z2 = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", z, z)
            x_wide[:, -2], x_wide[:, -1] = x2, 1.0
            z_wide[:, :-2], z_wide[:, -2], z_wide[:, -1] = z, 1.0, z2
            tile = np.matmul(x_wide, z_wide.T, out=self.buffer())
        np.maximum(tile, 0.0, out=tile)
        return tile, float(x2.max(initial=0.0)) + float(z2.max(initial=0.0))

    def scaled(self, inverse: Inverse) -> tuple[Array, Array]:
        """The two blocks, dense and in units of the width, and unless they are sparse moved by the centre of z's table.

        Distances do not change, and data far from the origin lose no digits.
        """
        if self.x.sparse or self.z.sparse:
            x, z = self.dense()
            return x * inverse, z * inverse
        centre = self.z.centre
        x, z = ((rows.values - centre) * inverse for rows in (self.x, self.z))
        return x.astype(self.dtype, copy=False), z.astype(self.dtype, copy=False)

    def _by_columns(self, inverse: Inverse) -> Array:
        """sum_j ((x_j - z_j) inverse_j)^2, one column at a time: as exact as the differences are."""
        tile, step = self.full(0.0), self.buffer()
        each = np.broadcast_to(np.asarray(inverse, dtype=np.float64), (self.x.width,))
        for x_j, z_j, by in zip(self.x.dense().T, self.z.dense().T, each, strict=True):
            np.subtract(x_j[:, None], z_j, out=step, casting="same_kind")
            step *= by
            np.square(step, out=step)
            tile += step
        self.give_back(step)
        return tile

    def _restore_short(self, tile: Array, inverse: Inverse, largest: float, *, careful: bool) -> Array:
        """The tile with its short distances formed anew, where the product has lost their digits."""
        eps = float(np.finfo(self.dtype).eps)
        error = 4.0 * eps * largest
        harmless, relative = _TOLERANCES[self.dtype.itemsize]
        if not careful and error <= harmless:
            return tile
        short = np.flatnonzero(tile < error / relative)
        sparse = self.x.sparse or self.z.sparse
        if not math.isfinite(largest) or (not sparse and short.size * self.x.width > tile.size):
            self.give_back(tile)
            return self._by_columns(inverse)
        flat = tile.reshape(-1)
        for part in np.array_split(short, max(1, short.size * self.x.width // _GATHERED)):
            rows, places = np.divmod(part, tile.shape[1])
            delta = _dense(self.x.values[rows]) - _dense(self.z.values[places])
            flat[part] = squared_norms(delta * inverse)
        return tile

    def _manhattan(self, inverse: Inverse) -> Array:
        """From the differences of the rows as they are: moving or scaling rows first would round them."""
        from scipy.spatial.distance import cdist

        x, z = (rows.dense().astype(np.float64, copy=False) for rows in (self.x, self.z))
        each = np.broadcast_to(np.asarray(inverse, dtype=np.float64), x.shape[1:])
        flags, size = _flags(x, z, each)
        some = bool(flags.any())
        others = (x[:, ~flags], z[:, ~flags]) if some else (x, z)
        weights = {} if np.ndim(inverse) == 0 else {"w": each[~flags]}
        single = self.dtype != np.float64
        tile: Array = cdist(*others, "cityblock", out=None if single else self.buffer(), **weights)
        if not weights:
            tile *= inverse
        if some:
            # one product of zeros and ones: |u - v| = u + v - 2 u v
            u, v, size = x[:, flags] > 0, z[:, flags] > 0, size[flags]
            apart = (u * (-2.0 * size)) @ v.T.astype(np.float64)
            apart += (u @ size)[:, None]
            apart += v @ size
            tile += np.maximum(apart, 0.0, out=apart)
        return tile.astype(self.dtype) if single else tile


def _flags(x: Array, z: Array, inverse: Array) -> tuple[Array, Array]:
    """Which columns hold zero and one positive number, such as those of a category, and that number over the width."""
    none = np.zeros(x.shape[1], dtype=bool)
    if len(none) < _FLAGS:
        return none, inverse
    high = np.maximum(x.max(axis=0, initial=0.0), z.max(axis=0, initial=0.0))
    found = ((x == 0) | (x == high)).all(axis=0) & ((z == 0) | (z == high)).all(axis=0)
    size = high * inverse
    return (found if found.sum() >= _FLAGS and size[found].sum() < _LARGEST_SUM else none), size


def _dense(values: XLike) -> Array:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def multiply(values: XLike, by: Array) -> XLike:
    """An array or a sparse matrix times numbers for its rows or columns."""
    return values.multiply(by).tocsr() if hasattr(values, "tocsr") else values * by


def squared_norms(values: XLike) -> Array:
    """x'x of each row of an array, a sparse matrix or Rows."""
    values = values.values if isinstance(values, Rows) else values
    if hasattr(values, "multiply"):
        return np.asarray(values.multiply(values).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", values, values))
