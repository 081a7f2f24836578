"""The sentences of a report: pure functions of its facts."""

from __future__ import annotations

import math

from mercer.report.choices import CommitteeChoice, SearchChoice
from mercer.report.estimates import give_or_take, quantity
from mercer.report.facts import Facts
from mercer.report.worries import Worry
from mercer.text import counted, legible, listed, number, percent, share_of

_ASKED = 0.9  # the confidence that is told
_RULES = {
    "best": "the best mean score",
    "one_se": "the largest alpha within one standard error of the best score, for a smoother model",
}


def title(facts: Facts) -> str:
    """What was predicted from what."""
    return f"Predicting {legible(facts.data.target)}"


def summary(facts: Facts, worried: list[Worry]) -> list[str]:
    """The result in a few sentences: what, how good, against what, and what to know."""
    return [_what(facts), _how_good(facts), *_unit(facts), *_to_know(facts, worried)]


def _what(facts: Facts) -> str:
    data = facts.data
    where = f" of {legible(data.origin.name)}" if data.origin.name else ""
    kind = "label" if facts.labels is not None else "number"
    columns = counted(data.used, "column")
    predicts = f"This model predicts {legible(data.target)}, a {kind}, from {columns}."
    return f"{predicts} It learned from {data.rows} rows{where}."


def _how_good(facts: Facts) -> str:
    judged, target = facts.judged, legible(facts.data.target)
    value, base = quantity(judged, judged.error) + give_or_take(judged), quantity(judged, judged.baseline)
    if judged.share:
        first = f"On rows that it had not seen, {value} of the labels were wrong."
        second = f"Always saying the most common label is wrong in {base}."
    elif judged.smaller_is_better:
        first = f"On rows that it had not seen, the typical error ({judged.measure}) was {value}."
        second = f"Always saying the mean of {target} gives {base}."
    else:
        first = f"On rows that it had not seen, {judged.measure} was {value}."
        second = f"Without the columns it is {base}."
    return f"{first} {second}" if judged.useful else f"{first} {second} That is no better than knowing nothing."


def _unit(facts: Facts) -> list[str]:
    """What the error means to somebody who needs the number."""
    if facts.held is None or not facts.judged.useful:
        return []
    held = facts.held
    return [
        (
            f"In units of {legible(facts.data.target)}: half of the predictions were off by less than "
            f"{number(held.half, 3)}, nine in ten by less than {number(held.most, 3)}. The columns explain "
            f"{percent(held.explained)} of the variance."
        )
    ]


def _to_know(facts: Facts, worried: list[Worry]) -> list[str]:
    lines = []
    matter = [each for each in facts.influence if each.rise > 2 * each.standard_error]
    if matter:
        lines.append(f"What matters most: {listed([each.name for each in matter[:3]])}.")
    elif len(facts.influence) > 1 and facts.judged.useful:
        lines.append("No single column matters on its own: each can be made up for by the others.")
    lines += _sure(facts)
    grave = [worry for worry in worried if worry.level == "serious"]
    looks = [worry for worry in worried if worry.level == "look"]
    if grave:
        lines.append(f"Before you use it: {'; '.join(_small(worry.title) for worry in grave)}.")
    elif looks:
        lines.append(f"Worth a look: {'; '.join(_small(worry.title) for worry in looks[:2])}.")
    return lines


def _sure(facts: Facts) -> list[str]:
    """How wide an interval is, where it has ends."""
    at = next((each for each in facts.coverage if each.confidence == _ASKED), None)
    if at is None or not math.isfinite(at.width) or not facts.judged.useful:
        return []
    share = f"{percent(float(at))} of unseen targets"
    return [f"A {percent(_ASKED)} interval is {number(float(at.width))} wide on average, and held {share}."]


def _small(text: str) -> str:
    """A title inside a sentence; titles begin with a plain word or a number."""
    return text[0].lower() + text[1:]


def data_words(facts: Facts) -> list[str]:
    """The table and the target."""
    data = facts.data
    missing = f"{counted(data.missing, 'cell')} {'is' if data.missing == 1 else 'are'} missing" if data.missing else ""
    columns = f"{counted(len(data.columns), 'column')} besides the target"
    lines = [f"{counted(data.rows, 'row')}, {columns}; {missing or 'no cell is missing'}."]
    target = legible(data.target)
    if data.numbers is not None:
        low, mean, high, spread = (number(value) for value in data.numbers)
        lines.append(
            f"The target, {target}, goes from {low} to {high}; its mean is {mean}, its standard deviation {spread}."
        )
    else:
        shown = ", ".join(f"{legible(label)} ({rows})" for label, rows in data.counts[:5])
        more = f" and {len(data.counts) - 5} more" if data.counts[5:] else ""
        lines.append(f"The target, {target}, has {counted(len(data.counts), 'label')}: {shown}{more}.")
    if data.ignored:
        lines.append(f"Set aside, and not learned from: {listed(list(data.ignored))}.")
    return [*lines, *(legible(note, 300) for note in data.origin.notes)]


