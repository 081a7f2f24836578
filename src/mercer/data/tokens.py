"""Texts, token lists and sets as numbers: which symbol stands where, and how often each occurs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, refuse_if, sentence

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Numbers of substrings stay below this while they are put together from letters.
_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class Symbols:
    """Sequences laid end to end.

    Attributes
    ----------
    codes : ndarray of int
        A number for each symbol; equal symbols have equal numbers.
    owner : ndarray of int
        Which sequence each of them belongs to.
    count : int
        Number of sequences.
    known : list of hashable
        The symbol of each number.
    """

    codes: Array
    owner: Array
    count: int
    known: list[Hashable]

    @property
    def lengths(self) -> Array:
        """How long each sequence is."""
        return np.bincount(self.owner, minlength=self.count)


def letters(owner: str, values: Sequence[Any]) -> Symbols:
    """Texts by letter, other sequences by element.

    Examples
    --------
    >>> from mercer.data.tokens import letters
    >>> found = letters("Spectrum", ["abba", "b"])
    >>> found.codes.tolist(), found.owner.tolist(), found.known
    ([0, 1, 1, 0, 1], [0, 0, 0, 0, 1], ['a', 'b'])
    """
    if all(isinstance(value, str) for value in values):
        points = np.frombuffer("".join(values).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        known, codes = np.unique(points, return_inverse=True)
        lengths = np.array([len(value) for value in values], dtype=np.intp)
        return Symbols(codes.ravel(), np.repeat(np.arange(len(values)), lengths), len(values), [*map(chr, known)])
    return _number_symbols(owner, "texts or sequences", values, lambda value: value, ordered=True)


def words(owner: str, values: Sequence[object]) -> Symbols:
    """Texts by word (what stands between white space), other collections by element.

    Examples
    --------
    >>> from mercer.data.tokens import words
    >>> words("Words", ["good day", ["day"]]).known
    ['good', 'day']
    """
    return _number_symbols(owner, "texts, lists or sets", values, lambda value: value.split())


def _number_symbols(
    owner: str, takes: str, values: Sequence[Any], split: Callable[[str], Iterable[Hashable]], *, ordered: bool = False
) -> Symbols:
    refused = (Mapping, AbstractSet) if ordered else Mapping  # sets have no order, mappings more than their keys
    numbers: dict[Hashable, int] = {}
    codes: list[int] = []
    lengths = np.empty(len(values), dtype=np.intp)
    for row, value in enumerate(values):
        taken = isinstance(value, Iterable) and hasattr(value, "__len__") and not isinstance(value, refused)
        refuse_if(not isinstance(value, str) and not taken, f"Rows of {owner}", takes, f"{value!r} in row {row}")
        parts = split(value) if isinstance(value, str) else value
        try:
            mine = [numbers.setdefault(part, len(numbers)) for part in parts]
        except TypeError:
            what, must_be = f"Every item in the rows of {owner}", "hashable, such as a string, a number or a tuple"
            raise InputError(sentence(what, must_be, f"an unhashable item in row {row}")) from None
        codes += mine
        lengths[row] = len(mine)
    owners = np.repeat(np.arange(len(values)), lengths)
    return Symbols(np.array(codes, dtype=np.intp), owners, len(values), list(numbers))


def count_codes(owner: Array, codes: Array, rows: int, columns: int) -> csr_matrix:
    """How often each code occurs in each row."""
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(codes)), (owner, codes)), shape=(rows, columns))


def substrings(symbols: Symbols, length: int) -> tuple[Array, Array, Array]:
    """All runs of `length` symbols: the row of each, its number, and where one of each number begins."""
    length = min(length, int(symbols.lengths.max(initial=0)) + 1)  # none is longer than the longest row
    codes, size = symbols.codes.astype(np.int64), max(1, len(symbols.known))
    numbers, largest = codes, size
    for step in range(1, length):
        numbers = numbers[: max(0, len(codes) - step)]
        if largest > _LARGEST // size:
            _, numbers = np.unique(numbers, return_inverse=True)
            largest = int(numbers.max(initial=0)) + 1
        numbers = numbers * size + codes[step:]
        largest *= size
    last = symbols.owner[length - 1 :]
    whole = np.flatnonzero(symbols.owner[: len(last)] == last)
    _, first, numbers = np.unique(numbers[whole], return_index=True, return_inverse=True)
    return symbols.owner[whole], numbers.ravel(), whole[first]
