"""Finished work on disk: arrays and a fingerprint, written whole or not at all, never a pickle."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mercer.errors import InputError, sentence


def checked_path(path: Any) -> Path:
    """checkpoint= as a path."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(sentence("checkpoint", "the path of a file, or None", repr(path)))
    return Path(path)


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
        self.path, self.mark = checked_path(path), mark

    def load(self) -> dict[str, npt.NDArray[Any]] | None:
        """What was finished, or None if nothing was."""
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file:
                stored = np.load(file, allow_pickle=False)
                arrays = dict(stored) if isinstance(stored, np.lib.npyio.NpzFile) else {}
            mark = str(arrays.pop("mark"))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as problem:
            raise InputError(
                f"The checkpoint {str(self.path)!r} cannot be read ({problem}). Delete it or name another file."
            ) from None
        if mark != self.mark:
            raise InputError(
                f"The checkpoint {str(self.path)!r} belongs to other data or settings. Delete it or name another file."
            )
        return arrays

    def _part(self) -> tuple[int, str]:
        """A fresh file beside the checkpoint."""
        try:
            return tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name, suffix=".part")
        except OSError as problem:
            raise InputError(f"The checkpoint {str(self.path)!r} cannot be written: {problem.strerror}.") from None

    def try_folder(self) -> None:
        """Refuse a place that cannot be written to."""
        handle, name = self._part()
        os.close(handle)
        Path(name).unlink()

    def save(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Write all of it beside the file, then put it in place in one step."""
        handle, name = self._part()
        try:
            with os.fdopen(handle, "wb") as file:
                named: dict[str, Any] = {"mark": np.array(self.mark), **arrays}
                np.savez(file, **named)
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


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
    >>> from mercer.backends.checkpoint import PassCheckpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = PassCheckpoint(Path(folder) / "fit", "data and settings")
    ...     kept.save({"sum": np.array([3.0])}, next_row=500)
    ...     state, next_row = kept.load()
    >>> state["sum"].tolist(), next_row
    ([3.0], 500)
    """

    def __init__(self, path: Any, mark: str, patience: float = 10) -> None:
        self.file, self.patience = Checkpoint(path, mark), patience

    def stage(self, name: str) -> PassCheckpoint:
        """The checkpoint of another pass of the same work, in a file beside this one."""
        path = self.file.path
        return PassCheckpoint(path.with_name(f"{path.name}.{name}"), f"{self.file.mark} {name}", self.patience)

    def load(self) -> tuple[dict[str, npt.NDArray[Any]], int] | None:
        """The sums so far and the first row that is not in them; None if nothing was saved."""
        arrays = self.file.load()
        if arrays is None:
            self.file.try_folder()
            return None
        next_row = int(arrays.pop("next row", np.array(0)))
        return {name.removeprefix("state "): array for name, array in arrays.items()}, next_row

    def save(self, state: dict[str, npt.NDArray[Any]], next_row: int) -> None:
        """Write the sums of all rows before `next_row`."""
        named = {f"state {name}": array for name, array in state.items()}
        self.file.save({"next row": np.array(next_row), **named})

    def discard(self) -> None:
        """Remove the file, if there is one."""
        self.file.path.unlink(missing_ok=True)
