"""What a fit found, in words for people and as JSON for programs."""

from __future__ import annotations

import math
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from mercer.cli.fitting import Fitted
from mercer.cli.hints import log_hint
from mercer.cli.preparing import Prepared
from mercer.data.rows import Estimator, YLike
from mercer.estimators.auto_evaluation import stability_words
from mercer.estimators.table_model import TableModel
from mercer.models import ModelFile
from mercer.report.judging import held_out_of
from mercer.report.refits import fold_refits, influences
from mercer.report.subject import Subject
from mercer.selection.outcome import WEIGHTED_WRONG, Outcome, doubt
from mercer.tables import Column
from mercer.text import beside, counted, legible, plain, text_table

_SHOWN = 5  # labels that are counted one by one
_MOST = 20  # columns that are listed one by one
_WHY = 160  # characters of a reason
_RARE = 0.2  # share of a class below which weights are worth a hint
_IMPORTANT = 3  # columns that are named


def data_words(table: Prepared) -> str:
    """The table, its columns and the target."""
    reading, y, columns = table.reading, table.y, table.encoder.columns_
    used = "" if len(y) == table.rows else f", {len(y)} of them used"
    what = "Parquet" if reading.kind == "Parquet" else f"{reading.kind} between cells"
    if table.labels:
        labels, counts = np.unique(y, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        more = len(labels) - _SHOWN
        values = ", ".join(f"{legible(str(labels[i]))} ({counts[i]})" for i in order[:_SHOWN])
        values += f" and {counted(more, 'more label')}" if more > 0 else ""
    else:
        low, high, mean = (beside(float(value), float(y.std())) for value in (y.min(), y.max(), y.mean()))
        values = f"{low} to {high}, mean {mean}"
    lines = [
        f"{legible(reading.what)}: {table.rows} rows{used}, {len(reading.raw)} columns ({what}).",
        f"Target {legible(table.job.target)}: {values}.",
        f"{table.task.capitalize()}: {table.task_because}.",
        "",
        columns_words(columns),
    ]
    if any("set the kind" in column.why for column in columns):
        lines.append("Set the kind of a column with --as COLUMN=KIND.")
    return "\n".join([*lines, *([""] if table.notes else []), *table.notes])


def columns_words(columns: list[Column]) -> str:
    """The kind of each column; of a wide table, the first columns and the dropped ones."""
    shown = columns
    if len(columns) > _MOST:
        first, dropped = columns[: _MOST // 2], [column for column in columns if not column.outputs][:_MOST]
        shown = [*first, *(column for column in dropped if column not in first)]
    rows = [
        (legible(each.name), each.kind + ", dropped" * (not each.outputs), each.missing, legible(each.why, _WHY))
        for each in shown
    ]
    text = text_table(["column", "kind", "missing", "why"], rows)
    if sys.stdout.isatty():  # no line is longer than a terminal is wide
        width = shutil.get_terminal_size().columns
        text = "\n".join(line if len(line) <= width else f"{line[: width - 3]}..." for line in text.splitlines())
    if len(shown) < len(columns):
        kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(each.kind for each in columns).items())
        text += f"\n... and {len(columns) - len(shown)} more: {kinds} in all."
    return text


def fit_words(table: Prepared, fitted: Fitted, whole: TableModel) -> Iterator[str]:
    """Texts about a fit: the model, its error, and what else is known about them."""
    model, y, job = fitted.model, table.y, table.job
    yield choice_words(fitted)
    yield error_words(fitted.outcome, job.target, y, logs=job.loss == "log")
    by_fold = getattr(model, "fold_errors_", None)
    unstable = "" if by_fold is None else "".join(stability_words(by_fold, len(model.committee_.held_out)))
    labels = label_words(model, y, weighted=bool(job.class_weight))
    yield from filter(None, (getattr(model, "copies_", ""), unstable, labels, importance_words(whole, table)))
    if job.loss == "auto" and getattr(model, "loss_", "") == "squared":
        yield from log_hint(table)


def choice_words(fitted: Fitted) -> str:
    """Which model, and why."""
    model = fitted.model
    name = type(model).__name__
    if hasattr(model, "committee_"):
        members = member_words((member.weight, member.name) for member in model.members_)
        return f"Model: {name} ({fitted.why}), {members}. {model.loss_words}".rstrip()
    tried = counted(len(model.kernels_) * len(model.alphas_), "candidate")
    return f"Model: {name} ({fitted.why}), {model.best_kernel_!r} with alpha {model.alpha_:.3g}, best of {tried}."


def member_words(members: Iterable[tuple[float, str]]) -> str:
    """Weights and names of a committee.

    >>> member_words([(0.7, "Gaussian"), (0.3, "Matern 5/2, width per column")])
    '0.70 Gaussian + 0.30 Matern 5/2 with width per column'
    >>> member_words([(1.0, "Gaussian")])
    'Gaussian'
    """
    weights, names = zip(*members, strict=True)
    words = [re.sub(", (?!in cells|on landmarks)", " with ", name).replace(", ", " ") for name in names]
    return words[0] if len(words) == 1 else " + ".join(map("{:.2f} {}".format, weights, words))


def error_words(outcome: Outcome, target: str, y: YLike, *, logs: bool = False) -> str:
    """The out-of-sample error, how it was estimated, the baseline, and the error in units of the target."""
    measure, share = outcome.measure, outcome.measure.share
    kind, error = "error" if measure.smaller_is_better else "score", _number(outcome.error, share)
    spread, base = _spread(outcome.error_standard_error, share), _number(outcome.baseline, share)
    alone = "the most common label" if share or y.dtype.kind != "f" else "the mean"
    alone = "the best single label" if measure == WEIGHTED_WRONG else alone
    explained = ""
    if measure.name == "root mean squared error" and outcome.baseline > 0:
        explained = f"; R2 {plain(1.0 - (outcome.error / outcome.baseline) ** 2, 3)}"
    lines = [f"Out-of-sample {kind}: {error}{spread} ({measure.name}; {outcome.how})."]
    lines += [outcome.all_rows_words] if outcome.from_all_rows else []
    lines.append(f"Baseline (predicting {alone}): {base}{explained}." + " +- is one standard error." * bool(spread))
    held = held_out_of(y, outcome)
    if not outcome.useful:
        numbers = () if held is None or logs else (held.observed, held.predicted)
        lines.append(doubt(error + spread, base, *numbers))
    elif held is not None:
        lines.append(
            f"In units of {legible(target)}: half of the predictions are off by less than {plain(held.half, 3)}, nine "
            f"in ten by less than {plain(held.most, 3)}."
        )
    elif share and measure != WEIGHTED_WRONG:
        wrong, by_baseline = _in_hundred(outcome.error), _in_hundred(outcome.baseline)
        lines.append(f"That is {wrong} errors in 100 rows; the baseline makes {by_baseline}.")
    return "\n".join(lines)


def _in_hundred(share: float) -> str:
    return f"{100 * share:.0f}" if share > 0.095 or not share else f"{100 * share:.1f}"


def _number(value: float, share: bool) -> str:
    return f"{100 * value:.1f} %" if share else plain(value)


def _spread(by: float, share: bool) -> str:
    """A standard error behind its number; empty where there is none."""
    return "" if math.isnan(by) else f" +- {100 * by:.1f} %" if share else f" +- {plain(by, 2)}"


def label_words(model: Estimator, y: YLike, *, weighted: bool) -> str:
    """AUC and log loss of held-out probabilities, and the share of the rarest class; empty for models without them."""
    from sklearn.metrics import log_loss, roc_auc_score

    from mercer.report.judging import held_out_probabilities

    if not hasattr(model, "temperature_") or not (hasattr(model, "committee_") or hasattr(model, "cv_predictions_")):
        return ""
    probabilities, numbers = held_out_probabilities(model, y)
    counts = np.bincount(numbers, minlength=len(model.classes_))
    if not counts.all():
        return ""
    two, rarest, shares = len(counts) == 2, int(counts.argmin()), counts / counts.sum()
    area = roc_auc_score(numbers, probabilities[:, 1] if two else probabilities, multi_class="ovr")
    alone = -float(np.sum(shares * np.log(shares)))
    loss = log_loss(numbers, probabilities, labels=np.arange(len(counts)))
    words = (
        f"AUC {area:.3f}{'' if two else ' (mean of one class against the others)'}; log loss {plain(loss, 3)} (class "
        f"shares alone: {plain(alone, 3)}). The rarest class, {legible(str(model.classes_[rarest]))}, has "
        f"{100 * shares[rarest]:.1f} % of the rows."
    )
    if shares[rarest] < _RARE and not weighted:
        words += " If missing it costs more than a false alarm, use --class-weight balanced."
    return words


def importance_words(whole: TableModel, table: Prepared) -> str:
    """The columns of largest importance; empty for models on landmarks, which keep too few rows to hold some out."""
    if hasattr(whole.model, "relevance"):
        importance = whole.model.relevance()
    elif hasattr(whole.model, "cv_predictions_"):
        subject = Subject(whole, table.features, table.y, target="", weights=table.weights, groups=table.groups)
        importance = {each.name: each.rise for each in influences(subject, fold_refits(subject))}
    else:
        return ""
    ranked = sorted((item for item in importance.items() if item[1] > 0), key=lambda item: -item[1])[:_IMPORTANT]
    rises = ", ".join(f"{legible(name)} ({plain(rise, 2)})" for name, rise in ranked)
    return f"Most important columns (rise of the error when permuted): {rises}." if ranked else ""


def file_words(file: ModelFile, table: TableModel) -> str:
    """What a model file of a table holds.

    Its summary may be a stranger's: what is not as `facts_of` has it is omitted.
    """
    error, model = (_dictionary(table.facts.get(name)) for name in ("error", "model"))
    listed = model.get("members")
    members = [_dictionary(each) for each in (listed if isinstance(listed, list) else [])]
    sound = [
        (float(weight), legible(name))
        for weight, name in ((each.get("weight", ""), each.get("name")) for each in members)
        if _is_number(weight) and isinstance(name, str)
    ]
    kernel = member_words(sound) if sound and len(sound) == len(members) else file.kernel
    name = model.get("class")
    kind = f"{legible(name)} without its training rows" if not file.rows and isinstance(name, str) else file.kind
    lines = [str(replace(file, kind=kind, kernel=kernel)), "", f"Predicts {legible(table.target)} from:"]
    lines.append(columns_words(table.columns))
    measure, how = error.get("measure"), error.get("how")
    if not isinstance(measure, str) or not isinstance(how, str):
        return "\n".join(lines)
    share, by, rest = "share" in measure, error.get("standard_error"), error.get("from_all_rows")
    numbers = (error.get("value"), error.get("baseline"))
    value, base = (_number(number, share) if _is_number(number) else "unknown" for number in numbers)
    word = "score" if error.get("smaller_is_better") is False else "error"
    spread = _spread(by, share) if _is_number(by) else ""
    lines += ["", f"Out-of-sample {word}: {value}{spread} ({legible(measure)}; {legible(how, 200)}); baseline {base}."]
    return "\n".join([*lines, legible(rest, 500)] if isinstance(rest, str) and rest else lines)


def _dictionary(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def facts_of(table: Prepared, fitted: Fitted, seconds: float) -> dict[str, Any]:
    """The summary as plain values, for JSON and for the model file."""
    outcome, model, target = fitted.outcome, fitted.model, table.job.target
    members = [
        {"name": m.name, "kernel": repr(m.kernel), "alpha": float(m.alpha), "weight": float(m.weight)}
        for m in getattr(model, "members_", ())
    ]
    chosen = {"members": members} if members else {"kernel": repr(model.best_kernel_), "alpha": float(model.alpha_)}
    columns = [
        {"name": each.name, "kind": each.kind, "used": bool(each.outputs), "becomes": len(each.outputs)}
        | {"missing": each.missing, "why": each.why}
        for each in table.encoder.columns_
    ]
    numbers = {"value": outcome.error, "standard_error": outcome.error_standard_error, "baseline": outcome.baseline}
    held = held_out_of(table.y, outcome)
    if held is not None:
        numbers |= {"half_off_by": held.half, "nine_in_ten_off_by": held.most}
    facts: dict[str, Any] = {}
    if hasattr(model, "share_inside"):
        facts["intervals"] = {"confidence": 0.9, "held": model.share_inside(0.9)}
    writing = table.reading.columns[target].writing
    if writing.before or writing.after:
        facts["target_writing"] = [writing.before, writing.after]
    return facts | {
        "table": table.reading.what,
        "rows": len(table.y),
        "target": target,
        "task": table.task,
        "why": table.task_because,
        "columns": columns,
        "model": {"class": type(model).__name__, "why": fitted.why, **chosen},
        "error": {
            "measure": outcome.measure.name,
            "how": outcome.how,
            "smaller_is_better": outcome.measure.smaller_is_better,
            "from_all_rows": outcome.all_rows_words,
        }
        | {name: float(value) if math.isfinite(value) else None for name, value in numbers.items()},
        "notes": list(table.notes),
        "warnings": list(fitted.warned),
        "seconds": round(seconds, 3),
    }
