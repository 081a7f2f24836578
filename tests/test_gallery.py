"""The scripts of the gallery are what they say; `make docs` runs them all."""

import ast
import re
import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[1] / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.glob("*/plot_*.py"))
PUBLIC = {"mercer", "mercer.course", "mercer.data.samples", "mercer.displays", "mercer.errors", "mercer.kernels"}
OTHERS = {"itertools", "matplotlib", "numpy", "sklearn", "threadpoolctl", "time", "warnings"}
OUTSIDE = re.compile(r"https?:|www\.|/work|\bopen\(|np\.load|savefig|fetch_|urllib|requests")

every_script = pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")


def test_there_are_scripts_in_every_folder_and_each_folder_has_its_heading():
    folders = [folder for folder in GALLERY.iterdir() if folder.is_dir() and folder.name != "__pycache__"]
    assert len(SCRIPTS) >= 20
    assert {path.parent for path in SCRIPTS} == set(folders)
    for folder in (GALLERY, *folders):
        title, rule = (folder / "README.rst").read_text(encoding="utf-8").splitlines()[:2]
        assert title
        assert set(rule) <= {"=", "-"}


@every_script
def test_a_script_has_a_title_and_tells_what_is_seen(path):
    source = path.read_text(encoding="utf-8")
    lines = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    assert lines[1] == "=" * len(lines[0])
    assert len(lines[0]) > 15
    cells = re.findall(r"^# %%\n((?:#.*\n)+)", source, flags=re.MULTILINE)
    text = " ".join([*lines[2:], *cells])
    assert 5 <= len(re.findall(r"[.:?](?:\s|$)", text)) <= 60
    assert "plt." in source


@every_script
def test_a_script_uses_what_is_public_and_nothing_from_outside(path):
    source = path.read_text(encoding="utf-8")
    assert not OUTSIDE.search(source)
    for node in ast.walk(ast.parse(source)):
        modules = [node.module] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            assert module in PUBLIC or module.split(".")[0] in OTHERS


@every_script
def test_a_script_draws_from_a_fixed_seed(path):
    source = path.read_text(encoding="utf-8")
    assert "np.random." not in source.replace("np.random.default_rng(", "")
    assert all(seed.isdigit() for seed in re.findall(r"default_rng\((.*?)\)", source))


@pytest.mark.parametrize("name", ["2_kernels/plot_1_square_map.py", "2_kernels/plot_5_tutorial_exercise.py"])
def test_a_short_script_runs_from_end_to_end(name, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    try:
        runpy.run_path(str(GALLERY / name))
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert "100%" in capsys.readouterr().out or "exercise" in name
