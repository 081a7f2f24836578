"""What every kernel is: a frozen value with parameters, text, equality, and one method to write."""

import contextlib
import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from kernel_strategies import composed_kernels, tables
from sklearn.base import clone

from formulas import worst
from mercer.data import as_rows
from mercer.errors import InputError
from mercer.kernels import (
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
    RationalQuadratic,
    Sigmoid,
    SquaredDistance,
)
from refusals import refusal, tells
from views import read_only


class Cauchy(Kernel):
    """A kernel of one's own, as in the documentation."""

    width: float = 1.0

    def block(self, pair):
        return 1.0 / (1.0 + pair.squared_distance(1.0 / self.width))


def product(X, Z):
    return X @ Z.T


def first(X):
    return X[:, 0]


EVERY = [
    Linear(),
    Polynomial(3, 0.5, 2.0),
    Gaussian(0.7),
    Gaussian([1.0, 2.0, 3.0]),
    Laplacian(2.0),
    Matern(0.5, 0.5),
    RationalQuadratic(2.0, 3.0),
    Periodic(2.0, 3.0),
    Cosine(),
    Constant(2.0),
    Chi2(0.5),
    Sigmoid(0.5, 0.1),
    SquaredDistance(),
    Cauchy(2.0),
    Custom(product),
    FromFeatures(np.sqrt),
    Outer(first),
    Gaussian() + Linear(),
    Gaussian() * Linear(),
    2.5 * Gaussian(),
    Linear() ** 3,
    Gaussian().exp(),
    Gaussian().map(np.sqrt),
    Gaussian().on([0, 2]),
    Polynomial().normalized(),
]


# -- what comes in and what comes out ---------------------------------------------------------------


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
class TestInputs:
    def test_read_only_rows_are_taken_and_stay_as_they_were(self, kernel, rng):
        X, Z = rng.exponential(size=(6, 3)), rng.exponential(size=(4, 3))
        kept = X.copy(), Z.copy()
        kernel(read_only(X))
        kernel(read_only(X), read_only(Z))
        kernel.diag(read_only(X))
        kernel(read_only(X), dtype=np.float32)
        assert (X == kept[0]).all()
        assert (Z == kept[1]).all()

    def test_writable_rows_stay_as_they_were(self, kernel, rng):
        X, Z = rng.exponential(size=(6, 3)), rng.exponential(size=(4, 3))
        kept = X.copy(), Z.copy()
        kernel(X)
        kernel(X, Z)
        kernel.diag(X)
        assert (X == kept[0]).all()
        assert (Z == kept[1]).all()

    def test_lists_tuples_whole_numbers_and_strange_strides_are_rows_too(self, kernel, rng):
        whole = rng.integers(0, 4, size=(6, 3))
        right = kernel(whole.astype(float))
        for X in (
            whole,
            whole.tolist(),
            tuple(map(tuple, whole.tolist())),
            whole.astype(np.uint8),
            whole.astype(np.float32),
            whole.astype(np.float16),
            np.asfortranarray(whole),
            np.repeat(whole, 2, axis=0)[::2],
            whole[::-1][::-1],
            pd.DataFrame(whole),
            pd.DataFrame(whole).astype("Int64"),
        ):
            assert worst(kernel(X), right) < 1e-14
            assert kernel(X).dtype == np.float64
            assert kernel.diag(X).dtype == np.float64

    def test_single_precision_is_given_only_where_asked_for(self, kernel, rng):
        X = rng.exponential(size=(6, 3)).astype(np.float32)
        assert kernel(X).dtype == np.float64
        assert kernel(X, X[:2]).dtype == np.float64
        assert kernel(X, dtype=np.float32).dtype == np.float32
        assert kernel(X, X[:2], dtype="float32").dtype == np.float32
        assert worst(kernel(X, dtype=np.float32), kernel(X)) < 1e-5

    def test_no_rows_give_an_empty_matrix(self, kernel, rng):
        none, X = np.empty((0, 3)), rng.exponential(size=(4, 3))
        assert kernel(none).shape == (0, 0)
        assert kernel(none, X).shape == (0, 4)
        assert kernel(X, none).shape == (4, 0)
        assert kernel.diag(none).shape == (0,)

    def test_one_row_gives_one_number(self, kernel, rng):
        X = rng.exponential(size=(1, 3))
        assert kernel(X).shape == (1, 1)
        assert kernel(X)[0, 0] == pytest.approx(kernel.diag(X)[0], rel=1e-12)

    def test_the_matrix_is_exactly_symmetric(self, kernel, rng):
        K = kernel(rng.exponential(size=(40, 3)))
        assert (K == K.T).all()

    def test_the_answer_is_ones_own_to_write_in(self, kernel, rng):
        X = rng.exponential(size=(6, 3))
        again = kernel(X).copy()
        kernel(X)[:] = 7.0
        kernel.diag(X)[:] = 7.0
        assert (kernel(X) == again).all()


