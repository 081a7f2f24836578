"""What a fitted model has learned: its function, its boundaries, effects of columns, estimates with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, Estimator, XLike, YLike
from mercer.displays.look import (
    BLACK,
    BLUE,
    COLOURS,
    GREY,
    MAP,
    MARKERS,
    TURNED,
    VERMILION,
    Display,
    check_kind,
    column_labels,
    fill_band,
    grid_lines,
    mesh,
    shades,
    table,
)
from mercer.errors import refuse_if
from mercer.estimators.pipelines import predict_interval, split_pipeline
from mercer.estimators.refitting import like_training
from mercer.text import legible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ERRORS = 2.0  # standard errors to each side of a band of effects


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
        estimator: Estimator,
        X: XLike,
        y: YLike = None,
        *,
        confidence: float | None = 0.9,
        truth: Callable[[Array], npt.ArrayLike] | None = None,
        grid: int | None = None,
        x_label: str | tuple[str, str] | None = None,
        y_label: str = "y",
        ax: Axes | None = None,
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
        names = (x_label,) if isinstance(x_label, str) else x_label
        labels = (*(column_labels(estimator, count) if names is None else names), y_label)
        targets = None if y is None else np.asarray(y, dtype=np.float64)
        if count == 2:
            *axes, rows = mesh(values, grid or 60)
            surface = np.asarray(estimator.predict(like_training(estimator, rows))).reshape(len(axes[1]), -1)
            return cls(values, targets, tuple(axes), surface, labels=labels).plot(ax)
        line = np.linspace(values.min(), values.max(), grid or 200)
        rows = like_training(estimator, line[:, None])
        curve = np.asarray(estimator.predict(rows))
        lower = upper = None
        if confidence is not None and hasattr(split_pipeline(estimator)[1], "predict_interval"):
            lower, upper = predict_interval(estimator, rows, confidence)
        real = None if truth is None else np.asarray(truth(line[:, None]))
        return cls(values, targets, (line,), curve, lower, upper, real, labels, confidence).plot(ax)

    def _draw(self, ax: Axes) -> tuple[str, str]:
        if len(self.axes) == 2:
            return self._surface(ax)
        grid_lines(ax)
        if self.lower is not None and self.upper is not None:
            band = f"{100 * (self.confidence or 0):.4g} % interval"
            finite = np.isfinite(self.lower) & np.isfinite(self.upper)
            fill_band(ax, self.axes[0][finite], self.lower[finite], self.upper[finite], BLUE, band)
        if self.y is not None:
            ax.plot(self.X[:, 0], self.y, "o", color=BLACK, markersize=3.5, alpha=0.6, label="data")
        if self.truth is not None:
            ax.plot(self.axes[0], self.truth, "--", color=VERMILION, linewidth=1.6, label="truth")
        ax.plot(self.axes[0], self.prediction, "-", color=BLUE, linewidth=2, label="fit")
        ax.legend(frameon=False)
        return self.labels[0], self.labels[-1]

    def _surface(self, ax: Any) -> tuple[str, str]:
        filled = ax.contourf(*self.axes, self.prediction, levels=12, cmap=MAP)
        lines = ax.contour(*self.axes, self.prediction, levels=filled.levels, colors="white", linewidths=0.5)
        lines.set_alpha(0.6)
        if self.y is not None:
            x, z = self.X.T
            ax.scatter(x, z, color=BLACK, linewidths=0, s=46, zorder=2.5)  # a rim for white rims on light ground
            ax.scatter(x, z, c=self.y, cmap=MAP, norm=filled.norm, edgecolors="white", linewidths=0.8, s=28, zorder=3)
            # a legend of its own: a point in the colour of one target would say that all are alike
            ax.plot([], [], "o", color=GREY, markeredgecolor=BLACK, markersize=5, label="data, in the same colours")
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        self.figure_.colorbar(filled, ax=ax, label=self.labels[2])
        return self.labels[0], self.labels[1]


class BoundaryDisplay(Display, size=(5.8, 4.8)):
    """The regions of the classes, the lines between them, and the rows.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
        Rows.
    y : ndarray of shape (n,) or None
        Their labels.
    axes : tuple of two ndarrays
        The values of each column at which the model was asked.
    regions : ndarray of int, shape (grid, grid)
        The number of the predicted class; the second column changes along the first axis.
    classes : ndarray
        The labels.
    margins : ndarray of shape (classes, grid, grid)
        For each class how far it is ahead of all others; zero where the prediction changes.
    labels : tuple of str
        Names of the columns.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> from mercer.displays import BoundaryDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> y = ["same", "same", "odd", "odd"]
    >>> model = KernelRidgeClassifier(0.1, kernel=Gaussian(0.5)).fit(X, y)
    >>> BoundaryDisplay.from_estimator(model, X, y, grid=2).regions.tolist()
    [[1, 0], [0, 1]]
    """

    X: Array
    y: Array | None
    axes: tuple[Array, Array]
    regions: Array
    classes: Array
    margins: Array
    labels: tuple[str, ...] = ("x1", "x2")

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: XLike,
        y: YLike = None,
        *,
        grid: int = 200,
        x_label: str | None = None,
        y_label: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Ask a fitted classifier over its two columns, and draw.

        Parameters
        ----------
        estimator : fitted classifier
            Any of scikit-learn's kind.
        X, y : array-like
            Rows that set the range, and their labels; without y only the range.
        grid : int, default=200
            Points along each axis.
        x_label, y_label : str, default=None
            Names of the two columns, with units.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BoundaryDisplay
        """
        check_is_fitted(estimator)
        check_kind("BoundaryDisplay", estimator, classifier=True)
        values, classes = table(X, 2), np.asarray(estimator.classes_)
        must_be = f"a classifier of at most {len(COLOURS)} classes"
        refuse_if(len(classes) > len(COLOURS), "The estimator of BoundaryDisplay", must_be, f"{len(classes)}")
        first, second, points = mesh(values, grid)
        rows = like_training(estimator, points)
        regions = np.searchsorted(classes, estimator.predict(rows)).reshape(len(second), len(first))
        margins = _margins(estimator, rows, regions, len(classes))
        first_label, second_label = column_labels(estimator, 2)
        labels, y = (x_label or first_label, y_label or second_label), None if y is None else np.asarray(y)
        return cls(values, y, (first, second), regions, classes, margins, labels).plot(ax)

    def _draw(self, ax: Axes) -> tuple[str, str]:
        edges = np.arange(len(self.classes) + 1) - 0.5
        ax.contourf(*self.axes, self.regions, levels=edges, colors=shades(len(self.classes)))
        for margin in self.margins[len(self.classes) == 2 :]:  # two classes have one line between them
            if margin.min() < 0 < margin.max():
                ax.contour(*self.axes, margin, levels=[0.0], colors=BLACK, linewidths=1.4)
        for number, label in enumerate(self.classes):
            x, z = self.X[np.zeros(len(self.X), dtype=bool) if self.y is None else self.y == label].T
            look: dict[str, Any] = {"color": COLOURS[number], "marker": MARKERS[number], "edgecolors": BLACK}
            ax.scatter(x, z, 30, linewidths=0.5, label=str(label), zorder=3, **look)
        if self.y is not None:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return self.labels[0], self.labels[1]


