"""CSV and TSV files, Parquet files and directories of them, in blocks read by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mercer.data.checks import kind_of, one_kind
from mercer.data.rows import Array
from mercer.errors import InputError, refuse_if, sentence
from mercer.runtime.disk import SourceStamp
from mercer.streaming.blocks.source import Part, Source
from mercer.streaming.blocks.table import (
    ENCODE,
    FILL,
    Block,
    Columns,
    Layout,
    Naming,
    RolesGiven,
    as_column,
    find_roles,
)
from mercer.tables.cells import Where, text_cells
from mercer.tables.delimited import Delimited, read_delimited
from mercer.tables.parquet import LongTable, blocks_of, distinct_texts, files_of, parquet_file, pyarrow
from mercer.tables.reading import no_file
from mercer.tables.values import MISSING_WORDS, NumberStyle, find_style

if TYPE_CHECKING:
    from pyarrow import DataType, Schema, Table
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions

    How: TypeAlias = tuple[ReadOptions, ParseOptions, ConvertOptions]

TEXTS = frozenset({".csv", ".tsv"})
_LEAST = 65_536  # rows of a part of a Parquet file: row groups with fewer are taken together
_MOST = 256  # parts of a Parquet file
_HEAD = 2**16  # bytes of a text that are looked at before it is opened
_LEAST_BYTES, _MOST_BYTES = 2**16, 2**24  # of a text that are read together
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")
_LATER = MISSING_WORDS | {"", "inf", "infinity"}  # gaps and the like are found when they are read
_CELL = re.compile(r"In CSV column #(\d+): Row #(\d+): .*invalid value '(.*)'", re.DOTALL)
_ROW = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


def refuse_pipe(path: Path) -> None:
    """Refuse a path where there is no file, or something that can be read only once."""
    if not path.exists():
        raise no_file(path)
    must_be = "a regular file or a directory, because it is read several times"
    piped = not (path.is_file() or path.is_dir())
    refuse_if(piped, f"The table {str(path)!r}", must_be, "a pipe or a device", "Save it to a file first.")


def is_named_table(path: Path) -> bool:
    """Whether a path is that of a table with names of columns, by its ending: CSV, TSV, Parquet or a directory."""
    return path.suffix.lower() in {*TEXTS, ".parquet"} or path.is_dir()


def _call(layout: Layout, name: str) -> Layout:
    """A layout whose columns are called by the name of their file."""
    targets = f"y of {name}" if layout.labels else name
    return replace(layout, called=(name, targets, f"sample_weight of {name}", f"groups of {name}"))


# Delimited text


def _read_text(stamp: SourceStamp, how: How, width: int, part: Part, _: int, at_once: int) -> Iterator[Block]:
    """All rows of a delimited text file, of about `width` bytes each; those that are skipped must be read, too."""
    from pyarrow import ArrowException, csv

    how[0].block_size = min(max(at_once * width, _LEAST_BYTES), _MOST_BYTES)
    stamp.check()
    try:
        with csv.open_csv(stamp.path, *how) as reader:
            yield from _read_tables(stamp, reader, part)
    except ArrowException as problem:
        raise _text_refusal(str(problem), Path(stamp.path).name, how[0]) from None


def _text_refusal(words: str, what: str, reading: ReadOptions) -> InputError:
    """pyarrow's complaint as a sentence of ours; rows are counted from 1, below the header."""
    if found := _CELL.search(words):
        return _no_number(reading.column_names[int(found[1])], what, found[3], int(found[2]) - reading.skip_rows)
    if found := _ROW.search(words):
        row, must_be = int(found[1]) - reading.skip_rows, f"a row of {found[2]} cells, one per column"
        return InputError(sentence(f"Row {row} of {what}", must_be, found[3]))
    return InputError(f"{what} cannot be read: {' '.join(words.split())[:150].rstrip('.')}.")


def _no_number(column: str, what: str, cell: str, row: int) -> InputError:
    return Naming(what, row, (column,)).refusal(np.array([[cell]], dtype=object), 0, 0, "numbers", ENCODE)


