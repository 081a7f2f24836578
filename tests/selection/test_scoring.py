"""Scores equal scikit-learn's, split by split, by its own sign."""

import re

import numpy as np
import pytest
from sklearn import metrics
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, make_scorer

from mercer.data.folds import Split, draw
from mercer.errors import InputError
from mercer.selection.removals import Removals
from mercer.selection.scoring import Classes, Truth, resolve_scoring
from refusals import tells

REGRESSION = [
    "neg_mean_squared_error",
    "neg_root_mean_squared_error",
    "neg_mean_absolute_error",
    "neg_max_error",
    "r2",
    "explained_variance",
    "neg_median_absolute_error",
    "d2_absolute_error_score",
]


class Fixed(BaseEstimator):
    """An estimator that has already said what it says."""

    def __init__(self, outcome):
        self.outcome = outcome

    def predict(self, X):
        return self.outcome


def folds_of(n, count):
    return Removals.of(draw(count, np.zeros((n, 1)), np.zeros(n)).splits, n)


@pytest.mark.parametrize("targets", [0, 1, 3])
@pytest.mark.parametrize("name", REGRESSION)
def test_every_split_has_scikit_learns_score(name, targets, rng):
    shape = (23, targets) if targets else (23,)
    if name == "neg_max_error" and targets > 1:
        pytest.skip("scikit-learn has no max_error of several targets")
    y, values = rng.normal(size=shape), rng.normal(size=(23, max(targets, 1)))
    removals = folds_of(23, 4)
    truth = Truth(y, removals)
    found = resolve_scoring(name, classifier=False).by_split(truth, values)
    for i, test in enumerate(removals.tests):
        outcome = values[test] if targets else values[test, 0]
        np.testing.assert_allclose(found[i], get_scorer(name)(Fixed(outcome), np.zeros((len(test), 1)), y[test]))


@pytest.mark.parametrize("name", REGRESSION)
def test_scores_of_each_target_are_those_of_the_target_alone(name, rng):
    y, values = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    removals = folds_of(20, 4)
    scoring = resolve_scoring(name, classifier=False)
    found = scoring.by_split(Truth(y, removals), values, per_target=True)
    assert found.shape == (4, 3)
    for j in range(3):
        alone = scoring.by_split(Truth(y[:, j], removals), values[:, j : j + 1])
        np.testing.assert_allclose(found[:, j], alone)
    one = scoring.by_split(Truth(y[:, 0], removals), values[:, :1], per_target=True)
    np.testing.assert_allclose(one, found[:, :1])


def test_a_loss_is_negated_and_a_scorer_is_not(rng):
    y, values = rng.normal(size=12), rng.normal(size=(12, 1))
    truth = Truth(y, folds_of(12, 3))

    def quantile(y_true, y_pred):
        gap = y_true - y_pred
        return np.maximum(0.9 * gap, -0.1 * gap).mean()

    loss = resolve_scoring(quantile, classifier=False)
    assert loss.name == "minus quantile"
    scorer = resolve_scoring(make_scorer(quantile, greater_is_better=False), classifier=False)
    np.testing.assert_allclose(loss.by_split(truth, values), scorer.by_split(truth, values))
    assert (loss.by_split(truth, values) < 0).all()


def test_r2_of_a_constant_target_is_one_or_nought_as_in_scikit_learn():
    scoring = resolve_scoring("r2", classifier=False)
    removals = Removals.of([Split(np.array([3]), np.array([0, 1, 2]))], 4)
    wrong = np.array([[1.0], [2.0], [3.0]])
    for constant, values, expected in [(2.0, np.full((3, 1), 2.0), 1.0), (2.0, wrong, 0.0)]:
        y = np.full(4, constant)
        assert scoring.by_split(Truth(y, removals), values).tolist() == [expected]
        assert metrics.r2_score(y[:3], values[:, 0]) == expected
    for constant in (0.1, 1e8 / 3):  # the mean of which is another number, by rounding: there scikit-learn says -1e34
        assert scoring.by_split(Truth(np.full(4, constant), removals), wrong).tolist() == [0.0]


