"""
Kernel ridge and Gaussian process on the carbon dioxide of Mauna Loa
====================================================================

Kernel ridge regression and the mean of a Gaussian process are one formula, ``k(x0, X) (K + alpha I)^-1 y``. They
differ in where parameters come from: kernel ridge chooses them by held-out error, the Gaussian process by evidence,
the probability of the data under the model. scikit-learn's gallery compares the two on this kind of data; here mercer
does both with one kernel, and extrapolates twelve years.

The table ships with mercer: monthly means of CO2 over Mauna Loa, Hawaii, by Keeling and Whorf. Models see the months
before 1990.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

from mercer import KernelRidge, tune
from mercer.data.samples import co2
from mercer.displays import look
from mercer.kernels import Gaussian, Periodic, RationalQuadratic

table = co2()
X, y = table.X, table.y
past = X[:, 0] < 1990
mean = y[past].mean()

# %%
# What is known goes into the kernel, as a sum of three: a slow trend, a yearly cycle whose shape may drift over the
# decades, and irregularities from month to month. A sum of Mercer kernels is one, and so is a product.

start = (
    2500.0 * Gaussian(50.0)
    + 4.0 * Gaussian(100.0) * Periodic(width=1.3, period=1.0)
    + 0.25 * RationalQuadratic(width=1.0, shape=1.0)
)

# %%
# ``tune`` follows the gradient of either objective in all nine parameters and alpha. By the exact leave-one-out error
# this is kernel ridge, by the evidence a Gaussian process.

models = {}
for name, objective in (("leave-one-out", "loo"), ("evidence", "evidence")):
    found = tune(start, X[past], y[past] - mean, objective=objective, random_state=0)
    models[name] = KernelRidge(found.alpha, kernel=found.kernel).fit(X[past], y[past] - mean)
    print(f"{name}: alpha = {found.alpha:.3g}\n  {found.kernel}")

line = np.linspace(1985.0, 2002.0, 1000)[:, None]
fig, axes = plt.subplots(2, 1, figsize=(8.5, 7), sharex=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    middle, std = model.predict(line, return_std=True)
    noise = np.sqrt(model.alpha * model.prior_variance_)
    band = 2.0 * np.sqrt(std**2 + noise**2)
    ax.fill_between(
        line[:, 0],
        mean + middle - band,
        mean + middle + band,
        color=look.BLUE,
        alpha=look.BAND,
        linewidth=0,
        label="two standard deviations",
    )
    ax.plot(line, mean + middle, "-", color=look.BLUE, linewidth=1.2, label="prediction")
    ax.plot(X[past], y[past], ".", color=look.BLACK, markersize=3, label="seen")
    ax.plot(X[~past], y[~past], "x", color=look.VERMILION, markersize=3, label="not seen")
    ax.axvline(1990.0, color=look.GREY, linestyle=":")
    ahead, std = model.predict(X[~past], return_std=True)
    error = np.sqrt(np.mean((mean + ahead - y[~past]) ** 2))
    inside = np.mean(np.abs(mean + ahead - y[~past]) < 2.0 * np.sqrt(std**2 + noise**2))
    ax.set(
        title=f"by {name}: {error:.2f} ppm off, {inside:.0%} inside", xlabel="year", xlim=(1985, 2002), ylim=(340, 382)
    )
    ax.set_xticks(range(1985, 2002, 5))
    ax.set_ylabel(table.target)
    ax.label_outer()
axes[0].legend(loc="upper left")

# %%
# The two ways find much the same kernel, and nearly the same forecast. It keeps the season for twelve years, and runs
# too high: from 1992 on the rise was slower for some years than anything before 1990 suggests. The bands say 95 % and
# hold far less. They are a statement under the model, that the future is one more draw from the same kernel, and both
# objectives judge by months in the midst of the data, not years beyond it.
#
# **The same numbers.** scikit-learn's ``GaussianProcessRegressor`` with the kernel that was found, its scale
# included, gives mercer's mean and mercer's standard deviation.

model = models["evidence"]
trend, season, rest = model.kernel_.k1.k1, model.kernel_.k1.k2, model.kernel_.k2
size = model.prior_variance_
same = (
    gp.ConstantKernel(size * trend.factor) * gp.RBF(trend.base.width)
    + gp.ConstantKernel(size * season.k1.factor)
    * gp.RBF(season.k1.base.width)
    * gp.ExpSineSquared(season.k2.width, season.k2.period)
    + gp.ConstantKernel(size * rest.factor) * gp.RationalQuadratic(rest.base.width, rest.base.shape)
)
process = GaussianProcessRegressor(same, alpha=size * model.alpha, optimizer=None).fit(X[past], y[past] - mean)
for ours, theirs, name in zip(
    model.predict(X[~past], return_std=True), process.predict(X[~past], return_std=True), ("mean", "std"), strict=True
):
    print(f"largest difference of the {name}: {np.abs(ours - theirs).max():.1e} ppm")

# %%
# **Its parts.** The prediction is a sum over kernels as well, ``k1(x, X) a + k2(x, X) a + k3(x, X) a``, so trend,
# season and irregularities can be seen by themselves.

fig, axes = plt.subplots(3, 1, figsize=(8.5, 6.4), sharex=True)
span = np.linspace(1958.0, 1995.0, 1500)[:, None]
for ax, part, name in zip(axes, (trend, season, rest), ("trend", "season", "irregularities"), strict=True):
    offset = mean if name == "trend" else 0.0
    ax.plot(span, offset + part(span, X[past]) @ model.dual_coef_, "-", color=look.BLUE, linewidth=1.2)
    ax.axvspan(1990.0, 1995.0, color=look.GREY, alpha=look.BAND, linewidth=0)
    ax.set(title=name, xlabel="year", ylabel=table.target, xlim=(1958, 1995))
    ax.label_outer()
plt.show()
