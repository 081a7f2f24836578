"""The error as one may see it, from the rows of the fit to the baseline, and what each number is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mercer.report.facts import Facts
from mercer.report.judging import Judgement
from mercer.text import number

_NEARLY = 0.005  # of an error: not worth a word
_SAME = 1e-6  # estimates closer than this differ by rounding


def quantity(judged: Judgement, value: float) -> str:
    """An error or a score, as its measure is read."""
    return f"{100 * value:.1f} %" if judged.share else number(value)


def give_or_take(judged: Judgement) -> str:
    """The standard error, with its sign; nothing where there is none."""
    if math.isnan(judged.standard_error):
        return ""
    spread = f"{100 * judged.standard_error:.1f} %" if judged.share else number(judged.standard_error, 2)
    return f"\u00a0±\u00a0{spread}"


@dataclass(frozen=True)
class Estimate:
    """The error as one may see it: what it is, the number, and what it is worth."""

    name: str
    value: float
    text: str
    worth: str
    quoted: bool = False


def estimates(facts: Facts) -> list[Estimate]:
    """From the rows of the fit to the baseline."""
    judged = facts.judged
    outer = quantity(judged, judged.error) + give_or_take(judged)
    found = []
    if not math.isnan(judged.fitted):
        worth = "Training error: too low for new rows."
        found.append(Estimate("Training rows", judged.fitted, quantity(judged, judged.fitted), worth))
    if judged.outer:
        worth = f"Too optimistic: the model was chosen by this number ({judged.naive_how})."
        found.append(
            Estimate("Cross-validation of the best candidate", judged.naive, quantity(judged, judged.naive), worth)
        )
        worth = f"{judged.how[0].upper()}{judged.how[1:]}. Quote this number."
        found.append(Estimate("Out-of-sample", judged.error, outer, worth, quoted=True))
    else:
        seen = "widths and alphas" if "widths tuned on rows of all folds" in judged.naive_how else "only the weights"
        worth = (
            f"{judged.naive_how[0].upper()}{judged.naive_how[1:]}{_corrected(facts)}; {seen} of the kernels "
            "were fitted to these rows. Quote this number."
        )
        found.append(Estimate("Out-of-sample (estimated)", judged.error, outer, worth, quoted=True))
    base = (
        "Baseline (predicting the most common label)" if facts.labels is not None else "Baseline (predicting the mean)"
    )
    worth = "A useful model has a lower error."
    found.append(Estimate(base, judged.baseline, quantity(judged, judged.baseline), worth))
    return found


def _corrected(facts: Facts) -> str:
    """What an out-of-fold error was multiplied by, and why."""
    held, judged = facts.held, facts.judged
    if held is None:
        return ""
    raw = math.sqrt(float(((held.observed - held.predicted) ** 2).mean()))
    if not raw or abs(judged.error / raw - 1.0) < _NEARLY:
        return ""
    return f" ({number(raw)}), times {judged.error / raw:.2f} because models of all rows have a lower error"


def optimism_words(facts: Facts) -> list[str]:
    """How optimistic the cross-validation error of the best candidate is."""
    judged = facts.judged
    if not judged.outer:
        return [
            (
                "No outer cross-validation was run. It repeats every step in every fold, including the weights; for "
                "tables of this size its result is close to this estimate. To run it, call "
                "evaluate(X, y) of the model, or set the number of folds of the command mercer fit."
            )
        ]
    gap = abs(judged.optimism)
    size = f"{100 * gap:.1f} percentage points" if judged.share else number(gap, 2)
    if gap <= _SAME * abs(judged.error):
        return ["The cross-validation error of the best candidate and the out-of-sample error agree."]
    small = not math.isnan(judged.standard_error) and gap < judged.standard_error
    less = ", less than the standard error" * small
    if judged.optimism > 0:
        return [f"The cross-validation error of the best candidate is too optimistic by {size}{less}."]
    larger = f"The cross-validation error of the best candidate is larger than the out-of-sample error by {size}{less}"
    return [f"{larger}: by chance, or because its training folds are smaller."]
