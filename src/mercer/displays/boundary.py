"""Where a classifier of two columns changes its mind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array
from mercer.displays.look import (
    BLACK,
    COLOURS,
    MARKERS,
    Display,
    check_kind,
    column_labels,
    mesh,
    named,
    shades,
    table,
)
from mercer.errors import InputError, sentence
from mercer.estimators.refitting import like_training


@dataclass(eq=False, repr=False)
class BoundaryDisplay(Display):
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
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        grid: int = 200,
        x_label: str | None = None,
        y_label: str | None = None,
        ax: Any = None,
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
        if len(classes) > len(COLOURS):
            most = f"a classifier of at most {len(COLOURS)} classes"
            raise InputError(sentence("The estimator of BoundaryDisplay", most, f"{len(classes)}"))
        first, second, points = mesh(values, grid)
        rows = like_training(estimator, points)
        regions = np.searchsorted(classes, estimator.predict(rows)).reshape(len(second), len(first))
        margins = _margins(estimator, rows, regions, len(classes))
        names = column_labels(estimator, 2)
        labels = (x_label or names[0], y_label or names[1])
        labelled = None if y is None else np.asarray(y)
        return cls(values, labelled, (first, second), regions, classes, margins, labels).plot(ax)

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
        ax = self._on(ax, (5.8, 4.8))
        edges = np.arange(len(self.classes) + 1) - 0.5
        ax.contourf(*self.axes, self.regions, levels=edges, colors=shades(len(self.classes)))
        for margin in self.margins[len(self.classes) == 2 :]:  # two classes have one line between them
            if margin.min() < 0 < margin.max():
                ax.contour(*self.axes, margin, levels=[0.0], colors=BLACK, linewidths=1.4)
        for number, label in enumerate(self.classes):
            mine = np.zeros(len(self.X), dtype=bool) if self.y is None else self.y == label
            ax.scatter(
                *self.X[mine].T, color=COLOURS[number], marker=MARKERS[number], s=30,
                edgecolors=BLACK, linewidths=0.5, label=str(label), zorder=3,
            )  # fmt: skip
        if self.y is not None:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        named(ax, self.labels[0], self.labels[1])
        return self


def _margins(estimator: Any, rows: Any, regions: Array, count: int) -> Array:
    """From decision values where they say the same as the predictions, otherwise from the regions themselves."""
    own = np.stack([np.where(regions == number, 0.5, -0.5) for number in range(count)])
    if not hasattr(estimator, "decision_function"):
        return own
    values = np.asarray(estimator.decision_function(rows))
    if values.ndim == 1:
        found = np.stack([-values, values]).reshape(own.shape)
    elif values.shape[1] == count:
        ahead = [values[:, k] - np.delete(values, k, axis=1).max(axis=1) for k in range(count)]
        found = np.stack(ahead).reshape(own.shape)
    else:  # one value per pair of classes
        return own
    return found if (found.argmax(axis=0) == regions).mean() > 0.999 else own
