"""ROC, precision and recall, and thresholds by cost, against scikit-learn and by counting."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from mercer import AutoClassifier, evaluate
from mercer.report.judging import ThresholdFact
from remembered import fitted


def rows(labels, n=90):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    return X, np.array(labels)[
        np.clip(np.round(X[:, 0] + 0.7 * rng.normal(size=n)).astype(int) + 1, 0, len(labels) - 1)
    ]


@pytest.fixture(scope="module")
def two():
    X, y = rows(["no", "yes"])
    model = fitted(AutoClassifier(committee=False), X, y)
    return y, model, evaluate(model, X, y).labels


def test_areas_are_those_of_held_out_probabilities(two):
    y, model, facts = two
    (curve,) = facts.curves
    sure = model.temperature_.probabilities(model.committee_.held_out)[:, 1]
    assert curve.label == "yes"
    assert curve.area == pytest.approx(roc_auc_score(y == "yes", sure))
    assert curve.average_precision == pytest.approx(average_precision_score(y == "yes", sure))
    assert curve.area == pytest.approx(np.trapezoid(curve.found, curve.false))
    assert curve.share == pytest.approx(np.mean(y == "yes"))


def test_the_threshold_of_a_cost_is_the_one_that_costs_least_by_the_probabilities(two):
    _, _, facts = two
    assert [each.cost for each in facts.thresholds] == [1, 2, 5, 10, 20]
    missed, alarms = ([getattr(each, name) for each in facts.thresholds] for name in ("missed", "alarms"))
    assert missed == sorted(missed, reverse=True)
    assert alarms == sorted(alarms)
    rng = np.random.default_rng(0)
    sure = rng.uniform(size=200_000)
    came = rng.uniform(size=len(sure)) < sure
    found = [ThresholdFact(cost, sure, came) for cost in (1, 2, 5, 10, 20)]
    for each in found:
        costs = [
            each.cost * np.sum(came & (sure <= other.threshold)) + np.sum(~came & (sure > other.threshold))
            for other in found
        ]
        assert costs[[other.cost for other in found].index(each.cost)] == min(costs)


def test_of_several_labels_each_has_a_curve_and_none_a_threshold():
    X, y = rows(["a", "b", "c"])
    facts = evaluate(AutoClassifier(committee=False).fit(X, y), X, y).labels
    assert sorted(each.label for each in facts.curves) == ["a", "b", "c"]
    assert facts.thresholds == ()
