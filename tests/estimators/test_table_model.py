"""A fitted model with the table it is for."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

import mercer
from mercer import AutoRegressor, KernelRidgeCV, TableEncoder
from mercer.errors import InputError
from mercer.estimators.table_model import TableModel

TABLE = {"size": np.linspace(0.0, 1.0, 24), "colour": np.array(["red", "blue", "green"] * 8)}
PRICES = 3.0 * TABLE["size"] + (TABLE["colour"] == "red")


def searched():
    encoder = TableEncoder().fit(TABLE)
    search = KernelRidgeCV("linear", [1e-3, 1e-2], fit_intercept=True).fit(encoder.transform(TABLE), PRICES)
    return TableModel(search, encoder, "price")


def test_its_pipeline_predicts_the_same_and_can_be_saved(tmp_path):
    model = searched()
    assert isinstance(model.pipeline, Pipeline)
    np.testing.assert_array_equal(model.pipeline.predict(TABLE), model.predict(TABLE))
    mercer.save(model.pipeline, tmp_path / "pipeline.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "pipeline.mercer").predict(TABLE), model.predict(TABLE))


def test_the_pipeline_of_an_automatic_model_is_that_model_alone():
    model = TableModel(AutoRegressor(committee=False).fit(TABLE, PRICES), None, "price")
    assert [name for name, _ in model.pipeline.steps] == ["model"]
    np.testing.assert_array_equal(model.pipeline.predict(TABLE), model.predict(TABLE))


def test_columns_that_are_missing_or_unknown_are_named():
    with pytest.raises(InputError, match=r"missing columns 'colour' and unknown columns 'colur'"):
        searched().predict({"size": [0.5], "colur": ["red"]})
