"""What the page is told, against the library's own calls for the same state.

Covers: lab.questions.
"""

import base64

import numpy as np
import pytest

from mercer import KernelLogistic, KernelRegressor, KernelRidge, KernelRidgeClassifierCV, KernelRidgeCV, influence
from mercer.errors import InputError
from mercer.kernels import parse
from mercer.lab.answers import ALPHAS, WIDTHS, answer, plain, wider
from mercer.solvers.newton import Task

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0.0, 6.0, size=(30, 1)), axis=0)
Y = np.sin(X[:, 0]) + 0.2 * RNG.normal(size=30)
AT = np.linspace(0.0, 6.0, 7)[:, None]
TEXT = "Gaussian(width=1.5) + 0.5 * Linear()"


def question(labels=False, **more):
    y = np.where(Y > 0, 1.0, -1.0) if labels else Y
    points = {"x": X.tolist(), "y": y.tolist(), "labels": labels}
    return {"points": points, "kernel": TEXT, "alpha": 0.3, "intercept": True, "at": AT.tolist()} | more


def test_a_fit_is_that_of_the_library():
    found = answer("fit", question())
    model = KernelRidge(0.3, kernel=parse(TEXT), fit_intercept=True).fit(X, Y)
    assert np.array_equal(found["curve"], model.predict(AT))
    np.testing.assert_allclose([found["lower"], found["upper"]], model.predict_interval(AT, 0.9), rtol=1e-12)
    assert found["training"] == pytest.approx(np.sqrt(np.mean((Y - model.predict(X)) ** 2)))
    assert found["left_out"] == influence(model).error
    assert found["degrees"] == model.effective_dof_
    np.testing.assert_allclose(found["error_without"], influence(model).error_without, rtol=1e-12)


def test_labels_have_probabilities_and_shares_of_wrong_labels():
    found = answer("fit", question(labels=True))
    y = np.where(Y > 0, 1.0, -1.0)
    search = KernelRidgeClassifierCV([parse(TEXT)], [0.3], fit_intercept=True).fit(X, y)
    assert np.allclose(found["curve"], search.predict_proba(AT)[:, 1])
    assert found["left_out"] == pytest.approx(1 - search.best_score_)
    assert found["training"] == np.mean(search.predict(X) != y)
    assert np.allclose(found["decision"], search.decision_function(AT))


SQUARED_ALONE = ("leverage", "error_without", "degrees", "digits")


def test_the_squared_loss_is_the_default():
    found, named = answer("fit", question()), answer("fit", question(loss="squared"))
    assert plain(found) == plain(named)
    assert "converged" not in found


def test_a_huber_fit_is_that_of_the_library():
    found = answer("fit", question(loss="huber"))
    model = KernelRegressor(0.3, loss="huber", kernel=parse(TEXT), fit_intercept=True).fit(X, Y)
    assert np.array_equal(found["curve"], model.predict(AT))
    (loss,) = model.losses_
    assert found["training"] == pytest.approx(loss.rows(Y, model.predict(X)[:, None]).mean())
    left = []
    for i in range(len(Y)):
        rest = np.arange(len(Y)) != i
        other = KernelRegressor(0.3, loss="huber", delta=loss.delta, kernel=parse(TEXT), fit_intercept=True)
        left.append(other.fit(X[rest], Y[rest]).predict(X[[i]]))
    assert found["left_out"] == pytest.approx(loss.rows(Y, np.array(left)).mean(), rel=0.05)
    assert np.allclose(found["residuals"], Y - np.ravel(left), atol=0.1)
    assert "lower" not in found
    assert [found[name] for name in SQUARED_ALONE] == [None] * 4


def test_quantiles_are_those_of_the_library():
    found, levels = answer("fit", question(loss="quantile")), (0.05, 0.5, 0.95)
    model = KernelRegressor(0.3, loss="quantile", quantiles=levels, kernel=parse(TEXT), fit_intercept=True).fit(X, Y)
    assert np.array_equal(np.column_stack([found[name] for name in ("lower", "curve", "upper")]), model.predict(AT))
    r, level = Y[:, None] - model.predict(X), np.array(levels)
    assert found["training"] == pytest.approx(np.maximum(level * r, (level - 1) * r).mean(), rel=1e-3)
    assert [found[name] for name in ("left_out", "residuals", *SQUARED_ALONE)] == [None] * 6


