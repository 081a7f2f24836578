"""
A problem set from end to end: krr and cv
=========================================

The problem set *Cross-validation and kernel ridge regression* of a lab course asks for two programs, ``krr`` (kernel
ridge regression) and ``cv`` (cross-validation of any method with ``fit`` and ``predict``). ``mercer.course`` has both
with the course's own signatures; rows of X are rows here, where the slides have columns.

They are put to use on a curve, on molecules like those of the QM7 set, and on two classes like those of the banana
set. All three are generated here; none is the original.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np

from mercer.course import cv, krr, mean_absolute_error, zero_one_loss
from mercer.displays import ResidualDisplay, look

rng = np.random.default_rng(0)
quiet = {"random_state": 0, "verbose": 0}

# %%
# A curve
# -------
#
# 100 noisy points of ``sin(pi x) / (pi x)``. The polynomial kernel is ``(x'z + 1)^p`` and the Gaussian
# ``exp(-||x - z||^2 / (2 d w^2))``, with a *width per dimension*: that d is the number of columns. A
# ``regularization`` of 0 has it chosen by exact leave-one-out, from one eigendecomposition. ``cv`` chooses the rest
# by ten folds, five times drawn.

X = rng.uniform(-3.0, 3.0, size=(100, 1))
y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=100)
ladder = np.geomspace(1e-6, 10.0, 8).tolist()
choices = {
    "linear": {"kernel": ["linear"], "regularization": ladder},
    "polynomial": {"kernel": ["polynomial"], "kernelparameter": [2, 4, 6, 8], "regularization": ladder},
    "gaussian": {"kernel": ["gaussian"], "kernelparameter": [0.1, 0.3, 0.6, 1.0, 3.0], "regularization": ladder},
}
line = np.linspace(-3.0, 3.0, 300)[:, None]
fig, ax = plt.subplots(figsize=(8, 4))
ax.plot(X, y, "o", color=look.BLACK, markersize=3, alpha=0.5, label="data")
for number, (name, parameters) in enumerate(choices.items()):
    best = cv(X, y, krr, parameters, **quiet)
    label = f"{name}: error {best.cvloss:.3f} +- {best.cvloss_std:.3f}"
    ax.plot(line, best.predict(line), color=look.COLOURS[number], linestyle=look.STYLES[number], label=label)
    print(f"{best!r:45} cvloss {best.cvloss:.4f}")
ax.set(xlabel="x", ylabel="y", title="mean absolute error of ten folds, five times")
ax.legend()

# %%
# Molecules
# ---------
#
# QM7 is a set of 7165 small molecules with their atomisation energies. Here 1000 molecules of up to nine atoms are
# made up: H, C, N and O, each bound to one before it, and an energy that is a sum over atoms and over pairs, deeper
# for larger charges and falling off with distance. Nobody's chemistry, but the same task. A molecule is described by
# its Coulomb matrix, ``0.5 Z_i^2.4`` on the diagonal and ``Z_i Z_j / |R_i - R_j|`` off it, with atoms sorted by the
# length of their rows, so that neither its orientation nor the order of its atoms matters. The widths to try come
# from quantiles of the distances.

CHARGES, PLACES = np.array([1.0, 6.0, 7.0, 8.0]), 9


def positions(count):
    R = np.zeros((1, 3))
    while len(R) < count:
        step = rng.normal(size=3)
        new = R[rng.integers(max(0, len(R) - 2), len(R))] + 1.4 * step / np.linalg.norm(step)
        if np.linalg.norm(R - new, axis=1).min() > 1.2:  # not into another atom
            R = np.vstack([R, new])
    return R


def molecule():
    Z = rng.choice(CHARGES, size=rng.integers(4, PLACES + 1), p=[0.4, 0.4, 0.1, 0.1])
    R = positions(len(Z))
    far = np.linalg.norm(R[:, None] - R, axis=2) + np.eye(len(Z))
    pairs = np.triu_indices(len(Z), 1)
    energy = -20.0 * np.sqrt(Z).sum() - 25.0 * (np.sqrt(np.outer(Z, Z)) * np.exp(-far))[pairs].sum()
    coulomb = np.outer(Z, Z) / far
    np.fill_diagonal(coulomb, 0.5 * Z**2.4)
    order = np.argsort(-np.linalg.norm(coulomb, axis=1))
    padded = np.zeros((PLACES, PLACES))
    padded[: len(Z), : len(Z)] = coulomb[np.ix_(order, order)]
    return padded[np.triu_indices(PLACES)], energy


matrices, energies = map(np.array, zip(*(molecule() for _ in range(1000)), strict=True))
test = slice(800, 1000)
middle = energies[:800].mean()
pairs = np.triu_indices(200, 1)
distances = np.linalg.norm(matrices[:200, None] - matrices[None, :200], axis=2)[pairs] / matrices.shape[1] ** 0.5
low, half, high = np.quantile(distances, (0.1, 0.5, 0.9)).round(1).tolist()
widths = [low, half, high, 4.0 * high]
parameters = {"kernel": ["gaussian"], "kernelparameter": widths, "regularization": np.geomspace(1e-8, 1.0, 9).tolist()}

sizes, cross, new = (50, 100, 200, 400, 800), [], []
for n in sizes:
    best = cv(matrices[:n], energies[:n] - middle, krr, parameters, nfolds=5, nrepetitions=2, **quiet)
    predicted = best.predict(matrices[test]) + middle
    cross.append(best.cvloss)
    new.append(mean_absolute_error(energies[test], predicted))
spread = np.abs(energies[test] - middle).mean()
print(best)
print(f"{sizes[-1]} molecules: cvloss {cross[-1]:.2f}, on new ones {new[-1]:.2f}; the mean alone {spread:.0f} kcal/mol")

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4))
left.loglog(sizes, cross, "-o", color=look.VERMILION, markersize=5, label="cross-validated (of the chosen)")
left.loglog(sizes, new, "--s", color=look.BLUE, markersize=5, label="200 new molecules")
left.set_xticks(sizes, [str(n) for n in sizes], minor=False)
left.set_yticks([5, 10, 20], ["5", "10", "20"], minor=False)
left.minorticks_off()
left.set(xlabel="molecules trained on", ylabel="mean absolute error (kcal/mol)")
left.legend()
ResidualDisplay.from_predictions(energies[test], predicted, y_label="energy (kcal/mol)", ax=right)

# %%
# Bananas
# -------
#
# Two classes that bend around each other, classified by the sign of a regression on -1 and +1 and judged by the share
# of wrong labels. A loss may also return a curve: here the share of true positives at given shares of false ones,
# averaged over all folds, which is the ROC curve of rows that were not trained on.


def banana(n):
    label = rng.choice([-1.0, 1.0], size=n)
    angle = rng.uniform(0.0, np.pi, size=n)
    center = np.column_stack([np.cos(angle), np.sin(angle) - 0.25])
    return label[:, None] * (center - [0.5, 0.0]) + 0.28 * rng.normal(size=(n, 2)), label


def roc(y_true, decision):
    order = np.argsort(-decision)
    hits, misses = np.cumsum(y_true[order] > 0), np.cumsum(y_true[order] < 0)
    return np.interp(np.linspace(0.0, 1.0, 101), misses / misses[-1], hits / hits[-1])


X, y = banana(300)
parameters = {"kernel": ["gaussian"], "kernelparameter": [0.1, 0.2, 0.4, 0.8, 1.6], "regularization": ladder[2:-1]}
best = cv(X, y, krr, parameters, loss_function=zero_one_loss, **quiet)
X_new, y_new = banana(4000)
wrong = zero_one_loss(y_new, best.predict(X_new))
print(f"{best!r}: {best.cvloss:.1%} wrong in cross-validation, {wrong:.1%} on new rows")

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4))
grid = np.linspace(-2.4, 2.4, 160)
values = best.predict(np.column_stack([part.ravel() for part in np.meshgrid(grid, grid)])).reshape(160, 160)
left.contourf(grid, grid, np.sign(values), levels=[-2, 0, 2], colors=[look.BLUE, look.VERMILION], alpha=look.BAND)
left.contour(grid, grid, values, levels=[0.0], colors=look.BLACK, linewidths=1.4)
for label, colour, marker in ((-1, look.BLUE, "o"), (1, look.VERMILION, "s")):
    left.plot(*X[y == label].T, marker, color=colour, linestyle="", markersize=4, label=f"{label:+d}")
left.set(xlabel="x1", ylabel="x2", aspect="equal", title="300 rows and the border")
left.legend(loc="upper left")
for number, kernel in enumerate(("linear", "polynomial", "gaussian")):
    settings = {"kernel": [kernel], "kernelparameter": [4 if kernel == "polynomial" else best.kernelparameter]}
    found = cv(X, y, krr, {**settings, "regularization": [0.1]}, loss_function=roc, **quiet)
    right.plot(
        np.linspace(0.0, 1.0, 101),
        found.cvloss,
        color=look.COLOURS[number],
        linestyle=look.STYLES[number],
        label=kernel,
    )
right.plot([0, 1], [0, 1], color=look.GREY, linewidth=1, label="by chance")
right.set(
    xlabel="share of false positives",
    ylabel="share of true positives",
    title="ROC curve, cross-validated",
    aspect="equal",
)
right.legend()
plt.show()
