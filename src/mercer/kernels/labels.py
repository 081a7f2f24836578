"""Names of explicit features: products of columns, each with its factor, written as a person would."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Self

from mercer.data.rows import Rows

# Squares of factors up to here are told apart from whole numbers with digits to spare.
_WHOLE, _ROUNDING = 1e9, 1e-12

Powers = tuple[tuple[str, int], ...]


class Label(str):
    """A name that remembers its factor and what it is a product of, so that names can be multiplied.

    Examples
    --------
    >>> from mercer.kernels.labels import Label
    >>> Label.make(2**0.5, [("x1", 1), ("x2", 2)])
    'sqrt2*x1*x2^2'
    >>> Label.of("x1").times(Label.of("a + b"))
    'x1*(a + b)'
    """

    __slots__ = ("factor", "powers")

    factor: float
    powers: Powers

    @classmethod
    def make(cls, factor: float, powers: Iterable[tuple[str, int]]) -> Self:
        """factor times a product of powers."""
        powers = tuple(powers)
        label = cls(_text(factor, powers))
        label.factor, label.powers = factor, powers
        return label

    @classmethod
    def of(cls, name: str) -> Label:
        """A plain name as a product of one."""
        return name if isinstance(name, Label) else cls.make(1.0, [(name, 1)])

    def times(self, other: Label) -> Label:
        """The product of the two, like with like."""
        powers = dict(self.powers)
        for name, exponent in other.powers:
            powers[name] = powers.get(name, 0) + exponent
        return Label.make(self.factor * other.factor, powers.items())

    def power(self, exponent: int) -> Label:
        """A whole power."""
        return Label.make(self.factor**exponent, [(name, e * exponent) for name, e in self.powers])


def products(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """Every name of one times every name of the other, in the order of the features."""
    return [Label.of(a).times(Label.of(b)) for a in left for b in right]


def column_names(rows: Rows) -> list[str]:
    """The names of the columns: the DataFrame's, or x1, x2, ... as the lectures write."""
    return list(rows.names) if rows.names is not None else [f"x{j + 1}" for j in range(rows.width)]


def argument(rows: Rows) -> str:
    """What a function is of: the one column that has a name, or x."""
    return rows.names[0] if rows.names is not None and len(rows.names) == 1 else "x"


def _text(factor: float, powers: Powers) -> str:
    front = _number(factor)
    if factor == 0 or not powers:
        return front
    alone = abs(factor - 1.0) <= _ROUNDING
    if alone and len(powers) == 1 and powers[0][1] == 1:
        return powers[0][0]
    parts = [bracket(name) + (f"^{exponent}" if exponent > 1 else "") for name, exponent in powers]
    return "*".join(parts if alone else [front, *parts])


def _number(factor: float) -> str:
    """3, sqrt2 or 1.58: an integer, the root of one, or a short decimal.

    >>> [_number(factor) for factor in (3.0, 2**0.5, 2.5**0.5, 0.0)]
    ['3', 'sqrt2', '1.58', '0']
    """
    square = factor * factor
    whole = round(square) if square < _WHOLE else 0
    if factor == 0 or whole == 0 or abs(square - whole) > _ROUNDING * square:
        return f"{factor:.3g}"
    root = math.isqrt(whole)
    return str(root) if root * root == whole else f"sqrt{whole}"


def bracket(name: str) -> str:
    """A name as a factor of a product: in brackets where it would fall apart."""
    return f"({name})" if re.search(r"[-+*/^\s]", re.sub(r"\([^()]*\)$", "", name)) else name
