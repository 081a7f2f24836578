"""
Error against alpha: one curve falls, the other has a valley
============================================================

The lecture *Bias / Variance Analysis, Kernel Methods* draws the error against lambda, on the rows of the training and
on others. Read from right to left: as ``alpha`` shrinks the model may bend more, and the error in training falls
without end. The error on rows held out falls as long as the model learns what is there, and rises when it learns what
is not.

``ComplexityDisplay`` draws both. Its held-out curve costs next to nothing: ten-fold cross-validation is read off one
factor of ``K + alpha I``, and gives the numbers that ten refits would give (:ref:`leaveout`).
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, KernelRidgeCV
from mercer.displays import ComplexityDisplay, look
from mercer.kernels import Gaussian

rng = np.random.default_rng(13)


def draw(n):
    X = rng.uniform(0.0, 6.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.4 * rng.normal(size=n)


X, y = draw(60)
X_new, y_new = draw(4000)
alphas = np.geomspace(1e-5, 1e3, 33)
model = KernelRidge(kernel=Gaussian(0.5))

display = ComplexityDisplay.from_estimator(model, X, y, alphas, cv=10, random_state=0, x_label="alpha")
new = [np.mean((model.set_params(alpha=alpha).fit(X, y).predict(X_new) - y_new) ** 2) for alpha in alphas]
display.ax_.plot(alphas, new, "-.", color=look.GREEN, label="4000 new rows")
display.ax_.set(ylim=(0, 0.7), title="60 rows, Gaussian kernel of width 0.5")
display.ax_.legend()

# %%
# The new rows, which in practice one does not have, tell how good the held-out curve is as a guess. The luck of 60
# rows can move the whole curve up or down; its shape, and so its lowest point, is steadier. The valley is flat, and
# the *one standard error rule* uses that: it takes the largest alpha whose error is within one standard error of the
# best, the simplest model that is not clearly worse.

for rule in ("best", "one_se"):
    search = KernelRidgeCV([Gaussian(0.5)], alphas, cv=10, random_state=0, rule=rule).fit(X, y)
    error = np.mean((search.predict(X_new) - y_new) ** 2)
    print(f"rule {rule:7} alpha = {search.alpha_:.3g}, error on new rows {error:.4f}")
plt.show()
