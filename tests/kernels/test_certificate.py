"""Certificates: the rules say what they should, and no claim is ever refuted by a matrix."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_strategies import composed_kernels, tables

from mercer.kernels import (
    AdditiveChi2,
    Certificate,
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
)

YES, NO, UNKNOWN = Gaussian(), SquaredDistance(), Custom(np.dot)

VALID = [
    Linear(),
    Polynomial(),
    Gaussian(),
    Laplacian(),
    Matern(),
    RationalQuadratic(),
    Periodic(),
    Cosine(),
    Constant(),
    Chi2(),
    FromFeatures(np.abs),
    Outer(np.sum),
    Sigmoid(scale=0.0, offset=0.0),
    Sigmoid(scale=0.0, offset=1.0),
    YES + YES,
    YES * YES,
    2.0 * YES,
    0.0 * YES,
    0.0 * NO,
    0.0 * UNKNOWN,
    YES**3,
    YES.exp(),
    YES.map(np.abs),
    YES.on(0),
    YES.normalized(),
    (YES + 1.0).on([0, 1]).exp() * Linear(),
]
NOT_VALID = [
    SquaredDistance(),
    AdditiveChi2(),
    Sigmoid(),
    Sigmoid(0.1, 0.5),
    Sigmoid(-1.0, 0.0),
    Sigmoid(1.0, -1.0),
    Sigmoid(scale=0.0, offset=-1.0),
    2.0 * NO,
    NO.on([0, 1]),
    3.0 * (2.0 * Sigmoid().on(0)),
]
NOT_KNOWN = [
    UNKNOWN,
    Sigmoid(1.0, 25.0),
    Sigmoid(-1e-320, 1e300),
    Precomputed(),
    YES + NO,
    YES + UNKNOWN,
    YES * NO,
    2.0 * UNKNOWN,
    NO**2,
    NO.exp(),
    NO.map(np.abs),
    NO.normalized(),
    UNKNOWN.on(0),
    NO + NO,
    Precomputed() + 1.0,
]


@pytest.mark.parametrize("kernel", VALID, ids=repr)
def test_mercer_kernels_and_what_the_rules_make_of_them_are_valid(kernel):
    assert kernel.certificate().valid is True


@pytest.mark.parametrize("kernel", NOT_VALID, ids=repr)
def test_what_is_known_to_be_no_mercer_kernel_is_not_valid(kernel):
    assert kernel.certificate().valid is False


@pytest.mark.parametrize("kernel", NOT_KNOWN, ids=repr)
def test_where_no_rule_applies_nothing_is_claimed(kernel):
    assert kernel.certificate().valid is None


@pytest.mark.parametrize("kernel", VALID + NOT_VALID + NOT_KNOWN, ids=repr)
def test_every_certificate_is_a_tree_with_a_reason_at_every_step(kernel):
    def walk(step):
        assert isinstance(step, Certificate)
        assert step.reason
        assert step.reason != Kernel.because
        assert step.valid in (True, False, None)
        assert [part.kernel for part in step.parts] == list(step.kernel.members().values())
        for part in step.parts:
            walk(part)

    certificate = kernel.certificate()
    assert certificate.kernel == kernel
    walk(certificate)


def test_a_certificate_prints_as_an_indented_argument():
    kernel = (Gaussian(2.0) + SquaredDistance()).on([0, 1])
    assert str(kernel.certificate()).splitlines() == [
        "unknown: (Gaussian(width=2.0) + SquaredDistance()).on([0, 1])",
        "  because the rule needs Mercer kernels, and not every part is known to be one",
        "  unknown: Gaussian(width=2.0) + SquaredDistance()",
        "    because the rule needs Mercer kernels, and not every part is known to be one",
        "    valid: Gaussian(width=2.0)",
        f"      because {Gaussian.because}",
        "    not valid: SquaredDistance()",
        f"      because {SquaredDistance.because}",
        "      witness: the rows [0] and [1] with v = (0.7071, -0.7071): v'Kv = -1",
    ]


def test_a_certificate_is_a_frozen_value():
    assert YES.certificate() == Gaussian().certificate()
    with pytest.raises(dataclasses.FrozenInstanceError):
        YES.certificate().valid = False


def test_a_kernel_of_ones_own_claims_nothing_unless_it_says_so():
    class Mine(Kernel):
        pass

    class Proven(Kernel):
        mercer = True
        because = "I proved it"

    assert Mine().certificate().valid is None
    assert str(Mine().certificate()) == "unknown: Mine()\n  because nothing is known about it"
    assert (Proven() + YES).certificate().valid is True


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (Sigmoid(0.0, 1.0), "it is the constant tanh(offset), which is not negative"),
        (Sigmoid(0.0, -1.0), "it is the constant tanh(offset), which is negative"),
        (Sigmoid(-1.0), "k(x, x) = tanh(scale x'x + offset) is negative for every x with scale x'x + offset < 0"),
        (Sigmoid(), "the rows 1 and 2 have a kernel matrix with a negative determinant"),
        (Sigmoid(2.0, 1.0), "the rows 1 and 2 have a kernel matrix with a negative determinant"),
        (Sigmoid(0.1, 0.5), "the rows 0.99 and 17 have a kernel matrix with a negative determinant"),
        (Sigmoid(1.0, 25.0), "no counterexample was found beyond rounding error"),
        (YES + YES, "a sum of Mercer kernels is a Mercer kernel (its feature map: both feature maps, concatenated)"),
        (YES * YES, "a product of Mercer kernels is a Mercer kernel (its feature map: all products of two features)"),
        (
            2.0 * YES,
            (
                "a non-negative multiple of a Mercer kernel is a Mercer kernel (its feature map: multiplied by the "
                "square root of the factor)"
            ),
        ),
        (YES**2, "a whole power of a Mercer kernel is a product of Mercer kernels"),
        (
            YES.exp(),
            (
                "exp is a power series with positive coefficients, and sums, products and limits of Mercer kernels are "
                "Mercer kernels"
            ),
        ),
        (
            YES.map(np.abs),
            (
                "a Mercer kernel of mapped rows is a Mercer kernel (its feature map: that of the kernel after the "
                "function)"
            ),
        ),
        (YES.on(0), "choosing columns is a map, and a Mercer kernel of mapped rows is a Mercer kernel"),
        (YES.normalized(), "it is a Mercer kernel with features scaled to length one"),
        (Outer(np.sum), "its one feature is f(x)"),
        (FromFeatures(np.abs), "it is a scalar product of explicit features"),
        (UNKNOWN, "a user-defined function cannot be proved automatically"),
        (0.0 * NO, "it is zero everywhere"),
        (2.0 * NO, "a positive multiple of a kernel that is not a Mercer kernel is not a Mercer kernel"),
        (NO.on(0), "it is not a Mercer kernel on these columns"),
    ],
    ids=repr,
)
def test_reasons_are_those_of_the_case_at_hand(kernel, reason):
    assert kernel.certificate().reason == reason


# -- claims against matrices ------------------------------------------------------------------------


@pytest.mark.slow
@given(kernel=composed_kernels(only_mercer=True), X=tables(rows=st.just(12)))
def test_no_kernel_that_is_called_valid_ever_has_a_negative_eigenvalue(kernel, X):
    assert kernel.certificate().valid is True
    K = kernel(X)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -12 * np.finfo(float).eps * np.abs(values).max()


@given(
    kernel=st.one_of(
        *(st.builds(family, st.floats(1e-3, 1e3)) for family in (Gaussian, Laplacian, RationalQuadratic, Periodic)),
        st.builds(Matern, st.floats(1e-3, 1e3), st.sampled_from([0.5, 1.5, 2.5])),
    ),
    X=tables(rows=st.just(12), columns=st.integers(1, 5), lowest=-2.0),
)
def test_no_stationary_kernel_has_a_negative_eigenvalue_whatever_its_width(kernel, X):
    values = np.linalg.eigvalsh(kernel(X))
    assert values[0] >= -12 * np.finfo(float).eps * np.abs(values).max()


@pytest.mark.parametrize(
    ("scale", "offset"),
    [(1.0, 0.0), (0.1, 0.0), (5.0, 0.3), (0.5, 1.0), (1.0, 2.0), (-1.0, 0.0), (-0.2, 0.5), (1.0, -0.5), (0.0, -1.0)],
)
def test_the_sigmoid_has_a_witness_against_it(scale, offset):
    lengths = np.sqrt(np.geomspace(0.05, 4.0, 12) / (abs(scale) or 1.0))[:, None]
    values = np.linalg.eigvalsh(Sigmoid(scale, offset)(np.vstack([[[0.0]], lengths])))
    assert values[0] < -1e-6 * np.abs(values).max()


def test_the_rows_one_and_two_are_the_witness_that_the_certificate_names():
    assert np.linalg.det(Sigmoid()([[1.0], [2.0]])) < 0


@pytest.mark.parametrize(
    "kernel", [SquaredDistance(), AdditiveChi2(), 2.0 * SquaredDistance(), SquaredDistance().on(0)], ids=repr
)
def test_distances_have_eigenvalues_of_both_signs(kernel, rng):
    values = np.linalg.eigvalsh(kernel(rng.exponential(size=(6, 2))))
    assert values[0] < -1e-3
    assert values[-1] > 1e-3


def test_the_euclidean_form_of_the_periodic_kernel_is_none_and_ours_is(rng):
    X = rng.uniform(-1, 1, size=(40, 3))
    distance = np.sqrt(SquaredDistance()(X))
    euclidean = np.exp(-2 * np.sin(np.pi * distance) ** 2)
    assert np.linalg.eigvalsh(euclidean)[0] < -1e-3
    assert np.linalg.eigvalsh(Periodic()(X))[0] > -1e-12
