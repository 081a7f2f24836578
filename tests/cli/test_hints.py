"""What the command line hints at beside a fit."""

import numpy as np
import pandas as pd
import pytest

from mercer.cli.hints import errors_with_logarithm, hints, log_hint
from mercer.cli.job import Job
from mercer.cli.preparing import Prepared
from refusals import tells

N = 120


@pytest.fixture
def table(rng):
    return pd.DataFrame({"dose": rng.uniform(size=N), "age": rng.integers(20, 70, N), "y": rng.normal(size=N)})


def prepared(table, folder, **said):
    table.to_csv(folder / "table.csv", index=False)
    return Prepared(Job(str(folder / "table.csv"), "y", **said))


def told(table, folder, **said):
    return hints(prepared(table, folder, **said))


def with_column(name, values, rng, effect=None):
    """A table with this column, rows in no order; `effect` is what the target gets from each value."""
    values = np.asarray(values)
    levels, place = np.unique(values, return_inverse=True)
    y = rng.normal(size=len(values)) + (0.0 if effect is None else effect(levels, rng)[place])
    columns = {name: values, "x": rng.normal(size=len(values)), "age": rng.integers(20, 70, len(values)), "y": y}
    return pd.DataFrame(columns).sample(frac=1.0, random_state=0)


def uneven(ids, rng):
    return np.repeat(ids, rng.integers(3, 25, len(ids)))


def own(levels, rng):
    return 2.0 * rng.normal(size=len(levels))


def smooth(levels, rng):
    return 2.0 * np.sin(np.linspace(0.0, 6.0, len(levels)))


def none(levels, rng):
    return np.zeros(len(levels))


SEVERAL_ROWS = {
    "whole numbers with uneven counts": ("patient", lambda rng: uneven(np.arange(1, 41), rng), none),
    "whole numbers without a name": ("v7", lambda rng: uneven(rng.permutation(9000)[:40] + 1000, rng), own),
    "consecutive numbers without a name": ("v7", lambda rng: np.repeat(np.arange(301, 341), 8), own),
    "few with many rows": ("patient", lambda rng: np.repeat(np.arange(8), 60), none),
    "a name in capitals": ("SubjectID", lambda rng: uneven(np.arange(30), rng), none),
    "texts with digits": ("who", lambda rng: np.repeat([f"p{i:02d}" for i in range(25)], 6), none),
    "few texts with a name": ("weather_station", lambda rng: np.repeat(list("abcdefgh"), 60), none),
    "texts of a panel": ("country", lambda rng: np.repeat([2 * chr(97 + i) for i in range(20)], 12), none),
}
NO_IDS = {
    "years": ("year", lambda rng: np.repeat(np.arange(1990, 2015), 8), own),
    "years, smooth": ("year", lambda rng: np.repeat(np.arange(1990, 2015), 8), smooth),
    "doses": ("dose", lambda rng: np.repeat(np.arange(15) * 10, 12), smooth),
    "doses without an effect": ("dose", lambda rng: np.repeat([1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233], 12), none),
    "doses in uneven steps": ("dose", lambda rng: np.repeat([1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233], 12), smooth),
    "hours": ("hour", lambda rng: np.repeat(np.arange(24), 10), smooth),
    "hours without an effect": ("hour", lambda rng: np.repeat(np.arange(24), 10), none),
    "ages of patients": ("patient_age", lambda rng: rng.integers(20, 70, 400), smooth),
    "months": ("month", lambda rng: np.repeat(np.arange(1, 13), 15), own),
    "cities": ("city", lambda rng: np.array(list("abcdefghijklmnop"))[rng.integers(16, size=300)], own),
    "numbers of units": ("sensor_1", lambda rng: rng.poisson(40, size=300), smooth),
}


@pytest.mark.parametrize("case", SEVERAL_ROWS)
def test_ids_with_several_rows_are_pointed_out_unless_groups_are_said(case, rng, tmp_path):
    name, values, effect = SEVERAL_ROWS[case]
    table = with_column(name, values(rng), rng, effect)
    (hint,) = told(table, tmp_path)
    assert tells(hint, f"{name} has {table[name].nunique()} values", f"--group {name}")
    assert told(table, tmp_path, group=name) == []


@pytest.mark.parametrize("case", NO_IDS)
def test_measured_quantities_and_categories_are_no_ids(case, rng, tmp_path):
    name, values, effect = NO_IDS[case]
    assert told(with_column(name, values(rng), rng, effect), tmp_path) == []


