"""Ladders of widths and alphas, made from X alone and before any split; and the edges of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from mercer.data.folds import Folds
from mercer.data.rows import AlphaLike, Array, Rows
from mercer.errors import InputError, MercerWarning, nearest, refuse_if, sentence, warn
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
from mercer.kernels.stationary import Stationary
from mercer.kernels.tiles import between, column_numbers, gram
from mercer.kernels.views import Mapped, On
from mercer.selection.table import SearchTable, Winner
from mercer.solvers.cholesky import largest_eigenvalue, rich_start

_SAMPLE = 500
_TAIL = 0.025  # share of the values on each side that the spread of a column is not taken from
_ROUNDING = 1e-12  # relative range below which a column is constant
_LEAST_SPREAD, _MOST_SPREAD = 1e-140, 1e140  # so that widths and squared distances are numbers
_UNLIKE = 100.0  # ratio of the spreads of columns beyond which one width cannot fit all of them
_WIDTHS, _ALPHAS = 10, 13  # rungs of default ladders
_BY_WIDTH: dict[str, type[Kernel]] = {
    "gaussian": Gaussian, "rbf": Gaussian, "laplacian": Laplacian, "matern": Matern,
    "rational_quadratic": RationalQuadratic,
}  # fmt: skip
_POWERS = [Polynomial(degree) for degree in (1, 2, 3, 4, 5)]
_WITHOUT_WIDTH: dict[str, Sequence[Kernel]] = {
    "linear": [Linear()], "polynomial": _POWERS, "poly": _POWERS, "cosine": [Cosine()], "precomputed": [Precomputed()],
}  # fmt: skip
BY_WIDTH = tuple(_BY_WIDTH)
FAMILIES = (*_BY_WIDTH, *_WITHOUT_WIDTH)


def resolve_kernels(kernels: Kernel | str | Iterable[object], rows: Rows) -> list[Kernel]:
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
    listed: list[object] = []
    with suppress(TypeError):
        listed = list(kernels)
    refuse_if(not listed, "kernels", "a kernel, a list of kernels or a kernel name", repr(kernels))
    found: list[Kernel] = []
    for item in listed:
        if not isinstance(item, Kernel | str):
            raise InputError(sentence("Every item of kernels", "a kernel or a kernel name", repr(item)))
        found += resolve_kernels(item, rows)
    return found


def _family(name: str, rows: Rows) -> list[Kernel]:
    plain = name.strip().lower()
    if plain in _BY_WIDTH:
        make: Any = _BY_WIDTH[plain]
        spreads = _check_spreads(column_spreads(rows))
        ladder = width_ladder(rows, manhattan=make is Laplacian, spreads=spreads)
        return [make(float(width) if spreads is None else round_rungs(width * spreads)) for width in ladder]
    if plain in _WITHOUT_WIDTH:
        return [*_WITHOUT_WIDTH[plain]]
    if "(" in name:
        return [parse(name)]
    raise InputError(f"There is no kernel {name!r}. {nearest(plain, FAMILIES)}")


def _check_spreads(spreads: Array | None) -> Array | None:
    """Refuse spreads of which no widths can be made."""
    for column, spread in enumerate([] if spreads is None else spreads):
        if not _LEAST_SPREAD < spread < _MOST_SPREAD:
            what, must_be = f"The spread of column {column} of X", "between 1e-140 and 1e140"
            raise InputError(sentence(what, must_be, f"{spread:.3g}", "Scale the columns of X."))
    return spreads


def spread_widths(kernel: Kernel, rows: Rows) -> Kernel:
    """The kernel with its single width in units of the spread of each column; other kernels as they are.

    Examples
    --------
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection.ladders import spread_widths
    >>> spread_widths(Gaussian(2.0), as_rows([[0.0, 0.0], [1.0, 100.0]]))
    Gaussian(width=[2.0, 200.0])
    """
    if not isinstance(kernel, Stationary):
        return kernel
    spreads = _check_spreads(column_spreads(rows))
    return kernel if spreads is None else kernel.set_params(width=round_rungs(kernel.width * spreads))


def column_spreads(rows: Rows) -> Array | None:
    """The spread of each column, so that widths can be in units of it; None for one column and for sparse tables.

    ============================ ================================================================================
    column                       spread
    ============================ ================================================================================
    two values                   their difference, however rare one of them is
    nearly all values equal      median difference of the others from that value
    otherwise                    standard deviation, values beyond the 2.5 and 97.5 % quantiles moved to them
    constant                     1
    ============================ ================================================================================

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.selection.ladders import column_spreads
    >>> X = np.column_stack([np.arange(101.0), 1000.0 * np.arange(101.0), np.ones(101)])
    >>> column_spreads(as_rows(X)).round(1).tolist()
    [29.0, 28957.8, 1.0]
    """
    if rows.objects or rows.sparse or rows.width < 2 or rows.values.dtype.kind not in "biuf" or not len(rows):
        return None
    X = np.asarray(rows.values, dtype=np.float64)
    lowest, highest = X.min(axis=0), X.max(axis=0)
    low, high = np.quantile(X, _TAIL, axis=0, method="higher"), np.quantile(X, 1.0 - _TAIL, axis=0, method="lower")
    size = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-300)  # so that squares exist
    spreads = size * (np.clip(X, low, high) / size).std(axis=0)
    spreads = np.where(((lowest == X) | (highest == X)).all(axis=0), highest - lowest, spreads)
    for column in np.flatnonzero((spreads <= 0) & (highest > lowest)):
        off = np.abs(X[:, column] - np.median(X[:, column]))
        spreads[column] = np.median(off[off > 0])
    # what is left of a constant after some arithmetic is rounding, and no spread
    varies = highest - lowest > _ROUNDING * np.maximum(np.abs(lowest), np.abs(highest))
    return np.where(varies, spreads, 1.0)


def width_ladder(rows: Rows, *, manhattan: bool = False, spreads: Array | None = None) -> Array:
    """Widths from a quarter of the short distances between rows to eight times the long ones.

    Distances are in units of `spreads`, one number for each column. At most 500 rows, evenly spread over the table, are
    used.
    """
    sample = _sample(rows)
    values = sample.dense()
    if sample.objects or values.dtype == object:
        way_out = "Use kernel objects with a width instead."
        raise InputError(f"Kernel names such as 'gaussian' need numeric X, to choose default widths. {way_out}")
    values = values if spreads is None else values / spreads
    from scipy.spatial.distance import pdist

    distances = pdist(values, "cityblock" if manhattan else "euclidean")
    positive = distances[distances > 0]
    if not positive.size:
        return np.ones(1)
    must_be = "below 1e150 in absolute value, so that squared distances are finite"
    got = f"{np.abs(values).max():.3g}"
    refuse_if(not np.isfinite(positive).all(), "X", must_be, got, "Scale the columns of X.")
    short, long = np.quantile(positive, [0.1, 0.9])
    return round_rungs(np.geomspace(0.25 * short, 8.0 * long, _WIDTHS))


def round_rungs(ladder: Array, digits: int = 3) -> Array:
    """To a few digits: a ladder need not be exact, and people read it."""
    return np.array([float(f"{rung:.{digits}g}") for rung in ladder])


def resolve_alphas(alphas: AlphaLike, kernels: Sequence[Kernel], rows: Rows, n: int | None = None) -> Array:
    """The ladder of alphas: as given, or from the spectra of the kernels on a sample of rows.

    `n`: how many rows there are, where `rows` are but a sample of them.
    """
    if alphas is not None:
        given = np.empty(0)
        with suppress(TypeError, ValueError):
            given = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        invalid = given.ndim != 1 or not given.size or not (np.isfinite(given) & (given >= 0)).all()
        way_out = "Use numbers such as 0.01, 0.1 and 1."
        refuse_if(invalid, "alphas", "finite, non-negative numbers", repr(alphas), way_out)
        return given
    sample, largest, typical = _sample(rows), [], []
    n = len(rows) if n is None else n
    for kernel in kernels:
        if kernel.kind == "gram":
            part = np.linspace(0, len(rows) - 1, len(sample)).astype(int)
            K = between(kernel, rows, column_numbers(rows))[np.ix_(part, part)]
        else:
            K = gram(kernel, sample)
        largest.append(largest_eigenvalue(K.__matmul__, rich_start(len(K)), steps=30) * n / len(sample))
        typical.append(float(np.mean(np.diagonal(K))))
    # from a penalty that leaves about one degree of freedom down to one that hardly penalizes
    top = max(*largest, 1e-12)
    bottom = max(1e-7 * float(np.median(typical)), 1e-13 * top)
    return round_rungs(np.geomspace(bottom, max(top, 100 * bottom), _ALPHAS))


def _sample(rows: Rows) -> Rows:
    if len(rows) <= _SAMPLE:
        return rows
    chosen = np.linspace(0, len(rows) - 1, _SAMPLE).astype(int)
    return Rows(rows.values[chosen], rows.names)


_LEAST = 1.2
_MATTERS = 0.1  # standard errors: a gain that is worth a wider grid
# Default ladders end at about the largest eigenvalue; alphas below this share of it leave fewer than six digits.
_SIX_DIGITS = 1e-9
Both: TypeAlias = tuple[bool, bool]  # of the kernels, and of the alphas
_NEITHER: Both = (False, False)


def _beyond(ladder: Array, chosen: Sequence[float], furthest: float, begin: float | None = None) -> Array:
    """Three rungs beyond the end of an ascending ladder that one of those chosen is on; none where none is.

    As far apart as the last two, at least a fifth, so that they are new when rounded, and at most `furthest` times.
    They begin at that end, or as far from `begin`.
    """
    if len(ladder) >= 3 and ladder[-1] in chosen and ladder[-1] < 1e12:
        edge, ratio = ladder[-1], max(ladder[-1] / max(ladder[-2], ladder[-1] / furthest), _LEAST)
    elif len(ladder) >= 3 and ladder[0] in chosen and ladder[0] > 1e-12:
        edge, ratio = ladder[0], min(max(ladder[0] / ladder[1], 1.0 / furthest), 1.0 / _LEAST)
    else:
        return np.empty(0)
    return round_rungs((edge if begin is None else begin) * ratio ** np.arange(1, 4))


def _inward(table: SearchTable, a: int) -> int:
    """Number of the alpha next to this one, towards the middle of the ladder from its ends."""
    order = np.argsort(table.alphas, kind="stable").tolist()
    return int(order[abs(order.index(a) - 1)])


def beyond_edges(
    table: SearchTable, choice: Winner, folds: Folds | None = None, default: Both = _NEITHER
) -> tuple[list[Kernel], Array]:
    """Three further kernels and alphas where the best candidate is on an edge of the grid; none where it is not.

    There are none either where the kernels are no ladder of widths, or the next alpha inward scores the same.

    `default`: whether the kernels, and the alphas, are default ladders. Their ends are where models hardly change any
    more: an end counts only where it beats the rung before by a tenth of a standard error, which `folds` give.
    """
    mean, k, alphas, winner = table.mean, choice.kernel, table.alphas, table.kernels[choice.kernel]
    error = np.zeros_like(mean) if folds is None else np.nan_to_num(table.standard_error(folds))
    chosen = [] if len(alphas) < 3 else list(enumerate(choice.alphas))
    better = [float(alphas[a]) for t, a in chosen if mean[k, _inward(table, a), t] != mean[k, a, t]]
    rungs = _beyond(np.unique(alphas), better, 10.0)
    if len(rungs) and default[1]:
        ends = [(t, a) for t, a in chosen if alphas[a] in (alphas.min(), alphas.max())]
        gains = any(mean[k, a, t] - mean[k, _inward(table, a), t] > _MATTERS * error[k, a, t] for t, a in ends)
        rungs = rungs[rungs >= _SIX_DIGITS * alphas.max()] if gains else rungs[:0]
    alike = {i: _size(kernel) for i, kernel in enumerate(table.kernels) if _same_but_size(kernel, winner)}
    factors = _beyond(np.unique(list(alike.values())), [alike[k]] if alike else [], np.inf, begin=1.0)
    if len(factors) and default[0]:
        other = min((i for i in alike if i != k), key=lambda i: abs(np.log(alike[i] / alike[k])))
        at_best = enumerate(choice.alphas)
        gains = any(mean[k, a, t] - mean[other, a, t] > _MATTERS * error[k, a, t] for t, a in at_best)
        factors = factors if gains else factors[:0]
    width = np.asarray(winner.get_params().get("width"), dtype=np.float64)
    wider = [round_rungs(np.ravel(width * factor)) for factor in factors]
    return [winner.set_params(width=float(w[0]) if width.ndim == 0 else w) for w in wider], rungs


def edges_in_words(
    table: SearchTable, choice: Winner, folds: Folds | None = None, default: Both = _NEITHER, asked: Both = (True, True)
) -> list[str]:
    """The edges of the grid that the best candidate is on, in words; arguments as for `beyond_edges`.

    `asked`: whether the kernels, and the alphas, are looked at.
    """
    edges, (wider, rungs) = [], beyond_edges(table, choice, folds, default)
    if len(rungs) and asked[1]:
        least, most = table.alphas.min(), table.alphas.max()
        edge = f"{least:.3g}, is the smallest" if rungs[0] < least else f"{most:.3g}, is the largest"
        edges.append(f"its alpha, {edge}")
    if wider and asked[0]:
        winner = table.kernels[choice.kernel]
        one, own = np.ndim(winner.get_params()["width"]) == 0, _size(winner)
        words = f"its width, {own:.3g}, is" if one else f"its widths, {own:.3g} in the mean, are"
        edges.append(f"{words} the {'largest' if _size(wider[0]) > own else 'smallest'}")
    return edges


def _size(kernel: Kernel) -> float:
    """The width, or the geometric mean of one per column."""
    width = np.asarray(kernel.get_params()["width"], dtype=np.float64)
    return float(width) if width.ndim == 0 else float(f"{np.exp(np.mean(np.log(width))):.6g}")


def _same_but_size(kernel: Kernel, other: Kernel) -> bool:
    """Whether two kernels differ by a factor of their widths alone, up to the rounding of rungs."""
    mine, theirs = (k.get_params(deep=False) for k in (kernel, other))
    if "width" not in mine or type(kernel) is not type(other) or np.shape(mine["width"]) != np.shape(theirs["width"]):
        return False
    ratios = np.divide(mine["width"], theirs["width"])
    alike = bool(np.ptp(ratios) <= 0.05 * np.max(ratios))
    return alike and kernel.set_params(width=1.0) == other.set_params(width=1.0)


def warn_of_scales(kernels: Sequence[Kernel], rows: Rows) -> None:
    """Warn if columns differ by orders of magnitude and a kernel has one width for all of them."""
    single = next(filter(_has_one_width, kernels), None)
    with np.errstate(over="ignore"):
        spreads = None if single is None else column_spreads(rows)
    if spreads is None:
        return
    varies = np.flatnonzero(np.ptp(rows.values, axis=0) > _ROUNDING * np.abs(rows.values).max(axis=0))
    if not len(varies) or spreads[varies].max() <= _UNLIKE * spreads[varies].min():
        return
    places = [int(varies[place]) for place in (spreads[varies].argmin(), spreads[varies].argmax())]
    names = [str(place) if rows.names is None else repr(rows.names[place]) for place in places]
    least, most = (f"column {name} {spreads[place]:.3g}" for name, place in zip(names, places, strict=True))
    differ = f"The columns of X differ in scale (spread of {least}, of {most})"
    way_out = "or use a kernel name such as 'gaussian', which chooses widths by column."
    way_out = f"Standardize the columns, give one width per column, {way_out}"
    warn(f"{differ}, and {single!r} has one width for all of them. {way_out}", MercerWarning)


def _has_one_width(kernel: Kernel) -> bool:
    """Whether a kernel of all columns, or a member of it, is stationary with a single width."""
    if isinstance(kernel, Stationary):
        return np.ndim(kernel.width) == 0
    return not isinstance(kernel, On | Mapped) and any(map(_has_one_width, kernel.members().values()))
