"""The edge of the grid: whether the winner stands on it, and what lies beyond."""

from __future__ import annotations

import numpy as np

from mercer.data.rows import Array
from mercer.kernels import Kernel
from mercer.selection.ladders import rounded
from mercer.selection.table import Choice, SearchTable

_LEAST = 1.2


def further_alphas(table: SearchTable, choice: Choice) -> Array:
    """Three rungs beyond the edge of the ladder that the winner stands on; none where it does not, nor where
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


def further_kernels(table: SearchTable, choice: Choice) -> list[Kernel]:
    """Three widths beyond the edge that the winner stands on, where the kernels are a ladder of widths."""
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
    """Whether the rung next to an outermost one scores the same, so that nothing draws the winner outward."""
    order = np.argsort(table.alphas, kind="stable")
    place = int(np.flatnonzero(order == a)[0])
    inward = order[1] if place == 0 else order[max(place - 1, 0)]
    return bool(table.mean[kernel, inward, t] == table.mean[kernel, a, t])


def edges_in_words(table: SearchTable, choice: Choice) -> list[str]:
    """On which edges of the grid the winner stands."""
    edges = []
    rungs = further_alphas(table, choice)
    if len(rungs):
        low = rungs[0] < table.alphas.min()
        edge = table.alphas.min() if low else table.alphas.max()
        edges.append(f"its alpha, {edge:.3g}, is the {'smallest' if low else 'largest'}")
    wider = further_kernels(table, choice)
    if wider:
        own, new = (float(k.get_params()["width"]) for k in (table.kernels[choice.kernel], wider[0]))
        edges.append(f"its width, {own:.3g}, is the {'largest' if new > own else 'smallest'}")
    return edges


def _same_but_width(kernel: Kernel, other: Kernel) -> bool:
    mine, theirs = (k.get_params(deep=False) for k in (kernel, other))
    if "width" not in mine or type(kernel) is not type(other) or np.ndim(mine["width"]) or np.ndim(theirs["width"]):
        return False
    return kernel.set_params(width=1.0) == other.set_params(width=1.0)
