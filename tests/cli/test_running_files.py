"""Models without their data, and files that cannot be written, or are no models."""

import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cli_tables import FAST, houses
from one_process import together
from pyarrow import parquet

from mercer import KernelRidge, load, save
from refusals import tells

MERCER = str(Path(sys.executable).parent / "mercer")
LINEAR = ["--kernel", "linear", "--alphas", "0.1,1", "--folds", "3"]


def left_behind(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in {"houses.csv", "new.csv"})


# Without data


def test_a_model_without_data_predicts_the_same_and_holds_no_cell_of_the_table(run, folder):
    words = ("fit", "houses.csv", "--target", "price", "--without-data", *LINEAR)
    assert "KernelRidgeCV (because of --kernel and --alphas and --without-data)" in run(*words).stdout
    raw = (folder / "model.mercer").read_bytes()
    header, *lines = (folder / "houses.csv").read_text().splitlines()
    for line in lines:
        cells = dict(zip(header.split(","), line.split(","), strict=True))
        assert cells["house"].encode() not in raw
        for name in ("size", "price"):
            assert np.float64(cells[name]).tobytes() not in raw
            assert f"{cells[name]},".encode() not in raw
    bare = run("predict", "model.mercer", "new.csv").stdout
    run(*words[:4], *LINEAR)
    kept = run("predict", "model.mercer", "new.csv").stdout
    one, other = (np.array(text.split()[1:], dtype=float) for text in (bare, kept))
    assert one == pytest.approx(other, rel=1e-6)
    assert len(raw) < (folder / "model.mercer").stat().st_size


def test_what_a_model_without_data_cannot_do_is_refused_with_the_reason(run, folder):
    run("fit", "houses.csv", "--target", "price", "--without-data", *LINEAR)
    assert run("inspect", "model.mercer").stdout.startswith(
        "KernelRidgeCV without its training rows: Linear()\nno training rows, 5 columns; "
    )
    said = run("predict", "model.mercer", "new.csv", "--interval", "0.9", code=2).stderr
    assert tells(said, "Prediction intervals need")
    (folder / "model.mercer").unlink()
    for kernel, got in (
        ("gaussian", "Gaussian(width=1.0)"),
        ("laplacian(2) + linear()", "Laplacian(width=2) + Linear()"),
    ):
        said = run("fit", "houses.csv", "--target", "price", "--without-data", "--kernel", kernel, code=2).stderr
        assert tells(said, "--without-data", got)
    assert left_behind(folder) == []


@pytest.mark.slow
def test_classes_without_data_keep_their_probabilities(run, folder):
    lines = [f"{2 * i},{i * i % 7},{'big' if i > 20 else 'small'}" for i in range(40)]
    (folder / "sizes.csv").write_text("\n".join(["size,x,kind", *lines]))
    run("fit", "sizes.csv", "--target", "kind", "--without-data")
    model = load("model.mercer")
    assert type(model.model).__name__ == "FeatureClassifier"
    printed = run("predict", "model.mercer", "sizes.csv").stdout.splitlines()
    assert printed[0] == "prediction,probability_big,probability_small"
    assert sum(line.split(",")[0] == row.split(",")[2] for line, row in zip(printed[1:], lines, strict=True)) > 35


# Missing cells


@pytest.mark.slow
def test_missing_numbers_can_get_the_mean_and_infinite_ones_be_missing(run, folder):
    rows = "".join(f"{'' if i % 10 == 3 else 'inf' if i == 7 else i},{i * 1.5}\n" for i in range(30))
    (folder / "gaps.csv").write_text("x,y\n" + rows)
    said = run("fit", "gaps.csv", "--target", "y", "--strict", *FAST, code=2).stderr
    assert "must be finite numbers; got 'inf' in line 9 of gaps.csv." in said
    said = run("fit", "gaps.csv", "--target", "y", "--missing", "mean", *FAST).stdout
    assert "Column 'x': 'inf' (1) taken as missing." in said
    assert load("model.mercer").encoder.names_out_ == ["x"]
    run("fit", "gaps.csv", "--target", "y", "--missing", "mark", *FAST)
    assert load("model.mercer").encoder.names_out_ == ["x", "x missing"]
    said = run("fit", "gaps.csv", "--target", "y", "--missing", "drop", *FAST).stdout
    assert "4 of 30 rows have missing values and were dropped." in said
    run("fit", "gaps.csv", "--target", "y", "--missing", "mean", "--folds", "2")
    assert load("model.mercer").columns[0].outputs == ("x",)


# Texts

TEXTS = ["--kernel", "linear", "--alphas", "0.01,0.1", "--folds", "3"]


