"""Warnings of a report: one table of checks, each with its level, its words and the facts that put values into them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from mercer.estimators.auto_evaluation import NEARLY_ALL
from mercer.report.evaluation import ModelEvaluation
from mercer.report.facts import CommitteeChoice, SearchChoice
from mercer.report.judging import HeldOutFacts
from mercer.text import beside, counted, legible, listed, number

Level: TypeAlias = Literal["serious", "look", "note"]
Values: TypeAlias = Iterator[dict[str, Any]]  # of the templates, once for each worry

_FEW = 60  # rows
_MISSING = 0.2  # of the cells of a column
_EXTREME = 8.0  # standard deviations
_RARE = 20  # rows of a label
_FOUND = 0.5  # of the rows of a label
_DIGITS = 5.0
_CARRIES = 0.1  # of the leave-one-out error, changed by one row


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


@dataclass(frozen=True)
class Check:
    """Level, condition and templates of a kind of worry; the condition gives values to the templates where it holds."""

    level: Level
    condition: Callable[[ModelEvaluation], Values]
    title: str
    text: str

    def worries(self, facts: ModelEvaluation) -> Iterator[Worry]:
        """The templates with their values; `level` among these takes the place of the check's own."""
        for values in self.condition(facts):
            yield Worry(values.get("level", self.level), self.title.format(**values), self.text.format(**values))


def worries(facts: ModelEvaluation) -> list[Worry]:
    """All that the checks find, serious ones first."""
    found = [worry for check in _CHECKS for worry in check.worries(facts)]
    return sorted(found, key=lambda worry: get_args(Level).index(worry.level))


# -- conditions -----------------------------------------------------------------------------------


def _useless(facts: ModelEvaluation) -> Values:
    if not facts.outcome.useful:
        yield {"baseline": "the most common label" if facts.labels is not None else "the mean"}


def _leaks_told(facts: ModelEvaluation) -> Values:
    yield from ({"warning": leak[:1].upper() + leak[1:]} for leak in facts.data.origin.leaks)


def _leaks(facts: ModelEvaluation) -> Values:
    names = [] if facts.data.origin.leaks else [each.name for each in facts.influence if each.alone > NEARLY_ALL]
    if names and facts.data.feature_count > 1:  # the only column is what the model is about
        columns = f"{'columns' if len(names) > 1 else 'column'} {listed(names)}"
        yield {"columns": columns, "target": legible(facts.data.target)}


def _few(facts: ModelEvaluation) -> Values:
    if facts.data.rows < _FEW:
        yield {"rows": facts.data.rows}


def _outliers(facts: ModelEvaluation) -> Values:
    if facts.held is None or not facts.held.outliers:
        return
    held, places = facts.held, facts.held.outliers
    shown = [
        f"row {int(held.rows[i]) + 1} (observed {_near(held, i, 'observed')}, predicted {_near(held, i, 'predicted')})"
        for i in places[:3]
    ]
    level = "look" if len(places) <= 0.02 * len(held.rows) + 1 else "note"
    yield {"level": level, "outliers": counted(len(places), "outlier"), "largest": ", ".join(shown)}


def _near(held: HeldOutFacts, place: int, name: str) -> str:
    """With the digits in which observed and predicted differ."""
    return beside(float(getattr(held, name)[place]), abs(float(held.observed[place] - held.predicted[place])))


def _influential(facts: ModelEvaluation) -> Values:
    """Rows without which the error of the best candidate would be another one."""
    single = facts.single_rows
    if single is None:
        return
    change = single.error_without / single.error - 1.0 if single.error else single.error_without * 0.0
    rows = [int(row) for row in single.order[:3] if abs(change[row]) > _CARRIES]
    if rows:
        errors = [
            f"without row {row + 1} the leave-one-out error is {number(float(single.error_without[row]))}"
            for row in rows
        ]
        carry = "One row carries" if len(rows) == 1 else "Single rows carry"
        yield {"carry": carry, "error": number(single.error), "errors": "; ".join(errors)}


def _edges(facts: ModelEvaluation) -> Values:
    if isinstance(facts.choice, SearchChoice) and facts.choice.edges:
        yield {"edges": f"{facts.choice.edges[0][0].upper()}{' and '.join(facts.choice.edges)[1:]}"}


def _optimism(facts: ModelEvaluation) -> Values:
    outcome = facts.outcome
    if outcome.outer and facts.optimism > max(2 * outcome.error_standard_error, 0.1 * abs(outcome.error)):
        yield {}


def _intervals(facts: ModelEvaluation) -> Values:
    at = next((each for each in facts.coverage if each.confidence == 0.9), None)
    if at is not None and float(at) < 0.9 - 2.5 * math.sqrt(0.09 / at.rows):
        yield {"share": 100 * float(at), "rows": at.rows}


def _unfound(facts: ModelEvaluation) -> Values:
    lost = [] if facts.labels is None else [each for each in facts.labels.each if each.found < _FOUND]
    if lost and facts.outcome.useful:
        recall = ", ".join(f"{legible(each.label)} {100 * each.found:.0f} % of {each.rows}" for each in lost[:3])
        yield {"labels": listed([each.label for each in lost]), "recall": recall}


