"""Rows sorted by cell, and solved cells, in a folder: for tables larger than memory, and for work that is resumed.

One pass sends every row to the file of a leaf of the first splits, which are made from a sample. Each leaf is then
split by rank into cores, as in memory, and written in the order of its cores. A cell reads the rows of its system from
there when it is solved, and its solution is one record of a file.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from mercer.data.rows import Array
from mercer.errors import InputError, refuse, refuse_if, sentence
from mercer.kernels.base import Kernel
from mercer.local.cells import CellProblem, CellSolution, CellSystem, LocalFit
from mercer.local.partition import Partition, boxes, route, split
from mercer.runtime import run
from mercer.runtime.disk import SourceStamp, check_path, replacing, retell, write_whole
from mercer.streaming.blocks import Block, Source

LEAF_ROWS = 65_536  # rows of a leaf of the first splits, about, and rows that are read at a time
_UNEVEN = 4  # times the rows of a core that the largest one may have
_STAMP = "fit.txt"  # the fingerprint of the fit that a folder belongs to
_FORM = 1  # of the partition and of the files; another one is another fit
Arrays: TypeAlias = dict[str, Array]  # by name
_TREE = ("columns", "thresholds", "starts", "centres", "low", "high")


class MappedRows:
    """Rows of numbers in a file, which is mapped anew for every access so that memory stays small.

    Parameters
    ----------
    path : Path
        A file of float64 numbers.
    shape : tuple of int
        Rows and columns.
    factor : ndarray or float, default=1.0
        What columns are multiplied by.
    """

    dtype = np.dtype(np.float64)
    ndim = 2

    def __init__(self, path: Path, shape: tuple[int, int], factor: Array | float = 1.0) -> None:
        self.stamp, self.shape, self.factor = SourceStamp.of(path), shape, factor

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Array) -> Array:
        self.stamp.check()
        return np.asarray(np.memmap(self.stamp.path, self.dtype, "r", 0, self.shape)[rows]) * self.factor

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)


def check_folder(path: object, mark: str, what: str = "folder") -> Path:
    """A directory for this fit, made if it is not there; one of another fit, or of other files, is refused.

    `what`: the parameter that names it.
    """
    folder, mark = check_path(path, what), f"{version('mercer')} {_FORM} {mark}"
    name, way_out = f"The {what} {str(folder)!r}", f"Use another {what}."
    refuse_if(folder.exists() and not folder.is_dir(), name, "a directory", "a file", way_out)
    with retell(f"{name} cannot be used"):
        folder.mkdir(parents=True, exist_ok=True)
        held, stamp = [each.name for each in folder.iterdir()], folder / _STAMP
        if not held:
            write_whole(stamp, [mark.encode("ascii")], what)
        if not stamp.exists() or stamp.read_bytes() != mark.encode("ascii"):
            must_be = "empty, or belong to an earlier fit of the same table with the same settings"
            raise InputError(sentence(name, must_be, f"{held[0]!r} in it", way_out))
    return folder.resolve()


def sort_rows(
    source: Source, sample: Block, scale: Array, sizes: tuple[int, int], folder: Path, step: Callable[[int], None]
) -> tuple[MappedRows, Partition, Array, Array | None, Array]:
    """Write the rows of a table to a folder in the order of their cells, or take what an earlier run has written.

    Rows of weight zero are left out.

    Parameters
    ----------
    source, sample : Source, Block
        A table with targets, and some of its rows.
    scale : ndarray of shape (d,)
        What columns are multiplied by in the metric of the cells.
    sizes : tuple of int
        Rows of a core, about, and rows of a system; there is one core up to that.
    folder : Path
        Where to.
    step : callable
        Is told how many rows were read.

    Returns
    -------
    values, partition : MappedRows, Partition
        The rows, and their splits and cores.
    Y, weights, numbers : ndarray of shape (n, t), (n,) or None, and (n,)
        Targets, weights, and the number that each row has in the table.
    """
    tree, rows, width = folder / "tree.npz", folder / "rows.bin", source.width
    if not tree.exists():
        try:
            arrays = _sort_leaves(source, sample, scale, sizes, rows, step)
        except InputError:  # so that the corrected fit finds an empty folder
            for each in folder.iterdir():
                each.unlink()
            raise
        with replacing(tree, "folder") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        for leaf in folder.glob("leaf-*.bin"):
            leaf.unlink()
    else:
        arrays = _read_arrays(folder)
    n = len(arrays["numbers"])
    points: Any = MappedRows(rows, (n, width), scale)
    partition = Partition(points, order=np.arange(n), **{name: arrays[name] for name in _TREE})
    weights = arrays["weights"] if (arrays["weights"] != 1.0).any() else None
    return MappedRows(rows, (n, width)), partition, arrays["Y"], weights, arrays["numbers"]


def _sort_leaves(
    source: Source, sample: Block, scale: Array, sizes: tuple[int, int], path: Path, step: Callable[[int], None]
) -> Arrays:
    """Write the rows in the order of their cells to one file; the tree of splits, and what is known of the rows."""
    known = sample.X if sample.weights is None else sample.X[sample.weights > 0]
    first = max(0, round(math.log2(int(source.rows or 1) / LEAF_ROWS)))
    _, columns, thresholds = split(known * scale, first, by_value=True)
    leaves = _write_leaves(source, scale, columns, thresholds, path.parent, step)
    length = source.width + int(source.targets or 1) + 2
    n, (core_rows, system_rows) = sum(leaf.stat().st_size for leaf in leaves) // (8 * length), sizes
    refuse_if(not n, "sample_weight", "positive for at least one row", "only zeros")
    levels = 0 if n <= system_rows else max(0, round(math.log2(n / core_rows)) - first)
    with replacing(path, "folder") as file:
        parts = [_sort_leaf(np.fromfile(leaf).reshape(-1, length), source, scale, levels, file) for leaf in leaves]
    arrays = _join_leaves(parts, (columns, thresholds), levels, n if n <= system_rows else core_rows)
    return arrays | {"checksum": np.array(zlib.crc32(np.memmap(path, np.uint8, "r").data))}


def _write_leaves(
    source: Source, scale: Array, columns: Array, thresholds: Array, folder: Path, step: Callable[[int], None]
) -> list[Path]:
    """One pass: every row with its targets, weight and number is appended to the file of its leaf."""
    leaves = [folder / f"leaf-{leaf:06}.bin" for leaf in range(len(columns) + 1)]
    for leaf in leaves:
        leaf.write_bytes(b"")
    for block in source.blocks(LEAF_ROWS):
        weights = np.ones(len(block)) if block.weights is None else block.weights
        numbers = np.arange(block.start, block.start + len(block), dtype=np.float64)
        table = np.column_stack([block.X, block.Y, weights, numbers])[weights > 0]  # type: ignore[list-item]
        where = route(table[:, : source.width] * scale, columns, thresholds)
        for leaf in np.unique(where).tolist():
            with leaves[leaf].open("ab") as file:
                file.write(table[where == leaf].tobytes())
        step(len(block))
    return leaves


def _sort_leaf(table: Array, source: Source, scale: Array, levels: int, file: BinaryIO) -> Arrays:
    """Split the rows of a leaf by rank into 2^levels cores, and write them in the order of these.

    Returns its splits, level by level, sizes and boxes of its cores, and targets, weights and numbers of its rows.
    """
    width = source.width
    must_be, got = "different enough to be split into cells by value", "too many equal values"
    refuse_if(len(table) < 2**levels, f"The columns of {source.what}", must_be, got, "Fit the table in memory.")
    points = table[:, :width] * scale
    cores, columns, thresholds = split(points, levels)
    order = np.concatenate(cores)
    file.write(np.ascontiguousarray(table[order, :width]).tobytes())
    around = dict(zip(_TREE[3:], boxes(points, cores), strict=True))
    sizes = np.array([len(core) for core in cores])
    return {"columns": columns, "thresholds": thresholds, "sizes": sizes, "beside": table[order, width:]} | around


def _join_leaves(leaves: list[Arrays], splits: tuple[Array, Array], levels: int, core_rows: int) -> Arrays:
    """The tree of all splits, level by level, and what is known of the sorted rows."""
    names = ("sizes", "beside", *_TREE[3:])
    sizes, beside, *around = (np.concatenate([leaf[name] for leaf in leaves]) for name in names)
    words = f"Too many rows have equal values: a cell of about {core_rows} rows would have {max(sizes)}."
    refuse(max(sizes) > _UNEVEN * core_rows, f"{words} Load the table, and fit it without folder=.")
    nodes = [(leaf, slice(2**level - 1, 2 ** (level + 1) - 1)) for level in range(levels) for leaf in leaves]
    below = ([leaf[name][part] for leaf, part in nodes] for name in _TREE[:2])
    columns, thresholds = (np.concatenate([first, *rest]) for first, rest in zip(splits, below, strict=True))
    Y, weights = np.ascontiguousarray(beside[:, :-2]), np.ascontiguousarray(beside[:, -2])
    tree = columns.astype(np.intp), thresholds, np.cumsum([0, *sizes]), *around
    return dict(zip(_TREE, tree, strict=True)) | {"Y": Y, "weights": weights, "numbers": beside[:, -1].astype(np.intp)}


def _read_arrays(folder: Path) -> Arrays:
    """The arrays that an earlier run wrote to a folder; raises an error if its files were changed."""
    with suppress(OSError, ValueError, KeyError, zipfile.BadZipFile):
        with np.load(folder / "tree.npz", allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        if int(arrays["checksum"]) == zlib.crc32(np.memmap(folder / "rows.bin", np.uint8, "r").data):
            return arrays
    raise InputError(f"The folder {str(folder)!r} was changed. Use another folder.")


def _tell_of(path: Path, verb: str) -> AbstractContextManager[None]:
    """Tell in a sentence that a file cannot be read or written."""
    return retell(f"{str(path)!r} cannot be {verb}")


class SolutionFile(Sequence[CellSolution]):
    """Solutions of cells, each a record with a checksum in one file.

    Parameters
    ----------
    path : Path
        The file; one that is there is read.
    cells : CellProblem
        What is solved.
    mark : str
        Of the fit: records of another one are not taken.
    """

    def __init__(self, path: Path, cells: CellProblem, mark: str) -> None:
        t, partition = cells.problem.Y.shape[1], cells.partition
        largest = max(cells.system_rows, int(np.diff(partition.starts).max()))
        self._path, self._mark = path, zlib.crc32(mark.encode("ascii"))
        self._head = [("size", "<i8"), ("condition", "<f8"), ("constant", "<f8", (t,)), ("members", "<i8", (largest,)),
                      ("dual", "<f8", (largest, t))]  # fmt: skip
        self._answered, self._shape = np.diff(cells.answer_order[1]), (len(cells.splits or ()) + 1, t)
        sizes = np.dtype(self._head).itemsize + 8 * (math.prod(self._shape) * self._answered + 1)
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        with _tell_of(path, "written"):
            path.touch()
            os.truncate(path, int(self._starts[-1]))

    def _record(self, cell: int) -> np.dtype[Any]:
        """The form of the record of a cell: its predictions without each split come before those without each row."""
        shape = self._shape[0], int(self._answered[cell]), self._shape[1]
        return np.dtype([*self._head, ("held_out", "<f8", shape), ("checksum", "<i8")])

    def __len__(self) -> int:
        return len(self._answered)

    def find(self, cell: int) -> CellSolution | None:
        """The solution of a cell; None if it was not written, or not to its end."""
        with _tell_of(self._path, "read"), self._path.open("rb") as file:
            file.seek(int(self._starts[cell]))
            raw = file.read(int(self._starts[cell + 1] - self._starts[cell]))
        form = self._record(cell)
        if len(raw) < form.itemsize:
            return None
        (record,) = np.frombuffer(raw, form)
        if not record["size"] or record["checksum"] != zlib.crc32(raw[:-8], self._mark):
            return None
        size, (*splits, rows) = int(record["size"]), record["held_out"]
        model = record["members"][:size], record["dual"][:size], record["constant"]
        held_out, left_out = (np.array(splits), rows) if splits else (rows, None)
        return CellSolution(*model, held_out, float(record["condition"]), left_out)

    def __getitem__(self, cell: Any) -> Any:
        found = self.find(range(len(self))[cell])
        if found is None:
            raise InputError(f"{str(self._path)!r} was changed: cell {cell} cannot be read. Fit the model again.")
        return found

    def write(self, cell: int, solution: CellSolution) -> None:
        """Write the solution of a cell."""
        record, size = np.zeros(1, self._record(cell)), len(solution.members)
        record["size"], record["condition"], record["constant"] = size, solution.condition, solution.constant
        record["members"][0, :size], record["dual"][0, :size] = solution.members, solution.dual
        parts = solution.held_out if solution.left_out is None else [*solution.held_out, solution.left_out]
        record["held_out"][0] = parts
        record["checksum"] = zlib.crc32(record.tobytes()[:-8], self._mark)
        with _tell_of(self._path, "written"), self._path.open("r+b") as file:
            file.seek(int(self._starts[cell]))
            file.write(record.tobytes())


def solve_in_folder(
    cells: CellProblem, kernel: Kernel, alpha: float, folder: Path, step: Callable[[], None], name: str = "cells.bin"
) -> LocalFit:
    """Solve every cell whose solution is not in this file of the folder yet, calling `step` after each cell."""
    mark = f"{(folder / _STAMP).read_text(encoding='ascii')} {kernel!r} {alpha!r}"
    solutions = SolutionFile(folder / name, cells, mark)

    def solve(cell: int) -> None:
        if solutions.find(cell) is None:
            solutions.write(cell, CellSystem(cells, cell, kernel).at(alpha, last=True))
        step()

    run(solve, range(len(solutions)))
    return LocalFit(kernel, alpha, cells, solutions)
