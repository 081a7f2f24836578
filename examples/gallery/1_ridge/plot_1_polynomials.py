"""
A polynomial of degree nine overfits, and ridge holds it back
=============================================================

Twelve noisy points on one period of a sine are fitted by polynomials of degree M: the first picture of the lectures
*Cognitive Algorithms: Kernel Methods*, *Bias / Variance Analysis, Kernel Methods* and *Cross-validation and kernel
ridge regression*. The features of a row are ``phi(x) = (1, x, ..., x^M)``, and ``FromFeatures`` makes them a kernel.

With ``alpha = 0`` this is ordinary least squares. Degree 1 is too stiff to follow the sine, degree 3 is about right,
and degree 9 has enough freedom to follow the noise. The error on the rows it was fitted to falls all the same, so
that error cannot tell which degree is best.
"""

# sphinx_gallery_thumbnail_number = 2
import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.displays import look
from mercer.kernels import FromFeatures

rng = np.random.default_rng(11)


def truth(x):
    return np.sin(2 * np.pi * x)


def draw(x):
    return x[:, None], truth(x) + 0.3 * rng.normal(size=len(x))


def polynomial(degree):
    return FromFeatures(lambda X: X ** np.arange(degree + 1))


X, y = draw(np.linspace(0.0, 1.0, 12))
X_new, y_new = draw(rng.uniform(size=2000))

# %%
# mercer warns that a Gram matrix of 12 rows and fewer features is singular: without ``alpha`` many dual coefficients
# give the same curve. The curve itself is unique, so the warning is put aside here; :doc:`/polynomials` explains it.

warnings.filterwarnings("ignore", message="The system of KernelRidge is singular")
line = np.linspace(0.0, 1.0, 400)[:, None]

fig, axes = plt.subplots(2, 2, figsize=(8, 5.2), sharex=True, sharey=True)
for ax, (degree, alpha) in zip(axes.flat, [(1, 0.0), (3, 0.0), (9, 0.0), (9, 1e-3)], strict=True):
    model = KernelRidge(alpha, kernel=polynomial(degree)).fit(X, y)
    ax.plot(line, truth(line), "--", color=look.VERMILION, label="truth")
    ax.plot(X, y, "o", color=look.BLACK, markersize=4, alpha=0.7, label="data")
    ax.plot(line, model.predict(line), "-", color=look.BLUE, label="fit")
    ax.set(title=f"M = {degree}, alpha = {alpha:g}", xlabel="x", ylim=(-2.2, 2.2))
    ax.set_ylabel("y")
    ax.label_outer()
axes[0, 0].legend(loc="lower left")

# %%
# The last panel has the same ten features as the one before and ``alpha = 0.001``: it minimizes
# ``||y - F w||^2 + alpha ||w||^2``. The weights may no longer be large with alternating signs, and the curve is
# smooth again.
#
# Now all degrees. Without ridge the error in training falls with every degree while the error on 2000 new rows falls
# and then climbs. With a little ridge the degree hardly matters from the third on: what counts is how far the weights
# are held back, not how many there are.

degrees = np.arange(10)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for ax, alpha in zip(axes, (0.0, 1e-3), strict=True):
    fits = [KernelRidge(alpha, kernel=polynomial(degree)).fit(X, y) for degree in degrees]
    train, new = ([np.mean((fit.predict(A) - b) ** 2) for fit in fits] for A, b in ((X, y), (X_new, y_new)))
    ax.plot(degrees, new, "-o", color=look.VERMILION, markersize=4, label="new rows")
    ax.plot(degrees, train, "--s", color=look.BLUE, markersize=4, label="training rows")
    ax.axhline(0.09, color=look.GREEN, linestyle=":", label="noise")
    ax.set(title=f"alpha = {alpha:g}", xlabel="degree M", ylim=(0, 0.62), xticks=degrees)
axes[0].set_ylabel("mean squared error")
axes[0].legend()
plt.show()
