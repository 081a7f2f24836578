"""
Mercer's condition, and a kernel that is none
=============================================

A function k(x, z) is a scalar product of features if, and only if, it is symmetric and all its Gram matrices are
positive semi-definite (the lectures *Cognitive Algorithms: Kernel Methods*, *Kernel Ridge Regression and the Kernel
Trick* and *Bias / Variance Analysis, Kernel Methods*). So one negative eigenvalue on some rows refutes a would-be
kernel, and no number of matrices without one proves it. mercer does both: ``certificate()`` proves by the rules of the
algebra, and ``check_mercer`` looks for rows that refute.

The lectures' example of no kernel is the squared distance. Two rows suffice: its Gram matrix has zeros on the
diagonal, so its eigenvalues sum to zero and one of them must be negative.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, check_mercer, repair
from mercer.displays import look
from mercer.kernels import Gaussian, Linear, Polynomial, Sigmoid, SquaredDistance

print(check_mercer(SquaredDistance()))

# %%
# A composed kernel gets a proof for the whole from proofs for its parts.

print((Gaussian(1.0) * Polynomial(2) + 0.5 * Linear()).certificate())

# %%
# Sixty rows, four functions, and the eigenvalues of their Gram matrices. The first two have none below zero beyond
# rounding; the squared distance and the sigmoid have.

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
candidates = {
    "Gaussian": Gaussian(1.0),
    "polynomial, degree 2": Polynomial(2),
    "squared distance": SquaredDistance(),
    "sigmoid, tanh(x'z - 1)": Sigmoid(1.0, -1.0),
}
fig, axes = plt.subplots(2, 2, figsize=(8.5, 5.4), sharex=True)
for ax, (name, kernel) in zip(axes.flat, candidates.items(), strict=True):
    values = np.linalg.eigvalsh(kernel(X))
    order = np.arange(1, 61)
    below = values < -1e-9 * np.abs(values).max()
    ax.plot(order[~below], values[~below], "o", color=look.BLUE, markersize=3.5, label="zero or above")
    ax.plot(order[below], values[below], "v", color=look.VERMILION, markersize=5, label="below zero")
    ax.axhline(0.0, color=look.BLACK, linewidth=0.8)
    limits = (min(-1.0, 3.0 * values.min()), 3.0 * values.max())
    ax.set(yscale="symlog", ylim=limits, title=f"{name}: {below.sum()} below zero")
fig.supxlabel("number", fontsize="medium")
fig.supylabel("eigenvalue of K", fontsize="medium")
axes[1, 0].legend(loc="lower right")

# %%
# What goes wrong with such a function? ``K + alpha I`` need not be positive definite, and then what is solved is not
# the minimum of anything. mercer still solves it, for people who know what they do, and says so.

with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    KernelRidge(0.1, kernel="precomputed").fit(SquaredDistance()(X), np.sin(X[:, 0]))
print(heard[0].message)

# %%
# Where a matrix is all there is, ``repair`` gives the nearest one that is positive semi-definite, by dropping the
# negative eigenvalues, and says how much it changed. That is for matrices which are only just not right. This one had
# to be changed by more than half: better take another kernel.

repaired, report = repair(Sigmoid(1.0, -1.0)(X), return_report=True)
print(report)
plt.show()
