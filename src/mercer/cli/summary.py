"""What a fit found, in words for people and as JSON for programs."""

from __future__ import annotations

import math
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.cli.fitting import Fitted
from mercer.cli.preparing import Prepared
from mercer.data.rows import Estimator, YLike
from mercer.estimators.auto_evaluation import stability_words
from mercer.estimators.table_model import TableModel
from mercer.models import ModelFile
from mercer.report.judging import held_out_of
from mercer.report.refits import fold_refits, influences
from mercer.report.subject import subject_of
from mercer.selection.outcome import WEIGHTED_WRONG, Outcome, doubt
from mercer.tables import Column
from mercer.text import beside, counted, legible, plain, text_table

_MOST = 20  # columns that are listed one by one
_WHY = 160  # characters of a reason
_RARE = 0.2  # share of a class below which weights are worth a hint
_IMPORTANT = 3  # columns that are named


def data_words(table: Prepared, target: str) -> str:
    """The table, its columns and the target."""
    reading, y = table.reading, table.target.values
    used = "" if len(y) == table.rows else f", {len(y)} of them used"
    what = "Parquet" if reading.kind == "Parquet" else f"{reading.kind} between cells"
    lines = [f"{legible(reading.what)}: {table.rows} rows{used}, {len(reading.raw)} columns ({what})."]
    if table.target.task == "regression":
        low, high, mean = (beside(float(value), float(y.std())) for value in (y.min(), y.max(), y.mean()))
        values = f"{low} to {high}, mean {mean}"
    else:
        labels, counts = np.unique(y, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shown = ", ".join(f"{legible(str(labels[i]))} ({counts[i]})" for i in order[:5])
        more = len(labels) - 5
        values = shown + (f" and {more} more label{'s' * (more > 1)}" if more > 0 else "")
    lines += [f"Target {legible(target)}: {values}.", f"{table.target.task.capitalize()}: {table.target.why}.", ""]
    lines.append(columns_words(table.encoder.columns_))
    if any("set the kind" in column.why for column in table.encoder.columns_):
        lines.append("Set the kind of a column with --as COLUMN=KIND.")
    return "\n".join([*lines, *([""] if table.notes else []), *table.notes])


def columns_words(columns: list[Column]) -> str:
    """The kind of each column; of a wide table, the first columns and the dropped ones."""
    shown = columns
    if len(columns) > _MOST:
        told = [each for each in columns if not each.outputs][:_MOST]
        shown = [*columns[: _MOST // 2], *(each for each in told if each not in columns[: _MOST // 2])]
    rows = [
        (legible(each.name), each.kind + ", dropped" * (not each.outputs), each.missing, legible(each.why, _WHY))
        for each in shown
    ]
    lines = [_cut(text_table(["column", "kind", "missing", "why"], rows))]
    if len(shown) < len(columns):
        kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(each.kind for each in columns).items())
        lines.append(f"... and {len(columns) - len(shown)} more: {kinds} in all.")
    return "\n".join(lines)


def _cut(text: str) -> str:
    """On a terminal no line is longer than the terminal is wide."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(line if len(line) <= width else f"{line[: width - 3]}..." for line in text.splitlines())


def choice_words(fitted: Fitted) -> str:
    """Which model, and why."""
    model = fitted.model
    name = type(model).__name__
    if hasattr(model, "committee_"):
        members = member_words((each.weight, each.name) for each in model.members_)
        return f"Model: {name} ({fitted.why}), {members}. {model.loss_words}".rstrip()
    tried = len(model.kernels_) * len(model.alphas_)
    best = f"{model.best_kernel_!r} with alpha {model.alpha_:.3g}, best of {counted(tried, 'candidate')}"
    return f"Model: {name} ({fitted.why}), {best}."


def member_words(members: Iterable[tuple[float, str]]) -> str:
    """Weights and names of a committee.

    >>> member_words([(0.7, "Gaussian"), (0.3, "Matern 5/2, width per column")])
    '0.70 Gaussian + 0.30 Matern 5/2 with width per column'
    >>> member_words([(1.0, "Gaussian")])
    'Gaussian'
    """
    said = [
        (weight, re.sub(", (?!in cells|on landmarks)", " with ", name).replace(", ", " ")) for weight, name in members
    ]
    return said[0][1] if len(said) == 1 else " + ".join(f"{weight:.2f} {name}" for weight, name in said)


def error_words(outcome: Outcome, target: str, y: YLike, *, logs: bool = False) -> str:
    """The out-of-sample error, how it was estimated, the baseline, and the error in units of the target."""
    by = outcome.error_standard_error
    spread = f" +- {100 * by:.1f} %" if outcome.measure.share else f" +- {plain(by, 2)}"
    spread = "" if math.isnan(by) else spread
    alone = "the most common label" if outcome.measure.share or y.dtype.kind != "f" else "the mean"
    alone = "the best single label" if outcome.measure == WEIGHTED_WRONG else alone
    explained = ""
    if outcome.measure.name == "root mean squared error" and outcome.baseline > 0:
        explained = f"; R2 {plain(1.0 - (outcome.error / outcome.baseline) ** 2, 3)}"
    lines = [
        f"Out-of-sample error: {_number(outcome, outcome.error)}{spread} ({outcome.measure.name}; {outcome.how})."
        if outcome.measure.smaller_is_better
        else f"Out-of-sample score: {plain(outcome.error)}{spread} ({outcome.measure.name}; {outcome.how}).",
        *([outcome.all_rows_words] if outcome.from_all_rows else []),
        f"Baseline (predicting {alone}): {_number(outcome, outcome.baseline)}{explained}."
        + " +- is one standard error." * bool(spread),
    ]
    held = held_out_of(y, outcome)
    if not outcome.useful:
        error = _number(outcome, outcome.error) + spread
        numbers = () if held is None or logs else (held.observed, held.predicted)
        lines.append(doubt(error, _number(outcome, outcome.baseline), *numbers))
    elif held is not None:
        lines.append(
            f"In units of {legible(target)}: half of the predictions are off by less than {plain(held.half, 3)}, nine "
            f"in ten by less than {plain(held.most, 3)}."
        )
    elif outcome.measure.share and outcome.measure != WEIGHTED_WRONG:
        lines.append(
            f"That is {_in_hundred(outcome.error)} errors in 100 rows; the baseline makes "
            f"{_in_hundred(outcome.baseline)}."
        )
    return "\n".join(lines)


def unstable_words(model: Estimator) -> str:
    """A line if large folds of an automatic model disagree about its error; otherwise empty."""
    by_fold = getattr(model, "fold_errors_", None)
    return "" if by_fold is None else "".join(stability_words(by_fold, len(model.committee_.held_out)))


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
    two = len(counts) == 2
    area = roc_auc_score(numbers, probabilities[:, 1] if two else probabilities, multi_class="ovr")
    shares = counts / counts.sum()
    alone = -float(np.sum(shares * np.log(shares)))
    loss = log_loss(numbers, probabilities, labels=np.arange(len(counts)))
    words = f"AUC {area:.3f}{'' if two else ' (mean of one class against the others)'}; log loss {plain(loss, 3)}"
    words += f" (class shares alone: {plain(alone, 3)}). "
    rarest = int(counts.argmin())
    words += f"The rarest class, {legible(str(model.classes_[rarest]))}, has {100 * shares[rarest]:.1f} % of the rows."
    if shares[rarest] < _RARE and not weighted:
        words += " If missing it costs more than a false alarm, use --class-weight balanced."
    return words


def importance_words(whole: TableModel, table: Prepared) -> str:
    """The columns of largest importance; empty for models on landmarks, which keep too few rows to hold some out."""
    if hasattr(whole.model, "relevance"):
        importance = whole.model.relevance()
    elif hasattr(whole.model, "cv_predictions_"):
        beside = {"weights": table.weights, "groups": table.groups}
        subject = subject_of(whole, table.features, table.target.values, target="", **beside)
        importance = {each.name: each.rise for each in influences(subject, fold_refits(subject))}
    else:
        return ""
    ranked = sorted(((name, rise) for name, rise in importance.items() if rise > 0), key=lambda each: -each[1])
    ranked = ranked[:_IMPORTANT]
    if not ranked:
        return ""
    rises = ", ".join(f"{legible(name)} ({plain(rise, 2)})" for name, rise in ranked)
    return f"Most important columns (rise of the error when permuted): {rises}."


def _in_hundred(share: float) -> str:
    return f"{100 * share:.0f}" if share > 0.095 or not share else f"{100 * share:.1f}"


def _number(outcome: Outcome, value: float) -> str:
    return f"{100 * value:.1f} %" if outcome.measure.share else plain(value)


def file_words(file: ModelFile, table: TableModel) -> str:
    """What a model file of a table holds.

    Its summary may be a stranger's: what is not as `as_json` has it is omitted.
    """
    told, chosen = (_dictionary(table.facts.get(name)) for name in ("error", "model"))
    listed = chosen.get("members")
    found = [_dictionary(each) for each in (listed if isinstance(listed, list) else [])]
    members = [(each.get("weight", ""), each.get("name")) for each in found]
    sound = [(float(weight), legible(name)) for weight, name in members if _is_number(weight) and isinstance(name, str)]
    kernel = member_words(sound) if sound and len(sound) == len(members) else file.kernel
    name = chosen.get("class")
    kind = f"{legible(name)} without its training rows" if not file.rows and isinstance(name, str) else file.kind
    lines = [str(replace(file, kind=kind, kernel=kernel)), "", f"Predicts {legible(table.target)} from:"]
    lines.append(columns_words(table.columns))
    measure, how = told.get("measure"), told.get("how")
    if isinstance(measure, str) and isinstance(how, str):
        value, base = (_number_or_unknown(told.get(name), share="share" in measure) for name in ("value", "baseline"))
        how = f"{legible(measure)}; {legible(how, 200)}"
        word = "score" if told.get("smaller_is_better") is False else "error"
        spread = told.get("standard_error")
        by = ""
        if isinstance(spread, int | float) and _is_number(spread):
            by = f" +- {100 * spread:.1f} %" if "share" in measure else f" +- {plain(spread, 2)}"
        lines += ["", f"Out-of-sample {word}: {value}{by} ({how}); baseline {base}."]
        shared = told.get("from_all_rows")
        if isinstance(shared, str) and shared:
            lines.append(legible(shared, 500))
    return "\n".join(lines)


def _dictionary(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_or_unknown(value: Any, *, share: bool) -> str:
    if not _is_number(value):
        return "unknown"
    return f"{100 * value:.1f} %" if share else plain(value)


def as_json(table: Prepared, fitted: Fitted, target: str, seconds: float) -> dict[str, Any]:
    """The summary as plain values, for JSON and for the model file."""
    outcome, model = fitted.outcome, fitted.model
    chosen: dict[str, Any] = {"class": type(model).__name__, "why": fitted.why}
    if hasattr(model, "committee_"):
        chosen["members"] = [
            {"name": m.name, "kernel": repr(m.kernel), "alpha": float(m.alpha), "weight": float(m.weight)}
            for m in model.members_
        ]
    else:
        chosen |= {"kernel": repr(model.best_kernel_), "alpha": float(model.alpha_)}
    columns = [
        {
            "name": each.name,
            "kind": each.kind,
            "used": bool(each.outputs),
            "becomes": len(each.outputs),
            "missing": each.missing,
            "why": each.why,
        }
        for each in table.encoder.columns_
    ]
    error: dict[str, Any] = {
        "measure": outcome.measure.name,
        "how": outcome.how,
        "smaller_is_better": outcome.measure.smaller_is_better,
        "from_all_rows": outcome.all_rows_words,
    }
    numbers = {"value": outcome.error, "standard_error": outcome.error_standard_error, "baseline": outcome.baseline}
    held = held_out_of(table.target.values, outcome)
    if held is not None:
        numbers["half_off_by"], numbers["nine_in_ten_off_by"] = held.half, held.most
    told: dict[str, Any] = {}
    if hasattr(model, "share_inside"):
        told["intervals"] = {"confidence": 0.9, "held": model.share_inside(0.9)}
    writing = table.reading.columns[target].writing
    if writing.before or writing.after:
        told["target_writing"] = [writing.before, writing.after]
    return told | {
        "table": table.reading.what,
        "rows": len(table.target.values),
        "target": target,
        "task": table.target.task,
        "why": table.target.why,
        "columns": columns,
        "model": chosen,
        "error": error | {name: float(value) if math.isfinite(value) else None for name, value in numbers.items()},
        "notes": list(table.notes),
        "warnings": list(fitted.warned),
        "seconds": round(seconds, 3),
    }
