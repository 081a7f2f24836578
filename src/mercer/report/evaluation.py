"""Evaluation of a fitted model: error, coverage, calibration, importance of columns, warnings; what a page adds."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mercer.data.checks import keyword_hints
from mercer.data.rows import Estimator, PerRow, XLike, YLike
from mercer.displays import SpectrumDisplay
from mercer.inference.effects import MarginalEffects
from mercer.inference.influence import Influence
from mercer.insight.intervals import Coverage
from mercer.models.records import stamp_now
from mercer.report.effects import ColumnEffect, average_effects, main_effects, row_influence
from mercer.report.facts import CommitteeChoice, Data, Origin, SearchChoice, choice_of, data_of
from mercer.report.judging import HeldOutFacts, LabelFacts, chosen_by, held_out_of, judge, labels_of, training_error
from mercer.report.refits import ColumnImportance, coverages, fold_refits, influences, sample_rows
from mercer.report.subject import Subject, subject_of
from mercer.selection.outcome import Outcome
from mercer.text import Shown, legible, number, percent, text_table


@dataclass(frozen=True, eq=False)
class SpectrumFact:
    """Eigenvalues of the kernel on the rows, and the degrees of freedom that alpha leaves.

    Attributes
    ----------
    display : SpectrumDisplay
        The numbers, ready to be drawn.
    degrees : float or None
        Effective degrees of freedom; None without a penalty.
    rows : int
        How many rows it is about.
    what : str
        Whose kernel it is.
    """

    display: SpectrumDisplay
    degrees: float | None
    rows: int
    what: str


@dataclass(frozen=True)
class Reproduction:
    """What it takes to do it again."""

    command: str
    versions: dict[str, str]
    when: str
    seed: str
    digest: str
    digest_of: str


@dataclass(frozen=True, eq=False, repr=False)
class ModelEvaluation(Shown):
    """What is known about a fitted model; prints as a short text.

    Attributes
    ----------
    subject : Subject
        The model and its rows.
    data : Data
        The table.
    outcome : Outcome
        Out-of-sample error with its standard error, the baseline, and predictions of rows held out.
    chosen_by, chosen_how : float, str
        The estimate that choosing itself gave, and what it is.
    training_error : float
        Error on the rows of the fit; NaN where a score is told.
    choice : SearchChoice or CommitteeChoice
        What was tried, and what won.
    held : HeldOutFacts or None
        Targets and out-of-sample predictions of numbers.
    labels : LabelFacts or None
        Confusion matrix and calibration of a classifier.
    coverage : tuple of Coverage
        Share of unseen targets inside prediction intervals of several confidences.
    coverage_how : str
        How that was measured.
    influence : tuple of ColumnImportance
        Importance of each column, by permutation among rows held out; largest first.
    tried_on, parts : int
        Rows that importance and coverage were measured on, and in how many folds.
    effects : tuple of ColumnEffect
        How the columns of largest importance act on predictions.
    averages : MarginalEffects or None
        Average effects of columns, of models of up to 2000 rows.
    single_rows : Influence or None
        What leaving out each row changes, of models of up to 2000 rows that predict numbers.
    coverage_by_size : tuple of Coverage
        Coverage and mean width of 90 % intervals in thirds of the rows, smallest predictions first; empty for few rows.
    """

    subject: Subject
    data: Data
    outcome: Outcome
    chosen_by: float
    chosen_how: str
    training_error: float
    choice: SearchChoice | CommitteeChoice
    held: HeldOutFacts | None
    labels: LabelFacts | None
    coverage: tuple[Coverage, ...]
    coverage_how: str
    influence: tuple[ColumnImportance, ...]
    tried_on: int
    parts: int
    effects: tuple[ColumnEffect, ...] = ()
    averages: MarginalEffects | None = None
    single_rows: Influence | None = None
    coverage_by_size: tuple[Coverage, ...] = ()

    @property
    def error(self) -> float:
        """Out-of-sample error, or score."""
        return float(self.outcome.error)

    @property
    def standard_error(self) -> float:
        """Standard error of `error`."""
        return float(self.outcome.error_standard_error)

    @property
    def baseline(self) -> float:
        """Error of predicting the mean, or the most common label."""
        return float(self.outcome.baseline)

    @property
    def predictions(self) -> Any:
        """Prediction of every row by a model that has not seen it."""
        return self.outcome.predicted

    @property
    def optimism(self) -> float:
        """How much better the estimate of choosing is than the out-of-sample error; negative where it is worse."""
        return (self.error - self.chosen_by) * (1 if self.outcome.measure.smaller_is_better else -1)

    @property
    def importance(self) -> dict[str, float]:
        """By how much the error on unseen rows rises when a column is permuted, largest first."""
        return {each.name: each.rise for each in self.influence}

    @cached_property
    def spectrum(self) -> SpectrumFact | None:
        """Eigenvalues of the kernel on the rows."""
        return spectrum_of(self.subject)

    @cached_property
    def reproduction(self) -> Reproduction:
        """What it takes to fit the model again."""
        return reproduction_of(self.subject, self.data.origin)

    @property
    def nine_in_ten(self) -> Coverage | None:
        """Coverage of 90 % prediction intervals."""
        return next((each for each in self.coverage if each.confidence == 0.9), None)

    @property
    def warnings(self) -> list[str]:
        """What may be wrong, serious things first."""
        from mercer.report.words import worries

        return [f"{worry.title}. {worry.text}" for worry in worries(self) if worry.level != "note"]

    def _columns(self) -> dict[str, list[Any]]:
        if not self.influence:
            return {"error": [self.error], "standard error": [self.standard_error], "baseline": [self.baseline]}
        rows = [(each.name, each.rise, each.standard_error) for each in self.influence]
        return dict(zip(("column", "importance", "standard error"), map(list, zip(*rows, strict=True)), strict=True))

    def __str__(self) -> str:
        outcome = self.outcome
        spread = "" if math.isnan(outcome.error_standard_error) else f" +- {number(outcome.error_standard_error, 2)}"
        word = f"{'error' if outcome.measure.smaller_is_better else 'score'} of {legible(self.subject.target)}"
        lines = [f"Out-of-sample {word}: {number(outcome.error)}{spread} ({outcome.measure.name}; {outcome.how})."]
        lines.append(f"Baseline: {number(outcome.baseline)}.")
        if self.nine_in_ten is not None:
            share = percent(float(self.nine_in_ten))
            lines.append(f"90 % prediction intervals contain {share} of held-out targets.")
        if self.labels is not None:
            lines.append(f"Probabilities differ from observed frequencies by {percent(self.labels.calibration.gap)}.")
        if self.influence:
            rows = [[each.name, each.rise, each.standard_error] for each in self.influence[:10]]
            lines += ["", text_table(["column", "importance", "std. error"], rows)]
        if found := self.warnings:
            lines += ["", *(f"Warning: {each}" for each in found)]
        return "\n".join(lines)


@keyword_hints
def evaluate(
    model: Estimator,
    X: XLike,
    y: YLike,
    *,
    evaluation: Any = None,
    target: str = "y",
    sample_weight: PerRow = None,
    groups: PerRow = None,
) -> ModelEvaluation:
    """Evaluate a fitted model: out-of-sample error, coverage, calibration, importance of columns and warnings.

    Parameters
    ----------
    model : AutoRegressor, AutoClassifier, KernelRidgeCV or KernelRidgeClassifierCV
        Fitted to these rows.
    X, y : table and array-like of shape (n_samples,)
        The rows and targets of the fit.
    evaluation : object, default=None
        The outer loop, if you have run it: what `evaluate` of an automatic model or `nested_cross_validate`
        returned. Without it a search is nested here, and an automatic model is judged by its out-of-fold error.
    target : str, default="y"
        What y is called.
    sample_weight, groups : array-like of shape (n_samples,), default=None
        As given to the fit of a search.

    Returns
    -------
    ModelEvaluation
        Prints; its attributes are the numbers.

    See Also
    --------
    mercer.report.write_report : The same as a page.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV, evaluate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(60, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.1 * rng.normal(size=60)
    >>> search = KernelRidgeCV("gaussian", cv=5, random_state=0).fit(X, y)
    >>> result = evaluate(search, X, y)
    >>> result.error < 0.3 * result.baseline, list(result.importance)
    (True, ['x1', 'x2'])
    """
    subject = subject_of(model, X, y, target=target, weights=sample_weight, groups=groups)
    return evaluate_subject(subject, evaluation, Origin())


def evaluate_subject(subject: Subject, result: Any, origin: Origin) -> ModelEvaluation:
    """The evaluation of a model and its rows."""
    outcome = judge(subject, result)
    refits = fold_refits(subject)
    found, by_size, how = coverages(subject, refits, outcome)
    ranked = influences(subject, refits) if refits else []
    important = [each.name for each in ranked if each.margin > 0]
    naive, chosen_how = chosen_by(subject, outcome)
    training, choice = training_error(subject, outcome), choice_of(subject, outcome)
    held, labels = held_out_of(subject.y, outcome), labels_of(subject, outcome) if subject.classifier else None
    tried_on, effects = sum(len(each.test) for each in refits), tuple(main_effects(subject, refits, important))
    rows = average_effects(subject), row_influence(subject), tuple(by_size)
    columns = tuple(found), how, tuple(ranked), tried_on, len(refits), effects, *rows
    data = data_of(subject, origin)
    return ModelEvaluation(subject, data, outcome, naive, chosen_how, training, choice, held, labels, *columns)


def spectrum_of(subject: Subject) -> SpectrumFact | None:
    """The spectrum of the best candidate, or of the member with the largest weight; on a sample of many rows."""
    if not subject.Z.shape[1]:
        return None
    from matplotlib.figure import Figure

    model, rows = subject.model, sample_rows(subject)
    if subject.auto:
        heaviest = max(model.members_, key=lambda member: member.weight)
        kernel, alpha, what = heaviest.kernel, float(heaviest.alpha), heaviest.name
    else:
        kernel, alpha, what = model.best_kernel_, float(model.alpha_), "the best candidate"
    Z, alphas = subject.as_frame(subject.Z[rows]), [alpha] if alpha > 0 else []
    display = SpectrumDisplay.from_kernel(kernel, Z, alphas=alphas, ax=Figure().subplots())
    return SpectrumFact(display, float(display.degrees[0]) if alphas else None, len(rows), what)


def reproduction_of(subject: Subject, origin: Origin) -> Reproduction:
    """Command, versions, seed and the digest of the data."""
    stamp = stamp_now()
    if origin.path and Path(origin.path).is_file():
        with Path(origin.path).open("rb") as file:
            digest, of = hashlib.file_digest(file, "sha256"), f"the file {origin.name or origin.path}"
    else:
        digest, of = hashlib.sha256(subject.Z.tobytes()), "the rows as numbers, with their targets"
        digest.update("\n".join(map(str, subject.y.tolist())).encode())
    seed = str(subject.model.random_state)
    return Reproduction(origin.command, stamp["versions"], stamp["when"], seed, digest.hexdigest(), of)
