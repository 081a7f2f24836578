"""The coverage of prediction intervals on new targets, against their nominal confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.data.rows import Array
from mercer.displays.look import BAND, BLACK, BLUE, GREY, Display, check_kind, grid_lines, named
from mercer.errors import InputError, sentence
from mercer.estimators.pipelines import fitting_columns, split_pipeline
from mercer.insight.intervals import Coverage


@dataclass(eq=False, repr=False)
class CoverageDisplay(Display):
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
    def from_coverages(cls, coverages: Sequence[Coverage], *, ax: Any = None) -> Self:
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
        found = sorted(coverages, key=lambda each: each.confidence)
        asked, share = np.array([each.confidence for each in found]), np.array([float(each) for each in found])
        return cls(asked, share, found[0].rows, found[0].method).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, confidences: Any = None, ax: Any = None) -> Self:
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
        asked = [*np.arange(0.1, 0.95, 0.1).round(1), 0.95, 0.99] if confidences is None else confidences
        check_kind("CoverageDisplay", estimator, classifier=False)
        transformers, model = split_pipeline(estimator)
        if not hasattr(model, "coverage"):
            must_be = "a regressor of mercer, or a Pipeline that ends in one"
            raise InputError(sentence("The estimator of CoverageDisplay", must_be, type(model).__name__))
        X = fitting_columns(estimator, X)
        rows = X if transformers is None else transformers.transform(X)
        return cls.from_coverages([model.coverage(rows, y, float(each)) for each in asked], ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        self
        """
        ax = self._on(ax, (5.2, 4.8))
        grid_lines(ax)
        line = np.linspace(0.0, 1.0, 101)
        chance = 2.0 * np.sqrt(line * (1.0 - line) / self.rows)
        ends = np.clip(line - chance, 0, 1), np.clip(line + chance, 0, 1)
        ax.fill_between(
            line, *ends, color=GREY, alpha=BAND, linewidth=0, label=f"chance of {self.rows} rows, two standard errors"
        )
        ax.plot(line, line, "--", color=BLACK, linewidth=1.2, label="nominal")
        ax.plot(
            self.confidence, self.share, "-o", color=BLUE, markersize=5, linewidth=1.8, clip_on=False,
            label=self.method or "found",
        )  # fmt: skip
        ax.set(xlim=(0, 1), ylim=(0, 1))
        ax.set_aspect("equal")
        named(ax, "nominal confidence", "coverage (share of new targets inside)")
        ax.legend(frameon=False, loc="lower right", fontsize="small")
        return self
