"""Which route is taken, and what is refused because it would not fit."""

import re
import tracemalloc

import numpy as np
import pytest

from mercer import KernelRidge, KernelRidgeClassifier, threads
from mercer.errors import InputError, MemoryRefusal
from mercer.kernels import FromFeatures, Gaussian, Linear, Polynomial
from mercer.solvers import choose
from mercer.solvers.plan import refuse_if_too_large
from refusals import tells

PLENTY = 10**15


@pytest.mark.parametrize(
    ("solver", "n", "features", "alphas", "memory", "name"),
    [
        ("auto", 100, 99, 1, PLENTY, "primal"),
        ("auto", 100, 100, 1, PLENTY, "cholesky"),
        ("auto", 100, None, 1, PLENTY, "cholesky"),
        ("auto", 100, None, 20, PLENTY, "cholesky"),
        ("auto", 100, None, 21, PLENTY, "spectral"),
        ("auto", 100, 5, 21, PLENTY, "primal"),
        ("auto", 1499, None, 1, PLENTY, "cholesky"),
        ("auto", 1500, None, 1, PLENTY, "mixed"),
        ("auto", 1500, None, 2, PLENTY, "cholesky"),
        ("auto", 1500, None, 1, 12 * 1500**2, "cholesky"),
        ("cholesky", 2000, 3, 1, PLENTY, "cholesky"),
        ("spectral", 2000, 3, 1, PLENTY, "spectral"),
        ("primal", 10, 300, 1, PLENTY, "primal"),
    ],
)
def test_the_table_of_routes(solver, n, features, alphas, memory, name):
    choice = choose(solver, n, features, alphas, memory=memory)
    assert choice.name == name
    assert choice == choose(solver, n, features, alphas, memory=memory)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("primal", 32 * (2000 * 7 + 49)),
        ("spectral", 25.6 * 2000**2),
        ("mixed", 12.8 * 2000**2),
        ("cholesky", 8.8 * 2000**2),
    ],
)
def test_each_route_names_its_bytes(name, count):
    solver = "auto" if name == "mixed" else name
    choice = choose(solver, 2000, 7 if name == "primal" else None, memory=PLENTY)
    assert (choice.name, choice.bytes) == (name, int(count))


@pytest.mark.parametrize(
    ("given", "way_out"),
    [
        ("cholesk", "Did you mean 'cholesky'?"),
        ("Primal", "Did you mean 'primal'?"),
        ("qr", "Known: auto, cg, cholesky, primal, spectral."),
        (None, "Known: auto, cg, cholesky, primal, spectral."),
    ],
)
def test_a_misspelt_solver_gets_the_nearest_one(given, way_out, rng):
    with pytest.raises(InputError) as caught:
        KernelRidge(solver=given).fit(rng.normal(size=(5, 2)), rng.normal(size=5))
    assert tells(str(caught.value), "solver", f"got {given!r}", way_out)


def test_the_primal_of_a_kernel_without_finite_features_is_refused(rng):
    with pytest.raises(InputError) as caught:
        KernelRidge(kernel="rbf", solver="primal").fit(rng.normal(size=(5, 2)), rng.normal(size=5))
    assert tells(str(caught.value), "solver='primal'", "'auto'")


def test_auto_takes_the_primal_of_explicit_features(rng):
    """FromFeatures is a finite feature map by definition: ridge regression on a basis of your own."""
    X, y = rng.normal(size=(50, 1)), rng.normal(size=50)
    kernel = FromFeatures(lambda X: np.hstack([np.ones_like(X), X, X**2]))
    model = KernelRidge(0.1, kernel=kernel).fit(X, y)
    assert model.route_.name == "primal"
    F = np.hstack([np.ones_like(X), X, X**2])
    np.testing.assert_allclose(model.primal_coef_, np.linalg.solve(F.T @ F + 0.1 * np.eye(3), F.T @ y), rtol=1e-9)


