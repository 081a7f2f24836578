"""Sentences and worries, at the edges of what there is to say."""

import numpy as np
import pytest
from report_outcomes import replace, told, with_spectrum

import mercer
from mercer.insight.intervals import Coverage
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.report import words
from mercer.report.evaluation import ModelEvaluation
from mercer.report.facts import CommitteeChoice, Origin, _bound_names
from mercer.report.judging import LabelFact
from mercer.report.refits import ColumnImportance
from mercer.report.subject import Subject
from mercer.report.words import worries
from mercer.selection.outcome import ROOT_MEAN_SQUARE, WRONG, Measure
from mercer.tuning.committee import Member

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]  # the reports are made once


def titles(facts):
    return {worry.title: worry for worry in worries(facts)}


@pytest.fixture(scope="module")
def small():
    """One column, one kernel, few rows."""
    rng = np.random.default_rng(0)
    Z = rng.uniform(0.0, 6.0, size=(30, 1))
    y = np.sin(Z[:, 0]) + 0.1 * rng.normal(size=30)
    search = mercer.KernelRidgeCV([Gaussian(1.0)], [0.1], cv=5, random_state=0, fit_intercept=True).fit(Z, y)
    return ModelEvaluation(Subject(search, Z, y, target="height (m)"), None, Origin())


@pytest.fixture(scope="module")
def constant():
    """Predictions that are all the same: noise, and a penalty that leaves nothing."""
    rng = np.random.default_rng(1)
    Z, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    search = mercer.KernelRidgeCV([Linear()], [1e12], cv=5, random_state=0, fit_intercept=True).fit(Z, y)
    return ModelEvaluation(Subject(search, Z, y, target="y"), None, Origin())


def test_one_column_and_no_gap(small):
    said = told("summary", small, worries(small))
    assert said[0] == "This model predicts height (m), a number, from 1 column. It was fitted to 30 rows."
    assert said[1].startswith("Out-of-sample error (root mean squared error): 0.08612\u00a0±\u00a0")
    assert "Baseline (predicting the mean of height (m)): 0." in said[1]
    assert said[2].startswith("In units of height (m): half of the predictions are off by less than ")
    assert said[3] == "Most important columns: x1."
    assert said[4].startswith("90 % prediction intervals are 0.")
    assert told("table", small)[0] == "30 rows, 1 column without the target; no missing values."


def test_one_candidate_is_no_choice(small):
    assert told("selection", small) == [
        "One kernel and one alpha were given: Gaussian(width=1.0) with alpha 0.1. No selection was needed."
    ]


def test_constant_predictions_are_called_what_they_are(constant):
    said = told("summary", constant, worries(constant))
    assert "not shown to be better than the baseline" in said[1]
    assert not any("In units of" in line for line in said)
    assert said[-1] == "Check before use: not shown to be better than the baseline."
    assert "Not shown to be better than the baseline" in titles(constant)
    assert told("importance", constant)[-1] == "No significant importance: x2 and x1."


def test_the_table_is_described_with_its_gaps_and_what_was_set_aside(search_facts):
    said = told("table", search_facts)
    missing = search_facts.data.missing
    assert said[0] == f"60 rows, 4 columns without the target; {missing} missing values."
    assert said[1].startswith("The target, price (EUR), goes from ")
    assert said[2:] == ["Not used as features: house.", "Numbers have commas."]


def test_three_labels_are_counted_and_the_worst_is_named(label_facts):
    said = told("table", label_facts)[1]
    assert said.startswith("The target, class, has 3 labels: ")
    worst = min(label_facts.labels.each, key=lambda each: each.found)
    assert told("held_out", label_facts)[1].startswith(f"Label {worst.label} has the lowest recall: ")
    assert (
        "of the labels are wrong. Baseline (predicting the most common label): " in told("summary", label_facts, [])[1]
    )
    assert told("calibration", label_facts)[0].startswith("Held-out probabilities are ")
    assert told("coverage", label_facts) == []


