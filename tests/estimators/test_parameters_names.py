"""What a kernel argument means: scikit-learn's strings and functions mean what they mean there."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.tests.test_kernel_ridge as their_tests
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.model_selection import GridSearchCV
from sklearn.utils.fixes import CSC_CONTAINERS, CSR_CONTAINERS

import mercer
from mercer import KernelNeighborsRegressor, KernelRidge, KernelRidgeClassifier
from mercer.errors import InputError, NotMercerWarning
from mercer.estimators.parameters import is_positive_only, is_precomputed, resolve, takes_sparse
from mercer.kernels import (
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Custom,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from refusals import tells


@pytest.fixture
def in_their_place(monkeypatch):
    """scikit-learn's own test module, with our class where theirs was."""
    monkeypatch.setattr(their_tests, "KernelRidge", mercer.KernelRidge)
    return their_tests


def their_names(parametrised):
    return sorted(
        name
        for name, test in vars(their_tests).items()
        if name.startswith("test_") and bool(getattr(test, "pytestmark", [])) == parametrised
    )


def test_their_test_file_is_the_one_we_know():
    assert their_names(parametrised=True) == ["test_kernel_ridge_sparse"]
    assert len(their_names(parametrised=False)) >= 6


@pytest.mark.parametrize("name", their_names(parametrised=False))
def test_scikit_learns_own_tests_pass_with_our_class(name, in_their_place):
    getattr(in_their_place, name)()


@pytest.mark.parametrize("container", [*CSR_CONTAINERS, *CSC_CONTAINERS])
def test_scikit_learns_own_sparse_test_passes_with_our_class(container, in_their_place):
    in_their_place.test_kernel_ridge_sparse(container)


STRINGS = [
    ("linear", {}),
    ("rbf", {}),
    ("rbf", {"gamma": 0.3}),
    ("rbf", {"gamma": 0}),
    ("laplacian", {}),
    ("laplacian", {"gamma": 0.3}),
    ("laplacian", {"gamma": 0.0}),
    ("poly", {}),
    ("polynomial", {"gamma": 0.2, "degree": 2, "coef0": 0.5}),
    ("poly", {"gamma": 0}),
    ("poly", {"degree": 0}),
    ("poly", {"degree": 2.5}),
    ("poly", {"degree": 1}),
    ("poly", {"coef0": -1}),
    ("poly", {"coef0": 0}),
    ("poly", {"degree": 2, "coef0": -0.1, "gamma": 2.0}),
    ("sigmoid", {}),
    ("sigmoid", {"gamma": 0.01, "coef0": 0.2}),
    ("sigmoid", {"gamma": 0}),
    ("cosine", {}),
    ("cosine", {"gamma": 3.0}),
    ("chi2", {"gamma": 0.4}),
    ("chi2", {"gamma": 0}),
    ("additive_chi2", {}),
    ("linear", {"gamma": 5.0, "degree": 9, "coef0": 7, "kernel_params": {"ignored": 1}}),
    ("rbf", {"gamma": np.float32(0.25)}),
]


@pytest.mark.parametrize(("kernel", "params"), STRINGS, ids=[f"{kernel} {params}" for kernel, params in STRINGS])
@pytest.mark.filterwarnings("ignore::mercer.errors.NotMercerWarning")
@pytest.mark.filterwarnings("ignore:Singular matrix:UserWarning")
def test_every_string_predicts_what_scikit_learns_does(kernel, params, rng):
    X, new = rng.exponential(size=(25, 4)), rng.exponential(size=(6, 4))
    Y, w = rng.normal(size=(25, 2)), rng.uniform(0.5, 2.0, size=25)
    # one alpha at a time: with several, scikit-learn's gives up on indefinite matrices
    peers = [Peer(alpha, kernel=kernel, **params).fit(X, Y[:, j], w) for j, alpha in enumerate([0.2, 3.0])]
    model = KernelRidge([0.2, 3.0], kernel=kernel, **params).fit(X, Y, w)
    expected = np.column_stack([peer.predict(new) for peer in peers])
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-7, atol=1e-8)


