"""Exams that kernels sit: ours in the tests, and yours in your own.

Examples
--------
>>> from mercer.kernels import Gaussian
>>> from mercer.testing import check_kernel
>>> check_kernel(Gaussian(width=2.0))
"""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.errors import InputError, KernelTextError
from mercer.insight.check import search
from mercer.kernels import Kernel, parse
from mercer.kernels.tiles import tile

_EPS = float(np.finfo(np.float64).eps)


def check_kernel(kernel: Kernel, X: XLike = None, *, seed: int = 0) -> None:
    """Examine a kernel; an AssertionError says in a sentence what it failed.

    Symmetry; the diagonal; blocks equal to the whole matrix; positive semi-definiteness where the
    certificate claims it; explicit features where there are any; equality, hash, pickling, `repr` that
    rebuilds, parameters; inputs untouched and read-only inputs taken; float32 on request. Without `X`, hundreds of
    tables are searched for one on which a claimed Mercer kernel has a negative eigenvalue: negative numbers, lines and
    grids of points, clusters, small and large scales. A kernel for non-negative numbers only must say so by
    ``positive_only = True``, or be given an `X`.

    Parameters
    ----------
    kernel : Kernel
        What is examined.
    X : array-like or sequence of objects, default=None
        Rows to examine it on; drawn numbers of four columns by default.
    seed : int, default=0
        Of the drawn rows.

    Examples
    --------
    >>> from mercer.kernels import Laplacian, Linear
    >>> from mercer.testing import check_kernel
    >>> check_kernel(Laplacian() * Linear() + 2.0 * Laplacian())
    """
    drawn, gram = X is None, kernel.kind == "gram"
    if drawn:
        X = np.random.default_rng(seed).exponential(size=(30, 4))
        X = X @ X.T if gram else X
    rows = kernel.read(X)
    try:
        _check_values(kernel, X)
        _check_claims(kernel, rows)
        if drawn and not gram:
            _search_counterexample(kernel, seed)
    except (InputError, ValueError) as problem:
        raise AssertionError(f"{kernel!r} cannot be evaluated: {problem}") from problem
    _check_value_semantics(kernel)


def _check_values(kernel: Kernel, X: XLike) -> None:
    before = copy.copy(X)
    if isinstance(X, np.ndarray):
        X = X.view()
        X.flags.writeable = False
    K, rows = kernel(X), kernel.read(X)
    n, cut = len(rows), max(1, len(rows) // 3)
    assert K.shape == (n, n), f"{kernel!r}: k(X) must be {n} x {n}; got {K.shape}."
    assert K.dtype == np.float64, f"{kernel!r}: k(X) without dtype= must be float64; got {K.dtype}."
    assert np.isfinite(K).all(), f"{kernel!r}: k(X) must be finite."
    if kernel.kind != "gram":
        assert (K == K.T).all(), f"{kernel!r}: k(X) must be exactly symmetric."
        _close(kernel, "k(X, X) and k(X)", kernel(X, X), K)
        _close(kernel, "a block of rows and the same part of k(X)", tile(kernel, rows[:cut], rows), K[:cut])
        _close(kernel, "a block and its mirror image", tile(kernel, rows, rows[:cut]), K[:, :cut])
    _close(kernel, "k.diag(X) and the diagonal of k(X)", kernel.diag(X), K.diagonal())
    single = kernel(X, dtype=np.float32)
    assert single.dtype == np.float32, f"{kernel!r}: dtype=float32 must give float32; got {single.dtype}."
    _close(kernel, "float32 and float64 values", single, K, digits=3)
    if isinstance(X, np.ndarray):
        assert (before == X).all(), f"{kernel!r}: X must not be changed."


def _check_claims(kernel: Kernel, rows: Rows) -> None:
    K = kernel(rows)
    if kernel.certificate().valid and len(K):
        values = np.linalg.eigvalsh(K)
        least, limit = values[0], -10 * len(K) * _EPS * np.abs(values[[0, -1]]).max()
        assert least >= limit, f"{kernel!r} claims to be a Mercer kernel, but k(X) has the eigenvalue {least:.3g}."
    count = kernel.feature_count(rows.width)
    if count is not None:
        phi = kernel.feature_map(rows)
        assert phi.shape == (len(rows), count), f"{kernel!r}: feature_count must be the number of features."
        _close(kernel, "phi(x)'phi(z) and k(x, z)", phi @ phi.T, K)


def _search_counterexample(kernel: Kernel, seed: int) -> None:
    """Look for rows that contradict a claim of being a Mercer kernel."""
    if kernel.certificate().valid:
        generator = np.random.default_rng(seed)
        # for arithmetic of our own the claim is a theorem, and a quick look is enough
        found = (search(kernel, (1, 4), generator, 0) if kernel.trusted else search(kernel, (1, 4), generator)).witness
        assert found is None, (
            f"{kernel!r} claims to be a Mercer kernel, but k(X) has the eigenvalue {found.value:.3g} "
            f"for X = {np.asarray(found.rows).tolist()}."
        )


def _check_value_semantics(kernel: Kernel) -> None:
    same = kernel.set_params(**kernel.get_params(deep=False))
    assert kernel == same, f"{kernel!r}: set_params(**get_params()) must give an equal kernel."
    assert hash(kernel) == hash(same), f"{kernel!r}: equal kernels must have equal hashes."
    try:
        again = parse(repr(kernel))
    except KernelTextError:
        again = kernel  # it holds a function, or is a kernel of your own: no text can rebuild it
    assert again == kernel, f"{kernel!r}: the kernel read from its repr must be equal; got {again!r}."
    cls = type(kernel)  # pickle finds it by its name, but not where it was made inside a function or an example
    if _holds_function(kernel) or getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is not cls:
        return  # not everything can be pickled, and that is not the kernel's fault
    assert pickle.loads(pickle.dumps(kernel)) == kernel, f"{kernel!r}: the unpickled kernel must be equal."  # noqa: S301 - our own bytes


def _holds_function(kernel: Kernel) -> bool:
    own = any(callable(value) and not isinstance(value, Kernel) for _, value in kernel.items())
    return own or any(map(_holds_function, kernel.members().values()))


def _close(kernel: Kernel, what: str, left: Array, right: Array, digits: int = 9) -> None:
    scale = max(1.0, float(np.abs(right).max(initial=0.0)))
    gap = float(np.abs(left - right).max(initial=0.0))
    assert gap <= scale * 10.0**-digits, f"{kernel!r}: {what} must agree; they differ by {gap:.3g}."
