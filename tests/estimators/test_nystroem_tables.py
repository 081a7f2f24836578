"""Estimators on landmarks fitted to files of mixed columns, which they encode as the command line does.

Covers: estimators.nystroem_base, tables.encoding.
"""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import NystroemRidge, NystroemRidgeClassifier, NystroemRidgeClassifierCV, NystroemRidgeCV
from mercer.cli.job import Job
from mercer.cli.preparing import Prepared
from mercer.errors import LeftOutWarning
from mercer.kernels import Gaussian
from refusals import refusal, tells

CLASSIFIERS = [NystroemRidgeClassifier, NystroemRidgeClassifierCV]
WAYS = ["table.csv", "table.parquet", "long.parquet", "parts"]


def frame(rng, n=600):
    table = pd.DataFrame(
        {
            "size": 1000 * rng.gamma(2.0, 4.0, n),
            "town": rng.choice(["Rome", "Bonn", "Oslo"], n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D"),
            "same": 1.0,
            "share": rng.uniform(0.5, 2.0, n),
            "owner": rng.integers(0, 90, n),
        }
    )
    table["price"] = table["size"] / 1000 + 3 * (table["town"] == "Rome") + 0.1 * rng.normal(size=n)
    return table


@pytest.fixture
def table(rng, tmp_path, monkeypatch):
    """One table in a CSV file, a Parquet file, one that is read in passes, and a directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mercer.tables.parquet._AT_ONCE", 170)
    monkeypatch.setattr("mercer.tables.encoding.LONG", 600)
    made = frame(rng)
    made.to_csv("table.csv", index=False)
    made.to_parquet("table.parquet")
    twice = pd.concat([made, made], ignore_index=True)
    twice.to_parquet("long.parquet", row_group_size=500)
    (tmp_path / "parts").mkdir()
    made[:250].to_parquet("parts/a.parquet")
    made[250:].to_parquet("parts/b.parquet")
    return made


def search(**how):
    return NystroemRidgeCV(Gaussian(2.0), [0.01, 1.0], cv=4, landmarks=60, fit_intercept=True, **how)


@pytest.mark.parametrize("path", WAYS)
def test_a_file_of_mixed_columns_is_encoded_scaled_and_predicted(table, path):
    model = search().fit(path, "price", sample_weight="share", groups="owner")
    assert model.feature_names_in_.tolist() == ["size", "town", "age", "day", "same"]
    assert model.n_features_in_ == 5
    assert {column.name: column.kind for column in model.encoder_.columns_}["same"] == "constant"
    assert model.score(table, table["price"]) > 0.9
    rows = 1200 if path == "long.parquet" else 600
    found = model.predict(path)
    assert found.shape == (rows,)
    assert np.array_equal(np.concatenate(list(model.predict_blocks(path))), found)
    np.testing.assert_allclose(model.predict(table), found[:600], rtol=1e-9)
    given = {name: table[name].tolist() for name in ("day", "age", "town", "size")}
    np.testing.assert_allclose(model.predict(given), found[:600], rtol=1e-9)
    assert model.explain(path, "price").seconds > 0


def test_the_encoding_is_that_of_the_command_line(table):
    kept = table.drop(columns=["share", "owner"])
    kept.to_parquet("kept.parquet")
    ours = search().fit("kept.parquet", "price")
    theirs = Prepared(Job("kept.parquet", "price"))
    assert ours.encoder_.columns_ == theirs.encoder.columns_
    assert ours.encoder_.settings == theirs.encoder.settings
    given = theirs.encoder.transform(theirs.features), theirs.y
    assert ours.best_score_ == search().fit(*given).best_score_


@pytest.mark.parametrize("path", ["table.csv", "table.parquet"])
@pytest.mark.parametrize("family", CLASSIFIERS)
def test_labels_are_those_of_the_file(table, path, family):
    for labels in (np.where(table["price"] > 8, "dear", "cheap"), (table["price"] > 8).astype(int)):
        made = table.drop(columns=["price", "share", "owner"]).assign(label=labels)
        made.to_csv("table.csv", index=False)
        made.to_parquet("table.parquet")
        model = family(landmarks=60, fit_intercept=True).fit(path, "label")
        assert model.classes_.tolist() == sorted(set(labels))
        assert model.score(path, labels) > 0.9
        assert model.decision_function(made).shape == (600,)


def test_several_targets_have_an_axis_of_their_own(table):
    model = NystroemRidge(0.1, landmarks=40).fit("table.csv", ["price", "share"])
    assert model.predict("table.csv").shape == (600, 2)


@pytest.mark.parametrize("path", ["table.csv", "long.parquet"])
def test_rows_that_are_added_are_encoded_as_the_first_ones(table, path):
    how = {"kernel": Gaussian(2.0), "fit_intercept": True}
    table[:300].to_csv("first.csv", index=False)
    table[300:].to_csv("second.csv", index=False)
    model = NystroemRidge(0.1, landmarks=60, fit_intercept=True).fit("first.csv", "price")
    landmarks = model.encoder_.transform(table[:300][list(model.feature_names_in_)])[:50]
    model = NystroemRidge(0.1, landmarks=landmarks, **how).partial_fit("first.csv", "price")
    encoder = model.encoder_
    model.partial_fit("second.csv", "price")
    assert model.encoder_ is encoder
    assert model.n_rows_ == 600
    X = encoder.transform(table[list(model.feature_names_in_)])
    whole = NystroemRidge(0.1, landmarks=landmarks, **how).fit(X, table["price"])
    np.testing.assert_allclose(model.predict(table), whole.predict(X), rtol=1e-6)
    rows = 1800 if path == "long.parquet" else 1200
    assert model.partial_fit(path, "price").n_rows_ == rows
    assert model.partial_fit(table[:100], table["price"][:100]).n_rows_ == rows + 100
    assert model.explain(X, table["price"]).seconds > 0


def test_landmarks_may_be_rows_of_the_table(table):
    model = NystroemRidge(0.1, landmarks=table[:30], fit_intercept=True).fit("table.csv", "price")
    given = model.encoder_.transform(table[:30][list(model.feature_names_in_)])
    assert np.array_equal(np.sort(model.landmarks_, axis=0), np.sort(given, axis=0))


@pytest.mark.parametrize("family", [NystroemRidge, NystroemRidgeCV])
def test_a_saved_model_keeps_its_encoder(table, family):
    model = family(landmarks=40).fit("table.parquet", "price", sample_weight="share")
    mercer.save(model, "model.mercer")
    again = mercer.load("model.mercer")
    assert type(again) is family
    assert np.array_equal(again.predict("table.csv"), model.predict("table.csv"))
    assert np.array_equal(again.predict(table), model.predict(table))


def test_tables_of_numbers_keep_their_route(table):
    numbers = table[["owner", "share", "price"]]
    numbers.to_parquet("numbers.parquet")
    model = search().fit("numbers.parquet", "price")
    assert not hasattr(model, "encoder_")
    assert model.best_score_ == search().fit(numbers[["owner", "share"]], numbers["price"]).best_score_
    assert not hasattr(model.fit("table.csv", "price").fit("numbers.parquet", "price"), "encoder_")


def test_missing_targets_columns_and_other_streams_are_refused(table):
    table.assign(price=table["price"].where(table.index != 7)).to_csv("gap.csv", index=False)
    assert tells(refusal(search().fit, "gap.csv", "price"), "'price'", "1 missing value", "line 9")
    assert tells(refusal(search().fit, "table.csv", "town"), "'town'", "number")
    assert tells(refusal(search().fit, "table.csv", "prize"), "'prize'", "table.csv", "'price'")
    assert tells(refusal(search().fit, "table.csv"), "y of NystroemRidgeCV", "None")
    table[["town", "price"]].assign(town="Rome").to_csv("none.csv", index=False)
    assert tells(refusal(search().fit, "none.csv", "price"), "none.csv", "'town'", "kinds")
    model = search().fit("table.csv", "price")
    assert tells(refusal(model.predict, table.drop(columns="town")), "'town'")
    table[["size"]].to_parquet("short.parquet")
    pd.concat([table[["size"]]] * 2).to_parquet("short_and_long.parquet")
    assert tells(refusal(model.predict, "short.parquet"), "'town'")
    assert tells(refusal(model.predict, "short_and_long.parquet"), "'town'", "short_and_long.parquet")
    assert tells(refusal(model.predict, lambda: iter([np.ones((2, 5))])), "X of NystroemRidge", "path")


def test_columns_that_are_nearly_numbers_are_warned_of(table):
    sizes = table["size"].round(3).astype(str)
    sizes[5] = "ask"
    table.assign(size=sizes).to_csv("odd.csv", index=False)
    with pytest.warns(LeftOutWarning, match=r"Column 'size' was left out.* 'ask' in line 7"):
        search().fit("odd.csv", "price")
