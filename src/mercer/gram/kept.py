"""Products with the Gram matrix, again and again: tiles are kept in single precision as far as there is room."""

from __future__ import annotations

import numpy as np

from mercer.backends import run
from mercer.data.rows import Array, Rows
from mercer.gram.product import Tile, gathered, upper_tiles
from mercer.kernels.base import Kernel
from mercer.kernels.pair import Scratch
from mercer.kernels.tiles import TILE, blocks, per_thread, tile

# Kernel values that single precision can hold and multiply; beyond, products are made in double precision.
_LEAST, _MOST = 1e-25, 1e25


def kept_bytes(n: int) -> int:
    """Bytes of all tiles on and above the diagonal in single precision, about 2 n^2."""
    return 2 * n * (n + min(n, TILE))


class KeptTiles:
    """V -> k(X, X) V to single precision, from tiles that are computed once.

    Only tiles on and above the diagonal are kept, each as one piece of memory: half of what the matrix takes, and
    filled several times faster than it. Tiles for which there is no room are computed anew in every product.

    Parameters
    ----------
    kernel : Kernel
        Of rows, not of a given matrix.
    rows : Rows
        The rows.
    room : int
        Bytes that may be taken; `kept_bytes` are enough for all tiles.

    Attributes
    ----------
    share : float
        Share of the tiles that are kept.
    single : bool
        Whether products are made in single precision; not where values are too large or too small for it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.gram.kept import KeptTiles
    >>> from mercer.kernels import Gaussian
    >>> X, V = np.linspace(0.0, 1.0, 700)[:, None], np.ones((700, 1))
    >>> tiles = KeptTiles(Gaussian(1.0), as_rows(X), room=10**7)
    >>> bool(np.abs(tiles(V) - Gaussian(1.0)(X) @ V).max() < 1e-3), tiles.share
    (True, 1.0)
    """

    def __init__(self, kernel: Kernel, rows: Rows, room: int) -> None:
        self.kernel, self.rows = kernel, rows
        self._places = upper_tiles(len(rows))
        largest = float(np.abs(kernel.diagonal(rows)).max(initial=0.0))
        self.single = largest == 0 or _LEAST < largest < _MOST
        sizes = np.array([(r.stop - r.start) * (c.stop - c.start) for r, c in self._places], dtype=np.int64)
        self._ends = np.cumsum(sizes)
        self._count = int(np.searchsorted(4 * self._ends, max(0, room), side="right")) if self.single else 0
        self.share = self._count / len(self._places)
        self._store = np.empty(int(self._ends[self._count - 1]) if self._count else 0, dtype=np.float32)
        self._fill()

    def _fill(self) -> None:
        """In single precision from the start: measured as close as rounded values, in a third of the time."""
        scratch = per_thread()

        def fill(jobs: slice) -> None:
            buffers = scratch()
            for number in range(jobs.start, jobs.stop):
                values = self._computed(self._places[number], buffers, np.float32)
                self._kept(number)[...] = values
                buffers.give(values)

        run(fill, blocks(self._count, 16))

    def _kept(self, number: int) -> Array:
        rows, columns = self._places[number]
        end = int(self._ends[number])
        shape = rows.stop - rows.start, columns.stop - columns.start
        return self._store[end - shape[0] * shape[1] : end].reshape(shape)

    def _computed(self, place: Tile, buffers: Scratch, dtype: type[np.floating]) -> Array:
        x, z = (self.rows[part] for part in place)
        return tile(self.kernel, x, z, same=place[0] == place[1], dtype=dtype, scratch=buffers)

    def __call__(self, V: Array) -> Array:
        """k(X, X) V, as good as single precision is."""
        dtype = np.float32 if self.single else np.float64

        def values(number: int, place: Tile, buffers: Scratch) -> Array:
            return self._kept(number) if number < self._count else self._computed(place, buffers, dtype)

        scale = np.maximum(np.abs(V).max(axis=0, initial=0.0), 1e-300)  # so that nothing leaves the range of float32
        return np.asarray(gathered(self._places, values, (V / scale).astype(dtype)) * scale)
