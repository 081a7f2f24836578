"""Messy tables, as new users have them: read right, or refused with the way out."""

import json
import re

import numpy as np
import pytest
from cli_tables import APART
from click.testing import CliRunner
from messy_tables import CASES

import mercer
from mercer.cli import preparing
from mercer.cli.commands import cli
from mercer.tables.cells import texts_of


def first_cells(cells, expected):
    """The first cells of a column, written as the expected ones are."""
    codes, levels = texts_of(cells)
    for row, want in enumerate(expected):
        if cells.missing[row]:
            yield None
        elif isinstance(want, str) and cells.family == "date":
            yield str(np.datetime64(round(cells.values[row] * 1440), "m"))
        elif isinstance(want, str) or cells.family == "text":
            yield levels[codes[row]]
        else:
            yield pytest.approx(float(cells.values[row]), rel=1e-9, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_messy_table_is_read_right_or_refused_with_the_way_out(case, tmp_path, monkeypatch):
    seen, read_table = [], preparing.read_table
    monkeypatch.setattr(
        preparing, "read_table", lambda *given, **named: seen.append(read_table(*given, **named)) or seen[-1]
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(case.raw)
    words = ["fit", "t.csv", "--target", case.target, "--out", "m.mercer", *case.flags]
    result = CliRunner(**APART).invoke(cli, words, prog_name="mercer")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if result.exit_code:
        assert case.refused is not None, result.stderr
        assert re.search(case.refused, " ".join(result.stderr.split()))
        return
    assert case.refused is None or case.columns, "read, but it must be refused"
    kinds = {each["name"]: each["kind"] for each in mercer.load("m.mercer").facts["columns"]}
    for name, (kind, expected) in case.columns.items():
        cells = seen[-1].columns.get(name)
        assert (kinds.get(name) or cells.family) in kind.split("|"), name
        if cells is not None:
            assert list(first_cells(cells, expected)) == expected, name
    for pattern in case.said:
        assert re.search(pattern, result.stdout + result.stderr), pattern


def test_new_rows_are_read_in_the_format_of_training(tmp_path, monkeypatch):
    """Days, units and grouped numbers of a file to predict for mean what they meant in training."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    days, sizes = rng.integers(1, 29, size=40), rng.integers(1000, 9000, size=40)
    lines = [f'{d}.2.2020,"{s:,}.5 kg",{d + s / 1000:.3f}' for d, s in zip(days, sizes, strict=True)]
    (tmp_path / "t.csv").write_text("day,size,y\n" + "\n".join(lines) + "\n")
    run = CliRunner(**APART)
    fitted = run.invoke(cli, ["fit", "t.csv", "--target", "y"])
    assert fitted.exit_code == 0, fitted.output
    assert "Column 'day': read as dates, the day before the month." in fitted.stdout
    assert "Column 'size': read as numbers, 'kg' left out." in fitted.stdout
    (tmp_path / "new.csv").write_text('day,size\n3.2.2020,"5,000.5 kg"\n2020-02-03,"5,000.5 kg"\n')
    found = run.invoke(cli, ["predict", "model.mercer", "new.csv"])
    first, second = map(float, found.stdout.split()[1:])
    assert first == second == pytest.approx(8.0, abs=1.0)
    (tmp_path / "new.csv").write_text('day,size\n3.2.2020,"5,000.5 lb"\n')
    refused = run.invoke(cli, ["predict", "model.mercer", "new.csv"])
    assert refused.exit_code == 2
    said = "Column 'size' must be numbers with 'kg' after them, as in the training table; got '5,000.5 lb' in line 2"
    assert said in " ".join(refused.stderr.split())


@pytest.mark.slow
def test_a_column_with_odd_cells_is_warned_of_once_and_new_rows_follow(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sizes, prices = rng.integers(1, 25, size=60), rng.normal(10, 3, size=60).round(2).astype(str)
    prices[4] = "ask"
    codes = [f"{size}" for size in sizes]
    codes[7:9] = ["B7", "12-14"]
    lines = [f"{s},{p},{c},{s + 0.5}" for s, p, c in zip(sizes, prices, codes, strict=True)]
    (tmp_path / "t.csv").write_text("size,price,code,y\n" + "\n".join(lines) + "\n")
    run, words = CliRunner(**APART), ["t.csv", "--target", "y", "--as", "code=category"]
    for command in (["fit", *words, "--quiet"], ["fit", *words, "--kernel", "linear"], ["explain", *words]):
        said = run.invoke(cli, command).stderr
        assert said.count("Column 'price'") == 1
        assert re.search(r"(?m)^Warning: Column 'price' was left out: .*\(1 of 60\).*'ask' in line 6 of t.csv", said)
        refused = run.invoke(cli, [*command, "--strict"])
        assert refused.exit_code == 2
        assert "Column 'price' must be numbers" in refused.stderr
    told = json.loads(run.invoke(cli, ["fit", *words, "--json"]).stdout)
    assert sum("'price'" in warning for warning in told["warnings"]) == 1
    (tmp_path / "new.csv").write_text("size,price,code\n3,soon,B7\n3,9.5,12-14\n")
    found = run.invoke(cli, ["predict", "model.mercer", "new.csv"])
    assert found.exit_code == 0, found.output
    assert not re.search("price|code", found.stderr)
