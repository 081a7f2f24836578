"""Tables, numbers and names as text: columns that line up, numbers as people write them, names on one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from mercer.errors import printable

_LONG = 60  # letters of a name


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table for people; columns of numbers are set to the right.

    Examples
    --------
    >>> from mercer.tables import text_table
    >>> print(text_table(["model", "error"], [["mean", 16.7], ["ridge", 10.25]]))
    model  error
    -----  -----
    mean    16.7
    ridge  10.25
    """
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [all(isinstance(row[j], int | float) for row in rows) for j in range(len(header))]

    def line(values: Sequence[str]) -> str:
        placed = (
            value.rjust(width) if is_right else value.ljust(width)
            for value, width, is_right in zip(values, widths, right, strict=True)
        )
        return "  ".join(placed).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def plain(value: float, digits: int = 4) -> str:
    """A number to so many digits, as people write it.

    Examples
    --------
    >>> from mercer.tables import plain
    >>> plain(361634.2), plain(0.00123456, 2), plain(1.5e13), plain(240.0), plain(103.0, 1)
    ('361600', '0.0012', '1.5e+13', '240', '100')
    """
    short = f"{value:.{digits}g}"
    if "e" not in short or not math.isfinite(value) or not 1e-4 <= abs(float(short)) < 1e9:
        return short
    return f"{Decimal(short):f}"


def legible(name: str, most: int = _LONG) -> str:
    r"""A name on one line, as a terminal may show it (see `printable`), and not too long.

    Examples
    --------
    >>> from mercer.tables import legible
    >>> print(legible("net\nprice\x00"), legible("a" * 80, 10))
    net price\u0000 aaaaaaa...
    """
    line = printable(" ".join(name.split())) or "(no name)"
    return line if len(line) <= most else line[: most - 3] + "..."