def _look(path: Path, asked: RolesGiven) -> tuple[Delimited, Layout]:
    """The first 64 kB of a file, and which of its columns is what."""
    with path.open("rb") as file:
        raw = file.read(_HEAD + 1)
    if len(raw) > _HEAD:
        raw = raw[: raw.rfind(b"\n", 0, _HEAD) + 1] or raw[:_HEAD]
    head = read_delimited(raw, path.name, "\t" if path.suffix.lower() == ".tsv" else None)
    return head, find_roles(list(head.columns), asked, path.name)


def _style(head: Delimited, names: Collection[str], what: str) -> NumberStyle:
    """How these columns write numbers."""
    cells = (text_cells(name, column, Where(what)) for name, column in head.columns.items() if name in names)
    return find_style(cells) or NumberStyle()


def _texts(cells: Sequence[str], style: NumberStyle) -> Iterator[tuple[int, str]]:
    """The cells of a column that are no numbers, with their rows; gaps and infinite numbers are found later."""
    for row, cell in enumerate(cells):
        if cell.lower().lstrip("+-") not in _LATER and style.read(cell) is None:
            yield row, cell


def open_text(path: Path, asked: RolesGiven) -> Source:
    """A delimited text file: separator, decimal sign and columns are found in its first 64 kB."""
    stamp = SourceStamp.of(path)
    head, layout = _look(path, asked)
    try:
        style = _style(head, layout.numbers, path.name)
    except InputError as refused:
        hint = "Write numbers with decimal points, or convert the table to Parquet."
        raise InputError(*refused.given, hint=hint) from None
    for name in layout.numbers:
        for row, cell in _texts(head.columns[name], style):
            raise _no_number(name, path.name, cell, row + 1)
    package = pyarrow("CSV in blocks")
    from pyarrow import csv

    names = layout.columns_read
    types = dict.fromkeys(names, package.string()) | dict.fromkeys(layout.numbers, package.float64())
    types |= {name: package.int64() for _, name in layout.categories if all(map(_WHOLE.fullmatch, head.columns[name]))}
    reading = csv.ReadOptions(use_threads=False, column_names=list(head.columns), skip_rows=head.lines[0] - 1)
    several = len(head.columns) > 1
    parsing = csv.ParseOptions(delimiter=head.separator, newlines_in_values=True, ignore_empty_lines=several)
    given = {"column_types": types, "include_columns": names, "decimal_point": style.decimal}
    how = reading, parsing, csv.ConvertOptions(strings_can_be_null=True, **given)
    width = sum(len(cell) + 1 for column in head.columns.values() for cell in column) // len(head.lines) + 1
    part = Part(0, None, _call(layout, path.name), partial(_read_text, stamp, how, width), number=1)
    return Source((part,), layout, rows=None, identity=partial(repr, (stamp, layout)), what=path.name)


# Parquet


def open_parquet(path: Path, asked: RolesGiven) -> Source:
    """A Parquet file, or all files of a directory in the order of their names."""
    table = LongTable.open(path)
    layout = _parquet_layout(table.schemas[0], asked, Path(table.files[0].path).name)
    parts: list[Part] = []
    start = 0
    kinds: dict[str, tuple[str, str]] = {}  # of labels and keys, each with the first file
    for stamp, schema, sizes in zip(table.files, table.schemas, table.sizes, strict=True):
        file = Path(stamp.path).name
        for what, name in layout.categories if sum(sizes) else ():
            kind = _kind_of_type(schema.field(name).type), file
            one_kind(what, [kinds.setdefault(what, kind), kind])
        for name in layout.numbers:
            _refuse_type(schema.field(name).type, name, file)
        parts += _row_groups(stamp, sizes, start, _call(layout, file))
        start += sum(sizes)
    return Source(tuple(parts), layout, rows=start, identity=partial(repr, (table.files, layout)), what=path.name)


