"""Tables whose rows can be had by number: arrays in memory, maps of files, and DataFrames."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from mercer.data.checks import as_names
from mercer.data.rows import Array, XLike
from mercer.errors import InputError, refuse_if
from mercer.runtime.disk import SourceStamp, explain
from mercer.runtime.resources import promise
from mercer.streaming.blocks.source import Part, Source
from mercer.streaming.blocks.table import (
    Block,
    Columns,
    Layout,
    Naming,
    RolesGiven,
    as_column,
    as_labels,
    find_roles,
    pick,
    refuse_kind,
)

_LEAST = 8192  # rows of a part: fewer are not worth a task
_MOST = 64  # parts of a table
_WHOLE = 2**28  # bytes; what is larger is known by samples of its contents


@dataclass(frozen=True, eq=False)
class MappedArray:
    """A stretch of an array in a file, mapped afresh whenever rows are read so that memory stays small.

    Attributes
    ----------
    stamp : SourceStamp
        The file, by whose name the array is sent.
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
    dtype: np.dtype[np.generic]
    whole: tuple[int, ...]
    offset: int
    order: Literal["C", "F"]
    first: int
    last: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the stretch."""
        return (self.last - self.first, *self.whole[1:])

    def __getitem__(self, rows: slice | Array) -> Array:
        """A copy of some rows, so that the file can be let go."""
        self.stamp.check()
        mapped = np.memmap(self.stamp.path, self.dtype, "r", self.offset, self.whole, self.order)
        return np.array(mapped[self.first : self.last][rows])

    def cut(self, start: int, stop: int) -> MappedArray:
        """A shorter stretch."""
        return replace(self, first=self.first + start, last=self.first + stop)


Stored: TypeAlias = Array | MappedArray
Frame: TypeAlias = nw.DataFrame[Any]


def as_stored(values: object) -> Stored:
    """An array; a map of a file as a `MappedArray`, unless it holds what the file does not."""
    if not isinstance(values, np.memmap):
        return as_names(values)
    root = values
    while isinstance(root.base, np.memmap):
        root = root.base
    order: Literal["C", "F"] = "C" if values.flags.c_contiguous else "F"
    if root.filename is None or root.mode == "c" or not values.flags.forc or values.dtype.hasobject or not values.size:
        return np.asarray(values)
    if root.mode != "r":
        root.flush()
    offset = int(root.offset + values.ctypes.data - root.ctypes.data)
    return MappedArray(SourceStamp.of(root.filename), values.dtype, values.shape, offset, order, 0, len(values))


def _read_npy(path: Path) -> Stored:
    """An array in a `.npy` file."""
    with explain(f"{str(path)!r} cannot be read"):
        try:
            return as_stored(np.load(path, mmap_mode="r", allow_pickle=False))
        except (ValueError, EOFError) as problem:
            raise InputError(f"{str(path)!r} is not a readable .npy file: {problem}.") from None


def open_npy(path: Path, asked: RolesGiven) -> Source:
    """An array in a `.npy` file with what belongs to it."""
    return open_arrays(_read_npy(path), asked)


def fingerprint(values: Stored) -> str:
    """A text that is another one where the contents differ.

    Files are known by name, size and times of change, arrays beyond a quarter of a gigabyte by 4096 of their rows.
    """
    if isinstance(values, MappedArray):
        return repr(tuple(vars(values).values()))
    if values.dtype == object:
        return hashlib.sha256("\n".join(map(repr, values.ravel().tolist())).encode()).hexdigest()
    digest = hashlib.sha256(f"{values.dtype.str} {values.shape}".encode())
    if values.nbytes > _WHOLE:
        values = values[np.linspace(0, len(values) - 1, 4096).astype(np.intp)]
    digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def open_arrays(X: Stored, asked: RolesGiven) -> Source:
    """A table of numbers with what belongs to it."""
    got = f"{X.shape[0]} numbers" if len(X.shape) == 1 else f"{len(X.shape)} dimensions"
    refuse_if(len(X.shape) != 2, "X", "a table with rows and columns", got, "For one column, use X.reshape(-1, 1).")
    refuse_kind(X.dtype, Naming("X"))
    Y, weights, keys = (_beside(value, what, X.shape[0]) for what, value in asked.items())
    if Y is not None and not asked.labels:
        refuse_kind(Y.dtype, Naming("y"))
    return _open((X, Y, weights, keys), Layout(X.shape[1], labels=asked.labels))


def as_frame(X: XLike) -> Frame | None:
    """A DataFrame of pandas, polars, pyarrow or another library that narwhals knows; None for what is none."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except DuplicateError:
        find_roles(X.columns, RolesGiven(), "X")
        raise
    return frame if isinstance(frame, nw.DataFrame) else None


