"""`mercer score`, and what `mercer predict` says of rows with a known target."""

import json

import numpy as np
import pytest
from cli_tables import FAST
from sklearn import metrics
from written_tables import written

from mercer import load
from refusals import tells


@pytest.fixture
def sold(folder):
    rng = np.random.default_rng(3)

    def table(name, n):
        size, town = rng.normal(100, 20, size=n).round(1), rng.choice(["Rome", "Bonn"], size=n)
        price = (3 * size + 50 * (town == "Rome") + rng.normal(0, 20, size=n)).round(1)
        dear = np.where(price + rng.normal(0, 30, size=n) > 320, "yes", "no")
        written(folder, name, {"size": size, "town": town, "price": price, "dear": dear})

    table("train.csv", 60)
    table("test.csv", 50)
    return folder


def columns(path):
    header, *lines = path.read_text().splitlines()
    return dict(
        zip(header.split(","), map(np.array, zip(*(line.split(",") for line in lines), strict=True)), strict=True)
    )


def test_errors_of_numbers_are_those_of_scikit_learn(run, sold):
    run("fit", "train.csv", "--target", "price", "--drop", "dear", *FAST)
    found = json.loads(run("score", "model.mercer", "test.csv", "--drop", "dear", "--group", "town", "--json").stdout)
    run("predict", "model.mercer", "test.csv", "--drop", "dear", "--interval", "0.9", "--out", "p.csv")
    y, got = columns(sold / "test.csv")["price"].astype(float), columns(sold / "p.csv")
    p, lower, upper = (got[name].astype(float) for name in ("prediction", "lower", "upper"))
    value = {name: each["value"] for name, each in found["measures"].items()}
    assert value["root mean squared error"] == pytest.approx(metrics.root_mean_squared_error(y, p))
    assert value["mean absolute error"] == pytest.approx(metrics.mean_absolute_error(y, p))
    assert value["R2"] == pytest.approx(metrics.r2_score(y, p))
    assert value["% inside the 90 % intervals"] == pytest.approx(100 * np.mean((lower <= y) & (y <= upper)))
    by_town = {each["group"]: each for each in found["tables"]["Per group"]}
    rome = columns(sold / "test.csv")["town"] == "Rome"
    assert by_town["Rome"]["root mean squared error"] == pytest.approx(np.sqrt(np.mean((p - y)[rome] ** 2)))
    assert by_town["Rome"]["rows"] + by_town["Bonn"]["rows"] == found["rows"] == 50


def test_errors_of_labels_are_those_of_scikit_learn(run, sold):
    run("fit", "train.csv", "--target", "dear", "--drop", "price", *FAST)
    found = json.loads(run("score", "model.mercer", "test.csv", "--drop", "price", "--json").stdout)
    run("predict", "model.mercer", "test.csv", "--drop", "price", "--out", "p.csv")
    y, got = columns(sold / "test.csv")["dear"], columns(sold / "p.csv")
    yes = got["probability_yes"].astype(float)
    value = {name: each["value"] for name, each in found["measures"].items()}
    assert value["% wrong"] == pytest.approx(100 * np.mean(got["prediction"] != y))
    assert value["log loss"] == pytest.approx(metrics.log_loss(y == "yes", yes))
    assert value["Brier score"] == pytest.approx(metrics.brier_score_loss(y == "yes", yes))
    assert value["AUC of yes"] == pytest.approx(metrics.roc_auc_score(y == "yes", yes))
    per = {each["class"]: each for each in found["tables"]["Per class"]}
    own, named = y == "yes", got["prediction"] == "yes"
    assert per["yes"]["recall %"] == pytest.approx(100 * metrics.recall_score(own, named))
    assert per["yes"]["precision %"] == pytest.approx(100 * metrics.precision_score(own, named))
    said = run("score", "model.mercer", "test.csv", "--drop", "price").stdout
    assert "50 of 50 rows have a known dear" in said
    assert "Expected when it was fitted: " in said
    assert "Calibration (probability of the predicted class" in said


def test_predict_tells_the_error_where_the_target_is_known_and_is_quiet_where_it_is_not(run, sold):
    run("fit", "train.csv", "--target", "price", "--drop", "dear", "--out", "m.mercer")
    said = run("predict", "m.mercer", "test.csv", "--drop", "dear", "--interval", "0.9", "--out", "p.csv").stderr
    assert "50 rows have a known price:" in said
    assert "90 % intervals held " in said
    text = (sold / "test.csv").read_text().splitlines()
    (sold / "new.csv").write_text("\n".join(line.rsplit(",", 2)[0] for line in text))
    assert "known" not in run("predict", "m.mercer", "new.csv", "--out", "p.csv").stderr
    (sold / "odd.csv").write_text("size,town,price\n100,Rome,unknown\n")
    assert "known price" not in run("predict", "m.mercer", "odd.csv", "--out", "p.csv").stderr
    said = run("score", "m.mercer", "odd.csv", code=2).stderr
    assert "Column 'price' must be numbers; got 'unknown' in line 2 of odd.csv." in said
    (sold / "empty.csv").write_text("size,town,price\n100,Rome,\n")
    assert "there is nothing to compare with" in run("score", "m.mercer", "empty.csv", code=2).stderr


