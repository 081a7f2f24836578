"""Ladders of widths and alphas, made from X alone and before any split; and the edges of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.data.folds import Folds
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
from mercer.selection.table import SearchTable, Winner
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
        raise InputError(sentence("kernels", "a kernel, a list of kernels or a kernel name", repr(kernels)))
    return [kernel for item in listed for kernel in _member(item, rows)]


def _member(item: Any, rows: Rows) -> list[Kernel]:
    if isinstance(item, Kernel | str):
        return resolve_kernels(item, rows)
    raise InputError(sentence("Every item of kernels", "a kernel or a kernel name", repr(item)))


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
    raise InputError(f"There is no kernel {name!r}. {nearest(plain, _FAMILIES)}")


def width_ladder(rows: Rows, *, manhattan: bool = False, count: int = _WIDTHS) -> Array:
    """Widths from a quarter of the short distances between rows to eight times the long ones.

    At most 500 rows, evenly spread over the table, are used.
    """
    sample = _sample(rows)
    values = sample.dense()
    if sample.objects or values.dtype == object:
        raise InputError(
            "Kernel names such as 'gaussian' need numeric X, to choose default widths. Use kernel objects with a width "
            "instead."
        )
    from scipy.spatial.distance import pdist

    distances = pdist(values, "cityblock" if manhattan else "euclidean")
    positive = distances[distances > 0]
    if not positive.size:
        return np.ones(1)
    if not np.isfinite(positive).all():
        must_be = "below 1e150 in absolute value, so that squared distances are finite"
        raise InputError(sentence("X", must_be, f"{np.abs(values).max():.3g}", "Scale the columns of X."))
    short, long = np.quantile(positive, [0.1, 0.9])
    return rounded(np.geomspace(0.25 * short, 8.0 * long, count))


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
    """From a penalty that leaves about one degree of freedom down to one that hardly penalizes."""
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


_LEAST = 1.2
_MATTERS = 0.1  # standard errors: a gain that is worth a wider grid


def further_alphas(table: SearchTable, choice: Winner) -> Array:
    """Three rungs beyond the edge of the ladder that the best candidate is on; none where it does not, nor where
    the next rung inward scores the same.
    """
    alphas = np.unique(table.alphas)
    if len(alphas) < 3:
        return np.empty(0)
    chosen = [float(table.alphas[a]) for t, a in enumerate(choice.alphas) if not _flat(table, choice.kernel, a, t)]
    if any(alpha == alphas[-1] for alpha in chosen) and alphas[-1] < 1e12:
        return _beyond(alphas[-1], alphas[-1] / max(alphas[-2], alphas[-1] / 10))
    if any(alpha == alphas[0] for alpha in chosen) and alphas[0] > 1e-12:
        return _beyond(alphas[0], max(alphas[0] / alphas[1], 0.1))
    return np.empty(0)


def _beyond(edge: float, ratio: float) -> Array:
    """Three further rungs: as far apart as the last two, but at least a fifth, so that they are new when rounded."""
    ratio = max(ratio, _LEAST) if ratio > 1 else min(ratio, 1.0 / _LEAST)
    return rounded(edge * ratio ** np.arange(1, 4))


def further_kernels(table: SearchTable, choice: Winner) -> list[Kernel]:
    """Three widths beyond the edge that the best candidate is on, where the kernels are a ladder of widths."""
    winner = table.kernels[choice.kernel]
    family = [kernel for kernel in table.kernels if _same_but_width(kernel, winner)]
    if len(family) < 3:
        return []
    widths = np.unique([float(kernel.get_params()["width"]) for kernel in family])
    own = float(winner.get_params()["width"])
    if own == widths[-1] and own < 1e12:
        return [winner.set_params(width=float(w)) for w in _beyond(own, widths[-1] / widths[-2])]
    if own == widths[0] and own > 1e-12:
        return [winner.set_params(width=float(w)) for w in _beyond(own, widths[0] / widths[1])]
    return []


def _flat(table: SearchTable, kernel: int, a: int, t: int) -> bool:
    """Whether the rung next to an outermost one scores the same, so that nothing draws the best candidate outward."""
    order = np.argsort(table.alphas, kind="stable")
    place = int(np.flatnonzero(order == a)[0])
    inward = order[1] if place == 0 else order[max(place - 1, 0)]
    return bool(table.mean[kernel, inward, t] == table.mean[kernel, a, t])


def edges_in_words(
    table: SearchTable, choice: Winner, folds: Folds | None = None, default: tuple[bool, bool] = (False, False)
) -> list[str]:
    """The edges of the grid that the best candidate is on, in words.

    `default`: whether the kernels, and the alphas, are default ladders. Their ends are where models hardly change any
    more: an end is told only where it beats the rung before by a tenth of a standard error, which `folds` give.
    """
    edges = []
    mean = table.mean.mean(axis=2)
    error = np.zeros_like(mean) if folds is None else np.nan_to_num(table.standard_error(folds).mean(axis=2))

    def matters(place: tuple[int, int], inward: tuple[int, int]) -> bool:
        return bool(mean[place] - mean[inward] > _MATTERS * error[place])

    rungs, place = further_alphas(table, choice), (choice.kernel, choice.alphas[0])
    order = np.argsort(table.alphas, kind="stable")
    before = int(order[1] if place[1] == order[0] else order[-2]) if len(order) > 1 else place[1]
    if len(rungs) and (not default[1] or matters(place, (place[0], before))):
        low = rungs[0] < table.alphas.min()
        edge = table.alphas.min() if low else table.alphas.max()
        edges.append(f"its alpha, {edge:.3g}, is the {'smallest' if low else 'largest'}")
    wider = further_kernels(table, choice)
    if wider and (not default[0] or matters(place, (_next_width(table, choice.kernel), place[1]))):
        own, new = (float(k.get_params()["width"]) for k in (table.kernels[choice.kernel], wider[0]))
        edges.append(f"its width, {own:.3g}, is the {'largest' if new > own else 'smallest'}")
    return edges


def _next_width(table: SearchTable, kernel: int) -> int:
    """The kernel of the same family whose width is nearest."""
    winner = table.kernels[kernel]
    others = [k for k, each in enumerate(table.kernels) if k != kernel and _same_but_width(each, winner)]
    mine = np.log(float(winner.get_params()["width"]))
    return min(others, key=lambda k: abs(np.log(float(table.kernels[k].get_params()["width"])) - mine))


def _same_but_width(kernel: Kernel, other: Kernel) -> bool:
    mine, theirs = (k.get_params(deep=False) for k in (kernel, other))
    if "width" not in mine or type(kernel) is not type(other) or np.ndim(mine["width"]) or np.ndim(theirs["width"]):
        return False
    return kernel.set_params(width=1.0) == other.set_params(width=1.0)
