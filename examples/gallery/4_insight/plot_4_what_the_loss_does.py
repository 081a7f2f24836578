"""
What the loss does to an outlier, a count and a quantile
========================================================

Kernel ridge regression minimizes squared errors. The representer theorem of the lectures holds for every loss: the
solution is ``f(x) = sum_i a_i k(x_i, x)``, and only the numbers ``a_i`` change. Newton's method finds them by a few
weighted ridge problems.

Three losses on one kernel. Huber's loss is quadratic for small residuals and linear for large ones, so that ten wrong
rows do not pull the curve. The Poisson loss predicts the mean of counts, which is never negative. The pinball loss
finds quantiles, here of noise that grows with x.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor, KernelRidgeCV
from mercer.displays import look
from mercer.kernels import Gaussian

rng = np.random.default_rng(4)
X = np.sort(rng.uniform(0.0, 6.0, size=(150, 1)), axis=0)
x = X[:, 0]
line = np.linspace(0.0, 6.0, 300)[:, None]
truth = np.sin(line[:, 0])


def fit(loss, targets, alpha=0.3, **how):
    return KernelRegressor(alpha, loss=loss, kernel=Gaussian(1.0), fit_intercept=True, **how).fit(X, targets)


outliers = np.sin(x) + 0.15 * rng.normal(size=150)
outliers[5::15] += 4.0
counts = rng.poisson(np.exp(0.2 + 1.5 * np.sin(x)))
growing = np.sin(x) + 0.12 * x * rng.normal(size=150)

fig, axes = plt.subplots(1, 3, figsize=(11, 3.6))
axes[0].plot(x, outliers, "o", color=look.BLACK, markersize=3, alpha=0.6)
axes[0].plot(line, truth, "--", color=look.GREEN, label="truth")
axes[0].plot(line, fit("squared", outliers).predict(line), color=look.VERMILION, label="squared")
axes[0].plot(line, fit("huber", outliers).predict(line), color=look.BLUE, label="huber")
axes[1].plot(x, counts, "o", color=look.BLACK, markersize=3, alpha=0.6)
axes[1].plot(line, np.exp(0.2 + 1.5 * truth), "--", color=look.GREEN, label="truth")
axes[1].plot(line, fit("squared", counts).predict(line), color=look.VERMILION, label="squared")
axes[1].plot(line, fit("poisson", counts).predict(line), color=look.BLUE, label="poisson")
axes[1].axhline(0.0, color="0.7", linewidth=0.8)
quantiles = fit("quantile", growing, quantiles=(0.05, 0.5, 0.95)).predict(line)
axes[2].plot(x, growing, "o", color=look.BLACK, markersize=3, alpha=0.6)
axes[2].plot(line, quantiles[:, 1], color=look.BLUE, label="median")
axes[2].fill_between(line[:, 0], quantiles[:, 0], quantiles[:, 2], color=look.BLUE, alpha=0.2, label="5 to 95 %")
for ax, title in zip(axes, ("ten outliers", "counts", "noise that grows with x"), strict=True):
    ax.set(title=title, xlabel="x")
    ax.legend(loc="upper right")
axes[0].set_ylabel("y")

# %%
# Each fit has one dual coefficient per row, ``alpha a_i = -l'(f_i)``. For squared errors these are the residuals; for
# Huber's loss they are cut off at ``delta``, so that no row counts more than that; for the pinball loss they are
# ``0.05`` above the 5 % quantile and ``-0.95`` below it, and in between only for the rows on the curve.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2))
for ax, loss in zip(axes, ("squared", "huber"), strict=True):
    model = fit(loss, outliers)
    ax.plot(outliers - model.predict(X), 0.3 * model.dual_coef_, ".", color=look.BLUE)
    ax.set(title=loss, xlabel="residual", ylim=(-1.0, 4.5))
axes[0].set_ylabel("alpha times dual coefficient")

# %%
# ``predict_quantiles`` needs no other loss: a second ridge model predicts the size of the leave-one-out residuals. It
# is faster, and its quantiles cannot cross.

search = KernelRidgeCV([Gaussian(1.0)], fit_intercept=True).fit(X, growing)
lower, middle, upper = search.predict_quantiles(line, (0.05, 0.5, 0.95)).T
fig, ax = plt.subplots(figsize=(5.5, 3.4))
ax.plot(x, growing, "o", color=look.BLACK, markersize=3, alpha=0.6)
ax.plot(line, middle, color=look.BLUE, label="median")
ax.fill_between(line[:, 0], lower, upper, color=look.BLUE, alpha=0.2, label="5 to 95 %")
ax.set(xlabel="x", ylabel="y", title="location and scale")
ax.legend()
plt.show()
