"""The table of rules in the docs is what happens, in a file and in a dict."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from mercer import TableEncoder
from mercer.errors import InputError, LeftOutWarning
from mercer.tables.reading import Rules, read_table

PAGE = Path(__file__).parents[2] / "docs" / "tables.rst"


def rules():
    """Every line of the docs' table that has an example: the words, the cells, and what they are taken for."""
    lines = PAGE.read_text().split("The kind of a column")[1].split(".. list-table::")[1]
    rows = re.findall(r"\n   \* - (.*)\n     - ``(.*)``\n     - (.*)", lines)
    return [pytest.param(cells.split("; "), taken, id=words[:40]) for words, cells, taken in rows]


def kind_of(taken):
    """The kind that a cell of the table ends with, or begins with, or "error"."""
    return "error" if taken.startswith("error") else taken.rpartition("here ")[2].partition(":")[0].strip("`")


def test_every_kind_has_an_example():
    taken = {kind_of(rule.values[1]) for rule in rules()}
    assert taken == {"constant", "category", "number", "date", "text", "identifier", "error"}
    assert len(rules()) == 21


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize(("cells", "taken"), rules())
def test_the_docs_say_what_a_column_is_taken_for(tmp_path, cells, taken, in_file, strict):
    cells = [cell.strip() for cell in cells]
    (tmp_path / "t.csv").write_text("a;n\n" + "".join(f"{cell};1\n" for cell in cells))

    def fit():
        table = {"a": cells, "n": [1] * len(cells)}
        table = read_table(str(tmp_path / "t.csv"), Rules(strict=strict)).columns if in_file else table
        return TableEncoder(strict=strict).fit(table)

    odd = "with a warning" in taken
    if taken.startswith("error") or (odd and strict):
        with pytest.raises(InputError, match=r"^Column 'a' (must be numbers|must be finite numbers|is ambiguous)"):
            fit()
        return
    with pytest.warns(LeftOutWarning) if odd and not in_file else nullcontext():
        encoder = fit()
    assert kind_of(taken) == encoder.columns_[0].kind
