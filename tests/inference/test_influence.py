"""What one row changes, against searches and models of the other rows."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import AutoRegressor, KernelRidge, KernelRidgeCV, NystroemRidge, influence, marginal_effects
from mercer.errors import InputError
from mercer.kernels import Gaussian, Linear
from remembered import fitted

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
RNG = np.random.default_rng(2)
X = RNG.normal(size=(18, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=18) + 7.0
NEW = RNG.normal(size=(4, 2))


@pytest.mark.parametrize("intercept", [False, True])
def test_errors_predictions_and_choices_are_those_of_searches_without_each_row(intercept):
    search = KernelRidgeCV([Gaussian(0.5), Gaussian(2.0)], [0.01, 0.1, 1.0], fit_intercept=intercept).fit(X, Y)
    found = influence(search, NEW)
    best = search.best_estimator_
    assert found.error == pytest.approx(np.sqrt(-search.best_score_))
    for i in range(18):
        rest = np.arange(18) != i
        again = clone(search).fit(X[rest], Y[rest])
        assert found.chosen[i] == again.best_index_
        model = clone(best).fit(X[rest], Y[rest])
        assert np.allclose(found.predictions[i], model.predict(NEW) - best.predict(NEW), rtol=1e-8, atol=1e-10)
        assert found.residual[i] == pytest.approx(Y[i] - model.predict(X[i : i + 1])[0], rel=1e-8)
        alone = KernelRidgeCV([best.kernel_], [best.alpha], fit_intercept=intercept).fit(X[rest], Y[rest])
        assert found.error_without[i] == pytest.approx(np.sqrt(-alone.best_score_), rel=1e-8)
    assert np.array_equal(found.choice_changes, found.chosen != search.best_index_)
    assert "the choice when left out" in str(found) or "No single row decides" in str(found)


def test_effects_without_each_row_and_their_signs():
    model = KernelRidge(0.3, kernel=Gaussian(1.5), fit_intercept=True).fit(X, Y)
    found = influence(model, effects=True)
    whole = marginal_effects(model)
    for i in range(0, 18, 5):
        rest = np.arange(18) != i
        other = marginal_effects(clone(model).fit(X[rest], Y[rest]))
        assert np.allclose(whole.average + found.effects[i], other.average, rtol=1e-8)
        assert found.sign_changes[i] == (np.sign(other.average) != np.sign(whole.average)).any()


def test_leverage_is_the_change_of_the_fitted_value_with_its_target():
    model = KernelRidge(0.3, kernel=Linear(), fit_intercept=True).fit(X, Y)
    moved = Y.copy()
    moved[3] += 1.0
    change = clone(model).fit(X, moved).predict(X[3:4]) - model.predict(X[3:4])
    assert influence(model).leverage[3] == pytest.approx(float(change[0]), rel=1e-8)


def test_a_search_by_folds_has_no_choice_without_rows():
    search = KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0], cv=3).fit(X, Y)
    assert influence(search).chosen is None


def test_the_result_shows_itself():
    found = influence(KernelRidge(0.3, kernel=Gaussian(1.0)).fit(X, Y))
    assert list(found.to_frame())[:2] == ["row", "residual"]
    assert "<svg" in found._repr_html_()
    assert str(found).startswith("Leave-one-out error ")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            NystroemRidge(),
            "The model of influence must be .* or a Pipeline that ends in one; got Nystroem",
        ),
        (KernelRidge(1.0).fit(X, Y, np.arange(1.0, 19.0)), "influence does not support sample_weight"),
        (KernelRidge(1.0).fit(X, np.column_stack([Y, Y])), "influence must be of one target; got 2 targets"),
    ],
)
def test_what_is_refused(model, said):
    with pytest.raises(InputError, match=said):
        influence(model)


def test_a_committee_without_each_row_has_its_members_refitted():
    model = fitted(AutoRegressor(), X, Y)
    found, Z = influence(model, NEW), model.models_[0].X_fit_
    targets = (Y - model.centre_) / model.scale_
    new = model.encoder_.transform(NEW)

    def votes(rest, rows):
        refits = [clone(each).fit(Z[rest], targets[rest]).predict(rows) for each in model.models_]
        return model.centre_ + model.scale_ * sum(m.weight * f for m, f in zip(model.members_, refits, strict=True))

    for i in (0, 7):
        rest = np.arange(18) != i
        assert found.residual[i] == pytest.approx(Y[i] - votes(rest, Z[i : i + 1])[0], rel=1e-7)
        assert np.allclose(found.predictions[i], votes(rest, new) - model.predict(NEW), atol=1e-8)
        left = [Y[j] - votes(rest & (np.arange(18) != j), Z[j : j + 1])[0] for j in np.flatnonzero(rest)]
        assert found.error_without[i] == pytest.approx(np.sqrt(np.mean(np.square(left))), rel=1e-7)


def test_new_rows_of_a_model_of_constant_columns_are_refused():
    model = AutoRegressor().fit(np.ones((18, 2)), Y)
    assert influence(model).predictions is None
    with pytest.raises(InputError, match="influence must be fitted to a column that varies where X is given"):
        influence(model, np.ones((3, 2)))
