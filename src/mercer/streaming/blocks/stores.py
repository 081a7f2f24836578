"""Where rows of arrays lie: in memory, in a mapped file, in a DataFrame; each gives any stretch of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError
from mercer.runtime.disk import SourceStamp
from mercer.streaming.blocks.cells import refuse_kind

_WHOLE = 2**28  # bytes; what is larger is known by samples of its contents


class Store(Protocol):
    """Rows that can be had by number."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array."""
        ...

    @property
    def dtype(self) -> Any:
        """Type of the whole array."""
        ...

    def rows(self, start: int, stop: int) -> Array:
        """Rows `start` to `stop`."""
        ...

    def take(self, places: Array) -> Array:
        """The rows with these numbers."""
        ...

    def cut(self, start: int, stop: int) -> Store:
        """A store of these rows alone."""
        ...

    def identity(self) -> str:
        """A number that is another one where the contents differ."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """An array."""

    values: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.values.shape

    @property
    def dtype(self) -> Any:
        """Type of the array."""
        return self.values.dtype

    def rows(self, start: int, stop: int) -> Array:
        """A view of some rows."""
        return self.values[start:stop]

    def take(self, places: Array) -> Array:
        """A copy of some rows."""
        return np.asarray(self.values[places])

    def cut(self, start: int, stop: int) -> InMemory:
        """A view, of which only these rows are sent."""
        return InMemory(self.values[start:stop])

    def identity(self) -> str:
        """By contents; the contents of 4096 rows where there is more than a quarter of a gigabyte."""
        values = self.values
        if values.dtype == object:
            return hashlib.sha256("\n".join(map(repr, values.ravel().tolist())).encode()).hexdigest()
        if values.nbytes > _WHOLE:
            values = values[np.linspace(0, len(values) - 1, 4096).astype(np.intp)]
        digest = hashlib.sha256(f"{self.values.dtype.str} {self.values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class MappedFile:
    """A stretch of an array in a file, mapped afresh for every block so that memory stays small.

    Attributes
    ----------
    stamp : SourceStamp
        The file.
    dtype : dtype
        Of the array.
    whole : tuple of int
        Shape of the array in the file.
    offset : int
        Where in the file it begins.
    order : str
        `C` or `F`.
    first, last : int
        The stretch.
    """

    stamp: SourceStamp
    dtype: Any
    whole: tuple[int, ...]
    offset: int
    order: Any
    first: int
    last: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the stretch."""
        return (self.last - self.first, *self.whole[1:])

    def _map(self) -> Array:
        self.stamp.check()
        return np.memmap(self.stamp.path, self.dtype, "r", self.offset, self.whole, self.order)

    def rows(self, start: int, stop: int) -> Array:
        """A copy of some rows, so that the file can be let go."""
        return np.array(self._map()[self.first + start : self.first + stop])

    def take(self, places: Array) -> Array:
        """A copy of some rows."""
        return np.array(self._map()[self.first + places])

    def cut(self, start: int, stop: int) -> MappedFile:
        """A shorter stretch."""
        return replace(self, first=self.first + start, last=self.first + stop)

    def identity(self) -> str:
        """By the file's name, size and times of change."""
        return repr((self.stamp, self.dtype, self.whole, self.offset, self.order, self.first, self.last))


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of a DataFrame, by rows; no table library is imported.

    Attributes
    ----------
    table : DataFrame
        Of pandas, polars or pyarrow.
    columns : tuple
        What its columns are called, as far as they are wanted.
    flat : bool
        Whether one column is given as a vector.
    """

    table: Any
    columns: tuple[Any, ...]
    flat: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array."""
        return (len(self.table),) if self.flat else (len(self.table), len(self.columns))

    @property
    def dtype(self) -> Any:
        """Each column has its own."""
        return np.dtype(object)

    def rows(self, start: int, stop: int) -> Array:
        """Some rows as an array."""
        return self._array(_stretch(self.table, start, stop))

    def take(self, places: Array) -> Array:
        """Some rows as an array."""
        if hasattr(self.table, "iloc"):
            return self._array(self.table.iloc[places])
        return self._array(self.table.take(places) if hasattr(self.table, "take") else self.table[places])

    def _array(self, piece: Any) -> Array:
        columns = [np.asarray(piece[name]) for name in self.columns]
        if self.flat:
            return columns[0]
        for name, column in zip(self.columns, columns, strict=True):
            if column.dtype.kind in "mM":  # as objects, nanoseconds would be whole numbers
                refuse_kind(column.dtype, "X", (str(name),))
        if all(column.dtype.kind in "biuf" for column in columns):
            made = np.empty((len(piece), len(columns)))
        else:
            made = np.empty((len(piece), len(columns)), dtype=object)
        for place, column in enumerate(columns):
            made[:, place] = column
        return made

    def cut(self, start: int, stop: int) -> Frame:
        """Some rows of the DataFrame."""
        return replace(self, table=_stretch(self.table, start, stop))

    def identity(self) -> str:
        """By contents, as of arrays."""
        places = slice(0, len(self.table))
        return InMemory(self.rows(places.start, places.stop)).identity() + repr(self.columns)


def _stretch(table: Any, start: int, stop: int) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[start:stop]
    return table[start:stop] if not hasattr(table, "column_names") else table.slice(start, stop - start)


def as_store(values: Array) -> Store:
    """An array, as a map of its file where it is one."""
    found = _mapped(values) if isinstance(values, np.memmap) else None
    return found or InMemory(np.asarray(values))


def _mapped(values: np.memmap[Any, Any]) -> MappedFile | None:
    """A stretch of a file; None where the array is none, or holds what the file does not."""
    root: Any = values
    while isinstance(root.base, np.memmap):
        root = root.base
    order = "C" if values.flags.c_contiguous else "F" if values.flags.f_contiguous else None
    if root.filename is None or root.mode == "c" or order is None or values.dtype.hasobject or not values.size:
        return None
    if root.mode != "r":
        root.flush()
    offset = int(root.offset + values.ctypes.data - root.ctypes.data)
    return MappedFile(SourceStamp.of(root.filename), values.dtype, values.shape, offset, order, 0, len(values))


def open_npy(path: Path) -> Store:
    """An array in a `.npy` file."""
    try:
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as problem:
        raise InputError(f"{str(path)!r} is not a readable .npy file: {problem}.") from None
    except OSError as problem:
        raise InputError(f"{str(path)!r} cannot be read: {problem.strerror or problem}.") from None
    return as_store(stored)


def names_of(table: Any) -> Sequence[Any] | None:
    """What the columns of a DataFrame are called; None for what is none."""
    names = getattr(table, "column_names", None)
    if not isinstance(names, list):
        names = getattr(table, "columns", None)
    return None if names is None or not hasattr(table, "__getitem__") else list(names)