@pytest.mark.parametrize("labels", [["a", "b"], [3, 7, 9], [0, 1]])
@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "f1_macro", "neg_hamming"])
def test_labels_are_decided_before_they_are_scored(labels, name, rng):
    numbers = rng.integers(0, len(labels), 30)
    y, classes = np.asarray(labels)[numbers], Classes(np.asarray(labels), numbers)
    values = rng.normal(size=(30, 1 if len(labels) == 2 else len(labels)))
    truth = Truth(y, folds_of(30, 3), classes)
    how = metrics.hamming_loss if name == "neg_hamming" else name
    found = resolve_scoring(how, classifier=True).by_split(truth, values)
    chosen = values[:, 0] > 0 if len(labels) == 2 else values.argmax(axis=1)
    said = np.asarray(labels)[chosen.astype(int)]
    for i, test in enumerate(truth.removals.tests):
        if name == "neg_hamming":
            expected = -metrics.hamming_loss(y[test], said[test])
        else:
            expected = get_scorer(name)(Fixed(said[test]), test[:, None], y[test])
        np.testing.assert_allclose(found[i], expected)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_rankings_are_scored_on_decision_values(name, rng):
    numbers = np.arange(30) % 2
    values = rng.normal(size=(30, 1))
    truth = Truth(numbers, folds_of(30, 3), Classes(np.array([0, 1]), numbers))
    found = resolve_scoring(name, classifier=True).by_split(truth, values)
    score = metrics.roc_auc_score if name == "roc_auc" else metrics.average_precision_score
    np.testing.assert_allclose(found, [score(numbers[t], values[t, 0]) for t in truth.removals.tests])


def test_a_class_that_was_not_trained_on_is_never_chosen():
    classes = Classes(np.array(["a", "b", "c"]), np.array([0, 1, 2, 2]))
    removals = Removals([np.array([1]), np.array([0])], [np.array([1]), np.array([0])])
    assert classes.present(removals).tolist() == [[True, False, True], [False, True, True]]
    values = np.array([[-1.0, 9.0, 0.0], [9.0, -1.0, -2.0]])
    assert Truth(np.array(list("abcc")), removals, classes).outcome(values).tolist() == ["c", "b"]
    two = Classes(np.array(["a", "b"]), np.array([0, 1, 1]))
    only = Truth(
        np.array(list("abb")), Removals([np.array([0]), np.array([1, 2])], [np.array([0]), np.array([1])]), two
    )
    assert only.outcome(np.array([[-1.0], [1.0]])).tolist() == ["b", "a"]


