"""
Squared loss, cross-entropy, and the risk that a sample only estimates
======================================================================

A loss says how bad a prediction is. The lecture *Bias / Variance Analysis, Kernel Methods* shows two: the squared loss
``(h(x) - y)^2`` for regression, and for classification the cross-entropy ``-y log h(x) - (1 - y) log(1 - h(x))`` of a
probability h. They are drawn on the left, for ``y = 1``: the cross-entropy of a prediction that is sure and wrong grows
without bound, the squared loss stops at one.

Kernel ridge classifies by squared loss on the labels -1 and +1. Then another difference counts, seen on the right
over the margin, the label times the real-valued decision: the squared loss also punishes decisions that are *right by
too much*.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.displays import look
from mercer.kernels import Gaussian, Linear

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6))
h = np.linspace(0.005, 1.0, 300)
left.plot(h, (h - 1) ** 2, "-", color=look.BLUE, label="squared")
left.plot(h, -np.log(h), "--", color=look.VERMILION, label="cross-entropy")
left.set(xlabel="predicted probability h(x)", ylabel="loss where y = 1", ylim=(0, 4))
margin = np.linspace(-2.0, 4.0, 300)
right.plot(margin, (1 - margin) ** 2, "-", color=look.BLUE, label="squared")
right.plot(margin, np.log1p(np.exp(-margin)), "--", color=look.VERMILION, label="cross-entropy (logistic)")
right.plot(margin, (margin < 0).astype(float), ":", color=look.BLACK, label="wrong or not")
right.set(xlabel="margin: label times decision value", ylabel="loss", ylim=(0, 4))
left.legend()
right.legend()

# %%
# What that does to a border: two classes on a line, and some rows of the right class far out. Least squares wants
# their decision to be +1 too, and leans towards them; logistic regression hardly notices them. A kernel that can
# bend, here a Gaussian, has no such trouble, as its decision need not grow with distance.

rng = np.random.default_rng(1)
X = np.concatenate([rng.normal(-1.0, 0.5, 30), rng.normal(1.0, 0.5, 30), rng.normal(9.0, 0.5, 12)])[:, None]
y = np.repeat([-1, 1, 1], [30, 30, 12])
line = np.linspace(-3.0, 11.0, 400)[:, None]
models = {
    "squared loss, linear": KernelRidgeClassifier(1e-2, kernel=Linear(), fit_intercept=True),
    "cross-entropy, linear": LogisticRegression(C=10.0),
    "squared loss, Gaussian": KernelRidgeClassifier(1e-1, kernel=Gaussian(3.0), fit_intercept=True),
}
fig, ax = plt.subplots(figsize=(8, 3.6))
for number, (name, model) in enumerate(models.items()):
    decision = np.ravel(model.fit(X, y).decision_function(line))
    border = line[np.flatnonzero(np.diff(np.sign(decision)))[0], 0]
    wrong = np.mean(model.predict(X) != y)
    label = f"{name}: border {border:.2f}, {wrong:.0%} wrong"
    ax.plot(line, decision, color=look.COLOURS[number], linestyle=look.STYLES[number], label=label)
for label, marker, colour in ((-1, "o", look.BLACK), (1, "s", look.ORANGE)):
    ax.plot(X[y == label], y[y == label], marker, color=colour, markersize=4, alpha=0.7)
ax.axhline(0.0, color=look.BLACK, linewidth=0.8)
ax.set(xlabel="x", ylabel="decision value", ylim=(-2, 3.5))
ax.legend(loc="upper right", fontsize="small")

# %%
# **Risk.** What one wants small is the risk, the expected loss on new rows. It cannot be computed, so one takes the
# mean over a sample, the empirical risk. For a function that was *fixed beforehand* it approaches the risk as n
# grows, by the law of large numbers. For a function that was *fitted to that very sample* it starts too low, all the
# more the richer the function, and the two meet from both sides.


def draw(n):
    X = rng.uniform(0.0, 6.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.4 * rng.normal(size=n)


def loss(model, X, y):
    return np.mean((model.predict(X) - y) ** 2)


X_new, y_new = draw(4000)
fixed = KernelRidge(0.1, kernel=Gaussian(0.6)).fit(*draw(40))
sizes = np.array([10, 20, 40, 80, 160, 320, 640])
empirical, training, risk = np.empty((3, len(sizes), 20))
for i, n in enumerate(sizes):
    for sample in range(20):
        X, y = draw(n)
        empirical[i, sample] = loss(fixed, X, y)
        fitted = KernelRidge(0.1, kernel=Gaussian(0.6)).fit(X, y)
        training[i, sample], risk[i, sample] = loss(fitted, X, y), loss(fitted, X_new, y_new)

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), sharey=True)
left.fill_between(sizes, *np.quantile(empirical, (0.1, 0.9), axis=1), color=look.BLUE, alpha=look.BAND, linewidth=0)
left.plot(
    sizes, empirical.mean(axis=1), "-o", color=look.BLUE, markersize=4, label="empirical risk, 20 samples and 80 % band"
)
left.axhline(loss(fixed, X_new, y_new), color=look.VERMILION, linestyle="--", label="risk (4000 new rows)")
left.set(title="one function, fixed beforehand", ylabel="mean squared error")
for values, name, style, colour in (
    (training, "empirical risk (training rows)", "-o", look.BLUE),
    (risk, "risk (4000 new rows)", "--s", look.VERMILION),
):
    right.fill_between(sizes, *np.quantile(values, (0.1, 0.9), axis=1), color=colour, alpha=look.BAND, linewidth=0)
    right.plot(sizes, values.mean(axis=1), style, color=colour, markersize=4, label=name)
right.axhline(0.16, color=look.GREEN, linestyle=":", label="noise")
right.set(title="a function fitted to each sample")
for ax in (left, right):
    ax.set(xlabel="rows n", xscale="log", ylim=(0, 0.6))
    ax.set_xticks(sizes, [str(n) for n in sizes], minor=False)
    ax.minorticks_off()
    ax.legend(fontsize="small")
plt.show()
