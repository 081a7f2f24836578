"""Kernels from text: every kernel's text gives it back, and nothing in a text is ever run."""

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kernel_strategies import composed_kernels
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from mercer import kernels
from mercer.errors import KernelTextError
from mercer.kernels import (
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Custom,
    FromFeatures,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Outer,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    SquaredDistance,
    parse,
)
from mercer.kernels.algebra import Composed
from mercer.kernels.notation import NAMES, snake
from refusals import refusal, tells


def said(text):
    return refusal(parse, text, kind=KernelTextError)


# -- round trips ------------------------------------------------------------------------------------


@pytest.mark.slow
@given(kernel=composed_kernels(depth=4, tame=False))
@example(kernel=Linear() + (Linear() + Linear()))
@example(kernel=Linear() * (Linear() * Linear()))
@example(kernel=2.0 * (3.0 * Linear()))
@example(kernel=(Linear() ** 2) ** 3)
@example(kernel=(2.0 * Linear()) ** 2)
@example(kernel=(2.0 * Linear()) * Linear())
@example(kernel=Linear() * (2.0 * Linear()))
@example(kernel=2.0 * (Linear() * Linear()))
@example(kernel=2.0 * Linear() ** 2)
@example(kernel=(Linear() + 1.0) * (Gaussian() + Linear()))
@example(kernel=(Linear() + 1.0).exp().on([1, 0]).normalized())
def test_the_text_of_any_kernel_gives_it_back(kernel):
    text = repr(kernel)
    assert parse(text) == kernel
    assert hash(parse(text)) == hash(kernel)
    assert repr(parse(text)) == text
    assert eval(text, vars(kernels).copy()) == kernel  # noqa: S307 - our own text


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(2),
        Gaussian(np.float64(0.1)),
        Gaussian(np.float32(0.1)),
        Gaussian([1.0, 2]),
        Gaussian((1.0, 2)),
        Gaussian((1.0,)),
        Gaussian(np.array([0.1, 0.2])),
        Gaussian(np.array([1, 2])),
        Gaussian(np.array([0.1, 0.2], dtype=np.float32)),
        Gaussian([np.float64(1.0), np.float32(0.1)]),
        Gaussian(1e-7, per_dimension=True),
        Gaussian(np.array(2.0)),
        Polynomial(np.int64(3), 0, 1),
        Linear().on("a 'quoted' \"name\" \\ with\nlines"),
        Linear().on(["a", 0, "ä", -1]),
        Linear().on(np.array([0, 1])),
        Linear().on((0, 1)),
        Sigmoid(-1.0, -2.0),
        Precomputed() + 1.0,
        np.float64(0.1) * Linear(),
        7 * Linear(),
        0 * Linear(),
        1e-300 * Linear(),
        0.1 * Linear() + 0.2 * Linear(),
    ],
    ids=repr,
)
def test_parameters_of_every_make_survive_the_text(kernel):
    assert parse(repr(kernel)) == kernel


@pytest.mark.parametrize("family", list(NAMES.values()), ids=lambda family: family.__name__)
def test_every_kernel_that_can_be_written_is_known_in_both_spellings(family):
    assert parse(repr(family())) == family()
    assert parse(f"{snake(family.__name__)}()") == family()
    assert parse(f"{snake(family.__name__)}") == family()
    assert parse(family.__name__.upper() + "()") == family()


