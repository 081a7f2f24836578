"""A new table is read as the training table was: in its style of numbers, once, and within memory."""

import numpy as np
import pyarrow as pa
import pytest
from cli_tables import FAST
from pyarrow import parquet

import mercer
from mercer.tables.values import NumberStyle
from refusals import tells

POINT, COMMA = NumberStyle(), NumberStyle(",", ".")


def german(rows=20):
    return "x;y\n" + "".join(f"{1 + i // 10}.{100 * (i % 10):03d},50;{2 * i},25\n" for i in range(rows))


def english(rows=20):
    return "x;y\n" + "".join(f"{1000 + 100 * i}.50;{2 * i}.25\n" for i in range(rows))


def whole(rows=20):
    return "x;y\n" + "".join(f"{1000 + 100 * i};{7 * i % 40}\n" for i in range(rows))


@pytest.fixture
def fitted(run, folder):
    def fitted(text, *more):
        (folder / "t.csv").write_text(text)
        run("fit", "t.csv", "--target", "y", *FAST, "--quiet", *more)
        return mercer.load("model.mercer")

    return fitted


def prediction(run, cell, *more):
    return float(run("predict", "model.mercer", "-", *more, given=f"x\n{cell}\n").stdout.split()[1])


def refusal(run, cell):
    said = run("predict", "model.mercer", "-", given=f'x\n"{cell}"\n', code=2).stderr
    assert said.startswith("mercer: Column 'x' must be numbers with a decimal ")
    return said


def test_the_style_of_training_is_kept_and_read_by(run, fitted):
    model = fitted(german())
    assert model.style == COMMA
    assert prediction(run, "2.000") == pytest.approx(model.predict({"x": np.array([2000.0])})[0])
    assert prediction(run, "2.000") == prediction(run, '"2000,0"')
    assert tells(refusal(run, "2000.5"), "Column 'x'", "got '2000.5' in line 2 of standard input")
    assert prediction(run, "2000.5", "--decimal", ".") == prediction(run, '"2000,5"')


def test_a_table_with_commas_contradicts_a_model_with_points(run, fitted):
    assert fitted(english()).style == POINT
    for cell in ("2000,5", "2,000", "2.000,5"):
        assert tells(refusal(run, cell), "Column 'x'", f"got '{cell}' in line 2 of standard input")
    assert prediction(run, '"2,000"', "--decimal", ".") == prediction(run, "2000")


def test_a_style_that_was_said_is_kept(run, fitted):
    assert fitted(english(), "--decimal", ".").style == NumberStyle(".", ",")
    assert prediction(run, '"2,000.5"') == prediction(run, "2000.5")


def test_whole_numbers_tell_no_style_and_a_guess_is_told(run, fitted):
    assert fitted(whole()).style is None
    result = run("predict", "model.mercer", "-", given='x\n"2000,5"\n')
    assert result.stderr == "Numbers have decimal commas.\n"
    assert prediction(run, "2000.5") == float(result.stdout.split()[1])


def test_texts_of_parquet_are_read_in_the_style_of_training(run, fitted, folder):
    model = fitted(german())
    parquet.write_table(pa.table({"x": ["2.000", "1.500,5"]}), "new.parquet")
    found = list(map(float, run("predict", "model.mercer", "new.parquet").stdout.split()[1:]))
    assert found == pytest.approx(model.predict({"x": np.array([2000.0, 1500.5])}).tolist())
    (folder / "parts").mkdir()
    parquet.write_table(pa.table({"x": ["2.000", "1500.5"]}), "parts/a.parquet")
    said = run("predict", "model.mercer", "parts", code=2).stderr
    assert "as in the training table; got '1500.5' in row 2 of parts." in said


@pytest.mark.parametrize("style", [None, POINT, COMMA, NumberStyle(".", ","), NumberStyle(",", "'")])
@pytest.mark.slow
def test_a_style_survives_its_file(fitted, folder, style):
    from dataclasses import replace

    model = replace(fitted(whole()), style=style)
    mercer.save(model, "again.mercer")
    assert mercer.load("again.mercer").style == style
    assert (b"NumberStyle" in (folder / "again.mercer").read_bytes()) == (style is not None)
