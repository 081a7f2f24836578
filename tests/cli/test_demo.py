"""`mercer demo` runs a first session, and harms no files."""

import csv

import pytest

from refusals import tells


@pytest.mark.slow
def test_a_first_session_runs_as_it_is_printed(run, tmp_path):
    said = run("demo", tmp_path / "first").stdout
    commands = [line for line in said.splitlines() if line.startswith("$ mercer ")]
    assert [line.split()[2] for line in commands] == ["fit", "predict", "score"]
    assert tells(said, "Out-of-sample error:", "root mean squared error", "% inside the 90 % intervals")
    made = {path.name for path in (tmp_path / "first").iterdir()}
    tables = {"houses.csv", "new_houses.csv", "sold_later.csv"}
    assert made == {*tables, "model.mercer", "report.html", "predicted.csv"}
    with (tmp_path / "first" / "new_houses.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200
    assert "price" not in rows[0]
    run(*commands[1].split()[2:-1], tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "first" / "predicted.csv").read_text()


def test_a_folder_with_files_and_a_file_are_refused(run, folder):
    before = sorted(path.name for path in folder.iterdir())
    said = run("demo", folder, code=2).stderr
    assert tells(said, "a new or empty folder", "a folder with files in it", "mercer demo FOLDER")
    said = run("demo", folder / "new.csv", code=2).stderr
    assert tells(said, "got a file")
    assert sorted(path.name for path in folder.iterdir()) == before
