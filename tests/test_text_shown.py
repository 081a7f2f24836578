"""Results in a notebook: a line, a table, a data frame; models with their summary below the diagram."""

from html import escape

import numpy as np
import pytest

import mercer
from mercer import (
    AutoRegressor,
    KernelRidge,
    KernelRidgeCV,
    NystroemRidge,
    TableEncoder,
    bias_variance,
    check_mercer,
    cross_validate,
    evaluate,
    nested_cross_validate,
    noise_estimate,
    repair,
    tune,
)
from mercer.kernels import Gaussian, parse
from mercer.text import Shown, Text, sentences

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
SEARCH = KernelRidgeCV([Gaussian(1.0), Gaussian(2.0)], [1e-3, 1e-2, 1e-1, 1.0], cv=5, random_state=0)
RESULTS = {
    "cross_validate": (lambda: cross_validate(KernelRidge(0.1), X, Y, cv=5, random_state=0), 5),
    "nested_cross_validate": (lambda: nested_cross_validate(SEARCH, X, Y, cv=5, random_state=0), 5),
    "explain": (lambda: SEARCH.explain(X, Y), None),
    "evaluate": (lambda: AutoRegressor().evaluate(X, Y, cv=3), 3),
    "tune": (lambda: tune(Gaussian(1.0), X, Y, random_state=0), None),
    "certificate": (lambda: parse("gaussian(2) * linear() + linear()").certificate(), 5),
    "bias_variance": (lambda: bias_variance(KernelRidge(0.1), X, (Y, Y[:4]), 0.1, X_test=X[:4]), None),
    "evaluate a model": (lambda: evaluate(SEARCH.fit(X, Y), X, Y), 2),
    "table of a search": (lambda: SEARCH.fit(X, Y).table_, 8),
    "check_mercer": (lambda: check_mercer(Gaussian(1.0), X), 1),
    "noise_estimate": (lambda: noise_estimate(X, Y, KernelRidge(0.1)), 1),
    "repair": (lambda: repair([[0.0, 1.0], [1.0, 0.0]], return_report=True)[1], 1),
    "report of an encoder": (lambda: TableEncoder().fit(X).encode(9 * X).report, 2),
    "plan of passes": (lambda: NystroemRidge().explain(X, Y), 1),
    "coverage": (lambda: AutoRegressor().fit(X, Y).coverage(X, Y), 1),
}


@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_results_show_themselves(name):
    make, rows = RESULTS[name]
    result = make()
    assert isinstance(result, Shown)
    line = repr(result)
    assert "\n" not in line
    assert len(line) < 200
    assert line.startswith(f"<{type(result).__name__}: ")
    frame = result.to_frame()
    assert len(frame) == (rows or len(frame)) > 0
    page = result._repr_html_()
    assert page.count("<tr>") == 1 + min(len(frame), 50)
    assert all(f">{escape(column)}</th>" in page for column in frame.columns)
    assert all(escape(said) in page for said in sentences(str(result)))
    assert ("<svg" in page) == hasattr(result, "plot")


def test_cells_of_a_page_are_escaped():
    class Odd(Shown):
        def __str__(self):
            return "a < b"

        def _columns(self):
            return {"<i>": ["<script>"] * 60}

    page = Odd()._repr_html_()
    assert "<script>" not in page
    assert "<i>" not in page
    assert "... and 10 more rows" in page


@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_summaries_are_shown_as_text_and_below_the_diagram():
    model = SEARCH.fit(X, Y)
    assert isinstance(model.summary(), Text)
    assert repr(model.summary()) == str(model.summary())
    page = model._repr_mimebundle_()["text/html"]
    assert page.count(">2 kernels x 4 alphas by") == 1
    assert "sk-top-container" in page
    assert "kernels x 4 alphas by" not in KernelRidgeCV()._repr_html_()
    auto = AutoRegressor().fit(X, Y)
    assert "Estimated error" in auto._repr_html_()


@pytest.mark.parametrize("model", [KernelRidge(0.1), NystroemRidge(0.1), TableEncoder()])
def test_what_is_known_of_a_fitted_model_stands_below_its_diagram(model):
    below = {"KernelRidge": "Solved by primal", "NystroemRidge": "landmarks", "TableEncoder": "missing  features"}
    words = below[type(model).__name__]
    assert words not in model._repr_mimebundle_()["text/html"].rpartition("</div>")[2]
    model.fit(X, Y) if hasattr(model, "predict") else model.fit(X)
    assert words in model._repr_mimebundle_()["text/html"].rpartition("</div>")[2]


def test_displays_and_data_show_shapes_and_no_numbers():
    display = mercer.displays.ResidualDisplay(Y, Y)
    assert repr(display) == "<ResidualDisplay: y 30, predicted 30, kind 'observed', y_label 'y'>"
    assert repr(TableEncoder().fit(X).encode(X)).startswith("<Encoded: values 30 x 2, report ")
