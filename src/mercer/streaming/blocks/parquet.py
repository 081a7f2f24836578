"""Parquet files, and directories of them, by row group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer.data.checks import one_kind
from mercer.errors import InputError
from mercer.runtime.disk import SourceStamp
from mercer.streaming.blocks.arrow import block_of, holds_numbers, kind_of_type, refuse_type
from mercer.streaming.blocks.roles import Place, Roles, RolesGiven, find_roles
from mercer.streaming.blocks.source import Source
from mercer.streaming.blocks.table import Block, dropped, regroup
from mercer.tables.parquet import blocks_of, files_of, opened

_LEAST = 65_536  # rows of a part: row groups with fewer are taken together
_MOST = 256  # parts of a file


@dataclass(frozen=True, eq=False)
class ParquetPart:
    """Consecutive row groups of a Parquet file.

    Attributes
    ----------
    stamp : SourceStamp
        The file.
    groups : tuple of int
        Its row groups.
    sizes : tuple of int
        How many rows each has.
    before : int
        Rows of the file before them.
    start : int
        The number of the first row in the whole table.
    roles : Roles
        Which column is what.
    """

    stamp: SourceStamp
    groups: tuple[int, ...]
    sizes: tuple[int, ...]
    before: int
    start: int
    roles: Roles

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(self.sizes)

    def blocks(self, at_once: int, skip: int = 0) -> Iterator[Block]:
        """Its rows in order."""
        place = done = 0
        while place < len(self.groups) and done + self.sizes[place] <= skip:
            done += self.sizes[place]
            place += 1
        return regroup(dropped(self._read(self.groups[place:], done, at_once), skip - done), at_once)

    def _read(self, groups: tuple[int, ...], done: int, at_once: int) -> Iterator[Block]:
        self.stamp.check()
        name = Path(self.stamp.path).name
        for table in blocks_of(self.stamp.path, repr(self.stamp.path), at_once, self.roles.wanted, groups):
            yield block_of(table, self.roles, Place(name, self.before + done + 1, self.start + done))
            done += table.num_rows
        self.stamp.check()


def parquet_roles(path: Path, asked: RolesGiven) -> tuple[Roles, bool]:
    """Which column of a Parquet table is what, and whether all inputs are numbers, by its first file."""
    for file in files_of(path) if path.is_dir() else [path]:
        with opened(file) as found:
            schema = found.schema_arrow
        roles = find_roles(schema.names, asked, file.name, _index(schema))
        return roles, all(holds_numbers(schema.field(name).type) for name in roles.X)
    raise InputError(f"The directory {str(path)!r} contains no Parquet files.")


def open_parquet(path: Path, asked: RolesGiven) -> Source:
    """A Parquet file, or all files of a directory in the order of their names."""
    files = files_of(path) if path.is_dir() else [path]
    parts: list[ParquetPart] = []
    start = 0
    roles: Roles | None = None
    kinds: dict[str, tuple[str, str]] = {}  # of labels and keys, each with the first file
    for file in files:
        stamp = SourceStamp.of(file)
        with opened(file) as found:
            schema, metadata = found.schema_arrow, found.metadata
        names = [str(name) for name in schema.names]
        if roles is None:
            roles = find_roles(names, asked, file.name, _index(schema))
            first = set(names)
        if set(names) != first:
            odd = sorted(set(names) ^ first)
            raise InputError(
                f"{file.name} must have the same columns as {files[0].name}; only one of the two files has "
                f"{', '.join(map(repr, odd[:5]))}."
            )
        for what, name in roles.named if metadata.num_rows else ():
            kind = kind_of_type(schema.field(name).type), file.name
            one_kind(what, [kinds.setdefault(what, kind), kind])
        for name in roles.numbers:
            refuse_type(schema.field(name).type, name, file.name)
        sizes = [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]
        parts += _cut(stamp, sizes, start, roles)
        start += sum(sizes)
    if roles is None:
        raise InputError(f"The directory {str(path)!r} contains no Parquet files.")
    identity = repr([part.stamp for part in parts]) + repr(roles)
    return Source(tuple(parts), roles.layout(), rows=start, identity=lambda: identity, what=path.name)


def _index(schema: Any) -> list[str]:
    """Columns in which pandas keeps names of rows."""
    kept = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in kept if isinstance(name, str)]


def _cut(stamp: SourceStamp, sizes: list[int], start: int, roles: Roles) -> list[ParquetPart]:
    """Row groups together until they are worth a task."""
    least = max(_LEAST, -(-sum(sizes) // _MOST))
    parts: list[ParquetPart] = []
    first = before = 0
    for place in range(len(sizes)):
        count = sum(sizes[first : place + 1])
        if count >= least or (place == len(sizes) - 1 and count):
            groups = tuple(range(first, place + 1))
            parts.append(ParquetPart(stamp, groups, tuple(sizes[first : place + 1]), before, start + before, roles))
            first, before = place + 1, before + count
    return parts
