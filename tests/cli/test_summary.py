"""What somebody sees who runs the command for the first time: odd names, single things, further columns."""

import numpy as np
import pyarrow as pa
from cli_tables import FAST, houses
from pyarrow import parquet
from written_tables import written

from mercer.cli.summary import member_words

ODD = "net\x1b[31m\u202e price"


def test_names_reach_the_terminal_without_signs_that_steer_it(run, folder):
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=30).round(3), np.array(["a\x1b[2J", "b\u202e"])[np.arange(30) % 2]
    written(folder, "odd.csv", {ODD: x, "other": x[::-1], "kind\x1b[0m": labels})
    said = run("fit", "odd.csv", "--target", "kind\x1b[0m", *FAST).stdout
    said += run("inspect", "model.mercer").stdout
    assert r"net\u001b[31m\u202e price" in said
    assert not any(sign in said for sign in "\x1b\u202e")


def test_the_next_command_can_be_typed(run):
    said = run("fit", "houses.csv", "--target", "price", *FAST, "--out", "my model.mercer").stdout
    assert said.endswith("Next: mercer predict 'my model.mercer' NEW_TABLE\n")


def test_one_member_needs_no_weight():
    assert member_words([(1.0, "Matern 5/2, width per column")]) == "Matern 5/2 with width per column"


def test_one_row_that_is_left_out_is_said_of_one(run, folder):
    lines = houses().splitlines()
    cells = lines[5].split(",")
    cells[1] = ""
    (folder / "gap.csv").write_text("\n".join([*lines[:5], ",".join(cells), *lines[6:]]) + "\n")
    said = run("fit", "gap.csv", "--target", "price", "--missing", "drop", *FAST).stdout
    assert "1 of 40 rows has missing values and was dropped." in said


def test_settings_are_refused_before_anything_is_said(run):
    result = run("fit", "houses.csv", "--target", "price", "--kernel", "gaussian", "--scoring", "r3", code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("mercer: Unknown scoring 'r3'.")


def test_shares_are_percent_in_an_inspected_file_as_after_the_fit(run):
    said = run("fit", "houses.csv", "--target", "heating", "--drop", "house", *FAST).stdout
    share = said.split("Out-of-sample error: ")[1].split(" (")[0]
    assert share.count(" %") == 2
    assert f"Out-of-sample error: {share} (share of wrong labels; " in run("inspect", "model.mercer").stdout


def test_a_directory_is_predicted_as_its_files_are(run, folder):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    made = pa.table({"x": x, "z": rng.normal(size=60), "y": np.sin(x)})
    (folder / "parts").mkdir()
    parquet.write_table(made, "whole.parquet")
    parquet.write_table(made[:25], "parts/a.parquet")
    parquet.write_table(made[25:], "parts/b.parquet")
    run("fit", "whole.parquet", "--target", "y", *FAST)
    assert run("predict", "model.mercer", "parts").stdout == run("predict", "model.mercer", "whole.parquet").stdout
    other = made[25:].set_column(0, "x", pa.array(["?"] * 35))
    parquet.write_table(other, "parts/b.parquet")
    said = run("predict", "model.mercer", "parts", code=2).stderr
    assert said.startswith("mercer: The Parquet files of parts cannot be read as one table: ")
    assert said.endswith(". Save every file with the same column types.\n")
    (folder / "nothing").mkdir()
    assert "must be a file; got a directory." in run("predict", "model.mercer", "nothing", code=2).stderr


def test_one_label_beyond_those_listed_is_one(run, folder):
    written(
        folder,
        "six.csv",
        {"x": np.arange(36), "z": np.arange(36) % 5, "y": np.array(list("abcdef"))[np.arange(36) % 6]},
    )
    assert "e (6) and 1 more label.\n" in run("explain", "six.csv", "--target", "y", *FAST).stdout