def _parquet_layout(schema: Schema, asked: RolesGiven, what: str) -> Layout:
    """Which column is what; those in which pandas keeps names of rows are no inputs."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return find_roles(schema.names, asked, what, [name for name in index if isinstance(name, str)])


def _row_groups(stamp: SourceStamp, sizes: Sequence[int], start: int, layout: Layout) -> Iterator[Part]:
    """The rows of a file, row groups together until they are worth a task."""
    least = max(_LEAST, -(-sum(sizes) // _MOST))
    first = before = 0
    for stop in range(1, len(sizes) + 1):
        rows = sum(sizes[first:stop])
        if rows >= least or (stop == len(sizes) and rows):
            yield Part(start + before, rows, layout, partial(_read_groups, stamp, range(first, stop)), before + 1)
            first, before = stop, before + rows


def _read_groups(stamp: SourceStamp, groups: Sequence[int], part: Part, _: int, at_once: int) -> Iterator[Block]:
    """Some row groups of a Parquet file; rows of these that are skipped must be read, too."""
    tables = blocks_of(stamp.path, repr(stamp.path), at_once, part.layout.columns_read, groups)
    return _read_tables(stamp, tables, part)


def file_layout(path: Path, asked: RolesGiven) -> tuple[Layout, bool]:
    r"""Which column of a text or Parquet table is what, and whether all inputs are numbers, by its first bytes or file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.streaming.blocks.files import file_layout
    >>> from mercer.streaming.blocks.table import RolesGiven
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("size,town,price\n50,Rome,300\n70,Bonn,410\n")
    ...     layout, numbers = file_layout(path, RolesGiven("price"))
    >>> layout.names, numbers
    (('size', 'town'), False)
    """
    refuse_pipe(path)
    if path.suffix.lower() not in TEXTS or path.is_dir():
        file = files_of(path)[0]
        with parquet_file(file) as held:
            schema = held.schema_arrow
        layout = _parquet_layout(schema, asked, file.name)
        return layout, all(_holds_numbers(schema.field(name).type) for name in layout.names or ())
    head, layout = _look(path, asked)
    names = layout.names or ()
    try:
        style = _style(head, names, path.name)
    except InputError:  # an ambiguous decimal sign, which is refused where the table is read
        return layout, True
    return layout, not any(True for name in names for _ in _texts(head.columns[name], style))


# Columns of pyarrow's


def _read_tables(stamp: SourceStamp, tables: Iterable[Table], part: Part) -> Iterator[Block]:
    """The rows of a file, which must stay the same meanwhile, from its tables of pyarrow's."""
    stamp.check()
    row = 0
    for table in tables:
        yield part.check(_columns(table, part, row), row)
        row += table.num_rows
    stamp.check()


def _columns(batch: Table, part: Part, first: int) -> Columns:
    """A batch or table of pyarrow's, of which the first row is row `first` of a part, by the roles of its columns."""
    what, row = part.layout.called[0], part.number + first

    def numbers(name: str) -> Array:
        _refuse_type(batch.column(name).type, name, what)
        return as_column(values(name), Naming(what, row, (name,)))

    def values(name: str) -> Array:
        from pyarrow import types

        column = batch.column(name)
        if column.null_count:
            gap = int(np.asarray(column.is_null().to_numpy(zero_copy_only=False)).argmax())
            raise InputError(f"Column {name!r} of {what} has missing values, the first in row {row + gap}. {FILL}")
        if types.is_dictionary(column.type):
            texts, codes = distinct_texts(column)
            return np.array(texts, dtype=object)[codes]
        refuse_if(types.is_nested(column.type), f"Column {name!r} of {what}", "strings or numbers", str(column.type))
        return np.asarray(column.to_numpy(zero_copy_only=False))

    return part.layout.read(numbers, values)


def _holds_numbers(kind: DataType) -> bool:
    """Whether a column of this Arrow type holds numbers."""
    from pyarrow import types

    return any(is_kind(kind) for is_kind in (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal))


def _refuse_type(kind: DataType, name: str, what: str) -> None:
    """Refuse a column that holds no numbers."""
    refuse_if(not _holds_numbers(kind), f"Column {name!r} of {what}", "numbers", str(kind), ENCODE)


_STANDS_FOR = {  # the type that cells of an Arrow type are taken for
    "is_decimal": Decimal, "is_string": str, "is_large_string": str, "is_string_view": str, "is_date": date,
    "is_timestamp": date,
}  # fmt: skip


def _kind_of_type(kind: DataType) -> str:
    """Kind of keys or labels by their Arrow type, as `kind_of` has it."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    for is_kind, cell in _STANDS_FOR.items():
        if getattr(types, is_kind)(kind):
            return kind_of(cell)
    if types.is_primitive(kind) and not types.is_time(kind):
        return kind_of(np.dtype(kind.to_pandas_dtype()).type)
    return str(kind)
