"""Model files as files: their format, their versions, the disk, and what inspect says."""

import os
import stat
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from model_cases import changed, same, through
from sklearn.exceptions import NotFittedError

import mercer
from mercer import (
    AutoRegressor,
    KernelNeighborsRegressor,
    KernelRidge,
)
from mercer.errors import InputError, ModelFileError
from mercer.kernels import (
    Gaussian,
    Linear,
    Words,
)
from mercer.models import ModelFile, inspect
from mercer.runtime import disk
from mercer.runtime.container import Checkpoint, dumps
from model_mutants import renamed, same_content, split, written_again
from refusals import refusal, tells
from remembered import fitted

# what fits say about themselves is not what is tried here
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")


@pytest.mark.slow
def test_equal_arrays_are_kept_once(data, path):
    X, y, _ = data
    model = fitted(AutoRegressor(), X, y)
    mercer.save(model, path)
    _, _, arrays = split(path.read_bytes())
    assert sum(array.shape == X.shape for array in arrays.values()) == 1


def test_the_file_is_a_safetensors_file(data, path):
    from safetensors.numpy import load_file

    X, y, _ = data
    mercer.save(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y), path)
    found = load_file(path)
    _, _, arrays = split(path.read_bytes())
    assert sorted(found) == sorted(arrays)
    assert all(same(found[name], arrays[name]) for name in found)
    assert any(same(array, X) for array in found.values())


def test_a_loaded_model_is_unchanged_by_what_it_does(data, path):
    X, y, _ = data
    model = through(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y), path)
    before = path.read_bytes()
    model.predict_interval(X)
    assert same_content(written_again(model, before), before)


def test_paths_are_texts_or_paths(data, tmp_path, monkeypatch):
    X, y, _ = data
    model = KernelRidge().fit(X, y)
    monkeypatch.chdir(tmp_path)
    for place in ("a.mercer", str(tmp_path / "b.mercer"), tmp_path / "c.mercer"):
        mercer.save(model, place)
        assert same(mercer.load(place).predict(X), model.predict(X))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.mercer", "b.mercer", "c.mercer"]
    for place in (None, 3, "", b"bytes", "a\0b"):
        for call in (partial(mercer.save, model), mercer.load, inspect):
            with pytest.raises(InputError, match=r"^The path of a model file must (be|not contain a NUL character)"):
                call(place)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_mode_is_the_umasks(data, path):
    X, y, _ = data
    old = os.umask(0o027)
    try:
        mercer.save(KernelRidge().fit(X, y), path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("failing", ["fsync", "replace", "write"])
def test_a_write_that_fails_leaves_what_was_there(data, small, monkeypatch, failing):
    X, y, _ = data
    before = small.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    def stop():
        yield b"half"
        raise KeyboardInterrupt

    if failing == "write":
        with pytest.raises(KeyboardInterrupt):
            disk.write_whole(small, stop())
    else:
        monkeypatch.setattr(*(disk.os, "fsync") if failing == "fsync" else (Path, "replace"), fail)
        with pytest.raises(ModelFileError) as caught:
            mercer.save(KernelRidge().fit(X, y), small)
        assert tells(str(caught.value), f"The model file {small}", "no space left on device")
    assert small.read_bytes() == before
    assert list(small.parent.iterdir()) == [small]


def test_places_that_cannot_be_written_are_named(data, tmp_path):
    X, y, _ = data
    model = KernelRidge().fit(X, y)
    with pytest.raises(ModelFileError) as caught:
        mercer.save(model, tmp_path)
    assert tells(str(caught.value), f"The model file {tmp_path}", "it is a directory")
    with pytest.raises(ModelFileError, match="cannot be written: no such file or directory"):
        mercer.save(model, tmp_path / "none" / "model.mercer")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
def test_places_that_cannot_be_read_are_named(tmp_path, monkeypatch):
    empty, pipe = tmp_path / "empty", tmp_path / "pipe"
    empty.write_bytes(b"")
    os.mkfifo(pipe)
    reasons = {
        tmp_path: "it is a directory. Use another path.",
        tmp_path / "none": "no such file or directory.",
        empty: "it is truncated, or not a model file. Use another copy of the file, or save the model again.",
        pipe: "it is not a regular file. Use another path.",
        tmp_path / "empty" / "x": "not a directory.",
        Path("x" * 5000): "file name too long.",
    }
    for place, reason in reasons.items():
        for call in (mercer.load, inspect):
            with pytest.raises(ModelFileError) as caught:
                call(place)
            assert tells(str(caught.value), f"The model file {place}", reason)

    def refuse(*_args, **_how):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelFileError, match="cannot be read: permission denied"):
        mercer.load(empty)


# -- what a file holds ------------------------------------------------------------------------------


