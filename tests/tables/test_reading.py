"""Tables are read right, or refused with one sentence that says where.

Covers: tables.delimited.
"""

import io
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from bad_tables import GOOD, QUOTED, SEMICOLONS, agrees, mutant
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from mercer.errors import InputError
from mercer.streaming.blocks import as_source
from mercer.tables import TableEncoder
from mercer.tables.parquet import LongTable
from mercer.tables.reading import Rules, arrow_reading, read_table
from refusals import tells


@pytest.fixture
def read(tmp_path):
    def read(raw, name="t.csv", *, separator=None, encoding=None, **how):
        path = tmp_path / name
        path.write_bytes(raw)
        return read_table(str(path), Rules(**how), separator=separator, encoding=encoding)

    return read


def sentence_of(read, raw, **how):
    with pytest.raises(InputError) as caught:
        read(raw, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def plain(cells):
    """The values of numbers, days and truth values, and the texts of texts, empty where missing."""
    return np.array([*cells.levels, ""], dtype=object)[cells.values] if cells.family == "text" else cells.values


def listed(reading):
    return {name: plain(column).tolist() for name, column in reading.columns.items()}


# The sixteen kinds of bad tables, each read right or refused.
REFUSED = {
    "short row": (
        b"a,b\n1,2\n3\n",
        (
            "Line 3 of t.csv must be a row of 2 cells, one per column; got 1 cells (the first is '3'). The separator "
            "is a comma; put cells that contain it in quotes."
        ),
    ),
    "long row": (
        b"a;b\n1;2\n3;4;5\n",
        (
            "Line 3 of t.csv must be a row of 2 cells, one per column; got 3 cells (the first is '3'). The separator "
            "is a semicolon; put cells that contain it in quotes."
        ),
    ),
    "bad UTF-8": (
        b"a,b\n1,caf\xe9\n2,\xc3\xa9t\xc3\xa9\n",
        "Line 2 of t.csv must be UTF-8 text; got the byte 0xE9. Set the parameter encoding.",
    ),
    "bad UTF-8 after a BOM": (
        b"\xef\xbb\xbfa,b\r\n1,2\r\n3,\xff\r\n",
        "Line 3 of t.csv must be UTF-8 text; got the byte 0xFF. Set the parameter encoding.",
    ),
    "duplicate names": (
        b"a,b,a\n1,2,3\n",
        "Column names of t.csv must be all different; got 'a' more than once. Rename the columns.",
    ),
    "text in numbers": (
        b"a\n1\n2\n3\n4\nx5\n6\n7\n",
        (
            "Column 'a' must be numbers in every row (85.7 % are); got 'x5' in line 6 of t.csv. Correct the value, "
            "leave the cell empty, or use TableEncoder(kinds={'a': 'category'})."
        ),
    ),
    "text in dates": (
        b"a,b\n2024-01-01,1\n2024-01-02,1\n2024-13-03,1\n2024-01-04,1\n2024-01-05,1\n",
        (
            "Column 'a' must be dates in every row (80 % are); got '2024-13-03' in line 4 of t.csv. Correct the "
            "value, leave the cell empty, or use TableEncoder(kinds={'a': 'category'})."
        ),
    ),
    "inf": (
        b"a,b\n1,1\n-inf,2\n",
        (
            "Column 'a' must be finite numbers; got '-inf' in line 3 of t.csv. Correct the value, or leave the cell "
            "empty."
        ),
    ),
    "1e400": (
        b"a,b\n1,1\n1e400,2\n",
        (
            "Column 'a' must be numbers below 1.8e308 in absolute value (the float64 range); got '1e400' in line 3 of "
            "t.csv. Correct the value, or leave the cell empty."
        ),
    ),
    "30-digit integers": (
        b"a,b\n123456789012345678901234567891,1\n",
        (
            "Column 'a' must be numbers of at most 15 digits, which a float64 holds exactly; got "
            "'123456789012345678901234567891' in line 2 of t.csv. Drop the column with TableEncoder(drop=['a']), or "
            "keep it as text with TableEncoder(kinds={'a': 'category'})."
        ),
    ),
    "empty": (b"", "t.csv is empty."),
    "blank": (b"\n \n\n", "t.csv is empty."),
    "header only": (b"a,b\n", "t.csv has a header with 2 columns, but no rows."),
    "NUL bytes": (
        b"a,b\n1,\x002\n",
        "Line 2 of t.csv must be text; got a NUL byte. The file is damaged or is not a text file.",
    ),
    "a quote that is not closed": (
        b'a,b\n1,2\n"3,4\n5,6\n',
        "Line 3 of t.csv cannot be read: a quote is opened and never closed.",
    ),
    "letters after a quote": (
        b'a,b\n"1"2,3\n',
        (
            "Line 2 of t.csv cannot be read: there is text after a closing quote; a quote inside a quoted cell must be "
            "written twice."
        ),
    ),
    "a very long cell": (
        b'a,b\n1,"' + b"x" * 200_000 + b'"\n',
        "Line 2 of t.csv cannot be read: a cell is longer than 131072 characters; perhaps a quote is not closed.",
    ),
    "commas that could be either": (
        b"a;b\n1,234;2\n5,678;3\n",
        (
            "Column 'a' is ambiguous: '1,234' in line 2 of t.csv may have a decimal comma or a thousands separator. "
            "Use TableEncoder(decimal=',') or TableEncoder(decimal='.')."
        ),
    ),
    "points and commas": (
        b"a;b\n1,5;2.5\n",
        (
            "The decimal sign must be the same in all columns; got '2.5' in column 'b', but '1,5' in 'a'. Use "
            "TableEncoder(decimal=',') or TableEncoder(decimal='.')."
        ),
    ),
    "two separators": (
        b"a|b;c\n1|2;3\n",
        (
            "The separator of t.csv is ambiguous: the header contains a semicolon and a bar. Set the parameter "
            "separator."
        ),
    ),
    "no header": (
        b"1.5,2\n3,4\n",
        "Line 1 of t.csv must be a header with column names; got numbers (1.5, 2). Add a header line.",
    ),
    "a spreadsheet": (
        b"PK\x03\x04rest",
        (
            "t.csv must be a CSV, TSV or Parquet table; got a zip file or a spreadsheet. Save or export it as CSV in "
            "UTF-8."
        ),
    ),
    "a byte order mark inside": (
        b"a,b\n1,\xef\xbb\xbf2\n",
        "Line 2 of t.csv must be text; got a second byte order mark. Remove it.",
    ),
}
READ = {
    "semicolons with decimal commas": (b"a;b\n1,5;2\n3,25;-4,0\n", {"a": [1.5, 3.25], "b": [2.0, -4.0]}),
    "commas and points that group": (b"a;b\n1.234,5;2\n3,25;4\n", {"a": [1234.5, 3.25], "b": [2.0, 4.0]}),
    "BOM": (b"\xef\xbb\xbfa,b\n1,2\n", {"a": [1.0], "b": [2.0]}),
    "mixed line ends": (b"a,b\r\n1,2\n3,4\r5,6", {"a": [1.0, 3.0, 5.0], "b": [2.0, 4.0, 6.0]}),
    "quoted newlines": (b'a,b\n"x\ny, z",1\n"say ""so""",2\n', {"a": ["x\ny, z", 'say "so"'], "b": [1.0, 2.0]}),
    "tabs": (b"a\tb\n\t2\n", {"a": [""], "b": [2.0]}),
    "codes": (b"a,b\n007,1\n010,2\n", {"a": ["007", "010"], "b": [1.0, 2.0]}),
    "numbers of every look": (b"a\n1.\n.5\n+2e-3\n-0\n", {"a": [1.0, 0.5, 0.002, -0.0]}),
    "underscores are no numbers": (b"a\n1_000\nx\n", {"a": ["1_000", "x"]}),
    "other digits are no numbers": ("a\n٣\nx\n".encode(), {"a": ["٣", "x"]}),
    "an integer that a float can hold": (b"a\n100000000000000000000\n1\n", {"a": [1e20, 1.0]}),
    "empty lines": (b"a,b\n\n1,2\n\n3,4\n\n", {"a": [1.0, 3.0], "b": [2.0, 4.0]}),
    "one column with empty cells": (b'a\nx\n\ny\n""\n\n', {"a": ["x", "", "y", ""]}),
    "names that count": (b"0,1\n3,4\n", {"0": [3.0], "1": [4.0]}),
    "an index without a name": (b",a\n0,5\n", {"Unnamed: 0": [0.0], "a": [5.0]}),
    "separators in text": (b"a,b\n1;2,x|y\n", {"a": ["1;2"], "b": ["x|y"]}),
    "words in text are no gaps": (b"a,b\nNA,1\nDE,2\n", {"a": ["NA", "DE"], "b": [1.0, 2.0]}),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_bad_table_is_refused_with_one_sentence_that_says_where(read, kind):
    raw, said = REFUSED[kind]
    assert sentence_of(read, raw) == said


@pytest.mark.parametrize("kind", READ)
def test_an_odd_table_is_read_right(read, kind):
    raw, cells = READ[kind]
    assert listed(read(raw)) == cells


@pytest.mark.slow
def test_ten_thousand_columns_are_read(read):
    raw = (",".join(f"c{i}" for i in range(10_000)) + "\n" + ",".join(map(str, range(10_000))) + "\n").encode()
    found = read(raw)
    assert len(found.columns) == 10_000
    assert found.columns["c9999"].values.tolist() == [9999.0]


def test_gaps_in_numbers_and_dates_are_missing_and_told(read):
    found = read(b"a,d,n\n1,2024-01-01,1\nNA,-,2\nn/a,2024-01-03,3\n")
    assert found.columns["a"].missing.tolist() == [False, True, True]
    assert found.columns["d"].missing.tolist() == [False, True, False]
    assert found.notes == (
        "Column 'a': 'NA' (1), 'n/a' (1) taken as missing.",
        "Column 'd': '-' (1) taken as missing.",
    )


def test_what_was_told_is_done(read):
    raw = b"a|b,c;d\n1,234|5;x\n"
    found = read(raw, separator="|", decimal=".")
    assert listed(found) == {"a": [1234.0], "b,c;d": ["5;x"]}
    assert read(raw, separator="|", decimal=",").columns["a"].values.tolist() == [1.234]


@pytest.mark.filterwarnings("ignore::mercer.errors.LeftOutWarning")
def test_kinds_that_were_asked_for(read):
    raw = b"zip,day,size,big\n10,2024-01-01,007,123456789012345678901234567890\n20,2024-01-02,8,5\n"
    found = read(raw, kinds={"zip": "category", "day": "text", "size": "number"}, unused=["big"])
    assert found.columns["zip"].declared
    assert listed(found) == {
        "zip": ["10", "20"],
        "day": ["2024-01-01", "2024-01-02"],
        "size": [7.0, 8.0],
    }
    assert found.exactly("big") == ["123456789012345678901234567890", "5"]
    kinds = {column.name: column.kind for column in TableEncoder().fit(found.columns).columns_}
    assert kinds["zip"] == "category"
    said = "Column 'a' must be numbers; got 'x' in line 3 of t.csv. Correct the value, or leave the cell empty."
    assert sentence_of(read, b"a\n1\nx\n", kinds={"a": "number"}) == said
    said = "Column 'a' must be dates such as 2024-12-31; got '1.2.24' in line 2 of t.csv."
    said += " Correct the value, or leave the cell empty."
    assert sentence_of(read, b"a\n1.2.24\n", kinds={"a": "date"}) == said
    assert list(read(b"a,b\n1,2\n", kinds={"b": "text"}, only_kinds=True).columns) == ["b"]


def test_infinite_numbers_are_counted_or_taken_as_missing(read):
    raw = b"a,b\n1,x\ninf,y\n3,x\n-Infinity,y\n"
    assert sentence_of(read, raw).startswith(
        "Column 'a' must be finite numbers; got 2 infinite values, the first 'inf' in line 3 of t.csv. "
    )
    found = read(raw, endless=True)
    assert np.array_equal(found.columns["a"].values, [1, np.nan, 3, np.nan], equal_nan=True)
    assert found.notes == ("Column 'a': 'inf' (1), '-Infinity' (1) taken as missing.",)
    found = read(as_parquet(a=[1.0, float("inf"), -float("inf")]), "t.parquet", endless=True)
    assert np.array_equal(found.columns["a"].values, [1, np.nan, np.nan], equal_nan=True)
    assert found.notes == ("Column 'a': 2 infinite values taken as missing.",)


def test_rows_are_found_by_line(read):
    found = read(b'a,b\n"x\ny",1\n\nz,2\n')
    assert [found.where(row) for row in range(2)] == ["line 2 of t.csv", "line 5 of t.csv"]
    with pytest.raises(InputError, match=r"There is no column 'c' in t.csv. Known: a, b."):
        found.exactly("c")


def test_files_that_are_not_there(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_bytes(GOOD)
    with pytest.raises(InputError, match=r"There is no file '.*tabel.csv'. Did you mean 'table.csv'\?"):
        read_table(str(tmp_path / "tabel.csv"))
    with pytest.raises(InputError, match=r"There is no file '/nowhere/x.csv'\.$"):
        read_table("/nowhere/x.csv")
    with pytest.raises(InputError, match=r"must be a file; got a directory\."):
        read_table(str(tmp_path))
    with pytest.raises(InputError, match=r"cannot be read: File name too long\."):
        read_table(str(tmp_path / ("x" * 300)))
    said = "The name of a table must be a path, or - for standard input; got an empty string."
    for read in (read_table, lambda source: LongTable.find(source, 0), as_source):
        with pytest.raises(InputError) as caught:
            read("")
        assert str(caught.value) == said
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD)))
    assert read_table("-").what == "standard input"


