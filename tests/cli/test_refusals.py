"""Text of strangers reaches a terminal as text: names, cells, paths and strings of model files."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest
from cli_tables import APART, FAST
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import mercer
from mercer import TableEncoder
from mercer.cli.commands import cli
from mercer.cli.predicting import write
from mercer.errors import printable
from mercer.estimators.table_model import TableModel

ESCAPES = "\x1b\x9b\x07\x7f\u202e\u2066\u2028\x85\r\n\t"
STRANGE = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(ESCAPES), min_size=1, max_size=12)


def said(*words, given=None):
    """Both streams of a command, each line of which can be printed."""
    result = CliRunner(**APART).invoke(cli, words, input=given, prog_name="mercer")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    for line in [*result.stdout.split("\n"), *result.stderr.split("\n")]:
        assert line.isprintable(), line
    return result


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("strange")


def table_with(name, cells, place):
    path = place / "strange.parquet"
    parquet.write_table(pa.table({name: cells, "yyyyyyyyyyyyyy": range(len(cells))}), path)
    return str(path)


@pytest.mark.slow
@given(name=STRANGE, cell=STRANGE)
def test_sentences_about_strange_names_and_cells_are_one_printable_line(place, name, cell):
    table = table_with(name, [cell, "x", "1", "2", "3", "4", "5", "6", "7"], place)
    for words in (
        ("fit", table, "--target", "zzzzzzzzzzzzzzzzz"),
        ("fit", table, "--target", name, "--task", "regression"),
        ("fit", table, "--target", "yyyyyyyyyyyyyy", "--as", f"{name}=number"),
        ("fit", table, "--target", "yyyyyyyyyyyyyy", "--as", f"={cell}"),
        ("fit", table, "--target", "yyyyyyyyyyyyyy", "--scoring", f"no {cell}"),
        ("fit", table, "--target", "yyyyyyyyyyyyyy", "--kernel", f"?{cell}()"),
        ("fit", f"nowhere{name}", "--target", "y"),
        ("fit", table, "--target", "y", f"+{cell}"),
        ("predict", f"nowhere{name}", table),
        ("inspect", f"nowhere{cell}"),
        ("certify", f"?{cell}"),
    ):
        result = said(*words)
        assert result.exit_code == 2
        assert result.stderr.splitlines()[-1].startswith(("mercer: ", "Error: "))


@pytest.mark.slow
@given(name=STRANGE, cell=STRANGE)
def test_a_strangers_model_file_is_inspected_without_harm(place, name, cell):
    rows = {name: [1.0, 2.0, 3.0, 4.0], "level": [cell, "b", cell, "b"]}
    encoder = TableEncoder().fit(rows)
    search = mercer.KernelRidgeCV("linear", [1.0], cv=2).fit(encoder.transform(rows), [1.0, 2.0, 3.0, 4.0])
    error = {"measure": cell, "how": cell, "value": 1.0, "baseline": cell}
    summary = {"error": error, "model": {"class": cell, "members": [{"name": cell, "weight": 1.0}]}, name: cell}
    path = str(place / "strange.mercer")
    mercer.save(TableModel(search, encoder, name, "", (cell,), summary), path)
    shown = said("inspect", path).stdout
    assert len(shown.splitlines()) == 11  # no name adds a line
    assert json.loads(said("inspect", path, "--json").stdout)["fit"] == summary
    said("predict", path, "-", given="other\n1\n")


@pytest.mark.parametrize(
    "summary", [{"error": 3}, {"error": {"measure": "m"}}, {"model": [1]}, {"model": {"members": [2]}}]
)
def test_a_summary_that_is_none_is_left_out(place, summary):
    encoder = TableEncoder().fit({"a": [1.0, 2.0, 3.0]})
    search = mercer.KernelRidgeCV("linear", [1.0]).fit(encoder.transform({"a": [1.0, 2.0, 3.0]}), [1.0, 2.0, 4.0])
    path = str(place / "odd.mercer")
    mercer.save(TableModel(search, encoder, "y", "", (), summary), path)
    assert said("inspect", path).stdout.endswith(
        "a       number        0  whole numbers, 3 distinct; if these are codes, set the kind to category\n"
    )


def test_advice_and_warnings_about_strange_columns_can_be_printed(run, folder):
    name = "\x1b]0;owned\x07\u202eprice\ncopy"
    rows = range(30)
    columns = {name: [2.0 * i for i in rows], "b\x9b": [i * 7 % 11 for i in rows], "y": [3.0 * i + i % 2 for i in rows]}
    parquet.write_table(pa.table(columns), "strange.parquet")
    result = run("fit", "strange.parquet", "--target", "y", *FAST)
    for line in [*result.stdout.split("\n"), *result.stderr.split("\n")]:
        assert line.isprintable(), line
    assert f"--drop '{printable(name)}'" in result.stderr
    parquet.write_table(pa.table({**columns, name: [1e9] * 30}), "new.parquet")
    warned = run("predict", "model.mercer", "new.parquet").stderr
    assert warned.startswith(
        "Warning: column '\\x1b]0;owned\\x07\\u202eprice\\ncopy': 30 of 30 values outside the training range."
    )


def test_predictions_keep_every_cell_in_a_pipe(run, folder, houses_model):
    text = "house,size,heating,sold,town\n\x1b[31mh,100,gas,2020-03-01,A\n"
    assert (
        run("predict", "model.mercer", "-", "--id", "house", given=text).stdout.splitlines()[1].startswith("\x1b[31mh,")
    )


def test_predictions_on_a_terminal_are_shown_and_not_obeyed(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    write({"id": np.array(["\x1b[31mh\u202e"], dtype=object), "prediction": np.array([1.5])}, "-")
    assert capsys.readouterr().out == "id,prediction\n\\u001b[31mh\\u202e,1.5\n"
