"""The tree of tests is that of the sources, in modules that can be read in one sitting."""

from pathlib import Path

import pytest

import mercer

TESTS, SOURCES = Path(__file__).parent, Path(mercer.__file__).parent
FOLDERS = sorted(path.name for path in SOURCES.iterdir() if (TESTS / path.name).is_dir() and path.name != "__pycache__")
MODULES = sorted(TESTS.rglob("test_*.py"))
LONGEST = 500


def subjects(folder):
    """Modules and packages inside a package of mercer."""
    inside = [path for path in (SOURCES / folder).iterdir() if not path.name.startswith("_")]
    return {path.stem for path in inside if path.is_dir() or path.suffix == ".py"}


def is_named_after(name, folder):
    """test_<module>, test_<module>_<subject>, or test_<package> for all of it.

    Where two packages have a module of one name, the package stands before it: test_selection_plan.
    """
    own = name.removeprefix("test_")
    modules = tuple(f"{module}_" for module in subjects(folder))
    return own == folder or any(f"{words}_".startswith(modules) for words in (own, own.removeprefix(f"{folder}_")))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_test_module_is_named_after_the_module_that_it_tests(folder):
    names = [path.stem for path in (TESTS / folder).glob("test_*.py")]
    assert names
    assert [name for name in names if not is_named_after(name, folder)] == []


def test_no_test_module_is_long_and_no_two_have_one_name():
    assert len({path.name for path in MODULES}) == len(MODULES)
    assert {path.name: count for path in MODULES if (count := len(path.read_text().splitlines())) > LONGEST} == {}
