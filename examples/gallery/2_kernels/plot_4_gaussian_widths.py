"""
Kernel ridge with Gaussian kernels of several widths
====================================================

The width says how far a memory reaches. Too narrow, and each row speaks for itself alone: the curve visits every point
and falls back to zero between them (overfitting). Too wide, and all rows say almost the same: the curve cannot turn
fast enough (underfitting). These are plots of the lectures *Cognitive Algorithms: Kernel Methods* and *Cognitive
Algorithms: Tutorial Kernel Methods*.

The lectures write the Gaussian in three ways. Here it is ``exp(-||x - z||^2 / (2 width^2))``, as in the lectures
*Cognitive Algorithms: Kernel Methods*, *Bias / Variance Analysis, Kernel Methods* and *Cognitive Algorithms: Tutorial
Kernel Methods*; the problem set *Cross-validation and kernel ridge regression* divides by the number of columns too
(``Gaussian(width, per_dimension=True)``), and the lecture *Kernel Ridge Regression and the Kernel Trick* has ``exp(-||x
- z||^2)`` (``Gaussian.from_gamma(1.0)``).
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, KernelRidgeCV
from mercer.displays import FitDisplay, SearchDisplay
from mercer.kernels import Gaussian

rng = np.random.default_rng(2)
X = np.sort(rng.uniform(0.0, 6.0, size=30))[:, None]


def truth(X):
    return np.sin(2.0 * X[:, 0]) * np.exp(-0.2 * X[:, 0])


y = truth(X) + 0.15 * rng.normal(size=30)
fig, axes = plt.subplots(2, 2, figsize=(8.5, 5.4), sharex=True, sharey=True)
for ax, width in zip(axes.flat, (0.03, 0.15, 0.6, 4.0), strict=True):
    model = KernelRidge(0.05, kernel=Gaussian(width)).fit(X, y)
    FitDisplay.from_estimator(model, X, y, confidence=None, truth=truth, grid=800, ax=ax)
    ax.set(title=f"width {width:g}", ylim=(-1.2, 1.4))
    ax.legend(loc="upper right").set_visible(width == 4.0)
    ax.label_outer()

# %%
# Width and ``alpha`` work together: a narrow kernel with a large alpha smooths too. So both are chosen at once, here
# by exact leave-one-out over 12 widths and 15 alphas. The valley of the picture is long and slanted; the outlined
# cells are all within one standard error of the best.

kernels = [Gaussian(width) for width in np.geomspace(0.05, 5.0, 12).round(3)]
search = KernelRidgeCV(kernels, np.geomspace(1e-6, 10.0, 15)).fit(X, y)
print(f"chosen: {search.best_kernel_}, alpha = {search.alpha_:.3g}")
SearchDisplay.from_estimator(search)
plt.show()
