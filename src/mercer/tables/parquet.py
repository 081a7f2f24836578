"""Parquet files: whole tables, some columns of long ones, and passes over blocks of rows."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, MemoryRefusal, sentence
from mercer.runtime import promise
from mercer.tables.delimited import refuse_twice
from mercer.tables.values import ENDLESS_TEXTS, MISSING_WORDS

_AT_ONCE = 50_000  # rows of a block
# Bytes of memory for each cell of a Parquet file, measured on a million rows: numbers 38 to 52, texts 33 to 175.
_PER_NUMBER, _PER_TEXT = 52, 180
_PAGE = 2**20  # bytes read ahead of a column, so that no column of a large row group is held


def table_path(source: str) -> Path:
    """The path of a table; an empty one, which would be the current directory, is refused."""
    if not source:
        raise InputError(sentence("The name of a table", "a path, or - for standard input", "an empty string"))
    return Path(source)


def pyarrow(what: str) -> Any:
    """The package, or the sentence that says how to get it."""
    try:
        import pyarrow as pa
    except ImportError:  # pragma: no cover - the extra is there in tests
        raise InputError(f"{what} needs pyarrow, which is not installed: pip install 'mercer[tables]'") from None
    return pa


def plain(cells: Any) -> Any:
    """A batch or table with strings and bytes of the ordinary types: few functions of pyarrow know the view types.

    Text that is not UTF-8 raises pyarrow's own ArrowInvalid.
    """
    import pyarrow as pa

    cells.validate(full=True)
    ordinary = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    if not any(str(kind) in ordinary for kind in cells.schema.types):
        return cells
    columns = [column.cast(ordinary.get(str(column.type), column.type)) for column in cells.columns]
    return type(cells).from_arrays(columns, names=cells.schema.names)


def opened(path: str | Path) -> Any:
    """A Parquet file, whose pages are read when they are needed."""
    package = pyarrow("Parquet")
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path, buffer_size=_PAGE, pre_buffer=False)
    except (package.ArrowException, OSError, ValueError) as problem:
        raise InputError(f"{str(path)!r} is not a readable Parquet file: {one_line(problem)}.") from None


def guarded(batches: Iterator[Any], path: str) -> Iterator[Any]:
    """What goes wrong in reading, in a sentence."""
    package = pyarrow("Parquet")
    try:
        yield from map(plain, batches)
    except (package.ArrowException, OSError) as problem:
        raise InputError(f"{path!r} is a damaged Parquet file: {one_line(problem)}.") from None


def files_of(folder: Path) -> list[Path]:
    """The Parquet files of a directory, in the order of their names."""
    found = sorted(file for file in folder.rglob("*.parquet") if file.is_file() and file.name[0] not in "._")
    deeper = [file for file in found if file.parent != folder]
    if deeper:
        raise InputError(
            f"The directory {str(folder)!r} must not have Parquet files in subdirectories; got "
            f"{str(deeper[0].relative_to(folder))!r}."
        )
    return found


def read_parquet(raw: bytes, what: str, too_large: str) -> Any:
    """The table of pyarrow's that the bytes of a Parquet file are."""
    package = pyarrow("Parquet")
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(io.BytesIO(raw))
        names = refuse_twice([str(name) for name in file.schema_arrow.names], what)
        promise_cells(file.schema_arrow, file.metadata.num_rows, what, too_large)
        return plain(file.read()).rename_columns(names)
    except (InputError, MemoryRefusal):
        raise
    except (package.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        raise InputError(f"{what} is a damaged Parquet file: {one_line(error)}.") from None


def promise_cells(schema: Any, rows: int, what: str, too_large: str) -> None:
    """Refuse a Parquet table whose cells do not fit in memory, before they are read."""
    from pyarrow import types

    numbers = sum(types.is_primitive(kind) or types.is_decimal(kind) for kind in schema.types)
    needed = rows * (_PER_NUMBER * numbers + _PER_TEXT * (len(schema.types) - numbers))
    promise(needed, f"Reading {what}", too_large)


def one_line(error: BaseException) -> str:
    """What an error of another library says, short and without a full stop."""
    words = " ".join(str(error).split())
    return (words if len(words) <= 150 else words[:147] + "...").rstrip(".")


@dataclass(frozen=True, eq=False)
class Survey:
    """What one look at a long table brings back.

    Attributes
    ----------
    sample : pyarrow.Table
        Rows at even distances.
    rows : ndarray of int
        Their numbers.
    whole : pyarrow.Table
        All rows of a few columns.
    gaps : dict of str to pair of ndarray of bool
        For each column that was to be looked at: which rows are blank there, and which say NA or the like.
    """

    sample: Any
    rows: Array
    whole: Any
    gaps: dict[str, tuple[Array, Array]]


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
    >>> from mercer.tables.parquet import LongTable
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
                    raise InputError(f"{file.name} must have the same columns as {files[0].name}, in the same order.")
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

    def survey(self, whole: Sequence[str], looked_at: Collection[str], count: int, *, endless: bool = False) -> Survey:
        """One pass: a sample of about `count` rows, some columns whole, and where others have gaps.

        `endless`: infinite numbers are gaps, too.
        """
        import pyarrow as pa

        step = max(1, self.rows // count)
        samples, kept, row = [], [], 0
        gaps: dict[str, list[tuple[Array, Array]]] = {name: [] for name in looked_at}
        for block in self.blocks(self.names):
            samples.append(block.take(np.arange(-row % step, block.num_rows, step)))
            kept.append(block.select(list(whole)))
            for name, found in gaps.items():
                found.append(_gaps(block.column(name), endless=endless))
            row += block.num_rows
        joined = {
            name: (np.concatenate([blank for blank, _ in found]), np.concatenate([words for _, words in found]))
            for name, found in gaps.items()
        }
        return Survey(pa.concat_tables(samples), np.arange(0, row, step), pa.concat_tables(kept), joined)


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # whoever reads it says why


def _gaps(column: Any, *, endless: bool) -> tuple[Array, Array]:
    """Cells that are null, NaN or blank (or infinite), and those with a word for missing."""
    from pyarrow import array, compute, types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    blank = np.array(compute.is_null(column, nan_is_null=types.is_floating(column.type)), dtype=bool)
    nowhere = np.zeros(len(blank), dtype=bool)
    if types.is_floating(column.type) and endless:
        blank |= np.isinf(np.asarray(column.to_numpy()))
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return blank, nowhere
    texts = compute.utf8_lower(compute.utf8_trim_whitespace(compute.fill_null(column, "")))
    words = array([*MISSING_WORDS, *(ENDLESS_TEXTS if endless else ())], texts.type)
    return np.array(compute.equal(texts, ""), dtype=bool), np.array(compute.is_in(texts, words), dtype=bool)
