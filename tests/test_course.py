"""The lab course's own names: formulas, loops and closed forms that agree, and any method with fit and predict."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_curve
from sklearn.svm import SVR

from mercer.course import by_leave_one_out, cv, krr, mean_absolute_error, squared_error, zero_one_loss
from mercer.data import as_rows
from mercer.errors import InputError
from mercer.kernels import Gaussian
from mercer.selection.ladders import resolve_alphas
from refusals import refusal

QUIET = {"verbose": 0}


class plain_krr(krr):  # noqa: N801 - the course's own spelling
    """Not the very class, so that it is looped over."""


@pytest.fixture
def data(rng):
    X = rng.normal(size=(37, 3))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=37)


FORMULAS = {
    ("linear", 1.0): lambda X, Z: X @ Z.T,
    ("polynomial", 3): lambda X, Z: (X @ Z.T + 1) ** 3,
    ("polynomial", 2.0): lambda X, Z: (X @ Z.T + 1) ** 2,
    ("gaussian", 0.7): lambda X, Z: np.exp(-((X[:, None] - Z) ** 2).sum(axis=2) / (2 * X.shape[1] * 0.7**2)),
}


@pytest.mark.parametrize(("kernel", "parameter"), list(FORMULAS))
@pytest.mark.parametrize("targets", [None, 2])
def test_krr_is_the_formula(kernel, parameter, targets, data, rng):
    X, y = data
    y = y if targets is None else np.c_[y, -2 * y]
    new = rng.normal(size=(5, 3))
    model = krr(kernel, parameter, 0.3).fit(X, y)
    k = FORMULAS[kernel, parameter]
    alpha = np.linalg.solve(k(X, X) + 0.3 * np.eye(37), y)
    np.testing.assert_allclose(model.alpha_, alpha, rtol=1e-8)
    np.testing.assert_allclose(model.predict(new), k(new, X) @ alpha, rtol=1e-8)
    assert model.regularization_ == 0.3
    assert model.predict(new).shape == ((5,) if targets is None else (5, 2))


def test_the_gaussian_width_is_one_for_each_dimension():
    """exp(-||x - z||^2 / (2 d w^2)): problem set 3's own form."""
    x, z = np.zeros((1, 4)), np.ones((1, 4))
    assert krr("gaussian", 0.5).kernel_object()(x, z)[0, 0] == pytest.approx(np.exp(-4 / (2 * 4 * 0.25)))


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "parameter"), list(FORMULAS))
def test_no_regularisation_means_the_best_by_leave_one_out(kernel, parameter, data):
    X, y = data
    model = krr(kernel, parameter, 0).fit(X, y)
    rows = as_rows(X)
    ladder = resolve_alphas(None, [model.kernel_object()], rows)
    alphas = np.geomspace(ladder.min(), ladder.max(), 60)
    K = FORMULAS[kernel, parameter](X, X)
    errors = np.zeros(60)
    for i in range(37):
        rest = np.delete(np.arange(37), i)
        for a, alpha in enumerate(alphas):
            dual = np.linalg.solve(K[np.ix_(rest, rest)] + alpha * np.eye(36), y[rest])
            errors[a] += (y[i] - K[i, rest] @ dual) ** 2
    assert model.regularization_ == pytest.approx(alphas[errors.argmin()])
    assert model.regularization == 0
    assert model.regularization_ == by_leave_one_out(model.kernel_object(), rows, y)


@pytest.mark.parametrize("n", [2, 3])
def test_two_rows_are_enough(n, rng):
    X, y = rng.normal(size=(n, 1)), rng.normal(size=n)
    assert np.isfinite(krr("gaussian", 1.0).fit(X, y).predict(X)).all()
    best = cv(X, y, krr, {"regularization": [0.1, 1.0]}, nfolds=2, nrepetitions=2, random_state=0, **QUIET)
    assert np.isfinite(best.cvloss)


