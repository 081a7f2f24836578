"""Estimates with their intervals, one below the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.data.rows import Array
from mercer.displays.look import BLACK, BLUE, GREY, Display, grid_lines, named
from mercer.text import legible


@dataclass(eq=False, repr=False)
class BarsDisplay(Display):
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
        ax = self._on(ax, (6.4, 1.2 + 0.32 * len(self.names)))
        grid_lines(ax, "x")
        places = np.arange(len(self.names))
        sure = (self.interval[:, 0] > 0) | (self.interval[:, 1] < 0)
        for which, colour in ((sure, BLUE), (~sure, GREY)):
            reach = np.abs(self.interval[which].T - self.values[which])
            ax.errorbar(self.values[which], places[which], xerr=reach, fmt="o", color=colour, capsize=3)
        ax.axvline(0.0, color=BLACK, linewidth=0.8, linestyle="--")
        ax.set_yticks(places, [legible(name, 30).replace("$", r"\$") for name in self.names])
        ax.set_ylim(len(self.names) - 0.5, -0.5)
        named(ax, self.x_label, self.y_label)
        return self
