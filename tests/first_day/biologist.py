"""A biologist: string kernels, classification of sequences, and which substrings matter."""

import numpy as np

from mercer import KernelRidgeClassifier, KernelRidgeClassifierCV, nested_cross_validate
from mercer.kernels import Spectrum, Subsequence

rng = np.random.default_rng(0)


def sequence(motif):
    """Thirty random bases, with a motif somewhere."""
    bases = "".join(rng.choice(list("ACGT"), 30))
    place = rng.integers(0, 26)
    return bases[:place] + motif + bases[place + 4 :]


label = np.array(["promoter", "other"] * 60)
sequences = [sequence("TATA" if name == "promoter" else "GGCC") for name in label]
train, test = sequences[:80], sequences[80:]

kernels = [Spectrum(k).normalized() for k in (2, 3, 4)] + [Subsequence(3, decay=0.3).normalized()]
search = KernelRidgeClassifierCV(kernels, [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0], cv=5, random_state=0).fit(
    train, label[:80]
)
assert search.best_kernel_ in kernels
assert search.score(test, label[80:]) > 0.8
assert search.classes_.tolist() == ["other", "promoter"]
p = search.predict_proba(test)
assert p.shape == (40, 2)
assert np.allclose(p.sum(axis=1), 1)
nested = nested_cross_validate(search, sequences, label, cv=5, random_state=0)
assert nested.mean > 0.8

# which substrings matter?
kernel = Spectrum(4)
model = KernelRidgeClassifier(alpha=1.0, kernel=kernel).fit(train, label[:80])
names = kernel.feature_names(train)
weights = np.ravel(model.primal_coef_)
assert len(names) == len(weights)
ranked = [names[i] for i in np.argsort(weights)]
assert ranked[-1] == "TATA"
assert ranked[0] == "GGCC"
decision = kernel.feature_map(train) @ weights
assert np.allclose(decision, model.decision_function(train))
normalized = KernelRidgeClassifier(alpha=0.1, kernel=kernel.normalized()).fit(train, label[:80])
best = dict(zip(kernel.normalized().feature_names(train), np.ravel(normalized.primal_coef_), strict=True))
assert "TATA" in max(best, key=best.get)

# as a numpy array and as a column of a frame the sequences are the same
as_array = KernelRidgeClassifier(alpha=1.0, kernel=kernel).fit(np.array(train), label[:80])
assert np.allclose(as_array.decision_function(np.array(test)), model.decision_function(test))
