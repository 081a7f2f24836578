"""How good a model, or the search for one, is on rows that it has not seen: one result, whatever found it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mercer.data.folds import Folds
from mercer.data.rows import Array
from mercer.selection.plan import Plan
from mercer.selection.scoring import Scoring
from mercer.selection.table import held_out_ratio, standard_error
from mercer.text import Shown, plain, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIGNAL = 2.0  # z above which a model is better than the baseline
_RANKED = 1e-3  # p of a rank correlation that is told beside a model that is not better by squared errors


@dataclass(frozen=True)
class Measure:
    """How a score is read: as an error, where people think in errors.

    Attributes
    ----------
    name : str
        What the number is.
    kind : {"root", "minus", "share", "score"}
        The root of minus the score, minus the score, one less the score, or the score itself.

    Examples
    --------
    >>> from mercer.selection.outcome import Measure
    >>> squares = Measure.of("neg_mean_squared_error")
    >>> squares.name, squares.value(-4.0), squares.spread(0.4, -4.0)
    ('root mean squared error', 2.0, 0.1)
    >>> Measure.of("r2").value(0.5)
    0.5
    """

    name: str
    kind: Literal["root", "minus", "share", "score"]

    @classmethod
    def of(cls, scoring: str) -> Measure:
        """The root of a mean squared error, the share of wrong labels for an accuracy, else the score by its name."""
        if scoring == "neg_mean_squared_error":
            return cls("root mean squared error", "root")
        return cls("share of wrong labels", "share") if scoring == "accuracy" else cls(scoring, "score")

    @property
    def smaller_is_better(self) -> bool:
        """True for errors, False for scores."""
        return self.kind != "score"

    @property
    def share(self) -> bool:
        """Whether it is a share of wrong labels, all of which count the same or each as its class does."""
        return self in (WRONG, WEIGHTED_WRONG) or self.kind == "share"

    def value(self, score: Any) -> Any:
        """The number that is told, of one score or of an array."""
        if self.kind == "root":
            root = np.sqrt(np.maximum(-score, 0.0))
            return root if np.ndim(score) else float(root)
        return {"minus": -score, "share": 1.0 - score}.get(self.kind, score)

    def spread(self, standard_error: Any, score: Any) -> Any:
        """Its standard error, from that of the score."""
        if self.kind != "root":
            return standard_error
        error = self.value(score)
        if np.ndim(error):
            return np.divide(standard_error, 2.0 * error, out=np.zeros_like(error), where=error > 0)
        return standard_error / (2.0 * error) if error else 0.0


# What automatic models measure; their scores are minus these.
ROOT_MEAN_SQUARE = Measure("root mean squared error", "minus")
WRONG = Measure("share of wrong labels", "minus")
WEIGHTED_WRONG = Measure("share of wrong labels, weighted by class", "minus")


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Shown):
    """How good a model, or the search for one, is on rows that it has not seen.

    Scores are larger for better models, as everywhere in scikit-learn. `error`, `error_standard_error` and `baseline`
    are the same for people: the root of a mean squared error, the share of wrong labels for an accuracy, any other
    score as it is.

    Attributes
    ----------
    measure : Measure
        What `error` is, and how it follows from the score.
    scoring : str
        Name of the score.
    scores : ndarray of shape (repeats, folds) or (repeats, folds, n_targets)
        Score of every split.
    mean, standard_error : float, or ndarray of shape (n_targets,)
        Score of all splits; its error is corrected for training sets that overlap (Nadeau and Bengio), and NaN where
        there is one score alone.
    kind, folds, route : str
        How it was found: by which loop, over which splits, and by which computation.
    base : float, or ndarray of shape (n_targets,)
        Score of predicting the mean (the most common label) of each training part; NaN where it was not computed.
    predictions : ndarray of shape (repeats, n) or (repeats, n, n_targets), or None
        Held-out predictions (labels for classifiers); NaN (None) for rows that were never held out.
    digits : float or None
        Decimal digits of the scores that are correct; None where they are not known.
    chosen : sequence of dict
        Kernel and alpha of every outer fold of a search.
    inner_scores : ndarray of shape (repeats, folds) or None
        Inner score of the best candidate of every outer fold of a search.
    candidates : int
        Kernels times alphas that each outer fold of a search chose from.
    plan : Plan or None
        Predicted cost of all routes of a search, as `explain` gives it.
    coverage : float or None
        Share of targets inside the 90 % intervals of an automatic model.
    signal : float, or ndarray of shape (n_targets,)
        z of the paired difference to the baseline over held-out rows, for automatic models: of squared errors, for
        classifiers of log losses. Above 2 the model is better than the baseline.
    outer : bool
        Whether all choices were repeated in every fold.
    from_all_rows : tuple of str
        What was computed once, from all rows, held-out ones included, and not again in every fold.
    measures : dict of str to (float, float)
        Several errors of the same predictions, each with its standard error (NaN where there is none).
    tables : dict of str to (header, rows)
        Errors per class, per range of predicted probability, per group.
    notes : sequence of str
        What should be known about them.
    """

    measure: Measure
    scoring: str
    scores: Array
    mean: Any
    standard_error: Any
    kind: str
    folds: str = ""
    route: str = ""
    base: Any = math.nan
    predictions: Array | None = None
    digits: float | None = None
    chosen: Sequence[Mapping[str, Any]] = ()
    inner_scores: Array | None = None
    candidates: int = 1
    plan: Plan | None = None
    coverage: float | None = None
    signal: Any = math.nan
    outer: bool = True
    from_all_rows: tuple[str, ...] = ()
    measures: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    tables: Mapping[str, tuple[list[str], list[tuple[Any, ...]]]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @classmethod
    def of_splits(cls, kind: str, scores: Array, folds: Folds, how: Scoring, **found: Any) -> Outcome:
        """The outcome of one score for each split, or for each repeat."""
        error, shaped = float(standard_error(scores, held_out_ratio(folds))), scores.reshape(len(folds.repeats), -1)
        return cls(Measure.of(how.name), how.name, shaped, float(scores.mean()), error, kind, folds.label, **found)

    @property
    def how(self) -> str:
        """The loop and its splits."""
        return ", ".join(filter(None, (self.kind, self.folds)))

    @property
    def error(self) -> Any:
        """The number that is told: an error, or the score itself where its measure is no error."""
        return self.measure.value(self.mean)

    @property
    def errors(self) -> Array:
        """The scores of all splits in the measure of `error`."""
        return np.asarray(self.measure.value(self.scores))

    @property
    def error_standard_error(self) -> Any:
        """Standard error of `error`."""
        return self.measure.spread(self.standard_error, self.mean)

    @property
    def baseline(self) -> Any:
        """The baseline in the measure of `error`."""
        return self.measure.value(self.base)

    @property
    def optimism(self) -> float:
        """Mean inner score of the best candidates minus mean outer score; NaN where nothing was chosen."""
        return math.nan if self.inner_scores is None else float(self.inner_scores.mean() - self.mean)

    @property
    def gain(self) -> Any:
        """How much better than the baseline, in the unit of `error`; negative where worse."""
        return (self.baseline - self.error) * (1 if self.measure.smaller_is_better else -1)

    @property
    def useful(self) -> bool:
        """Whether the model is better than the baseline by more than chance; of several targets, for any."""
        if np.isnan(self.signal).all():
            return bool(np.any(self.gain > np.nan_to_num(self.error_standard_error)))
        # the signal of log losses may be there although the share of wrong labels is not below that of the baseline
        return bool(np.any((np.asarray(self.signal) > SIGNAL) & (self.measure.share | (np.asarray(self.gain) > 0))))

    @property
    def rows(self) -> int:
        """How many rows there are predictions for."""
        return 0 if self.predictions is None else self.predictions.shape[1]

    @property
    def predicted(self) -> Array | None:
        """One prediction for each row: the mean over repeats, or the first label; NaN (None) where there is none."""
        values = self.predictions
        if values is None or values.dtype.kind != "f":
            return None if values is None else values[0]
        there = np.isfinite(values)
        total, count = np.where(there, values, 0.0).sum(axis=0), there.sum(axis=0)
        return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))

    @property
    def all_rows_words(self) -> str:
        """The sentence about what was computed from all rows; empty where everything was computed in every fold."""
        words = f"Computed once from all rows, held-out rows included: {'; '.join(self.from_all_rows)}."
        return words if self.from_all_rows else ""

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw the score of every fold, with the inner score of what it chose.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        NestedDisplay
        """
        from mercer.displays import NestedDisplay

        return NestedDisplay.from_result(self, ax=ax)

    def _columns(self) -> dict[str, list[Any]]:
        """The score of every split with what was chosen for it, if it has a choice of its own; or all measures."""
        if self.measures:
            told, errors = zip(*self.measures.values(), strict=True)
            return {"measure": list(self.measures), "value": list(told), "standard error": list(errors)}
        repeats, folds = (np.indices(self.scores.shape[:2]).reshape(2, -1) + 1).tolist()
        found: dict[str, list[Any]] = {"repeat": repeats, "fold": folds}
        if self._chose_by_fold:
            found |= {"kernel": [repr(choice["kernel"]) for choice in self.chosen]}
            found |= {"alpha": [choice["alpha"] for choice in self.chosen]}
            found |= {"inner score": np.ravel(self.inner_scores).tolist()}  # type: ignore[arg-type]
        for which, values in [("score", self.scores), ("error", self.errors)][: 1 + self.measure.smaller_is_better]:
            by_target = values.reshape(len(folds), -1).T.tolist()
            names = [which] if len(by_target) == 1 else [f"{which} {place}" for place in range(len(by_target))]
            found |= zip(names, by_target, strict=True)
        return found

    @property
    def _chose_by_fold(self) -> bool:
        """Whether every score has a choice of its own; scores of pooled folds have none."""
        return len(self.chosen) == self.scores.size

    def _measures_text(self) -> str:
        shown = [(name, plain(v), "" if math.isnan(by) else plain(by, 2)) for name, (v, by) in self.measures.items()]
        parts = [text_table(["measure", "value", "+-"], shown)]
        for title, (header, rows) in self.tables.items():
            cells = [[plain(c) if isinstance(c, float) else c for c in row] for row in rows]
            parts.append(f"{title}\n\n{text_table(header, cells)}")
        return "\n\n".join([*parts, *self.notes])

    def __str__(self) -> str:
        if self.measures:
            return self._measures_text()
        known = not np.isnan(self.standard_error).all()
        told = numbers_text(self.error) + f" +- {numbers_text(self.error_standard_error, 2)}" * known
        notes = ["one standard error" if known else "one score, so no standard error", self.how, self.route]
        words = f"Out-of-sample {self.measure.name}: {told} ({'; '.join(filter(None, notes))})"
        compared = not np.isnan(self.base).all()
        words += f"; baseline {numbers_text(self.baseline)}." if compared else "."
        words += f" {doubt(told, numbers_text(self.baseline))}" if compared and not self.useful else ""
        words += "" if self.coverage is None else f" 90 % intervals contain {100 * self.coverage:.0f} %."
        if self.inner_scores is None:
            return words
        distinct = len({(repr(choice["kernel"]), str(choice["alpha"])) for choice in self.chosen})
        agreed = f"The outer folds chose {distinct} candidates"
        agreed = agreed if distinct > 1 else "All outer folds chose the same candidate"
        cause = "selection and scoring use the same folds" if self.candidates > 1 else "folds of different size"
        words += (
            f"\nCross-validation score of the best candidate ({self.scoring}): {self.mean + self.optimism:.4g}, "
            f"optimistic by {self.optimism:.2g} ({cause}). {agreed}."
        )
        if not self._chose_by_fold:
            return words
        inner, outer = self.inner_scores.ravel().tolist(), self.scores.ravel().tolist()
        chosen = [(repr(choice["kernel"]), numbers_text(choice["alpha"], 3)) for choice in self.chosen]
        rows = [(i + 1, *chosen[i], inner[i], outer[i]) for i in range(len(chosen))]
        return words + "\n\n" + text_table(["fold", "kernel", "alpha", "inner", "outer"], rows)


