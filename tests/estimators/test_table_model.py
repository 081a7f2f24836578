"""A fitted model with the table it is for."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

import mercer
from mercer import AutoClassifier, AutoRegressor, KernelRidgeCV, TableEncoder
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


def test_a_model_of_a_table_is_an_estimator(tmp_path):
    table = {"size": np.linspace(0.0, 3.0, 40), "colour": ["red", "blue"] * 20}
    y = np.sin(table["size"]) + (np.array(table["colour"]) == "red")
    told = {"error": {"value": 0.1, "standard_error": 0.02}}
    model = TableModel(AutoRegressor(committee=False).fit(table, y), None, "price", facts=told)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert (loaded.error_, loaded.error_standard_error_) == (0.1, 0.02)
    assert loaded.score(table, y) > 0.99
    assert loaded.score(table, y) == model.model.score(table, y)
    assert list(mercer.marginal_effects(loaded).to_frame()["column"])[:1] == ["size"]
    labels = np.where(y > 1.0, "dear", "cheap")
    classifier = TableModel(AutoClassifier(committee=False).fit(table, labels), None, "price")
    assert classifier.classes_.tolist() == ["cheap", "dear"]


def test_columns_that_the_model_does_not_know_are_left_alone():
    model, more = searched(), TABLE | {"extra": list(range(len(PRICES)))}
    np.testing.assert_array_equal(model.predict(more), model.predict(TABLE))
    assert model.unknown_columns(more) == ["extra"]


def test_columns_that_are_missing_or_unknown_are_named():
    with pytest.raises(InputError, match=r"missing columns 'colour' and unknown columns 'colur'"):
        searched().predict({"size": [0.5], "colur": ["red"]})


def test_what_a_model_of_a_table_cannot_do_is_said_in_a_sentence():
    model = searched()
    assert not hasattr(model, "error_")
    for table, words in (
        ([[0.5, "red"]], "a data frame, or a dict"),
        ({"size": 0.5, "colour": "red"}, "a list of values"),
    ):
        with pytest.raises(InputError, match=words):
            model.predict(table)
