"""Dates, times of day and durations in text: how they are read, and how the whole column tells their format."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from mercer.errors import InputError, sentence
from mercer.tables.cells import Cells, naive

# Names of the formats that are found; any other format is one of strptime.
DAY_FIRST, MONTH_FIRST, YEAR_FIRST, DIGITS, CLOCK, DURATION = (
    "day first", "month first", "year first", "digits", "clock", "duration",
)  # fmt: skip
ISO = ""
FORMATS = (ISO, DAY_FIRST, MONTH_FIRST, YEAR_FIRST, DIGITS, CLOCK, DURATION)
WORDS = {
    DAY_FIRST: "dates, the day before the month",
    MONTH_FIRST: "dates, the month before the day",
    YEAR_FIRST: "dates",
    DIGITS: "dates such as 20201231",
    CLOCK: "times of day",
    DURATION: "durations, in days",
}
_NAMED = ("%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")  # formats in which the month has a name
_CENTURY = 69  # years of two digits from here on are of the last century, as strptime has it
_FEWEST = 3  # distinct whole numbers, all of them dates, that are no chance
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - all moments are in UTC
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].+)?")
_TIME = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?(?:\s*([AaPp])\.?[Mm]\.?)?"
_CLOCK = re.compile(_TIME)
_YEAR_LAST = re.compile(rf"([0-9]{{1,2}})([./-])([0-9]{{1,2}})\2([0-9]{{4}}|[0-9]{{2}}(?=,?[ T]))(?:,?[ T]\s*{_TIME})?")
_YEAR_FIRST = re.compile(rf"([0-9]{{4}})([./])([0-9]{{1,2}})\2([0-9]{{1,2}})(?:,?[ T]\s*{_TIME})?")
_DIGITS = re.compile(r"((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})(?:\.0)?")
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
    if form == ISO:
        return naive(dt.datetime.fromisoformat(text)) if _ISO.fullmatch(text) else None
    if form == CLOCK:
        match = _CLOCK.fullmatch(text)
        return None if match is None else _EPOCH + _time(match.groups())
    if form == DIGITS:
        match = _DIGITS.fullmatch(text)
        return None if match is None else dt.datetime(int(match[1]), int(match[2]), int(match[3]))  # noqa: DTZ001
    if form not in FORMATS:
        return naive(dt.datetime.strptime(text, form))  # type: ignore[no-any-return]  # noqa: DTZ007
    match = (_YEAR_FIRST if form == YEAR_FIRST else _YEAR_LAST).fullmatch(text)
    if match is None:
        return None
    first, _, second, third, *time = match.groups()
    if form == YEAR_FIRST:
        year, month, day = first, second, third
    else:
        year, (day, month) = third, (first, second) if form == DAY_FIRST else (second, first)
    whole = int(year) if len(year) == 4 else (1900 if int(year) >= _CENTURY else 2000) + int(year)
    return dt.datetime(whole, int(month), int(day)) + _time(time)  # noqa: DTZ001


def _time(parts: Sequence[str | None]) -> dt.timedelta:
    """The time since midnight of hours, minutes, seconds, their decimals, and a or p."""
    hour, minute, second, decimals, half = parts
    if hour is None:
        return dt.timedelta()
    hours = int(hour)
    if half is not None:
        if not 1 <= hours <= 12:
            raise ValueError
        hours = hours % 12 + 12 * (half.lower() == "p")
    clock = dt.time(hours, int(minute or 0), int(second or 0), int((decimals or "")[:6].ljust(6, "0")))
    return dt.timedelta(hours=clock.hour, minutes=clock.minute, seconds=clock.second, microseconds=clock.microsecond)


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
    if said is not None and are_dates(levels, said):
        return said
    for form in (ISO, CLOCK, DURATION, YEAR_FIRST, *_NAMED):
        if are_dates(levels, form):
            return form
    fits = [form for form in (DAY_FIRST, MONTH_FIRST) if are_dates(levels, form)]
    if len(fits) == 2 and said is not None and "%d" in said and "%m" in said:  # without the time, or the century
        return DAY_FIRST if said.index("%d") < said.index("%m") else MONTH_FIRST
    if len(fits) == 2:
        unclear = next((text for text in levels if len({read_day(text, form) for form in fits}) == 2), levels[0])
        raise InputError(
            f"Column {cells.name!r} is ambiguous: in {cells.found(unclear)} the day or the month may come first, and "
            "no cell of the column tells which.",
            hint="Set $date_format, or use $category.",
            column=cells.name,
        )
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
    if form is None:
        return None
    example = dt.datetime(2024, 12, 31, 13, 45)  # noqa: DTZ001
    try:
        if isinstance(form, str) and "%" in form:
            dt.datetime.strptime(example.strftime(form), form)  # noqa: DTZ007
            return form
    except (ValueError, re.error):
        pass
    raise InputError(sentence("The date format", "a format of strptime, such as '%d/%m/%Y' or '%m/%d/%Y'", repr(form)))