def _margins(estimator: Estimator, rows: XLike, regions: Array, count: int) -> Array:
    """From decision values where they say the same as the predictions, otherwise from the regions themselves."""
    own = np.stack([np.where(regions == number, 0.5, -0.5) for number in range(count)])
    values = np.asarray(estimator.decision_function(rows)) if hasattr(estimator, "decision_function") else own
    if values.ndim == 1:
        margins = np.stack([-values, values]).reshape(own.shape)
    elif values.shape[1:] == (count,):
        ahead = [values[:, k] - np.delete(values, k, axis=1).max(axis=1) for k in range(count)]
        margins = np.stack(ahead).reshape(own.shape)
    else:  # no value, or one per pair of classes
        return own
    return margins if (margins.argmax(axis=0) == regions).mean() > 0.999 else own


class EffectDisplay(Display, size=(5.2, 3.8), grid="y"):
    """The effect of one column on predictions, with a band of two standard errors; `mercer.column_effect` computes it.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Numbers, dates (datetime64) or names of levels.
    effect, standard_error : ndarray of shape (k,)
        The effect there, and its standard error.
    x_label, y_label : str
        What the axes show.
    zero : bool, default=True
        Whether 0 is the average prediction, and is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.displays import EffectDisplay
    >>> display = EffectDisplay(np.array([1.0, 2.0]), np.array([-1.0, 1.0]), np.array([0.1, 0.2]), "size", "price")
    >>> len(display.plot().ax_.collections)  # the band
    1
    """

    values: Array
    effect: Array
    standard_error: Array
    x_label: str = "x"
    y_label: str = "change of the prediction"
    zero: bool = True

    def _draw(self, ax: Axes) -> tuple[str, str]:
        reach = _ERRORS * self.standard_error
        if self.values.dtype.kind in "fM":
            fill_band(ax, self.values, self.effect - reach, self.effect + reach, BLUE)
            ax.plot(self.values, self.effect, "-o", color=BLUE, markersize=3.0, linewidth=1.8)
            if self.values.dtype.kind == "M":
                ax.tick_params(axis="x", rotation=30)
        else:
            places = np.arange(len(self.values))
            ax.errorbar(places, self.effect, yerr=reach, fmt="o", color=BLUE, capsize=3)
            long = sum(len(str(each)) for each in self.values) > 30
            ax.set_xticks(places, [str(each) for each in self.values], **(TURNED if long else {}))
            ax.margins(x=0.15)
        if self.zero:
            ax.axhline(0.0, color=BLACK, linewidth=0.8, linestyle="--")
        return self.x_label, self.y_label


class BarsDisplay(Display, grid="x"):
    """Points with intervals; those whose interval holds 0 are grey.

    Parameters
    ----------
    names : list of str
        What is estimated.
    values : ndarray of shape (k,)
        The estimates.
    interval : ndarray of shape (k, 2)
        Their intervals.
    x_label : str
        What the axis shows.
    y_label : str, default="column"
        What the names are of.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.displays import BarsDisplay
    >>> display = BarsDisplay(["a", "b"], np.array([1.0, 0.1]), np.array([[0.5, 1.5], [-0.5, 0.7]]), "effect")
    >>> [tick.get_text() for tick in display.plot().ax_.get_yticklabels()]
    ['a', 'b']
    """

    names: list[str]
    values: Array
    interval: Array
    x_label: str = "estimate"
    y_label: str = "column"

    def _figure_size(self) -> tuple[float, float]:
        return 6.4, 1.2 + 0.32 * len(self.names)

    def _draw(self, ax: Axes) -> tuple[str, str]:
        places = np.arange(len(self.names))
        sure = (self.interval[:, 0] > 0) | (self.interval[:, 1] < 0)
        for which, colour in ((sure, BLUE), (~sure, GREY)):
            reach = np.abs(self.interval[which].T - self.values[which])
            ax.errorbar(self.values[which], places[which], xerr=reach, fmt="o", color=colour, capsize=3)
        ax.axvline(0.0, color=BLACK, linewidth=0.8, linestyle="--")
        ax.set_yticks(places, [legible(name, 30).replace("$", r"\$") for name in self.names])
        ax.set_ylim(len(self.names) - 0.5, -0.5)
        return self.x_label, self.y_label
