"""Whether tuning paid: each half of the rows is tuned and judged on the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.backends import run
from mercer.data.rows import Rows
from mercer.kernels.base import Kernel
from mercer.selection.alphas import predicted, start_alpha, taken
from mercer.selection.criterion import Criterion
from mercer.selection.descent import descend
from mercer.selection.problem import Problem

_HALVINGS = 2


def by_halves(
    kernel: Kernel, rows: Rows, problem: Problem, objective: str, rng: np.random.Generator, how: dict[str, Any]
) -> float:
    """Error of the tuned kernel over that of the kernel as given: each half tuned and judged on the other, twice."""
    orders = [rng.permutation(len(rows)) for _ in range(_HALVINGS)]
    middle = len(rows) // 2
    parts = [(np.sort(o[a]), np.sort(o[b])) for o in orders for a, b in _sides(middle)]
    ratios = np.ones(len(parts))

    def judge(number: int) -> None:
        mine_rows, mine = taken(rows, problem, parts[number][0])
        other_rows, other = taken(rows, problem, parts[number][1])
        first = start_alpha(kernel, mine_rows, mine)
        end = descend(Criterion(mine_rows, mine, objective), kernel, first, **how)
        untuned, tuned = (
            float(np.sum((predicted(k, a, mine_rows, mine, other_rows) - other.Y) ** 2))
            for k, a in ((kernel, first), (end.kernel, end.alpha))
        )
        if untuned > 0 and tuned > 0:
            ratios[number] = math.sqrt(tuned / untuned)

    run(judge, range(len(parts)))
    return float(np.exp(np.mean(np.log(ratios))))


def _sides(middle: int) -> list[tuple[slice, slice]]:
    first, second = slice(0, middle), slice(middle, None)
    return [(first, second), (second, first)]
