"""
Primal or dual: which is cheaper depends on n and D
===================================================

Ridge regression has two forms (the lecture *Kernel Ridge Regression and the Kernel Trick*). The primal solves for D
weights, ``w = (F'F + alpha I)^-1 F'y``, in about ``n D^2 + D^3 / 3`` operations. The dual solves for n coefficients,
``a = (F F' + alpha I)^-1 y`` with ``w = F'a``, in about ``D n^2 + n^3 / 3``. They are the same model.

Both are timed here on random features, once with 400 rows and a growing D, once with 400 columns and a growing n. The
times are those of one core of the machine that built this page, the least of three. What should not depend on the
machine is where the lines cross: near ``n = D``.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

from mercer import KernelRidge
from mercer.displays import look

rng = np.random.default_rng(0)
FIXED, SIZES = 400, np.array([50, 100, 200, 400, 800, 1600])


def seconds(n, D, solver):
    X, y = rng.normal(size=(n, D)), rng.normal(size=n)
    model = KernelRidge(alpha=1.0, kernel="linear", solver=solver)
    taken = []
    with threadpool_limits(1):
        for _ in range(3):
            start = process_time()
            model.fit(X, y)
            taken.append(process_time() - start)
    return min(taken)


fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), sharey=True)
for ax, name in zip(axes, ("D", "n"), strict=True):
    for solver, label, colour, style in (
        ("primal", "primal: D unknowns", look.BLUE, "-o"),
        ("cholesky", "dual: n unknowns", look.VERMILION, "--s"),
    ):
        sizes = [(FIXED, size) if name == "D" else (size, FIXED) for size in SIZES]
        times = [1e3 * seconds(n, D, solver) for n, D in sizes]
        ax.loglog(SIZES, times, style, color=colour, markersize=5, label=label)
    ax.axvline(FIXED, color=look.GREY, linestyle=":", label="n = D")
    ax.set_xticks(SIZES, [str(size) for size in SIZES], minor=False)
    ax.minorticks_off()
    columns = "features D" if name == "D" else "rows n"
    ax.set(xlabel=columns, title=f"{'n' if name == 'D' else 'D'} = {FIXED}")
axes[0].set_ylabel("processor time of a fit (ms)")
axes[0].legend()

# %%
# ``solver="auto"`` counts before it solves, and takes the smaller system. Both give the same function, to rounding.

X, y = rng.normal(size=(400, 50)), rng.normal(size=400)
chosen = KernelRidge(kernel="linear").fit(X, y)
dual = KernelRidge(kernel="linear", solver="cholesky").fit(X, y)
print(chosen.route_)
print(f"largest difference of predictions: {np.abs(chosen.predict(X) - dual.predict(X)).max():.1e}")
plt.show()
