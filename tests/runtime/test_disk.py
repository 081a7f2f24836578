"""Files that are written: whole or not at all, through links, with the mode they had, and nothing left behind."""

import os
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from mercer.errors import InputError, ModelFileError
from mercer.runtime import disk
from mercer.runtime.disk import SourceStamp, try_place, write_whole
from refusals import refusal, tells


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o664, 0o400, 0o755])
def test_a_file_keeps_its_mode(tmp_path, bits):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(bits)
    write_whole(path, [b"new"])
    assert path.read_bytes() == b"new"
    assert mode(path) == bits


def test_nobody_else_can_read_a_private_file_while_it_is_written(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o600)
    seen = []

    def pieces():
        seen.extend(mode(each) for each in tmp_path.iterdir())
        yield b"new"

    write_whole(path, pieces())
    assert seen == [0o600, 0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner_and_group(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    write_whole(path, [b"new"])
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


def test_a_group_that_cannot_be_kept_gets_no_rights_for_another(tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o664)
    old = path.stat()
    other = os.stat_result([*old[:5], old.st_gid + 1, *old[6:]])

    def refuse(*given):
        raise PermissionError

    monkeypatch.setattr(disk.os, "fchown", refuse)
    with path.open("wb") as file:
        disk._take_over(file.fileno(), other)
    assert mode(path) == 0o604


@pytest.mark.parametrize("there", [True, False])
def test_a_symbolic_link_is_followed_and_stays(tmp_path, there):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "model", tmp_path / "here" / "link"
    again = tmp_path / "here" / "again"
    if there:
        target.write_bytes(b"old")
        target.chmod(0o600)
    link.symlink_to("../there/model")
    again.symlink_to(link)
    write_whole(again, [b"n", memoryview(b"ew")])
    assert link.is_symlink()
    assert again.is_symlink()
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path / "here") == ["again", "link"]
    assert names(tmp_path / "there") == ["model"]
    assert not there or mode(target) == 0o600


def test_links_that_go_in_a_circle_are_refused_and_stay(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    said = refusal(write_whole, one, [b"new"], kind=ModelFileError)
    assert tells(said, f"The model file {one}", "too many levels of symbolic")
    assert one.is_symlink()
    assert other.is_symlink()


@pytest.mark.parametrize("name", ["a" * 255, "\N{SNOWMAN}" * 85, "\U0001f600" * 63, "a[b]*.part", ".part", "new\nline"])
def test_every_name_that_a_file_can_have_is_written(tmp_path, name):
    for content in (b"one", b"two"):
        write_whole(tmp_path / name, [content])
        assert (tmp_path / name).read_bytes() == content
    assert names(tmp_path) == [name]


KILLED = """
import os, signal, sys
from pathlib import Path
from mercer.runtime.disk import write_whole
def pieces():
    yield b"half of it"
    os.kill(os.getpid(), signal.SIGKILL)
write_whole(Path(sys.argv[1]), pieces())
"""


def killed_save(path):
    done = subprocess.run([sys.executable, "-c", KILLED, path], capture_output=True, check=False, timeout=60)  # noqa: S603 - our own code
    assert done.returncode == -9


def test_what_a_killed_save_left_is_removed_by_the_next_one(tmp_path):
    path, other = tmp_path / "model", tmp_path / "other"
    path.write_bytes(b"old")
    killed_save(path)
    killed_save(other)
    assert path.read_bytes() == b"old"
    assert len(names(tmp_path)) == 3
    write_whole(path, [b"new"])
    assert path.read_bytes() == b"new"
    left = names(tmp_path)
    assert len(left) == 2
    assert left[0].startswith(".other.")


def test_only_files_of_that_name_are_removed(tmp_path):
    mine = [".model.0123456789ab", ".model.0123456789AB.part", "model.0123456789ab.part", ".model.notes.part"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".model.00000000000a.part").mkdir()
    (tmp_path / ".model.00000000000b.part").symlink_to(tmp_path / mine[0])
    os.mkfifo(tmp_path / ".model.00000000000c.part")
    before = names(tmp_path)
    write_whole(tmp_path / "model", [b"new"])
    assert names(tmp_path) == sorted([*before, "model"])


def test_a_save_that_is_under_way_is_left_alone_by_another(tmp_path):
    path, middle, go_on = tmp_path / "model", threading.Event(), threading.Event()

    def slowly():
        yield b"slow"
        middle.set()
        assert go_on.wait(60)
        yield b"ly"

    thread = threading.Thread(target=write_whole, args=(path, slowly()))
    thread.start()
    assert middle.wait(60)
    write_whole(path, [b"fast"])
    assert path.read_bytes() == b"fast"
    assert len(names(tmp_path)) == 2
    go_on.set()
    thread.join()
    assert path.read_bytes() == b"slowly"
    assert names(tmp_path) == ["model"]


def test_a_file_that_was_taken_for_a_stale_one_is_made_again(tmp_path, monkeypatch):
    real, seen = disk._lock, []

    def late(descriptor):
        seen.append(descriptor)
        if len(seen) == 1:
            (only,) = tmp_path.iterdir()
            only.unlink()  # by another save, before this one had its lock
        return real(descriptor)

    monkeypatch.setattr(disk, "_lock", late)
    write_whole(tmp_path / "model", [b"new"])
    assert len(seen) == 2
    assert (tmp_path / "model").read_bytes() == b"new"


def test_a_place_is_tried_without_a_trace(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    try_place(path, "checkpoint")
    assert names(tmp_path) == ["model"]
    assert path.read_bytes() == b"old"
    said = refusal(try_place, tmp_path / "missing" / "model", "checkpoint", kind=ModelFileError)
    assert tells(said, f"The checkpoint {tmp_path / 'missing' / 'model'}", "no such file or directory")


def test_a_name_that_is_too_long_is_refused_in_a_sentence(tmp_path):
    path = Path(tmp_path / ("a" * 256))
    said = refusal(write_whole, path, [b"new"], kind=ModelFileError)
    assert tells(said, f"The model file {path}", "file name too long")


def test_a_file_of_the_same_size_and_time_in_place_of_another_is_found_out(tmp_path):
    path, other = tmp_path / "rows", tmp_path / "others"
    path.write_bytes(b"one")
    stamp = SourceStamp.of(path)
    stamp.check()
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(b"two")
    os.utime(path, ns=times)
    assert tells(refusal(stamp.check, kind=InputError), "rows")
    stamp = SourceStamp.of(path)
    other.write_bytes(b"six")
    os.utime(other, ns=times)
    other.replace(path)
    assert tells(refusal(stamp.check, kind=InputError), "rows")


def test_a_shared_file_may_have_another_number_on_another_machine(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"one")
    stamp = SourceStamp.of(path)
    replace(stamp, machine="elsewhere", inode=1, stamped=2).check()
    assert tells(refusal(replace(stamp, machine="elsewhere", size=4).check, kind=InputError), "rows")
    assert repr(replace(stamp, machine="elsewhere", inode=1)) == repr(stamp)  # by which a checkpoint knows it again
