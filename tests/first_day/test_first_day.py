"""What twelve people write on their first day, run as they wrote it."""

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")

HERE = Path(__file__).parent
SCRIPTS = sorted(path.name for path in HERE.glob("*.py") if not path.name.startswith("test_"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_first_day_goes_well(script, tmp_path, monkeypatch):
    """Each script runs to its end, writes nothing outside temporary folders, and needs no warning silenced."""
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    try:
        runpy.run_path(str(HERE / script), run_name="__main__")
    finally:
        plt.close("all")
    assert not list(tmp_path.iterdir())
