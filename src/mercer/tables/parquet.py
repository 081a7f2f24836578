"""Parquet files: whole tables, some columns of long ones, and passes over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.data.rows import Array, Names
from mercer.errors import InputError, MemoryRefusal, refuse, refuse_if
from mercer.runtime import promise, readable
from mercer.runtime.disk import SourceStamp
from mercer.runtime.resources import available_bytes
from mercer.tables.cells import short
from mercer.tables.delimited import refuse_twice
from mercer.tables.values import ENDLESS_TEXTS, MISSING_WORDS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ColumnChunkMetaData, ColumnSchema, ParquetFile

_AT_ONCE = 50_000  # rows of a block
# Bytes of memory for each cell of a table that is held: 38 to 52 for numbers, less for the codes of texts, measured on
# a million rows; for each byte of texts in a row group, which are held compressed, encoded and as a dictionary; and for
# each different text as an object of Python's, beside its letters.
_PER_CELL, _PER_BYTE, _PER_TEXT = 52, 3, 180
_WIDEST = 4  # bytes of a letter in Python's texts, unless all are ASCII
_PAGE = 2**20  # bytes read ahead of a column, so that no column of a large row group is held
_LARGEST = 2**31 - 2  # bytes of the texts of a dictionary
_SMALLER = "Write the file with smaller row groups, or without its longest texts."


def table_path(source: str) -> Path:
    """The path of a table; an empty one, which would be the current directory, is refused."""
    refuse_if(not source, "The name of a table", "a path, or - for standard input", "an empty string")
    return Path(source)


def pyarrow(what: str) -> Any:
    """The package, or the sentence that says how to get it."""
    try:
        import pyarrow as pa
    except ImportError:  # pragma: no cover - the extra is there in tests
        raise InputError(f"{what} needs pyarrow, which is not installed: pip install 'mercer[tables]'") from None
    return pa


@contextmanager
def _refuse_damage(what: str, is_what: str = "is a damaged Parquet file") -> Iterator[None]:
    """What pyarrow raises inside as one sentence."""
    package = pyarrow("Parquet")
    try:
        yield
    except (InputError, MemoryRefusal):
        raise
    except (package.ArrowException, OSError, ValueError, TypeError, MemoryError) as problem:
        raise InputError(f"{what} {is_what}: {one_line(problem)}.") from None


def parquet_file(path: str | Path) -> ParquetFile:
    """A Parquet file, whose pages are read when they are needed."""
    with _refuse_damage(repr(Path(path).name), "is not a readable Parquet file"):
        return _file(path)


def _file(source: str | Path | bytes, coded: Sequence[str] = ()) -> ParquetFile:
    """A Parquet file, or the bytes of one, with the columns at these paths read as dictionaries."""
    import pyarrow as pa
    from pyarrow import parquet

    data = pa.BufferReader(source) if isinstance(source, bytes) else source
    how = {"buffer_size": _PAGE, "pre_buffer": False, "page_checksum_verification": True}
    return parquet.ParquetFile(data, read_dictionary=list(coded), **how)


def blocks_of(
    source: str | Path | bytes, what: str, at_once: int, columns: Names = None, groups: Sequence[int] | None = None
) -> Iterator[pa.Table]:
    """The rows of a Parquet file as tables of pyarrow's, at most `at_once` rows each, with texts as dictionaries.

    Few bytes of a file can stand for many: a text that repeats, or begins like the one before, is stored once. The
    texts of a row group are therefore decoded as one dictionary, which takes no more memory than the footer says, and
    that is promised before.

    Parameters
    ----------
    source : path or bytes
        The file, or what it holds.
    what : str
        What to call it.
    at_once : int
        Rows of a table.
    columns : sequence of str, default=None
        Some of the columns.
    groups : sequence of int, default=None
        Some of the row groups.
    """
    with _refuse_damage(what):
        with _file(source) as file:
            names = list(file.schema_arrow.names if columns is None else columns)
            groups = range(file.metadata.num_row_groups) if groups is None else groups
            texts = [_texts_in(file, group, {*names}) for group in groups]
        pairs = [pair for chunks in texts for pair in chunks.items()]
        # texts stored by how they differ from each other, which pyarrow cannot read as a dictionary
        delta = {path for path, chunk in pairs if any(encoding.startswith("DELTA") for encoding in chunk.encodings)}
        with _file(source, sorted({path for path, _ in pairs} - delta)) as file:
            for group, chunks in zip(groups, texts, strict=True):
                yield from _group_blocks(file, group, names, chunks, what, at_once)


def _leaves(file: ParquetFile) -> list[ColumnSchema]:
    """The columns as they are stored, those inside of lists and the like, too."""
    return [file.schema.column(place) for place in range(file.metadata.num_columns)]


def _holds_texts(leaf: ColumnSchema) -> bool:
    """Whether a column holds texts or bytes."""
    return bool(leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL")


def _chunks(file: ParquetFile, group: int, leaves: dict[int, ColumnSchema]) -> list[ColumnChunkMetaData]:
    """What the footer says of columns of a row group, which are given by place.

    One row is read first: pyarrow refuses to read a chunk whose description is damaged, but ends the process where it
    is asked for it.
    """
    next(file.iter_batches(1, row_groups=[group], columns=[leaf.path for leaf in leaves.values()]), None)
    return [file.metadata.row_group(group).column(place) for place in leaves]


def _texts_in(file: ParquetFile, group: int, names: set[str]) -> dict[str, ColumnChunkMetaData]:
    """What the footer says of the texts and bytes in these columns of a row group, by path: a name, or `name.item`."""
    texts = {place: leaf for place, leaf in enumerate(_leaves(file)) if _holds_texts(leaf)}
    texts = {place: leaf for place, leaf in texts.items() if names & {leaf.path, leaf.path.partition(".")[0]}}
    return dict(zip((leaf.path for leaf in texts.values()), _chunks(file, group, texts) if texts else (), strict=True))


def _group_blocks(
    file: ParquetFile, group: int, names: list[str], chunks: dict[str, ColumnChunkMetaData], what: str, at_once: int
) -> Iterator[pa.Table]:
    """The rows of one row group: its texts decoded together, all other columns as they are needed."""
    import pyarrow as pa

    reading = f"Reading the texts of a row group of {what}"
    sizes = [chunk.total_uncompressed_size for chunk in chunks.values()]
    largest, must_be = max(sizes, default=0), f"one with less than {readable(_LARGEST)} of text in each column"
    refuse_if(largest > _LARGEST, f"A row group of {what}", must_be, readable(largest), _SMALLER)
    promise(_PER_BYTE * sum(sizes), reading, _SMALLER)
    texts = [name for name in names if name in chunks]
    coded = [name for name in texts if pa.types.is_dictionary(file.schema_arrow.field(name).type)]
    table = file.read_row_group(group, columns=coded)
    table.validate(full=True)  # text that is not UTF-8 raises pyarrow's own ArrowInvalid
    held = {name: table.column(name) for name in coded}
    held |= {name: _recode(file, group, name, chunks[name], reading) for name in texts if name not in coded}
    done = 0
    for batch in file.iter_batches(at_once, row_groups=[group], columns=[name for name in names if name not in held]):
        batch.validate(full=True)
        cut = {name: column.slice(done, batch.num_rows) for name, column in held.items()}
        yield pa.table({name: cut[name] if name in cut else batch.column(name) for name in names})
        done += batch.num_rows


def _recode(file: ParquetFile, group: int, name: str, chunk: ColumnChunkMetaData, reading: str) -> pa.ChunkedArray:
    """A column of texts that pyarrow cannot read as a dictionary, as one.

    No text is longer than all that is stored, so few enough are decoded at once to fit in memory however long they are.
    """
    import pyarrow as pa

    rows, stored = file.metadata.row_group(group).num_rows, max(1, chunk.total_uncompressed_size)
    in_full = {"PLAIN", "RLE", "BIT_PACKED", "DELTA_LENGTH_BYTE_ARRAY"}.issuperset(chunk.encodings)
    step = rows if in_full else max(1, min(available_bytes() // 8, _LARGEST) // stored)
    pieces: list[pa.DictionaryArray] = []
    count = 0
    for batch in file.iter_batches(step, row_groups=[group], columns=[name]):
        batch.validate(full=True)
        column = batch.column(0)
        kind = pa.binary() if "binary" in str(column.type) else pa.string()
        pieces.append(getattr(column, "storage", column).cast(kind).dictionary_encode())
        count += pieces[-1].nbytes
        promise(_PER_BYTE * count, reading, _SMALLER)
    return pa.chunked_array([pa.chunked_array(pieces).combine_chunks()])


def files_of(folder: Path, *, needed: bool = True) -> list[Path]:
    """A Parquet file, or those of a directory in the order of their names; `needed`: refused where there is none."""
    if not folder.is_dir():
        return [folder]
    found = sorted(file for file in folder.rglob("*.parquet") if file.is_file() and file.name[0] not in "._")
    deeper = [file for file in found if file.parent != folder]
    what, first = f"The directory {str(folder)!r}", [str(file.relative_to(folder)) for file in deeper[:1]]
    refuse(deeper, f"{what} must not have Parquet files in subdirectories; got {', '.join(map(repr, first))}.")
    refuse(not found and needed, f"{what} contains no Parquet files.")
    return found


def read_parquet(raw: bytes, what: str, too_large: str) -> tuple[pa.Table, frozenset[str]]:
    """The table of pyarrow's that the bytes of a Parquet file are, and the columns that it declares as categories."""
    with _refuse_damage(what):
        with _file(raw) as file:
            names, declared = refuse_twice(file.schema_arrow.names, what), declared_categories(file.schema_arrow)
            longest = max((file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)), default=0)
            promise(bytes_held(file), f"Reading {what}", too_large)
            tables = [file.schema_arrow.empty_table()] if not longest else list(blocks_of(raw, what, longest))
        return pyarrow("Parquet").concat_tables(tables).rename_columns(names), declared


