"""
The curse of dimensionality: empty cells and equal distances
============================================================

The lectures *Cognitive Algorithms: Kernel Methods* and *Cognitive Algorithms: Tutorial Kernel Methods*: cut each axis
into five parts, and give a new point the class that is most frequent in its cell. In one dimension there are 5 cells,
in twelve there are 244 million. However many rows one has, soon almost every cell is empty, and the method has no
answer.

The same space plays a second trick. The distances from a point to all others grow more and more alike. In one
dimension the nearest of 200 rows is hundreds of times nearer than the farthest, in twelve not even three times; with
more and more dimensions the two become equal, and "similar" loses its meaning.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidgeCV
from mercer.displays import look
from mercer.errors import EdgeOfGridWarning
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
n, dimensions = 1000, np.arange(1, 13)

answered, nearest, spread = [], [], []
for d in dimensions:
    X, new = rng.uniform(size=(n, d)), rng.uniform(size=(n, d))
    cells = {tuple(cell) for cell in (5 * X).astype(int)}
    answered.append(np.mean([tuple(cell) in cells for cell in (5 * new).astype(int)]))
    distance = np.sqrt(((X[:200, None] - new[None, :200]) ** 2).sum(axis=2))
    nearest.append(np.mean(distance.min(axis=1) / distance.max(axis=1)))
    spread.append(distance.std() / distance.mean())

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6))
left.plot(dimensions, answered, "-o", color=look.BLUE, markersize=5)
left.set(
    xlabel="dimension d", ylabel="share of new rows", title=f"new rows whose cell holds one of {n} rows", ylim=(0, 1.03)
)
right.plot(dimensions, nearest, "-o", color=look.VERMILION, markersize=5, label="nearest / farthest, 200 rows")
right.plot(dimensions, spread, "--s", color=look.BLUE, markersize=5, label="standard deviation / mean")
right.set(xlabel="dimension d", ylabel="ratio of distances", ylim=(0, 0.8), title="distances grow alike")
right.legend()

# %%
# Does it strike kernel methods too? It depends on the function, not on the number of columns alone. Below,
# ``KernelRidgeCV`` learns from 200 rows of d columns: a wave in the first column alone, and a plane over all columns.
# It may choose the linear kernel or a Gaussian with the same width for every column. The plane stays easy, as it has
# only d unknowns. The wave is learned worse with every column that has nothing to do with it, for the kernel cannot
# know which one matters. With a width for each column it could, and :doc:`/auto` shows how they are found. A plane
# wants the widest Gaussian on offer, which a search remarks on; here that is no news.


def wave(X):
    return np.sin(6.0 * X[:, 0])


def plane(X):
    return (X - 0.5).sum(axis=1) * np.sqrt(12.0 / X.shape[1] / 2.0)


warnings.simplefilter("ignore", EdgeOfGridWarning)
sizes = (1, 2, 4, 8, 16, 32)
fig, ax = plt.subplots(figsize=(6.4, 3.8))
for function, colour, style in ((wave, look.VERMILION, "-o"), (plane, look.BLUE, "--s")):
    scores = []
    for d in sizes:
        X, new = rng.uniform(size=(200, d)), rng.uniform(size=(2000, d))
        kernels = [*(Gaussian(w * np.sqrt(d)) for w in (0.1, 0.3, 1.0, 3.0, 10.0)), Linear()]
        search = KernelRidgeCV(kernels, np.geomspace(1e-6, 10.0, 8), fit_intercept=True)
        scores.append(search.fit(X, function(X) + 0.2 * rng.normal(size=200)).score(new, function(new)))
    ax.plot(sizes, scores, style, color=colour, label=function.__name__)
ax.set(xlabel="dimension d", ylabel="R2 on new rows", xscale="log", ylim=(0, 1.03))
ax.set_xticks(sizes, [str(d) for d in sizes], minor=False)
ax.minorticks_off()
ax.legend(title="200 rows of")
plt.show()
