"""The report by way of the command line."""

import hashlib
import io
import json

import numpy as np
import pytest
from cli_tables import APART
from click.testing import CliRunner

from mercer.cli.commands import cli
from mercer.cli.running import show_activity
from refusals import tells

FAST = ["--kernel", "gaussian", "--alphas", "0.1,1", "--folds", "3"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{x:.2f},{z:.2f},{'AB'[i % 2]},{3 * x + z:.2f}" for i, (x, z) in enumerate(rng.normal(size=(36, 2)))]
    (tmp_path / "table.csv").write_text("\n".join(["x,<z>,town,y", *lines]) + "\n")

    def run(*said, code=0):
        result = CliRunner(**APART).invoke(cli, ["fit", "table.csv", "--target", "y", *said], prog_name="mercer")
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.mark.slow
def test_a_report_is_written_beside_the_model(run, tmp_path):
    said = run(*FAST, "--report", "out come.html").stdout
    assert said.endswith("The report is in out come.html; it opens in a browser.\n")
    text = (tmp_path / "out come.html").read_text(encoding="utf-8")
    command = (
        "mercer fit table.csv --target y --kernel gaussian --alphas 0.1,1 --folds 3 --report &#39;out come.html&#39;"
    )
    assert command in text
    assert hashlib.sha256((tmp_path / "table.csv").read_bytes()).hexdigest() in text
    assert "It was fitted to 36 rows of table.csv." in text
    error = json.loads(run(*FAST, "--json").stdout)["error"]
    assert f"{error['value']:.4g}" in text
    assert f"{error['baseline']:.4g}" in text


def test_json_tells_where_the_report_is(run, monkeypatch):
    monkeypatch.setattr("mercer.cli.running._write_report", lambda *_: None)
    assert json.loads(run(*FAST, "--json", "--report", "r.html").stdout)["report"] == "r.html"


@pytest.mark.slow
def test_labels_weights_and_groups_have_reports_too(run, tmp_path):
    lines = (tmp_path / "table.csv").read_text().splitlines()
    more = [f"{line},{i % 9},{1 + i % 3}" for i, line in enumerate(lines[1:])]
    (tmp_path / "table.csv").write_text("\n".join([f"{lines[0]},patient,counts", *more]))
    run("--group", "patient", "--weight", "counts", "--kernel", "linear", "--report", "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Not used as features: patient and counts." in text


def test_models_on_landmarks_have_no_report_and_say_so_before_the_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.cli.preparing.MANY", 30)
    assert tells(run("--report", "r.html", code=2).stderr, "--report", "36")
    assert not (tmp_path / "model.mercer").exists()


@pytest.mark.parametrize(("terminal", "quiet"), [(True, False), (True, True), (False, False)])
def test_a_terminal_is_told_what_it_waits_for(monkeypatch, terminal, quiet):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("sys.stderr", stream)
    with show_activity("writing", quiet=quiet):
        pass
    assert stream.getvalue() == ("writing ...\r\033[2K" if terminal and not quiet else "")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("-", "--report must be the path of a file; got '-'."),
        ("no/r.html", "There is no directory 'no' to write 'r.html' to."),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(run, tmp_path, place, said):
    assert run(*FAST, "--report", place, code=2).stderr == f"mercer: {said}\n"
    assert not (tmp_path / "model.mercer").exists()
