"""What a change of a column does to kernel values: derivatives of the kernel, and differences between two cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.inference.changes import Change, Item
from mercer.kernels import Kernel, Periodic, Stationary
from mercer.kernels.pair import Pair
from mercer.kernels.slopes import moved_rows
from mercer.kernels.tiles import between


@dataclass(frozen=True, eq=False)
class System:
    """A kernel, the rows of its coefficients, and the rows that effects are wanted at."""

    kernel: Kernel
    Z: Array
    at: Array
    names: Any

    @property
    def rows(self) -> tuple[Rows, Rows]:
        """Both tables as rows of the kernel."""
        return Rows(self.at, self.names), Rows(self.Z, self.names)


@dataclass(frozen=True, eq=False)
class Radial:
    """Derivatives of a kernel of squared differences: V_ij (x_ic - z_jc) factor_c by column c.

    One V serves all columns, and averages over rows need no matrix for each of them.
    """

    V: Array
    factor: Array

    @staticmethod
    def of(part: System) -> Radial | None:
        """That of a system; None for kernels of another kind."""
        kernel = part.kernel
        if not isinstance(kernel, Stationary) or isinstance(kernel, Periodic) or kernel.power != 2:
            return None
        if type(kernel).slope is Stationary.slope:
            return None
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            V = 2.0 * kernel.slope(kernel.distance(Pair(*part.rows)))
        by = np.broadcast_to(np.asarray(kernel.inverse(part.Z.shape[1]), dtype=np.float64), (part.Z.shape[1],))
        return Radial(V, by**2)


def changed(part: System, item: Item, radial: Radial | None) -> Array:
    """What the changes do to k(x, z) for every row x of `part.at` and z of `part.Z`."""
    cells = tuple(change for change in item if change.ends is not None)
    columns = tuple(int(change.places[0]) for change in item if change.ends is None)
    if len(columns) == 1 and not cells and radial is not None:
        (place,) = columns
        return np.asarray(radial.V * (radial.factor[place] * np.subtract.outer(part.at[:, place], part.Z[:, place])))
    ends = ((c, replace(part, at=rows)) for c, rows in stencil(part, cells, []))
    return np.asarray(sum(c * _derivative(end, columns) for c, end in ends))


def _derivative(part: System, columns: tuple[int, ...]) -> Array:
    return part.kernel.derivative(*part.rows, columns) if columns else values(part, part.at)


def values(part: System, rows: Array) -> Array:
    """k(x, z) of these rows and those of the coefficients."""
    return np.asarray(between(part.kernel, Rows(rows, part.names), Rows(part.Z, part.names)))


def stencil(part: System, item: Item, kernels: list[Kernel]) -> list[tuple[float, Array]]:
    """The changes as a sum of function values, c times f at moved rows, for functions of these kernels."""
    columns = tuple(int(change.places[0]) for change in item if change.ends is None)
    found = moved_rows(kernels, *part.rows, columns)
    for change in item:
        if change.ends is not None:
            low, high = change.ends
            found = [(s * c, _put(rows, change, end)) for c, rows in found for s, end in ((1.0, high), (-1.0, low))]
    return found


def _put(rows: Array, change: Change, cells: Array) -> Array:
    moved = rows.copy()
    moved[:, change.places] = cells
    return moved
