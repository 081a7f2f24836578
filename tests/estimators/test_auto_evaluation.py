"""The outer loop: everything is repeated for every fold, and agrees with new rows."""

import math

import numpy as np
import pytest
from auto_cases import BOTH, QUICK, mixed, rings, rmse, smooth, targets_for
from sklearn.base import clone

from mercer import AutoClassifier, AutoRegressor
from mercer.data.folds import dealt
from mercer.errors import LeftOutWarning
from mercer.selection.table import standard_error

pytestmark = pytest.mark.slow

# -- the outer loop ------------------------------------------------------------------------------------------------


def test_evaluation_repeats_everything_and_agrees_with_new_rows(rng):
    X, y = smooth(520, noise=0.3)
    model = AutoRegressor(committee=False)
    found = model.evaluate(X[:120], y[:120], cv=5)
    test = rmse(clone(model).fit(X[:120], y[:120]), X[120:], y[120:])
    assert 0.75 < found.error / test < 1.35
    assert found.errors.shape == (1, 5)
    assert found.error == pytest.approx(np.sqrt(np.mean((found.predictions[0] - y[:120]) ** 2)), rel=1e-9)
    assert found.standard_error == pytest.approx(found.errors.std(ddof=1) * math.sqrt(1 / 5 + 1 / 4))
    assert found.baseline == pytest.approx(y[:120].std(), rel=0.05)
    assert 0.78 < found.coverage <= 1.0
    assert str(found).startswith(f"Out-of-sample root mean squared error: {found.error:.4g} +- ")
    assert "not better" not in str(found)
    assert not hasattr(model, "models_")


def test_evaluation_is_a_refit_for_every_fold(rng):
    X, y = smooth(40)
    model = AutoRegressor(**QUICK, random_state=2)
    found = model.evaluate(X, y, cv=3)
    numbers = dealt(40, 3, np.random.default_rng(3))
    for fold in range(3):
        fitted = clone(model).fit(X[numbers != fold], y[numbers != fold])
        assert (found.predictions[0, numbers == fold] == fitted.predict(X[numbers == fold])).all()


def test_nothing_of_a_held_out_row_reaches_its_evaluation(rng):
    X, y = smooth(40)
    model = AutoRegressor(**QUICK)
    before = model.evaluate(X, y, cv=3).predictions[0]
    fold = dealt(40, 3, np.random.default_rng(1)) == 2
    wild = y.copy()
    wild[fold] = 1e9
    after = model.evaluate(X, wild, cv=3).predictions[0]
    assert (before[fold] == after[fold]).all()
    assert (before[~fold] != after[~fold]).all()


def test_labels_are_evaluated_fold_by_fold(rng):
    X, y = rings(90, ("in", "out"))
    found = AutoClassifier(**QUICK).evaluate(X, y, cv=3)
    assert found.error == pytest.approx(np.mean(found.predictions[0] != y), abs=1e-9)
    assert found.coverage is None
    assert found.error < found.baseline
    assert set(found.predictions[0]) == {"in", "out"}
    assert found.baseline == pytest.approx(min(np.mean(y == "in"), np.mean(y == "out")), abs=0.02)


@BOTH
def test_evaluation_works_on_tables_of_every_make(kind, rng):
    table, y = mixed(60)
    found = kind(**QUICK).evaluate(table, targets_for(kind, y), cv=2)
    assert found.errors.shape == (1, 2)
    assert found.error < found.baseline


def test_evaluation_without_a_seed_works_too(rng):
    X, y = smooth(30)
    assert math.isfinite(AutoRegressor(committee=False, random_state=None).evaluate(X, y, cv=2).error)


def test_a_time_budget_leaves_folds_out_and_says_how_many_there_were(rng):
    X, y = smooth(60)
    found = AutoRegressor(time_budget=1e-6).evaluate(X, y, cv=5)
    assert found.errors.shape == (1, 1)
    assert np.isnan(found.predictions).sum() == 48
    assert "; outer cross-validation, 1 fold, all steps repeated" in str(found)


def test_the_standard_error_allows_for_training_sets_that_overlap():
    errors = np.array([1.0, 2.0, 4.0, 3.0])
    assert standard_error(errors, 1 / 3) == pytest.approx(errors.std(ddof=1) * math.sqrt(1 / 4 + 1 / 3))
    assert math.isnan(standard_error(errors[:1], 1 / 3))


def test_what_all_rows_tell_holds_in_every_fold(rng):
    """Row numbers stay out, and one cell in all tells that days come first."""
    n = 60
    x = rng.normal(size=n)
    days = [f"{1 + i % 12}.{1 + i % 11}.2020" for i in range(n - 1)] + ["25.3.2020"]
    table = {"id": list(range(1, n + 1)), "x": x.tolist(), "day": days}
    y = np.arange(n) / n + 0.1 * rng.normal(size=n)
    with pytest.warns(LeftOutWarning, match="counts the rows"):
        model = AutoRegressor().fit(table, y)
    found = model.evaluate(table, y, cv=3)
    assert "id" not in [column.name for column in model.encoder_.columns_ if column.outputs]
    assert found.error > 0.7 * found.baseline  # the number of the row would tell nearly all
