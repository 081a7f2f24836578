"""A teacher: krr and cv of the course, bias and variance, certificates, check_mercer."""

import matplotlib.pyplot as plt
import numpy as np

import mercer
from mercer.course import cv, krr, mean_absolute_error, squared_error, zero_one_loss
from mercer.kernels import Gaussian, Linear, Polynomial, Sigmoid

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(80, 1))
y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=80)

# by hand: alpha = (K + cI)^-1 y
width, c = 0.5, 0.1
K = np.exp(-((X - X.T) ** 2) / (2 * width**2))
by_hand = np.linalg.solve(K + c * np.eye(80), y)
model = krr("gaussian", width, c).fit(X, y)
assert np.allclose(model.alpha_, by_hand)
assert np.allclose(model.predict(X), K @ by_hand)

grid = {"kernel": ["gaussian"], "kernelparameter": [0.1, 0.5, 3.0], "regularization": [1e-3, 1e-1, 10.0]}
best = cv(X, y, krr, grid, nfolds=5, nrepetitions=2, loss_function=squared_error, random_state=0, verbose=0)
assert best.kernelparameter == 0.5
assert 0.02 < best.cvloss < 0.15
assert best.cvloss_std > 0
chosen = krr("gaussian", 0.5, 0).fit(X, y)  # 0: by leave-one-out
assert chosen.regularization_ > 0
assert mean_absolute_error(y, chosen.predict(X)) < 0.25
labels = np.sign(y)
assert (
    cv(X, labels, krr, grid, nfolds=5, nrepetitions=1, loss_function=zero_one_loss, random_state=0, verbose=0).cvloss
    < 0.3
)

parts = mercer.bias_variance(
    mercer.KernelRidge(kernel=Gaussian(0.5)), X, lambda rows: np.sin(2 * rows[:, 0]), 0.2, alphas=[1e-3, 0.1, 100.0]
)
assert np.allclose(parts.risk, parts.bias_squared + parts.variance + parts.noise)
assert (np.diff(parts.bias_squared) > 0).all()
assert (np.diff(parts.variance) < 0).all()
assert parts.best_alpha == 0.1
assert "bias squared" in str(parts)
parts.plot()
plt.close("all")

proof = (Gaussian(2.0) * Linear() + Polynomial(degree=2)).certificate()
assert proof.valid
assert "sum of Mercer kernels" in str(proof)
refuted = Sigmoid().certificate()
assert refuted.valid is False
v, rows = refuted.witness.vector, refuted.witness.rows
assert v @ Sigmoid()(rows) @ v < 0
assert mercer.check_mercer(K).valid
bad = mercer.check_mercer([[1.0, 2.0], [2.0, 1.0]])
assert not bad.valid
assert "eigenvalue" in str(bad)
assert mercer.check_mercer(mercer.repair([[1.0, 2.0], [2.0, 1.0]])).valid
