"""The sentences of a report, in page/words.jinja, and its estimates of the error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mercer.errors import MercerError
from mercer.report.evaluation import ModelEvaluation
from mercer.selection.outcome import Outcome, doubt
from mercer.text import beside, counted, legible, listed, number, percent, tie_percent

_NEARLY = 0.005  # of an error: not worth a word


def page_file(name: str) -> str:
    """The text of a file of the page."""
    return files("mercer.report").joinpath("page", name).read_text(encoding="utf-8")


def templates() -> Any:
    """The templates of a report as jinja2 loads them; every text that comes from outside is escaped."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError:  # pragma: no cover - the tests have it
        raise MercerError("A report needs jinja2. Install it with: pip install 'mercer[cli]'.") from None
    loader = FunctionLoader(page_file)
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.filters |= {each.__name__: each for each in (beside, legible, listed, number, percent, tie_percent)}
    found.filters["markup"] = Markup
    found.globals |= {each.__name__: each for each in (counted, doubt, give_or_take, quantity)}
    found.tests["finite"] = math.isfinite
    return found


def quantity(outcome: Outcome, value: float) -> str:
    """An error or a score, as its measure is read."""
    return f"{100 * value:.1f} %" if outcome.measure.share else number(value)


def give_or_take(outcome: Outcome) -> str:
    """The standard error, with its sign; nothing where there is none."""
    by = outcome.error_standard_error
    return "" if math.isnan(by) else f"\u00a0±\u00a0{quantity(outcome, by) if outcome.measure.share else number(by, 2)}"


@dataclass(frozen=True)
class Estimate:
    """The error as one may see it: what it is, the number, and what it is worth."""

    name: str
    value: float
    text: str
    worth: str
    quoted: bool = False


def estimates(facts: ModelEvaluation) -> list[Estimate]:
    """From the rows of the fit to the baseline."""
    outcome, naive = facts.outcome, facts.chosen_by
    outer, how = quantity(outcome, outcome.error) + give_or_take(outcome), facts.chosen_how
    found = [("Training rows", facts.training_error, "Training error: too low for new rows.")]
    found = [] if math.isnan(facts.training_error) else found
    if outcome.outer:
        worth = f"Too optimistic: the model was chosen by this number ({how})."
        found.append(("Cross-validation of the best candidate", naive, worth))
        quoted, worth = "Out-of-sample", f"{outcome.how[0].upper()}{outcome.how[1:]}. Quote this number."
    else:
        seen = "widths and alphas" if "widths tuned on rows of all folds" in how else "only the weights"
        quoted = "Out-of-sample (estimated)"
        worth = (
            f"{how[0].upper()}{how[1:]}{_correction_words(facts)}; {seen} of the kernels were fitted to these rows. "
            "Quote this number."
        )
    base = f"Baseline (predicting {'the mean' if facts.labels is None else 'the most common label'})"
    naives = [Estimate(name, value, quantity(outcome, value), why) for name, value, why in found]
    return [
        *naives,
        Estimate(quoted, outcome.error, outer, worth, quoted=True),
        Estimate(base, outcome.baseline, quantity(outcome, outcome.baseline), "A useful model has a lower error."),
    ]


def _correction_words(facts: ModelEvaluation) -> str:
    """What an out-of-fold error was multiplied by, and why."""
    raw = 0.0 if facts.held is None else math.sqrt(float(((facts.held.observed - facts.held.predicted) ** 2).mean()))
    if not raw or abs(facts.error / raw - 1.0) < _NEARLY:
        return ""
    return f" ({number(raw)}), times {facts.error / raw:.2f} because models of all rows have a lower error"
