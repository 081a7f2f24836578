"""Dates, times of day and durations in text: how they are read, and how the whole column tells their format."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from contextlib import suppress

from mercer.errors import InputError, sentence
from mercer.tables.cells import Cells, naive

# Names of the formats that are found; any other format is one of strptime.
ISO, DAY_FIRST, MONTH_FIRST, YEAR_FIRST, DIGITS, CLOCK, DURATION = FORMATS = (
    "", "day first", "month first", "year first", "digits", "clock", "duration",
)  # fmt: skip
WORDS = {
    DAY_FIRST: "dates, the day before the month",
    MONTH_FIRST: "dates, the month before the day",
    YEAR_FIRST: "dates",
    DIGITS: "dates such as 20201231",
    CLOCK: "times of day",
    DURATION: "durations, in days",
}
EXAMPLES = {
    ISO: "2024-12-31", DAY_FIRST: "31.12.2024", MONTH_FIRST: "12/31/2024", YEAR_FIRST: "2024/12/31", DIGITS: "20241231",
    CLOCK: "23:59",
}  # fmt: skip
_NAMED = ("%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")  # formats in which the month has a name
_CENTURY = 69  # years of two digits from here on are of the last century, as strptime has it
_FEWEST = 3  # distinct whole numbers, all of them dates, that are no chance
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - all moments are in UTC
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].+)?")
_TIME = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<decimals>[0-9]{1,9}))?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_DAY, _MONTH, _THEN = "(?P<day>[0-9]{1,2})", "(?P<month>[0-9]{1,2})", rf"(?:,?[ T]\s*{_TIME})?"
_SIGN, _YEAR = "(?P<sign>[./-])", "(?P=sign)(?P<year>[0-9]{4}|[0-9]{2}(?=,?[ T]))"
_PATTERNS = {
    DAY_FIRST: re.compile(_DAY + _SIGN + _MONTH + _YEAR + _THEN),
    MONTH_FIRST: re.compile(_MONTH + _SIGN + _DAY + _YEAR + _THEN),
    YEAR_FIRST: re.compile(f"(?P<year>[0-9]{{4}})(?P<sign>[./]){_MONTH}(?P=sign){_DAY}{_THEN}"),
    DIGITS: re.compile(r"(?P<year>(?:19|20)[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?:\.0)?"),
    CLOCK: re.compile(_TIME),
}
_DURATION = re.compile(r"([+-]?)(?:([0-9]+)\s*days?,?\s*\+?)?(?:([0-9]+):([0-9]{2})(?::([0-9]{2}(?:[.,][0-9]+)?))?)?")
# What a person would take for a date, whatever its format.
_LOOKS = re.compile(
    r"(?:[A-Za-z]{2,9},? )?(?:[0-9]{1,4}([./ -])(?:[0-9]{1,2}|[A-Za-z]{3,9})\1[0-9]{2,4}"
    r"|[A-Za-z]{3,9} [0-9]{1,2},? [0-9]{4})(?:[ T,].*)?|[0-9]{1,2}[:h][0-9]{2}(?:[: ].*)?"
)


def read_day(text: str, form: str = ISO) -> float | None:
    """Days since 1970 of a date, with or without a time, or the part of a day that a time is; None for other text.

    Examples
    --------
    >>> from mercer.tables.dates import read_day
    >>> read_day("1970-01-02T12:00"), read_day("2.1.1970"), read_day("2.1.1970", "day first")
    (1.5, None, 1.0)
    >>> read_day("06:00 pm", "clock"), read_day("31:30:00", "duration"), read_day("2 Jan 1970", "%d %b %Y")
    (0.75, 1.3125, 1.0)
    """
    try:
        if form == DURATION:
            return _duration(text)
        moment = _moment(text, form)
        return None if moment is None else ((moment - _EPOCH) // dt.timedelta(milliseconds=1)) / 86_400_000
    except (ValueError, OverflowError):
        return None


def _moment(text: str, form: str) -> dt.datetime | None:
    """The moment that a text is in a format; a time of day is one of the first day of 1970."""
    if form == ISO:
        return naive(dt.datetime.fromisoformat(text)) if _ISO.fullmatch(text) else None
    if form not in _PATTERNS:
        return naive(dt.datetime.strptime(text, form))  # type: ignore[no-any-return]  # noqa: DTZ007
    match = _PATTERNS[form].fullmatch(text)
    if match is None:
        return None
    part = match.groupdict().get
    year, month, day = int(part("year") or 1970), int(part("month") or 1), int(part("day") or 1)
    if part("year") and len(match["year"]) == 2:
        year += 1900 if year >= _CENTURY else 2000
    if not part("hour"):
        return dt.datetime(year, month, day)  # noqa: DTZ001
    hour, half = int(match["hour"]), match["half"]
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + 12 * (half in "Pp") if half else hour
    microsecond = int((match["decimals"] or "")[:6].ljust(6, "0"))
    return dt.datetime(year, month, day, hour, int(match["minute"]), int(match["second"] or 0), microsecond)  # noqa: DTZ001


def _duration(text: str) -> float | None:
    match = _DURATION.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    sign, days, hours, minutes, seconds = match.groups()
    seconds = float((seconds or "0").replace(",", "."))
    time = (int(hours or 0) + (int(minutes or 0) + seconds / 60) / 60) / 24
    if days:  # "-1 day, 18:00:00" is six hours before nothing: the sign is that of the days
        return time + (-int(days) if sign == "-" else int(days))
    return -time if sign == "-" else time


def find_format(cells: Cells, said: str | None = None) -> str | None:
    """The format of the dates of a text column; None where some cell is no date. The first line that fits decides.

    =====================================================  =========================
    every cell in the format that was said                 that format
    every cell an ISO date, with or without a time         ISO
    every cell a time of day: 07:45, 7:45 pm               clock
    every cell a duration: 26:30, 2 days 01:30:00          duration
    every cell 2020/12/31 or 2020.12.31                    year first
    every cell 31 Dec 2020, Dec 31, 2020 or the like       that format
    every cell a date with the day before the month        day first
    every cell a date with the month before the day        month first
    both                                                   as in what was said; else refused
    every cell 20201231, three distinct ones or more       digits
    =====================================================  =========================

    Examples
    --------
    >>> from mercer.tables.cells import read_cells
    >>> from mercer.tables.dates import find_format
    >>> find_format(read_cells("day", ["1/2/2024", "1/31/2024"])), find_format(read_cells("day", ["1/2", "3"]))
    ('month first', None)
    """
    levels = cells.levels
    if not levels or not any(sign.isdigit() for sign in levels[0]):
        return None
    for form in (*([] if said is None else [said]), ISO, CLOCK, DURATION, YEAR_FIRST, *_NAMED):
        if are_dates(levels, form):
            return form
    fits = [form for form in (DAY_FIRST, MONTH_FIRST) if are_dates(levels, form)]
    if len(fits) == 2 and said is not None and "%d" in said and "%m" in said:  # without the time, or the century
        return DAY_FIRST if said.index("%d") < said.index("%m") else MONTH_FIRST
    if len(fits) == 2:
        unclear = next((text for text in levels if len({read_day(text, form) for form in fits}) == 2), levels[0])
        said = f"in {cells.found(unclear)} the day or the month may come first, and no cell of the column tells which."
        message = f"Column {cells.name!r} is ambiguous: {said}"
        raise InputError(message, hint="Set $date_format, or use $category.", column=cells.name)
    if fits:
        return fits[0]
    return DIGITS if len(levels) >= _FEWEST and are_dates(levels, DIGITS) else None


def are_dates(levels: Sequence[str], form: str = ISO) -> bool:
    """Whether all texts are dates in a format."""
    return all(read_day(text, form) is not None for text in levels)


def looks_like_dates(levels: Sequence[str]) -> bool:
    """Whether a person would take most of these texts for dates or times."""
    return 2 * sum(bool(_LOOKS.fullmatch(text)) for text in levels) > len(levels)


def check_format(form: object) -> str | None:
    """Validate a format that was said.

    >>> check_format("%d/%m/%Y")
    '%d/%m/%Y'
    """
    example = dt.datetime(2024, 12, 31, 13, 45)  # noqa: DTZ001
    with suppress(ValueError, re.error):
        if form is None:
            return None
        if isinstance(form, str) and "%" in form and dt.datetime.strptime(example.strftime(form), form):  # noqa: DTZ007
            return form
    raise InputError(sentence("The date format", "a format of strptime, such as '%d/%m/%Y' or '%m/%d/%Y'", repr(form)))
