"""The error as one may see it, from the rows of the fit to the baseline, and what each number is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mercer.report.facts import Facts
from mercer.report.judging import Judgement
from mercer.text import number

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
    honest: bool = False


def estimates(facts: Facts) -> list[Estimate]:
    """From the rows of the fit to the baseline."""
    judged = facts.judged
    outer = quantity(judged, judged.error) + give_or_take(judged)
    found = []
    if not math.isnan(judged.fitted):
        worth = "Not an estimate: the model knows these answers."
        found.append(Estimate("On the rows it was fitted to", judged.fitted, quantity(judged, judged.fitted), worth))
    if judged.outer:
        worth = f"Naive: the choices have seen these rows ({judged.naive_how})."
        found.append(Estimate("What choosing went by", judged.naive, quantity(judged, judged.naive), worth))
        worth = f"Honest: {judged.how}. Quote this one."
        found.append(Estimate("On rows that no choice has seen", judged.error, outer, worth, honest=True))
    else:
        worth = f"Nearly honest: {judged.naive_how}; only the members' weights have seen the rows. Quote this one."
        found.append(Estimate("Out of fold", judged.error, outer, worth, honest=True))
    base = "Always the most common label" if facts.labels is not None else "Always the mean"
    worth = "What any model has to beat."
    found.append(Estimate(base, judged.baseline, quantity(judged, judged.baseline), worth))
    return found


def optimism_words(facts: Facts) -> list[str]:
    """How much the naive estimate hides."""
    judged = facts.judged
    if not judged.outer:
        return [
            (
                "No outer loop was run. Its folds would repeat everything, weights too; on tables of this size the two "
                "estimates are close. With a number of folds for the evaluation, one is run."
            )
        ]
    gap = abs(judged.optimism)
    size = f"{100 * gap:.1f} percentage points" if judged.share else number(gap, 2)
    if gap <= _SAME * abs(judged.error):
        return ["The naive and the honest estimate agree."]
    small = not math.isnan(judged.standard_error) and gap < judged.standard_error
    less = ", less than the standard error" * small
    if judged.optimism > 0:
        return [f"The naive estimate is too good by {size}{less}."]
    return [f"The naive estimate is worse than the honest one by {size}{less}: chance, or smaller training folds."]
