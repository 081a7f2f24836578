"""Kernels from the command line: families, and kernels on columns of the table as it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer.errors import InputError, nearest
from mercer.kernels import Kernel, parse
from mercer.kernels.views import On
from mercer.selection.ladders import FAMILIES
from mercer.tables import TableEncoder


def kernels_of(texts: Sequence[str], encoder: TableEncoder) -> list[Any]:
    """Family names as they are, all other texts as kernels of the encoded table.

    Examples
    --------
    >>> from mercer import TableEncoder
    >>> encoder = TableEncoder().fit({"age": [1.0, 2.0, 4.0], "city": ["Rome", "Bonn", "Rome"]})
    >>> kernels_of(["gaussian", "linear().on('city')"], encoder)
    ['gaussian', Linear().on([1, 2])]
    """
    return [placed(parse(text), encoder) if "(" in text else text for text in texts]


def refuse_unknown(texts: Sequence[str]) -> None:
    """Raise an error for a kernel that does not exist, before any table is read."""
    for text in texts:
        if "(" in text:
            parse(text)
        elif text.strip().lower() not in FAMILIES:
            raise InputError(f"There is no kernel {text!r}. {nearest(text.strip().lower(), FAMILIES)}")


def placed(kernel: Kernel, encoder: TableEncoder) -> Kernel:
    """The kernel with the numbers of encoded columns in place of the names of columns."""
    if isinstance(kernel, On):
        return placed(kernel.base, encoder).on(_places(kernel.columns, encoder))
    members = {name: placed(member, encoder) for name, member in kernel.members().items()}
    changed = {name: member for name, member in members.items() if member != kernel.members()[name]}
    return kernel.set_params(**changed) if changed else kernel


def _places(columns: Any, encoder: TableEncoder) -> list[int]:
    listed = [columns] if isinstance(columns, str | int) else list(columns)
    found: list[int] = []
    for name in listed:
        if not isinstance(name, str):
            raise InputError(f".on(...) needs column names on the command line, such as .on('age'); got {name!r}.")
        known = {column.name: place for place, column in enumerate(encoder.columns_) if column.outputs}
        if name not in known:
            raise InputError(f".on({name!r}): there is no feature column {name!r}. {nearest(name, known)}")
        found += [place for place, group in enumerate(encoder.groups_.tolist()) if group == known[name]]
    return found
