"""The argument that a kernel is (or is not) a Mercer kernel, as a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mercer.data.rows import Array, Rows, XLike, as_rows
from mercer.text import Shown

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

_WORDS = {True: "valid", False: "not valid", None: "unknown"}
_SHOWN = 4  # rows, and columns of a row, up to which a witness is printed in full


@dataclass(frozen=True, eq=False)
class Witness:
    """A few rows and a vector v with v'Kv < 0: no Gram matrix of a Mercer kernel has one.

    Attributes
    ----------
    rows : ndarray
        What the kernel was called on, so that ``kernel(rows)`` is K; row numbers where only a matrix was given.
    vector : ndarray
        v, of length one: one number per row.
    value : float
        v'Kv, which is negative.
    places : tuple of int or None
        Where the rows stand in the X or matrix that was given; None where nothing was.

    Examples
    --------
    >>> from mercer.kernels import SquaredDistance
    >>> witness = SquaredDistance().certificate().witness
    >>> print(witness)
    the rows [0] and [1] with v = (0.7071, -0.7071): v'Kv = -1
    >>> print(f"{witness.vector @ SquaredDistance()(witness.rows) @ witness.vector:.4g}")
    -1
    """

    rows: XLike
    vector: Array
    value: float
    places: tuple[int, ...] | None = None

    def __str__(self) -> str:
        count, weights = len(self.vector), ", ".join(f"{weight:.4g}" for weight in self.vector)
        few, many = f"{self._names(count)} with v = ({weights})", f"{count} rows with a v given beside"
        return f"{few if count <= _SHOWN else many}: v'Kv = {self.value:.4g}"

    def _names(self, count: int) -> str:
        """The rows in words: numbers if given rows, cells if few, otherwise how many."""
        if self.places is not None:
            names = [str(place) for place in self.places]
        elif np.ndim(self.rows) == 2 and np.shape(self.rows)[1] <= _SHOWN:
            names = [f"[{', '.join(f'{number:.10g}' for number in row)}]" for row in self.rows]
        else:
            return "one row" if count == 1 else f"{count} rows"
        return f"the row {names[0]}" if count == 1 else f"the rows {', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """One step of the argument, and the steps it rests on.

    Attributes
    ----------
    kernel : Kernel
        What the step is about.
    valid : bool or None
        True: every Gram matrix is positive semi-definite. False: some are not. None: unknown.
    reason : str
        The rule or fact.
    parts : tuple of Certificate
        The same for each kernel it is made of.
    witness : Witness or None
        Where it is not valid: rows that show it, if they are known.
    """

    kernel: Kernel
    valid: bool | None
    reason: str
    parts: tuple[Certificate, ...] = ()
    witness: Witness | None = field(default=None, compare=False)  # follows from the kernel

    def _columns(self) -> dict[str, list[object]]:
        """Every step of the argument, with its depth in the tree."""
        steps = self.steps()
        return {
            "depth": [depth for depth, _ in steps],
            "kernel": [repr(step.kernel) for _, step in steps],
            "valid": [_WORDS[step.valid] for _, step in steps],
            "because": [step.reason for _, step in steps],
        }

    def steps(self, depth: int = 0) -> list[tuple[int, Certificate]]:
        """The steps of the argument, this one first, each with its depth in the tree."""
        return [(depth, self), *(step for part in self.parts for step in part.steps(depth + 1))]

    def __str__(self) -> str:
        lines = []
        for depth, step in self.steps():
            pad = "  " * depth
            lines += [f"{pad}{_WORDS[step.valid]}: {step.kernel!r}", f"{pad}  because {step.reason}"]
            if step.witness is not None:
                lines.append(f"{pad}  witness: {step.witness}")
        return "\n".join(lines)


def certify(kernel: Kernel) -> Certificate:
    """The proof tree of a kernel: its own verdict over those of its members."""
    valid, reason = kernel.verdict()
    parts = tuple(certify(part) for part in kernel.parts())
    rows = kernel.counterexample() if valid is False else None
    witness = None if rows is None else witness_of(kernel(rows), as_rows(rows))
    return Certificate(kernel, valid, reason, parts, witness)


def witness_of(K: Array, rows: Rows | None, places: tuple[int, ...] | None = None) -> Witness | None:
    """The eigenvector of K's smallest eigenvalue as a witness; None where v'Kv is not negative."""
    vector = np.linalg.eigh(K)[1][:, 0]
    vector = vector if vector[np.abs(vector).argmax()] > 0 else -vector
    value, where = float(vector @ K @ vector), np.asarray(places) if rows is None else rows.values
    return Witness(where, vector, value, places) if value < 0 else None
