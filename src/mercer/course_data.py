"""The data of the lab course's problem set: QM7 from `qm7.mat`, and the IDA benchmark from its text files.

Both are read as published, as numbers and nothing else. `mercer.course` has the functions, too.
"""

from __future__ import annotations

import io
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, refuse_if, sentence
from mercer.tables.reading import no_file
from mercer.text import Brief, counted, listed

_ARRAYS = ("X", "T", "P")
_PUBLISHED = "Use qm7.mat as published."
_IDA_FILE = re.compile(r"(.+)_(?:train|test)_(?:data|labels)_([1-9]\d*)\.asc")
_PARTS = ("train_data", "train_labels", "test_data", "test_labels")


@dataclass(frozen=True, eq=False, repr=False)
class Qm7(Brief):
    """Molecules of the QM7 set.

    Attributes
    ----------
    matrices : ndarray of shape (n, atoms, atoms)
        Coulomb matrices, padded with zeros.
    energies : ndarray of shape (n,)
        Atomisation energies in kcal/mol.
    folds : ndarray of shape (n_folds, n / n_folds)
        Molecules of each fold, counted from 0.
    """

    matrices: Array
    energies: Array
    folds: Array

    def sorted_rows(self) -> Array:
        """Upper triangles of the matrices, atoms sorted by decreasing norm of their rows.

        Returns
        -------
        ndarray of shape (n, atoms * (atoms + 1) / 2)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.course import Qm7
        >>> Qm7(np.array([[[0.5, 2.0], [2.0, 36.9]]]), np.array([-100.0]), np.array([[0]])).sorted_rows()
        array([[36.9,  2. ,  0.5]])
        """
        order = np.argsort(-np.linalg.norm(self.matrices, axis=2), axis=1, kind="stable")
        ordered = np.take_along_axis(self.matrices, order[:, :, None], axis=1)
        ordered = np.take_along_axis(ordered, order[:, None, :], axis=2)
        upper = np.triu_indices(self.matrices.shape[1])
        return np.asarray(ordered[:, upper[0], upper[1]])

    def eigenvalues(self) -> Array:
        """Eigenvalues of the matrices, by decreasing magnitude.

        Returns
        -------
        ndarray of shape (n, atoms)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.course import Qm7
        >>> Qm7(np.array([[[0.0, 2.0], [2.0, 3.0]]]), np.array([-100.0]), np.array([[0]])).eigenvalues()
        array([[ 4., -1.]])
        """
        values = np.linalg.eigvalsh(self.matrices)
        return np.take_along_axis(values, np.argsort(-np.abs(values), axis=1, kind="stable"), axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class IdaSplit(Brief):
    """One split of a set of the IDA benchmark.

    Attributes
    ----------
    number : int
        Number of the split, as in the names of its files.
    X_train, X_test : ndarray of shape (n, d)
        Rows.
    y_train, y_test : ndarray of shape (n,)
        Labels, -1 or 1.
    """

    number: int
    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True, eq=False, repr=False)
class IdaSet(Brief):
    """A set of the IDA benchmark.

    Attributes
    ----------
    name : str
        Name of the set, as in the names of its files.
    splits : tuple of IdaSplit
        Splits in the order of their numbers.
    """

    name: str
    splits: tuple[IdaSplit, ...]


def load_qm7(path: str | os.PathLike[str]) -> Qm7:
    """Read the molecules of `qm7.mat`: arrays X (Coulomb matrices), T (energies) and P (folds).

    Parameters
    ----------
    path : str or path-like
        The published file, or one with the same arrays of other molecules.

    Returns
    -------
    Qm7
        Coulomb matrices, energies and folds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from scipy.io import savemat
    >>> from mercer.course import load_qm7
    >>> X, T = np.ones((6, 3, 3)), np.full((1, 6), -400.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "qm7.mat"
    ...     savemat(file, {"X": X, "T": T, "P": np.arange(6).reshape(3, 2)})
    ...     data = load_qm7(file)
    >>> data.sorted_rows().shape, data.energies.shape, data.folds.tolist()
    ((6, 6), (6,), [[0, 1], [2, 3], [4, 5]])
    """
    file = Path(path)
    X, T, P = _mat_arrays(file)
    bad = X.ndim != 3 or X.shape[1] != X.shape[2] or not X.size
    refuse_if(bad, f"X of {file.name!r}", "molecules x atoms x atoms", f"shape {X.shape}", _PUBLISHED)
    lopsided = ~np.isclose(X, X.transpose(0, 2, 1), rtol=1e-4).all(axis=(1, 2))
    got = f"an asymmetric matrix (number {int(lopsided.argmax())})"
    refuse_if(lopsided.any(), f"X of {file.name!r}", "symmetric matrices", got, _PUBLISHED)
    must_be = f"one energy for each molecule, of shape {(1, len(X))}"
    refuse_if(T.shape != (1, len(X)), f"T of {file.name!r}", must_be, f"shape {T.shape}", _PUBLISHED)
    must_be = f"folds x molecules, with each number from 0 to {len(X) - 1} once"
    got = f"shape {P.shape}" + (f" with numbers from {P.min():g} to {P.max():g}" if P.size else "")
    bad = P.ndim != 2 or not np.array_equal(np.sort(P, axis=None), np.arange(len(X)))
    refuse_if(bad, f"P of {file.name!r}", must_be, got, _PUBLISHED)
    return Qm7(X, T[0], P.astype(np.intp))


