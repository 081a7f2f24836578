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
from mercer.text import Brief, counted, legible, listed, number
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


class ColumnFact(Brief):
    """How one column, which became the columns Z, was used."""

    def __init__(self, column: Column, Z: Array) -> None:
        self.name, self.kind, self.missing, self.why = column.name, column.kind, column.missing, column.why
        self.becomes, self.holds, self.extreme = len(column.outputs), _holds(column), 0.0
        self.used = self.becomes > 0
        if column.kind == "number" and Z.shape[1] and (spread := float(Z[:, 0].std())):
            self.extreme = float(np.abs(Z[:, 0] - Z[:, 0].mean()).max()) / spread


class Data(Brief):
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
    feature_count : int
        How many columns are learned from.
    """

    def __init__(self, subject: Subject, origin: Origin) -> None:
        y, Z, labels = subject.y, subject.Z, subject.classifier
        columns = (ColumnFact(column, Z[:, subject.place == k]) for k, column in enumerate(subject.columns))
        self.columns, self.rows = tuple(columns), len(y)
        self.missing = sum(column.missing for column in self.columns)
        self.feature_count = sum(column.used for column in self.columns)
        self.copies = len(y) - len(np.unique(Z, axis=0)) if Z.shape[1] else 0
        self.ignored, self.target, self.origin = subject.ignored, subject.target, origin
        self.numbers = None if labels else (float(y.min()), float(y.mean()), float(y.max()), float(y.std()))
        self.counts = tuple(Counter(map(str, np.sort(y))).most_common()) if labels else ()


def _holds(column: Column) -> str:
    """The range of numbers, or how many levels there are."""
    if column.kind == "number" and column.scale is not None:
        return f"{number(column.scale.low)} to {number(column.scale.high)}"
    if column.kind == "date" and column.scale is not None:  # days since 1970
        return " to ".join(str(np.datetime64(int(day), "D")) for day in (column.scale.low, column.scale.high))
    levels = len(column.levels) + len(column.pooled)
    return counted(levels, "level") if levels else ""


class SearchChoice(Brief):
    """The best candidate of a search.

    Attributes
    ----------
    kernel, alpha : str
        The best candidate.
    kernels, alphas : int
        How many of each were tried.
    scoring, folds, rule : str
        How they were compared.
    best : tuple of dict
        Kernel, alpha, score and standard error of those that scored best, and which of them was chosen.
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

    def __init__(self, model: Estimator, outcome: Outcome) -> None:
        table, chosen = model.table_, outcome.chosen
        kept = isinstance(table, SearchTable)  # a file keeps the text of it alone
        self.kernel, self.alpha = legible(repr(model.best_kernel_), _LETTERS), f"{model.alpha_:.3g}"
        self.kernels, self.alphas = len(model.kernels_), len(model.alphas_)
        self.scoring, self.folds, self.rule = outcome.scoring, model.folds_.label, model.rule
        self.best, self.close = _best(model) if kept else ((), 0)
        self.edges = tuple(edges_in_words(table, model.choice_, model.folds_, model.own_ladders())) if kept else ()
        same = (repr(each["kernel"]) == repr(model.best_kernel_) and each["alpha"] == model.alpha_ for each in chosen)
        self.agreed = sum(same), len(chosen)
        self.families = tuple(Counter(type(each["kernel"]).__name__ for each in chosen).most_common())
        self.digits = float(model.digits_)
        self.search = model if kept and self.kernels * self.alphas > 1 else None


class CommitteeChoice(Brief):
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

    def __init__(self, subject: Subject) -> None:
        model, unit = subject.model, subject.model.unit()
        tried, self.tuned_on = model.committee_.tried, model.committee_.tuned_on
        members = (replace(m, error=m.error * unit, bounds=_bound_names(m.bounds, subject)) for m in tried)
        self.members: tuple[Member, ...] = tuple(members)
        self.how, self.loss, self.error = model.how_judged(), model.loss_words, model.error_title()
        self.digits = min(map(correct_digits, model.models_))


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


def _best(model: Estimator) -> tuple[tuple[dict[str, object], ...], int]:
    """The best candidates with the chosen one, and how many are as good within one standard error."""
    table, choice = model.table_, model.choice_
    mean, error = (each.mean(axis=2).ravel() for each in (table.mean, table.standard_error(model.folds_)))
    worth = np.where(np.isnan(mean), -np.inf, mean)
    order = np.argsort(-worth, kind="stable").tolist()
    winner = choice.kernel * len(table.alphas) + choice.alphas[0]
    shown = order[:_SHOWN] if winner in order[:_SHOWN] else [*order[: _SHOWN - 1], winner]
    texts, alphas = [legible(repr(each), _LETTERS) for each in table.kernels], [f"{a:.3g}" for a in table.alphas]
    names, header = list(product(texts, alphas)), ("kernel", "alpha", "score", "standard_error", "chosen")
    cells = ((*names[i], float(mean[i]), float(error[i]), i == winner) for i in shown)
    best = tuple(dict(zip(header, row, strict=True)) for row in cells)
    return best, int(np.sum(worth >= worth[order[0]] - np.nan_to_num(error[order[0]])))