def declared_categories(schema: pa.Schema) -> frozenset[str]:
    """The columns of a Parquet file whose writer declared them as categories."""
    from pyarrow import types

    return frozenset(str(field.name) for field in schema if types.is_dictionary(field.type))


def bytes_held(file: ParquetFile) -> int:
    """Bytes of memory that all rows of a Parquet file take, by its footer, as a table of pyarrow's."""
    leaves, count = dict(enumerate(_leaves(file))), 0
    for group in range(file.metadata.num_row_groups):
        for leaf, chunk in zip(leaves.values(), _chunks(file, group, leaves), strict=True):
            stored = _PER_BYTE * chunk.total_uncompressed_size * _holds_texts(leaf)
            count += (_PER_CELL + leaf.length) * chunk.num_values + stored
    return count


def distinct_texts(column: pa.ChunkedArray) -> tuple[list[str], Array]:
    """The different texts (or bytes) of a dictionary column in the order of their first rows, and the code of each row.

    The code is the place of its text, -1 for a missing cell. Texts that no row has are not looked at.
    """
    places: dict[str, int] = {}
    codes = [np.empty(0, dtype=np.intp)]
    for chunk in map(_drop_unused, column.chunks):
        own = [places.setdefault(text, len(places)) for text in chunk.dictionary.to_pylist()]
        codes.append(np.array([*own, -1], dtype=np.intp)[chunk.indices.fill_null(-1).to_numpy()])
    return list(places), np.concatenate(codes)


