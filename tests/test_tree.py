"""The tree of tests is that of the sources, in modules that can be read in one sitting."""

import ast
import re
from pathlib import Path

import pytest

import mercer
from size import budget, measure

TESTS, SOURCES = Path(__file__).parent, Path(mercer.__file__).parent
FOLDERS = sorted(path.name for path in SOURCES.iterdir() if (TESTS / path.name).is_dir() and path.name != "__pycache__")
MODULES = sorted(TESTS.rglob("test_*.py"))
LONGEST = 500


def subjects(folder):
    """Modules and packages inside a package of mercer."""
    inside = [path for path in (SOURCES / folder).iterdir() if not path.name.startswith("_")]
    return {path.stem for path in inside if path.is_dir() or path.suffix == ".py"}


def is_named_after(name, modules, folder):
    """test_<module> or test_<module>_<subject>.

    Where two packages have a module of one name, the package stands before it: test_selection_plan.
    """
    own = name.removeprefix("test_")
    starts = tuple(f"{module}_" for module in modules)
    return any(f"{words}_".startswith(starts) for words in (own, own.removeprefix(f"{folder}_")))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_test_module_is_named_after_the_module_that_it_tests(folder):
    names = [path.stem for path in (TESTS / folder).glob("test_*.py")]
    assert names
    assert [
        name for name in names if name != f"test_{folder}" and not is_named_after(name, subjects(folder), folder)
    ] == []


def test_every_source_module_has_tests_of_its_name_or_is_named_by_those_that_cover_it():
    """A test module names the other modules that it covers in its docstring: "Covers: kernels.maps, kernels.value."."""
    covered = {
        name
        for path in MODULES
        for listed in re.findall(r"(?ms)^Covers: (.*)\.\Z", ast.get_docstring(ast.parse(path.read_text())))
        for name in listed.replace("\n", " ").split(", ")
    }
    sources = {
        ".".join(path.relative_to(SOURCES).with_suffix("").parts): path
        for path in SOURCES.rglob("*.py")
        if not path.name.startswith("_")
    }
    named = {
        name
        for name, path in sources.items()
        for test in (TESTS / path.relative_to(SOURCES).parts[0] if "." in name else TESTS).glob("test_*.py")
        if is_named_after(test.stem, [path.stem], name.split(".")[0])
    }
    assert sorted(set(sources) - named - covered) == []
    assert sorted(covered - set(sources)) == []
    assert sorted(covered & named) == []


def test_no_test_module_is_long_and_no_two_have_one_name():
    assert len({path.name for path in MODULES}) == len(MODULES)
    assert {path.name: count for path in MODULES if (count := len(path.read_text().splitlines())) > LONGEST} == {}


def test_the_sources_are_within_their_budget():
    """More is a line in budget.toml, with its reason beside it; less lowers the number there."""
    found, allowed = measure(), budget()
    lines, bounds = found.pop("net_lines"), allowed.pop("net_lines")
    assert {name: count for name, count in lines.items() if count > bounds.get(name, 0)} == {}
    assert {name: count for name, count in found.items() if count > allowed[name]} == {}
