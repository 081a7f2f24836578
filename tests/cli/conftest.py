"""A folder with tables, and the command itself."""

import pytest
from cli_tables import APART, FAST, houses
from click.testing import CliRunner

from mercer.cli.commands import cli


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "houses.csv").write_text(houses())
    (tmp_path / "new.csv").write_text(houses(8, seed=1))
    return tmp_path


@pytest.fixture
def run(folder):
    def run(*words, given=None, code=0):
        result = CliRunner(**APART).invoke(cli, [str(word) for word in words], input=given, prog_name="mercer")
        assert result.exit_code == code, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert "Traceback" not in result.output
        return result

    return run


_FILES: dict[str, bytes] = {}


@pytest.fixture
def houses_model(run, folder):
    """The file model.mercer of houses.csv, fitted once in a session."""
    path = folder / "model.mercer"
    if not _FILES:
        run("fit", "houses.csv", "--target", "price", *FAST)
        _FILES[path.name] = path.read_bytes()
    path.write_bytes(_FILES[path.name])
    return path