def as_parquet(**columns):
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def test_parquet_is_read_by_its_types(read):
    import datetime as dt

    raw = as_parquet(
        whole=pa.array([1, None, 3]),
        part=pa.array([0.5, 1.5, None], pa.float32()),
        truth=pa.array([True, None, False]),
        word=pa.array(["a", "b", None]),
        digits=pa.array(["1", "2", "NA"]),
        level=pa.array(["x", "y", "x"]).dictionary_encode(),
        day=pa.array([dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)]),
        moment=pa.array([dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)] * 3),
        span=pa.array([dt.timedelta(days=1)] * 3),
        money=pa.array([1, 2, 3], pa.decimal128(5, 2)),
        nothing=pa.nulls(3),
    )
    found = read(raw, "t.parquet", kinds={"whole": "category"})
    assert found.kind == "Parquet"
    assert found.where(1) == "row 2 of t.parquet"
    families = {name: cells.family for name, cells in found.columns.items()}
    assert families == {"truth": "truth", "word": "text", "level": "text", "nothing": "text"} | dict.fromkeys(
        ("whole", "part", "digits", "span", "money"), "number"
    ) | dict.fromkeys(("day", "moment"), "date")
    assert [name for name, cells in found.columns.items() if cells.declared] == ["whole", "level"]
    assert found.exactly("whole") == [1, None, 3]
    cells = listed(found)
    assert cells["part"][:2] == [0.5, 1.5]
    assert cells["truth"][::2] == [1.0, 0.0]
    assert cells["word"] == ["a", "b", ""]
    assert cells["digits"][:2] == [1.0, 2.0]
    assert (cells["day"][2], cells["moment"][0]) == (19725.0, 19723.5)
    assert (cells["span"], cells["money"]) == ([1.0] * 3, [1.0, 2.0, 3.0])
    assert found.columns["nothing"].missing.all()
    kinds = {column.name: column.kind for column in TableEncoder().fit(found.columns).columns_}
    assert kinds["level"] == kinds["truth"] == kinds["whole"] == "category"
    assert kinds["day"] == "date"


