"""The facts of a report about its table, and about what was chosen among what: values without words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from mercer.data.rows import Estimator
from mercer.estimators.auto_core import correct_digits
from mercer.report.subject import Subject
from mercer.selection.ladders import edges_in_words
from mercer.selection.outcome import Outcome
from mercer.selection.table import SearchTable
from mercer.tables import Column
from mercer.text import counted, legible, listed, number

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
    y = subject.y
    numbers: tuple[float, float, float, float] | None = None
    counts: tuple[tuple[str, int], ...] = ()
    if subject.classifier:
        labels, found = np.unique(y, return_counts=True)
        order = np.argsort(-found, kind="stable")
        counts = tuple((str(labels[i]), int(found[i])) for i in order)
    else:
        numbers = (float(y.min()), float(y.mean()), float(y.max()), float(y.std()))
    columns = tuple(_column_fact(subject, place) for place in range(len(subject.columns)))
    copies = len(y) - len(np.unique(subject.Z, axis=0)) if subject.Z.shape[1] else 0
    missing = sum(column.missing for column in columns)
    return Data(len(y), missing, copies, columns, subject.ignored, subject.target, numbers, counts, origin)


def _column_fact(subject: Subject, place: int) -> ColumnFact:
    column = subject.columns[place]
    mine = subject.Z[:, subject.place == place]
    extreme = 0.0
    if column.kind == "number" and mine.shape[1]:
        spread = float(mine[:, 0].std())
        extreme = float(np.abs(mine[:, 0] - mine[:, 0].mean()).max()) / spread if spread else 0.0
    used = bool(column.outputs)
    return ColumnFact(
        column.name, column.kind, used, column.missing, len(column.outputs), _holds(column), column.why, extreme
    )


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
class MemberFact:
    """One member that was tried for a committee."""

    name: str
    weight: float
    error: float
    alpha: float
    status: str
    bounds: tuple[str, ...]


@dataclass(frozen=True)
class CommitteeChoice:
    """The committee of an automatic model.

    Attributes
    ----------
    members : tuple of MemberFact
        All that were tried; weight 0 means left out.
    how : str
        How the weights were found.
    tuned_on : int
        Rows that widths were tuned on.
    digits : float
        Decimal digits that are correct, of the worst member.
    loss, error : str
        A sentence about the loss, empty for squared errors; what the errors of members are.
    """

    members: tuple[MemberFact, ...]
    how: str
    tuned_on: int
    digits: float
    loss: str
    error: str


def choice_of(subject: Subject, outcome: Outcome) -> SearchChoice | CommitteeChoice:
    """The choice that the model stands for."""
    return _committee(subject) if subject.auto else _search(subject.model, outcome)


def _committee(subject: Subject) -> CommitteeChoice:
    model, unit = subject.model, subject.model.unit()
    members = tuple(
        MemberFact(m.name, m.weight, m.error * unit, m.alpha, m.status, _bound_names(m.bounds, subject))
        for m in model.committee_.tried
    )
    digits = min(map(correct_digits, model.models_))
    how, tuned_on = model.how_judged(), model.committee_.tuned_on
    return CommitteeChoice(members, how, tuned_on, digits, model.loss_words, model.error_title())


def _bound_names(bounds: list[str], subject: Subject) -> tuple[str, ...]:
    """Parameters on a bound, those of columns by the names of the columns: `width[3, 4]` is the width of one."""
    parts = [re.fullmatch(r"(\w+)\[([0-9, ]+)\]", bound) for bound in bounds]
    whole = [bound for bound, part in zip(bounds, parts, strict=True) if part is None]
    owners: dict[str, list[str]] = {}
    for part in filter(None, parts):
        places = {int(subject.place[int(number)]) for number in part[2].split(",")}
        owners.setdefault(part[1], []).extend(subject.columns[place].name for place in sorted(places))
    return (*whole, *(f"{name} of {listed(list(dict.fromkeys(own)))}" for name, own in owners.items()))


def _search(model: Estimator, outcome: Outcome) -> SearchChoice:
    table, choice = model.table_, model.choice_
    kept = isinstance(table, SearchTable)  # a file keeps the text of it alone
    chosen = outcome.chosen
    same = sum(repr(each["kernel"]) == repr(model.best_kernel_) and each["alpha"] == model.alpha_ for each in chosen)
    best, close = _best(model) if kept else ((), 0)
    return SearchChoice(
        legible(repr(model.best_kernel_), _LETTERS),
        f"{model.alpha_:.3g}",
        len(model.kernels_),
        len(model.alphas_),
        outcome.scoring,
        model.folds_.label,
        model.rule,
        best,
        close,
        tuple(edges_in_words(table, choice, model.folds_, model.own_ladders())) if kept else (),
        (same, len(chosen)),
        tuple(Counter(type(each["kernel"]).__name__ for each in chosen).most_common()),
        float(model.digits_),
        model if kept and len(model.kernels_) * len(model.alphas_) > 1 else None,
    )


def _best(model: Estimator) -> tuple[tuple[RankedCandidate, ...], int]:
    """The best candidates and the best candidate, and how many are as good within one standard error."""
    table, choice = model.table_, model.choice_
    mean, error = table.mean.mean(axis=2), table.standard_error(model.folds_).mean(axis=2)
    worth = np.where(np.isnan(mean), -np.inf, mean)
    order = np.argsort(-worth.ravel(), kind="stable")
    winner = choice.kernel * len(table.alphas) + choice.alphas[0]
    listed = [int(i) for i in order[:_SHOWN]]
    listed = listed if winner in listed else [*listed[:-1], winner]
    best = []
    for i in listed:
        k, a = divmod(i, len(table.alphas))
        numbers = float(mean[k, a]), float(error[k, a])
        best.append(
            RankedCandidate(legible(repr(table.kernels[k]), _LETTERS), f"{table.alphas[a]:.3g}", *numbers, i == winner)
        )
    first = np.unravel_index(int(order[0]), worth.shape)
    close = int(np.sum(worth >= worth[first] - np.nan_to_num(error[first])))
    return tuple(best), close