def _imbalance(facts: ModelEvaluation) -> Values:
    if not facts.data.counts:
        return
    label, rows = facts.data.counts[-1]
    if rows < _RARE or rows < 0.1 * facts.data.rows:
        share = next((each.found for each in facts.labels.each if each.label == label), math.nan) if facts.labels else 0
        recall = "" if math.isnan(share) else f"Recall: {100 * share:.0f} %."
        yield {"label": legible(label), "rows": counted(rows, "row"), "all": facts.data.rows, "recall": recall}


def _missing(facts: ModelEvaluation) -> Values:
    many = [c.name for c in facts.data.columns if c.used and c.missing > _MISSING * facts.data.rows]
    if many:
        yield {"columns": listed(many)}


def _extremes(facts: ModelEvaluation) -> Values:
    far = [column.name for column in facts.data.columns if column.used and column.extreme > _EXTREME]
    if far:
        yield {"columns": listed(far), "limit": _EXTREME}


def _copies(facts: ModelEvaluation) -> Values:
    copies, rows = facts.data.copies, facts.data.rows
    if copies:
        level = "look" if copies > 0.1 * rows else "note"
        yield {"level": level, "copies": counted(copies, "duplicate row"), "rows": rows}


def _bounds(facts: ModelEvaluation) -> Values:
    members = facts.choice.members if isinstance(facts.choice, CommitteeChoice) else ()
    bounded = [member for member in members if member.weight > 0 and member.bounds]
    if bounded:
        bounds = list(dict.fromkeys(bound for member in bounded for bound in member.bounds))
        width = " A width at its upper bound means that the column hardly matters, or that its effect is linear."
        alpha = " alpha at its lower bound means that the targets look nearly free of noise."
        meaning = width * any(bound.startswith("width") for bound in bounds) + alpha * ("alpha" in bounds)
        names = listed([member.name for member in bounded])
        yield {"members": names, "bounds": "; ".join(bounds), "meaning": meaning}


def _digits(facts: ModelEvaluation) -> Values:
    if facts.choice.digits < _DIGITS:
        yield {"digits": facts.choice.digits}


def _extrapolation(facts: ModelEvaluation) -> Values:
    yield {"centre": "the mean" if facts.labels is None else "the most common labels"}


# -- the table ------------------------------------------------------------------------------------

_CHECKS = (
    Check("serious", _useless, "Not shown to be better than the baseline",
          "The error is not lower than the baseline error (predicting {baseline}) by more than chance would make "
          "it. The columns may tell little about the target, there may be too few rows, or a few large targets may "
          "dominate the squared error."),
    Check("serious", _leaks_told, "Possible target leakage", "{warning}"),
    Check("serious", _leaks, "Possible target leakage: {columns}",
          "A column that by itself nearly determines {target} was often computed from it, or is known only after "
          "it. If it is not known when predictions are needed, drop it and fit again."),
    Check("look", _few, "Only {rows} rows",
          "With so few rows every estimate is uncertain, its standard error included. More rows would help more "
          "than a better model."),
    Check("look", _outliers, "{outliers} among the residuals",
          "The largest: {largest}. Check whether these rows are mistakes, or differ in something that no column "
          "records. Rows are counted from 1, in the order of the table."),
    Check("look", _influential, "{carry} much of the error",
          "Of all rows it is {error}; {errors}. Check whether such rows are mistakes. Rows are counted from 1, in "
          "the order of the table."),
    Check("look", _edges, "The best candidate is on the edge of the grid",
          "{edges} tried. There may be a better value outside the grid: extend the grid."),
    Check("look", _optimism, "Optimistic model selection",
          "The cross-validation error of the best candidate is much lower than the out-of-sample error. Fewer "
          "candidates or more rows reduce the difference; quote the out-of-sample error."),
    Check("look", _intervals, "Prediction intervals are too narrow",
          "90 % intervals contain {share:.0f} % of {rows} held-out targets. Use a higher confidence."),
    Check("look", _unfound, "Low recall of {labels}",
          "Recall: {recall}. If false negatives of these labels cost more than false positives, use class weights."),
    Check("look", _imbalance, "Label {label} is rare",
          "{rows} of {all}. {recall} The overall error depends little on a rare label: see its recall and "
          "precision."),
    Check("look", _missing, "Many missing values in {columns}",
          "Missing values were imputed; with missing='mark' (the default) an indicator column is added. The "
          "indicator helps only if values are missing for the same reasons in new rows."),
    Check("look", _extremes, "Extreme values in {columns}",
          "Some values are more than {limit:.0f} standard deviations from the mean. Predictions near these values "
          "depend on a few rows. Correct such values if they are mistakes; otherwise a logarithm may help."),
    Check("look", _copies, "{copies} among {rows} rows",
          "When one copy is held out and another is in the training set, the error is too optimistic. If copies "
          "belong together (the same patient, the same batch), keep them together with a group column."),
    Check("note", _bounds, "Tuning stopped at a bound for {members}", "Parameters at their bounds: {bounds}.{meaning}"),
    Check("note", _digits, "Nearly singular system",
          "About {digits:.0f} decimal digits of the coefficients are correct, which is enough for predictions. A "
          "larger alpha increases this number."),
    Check("note", _extrapolation, "Predictions outside the training range",
          "Outside the range of the training data (see the table of columns), predictions of kernels such as "
          "Gaussian tend to {centre}. The command mercer predict warns about such values."),
)  # fmt: skip