@given(kernel=composed_kernels(), X=tables())
@pytest.mark.slow
def test_any_kernel_is_exactly_symmetric_and_leaves_its_rows_alone(kernel, X):
    kept = X.copy()
    K = kernel(read_only(X))
    assert (K == K.T).all()
    assert (X == kept).all()
    assert worst(kernel(X, dtype=np.float32), K) < 1e-3


def test_another_number_of_columns_is_refused(rng):
    assert tells(refusal(Linear(), rng.normal(size=(4, 3)), rng.normal(size=(4, 2))), "Z", "got 2 columns")


@pytest.mark.parametrize("dtype", [np.float16, int, np.complex128, "float16", object, ">f8"])
def test_other_precisions_are_refused(dtype, rng):
    assert tells(refusal(Linear(), rng.normal(size=(4, 3)), dtype=dtype), "dtype of a kernel matrix", f"got {dtype!r}")


def test_a_precision_that_is_none_is_refused_in_the_same_sentence(rng):
    assert tells(
        refusal(Linear(), rng.normal(size=(4, 3)), dtype="double trouble"),
        "dtype of a kernel matrix",
        "got 'double trouble'",
    )


def test_missing_numbers_are_refused_with_their_place():
    X = [[1.0, 2.0], [3.0, np.nan]]
    said = "X must be finite; got nan in row 1, column 1. Impute the missing values, or drop these rows."
    assert refusal(Linear(), X) == said
    assert refusal(Linear().diag, X) == said
    assert refusal(Linear(), [[1.0, 2.0]], X) == said


