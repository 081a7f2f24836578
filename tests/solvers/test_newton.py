"""Newton's method against independent solvers, and rows left out against refits."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor

from drawn import CASES, SOAK
from mercer.estimators.loss_models import minimize as minimize_loss
from mercer.kernels import Gaussian, Matern
from mercer.solvers.newton import Task
from mercer.solvers.problem import Expectile, Gamma, Huber, Logistic, Pinball, Poisson, Softmax, Squared

SMOOTH = {
    "squared": Squared(),
    "huber": Huber(0.3),
    "expectile": Expectile(0.7),
    "poisson": Poisson(),
    "gamma": Gamma(),
    "logistic": Logistic(),
    "softmax": Softmax(3),
}


def draw(loss, rng, n=40):
    """Rows, targets of this loss, and weights of which some are zero."""
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    if rng.random() < 0.3:
        X[1] = X[0]
    truth = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    if isinstance(loss, Softmax):
        y = np.argmax(np.c_[truth, -truth, 0.3 * X[:, 0]] + rng.gumbel(size=(n, 3)), axis=1)
        y[:3] = [0, 1, 2]
    elif isinstance(loss, Logistic):
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * truth))).astype(float)
        y[:2] = [0.0, 1.0]
    elif isinstance(loss, Gamma):
        y = rng.gamma(3.0, np.exp(truth) / 3.0)
    elif isinstance(loss, Poisson):
        y = rng.poisson(np.exp(truth)).astype(float)
        y[0] = 2.0
    else:
        y = truth + 0.3 * rng.standard_t(3, size=n)
    weights = rng.uniform(0.5, 2.0, n)
    weights[5:] *= rng.random(n - 5) > 0.1
    return X, y, weights


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.parametrize("name", ["logistic", "softmax", "poisson", "gamma"])
def test_linear_models_are_those_of_scikit_learn(name, seed):
    rng = np.random.default_rng([SOAK, 360, seed])
    loss = SMOOTH[name]
    X, y, w = draw(loss, rng)
    alpha, intercept = 10.0 ** rng.uniform(-2, 2), bool(rng.random() < 0.7)
    found = Task(X @ X.T, y, w, loss, intercept).minimize(alpha)
    assert found.converged
    how = {"tol": 1e-11, "max_iter": 10_000, "fit_intercept": intercept}
    if name in ("logistic", "softmax"):
        peer = LogisticRegression(C=1.0 / alpha, solver="newton-cg", **how).fit(X, y, sample_weight=w)
        p = softmax(np.c_[0.0 * found.f, found.f] if name == "logistic" else found.f, axis=1)
        np.testing.assert_allclose(p, peer.predict_proba(X), atol=1e-6)
        return
    peer = {"poisson": PoissonRegressor, "gamma": GammaRegressor}[name](
        alpha=alpha / w.sum(), solver="newton-cholesky", **how
    )
    np.testing.assert_allclose(loss.mean(found.f[:, 0]), peer.fit(X, y, sample_weight=w).predict(X), rtol=1e-6)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.parametrize("name", ["huber", "expectile", "poisson", "gamma"])
def test_fits_are_those_of_a_general_optimizer(name, seed):
    rng = np.random.default_rng([SOAK, 362, seed])
    loss = SMOOTH[name]
    X, y, w = draw(loss, rng, 25)
    alpha, intercept = 10.0 ** rng.uniform(-1, 1), bool(rng.random() < 0.7)
    K = Gaussian(1.0)(X)
    found = Task(K, y, w, loss, intercept).minimize(alpha)
    values, vectors = np.linalg.eigh(K)
    R = vectors * np.sqrt(np.maximum(values, 0.0))  # f = R p + constant has the penalty p'p

    def value(p):
        f = (R @ p[:-1] + intercept * p[-1])[:, None]
        slope = w * loss.slope(y, f)[:, 0]
        gradient = np.append(R.T @ slope + alpha * p[:-1], intercept * slope.sum())
        return w @ loss.rows(y, f) + 0.5 * alpha * p[:-1] @ p[:-1], gradient

    start = np.zeros(len(y) + 1)
    start[-1] = intercept * found.b[0]  # from where exp does not overflow
    peer = minimize(value, start, jac=True, method="BFGS", options={"maxiter": 10_000, "gtol": 1e-9})
    assert found.objective == pytest.approx(peer.fun, rel=1e-9)
    f = R @ peer.x[:-1] + intercept * peer.x[-1]
    assert found.f[:, 0] == pytest.approx(f, abs=1e-6 * max(1.0, np.abs(f).max()))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(max(10, CASES // 4)))
def test_quantiles_have_the_objective_of_a_general_convex_solver(seed):
    rng = np.random.default_rng([SOAK, 363, seed])
    X, y, w = draw(Squared(), rng, 20)
    level, alpha, n = float(rng.uniform(0.1, 0.9)), 10.0 ** rng.uniform(-1, 1), 20
    K = Gaussian(1.0)(X)
    found = minimize_loss(Task(K, y, w, Pinball(level, 1e-5), True), alpha)
    values, vectors = np.linalg.eigh(K)
    R = vectors * np.sqrt(np.maximum(values, 0.0))

    def losses(p):
        r = y - R @ p[:n] - p[n]
        return w @ np.maximum(level * r, (level - 1.0) * r) + 0.5 * alpha * p[:n] @ p[:n]

    J = np.hstack([R, np.ones((n, 1))])
    both = [
        {
            "type": "ineq",
            "fun": lambda p, c=c: p[n + 1 :] - c * (y - J @ p[: n + 1]),
            "jac": lambda p, c=c: np.hstack([c * J, np.eye(n)]),
        }
        for c in (level, level - 1.0)
    ]
    start = np.concatenate([np.zeros(n), [np.median(y)], np.abs(y - np.median(y))])
    gradient = np.concatenate([np.zeros(n + 1), w])
    peer = minimize(
        lambda p: w @ p[n + 1 :] + 0.5 * alpha * p[:n] @ p[:n], start, method="SLSQP", constraints=both,
        jac=lambda p: gradient + np.r_[alpha * p[:n], np.zeros(n + 1)], options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    mine = losses(np.append(np.linalg.lstsq(R, K @ found.a[:, 0], rcond=None)[0], found.b[0]))
    assert mine == pytest.approx(losses(peer.x[: n + 1]), rel=1e-4)


def test_quantiles_reach_the_minimum_of_the_pinball_loss(rng):
    from scipy.optimize import linprog

    _, y, w = draw(Squared(), rng, 30)
    w[:] = 1.0
    found = Task(np.zeros((30, 30)), y, w, Pinball(0.3, 1e-5), True).minimize(1.0)  # the constant alone
    n = len(y)
    c = np.r_[0.0, np.full(n, 0.3), np.full(n, 0.7)]
    A = np.c_[np.ones(n), np.eye(n), -np.eye(n)]
    peer = linprog(c, A_eq=A, b_eq=y, bounds=[(None, None), *[(0, None)] * (2 * n)])
    assert found.objective == pytest.approx(peer.fun, rel=1e-4)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(max(4, CASES // 8)))
@pytest.mark.parametrize("name", SMOOTH)
def test_exact_held_out_values_equal_refits_and_one_step_is_near(name, seed):
    rng = np.random.default_rng([SOAK, 361, seed])
    loss = SMOOTH[name]
    X, y, w = draw(loss, rng)
    kernel = [Gaussian(1.0), Matern(2.0, nu=1.5)][int(rng.integers(2))]
    task = Task(kernel(X), y, w, loss, bool(rng.random() < 0.7))
    alpha = 10.0 ** rng.uniform(-1, 1)
    found = task.minimize(alpha)
    folds = rng.integers(0, 5, len(y))
    sets = [*(np.array([row]) for row in range(0, len(y), 6)), *(np.flatnonzero(folds == fold) for fold in range(5))]
    sets = [rows for rows in sets if len(rows)]
    size = max(1.0, float(np.abs(found.f).max()))
    step, leverage = found.leave_out(sets)
    for rows, exact, near, share in zip(sets, found.leave_out_exactly(sets), step, leverage, strict=True):
        rest = np.setdiff1d(np.arange(len(y)), rows)
        cold = task.part(rest).minimize(alpha)
        refit = task.K[np.ix_(rows, rest)] @ cold.a + cold.b
        assert np.abs(exact - refit).max() <= 1e-6 * size
        if name == "squared":
            np.testing.assert_allclose(near, refit, atol=1e-8 * size)
        elif share < 0.3 and len(rows) == 1:
            off = np.abs(near - refit).max()
            assert off <= 0.5 * np.abs(found.f[rows] - refit).max() + 0.05 * size


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("name", SMOOTH)
def test_any_alpha_converges_or_says_so(name, alpha, rng):
    loss = SMOOTH[name]
    X, y, w = draw(loss, rng)
    found = Task(Gaussian(1.0)(X), y, w, loss, True).minimize(alpha)
    assert np.isfinite(found.f).all()
    assert found.converged or alpha < 1e-3
    constant = w @ loss.rows(y, np.tile(loss.constant(y, w), (len(y), 1)))
    assert found.objective <= constant * (1 + 1e-12)


def test_separable_labels_one_class_and_outliers_do_not_break_the_steps(rng):
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    K = Gaussian(0.5)(X)
    ones = np.ones(30)
    apart = Task(K, (X[:, 0] > 0).astype(float), ones, Logistic(), True).minimize(1e-8)
    assert ((apart.f[:, 0] > 0) == (X[:, 0] > 0)).all()
    alone = Task(K, ones, ones, Logistic(), True).minimize(1.0)
    assert (alone.f > 5.0).all()
    y = np.sin(3.0 * X[:, 0])
    y[7] = 1e6
    robust = Task(K, y, ones, Huber(0.1), True).minimize(0.01)
    assert robust.converged
    assert np.abs(np.delete(robust.f[:, 0] - np.sin(3.0 * X[:, 0]), 7)).max() < 0.5
    zero = Task(K, np.r_[3.0, np.zeros(29)], ones, Poisson(), True).minimize(0.1)
    assert zero.converged
