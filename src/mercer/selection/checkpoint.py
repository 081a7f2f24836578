"""Finished work on disk: arrays and a fingerprint, written whole or not at all, never a pickle."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.selection.identity import identity


def fingerprint(*parts: Any) -> str:
    """One number for data and settings; another one if anything in them differs."""
    digest = hashlib.sha256()
    for part in parts:
        if hasattr(part, "tocsr"):
            matrix = part.tocsr()
            digest.update(identity([matrix.shape, matrix.data, matrix.indices, matrix.indptr]).encode())
        else:
            digest.update(identity(part).encode())
        digest.update(b"|")
    return digest.hexdigest()


def checked_path(path: Any) -> Path:
    """checkpoint= as a path."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(sentence("checkpoint", "the path of a file, or None", repr(path)))
    return Path(path)


class Checkpoint:
    """Arrays of finished kernels in a file.

    Parameters
    ----------
    path : str or Path
        Where; made if it is not there.
    mark : str
        Fingerprint of data and settings; a file with another one is refused, never overwritten.
    """

    def __init__(self, path: Any, mark: str) -> None:
        self.path, self.mark = checked_path(path), mark

    def load(self) -> dict[str, Array] | None:
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

    def save(self, arrays: dict[str, Array]) -> None:
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