# -- values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
class TestValues:
    def test_it_is_frozen(self, kernel):
        for name, value in kernel.items():
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(kernel, name, value)
        with pytest.raises(dataclasses.FrozenInstanceError):
            kernel.anything = 3

    def test_copies_are_equal_and_hash_alike(self, kernel):
        for again in (copy.copy(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
            assert again == kernel
            assert hash(again) == hash(kernel)
            assert repr(again) == repr(kernel)

    def test_a_clone_is_the_kernel_itself(self, kernel):
        assert clone(kernel) is kernel

    def test_it_is_rebuilt_from_its_parameters(self, kernel):
        again = type(kernel)(**kernel.get_params(deep=False))
        assert again == kernel
        for name, value in kernel.items():
            assert getattr(again, name) is value

    def test_setting_no_parameter_changes_nothing(self, kernel):
        assert kernel.set_params() == kernel
        assert kernel.set_params(**kernel.get_params()) == kernel

    def test_it_differs_from_everything_else(self, kernel):
        assert [other for other in EVERY if other == kernel] == [kernel]
        assert kernel != repr(kernel)
        assert kernel != None  # noqa: E711
        assert kernel != 3


def test_parameters_are_compared_by_value():
    assert Gaussian(2) == Gaussian(2.0) == Gaussian(np.float64(2.0)) == Gaussian(np.int8(2))
    assert Gaussian([1, 2]) == Gaussian([1.0, 2.0]) == Gaussian((1, 2)) == Gaussian(np.array([1.0, 2.0]))
    assert Gaussian([1, 2]) != Gaussian([2, 1])
    assert Gaussian([1.0]) != Gaussian([1.0, 1.0])
    assert Gaussian(1.0) != Gaussian(1.0, per_dimension=True)
    assert Gaussian() != Laplacian()
    assert Linear().on([0, 1]) == Linear().on((0, 1)) == Linear().on(np.array([0, 1]))
    assert Linear().on([0, 1]) != Linear().on([1, 0])
    assert Linear().on(["a"]) != Linear().on(["b"])
    assert 2 * Linear() == 2.0 * Linear()


def test_equal_kernels_hash_alike_and_can_be_keys():
    equal = [Gaussian([1, 2]), Gaussian([1.0, 2.0]), Gaussian((1, 2)), Gaussian(np.array([1, 2]))]
    assert len(set(equal)) == 1
    assert {Gaussian(2): "two"}[Gaussian(2.0)] == "two"
    assert len({Gaussian() + Linear(), Linear() + Gaussian()}) == 2


def test_a_column_number_is_not_the_name_that_looks_like_it():
    assert Linear().on([0]) != Linear().on(["0"])
    assert Linear().on([0, "a"]) != Linear().on(["0", "a"])


def test_a_width_that_is_an_array_without_dimensions_is_a_number():
    assert Gaussian(np.array(2.0)) == Gaussian(2.0)
    assert hash(Gaussian(np.array(2.0))) == hash(Gaussian(2.0))


def test_widths_may_be_the_standard_deviations_of_a_data_frame(rng):
    X = pd.DataFrame(rng.normal(size=(6, 3)), columns=list("abc"))
    kernel = Gaussian(X.std())
    assert worst(kernel(X), Gaussian(X.std().to_numpy())(X)) < 1e-15
    assert kernel == Gaussian(X.std().to_numpy())
    assert hash(kernel) == hash(Gaussian(X.std()))
    assert repr(kernel) == repr(Gaussian(X.std().to_numpy()))


def test_a_subclass_is_another_kernel():
    class Mine(Gaussian):
        pass

    assert Mine(2.0) != Gaussian(2.0)
    assert repr(Mine(2.0)) == "Mine(width=2.0)"


# -- parameters -------------------------------------------------------------------------------------


def test_nested_parameters_have_nested_names():
    kernel = (Gaussian(2.0) + 3.0 * Matern(1.0, 0.5)).on([0]) ** 2
    assert kernel.get_params() == {
        "base": kernel.base,
        "exponent": 2,
        "base__base": kernel.base.base,
        "base__columns": [0],
        "base__base__k1": Gaussian(2.0),
        "base__base__k1__width": 2.0,
        "base__base__k1__per_dimension": False,
        "base__base__k2": 3.0 * Matern(1.0, 0.5),
        "base__base__k2__base": Matern(1.0, 0.5),
        "base__base__k2__base__width": 1.0,
        "base__base__k2__base__nu": 0.5,
        "base__base__k2__factor": 3.0,
    }
    assert sorted(kernel.get_params(deep=False)) == ["base", "exponent"]


def test_setting_a_parameter_gives_a_new_kernel_and_leaves_the_old_one():
    old = Gaussian(2.0) + Linear()
    new = old.set_params(k1__width=3.0)
    assert new == Gaussian(3.0) + Linear()
    assert old == Gaussian(2.0) + Linear()
    assert new is not old


def test_a_member_and_its_parameter_can_be_set_at_once():
    kernel = Gaussian() + Linear()
    assert kernel.set_params(k2=Laplacian(), k2__width=4.0) == Gaussian() + Laplacian(4.0)
    assert kernel.set_params(k2__width=4.0, k2=Laplacian()) == Gaussian() + Laplacian(4.0)


def test_several_nested_parameters_can_be_set_at_once():
    kernel = (Gaussian() + Linear()) * Matern()
    assert kernel.set_params(k1__k1__width=2.0, k1__k1__per_dimension=True, k2__nu=0.5) == (
        Gaussian(2.0, per_dimension=True) + Linear()
    ) * Matern(nu=0.5)


def test_a_parameter_set_badly_is_refused_as_in_the_constructor():
    assert tells(refusal((Gaussian() + Linear()).set_params, k1__width=-1.0), "width of Gaussian", "got -1.0")
    assert tells(refusal((Gaussian() + Linear()).set_params, k1="a"), "k1 of Sum", "got 'a'")


def test_an_unknown_parameter_is_answered_with_the_nearest():
    assert tells(refusal(Gaussian().set_params, widht=2.0), "Gaussian", "'widht'", "'width'")
    assert tells(refusal((Gaussian() + Linear()).set_params, k1__widht=2.0), "Gaussian", "'widht'", "'width'")
    assert tells(refusal((Gaussian() + Linear()).set_params, k3__width=2.0), "Sum", "'k3'")
    assert tells(refusal(Matern().set_params, zzz=2.0), "Matern", "'zzz'")


def test_an_unknown_parameter_of_a_kernel_without_any_is_answered_in_a_sentence():
    said = refusal(Linear().set_params, width=1.0)
    assert said.startswith("Linear has no parameter 'width'.")
    assert "Known: ." not in said


def test_a_number_has_no_parameters_of_its_own():
    assert tells(refusal(Gaussian().set_params, width__x=2.0), "Gaussian", "'width__x'", "'width'")


def test_members_are_the_kernels_a_kernel_is_made_of():
    assert Gaussian().members() == {}
    assert (Gaussian() + Linear()).members() == {"k1": Gaussian(), "k2": Linear()}
    assert ((Gaussian() + Linear()) * Linear()).leaves() == 3
    assert Gaussian().leaves() == 1


# -- a kernel of one's own --------------------------------------------------------------------------


def test_a_kernel_of_ones_own_needs_one_method(rng):
    X, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    kernel = Cauchy(2.0)
    right = 1 / (1 + SquaredDistance()(X, Z) / 4)
    assert worst(kernel(X, Z), right) < 1e-14
    assert worst(kernel.diag(X), np.ones(6)) < 1e-14
    assert worst((kernel * Linear())(X, Z), right * (X @ Z.T)) < 1e-13
    assert kernel == Cauchy(width=2)
    assert repr(kernel) == "Cauchy(width=2.0)"
    assert kernel.set_params(width=3.0) == Cauchy(3.0)
    assert kernel.get_params() == {"width": 2.0}


def test_a_kernel_of_ones_own_gives_single_precision_where_asked_for(rng):
    X = rng.normal(size=(60, 5))
    single = Cauchy(2.0)(X, dtype=np.float32)
    assert single.dtype == np.float32
    assert worst(single, Cauchy(2.0)(X)) < 1e-5


def test_a_kernel_without_its_method_says_which(rng):
    class Nothing(Kernel):
        pass

    with pytest.raises(NotImplementedError) as caught:
        Nothing()(rng.normal(size=(3, 2)))
    assert tells(str(caught.value), "Nothing")


def test_the_results_of_a_kernel_of_ones_own_are_checked(rng):
    class Wrong(Kernel):
        how: str = "shape"

        def block(self, pair):
            values = {
                "shape": np.ones(3),
                "nan": np.full(pair.shape, np.nan),
                "skew": pair.x.values[:, :1] - pair.z.values[:, 0],
            }
            return values[self.how]

    X = np.array([[0.0, 0.0], [2.0, 0.0]])
    assert tells(refusal(Wrong(), X), "The result of Wrong(how='shape')", "got shape (3,)")
    assert tells(refusal(Wrong("nan"), X), "Every value of Wrong(how='nan')", "got NaN or infinity")
    assert tells(refusal(Wrong("skew"), X), "Wrong(how='skew')", "got a difference of 4")


def test_a_kernel_of_ones_own_cannot_write_into_your_rows(rng):
    class Careless(Kernel):
        def block(self, pair):
            pair.x.values[:] = 0.0
            return pair.dot()

    X, Z = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    kept = X.copy()
    with contextlib.suppress(ValueError):
        Careless()(X, Z)
    assert (X == kept).all()


def test_a_feature_map_without_features_is_refused(rng):
    assert tells(refusal(Cauchy().feature_map, rng.normal(size=(3, 2))), "Cauchy(width=1.0)")


@pytest.mark.parametrize(
    "kernel", [Polynomial(), Linear() ** 2, Linear().exp(), 1e300 * Linear(), Linear() * Linear()], ids=repr
)
def test_a_diagonal_that_overflows_is_refused_and_no_warning_is_given(kernel):
    assert tells(refusal(kernel.diag, [[1e128, 1e128]]), repr(kernel), "infinity")


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_a_kernel_is_finite_exactly_where_it_has_features(kernel, rng):
    X = rng.exponential(size=(4, 3))
    if kernel.finite:
        assert kernel.feature_map(X).shape == (4, kernel.count_features(as_rows(X)))
    else:
        assert kernel.count_features(as_rows(X)) is None
        with pytest.raises(InputError, match="has no finite feature map"):
            kernel.feature_map(X)


def test_the_number_of_features_of_no_rows_is_known_where_it_follows_from_the_columns():
    none = as_rows(np.empty((0, 3)))
    assert Linear().count_features(none) == 3
    assert FromFeatures(np.abs).count_features(none) is None


def test_features_that_would_not_fit_are_refused_before_they_are_formed(monkeypatch, rng):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryError) as caught:
        Polynomial().feature_map(rng.normal(size=(100, 2)))
    assert tells(str(caught.value), "100", "6", "4.8 kB")


def test_kernels_that_hold_functions_show_their_names():
    assert repr(Gaussian().map(np.abs)) == "Gaussian(width=1.0).map(<absolute>)"
    assert repr(Custom(product)) == "Custom(function=<product>)"
    assert repr(FromFeatures(type("Phi", (), {"__call__": first})())) == "FromFeatures(phi=<Phi>)"
    assert repr(Linear().map(type("Phi", (), {"__call__": first})())) == "Linear().map(<Phi>)"


def test_an_empty_sequence_of_objects_is_refused_as_objects():
    with pytest.raises(InputError, match=r"^Gaussian needs rows of numbers; got objects\."):
        Gaussian()(np.array([], dtype=object))
