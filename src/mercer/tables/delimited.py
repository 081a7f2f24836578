"""Delimited text as rows of cells: bytes that are looked at, a separator that is found or told, rows of one length."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from mercer.errors import InputError, refuse, refuse_if, sentence
from mercer.tables.cells import short
from mercer.text import counted

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SAMPLE = 1000  # rows by which separators are compared
_CSV_WORDS = {  # by a part of what Python's reader says
    "unexpected end": "a quote is opened and never closed.",
    "expected after": "there is text after a closing quote; a quote inside a quoted cell must be written twice.",
    "field larger": "a cell is longer than 131072 characters; perhaps a quote is not closed.",
}
_FOREIGN = {
    b"\x1f\x8b": "a gzip file",
    b"PK\x03\x04": "a zip file or a spreadsheet",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"SQLite f": "a database",
    b"%PDF": "a PDF file",
}


@dataclass(frozen=True, eq=False)
class Delimited:
    """A table of texts.

    Attributes
    ----------
    columns : dict of str to list of str
        The cells of each column by its name, without white space around them.
    lines : list of int
        The line of the file in which each row begins.
    separator : str
        What stands between cells.
    notes : list of str
        What the reader should tell.
    """

    columns: dict[str, list[str]]
    lines: list[int]
    separator: str
    notes: list[str]


def read_delimited(raw: bytes, what: str, separator: str | None = None, encoding: str | None = None) -> Delimited:
    r"""Rows of cells from the bytes of a file; refused where they are not a table.

    Examples
    --------
    >>> from mercer.tables.delimited import read_delimited
    >>> table = read_delimited(b"a;b\n1,5;x\n", "it")
    >>> table.columns, table.separator
    ({'a': ['1,5'], 'b': ['x']}, ';')
    """
    notes: list[str] = []
    text = _decode(raw, what, encoding, notes)
    found = separator or _separator(text, what)
    records = _records(text, found, what)
    line, header = next(((line, cells) for line, cells in records if any(cells)), (0, []))
    refuse(not header, f"{what} is empty: it has no header line.")
    names = _names(header, line, what, notes)
    kept, lines, blank = list[list[str]](), list[int](), list[int]()
    for line, cells in records:
        if not cells or (len(names) > 1 and len(cells) == 1 and not cells[0].strip()):
            blank.append(line)
            continue
        if len(names) == 1 and blank:  # in a table of one column an empty line is an empty cell
            kept += [[""]] * len(blank)
            lines += blank
            blank = []
        if len(cells) != len(names):
            got = f"{len(cells)} cells (the first is {short(cells[0])!r})"
            must_be, sign = f"a row of {len(names)} cells, one per column", SEPARATORS.get(found, repr(found))
            way_out = f"The separator is a {sign}; put cells that contain it in quotes."
            raise InputError(sentence(f"Line {line} of {what}", must_be, got, way_out))
        kept.append(cells)
        lines.append(line)
    inside = [number for number in blank if lines and number < lines[-1]]
    if inside:
        notes.append(f"{counted(len(inside), 'empty line')} skipped, the first is line {inside[0]}.")
    refuse(not kept, f"{what} has a header with {len(names)} columns, but no rows.")
    columns = ([cell.strip(" \t") for cell in column] for column in zip(*kept, strict=True))
    return Delimited(dict(zip(names, columns, strict=True)), lines, found, notes)


def _decode(raw: bytes, what: str, encoding: str | None, notes: list[str]) -> str:
    """The text: in the encoding that was said, else UTF-16 or UTF-8 by its bytes, else Windows-1252, which is told."""
    refuse(not raw.strip(), f"{what} is empty.")
    for magic, kind in _FOREIGN.items():
        must_be, way_out = "a CSV, TSV or Parquet table", "Save or export it as CSV in UTF-8."
        refuse_if(raw.startswith(magic), what, must_be, kind, way_out)
    if encoding is not None:
        return _decode_as(raw, what, encoding)
    if wide := _wide(raw):
        notes.append(f"{what} is {wide.upper()} text.")
        return _decode_as(raw, what, wide).removeprefix("\ufeff")
    line, way_out = _line_of(raw, raw.find(b"\0")) if b"\0" in raw else 0, "The file is damaged or is not a text file."
    refuse_if(line, f"Line {line} of {what}", "text", "a NUL byte", way_out)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = _western(raw)
        start = error.start + 3 * raw.startswith(b"\xef\xbb\xbf")
        line, got = _line_of(raw, start), f"the byte 0x{raw[start]:02X}"
        if not text:
            raise InputError(sentence(f"Line {line} of {what}", "UTF-8 text", got), hint="Set $encoding.") from None
        read_as = "it was read as Windows-1252 (Latin-1). Say the encoding if its letters look wrong."
        notes.append(f"{what} is not UTF-8 ({got} in line {line}); {read_as}")
    line = _line_of(raw, raw.find(b"\xef\xbb\xbf", 1)) if "\ufeff" in text else 0
    refuse_if(line, f"Line {line} of {what}", "text", "a second byte order mark", "Remove it.")
    return text


def _decode_as(raw: bytes, what: str, encoding: str) -> str:
    try:
        return raw.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        must_be = "an encoding that Python knows, such as utf-8, utf-16, latin-1 or cp1252"
        raise InputError(sentence("The encoding", must_be, repr(encoding))) from None
    except UnicodeError as error:
        raise InputError(f"{what} cannot be read as {encoding}: {error}.", hint="Set $encoding.") from None


def _wide(raw: bytes) -> str:
    """UTF-16 or UTF-32, if bytes are that: by their mark, or because every other byte of the first thousand is zero."""
    if raw[:4] in {b"\xff\xfe\0\0", b"\0\0\xfe\xff"}:
        return "utf-32"
    if raw[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return "utf-16"
    even, odd = (raw[start:1000:2].count(0) for start in (0, 1))
    most = 0.7 * len(raw[:1000:2])
    return "utf-16-be" if even > most and not odd else "utf-16-le" if odd > most and not even else ""


def _western(raw: bytes) -> str:
    """The text in Windows-1252; empty where it is rather damaged UTF-8, or where signs outnumber letters."""
    if raw.startswith(b"\xef\xbb\xbf") or not raw.decode("utf-8", "ignore").isascii():
        return ""
    text = raw.decode("cp1252", "replace")
    beyond = [letter for letter in text if not letter.isascii()]
    likely = sum(letter.isalpha() or letter in "€£°²³\u00a0\u2013\u2019" for letter in beyond)
    return text if 2 * likely > len(beyond) and "\ufffd" not in beyond else ""


def _line_of(raw: bytes, place: int) -> int:
    """The number of the line that a byte stands in, whatever ends lines."""
    before = raw[:place]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def _records(text: str, separator: str, what: str) -> Iterator[tuple[int, list[str]]]:
    """Every record with the line it begins in; a blank line is a record without cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begin = 1
    try:
        for cells in reader:
            yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        words = next((words for part, words in _CSV_WORDS.items() if part in str(error)), f"{error}.")
        raise InputError(f"Line {begin} of {what} cannot be read: {words}") from None


