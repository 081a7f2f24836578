"""A fitted ridge and its P, which everything that leaves rows out reads: made once, from the factor of the fit."""

from contextlib import contextmanager

import numpy as np
import pytest

from mercer import KernelRidge, influence, marginal_effects
from mercer.kernels import Gaussian, Linear
from mercer.lab.answers import answer
from mercer.solvers import cholesky
from mercer.solvers.leave_out import Inverted, Spectral
from mercer.solvers.primal import Explicit


@contextmanager
def counted(monkeypatch):
    """A list of all factors, inverses and inverted triangles that are computed meanwhile."""
    calls, plain = [], cholesky.lapack

    def noted(name, *given):
        if name in ("dpotrf", "dpotri") and given[1] > 2:  # not the blocks of rows that are left out
            calls.append(name)
        return plain(name, *given)

    with monkeypatch.context() as patch:
        patch.setattr(cholesky, "lapack", noted)
        for name in ("dpotrf", "dtrtri"):
            real = getattr(cholesky, name)
            patch.setattr(cholesky, name, lambda *given, n=name, f=real, **how: (calls.append(n), f(*given, **how))[1])
        yield calls


@pytest.fixture
def table(rng):
    X = rng.normal(size=(60, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)


def test_one_factor_and_one_inverse_serve_all_that_is_asked_of_a_model(table, monkeypatch):
    X, y = table
    with counted(monkeypatch) as calls:
        model = KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y)
        model.predict_interval(X[:5])
        marginal_effects(model)
        influence(model)
        assert model.effective_dof_ > 1
        model.without([3, 4])
    assert len(calls) <= 2


def test_one_answer_of_the_slider_takes_one_factor_and_one_inverse(table, monkeypatch):
    X, y = table
    points = {"x": X[:, :1].tolist(), "y": y.tolist()}
    asked = {"points": points, "kernel": "gaussian(1)", "alpha": 0.1, "intercept": True, "at": X[:9, :1].tolist()}
    with counted(monkeypatch) as calls:
        assert answer("fit", asked)["left_out"] > 0
    assert len(calls) <= 2


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("kernel", "solver", "form"),
    [(Gaussian(1.0), "cholesky", Inverted), (Gaussian(1.0), "spectral", Spectral), (Linear(), "primal", Explicit)],
)
def test_p_of_a_model_is_that_of_its_system(table, kernel, solver, form, intercept):
    X, y = table
    alpha = 0.3
    model = KernelRidge(alpha, kernel=kernel, fit_intercept=intercept, solver=solver).fit(X, y)
    G = np.linalg.inv(kernel(X) + alpha * np.eye(60))
    P = G - np.outer(G.sum(axis=1), G.sum(axis=1)) / G.sum() if intercept else G
    ((targets, left),) = model.fitted_.leave_outs
    assert targets.tolist() == [0]
    assert isinstance(left, form) or solver == "spectral"
    np.testing.assert_allclose(left.multiple * left.matrix(), alpha * P, atol=1e-10)
    np.testing.assert_allclose(left.multiple * left.a[:, 0], alpha * P @ y, atol=1e-10)
    assert model.effective_dof_ == pytest.approx(60 - alpha * np.trace(P))
