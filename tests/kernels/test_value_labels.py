"""Every column of a feature map has a name, written as the lectures write it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer.data import as_rows
from mercer.errors import MemoryRefusal
from mercer.kernels import (
    Constant,
    Cosine,
    FromFeatures,
    Gaussian,
    Kernel,
    Linear,
    Outer,
    Polynomial,
    Words,
)
from mercer.kernels.value import Label
from refusals import refusal, tells

X = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])


def first(X):
    return X[:, 0]


def both(X):
    return np.hstack([X, X**2])


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (Linear(), ["x1", "x2"]),
        (Polynomial(2, offset=0), ["x1^2", "sqrt2*x1*x2", "x2^2"]),
        (Polynomial(2), ["1", "sqrt2*x1", "sqrt2*x2", "x1^2", "sqrt2*x1*x2", "x2^2"]),
        (Polynomial(1, offset=4.0, scale=9.0), ["2", "3*x1", "3*x2"]),
        (Polynomial(2, offset=0, scale=0.5), ["0.5*x1^2", "0.707*x1*x2", "0.5*x2^2"]),
        (Polynomial(3, offset=0), ["x1^3", "sqrt3*x1^2*x2", "sqrt3*x1*x2^2", "x2^3"]),
        (Polynomial(3, offset=0, scale=0.7), ["0.586*x1^3", "1.01*x1^2*x2", "1.01*x1*x2^2", "0.586*x2^3"]),
        (Constant(), ["1"]),
        (Constant(2.5), ["1.58"]),
        (Constant(0.0), ["0"]),
        (Cosine(), ["x1/|x|", "x2/|x|"]),
        (Outer(first), ["first(x)"]),
        (Outer(lambda X: X[:, 0]), ["f(x)"]),
        (FromFeatures(both), ["phi1(x)", "phi2(x)", "phi3(x)", "phi4(x)"]),
        (Linear() + Constant(1.0), ["x1", "x2", "1"]),
        (Linear() * Linear(), ["x1^2", "x1*x2", "x2*x1", "x2^2"]),
        (Linear() * Outer(first), ["x1*first(x)", "x2*first(x)"]),
        (4.0 * Linear(), ["2*x1", "2*x2"]),
        (2.5 * Linear(), ["1.58*x1", "1.58*x2"]),
        (2.0 * Polynomial(2, offset=0), ["sqrt2*x1^2", "2*x1*x2", "sqrt2*x2^2"]),
        (0.5 * Polynomial(2, offset=0), ["0.707*x1^2", "x1*x2", "0.707*x2^2"]),
        (0.0 * Linear(), ["0", "0"]),
        (2.0 * Constant(2.0) * Outer(first), ["2*first(x)"]),
        ((Linear() + 1.0) ** 2, ["x1^2", "x1*x2", "x1", "x2*x1", "x2^2", "x2", "x1", "x2", "1"]),
        (Outer(first) ** 3, ["first(x)^3"]),
        (Linear().on(1), ["x2"]),
        (Polynomial(2, offset=0).on([1, 0]), ["x2^2", "sqrt2*x2*x1", "x1^2"]),
        (Linear().on([-1]), ["x2"]),
        (Outer(first).on(1), ["first(x2)"]),
        (FromFeatures(both).on(1), ["phi1(x2)", "phi2(x2)"]),
        (Linear().map(np.tanh), ["tanh(x)1", "tanh(x)2"]),
        (Polynomial(2, offset=0).map(lambda X: X[:, :1]), ["f(x)1^2"]),
        (Linear().map(both).on(0), ["both(x1)1", "both(x1)2"]),
        (Polynomial(2, offset=0).normalized(), ["x1^2/|phi|", "sqrt2*x1*x2/|phi|", "x2^2/|phi|"]),
        (Linear().normalized() * Linear().on(0), ["(x1/|phi|)*x1", "(x2/|phi|)*x1"]),
        (Cosine() ** 2, ["(x1/|x|)^2", "(x1/|x|)*(x2/|x|)", "(x2/|x|)*(x1/|x|)", "(x2/|x|)^2"]),
    ],
    ids=repr,
)
def test_names_read_as_the_features_are_made(kernel, names):
    assert kernel.feature_names(X) == names
    assert len(names) == kernel.feature_map(X).shape[1]
    assert {type(name) for name in kernel.feature_names(X)} == {str}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_table_keep_their_names(frame):
    table = frame({"age": [1.0, 2.0], "dose": [3.0, 4.0]})
    kernel = Polynomial(2) + Linear().on("dose") * Outer(first) + Linear().on([0])
    assert kernel.feature_names(table) == [
        *["1", "sqrt2*age", "sqrt2*dose", "age^2", "sqrt2*age*dose", "dose^2"],
        *["dose*first(x)", "age"],
    ]
    assert Outer(first).on("dose").feature_names(table) == ["first(dose)"]


def test_names_that_would_fall_apart_stand_in_brackets_inside_products_only():
    table = pd.DataFrame([[1.0, 2.0]], columns=["sepal length (cm)", "a-b"])
    assert Linear().feature_names(table) == ["sepal length (cm)", "a-b"]
    assert Polynomial(2, offset=0).feature_names(table) == [
        "(sepal length (cm))^2",
        "sqrt2*(sepal length (cm))*(a-b)",
        "(a-b)^2",
    ]
    assert Cosine().feature_names(table) == ["(sepal length (cm))/|x|", "(a-b)/|x|"]


def test_sparse_rows_have_names_too():
    assert Linear().feature_names(sparse.csr_array(X)) == ["x1", "x2"]


def test_a_function_that_names_its_columns_is_listened_to():
    named = Linear().map(lambda X: pd.DataFrame(X, columns=["one", "two"]))
    assert named.feature_names(X) == ["one", "two"]


def test_a_kernel_of_ones_own_gets_numbered_names_or_gives_its_own():
    class Cubes(Kernel):
        finite = True

        def block(self, pair):
            x, z = pair.dense()
            return x**3 @ (z**3).T

        def feature_count(self, width):
            return width

        def features(self, rows):
            return rows.dense() ** 3

    class NamedCubes(Cubes):
        def feature_labels(self, rows):
            return [f"cube{j}" for j in range(rows.width)]

    assert Cubes().feature_names(X) == ["phi1(x)", "phi2(x)"]
    assert (2.0 * NamedCubes() * Linear().on(0)).feature_names(X) == ["sqrt2*cube0*x1", "sqrt2*cube1*x1"]


def test_words_take_part_in_products_with_their_own_labels():
    frame = pd.DataFrame({"text": ["good day", "good"], "size": [1.0, 2.0]})
    kernel = 4.0 * Words().on("text") * Linear().on("size")
    names = kernel.feature_names(frame)
    assert len(names) == kernel.feature_map(frame).shape[1] == 2
    assert all(name.startswith("2*") and name.endswith("*size") for name in names)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear().exp(), Gaussian() + Linear()], ids=repr)
def test_a_kernel_with_endlessly_many_features_has_no_names(kernel):
    culprit = kernel.k1 if hasattr(kernel, "k1") else kernel
    assert tells(refusal(kernel.feature_names, X), repr(culprit))


def test_names_that_would_not_fit_are_refused_with_their_number(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "500")
    assert tells(refusal(Polynomial().feature_names, X, kind=MemoryRefusal), "A list of 6 feature names", "600", "500")


# -- names are true: evaluated, they are the features -------------------------------------------------


def evaluated(label, row):
    """The value of a label at a row, from its factor and powers."""
    values = {f"x{j + 1}": value for j, value in enumerate(row)}
    label = Label.of(label)
    return label.factor * np.prod([values[name] ** exponent for name, exponent in label.powers])


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([0.0, 1.0, 0.3]),
    st.floats(0.1, 3.0),
    st.sampled_from([0.0, 0.5, 7.0]),
)
def test_factor_and_powers_of_a_name_give_the_feature(degree, columns, offset, scale, factor):
    kernel = factor * Polynomial(degree, offset, scale) * Linear().on(0) + Constant(2.0)
    row = np.linspace(-1.5, 2.0, columns)
    labels = kernel.feature_labels(as_rows(row[None]))
    found = np.array([evaluated(label, row) for label in labels])
    np.testing.assert_allclose(found, kernel.feature_map(row[None])[0], rtol=1e-12, atol=1e-12)


def test_factors_are_whole_numbers_roots_or_short_decimals():
    factors = [1.0, 3.0, 2**0.5, 12**0.5, 0.5, 1.234567, 1e6, 123456.789, 1e-9]
    assert [str(Label.make(factor, [("x", 1)])) for factor in factors] == [
        *["x", "3*x", "sqrt2*x", "sqrt12*x", "0.5*x", "1.23*x", "1e+06*x", "1.23e+05*x", "1e-09*x"],
    ]
