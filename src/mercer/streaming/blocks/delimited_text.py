"""CSV and TSV files in blocks: looked at once at the head, then read by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer.errors import InputError, sentence
from mercer.runtime.disk import SourceStamp
from mercer.streaming.blocks.arrow import block_of
from mercer.streaming.blocks.cells import ENCODE
from mercer.streaming.blocks.roles import Place, Roles, RolesGiven, find_roles
from mercer.streaming.blocks.source import Source
from mercer.streaming.blocks.table import Block, dropped, regroup
from mercer.tables.cells import Where, text_cells
from mercer.tables.delimited import Delimited, read_delimited
from mercer.tables.parquet import pyarrow
from mercer.tables.values import MISSING_WORDS, NumberStyle, found_style

_HEAD = 2**16  # bytes that are looked at before the file is opened
_LEAST, _MOST = 2**16, 2**24  # bytes that are read together
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")
_LATER = MISSING_WORDS | {"", "inf", "infinity"}  # gaps and the like are found when they are read
_CELL = re.compile(r"In CSV column #(\d+): Row #(\d+): .*invalid value '(.*)'", re.DOTALL)
_ROW = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True, eq=False)
class TextPart:
    """All rows of a delimited text file.

    Attributes
    ----------
    stamp : SourceStamp
        The file.
    names : tuple of str
        All its columns.
    roles : Roles
        Which column is what.
    whole : tuple of str
        Columns of labels or keys that are whole numbers.
    separator, decimal : str
        How it is written.
    head : int
        Lines before the first row.
    width : int
        Bytes of a row, roughly.
    start : int
        Always 0.
    rows : None
        Only a pass can tell.
    """

    stamp: SourceStamp
    names: tuple[str, ...]
    roles: Roles
    whole: tuple[str, ...]
    separator: str
    decimal: str
    head: int
    width: int
    start: int = 0
    rows: None = None

    def blocks(self, at_once: int, skip: int = 0) -> Iterator[Block]:
        """Its rows in order; those that are skipped must be read, too."""
        return regroup(dropped(self._read(at_once), skip), at_once)

    def _read(self, at_once: int) -> Iterator[Block]:
        self.stamp.check()
        package = pyarrow("CSV in blocks")
        name, row = Path(self.stamp.path).name, 0
        try:
            with self._reader(package, at_once) as reader:
                for batch in reader:
                    yield block_of(batch, self.roles, Place(name, row + 1, row))
                    row += batch.num_rows
        except package.ArrowException as problem:
            raise self._refusal(str(problem)) from None
        self.stamp.check()

    def _reader(self, package: Any, at_once: int) -> Any:
        from pyarrow import csv

        number, text = package.float64(), package.string()
        types = dict.fromkeys(self.roles.wanted, text) | dict.fromkeys(self.roles.numbers, number)
        types |= dict.fromkeys(self.whole, package.int64())
        size = min(max(at_once * self.width, _LEAST), _MOST)
        return csv.open_csv(
            self.stamp.path,
            csv.ReadOptions(use_threads=False, block_size=size, column_names=self.names, skip_rows=self.head),
            csv.ParseOptions(delimiter=self.separator, newlines_in_values=True, ignore_empty_lines=len(self.names) > 1),
            csv.ConvertOptions(
                column_types=types,
                include_columns=self.roles.wanted,
                decimal_point=self.decimal,
                strings_can_be_null=True,
            ),
        )

    def _refusal(self, words: str) -> InputError:
        """pyarrow's complaint as a sentence of ours; rows are counted from 1, below the header."""
        what = Path(self.stamp.path).name
        if found := _CELL.search(words):
            column, row, cell = self.names[int(found[1])], int(found[2]) - self.head, found[3]
            return _no_number(column, what, cell, row)
        if found := _ROW.search(words):
            row, must_be = int(found[1]) - self.head, f"a row of {found[2]} cells, one per column"
            return InputError(sentence(f"Row {row} of {what}", must_be, found[3]))
        return InputError(f"{what} cannot be read: {' '.join(words.split())[:150].rstrip('.')}.")


def _no_number(column: str, what: str, cell: str, row: int) -> InputError:
    short = cell if len(cell) <= 40 else cell[:37] + "..."
    return InputError(sentence(f"Column {column!r} of {what}", "numbers", f"{short!r} in row {row}", ENCODE))


def _look(path: Path, asked: RolesGiven) -> tuple[Delimited, Roles]:
    """The first 64 kB of a file, and which of its columns is what."""
    head = _head(path, "\t" if path.suffix.lower() == ".tsv" else None)
    return head, find_roles(head.names, asked, path.name)


def _style(head: Delimited, names: Collection[str], what: str) -> NumberStyle:
    """How these columns write numbers."""
    columns = zip(head.names, head.columns, strict=True)
    return (
        found_style(text_cells(name, cells, Where(what)) for name, cells in columns if name in names) or NumberStyle()
    )


def _texts(cells: Sequence[str], style: NumberStyle) -> Iterator[tuple[int, str]]:
    """The cells of a column that are no numbers, with their rows; gaps and infinite numbers are found later."""
    for row, cell in enumerate(cells):
        if cell.lower().lstrip("+-") not in _LATER and style.read(cell) is None:
            yield row, cell


def text_roles(path: Path, asked: RolesGiven) -> tuple[Roles, bool]:
    """Which column of a delimited text file is what, and whether all inputs are numbers, by its first 64 kB."""
    head, roles = _look(path, asked)
    try:
        style = _style(head, roles.X, path.name)
    except InputError:  # an ambiguous decimal sign, which is refused where the table is read
        return roles, True
    inputs = (cells for name, cells in zip(head.names, head.columns, strict=True) if name in roles.X)
    return roles, not any(True for cells in inputs for _ in _texts(cells, style))


def open_text(path: Path, asked: RolesGiven) -> Source:
    """A delimited text file: separator, decimal sign and columns are found in its first 64 kB."""
    stamp = SourceStamp.of(path)
    head, roles = _look(path, asked)
    cells = dict(zip(head.names, head.columns, strict=True))
    try:
        style = _style(head, roles.numbers, path.name)
    except InputError as refused:
        hint = "Write numbers with decimal points, or convert the table to Parquet."
        raise InputError(*refused.given, hint=hint) from None
    for name in roles.numbers:
        for row, cell in _texts(cells[name], style):
            raise _no_number(name, path.name, cell, row + 1)
    others = [name for name in roles.wanted if name not in roles.numbers]
    whole = tuple(name for name in others if all(map(_WHOLE.fullmatch, cells[name])))
    size = sum(len(cell) + 1 for column in head.columns for cell in column) // len(head.lines) + 1
    part = TextPart(stamp, tuple(head.names), roles, whole, head.separator, style.decimal, head.lines[0] - 1, size)
    return Source((part,), roles.layout(), rows=None, identity=lambda: repr((stamp, roles)), what=path.name)


def _head(path: Path, separator: str | None) -> Delimited:
    with path.open("rb") as file:
        raw = file.read(_HEAD)
        more = bool(file.read(1))
    if more:
        raw = raw[: raw.rfind(b"\n") + 1] or raw
    return read_delimited(raw, path.name, separator)