def test_the_refusal_names_what_is_needed_what_there_is_and_what_would_fit(monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000000")
    X, y = np.zeros((1000, 2)), np.zeros(1000)
    with pytest.raises(MemoryRefusal) as caught:
        KernelRidge(kernel="rbf", solver="cholesky").fit(X, y)
    message = str(caught.value)
    assert message.startswith(
        "KernelRidge on 1000 rows with solver='cholesky' needs 8.8 MB of memory; 1.0 MB is available. "
        "Use at most about 337 rows. For more rows, use NystroemRidge, or a kernel with few explicit features "
    )
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(
        MemoryRefusal,
        match=(
            r"with solver='cg' needs 5\.9 MB of memory; 1\.0 MB is available\. Use at most about 337 rows\. "
            r"For more rows"
        ),
    ):
        KernelRidge(kernel="rbf").fit(X, y)
    KernelRidge(kernel="linear").fit(X[:5], y[:5])  # what fits is not refused
    KernelRidge(kernel="rbf").fit(X[:330], y[:330])


def test_a_primal_fit_that_does_not_fit_is_not_told_to_use_the_primal(monkeypatch):
    """The way out must be one: 1000 x 100 features do not fit, so "fit any number" of rows is not true."""
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000000")
    X, y = np.zeros((1000, 100)), np.zeros(1000)
    with pytest.raises(MemoryRefusal) as caught:
        KernelRidge(kernel="linear").fit(X, y)
    message = str(caught.value)
    assert message.startswith(
        "KernelRidge on 1000 rows with solver='primal' needs 3.5 MB of memory; 1.0 MB is available. "
    )
    assert "fit any number" not in message
    assert message.endswith(" is available. Use fewer features, or at most about 211 rows.")


@pytest.mark.parametrize(("kernel", "columns"), [("rbf", 2), ("linear", 100), ("linear", 20)])
def test_as_many_rows_as_the_refusal_names_do_fit(kernel, columns, monkeypatch):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000000")
    X, y = np.ones((3000, columns)), np.zeros(3000)
    with pytest.raises(MemoryRefusal) as caught:
        KernelRidge(kernel=kernel).fit(X, y)
    rows = int(re.search(r"about (\d+) rows", str(caught.value), re.IGNORECASE)[1])
    assert rows > columns
    KernelRidge(kernel=kernel).fit(X[:rows], y[:rows])


HUGE = 1_000_000


@pytest.mark.parametrize("estimator", [KernelRidge, KernelRidgeClassifier])
@pytest.mark.parametrize("kernel", ["rbf", Gaussian(), Gaussian() + Linear(), Polynomial(12)], ids=repr)
def test_a_million_rows_are_refused_before_anything_is_allocated(estimator, kernel):
    X, y = np.broadcast_to(np.zeros((1, 30)), (HUGE, 30)), np.arange(HUGE) % 2

    def fit():
        with pytest.raises(MemoryRefusal, match=f"^{estimator.__name__} on {HUGE} rows "):
            estimator(kernel=kernel).fit(X, y)

    assert peak_bytes(fit) < 200 * HUGE  # a few numbers for each row, far less than a table of them


def test_what_fits_is_not_refused():
    refuse_if_too_large(choose("auto", 10, None), "KernelRidge", 10)


def peak_bytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def duplicated(rng):
    return np.repeat(rng.normal(size=(500, 3)), 2, axis=0)


PROMISES = {
    "cholesky": (KernelRidge(kernel="rbf", solver="cholesky"), lambda rng: rng.normal(size=(1000, 3))),
    "cholesky, singular": (KernelRidge(0.0, kernel="rbf", solver="cholesky"), duplicated),
    "spectral": (KernelRidge(kernel="rbf", solver="spectral"), lambda rng: rng.normal(size=(1000, 3))),
    "mixed": (KernelRidge(kernel="rbf"), lambda rng: rng.normal(size=(1500, 3))),
    "precomputed": (KernelRidge(kernel="precomputed", solver="cholesky"), lambda rng: np.eye(1000)),
    "primal": (KernelRidge(), lambda rng: rng.normal(size=(20_000, 40))),
    "primal, alpha 0": (KernelRidge(0.0), lambda rng: rng.normal(size=(20_000, 40))),
    "polynomial primal": (KernelRidge(kernel=Polynomial(2)), lambda rng: rng.normal(size=(10_000, 10))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.filterwarnings("ignore::mercer.errors.SingularSystemWarning")
def test_a_fit_stays_within_the_memory_there_is_or_is_refused(name, rng, monkeypatch):
    """Given what its route promises and no more, a fit must do with it, or say that it cannot.

    Beside the promise only what does not grow with n^2: a few tiles per thread.
    """
    model, make = PROMISES[name]
    X = make(rng)
    y = rng.normal(size=len(X))
    count = None if model.kernel in {"rbf", "precomputed"} else X.shape[1]
    if isinstance(model.kernel, Polynomial):
        count = model.kernel.feature_count(X.shape[1])
    limit = int(1.02 * choose(model.solver, len(X), count).bytes)
    with threads(1):
        model.fit(X[:20, :20], y[:20])  # imports
        monkeypatch.setenv("MERCER_MEMORY_LIMIT", str(limit))
        try:
            peak = peak_bytes(lambda: model.fit(X, y))
        except MemoryRefusal:
            assert name in {"cholesky, singular", "precomputed", "primal, alpha 0"}
        else:
            assert peak <= limit + 6e6
