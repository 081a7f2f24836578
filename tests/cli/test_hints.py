"""What the command line hints at before a fit."""

import numpy as np
import pandas as pd
import pytest

from mercer.cli.hints import hints
from mercer.cli.preparing import Said, prepare

N = 120


@pytest.fixture
def table(rng):
    return pd.DataFrame({"dose": rng.uniform(size=N), "age": rng.integers(20, 70, N), "y": rng.normal(size=N)})


def told(table, folder, *, log_target=False, **said):
    table.to_csv(folder / "table.csv", index=False)
    how = Said("y", **said)
    return hints(prepare(str(folder / "table.csv"), how), how, log_target=log_target)


def test_an_ordinary_table_gets_no_hint(table, tmp_path):
    assert told(table, tmp_path) == []


@pytest.mark.parametrize("ids", [[f"p{i}" for i in range(30)], list(range(100, 130))])
def test_ids_that_repeat_are_pointed_out_unless_groups_are_said(table, ids, tmp_path):
    table["person"] = np.repeat(ids, 4)
    (hint,) = told(table, tmp_path)
    assert "person has 30 values, about 4 rows each" in hint
    assert "--group person" in hint
    assert told(table, tmp_path, group="person") == []


def test_rows_in_the_order_of_a_date_are_pointed_out(table, tmp_path):
    table["when"] = pd.date_range("2020-01-01", periods=N).astype(str)
    (hint,) = told(table, tmp_path)
    assert "--time when" in hint
    assert told(table, tmp_path, time="when") == []
    assert told(table.sample(frac=1.0, random_state=0), tmp_path) == []


@pytest.mark.parametrize("code", [-999, 9999])
def test_codes_far_from_other_values_are_pointed_out(table, code, tmp_path):
    table.loc[:4, "dose"] = code
    (hint,) = told(table, tmp_path)
    assert f"{code} occurs 5 times in dose" in hint
    table.loc[1:4, "dose"] = 0.5
    assert told(table, tmp_path) == []


def test_a_skewed_positive_target_is_pointed_out(table, tmp_path):
    table["y"] = np.exp(2.0 * table["y"])
    (hint,) = told(table, tmp_path)
    assert "--log-target" in hint
    assert told(table, tmp_path, log_target=True) == []