def _mat_arrays(file: Path) -> list[Array]:
    """X, T and P of a MATLAB file, as floats."""
    from scipy.io.matlab import MatReadError, loadmat

    try:
        content = io.BytesIO(file.read_bytes())
    except FileNotFoundError:
        raise no_file(file) from None
    except IsADirectoryError:
        raise InputError(sentence(repr(str(file)), "a file", "a directory", _PUBLISHED)) from None
    except OSError as problem:
        raise InputError(f"{str(file)!r} cannot be read: {problem.strerror or problem}.") from None
    damage = (MatReadError, ValueError, TypeError, LookupError, NotImplementedError, OSError, zlib.error)
    try:
        stored = loadmat(content, variable_names=_ARRAYS)
    except damage:
        got = "a damaged file or another format"
        raise InputError(sentence(repr(str(file)), "a MATLAB file", got, _PUBLISHED)) from None
    missing = [name for name in _ARRAYS if name not in stored]
    if missing:
        raise InputError(sentence(repr(str(file)), "a file of X, T and P", f"no {listed(missing)}", _PUBLISHED))
    return [_finite(np.asarray(stored[name]), f"{name} of {file.name!r}", _PUBLISHED) for name in _ARRAYS]


def _finite(values: Array, what: str, way_out: str) -> Array:
    """The values as floats; refused if some are missing, infinite, or not numbers."""
    refuse_if(values.dtype.kind not in "iuf", what, "real numbers", f"values of type {values.dtype}", way_out)
    refuse_if(not np.isfinite(values).all(), what, "finite", "NaN or infinity", way_out)
    return values.astype(np.float64)


def load_ida(folder: str | os.PathLike[str]) -> IdaSet:
    r"""Read a set of the IDA benchmark from its text files.

    A split i has four files of numbers between blanks: `<name>_train_data_<i>.asc`, `<name>_train_labels_<i>.asc`,
    `<name>_test_data_<i>.asc` and `<name>_test_labels_<i>.asc`. Other files are left alone.

    Parameters
    ----------
    folder : str or path-like
        Folder with the files of one set, of one split or more.

    Returns
    -------
    IdaSet
        Name of the set, and its splits in the order of their numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.course import load_ida
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in ("train", "test"):
    ...         _ = Path(folder, f"banana_{part}_data_1.asc").write_text(" 1.5 -0.5\n 0.1  2.0\n")
    ...         _ = Path(folder, f"banana_{part}_labels_1.asc").write_text("-1\n 1\n")
    ...     data = load_ida(folder)
    >>> data.name, len(data.splits), data.splits[0].X_train.shape, data.splits[0].y_test.tolist()
    ('banana', 1, (2, 2), [-1, 1])
    """
    place = Path(folder)
    got = "a file" if place.exists() else "no such folder"
    refuse_if(not place.is_dir(), repr(str(place)), "a folder with the text files of an IDA set", got)
    matches = [match for each in place.iterdir() if (match := _IDA_FILE.fullmatch(each.name))]
    names = sorted({match[1] for match in matches})
    got = listed(names) if names else "no file <name>_train_data_<i>.asc"
    way_out = "Use one folder for each set." if names else ""
    refuse_if(len(names) != 1, repr(str(place)), "a folder of one IDA set", got, way_out)
    splits = tuple(_ida_split(place, names[0], i) for i in sorted({int(match[2]) for match in matches}))
    widths = sorted({X.shape[1] for split in splits for X in (split.X_train, split.X_test)})
    what, got = f"The number of columns of {names[0]}", f"{widths[0]} in some and {widths[-1]} in others"
    refuse_if(len(widths) > 1, what, "the same in all files of data", got)
    return IdaSet(names[0], splits)


def _ida_split(place: Path, name: str, number: int) -> IdaSplit:
    files = [place / f"{name}_{part}_{number}.asc" for part in _PARTS]
    X_train, y_train, X_test, y_test = (_numbers(file) for file in files)
    for X, y, file in ((X_train, y_train, files[1]), (X_test, y_test, files[3])):
        must_be = f"one label, -1 or 1, for each of the {counted(len(X), 'row')} of data"
        got = f"{len(y)} x {y.shape[1]} numbers from {y.min():g} to {y.max():g}"
        refuse_if(y.shape != (len(X), 1) or not np.isin(y, (-1, 1)).all(), repr(file.name), must_be, got)
    return IdaSplit(number, X_train, y_train[:, 0].astype(int), X_test, y_test[:, 0].astype(int))


def _numbers(file: Path) -> Array:
    """The table of numbers in a text file."""
    try:
        lines = file.read_text(encoding="ascii").splitlines()
        values = np.loadtxt(lines, comments=None, ndmin=2) if "".join(lines).strip() else np.empty((0, 0))
    except FileNotFoundError:
        way_out = "A split has four files: add the file, or remove the others of its split."
        raise InputError(f"There is no file {str(file)!r}. {way_out}") from None
    except OSError as problem:
        raise InputError(f"{str(file)!r} cannot be read: {problem.strerror or problem}.") from None
    except ValueError as problem:
        got = str(problem).split(";")[0].rstrip(".")
        raise InputError(sentence(repr(file.name), "lines of equally many numbers", got)) from None
    refuse_if(not values.size, repr(file.name), "lines of equally many numbers", "an empty file")
    return _finite(values, repr(file.name), "")