def test_every_public_leaf_kernel_can_be_written_or_holds_a_function():
    atoms = {
        cls
        for cls in vars(kernels).values()
        if isinstance(cls, type) and issubclass(cls, Kernel) and not issubclass(cls, Composed)
    } - {kernels.Kernel, kernels.Stationary}
    assert atoms == {*NAMES.values(), Custom, FromFeatures, Outer}


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("gaussian(width=2) + 0.5 * linear()", Gaussian(2.0) + 0.5 * Linear()),
        ("gaussian(2)", Gaussian(2.0)),
        ("  linear()  ", Linear()),
        ("linear() # a comment", Linear()),
        ("(linear())", Linear()),
        ("Gaussian(width=[1, 2.5])", Gaussian([1.0, 2.5])),
        ("gaussian((1, 2.5), True)", Gaussian([1.0, 2.5], per_dimension=True)),
        ("gaussian.from_gamma(2)", Gaussian.from_gamma(2.0)),
        ("Gaussian.from_gamma([2, 8])", Gaussian.from_gamma([2.0, 8.0])),
        ("rational_quadratic(shape=0.5)", RationalQuadratic(shape=0.5)),
        ("RationalQuadratic(1, 0.5)", RationalQuadratic(1.0, 0.5)),
        ("matern(nu=0.5).on('age')", Matern(nu=0.5).on("age")),
        ("linear().on([0, 3]) * periodic(period=7).on(1)", Linear().on([0, 3]) * Periodic(period=7.0).on(1)),
        ("linear().on(-1)", Linear().on(-1)),
        ("(0.1 * linear()).exp().normalized()", (0.1 * Linear()).exp().normalized()),
        ("1 + linear()", Constant(1.0) + Linear()),
        ("linear() + 1", Linear() + 1.0),
        ("linear() + 0", Linear()),
        ("linear() ** 2 * 3", 3.0 * Linear() ** 2),
        ("chi2(gamma=0.5) + additive_chi2()", Chi2(0.5) + AdditiveChi2()),
        ("cosine + squared_distance * laplacian(3)", Cosine() + SquaredDistance() * Laplacian(3.0)),
        ("sigmoid(-1, offset=-0.5)", Sigmoid(-1.0, -0.5)),
        ("constant(2)", Constant(2.0)),
    ],
)
def test_a_text_means_what_the_same_python_means(text, kernel):
    assert parse(text) == kernel


# -- refusals ---------------------------------------------------------------------------------------

ATTACKS = [
    "__import__('os').system('x')",
    "(lambda: 1)()",
    "gaussian().__class__",
    "gaussian().__class__.__mro__[1].__subclasses__()",
    "gaussian().set_params(width=3)",
    "gaussian().map(print)",
    "9**9**9",
    "9**9**9 * linear()",
    "linear() ** 9**9**9",
    "[linear() for _ in range(10)]",
    "linear() if True else linear()",
    "(x := linear())",
    "f'{linear()}'",
    "linear()[0]",
    "linear() and linear()",
    "linear() < linear()",
    "await linear()",
    "yield linear()",
    "*linear()",
    "open('/etc/passwd')",
    "exec('1')",
    "print",
    "Kernel()",
    "Sum(linear(), linear())",
    "Certificate",
    "parse('linear()')",
    "gaussian(*[1])",
    "gaussian(**{'width': 2})",
    "gaussian(width=print)",
    "gaussian(width=linear)",
    "linear()\nlinear()",
    "import os",
    "linear();linear()",
    "linear()\x00",
    "\x00",
    "\ud800",
    "linear(",
    "linear())",
    "",
    "   ",
    "\n",
    "()",
    "[]",
    "3",
    "-3",
    "'linear()'",
    "True",
    "None",
    "...",
    "1j * linear()",
    "b'a' * linear()",
    "1 + 1",
    "linear() - linear()",
    "linear() / 2",
    "-linear()",
    "+linear()",
    "not linear()",
    "linear() @ linear()",
    "2 ** linear()",
    "linear() ** linear()",
    "linear() ** 1.5",
    "linear() ** -1",
    "linear() ** 0",
    "linear() ** True",
    "linear() * True",
    "linear() * 'a'",
    "linear() + [1]",
    "-1 * linear()",
    "linear() + -1",
    "linear(1)",
    "linear(width=1)",
    "gaussian(1, True, 3)",
    "gaussian(widht=1)",
    "gaussian(width=None)",
    "gaussian(width=-1)",
    "gaussian(width=1e999)",
    "gaussian(width=[])",
    "gaussian(width=[1, [2]])",
    "gaussian(width='wide')",
    "gaussian(width=--1)",
    "gaussian.from_gamma()",
    "gaussian.from_gamma(-1)",
    "gaussian().from_gamma(2)",
    "matern.from_gamma(1)",
    "matern(nu=2)",
    "matern(nu=[0.5])",
    "polynomial(degree=-1)",
    "constant(-1)",
    "linear().on()",
    "linear().on([])",
    "linear().on(1.5)",
    "linear().on(linear())",
    "linear().on(0, 1)",
    "linear().exp(3)",
    "linear().normalized(3)",
    "precomputed().on(0)",
    "precomputed().normalized()",
    "precomputed() + linear()",
    "custom(print)",
    "from_features(1)",
    "outer()",
    "(" * 4000 + "linear()" + ")" * 4000,
    "(" * 100_000,
    "(" * 50_000 + ")" * 50_000,
    "[" * 3000,
    "-" * 9000 + "1",
    "(" * 900 + "linear()" + ")" * 900,
    "linear()" + ".exp()" * 1500,
    "1" * 5000 + " * linear()",
    "x" * 20_000,
    "gausian(2)",
]


