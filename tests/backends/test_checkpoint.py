"""Checkpoints: whole or not at all, their own data only, and never a pickle."""

import numpy as np
import pytest

from mercer.backends import checkpoint as module
from mercer.backends.checkpoint import Checkpoint
from mercer.errors import InputError


def test_what_is_saved_is_loaded_bit_for_bit(tmp_path, rng):
    arrays = {"scores": rng.normal(size=(3, 2)), "finished": np.array([True, False, True])}
    saved = Checkpoint(tmp_path / "search.npz", "mark")
    assert saved.load() is None
    saved.save(arrays)
    found = Checkpoint(str(tmp_path / "search.npz"), "mark").load()
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].tobytes() == array.tobytes()
        assert found[name].dtype == array.dtype


def test_the_file_has_the_name_that_was_given_and_no_other_is_left(tmp_path):
    saved = Checkpoint(tmp_path / "search", "mark")
    saved.save({"a": np.zeros(1)})
    saved.save({"a": np.ones(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["search"]


def test_other_data_is_refused_and_the_file_is_kept(tmp_path):
    path = tmp_path / "search"
    Checkpoint(path, "mine").save({"a": np.zeros(1)})
    before = path.read_bytes()
    with pytest.raises(InputError) as refused:
        Checkpoint(path, "yours").load()
    assert str(refused.value) == (
        f"The checkpoint {str(path)!r} belongs to other data or settings. Delete it or name another file."
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["text", "cut", "empty", "zip without a mark", "pickle", "zip header only"])
def test_a_file_that_is_no_checkpoint_is_refused_in_a_sentence(tmp_path, damage):
    path = tmp_path / "search"
    Checkpoint(path, "mark").save({"a": np.arange(1000.0)})
    whole = path.read_bytes()
    if damage == "zip without a mark":
        with path.open("wb") as file:
            np.savez(file, a=np.zeros(1))
    elif damage == "pickle":
        with path.open("wb") as file:
            np.savez(file, mark=np.array([{"a": 1}], dtype=object))
    else:
        path.write_bytes({"text": b"hello\n", "cut": whole[: len(whole) // 2], "empty": b""}.get(damage, whole[:4]))
    with pytest.raises(InputError, match=r"^The checkpoint '.*search' cannot be read \(.*\)\. Delete it or name"):
        Checkpoint(path, "mark").load()


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "search"
    saved = Checkpoint(path, "mark")
    saved.save({"a": np.zeros(1)})

    def fail(file, **arrays):
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(module.np, "savez", fail)
    with pytest.raises(KeyboardInterrupt):
        saved.save({"a": np.ones(1)})
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["search"]
    np.testing.assert_array_equal(saved.load()["a"], [0.0])


def test_an_array_on_disk_is_no_checkpoint(tmp_path):
    path = tmp_path / "numbers.npy"
    np.save(path, [1.0])
    with pytest.raises(InputError, match=r"^The checkpoint '.*numbers.npy' cannot be read \(.*\)\. Delete it or name"):
        Checkpoint(path, "mark").load()


@pytest.mark.parametrize("path", [True, 3, b"search"], ids=str)
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InputError) as refused:
        Checkpoint(path, "mark")
    assert str(refused.value) == f"checkpoint must be the path of a file, or None; got {path!r}."
