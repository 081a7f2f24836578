"""Parquet tables of many rows: some columns whole, a sample of all, and passes over blocks of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.blocks.parquet import files_of, guarded, opened
from mercer.data.delimited import refuse_twice
from mercer.data.reading import promise_cells, table_path
from mercer.data.rows import Array
from mercer.errors import InputError

_AT_ONCE = 50_000  # rows of a block


@dataclass(frozen=True, eq=False)
class Survey:
    """What one look at a long table brings back.

    Attributes
    ----------
    sample : pyarrow.Table
        Rows at even distances.
    whole : pyarrow.Table
        All rows of a few columns.
    gaps : dict of str to ndarray of bool
        For each column that was to be looked at: which rows have no cell there, or NaN.
    """

    sample: Any
    whole: Any
    gaps: dict[str, Array]


@dataclass(frozen=True, eq=False)
class LongTable:
    """A Parquet file, or a directory of them, that is not read whole.

    Attributes
    ----------
    files : tuple of Path
        In the order of their names.
    names : tuple of str
        Of the columns.
    rows : int
        In all files.
    what : str
        What to call it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> from mercer.data.long_tables import LongTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.parquet"
    ...     parquet.write_table(pa.table({"x": range(1000), "y": range(1000)}), path)
    ...     table = LongTable.found(str(path), above=500)
    ...     survey = table.survey(["y"], [], 10)
    >>> table.rows, survey.sample.num_rows, survey.whole.num_rows
    (1000, 10, 1000)
    """

    files: tuple[Path, ...]
    names: tuple[str, ...]
    rows: int
    what: str

    @staticmethod
    def found(source: str, above: int) -> LongTable | None:
        """The table at a path, if it is a Parquet table of more rows than that; otherwise None."""
        path = table_path(source)
        if source == "-" or not (path.is_dir() or path.is_file()):  # a pipe can be opened once, by whoever reads it
            return None
        files = files_of(path) if path.is_dir() else [path]
        if not files or not all(_is_parquet(file) for file in files):
            return None
        rows, names = 0, [""]
        for file in files:
            with opened(file) as held:
                own = refuse_twice([str(name) for name in held.schema_arrow.names], file.name)
                if file is not files[0] and own != names:
                    raise InputError(f"{file.name} must have the columns of {files[0].name}, in their order.")
                names, rows = own, rows + held.metadata.num_rows
        return LongTable(tuple(files), tuple(names), rows, path.name) if rows > above or path.is_dir() else None

    def promise(self, too_large: str) -> None:
        """Refuse a table that does not fit in memory as a whole."""
        with opened(self.files[0]) as held:
            promise_cells(held.schema_arrow, self.rows, self.what, too_large)

    def blocks(self, columns: Sequence[str]) -> Iterator[Any]:
        """Some columns, block by block, as tables of pyarrow's."""
        import pyarrow as pa

        for file in self.files:
            with opened(file) as held:
                for batch in guarded(held.iter_batches(_AT_ONCE, columns=list(columns)), str(file)):
                    yield pa.Table.from_batches([batch]).select(list(columns))

    def survey(self, whole: Sequence[str], looked_at: Collection[str], count: int) -> Survey:
        """One pass: a sample of about `count` rows, some columns whole, and where others have gaps."""
        import pyarrow as pa

        step = max(1, self.rows // count)
        samples, kept, row = [], [], 0
        gaps: dict[str, list[Array]] = {name: [] for name in looked_at}
        for block in self.blocks(self.names):
            samples.append(block.take(np.arange(-row % step, block.num_rows, step)))
            kept.append(block.select(list(whole)))
            for name, found in gaps.items():
                found.append(_gaps(block.column(name)))
            row += block.num_rows
        joined = {name: np.concatenate(found) for name, found in gaps.items()}
        return Survey(pa.concat_tables(samples), pa.concat_tables(kept), joined)


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # whoever reads it says why


def _gaps(column: Any) -> Array:
    """Cells that are not there, or NaN."""
    from pyarrow import compute, types

    empty = compute.is_null(column, nan_is_null=types.is_floating(column.type))
    if types.is_string(column.type) or types.is_large_string(column.type):
        empty = compute.or_(empty, compute.equal(compute.fill_null(column, ""), ""))
    return np.asarray(empty.to_numpy(), dtype=bool)
