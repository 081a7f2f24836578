"""Displays: what is drawn is what was found, on the axes given, without a screen.

Covers: displays.curves, displays.errors, displays.fits, displays.look, displays.selection.
"""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from refusals import refusal, tells

mpl.use("Agg")
from matplotlib import pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neighbors import NearestCentroid as Centroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from mercer import (
    AutoRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    bias_variance,
    cross_validate,
    displays,
    nested_cross_validate,
)
from mercer.displays import (
    BarsDisplay,
    BiasVarianceDisplay,
    BoundaryDisplay,
    ComplexityDisplay,
    CoverageDisplay,
    EffectDisplay,
    FitDisplay,
    GramDisplay,
    LearningCurveDisplay,
    NestedDisplay,
    NullDisplay,
    ResidualDisplay,
    SearchDisplay,
    SpectrumDisplay,
)
from mercer.displays.selection import _outline
from mercer.insight.intervals import Coverage
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.runtime.progress import listening
from views import read_only

pytestmark = pytest.mark.slow

ALPHAS = [1e-3, 1e-2, 1e-1, 1.0, 10.0]
WIDTHS = [0.1, 0.5, 1.0, 3.0, 10.0]


@pytest.fixture(autouse=True)
def nothing_is_shown(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a display must not show anything")

    monkeypatch.setattr(plt, "show", refuse)
    yield
    plt.close("all")


def wave(X):
    return np.sin(np.asarray(X)[:, 0])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 6, size=(50, 1))
    return read_only(X), read_only(wave(X) + 0.3 * rng.normal(size=50))


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, size=(60, 2))
    return read_only(X), read_only(np.sin(X[:, 0]) + X[:, 1] ** 2)


@pytest.fixture(scope="module")
def model(data):
    return KernelRidge(0.3, kernel=Gaussian(1.0)).fit(*data)


def line(display, label):
    """The drawn line with this label."""
    return next(each for each in display.ax_.lines if each.get_label() == label)


# -- what all have in common ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def every(data, plane, model):
    """How each display is made, given axes."""
    X, y = data
    X2, _ = plane
    labels = (X2[:, 0] > 0).astype(int)
    grid = KernelRidgeCV([Gaussian(w) for w in WIDTHS], ALPHAS, cv=5).fit(X, y)
    nested = nested_cross_validate(KernelRidgeCV([Gaussian(1.0)], ALPHAS), X, y, cv=4, random_state=0)
    classifier = KernelRidgeClassifier(0.1, kernel=Gaussian(1.0)).fit(X2, labels)
    return {
        "BiasVarianceDisplay": lambda ax: BiasVarianceDisplay.from_estimator(model, X, wave, 0.3, alphas=ALPHAS, ax=ax),
        "BoundaryDisplay": lambda ax: BoundaryDisplay.from_estimator(classifier, X2, labels, grid=20, ax=ax),
        "ComplexityDisplay": lambda ax: ComplexityDisplay.from_estimator(model, X, y, ALPHAS, cv=5, ax=ax),
        "CoverageDisplay": lambda ax: CoverageDisplay.from_estimator(model, X, y, confidences=[0.5, 0.8], ax=ax),
        "BarsDisplay": lambda ax: BarsDisplay(["a", "b"], y[:2], np.sort(X[:4].reshape(2, 2)), "effect").plot(ax),
        "NullDisplay": lambda ax: NullDisplay(y, 1.0, 0.02).plot(ax),
        "EffectDisplay": lambda ax: EffectDisplay(X[:5, 0], y[:5], np.abs(y[:5]), "size", "change of price").plot(ax),
        "FitDisplay": lambda ax: FitDisplay.from_estimator(model, X, y, ax=ax),
        "GramDisplay": lambda ax: GramDisplay.from_kernel(Gaussian(1.0), X, y, ax=ax),
        "LearningCurveDisplay": lambda ax: LearningCurveDisplay.from_estimator(model, X, y, ax=ax),
        "NestedDisplay": lambda ax: NestedDisplay.from_result(nested, ax=ax),
        "ResidualDisplay": lambda ax: ResidualDisplay.from_estimator(model, X, y, ax=ax),
        "SearchDisplay": lambda ax: SearchDisplay.from_estimator(grid, ax=ax),
        "SpectrumDisplay": lambda ax: SpectrumDisplay.from_estimator(model, ax=ax),
    }


