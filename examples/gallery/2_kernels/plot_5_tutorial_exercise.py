"""
An exercise by hand: g1, g2, g3 and two radial basis functions
==============================================================

The tutorial *Cognitive Algorithms: Tutorial Kernel Methods* has students fit a small table by hand, with ``alpha =
0.0001``: a line through the origin (g1), a parabola (g2), the parabola again by its kernel (g3), and Gaussian kernels
of width ``sqrt2`` and ``sqrt2 / 2``. Its table of data is not in the notes; this one is ours, small enough for pen and
paper:

====  ====  ====  ===  ===  ===
x     -2    -1    0    1    2
y     4.5   1.5   1    2    5
====  ====  ====  ===  ===  ===
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.displays import look
from mercer.kernels import FromFeatures, Gaussian, Linear

X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
y = np.array([4.5, 1.5, 1.0, 2.0, 5.0])
alpha = 1e-4


def phi(X):
    return np.column_stack([np.ones(len(X)), X, X**2])


# %%
# **g1 and g2.** ``g1(x) = w x`` must pass through the origin and has one slope, so it can say nothing about a bowl.
# g2 adds a constant and a square, and these are what the data need. The weights are ``primal_coef_``: they solve
# ``(F'F + alpha I) w = F'y``.

g1 = KernelRidge(alpha, kernel=Linear()).fit(X, y)
g2 = KernelRidge(alpha, kernel=Linear()).fit(phi(X), y)
print(f"g1(x) = {g1.primal_coef_[0]:.4f} x")
print("g2(x) = {:.4f} + {:.4f} x + {:.4f} x^2".format(*g2.primal_coef_))

# %%
# **g3.** The kernel of these features is ``k(x, z) = phi(x)'phi(z) = 1 + x z + x^2 z^2``. It gives five dual
# coefficients in place of three weights, and the same function: ``w = F'a`` (:ref:`dual`).

g3 = KernelRidge(alpha, kernel=FromFeatures(phi), solver="cholesky").fit(X, y)
grid = np.linspace(-3.0, 3.0, 400)[:, None]
print("a =", g3.dual_coef_.round(3))
print(f"largest difference between g2 and g3: {np.abs(g2.predict(phi(grid)) - g3.predict(grid)).max():.1e}")

# %%
# **Why not alpha = 0?** Three features give the 5 x 5 Gram matrix rank three: two of its eigenvalues are zero but for
# rounding, and it has no inverse. ``alpha`` lifts every eigenvalue above zero. mercer does answer at ``alpha = 0``,
# but not by inverting: it takes the shortest of the many solutions, and warns.

K = g3.kernel_(X)
print("eigenvalues of K:", np.linalg.eigvalsh(K).round(6) + 0.0)

# %%
# **Two widths.** ``sqrt2`` means ``exp(-(x - z)^2 / 4)`` and ``sqrt2 / 2`` means ``exp(-(x - z)^2)``. With so small
# an alpha both go through all points, and between them they differ little. Beyond the data they do: the narrow one
# reaches only half as far and falls back to zero at once, the wide one follows the bowl for a while. Neither knows
# anything of parabolas.

fig, ax = plt.subplots(figsize=(8, 4.6))
curves = {
    "g1, line through 0": g1.predict(grid),
    "g2 = g3, parabola": g3.predict(grid),
    "Gaussian, width sqrt2": KernelRidge(alpha, kernel=Gaussian(2**0.5)).fit(X, y).predict(grid),
    "Gaussian, width sqrt2 / 2": KernelRidge(alpha, kernel=Gaussian(2**0.5 / 2)).fit(X, y).predict(grid),
}
for number, (name, values) in enumerate(curves.items()):
    ax.plot(grid, values, color=look.COLOURS[number], linestyle=look.STYLES[number], label=name)
ax.plot(X, y, "o", color=look.BLACK, zorder=3, label="data")
ax.set(xlabel="x", ylabel="y", ylim=(-1, 8))
ax.legend(loc="upper center", ncols=2)
plt.show()
