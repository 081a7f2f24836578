"""Random kernels and tables for hypothesis.

Strategies are made once and kept: hypothesis checks each before its first draw, which takes longer than to draw.
"""

from functools import cache

import numpy as np
from hypothesis import strategies as st

from mercer import kernels as k

positive = st.floats(0.25, 4.0)
either = st.booleans()
forms = st.sampled_from([list, np.array])
stationary = st.one_of(
    st.tuples(st.just(k.Gaussian), either),
    st.tuples(st.just(k.Laplacian)),
    st.tuples(st.just(k.Matern), st.sampled_from([0.5, 1.5, 2.5])),
    st.tuples(st.just(k.RationalQuadratic), positive),
    st.tuples(st.just(k.Periodic), positive),
)


@cache
def lists_of(values, least, most, *, unique=False):
    return st.lists(values, min_size=least, max_size=most, unique=unique)


@cache
@st.composite
def widths(draw, columns):
    """One width, or one per column as a list or an array."""
    if draw(either):
        return draw(positive)
    listed = draw(lists_of(positive, columns, columns))
    return draw(forms)(listed)


@cache
@st.composite
def stationary_kernels(draw, columns):
    width = draw(widths(columns))
    family, *others = draw(stationary)
    return family(width, *others)


@cache
def mercer_leaves(columns):
    """Mercer kernels of the table, for rows of non-negative numbers."""
    return st.one_of(
        stationary_kernels(columns),
        st.just(k.Linear()),
        st.builds(k.Polynomial, st.integers(1, 3), st.sampled_from([0, 0.0, 1.0, 0.5]), st.floats(0.1, 1.0)),
        st.just(k.Cosine()),
        st.builds(k.Constant, st.sampled_from([0, 0.0, 1, 2.5])),
        st.builds(k.Chi2, positive),
    )


@cache
def leaves(columns):
    """The same, and similarities that are no Mercer kernels."""
    others = st.one_of(
        st.builds(k.Sigmoid, st.floats(0.1, 2.0), st.floats(0.0, 2.0)),
        st.just(k.SquaredDistance()),
        st.just(k.AdditiveChi2()),
    )
    return st.one_of(mercer_leaves(columns), others)


rules = st.sampled_from(["leaf", "sum", "product", "scaled", "power", "exp", "on", "normalized", "constant"])
scales = st.sampled_from([0, 0.5, 1, 2.5, 1e-5])
powers = st.integers(1, 3)
fractions = st.floats(0.1, 1.0)
constants = st.sampled_from([1.0, 2])


@cache
def indices(count):
    return st.integers(0, count - 1)


@cache
@st.composite
def composed_kernels(draw, columns=3, depth=3, only_mercer=False, tame=True):
    """Any kernel that can be written; with `tame` its values stay far from overflow."""

    def smaller(count=columns, *, bounded=False):
        return draw(composed_kernels(count, depth - 1, only_mercer or (tame and bounded), tame))

    rule = draw(rules) if depth > 0 else "leaf"
    match rule:
        case "sum":
            return smaller() + smaller()
        case "product":
            return smaller() * smaller()
        case "scaled":
            return draw(scales) * smaller()
        case "power":
            return smaller() ** draw(powers)
        case "exp":
            base = smaller(bounded=True)
            return (draw(fractions) * base.normalized()).exp() if tame else base.exp()
        case "on":
            chosen = draw(lists_of(indices(columns), 1, columns, unique=True))
            return smaller(len(chosen)).on(chosen if len(chosen) > 1 or draw(either) else chosen[0])
        case "normalized":
            return smaller(bounded=True).normalized()  # values of at most 1 where it is a Mercer kernel
        case "constant":
            return smaller() + draw(constants)
    return draw(mercer_leaves(columns) if only_mercer else leaves(columns))


up_to_twelve, three = st.integers(1, 12), st.just(3)
seeds = st.integers(0, 2**32 - 1)
zero_or_one = st.sampled_from([0.0, 1.0])


@cache
@st.composite
def tables(draw, rows=up_to_twelve, columns=three, lowest=0.0):
    """Rows of moderate numbers, often with duplicate rows and a constant column."""
    n, d = draw(rows), draw(columns)
    rng = np.random.default_rng(draw(seeds))
    X = rng.uniform(lowest, 2.0, size=(n, d))
    if draw(either):
        X = X[rng.integers(0, n, size=n)]
    if draw(either):
        X[:, rng.integers(d)] = draw(zero_or_one)
    if draw(either):
        X[rng.integers(n)] = 0.0
    return X