@pytest.mark.parametrize("name", displays.__all__)
def test_axes_that_are_given_are_used_and_no_figure_is_made(every, name):
    figure, (first, second) = plt.subplots(1, 2)
    display = every[name](first)
    assert display.ax_ is first
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert not second.has_data()
    assert display.plot(ax=second) is display
    assert display.ax_ is second
    assert first.get_xlabel() == second.get_xlabel() != ""
    assert first.get_ylabel() == second.get_ylabel() != ""
    figure.canvas.draw()


@pytest.mark.parametrize("name", displays.__all__)
def test_without_axes_a_figure_is_made_and_nothing_lies_outside_it(every, name):
    display = every[name](None)
    figure = display.figure_
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()
    box, whole = figure.get_tightbbox(), figure.bbox_inches
    assert box.x0 >= -0.01
    assert box.y0 >= -0.01
    assert box.x1 <= whole.x1 + 0.01
    assert box.y1 <= whole.y1 + 0.01


def test_every_display_is_in_the_table_of_this_test(every):
    assert sorted(every) == sorted(displays.__all__)


def test_matplotlib_is_loaded_by_the_first_picture_and_not_before():
    code = "import sys, mercer; mercer.displays.FitDisplay; print('matplotlib' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603 - our own code
    assert ran.stdout.strip() == "False"


# -- each --------------------------------------------------------------------------------------------


def test_the_fit_is_the_prediction_and_its_band_the_interval(data, model):
    X, y = data
    display = FitDisplay.from_estimator(
        model, X, y, confidence=0.8, truth=wave, grid=30, x_label="time (s)", y_label="V"
    )
    t = np.linspace(X.min(), X.max(), 30)
    np.testing.assert_array_equal(line(display, "fit").get_xdata(), t)
    np.testing.assert_array_equal(line(display, "fit").get_ydata(), model.predict(t[:, None]))
    np.testing.assert_array_equal(line(display, "truth").get_ydata(), np.sin(t))
    np.testing.assert_array_equal(line(display, "data").get_xydata(), np.column_stack([X[:, 0], y]))
    lower, upper = model.predict_interval(t[:, None], 0.8)
    corners = display.ax_.collections[0].get_paths()[0].vertices
    assert {(a, b) for a, b in corners} >= {*zip(t, lower, strict=True), *zip(t, upper, strict=True)}
    assert display.ax_.collections[0].get_label() == "80 % interval"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("time (s)", "V")


def test_a_fit_without_targets_intervals_or_with_infinite_ones_is_drawn(data, model):
    X, y = data
    assert FitDisplay.from_estimator(model, X, confidence=None).ax_.collections[:] == []
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    assert FitDisplay.from_estimator(forest, X, y).lower is None
    few = KernelRidge(0.3, kernel=Gaussian(1.0)).fit(X[:5], y[:5])
    assert np.isinf(FitDisplay.from_estimator(few, X[:5], y[:5]).upper).all()


def test_a_fit_of_two_columns_is_a_contour_with_their_names(plane):
    X, y = plane
    frame = pd.DataFrame(X, columns=["east", "north"])
    model = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(frame, y)
    display = FitDisplay.from_estimator(model, frame, y, grid=12)
    assert display.prediction.shape == (12, 12)
    place = pd.DataFrame([[display.axes[0][3], display.axes[1][7]]], columns=["east", "north"])
    assert display.prediction[7, 3] == pytest.approx(model.predict(place)[0])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("east", "north")
    points = display.ax_.collections[-1]
    np.testing.assert_array_equal(points.get_offsets(), X)
    np.testing.assert_array_equal(points.get_array(), y)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["data, in the same colours"]


def test_three_columns_are_refused_in_a_sentence(data, model):
    assert tells(
        refusal(lambda: FitDisplay.from_estimator(model, np.zeros((4, 3)))), "X of a display", "got shape (4, 3)"
    )


