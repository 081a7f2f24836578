"""repair: positive semi-definite afterwards, nothing changed that need not be, and the effect is told."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import KernelRidge, check_mercer, repair
from mercer.insight import Repair
from mercer.kernels import Gaussian, Sigmoid
from refusals import refusal, tells
from views import read_only

METHODS = ["clip", "flip", "shift"]


def indefinite(rng, n=8):
    K = rng.normal(size=(n, n))
    return read_only(K + K.T)


def by_eigenvalues(K, method):
    values, V = np.linalg.eigh(K)
    change = {"clip": np.maximum(values, 0), "flip": np.abs(values), "shift": values - values[0]}
    return V * change[method] @ V.T


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 25), scale=st.sampled_from([1.0, 1e-12, 1e12]))
def test_a_repaired_matrix_is_symmetric_valid_and_what_the_eigenvalues_say(method, seed, n, scale):
    K = scale * indefinite(np.random.default_rng(seed), n)
    repaired, report = repair(K, method, return_report=True)
    assert (repaired == repaired.T).all()
    assert check_mercer(repaired).valid is True
    if report.negative:
        np.testing.assert_allclose(repaired, by_eigenvalues(K, method), atol=1e-11 * scale * n)
    values = np.linalg.eigvalsh(K)
    assert report.negative == (values < 0).sum()
    assert np.isclose(report.smallest, values[0])
    assert np.isclose(report.change, np.linalg.norm(repaired - K) / np.linalg.norm(K))
    assert report.added == (pytest.approx(-values[0]) if method == "shift" and report.negative else 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_repairing_twice_changes_nothing_more(method, rng):
    once = repair(indefinite(rng), method)
    np.testing.assert_array_equal(repair(once, method), once)


@pytest.mark.parametrize("method", METHODS)
def test_a_valid_matrix_is_returned_as_it_is_in_a_new_array(method, rng):
    K = read_only(Gaussian()(rng.normal(size=(20, 2))))
    repaired, report = repair(K, method, return_report=True)
    np.testing.assert_array_equal(repaired, K)
    assert not np.shares_memory(repaired, K)
    assert repaired.flags.writeable
    assert (report.negative, report.change, report.added) == (0, 0.0, 0.0)
    assert str(report) == "Nothing to repair: of 20 eigenvalues none is negative beyond rounding."
    np.testing.assert_array_equal(report.apply(K), K)


def test_clipping_gives_the_nearest_valid_matrix(rng):
    K = indefinite(rng)
    nearest = np.linalg.norm(repair(K) - K)
    assert nearest < np.linalg.norm(repair(K, "shift") - K)
    assert nearest < np.linalg.norm(repair(K, "flip") - K)
    for _ in range(50):
        F = rng.normal(size=(8, 8))
        assert nearest <= np.linalg.norm(repair(K) + 0.01 * F @ F.T - K)


@pytest.mark.parametrize("method", ["clip", "flip"])
def test_new_rows_take_the_same_transform(method, rng):
    K = indefinite(rng)
    repaired, report = repair(K, method, return_report=True)
    np.testing.assert_allclose(report.apply(K[2:5]), repaired[2:5], atol=1e-12)
    np.testing.assert_allclose(report.apply([[0.0] * 8]), 0.0)


def test_a_shift_is_the_same_as_a_larger_alpha(rng):
    K, y = indefinite(rng), rng.normal(size=8)
    repaired, report = repair(K, "shift", return_report=True)
    new = rng.normal(size=(3, 8))
    np.testing.assert_array_equal(report.apply(new), new)
    dual = KernelRidge(0.7, kernel="precomputed").fit(repaired, y).dual_coef_
    np.testing.assert_allclose(dual, np.linalg.solve(K + (0.7 + report.added) * np.eye(8), y), rtol=1e-9)


def test_estimators_take_a_repaired_sigmoid_without_a_word(rng):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    K = Sigmoid()(X)
    assert check_mercer(K).valid is False
    KernelRidge(0.1, kernel="precomputed").fit(repair(K), y)  # warnings are errors here


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (
            "clip",
            (
                "1 of 2 eigenvalues was negative, the smallest -1; clip set it to 0.\n"
                "K changed by 70.7 % in Frobenius norm.\n"
                "Values for new rows need the same transform: report.apply(K_new)."
            ),
        ),
        (
            "flip",
            (
                "1 of 2 eigenvalues was negative, the smallest -1; flip changed its sign.\n"
                "K changed by 141 % in Frobenius norm.\n"
                "Values for new rows need the same transform: report.apply(K_new)."
            ),
        ),
        (
            "shift",
            (
                "1 of 2 eigenvalues was negative, the smallest -1; shift lifted all by 1.\n"
                "K changed by 100 % in Frobenius norm.\n"
                "Values for new rows stay as they are: only the diagonal grows, the same as so much more alpha."
            ),
        ),
    ],
)
def test_a_report_tells_the_effect(method, said):
    _, report = repair([[0.0, 1.0], [1.0, 0.0]], method, return_report=True)
    assert str(report) == said
    assert isinstance(report, Repair)
    assert mercer.repair is repair
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.negative = 0


def test_several_negative_eigenvalues_are_told_in_the_plural():
    K = np.diag([1.0, -1.0, -2.0])
    said = {m: str(repair(K, m, return_report=True)[1]).splitlines()[0] for m in METHODS}
    assert said["clip"] == "2 of 3 eigenvalues were negative, the smallest -2; clip set them to 0."
    assert said["flip"] == "2 of 3 eigenvalues were negative, the smallest -2; flip changed their signs."


@pytest.mark.parametrize("method", METHODS)
def test_precision_lists_huge_and_single_entries(method):
    K = [[0, 1], [1, 0]]
    assert repair(K, method).dtype == np.float64
    single = repair(np.array(K, dtype=np.float32), method)
    assert single.dtype == np.float32
    assert check_mercer(single).valid is True
    assert np.isfinite(repair(1e307 * np.array(K), method)).all()
    assert repair([[-3.0]], method).shape == (1, 1)


def test_asymmetry_that_is_noise_is_evened_out_and_more_is_refused(rng):
    K = np.eye(3)
    K[0, 2] = 1e-10
    repaired = repair(K)
    assert (repaired == repaired.T).all()
    K[0, 2] = 0.1
    assert tells(refusal(lambda: repair(K)), "K", "got K[0, 2] = 0.1 and K[2, 0] = 0")


def test_what_cannot_be_repaired_is_refused():
    assert tells(refusal(lambda: repair(np.eye(2), method="clamp")), "method of repair", "got 'clamp'")
    assert "K must be finite" in refusal(lambda: repair([[np.nan]]))
    assert "K must be square" in refusal(lambda: repair(np.ones((2, 3))))
    _, report = repair(-np.eye(2), return_report=True)
    assert tells(refusal(lambda: report.apply(np.ones((1, 3)))), "K_new", "got shape (1, 3)")
