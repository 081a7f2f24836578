"""The numbers of a report against the same numbers worked out by hand.

Covers: report.refits, report.subject.
"""

import hashlib
import math
from inspect import cleandoc

import numpy as np
import pytest
from report_outcomes import predicting, replace, told
from report_tables import DOLLARS, HOSTILE, LABEL

import mercer
from mercer import TableEncoder
from mercer.errors import IllConditionedWarning, InputError
from mercer.estimators.auto_evaluation import ROWS, _lenders, some_rows
from mercer.estimators.table_model import TableModel
from mercer.kernels import Gaussian, Linear
from mercer.report.evaluation import ModelEvaluation, Reproduction, SpectrumFact
from mercer.report.facts import CommitteeChoice, Data, Origin, SearchChoice
from mercer.report.judging import (
    OTHERS,
    Calibration,
    _pool_rare_labels,
    chosen_by,
    held_out_of,
    judge,
    training_error,
)
from mercer.report.refits import coverages, fold_refits, influences, skill_alone
from mercer.report.subject import Subject
from refusals import tells

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]  # the reports are made once

PLAIN = {"cv": 5, "random_state": 0, "fit_intercept": True}


@pytest.fixture(scope="module")
def lines():
    """One column says everything, the other nothing."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(60, 2))
    y = 3.0 * Z[:, 0] + 0.5 * rng.normal(size=60)
    search = mercer.KernelRidgeCV([Linear().on([0]), Linear()], [1.0], **PLAIN).fit(Z, y)
    return Subject(search, Z, y, target="y")


# -- the table ------------------------------------------------------------------------------------


def test_the_table_is_counted(search_facts, searched):
    data, (_, table, y) = search_facts.data, searched
    gaps = int(np.isnan(table[DOLLARS]).sum())
    assert (data.rows, data.missing, data.copies, data.feature_count, data.ignored) == (60, gaps, 0, 4, ("house",))
    assert data.numbers == pytest.approx((y.min(), y.mean(), y.max(), y.std()))
    by_name = {column.name: column for column in data.columns}
    assert by_name[DOLLARS].missing == gaps
    assert by_name[DOLLARS].becomes == 2  # the number, and whether it was missing
    assert by_name["heating"].holds == "2 levels"
    size = table["size"]
    assert by_name["size"].holds == f"{size.min():.4g} to {size.max():.4g}"
    assert by_name["size"].extreme == pytest.approx(np.abs(size - size.mean()).max() / size.std())


def test_dates_have_a_range_too():
    days = np.datetime64("2021-03-01") + np.arange(30) * 9
    X = {"sold": days, "note": np.array(["a b c d"] * 30, dtype=object)}
    encoder = TableEncoder().fit(X)
    search = mercer.KernelRidgeCV([Linear()], [1.0], **PLAIN).fit(encoder.transform(X), np.arange(30.0))
    columns = Data(Subject(TableModel(search, encoder, "y"), X, np.arange(30.0), target=""), Origin()).columns
    assert columns[0].holds == "2021-03-01 to 2021-11-17"
    assert (columns[1].used, columns[1].holds) == (False, "")


def test_rows_that_repeat_others_are_counted(lines):
    Z = np.vstack([lines.Z, lines.Z[:3], lines.Z[:1]])
    assert Data(replace(lines, Z=Z, y=np.zeros(64)), Origin()).copies == 4


def test_labels_are_counted_with_the_most_common_first(label_facts, labelled):
    _, _, y = labelled
    assert label_facts.data.numbers is None
    assert dict(label_facts.data.counts) == {label: int((y == label).sum()) for label in ("cheap", LABEL, "dear")}
    counts = [count for _, count in label_facts.data.counts]
    assert counts == sorted(counts, reverse=True)


# -- the honest error -----------------------------------------------------------------------------


def test_the_error_of_a_search_is_the_root_of_its_nested_score(lines):
    nested = mercer.nested_cross_validate(lines.model, lines.Z, lines.y, cv=5, random_state=0)
    judged = judge(lines)
    assert judged.error == pytest.approx(math.sqrt(-nested.mean))
    assert judged.error_standard_error == pytest.approx(nested.standard_error / (2 * math.sqrt(-nested.mean)))
    chosen, how = chosen_by(lines, judged)
    assert chosen == pytest.approx(math.sqrt(-lines.model.best_score_))
    assert how == "cross-validation score of the best candidate, 5-fold, shuffled"
    assert judged.predicted == pytest.approx(nested.predictions[0])
    own = math.sqrt(np.mean((lines.model.predict(lines.Z) - lines.y) ** 2))
    assert training_error(lines, judged) == pytest.approx(own)
    means = [np.mean((lines.y[s.test] - lines.y[s.train].mean()) ** 2) for s in lines.model.folds_.splits]
    assert judged.baseline == pytest.approx(math.sqrt(np.mean(means)))
    assert judged.gain == pytest.approx(judged.baseline - judged.error)
    assert judged.useful
    assert judge(lines, nested).error == judged.error


def test_other_scores_stay_scores():
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(40, 1))
    y = Z[:, 0] + 0.1 * rng.normal(size=40)
    search = mercer.KernelRidgeCV([Linear()], [0.1], scoring="r2", **PLAIN).fit(Z, y)
    subject = Subject(search, Z, y, target="y")
    judged = judge(subject)
    assert (judged.measure.name, judged.measure.smaller_is_better, judged.measure.share) == ("r2", False, False)
    assert judged.gain == pytest.approx(judged.error - judged.baseline)
    assert judged.useful
    assert math.isnan(training_error(subject, judged))


def test_a_search_that_left_single_rows_out_is_judged_by_ten_folds(lines):
    search = mercer.KernelRidgeCV([Linear()], [1.0], fit_intercept=True).fit(lines.Z, lines.y)
    assert judge(replace(lines, model=search)).how == "nested cross-validation, 10-fold, shuffled"


def test_folds_that_are_no_partition_want_an_outer_loop_of_yours(lines):
    splits = [(np.arange(30), np.arange(30, 45)), (np.arange(45), np.arange(45, 60))]  # as of a time series
    search = mercer.KernelRidgeCV([Linear()], [1.0], cv=splits, fit_intercept=True).fit(lines.Z, lines.y)
    subject = replace(lines, model=search)
    with pytest.raises(InputError) as caught:
        judge(subject)
    assert tells(str(caught.value), "evaluation=", "5")
    nested = mercer.nested_cross_validate(search, lines.Z, lines.y, cv=splits, inner=4)
    judged = judge(subject, nested)
    assert judged.error == pytest.approx(math.sqrt(-nested.mean))
    assert np.isfinite(judged.predicted).sum() == 30


def test_the_outer_loop_of_an_automatic_model_is_taken_as_it_is(auto_facts, auto):
    model, _, _, evaluation = auto
    judged = auto_facts.outcome
    assert judged is evaluation
    assert judged.outer
    assert auto_facts.chosen_by == model.error_


def test_without_an_outer_loop_the_error_is_that_out_of_fold(auto, label_facts, labelled):
    model, table, y, _ = auto
    judged = judge(Subject(model, table, y, target="price"))
    assert (judged.error, judged.baseline, judged.outer) == (model.error_, model.baseline_, False)
    assert np.sqrt(np.mean((judged.predicted - y) ** 2)) == pytest.approx(model.error_)
    classifier, _, labels = labelled
    assert label_facts.outcome.error == classifier.error_
    assert np.mean(label_facts.outcome.predicted != labels) == pytest.approx(classifier.error_)


def test_an_outer_loop_of_another_kind_is_refused(lines, auto):
    model, table, y, evaluation = auto
    with pytest.raises(InputError) as caught:
        judge(lines, evaluation)
    assert tells(str(caught.value), "evaluation of a report", "got that of outer cross-validation")
    with pytest.raises(InputError, match="must be the result of evaluate, or None; got int"):
        judge(Subject(model, table, y, target="price"), 3)


# -- held-out predictions and labels --------------------------------------------------------------


def test_held_out_predictions_are_counted_by_hand():
    held = held_out_of(
        np.array([1.0, 2.0, 3.0, 4.0, 50.0, 9.0]), predicting(np.array([1.5, 2.5, 2.5, 3.5, 5.0, np.nan]))
    )
    assert held.rows.tolist() == [0, 1, 2, 3, 4]
    assert held.half == 0.5
    assert held.most == pytest.approx(np.quantile([0.5, 0.5, 0.5, 0.5, 45.0], 0.9))
    assert held.outliers == (4,)
    assert held.explained == pytest.approx(1 - (1.0 + 45.0**2) / np.sum((np.array([1, 2, 3, 4, 50]) - 12.0) ** 2))


def test_residuals_are_told_on_the_basis_of_the_error():
    y, predicted = np.array([1.0, 2.0, 3.0, 5.0]), np.array([2.0, 1.0, 4.0, 4.0])
    plain, corrected = held_out_of(y, predicting(predicted)), held_out_of(y, predicting(predicted, 0.5))
    assert (plain.half, corrected.half) == (1.0, 0.5)
    assert corrected.explained > plain.explained


def test_predictions_that_are_all_right_have_no_outliers():
    held = held_out_of(np.array([1.0, 2.0, 3.0]), predicting(np.array([1.0, 2.0, 3.0])))
    assert (held.outliers, held.explained, held.most) == ((), 1.0, 0.0)


def test_the_matrix_of_labels_counts_every_row(label_facts, labelled):
    model, _, y = labelled
    found = label_facts.labels
    said = label_facts.outcome.predicted
    by_hand = [[int(np.sum((y == a) & (said == b))) for b in model.classes_] for a in model.classes_]
    assert found.matrix.tolist() == by_hand
    for each in found.each:
        mine = y == each.label
        assert each.rows == int(mine.sum())
        assert each.found == pytest.approx(np.mean(said[mine] == each.label))
        assert each.right == pytest.approx(np.mean(y[said == each.label] == each.label))


def test_many_labels_are_pooled():
    matrix = np.diag(np.arange(1, 16))
    matrix[0, 14] = 5
    names, pooled = _pool_rare_labels(
        [f"l{k}" for k in range(15)], matrix, np.argsort(-matrix.sum(axis=1), kind="stable")
    )
    assert len(names) == 12
    assert names[-1] == OTHERS
    assert pooled.sum() == matrix.sum()


def test_probabilities_of_several_labels_are_those_of_the_one_that_is_said():
    sure = np.array([[0.6, 0.3, 0.1]] * 20)
    found = Calibration(sure, np.array([0] * 12 + [1] * 8), ["a", "b", "c"])
    assert found.of == "the predicted label"
    assert found.said == pytest.approx([0.6])  # equal probabilities are in one bin
    assert found.seen == pytest.approx([0.6])
    assert found.gap == pytest.approx(0.0)
    assert found.rows.tolist() == [20]
    sure = np.array([[0.6, 0.3, 0.1]] * 20 + [[0.1, 0.0, 0.9]] * 10)
    found = Calibration(sure, np.array([0] * 12 + [1] * 8 + [2] * 5 + [0] * 5), ["a", "b", "c"])
    assert (found.seen.tolist(), found.rows.tolist()) == ([0.6, 0.5], [20, 10])
    assert found.gap == pytest.approx(0.4 / 3)


def test_a_search_for_labels_has_them_too():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(50, 2))
    y = np.where(Z[:, 0] > 0, 1, 0)
    search = mercer.KernelRidgeClassifierCV([Linear()], [0.1, 1.0], **PLAIN)
    search.fit(Z, y)
    facts = ModelEvaluation(Subject(search, Z, y, target="sign"), None, Origin())
    assert facts.labels.calibration.of == "1"
    assert facts.labels.calibration.rows.sum() == 50
    assert facts.outcome.measure.share
    assert facts.influence[0].name == "x1"
    assert facts.coverage == ()


# -- columns --------------------------------------------------------------------------------------


def test_a_column_that_the_kernel_does_not_see_has_no_influence_at_all(lines):
    model = mercer.KernelRidgeCV([Linear().on([0])], [1.0], **PLAIN).fit(lines.Z, lines.y)
    subject = replace(lines, model=model)
    first, second = influences(subject, fold_refits(subject))
    assert (first.name, second.name) == ("x1", "x2")
    assert (second.rise, second.standard_error) == (0.0, 0.0)
    before = np.concatenate([each.predict(lines.Z[each.test]) - lines.y[each.test] for each in fold_refits(subject)])
    root = math.sqrt(np.mean(before**2))
    assert first.rise > 5 * root  # 3 x against a noise of 0.5
    assert first.rise > 5 * first.standard_error


def test_refits_have_not_seen_what_they_are_tried_on(lines):
    parts = [each.test for each in fold_refits(lines)]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(60))
    refit = fold_refits(lines)[0]
    train = np.setdiff1d(np.arange(60), refit.test)
    again = mercer.KernelRidge(1.0, kernel=lines.model.best_kernel_, fit_intercept=True)
    expected = again.fit(lines.Z[train], lines.y[train]).predict(lines.Z[refit.test])
    assert refit.predict(lines.Z[refit.test]) == pytest.approx(expected)


def test_groups_stay_together_in_refits(lines):
    groups = np.repeat(np.arange(12), 5)
    for each in fold_refits(replace(lines, groups=groups)):
        inside = set(groups[each.test])
        assert not inside & set(np.delete(groups, each.test))


def test_a_column_that_gives_the_target_away_explains_it_alone(lines, label_facts):
    given_away = replace(lines, Z=np.column_stack([lines.y, lines.Z[:, 1]]))
    assert skill_alone(given_away, 0) == pytest.approx(1.0)
    assert skill_alone(given_away, 1) < 0.3
    assert skill_alone(replace(lines, y=np.zeros(60)), 0) == 0.0
    alone = {each.name: each.alone for each in label_facts.influence}
    assert alone["size"] > 0.5 > alone[HOSTILE]


def test_few_rows_are_shuffled_too():
    Z = np.arange(7.0)[:, None]
    search = mercer.KernelRidgeCV([Gaussian(3.0)], [1e-6], cv=7, fit_intercept=True).fit(Z, Z[:, 0] ** 2)
    few = Subject(search, Z, Z[:, 0] ** 2, target="y")
    refits = fold_refits(few)
    lender = _lenders(refits, np.random.default_rng(0))
    assert sorted(lender) == list(range(7))
    assert (lender != np.arange(7)).all()
    assert influences(few, refits)[0].rise > 5.0


def test_many_rows_are_drawn_from(lines):
    many = replace(lines, y=np.zeros(ROWS + 7))
    rows = some_rows(len(many.y))
    assert len(np.unique(rows)) == ROWS
    assert np.array_equal(rows, some_rows(len(many.y)))


# -- intervals and the spectrum -------------------------------------------------------------------


def test_coverage_of_an_automatic_model_counts_the_outer_residuals(auto_facts, auto):
    model, table, y, evaluation = auto
    at = next(each for each in auto_facts.coverage if each.confidence == 0.9)
    lower, upper = model.predict_interval({name: column[:1] for name, column in table.items()}, 0.9)
    width = float(upper[0] - lower[0])
    assert float(at.width) == pytest.approx(width)
    assert float(at) == pytest.approx(np.mean(np.abs(evaluation.predictions - y) <= width / 2))


def test_coverage_of_a_search_counts_refits(lines):
    found, _, how = coverages(lines, fold_refits(lines), judge(lines))
    at = next(each for each in found if each.confidence == 0.9)
    parts = [each.models[0][1].coverage(lines.Z[each.test], lines.y[each.test], 0.9) for each in fold_refits(lines)]
    assert float(at) == pytest.approx(np.mean([part.share for part in parts]))
    assert "jackknife+" in how


def test_without_an_outer_loop_coverage_comes_from_refits(auto):
    model, table, y, _ = auto
    subject = Subject(model, table, y, target="price")
    found, _, how = coverages(subject, fold_refits(subject), judge(subject))
    assert found[0].rows == len(y)
    assert "the interval widths were computed from all rows" in how


@pytest.mark.parametrize("loss", ["squared", "log", None])
def test_intervals_by_size_of_the_prediction_show_noise_that_grows_with_the_target(loss, rng):
    X = rng.uniform(0.0, 3.0, size=(150, 1))
    y = np.exp(X[:, 0] + 0.4 * rng.normal(size=150))
    if loss is None:
        model = mercer.KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0], cv=5, random_state=0).fit(X, y)
    else:
        model = mercer.AutoRegressor(committee=False, loss=loss, time_budget=5.0).fit(X, y)
    subject = Subject(model, X, y, target="price")
    refits, judged = fold_refits(subject), judge(subject)
    found, by_size, _ = coverages(subject, refits, judged)
    at = next(each for each in found if each.confidence == 0.9)
    small, middle, large = by_size
    assert small.rows + middle.rows + large.rows == len(y)
    assert float(at) == pytest.approx(np.mean([float(each) for each in by_size]))
    assert float(at.width) == pytest.approx(np.mean([each.width for each in by_size]))
    said = " ".join(told("coverage", ModelEvaluation(subject, None, Origin())))
    assert tells(said, "smallest third", f"{100 * float(small):.0f}", "largest third")
    if loss is not None:  # widths follow the logarithm, or the size of the residuals
        assert small.width < middle.width < large.width
        assert float(large) > 0.8
        assert "logarithm" not in said
    else:
        assert float(small) > 0.95 > float(large) + 0.1
        assert "logarithm" in said


def test_degrees_of_freedom_are_the_sum_over_the_spectrum(lines):
    fact = SpectrumFact(lines)
    values = np.linalg.eigvalsh(lines.model.best_kernel_(lines.Z))
    assert fact.degrees == pytest.approx(np.sum(values / (values + lines.model.alpha_)), abs=1e-6)
    with pytest.warns(IllConditionedWarning):
        none = mercer.KernelRidgeCV([Gaussian(1.0)], [0.0], **PLAIN).fit(lines.Z, lines.y)
    assert SpectrumFact(replace(lines, model=none)).degrees is None


# -- doing it again -------------------------------------------------------------------------------


def test_the_digest_is_that_of_the_file(lines, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"x,y\n1,2\n")
    found = Reproduction(lines, Origin("table.csv", str(path)))
    assert found.digest == hashlib.sha256(b"x,y\n1,2\n").hexdigest()
    assert found.digest_of == "the file table.csv"
    assert found.seed == "0"


def test_without_a_file_the_digest_is_that_of_the_numbers(lines):
    one, other = (Reproduction(replace(lines, y=y), Origin()).digest for y in (lines.y, lines.y + 1))
    assert one != other
    assert len(one) == 64


# -- what is refused ------------------------------------------------------------------------------


def test_what_no_report_is_about_is_refused(lines):
    Z, y = lines.Z, lines.y
    with pytest.raises(InputError) as caught:
        Subject(mercer.NystroemRidge().fit(Z, y), Z, y, target="y")
    assert tells(str(caught.value), "The model of a report", "got NystroemRidge")
    with pytest.raises(InputError, match="one target per row; got shape"):
        Subject(lines.model, Z, np.column_stack([y, y]), target="y")
    with pytest.raises(InputError, match="the training data of the model; got 50 rows in X and 50 in y"):
        Subject(lines.model, Z[:50], y[:50], target="y")
    wanted = "a numeric table, or the table that .*, Pipeline or TableModel was fitted to; got list"
    with pytest.raises(InputError, match=wanted):
        Subject(lines.model, [["a", "b"]] * 60, y, target="y")


def test_folds_that_time_left_out_are_left_out(auto):
    model, table, y, evaluation = auto
    predictions = evaluation.predictions.copy()
    predictions[:, ::3] = np.nan
    cut = replace(evaluation, predictions=predictions)
    facts = ModelEvaluation(Subject(model, table, y, target="price"), cut, Origin())
    assert len(facts.held.rows) == 30
    assert facts.coverage[0].rows == 30


@pytest.mark.parametrize("described", [SearchChoice, CommitteeChoice])
def test_every_attribute_of_a_choice_is_followed_by_its_description(described):
    lines = cleandoc(described.__doc__).partition("Attributes\n----------\n")[2].splitlines()
    assert [line.startswith("    ") for line in lines] == [False, True] * (len(lines) // 2)
