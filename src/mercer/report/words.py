"""What a report says: its templates, its estimates of the error, and its warnings.

Sentences are in page/words.jinja, those of warnings in page/worries.toml; here is what decides which are said, and the
values in them.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeAlias, get_args

from mercer.errors import MercerError
from mercer.estimators.auto_evaluation import NEARLY_ALL
from mercer.report.evaluation import ModelEvaluation
from mercer.report.facts import CommitteeChoice, SearchChoice
from mercer.selection.outcome import Outcome, doubt
from mercer.text import beside, counted, legible, listed, number, percent, tie_percent

Level: TypeAlias = Literal["serious", "look", "note"]
Values: TypeAlias = Iterator[tuple[str, dict[str, Any]]]  # of the sentences by their names; a level among them counts

_FEW = 60  # rows
_MISSING = 0.2  # of the cells of a column
_EXTREME = 8.0  # standard deviations
_RARE = 20  # rows of a label
_FOUND = 0.5  # of the rows of a label
_DIGITS = 5.0
_CARRIES = 0.1  # of the leave-one-out error, changed by one row
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
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    pages.filters |= {each.__name__: each for each in (beside, legible, listed, number, percent, tie_percent)}
    pages.filters["markup"] = Markup
    pages.globals |= {each.__name__: each for each in (counted, doubt, give_or_take, quantity)}
    pages.tests["finite"] = math.isfinite
    return pages


def quantity(outcome: Outcome, value: float) -> str:
    """An error or a score, as its measure is read."""
    return f"{100 * value:.1f} %" if outcome.measure.share else number(value)


def give_or_take(outcome: Outcome) -> str:
    """The standard error, with its sign; nothing where there is none."""
    by = outcome.error_standard_error
    return "" if math.isnan(by) else f"\u00a0±\u00a0{quantity(outcome, by) if outcome.measure.share else number(by, 2)}"


class Estimate:
    """The error as one may see it: what it is, the number, and what it is worth; one of them is to be quoted."""

    def __init__(self, outcome: Outcome, name: str, value: float, worth: str, *, quoted: bool = False) -> None:
        self.name, self.value, self.worth, self.quoted = name, value, worth, quoted
        self.text = quantity(outcome, value) + give_or_take(outcome) * quoted


def estimates(facts: ModelEvaluation) -> list[Estimate]:
    """From the rows of the fit to the baseline."""
    outcome, how, training = facts.outcome, facts.chosen_how, facts.training_error
    found = [Estimate(outcome, "Training rows", training, "Training error: too low for new rows.")]
    found = [] if math.isnan(training) else found
    if outcome.outer:
        worth = f"Too optimistic: the model was chosen by this number ({how})."
        found.append(Estimate(outcome, "Cross-validation of the best candidate", facts.chosen_by, worth))
        quoted, worth = "Out-of-sample", f"{outcome.how[0].upper()}{outcome.how[1:]}. Quote this number."
    else:
        seen = "widths and alphas" if "widths tuned on rows of all folds" in how else "only the weights"
        worth = f"{how[0].upper()}{how[1:]}{_correction_words(facts)}; {seen} of the kernels were fitted to these rows."
        quoted, worth = "Out-of-sample (estimated)", f"{worth} Quote this number."
    base = f"Baseline (predicting {'the mean' if facts.labels is None else 'the most common label'})"
    found.append(Estimate(outcome, quoted, outcome.error, worth, quoted=True))
    return [*found, Estimate(outcome, base, outcome.baseline, "A useful model has a lower error.")]


def _correction_words(facts: ModelEvaluation) -> str:
    """What an out-of-fold error was multiplied by, and why."""
    raw = 0.0 if facts.held is None else math.sqrt(float(((facts.held.observed - facts.held.predicted) ** 2).mean()))
    if not raw or abs(facts.outcome.error / raw - 1.0) < _NEARLY:
        return ""
    return f" ({number(raw)}), times {facts.outcome.error / raw:.2f} because models of all rows have a lower error"


# -- warnings ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Worry:
    """Something to look at.

    Attributes
    ----------
    level : {"serious", "look", "note"}
        It may undo the result; it is worth a look; it is good to know.
    title, text : str
        In a few words, and in a few sentences with what to do.
    """

    level: Level
    title: str
    text: str


def worries(facts: ModelEvaluation) -> list[Worry]:
    """All that there is to worry about, serious things first."""
    sentences, found = tomllib.loads(page_file("worries.toml")), []
    for part in (_of_the_error, _of_the_choice, _of_labels, _of_the_table, _of_numbers):
        for name, values in part(facts):
            level, title, text = (sentences[name] | values)["level"], sentences[name]["title"], sentences[name]["text"]
            found.append(Worry(level, title.format(**values), text.format(**values)))
    return sorted(found, key=lambda worry: get_args(Level).index(worry.level))


def _of_the_error(facts: ModelEvaluation) -> Values:
    data, held, single = facts.data, facts.held, facts.single_rows
    if not facts.outcome.useful:
        yield "useless", {"baseline": "the most common label" if facts.labels is not None else "the mean"}
    yield from (("leak_found", {"warning": leak[:1].upper() + leak[1:]}) for leak in data.origin.leaks)
    names = [] if data.origin.leaks else [each.name for each in facts.influence if each.alone > NEARLY_ALL]
    if names and data.feature_count > 1:  # the only column is what the model is about
        yield "leak", {"columns": f"column{'s' * (len(names) > 1)} {listed(names)}", "target": legible(data.target)}
    if data.rows < _FEW:
        yield "few", {"rows": data.rows}
    if held is not None and held.outliers:
        shown, count = [], len(held.outliers)
        for i in held.outliers[:3]:
            apart = abs(float(held.observed[i] - held.predicted[i]))  # with the digits in which they differ
            observed, predicted = (beside(float(values[i]), apart) for values in (held.observed, held.predicted))
            shown.append(f"row {int(held.rows[i]) + 1} (observed {observed}, predicted {predicted})")
        level = "look" if count <= 0.02 * len(held.rows) + 1 else "note"
        yield "outliers", {"level": level, "outliers": counted(count, "outlier"), "largest": ", ".join(shown)}
    if single is None:
        return
    change = single.error_without / single.error - 1.0 if single.error else single.error_without * 0.0
    if rows := [int(row) for row in single.order[:3] if abs(change[row]) > _CARRIES]:
        without = [(row + 1, number(float(single.error_without[row]))) for row in rows]
        errors = "; ".join(f"without row {row} the leave-one-out error is {error}" for row, error in without)
        carry = "One row carries" if len(rows) == 1 else "Single rows carry"
        yield "influential", {"carry": carry, "error": number(single.error), "errors": errors}


def _of_the_choice(facts: ModelEvaluation) -> Values:
    outcome, at = facts.outcome, facts.nine_in_ten
    if edges := " and ".join(facts.choice.edges) if isinstance(facts.choice, SearchChoice) else "":
        yield "edges", {"edges": f"{edges[0].upper()}{edges[1:]}"}
    if outcome.outer and facts.optimism > max(2 * outcome.error_standard_error, 0.1 * abs(outcome.error)):
        yield "optimism", {}
    if at is not None and float(at) < 0.9 - 2.5 * math.sqrt(0.09 / at.rows):
        yield "intervals", {"share": 100 * float(at), "rows": at.rows}


def _of_labels(facts: ModelEvaluation) -> Values:
    if facts.labels is None:
        return
    labels, (rarest, rows) = facts.labels.each, facts.data.counts[-1]
    lost = [each for each in labels if each.found < _FOUND]
    if lost and facts.outcome.useful:
        recall = ", ".join(f"{legible(each.label)} {100 * each.found:.0f} % of {each.rows}" for each in lost[:3])
        yield "missed", {"labels": listed([each.label for each in lost]), "recall": recall}
    if rows < _RARE or rows < 0.1 * facts.data.rows:
        share = next((each.found for each in labels if each.label == rarest), math.nan)
        recall = "" if math.isnan(share) else f"Recall: {100 * share:.0f} %."
        counts = {"rows": counted(rows, "row"), "all": facts.data.rows}
        yield "rare", {"label": legible(rarest), "recall": recall, **counts}


def _of_the_table(facts: ModelEvaluation) -> Values:
    copies, rows = facts.data.copies, facts.data.rows
    used = [column for column in facts.data.columns if column.used]
    if many := [column.name for column in used if column.missing > _MISSING * rows]:
        yield "missing", {"columns": listed(many)}
    if far := [column.name for column in used if column.extreme > _EXTREME]:
        yield "extremes", {"columns": listed(far), "limit": _EXTREME}
    if copies:
        level = "look" if copies > 0.1 * rows else "note"
        yield "copies", {"level": level, "copies": counted(copies, "duplicate row"), "rows": rows}


def _of_numbers(facts: ModelEvaluation) -> Values:
    members = facts.choice.members if isinstance(facts.choice, CommitteeChoice) else ()
    if bounded := [member for member in members if member.weight > 0 and member.bounds]:
        bounds = list(dict.fromkeys(bound for member in bounded for bound in member.bounds))
        width = " A width at its upper bound means that the column hardly matters, or that its effect is linear."
        alpha = " alpha at its lower bound means that the targets look nearly free of noise."
        meaning = width * any(bound.startswith("width") for bound in bounds) + alpha * ("alpha" in bounds)
        names = listed([member.name for member in bounded])
        yield "bounds", {"members": names, "bounds": "; ".join(bounds), "meaning": meaning}
    if facts.choice.digits < _DIGITS:
        yield "digits", {"digits": facts.choice.digits}
    yield "range", {"centre": "the mean" if facts.labels is None else "the most common labels"}