def test_chi2_without_gamma_has_the_documented_default(rng):
    X, y = rng.exponential(size=(20, 3)), rng.normal(size=20)
    np.testing.assert_allclose(
        KernelRidge(kernel="chi2").fit(X, y).predict(X), Peer(kernel="chi2", gamma=1.0).fit(X, y).predict(X), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("kernel", "params"),
    [(k, p) for k, p in STRINGS if k not in {"chi2", "additive_chi2", "laplacian"} and p.get("degree") != 2.5],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::mercer.errors.NotMercerWarning")
@pytest.mark.filterwarnings("ignore:Singular matrix:UserWarning")
def test_every_string_takes_the_sparse_rows_scikit_learns_takes(kernel, params, rng):
    X = sp.csr_array(rng.normal(size=(15, 4)) * (rng.uniform(size=(15, 4)) < 0.6))
    y = rng.normal(size=15)
    peer = Peer(kernel=kernel, **params).fit(X, y)
    model = KernelRidge(kernel=kernel, **params).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["sigmoid", "additive_chi2"])
def test_strings_that_are_no_mercer_kernels_are_told_once(name, rng):
    X, y = rng.exponential(size=(20, 3)), rng.normal(size=20)
    with pytest.warns(NotMercerWarning) as caught:
        model = KernelRidge(5.0, kernel=name).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    _, reason = model.kernel_.verdict()
    assert tells(str(caught[0].message), repr(model.kernel_), reason)


# -- functions ------------------------------------------------------------------------------------


def overlap(x, z, power=1.0):
    return float(np.minimum(np.abs(x), np.abs(z)).sum() ** power)


@pytest.mark.parametrize("params", [None, {}, {"power": 2.0}])
def test_a_function_of_two_rows_means_what_it_means_in_scikit_learn(params, rng):
    X, y, new = rng.normal(size=(12, 3)), rng.normal(size=12), rng.normal(size=(5, 3))
    peer = Peer(0.5, kernel=overlap, kernel_params=params).fit(X, y)
    model = KernelRidge(0.5, kernel=overlap, kernel_params=params).fit(X, y)
    np.testing.assert_allclose(model.predict(new), peer.predict(new), rtol=1e-9)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(new), model.predict(new))


def test_gamma_does_not_reach_a_function(rng):
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    peer = Peer(kernel=overlap, gamma=5.0, degree=9).fit(X, y)
    np.testing.assert_allclose(
        KernelRidge(kernel=overlap, gamma=5.0, degree=9).fit(X, y).predict(X), peer.predict(X), rtol=1e-9
    )


def sparse_scalar_product(x, z):
    return float((x @ z.T).sum())


def test_a_function_of_two_rows_takes_sparse_rows_as_in_scikit_learn(rng):
    X, y = sp.csr_array(rng.normal(size=(10, 3))), rng.normal(size=10)
    peer = Peer(kernel=sparse_scalar_product).fit(X, y)
    model = KernelRidge(kernel=sparse_scalar_product).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-9)


PROCESSES = [
    RBF(0.7),
    ConstantKernel(2.0) * RBF([0.5, 1.0, 2.0]) + DotProduct(0.3),
    RBF(0.7) + WhiteKernel(0.1),  # white noise is zero between a table and itself in KernelRidge
]


@pytest.mark.parametrize("kernel", PROCESSES, ids=str)
def test_scikit_learns_gaussian_process_kernels_are_taken(kernel, rng):
    X, y, new = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=(5, 3))
    peer = Peer(0.5, kernel=kernel).fit(X, y)
    model = KernelRidge(0.5, kernel=kernel, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.predict(new), peer.predict(new), rtol=1e-9)


