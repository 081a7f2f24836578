"""Whatever holds a table, opened as a source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.checks import as_names
from mercer.errors import InputError, sentence
from mercer.streaming.blocks.arrays import StoredPart, frame_part, stored_source
from mercer.streaming.blocks.cells import refuse_kind
from mercer.streaming.blocks.roles import Roles, RolesGiven, find_roles
from mercer.streaming.blocks.source import Source
from mercer.streaming.blocks.stores import Store, as_store, names_of, open_npy
from mercer.tables.parquet import table_path
from mercer.tables.reading import no_file

_TEXTS = frozenset({".csv", ".tsv"})
_KINDS = (
    "an array, a DataFrame, the path of a .npy, .csv, .tsv or .parquet file or of a directory of Parquet files, an "
    "iterable of blocks, or a Dask collection"
)


def as_source(X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, labels: bool = False) -> Source:
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
        return _path(table_path(os.fspath(X)), asked)
    if hasattr(X, "__dask_graph__"):
        from mercer.streaming.blocks.collections import open_collection

        return open_collection(X, asked)
    if hasattr(X, "tocsr"):
        way_out = "Pass an iterable of dense blocks, made with X[i:j].toarray()."
        raise InputError(sentence("X", "a dense table", "a sparse matrix", way_out))
    if X is None or isinstance(X, bytes | dict | set | frozenset):
        raise InputError(sentence("X", _KINDS, type(X).__name__))
    if (names := names_of(X)) is not None:
        roles = find_roles(names, asked.names(), "X")
        others = [_column(value, what, len(X)) for what, value in asked.arrays().items()]
        return stored_source(frame_part(X, roles, 0, others))
    if _is_blocks(X):
        from mercer.streaming.blocks.streams import open_stream

        return open_stream(X, asked)
    return _arrays(_table(X), asked)


def _is_blocks(X: Any) -> bool:
    """Whether something is blocks and not a table: a list whose first element is a block, or no sequence of rows."""
    if hasattr(X, "__array__"):
        return False
    if isinstance(X, list | tuple):
        first: Any = X[0] if X else None
        table = first[0] if isinstance(first, tuple) and first else first
        return hasattr(table, "shape") and len(table.shape) == 2
    return callable(X) or hasattr(X, "__iter__")


def file_roles(path: Path, asked: RolesGiven) -> tuple[Roles, bool]:
    r"""Which column of a CSV or Parquet file, or of a directory of these, is what; and whether all inputs are numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.streaming.blocks.opening import file_roles
    >>> from mercer.streaming.blocks.roles import RolesGiven
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("size,town,price\n50,Rome,300\n70,Bonn,410\n")
    ...     roles, numbers = file_roles(path, RolesGiven("price"))
    >>> roles.X, numbers
    (('size', 'town'), False)
    """
    _refuse_pipe(path)
    if path.suffix.lower() in _TEXTS and path.is_file():
        from mercer.streaming.blocks.delimited_text import text_roles

        return text_roles(path, asked)
    from mercer.streaming.blocks.parquet import parquet_roles

    return parquet_roles(path, asked)


def _refuse_pipe(path: Path) -> None:
    if not path.exists():
        raise no_file(path)
    if not (path.is_file() or path.is_dir()):
        must_be = "a regular file or a directory, because it is read several times"
        raise InputError(
            sentence(f"The table {str(path)!r}", must_be, "a pipe or a device", "Save it to a file first.")
        )


def is_named_table(path: Path) -> bool:
    """Whether a path is that of a table with names of columns, by its ending: CSV, TSV, Parquet or a directory."""
    return path.suffix.lower() in {*_TEXTS, ".parquet"} or path.is_dir()


def _path(path: Path, asked: RolesGiven) -> Source:
    suffix = path.suffix.lower()
    _refuse_pipe(path)
    if suffix == ".parquet" or path.is_dir():
        from mercer.streaming.blocks.parquet import open_parquet

        return open_parquet(path, asked)
    if suffix in _TEXTS:
        from mercer.streaming.blocks.delimited_text import open_text

        return open_text(path, asked)
    if suffix == ".npy":
        return _arrays(open_npy(path), asked)
    raise InputError(f"The file {path.name!r} must end in .npy, .csv, .tsv or .parquet; got {suffix!r}.")


def _table(X: Any) -> Store:
    if np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
        raise InputError(
            "X must not have missing values (masked entries). Impute the missing values, or drop these rows."
        )
    try:
        return as_store(X if isinstance(X, np.memmap) else np.asarray(X))
    except ValueError:
        raise InputError(sentence("X", "a table with rows of one length", "rows of several lengths")) from None


def _column(values: Any, what: str, rows: int) -> Store | None:
    """What goes with the rows of X, as long as X."""
    if values is None:
        return None
    if isinstance(values, str | os.PathLike):
        path = Path(values)
        if path.suffix.lower() != ".npy":
            raise InputError(sentence(what, "an array or the path of a .npy file", repr(str(values))))
        found = open_npy(path)
    else:
        found = as_store(values if isinstance(values, np.memmap) else as_names(values))
    if not 1 <= len(found.shape) <= 2:
        raise InputError(sentence(what, "one value per row", f"an array of {len(found.shape)} dimensions"))
    if found.shape[0] != rows:
        raise InputError(sentence(what, f"as long as X ({rows} rows)", f"{found.shape[0]} rows"))
    return found


def _arrays(table: Store, asked: RolesGiven) -> Source:
    if len(table.shape) != 2:
        got = f"{table.shape[0]} numbers" if len(table.shape) == 1 else f"{len(table.shape)} dimensions"
        raise InputError(sentence("X", "a table with rows and columns", got, "For one column, use X.reshape(-1, 1)."))
    refuse_kind(table.dtype, "X")
    y, weights, keys = (_column(value, what, table.shape[0]) for what, value in asked.items())
    if y is not None and not asked.labels:
        refuse_kind(y.dtype, "y")
    return stored_source(StoredPart(table, y, weights, keys, labels=asked.labels))
