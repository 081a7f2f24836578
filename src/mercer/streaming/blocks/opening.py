"""Whatever holds a table, opened as a source: files, arrays, frames, collections of Dask, iterables of blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from operator import getitem
from typing import Any, TypeAlias

import numpy as np

from mercer.data.checks import as_names, kind_of, kind_of_names, one_kind
from mercer.data.rows import PerRow, XLike, YLike, refuse_masked
from mercer.errors import InputError, refuse, refuse_if, sentence
from mercer.runtime.dask import compute, delayed
from mercer.streaming.blocks.files import open_parquet, open_text, refuse_pipe
from mercer.streaming.blocks.source import (
    Part,
    Source,
    as_frame,
    as_stored,
    fingerprint,
    frame_layout,
    open_arrays,
    open_frame,
    open_npy,
    read_arrays,
    read_frame,
    refuse_length,
)
from mercer.streaming.blocks.table import Block, Columns, Layout, Naming, RolesGiven, as_labels
from mercer.tables.parquet import table_path
from mercer.text import counted

_KINDS = (
    "an array, a DataFrame, the path of a .npy, .csv, .tsv or .parquet file or of a directory of Parquet files, an "
    "iterable of blocks, or a Dask collection"
)
_FORM = "X alone, (X, y), (X, y, weights) or (X, y, weights, groups)"
_AFRESH = "Pass a list, an object whose __iter__ restarts, or a function that returns a new iterator."
Lazy: TypeAlias = Any  # a collection of Dask, or a Delayed object: what one partition of it will be; or an array


_OPENERS = {".csv": open_text, ".tsv": open_text, ".parquet": open_parquet, ".npy": open_npy}


def as_source(
    X: XLike, y: YLike = None, *, sample_weight: PerRow = None, groups: PerRow = None, labels: bool = False
) -> Source:
    r"""Open a table so that it can be read in passes, a block of rows at a time.

    =======================================  ==============================================================
    X                                        y, sample_weight, groups
    =======================================  ==============================================================
    NumPy array, memory map, list of rows    arrays, memory maps or paths of `.npy`
    path of a `.npy` file                    the same
    DataFrame of pandas, polars, pyarrow     names of columns, or arrays
    path of a `.csv` or `.tsv` file          names of columns
    path of a `.parquet` file                names of columns
    directory of Parquet files               names of columns; files are taken in the order of their names
    iterable of blocks, or a function        in the blocks: `X`, `(X, y)`, `(X, y, weights)`,
    without arguments that starts one        `(X, y, weights, groups)`
    Dask array                               Dask or NumPy arrays
    Dask DataFrame                           names of columns, or Dask or NumPy arrays and Series
    =======================================  ==============================================================

    Parameters
    ----------
    X : object
        Where the inputs are. In a table with named columns they are all that are nothing else.
    y : object, default=None
        Targets; a list of names for several.
    sample_weight : object, default=None
        Weights of rows.
    groups : object, default=None
        Keys of groups.
    labels : bool, default=False
        Whether y holds labels, not numbers.

    Returns
    -------
    Source

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.streaming.blocks import as_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("size,rooms,price\n50,2,300\n70,3,410\n90,3,480\n")
    ...     source = as_source(path, "price")
    ...     blocks = list(source.blocks(2))
    >>> source.names, [block.Y.ravel().tolist() for block in blocks], source.rows
    (('size', 'rooms'), [[300.0, 410.0], [480.0]], 3)
    """
    if isinstance(X, Source):
        return X
    asked = RolesGiven(y, sample_weight, groups, labels)
    if isinstance(X, str | os.PathLike):
        path = table_path(os.fspath(X))
        refuse_pipe(path)
        suffix = path.suffix.lower()
        if (opener := _OPENERS.get(".parquet" if path.is_dir() else suffix)) is None:
            raise InputError(f"The file {path.name!r} must end in .npy, .csv, .tsv or .parquet; got {suffix!r}.")
        return opener(path, asked)
    if hasattr(X, "__dask_graph__"):
        return open_collection(X, asked)
    way_out = "Pass an iterable of dense blocks, made with X[i:j].toarray()."
    refuse_if(hasattr(X, "tocsr"), "X", "a dense table", "a sparse matrix", way_out)
    refuse_if(X is None or isinstance(X, bytes | dict | set | frozenset), "X", _KINDS, type(X).__name__)
    if (frame := as_frame(X)) is not None:
        return open_frame(frame, asked)
    if _is_blocks(X):
        return open_stream(X, asked)
    refuse_masked(X)
    try:
        table = as_stored(X)
    except ValueError:
        raise InputError(sentence("X", "a table with rows of one length", "rows of several lengths")) from None
    return open_arrays(table, asked)


def _is_blocks(X: XLike) -> bool:
    """Whether something is blocks and not a table: a list whose first element is a block, or no sequence of rows."""
    if hasattr(X, "__array__"):
        return False
    if isinstance(X, list | tuple):
        first: XLike = X[0] if X else None
        table = first[0] if isinstance(first, tuple) and first else first
        return hasattr(table, "shape") and len(table.shape) == 2
    return callable(X) or hasattr(X, "__iter__")


def open_stream(X: XLike, asked: RolesGiven) -> Source:
    """An iterable of blocks, or a function without arguments that starts one."""
    for what, given in asked.items():
        must_be, way_out = "None when X is an iterable of blocks", f"Put it into the blocks: {_FORM}."
        refuse_if(given is not None, what, must_be, type(given).__name__, way_out)
    begin = X if callable(X) and not hasattr(X, "__iter__") else partial(iter, X)
    started = begin()
    refuse_if(not hasattr(started, "__iter__"), "X()", "an iterator over blocks", type(started).__name__)
    refuse(begin() is started, f"X is read several times and must not be an iterator. {_AFRESH}")
    first = next(iter(started), None)
    columns = None if first is None else _columns(first, 0)
    if columns is None or not len(columns[0]):
        raise InputError("X must yield at least one block, and the first block must have rows.")
    Y, flat = columns[1], columns[1] is None or columns[1].ndim == 1
    targets = None if Y is None else 1 if flat or asked.labels else Y.shape[1]
    called = ("X", "y", "weights", "groups")
    layout = Layout(columns[0].shape[1], targets=targets, flat=flat, labels=asked.labels, called=called)
    mark = _mark(layout.check(columns, 0, 0))
    part = Part(0, None, layout, partial(_read_stream, begin, mark))
    reason = "an iterable of blocks, which lives in this process alone"
    return Source((part,), layout, rows=None, identity=lambda: mark, here_only=reason)


def _read_stream(begin: Callable[[], Iterable[object]], mark: str, part: Part, *_: int) -> Iterator[Block]:
    """The blocks as they come; every pass must begin with the block of this mark, and all blocks must be alike."""
    row = 0
    form: list[tuple[int, ...] | None] = []
    kinds: dict[str, tuple[str, str]] = {}  # of labels and keys, each with the block in which it was found first
    for place, given in enumerate(begin()):
        block = part.check(_columns(given, place, part.layout.width), row)
        own = [None if column is None else column.shape[1:] for column in block.columns()]
        form = form or own
        same = all((a is None) is (b is None) for a, b in zip(own, form, strict=True))
        got = "another number of columns or targets" if same else "other items"
        refuse(own != form, f"Block {place} must have the same items as block 0, such as (X, y); got {got}.")
        for what, names in (("y", block.Y if part.layout.labels else None), ("groups", block.keys)):
            if names is not None and (kind := kind_of_names(what, names)) is not None:
                one_kind(what, [kinds.setdefault(what, (kind, f"block {place}")), (kind, f"block {place}")])
        other = place == 0 and _mark(block) != mark
        refuse_if(other, "X", "the same blocks in every pass", "a different first block", _AFRESH)
        yield block
        row += len(block)


def _columns(given: object, place: int, width: int | None = None) -> Columns:
    """What a block holds, of one length."""
    items = given if isinstance(given, tuple) else (given,)
    refuse_if(not 1 <= len(items) <= 4, f"Block {place}", _FORM, f"{len(items)} items")
    X, Y, weights, keys = (None if item is None else as_names(item) for item in (*items, None, None, None)[:4])
    if X is None or X.ndim != 2:
        got = "None" if X is None else f"{X.ndim} dimensions"
        raise InputError(sentence(f"X of block {place}", "a table with rows and columns", got))
    if width is not None and X.shape[1] != width:
        raise InputError(f"X of block {place} must have {counted(width, 'column')}; got {X.shape[1]}.")
    for what, other in (("y", Y), ("weights", weights), ("groups", keys)):
        rows = X.shape[:1] if other is None else other.shape[:1]
        must_be = f"as long as its X ({len(X)} rows)"
        refuse_if(rows != X.shape[:1], f"{what} of block {place}", must_be, f"{sum(rows)} rows")
    return X, Y, weights, keys


def _mark(first: Block) -> str:
    """By the first block: a stream is not read whole to be known again."""
    digest = hashlib.sha256(repr((first.X.shape, None if first.Y is None else first.Y.shape)).encode())
    for column in (column for column in first.columns() if column is not None):
        digest.update(column.tobytes() if column.dtype != object else repr(column.tolist()).encode())
    return digest.hexdigest()


def _read_partition(part: Part, skip: int, at_once: int, X: XLike, *others: XLike) -> Iterator[Block]:
    """The rows of one partition of Dask's, of which X, y, weights and groups were computed to be these."""
    words = f"A partition of X changed its length between passes: {part.rows} rows, then {len(X)}."
    refuse(len(X) != part.rows, f"{words} Make the computation deterministic, or persist X.")
    Y, weights, keys = (None if other is None else np.asarray(other) for other in others)
    frame = None if part.layout.names is None else as_frame(X)
    if frame is None:
        return read_arrays((np.asarray(X), Y, weights, keys), part, skip, at_once)
    return read_arrays(read_frame(frame, part.layout, (Y, weights, keys), part.start), part, skip, at_once)


