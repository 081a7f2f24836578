"""Out-of-sample errors: residuals, coverage of intervals, nested cross-validation, permuted targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mercer.data.rows import Array, Estimator, Seed, SplitsLike, XLike, YLike
from mercer.displays.look import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    Display,
    check_kind,
    fill_band,
    larger,
    short_kernel,
)
from mercer.errors import refuse_if
from mercer.estimators import cross_validate, nested_cross_validate
from mercer.estimators.pipelines import fitting_columns, split_pipeline
from mercer.insight.intervals import Coverage
from mercer.selection.outcome import Outcome, numbers_text
from mercer.text import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ("observed", "residuals")


class ResidualDisplay(Display, grid="both"):
    """Held-out predictions beside what was observed.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        Observed and held-out predicted targets.
    kind : {"observed", "residuals"}, default="observed"
        Observed against predicted, or observed less predicted against predicted.
    y_label : str, default="y"
        Name of the target, with units.

    Examples
    --------
    >>> from mercer.displays import ResidualDisplay
    >>> display = ResidualDisplay.from_predictions([1.0, 2.0, 3.0], [1.5, 2.0, 2.0], kind="residuals")
    >>> display.residuals.tolist()
    [-0.5, 0.0, 1.0]
    """

    y: Array
    predicted: Array
    kind: str = "observed"
    y_label: str = "y"

    @property
    def residuals(self) -> Array:
        """Observed less predicted."""
        return np.asarray(self.y - self.predicted)

    @classmethod
    def from_predictions(
        cls, y: YLike, predicted: YLike, *, kind: str = "observed", y_label: str = "y", ax: Axes | None = None
    ) -> Self:
        """Any observed and predicted values.

        Parameters
        ----------
        y, predicted : array-like of shape (n,)
            Observed and predicted.
        kind, y_label
            As for the class.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        ResidualDisplay
        """
        refuse_if(kind not in _KINDS, "kind of ResidualDisplay", "'observed' or 'residuals'", repr(kind))
        observed, values = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
        alike = observed.ndim == 1 and observed.shape == values.shape
        got = f"shapes {observed.shape} and {values.shape}"
        refuse_if(not alike, "y and predicted of ResidualDisplay", "two lists of equal length", got)
        return cls(observed, values, kind, y_label).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: XLike,
        y: YLike,
        *,
        cv: SplitsLike = 10,
        random_state: Seed = None,
        kind: str = "observed",
        y_label: str = "y",
        ax: Axes | None = None,
    ) -> Self:
        """Held-out predictions of a search that was fitted to these rows, or of a model cross-validated here.

        Parameters
        ----------
        estimator : regressor
            A fitted search has its held-out predictions; repeats are averaged. Any other is cross-validated.
        X, y : array-like
            Rows and targets; for a fitted search those of its fit.
        cv, random_state
            As for `mercer.cross_validate`.
        kind, y_label
            As for the class.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        ResidualDisplay
        """
        check_kind("ResidualDisplay", estimator, classifier=False)
        held_out = getattr(estimator, "cv_predictions_", None)
        if held_out is None:
            held_out = cross_validate(estimator, X, y, cv=cv, random_state=random_state).predictions
        predicted = np.asarray(held_out).mean(axis=0)
        there = np.isfinite(predicted) if predicted.ndim == 1 else slice(None)  # some folds do not test every row
        return cls.from_predictions(np.asarray(y)[there], predicted[there], kind=kind, y_label=y_label, ax=ax)

    def _figure_size(self) -> tuple[float, float]:
        return (5.2, 4.8) if self.kind == "observed" else (6.4, 4.4)

    def _draw(self, ax: Axes) -> tuple[str, str]:
        observed = self.kind == "observed"
        shown = self.y if observed else self.residuals
        many = min(0.7, max(0.15, 100.0 / len(self.y)))
        ax.plot(self.predicted, shown, "o", color=BLUE, markersize=4.5, alpha=many, markeredgewidth=0)
        if observed:
            both = self.y, self.predicted
            ends = [np.min(both), np.max(both)]
            ax.plot(ends, ends, "--", color=BLACK, linewidth=1.2)
            ax.set_aspect("equal", adjustable="datalim")
        else:
            ax.axhline(0.0, color=BLACK, linestyle="--", linewidth=1.2)
        error = float(np.sqrt(np.mean(self.residuals**2)))
        ax.set_title(f"root mean squared error {plain(error, 3)}, {len(self.y)} rows", loc="left", fontsize="medium")
        return f"predicted {self.y_label}", f"{'observed' if observed else 'residual of'} {self.y_label}"


class CoverageDisplay(Display, size=(5.2, 4.8), grid="both", legend={"loc": "lower right", "fontsize": "small"}):
    """Coverage against nominal confidence; correct intervals lie on the diagonal, up to sampling error.

    Parameters
    ----------
    confidence, share : ndarray of shape (k,)
        Nominal confidence, and measured coverage.
    rows : int
        How many rows were asked about.
    method : str
        How the intervals were made.

    Examples
    --------
    >>> from mercer.displays import CoverageDisplay
    >>> from mercer.insight.intervals import Coverage
    >>> found = [Coverage(share, 1.0, asked, "cv+", 100) for asked, share in ((0.5, 0.52), (0.9, 0.88))]
    >>> CoverageDisplay.from_coverages(found).share.tolist()
    [0.52, 0.88]
    """

    confidence: Array
    share: Array
    rows: int
    method: str = ""

    @classmethod
    def from_coverages(cls, coverages: Sequence[Coverage], *, ax: Axes | None = None) -> Self:
        """Several answers of `coverage`, about the same rows.

        Parameters
        ----------
        coverages : sequence of Coverage
            At different confidences.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        CoverageDisplay
        """
        ordered = sorted(coverages, key=lambda coverage: coverage.confidence)
        nominal, shares = np.array([(coverage.confidence, float(coverage)) for coverage in ordered]).T
        return cls(nominal, shares, ordered[0].rows, ordered[0].method).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, X: XLike, y: YLike, *, confidences: Any = None, ax: Axes | None = None
    ) -> Self:
        """Measure the coverage of a fitted model on new rows.

        Parameters
        ----------
        estimator : fitted regressor of mercer, or a Pipeline that ends in one
            With `coverage`.
        X, y : array-like
            New rows and their targets.
        confidences : sequence of float, default=None
            None: 0.1 to 0.9, 0.95 and 0.99.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        CoverageDisplay
        """
        nominal = [*np.arange(0.1, 0.95, 0.1).round(1), 0.95, 0.99] if confidences is None else confidences
        check_kind("CoverageDisplay", estimator, classifier=False)
        transformers, model = split_pipeline(estimator)
        must_be = "a regressor of mercer, or a Pipeline that ends in one"
        refuse_if(not hasattr(model, "coverage"), "The estimator of CoverageDisplay", must_be, type(model).__name__)
        X = fitting_columns(estimator, X)
        rows = X if transformers is None else transformers.transform(X)
        return cls.from_coverages([model.coverage(rows, y, float(each)) for each in nominal], ax=ax)

    def _draw(self, ax: Axes) -> tuple[str, str]:
        line = np.linspace(0.0, 1.0, 101)
        chance = 2.0 * np.sqrt(line * (1.0 - line) / self.rows)
        ends = np.clip(line - chance, 0, 1), np.clip(line + chance, 0, 1)
        fill_band(ax, line, *ends, GREY, f"chance of {self.rows} rows, two standard errors")
        ax.plot(line, line, "--", color=BLACK, linewidth=1.2, label="nominal")
        (shares,) = ax.plot(self.confidence, self.share, "-o", color=BLUE, markersize=5, linewidth=1.8, clip_on=False)
        shares.set_label(self.method or "found")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        return "nominal confidence", "coverage (share of new targets inside)"


class NestedDisplay(Display, grid="x"):
    """One line per fold: its score, and for a search the inner score of the best candidate, and the candidate itself.

    Parameters
    ----------
    outer : ndarray of shape (folds,)
        Scores, of all repeats one after the other; larger is better.
    inner : ndarray of shape (folds,) or None
        Inner scores of the best candidates; None where nothing was chosen.
    chosen : list of str
        The best candidate of every fold; empty where nothing was chosen, or scores are pooled over folds.
    scoring : str
        What the score is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV, nested_cross_validate
    >>> from mercer.displays import NestedDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> search = KernelRidgeCV([Gaussian(w) for w in (0.5, 1.0, 2.0)], [1e-3, 1e-2, 1e-1])
    >>> result = nested_cross_validate(search, X, np.sin(X[:, 0]), cv=5, random_state=0)
    >>> display = NestedDisplay.from_result(result)
    >>> len(display.chosen), bool(display.optimism == result.optimism)
    (5, True)
    """

    outer: Array
    inner: Array | None
    chosen: list[str]
    scoring: str = "score"

    @property
    def optimism(self) -> float:
        """Mean inner score less mean outer score; NaN where nothing was chosen."""
        return math.nan if self.inner is None else float(self.inner.mean() - self.outer.mean())

    @classmethod
    def from_result(cls, result: Outcome, *, x_label: str | None = None, ax: Axes | None = None) -> Self:
        """What `cross_validate`, `nested_cross_validate` or `evaluate` of an automatic model returned.

        Parameters
        ----------
        result : Outcome
            The scores and choices.
        x_label : str, default=None
            Of the scores' axis, with units.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        NestedDisplay
        """
        scores = result.scores.reshape(*result.scores.shape[:2], -1).mean(axis=2).ravel()
        chosen = [f"{short_kernel(each['kernel'])}, alpha {numbers_text(each['alpha'], 3)}" for each in result.chosen]
        inner = None if result.inner_scores is None else result.inner_scores.ravel()
        label = x_label or larger(result.scoring)
        return cls(scores, inner, chosen if len(chosen) == len(scores) else [], label).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        search: Estimator,
        X: XLike,
        y: YLike,
        *,
        cv: SplitsLike = 10,
        random_state: Seed = None,
        ax: Axes | None = None,
    ) -> Self:
        """Run `nested_cross_validate` and draw what it returns.

        Parameters
        ----------
        search, X, y, cv, random_state
            As for `mercer.nested_cross_validate`.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        NestedDisplay
        """
        return cls.from_result(nested_cross_validate(search, X, y, cv=cv, random_state=random_state), ax=ax)

    def _figure_size(self) -> tuple[float, float]:
        return 8.0, min(12.0, 1.9 + 0.3 * len(self.outer))

    def _draw(self, ax: Any) -> tuple[str, str]:
        count, outer, title = len(self.outer), float(self.outer.mean()), None
        places = np.arange(1, count + 1)
        if self.inner is not None:
            inner, title = float(self.inner.mean()), f"optimism {self.optimism:.2g}"
            ax.hlines(places, self.inner, self.outer, color=GREY, linewidth=1.5)
            ax.axvline(inner, color=VERMILION, linestyle="--", linewidth=1.4)  # named with the points
            look = {"color": VERMILION, "markerfacecolor": "white", "markeredgewidth": 1.5}
            ax.plot(self.inner, places, "s", label=f"inner (mean {inner:.3g}, dashed)", **look)
        ax.axvline(outer, color=BLUE, linestyle="-", linewidth=1.4)
        ax.plot(self.outer, places, "o", color=BLUE, label=f"{'outer ' * bool(title)}(mean {outer:.3g}, solid)")
        step = -(-count // 30)
        names = [f"{i}: {text}" for i, text in zip(places, self.chosen, strict=True)] if self.chosen else places
        ax.set_yticks(places[::step], list(names)[::step])
        ax.set_ylim(count + 0.6, 0.4)
        ax.locator_params(axis="x", nbins=6)
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "alignment": "left", "ncols": 2}
        space = {"borderaxespad": 0.2, "handletextpad": 0.3, "columnspacing": 1.2}
        ax.legend(title=title, frameon=False, **place, **space)
        return self.scoring, "outer fold and its choice" if self.chosen else "fold or repeat"


class NullDisplay(Display, size=(6.0, 3.8), grid="y", legend={}):
    """Scores of permutations, and the score of the targets as observed; `mercer.permutation_test` computes them.

    Parameters
    ----------
    null : ndarray of shape (permutations,)
        Scores of permuted targets.
    score, pvalue : float
        The score of the targets as observed, and what the test makes of it.
    scoring : str, default="score"
        Name of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.displays import NullDisplay
    >>> NullDisplay(np.linspace(-2.0, -1.0, 50), -0.5, 0.02).plot().ax_.get_xlabel()
    'score (larger is better)'
    """

    null: Array
    score: float
    pvalue: float
    scoring: str = "score"

    def _draw(self, ax: Axes) -> tuple[str, str]:
        ax.hist(self.null, bins=min(40, max(5, len(self.null) // 10)), color=GREY, label="permuted targets")
        ax.axvline(self.score, color=VERMILION, linewidth=2.0, label=f"as observed, p = {self.pvalue:.3g}")
        return larger(self.scoring), f"of {len(self.null)} permutations"
