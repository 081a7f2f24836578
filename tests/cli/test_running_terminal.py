"""The real command, in pipes and on a terminal."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_tables import FAST, houses

pytestmark = pytest.mark.slow

MERCER = str(Path(sys.executable).parent / "mercer")


@pytest.fixture(autouse=True)
def _command():
    if not shutil.which(MERCER):
        pytest.skip("the console script is not installed")


def call(*words, **how):
    return subprocess.run([MERCER, *words], capture_output=True, check=False, timeout=120, **how)  # noqa: S603 - our own command


def test_a_pipe_from_a_table_to_predictions(folder):
    done = call("fit", "-", "--target", "price", *FAST, input=houses().encode())
    assert (done.returncode, done.stderr) == (0, b"")
    done = call("predict", "model.mercer", "-", input=houses(8, seed=1).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == 9
    assert done.stdout.startswith(b"prediction\n")


def test_whoever_stops_reading_gets_no_traceback(run, folder):
    run("fit", "houses.csv", "--target", "price", *FAST)
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


def on_a_terminal(*words):
    """What is written to a terminal that is stderr, and what to a pipe that is stdout."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([MERCER, *words], stdout=subprocess.PIPE, stderr=theirs) as process:  # noqa: S603 - our own command
        os.close(theirs)
        out = process.stdout.read()
        seen = b""
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # the other end is closed
            pass
        process.wait(timeout=120)
    os.close(ours)
    return process.returncode, out.decode(), seen.decode()


def test_progress_with_the_time_left_is_shown_on_a_terminal_only(folder):
    words = ("fit", "houses.csv", "--target", "price", "--kernel", "gaussian", "--alphas", "0.1,1", "--folds", "3")
    code, out, seen = on_a_terminal(*words)
    assert code == 0
    assert " left" in seen
    assert " left" not in out.replace("left out", "")
    assert b" spent, " not in call(*words).stderr
    _, _, seen = on_a_terminal(*words, "--quiet")
    assert " spent, " not in seen


def cpu_seconds(*command):
    """User and system time of the cheapest of five runs."""
    found = []
    for _ in range(5):
        before = os.times()
        subprocess.run(command, check=True, capture_output=True, timeout=60)  # noqa: S603 - our own command
        after = os.times()
        found.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(found)


def test_help_costs_no_more_than_numpy_and_a_fifth_of_a_second():
    assert cpu_seconds(MERCER, "--help") <= cpu_seconds(sys.executable, "-c", "import numpy") + 0.2


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
    command = f"{MERCER} predict model.mercer"
    for line in (
        f"{command} <(cat long.csv)",
        f"cat long.csv | {command} -",
        f"cat long.csv | {command} /dev/stdin",
        f"{command} /dev/stdin < long.csv",
        f"cat long.csv > pipe & {command} pipe",
    ):
        done = subprocess.run(["bash", "-c", line], capture_output=True, check=False, timeout=120)  # noqa: S603, S607 - our own command
        assert (done.returncode, done.stdout) == (0, expected), line
    fit = (
        f"{MERCER} fit <(cat houses.csv) --target price {' '.join(map(repr, FAST))} --out piped.mercer --report r.html"
    )
    done = subprocess.run(["bash", "-c", fit], capture_output=True, check=False, timeout=120)  # noqa: S603, S607 - our own command
    assert (done.returncode, done.stderr) == (0, b"")
    assert b": 40 rows, 6 columns (comma between cells)." in done.stdout
    assert run("predict", "piped.mercer", "long.csv").stdout_bytes == expected


def test_a_parquet_file_comes_through_a_pipe(folder):
    from pyarrow import csv, parquet

    parquet.write_table(csv.read_csv("houses.csv"), "houses.parquet")
    line = f"cat houses.parquet | {MERCER} fit /dev/stdin --target price {' '.join(map(repr, FAST))}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False, timeout=120)  # noqa: S603, S607 - our own command
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"/dev/stdin: 40 rows, 6 columns (Parquet).")
