"""One tile's worth of rows against rows, and the few quantities that kernels are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mercer.data.rows import Array, Columns, Rows

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# Up to this many columns differences are formed one column at a time: as fast as a matrix product
# there, and free of cancellation.
_FEW_COLUMNS = 2
# Squared distances below this share of the tile's largest norm have lost digits that a square root
# would show; `distance` forms them again from differences.
_CANCELLED = 1e-6

Inverse: TypeAlias = float | Array


class Scratch:
    """Tile-sized buffers of one thread, handed out and taken back: fresh ones cost page faults."""

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
        The thread's buffers.
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
        tile = self.buffer()
        tile.fill(value)
        return tile

    def give_back(self, tile: Array) -> None:
        """Return a tile that is no longer needed."""
        self.scratch.give(tile)

    def dot(self) -> Array:
        """x z'."""
        return self._once("dot", self._dot)

    def squared_distance(self, inverse: Inverse, factor: float = 1.0) -> Array:
        """factor times sum_j ((x_j - z_j) inverse_j)^2, whose sum is never negative and exactly zero on
        the diagonal of equal rows.
        """
        if not self.shared:
            return self._squared_distance(inverse, factor)
        if np.ndim(inverse) == 0:
            tile = self._once("squared distance", lambda: self._squared_distance(1.0))
            tile *= factor * float(inverse) ** 2
            return tile
        key = ("squared distance", np.asarray(inverse).tobytes())
        tile = self._once(key, lambda: self._squared_distance(inverse))
        tile *= factor
        return tile

    def distance(self, inverse: Inverse) -> Array:
        """The square root of `squared_distance`, with the short distances formed from differences."""
        key = ("distance", np.asarray(inverse, dtype=np.float64).tobytes())
        return self._once(key, lambda: self._distance(inverse))

    def manhattan(self, inverse: Inverse) -> Array:
        """sum_j |x_j - z_j| inverse_j."""
        from scipy.spatial.distance import cdist

        if self.shared and np.ndim(inverse) == 0:
            tile = self._once("manhattan", lambda: self._manhattan(cdist, 1.0))
            tile *= inverse
            return tile
        key = ("manhattan", np.asarray(inverse, dtype=np.float64).tobytes())
        return self._once(key, lambda: self._manhattan(cdist, inverse))

    def columns(self, wanted: Columns) -> Pair:
        """The same pair seen through some columns only."""
        return self._part(("columns", wanted), lambda rows: rows.columns(wanted))

    def mapped(self, key: Hashable, make: Callable[[Any], Rows]) -> Pair:
        """The pair f(x), f(z); f is applied to whole tables, once."""
        return self._part(key, lambda rows: rows.derive(key, make))

    def dense(self) -> tuple[Array, Array]:
        """Both blocks as dense arrays of the working precision."""
        x, z = (rows.values.toarray() if rows.sparse else rows.values for rows in (self.x, self.z))
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
        tile = self.buffer()
        np.copyto(tile, self._kept[key])
        return tile

    def close(self) -> None:
        """Give every kept tile back to the thread."""
        for tile in self._kept.values():
            self.scratch.give(tile)
        for part in self._parts.values():
            part.close()

    def _dot(self) -> Array:
        if self.x.sparse or self.z.sparse:
            product = self.x.values @ self.z.values.T
            return np.asarray(product.toarray() if hasattr(product, "toarray") else product, self.dtype)
        x, z = self.dense()
        return np.matmul(x, z.T, out=self.buffer())

    def _squared_distance(self, inverse: Inverse, factor: float = 1.0) -> Array:
        if self.x.sparse or self.z.sparse:
            tile = self._sparse_squared_distance(inverse)
            tile *= factor
        else:
            tile = self._dense_squared_distance(*self._centred(inverse), factor)
        if self.same:
            np.fill_diagonal(tile, 0.0)
        return tile

    def _centred(self, inverse: Inverse) -> tuple[Array, Array]:
        """Both blocks in units of the width, moved so that z is centred: distances do not change,
        and data far from the origin lose no digits.
        """
        x, z = self.dense()
        centre = z.mean(axis=0)
        x, z = x - centre, z - centre
        x *= inverse
        z *= inverse
        return x, z

    def _dense_squared_distance(self, x: Array, z: Array, factor: float) -> Array:
        if x.shape[1] <= _FEW_COLUMNS:
            tile = self._by_columns(x, z, np.square)
            tile *= factor
            return tile
        # factor (|x|^2 - 2 x'z + |z|^2) as one matrix product, by two extra columns
        x_wide, z_wide = (np.empty((len(part), part.shape[1] + 2), self.dtype) for part in (x, z))
        np.multiply(x, -2.0 * factor, out=x_wide[:, :-2])
        np.einsum("ij,ij->i", x, x, out=x_wide[:, -2])
        x_wide[:, -2] *= factor
        x_wide[:, -1] = factor
        z_wide[:, :-2] = z
        z_wide[:, -2] = 1.0
        np.einsum("ij,ij->i", z, z, out=z_wide[:, -1])
        tile = np.matmul(x_wide, z_wide.T, out=self.buffer())
        clip = np.maximum if factor > 0 else np.minimum
        return np.asarray(clip(tile, 0.0, out=tile))

    def _by_columns(self, x: Array, z: Array, of: np.ufunc) -> Array:
        """sum_j of(x_j - z_j), one column at a time."""
        tile, step = self.full(0.0), self.buffer()
        for x_j, z_j in zip(x.T, z.T, strict=True):
            np.subtract(x_j[:, None], z_j, out=step)
            of(step, out=step)
            tile += step
        self.give_back(step)
        return tile

    def _sparse_squared_distance(self, inverse: Inverse) -> Array:
        x, z = (
            rows.values.multiply(np.atleast_2d(inverse)).tocsr() if rows.sparse else rows.values * inverse
            for rows in (self.x, self.z)
        )
        x2, z2 = (
            np.asarray((part.multiply(part) if rows.sparse else part * part).sum(axis=1)).ravel()
            for rows, part in ((self.x, x), (self.z, z))
        )
        product = x @ z.T
        tile = np.asarray(product.toarray() if hasattr(product, "toarray") else product, self.dtype)
        tile *= -2.0
        tile += x2[:, None]
        tile += z2
        return np.asarray(np.maximum(tile, 0.0, out=tile))

    def _distance(self, inverse: Inverse) -> Array:
        tile = self._squared_distance(inverse)
        if not self.x.sparse and not self.z.sparse and self.x.width > _FEW_COLUMNS:
            tile = self._restore_short(tile, inverse)
        return np.sqrt(tile, out=tile)

    def _restore_short(self, tile: Array, inverse: Inverse) -> Array:
        x, z = self._centred(inverse)
        largest = np.einsum("ij,ij->i", x, x).max() + np.einsum("ij,ij->i", z, z).max()
        short = np.flatnonzero(tile < _CANCELLED * largest)
        if short.size * x.shape[1] > tile.size:
            self.give_back(tile)
            return self._by_columns(x, z, np.square)
        rows, places = np.divmod(short, tile.shape[1])
        delta = x[rows] - z[places]
        tile.ravel()[short] = np.einsum("ij,ij->i", delta, delta)
        return tile

    def _manhattan(self, cdist: Callable[..., Array], inverse: Inverse) -> Array:
        x, z = self.dense()
        x, z = (np.multiply(part, inverse, dtype=np.float64) for part in (x, z))
        if self.dtype == np.float64:
            return cdist(x, z, "cityblock", out=self.buffer())
        return cdist(x, z, "cityblock").astype(self.dtype)