def test_parquet_that_is_refused(read):
    def said(raw, **how):
        return sentence_of(lambda given, **more: read(given, "t.parquet", **more), raw, **how)

    assert tells(said(as_parquet(a=[[1], [2]])), "Column 'a'", "got list in row 1 of t.parquet")
    assert read(as_parquet(a=[[1], [2]]), unused=["a"]).exactly("a") == [[1], [2]]
    assert tells(said(as_parquet(a=[1.0, float("inf")])), "Column 'a'", "got 'inf' in row 2 of t.parquet")
    assert tells(said(as_parquet(a=[1, 2**53 + 1])), "Column 'a'", "got '9007199254740993' in row 2 of t.parquet")
    assert read(as_parquet(a=[1, 2**53 + 1]), unused=["a"]).rows == 2
    assert tells(said(as_parquet(a=pa.array([], pa.int64()))), "t.parquet", "got 0 rows, 1 columns")
    assert said(b"PAR1 and nothing more").startswith("t.parquet is a damaged Parquet file: ")
    file = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), file)
    assert said(file.getvalue()).startswith("Column names of t.parquet must be all different; got 'a' more than once.")


def test_texts_of_parquet_are_read_by_the_rule_for_csv(read):
    """What two readings of a cell are possible for is asked about, in both kinds of file."""
    cells = {"thousands or decimals": ["1,100", "2,200", "3,300"], "decimals": ["1,5", "2,25", "-3,0"]}
    for column in (cells["decimals"], [" 1.234,5", "2,0", "NA"], ["1.5", "2", "?"], ["7", "", "8"], ["a", "NA", "b"]):
        text = read(("x;i\n" + "".join(f"{cell};1\n" for cell in column)).encode())
        table = read(as_parquet(x=column, i=[1.0] * 3), "t.parquet")
        np.testing.assert_array_equal(plain(table.columns["x"]), plain(text.columns["x"]))
        assert (table.style, table.notes) == (text.style, text.notes)
    unclear = as_parquet(x=cells["thousands or decimals"])
    assert tells(sentence_of(lambda raw, **how: read(raw, "t.parquet", **how), unclear), "Column 'x'", "'1,100'", "','")
    assert read(unclear, "t.parquet", decimal=".").columns["x"].values.tolist() == [1100.0, 2200.0, 3300.0]
    assert read(unclear, "t.parquet", decimal=",").columns["x"].values.tolist() == [1.1, 2.2, 3.3]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-(10**37), 10**37) | st.integers(-(2**54), 2**54), min_size=1, max_size=6, unique=True))
