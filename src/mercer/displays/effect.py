"""How the predictions of a model change along one column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.data.rows import Array
from mercer.displays.look import BAND, BLACK, BLUE, Display, grid_lines, named

_ERRORS = 2.0  # standard errors to each side of a band


@dataclass(eq=False, repr=False)
class EffectDisplay(Display):
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
        ax = self._on(ax, (5.2, 3.8))
        grid_lines(ax, "y")
        reach = _ERRORS * self.standard_error
        if self.values.dtype.kind in "fM":
            ax.fill_between(self.values, self.effect - reach, self.effect + reach, color=BLUE, alpha=BAND, linewidth=0)
            ax.plot(self.values, self.effect, "-o", color=BLUE, markersize=3.0, linewidth=1.8)
            if self.values.dtype.kind == "M":
                ax.tick_params(axis="x", rotation=30)
        else:
            places = np.arange(len(self.values))
            ax.errorbar(places, self.effect, yerr=reach, fmt="o", color=BLUE, capsize=3)
            turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
            long = sum(len(str(each)) for each in self.values) > 30
            ax.set_xticks(places, [str(each) for each in self.values], **(turned if long else {}))
            ax.margins(x=0.15)
        if self.zero:
            ax.axhline(0.0, color=BLACK, linewidth=0.8, linestyle="--")
        named(ax, self.x_label, self.y_label)
        return self