def test_inspect_says_what_a_file_holds(small):
    found = inspect(small)
    assert isinstance(found, ModelFile)
    assert (found.kind, found.kernel, found.alpha) == ("KernelRidge", "Gaussian(width=1.0)", "0.1")
    assert (found.rows, found.columns, found.size) == (3, 2, small.stat().st_size)
    assert found.versions["mercer"] == mercer.__version__
    lines = str(found).splitlines()
    assert lines[0] == "KernelRidge: Gaussian(width=1.0), alpha 0.1"
    assert lines[1].startswith("3 training rows, 2 columns; ")
    assert lines[2].startswith("written 20")
    with pytest.raises(AttributeError):
        found.rows = 4


def test_inspect_notices_a_damaged_array(small):
    data = small.read_bytes()
    header = 8 + len(split(data)[0])
    small.write_bytes(data[:header] + bytes(len(data) - header))
    for call in (inspect, mercer.load):
        with pytest.raises(ModelFileError, match="its checksum does not match"):
            call(small)


def test_inspect_names_committees_objects_and_long_kernels(data, path):
    X, y, _ = data
    mercer.save(KernelRidge(1.0, kernel=Words()).fit(["a", "b"], [1.0, 2.0]), path)
    assert "2 training rows, objects; " in str(inspect(path))
    mercer.save(KernelNeighborsRegressor().fit(X, y), path)
    assert str(inspect(path)).startswith("KernelNeighborsRegressor: Linear()\n40 training rows, 2 columns; ")
    mercer.save(KernelRidge(np.arange(1.0, 8.0), kernel=sum([Linear()] * 40)).fit(X, np.tile(y[:, None], 7)), path)
    assert inspect(path).kernel.endswith("...")
    assert len(inspect(path).kernel) == 200
    assert inspect(path).alpha == "1, 2, 3, 4, 5, ..."
    assert mercer.load(path).kernel == sum([Linear()] * 40)


@pytest.mark.parametrize("value", [None, [], {"class": "KernelRidge"}, "x"])
def test_inspect_refuses_an_account_that_is_none(small, value):
    small.write_bytes(changed(small.read_bytes(), ("account",), value))
    with pytest.raises(ModelFileError, match="its summary is invalid"):
        inspect(small)


@pytest.mark.parametrize(
    ("name", "value"), [("class", "Evil"), ("kernel", "\x1b[31m"), ("rows", -1), ("columns", "x"), ("alpha", 1)]
)
def test_inspect_prints_nothing_strange(small, name, value):
    small.write_bytes(changed(small.read_bytes(), ("account", name), value))
    with pytest.raises(ModelFileError, match="its summary is invalid"):
        inspect(small)


def test_an_unfitted_model_still_says_so_itself():
    with pytest.raises(NotFittedError):
        KernelRidge().predict([[1.0]])


# -- Model files as files: what they cost before they are refused, and how they are saved over others


def test_objects_that_would_need_more_memory_than_there_is_are_refused_before_they_are_made(tmp_path, monkeypatch):
    path = tmp_path / "model"
    mercer.save(mercer.KernelRidge(0.1, kernel=Words()).fit(["a b", "c"], [1.0, 2.0]), path)
    _, record, arrays = split(path.read_bytes())
    name = record["model"]["fitted"]["fitted_"]["with"]["X"]["name"]
    hostile = np.frombuffer(dumps([[]] * 100_000).encode(), dtype=np.uint8)
    path.write_bytes(renamed(record, arrays, name, hostile))
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "10000000")
    assert tells(refusal(mercer.load, path, kind=ModelFileError), f"The model file {path}", "an array of objects needs")


def test_a_checkpoint_is_no_model(tmp_path):
    path = tmp_path / "search"
    Checkpoint(path, "mark").save({"a": np.zeros(3)})
    said = refusal(mercer.load, path, kind=ModelFileError)
    assert tells(said, f"The model file {path}", "it is a checkpoint, not")


@pytest.mark.slow
def test_a_hostile_header_is_refused_by_its_size(tmp_path):
    path = tmp_path / "model"
    mercer.save(mercer.KernelRidge(0.1).fit([[0.0], [1.0]], [1.0, 2.0]), path)
    for length in (2**24 + 8, 60_000_000):
        path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:] + bytes(60_000_000))
        said = refusal(mercer.load, path, kind=ModelFileError)
        assert tells(said, f"The model file {path} cannot be read: its header", "got more")


def test_a_model_is_saved_through_a_link_and_keeps_the_mode_of_the_file(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    model = mercer.KernelRidge(0.1).fit([[0.0], [1.0]], [1.0, 2.0])
    mercer.save(model, link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert mercer.load(target).predict([[3.0]]) == model.predict([[3.0]])
