"""The sentences of a report, and its estimates of the error: pure functions of its facts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mercer.report.evaluation import ModelEvaluation
from mercer.report.facts import CommitteeChoice, SearchChoice
from mercer.report.worries import Worry
from mercer.selection.outcome import Outcome, doubt
from mercer.text import beside, counted, legible, listed, number, percent

_ASKED = 0.9  # the confidence that is told
_UNEVEN = 0.1  # difference in coverage between small and large predictions that is worth a hint
_NEARLY = 0.005  # of an error: not worth a word
_SAME = 1e-6  # estimates closer than this differ by rounding
_ERRORS = {  # the error and the baseline, by what is measured
    "share": (
        "Out-of-sample error: {value} of the labels are wrong. Baseline (predicting the most common label): {base}."
    ),
    "error": "Out-of-sample error ({measure}): {value}. Baseline (predicting the mean of {target}): {base}.",
    "score": "Out-of-sample score ({measure}): {value}. Baseline (predicting the {common}): {base}.",
}
_RULES = {
    "best": "the best mean score",
    "one_se": "the largest alpha within one standard error of the best score, for a smoother model",
}


def title(facts: ModelEvaluation) -> str:
    """What was predicted from what."""
    return f"Predicting {legible(facts.data.target)}"


def summary(facts: ModelEvaluation, worried: list[Worry]) -> list[str]:
    """The result in a few sentences: what, how good, against what, and what to know."""
    return [_what(facts), _how_good(facts), *_unit(facts), *_to_know(facts, worried)]


def _what(facts: ModelEvaluation) -> str:
    data = facts.data
    where = f" of {legible(data.origin.name)}" if data.origin.name else ""
    kind = "label" if facts.labels is not None else "number"
    columns = counted(data.feature_count, "column")
    predicts = f"This model predicts {legible(data.target)}, a {kind}, from {columns}."
    return f"{predicts} It was fitted to {data.rows} rows{where}."


def _how_good(facts: ModelEvaluation) -> str:
    outcome, target = facts.outcome, legible(facts.data.target)
    common = "most common label" if facts.labels is not None else f"mean of {target}"
    value, base = quantity(outcome, outcome.error) + give_or_take(outcome), quantity(outcome, outcome.baseline)
    template = _ERRORS["share" if outcome.measure.share else "error" if outcome.measure.smaller_is_better else "score"]
    words = template.format(value=value, base=base, measure=outcome.measure.name, target=target, common=common)
    if outcome.useful:
        return words
    numbers = () if facts.held is None else (facts.held.observed, facts.held.predicted)
    return f"{words} {doubt(value, base, *numbers)}"


def _unit(facts: ModelEvaluation) -> list[str]:
    """The error in units of the target."""
    if facts.held is None or not facts.outcome.useful:
        return []
    held = facts.held
    return [
        (
            f"In units of {legible(facts.data.target)}: half of the predictions are off by less than "
            f"{number(held.half, 3)}, nine in ten by less than {number(held.most, 3)}. The columns explain "
            f"{percent(held.explained)} of the variance."
        )
    ]


def _to_know(facts: ModelEvaluation, worried: list[Worry]) -> list[str]:
    lines = []
    matter = [each for each in facts.influence if each.rise > 2 * each.standard_error]
    if matter:
        lines.append(f"Most important columns: {listed([each.name for each in matter[:3]])}.")
    elif len(facts.influence) > 1 and facts.outcome.useful:
        lines.append("No single column has significant importance. Correlated columns share importance.")
    lines += _sure(facts)
    grave = [worry for worry in worried if worry.level == "serious"]
    looks = [worry for worry in worried if worry.level == "look"]
    if grave:
        lines.append(f"Check before use: {'; '.join(_small(worry.title) for worry in grave)}.")
    elif looks:
        lines.append(f"Warnings: {'; '.join(_small(worry.title) for worry in looks[:2])}.")
    return lines


def _sure(facts: ModelEvaluation) -> list[str]:
    """The mean width and coverage of the intervals, unless they are infinite."""
    at = next((each for each in facts.coverage if each.confidence == _ASKED), None)
    if at is None or not math.isfinite(at.width) or not facts.outcome.useful:
        return []
    share = f"{percent(float(at))} of held-out targets"
    return [
        f"{percent(_ASKED)} prediction intervals are {number(float(at.width))} wide on average and contain {share}."
    ]


def _small(text: str) -> str:
    """A title inside a sentence; titles begin with a plain word or a number."""
    return text[0].lower() + text[1:]


def data_words(facts: ModelEvaluation) -> list[str]:
    """The table and the target."""
    data = facts.data
    missing = counted(data.missing, "missing value") if data.missing else "no missing values"
    columns = f"{counted(len(data.columns), 'column')} without the target"
    lines = [f"{counted(data.rows, 'row')}, {columns}; {missing}."]
    target = legible(data.target)
    if data.numbers is not None:
        spread = data.numbers[3]
        low, mean, high = (beside(value, spread) for value in data.numbers[:3])
        lines.append(
            f"The target, {target}, goes from {low} to {high}; its mean is {mean}, its standard deviation "
            f"{number(spread)}."
        )
    else:
        shown = ", ".join(f"{legible(label)} ({rows})" for label, rows in data.counts[:5])
        more = f" and {len(data.counts) - 5} more" if data.counts[5:] else ""
        lines.append(f"The target, {target}, has {counted(len(data.counts), 'label')}: {shown}{more}.")
    if data.ignored:
        lines.append(f"Not used as features: {listed(list(data.ignored))}.")
    return [*lines, *(legible(note, 2000) for note in data.origin.notes)]


def choice_words(facts: ModelEvaluation) -> list[str]:
    """The selected model, and how it was selected."""
    choice = facts.choice
    if isinstance(choice, CommitteeChoice):
        kept = [member for member in choice.members if member.weight > 0]
        several = f"{counted(len(kept), 'kernel')} are combined, with weights from out-of-fold predictions"
        used = (
            several
            if len(kept) > 1
            else "one is used: the others get weight 0"
            if len(choice.members) > 1
            else "it is used"
        )
        lines = [
            (
                f"{counted(len(choice.members), 'kernel')} {'was' if len(choice.members) == 1 else 'were'} tuned by "
                f"minimizing the error on held-out rows, of {choice.tuned_on} rows; {used} ({choice.how})."
            )
        ]
        best = min(choice.members, key=lambda member: member.error)
        lines.append(f"The best single kernel is {best.name} (smallest out-of-fold error).")
        return [*lines, choice.loss] if choice.loss else lines
    tried = choice.kernels * choice.alphas
    if tried == 1:
        return [
            f"One kernel and one alpha were given: {choice.kernel} with alpha {choice.alpha}. No selection was needed."
        ]
    lines = [
        (
            f"{counted(choice.kernels, 'kernel')} and {counted(choice.alphas, 'alpha')} were compared by "
            f"{choice.scoring} ({choice.folds}). Selected ({_RULES[choice.rule]}): {choice.kernel} "
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
        return [f"All {folds} outer folds chose the same candidate."]
    if not same:
        chose = ", ".join(f"{count} {name}" for name, count in choice.families)
        said = f"None of {folds} outer folds chose exactly this candidate; by the kind of kernel they chose: {chose}."
        return [f"{said} Ladders of widths and alphas that were not given follow from the rows of each fold."]
    return [f"{same} of {folds} outer folds chose exactly this candidate."]


def held_out_words(facts: ModelEvaluation) -> list[str]:
    """Predicted against observed, or right and wrong labels."""
    if facts.held is not None:
        held = facts.held
        outer = "outer cross-validation" if facts.outcome.outer else "out-of-fold"
        lines = [f"Every point is a row, predicted by a model fitted without this row ({outer})."]
        many = len(held.outliers)
        if many:
            lines.append(f"{counted(many, 'residual')} {'is an outlier' if many == 1 else 'are outliers'}.")
        else:
            lines.append("No residual is an outlier.")
        return lines
    assert facts.labels is not None  # noqa: S101 - a report has one or the other
    least = min(each.found for each in facts.labels.each)
    worst = [each for each in facts.labels.each if each.found == least]
    names, rows = listed([each.label for each in worst]), sum(each.rows for each in worst)
    whose = f"Label {names} has" if len(worst) == 1 else f"Labels {names} have"
    return [
        "Every row was predicted by a model fitted without this row.",
        f"{whose} the lowest recall: {percent(least)} of {counted(rows, 'row')}.",
    ]


def calibration_words(facts: ModelEvaluation) -> list[str]:
    """How well probabilities are calibrated."""
    if facts.labels is None:
        return []
    found = facts.labels.calibration
    close = "well calibrated" if found.gap < 0.05 else "roughly calibrated" if found.gap < 0.12 else "poorly calibrated"
    return [
        (
            f"Held-out probabilities are {close}: the mean calibration error is {percent(found.gap)}. The calibration "
            "(temperature and class offsets) was fitted on the same rows, so this error is slightly optimistic."
        )
    ]


def coverage_words(facts: ModelEvaluation) -> list[str]:
    """The coverage of the prediction intervals."""
    at = next((each for each in facts.coverage if each.confidence == _ASKED), None)
    if at is None:
        return []
    wide = f"They are {number(float(at.width))} wide on average" if math.isfinite(at.width) else "They are infinite"
    targets = counted(at.rows, "held-out target")
    return [
        f"{percent(_ASKED)} prediction intervals contain {percent(float(at))} of {targets}. {wide}.",
        *_by_size(facts),
        f"Measured with {facts.coverage_how}.",
    ]


def _by_size(facts: ModelEvaluation) -> list[str]:
    """Coverage and width for small, middle and large predictions."""
    if not facts.coverage_by_size or not all(math.isfinite(each.width) for each in facts.coverage_by_size):
        return []
    parts = zip(("smallest", "middle", "largest"), facts.coverage_by_size, strict=True)
    told = [f"{name} third {percent(float(each))} (mean width {number(each.width)})" for name, each in parts]
    words = f"By size of the prediction they contain: {', '.join(told)}."
    first, last = float(facts.coverage_by_size[0]), float(facts.coverage_by_size[-1])
    if first - last > _UNEVEN and (facts.subject.y > 0).all() and not hasattr(facts.subject.model, "log_factor_"):
        words += " They are too narrow for large predictions: fit the logarithm of the target."
    return [words]


def spectrum_words(facts: ModelEvaluation) -> list[str]:
    """How flexible the model is."""
    spectrum = facts.spectrum
    if spectrum is None:
        return ["All columns are constant, so there is no spectrum."]
    part = "" if spectrum.rows == facts.data.rows else f", on {spectrum.rows} rows drawn at random"
    what = spectrum.what + (", the member with the largest weight" if facts.subject.auto else "") + part
    if spectrum.degrees is None:
        return [f"Kernel: {what}. With alpha = 0 no component is damped."]
    return [
        (
            f"Kernel: {what}. The model has {spectrum.degrees:.3g} effective degrees of freedom (number of rows: "
            f"{spectrum.rows}). Components with eigenvalues well below alpha are damped."
        )
    ]


def influence_words(facts: ModelEvaluation) -> list[str]:
    """The importance of columns, and how it was computed."""
    if not facts.influence:
        return ["No column is used."]
    unit = "the share of wrong labels" if facts.labels is not None else "the root mean squared error"
    part = "" if facts.tried_on == facts.data.rows else f", on {facts.tried_on} sampled rows"
    lines = [
        (
            f"Permutation importance on held-out rows: the increase of {unit} when the values of a column are "
            f"permuted. It is computed in {facts.parts} folds, with the kernel parameters fixed{part}. Correlated "
            "columns share importance."
        )
    ]
    if len(facts.influence) < facts.data.feature_count:
        lines.append(
            f"Only the {len(facts.influence)} columns with the best single-column prediction were permuted (of "
            f"{facts.data.feature_count})."
        )
    idle = [each.name for each in facts.influence if each.rise < 2 * each.standard_error]
    if idle:
        lines.append(f"No significant importance: {listed(idle)}.")
    return lines


def quantity(outcome: Outcome, value: float) -> str:
    """An error or a score, as its measure is read."""
    return f"{100 * value:.1f} %" if outcome.measure.share else number(value)


def give_or_take(outcome: Outcome) -> str:
    """The standard error, with its sign; nothing where there is none."""
    by = outcome.error_standard_error
    if math.isnan(by):
        return ""
    spread = f"{100 * by:.1f} %" if outcome.measure.share else number(by, 2)
    return f"\u00a0±\u00a0{spread}"


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
    outcome = facts.outcome
    outer = quantity(outcome, outcome.error) + give_or_take(outcome)
    found = []
    if not math.isnan(facts.training_error):
        worth = "Training error: too low for new rows."
        found.append(Estimate("Training rows", facts.training_error, quantity(outcome, facts.training_error), worth))
    if outcome.outer:
        worth = f"Too optimistic: the model was chosen by this number ({facts.chosen_how})."
        found.append(
            Estimate(
                "Cross-validation of the best candidate", facts.chosen_by, quantity(outcome, facts.chosen_by), worth
            )
        )
        worth = f"{outcome.how[0].upper()}{outcome.how[1:]}. Quote this number."
        found.append(Estimate("Out-of-sample", outcome.error, outer, worth, quoted=True))
    else:
        seen = "widths and alphas" if "widths tuned on rows of all folds" in facts.chosen_how else "only the weights"
        worth = (
            f"{facts.chosen_how[0].upper()}{facts.chosen_how[1:]}{_correction_words(facts)}; {seen} of the kernels "
            "were fitted to these rows. Quote this number."
        )
        found.append(Estimate("Out-of-sample (estimated)", outcome.error, outer, worth, quoted=True))
    base = (
        "Baseline (predicting the most common label)" if facts.labels is not None else "Baseline (predicting the mean)"
    )
    worth = "A useful model has a lower error."
    found.append(Estimate(base, outcome.baseline, quantity(outcome, outcome.baseline), worth))
    return found


def _correction_words(facts: ModelEvaluation) -> str:
    """What an out-of-fold error was multiplied by, and why."""
    held, outcome = facts.held, facts.outcome
    if held is None:
        return ""
    raw = math.sqrt(float(((held.observed - held.predicted) ** 2).mean()))
    if not raw or abs(outcome.error / raw - 1.0) < _NEARLY:
        return ""
    return f" ({number(raw)}), times {outcome.error / raw:.2f} because models of all rows have a lower error"


def optimism_words(facts: ModelEvaluation) -> list[str]:
    """How optimistic the cross-validation error of the best candidate is."""
    outcome = facts.outcome
    if not outcome.outer:
        return [
            (
                "No outer cross-validation was run. It repeats every step in every fold, including the weights; for "
                "tables of this size its result is close to this estimate. To run it, call "
                "evaluate(X, y) of the model, or set the number of folds of the command mercer fit."
            )
        ]
    gap = abs(facts.optimism)
    size = f"{100 * gap:.1f} percentage points" if outcome.measure.share else number(gap, 2)
    if gap <= _SAME * abs(outcome.error):
        return ["The cross-validation error of the best candidate and the out-of-sample error agree."]
    small = not math.isnan(outcome.error_standard_error) and gap < outcome.error_standard_error
    less = ", less than the standard error" * small
    if facts.optimism > 0:
        return [f"The cross-validation error of the best candidate is too optimistic by {size}{less}."]
    larger = f"The cross-validation error of the best candidate is larger than the out-of-sample error by {size}{less}"
    return [f"{larger}: by chance, or because its training folds are smaller."]
