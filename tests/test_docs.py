"""The pages and the code agree: tests that are named exist, what is public is listed, the first lines run."""

import ast
import json
import re
import runpy
import tomllib
from datetime import date
from pathlib import Path

import pytest

import mercer
import mercer.errors

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.rst"))
DERIVATIONS = (ROOT / "docs" / "derivations.rst").read_text()
reference = runpy.run_path(str(ROOT / "docs" / "messages.py"))
MEMBER = re.compile(r"``(tests/[\w/]+\.py)``|``(test_\w+)``")


def named_tests(text):
    """Pairs of file and function; a function belongs to the file named before it."""
    file = None
    for found in MEMBER.finditer(text):
        if found[1]:
            file = found[1]
        elif file is not None:
            yield file, found[2]


def sections():
    """The numbered sections of the derivations: number and text."""
    parts = re.split(r"^(\d+)\. .*\n-+\n", DERIVATIONS, flags=re.MULTILINE)
    return [(int(number), text) for number, text in zip(parts[1::2], parts[2::2], strict=True)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_that_a_page_names_exists(page):
    text = page.read_text()
    for file in re.findall(r"``(tests/[\w/]+\.py)``", text):
        assert (ROOT / file).is_file(), f"{page.name} names {file}, which is not there"
    for file, name in named_tests(text):
        source = (ROOT / file).read_text()
        assert re.search(rf"^def {name}\(", source, re.MULTILINE), f"{page.name} names {name}, which is not in {file}"


def test_every_section_of_the_derivations_names_its_tests_and_none_is_missing():
    numbers = [number for number, _ in sections()]
    assert numbers == list(range(1, len(numbers) + 1))
    for number, text in sections():
        assert list(named_tests(text)), f"section {number} names no test"


def test_equations_are_numbered_one_after_the_other():
    numbered = [int(number) for number in re.findall(r"\\tag\{(\d+)\}", DERIVATIONS)]
    assert numbered == list(range(1, len(numbered) + 1))
    assert len(numbered) > 30


def test_sections_that_pages_point_to_exist():
    numbers = {number for number, _ in sections()}
    for page in PAGES:
        for first, last in re.findall(r"derivations`, sections? (\d+)(?: (?:to|and) (\d+))?", page.read_text()):
            assert {int(each) for each in (first, last) if each} <= numbers, f"{page.name} points to nothing"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_no_page_needs_anything_from_outside(page):
    assert not re.findall(r"https?://|\bwww\.", page.read_text())


def test_everything_public_is_in_the_reference():
    reference = (ROOT / "docs" / "api.rst").read_text()
    listed = set(re.findall(r"^   (\w+)$", reference, re.MULTILINE))
    modules = set(mercer._NAMES["mercer"].split())
    public = {*mercer.__all__, *mercer.displays.__all__, *mercer.kernels.__all__} - modules
    assert not public - listed
    errors = {
        name for name, value in vars(mercer.errors).items() if getattr(value, "__module__", "") == "mercer.errors"
    }
    told = set(re.findall(r"autoexception:: (\w+)", reference))
    assert {name for name in errors if name[0].isupper()} == told
    assert all(f"mercer.{name}\n--" in reference for name in modules)


def test_every_message_is_worded_as_the_snapshot_says():
    """After a change of wording: `make messages`, and look at what changed in git."""
    assert reference["snapshot"]() == (ROOT / "tests" / "golden" / "messages.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_reference_of_errors_lists_every_statement_that_raises_a_text():
    places = {(each.path, each.line) for each in reference["messages"]()}
    source, helpers = ROOT / "src" / "mercer", 36  # errors that a helper makes are listed where the helper makes them
    raised = [
        (str(path.relative_to(source)), node.exc.lineno)
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args
    ]
    assert len(raised) > 350
    assert len(set(raised) - places) < helpers


def test_the_readme_is_short_names_both_commands_and_links_to_files_that_exist():
    readme = (ROOT / "README.md").read_text()
    assert len(readme.split()) <= 700
    assert "`make demo`" in readme
    assert "`make test`" in readme
    links = re.findall(r"\]\(([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", readme)
    assert len(links) > 15
    for link in map("".join, links):
        assert (ROOT / link).exists(), f"README links to {link}, which is not there"


def test_readme_and_index_tell_the_same_story():
    readme, index = (ROOT / "README.md").read_text(), (ROOT / "docs" / "index.rst").read_text()
    tagline = re.search(r"\*\*(.*?)\.\*\*", readme, re.DOTALL)[1].replace("\n", " ")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert tagline == project["description"]
    assert f"**{tagline}.**" in index
    sessions = [re.findall(r"^(?:>>>|\.\.\.) .*$", text, re.MULTILINE) for text in (readme, index)]
    assert sessions[0] == sessions[1]
    for command in ("mercer demo", "mercer fit mercer-demo/houses.csv --target price"):
        assert command in readme
        assert command in (ROOT / "docs" / "tutorial.rst").read_text()


def test_figures_of_the_readme_are_those_that_its_script_stored():
    stored = json.loads((ROOT / "docs" / "_static" / "front.json").read_text())
    readme, index = (ROOT / "README.md").read_text(), (ROOT / "docs" / "index.rst").read_text()
    day = date.fromisoformat(stored["date"])
    for text in (readme, index):
        assert f"{stored['command']}" in text
        assert f"{day.day} {day:%B %Y}" in text.replace("\n", " ")
    (row,) = (line for line in readme.splitlines() if line.startswith("| error in the picture"))
    shown = [cell.strip() for cell in row.split("|")[2:6]]
    ratios = [stored["peers"][who]["error ratio"] for who in ("mercer", "KernelRidge", "Gaussian process", "CatBoost")]
    assert shown == [f"{ratio:.2f}" for ratio in ratios]
