"""
Greetings: a kernel on words
============================

The tutorial *Cognitive Algorithms: Tutorial Kernel Methods* asks to tell English greetings from German ones, with three
examples of each. Words are no vectors, but ``phi`` may send each to a vector with one place for every word there is, a
one there and zeros elsewhere. In that space a perfect classifier is easily written down: weight +1 for English words
and -1 for German ones.

Nobody wants to store such vectors. The kernel needs none: ``k(x, z)`` counts the words that two texts share, and that
is ``Words()``. For single words its Gram matrix is the identity, so ``a = y / (1 + alpha)`` fits the six greetings.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.kernels import Spectrum, Subsequence, Words

greetings = ["hello", "welcome", "morning", "hallo", "willkommen", "morgen"]
y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])  # English, German

model = KernelRidge(1e-3, kernel=Words()).fit(greetings, y)
print("a =", model.dual_coef_.round(3))

# %%
# It has learned nothing, though. A greeting that it has not seen shares no word with any, so all similarities are
# zero and so is the prediction. The map into a large space made the problem easy to fit, and empty.

print("'morn' and 'hallihallo':", model.predict(["morn", "hallihallo"]))

# %%
# What was missing is that words can be alike. ``Spectrum(2)`` counts the pairs of letters that two words share,
# ``Subsequence`` letters in the same order with gaps. Normalized, every word is as similar to itself as any other.

kernels = {
    "Words()": Words(),
    "Spectrum(2)": Spectrum(2).normalized(),
    "Subsequence(2)": Subsequence(2, decay=0.5).normalized(),
}
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.7))
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    image = ax.imshow(kernel(greetings), vmin=0, vmax=1)
    ax.set_xticks(range(6), greetings, rotation=45, ha="right")
    ax.set_yticks(range(6), greetings if ax is axes[0] else [""] * 6)
    ax.set_title(name)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
fig.colorbar(image, ax=axes, label="k(x, z)", shrink=0.8)

# %%
# Now greetings that were not among the six find relatives. Six examples are still six examples: hullo, which is
# English, is put beside hallo. This shows what a kernel on strings can do, not a way to tell languages apart.

labels = np.where(y > 0, "English", "German")
new = ["mornings", "hullo", "welcoming", "guten morgen", "hallihallo", "wilkommen"]
for name, kernel in kernels.items():
    model = KernelRidgeClassifier(0.1, kernel=kernel).fit(greetings, labels)
    values = np.ravel(model.decision_function(new))  # above zero: the second label, German
    said = ["?" if value == 0 else model.classes_[int(value > 0)] for value in values]
    print(f"{name:15}", ", ".join(f"{word}: {label}" for word, label in zip(new, said, strict=True)))
plt.show()