def test_a_missing_id_is_dropped_by_the_command_that_is_hinted_at(rng, tmp_path):
    table = with_column("who", np.repeat([f"p{i}" for i in range(25)], 6), rng)
    table.iloc[3, 0] = None
    (hint,) = told(table, tmp_path)
    assert tells(hint, "25 values", "--group who --missing drop")
    assert told(table, tmp_path, group="who", missing="drop") == []


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("customer", lambda rng: rng.permutation(90_000)[:N]), ("v7", lambda rng: 10_000 + rng.permutation(90_000)[:N])],
)
def test_whole_numbers_that_name_rows_are_pointed_out(name, numbers, table, rng, tmp_path):
    table[name] = numbers(rng)
    (hint,) = told(table, tmp_path)
    assert tells(hint, name, f"--id {name}")
    assert told(table, tmp_path, row_id=name) == []


def test_different_whole_numbers_that_tell_something_name_no_rows(table, rng, tmp_path):
    table["salary"] = (30_000 + 400 * table["age"] + rng.permutation(N)).astype(int)
    table["population"] = np.unique(np.exp(rng.normal(8.0, 2.0, 4 * N)).astype(int))[rng.permutation(2 * N)[:N]]
    assert told(table, tmp_path) == []


def test_an_ordinary_table_gets_no_hint(table, tmp_path):
    assert told(table, tmp_path) == []


def test_rows_in_the_order_of_a_date_are_pointed_out(table, tmp_path):
    table["when"] = pd.date_range("2020-01-01", periods=N).astype(str)
    (hint,) = told(table, tmp_path)
    assert "--time when" in hint
    assert told(table, tmp_path, time="when") == []
    assert told(table.sample(frac=1.0, random_state=0), tmp_path) == []


@pytest.mark.parametrize("years", [np.repeat(np.arange(2000, 2012), 10), np.arange(1890, 1890 + N)])
def test_rows_in_the_order_of_years_are_pointed_out(table, years, tmp_path):
    table["year"] = years
    (hint,) = told(table, tmp_path)
    assert "--time year" in hint
    assert told(table[::-1], tmp_path) == []
    table["year"] = np.repeat(np.arange(2000, 2008), 15)  # too few
    assert told(table, tmp_path) == []


@pytest.mark.parametrize(("code", "count"), [(-999, 5), (9999, 5), (-8, 2), (-88, 1), (-888, 3), (8888, 1)])
def test_codes_far_from_other_values_are_pointed_out(table, code, count, tmp_path):
    table.loc[: count - 1, "dose"] = code
    (hint,) = told(table, tmp_path)
    assert tells(hint, f"{code} occurs {f'{count} times' if count > 1 else 'once'} in dose", "empty these cells")
    table["dose"] = table["dose"].replace(code, 0.5)
    assert told(table, tmp_path) == []


def test_several_codes_and_many_columns_with_codes_are_told_together(table, tmp_path):
    table.loc[:2, "dose"], table.loc[3:4, "dose"] = -8, -9
    for name in "abcd":
        table[name] = table["dose"] + 1.0 * (table["dose"] > 0)
    *shown, more = told(table, tmp_path)
    assert len(shown) == 3
    assert tells(shown[0], "-8 occurs 3 times", "-9 occurs 2 times", "dose")
    assert tells(more, "2 more columns", "c", "d")


def test_codes_in_the_target_are_pointed_out(table, tmp_path):
    table.loc[7, "y"] = -999
    (hint,) = told(table, tmp_path)
    assert tells(hint, "-999 occurs once", "target y", "--missing-target drop")


def test_the_logarithm_of_a_skewed_target_is_hinted_at_where_it_lowers_the_error(table, rng, tmp_path):
    table["y"] = np.exp(3.0 * table["dose"] + 0.3 * rng.normal(size=N))
    skewed = prepared(table, tmp_path)
    plainly, by_log = errors_with_logarithm(skewed)
    assert by_log < plainly
    (hint,) = log_hint(skewed)
    assert tells(hint, "--loss", "log", f"{by_log:.3g}", f"{plainly:.3g}")


def test_no_logarithm_is_hinted_at_where_it_raises_the_error(table, rng, tmp_path):
    table["y"] = 1.0 + 20.0 * np.maximum(table["dose"] - 0.8, 0.0) + rng.uniform(0.0, 0.5, N)
    skewed = prepared(table, tmp_path)
    plainly, by_log = errors_with_logarithm(skewed)
    assert by_log > plainly
    assert log_hint(skewed) == []
    table["y"] -= 5.0
    assert log_hint(prepared(table, tmp_path)) == []
