"""What is refused at the front door, with what takes such tables."""

import re

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelRidge, KernelRidgeCV, NystroemRidge
from mercer.errors import InputError
from refusals import refusal

Y = np.arange(6.0)
MODELS = [KernelRidge(), KernelRidgeCV("gaussian", [0.01, 0.1, 1.0, 1e4]), NystroemRidge()]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_texts_missing_values_and_labels_are_told_what_takes_them(model):
    name = type(model).__name__
    words = pd.DataFrame({"a": list("xyxyxy"), "b": Y})
    with pytest.raises(
        InputError, match=rf"X of {name} must be numbers; got the string 'x'.*TableEncoder.*AutoRegressor"
    ):
        model.fit(words, Y)
    gaps = np.array([[1.0], [np.nan], [2.0], [3.0], [4.0], [5.0]])
    with pytest.raises(InputError, match=rf"Input X contains NaN: X of {name} .*TableEncoder.*AutoRegressor"):
        model.fit(gaps, Y)
    for labels in (list("ababab"), np.array(list("ababab"), dtype=object)):
        with pytest.raises(
            InputError, match=rf"y of {name} must be numbers; got the label 'a'. For labels use \w+Cl"
        ) as caught:
            model.fit(Y[:, None], labels)
        assert hasattr(mercer, str(caught.value).split()[-1].rstrip("."))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
def test_rows_to_predict_are_told_too(model):
    model.fit(Y[:, None], Y)
    with pytest.raises(InputError, match="Input X contains NaN"):
        model.predict([[np.nan]])


WEIGHTED = ["KernelRidge", "KernelRidgeCV", "NystroemRidge", "NystroemRidgeCV", "AutoRegressor"]
WEIGHTED += [name.replace("Ridge", "RidgeClassifier") for name in WEIGHTED[:4]] + ["AutoClassifier"]


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_that_are_all_zero_are_refused_in_a_sentence_of_ours(name):
    X, y = np.arange(24.0)[:, None], np.arange(24) % 2
    for weights in (np.zeros(24), 0.0):
        message = refusal(getattr(mercer, name)().fit, X, y, sample_weight=weights)
        assert re.search(r"sample.weight.*; got (only zeros|only zero weights|0)\.$", message)


def test_numbers_in_strings_are_numbers():
    assert np.isfinite(KernelRidge().fit(Y[:, None], ["1", "2", "3", "4", "5", "6.5"]).predict(Y[:, None])).all()
