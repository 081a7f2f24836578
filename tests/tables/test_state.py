"""An encoder as it is written, and states that are spoilt."""

import json

import numpy as np
import pandas as pd
import pytest
from encoder_cases import mixed

from mercer import TableEncoder
from mercer.errors import InputError
from refusals import refusal


# What it is written as
def test_the_state_gives_the_same_encoder_back():
    table = mixed()
    table.loc[2, ["size", "city", "sold"]] = [np.nan, None, pd.NaT]
    encoder = TableEncoder(kinds={"rooms": "category"}, drop=["key"], decimal=",", thousands=".", strict=True)
    encoder = encoder.fit(table)
    record, arrays = encoder.state()
    again = TableEncoder.from_state(json.loads(json.dumps(record)), arrays)
    assert again.columns_ == encoder.columns_
    assert again.settings == encoder.settings
    assert repr(again) == repr(encoder)
    assert np.array_equal(again.transform(table), encoder.transform(table))
    assert again.groups_.tolist() == encoder.groups_.tolist()
    assert again.texts_ == encoder.texts_
    with pytest.raises(InputError):
        again.transform(table.drop(columns="size"))


def test_spoilt_states_are_refused():
    encoder = TableEncoder().fit(mixed())
    for path, value in [
        (("columns", 0, "kind"), "magic"),
        (("columns", 0, "kind"), "category"),
        (("columns", 0, "outputs"), []),
        (("columns", 0, "outputs"), [1]),
        (("columns", 0, "name"), 3),
        (("columns", 0, "name"), "rooms"),
        (("columns", 0, "missing"), -1),
        (("columns", 0, "missing"), True),
        (("columns", 2, "levels"), ["Bonn", "Bonn", "Oslo"]),
        (("columns", 3, "levels"), ["a", "b"]),
        (("columns", 4, "weekdays"), [0, 1, 2, 3, 4, 5, 9]),
        (("columns", 2, "year"), True),
        (("columns", 1), "text"),
        (("columns",), []),
        (("columns",), None),
        (("named",), 1),
        (("kinds",), [["a", "magic"]]),
        (("decimal",), "x"),
        (("drop",), 3),
    ]:
        record, arrays = encoder.state()
        place = record
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert refusal(TableEncoder.from_state, record, arrays)
    record, arrays = encoder.state()
    for row in ([np.nan] * 5, [0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 2.0, 1.0]):
        spoilt = arrays["scales"].copy()
        spoilt[0] = row
        assert refusal(TableEncoder.from_state, record, {"scales": spoilt}).startswith(
            "The state of TableEncoder is invalid: a scale is not finite"
        )
    assert refusal(TableEncoder.from_state, record, {}).startswith(
        "The state of TableEncoder is invalid: a field is missing or has the wrong type"
    )
    assert refusal(TableEncoder.from_state, {}, arrays)
    assert refusal(TableEncoder.from_state, record, {"scales": arrays["scales"][:-1]})