def test_numbers_of_many_digits_are_exact_or_refused(read, numbers):
    """As numbers they are held exactly or refused; as names, groups and levels different ones stay different."""
    digits = [Decimal(number) for number in numbers]
    tables = {"decimal": as_parquet(x=pa.array(digits, pa.decimal128(38, 0)))}
    tables["text"] = as_parquet(x=list(map(str, numbers)))
    if all(abs(number) < 2**63 for number in numbers):
        tables["integer"] = as_parquet(x=numbers)
    short = all(float(number) == number for number in numbers)
    for raw in tables.values():
        if short:
            assert read(raw, "t.parquet", kinds={"x": "number"}).columns["x"].values.tolist() == numbers
        else:
            said = sentence_of(lambda given, **how: read(given, "t.parquet", **how), raw, kinds={"x": "number"})
            assert said.startswith(
                "Column 'x' must be numbers of at most 15 digits, which a float64 holds exactly; got "
            )
        assert len({str(cell) for cell in read(raw, "t.parquet", unused=["x"]).exactly("x")}) == len(numbers)
        if len(numbers) > 1:
            levels = read(raw, "t.parquet", kinds={"x": "category"}).columns
            assert len(TableEncoder().fit(levels).columns_[0].levels) == len(numbers)


def test_thousands_do_not_hide_digits_that_are_lost(read):
    said = "Column 'a' must be numbers of at most 15 digits, which a float64 holds exactly; got "
    assert sentence_of(read, b"a;b\n9.007.199.254.740.993,0;1,5\n").startswith(said + "'9.007.199.254.740.993,0'")
    assert sentence_of(read, b"a\n9007199254740993.5\n").startswith(said + "'9007199254740993.5' in line 2 of t.csv.")
    assert read(b"a\n9007199254740992.0\n1.2345678901234567e+20\n").columns["a"].values.tolist() == [
        2.0**53,
        1.2345678901234567e20,
    ]


