"""Whatever holds a table, opened as a source; and blocks that the caller makes, from any iterable that restarts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from mercer.data.checks import as_names, kind_of_names, one_kind
from mercer.data.rows import PerRow, XLike, YLike
from mercer.errors import InputError, sentence
from mercer.streaming.blocks.arrays import as_frame, as_stored, open_arrays, open_frame, open_npy
from mercer.streaming.blocks.collections import open_collection
from mercer.streaming.blocks.files import TEXTS, open_parquet, open_text, refuse_pipe
from mercer.streaming.blocks.source import Part, Source
from mercer.streaming.blocks.table import Block, Columns, Layout, RolesGiven
from mercer.tables.parquet import table_path
from mercer.text import counted

_KINDS = (
    "an array, a DataFrame, the path of a .npy, .csv, .tsv or .parquet file or of a directory of Parquet files, an "
    "iterable of blocks, or a Dask collection"
)
_FORM = "X alone, (X, y), (X, y, weights) or (X, y, weights, groups)"
_AFRESH = "Pass a list, an object whose __iter__ restarts, or a function that returns a new iterator."


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
        return _open_path(table_path(os.fspath(X)), asked)
    if hasattr(X, "__dask_graph__"):
        return open_collection(X, asked)
    if hasattr(X, "tocsr"):
        way_out = "Pass an iterable of dense blocks, made with X[i:j].toarray()."
        raise InputError(sentence("X", "a dense table", "a sparse matrix", way_out))
    if X is None or isinstance(X, bytes | dict | set | frozenset):
        raise InputError(sentence("X", _KINDS, type(X).__name__))
    if (frame := as_frame(X)) is not None:
        return open_frame(frame, asked)
    if _is_blocks(X):
        return open_stream(X, asked)
    if np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
        raise InputError(
            "X must not have missing values (masked entries). Impute the missing values, or drop these rows."
        )
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


def _open_path(path: Path, asked: RolesGiven) -> Source:
    refuse_pipe(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet" or path.is_dir():
        return open_parquet(path, asked)
    if suffix in TEXTS:
        return open_text(path, asked)
    if suffix == ".npy":
        return open_arrays(open_npy(path), asked)
    raise InputError(f"The file {path.name!r} must end in .npy, .csv, .tsv or .parquet; got {suffix!r}.")


def open_stream(X: XLike, asked: RolesGiven) -> Source:
    """An iterable of blocks, or a function without arguments that starts one."""
    for what, given in asked.items():
        if given is not None:
            raise InputError(
                f"{what} must be None when X is an iterable of blocks; got {type(given).__name__}. Put it into the "
                f"blocks: {_FORM}."
            )
    begin = X if callable(X) and not hasattr(X, "__iter__") else partial(iter, X)
    started = begin()
    if not hasattr(started, "__iter__"):
        raise InputError(sentence("X()", "an iterator over blocks", type(started).__name__))
    if begin() is started:
        raise InputError(f"X is read several times and must not be an iterator. {_AFRESH}")
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
        if own != form:
            same = [column is None for column in own] == [column is None for column in form]
            got = "another number of columns or targets" if same else "other items"
            raise InputError(f"Block {place} must have the same items as block 0, such as (X, y); got {got}.")
        for what, names in (("y", block.Y if part.layout.labels else None), ("groups", block.keys)):
            kind = None if names is None else kind_of_names(what, names)
            if kind is not None:
                one_kind(what, [kinds.setdefault(what, (kind, f"block {place}")), (kind, f"block {place}")])
        if place == 0 and _mark(block) != mark:
            got = "a different first block"
            raise InputError(sentence("X", "the same blocks in every pass", got, _AFRESH))
        yield block
        row += len(block)


def _columns(given: object, place: int, width: int | None = None) -> Columns:
    """What a block holds, of one length."""
    items = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(items) <= 4:
        raise InputError(sentence(f"Block {place}", _FORM, f"{len(items)} items"))
    X, Y, weights, keys = (None if item is None else as_names(item) for item in (*items, None, None, None)[:4])
    if X is None or X.ndim != 2:
        got = "None" if X is None else f"{X.ndim} dimensions"
        raise InputError(sentence(f"X of block {place}", "a table with rows and columns", got))
    if width is not None and X.shape[1] != width:
        raise InputError(f"X of block {place} must have {counted(width, 'column')}; got {X.shape[1]}.")
    for what, other in (("y", Y), ("weights", weights), ("groups", keys)):
        if other is not None and (not other.ndim or len(other) != len(X)):
            got = f"{len(other) if other.ndim else 0} rows"
            raise InputError(sentence(f"{what} of block {place}", f"as long as its X ({len(X)} rows)", got))
    return X, Y, weights, keys


def _mark(first: Block) -> str:
    """By the first block: a stream is not read whole to be known again."""
    digest = hashlib.sha256(repr((first.X.shape, None if first.Y is None else first.Y.shape)).encode())
    for column in first.columns():
        if column is not None:
            digest.update(column.tobytes() if column.dtype != object else repr(column.tolist()).encode())
    return digest.hexdigest()
