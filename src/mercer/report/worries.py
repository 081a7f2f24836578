"""What to worry about: one small rule for each kind of trouble, the worst first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mercer.estimators.leakage import NEARLY_ALL
from mercer.report.choices import CommitteeChoice, SearchChoice
from mercer.report.evaluation import ModelEvaluation
from mercer.report.judging import HeldOutFacts
from mercer.text import beside, counted, legible, listed, number

Level: TypeAlias = Literal["serious", "look", "note"]

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


def worries(facts: ModelEvaluation) -> list[Worry]:
    """All that the rules find, serious ones first."""
    found = [worry for rule in _RULES for worry in rule(facts)]
    order = {"serious": 0, "look": 1, "note": 2}
    return sorted(found, key=lambda worry: order[worry.level])


def _useless(facts: ModelEvaluation) -> Iterator[Worry]:
    if not facts.judged.useful:
        yield Worry(
            "serious",
            "Not shown to be better than the baseline",
            f"The error is not lower than the baseline error (predicting {_baseline(facts)}) by more than chance would "
            "make it. The columns may tell little about the target, there may be too few rows, or a few large targets "
            "may dominate the squared error.",
        )


def _baseline(facts: ModelEvaluation) -> str:
    return "the most common label" if facts.labels is not None else "the mean"


def _leaks(facts: ModelEvaluation) -> Iterator[Worry]:
    yield from (
        Worry("serious", "Possible target leakage", said[:1].upper() + said[1:]) for said in facts.data.origin.leaks
    )
    names = [] if facts.data.origin.leaks else [each.name for each in facts.influence if each.alone > NEARLY_ALL]
    several = len(names) > 1
    if names and facts.data.used > 1:  # the only column is what the model is about
        yield Worry(
            "serious",
            f"Possible target leakage: {'columns' if several else 'column'} {listed(names)}",
            f"A column that by itself nearly determines {legible(facts.data.target)} was often computed from it, or is "
            "known only after it. If it is not known when predictions are needed, drop it and fit again.",
        )


def _copies(facts: ModelEvaluation) -> Iterator[Worry]:
    copies, rows = facts.data.copies, facts.data.rows
    if copies:
        many = copies > 0.1 * rows
        yield Worry(
            "look" if many else "note",
            f"{counted(copies, 'duplicate row')} among {rows} rows",
            "When one copy is held out and another is in the training set, the error is too optimistic. If copies "
            "belong "
            "together (the same patient, the same batch), keep them together with a group column.",
        )


def _few(facts: ModelEvaluation) -> Iterator[Worry]:
    if facts.data.rows < _FEW:
        yield Worry(
            "look",
            f"Only {facts.data.rows} rows",
            "With so few rows every estimate is uncertain, its standard error included. More rows would help more "
            "than a "
            "better model.",
        )


def _edges(facts: ModelEvaluation) -> Iterator[Worry]:
    if isinstance(facts.choice, SearchChoice) and facts.choice.edges:
        yield Worry(
            "look",
            "The best candidate is on the edge of the grid",
            f"{facts.choice.edges[0][0].upper()}{' and '.join(facts.choice.edges)[1:]} tried. "
            "There may be a better value outside the grid: extend the grid.",
        )


def _bounds(facts: ModelEvaluation) -> Iterator[Worry]:
    if isinstance(facts.choice, CommitteeChoice):
        on = [member for member in facts.choice.members if member.weight > 0 and member.bounds]
        if on:
            bounds = list(dict.fromkeys(bound for member in on for bound in member.bounds))
            width = " A width at its upper bound means that the column hardly matters, or that its effect is linear."
            yield Worry(
                "note",
                f"Tuning stopped at a bound for {listed([member.name for member in on])}",
                f"Parameters at their bounds: {'; '.join(bounds)}."
                + width * any(bound.startswith("width") for bound in bounds)
                + " alpha at its lower bound means that the targets look nearly free of noise." * ("alpha" in bounds),
            )


def _digits(facts: ModelEvaluation) -> Iterator[Worry]:
    if facts.choice.digits < _DIGITS:
        yield Worry(
            "note",
            "Nearly singular system",
            f"About {facts.choice.digits:.0f} decimal digits of the coefficients are correct, which is enough for "
            "predictions. A larger alpha increases this number.",
        )


def _outliers(facts: ModelEvaluation) -> Iterator[Worry]:
    if facts.held is None or not facts.held.outliers:
        return
    held, places = facts.held, facts.held.outliers
    shown = [
        f"row {int(held.rows[i]) + 1} (observed {_near(held, i, 'observed')}, predicted {_near(held, i, 'predicted')})"
        for i in places[:3]
    ]
    yield Worry(
        "look" if len(places) <= 0.02 * len(held.rows) + 1 else "note",
        f"{counted(len(places), 'outlier')} among the residuals",
        f"The largest: {', '.join(shown)}. Check whether these rows are mistakes, or differ in something that no "
        "column "
        "records. Rows are counted from 1, in the order of the table.",
    )


def _influential(facts: ModelEvaluation) -> Iterator[Worry]:
    """Rows without which the error of the best candidate would be another one."""
    found = facts.single_rows
    if found is None:
        return
    change = found.error_without / found.error - 1.0 if found.error else found.error_without * 0.0
    rows = [int(row) for row in found.order[:3] if abs(change[row]) > _CARRIES]
    if rows:
        said = [
            f"without row {row + 1} the leave-one-out error is {number(float(found.error_without[row]))}"
            for row in rows
        ]
        yield Worry(
            "look",
            f"{'One row carries' if len(rows) == 1 else 'Single rows carry'} much of the error",
            f"Of all rows it is {number(found.error)}; {'; '.join(said)}. Check whether such rows are mistakes. Rows "
            "are counted from 1, in the order of the table.",
        )


def _near(held: HeldOutFacts, place: int, name: str) -> str:
    """With the digits in which observed and predicted differ."""
    return beside(float(getattr(held, name)[place]), abs(float(held.observed[place] - held.predicted[place])))


def _imbalance(facts: ModelEvaluation) -> Iterator[Worry]:
    counts = facts.data.counts
    if not counts:
        return
    label, rows = counts[-1]
    if rows < _RARE or rows < 0.1 * facts.data.rows:
        found = next((each.found for each in facts.labels.each if each.label == label), math.nan) if facts.labels else 0
        yield Worry(
            "look",
            f"Label {legible(label)} is rare",
            f"{counted(rows, 'row')} of {facts.data.rows}. {_percent_found(found)} The overall error depends "
            "little on a rare label: see its recall and precision.",
        )


def _unfound(facts: ModelEvaluation) -> Iterator[Worry]:
    lost = [] if facts.labels is None else [each for each in facts.labels.each if each.found < _FOUND]
    if lost and facts.judged.useful:
        told = ", ".join(f"{legible(each.label)} {100 * each.found:.0f} % of {each.rows}" for each in lost[:3])
        yield Worry(
            "look",
            f"Low recall of {listed([each.label for each in lost])}",
            f"Recall: {told}. If false negatives of these labels cost more than false positives, use class weights.",
        )


def _percent_found(share: float) -> str:
    return "" if math.isnan(share) else f"Recall: {100 * share:.0f} %."


def _missing(facts: ModelEvaluation) -> Iterator[Worry]:
    rows = facts.data.rows
    many = [c.name for c in facts.data.columns if c.used and c.missing > _MISSING * rows]
    if many:
        yield Worry(
            "look",
            f"Many missing values in {listed(many)}",
            "Missing values were imputed; with missing='mark' (the default) an indicator column is added. The "
            "indicator helps only if values are missing for the same reasons in new rows.",
        )


def _extremes(facts: ModelEvaluation) -> Iterator[Worry]:
    far = [column.name for column in facts.data.columns if column.used and column.extreme > _EXTREME]
    if far:
        yield Worry(
            "look",
            f"Extreme values in {listed(far)}",
            f"Some values are more than {_EXTREME:.0f} standard deviations from the mean. Predictions near these "
            "values depend on a few rows. Correct such values if they are mistakes; otherwise a logarithm may help.",
        )


def _intervals(facts: ModelEvaluation) -> Iterator[Worry]:
    at = next((each for each in facts.coverage if each.confidence == 0.9), None)
    if at is not None and float(at) < 0.9 - 2.5 * math.sqrt(0.09 / at.rows):
        yield Worry(
            "look",
            "Prediction intervals are too narrow",
            f"90 % intervals contain {100 * float(at):.0f} % of {at.rows} held-out targets. Use a higher confidence.",
        )


def _optimism(facts: ModelEvaluation) -> Iterator[Worry]:
    judged = facts.judged
    if judged.outer and judged.optimism > max(2 * judged.standard_error, 0.1 * abs(judged.error)):
        yield Worry(
            "look",
            "Optimistic model selection",
            "The cross-validation error of the best candidate is much lower than the out-of-sample error. Fewer "
            "candidates or more rows reduce the difference; quote the out-of-sample error.",
        )


def _extrapolation(facts: ModelEvaluation) -> Iterator[Worry]:
    yield Worry(
        "note",
        "Predictions outside the training range",
        "Outside the range of the training data (see the table of columns), predictions of kernels such as Gaussian "
        "tend "
        + ("to the mean." if facts.labels is None else "to the most common labels.")
        + " The command mercer predict warns about such values.",
    )


_RULES: tuple[Callable[[ModelEvaluation], Iterator[Worry]], ...] = (
    _useless, _leaks, _few, _outliers, _influential, _edges, _optimism, _intervals, _unfound, _imbalance, _missing,
    _extremes, _copies, _bounds, _digits, _extrapolation,
)  # fmt: skip
