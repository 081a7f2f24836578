"""check_mercer: what is measured agrees with eigenvalues, what is refuted is refuted, and nothing else is claimed."""

import dataclasses
import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import check_mercer
from mercer.insight import MercerCheck
from mercer.kernels import (
    Custom,
    FromFeatures,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
    SquaredDistance,
)
from refusals import refusal, tells
from views import read_only

EPS = np.finfo(float).eps


def distance(X, Z):
    return np.sqrt(((X[:, None] - Z[None]) ** 2).sum(axis=2))


# -- matrices --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_a_gram_matrix_passes_with_its_eigenvalues_and_rank(n, rng):
    F = rng.normal(size=(n, 3))
    K = read_only(F @ F.T)
    result = check_mercer(K)
    values = np.linalg.eigvalsh(K)
    assert result.valid is True
    assert bool(result)
    assert result.rank == min(n, 3)
    assert result.witness is None
    assert result.certificate is None
    np.testing.assert_allclose([result.smallest, result.largest], values[[0, -1]], atol=1e-12)
    assert np.isclose(result.tolerance, n * 10 * EPS * np.abs(values).max())


def test_an_indefinite_matrix_fails_with_a_witness():
    K = read_only(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]))
    result = check_mercer(K)
    assert result.valid is False
    assert not result
    assert result.witness.places == (1, 2)
    assert result.witness.rows.tolist() == [1, 2]
    v, part = result.witness.vector, K[np.ix_(result.witness.places, result.witness.places)]
    assert np.isclose(v @ part @ v, -1.0)
    assert np.isclose(result.witness.value, -1.0)
    assert str(result) == (
        "K is not positive semi-definite: of 3 eigenvalues from -1 to 3 the smallest is below -2e-14.\n"
        "That is what rounding can do: 3 rows x 2.2e-15 x the largest |eigenvalue|.\n"
        "Witness: the rows 1 and 2 with v = (0.7071, -0.7071): v'Kv = -1."
    )


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30))
def test_any_symmetric_matrix_is_judged_as_its_eigenvalues_say(seed, n):
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(n, n)) + n * rng.uniform(0, 0.5) * np.eye(n)
    K = K + K.T
    result = check_mercer(K)
    assert result.valid == (np.linalg.eigvalsh(K)[0] >= 0)
    if not result:
        chosen, v = list(result.witness.places), result.witness.vector
        assert np.isclose(v @ K[np.ix_(chosen, chosen)] @ v, result.witness.value)
        assert result.smallest - result.tolerance <= result.witness.value < 0


def test_a_witness_is_as_small_as_it_takes(rng):
    K = np.eye(200)
    K[70, 13] = K[13, 70] = 1.5
    assert check_mercer(K).witness.places == (13, 70)
    K = np.eye(100)
    K[42, 42] = -1.0
    assert check_mercer(K).witness.places == (42,)
    v = rng.normal(size=50)
    v /= np.linalg.norm(v)
    spread = check_mercer(np.eye(50) - 1.01 * np.outer(v, v))  # every row has a share in it
    assert len(spread.witness.places) > 25
    assert spread.witness.value < 0


def test_one_row_and_zeros_are_matrices():
    assert check_mercer([[2.0]]).valid is True
    assert check_mercer([[0]]).rank == 0
    assert check_mercer(np.zeros((4, 4))).valid is True
    assert str(check_mercer([[-2.0]])) == (
        "K is not positive semi-definite: of 1 eigenvalue from -2 to -2 the smallest is below -4.4e-15.\n"
        "That is what rounding can do: 1 row x 2.2e-15 x the largest |eigenvalue|.\n"
        "Witness: the row 0 with v = (1): v'Kv = -2."
    )


