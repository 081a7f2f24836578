"""
Similarity decays with distance: Shepard's law and the Gaussian
===============================================================

Roger Shepard proposed in 1987 a law for how people and animals generalize: the similarity of a new thing to a known one
decays exponentially with their distance in a space of the mind. The lecture *Cognitive Algorithms: Kernel Methods*
takes it as a motive for the Gaussian kernel. Taken at its word, ``exp(-r)``, the law is the *exponential* kernel
(``Matern`` with ``nu=0.5``); the Gaussian, ``exp(-r^2 / 2)``, decays with the square of the distance.

The difference that matters most is near zero: the exponential has a kink there, the Gaussian is flat.
All of them are Mercer kernels, so each is a similarity that a linear method can be run on.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.displays import look
from mercer.kernels import Gaussian, Matern, RationalQuadratic

kernels = {
    "exponential (Shepard)": Matern(1.0, nu=0.5),
    "Matern, nu = 1.5": Matern(1.0, nu=1.5),
    "Gaussian": Gaussian(1.0),
    "rational quadratic": RationalQuadratic(1.0, shape=0.5),
}
distance = np.linspace(0.0, 4.0, 200)
zero = np.zeros((1, 1))

fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8))
for ax, scale in zip(axes, ("linear", "log"), strict=True):
    for number, (name, kernel) in enumerate(kernels.items()):
        similarity = kernel(distance[:, None], zero)[:, 0]
        ax.plot(distance, similarity, color=look.COLOURS[number], linestyle=look.STYLES[number], label=name)
    ax.set(xlabel="distance / width", yscale=scale, ylim=(0, 1.03) if scale == "linear" else (1e-4, 1.3))
axes[0].set(ylabel="similarity k(x, z)", title="near zero: a kink or a hilltop")
axes[0].legend()
axes[1].set(title="far away: on a log axis Shepard's law is a straight line")

# %%
# What similarity does to a prediction: ``f(x) = sum_i a_i k(x, x_i)`` compares x with everything that was seen. With
# the exponential each memory leaves a peak in the fitted function, with the Gaussian a smooth hill. Far from all
# memories every one of them forgets, and falls back to zero, the slow tails of the rational quadratic last.

X = np.array([-2.0, -1.2, 0.0, 0.4, 1.7])[:, None]
y = np.array([0.3, 1.0, 0.5, 0.7, -0.6])
line = np.linspace(-5.0, 5.0, 500)[:, None]
fig, ax = plt.subplots(figsize=(8, 3.6))
for number, (name, kernel) in enumerate(kernels.items()):
    model = KernelRidge(0.01, kernel=kernel).fit(X, y)
    ax.plot(line, model.predict(line), color=look.COLOURS[number], linestyle=look.STYLES[number], label=name)
ax.plot(X, y, "o", color=look.BLACK, label="memories")
ax.set(xlabel="x", ylabel="f(x)")
ax.legend(fontsize="small")
plt.show()