@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: repr(text[:40]))
def test_whatever_is_no_kernel_is_refused_in_a_sentence(text):
    sentence = said(text)
    assert re.search(r"[.?]$", sentence)
    assert len(sentence) < 1000


@pytest.mark.parametrize("text", [None, 3, 3.5, b"linear()", ["linear()"], Linear(), True])
def test_what_is_no_text_is_refused(text):
    assert tells(said(text), "A kernel expression", f"got {text!r}")


def test_a_whole_number_too_large_for_floating_point_is_refused_in_a_sentence():
    assert "is invalid: " in said(f"constant(1{'0' * 400})")
    assert "is invalid: " in said(f"1{'0' * 400} * linear()")


def test_a_parameter_given_twice_is_refused_as_python_refuses_it():
    assert tells(said("gaussian(width=1, width=2)"), "'gaussian(width=1, width=2)'")


def test_a_text_that_is_too_long_is_refused_before_it_is_looked_at():
    assert tells(said("(" * 100_000), "A kernel expression", "got 100000")


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("gausian()", "gaussian"),
        ("Guassian(2)", "gaussian"),
        ("lineer()", "linear"),
        ("RationalQuadratc()", "rational_quadratic"),
        ("rational_quadratik", "rational_quadratic"),
        ("laplace()", "laplacian"),
        ("poly_nomial_()+matérn()", "matern"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(text, nearest):
    assert f"Did you mean '{nearest}'?" in said(text)


def test_sentences_are_whole():
    assert tells(said("gausian(2)"), "'gausian'", "'gaussian'")
    assert said("foo()").startswith("There is no kernel 'foo'. Known: additive_chi2, chi2, constant, cosine, gaussian,")
    assert tells(said("3"), "The kernel expression '3'", "got 3")
    assert tells(
        said("linear() - linear()"), "The kernel expression 'linear() - linear()'", "kernels are combined by +,"
    )
    assert tells(said("gaussian(widht=1)"), "Invalid arguments in 'gaussian(widht=1)': its parameters")
    assert tells(said("linear(1)"), "Invalid arguments in 'linear(1)': it")
    assert tells(said("matern(nu=2)"), "The kernel expression 'matern(nu=2)'", "got 2")
    assert tells(said("linear().__class__"), "The kernel expression 'linear().__class__'")
    assert tells(said("custom(1)"), "custom")


def test_a_long_text_is_quoted_by_its_beginning():
    text = "gaussian() - " + "linear() + " * 10 + "linear()"
    assert f"{text[:57]}..." in said(text)
    assert text not in said(text)


def test_the_text_of_a_kernel_with_a_function_cannot_be_read_back():
    for kernel in (Custom(np.dot), FromFeatures(np.abs), Outer(np.sum), Linear().map(np.abs)):
        assert tells(said(repr(kernel)), f"The kernel expression {repr(kernel)!r}", "the syntax is invalid")


def test_the_text_of_a_kernel_of_ones_own_cannot_be_read_back():
    class Mine(Kernel):
        pass

    assert said(repr(Mine())).startswith("There is no kernel 'Mine'.")


@given(text=st.text(alphabet="linear()+*. 0123gaus[]'\"\n_=,-", max_size=40))
def test_any_text_is_a_kernel_or_refused_and_nothing_else_happens(text):
    try:
        kernel = parse(text)
    except KernelTextError as problem:
        assert re.search(r"[.?]$", str(problem))  # noqa: PT017 - both outcomes are allowed
    else:
        assert isinstance(kernel, Kernel)


def test_kernels_by_gamma_are_those_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(5, 3))
    for name, peer in (("rbf", rbf_kernel), ("gaussian", rbf_kernel), ("laplacian", laplacian_kernel)):
        np.testing.assert_allclose(parse(f"{name}(gamma=0.3)")(X), peer(X, gamma=0.3), rtol=1e-12)
    assert parse("rbf(gamma=2)").certificate().valid is True