def choice_words(facts: Facts) -> list[str]:
    """What was chosen, and why."""
    choice = facts.choice
    if isinstance(choice, CommitteeChoice):
        kept = [member for member in choice.members if member.weight > 0]
        several = f"{counted(len(kept), 'member')} vote, weighted by what they predict out of fold"
        vote = several if len(kept) > 1 else "one votes alone, for what it predicts out of fold"
        lines = [
            (
                f"{counted(len(choice.members), 'kernel')} {'was' if len(choice.members) == 1 else 'were'} tuned by "
                f"the gradient of the leave-one-out error on {choice.tuned_on} rows; {vote} ({choice.how})."
            )
        ]
        best = min(choice.members, key=lambda member: member.error)
        lines.append(f"On its own, {best.name} has the smallest out-of-fold error.")
        return lines
    tried = choice.kernels * choice.alphas
    if tried == 1:
        return [f"One kernel and one alpha were given: {choice.kernel} with alpha {choice.alpha}. Nothing was chosen."]
    lines = [
        (
            f"{counted(choice.kernels, 'kernel')} and {counted(choice.alphas, 'alpha')} were compared by "
            f"{choice.scoring} ({choice.folds}). Taken was {_RULES[choice.rule]}: {choice.kernel} "
            f"with alpha {choice.alpha}."
        )
    ]
    if choice.close > 1:
        lines.append(f"{choice.close} of {tried} candidates are within one standard error of the best.")
    return [*lines, *_agreement(choice)]


def _agreement(choice: SearchChoice) -> list[str]:
    same, folds = choice.agreed
    if folds < 2:
        return []
    if same == folds:
        return [f"All {folds} outer folds chose the same."]
    if not same:
        return [f"None of {folds} outer folds chose exactly this; they chose neighbours, or something else."]
    return [f"{same} of {folds} outer folds chose exactly this; the others chose a neighbour or something else."]


def held_out_words(facts: Facts) -> list[str]:
    """Predicted against observed, or right and wrong labels."""
    if facts.held is not None:
        held = facts.held
        outer = "the outer loop" if facts.judged.outer else "folds that were left out"
        lines = [f"Every point is a row, predicted by a model that had not seen it ({outer})."]
        many = len(held.outliers)
        if many:
            lines.append(f"{counted(many, 'residual')} {'stands' if many == 1 else 'stand'} far out.")
        else:
            lines.append("No residual stands far out.")
        return lines
    assert facts.labels is not None  # noqa: S101 - a report has one or the other
    worst = min(facts.labels.each, key=lambda each: each.found)
    return [
        "Every row was labelled by a model that had not seen it.",
        f"Label {legible(worst.label)} was found least often: {percent(worst.found)} of {counted(worst.rows, 'row')}.",
    ]


def calibration_words(facts: Facts) -> list[str]:
    """How far probabilities can be believed."""
    if facts.labels is None:
        return []
    found = facts.labels.calibration
    close = "close to what happened" if found.gap < 0.05 else "rough" if found.gap < 0.12 else "not to be relied on"
    return [
        (
            f"Held-out probabilities are {close}: on average {percent(found.gap)} off. They were calibrated on the "
            "same rows, by one or two numbers."
        )
    ]


def coverage_words(facts: Facts) -> list[str]:
    """Whether intervals hold."""
    at = next((each for each in facts.coverage if each.confidence == _ASKED), None)
    if at is None:
        return []
    wide = f"They are {number(float(at.width))} wide on average" if math.isfinite(at.width) else "They have no ends"
    return [
        f"{percent(_ASKED)} intervals held {percent(float(at))} of {counted(at.rows, 'unseen target')}. {wide}.",
        f"Found from {facts.coverage_how}.",
    ]


def spectrum_words(facts: Facts) -> list[str]:
    """How flexible the model is."""
    spectrum = facts.spectrum
    if spectrum is None:
        return ["No column varies, so there is no spectrum."]
    part = "" if spectrum.rows == facts.data.rows else f", on {spectrum.rows} rows drawn at random"
    whose = f"Of {spectrum.what}" + (", the member with the largest weight" if facts.subject.auto else "") + part
    if spectrum.degrees is None:
        return [f"{whose}: without a penalty every eigenvalue counts."]
    return [
        (
            f"{whose}: alpha leaves {spectrum.degrees:.3g} effective degrees of freedom, of {spectrum.rows} that there "
            "could be. Eigenvalues above the line of alpha are kept, those below are damped."
        )
    ]


def influence_words(facts: Facts) -> list[str]:
    """What columns are worth, and how that was found."""
    if not facts.influence:
        return ["No column is learned from."]
    unit = "the share of wrong labels" if facts.labels is not None else "the root mean squared error"
    part = "" if facts.tried_on == facts.data.rows else f", of {facts.tried_on} drawn at random"
    lines = [
        (
            f"By permutation: by how much {unit} rises when a column is shuffled among rows held out of the fit"
            f"{part} ({share_of(facts.parts)} at a time, kernels as chosen). Columns that say the same cover for one "
            "another."
        )
    ]
    if len(facts.influence) < facts.data.used:
        lines.append(f"Of {facts.data.used} columns, the {len(facts.influence)} that say most on their own were tried.")
    idle = [each.name for each in facts.influence if each.rise < 2 * each.standard_error]
    if idle:
        lines.append(f"No influence that can be told from chance: {listed(idle)}.")
    return lines
