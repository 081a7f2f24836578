"""What somebody sees who runs the command for the first time: leaks, odd names, single things, further columns."""

import json

import numpy as np
import pyarrow as pa
import pytest
from cli_tables import FAST, houses
from pyarrow import parquet

from mercer.cli.leaks import given_away
from mercer.cli.preparing import Said, prepare
from mercer.cli.summary import member_words

ODD = "net\x1b[31m\u202e price"


def written(folder, name, columns):
    cells = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (folder / name).write_text("\n".join(cells) + "\n")


@pytest.fixture
def leaking(folder):
    rng = np.random.default_rng(0)
    size, price = rng.normal(size=40).round(3), rng.normal(size=40).round(3)
    written(folder, "leak.csv", {"size": size, "price with tax": (1.19 * price).round(3), "price": price})
    return folder


def test_a_column_made_from_the_target_is_warned_of(run, leaking):
    result = run("fit", "leak.csv", "--target", "price", *FAST)
    assert result.stderr.startswith(
        "Warning: Possible target leakage: column price with tax alone nearly determines price. Drop "
        "columns that were computed from price, or are known only after it: --drop 'price with tax'.\n"
    )
    told = json.loads(run("fit", "leak.csv", "--target", "price", *FAST, "--json").stdout)
    assert told["warnings"][0].startswith("Column price with tax alone")
    without = run("fit", "leak.csv", "--target", "price", "--drop", "price with tax", *FAST)
    assert "away" not in without.stderr


def test_several_such_columns_are_named_together(leaking):
    rng = np.random.default_rng(1)
    y = rng.normal(size=30)
    written(leaking, "two.csv", {"a": 2 * y, "b": 3 * y, "y": y})
    said = given_away(prepare("two.csv", Said("y")), "y")
    assert said[0].startswith("Possible target leakage: each of a and b alone nearly determines y.")
    assert said[0].endswith("--drop a --drop b.")


def test_labels_are_given_away_too_and_the_only_column_is_no_leak(leaking):
    code = np.arange(30) % 3
    labels = np.array(["red", "green", "blue"])[code]
    written(leaking, "labels.csv", {"code": code + 0.5, "x": np.arange(30) * 7 % 11, "y": labels})
    assert given_away(prepare("labels.csv", Said("y")), "y")[0].startswith("Possible target leakage: column code alone")
    assert given_away(prepare("labels.csv", Said("y", drop=("x",))), "y") == []


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
    assert result.stderr.startswith("mercer: There is no score 'r3'.")


def test_shares_are_percent_in_an_inspected_file_as_after_the_fit(run):
    said = run("fit", "houses.csv", "--target", "heating", "--drop", "house", *FAST).stdout
    share = said.split("Out-of-sample error: ")[1].split(",")[0]
    assert share.endswith(" %")
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
    assert said.startswith("mercer: The files of parts cannot be put together: ")
    (folder / "nothing").mkdir()
    assert "must be a file; got a directory." in run("predict", "model.mercer", "nothing", code=2).stderr


def test_one_label_beyond_those_listed_is_one(run, folder):
    written(
        folder,
        "six.csv",
        {"x": np.arange(36), "z": np.arange(36) % 5, "y": np.array(list("abcdef"))[np.arange(36) % 6]},
    )
    assert "e (6) and 1 more label.\n" in run("explain", "six.csv", "--target", "y", *FAST).stdout
