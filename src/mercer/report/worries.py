"""What to worry about: one small rule for each kind of trouble, the worst first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mercer.report.alone import NEARLY_ALL
from mercer.report.choices import CommitteeChoice, SearchChoice
from mercer.report.evaluation import ModelEvaluation
from mercer.text import counted, legible, listed, number

Level: TypeAlias = Literal["serious", "look", "note"]

_FEW = 60  # rows
_MISSING = 0.2  # of the cells of a column
_EXTREME = 8.0  # standard deviations
_RARE = 20  # rows of a label
_FOUND = 0.5  # of the rows of a label
_DIGITS = 5.0


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
            "No better than knowing nothing",
            f"The model does not beat always saying {_baseline(facts)} by more than its standard error. "
            f"Either the columns say little about {legible(facts.data.target)}, or there are too few rows to find it.",
        )


def _baseline(facts: ModelEvaluation) -> str:
    return "the most common label" if facts.labels is not None else "the mean"


def _leaks(facts: ModelEvaluation) -> Iterator[Worry]:
    names = [each.name for each in facts.influence if each.alone > NEARLY_ALL]
    several = len(names) > 1
    if names and facts.data.used > 1:  # the only column is what the model is about
        yield Worry(
            "serious",
            f"{'Columns' if several else 'Column'} {listed(names)} alone nearly {'give' if several else 'gives'} the "
            "target away",
            f"A column that predicts {legible(facts.data.target)} almost by itself was often made from it, or became "
            "known only after it. If it will not be known when predictions are needed, leave it out and fit again.",
        )


def _copies(facts: ModelEvaluation) -> Iterator[Worry]:
    copies, rows = facts.data.copies, facts.data.rows
    if copies:
        many = copies > 0.1 * rows
        yield Worry(
            "look" if many else "note",
            f"{counted(copies, 'row')} of {rows} {'repeats' if copies == 1 else 'repeat'} another one in every column",
            "Where one copy is held out and the other is learned from, the error looks better than it will be on "
            "new rows. If copies belong together (the same patient, the same batch), give them a group.",
        )


def _few(facts: ModelEvaluation) -> Iterator[Worry]:
    if facts.data.rows < _FEW:
        yield Worry(
            "look",
            f"Only {facts.data.rows} rows",
            "Every number here, the standard error too, would be different with other rows. More rows would say more "
            "than a better model.",
        )


def _edges(facts: ModelEvaluation) -> Iterator[Worry]:
    if isinstance(facts.choice, SearchChoice) and facts.choice.edges:
        yield Worry(
            "look",
            "The winner stands on the edge of the grid",
            f"{facts.choice.edges[0][0].upper()}{' and '.join(facts.choice.edges)[1:]} of those tried. "
            "Something better may lie beyond: try further ones.",
        )


def _bounds(facts: ModelEvaluation) -> Iterator[Worry]:
    if isinstance(facts.choice, CommitteeChoice):
        on = [member for member in facts.choice.members if member.weight > 0 and member.bounds]
        if on:
            bounds = list(dict.fromkeys(bound for member in on for bound in member.bounds))
            width = " A width on its bound is that of a column that hardly matters, or in which the target is linear."
            yield Worry(
                "note",
                f"Tuning ended on a bound for {listed([member.name for member in on])}",
                f"It would have gone further if it could ({'; '.join(bounds)})."
                + width * any(bound.startswith("width") for bound in bounds),
            )


def _digits(facts: ModelEvaluation) -> Iterator[Worry]:
    if facts.choice.digits < _DIGITS:
        yield Worry(
            "note",
            "A nearly singular system",
            f"About {facts.choice.digits:.0f} decimal digits of the numbers can be trusted. That is enough for "
            "predictions; a larger alpha gives more.",
        )


def _outliers(facts: ModelEvaluation) -> Iterator[Worry]:
    if facts.held is None or not facts.held.outliers:
        return
    held, places = facts.held, facts.held.outliers
    shown = [
        f"row {int(held.rows[i]) + 1} (observed {number(float(held.observed[i]))}, "
        f"predicted {number(float(held.predicted[i]))})"
        for i in places[:3]
    ]
    yield Worry(
        "look" if len(places) <= 0.02 * len(held.rows) + 1 else "note",
        f"{counted(len(places), 'residual')} {'stands' if len(places) == 1 else 'stand'} far out",
        f"The largest: {', '.join(shown)}. Look whether such rows are mistakes, or of a kind that the columns do not "
        "tell. Rows are counted from 1, in the order they were learned from.",
    )


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
            f"{counted(rows, 'row')} of {facts.data.rows}. {_percent_found(found)} A small share of wrong labels says "
            "little about a rare one: read its line in the table of labels.",
        )


def _unfound(facts: ModelEvaluation) -> Iterator[Worry]:
    lost = [] if facts.labels is None else [each for each in facts.labels.each if each.found < _FOUND]
    if lost and facts.judged.useful:
        told = ", ".join(f"{legible(each.label)} {100 * each.found:.0f} % of {each.rows}" for each in lost[:3])
        yield Worry(
            "look",
            f"Most rows of {listed([each.label for each in lost])} get another label",
            f"Found were: {told}. If missing them is worse than the opposite mistake, weigh the classes.",
        )


def _percent_found(share: float) -> str:
    return "" if math.isnan(share) else f"Of those, {100 * share:.0f} % were found."


def _missing(facts: ModelEvaluation) -> Iterator[Worry]:
    rows = facts.data.rows
    many = [c.name for c in facts.data.columns if c.used and c.missing > _MISSING * rows]
    if many:
        yield Worry(
            "look",
            f"Many missing values in {listed(many)}",
            "Missing values were filled in; that they were missing is learned from, too, unless you said otherwise. "
            "That helps only if they will be missing for the same reasons in new rows.",
        )


def _extremes(facts: ModelEvaluation) -> Iterator[Worry]:
    far = [column.name for column in facts.data.columns if column.used and column.extreme > _EXTREME]
    if far:
        yield Worry(
            "look",
            f"Values far from all others in {listed(far)}",
            f"More than {_EXTREME:.0f} standard deviations from the mean. Predictions near them rest on a few rows; if "
            "such values are mistakes, correct them, and if they are not, a logarithm may help.",
        )


def _intervals(facts: ModelEvaluation) -> Iterator[Worry]:
    at = next((each for each in facts.coverage if each.confidence == 0.9), None)
    if at is not None and float(at) < 0.9 - 2.5 * math.sqrt(0.09 / at.rows):
        yield Worry(
            "look",
            "Intervals hold less than they promise",
            f"90 % intervals held {100 * float(at):.0f} % of {at.rows} targets. Ask for a higher confidence.",
        )


def _optimism(facts: ModelEvaluation) -> Iterator[Worry]:
    judged = facts.judged
    if judged.outer and judged.optimism > max(2 * judged.standard_error, 0.1 * abs(judged.error)):
        yield Worry(
            "look",
            "Choosing looked much better than it was",
            "The estimate that the choice was made by is far from the honest one. Fewer candidates, or more rows, "
            "would bring them together; quote the honest one.",
        )


def _extrapolation(facts: ModelEvaluation) -> Iterator[Worry]:
    yield Worry(
        "note",
        "Outside the ranges in the table of columns it knows nothing",
        "There predictions drift back to the "
        + ("average." if facts.labels is None else "most common labels.")
        + " The command mercer predict counts such cells and says so.",
    )


_RULES: tuple[Callable[[ModelEvaluation], Iterator[Worry]], ...] = (
    _useless, _leaks, _few, _outliers, _edges, _optimism, _intervals, _unfound, _imbalance, _missing, _extremes,
    _copies, _bounds, _digits, _extrapolation,
)  # fmt: skip
