"""From a table to predictions with two commands."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from cli_tables import FAST, houses
from sklearn.pipeline import Pipeline

from mercer import load
from mercer.cli.job import Job
from mercer.cli.preparing import choose_model
from refusals import tells

pytestmark = pytest.mark.slow


def table_of(text):
    header, *rows = csv.reader(io.StringIO(text))
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def test_two_commands_take_a_table_to_predictions(run):
    said = run("fit", "houses.csv", "--target", "price", "--folds", "2").stdout
    assert said.startswith("houses.csv: 40 rows, 6 columns (comma between cells).\nTarget price: ")
    assert "Regression: its values are numbers, 39 distinct." in said
    assert "house    identifier, dropped" in said
    assert "Model: AutoRegressor (the default)" in said
    assert "(root mean squared error; outer cross-validation, 2 folds, all steps repeated in each)." in said
    assert "Baseline (predicting the mean): " in said
    assert "In units of price: half of the predictions are off by less than " in said
    assert said.endswith(" kB). Next: mercer predict model.mercer NEW_TABLE\n")
    answer = run("predict", "model.mercer", "new.csv", "--interval", "0.9")
    found = table_of(answer.stdout)
    assert list(found) == ["prediction", "lower", "upper"]
    truth = np.array(table_of(houses(8, seed=1))["price"], dtype=float)
    lower, middle, upper = (np.array(found[name], dtype=float) for name in ("lower", "prediction", "upper"))
    assert np.abs(middle - truth).mean() < 0.3 * np.abs(truth - truth.mean()).mean()
    assert (lower < middle).all()
    assert (middle < upper).all()


def test_a_search_is_fitted_where_settings_are_given_and_its_file_predicts_the_same(run, folder):
    import mercer
    from mercer import TableEncoder
    from mercer.tables.reading import read_table

    said = run("fit", "houses.csv", "--target", "price", "--id", "house", *FAST).stdout
    assert (
        "Model: KernelRidgeCV (because of --kernel and --alphas), Gaussian(width=3) with alpha 0.1, best of 2 "
        "candidates." in said
    )
    assert "nested cross-validation, 3-fold, shuffled" in said
    columns = dict(read_table("houses.csv").columns)
    y = columns.pop("price").values
    del columns["house"]
    encoder = TableEncoder().fit(columns)
    search = mercer.KernelRidgeCV([mercer.kernels.Gaussian(3)], [0.1, 1], cv=3, random_state=0, fit_intercept=True).fit(
        encoder.transform(columns), y
    )
    new = read_table("new.csv").columns
    new = {name: column for name, column in new.items() if name not in {"price", "house"}}
    expected = search.predict(encoder.transform(new))
    found = table_of(run("predict", "model.mercer", "new.csv").stdout)
    assert found["house"] == [f"h-{i:03d}" for i in range(8)]
    np.testing.assert_allclose(np.array(found["prediction"], dtype=float), expected, rtol=1e-10)
    pipeline = Pipeline([("encoder", TableEncoder()), ("search", search)])
    nested = mercer.nested_cross_validate(pipeline, columns, y, cv=3, inner=2, random_state=0)
    told = load("model.mercer").facts["error"]
    assert told["value"] == pytest.approx(np.sqrt(-nested.mean))


def test_classes_have_probabilities(run):
    result = run("fit", "houses.csv", "--target", "heating", *FAST, "--drop", "house")
    assert "Classification: its values are labels, 3 distinct." in result.stdout
    assert "share of wrong labels; nested cross-validation, stratified 3-fold, shuffled" in result.stdout
    found = table_of(run("predict", "model.mercer", "new.csv").stdout)
    assert list(found) == ["prediction", "probability_gas", "probability_heat pump", "probability_oil"]
    shares = np.array([found[name] for name in list(found)[1:]], dtype=float)
    np.testing.assert_allclose(shares.sum(axis=0), 1)
    said = run("predict", "model.mercer", "new.csv", "--interval", "0.9", code=2).stderr
    assert tells(said, "--interval", "classifier")


def test_two_numbers_are_classes_unless_told_otherwise(run, folder):
    (folder / "two.csv").write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    said = run("fit", "two.csv", "--target", "y", *FAST).stdout
    assert "Classification: its values are numbers, but only two distinct ones." in said
    assert table_of(run("predict", "model.mercer", "two.csv").stdout)["prediction"][0] in {"0", "1"}
    said = run("fit", "two.csv", "--target", "y", "--task", "regression", *FAST, "--force").stdout
    assert "Regression: set by --task." in said
    assert "The model is not shown to be better than the baseline" in said


def test_json_is_one_object_and_quiet_is_silent(run):
    result = run("fit", "houses.csv", "--target", "price", *FAST, "--json")
    found = json.loads(result.stdout)
    assert found["task"] == "regression"
    assert found["rows"] == 40
    assert found["model"]["kernel"] == "Gaussian(width=3)"
    assert found["error"]["value"] < found["error"]["baseline"]
    assert {column["name"]: column["kind"] for column in found["columns"]}["sold"] == "date"
    assert found["out"] == "model.mercer"
    assert run("fit", "houses.csv", "--target", "price", *FAST, "--quiet").output == ""


def test_settings_reach_the_search(run, folder):
    said = run(
        "fit", "houses.csv", "--target", "price", "--group", "town", "--weight", "size", "--rule", "one_se",
        "--kernel", "linear().on('heating') + gaussian(2).on(['sold', 'heating'])", "--alphas", "0.1 1",
        "--scoring", "r2", "--threads", "1", "--memory-limit", "1GB", "--time-budget", "100",
    ).stdout  # fmt: skip
    assert "(because of --kernel and --alphas and --rule and --scoring)" in said
    assert "--group town: 5 groups; rows of one group are in the same fold." in said
    assert "Linear().on([0, 1, 2]) + Gaussian(width=2).on([" in said
    assert "Out-of-sample score: " in said
    assert "(r2; nested cross-validation, grouped 5-fold" in said
    model = load("model.mercer")
    assert set(model.ignored) == {"town", "size"}
    assert model.model.rule == "one_se"
    kept = folder / "kept"
    args = ["--kernel", "gaussian(3)", "--kernel", "laplacian(3)", "--alphas", "1", "--folds", "3", "--repeats", "2"]
    run("fit", "houses.csv", "--target", "price", *args, "--checkpoint", kept)
    assert kept.exists()


def test_columns_are_what_they_are_said_to_be(run, folder):
    text = "code,note,x,y\n" + "".join(f"{i % 3},n{i % 4}m,{i * 0.5},{i % 3 + 0.1 * i}\n" for i in range(30))
    (folder / "t.csv").write_text(text)
    said = run("fit", "t.csv", "--target", "y", "--as", "code=category", "--as", "note=text", *FAST).stdout
    assert "code    category" in said
    assert "note    text            0  set by the user; 12 runs of three letters in two rows or more" in said
    assert load("model.mercer").kinds == {"code": "category", "note": "text", "x": "number"}
    run("predict", "model.mercer", "-", given="code,note,x\n1,n2m,2\n")
    auto = run("fit", "t.csv", "--target", "y", "--as", "code=category", "--as", "note=drop", "--folds", "2").stdout
    assert "code    category" in auto
    assert load("model.mercer").kinds == {"code": "category", "x": "number"}


def test_rows_with_gaps_are_marked_dropped_or_refused(run, folder):
    (folder / "gaps.csv").write_text("x,y\n" + "".join(f"{'' if i % 10 == 3 else i},{i * 1.5}\n" for i in range(30)))
    run("fit", "gaps.csv", "--target", "y", *FAST)
    said = run("fit", "gaps.csv", "--target", "y", "--missing", "drop", *FAST).stdout
    assert "gaps.csv: 30 rows, 27 of them used, 2 columns" in said
    assert "3 of 30 rows have missing values and were dropped." in said
    said = run("fit", "gaps.csv", "--target", "y", "--missing", "refuse", *FAST, code=2).stderr
    assert tells(said, "Column 'x'", "3 missing values", "line 5")
    said = run("fit", "gaps.csv", "--target", "x", *FAST, code=2).stderr
    assert said.startswith("mercer: Column 'x' has 3 missing values, the first in line 5 of gaps.csv.")


def test_predictions_go_to_files_of_every_kind(run, folder):
    from pyarrow import parquet

    run("fit", "houses.csv", "--target", "price", *FAST)
    printed = run("predict", "model.mercer", "new.csv", "--id", "town").stdout
    assert run("predict", "model.mercer", "-", "--id", "town", given=houses(8, seed=1)).stdout == printed
    for name in ("p.csv", "p.tsv", "p.parquet"):
        assert run("predict", "model.mercer", "new.csv", "--id", "town", "--out", name).stdout == ""
    assert (folder / "p.csv").read_text() == printed
    assert (folder / "p.tsv").read_text() == printed.replace(",", "\t")
    found = parquet.read_table("p.parquet").to_pydict()
    assert list(found) == ["town", "prediction"]
    assert [repr(value) for value in found["prediction"]] == table_of(printed)["prediction"]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_what_is_unlike_training_is_warned_of(run, houses_model):
    strange = "size,heating,sold,town\n900,coal,2020-02-01,A\n100,gas,,B\n"
    result = run("predict", "model.mercer", "-", given=strange)
    assert result.stderr == (
        "Warning: column 'size': 1 of 2 values outside the training range.\nWarning: column 'heating': 1 of 2 values "
        "in categories not seen in training ('coal').\nWarning: column 'sold': 1 of 2 values missing (never missing in "
        "training).\nPredictions for such rows are extrapolations.\n"
    )
    assert len(result.stdout.splitlines()) == 3


def test_a_table_that_does_not_fit_is_refused_by_name(run, houses_model):
    said = run("predict", "model.mercer", "-", given="size,heating,colour\n1,gas,red\n", code=2).stderr
    assert tells(said, "The table", "'sold'", "'town'")
    whole = "size,heating,sold,town,colour\n50,gas,2020-03-01,A,red\n"
    found = run("predict", "model.mercer", "-", given=whole)
    assert found.stdout.startswith("prediction\n")
    assert "Not used by the model: 'colour'." in found.stderr
    assert "colour" not in run("predict", "model.mercer", "-", "--drop", "colour", given=whole).stderr
    said = run("predict", "model.mercer", "-", given=whole.replace("50", "fifty"), code=2).stderr
    assert tells(said, "Column 'size'", "got 'fifty' in line 2 of standard input")


def test_of_many_rows_the_error_out_of_fold_is_told(run, folder):
    (folder / "many.csv").write_text(houses(401))
    said = run("fit", "many.csv", "--target", "price", "--time-budget", "0.5", "--id", "house").stdout
    assert "(root mean squared error; estimated out of fold: 3 folds, each tuned anew)." in said
    assert (
        "\nComputed once from all rows, held-out rows included: the encoding of the columns (means and standard "
        "deviations of numbers, medians and standard deviations of dates, levels of categories, which columns are "
        "dropped); the mean and standard deviation of the target.\n"
    ) in said
    assert "In units of price: half of the predictions are off by less than " in said


def test_what_matters_is_warned_of_on_stderr(run):
    search = ("--kernel", "gaussian(3)", "--alphas", "100,1000,10000", "--folds", "3")
    words = ("fit", "houses.csv", "--target", "price", *search)
    result = run(*words)
    assert tells(result.stderr, "Warning: The best candidate of KernelRidgeCV", "100")
    assert "Warning" not in result.stdout
    assert json.loads(run(*words, "--json").stdout)["warnings"][0].startswith(
        "The best candidate of KernelRidgeCV is on the edge of the grid"
    )


def test_automatic_classes(run, folder):
    lines = [f"{i},{'big' if i > 20 else 'small'}" for i in range(40)]
    (folder / "sizes.csv").write_text("\n".join(["size,kind", *lines]))
    said = run("fit", "sizes.csv", "--target", "kind", "--folds", "2").stdout
    assert "Model: AutoClassifier (the default), " in said
    assert "(share of wrong labels; outer cross-validation, 2 folds, all steps repeated in each)." in said
    assert " errors in 100 rows; the baseline makes " in said
    printed = run("predict", "model.mercer", "sizes.csv").stdout
    assert printed.startswith("prediction,probability_big,probability_small\n")


ALL_ROWS = "Computed once from all rows, held-out rows included: "
ENCODING = (
    "the encoding of the columns (means and standard deviations of numbers, medians and standard deviations of dates, "
    "fill values of missing values, levels of categories, which columns are dropped)"
)


def test_a_search_says_what_was_computed_from_all_rows(run, folder):
    """Nothing, unless kernels name columns of the table: encoder and ladders are made anew in every outer fold."""
    lines = (folder / "houses.csv").read_text().splitlines()
    gap = ["h-999,,gas,2020-05-05,A,250", *lines[1:]]
    (folder / "houses.csv").write_text("\n".join([lines[0], *gap]) + "\n")
    fit = ("fit", "houses.csv", "--target", "price")
    assert ALL_ROWS not in run(*fit, *FAST).stdout
    assert ALL_ROWS not in run("inspect", "model.mercer").stdout
    assert json.loads(run(*fit, "--kernel", "linear", "--folds", "3", "--json").stdout)["error"]["from_all_rows"] == ""
    on_size = ("--kernel", "gaussian(3).on('size')", "--folds", "3")
    said = run(*fit, *on_size, "--alphas", "1").stdout
    assert f"\n{ALL_ROWS}{ENCODING}.\n" in said
    assert f"\n{ALL_ROWS}{ENCODING}." in run("inspect", "model.mercer").stdout
    told = json.loads(run(*fit, *on_size, "--report", "r.html", "--json").stdout)
    assert told["error"]["from_all_rows"] == f"{ALL_ROWS}{ENCODING}; the candidate alphas."
    assert ALL_ROWS in (folder / "r.html").read_text()
    said = run(*fit, "--folds", "2", "--id", "house").stdout
    assert "outer cross-validation, 2 folds, all steps repeated in each" in said
    assert ALL_ROWS not in said


def test_the_logarithm_of_a_positive_target_is_offered_where_predictions_are_negative(run, folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.exp(1.2 * X[:, 0] + 0.5 * np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=300))
    lines = [f"{a:.3f},{b:.3f},{price:.3f}" for (a, b), price in zip(X, y, strict=True)]
    (folder / "prices.csv").write_text("a,b,price\n" + "\n".join(lines) + "\n")
    said = run("fit", "prices.csv", "--target", "price", "--loss", "squared").stderr
    assert "held-out predictions are negative, but every target is positive. --loss log fits the logarithm" in said
    result = run("fit", "prices.csv", "--target", "price", "--loss", "log")
    assert "AutoRegressor (the default; with --loss log)" in result.stdout
    assert "negative" not in result.stderr
    predicted = table_of(run("predict", "model.mercer", "prices.csv", "--interval", "0.9").stdout)
    assert min(float(each) for name in ("prediction", "lower") for each in predicted[name]) > 0
    refused = run("fit", "prices.csv", "--target", "price", "--loss", "log", "--kernel", "gaussian", code=2).stderr
    assert "--loss is not supported for KernelRidgeCV" in refused
    refused = run("explain", "prices.csv", "--target", "a", "--loss", "log", code=2).stderr
    assert "The target must be positive with loss='log'; got -" in refused


def test_copies_of_rows_are_told_by_every_model(run, folder):
    header, *lines = houses().splitlines()
    (folder / "thrice.csv").write_text("\n".join([header, *(lines * 3)]))
    said = run("fit", "thrice.csv", "--target", "price").stdout
    assert tells(said, "80 of 120 rows", "copies are kept in one fold")
    searched = run("fit", "thrice.csv", "--target", "price", *FAST).stderr
    assert tells(searched, "Warning:", "80 of 120 rows", "--group")
    assert "copies" not in run("fit", "thrice.csv", "--target", "price", *FAST, "--group", "house", "--force").stderr
    assert "copies" not in run("fit", "houses.csv", "--target", "price", *FAST, "--force").output


def test_important_columns_of_searches_are_told(run, folder):
    said = run("fit", "houses.csv", "--target", "price", *FAST).stdout
    assert tells(said, "Most important columns", "size (", "Written to")
    labels = run("fit", "houses.csv", "--target", "heating", "--drop", "house", *FAST, "--force").stdout
    assert tells(labels, "Most important columns", "price (")


def test_a_time_budget_that_automatic_models_cannot_keep_takes_landmarks():
    job = Job("table.csv", "y", time_budget=5.0)
    for task, name in (("regression", "NystroemRidgeCV"), ("classification", "NystroemRidgeClassifierCV")):
        assert choose_model(job, task, 20_000)[0] == name
    assert choose_model(job, "regression", 1000)[0] == "AutoRegressor"
    assert choose_model(replace(job, time_budget=900.0), "regression", 20_000)[0] == "AutoRegressor"
    assert choose_model(replace(job, rule="one_se"), "regression", 20_000)[0] == "KernelRidgeCV"


def test_another_loss_of_a_skewed_target_is_named_and_its_logarithm_not_tried(run, folder, rng):
    x = rng.uniform(size=(150, 3))
    y = np.exp(2.0 * x.sum(axis=1) + 0.3 * rng.normal(size=150))
    lines = [",".join(f"{cell:.4f}" for cell in row) for row in np.column_stack([x, y])]
    (folder / "skewed.csv").write_text("\n".join(["a,b,c,y", *lines]))
    said = run("fit", "skewed.csv", "--target", "y").stdout
    assert tells(said, "Gamma loss", "Out-of-sample error", "Written to")
    assert "--loss log" not in said
    assert "--loss log, which" not in run("fit", "skewed.csv", "--target", "y", "--loss", "log").stdout
    assert "--loss log" not in run("fit", "skewed.csv", "--target", "y", *FAST).stdout