def test_durations_and_dates_far_away_are_read_right_or_refused(read):
    span = read(as_parquet(x=pa.array([2**62, None, 86400], pa.duration("s"))), "t.parquet").columns["x"]
    assert span.family == "number"
    days = TableEncoder({"x": "number"}).fit({"x": span}).columns_[0].scale
    assert (days.low, days.high) == (1.0, 2**62 / 86400)
    far = pa.table({"x": pa.array([0, 2**60], pa.timestamp("s"))})
    with pytest.raises(InputError) as caught:
        arrow_reading(far, "t.parquet", Rules())
    assert tells(str(caught.value), "Column 'x'", "got 36534630048-05-13T13:56:16 in row 2 of t.parquet")
    names = arrow_reading(far, "t.parquet", Rules(unused=frozenset("x"))).exactly("x")
    assert names == ["1970-01-01T00:00:00", "36534630048-05-13T13:56:16"]
    with pytest.raises(
        InputError, match=r"must be dates within 292 million years of 1970; got .* in row 1\. Drop the column"
    ):
        TableEncoder().fit({"x": np.array([0, 2**60], "M8[s]")})
    close = as_parquet(x=pa.array([1, 2], pa.timestamp("ns")))
    assert len(set(read(close, "t.parquet", unused=["x"]).exactly("x"))) == 2


