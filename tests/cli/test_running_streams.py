"""Standard streams, locales, limits and interruptions: whatever surrounds a command, its outputs are the same."""

import json
import os
import re
import resource
import subprocess
import sys

import pyarrow as pa
import pytest
from cli_tables import FAST
from one_process import together
from pyarrow import parquet

from mercer.cli import refusals, running
from mercer.cli.refusals import words
from refusals import tells

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-c", "from mercer.cli import main; main()"]


def started(*given, closed=(), limit=None, **environment):
    """A command in a process of its own: its exit code, standard output and standard error, as bytes."""

    def prepare():
        for number in closed:
            os.close(number)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, *given],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=300,
        preexec_fn=prepare,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout, done.stderr


# -- closed streams --------------------------------------------------------------------------------


def test_a_closed_standard_output_is_one_sentence(folder):
    said = b"mercer: the output cannot be written: standard output is closed.\n"
    for given in (["certify", "linear()"], ["--help"], ["fit", "houses.csv", "--target", "price", *FAST]):
        assert started(*given, closed=[1]) == (2, b"", said)
    assert sorted(path.name for path in folder.iterdir()) == ["houses.csv", "new.csv"]


def test_a_command_that_prints_nothing_needs_no_standard_output(folder):
    fit = ["fit", "houses.csv", "--target", "price", *FAST, "--quiet"]
    predict = ["predict", "model.mercer", "new.csv"]
    assert together(fit, [*predict, "--out", "new.out.csv"], closed=[0, 1, 2]) == [(0, b"", b"")] * 2
    code, printed, _ = started(*predict, closed=[2])
    assert code == 0
    assert (folder / "new.out.csv").read_bytes() == printed


def test_a_closed_standard_error_keeps_the_exit_code(folder):
    assert started("fit", "houses.csv", "--target", "prise", closed=[2])[::2] == (2, b"")


def test_a_closed_standard_input_is_an_empty_one(folder):
    assert started("fit", "-", "--target", "y", closed=[0]) == (2, b"", b"mercer: standard input is empty.\n")


# -- locales ---------------------------------------------------------------------------------------

NARROW = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1"}


def test_outputs_do_not_depend_on_the_locale(run, folder):
    cities = ["Köln", "Zürich", "Århus", "Łódź"]
    lines = [f"{i * 7 % 31}.5,{cities[i % 4]},2020-{1 + i % 12:02}-05,{i * 1.25}" for i in range(40)]
    (folder / "table.csv").write_text("größe,stadt,tag,preis\n" + "\n".join(lines) + "\n", encoding="utf-8")
    fit = ["fit", "table.csv", "--target", "preis", *FAST, "--json", "--report", "r.html"]
    predict = ["predict", "model.mercer", "table.csv", "--drop", "preis", "--id", "stadt"]

    def outputs(printed, table):
        summary = json.loads(printed.decode("utf-8"))
        del summary["seconds"]
        page = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d[:\d]*", "", (folder / "r.html").read_text(encoding="utf-8"))
        assert table.decode("utf-8").splitlines()[1].startswith("Köln,")
        return summary, page, table

    here = outputs(run(*fit).stdout_bytes, run(*predict).stdout_bytes)
    (code, printed, said), (other, table, more) = together(fit, predict, **NARROW)
    assert (code, said, other, more) == (0, b"", 0, b"")
    assert outputs(printed, table) == here


# -- limits ----------------------------------------------------------------------------------------


def test_an_address_space_that_is_too_small_is_refused_before_anything_is_loaded(folder):
    code, printed, said = started("certify", "linear()", limit=300 * 10**6, OPENBLAS_NUM_THREADS="1")
    assert (code, printed) == (2, b"")
    assert said.decode() == (
        "mercer: The address space limit (ulimit -v) is 300 MB; mercer and its dependencies need 985 MB with 1 "
        "thread. Raise the limit, or set OPENBLAS_NUM_THREADS=1.\n"
    )


def test_a_process_without_a_limit_is_not_refused(run, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "all")
    run("certify", "linear()")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        ImportError("x.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        pa.ArrowMemoryError("malloc of size 64 failed"),
    ],
)
def test_what_the_machine_refuses_is_told_as_such(error):
    assert words(error) == (
        "Out of memory. Use fewer rows or columns, or set --memory-limit to less than the free memory: a fit that is "
        "too large then stops before it starts."
    )


# -- interruptions ---------------------------------------------------------------------------------


def stop(*_):
    raise KeyboardInterrupt


def test_ctrl_c_says_what_was_written(run, folder, monkeypatch):
    given = ("fit", "houses.csv", "--target", "price", *FAST, "--report", "r.html")
    monkeypatch.setattr(running, "_write_report", stop)
    said = run(*given, code=1).stderr
    assert said == "mercer: Stopped; written: the model model.mercer; not written: the report r.html.\n"
    said = run(*given, code=1).stderr  # replaced
    assert said == "mercer: Stopped; written: the model model.mercer; not written: the report r.html.\n"
    monkeypatch.setattr("mercer.cli.running._save", stop)
    said = run(*given, code=1).stderr
    assert said == "mercer: Stopped; nothing was written.\n"
    said = run(*given, "--checkpoint", "kept", code=1).stderr
    assert said == (
        "mercer: Stopped; written: the checkpoint kept; not written: the model model.mercer, the report r.html. Run "
        "the same command again to continue from the checkpoint.\n"
    )


