"""Fingerprints: another one where anything differs."""

import numpy as np
from scipy import sparse

from mercer.selection.checkpoint import fingerprint


def test_fingerprints_differ_where_anything_differs(rng):
    X = rng.normal(size=(4, 2))
    S = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    changed = X.copy()
    changed[3, 1] = np.nextafter(changed[3, 1], 9.0)
    parts = [
        (X,), (changed,), (X.astype(np.float32),), (X.ravel(),), (X.T.copy(),), (X, None), (X, "a"), (X, "b"), (S,),
        (S * 2,), (np.array(["a", "b"], dtype=object),), (np.array(["a", "c"], dtype=object),), (X, X), (),
    ]  # fmt: skip
    marks = [fingerprint(*part) for part in parts]
    assert len(set(marks)) == len(marks)
    assert fingerprint(X[::2]) == fingerprint(X[::2].copy())
    assert fingerprint(S) == fingerprint(S.tocsc())
