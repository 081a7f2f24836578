"""A time budget: kept, or refused before anything is done."""

import numpy as np
import pytest

from mercer import AutoClassifier, AutoRegressor
from mercer.errors import InputError
from mercer.estimators.auto_core import fixed_seconds, time_for_tuning, tuning_seconds
from remembered import fitted


def test_more_rows_take_longer_and_nothing_is_left_of_a_small_budget():
    sizes = [100, 1000, 3000, 8000, 8001, 12_000, 12_001, 50_000]
    for seconds in (tuning_seconds, fixed_seconds):
        found = [seconds(n) for n in sizes]
        assert found == sorted(found)
    assert time_for_tuning("AutoRegressor", 500, None) is None
    assert time_for_tuning("AutoRegressor", 500, 0.01) == 0.0
    assert 55 < time_for_tuning("AutoRegressor", 500, 60.0) < 60


@pytest.mark.filterwarnings("ignore::mercer.errors.LeakageWarning")
@pytest.mark.parametrize("make", [AutoRegressor, AutoClassifier])
def test_a_budget_that_cannot_be_kept_is_refused_at_once(make):
    X = np.random.default_rng(0).normal(size=(6000, 2))
    y = (X[:, 0] > 0).astype(int)

    said = f"{make.__name__} may need .* for 6000 rows in addition to tuning, more than the time budget. Use a larger"
    with pytest.raises(InputError, match=said):
        make(time_budget=0.1).fit(X, y)


@pytest.mark.filterwarnings("ignore::mercer.errors.LeakageWarning")
def test_small_tables_are_fitted_with_any_budget(rng):
    X = rng.normal(size=(60, 2))
    model = fitted(AutoRegressor(time_budget=1e-3), X, X[:, 0])
    assert model.error_ < 0.5 * model.baseline_