def test_more_labels_than_a_sentence_holds():
    rng = np.random.default_rng(0)
    Z = np.repeat(np.arange(7.0), 8)[:, None] + 0.01 * rng.normal(size=(56, 1))
    y = np.repeat(list("abcdefg"), 8)
    search = mercer.KernelRidgeClassifierCV([Gaussian(0.5)], [0.1], cv=4, random_state=0).fit(Z, y)
    facts = ModelEvaluation(Subject(search, Z, y, target="y"), None, Origin())
    assert told("table", facts)[1].endswith("e (8) and 2 more.")
    assert facts.outcome.error == 0.0
    assert words.quantity(facts.outcome, 0.0) == "0.0 %"


def test_the_choice_of_a_search_says_how_close_it_was(search_facts):
    said = told("selection", search_facts)
    choice = search_facts.choice
    tried = f"{choice.kernels} kernels and 3 alphas were compared by neg_mean_squared_error (4-fold, shuffled). "
    assert said[0] == f"{tried}Selected (the best mean score): {choice.kernel} with alpha {choice.alpha}."
    assert said[-1].endswith("outer folds chose exactly this candidate.") or (
        said[-1] == "All 4 outer folds chose the same candidate."
    )
    same = replace(search_facts, choice=replace(choice, agreed=(4, 4), close=1))
    assert told("selection", same)[1:] == ["All 4 outer folds chose the same candidate."]
    other = replace(search_facts, choice=replace(choice, agreed=(0, 4), close=1))
    assert told("selection", other)[1].startswith(
        "None of 4 outer folds chose exactly this candidate; by the kind of kernel they chose: 4 Gaussian. "
    )
    alone = replace(search_facts, choice=replace(choice, agreed=(1, 1), close=1))
    assert told("selection", alone)[1:] == []


def test_the_choice_of_a_committee_says_who_votes(auto_facts):
    said = told("selection", auto_facts)
    assert isinstance(auto_facts.choice, CommitteeChoice)
    assert said[0].startswith("6 kernels were tuned by minimizing the error on held-out rows, of 45 rows; ")
    assert said[1].startswith("The best single kernel is ")


def outcome_with(facts, error, spread):
    return replace(facts.outcome, measure=ROOT_MEAN_SQUARE, mean=-error, standard_error=spread)


def test_estimates_run_from_the_naive_to_the_honest(search_facts, auto, auto_facts):
    found = words.estimates(search_facts)
    assert [each.quoted for each in found] == [False, False, True, False]
    assert [each.value for each in found][2] == search_facts.outcome.error
    assert found[2].worth == "Nested cross-validation, 4-fold, shuffled. Quote this number."
    plain = replace(auto_facts, outcome=replace(auto_facts.outcome, outer=False))
    assert [each.name for each in words.estimates(plain)] == [
        "Training rows", "Out-of-sample (estimated)", "Baseline (predicting the mean)",
    ]  # fmt: skip
    assert told("optimism", plain)[0].startswith("No outer cross-validation was run.")


@pytest.mark.parametrize(
    ("naive", "spread", "said"),
    [
        (3.0, 0.5, "The cross-validation error of the best candidate is too optimistic by 1."),
        (
            3.9,
            0.5,
            "The cross-validation error of the best candidate is too optimistic by 0.1, less than the standard error.",
        ),
        (4.0, 0.5, "The cross-validation error of the best candidate and the out-of-sample error agree."),
        (
            5.0,
            np.nan,
            (
                "The cross-validation error of the best candidate is larger than the out-of-sample error by 1: by "
                "chance, or because its training folds are smaller."
            ),
        ),
    ],
)
def test_optimism_is_told_with_its_sign(search_facts, naive, spread, said):
    judged = outcome_with(search_facts, 4.0, spread)
    assert told("optimism", replace(search_facts, outcome=judged, chosen_by=naive)) == [said]


def test_one_score_has_no_standard_error(search_facts):
    assert words.give_or_take(outcome_with(search_facts, 4.0, np.nan)) == ""
    assert words.give_or_take(outcome_with(search_facts, 4.0, 0.123)) == "\u00a0±\u00a00.12"


