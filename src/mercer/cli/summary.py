"""What a fit found, in words for people and as JSON for programs."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from mercer.cli.fitting import Fitted, Judgement
from mercer.cli.preparing import Prepared
from mercer.data.encoding import Column
from mercer.tables import text_table

_MOST = 20  # columns that are listed one by one


def data_words(table: Prepared, target: str) -> str:
    """The table, its columns and the target."""
    reading, y = table.reading, table.target.values
    used = "" if len(y) == reading.rows else f", {len(y)} of them used"
    what = "Parquet" if reading.lines is None else f"{reading.kind} between cells"
    lines = [f"{reading.what}: {reading.rows} rows{used}, {len(reading.columns)} columns ({what})."]
    if table.target.task == "regression":
        values = f"{y.min():.4g} to {y.max():.4g}, mean {y.mean():.4g}"
    else:
        labels, counts = np.unique(y, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        shown = ", ".join(f"{labels[i]} ({counts[i]})" for i in order[:5])
        values = shown + (f" and {len(labels) - 5} more labels" if labels[5:].size else "")
    lines += [f"Target {target}: {values}.", f"{table.target.task.capitalize()}: {table.target.why}.", ""]
    lines.append(columns_words(table.encoder.columns_))
    return "\n".join([*lines, *table.notes])


def columns_words(columns: list[Column]) -> str:
    """What each column was taken for; of a wide table, the first ones and those that are left out."""
    shown = columns
    if len(columns) > _MOST:
        told = [each for each in columns if not each.outputs][:_MOST]
        shown = [*columns[: _MOST // 2], *(each for each in told if each not in columns[: _MOST // 2])]
    rows = [
        (" ".join(each.name.split()), each.kind if each.outputs else f"{each.kind}, left out", each.missing, each.why)
        for each in shown
    ]
    text = text_table(["column", "taken for", "missing", "why"], rows)
    if len(shown) == len(columns):
        return text
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(each.kind for each in columns).items())
    return f"{text}\n... and {len(columns) - len(shown)} more: {kinds} in all."


def choice_words(fitted: Fitted) -> str:
    """Which model, and why."""
    model = fitted.model
    name = type(model).__name__
    if hasattr(model, "committee_"):
        members = [f"{each.weight:.2f} {each.name.replace(', ', ' with ')}" for each in model.members_]
        return f"Model: {name} ({fitted.why}), {' + '.join(members)}."
    tried = len(model.kernels_) * len(model.alphas_)
    return f"Model: {name} ({fitted.why}), {model.best_kernel_!r} with alpha {model.alpha_:.3g}, best of {tried}."


def error_words(judged: Judgement, target: str, y: Any) -> str:
    """The honest error, the baseline beside it, and what that means."""
    spread = f"{100 * judged.standard_error:.1f} %" if judged.share else f"{judged.standard_error:.2g}"
    spread = f", give or take {spread}"
    spread = "" if math.isnan(judged.standard_error) else spread
    alone = "the most common label" if judged.share or y.dtype.kind != "f" else "the mean"
    lines = [
        f"Error on rows it has not seen: {_number(judged, judged.error)}{spread} ({judged.measure}; {judged.how})."
        if judged.smaller_is_better
        else f"Score on rows it has not seen: {judged.error:.4g}{spread} ({judged.measure}; {judged.how}).",
        f"Always saying {alone}: {_number(judged, judged.baseline)}.",
    ]
    gain = (judged.baseline - judged.error) * (1 if judged.smaller_is_better else -1)
    if not gain > (0 if math.isnan(judged.standard_error) else judged.standard_error):
        lines.append(f"That is no better than knowing nothing: the columns say little about {target}.")
    elif judged.predictions is not None:
        off = np.abs(judged.predictions - y)
        half, most = np.quantile(off[np.isfinite(off)], [0.5, 0.9])
        lines.append(
            f"In units of {target}: half of the predictions are off by less than {half:.3g}, nine in ten by less "
            f"than {most:.3g}."
        )
    elif judged.share:
        lines.append(f"That is {_in_hundred(judged.error)} wrong in 100 instead of {_in_hundred(judged.baseline)}.")
    return "\n".join(lines)


def _in_hundred(share: float) -> str:
    return f"{100 * share:.0f}" if share > 0.095 or not share else f"{100 * share:.1f}"


def _number(judged: Judgement, value: float) -> str:
    return f"{100 * value:.1f} %" if judged.share else f"{value:.4g}"


def as_json(table: Prepared, fitted: Fitted, target: str, seconds: float) -> dict[str, Any]:
    """The same as plain values; also what the model file keeps."""
    judged, model = fitted.judgement, fitted.model
    chosen: dict[str, Any] = {"class": type(model).__name__, "why": fitted.why}
    if hasattr(model, "committee_"):
        chosen["members"] = [
            {"name": m.name, "kernel": repr(m.kernel), "alpha": float(m.alpha), "weight": float(m.weight)}
            for m in model.members_
        ]
    else:
        chosen |= {"kernel": repr(model.best_kernel_), "alpha": float(model.alpha_)}
    columns = [
        {"name": each.name, "kind": each.kind, "used": bool(each.outputs), "missing": each.missing, "why": each.why}
        for each in table.encoder.columns_
    ]
    error = {"measure": judged.measure, "how": judged.how, "smaller_is_better": judged.smaller_is_better}
    numbers = {"value": judged.error, "standard_error": judged.standard_error, "baseline": judged.baseline}
    return {
        "table": table.reading.what,
        "rows": len(table.target.values),
        "target": target,
        "task": table.target.task,
        "why": table.target.why,
        "columns": columns,
        "model": chosen,
        "error": error | {name: _finite(value) for name, value in numbers.items()},
        "notes": list(table.notes),
        "warnings": list(fitted.warned),
        "seconds": round(seconds, 3),
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
