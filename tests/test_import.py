"""Importing mercer is light, and every public name is there when it is asked for."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mercer

HEAVY = ("sklearn", "scipy.linalg", "scipy.sparse", "dask", "matplotlib", "pandas", "polars", "joblib")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603 - our own code


def test_importing_mercer_loads_nothing_heavy():
    loaded = run("import sys, mercer; print(*sys.modules)").split()
    assert [name for name in HEAVY if name in loaded] == []
    assert "mercer" in loaded


def test_kernels_alone_need_no_scikit_learn():
    loaded = run("import sys, mercer; mercer.kernels.Gaussian()([[1.0]]); print(*sys.modules)").split()
    assert [name for name in HEAVY if name in loaded] == []


@pytest.mark.parametrize("name", mercer.__all__)
def test_every_public_name_resolves(name):
    assert getattr(mercer, name) is getattr(mercer, name)
    assert name in dir(mercer)


@pytest.mark.slow
def test_names_resolve_in_a_fresh_interpreter_from_an_import_statement():
    names = ", ".join(mercer.__all__)
    assert run(f"from mercer import {names}; print(KernelRidge.__name__)").strip() == "KernelRidge"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError) as caught:
        _ = mercer.KernelRigde
    assert str(caught.value) == "module 'mercer' has no attribute 'KernelRigde'"


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert mercer.__version__ == version("mercer")


@pytest.mark.slow
def test_every_dependency_is_imported_and_has_a_floor():
    declared = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = declared["dependencies"] + [each for extra in declared["optional-dependencies"].values() for each in extra]
    names = [re.sub(r"\[.*?\]", "", each).split(">=") for each in wanted if not each.startswith("mercer")]
    assert [name for name, *floor in names if len(floor) != 1] == []
    found = set()
    for path in Path(mercer.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    modules = {"scikit-learn": "sklearn"}
    assert [name for name, *_ in names if modules.get(name, name) not in found] == []