def test_the_heat_map_holds_the_scores_and_marks_winner_and_neighbours(data):
    search = KernelRidgeCV([Gaussian(w) for w in WIDTHS], ALPHAS, cv=5, rule="one_se").fit(*data)
    display = SearchDisplay.from_estimator(search, x_label="width (s)")
    mean = search.cv_results_["mean_test_score"].reshape(5, 5)
    np.testing.assert_allclose(display.ax_.collections[0].get_array(), mean.T)
    star = line(display, "chosen").get_xydata()[0] - 0.5
    assert search.kernels_[int(star[0])] == search.best_kernel_
    assert search.alphas_[int(star[1])] == search.alpha_
    scores = np.array([search.cv_results_[f"split{i}_test_score"] for i in range(5)])
    best = mean.argmax()
    error = scores[:, best].std(ddof=1) / np.sqrt(5)
    np.testing.assert_array_equal(display.close, mean >= mean.max() - error)
    assert display.ax_.get_xlabel() == "width (s)"
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["0.1", "0.5", "1", "3", "10"]


def test_kernels_that_are_no_ladder_are_written_out(data):
    kernels = [Gaussian(1.0), Laplacian(1.0), Matern(1.0, nu=1.5) + Gaussian(width=2.0)]
    display = SearchDisplay.from_estimator(KernelRidgeCV(kernels, ALPHAS, cv=5).fit(*data))
    assert display.name == "kernel"
    assert display.kernels == ["Gaussian 1", "Laplacian 1", "Matern(width=1.0…sian(width=2.0)"]


def test_the_outline_goes_round_the_cells():
    inside = np.array([[False, True], [False, False]])
    assert sorted(_outline(inside)) == sorted([([1, 1], [0, 1]), ([2, 2], [0, 1]), ([1, 2], [0, 0]), ([1, 2], [1, 1])])


def test_the_complexity_curve_is_that_of_cross_validation(data):
    X, y = data
    model = KernelRidge(kernel=Gaussian(0.5))
    display = ComplexityDisplay.from_estimator(model, X, y, ALPHAS[::-1], cv=5, x_label="penalty")
    held_out = [cross_validate(model.set_params(alpha=a), X, y, cv=5) for a in ALPHAS]
    np.testing.assert_array_equal(line(display, "held out").get_xdata(), ALPHAS)
    np.testing.assert_array_equal(line(display, "held out").get_ydata(), [-each.mean for each in held_out])
    train = [np.mean((model.set_params(alpha=a).fit(X, y).predict(X) - y) ** 2) for a in ALPHAS]
    np.testing.assert_allclose(line(display, "training").get_ydata(), train)
    assert display.ax_.get_xscale() == "log"
    assert tells(
        refusal(lambda: ComplexityDisplay.from_estimator(model, X, y, [])), "values of ComplexityDisplay", "got []"
    )


def test_classifiers_have_curves_of_wrong_labels(plane):
    X, _ = plane
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = KernelRidgeClassifier(kernel=Gaussian(1.0))
    display = ComplexityDisplay.from_estimator(model, X, y, WIDTHS, parameter="kernel__width", cv=5)
    assert display.ax_.get_ylabel() == "share of wrong labels"
    assert display.ax_.get_xlabel() == "kernel__width"
    own = cross_validate(model.set_params(kernel__width=WIDTHS[1]), X, y, cv=5)
    assert display.held_out[1] == pytest.approx(1 - own.mean)
    learning = LearningCurveDisplay.from_estimator(model, X, y, sizes=[20, 40], random_state=0)
    assert ((learning.held_out >= 0) & (learning.held_out <= 1)).all()


def test_the_last_point_of_a_learning_curve_is_cross_validation_itself(data):
    X, y = data
    model = KernelRidge(0.3, kernel=Gaussian(1.0))
    display = LearningCurveDisplay.from_estimator(model, X, y, random_state=0)
    assert line(display, "held out").get_xdata()[-1] == 40
    assert line(display, "held out").get_ydata()[-1] == pytest.approx(-cross_validate(model, X, y, cv=5).mean)