def test_krr_prints_as_it_is_made_and_takes_lists(data):
    assert repr(krr("gaussian", 2.0, 0.1)) == "krr('gaussian', 2.0, 0.1)"
    assert krr().kernel == "linear"
    X, y = data
    np.testing.assert_allclose(krr("linear", 1, 1.0).fit(X.tolist(), y.tolist()).predict(X.tolist()),
                               krr("linear", 1, 1.0).fit(X, y).predict(X))  # fmt: skip


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (krr("gausian"), "There is no kernel 'gausian'. Did you mean 'gaussian'?"),
        (krr("polynomial", 2.5), "kernelparameter of the polynomial kernel must be an integer; got 2.5."),
    ],
)
def test_mistakes_are_refused_in_a_sentence(model, sentence, data):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        model.fit(*data)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_regularisation_that_is_none_is_refused(bad, data):
    with pytest.raises(InputError, match=r"^regularization.* must be .*; got "):
        krr("linear", 1.0, bad).fit(*data)
    with pytest.raises(InputError, match=r"^regularization.* must be .*; got "):
        cv(*data, krr, {"regularization": [bad]}, nfolds=3, nrepetitions=1, **QUIET)


def test_rows_and_targets_must_match(data):
    with pytest.raises(InputError, match=r"y.* got 36"):
        krr().fit(data[0], data[1][1:])


# -- cv ---------------------------------------------------------------------------------------------------

GRID = {
    "kernel": ["gaussian"],
    "kernelparameter": [0.3, 1.0, 3.0],
    "regularization": [1e-3, 1e-2, 0.1, 1.0],
}


@pytest.mark.slow
@pytest.mark.parametrize("loss", [mean_absolute_error, squared_error, zero_one_loss])
@pytest.mark.parametrize(("nfolds", "nrepetitions"), [(5, 3), (10, 1), (37, 1), (2, 2)])
def test_closed_forms_equal_the_plain_loop(nfolds, nrepetitions, loss, data):
    X, y = data
    y = np.where(y > 0.5, 1, -1) if loss is zero_one_loss else y
    how = {"nfolds": nfolds, "nrepetitions": nrepetitions, "loss_function": loss, "random_state": 3, **QUIET}
    closed, loop = (cv(X, y, method, GRID, **how) for method in (krr, plain_krr))
    assert (closed.kernelparameter, closed.regularization) == (loop.kernelparameter, loop.regularization)
    assert closed.cvloss == pytest.approx(loop.cvloss, rel=1e-8)
    assert closed.cvloss_std == pytest.approx(loop.cvloss_std, rel=1e-6)
    np.testing.assert_allclose(closed.predict(X), loop.predict(X), rtol=1e-8)


def test_many_regularisations_take_the_spectral_route_to_the_same_numbers(data):
    grid = {"kernel": ["gaussian", "linear"], "kernelparameter": [1.0], "regularization": np.geomspace(1e-3, 10, 12)}
    how = {"nfolds": 4, "nrepetitions": 2, "random_state": 0, **QUIET}
    closed, loop = (cv(*data, method, grid, **how) for method in (krr, plain_krr))
    assert closed.regularization == loop.regularization
    assert closed.cvloss == pytest.approx(loop.cvloss, rel=1e-8)


def test_the_loss_is_the_mean_over_all_folds_and_repetitions(data):
    X, y = data
    losses = []

    def noting(y_true, y_pred):
        losses.append(np.abs(y_true - y_pred).mean())
        return losses[-1]

    best = cv(X, y, krr, {"regularization": [0.5]}, nfolds=5, nrepetitions=4, loss_function=noting, **QUIET)
    assert len(losses) == 20
    assert best.cvloss == pytest.approx(np.mean(losses))
    assert best.cvloss_std == pytest.approx(np.std(losses))
    assert isinstance(best.cvloss, float)


def test_the_best_combination_is_fitted_to_all_rows(data):
    X, y = data
    best = cv(X, y, krr, GRID, nfolds=5, nrepetitions=2, random_state=0, **QUIET)
    again = krr("gaussian", best.kernelparameter, best.regularization).fit(X, y)
    np.testing.assert_allclose(best.predict(X), again.predict(X))
    worse = cv(X, y, krr, {name: values[:1] for name, values in GRID.items()}, 5, 2, random_state=0, **QUIET)
    assert best.cvloss <= worse.cvloss


