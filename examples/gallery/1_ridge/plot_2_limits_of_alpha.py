"""
What alpha does at zero, at infinity and below zero
===================================================

The lecture *Bias / Variance Analysis, Kernel Methods* asks three questions about the objective ``||y - F w||^2 + alpha
||w||^2``. What happens as alpha goes to infinity? As it goes to zero? And when it is negative?

To infinity the penalty is all that counts, and the weights go to zero: the fit becomes the constant zero, or, with an
intercept that is not penalized, the mean of y. To zero the data are all that counts, and a kernel as rich as the
Gaussian goes through every point. In between lie the useful fits.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.displays import FitDisplay, look
from mercer.errors import InputError
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = np.linspace(0.0, 6.0, 20)[:, None]
y = 2.0 + np.sin(X[:, 0]) + 0.3 * rng.normal(size=20)

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), sharey=True)
for ax, alpha in zip(axes, (1e-8, 0.1, 1e4), strict=True):
    model = KernelRidge(alpha, kernel=Gaussian(0.5), fit_intercept=True).fit(X, y)
    FitDisplay.from_estimator(model, X, y, confidence=None, truth=lambda X: 2.0 + np.sin(X[:, 0]), ax=ax)
    ax.axhline(y.mean(), color=look.GREY, linestyle=":", label="mean of y")
    ax.set(title=f"alpha = {alpha:g}", ylim=(0.2, 3.8))
    ax.legend().set_visible(ax is axes[2])
    ax.label_outer()

# %%
# The same seen in the whole path: from left to right ``||f||`` falls from that of the interpolating curve to nothing,
# and the effective degrees of freedom (:ref:`dof`) fall from the number of rows to one, the intercept, which is not
# held back.

alphas = np.geomspace(1e-8, 1e4, 60)
fits = [KernelRidge(alpha, kernel=Gaussian(0.5), fit_intercept=True).fit(X, y) for alpha in alphas]
K = Gaussian(0.5)(X)
norms = [np.sqrt(fit.dual_coef_ @ K @ fit.dual_coef_) for fit in fits]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
left.loglog(alphas, norms, color=look.BLUE)
left.set(xlabel="alpha", ylabel="||f||", title="length of the fitted function")
right.semilogx(alphas, [fit.effective_dof_ for fit in fits], color=look.BLUE)
right.set(xlabel="alpha", ylabel="effective degrees of freedom", ylim=(0, 21), title="of 20 rows")
plt.show()

# %%
# A negative alpha rewards long weights instead of punishing them. With more features than rows there are weights that
# change no fitted value, and along these the objective now falls for ever: it has no minimum at all. So a negative
# alpha is refused.

try:
    KernelRidge(alpha=-0.1, kernel=Gaussian(0.5)).fit(X, y)
except InputError as refusal:
    print(refusal)
