"""Columns that give the target away are warned of."""

import json

import numpy as np
import pytest
from cli_tables import FAST
from written_tables import written

from mercer.cli.leaks import given_away
from mercer.cli.preparing import Said, prepare


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
    said = given_away(prepare("two.csv", Said("y")), "y")
    assert said[0].startswith("Possible target leakage: each of a and b alone nearly determines y.")
    assert said[0].endswith("--drop a --drop b.")


def test_labels_are_given_away_too_and_the_only_column_is_no_leak(leaking):
    code = np.arange(30) % 3
    labels = np.array(["red", "green", "blue"])[code]
    written(leaking, "labels.csv", {"code": code + 0.5, "x": np.arange(30) * 7 % 11, "y": labels})
    assert given_away(prepare("labels.csv", Said("y")), "y")[0].startswith("Possible target leakage: column code alone")
    assert given_away(prepare("labels.csv", Said("y", drop=("x",))), "y") == []