def test_a_logistic_fit_is_that_of_the_library():
    found, y = answer("fit", question(labels=True, loss="logistic")), np.where(Y > 0, 1.0, -1.0)
    model = KernelLogistic(0.3, kernel=parse(TEXT), fit_intercept=True).fit(X, y)
    assert np.allclose(found["curve"], model.predict_proba(AT)[:, 1])
    assert np.array_equal(found["decision"], model.decision_function(AT))
    assert found["training"] == pytest.approx(np.log1p(np.exp(-y * model.decision_function(X))).mean())
    optimum = Task(parse(TEXT)(X), (y + 1) / 2, np.ones(30), model.losses_[0], True).minimize(0.3)
    left = np.ravel(optimum.leave_out([np.array([i]) for i in range(30)])[0])
    assert found["left_out"] == pytest.approx(np.log1p(np.exp(-y * left)).mean())
    assert [found[name] for name in ("residuals", *SQUARED_ALONE)] == [None] * 5


def test_fits_of_a_loss_need_no_places_and_take_words():
    assert answer("fit", question(loss="quantile", at=[]))["curve"] == []
    points = {"x": ["hello", "welcome", "hallo", "willkommen"], "y": [1, 1, -1, -1]}
    asked = {"points": points, "kernel": "Spectrum(length=2)", "alpha": 0.1, "at": ["hullo"], "loss": "huber"}
    model = KernelRegressor(0.1, loss="huber", kernel=parse("Spectrum(length=2)")).fit(points["x"], points["y"])
    assert np.array_equal(answer("fit", asked)["curve"], model.predict(["hullo"]))


@pytest.mark.parametrize("what", ["overview", "surface"])
def test_errors_of_all_alphas_stay_those_of_the_squared_loss(what):
    assert plain(answer(what, question(loss="huber"))) == plain(answer(what, question()))


def test_the_curve_without_a_point_is_that_of_a_refit():
    found = answer("without", question(row=4))
    rest = np.arange(30) != 4
    model = KernelRidge(0.3, kernel=parse(TEXT), fit_intercept=True).fit(X[rest], Y[rest])
    assert np.allclose(found["curve"], model.predict(AT), rtol=1e-9)


