"""Text for people: tables whose columns line up, numbers, percentages, counts, lists and names."""

from __future__ import annotations

import io
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from html import escape
from typing import Any

from mercer.errors import printable

_LONG = 60  # letters of a name
_LONG_NUMBER = re.compile(r"(?<![\w.])\d+\.\d{5,}(?:e[+-]?\d+)?")
_LISTED = 4  # names in a list


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table for people; columns of numbers are set to the right.

    Examples
    --------
    >>> from mercer.text import text_table
    >>> print(text_table(["model", "error"], [["mean", 16.7], ["ridge", 10.25]]))
    model  error
    -----  -----
    mean    16.7
    ridge  10.25
    """
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    numeric = [all(isinstance(row[j], int | float) for row in rows) for j in range(len(header))]
    place = [str.rjust if right else str.ljust for right in numeric]

    def line(values: Sequence[str]) -> str:
        return "  ".join(put(value, width) for put, value, width in zip(place, values, widths, strict=True)).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def plain(value: float, digits: int = 4) -> str:
    """A number to so many digits, as people write it.

    Examples
    --------
    >>> from mercer.text import plain
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
    >>> from mercer.text import legible
    >>> print(legible("net\nprice\x00"), legible("a" * 80, 10))
    net price\u0000 aaaaaaa...
    """
    line = printable(" ".join(name.split())) or "(no name)"
    return line if len(line) <= most else line[: most - 3] + "..."


def round_numbers(text: str) -> str:
    """A text in which numbers have at most five digits.

    >>> round_numbers("Gaussian(width=1.523494018735173)")
    'Gaussian(width=1.5235)'
    """
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.5g}", text)


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things; `plural` where that is not the noun with an s.

    >>> counted(1, "kernel"), counted(3, "kernel"), counted(2, "pass", "passes")
    ('1 kernel', '3 kernels', '2 passes')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def quoted(names: Sequence[str], most: int = 5) -> str:
    """Names in quotes, the first of them where there are many.

    >>> quoted(["a", "b"]), quoted(list("abcdefg"))
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if names[most:] else "")


def number(value: float, digits: int = 4) -> str:
    """Four digits, or as many as are asked for.

    >>> number(12.34567), number(361634.2), number(103.2, 2), number(float("nan"))
    ('12.35', '361600', '100', 'unknown')
    """
    return "unknown" if math.isnan(value) else plain(value, digits)


def beside(value: float, spread: float) -> str:
    """A number with the digits that tell it from others a hundredth of the spread away, and at least four.

    >>> beside(48213.74, 0.31), beside(48213.74, 20000.0)
    ('48213.74', '48210')
    """
    if not (math.isfinite(value) and spread > 0 and value):
        return number(value)
    digits = math.floor(math.log10(abs(value))) - math.floor(math.log10(spread)) + 2
    return number(value, min(max(4, digits), 15))


def percent(share: float) -> str:
    """A share of a hundred, with a digit more where it is small or nearly all.

    >>> percent(0.123), percent(0.0456), percent(0.0), percent(0.9971), percent(0.99999)
    ('12 %', '4.6 %', '0 %', '99.7 %', 'more than 99.9 %')
    """
    if math.isnan(share):
        return "unknown"
    if 0.995 <= share < 1:
        return f"{100 * share:.1f} %" if share < 0.9995 else "more than 99.9 %"
    return f"{100 * share:.0f} %" if abs(share) > 0.0995 or not share else f"{100 * share:.1f} %"


def listed(names: Sequence[str]) -> str:
    """A few names in a row.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdef"))
    ('a', 'a, b and c', 'a, b, c, d and 2 more')
    """
    shown = [legible(name) for name in names[:_LISTED]]
    if len(names) > _LISTED:
        return f"{', '.join(shown)} and {len(names) - _LISTED} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def share_of(parts: int) -> str:
    """One of so many equal parts.

    >>> share_of(5), share_of(12)
    ('a fifth', 'one part in 12')
    """
    return {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}.get(parts, f"one part in {parts}")


def tie_percent(line: str) -> str:
    r"""A sentence that no line end parts from its percent signs.

    >>> tie_percent("12 % of them")
    '12\xa0% of them'
    """
    return line.replace(" %", "\u00a0%")


