"""A fitted model with the table it is for."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer import AutoClassifier, AutoRegressor, KernelRidgeClassifierCV, KernelRidgeCV, TableEncoder
from mercer.errors import InputError, UnfamiliarRowsWarning
from mercer.estimators.table_model import TableModel, without_rows
from refusals import refusal, tells

TABLE = {"size": np.linspace(0.0, 1.0, 24), "colour": np.array(["red", "blue", "green"] * 8)}
PRICES = 3.0 * TABLE["size"] + (TABLE["colour"] == "red")


def searched():
    encoder = TableEncoder().fit(TABLE)
    search = KernelRidgeCV("linear", [1e-3, 1e-2], fit_intercept=True).fit(encoder.transform(TABLE), PRICES)
    return TableModel(search, encoder, "price")


def auto():
    return TableModel(AutoRegressor(committee=False).fit(TABLE, PRICES), None, "price")


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


@pytest.mark.parametrize("make", [searched, lambda: replace(searched(), model=without_rows(searched().model)), auto])
def test_tools_of_scikit_learn_take_a_model_of_a_table(make):
    model, table = make(), pd.DataFrame(TABLE)
    check_is_fitted(model)
    assert is_regressor(model)
    assert not is_classifier(model)
    assert clone(model) is model
    importance = permutation_importance(model, table, PRICES, n_repeats=2, random_state=0).importances_mean
    assert importance[0] > importance[1] > 0
    assert partial_dependence(model, table, ["size"])["average"].shape == (1, 24)
    assert tells(refusal(model.fit, table, PRICES), "TableModel", "fitted")


def test_models_of_labels_are_classifiers(tmp_path):
    model = KernelRidgeClassifierCV("linear", [0.1], cv=3).fit(np.arange(20.0)[:, None], np.arange(20) > 9)
    mercer.save(model, tmp_path / "model.mercer", rows=False)
    loaded = mercer.load(tmp_path / "model.mercer")
    assert is_classifier(loaded)
    assert tells(refusal(loaded.fit, [[1.0]], [1]), "FeatureClassifier", "fitted")
    assert is_classifier(TableModel(AutoClassifier(committee=False).fit(TABLE, PRICES > 2.0), None, "price"))


@pytest.mark.parametrize("make", [searched, lambda: replace(searched(), model=without_rows(searched().model)), auto])
def test_rows_out_of_the_training_range_are_warned_of(make, recwarn):
    model = make()
    model.predict(TABLE)
    assert not recwarn.list
    with pytest.warns(UnfamiliarRowsWarning, match="'size'"):
        model.predict(TABLE | {"size": np.full(24, 1e5)})


def test_other_columns_of_a_table_are_not_learned_from_when_the_model_is_fitted_again():
    model, table = searched(), pd.DataFrame(TABLE)
    more = table.assign(price=PRICES, noise=np.arange(24.0) % 5)
    expected = mercer.permutation_test(model, table, PRICES, permutations=3).score
    assert mercer.permutation_test(model, more, PRICES, permutations=3).score == expected
    assert mercer.permutation_test(model, dict(more), PRICES, permutations=3).score == expected
    found = mercer.permutation_test(model, more, PRICES, permutations=3, columns="all")
    assert (found.names, found.score) == (["size", "colour"], expected)
    scores = mercer.cross_validate(model, table, PRICES, cv=4).scores
    np.testing.assert_array_equal(mercer.cross_validate(model, more, PRICES, cv=4).scores, scores)
    np.testing.assert_array_equal(mercer.nested_cross_validate(model, more, PRICES, cv=4).scores, scores)
    both = mercer.compare({"loaded": model, "pipeline": model.pipeline}, more, PRICES, cv=4)
    np.testing.assert_array_equal(both.scores[0], scores[0])
    moved = (mercer.influence(model, rows).predictions for rows in (more, table))
    np.testing.assert_array_equal(*moved)
    without_data = replace(model, model=without_rows(model.model))
    assert tells(refusal(mercer.cross_validate, without_data, more, PRICES), "FeatureRegressor", "fitted")


def test_columns_that_the_model_does_not_know_are_left_alone():
    model, more = searched(), TABLE | {"extra": list(range(len(PRICES)))}
    np.testing.assert_array_equal(model.predict(more), model.predict(TABLE))
    assert model.unknown_columns(more) == ["extra"]


def test_columns_that_are_missing_or_unknown_are_named():
    with pytest.raises(InputError, match=r"Missing columns: 'colour'. Columns that are not in the model: 'colur'"):
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