def open_frame(frame: Frame, asked: RolesGiven) -> Source:
    """A DataFrame, whose columns are read once into arrays."""
    layout = frame_layout(frame.columns, asked)
    promise(8 * len(frame) * len(layout.columns_read), "X as an array", "Save it as Parquet, which is read in blocks.")
    others = [_beside(value, what, len(frame)) for what, value in asked.where(named=False).items()]
    return _open(read_frame(frame, layout, others), layout)


def frame_layout(names: Sequence[object], asked: RolesGiven) -> Layout:
    """Which column of a DataFrame is what; targets that are columns of it are called so."""
    layout = find_roles(names, asked.where(named=True), "X")
    targets = "y" if layout.labels or layout.target_names is None else "X"
    return replace(layout, called=("X", targets, "sample_weight", "groups"))


def read_frame(frame: Frame, layout: Layout, others: Sequence[Stored | None], row: int = 0) -> Columns:
    """The columns of a DataFrame, whose first row has this number; `others` are y, weights and groups given apart."""
    places = {str(name): place for place, name in enumerate(frame.columns)}

    def values(name: str) -> Array:
        return np.asarray(frame[:, places[name]].to_numpy())

    X, *own = layout.read(lambda name: as_column(values(name), Naming("X", row, (name,))), values)
    Y, weights, keys = (other if column is None else column for column, other in zip(own, others, strict=True))
    return X, Y, weights, keys


def _beside(values: object, what: str, rows: int) -> Stored | None:
    """What goes with the rows of X, as long as X."""
    if values is None:
        return None
    path = Path(values) if isinstance(values, str | os.PathLike) else None
    named = path is not None and path.suffix.lower() != ".npy"
    refuse_if(named, what, "an array or the path of a .npy file", repr(str(values)))
    stored = as_stored(values) if path is None else _read_npy(path)
    refuse_if(not 1 <= len(stored.shape) <= 2, what, "one value per row", f"an array of {len(stored.shape)} dimensions")
    refuse_length(what, stored.shape[0], rows)
    return stored


def refuse_length(what: str, rows: int, wanted: int) -> None:
    """Refuse what is not as long as X."""
    refuse_if(rows != wanted, what, f"as long as X ({wanted} rows)", f"{rows} rows")


def _open(columns: Columns, layout: Layout) -> Source:
    """A table of arrays, cut into parts that can be sent."""
    X, Y, _, keys = columns
    for what, names in (("y", Y if layout.labels else None), ("groups", keys)):
        if names is not None and names.dtype == object:  # blocks are looked at one by one
            as_labels(names, Naming(what))
    if Y is not None and layout.target_names is None:
        flat = len(Y.shape) == 1
        layout = replace(layout, targets=1 if flat else Y.shape[1], flat=flat)

    def part_of(start: int, stop: int) -> Part:
        X, Y, weights, keys = (
            column[start:stop] if isinstance(column, np.ndarray) else column and column.cut(start, stop)
            for column in columns
        )
        return Part(start, stop - start, layout, partial(read_arrays, (X, Y, weights, keys)), start)

    rows = X.shape[0]
    step = max(_LEAST, -(-rows // _MOST))
    parts = tuple(part_of(first, min(first + step, rows)) for first in range(0, rows, step))
    whole, take, identity = part_of(0, rows), partial(pick, columns), partial(_identity, columns, layout)
    return Source(parts, layout, rows=rows, whole=whole, take=take, identity=identity)


def _identity(columns: Columns, layout: Layout) -> str:
    marks = [None if column is None else fingerprint(column) for column in columns]
    return repr(marks) if layout.names is None else repr((marks, layout))


def read_arrays(columns: Columns, part: Part, skip: int, at_once: int) -> Iterator[Block]:
    """The rows of a part whose columns are arrays."""
    for first in range(skip, part.rows or 0, at_once):
        yield part.check(pick(columns, slice(first, first + at_once)), first)
