"""
Leave-one-out against ten folds, and a slip on a slide
======================================================

Leaving one row out n times sounds like n fits. For kernel ridge it is one: the residual of row i in the model fitted
without it is ``e_i = (y_i - f(x_i)) / (1 - S_ii)``, with the smoother matrix ``S = K (K + alpha I)^-1``. Its square has
the *whole* fraction squared. The problem set *Cross-validation and kernel ridge regression* prints ``(y_i - f(x_i))^2 /
(1 - S_ii)``, which is too small; on the way there its Woodbury identity has lost the leading inverse (:ref:`slips`).
The first picture holds both against n refits.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, cross_validate
from mercer.displays import look
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
kernel, alpha = Gaussian(0.6), 0.1


def draw(n):
    X = rng.uniform(0.0, 6.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.4 * rng.normal(size=n)


X, y = draw(40)
model = KernelRidge(alpha, kernel=kernel)
result = cross_validate(model, X, y, cv=None)
print(result)

refitted = np.empty(40)
for i in range(40):
    rest = np.arange(40) != i
    refitted[i] = (y[i] - model.fit(X[rest], y[rest]).predict(X[i : i + 1])[0]) ** 2
closed = (y - result.predictions[0]) ** 2
K = kernel(X)
leverage = np.diag(K @ np.linalg.inv(K + alpha * np.eye(40)))
slide = (y - model.fit(X, y).predict(X)) ** 2 / (1.0 - leverage)

fig, ax = plt.subplots(figsize=(5.6, 4.8))
ends = np.array([5e-4, 3.0])
ax.loglog(ends, ends, "-", color=look.GREY, linewidth=1, label="equal")
ax.loglog(refitted, closed, "o", color=look.BLUE, markersize=5, label="closed form")
ax.loglog(refitted, slide, "^", color=look.VERMILION, markersize=5, label="as on the slide")
ax.set(xlabel="squared error of row i, refitted without it", ylabel="squared error by formula", xlim=ends, ylim=ends)
ax.legend()
print(f"sum over rows: refitted {refitted.sum():.6f}, closed form {closed.sum():.6f}, slide {slide.sum():.6f}")

# %%
# **How many folds?** Few folds train on few rows, so their error is that of a smaller sample. Leaving one out trains
# on almost everything. The notes warn that it is not better for that in general: errors of nearly equal models vary
# together.
#
# Over 200 samples of 30 rows, this is the estimate less the true risk of the model fitted to all 30. With two folds
# it is too high on average; ten folds and leave-one-out differ little, in mean and in spread. Most of the spread
# is the luck of the sample, and no number of folds removes that.

X_new, y_new = draw(2000)
folds = {"2": 2, "5": 5, "10": 10, "leave one out": None}
gaps = {name: [] for name in folds}
for sample in range(200):
    X, y = draw(30)
    risk = np.mean((model.fit(X, y).predict(X_new) - y_new) ** 2)
    for name, cv in folds.items():
        how = {"cv": None} if cv is None else {"cv": cv, "random_state": sample}
        gaps[name].append(-cross_validate(model, X, y, **how).mean - risk)

fig, ax = plt.subplots(figsize=(7, 3.9))
ax.boxplot(gaps.values(), showfliers=False, whis=(5, 95), medianprops={"color": look.VERMILION, "linewidth": 2})
for place, values in enumerate(gaps.values(), start=1):
    ax.plot(place, np.mean(values), "D", color=look.BLUE, markersize=6, label="mean" if place == 1 else None)
    print(f"{list(gaps)[place - 1]:14} mean {np.mean(values):+.3f}, standard deviation {np.std(values):.3f}")
ax.axhline(0.0, color=look.BLACK, linewidth=0.8)
ax.set_xticks(range(1, 5), list(gaps))
ax.set(xlabel="folds", ylabel="estimate less true risk", title="boxes: the middle half; whiskers: 90 % of 200 samples")
ax.legend()
plt.show()
