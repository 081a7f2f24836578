"""A chemist: kernel matrices from elsewhere, several kernels, a learning curve, nested cross-validation."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from mercer import (
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    check_mercer,
    cross_validate,
    nested_cross_validate,
)
from mercer.displays import GramDisplay, LearningCurveDisplay, NestedDisplay, SearchDisplay
from mercer.kernels import Gaussian, Laplacian, Precomputed

data = load_wine()
X, y = scale(data.data[:, 1:]), data.data[:, 0]  # alcohol from the other twelve
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
train, test = order[:130], order[130:]

matrices = {"gaussian": Gaussian(4.0)(X), "laplacian": Laplacian(20.0)(X)}
alphas = np.geomspace(1e-4, 10.0, 11)
for name, K in matrices.items():
    assert K.shape == (178, 178), name
    assert check_mercer(K).valid
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    search = KernelRidgeCV("precomputed", alphas, fit_intercept=True).fit(K_train, y[train])
    assert isinstance(search.best_kernel_, Precomputed)
    assert search.predict(K_test).shape == (48,)
    assert search.score(K_test, y[test]) > 0.4
    lower, upper = search.predict_interval(K_test, confidence=0.9)
    assert np.mean((lower <= y[test]) & (y[test] <= upper)) > 0.75
    nested = nested_cross_validate(search, K, y, cv=5, random_state=0)
    assert nested.scores.shape == (1, 5)
    assert 0.1 < -nested.mean < 0.5
    GramDisplay.from_matrix(K, y, y_label="alcohol (%)")

# the matrix and the kernel are the same model
given = KernelRidge(0.1, kernel="precomputed", fit_intercept=True)
made = KernelRidge(0.1, kernel=Gaussian(4.0), fit_intercept=True)
one = cross_validate(given, matrices["gaussian"], y, cv=10, random_state=0)
two = cross_validate(made, X, y, cv=10, random_state=0)
assert np.allclose(one.scores, two.scores)
mean, std = given.fit(matrices["gaussian"], y).predict(matrices["gaussian"], return_std=True, diag=np.ones(178))
assert mean.shape == std.shape == (178,)

several = KernelRidgeCV(["gaussian", "laplacian", "linear"], fit_intercept=True).fit(X[train], y[train])
assert several.best_kernel_ in several.kernels_
assert several.score(X[test], y[test]) > 0.4
SearchDisplay.from_estimator(several)
curve = LearningCurveDisplay.from_estimator(made, X, y, sizes=[30, 60, 120], random_state=0)
precomputed_curve = LearningCurveDisplay.from_estimator(
    given, matrices["gaussian"], y, sizes=[30, 60, 120], random_state=0
)
assert "rows" in curve.ax_.get_xlabel()
outer = nested_cross_validate(KernelRidgeCV(["gaussian", "laplacian"], fit_intercept=True), X, y, cv=5, random_state=0)
assert "optimistic" in str(outer)
NestedDisplay.from_result(outer)
cultivar = KernelRidgeClassifierCV("precomputed", alphas, cv=5, fit_intercept=True).fit(
    matrices["gaussian"], data.target
)
assert cultivar.best_score_ > 0.95
plt.close("all")