def test_targets_of_labels():
    assert Classes(np.array([4, 5]), np.array([0, 1])).targets().tolist() == [[-1.0], [1.0]]
    assert Classes(np.array([4, 5, 6]), np.array([2, 0])).targets().tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_defaults():
    assert resolve_scoring(None, classifier=False).name == "neg_mean_squared_error"
    assert resolve_scoring(None, classifier=True).name == "accuracy"
    assert resolve_scoring("r2", classifier=False).needs_many
    assert not resolve_scoring(None, classifier=False).needs_many


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (
            "neg_mean_square_error",
            "Unknown scoring 'neg_mean_square_error'. Did you mean 'neg_mean_squared_error'?",
        ),
        (3, "scoring must be a scikit-learn name, a scorer or a loss function; got 3."),
        ([], "scoring must be a scikit-learn name, a scorer or a loss function; got []."),
    ],
)
def test_what_cannot_score_is_refused(bad, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        resolve_scoring(bad, classifier=False)


@pytest.mark.parametrize("name", ["neg_log_loss", "roc_auc_ovr", "neg_brier_score"])
def test_scores_of_probabilities_are_refused_with_the_reason(name, rng):
    """Probabilities are calibrated after the search; the refusal must say so, and not speak of a stub."""
    numbers = np.arange(12) % 3
    truth = Truth(numbers, folds_of(12, 2), Classes(np.arange(3), numbers))
    with pytest.raises((InputError, AttributeError), match=r"calibrated after the search"):
        resolve_scoring(name, classifier=True).by_split(truth, rng.normal(size=(12, 3)))


def test_scorers_may_ask_the_stub_what_it_is(rng):
    def curious(estimator, X, y):
        assert estimator.fit(X) is estimator
        with pytest.raises(AttributeError, match=r"has no attribute 'coef_'$"):
            _ = estimator.coef_
        return float(len(X))

    scorer = make_scorer(metrics.mean_squared_error)
    scorer._score_func = None
    truth = Truth(rng.normal(size=6), folds_of(6, 3))
    asked = resolve_scoring(None, classifier=False)
    object.__setattr__(asked, "quick", None)
    object.__setattr__(asked, "scorer", curious)
    assert asked.by_split(truth, np.zeros((6, 1))).tolist() == [2.0, 2.0, 2.0]


# -- nothing is silent ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.uint8, bool, np.int8])
@pytest.mark.parametrize("name", ["neg_mean_squared_error", "neg_mean_absolute_error", "r2", "neg_max_error"])
def test_labels_of_small_types_are_numbers(kind, name, rng):
    numbers = np.arange(20) % 2
    values = rng.normal(size=(20, 1))
    found = [
        resolve_scoring(name, classifier=True).by_split(
            Truth(y, folds_of(20, 4), Classes(np.unique(y), numbers)), values
        )
        for y in (numbers.astype(kind), numbers.astype(float))
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_text_has_no_squared_error(name):
    y = np.array(["yes", "no"] * 4)
    truth = Truth(y, folds_of(8, 2), Classes(np.array(["no", "yes"]), np.arange(8) % 2))
    with pytest.raises(InputError) as refused:
        resolve_scoring(name, classifier=True).by_split(truth, np.ones((8, 1)))
    assert tells(str(refused.value), f"scoring={name}", "'accuracy'")


def test_a_loss_may_work_in_place(rng):
    def in_place(y_true, y_pred):
        y_pred -= y_true
        y_true[:] = 0.0
        return (y_pred**2).mean()

    y, values = rng.normal(size=12), rng.normal(size=(12, 1))
    truth, before = Truth(y, folds_of(12, 3)), values.copy()
    expected = resolve_scoring(None, classifier=False).by_split(truth, values)
    for how in (in_place, make_scorer(in_place, greater_is_better=False)):
        scoring = resolve_scoring(how, classifier=False)
        for _ in range(2):
            np.testing.assert_allclose(scoring.by_split(truth, values), expected)
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize(
    ("score", "way_out"),
    [
        (metrics.r2_score, "Use make_scorer(r2_score) or the name 'r2'."),
        (metrics.accuracy_score, "Use make_scorer(accuracy_score) or the name 'accuracy'."),
        (metrics.matthews_corrcoef, "Use make_scorer(matthews_corrcoef) or the name 'matthews_corrcoef'."),
        (metrics.d2_pinball_score, "Use make_scorer(d2_pinball_score)."),
    ],
    ids=lambda value: getattr(value, "__name__", "words"),
)
def test_a_score_is_no_loss(score, way_out):
    with pytest.raises(InputError) as refused:
        resolve_scoring(score, classifier=False)
    assert tells(
        str(refused.value),
        "A function given as scoring",
        f"got {score.__name__}",
        way_out,
    )


def test_a_function_of_an_estimator_is_no_loss():
    with pytest.raises(InputError) as refused:
        resolve_scoring(lambda estimator, X, y: 0.0, classifier=False)
    assert tells(str(refused.value), "A function given as scoring", "got <lambda>(estimator, X, y)")


@pytest.mark.parametrize(
    ("returned", "got"),
    [(np.zeros(3), "shape (3,)"), (None, "None"), ("much", "'much'")],
    ids=["array", "none", "text"],
)
def test_a_loss_is_one_number(returned, got, rng):
    def loss(y_true, y_pred):
        return returned

    with pytest.raises(InputError) as refused:
        resolve_scoring(loss, classifier=False).by_split(Truth(rng.normal(size=6), folds_of(6, 2)), np.zeros((6, 1)))
    assert tells(str(refused.value), "The result of loss", f"got {got}")


@pytest.mark.parametrize(
    "how",
    ["r2", "explained_variance", get_scorer("r2"), make_scorer(metrics.r2_score), "d2_absolute_error_score"],
    ids=str,
)
def test_shares_of_variance_need_many_rows(how):
    assert resolve_scoring(how, classifier=False).needs_many


def test_accuracy_of_numbers_is_refused(rng):
    truth = Truth(np.arange(6.0), folds_of(6, 2))
    with pytest.raises(InputError) as refused:
        resolve_scoring("accuracy", classifier=False).by_split(truth, rng.normal(size=(6, 1)))
    assert tells(str(refused.value), "scoring", "got 'accuracy'")


def test_a_score_that_fails_is_missing_where_that_is_asked_for(rng):
    y, values = np.arange(1.0, 7.0), np.array([[1.0], [2.0], [-3.0], [4.0], [5.0], [6.0]])
    scoring, truth = resolve_scoring("neg_mean_poisson_deviance", classifier=False), Truth(y, folds_of(6, 2))
    failures = []
    found = scoring.by_split(truth, values, failures=failures)
    assert np.isnan(found).tolist() == [True, False]
    assert "strictly positive" in failures[0]
    with pytest.raises(ValueError, match="strictly positive"):
        scoring.by_split(truth, values)
