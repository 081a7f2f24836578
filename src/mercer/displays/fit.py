"""The fitted function: a curve with its band for one column, a contour for two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array
from mercer.displays.look import (
    BAND,
    BLACK,
    BLUE,
    GREY,
    MAP,
    VERMILION,
    Display,
    check_kind,
    column_labels,
    grid_lines,
    mesh,
    named,
    table,
)
from mercer.estimators.pipelines import predict_interval, split_pipeline
from mercer.estimators.refitting import like_training


@dataclass(eq=False, repr=False)
class FitDisplay(Display):
    """A fitted regression of one or two columns, with the rows it was fitted to.

    Parameters
    ----------
    X : ndarray of shape (n, 1) or (n, 2)
        Rows.
    y : ndarray of shape (n,) or None
        Their targets.
    axes : tuple of ndarray
        The values of each column at which the model was asked.
    prediction : ndarray of shape (grid,) or (grid, grid)
        What it predicts there; the second column changes along the first axis.
    lower, upper : ndarray of shape (grid,) or None
        Ends of the intervals.
    truth : ndarray of the shape of prediction, or None
        The function behind the data.
    labels : tuple of str
        Names of the columns and of the target.
    confidence : float or None
        Of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.displays import FitDisplay
    >>> X = np.linspace(0.0, 6.0, 20)[:, None]
    >>> model = KernelRidge(0.1, kernel="rbf").fit(X, np.sin(X[:, 0]))
    >>> display = FitDisplay.from_estimator(model, X, np.sin(X[:, 0]), x_label="time (s)")
    >>> display.ax_.get_xlabel()
    'time (s)'
    """

    X: Array
    y: Array | None
    axes: tuple[Array, ...]
    prediction: Array
    lower: Array | None = None
    upper: Array | None = None
    truth: Array | None = None
    labels: tuple[str, ...] = ("x", "y")
    confidence: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        confidence: float | None = 0.9,
        truth: Any = None,
        grid: int | None = None,
        x_label: str | tuple[str, str] | None = None,
        y_label: str = "y",
        ax: Any = None,
    ) -> Self:
        """Ask a fitted model along its column or over its two columns, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            Intervals are drawn where it has `predict_interval`.
        X, y : array-like
            Rows that set the range and are shown; without y only the range.
        confidence : float or None, default=0.9
            Of the band; None draws none. There is none for two columns.
        truth : callable, default=None
            The function behind the data, drawn beside the fit of one column.
        grid : int, default=None
            Points along each axis; None is 200 for one column and 60 for two.
        x_label, y_label : str, default=None and "y"
            With units; for two columns a pair.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        FitDisplay
        """
        check_is_fitted(estimator)
        check_kind("FitDisplay", estimator, classifier=False)
        values = table(X, 1, 2)
        count = values.shape[1]
        given = (x_label,) if isinstance(x_label, str) else x_label
        labels = (*(column_labels(estimator, count) if given is None else given), y_label)
        targets = None if y is None else np.asarray(y, dtype=np.float64)
        if count == 2:
            first, second, rows = mesh(values, grid or 60)
            surface = np.asarray(estimator.predict(like_training(estimator, rows))).reshape(len(second), len(first))
            return cls(values, targets, (first, second), surface, labels=labels).plot(ax)
        line = np.linspace(values.min(), values.max(), grid or 200)
        rows = like_training(estimator, line[:, None])
        curve = np.asarray(estimator.predict(rows))
        lower = upper = None
        if confidence is not None and hasattr(split_pipeline(estimator)[1], "predict_interval"):
            lower, upper = predict_interval(estimator, rows, confidence)
        real = None if truth is None else np.asarray(truth(line[:, None]))
        return cls(values, targets, (line,), curve, lower, upper, real, labels, confidence).plot(ax)

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
        ax = self._on(ax)
        if len(self.axes) == 2:
            self._surface(ax)
            return self
        grid_lines(ax)
        if self.lower is not None and self.upper is not None:
            band = f"{100 * (self.confidence or 0):.4g} % interval"
            finite = np.isfinite(self.lower) & np.isfinite(self.upper)
            ax.fill_between(
                self.axes[0][finite], self.lower[finite], self.upper[finite],
                color=BLUE, alpha=BAND, linewidth=0, label=band,
            )  # fmt: skip
        if self.y is not None:
            ax.plot(self.X[:, 0], self.y, "o", color=BLACK, markersize=3.5, alpha=0.6, label="data")
        if self.truth is not None:
            ax.plot(self.axes[0], self.truth, "--", color=VERMILION, linewidth=1.6, label="truth")
        ax.plot(self.axes[0], self.prediction, "-", color=BLUE, linewidth=2, label="fit")
        ax.legend(frameon=False)
        named(ax, self.labels[0], self.labels[-1])
        return self

    def _surface(self, ax: Any) -> None:
        filled = ax.contourf(*self.axes, self.prediction, levels=12, cmap=MAP)
        lines = ax.contour(*self.axes, self.prediction, levels=filled.levels, colors="white", linewidths=0.5)
        lines.set_alpha(0.6)
        if self.y is not None:
            ax.scatter(*self.X.T, color=BLACK, linewidths=0, s=46, zorder=2.5)  # a rim for white rims on light ground
            ax.scatter(
                *self.X.T, c=self.y, cmap=MAP, norm=filled.norm, edgecolors="white", linewidths=0.8, s=28, zorder=3
            )
            # a legend of its own: a point in the colour of one target would say that all are alike
            ax.plot([], [], "o", color=GREY, markeredgecolor=BLACK, markersize=5, label="data, in the same colours")
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        self.figure_.colorbar(filled, ax=ax, label=self.labels[2])
        named(ax, self.labels[0], self.labels[1])
