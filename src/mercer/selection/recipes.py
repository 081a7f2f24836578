"""How the members of a committee begin, and how each is tuned on some rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer.data.rows import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.slopes import tunable
from mercer.kernels.stationary import Gaussian, Laplacian, Matern
from mercer.selection.alphas import start_alpha
from mercer.selection.criterion import Criterion
from mercer.selection.descent import Descent, descend, per_column
from mercer.selection.problem import Problem

# Two steps that lower the log of the squared error by less than this, a thousandth of the error, are the last.
_GAIN = 2e-3


@dataclass(frozen=True)
class Recipe:
    """How a member begins: a kernel of unit width, isotropic or with a width for every column after that."""

    name: str
    kernel: Kernel
    columns: bool = False
    follows: str | None = None

    def start(self, columns: int, before: Kernel | None) -> Kernel:
        """The kernel to begin with: where the member before it ended, or at the typical distance of rows."""
        typical = 1.1 * columns if isinstance(self.kernel, Laplacian) else math.sqrt(2.0 * columns)
        width = typical if before is None else float(np.mean(tunable(before)["width"]))
        begin = self.kernel.set_params(width=width)
        return per_column(begin, columns) if self.columns else begin


REGRESSION = (
    Recipe("Laplacian", Laplacian()),
    Recipe("Laplacian, width per column", Laplacian(), columns=True, follows="Laplacian"),
    Recipe("exponential", Matern(nu=0.5)),
    Recipe("Matern 5/2, width per column", Matern(nu=2.5), columns=True),
)
CLASSIFICATION = (
    Recipe("Gaussian", Gaussian()),
    Recipe("Matern 5/2", Matern(nu=2.5)),
    Recipe("Matern 3/2", Matern(nu=1.5)),
    Recipe("exponential", Matern(nu=0.5)),
    Recipe("Laplacian", Laplacian()),
)


@dataclass(frozen=True, eq=False)
class Job:
    """What is fitted to, how long it may take, and which columns share a width."""

    rows: Rows
    problem: Problem
    share: Sequence[int] | None
    deadline: float
    steps: int


Starts: TypeAlias = dict[str, tuple[Kernel, float]]


def tuned_members(job: Job, recipes: Sequence[Recipe], begin: Starts) -> dict[str, Descent]:
    """Every recipe tuned on these rows; `begin` says where, if that is known."""
    criterion = Criterion(job.rows, job.problem, "loo")
    found: dict[str, Descent] = {}
    for recipe in recipes:
        if recipe.name in begin:
            kernel, alpha = begin[recipe.name]
        else:
            before = found.get(recipe.follows or "")
            kernel = recipe.start(job.rows.width, None if before is None else before.kernel)
            alpha = start_alpha(kernel, job.rows, job.problem) if before is None else before.alpha
        steps = job.steps if recipe.columns else max(6, job.steps // 2)
        found[recipe.name] = descend(
            criterion, kernel, alpha, share=job.share, steps=steps, deadline=job.deadline, gain=_GAIN
        )
    return found