def open_collection(X: XLike, asked: RolesGiven) -> Source:
    """A Dask array or DataFrame with what belongs to it."""
    named = hasattr(X, "npartitions") and hasattr(X, "columns")
    if not named and getattr(X, "ndim", 0) != 2:
        raise InputError(sentence("X", "a Dask array with rows and columns, or a Dask DataFrame", type(X).__name__))
    layout = frame_layout(X.columns, asked) if named else Layout(int(X.shape[1]), labels=asked.labels)
    given = asked.where(named=False) if named else asked
    if given.y is not None:
        shape = given.y.shape if _is_lazy(given.y) else np.shape(given.y)
        layout = replace(layout, targets=1 if len(shape) == 1 else int(shape[1]), flat=len(shape) == 1)
    tables = _partitions(X)
    lengths = _lengths(X, tables)
    others = [_cut_like(value, what, lengths) for what, value in given.items()]
    _refuse_kinds(X, asked, others, tables)
    starts = (np.cumsum(lengths) - lengths).tolist()
    parts = tuple(
        Part(start, rows, layout, _read_partition, start, tuple(pieces))
        for start, rows, *pieces in zip(starts, lengths, tables, *others, strict=True)
        if rows
    )

    held = X, given.y, given.weights, given.groups
    return Source(parts, layout, rows=sum(lengths), identity=lambda: repr([layout, *map(_token, held)]))


