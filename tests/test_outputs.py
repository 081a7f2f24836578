"""Outputs at bad places: written whole and read back the same, or refused in a sentence with nothing changed."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bad_outputs import tried
from mercer.cli.predicting import as_csv


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_an_output_is_what_was_meant_or_nothing_has_changed(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        with TemporaryDirectory() as folder:
            assert tried(rng, Path(folder)) in {"written", "refused"}


def test_a_cell_with_a_carriage_return_is_quoted():
    answer = {"id": np.array(["a\rb", 'c"d', "e,f", "g\nh", "i"]), "prediction": np.arange(5.0)}
    assert as_csv(answer) == 'id,prediction\n"a\rb",0.0\n"c""d",1.0\n"e,f",2.0\n"g\nh",3.0\ni,4.0\n'
    assert as_csv(answer, "\t").splitlines(keepends=False)[0] == "id\tprediction"
