"""
Is there a signal, what acts, and which rows carry it
=====================================================

One factor of a fitted model answers more than a prediction. Blood sugar, blood pressure and weight of 200 patients are
meant to predict how their diabetes goes on. First: is there anything to predict at all? The search for kernel and alpha
is repeated for 199 permutations of the targets. The score of the targets as observed, the red line, is far from all of
them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from mercer import KernelRidgeCV, influence, marginal_effects, permutation_test

data = load_diabetes(as_frame=True)
X, y = data.data[["age", "sex", "bmi", "bp", "s1", "s5"]][:200], data.target[:200]
X = (X - X.mean()) / X.std()
search = KernelRidgeCV("gaussian", fit_intercept=True).fit(X, y)
permutation_test(search, X, y, permutations=199, random_state=0).plot()
plt.show()

# %%
# Then: which columns act on the prediction, and how surely? Average effects per standard deviation of a column, with
# jackknife errors in closed form. Grey ones cannot be told from zero.

marginal_effects(search).plot()
plt.show()

# %%
# And: does the result hang on single patients? Leaving out each in turn changes the leave-one-out error by so much; the
# ten who change it most are shown. None of them decides which kernel and alpha are chosen, unless it says so.

found = influence(search)
print(str(found).splitlines()[0])
found.plot()
plt.show()

# %%
# At last, intervals that are guaranteed to hold a new target with 90 % probability, although kernel and alpha were
# chosen on the same rows. They are drawn along the body mass index, everything else at its mean, beside those of
# jackknife+, whose guarantee is 80 % and knows nothing of the choice. The two hardly differ here.

line = np.zeros((40, 6))
line[:, 2] = np.linspace(-2.5, 3.5, 40)
few = KernelRidgeCV([search.best_kernel_], [search.alpha_ / 10, search.alpha_, 10 * search.alpha_], fit_intercept=True)
few.fit(X.to_numpy(), y)
fig, ax = plt.subplots(figsize=(6.4, 4.0))
for method, style in (("full", "-"), ("jackknife+", "--")):
    lower, upper = few.predict_interval(line, method=method)
    ax.plot(line[:, 2], lower, style, color="#0072B2", label=method)
    ax.plot(line[:, 2], upper, style, color="#0072B2")
ax.plot(X["bmi"], y, "o", color="#999999", markersize=3)
ax.set(xlabel="body mass index, in standard deviations", ylabel="progression after a year")
ax.legend(frameon=False)
plt.show()
