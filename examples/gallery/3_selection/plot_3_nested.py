"""
Choosing and scoring on the same folds flatters; nested folds do not
====================================================================

Cross-validation may choose a model or judge one (the lecture *Cognitive Algorithms: Kernel Methods*). If the same folds
do both, the score of the best candidate is the best of many, and part of what made it best was luck. Nested
cross-validation keeps an outer fold from the choice altogether: the inner folds choose, the outer fold judges
(*Cross-Validation for Model Selection and Evaluation* in the lecture).

One run first: 60 rows, ten columns, and ten widths times six alphas to choose from. mercer finds all 20 inner and 5
outer fits of each candidate from one factor (:ref:`nested`).
"""

# sphinx_gallery_thumbnail_number = 2
import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidgeCV, nested_cross_validate
from mercer.displays import NestedDisplay, look
from mercer.errors import EdgeOfGridWarning
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
warnings.simplefilter("ignore", EdgeOfGridWarning)  # some samples are so poor that the widest kernel wins


def draw(n):
    X = rng.normal(size=(n, 10))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + rng.normal(size=n)


kernels = [Gaussian(width) for width in np.geomspace(1.5, 40.0, 10).round(1)]
search = KernelRidgeCV(kernels, np.geomspace(1e-2, 1e2, 6), cv=5, random_state=0)
X, y = draw(60)
result = nested_cross_validate(search, X, y, cv=5, random_state=0)
print(str(result).split("\n\n", maxsplit=1)[0])
NestedDisplay.from_result(result)

# %%
# One run proves nothing: its outer score is a mean of five small folds. So the whole is repeated on 60 samples. Each
# time the search's own estimate and the nested one are held against the truth, the error on 2000 new rows of the very
# model that the search delivers.

X_new, y_new = draw(2000)
found = np.empty((3, 60))
for sample in range(60):
    X, y = draw(60)
    best = search.set_params(random_state=sample).fit(X, y)
    nested = nested_cross_validate(search, X, y, cv=5, random_state=sample)
    found[:, sample] = -best.best_score_, -nested.mean, np.mean((best.predict(X_new) - y_new) ** 2)

names = ("chosen and scored\non the same folds", "nested", "truth\n(new rows)")
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4))
left.boxplot(found.T, showfliers=False, whis=(5, 95), medianprops={"color": look.VERMILION, "linewidth": 2})
left.plot([1, 2, 3], found.mean(axis=1), "D", color=look.BLUE, markersize=6, label="mean")
left.axhline(found[2].mean(), color=look.BLACK, linestyle=":", linewidth=1)
left.set_xticks([1, 2, 3], names)
left.set(ylabel="mean squared error", title="60 samples")
left.legend()
bins = np.linspace(-1.2, 1.2, 25)
for number, (values, name) in enumerate(zip(found[:2], ("same folds", "nested"), strict=True)):
    gap = values - found[2]
    error = gap.std(ddof=1) / np.sqrt(60)
    label = f"{name}: mean {gap.mean():+.3f} +- {error:.3f}"
    right.hist(gap, bins, color=look.COLOURS[number], alpha=0.45 + 0.1 * number, hatch=("", "//")[number], label=label)
right.axvline(0.0, color=look.BLACK, linewidth=0.8)
right.set(xlabel="estimate less truth", ylabel="samples", ylim=(0, 18), title="bias of the estimate")
right.legend(loc="upper right", fontsize="small")

# %%
# The search's own estimate is too low by the amount in the legend. The nested one is not: what it is off lies within
# its error, and leans to the other side, since its models see 48 rows and the one that is delivered 60. Nested
# cross-validation gives you neither a model nor parameters: it tells what the procedure that finds them is worth.

plt.show()