def test_the_nested_picture_shows_scores_choices_and_optimism(data):
    search = KernelRidgeCV([Gaussian(w) for w in WIDTHS], ALPHAS)
    result = nested_cross_validate(search, *data, cv=5, repeats=2, random_state=0)
    display = NestedDisplay.from_result(result)
    inner, outer = display.ax_.lines[1::2]
    np.testing.assert_array_equal(outer.get_xdata(), result.scores.ravel())
    np.testing.assert_array_equal(inner.get_xdata(), result.inner_scores.ravel())
    assert display.optimism == pytest.approx(result.optimism)
    assert display.ax_.get_xlabel() == "neg_mean_squared_error (larger is better)"
    assert NestedDisplay.from_result(result, x_label="minus V^2").ax_.get_xlabel() == "minus V^2"
    assert display.ax_.get_legend().get_title().get_text() == f"optimism {result.optimism:.2g}"
    first = display.ax_.get_yticklabels()[0].get_text()
    assert first == f"1: Gaussian {result.chosen[0]['kernel'].width:.3g}, alpha {result.chosen[0]['alpha']:.3g}"


def test_pooled_and_direct_nested_pictures(data):
    search = KernelRidgeCV([Gaussian(1.0)], ALPHAS, scoring="r2")
    display = NestedDisplay.from_estimator(search, data[0][:12], data[1][:12], cv=12)
    assert display.chosen == []
    assert display.ax_.get_ylabel() == "fold or repeat"


def test_residuals_are_of_held_out_predictions(data):
    X, y = data
    search = KernelRidgeCV([Gaussian(w) for w in WIDTHS], ALPHAS, cv=5, repeats=2, random_state=0).fit(X, y)
    display = ResidualDisplay.from_estimator(search, X, y, y_label="voltage (V)")
    held_out = search.cv_predictions_.mean(axis=0)
    np.testing.assert_array_equal(display.ax_.lines[0].get_xydata(), np.column_stack([held_out, y]))
    assert display.ax_.get_ylabel() == "observed voltage (V)"
    other = ResidualDisplay.from_estimator(search.best_estimator_, X, y, cv=5, kind="residuals")
    own = cross_validate(search.best_estimator_, X, y, cv=5).predictions[0]
    np.testing.assert_array_equal(other.ax_.lines[0].get_xydata(), np.column_stack([own, y - own]))


def test_residuals_of_nothing_that_fits_are_refused_in_a_sentence():
    assert tells(
        refusal(lambda: ResidualDisplay.from_predictions([1.0], [1.0, 2.0])),
        "y and predicted of ResidualDisplay",
        "got shapes (1,) and (2,)",
    )
    assert tells(
        refusal(lambda: ResidualDisplay.from_predictions([1.0], [1.0], kind="pie")),
        "kind of ResidualDisplay",
        "got 'pie'",
    )


def test_the_gram_matrix_is_ordered_by_target(data):
    X, y = data
    display = GramDisplay.from_kernel(Gaussian(1.0), X, y)
    order = np.argsort(y)
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), Gaussian(1.0)(X[order]))
    np.testing.assert_array_equal(display.order, order)
    plain = GramDisplay.from_matrix(Gaussian(1.0)(X))
    np.testing.assert_array_equal(plain.ax_.images[0].get_array(), Gaussian(1.0)(X))
    classes = GramDisplay.from_kernel(Gaussian(1.0), X, np.where(y > 0, "up", "down"))
    assert [tick.get_text() for tick in classes.ax_.get_yticklabels()] == ["down", "up"]
    assert tells(refusal(lambda: GramDisplay.from_kernel(Linear(), X, y[:3])), "y of GramDisplay", "got shape (3,)")


