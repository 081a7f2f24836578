"""The public exam: good kernels pass it, and each way of being broken fails it with a sentence."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

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
)
from mercer.testing import check_kernel


def first(X):
    return X[:, 0]


def product(X, Z):
    return X @ Z.T


class Cauchy(Kernel):
    """A kernel of one's own that is as it should be."""

    width: float = 1.0
    mercer = True
    because = "it is a mixture of Gaussian kernels"

    def block(self, pair):
        return 1.0 / (1.0 + pair.squared_distance(1.0 / self.width))


GOOD = [
    Linear(),
    Polynomial(),
    Polynomial(3, 0.0, 0.5),
    Gaussian(),
    Gaussian([1.0, 2.0, 3.0, 4.0], per_dimension=True),
    Gaussian.from_gamma([1.0, 2.0, 3.0, 4.0]),
    Laplacian(),
    Matern(nu=0.5),
    Matern(),
    Matern(nu=2.5),
    RationalQuadratic(),
    Periodic(),
    Cosine(),
    Constant(0.0),
    Chi2(),
    AdditiveChi2(),
    Sigmoid(),
    SquaredDistance(),
    Precomputed(),
    Custom(product),
    FromFeatures(np.sqrt),
    Outer(first),
    Gaussian() + 2.0 * Linear(),
    (Laplacian() * Matern()).normalized(),
    Linear() ** 3,
    (0.1 * Linear()).exp(),
    Gaussian().map(np.log1p),
    Polynomial().on([0, 2]).normalized() + 1.0,
    2.0 * Precomputed() + 1.0,
]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", GOOD, ids=repr)
def test_a_good_kernel_passes(kernel):
    check_kernel(kernel)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_rows_drawn_follow_the_seed(seed):
    check_kernel(Gaussian() + Linear(), seed=seed)


@pytest.mark.slow
def test_a_good_kernel_of_ones_own_passes():
    check_kernel(Cauchy())
    check_kernel(Cauchy(2.0) * Linear() + Cauchy())


@pytest.mark.parametrize(
    "X",
    [
        [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]],
        np.ones((1, 2)),
        np.zeros((5, 2)),
        1e6 + np.arange(6.0).reshape(3, 2),
        sparse.csr_array(np.eye(4)[:, :2]),
        pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}),
    ],
    ids=["list", "one row", "zeros", "offset", "sparse", "frame"],
)
def test_rows_of_ones_own_may_be_given(X):
    check_kernel(Gaussian() + Linear(), X)


def test_no_rows_at_all_are_rows_too():
    for kernel in (Linear(), Gaussian(), Matern(nu=0.5), Gaussian() + Linear()):
        check_kernel(kernel, np.empty((0, 3)))


def test_objects_may_be_given():
    check_kernel(Constant(2.0), ["a", "b"])
    check_kernel(Custom(lambda X, Z: (X[:, None] == Z).astype(float)), ["a", "b", "a"])


def test_a_matrix_may_be_given(rng):
    A = rng.normal(size=(5, 5))
    check_kernel(Precomputed(), A @ A.T)


# -- each way of being broken -----------------------------------------------------------------------


class Asymmetric(Kernel):
    def block(self, pair):
        return pair.x.values[:, :1] - pair.z.values[:, 0]


class AsymmetricAndTrusted(Asymmetric):
    trusted = True


class WrongShape(Kernel):
    def block(self, pair):
        return np.ones(len(pair.x))


class WrongShapeAndTrusted(WrongShape):
    trusted = True


class NotFinite(Kernel):
    def block(self, pair):
        return np.full(pair.shape, np.nan)


class NotFiniteAndTrusted(NotFinite):
    trusted = True


class FalseClaim(Kernel):
    mercer = True
    because = "somebody said so"

    def block(self, pair):
        return pair.squared_distance(1.0)


class WrongDiagonal(Kernel):
    def block(self, pair):
        return pair.dot()

    def diagonal(self, rows):
        return np.ones(len(rows))


class ModifiesRows(Kernel):
    def block(self, pair):
        pair.x.values[:] *= 2.0
        return pair.dot()


class WrongFeatureCount(Kernel):
    def block(self, pair):
        return pair.dot()

    def feature_count(self, width):
        return width + 1

    def features(self, rows):
        return rows.values


class WrongFeatures(Kernel):
    def block(self, pair):
        return pair.dot()

    def feature_count(self, width):
        return width

    def features(self, rows):
        return 2.0 * rows.values


class MissingFeatures(Kernel):
    def block(self, pair):
        return pair.dot()

    def feature_count(self, width):
        return width


class DependsOnTheBlock(Kernel):
    def block(self, pair):
        return pair.dot() * len(pair.x) * len(pair.z)