def test_an_asymmetric_matrix_fails_and_the_worst_place_is_named():
    K = np.eye(3)
    K[2, 0], K[1, 2] = 0.5, 0.1
    result = check_mercer(read_only(K))
    assert result.valid is False
    assert result.asymmetry == (0, 2)
    assert result.witness is None
    assert str(result) == "K is not symmetric: K[0, 2] = 0 and K[2, 0] = 0.5."
    both = check_mercer([[1.0, 3.0], [2.0, 1.0]])
    assert both.asymmetry == (0, 1)
    assert "Nor is (K + K') / 2 positive semi-definite" in str(both)
    assert np.isclose(both.witness.value, -1.5)


def test_the_worst_asymmetry_is_found_beyond_the_first_block():
    K = np.eye(1100)
    K[1050, 7] = 1e-3
    assert check_mercer(K).asymmetry == (7, 1050)


def test_asymmetry_within_rounding_is_none(rng):
    F = rng.normal(size=(30, 30))
    K = F @ F.T
    K[3, 4] *= 1 + 2 * EPS
    assert check_mercer(K).valid is True


def test_single_precision_is_judged_by_its_own_rounding(rng):
    F = rng.normal(size=(40, 3))
    K = (F @ F.T).astype(np.float32)
    assert check_mercer(K).valid is True
    assert check_mercer(K.astype(np.float64)).valid is False
    assert check_mercer(K.astype(np.float64), precision=1e-6).valid is True


def test_huge_and_tiny_matrices_are_no_trouble():
    for unit in (1e308, 1e-308, 5e-324):
        assert check_mercer(unit * np.ones((2, 2))).valid is True
        assert check_mercer(unit * np.ones((2, 2))).rank == 1
        assert check_mercer(unit * np.array([[0.0, 1.0], [1.0, 0.0]])).valid is False


def test_frames_lists_and_sparse_matrices_are_matrices():
    import pandas as pd

    K = [[2, 1], [1, 2]]
    assert all(check_mercer(form).valid for form in (K, pd.DataFrame(K), scipy.sparse.csr_array(np.array(K))))


@pytest.mark.parametrize(
    ("K", "said"),
    [
        (np.ones((2, 3)), "K must be square; got 2 x 3. To check a kernel on rows X, use check_mercer(kernel, X)."),
        (np.empty((0, 0)), "K must be a square matrix of at least one row; got 0 x 0."),
        (np.ones(3), "K must be a square matrix of at least one row; got shape (3,)."),
        (3.0, "K must be a square matrix of at least one row; got shape ()."),
        ([[1.0, np.nan], [np.nan, 1.0]], "K must be finite; got nan in row 0, column 1."),
        ([[1.0, 0.0], [0.0, -np.inf]], "K must be finite; got -inf in row 1, column 1."),
        (
            np.eye(2) * 1j,
            ("K must be a square matrix of real numbers; got values of type complex128."),
        ),
        (
            "gaussian",
            ("K must be a square matrix of real numbers; got values of type <U8."),
        ),
        (
            [[1.0], [1.0, 2.0]],
            ("K must be a square matrix of real numbers; got list."),
        ),
        (None, "K must be a square matrix of real numbers; got NoneType."),
        (
            distance,
            (
                "K must be a square matrix of real numbers; got function. Pass the matrix of a kernel, "
                "kernel(X), or of a function f(X, Z), mercer.kernels.Custom(f)(X)."
            ),
        ),
        (
            np.ma.masked_array(np.eye(2), mask=[[0, 1], [0, 0]]),
            "K must not have missing values (masked entries). Impute them first.",
        ),
    ],
)
def test_what_is_no_matrix_is_refused_in_a_sentence(K, said):
    assert refusal(lambda: check_mercer(K)) == said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"X": [[1.0]]},
            (
                "X must be None when a matrix is checked; got a matrix and X. To check a kernel on rows, use "
                "check_mercer(kernel, X)."
            ),
        ),
        ({"precision": -1.0}, "precision of check_mercer must be a number from 0 to below 1; got -1.0."),
        ({"precision": True}, "precision of check_mercer must be a number from 0 to below 1; got True."),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    assert refusal(lambda: check_mercer(np.eye(2), **options)) == said