def test_the_spectrum_is_that_of_the_gram_matrix(data):
    X, y = data
    display = SpectrumDisplay.from_kernel(Gaussian(0.3), X, alphas=[0.1, 1.0])
    values = np.linalg.eigvalsh(Gaussian(0.3)(X))[::-1]
    drawn = line(display, "eigenvalue").get_ydata()
    np.testing.assert_allclose(drawn, values[: len(drawn)], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(display.degrees, [np.sum(values / (values + a)) for a in (0.1, 1.0)])
    for given in (
        KernelRidge(0.1, kernel=Gaussian(0.3), fit_intercept=True),
        KernelRidgeCV([Gaussian(0.3)], [0.01, 0.1, 1.0, 10.0, 100.0], fit_intercept=True),
    ):
        fitted = given.fit(X, y)
        own = SpectrumDisplay.from_estimator(fitted)
        assert own.degrees[0] == getattr(fitted, "best_estimator_", fitted).effective_dof_
    assert tells(
        refusal(lambda: SpectrumDisplay.from_kernel(Linear(), X, alphas=[-1.0])),
        "alphas of SpectrumDisplay",
        "got [-1.0]",
    )
    assert tells(
        refusal(lambda: SpectrumDisplay.from_estimator(KernelRidge([1.0, 2.0]).fit(X, np.c_[y, y]))),
        "The estimator of SpectrumDisplay",
        "got KernelRidge",
    )


def test_bias_and_variance_are_drawn_as_they_are(data):
    X, _ = data
    result = bias_variance(KernelRidge(kernel=Gaussian(1.0)), X, wave, 0.3, alphas=ALPHAS[::-1])
    display = result.plot()
    for label, part in (("risk", "risk"), ("bias squared", "bias_squared"), ("variance", "variance")):
        np.testing.assert_array_equal(line(display, label).get_xdata(), ALPHAS)
        np.testing.assert_array_equal(line(display, label).get_ydata(), getattr(result, part)[::-1])
    assert line(display, f"least risk, at alpha = {result.best_alpha:.3g}").get_xdata() == [result.best_alpha] * 2
    one = bias_variance(KernelRidge(0.1, kernel=Gaussian(1.0)), X, wave, 0.3)
    at = BiasVarianceDisplay.from_result(one, x=X, x_label="time (s)")
    np.testing.assert_array_equal(line(at, "risk").get_ydata(), one.risk_at[np.argsort(X[:, 0])])
    assert at.ax_.get_xlabel() == "time (s)"
    drawn = bias_variance(
        KernelRidge(kernel=Gaussian(1.0)),
        X,
        wave,
        0.3,
        alphas=[0.1, 1.0],
        method="monte_carlo",
        draws=5,
        random_state=0,
    ).plot()
    assert len(drawn.ax_.collections) == 3  # bands of the standard errors


def test_coverage_is_what_the_model_says(data, model):
    X, y = data
    display = CoverageDisplay.from_estimator(model, X, y)
    asked = line(display, "jackknife+").get_xdata()
    assert asked[[0, -1]].tolist() == [0.1, 0.99]
    np.testing.assert_array_equal(
        line(display, "jackknife+").get_ydata(), [float(model.coverage(X, y, c)) for c in asked]
    )
    found = [Coverage(0.9, 1.0, 0.8, "cv+", 10), Coverage(0.5, 1.0, 0.4, "cv+", 10)]
    assert CoverageDisplay.from_coverages(found).confidence.tolist() == [0.4, 0.8]


def test_the_boundary_is_where_decisions_are_zero(plane):
    X, _ = plane
    y = np.where(X[:, 0] > 0.5, "b", "a")
    model = KernelRidgeClassifier(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, grid=40, x_label="length (cm)")
    on = display.ax_.collections[1].get_paths()[0].vertices
    assert np.abs(model.decision_function(on)).max() < 0.02
    i, j = 7, 30
    place = [[display.axes[0][j], display.axes[1][i]]]
    assert display.classes[display.regions[i, j]] == model.predict(place)[0]
    np.testing.assert_array_equal(display.ax_.collections[-1].get_offsets(), X[y == "b"])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length (cm)", "x2")


@pytest.mark.parametrize(
    "make", [KNeighborsClassifier, Centroid, SVC, lambda: KernelRidgeClassifier(0.1, kernel=Gaussian(1.0))]
)
def test_boundaries_of_three_classes_agree_with_the_predictions(plane, make):
    X, _ = plane
    y = np.digitize(X[:, 0], [-0.7, 0.7])
    display = BoundaryDisplay.from_estimator(make().fit(X, y), X, grid=30)
    np.testing.assert_array_equal(display.margins.argmax(axis=0), display.regions)
    assert display.margins.shape == (3, 30, 30)


def test_regions_differ_in_lightness_too(plane):
    X, _ = plane
    y = np.digitize(X[:, 0], [-1.2, -0.4, 0.4, 1.2])
    display = BoundaryDisplay.from_estimator(KNeighborsClassifier(3).fit(X, y), X, y, grid=20)
    fills = display.ax_.collections[0].get_facecolor()
    on_white = 1.0 - fills[:, 3:] * (1.0 - fills[:, :3])
    grey = on_white @ [0.299, 0.587, 0.114]
    assert len(grey) == 5
    assert (np.diff(grey) < -0.02).all()


def test_more_classes_than_colours_are_refused_in_a_sentence(plane):
    X, _ = plane
    model = KNeighborsClassifier(1).fit(X[:8], np.arange(8))
    assert tells(refusal(lambda: BoundaryDisplay.from_estimator(model, X)), "The estimator of BoundaryDisplay", "got 8")


# -- what cannot be drawn, and pipelines ----------------------------------------------------------


@pytest.fixture
def scaled(plane):
    X, y = plane
    return make_pipeline(StandardScaler(), KernelRidge(0.1, kernel="rbf")).fit(X, y), X, y


def test_the_complexity_of_a_pipeline_is_that_of_its_last_step(scaled):
    pipeline, X, y = scaled
    own = ComplexityDisplay.from_estimator(pipeline, X, y, [0.1, 1.0], cv=3)
    full = ComplexityDisplay.from_estimator(pipeline, X, y, [0.1, 1.0], cv=3, parameter="kernelridge__alpha")
    np.testing.assert_array_equal(own.held_out, full.held_out)
    assert own.x_label == "alpha"


def test_models_of_the_wrong_kind_are_refused_by_name(scaled):
    pipeline, X, y = scaled
    labels = np.where(y > 1, "high", "low")
    classifier = make_pipeline(StandardScaler(), KernelRidgeClassifier(0.1)).fit(X, labels)
    for display in (FitDisplay, ResidualDisplay, CoverageDisplay):
        assert tells(refusal(display.from_estimator, classifier, X, labels), display.__name__, "KernelRidgeClassifier")
    assert tells(refusal(BoundaryDisplay.from_estimator, pipeline, X, y), "BoundaryDisplay", "KernelRidge")
    assert tells(refusal(SearchDisplay.from_estimator, pipeline), "SearchDisplay", "a search", "KernelRidge")
    forest = RandomForestRegressor(2).fit(X, y)
    assert tells(refusal(CoverageDisplay.from_estimator, forest, X, y), "CoverageDisplay", "RandomForestRegressor")
    auto = AutoRegressor(time_budget=1).fit(X, y)
    assert tells(refusal(SpectrumDisplay.from_estimator, auto), "SpectrumDisplay", "AutoRegressor")


def test_columns_of_text_are_refused_in_a_sentence(rng):
    X = pd.DataFrame({"size": rng.normal(size=20), "kind": rng.choice(list("xy"), 20)})
    mixed = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(sparse_output=False), ["kind"]))
    pipeline = make_pipeline(mixed, KernelRidge(0.1)).fit(X, X["size"])
    assert tells(refusal(FitDisplay.from_estimator, pipeline, X), "X of a display", "numbers", "column_effect")
    labelled = make_pipeline(mixed, KernelRidgeClassifier(0.1)).fit(X, X["size"] > 0)
    assert tells(refusal(BoundaryDisplay.from_estimator, labelled, X), "X of a display", "numbers")


def test_learning_and_complexity_curves_tell_their_progress(scaled):
    pipeline, X, y = scaled
    pieces = []
    with listening(lambda what, done, total: pieces.append((what, done, total))):
        LearningCurveDisplay.from_estimator(pipeline, X, y, sizes=[10, 20], cv=3)
        ComplexityDisplay.from_estimator(pipeline, X, y, [0.1, 1.0], cv=3)
    assert pieces[11] == ("learning curve", 12, 12)
    assert pieces[-1] == ("complexity", 2, 2)
