"""Finished work on disk: arrays and a fingerprint under digests, written whole or not at all, never a pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError, ModelFileError, sentence
from mercer.runtime.container import dumps, loads, packed, read
from mercer.runtime.disk import check_path as named_path
from mercer.runtime.disk import opened, try_place, write_whole

State = Mapping[str, npt.NDArray[Any]]


def check_path(path: Any) -> Path:
    """checkpoint= as a path."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(sentence("checkpoint", "the path of a file, or None", repr(path)))
    return named_path(path, "checkpoint")


class Checkpoint:
    """Arrays of finished work in a file.

    Parameters
    ----------
    path : str or Path
        Where; made if it is not there.
    mark : str
        Fingerprint of data and settings; a file with another one is refused, never overwritten.
    """

    def __init__(self, path: Any, mark: str) -> None:
        self.path, self.mark = check_path(path), mark

    def load(self, like: State) -> dict[str, npt.NDArray[Any]] | None:
        """What was finished, or None if nothing was: arrays of the names, types, shapes and order of those in `like`.

        Digests cover every byte of the file; sizes are compared with `like` and with the file before anything is
        allocated.
        """
        if not self.path.exists():
            return None
        with opened(self.path, "checkpoint", " Delete it, or use another file.") as (file, size):
            text, found = read(file, size, "checkpoint")
            record = loads(text, "its record")
            if record != {"mark": self.mark} and isinstance(record, dict) and isinstance(record.get("mark"), str):
                raise InputError(
                    f"The checkpoint {self.path} belongs to other data or settings. Delete it, or use another file."
                )
            expected = {name: (array.dtype, array.shape) for name, array in like.items()}
            if record != {"mark": self.mark} or {n: (a.dtype, a.shape) for n, a in found.items()} != expected:
                raise ModelFileError("its arrays do not match this fit (names, types or shapes differ).")
        return {name: np.array(found[name], order="C" if like[name].flags.c_contiguous else "F") for name in like}

    def try_folder(self) -> None:
        """Refuse a place that cannot be written to."""
        try_place(self.path, "checkpoint")

    def save(self, arrays: State) -> None:
        """Write all of it beside the file, then put it in place in one step."""
        plain = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in sorted(arrays.items())}
        write_whole(self.path, [packed(dumps({"mark": self.mark}), plain, "checkpoint")], "checkpoint")


class PassCheckpoint:
    """A pass over rows, half done or finished, in a file.

    It is saved after every block of rows; where a block is done faster than `patience` times the time that saving
    took, after as many blocks as that takes. So saving costs a tenth of the time at most, and no more than a block
    or that time is lost. A finished pass stays in its file, so that it is not done again when a later one is
    interrupted; `discard` removes it.

    Parameters
    ----------
    path : str or Path
        Where.
    mark : str
        Fingerprint of data and settings: another one is refused.
    patience : float, default=10
        0 saves after every block, whatever that costs.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from mercer.runtime.checkpoint import PassCheckpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = PassCheckpoint(Path(folder) / "fit", "data and settings")
    ...     kept.save({"sum": np.array([3.0])}, next_row=500)
    ...     state, next_row = kept.load({"sum": np.zeros(1)}, rows=1000)
    >>> state["sum"].tolist(), next_row
    ([3.0], 500)
    """

    def __init__(self, path: Any, mark: str, patience: float = 10) -> None:
        self.file, self.patience = Checkpoint(path, mark), patience

    def stage(self, name: str) -> PassCheckpoint:
        """The checkpoint of another pass of the same work, in a file beside this one."""
        path = self.file.path
        return PassCheckpoint(path.with_name(f"{path.name}.{name}"), f"{self.file.mark} {name}", self.patience)

    def load(self, like: State, rows: int | None) -> tuple[dict[str, npt.NDArray[Any]], int] | None:
        """The sums so far and the first row that is not in them; None if nothing was saved.

        The sums must be of the names, types and shapes of those in `like`, and of at most `rows` rows where their
        number is known.
        """
        arrays = self.file.load(_named(like, 0))
        if arrays is None:
            self.file.try_folder()
            return None
        next_row = int(arrays.pop("next row"))
        if next_row < 0 or (rows is not None and next_row > rows):
            must_be = "not be negative" if rows is None else f"be from 0 to {rows}"
            raise InputError(
                f"The checkpoint {self.file.path} is invalid: its row position must {must_be}; got {next_row}. Delete "
                "it, or use another file."
            )
        return {name.removeprefix("state "): array for name, array in arrays.items()}, next_row

    def save(self, state: State, next_row: int) -> None:
        """Write the sums of all rows before `next_row`."""
        self.file.save(_named(state, next_row))

    def discard(self) -> None:
        """Remove the file, if there is one."""
        self.file.path.unlink(missing_ok=True)


def _named(state: State, next_row: int) -> dict[str, npt.NDArray[Any]]:
    return {"next row": np.array(next_row, dtype=np.int64)} | {f"state {name}": each for name, each in state.items()}