@pytest.mark.parametrize("labels", [False, True])
def test_overview_and_surface_are_scores_of_searches(labels):
    y = np.where(Y > 0, 1.0, -1.0) if labels else Y
    kind = KernelRidgeClassifierCV if labels else KernelRidgeCV
    found = answer("overview", question(labels))
    surface = answer("surface", question(labels))
    assert len(found["errors"]) == len(ALPHAS)
    for place in (5, 14):
        scores = kind([parse(TEXT)], [ALPHAS[place]], fit_intercept=True).fit(X, y).cv_results_["mean_test_score"][0]
        expected = 1 - scores if labels else np.sqrt(-scores)
        assert found["errors"][place] == pytest.approx(expected, rel=1e-6)
        assert surface["errors"][len(WIDTHS) // 2][place] == pytest.approx(expected, rel=1e-6)
    assert np.allclose(found["eigenvalues"], np.linalg.eigvalsh(parse(TEXT)(X))[::-1])
    image = np.frombuffer(base64.b64decode(found["gram"]["bytes"]), dtype=np.uint8).reshape(30, 30)
    assert image.max() == 255
    assert (image == image.T).all()


def test_draws_share_one_factor():
    draws = [(Y + shift).tolist() for shift in (0.0, 1.0)]
    found = answer("draws", question(draws=draws))
    assert np.allclose(found["curves"][1] - found["curves"][0], 1.0)


def test_words_are_points_too():
    words = ["hello", "welcome", "hallo", "willkommen"]
    asked = {"points": {"x": words, "y": [1, 1, -1, -1]}, "kernel": "Spectrum(length=2)", "alpha": 0.1, "at": ["hullo"]}
    model = KernelRidge(0.1, kernel=parse("Spectrum(length=2)")).fit(words, [1.0, 1.0, -1.0, -1.0])
    assert np.allclose(answer("fit", asked)["curve"], model.predict(["hullo"]))
    assert answer("overview", asked)["gram"]["size"] == 4


def test_certificates():
    assert answer("kernel", {"kernel": "Gaussian(2) * Linear()"})["valid"] is True
    found = answer("kernel", {"kernel": "sigmoid()"})
    assert found["valid"] is False
    assert found["because"][0].startswith("not valid")


def test_widths_of_all_parts_are_multiplied():
    assert wider(parse("Gaussian(width=[1, 2]) + Matern(width=3)"), 2.0) == parse(
        "Gaussian(width=[2.0, 4.0]) + Matern(width=6.0)"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kernel": "gausian(1)"}, "gausian"),
        ({"kernel": 5}, "The kernel must be a text"),
        ({"kernel": "x" * 3000}, "at most 2000 letters"),
        ({"alpha": 0}, "alpha must be above 0"),
        ({"alpha": "1"}, "alpha must be a number"),
        ({"alpha": True}, "alpha must be a number"),
        ({"points": {"x": [[1.0]], "y": [1.0]}}, "at least 2 points"),
        ({"points": {"x": [[1.0], [2.0]], "y": [1.0]}}, "as many points as targets"),
        ({"points": {"x": [[1.0], [2.0, 3.0]], "y": [1.0, 2.0]}}, "lists of numbers"),
        ({"points": {"x": [[1.0], [None]], "y": [1.0, 2.0]}}, "lists of numbers"),
        ({"points": {"x": [[1.0], [2.0]], "y": [1.0, 1.0], "labels": True}}, "points of both labels"),
        ({"points": {"x": [[float(i)] for i in range(301)], "y": [0.0] * 301}}, "at most 300"),
        ({"points": {"x": ["a", 5], "y": [1, 2]}}, "list of at most 60 texts"),
        ({"points": {"x": ["a" * 300, "b"], "y": [1, 2]}}, "at most 40 letters"),
        ({"points": [1, 2]}, "points must be an object"),
        ({"loss": "absolute"}, "The loss of numbers must be one of 'squared', 'huber', 'quantile'; got 'absolute'"),
        ({"loss": "logistic"}, "The loss of numbers must be one of"),
        ({"loss": ["huber"]}, "The loss of numbers must be one of"),
        ({"loss": None}, "The loss of numbers must be one of"),
        ({"loss": "huber", "kernel": "Sigmoid()"}, "kernel of KernelRegressor must be a Mercer kernel"),
        ({"at": [[1.0, 2.0]]}, "places must have 1 numbers each"),
        ({"at": [[1.0]] * 5000}, "at most 4096"),
        ({"at": [[1e300]]}, "not be larger than 1e100"),
    ],
)
def test_questions_that_are_refused(change, said):
    with pytest.raises(InputError, match=said):
        answer("fit", question() | change)


def test_losses_of_numbers_are_refused_for_labels():
    with pytest.raises(InputError, match="The loss of labels must be one of 'squared', 'logistic'; got 'huber'"):
        answer("fit", question(labels=True, loss="huber"))


def test_other_questions_that_are_refused():
    for row in (-1, 30, "4", True, None):
        with pytest.raises(InputError, match="row must be the number of a point, from 0 to 29"):
            answer("without", question(row=row))
    with pytest.raises(InputError, match="draws must be at most 50"):
        answer("draws", question(draws=[]))
    with pytest.raises(InputError, match="This kernel has no width"):
        answer("surface", question() | {"kernel": "Linear()"})
    with pytest.raises(InputError, match="The request must be an object"):
        answer("fit", [1])
    with pytest.raises(KeyError):
        answer("other", {})


def test_numbers_that_json_does_not_have_are_null():
    told = {"a": np.array([1.0, np.inf]), "b": [np.nan], "c": np.array([1, 2]), "d": None, "e": float("nan")}
    assert plain(told) == {"a": [1.0, None], "b": [None], "c": [1, 2], "d": None, "e": None}
