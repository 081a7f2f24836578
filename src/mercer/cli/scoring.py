"""`mercer score`: how good a model is on rows with known targets, with standard errors, per class and per group."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.cli.choices import as_label
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.estimators.auto_classifier import wrong_share
from mercer.estimators.auto_evaluation import root_mean_square
from mercer.estimators.table_model import TableModel
from mercer.selection.outcome import ROOT_MEAN_SQUARE, WRONG, Measure, Outcome
from mercer.selection.table import mean_with_error
from mercer.tables.cells import Writing, read_cells, text_cells
from mercer.tables.kinds import interpret
from mercer.tables.reading import Reading
from mercer.tables.values import NumberStyle, level_name
from mercer.text import counted, legible

CONFIDENCE = 0.9  # of the intervals that `mercer score` checks
_MOST = 20  # groups that are listed
_BINS = 5  # of predicted probabilities
_TINY = 1e-12
_DUST = 1e-9  # of the error: what rounding leaves


def known_targets(model: TableModel, table: Reading) -> tuple[Array, Array]:
    """The targets of the rows that have one, and which rows these are; refused where they are of another kind."""
    raw = table.raw[model.target]
    cells = (
        text_cells(model.target, raw, table.where)
        if isinstance(raw, list)
        else read_cells(model.target, raw, table.where)
    )
    if not model.is_classifier:
        told = model.facts.get("target_writing")
        writing = Writing("", *told) if isinstance(told, list) and len(told) == 2 else None
        cells = interpret(cells, "number", model.style or table.style or NumberStyle(), writing=writing)
        rows = np.flatnonzero(~cells.missing)
        return cells.values[rows].astype(np.float64), rows
    rows = np.flatnonzero(~cells.missing)
    exactly = table.exactly(model.target)
    return np.array([_label_text(exactly[row]) for row in rows], dtype=object), rows


def _label_text(cell: Any) -> str:
    """A label, however it is written: 1.0 is 1, and TRUE is True."""
    return level_name(as_label(cell), NumberStyle())


def score_table(
    model: TableModel, table: Reading, answer: dict[str, Array], confidence: float | None, group: str | None = None
) -> Outcome:
    """How good the predictions are on the rows with a target.

    Parameters
    ----------
    model, table : TableModel, Reading
        What predicted, and for what.
    answer : dict of str to ndarray
        The predictions by name, as `predict_table` gives them.
    confidence : float or None
        That of the intervals among them; None where there are none.
    group : str, default=None
        A column; errors are also given for each of its values.
    """
    y, rows = known_targets(model, table)
    if not len(rows):
        raise InputError(f"Column {model.target!r} of {table.what} is empty: there is nothing to compare with.")
    groups = None if group is None else np.array([as_label(cell) for cell in table.exactly(group)], dtype=object)[rows]
    predicted = answer["prediction"][rows]
    if model.is_classifier:
        shares = np.column_stack([answer[f"probability_{label}"] for label in model.model.classes_])
        return _of_classes(model, y, predicted, shares[rows], groups)
    inside = {}
    if confidence is not None:
        marks = (answer["lower"][rows] <= y) & (y <= answer["upper"][rows])
        inside[f"% inside the {100 * confidence:g} % intervals"] = _percent(marks)
    return _of_numbers(y, predicted, groups, inside)


def _of_numbers(y: Array, predicted: Array, groups: Array | None, inside: dict[str, tuple[float, float]]) -> Outcome:
    off = predicted - y
    error, by = _larger_error(lambda clusters: root_mean_square(off[:, None], clusters), groups)
    (bias, bias_by), variance = _mean(off, groups), float(np.var(y))
    bias = bias if abs(bias) > _DUST * error else 0.0
    measures = {
        "root mean squared error": (error, by),
        "mean absolute error": _mean(np.abs(off), groups),
        "mean of prediction - target": (bias, bias_by),
        "R2": (1.0 - float(np.mean(off**2)) / variance if variance else math.nan, math.nan),
    }
    measures |= inside
    tables = {}
    if groups is not None:
        found = []
        for name in _largest(groups):
            own = groups == name
            (size,), (spread,) = root_mean_square(off[own][:, None])
            found.append((legible(name), int(own.sum()), float(size), float(spread), float(off[own].mean())))
        header = ["group", "rows", "root mean squared error", "+-", "mean of prediction - target"]
        tables["Per group"] = header, found
    base = math.sqrt(variance)
    return _outcome(ROOT_MEAN_SQUARE, error, by, base, predicted, measures=measures, tables=tables, notes=_more(groups))


def _of_classes(model: TableModel, y: Array, predicted: Array, shares: Array, groups: Array | None) -> Outcome:
    labels = [_label_text(each) for each in model.model.classes_]
    said = np.array([_label_text(each) for each in predicted], dtype=object)
    if not np.isin(y, labels).any():
        must_be, got = f"labels of the model, such as {labels[0]!r}", repr(y[0])
        raise InputError(sentence(f"Column {model.target!r}", must_be, got))
    wrong, notes = said != y, _more(groups)
    new = sorted(set(y) - set(labels))
    if new:
        notes.append(f"Labels that training did not have count as wrong: {', '.join(map(repr, new[:5]))}.")
    known = np.isin(y, labels)
    place = np.array([labels.index(label) if label in labels else 0 for label in y])
    p = np.clip(shares[np.arange(len(y)), place], _TINY, 1.0)[known]
    measures, costs = {"% wrong": _percent(wrong, groups)}, getattr(model.model, "costs_", np.ones(1))
    if known.any():
        groups_known = None if groups is None else groups[known]
        if (costs != 1.0).any():  # the measure of the error when it was fitted
            share, by = wrong_share(np.where(wrong, -1, place)[known], place[known], costs, groups_known)
            measures["% wrong, weighted by class"] = 100 * share, 100 * by
        loss = -np.log(p)
        hits = np.eye(len(labels))[place[known]]
        brier = ((shares[known] - hits) ** 2).sum(axis=1) / (2.0 if len(labels) == 2 else 1.0)
        measures["log loss"] = _mean(loss, groups_known)
        measures["Brier score"] = _mean(brier, groups_known)
        if len(labels) == 2 and 0 < hits[:, 1].sum() < len(hits):
            measures[f"AUC of {labels[1]}"] = _auc(shares[known][:, 1], hits[:, 1] > 0)
    per = []
    for label in labels:
        own, named = y == label, said == label
        right = int((own & named).sum())
        per.append((legible(label), int(own.sum()), _share(right, own.sum()), _share(right, named.sum())))
    tables: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {
        "Per class": (["class", "rows", "recall %", "precision %"], per)
    }
    told = np.array([labels.index(label) for label in said])  # not the most probable one where classes have weights
    tables["Calibration (probability of the predicted class, and how often it was right)"] = (
        ["probability", "rows", "mean predicted %", "% right"],
        _calibration(shares[np.arange(len(told)), told], ~wrong),
    )
    if groups is not None:
        found = [
            (legible(name), int((groups == name).sum()), *_percent(wrong[groups == name])) for name in _largest(groups)
        ]
        tables["Per group"] = ["group", "rows", "% wrong", "+-"], found
    share, by = _mean(wrong, groups)
    base = 1.0 - np.unique(y, return_counts=True)[1].max() / len(y)
    return _outcome(WRONG, share, by, base, predicted, measures=measures, tables=tables, notes=notes)


def _outcome(measure: Measure, error: float, by: float, base: float, predicted: Array, **found: Any) -> Outcome:
    return Outcome(
        measure, f"minus {measure.name}", np.array([[-error]]), -error, by, "rows with a known target", base=-base,
        predictions=predicted[None], **found,
    )  # fmt: skip


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The scores of a table as plain values, for JSON."""
    measures = {
        name: {"value": _finite(value), "standard_error": _finite(by)} for name, (value, by) in outcome.measures.items()
    }
    tables = {
        title: [dict(zip(header, map(_finite, row), strict=True)) for row in rows]
        for title, (header, rows) in outcome.tables.items()
    }
    return {"rows": outcome.rows, "measures": measures, "tables": tables, "notes": list(outcome.notes)}


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _calibration(chances: Array, right: Array) -> list[tuple[Any, ...]]:
    """For each range of probabilities: how many rows, their mean probability, and the share that was right."""
    bins = np.minimum((chances * _BINS).astype(int), _BINS - 1)
    return [
        (
            f"{b / _BINS:.1f} to {(b + 1) / _BINS:.1f}",
            int(own.sum()),
            100 * float(chances[own].mean()),
            100 * float(right[own].mean()),
        )
        for b in range(_BINS)
        if (own := bins == b).any()
    ]


