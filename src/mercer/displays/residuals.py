"""Predicted against observed, and residuals, from predictions of rows that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.data.rows import Array, Seed
from mercer.displays.look import BLACK, BLUE, Display, check_kind, grid_lines, named
from mercer.errors import InputError, sentence
from mercer.estimators import cross_validate
from mercer.text import plain

_KINDS = ("observed", "residuals")


@dataclass(eq=False, repr=False)
class ResidualDisplay(Display):
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
        cls, y: Any, predicted: Any, *, kind: str = "observed", y_label: str = "y", ax: Any = None
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
        if kind not in _KINDS:
            raise InputError(sentence("kind of ResidualDisplay", "'observed' or 'residuals'", repr(kind)))
        observed, values = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
        if observed.ndim != 1 or observed.shape != values.shape:
            got = f"shapes {observed.shape} and {values.shape}"
            raise InputError(sentence("y and predicted of ResidualDisplay", "two lists of equal length", got))
        return cls(observed, values, kind, y_label).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        cv: Any = 10,
        random_state: Seed = None,
        kind: str = "observed",
        y_label: str = "y",
        ax: Any = None,
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
        observed = self.kind == "observed"
        ax = self._on(ax, (5.2, 4.8) if observed else (6.4, 4.4))
        grid_lines(ax)
        shown = self.y if observed else self.residuals
        many = min(0.7, max(0.15, 100.0 / len(self.y)))
        ax.plot(self.predicted, shown, "o", color=BLUE, markersize=4.5, alpha=many, markeredgewidth=0)
        if observed:
            both = np.concatenate([self.y, self.predicted])
            ends = np.array([both.min(), both.max()])
            ax.plot(ends, ends, "--", color=BLACK, linewidth=1.2)
            ax.set_aspect("equal", adjustable="datalim")
        else:
            ax.axhline(0.0, color=BLACK, linestyle="--", linewidth=1.2)
        error = float(np.sqrt(np.mean(self.residuals**2)))
        ax.set_title(f"root mean squared error {plain(error, 3)}, {len(self.y)} rows", loc="left", fontsize="medium")
        named(
            ax, f"predicted {self.y_label}", f"observed {self.y_label}" if observed else f"residual of {self.y_label}"
        )
        return self
