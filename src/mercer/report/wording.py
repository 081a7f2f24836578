"""Small pieces of sentences: numbers, shares, counts, lists and names that can be read anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LONG = 60  # letters of a name
_LISTED = 4


def number(value: float) -> str:
    """Four digits.

    >>> number(12.34567), number(float("nan"))
    ('12.35', 'unknown')
    """
    return "unknown" if math.isnan(value) else f"{value:.4g}"


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


def legible(name: str, most: int = _LONG) -> str:
    r"""A name on one line, without signs that cannot be seen, and not too long.

    >>> legible("net\nprice\x00"), legible("a" * 80, 10)
    ('net price', 'aaaaaaa...')
    """
    seen = "".join(sign if sign.isprintable() else " " for sign in name)
    line = " ".join(seen.split()) or "(no name)"
    return line if len(line) <= most else line[: most - 3] + "..."


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
