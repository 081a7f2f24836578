"""Random kernels and tables for hypothesis."""

import numpy as np
from hypothesis import strategies as st

from mercer import kernels as k

positive = st.floats(0.25, 4.0)


@st.composite
def widths(draw, columns):
    """One width, or one per column as a list or an array."""
    if draw(st.booleans()):
        return draw(positive)
    listed = draw(st.lists(positive, min_size=columns, max_size=columns))
    return draw(st.sampled_from([listed, np.array(listed)]))


@st.composite
def stationary_kernels(draw, columns):
    width = draw(widths(columns))
    return draw(
        st.one_of(
            st.builds(k.Gaussian, st.just(width), st.booleans()),
            st.builds(k.Laplacian, st.just(width)),
            st.builds(k.Matern, st.just(width), st.sampled_from([0.5, 1.5, 2.5])),
            st.builds(k.RationalQuadratic, st.just(width), positive),
            st.builds(k.Periodic, st.just(width), positive),
        )
    )


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


def other_leaves():
    """Similarities that are no Mercer kernels."""
    return st.one_of(
        st.builds(k.Sigmoid, st.floats(0.1, 2.0), st.floats(0.0, 2.0)),
        st.just(k.SquaredDistance()),
        st.just(k.AdditiveChi2()),
    )


@st.composite
def composed_kernels(draw, columns=3, depth=3, only_mercer=False, tame=True):
    """Any kernel that can be written; with `tame` its values stay far from overflow."""

    def smaller(count=columns, *, bounded=False):
        return draw(composed_kernels(count, depth - 1, only_mercer or (tame and bounded), tame))

    rules = ["leaf", "sum", "product", "scaled", "power", "exp", "on", "normalized", "constant"]
    rule = draw(st.sampled_from(rules)) if depth > 0 else "leaf"
    match rule:
        case "sum":
            return smaller() + smaller()
        case "product":
            return smaller() * smaller()
        case "scaled":
            return draw(st.sampled_from([0, 0.5, 1, 2.5, 1e-5])) * smaller()
        case "power":
            return smaller() ** draw(st.integers(1, 3))
        case "exp":
            base = smaller(bounded=True)
            return (draw(st.floats(0.1, 1.0)) * base.normalized()).exp() if tame else base.exp()
        case "on":
            chosen = draw(st.lists(st.integers(0, columns - 1), min_size=1, max_size=columns, unique=True))
            return smaller(len(chosen)).on(chosen if len(chosen) > 1 or draw(st.booleans()) else chosen[0])
        case "normalized":
            return smaller(bounded=True).normalized()  # values of at most 1 where it is a Mercer kernel
        case "constant":
            return smaller() + draw(st.sampled_from([1.0, 2]))
    return draw(mercer_leaves(columns) if only_mercer else st.one_of(mercer_leaves(columns), other_leaves()))


up_to_twelve, three = st.integers(1, 12), st.just(3)


@st.composite
def tables(draw, rows=up_to_twelve, columns=three, lowest=0.0):
    """Rows of moderate numbers, often with duplicate rows and a constant column."""
    n, d = draw(rows), draw(columns)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.uniform(lowest, 2.0, size=(n, d))
    if draw(st.booleans()):
        X = X[rng.integers(0, n, size=n)]
    if draw(st.booleans()):
        X[:, rng.integers(d)] = draw(st.sampled_from([0.0, 1.0]))
    if draw(st.booleans()):
        X[rng.integers(n)] = 0.0
    return X
