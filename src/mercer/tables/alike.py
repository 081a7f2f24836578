"""Columns that say the same: copies of one another, and numbers that are combinations of others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.linalg import qr

from mercer.data.rows import Array
from mercer.tables.cells import Cells, texts_of
from mercer.tables.encoder import TableEncoder

_COLUMNS = 200  # of numbers that are looked at
_ROWS = 5000
_ZERO = 1e-9  # of a column's spread: what rounding leaves
_PART = 1e-6  # the same, of what a column contributes


def alike(encoder: TableEncoder, features: Mapping[str, Cells]) -> list[str]:
    """A sentence for columns that are copies, and for those that are computed from others.

    Examples
    --------
    >>> from mercer import TableEncoder
    >>> from mercer.tables.alike import alike
    >>> from mercer.tables.cells import read_cells
    >>> rows = range(10)
    >>> raw = {"a": [i * i for i in rows], "b": [i % 3 for i in rows], "c": [i * i - i % 3 for i in rows]}
    >>> table = {name: read_cells(name, cells) for name, cells in raw.items()}
    >>> alike(TableEncoder().fit(table), table)
    ["Column 'c' is computed from other columns: a - b."]
    """
    used = [column for column in encoder.columns_ if column.outputs]
    seen: dict[bytes, str] = {}
    copies: dict[str, str] = {}
    for column in used:
        codes, levels = texts_of(features[column.name])
        key = np.unique(codes, return_inverse=True)[1].astype(np.int32).tobytes() + repr(levels).encode()
        if seen.setdefault(key, column.name) != column.name:
            copies[column.name] = seen[key]
    said = [f"Column {name!r} is a copy of {other!r}." for name, other in copies.items()]
    numbers = [each.name for each in used if each.kind == "number" and each.name not in copies][:_COLUMNS]
    for name, formula in _combinations({each: features[each].values for each in numbers}).items():
        said.append(f"Column {name!r} is computed from other columns: {formula}.")
    return said


def _combinations(columns: Mapping[str, Array]) -> dict[str, str]:
    """Columns that are a constant plus multiples of columns before them, with the formula."""
    names = list(columns)
    if len(names) < 2:
        return {}
    Z = np.column_stack([columns[name] for name in names])[:_ROWS]
    Z = Z[np.isfinite(Z).all(axis=1)]
    if len(Z) < len(names) + 3:
        return {}
    mean = Z.mean(axis=0)
    Z = Z - mean
    spread = np.sqrt(np.mean(Z**2, axis=0))
    if not (spread > 0).all():
        return {}
    Z /= spread
    found: dict[str, str] = {}
    free: list[int] = []
    R = np.abs(np.diag(qr(Z, mode="r")[0]))
    for place in range(len(names)):
        if R[place] > _ZERO * np.sqrt(len(Z)) or not free:
            free.append(place)
            continue
        parts, *_ = np.linalg.lstsq(Z[:, free], Z[:, place], rcond=None)
        by = {i: part * spread[place] / spread[i] for i, part in zip(free, parts, strict=True) if abs(part) > _PART}
        rest = float(mean[place] - sum(factor * mean[i] for i, factor in by.items()))
        constant = {"": rest} if abs(rest) > _PART * spread[place] else {}
        found[names[place]] = formula({names[i]: float(factor) for i, factor in by.items()} | constant)
    return found


def formula(factors: Mapping[str, float]) -> str:
    """A sum of multiples of columns; that of no column is a constant.

    >>> formula({"food": 1.0, "rent": -0.5, "": 3.0})
    'food - 0.5 rent + 3'
    """
    said = ""
    for name, factor in factors.items():
        size = f"{abs(factor):.6g}"
        term = size if not name else name if size == "1" else f"{size} {name}"
        said += (" - " if factor < 0 else " + ") + term if said else "-" * (factor < 0) + term
    return said