def test_folds_of_any_number_cover_every_row_once_in_each_repetition():
    X, y = np.arange(23.0)[:, None], np.arange(23.0)
    tested = []

    class Noting:
        weight = 1.0

        def fit(self, X, y):
            self.trained = set(y.astype(int).tolist())
            return self

        def predict(self, X):
            rows = X[:, 0].astype(int).tolist()
            assert not self.trained & set(rows)
            assert len(self.trained) + len(rows) == 23
            tested.append(rows)
            return X[:, 0]

    cv(X, y, Noting, {"weight": [1.0]}, nfolds=5, nrepetitions=3, **QUIET)
    assert len(tested) == 15
    assert sorted(map(len, tested[:5])) == [4, 4, 5, 5, 5]
    repetitions = [tested[i : i + 5] for i in (0, 5, 10)]
    for repetition in repetitions:
        assert sorted(row for fold in repetition for row in fold) == list(range(23))
    assert len({str(repetition) for repetition in repetitions}) == 3
    tested.clear()
    cv(X, y, Noting, {"weight": [1.0]}, nfolds=5, nrepetitions=1, **QUIET)
    assert tested not in repetitions


def test_a_seed_makes_the_folds_repeat_and_all_combinations_share_them(data):
    one, other = (cv(*data, krr, GRID, nfolds=4, nrepetitions=2, random_state=9, **QUIET) for _ in range(2))
    assert one.cvloss == other.cvloss
    seen = {}

    class Noting:
        weight = 1.0

        def fit(self, X, y):
            seen.setdefault(self.weight, []).append(y.tolist())
            return self

        def predict(self, X):
            return np.zeros(len(X))

    cv(*data, Noting(), {"weight": [1.0, 2.0]}, nfolds=3, nrepetitions=2, **QUIET)
    assert seen[1.0][:6] == seen[2.0][:6]


