"""How a kernel changes with the logarithms of its parameters, for every kernel and every rule of the algebra.

For weights M the slope of a parameter t is sum_ab M_ab dk(x_a, z_b) / d log t: all that the gradient of a function
of the Gram matrix needs. Tiles of M come in and a few numbers go out; no array of rows x rows x columns is formed.
For kernels of the distance, with B = M phi'(r2) and z = x / width,

    sum_ab B_ab (z_aj - z_bj)^2 = (B 1)'z_j^2 + (B'1)'z_j^2 - 2 z_j'B z_j

for all columns j from one product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import singledispatch
from typing import TypeAlias

import numpy as np

from mercer.data.checks import as_numbers
from mercer.data.rows import Array, Rows
from mercer.kernels.algebra import Exp, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.histograms import AdditiveChi2, Chi2
from mercer.kernels.indefinite import Sigmoid
from mercer.kernels.pair import Pair
from mercer.kernels.products import Constant, Polynomial
from mercer.kernels.stationary import Gaussian, Laplacian, Matern, Periodic, RationalQuadratic
from mercer.kernels.tiles import blocks, per_thread
from mercer.kernels.views import Mapped, Normalized, On
from mercer.runtime import run

# The slope by the logarithm of each parameter, by its name as get_params has it.
Slopes: TypeAlias = dict[str, Array]

_STEP = 1e-5  # of central differences, for kernels that give no slopes
_DIAGONAL = 32
_FAR = 1e3  # widths from the centre beyond which the one product loses digits, and differences are squared instead
_LONGEST = 1e150  # distances longer than this are cut to it: their square exists, and kernels there are 0
_NAMES = ("width", "shape", "period", "scale", "offset", "value", "gamma", "factor")


def tunable(kernel: Kernel) -> dict[str, Array]:
    """The positive, continuous parameters of a kernel and of its members, by name.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Polynomial
    >>> from mercer.kernels.slopes import tunable
    >>> tunable(Gaussian([1.0, 2.0]) + 0.5 * Polynomial(3, offset=0.0))
    {'k1__width': array([1., 2.]), 'k2__base__scale': array(1.), 'k2__factor': array(0.5)}
    """
    found: dict[str, Array] = {}
    for name, value in kernel.items():
        if isinstance(value, Kernel):
            found |= {f"{name}__{inner}": number for inner, number in tunable(value).items()}
        elif _continuous(kernel, name, value):
            found[name] = np.asarray(value, dtype=np.float64)
    return found


def _continuous(kernel: Kernel, name: str, value: object) -> bool:
    """Ours by name; of other people's kernels every parameter that is a positive float."""
    ours = type(kernel).__module__.startswith("mercer.")
    if not (name in _NAMES if ours else isinstance(value, float)):
        return False
    numbers = as_numbers(value)
    return numbers is not None and bool(numbers.size) and bool((numbers > 0).all())


def gradient(kernel: Kernel, rows: Rows, weights: Array) -> Slopes:
    """sum_ab M_ab dk(x_a, x_b) / d log t of every tunable parameter t, for symmetric M, by tiles on all threads.

    Parameters
    ----------
    kernel : Kernel
        What is differentiated.
    rows : Rows
        x.
    weights : ndarray of shape (n, n)
        M, of which the upper triangle counts.
    """
    cuts = blocks(len(rows))
    jobs = [(left, right) for i, left in enumerate(cuts) for right in cuts[i:]]
    found: list[Slopes] = [{} for _ in jobs]
    scratch = per_thread()

    def add(number: int) -> None:
        left, right = jobs[number]
        same = left == right
        pair = Pair(rows[left], rows[right], same=same, shared=kernel.leaves() > 1, scratch=scratch())
        M = weights[left, right]
        M = np.triu(M) + np.triu(M, 1).T if same else 2.0 * M
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found[number] = slopes(kernel, pair, M)
        pair.close()

    run(add, range(len(jobs)))
    return {name: sum((part[name] for part in found[1:]), found[0][name]) for name in tunable(kernel)}


@singledispatch
def slopes(kernel: Kernel, pair: Pair, weights: Array) -> Slopes:
    """sum_ab M_ab dk / d log t over one tile; by central differences where a kernel gives no slopes of its own."""
    found: Slopes = {}
    for name, value in tunable(kernel).items():
        each = np.zeros(value.shape)
        for place in np.ndindex(value.shape):
            moved = []
            for step in (_STEP, -_STEP):
                shifted = value.copy()
                shifted[place] *= math.exp(step)
                number = float(shifted) if value.ndim == 0 else shifted
                moved.append(kernel.set_params(**{name: number}).values(pair))
            each[place] = float(np.vdot(weights, moved[0] - moved[1])) / (2 * _STEP)
        found[name] = each
    return found