def numbers_text(numbers: Any, digits: int = 4) -> str:
    """One number, or several, for people.

    Examples
    --------
    >>> from mercer.selection.outcome import numbers_text
    >>> numbers_text(0.12345), numbers_text([1.0, 2.5], 2)
    ('0.1235', '1, 2.5')
    """
    return ", ".join(f"{number:.{digits}g}" for number in np.atleast_1d(numbers))


def doubt(error: str, baseline: str, y: Array | None = None, predicted: Array | None = None) -> str:
    """The sentence for a model that is not shown to be better than the baseline; errors as they are printed.

    Squared errors of a few large targets can hide what ranks show: `y` and `predicted` are numbers of held-out rows.

    Examples
    --------
    >>> from mercer.selection.outcome import doubt
    >>> print(doubt("157 +- 21", "137"))
    The model is not shown to be better than the baseline (157 +- 21 against 137).
    """
    words = f"The model is not shown to be better than the baseline ({error} against {baseline})."
    if y is None or predicted is None or y.dtype.kind != "f" or np.ptp(y) == 0 or np.ptp(predicted) == 0:
        return words
    from scipy.stats import spearmanr

    rank = spearmanr(y, predicted)
    if not (rank.statistic > 0 and rank.pvalue < _RANKED):
        return words
    words += (
        f" Its held-out predictions follow the order of the targets (rank correlation {rank.statistic:.2f}), so the "
        "columns do tell something: a few large targets dominate the squared error."
    )
    return f"{words} Fit the logarithm of the target." if (y > 0).all() else words
