"""Small pieces of sentences: numbers, shares, counts, lists and names that can be read anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mercer.tables import legible, plain

__all__ = ["count", "legible", "listed", "number", "percent", "share_of", "tied"]

_LISTED = 4


def number(value: float, digits: int = 4) -> str:
    """Four digits, or as many as are asked for.

    >>> number(12.34567), number(361634.2), number(103.2, 2), number(float("nan"))
    ('12.35', '361600', '100', 'unknown')
    """
    return "unknown" if math.isnan(value) else plain(value, digits)


def percent(share: float) -> str:
    """A share of a hundred, with a digit more where it is small.

    >>> percent(0.123), percent(0.0456), percent(0.0)
    ('12 %', '4.6 %', '0 %')
    """
    if math.isnan(share):
        return "unknown"
    return f"{100 * share:.0f} %" if abs(share) > 0.0995 or not share else f"{100 * share:.1f} %"


def count(many: int, what: str) -> str:
    """So many things.

    >>> count(1, "row"), count(12, "row")
    ('1 row', '12 rows')
    """
    return f"{many} {what}{'s' * (many != 1)}"


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


def tied(line: str) -> str:
    r"""A sentence that no line end parts from its percent signs.

    >>> tied("12 % of them")
    '12\xa0% of them'
    """
    return line.replace(" %", "\u00a0%")