def test_options_of_the_search_are_checked():
    kernel = Custom(distance)
    assert tells(refusal(lambda: check_mercer(kernel, columns=0)), "columns of check_mercer", "got 0")
    assert refusal(lambda: check_mercer(kernel, columns=[1, 2.5])).endswith("got [1, 2.5].")
    assert tells(refusal(lambda: check_mercer(kernel, random_state="x")), "random_state of check_mercer", "got 'x'")


# -- kernels on rows -------------------------------------------------------------------------------


def test_a_kernel_on_rows_is_measured_and_its_certificate_stands_beside(rng):
    X = read_only(rng.normal(size=(12, 3)))
    result = check_mercer(Gaussian(), X)
    assert result.valid is True
    assert result.certificate == Gaussian().certificate()
    assert np.isclose(result.tolerance, 12 * 1e-12 * result.largest)
    assert "The certificate proves this for all rows." in str(result).splitlines()
    assert str(result).endswith(f"Certificate:\n{Gaussian().certificate()}")


@pytest.mark.parametrize("power", [1, 3])
def test_rounding_in_distances_is_no_violation(power, rng):
    # clusters some widths apart, of nearly equal rows: distances by matrix products are off by many roundings
    centres = 7 * rng.normal(size=(5, 7))
    X = centres[rng.integers(0, 5, 60)] + 1e-9 * rng.normal(size=(60, 7))
    assert check_mercer(Gaussian() ** power, X).valid is True


def test_the_lectures_example_fails_on_any_two_or_three_rows(rng):
    for n in (2, 3):
        X = read_only(rng.normal(size=(n, 2)))
        result = check_mercer(SquaredDistance(), X)
        assert result.valid is False
        v, rows = result.witness.vector, result.witness.rows
        assert np.isclose(v @ SquaredDistance()(rows) @ v, result.witness.value)
        np.testing.assert_array_equal(rows, X[list(result.witness.places)])


def test_rows_that_show_nothing_are_not_taken_for_a_proof():
    bad = check_mercer(SquaredDistance(), [[1.0]])
    assert bad.valid is True
    assert "This holds for these rows; the certificate gives rows that violate it." in str(bad).splitlines()
    unknown = check_mercer(Custom(distance), [[1.0]])
    assert unknown.valid is True
    assert "This holds for these rows; other rows may violate it." in str(unknown).splitlines()


def test_a_false_claim_is_found_out():
    class Wishful(Kernel):
        mercer = True
        because = "I would like it to be one"

        def block(self, pair):
            return pair.manhattan(1.0)

    result = check_mercer(Wishful(), [[0.0], [1.0]])
    assert result.valid is False
    assert "This refutes the certificate" in str(result)


def test_an_asymmetric_function_fails_where_it_is_worst():
    lopsided = Custom(lambda X, Z: X[:, :1] - 2.0 * Z[:, 0] + 100.0 * (X @ Z.T))
    result = check_mercer(lopsided, [[0.0], [1.0], [5.0]])
    assert result.valid is False
    assert result.asymmetry == (0, 2)


def test_values_that_are_not_finite_are_refused():
    broken = Custom(lambda X, Z: np.full((len(X), len(Z)), np.nan))
    expected = "must be finite; got NaN or infinity."
    assert expected in refusal(lambda: check_mercer(broken, [[0.0], [1.0]]))
    assert "must be finite" in refusal(lambda: check_mercer(Polynomial(9), [[1e200]]))
    assert tells(refusal(lambda: check_mercer(Gaussian(), np.empty((0, 2)))), "X of check_mercer", "got none")


def test_rows_may_be_objects():
    def lengths(X, Z):
        return np.abs(np.subtract.outer([len(x) for x in X], [len(z) for z in Z])).astype(float)

    result = check_mercer(Custom(lengths), ["a", "bb", "dddd"])
    assert result.valid is False
    assert all(isinstance(word, str) for word in result.witness.rows)
    good = FromFeatures(lambda X: np.array([[len(x)] for x in X], dtype=float))
    assert check_mercer(good, ["a", "bb"]).valid is True