def test_scores_are_not_called_errors(search_facts):
    r2 = Measure.of("r2")
    judged = replace(search_facts.outcome, measure=r2, mean=0.9, base=0.0, standard_error=0.1)
    said = told("summary", replace(search_facts, outcome=judged), [])
    assert said[1].startswith("Out-of-sample score (r2): 0.9")
    assert said[1].endswith("Baseline (predicting the mean of price (EUR)): 0.")


def test_intervals_without_ends_are_called_so(search_facts):
    endless = replace(search_facts, coverage=(Coverage(1.0, np.inf, 0.9, "share found", 8),))
    assert (
        told("coverage", endless)[0]
        == "90 % prediction intervals contain 100 % of 8 held-out targets. They are infinite."
    )


def test_flexibility_is_told_with_and_without_a_penalty(auto_facts, search_facts):
    assert "the member with the largest weight. The model has " in told("spectrum", auto_facts)[0]
    assert told("spectrum", search_facts)[0].startswith("Kernel: the best candidate. The model has ")
    none = with_spectrum(search_facts, replace(search_facts.spectrum, degrees=None, rows=20))
    assert told("spectrum", none) == [
        "Kernel: the best candidate, on 20 rows drawn at random. With alpha = 0 no component is damped."
    ]
    assert told("spectrum", with_spectrum(none, None)) == ["All columns are constant, so there is no spectrum."]


def test_columns_that_were_not_tried_are_told(search_facts):
    few = replace(search_facts, influence=search_facts.influence[:2], tried_on=40)
    said = told("importance", few)
    assert "10 folds, with the kernel parameters fixed, on 40 sampled rows" in said[0]
    assert said[1] == "Only the 2 columns with the best single-column prediction were permuted (of 4)."
    assert told("importance", replace(few, influence=())) == ["No column is used."]
    dull = replace(few, influence=tuple(replace(each, rise=0.0) for each in few.influence))
    assert ("No single column has significant importance. Correlated columns share importance.") in told(
        "summary", dull, []
    )


# -- what to worry about --------------------------------------------------------------------------


def test_few_rows_and_the_edge_of_the_grid_are_worries(small, search_facts):
    assert titles(small)["Only 30 rows"].level == "look"
    edge = titles(search_facts)["The best candidate is on the edge of the grid"]
    assert edge.text.startswith("Its alpha, 0.01, is the smallest tried.")
    assert "the best candidate is on the edge of the grid" in told("summary", search_facts, [edge])[-1]


def test_a_column_that_gives_the_target_away_is_serious(search_facts):
    leak = replace(search_facts, influence=(ColumnImportance("final price", 90.0, 1.0, 0.999),))
    found = worries(leak)
    assert (found[0].level, found[0].title) == ("serious", "Possible target leakage: column final price")
    two = replace(leak, influence=(*leak.influence, ColumnImportance("tax", 9.0, 1.0, 0.985)))
    assert worries(two)[0].title == "Possible target leakage: columns final price and tax"
    assert told("summary", leak, found)[-1].startswith("Check before use: possible target leakage: column final price")


def test_outliers_are_named_by_row(search_facts):
    held = replace(search_facts.held, outliers=(7,))
    found = titles(replace(search_facts, held=held))["1 outlier among the residuals"]
    assert found.text.startswith(f"The largest: row {int(held.rows[7]) + 1} (observed ")


def test_gaps_extremes_and_copies_are_worries(search_facts):
    columns = [replace(each, extreme=20.0) if each.name == "size" else each for each in search_facts.data.columns]
    data = replace(search_facts.data, columns=tuple(columns), copies=1)
    found = titles(replace(search_facts, data=data))
    assert "Many missing values in cost $ in $" in found
    assert "Extreme values in size" in found
    assert found["1 duplicate row among 60 rows"].level == "note"
    many = titles(replace(search_facts, data=replace(data, copies=20)))
    assert many["20 duplicate rows among 60 rows"].level == "look"


def test_a_rare_label_is_a_worry(label_facts):
    counts = (("common", 70), ("rare", 5))
    labels = replace(label_facts.labels, each=(LabelFact("rare", 5, 0.2, 0.5),))
    facts = replace(label_facts, data=replace(label_facts.data, counts=counts), labels=labels)
    assert titles(facts)["Label rare is rare"].text.startswith("5 rows of 75. Recall: 20 %.")


