"""Tables of one's own as points."""

import io
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mercer.errors import InputError
from mercer.lab.files import LARGEST, Uploads
from refusals import refusal, tells

CSV = "area,rooms,town,sold,same\n" + "\n".join(
    f"{50 + i},{i % 4},{'Rome' if i % 3 else 'Oslo'},{'yes' if i % 2 else 'no'},7" for i in range(40)
)


@pytest.fixture
def upload():
    return Uploads().read(CSV.encode(), "flats.csv")[1]


def test_columns_of_numbers_and_of_two_labels_are_told(upload):
    told = upload.description()
    assert told["columns"] == ["area", "rooms"]
    assert told["labels"] == ["town", "sold"]
    assert told["notes"] == ["Column 'same' does not vary and is left out."]


def test_points_are_standardized_and_labels_are_signs(upload):
    found = upload.points(["area"], "sold", others=False)
    assert found["labels"] == ["no", "yes"]
    assert set(found["y"]) == {-1.0, 1.0}
    centre, spread = found["scale"][0]
    assert np.allclose(found["x"][:, 0] * spread + centre, np.arange(50, 90), atol=1e-4)
    both = upload.points(["rooms"], "area", others=True)
    assert both["names"] == ["rooms"]
    assert upload.points(["area"], "town", others=True)["names"] == ["area", "rooms"]


def test_missing_rows_and_samples_are_announced():
    rows = [f"{i},{'' if i % 10 == 0 else i * 2}" for i in range(1000)]
    found = Uploads().read(("a,b\n" + "\n".join(rows)).encode(), "x")[1].points(["a"], "b", others=False)
    assert found["notes"] == [
        "100 of 1000 rows have missing values and are left out.", "A random sample of 300 of 900 rows is shown.",
    ]  # fmt: skip
    assert len(found["y"]) == 300


def test_many_columns_are_cut():
    names = [f"c{i}" for i in range(12)]
    rows = "\n".join(",".join(str((i * j) % 17 + i) for j in range(1, 13)) for i in range(30))
    found = Uploads().read((",".join(names) + "\n" + rows).encode(), "x")[1].points(["c0", "c1"], "c11", others=True)
    assert len(found["names"]) == 8
    assert found["notes"] == ["Of the other columns the first 6 are used."]


@pytest.mark.parametrize(
    ("axes", "target", "said"),
    [
        ([], "area", "Choose one or two columns"),
        (["area", "rooms", "x"], "sold", "Choose one or two columns"),
        ("area", "sold", "Choose one or two columns"),
        (["area"], "area", "Choose different columns"),
        (["area", "area"], "sold", "Choose different columns"),
        (["town"], "area", "An axis must be a column of numbers; got 'town'"),
        (["area"], "nothing", "The target must be a column of numbers or of two labels; got 'nothing'"),
        (["area"], 5, "The target must be"),
    ],
)
def test_columns_that_are_refused(upload, axes, target, said):
    with pytest.raises(InputError, match=said):
        upload.points(axes, target, others=False)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "flats.csv"),
        (b"a\n1\n2\n", "too few columns of numbers"),
        (b"a,b\nx,y\nz,w\nu,v\n", "too few columns of numbers"),
        (b"PAR1 this is no Parquet file", "flats.csv"),
        (bytes(range(256)) * 10, "flats.csv"),
    ],
)
def test_files_that_are_no_table_are_refused_by_their_own_name(raw, said):
    with pytest.raises(InputError, match=said) as refused:
        Uploads().read(raw, "flats.csv")
    assert "/tmp" not in str(refused.value)  # noqa: S108 - nothing of where it was kept


def test_few_tables_are_kept():
    uploads = Uploads()
    keys = [uploads.read(CSV.encode(), "x")[0] for _ in range(5)]
    with pytest.raises(InputError, match="not kept any more"):
        uploads.get(keys[0])
    assert uploads.get(keys[-1]).name == "x"
    with pytest.raises(InputError, match="at most 20 MB"):
        uploads.read(b"x" * (LARGEST + 1), "x")


