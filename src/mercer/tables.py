"""Tables as text: columns that line up, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence


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
    return f"{value:.4g}" if isinstance(value, float) else str(value)