def test_a_column_of_texts_is_learned_from(run, folder):
    rng = np.random.default_rng(0)
    fill = ["the", "house", "street", "view", "door", "old", "room", "wall"]
    lines = ["remark,x,price"]
    for i in range(60):
        words = [*rng.choice(fill, 4), "renovated" if i % 2 else "ruined"]
        lines.append(f"{' '.join(rng.permutation(words))},{rng.normal():.3f},{100 * (i % 2) + rng.normal():.2f}")
    (folder / "flats.csv").write_text("\n".join(lines) + "\n")
    found = json.loads(run("fit", "flats.csv", "--target", "price", *TEXTS, "--json").stdout)
    assert [column["kind"] for column in found["columns"]] == ["text", "number"]
    assert found["columns"][0]["used"]
    assert found["error"]["value"] < 0.5 * found["error"]["baseline"]
    said = run("fit", "flats.csv", "--target", "price", *TEXTS, "--as", "remark=drop").stdout
    assert "not shown to be better than the baseline" in said
    run("fit", "flats.csv", "--target", "price", *TEXTS)
    answer = run("predict", "model.mercer", "-", given="remark,x\nrenovated,0\nruined old door,0\nxyz,0\n")
    high, low, _ = map(float, answer.stdout.split()[1:])
    assert high > low + 50
    assert "1 of 3 values in categories not seen in training ('xyz')" in answer.stderr


# Many rows


@pytest.mark.slow
def test_many_rows_are_fitted_by_landmarks_and_it_says_so(run, folder, monkeypatch):
    monkeypatch.setattr("mercer.cli.preparing.MANY", 300)
    (folder / "many.csv").write_text(houses(400))
    words = ("many.csv", "--target", "price", "--kernel", "gaussian(3)", "--alphas", "0.01,0.1,1", "--folds", "3")
    said = run("fit", *words, "--force").stdout
    assert "Model: NystroemRidgeCV (landmarks in place of all pairs of 400 rows), Gaussian(width=3) with " in said
    assert "(root mean squared error; nested cross-validation, 3 folds by hash)." in said
    found = run("predict", "model.mercer", "new.csv").stdout.split()
    truth = [float(line.split(",")[-1]) for line in houses(8, seed=1).splitlines()[1:]]
    assert np.array(found[1:], dtype=float) == pytest.approx(truth, abs=15)
    said = run("predict", "model.mercer", "new.csv", "--interval", "0.9", code=2).stderr
    assert said.startswith("mercer: --interval is not supported for NystroemRidgeCV models.")
    assert "NystroemRidgeCV (landmarks in place of all pairs of 400 rows).\n1 kernel" in run("explain", *words).stdout
    assert run("fit", *words, "--repeats", "2", code=2).stderr.startswith(
        "mercer: --repeats is not supported for more than 1 000 000 rows"
    )
    labels = run("fit", "many.csv", "--target", "heating", *words[3:], "--as", "price=drop", "--force").stdout
    assert "Model: NystroemRidgeClassifierCV" in labels
    assert run("predict", "model.mercer", "new.csv").stdout.splitlines()[1] in {"gas", "oil", "heat pump"}


def test_the_address_of_a_scheduler_must_be_one(run):
    said = run("fit", "houses.csv", "--target", "price", "--dask", "here", code=2).stderr
    assert tells(said, "--dask", "got 'here'")


def test_a_file_too_large_for_memory_is_refused_before_it_is_read(run):
    said = run("fit", "houses.csv", "--target", "price", "--memory-limit", "1kB", code=2).stderr
    assert said.startswith("mercer: Reading houses.csv needs ")
    assert tells(said, "Parquet table of more than 1000000 rows")


# Outputs that are inputs


