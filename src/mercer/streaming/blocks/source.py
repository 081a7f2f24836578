"""A table that is read in passes, whatever it lies in; arrays, maps of files and DataFrames as such tables."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from mercer.data.checks import as_names
from mercer.data.hashing import words_of
from mercer.data.rows import Array, XLike
from mercer.errors import InputError, refuse, refuse_if
from mercer.runtime.dask import compute
from mercer.runtime.disk import SourceStamp, retell
from mercer.runtime.passes import Backend, PassWork, run_pass
from mercer.runtime.resources import promise
from mercer.streaming.blocks.table import (
    Block,
    Columns,
    Layout,
    Naming,
    RolesGiven,
    as_column,
    as_labels,
    find_roles,
    join,
    pick,
    refuse_kind,
    regroup,
)

_AT_ONCE = 65_536  # rows read together where only a few of them are kept
_NONE: Columns = (None, None, None, None)
_STRETCH = 2**20  # rows hashed together
_LEAST = 8192  # rows of a part: fewer are not worth a task
_MOST = 64  # parts of a table
_WHOLE = 2**28  # bytes; what is larger is known by samples of its contents


@dataclass(frozen=True, eq=False)
class Part:
    """One stretch of a table: small enough to be sent to a worker, which lets it read itself there.

    Attributes
    ----------
    start : int
        The number of its first row in the whole table.
    rows : int or None
        How many there are; None where only reading tells.
    layout : Layout
        The columns.
    read : callable
        `read(part, skip, at_once, *values)` gives blocks, made by `part.check`, that begin at row `skip` of the part or
        earlier.
    number : int
        What messages call the first row.
    pieces : tuple
        What Dask must compute first: `values` are what these Delayed objects, arrays and Nones stand for.
    """

    start: int
    rows: int | None
    layout: Layout
    read: Callable[..., Iterable[Block]]
    number: int = 0
    pieces: tuple[Any, ...] = ()

    def check(self, columns: Columns, first: int) -> Block:
        """A block of columns as they were read, of which the first row is row `first` of the part."""
        return self.layout.check(columns, self.start + first, self.number + first)

    def blocks(self, at_once: int, skip: int = 0, values: Sequence[Any] = ()) -> Iterator[Block]:
        """Its rows without the first `skip`, in order, at most `at_once` together."""
        blocks = self.read(self, skip, at_once, *(values or (self.pieces and compute(self.pieces))))
        first = self.start + skip
        return regroup((block.pick(slice(max(0, first - block.start), None)) for block in blocks), at_once)


@dataclass(eq=False)
class Source:
    """A table that is read in passes, one block of rows at a time; made by `as_source`.

    Parameters
    ----------
    parts : tuple of Part
        Its stretches in order.
    layout : Layout
        Its columns.
    rows : int or None
        How many there are; None where only a pass can tell.
    identity : callable
        Gives a fingerprint for checkpoints: arrays by contents, files by path, size and times of change.
    what : str, default="X"
        What to call it.
    whole : Part, default=None
        All of it as one part, where that reads in longer stretches.
    take : callable, default=None
        The columns of the rows with given numbers, where rows can be had by number.
    here_only : str, default=""
        Why it cannot be read on other machines; empty where it can.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.streaming.blocks import as_source
    >>> source = as_source(np.arange(20.0).reshape(10, 2), np.arange(10.0))
    >>> source.rows, source.width, source.targets
    (10, 2, 1)
    >>> [(block.start, len(block)) for block in source.blocks(4)]
    [(0, 4), (4, 4), (8, 2)]
    """

    parts: tuple[Part, ...]
    layout: Layout
    rows: int | None
    identity: Callable[[], str]
    what: str = "X"
    whole: Part | None = None
    take: Callable[[Array], Columns] | None = None
    here_only: str = ""

    def __post_init__(self) -> None:
        self.width, self.names, self.targets_1d = self.layout.width, self.layout.names, self.layout.flat
        self.targets, self.target_names = self.layout.targets, self.layout.target_names
        refuse_if(self.rows == 0, self.what, "a table with rows", "none")

    def blocks(self, at_once: int, start: int = 0) -> Iterator[Block]:
        """All rows in order from row `start` on, `at_once` together.

        A pass that ends with another number of rows than the one before is refused: the answer would be of neither.
        """
        self._promise(at_once, "A block", "Use a smaller block_rows, or a table with fewer columns.")
        rest = self.rest(start) if self.whole is None else [(self.whole, start)]
        end = start
        for block in regroup((block for part, skip in rest for block in part.blocks(at_once, skip)), at_once):
            end = block.start + len(block)
            yield block
        self.count(end)

    def rest(self, start: int) -> list[tuple[Part, int]]:
        """The parts with rows from row `start` on, each with how many of its rows come before."""
        parts = [part for part in self.parts if part.rows is None or start < part.start + part.rows]
        return [(part, max(0, start - part.start)) for part in parts]

    def _promise(self, rows: int, what: str, hint: str) -> None:
        """Room for so many rows twice: as they are read, and as a block."""
        rows = rows if self.rows is None else min(rows, self.rows)
        promise(16 * rows * (self.width + (self.targets or 0)), f"{what} of {rows} rows", hint)

    def count(self, rows: int) -> None:
        """A pass has found so many rows."""
        refuse_if(not rows, self.what, "a table with rows", "none")
        words = f"{self.what} changed between passes: {self.rows} rows, then {rows}."
        refuse(self.rows not in (None, rows), f"{words} X must return the same rows every time it is read.")
        self.rows = rows

    def sample(self, count: int, rng: np.random.Generator, backend: Backend = "serial") -> Block:
        """Rows drawn without replacement, each with the same chance, in the order of the table.

        They are the rows whose hashed numbers are smallest, hence the same ones however the table is cut, read or
        stored. Where rows cannot be had by number this is a pass, which runs on `backend`.

        Parameters
        ----------
        count : int
            How many; all rows where there are not more.
        rng : Generator
            Draws the seed of the hash.
        backend : object, default="serial"
            As of `run_pass`.

        Returns
        -------
        Block
            Its `start` is 0 and says nothing.
        """
        refuse_if(count < 1, "The number of rows of a sample", "at least 1", count)
        self._promise(count, "A sample", "Draw fewer rows.")
        draw, n = Sampling(count, int(rng.integers(2**63))), int(self.rows or 0)
        if self.take is None:
            return Sampling.block(run_pass(self, draw, at_once=_AT_ONCE, backend=backend))
        drawn: dict[str, Array] = {}
        for start in range(0, n, _STRETCH):
            draw.keep(drawn, start, min(_STRETCH, n - start))
        return self.layout.check(self.take(drawn["rows"]), 0, drawn["rows"])


def _least(words: Array, count: int) -> Array:
    """The places of the `count` smallest words."""
    return np.argpartition(words, count - 1)[:count] if len(words) > count else np.arange(len(words))


@dataclass(frozen=True)
class Sampling(PassWork):
    """Work of a pass that keeps the `count` rows with the smallest hashed numbers, however the table is cut.

    Attributes
    ----------
    count : int
        How many.
    seed : int
        Of the hash.
    """

    count: int
    seed: int

    def add(self, state: dict[str, Array], block: Block) -> None:
        """Look at the words of a block and keep the rows that are among the smallest so far."""
        self.keep(state, block.start, len(block), block.columns())

    def keep(self, state: dict[str, Array], start: int, rows: int, columns: Columns = _NONE) -> None:
        """Keep those of some rows, with their columns, whose words are among the smallest so far."""
        words = words_of(start, rows, self.seed)
        full = len(state.get("words", ())) >= self.count
        kept = np.flatnonzero(words < state["words"].max()) if full else _least(words, self.count)
        named = zip(("X", "Y", "weights", "keys"), pick(columns, kept), strict=True)
        fresh = {name: np.array(column) for name, column in named if column is not None}
        self.merge(state, fresh | {"words": words[kept], "rows": start + kept})

    def merge(self, a: dict[str, Array], b: dict[str, Array]) -> dict[str, Array]:
        """The smallest of both, in the order of the table."""
        both = {name: join([a[name], b[name]]) for name in b} if a and b else a or b
        if both:
            kept = _least(both["words"], self.count)
            kept = kept[np.argsort(both["rows"][kept])]
            a.update({name: column[kept] for name, column in both.items()})
        return a

    @staticmethod
    def block(state: dict[str, Array]) -> Block:
        """What was kept."""
        return Block(state["X"], state.get("Y"), state.get("weights"), state.get("keys"), 0)


# Tables whose rows can be had by number


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
    with retell(f"{str(path)!r} cannot be read"):
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

    identity, take = partial(_identity, columns, layout), partial(pick, columns)
    return Source(parts, layout, rows=rows, whole=part_of(0, rows), take=take, identity=identity)


def _identity(columns: Columns, layout: Layout) -> str:
    """A text that differs for other arrays or another layout."""
    marks = [None if column is None else fingerprint(column) for column in columns]
    return repr(marks) if layout.names is None else repr((marks, layout))


def read_arrays(columns: Columns, part: Part, skip: int, at_once: int) -> Iterator[Block]:
    """The rows of a part whose columns are arrays."""
    for first in range(skip, part.rows or 0, at_once):
        yield part.check(pick(columns, slice(first, first + at_once)), first)
