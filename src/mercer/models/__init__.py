"""Model files: save a fitted model, load it, and see what a file holds. No code goes in, and none comes out."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mercer.data.checks import keyword_hints
from mercer.data.rows import Estimator
from mercer.errors import InputError, ModelFileError
from mercer.estimators.table_model import without_rows
from mercer.models.records import MISFITS, check_account, check_model, read_stamp, restored, stamp_now, written
from mercer.runtime import readable
from mercer.runtime.container import VERSION, loads, packed, read
from mercer.runtime.disk import check_path, opened, write_whole
from mercer.text import Shown

__all__ = ["ModelFile", "inspect", "load", "save"]

_WAY_OUT = " Use another copy of the file, or save the model again."


@keyword_hints
def save(model: Estimator, path: str | os.PathLike[str], *, rows: bool = True) -> None:
    """Write a fitted model to a file that `load` reads; predictions will be the same to the last bit.

    The file appears whole or not at all. It holds the training rows, which most kernels need to predict.

    Parameters
    ----------
    model : estimator
        A fitted estimator of mercer, or a Pipeline of a TableEncoder or common transformers of scikit-learn (scalers,
        imputers, encoders, column transformers, PCA, polynomial features) and one. Kernels and transformers that hold
        Python functions are refused.
    path : str or path
        Where to; by custom it ends in ``.mercer``. A file that is there is replaced.
    rows : bool, default=True
        False leaves the training rows and targets out, where the kernel has a finite feature map; what is loaded then
        predicts, and does nothing else.

    See Also
    --------
    mercer.load : The way back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mercer
    >>> model = mercer.KernelRidge(0.1, kernel="rbf").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(model, Path(folder) / "hill.mercer")
    ...     again = mercer.load(Path(folder) / "hill.mercer")
    >>> bool(again.predict([[0.5]]) == model.predict([[0.5]]))
    True
    """
    place = check_path(path)
    check_model(model)
    model = model if rows else without_rows(model)
    try:
        text, arrays = written(model, stamp_now())
        restored(text, arrays)  # what cannot be read is not written
    except (ModelFileError, RecursionError) as problem:
        reason = "the model is nested too deeply." if isinstance(problem, RecursionError) else str(problem)
        raise InputError(f"This {type(model).__name__} cannot be saved: {reason}") from None
    write_whole(place, [packed(text, arrays)])


def load(path: str | os.PathLike[str]) -> Estimator:
    """Read a model that `save` wrote. Nothing in the file is run or imported.

    Parameters
    ----------
    path : str or path
        A model file.

    Returns
    -------
    estimator
        Fitted, with the parameters it had.

    Raises
    ------
    ModelFileError
        Where the file is missing, cut off, changed by as little as a bit, of a newer format, or no model file.

    Examples
    --------
    >>> import mercer
    >>> mercer.load("nowhere.mercer")
    Traceback (most recent call last):
        ...
    mercer.errors.ModelFileError: The model file nowhere.mercer cannot be read: no such file or directory.
    """
    with opened(check_path(path), way_out=_WAY_OUT) as (file, size):
        return restored(*read(file, size))


@dataclass(frozen=True, repr=False)
class ModelFile(Shown):
    """What a model file holds, as far as its header tells.

    Attributes
    ----------
    kind : str
        The class of the model.
    kernel, alpha : str
        Its kernel and alpha; several of a committee.
    rows : int
        Training rows that it holds.
    columns : int or None
        Columns that it was fitted to; None where rows are objects.
    when : str
        When it was written, in universal time.
    versions : dict
        Of Python and of the packages it was written with.
    size : int
        Bytes of the file.
    """

    kind: str
    kernel: str
    alpha: str
    rows: int
    columns: int | None
    when: str
    versions: dict[str, str]
    size: int

    def __str__(self) -> str:
        alpha = f", alpha {self.alpha}" if self.alpha else ""
        shape = "objects" if self.columns is None else f"{self.columns} column{'s' * (self.columns != 1)}"
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return (
            f"{self.kind}: {self.kernel}{alpha}\n"
            f"{self.rows or 'no'} training rows, {shape}; {readable(self.size)}, format version {VERSION}\n"
            f"written {self.when} with {versions}"
        )


def inspect(path: str | os.PathLike[str]) -> ModelFile:
    """What a model file holds, from its record; the model is not built.

    Parameters
    ----------
    path : str or path
        A model file.

    Returns
    -------
    ModelFile
        Prints.

    Examples
    --------
    >>> import tempfile
    >>> import mercer
    >>> from mercer.models import inspect
    >>> model = mercer.KernelRidge(0.1, kernel="rbf").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mercer.save(model, f"{folder}/hill.mercer")
    ...     print(inspect(f"{folder}/hill.mercer"))
    KernelRidge: Gaussian(width=0.7071067811865476), alpha 0.1
    3 training rows, 1 column; ... kB, format version 1
    written ...-...-...T...:...:...+00:00 with ...
    """
    with opened(check_path(path), way_out=_WAY_OUT) as (file, size):
        record = loads(read(file, size)[0], "its record")
        try:
            stamp, found = read_stamp(record), check_account(record)
        except ModelFileError:
            raise
        except MISFITS:
            raise ModelFileError("its summary is invalid.") from None
    what, kernel, alpha, rows, columns = (found[name] for name in ("class", "kernel", "alpha", "rows", "columns"))
    return ModelFile(what, kernel, alpha, rows, columns, stamp["when"], stamp["versions"], size)
