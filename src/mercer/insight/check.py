"""Whether a kernel or a matrix is positive semi-definite: what is proved, what is measured, what is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np

from mercer.data.checks import worst_asymmetry
from mercer.data.rows import Array, Rows, Seed, XLike, as_rows
from mercer.errors import InputError, refuse_if, sentence
from mercer.insight.spectrum import GramSpectrum, as_matrix
from mercer.kernels.base import Kernel
from mercer.kernels.certificate import Certificate, Witness
from mercer.kernels.value import is_real
from mercer.text import Shown, counted

# Values of a kernel are right to about this share; see _TOLERANCES of kernels/pair.py.
_KERNEL_PRECISION = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class MercerCheck(Shown):
    """What a check found; prints as a short paragraph, and counts as true only where `valid` is True.

    Attributes
    ----------
    valid : bool or None
        True: no violation on these rows (without rows: proved). False: violated. None: nothing is known.
    reason : str
        What was found, a sentence per line.
    smallest, largest : float or None
        Eigenvalues of (K + K') / 2; None where no matrix was looked at.
    tolerance : float or None
        An eigenvalue above minus this may be zero: n * precision * the largest eigenvalue by size.
    rank : int or None
        Eigenvalues beyond the tolerance.
    witness : Witness or None
        Rows and a vector v with v'Kv < 0, where there are.
    asymmetry : tuple of int or None
        Row and column of the worst asymmetry, where K is not symmetric.
    certificate : Certificate or None
        What is proved about the kernel; None for a matrix.
    """

    valid: bool | None
    reason: str
    smallest: float | None = None
    largest: float | None = None
    tolerance: float | None = None
    rank: int | None = None
    witness: Witness | None = None
    asymmetry: tuple[int, int] | None = None
    certificate: Certificate | None = None

    def __bool__(self) -> bool:
        return self.valid is True

    def __str__(self) -> str:
        return self.reason if self.certificate is None else f"{self.reason}\nCertificate:\n{self.certificate}"


def check_mercer(
    kernel_or_matrix: Kernel | XLike,
    X: XLike = None,
    *,
    columns: int | Sequence[int] = (1, 2, 3),
    precision: float | None = None,
    random_state: Seed = 0,
) -> MercerCheck:
    """Check that a matrix, or a kernel on some rows, is symmetric and has no negative eigenvalue.

    An eigenvalue counts as negative if it is below -n * precision * (the largest eigenvalue by size): that is what
    errors of `precision` in the entries can do. Without X a kernel is judged by its certificate, and one that the
    certificate does not know by a search for rows that refute it. To find none is no proof.

    Parameters
    ----------
    kernel_or_matrix : Kernel or array-like of shape (n, n)
        What is checked.
    X : array-like or sequence of objects, default=None
        Rows to check a kernel on. True then means: no violation on these rows.
    columns : int or several, default=(1, 2, 3)
        Widths of the tables that are tried where X is not given.
    precision : float, default=None
        Relative error of the entries. By default 10 eps of a matrix's own precision, 1e-12 for a kernel on rows X, and
        1e-9 for a search, which must not take a user's rounding for a counterexample.
    random_state : int, Generator, RandomState or None, default=0
        Of the search.

    Returns
    -------
    MercerCheck

    See Also
    --------
    repair : Make a matrix positive semi-definite.

    Examples
    --------
    >>> import mercer
    >>> from mercer.kernels import Custom, Gaussian
    >>> print(mercer.check_mercer([[1.0, 2.0], [2.0, 1.0]]))
    K is not positive semi-definite: of 2 eigenvalues from -1 to 3 the smallest is below -1.3e-14.
    That is what rounding can do: 2 rows x 2.2e-15 x the largest |eigenvalue|.
    Witness: the rows 0 and 1 with v = (0.7071, -0.7071): v'Kv = -1.
    >>> mercer.check_mercer(Gaussian(), [[0.0], [1.0], [2.0]]).valid
    True
    >>> unknown = Custom(lambda X, Z: abs(X @ Z.T) - 0.1)
    >>> found = mercer.check_mercer(unknown)
    >>> found.valid, found.witness.rows
    (False, array([[0.]]))
    """
    invalid = precision is not None and not (is_real(precision) and 0 <= precision < 1)
    refuse_if(invalid, "precision of check_mercer", "a number from 0 to below 1", repr(precision))
    if not isinstance(kernel_or_matrix, Kernel):
        way_out = "To check a kernel on rows, use check_mercer(kernel, X)."
        refuse_if(X is not None, "X", "None when a matrix is checked", "a matrix and X", way_out)
        K, own = as_matrix(kernel_or_matrix)
        return _measure(K, own if precision is None else float(precision), "K", None, None)
    kernel = kernel_or_matrix
    if X is None:
        return _without_rows(kernel, _widths(columns), _generator(random_state))
    precision, rows = _KERNEL_PRECISION if precision is None else float(precision), as_rows(X)
    refuse_if(not len(rows), "X of check_mercer", "at least one row", "none")
    if kernel.kind == "gram":
        K, own = as_matrix(kernel(X))
        return _measure(K, max(own, precision), f"{kernel!r} of this matrix", None, kernel.certificate())
    # what is not our own arithmetic is asked for both halves, so that an asymmetry shows
    K = kernel(rows) if kernel.trusted else kernel(rows, rows)
    refuse_if(not np.isfinite(K).all(), f"Every value of {kernel!r}", "finite", "NaN or infinity", "Scale X.")
    return _measure(K, precision, f"{kernel!r} on these rows", rows, kernel.certificate())


def _measure(K: Array, precision: float, name: str, rows: Rows | None, proof: Certificate | None) -> MercerCheck:
    """Symmetry first, then the spectrum of the symmetric part."""
    spectrum, (gap, (i, j)) = GramSpectrum(K, precision), worst_asymmetry(K)
    lopsided = gap > spectrum.tolerance
    witness = spectrum.witness(rows) if spectrum.negative else None
    many = f"{counted(len(K), 'row')} x {precision:.2g} x the largest |eigenvalue|"
    limit = f"{-spectrum.tolerance:.2g}.\nThat is what rounding can do: {many}."
    ends = f"from {spectrum.smallest:.4g} to {spectrum.largest:.4g}"
    span = f"of {counted(len(K), 'eigenvalue')} {ends} the smallest is"
    if lopsided:
        said = f"{name} is not symmetric: K[{i}, {j}] = {K[i, j]:.6g} and K[{j}, {i}] = {K[j, i]:.6g}."
        if spectrum.negative:
            said += f"\nNor is (K + K') / 2 positive semi-definite: {span} below {limit}"
    elif spectrum.negative:
        said = f"{name} is not positive semi-definite: {span} below {limit}"
    else:
        said = f"{name} is positive semi-definite: {span} not below {limit}\nIts rank is {spectrum.rank}."
    said += "" if witness is None else f"\nWitness: {witness}."
    holds = not lopsided and not spectrum.negative
    if proof is not None and (holds or proof.valid is True):
        said += f"\n{_BESIDE[holds, proof.valid]}"
    return MercerCheck(holds, said, *spectrum.sizes, witness, (i, j) if lopsided else None, proof)


_BESIDE = {  # what a certificate adds to whether the matrix has no violation, by its verdict
    (False, True): "This refutes the certificate, or rounding is worse than assumed (see precision).",
    (True, True): "The certificate proves this for all rows.",
    (True, False): "This holds for these rows; the certificate gives rows that violate it.",
    (True, None): "This holds for these rows; other rows may violate it.",
}


def _without_rows(kernel: Kernel, columns: Sequence[int], rng: np.random.Generator) -> MercerCheck:
    proof = kernel.certificate()
    if proof.valid is True:
        return MercerCheck(True, f"{kernel!r} is a Mercer kernel: proved, whatever the rows.", certificate=proof)
    witness, which, spectrum, tried = proof.witness, "Witness", None, ""
    if witness is not None:
        spectrum = GramSpectrum(kernel(witness.rows), _KERNEL_PRECISION)
    elif kernel.kind in ("vectors", "any"):
        found = search(kernel, columns, rng)
        witness, which, spectrum = found.witness, "Witness, found by search", found.spectrum
        tried = f": none of {found.tried} small tables refutes it, which is not a proof"
        tried = tried if found.tried else f": no table that was tried could be evaluated ({found.problem})"
    if spectrum is not None:
        said = f"{kernel!r} is not a Mercer kernel.\n{which}: {witness}."
        return MercerCheck(False, said, *spectrum.sizes, witness, None, proof)
    known = "is not a Mercer kernel, by its certificate" if proof.valid is False else "is unknown"
    said = f"{kernel!r} {known}{tried}.\nPass X to check it on your rows."
    return MercerCheck(proof.valid, said, certificate=proof)


def _widths(columns: Any) -> list[int]:
    listed = list(columns) if isinstance(columns, list | tuple | range) else [columns]
    invalid = not listed or not all(isinstance(width, int | np.integer) and width > 0 for width in listed)
    refuse_if(invalid, "columns of check_mercer", "a positive integer or a list of them", repr(columns))
    return [int(width) for width in listed]


def _generator(random_state: Seed) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    with suppress(TypeError, ValueError):
        return np.random.default_rng(random_state)
    must_be = "a non-negative integer, a generator or None"
    raise InputError(sentence("random_state of check_mercer", must_be, repr(random_state)))


# A function of the user's may lose half of its digits; what it shows beyond that is no rounding.
PRECISION = 1e-9
# Rows of larger numbers may lose all of them: there, a violation must survive a change of every number.
_LARGE = 100.0
_CHANGE = 1e-4
_SCALES = (1.0, 0.3, 3.0, 0.1, 10.0, 1e-3, 1e3, 1e-8, 1e8)
_DRAWS, _STEPS = 60, 80


def search(kernel: Kernel, columns: Sequence[int], rng: np.random.Generator, climbs: int = 6) -> CounterexampleSearch:
    """Try simple tables, then draw some, then climb down from the most promising ones, so many for each width."""
    found = CounterexampleSearch(kernel, rng)
    for tables in (_simple, partial(_random_tables, rng)):
        for width in columns:
            if any(map(found.look, tables(width))):
                return found
    for width in columns:
        starts = sorted((seen for seen in found.seen if seen[1].shape[1] == width), key=lambda seen: seen[0])
        if any(found.climb(*start) for start in starts[:climbs]):
            return found
    return found


class CounterexampleSearch:
    """A search for rows that refute a kernel, and what came of it.

    Attributes
    ----------
    witness : Witness or None
        The counterexample.
    spectrum : GramSpectrum or None
        The eigenvalues of the matrix of the witness.
    tried : int
        Tables that could be evaluated.
    problem : str
        What the first table that could not be evaluated was refused with; empty where all could.
    seen : list of tuple
        Small tables with their smallest eigenvalue, as a share of the largest.
    """

    def __init__(self, kernel: Kernel, rng: np.random.Generator) -> None:
        self.kernel, self.rng, self.tried, self.problem = kernel, rng, 0, ""
        self.seen: list[tuple[float, Array]] = []
        self.witness: Witness | None = None
        self.spectrum: GramSpectrum | None = None

    def look(self, X: Array) -> bool:
        """Whether this table is a counterexample; remembered where it may lead to one."""
        share = self.share(X)
        if share is not None and 2 <= len(X) <= 8 and np.abs(X).max(initial=0.0) <= _LARGE:
            self.seen.append((share, X))
        return self.witness is not None

    def climb(self, best: float, X: Array) -> bool:
        """Change rows at random, and keep what makes the smallest eigenvalue smaller."""
        step = 0.5 * float(np.abs(X).max(initial=0.0)) or 1.0
        for _ in range(_STEPS):
            mask = self.rng.random((len(X), 1)) < 0.5
            moved = X + step * mask * self.rng.normal(size=X.shape)
            share = self.share(moved)
            if self.witness is not None:
                return True
            if share is not None and share < best:
                best, X, step = share, moved, 1.5 * step
            else:
                step *= 0.85
        return False

    def share(self, X: Array) -> float | None:
        """The smallest eigenvalue over the largest |eigenvalue|; None where the kernel refuses."""
        spectrum = self.evaluate(X)
        if spectrum is None:
            return None
        self.tried += 1
        if spectrum.negative:
            self.confirm(spectrum, X)
        largest = float(np.abs(spectrum.scaled_values).max())
        return float(spectrum.scaled_values[0]) / largest if largest else 0.0

    def confirm(self, spectrum: GramSpectrum, X: Array) -> None:
        """Keep a counterexample if it stands by itself, and if large numbers are not to blame."""
        witness = spectrum.witness(Rows(X))
        if witness is None:
            return
        few = np.array(witness.rows)
        large = np.abs(few).max(initial=0.0) > _LARGE
        changed = (few * (1.0 + _CHANGE * self.rng.normal(size=few.shape)) for _ in range(4 * large))
        alone = self.evaluate(few)
        if alone is None or not alone.negative:
            return
        stands = all(again is not None and again.negative for again in map(self.evaluate, changed))
        shown = alone.witness(Rows(few)) if stands else None
        if shown is not None:
            self.witness, self.spectrum = replace(shown, places=None), alone

    def evaluate(self, X: Array) -> GramSpectrum | None:
        """The spectrum of the kernel matrix of a table; None where the kernel refuses or is not finite."""
        try:
            with np.errstate(all="ignore"):
                K = np.asarray(self.kernel(X))
        except Exception as problem:  # noqa: BLE001 - a function of the user's may raise anything
            self.problem = self.problem or f"{type(problem).__name__}: {problem}"
            return None
        return GramSpectrum(K, PRECISION) if np.isfinite(K).all() else None


def _simple(width: int) -> Iterator[Array]:
    """Single rows, pairs and lines of whole numbers, grids, duplicates, at several scales."""
    first = np.eye(1, width)
    for scale in _SCALES:
        for multiples in ([0], [1], [-1], [0, 1], [1, 2], [-1, 1], [1, 1], [-2, 1], [0, 1, 2], [-1, 0, 1], [1, 1, 2]):
            for direction in (first, np.ones((1, width))) if width > 1 else (first,):
                yield scale * np.array(multiples, dtype=np.float64)[:, None] * direction
        for count in (4, 6, 8):
            yield scale * np.arange(count, dtype=np.float64)[:, None] * first
    for scale in _SCALES[:5]:
        yield scale * np.vstack([np.zeros((1, width)), np.eye(width)])
        yield scale * np.vstack([-np.eye(width), np.eye(width)])
        yield scale * np.array(list(islice(product((-1.0, 0.0, 1.0), repeat=width), 27)))
        flat = min(width, 2)
        yield scale * np.array(list(product(np.arange(10.0), repeat=flat))) @ np.eye(flat, width)


def _random_tables(rng: np.random.Generator, width: int) -> Iterator[Array]:
    """Random rows: of one scale or of several, negative or not, whole numbers, and rows close to each other."""
    for turn in range(_DRAWS):
        count = int(rng.integers(2, 9))
        scale = _SCALES[turn % len(_SCALES)]
        X = rng.normal(size=(count, width))
        yield scale * X
        yield scale * np.abs(X)
        yield rng.integers(-5, 6, size=(count, width)).astype(np.float64)
        yield X * 10.0 ** rng.uniform(-3, 2, size=(count, 1))
        yield X[rng.integers(0, count, size=count)] + 0.01 * scale * rng.normal(size=(count, width))
