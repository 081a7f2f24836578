"""Values as JSON and arrays, and back: numbers, texts, collections, arrays, sparse tables, kernels.

A JSON object always says what it is: ``{"is": "tuple", "of": [1, 2]}``. Reading knows the words below and no others;
classes come from tables in this package, never by a name that a file gives. Tables of searches, plans, folds and fits
in cells, which are more than their fields, have stand-ins that are restored with every size and index checked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path, PurePath
from typing import Any, TypeAlias

import numpy as np

from mercer.data.folds import Folds, LeftOut, Split
from mercer.data.rows import Array, Rows, XLike
from mercer.errors import InputError, ModelFileError, refuse, refuse_if
from mercer.insight.intervals import fold_numbers
from mercer.kernels import Exp, Kernel, Normalized, On, Power, Product, Scaled, Sum
from mercer.kernels.notation import NAMES
from mercer.local.cells import CellProblem, CellSolution, LocalFit
from mercer.local.partition import TIES, Partition
from mercer.runtime import available_bytes, readable
from mercer.runtime.container import CODES, LARGEST, count_values, digest_of, dumps, loads, need
from mercer.solvers.problem import Problem

Json: TypeAlias = Any  # what JSON holds: numbers, texts, lists, and objects that say what they are


def by_name(*classes: type) -> dict[str, type]:
    """Classes by their names."""
    return {cls.__name__: cls for cls in classes}


KERNELS = by_name(*NAMES.values(), Sum, Product, Scaled, Power, Exp, On, Normalized)
_COLLECTIONS = by_name(dict, tuple, set, frozenset)
_ARRAYS = ("array", "texts", "objects")
_ENDLESS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_LAST_LETTER = 0x10FFFF
_VALUE = 150  # bytes that a value in JSON takes at most while it is read
_OF_PARTITION = ("thresholds", "order", "starts", "centres", "low", "high")


class Writer:
    """Turns values into JSON, and collects the arrays that JSON names.

    Examples
    --------
    >>> from mercer.models.values import Writer
    >>> Writer().value((1, 2.5), "a pair")
    {'is': 'tuple', 'of': [1, 2.5]}
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def value(self, value: Any, what: str) -> Json:
        """Any value that there is a word for; `what` names it where there is none."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"is": "float", "of": str(value)}
        if type(value) is int:
            if abs(value) >= LARGEST:
                words = f"{what} cannot be saved: it must be an integer of at most 63 bits;"
                raise InputError(f"{words} got {value:.6g}.")
            return value
        if isinstance(value, Kernel):
            return self.kernel(value)
        if isinstance(value, np.ndarray):
            return self._array(value, what)
        if isinstance(value, PurePath):
            return {"is": "path", "of": str(value)}
        if hasattr(value, "tocsr"):
            return self._sparse(value.tocsr(), what)
        return self._collection(value, what)

    def _collection(self, value: Any, what: str) -> Json:
        if type(value) not in (list, *_COLLECTIONS.values()):
            return self.special(value, what)
        items = [self.value(item, what) for item in (map(list, value.items()) if type(value) is dict else value)]
        if type(value) in (set, frozenset):
            items.sort(key=dumps)
        return items if type(value) is list else {"is": type(value).__name__, "of": items}

    def special(self, value: object, what: str) -> Json:
        """What only the models know; here nothing."""
        got = f"{value!r}" if len(f"{value!r}") < 100 else type(value).__name__
        must_be = "it must be a number, string, array, kernel of mercer.kernels or a collection of these"
        words = f"{what} cannot be saved: {must_be}; got {got}."
        raise InputError(f"{words} Set it to such a value with set_params, then save.")

    def kernel(self, kernel: Kernel) -> Json:
        """The class of a kernel and its parameters."""
        name = type(kernel).__name__
        if KERNELS.get(name) is not type(kernel):
            holds = any(callable(value) and not isinstance(value, Kernel) for _, value in kernel.items())
            reason = "contains a Python function" if holds else "is a user-defined class"
            words = f"The kernel {kernel!r} {reason}, and model files contain no code. Use kernels of mercer.kernels, "
            raise InputError(words + "or compute the kernel matrix and fit with Precomputed().")
        return {"is": "kernel", "class": name, "with": {n: self.value(v, f"{n} of {name}") for n, v in kernel.items()}}

    def _array(self, array: Array, what: str) -> Json:
        if array.dtype == object:
            return {"is": "objects", "shape": list(array.shape), "name": self._held(_cells(array, f"A cell of {what}"))}
        if array.dtype.kind == "U" and array.dtype.itemsize:
            letters = array.dtype.itemsize // 4
            points = np.ascontiguousarray(array, dtype=f"<U{letters}").reshape(-1).view("<u4")
            return {"is": "texts", "name": self._held(points.reshape(*array.shape, letters))}
        words = f"{what} cannot be saved: it must be numbers, booleans or strings;"
        refuse(array.dtype.newbyteorder("<") not in CODES, f"{words} got type {array.dtype}.")
        turned = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        plain = array.T if turned else array
        name = self._held(np.ascontiguousarray(plain, dtype=array.dtype.newbyteorder("<")).reshape(plain.shape))
        return {"is": "array", "turned": turned, "name": name}

    def _sparse(self, table: XLike, what: str) -> Json:
        table = type(table)((table.data, table.indices, table.indptr), shape=table.shape)  # its narrowest index type
        parts = [self._array(part, what) for part in (table.data, table.indices, table.indptr)]
        kind = "matrix" if type(table).__name__ == "csr_matrix" else "array"
        return {"is": "sparse", "kind": kind, "shape": [int(n) for n in table.shape], "parts": parts}

    def _held(self, array: Array) -> str:
        name = digest_of(array)
        self.arrays[name] = array
        return name


class Reader:
    """Turns JSON and arrays back into values; what it does not know it refuses.

    Parameters
    ----------
    arrays : dict
        Arrays by name.

    Examples
    --------
    >>> from mercer.models.values import Reader
    >>> Reader({}).value({"is": "tuple", "of": [1, 2.5]})
    (1, 2.5)
    """

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays

    def value(self, given: Json) -> Any:
        """The value that some JSON stands for."""
        if isinstance(given, list):
            return [self.value(item) for item in given]
        if not isinstance(given, dict):
            return given
        word = given["is"]
        if word in _COLLECTIONS:
            need(isinstance(given["of"], list), "a collection is invalid")
            return _COLLECTIONS[word](self.value(given["of"]))
        if word == "float":
            return _ENDLESS[given["of"]]
        if word == "path":
            return Path(given["of"])
        if word == "kernel":
            return self._kernel(given)
        if word in _ARRAYS:
            return self._array(given)
        return self._sparse(given) if word == "sparse" else self.special(given)

    def special(self, given: dict[str, Json]) -> Any:
        """What only the models know; here nothing."""
        raise ModelFileError(f"it holds {str(given['is'])[:40]!r}, which is unknown.")

    def _kernel(self, given: dict[str, Json]) -> Kernel:
        cls: type[Kernel] = KERNELS[given["class"]]
        fields = given["with"]
        need(set(fields) == set(cls._names()), f"the parameters of {cls.__name__} are invalid")
        return cls(**{name: self.value(value) for name, value in fields.items()})

    def _array(self, given: dict[str, Json]) -> Array:
        stored, word = self.arrays[given["name"]], given["is"]
        if word == "objects":
            return self._objects(given, stored)
        if word == "texts":
            sound = stored.dtype == np.dtype("<u4") and stored.ndim and stored.size and stored.max() <= _LAST_LETTER
            need(sound, "an array of strings is invalid")
            return np.asarray(stored.reshape(-1).view(f"<U{stored.shape[-1]}").reshape(stored.shape[:-1]))
        return stored.T if given["turned"] is True else stored

    def _objects(self, given: dict[str, Json], stored: Array) -> Array:
        need(stored.dtype == np.uint8 and stored.ndim == 1, "an array of objects is invalid")
        text = stored.tobytes()
        needed, there = 4 * len(text) + _VALUE * count_values(text), available_bytes()
        words = f"an array of objects needs {readable(needed)} of memory; {readable(there)} is available"
        need(needed <= there, words, "Use a machine with more memory.")
        cells = loads(text.decode("ascii"), "an array of objects")
        shape = given["shape"]
        sound = type(cells) is list and all(type(n) is int and n >= 0 for n in shape)
        need(sound, "an array of objects is invalid")
        sound = len(shape) <= 2 and math.prod(shape) == len(cells)
        need(sound, "an array of objects does not have the stated size")
        return np.fromiter(map(Reader({}).value, cells), dtype=object, count=len(cells)).reshape(shape)

    def _sparse(self, given: dict[str, Json]) -> XLike:
        from scipy.sparse import csr_array, csr_matrix

        data, indices, indptr = (self.value(part) for part in given["parts"])
        rows, columns = given["shape"]
        sound = (
            all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
            and indices.dtype == indptr.dtype
            and indices.dtype in (np.int32, np.int64)
            and len(indptr) == rows + 1
            and len(data) == len(indices) == indptr[-1]
            and indptr[0] == 0
            and bool((np.diff(indptr) >= 0).all())
            and 0 <= indices.min(initial=0) <= indices.max(initial=0) < columns < LARGEST
        )
        need(sound, "a sparse matrix is inconsistent")
        make = {"matrix": csr_matrix, "array": csr_array}[given["kind"]]
        return make((data, indices, indptr), shape=(rows, columns))


def _cells(array: Array, what: str) -> Array:
    """An array of objects as the letters of their JSON."""
    writer = Writer()
    text = dumps([writer.value(item, what) for item in array.ravel()])
    refuse_if(writer.arrays, what, "a string, a number or a collection to be saved", "an array", "Use lists.")
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)


def names_in(given: Json) -> set[str]:
    """The names of all arrays that some JSON speaks of."""
    if isinstance(given, list):
        return set().union(*map(names_in, given))
    if not isinstance(given, dict):
        return set()
    own = {given["name"]} if given.get("is") in _ARRAYS else set[str]()
    return own.union(*map(names_in, given.values()))


@dataclass(frozen=True)
class StoredTable:
    """The table of a search as its text."""

    words: str

    def text(self, choice: object = None, folds: object = None) -> str:
        """The table as the search itself prints it."""
        return self.words


@dataclass(frozen=True)
class StoredRoute:
    """The name of the route of a search."""

    name: str


@dataclass(frozen=True)
class StoredPlan:
    """The plan of a search: the route that was chosen."""

    chosen: StoredRoute


@dataclass(frozen=True, eq=False)
class StoredFolds:
    """Folds as the number of the fold of each row, one array per repeat; none for splits that are no partition."""

    n: int
    label: str
    numbers: list[Array]

    @classmethod
    def of(cls, folds: Folds) -> StoredFolds:
        """From folds."""
        repeats = folds.repeats if folds.partition else ()
        alone = [Folds(folds.n, (repeat,), folds.label) for repeat in repeats]
        return cls(folds.n, folds.label, [fold_numbers(each).astype(np.int64) for each in alone])

    def restore(self) -> Folds:
        """The folds; those that are no partition by their label alone."""
        repeats = []
        for numbers in self.numbers:
            counts = np.bincount(numbers)
            need(numbers.shape == (self.n,) and len(counts) > 1 and counts.all(), "its folds are inconsistent")
            order = np.argsort(numbers, kind="stable")
            repeats.append(tuple(LeftOut(test, self.n) for test in np.split(order, np.cumsum(counts)[:-1])))
        nothing = np.empty(0, dtype=np.int64)
        return Folds(self.n, tuple(repeats) or ((Split(nothing, nothing),),), self.label)


@dataclass(frozen=True, eq=False)
class StoredCells:
    """A fit in cells as its arrays, those of all cells joined; of held-out predictions the residuals alone."""

    record: dict[str, Any]

    @classmethod
    def of(cls, fitted: LocalFit) -> StoredCells:
        """From a fit."""
        cells, partition, solutions = fitted.cells, fitted.cells.partition, fitted.solutions
        problem = cells.problem
        record = {
            "kernel": fitted.kernel,
            "alpha": fitted.alpha,
            "X": np.ascontiguousarray(cells.rows.values),
            "names": None if cells.rows.names is None else list(cells.rows.names),
            **{name: getattr(problem, name) for name in ("Y", "weights", "intercept")},
            "centre": np.broadcast_to(problem.centre, problem.Y.shape[1]).astype(np.float64),
            **{name: getattr(cells, name) for name in ("scale", "limits", "system_rows", "mix")},
            "columns": partition.columns.ravel(),
            **{name: getattr(partition, name) for name in _OF_PARTITION},
            "counts": np.array([len(solution.members) for solution in solutions], dtype=np.int64),
            "members": np.concatenate([solution.members for solution in solutions]).astype(np.int64),
            "dual": np.concatenate([solution.dual for solution in solutions]),
            "constant": np.stack([solution.constant for solution in solutions]),
            "conditions": np.array([solution.condition for solution in solutions]),
            "residuals": fitted.residuals,
        }
        return cls(record)

    def restore(self) -> LocalFit:
        """The fit; raises an error if its parts do not belong together."""
        record = self.record
        try:
            sound = type(record) is dict and _is_sound(record)
        except (KeyError, TypeError, AttributeError, ValueError):  # where arrays are missing
            sound = False
        need(sound, "its cells are inconsistent")
        n, counts = len(record["order"]), record["counts"]
        rows = Rows(record["X"], record["names"])
        problem = Problem(record["Y"], record["weights"], record["intercept"], centre=record["centre"])
        columns = record["columns"].reshape(-1, TIES)
        partition = Partition(record["X"][:n] * record["scale"], columns, *(record[name] for name in _OF_PARTITION))
        shared = {name: record[name] for name in ("scale", "system_rows", "mix", "limits")}
        cells = CellProblem(rows, problem, partition, **shared)
        ends = np.cumsum(counts)[:-1]
        members, dual = np.split(record["members"], ends), np.split(record["dual"], ends)
        parts = zip(members, dual, record["constant"], repeat(record["Y"][:0]), map(float, record["conditions"]))
        solutions = [CellSolution(*part) for part in parts]
        fitted = LocalFit(record["kernel"], record["alpha"], cells, solutions)
        fitted.__dict__["residuals"] = record["residuals"]  # which the file has in place of what they follow from
        return fitted


def _is_sound(record: dict[str, Any]) -> bool:
    """Whether all arrays have the sizes and all indices the ranges that belong to one another."""
    (total, d), t, cells = record["X"].shape, record["Y"].shape[1], len(record["counts"])
    n, held = len(record["order"]), int(record["counts"].sum())
    names, starts, weights = record["names"], record["starts"], record["weights"]
    floats = {
        "X": (total, d), "Y": (total, t), "centre": (t,), "scale": (d,), "thresholds": (cells - 1, TIES),
        "centres": (cells, d), "low": (cells, d), "high": (cells, d), "dual": (held, t), "constant": (cells, t),
    }  # fmt: skip
    floats |= {"weights": (total,)} if weights is not None else {}
    floats |= {"limits": (2, t)} if record["limits"] is not None else {}
    whole = {
        "order": (n, total), "starts": (cells + 1, n + 1), "columns": (TIES * (cells - 1), d),
        "counts": (cells, total + 1), "members": (held, n),
    }  # fmt: skip
    return (
        all(_are_floats(record[name], shape) for name, shape in floats.items())
        and all(_are_whole(record[name], *bounds) for name, bounds in whole.items())
        and _are_floats(record["residuals"], (total, t), finite=False)
        and _are_floats(record["conditions"], (cells,), finite=False)
        and isinstance(record["kernel"], Kernel)
        and record["kernel"].kind not in ("gram", "objects")
        and (type(record["alpha"]), type(record["intercept"])) == (float, bool)
        and (names is None or (len(names) == d and all(type(name) is str for name in names)))
        and all(type(record[name]) is int and record[name] > 0 for name in ("system_rows", "mix"))
        and cells & (cells - 1) == 0  # all leaves of the splits are on one level
        and 0 < n <= total
        and (weights is None or bool((weights[:n] > 0).all() and (weights[n:] == 0).all()))  # trained on, and others
        and bool(np.array_equal(np.sort(record["order"]), np.arange(n)))
        and (starts[0], starts[-1]) == (0, n)
        and bool((np.diff(starts) >= 0).all() and (record["scale"] > 0).all())
    )


def _are_floats(array: Any, shape: tuple[int, ...], *, finite: bool = True) -> bool:
    sound = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == shape
    return sound and (not finite or bool(np.isfinite(array).all()))


def _are_whole(array: Any, count: int, below: int) -> bool:
    sound = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.shape == (count,)
    return sound and bool(array.min(initial=0) >= 0 and array.max(initial=0) < max(below, 1))