def test_a_target_that_is_the_same_in_all_whole_rows_is_refused():
    rows = "\n".join(f"{i if i < 5 else ''},{1 if i < 5 else i}" for i in range(20))
    with pytest.raises(InputError, match="Column 'b' has only one value"):
        Uploads().read(("a,b\n" + rows).encode(), "x")[1].points(["a"], "b", others=False)
    with pytest.raises(InputError, match="Fewer than 2 rows"):
        Uploads().read(b"a,b\n1,\n,2\n3,\n,4\n", "x")[1].points(["a"], "b", others=False)


def as_parquet(how=None, **columns):
    packed = io.BytesIO()
    pq.write_table(pa.table(columns), packed, **(how or {}))
    return packed.getvalue()


LARGE = [
    (lambda: ",".join(f"c{i}" for i in range(5000)).encode() + b"\n" + b",".join([b"1"] * 5000), "1000 columns"),
    (lambda: b"a,b\n" + b"1,2\n" * 1_000_001, "1000000 rows; got 1000001"),
    (lambda: b"a,b\r" + b"1,2\r" * 1_000_001, "1000000 rows; got 1000001"),
    (lambda: b"a,b\n1,2\n" + b"\n" * 19_000_000, "1000000 rows; got 19000001"),
    (lambda: b"a|b" + b"|c" * 98 + b"\n" + (b"1|2" + b"|3" * 98 + b"\n") * 60_000, "5000000 cells"),
    (lambda: as_parquet(**{f"c{i}": np.zeros(2) for i in range(1001)}), "1000 columns; got 1001"),
    (lambda: as_parquet(a=np.zeros(1_000_001), b=np.zeros(1_000_001)), "1000000 rows; got 1000001"),
    (lambda: as_parquet(**{f"c{i}": np.zeros(900_000) for i in range(6)}), "5000000 cells; got 5400000"),
]


@pytest.mark.parametrize(("make", "most"), LARGE)
def test_tables_that_are_too_large_are_refused_before_they_are_read(make, most, monkeypatch):
    raw, uploads = make(), Uploads()
    monkeypatch.setattr("mercer.lab.files.read_table", None)
    assert tells(refusal(uploads.read, raw, "x"), f"at most {most}")
    assert uploads.descriptions() == []


@pytest.mark.parametrize("stored", ["PLAIN", "RLE_DICTIONARY", "DELTA_BYTE_ARRAY"])
def test_texts_that_are_packed_into_few_bytes_are_counted(stored, monkeypatch):
    how = {} if stored == "RLE_DICTIONARY" else {"use_dictionary": False, "column_encoding": {"a": stored}}
    raw = as_parquet(how, a=["x" * 100_000 + str(i) for i in range(20)], b=range(20), c=range(20))
    assert len(raw) < 200_000
    Uploads().read(raw, "x")
    monkeypatch.setattr("mercer.lab.files._MOST_BYTES", 1_000_000)
    monkeypatch.setattr("mercer.lab.files.read_table", None)
    assert tells(refusal(Uploads().read, raw, "x"), "at most 1.0 MB of memory; got", "MB")


def test_tables_are_read_one_after_the_other(monkeypatch):
    inside, most, uploads = [], [], Uploads()

    def read(_):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()
        raise InputError("refused")

    monkeypatch.setattr("mercer.lab.files.read_table", read)
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(uploads.read, CSV.encode(), "x") for _ in range(4)]
    assert all(isinstance(each.exception(), InputError) for each in found)
    assert most == [1, 1, 1, 1]


def test_numbers_that_are_far_too_large_are_missing():
    rows = "\n".join(f"{i or 1e308},{i * 2}" for i in range(10))
    found = Uploads().read(("a,b\n" + rows).encode(), "x")[1].points(["a"], "b", others=False)
    assert found["notes"] == ["1 of 10 rows have missing values and are left out."]