@pytest.mark.parametrize(
    ("cell", "number"), [(b"1,550", 1550), (b"- 4e2", -400), (b"-\t4", -4), (b"+1.5", 1.5), (b"1.250,5", None)]
)
def test_the_slow_reader_reads_numbers_as_the_fast_one_does(read, cell, number):
    for raw in (b"a\tb\n1.5\t2\n%b\t3\n" % cell.replace(b"\t", b" "), b"a;b\n1.5;2\n%b;3\n" % cell):
        try:
            found = read(raw)
        except InputError:
            assert number is None
        else:
            assert found.columns["a"].values.tolist() == [1.5, number]
            assert agrees(found, raw)


@pytest.mark.slow
@pytest.mark.parametrize("original", [GOOD, SEMICOLONS, QUOTED, GOOD.replace(b",", b"\t")])
def test_a_thousand_mutants_are_read_right_or_refused(read, rng, original):
    assert agrees(read(original), original)
    said, count = [], 0
    for _ in range(1000):
        raw = mutant(rng, original)
        try:
            found = read(raw, strict=bool(rng.integers(2)))
        except InputError as refusal:
            said.append(str(refusal))
        else:
            assert agrees(found, raw), raw
            count += 1
    assert not any("\n" in each for each in said)
    assert min(count, len(said)) > 50


def test_mutants_of_parquet_are_read_or_refused(read, rng):
    original = as_parquet(a=[1, 2, 3], b=["x", "y", "z"])
    said = []
    for _ in range(300):
        try:
            read(mutant(rng, original), "t.parquet")
        except InputError as refusal:
            said.append(str(refusal))
    assert said
    assert not any("\n" in each for each in said)


@pytest.mark.parametrize("packed", ["gzip", "zstd"])
def test_packed_files_are_read_as_what_they_hold(packed, tmp_path):
    import gzip

    pa = pytest.importorskip("pyarrow")
    text = b"size,city\n1.5,Rome\n2,Bonn\n"
    path = tmp_path / f"table.csv.{packed}"
    if packed == "gzip":
        path.write_bytes(gzip.compress(text))
    else:
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(text)
    assert read_table(str(path)).columns["size"].values.tolist() == [1.5, 2.0]
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(InputError):
        read_table(str(path))
