"""tune: better than the kernel as given, honest about how it ended, and in sentences where it cannot."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import tune
from mercer.data import as_rows
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Precomputed, Sigmoid, Words
from mercer.solvers.problem import Problem, take_rows
from mercer.tuning.criterion import Criterion
from mercer.tuning.descent import per_column
from mercer.tuning.held_out import leave_one_out, predict_new, start_alpha
from mercer.tuning.tune import Settings, _problem, scale_widths, tune_rows
from oracles import kernel_ridge
from refits import held_out
from refusals import refusal
from views import read_only

pytestmark = pytest.mark.slow


def smooth(rng, n=50, noise=0.05, columns=3):
    X = rng.normal(size=(n, columns))
    return X, np.sin(2.0 * X[:, 0]) + noise * rng.normal(size=n)


def tune_with(kernel, X, y, sample_weight=None, fit_intercept=False, per_column_widths=False, random_state=None, **how):
    """As `tune`, with settings that it does not have."""
    rows, problem = _problem(kernel, X, y, sample_weight, intercept=fit_intercept)
    begin = per_column(kernel, rows.width) if per_column_widths else kernel
    return tune_rows(begin, rows, problem, Settings(**how), random_state)


def value(kernel, alpha, X, y, objective="loo", **given):
    problem = Problem(np.reshape(y, (len(X), -1)), given.get("weights"), given.get("intercept", False))
    return Criterion(as_rows(X), problem, objective).at(kernel, alpha, slopes=False).value


@pytest.mark.parametrize("objective", ["loo", "evidence"])
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.3), 0.5 * Laplacian(1.0) + Linear(), Matern(2.0, 2.5) * Polynomial(1)], ids=repr
)
def test_the_score_is_no_worse_than_before_and_is_that_of_what_is_given_back(kernel, objective, rng):
    X, y = smooth(rng)
    found = tune_with(kernel, X, y, objective=objective, random_state=0, check=False)
    again = value(found.kernel, found.alpha, X, y, objective)
    if objective == "loo":
        assert found.score <= found.before
        assert found.score == pytest.approx(math.exp(again / 2), rel=1e-3)
    else:
        assert found.score >= found.before
        assert found.score == pytest.approx(-again, rel=1e-3)
    assert found.status in ("converged", "stopped")
    assert found.rows == 50
    assert found.objective == objective


def test_before_is_the_kernel_as_given_at_the_best_alpha_of_a_ladder(rng):
    X, y = smooth(rng)
    found = tune_with(Gaussian(1.0), X, y, check=False)
    first = start_alpha(Gaussian(1.0), as_rows(X), Problem(y[:, None], None, intercept=False))
    assert found.before == pytest.approx(math.exp(value(Gaussian(1.0), first, X, y) / 2))


def test_more_starts_are_no_worse(rng):
    X, y = smooth(rng, noise=0.5)
    scores = [tune_with(Gaussian([0.1, 0.1, 0.1]), X, y, starts=starts, check=False).score for starts in (1, 2, 3, 4)]
    assert scores == sorted(scores, reverse=True)


def test_the_path_begins_at_a_start_and_never_goes_up(rng):
    X, y = smooth(rng)
    found = tune_with(Gaussian([1.0, 1.0, 1.0]), X, y, starts=1, alpha=0.5, check=False)
    values = [step.value for step in found.path]
    assert values == sorted(values, reverse=True)
    assert found.path[0].alpha == pytest.approx(0.5)
    assert found.path[0].kernel.width == pytest.approx([1.0, 1.0, 1.0])
    assert found.score == pytest.approx(math.exp(values[-1] / 2))


def test_a_column_that_does_not_matter_gets_a_wide_width(rng):
    X, y = smooth(rng, n=120, noise=0.01)
    width = tune_with(Gaussian(1.0), X, y, per_column_widths=True, check=False).kernel.width
    assert width[0] * 5 < min(width[1:])


def test_widths_per_column_go_into_chosen_columns(rng):
    X, y = smooth(rng)
    kernel = Gaussian(1.0).on([0, 2]) + Laplacian(1.0).on([1])
    found = tune_with(kernel, X, y, per_column_widths=True, check=False)
    assert [np.shape(v) for v in found.kernel.tunable().values()] == [(2,), (1,)]


@pytest.mark.parametrize("n", [50, 90])
def test_seeds_reproduce_everything_exactly(n, rng):
    X, y = smooth(rng, n)
    one, two = (tune_with(Gaussian([1.0, 1.0, 1.0]), X, y, max_rows=60, random_state=4) for _ in range(2))
    assert one.kernel == two.kernel
    assert (one.alpha, one.score, one.before, one.held_out) == (two.alpha, two.score, two.before, two.held_out)
    assert str(one) == str(two)
    generated = tune_with(Gaussian([1.0, 1.0, 1.0]), X, y, max_rows=60, random_state=np.random.default_rng(4))
    assert generated.held_out == one.held_out


def test_the_inputs_stay_as_they_are(rng):
    X, y = smooth(rng)
    weights = rng.uniform(0.5, 2.0, 50)
    width = np.array([1.0, 2.0, 3.0])
    given = X.copy(), y.copy(), weights.copy()
    tune(Gaussian(width), read_only(X), read_only(y), sample_weight=read_only(weights))
    assert width.tolist() == [1.0, 2.0, 3.0]
    for old, new in zip(given, (X, y, weights), strict=True):
        assert (old == new).all()


def test_what_ends_on_a_bound_is_told(rng):
    X, y = smooth(rng)
    found = tune_with(Gaussian(1.0), X, y, bounds={"width": (3.0, 4.0)}, check=False)
    assert "width" in found.bounds
    assert 2.9999 < found.kernel.width < 4.0001
    assert "On a bound: width" in str(found)


def test_few_steps_are_told(rng):
    X, y = smooth(rng)
    found = tune_with(Gaussian([1.0, 1.0, 1.0]), X, y, steps=1, starts=1, alpha=10.0, check=False)
    assert found.status == "stopped"
    assert "It was stopped before it converged (2 steps" in str(found)


def test_failure_is_told(rng):
    X, y = smooth(rng)
    found = tune_with(Sigmoid(3.0, 1.0), X, y, alpha=1e-8, bounds={"alpha": (1e-9, 1e-7)}, check=False)
    assert found.status == "failed"
    assert found.score == math.inf
    assert "It failed: the system was nowhere positive definite" in str(found)


def test_targets_of_zero_are_no_failure(rng):
    X, _ = smooth(rng)
    found = tune(Gaussian(), X, np.zeros(50))
    assert (found.status, found.score, found.overfitted) == ("converged", 0.0, False)


def test_tuning_noise_with_many_columns_is_reported_as_overfitted(rng):
    X, y = rng.normal(size=(60, 10)), rng.normal(size=60)
    found = tune(Gaussian(4.0), X, y, per_column_widths=True, random_state=0)
    assert found.score < found.before
    assert found.overfitted
    assert "tuning overfits" in str(found)


def test_tuning_a_clean_signal_is_not_reported_as_overfitted(rng):
    X, y = smooth(rng, n=80, noise=0.01)
    found = tune(Gaussian(1.0), X, y, per_column_widths=True, random_state=0)
    assert found.held_out < 0.8
    assert not found.overfitted
    assert "the improvement is confirmed on held-out rows" in str(found)


def test_without_the_check_nothing_is_said_about_overfitting(rng):
    X, y = smooth(rng)
    found = tune_with(Gaussian(1.0), X, y, check=False)
    assert (found.held_out, found.overfitted) == (None, False)
    assert "not seen" not in str(found)


def test_beyond_max_rows_alpha_is_chosen_on_all_rows(rng):
    X, y = smooth(rng, n=300, noise=0.3)
    found = tune_with(Gaussian(1.0), X, y, max_rows=40, random_state=0, check=False)
    assert found.rows == 40
    near = [value(found.kernel, found.alpha * factor, X, y) for factor in (10**-0.5, 1.0, 10**0.5)]
    assert min(near) == near[1]


@pytest.mark.parametrize("objective", ["loo", "evidence"])
def test_beyond_max_rows_scores_are_those_of_what_is_given_back_on_all_rows(objective, rng):
    X, y = smooth(rng, 90)
    found = tune_with(Gaussian(1.0), X, y, objective=objective, max_rows=40, random_state=0, check=False)
    again = value(found.kernel, found.alpha, X, y, objective)
    assert found.score == pytest.approx(math.exp(again / 2) if objective == "loo" else -again, rel=1e-3)
    given = [value(Gaussian(1.0), alpha, X, y, objective) for alpha in np.logspace(-6, 2, 33)]
    best = math.exp(min(given) / 2) if objective == "loo" else -min(given)
    assert found.before == pytest.approx(best, rel=0.05)
    assert found.rows == 40


def test_alpha_stays_within_its_bounds_beyond_max_rows_too(rng):
    X, y = smooth(rng, n=300, noise=0.01)
    found = tune_with(Gaussian(1.0), X, y, max_rows=40, bounds={"alpha": (0.5, 0.6)}, random_state=0, check=False)
    assert 0.4999 < found.alpha < 0.6001


def test_weights_intercept_and_several_targets_are_those_of_the_criterion(rng):
    X, y = smooth(rng)
    Y, weights = np.column_stack([y, y**2 + 5.0]), rng.uniform(0.2, 2.0, 50)
    found = tune_with(Gaussian(1.0), X, Y, sample_weight=weights, fit_intercept=True, check=False)
    again = value(found.kernel, found.alpha, X, Y, weights=weights, intercept=True)
    assert found.score == pytest.approx(math.exp(again / 2), rel=1e-3)


def test_rows_of_weight_zero_do_not_count(rng):
    X, y = smooth(rng)
    weights = np.ones(50)
    weights[:10] = 0.0
    wild = y.copy()
    wild[:10] = 1e6
    with_them = tune(Gaussian(1.0), X, wild, sample_weight=weights, random_state=0)
    without = tune(Gaussian(1.0), X[10:], y[10:], sample_weight=weights[10:], random_state=0)
    assert with_them.kernel == without.kernel
    assert (with_them.alpha, with_them.held_out, with_them.rows) == (without.alpha, without.held_out, 40)


def test_sparse_rows_are_tuned_as_dense_ones(rng):
    X, y = smooth(rng)
    dense, thin = (tune(Gaussian([1.0, 1.0, 1.0]), table, y, random_state=0) for table in (X, sparse.csr_matrix(X)))
    np.testing.assert_allclose(thin.kernel.width, dense.kernel.width, rtol=1e-3)
    assert thin.held_out == pytest.approx(dense.held_out, rel=1e-3)


def test_a_table_of_texts_and_numbers_is_tuned_where_it_can_be(rng):
    X, y = smooth(rng, columns=1)
    table = pd.DataFrame({"text": rng.choice(["a b", "b c", "c"], 50), "size": X[:, 0]})
    found = tune(Gaussian(5.0).on("size") + 0.1 * Words().on("text"), table, y, random_state=0)
    assert list(found.kernel.tunable()) == ["k1__base__width", "k2__factor"]
    assert found.score < found.before


def test_factors_of_kernels_for_texts_are_tuned(rng):
    found = tune(2.0 * Words(), ["a b", "b c", "c"] * 8, rng.normal(size=24), random_state=0)
    assert found.status == "converged"


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("objective", ["loo", "evidence"])
@pytest.mark.parametrize("n", [3, 4, 8, 9])
def test_few_rows_are_enough(n, objective, intercept, rng):
    X, y = smooth(rng, n)
    found = tune(Gaussian(1.0), X, y, objective=objective, fit_intercept=intercept, random_state=0)
    assert found.status != "failed"
    assert (found.held_out is None) == (n < 8)


def test_kernels_that_overflow_on_the_way_are_turned_back_from(rng):
    X, y = 4.0 * rng.normal(size=(40, 3)), rng.normal(size=40)
    found = tune((Polynomial(2, 1.0, 0.05) * 0.1).exp(), X, y, random_state=0)
    assert found.score <= found.before


def test_progress_is_shown_where_it_is_asked_for(rng, capfd):
    X, y = smooth(rng)
    tune_with(Gaussian(1.0), X, y, verbose=2)
    assert "tuning" in "".join(capfd.readouterr())


X5, Y5 = np.arange(10.0).reshape(5, 2), np.arange(5.0)
BAD = {
    "objective": (
        {"objective": "aic"},
        "objective of tune must be 'loo' or 'evidence'; got 'aic'.",
    ),
    "length of y": ({"y": Y5[:3]}, "y of tune must be 5 finite numbers, one per row of X; got ndarray of shape (3,)."),
    "y with NaN": (
        {"y": [1.0, 2.0, math.nan, 3.0, 4.0]},
        "y of tune must be finite; got nan in row 2.",
    ),
    "y of texts": (
        {"y": ["a", "b", "c", "d", "e"]},
        "y of tune must be 5 finite numbers, one per row of X; got list of shape (5,).",
    ),
    "y is a cube": (
        {"y": np.zeros((5, 1, 1))},
        "y of tune must be 5 finite numbers, one per row of X; got ndarray of shape (5, 1, 1).",
    ),
    "X with NaN": (
        {"X": np.where(X5 == 3.0, np.nan, X5)},
        "X must be finite; got nan in row 1, column 1. Impute the missing values, or drop these rows.",
    ),
    "two rows": ({"X": X5[:2], "y": Y5[:2]}, "tune needs at least 3 rows with positive weight; got 2."),
    "two rows with weight": (
        {"sample_weight": [0.0, 0.0, 0.0, 1.0, 1.0]},
        "tune needs at least 3 rows with positive weight; got 2.",
    ),
    "few weights": (
        {"sample_weight": [1.0, 2.0]},
        "sample_weight of tune must be one finite number per row of X; got list of shape (2,).",
    ),
    "NaN weight": (
        {"sample_weight": [1.0, math.nan, 1.0, 1.0, 1.0]},
        "sample_weight of tune must be finite; got nan in row 1.",
    ),
    "negative weight": (
        {"sample_weight": [1.0, -2.0, 1.0, 1.0, 1.0]},
        "sample_weight of tune must be non-negative; got -2 in row 1.",
    ),
    "unknown bound": (
        {"bounds": {"widht": (1.0, 2.0)}},
        "bounds of tune has an unknown parameter 'widht'. Did you mean 'width'?",
    ),
    "reversed bound": (
        {"bounds": {"width": (2.0, 1.0)}},
        "bounds of 'width' must be two positive numbers, the lower one first; got (2.0, 1.0).",
    ),
    "bound of zero": (
        {"bounds": {"alpha": (0.0, 1.0)}},
        "bounds of 'alpha' must be two positive numbers, the lower one first; got (0.0, 1.0).",
    ),
    "no kernel": ({"kernel": "rbf"}, "kernel of tune must be a kernel, such as Gaussian(1.0); got 'rbf'."),
    "intercept": ({"fit_intercept": "yes"}, "fit_intercept of tune must be True or False; got 'yes'."),
    "nothing to tune": (
        {"kernel": Linear()},
        "Linear() has no continuous parameter to tune. Choose among kernels with KernelRidgeCV.",
    ),
    "texts": (
        {"kernel": Words(), "X": ["a", "b", "c", "d", "e"]},
        "Words() has no continuous parameter to tune. Choose among kernels with KernelRidgeCV.",
    ),
    "a given matrix": (
        {"kernel": 2.0 * Precomputed(), "X": np.eye(5)},
        (
            "2.0 * Precomputed() is precomputed and has no parameters to tune. Pass X as rows, and a kernel such as "
            "Gaussian(1.0)."
        ),
    ),
    "infinite": (
        {"kernel": Polynomial(3).exp()},
        (
            "k(x, x) of Polynomial(degree=3, offset=1.0, scale=1.0).exp() must be finite; got NaN or infinity. "
            "Scale the columns of X."
        ),
    ),
}


@pytest.mark.parametrize(("given", "words"), BAD.values(), ids=BAD)
def test_bad_arguments_are_refused_in_a_sentence(given, words):
    named = {"kernel": Gaussian(1.0), "X": X5, "y": Y5, **given}
    assert refusal(tune, **named) == words


# -- the parts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_errors_are_those_of_refits(intercept, weighted, rng):
    X, y = smooth(rng, n=12)
    weights = rng.uniform(0.5, 2.0, 12) if weighted else None
    problem, K, everyone = Problem(y[:, None], weights, intercept), Gaussian()(X), np.arange(12)
    refits = [held_out(K, y, 0.1, np.delete(everyone, i), everyone[[i]], weights, intercept)[0] for i in everyone]
    errors = leave_one_out(as_rows(X), problem, Gaussian(), np.array([0.1, 1.0]))
    assert errors[0] == pytest.approx(np.mean((np.array(refits)[:, 0] - y) ** 2))


def test_predictions_at_new_rows_are_those_of_the_normal_equations(rng):
    X, y = smooth(rng, n=20)
    weights = rng.uniform(0.5, 2.0, 15)
    rows, new = as_rows(X[:15]), as_rows(X[15:])
    found = predict_new(Gaussian(), 0.1, rows, Problem(y[:15, None], weights, intercept=True), new)
    dual, constant = kernel_ridge(Gaussian()(X[:15]), y[:15], 0.1, weights, True)
    np.testing.assert_allclose(found, Gaussian()(X[15:], X[:15]) @ dual + constant, atol=1e-10)


def test_some_rows_keep_their_targets_weights_and_names(rng):
    table = pd.DataFrame(rng.normal(size=(6, 2)), columns=["a", "b"])
    rows, problem = take_rows(
        as_rows(table), Problem(np.arange(6.0)[:, None], np.arange(1.0, 7.0), True), np.array([4, 1])
    )
    assert rows.names == ("a", "b")
    assert (rows.values == table.to_numpy()[[4, 1]]).all()
    assert problem.Y.ravel().tolist() == [4.0, 1.0]
    assert problem.weights.tolist() == [5.0, 2.0]
    assert problem.intercept


def test_only_widths_are_scaled():
    scaled = scale_widths(2.0 * Gaussian([1.0, 2.0]) + Polynomial(2, offset=3.0) * Laplacian(4.0).on([0]), 10.0)
    assert repr(scaled) == (
        "2.0 * Gaussian(width=[10.0, 20.0]) + "
        "Polynomial(degree=2, offset=3.0, scale=1.0) * Laplacian(width=40.0).on([0])"
    )


def test_evidence_with_an_intercept_does_not_depend_on_where_the_targets_are(rng):
    X, y = smooth(rng, n=40)
    found, far = (
        tune_with(Gaussian(1.0), X, target, objective="evidence", fit_intercept=True, random_state=0, check=False)
        for target in (y, y + 1e8)
    )
    covariance, one = far.kernel(X) + far.alpha * np.eye(40), np.ones(40)
    a, _ = kernel_ridge(far.kernel(X), y, far.alpha, intercept=True)
    determinants = np.linalg.slogdet(covariance)[1] + np.log(one @ np.linalg.solve(covariance, one))
    expected = -0.5 * (39 * (1 + np.log(2 * np.pi * (y @ a[:, 0]) / 39)) + determinants) / 40
    np.testing.assert_allclose(far.score, expected, rtol=1e-6)
    np.testing.assert_allclose(far.score, found.score, rtol=1e-6)