def test_rows_may_be_sparse_or_a_frame(rng):
    import pandas as pd

    X = rng.normal(size=(6, 3)) * (rng.random((6, 3)) < 0.5)
    for form in (scipy.sparse.csr_array(X), pd.DataFrame(X, columns=list("abc"))):
        assert check_mercer(Gaussian(), form).valid is True
        result = check_mercer(SquaredDistance(), form)
        assert result.valid is False
        assert np.isclose(result.smallest, check_mercer(SquaredDistance(), X).smallest)


def test_a_precomputed_kernel_is_its_matrix():
    K = [[1.0, 2.0], [2.0, 1.0]]
    assert check_mercer(Precomputed(), np.eye(2)).valid is True
    result = check_mercer(2.0 * Precomputed(), K)
    assert (result.valid, result.smallest) == (False, -2.0)
    assert "K must be square" in refusal(lambda: check_mercer(Precomputed(), [[1.0, 2.0]]))
    assert str(check_mercer(Precomputed())).startswith(
        "Precomputed() is unknown.\nPass X to check it on your rows.\nCertificate:"
    )


# -- kernels without rows --------------------------------------------------------------------------


def test_without_rows_a_proved_kernel_is_valid():
    result = check_mercer(Gaussian() + Linear())
    assert (result.valid, result.smallest, result.rank) == (True, None, None)
    assert str(result).startswith("Gaussian(width=1.0) + Linear() is a Mercer kernel: proved, whatever the rows.")


@pytest.mark.parametrize("kernel", [SquaredDistance(), Sigmoid(), 2.0 * Sigmoid(0.1, 0.5).on(1)], ids=repr)
def test_without_rows_a_refuted_kernel_gives_the_certificates_witness(kernel):
    result = check_mercer(kernel)
    assert result.valid is False
    assert result.witness.value == kernel.certificate().witness.value
    assert result.smallest < -result.tolerance
    assert str(result).startswith(f"{kernel!r} is not a Mercer kernel.\nWitness: the rows [")


REFUTABLE = {
    "squared distance": lambda X, Z: distance(X, Z) ** 2,
    "minus a distance": lambda X, Z: -distance(X, Z),
    "too flat at the top": lambda X, Z: np.exp(-(distance(X, Z) ** 3)),
    "hardly too flat": lambda X, Z: np.exp(-(distance(X, Z) ** 2.2)),
    "parabola": lambda X, Z: np.maximum(0, 1 - distance(X, Z) ** 2),
    "cone, fine in one column only": lambda X, Z: np.maximum(0, 1 - distance(X, Z)),
    "box": lambda X, Z: (distance(X, Z) < 1) * 1.0,
    "larger number": lambda X, Z: np.maximum(X[:, None], Z[None]).sum(axis=2),
    "smaller number, which is one where none is negative": lambda X, Z: np.minimum(X[:, None], Z[None]).sum(axis=2),
    "sigmoid": lambda X, Z: np.tanh(X @ Z.T),
    "weak sigmoid": lambda X, Z: np.tanh(0.01 * X @ Z.T + 3),
    "scalar product less a little": lambda X, Z: X @ Z.T - 1e-3,
    "size of the scalar product": lambda X, Z: np.abs(X @ Z.T),
    "periodic in the Euclidean distance": lambda X, Z: np.exp(-2 * np.sin(np.pi * distance(X, Z)) ** 2),
    "cosine of the distance": lambda X, Z: np.cos(distance(X, Z)),
    "negative coefficient": lambda X, Z: (X @ Z.T) ** 2 - 0.1 * (X @ Z.T),
    "equal or not, less a fifth": lambda X, Z: (distance(X, Z) == 0) - 0.2,
    "third column only": lambda X, Z: -X[:, [2]] * Z[:, 2],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUTABLE)
