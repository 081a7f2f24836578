"""Memory: what there is, what is asked for, and the refusal before anything is taken."""

import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.errors import InputError, MemoryRefusal
from mercer.runtime import available_bytes, promise, readable
from mercer.runtime import resources as memory
from refusals import refusal, tells


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    monkeypatch.delenv("MERCER_MEMORY_LIMIT", raising=False)


@pytest.fixture
def group(monkeypatch, tmp_path):
    """Control groups whose files a test writes; the process is in those that `own` says."""
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    monkeypatch.setattr(memory, "_MEMBERSHIP", tmp_path / "own")

    def write(limit, used, folder="", names=("memory.max", "memory.current"), own="0::/", stat=""):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name, value in zip((*names, "memory.stat"), (limit, used, stat), strict=True):
            (tmp_path / folder / name).write_text(f"{value}\n")
        (tmp_path / "own").write_text(f"1:cpu:/else\n{own}\n")

    return write


# -- what there is ----------------------------------------------------------------------------------


def test_there_is_some_memory():
    assert available_bytes() > 0


def test_the_machine_says_how_much_in_kibibytes(monkeypatch, group):
    monkeypatch.setattr(memory, "_fields", lambda path, label: [8] if label == "MemAvailable:" else [])
    assert available_bytes() == 8192


def test_a_control_group_allows_what_is_left_of_its_limit(group):
    group(5000, 3000)
    assert available_bytes() == 2000


def test_a_control_group_without_a_limit_allows_everything(group):
    without = available_bytes()
    group("max", 3000)
    assert available_bytes() == pytest.approx(without, rel=0.2)


def test_a_control_group_over_its_limit_allows_nothing(group):
    group(3000, 5000)
    assert available_bytes() == 0


def test_systems_without_control_groups_are_asked_otherwise(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "missing")
    monkeypatch.setattr(memory, "_MEMBERSHIP", tmp_path / "missing")
    assert memory._control_groups() == []
    assert available_bytes() > 0


def test_half_a_control_group_is_none(group, tmp_path):
    (tmp_path / "memory.max").write_text("10\n")
    assert available_bytes() > 10


VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")


@pytest.mark.parametrize("own", ["4:memory:/", "4:hugetlb,memory:/", "4:memory:/docker/0123"])
def test_a_control_group_of_version_1_allows_what_is_left_of_its_limit(group, own):
    group(5000, 3000, "memory", VERSION_1, own)
    assert available_bytes() == 2000


def test_a_control_group_of_version_1_without_a_limit_allows_everything(group):
    group(9223372036854771712, 3000, "memory", VERSION_1, "4:memory:/")
    assert available_bytes() > 10**6


@pytest.mark.parametrize("tightest", ["", "a.slice", "a.slice/b.service", "a.slice/b.service/c"])
@pytest.mark.parametrize("version", [1, 2, "hybrid"])
def test_the_tightest_of_nested_groups_counts(group, tightest, version):
    top = {1: "memory/", 2: "", "hybrid": "unified/"}[version]
    names = VERSION_1 if version == 1 else ("memory.max", "memory.current")
    own = "4:memory:/a.slice/b.service/c" if version == 1 else "0::/a.slice/b.service/c"
    for folder in ("", "a.slice", "a.slice/b.service", "a.slice/b.service/c"):
        limit = 7000 if folder == tightest else 10**7
        group(limit, 3000, top + folder, names, own)
    group(10, 9, f"{top}other", names, own)
    assert available_bytes() == 4000


def test_a_path_from_outside_a_container_does_not_hide_the_groups_own_limit(group):
    group(5000, 3000, own="0::/../../host/path")
    assert available_bytes() == 2000


@pytest.mark.parametrize(
    ("folder", "names", "own", "label"),
    [
        ("", ("memory.max", "memory.current"), "0::/", "inactive_file"),
        ("memory", VERSION_1, "4:memory:/", "total_inactive_file"),
    ],
)
def test_cached_files_are_not_counted_as_used(group, folder, names, own, label):
    group(5000, 4500, folder, names, own, stat=f"anon 1\n{label} 3000\nactive_file 7")
    assert available_bytes() == 3500


def test_the_limit_of_the_process_counts(monkeypatch, group):
    limit = 10**18
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    monkeypatch.setattr(memory, "_fields", lambda path, label: [1000] if label == "VmSize:" else [])
    assert available_bytes() == limit - 1024 * 1000


def test_a_process_without_a_limit_is_not_limited(monkeypatch, group):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert memory._process_limit() == []


def test_the_variable_lowers_what_there_is(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "12345")
    assert available_bytes() == 12345


def test_the_variable_cannot_raise_what_there_is(monkeypatch, group):
    group(5000, 3000)
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", str(10**18))
    assert available_bytes() == 2000


def test_an_empty_variable_says_nothing(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "")
    assert available_bytes() > 10**6


@pytest.mark.parametrize("value", ["2GB", "-5", "1e9", "lots", "²"])
def test_a_variable_that_is_no_number_of_bytes_is_refused_and_not_ignored(monkeypatch, value):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", value)
    with pytest.raises(InputError, match="MERCER_MEMORY_LIMIT must be"):
        available_bytes()


# -- promises ---------------------------------------------------------------------------------------


def test_what_fits_is_promised_without_a_word(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000")
    assert available_bytes() == 1000
    assert promise(1000, "A thing", "Use less.") is None
    assert promise(0, "A thing", "Use less.") is None


def test_what_does_not_fit_is_refused_in_a_sentence_with_the_way_out(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1500")
    assert tells(refusal(promise, 3_200_000, "A thing", "Use less.", kind=MemoryRefusal), "A thing", "3.2 MB", "1.5 kB")


def test_a_refusal_can_be_caught_as_a_memory_error(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1")
    with pytest.raises(MemoryError):
        promise(2, "A thing", "Use less.")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (12_345, "12.3 kB"),
        (1_000_000, "1.0 MB"),
        (3_200_000_000, "3.2 GB"),
        (10**12, "1.0 TB"),
        (10**15, "1.0 PB"),
        (10**18, "1000.0 PB"),
    ],
)
def test_bytes_are_said_as_a_person_would(count, text):
    assert readable(count) == text


def test_a_count_just_below_a_unit_is_said_in_the_next():
    assert readable(999_999) == "1.0 MB"


@given(st.integers(0, 10**17))
def test_what_is_said_is_within_a_twentieth_of_what_is(count):
    number, unit = readable(count).split()
    factor = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}[unit]
    assert float(number) * factor == pytest.approx(count, rel=0.051)
