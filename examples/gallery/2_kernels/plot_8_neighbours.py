"""
Nearest neighbours in feature space
===================================

A nearest neighbour classifier needs only distances, and distances need only scalar products:
``||phi(x) - phi(z)||^2 = k(x, x) + k(z, z) - 2 k(x, z)``. Put in a kernel and neighbours are sought in its feature
space (the lecture *Bias / Variance Analysis, Kernel Methods*). That is ``KernelNeighborsClassifier``.

With the Gaussian kernel the nearest row is the same as before, for the distance ``2 - 2 k(x, z)`` grows with
``||x - z||``: the trick changes nothing. The picture shows it, and that other kernels do change who is near.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelNeighborsClassifier
from mercer.displays import BoundaryDisplay
from mercer.kernels import Cosine, Gaussian, Linear

rng = np.random.default_rng(4)
angle = np.repeat([0.35, 0.8, 1.25], 25) + 0.1 * rng.normal(size=75)
length = rng.lognormal(0.0, 0.8, size=75)
X = length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
y = np.repeat(["a", "b", "c"], 25)

kernels = {"linear (Euclidean)": Linear(), "Gaussian, width 1": Gaussian(1.0), "cosine": Cosine()}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharex=True, sharey=True)
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    model = KernelNeighborsClassifier(kernel, n_neighbors=1).fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y, ax=ax)
    ax.set(title=name, xlim=(0, 3.9), ylim=(0, 3.9))
    ax.get_legend().set_visible(ax is axes[2])
    ax.label_outer()

# %%
# The classes differ by their direction from the origin and not by their length. The cosine kernel is
# ``x'z / (||x|| ||z||)``, so in its feature space all rows lie on the unit circle, and length no longer counts.
# Leave-one-out, by asking for two neighbours and dropping the row itself, says how many rows each gets right:

for name, kernel in kernels.items():
    model = KernelNeighborsClassifier(kernel, n_neighbors=2).fit(X, y)
    nearest = model.kneighbors(X, return_distance=False)
    other = np.where(nearest[:, 0] == np.arange(75), nearest[:, 1], nearest[:, 0])
    print(f"{name:20} {np.mean(y[other] == y):.0%}")
plt.show()
