"""Witnesses: whatever is called not valid is refuted by the rows and the vector beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_strategies import composed_kernels, tables

from mercer import check_mercer
from mercer.kernels import AdditiveChi2, Gaussian, Kernel, Sigmoid, SquaredDistance, Witness

EPS = np.finfo(float).eps


def refutes(kernel, witness):
    """Whether v'Kv < 0 by the kernel's own values, beyond rounding."""
    v, K = witness.vector, kernel(witness.rows)
    assert v.shape == (len(K),)
    assert np.isclose(v @ v, 1.0)
    value = v @ K @ v
    assert np.isclose(value, witness.value, rtol=1e-6, atol=1e-14 * np.abs(K).max())
    return value < -10 * len(K) * EPS * np.abs(K).max()


@pytest.mark.parametrize(
    "kernel",
    [
        SquaredDistance(),
        AdditiveChi2(),
        Sigmoid(),
        Sigmoid(-1.0, 5.0),
        Sigmoid(0.0, -1.0),
        Sigmoid(1.0, -1.0),
        2.0 * SquaredDistance(),
        SquaredDistance().on(3),
        SquaredDistance().on([0, -1]),
        Sigmoid(0.01).on([2, 0]).on([1, 2, 3]),
        3.0 * (2.0 * Sigmoid().on(0)),
    ],
    ids=repr,
)
def test_what_is_not_valid_carries_a_witness_that_holds(kernel):
    certificate = kernel.certificate()
    assert certificate.valid is False
    assert isinstance(certificate.witness, Witness)
    assert refutes(kernel, certificate.witness)
    assert f"witness: {certificate.witness}" in str(certificate)


def test_the_squared_distance_is_refuted_by_two_rows_as_in_the_lecture():
    certificate = SquaredDistance().certificate()
    K = SquaredDistance()(certificate.witness.rows)
    assert K.shape == (2, 2)
    assert np.trace(K) == 0
    np.testing.assert_allclose(np.linalg.eigvalsh(K), [-1.0, 1.0])
    assert certificate.reason == (
        "k(x, x) = 0, so every kernel matrix has trace 0 and eigenvalues of both signs (or all are 0)"
    )


def test_the_sigmoid_at_its_defaults_is_refuted_by_the_rows_one_and_two():
    witness = Sigmoid().certificate().witness
    assert witness.rows.tolist() == [[1.0], [2.0]]
    assert np.linalg.det(Sigmoid()(witness.rows)) < 0
    assert str(witness) == "the rows [1] and [2] with v = (0.7491, -0.6624): v'Kv = -0.09087"


@pytest.mark.slow
@given(
    scale=st.one_of(st.just(0.0), st.floats(-1e3, 1e3), st.floats(1e-12, 1e-3), st.floats(-1e300, 1e300)),
    offset=st.one_of(st.just(0.0), st.floats(-30.0, 30.0), st.floats(-1e300, 1e300)),
)
def test_a_sigmoid_is_refuted_by_its_witness_or_unknown_or_a_constant(scale, offset):
    kernel = Sigmoid(scale, offset)
    certificate = kernel.certificate()
    if scale == 0 and offset >= 0:
        assert certificate.valid is True
    elif certificate.valid is None:
        assert certificate.witness is None
        assert offset > 10 or abs(scale) < 1e-290
    else:
        assert certificate.valid is False
        v, K = certificate.witness.vector, kernel(certificate.witness.rows)
        assert v @ K @ v < 0


@pytest.mark.parametrize("offset", [0.0, 0.5, 3.0, 10.0, 14.0])
@pytest.mark.parametrize("scale", [1e-6, 0.02, 1.0, 7.0, 1e6])
def test_ordinary_sigmoids_are_always_refuted(scale, offset):
    assert Sigmoid(scale, offset).certificate().valid is False


def test_a_kernel_without_known_rows_has_no_witness():
    class Mine(Kernel):
        mercer = False
        because = "I say so"

    assert Mine().certificate().witness is None
    named = SquaredDistance().on("age").certificate()
    assert (named.valid, named.witness) == (False, None)
    assert named.parts[0].witness is not None
    assert (5e-324 * Sigmoid()).certificate().witness is None  # rounding leaves a constant
    assert Gaussian().certificate().witness is None


def test_a_kernel_of_ones_own_can_give_its_counterexample():
    class Shifted(Kernel):
        mercer = False
        because = "k(0, 0) = -1"

        def counterexample(self):
            return [[0.0, 0.0]]

        def block(self, pair):
            return pair.dot() - 1.0

    witness = Shifted().certificate().witness
    assert str(witness) == "the row [0, 0] with v = (1): v'Kv = -1"


def test_equal_kernels_have_equal_certificates_with_witnesses():
    assert SquaredDistance().certificate() == SquaredDistance().certificate()
    assert hash(Sigmoid().certificate()) == hash(Sigmoid().certificate())


def test_long_witnesses_print_briefly():
    v = np.full(9, 1 / 3)
    assert str(Witness(np.zeros((9, 1)), v, -2.0)) == "9 rows with a v given beside: v'Kv = -2"
    assert str(Witness(np.zeros((1, 9)), np.ones(1), -2.0)) == "one row with v = (1): v'Kv = -2"
    assert str(Witness(np.array(["a", "b"], dtype=object), v[:2], -2.0)).startswith("2 rows with v = (0.3333")
    assert str(Witness(np.arange(1), np.ones(1), -2.0, (4,))) == "the row 4 with v = (1): v'Kv = -2"


# -- certificates against matrices -----------------------------------------------------------------


@pytest.mark.no_cover  # many times what other tests run once: tracing would double its time
@pytest.mark.slow
@given(
    kernel=composed_kernels(only_mercer=True),
    X=tables(rows=st.integers(1, 20)),
    scale=st.sampled_from([1.0, 1.0, 1e-6, 1e-2, 3.0]),
)
def test_no_composed_kernel_that_is_called_valid_is_refuted(kernel, X, scale):
    # each entry may be off by a few roundings, so eigenvalues by n times that: a factor of ten (see Spectrum.slack)
    assert kernel.certificate().valid is True
    values = np.linalg.eigvalsh(kernel(scale * X))
    assert values[0] >= -10 * len(X) * EPS * np.abs(values).max()


@pytest.mark.slow
@given(kernel=composed_kernels(), X=tables())
def test_certificates_and_checks_agree(kernel, X):
    certificate, result = kernel.certificate(), check_mercer(kernel, X)
    assert result.certificate == certificate
    if certificate.valid is True:
        assert result.valid is True
    assert (result.witness is None) == result.valid
    if result.witness is not None:
        assert result.witness.value < 0
        assert result.smallest <= result.witness.value * (1 - 1e-9)
