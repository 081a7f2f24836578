"""Every kernel as its formula for one pair of rows, in plain Python: what the fast code is held against.

A row is a sequence of numbers. Sums are `math.fsum`, so that these are right to the last digit or two
whatever the rows are.
"""

import math

import numpy as np


def each(width, columns):
    """One width per column."""
    return [float(w) for w in width] if np.ndim(width) else [float(width)] * columns


def squared_distance(x, z, width=1.0):
    return math.fsum(((a - b) / w) ** 2 for a, b, w in zip(x, z, each(width, len(x)), strict=True))


def dot(x, z):
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


def linear(x, z):
    return dot(x, z)


def polynomial(x, z, degree=2, offset=1.0, scale=1.0):
    return (scale * dot(x, z) + offset) ** degree


def gaussian(x, z, width=1.0, per_dimension=False):
    return math.exp(-squared_distance(x, z, width) / (2 * len(x) if per_dimension else 2))


def gaussian_gamma(x, z, gamma=1.0):
    return math.exp(-math.fsum(g * (a - b) ** 2 for a, b, g in zip(x, z, each(gamma, len(x)), strict=True)))


def laplacian(x, z, width=1.0):
    return math.exp(-math.fsum(abs(a - b) / w for a, b, w in zip(x, z, each(width, len(x)), strict=True)))


def matern(x, z, width=1.0, nu=1.5):
    r = math.sqrt(squared_distance(x, z, width))
    if nu == 0.5:
        return math.exp(-r)
    if nu == 1.5:
        return (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r)
    return (1 + math.sqrt(5) * r + 5 * r * r / 3) * math.exp(-math.sqrt(5) * r)


def rational_quadratic(x, z, width=1.0, shape=1.0):
    return (1 + squared_distance(x, z, width) / (2 * shape)) ** -shape


def periodic(x, z, width=1.0, period=1.0):
    return math.exp(
        -2
        * math.fsum(
            (math.sin(math.pi * math.fmod(a - b, period) / period) / w) ** 2
            for a, b, w in zip(x, z, each(width, len(x)), strict=True)
        )
    )


def cosine(x, z):
    lengths = math.sqrt(dot(x, x)) * math.sqrt(dot(z, z))
    return dot(x, z) / lengths if lengths else 0.0


def constant(x, z, value=1.0):
    return float(value)


def additive_chi2(x, z):
    return -math.fsum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b)


def chi2(x, z, gamma=1.0):
    return math.exp(gamma * additive_chi2(x, z))


def sigmoid(x, z, scale=1.0, offset=0.0):
    return math.tanh(scale * dot(x, z) + offset)


LEAVES = {
    "Linear": linear,
    "Polynomial": polynomial,
    "Gaussian": gaussian,
    "Laplacian": laplacian,
    "Matern": matern,
    "RationalQuadratic": rational_quadratic,
    "Periodic": periodic,
    "Cosine": cosine,
    "Constant": constant,
    "AdditiveChi2": additive_chi2,
    "Chi2": chi2,
    "Sigmoid": sigmoid,
    "SquaredDistance": squared_distance,
}


def pair_value(kernel, x, z):
    """k(x, z) of a kernel, however it is composed, by its definition."""
    match type(kernel).__name__:
        case "Sum":
            return pair_value(kernel.k1, x, z) + pair_value(kernel.k2, x, z)
        case "Product":
            return pair_value(kernel.k1, x, z) * pair_value(kernel.k2, x, z)
        case "Scaled":
            return kernel.factor * pair_value(kernel.base, x, z)
        case "Power":
            return pair_value(kernel.base, x, z) ** kernel.exponent
        case "Exp":
            return math.exp(pair_value(kernel.base, x, z))
        case "On":
            columns = kernel.columns if isinstance(kernel.columns, list) else [kernel.columns]
            return pair_value(kernel.base, [x[c] for c in columns], [z[c] for c in columns])
        case "Normalized":
            squared = pair_value(kernel.base, x, x) * pair_value(kernel.base, z, z)
            return pair_value(kernel.base, x, z) / math.sqrt(squared) if squared else 0.0
        case name:
            return LEAVES[name](x, z, **kernel.get_params())


def table(formula, X, Z=None, **parameters):
    """A formula for all rows of X against all rows of Z, pair by pair."""
    left = np.asarray(X, dtype=float).tolist()
    right = left if Z is None else np.asarray(Z, dtype=float).tolist()
    values = [[formula(x, z, **parameters) for z in right] for x in left]
    return np.array(values, dtype=float).reshape(len(left), len(right))


def expected(kernel, X, Z=None):
    """k(X, Z) of a kernel by its definition, pair by pair."""
    return table(lambda x, z: pair_value(kernel, x, z), X, Z)


def worst(left, right):
    """The largest difference of two arrays of the same shape, in units of the larger of 1 and the right one."""
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape
    return float(np.abs(left - right).max(initial=0.0)) / max(1.0, float(np.abs(right).max(initial=0.0)))