def test_short_intervals_are_warned_of(run, sold):
    from dataclasses import replace

    from mercer import save

    run("fit", "train.csv", "--target", "price", "--drop", "dear", "--out", "m.mercer")
    model = load("m.mercer")
    held = model.facts["intervals"]["held"]
    assert held == pytest.approx(model.model.share_inside(0.9), abs=0.03)  # sizes of residuals are fitted again
    assert 0.8 < held <= 1
    save(replace(model, facts=model.facts | {"intervals": {"confidence": 0.9, "held": 0.46}}), "short.mercer")
    said = run("predict", "short.mercer", "test.csv", "--drop", "dear", "--interval", "0.9", "--out", "p.csv").stderr
    assert "90 % intervals held 46 % of the rows that were held out in training. Expect those of new rows" in said


def test_standard_errors_of_groups_take_their_rows_as_dependent(run, sold):
    run("fit", "train.csv", "--target", "price", "--drop", "dear", *FAST)
    by_row, by_town = (
        json.loads(run("score", "model.mercer", "test.csv", "--drop", "dear", *more, "--json").stdout)["measures"]
        for more in ((), ("--group", "town"))
    )
    for name in ("root mean squared error", "mean absolute error"):
        assert by_row[name]["value"] == by_town[name]["value"]
        assert by_row[name]["standard_error"] <= by_town[name]["standard_error"]


def test_labels_that_training_did_not_have_count_as_wrong(run, sold):
    run("fit", "train.csv", "--target", "dear", "--drop", "price", *FAST)
    (sold / "new.csv").write_text("size,town,dear\n10,Bonn,no\n10,Bonn,perhaps\n")
    said = run("score", "model.mercer", "new.csv").stdout
    assert "Labels that training did not have count as wrong: 'perhaps'." in said
    assert "% wrong      50" in said


def test_labels_and_targets_may_be_written_in_another_way(run, folder):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60).round(3)
    written(folder, "ones.csv", {"x": x, "z": rng.normal(size=60).round(3), "y": (x > 0).astype(int)})
    run("fit", "ones.csv", "--target", "y", *FAST)
    (folder / "new.csv").write_text("x,z,y\n2.0,0,1.0\n-2.0,0,0.0\n")
    found = json.loads(run("score", "model.mercer", "new.csv", "--json").stdout)
    assert found["measures"]["% wrong"]["value"] == 0
    (folder / "new.csv").write_text("x,z,y\n2.0,0,yes\n")
    said = run("score", "model.mercer", "new.csv", code=2).stderr
    assert "Column 'y' must be labels of the model, such as '0'; got 'yes'." in said
    weights = [f"{50 + 3 * v:.2f} kg" for v in x]
    written(folder, "kg.csv", {"x": x, "z": rng.normal(size=60).round(3), "w": weights})
    said = run("fit", "kg.csv", "--target", "w", *FAST, code=2).stderr
    assert tells(said, "'model.mercer'", "another table", "'y'", "'x', 'z'")
    run("fit", "kg.csv", "--target", "w", "--force", *FAST)
    (folder / "new.csv").write_text("x,z,w\n1.0,0,110 lb\n")
    assert "must be numbers with 'kg' after them" in run("score", "model.mercer", "new.csv", code=2).stderr


def test_the_confidence_is_that_of_the_intervals(run, sold):
    run("fit", "train.csv", "--target", "price", "--drop", "dear", *FAST)
    said = run("predict", "model.mercer", "test.csv", "--drop", "dear", "--interval", "0.5", "--out", "p.csv").stderr
    assert "% inside the 50 % intervals" in said


@pytest.mark.parametrize("beside", [("--drop", "day"), ("--id", "day"), ()])
def test_time_may_be_a_column_that_is_not_learned_from(run, folder, beside):
    rng = np.random.default_rng(0)
    days = [str(np.datetime64("2024-01-01") + i) for i in range(60)]
    x = rng.normal(size=60).round(3)
    written(folder, "t.csv", {"day": days, "x": x, "y": (x + 0.1 * rng.normal(size=60)).round(3)})
    said = run("fit", "t.csv", "--target", "y", "--time", "day", *beside).stdout
    assert "--time day: every fold is predicted from earlier rows" in said
    refused = run("fit", "t.csv", "--target", "y", "--time", "day", "--group", "x", code=2).stderr
    assert "--time and --group cannot be used together. Remove one of them." in refused
