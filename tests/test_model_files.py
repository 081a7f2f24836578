"""Model files as files: what they cost before they are refused, and how they are saved over others."""

import stat

import numpy as np

import mercer
from formulas import refusal
from mercer.errors import ModelFileError
from mercer.kernels import Words
from mercer.runtime.checkpoint import Checkpoint
from mercer.runtime.container import dumps
from model_mutants import joined, renamed, split


def test_objects_that_would_need_more_memory_than_there_is_are_refused_before_they_are_made(tmp_path, monkeypatch):
    path = tmp_path / "model"
    mercer.save(mercer.KernelRidge(0.1, kernel=Words()).fit(["a b", "c"], [1.0, 2.0]), path)
    _, record, arrays = split(path.read_bytes())
    name = record["model"]["fitted"]["X_fit_"]["name"]
    hostile = np.frombuffer(dumps([[]] * 100_000).encode(), dtype=np.uint8)
    path.write_bytes(renamed(record, arrays, name, hostile))
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "10000000")
    assert refusal(mercer.load, path, kind=ModelFileError) == (
        f"The model file {path} cannot be read: an array of objects needs 31.2 MB of memory; 10.0 MB is available."
    )


def test_a_checkpoint_is_no_model(tmp_path):
    path = tmp_path / "search"
    Checkpoint(path, "mark").save({"a": np.zeros(3)})
    said = refusal(mercer.load, path, kind=ModelFileError)
    assert said == f"The model file {path} cannot be read: it is a checkpoint, not a model file."


def test_a_hostile_header_is_refused_by_its_size(tmp_path):
    path = tmp_path / "model"
    mercer.save(mercer.KernelRidge(0.1).fit([[0.0], [1.0]], [1.0, 2.0]), path)
    _, record, arrays = split(path.read_bytes())
    record["model"]["params"]["alpha"] = [[]] * 500_000
    path.write_bytes(joined(record, arrays))
    for length in (2**24 + 8, 60_000_000):
        path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:] + bytes(60_000_000))
        said = refusal(mercer.load, path, kind=ModelFileError)
        assert said == (
            f"The model file {path} cannot be read: its header must have at most 16777216 bytes and 1048576 values; "
            "got more."
        )


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