def test_a_grid_reaches_into_scikit_learns_kernels(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    grid = {"kernel__length_scale": [0.1, 1.0, 10.0]}
    theirs = GridSearchCV(Peer(0.5, kernel=RBF()), grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    ours = GridSearchCV(KernelRidge(0.5, kernel=RBF()), grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert len(set(ours)) == 3


def test_a_function_that_does_not_return_a_number_is_refused_in_a_sentence(rng):
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    with pytest.raises(InputError, match="one number"):
        KernelRidge(kernel=lambda x, z: np.ones(3)).fit(X, y)


# -- resolve --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("linear", {}, Linear()),
        ("rbf", {}, Gaussian.from_gamma(0.25)),
        ("gaussian", {"gamma": 2.0}, Gaussian.from_gamma(2.0)),
        ("rbf", {"gamma": 0}, Constant(1.0)),
        ("laplacian", {}, Laplacian(4.0)),
        ("laplacian", {"gamma": 0}, Constant(1.0)),
        ("poly", {}, Polynomial(3, 1.0, 0.25)),
        ("polynomial", {"degree": 2.0, "coef0": 0, "gamma": 3}, Polynomial(2, 0.0, 3.0)),
        ("poly", {"degree": 0}, Constant(1.0)),
        ("sigmoid", {}, Sigmoid(0.25, 1.0)),
        ("cosine", {}, Cosine()),
        ("chi2", {}, Chi2(1.0)),
        ("chi2", {"gamma": 0.0}, Constant(1.0)),
        ("additive_chi2", {}, AdditiveChi2()),
        ("precomputed", {}, Precomputed()),
    ],
)
def test_a_string_stands_for_a_kernel(name, settings, expected):
    assert resolve("KernelRidge", name, 4, **settings) == expected


def test_a_kernel_stands_for_itself():
    kernel = Gaussian() + Linear()
    assert resolve("KernelRidge", kernel, 3) is kernel
    assert isinstance(resolve("KernelRidge", overlap, 3), Custom)


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        ("linear", (False, True, False)),
        ("precomputed", (True, True, False)),
        ("chi2", (False, True, True)),
        ("additive_chi2", (False, True, True)),
        (Precomputed(), (True, True, False)),
        (2.0 * Precomputed(), (True, True, False)),
        (Gaussian(), (False, True, False)),
        (Chi2(), (False, True, True)),
        (Custom(np.dot), (False, False, False)),
    ],
    ids=repr,
)
def test_tags_follow_the_kernel(given, tags):
    assert (is_precomputed(given), takes_sparse(given), is_positive_only(given)) == tags
    for estimator in (KernelRidge(kernel=given), KernelRidgeClassifier(kernel=given), KernelNeighborsRegressor(given)):
        found = estimator.__sklearn_tags__().input_tags
        assert (found.pairwise, found.sparse, found.positive_only) == tags


