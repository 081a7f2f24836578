"""Tables that are bad in every way we could think of, and a slow, obvious reader to compare with."""

import numpy as np

GOOD = (
    b"name,size,price,day,kind\n"
    b"a1,1.5,10,2024-01-01,red\n"
    b"a2,2.5,20,2024-01-02,blue\n"
    b"a3,3.25,30,2024-01-03,red\n"
    b"a4,-4e2,40,2024-01-05,blue\n"
    b"a5,,50,2024-02-01,red\n"
    b'a6,6,60,2024-03-01,"red"\n'
)
SEMICOLONS = GOOD.replace(b",", b";").replace(b".", b",").replace(b'"red"', b'"blue"')
QUOTED = GOOD.replace(b"a3", b'"a\n3, or ""so"""').replace(b"a4", b'"a;4"')


def slowly(text, separator):
    """Cells by one letter after the other, as RFC 4180 has it."""
    rows, row, cell, quoted, closed, i = [], [], "", False, False, 0
    while i < len(text):
        letter = text[i]
        if quoted:
            if letter == '"' and text[i + 1 : i + 2] == '"':
                cell, i = cell + '"', i + 1
            elif letter == '"':
                quoted, closed = False, True
            else:
                cell += letter
        elif letter == '"' and not cell and not closed:
            quoted = True
        elif letter == separator:
            row, cell, closed = [*row, cell], "", False
        elif letter in "\r\n":
            i += letter == "\r" and text[i + 1 : i + 2] == "\n"
            rows, row, cell, closed = [*rows, [*row, cell]], [], "", False
        else:
            cell += letter
        i += 1
    return [*rows, [*row, cell]] if row or cell or closed else rows


def agrees(reading, raw):
    """Whether a table that was read holds the cells that a slow reader finds."""
    sign = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}[reading.kind]
    decimal = "," if "Numbers have decimal commas." in reading.notes else "."
    grouped = decimal == "," or any("commas between thousands" in note for note in reading.notes)
    old = any("Windows-1252" in note for note in reading.notes)
    rows = [
        row
        for row in slowly(raw.decode("cp1252" if old else "utf-8-sig"), sign)
        if any(cell.strip() for cell in row) or len(row) > 1
    ]
    header, *rows = rows
    if len(rows) != reading.rows or len(header) != len(reading.columns):
        return len(header) == 1 and len(rows) <= reading.rows  # empty lines are empty cells there
    for place, column in enumerate(reading.columns.values()):
        for row, value in zip(rows, column.values.tolist(), strict=True):
            if not _same(row[place].strip(), value, column, decimal, grouped):
                return False
    return True


def _same(cell, value, column, decimal, grouped):
    if column.family == "text":
        return cell == [*column.levels, ""][value]
    if np.isnan(value):
        return cell.lower() in {"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "."}
    if column.family == "number":
        return np.isfinite(value) and slow_number(cell, decimal, grouped, column.writing) == value
    if column.family == "truth":
        return cell.lower() == str(bool(value)).lower()
    return str(np.datetime64(int(np.floor(value)), "D")) == cell[:10]


def slow_number(cell, decimal, grouped, around):
    """The number that a cell is, with its sign before the currency or the number itself; None if it is not one."""
    minus = cell.startswith("-")
    bare = cell.removeprefix("-" if minus else "+").strip()
    bare = bare.removeprefix(around.before).removesuffix(around.after).strip()
    digits, mark, power = bare.lower().partition("e")
    whole, point, part = digits.partition(decimal)
    first, *others = whole.split({".": ",", ",": "."}[decimal]) if grouped else [whole]
    if others and not (1 <= len(first) <= 3 and all(len(group) == 3 for group in others)):
        return None
    plain = first + "".join(others) + point.replace(decimal, ".") + part + mark + power
    return None if set(plain) - set("0123456789.e+-") else (-1 if minus else 1) * float(plain)


def mutant(rng, raw):
    """A file with some bytes changed, cut out, doubled or put in."""
    found = bytearray(raw)
    for _ in range(int(rng.integers(1, 3))):
        place = int(rng.integers(0, len(found))) if found else 0
        match int(rng.integers(0, 6)):
            case 0:
                found[place : place + 1] = bytes([int(rng.integers(0, 256))])
            case 1:
                del found[place : place + int(rng.integers(1, 12))]
            case 2:
                found[place:place] = bytes(rng.choice(list(b',;\t|"\n\r0123456789.-eE \x00\xff'), 1).astype("u1"))
            case 3:
                found[place:place] = found[place : place + int(rng.integers(1, 40))]
            case 4:
                found[place:place] = bytes(rng.choice([b"inf", b"1e400", b"9" * 30, b"NA", b'""', b"\r\n", b"1,5"]))
            case _:
                found = found[: int(rng.integers(0, len(found) + 1))]
    return bytes(found)
