"""
The map to (x, x^2) makes one straight line enough
==================================================

On the real line one class lies in the middle and the other on both sides: no single threshold separates them. The
tutorial *Cognitive Algorithms: Tutorial Kernel Methods* maps each point to ``phi(x) = (x, x^2)``, onto a parabola.
There one straight line separates the classes, and seen from the old space that line is a pair of thresholds.

A classifier that is linear in ``phi`` is all it takes, and ``FromFeatures(phi)`` makes it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidgeClassifier
from mercer.displays import look
from mercer.kernels import FromFeatures, Linear

rng = np.random.default_rng(0)
X = np.concatenate([rng.uniform(-1.0, 1.0, size=20), rng.uniform(1.4, 2.2, size=20) * rng.choice([-1, 1], size=20)])[
    :, None
]
y = np.repeat(["inside", "outside"], 20)


def phi(X):
    return np.column_stack([X, X**2])


plain = KernelRidgeClassifier(0.01, kernel=Linear(), fit_intercept=True).fit(X, y)
mapped = KernelRidgeClassifier(0.01, kernel=FromFeatures(phi), fit_intercept=True).fit(X, y)
for name, model in (("x", plain), ("(x, x^2)", mapped)):
    print(f"linear in {name:9}: {np.mean(model.predict(X) == y):.0%} of the rows on the right side")

# %%
# In feature space the border is where ``w1 x + w2 x^2 + b = 0``, with the weights ``primal_coef_`` and the intercept
# of the model. On the left the same function of x is drawn, and where it changes sign.

w1, w2 = mapped.primal_coef_.ravel()
b = float(np.ravel(mapped.intercept_)[0])
line = np.linspace(-2.3, 2.3, 300)
thresholds = np.roots([w2, w1, b])

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8))
for label, colour, marker in (("inside", look.BLUE, "o"), ("outside", look.VERMILION, "s")):
    x = X[y == label, 0]
    left.plot(x, np.zeros_like(x), marker, color=colour, linestyle="", markersize=5, label=label)
    right.plot(x, x**2, marker, color=colour, linestyle="", markersize=5, label=label)
left.plot(line, mapped.decision_function(line[:, None]), "-", color=look.BLACK, label="decision value")
for threshold in thresholds:
    left.axvline(threshold, color=look.GREY, linestyle=":")
left.set(xlabel="x", ylabel="decision value", title="seen in x: a pair of thresholds")
right.plot(line, -(w1 * line + b) / w2, "-", color=look.BLACK, label="border")
right.set(xlabel="x", ylabel="x^2", title="seen in (x, x^2): one line")
left.legend(loc="upper center")
right.legend(loc="upper center")
plt.show()
