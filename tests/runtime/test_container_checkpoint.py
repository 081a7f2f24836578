"""Checkpoints: whole or not at all, their own data only, every byte under a digest, and never a pickle."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.errors import InputError, MemoryRefusal
from mercer.runtime import disk
from mercer.runtime.container import Checkpoint
from mercer.runtime.passes import PassCheckpoint
from model_mutants import damaged, joined, load_damaged, mutant, resealed, small_checkpoints, split
from refusals import refusal, tells

CHANGED = "does not match: the file was truncated, changed or damaged."
WAY_OUT = " Delete it, or use another file."


def test_what_is_saved_is_loaded_bit_for_bit(tmp_path, rng):
    arrays = {"scores": rng.normal(size=(3, 2)), "finished": np.array([True, False, True]), "row": np.array(3)}
    arrays |= {"columns": np.asfortranarray(rng.normal(size=(3, 4))), "a": np.zeros(2), "b": np.zeros(2)}
    saved = Checkpoint(tmp_path / "search.npz", "mark")
    assert saved.load(arrays) is None
    saved.save(arrays)
    found = Checkpoint(str(tmp_path / "search.npz"), "mark").load(arrays)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].tobytes() == array.tobytes()
        assert found[name].dtype == array.dtype
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
        assert found[name].flags.writeable
    found["a"][:] = 1.0
    assert found["b"].tolist() == [0.0, 0.0]


def test_the_file_has_the_name_that_was_given_and_no_other_is_left(tmp_path):
    saved = Checkpoint(tmp_path / "search", "mark")
    saved.save({"a": np.zeros(1)})
    saved.save({"a": np.ones(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["search"]


def test_other_data_is_refused_and_the_file_is_kept(tmp_path):
    path = tmp_path / "search"
    Checkpoint(path, "mine").save({"a": np.zeros(1)})
    before = path.read_bytes()
    said = refusal(Checkpoint(path, "yours").load, {"a": np.zeros(1)})
    assert tells(said, f"The checkpoint {path}", WAY_OUT)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda whole: b"hello\n", "it is truncated, or not a checkpoint."),
        (lambda whole: whole[: len(whole) // 2], f"its checksum {CHANGED}"),
        (lambda whole: b"", "it is truncated, or not a checkpoint."),
        (lambda whole: whole[:200], "it is truncated, or not a checkpoint."),
        (lambda whole: whole[:-1] + b"\1", f"its checksum {CHANGED}"),
        (lambda whole: whole.replace(b"mark", b"nark"), f"its checksum {CHANGED}"),
        (lambda whole: whole.replace(b"checkpoint", b"model", 1), "it is a model file, not a checkpoint."),
        (lambda whole: whole.replace(rb"\"version\":1", rb"\"version\":2", 1), "it has format version 2;"),
        (lambda whole: b"PK\x03\x04" + whole, "it is truncated, or not a checkpoint."),
    ],
)
def test_a_damaged_checkpoint_is_refused_in_a_sentence(tmp_path, damage, reason):
    path, arrays = tmp_path / "search", {"a": np.arange(1000.0)}
    Checkpoint(path, "mark").save(arrays)
    path.write_bytes(damage(path.read_bytes()))
    assert tells(refusal(Checkpoint(path, "mark").load, arrays), f"The checkpoint {path}", reason)


def test_a_changed_score_or_row_count_is_noticed(tmp_path):
    path = tmp_path / "sums"
    saved = PassCheckpoint(path, "mark")
    saved.save({"scores": np.array([0.5, 0.25])}, next_row=7000)
    whole = path.read_bytes()
    for old, new in ((np.float64(0.5), np.float64(123.0)), (np.int64(7000), np.int64(10))):
        assert whole.count(old.tobytes()) == 1
        path.write_bytes(whole.replace(old.tobytes(), new.tobytes()))
        said = refusal(saved.load, {"scores": np.zeros(2)}, 10_000)
        assert tells(said, f"The checkpoint {path}", "its checksum does not match")


@pytest.mark.parametrize("next_row", [-1, 10_001, 2**62])
def test_a_row_beyond_the_table_is_refused(tmp_path, next_row):
    saved = PassCheckpoint(tmp_path / "sums", "mark")
    saved.save({"a": np.zeros(2)}, next_row)
    said = refusal(saved.load, {"a": np.zeros(2)}, 10_000)
    assert tells(said, f"The checkpoint {tmp_path / 'sums'} is invalid: its row position", f"got {next_row}")


@pytest.mark.parametrize(
    "other",
    [
        {"a": np.zeros((3, 1)), "b": np.zeros(2)},
        {"a": np.zeros(3, dtype=np.int64), "b": np.zeros(2)},
        {"a": np.zeros(3)},
        {"a": np.zeros(3), "b": np.zeros(2), "c": np.zeros(1)},
        {"a": np.zeros(3), "c": np.zeros(2)},
        {"a": np.zeros(2**20), "b": np.zeros(2)},
    ],
)
def test_arrays_of_other_names_types_or_shapes_are_refused(tmp_path, other):
    path, saved = tmp_path / "search", Checkpoint(tmp_path / "search", "mark")
    saved.save(other)
    said = refusal(saved.load, {"a": np.zeros(3), "b": np.zeros(2)})
    assert tells(said, f"The checkpoint {path}", "its arrays do not match")


def test_a_small_checkpoint_that_claims_much_is_refused_without_memory(tmp_path):
    path, arrays = tmp_path / "search", {"a": np.zeros((3, 2))}
    saved = Checkpoint(path, "mark")
    saved.save(arrays)
    header, _, _ = split(path.read_bytes())
    body = path.read_bytes()[8 + len(header) :]
    path.write_bytes(resealed(header.replace(b'"shape":[3,2]', b'"shape":[400000000,1]'), body))
    tracemalloc.start()
    refusal(saved.load, arrays)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_a_checkpoint_larger_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    saved = Checkpoint(tmp_path / "search", "mark")
    saved.save({"a": np.zeros(1000)})
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "4000")
    assert tells(refusal(saved.load, {"a": np.zeros(1000)}, kind=MemoryRefusal), "This checkpoint", "24.7 kB", "4.0 kB")


def test_a_record_that_does_not_fit_its_arrays_is_refused(tmp_path):
    path, arrays = tmp_path / "search", {"a": np.zeros(3)}
    saved = Checkpoint(path, "mark")
    saved.save(arrays)
    _, record, stored = split(path.read_bytes())
    for change in ({"mark": 3}, {"more": 1}):
        changed = json.loads(json.dumps(record)) | change
        path.write_bytes(joined(changed, stored, "checkpoint"))
        assert tells(refusal(saved.load, arrays), f"The checkpoint {path}", "Delete it, or use another file.")


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    return small_checkpoints(np.random.default_rng(0), tmp_path_factory.mktemp("checkpoints"))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_damage_is_refused_and_lies_are_refused_or_are_what_the_file_says(checkpoints, seed):
    rng = np.random.default_rng(seed)
    for path, mark, arrays in checkpoints:
        original = path.read_bytes()
        for _ in range(10):
            data = damaged(rng, original)
            expected = "unchanged" if data == original else "refused"
            assert load_damaged(Checkpoint(path, mark), data, arrays) == expected
            load_damaged(Checkpoint(path, mark), mutant(rng, original), arrays)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "search"
    saved = Checkpoint(path, "mark")
    saved.save({"a": np.zeros(1)})

    def fail(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(disk.os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        saved.save({"a": np.ones(1)})
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["search"]
    np.testing.assert_array_equal(saved.load({"a": np.ones(1)})["a"], [0.0])


def test_a_directory_is_no_checkpoint(tmp_path):
    said = refusal(Checkpoint(tmp_path, "mark").load, {})
    assert tells(said, f"The checkpoint {tmp_path}", "it is a directory")


@pytest.mark.parametrize("path", [True, 3, b"search"], ids=str)
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InputError) as refused:
        Checkpoint(path, "mark")
    assert tells(str(refused.value), "checkpoint", f"got {path!r}")