def _total(weights: Array, values: Array) -> Array:
    return np.asarray(np.vdot(weights, values))


# -- kernels of the distance -------------------------------------------------------------------------------------


def _by_distance(pair: Pair, B: Array, width: object, inverse: float | Array, squared: Array) -> Array:
    """sum_ab B_ab (z_aj - z_bj)^2 of every column, or of all of them where they share one width."""
    if np.ndim(width) == 0:  # type: ignore[arg-type]
        return _total(B, np.minimum(squared, _LONGEST**2))
    x, z = pair.scaled(inverse)
    if max(np.abs(x).max(initial=0.0), np.abs(z).max(initial=0.0)) > _FAR:  # squares would cancel
        return np.array([_total(B, step**2) for step in _steps(pair, inverse)])
    mixed = np.einsum("aj,aj->j", x, B @ z)
    return np.asarray(B.sum(axis=1) @ x**2 + B.sum(axis=0) @ z**2 - 2.0 * mixed)


def _steps(pair: Pair, inverse: float | Array) -> Iterator[Array]:
    """(x_j - z_j) inverse_j of every column; infinite ones, where every kernel is 0, are made finite."""
    x, z = pair.dense()
    for x_j, z_j, by in zip(x.T, z.T, np.broadcast_to(np.asarray(inverse), (x.shape[1],)), strict=True):
        yield np.clip((x_j[:, None] - z_j) * by, -_LONGEST, _LONGEST)


@slopes.register
def _(kernel: Gaussian, pair: Pair, weights: Array) -> Slopes:
    inverse = kernel.inverse(pair.x.width)
    squared = pair.squared_distance(inverse)
    return {"width": _by_distance(pair, weights * np.exp(-0.5 * squared), kernel.width, inverse, squared)}


@slopes.register
def _(kernel: RationalQuadratic, pair: Pair, weights: Array) -> Slopes:
    inverse, shape = kernel.inverse(pair.x.width), float(kernel.shape)
    squared = pair.squared_distance(inverse)
    u = squared / (2 * shape)
    value = np.exp(-shape * np.log1p(u))
    by_shape = shape * value * (u / (1 + u) - np.log1p(u))
    B = weights * value / (1 + u)
    return {"width": _by_distance(pair, B, kernel.width, inverse, squared), "shape": _total(weights, by_shape)}


@slopes.register
def _(kernel: Matern, pair: Pair, weights: Array) -> Slopes:
    inverse = kernel.inverse(pair.x.width)
    r = np.minimum(pair.distance(inverse), 1e100)
    decay = np.exp(-math.sqrt(2 * kernel.nu) * r)
    if kernel.nu == 0.5:  # at distance 0 nothing moves
        B = np.divide(decay, r, out=np.zeros_like(r), where=r > 0)
    elif kernel.nu == 1.5:
        B = 3.0 * decay
    else:
        B = 5.0 / 3.0 * (1.0 + math.sqrt(5.0) * r) * decay
    return {"width": _by_distance(pair, weights * B, kernel.width, inverse, r * r)}


@slopes.register
def _(kernel: Laplacian, pair: Pair, weights: Array) -> Slopes:
    inverse = kernel.inverse(pair.x.width)
    distance = np.minimum(pair.manhattan(inverse), _LONGEST)
    B = weights * np.exp(-distance)
    if np.ndim(kernel.width) == 0:
        return {"width": _total(B, distance)}
    return {"width": np.array([_total(B, np.abs(step)) for step in _steps(pair, inverse)])}


@slopes.register
def _(kernel: Periodic, pair: Pair, weights: Array) -> Slopes:
    """With a_j = pi delta_j / period: r2 = sum_j 4 sin^2(a_j) / width_j^2."""
    x, z = pair.dense()
    by = np.broadcast_to(np.asarray(kernel.inverse(pair.x.width)), (pair.x.width,))
    B = weights * kernel.values(pair)
    width, period = np.empty(pair.x.width), 0.0
    for j, inverse in enumerate(by):
        angle = (x[:, j, None] - z[:, j]) * (math.pi / float(kernel.period))
        width[j] = _total(B, (2 * inverse * np.sin(angle)) ** 2)
        period += float(_total(B, 2 * inverse**2 * angle * np.sin(2 * angle)))
    return {"width": width if np.ndim(kernel.width) else np.asarray(width.sum()), "period": np.asarray(period)}


# -- kernels of the scalar product and others ------------------------------------------------------------------------