def test_a_label_that_is_mostly_missed_is_a_worry(label_facts):
    labels = replace(label_facts.labels, each=(LabelFact("ill", 30, 0.3, 0.5), LabelFact("well", 45, 0.9, 0.8)))
    found = titles(replace(label_facts, labels=labels))["Low recall of ill"]
    assert found.text.startswith("Recall: ill 30 % of 30. ")


def test_intervals_that_do_not_hold_and_choices_that_flatter_are_worries(search_facts):
    short = replace(search_facts, coverage=(Coverage(0.7, 1.0, 0.9, "share found", 200),))
    assert titles(short)["Prediction intervals are too narrow"].text.startswith(
        "90 % intervals contain 70 % of 200 held-out targets."
    )
    judged = outcome_with(search_facts, 4.0, 0.3)
    assert "Optimistic model selection" in titles(replace(search_facts, outcome=judged, chosen_by=2.0))


def test_bounds_and_digits_are_good_to_know(auto_facts):
    choice = auto_facts.choice
    members = tuple(replace(each, weight=0.25, bounds=("alpha",)) for each in choice.members[:1])
    found = titles(replace(auto_facts, choice=replace(choice, members=members, digits=3.0)))
    assert found["Tuning stopped at a bound for Laplacian"].text.startswith("Parameters at their bounds: alpha. alpha ")
    assert found["Nearly singular system"].text.startswith("About 3 decimal digits")


def test_widths_on_a_bound_are_told_by_the_columns_they_belong_to(auto):
    model, table, y, _ = auto
    subject = Subject(model, table, y, target="price")
    own = [[int(i) for i in np.flatnonzero(subject.place == place)] for place in subject.feature_places[:2]]
    names = [subject.columns[place].name for place in subject.feature_places[:2]]
    assert _bound_names(["alpha", f"width{own[0]}", f"width{own[1]}"], subject) == [
        "alpha",
        f"width of {' and '.join(names)}",
    ]
    member = Member("Laplacian", Laplacian(), 1.0, 1.0, 1.0, "converged", ["width of size"])
    alone = ModelEvaluation(subject, None, Origin())
    alone = replace(alone, choice=replace(alone.choice, members=(member,)))
    assert titles(alone)["Tuning stopped at a bound for Laplacian"].text.endswith("or that its effect is linear.")
    assert "1 kernel was tuned" in told("selection", alone)[0]
    assert "; it is used (" in told("selection", alone)[0]


def test_estimates_that_differ_by_rounding_agree(search_facts):
    judged = outcome_with(search_facts, 17720.0, 100.0)
    assert told("optimism", replace(search_facts, outcome=judged, chosen_by=17720.0 + 8e-8)) == [
        "The cross-validation error of the best candidate and the out-of-sample error agree."
    ]


def test_large_numbers_are_written_out(search_facts):
    judged = outcome_with(search_facts, 361634.2, 12345.0)
    assert words.quantity(judged, judged.error) + words.give_or_take(judged) == "361600\u00a0±\u00a012000"
    shares = replace(judged, measure=WRONG)
    assert words.quantity(shares, 0.1834) == "18.3 %"


def test_the_only_column_is_no_leak(small):
    given = replace(small, influence=(ColumnImportance("x1", 90.0, 1.0, 0.999),))
    assert not any("leakage" in title for title in titles(given))


def test_every_report_says_where_it_knows_nothing(small, label_facts):
    where = "Predictions outside the training range"
    assert "tend to the mean" in titles(small)[where].text
    assert "tend to the most common labels" in titles(label_facts)[where].text


@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_a_row_that_carries_the_error_is_named():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(60, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    y[20] = 4.0
    search = mercer.KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0], fit_intercept=True).fit(X, y)
    found = titles(mercer.evaluate(search, X, y))
    assert found["One row carries much of the error"].text.startswith("Of all rows it is 0.")
    assert "without row 21 the leave-one-out error is 0.1" in found["One row carries much of the error"].text