def test_an_output_that_is_an_input_or_another_output_is_refused_before_anything_is_written(run, folder):
    run("fit", "houses.csv", "--target", "price", *FAST, "--out", "m.csv")
    (folder / "sub").mkdir()
    (folder / "link.csv").symlink_to("houses.csv")
    os.link("houses.csv", "hard.csv")
    os.link("m.csv", "hard-model.csv")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    fit = ("fit", "houses.csv", "--target", "price", *FAST)
    cases = [
        ((*fit, "--out", "houses.csv"), "--out", "the table", "houses.csv"),
        ((*fit, "--out", "./sub/../houses.csv"), "--out", "the table", "./sub/../houses.csv"),
        ((*fit, "--out", "link.csv"), "--out", "the table", "link.csv"),
        ((*fit, "--out", "hard.csv"), "--out", "the table", "hard.csv"),
        ((*fit, "--report", "houses.csv"), "--report", "the table", "houses.csv"),
        ((*fit, "--checkpoint", "houses.csv"), "--checkpoint", "the table", "houses.csv"),
        ((*fit, "--out", "x", "--report", "x"), "--report", "--out", "x"),
        ((*fit, "--out", "x", "--report", "sub/../x"), "--report", "--out", "sub/../x"),
        ((*fit, "--out", "x", "--checkpoint", "x"), "--checkpoint", "--out", "x"),
        (("fit", "link.csv", *fit[2:], "--out", "hard.csv"), "--out", "the table", "hard.csv"),
        (("predict", "m.csv", "new.csv", "--out", "new.csv"), "--out", "the table", "new.csv"),
        (("predict", "m.csv", "new.csv", "--out", "m.csv"), "--out", "the model", "m.csv"),
        (("predict", "m.csv", "new.csv", "--out", "hard-model.csv"), "--out", "the model", "hard-model.csv"),
    ]
    for words, option, what, path in cases:
        assert tells(run(*words, code=2).stderr, option, what, repr(path))
        assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_file_of_the_directory_that_is_read_is_no_output(run, folder):
    (folder / "parts").mkdir()
    parquet.write_table(pa.table({"x": range(30), "y": [3.0 * i % 7 for i in range(30)]}), "parts/a.parquet")
    said = run("fit", "parts", "--target", "y", "--out", "parts/a.parquet", code=2).stderr
    assert said.startswith("mercer: --out would overwrite the table: 'parts/a.parquet'.")
    assert parquet.read_table("parts/a.parquet").num_rows == 30


@pytest.mark.slow
def test_the_file_behind_standard_input_is_no_output(folder):
    fit = ["fit", "-", "--target", "price", "--out", "houses.csv"]
    predict = ["predict", "m", "-", "--out", "houses.csv"]
    for code, _, said in together(fit, predict, stdin={0: "houses.csv", 1: "houses.csv"}):
        assert code == 2
        assert said == b"mercer: --out would overwrite the table: 'houses.csv'. Use a different file name.\n"
    assert (folder / "houses.csv").read_text() == houses()


def test_an_empty_name_is_no_table(run, folder, houses_model):
    said = "mercer: The name of a table must be a path, or - for standard input; got an empty string.\n"
    for words in (("fit", "", "--target", "y"), ("explain", "", "--target", "y"), ("predict", "model.mercer", "")):
        assert run(*words, code=2).stderr == said


# Memory


def test_every_table_is_read_within_memory(run, folder, monkeypatch, houses_model):
    text = houses(400)
    (folder / "many.csv").write_text(text)
    columns = {name: ["x"] * 4000 for name in ("size", "heating", "sold", "town")}
    parquet.write_table(pa.table(columns), "many.parquet")  # a few hundred bytes that become megabytes
    (folder / "parts").mkdir()
    parquet.write_table(pa.table(columns), "parts/a.parquet")
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "100000")
    for words, given, what in (
        (("predict", "model.mercer", "many.csv"), None, "many.csv"),
        (("predict", "model.mercer", "-"), text, "standard input"),
        (("predict", "model.mercer", "many.parquet"), None, "many.parquet"),
        (("predict", "model.mercer", "parts"), None, "parts"),
        (("fit", "-", "--target", "price", "--out", "x"), text, "standard input"),
        (("fit", "many.parquet", "--target", "size", "--out", "x"), None, "many.parquet"),
        (("explain", "-", "--target", "price"), text, "standard input"),
    ):
        said = run(*words, given=given, code=2).stderr
        assert re.match(rf"mercer: Reading {what} needs [0-9.]+ [kM]B of memory; 100.0 kB is available\. ", said), said
    monkeypatch.setattr("mercer.tables.reading._PIECE", 2**16)
    said = run("predict", "model.mercer", "/dev/zero", code=2).stderr  # which never ends
    assert re.match(r"mercer: Reading /dev/zero needs 1\.\d MB of memory; 100\.0 kB is available\. ", said)
    assert said.endswith("Predict for fewer rows at a time.\n")


# Files


def test_devices_are_written_to_and_not_replaced(run, folder):
    if not Path("/dev/full").is_char_device():
        pytest.skip("there is no /dev/full here")
    run("fit", "houses.csv", "--target", "price", *FAST)
    said = run("predict", "model.mercer", "new.csv", "--out", "/dev/full", code=2).stderr
    assert tells(said, "The table /dev/full", "no space left on device")
    said = run("fit", "houses.csv", "--target", "price", *FAST, "--out", "/dev/full", code=2).stderr
    assert tells(said, "The model file /dev/full", "no space left on device")
    run("predict", "model.mercer", "new.csv", "--out", "/dev/null")
    assert Path("/dev/full").is_char_device()
    assert Path("/dev/null").is_char_device()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(MERCER), reason="the console script is not installed")