def _is_lazy(value: object) -> bool:
    """Whether something is a collection of Dask."""
    return hasattr(value, "__dask_graph__") and type(value).__module__.partition(".")[0].startswith("dask")


def _refuse_kinds(X: XLike, asked: RolesGiven, others: list[list[Lazy]], tables: list[Lazy]) -> None:
    """Refuse labels or keys that are of one kind in a partition and of another kind in the next.

    Their type settles it. Where Dask only knows that they are objects, each partition is asked for its kind.
    """
    for (what, value), own in zip(asked.items(), others, strict=True):
        if value is None or not (what == "groups" or (what == "y" and asked.labels)):
            continue
        column = isinstance(value, str)
        dtype = getattr(X[value] if column else value, "dtype", np.dtype(object))
        if kind_of(dtype.type) != kind_of(np.object_):
            continue
        pieces = [delayed(getitem)(table, value) for table in tables] if column else own
        named = [delayed(as_labels)(delayed(np.asarray)(piece), Naming(what)) for piece in pieces]
        kinds = compute([delayed(kind_of_names)(what, names) for names in named])
        one_kind(what, [(kind, f"partition {place}") for place, kind in enumerate(kinds) if kind is not None])


def _partitions(value: Lazy) -> list[Lazy]:
    """Delayed objects, one per stretch of rows."""
    if hasattr(value, "npartitions") and not hasattr(value, "chunks"):
        return list(value.to_delayed())
    if value.ndim == 2 and len(value.chunks[1]) > 1:
        words = f"X with unknown chunk sizes must have one chunk along axis 1; got {len(value.chunks[1])}."
        refuse(np.isnan(value.chunks[0]).any(), words + " Use X.rechunk({1: -1}) before filtering rows.")
        value = value.rechunk({1: -1})
    return list(value.to_delayed().ravel())


def _lengths(value: Lazy, pieces: list[Lazy]) -> list[int]:
    """Rows of each partition; one pass over the lengths where Dask does not know them."""
    chunks = getattr(value, "chunks", None)
    if chunks is None or np.isnan(chunks[0]).any():
        chunks = [compute([delayed(len)(piece) for piece in pieces])]
    return list(map(int, chunks[0]))


def _cut_like(value: Lazy, what: str, lengths: list[int]) -> list[Lazy]:
    """Something with one row per row of X, cut like X."""
    if value is None:
        return [None] * len(lengths)
    if not _is_lazy(value):
        array = as_names(value)
        refuse_length(what, sum(array.shape[:1]), sum(lengths))
        return list(np.split(array, np.cumsum(lengths)[:-1]))
    pieces = _partitions(value)
    own = _lengths(value, pieces)
    refuse_length(what, sum(own), sum(lengths))
    if own == lengths:
        return pieces
    fixed = not hasattr(value, "chunks") or np.isnan(value.chunks[0]).any()
    refuse_if(fixed, f"{what} of a Dask collection", "partitioned like X", "partitions of different lengths")
    return _partitions(value.rechunk({0: tuple(lengths)}))


def _token(value: Lazy) -> object:
    """What Dask itself knows a collection by; arrays by contents."""
    if _is_lazy(value):
        return value.__dask_tokenize__()
    return None if value is None else fingerprint(as_names(value))
