"""Parquet tables that are read in passes: the same model as from the table held whole."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mercer.cli.job import Job
from mercer.cli.preparing import Prepared
from mercer.errors import InputError
from mercer.models import load
from mercer.tables.parquet import LongTable
from refusals import tells

FAST = ("--kernel", "gaussian(2)", "--alphas", "0.01,1", "--folds", "4", "--quiet")


def table(rows=900):
    rng = np.random.default_rng(0)
    size, city = rng.normal(size=rows), rng.choice(["Rome", "Bonn", "Oslo"], rows)
    price = np.sin(2 * size) + (city == "Rome") + 0.1 * rng.normal(size=rows)
    gaps = pa.array(np.where(rng.random(rows) < 0.1, None, rng.normal(size=rows)))
    return pa.table(
        {
            "size": 100 * size,
            "rooms": pa.array(rng.integers(1, 9, rows)),
            "age": gaps.cast("float64"),
            "city": city,
            "owner": rng.integers(0, 60, rows),
            "share": rng.uniform(0.5, 2.0, rows),
            "dear": np.where(price > 0.5, "yes", "no"),
            "price": price,
        }
    )


@pytest.fixture
def long(folder, monkeypatch):
    """A table in one file and in two, read in passes of 200 rows when it has more than 500."""
    monkeypatch.setattr("mercer.cli.preparing.LONG", 500)
    monkeypatch.setattr("mercer.tables.parquet._AT_ONCE", 200)
    monkeypatch.setattr("mercer.cli.preparing.MANY", 500)
    made = table()
    parquet.write_table(made, "long.parquet", row_group_size=250)
    (folder / "parts").mkdir()
    parquet.write_table(made[:350], "parts/a.parquet")
    parquet.write_table(made[350:], "parts/b.parquet")
    parquet.write_table(made[:50], "new.parquet")
    return folder


def answer(run, model):
    rows = csv.DictReader(io.StringIO(run("predict", model, "new.parquet", "--drop", "owner").stdout))
    return [row["prediction"] for row in rows]


@pytest.mark.slow
def test_a_long_table_gives_the_model_of_the_table_held_whole(run, long, monkeypatch):
    words = ("--target", "price", "--drop", "dear", "--group", "owner", "--weight", "share", *FAST)
    run("fit", "long.parquet", *words, "--out", "passes.mercer")
    run("fit", "parts", *words, "--out", "parts.mercer")
    monkeypatch.setattr("mercer.cli.preparing.LONG", 10**9)
    run("fit", "long.parquet", *words, "--out", "whole.mercer")
    passes, parts, whole = (np.array(answer(run, f"{n}.mercer"), float) for n in ("passes", "parts", "whole"))
    np.testing.assert_allclose(parts, passes, rtol=1e-9)
    np.testing.assert_allclose(passes, whole, rtol=1e-6)
    scores = [load(f"{name}.mercer").facts["error"]["value"] for name in ("passes", "whole")]
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)


@pytest.mark.slow
def test_it_says_how_the_table_was_read(run, long):
    said = run("fit", "long.parquet", "--target", "price", "--drop", "dear", *FAST[:-1]).stdout
    assert said.startswith("long.parquet: 900 rows, 8 columns (Parquet).")
    assert "Columns were judged by 900 evenly spaced rows; all rows are read in blocks." in said
    assert "NystroemRidgeCV (landmarks in place of all pairs of 900 rows)" in said
    assert "nested cross-validation, 4 folds by hash" in said
    assert (
        "Computed once from all rows, held-out rows included: the encoding of the columns (means and standard "
        "deviations of numbers, fill values of missing values, levels of categories, which columns are dropped, from "
        "900 sampled rows); the landmarks.\n"
    ) in said
    assert "1 kernel x 2 alphas on 900 rows" in run("explain", "parts", "--target", "price", *FAST[:-1]).stdout


@pytest.mark.slow
def test_labels_and_rows_with_gaps_work_in_passes(run, long):
    words = ("fit", "long.parquet", "--target", "dear", "--drop", "price", "--drop", "owner", "--missing", "drop")
    words += (*FAST[:-1], "--json")
    told = json.loads(run(*words).stdout)
    complete = table().column("age").drop_null()
    assert told["rows"] == len(complete)
    assert told["error"]["value"] < told["error"]["baseline"] / 2
    assert set(answer(run, "model.mercer")) <= {"yes", "no"}


def test_a_long_table_refuses_what_it_cannot_give(run, long):
    assert "Did you mean 'price'?" in run("fit", "long.parquet", "--target", "prise", *FAST, code=2).stderr
    said = run("fit", "long.parquet", "--target", "price", "--missing", "refuse", *FAST, code=2).stderr
    assert "Column 'age' has 80 missing values" in said
    assert "--without-data" in run("fit", "parts", "--target", "price", "--without-data", *FAST, code=2).stderr
    assert "--report" in run("fit", "parts", "--target", "price", "--report", "r.html", *FAST, code=2).stderr


def test_files_of_a_directory_must_have_the_same_columns(long):
    parquet.write_table(table().select(["size", "price"]), "parts/c.parquet")
    with pytest.raises(InputError, match=r"c\.parquet must have the same columns as a\.parquet"):
        Prepared(Job("parts", "price"))


def test_other_files_are_left_to_their_readers(long):
    assert LongTable.find("houses.csv", 0) is None
    assert LongTable.find("-", 0) is None
    assert LongTable.find("nothing.parquet", 0) is None
    assert LongTable.find("long.parquet", 900) is None
    assert LongTable.find("long.parquet", 899).rows == 900


def test_infinite_cells_are_found_in_their_block(run, long, monkeypatch):
    monkeypatch.setattr("mercer.tables.encoding._SAMPLE", 90)
    made = table()
    sizes = np.array(made.column("size")).copy()
    sizes[777] = np.inf
    parquet.write_table(made.set_column(0, "size", pa.array(sizes)), "endless.parquet")
    said = run("fit", "endless.parquet", "--target", "price", "--strict", *FAST, code=2).stderr
    assert "inf" in said
    assert "row 178 of the block of endless.parquet that begins with row 601" in said
    said = run("fit", "endless.parquet", "--target", "price", *FAST).stderr
    assert said.count("Warning: Column 'size'") == 1
    assert tells(said, "1 of 900", "'inf' in row 778 of endless.parquet", "--missing")
    assert "size" not in load("model.mercer").kinds


def test_odd_cells_of_the_sample_are_named_by_their_rows(run, long, monkeypatch):
    monkeypatch.setattr("mercer.tables.encoding._SAMPLE", 90)
    made = table()
    sizes = [f"{size:.3f}" for size in made.column("size").to_pylist()]
    sizes[550] = "ask"
    parquet.write_table(made.set_column(0, "size", pa.array(sizes)), "odd.parquet")
    said = run("fit", "odd.parquet", "--target", "price", *FAST).stderr
    assert tells(
        said, "Warning: Column 'size' was left out", "1 of 90", "'ask' in row 551 of odd.parquet", "--as size="
    )