def _separator(text: str, what: str) -> str:
    """What stands between cells, from the header and the first rows.

    =====================================================  ======================
    no candidate stands in the header                      comma (one column)
    one candidate does                                     that one
    of several, one gives all rows as many cells           that one
    else                                                   refused: it must be said
    =====================================================  ======================
    """
    able = [mark for mark in SEPARATORS if max(_widths(text, mark, 1), default=0) > 1]
    if len(able) < 2:
        return able[0] if able else ","
    steady = [mark for mark in able if len(_widths(text, mark, _SAMPLE)) == 1]
    if len(steady) == 1:
        return steady[0]
    said = " and a ".join(SEPARATORS[mark] for mark in able)
    raise InputError(f"The separator of {what} is ambiguous: the header contains a {said}.", hint="Set $separator.")


def _widths(text: str, mark: str, rows: int) -> set[int]:
    """How many cells the header and the first rows have; none if they cannot be read."""
    with suppress(InputError):
        return {len(cells) for cells in islice((cells for _, cells in _records(text, mark, "") if any(cells)), rows)}
    return set()


def _names(header: list[str], line: int, what: str, notes: list[str]) -> list[str]:
    names = [" ".join(name.split()) for name in header]
    _refuse_numbers(names, line, what)
    for place, name in enumerate(names):
        if not name:
            names[place] = f"Unnamed: {place}"  # as pandas calls it
            notes.append(f"Column {place + 1} has no name; it is called {names[place]!r}.")
    return refuse_twice(names, what)


def refuse_twice(names: Sequence[str], what: str = "") -> list[str]:
    """Names as a list, if all are different."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    owner, got = "Column names" + f" of {what}" * bool(what), f"{', '.join(map(repr, twice[:5]))} more than once"
    refuse_if(twice, owner, "all different", got, "Rename the columns.")
    return list(names)


def _refuse_numbers(names: list[str], line: int, what: str) -> None:
    """A first line of numbers is a row and no header, unless it counts 0, 1, 2, ... or 1, 2, 3, ..."""
    given = [name for name in names if name]
    try:
        numbers = [float(name.replace(",", ".")) for name in given]
    except ValueError:
        return
    counts = [list(range(first, first + len(numbers))) for first in (0, 1)]
    got = f"numbers ({', '.join(map(short, given[:3]))}{', ...' if given[3:] else ''})"
    invalid, must_be = bool(numbers) and numbers not in counts, "a header with column names"
    refuse_if(invalid, f"Line {line} of {what}", must_be, got, "Add a header line.")
