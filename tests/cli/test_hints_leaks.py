"""Columns that give the target away are warned of."""

import json

import numpy as np
import pytest
from cli_tables import FAST
from written_tables import written

from mercer.cli.hints import find_leaks
from mercer.cli.job import Job
from mercer.cli.preparing import Prepared
from mercer.selection.outcome import ROOT_MEAN_SQUARE, Outcome

POOR, PERFECT = (
    Outcome(ROOT_MEAN_SQUARE, "by hand", np.array([[-error]]), -error, 0.1, "by hand", base=-1.0)
    for error in (0.9, 0.001)
)


@pytest.fixture
def leaking(folder):
    rng = np.random.default_rng(0)
    size, price = rng.normal(size=40).round(3), rng.normal(size=40).round(3)
    written(folder, "leak.csv", {"size": size, "price with tax": (1.19 * price).round(3), "price": price})
    return folder


def test_a_column_made_from_the_target_is_warned_of(run, leaking):
    result = run("fit", "leak.csv", "--target", "price", *FAST)
    assert result.stderr.startswith(
        "Warning: Possible target leakage: column price with tax alone nearly determines price. Drop "
        "columns that were computed from price, or are known only after it: --drop 'price with tax'.\n"
    )
    told = json.loads(run("fit", "leak.csv", "--target", "price", *FAST, "--json").stdout)
    assert told["warnings"][0].startswith("Possible target leakage: column price with tax alone")
    without = run("fit", "leak.csv", "--target", "price", "--drop", "price with tax", *FAST)
    assert "away" not in without.stderr


def test_several_such_columns_are_named_together(leaking):
    rng = np.random.default_rng(1)
    y = rng.normal(size=30)
    written(leaking, "two.csv", {"a": 2 * y, "b": 3 * y, "y": y})
    said = find_leaks(Prepared(Job("two.csv", "y")), POOR)
    assert said[0].startswith("Possible target leakage: each of a and b alone nearly determines y.")
    assert said[0].endswith("--drop a --drop b.")


def test_labels_are_given_away_too_and_the_only_column_is_no_leak(leaking):
    code = np.arange(30) % 3
    labels = np.array(["red", "green", "blue"])[code]
    written(leaking, "labels.csv", {"code": code + 0.5, "x": np.arange(30) * 7 % 11, "y": labels})
    said = find_leaks(Prepared(Job("labels.csv", "y")), POOR)
    assert said[0].startswith("Possible target leakage: column code alone")
    assert find_leaks(Prepared(Job("labels.csv", "y", drop=("x",))), POOR) == []


def drawn(count, rows=60, seed=2):
    return np.random.default_rng(seed).uniform(1.0, 9.0, size=(count, rows)).round(3)


@pytest.mark.parametrize(
    ("made", "how"),
    [
        (lambda a, b, c: a + b, "y = a + b"),
        (lambda a, b, c: a - 2 * b + 7, "y = a - 2 b + 7"),
        (lambda a, b, c: (a * b).round(2), "y = a * b"),
        (lambda a, b, c: a / c**2, "y = a * c^-2"),
    ],
)
def test_a_formula_of_columns_is_found_with_its_columns_alone(folder, made, how):
    a, b, c = drawn(3)
    written(folder, "f.csv", {"a": a, "b": b, "c": c, "y": made(a, b, c)})
    (said,) = find_leaks(Prepared(Job("f.csv", "y")), POOR)
    assert f"y is computed from {'a and c' if 'c' in how else 'a and b'} ({how})" in said


def test_noise_and_honest_signals_are_no_leak(folder):
    a, b, c = drawn(3)
    noise = np.random.default_rng(5).normal(size=60)
    for y in (noise, a + b + 0.3 * noise, np.sin(a) * b):
        written(folder, "f.csv", {"a": a, "b": b, "c": c, "y": y})
        assert find_leaks(Prepared(Job("f.csv", "y")), POOR) == []


def test_a_model_that_explains_all_is_told(folder):
    a, b, c = drawn(3, rows=400)
    written(folder, "f.csv", {"a": a, "b": b, "c": c, "y": np.sin(a) + np.cos(b)})
    (said,) = find_leaks(Prepared(Job("f.csv", "y")), PERFECT)
    assert "the model explains more than 99.99 % of the variance of y. That is fine if y is a function" in said
