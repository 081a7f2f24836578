"""`mercer demo` runs a first session, and harms no files."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from refusals import tells

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.slow
def test_the_commands_of_the_readme_run_as_they_are_printed(run, folder):
    lines = re.findall(r"^mercer .*", README.read_text(), re.MULTILINE)
    assert [line.split()[1] for line in lines] == ["demo", "fit", "predict"]
    said, fitted, predicted = (run(*shlex.split(line)[1:]).stdout for line in lines)
    commands = [line for line in said.splitlines() if line.startswith("$ mercer ")]
    assert [line.split()[2] for line in commands] == ["fit", "predict", "score"]
    assert tells(said, "Out-of-sample error:", "root mean squared error", "% inside the 90 % intervals")
    assert tells(fitted, "Out-of-sample error:", "Written to model.mercer")
    made = folder / "mercer-demo"
    tables = {"houses.csv", "new_houses.csv", "sold_later.csv"}
    assert {path.name for path in made.iterdir()} == {*tables, "model.mercer", "report.html", "predicted.csv"}
    with (made / "new_houses.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200
    assert "price" not in rows[0]
    assert predicted == (made / "predicted.csv").read_text()


def test_a_folder_with_files_and_a_file_are_refused(run, folder):
    before = sorted([*(path.name for path in folder.iterdir()), "mine"])
    said = run("demo", folder, code=2).stderr
    assert tells(said, "a new or empty folder", "in it", "mercer demo FOLDER")
    said = run("demo", folder / "new.csv", code=2).stderr
    assert tells(said, "got a file")
    (folder / "mine").mkdir()
    (folder / "mine" / "houses.csv").write_text("my own")
    said = run("demo", folder / "mine", code=2).stderr
    assert tells(said, "is not the table of mercer demo")
    assert [path.read_text() for path in (folder / "mine").iterdir()] == ["my own"]
    assert sorted(path.name for path in folder.iterdir()) == before