_SHOWN = 50  # rows of a table in a notebook


class Text(str):
    r"""A text that notebooks show as it is, line by line.

    >>> Text("two\nlines")
    two
    lines
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def text_below(diagram: str, text: str) -> str:
    """scikit-learn's diagram of a model with a text below, its columns in line."""
    return f'{diagram}<pre style="font-family:monospace;white-space:pre;overflow-x:auto">{escape(text)}</pre>'


def summary_below(diagram: str, model: Any, fitted: str) -> str:
    """scikit-learn's diagram of a model, with its summary once it has the fitted attribute."""
    return text_below(diagram, model.summary()) if hasattr(model, fitted) else diagram


class Brief:
    """An object that shows numbers and texts as they are, and of arrays the shape; names that end in _ are left out."""

    def __repr__(self) -> str:
        parts = [f"{name} {_brief(value)}" for name, value in vars(self).items() if name[-1] != "_"]
        return f"<{type(self).__name__}: {', '.join(parts)}>"


def _brief(value: Any) -> str:
    if hasattr(value, "shape") and value.shape:
        return " x ".join(map(str, value.shape))
    if hasattr(value, "shape") or isinstance(value, float):
        return plain(float(value))
    return f"({len(value)})" if isinstance(value, list | tuple | dict) else legible(repr(value))


class Shown:
    """A result as people look at it: one line, a table in a notebook, a data frame.

    Results have `__str__` and `_columns`; the rest is made from these, and from `plot` where there is one.
    """

    def _columns(self) -> Mapping[str, Sequence[object]]:
        """The numbers by name, one per row of the table: one row of the numbers and texts of a dataclass."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {name: [value] for name, value in found.items() if isinstance(value, str | int | float)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {str(self).splitlines()[0].rstrip('.')}>"

    def _table(self) -> str:
        """The table as text."""
        columns = self._columns()
        return text_table(list(columns), list(zip(*columns.values(), strict=True)))

    def to_frame(self) -> Any:
        """The table as a data frame of pandas.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd  # type: ignore[import-untyped]

        return pd.DataFrame(dict(self._columns()))

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = list(zip(*columns.values(), strict=True))
        texts = [any(isinstance(cell, str) for cell in values) for values in columns.values()]
        styles = [' style="text-align:left"' * text for text in texts]

        def line(tag: str, cells: Iterable[object]) -> str:
            shown = (f"<{tag}{style}>{escape(_cell(cell))}</{tag}>" for cell, style in zip(cells, styles, strict=True))
            return f"<tr>{''.join(shown)}</tr>"

        body = "".join(line("td", row) for row in rows[:_SHOWN])
        more = f"<p>... and {len(rows) - _SHOWN} more rows</p>" if len(rows) > _SHOWN else ""
        table = f"<table><thead>{line('th', columns)}</thead><tbody>{body}</tbody></table>" if rows else ""
        words = "<br>".join(map(escape, sentences(str(self))))
        return f"<div><p>{words}</p>{table}{more}{_picture(self, len(rows))}</div>"


def sentences(text: str) -> list[str]:
    r"""The lines of a text that are no table.

    >>> sentences("Two rows:\n\na  b\n-  -\n1  2\n\nThe end.")
    ['Two rows:', 'The end.']
    """
    plain_lines, inside = [], False
    for line, below in itertools.pairwise([*map(str.strip, text.splitlines()), ""]):
        inside = (inside and bool(line)) or (bool(below) and not set(below) - {"-", " "})
        if not inside and line:
            plain_lines.append(line)
    return plain_lines


def _cell(value: object) -> str:
    return plain(value) if isinstance(value, float) else str(value)


def _picture(result: object, rows: int) -> str:
    """The picture of a result that can be drawn, as part of a page; nothing without matplotlib."""
    if not hasattr(result, "plot"):
        return ""
    try:
        import matplotlib.figure
    except ImportError:
        return ""
    figure = matplotlib.figure.Figure(figsize=(7.0, 3.5 + 0.15 * min(rows, 20)), layout="constrained")
    result.plot(ax=figure.subplots())
    page = io.StringIO()
    figure.savefig(page, format="svg")
    text = page.getvalue()
    return text[text.index("<svg") :]
