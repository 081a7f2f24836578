"""Tune a kernel's parameters and alpha together, and say how it ended and whether it paid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from mercer.data.checks import as_numbers, check_intercept, check_size, check_weights, keyword_hints, refuse_not_finite
from mercer.data.rows import Array, PerRow, Rows, Seed, XLike, YLike
from mercer.errors import InputError, nearest, refuse_if, sentence
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import underflow_is_zero
from mercer.runtime import run
from mercer.runtime.progress import Progress
from mercer.solvers.problem import Problem, take_rows, take_used
from mercer.text import Shown, round_numbers
from mercer.tuning.criterion import OBJECTIVES, Criterion
from mercer.tuning.descent import Descent, Step, descend, per_column, with_parameters
from mercer.tuning.held_out import downhill, predict_new, start_alpha

_FACTORS = (1.0, 3.0, 0.3, 10.0)  # of the widths, where several starts are asked for
_ALL_ROWS = 8000  # beyond this many rows alpha, too, is chosen on a part of them
_OVERFITTED = 1.05
_ANY = (0.0, math.inf)


@dataclass(frozen=True, eq=False, repr=False)
class Tuned(Shown):
    """What tuning found.

    Attributes
    ----------
    kernel, alpha : Kernel, float
        The best of all starts.
    score, before : float
        Root mean squared leave-one-out error (or log evidence per row) with them, and of the kernel as given at its
        best alpha; beyond `max_rows` both are of all rows (of 8000, where there are more).
    objective : str
        "loo" or "evidence".
    status : {"converged", "stopped", "failed"}
        How the best start ended.
    bounds : list of str
        Parameters that ended on a bound.
    held_out : float or None
        Error on rows that tuning has not seen, relative to the kernel as given: each half of the rows tuned anew
        and judged on the other. Above 1 tuning does harm.
    path : list of Step
        Every step of the best start.
    evaluations : int
        How often the criterion was computed, over all starts.
    rows : int
        On how many rows the parameters were tuned.
    """

    kernel: Kernel
    alpha: float
    score: float
    before: float
    objective: str
    status: str
    bounds: list[str]
    held_out: float | None
    path: list[Step]
    evaluations: int
    rows: int

    @property
    def overfitted(self) -> bool:
        """Whether the error on held-out rows increased by more than 5 %."""
        return self.held_out is not None and self.held_out > _OVERFITTED

    def _columns(self) -> dict[str, list[object]]:
        """Every step of the search."""
        names = ("step", f"log {'error' if self.objective == 'loo' else 'evidence'}", "alpha", "kernel")
        rows = [(i, s.value, s.alpha, round_numbers(repr(s.kernel))) for i, s in enumerate(self.path)]
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def __str__(self) -> str:
        what = "leave-one-out error" if self.objective == "loo" else "log evidence per row"
        ended = {
            "converged": "It converged", "stopped": "It was stopped before it converged",
            "failed": "It failed: the system was nowhere positive definite",
        }[self.status]  # fmt: skip
        lines = [
            f"{round_numbers(repr(self.kernel))} with alpha = {self.alpha:.3g}",
            f"{what}: {self.before:.4g} before, {self.score:.4g} after tuning on {self.rows} rows.",
            f"{ended} ({len(self.path)} steps, {self.evaluations} evaluations).",
        ]
        if self.bounds:
            lines.append(f"On a bound: {', '.join(self.bounds)}.")
        if self.held_out is not None:
            verdict = "tuning overfits" if self.overfitted else "no improvement on held-out rows"
            verdict = verdict if self.held_out >= 1 else "the improvement is confirmed on held-out rows"
            times = f"{self.held_out:.2f} times that of the untuned kernel"
            lines.append(f"On held-out rows the error is {times}: {verdict}.")
        return "\n".join(lines)


@dataclass(frozen=True)
class Settings:
    """How a kernel is tuned.

    Attributes
    ----------
    objective : {"loo", "evidence"}, default="loo"
        The log of the mean squared leave-one-out error, or the log evidence of the Gaussian view.
    alpha : float, default=None
        Where alpha begins; None is the best of a ladder.
    bounds : dict, default=None
        Lowest and highest value by parameter name; others have bounds from the data.
    starts, steps : int, default=2, 60
        How many starts, from the widths as given, three times and a third of them, ...; and most steps of each.
    max_rows : int, default=2000
        Beyond so many rows the parameters are tuned on a random part of them; alpha then on all.
    check : bool, default=True
        Whether the halves of the rows are tuned anew and judged on each other (`Tuned.held_out`).
    verbose : int, default=0
        1: progress. 2: progress with a line for every half second, also in files.
    """

    objective: str = "loo"
    alpha: float | None = None
    bounds: dict[str, tuple[float, float]] | None = None
    starts: int = 2
    steps: int = 60
    max_rows: int = 2000
    check: bool = True
    verbose: int = 0


@keyword_hints
def tune(
    kernel: Kernel,
    X: XLike,
    y: YLike,
    *,
    objective: str = "loo",
    sample_weight: PerRow = None,
    fit_intercept: bool = False,
    per_column_widths: bool = False,
    bounds: dict[str, tuple[float, float]] | None = None,
    random_state: Seed = 0,
) -> Tuned:
    """Tune every continuous parameter of a kernel, and alpha, by the gradient of the exact leave-one-out error.

    L-BFGS begins at the kernel as given and at three times its widths. Of more than 2000 rows the parameters are tuned
    on 2000, drawn at random, and alpha on all. The halves of the rows are then tuned anew and judged on each other.

    Parameters
    ----------
    kernel : Kernel
        Where to begin; composed kernels are tuned whole.
    X, y : array-like
        Rows, and targets of shape (n,) or (n, t).
    objective : {"loo", "evidence"}, default="loo"
        The log of the mean squared leave-one-out error, or the log evidence of the Gaussian view.
    sample_weight : array-like of shape (n,), default=None
        Weights of training.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant.
    per_column_widths : bool, default=False
        Give every column a width of its own first.
    bounds : dict, default=None
        Such as ``{"width": (0.1, 10.0), "alpha": (1e-6, 1.0)}``; others have bounds from the data.
    random_state : int, Generator or None, default=0
        Random seed for the rows that are drawn.

    Returns
    -------
    Tuned
        Prints what was found and how far to believe it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import tune
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(size=(80, 2))
    >>> found = tune(Gaussian(1.0), X, np.sin(6.0 * X[:, 0]), per_column_widths=True, random_state=0)
    >>> bool(found.kernel.width[1] > 20 * found.kernel.width[0])  # the second column does not matter
    True
    >>> found.overfitted
    False
    """
    refuse_if(objective not in OBJECTIVES, "objective of tune", "'loo' or 'evidence'", repr(objective))
    rows, problem = _problem(kernel, X, y, sample_weight, intercept=fit_intercept)
    begin = per_column(kernel, rows.width) if per_column_widths else kernel
    _refuse_untunable(begin, bounds)
    return tune_rows(begin, rows, problem, Settings(objective, bounds=bounds), random_state)


@underflow_is_zero
def tune_rows(kernel: Kernel, rows: Rows, problem: Problem, how: Settings, random_state: Seed = None) -> Tuned:
    """Tune a kernel on rows that all have weight."""
    rng = np.random.default_rng(random_state)
    part = np.sort(rng.permutation(len(rows))[: how.max_rows]) if len(rows) > how.max_rows else None
    some_rows, some = (rows, problem) if part is None else take_rows(rows, problem, part)
    progress = Progress("tuning", how.starts + 2 * how.check + (part is not None), how.verbose)
    criterion = Criterion(some_rows, some, how.objective, how.bounds)
    first = start_alpha(kernel, some_rows, some) if how.alpha is None else float(how.alpha)
    before = criterion.at(kernel, first, slopes=False).value
    descents: list[Descent] = []
    for factor in _FACTORS[: how.starts]:
        descents.append(descend(criterion, scale_widths(kernel, factor), first, steps=how.steps))
        progress.step()
    best = min(descents, key=lambda descent: descent.value)
    held_out, alpha, reached = None, best.alpha, best.value
    if how.check and len(some_rows) >= 8:
        held_out = by_halves(kernel, some_rows, some, how, rng)
        progress.step(2)
    if part is not None:
        whole = np.sort(rng.permutation(len(rows))[:_ALL_ROWS])
        criterion = Criterion(*take_rows(rows, problem, whole), how.objective)
        ends = (how.bounds or {}).get("alpha", _ANY)
        alpha, reached = _alpha_on_all(criterion, best.kernel, best.alpha, ends)
        _, before = _alpha_on_all(criterion, kernel, first, ends)
        progress.step()
    score = (lambda value: math.exp(value / 2)) if how.objective == "loo" else (lambda value: -value)
    evaluations = sum(descent.evaluations for descent in descents)
    return Tuned(
        best.kernel, alpha, score(reached), score(before), how.objective, best.status, best.bounds,
        held_out, best.path, evaluations, len(some_rows),
    )  # fmt: skip


def _refuse_untunable(kernel: Kernel, bounds: dict[str, tuple[float, float]] | None) -> None:
    """Validate kernel and `bounds`."""
    names = kernel.tunable()
    if not names:
        raise InputError(f"{kernel!r} has no continuous parameter to tune. Choose among kernels with KernelRidgeCV.")
    if kernel.kind == "gram":
        way_out = "Pass X as rows, and a kernel such as Gaussian(1.0)."
        raise InputError(f"{kernel!r} is precomputed and has no parameters to tune. {way_out}")
    known = {"alpha", *names, *(name.rsplit("__", 1)[-1] for name in names)}
    for name, ends in (bounds or {}).items():
        if name not in known:
            raise InputError(f"bounds of tune has an unknown parameter {name!r}. {nearest(name, sorted(known))}")
        pair = as_numbers(ends)
        if pair is None or pair.shape != (2,) or not 0 < pair[0] <= pair[1] < math.inf:
            raise InputError(sentence(f"bounds of {name!r}", "two positive numbers, the lower one first", repr(ends)))


def _problem(kernel: Kernel, X: XLike, y: YLike, sample_weight: PerRow, *, intercept: bool) -> tuple[Rows, Problem]:
    refuse_if(not isinstance(kernel, Kernel), "kernel of tune", "a kernel, such as Gaussian(1.0)", repr(kernel))
    check_intercept("tune", intercept)
    rows = kernel.read(X)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(kernel.diagonal(rows)).all()
    if not finite:
        raise InputError(sentence(f"k(x, x) of {kernel!r}", "finite", "NaN or infinity", "Scale the columns of X."))
    targets = _by_row("y of tune", y, len(rows), f"{len(rows)} finite numbers, one per row of X", (1, 2))
    weights = None
    if sample_weight is not None:
        numbers = _by_row("sample_weight of tune", sample_weight, len(rows), "one finite number per row of X", (1,))
        weights = check_weights("tune", numbers)
    check_size("y of tune", targets)
    problem = Problem(targets.reshape(len(rows), -1), weights, bool(intercept)).subtract_mean()
    if len(problem.used_rows) < 3:
        raise InputError(f"tune needs at least 3 rows with positive weight; got {len(problem.used_rows)}.")
    return take_used(rows, problem)


def _by_row(what: str, given: YLike, n: int, must_be: str, dimensions: Sequence[int]) -> Array:
    numbers = as_numbers(given)
    if numbers is None or numbers.ndim not in dimensions or len(numbers) != n:
        raise InputError(sentence(what, must_be, f"{type(given).__name__} of shape {np.shape(given)}"))
    refuse_not_finite(what, numbers)
    return numbers


def scale_widths(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with all its widths multiplied."""
    widths = {name: value * factor for name, value in kernel.tunable().items() if name.endswith("width")}
    return with_parameters(kernel, widths)