def test_ctrl_c_after_everything_was_written_says_so(run, folder, monkeypatch):
    monkeypatch.setattr("mercer.cli.running._tell", stop)
    said = run("fit", "houses.csv", "--target", "price", *FAST, code=1).stderr
    assert said == "mercer: Stopped; written: the model model.mercer.\n"


def test_ctrl_c_in_predict_says_what_was_written(run, folder, monkeypatch, houses_model):
    monkeypatch.setattr("mercer.cli.predicting._tell_strangers", stop)
    said = run("predict", "model.mercer", "new.csv", code=1).stderr
    assert said == "mercer: Stopped; what went to standard output may be incomplete.\n"
    said = run("predict", "model.mercer", "new.csv", "--out", "o.csv", code=1).stderr
    assert said.endswith("mercer: Stopped; written: the table o.csv.\n")


# -- Arrow -----------------------------------------------------------------------------------------


def test_a_damaged_checkpoint_is_one_sentence_on_the_command_line(run, folder):
    given = ("fit", "houses.csv", "--target", "price", *FAST, "--checkpoint", "kept")
    run(*given)
    whole = (folder / "kept").read_bytes()
    (folder / "kept").write_bytes(whole[:-4] + b"abcd")
    assert tells(run(*given, code=2).stderr, "The checkpoint kept", "its checksum does not match")


@pytest.mark.parametrize("long", [False, True])
def test_strings_of_the_view_type_are_text(run, folder, monkeypatch, long):
    monkeypatch.setattr("mercer.cli.preparing.LONG", 10 if long else 1000)
    texts = [f"word{i % 3}" for i in range(30)]
    numbers = [float(i % 3) for i in range(30)]
    for kind in (pa.string(), pa.string_view()):
        parquet.write_table(pa.table({"t": pa.array(texts, kind), "y": numbers}), "t.parquet")
        printed = run("fit", "t.parquet", "--target", "y", *FAST).stdout
        assert "t       category" in printed


@pytest.mark.parametrize("long", [False, True])
def test_text_that_is_not_utf_8_is_a_damaged_file(run, folder, monkeypatch, long):
    monkeypatch.setattr("mercer.cli.preparing.LONG", 10 if long else 1000)
    broken = pa.array([b"\xff"] * 30).view(pa.string())
    parquet.write_table(pa.table({"t": broken, "y": [float(i) for i in range(30)]}), "t.parquet")
    said = run("fit", "t.parquet", "--target", "y", code=2).stderr
    assert re.fullmatch(r"mercer: '?t.parquet'? is a damaged Parquet file: .*UTF8 sequence at string index 0\.\n", said)


def test_dates_are_no_weights(run, folder):
    said = run("fit", "houses.csv", "--target", "price", "--weight", "sold", *FAST, code=2).stderr
    assert said.startswith("mercer: Column 'sold'")
    days = pa.array(range(30), pa.timestamp("s"))
    parquet.write_table(pa.table({"x": range(30), "w": days, "y": [i * 1.5 for i in range(30)]}), "t.parquet")
    said = run("fit", "t.parquet", "--target", "y", "--weight", "w", *FAST, code=2).stderr
    assert tells(said, "Column 'w'", "got '1970-01-01' in row 1 of t.parquet")


def test_ids_that_have_no_type_of_arrows_are_written_as_text(run, folder):
    base = {"x": [float(i) for i in range(30)], "y": [i * 1.5 for i in range(30)]}
    parquet.write_table(pa.table(base), "t.parquet")
    run("fit", "t.parquet", "--target", "y", *FAST)
    large = pa.array([2**64 - 1, None] * 15, pa.uint64())
    parquet.write_table(pa.table({"x": base["x"], "id": large}), "new.parquet")
    run("predict", "model.mercer", "new.parquet", "--id", "id", "--out", "o.parquet")
    assert parquet.read_table("o.parquet").column("id").to_pylist()[:1] == ["18446744073709551615"]


def test_what_pyarrow_cannot_do_is_a_refusal(run, folder, monkeypatch):
    def cannot(*_, **__):
        raise pa.ArrowNotImplementedError("Function 'array_take' has no kernel matching input types (odd, int64)")

    monkeypatch.setattr("mercer.cli.running.Prepared", cannot)
    assert tells(run("fit", "houses.csv", "--target", "price", code=2).stderr, "pyarrow", "'array_take'")


def test_a_message_that_cannot_be_written_keeps_its_exit_code(folder):
    if not os.path.exists("/dev/full"):  # noqa: PTH110 - a device
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run([*COMMAND, "fit", "houses.csv", "--target", "x"], stderr=full, check=False, timeout=120)  # noqa: S603
    assert done.returncode == 2
    assert refusals.REFUSED == 2