def promise_texts(columns: Iterable[pa.ChunkedArray], what: str) -> None:
    """Refuse columns whose different texts do not fit in memory as objects of Python's, before these are made."""
    from pyarrow import compute, types

    needed = 0
    for chunk in (chunk for column in columns if types.is_dictionary(column.type) for chunk in column.chunks):
        known = _drop_unused(chunk).dictionary
        wide = types.is_string(known.type) and not compute.all(compute.string_is_ascii(known)).as_py()
        needed += chunk.nbytes + _PER_TEXT * len(known) + known.nbytes * (_WIDEST if wide else 1)
    promise(needed, f"Reading the texts of {what}", "Drop columns of long texts, or shorten the texts.")


def _drop_unused(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    """A dictionary array without the texts that no row has, in the order of their first rows."""
    from pyarrow import DictionaryArray

    used = chunk.indices.dictionary_encode()
    if np.array_equal(used.dictionary.to_numpy(), np.arange(len(chunk.dictionary))):
        return chunk
    return DictionaryArray.from_arrays(used.indices, chunk.dictionary.take(used.dictionary))


def compact(table: pa.Table) -> pa.Table:
    """A table whose dictionaries hold nothing that no row has: what is cut out of a block must not keep the block."""
    import pyarrow as pa

    for place, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            cut = pa.chunked_array([*map(_drop_unused, column.chunks)], column.type)
            table = table.set_column(place, table.column_names[place], cut)
    return table


def one_line(error: BaseException) -> str:
    """What an error of another library says, short and without a full stop."""
    return short(str(error), 150).rstrip(".")


@dataclass(frozen=True, eq=False)
class LongTable:
    """A Parquet file, or a directory of them, that is not read whole.

    Attributes
    ----------
    files : tuple of SourceStamp
        In the order of their names.
    schemas : tuple of pyarrow.Schema
        The columns of each file.
    sizes : tuple of tuple of int
        Rows of the row groups of each file.
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
    ...     table = LongTable.find(str(path), above=500)
    ...     blocks = list(table.blocks(["y"]))
    >>> table.rows, blocks[0].num_rows
    (1000, 1000)
    """

    files: tuple[SourceStamp, ...]
    schemas: tuple[pa.Schema, ...]
    sizes: tuple[tuple[int, ...], ...]
    what: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.schemas[0].names)

    @property
    def rows(self) -> int:
        """In all files."""
        return sum(map(sum, self.sizes))

    @property
    def declared_categories(self) -> frozenset[str]:
        """Columns that the first file declares as categories."""
        return declared_categories(self.schemas[0])

    @staticmethod
    def open(path: Path) -> LongTable:
        """A Parquet file, or the files of a directory; only what their footers say is read."""
        files = files_of(path)
        stamps, schemas, sizes = tuple(map(SourceStamp.of, files)), [], []
        for file in files:
            with parquet_file(file) as held:
                schema, metadata = held.schema_arrow, held.metadata
            schemas.append(schema)
            odd = sorted(set(refuse_twice(schema.names, file.name)) ^ set(schemas[0].names))
            words = f"{file.name} must have the same columns as {files[0].name}; only one of the two files has "
            refuse(odd, f"{words}{', '.join(map(repr, odd[:5]))}.")
            sizes.append(tuple(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)))
        return LongTable(stamps, tuple(schemas), tuple(sizes), path.name)

    @staticmethod
    def find(source: str, above: int) -> LongTable | None:
        """The table at a path, if it is a Parquet table of more rows than that; otherwise None."""
        path = table_path(source)
        if source == "-" or not (path.is_dir() or path.is_file()):  # a pipe can be opened once, by whoever reads it
            return None
        files = files_of(path, needed=False)
        table = LongTable.open(path) if files and all(map(_is_parquet, files)) else None
        return table if table is not None and (table.rows > above or path.is_dir()) else None

    def promise(self, too_large: str) -> None:
        """Refuse a table that does not fit in memory as a whole."""
        needed = 0
        for file in self.files:
            with parquet_file(file.path) as held:
                needed += bytes_held(held)
        promise(needed, f"Reading {self.what}", too_large)

    def blocks(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Some columns, block by block, as tables of pyarrow's."""
        for file in self.files:
            file.check()
            yield from blocks_of(file.path, repr(Path(file.path).name), _AT_ONCE, columns)
            file.check()


def _is_parquet(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:  # whoever reads it says why
        return file.read(4) == b"PAR1"
    return False


def gaps_in(column: pa.ChunkedArray, *, endless: bool) -> tuple[Array, Array]:
    """Cells that are null, NaN or blank (or infinite), and those with a word for missing."""
    from pyarrow import array, compute, types

    if not (types.is_dictionary(column.type) and types.is_string(column.type.value_type)):
        floats = types.is_floating(column.type)
        blank = np.array(compute.is_null(column, nan_is_null=floats), dtype=bool)
        if floats and endless:
            blank |= np.isinf(np.asarray(column.to_numpy()))
        return blank, np.zeros(len(blank), dtype=bool)
    blanks, words = [], []
    for chunk in map(_drop_unused, column.chunks):
        codes = chunk.indices.fill_null(-1).to_numpy()
        texts = compute.utf8_lower(compute.utf8_trim_whitespace(chunk.dictionary))
        known = array([*MISSING_WORDS, *(ENDLESS_TEXTS if endless else ())], texts.type)
        blanks.append(np.append(compute.equal(texts, ""), True)[codes].astype(bool))
        words.append(np.append(compute.is_in(texts, known), False)[codes].astype(bool))
    return np.concatenate(blanks), np.concatenate(words)
