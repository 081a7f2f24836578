"""Evaluation of a fitted model: error, coverage, calibration, importance of columns, warnings; what a page adds."""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from pathlib import Path
from typing import Any

from mercer.data.checks import keyword_hints
from mercer.data.rows import Estimator, PerRow, XLike, YLike
from mercer.displays import SpectrumDisplay
from mercer.estimators.auto_evaluation import some_rows
from mercer.insight.intervals import Coverage
from mercer.models.records import stamp_now
from mercer.report.effects import average_effects, main_effects, row_influence
from mercer.report.facts import CommitteeChoice, Data, Origin, SearchChoice
from mercer.report.judging import LabelFacts, chosen_by, held_out_of, judge, training_error
from mercer.report.refits import coverages, fold_refits, influences
from mercer.report.subject import Subject
from mercer.text import Brief, Shown, legible, number, percent, text_table


class SpectrumFact(Brief):
    """Eigenvalues of the kernel on the rows, and the degrees of freedom that alpha leaves.

    The kernel is that of the best candidate, or of the member with the largest weight; of many rows a sample is taken.

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

    def __init__(self, subject: Subject) -> None:
        from matplotlib.figure import Figure

        model, rows = subject.model, some_rows(len(subject.y))
        if subject.auto:
            heaviest = max(model.members_, key=lambda member: member.weight)
            kernel, alpha, self.what = heaviest.kernel, float(heaviest.alpha), heaviest.name
        else:
            kernel, alpha, self.what = model.best_kernel_, float(model.alpha_), "the best candidate"
        Z, alphas, self.rows = subject.as_frame(subject.Z[rows]), [alpha] if alpha > 0 else [], len(rows)
        self.display = SpectrumDisplay.from_kernel(kernel, Z, alphas=alphas, ax=Figure().subplots())
        self.degrees = float(self.display.degrees[0]) if alphas else None


class Reproduction(Brief):
    """What it takes to do it again: command, versions, seed and the digest of the data."""

    def __init__(self, subject: Subject, origin: Origin) -> None:
        stamp = stamp_now()
        if origin.path and Path(origin.path).is_file():
            with Path(origin.path).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256")
            self.digest_of = f"the file {origin.name or origin.path}"
        else:
            digest, self.digest_of = hashlib.sha256(subject.Z.tobytes()), "the rows as numbers, with their targets"
            digest.update("\n".join(map(str, subject.y.tolist())).encode())
        self.command, self.versions, self.when = origin.command, stamp["versions"], stamp["when"]
        self.seed, self.digest = str(subject.model.random_state), digest.hexdigest()


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
    error, standard_error : float
        Out-of-sample error, or score, and its standard error.
    baseline : float
        Error of predicting the mean, or the most common label.
    predictions : ndarray or None
        Prediction of every row by a model that has not seen it.
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
    importance : dict of str to float
        By how much the error on unseen rows rises when a column is permuted, largest first.
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

    def __init__(self, subject: Subject, result: Any, origin: Origin) -> None:
        self.subject, self.outcome = subject, judge(subject, result)
        refits, outcome = fold_refits(subject), self.outcome
        self.error, self.standard_error = float(outcome.error), float(outcome.error_standard_error)
        self.baseline, self.predictions = float(outcome.baseline), outcome.predicted
        self.coverage, self.coverage_by_size, self.coverage_how = coverages(subject, refits, outcome)
        self.influence = tuple(influences(subject, refits)) if refits else ()
        self.importance = {each.name: each.rise for each in self.influence}
        important = [each.name for each in self.influence if each.margin > 0]
        self.chosen_by, self.chosen_how = chosen_by(subject, outcome)
        self.training_error = training_error(subject, outcome)
        self.choice = CommitteeChoice(subject) if subject.auto else SearchChoice(subject.model, outcome)
        self.held = held_out_of(subject.y, outcome)
        self.labels = LabelFacts(subject, outcome) if subject.classifier else None
        self.tried_on, self.parts = sum(len(each.test) for each in refits), len(refits)
        self.effects = tuple(main_effects(subject, refits, important))
        self.averages, self.single_rows = average_effects(subject), row_influence(subject)
        self.data = Data(subject, origin)

    @property
    def optimism(self) -> float:
        """How much better the estimate of choosing is than the out-of-sample error; negative where it is worse."""
        return (float(self.outcome.error) - self.chosen_by) * (1 if self.outcome.measure.smaller_is_better else -1)

    @cached_property
    def spectrum(self) -> SpectrumFact | None:
        """Eigenvalues of the kernel on the rows."""
        return SpectrumFact(self.subject) if self.subject.Z.shape[1] else None

    @cached_property
    def reproduction(self) -> Reproduction:
        """What it takes to fit the model again."""
        return Reproduction(self.subject, self.data.origin)

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
    subject = Subject(model, X, y, target=target, weights=sample_weight, groups=groups)
    return ModelEvaluation(subject, evaluation, Origin())
