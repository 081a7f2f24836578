"""Ladders of widths and alphas, made from X alone and before any split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, nearest, sentence
from mercer.kernels import (
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    parse,
)
from mercer.kernels.tiles import between, column_numbers, gram
from mercer.solvers.cholesky import largest_eigenvalue, rich_start

_SAMPLE = 500
_WIDTHS = 10
_ALPHAS = 13
_BY_WIDTH: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "matern": Matern,
    "rational_quadratic": RationalQuadratic,
}
_FAMILIES = (*_BY_WIDTH, "linear", "polynomial", "cosine", "precomputed")


def resolve_kernels(kernels: Any, rows: Rows) -> list[Kernel]:
    """The list of candidates that a `kernels` argument stands for.

    Examples
    --------
    >>> from mercer.data import as_rows
    >>> from mercer.selection.ladders import resolve_kernels
    >>> len(resolve_kernels("gaussian", as_rows([[0.0], [1.0], [3.0]])))
    10
    """
    if isinstance(kernels, Kernel):
        return [kernels]
    if isinstance(kernels, str):
        return _family(kernels, rows)
    try:
        listed = list(kernels)
    except TypeError:
        listed = []
    if not listed:
        raise InputError(sentence("kernels", "a kernel, a list of kernels or a family's name", repr(kernels)))
    return [kernel for item in listed for kernel in _member(item, rows)]


def _member(item: Any, rows: Rows) -> list[Kernel]:
    if isinstance(item, Kernel | str):
        return resolve_kernels(item, rows)
    raise InputError(sentence("Each of kernels", "a kernel or a family's name", repr(item)))


def _family(name: str, rows: Rows) -> list[Kernel]:
    plain = name.strip().lower()
    if plain in _BY_WIDTH:
        make: Any = _BY_WIDTH[plain]
        return [make(float(width)) for width in width_ladder(rows, manhattan=make is Laplacian)]
    match plain:
        case "linear":
            return [Linear()]
        case "cosine":
            return [Cosine()]
        case "polynomial" | "poly":
            return [Polynomial(degree) for degree in (1, 2, 3, 4, 5)]
        case "precomputed":
            return [Precomputed()]
    if "(" in name:
        return [parse(name)]
    raise InputError(f"There is no kernel family {name!r}. {nearest(plain, _FAMILIES)}")


def width_ladder(rows: Rows, *, manhattan: bool = False, count: int = _WIDTHS) -> Array:
    """Widths from half the short distances between rows to eight times the long ones.

    At most 500 rows, evenly spread over the table, are looked at.
    """
    sample = _sample(rows)
    values = sample.dense()
    if sample.objects or values.dtype == object:
        raise InputError("A ladder of widths needs rows of numbers. Give the kernels themselves.")
    from scipy.spatial.distance import pdist

    distances = pdist(values, "cityblock" if manhattan else "euclidean")
    positive = distances[distances > 0]
    if not positive.size:
        return np.ones(1)
    short, long = np.quantile(positive, [0.1, 0.9])
    return rounded(np.geomspace(0.5 * short, 8.0 * long, count))


def rounded(ladder: Array) -> Array:
    """To three digits: a ladder need not be exact, and people read it."""
    return np.array([float(f"{rung:.3g}") for rung in ladder])


def resolve_alphas(alphas: Any, kernels: Sequence[Kernel], rows: Rows, n: int | None = None) -> Array:
    """The ladder of alphas: as given, or from the spectra of the kernels on a sample of rows.

    `n`: how many rows there are, where `rows` are but a sample of them.
    """
    if alphas is None:
        return _alpha_ladder(kernels, rows, len(rows) if n is None else n)
    try:
        given = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.array([np.nan])
    if given.ndim != 1 or not given.size or not (np.isfinite(given) & (given >= 0)).all():
        raise InputError(sentence("alphas", "finite, non-negative numbers", repr(alphas)))
    return given


def _alpha_ladder(kernels: Sequence[Kernel], rows: Rows, n: int) -> Array:
    """From a penalty that leaves about one degree of freedom down to one that hardly penalises."""
    sample = _sample(rows)
    largest, typical = [], []
    for kernel in kernels:
        if kernel.kind == "gram":
            part = np.linspace(0, len(rows) - 1, len(sample)).astype(int)
            K = between(kernel, rows, column_numbers(rows))[np.ix_(part, part)]
        else:
            K = gram(kernel, sample)
        largest.append(largest_eigenvalue(K.__matmul__, rich_start(len(K)), steps=30) * n / len(sample))
        typical.append(float(np.mean(np.diagonal(K))))
    top = max(*largest, 1e-12)
    bottom = max(1e-7 * float(np.median(typical)), 1e-13 * top)
    return rounded(np.geomspace(bottom, max(top, 100 * bottom), _ALPHAS))


def _sample(rows: Rows) -> Rows:
    if len(rows) <= _SAMPLE:
        return rows
    chosen = np.linspace(0, len(rows) - 1, _SAMPLE).astype(int)
    return Rows(rows.values[chosen], rows.names)
