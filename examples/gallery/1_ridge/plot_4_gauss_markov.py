"""
Least squares is unbiased, ridge is not, and ridge is nearer
============================================================

The Gauss-Markov theorem (the lecture *Cognitive Algorithms: Kernel Methods*): where ``y = w'x + noise`` with
uncorrelated noise of equal variance, the least squares estimate of w has the least variance among all that are linear
in y and unbiased. The lecture adds that an estimate with a little bias and much less variance may serve better. Here
that is seen.

Two columns that almost say the same thing make least squares shaky: their sum is well known, their difference is not.
A thousand samples of 30 rows are drawn with the true ``w = (1, 1)``. As the rows stay the same and only the noise is
drawn anew, the thousand targets are the columns of one matrix, and one fit serves them all.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, bias_variance
from mercer.displays import look
from mercer.kernels import Linear

rng = np.random.default_rng(0)
shared = rng.normal(size=(30, 1))
X = shared + 0.2 * rng.normal(size=(30, 2))
w = np.array([1.0, 1.0])
Y = (X @ w)[:, None] + rng.normal(size=(30, 1000))

warnings.filterwarnings("ignore", message="The system of KernelRidge is singular")  # of the dual: w is unique
fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True)
for ax, alpha in zip(axes, (0.0, 6.0), strict=True):
    found = KernelRidge(alpha, kernel=Linear()).fit(X, Y).primal_coef_
    error = np.mean(((found - w) ** 2).sum(axis=1))
    ax.plot(*found.T, ".", color=look.SKY, markersize=3, label="estimates")
    ax.plot(*w, "*", color=look.VERMILION, markersize=16, markeredgecolor="white", label="truth")
    ax.plot(*found.mean(axis=0), "s", color=look.BLACK, markersize=9, fillstyle="none", label="mean of the estimates")
    kind = "least squares" if alpha == 0 else f"ridge, alpha = {alpha:g}"
    ax.set(title=f"{kind}: mean squared error {error:.2f}", xlabel="w1", aspect="equal")
axes[0].set_ylabel("w2")
axes[0].legend(loc="lower left")

# %%
# On the left the mean of the estimates lies on the truth: no bias. On the right it is pulled towards zero: bias. But
# the estimates no longer scatter along the line on which the two weights trade places, and on the whole they are
# nearer.
#
# ``bias_variance`` computes the same trade for the predictions, exactly and without a draw. At ``alpha`` close to
# zero the bias vanishes, as the theorem says; the least risk is elsewhere. As the derivative of the squared bias at
# zero is zero and that of the variance is negative, a small enough alpha always pays.

X_test = rng.normal(size=(400, 2))  # rows that ask about each column by itself
result = bias_variance(
    KernelRidge(kernel=Linear()), X, lambda X: X @ w, 1.0, X_test=X_test, alphas=np.geomspace(1e-3, 1e2, 41)
)
display = result.plot()
display.ax_.set(ylim=(0, 3), title=f"the risk is least at alpha = {result.best_alpha:.2g}")
plt.show()