def test_the_search_refutes_what_is_none(name):
    kernel = Custom(REFUTABLE[name])
    result = check_mercer(kernel)
    assert result.valid is False
    v, rows = result.witness.vector, result.witness.rows
    assert v @ kernel(rows) @ v < -result.tolerance < 0
    assert result.witness.places is None
    assert "Witness, found by search:" in str(result)
    assert np.linalg.eigvalsh(kernel(rows))[0] < 0


def cancelling(X, Z, gamma=1.0):
    return np.exp(-gamma * ((X**2).sum(1)[:, None] + (Z**2).sum(1) - 2 * X @ Z.T))


IRREFUTABLE = {
    "Gaussian with cancellation": cancelling,
    "narrow Gaussian with cancellation": lambda X, Z: cancelling(X, Z, 1e4),
    "scalar product": lambda X, Z: X @ Z.T,
    "polynomial": lambda X, Z: (X @ Z.T + 0.5) ** 5,
    "equal or not": lambda X, Z: (distance(X, Z) == 0) * 1.0,
    "zero": lambda X, Z: np.zeros((len(X), len(Z))),
    "cosine of a difference": lambda X, Z: np.cos(X.sum(axis=1)[:, None] - Z.sum(axis=1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IRREFUTABLE)
def test_the_search_accuses_no_mercer_kernel_and_claims_no_proof(name):
    result = check_mercer(Custom(IRREFUTABLE[name]))
    assert result.valid is None
    assert not result
    assert result.witness is None
    assert re.search(r"none of \d{4} small tables refutes it, which is not a proof\.", str(result))


@pytest.mark.no_cover  # many times what other tests run once: tracing would double its time
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])  # 0 is the default, above
def test_rounding_at_huge_scales_is_no_counterexample_whatever_the_seed(seed):
    assert check_mercer(Custom(cancelling), random_state=seed).valid is None


@pytest.mark.slow
def test_composed_kernels_of_unknown_worth_are_searched_too():
    assert check_mercer(Gaussian() + SquaredDistance()).valid is False
    assert check_mercer(Matern(50.0) * Custom(REFUTABLE["sigmoid"])).valid is False
    assert check_mercer(Gaussian() + Custom(IRREFUTABLE["scalar product"])).valid is None


def test_a_search_is_the_same_for_the_same_seed():
    kernel = Custom(REFUTABLE["hardly too flat"])
    states = [0, 0, np.random.default_rng(3), np.random.default_rng(3), np.random.RandomState(3), None]
    found = [check_mercer(kernel, random_state=state).witness for state in states]
    np.testing.assert_array_equal(found[0].rows, found[1].rows)
    np.testing.assert_array_equal(found[2].rows, found[3].rows)
    assert all(witness is not None for witness in found)


@pytest.mark.slow
def test_a_function_that_takes_no_numbers_is_unknown_and_says_so():
    result = check_mercer(Custom(lambda X, Z: [[len(x) * len(z) for z in Z.ravel()] for x in X.ravel()]))
    assert result.valid is None
    assert "no table that was tried could be evaluated (TypeError: object of type 'numpy.float64'" in str(result)


@pytest.mark.slow
def test_a_function_of_many_columns_is_searched_where_they_are_given():
    kernel = Custom(lambda X, Z: -X[:, [4]] * Z[:, 4])
    assert check_mercer(kernel).valid is None
    assert check_mercer(kernel, columns=5).valid is False
    assert check_mercer(kernel, columns=[2, 5]).valid is False


@pytest.mark.slow
def test_a_kernel_that_says_it_is_none_stays_none_where_no_rows_are_found():
    class Modest(Kernel):
        mercer = False
        because = "I have been told so"

        def block(self, pair):
            return pair.dot()

    result = check_mercer(Modest())
    assert result.valid is False
    assert str(result).startswith("Modest() is not a Mercer kernel, by its certificate: none of")


def test_a_result_is_frozen_and_public():
    result = check_mercer(np.eye(2))
    assert isinstance(result, MercerCheck)
    assert mercer.check_mercer is check_mercer
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.valid = False
