"""The facts of a report about its table, and about what was chosen among what: values without words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from mercer.data.rows import Array, Estimator
from mercer.estimators.auto_core import correct_digits
from mercer.report.subject import Subject
from mercer.selection.ladders import edges_in_words
from mercer.selection.outcome import Outcome
from mercer.selection.table import SearchTable
from mercer.tables import Column
from mercer.text import counted, legible, listed, number
from mercer.tuning.committee import Member

_SHOWN = 6  # candidates in the table
_LETTERS = 120  # of a kernel


@dataclass(frozen=True)
class Origin:
    """Where a table came from and what was done with it, as far as the caller knows.

    Attributes
    ----------
    name : str
        What the table is called.
    path : str
        Its file, for the digest; empty where there is none.
    command : str
        The command that does it again.
    notes : tuple of str
        What was said when it was read.
    leaks : tuple of str
        Warnings of possible target leakage, if the caller has looked for it.
    """

    name: str = ""
    path: str = ""
    command: str = ""
    notes: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnFact:
    """How one column was used."""

    name: str
    kind: str
    used: bool
    missing: int
    becomes: int
    holds: str
    why: str
    extreme: float = 0.0


@dataclass(frozen=True, eq=False)
class Data:
    """The table.

    Attributes
    ----------
    rows, missing, copies : int
        Rows, missing cells, and rows that repeat another one in every column.
    columns : tuple of ColumnFact
        All that could be learned from.
    ignored : tuple of str
        Columns that were set aside.
    target : str
        What is predicted.
    numbers : tuple of float or None
        Smallest, mean, largest and standard deviation of the target.
    counts : tuple of (str, int)
        Labels of the target, the most common first.
    """

    rows: int
    missing: int
    copies: int
    columns: tuple[ColumnFact, ...]
    ignored: tuple[str, ...]
    target: str
    numbers: tuple[float, float, float, float] | None
    counts: tuple[tuple[str, int], ...]
    origin: Origin

    @property
    def feature_count(self) -> int:
        """How many columns are learned from."""
        return sum(column.used for column in self.columns)


def data_of(subject: Subject, origin: Origin) -> Data:
    """The table as it was used."""
    y, Z, labels = subject.y, subject.Z, subject.classifier
    numbers = None if labels else (float(y.min()), float(y.mean()), float(y.max()), float(y.std()))
    counts = tuple(Counter(map(str, np.sort(y))).most_common()) if labels else ()
    columns = tuple(_column_fact(column, Z[:, subject.place == k]) for k, column in enumerate(subject.columns))
    copies = len(y) - len(np.unique(Z, axis=0)) if Z.shape[1] else 0
    missing = sum(column.missing for column in columns)
    return Data(len(y), missing, copies, columns, subject.ignored, subject.target, numbers, counts, origin)


def _column_fact(column: Column, Z: Array) -> ColumnFact:
    extreme, count = 0.0, len(column.outputs)
    if column.kind == "number" and Z.shape[1] and (spread := float(Z[:, 0].std())):
        extreme = float(np.abs(Z[:, 0] - Z[:, 0].mean()).max()) / spread
    holds = _holds(column)
    return ColumnFact(column.name, column.kind, count > 0, column.missing, count, holds, column.why, extreme)


def _holds(column: Column) -> str:
    """The range of numbers, or how many levels there are."""
    if column.kind == "number" and column.scale is not None:
        return f"{number(column.scale.low)} to {number(column.scale.high)}"
    if column.kind == "date" and column.scale is not None:  # days since 1970
        return " to ".join(str(np.datetime64(int(day), "D")) for day in (column.scale.low, column.scale.high))
    levels = len(column.levels) + len(column.pooled)
    return counted(levels, "level") if levels else ""


@dataclass(frozen=True)
class RankedCandidate:
    """One kernel and alpha, and what it scored."""

    kernel: str
    alpha: str
    score: float
    standard_error: float
    chosen: bool


@dataclass(frozen=True, eq=False)
class SearchChoice:
    """The best candidate of a search.

    Attributes
    ----------
    kernel, alpha : str
        The best candidate.
    kernels, alphas : int
        How many of each were tried.
    scoring, folds, rule : str
        How they were compared.
    best : tuple of RankedCandidate
        Those that scored best, with the best candidate.
    close : int
        How many are within one standard error of the best.
    edges : tuple of str
        On which edges of the grid the best candidate is.
    agreed : tuple of int
        How many outer folds chose exactly this winner, and how many there were.
    families : tuple of (str, int)
        The kinds of kernels that the outer folds chose, the most frequent first.
    digits : float
        Decimal digits that are correct.
    search : KernelRidgeCV or KernelRidgeClassifierCV
        For its picture; None where its table was not kept.
    """

    kernel: str
    alpha: str
    kernels: int
    alphas: int
    scoring: str
    folds: str
    rule: str
    best: tuple[RankedCandidate, ...]
    close: int
    edges: tuple[str, ...]
    agreed: tuple[int, int]
    families: tuple[tuple[str, int], ...]
    digits: float
    search: Estimator


@dataclass(frozen=True)
class CommitteeChoice:
    """The committee of an automatic model.

    Attributes
    ----------
    members : tuple of Member
        All that were tried, with errors in the unit of the target; weight 0 means left out.
    how : str
        How the weights were found.
    tuned_on : int
        Rows that widths were tuned on.
    digits : float
        Decimal digits that are correct, of the worst member.
    loss, error : str
        A sentence about the loss, empty for squared errors; what the errors of members are.
    """

    members: tuple[Member, ...]
    how: str
    tuned_on: int
    digits: float
    loss: str
    error: str


def choice_of(subject: Subject, outcome: Outcome) -> SearchChoice | CommitteeChoice:
    """The choice that the model stands for."""
    if not subject.auto:
        return _search(subject.model, outcome)
    model, unit = subject.model, subject.model.unit()
    tried, tuned_on = model.committee_.tried, model.committee_.tuned_on
    members = tuple(replace(m, error=m.error * unit, bounds=_bound_names(m.bounds, subject)) for m in tried)
    digits = min(map(correct_digits, model.models_))
    return CommitteeChoice(members, model.how_judged(), tuned_on, digits, model.loss_words, model.error_title())


def _bound_names(bounds: list[str], subject: Subject) -> list[str]:
    """Parameters on a bound, those of columns by the names of the columns: `width[3, 4]` is the width of one."""
    whole, owners = list[str](), dict[str, list[str]]()
    for bound in bounds:
        part = re.fullmatch(r"(\w+)\[([0-9, ]+)\]", bound)
        if part is None:
            whole.append(bound)
            continue
        places = {int(subject.place[int(number)]) for number in part[2].split(",")}
        owners.setdefault(part[1], []).extend(subject.columns[place].name for place in sorted(places))
    return [*whole, *(f"{name} of {listed(list(dict.fromkeys(own)))}" for name, own in owners.items())]


def _search(model: Estimator, outcome: Outcome) -> SearchChoice:
    table, chosen, counts = model.table_, outcome.chosen, (len(model.kernels_), len(model.alphas_))
    kept = isinstance(table, SearchTable)  # a file keeps the text of it alone
    same = sum(repr(each["kernel"]) == repr(model.best_kernel_) and each["alpha"] == model.alpha_ for each in chosen)
    families = tuple(Counter(type(each["kernel"]).__name__ for each in chosen).most_common())
    edges = tuple(edges_in_words(table, model.choice_, model.folds_, model.own_ladders())) if kept else ()
    best, close = _best(model) if kept else ((), 0)
    how = outcome.scoring, model.folds_.label, model.rule
    search = model if kept and counts != (1, 1) else None
    kernel, alpha = legible(repr(model.best_kernel_), _LETTERS), f"{model.alpha_:.3g}"
    digits = float(model.digits_)
    return SearchChoice(kernel, alpha, *counts, *how, best, close, edges, (same, len(chosen)), families, digits, search)


def _best(model: Estimator) -> tuple[tuple[RankedCandidate, ...], int]:
    """The best candidates and the best candidate, and how many are as good within one standard error."""
    table, choice = model.table_, model.choice_
    mean, error = (each.mean(axis=2).ravel() for each in (table.mean, table.standard_error(model.folds_)))
    worth = np.where(np.isnan(mean), -np.inf, mean)
    order = np.argsort(-worth, kind="stable").tolist()
    winner = choice.kernel * len(table.alphas) + choice.alphas[0]
    shown = order[:_SHOWN] if winner in order[:_SHOWN] else [*order[: _SHOWN - 1], winner]
    texts, alphas = [legible(repr(each), _LETTERS) for each in table.kernels], [f"{a:.3g}" for a in table.alphas]
    names = list(product(texts, alphas))
    scores = zip(mean[shown].tolist(), error[shown].tolist(), strict=True)
    best = [
        RankedCandidate(names[i][0], names[i][1], *score, i == winner) for i, score in zip(shown, scores, strict=True)
    ]
    return tuple(best), int(np.sum(worth >= worth[order[0]] - np.nan_to_num(error[order[0]])))
