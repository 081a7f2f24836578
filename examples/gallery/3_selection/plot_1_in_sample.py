"""
The error in the sample always asks for more complexity
=======================================================

A model must not be tested on the rows it was fitted to, says the problem set *Cross-validation and kernel ridge
regression*, for two reasons: the error comes out too small, and it favours complex models. Both are seen here over 60
samples of 50 rows.

In each sample a Gaussian kernel of eight widths is fitted, from stiff to supple, and judged in three ways: on the
rows it was fitted to, by ten-fold cross-validation, and on 1000 new rows, which stand for the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, KernelRidgeCV
from mercer.displays import look
from mercer.kernels import Gaussian

SAMPLES = 60
rng = np.random.default_rng(0)
widths = np.geomspace(0.05, 3.0, 8)
kernels = [Gaussian(width) for width in widths]


def draw(n):
    X = rng.uniform(0.0, 6.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.4 * rng.normal(size=n)


X_new, y_new = draw(1000)
ways = ("same rows", "cross-validated", "new rows")
errors = np.empty((3, SAMPLES, len(widths)))
for sample in range(SAMPLES):
    X, y = draw(50)
    models = [KernelRidge(0.1, kernel=kernel).fit(X, y) for kernel in kernels]
    errors[0, sample] = [np.mean((model.predict(X) - y) ** 2) for model in models]
    search = KernelRidgeCV(kernels, [0.1], cv=10, random_state=sample).fit(X, y)
    errors[1, sample] = -search.cv_results_["mean_test_score"]
    errors[2, sample] = [np.mean((model.predict(X_new) - y_new) ** 2) for model in models]

# %%
# On the left the mean of each error over the samples, with a band that holds 80 % of them. Cross-validation follows
# the truth, with more scatter. The error in the sample has no valley.
#
# On the right what each of the three would choose, as a share of the samples. The one in the sample takes the
# narrowest kernel every time.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8))
for number, (name, error) in enumerate(zip(ways, errors, strict=True)):
    style = {"color": look.COLOURS[number], "linestyle": look.STYLES[number], "marker": look.MARKERS[number]}
    left.plot(widths, error.mean(axis=0), markersize=5, label=name, **style)
    left.fill_between(
        widths, *np.quantile(error, (0.1, 0.9), axis=0), color=look.COLOURS[number], alpha=0.15, linewidth=0
    )
    chosen = np.bincount(error.argmin(axis=1), minlength=len(widths))
    right.bar(
        np.arange(len(widths)) + 0.27 * (number - 1),
        chosen / SAMPLES,
        width=0.26,
        color=look.COLOURS[number],
        label=name,
    )
left.axhline(0.16, color=look.BLACK, linestyle=(0, (1, 2)), linewidth=1, label="noise")
left.set(xscale="log", xlabel="width", ylabel="mean squared error", ylim=(0, 0.8))
left.legend()
right.set_xticks(np.arange(len(widths)), [f"{width:.2g}" for width in widths])
right.set(xlabel="width chosen", ylabel="share of samples")
right.grid(visible=False, axis="x")

for name, error in zip(ways, errors, strict=True):
    paid = errors[2, np.arange(SAMPLES), error.argmin(axis=1)].mean()
    print(f"chosen by {name:15} -> error on new rows {paid:.3f}")
plt.show()