@slopes.register
def _(kernel: Polynomial, pair: Pair, weights: Array) -> Slopes:
    product = float(kernel.scale) * pair.dot()
    B = weights * kernel.degree * (product + float(kernel.offset)) ** (kernel.degree - 1)
    found = {"scale": _total(B, product), "offset": np.asarray(float(kernel.offset) * B.sum())}
    return {name: found[name] for name in tunable(kernel)}


@slopes.register
def _(kernel: Sigmoid, pair: Pair, weights: Array) -> Slopes:
    product = float(kernel.scale) * pair.dot()
    B = weights * (1.0 - np.tanh(product + float(kernel.offset)) ** 2)
    found = {"scale": _total(B, product), "offset": np.asarray(float(kernel.offset) * B.sum())}
    return {name: found[name] for name in tunable(kernel)}


@slopes.register
def _(kernel: Constant, pair: Pair, weights: Array) -> Slopes:  # noqa: ARG001 - the same everywhere
    return {"value": np.asarray(float(kernel.value) * weights.sum())} if kernel.value > 0 else {}


@slopes.register
def _(kernel: Chi2, pair: Pair, weights: Array) -> Slopes:
    exponent = float(kernel.gamma) * AdditiveChi2().values(pair)
    return {"gamma": _total(weights, exponent * np.exp(exponent))}


# -- rules of the algebra --------------------------------------------------------------------------------------------


def _within(name: str, found: Slopes) -> Slopes:
    return {f"{name}__{inner}": value for inner, value in found.items()}


@slopes.register
def _(kernel: Sum, pair: Pair, weights: Array) -> Slopes:
    return _within("k1", slopes(kernel.k1, pair, weights)) | _within("k2", slopes(kernel.k2, pair, weights))


@slopes.register
def _(kernel: Product, pair: Pair, weights: Array) -> Slopes:
    first, second = kernel.k1.values(pair), kernel.k2.values(pair)
    return _within("k1", slopes(kernel.k1, pair, weights * second)) | _within(
        "k2", slopes(kernel.k2, pair, weights * first)
    )


@slopes.register
def _(kernel: Scaled, pair: Pair, weights: Array) -> Slopes:
    factor = float(kernel.factor)
    found = _within("base", slopes(kernel.base, pair, factor * weights))
    return {"factor": factor * _total(weights, kernel.base.values(pair)), **found} if factor > 0 else found


@slopes.register
def _(kernel: Power, pair: Pair, weights: Array) -> Slopes:
    exponent = int(kernel.exponent)
    inner = weights * exponent * kernel.base.values(pair) ** (exponent - 1)
    return _within("base", slopes(kernel.base, pair, inner))


@slopes.register
def _(kernel: Exp, pair: Pair, weights: Array) -> Slopes:
    return _within("base", slopes(kernel.base, pair, weights * kernel.values(pair)))


@slopes.register
def _(kernel: On, pair: Pair, weights: Array) -> Slopes:
    return _within("base", slopes(kernel.base, kernel.pair_seen(pair), weights))


@slopes.register
def _(kernel: Mapped, pair: Pair, weights: Array) -> Slopes:
    return _within("base", slopes(kernel.base, kernel.pair_seen(pair), weights))


@slopes.register
def _(kernel: Normalized, pair: Pair, weights: Array) -> Slopes:
    """k / (|x| |z|): through the tile, and through the lengths of both sides."""
    own = weights * kernel.values(pair)
    found = {}
    left, right = (kernel.base.diagonal(rows) for rows in (pair.x, pair.z))
    inverse = [np.divide(1.0, d, out=np.zeros_like(d), where=d > 0) for d in (left, right)]
    tile_weights = weights * np.sqrt(inverse[0])[:, None] * np.sqrt(inverse[1])
    through = slopes(kernel.base, pair, tile_weights)
    lengths = [
        _diagonal_slopes(kernel.base, rows, -0.5 * own.sum(axis=axis) * by)
        for rows, axis, by in ((pair.x, 1, inverse[0]), (pair.z, 0, inverse[1]))
    ]
    for name, value in through.items():
        found[f"base__{name}"] = value + lengths[0].get(name, 0.0) + lengths[1].get(name, 0.0)
    return found


def _diagonal_slopes(kernel: Kernel, rows: Rows, weights: Array) -> Slopes:
    """sum_a m_a dk(x_a, x_a) / d log t."""
    total: Slopes = {}
    for part in blocks(len(rows), _DIAGONAL):
        some = rows[part]
        pair = Pair(some, some, same=True, shared=kernel.leaves() > 1)
        for name, value in slopes(kernel, pair, np.diag(weights[part])).items():
            total[name] = total.get(name, 0.0) + value
    return total