def _alpha_on_all(criterion: Criterion, kernel: Kernel, start: float, ends: tuple[float, float]) -> tuple[float, float]:
    """The best alpha near this one, and the criterion there: what is best for a part of the rows is too large."""
    value = cache(lambda alpha: criterion.at(kernel, alpha, slopes=False).value)
    alpha = downhill(value, start, ends)
    return alpha, value(alpha)


def by_halves(kernel: Kernel, rows: Rows, problem: Problem, how: Settings, rng: np.random.Generator) -> float:
    """Error of the tuned kernel over that of the kernel as given: each half tuned and judged on the other, twice."""
    drawn = (np.split(rng.permutation(len(rows)), [len(rows) // 2]) for _ in range(2))
    halves = [[take_rows(rows, problem, np.sort(half)) for half in pair] for pair in drawn]

    def judge(pair: list[tuple[Rows, Problem]]) -> float:
        (mine_rows, mine), (other_rows, other) = pair
        first = start_alpha(kernel, mine_rows, mine)
        end = descend(Criterion(mine_rows, mine, how.objective, how.bounds), kernel, first, steps=how.steps)
        pairs = (kernel, first), (end.kernel, end.alpha)
        errors = (predict_new(*pair, mine_rows, mine, other_rows) - other.Y for pair in pairs)
        untuned, tuned = (float(np.sum(off**2)) for off in errors)
        return math.sqrt(tuned / untuned) if untuned > 0 and tuned > 0 else 1.0

    ratios = run(judge, [pair[::step] for pair in halves for step in (1, -1)])
    return float(np.exp(np.mean(np.log(ratios))))
