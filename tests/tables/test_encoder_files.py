"""Encoders through files."""

import numpy as np
import pandas as pd
import pytest
from encoder_cases import mixed, through_file

from mercer import TableEncoder
from mercer.errors import InputError


def test_a_file_gives_the_same_encoder_back():
    table = mixed()
    table.loc[2, ["size", "city", "sold"]] = [np.nan, None, pd.NaT]
    encoder = TableEncoder(kinds={"rooms": "category"}, drop=["key"], decimal=",", thousands=".", strict=True)
    encoder = encoder.fit(table)
    again = through_file(encoder)
    assert again.columns_ == encoder.columns_
    assert again.settings == encoder.settings
    assert repr(again) == repr(encoder)
    assert np.array_equal(again.transform(table), encoder.transform(table))
    assert again.groups_.tolist() == encoder.groups_.tolist()
    assert again.texts_ == encoder.texts_
    with pytest.raises(InputError):
        again.transform(table.drop(columns="size"))
