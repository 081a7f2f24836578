"""The real command, in pipes and on a terminal."""

import os
import pty
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cli_tables import FAST, houses
from one_process import together

pytestmark = pytest.mark.slow

MERCER = str(Path(sys.executable).parent / "mercer")


@pytest.fixture(autouse=True)
def _command():
    if not shutil.which(MERCER):
        pytest.skip("the console script is not installed")


def call(*words, **how):
    return subprocess.run([MERCER, *words], capture_output=True, check=False, timeout=120, **how)  # noqa: S603 - our own command


def test_a_pipe_from_a_table_to_predictions(folder):
    fit, predict = ["fit", "-", "--target", "price", *FAST], ["predict", "model.mercer", "-"]
    pipes = "{} 3< <(cat houses.csv) 4< <(cat new.csv)"
    fitted, predicted = together(fit, predict, line=pipes, stdin={0: "/dev/fd/3", 1: "/dev/fd/4"})
    assert fitted[::2] == (0, b"")
    assert predicted[0] == 0
    assert b"8 rows have a known price" in predicted[2]
    assert len(predicted[1].splitlines()) == 9
    assert predicted[1].startswith(b"prediction\n")


def test_whoever_stops_reading_gets_no_traceback(run, folder, houses_model):
    (folder / "many.csv").write_text(houses(5000))
    line = f"{MERCER} predict model.mercer many.csv | head -n 1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=120)  # noqa: S603, S607 - our own command
    assert done.stdout == b"prediction\n"
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_refusals_of_the_real_command(folder):
    done = call("fit", "houses.csv", "--target", "prize")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr == b"mercer: There is no column 'prize' in houses.csv. Did you mean 'price'?\n"
    assert call("fit").returncode == 2


class Terminal:
    """A terminal that is read all the time."""

    def __init__(self):
        self.ours, self.theirs = pty.openpty()
        self.name, self.seen = os.ttyname(self.theirs), b""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            while part := os.read(self.ours, 4096):
                self.seen += part
        except OSError:  # the other end is closed
            pass

    def close(self):
        """All that was written to it."""
        os.close(self.theirs)
        self.reader.join(timeout=120)
        os.close(self.ours)
        return self.seen.decode()


def test_progress_with_the_time_left_is_shown_on_a_terminal_only(folder):
    words = ["fit", "houses.csv", "--target", "price", "--kernel", "gaussian", "--alphas", "0.1,1", "--folds", "3"]
    shown, quiet = Terminal(), Terminal()
    (code, out, _), (_, _, piped), _ = together(
        words, words, [*words, "--quiet"], stderr={0: shown.name, 2: quiet.name}
    )
    assert code == 0
    seen = shown.close()
    assert " left" in seen
    assert " spent, " in seen
    assert " left" not in out.decode().replace("left out", "")
    assert b" spent, " not in piped
    assert " spent, " not in quiet.close()


def test_help_loads_nothing_heavy():
    code = "import sys; from mercer.cli.commands import cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603 - our own code
    assert {"numpy", "sklearn", "scipy", "pyarrow", "rich"}.isdisjoint(loaded.split())


def test_pipes_of_every_kind_are_read_once_and_whole(run, folder):
    """Longer than a pipe holds at once, so that what is lost or read twice would show."""
    text = houses(1500)
    (folder / "long.csv").write_text(text)
    run("fit", "houses.csv", "--target", "price", *FAST)
    expected = run("predict", "model.mercer", "long.csv").stdout_bytes
    assert len(expected.splitlines()) == 1501
    os.mkfifo("pipe")
    pipes = " ".join(f"{number}< <(cat {name}.csv)" for number, name in enumerate(["houses", *["long"] * 3], start=3))
    fit = ["fit", "/dev/fd/3", "--target", "price", *FAST, "--out", "piped.mercer", "--report", "r.html"]
    tables = ("/dev/fd/4", "-", "/dev/stdin", "/dev/stdin", "pipe")
    (code, told, said), *found = together(
        fit,
        *(["predict", "model.mercer", table] for table in tables),
        line=f"cat long.csv > pipe & {{}} {pipes}",
        stdin={2: "/dev/fd/5", 3: "/dev/fd/6", 4: "long.csv"},
    )
    for each, table in zip(found, tables, strict=True):
        assert each[:2] == (0, expected), table
    assert (code, said) == (0, b"")
    assert b": 40 rows, 6 columns (comma between cells)." in told
    assert run("predict", "piped.mercer", "long.csv").stdout_bytes == expected


def test_a_parquet_file_comes_through_a_pipe(folder):
    from pyarrow import csv, parquet

    parquet.write_table(csv.read_csv("houses.csv"), "houses.parquet")
    line = f"cat houses.parquet | {MERCER} fit /dev/stdin --target price {' '.join(map(repr, FAST))}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False, timeout=120)  # noqa: S603, S607 - our own command
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"/dev/stdin: 40 rows, 6 columns (Parquet).")
