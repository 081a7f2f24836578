"""
Bias, variance and noise
========================

Draw many samples of the same kind and fit each. Where the fits miss the truth *on average*, that is bias; how far they
scatter around their own average is variance; and what no model can predict is noise. The expected squared error is the
sum of the square of the first and the other two (the lectures *Cognitive Algorithms: Kernel Methods* and *Bias /
Variance Analysis, Kernel Methods*).

Here are 25 fits at three values of ``alpha``. A large one makes stiff curves that are wrong in the same way every
time. A small one makes supple curves that are right on average, and each of them wrong in a way of its own.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, bias_variance
from mercer.displays import look
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = np.linspace(0.0, 6.0, 30)[:, None]
line = np.linspace(0.0, 6.0, 200)[:, None]
noise = 0.4


def truth(X):
    return np.sin(2.0 * X[:, 0])


Y = truth(X)[:, None] + noise * rng.normal(size=(30, 25))  # a column for every sample
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), sharey=True)
for ax, (name, alpha) in zip(axes, {"stiff": 30.0, "about right": 0.3, "supple": 1e-4}.items(), strict=True):
    curves = KernelRidge(alpha, kernel=Gaussian(0.5)).fit(X, Y).predict(line)
    ax.plot(line, curves, "-", color=look.SKY, linewidth=0.7, alpha=0.7)
    ax.plot(line, curves.mean(axis=1), "-", color=look.BLUE, linewidth=2.2, label="mean of 25 fits")
    ax.plot(line, truth(line), "--", color=look.VERMILION, label="truth")
    ax.set(title=f"{name}: alpha = {alpha:g}", xlabel="x", ylim=(-2, 2))
axes[0].set_ylabel("f(x)")
axes[0].legend(loc="lower left")

# %%
# For kernel ridge nothing need be drawn. Its prediction is a weighted sum of the targets, ``u(x0)'y``, with weights
# that do not depend on them; so the mean prediction is the fit to the truth itself, and the variance is the sum of
# the squared weights times that of the noise. ``bias_variance`` computes both exactly, for all alphas from one
# spectrum, and the sum of the parts is the risk (:ref:`biasvariance`).

alphas = np.geomspace(1e-5, 1e2, 29)
exact = bias_variance(KernelRidge(kernel=Gaussian(0.5)), X, truth, noise, alphas=alphas)
display = exact.plot()
display.ax_.set(title=f"30 rows, the risk is least at alpha = {exact.best_alpha:.2g}", ylim=(0, 0.75))

# %%
# For any other model the same is estimated from draws, with standard errors. Done here for kernel ridge, to see that
# the two agree: the dots are 100 draws, the lines exact.

few = alphas[::7]
drawn = bias_variance(
    KernelRidge(kernel=Gaussian(0.5)), X, truth, noise, alphas=few, method="monte_carlo", draws=100, random_state=0
)
fig, ax = plt.subplots(figsize=(6.4, 3.8))
for name, colour in (("bias_squared", look.BLUE), ("variance", look.VERMILION)):
    ax.plot(alphas, getattr(exact, name), "-", color=colour, label=f"{name.replace('_', ' ')}, exact")
    error = 2.0 * drawn.standard_errors[name]
    ax.errorbar(
        few, getattr(drawn, name), error, fmt="o", color=colour, markersize=4, capsize=3, label="drawn, +- 2 errors"
    )
ax.set(xscale="log", xlabel="alpha", ylabel="part of the expected squared loss")
ax.legend(fontsize="small")
plt.show()