ALL_NAMES = "additive_chi2, chi2, cosine, gaussian, laplacian, linear, poly, polynomial, precomputed, rbf, sigmoid"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("gausian", "a known name, a kernel or a function; got 'gausian'. Did you mean 'gaussian'?"),
        ("RBF", "a known name, a kernel or a function; got 'RBF'. Did you mean 'rbf'?"),
        ("polynom", "a known name, a kernel or a function; got 'polynom'. Did you mean 'polynomial'?"),
        ("zzz", f"a known name, a kernel or a function; got 'zzz'. Known: {ALL_NAMES}."),
        (3, "a kernel, a name or a function; got 3."),
        (None, "a kernel, a name or a function; got None."),
        ([1], "a kernel, a name or a function; got [1]."),
    ],
)
@pytest.mark.parametrize(
    "make",
    [lambda k: KernelRidge(kernel=k), lambda k: KernelRidgeClassifier(kernel=k), KernelNeighborsRegressor],
    ids=["KernelRidge", "KernelRidgeClassifier", "KernelNeighborsRegressor"],
)
def test_what_is_no_kernel_is_refused_in_a_sentence(given, sentence, make):
    estimator = make(given)
    with pytest.raises(InputError) as caught:
        estimator.fit([[1.0], [2.0], [3.0]], [0, 1, 0])
    assert tells(str(caught.value), f"kernel of {type(estimator).__name__}", sentence)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"kernel": "rbf", "gamma": -1}, "gamma of KernelRidge must be a finite number of at least 0; got -1."),
        (
            {"kernel": "rbf", "gamma": "scale"},
            "gamma of KernelRidge must be a finite number of at least 0; got 'scale'.",
        ),
        ({"kernel": "rbf", "gamma": np.nan}, "gamma of KernelRidge must be a finite number of at least 0; got nan."),
        ({"kernel": "rbf", "gamma": np.inf}, "gamma of KernelRidge must be a finite number of at least 0; got inf."),
        ({"kernel": "rbf", "gamma": True}, "gamma of KernelRidge must be a finite number of at least 0; got True."),
        ({"kernel": "rbf", "gamma": [1.0]}, "gamma of KernelRidge must be a finite number of at least 0; got [1.0]."),
        ({"kernel": "poly", "degree": -1}, "degree of KernelRidge must be a finite number of at least 0; got -1."),
        ({"kernel": "poly", "degree": None}, "degree of KernelRidge must be a finite number of at least 0; got None."),
        ({"kernel": "poly", "coef0": None}, "coef0 of KernelRidge must be a finite number; got None."),
        ({"kernel": "sigmoid", "coef0": np.nan}, "coef0 of KernelRidge must be a finite number; got nan."),
    ],
    ids=str,
)
def test_bad_parameters_of_strings_are_refused_in_a_sentence(params, sentence, rng):
    with pytest.raises(InputError) as caught:
        KernelRidge(**params).fit(rng.exponential(size=(5, 2)), rng.normal(size=5))
    assert str(caught.value) == sentence


@pytest.mark.parametrize("extra", [{"gamma": 1.0}, {"degree": 2}, {"coef0": 0}, {"kernel_params": {"a": 1}}], ids=str)
def test_parameters_of_strings_are_refused_beside_a_kernel(extra, rng):
    with pytest.raises(InputError) as caught:
        KernelRidge(kernel=Gaussian(2.0), **extra).fit(rng.normal(size=(5, 2)), rng.normal(size=5))
    assert tells(str(caught.value), "'rbf'", "2.0")


def test_a_kernel_class_in_place_of_a_kernel_is_refused_in_a_sentence(rng):
    """The likeliest slip of all: Gaussian for Gaussian()."""
    with pytest.raises(InputError, match=r"^kernel of KernelRidge must be a kernel"):
        KernelRidge(kernel=Gaussian).fit(rng.normal(size=(5, 2)), rng.normal(size=5))


def test_negative_values_are_refused_where_the_kernel_is_for_histograms(rng):
    X, y = np.array([[1.0, 2.0], [-0.5, 1.0], [3.0, 1.0]]), np.zeros(3)
    with pytest.raises(InputError) as caught:
        KernelRidge(kernel="chi2").fit(X, y)
    assert tells(str(caught.value), "Negative values in data:", "got -0.5")
    model = KernelRidge(kernel="chi2").fit(np.abs(X), y)
    with pytest.raises(InputError) as caught:
        model.predict(X)
    assert tells(str(caught.value), "Negative values in data:", "got -0.5")


def test_a_power_that_is_not_real_is_refused_in_a_sentence():
    """degree=2.5 of a negative scalar product; scikit-learn refuses it too."""
    X = np.array([[1.0], [-5.0], [3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(InputError, match=r"must be finite; got NaN or infinity\.$"):
            KernelRidge(kernel="poly", degree=2.5).fit(X, [0.0, 1.0, 2.0])
