"""Whatever holds a table, opened as a source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.rows import PerRow, XLike, YLike
from mercer.errors import InputError, sentence
from mercer.streaming.blocks.arrays import as_frame, as_stored, open_arrays, open_frame, open_npy
from mercer.streaming.blocks.collections import open_collection
from mercer.streaming.blocks.files import TEXTS, open_parquet, open_text, refuse_pipe
from mercer.streaming.blocks.source import Source
from mercer.streaming.blocks.streams import open_stream
from mercer.streaming.blocks.table import RolesGiven
from mercer.tables.parquet import table_path

_KINDS = (
    "an array, a DataFrame, the path of a .npy, .csv, .tsv or .parquet file or of a directory of Parquet files, an "
    "iterable of blocks, or a Dask collection"
)


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
        first: Any = X[0] if X else None
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
