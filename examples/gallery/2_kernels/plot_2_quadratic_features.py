"""
What the quadratic kernel sees
==============================

``(x'z)^2`` is a scalar product of features. In two dimensions they are ``phi(x) = (x1^2, sqrt2 x1 x2, x2^2)`` (the
lectures *Cognitive Algorithms: Kernel Methods* and *Bias / Variance Analysis, Kernel Methods*): one works in three
dimensions and computes in two. The kernel knows its features by name.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidgeClassifier
from mercer.displays import BoundaryDisplay, look
from mercer.kernels import FromFeatures, Linear, Outer, Polynomial

rng = np.random.default_rng(0)
angle = rng.uniform(0.0, 2 * np.pi, size=120)
radius = np.where(np.arange(120) < 60, 0.6, 1.4) + 0.12 * rng.normal(size=120)
X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
y = np.where(np.arange(120) < 60, "inner", "outer")

kernel = Polynomial(degree=2, offset=0.0)
print(kernel.feature_names(X))
F = kernel.feature_map(X)
print("phi(x)'phi(z) = (x'z)^2:", np.allclose(F @ F.T, (X @ X.T) ** 2))

# %%
# Two rings, in the plane and in the space of the three features. All rows land on a cone, ``f2^2 = 2 f1 f3``. A plane
# through it, ``w1 f1 + w2 f2 + w3 f3 + b = 0``, separates what no line in the old space can. Its middle weight is
# nearly zero, so looking along the second feature it is seen from its edge, as the line on the right.

model = KernelRidgeClassifier(0.01, kernel=kernel, fit_intercept=True).fit(X, y)
w, b = model.primal_coef_.ravel(), float(np.ravel(model.intercept_)[0])
print("w =", w.round(3), "b =", round(b, 3))

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
BoundaryDisplay.from_estimator(model, X, y, ax=left)
left.set(title="seen in (x1, x2): an ellipse", aspect="equal")
for label, colour, marker in (("inner", look.BLUE, "o"), ("outer", look.VERMILION, "s")):
    right.scatter(F[y == label, 0], F[y == label, 2], color=colour, marker=marker, s=22, label=label)
right.axline((0.0, -b / w[2]), (-b / w[0], 0.0), color=look.BLACK)
right.set(xlabel="x1^2", ylabel="x2^2", title="seen in the features: a plane", xlim=(-0.1, 3), ylim=(-0.1, 3))

# %%
# The lecture's second example lifts the plane to a bowl, ``phi(x) = (x1, x2, x1^2 + x2^2)``. Its kernel is
# ``x'z + ||x||^2 ||z||^2``: the last feature is a *squared* length, so the product of the two lengths is squared as
# well. It is not ``x'z + (x'z)^2``, with which it is easily confused.


def squared_length(X):
    return (X**2).sum(axis=1)


lifted = FromFeatures(lambda X: np.column_stack([X, squared_length(X)]))
print("x'z + ||x||^2 ||z||^2:", np.allclose(lifted(X), (Linear() + Outer(squared_length))(X)))
print("x'z + (x'z)^2:        ", np.allclose(lifted(X), (Linear() + Linear() ** 2)(X)))
plt.show()