def _mean(values: Array, groups: Array | None = None) -> tuple[float, float]:
    """A mean and its standard error."""
    return _larger_error(lambda clusters: mean_with_error(values.astype(np.float64)[:, None], clusters), groups)


def _larger_error(estimate: Callable[[Array | None], tuple[Array, Array]], groups: Array | None) -> tuple[float, float]:
    """An estimate and its standard error: over rows, or over groups of dependent rows if that is larger."""
    (value,), (by,) = estimate(None)
    return float(value), float(by) if groups is None else float(np.fmax(by, estimate(groups)[1][0]))


def _percent(marks: Array, groups: Array | None = None) -> tuple[float, float]:
    """A share in percent, and its standard error."""
    share, by = _mean(marks, groups)
    return 100 * share, 100 * by


def _share(right: int, of: Any) -> float:
    return 100.0 * right / int(of) if of else math.nan


def _auc(values: Array, positive: Array) -> tuple[float, float]:
    """The area under the ROC curve, and its standard error by DeLong's variance of placements."""
    from scipy.stats import rankdata

    ours, others = values[positive], values[~positive]
    all_ranks = rankdata(np.concatenate([ours, others]))
    above = (all_ranks[: len(ours)] - rankdata(ours)) / len(others)
    below = 1.0 - (all_ranks[len(ours) :] - rankdata(others)) / len(ours)
    parts = [part.var(ddof=1) / len(part) if len(part) > 1 else math.nan for part in (above, below)]
    return float(above.mean()), float(math.sqrt(sum(parts)))


def _largest(groups: Array) -> list[str]:
    names, counts = np.unique(groups, return_counts=True)
    return [names[i] for i in np.argsort(-counts, kind="stable")[:_MOST]]


def _more(groups: Array | None) -> list[str]:
    """What is to be known about the groups."""
    if groups is None:
        return []
    count = len(np.unique(groups))
    words = f"+- of all rows: the larger of the standard errors over rows and over {counted(count, 'group')}."
    return [words, *([f"The {_MOST} largest of {count} groups are listed."] if count > _MOST else [])]