class ForgetsItsParameters(Kernel):
    width: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "width", self.width + 1.0)

    def block(self, pair):
        return pair.dot()


class LosesItsParametersWhenPickled(Kernel):
    width: float = 1.0

    def block(self, pair):
        return pair.dot()

    def __reduce__(self):
        return LosesItsParametersWhenPickled, ()


class RandomValues(Kernel):
    def block(self, pair):
        return np.random.default_rng().normal() * pair.dot()


@pytest.mark.parametrize(
    "kernel",
    [
        Asymmetric(),
        AsymmetricAndTrusted(),
        WrongShape(),
        WrongShapeAndTrusted(),
        NotFinite(),
        NotFiniteAndTrusted(),
        FalseClaim(),
        WrongDiagonal(),
        ModifiesRows(),
        WrongFeatureCount(),
        WrongFeatures(),
        MissingFeatures(),
        DependsOnTheBlock(),
        ForgetsItsParameters(),
        LosesItsParametersWhenPickled(2.0),
        RandomValues(),
        Custom(lambda X, Z: X @ Z.T + X[:, :1]),
        Custom(lambda X, Z: X),
        Linear() + Custom(lambda X, Z: np.full((len(X), len(Z)), np.inf)),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_a_broken_kernel_fails_with_a_sentence(kernel):
    with pytest.raises(AssertionError) as caught:
        check_kernel(kernel)
    assert repr(kernel) in str(caught.value)


def test_a_kernel_that_changes_its_rows_fails_even_where_they_are_lists():
    with pytest.raises(AssertionError):
        check_kernel(ModifiesRows(), [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (FalseClaim(), r"^FalseClaim\(\) claims to be a Mercer kernel, but k\(X\) has the eigenvalue -\d.*\.$"),
        (
            WrongDiagonal(),
            r"^WrongDiagonal\(\): k.diag\(X\) and the diagonal of k\(X\) must agree; they differ by .*\.$",
        ),
        (WrongFeatureCount(), r"^WrongFeatureCount\(\): feature_count must be the number of features\.$"),
        (WrongFeatures(), r"^WrongFeatures\(\): phi\(x\)'phi\(z\) and k\(x, z\) must agree; they differ by .*\.$"),
        (DependsOnTheBlock(), r"^DependsOnTheBlock\(\): a block of rows and the same part of k\(X\) must agree; .*\.$"),
        (AsymmetricAndTrusted(), r"^AsymmetricAndTrusted\(\): k\(X, X\) and k\(X\) must agree; they differ by .*\.$"),
        (
            ForgetsItsParameters(),
            r"^ForgetsItsParameters\(width=2.0\): set_params\(\*\*get_params\(\)\) must give an equal kernel\.$",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_sentence_says_what_was_failed(kernel, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_kernel(kernel)


def test_an_indefinite_kernel_that_claims_nothing_passes():
    check_kernel(SquaredDistance())
    check_kernel(Custom(lambda X, Z: -(X @ Z.T)))


def test_rows_the_kernel_cannot_take_are_still_refused_as_input():
    with pytest.raises(ValueError, match="Negative values in data"):
        check_kernel(Chi2(), [[-1.0]])


class Claimed(Kernel):
    mercer = True
    because = "somebody said so"


class Cubed(Claimed):
    """exp(-|x - z|^p) is a Mercer kernel for p up to 2 alone."""

    def block(self, pair):
        return np.exp(-((4.0 * pair.distance(1.0)) ** 3))


class Least(Claimed):
    """min(x, z) is a Mercer kernel of positive numbers alone."""

    def block(self, pair):
        return np.minimum(pair.x.values[:, None], pair.z.values).sum(axis=2)


class LeastOfPositive(Least):
    positive_only = True


class Tent(Claimed):
    """A tent over the Euclidean distance is a Mercer kernel in one dimension alone."""

    def block(self, pair):
        return np.maximum(1.0 - pair.distance(1.0), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Cubed(), Least(), Tent()], ids=repr)
def test_a_false_claim_is_contradicted_by_rows_that_are_shown(kernel):
    with pytest.raises(AssertionError) as refusal:
        check_kernel(kernel)
    said = str(refusal.value)
    assert said.startswith(f"{kernel!r} claims to be a Mercer kernel, but k(X) has the eigenvalue -")
    value, rows = said.split("eigenvalue ")[1].removesuffix(".").split(" for X = ")
    K = kernel(np.array(json.loads(rows)))
    np.testing.assert_allclose(np.linalg.eigvalsh(K)[0], float(value), rtol=0.01)
    assert np.linalg.eigvalsh(K)[0] < -1e-8 * np.trace(K)


@pytest.mark.slow
def test_a_claim_for_positive_numbers_is_examined_on_positive_numbers():
    check_kernel(LeastOfPositive())