def test_a_disk_that_fills_up_leaves_nothing_behind(folder):
    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    words = [MERCER, "fit", "houses.csv", "--target", "price", *FAST, "--threads", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, preexec_fn=small)  # noqa: S603 - our own command
    assert done.returncode == 2
    assert tells(done.stderr, "The model file model.mercer", "file too large")
    assert left_behind(folder) == []


def test_places_without_permission_are_refused_before_the_work(run, folder, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    said = run("fit", "houses.csv", "--target", "price", code=2)
    assert tells(said.stderr, "'model.mercer'", "permission denied")
    assert said.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(MERCER), reason="the console script is not installed")
def test_ctrl_c_on_a_terminal_leaves_nothing_behind(folder):
    (folder / "houses.csv").write_text(houses(140))
    ours, theirs = pty.openpty()
    words = [MERCER, "fit", "houses.csv", "--target", "price", "--threads", "1", "--folds", "30"]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:  # noqa: S603 - our own command
        os.close(theirs)
        seen, begin = b"", time.monotonic()
        while b"heating" not in seen and time.monotonic() - begin < 60:  # the columns are told, the work begins
            seen += os.read(ours, 4096)
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # the other end is closed
            pass
        process.wait(timeout=60)
    os.close(ours)
    assert process.returncode == 1
    assert b"Stopped; nothing was written." in seen
    assert b"Traceback" not in seen
    assert left_behind(folder) == []


WAY_OUT = " Use another copy of the file, or save the model again."
BROKEN = {
    "cut off": (lambda raw: raw[: len(raw) // 2], "it is truncated, or not a model file." + WAY_OUT),
    "one bit altered": (
        lambda raw: raw[:-9] + bytes([raw[-9] ^ 4]) + raw[-8:],
        "the file was truncated, changed or damaged." + WAY_OUT,
    ),
    "newer": (lambda raw: raw.replace(rb"\"version\":1", rb"\"version\":2", 1), "Update mercer."),
    "a table": (lambda raw: b"a,b\n1,2\n", "it is truncated, or not a model file." + WAY_OUT),
    "empty": (lambda raw: b"", "it is truncated, or not a model file." + WAY_OUT),
}


def test_files_that_are_no_models_get_one_sentence(run, folder, houses_model):
    raw = (folder / "model.mercer").read_bytes()
    for change, said in BROKEN.values():
        (folder / "broken.mercer").write_bytes(change(raw))
        for words in (("predict", "broken.mercer", "new.csv"), ("inspect", "broken.mercer")):
            stderr = run(*words, code=2).stderr
            assert stderr.startswith("mercer: The model file broken.mercer cannot be read: ")
            assert stderr.endswith(f"{said}\n")
            assert stderr.count("\n") == 1


def test_a_wrong_separator_is_pointed_out(run):
    said = run("fit", "-", "--target", "y", "--separator", ",", given="a;y\n1;2\n3;4\n", code=2).stderr
    assert tells(said, "'y'", "'a;y'")


def test_only_a_model_of_the_same_table_target_and_task_is_replaced_without_force(run, folder):
    words = ("fit", "houses.csv", "--target", "heating", "--drop", "house", *FAST)
    (folder / "model.mercer").write_text("notes of a year")
    assert tells(run(*words, code=2).stderr, "'model.mercer'", "not a model", "--force")
    assert (folder / "model.mercer").read_text() == "notes of a year"
    save(KernelRidge().fit([[0.0], [1.0]], [0.0, 1.0]), folder / "model.mercer")
    assert tells(run(*words, code=2).stderr, "'model.mercer'", "KernelRidge", "--force")
    run(*words, "--force")
    run(*words)
    lines = [line.split(",") for line in houses().splitlines()]
    numbers = [[*cells[:2], str(i % 7) if i else "heating", *cells[3:]] for i, cells in enumerate(lines)]
    (folder / "houses.csv").write_text("\n".join(map(",".join, numbers)))
    assert tells(run(*words, code=2).stderr, "'heating'", "classification", "--force")
    assert tells(run("fit", "houses.csv", "--target", "price", *FAST, code=2).stderr, "'heating'", "--force")
    (folder / "model.mercer").write_bytes(b"")  # nothing is lost
    run("fit", "houses.csv", "--target", "price", *FAST)


@pytest.mark.parametrize("command", ["fit", "explain"])
def test_a_wrong_kernel_is_told_before_the_table_is_looked_for(run, command):
    said = run(command, "nowhere.csv", "--target", "price", "--kernel", "gausian", code=2).stderr
    assert tells(said, "'gausian'", "'gaussian'")