def test_an_average_roc_curve_is_a_loss(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    base = np.linspace(0, 1, 11)

    def curve(y_true, y_pred):
        false, true, _ = roc_curve(y_true, y_pred)
        return np.interp(base, false, true)

    grid = {"kernel": ["gaussian"], "kernelparameter": [0.5, 2.0], "regularization": [0.1, 1.0]}
    how = {"nfolds": 5, "nrepetitions": 3, "loss_function": curve, "random_state": 0, **QUIET}
    closed, loop = (cv(X, y, method, grid, **how) for method in (krr, plain_krr))
    assert closed.cvloss.shape == closed.cvloss_std.shape == (11,)
    np.testing.assert_allclose(closed.cvloss, loop.cvloss, rtol=1e-8)
    assert (np.diff(closed.cvloss) >= 0).all()
    assert closed.cvloss[-1] == 1.0


@pytest.mark.slow
def test_regularisation_nought_is_chosen_anew_in_every_training_part(data):
    X, y = data
    how = {"nfolds": 4, "nrepetitions": 1, "random_state": 0, **QUIET}
    grid = {"kernel": ["gaussian"], "kernelparameter": [1.0, 3.0], "regularization": [0]}
    closed, loop = (cv(X, y, method, grid, **how) for method in (krr, plain_krr))
    assert closed.cvloss == loop.cvloss
    assert closed.regularization == 0
    assert closed.regularization_ > 0
    mixed = cv(X, y, krr, {**grid, "regularization": [0, 1e-2, 1e3]}, **how)
    assert mixed.cvloss <= closed.cvloss


# -- other methods ---------------------------------------------------------------------------------------


def test_scikit_learn_estimators_are_methods(data):
    best = cv(*data, Ridge(), {"alpha": [0.1, 1e6]}, nfolds=5, nrepetitions=2, **QUIET)
    assert isinstance(best, Ridge)
    assert best.alpha == 0.1
    assert best.cvloss > 0
    assert cv(*data, SVR, {"C": [1e-6, 1.0]}, nfolds=3, nrepetitions=1, **QUIET).C == 1.0


class Shrunk:
    """A home-made method: the mean of y, shrunk. Its fit returns nothing."""

    def __init__(self, share=1.0):
        self.share = share

    def fit(self, X, y):
        self.value = self.share * y.mean()

    def predict(self, X):
        return np.full(len(X), self.value)


def test_home_made_methods_need_not_return_themselves():
    X, y = np.zeros((20, 1)), np.full(20, 3.0)
    for method in (Shrunk, Shrunk(0.5)):
        best = cv(X, y, method, {"share": [0.5, 1.0, 2.0]}, nfolds=4, nrepetitions=2, **QUIET)
        assert best.share == 1.0
        assert best.cvloss == 0.0
        np.testing.assert_array_equal(best.predict(X), y)
    assert method.share == 0.5
    assert not hasattr(method, "value")


@pytest.mark.parametrize("returned", [0.25, np.zeros(3), "done"], ids=str)
def test_what_fit_returns_does_not_matter_unless_it_is_a_model(returned):
    class Talking(Shrunk):
        def fit(self, X, y):
            super().fit(X, y)
            return returned

    best = cv(np.zeros((12, 1)), np.ones(12), Talking, {"share": [0.5, 1.0]}, nfolds=3, nrepetitions=1, **QUIET)
    assert best.share == 1.0
    assert best.cvloss == 0.0


def test_a_parameter_that_does_not_exist_is_refused(data):
    with pytest.raises(InputError, match=r"^krr has no parameter 'kernelparam'\. Did you mean 'kernelparameter'\?$"):
        cv(*data, krr, {"kernelparam": [1.0]}, **QUIET)
    with pytest.raises(InputError, match=r"Every value of parameters.* got \{'regularization': \[\]\}"):
        cv(*data, krr, {"regularization": []}, **QUIET)
    with pytest.raises(InputError, match=(r"The number of folds.* got 38")):
        cv(*data, krr, {"regularization": [1.0]}, nfolds=38, **QUIET)


def test_no_parameters_evaluate_the_method_as_it_is(data):
    model = krr("gaussian", 1.0, 0.1)
    best = cv(*data, model, {}, nfolds=4, nrepetitions=2, random_state=0, **QUIET)
    assert (best.kernelparameter, best.regularization) == (1.0, 0.1)
    assert not hasattr(model, "alpha_")


def test_a_combination_whose_loss_is_no_number_never_wins(data):
    def touchy(y_true, y_pred):
        return float("nan") if np.abs(y_pred).max() < 0.2 else mean_absolute_error(y_true, y_pred)

    best = cv(*data, krr, {"regularization": [1e6, 0.1]}, 4, 1, loss_function=touchy, random_state=0, **QUIET)
    assert best.regularization == 0.1


def test_data_frames_are_taken(data):
    import pandas as pd

    X, y = data
    frame = pd.DataFrame(X)
    how = {"nfolds": 4, "nrepetitions": 1, "random_state": 0, **QUIET}
    for method, grid in ((krr, {"regularization": [0.1, 1.0]}), (Ridge, {"alpha": [0.1, 1.0]})):
        assert cv(frame, pd.Series(y), method, grid, **how).cvloss == pytest.approx(
            cv(X, y, method, grid, **how).cvloss
        )


def test_the_remaining_time_is_printed_where_work_is_long(data, capsys, monkeypatch):
    cv(*data, krr, {"regularization": [0.1, 1.0, 10.0]}, nfolds=3, nrepetitions=1)
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("mercer.course._SHORT", 0.0)
    cv(*data, krr, {"regularization": [0.1, 1.0, 10.0]}, nfolds=3, nrepetitions=1)
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == ""
    assert [line.split(",")[0] for line in lines] == [f"{i} of 3 parameter combinations" for i in (1, 2, 3)]
    assert all(re.search(r"remaining time \d+(\.\d)? (ms|s)$", line) for line in lines)
    assert lines[-1].endswith("remaining time 0 ms")
    cv(*data, krr, {"regularization": [0.1]}, nfolds=3, nrepetitions=1, verbose=0)
    assert capsys.readouterr().out == ""


def test_losses():
    assert mean_absolute_error([1, 2], [2, 4]) == 1.5
    assert squared_error([1, 2], [2, 4]) == 2.5
    assert zero_one_loss([-1, 1, -1, 1], [-0.5, 0.1, 3.0, 0.0]) == 0.25
    assert zero_one_loss(["a", "b"], ["a", "c"]) == 0.5
    assert zero_one_loss([0, 1, 2], [0, 1, 1]) == pytest.approx(1 / 3)
    assert zero_one_loss(np.array([1.0, -1.0]), np.array([1, 1])) == 0.5


def test_nothing_that_was_given_is_changed(data):
    X, y = (array.copy() for array in data)
    X.flags.writeable = y.flags.writeable = False
    cv(X, y, krr, GRID, nfolds=4, nrepetitions=1, **QUIET)
    np.testing.assert_array_equal(X, data[0])


def test_the_kernel_is_named_as_the_library_names_it():
    assert krr("gaussian", 2).kernel_object() == Gaussian(2.0, per_dimension=True)


# -- nothing is silent -----------------------------------------------------------------------------------


def test_a_wrong_label_is_wrong_in_a_fold_of_ones():
    from sklearn.dummy import DummyClassifier

    X, y = np.zeros((40, 1)), np.repeat([0, 1], 20)
    for constant in (0, 1):
        method = DummyClassifier(strategy="constant", constant=constant)
        assert cv(X, y, method, {}, 40, 1, loss_function=zero_one_loss, **QUIET).cvloss == 0.5
    assert zero_one_loss([1, 1], [2, 0]) == 1.0
    assert zero_one_loss([1.0, 1.0], [2.0, 0.0]) == 1.0
    assert zero_one_loss([1, 1], [2.0, 0.5]) == 0.0
    assert zero_one_loss([1, 1], [True, False]) == 0.5


def test_a_loss_may_work_in_place(data):
    def in_place(y_true, y_pred):
        y_pred -= y_true
        y_true[:] = 0.0
        return np.abs(y_pred).mean()

    how = {"nfolds": 4, "nrepetitions": 2, "random_state": 0, **QUIET}
    for method in (krr, plain_krr):
        found = [cv(*data, method, GRID, loss_function=loss, **how) for loss in (in_place, mean_absolute_error)]
        assert found[0].cvloss == pytest.approx(found[1].cvloss)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_targets_that_are_no_numbers_are_refused(bad, data):
    y = data[1].copy()
    y[3] = bad
    with pytest.raises(InputError, match=rf"^y of krr must be finite; got {bad} in row 3\.$"):
        krr("gaussian", 1.0, 0.1).fit(data[0], y)


def test_losses_that_are_never_numbers_do_not_choose(data):
    with pytest.raises(InputError, match=r"^loss_function returned NaN for every combination of parameters"):
        cv(*data, krr, {"regularization": [0.1, 1.0]}, 4, 1, loss_function=lambda y, p: np.nan, **QUIET)


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (lambda X, y: krr().predict(X), "This krr is not fitted yet. Call fit(X, y) before predict."),
        (lambda X, y: krr().fit(X, y).predict(X[:, :2]), "X must have 3 columns, as in fit; got 2."),
        (
            lambda X, y: krr("gaussian", None, 0.1).fit(X, y),
            "kernelparameter of the gaussian kernel must be a positive number; got None.",
        ),
        (
            lambda X, y: krr("polynomial", "2", 0.1).fit(X, y),
            "kernelparameter of the polynomial kernel must be an integer; got '2'.",
        ),
        (
            lambda X, y: cv(X, y, krr, {"regularization": 1.0}, **QUIET),
            "parameters must be lists of values to try; got 'regularization': 1.0. Use 'regularization': [1.0].",
        ),
        (
            lambda X, y: cv(X, y, krr, {"kernel": "gaussian"}, **QUIET),
            "parameters must be lists of values to try; got 'kernel': 'gaussian'. Use 'kernel': ['gaussian'].",
        ),
        (
            lambda X, y: cv(X, y, krr, {"regularization": [1.0]}, 7, 1, lambda y, p: np.abs(y - p), **QUIET),
            (
                "The result of loss_function must be of the same shape in all folds; got (5,) and (6,). Evaluate "
                "curves on the same grid, for example with np.interp."
            ),
        ),
        (
            lambda X, y: cv(X, y, krr, {"regularization": [1.0]}, 7, 1, lambda y, p: "good", **QUIET),
            "The result of loss_function must be a number or an array of them; got 'good'.",
        ),
    ],
    ids=["unfitted", "columns", "width", "degree", "scalar", "text", "curves", "words"],
)
def test_what_cannot_be_done_is_said(work, sentence, data):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        work(*data)


def test_several_grids_are_tried_one_after_the_other(data):
    grids = [{"kernel": ["linear"], "regularization": [0.1]}, {"kernel": ["gaussian"], "kernelparameter": [0.5, 2.0]}]
    how = {"nfolds": 3, "nrepetitions": 1, "random_state": 0, "verbose": 0}
    alone = [cv(*data, krr, grid, **how) for grid in grids]
    both = cv(*data, krr, grids, **how)
    assert both.cvloss == min(each.cvloss for each in alone)
    assert refusal(cv, *data, krr, "kernel").startswith("parameters must be a dict of lists")
